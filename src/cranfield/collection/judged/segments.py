"""Sums and scans over consecutive rows of the same cell: what lets measures do without loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints


def places(cells: NDArray[Any]) -> Ints:
    """Number the rows of each cell from 1; equal cells stand together."""
    rows = np.arange(cells.size, dtype=np.int64)
    first = np.ones(cells.size, dtype=bool)
    first[1:] = cells[1:] != cells[:-1]
    return rows - np.maximum.accumulate(np.where(first, rows, 0)) + 1


def ranges(starts: Ints, stops: Ints) -> tuple[Ints, Ints]:
    """Lay ranges of numbers one behind the other: of each, the range it is in, and the number."""
    sizes = stops - starts
    of = np.repeat(np.arange(sizes.size), sizes)
    return of, np.arange(of.size) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)


def scan(values: Floats, place: Ints, combine: Callable[..., Any]) -> Floats:
    """Running total (`np.add`) or product (`np.multiply`) within each cell, by doubling."""
    total = np.array(values, dtype=np.float64)
    step = 1
    longest = int(place.max(initial=0))
    rows = np.arange(place.size)
    while step < longest:
        rows = rows[place[rows] > step]
        total[rows] = combine(total[rows], total[rows - step])
        step *= 2
    return total


def ratio(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """Divide, with 0 where the divisor is 0, by the field's convention; fractions remain such."""
    above, below = np.broadcast_arrays(above, below)
    kind = np.result_type(above, below, np.float64)
    with np.errstate(invalid="ignore"):
        out: Floats = np.divide(above, below, out=np.zeros(above.shape, kind), where=below != 0)
    return out
