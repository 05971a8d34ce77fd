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
    copy_and_check,
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
        Record of the run in the registry: accepted or refused.
    report
        All faults of the file, limits and times, except faults that concern other teams.
    is_repeat
        Whether the same run was already accepted with this tag, so that nothing was changed.
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
    limits and times. It stores the file of an accepted run before it records the run, so that every
    recorded run has its bytes. On return, the run is on the disk.

    Parameters
    ----------
    campaign
        The campaign.
    run
        File of the run, compressed or not; `-` is standard input.
    task
        Name of the task; optional if there is only one task.
    declaration
        Declaration of the team about the run.

    Raises
    ------
    PolicyError
        For an unknown task or team, a time in the future, or a run to replace that is not an
        accepted run of the team. Nothing is recorded.
    InputError
        For a file that cannot be read.
    """
    rules = campaign.rules.task(task)
    require_team(campaign.registry, declaration.team)
    with copy_and_check(campaign, run, rules, declaration) as copy:
        return record_run(campaign, copy)


def check_submission(
    campaign: OpenedCampaign, run: str | PathLike[str], task: str | None = None, **declaration: Any
) -> CheckReport:
    """Check a run like :func:`submit`, without submitting it.

    Rules about teams are checked only if a team is set.
    """
    rules = campaign.rules.task(task)
    with copy_and_check(campaign, run, rules, Declaration(**declaration)) as copy:
        team = copy.declaration.team
        if not team:
            return copy.report
        require_team(campaign.registry, team)
        return _public_report(copy, decide(campaign.registry, copy))


def _public_report(copy: CheckedCopy, decision: Decision) -> CheckReport:
    """Return the report for the team, without faults that concern other teams."""
    faults = tuple(fault for fault in decision.faults if fault.severity != PRIVATE)
    return replace(copy.report, faults=faults)


def record_run(campaign: OpenedCampaign, copy: CheckedCopy) -> SubmissionOutcome:
    """Accept or refuse a run, and record it in a transaction of its own."""
    details: dict[str, str] = {}
    with suppress(UnchangedError), campaign.registry.change("submit", copy.tag, details) as tx:
        outcome = record_run_within(tx, campaign, copy)
        if outcome.is_repeat:
            raise UnchangedError
        details["state"] = outcome.submission.state
    return outcome


def record_run_within(
    tx: Transaction, campaign: OpenedCampaign, copy: CheckedCopy, *, is_trial: bool = False
) -> SubmissionOutcome:
    """Accept or refuse a run, and record it in a transaction; a trial stores no bytes."""
    decision = decide(tx, copy)
    report = _public_report(copy, decision)
    if decision.is_repeat:
        return SubmissionOutcome(decision.submission, report, is_repeat=True)
    run = replace(decision.submission, rules=rules_sha256(campaign.rules), kept=False)
    if not is_trial and (run.state == ACCEPTED or campaign.rules.keep_refused):
        # The bytes are stored before the run is recorded.
        sha256, _ = records.put_object(campaign.folder, copy.file)
        if sha256 != run.object:
            raise CranfieldError("the copy of the run changed while it was checked")
        run = replace(run, kept=True)
    replaced_run = decision.replaced_run if run.state == ACCEPTED else None
    if replaced_run is not None:
        # The new run may have the same tag, and tags of accepted runs are unique.
        replaced_run = tx.update(replace(replaced_run, state=REPLACED))
    run = tx.insert(run)
    if replaced_run is not None:
        tx.update(replace(replaced_run, replaced_by=run.id))
    tx.insert_faults(run, decision.faults)
    return SubmissionOutcome(run, report)


def withdraw(campaign: OpenedCampaign, tag: str, reason: str) -> Submission:
    """Withdraw an accepted run, which is then no longer scored or released.

    Its record stays in the registry, and existing releases do not change.

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
        If no accepted run has the tag.
    """
    reason = printable_text("reason", reason)
    with campaign.registry.change("withdraw", tag, {"reason": reason}) as tx:
        runs = tx.submissions(None, None, tag=tag)
        for run in runs:
            if run.state == ACCEPTED:
                return tx.update(replace(run, state=WITHDRAWN, reason=reason))
        # Refused runs of other teams may have the same tag.
        past_runs = [run for run in runs if run.state != REFUSED]
        hint = "; submissions with this tag were refused" if runs else ""
        if past_runs:
            team = quoted(past_runs[-1].team)
            hint = f"; the run of team {team} with this tag is already {past_runs[-1].state}"
        raise PolicyError(f"no accepted run has the tag {quoted(tag)}{hint}")


def purge(campaign: OpenedCampaign, tag: str, reason: str) -> Submission:
    """Remove the bytes of a run that was withdrawn, replaced or refused.

    Its record with the hash stays. Bytes that other runs or judgments share are not removed.

    Parameters
    ----------
    campaign
        The campaign.
    tag
        Tag of the run; if several runs have it, the newest run that still has its bytes.
    reason
        Reason, recorded in the log.

    Raises
    ------
    PolicyError
        If no such run has bytes. An accepted run must be withdrawn first.
    """
    reason = printable_text("reason", reason)
    with campaign.registry.change("purge", tag, {"reason": reason}) as tx:
        runs = tx.submissions(None, None, tag=tag)
        purgeable_runs = [run for run in runs if run.kept and run.state != ACCEPTED]
        if not purgeable_runs:
            is_accepted = any(run.state == ACCEPTED for run in runs)
            hint = "; withdraw it first" if is_accepted else ""
            raise PolicyError(f"run {quoted(tag)} has no bytes to remove{hint}")
        run = tx.update(replace(purgeable_runs[-1], kept=False))
        # The file is removed after the commit, so that a killed process never loses a file.
        tx.forget(run.object)
    return run
