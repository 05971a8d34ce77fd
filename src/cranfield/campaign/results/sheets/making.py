"""Sheets of a task's runs, from scores and from what is known of the runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from cranfield.base.checks import check_choice
from cranfield.campaign.opened import Opened
from cranfield.campaign.results.judgments import version_of
from cranfield.campaign.results.scoring import scored
from cranfield.campaign.results.sheets.against_others import RECALL, AgainstOthers
from cranfield.campaign.results.sheets.categories import groups_shown
from cranfield.campaign.results.sheets.certainty import certainties
from cranfield.campaign.results.sheets.content import finite
from cranfield.campaign.results.sheets.sheet import Sheet
from cranfield.campaign.rules.task_rules import Rules, TaskRules
from cranfield.campaign.store.records import ACCEPTED, Submission
from cranfield.evaluation.evaluation import Evaluation
from cranfield.measures import parse_measures

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
        dict.fromkeys([*COUNTS, *RECALL, "AP", *PRECISION.values(), "Rprec", *own, *judged])
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
    rules = opened.rules.task(task)
    evaluation = scores_of(opened, rules, judgments, measure)
    runs = opened.registry.submissions(rules.name, (ACCEPTED,))
    known = known_of(opened, rules, judgments, runs)
    return make_sheets(evaluation, runs, known, measure=measure, others=others, team=team)


def scores_of(
    opened: Opened, task: TaskRules, judgments: str | None = None, measure: str | None = None
) -> Evaluation:
    """Score a task's accepted runs by all that sheets show, and perhaps one measure more."""
    asked = [*measures_of(task), *([] if measure is None else [measure])]
    return scored(opened, task.name, measures=asked, judgments=judgments)


def known_of(
    opened: Opened, task: TaskRules, judgments: str | None, runs: Iterable[Submission]
) -> Known:
    """Gather what sheets of `runs` say besides scores."""
    return Known(
        opened.rules,
        task,
        version_of(opened, task.name, judgments).version,
        {one.id: one.name for one in opened.registry.teams()},
        {run.tag: _warnings(opened, run) for run in runs},
    )


def _warnings(opened: Opened, run: Submission) -> tuple[str, ...]:
    """Return what the check warned of, but for what it says of other runs."""
    faults = opened.registry.faults(run.id)
    return tuple(
        one.message for one in faults if one.severity == "warning" and one.code != "ranking-same"
    )


@dataclass(frozen=True)
class Known:
    """What sheets say besides scores: rules, judgments, names of teams, warnings by tag."""

    rules: Rules
    task: TaskRules
    judgments: str = ""
    teams: Mapping[str, str] = field(default_factory=dict)
    warnings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


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
    check_choice("others", others, OTHERS)
    scores = evaluation[measure or own_measures(known.task)[0]].select(
        in_order(evaluation.topics), sorted(run.tag for run in runs)
    )
    run_of = {run.tag: run for run in runs}
    sure = certainties(scores, hidden=others == "hidden")
    chosen = groups_shown(runs, known.task, team)
    compared = AgainstOthers(evaluation, scores, runs, known.task)
    relevant = np.nanmax(evaluation["NumRel"].select(scores.topics, scores.systems).values, axis=1)
    wanted = tuple(dict.fromkeys([*own_measures(known.task), scores.measure]))
    names = dict.fromkeys([*measures_of(known.task), *wanted])
    overall = {name: evaluation[name].overall().tolist() for name in names}
    made = []
    for k, tag in enumerate(scores.systems):
        if tag in chosen:
            at = evaluation.systems.index(tag)
            group = chosen[tag]
            own = {name: values[at] for name, values in overall.items()}
            made.append(
                Sheet(
                    **_head(run_of[tag], known),
                    **_overall(own, wanted, known.task),
                    measure=scores.measure,
                    lower_is_better=scores.lower_is_better,
                    by_topic=compared.topics(k, group, relevant),
                    category=compared.category(group),
                    median_precision=compared.curve(group),
                    sure=sure[k],
                )
            )
    return tuple(made)


def in_order(topics: Sequence[str]) -> list[str]:
    """Sort topics such that 2 comes before 10."""

    def key(topic: str) -> list[tuple[int, str]]:
        parts = re.split(r"([0-9]+)", topic)
        return [(int(part), "") if k % 2 else (0, part) for k, part in enumerate(parts)]

    return sorted(topics, key=key)


def _head(run: Submission, known: Known) -> dict[str, Any]:
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
        "depth": task.pool.depth if task.pool else None,
        "sha256": run.object,
        "received": run.received,
        "warnings": known.warnings.get(run.tag, ()),
    }


def _overall(values: Mapping[str, float], wanted: Sequence[str], task: TaskRules) -> dict[str, Any]:
    topics, retrieved, relevant, found = (round(values[name]) for name in COUNTS)
    return {
        "topics": topics,
        "retrieved": retrieved,
        "relevant": relevant,
        "relevant_retrieved": found,
        "precision_at_recall": tuple(finite(values[name]) for name in RECALL),
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
