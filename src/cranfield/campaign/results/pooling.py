"""The pool of a task: which runs the rules choose, and what is to be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.words import counted, some_of
from cranfield.campaign.opened import Opened
from cranfield.campaign.results.run_bytes import from_runs, none_readable
from cranfield.campaign.rules.task_rules import PoolRules
from cranfield.campaign.store.records import Submission

if TYPE_CHECKING:
    from cranfield.assess import Pool


def pooled_runs(
    opened: Opened, task: str | None = None, without: Sequence[str] = ()
) -> tuple[Submission, ...]:
    """Return the runs that the rules choose: accepted, not late, of the priorities named.

    `without` has tags of runs among these that are kept out of the pool; others are refused.
    """
    rules = opened.rules.task(task)
    priorities = (rules.pool or PoolRules()).priorities
    accepted = opened.registry.submissions(rules.name)
    in_time = [one for one in accepted if not one.late]
    chosen = [one for one in in_time if not priorities or one.priority in priorities]
    if not chosen:
        of = f" of priority {', '.join(map(str, priorities))}" if priorities else ""
        raise CranfieldError(
            f"task {quoted(rules.name)} has no run to pool:"
            f" {counted(len(accepted), 'accepted run')}, {len(in_time)} in time, none{of}"
        )
    tags = [one.tag for one in chosen]
    for tag in without:
        if tag not in tags:
            raise PolicyError(
                f"without must name runs that the rules pool, got {quoted(tag)}; expected any of:"
                f" {some_of(tags, 12)}"
            )
    if set(tags) <= set(without):
        raise PolicyError("without must leave at least one run in the pool, got all of them")
    return tuple(one for one in chosen if one.tag not in without)


def pool(
    opened: Opened,
    task: str | None = None,
    *,
    depth: int | None = None,
    ties: str = "trec",
    mark: bool = False,
    without: Sequence[str] = (),
) -> Pool:
    """Pool the runs that the rules choose.

    Parameters
    ----------
    opened
        The campaign.
    task
        The task; the only one where there is no other.
    depth
        Ranks of each ranking; by default those of the rules, which are 100 where they say nothing.
    ties
        Order of documents with equal scores: TREC's, by document id, falling. Ranks are made from
        scores, whatever the rank column says; `rank` goes by that column.
    without
        Tags of runs that are kept out of the pool; with `mark`, the event names them.
    mark
        Record that these runs were pooled. Those that were pooled before stay marked: what was
        judged of them is judged.

    Returns
    -------
    Pool
        As :func:`cranfield.assess.pool` makes it.

    Raises
    ------
    CranfieldError
        Where the rules choose no run.
    InputError
        If no run can be read. If only some cannot, they are excluded with a warning.
    """
    from cranfield.assess import pool as made_of

    rules = opened.rules.task(task)
    chosen = pooled_runs(opened, rules.name, without)
    depth = (rules.pool or PoolRules()).depth if depth is None else depth
    made = from_runs(opened, rules, chosen, lambda runs: made_of(runs, depth, ties=ties))
    if made is None:
        raise none_readable(opened, rules.name)
    if mark:
        read = [one for one in chosen if one.id not in opened.unreadable]
        _mark(opened, read, rules.name, depth, without)
    return made


def _mark(
    opened: Opened, chosen: Sequence[Submission], task: str, depth: int, without: Sequence[str]
) -> None:
    new = [one for one in chosen if not one.pooled]
    if not new and not without:
        return
    details = {"depth": depth, "runs": [one.tag for one in new], "without": [*without]}
    with opened.registry.change("pool", task, details) as change:
        there = {one.id: one for one in change.submissions(task, None)}
        for one in new:
            # The run as it is now: somebody may have withdrawn it while the pool was made.
            now = there[one.id]
            if now.state != "accepted":
                raise PolicyError(f"run {quoted(one.tag)} was taken back while the pool was made")
            change.update(replace(now, pooled=True))
