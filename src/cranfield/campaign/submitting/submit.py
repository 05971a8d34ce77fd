"""Submit, withdraw and purge runs."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.text import plain
from cranfield.campaign.checks.report import PRIVATE, CheckReport
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.rules.reading import rules_sha256
from cranfield.campaign.store import records
from cranfield.campaign.store.records import ACCEPTED, REFUSED, REPLACED, WITHDRAWN, Submission
from cranfield.campaign.store.registry import Transaction
from cranfield.campaign.submitting.entering import (
    CheckedCopy,
    Decision,
    Declaration,
    checked_copy,
    decide,
    printable_text,
)
from cranfield.campaign.submitting.teams import require_team


@dataclass(frozen=True)
class SubmissionOutcome:
    """Outcome of the submission of a run.

    Attributes
    ----------
    submission
        The record in the registry: accepted or refused.
    report
        All faults, also those of limits and times; without those that concern other teams.
    is_repeat
        Whether the same run was already accepted under this tag; nothing was changed then.
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


class UnchangedError(Exception):
    """Raised to end a transaction without a change."""


def submit(
    campaign: OpenedCampaign, run: str | PathLike[str], task: str | None, declaration: Declaration
) -> SubmissionOutcome:
    """Submit a run.

    The bytes are read once, into a private file, and checked there. One transaction checks the tag,
    limits and times. If it accepts the run, the file is stored before the run is recorded, so that
    every recorded run has its bytes. On return, the run is on the disk.

    Parameters
    ----------
    campaign
        The campaign.
    run
        A file, compressed or not; `-` is standard input.
    task
        Name of the task; optional if there is only one.
    declared
        Declaration of the team.

    Raises
    ------
    PolicyError
        For an unknown task or team, a time in the future, and a run to replace that the team
        does not have. Nothing is recorded.
    InputError
        For a file that cannot be read.
    """
    rules = campaign.rules.task(task)
    require_team(campaign.registry, declaration.team)
    with checked_copy(campaign, run, rules, declaration) as copy:
        return record_run(campaign, copy)


def check_submission(
    campaign: OpenedCampaign, run: str | PathLike[str], task: str | None = None, **declared: Any
) -> CheckReport:
    """Check a run as :func:`submit` would, without submitting it.

    Rules on teams are checked only if a team is set.
    """
    rules = campaign.rules.task(task)
    declaration = Declaration(**declared)
    with checked_copy(campaign, run, rules, declaration) as copy:
        if not declaration.team:
            return copy.report
        require_team(campaign.registry, declaration.team)
        return _public_report(copy, decide(campaign.registry, copy))


def _public_report(copy: CheckedCopy, decision: Decision) -> CheckReport:
    """Return the faults that the team may see, without those on other teams."""
    faults = tuple(fault for fault in decision.faults if fault.severity != PRIVATE)
    return replace(copy.report, faults=faults)


def record_run(campaign: OpenedCampaign, copy: CheckedCopy) -> SubmissionOutcome:
    """Accept or refuse a run and record it, in one transaction."""
    details: dict[str, str] = {}
    with suppress(UnchangedError), campaign.registry.change("submit", copy.tag, details) as tx:
        outcome = record_run_within(tx, campaign, copy)
        if outcome.is_repeat:
            raise UnchangedError
        details["state"] = outcome.submission.state
    return outcome


def record_run_within(
    tx: Transaction, campaign: OpenedCampaign, copy: CheckedCopy, *, dry: bool = False
) -> SubmissionOutcome:
    """Accept or refuse a run and record it, in a transaction; if `dry`, no bytes are stored."""
    decision = decide(tx, copy)
    report = _public_report(copy, decision)
    if decision.is_repeat:
        return SubmissionOutcome(decision.submission, report, is_repeat=True)
    new = replace(decision.submission, rules=rules_sha256(campaign.rules), kept=False)
    if not dry and (new.state == ACCEPTED or campaign.rules.keep_refused):
        # The bytes are stored before the run is recorded.
        sha256, _ = records.put(campaign.folder, copy.file)
        if sha256 != new.object:
            raise CranfieldError("the copy of the run changed while it was checked")
        new = replace(new, kept=True)
    old = decision.replaced if new.state == ACCEPTED else None
    if old is not None:
        # Tags of accepted runs are unique, and the new run may have the tag of the old one.
        old = tx.update(replace(old, state=REPLACED))
    new = tx.insert(new)
    if old is not None:
        tx.update(replace(old, replaced_by=new.id))
    tx.insert_faults(new, decision.faults)
    return SubmissionOutcome(new, report)


def withdraw(campaign: OpenedCampaign, tag: str, reason: str) -> Submission:
    """Withdraw an accepted run: it is no longer scored or released, but stays in the log.

    Parameters
    ----------
    campaign
        The campaign.
    tag
        Tag of an accepted run.
    reason
        Reason, recorded in the log.

    Raises
    ------
    PolicyError
        If no accepted run has the tag; existing releases do not change.
    """
    reason = printable_text("reason", reason)
    with campaign.registry.change("withdraw", tag, {"reason": reason}) as tx:
        runs = tx.submissions(None, None, tag=tag)
        for run in runs:
            if run.state == ACCEPTED:
                return tx.update(replace(run, state=WITHDRAWN, reason=reason))
        # Refused runs of other teams may have the tag, too.
        past_runs = [run for run in runs if run.state != REFUSED]
        hint = "; submissions with this tag were refused" if runs else ""
        if past_runs:
            hint = f"; that of team {quoted(past_runs[-1].team)} is already {past_runs[-1].state}"
        raise PolicyError(f"no accepted run has the tag {quoted(tag)}{hint}")


def purge(campaign: OpenedCampaign, tag: str, reason: str) -> Submission:
    """Remove the bytes of a run that was withdrawn, replaced or refused.

    Its record stays, with the hash. Bytes that other runs or judgments share are not removed.

    Parameters
    ----------
    campaign
        The campaign.
    tag
        Tag of the run; of several runs with the tag, the newest that still has its bytes.
    reason
        Reason, recorded in the log.

    Raises
    ------
    PolicyError
        If no such run has bytes; an accepted run has to be withdrawn first.
    """
    reason = printable_text("reason", reason)
    with campaign.registry.change("purge", tag, {"reason": reason}) as tx:
        runs = tx.submissions(None, None, tag=tag)
        removable = [run for run in runs if run.kept and run.state != ACCEPTED]
        if not removable:
            accepted = any(run.state == ACCEPTED for run in runs)
            hint = "; withdraw it first" if accepted else ""
            raise PolicyError(f"run {quoted(tag)} has no bytes to remove{hint}")
        run = tx.update(replace(removable[-1], kept=False))
        # Removed after the commit: if the process is killed, a file is left over, never missing.
        tx.forget(run.object)
    return run
