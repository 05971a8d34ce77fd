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
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.rules.task_rules import (
    TaskRules,
    duration_text,
    safe_name,
    time_text,
    utc_text,
)
from cranfield.campaign.store.records import ACCEPTED, REFUSED, REPLACED, Submission
from cranfield.campaign.store.registry import RegistryReader
from cranfield.collection.metadata.reading import MAX_BYTES, METADATA_FILE
from cranfield.sources.chunks import Source

MAX_LENGTH = 10_000
"""Maximum number of characters of a description or an answer."""

MAX_PRIORITY = 1_000_000
"""Maximum priority number if the rules set none."""


@dataclass(frozen=True)
class Declaration:
    """Declaration of a team about a run.

    Attributes
    ----------
    team
        Id of the submitting team.
    tag
        Run tag that the file must have; by default any.
    type
        Type of the run, one of the types of the task.
    priority
        Priority of the run among those of its team, for pooling; 1 is the highest.
    answers
        Answers to questions of the task, by name.
    description
        Description of the run.
    received
        Time of submission with its UTC offset, such as 2026-08-15T23:59:59Z; by default now.
    replaces
        Tag of a run of the same team and task, which is replaced if this run is accepted.
    """

    team: str = ""
    tag: str | None = None
    type: str = ""
    priority: Annotated[int | None, Whole(1, MAX_PRIORITY)] = None
    answers: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    received: datetime | None = None
    replaces: str | None = None

    def __post_init__(self) -> None:
        if self.priority is not None:
            Whole(1, MAX_PRIORITY).check("priority", self.priority)
        texts = {**self.answers, "type": self.type, "description": self.description}
        for name, text in texts.items():
            if len(text) > MAX_LENGTH:
                raise PolicyError(
                    f"{quoted(name)} must have at most {MAX_LENGTH:,} characters, got {len(text):,}"
                )
        if self.received is not None and self.received.tzinfo is None:
            raise PolicyError(f"received {quoted(self.received)} has no offset from UTC")


def printable_text(name: str, text: str) -> str:
    """Return a text; refuse empty and unprintable texts."""
    if not text.strip():
        raise PolicyError(f"{name} is missing")
    if reason := _unprintable(name, text):
        raise PolicyError(reason)
    return text


def _unprintable(name: str, text: str) -> str:
    """Return an error message for control characters other than line breaks and tabs, if any."""
    if text.translate(dict.fromkeys(map(ord, "\n\r\t"))).isprintable():
        return ""
    return f"{quoted(name)} must not contain control characters, got {quoted(text)}"


MAX_TAG = 300
"""Maximum number of characters recorded of the tag of a refused run."""

BLOCK = 1 << 20


@dataclass(frozen=True)
class CheckedCopy:
    """A submitted run: its bytes in a private file, and the report of their check."""

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
        """The tag in the run, or else the declared tag, truncated."""
        return (self.report.tag or self.declared.tag or "")[:MAX_TAG]


@contextmanager
def checked_copy(
    campaign: OpenedCampaign, run: str | PathLike[str], task: TaskRules, declared: Declaration
) -> Iterator[CheckedCopy]:
    """Copy a run into a temporary private folder, and check the copy."""
    source = Source(fspath(run))
    # If the process is killed, the folder stays; its name reveals its purpose.
    with TemporaryDirectory(prefix=".campaign.", dir=campaign.folder) as folder:
        copy = Path(folder) / "run"
        sha256, size = _copy(source, copy, task.max_bytes)
        # A slow check must not make a run late.
        arrived = campaign.clock()
        metadata = None
        if size > task.max_bytes:
            too_large = Fault("size", "error", f"the file has more than {task.max_bytes:,} bytes")
            report = CheckReport(source.name, declared.tag, (too_large,))
        else:
            if source.path != "-":
                _copy_metadata(Path(source.path), copy)
            report, ir_metadata = check_with_metadata(
                copy, task, declared.tag, declared.team or None
            )
            report = replace(report, source=source.name, object=sha256)
            if report.accepted and ir_metadata is not None:
                metadata = ir_metadata.to_yaml()
        yield CheckedCopy(task, declared, copy, size, sha256, arrived, report, metadata)


def _copy(source: Source, copy: Path, max_bytes: int) -> tuple[str, int]:
    """Copy a file, up to the block that exceeds the maximum; return its hash and its size."""
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


def _copy_metadata(run: Path, copy: Path) -> None:
    """Copy the metadata file of a run, so that the check of the copy finds it."""
    for prefix in ("{}.", ""):
        file = run.with_name(prefix.format(run.name) + METADATA_FILE)
        if file.is_file():
            with Source(str(file)).open_raw() as raw:
                target = copy.with_name(prefix.format(copy.name) + METADATA_FILE)
                target.write_bytes(raw.read(MAX_BYTES + 1))


def received_at(declared: Declaration, now: datetime) -> datetime:
    """Return the time of submission in whole seconds, as stored."""
    now = now.astimezone(UTC).replace(microsecond=0)
    if declared.received is None:
        return now
    received = declared.received.astimezone(UTC).replace(microsecond=0)
    if received > now:
        raise PolicyError(f"received {quoted(time_text(received))} lies in the future")
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


def decide(registry: RegistryReader, copy: CheckedCopy) -> Decision:
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
    submissions = registry.submissions(task.name, None, team=team)
    accepted = [run for run in submissions if run.state == ACCEPTED]
    repeat = next((run for run in accepted if _is_repeat(run, new)), None)
    if repeat is not None and declared.tag in (None, tag):
        if any(run.tag == declared.replaces and run.id != repeat.id for run in accepted):
            # The new run equals an accepted one; replacing another run by it would lose a run.
            raise PolicyError(
                f"no run was replaced: this run was already submitted as {quoted(tag)}"
            )
        return Decision(repeat, copy.report.faults, is_repeat=True)
    replaced = next((run for run in accepted if run.tag == declared.replaces), None)
    if declared.replaces is not None and replaced is None:
        replaces = quoted(declared.replaces)
        raise PolicyError(f"team {quoted(team)} has no accepted run {replaces} to replace")
    other_runs = [run for run in accepted if run != replaced]
    attempts = sum(run.received[:10] == new.received[:10] for run in submissions)
    faults = [
        *copy.report.faults,
        *(_fault(task, "answers", reason) for reason in _declaration_problems(task, declared)),
        *_limit_faults(task, new, received, len(other_runs), attempts),
        *_tag_faults(registry, copy, replaced),
        *_ranking_faults(registry, task, new, replaced),
    ]
    # Otherwise the order in which the pool takes two runs of a team would be undefined.
    tags = [run.tag for run in other_runs if new.priority and run.priority == new.priority]
    if tags:
        message = f"priority {new.priority} is also that of run {quoted(tags[0])}"
        faults.append(Fault("answers", "warning", message))
    if errors := dict.fromkeys(fault.code for fault in faults if fault.severity == "error"):
        new = replace(new, state=REFUSED, reason=", ".join(errors))
    return Decision(new, tuple(f for f in faults if f.severity != "off"), replaced)


def _is_repeat(run: Submission, new: Submission) -> bool:
    """Return True if a new run has the bytes and the declarations of an earlier run."""
    names = ("tag", "object", "type", "priority", "answers", "description")
    return all(getattr(run, name) == getattr(new, name) for name in names)


def _fault(task: TaskRules, code: str, message: str) -> Fault:
    return Fault(code, severity_of(code, task), message)


def _declaration_problems(task: TaskRules, declared: Declaration) -> Iterator[str]:
    """Yield messages on invalid types, priorities, answers and descriptions."""
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
    """Yield faults of the deadline, and of the limits on runs per team and per day.

    Refused runs count for the day, since each attempt reveals something; replaced and withdrawn
    runs do not count for the team. A run in the last second is in time.
    """
    if task.opens is not None and received < task.opens:
        remaining = duration_text(task.opens - received)
        yield _fault(task, "not-open", f"the task opens at {time_text(task.opens)}, in {remaining}")
    if new.late and task.closes is not None:
        delay = duration_text(received - task.closes)
        message = f"the task closed at {time_text(task.closes)}, {delay} ago"
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
    registry: RegistryReader, copy: CheckedCopy, replaced: Submission | None
) -> Iterator[Fault]:
    """Yield faults of a tag that is not a valid file name, or taken regardless of case."""
    tag, team = copy.tag, copy.declared.team
    refused = any(fault.code == "tag" for fault in copy.report.errors)
    if copy.report.tag is not None and not refused and not safe_name(tag):
        # Always an error, regardless of the severity of other faults of tags.
        yield Fault("tag", "error", f"tag {quoted(tag)} is not a valid file name on all systems")
    for run in registry.submissions(None, (ACCEPTED, REPLACED), tag=tag):
        # Other teams cannot take the tag of a replaced run: links to it must not change teams.
        if run != replaced and (run.state == ACCEPTED or run.team != team):
            hint = "; replace that run instead" if run.team == team else ""
            yield Fault("tag-taken", "error", f"tag {quoted(tag)} is taken{hint}")
            return


def _ranking_faults(
    registry: RegistryReader, task: TaskRules, new: Submission, replaced: Submission | None
) -> Iterator[Fault]:
    """Yield faults for runs with the same ranking; those of other teams are for organisers only."""
    runs = registry.submissions(task.name, ranking=new.ranking) if new.ranking else ()
    for run in runs:
        message = f"the same ranking as {quoted(run.tag)}"
        if run != replaced and run.team == new.team:
            yield _fault(task, "ranking-same", message)
        elif run != replaced:
            yield Fault("ranking-same", PRIVATE, f"{message} of team {quoted(run.team)}")
