"""Grades of several assessors for the same units, counted by topic."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.assess.labels.reading import LABELS, read_labels
from cranfield.assess.labels.table import Labels
from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.base.errors import CranfieldError, PolicyError, as_array, check_whole, quoted, warn
from cranfield.base.text import counted, some_of
from cranfield.sources.columns import is_frame
from cranfield.sources.schemas import NO_NAME, SUMMARIES, spelt

CELLS = 2**25
"""Maximum count of numbers in the tables of all topics: 256 MB."""


@dataclass(frozen=True, eq=False)
class Tables:
    """Sums over units, such as the judged pairs of each topic; they can be added and weighted.

    grades: of the scale, in ascending order; shape (grades,).
    pairs: pairs of labels of one unit by their two grades, both ways, each unit weighing its number
        of labels (Krippendorff's coincidences): n_c (n_v - [c = v]) / (m - 1) for a unit with m
        labels; shape (..., grades, grades).
    units: the same, each unit weighing 1: divided by m.
    shares: sum over all units with a label of the proportion of labels of each grade; shape (...,
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
        return self._each(lambda values: np.tensordot(weights, values, axes=1))

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
        # Equal labels of a unit remain pairs, so only sums change.
        tables = self._each(
            lambda values: side @ values @ side.T if values.ndim > self.shares.ndim else values
        )
        return replace(tables, grades=np.array([0.0, 1.0]), shares=self.shares @ side.T)

    def _each(self, change: Callable[[Floats], Floats]) -> Tables:
        return replace(
            self,
            pairs=change(self.pairs),
            units=change(self.units),
            shares=change(self.shares),
            joint=None if self.joint is None else change(self.joint),
        )


def of_joint(joint: Floats, grades: Floats) -> Tables:
    """Build the tables of two assessors from their joint table of grades, shape (..., q, q)."""
    pairs = joint + np.swapaxes(joint, -1, -2)
    return Tables(grades, pairs, pairs / 2, pairs.sum(axis=-1) / 2, joint)


def ratings_of(ratings: Any) -> Floats:
    """Return grades as floats of shape (units, assessors), or refuse them."""
    wrong = "ratings must be numbers, of shape (units, assessors)"
    table = np.asarray(as_array(ratings, wrong, np.float64))
    if table.ndim != 2:
        raise CranfieldError(wrong)
    if np.isinf(table).any():
        raise CranfieldError("ratings must be finite, or NaN if missing, got an infinite one")
    return table


def on_scale(ratings: Floats, grades: Any = None) -> tuple[Floats, Ints]:
    """Return the scale, and the place of each rating on it, -1 for NaN."""
    is_rated = ~np.isnan(ratings)
    used_grades = np.unique(ratings[is_rated])
    scale = used_grades
    if grades is not None:
        scale = np.unique(as_array(grades, "grades must be numbers", np.float64))
    if not np.isfinite(scale).all():
        raise CranfieldError("grades of a scale must be finite numbers")
    invalid = used_grades[~np.isin(used_grades, scale)]
    if invalid.size:
        raise CranfieldError(
            f"grade {invalid[0]:g} is outside the scale {scale[0]:g} to {scale[-1]:g}"
        )
    codes = np.full(ratings.shape, -1, dtype=np.int64)
    codes[is_rated] = np.searchsorted(scale, ratings[is_rated])
    return scale, codes


MOST_PAIRS = 2**25
"""Maximum number of pairs of labels of one unit."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """Labels as codes, one per assessor and unit, in order of units and assessors.

    topics, assessors: their names.
    topic_of: topic of each unit; shape (units,).
    scale: the grades, ascending.
    unit, assessor, level: of each label; `level` is the place of its grade on the scale.
    notes: on labels that were excluded.
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
        rows, q = len(self.topics), self.scale.size
        if rows * q * q > CELLS:
            sizes = f"{counted(q, 'different grade')} in {counted(rows, 'topic')}"
            raise CranfieldError(f"{sizes} are too many for tables of pairs of grades")
        counts = np.bincount(self.unit * q + self.level, minlength=self.topic_of.size * q)
        n = counts.reshape(-1, q).astype(np.float64)
        labels = n.sum(axis=1)
        pairs, units = np.zeros((2, rows, 1, q, q))
        shares = np.zeros((rows, 1, q))
        np.add.at(shares[:, 0], self.topic_of, n / np.maximum(labels, 1)[:, None])
        is_repeated = labels > 1
        m, topic, n = labels[is_repeated], self.topic_of[is_repeated], n[is_repeated]
        for c in range(q):
            # One row of the table at a time, to avoid a table for each unit in memory.
            row = n[:, c, None] * n
            row[:, c] -= n[:, c]
            np.add.at(pairs[:, 0, c], topic, row / (m - 1)[:, None])
            np.add.at(units[:, 0, c], topic, row / (m * (m - 1))[:, None])
        joint = None
        if len(self.assessors) == 2:
            joint = self._joint(np.zeros(1, dtype=np.int64), *self._pairs_of_labels())
        return Tables(self.scale, pairs, units, shares, joint)

    def by_pair(self, against: str | None) -> tuple[list[tuple[str, str]], Tables]:
        """Count the units of each two assessors that share some; shape (topics, pairs, ...)."""
        first_labels, second_labels = self._pairs_of_labels()
        if against is not None:
            if against not in self.assessors:
                assessor_names = some_of(map(quoted, self.assessors), 10)
                raise PolicyError(
                    f"unknown assessor {quoted(against)}; expected one of: {assessor_names}"
                )
            reference = self.assessors.index(against)
            first, second = (
                self.assessor[first_labels] == reference,
                self.assessor[second_labels] == reference,
            )
            first_labels, second_labels = (
                np.concatenate([first_labels[first], second_labels[second]]),
                np.concatenate([second_labels[first], first_labels[second]]),
            )
        n_assessors = np.int64(len(self.assessors))
        codes, place = np.unique(
            self.assessor[first_labels] * n_assessors + self.assessor[second_labels],
            return_inverse=True,
        )
        if not codes.size:
            raise CranfieldError("no two assessors have a unit in common")
        names = [
            (self.assessors[code // n_assessors], self.assessors[code % n_assessors])
            for code in codes
        ]
        return names, of_joint(self._joint(codes, first_labels, second_labels, place), self.scale)

    def _pairs_of_labels(self) -> tuple[Indices, Indices]:
        """Return each two labels of one unit, as indices of labels."""
        sizes = np.bincount(self.unit, minlength=self.topic_of.size)
        pairs = int((sizes * (sizes - 1) // 2).sum())
        if pairs > MOST_PAIRS:
            raise CranfieldError(f"{counted(pairs, 'pair')} of labels are too many to compare each")
        firsts = [np.empty(0, dtype=np.intp)]
        seconds = [np.empty(0, dtype=np.intp)]
        for distance in range(1, int(sizes.max(initial=1))):
            row = np.flatnonzero(self.unit[:-distance] == self.unit[distance:])
            firsts.append(row)
            seconds.append(row + distance)
        return np.concatenate(firsts), np.concatenate(seconds)

    def _joint(self, pairs: Ints, first: Indices, second: Indices, place: Any = 0) -> Floats:
        q, rows = self.scale.size, len(self.topics)
        shape = (rows, pairs.size, q, q)
        cells = int(np.prod(shape, dtype=np.float64))
        if cells > MOST_PAIRS:
            sizes = f"{counted(pairs.size, 'pair')} of assessors and {counted(q, 'grade')}"
            raise CranfieldError(f"{sizes} in {counted(rows, 'topic')} are too many for tables")
        cell = (self.topic_of[self.unit[first]] * pairs.size + place) * q + self.level[first]
        counts = np.bincount(cell * q + self.level[second], minlength=cells)
        return counts.reshape(shape).astype(np.float64)


def labelled(
    annotations: Any, *, topics: Any = None, grades: Any = None, names: Any = None, axis: Any = None
) -> Ratings:
    """Read labels, judgments by name, or ratings: an array, or a frame of assessors."""
    if is_frame(annotations) and (frame := _frame_of_ratings(annotations)) is not None:
        columns, ratings, unit_topics = frame
        topics = unit_topics if topics is None else topics
        # Names such as column_0 come from the data frame library, and do not name assessors. A
        # frame with many more columns than rows may have an assessor in each row.
        has_names = not all(re.fullmatch(r"(column_)?\d+", name) for name in columns)
        if has_names and axis is None and 2 * len(ratings) < len(columns):
            raise PolicyError(
                f"expected a data frame with a column for each assessor, got {len(ratings)} rows"
                f" and {len(columns)} columns; axis=1 if the columns are assessors, axis=0 if the"
                " rows are"
            )
        if has_names and axis != 0:
            if names is not None:
                raise PolicyError(
                    "names can be set for arrays only: the data frame has column names"
                )
            suspects = [
                name
                for name in columns
                if spelt(name) in SUMMARIES or NO_NAME.fullmatch(spelt(name))
            ]
            if suspects:
                names_listed = some_of(map(quoted, suspects), 5)
                warn(
                    f"columns read as assessors: {names_listed}; remove columns that are not"
                    " assessors",
                    stacklevel=3,
                )
            names, axis = columns, 1
        return _of_ratings(ratings, topics, grades, names, axis)
    if isinstance(annotations, np.ndarray) or (
        isinstance(annotations, list) and not _has_labels(annotations)
    ):
        return _of_ratings(annotations, topics, grades, names, axis)
    if topics is not None or names is not None or axis is not None:
        raise PolicyError("topics, names and axis require ratings; labels have their own")
    return _of_labels(
        read_labels(annotations, grades=None if isinstance(annotations, Labels) else grades)
    )


def _frame_of_ratings(data: Any) -> tuple[list[str], Any, list[Any] | None] | None:
    """Return names and values of a frame of numbers, and its topics; None for a frame of labels.

    Units may be named by columns of topics and documents; a worker or a grade makes it labels.
    """
    import narwhals.stable.v1 as nw

    frame = nw.from_native(data, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    names = [str(name) for name in frame.columns]
    columns = {column.name: column.named_in(names) for column in LABELS.columns}
    ids = [frame.columns[k] for name in ("topic", "doc") for k in columns[name]]
    topics = [frame[frame.columns[k]].to_list() for k in columns["topic"][:1]]
    # Columns of a frame may be named by numbers, which select nothing.
    ratings = frame.drop(ids) if ids else frame
    numeric = all(dtype.is_numeric() for dtype in ratings.schema.values())
    other_columns = [*columns["worker"], *columns["grade"], *columns["order"]]
    if not numeric or not ratings.columns or other_columns:
        return None
    return list(map(str, ratings.columns)), ratings.to_numpy(), topics[0] if topics else None


def _has_labels(rows: list[Any]) -> bool:
    """Return True for rows of labels: rows of ratings hold numbers only."""
    cells = rows[0] if rows else ()
    return not isinstance(cells, (tuple, list)) or any(isinstance(cell, str) for cell in cells)


def _of_labels(labels: Labels) -> Ratings:
    when = labels.order if labels.order is not None else np.arange(len(labels))
    rows = np.lexsort((when, labels.worker, labels.pair))
    pair, worker = labels.pair[rows], labels.worker[rows]
    rows = rows[np.append((pair[1:] != pair[:-1]) | (worker[1:] != worker[:-1]), True)]
    replaced = len(labels) - rows.size
    note = f"{counted(replaced, 'label')} replaced by a later one of the same assessor"
    return Ratings(
        labels.topics,
        labels.workers,
        labels.topic_of.astype(np.intp),
        labels.grades.astype(np.float64),
        labels.pair[rows].astype(np.intp),
        labels.worker[rows].astype(np.intp),
        labels.level[rows],
        (note,) if replaced else (),
    )


def _of_ratings(annotations: Any, topics: Any, grades: Any, names: Any, axis: Any) -> Ratings:
    ratings = ratings_of(annotations)
    rows, columns = ratings.shape
    if axis is None and rows != columns:
        # The number of names or of topics decides which axis has the assessors.
        is_by_row = [rows == len(names)] if names is not None else []
        is_by_row += [columns == len(topics)] if topics is not None else []
        axis = None if not is_by_row else 0 if all(is_by_row) else 1
    if axis is None:
        raise PolicyError(
            f"expected axis, or names of the assessors, got an array of {rows} rows and {columns}"
            " columns; axis=0 if each row is an assessor, axis=1 if each column is"
        )
    check_whole("axis", axis, 0, 1)
    ratings = ratings.T if axis == 0 else ratings
    scale, codes = on_scale(ratings, grades)
    unit, assessor = np.nonzero(codes >= 0)
    if not unit.size:
        raise CranfieldError("expected ratings, got none")
    units, assessors = ratings.shape
    assessor_names = tuple(map(str, range(1, assessors + 1) if names is None else names))
    if len({*assessor_names}) != len(assessor_names) or len(assessor_names) != assessors:
        raise PolicyError(f"names must be {assessors} different names, one per assessor")
    topic_of_unit = ["all"] * units if topics is None else [str(topic) for topic in topics]
    if len(topic_of_unit) != units:
        raise PolicyError(
            f"expected {counted(units, 'topic')}, one per unit, got {len(topic_of_unit)}"
        )
    place = {topic: code for code, topic in enumerate(dict.fromkeys(topic_of_unit))}
    topic_of = np.array([place[topic] for topic in topic_of_unit], dtype=np.int64)
    return Ratings(
        tuple(place), assessor_names, topic_of, scale, unit, assessor, codes[unit, assessor]
    )
