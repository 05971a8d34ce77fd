"""Declarations, checked copies of runs, and the decision to accept or refuse them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.kinds import Whole
from cranfield.base.text import counted
from cranfield.campaign.checks.checking import check_with_metadata
from cranfield.campaign.checks.report import PRIVATE, CheckReport, Fault, severity_of
from cranfield.campaign.opened import OpenedCampaign
from cranfield.campaign.rules.task_rules import (
    TaskRules,
    lasting,
    safe_name,
    shown,
    utc_text,
)
from cranfield.campaign.store.records import ACCEPTED, REFUSED, REPLACED, Submission
from cranfield.campaign.store.registry import Reading
from cranfield.collection.metadata.reading import BESIDE, LARGEST
from cranfield.sources.chunks import Source

LONGEST = 10_000
"""Characters of a description or an answer."""

LAST = 1_000_000
"""The highest priority, where the rules say none."""


@dataclass(frozen=True)
class Declaration:
    """Declaration of a team about a run.

    Attributes
    ----------
    team
        Id of the submitting team.
    tag
        Run tag that the file must have; by default its own.
    type
        Type of the run, one of those of the task.
    priority
        Priority of the run among those of its team, for pooling; 1 is the highest.
    answers
        Answers to questions of the task, by name.
    description
        Description of the run.
    received
        Time of submission with its UTC offset, such as 2026-08-15T23:59:59Z; by default now.
    replaces
        Tag of a run of the same team and task, which is replaced if this one is accepted.
    """

    team: str = ""
    tag: str | None = None
    type: str = ""
    priority: Annotated[int | None, Whole(1, LAST)] = None
    answers: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    received: datetime | None = None
    replaces: str | None = None

    def __post_init__(self) -> None:
        if self.priority is not None:
            Whole(1, LAST).check("priority", self.priority)
        texts = {**self.answers, "type": self.type, "description": self.description}
        for name, text in texts.items():
            if len(text) > LONGEST:
                raise PolicyError(
                    f"{quoted(name)} must have at most {LONGEST:,} characters, got {len(text):,}"
                )
        if self.received is not None and self.received.tzinfo is None:
            raise PolicyError(f"received {quoted(self.received)} has no offset from UTC")


def printable_text(name: str, text: str) -> str:
    """Return a text; refuse one that is empty or cannot be printed."""
    if not text.strip():
        raise PolicyError(f"{name} is missing")
    if reason := _unprintable(name, text):
        raise PolicyError(reason)
    return text


def _unprintable(name: str, text: str) -> str:
    """Return the reason against a text with control characters other than line breaks and tabs."""
    if text.translate(dict.fromkeys(map(ord, "\n\r\t"))).isprintable():
        return ""
    return f"{quoted(name)} must not contain control characters, got {quoted(text)}"


LONGEST_TAG = 300
"""Maximum number of characters recorded of the tag of a refused run."""

BLOCK = 1 << 20


@dataclass(frozen=True)
class CheckedCopy:
    """A run as it was submitted: its bytes in a private file, and the report of their check."""

    task: TaskRules
    declared: Declaration
    file: Path
    size: int
    sha256: str
    arrived: datetime
    report: CheckReport
    metadata: str | None

    @property
    def name(self) -> str:
        """Name of the submitted file, without its folder, which is private."""
        name = Path(self.report.source).name
        return name.encode(errors="surrogateescape").decode(errors="replace")

    @property
    def tag(self) -> str:
        """The tag in the run, or else the declared one; the start of endless ones."""
        return (self.report.tag or self.declared.tag or "")[:LONGEST_TAG]


@contextmanager
def checked_copy(
    opened: OpenedCampaign, run: str | PathLike[str], task: TaskRules, declared: Declaration
) -> Iterator[CheckedCopy]:
    """Copy a run into a private folder, which is removed in the end, and check the copy."""
    source = Source(fspath(run))
    # If the process is killed, the folder stays; its name shows its purpose.
    with TemporaryDirectory(prefix=".campaign.", dir=opened.folder) as folder:
        copy = Path(folder) / "run"
        sha256, size = _copied(source, copy, task.max_bytes)
        # A check that takes its time makes no run late.
        arrived = opened.clock()
        metadata = None
        if size > task.max_bytes:
            too_large = Fault("size", "error", f"the file has more than {task.max_bytes:,} bytes")
            report = CheckReport(source.name, declared.tag, (too_large,))
        else:
            if source.path != "-":
                _copy_beside(Path(source.path), copy)
            report, about = check_with_metadata(copy, task, declared.tag, declared.team or None)
            report = replace(report, source=source.name, object=sha256)
            if report.accepted and about is not None:
                metadata = about.to_yaml()
        yield CheckedCopy(task, declared, copy, size, sha256, arrived, report, metadata)


def _copied(source: Source, copy: Path, max_bytes: int) -> tuple[str, int]:
    """Copy a file, up to the block in which it is too large; return its hash and its size."""
    digest, size = hashlib.sha256(), 0
    with source.open_raw() as raw, copy.open("xb") as out:
        while block := raw.read(BLOCK):
            size += len(block)
            if size > max_bytes:
                break
            digest.update(block)
            try:
                out.write(block)
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise InputError(f"cannot be kept: {reason}", source=source.name) from error
    return digest.hexdigest(), size


def _copy_beside(run: Path, copy: Path) -> None:
    """Copy the metadata beside a run, so that the check of the copy finds them."""
    for before in ("{}.", ""):
        beside = run.with_name(before.format(run.name) + BESIDE)
        if beside.is_file():
            with Source(str(beside)).open_raw() as raw:
                target = copy.with_name(before.format(copy.name) + BESIDE)
                target.write_bytes(raw.read(LARGEST + 1))


def received_at(declared: Declaration, now: datetime) -> datetime:
    """Return the time of submission in whole seconds, as stored."""
    now = now.astimezone(UTC).replace(microsecond=0)
    if declared.received is None:
        return now
    received = declared.received.astimezone(UTC).replace(microsecond=0)
    if received > now:
        raise PolicyError(f"received {quoted(shown(received))} lies in the future")
    return received


@dataclass(frozen=True)
class Decision:
    """Decision on a run: its record, all its faults, and the run that it replaces.

    The record of a repeated submission is that of the accepted run.
    """

    submission: Submission
    faults: tuple[Fault, ...]
    replaced: Submission | None = None
    is_repeat: bool = False


def decide(registry: Reading, copy: CheckedCopy) -> Decision:
    """Accept or refuse a run by the rules and the registry; nothing is written."""
    task, declared, team, tag = copy.task, copy.declared, copy.declared.team, copy.tag
    received = received_at(declared, copy.arrived)
    new = Submission(
        id=0,
        task=task.name,
        team=team,
        tag=tag,
        object=copy.sha256,
        bytes=copy.size,
        received=utc_text(received),
        state=ACCEPTED,
        type=declared.type,
        priority=declared.priority,
        answers={name: text for name, text in declared.answers.items() if text.strip()},
        metadata=copy.metadata,
        description=declared.description,
        ranking=copy.report.ranking,
        source=copy.name,
        late=task.closes is not None and received > task.closes,
    )
    own = registry.submissions(task.name, None, team=team)
    accepted = [run for run in own if run.state == ACCEPTED]
    again = next((run for run in accepted if _repeats(run, new)), None)
    if again is not None and declared.tag in (None, tag):
        if any(run.tag == declared.replaces and run.id != again.id for run in accepted):
            # Both would become one.
            raise PolicyError(
                f"no run was replaced: this run was already submitted as {quoted(tag)}"
            )
        return Decision(again, copy.report.faults, is_repeat=True)
    replaced = next((run for run in accepted if run.tag == declared.replaces), None)
    if declared.replaces is not None and replaced is None:
        replaces = quoted(declared.replaces)
        raise PolicyError(f"team {quoted(team)} has no accepted run {replaces} to replace")
    others = [run for run in accepted if run != replaced]
    attempts = sum(run.received[:10] == new.received[:10] for run in own)
    faults = [
        *copy.report.faults,
        *(_fault(task, "answers", reason) for reason in _declaration_problems(task, declared)),
        *_limit_faults(task, new, received, len(others), attempts),
        *_tag_faults(registry, copy, replaced),
        *_ranking_faults(registry, task, new, replaced),
    ]
    # Two runs of a team that come equally early into the pool.
    equal = [run.tag for run in others if new.priority and run.priority == new.priority]
    if equal:
        message = f"priority {new.priority} is also that of run {quoted(equal[0])}"
        faults.append(Fault("answers", "warning", message))
    if errors := dict.fromkeys(fault.code for fault in faults if fault.severity == "error"):
        new = replace(new, state=REFUSED, reason=", ".join(errors))
    return Decision(new, tuple(f for f in faults if f.severity != "off"), replaced)


def _repeats(run: Submission, new: Submission) -> bool:
    """Return True if a new run has the bytes and the declarations of a run."""
    names = ("tag", "object", "type", "priority", "answers", "description")
    return all(getattr(run, name) == getattr(new, name) for name in names)


def _fault(task: TaskRules, code: str, message: str) -> Fault:
    return Fault(code, severity_of(code, task), message)


def _declaration_problems(task: TaskRules, declared: Declaration) -> Iterator[str]:
    """Yield violations of the rules by the type, the priority, the answers and the description."""
    if task.types and declared.type not in task.types:
        problem = f"unknown type {quoted(declared.type)}" if declared.type else "type is missing"
        yield f"{problem}; expected one of: {', '.join(task.types)}"
    elif declared.type and not task.types:
        yield f"type must not be set, because the task has no types; got {quoted(declared.type)}"
    priority, last = declared.priority, task.priorities
    if last is not None and (priority is None or priority > last):
        value = "none" if priority is None else str(priority)
        yield f"priority must be an integer from 1 to {last}, got {value}"
    for name in declared.answers:
        if name not in task.questions:
            questions = ", ".join(task.questions)
            expected = f"expected one of: {questions}" if questions else "the task has no questions"
            yield f"unknown question {quoted(name)}; {expected}"
    for name, question in task.questions.items():
        answer = declared.answers.get(name, "")
        choices = f"; expected one of: {', '.join(question.choices)}" if question.choices else ""
        if not answer.strip():
            if question.required:
                yield f"answer {quoted(name)} is missing: {question.ask}{choices}"
        elif question.choices and answer not in question.choices:
            yield f"unknown answer {quoted(answer)} to {quoted(name)}{choices}"
        elif problem := _unprintable(name, answer):
            yield problem
    if problem := _unprintable("description", declared.description):
        yield problem


def _limit_faults(
    task: TaskRules, new: Submission, received: datetime, accepted: int, attempts: int
) -> Iterator[Fault]:
    """Compare the time, the team's other accepted runs, and its attempts on the day with limits.

    Runs that were refused count for the day, since each attempt reveals something; runs that were
    replaced or withdrawn do not count for the team. The last second belongs to the task.
    """
    if task.opens is not None and received < task.opens:
        remaining = lasting(task.opens - received)
        yield _fault(task, "not-open", f"the task opens at {shown(task.opens)}, in {remaining}")
    if new.late and task.closes is not None:
        message = f"the task closed at {shown(task.closes)}, {lasting(received - task.closes)} ago"
        if task.late == "mark":
            message += "; the run is marked as late and not pooled"
        yield Fault("closed", "warning" if task.late == "mark" else "error", message)
    team = f"team {quoted(new.team)}"
    if task.runs_per_team is not None and accepted >= task.runs_per_team:
        runs = f"{counted(accepted, 'accepted run')} of {task.runs_per_team}"
        yield _fault(task, "limit", f"{team} has {runs}")
    if task.runs_per_day is not None and attempts >= task.runs_per_day:
        runs = f"{counted(attempts, 'run')} of {task.runs_per_day} on {new.received[:10]} (UTC)"
        yield _fault(task, "limit", f"{team} submitted {runs}, including refused runs")


def _tag_faults(
    registry: Reading, copy: CheckedCopy, replaced: Submission | None
) -> Iterator[Fault]:
    """Refuse a tag that is not a valid file name, or that another run has in any case."""
    tag, team = copy.tag, copy.declared.team
    refused = any(fault.code == "tag" for fault in copy.report.errors)
    if copy.report.tag is not None and not refused and not safe_name(tag):
        # Whatever the rules make of other tags.
        yield Fault("tag", "error", f"tag {quoted(tag)} is not a valid file name on all systems")
    for run in registry.submissions(None, (ACCEPTED, REPLACED), tag=tag):
        # The tag of a replaced run stays its team's: a link to it never leads to another team.
        if run != replaced and (run.state == ACCEPTED or run.team != team):
            instead = "; replace that run instead" if run.team == team else ""
            yield Fault("tag-taken", "error", f"tag {quoted(tag)} is taken{instead}")
            return


def _ranking_faults(
    registry: Reading, task: TaskRules, new: Submission, replaced: Submission | None
) -> Iterator[Fault]:
    """Report runs with the same ranking: to a team its own runs, to the organisers all."""
    runs = registry.submissions(task.name, ranking=new.ranking) if new.ranking else ()
    for run in runs:
        message = f"the same ranking as {quoted(run.tag)}"
        if run != replaced and run.team == new.team:
            yield _fault(task, "ranking-same", message)
        elif run != replaced:
            yield Fault("ranking-same", PRIVATE, f"{message} of team {quoted(run.team)}")
