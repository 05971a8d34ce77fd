"""Time of interleaving, beside mpkato/interleaving in one run.

    python -m benchmarks.online_interleaving [MPKATO] [PYTHON]

MPKATO is the folder of the source of mpkato/interleaving, PYTHON an interpreter with numpy, scipy
and pulp; without them only ours are measured. Two rankings of ten documents in random orders, and
clicks on three tenths of the ranks. Ours: 10^5 impressions, the best of three; theirs, which go one
at a time, fewer, of which the mean is shown.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial

import numpy as np

import cranfield as cf

IMPRESSIONS = 100_000
THEIRS = """
import json, sys, time
import numpy as np
import interleaving
np.random.seed(1)
first, second = (np.random.permutation(10).tolist() for _ in range(2))
times = {}
for name, numbers in json.loads(sys.argv[1]).items():
    kind = getattr(interleaving, name)
    method = kind([first, second], max_length=10)
    lists, scores = numbers
    start = time.perf_counter()
    drawn = [method.interleave() for _ in range(lists)]
    made = (time.perf_counter() - start) / lists
    clicks = [np.flatnonzero(np.random.rand(10) < 0.3).tolist() for _ in range(scores)]
    start = time.perf_counter()
    for one, clicked in zip(drawn, clicks):
        kind.compute_scores(one, clicked)
    times[name] = made, (time.perf_counter() - start) / scores
print(json.dumps(times))
"""
NUMBERS = {
    "Balanced": (3_000, 3_000),
    "TeamDraft": (3_000, 3_000),
    "Probabilistic": (2_000, 20),
    "PairwisePreference": (2_000, 2_000),
}
"""Lists and scores of theirs; probabilistic scoring goes through 2^10 assignments each."""


def best_of(times: int, call: Callable[[], object]) -> float:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def main(*arguments: str) -> None:
    theirs: dict[str, tuple[float, float]] = {}
    if arguments:
        python = arguments[1] if len(arguments) > 1 else sys.executable
        run = subprocess.run(
            [python, "-c", THEIRS, json.dumps(NUMBERS)],
            cwd=arguments[0],
            capture_output=True,
            check=True,
        )
        theirs = json.loads(run.stdout)
    rng = np.random.default_rng(1)
    rankings = [rng.permutation(10).tolist() for _ in range(2)]
    print(f"{IMPRESSIONS:,} impressions of 10; microseconds an impression, ours | theirs | ratio")
    for method in NUMBERS:
        made = cf.online.interleave(rankings, method)
        one = made.draw(IMPRESSIONS, 1)
        four = made.draw(IMPRESSIONS, 1, jobs=4)
        same = all((a == b).all() for a, b in zip(one, four, strict=True))
        clicks = rng.random(one.lists.shape) < 0.3
        clicks &= one.lists >= 0
        drawing = best_of(3, partial(made.draw, IMPRESSIONS, 1))
        scoring = best_of(3, partial(made.outcomes, one.lists, clicks, one.teams))
        said = "same bits from 1 and 4 workers" if same else "NOT the same from 1 and 4 workers"
        for what, own, other in zip(
            ("lists", "outcomes"), (drawing, scoring), theirs.get(method, (0.0, 0.0)), strict=True
        ):
            ours = own / IMPRESSIONS * 1e6
            beside = f"{other * 1e6:10.1f}  {other * 1e6 / ours:8.0f} x" if other else ""
            print(f"{method:20} {what:9} {ours:8.2f} {beside}  {said if what == 'lists' else ''}")


if __name__ == "__main__":
    main(*sys.argv[1:])
