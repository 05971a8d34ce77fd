"""Coverage of runs by judgments, and the base class of inputs that measures score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from cranfield.base.arrays import Floats
from cranfield.base.errors import quote, warn
from cranfield.base.text import escape_html, inflect, list_some, sanitise
from cranfield.collection.qrels import NORMAL_FORM
from cranfield.tabular import render_frame, tabulate_frame

ID_DIFFERENCES = "case, leading zeros, a final .0 or Unicode form"
"""Differences between ids that :func:`find_similar_ids` ignores."""

MAX_UNJUDGED = 0.2
"""Maximum proportion of unjudged documents in a system's top 10 that is not reported."""

MAX_UNJUDGED_DIFFERENCE = 0.1
"""Maximum difference between the proportions of two systems that is not reported.

It is one document in ten; in 37 of the 40 runs in `bundled.trec_covid` the proportion exceeds the
lowest by less than that.
"""


def find_similar_ids(ids: Iterable[str], others: Iterable[str]) -> tuple[str, str] | None:
    """Return an id and one of the others that differ only in `ID_DIFFERENCES`, or None."""
    first, second = (
        pl.DataFrame({"doc": [*names]}, schema={"doc": pl.String}).with_columns(form=NORMAL_FORM)
        for names in (ids, others)
    )
    pairs = first.join(second, on="form", maintain_order="left").select("doc", "doc_right")
    return pairs.row(0) if pairs.height else None


@dataclass(frozen=True)
class SystemCoverage:
    """Coverage of one system's run by the judgments.

    Attributes
    ----------
    system
        Name of the system.
    n_retrieved, n_retrieved_10, n_retrieved_100
        Number of documents retrieved for the scored topics: all, in the top 10, in the top 100.
    n_unjudged, n_unjudged_10, n_unjudged_100
        Number of these documents without a judgment.
    n_tied
        Number of documents of the run that are tied with another one of the topic.
    n_contradictions
        Number of pairs of adjacent scores of a topic whose ranks have the opposite order; 0 if ties
        are resolved by `rank` or `file`.
    missing
        Topics of the judgments that are not in the run.
    extra
        Topics of the run that are not in the judgments.
    n_excluded
        Number of documents that `exclude` removed from the rankings of all topics.
    n_chunks
        Number of chunks that were merged into documents; 0 if none were.
    similar_docs
        An unjudged document and a judged one whose ids differ only in spelling, if any was found.
    """

    system: str
    n_retrieved: int
    n_retrieved_10: int
    n_retrieved_100: int
    n_unjudged: int
    n_unjudged_10: int
    n_unjudged_100: int
    n_tied: int
    n_contradictions: int
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    n_excluded: int = 0
    n_chunks: int = 0
    similar_docs: tuple[str, str] | None = None

    @property
    def unjudged_at_10(self) -> float:
        """Proportion of unjudged documents in the top 10 of all topics; 0 without any documents."""
        return self.n_unjudged_10 / max(1, self.n_retrieved_10)


@dataclass(frozen=True)
class Coverage:
    """Coverage of the runs of all systems by the judgments.

    Attributes
    ----------
    systems
        Coverage of each system, in order of the systems.
    skipped
        The error of each run that could not be read and was skipped.

    Examples
    --------
    >>> import cranfield as cf
    >>> judged = cf.judge({"q": {"a": 2, "b": 1}}, {"q": {"a": 1}, "r": {"c": 1}})
    >>> row = judged.coverage.systems[0]
    >>> row.n_unjudged, row.n_retrieved, row.missing
    (1, 2, ('r',))
    """

    systems: tuple[SystemCoverage, ...]
    skipped: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return a row per system: counts, and proportions of unjudged documents."""
        rows = [
            {
                "system": row.system,
                "retrieved": row.n_retrieved,
                "unjudged@10": row.unjudged_at_10,
                "unjudged@100": row.n_unjudged_100 / max(1, row.n_retrieved_100),
                "unjudged": row.n_unjudged / max(1, row.n_retrieved),
                "tied": row.n_tied,
                "rank contradicts score": row.n_contradictions,
                "missing topics": len(row.missing),
                "extra topics": len(row.extra),
            }
            for row in self.systems
        ]
        return pl.DataFrame(rows)

    def __repr__(self) -> str:
        skipped = f", {len(self.skipped)} skipped" if self.skipped else ""
        return f"Coverage({inflect(len(self.systems), 'system')}{skipped})"

    def __str__(self) -> str:
        table = tabulate_frame(self.to_polars(), "Coverage of the judgments").to_text()
        return "\n".join([table, *(f"note: {sanitise(note)}" for note in self.notes)])

    def _repr_html_(self) -> str:
        table = render_frame(self.to_polars(), "Coverage of the judgments")
        return table + "".join(f"<p>{escape_html(note)}</p>\n" for note in self.notes)

    @property
    def notes(self) -> list[str]:
        """Notes on the coverage for readers of the scores, one line each."""
        notes = []
        systems = [row.system for row in self.systems]
        for topics_of, description in (
            (attrgetter("missing"), "no results for some judged topics"),
            (attrgetter("extra"), "results for topics without judgments"),
        ):
            if rows := [row for row in self.systems if topics_of(row)]:
                topics = max(map(topics_of, rows), key=len)
                worst_row = next(row for row in rows if len(topics_of(row)) == len(topics))
                notes.append(
                    f"{_name_systems(rows, systems)} {description}"
                    f" ({_name_worst(worst_row.system, systems)}{inflect(len(topics), 'topic')}:"
                    f" {list_some(map(quote, topics), 5)})"
                )
        topic_pairs = (find_similar_ids(row.extra, row.missing) for row in self.systems)
        doc_pairs = (row.similar_docs for row in self.systems)
        for noun, pairs in (("topic", topic_pairs), ("document", doc_pairs)):
            if pair := next(filter(None, pairs), None):
                notes.append(
                    f"{noun} {quote(pair[0])} of the runs and {noun} {quote(pair[1])} of the"
                    f" judgments differ only in {ID_DIFFERENCES}; they are read as different"
                    f" {noun}s"
                )
        notes += self.contradiction_notes
        notes += self._describe_unjudged()
        for count_of, description in (
            (attrgetter("n_excluded"), "excluded"),
            (attrgetter("n_chunks"), "merged into documents, each by its best chunk"),
        ):
            if rows := [row for row in self.systems if count_of(row)]:
                counts = {*map(count_of, rows)}
                amount = inflect(max(counts), "document" if description == "excluded" else "chunk")
                qualifier = "at most " if len(counts) > 1 else ""
                notes.append(f"{_name_systems(rows, systems)} {qualifier}{amount} {description}")
        if self.skipped:
            runs = inflect(len(self.systems) + len(self.skipped), "run")
            notes.append(f"{len(self.skipped)} of {runs} skipped ({list_some(self.skipped, 3)})")
        return notes

    def _describe_unjudged(self) -> Iterator[str]:
        """Yield a note on many unjudged documents, or else on unequal proportions of them."""
        rows = [row for row in self.systems if row.n_retrieved_10]
        if not rows:
            return
        rate_of = attrgetter("unjudged_at_10")
        low, high = min(rows, key=rate_of), max(rows, key=rate_of)
        systems = [row.system for row in self.systems]
        if affected := [row for row in rows if row.unjudged_at_10 > MAX_UNJUDGED]:
            subject = _name_systems(affected, systems)
            yield (
                f"{subject} more than {MAX_UNJUDGED:.0%} unjudged documents in the top 10"
                f" ({_name_worst(high.system, systems)}{high.unjudged_at_10:.1%})"
            )
        elif exceeds_unjudged_difference(high.unjudged_at_10 - low.unjudged_at_10):
            yield (
                "the proportion of unjudged documents in the top 10 differs between systems, from"
                f" {low.unjudged_at_10:.1%} in {quote(low.system)} to"
                f" {high.unjudged_at_10:.1%} in {quote(high.system)}, so their comparison may"
                " be biased"
            )

    @property
    def contradiction_notes(self) -> list[str]:
        """Notes on ranks that contradict the scores."""
        return describe_contradictions({row.system: row.n_contradictions for row in self.systems})

    def ignore_unjudged(self) -> Coverage:
        """Return the coverage with `n_unjudged_10` set to 0, so that notes do not report it."""
        return replace(self, systems=tuple(replace(row, n_unjudged_10=0) for row in self.systems))

    def warn(self) -> None:
        """Issue the notes as warnings, except notes on skipped runs (reported on reading)."""
        for note in replace(self, skipped=()).notes:
            warn(note)


def exceeds_unjudged_difference(difference: ArrayLike) -> Any:
    """Return a mask of the differences of proportions that are reported (tolerance 1e-12)."""
    return np.abs(difference) > MAX_UNJUDGED_DIFFERENCE + 1e-12


def describe_contradictions(counts: Mapping[str, int]) -> list[str]:
    """Describe ranks that contradict scores, given the number of contradictions by system."""
    affected = [name for name, count in counts.items() if count]
    if not affected:
        return []
    system = max(affected, key=counts.__getitem__)
    return [
        f"{_name_systems(affected, [*counts])} ranks that contradict the scores"
        f" ({_name_worst(system, [*counts])}{inflect(counts[system], 'contradiction')});"
        " documents are ordered by score; ties='rank' orders all documents by rank"
    ]


def _name_systems(affected: Sequence[Any], systems: Sequence[str]) -> str:
    if len(systems) == 1:
        return f"system {quote(systems[0])} has"
    return f"{len(affected)} of {len(systems)} systems {'have' if len(affected) > 1 else 'has'}"


def _name_worst(worst: str, systems: Sequence[str]) -> str:
    return f"most in {quote(worst)}: " if len(systems) > 1 else ""


class Scorer(Protocol):
    """Interface of measures that :class:`Scorable` requires."""

    def score(self, judged: Any) -> Floats:
        """Return scores of shape (topics, systems)."""


def describe_input(judged: object) -> str:
    """Describe the input of an evaluation, for messages."""
    return judged.noun if isinstance(judged, Scorable) else type(judged).__name__


class Scorable:
    """Base class of inputs that measures can score: judged runs, answers, sessions.

    Scores have the labels `topics` and `systems`. Subclasses define the data that measures score,
    and the pairs of topic and system without a score. :func:`cranfield.judge` creates judged runs.
    """

    noun: ClassVar[str] = "rankings"
    """Plural noun for the scored data in messages."""

    if TYPE_CHECKING:

        @property
        def topics(self) -> tuple[str, ...]: ...
        @property
        def systems(self) -> tuple[str, ...]: ...

    @property
    def unit(self) -> str:
        """Noun for a topic in messages."""
        return "topic"

    @property
    def max_grade(self) -> int | None:
        """The highest grade, on which some measures depend; None without grades."""
        return None

    @property
    def shard_labels(self) -> tuple[str, ...]:
        """Labels of the shards, the third axis of scores; empty without shards."""
        return ()

    def compute_scores(self, measures: Sequence[Scorer]) -> list[Floats]:
        """Return the scores by each measure, of shape (topics, systems); NaN without a score."""
        return [measure.score(self) for measure in measures]

    def describe_settings(self, measure: Scorer) -> dict[str, Any]:
        """Return the settings that determine the scores of a measure."""
        return {}

    def _format_size(self) -> str:
        return f"{inflect(len(self.topics), 'topic')}, {inflect(len(self.systems), 'system')}"


def find_lowest_relevant_grade(measure: Any) -> int:
    """Return the lowest relevant grade of a measure, or of the measure that it wraps."""
    while (inner := getattr(measure, "inner", None)) is not None:
        measure = inner
    low = getattr(measure, "rel", 1)
    return low if isinstance(low, int) else 1
