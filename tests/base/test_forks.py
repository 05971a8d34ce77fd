"""Processes that are started while threads are at work, in all the ways that users start them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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

WAYS = {"pool": pool, "thread": from_thread, "asyncio": lambda: asyncio.run(asked())}

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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(
    ("method", "way", "used"),
    [
        *((method, "pool", used) for method in ("spawn", "forkserver") for used in ("used", "new")),
        *(("fork", way, used) for way in ("pool", "thread", "asyncio") for used in ("used", "new")),
        *(("fork", "prefork", used) for used in ("used", "new")),
        ("spawn", "asyncio", "used"),
    ],
)
def test_it_works_or_says_why_not(tmp_path: Path, method: str, way: str, used: str) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "script.py", method, way, used],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    refused = method == "fork" and used == "used"
    right, wrong = ("0", "3") if way == "prefork" else (RIGHT, REFUSED)
    assert ended.stdout.startswith(wrong if refused else right), ended.stderr[-2000:]
