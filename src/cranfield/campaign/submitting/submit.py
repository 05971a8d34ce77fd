"""Submit, withdraw and purge runs."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from operator import attrgetter
from os import fspath
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

from cranfield.base.errors import CranfieldError, PolicyError, make_file_error, quote
from cranfield.base.kinds import Integer
from cranfield.base.text import inflect, sanitise
from cranfield.campaign.checks.checking import check_with_metadata
from cranfield.campaign.checks.report import PRIVATE, CheckReport, Fault, get_severity
from cranfield.campaign.opened_campaign import OpenedCampaign, PathName
from cranfield.campaign.rules.reading import hash_rules
from cranfield.campaign.rules.task_rules import (
    SAFE_NAME_RULE,
    TaskRules,
    format_duration,
    format_time,
    format_utc,
    is_safe_name,
)
from cranfield.campaign.store import records
from cranfield.campaign.store.records import ACCEPTED, REFUSED, REPLACED, WITHDRAWN, Submission
from cranfield.campaign.store.registry import RegistryReader, Transaction
from cranfield.campaign.submitting.teams import require_team
from cranfield.collection.metadata.reading import MAX_BYTES, METADATA_FILE
from cranfield.sources.chunks import Source

MAX_TEXT_LENGTH = 10_000
"""Maximum number of characters of a description or an answer."""

MAX_PRIORITY = 1_000_000
"""Maximum priority number if the rules set none."""


@dataclass(frozen=True)
class Declaration:
    """Properties of a run that its team declares at submission.

    Attributes
    ----------
    team
        Id of the submitting team.
    tag
        Tag that the run must have; by default any tag.
    type
        Type of the run, one of the types of the task.
    priority
        Priority of the run among the runs of its team, for pooling; 1 is the highest.
    answers
        Answers to questions of the task, by name.
    description
        Description of the run, which its sheet, releases and the site publish.
    received
        Time of submission with its UTC offset, such as 2026-08-15T23:59:59Z; by default now.
    replaces
        Tag of a run of the same team and task, which is replaced if this run is accepted.
    """

    team: str = ""
    tag: str | None = None
    type: str = ""
    priority: Annotated[int | None, Integer(1, MAX_PRIORITY)] = None
    answers: Mapping[str, str] = field(default_factory=dict)
    description: str = ""
    received: datetime | None = None
    replaces: str | None = None

    def __post_init__(self) -> None:
        if self.priority is not None:
            Integer(1, MAX_PRIORITY).check("priority", self.priority)
        texts = {**self.answers, "type": self.type, "description": self.description}
        for name, text in texts.items():
            if len(text) > MAX_TEXT_LENGTH:
                expected = f"at most {MAX_TEXT_LENGTH:,} characters"
                raise PolicyError(f"{quote(name)} must have {expected}, got {len(text):,}")
        if self.received is not None and self.received.tzinfo is None:
            raise PolicyError(f"received must have an offset from UTC, got {quote(self.received)}")


def check_reason(reason: str) -> None:
    """Refuse a reason that is empty or has unprintable characters."""
    if not reason.strip():
        raise PolicyError(f"reason must not be empty, got {quote(reason)}")
    if problem := _find_unprintable_character("reason", reason):
        raise PolicyError(problem)


def _find_unprintable_character(name: str, text: str) -> str:
    """Return a message about unprintable characters, except line breaks and tabs; or ''."""
    if text.translate(dict.fromkeys(map(ord, "\n\r\t"))).isprintable():
        return ""
    return f"{quote(name)} must not contain unprintable characters, got {quote(text)}"


MAX_TAG_LENGTH = 300
"""Maximum number of characters of a tag that are recorded for a refused run."""


@dataclass(frozen=True)
class CheckedCopy:
    """A submitted run: its bytes in a private file, and the report of the check."""

    task: TaskRules
    declaration: Declaration
    file: Path
    size: int
    sha256: str
    arrival: datetime
    report: CheckReport
    metadata: str | None

    @property
    def tag(self) -> str:
        """The tag of the run, or the declared tag if the run has none; truncated."""
        return (self.report.tag or self.declaration.tag or "")[:MAX_TAG_LENGTH]


@contextmanager
def copy_and_check(
    campaign: OpenedCampaign, run: PathName, task: TaskRules, declaration: Declaration
) -> Iterator[CheckedCopy]:
    """Copy a run into a temporary private folder, and yield the checked copy."""
    source = Source(fspath(run))
    # If the process is killed, the folder stays; its name reveals its purpose.
    with TemporaryDirectory(prefix=".campaign.", dir=campaign.folder) as folder:
        copy = Path(folder) / "run"
        sha256, size = _copy_file(source, copy, task.max_bytes)
        # The time is taken before the check: a slow check must not make a run late.
        arrival = campaign.clock()
        metadata = None
        if size > task.max_bytes:
            size_fault = Fault("size", "error", f"the file has more than {task.max_bytes:,} bytes")
            report = CheckReport(source.name, declaration.tag, (size_fault,))
        else:
            if source.path != "-":
                _copy_metadata(Path(source.path), copy)
            team = declaration.team or None
            report, ir_metadata = check_with_metadata(copy, task, declaration.tag, team)
            report = replace(report, source=source.name, object=sha256)
            if report.is_accepted and ir_metadata is not None:
                metadata = ir_metadata.to_yaml()
        yield CheckedCopy(task, declaration, copy, size, sha256, arrival, report, metadata)


def _copy_file(source: Source, copy: Path, max_bytes: int) -> tuple[str, int]:
    """Copy a file until it exceeds the maximum; return the SHA-256 of the copy and the size."""
    digest, size = hashlib.sha256(), 0
    with source.open_raw() as raw, copy.open("xb") as out:
        while block := raw.read(records.CHUNK_BYTES):
            size += len(block)
            if size > max_bytes:
                break
            digest.update(block)
            try:
                out.write(block)
            except OSError as error:
                raise make_file_error(error, "copied", source.name) from error
    return digest.hexdigest(), size


def _copy_metadata(run: Path, copy: Path) -> None:
    """Copy the metadata file of a run, so that it is beside the copy of the run."""
    for run_prefix, copy_prefix in ((f"{run.name}.", f"{copy.name}."), ("", "")):
        file = run.with_name(f"{run_prefix}{METADATA_FILE}")
        if file.is_file():
            with Source(str(file)).open_raw() as raw:
                target = copy.with_name(f"{copy_prefix}{METADATA_FILE}")
                target.write_bytes(raw.read(MAX_BYTES + 1))


def get_submission_time(declaration: Declaration, now: datetime) -> datetime:
    """Return the time of submission in whole seconds, as stored."""
    now = now.astimezone(UTC).replace(microsecond=0)
    if declaration.received is None:
        return now
    received = declaration.received.astimezone(UTC).replace(microsecond=0)
    if received > now:
        raise PolicyError(f"received must not be in the future, got {quote(format_time(received))}")
    return received


def decide_submission(
    registry: RegistryReader, copy: CheckedCopy
) -> tuple[SubmissionOutcome, Sequence[Fault], Submission | None]:
    """Accept or refuse a run by the rules and the registry, without writing.

    Return the outcome, all faults (including faults about other teams), and any run to replace.
    """
    task, declaration, team, tag = copy.task, copy.declaration, copy.declaration.team, copy.tag
    received = get_submission_time(declaration, copy.arrival)
    submission = _make_submission(copy, received)
    submissions = registry.list_submissions(task.name, None, team=team)
    accepted_runs = [run for run in submissions if run.state == ACCEPTED]
    # A repeat has the bytes and the declaration of an accepted run.
    get_fields = attrgetter("tag", "object", "type", "priority", "answers", "description")
    declared_fields = get_fields(submission)
    repeat = next((run for run in accepted_runs if get_fields(run) == declared_fields), None)
    if repeat is not None and declaration.tag in (None, tag):
        if any(run.tag == declaration.replaces and run.id != repeat.id for run in accepted_runs):
            # Replacing another run by a run that is already accepted would lose a run.
            reason = f"this run was already submitted as {quote(tag)}"
            raise PolicyError(f"no run was replaced: {reason}")
        is_new_time = declaration.received is not None and submission.received != repeat.received
        # A run that replaces itself corrects the time of its submission.
        if not is_new_time or declaration.replaces != tag:
            report = copy.report
            if is_new_time:
                hint = f"to change it to {submission.received}, replace the run"
                message = f"the submission time is still {repeat.received}; {hint}"
                warning = Fault("answers", "warning", message)
                report = replace(report, faults=(*report.faults, warning))
            return SubmissionOutcome(repeat, report, is_repeat=True), report.faults, None
    if declaration.replaces is None and declaration.tag in (None, tag):
        # An interrupted command that is repeated must not restore runs that are gone since.
        past_runs = [run for run in submissions if run.state in (WITHDRAWN, REPLACED)]
        same_runs = [run for run in past_runs if get_fields(run) == declared_fields]
        if same_runs:
            past_run = same_runs[-1]
            fault = _describe_past_run(registry, past_run, submissions)
            report = replace(copy.report, faults=(*copy.report.faults, fault))
            return SubmissionOutcome(past_run, report, is_repeat=True), report.faults, None
    replaced_run = next((run for run in accepted_runs if run.tag == declaration.replaces), None)
    if declaration.replaces is not None and replaced_run is None:
        replaces = quote(declaration.replaces)
        raise PolicyError(f"team {quote(team)} has no accepted run {replaces} to replace")
    other_runs = [run for run in accepted_runs if run != replaced_run]
    ranking = submission.ranking
    runs_with_ranking = registry.list_submissions(task.name, ranking=ranking) if ranking else ()
    n_attempts = sum(run.received[:10] == submission.received[:10] for run in submissions)
    problems = _find_declaration_problems(task, declaration)
    faults = [
        *copy.report.faults,
        *(_make_fault(task, "answers", reason) for reason in problems),
        *_find_limit_faults(task, submission, received, len(other_runs), n_attempts),
        *_find_tag_faults(registry, copy, replaced_run),
        *_find_ranking_faults(
            task, submission, [run for run in runs_with_ranking if run != replaced_run]
        ),
    ]
    # Two runs of a team with the same priority have no defined order in a pool.
    used = {run.priority: run.tag for run in reversed(other_runs) if run.priority}
    if submission.priority in used and all(fault.code != "tag-taken" for fault in faults):
        is_free = len(used) < (task.priorities or MAX_PRIORITY)
        hint = "use another priority" if is_free else "no other is free; the pool treats both alike"
        message = f"run {quote(used[submission.priority])} already has priority"
        faults.append(Fault("answers", "warning", f"{message} {submission.priority}; {hint}"))
    if errors := dict.fromkeys(fault.code for fault in faults if fault.severity == "error"):
        submission = replace(submission, state=REFUSED, reason=", ".join(errors))
    faults = [fault for fault in faults if fault.severity != "off"]
    public_faults = tuple(fault for fault in faults if fault.severity != PRIVATE)
    report = replace(copy.report, faults=public_faults)
    return SubmissionOutcome(submission, report), faults, replaced_run


def _describe_past_run(
    registry: RegistryReader, run: Submission, submissions: Sequence[Submission]
) -> Fault:
    """Return the fault of a run that is the same as a withdrawn or replaced run."""
    if run.state == WITHDRAWN:
        state = f"withdrawn on {registry.find_withdrawal_time(run)[:10]}"
    else:
        tags = {other.id: other.tag for other in submissions}
        state = f"replaced by {quote(tags[run.replaced_by or run.id])}"
    hint = "to submit it as a new run, change its file or its description"
    return Fault("ranking-same", "error", f"already submitted, {state}: not accepted again; {hint}")


def _make_submission(copy: CheckedCopy, received: datetime) -> Submission:
    """Return the record of a run, as accepted."""
    task, declaration = copy.task, copy.declaration
    # The folder of the submitted file is private.
    name = Path(copy.report.source).name
    return Submission(
        id=0,
        task=task.name,
        team=declaration.team,
        tag=copy.tag,
        object=copy.sha256,
        bytes=copy.size,
        received=format_utc(received),
        state=ACCEPTED,
        type=declaration.type,
        priority=declaration.priority,
        answers={name: text for name, text in declaration.answers.items() if text.strip()},
        metadata=copy.metadata,
        description=declaration.description,
        ranking=copy.report.ranking,
        source=name.encode(errors="surrogateescape").decode(errors="replace"),
        late=task.closes is not None and received > task.closes,
    )


def _make_fault(task: TaskRules, code: str, message: str) -> Fault:
    return Fault(code, get_severity(code, task), message)


def _find_declaration_problems(task: TaskRules, declaration: Declaration) -> Iterator[str]:
    """Yield messages about an invalid type, priority, answers or description."""
    run_type = quote(declaration.type)
    if task.types and declaration.type not in task.types:
        problem = f"unknown type {run_type}" if declaration.type else "type is missing"
        yield f"{problem}; expected one of: {', '.join(task.types)}"
    elif declaration.type and not task.types:
        yield f"type must not be set, because the task has no types; got {run_type}"
    priority, n_priorities = declaration.priority, task.priorities
    if n_priorities is not None and (priority is None or priority > n_priorities):
        value = "none" if priority is None else str(priority)
        yield f"priority must be an integer from 1 to {n_priorities}, got {value}"
    for name in declaration.answers:
        if name not in task.questions:
            questions = ", ".join(task.questions)
            expected = f"expected one of: {questions}" if questions else "the task has no questions"
            yield f"unknown question {quote(name)}; {expected}"
    for name, question in task.questions.items():
        answer = declaration.answers.get(name, "")
        choices = f"; expected one of: {', '.join(question.choices)}" if question.choices else ""
        if not answer.strip():
            if question.required:
                yield f"answer {quote(name)} is missing: {question.ask}{choices}"
        elif question.choices and answer not in question.choices:
            yield f"unknown answer {quote(answer)} to {quote(name)}{choices}"
        elif problem := _find_unprintable_character(name, answer):
            yield problem
    if problem := _find_unprintable_character("description", declaration.description):
        yield problem


def _find_limit_faults(
    task: TaskRules, run: Submission, received: datetime, n_accepted: int, n_attempts: int
) -> Iterator[Fault]:
    """Yield faults of the opening time, the deadline, and the limits per team and per day.

    Refused runs count towards the limit per day, because each attempt reveals information; replaced
    and withdrawn runs do not count towards the limit per team. A run at the second of the deadline
    is in time.
    """
    if task.opens is not None and received < task.opens:
        delay = format_duration(task.opens - received)
        message = f"the task opens at {format_time(task.opens)}, {delay} after the submission"
        yield _make_fault(task, "not-open", message)
    if run.late and task.closes is not None:
        delay = format_duration(received - task.closes)
        message = f"the task closed at {format_time(task.closes)}, {delay} before the submission"
        if task.late == "mark":
            message += "; the run is marked as late and not pooled"
        yield Fault("closed", "warning" if task.late == "mark" else "error", message)
    team = f"team {quote(run.team)}"
    if task.runs_per_team is not None and n_accepted >= task.runs_per_team:
        usage = f"{inflect(n_accepted, 'accepted run')}; the maximum is {task.runs_per_team}"
        yield _make_fault(task, "limit", f"{team} already has {usage}")
    if task.runs_per_day is not None and n_attempts >= task.runs_per_day:
        usage = f"{inflect(n_attempts, 'run')} on {run.received[:10]} (UTC), including refused runs"
        message = f"{team} already submitted {usage}; the maximum is {task.runs_per_day}"
        yield _make_fault(task, "limit", message)


def _find_tag_faults(
    registry: RegistryReader, copy: CheckedCopy, replaced_run: Submission | None
) -> Iterator[Fault]:
    """Yield a fault if a tag is not a valid file name, or is taken (regardless of case)."""
    tag, team = copy.tag, copy.declaration.team
    # A tag with blanks is reported as a fault of the columns.
    has_tag_error = any(fault.code in {"tag", "columns"} for fault in copy.report.errors)
    if copy.report.tag is not None and not has_tag_error and not is_safe_name(tag):
        # Always an error, because the tag becomes a file name.
        yield Fault("tag", "error", f"tag must be {SAFE_NAME_RULE}, got {quote(tag)}")
    for run in registry.list_submissions(None, (ACCEPTED, REPLACED), tag=tag):
        # Other teams cannot take the tag of a replaced run, to which links may exist.
        if run != replaced_run and (run.state == ACCEPTED or run.team != team):
            hint = "; replace that run instead" if run.team == team else ""
            yield Fault("tag-taken", "error", f"tag {quote(tag)} is taken{hint}")
            return


def _find_ranking_faults(
    task: TaskRules, submission: Submission, other_runs: Iterable[Submission]
) -> Iterator[Fault]:
    """Yield faults for runs with the same ranking; faults about other teams are private."""
    for run in other_runs:
        message = f"the run has the same ranking as {quote(run.tag)}"
        if run.team == submission.team:
            yield _make_fault(task, "ranking-same", message)
        else:
            yield Fault("ranking-same", PRIVATE, f"{message} of team {quote(run.team)}")


@dataclass(frozen=True)
class SubmissionOutcome:
    """Outcome of the submission of a run.

    Attributes
    ----------
    submission
        Record of the run in the registry: accepted or refused, or that of the past run if the run
        repeats a withdrawn or replaced one.
    report
        All faults of the run, except private faults, which name other teams.
    is_repeat
        Whether the same run was already accepted with this tag, so that nothing was changed. If it
        was withdrawn or replaced since, it is not accepted again.
    """

    submission: Submission
    report: CheckReport
    is_repeat: bool = False

    @property
    def is_accepted(self) -> bool:
        """True if the run was accepted."""
        return self.submission.state == ACCEPTED

    def __str__(self) -> str:
        report, run = self.report, self.submission
        lines = [fault.to_text(report.source) for fault in report.faults]
        tag = sanitise(run.tag) or sanitise(report.source)
        if self.is_repeat and self.is_accepted:
            lines.append(f"already submitted: {tag} (sha256 {run.object})")
        elif self.is_accepted:
            late_text = ", late" if run.late else ""
            counts = report.outcome.removeprefix("accepted").replace(": ", ", ")
            lines.append(f"accepted as {tag}{late_text}{counts} (sha256 {run.object})")
        else:
            lines.append(f"{tag} {report.outcome}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        state = "already submitted" if self.is_repeat else self.submission.state
        return f"SubmissionOutcome({self.submission.tag!r}, {state})"


class UnchangedError(Exception):
    """Raised to end a transaction without a change."""


def submit(
    campaign: OpenedCampaign, run: PathName, task: str | None = None, **declared: Any
) -> SubmissionOutcome:
    """Submit a run: check it, and accept it and store its bytes unchanged, or refuse it.

    The bytes are read once, into a private file, and checked there. One transaction checks the tag,
    limits and times. It stores the file of an accepted run before it records the run, so that every
    accepted run has its bytes. Refused runs are recorded, too; their bytes are stored only if the
    rules set `keep_refused`.

    Parameters
    ----------
    campaign
        The campaign.
    run
        File of the run, compressed or not; `-` is standard input.
    task
        Name of the task; optional if there is only one task.
    declared
        Attributes of :class:`Declaration`, such as `team`.

    Raises
    ------
    PolicyError
        For an unknown task or team, a value that :class:`Declaration` refuses, a time in the
        future, or a run to replace that is not an accepted run of the team. Nothing is recorded.
    InputError
        For a file that cannot be read.
    """
    rules, declaration = campaign.rules.get_task(task), Declaration(**declared)
    require_team(campaign.registry, declaration.team)
    with copy_and_check(campaign, run, rules, declaration) as copy:
        return record_run(campaign, copy)


def check_submission(
    campaign: OpenedCampaign, run: PathName, task: str | None = None, **declared: Any
) -> CheckReport:
    """Check a run like :func:`submit`, without submitting it.

    Without a declared team, only the file and its tag are checked.
    """
    rules = campaign.rules.get_task(task)
    with copy_and_check(campaign, run, rules, Declaration(**declared)) as copy:
        team = copy.declaration.team
        if not team:
            return copy.report
        require_team(campaign.registry, team)
        return decide_submission(campaign.registry, copy)[0].report


def record_run(campaign: OpenedCampaign, copy: CheckedCopy) -> SubmissionOutcome:
    """Accept or refuse a run, and record it in a transaction of its own."""
    details: dict[str, str] = {}
    with suppress(UnchangedError), campaign.registry.change("submit", copy.tag, details) as tx:
        outcome = record_run_in_transaction(tx, campaign, copy)
        if outcome.is_repeat:
            raise UnchangedError
        details["state"] = outcome.submission.state
    return outcome


def record_run_in_transaction(
    tx: Transaction, campaign: OpenedCampaign, copy: CheckedCopy, *, is_trial: bool = False
) -> SubmissionOutcome:
    """Accept or refuse a run, and record it in a transaction; a trial stores no bytes."""
    outcome, faults, replaced_run = decide_submission(tx, copy)
    if outcome.is_repeat:
        return outcome
    run = replace(outcome.submission, rules=hash_rules(campaign.rules), is_stored=False)
    if not is_trial and (run.state == ACCEPTED or campaign.rules.keep_refused):
        # The bytes are stored before the run is recorded.
        sha256, _ = records.put_object(campaign.folder, copy.file)
        if sha256 != run.object:
            reason = "the copy of the run changed while it was checked; submit it again"
            raise CranfieldError(reason)
        run = replace(run, is_stored=True)
    replaced_run = replaced_run if run.state == ACCEPTED else None
    if replaced_run is not None:
        # The new run may have the same tag, and tags of accepted runs are unique.
        replaced_run = tx.update(replace(replaced_run, state=REPLACED))
    run = tx.insert(run)
    if replaced_run is not None:
        tx.update(replace(replaced_run, replaced_by=run.id))
    tx.insert_faults(run, faults)
    return replace(outcome, submission=run)


def withdraw(campaign: OpenedCampaign, tag: str, reason: str) -> Submission:
    """Withdraw an accepted run, so that it is no longer scored or released.

    The record of the run stays in the registry, and existing releases do not change.

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
        If no accepted run has the tag, or the reason is empty or has unprintable characters.
    """
    check_reason(reason)
    with campaign.registry.change("withdraw", tag, {"reason": reason}) as tx:
        return tx.update(replace(find_accepted_run(tx, tag), state=WITHDRAWN, reason=reason))


def find_accepted_run(registry: RegistryReader, tag: str) -> Submission:
    """Return the only accepted run with a tag, regardless of case."""
    runs = registry.list_submissions(None, None, tag=tag)
    for run in runs:
        if run.state == ACCEPTED:
            return run
    # Refused runs of other teams may have the same tag.
    past_runs = [run for run in runs if run.state != REFUSED]
    hint = "; submissions with this tag were refused" if runs else ""
    if past_runs:
        team = quote(past_runs[-1].team)
        hint = f"; the run of team {team} with this tag is already {past_runs[-1].state}"
    raise PolicyError(f"no accepted run has the tag {quote(tag)}{hint}")


def purge(
    campaign: OpenedCampaign, tag: str, reason: str, *, id: Annotated[int | None, Integer(1)] = None
) -> Submission:
    """Remove the bytes of a run that was withdrawn, replaced or refused.

    The record of the run, with the hash of the bytes, stays in the registry. Bytes that other runs
    or judgments share are not removed.

    Parameters
    ----------
    campaign, reason
        As for :func:`withdraw`.
    tag
        Tag of the run, in the same case.
    id
        Number of the run in the registry, required if several withdrawn, replaced or stored refused
        runs have the tag.

    Raises
    ------
    PolicyError
        If no withdrawn, replaced or refused run with the tag has a stored file, if `id` is required
        and not set, or for an invalid reason. Withdraw an accepted run first.
    """
    check_reason(reason)
    with campaign.registry.change("purge", tag, {"reason": reason}) as tx:
        run = _find_run_to_purge(tx.list_submissions(None, None, tag=tag), tag, id)
        run = tx.update(replace(run, is_stored=False))
        # The file is removed after the commit, so that a killed process never loses a file.
        tx.mark_unneeded(run.object)
    return run


def _find_run_to_purge(runs: Sequence[Submission], tag: str, id: int | None) -> Submission:
    """Return the run to purge by its tag and id.

    Purged runs count as well, so that a repeated command does not purge another run.
    """
    similar_tags = [quote(run.tag) for run in runs if run.tag != tag]
    runs = [run for run in runs if run.tag == tag]
    if not runs:
        hint = f"; did you mean {similar_tags[0]}?" if similar_tags else ""
        raise PolicyError(f"unknown run {quote(tag)}{hint}")
    candidate_runs = [run for run in runs if run.state != ACCEPTED]
    candidate_runs = [run for run in candidate_runs if run.is_stored or run.state != REFUSED]
    stored_ids = [run.id for run in candidate_runs if run.is_stored]
    if stored_ids and len(candidate_runs) > 1 and id is None:
        descriptions = (
            f"{run.id} ({run.state}, of {quote(run.team)}, submitted at {run.received}"
            f"{'' if run.is_stored else ', already purged'})"
            for run in candidate_runs
        )
        raise PolicyError(
            f"{len(candidate_runs)} runs have the tag {quote(tag)}; choose one, such as"
            f" id={stored_ids[0]}: {', '.join(descriptions)}"
        )
    if id is not None and id not in [run.id for run in runs]:
        ids = ", ".join(str(run.id) for run in runs)
        raise PolicyError(f"no run {quote(tag)} has the id {id}; expected one of: {ids}")
    matches = [run for run in candidate_runs if id in (None, run.id)]
    if any(run.is_stored for run in matches):
        return matches[0]
    is_accepted = any(run.state == ACCEPTED and id in (None, run.id) for run in runs)
    name = quote(tag) if id is None else f"{quote(tag)} with id {id}"
    problem = "is accepted; withdraw it first" if is_accepted else "has no stored file to purge"
    raise PolicyError(f"run {name} {problem}")
