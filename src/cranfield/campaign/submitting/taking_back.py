"""Runs are taken back: withdrawn, and their bytes removed; the log keeps that they were there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cranfield.base.errors import PolicyError, quoted
from cranfield.campaign.opened import Opened
from cranfield.campaign.store.records import ACCEPTED, REFUSED, WITHDRAWN, Submission
from cranfield.campaign.submitting.declared import said_by


def withdraw(opened: Opened, tag: str, reason: str) -> Submission:
    """Take an accepted run back: it is scored and released no more, and stays in the log.

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
    reason = said_by("reason", reason)
    with opened.registry.change("withdraw", tag, {"reason": reason}) as tx:
        runs = tx.submissions(None, None, tag=tag)
        run = next((one for one in runs if one.state == ACCEPTED), None)
        if run is None:
            raise PolicyError(f"no accepted run is called {quoted(tag)}{_instead(runs)}")
        return tx.update(replace(run, state=WITHDRAWN, reason=reason))


def _instead(runs: Sequence[Submission]) -> str:
    """Say what became of the runs with a tag: what was refused is of anybody, and was never in."""
    entered = [one for one in runs if one.state != REFUSED]
    if entered:
        return f"; that of team {quoted(entered[-1].team)} is {entered[-1].state} already"
    return "; what was handed in so was refused" if runs else ""


def purge(opened: Opened, tag: str, reason: str) -> Submission:
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
    reason = said_by("reason", reason)
    with opened.registry.change("purge", tag, {"reason": reason}) as tx:
        runs = tx.submissions(None, None, tag=tag)
        kept = [one for one in runs if one.kept and one.state != ACCEPTED]
        if not kept:
            accepted = any(one.state == ACCEPTED for one in runs)
            first = "; withdraw it first" if accepted else ""
            raise PolicyError(f"there are no bytes to remove of {quoted(tag)}{first}")
        run = tx.update(replace(kept[-1], kept=False))
        # They go when nobody names them any more: what a kill leaves is a left-over, not a gap.
        tx.forget(run.object)
    return run
