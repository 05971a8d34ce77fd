"""Judgments of a task, by version: bytes as they came, which never change."""

from __future__ import annotations

from os import fspath
from pathlib import Path

from cranfield.base.digests import file_sha256
from cranfield.base.errors import CranfieldError, InputError, PolicyError, quoted, warn
from cranfield.base.words import counted, some_of
from cranfield.campaign.opened import Opened, PathName
from cranfield.campaign.rules.tags import safe_name
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.rules.times import utc_text
from cranfield.campaign.rules.topics import topic_ids
from cranfield.campaign.store import objects
from cranfield.campaign.store.records import Judgments
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.qrels import Qrels
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source


def add_judgments(
    opened: Opened, qrels: PathName, task: str | None = None, *, version: str, note: str = ""
) -> Judgments:
    """Add a version of a task's judgments.

    Parameters
    ----------
    opened
        The campaign.
    qrels
        A file of lines as :func:`cranfield.read_qrels` reads them: topic, iteration, document and
        grade, packed or not.
    task
        The task; the only one where there is no other.
    version
        Its name, such as `1`. A version that is there stays as it is.
    note
        What there is to say of it.

    Returns
    -------
    Judgments
        The record. The same bytes under the same version are what is there already.

    Raises
    ------
    InputError
        For what cannot be read, and for judgments of no topic of the task.
    PolicyError
        For a version that is there with other bytes, or whose name no file could have.

    Warns
    -----
    CranfieldWarning
        For topics that are not the task's, which do not count, for topics of the task without
        judgments, and for bytes that are there already.
    """
    rules = opened.rules.task(task)
    if not safe_name(version):
        raise PolicyError(f"version {quoted(version)} is no name that every disk can hold")
    path = Path(fspath(qrels))
    if (suffix := Source(str(path)).suffix) in FORMAT_OF_SUFFIX:
        reason = f"judgments of a campaign are lines of text, not {suffix} (write_qrels makes them)"
        raise InputError(reason, source=str(path))
    read = read_qrels(path)
    for said in _beside_the_task(read, rules, str(path)):
        warn(said, stacklevel=2)
    known = opened.registry.judgments(rules.name)
    sha256 = file_sha256(path)
    same = next((one for one in known if one.object == sha256), None)
    if same is not None:
        said = f"version {quoted(same.version)} has the same bytes"
        if same.version == version:
            said += ": nothing is added"
        warn(said, stacklevel=2)
    if any(one.version == version for one in known):
        return _as_it_is(same, version)
    sha256, _ = objects.put(opened.folder, path)
    record = Judgments(rules.name, version, sha256, len(read), utc_text(opened.clock()), note)
    about = {"version": version, "rows": len(read)}
    with opened.registry.change("judgments", rules.name, about) as change:
        # Somebody else may have added the version in the meantime.
        now = {one.version: one for one in change.judgments(rules.name)}
        if version in now:
            raise _changed(version)
        change.insert(record)
    return record


def _as_it_is(same: Judgments | None, version: str) -> Judgments:
    if same is None or same.version != version:
        raise _changed(version)
    return same


def _changed(version: str) -> PolicyError:
    return PolicyError(
        f"version {quoted(version)} is there, and versions never change: name a new one"
    )


def _beside_the_task(qrels: Qrels, rules: TaskRules, source: str) -> list[str]:
    """Say which topics only the judgments have, or only the task."""
    topics = topic_ids(rules)
    if topics is None:
        return []
    foreign = [topic for topic in qrels.topics if topic not in set(topics)]
    lacking = [topic for topic in topics if topic not in set(qrels.topics)]
    if len(lacking) == len(topics):
        reason = f"no topic of task {quoted(rules.name)} is judged"
        raise InputError(reason, source=source, topic=qrels.topics[0])
    said = []
    if foreign:
        names, one = some_of(map(quoted, foreign), 5), len(foreign) == 1
        does = "is none of the task's, and does" if one else "are none of the task's, and do"
        said.append(f"{counted(len(foreign), 'topic')} of the judgments {does} not count: {names}")
    if lacking:
        names, has = some_of(map(quoted, lacking), 5), "has" if len(lacking) == 1 else "have"
        said.append(f"{counted(len(lacking), 'topic')} of the task {has} no judgments: {names}")
    return said


def version_of(opened: Opened, task: str, version: str | None = None) -> Judgments:
    """Return a version of a task's judgments, the newest one where none is named."""
    known = opened.registry.judgments(task)
    if not known:
        raise CranfieldError(
            f"task {quoted(task)} has no judgments (`cranfield campaign judgments` adds them)"
        )
    if version is None:
        return known[-1]
    found = next((one for one in known if one.version == version), None)
    if found is None:
        names = ", ".join(quoted(one.version) for one in known)
        raise PolicyError(
            f"there is no version {quoted(version)} of the judgments; there is {names}"
        )
    return found


def qrels_of(opened: Opened, rules: TaskRules, record: Judgments) -> Qrels:
    """Read a version of the judgments, those of the task's topics."""
    path = objects.path(opened.folder, record.object)
    if file_sha256(path) != record.object:
        raise InputError("is not what was added", source=f"judgments {record.version}")
    qrels = read_qrels(path)
    topics = topic_ids(rules)
    if topics is None or set(qrels.topics) <= set(topics):
        return qrels
    frame = qrels.to_polars()
    return read_qrels(frame.filter(frame["topic"].is_in(list(topics))))
