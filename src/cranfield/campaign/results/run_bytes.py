"""Runs read from the campaign's folder; a run that cannot be read is excluded, by its tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from cranfield.base.digests import file_sha256
from cranfield.base.errors import InputError, quoted, told_again, warn
from cranfield.base.words import some_of
from cranfield.campaign.opened import Opened
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.store import objects
from cranfield.campaign.store.records import Submission
from cranfield.collection.files.many_runs import Runs, read_runs
from cranfield.collection.run import Run

Made = TypeVar("Made")


def runs_of(opened: Opened, rules: TaskRules, submissions: Iterable[Submission]) -> Runs:
    """Return the runs of submissions, by tag; their bytes are not compared with their hashes."""
    paths = {one.tag: str(objects.path(opened.folder, one.object)) for one in submissions}
    return read_runs(paths, format=rules.format)


def run_of(opened: Opened, rules: TaskRules, submission: Submission) -> Run:
    """Read the run of a submission; an `InputError` on its bytes names its tag."""
    try:
        _check(opened, submission)
        return runs_of(opened, rules, [submission])[0]
    except InputError as error:
        raise told_again(error, InputError, f"run {quoted(submission.tag)}") from None


def intact_runs(opened: Opened, submissions: Iterable[Submission]) -> list[Submission]:
    """Return the submissions whose stored bytes are unchanged; warn of the others, by tag."""
    return _readable(opened, submissions, lambda run: _check(opened, run))


def from_runs(
    opened: Opened,
    rules: TaskRules,
    submissions: Sequence[Submission],
    make: Callable[[Runs], Made],
) -> Made | None:
    """Call `make` with the runs that can be read, by tag; None if there is none.

    Each other run is excluded with a warning, and recorded in `opened.unreadable`.
    """
    runs = intact_runs(opened, submissions)
    while runs:
        try:
            return make(runs_of(opened, rules, runs))
        except InputError:
            # All runs are read again only here, to find out whether one of them is the reason.
            readable = _readable(opened, runs, lambda run: run_of(opened, rules, run))
            if len(readable) == len(runs):
                raise
            runs = readable
    return None


def none_readable(opened: Opened, task: str) -> InputError:
    """Make the error for a task without a readable run."""
    reasons = some_of(opened.unreadable.values(), 3)
    return InputError(f"no accepted run can be read: {reasons}", source=f"task {quoted(task)}")


def _check(opened: Opened, run: Submission) -> None:
    path = objects.path(opened.folder, run.object)
    if not path.is_file():
        raise InputError("is missing from objects/")
    if file_sha256(path) != run.object:
        raise InputError("is not what was handed in")


def _readable(
    opened: Opened, runs: Iterable[Submission], read: Callable[[Submission], object]
) -> list[Submission]:
    """Return the runs that can be read; warn of each other run once, and record it."""
    readable = []
    for run in runs:
        try:
            read(run)
        except InputError as error:
            reason = str(told_again(error, InputError, f"run {quoted(run.tag)}"))
            if run.id not in opened.unreadable:
                warn(f"{reason}; the run is excluded")
            opened.unreadable[run.id] = reason
        else:
            readable.append(run)
    return readable
