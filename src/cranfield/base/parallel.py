"""Run independent tasks in threads, in processes or on other machines."""

from __future__ import annotations

import atexit
import hashlib
import os
import pickle
import signal
import sys
import threading
import warnings
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from cranfield.base.errors import (
    CranfieldError,
    ForkError,
    PolicyError,
    check_integer,
    import_optional,
    quote,
)
from cranfield.base.version import __version__

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor


Part = TypeVar("Part")
ResultType = TypeVar("ResultType")

BACKENDS = ("serial", "loky", "threading", "dask", "ray")
"""Backends that the command line offers; functions accept `serial` and all backends of joblib."""

_MAX_THREADS = 8  # default maximum number of threads of a computation, to bound memory

_STATE = threading.local()


def count_processors() -> int:
    """Return the number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_threads() -> int:
    """Return the maximum number of threads to start; 1 in a thread of :func:`open_thread_pool`."""
    return getattr(_STATE, "limit", None) or min(_MAX_THREADS, count_processors())


@contextmanager
def limit_threads(n_threads: int | None) -> Iterator[None]:
    """Limit the threads that this thread may start within the context; None changes nothing."""
    limit_before = getattr(_STATE, "limit", None)
    _STATE.limit = n_threads or limit_before
    try:
        yield
    finally:
        _STATE.limit = limit_before


@contextmanager
def open_thread_pool(n_threads: int) -> Iterator[ThreadPoolExecutor]:
    """Yield a pool of threads, in which :func:`count_threads` is 1.

    On GeneratorExit the pool does not wait for its threads: the garbage collector, which raises it,
    may run in one of them.
    """
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(n_threads, initializer=setattr, initargs=(_STATE, "limit", 1))
    waits = True
    try:
        yield pool
    except GeneratorExit:
        waits = False
        raise
    finally:
        pool.shutdown(waits, cancel_futures=True)


def map_in_threads(
    function: Callable[[Part], ResultType], parts: Iterable[Part], jobs: int | None
) -> list[ResultType]:
    """Apply a function to each part in at most `jobs` threads, by default one per processor."""
    return list(iterate_in_threads(function, parts, jobs))


def iterate_in_threads(
    function: Callable[[Part], ResultType], parts: Iterable[Part], jobs: int | None
) -> Generator[ResultType, None, None]:
    """Yield the results of :func:`map_in_threads` in order, as soon as they are available."""
    if jobs is not None:
        check_integer("jobs", jobs, 1)
    part_list = list(parts)
    n_threads = min(len(part_list), jobs or count_processors())
    if n_threads <= 1:
        yield from map(function, part_list)
        return
    with open_thread_pool(n_threads) as pool:
        yield from pool.map(function, part_list)


def iterate_results(
    function: Callable[[Part], ResultType], parts: Iterable[Part], n_threads: int
) -> Generator[ResultType, None, None]:
    """Yield the results of a function in order, with at most `n_threads` + 1 parts in memory.

    If iterating over the parts raises an error, the results of all earlier parts are yielded first.
    """
    pairs = _pair_with_errors(parts)
    # A single part needs no other thread.
    first_pairs = [] if n_threads <= 1 else list(islice(pairs, 2))
    is_single, pairs = len(first_pairs) < 2, chain(first_pairs, pairs)
    del first_pairs
    if is_single:
        for part, error in pairs:
            if error is not None:
                raise error
            yield function(part)
        return
    futures: deque[Future[ResultType]] = deque()
    with open_thread_pool(n_threads) as pool:
        for part, error in pairs:
            if error is None:
                futures.append(pool.submit(function, part))
            del part
            while futures and (error is not None or len(futures) > n_threads):
                yield futures.popleft().result()
            if error is not None:
                raise error
        while futures:
            yield futures.popleft().result()


def _pair_with_errors(parts: Iterable[Part]) -> Iterator[tuple[Any, Exception | None]]:
    """Yield (part, None) for each part, and (None, error) for an error of the iterable."""
    try:
        for part in parts:
            yield part, None
    except Exception as error:
        yield None, error


_TASK_FOLDER = Path("/proc/self/task")

_FORK_ERRORS: list[str] = []  # the reason why this process cannot use polars; empty if it can


def check_fork() -> None:
    """Raise ForkError in a process that was forked after polars had started threads."""
    if _FORK_ERRORS:
        raise ForkError(_FORK_ERRORS[0])


def _has_polars_threads() -> bool:
    """Return True if polars has started threads; without /proc, if polars is imported."""
    if "polars" not in sys.modules:
        return False
    try:
        names = ((task / "comm").read_text() for task in _TASK_FOLDER.iterdir())
        return any(name.startswith("polars") for name in names)
    except OSError:
        return True


_PARENT_USED_POLARS: list[bool] = []


def _record_parent() -> None:
    _PARENT_USED_POLARS[:] = [_has_polars_threads()]


def _mark_child() -> None:
    if _PARENT_USED_POLARS and _PARENT_USED_POLARS[0] and not _FORK_ERRORS:
        _FORK_ERRORS.append(
            "cannot evaluate in a process that was forked after Polars had started threads, as a"
            " fork does not copy threads; start processes with 'spawn' or 'forkserver', such as"
            " multiprocessing.get_context('spawn').Pool(), or fork before the first evaluation"
        )


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_record_parent, after_in_child=_mark_child)


Name = TypeVar("Name")
Task = TypeVar("Task")
NamedTasks = Iterable[tuple[Name, Task]]

MAX_JOBS = 100_000  # maximum number of jobs, beyond the size of any cluster

_KILLED_WORKER_ERRORS = {"KilledWorker", "WorkerCrashedError", "ActorDiedError"}
"""Names of the error classes of Dask and Ray for a killed worker; both packages are optional."""


def compute_tasks(
    function: Callable[[Any, Task], ResultType],
    shared: Any,
    tasks: NamedTasks[Name, Task],
    *,
    jobs: int = 1,
    backend: str | None = None,
) -> Iterator[tuple[Name, ResultType]]:
    """Call a function with shared data and each task; yield names and results as they finish.

    Each worker unpickles the shared data once; functions that it cannot import are sent by
    :mod:`cloudpickle`. `backend` is `serial` or a backend of joblib; by default, the backend that
    the caller set by `joblib.parallel_config`, else `loky` (processes) if `jobs` is above 1, else
    `serial`. The backend `dask` uses the current client, else the scheduler of
    `DASK_SCHEDULER_ADDRESS`, else a local cluster.
    """
    if backend == "serial" or (backend is None and jobs == 1 and not has_joblib_backend()):
        for name, task in tasks:
            yield name, function(shared, task)
        return
    with _set_joblib_backend(jobs, backend):
        try:
            yield from _call_by_joblib(_Call(function, shared), jobs, tasks)
        except Exception as error:
            error_name = type(error).__name__
            if not isinstance(error, BrokenExecutor) and error_name not in _KILLED_WORKER_ERRORS:
                raise
            raise CranfieldError(
                "a worker was killed, perhaps for lack of memory; use fewer jobs"
                " (a study resumes from its results folder)"
            ) from error


def has_joblib_backend() -> bool:
    """Return True if the caller set a backend of joblib other than loky, or several workers."""
    if "joblib" not in sys.modules:
        return False
    active_backend, jobs = _get_active_backend()
    # The default of joblib is loky with one worker.
    return bool(type(active_backend).__name__ != "LokyBackend" or jobs not in (None, 1))


def drop_caches(instance: Any) -> dict[str, Any]:
    """Return the state of an object to send to workers, without cached properties."""
    return {
        name: value
        for name, value in vars(instance).items()
        if not isinstance(getattr(type(instance), name, None), cached_property)
    }


def end_workers() -> None:
    """Stop the processes of joblib and release their semaphores, before an immediate exit."""
    from joblib.externals.loky import reusable_executor

    # A second Ctrl-C would interrupt the shutdown and leave semaphores behind.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    executor = reusable_executor._executor
    if executor is not None:
        executor.shutdown(wait=True, kill_workers=True)
    atexit._run_exitfuncs()


@dataclass(frozen=True, eq=False)
class _Call:
    """A function and the shared data of its calls."""

    function: Callable[[Any, Any], Any]
    shared: Any
    version: str = __version__

    def compute_named_result(self, name: Any, task: Any) -> tuple[Any, Any]:
        check_fork()
        if self.version != __version__:
            raise CranfieldError(
                f"a worker has cranfield {__version__}, but this process has {self.version};"
                " install the same version"
            )
        return name, self.function(self.shared, task)


@contextmanager
def _set_joblib_backend(jobs: int, backend: str | None) -> Iterator[None]:
    import joblib

    if backend is None and has_joblib_backend():
        yield
    elif backend == "dask":
        with _open_dask_client(jobs) as client, joblib.parallel_config("dask", client=client):
            yield
    else:
        if backend == "ray":
            import_optional("ray.util.joblib", "ray", purpose="this backend").register_ray()
        try:
            config = joblib.parallel_config(backend or "loky")
        except ValueError as error:
            raise PolicyError(
                f"unknown backend {quote(backend)}; expected serial or a backend of joblib, such as"
                f" {', '.join(BACKENDS[1:])}"
            ) from error
        with config:
            yield


def _get_active_backend() -> Any:
    from joblib.parallel import get_active_backend

    return get_active_backend()


def _call_by_joblib(
    call: _Call, jobs: int, tasks: NamedTasks[Any, Any]
) -> Iterator[tuple[Any, Any]]:
    import joblib

    active_backend = _get_active_backend()[0]
    if type(active_backend).__name__ == "DaskDistributedBackend":
        _report_killed_tasks(active_backend)
    if getattr(active_backend, "supports_sharedmem", False):
        function = call.compute_named_result
    else:
        import numpy as np
        from joblib.externals.loky.backend.reduction import dumps

        # joblib sends a large array to each worker once, or shares its memory.
        data = bytes(dumps(call))
        pickled = np.frombuffer(data, dtype=np.uint8)
        function = partial(_call_pickled, pickled, hashlib.blake2b(data).hexdigest())
    calls = (joblib.delayed(function)(name, task) for name, task in tasks)
    options: dict[str, Any] = {"n_jobs": jobs, "batch_size": 1, "pre_dispatch": "2*n_jobs"}
    try:
        parallel = joblib.Parallel(return_as="generator_unordered", **options)
    except ValueError:
        # Backends such as Ray return the results of a batch all at once.
        parallel = joblib.Parallel(**options)
        while batch := list(islice(calls, 4 * jobs)):
            yield from parallel(batch)
        return
    results = parallel(calls)
    try:
        yield from results
    finally:
        # joblib warns if the caller stops before the end, for example by Ctrl-C.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            results.close()


def _report_killed_tasks(backend: Any) -> None:
    """Make Dask report a task that it gives up; joblib would wait forever for a callback."""
    method_name = "submit" if hasattr(backend, "submit") else "apply_async"
    submit, retrieve = getattr(backend, method_name), backend.retrieve_result_callback
    if method_name in vars(backend):
        return

    def submit_and_report(function: Any, callback: Any = None) -> Any:
        def report(future: Future[Any]) -> None:
            if callback is not None and not future.cancelled() and future.exception() is not None:
                callback(future)

        future = submit(function, callback)
        future.add_done_callback(report)
        return future

    def retrieve_result(result: Any) -> Any:
        return result.result() if hasattr(result, "add_done_callback") else retrieve(result)

    setattr(backend, method_name, submit_and_report)
    backend.retrieve_result_callback = retrieve_result


_last_call: dict[str, _Call] = {}  # the last call that this worker received, by its hash


def _call_pickled(pickled: Any, digest: str, name: Any, task: Any) -> tuple[Any, Any]:
    call = _last_call.get(digest)
    if call is None:
        call = pickle.loads(pickled)
        _last_call.clear()
        _last_call[digest] = call
    return call.compute_named_result(name, task)


@contextmanager
def _open_dask_client(jobs: int) -> Iterator[Any]:
    """Yield the current client, else one of DASK_SCHEDULER_ADDRESS, else one of a local cluster."""
    distributed = import_optional("distributed", "distributed", purpose="this backend")
    try:
        current_client = distributed.get_client()
    except ValueError:
        address = os.environ.get("DASK_SCHEDULER_ADDRESS")
        # A local cluster takes any free port.
        local_options = {
            "n_workers": jobs,
            "threads_per_worker": 1,
            "dashboard_address": "127.0.0.1:0",
        }
        try:
            client = distributed.Client(address) if address else distributed.Client(**local_options)
        except (OSError, ValueError, TypeError) as error:
            if not address:
                raise
            reason = str(error).partition("\n")[0]
            raise PolicyError(f"no Dask scheduler at {quote(address)}: {reason}") from error
        with client:
            yield client
    else:
        yield current_client
