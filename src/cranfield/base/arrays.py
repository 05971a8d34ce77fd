"""Types of arrays, and functions that order, rank and round values."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]
LabelsOrIndices: TypeAlias = str | Sequence[str] | Sequence[int] | NDArray[Any] | None
"""A label, a list of labels or indices, or a mask; None selects everything."""

TINY = 1e-200  # values of at most this magnitude are rounded to 0


def argsort_best(values: Floats, lower_is_better: bool = False) -> Indices:
    """Return the indices that sort values, the best first and NaN last; ties keep their order.

    >>> argsort_best(np.array([0.1, np.nan, 0.3, 0.1])).tolist()
    [2, 0, 3, 1]
    """
    return np.argsort(values if lower_is_better else -values, kind="stable")


def is_best_value(values: Floats, lower_is_better: bool = False) -> Bools:
    """Return a mask of the values that equal the best value up to rounding noise."""
    values = remove_noise(values)
    return np.asarray(values == values[argsort_best(values, lower_is_better)[0]])


def remove_noise(values: Floats) -> Floats:
    """Round to 12 significant digits, so that values that differ by rounding errors become equal.

    In floating point the mean of 0.1 and 0.3 differs from the mean of 0.2 and 0.2. Magnitudes up to
    `TINY` are rounded to 0; infinity and NaN are unchanged.

    >>> remove_noise(np.array([0.1 + 0.2, 0.3, 0.0, np.nan])).tolist()
    [0.3, 0.3, 0.0, nan]
    """
    values = np.asarray(values, float)
    is_rounded = np.isfinite(values) & (np.abs(values) > TINY)
    magnitude = np.where(is_rounded, np.abs(values), 1.0)
    scale = 10.0 ** (11 - np.floor(np.log10(magnitude)))
    return np.where(
        is_rounded, np.round(values * scale) / scale, np.where(np.isfinite(values), 0, values)
    )


def round_for_ranking(values: Floats) -> Floats:
    """Round means to 8 decimals; systems with equal rounded means are tied.

    >>> round_for_ranking(np.array([0.1 + 0.2, 0.3, 1e308, np.nan])).tolist()
    [0.3, 0.3, 1e+308, nan]
    """
    with np.errstate(over="ignore", invalid="ignore"):
        rounded_values = np.round(values, 8)
    return np.where(np.isfinite(rounded_values), rounded_values, values)


def compute_ranks(values: Floats, lower_is_better: bool = False) -> Ints:
    """Return the rank of each value, from 1 for the best; NaN is ranked last.

    Values that are equal up to rounding noise have the same rank.

    >>> compute_ranks(np.array([0.1, 0.1 + 0.2, np.nan, 0.3])).tolist()
    [3, 1, 4, 1]
    """
    rounded_values = remove_noise(values)
    sort_keys = np.where(
        np.isnan(rounded_values), np.inf, rounded_values if lower_is_better else -rounded_values
    )
    return np.asarray(1 + np.searchsorted(np.sort(sort_keys), sort_keys), np.int64)


def slice_rows(n_rows: int, n_columns: int, max_numbers: int) -> Iterator[slice]:
    """Yield slices of rows with at most `max_numbers` numbers in all, but at least one row each."""
    size = max(1, max_numbers // max(1, n_columns))
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))
