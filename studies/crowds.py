"""Judgments that each way to aggregate makes of public crowds, and how many of them are right.

    python -m studies.crowds FOLDER

FOLDER holds `BarzanMozafari` and `JeroenVuurens` (the TREC 2011 crowdsourcing track) of
ipeirotis/Get-Another-Label. Prints for each crowd and method the log-likelihood, the number of
judgments of each grade, and how many are right among those whose grade is known.
"""

from __future__ import annotations

import bz2
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from cranfield import assess
from cranfield.assess import Consensus, Labels, read_labels
from cranfield.collection.qrels import Qrels
from studies.common import run_main

METHODS: dict[str, Callable[[Labels], Consensus]] = {
    "majority": assess.majority,
    "dawid-skene": assess.dawid_skene,
    "dawid-skene, uniform prior": partial(assess.dawid_skene, prior="uniform"),
    "one-coin": assess.one_coin,
    "glad": assess.glad,
    "mace": assess.mace,
}


def crowds(folder: Path) -> dict[str, tuple[Labels, dict[str, int]]]:
    """Read labels and known grades of each crowd."""
    barzan, vuurens = folder / "BarzanMozafari", folder / "JeroenVuurens"
    lines = (barzan / "evaluation.txt").read_text().splitlines()
    true = {item: int(grade) for item, grade in map(str.split, lines)}
    packed = vuurens / "task1_unlabeled_g_truth_cons_public.txt.bz2"
    text = bz2.decompress(packed.read_bytes()).decode()
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    expert = {
        f"{row[1]}_{row[2]}": int(int(row[3]) > 0)
        for row in rows
        if row[3].strip() not in ("", "-1")
    }
    return {
        "Barzan": (read_labels(barzan / "labels.txt", columns="worker item grade"), true),
        "TREC 2011": (
            read_labels(vuurens / "votes.gz", columns="order item worker grade"),
            expert,
        ),
    }


def right(qrels: Qrels, known: dict[str, int]) -> int:
    pairs = zip(qrels.docs, qrels.grades.tolist(), strict=True)
    return sum(known.get(doc) == grade for doc, grade in pairs)


def main(folder: Path) -> None:
    for name, (labels, known) in crowds(folder).items():
        print(
            f"\n{name}: {labels!r}, {sum(doc in known for doc in labels.docs)} with a known grade"
        )
        for method, aggregate in METHODS.items():
            consensus = aggregate(labels)
            grades = np.bincount(consensus.level[consensus.level >= 0])
            print(
                f"{method:<28}{consensus.log_likelihood:>14.4f}"
                f"{'/'.join(map(str, grades)):>16}{right(consensus.qrels, known):>7}",
                flush=True,
            )


if __name__ == "__main__":
    run_main(main)
