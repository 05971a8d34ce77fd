"""Who gave which grades to the same things: counts by topic, from which all agreement follows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.base.errors import CranfieldError
from cranfield.base.words import counted

CELLS = 2**25
"""Numbers in the tables of all topics, at most: 256 MB."""


@dataclass(frozen=True, eq=False)
class Tables:
    """Sums over units, such as all judged pairs of a topic; all of them can be added and weighted.

    grades: of the scale, in ascending order; shape (grades,).
    pairs: pairs of labels of one unit by their two grades, both ways, each unit weighing its number
        of labels (Krippendorff's coincidences): n_c (n_v - [c = v]) / (m - 1) for a unit with m
        labels; shape (..., grades, grades).
    units: the same, each unit weighing 1: divided by m.
    shares: sum over all units with a label of the share of labels of each grade; shape (...,
        grades).
    joint: for two assessors, units by the grade of the first and that of the second; shape
        (..., grades, grades). Otherwise None.
    """

    grades: Floats
    pairs: Floats
    units: Floats
    shares: Floats
    joint: Floats | None = None

    def weighted(self, weights: Floats) -> Tables:
        """Return sums over the topics, once for each row of weights; shape (..., topics)."""

        def summed(values: Floats) -> Floats:
            return np.tensordot(weights, values, axes=1)

        return self._each(summed)

    def without_each(self) -> Tables:
        """Return sums over all topics but one; shape (topics, ...)."""
        return self._each(lambda values: values.sum(axis=0) - values)

    def total(self) -> Tables:
        """Return the sum over the first axis, the topics."""
        return self._each(lambda values: values.sum(axis=0))

    def cut(self, rel: float) -> Tables:
        """Return the tables of two grades: 0 below `rel`, and 1 from it on."""
        relevant = self.grades >= rel
        side = np.stack([~relevant, relevant]).astype(np.float64)

        def both(values: Floats) -> Floats:
            return side @ values @ side.T

        # Labels of one unit that are now equal were pairs before: nothing but sums.
        return Tables(
            np.array([0.0, 1.0]),
            both(self.pairs),
            both(self.units),
            self.shares @ side.T,
            None if self.joint is None else both(self.joint),
        )

    def _each(self, change: Callable[[Floats], Floats]) -> Tables:
        joint = None if self.joint is None else change(self.joint)
        return Tables(
            self.grades, change(self.pairs), change(self.units), change(self.shares), joint
        )


def of_joint(joint: Floats, grades: Floats) -> Tables:
    """Make the tables of two assessors from the units by both grades, shape (..., q, q)."""
    both = joint + np.swapaxes(joint, -1, -2)
    return Tables(grades, both, both / 2, both.sum(axis=-1) / 2, joint)


def two_assessors(
    first: Any, second: Any, *, grades: Any = None, topics: Any = None, rows: int | None = None
) -> Tables:
    """Count the units of each topic by two grades; NaN is no grade, topics are numbered from 0.

    >>> two_assessors([0, 0, 1, 1], [0, 1, 1, np.nan]).joint.tolist()
    [[[1.0, 1.0], [0.0, 1.0]]]
    """
    one, two = _numbers(first), _numbers(second)
    if one.ndim != 1 or one.shape != two.shape:
        raise CranfieldError("two assessors need as many grades, in two lists")
    table = ratings_of(np.column_stack([one, two]))
    table = np.where(np.isnan(table).any(axis=1, keepdims=True), np.nan, table)
    scale, codes = on_scale(table, grades)
    of_topic, size = _topics(topics, len(table), rows)
    _check_size(size, scale.size)
    kept = codes[:, 0] >= 0
    q = scale.size
    cells = (of_topic[kept] * q + codes[kept, 0]) * q + codes[kept, 1]
    counts = np.bincount(cells, minlength=size * q * q).reshape(size, q, q)
    return of_joint(counts.astype(np.float64), scale)


def many_assessors(
    ratings: Any, *, grades: Any = None, topics: Any = None, rows: int | None = None
) -> Tables:
    """Count pairs of labels of one unit, by topic; ratings have shape (units, assessors).

    >>> many_assessors([[0, 0, 1], [1, 1, np.nan]]).pairs.tolist()
    [[[1.0, 1.0], [1.0, 2.0]]]
    """
    table = ratings_of(ratings)
    scale, codes = on_scale(table, grades)
    of_topic, size = _topics(topics, len(table), rows)
    unit, rater = np.nonzero(codes >= 0)
    return of_labels(unit, codes[unit, rater], of_topic, scale, size)


def of_labels(
    unit: Indices, grade: Ints, topic_of_unit: Indices, scale: Floats, rows: int
) -> Tables:
    """Count pairs of labels of one unit; `unit` and `grade` are codes, one a label."""
    q = scale.size
    _check_size(rows, q)
    counts = np.bincount(unit * q + grade, minlength=topic_of_unit.size * q)
    return of_counts(counts.reshape(-1, q), scale, topic_of_unit, rows)


def of_counts(
    counts: Any, grades: Any = None, topics: Any = None, rows: int | None = None
) -> Tables:
    """Make the tables from how many labels of each grade a unit has, shape (units, grades).

    >>> of_counts([[2, 1], [0, 2]]).shares.round(3).tolist()
    [[0.667, 1.333]]
    """
    n = np.asarray(counts, dtype=np.float64)
    scale = np.arange(n.shape[1], dtype=np.float64) if grades is None else grades
    of_topic, size = _topics(topics, len(n), rows)
    q = scale.size
    _check_size(size, q)
    labels = n.sum(axis=1)
    pairs, units = np.zeros((size, q, q)), np.zeros((size, q, q))
    shares = np.zeros((size, q))
    np.add.at(shares, of_topic, n / np.maximum(labels, 1)[:, None])
    several = labels > 1
    m, topic, n = labels[several], of_topic[several], n[several]
    for c in range(q):
        # A row of the table at a time: no unit has a table of its own in memory.
        row = n[:, c, None] * n
        row[:, c] -= n[:, c]
        np.add.at(pairs[:, c], topic, row / (m - 1)[:, None])
        np.add.at(units[:, c], topic, row / (m * (m - 1))[:, None])
    return Tables(scale, pairs, units, shares)


def ratings_of(ratings: Any) -> Floats:
    """Return grades as floats of shape (units, assessors), or refuse them."""
    table = _numbers(ratings)
    if table.ndim != 2:
        raise CranfieldError("ratings are numbers, of shape (units, assessors)")
    if np.isinf(table).any():
        raise CranfieldError("a rating is infinite; NaN stands for none")
    return table


def on_scale(ratings: Floats, grades: Any = None) -> tuple[Floats, Ints]:
    """Return the scale, and the place of each rating on it, -1 for NaN."""
    known = ~np.isnan(ratings)
    found = np.unique(ratings[known])
    scale = found if grades is None else np.unique(_numbers(grades))
    if np.isnan(scale).any() or np.isinf(scale).any():
        raise CranfieldError("the grades of a scale are numbers, neither NaN nor infinite")
    off = found[~np.isin(found, scale)]
    if off.size:
        raise CranfieldError(f"grade {off[0]:g} is off the scale {scale[0]:g} to {scale[-1]:g}")
    codes = np.full(ratings.shape, -1, dtype=np.int64)
    codes[known] = np.searchsorted(scale, ratings[known])
    return scale, codes


def _numbers(values: Any) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise CranfieldError("grades are numbers, as many for each") from None


def _topics(topics: Any, units: int, rows: int | None) -> tuple[Indices, int]:
    if topics is None:
        return np.zeros(units, dtype=np.intp), rows or 1
    codes = np.asarray(topics)
    if codes.shape != (units,) or codes.dtype.kind not in "iu" or (codes < 0).any():
        raise CranfieldError("topics are whole numbers from 0, one a unit")
    return codes.astype(np.intp), rows or int(codes.max(initial=-1)) + 1


def _check_size(topics: int, grades: int) -> None:
    if topics * grades * grades > CELLS:
        sizes = f"{counted(grades, 'different grade')} in {counted(topics, 'topic')}"
        raise CranfieldError(f"{sizes} are too many for tables of each two grades")
