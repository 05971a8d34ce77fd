"""Bytes are read once: those that are checked are those that are kept."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryDirectory

from cranfield.base.errors import CranfieldWarning, InputError
from cranfield.campaign.checks.catalogue import fault
from cranfield.campaign.checks.checking import check_run
from cranfield.campaign.checks.report import CheckReport
from cranfield.campaign.opened import Opened
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.submitting.declared import Declared
from cranfield.collection.metadata.header import LARGEST, header_of
from cranfield.collection.metadata.reading import BESIDE, MetadataPlace
from cranfield.sources.chunks import Source

BLOCK = 1 << 20


@dataclass(frozen=True)
class Taken:
    """A run as it came: its bytes in a private file, and what the check found in them."""

    file: Path
    size: int
    sha256: str
    arrived: datetime
    report: CheckReport
    metadata: str | None

    @property
    def name(self) -> str:
        """Name of the file that was handed in, without its folder, which is nobody's business."""
        name = Path(self.report.source).name
        return name.encode(errors="surrogateescape").decode(errors="replace")


@contextmanager
def taken_in(
    opened: Opened, run: str | PathLike[str], task: TaskRules, declared: Declared
) -> Iterator[Taken]:
    """Copy a run into a private folder, which goes in the end, and check the copy."""
    source = Source(fspath(run))
    # A kill leaves the folder behind; under this name it is known for what it is.
    with TemporaryDirectory(prefix=".campaign.", dir=opened.folder) as folder:
        copy = Path(folder) / "run"
        sha256, size = _copied(source, copy, task.most_bytes)
        # A check that takes its time makes no run late.
        arrived = opened.clock()
        metadata = None
        if size > task.most_bytes:
            found = fault("size", task, what="the file", limit=task.most_bytes)
            report = CheckReport(source.name, declared.tag, (found,))
        else:
            if source.path != "-":
                _copy_beside(Path(source.path), copy)
            report = check_run(copy, task, tag=declared.tag, team=declared.team or None)
            report = replace(report, source=source.name, object=sha256)
            metadata = _metadata(copy, report) if report.accepted else None
        yield Taken(copy, size, sha256, arrived, report, metadata)


def _copied(source: Source, copy: Path, most: int) -> tuple[str, int]:
    """Copy a file, up to the block in which it is too large; return its hash and its size."""
    digest, size = hashlib.sha256(), 0
    with source.packed() as raw, copy.open("xb") as out:
        while block := raw.read(BLOCK):
            size += len(block)
            if size > most:
                break
            digest.update(block)
            try:
                out.write(block)
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise InputError(f"cannot be kept: {reason}", source=source.name) from error
    return digest.hexdigest(), size


def _copy_beside(run: Path, copy: Path) -> None:
    """Copy the metadata beside a run, so that the check of the copy finds what that of it does."""
    for before in ("{}.", ""):
        beside = run.with_name(before.format(run.name) + BESIDE)
        if beside.is_file():
            with Source(str(beside)).packed() as raw:
                there = copy.with_name(before.format(copy.name) + BESIDE)
                there.write_bytes(raw.read(LARGEST + 1))


def _metadata(copy: Path, report: CheckReport) -> str | None:
    """Return what the run says of itself, as it was written."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CranfieldWarning)
            header = header_of(next(Source(str(copy)).chunks(2 * LARGEST), b""), report.source)
            about = MetadataPlace(header, str(copy), tag=report.tag).read()
    except InputError:
        # The rules take it for no more than a warning.
        return None
    return None if about is None else about.to_yaml()
