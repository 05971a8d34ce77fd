"""One transaction decides what becomes of a run, and enters it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.campaign.checks.report import PRIVATE, CheckReport, Fault
from cranfield.campaign.opened import Opened
from cranfield.campaign.rules.reading import rules_sha256
from cranfield.campaign.rules.tags import safe_name
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.rules.times import shown, utc_text
from cranfield.campaign.store import objects
from cranfield.campaign.store.reading import Reading
from cranfield.campaign.store.records import ACCEPTED, REFUSED, REPLACED, Submission
from cranfield.campaign.store.registry import Transaction
from cranfield.campaign.submitting.conflicts import (
    check_replaced,
    priority_faults,
    ranking_faults,
    tag_faults,
    to_replace,
)
from cranfield.campaign.submitting.declared import Declared, declared_faults
from cranfield.campaign.submitting.limits import limit_faults, time_faults
from cranfield.campaign.submitting.taking_in import Taken

LONGEST_TAG = 300
"""Characters that are kept of the tag of a run that is refused."""


@dataclass(frozen=True)
class Decision:
    """What becomes of a run: its row, all its faults, and what it replaces or repeats."""

    submission: Submission
    faults: tuple[Fault, ...]
    replaced: Submission | None = None
    again: Submission | None = None

    def report(self, report: CheckReport) -> CheckReport:
        """Return what the team may see: nothing of others."""
        return replace(report, faults=tuple(f for f in self.faults if f.severity != PRIVATE))


def tag_of(taken: Taken, declared: Declared) -> str:
    """Return the tag in the run, or else that which it was to have; the start of endless ones."""
    return (taken.report.tag or declared.tag or "")[:LONGEST_TAG]


def received_at(declared: Declared, now: datetime) -> datetime:
    """Return when a run came, in whole seconds, as it is kept."""
    now = now.astimezone(UTC).replace(microsecond=0)
    if declared.received is None:
        return now
    received = declared.received.astimezone(UTC).replace(microsecond=0)
    if received > now:
        raise PolicyError(f"received {quoted(shown(received))} lies in the future")
    return received


def decide(registry: Reading, task: TaskRules, taken: Taken, declared: Declared) -> Decision:
    """Decide by the rules and by what else there is; nothing is written."""
    received = received_at(declared, taken.arrived)
    tag = tag_of(taken, declared)
    own = registry.submissions(task.name, None, team=declared.team)
    new = Submission(
        id=0,
        task=task.name,
        team=declared.team,
        tag=tag,
        object=taken.sha256,
        bytes=taken.size,
        received=utc_text(received),
        state=ACCEPTED,
        type=declared.type,
        priority=declared.priority,
        answers={name: text for name, text in declared.answers.items() if text.strip()},
        metadata=taken.metadata,
        description=declared.description,
        ranking=taken.report.ranking,
        source=taken.name,
    )
    again = next((one for one in own if _repeats(one, new)), None)
    if again is not None and declared.tag in (None, tag):
        check_replaced(declared, own, again)
        return Decision(again, taken.report.faults, again=again)
    replaced = to_replace(declared, own)
    others = [one for one in own if one.state == ACCEPTED and one != replaced]
    same = registry.submissions(task.name, ranking=new.ranking) if new.ranking else ()
    faults = (
        *taken.report.faults,
        *declared_faults(task, declared),
        *time_faults(task, received),
        *limit_faults(task, declared.team, own, received, replaced.id if replaced else None),
        *_name_faults(tag, taken.report),
        *tag_faults(tag, declared.team, replaced, registry.submissions(None, None, tag=tag)),
        *ranking_faults(task, declared.team, [one for one in same if one != replaced]),
        *priority_faults(declared.priority, others),
    )
    faults = tuple(fault for fault in faults if fault.severity != "off")
    errors = [fault for fault in faults if fault.severity == "error"]
    if errors:
        reason = ", ".join(dict.fromkeys(one.code for one in errors))
        new = replace(new, state=REFUSED, reason=reason)
    late = task.closes is not None and received > task.closes
    return Decision(replace(new, late=late), faults, replaced)


def _name_faults(tag: str, report: CheckReport) -> Iterator[Fault]:
    """Refuse a tag that cannot be the name of a file, whatever the rules make of other tags."""
    said = any(one.code == "tag" for one in report.errors)
    if report.tag is not None and not said and not safe_name(tag):
        yield Fault("tag", "error", f"tag {quoted(tag)} cannot be the name of a file everywhere")


def _repeats(one: Submission, new: Submission) -> bool:
    """Tell whether a run is there as it is handed in: the same bytes, and the same said of it."""
    return one.state == ACCEPTED and all(
        getattr(one, name) == getattr(new, name)
        for name in ("tag", "object", "type", "priority", "answers", "description")
    )


def write(
    tx: Transaction, opened: Opened, taken: Taken, decision: Decision, *, dry: bool = False
) -> Submission:
    """Write what was decided; the bytes are in their place before the run is entered."""
    new = replace(decision.submission, rules=rules_sha256(opened.rules), kept=False)
    accepted = new.state == ACCEPTED
    if not dry and (accepted or opened.rules.keep_refused):
        sha256, _ = objects.put(opened.folder, taken.file)
        if sha256 != new.object:
            raise CranfieldError("the copy of the run changed while it was checked")
        new = replace(new, kept=True)
    old = decision.replaced if accepted else None
    if old is not None:
        # A tag is that of one accepted run at a time, and the new one may have that of the old.
        old = tx.update(replace(old, state=REPLACED))
    new = tx.insert(new)
    if old is not None:
        tx.update(replace(old, replaced_by=new.id))
    tx.insert_faults(new, decision.faults)
    return new
