"""Read ratings, count pairs of grades, and compute agreement coefficients and their intervals."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.assess.labels.reading import LABELS, read_labels, warn_of_summaries
from cranfield.assess.labels.table import Labels, check_size
from cranfield.base.arrays import Bools, Floats, Indices, Ints, slice_rows
from cranfield.base.errors import (
    CranfieldError,
    InputError,
    PolicyError,
    as_array,
    check_integer,
    quote,
    warn,
)
from cranfield.base.spec import Registry
from cranfield.base.streams import make_stream
from cranfield.base.text import inflect, list_some
from cranfield.sources.columns import insert_index, is_frame
from cranfield.sources.schemas import INDEX_NAME, fold_name
from cranfield.sources.summaries import SUMMARIES

MAX_ENTRIES = 2**25  # Maximum number of entries in the tables of all topics (256 MB)
MAX_PAIRS = 2**25  # Maximum number of pairs of labels of the same unit


@dataclass(frozen=True, eq=False)
class Tables:
    """Counts of pairs of grades, shape (..., grades, grades), summed over the graded units."""

    grades: Floats
    # Krippendorff's coincidences: n_c (n_v - [c = v]) / (m - 1) for a unit with m labels
    pairs: Floats
    units: Floats  # Coincidences divided by m, so that each unit has weight 1
    proportions: Floats  # Proportions of labels, summed over units with a label; (..., grades)
    joint: Floats | None = None  # Units by the grades of two assessors; None for more assessors

    def sum_weighted(self, weights: Floats) -> Tables:
        """Compute weighted sums over topics, for weights of shape (..., topics)."""
        return self._map_counts(lambda values: np.tensordot(weights, values, axes=1))

    def sum_other_topics(self) -> Tables:
        """Sum over the other topics, for each topic; shape (topics, ...)."""
        return self._map_counts(lambda values: values.sum(axis=0) - values)

    def sum_topics(self) -> Tables:
        """Sum over topics, the first axis."""
        return self._map_counts(lambda values: values.sum(axis=0))

    def binarize(self, rel: float) -> Tables:
        """Return tables of binary grades: 1 for grades of at least `rel`, else 0."""
        is_relevant = self.grades >= rel
        indicator = np.stack([~is_relevant, is_relevant]).astype(np.float64)

        def merge_grades(counts: Floats) -> Floats:
            """Merge the rows and columns of grades with the same binary grade."""
            return indicator @ counts @ indicator.T

        return Tables(
            grades=np.array([0.0, 1.0]),
            pairs=merge_grades(self.pairs),
            units=merge_grades(self.units),
            proportions=self.proportions @ indicator.T,
            joint=None if self.joint is None else merge_grades(self.joint),
        )

    def _map_counts(self, function: Callable[[Floats], Floats]) -> Tables:
        pairs, units, proportions = map(function, (self.pairs, self.units, self.proportions))
        joint = None if self.joint is None else function(self.joint)
        return Tables(self.grades, pairs, units, proportions, joint)


def build_tables(joint: Floats, grades: Floats) -> Tables:
    """Build tables from counts of units by the grades of two assessors; shape (..., q, q)."""
    pairs = joint + np.swapaxes(joint, -1, -2)
    return Tables(grades, pairs, pairs / 2, pairs.sum(axis=-1) / 2, joint)


@dataclass(frozen=True, eq=False)
class Ratings:
    """Labels in coordinate form, at most one per unit and assessor, sorted by unit and assessor."""

    topics: tuple[str, ...]
    assessors: tuple[str, ...]
    topic_of: Indices  # Topic of each unit
    scale: Floats  # Grades of the scale, ascending
    unit: Indices  # Unit of each label
    assessor: Indices  # Assessor of each label
    level: Ints  # Index of the grade of each label in `scale`
    notes: tuple[str, ...] = ()

    def count_labels(self) -> tuple[list[tuple[str, ...]], Tables]:
        """Count the labels of all assessors jointly; shape (topics, 1, ...)."""
        n_topics, n_grades = len(self.topics), self.scale.size
        sizes = {"topic": n_topics, "grade": n_grades, "other grade": n_grades}
        check_size(sizes, MAX_ENTRIES, "; merge grades")
        cells, n_cells = self.unit * n_grades + self.level, self.topic_of.size * n_grades
        counts = np.bincount(cells, minlength=n_cells).reshape(-1, n_grades).astype(np.float64)
        n_labels = counts.sum(axis=1)
        pairs, units = np.zeros((2, n_topics, 1, n_grades, n_grades))
        proportions = np.zeros((n_topics, 1, n_grades))
        np.add.at(proportions[:, 0], self.topic_of, counts / np.maximum(n_labels, 1)[:, None])
        has_pairs = n_labels > 1
        m, topic, counts = n_labels[has_pairs], self.topic_of[has_pairs], counts[has_pairs]
        for c in range(n_grades):
            # One row of the table at a time, to avoid a table for each unit in memory.
            row = counts[:, c, None] * counts
            row[:, c] -= counts[:, c]
            np.add.at(pairs[:, 0, c], topic, row / (m - 1)[:, None])
            np.add.at(units[:, 0, c], topic, row / (m * (m - 1))[:, None])
        has_two_assessors = len(self.assessors) == 2
        joint = self._count_joint(1, *self._pair_labels()) if has_two_assessors else None
        return [self.assessors], Tables(self.scale, pairs, units, proportions, joint)

    def count_pairs(self, reference: str | None) -> tuple[list[tuple[str, ...]], Tables]:
        """Count labels of each pair of assessors with common units; shape (topics, pairs, ...)."""
        first_labels, second_labels = self._pair_labels()
        if reference is not None:
            if reference not in self.assessors:
                raise PolicyError(
                    f"unknown assessor {quote(reference)}; expected one of:"
                    f" {list_some(map(quote, self.assessors), 10)}"
                )
            is_reference = self.assessor == self.assessors.index(reference)
            is_first, is_second = is_reference[first_labels], is_reference[second_labels]
            first_labels, second_labels = (
                np.concatenate([first_labels[is_first], second_labels[is_second]]),
                np.concatenate([second_labels[is_first], first_labels[is_second]]),
            )
        n_assessors = np.int64(len(self.assessors))
        code_of_pair = self.assessor[first_labels] * n_assessors + self.assessor[second_labels]
        codes, pair_index = np.unique(code_of_pair, return_inverse=True)
        if not codes.size and reference is not None:
            raise CranfieldError(f"assessor {quote(reference)} has no unit in common with another")
        if not codes.size:
            raise CranfieldError("no two assessors labelled the same unit")
        names = [tuple(self.assessors[k] for k in divmod(code, n_assessors)) for code in codes]
        joint = self._count_joint(codes.size, first_labels, second_labels, pair_index)
        return names, build_tables(joint, self.scale)

    def _pair_labels(self) -> tuple[Indices, Indices]:
        """Return the indices of the first and the second label of all pairs of labels of a unit."""
        sizes = np.bincount(self.unit, minlength=self.topic_of.size)
        n_pairs = int((sizes * (sizes - 1) // 2).sum())
        if n_pairs > MAX_PAIRS:
            expected = f"expected at most {MAX_PAIRS:,} pairs of labels of the same unit"
            raise CranfieldError(f"{expected}, got {n_pairs:,}")
        pairs = [np.empty((2, 0), dtype=np.intp)]
        for distance in range(1, int(sizes.max(initial=1))):
            rows = np.flatnonzero(self.unit[:-distance] == self.unit[distance:])
            pairs.append(np.stack([rows, rows + distance]))
        first, second = np.concatenate(pairs, axis=1)
        return first, second

    def _count_joint(self, n_pairs: int, first: Indices, second: Indices, pair: Any = 0) -> Floats:
        """Count units by topic, pair of assessors, and grades of the two labels."""
        n_grades = self.scale.size
        shape = (len(self.topics), n_pairs, n_grades, n_grades)
        sizes = dict(zip(("topic", "assessor pair", "grade", "other grade"), shape, strict=True))
        check_size(sizes, MAX_ENTRIES, "; use reference='ASSESSOR', or merge grades")
        cell = self.topic_of[self.unit[first]] * n_pairs + pair
        cell = (cell * n_grades + self.level[first]) * n_grades + self.level[second]
        return np.bincount(cell, minlength=math.prod(shape)).reshape(shape).astype(np.float64)


def read_ratings(
    annotations: Any, *, topics: Any = None, grades: Any = None, names: Any = None, axis: Any = None
) -> Ratings:
    """Read ratings from labels, or from an array or data frame with assessors on one axis."""
    if is_frame(annotations) and (content := _read_rating_frame(annotations)) is not None:
        columns, ratings, unit_topics = content
        topics = unit_topics if topics is None else topics
        # Names such as column_0 come from the data frame library, and do not name assessors. A
        # frame with many more columns than rows may have an assessor in each row.
        has_names = not all(re.fullmatch(r"(column_)?\d+", name) for name in columns)
        if has_names and axis is None and 2 * len(ratings) < len(columns):
            raise PolicyError(
                f"expected a data frame with a column for each assessor, got {len(ratings)} rows"
                f" and {len(columns)} columns; use axis=1 if columns are assessors, or axis=0 if"
                " rows are"
            )
        if has_names and axis != 0:
            if names is not None:
                raise PolicyError(
                    "the columns of a data frame name the assessors; names requires axis=0"
                )
            is_id = [_is_unit_id(name, ratings, k) for k, name in enumerate(columns)]
            if any(is_id):
                ids = [name for name, is_unit_id in zip(columns, is_id, strict=True) if is_unit_id]
                warn(f"columns read as ids of units: {list_some(map(quote, ids), 5)}")
                columns = [name for name in columns if name not in ids]
                ratings = ratings[:, ~np.array(is_id)]
            unit_columns = _find_unit_columns(columns, ratings)
            if 0 < len(unit_columns) < len(columns):
                warn(
                    f"columns read as assessors: {list_some(map(quote, unit_columns), 5)}; remove"
                    " columns that are not assessors"
                )
            names, axis = columns, 1
        return _convert_array(ratings, topics, grades, names, axis)
    is_array = isinstance(annotations, (list, np.ndarray))
    if isinstance(annotations, list) and annotations:
        # Rows of ratings consist of numbers only; rows of labels have text.
        row = annotations[0]
        is_array = isinstance(row, (tuple, list)) and not any(isinstance(cell, str) for cell in row)
    if is_array:
        return _convert_array(annotations, topics, grades, names, axis)
    if topics is not None or names is not None or axis is not None:
        raise PolicyError("topics, names and axis apply to arrays and data frames, got labels")
    scale = None if isinstance(annotations, Labels) else grades
    try:
        return _convert_labels(read_labels(annotations, grades=scale))
    except InputError as error:
        advice = "; use cf.assess.read_labels with worker_columns="
        error.args = (str(error).replace("; use worker_columns=", advice),)
        raise


_UNIT_IDS = {"id", "subject", "subjectid", "case", "caseid", "target", "row", "rowid"}
"""Names of columns of unit ids other than documents, as normalised by `schemas.fold_name`."""


def _is_unit_id(name: str, ratings: Floats, column: int) -> bool:
    """Return True for a column with an id of each unit: by its name, or because it counts rows."""
    ids, n_units = ratings[:, column], len(ratings)
    if fold_name(name) in _UNIT_IDS:
        return np.unique(ids).size == n_units
    other_ratings = np.delete(ratings, column, axis=1)
    n_grades = np.unique(other_ratings[~np.isnan(other_ratings)]).size
    is_row_number = bool((np.diff(ids) == 1).all()) and ids[0] in (0, 1)
    return n_units >= 5 and 0 < n_grades <= n_units / 2 and is_row_number


_DECISION_OR_STATISTIC = re.compile(
    r"(n|num|number|max|min|mean|avg|median|sum|total|std)[\W_](of[\W_])?[a-z].*"
    r"|(.*[\W_])?(counts?|len|length|words|tokens|chars|characters|seconds|minutes|duration|year"
    r"|agreement|disagreement|kappa|alpha|entropy|confidence|difficulty|mode)([\W_]score)?"
    r"|(.*[\W_])?(final|consensus|majority|adjudicat\w+|aggregated?|resolved|agreed|truth|target"
    r"|expected|reference)([\W_].+)?",
    re.IGNORECASE,
)
"""Names of columns with a decision on a unit, a statistic of its labels, or its size."""


def _find_unit_columns(names: list[str], ratings: Floats) -> list[str]:
    """Return the columns that seem to describe units: by their names, or because of their scale."""
    decisive_indices = LABELS.find_unused(names, ())[2]
    low, high = np.fmin.reduce(ratings), np.fmax.reduce(ratings)
    n_ratings = (~np.isnan(ratings)).sum(axis=0)
    # With two assessors, one may just be stricter.
    has_scale = (n_ratings >= 3) & (np.count_nonzero(n_ratings) > 2)
    return [
        name
        for k, name in enumerate(names)
        if k in decisive_indices
        or fold_name(name) in SUMMARIES
        or INDEX_NAME.fullmatch(fold_name(name))
        or _DECISION_OR_STATISTIC.fullmatch(name)
        or (has_scale[k] and low[k] > np.fmax.reduce(np.delete(high, k)))
        or (has_scale[k] and high[k] < np.fmin.reduce(np.delete(low, k)))
    ]


def _read_rating_frame(data: Any) -> tuple[list[str], Any, list[Any] | None] | None:
    """Return assessors, ratings and topics of a data frame of numbers; None for labels."""
    import narwhals.stable.v1 as nw
    from narwhals.stable.v1 import selectors

    frame = nw.from_native(insert_index(data), eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return None
    n_levels = len(frame.columns) - len(data.columns)  # The index of a pandas frame has no ratings
    names = [str(name) for name in frame.columns]
    columns = {column.name: column.find_in(names) for column in LABELS.columns}
    unit_columns = {*range(n_levels), *columns["topic"], *columns["doc"]}
    ids = [frame.columns[k] for k in sorted(unit_columns)]
    topics = [frame[frame.columns[k]].to_list() for k in columns["topic"][:1]]
    ratings = frame.drop(ids) if ids else frame
    if columns["grade"] and not columns["worker"] and len(ratings.columns) > 2:
        raise InputError(
            "expected columns worker and grade, or a column of numbers for each assessor, got"
            f" column {quote(names[columns['grade'][0]])}, which is read as the grade of each row,"
            " without a column worker; remove or rename it",
            source="labels",
        )
    is_label = any(k >= n_levels for name in ("worker", "grade", "order") for k in columns[name])
    if is_label or not ratings.columns:
        return None
    for name in ids:
        warn_of_summaries(name, frame[name].to_list(), "labels")
    ratings = ratings.with_columns(selectors.boolean().cast(nw.Int8))
    text_column = next((k for k, dtype in ratings.schema.items() if not dtype.is_numeric()), None)
    if text_column is not None:
        raise InputError(
            "expected columns worker and grade, or a column of numbers for each assessor, got text"
            f" in column {quote(text_column)}; for other names, use read_labels with"
            " columns={'worker': ..., 'grade': ...}; for grades as text, with worker_columns=[...],"
            " and grades={...} if they are words",
            source="labels",
        )
    return list(map(str, ratings.columns)), ratings.to_numpy(), topics[0] if topics else None


def _convert_labels(labels: Labels) -> Ratings:
    sequence = labels.order if labels.order is not None else np.arange(len(labels))
    rows = np.lexsort((sequence, labels.worker, labels.pair))
    pair, worker = labels.pair[rows], labels.worker[rows]
    rows = rows[np.append((pair[1:] != pair[:-1]) | (worker[1:] != worker[:-1]), True)]
    n_replaced = len(labels) - rows.size
    note = f"{inflect(n_replaced, 'label')} replaced by a later one of the same unit and assessor"
    return Ratings(
        labels.topics,
        labels.workers,
        labels.topic_of.astype(np.intp),
        labels.grades.astype(np.float64),
        labels.pair[rows].astype(np.intp),
        labels.worker[rows].astype(np.intp),
        labels.level[rows],
        (note,) if n_replaced else (),
    )


def _warn_of_counts(ratings: Floats) -> None:
    """Warn of counts of labels by grade: units have the same sum, and some count equals the sum."""
    sums = ratings.sum(axis=1)
    has_sum = len(sums) > 2 and sums[0] > 1 and bool((sums == sums[0]).all())
    has_counts = has_sum and ratings.min() == 0 and not (ratings % 1).any()
    if has_counts and (ratings == sums[0]).any() and np.ptp(ratings, axis=0).any():
        warn(
            f"the values of each unit sum to {sums[0]:g}, as counts of labels by grade do; ratings"
            " must be the grades that each assessor gave"
        )


def _convert_array(annotations: Any, topics: Any, grades: Any, names: Any, axis: Any) -> Ratings:
    message = "ratings must be numbers with two axes, units and assessors"
    ratings = np.asarray(as_array(annotations, message, np.float64))
    if ratings.ndim != 2:
        raise CranfieldError(f"{message}, got shape {ratings.shape}")
    if np.isinf(ratings).any():
        raise CranfieldError("ratings must be finite, or NaN if missing, got infinity")
    n_rows, n_columns = ratings.shape
    if axis is None and n_rows != n_columns:
        # The number of names or of topics decides which axis has the assessors.
        is_by_row = [n_rows == len(names)] if names is not None else []
        is_by_row += [n_columns == len(topics)] if topics is not None else []
        if is_by_row:
            axis = 0 if all(is_by_row) else 1
    if axis is None:
        names_text = "" if n_rows == n_columns else " or names of the assessors"
        raise PolicyError(
            f"an array of {n_rows} rows and {n_columns} columns requires axis{names_text}; use"
            " axis=0 if each row is an assessor, or axis=1 if each column is"
        )
    check_integer("axis", axis, 0, 1)
    ratings = ratings.T if axis == 0 else ratings
    is_rated = ~np.isnan(ratings)
    _warn_of_counts(ratings)
    used_grades = np.unique(ratings[is_rated])
    scale = used_grades
    if grades is not None:
        scale = np.unique(as_array(grades, "grades must be numbers", np.float64))
    if not np.isfinite(scale).all():
        raise CranfieldError("grades of a scale must be finite numbers, got infinity or NaN")
    invalid_grades = used_grades[~np.isin(used_grades, scale)]
    if invalid_grades.size:
        raise CranfieldError(
            f"unknown grade {invalid_grades[0]:g}; expected one of:"
            f" {list_some((f'{grade:g}' for grade in scale), 10)}"
        )
    codes = np.full(ratings.shape, -1, dtype=np.int64)
    codes[is_rated] = np.searchsorted(scale, ratings[is_rated])
    unit, assessor = np.nonzero(codes >= 0)
    if not unit.size:
        raise CranfieldError("expected ratings, got none")
    n_units, n_assessors = ratings.shape
    assessor_names = tuple(map(str, range(1, n_assessors + 1) if names is None else names))
    if len({*assessor_names}) != len(assessor_names) or len(assessor_names) != n_assessors:
        expected = f"names must be {n_assessors} distinct names, one per assessor"
        raise PolicyError(f"{expected}, got {list_some(map(quote, assessor_names), 10)}")
    topic_of_unit = ["all"] * n_units if topics is None else [str(topic) for topic in topics]
    if len(topic_of_unit) != n_units:
        raise PolicyError(
            f"expected {inflect(n_units, 'topic')}, one per unit, got {len(topic_of_unit)}"
        )
    topic_codes = {topic: code for code, topic in enumerate(dict.fromkeys(topic_of_unit))}
    topic_of = np.array([topic_codes[topic] for topic in topic_of_unit], dtype=np.int64)
    return Ratings(
        tuple(topic_codes), assessor_names, topic_of, scale, unit, assessor, codes[unit, assessor]
    )


def _compute_linear_distances(grades: Floats) -> Floats:
    return np.abs(grades[..., :, None] - grades[..., None, :])


def _compute_quadratic_distances(grades: Floats) -> Floats:
    return _compute_linear_distances(grades) ** 2


def _compute_ratio_distances(grades: Floats) -> Floats:
    if (grades < 0).any():
        raise PolicyError("ratio distances require grades >= 0, got grades below 0")
    sums = grades[..., :, None] + grades[..., None, :]
    return np.asarray((_compute_linear_distances(grades) / np.where(sums > 0, sums, 1)) ** 2)


DISTANCES: dict[str, Callable[[Floats], Floats]] = {
    "nominal": lambda grades: (_compute_linear_distances(grades) != 0).astype(np.float64),
    "ordinal": _compute_quadratic_distances,
    "interval": _compute_quadratic_distances,
    "ratio": _compute_ratio_distances,
    "linear": _compute_linear_distances,
    "quadratic": _compute_quadratic_distances,
}
"""Distance functions by name; the function of `ordinal` is applied to mean ranks, not grades."""


def compute_grade_distances(name: str, grades: Floats, frequencies: Floats | None = None) -> Floats:
    r"""Compute the distances between all pairs of grades; shape (..., grades, grades).

    The distance between grades c and v is, for `nominal`, 1 if they differ; for `linear`,
    :math:`|c - v|`; for `quadratic` and `interval`, :math:`(c - v)^2`; for `ratio`,
    :math:`((c - v)/(c + v))^2`, all of grades divided by their range. For `ordinal` and c <= v, it
    is :math:`(\sum_{g=c}^{v} n_g - (n_c + n_v)/2)^2`, with :math:`n_g` the frequency of grade g.
    `grades` are ascending. Sources: Cohen (1968) for weights, Krippendorff (2011) for levels.
    """
    if name == "ordinal":
        assert frequencies is not None
        # The ordinal distance is the squared difference of mean ranks.
        return _compute_quadratic_distances(np.cumsum(frequencies, axis=-1) - frequencies / 2)
    span = np.ptp(grades) if grades.size else 0.0
    return DISTANCES[name](grades / span if span > 0 else grades)


def compute_observed_agreement(tables: Tables) -> Floats:
    """Compute observed agreement: the proportion of equal pairs of labels, averaged over units."""
    return _divide(np.trace(tables.units, axis1=-2, axis2=-1), tables.units.sum(axis=(-2, -1)))


# Of the units labelled by two assessors, a are relevant for both, b only for the first, c only for
# the second, and d for neither. With more assessors, pairs of labels are averaged over units.
def compute_positive_agreement(tables: Tables) -> Floats:
    """Compute positive agreement: 2a / (2a + b + c) (Cicchetti and Feinstein 1990)."""
    return _divide(tables.units[..., 1, 1], tables.units[..., 1, :].sum(axis=-1))


def compute_negative_agreement(tables: Tables) -> Floats:
    """Compute negative agreement: 2d / (2d + b + c) (Cicchetti and Feinstein 1990)."""
    return _divide(tables.units[..., 0, 0], tables.units[..., 0, :].sum(axis=-1))


def compute_overlap(tables: Tables) -> Floats:
    """Compute overlap of relevant documents: a / (a + b + c) (Voorhees 2000)."""
    n_common = tables.units[..., 1, 1]
    return _divide(n_common, n_common + 2 * tables.units[..., 0, 1])


def compute_cohen_kappa(tables: Tables, distance: str = "nominal") -> Floats:
    r"""Compute Cohen's kappa of two assessors, weighted or not (Cohen 1960, 1968).

    .. math:: \kappa = 1 - \frac{\sum o_{cv} d_{cv}}{\sum e_{cv} d_{cv}}, \qquad
        e_{cv} = \frac{r_c\, s_v}{N}

    with o the numbers of units by the grades of both assessors, r and s their row and column sums,
    N their total, and d the distances.
    """
    joint = tables.joint
    assert joint is not None, "two assessors are required"
    expected = joint.sum(axis=-1)[..., :, None] * joint.sum(axis=-2)[..., None, :]
    return _correct_for_chance(joint, expected, _sum(joint), tables, distance)


def compute_fleiss_kappa(tables: Tables, distance: str = "nominal") -> Floats:
    """Compute Fleiss' kappa (1971), which equals Scott's pi (1955) for two assessors.

    With missing labels, observed agreement is over units with two labels or more, and the
    proportion of a grade is the mean over all units with a label (Gwet 2014).
    """
    proportions = tables.proportions / _mask_zeros(tables.proportions.sum(axis=-1, keepdims=True))
    expected = proportions[..., :, None] * proportions[..., None, :]
    joint = tables.units / _mask_zeros(_sum(tables.units))
    return _correct_for_chance(joint, expected, 1.0, tables, distance)


def compute_krippendorff_alpha(tables: Tables, distance: str = "ordinal") -> Floats:
    r"""Compute Krippendorff's alpha (2011) of any number of assessors; labels may be missing.

    .. math:: \alpha = 1 - \frac{\sum o_{cv} d_{cv}}{\sum e_{cv} d_{cv}}, \qquad
        e_{cv} = \frac{n_c (n_v - [c = v])}{n - 1}

    with o the coincidences of grades, :math:`n_c` their row sums, n their total, d the distances.
    """
    frequency = tables.pairs.sum(axis=-1)
    # The distance on the diagonal is 0, so the -1 there does not matter.
    expected = frequency[..., :, None] * frequency[..., None, :]
    return _correct_for_chance(tables.pairs, expected, _sum(tables.pairs) - 1, tables, distance)


def compute_gwet_ac(tables: Tables, distance: str = "nominal") -> Floats:
    r"""Compute Gwet's AC1, or AC2 with distances other than nominal (Gwet 2008, 2014).

    .. math:: \frac{p_a - p_e}{1 - p_e}, \qquad
        p_e = \frac{\sum w_{cv}}{q(q-1)} \sum_c \pi_c (1 - \pi_c), \qquad w = 1 - d / \max d

    with q grades on the scale, used or not, :math:`p_a` the mean over units of w of the pairs of
    labels, :math:`\pi_c` the mean proportion of grade c over units with a label, d the distances.
    """
    distances, n_grades = compute_grade_distances(distance, tables.grades), tables.grades.size
    if not (max_distance := distances.max(initial=0.0)) > 0:
        return np.full(tables.units.shape[:-2], np.nan)
    weights = 1 - distances / max_distance
    n_units = tables.units.sum(axis=(-2, -1))
    agreement = _divide((tables.units * weights).sum(axis=(-2, -1)), n_units)
    proportions = tables.proportions / _mask_zeros(tables.proportions.sum(axis=-1))[..., None]
    mean_weight = weights.sum() / (n_grades * (n_grades - 1))
    expected = mean_weight * (proportions * (1 - proportions)).sum(axis=-1)
    return _divide(agreement - expected, 1 - expected)


def _correct_for_chance(
    counts: Floats, expected: Floats, size: Floats | float, tables: Tables, distance: str
) -> Floats:
    """Return 1 - observed/expected disagreement, with `expected` scaled by `size`."""
    distance_matrix = compute_grade_distances(distance, tables.grades, tables.pairs.sum(axis=-1))
    disagreement = (counts * size * distance_matrix).sum(axis=(-2, -1))
    return 1 - _divide(disagreement, (expected * distance_matrix).sum(axis=(-2, -1)))


def _sum(table: Floats) -> Floats:
    return np.asarray(table.sum(axis=(-2, -1), keepdims=True))


def _mask_zeros(size: Floats) -> Floats:
    """Replace sizes of 0 by NaN, so that quotients are undefined."""
    return np.asarray(np.where(size > 0, size, np.nan))


def _divide(numerator: Floats, denominator: Floats) -> Floats:
    return np.asarray(numerator / _mask_zeros(denominator))


@dataclass(frozen=True)
class Formula:
    """Function of a coefficient, with its default distance, requirements and lower bound."""

    function: Callable[..., Floats]
    distance: str = ""
    requires_binary: bool = False
    requires_two_assessors: bool = False
    min_value: float = -1.0


COEFFICIENTS = Registry(
    "measure of agreement",
    components={
        "observed": Formula(compute_observed_agreement, min_value=0.0),
        "positive": Formula(compute_positive_agreement, requires_binary=True, min_value=0.0),
        "negative": Formula(compute_negative_agreement, requires_binary=True, min_value=0.0),
        "overlap": Formula(compute_overlap, requires_binary=True, min_value=0.0),
        "kappa": Formula(compute_cohen_kappa, "nominal", requires_two_assessors=True),
        "fleiss": Formula(compute_fleiss_kappa, "nominal"),
        "alpha": Formula(compute_krippendorff_alpha, "ordinal"),
        "AC1": Formula(compute_gwet_ac),
        # No lower bound: chance agreement approaches 1 if most grades are close to each other.
        "AC2": Formula(compute_gwet_ac, "quadratic", min_value=-math.inf),
    },
)

_FORM = re.compile(r"(\w+)(?:\(([^()]*)\))?")
_REL = re.compile(r"rel=(-?\d+)")


@dataclass(frozen=True)
class Coefficient:
    """Agreement coefficient with its distance and lowest relevant grade."""

    name: str
    distance: str = ""
    rel: int | None = None

    @property
    def formula(self) -> Formula:
        return COEFFICIENTS[self.name]

    def compute(self, tables: Tables) -> Floats:
        """Compute the coefficient for tables along the leading axes."""
        if self.rel is not None:
            tables = tables.binarize(self.rel)
        options = {"distance": self.distance} if self.distance else {}
        return self.formula.function(tables, **options)

    def __str__(self) -> str:
        # Unweighted kappa is usually written without its distance.
        is_default = self.distance == self.formula.distance == "nominal"
        options = [self.distance] if self.distance and not is_default else []
        options += [] if self.rel is None else [f"rel={self.rel}"]
        return f"{self.name}({', '.join(options)})" if options else self.name


def parse_coefficient(text: str | Coefficient, rel: int | None = None) -> Coefficient:
    """Parse `name`, `name(distance)`, `name(rel=GRADE)` or `name(distance, rel=GRADE)`."""
    if isinstance(text, Coefficient):
        return text
    form = _FORM.fullmatch(str(text).strip())
    if not form:
        raise PolicyError(
            f"expected a measure of agreement such as alpha or kappa(quadratic), got {quote(text)}"
        )
    name = COEFFICIENTS.find(form.group(1))
    formula = COEFFICIENTS[name]
    distance = formula.distance
    for argument in map(str.strip, form.group(2).split(",") if form.group(2) else []):
        if match := _REL.fullmatch(argument):
            rel = int(match.group(1))
        elif argument in DISTANCES and formula.distance:
            distance = argument
        else:
            distances = [
                d for d in DISTANCES if formula.distance and (name, d) != ("AC2", "ordinal")
            ]
            options = ", ".join([*distances, "rel=GRADE"])
            raise PolicyError(f"{name} accepts {options}, got {quote(argument)}")
    if name == "AC2" and distance == "ordinal":
        raise PolicyError(
            "AC2 does not support the ordinal distance, which depends on how often each grade"
            " occurs; use AC2(linear) or AC2(quadratic)"
        )
    return Coefficient(name, distance, 1 if formula.requires_binary and rel is None else rel)


def parse_coefficients(
    measures: str | Coefficient | Iterable[str | Coefficient] | None,
    rel: int | None,
    has_two_assessors: bool,
) -> tuple[Coefficient, ...]:
    """Parse distinct coefficients; the default ones include kappa if there are two assessors."""
    if measures is None:
        measures = ("observed", "kappa" if has_two_assessors else "fleiss", "alpha", "AC1")
    elif isinstance(measures, (str, Coefficient)):
        measures = [measures]
    parsed = tuple(dict.fromkeys(parse_coefficient(measure, rel) for measure in measures))
    if not parsed:
        raise PolicyError("expected at least one measure of agreement, got none")
    for measure in parsed:
        if measure.formula.requires_two_assessors and not has_two_assessors:
            raise PolicyError(
                f"{measure} requires two assessors; use pairs=True to compare each pair, or the"
                " measure fleiss or alpha"
            )
    return parsed


MAX_VALUES = 2**22  # Maximum number of values in memory at a time for tables of resampled topics
RESAMPLES_PER_STREAM = 500  # Number of resamples per random stream
MIN_SPREAD = 1e-12  # Spread up to which values differ only by rounding


def bootstrap_topics(
    tables: Tables, statistic: Callable[[Tables], Floats], resamples: int, seed: int
) -> Floats:
    """Compute a statistic on bootstrap resamples of the topics; shape (resamples, ...)."""
    n_topics = len(tables.pairs)
    probabilities = np.full(n_topics, 1 / n_topics)
    streams = [make_stream(seed, start) for start in range(0, resamples, RESAMPLES_PER_STREAM)]
    size = RESAMPLES_PER_STREAM
    blocks = [rng.multinomial(n_topics, probabilities, size=size) for rng in streams]
    weights = np.concatenate(blocks)[:resamples].astype(np.float64)
    n_values = sum(counts[0].size for counts in (tables.pairs, tables.units, tables.proportions))
    slices = slice_rows(resamples, n_values * 2, MAX_VALUES)
    return np.concatenate([statistic(tables.sum_weighted(weights[rows])) for rows in slices])


def compute_jackknife_intervals(
    value: Floats,
    replicates: Floats,
    has_units: Bools,
    confidence: float,
    *,
    is_bounded: bool = True,
    is_proportion: Any = False,
) -> tuple[Floats, Floats]:
    r"""Compute jackknife t intervals from values and their leave-one-topic-out replicates.

    `value` has shape (...); `replicates` and `has_units` have shape (topics, ...). `has_units`
    marks the topics that contribute to a value. If `is_bounded` (by 1), intervals are computed on
    the scale of :math:`\ln(1 - \theta)` and end below 1. If `is_proportion`, the scale is the log
    odds, unless a replicate is 0 or 1. With n topics, the half-width is s times a t quantile, with
    the degrees of freedom of :func:`estimate_degrees_of_freedom`:

    .. math:: s^2 = \frac{n-1}{n} \sum_i (\theta_{(i)} - \bar\theta_{(\cdot)})^2

    Source: Efron and Stein (1981).
    """
    from scipy.special import expit, stdtrit

    n_topics = has_units.sum(axis=0)
    is_inside = ~has_units | ((replicates > 0) & (replicates < 1))
    has_log_odds = is_proportion & is_inside.all(axis=0)

    def transform(values: Floats) -> Floats:
        if not is_bounded:
            return values
        return np.asarray(np.where(has_log_odds, np.log(values), 0.0) - np.log1p(-values))

    def transform_back(bounds: Floats) -> Floats:
        return np.where(has_log_odds, expit(bounds), -np.expm1(-bounds)) if is_bounded else bounds

    with np.errstate(divide="ignore", invalid="ignore"):
        centre, transformed = transform(value), transform(replicates)
        mean = np.where(has_units, transformed, 0).sum(axis=0) / n_topics
        deviations = np.where(has_units, transformed - mean, 0)
        spread = np.sqrt((n_topics - 1) / n_topics * (deviations**2).sum(axis=0))
        df = estimate_degrees_of_freedom(deviations, n_topics)
        half_width = stdtrit(df, (1 + confidence) / 2) * spread
        low, high = transform_back(centre - half_width), transform_back(centre + half_width)
    # Without differences between topics, the variance cannot be estimated.
    is_defined = (n_topics > 1) & np.isfinite(spread) & (spread > MIN_SPREAD)
    return np.where(is_defined, low, np.nan), np.where(is_defined, high, np.nan)


def estimate_degrees_of_freedom(deviations: Floats, n_topics: Ints) -> Floats:
    r"""Estimate the degrees of freedom of a variance over topics (O'Neill 2014).

    .. math:: \nu = \min\left(n - 1, \frac{2n}{\hat\kappa - 1}\right), \qquad
        \hat\kappa = \frac{n \sum_i d_i^4}{(\sum_i d_i^2)^2}

    but at least 1, with n the number of topics and :math:`d_i` the deviation of topic i from their
    mean. `deviations` has shape (topics, ...), and is 0 for topics that `n_topics` does not count.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        kurtosis = n_topics * (deviations**4).sum(axis=0) / (deviations**2).sum(axis=0) ** 2
        estimate = 2 * n_topics / np.maximum(kurtosis - 1, MIN_SPREAD)
    return np.asarray(np.fmax(np.fmin(n_topics - 1, estimate), 1.0))


def compute_percentile_intervals(resampled: Floats, confidence: float) -> tuple[Floats, Floats]:
    """Compute percentile intervals from bootstrap values other than NaN; NaN if all are NaN."""
    is_defined = ~np.isnan(resampled).all(axis=0)
    low, high = np.full((2, *resampled.shape[1:]), np.nan)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    if is_defined.any():
        low[is_defined], high[is_defined] = np.nanquantile(resampled[:, is_defined], tails, axis=0)
    return low, high
