"""What other submissions say to a new one: its tag, its ranking, its priority, what it replaces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from cranfield.base.errors import PolicyError, quoted
from cranfield.campaign.checks.catalogue import fault
from cranfield.campaign.checks.report import PRIVATE, Fault
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.store.records import ACCEPTED, REPLACED, Submission
from cranfield.campaign.submitting.declared import Declared


def to_replace(declared: Declared, own: Sequence[Submission]) -> Submission | None:
    """Find the run that is to be replaced among those of the same team and task."""
    if declared.replaces is None:
        return None
    for one in own:
        if one.tag == declared.replaces and one.state == ACCEPTED:
            return one
    raise PolicyError(
        f"team {quoted(declared.team)} has no accepted run {quoted(declared.replaces)} to replace"
    )


def check_replaced(declared: Declared, own: Sequence[Submission], again: Submission) -> None:
    """Refuse to replace a run by another one that is there already: one of both would be gone."""
    others = {one.tag for one in own if one.state == ACCEPTED and one.id != again.id}
    if declared.replaces in others:
        raise PolicyError(
            f"nothing is replaced: this is the run {quoted(again.tag)}, which is handed in already"
        )


def tag_faults(
    tag: str, team: str, replaced: Submission | None, called_so: Sequence[Submission]
) -> Iterator[Fault]:
    """Refuse a tag that another run has, in any case of its letters, or any team.

    That of a run which was replaced stays its team's: a link to it never leads to another team.
    """
    for one in called_so:
        if one.state == ACCEPTED and (replaced is None or one.id != replaced.id):
            break
        if one.state == REPLACED and one.team != team:
            break
    else:
        return
    taken = fault("tag-taken", tag=tag)
    own = one.team == team
    yield replace(taken, message=f"{taken.message}; replace that run") if own else taken


def ranking_faults(task: TaskRules, team: str, same: Sequence[Submission]) -> Iterator[Fault]:
    """Tell a team of its own run with the same ranking, and the organisers of anybody's."""
    for one in same:
        found = fault("ranking-same", task, tag=one.tag)
        if one.team == team:
            yield found
        else:
            said = f"{found.message} of team {quoted(one.team)}"
            yield replace(found, severity=PRIVATE, message=said)


def priority_faults(priority: int | None, others: Sequence[Submission]) -> Iterator[Fault]:
    """Warn of two runs of a team that come equally early into the pool."""
    for one in others:
        if priority is not None and one.priority == priority:
            said = f"'priority' {priority} is that of {quoted(one.tag)} too"
            yield Fault("answers", "warning", said)
            return
