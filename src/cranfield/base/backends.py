"""Calls that do not depend on each other, on one processor or on many machines: the same results.

Workers that are killed cost what they had in hand: that is done again, by others.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import signal
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from cranfield.base.border.forks import check_fork
from cranfield.base.errors import CranfieldError, PolicyError, optional_module, quoted
from cranfield.base.threads import BACKENDS
from cranfield.base.version import __version__

Name = TypeVar("Name")
Task = TypeVar("Task")
Result = TypeVar("Result")
Named = Iterable[tuple[Name, Task]]
Workers = Callable[[Named[Any, Any]], Iterator[tuple[Any, Any]]]

MOST_JOBS = 100_000
"""More workers than any cluster has."""

_BREAKS = 10
"""Times that all workers may be lost before it is given up."""


class KilledWorkersError(CranfieldError):
    """Workers die of one task each time that it is tried; `task` is its name."""

    def __init__(self, task: Any) -> None:
        self.task = task
        super().__init__(f"{task}: workers that do it are killed each time; is memory too small?")


def computed(
    function: Callable[[Any, Task], Result],
    shared: Any,
    tasks: Named[Name, Task],
    *,
    jobs: int = 1,
    backend: str | None = None,
    scheduler: str | None = None,
) -> Iterator[tuple[Name, Result]]:
    """Call a function with what is shared and each task; results come as soon as they are there.

    Parameters
    ----------
    function
        What workers can import, or :mod:`cloudpickle` can send.
    shared
        What all tasks need: sent to each worker once.
    tasks
        Pairs of a name and a task, taken as workers become free.
    jobs
        Number of workers; a cluster has its own.
    backend
        `serial`, or the name of a backend of joblib; None for processes where jobs is above 1, or
        what surrounds the call as `joblib.parallel_config`.
    scheduler
        With `dask`: the address of a scheduler, or its file; by default the client that there is,
        the scheduler that `DASK_SCHEDULER_ADDRESS` names, or a cluster of this machine.

    Raises
    ------
    PolicyError
        For an unknown backend, and a scheduler of another backend than Dask.
    MissingDependencyError
        When a backend is not installed.
    KilledWorkersError
        When a task kills its workers, also on its own.
    """
    if scheduler is not None and backend != "dask":
        raise PolicyError("a scheduler goes with the backend 'dask'")
    if backend == "serial" or (backend is None and jobs == 1 and not surrounded()):
        for name, task in tasks:
            yield name, function(shared, task)
        return
    rest = iter(tasks)
    for first in rest:
        with _workers(_Call(function, shared), jobs, backend, scheduler) as workers:
            yield from _insisting(workers, chain([first], rest))


def surrounded() -> bool:
    """Say whether the caller chose a backend for all of joblib."""
    if "joblib" not in sys.modules:
        return False
    active, jobs = _active()
    # Without a choice it is joblib's default, with one worker.
    return bool(type(active).__name__ != "LokyBackend" or jobs not in (None, 1))


def fields_alone(thing: Any) -> dict[str, Any]:
    """Return the state of an object without what it can make again; to be sent to workers."""
    return {
        name: value
        for name, value in vars(thing).items()
        if not isinstance(getattr(type(thing), name, None), cached_property)
    }


def _insisting(workers: Workers, tasks: Named[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Do tasks, and those again whose workers were killed."""
    held: dict[Any, Any] = {}

    def taken(some: Named[Any, Any]) -> Iterator[tuple[Any, Any]]:
        for name, task in some:
            held[name] = task
            yield name, task

    def done(some: Named[Any, Any]) -> Iterator[tuple[Any, Any]]:
        for name, result in workers(taken(some)):
            del held[name]
            yield name, result

    yield from done(tasks)
    # Most of them were only beside the one that died.
    yield from done(list(held.items()))
    for name, task in list(held.items()):
        yield from done([(name, task)])
    for name in held:
        raise KilledWorkersError(name)


@dataclass(frozen=True, eq=False)
class _Call:
    """A function, with what all its calls share."""

    function: Callable[[Any, Any], Any]
    shared: Any
    version: str = __version__

    def __call__(self, task: Any) -> Any:
        check_fork()
        if self.version != __version__:
            raise CranfieldError(
                f"a worker has cranfield {__version__}, and not {self.version} as this process"
            )
        return self.function(self.shared, task)

    def named(self, name: Any, task: Any) -> tuple[Any, Any]:
        return name, self(task)


@contextmanager
def _workers(
    call: _Call, jobs: int, backend: str | None, scheduler: str | None
) -> Iterator[Workers]:
    """Start workers, or find those that there are."""
    import joblib

    if backend is None and surrounded():
        client = getattr(_active()[0], "client", None)
        yield partial(_by_joblib, call, jobs) if client is None else partial(_by_dask, call, client)
    elif backend == "dask":
        with _dask_client(jobs, scheduler) as client:
            yield partial(_by_dask, call, client)
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
            yield partial(_by_joblib, call, jobs)


def end_workers() -> None:
    """Stop the processes that joblib keeps, and give back what they share.

    A process that exits at once, as the command does, would leave their semaphores behind.
    """
    from joblib.externals.loky import reusable_executor

    # Another Ctrl-C meanwhile would leave them, too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    executor = reusable_executor._executor
    if executor is not None:
        executor.shutdown(wait=True, kill_workers=True)
    atexit._run_exitfuncs()


def _active() -> Any:
    from joblib.parallel import get_active_backend

    return get_active_backend()


def _by_joblib(call: _Call, jobs: int, tasks: Named[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Do tasks by the backend that joblib has; those of workers that were killed are left out."""
    import joblib

    active, _ = _active()
    if getattr(active, "supports_sharedmem", False):
        function = call.named
    else:
        import numpy as np
        from joblib.externals.loky.backend.reduction import dumps

        # As an array it goes to processes of this machine once, in memory that they share.
        data = bytes(dumps(call))
        packed = np.frombuffer(data, dtype=np.uint8)
        function = partial(_unpacked, packed, hashlib.blake2b(data).hexdigest())
    rest = iter(tasks)
    calls = (joblib.delayed(function)(name, task) for name, task in rest)
    # Small tasks one at a time: what is done is there at once.
    options = {"n_jobs": jobs, "batch_size": 1, "pre_dispatch": "2*n_jobs"}
    for _ in range(_BREAKS):
        try:
            try:
                parallel = joblib.Parallel(return_as="generator_unordered", **options)
            except ValueError:
                # A backend that gives results only all together gets a few at a time.
                parallel = joblib.Parallel(**options)
                while some := list(islice(calls, 4 * jobs)):
                    yield from parallel(some)
                return
            yield from _given_up_quietly(parallel(calls))
            return
        except Exception as error:
            # Names of what joblib's backends raise; their modules are not all there.
            if not isinstance(error, BrokenExecutor) and type(error).__name__ not in _KILLED:
                raise
            calls = (joblib.delayed(function)(name, task) for name, task in rest)
    raise CranfieldError(f"all workers were killed, {_BREAKS} times")


def _given_up_quietly(results: Any) -> Iterator[tuple[Any, Any]]:
    """Go through results; when no more are wanted, joblib does not say so."""
    try:
        for result in results:  # noqa: UP028 (not closed by this generator, but below)
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()


_KILLED = {"KilledWorker", "WorkerCrashedError"}

_opened: dict[str, _Call] = {}
"""What this worker was sent last, by its hash."""


def _unpacked(packed: Any, digest: str, name: Any, task: Any) -> tuple[Any, Any]:
    call = _opened.get(digest)
    if call is None:
        call = pickle.loads(packed)
        _opened.clear()
        _opened[digest] = call
    return call.named(name, task)


def _by_dask(call: _Call, client: Any, tasks: Named[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Do tasks on a Dask cluster; those of workers that were killed each time are left out."""
    distributed = _needed("distributed", "distributed")
    # A task of its own and no data: Dask can make it again where the worker that held it is gone.
    shared = client.submit(_itself, call, pure=False)
    names: dict[str, Any] = {}
    ready = distributed.as_completed()
    rest = iter(tasks)

    def go_on() -> None:
        room = 2 * max(1, sum(client.ncores().values())) - len(names)
        for name, task in islice(rest, max(0, room)):
            future = client.submit(_called, shared, task, pure=False)
            names[future.key] = name
            ready.add(future)

    go_on()
    for future in ready:
        name = names.pop(future.key)
        try:
            result = future.result()
        except distributed.KilledWorker:
            pass
        except (distributed.CancelledError, distributed.comm.CommClosedError) as error:
            raise CranfieldError("the scheduler of Dask is lost") from error
        else:
            yield name, result
        go_on()


def _itself(call: _Call) -> _Call:
    return call


def _called(call: _Call, task: Any) -> Any:
    return call(task)


@contextmanager
def _dask_client(jobs: int, scheduler: str | None) -> Iterator[Any]:
    """Use the scheduler that is named, the client that there is, or a local cluster."""
    distributed = _needed("distributed", "distributed")
    if scheduler is None:
        try:
            yielded = distributed.get_client()
        except ValueError:
            scheduler = os.environ.get("DASK_SCHEDULER_ADDRESS")
        else:
            yield yielded
            return
    if scheduler:
        with _connected(distributed, scheduler) as client:
            yield client
        return
    import dask

    # Any free port: that of another cluster on this machine would be warned of.
    local = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    # What is lost is tried again here, too.
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 1}),
        distributed.LocalCluster(**local) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def _connected(distributed: Any, scheduler: str) -> Any:
    where: Mapping[str, str] = (
        {"scheduler_file": scheduler} if Path(scheduler).is_file() else {"address": scheduler}
    )
    try:
        return distributed.Client(**where)
    except (OSError, ValueError, TypeError) as error:
        reason = str(error).partition("\n")[0]
        raise PolicyError(f"no scheduler of Dask at {quoted(scheduler)}: {reason}") from error


def _needed(name: str, package: str) -> Any:
    return optional_module(name, package, install=package, user="this backend")
