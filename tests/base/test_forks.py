"""Processes that are started in the ways that users start them, before and after an evaluation.

The scores are known by hand: the only relevant document is on rank 2, so AP is 0.5 and P@1 is 0.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import cranfield

SCRIPT = """
import asyncio, multiprocessing, os, sys
from concurrent.futures import ProcessPoolExecutor
import cranfield as cf

def work(number):
    run = {str(k): {"a": 1.0, "b": 2.0} for k in range(3)}
    evaluation = cf.evaluate(run, {str(k): {"a": 1, "b": 0} for k in range(3)}, ["AP", "P@1"])
    return [float(evaluation[name].overall()[0]) for name in ("AP", "P@1")]

def result(call):
    try:
        return call()
    except cf.ForkError as error:
        return str(error)

def pool():
    with context.Pool(2) as workers:
        return workers.map(work, range(4))

def prefork():
    child = os.fork()
    if not child:
        # Skip the shutdown of the interpreter, as a forked worker of a server does.
        os._exit(0 if result(lambda: work(0)) == [0.5, 0.0] else 3)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

async def gathered():
    with ProcessPoolExecutor(2, mp_context=context) as workers:
        loop = asyncio.get_running_loop()
        return await asyncio.gather(*(loop.run_in_executor(workers, work, k) for k in range(4)))

STARTERS = {
    "pool": pool, "asyncio": lambda: asyncio.run(gathered()), "prefork": prefork,
}

if __name__ == "__main__":
    method, way, used = sys.argv[1:]
    if used == "used":
        work(0)
    context = multiprocessing.get_context(method)
    print(result(STARTERS[way]))
"""

SCORES = str([[0.5, 0.0]] * 4)
REFUSED = "cannot evaluate in a process that was forked after Polars had started threads"
TIMEOUT = 120
"""Seconds until a process counts as hanging."""

WAYS = [
    *(("fork", "pool", used) for used in ("used", "new")),
    *(("fork", way, "used") for way in ("asyncio", "prefork")),
    ("forkserver", "asyncio", "used"),
]
"""How processes are started, from where, and whether something was evaluated before."""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.parametrize(("method", "way", "used"), WAYS)
def test_it_works_or_says_why_not(tmp_path: Path, method: str, way: str, used: str) -> None:
    (tmp_path / "script.py").write_text(SCRIPT)
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "script.py", method, way, used],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(cranfield.__file__).parents[1])},
        timeout=TIMEOUT,
        check=False,
    )
    works, refused = ("0", "3") if way == "prefork" else (SCORES, REFUSED)
    expected = refused if (method, used) == ("fork", "used") else works
    assert ended.stdout.startswith(expected), ended.stdout + ended.stderr
