"""Runs as they were handed in, read one at a time from the campaign's folder."""

from __future__ import annotations

from collections.abc import Iterable

from cranfield.base.digests import file_sha256
from cranfield.base.errors import InputError, quoted
from cranfield.campaign.opened import Opened
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.store import objects
from cranfield.campaign.store.records import Submission
from cranfield.collection.files.many_runs import Runs, read_runs


def runs_of(opened: Opened, rules: TaskRules, submissions: Iterable[Submission]) -> Runs:
    """Return the runs of submissions, by tag; their bytes are those that were handed in.

    Raises
    ------
    InputError
        For bytes that are gone, or are others.
    """
    paths = {}
    for one in submissions:
        path = objects.path(opened.folder, one.object)
        if not path.is_file():
            raise InputError("is missing from objects/", source=f"run {quoted(one.tag)}")
        if file_sha256(path) != one.object:
            raise InputError("is not what was handed in", source=f"run {quoted(one.tag)}")
        paths[one.tag] = str(path)
    return read_runs(paths, format=rules.format)
