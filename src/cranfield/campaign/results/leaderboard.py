"""Boards: runs in order of a measure, which of them are separated, and what that rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from cranfield.base.arrays import places, without_noise
from cranfield.base.errors import quoted
from cranfield.base.words import counted, some_of
from cranfield.campaign.opened import Opened
from cranfield.campaign.results.comparing import (
    MOST_COMPARED,
    compared_if_possible,
    not_compared,
)
from cranfield.campaign.results.score_files import digest, kept_frame
from cranfield.campaign.results.scoring import Scoring
from cranfield.campaign.store.records import Submission
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures import Measure
from cranfield.meta.study import Findings
from cranfield.scores import Scores
from cranfield.significance.comparison.groups import shortened
from cranfield.tabular import from_frame
from cranfield.tabular.frames import Framed


@dataclass(frozen=True, eq=False)
class Separation:
    """Which runs a comparison of all pairs separates.

    Attributes
    ----------
    frame
        A row a run: `tag`, `groups` (letters; two runs share one exactly when they do not differ),
        and, where the test has them, `low` and `high`: simultaneous limits around means.
    method
        The test and the correction.
    verdict
        Whether what is said keeps its meaning on the measure's scale, in words.
    notes
        What a reader should be told.
    """

    frame: pl.DataFrame
    method: str
    verdict: str
    notes: tuple[str, ...]


class _NotComparedError(Exception):
    """There is nothing to keep; the text says why."""


def separation(scores: Scores, alpha: float = 0.05, most: int = MOST_COMPARED) -> Separation | str:
    """Compare all pairs of systems by the default test, or say why they are not compared."""
    # Loaded only where a comparison is not kept yet.
    from cranfield.scales.statements.meaningful import meaning
    from cranfield.significance.comparison.notes import RESCALING

    found = compared_if_possible(scores, alpha, most)
    if isinstance(found, str):
        return found
    letters = found.groups()
    frame = pl.DataFrame({"tag": found.systems, "groups": [letters[one] for one in found.systems]})
    notes = [
        f"groups: two runs share a letter exactly when {found.method} at {alpha:g} does not"
        " separate them"
    ]
    # The run that stands first on the board: of equal ones the first by its tag.
    settled = without_noise(found.means) * (1 if scores.lower_is_better else -1)
    first = min(range(len(settled)), key=lambda k: (settled[k], found.systems[k]))
    limits = found.around(first)
    if limits is not None:
        low, high = (pl.Series(ends).fill_nan(None) for ends in limits)
        frame = frame.with_columns(low=low, high=high)
        notes.append(
            "low, high: simultaneous limits around means; runs that do not overlap differ"
            if found.half_widths is not None
            else f"low, high: {found.mean_of} of the first run and simultaneous limits of the"
            f" {found.difference_from} it; a run that leaves this {found.mean_of} out differs from"
            " the first"
        )
    # The verdict says what the scale of the measure allows.
    notes += [note for note in found.notes if not note.endswith(RESCALING)]
    return Separation(frame, found.method, meaning(found).first_line, tuple(notes))


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(Framed):
    """Runs in order of the first measure; made by :func:`leaderboard`.

    Attributes
    ----------
    measures
        Text forms; the first one decides the order.
    frame
        A row a run: `place` (runs with the same value share it), `tag`, `team`, `type`, `late`, a
        column a measure, `groups`, `low`, `high` (null where runs were not compared), and
        `unjudged@10`: the share of the first ten documents of all topics that nobody judged.
    separation
        Which runs are separated; None where they were not compared.
    notes
        What a reader should be told.
    """

    measures: tuple[str, ...]
    frame: pl.DataFrame
    separation: Separation | None
    notes: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """Whether what the groups say keeps its meaning on the measure's scale, in words."""
        return "" if self.separation is None else self.separation.verdict

    def to_polars(self) -> pl.DataFrame:
        """Return the table."""
        return self.frame

    def findings(self, task: str = "", most: int | None = None) -> Findings:
        """Return the board as it is written, and shown: its first rows, `most` of them."""
        title = " ".join(["Board of", task] if task else ["Board"])
        shown = self.frame.with_columns(pl.col("groups").map_elements(shortened, pl.String))
        empty = [one for one in ("type", "groups", "low", "high") if _is_empty(shown[one])]
        if not shown["late"].any():
            empty.append("late")
        table = from_frame(shown.drop(empty)[:most], f"{title}: {counted(shown.height, 'run')}")
        said = [*self.notes, *([self.verdict] if self.verdict else [])]
        if most is not None and shown.height > most:
            said.append(f"the first {most:,} of {shown.height:,} runs are shown")
        table = replace(table, remarks=said)
        return Findings([], [table], {"board": (self.frame, ("tag",))}, {"task": task})

    def __str__(self) -> str:
        [table] = self.findings().tables
        return table.to_text()

    def __repr__(self) -> str:
        return f"Leaderboard({counted(self.frame.height, 'run')}: {', '.join(self.measures)})"


def _is_empty(column: pl.Series) -> bool:
    return not any(one not in (None, "") for one in column)


def leaderboard(
    evaluation: Evaluation,
    submissions: Sequence[Submission],
    *,
    alpha: float = 0.05,
    most: int = MOST_COMPARED,
) -> Leaderboard:
    """Put runs in order of the first measure, and say which are separated.

    Parameters
    ----------
    evaluation
        Scores of the runs, whose systems are tags.
    submissions
        What was handed in under these tags.
    alpha
        Significance level.
    most
        Runs that are compared; a larger board has no groups.

    Returns
    -------
    Leaderboard
        The places are by overall values, equal ones share a place; the groups are those of
        :func:`cranfield.compare` with its default test.
    """
    shares = [one.unjudged_10 / max(1, one.retrieved_10) for one in evaluation.coverage.systems]
    values = evaluation.by_system().rename({"system": "tag"})
    first = evaluation.measures[0]
    found = separation(evaluation[str(first)], alpha, most)
    values = values.with_columns(pl.Series("unjudged@10", shares, pl.Float64))
    return _board(values, submissions, evaluation.measures, found)


def _board(
    values: pl.DataFrame,
    submissions: Sequence[Submission],
    measures: Sequence[Measure],
    found: Separation | str,
) -> Leaderboard:
    """Put together `tag`, a column a measure and `unjudged@10` with what is known of runs."""
    names = [str(one) for one in measures]
    known = {one.tag: one for one in submissions}
    about = pl.DataFrame(
        {
            "tag": values["tag"],
            "team": [known[tag].team for tag in values["tag"]],
            "type": [known[tag].type for tag in values["tag"]],
            "late": [known[tag].late for tag in values["tag"]],
        },
        schema_overrides={"type": pl.String},
    )
    frame = about.join(values, on="tag", how="left", maintain_order="left")
    first = frame[names[0]].cast(pl.Float64).to_numpy()
    lower = measures[0].info.lower_is_better
    frame = frame.with_columns(place=pl.Series(places(first, lower), dtype=pl.Int64))
    nothing = pl.lit(None, pl.Float64)
    if isinstance(found, str):
        frame = frame.with_columns(groups=pl.lit(None, pl.String), low=nothing, high=nothing)
    else:
        frame = frame.join(found.frame, on="tag", how="left", maintain_order="left")
        absent = {one: nothing for one in ("low", "high") if one not in frame.columns}
        frame = frame.with_columns(**absent)
    frame = frame.sort("place", "tag").select(
        "place", "tag", "team", "type", "late", *names, "groups", "low", "high", "unjudged@10"
    )
    unpooled = [quoted(tag) for tag in frame["tag"] if not known[tag].pooled]
    notes = []
    if len(unpooled) < frame.height and unpooled:
        notes.append(f"not pooled: {some_of(unpooled, 10)}")
    if isinstance(found, str):
        notes.append(f"runs are not compared: {found}")
        return Leaderboard(tuple(names), frame, None, tuple(notes))
    return Leaderboard(tuple(names), frame, found, (*found.notes, *notes))


def board(
    opened: Opened,
    task: str | None = None,
    *,
    measures: Sequence[str] | None = None,
    judgments: str | None = None,
    alpha: float = 0.05,
    most: int = MOST_COMPARED,
) -> Leaderboard:
    """Return the board of a task's accepted runs; scores and groups are read where they are kept.

    Parameters
    ----------
    opened, task, measures, judgments
        As for :func:`~cranfield.campaign.results.scoring.scored`.
    alpha, most
        As for :func:`leaderboard`.
    """
    scoring = Scoring(opened, task, measures, judgments)
    overall = scoring.overall()
    covered = overall["coverage"].struct
    share = covered.field("unjudged_10") / covered.field("retrieved_10").clip(1)
    values = overall.rename({"run": "tag"}).drop("coverage")
    values = values.with_columns(share.alias("unjudged@10"))
    found = not_compared(overall.height, most) or _kept_separation(scoring, alpha)
    return _board(values, scoring.submissions, scoring.measures, found)


def _kept_separation(scoring: Scoring, alpha: float) -> Separation | str:
    """Return which runs are separated by the first measure; once found, it is kept."""
    first = scoring.measures[0]

    def make() -> tuple[pl.DataFrame, dict[str, str]]:
        found = separation(scoring.only(first).evaluation()[str(first)], alpha)
        if isinstance(found, str):
            raise _NotComparedError(found)
        words = {"method": found.method, "verdict": found.verdict, "notes": "\n".join(found.notes)}
        return found.frame, words

    basis = digest("groups", scoring.basis(together=True), str(first), alpha)
    task, judgments = scoring.rules.name, scoring.judgments.version
    try:
        frame, about = kept_frame(scoring.opened, task, judgments, basis, make)
    except _NotComparedError as error:
        return str(error)
    return Separation(frame, about["method"], about["verdict"], tuple(about["notes"].split("\n")))
