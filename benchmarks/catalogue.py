"""Time and memory of all measures of one ranking together, beside the seven of the benchmark.

    python -m benchmarks.catalogue [--repeat N] [--slowest N] [--data DIR]

All are every measure of the registry that needs rankings and judgments alone, at rank 10 or recall
0.1 where it needs that, and what the users of some of them can expect. Both commands score data set
C from its files, in turn. Then each measure is timed by itself, in one process in which measures
share what they share in an evaluation: what several need is counted with the first.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.datasets import DATA_SETS, DEFAULT_FOLDER, HERE
from benchmarks.process import Failure, Timing, memory_floor, timed, warm
from benchmarks.tables import TIMING_HEAD, Row, ratio, table, timing_cells
from benchmarks.tasks import MEASURES, fill

_MODELS = ("P@10", "RR", "AP", "RBP", "INST", "ERR")
_EXPECTED = ("EU", "ETU", "EC", "Residual")
_DATA = DATA_SETS["C"]


def catalogue() -> list[str]:
    """Return all measures that need nothing but rankings and judgments, in text."""
    from cranfield.measures import REGISTRY

    found = []
    for name, kind in REGISTRY.where(kind="measure").items():
        if not kind.info.inputs:
            at = "@10" if kind.info.at == "cutoff" else "@0.1"
            found.append(name + at if kind.info.at_wanted == "required" else name)
    return found + [f"{kind}({model})" for kind in _EXPECTED for model in _MODELS]


def alone(folder: Path, repeat: int) -> dict[str, float]:
    """Return the seconds that each measure takes, the median of some evaluations."""
    import cranfield as cf
    from cranfield.measures import parse_measures

    runs = list(map(str, _DATA.run_paths(folder)))
    wanted = parse_measures(catalogue())
    seconds: dict[str, list[float]] = {str(one): [] for one in wanted}
    for _ in range(repeat):
        # Judged again, since judged runs keep what measures share.
        judged = cf.judge(runs, str(_DATA.judgments.path(folder)))
        for one in wanted:
            started = time.perf_counter()
            one.score(judged)
            seconds[str(one)].append(time.perf_counter() - started)
    return {name: statistics.median(each) for name, each in seconds.items()}


def main() -> None:
    options = _options()
    if options.one:
        print(json.dumps(catalogue() if options.one == "list" else alone(options.data, 3)))
        return
    script = str(HERE / "generate.py")
    folder = str(options.data)
    generate = [sys.executable, script, "--out", folder, "--only", _DATA.name]
    subprocess.run(generate, check=True)
    every: list[str] = _asked("list", options.data)
    names = ("seven", "all")
    timings: dict[str, list[Timing]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory(prefix="cranfield-bench-") as scratch:
        warm([_DATA.judgments.path(options.data), *_DATA.run_paths(options.data)])
        for _ in range(options.repeat):
            for name, measures in zip(names, (MEASURES, every), strict=True):
                timings[name].append(_scored(measures, options.data, Path(scratch)))
    pairs = list(zip(timings["all"], timings["seven"], strict=True))
    rows: list[Row] = [
        (f"the {len(MEASURES)}", [*timing_cells(timings["seven"], memory_floor()), ""]),
        (f"all {len(every)}", [*timing_cells(timings["all"], memory_floor()), str(ratio(pairs))]),
    ]
    title = f"{_DATA.name}: {_DATA.title}, load {os.getloadavg()[0]:.1f}"
    print(table(title, [*TIMING_HEAD, "all/seven"], rows))
    cpu = statistics.median(one.cpu / other.cpu for one, other in pairs)
    peak = statistics.median(one.peak / other.peak for one, other in pairs)
    print(f"  cpu {cpu:.3f} times, peak {peak:.3f} times that of the seven\n")
    seconds: dict[str, float] = _asked("alone", options.data)
    print(f"All in one process: {sum(seconds.values()):.3f} s; the slowest:")
    for name in sorted(seconds, key=seconds.__getitem__, reverse=True)[: options.slowest]:
        print(f"  {seconds[name]:8.4f} s  {name}")


def _scored(measures: Sequence[str], folder: Path, scratch: Path) -> Timing:
    asked = [part for one in measures for part in ("-m", one)]
    template = ["{python}", "-m", "cranfield", "evaluate", "{qrels}", "{runs}", *asked]
    command = fill(
        [*template, "--format", "json", "-o", "{output}"],
        sys.executable,
        _DATA.judgments.path(folder),
        _DATA.run_paths(folder),
        scratch / "means.json",
    )
    outcome = timed(command, scratch / "out", scratch / "err")
    if isinstance(outcome, Failure):
        sys.exit(str(outcome))
    return outcome


def _asked(what: str, folder: Path) -> Any:
    """Ask a process of its own: NumPy here would raise the floor under all peaks."""
    command = [sys.executable, "-m", "benchmarks.catalogue", "--one", what, "--data", str(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent)
    return json.loads(done.stdout)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure all measures of one ranking together.")
    add = parser.add_argument
    add("--repeat", type=int, default=3, help="how often to measure each command (3)")
    add("--slowest", type=int, default=15, help="how many measures to list (15)")
    add("--data", type=Path, default=DEFAULT_FOLDER, help="the folder of generated data")
    add("--one", choices=("list", "alone"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.data = options.data.resolve()
    if options.repeat < 1:
        parser.error("everything must be measured at least once")
    return options


if __name__ == "__main__":
    main()
