"""Leaderboards: runs ranked by a measure, with groups and intervals of significance tests."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import compute_ranks, remove_noise
from cranfield.base.errors import CranfieldError, check_proportion, quote
from cranfield.base.text import inflect, list_some, sanitise
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.results.scoring import Scoring, cache_table, hash_values, read_cached_table
from cranfield.campaign.store.records import Submission
from cranfield.evaluation.evaluation import Evaluation
from cranfield.result import Column, Columns, TableResult
from cranfield.scores import Scores
from cranfield.significance.comparison.compared_pairs import shorten_letters
from cranfield.tabular import Table, tabulate_frame

if TYPE_CHECKING:
    from cranfield.significance.comparison.result import PairwiseComparison


MAX_COMPARED = 150
"""Maximum number of runs whose pairs are compared."""

_comparisons: deque[tuple[tuple[Any, ...], PairwiseComparison]] = deque(maxlen=8)
"""Cache of the latest comparisons; a comparison of 126 runs takes two seconds."""


def compare_pairs(scores: Scores, alpha: float = 0.05) -> PairwiseComparison:
    """Compare all pairs of systems by the default test; results are cached.

    Missing scores count as 0; if lower is better, topics with missing scores are excluded.
    """
    # Everything that a comparison depends on.
    key = (
        *(alpha, scores.measure, scores.aggregate, scores.lower_is_better, scores.scale),
        *(scores.settings, scores.topics, scores.systems, scores.values.tobytes()),
    )
    for earlier_key, comparison in tuple(_comparisons):
        if earlier_key == key:
            return comparison
    # The import takes longer than a leaderboard with a cached comparison.
    from cranfield.significance.comparison.compare import compare

    # 0 would be the best score if lower is better.
    missing_policy = "drop" if scores.lower_is_better else "zero"
    has_missing = np.isnan(scores.values).any()
    comparison = compare(scores, alpha=alpha, missing=missing_policy if has_missing else None)
    _comparisons.append((key, comparison))
    return comparison


def explain_no_comparison(n_runs: int, max_runs: int = MAX_COMPARED) -> str:
    """Return the reason why this number of runs is not compared; empty if it is compared."""
    if n_runs < 2:
        return "there is only one run"
    return f"{n_runs:,} runs exceed the maximum of {max_runs}" if n_runs > max_runs else ""


def compare_if_possible(
    scores: Scores, alpha: float = 0.05, max_runs: int = MAX_COMPARED
) -> PairwiseComparison | str:
    """Compare all pairs, or return why they are not compared."""
    check_proportion("alpha", alpha)
    if reason := explain_no_comparison(len(scores.systems), max_runs):
        return reason
    try:
        return compare_pairs(scores, alpha)
    except CranfieldError as error:
        return str(error)


@dataclass(frozen=True, eq=False)
class Separation:
    """Result of a comparison of all pairs of runs."""

    frame: pl.DataFrame  # tag and groups and, if the test has them, low and high
    method: str
    verdict: str  # whether the result is meaningful on the scale of the measure
    notes: tuple[str, ...]


def separate_runs(
    scores: Scores, alpha: float = 0.05, max_runs: int = MAX_COMPARED
) -> Separation | str:
    """Compare all pairs of systems by the default test, or return why they are not compared."""
    # These imports are slow, and not needed if the groups are cached in a file.
    from cranfield.scales.statements import meaningfulness
    from cranfield.significance.comparison.result import MORE_RESAMPLES, RESCALING

    comparison = compare_if_possible(scores, alpha, max_runs)
    if isinstance(comparison, str):
        return comparison
    letters = comparison.groups()
    groups = [letters[system] for system in comparison.systems]
    frame = pl.DataFrame({"tag": comparison.systems, "groups": groups})
    notes = [
        "groups: two runs share a letter exactly when they are not significantly different"
        f" ({comparison.method}, alpha {alpha:g})"
    ]
    # The first run of the leaderboard; runs with equal means are ordered by tag.
    keys = remove_noise(comparison.means) * (1 if scores.lower_is_better else -1)
    first_index = min(range(len(keys)), key=lambda k: (keys[k], comparison.systems[k]))
    interval = comparison.find_mean_bounds(first_index)
    if interval is not None:
        low, high = (pl.Series(bounds).fill_nan(None) for bounds in interval)
        frame = frame.with_columns(low=low, high=high)
        notes.append(
            f"low, high: comparison interval around the {comparison.mean_of}; runs whose intervals"
            " do not overlap are significantly different"
            if comparison.half_widths is not None
            else "low, high: simultaneous confidence interval of the"
            f" {comparison.difference_from} the first run, added to the {comparison.mean_of} of"
            " the first run; a run whose interval"
            f" excludes this {comparison.mean_of} is significantly different from the first run"
        )
    # The verdict already reports the scale of the measure.
    notes += [note for note in comparison.notes if not note.endswith(RESCALING)]
    notes = [note.removesuffix(MORE_RESAMPLES) for note in notes]
    return Separation(frame, comparison.method, meaningfulness(comparison).first_line, tuple(notes))


@dataclass(frozen=True, eq=False, repr=False)
class Leaderboard(TableResult):
    """Runs in order of the first measure; returned by :func:`leaderboard`.

    Besides the columns below, there is a column for each measure.

    Attributes
    ----------
    measures
        Text forms of the measures; the first one decides the order.
    separation
        Result of the comparison of all pairs; None if runs were not compared.
    notes
        Notes on the comparison, on late runs of the first rank, and on runs that were not pooled,
        and the notes of :func:`cranfield.evaluate` on runs and topics.
    task
        Title of the task; empty for runs outside a campaign.
    """

    name: ClassVar[str] = "leaderboard"
    columns: ClassVar[Columns] = {
        "rank": Column("Rank by the first measure, from 1; runs with equal values share a rank."),
        "tag": Column("Tag of the run.", key=True),
        "team": Column("Team that submitted the run."),
        "type": Column("Type of the run, such as automatic; empty if none was declared."),
        "late": Column("Whether the run was submitted after the deadline."),
        "*": Column("Overall value of the measure of this name."),
        "groups": Column(
            "Letters: two runs share a letter exactly when they are not significantly different;"
            " null where runs were not compared."
        ),
        "low": Column(
            "Lower bound of the comparison interval around the mean, or the mean of the first run"
            " plus the lower bound of the confidence interval of the difference from it; the notes"
            " state which. Null where runs were not compared or the test has no intervals."
        ),
        "high": Column("Upper bound of the same interval as `low`."),
        "unjudged@10": Column(
            "Proportion (0 to 1) of unjudged documents among the first ten of each topic."
        ),
    }

    measures: tuple[str, ...]
    separation: Separation | None
    notes: tuple[str, ...]
    task: str = ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """The notes, and whether the groups are meaningful on the scale of the measure."""
        return (*self.notes, *([self.separation.verdict] if self.separation else []))

    def facts(self) -> dict[str, Any]:
        """Return the title of the task."""
        return {"task": self.task}

    def format_notes(self) -> list[str]:
        """Return no lines, because the notes are printed below the table."""
        return []

    def tables(self, *, max_runs: int | None = None) -> list[Table]:
        """Return the leaderboard as a table without empty columns, and without `late` if no run is.

        Parameters
        ----------
        max_runs
            Maximum number of rows; by default all rows.
        """
        rows = self.rows.with_columns(pl.col("groups").map_elements(shorten_letters, pl.String))
        optional_columns = ("type", "groups", "low", "high")
        empty_columns = [name for name in optional_columns if {*rows[name]} <= {None, ""}]
        empty_columns += [] if rows["late"].any() else ["late"]
        title = f"Leaderboard of {self.task}" if self.task else "Leaderboard"
        title += f": {inflect(rows.height, 'run')}"
        remarks = list(self.remarks)
        if max_runs is not None and rows.height > max_runs:
            remarks.append(f"the first {max_runs:,} of {rows.height:,} runs are shown")
        table = tabulate_frame(rows.drop(empty_columns)[:max_runs], title)
        return [replace(table, remarks=remarks)]

    def __repr__(self) -> str:
        return f"Leaderboard({inflect(self.rows.height, 'run')}: {', '.join(self.measures)})"


def describe_late_winners(rows: Iterable[tuple[Any, str, bool]]) -> str:
    """Describe late runs of the first rank, and the best runs in time; empty without such runs.

    Rows have rank, tag and whether the run is late, in order of rank.

    >>> describe_late_winners([(1, "a", True), (2, "b", False), (2, "c", False)])
    'first rank submitted late: a; best in time: b, c'
    """
    rows = list(rows)
    late_tags = [tag for rank, tag, is_late in rows if is_late and rank == rows[0][0]]
    runs_in_time = [(rank, tag) for rank, tag, is_late in rows if not is_late]
    best_tags = [tag for rank, tag in runs_in_time if rank == runs_in_time[0][0]]
    if not late_tags:
        return ""
    best_text = list_some(map(sanitise, best_tags), 10) or "none"
    late_text = list_some(map(sanitise, late_tags), 10)
    return f"first rank submitted late: {late_text}; best in time: {best_text}"


def leaderboard(
    evaluation: Evaluation,
    submissions: Sequence[Submission],
    *,
    alpha: float = 0.05,
    max_runs: int = MAX_COMPARED,
) -> Leaderboard:
    """Rank runs by the first measure, and compare all pairs.

    Parameters
    ----------
    evaluation
        Scores of the runs; the names of the systems are tags.
    submissions
        Submissions with these tags.
    alpha
        Significance level.
    max_runs
        Maximum number of runs that are compared; a leaderboard with more runs has no groups.

    Returns
    -------
    Leaderboard
        Ranks are by overall values, and equal values share a rank. Groups are the letters of
        :func:`cranfield.compare` with its default test.
    """
    separation = separate_runs(evaluation[str(evaluation.measures[0])], alpha, max_runs)
    return _make_leaderboard(evaluation, submissions, separation)


def _make_leaderboard(
    evaluation: Evaluation, submissions: Sequence[Submission], separation: Separation | str
) -> Leaderboard:
    """Join scores, submissions and the comparison; note why runs are not compared, if so."""
    # Columns have the text forms of measures as names, not aliases.
    names = [str(measure) for measure in evaluation.measures]
    frame = evaluation.by_system()
    frame.columns = ["tag", *names]
    runs_by_tag = {run.tag: run for run in submissions}
    runs = [runs_by_tag[tag] for tag in frame["tag"]]
    values = frame[names[0]].cast(pl.Float64).to_numpy()
    lower_is_better = evaluation.measures[0].info.lower_is_better
    unjudged_at_10 = [row.unjudged_at_10 for row in evaluation.coverage.systems]
    frame = frame.with_columns(
        pl.Series("rank", compute_ranks(values, lower_is_better), pl.Int64),
        pl.Series("team", [run.team for run in runs], pl.String),
        pl.Series("type", [run.type for run in runs], pl.String),
        pl.Series("late", [run.late for run in runs], pl.Boolean),
        pl.Series("unjudged@10", unjudged_at_10, pl.Float64),
    ).sort("rank", "tag")
    unpooled_tags = [quote(tag) for tag in frame["tag"] if not runs_by_tag[tag].pooled]
    # The column unjudged@10 reports the unjudged documents.
    notes = evaluation.coverage.ignore_unjudged().notes
    if 0 < len(unpooled_tags) < frame.height:
        notes.append(f"runs that were not pooled: {list_some(unpooled_tags, 10)}")
    if late_note := describe_late_winners(frame.select("rank", "tag", "late").rows()):
        notes.append(late_note)
    schema = {"tag": pl.String, "groups": pl.String, "low": pl.Float64, "high": pl.Float64}
    groups = pl.DataFrame(schema=schema)
    if isinstance(separation, str):
        notes.append(f"runs are not compared: {separation}")
    else:
        notes = [*separation.notes, *notes]
        groups = pl.concat([groups, separation.frame], how="diagonal")
    frame = frame.join(groups, on="tag", how="left", maintain_order="left")
    columns = [
        column for name in Leaderboard.columns for column in (names if name == "*" else [name])
    ]
    result = None if isinstance(separation, str) else separation
    return Leaderboard(frame.select(columns), tuple(names), result, tuple(notes))


def task_leaderboard(
    campaign: OpenedCampaign,
    task: str | None = None,
    *,
    measures: Sequence[str] | None = None,
    judgments: str | None = None,
    alpha: float = 0.05,
    max_runs: int = MAX_COMPARED,
) -> Leaderboard:
    """Return the leaderboard of a task's accepted runs; scores and groups are cached.

    Parameters
    ----------
    campaign, task, measures, judgments
        As for :func:`~cranfield.campaign.results.scoring.score_runs`.
    alpha, max_runs
        As for :func:`leaderboard`.
    """
    scoring = Scoring(campaign, task, measures, judgments)
    evaluation = scoring.evaluate()
    notes = scoring.make_notes(evaluation)
    reason = explain_no_comparison(len(evaluation.systems), max_runs)
    separation = reason or _separate_with_cache(scoring, alpha, max_runs)
    result = _make_leaderboard(evaluation, scoring.submissions, separation)
    title = scoring.rules.title or scoring.rules.name
    return replace(result, task=title, notes=(*result.notes, *notes))


def _separate_with_cache(scoring: Scoring, alpha: float, max_runs: int) -> Separation | str:
    """Compare runs by the first measure; the result is cached in a file."""
    measure, campaign, judgments = scoring.measures[0], scoring.campaign, scoring.judgments
    basis = hash_values("groups", scoring.compute_basis(covers_all_runs=True), str(measure), alpha)
    if cached_table := read_cached_table(campaign, judgments.task, basis):
        frame, facts = cached_table
        return Separation(frame, facts["method"], facts["verdict"], (*facts["notes"].split("\n"),))
    scoring.measures = [measure]
    result = separate_runs(scoring.evaluate()[str(measure)], alpha, max_runs)
    if not isinstance(result, str):
        notes = "\n".join(result.notes)
        facts = {"method": result.method, "verdict": result.verdict, "notes": notes}
        cache_table(campaign, judgments, basis, result.frame, facts)
    return result


def format_feedback(campaign: OpenedCampaign, task: str, tags: Collection[str]) -> dict[str, str]:
    """Return the scores that the rules show to the teams of accepted runs, as text by tag.

    Teams that submit many runs and see their scores can infer judgments. Feedback is therefore off
    by default and rounded, and should be combined with `runs_per_day`. Feedback ends with the first
    release of the task, which publishes scores.
    """
    decimals = {"means": 2, "sheets": 4}.get(campaign.rules.get_task(task).feedback)
    registry = campaign.registry
    is_released = any(record.task == task for record in registry.list_releases())
    if decimals is None or is_released or not tags or not registry.list_judgments(task):
        return {}
    scoring = Scoring(campaign, task)
    means = scoring.evaluate().by_system()
    names = [str(measure) for measure in scoring.measures]
    version = f"judgment version {scoring.judgments.version}"
    texts = {}
    for tag, *values in means.iter_rows():
        if tag in tags:
            scores = zip(names, values, strict=True)
            parts = [f"{name} {value:.{decimals}f}" for name, value in scores if value is not None]
            texts[tag] = ", ".join([*parts, version])
    return texts
