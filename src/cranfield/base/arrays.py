"""Types of arrays by what they hold, and values in order."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Indices = NDArray[np.intp]


def best_first(values: Floats, lower_is_better: bool = False) -> Indices:
    """Order by value, the best first; equal ones stay in their order, NaN comes last.

    Examples
    --------
    >>> best_first(np.array([0.1, np.nan, 0.3, 0.1])).tolist()
    [2, 0, 3, 1]
    """
    return np.argsort(values if lower_is_better else -values, kind="stable")


def best(values: Floats, lower_is_better: bool = False) -> Bools:
    """Tell which values are the best one; none where all are NaN."""
    return np.asarray(values == values[best_first(values, lower_is_better)[0]])


def row_slices(rows: int, numbers_each: int, limit: int) -> Iterator[slice]:
    """Yield slices of rows, each of as many as hold `limit` numbers, and of one at least."""
    size = max(1, limit // max(1, numbers_each))
    for start in range(0, rows, size):
        yield slice(start, min(start + size, rows))
