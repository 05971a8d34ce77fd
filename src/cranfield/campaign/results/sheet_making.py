"""Sheets of a task's runs, from their scores."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
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
from cranfield.campaign.opened import Opened
from cranfield.campaign.results.leaderboard import compared_if_possible
from cranfield.campaign.results.scoring import scored
from cranfield.campaign.results.sheet import Category, Certainty, OfTopic, Sheet, finite
from cranfield.campaign.results.stored_inputs import version_of
from cranfield.campaign.results.topic_statistics import topic_statistics
from cranfield.campaign.rules.task_rules import PoolRules, Rules, TaskRules
from cranfield.campaign.store.records import ACCEPTED, Submission
from cranfield.collection.metadata.reading import read_metadata
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures import parse_measures
from cranfield.reporting.page.sections import verdict_sentence
from cranfield.reporting.summary import BETTER, WORSE, group_letters, verdicts_of
from cranfield.scales.meaningful import MEANINGFUL, Meaning, meaning, order_kept
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
    members = {ALL_RUNS: frozenset(run.tag for run in runs)}
    for key in task.categories:
        of = groups_by(runs, key)
        for value in sorted(set(of.values())):
            members[key, value] = frozenset(tag for tag, own in of.items() if own == value)
    team_of = {run.tag: run.team for run in runs}

    def enough(tags: Collection[str]) -> bool:
        if team is None:
            return len(tags) >= task.min_category
        return len({team_of[tag] for tag in tags} | {team}) >= task.min_category

    def first(run: Submission) -> Group | None:
        asked = [(key, value_of(run, key)) for key in task.categories]
        return next(
            (one for one in [*asked, ALL_RUNS] if one in members and enough(members[one])), None
        )

    chosen = {run.tag: first(run) for run in runs if team is None or run.team == team}
    return chosen if team is None else _apart(chosen, members, team_of, team, enough)


def _apart(
    chosen: Mapping[str, Group | None],
    members: Mapping[Group, frozenset[str]],
    team_of: Mapping[str, str],
    team: str,
    enough: Callable[[Collection[str]], bool],
) -> dict[str, Group | None]:
    """Leave out groups that differ from another by a few runs of others; that of all runs first."""
    kept = {one for one in chosen.values() if one is not None}
    for one, other in combinations(sorted(kept, reverse=True), 2):
        if not {one, other} <= kept:
            continue
        for rest in (members[one] - members[other], members[other] - members[one]):
            if any(team_of[tag] != team for tag in rest) and not enough(rest):
                kept.discard(other)
    return {tag: one if one in kept else None for tag, one in chosen.items()}


LEVELS = tuple(f"{k / 10:g}" for k in range(11))


def recall_measures(task: TaskRules) -> tuple[str, ...]:
    """Return interpolated precision at 11 levels of recall, rounded as the rules of judging say."""
    compat = task.judging.get("compat")
    names = parse_measures("iprec_at_recall", compat=None if compat is None else str(compat))
    return tuple(map(str, names))


@dataclass(frozen=True, eq=False)
class GroupScores:
    """Scores of the runs of a group.

    Attributes
    ----------
    frame
        By topic: `topic`, `best`, `median`, `worst`, `n`.
    curve
        The median precision at each level of recall.
    ranks
        By run: its place among the runs of the group, topic by topic.
    """

    category: Category
    frame: pl.DataFrame
    curve: tuple[float | None, ...]
    ranks: Mapping[str, Sequence[int]]


NO_REASON = "the comparison is not possible"


def certainties(scores: Scores) -> tuple[Certainty, ...]:
    """Say of each run what is sure of it, by the default comparison of all pairs."""
    own = places(scores.overall(), scores.lower_is_better).tolist()
    bare = [Certainty(place, len(scores.systems)) for place in own]
    comparison = compared_if_possible(scores)
    if isinstance(comparison, str):
        return tuple(replace(one, refused=comparison) for one in bare)
    said = meaning(comparison)
    letters = group_letters(comparison) or [""] * len(bare)
    verdicts = verdicts_of(comparison)
    method = f"{comparison.title}, alpha {comparison.alpha:g}"
    order = comparison.order
    made = []
    for k, one in enumerate(bare):
        row = verdicts[k]
        others = order[order != k]
        alike = [int(j) for j in others if row[j] not in {BETTER, WORSE}]
        made.append(
            replace(
                one,
                letters=letters[k],
                method=method,
                # The row says what this run is: the others are the contrary.
                better=int((row == WORSE).sum()),
                worse=int((row == BETTER).sum()),
                alike=len(alike),
                names=tuple(scores.systems[j] for j in alike),
                verdict=_verdict(said, k),
            )
        )
    return tuple(made)


def nameless(one: Certainty) -> Certainty:
    """Leave out whatever names another run; why runs were not compared may do so too."""
    return replace(one, names=None, refused=NO_REASON if one.refused else "")


def _verdict(said: Meaning, k: int) -> tuple[str, ...]:
    """Say whether the statement is meaningful, and how many pairs with this run hold anyway."""
    first = verdict_sentence(said)
    one = said.comparison
    mine = ((one.first == k) | (one.second == k)) & one.is_significant()
    found = int(mine.sum())
    if said.verdict == MEANINGFUL or not found:
        return (first,)
    holds = int((mine & said.dominance.holds).sum())
    kept = order_kept(found, holds, "run that differs from it", "runs that differ from it")
    return (first, f"{capitalised(kept)}.")


OTHERS = ("named", "hidden")
"""Whether a sheet names the runs that are not separated from its own."""

COUNTS = ("NumQ", "NumRet", "NumRel", "NumRelRet")
CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
PRECISION = {k: f"P@{k}" for k in CUTOFFS}


def measures_of(task: TaskRules) -> tuple[str, ...]:
    """Return all measures of a task's sheets: the overall block, the task's own, what is judged."""
    own = own_measures(task)
    judged = (name for depth in _depths(task) for name in (f"NumRet@{depth}", f"Unjudged@{depth}"))
    return tuple(
        dict.fromkeys(
            [*COUNTS, *recall_measures(task), "AP", *PRECISION.values(), "Rprec", *own, *judged]
        )
    )


def own_measures(task: TaskRules) -> tuple[str, ...]:
    """Return the text forms of the measures that the rules name."""
    return tuple(map(str, parse_measures(task.measures, compat=compat_of(task))))


def compat_of(task: TaskRules) -> str | None:
    """Return the program whose roundings the names of trec_eval stand for."""
    found = task.judging.get("compat")
    return None if found is None else str(found)


def _depths(task: TaskRules) -> tuple[int, ...]:
    return tuple(dict.fromkeys((10, *([task.pool.depth] if task.pool else []))))


def making_of(
    opened: Opened,
    task: str | None = None,
    judgments: str | None = None,
    *,
    measure: str | None = None,
) -> Making:
    """Gather all that the sheets of a task's accepted runs are made from.

    Parameters
    ----------
    opened
        The campaign.
    task, judgments
        As for :func:`~cranfield.campaign.results.scoring.scored`.
    measure
        Measure of charts, topics and certainty; by default the first of the task.
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
    known = Known(
        opened.rules,
        rules,
        version_of(opened, rules.name, judgments).version,
        {one.id: one.name for one in opened.registry.teams()},
        {run.tag: _warnings(opened, run) for run in runs},
        {run.tag: public_part(run)[0] for run in runs if run.metadata},
    )
    return Making(evaluation, runs, known, measure)


def _warnings(opened: Opened, run: Submission) -> tuple[str, ...]:
    """Return what the check told the team; what only organisers are told is no warning."""
    faults = opened.registry.faults(run.id)
    return tuple(one.message for one in faults if one.severity == "warning")


def public_part(run: Submission) -> tuple[str, tuple[str, ...]]:
    """Return the part of a run's metadata that is public, as YAML, and the keys that are not."""
    read = read_metadata((run.metadata or "").encode())
    if read is None:
        return "", ()
    text, dropped = public_metadata(read)
    return text.decode(), dropped


@dataclass(frozen=True)
class Known:
    """What sheets say besides scores.

    Attributes
    ----------
    rules, task, judgments
        The rules, and the version of the judgments.
    teams
        Names of teams by id.
    warnings, metadata
        By tag: what the check told, and the part of the metadata that is public, as YAML.
    """

    rules: Rules
    task: TaskRules
    judgments: str = ""
    teams: Mapping[str, str] = field(default_factory=dict)
    warnings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Making:
    """What sheets are made from: scores of all `runs` by all of :func:`measures_of`."""

    evaluation: Evaluation
    runs: Sequence[Submission]
    known: Known
    measure: str | None = None

    @cached_property
    def scores(self) -> Scores:
        """The scores that charts, topics and certainty are about."""
        return self.scores_by(self.measure or own_measures(self.known.task)[0])

    def scores_by(self, measure: str) -> Scores:
        """Return the scores by one measure, topics and tags in order."""
        tags = sorted(run.tag for run in self.runs)
        return self.evaluation[measure].select(in_order(self.evaluation.topics), tags)

    @cached_property
    def sure(self) -> tuple[Certainty, ...]:
        """What is sure of each run, in order of tags."""
        return certainties(self.scores)

    def groups(self, team: str | None = None) -> dict[str, Group | None]:
        """Return the group that each run, or each run of a team, is compared with."""
        return groups_shown(self.runs, self.known.task, team)

    @cached_property
    def curves(self) -> Scores:
        """Precision of each run at the levels of recall."""
        levels = [self.scores_by(name) for name in recall_measures(self.known.task)]
        values = np.stack([one.overall() for one in levels])
        return Scores(values, LEVELS, levels[0].systems, "IPrec")

    def group_scores(self, scores: Scores, group: Group) -> GroupScores:
        """Return what the runs of a group score."""
        key, value = group
        own = groups_by(self.runs, key)
        tags = [tag for tag in scores.systems if not key or own.get(tag) == value]
        chosen = scores.select(systems=tags)
        statistics, curves = (
            topic_statistics(one, median=self.known.task.median).of()
            for one in (chosen, self.curves.select(systems=tags))
        )
        ranks = np.array([places(row, scores.lower_is_better) for row in chosen.values], int)
        return GroupScores(
            Category(*group, len(tags)),
            statistics.drop("group"),
            tuple(map(finite, curves["median"].to_list())),
            dict(zip(tags, ranks.T.tolist(), strict=True)),
        )

    def sheets(self, others: str = "named", team: str | None = None) -> tuple[Sheet, ...]:
        """Make the sheets, in order of tags.

        Parameters
        ----------
        others
            `named`: the sheets name runs that are not separated from theirs. `hidden`: no other run
            is named.
        team
            For the sheets of one team only: the runs that its runs are compared with are chosen
            such that they tell of no few other teams.
        """
        check_choice("others", others, OTHERS)
        scores, task = self.scores, self.known.task
        run_of = {run.tag: run for run in self.runs}
        chosen = self.groups(team)
        groups = {
            group: self.group_scores(scores, group)
            for group in dict.fromkeys(chosen.values())
            if group is not None
        }
        counts = self.evaluation["NumRel"].select(scores.topics, scores.systems).values
        relevant = [int(count) for count in np.nanmax(counts, axis=1)]
        wanted = tuple(dict.fromkeys([*own_measures(task), scores.measure]))
        names = dict.fromkeys([*measures_of(task), *wanted])
        overall = {name: self.scores_by(name).overall().tolist() for name in names}
        # Where no run is marked it is not known which were pooled.
        marked = any(run.pooled for run in run_of.values())
        made = []
        for k, tag in enumerate(scores.systems):
            if tag not in chosen:
                continue
            columns = [scores.topics, relevant, map(finite, scores.values[:, k].tolist())]
            group = chosen[tag]
            of_group = None if group is None else groups[group]
            if of_group is not None:
                best = (of_group.frame[name].to_list() for name in ("best", "median", "worst"))
                columns += [*(map(finite, values) for values in best), of_group.ranks[tag]]
            sheet = Sheet(
                **_head(run_of[tag], self.known, marked),
                **_overall({name: values[k] for name, values in overall.items()}, wanted, task),
                measure=scores.measure,
                lower_is_better=scores.lower_is_better,
                by_topic=tuple(OfTopic(*row) for row in zip(*columns, strict=True)),
                category=None if of_group is None else of_group.category,
                median_precision=() if of_group is None else of_group.curve,
                sure=self.sure[k] if others == "named" else nameless(self.sure[k]),
            )
            made.append(sheet)
        return tuple(made)


def in_order(topics: Sequence[str]) -> list[str]:
    """Sort topics such that 2 comes before 10."""

    def key(topic: str) -> list[tuple[int, str]]:
        parts = re.split(r"([0-9]+)", topic)
        return [(int(part), "") if k % 2 else (0, part) for k, part in enumerate(parts)]

    return sorted(topics, key=key)


def _head(run: Submission, known: Known, marked: bool) -> dict[str, Any]:
    task = known.task
    return {
        "campaign": known.rules.id,
        "campaign_title": known.rules.title,
        "task": task.name,
        "task_title": task.title,
        "judgments": known.judgments,
        "tag": run.tag,
        "team": run.team,
        "team_name": known.teams.get(run.team, ""),
        "type": run.type,
        "priority": run.priority,
        "answers": dict(run.answers),
        "description": run.description,
        "late": run.late,
        "pooled": run.pooled,
        "depth": (task.pool or PoolRules()).depth if marked else None,
        "sha256": run.object,
        "received": run.received,
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
    """The share of the documents in the top ranks of all topics that nobody judged."""
    retrieved = values[f"NumRet@{depth}"]
    return finite(values[f"Unjudged@{depth}"] * depth * topics / retrieved) if retrieved else None
