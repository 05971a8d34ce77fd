"""Two sets of values of the same things, and the signs of all pairs, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError

Signs = NDArray[np.int8]

BLOCK = 2**20
"""Signs in a block: enough to be fast, few enough to stay in the cache."""


def same_things(x: Any, y: Any) -> tuple[Floats, Floats]:
    """Return both as shape (sets, things); one set may stand against several."""
    a, b = _numbers(x), _numbers(y)
    if a.shape[1] != b.shape[1]:
        raise CranfieldError(f"values of {a.shape[1]} things do not go with {b.shape[1]} others")
    if len(a) != len(b) and 1 not in {len(a), len(b)}:
        raise CranfieldError(f"{len(a)} sets of values do not go with {len(b)} others")
    one, other = np.broadcast_arrays(a, b)
    return one, other


def _numbers(values: Any) -> Floats:
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.empty(0).reshape(0, 0, 0)
    if found.ndim not in {1, 2}:
        raise CranfieldError("values are numbers, of shape (things,) or (sets, things)")
    return np.atleast_2d(found)


def blocks(sets: int, things: int) -> Iterator[tuple[slice, slice]]:
    """Yield which sets, and which of their things against all others, fit into memory."""
    some = max(1, BLOCK // max(1, things * things))
    rows = max(1, BLOCK // max(1, things * min(some, sets)))
    for start in range(0, sets, some):
        for row in range(0, things, rows):
            yield slice(start, start + some), slice(row, row + rows)


def signs(values: Floats, rows: slice) -> Signs:
    """Compare some things with all: 1 where the other is higher; shape (sets, rows, things)."""
    mine, others = values[:, rows, None], values[:, None, :]
    return np.subtract(others > mine, others < mine, dtype=np.int8)
