"""Time and memory of images: how many values a measure has, and the ranks of given runs.

    python -m benchmarks.scales [CASE...]

Each case runs in a process of its own. Runs are drawn at random, with a share of relevant documents
that differs from run to run. The last lines list all runs of length 20 and sort their values, as
Ferrante, Ferro and Fuhr (2021) did, beside an image of the same length.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass

import numpy as np

PAPER = "DCG(discount='max(1,log2(rank))')"


@dataclass(frozen=True)
class Case:
    """An image, and how many runs are ranked in it."""

    measure: str
    length: int
    grades: int
    runs: int


CASES = {
    "AP-30": Case("AP", 30, 1, 5000),
    "DCG-30": Case(PAPER, 30, 1, 5000),
    "RBP-30": Case("RBP(p=0.8)", 30, 1, 5000),
    "DCG-40": Case(PAPER, 40, 1, 2500),
    "RBP-40": Case("RBP(p=0.8)", 40, 1, 2500),
    "DCG-20-graded": Case(PAPER, 20, 3, 2500),
    "RBP-20-graded": Case("RBP(p=0.8, gains='graded')", 20, 3, 2500),
    "DCG-1000": Case(PAPER, 1000, 1, 5000),
    "RBP-1000": Case("RBP(p=0.8)", 1000, 1, 5000),
    "nDCG-1000-graded": Case("nDCG", 1000, 3, 5000),
    "AP-20": Case("AP", 20, 1, 5000),
}


def drawn(case: Case) -> np.ndarray:
    """Draw runs of grades."""
    rng = np.random.default_rng(20261121)
    share = rng.random((case.runs, 1))
    graded = rng.integers(1, case.grades + 1, (case.runs, case.length))
    return np.where(rng.random((case.runs, case.length)) < share, graded, 0)


def measured(name: str) -> dict[str, object]:
    """Make the image of a case, count its values and rank its runs."""
    from cranfield.scales.images.values import image

    case = CASES[name]
    runs = drawn(case)
    started = time.perf_counter()
    found = image(case.measure, case.length, case.grades)
    size = found.size
    shares = found.relative_ranks(runs)
    seconds = time.perf_counter() - started
    return {
        "size": size,
        "exact": found.exact,
        "error": found.error,
        "seconds": seconds,
        "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "checksum": float(shares.sum()),
    }


def listed() -> dict[str, object]:
    """Score all runs of length 20 by AP, sort them, and count distinct values, in floats."""
    from cranfield.measures import AP
    from cranfield.scales import all_runs, score_runs

    started = time.perf_counter()
    codes = np.arange(2**20)
    values = np.concatenate(
        [
            score_runs(AP, (part[:, None] >> np.arange(19, -1, -1)) & 1)
            for part in np.array_split(codes, 64)
        ]
    )
    size = np.unique(np.round(values, 12)).size
    assert len(all_runs(3)) == 8
    return {
        "size": size,
        "exact": False,
        "error": 1e-12,
        "seconds": time.perf_counter() - started,
        "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main(names: list[str]) -> None:
    print(f"  {'case':<18} {'values':>22} {'runs':>6} {'error':>8} {'s':>7} {'MiB':>6}")
    for name in names or [*CASES, "listed"]:
        command = [sys.executable, "-m", "benchmarks.scales", "--one", name]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)
        size = found["size"]
        shown = f"{size:,}" if size < 2**62 else f"2^{size.bit_length() - 1}"
        runs = f"{CASES[name].runs:,}" if name in CASES else ""
        error = "exact" if found["exact"] else f"{found['error']:.1e}"
        print(
            f"  {name:<18} {shown:>22} {runs:>6} {error:>8} {found['seconds']:>7.2f}"
            f" {found['MiB']:>6.0f}",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        name = sys.argv[2]
        print(json.dumps(listed() if name == "listed" else measured(name)))
    else:
        main(sys.argv[1:])
