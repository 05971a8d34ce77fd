"""Processes that are started in all the ways that users start them, also while threads work.

What two documents score is known by hand: 0.5 by average precision, 0 by precision at 1.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import cranfield
from studies.attack import Outcome

SCRIPT = """
import asyncio, multiprocessing, os, sys, threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
import cranfield as cf

def work(number):
    run = {str(k): {"a": 1.0, "b": 2.0} for k in range(3)}
    found = cf.evaluate(run, {str(k): {"a": 1, "b": 0} for k in range(3)}, ["AP", "P@1"])
    return [float(found[name].overall()[0]) for name in ("AP", "P@1")]

def tried(ask):
    try:
        return ask()
    except cf.ForkError as error:
        return str(error)

def pool():
    with context.Pool(2) as workers:
        return workers.map(work, range(4))

def prefork():
    child = os.fork()
    if not child:
        # Nothing that a server does at its end is done here.
        os._exit(0 if tried(lambda: work(0)) == [0.5, 0.0] else 3)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def from_thread():
    with ThreadPoolExecutor(2) as threads:
        return threads.submit(pool).result()

async def asked():
    with ProcessPoolExecutor(2, mp_context=context) as workers:
        loop = asyncio.get_running_loop()
        return await asyncio.gather(*(loop.run_in_executor(workers, work, k) for k in range(4)))

def while_threads_work():
    done = threading.Event()
    def busy():
        while not done.is_set():
            tried(lambda: work(0))
    threads = [threading.Thread(target=busy, daemon=True) for _ in range(2)]
    for one in threads:
        one.start()
    try:
        return pool()
    finally:
        done.set()

async def in_a_loop():
    # As a kernel of notebooks does: what is asked for blocks a loop that is running.
    return pool()

def by_joblib():
    import joblib
    return joblib.Parallel(2)(joblib.delayed(work)(k) for k in range(4))

WAYS = {
    "pool": pool, "thread": from_thread, "asyncio": lambda: asyncio.run(asked()),
    "joblib": by_joblib, "busy": while_threads_work, "loop": lambda: asyncio.run(in_a_loop()),
}

if __name__ == "__main__":
    method, way, used = sys.argv[1:]
    if used == "used":
        work(0)
    if way == "prefork":
        print(prefork())
    else:
        context = multiprocessing.get_context(method)
        print(tried(WAYS[way]))
"""

RIGHT = str([[0.5, 0.0]] * 4)
REFUSED = (
    "this process was forked from one that had used Polars, whose threads a fork does not copy"
)

PATIENCE = 120
"""Seconds until it counts as a hang."""

WAYS = [
    *((method, "pool", used) for method in ("spawn", "forkserver") for used in ("used", "new")),
    *(("fork", way, used) for way in ("pool", "thread", "asyncio") for used in ("used", "new")),
    *(("fork", "prefork", used) for used in ("used", "new")),
    ("spawn", "asyncio", "used"),
]
"""How processes are started, from where, and whether something was evaluated before."""

MORE = [
    *((method, way, "used") for method in ("spawn", "forkserver") for way in ("thread", "loop")),
    *(("fork", "loop", used) for used in ("used", "new")),
    *((method, "busy", "used") for method in ("fork", "spawn", "forkserver")),
    ("forkserver", "asyncio", "used"),
    ("loky", "joblib", "used"),
]


def attack(seed: int, cases: int) -> Iterator[Outcome]:
    """Yield the ways in turn, again and again."""
    ways = [*WAYS, *MORE] if hasattr(os, "fork") else [one for one in MORE if one[0] == "spawn"]
    with tempfile.TemporaryDirectory() as place:
        for way in islice(cycle(ways), cases):
            said = fault(Path(place), *way)
            verdict = "finding" if said else "refused" if refuses(*way) else "right"
            yield Outcome(" ".join(way), verdict, said)  # type: ignore[arg-type]


def refuses(method: str, _: str, used: str) -> bool:
    """Say whether threads of Polars are lost: only the error that says so is right."""
    return method == "fork" and used == "used"


def fault(folder: Path, method: str, way: str, used: str) -> str:
    """Start processes in a way; return what is wrong with what comes back, if anything is."""
    (folder / "script.py").write_text(SCRIPT)
    # The method is not asked of joblib, which has its own.
    asked = "fork" if method == "loky" else method
    try:
        ended = subprocess.run(
            [sys.executable, "-W", "ignore", "script.py", asked, way, used],
            capture_output=True,
            text=True,
            cwd=folder,
            env=os.environ | {"PYTHONPATH": str(Path(cranfield.__file__).parents[1])},
            timeout=PATIENCE,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"hangs: not done after {PATIENCE} seconds"
    right, wrong = ("0", "3") if way == "prefork" else (RIGHT, REFUSED)
    if ended.stdout.startswith(wrong if refuses(method, way, used) else right):
        return ""
    return (ended.stdout + ended.stderr)[-2000:]
