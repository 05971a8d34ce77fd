"""One process for 5, 10 and 20 runs of D's size: `python -m benchmarks.many [--data DIR]`.

The runs are one file under many names (hard links), so that the disk need not hold them; they are
read from the page cache as often as there are names. Time and peak memory should lie on a straight
line; what the line says of 200 runs is an extrapolation, not a measurement.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.datasets import DATA_SETS, DEFAULT_FOLDER, HERE
from benchmarks.process import Failure, Timing, timed, warm
from benchmarks.tasks import OURS, fill

COUNTS = (5, 10, 20)
FAR = 200
_DATA = DATA_SETS["D"]


def line(counts: list[int], values: list[float]) -> tuple[float, float, float]:
    """Fit a straight line by least squares: where it starts, its slope, the largest distance."""
    size = len(counts)
    middle, height = sum(counts) / size, sum(values) / size
    spread = sum((count - middle) ** 2 for count in counts)
    slope = sum((c - middle) * (v - height) for c, v in zip(counts, values, strict=True)) / spread
    start = height - slope * middle
    off = max(abs(start + slope * c - v) for c, v in zip(counts, values, strict=True))
    return start, slope, off


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER, help="the folder of the data")
    folder: Path = parser.parse_args().data.resolve()
    generate = [sys.executable, str(HERE / "generate.py"), "--out", str(folder), "--only", "D"]
    subprocess.run(generate, check=True)
    warm([_DATA.run_path(folder, 0)])
    print(f"Many runs of D's size in one process; load {os.getloadavg()[0]:.1f}")
    print(f"  {'runs':>4} {'lines':>13} {'wall s':>8} {'cpu s':>8} {'peak MiB':>9} {'s a run':>8}")
    took: list[Timing] = []
    with tempfile.TemporaryDirectory(prefix="runs-", dir=folder) as scratch:
        runs = [Path(scratch) / f"{_DATA.tag(number)}.run" for number in range(COUNTS[-1])]
        for run in runs:
            os.link(_DATA.run_path(folder, 0), run)
        for count in COUNTS:
            output = Path(scratch) / "means.json"
            qrels = _DATA.judgments.path(folder)
            command = fill(OURS, sys.executable, qrels, runs[:count], output)
            outcome = timed(command, output.with_suffix(".out"), output.with_suffix(".err"))
            if isinstance(outcome, Failure):
                sys.exit(str(outcome))
            took.append(outcome)
            print(
                f"  {count:>4} {count * _DATA.lines:>13,} {outcome.wall:>8.1f} {outcome.cpu:>8.1f}"
                f" {outcome.peak:>9.0f} {outcome.wall / count:>8.2f}",
                flush=True,
            )
    for what, unit, values in (
        ("time", "s", [one.wall for one in took]),
        ("time of processors", "s", [one.cpu for one in took]),
        ("memory", "MiB", [one.peak for one in took]),
    ):
        start, slope, off = line([*COUNTS], values)
        print(
            f"  {what}: {start:.1f} + {slope:.2f} x runs {unit}, at most {off:.1f} off;"
            f" extrapolated to {FAR} runs: {start + slope * FAR:,.0f} {unit}"
        )


if __name__ == "__main__":
    main()
