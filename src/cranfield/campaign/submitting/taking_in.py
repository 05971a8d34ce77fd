"""Bytes are read once: those that are checked are those that are kept."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from os import PathLike, fspath
from pathlib import Path

from cranfield.base.errors import InputError
from cranfield.campaign.checks.catalogue import fault
from cranfield.campaign.checks.report import CheckReport
from cranfield.campaign.opened import Opened
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.campaign.submitting.declared import Declared

BLOCK = 1 << 20


@dataclass(frozen=True)
class Taken:
    """A run as it came: its bytes in a private file, and what the check found in them."""

    file: Path
    size: int
    sha256: str
    arrived: datetime
    report: CheckReport

    @property
    def name(self) -> str:
        """Name of the file that was handed in, without its folder, which is nobody's business."""
        name = Path(self.report.source).name
        return name.encode(errors="surrogateescape").decode(errors="replace")


@contextmanager
def taken_in(
    opened: Opened, run: str | PathLike[str], task: TaskRules, declared: Declared
) -> Iterator[Taken]:
    """Copy a run into a private file, which goes in the end, and check the copy."""
    from cranfield.campaign.checks.checking import check_run
    from cranfield.sources.chunks import Source

    source = Source(fspath(run))
    handle, name = tempfile.mkstemp(prefix=".campaign.", dir=opened.folder)
    copy = Path(name)
    try:
        with os.fdopen(handle, "wb") as out, source.packed() as raw:
            digest, size = hashlib.sha256(), 0
            while block := raw.read(BLOCK):
                size += len(block)
                if task.most_bytes is not None and size > task.most_bytes:
                    break
                digest.update(block)
                try:
                    out.write(block)
                except OSError as error:
                    reason = (error.strerror or str(error)).lower()
                    raise InputError(f"cannot be kept: {reason}", source=source.name) from error
        # A check that takes its time makes no run late.
        arrived = opened.clock()
        if task.most_bytes is not None and size > task.most_bytes:
            found = fault("size", task, what="the file", limit=task.most_bytes)
            report = CheckReport(source.name, declared.tag, (found,))
        else:
            checked = check_run(copy, task, tag=declared.tag, team=declared.team or None)
            report = replace(checked, source=source.name, object=digest.hexdigest())
        yield Taken(copy, size, digest.hexdigest(), arrived, report)
    finally:
        copy.unlink(missing_ok=True)
