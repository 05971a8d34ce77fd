"""Cases that are made of a seed and a number, done in processes of their own.

A worker says of each case what became of it, in a line. Where it says nothing for too long, or
ends, the case it is at is a finding, and another worker goes on behind it. What is printed to
standard error by its number, such as by a panic, is a finding, too.
"""

from __future__ import annotations

import json
import os
import random
import resource
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import NoReturn, TextIO

import studies
from studies.attack import Outcome
from studies.attack.work.cases import FindingError, HangError, passed, shown

LIMIT = 20.0
"""Seconds after which a case counts as hanging; all take milliseconds."""
GRACE = 20.0
"""Seconds on top for those that hang where Python cannot be interrupted."""
START = 600.0
"""Seconds until a worker is ready for its first case."""
SHORT = {"right": "+", "refused": "-"}

Make = Callable[[random.Random, Path], bool]
"""Makes a case and checks it: True where it is right, False where it is refused; or raises."""


class Cases:
    """A kind of attack, any of whose cases can be done again alone."""

    def __init__(self, kind: str, make: Make, ready: Callable[[], object] = dict) -> None:
        self.kind, self.make = kind, make
        self.ready = ready
        """Does, in each worker and before its cases, what may take longer than a case."""
        self.peak = 0
        """Memory that the largest worker has needed, in MiB."""

    def __call__(
        self, seed: int, cases: int, *, first: int = 0, processes: int = 1
    ) -> Iterator[Outcome]:
        """Yield what became of each case, as it comes."""
        with selectors.DefaultSelector() as selector:
            numbers = [range(first + i, first + cases, processes) for i in range(processes)]
            for some in filter(None, numbers):
                _Worker(self, seed, some).watched(selector)
            looked = time.monotonic()
            while selector.get_map():
                for key, _ in selector.select(1):
                    yield from key.data.heard(selector)
                # Whoever was stopped himself knows nothing of how long others take.
                slept, looked = time.monotonic() - looked > GRACE, time.monotonic()
                for key in list(selector.get_map().values()):
                    yield from key.data.late(selector, slept)

    def one(self, seed: int, number: int, folder: Path) -> Outcome:
        case = f"--kind {self.kind} --seed {seed} --case {number}"
        try:
            with _time_limit():
                right = self.make(random.Random(f"{seed}/{self.kind}/{number}"), folder)
        except FindingError as found:
            said = f"{found.key}: {found.what}; {shown(found.reproducer, 3000)}"
            return Outcome(case, "finding", said.encode("utf-8", "backslashreplace").decode())
        except HangError as error:
            at = " < ".join(f"{one.name} ({one.lineno})" for one in passed(error)[:-6:-1])
            return Outcome(case, "finding", f"hang in {at}: no end after {LIMIT:g} s")
        except Exception:
            return Outcome(case, "finding", f"the attack fails: {traceback.format_exc()}")
        return Outcome(case, "right" if right else "refused")


class _Worker:
    def __init__(self, cases: Cases, seed: int, numbers: range) -> None:
        self.cases, self.seed, self.numbers, self.done = cases, seed, numbers, 0
        self.printed = tempfile.TemporaryFile()  # noqa: SIM115 (closed when it has ended)
        words = (cases.kind, seed, numbers.start, numbers.stop, numbers.step)
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", __spec__.name, *map(str, words)],
            stdout=subprocess.PIPE,
            stderr=self.printed,
            # The tables are small: threads would only wait for each other.
            env={"POLARS_MAX_THREADS": "1", **os.environ},
            cwd=Path(studies.__path__[0]).parent,
        )
        assert self.process.stdout is not None
        self.out = self.process.stdout
        self.rest = b""
        self.last, self.patience = time.monotonic(), START

    def watched(self, selector: selectors.BaseSelector) -> None:
        selector.register(self.out, selectors.EVENT_READ, self)

    def heard(self, selector: selectors.BaseSelector) -> Iterator[Outcome]:
        self.last, self.patience = time.monotonic(), LIMIT + GRACE
        said = os.read(self.out.fileno(), 1 << 16)
        *lines, self.rest = (self.rest + said).split(b"\n")
        for line in lines:
            if line.startswith(b"m"):
                self.cases.peak = max(self.cases.peak, int(line[1:]))
                continue
            self.done += 1
            told = [verdict for verdict, sign in SHORT.items() if sign == line.decode()]
            yield Outcome("", told[0]) if told else Outcome(*json.loads(line))  # type: ignore[arg-type]
        if not said:
            yield from self.ended(selector, f"the process ends with {self.process.wait()}")

    def late(self, selector: selectors.BaseSelector, slept: bool) -> Iterator[Outcome]:
        self.last = time.monotonic() if slept else self.last
        if time.monotonic() - self.last > self.patience:
            self.process.kill()
            yield from self.ended(selector, "hang")

    def ended(self, selector: selectors.BaseSelector, how: str) -> Iterator[Outcome]:
        selector.unregister(self.out)
        self.out.close()
        self.process.wait()
        self.printed.seek(0)
        said = self.printed.read()[-300:].decode(errors="replace")
        self.printed.close()
        if self.patience == START:
            raise RuntimeError(f"no case is begun, {how}: {said}")
        left = self.numbers[self.done :]
        if left:
            case = f"--kind {self.cases.kind} --seed {self.seed} --case {left[0]}"
            yield Outcome(case, "finding", f"{how}: {said!a}")
        if left[1:]:
            _Worker(self.cases, self.seed, left[1:]).watched(selector)


@contextmanager
def _time_limit() -> Iterator[None]:
    signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _too_long(number: int, frame: FrameType | None) -> NoReturn:
    raise HangError


def work(kind: str, seed: int, numbers: range) -> None:
    """Do cases, and say what became of each."""
    # What a case prints by mistake goes nowhere.
    out = os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    warnings.simplefilter("ignore")
    cases: Cases = import_module(f"studies.attack.{kind}").attack
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="attack-", dir=memory) as place:
        folder = Path(place) / "cases"
        folder.mkdir()
        # Command lines name files as people do: from where they are.
        os.chdir(folder)
        cases.ready()
        _tell_memory(out)
        for number in numbers:
            before = os.fstat(2).st_size
            one = cases.one(seed, number, folder)
            if os.fstat(2).st_size > before:
                said = os.pread(2, 300, before).decode(errors="replace")
                one = Outcome(one.case, "finding", f"prints to standard error: {said!a}")
            line = SHORT.get(one.verdict) or json.dumps([one.case, one.verdict, one.said])
            print(line, file=out, flush=True)
        os.chdir("/")
    _tell_memory(out)


def _tell_memory(out: TextIO) -> None:
    print(f"m{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10}", file=out, flush=True)


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]), range(*map(int, sys.argv[3:])))
