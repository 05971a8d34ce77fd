"""Public crowds: what each method makes of them, how long it takes, and crowd-kit beside it.

    python -m studies.crowds FOLDER [--peer-python PYTHON]

FOLDER holds `BarzanMozafari` and `JeroenVuurens` of ipeirotis/Get-Another-Label. For each crowd
and method: the log-likelihood at the end, the steps, the least rise of the objective in a step,
pairs a grade, judgments that are right among those whose grade is known, and seconds of CPU
(reading excluded). Then the rule that says when to stop, on the votes in their order. PYTHON is an
interpreter that has crowd-kit 1.4.2: its GLAD is run on the largest crowd, and timed without its
import.
"""

from __future__ import annotations

import argparse
import bz2
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from cranfield.assess import (
    Consensus,
    Labels,
    LeadRule,
    dawid_skene,
    glad,
    mace,
    majority,
    one_coin,
    read_labels,
    wawa,
)
from cranfield.collection.qrels import Qrels

METHODS: dict[str, Callable[[Labels], Consensus]] = {
    "majority, low": majority,
    "majority, high": partial(majority, tie="high"),
    "majority, drop": partial(majority, tie="drop"),
    "wawa": wawa,
    "dawid-skene": dawid_skene,
    "dawid-skene, even": partial(dawid_skene, unmet="even"),
    "dawid-skene, .01": partial(dawid_skene, smoothing=0.01),
    "dawid-skene, .5 .5": partial(dawid_skene, prior="uniform"),
    "one-coin": one_coin,
    "glad": glad,
    "mace": mace,
    "mace, em": partial(mace, inference="em"),
}

PEER = """
import sys, time, json
import pandas as pd
from crowdkit.aggregation import GLAD
frame = pd.read_csv(sys.argv[1], dtype=str, keep_default_na=False)
start = time.process_time()
found = GLAD(n_iter=int(sys.argv[2])).fit_predict(frame)
print(json.dumps([time.process_time() - start, found.to_dict()]))
"""


def crowds(folder: Path) -> dict[str, tuple[Labels, dict[str, int]]]:
    vuurens = folder / "JeroenVuurens"
    packed = vuurens / "task1_unlabeled_g_truth_cons_public.txt.bz2"
    text = bz2.decompress(packed.read_bytes()).decode()
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    expert = {
        f"{row[1]}_{row[2]}": int(int(row[3]) > 0)
        for row in rows
        if row[3].strip() not in ("", "-1")
    }
    barzan = folder / "BarzanMozafari"
    lines = (barzan / "evaluation.txt").read_text().splitlines()
    true = {item: int(grade) for item, grade in map(str.split, lines)}
    votes = read_labels(vuurens / "votes.gz", columns="order item worker grade")
    others = read_labels(
        vuurens / "otherparticipantsvotes.gz", columns="item worker grade", repeats="keep"
    )
    return {
        "Barzan": (read_labels(barzan / "labels.txt", columns="worker item grade"), true),
        "votes": (votes, expert),
        "others": (others, expert),
    }


def right(qrels: Qrels, gold: dict[str, int]) -> int:
    pairs = zip(qrels.docs, qrels.grades.tolist(), strict=True)
    return sum(gold.get(doc) == grade for doc, grade in pairs)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--peer-python", default="")
    parser.add_argument("--peer-steps", type=int, default=100)
    options = parser.parse_args()
    found = crowds(options.folder)
    mine: dict[str, float] = {}
    for name, (labels, gold) in found.items():
        known = sum(doc in gold for doc in labels.docs)
        print(f"\n{name}: {labels}, {known} with a known grade")
        print(
            f"{'method':<20}{'likelihood':>14}{'steps':>7}{'least rise':>12}{'ties':>6}"
            f"{'pairs a grade':>16}{'right':>7}{'seconds':>9}"
        )
        for method, call in METHODS.items():
            start = time.process_time()
            made = call(labels)
            mine[method] = time.process_time() - start
            rise = np.diff(made.objective).min() if made.iterations > 1 else np.nan
            split = np.bincount(made.level[made.level >= 0])
            print(
                f"{method:<20}{made.log_likelihood:>14.4f}{made.iterations:>7}{rise:>12.1e}"
                f"{made.tied.sum():>6}{'/'.join(map(str, split)):>16}"
                f"{right(made.qrels, gold):>7}{mine[method]:>9.2f}",
                flush=True,
            )
    votes, gold = found["votes"]
    print("\nwhen to stop, on the votes in their order, C = 1.5")
    for epsilon in (0.0, 0.1):
        stopped = LeadRule(1.5, epsilon).replay(votes)
        kept = majority(stopped.labels, tie="drop")
        print(
            f"epsilon {epsilon}: {stopped}; {kept.tied.sum()} tie, {right(kept.qrels, gold)} right"
        )
    if options.peer_python:
        labels, _ = found["others"]
        compare(labels, options.peer_python, options.peer_steps)
    return 0


def compare(labels: Labels, python: str, steps: int) -> None:
    start = time.process_time()
    made = glad(labels).qrels
    mine = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        frame = labels.to_polars().select("doc", "worker", "grade")
        frame.rename({"doc": "task", "grade": "label"}).write_csv(path)
        command = [python, "-c", PEER, str(path), str(steps)]
        ran = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    theirs, grades = json.loads(ran.stdout.splitlines()[-1])
    same = sum(grades[doc] == str(grade) for doc, grade in zip(made.docs, made.grades, strict=True))
    print(
        f"\nGLAD on {labels}: {mine:.2f} s, crowd-kit {theirs:.2f} s of CPU"
        f" ({theirs / mine:.0f} times), {same} of {len(made)} judgments the same"
    )


if __name__ == "__main__":
    sys.exit(main())
