"""Submit, withdraw and purge runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.text import plain
from cranfield.campaign.checks.report import CheckReport
from cranfield.campaign.opened import OpenedCampaign
from cranfield.campaign.store.records import ACCEPTED, REFUSED, WITHDRAWN, Submission
from cranfield.campaign.store.registry import Transaction
from cranfield.campaign.submitting.entering import (
    CheckedCopy,
    Declaration,
    checked_copy,
    decide,
    printable_text,
    write,
)
from cranfield.campaign.submitting.teams import known_team


@dataclass(frozen=True)
class SubmissionOutcome:
    """Outcome of the submission of a run.

    Attributes
    ----------
    submission
        As it stands in the registry: accepted, or refused.
    report
        All faults, also those of limits and times; nothing of other teams.
    again
        Whether the same bytes had been accepted under this tag before; nothing was changed.
    """

    submission: Submission
    report: CheckReport
    is_repeat: bool = False

    @property
    def accepted(self) -> bool:
        """True if the run was accepted."""
        return self.submission.state == ACCEPTED

    def __str__(self) -> str:
        report, run = self.report, self.submission
        lines = [fault.text(report.source) for fault in report.faults]
        tag = plain(run.tag) or plain(report.source)
        if self.is_repeat:
            lines.append(f"already submitted: {tag} (sha256 {run.object})")
        elif self.accepted:
            late = ", late" if run.late else ""
            counts = report.outcome.removeprefix("accepted").replace(": ", ", ")
            lines.append(f"accepted as {tag}{late}{counts} (sha256 {run.object})")
        else:
            lines.append(f"{report.outcome}, {tag}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        state = "already submitted" if self.is_repeat else self.submission.state
        return f"SubmissionOutcome({self.submission.tag!r}, {state})"


class _NothingToChange(Exception):  # noqa: N818
    """Ends a transaction that has nothing to change."""


def submit(
    opened: OpenedCampaign, run: str | PathLike[str], task: str | None, declared: Declaration
) -> SubmissionOutcome:
    """Submit a run.

    The bytes are read once, into a private file, and checked there. One transaction decides what
    depends on others: the tag, limits, times. If it accepts the run, the file takes its place
    among the objects before the run is entered, so that a run that is there has its bytes. When
    this returns, the run is on the disk.

    Parameters
    ----------
    opened
        The campaign.
    run
        A file, compressed or not; `-` is standard input.
    task
        Its name; where there is only one, it needs none.
    declared
        What the team declares.

    Raises
    ------
    PolicyError
        For a task or a team that is not there, a time that lies in the future, and a run to
        replace that the team does not have. Nothing is kept of that.
    InputError
        For a file that cannot be read.
    """
    rules = opened.rules.task(task)
    known_team(opened.registry, declared.team)
    with checked_copy(opened, run, rules, declared) as copy:
        return enter(opened, copy)


def check_here(
    opened: OpenedCampaign, run: str | PathLike[str], task: str | None = None, **declared: Any
) -> CheckReport:
    """Check a run as :func:`submit` would, without submitting it.

    What depends on the team is checked where a team is given, and only then.
    """
    rules = opened.rules.task(task)
    declaration = Declaration(**declared)
    with checked_copy(opened, run, rules, declaration) as copy:
        if not declaration.team:
            return copy.report
        known_team(opened.registry, declaration.team)
        return decide(opened.registry, copy).report(copy.report)


def enter(opened: OpenedCampaign, copy: CheckedCopy) -> SubmissionOutcome:
    """Decide what becomes of a run, and enter it, in one transaction."""
    details: dict[str, str] = {}
    try:
        with opened.registry.change("submit", copy.tag, details) as tx:
            submitted = enter_within(tx, opened, copy)
            if submitted.is_repeat:
                raise _NothingToChange
            details["state"] = submitted.submission.state
    except _NothingToChange:
        pass
    return submitted


def enter_within(
    tx: Transaction, opened: OpenedCampaign, copy: CheckedCopy, *, dry: bool = False
) -> SubmissionOutcome:
    """Decide what becomes of a run, and enter it, within a transaction of more than that.

    One that is `dry` will not be made, so that no bytes are to be put anywhere.
    """
    decision = decide(tx, copy)
    submission = decision.submission
    if not decision.is_repeat:
        submission = write(tx, opened, copy, decision, dry=dry)
    return SubmissionOutcome(submission, decision.report(copy.report), decision.is_repeat)


def withdraw(opened: OpenedCampaign, tag: str, reason: str) -> Submission:
    """Withdraw an accepted run: it is scored and released no more, and stays in the log.

    Parameters
    ----------
    opened
        The campaign.
    tag
        Of an accepted run.
    reason
        Why, for the log.

    Raises
    ------
    PolicyError
        Where no accepted run has the tag; what is in releases already stays there.
    """
    reason = printable_text("reason", reason)
    with opened.registry.change("withdraw", tag, {"reason": reason}) as tx:
        runs = tx.submissions(None, None, tag=tag)
        run = next((run for run in runs if run.state == ACCEPTED), None)
        if run is None:
            raise PolicyError(f"no accepted run has the tag {quoted(tag)}{_instead(runs)}")
        return tx.update(replace(run, state=WITHDRAWN, reason=reason))


def _instead(runs: Sequence[Submission]) -> str:
    """Describe what became of the runs with a tag; a refused run can be anybody's."""
    entered = [run for run in runs if run.state != REFUSED]
    if entered:
        return f"; that of team {quoted(entered[-1].team)} is already {entered[-1].state}"
    return "; submissions with this tag were refused" if runs else ""


def purge(opened: OpenedCampaign, tag: str, reason: str) -> Submission:
    """Remove the bytes of a run that was withdrawn, replaced or refused.

    Its row stays, with the hash. Bytes that another run or judgments are, too, stay.

    Parameters
    ----------
    opened
        The campaign.
    tag
        Of a run; of several the newest one that still has its bytes.
    reason
        Why, for the log.

    Raises
    ------
    PolicyError
        Where no such run has bytes; an accepted one is to be withdrawn first.
    """
    reason = printable_text("reason", reason)
    with opened.registry.change("purge", tag, {"reason": reason}) as tx:
        runs = tx.submissions(None, None, tag=tag)
        removable = [run for run in runs if run.kept and run.state != ACCEPTED]
        if not removable:
            accepted = any(run.state == ACCEPTED for run in runs)
            first = "; withdraw it first" if accepted else ""
            raise PolicyError(f"run {quoted(tag)} has no bytes to remove{first}")
        run = tx.update(replace(removable[-1], kept=False))
        # They are removed when no row names them: a kill leaves a left-over file, not a gap.
        tx.forget(run.object)
    return run
