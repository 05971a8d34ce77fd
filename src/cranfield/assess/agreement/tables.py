"""Grades of several assessors for the same units, counted by topic."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.assess.labels.reading import LABELS, read_labels
from cranfield.assess.labels.table import Labels
from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.base.errors import CranfieldError, PolicyError, check_whole, quoted, warn
from cranfield.base.text import counted, some_of
from cranfield.sources.columns import is_frame
from cranfield.sources.schemas import NO_NAME, SUMMARIES, spelt

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


MOST_PAIRS = 2**25
"""Pairs of labels of one unit that are looked at one by one, at most."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """Labels as codes, one of an assessor and a unit, in order of units and assessors.

    topics, assessors: their names.
    topic_of: topic of each unit; shape (units,).
    scale: the grades, ascending.
    unit, assessor, level: of each label; `level` is the place of its grade on the scale.
    notes: what was left out.
    """

    topics: tuple[str, ...]
    assessors: tuple[str, ...]
    topic_of: Indices
    scale: Floats
    unit: Indices
    assessor: Indices
    level: Ints
    notes: tuple[str, ...] = ()

    def together(self) -> Tables:
        """Count the labels of all assessors; shape (topics, 1, ...)."""
        rows = len(self.topics)
        tables = of_labels(self.unit, self.level, self.topic_of, self.scale, rows)
        joint = None
        if len(self.assessors) == 2:
            joint = self._joint(np.zeros(1, dtype=np.int64), *self._couples())
        return Tables(
            self.scale, tables.pairs[:, None], tables.units[:, None], tables.shares[:, None], joint
        )

    def by_pair(self, against: str | None) -> tuple[list[tuple[str, str]], Tables]:
        """Count the units of each two assessors that share some; shape (topics, pairs, ...)."""
        one, other = self._couples()
        if against is not None:
            chosen = self._code(against)
            first = self.assessor[one] == chosen
            second = self.assessor[other] == chosen
            one, other = (
                np.concatenate([one[first], other[second]]),
                np.concatenate([other[first], one[second]]),
            )
        code = self.assessor[one] * np.int64(len(self.assessors)) + self.assessor[other]
        found, place = np.unique(code, return_inverse=True)
        names = [
            (self.assessors[a], self.assessors[b])
            for a, b in zip(*np.divmod(found, len(self.assessors)), strict=True)
        ]
        if not names:
            raise CranfieldError("no two assessors have a unit in common")
        return names, of_joint(self._joint(found, one, other, place), self.scale)

    def _couples(self) -> tuple[Indices, Indices]:
        """Return each two labels of one unit, as indices of labels."""
        sizes = np.bincount(self.unit, minlength=self.topic_of.size)
        pairs = int((sizes * (sizes - 1) // 2).sum())
        if pairs > MOST_PAIRS:
            raise CranfieldError(f"{counted(pairs, 'pair')} of labels are too many to compare each")
        ones, others = [], []
        for apart in range(1, int(sizes.max(initial=1))):
            row = np.flatnonzero(self.unit[:-apart] == self.unit[apart:])
            ones.append(row)
            others.append(row + apart)
        none = np.empty(0, dtype=np.intp)
        return np.concatenate([none, *ones]), np.concatenate([none, *others])

    def _joint(self, pairs: Ints, one: Indices, other: Indices, place: Any = 0) -> Floats:
        q, rows = self.scale.size, len(self.topics)
        shape = (rows, pairs.size, q, q)
        cells = int(np.prod(shape, dtype=np.float64))
        if cells > MOST_PAIRS:
            sizes = f"{counted(pairs.size, 'pair')} of assessors and {counted(q, 'grade')}"
            raise CranfieldError(f"{sizes} in {counted(rows, 'topic')} are too many for tables")
        cell = (self.topic_of[self.unit[one]] * pairs.size + place) * q + self.level[one]
        counts = np.bincount(cell * q + self.level[other], minlength=cells)
        return counts.reshape(shape).astype(np.float64)

    def _code(self, name: str) -> int:
        if name not in self.assessors:
            raise PolicyError(f"there is no assessor {quoted(name)}")
        return self.assessors.index(name)


def labelled(
    given: Any, *, topics: Any = None, grades: Any = None, names: Any = None, axis: Any = None
) -> Labelled:
    """Take labels, judgments by name, or ratings: an array, or a frame of a column an assessor."""
    if is_frame(given) and (of_frame := _of_ratings_only(given)) is not None:
        columns, ratings = of_frame
        if all(re.fullmatch(r"(column_)?\d+", name) for name in columns):
            # Names that a frame was given by its library say nothing.
            return _of_ratings(ratings, topics, grades, names, axis)
        if names is not None or axis is not None:
            raise PolicyError("names and axis are for arrays, got a data frame, which has names")
        spellings = {name: spelt(name) for name in columns}
        doubtful = [
            name
            for name, spelling in spellings.items()
            if spelling in SUMMARIES or NO_NAME.fullmatch(spelling)
        ]
        if doubtful:
            listed = some_of(map(quoted, doubtful), 5)
            warn(f"columns read as assessors: {listed}; remove those of no assessor", stacklevel=3)
        return _of_ratings(ratings, topics, grades, columns, 1)
    if isinstance(given, (np.ndarray, list)) and not _has_rows(given):
        return _of_ratings(given, topics, grades, names, axis)
    if topics is not None or names is not None or axis is not None:
        raise PolicyError("topics, names and axis go with ratings; labels have their own")
    return _of_labels(read_labels(given, grades=None if isinstance(given, Labels) else grades))


def _of_ratings_only(data: Any) -> tuple[list[str], Any] | None:
    """Return names and values of a frame of numbers without any usual column of labels, or None."""
    import narwhals.stable.v1 as nw

    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    names = [str(name) for name in frame.columns]
    usual = {spelt(name) for column in LABELS.columns for name in column.names}
    numeric = all(dtype.is_numeric() for dtype in frame.schema.values())
    if not numeric or not usual.isdisjoint(map(spelt, names)):
        return None
    return names, frame.to_numpy()


def _has_rows(given: Any) -> bool:
    """Tell rows of labels from rows of ratings: these hold numbers."""
    return isinstance(given, list) and any(
        isinstance(cell, str) for row in given[:1] for cell in _cells(row)
    )


def _cells(row: Any) -> Sequence[Any]:
    return row if isinstance(row, (tuple, list)) else [""]


def _of_labels(labels: Labels) -> Labelled:
    when = labels.order if labels.order is not None else np.arange(len(labels))
    ordered = np.lexsort((when, labels.worker, labels.pair))
    pair, worker = labels.pair[ordered], labels.worker[ordered]
    last = np.append((pair[1:] != pair[:-1]) | (worker[1:] != worker[:-1]), True)
    kept = ordered[last]
    gone = len(labels) - kept.size
    repeated = f"{counted(gone, 'label')} replaced by a later one of the same assessor"
    return Labelled(
        labels.topics,
        labels.workers,
        labels.topic_of.astype(np.intp),
        labels.grades.astype(np.float64),
        labels.pair[kept].astype(np.intp),
        labels.worker[kept].astype(np.intp),
        labels.level[kept],
        (repeated,) if gone else (),
    )


def _of_ratings(given: Any, topics: Any, grades: Any, names: Any, axis: Any) -> Labelled:
    ratings = ratings_of(given)
    if axis is None and ratings.shape[0] != ratings.shape[1]:
        # As many names, or topics, as there are rows or columns say which are the assessors.
        ways = [ratings.shape[0] == len(known) for known in (names,) if known is not None]
        ways += [ratings.shape[1] == len(known) for known in (topics,) if known is not None]
        axis = None if not ways else 0 if all(ways) else 1
    if axis is None:
        rows, columns = ratings.shape
        raise PolicyError(
            f"expected axis, or names of the assessors, got an array of {rows} rows and {columns}"
            " columns; axis=0 if each row is an assessor, axis=1 if each column is"
        )
    check_whole("axis", axis, 0, 1)
    ratings = ratings.T if axis == 0 else ratings
    scale, codes = on_scale(ratings, grades)
    unit, assessor = np.nonzero(codes >= 0)
    if not unit.size:
        raise CranfieldError("there are no ratings")
    units, assessors = ratings.shape
    listed = [str(k + 1) for k in range(assessors)] if names is None else [str(n) for n in names]
    if len({*listed}) != len(listed) or len(listed) != assessors:
        raise PolicyError(f"names are {assessors} different ones, one an assessor")
    of_unit = pl.Series(["all"] * units if topics is None else [str(topic) for topic in topics])
    if len(of_unit) != units:
        raise PolicyError(f"topics are {units}, one a unit, not {len(of_unit)}")
    known = of_unit.unique(maintain_order=True)
    code = of_unit.replace_strict(known, np.arange(len(known)), return_dtype=pl.Int64)
    return Labelled(
        tuple(known), tuple(listed), code.to_numpy(), scale, unit, assessor, codes[unit, assessor]
    )
