"""Work on parts in threads; results come in the order of the parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable
from typing import TypeVar

Part = TypeVar("Part")
Result = TypeVar("Result")

BACKENDS = ("serial", "loky", "threading", "dask", "ray")
"""Backends of joblib that the command line offers; the library takes any that joblib knows."""


def processors() -> int:
    """Return how many processors this process may use; not every system can tell."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_threads(
    function: Callable[[Part], Result], parts: Iterable[Part], jobs: int | None
) -> list[Result]:
    """Apply a function to parts, in so many threads, or one for each processor."""
    return list(one_by_one(function, parts, jobs))


def one_by_one(
    function: Callable[[Part], Result], parts: Iterable[Part], jobs: int | None
) -> Generator[Result, None, None]:
    """Do the same, with each result as soon as it and those before it are there."""
    from concurrent.futures import ThreadPoolExecutor

    work = list(parts)
    threads = min(len(work), jobs or processors())
    if threads <= 1:
        yield from map(function, work)
        return
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(function, work)
