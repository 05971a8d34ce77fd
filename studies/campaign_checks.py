"""Runs with faults planted at known lines: each is found there, and no other is.

    python -m studies.campaign_checks 100000 1

Files are made at random from a seed: valid, or with one to five faults of all kinds, in both
formats, packed or not, with blanks, comments, line ends and encodings of all sorts. For each file
the check has to find exactly what was planted, and what a check of plain Python finds that goes
line by line; `read_run` has to read exactly those files that have no fault that stops a reader; and
of files without an error, what it read has to keep the rules. A failure is printed with its seed.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

# Small files gain nothing by threads, and this is to say what one core does.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import cranfield as cf
from cranfield.base.errors import InputError
from cranfield.campaign.checks.checking import check_run
from cranfield.collection.run import Run
from cranfield.sources.chunks import Source
from studies.planted_runs import WHOLE, Planted, planted
from tests.campaign.checks.line_by_line import Found, faults_of

MEMORY = Path("/dev/shm")
"""Where files are made in no time, on Linux."""

SHOWN = 10
"""Failures that are printed."""


def main() -> int:
    count, seed = int(sys.argv[1]), sys.argv[2]
    started = time.perf_counter()
    kinds: Counter[str] = Counter()
    wrong = accepted = faults = 0
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        for number in range(count):
            made = planted(f"{seed}:{number}")
            problem, verdict = tried(made, Path(folder))
            accepted += verdict
            faults += len(made.planted)
            kinds.update(made.kinds or ["none"])
            if problem:
                wrong += 1
                if wrong <= SHOWN:
                    print(f"{seed}:{number} {'+'.join(made.kinds)}: {problem}")
    seconds = time.perf_counter() - started
    print(f"{count:,} files, {accepted:,} accepted, {faults:,} faults planted, {wrong:,} wrong")
    print(", ".join(f"{kind} {number:,}" for kind, number in sorted(kinds.items())))
    print(f"{seconds:.0f} s", file=sys.stderr)
    return int(wrong > 0)


def tried(made: Planted, folder: Path) -> tuple[str, bool]:
    """Check one file; return what is wrong with the check, if anything, and its verdict."""
    task = made.task(folder)
    file = folder / f"a.run{made.suffix}"
    file.write_bytes(made.data)
    asked = made.asked
    report = check_run(file, task, tag=asked.declared, team=asked.team, all_faults=True)
    found = [Found(one.code, one.line, one.count) for one in report.faults]
    if difference := _difference(found, made.planted):
        return difference, report.accepted
    if not set(made.kinds) & set(WHOLE) or made.kinds == ("empty",):
        plain = _unpacked(file)
        if difference := _difference(found, faults_of(plain, asked)):
            return f"line by line: {difference}", report.accepted
    try:
        run = cf.read_run(file, format=task.format)
    except InputError as error:
        if made.readable:
            return f"no reader reads it: {error}", report.accepted
        return ("accepted, but cannot be read" if report.accepted else ""), report.accepted
    if not made.readable:
        return "a reader reads it", report.accepted
    return (_broken(run, made) if report.accepted else ""), report.accepted


def _unpacked(file: Path) -> bytes:
    return Source(str(file)).read()


def _difference(found: Iterable[Found], wanted: Iterable[Found]) -> str:
    more, fewer = Counter(found), Counter(wanted)
    if more == fewer:
        return ""
    return f"invented {list((more - fewer).elements())}, missed {list((fewer - more).elements())}"


def _broken(run: Run, made: Planted) -> str:
    """Tell which rule a run that was accepted breaks, by what its reader made of it."""
    asked = made.asked
    rows = run.to_polars()
    pairs = set(zip(rows["topic"], rows["doc"], strict=True))
    most = rows["topic"].value_counts()["count"].max()
    broken = {
        "topics": set(run.topics) != set(asked.topics or ()),
        "documents": not set(rows["doc"]) <= set(asked.documents or ()),
        "excluded": bool(pairs & set(asked.excluded)),
        "too many": asked.most is not None and int(str(most)) > asked.most,
        "tag": run.name in {asked.team, ""},
    }
    return ", ".join(name for name, is_so in broken.items() if is_so)


if __name__ == "__main__":
    sys.exit(main())
