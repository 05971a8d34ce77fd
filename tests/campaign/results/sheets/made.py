"""Sheets of the bundled collection, with records by hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import cranfield as cf
from cranfield.campaign.results.sheet import Sheet
from cranfield.campaign.results.sheet_making import SheetInputs, list_sheet_measures
from cranfield.campaign.rules.task_rules import PoolRules, Rules, TaskRules
from cranfield.campaign.store.records import ACCEPTED, Submission

TASK = TaskRules(
    "adhoc",
    title="TREC-COVID round 5",
    measures=("nDCG@20", "P@20", "RBP(p=0.5)"),
    categories=("type",),
    pool=PoolRules(depth=15),
)


def inputs(
    scores: cf.Evaluation, runs: Sequence[Submission], task: TaskRules = TASK
) -> SheetInputs:
    rules = Rules("covid", "TREC-COVID", {task.name: task})
    return SheetInputs(scores, runs, rules, task, judgments="1")


def submission(k: int, tag: str, team: str, type: str, **more: Any) -> Submission:
    return Submission(
        id=k,
        task="adhoc",
        team=team,
        tag=tag,
        object=f"{k:064x}",
        bytes=1000,
        received=f"2020-07-{1 + k % 28:02d}T12:00:00Z",
        state=ACCEPTED,
        type=type,
        priority=1,
        pooled=k % 3 > 0,
        **more,
    )


@cache
def evaluation(task: TaskRules = TASK) -> cf.Evaluation:
    covid = cf.bundled.trec_covid()
    return cf.evaluate(covid.runs, covid.qrels, list_sheet_measures(task))


@cache
def submissions() -> tuple[Submission, ...]:
    covid = cf.bundled.trec_covid()
    teams, types = covid.teams, covid.types
    return tuple(
        submission(k, run.name, teams[run.name], types[run.name])
        for k, run in enumerate(covid.runs, 1)
    )


@cache
def sheets(**options: Any) -> tuple[Sheet, ...]:
    return inputs(evaluation(), submissions()).make_sheets(**options)


def sheet_of(tag: str, some: Sequence[Sheet]) -> Sheet:
    return next(one for one in some if one.tag == tag)
