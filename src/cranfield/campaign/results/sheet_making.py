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
from cranfield.scales.statements import MEANINGFUL, Meaningfulness, meaningfulness, order_kept
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

COUNTS = ("NumQ", "NumRet", "NumRel", "NumRelRet")
CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
PRECISION = {k: f"P@{k}" for k in CUTOFFS}


def measures_of(task: TaskRules) -> tuple[str, ...]:
    """Return all measures of a task's sheets: the overall block, the task's own, what is judged."""
    judged = (name for depth in _depths(task) for name in (f"NumRet@{depth}", f"Unjudged@{depth}"))
    block = [*COUNTS, *recall_measures(task), "AP", *PRECISION.values(), "Rprec"]
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
        not_separated = [
            int(j) for j in comparison.order if j != k and not better[j] and not worse[j]
        ]
        comparisons.append(
            SheetComparison(
                rank,
                runs,
                letters[k],
                f"{comparison.title}, alpha {comparison.alpha:g}",
                int(better.sum()),
                int(worse.sum()),
                len(not_separated),
                tuple(scores.systems[j] for j in not_separated),
                _verdict(statement, k),
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
    kept = order_kept(significant, holds, "run that differs from it", "runs that differ from it")
    return (first, f"{capitalised(kept)}.")


def sheet_inputs(
    opened: OpenedCampaign,
    task: str | None = None,
    judgments: str | None = None,
    *,
    measure: str | None = None,
) -> SheetInputs:
    """Gather all that the sheets of a task's accepted runs are made from.

    Parameters
    ----------
    opened
        The campaign.
    task, judgments
        As for :func:`~cranfield.campaign.results.scoring.scored`.
    measure
        Measure shown in detail, by topic and in charts; by default the first of the task.
    """
    rules = opened.rules.task(task)
    asked = [*measures_of(rules), *([] if measure is None else [measure])]
    evaluation = scored(opened, rules.name, measures=asked, judgments=judgments)
    # A run that comes in right now is not among the scores.
    runs = [
        run
        for run in opened.registry.submissions(rules.name, (ACCEPTED,))
        if run.tag in evaluation.systems
    ]
    known = SheetContext(
        opened.rules,
        rules,
        version_of(opened, rules.name, judgments).version,
        {one.id: one.name for one in opened.registry.teams()},
        {
            run.tag: tuple(
                fault.message
                for fault in opened.registry.faults(run.id)
                if fault.severity == "warning"
            )
            for run in runs
        },
        {run.tag: public_part(run)[0] for run in runs if run.metadata},
    )
    return SheetInputs(evaluation, runs, known, measure)


def public_part(run: Submission) -> tuple[str, tuple[str, ...]]:
    """Return the part of a run's metadata that is public, as YAML, and the keys that are not."""
    read = read_metadata((run.metadata or "").encode())
    if read is None:
        return "", ()
    text, dropped = public_metadata(read)
    return text.decode(), dropped


@dataclass(frozen=True)
class SheetContext:
    """Facts on the sheets besides scores.

    Attributes
    ----------
    rules, task, judgments
        The rules, and the version of the judgments.
    teams
        Names of teams by id.
    warnings, metadata
        By tag: warnings of the check, and the public part of the metadata, as YAML.
    """

    rules: Rules
    task: TaskRules
    judgments: str = ""
    teams: Mapping[str, str] = field(default_factory=dict)
    warnings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class SheetInputs:
    """Inputs of sheets: scores of all `runs` by all of :func:`measures_of`."""

    evaluation: Evaluation
    runs: Sequence[Submission]
    known: SheetContext
    measure: str | None = None

    @cached_property
    def scores(self) -> Scores:
        """The scores of charts, topics and comparisons."""
        return self.scores_by(self.measure or own_measures(self.known.task)[0])

    def scores_by(self, measure: str) -> Scores:
        """Return the scores by one measure, topics and tags in order."""
        tags = sorted(run.tag for run in self.runs)
        return self.evaluation[measure].select(in_order(self.evaluation.topics), tags)

    def groups(self, team: str | None = None) -> dict[str, Group | None]:
        """Return the group that each run, or each run of a team, is compared with."""
        return groups_shown(self.runs, self.known.task, team)

    def members(self, scores: Scores, group: Group) -> Scores:
        """Return the scores of the runs of a group, in order of tags."""
        key, value = group
        tags = [run.tag for run in self.runs if not key or value_of(run, key) == value]
        return scores.select(systems=sorted(tags))

    def statistics(self, scores: Scores, group: Group) -> pl.DataFrame:
        """Return best, median and worst score of the runs of a group, and their number."""
        chosen = self.members(scores, group)
        return topic_statistics(chosen, median=self.known.task.median).rows.drop("group")

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
        scores, task = self.scores, self.known.task
        chosen = self.groups(team)
        compared = {
            group: self._compared(group)
            for group in dict.fromkeys(chosen.values())
            if group is not None
        }
        counts = self.evaluation["NumRel"].select(scores.topics, scores.systems).values
        relevant = [int(count) for count in np.nanmax(counts, axis=1)]
        shown = tuple(dict.fromkeys([*own_measures(task), scores.measure]))
        names = dict.fromkeys([*measures_of(task), *shown])
        overall = {name: self.scores_by(name).overall().tolist() for name in names}
        comparisons = comparisons_by_run(scores)
        run_of = {run.tag: run for run in self.runs}
        # Where no run is marked it is not known which were pooled.
        marked = any(run.pooled for run in self.runs)
        sheets = []
        for k, tag in enumerate(scores.systems):
            if tag not in chosen:
                continue
            columns: list[Iterable[Any]] = [scores.topics, relevant]
            columns.append(map(finite, scores.values[:, k].tolist()))
            group = chosen[tag]
            of_group: dict[str, Any] = {}
            if group is not None:
                of_group, by_topic, places_of = compared[group]
                columns += [*by_topic, places_of[tag]]
            comparison = comparisons[k]
            if others == "hidden":
                # Why runs were not compared may name another run, too.
                reason = comparison.not_compared and NO_REASON
                comparison = replace(comparison, names=None, not_compared=reason)
            sheets.append(
                Sheet(
                    **_head(run_of[tag], self.known, marked),
                    **_overall({name: values[k] for name, values in overall.items()}, shown, task),
                    measure=scores.measure,
                    lower_is_better=scores.lower_is_better,
                    by_topic=tuple(TopicScores(*row) for row in zip(*columns, strict=True)),
                    comparison=comparison,
                    **of_group,
                )
            )
        return tuple(sheets)

    def _compared(
        self, group: Group
    ) -> tuple[dict[str, Any], list[list[Number]], dict[str, list[int]]]:
        """Return fields of sheets on a group, its best, median and worst, and ranks by tag."""
        levels = [self.scores_by(name).overall() for name in recall_measures(self.known.task)]
        curves = Scores(np.stack(levels), LEVELS, self.scores.systems, "IPrec")
        median = self.statistics(curves, group)["median"].to_list()
        rows = self.statistics(self.scores, group)
        chosen = self.members(self.scores, group)
        ranks = np.array([places(row, chosen.lower_is_better) for row in chosen.values], int)
        fields = {
            "category": Category(*group, len(chosen.systems)),
            "median_precision": tuple(map(finite, median)),
        }
        by_topic = [list(map(finite, rows[name])) for name in ("best", "median", "worst")]
        return fields, by_topic, dict(zip(chosen.systems, ranks.T.tolist(), strict=True))


def in_order(topics: Sequence[str]) -> list[str]:
    """Sort topics such that 2 comes before 10."""

    def key(topic: str) -> list[tuple[int, str]]:
        parts = re.split(r"([0-9]+)", topic)
        return [(int(part), "") if k % 2 else (0, part) for k, part in enumerate(parts)]

    return sorted(topics, key=key)


_OF_RUN = ("tag", "team", "type", "priority", "description", "late", "pooled", "received")
"""Fields of sheets that are those of the submission."""


def _head(run: Submission, known: SheetContext, marked: bool) -> dict[str, Any]:
    task = known.task
    return {
        **{name: getattr(run, name) for name in _OF_RUN},
        "campaign": known.rules.id,
        "campaign_title": known.rules.title,
        "task": task.name,
        "task_title": task.title,
        "judgments": known.judgments,
        "team_name": known.teams.get(run.team, ""),
        "answers": dict(run.answers),
        "depth": (task.pool or PoolRules()).depth if marked else None,
        "sha256": run.object,
        "warnings": known.warnings.get(run.tag, ()),
        "metadata": known.metadata.get(run.tag, ""),
    }


def _overall(values: Mapping[str, float], wanted: Sequence[str], task: TaskRules) -> dict[str, Any]:
    topics, retrieved, relevant, found = (round(values[name]) for name in COUNTS)
    return {
        "topics": topics,
        "retrieved": retrieved,
        "relevant": relevant,
        "relevant_retrieved": found,
        "precision_at_recall": tuple(finite(values[name]) for name in recall_measures(task)),
        "precision_at": {k: finite(values[name]) for k, name in PRECISION.items()},
        "average_precision": finite(values["AP"]),
        "r_precision": finite(values["Rprec"]),
        "measures": {name: finite(values[name]) for name in wanted},
        "unjudged": {k: _unjudged(values, k, topics) for k in _depths(task)},
    }


def _unjudged(values: Mapping[str, float], depth: int, topics: int) -> float | None:
    """Return the proportion of unjudged documents in the top ranks of all topics."""
    retrieved = values[f"NumRet@{depth}"]
    return finite(values[f"Unjudged@{depth}"] * depth * topics / retrieved) if retrieved else None
