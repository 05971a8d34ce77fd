"""Time and memory of measures by intent at 1.2 million judgments, in a process of its own each.

    python -m benchmarks.intents [CASE...]

Judgments are of 200 topics. `dense`: each of 1,000 documents is judged for each of 6 intents.
`sparse`: there are 2 to 60 intents, 120 for one topic, and 3,000 documents that are judged for two
each. Runs retrieve 1,000 documents a topic, 600 of them judged; `x5` is of five runs. A case is
read, judged and scored by seven measures.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.process import Failure, timed

MEASURES = (
    "IA(nDCG@10)",
    "IA(AP)",
    "IA(ERR@20)",
    "alpha_nDCG@20",
    "Sharp(D(nDCG@10))",
    "NRBP",
    "StRecall@20",
)
CASES = {"dense": 1, "sparse": 1, "dense-x5": 5, "sparse-x5": 5}
TOPICS = 200


def generate(case: str, folder: Path) -> None:
    """Write judgments and runs from a fixed seed."""
    rng = np.random.default_rng(19)
    dense = case.startswith("dense")
    documents = 1000 if dense else 3000
    names = [f"clueweb12-{one:07d}" for one in range(documents + 400)]
    with (folder / "qrels").open("w", encoding="ascii") as file:
        for topic in range(TOPICS):
            intents = 6 if dense else int(rng.integers(2, 61)) if topic else 120
            share = 1.0 if dense else 2 / intents
            for intent in range(intents):
                judged = np.flatnonzero(rng.random(documents) < share)
                good = rng.random(judged.size) < 0.05
                grades = np.where(good, rng.integers(1, 4, judged.size), 0)
                pairs = zip(judged.tolist(), grades.tolist(), strict=True)
                file.writelines(f"{topic} {intent} {names[doc]} {grade}\n" for doc, grade in pairs)
    for run in range(CASES[case]):
        with (folder / f"{run}.run").open("w", encoding="ascii") as file:
            for topic in range(TOPICS):
                found = np.append(rng.permutation(documents)[:600], documents + np.arange(400))
                ranked = enumerate(rng.permutation(found).tolist(), 1)
                file.writelines(f"{topic} Q0 {names[d]} {r} {1001 - r} {run}\n" for r, d in ranked)


def score(folder: Path) -> None:
    import cranfield as cf

    judgments = cf.read_qrels(folder / "qrels", subtopics=True)
    evaluation = cf.evaluate(sorted(map(str, folder.glob("*.run"))), judgments, list(MEASURES))
    print(sum(float(evaluation[name].values.sum()) for name in MEASURES))


def main(names: list[str]) -> None:
    print(f"  {'case':<12} {'wall s':>8} {'cpu s':>8} {'peak MiB':>9}")
    for case in names or CASES:
        with tempfile.TemporaryDirectory(prefix="cranfield-bench-") as scratch:
            folder = Path(scratch)
            ours = [sys.executable, "-m", "benchmarks.intents"]
            # Another process generates, so that this one stays small: see `memory_floor`.
            subprocess.run([*ours, "--generate", case, scratch], check=True)
            found = timed([*ours, "--score", scratch], folder / "out", folder / "err")
        if isinstance(found, Failure):
            print(f"  {case:<12} {found}")
        else:
            figures = f"{found.wall:>8.2f} {found.cpu:>8.2f} {found.peak:>9.0f}"
            print(f"  {case:<12} {figures}", flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--generate"]:
        generate(sys.argv[2], Path(sys.argv[3]))
    elif sys.argv[1:2] == ["--score"]:
        score(Path(sys.argv[2]))
    else:
        main(sys.argv[1:])
