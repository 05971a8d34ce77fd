"""Swaps on pairs of topic sets, counted by the difference on the first."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.streams import stream
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.resampling import as_integers


def count_swaps(shared: tuple[Any, ...], task: tuple[int, int, int]) -> pl.DataFrame:
    """Compare all pairs of systems on some pairs of topic sets of a size."""
    given, edges, replacement, ties, options, seed = shared
    size, start, stop = task
    drawn = np.stack(
        [
            draw(seed, len(given.topics), size, repeat, replacement=replacement)
            for repeat in range(start, stop)
        ]
    )
    integers, unit = as_integers(given.values, 2 * size)
    first, second = np.triu_indices(len(given.systems), 1)
    totals = np.zeros((4, len(edges)), dtype=np.int64)
    for mine, other in drawn:
        before, after = (
            sums[first] - sums[second]
            for sums in (integers[chosen].sum(axis=0) for chosen in (mine, other))
        )
        # Each integer is off by half a unit at most, and scores by rounding of their own.
        before[np.abs(before) <= 2 * size] = 0.0
        after[np.abs(after) <= 2 * size] = 0.0
        counts = _significant(given, mine, options)
        product = np.sign(before) * np.sign(after)
        tied = product == 0
        swapped = (product < 0) | (tied if ties == "swaps" else False)
        places = _bins(np.abs(before) * (unit / size), edges)
        for row, which in enumerate((True, counts, counts & swapped, counts & tied)):
            some = places if which is True else places[which]
            totals[row] += np.bincount(some, minlength=len(edges))
    return pl.DataFrame(
        {
            "size": pl.repeat(size, len(edges), dtype=pl.Int64, eager=True),
            "bin": pl.int_range(len(edges), dtype=pl.Int64, eager=True),
            **dict(zip(("pairs", "comparisons", "swaps", "ties"), totals, strict=True)),
        }
    )


def draw(
    seed: int, topics: int, size: int, repeat: int, *, replacement: bool = False
) -> NDArray[np.intp]:
    """Draw two sets of topics of the same size, disjoint unless drawn with replacement.

    Returns
    -------
    array
        Indices of topics, shape (2, size).

    Examples
    --------
    >>> draw(0, 6, 3, 0).tolist()
    [[2, 3, 4], [0, 1, 5]]
    """
    random = stream(seed, size, repeat)
    if replacement:
        return random.integers(topics, size=(2, size))
    return np.sort(random.permutation(topics)[: 2 * size].reshape(2, size), axis=1)


def _significant(given: Scores, chosen: NDArray[np.intp], options: Any) -> NDArray[np.bool_]:
    """Tell which pairs count: all, or those that a test finds significant on the chosen topics."""
    if options is None:
        return np.ones(len(given.systems) * (len(given.systems) - 1) // 2, dtype=bool)
    labels = tuple(map(str, range(len(chosen))))
    some = replace(given, values=given.values[chosen], topics=labels)
    return compare(some, jobs=1, **options).is_significant()


def _bins(differences: Floats, edges: tuple[float, ...]) -> NDArray[np.intp]:
    """Return the bin of each difference; one that misses an edge by rounding belongs there."""
    near = np.asarray(edges) * (1 - 1e-9)
    return np.searchsorted(near, differences, side="right") - 1
