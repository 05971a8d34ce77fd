"""What is in labels before anything is made of them: counts, and what looks odd."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from cranfield.assess.labels.table import Labels
from cranfield.base.arrays import Ints
from cranfield.base.words import counted
from cranfield.tabular.frames import Framed

MANY = 10
"""Labels of one grade from which it is odd that a worker gave no other."""


@dataclass(frozen=True, eq=False, repr=False)
class Overview(Framed):
    """What labels hold.

    >>> from cranfield.assess import read_labels
    >>> rows = [("q", "d", "ann", 1), ("q", "d", "bob", 0), ("q", "e", "ann", 1)]
    >>> print(Overview(read_labels(rows)))
    Labels(3 labels of 2 pairs by 2 workers, grades 0, 1)
    labels a pair: 1 to 2, median 1.5; labels a worker: 1 to 2, median 1.5
    1 of 2 pairs with one label
    1 of 2 workers with one label
    """

    labels: Labels

    @property
    def of_pair(self) -> Ints:
        """How many labels each pair has."""
        return np.bincount(self.labels.pair, minlength=len(self.labels.docs))

    @property
    def of_worker(self) -> Ints:
        """How many labels each worker gave."""
        return np.bincount(self.labels.worker, minlength=len(self.labels.workers))

    def odd(self) -> list[str]:
        """Return what should be looked at before labels are put together, a line each."""
        labels, of_pair, of_worker = self.labels, self.of_pair, self.of_worker
        q, workers = labels.grades.size, len(labels.workers)
        given = np.bincount(labels.worker * q + labels.level, minlength=workers * q)
        one_grade = (given.reshape(workers, q) > 0).sum(axis=1) == 1
        alone = np.ones(workers, dtype=bool)
        # A repeated label of a pair that nobody else labelled is no second opinion.
        cells = np.unique(labels.pair * np.int64(workers) + labels.worker)
        pair, worker = np.divmod(cells, workers)
        shared = np.bincount(pair, minlength=of_pair.size)[pair] > 1
        alone[worker[shared]] = False
        unused = labels.grades[~(given.reshape(workers, q).sum(axis=0) > 0)]
        lines = [
            _of((of_pair == 1).sum(), of_pair.size, "pair", "with one label"),
            _of((of_worker == 1).sum(), workers, "worker", "with one label"),
            _of(
                (one_grade & (of_worker >= MANY)).sum() if q > 1 else 0,
                workers,
                "worker",
                f"with {MANY} labels or more, all of the same grade",
            ),
            _of(
                (alone & (of_worker > 0)).sum() if workers > 1 else 0,
                workers,
                "worker",
                "that labelled no pair that another one did",
            ),
            _of(self._contradicted(), of_pair.size, "pair", "that a worker graded in two ways"),
        ]
        if unused.size:
            lines.append(f"grades that nobody gave: {', '.join(map(str, unused))}")
        return [line for line in lines if line]

    def _contradicted(self) -> int:
        labels = self.labels
        cells = labels.pair * np.int64(len(labels.workers)) + labels.worker
        levels = np.unique(np.column_stack([cells, labels.level]), axis=0)
        cell, number = np.unique(levels[:, 0], return_counts=True)
        return np.unique(cell[number > 1] // len(labels.workers)).size

    def to_polars(self) -> pl.DataFrame:
        """Return a row a grade of the scale: how many labels, and their share."""
        levels = np.bincount(self.labels.level, minlength=self.labels.grades.size)
        return pl.DataFrame(
            {"grade": self.labels.grades, "labels": levels, "share": levels / levels.sum()}
        )

    def lines(self) -> list[str]:
        """Return what is in the labels, what was done to them, and what is odd, a line each."""
        sizes = (("pair", self.of_pair), ("worker", self.of_worker))
        spread = "; ".join(f"labels a {name}: {_spread(size)}" for name, size in sizes)
        return [repr(self.labels), spread, *self.labels.notes, *self.odd()]

    def __repr__(self) -> str:
        return f"Overview({self.labels!r})"

    def __str__(self) -> str:
        return "\n".join(self.lines())


def _of(number: int, whole: int, noun: str, what: str) -> str:
    return f"{number:,} of {counted(whole, noun)} {what}" if number else ""


def _spread(sizes: Ints) -> str:
    low, high = int(sizes.min()), int(sizes.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}, median {np.median(sizes):,g}"
