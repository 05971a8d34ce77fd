"""Labels that several tests read."""

from __future__ import annotations

import lzma
from functools import cache
from pathlib import Path

import numpy as np

from cranfield.assess import Labels, read_labels

DATA = Path(__file__).parents[2] / "data" / "assess"


@cache
def anaesthetists() -> Labels:
    return read_labels(DATA / "anaesthetists.csv", repeats="keep")


@cache
def barzan() -> Labels:
    return read_labels(DATA / "barzan_labels.txt.xz", columns="worker doc grade")


@cache
def barzan_gold() -> dict[str, int]:
    lines = lzma.decompress((DATA / "barzan_gold.txt.xz").read_bytes()).decode().splitlines()
    return {item: int(grade) for item, grade in map(str.split, lines)}


def drawn(
    seed: int, pairs: int = 30, workers: int = 6, grades: int = 3, share: float = 0.7
) -> Labels:
    """Draw labels of workers who are right with a chance of their own."""
    random = np.random.default_rng(seed)
    truth = random.integers(grades, size=pairs)
    skill = random.random(workers)
    rows = []
    for i in range(pairs):
        for w in range(workers):
            if random.random() < share or w == i % workers:
                right = random.random() < skill[w]
                grade = truth[i] if right else random.integers(grades)
                rows.append((f"q{i % 4}", f"d{i}", f"w{w}", int(grade)))
    return read_labels(rows, grades=range(grades))
