"""Studies and commands that are killed at any moment, and workers of studies.

A study that was killed, and is begun again, ends in the files of one that was not. One that loses
a worker ends in them, too. A command leaves the file that was there, or the whole new one.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import cranfield
from studies.attack import Outcome
from studies.attack.damage import files

STUDY = """
import sys, time
import polars as pl
from cranfield.meta.work.parts import run_parts

def part(shared, task):
    time.sleep(0.02)
    return pl.DataFrame({"task": [task], "value": [task / 7 + shared]})

if __name__ == "__main__":
    tasks = {f"task-{number}": number for number in range(40)}
    folder, backend = sys.argv[1:]
    found = run_parts(part, 0.5, tasks, about={"a": 1}, folder=folder, jobs=2, backend=backend)
    assert found["value"].to_list() == [task / 7 + 0.5 for task in range(40)]
"""

PATIENCE = 120
"""Seconds until it counts as a hang."""

STUDIES = (("serial", False), ("loky", False), ("loky", True), ("dask", True))
"""Where parts are done, and whether it is a worker that is killed, or the study."""

TOPICS = 200

TURNS = tuple(turn for study in STUDIES for turn in (study, None))
"""None is the output of a command."""


def attack(seed: int, cases: int) -> Iterator[Outcome]:
    """Yield studies and outputs of commands by turns."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        (place / "study.py").write_text(STUDY)
        run_study(place, place / "whole", "serial").wait(PATIENCE)
        outputs = Outputs(place)
        for number, turn in enumerate(islice(cycle(TURNS), cases)):
            if turn is None:
                yield outputs.killed(chance.random())
            else:
                backend, worker = turn
                case = f"{backend}: {'a worker' if worker else 'the study'} is killed"
                folder = place / f"killed-{number}"
                said = killed(place, folder, backend, chance, worker=worker)
                yield Outcome(case, "finding" if said else "right", said)


def run_study(place: Path, folder: Path, backend: str) -> subprocess.Popen[bytes]:
    return started([str(place / "study.py"), str(folder), backend])


def started(arguments: list[str]) -> subprocess.Popen[bytes]:
    """Start Python as a process group of its own, which is ended with it."""
    source = str(Path(cranfield.__file__).parents[1])
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", *arguments],
        env=os.environ | {"PYTHONPATH": source},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def killed(place: Path, folder: Path, backend: str, chance: random.Random, *, worker: bool) -> str:
    """Kill a study, or a worker, after some parts; return what is wrong in the end."""
    wanted = 1 + chance.randrange(30)
    process = run_study(place, folder, backend)
    try:
        while process.poll() is None and len(list(folder.glob("*.parquet"))) < wanted:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.05))
        if worker:
            victims = workers(process.pid)
            if not victims and process.poll() is None:
                return "no worker is found"
            for one in victims[:1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(one, signal.SIGKILL)
            if process.wait(PATIENCE):
                return f"the study ends with status {process.returncode}"
        else:
            process.kill()
            process.wait()
            again = run_study(place, folder, "serial")
            if again.wait(PATIENCE):
                return f"the study that goes on ends with status {again.returncode}"
    except subprocess.TimeoutExpired:
        return f"hangs: not done after {PATIENCE} seconds"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return "" if files(folder) == files(place / "whole") else "other files"


def workers(parent: int) -> list[int]:
    """Return processes below one that do parts: no resource trackers, and no processes of those."""
    below = []
    todo = [parent]
    while todo:
        # Children are those of a thread.
        of_threads = Path(f"/proc/{todo.pop()}/task").glob("*/children")
        with contextlib.suppress(OSError):
            found = [int(child) for one in of_threads for child in one.read_text().split()]
            todo += found
            below += found
    return [one for one in below if does_parts(one)]


def does_parts(process: int) -> bool:
    try:
        said = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
    return b"resource_tracker" not in said and (b"popen_loky" in said or b"spawn_main" in said)


class Outputs:
    """A command that writes a file where an older one is."""

    def __init__(self, place: Path) -> None:
        rows = [
            f"{topic} Q0 d{doc} 1 {100 - doc} x" for topic in range(TOPICS) for doc in range(50)
        ]
        (place / "x.run").write_text("\n".join(rows) + "\n")
        judged = [f"{topic} 0 d{doc} {doc % 2}" for topic in range(TOPICS) for doc in range(50)]
        (place / "qrels").write_text("\n".join(judged) + "\n")
        self.folder = place / "outputs"
        self.folder.mkdir()
        self.file = self.folder / "scores.csv"
        self.command = [
            *("-m", "cranfield", "evaluate", str(place / "qrels"), str(place / "x.run")),
            *("-m", "AP", "--by-topic", "--format", "csv", "--output", str(self.file)),
        ]
        began = time.perf_counter()
        if started(self.command).wait(PATIENCE):
            raise SystemExit("a command that is not killed fails")
        self.seconds = time.perf_counter() - began
        self.whole = self.file.read_bytes()
        if self.whole.count(b"0.5") < TOPICS:  # each second document is relevant
            raise SystemExit("the command that is not killed finds something else")

    def killed(self, moment: float) -> Outcome:
        """Kill the command at a moment, a share of its time."""
        old = b"what was there"
        self.file.write_bytes(old)
        process = started(self.command)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(self.seconds * (0.3 + 0.8 * moment))
        process.kill()
        process.wait()
        fine = self.file.read_bytes() in (old, self.whole)
        return Outcome("an output", "right" if fine else "finding", "" if fine else "half a file")
