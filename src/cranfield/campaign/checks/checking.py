"""The check of one run: one pass over its lines, all faults at once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import IO, cast

from cranfield.base.errors import CranfieldError, InputError, kept_warnings
from cranfield.campaign.checks.collecting import Collected
from cranfield.campaign.checks.lines import Lines
from cranfield.campaign.checks.order import check_order
from cranfield.campaign.checks.raw_columns import raw_columns
from cranfield.campaign.checks.report import CheckReport
from cranfield.campaign.checks.run_metadata import metadata_faults
from cranfield.campaign.checks.whole import check_documents, check_topics
from cranfield.campaign.rules.patterns import matches
from cranfield.campaign.rules.tags import safe_name
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.rules.topics import topic_ids
from cranfield.collection.files.reading import read_run
from cranfield.collection.metadata.header import HeaderError, header_of
from cranfield.collection.metadata.reading import MetadataPlace
from cranfield.sources.archives import DAMAGED
from cranfield.sources.chunks import CHUNK, TOGETHER, Source
from cranfield.sources.limits import BeyondLimitError


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):
        # No name that a file could have.
        return False


def check_run(
    path: str | PathLike[str],
    task: TaskRules,
    *,
    tag: str | None = None,
    team: str | None = None,
    all_faults: bool = False,
) -> CheckReport:
    """Check a run by the rules of a task, and find all its faults at once.

    What only the registry knows is not looked at: whether the tag is taken, limits, times.

    Parameters
    ----------
    path
        The run, packed or not; `-` is standard input.
    task
        The rules.
    tag
        The tag that was declared; None where none was.
    team
        The team's id, which no tag may be.
    all_faults
        Whether to keep each fault; by default 25 of a kind are, and the others counted.

    Returns
    -------
    CheckReport
        All faults. Without an error, :func:`cranfield.read_run` reads the file, and what it reads
        keeps the rules.

    Raises
    ------
    InputError
        For a file that is not there, and for a list of topics or documents that cannot be read.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     run = Path(folder) / "a.run"
    ...     _ = run.write_text("1 Q0 d1 1 0.9 bm25\\n1 Q0 d1 2 nan bm25\\n")
    ...     report = check_run(run, TaskRules("adhoc"))
    >>> report.accepted
    False
    >>> for fault in report.faults:
    ...     print(fault.line, fault.message)
    2 document twice in one topic, first in line 1
    2 score 'nan' is not a finite number
    """
    name = fspath(path)
    found = Collected(task, all_faults=all_faults)
    lines = Lines(task, found)
    # A pipe can be read once, and a device may have no end.
    count, whole, again = 0, True, name != "-" and _is_file(name)
    place = MetadataPlace(path=name)
    try:
        for chunk in _Bounded(name, task.most_bytes, task.most_unpacked).chunks(TOGETHER * CHUNK):
            if count == 0 and (header := header_of(chunk, name)) is not None:
                place = MetadataPlace(header, name)
                chunk = header.blanked(chunk)  # noqa: PLW2901
            lines.check(raw_columns(chunk, count + 1, task.format))
            count += chunk.count(b"\n") + (chunk[-1:] not in {b"", b"\n"})
    except _TooLargeError as error:
        found.add("size", what=error.what, limit=error.limit)
        whole = again = False
    except InputError as error:
        found.add(code_of(error), line=error.line, reason=error.reason)
        whole = False
    rows = lines.rows()
    if whole and not rows.lines.size:
        found.add("empty", reason="is empty: a run has at least one line")
        whole = False
    lines.end()
    _check_tag(lines, task, tag, team, found)
    found.add_all(metadata_faults(replace(place, tag=lines.tag), task, lines.tag))
    check_topics(rows, task, topic_ids(task), found, to_end=whole)
    ranking = check_order(rows, check_documents(rows, task, found), task, found)
    if whole and again and found.readable:
        # The reader of the scores decides: what is accepted here is read there.
        try:
            with kept_warnings():
                read_run(name, format=task.format)
        except InputError as error:
            found.add("unreadable", line=error.line, reason=error.reason)
    return CheckReport(
        source=Source(name).name,
        tag=lines.tag,
        faults=found.faults(),
        lines=count,
        topics=len(rows.topics),
        object=_sha256(name) if again else None,
        ranking=ranking if found.readable else None,
    )


LONGEST = 64 << 20
"""Bytes of the rest of a line: one without an end is not read into memory to its end."""


class _TooLargeError(CranfieldError):
    """A file with more bytes than the rules allow."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"{what} has more than {limit:,} bytes")
        self.what = what
        self.limit = limit


@dataclass(frozen=True)
class _Bounded(Source):
    """A file of limited size, as it is and unpacked; no more than that is ever read."""

    most_bytes: int
    most_unpacked: int

    @contextmanager
    def packed(self) -> Iterator[IO[bytes]]:
        with super().packed() as raw:
            if self.path != "-" and Path(self.path).stat().st_size > self.most_bytes:
                raise _TooLargeError("the file", self.most_bytes)
            yield raw

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        with super().open() as stream:
            yield cast("IO[bytes]", _Counting(stream, self.most_unpacked))


class _Counting:
    """Reads so many bytes of a stream, and no more."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._most = most
        self._left = most

    def read(self, size: int) -> bytes:
        return self._counted(self._stream.read(min(size, self._left + 1)))

    def readline(self, _size: int = -1) -> bytes:
        # The longest line that checks allow holds, whatever the reader asks for.
        line = self._counted(self._stream.readline(min(LONGEST, self._left) + 1))
        if len(line) > LONGEST:
            raise _TooLargeError("a line", LONGEST)
        return line

    def _counted(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise _TooLargeError("the unpacked file", self._most)
        return data


def code_of(error: InputError) -> str:
    """Tell which fault of the run an error of its reader is; raise it where it is none."""
    if isinstance(error, HeaderError):
        return "metadata-header"
    cause = error.__cause__
    if type(cause).__name__ in DAMAGED or isinstance(cause, BeyondLimitError):
        return "archive"
    if cause is not None:
        raise error
    return "encoding"


def _check_tag(
    lines: Lines, task: TaskRules, declared: str | None, team: str | None, found: Collected
) -> None:
    tag, line = lines.tag, lines.tag_line
    if tag is None:
        return
    if declared is not None and tag != declared:
        found.add("tag-declared", line=line, tag=tag, declared=declared)
    if team is not None and tag.casefold() == team.casefold():
        found.add("tag-team", line=line, tag=tag)
    if not matches(task.tag, tag):
        found.add("tag", line=line, tag=tag, wanted=task.tag)
    elif not safe_name(tag):
        found.add("tag", line=line, tag=tag, wanted="a name that a file can have everywhere")


def _sha256(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
