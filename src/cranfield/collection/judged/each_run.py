"""Many runs, each read and judged by itself: in threads, in processes, or on many machines.

Whoever does it, results, errors and warnings come in the order of the runs, as if one thread did.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from threading import Condition, Lock
from typing import Any, Generic, TypeVar, cast

from cranfield.base.backends import MOST_JOBS, KilledWorkersError, computed, surrounded
from cranfield.base.checks import check_whole
from cranfield.base.errors import InputError, kept_warnings, warn
from cranfield.base.threads import at_most, own_threads, pool_of, processors
from cranfield.collection.files.many_runs import BadRunError, Runs, distinct_names, read_runs
from cranfield.collection.judged.assembling import JudgedRun
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run

_IN_FLIGHT = 1 << 28
"""Bytes of files that are read at a time, at the most, so that memory stays bounded."""

_MOST = 8
"""Runs that are read at a time, at the most."""

Found = TypeVar("Found")

Progress = Callable[[int, int], None]
"""Called with (runs done, runs in all)."""

OfRun = Callable[[Run, str | None], Found]
"""Called with a run and the name of its file; importable where workers are other processes."""


def judge_each(
    runs: Any,
    judgments: Iterable[Qrels],
    of_run: OfRun[tuple[JudgedRun, Found]],
    progress: Progress | None,
    **where: Any,
) -> tuple[list[str], list[tuple[JudgedRun, Found]]]:
    """Read and judge each run, a few at a time; with the names of the systems, in order."""
    many = read_runs(runs)
    if not len(many):
        raise InputError("no runs were given")
    if len(many) > 1:
        # What all threads share is made before they start.
        for one in judgments:
            one.packed if many.path(0) else one.index, one.place
    found = list(of_each(many, of_run, progress, **where))
    parts = [part for part, _ in found]
    names = [part.name for part in parts]
    return distinct_names(names, [part.stem for part in parts], stacklevel=5), found


def of_each(
    runs: Runs,
    of_run: OfRun[Found],
    progress: Progress | None,
    *,
    jobs: int | None = None,
    backend: str | None = None,
    scheduler: str | None = None,
) -> Iterator[Found]:
    """Call a function with each run, by default in threads here; results come in order."""
    if jobs is not None:
        check_whole("jobs", jobs, 1, MOST_JOBS)
    here = backend in {"serial", "threading"} if backend or scheduler else not surrounded()
    if here and scheduler is None:
        outcomes = _in_threads(runs, of_run, 1 if backend == "serial" else jobs)
    else:
        where = {"jobs": jobs or processors(), "backend": backend, "scheduler": scheduler}
        outcomes = _by_workers(runs, of_run, **where)
    with closing(outcomes), runs.skipping() as skip:
        for done, outcome in enumerate(outcomes, 1):
            if isinstance(outcome.error, BadRunError):
                skip(done - 1, outcome.error)
            else:
                yield outcome.taken()
            if progress:
                progress(done, len(runs))


@dataclass(frozen=True)
class _Outcome(Generic[Found]):
    """What came of a run, or what went wrong; and what was warned of meanwhile."""

    found: Found | None
    error: Exception | None
    told: tuple[str, ...]

    @classmethod
    def of(cls, function: Callable[[], Found]) -> _Outcome[Found]:
        with kept_warnings() as told:
            try:
                return cls(function(), None, tuple(told))
            except Exception as error:
                return cls(None, error, tuple(told))

    def taken(self) -> Found:
        for text in self.told:
            warn(text, stacklevel=2)
        if self.error is not None:
            raise self.error
        return cast("Found", self.found)


def _in_threads(
    runs: Runs, of_run: OfRun[Found], jobs: int | None
) -> Generator[_Outcome[Found], None, None]:
    total = len(runs)
    room = _Room(_IN_FLIGHT)
    # While one is computed with, another is read. More threads than processors would only hand the
    # interpreter to each other more often, and such as would wait for room keep memory.
    workers = jobs or min(_MOST, max(2, processors()), _fitting(runs, _IN_FLIGHT))

    def one(i: int) -> _Outcome[Found]:
        return _Outcome.of(lambda: of_run(runs.for_now(i), runs.stem(i)))

    def in_turn(i: int) -> _Outcome[Found]:
        if jobs is not None:
            return one(i)
        # A run that fills the room is read by all threads, and one of many by its own.
        with room.taken(runs.size(i)) as share, at_most(math.ceil(share * own)):
            return one(i)

    if workers == 1 or total == 1:
        for i in range(total):
            with at_most(jobs):
                outcome = one(i)
            yield outcome
        return
    own = own_threads()
    with pool_of(workers) as pool:
        yield from pool.map(in_turn, range(total))


def _fitting(runs: Runs, room: int) -> int:
    """Count how many runs fit into some room together; at least one is read."""
    sizes = sorted(runs.size(i) for i in range(len(runs)))
    return max(1, sum(whole <= room for whole in accumulate(sizes)))


class _Room:
    """Room for so many bytes: who needs more than is free waits, and all who come later do."""

    def __init__(self, size: int) -> None:
        self.size = self._free = size
        self._turn, self._freed = Lock(), Condition()

    @contextmanager
    def taken(self, needed: int) -> Iterator[float]:
        """Take room for a while; with the share of all that it is."""
        needed = max(1, min(needed, self.size))
        with self._turn, self._freed:
            self._freed.wait_for(lambda: self._free >= needed)
            self._free -= needed
        try:
            yield needed / self.size
        finally:
            with self._freed:
                self._free += needed
                self._freed.notify_all()


def _by_workers(
    runs: Runs, of_run: OfRun[Found], **where: Any
) -> Generator[_Outcome[Found], None, None]:
    # Runs in memory are read here, since not all that can be read can be sent.
    tasks = ((i, _Outcome.of(partial(runs.sent, i))) for i in range(len(runs)))
    arrived: dict[int, _Outcome[Found]] = {}
    first = 0
    try:
        for i, outcome in computed(_judged, of_run, tasks, **where):
            arrived[i] = outcome
            while first in arrived:
                yield arrived.pop(first)
                first += 1
    except KilledWorkersError as error:
        path = runs.path(error.task) or f"run {error.task + 1}"
        reason = "workers that read it are killed each time; is memory too small?"
        raise InputError(reason, source=path) from error


def _judged(of_run: OfRun[Found], sent: _Outcome[Runs]) -> _Outcome[Found]:
    runs = sent.found
    if runs is None:
        return _Outcome(None, sent.error, sent.told)
    # Who wants more on a machine has more workers on it.
    with at_most(1):
        done = _Outcome.of(lambda: of_run(runs.for_now(0), runs.stem(0)))
    return replace(done, told=sent.told + done.told)
