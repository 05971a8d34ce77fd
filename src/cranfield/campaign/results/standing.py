"""Comparison of a new run with the runs of a campaign."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import fspath
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import remove_noise
from cranfield.base.errors import CranfieldError, PolicyError, quote
from cranfield.base.text import inflect
from cranfield.campaign.opened_campaign import OpenedCampaign, PathName
from cranfield.campaign.results.scoring import (
    Scoring,
    cache_table,
    hash_values,
    read_cached_table,
    split_coverage,
)
from cranfield.campaign.results.stored_inputs import (
    read_stored_qrels,
    read_stored_run,
    read_stored_runs,
    select_intact_runs,
)
from cranfield.campaign.rules.task_rules import PoolRules
from cranfield.campaign.submitting.submit import find_accepted_run
from cranfield.collection.files.reading import read_run
from cranfield.collection.judged.judging import judge
from cranfield.collection.run import Run
from cranfield.evaluation.evaluation import Evaluation, note_ties, score
from cranfield.meta.collection_studies.leave_one_out import leave_one_out
from cranfield.result import Column, Columns, Result, format_table
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.comparison.result import TEST_ALL_PAIRS, PairwiseComparison
from cranfield.significance.transform import standardise
from cranfield.tabular import Table, format_number

BEST, MEDIAN, BASELINE = "best", "median", "baseline"


def describe_position(frame: pl.DataFrame, lower_is_better: bool = False) -> str:
    """Describe the position of a run by its comparisons with the best and the median run.

    >>> columns = {"against": ["best", "median"], "difference": [-0.1, 0.2]}
    >>> describe_position(pl.DataFrame({**columns, "significant": [False, True]}))
    'above the median, not significantly different from the best'
    """
    relations: dict[str, str] = {}
    for row in frame.iter_rows(named=True):
        side = "above" if (row["difference"] > 0) != lower_is_better else "below"
        relations[row["against"]] = (
            side if row["significant"] else "not significantly different from"
        )
    if relations[BEST] == "above":
        return "above the best"
    if relations[MEDIAN] != "above":
        return f"{relations[MEDIAN]} the median"
    return f"above the median, {relations[BEST]} the best"


@dataclass(frozen=True, eq=False, repr=False)
class Standing(Result):
    """Standing of a run among the runs of a campaign; returned by :func:`standing`.

    Attributes
    ----------
    run, measure, judgments
        Tag of the run, text form of the measure, and version of the judgments.
    unjudged
        Proportion of unjudged documents among the first 10 and the first `depth` documents of all
        topics; the keys are 10 and `depth`.
    depth
        Depth of the pool.
    losses
        Losses of runs that were not pooled, estimated by leaving out each pooled team: `runs`,
        `mean drop`, `largest drop`, `largest rank change`; None without two pooled teams, or
        without `pooling`.
    rank, n_runs
        Rank among the reference runs and this run, and their number; equal means share a rank.
    mean
        Mean score of the run.
    frame
        One row per comparison of the run, without the column `run`.
    standardised
        Mean score of the run, standardised by the reference runs; None for fewer than ten of them.
    position
        Verdict: `below the median`, `not significantly different from the median`, `above the
        median, below the best`, `above the median, not significantly different from the best`, or
        `above the best`.
    comparison
        The comparison by :func:`cranfield.compare` that decides the position.
    baseline
        Standing of the baseline; None without a baseline.
    notes
        Notes on the comparisons.
    """

    name: ClassVar[str] = "comparisons"
    columns: ClassVar[Columns] = {
        "run": Column(
            "The run that is compared, or the baseline in rows that compare the baseline.", key=True
        ),
        "against": Column("The other run: best, median or baseline.", key=True),
        "tag": Column("Tag of the other run."),
        "mean": Column("Mean score of the other run."),
        "difference": Column(
            "Mean score of the run minus that of the other run; with another statistic, such as the"
            " mean ranks of `friedman`, the difference of this statistic."
        ),
        "low": Column(
            "Lower bound of the confidence interval of the difference; NaN if it would contradict"
            " the test decision."
        ),
        "high": Column("Upper bound of the same confidence interval as `low`."),
        "raw p": Column("p-value without correction for multiple comparisons.", is_pvalue=True),
        "p": Column("p-value, corrected for the comparisons of this run.", is_pvalue=True),
        "significant": Column("Whether the two runs are significantly different."),
        "standardised": Column(
            "Mean standardised score of the other run; null for fewer than ten reference runs."
        ),
    }

    run: str
    measure: str
    judgments: str
    unjudged: dict[int, float]
    depth: int
    losses: dict[str, float] | None
    rank: int
    n_runs: int
    mean: float
    frame: pl.DataFrame
    standardised: float | None
    position: str
    comparison: PairwiseComparison
    baseline: Standing | None
    notes: tuple[str, ...]

    def _frame(self) -> pl.DataFrame:
        rows = [self.frame.select(pl.lit(self.run).alias("run"), pl.all())]
        if self.baseline is not None:
            rows.append(self.baseline.to_polars())
        return pl.concat(rows)

    def heading(self) -> list[str]:
        """Return lines about the run and its baseline, starting with the unjudged documents."""
        texts = ", ".join(f"{rate:.1%} of the first {d}" for d, rate in self.unjudged.items())
        lines = [f"{self.run}: unjudged documents: {texts}"]
        if (losses := self.losses) is not None:
            lines.append(
                f"runs that were not pooled lose up to {format_number(losses['largest drop'])} of"
                f" {self.measure} (mean {format_number(losses['mean drop'])}) and up to"
                f" {inflect(round(losses['largest rank change']), 'rank')}, estimated by leaving"
                f" out each team of the {inflect(int(losses['runs']), 'pooled run')} in turn"
            )
        z = "" if self.standardised is None else f", standardised {self.standardised:+.2f}"
        rank = f"rank {self.rank:,} of {self.n_runs:,} (judgment version {self.judgments})"
        lines += [f"{self.measure} {self.mean:.4f}{z}: {rank}", f"verdict: {self.position}"]
        return [*lines, *(self.baseline.heading() if self.baseline else [])]

    def format_notes(self) -> list[str]:
        """Return no lines, because the notes are printed below the tables."""
        return []

    def tables(self) -> list[Table]:
        """Return the comparisons of the run and of the baseline as formatted tables."""
        title = f"{self.run}: {self.comparison.method}"
        frame = self.frame if self.standardised is not None else self.frame.drop("standardised")
        table = replace(format_table(frame, title, self.columns), remarks=list(self.notes))
        return [table, *(self.baseline.tables() if self.baseline else [])]

    def facts(self) -> dict[str, Any]:
        """Return the facts about the run and its baseline, with notes."""
        facts = {
            "run": self.run,
            "measure": self.measure,
            "judgments": self.judgments,
            "unjudged": {str(depth): rate for depth, rate in self.unjudged.items()},
            "losses when not pooled": self.losses,
            "mean": self.mean,
            "standardised": self.standardised,
            "rank": self.rank,
            "n_runs": self.n_runs,
            "verdict": self.position,
            "method": self.comparison.method,
            "notes": list(self.notes),
        }
        return facts | ({} if self.baseline is None else {"baseline": self.baseline.facts()})

    def __repr__(self) -> str:
        return f"Standing({self.run}: {self.position}, rank {self.rank:,} of {self.n_runs:,})"


def estimate_losses(scoring: Scoring) -> dict[str, float] | None:
    """Estimate the losses of unpooled runs by leaving out each of two or more pooled teams."""
    submissions = [run for run in scoring.submissions if run.pooled]
    pooled_runs = select_intact_runs(scoring.campaign, submissions)
    teams = {run.tag: run.team for run in pooled_runs}
    if len(set(teams.values())) < 2:
        return None
    measure = scoring.measures[0]
    depths = scoring.campaign.registry.get_pool_depths(scoring.rules.name)
    recorded_depths = (depths[run.tag] for run in pooled_runs if run.tag in depths)
    depth = max(recorded_depths, default=(scoring.rules.pool or PoolRules()).depth)
    policies = scoring.policies.describe()
    objects = sorted((run.tag, run.team, run.object) for run in pooled_runs)
    basis = hash_values("left out", scoring.compute_basis(), str(measure), depth, objects)
    if cached_table := read_cached_table(scoring.campaign, scoring.rules.name, basis):
        frame = cached_table[0]
    else:
        study = leave_one_out(
            read_stored_runs(scoring.campaign, scoring.rules, pooled_runs),
            read_stored_qrels(scoring.campaign, scoring.rules, scoring.judgments),
            measure,
            teams=teams,
            depth=depth,
            lists="raw",
            **{name: policies[name] for name in ("ties", "topics", "negative")},
        )
        columns = ("mean drop", "largest drop", "largest rank change")
        frame = study.summary.select(pl.col(name).cast(pl.Float64) for name in columns)
        cache_table(scoring.campaign, scoring.judgments, basis, frame, {})
    return {"runs": float(len(pooled_runs)), **frame.row(0, named=True)}


MIN_REFERENCE = 10
"""Minimum number of reference runs for standardised scores.

Standardised by the mean and standard deviation of n normal values, a new value has Student's
distribution with n - 1 degrees of freedom, times sqrt(1 + 1 / n). Its standard deviation is
infinite up to n = 3, 1.5 for n = 5 and 1.2 for n = 10.
"""


def standing(
    campaign: OpenedCampaign,
    run: PathName,
    task: str | None = None,
    *,
    measure: str | None = None,
    baseline: PathName | None = None,
    judgments: str | None = None,
    kind: str | None = "automatic",
    alpha: float = 0.05,
    pooling: bool = True,
    **options: Any,
) -> Standing:
    """Compare a run with the best and the median run of a campaign, and with any baseline.

    Armstrong, Moffat, Webber and Zobel (2009), Improvements that don't add up, found that new
    results were compared with weak baselines, and did not exceed earlier results.

    Parameters
    ----------
    campaign, task, judgments
        As for :func:`~cranfield.campaign.results.scoring.score_runs`.
    run
        File of a run, or tag of a run of the campaign.
    measure
        Measure to compare by; by default the first measure of the rules.
    baseline
        File or tag of a baseline to compare the run with.
    kind
        Type of the runs to compare with; None selects all accepted runs. If no run has the type
        `automatic`, the default selects all accepted runs, too.
    alpha
        Significance level.
    pooling
        Whether to estimate the score that a run loses because it was not pooled. The estimate
        requires that the pooled runs of at least two teams are marked, and is cached.
    options
        As for :func:`cranfield.compare`.

    Returns
    -------
    Standing
        The comparisons of the run and the comparisons of the baseline are two families of tests.

    Raises
    ------
    CranfieldError
        If there is no reference run, a file is not a run, the names of the run and the baseline are
        equal, or the measure depends on other runs.
    """
    scoring = Scoring(campaign, task, None if measure is None else [measure], judgments)
    scoring.measures = scoring.measures[:1]
    if scoring.measures[0].info.depends_on_others:
        reason = "cannot score a single run, as its values depend on the other runs"
        raise PolicyError(f"{scoring.measures[0]} {reason}")
    paths = [fspath(path) for path in (run, baseline) if path is not None]
    new_runs = [_read_run(scoring, path) for path in paths]
    names = [new_run.name for new_run in new_runs]
    if len(set(names)) < len(names):
        expected = "the run and its baseline must have different names"
        raise PolicyError(f"{expected}, got {quote(names[0])} twice")
    qrels = read_stored_qrels(campaign, scoring.rules, scoring.judgments)
    evaluation = score(judge(new_runs, qrels, **scoring.policies.describe()), scoring.measures)
    # The evaluation also removes unreadable runs from the submissions.
    [campaign_scores] = scoring.evaluate().values()
    losses = estimate_losses(scoring) if pooling else None
    tags, type_text = _find_reference_tags(scoring, kind)
    campaign_tags = {submission.tag for submission in scoring.submissions}
    run_paths = zip(new_runs, paths, strict=True)
    file_run_names = [new_run.name for new_run, path in run_paths if Path(path).is_file()]
    coverage, topic_notes = split_coverage(evaluation.coverage, scoring.rules)
    # The heading reports the unjudged documents.
    notes = [*coverage.ignore_unjudged().notes, *topic_notes]
    notes += note_ties(evaluation.judged, evaluation)
    notes += scoring.describe_topics(evaluation.topics)
    if duplicate_names := [name for name in file_run_names if name in campaign_tags]:
        tags = [tag for tag in tags if tag not in duplicate_names]
        subject = f"run {', '.join(map(quote, duplicate_names))} of the campaign"
        notes.append(f"{subject} is excluded, because a run file has the same name")
    if not set(tags) - {names[0]}:
        raise CranfieldError(f"task {quote(scoring.rules.name)} has no run to compare with")
    [new_scores] = evaluation.values()
    new_systems = [name for name in new_scores.systems if name not in tags]
    scores, missing_notes = _add_new_runs(
        campaign_scores.select(systems=sorted(tags)), new_scores.select(systems=new_systems)
    )
    notes += missing_notes
    options["alpha"] = alpha
    compare_one = partial(
        _compare_run, scoring, evaluation, scores, tags, type_text, notes, options
    )
    baseline_standing = None if baseline is None else compare_one(names[1])
    return replace(compare_one(*names), losses=losses, baseline=baseline_standing)


def _read_run(scoring: Scoring, text: str) -> Run:
    """Read the file of a run, or a run of the campaign by its tag."""
    registry, rules = scoring.campaign.registry, scoring.rules
    if Path(text).is_file() or not registry.list_submissions(None, None, tag=text):
        return read_run(text, format=rules.format)
    submission = find_accepted_run(registry, text)
    if submission.task != rules.name:
        task_text = f"{quote(submission.task)}, not {quote(rules.name)}"
        raise PolicyError(f"run {quote(submission.tag)} was submitted to the task {task_text}")
    return read_stored_run(scoring.campaign, rules, submission)


def _find_reference_tags(scoring: Scoring, kind: str | None) -> tuple[list[str], str]:
    """Return the tags of the reference runs, and a text about their type for a note."""
    tags = [run.tag for run in scoring.submissions if run.type == kind]
    if tags:
        return tags, f" of type {kind}"
    if kind not in (None, "automatic"):
        types = dict.fromkeys(quote(run.type) for run in scoring.submissions)
        raise PolicyError(f"no run is of type {quote(kind)}; expected one of: {', '.join(types)}")
    return [run.tag for run in scoring.submissions], ""


def _add_new_runs(campaign_scores: Scores, new_scores: Scores) -> tuple[Scores, tuple[str, ...]]:
    """Add new runs to the runs of a campaign, for its topics.

    Missing scores count as 0, as in leaderboards; if lower is better, their topics are excluded.
    """
    row_of = {topic: k for k, topic in enumerate(new_scores.topics)}
    rows = np.array([row_of.get(topic, -1) for topic in campaign_scores.topics])
    values = np.full((len(rows), len(new_scores.systems)), np.nan)
    values[rows >= 0] = new_scores.values[rows[rows >= 0]]
    systems = (*campaign_scores.systems, *new_scores.systems)
    all_scores = replace(
        campaign_scores, values=np.hstack([campaign_scores.values, values]), systems=systems
    )
    return all_scores.complete("drop" if all_scores.lower_is_better else "zero")


def _compare_run(
    scoring: Scoring,
    evaluation: Evaluation,
    scores: Scores,
    tags: Sequence[str],
    type_text: str,
    notes: Sequence[str],
    options: dict[str, Any],
    run: str,
    baseline: str | None = None,
) -> Standing:
    """Compare a run with the best and the median of the other runs, and with any baseline."""
    other_tags, depth = sorted({*tags} - {run}), (scoring.rules.pool or PoolRules()).depth
    reference, mean_scores = scores.select(systems=other_tags), scores.mean()
    means = dict(zip(scores.systems, mean_scores.tolist(), strict=True))
    keys = remove_noise(mean_scores) * (1.0 if reference.lower_is_better else -1.0)
    key_of = dict(zip(scores.systems, keys.tolist(), strict=True))
    sorted_tags = sorted(other_tags, key=lambda tag: (key_of[tag], tag))
    opponents = {BEST: sorted_tags[0], MEDIAN: sorted_tags[(len(sorted_tags) - 1) // 2]}
    if baseline is not None:
        opponents[BASELINE] = baseline
    tags = list(dict.fromkeys(opponents.values()))
    comparison = compare(scores.select(systems=[*tags, run]), baseline=tags, **options)
    group_note = f"compared with the {inflect(len(other_tags), 'accepted run')}{type_text}"
    selection_note = (
        "the p-values do not account for the selection of the best and the median run by the same"
        " scores"
    )
    z_of: dict[str, float | None] = dict.fromkeys(scores.systems)
    n_required, n_others = MIN_REFERENCE, len(other_tags)
    missing_z_notes = [
        f"scores are not standardised: {n_required} reference runs are required, got {n_others}"
    ]
    if n_others >= n_required:
        missing_z_notes, z_scores = [], standardise(scores, reference)
        z_of |= dict(zip(z_scores.systems, z_scores.mean().tolist(), strict=True))
    # The note on the selection covers the best run.
    test_notes = [note for note in comparison.notes if not note.endswith(TEST_ALL_PAIRS)]
    pairs = comparison.to_polars().with_columns(tag=pl.col("second"))
    frame = (
        pl.DataFrame({"against": list(opponents), "tag": list(opponents.values())})
        .with_columns(mean=pl.col("tag").replace_strict(means, return_dtype=pl.Float64))
        .join(pairs, on="tag", how="left", maintain_order="left")
        .with_columns(standardised=pl.col("tag").replace_strict(z_of, return_dtype=pl.Float64))
        .select([*Standing.columns][1:])
    )
    return Standing(
        run=run,
        measure=scores.measure,
        judgments=scoring.judgments.version,
        unjudged=_compute_unjudged(evaluation, run, depth),
        depth=depth,
        losses=None,
        rank=1 + sum(key_of[tag] < key_of[run] for tag in other_tags),
        n_runs=len(other_tags) + 1,
        mean=means[run],
        frame=frame,
        standardised=z_of[run],
        position=describe_position(frame, reference.lower_is_better),
        comparison=comparison,
        baseline=None,
        notes=(group_note, *notes, *missing_z_notes, selection_note, *test_notes),
    )


def _compute_unjudged(evaluation: Evaluation, run: str, depth: int) -> dict[int, float]:
    """Return the proportion of unjudged documents at depth 10 and at the depth of the pool."""
    system_index, proportions = evaluation.judged.systems.index(run), {}
    for n_documents in sorted({10, depth}):
        top_runs = evaluation.judged.top(n_documents)
        n_judged = int(top_runs.judged().n_rows[:, system_index].sum())
        n_retrieved = int(top_runs.n_retrieved[:, system_index].sum())
        proportions[n_documents] = 1 - n_judged / max(1, n_retrieved)
    return proportions
