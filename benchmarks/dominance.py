"""Time and memory of stochastic dominance among all pairs, in a process of its own each.

    python -m benchmarks.dominance [SYSTEMSxTOPICS...]

Scores are drawn from a fixed seed, with four decimals, so that some are equal.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time

import numpy as np

CASES = ("129x50", "129x500", "30x6980", "129x6980")


def measured(case: str) -> dict[str, float]:
    """Compare all pairs of a case."""
    from cranfield.scales.admissible import dominance

    systems, topics = map(int, case.split("x"))
    rng = np.random.default_rng(0)
    scores = np.round(rng.beta(2, 3, (topics, 1)) * 0.7 + rng.random((topics, systems)) * 0.3, 4)
    first, second = np.triu_indices(systems, 1)
    started, used = time.perf_counter(), time.process_time()
    found = dominance(scores, first, second)
    return {
        "pairs": first.size,
        "wall": time.perf_counter() - started,
        "cpu": time.process_time() - used,
        "MiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "turned": int(found.reversed.sum()),
    }


def main(cases: list[str]) -> None:
    print(
        f"  {'case':<10} {'pairs':>7} {'wall s':>8} {'cpu s':>8} {'peak MiB':>9} {'turn over':>10}"
    )
    for case in cases or CASES:
        command = [sys.executable, "-m", "benchmarks.dominance", "--one", case]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout)
        print(
            f"  {case:<10} {found['pairs']:>7,} {found['wall']:>8.3f} {found['cpu']:>8.3f}"
            f" {found['MiB']:>9.0f} {found['turned']:>10,}",
            flush=True,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measured(sys.argv[2])))
    else:
        main(sys.argv[1:])
