"""Sheets of a task's runs, from scores and from what is known of the runs."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.base.checks import check_choice
from cranfield.campaign.checks.run_metadata import public_metadata
from cranfield.campaign.opened import Opened
from cranfield.campaign.results.judgments import version_of
from cranfield.campaign.results.scoring import scored
from cranfield.campaign.results.sheets.against_others import AgainstOthers, recall_measures
from cranfield.campaign.results.sheets.categories import Group, groups_shown
from cranfield.campaign.results.sheets.certainty import certainties, nameless
from cranfield.campaign.results.sheets.content import Certainty, finite
from cranfield.campaign.results.sheets.sheet import Sheet
from cranfield.campaign.rules.task_rules import PoolRules, Rules, TaskRules
from cranfield.campaign.store.records import ACCEPTED, Submission
from cranfield.collection.metadata.reading import read_metadata
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures import parse_measures
from cranfield.scores import Scores

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


def sheets_of(
    opened: Opened,
    task: str | None = None,
    judgments: str | None = None,
    *,
    measure: str | None = None,
    others: str = "named",
    team: str | None = None,
) -> tuple[Sheet, ...]:
    """Make the sheets of a task's accepted runs.

    Parameters
    ----------
    opened
        The campaign.
    task, judgments
        The task, which needs no name where there is one only; the version of the judgments, by
        default the last.
    measure
        What charts, topics and certainty are about; by default the first of the task.
    others
        `named`: the sheets name runs that are not separated from theirs. `hidden`: no other run is
        named.
    team
        For the sheets of one team only: the runs that its runs are compared with are chosen such
        that they tell of no few other teams.

    Returns
    -------
    tuple of Sheet
        In order of tags.
    """
    return making_of(opened, task, judgments, measure).sheets(others, team)


def making_of(
    opened: Opened,
    task: str | None = None,
    judgments: str | None = None,
    measure: str | None = None,
) -> Making:
    """Gather all that the sheets of a task are made from; options as for :func:`sheets_of`."""
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
        {run.tag: _metadata(run) for run in runs if run.metadata},
    )
    return Making(evaluation, runs, known, measure)


def _warnings(opened: Opened, run: Submission) -> tuple[str, ...]:
    """Return what the check told the team; what only organisers are told is no warning."""
    faults = opened.registry.faults(run.id)
    return tuple(one.message for one in faults if one.severity == "warning")


def _metadata(run: Submission) -> str:
    """Return the part of a run's metadata that is public."""
    read = read_metadata((run.metadata or "").encode())
    return "" if read is None else public_metadata(read)[0].decode()


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

    def against(self, scores: Scores) -> AgainstOthers:
        """Return what compares scores with those of groups."""
        return AgainstOthers(self.evaluation, scores, self.runs, self.known.task)

    def sheets(self, others: str = "named", team: str | None = None) -> tuple[Sheet, ...]:
        """Make the sheets; options as for :func:`sheets_of`."""
        check_choice("others", others, OTHERS)
        scores, task = self.scores, self.known.task
        run_of = {run.tag: run for run in self.runs}
        chosen = self.groups(team)
        compared = self.against(scores)
        counts = self.evaluation["NumRel"].select(scores.topics, scores.systems).values
        relevant = np.nanmax(counts, axis=1)
        wanted = tuple(dict.fromkeys([*own_measures(task), scores.measure]))
        names = dict.fromkeys([*measures_of(task), *wanted])
        overall = {name: self.scores_by(name).overall().tolist() for name in names}
        # Where no run is marked it is not known which were pooled.
        marked = any(run.pooled for run in run_of.values())
        return tuple(
            Sheet(
                **_head(run_of[tag], self.known, marked),
                **_overall({name: values[k] for name, values in overall.items()}, wanted, task),
                measure=scores.measure,
                lower_is_better=scores.lower_is_better,
                by_topic=compared.topics(k, chosen[tag], relevant),
                category=compared.category(chosen[tag]),
                median_precision=compared.curve(chosen[tag]),
                sure=self.sure[k] if others == "named" else nameless(self.sure[k]),
            )
            for k, tag in enumerate(scores.systems)
            if tag in chosen
        )


def make_sheets(
    evaluation: Evaluation,
    runs: Sequence[Submission],
    known: Known,
    *,
    measure: str | None = None,
    others: str = "named",
    team: str | None = None,
) -> tuple[Sheet, ...]:
    """Make sheets from scores of all `runs` by all of :func:`measures_of`."""
    return Making(evaluation, runs, known, measure).sheets(others, team)


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
