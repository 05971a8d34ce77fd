"""Times and numbers: when a task is open, and how many runs a team may hand in."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from cranfield.base.errors import quoted
from cranfield.base.words import counted
from cranfield.campaign.checks.catalogue import severity_of
from cranfield.campaign.checks.report import Fault
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.rules.times import lasting, shown, utc_text
from cranfield.campaign.store.records import ACCEPTED, Submission


def time_faults(task: TaskRules, received: datetime) -> Iterator[Fault]:
    """Compare instants, whatever their offsets; the last second belongs to the task."""
    if task.opens is not None and received < task.opens:
        left = lasting(task.opens - received)
        yield Fault(
            "not-open",
            severity_of("not-open", task),
            f"the task opens at {shown(task.opens)}, in {left}",
        )
    if task.closes is not None and received > task.closes:
        marked = task.late == "mark"
        said = f"the task closed at {shown(task.closes)}, {lasting(received - task.closes)} ago"
        if marked:
            said += "; the run is marked as late and not pooled"
        yield Fault("closed", "warning" if marked else "error", said)


def limit_faults(
    task: TaskRules, team: str, own: Sequence[Submission], received: datetime, replaced: int | None
) -> Iterator[Fault]:
    """Count what the team has in the task, and what it handed in on the same day (UTC).

    Runs that were refused count for the day, since each attempt tells something; runs that were
    replaced or withdrawn do not count for the team, and that which is to be replaced does not.
    """
    severity = severity_of("limit", task)
    accepted = sum(one.state == ACCEPTED and one.id != replaced for one in own)
    if task.runs_per_team is not None and accepted >= task.runs_per_team:
        runs = counted(accepted, "accepted run")
        yield Fault("limit", severity, f"team {quoted(team)} has {runs} of {task.runs_per_team}")
    day = utc_text(received)[:10]
    attempts = sum(one.received[:10] == day for one in own)
    if task.runs_per_day is not None and attempts >= task.runs_per_day:
        said = f"team {quoted(team)} handed in {counted(attempts, 'run')} of {task.runs_per_day}"
        yield Fault("limit", severity, f"{said} on {day} (UTC), refused ones counted")
