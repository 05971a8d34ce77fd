"""Repeated work, on one processor or on many machines: the same parts, the same bits."""

from __future__ import annotations

import inspect
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from os import PathLike
from typing import Any, TypedDict, TypeVar

import polars as pl

from cranfield.base.checks import check_whole
from cranfield.base.errors import PolicyError, optional_module, quoted
from cranfield.base.threads import BACKENDS
from cranfield.meta.work.folder import ResultsFolder

Task = TypeVar("Task")
Function = TypeVar("Function", bound=Callable[..., Any])
Progress = Callable[[int, int], None]

MOST_JOBS = 100_000
"""More workers than any cluster has."""

BLOCK = 10
"""Repeats in a part: few enough to be lost without regret, enough to be worth a file."""


class Work(TypedDict, total=False):
    """Where and how the parts of a study are done: what :func:`run_parts` takes, too.

    None of it changes a result.
    """

    jobs: int
    backend: str | None
    folder: str | PathLike[str] | None
    progress: Progress | None


def with_work(function: Function) -> Function:
    """Show the options of a study's work in its signature, which collects them as :class:`Work`."""
    own = inspect.signature(function)
    work = [one for name, one in _PARAMETERS.items() if name in Work.__annotations__]
    named = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
    function.__signature__ = own.replace(parameters=[*named, *work])  # type: ignore[attr-defined]
    return function


def blocks(repeats: int, each: int = BLOCK) -> list[tuple[int, int]]:
    """Divide repeats into parts, such as (0, 10), (10, 20), (20, 25)."""
    return [(start, min(start + each, repeats)) for start in range(0, repeats, each)]


def run_parts(
    function: Callable[[Any, Task], pl.DataFrame],
    shared: Any,
    tasks: Mapping[str, Task],
    *,
    about: Mapping[str, Any],
    jobs: int = 1,
    backend: str | None = None,
    folder: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Do the parts of a study, and put their tables one under the other, in order of tasks.

    Parameters
    ----------
    function
        Called with `shared` and a task; returns the table of that part. It is importable, and all
        random numbers it draws come from :func:`stream` with a key of the task.
    shared
        What all tasks need; it is sent to each worker.
    tasks
        By name, which is the name of the part's file; letters, digits and hyphens.
    about
        What the tables depend on besides their tasks, as JSON can hold it.
    jobs
        Number of workers, 1 or more. It never changes a result.
    backend
        `serial`, or the name of a backend of joblib: `loky` (processes), `threading`, `dask`,
        `ray`. By default processes where jobs is above 1, or what surrounds the call as
        `joblib.parallel_config`.
    folder
        Results folder: finished parts are written to it at once, and parts that are there already
        are read instead of computed.
    progress
        Called with the number of parts done, and of all parts.

    Raises
    ------
    PolicyError
        For no jobs, an unknown backend, or a folder that holds another study.
    MissingDependencyError
        When a backend is not installed.

    Examples
    --------
    >>> def square(shared, task):
    ...     return pl.DataFrame({"square": [task * task + shared]})
    >>> run_parts(square, 0, {"two": 2, "three": 3}, about={})["square"].to_list()
    [4, 9]
    """
    check_whole("jobs", jobs, 1, MOST_JOBS)
    kept = None if folder is None else ResultsFolder(folder, about)
    done = {} if kept is None else {n: part for n in tasks if (part := kept.read(n)) is not None}
    if progress is not None:
        progress(len(done), len(tasks))
    todo = {name: task for name, task in tasks.items() if name not in done}
    for name, part in _computed(function, shared, todo, jobs, backend):
        if kept is not None:
            kept.write(name, part)
        done[name] = part
        if progress is not None:
            progress(len(done), len(tasks))
    if kept is not None:
        kept.tidy()
    return pl.concat([done[name] for name in tasks])


_PARAMETERS = inspect.signature(run_parts).parameters


def _computed(
    function: Callable[[Any, Task], pl.DataFrame],
    shared: Any,
    tasks: Mapping[str, Task],
    jobs: int,
    backend: str | None,
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Compute parts, each given out as soon as it is there."""
    if not tasks:
        return
    if backend == "serial" or (backend is None and jobs == 1 and not _surrounded()):
        for name, task in tasks.items():
            yield name, function(shared, task)
        return
    import joblib

    calls = [joblib.delayed(_named)(function, shared, name, task) for name, task in tasks.items()]
    with _cluster(backend, jobs):
        # Small parts one at a time: a part that is done is written at once.
        options = {"n_jobs": jobs, "batch_size": 1, "pre_dispatch": "2*n_jobs"}
        try:
            parallel = joblib.Parallel(return_as="generator_unordered", **options)
        except ValueError:
            # A backend that gives results only all together gets a few at a time.
            parallel = joblib.Parallel(**options)
            for start in range(0, len(calls), 4 * jobs):
                yield from parallel(calls[start : start + 4 * jobs])
            return
        yield from parallel(calls)


def _named(function: Any, shared: Any, name: str, task: Any) -> tuple[str, pl.DataFrame]:
    return name, function(shared, task)


def _surrounded() -> bool:
    """Say whether the caller chose a backend for all of joblib."""
    if "joblib" not in sys.modules:
        return False
    from joblib.parallel import get_active_backend

    # Without a choice it is joblib's default, with one worker.
    active, jobs = get_active_backend()
    return bool(type(active).__name__ != "LokyBackend" or jobs not in (None, 1))


@contextmanager
def _cluster(backend: str | None, jobs: int) -> Iterator[None]:
    """Choose a backend of joblib; Dask and Ray get what they need to start."""
    import joblib

    if backend is None and _surrounded():
        yield
    elif backend == "dask":
        with _dask_client(jobs), joblib.parallel_config("dask"):
            yield
    else:
        if backend == "ray":
            _needed("ray.util.joblib", "ray").register_ray()
        name = backend or "loky"
        try:
            chosen = joblib.parallel_config(name)
        except ValueError as error:
            some = ", ".join(BACKENDS)
            raise PolicyError(f"there is no backend {quoted(name)}; there are {some}") from error
        with chosen:
            yield


@contextmanager
def _dask_client(jobs: int) -> Iterator[None]:
    """Use the client that there is, the scheduler that the environment names, or a local one."""
    distributed = _needed("distributed", "distributed")
    try:
        distributed.get_client()
    except ValueError:
        pass
    else:
        yield
        return
    address = os.environ.get("DASK_SCHEDULER_ADDRESS")
    if address:
        with distributed.Client(address):
            yield
        return
    local = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**local) as cluster, distributed.Client(cluster):
        yield


def _needed(name: str, package: str) -> Any:
    return optional_module(name, package, install=package, user="this backend")
