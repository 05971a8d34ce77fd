"""Cases that follow one another from a seed, in another process, which may end by any of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from studies.attack import Outcome

ROOT = Path(__file__).parents[3]


def in_worker(module: str, seed: int, cases: int) -> Iterator[Outcome]:
    """Yield what became of so many cases of a module whose `__main__` calls `work`.

    What the process prints is a finding of the case that it was at: a library has nothing to print.
    """
    done = 0
    while done < cases:
        command = [sys.executable, "-W", "ignore", "-m", module, str(seed), str(done), str(cases)]
        with (
            tempfile.TemporaryFile() as printed,
            subprocess.Popen(
                command,
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=printed,
                text=True,
            ) as worker,
        ):
            assert worker.stdout is not None
            case = ""
            for line in worker.stdout:
                kind, *told = json.loads(line)
                if kind == "begun":
                    [case] = told
                    continue
                done += 1
                yield Outcome(case, kind, *told)
            if worker.wait():
                done += 1
                printed.seek(0)
                said = printed.read()[-200:].decode(errors="replace")
                if not case:
                    raise RuntimeError(f"no case is begun: {said}")
                yield Outcome(
                    case, "finding", f"the process ended with {worker.returncode}: {said}"
                )


def work(cases: Callable[[int], Iterator[tuple[str, Callable[[], Outcome]]]]) -> None:
    """Do the cases that the arguments ask for, of all that a seed makes one after the other."""
    seed, first, last = map(int, sys.argv[1:])
    out = os.fdopen(os.dup(1), "w")
    for number, (name, case) in enumerate(cases(seed)):
        if number >= last:
            break
        if number < first:
            continue
        print(json.dumps(["begun", name]), file=out, flush=True)
        before = os.fstat(2).st_size
        found = case()
        if os.fstat(2).st_size > before:
            said = os.pread(2, 200, before).decode(errors="replace")
            found = Outcome(name, "finding", f"prints to standard error: {said!a}")
        print(json.dumps([found.verdict, found.said]), file=out, flush=True)
