"""Work on parts in threads; results come in the order of the parts."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

Part = TypeVar("Part")
Result = TypeVar("Result")

BACKENDS = ("serial", "loky", "threading", "dask", "ray")
"""Backends of joblib that the command line offers; the library takes any that joblib knows."""

_MOST = 8
"""Threads that work on one thing: more of them would only hold more of it in memory."""

_THIS = threading.local()


def processors() -> int:
    """Return how many processors this process may use; not every system can tell."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def own_threads() -> int:
    """Return how many threads may work on what this thread does.

    One where this thread is one of several that share a work already, so that pools do not
    multiply.
    """
    return getattr(_THIS, "own", None) or min(_MOST, processors())


@contextmanager
def at_most(threads: int | None) -> Iterator[None]:
    """Let so many threads work on what this one does meanwhile; None changes nothing."""
    before = getattr(_THIS, "own", None)
    _THIS.own = threads or before
    try:
        yield
    finally:
        _THIS.own = before


@contextmanager
def pool_of(threads: int) -> Iterator[ThreadPoolExecutor]:
    """Make a pool of threads that share a work: each of them works alone on its parts.

    A generator may hold it that is closed before its end. Then nothing waits for the threads: what
    closes it may be the garbage collector, in any thread at any moment, even in one of these.
    """
    from concurrent.futures import ThreadPoolExecutor

    pool, wait = ThreadPoolExecutor(threads, initializer=setattr, initargs=(_THIS, "own", 1)), True
    try:
        yield pool
    except GeneratorExit:
        wait = False
        raise
    finally:
        pool.shutdown(wait, cancel_futures=True)


def in_threads(
    function: Callable[[Part], Result], parts: Iterable[Part], jobs: int | None
) -> list[Result]:
    """Apply a function to parts, in so many threads, or one for each processor."""
    return list(one_by_one(function, parts, jobs))


def one_by_one(
    function: Callable[[Part], Result], parts: Iterable[Part], jobs: int | None
) -> Generator[Result, None, None]:
    """Do the same, with each result as soon as it and those before it are there."""

    work = list(parts)
    threads = min(len(work), jobs or processors())
    if threads <= 1:
        yield from map(function, work)
        return
    with pool_of(threads) as pool:
        yield from pool.map(function, work)


def as_they_come(
    function: Callable[[Part], Result], parts: Iterable[Part], threads: int
) -> Generator[Result, None, None]:
    """Do the same with parts that are only asked for while others are worked on.

    At most one part more than there are threads is held at a time. What goes wrong while a part is
    made comes after the results of all parts before it.
    """
    made = _made(parts)
    # One part alone needs no other thread.
    ahead = [] if threads <= 1 else list(islice(made, 2))
    alone, made = len(ahead) < 2, chain(ahead, made)
    del ahead
    if alone:
        for part, error in made:
            if error is not None:
                raise error
            yield function(part)
        return
    waiting: deque[Future[Result]] = deque()
    with pool_of(threads) as pool:
        for part, error in made:
            if error is None:
                waiting.append(pool.submit(function, part))
            del part
            while waiting and (error is not None or len(waiting) > threads):
                yield waiting.popleft().result()
            if error is not None:
                raise error
        while waiting:
            yield waiting.popleft().result()


def _made(parts: Iterable[Part]) -> Iterator[tuple[Any, Exception | None]]:
    """Go through parts; an error comes in place of the part that could not be made."""
    try:
        for part in parts:
            yield part, None
    except Exception as error:
        yield None, error
