"""Repeated work, on one processor or on many machines: the same parts, the same bits."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, TypedDict, TypeVar

import polars as pl

from cranfield.base.backends import MOST_JOBS, computed
from cranfield.base.checks import check_whole
from cranfield.meta.work.folder import ResultsFolder

Task = TypeVar("Task")
Function = TypeVar("Function", bound=Callable[..., Any])
Progress = Callable[[int, int], None]

BLOCK = 10
"""Repeats in a part: few enough to be lost without regret, enough to be worth a file."""


class Work(TypedDict, total=False):
    """Where and how the parts of a study are done: what :func:`run_parts` takes, too.

    None of it changes a result.
    """

    jobs: int
    backend: str | None
    scheduler: str | None
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
    scheduler: str | None = None,
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
        `joblib.parallel_config`. Parts of a worker that is killed are done again by others.
    scheduler
        With `dask`: the address of a scheduler, or its file.
    folder
        Results folder: finished parts are written to it at once, and parts that are there already
        are read instead of computed. A part that is not what was written there is computed again,
        with a warning, and a line in `damaged.txt`.
    progress
        Called with the number of parts done, and of all parts.

    Raises
    ------
    PolicyError
        For no jobs, an unknown backend, or a folder that holds another study.
    MissingDependencyError
        When a backend is not installed.
    CranfieldError
        When a part kills its workers each time.

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
    if kept is not None:
        kept.say_damage()
    if progress is not None:
        progress(len(done), len(tasks))
    todo = ((name, task) for name, task in tasks.items() if name not in done)
    for name, part in computed(
        function, shared, todo, jobs=jobs, backend=backend, scheduler=scheduler
    ):
        if kept is not None:
            kept.write(name, part)
        done[name] = part
        if progress is not None:
            progress(len(done), len(tasks))
    if kept is not None:
        kept.tidy()
    return pl.concat([done[name] for name in tasks])


_PARAMETERS = inspect.signature(run_parts).parameters
