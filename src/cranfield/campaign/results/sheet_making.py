"""Computation of the sheets of a task's runs from their scores."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import places
from cranfield.base.errors import check_choice
from cranfield.base.text import capitalised
from cranfield.campaign.checks.metadata import public_metadata
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.results.leaderboard import compared_if_possible
from cranfield.campaign.results.scoring import score_runs
from cranfield.campaign.results.sheet import (
    Category,
    Number,
    Sheet,
    SheetComparison,
    TopicScores,
    finite,
)
from cranfield.campaign.results.stored_inputs import version_of
from cranfield.campaign.results.topic_statistics import topic_statistics
from cranfield.campaign.rules.task_rules import PoolRules, Rules, TaskRules
from cranfield.campaign.store.records import ACCEPTED, Submission
from cranfield.collection.metadata.reading import read_metadata
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures import parse_measures
from cranfield.reporting.page.sections import verdict_sentence
from cranfield.reporting.summary import BETTER, WORSE, group_letters, verdict_matrix
from cranfield.scales.statements import MEANINGFUL, Meaningfulness, describe_order, meaningfulness
from cranfield.scores import Scores

ALL_RUNS = ("", "")
"""The group of all runs, as category and value."""

Group = tuple[str, str]


def value_of(run: Submission, key: str) -> str:
    """Return a run's value of a category: its type, or its answer to a question."""
    return run.type if key == "type" else run.answers.get(key, "")


def groups_by(runs: Sequence[Submission], key: str) -> dict[str, str]:
    """Return the value of each run by tag, without runs that have none."""
    return {run.tag: value for run in runs if (value := value_of(run, key))}


def reference_groups(
    runs: Sequence[Submission], task: TaskRules, team: str | None = None
) -> dict[str, Group | None]:
    """Return the reference group of each run: the first group that is large enough, or all runs.

    With a `team`, return those of its runs only, such that neither a group nor the difference of
    two groups reveals the scores of fewer teams than `min_category`, including the team itself.
    """
    team_of = {run.tag: run.team for run in runs}
    members = {ALL_RUNS: set(team_of)}
    for key in task.categories:
        for tag, value in groups_by(runs, key).items():
            members.setdefault((key, value), set()).add(tag)

    def is_large(tags: Collection[str]) -> bool:
        size = len(tags) if team is None else len({team_of[tag] for tag in tags} | {team})
        return size >= task.min_category

    group_of: dict[str, Group | None] = {}
    for run in runs:
        if team is None or run.team == team:
            groups = [*((key, value_of(run, key)) for key in task.categories), ALL_RUNS]
            large = (group for group in groups if group in members and is_large(members[group]))
            group_of[run.tag] = next(large, None)
    if team is None:
        return group_of
    # Exclude groups that differ from another by few runs of other teams, all runs first.
    allowed = {group for group in group_of.values() if group is not None}
    for group, other_group in combinations(sorted(allowed, reverse=True), 2):
        if {group, other_group} <= allowed:
            for tags in (
                members[group] - members[other_group],
                members[other_group] - members[group],
            ):
                if any(team_of[tag] != team for tag in tags) and not is_large(tags):
                    allowed.discard(other_group)
    return {tag: group if group in allowed else None for tag, group in group_of.items()}


LEVELS = tuple(f"{k / 10:g}" for k in range(11))

NO_REASON = "the comparison is not possible"

NAMING_OF_OTHERS = ("named", "hidden")
"""Whether a sheet names the runs that are not significantly different from its run."""

COUNTS = {
    "topics": "NumQ",
    "retrieved": "NumRet",
    "relevant": "NumRel",
    "relevant_retrieved": "NumRelRet",
}
"""Fields of sheets that are counts, with their measures."""

PRECISION = {k: f"P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)}


def measures_of(task: TaskRules) -> tuple[str, ...]:
    """Return all measures of a task's sheets: overall block, measures of the task, coverage."""
    coverage = (
        name for depth in _depths(task) for name in (f"NumRet@{depth}", f"Unjudged@{depth}")
    )
    block = [*COUNTS.values(), *recall_measures(task), "AP", *PRECISION.values(), "Rprec"]
    return tuple(dict.fromkeys([*block, *own_measures(task), *coverage]))


def own_measures(task: TaskRules) -> tuple[str, ...]:
    """Return the text forms of the measures in the rules."""
    return _text_forms(task, task.measures)


def recall_measures(task: TaskRules) -> tuple[str, ...]:
    """Return the measures of interpolated precision at 11 levels of recall."""
    return _text_forms(task, ("iprec_at_recall",))


def _text_forms(task: TaskRules, names: Sequence[str]) -> tuple[str, ...]:
    compat = task.judging.get("compat")
    return tuple(map(str, parse_measures(names, compat=None if compat is None else str(compat))))


def _depths(task: TaskRules) -> tuple[int, ...]:
    return tuple(dict.fromkeys((10, *([task.pool.depth] if task.pool else []))))


def comparisons_by_run(scores: Scores) -> tuple[SheetComparison, ...]:
    """Compare each run with all others, by the default comparison of all pairs."""
    ranks = places(scores.overall(), scores.lower_is_better).tolist()
    runs = len(scores.systems)
    comparison = compared_if_possible(scores)
    if isinstance(comparison, str):
        return tuple(SheetComparison(rank, runs, not_compared=comparison) for rank in ranks)
    statement = meaningfulness(comparison)
    letters = group_letters(comparison) or [""] * runs
    verdicts = verdict_matrix(comparison)
    comparisons = []
    for k, rank in enumerate(ranks):
        # The row has the verdicts on this run; those on the other runs are the opposite.
        better, worse = verdicts[k] == WORSE, verdicts[k] == BETTER
        ties = [int(j) for j in comparison.order if j != k and not better[j] and not worse[j]]
        comparisons.append(
            SheetComparison(
                rank=rank,
                runs=runs,
                groups=letters[k],
                method=f"{comparison.title}, alpha {comparison.alpha:g}",
                better=int(better.sum()),
                worse=int(worse.sum()),
                not_separated=len(ties),
                names=tuple(scores.systems[j] for j in ties),
                verdict=_verdict(statement, k),
            )
        )
    return tuple(comparisons)


def _verdict(statement: Meaningfulness, k: int) -> tuple[str, ...]:
    """Return sentences on meaningfulness, and on pairs of this run with an invariant order."""
    first = verdict_sentence(statement)
    comparison = statement.comparison
    involves_run = (
        (comparison.first == k) | (comparison.second == k)
    ) & comparison.is_significant()
    significant = int(involves_run.sum())
    if statement.verdict == MEANINGFUL or not significant:
        return (first,)
    holds = int((involves_run & statement.dominance.holds).sum())
    order = describe_order(
        significant, holds, "run that differs from it", "runs that differ from it"
    )
    return (first, f"{capitalised(order)}.")


def sheet_inputs(
    campaign: OpenedCampaign,
    task: str | None = None,
    judgments: str | None = None,
    *,
    measure: str | None = None,
) -> SheetInputs:
    """Return the inputs of the sheets of a task's accepted runs."""
    rules, registry = campaign.rules.task(task), campaign.registry
    names = [*measures_of(rules), *([] if measure is None else [measure])]
    evaluation = score_runs(campaign, rules.name, measures=names, judgments=judgments)
    runs = scored_runs(campaign, rules.name, evaluation)
    return SheetInputs(
        evaluation,
        runs,
        campaign.rules,
        rules,
        version_of(campaign, rules.name, judgments).version,
        teams={team.id: team.name for team in registry.teams()},
        warnings={
            run.tag: tuple(
                fault.message for fault in registry.faults(run.id) if fault.severity == "warning"
            )
            for run in runs
        },
        metadata={run.tag: public_part(run)[0] for run in runs if run.metadata},
        measure=measure,
    )


def scored_runs(campaign: OpenedCampaign, task: str, evaluation: Evaluation) -> list[Submission]:
    """Return the accepted runs that have scores, in order of arrival."""
    # A run submitted after the scoring has no scores.
    accepted = campaign.registry.submissions(task, (ACCEPTED,))
    return [run for run in accepted if run.tag in evaluation.systems]


def public_part(run: Submission) -> tuple[str, tuple[str, ...]]:
    """Return the public part of a run's metadata, as YAML, and the keys that were removed."""
    metadata = read_metadata((run.metadata or "").encode())
    if metadata is None:
        return "", ()
    text, dropped = public_metadata(metadata)
    return text.decode(), dropped


@dataclass(frozen=True, eq=False)
class SheetInputs:
    """Inputs of sheets."""

    evaluation: Evaluation  # scores of all runs by all of `measures_of`
    runs: Sequence[Submission]
    rules: Rules
    task: TaskRules
    judgments: str = ""  # version
    teams: Mapping[str, str] = field(default_factory=dict)  # names by id
    warnings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # of the check, by tag
    metadata: Mapping[str, str] = field(default_factory=dict)  # public part as YAML, by tag
    measure: str | None = None  # of charts, topics and comparisons; by default the task's first

    @cached_property
    def scores(self) -> Scores:
        """The scores of charts, topics and comparisons."""
        return self.scores_by(self.measure or own_measures(self.task)[0])

    def scores_by(self, measure: str) -> Scores:
        """Return the scores by a measure, with topics and tags in order."""
        tags = sorted(run.tag for run in self.runs)
        return self.evaluation[measure].select(in_order(self.evaluation.topics), tags)

    def members(self, scores: Scores, group: Group) -> Scores:
        """Return the scores of the runs of a group, in order of tags."""
        key, value = group
        tags = [run.tag for run in self.runs if not key or value_of(run, key) == value]
        return scores.select(systems=sorted(tags))

    def statistics(self, scores: Scores, group: Group) -> pl.DataFrame:
        """Return best, median and worst score of the runs of a group, and their number."""
        members = self.members(scores, group)
        return topic_statistics(members, median=self.task.median).rows.drop("group")

    def sheets(self, others: str = "named", team: str | None = None) -> tuple[Sheet, ...]:
        """Return the sheets, in order of tags.

        Parameters
        ----------
        others
            `named`: the sheets name the runs that are not significantly different from their run.
            `hidden`: no other run is named.
        team
            Return the sheets of this team only, with reference groups that do not reveal the scores
            of few other teams.
        """
        check_choice("others", others, NAMING_OF_OTHERS)
        scores, task = self.scores, self.task
        group_of = reference_groups(self.runs, task, team)
        groups = dict.fromkeys(group for group in group_of.values() if group is not None)
        by_group = {group: self._group_fields(group) for group in groups}
        counts = self.evaluation["NumRel"].select(scores.topics, scores.systems).values
        relevant = [int(count) for count in np.nanmax(counts, axis=1)]
        measures = tuple(dict.fromkeys([*own_measures(task), scores.measure]))
        names = dict.fromkeys([*measures_of(task), *measures])
        overall = {name: self.scores_by(name).overall().tolist() for name in names}
        comparisons = comparisons_by_run(scores)
        run_of = {run.tag: run for run in self.runs}
        sheets = []
        for k, tag in enumerate(scores.systems):
            if tag not in group_of:
                continue
            columns: dict[str, Iterable[Any]] = {
                "topic": scores.topics,
                "relevant": relevant,
                "score": map(finite, scores.values[:, k].tolist()),
            }
            fields: dict[str, Any] = {}
            group = group_of[tag]
            if group is not None:
                fields, by_topic, ranks = by_group[group]
                columns |= by_topic | {"rank": ranks[tag]}
            comparison = comparisons[k]
            if others == "hidden":
                # The reason may name another run, too.
                reason = comparison.not_compared and NO_REASON
                comparison = replace(comparison, names=None, not_compared=reason)
            rows = zip(*columns.values(), strict=True)
            sheets.append(
                Sheet(
                    **self._about(run_of[tag]),
                    **_overall({name: row[k] for name, row in overall.items()}, measures, task),
                    measure=scores.measure,
                    lower_is_better=scores.lower_is_better,
                    by_topic=tuple(
                        TopicScores(**dict(zip(columns, row, strict=True))) for row in rows
                    ),
                    comparison=comparison,
                    **fields,
                )
            )
        return tuple(sheets)

    def _group_fields(
        self, group: Group
    ) -> tuple[dict[str, Any], dict[str, list[Number]], dict[str, list[int]]]:
        """Return fields of sheets on a group, its best, median and worst, and ranks by tag."""
        levels = [self.scores_by(name).overall() for name in recall_measures(self.task)]
        curves = Scores(np.stack(levels), LEVELS, self.scores.systems, "IPrec")
        median = self.statistics(curves, group)["median"].to_list()
        rows = self.statistics(self.scores, group)
        members = self.members(self.scores, group)
        ranks = np.array([places(row, members.lower_is_better) for row in members.values], int)
        fields = {
            "category": Category(*group, len(members.systems)),
            "median_precision": tuple(map(finite, median)),
        }
        by_topic = {name: [*map(finite, rows[name])] for name in ("best", "median", "worst")}
        return fields, by_topic, dict(zip(members.systems, ranks.T.tolist(), strict=True))

    def _about(self, run: Submission) -> dict[str, Any]:
        """Return the fields of a sheet on the run and its task."""
        # If no run is marked, the pooled runs are unknown.
        is_marked = any(submission.pooled for submission in self.runs)
        return {
            **{name: getattr(run, name) for name in RUN_FIELDS},
            "campaign": self.rules.id,
            "campaign_title": self.rules.title,
            "task": self.task.name,
            "task_title": self.task.title,
            "judgments": self.judgments,
            "team_name": self.teams.get(run.team, ""),
            "answers": dict(run.answers),
            "depth": (self.task.pool or PoolRules()).depth if is_marked else None,
            "sha256": run.object,
            "warnings": self.warnings.get(run.tag, ()),
            "metadata": self.metadata.get(run.tag, ""),
        }


def in_order(topics: Sequence[str]) -> list[str]:
    """Sort topics in natural order, so that 2 comes before 10."""

    def key(topic: str) -> list[tuple[int, str]]:
        parts = re.split(r"([0-9]+)", topic)
        return [(int(part), "") if k % 2 else (0, part) for k, part in enumerate(parts)]

    return sorted(topics, key=key)


RUN_FIELDS = ("tag", "team", "type", "priority", "description", "late", "pooled", "received")
"""Fields of sheets that are copied from the submission."""


def _overall(
    values: Mapping[str, float], measures: Sequence[str], task: TaskRules
) -> dict[str, Any]:
    """Return the fields of a sheet on all topics, from the overall values by measure."""
    counts = {name: round(values[measure]) for name, measure in COUNTS.items()}
    unjudged: dict[int, Number] = {}
    for depth in _depths(task):
        retrieved = values[f"NumRet@{depth}"]
        missing = values[f"Unjudged@{depth}"] * depth * counts["topics"]
        unjudged[depth] = finite(missing / retrieved) if retrieved else None
    return {
        **counts,
        "precision_at_recall": tuple(finite(values[name]) for name in recall_measures(task)),
        "precision_at": {k: finite(values[name]) for k, name in PRECISION.items()},
        "average_precision": finite(values["AP"]),
        "r_precision": finite(values["Rprec"]),
        "measures": {name: finite(values[name]) for name in measures},
        "unjudged": unjudged,
    }
