"""Time and memory of a whole process, as the kernel accounts for them."""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_KIB = 1024 if sys.platform == "darwin" else 1
"""macOS reports memory in bytes, everything else in KiB."""


@dataclass(frozen=True)
class Timing:
    """What a process took.

    Attributes
    ----------
    wall
        Seconds from its start to its end.
    cpu
        Seconds of user and system time, over all threads and awaited children.
    peak
        Largest resident memory in MiB; of the largest process where there were children.
    """

    wall: float
    cpu: float
    peak: float


@dataclass(frozen=True)
class Failure:
    """Why there is nothing to report."""

    reason: str

    def __str__(self) -> str:
        return self.reason


def timed(command: Sequence[str], stdout: Path, stderr: Path) -> Timing | Failure:
    """Run a command to its end with its output going to files."""
    writing = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    actions = [
        (os.POSIX_SPAWN_OPEN, 1, str(stdout), writing, 0o644),
        (os.POSIX_SPAWN_OPEN, 2, str(stderr), writing, 0o644),
    ]
    start = time.perf_counter()
    try:
        process = os.posix_spawnp(command[0], list(command), os.environ, file_actions=actions)
    except OSError as error:
        return Failure(f"failed: {command[0]}: {error.strerror}")
    # Only wait4 tells the usage of this one child; getrusage sums over all there have been.
    _, status, usage = os.wait4(process, 0)
    wall = time.perf_counter() - start
    code = os.waitstatus_to_exitcode(status)
    if code:
        return Failure(f"failed: {_complaint(stderr) or _exit(code)}")
    return Timing(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / _KIB / 1024)


def memory_floor() -> float:
    """Return the peak below which no process can be measured, in MiB.

    A child's account begins with the memory of its parent, until it becomes another program.
    So the measuring process must stay small: no NumPy, no large files.
    """
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _KIB / 1024


def warm(paths: Sequence[Path]) -> None:
    """Read files once, so that the first process to be timed does not wait for the disk alone."""
    for path in paths:
        with path.open("rb") as file:
            while file.read(1 << 20):
                pass


def _complaint(stderr: Path) -> str:
    """Return the last line that a process wrote to its standard error."""
    lines = stderr.read_text(encoding="utf-8", errors="replace").split("\n")
    said = [line.strip() for line in lines if line.strip(" \t\r│╭╮╰╯─")]
    return said[-1][:160] if said else ""


def _exit(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"
