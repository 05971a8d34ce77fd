"""Sheets of a task's runs, from their scores."""

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
from cranfield.campaign.opened import OpenedCampaign
from cranfield.campaign.results.leaderboard import compared_if_possible
from cranfield.campaign.results.scoring import scored
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
from cranfield.reporting.summary import BETTER, WORSE, group_letters, verdicts_of
from cranfield.scales.statements import MEANINGFUL, Meaningfulness, describe_order, meaningfulness
from cranfield.scores import Scores

ALL_RUNS = ("", "")
"""The group of all runs, as category and value."""

Group = tuple[str, str]


def value_of(run: Submission, key: str) -> str:
    """Return the value that a run has of a category: its type, or its answer to a question."""
    return run.type if key == "type" else run.answers.get(key, "")


def groups_by(runs: Sequence[Submission], key: str) -> dict[str, str]:
    """Return the value of each run by its tag; a run without one has no group."""
    return {run.tag: value for run in runs if (value := value_of(run, key))}


def groups_shown(
    runs: Sequence[Submission], task: TaskRules, team: str | None = None
) -> dict[str, Group | None]:
    """Choose the group that each run is compared with: the first that is large enough, or all.

    With a `team`, for its runs only, and so that these groups together tell it nothing of fewer
    teams than `min_category`, its own among them: not by themselves, and not by what one of them
    has and another lacks.
    """
    team_of = {run.tag: run.team for run in runs}
    members = {ALL_RUNS: set(team_of)}
    for key in task.categories:
        for tag, value in groups_by(runs, key).items():
            members.setdefault((key, value), set()).add(tag)

    def is_large(tags: Collection[str]) -> bool:
        size = len(tags) if team is None else len({team_of[tag] for tag in tags} | {team})
        return size >= task.min_category

    chosen: dict[str, Group | None] = {}
    for run in runs:
        if team is None or run.team == team:
            groups = [*((key, value_of(run, key)) for key in task.categories), ALL_RUNS]
            large = (group for group in groups if group in members and is_large(members[group]))
            chosen[run.tag] = next(large, None)
    if team is None:
        return chosen
    # Exclude groups that differ from another by a few runs of others; that of all runs first.
    shown = {group for group in chosen.values() if group is not None}
    for group, other in combinations(sorted(shown, reverse=True), 2):
        if {group, other} <= shown:
            for tags in (members[group] - members[other], members[other] - members[group]):
                if any(team_of[tag] != team for tag in tags) and not is_large(tags):
                    shown.discard(other)
    return {tag: group if group in shown else None for tag, group in chosen.items()}


LEVELS = tuple(f"{k / 10:g}" for k in range(11))

NO_REASON = "the comparison is not possible"

OTHERS = ("named", "hidden")
"""Whether a sheet names the runs that are not significantly different from its own."""

COUNTS = {
    "topics": "NumQ",
    "retrieved": "NumRet",
    "relevant": "NumRel",
    "relevant_retrieved": "NumRelRet",
}
"""Fields of sheets that are counts, and the measures that count."""

PRECISION = {k: f"P@{k}" for k in (5, 10, 15, 20, 30, 100, 200, 500, 1000)}


def measures_of(task: TaskRules) -> tuple[str, ...]:
    """Return all measures of a task's sheets: the overall block, the task's own, what is judged."""
    judged = (name for depth in _depths(task) for name in (f"NumRet@{depth}", f"Unjudged@{depth}"))
    block = [*COUNTS.values(), *recall_measures(task), "AP", *PRECISION.values(), "Rprec"]
    return tuple(dict.fromkeys([*block, *own_measures(task), *judged]))


def own_measures(task: TaskRules) -> tuple[str, ...]:
    """Return the text forms of the measures that the rules name."""
    return _text_forms(task, task.measures)


def recall_measures(task: TaskRules) -> tuple[str, ...]:
    """Return interpolated precision at 11 levels of recall, rounded as the rules of judging say."""
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
    verdicts = verdicts_of(comparison)
    comparisons = []
    for k, rank in enumerate(ranks):
        # The row has the verdicts on this run: those on the others are the contrary.
        better, worse = verdicts[k] == WORSE, verdicts[k] == BETTER
        same = [int(j) for j in comparison.order if j != k and not better[j] and not worse[j]]
        comparisons.append(
            SheetComparison(
                rank=rank,
                runs=runs,
                groups=letters[k],
                method=f"{comparison.title}, alpha {comparison.alpha:g}",
                better=int(better.sum()),
                worse=int(worse.sum()),
                not_separated=len(same),
                names=tuple(scores.systems[j] for j in same),
                verdict=_verdict(statement, k),
            )
        )
    return tuple(comparisons)


def _verdict(statement: Meaningfulness, k: int) -> tuple[str, ...]:
    """Return whether the statement is meaningful, and how many pairs with this run hold anyway."""
    first = verdict_sentence(statement)
    comparison = statement.comparison
    own = ((comparison.first == k) | (comparison.second == k)) & comparison.is_significant()
    significant = int(own.sum())
    if statement.verdict == MEANINGFUL or not significant:
        return (first,)
    holds = int((own & statement.dominance.holds).sum())
    order = describe_order(
        significant, holds, "run that differs from it", "runs that differ from it"
    )
    return (first, f"{capitalised(order)}.")


def sheet_inputs(
    opened: OpenedCampaign,
    task: str | None = None,
    judgments: str | None = None,
    *,
    measure: str | None = None,
) -> SheetInputs:
    """Gather all that the sheets of a task's accepted runs are made from."""
    rules, registry = opened.rules.task(task), opened.registry
    names = [*measures_of(rules), *([] if measure is None else [measure])]
    evaluation = scored(opened, rules.name, measures=names, judgments=judgments)
    runs = scored_runs(opened, rules.name, evaluation)
    return SheetInputs(
        evaluation,
        runs,
        opened.rules,
        rules,
        version_of(opened, rules.name, judgments).version,
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


def scored_runs(opened: OpenedCampaign, task: str, evaluation: Evaluation) -> list[Submission]:
    """Return the accepted runs that have scores, in order of arrival."""
    # A run that comes in right now is not among the scores.
    accepted = opened.registry.submissions(task, (ACCEPTED,))
    return [run for run in accepted if run.tag in evaluation.systems]


def public_part(run: Submission) -> tuple[str, tuple[str, ...]]:
    """Return the part of a run's metadata that is public, as YAML, and the keys that are not."""
    read = read_metadata((run.metadata or "").encode())
    if read is None:
        return "", ()
    text, dropped = public_metadata(read)
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
    measure: str | None = None  # shown in detail; by default the first of the task

    @cached_property
    def scores(self) -> Scores:
        """The scores of charts, topics and comparisons."""
        return self.scores_by(self.measure or own_measures(self.task)[0])

    def scores_by(self, measure: str) -> Scores:
        """Return the scores by one measure, topics and tags in order."""
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
        """Make the sheets, in order of tags.

        Parameters
        ----------
        others
            `named`: the sheets name the runs that are not significantly different from theirs.
            `hidden`: no other run is named.
        team
            For the sheets of one team only: the runs that its runs are compared with are chosen
            such that they tell of no few other teams.
        """
        check_choice("others", others, OTHERS)
        scores, task = self.scores, self.task
        group_of = groups_shown(self.runs, task, team)
        shown_groups = dict.fromkeys(group for group in group_of.values() if group is not None)
        compared = {group: self._of_group(group) for group in shown_groups}
        counts = self.evaluation["NumRel"].select(scores.topics, scores.systems).values
        relevant = [int(count) for count in np.nanmax(counts, axis=1)]
        shown = tuple(dict.fromkeys([*own_measures(task), scores.measure]))
        names = dict.fromkeys([*measures_of(task), *shown])
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
                fields, by_topic, ranks = compared[group]
                columns |= by_topic | {"rank": ranks[tag]}
            comparison = comparisons[k]
            if others == "hidden":
                # Why runs were not compared may name another run, too.
                reason = comparison.not_compared and NO_REASON
                comparison = replace(comparison, names=None, not_compared=reason)
            rows = zip(*columns.values(), strict=True)
            sheets.append(
                Sheet(
                    **self._about(run_of[tag]),
                    **_overall({name: values[k] for name, values in overall.items()}, shown, task),
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

    def _of_group(
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
        # Where no run is marked it is not known which were pooled.
        is_marked = any(one.pooled for one in self.runs)
        return {
            **{name: getattr(run, name) for name in OF_RUN},
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
    """Sort topics such that 2 comes before 10."""

    def key(topic: str) -> list[tuple[int, str]]:
        parts = re.split(r"([0-9]+)", topic)
        return [(int(part), "") if k % 2 else (0, part) for k, part in enumerate(parts)]

    return sorted(topics, key=key)


OF_RUN = ("tag", "team", "type", "priority", "description", "late", "pooled", "received")
"""Fields of sheets that are those of the submission."""


def _overall(values: Mapping[str, float], shown: Sequence[str], task: TaskRules) -> dict[str, Any]:
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
        "measures": {name: finite(values[name]) for name in shown},
        "unjudged": unjudged,
    }
