"""What judgments have not in common with runs, or with anything else that can be scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import quoted, warn
from cranfield.base.text import counted, html, plain, some_of
from cranfield.tabular import frame_html, from_frame


@dataclass(frozen=True)
class SystemCoverage:
    """How well the judgments cover one system's run.

    Attributes
    ----------
    system
        Its name.
    retrieved, retrieved_10, retrieved_100
        Documents retrieved for the scored topics: all, and in the top 10 and 100.
    unjudged, unjudged_10, unjudged_100
        How many of them have no judgment.
    tied
        Documents that share their score with another of the same topic.
    contradictions
        Neighbours among a topic's scores with documents whose rank numbers say the opposite.
    missing
        Judged topics for which the run has nothing.
    extra
        Topics of the run that have no judgment.
    excluded
        Documents that were removed from its rankings, of all topics.
    chunks
        Chunks that were merged into documents; 0 if none were.
    """

    system: str
    retrieved: int
    retrieved_10: int
    retrieved_100: int
    unjudged: int
    unjudged_10: int
    unjudged_100: int
    tied: int
    contradictions: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    excluded: int = 0
    chunks: int = 0


@dataclass(frozen=True)
class Coverage:
    """The coverage of every system.

    Attributes
    ----------
    systems
        The systems, in order.
    skipped
        What is wrong with each run that could not be read, and was skipped.

    Examples
    --------
    >>> import cranfield as cf
    >>> judged = cf.judge({"q": {"a": 2, "b": 1}}, {"q": {"a": 1}, "r": {"c": 1}})
    >>> row = judged.coverage.systems[0]
    >>> row.unjudged, row.retrieved, row.missing
    (1, 2, ('r',))
    """

    systems: tuple[SystemCoverage, ...]
    skipped: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return one row a system; missing and extra topics as counts."""
        rows = [
            {
                "system": row.system,
                "retrieved": row.retrieved,
                "unjudged@10": row.unjudged_10 / max(1, row.retrieved_10),
                "unjudged@100": row.unjudged_100 / max(1, row.retrieved_100),
                "unjudged": row.unjudged / max(1, row.retrieved),
                "tied": row.tied,
                "rank contradicts score": row.contradictions,
                "missing topics": len(row.missing),
                "extra topics": len(row.extra),
            }
            for row in self.systems
        ]
        return pl.DataFrame(rows)

    def __repr__(self) -> str:
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        return f"Coverage({counted(len(self.systems), 'system')}{skipped})"

    def __str__(self) -> str:
        table = from_frame(self.to_polars(), "Coverage of the judgments").to_text()
        return "\n".join([table, *(f"note: {plain(note)}" for note in self.notes)])

    def _repr_html_(self) -> str:
        table = frame_html(self.to_polars(), "Coverage of the judgments")
        return table + "".join(f"<p>{html(note)}</p>\n" for note in self.notes)

    @property
    def notes(self) -> list[str]:
        """Say in a line each what a reader of the scores should know."""
        notes = []
        for topics_of, what in (
            (attrgetter("missing"), "no results for some judged topics"),
            (attrgetter("extra"), "results for topics without judgments"),
        ):
            rows = [row for row in self.systems if topics_of(row)]
            if rows:
                topics = max(map(topics_of, rows), key=len)
                worst = next(row for row in rows if len(topics_of(row)) == len(topics))
                notes.append(
                    f"{_of(rows, self.systems)} {what} ({_most(worst, self.systems)}{len(topics)}:"
                    f" {some_of(map(quoted, topics), 5)})"
                )
        against = [row for row in self.systems if row.contradictions]
        if against:
            worst = max(against, key=lambda row: row.contradictions)
            notes.append(
                f"{_of(against, self.systems)} a rank column that contradicts the scores"
                f" ({_most(worst, self.systems)}{counted(worst.contradictions, 'place')});"
                " the scores decide, unless ties are by 'rank'"
            )
        unjudged = [row for row in self.systems if row.unjudged_10 > 0.2 * row.retrieved_10 > 0]
        if unjudged:
            worst = max(unjudged, key=lambda row: row.unjudged_10 / row.retrieved_10)
            share = worst.unjudged_10 / worst.retrieved_10
            notes.append(
                f"{_of(unjudged, self.systems)} more than 20% unjudged documents in the top 10"
                f" ({_most(worst, self.systems)}{share:.1%})"
            )
        for count_of, what in (
            (attrgetter("excluded"), "excluded"),
            (attrgetter("chunks"), "merged into documents by their best score"),
        ):
            if counts := [count_of(row) for row in self.systems if count_of(row)]:
                thing = counted(max(counts), "document" if what == "excluded" else "chunk")
                most = "at most " if len({*counts}) > 1 else ""
                rows = [row for row in self.systems if count_of(row)]
                notes.append(f"{_of(rows, self.systems)} {most}{thing} {what}")
        if self.skipped:
            runs = counted(len(self.systems) + len(self.skipped), "run")
            notes.append(f"{len(self.skipped)} of {runs} skipped ({some_of(self.skipped, 3)})")
        return notes

    def warn(self) -> None:
        """Issue the notes as warnings; of what was skipped it was warned of already."""
        for note in replace(self, skipped=()).notes:
            warn(note, stacklevel=3)


def _of(some: list[SystemCoverage], systems: tuple[SystemCoverage, ...]) -> str:
    if len(systems) == 1:
        return f"system {quoted(systems[0].system)} has"
    return f"{len(some)} of {len(systems)} systems {'have' if len(some) > 1 else 'has'}"


def _most(worst: SystemCoverage, systems: tuple[SystemCoverage, ...]) -> str:
    return f"most in {quoted(worst.system)}: " if len(systems) > 1 else ""


class Scorer(Protocol):
    """A measure, as far as what it scores knows of it."""

    def score(self, judged: Any) -> Floats:
        """Return scores of shape (topics, systems)."""


def what_of(judged: object) -> str:
    """Describe the input of an evaluation, for messages."""
    return judged.what if isinstance(judged, Scorable) else type(judged).__name__


class Scorable:
    """What a way in makes of its input: judged runs, answers, sessions.

    It has the labels `topics` and `systems`; measures know what else. Subclasses override what
    differs, such as which cells have no score. :func:`cranfield.judge` makes it of runs.
    """

    what: ClassVar[str] = "rankings"
    """The value of a cell, in messages."""

    if TYPE_CHECKING:

        @property
        def topics(self) -> tuple[str, ...]:
            """Labels of the topics."""

        @property
        def systems(self) -> tuple[str, ...]:
            """Labels of the systems."""

    @property
    def unit(self) -> str:
        """What a topic is here, in a word."""
        return "topic"

    @property
    def max_grade(self) -> int | None:
        """The highest grade there is, which may tell a measure's scale; None without grades."""
        return None

    @property
    def shard_labels(self) -> tuple[str, ...]:
        """Labels of a third axis of scores; empty where there is none."""
        return ()

    def scores_by(self, measures: Sequence[Scorer]) -> list[Floats]:
        """Return the scores by each measure; NaN for 'no score'."""
        return [measure.score(self) for measure in measures]

    def settings_for(self, measure: Scorer) -> dict[str, Any]:
        """Return how the scores by a measure came about, for the record."""
        return {}


def lowest_relevant(measure: Any) -> int:
    """Return the lowest grade that a measure calls relevant; one around another has that one's."""
    while (inner := getattr(measure, "inner", None)) is not None:
        measure = inner
    low = getattr(measure, "rel", 1)
    return low if isinstance(low, int) else 1
