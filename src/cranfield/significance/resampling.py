"""What resampling tests share: scores as integers, whose sums are exact, and counting in threads.

A sum of floats depends on the order of its terms, and so on the processor, the number of threads
and the library that adds. A sum of integers does not. Scores are scaled to integers that are so
large that nothing of them is lost, and so small that every sum still fits a float exactly. The same
seed then gives the same p-values everywhere.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.streams import stream
from cranfield.significance.pairs import TINY, Pairs

EXACT_BITS = 52
"""Integers of so many bits, and their sums, are exact as floats."""

DRAWN = 2**21
"""Random numbers that are drawn at a time; it is part of what a seed means."""


def as_integers(values: Floats, terms: int, bits: int = EXACT_BITS) -> tuple[Floats, float]:
    """Scale values to integers whose sums over `terms` of them are exact.

    Parameters
    ----------
    values
        Numbers; NaN stays.
    terms
        Most numbers that are ever added, each once.
    bits
        Bits that the sum may take.

    Returns
    -------
    integers, unit
        The integers, as floats, and the value of one of them.
    """
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    if largest <= TINY:
        return np.zeros_like(values), 1.0
    exponent = np.frexp(largest)[1] - (bits - int(np.ceil(np.log2(max(2, terms)))))
    unit = float(np.ldexp(1.0, int(exponent)))
    return np.rint(values / unit), unit


def random_signs(resamples: int, topics: int, seed: int) -> NDArray[np.int8]:
    """Return random signs, shape (resamples, topics)."""
    bits = stream(seed).integers(0, 2, size=(resamples, topics), dtype=np.int8)
    return 2 * bits - 1


def count_reaching(
    found: Floats,
    observed: Floats,
    alternative: str,
    *,
    slack: float = 0.0,
    relative: float = 0.0,
) -> NDArray[np.intp]:
    """Count the resampled values at least as extreme as what was observed.

    Parameters
    ----------
    found
        Resampled values, shape (pairs, resamples); they are changed.
    observed
        Observed values, by pair.
    alternative
        `two-sided`, `greater` or `less`.
    slack, relative
        By how much, and by what part of it, a value may miss what was observed: values that are
        equal in truth differ by rounding.
    """
    if alternative == "less":
        np.negative(found, out=found)
        observed = -observed
    elif alternative == "two-sided":
        np.abs(found, out=found)
        observed = np.abs(observed)
    # A factor rather than a term: what is infinite stays so.
    least = observed * (1 - relative * np.sign(observed)) - slack
    return np.asarray((found >= least[:, None]).sum(axis=1))


def quantile_limits(
    pairs: Pairs,
    number: int,
    level: float,
    resampled: Callable[[Pairs], Floats],
    *,
    symmetric: bool = False,
) -> tuple[Floats, Floats]:
    """Return the order statistics of resampled values that hold a share of them in between.

    A test by the same values rejects at level alpha when at most floor(alpha (B + 1)) - 1 of them
    are as extreme as what was observed; so the limits are the values of that rank.

    Parameters
    ----------
    pairs
        All pairs; they are taken block by block.
    number
        Of resampled values that each pair has.
    level
        Share to be held, such as 0.95.
    resampled
        Takes a block of pairs and returns their values, shape (pairs, number); they may be changed.
    symmetric
        Whether the limits are as far from 0 as each other: of the absolute values, as a two-sided
        test counts them. Else as many values are beyond one limit as beyond the other.

    Returns
    -------
    low, high
        By pair; infinite where there are too few values.
    """
    rank = rank_of((1 - level) / (1 if symmetric else 2), number)
    low = np.full(len(pairs), -np.inf)
    high = -low
    if rank < 1:
        return low, high
    for part, block in pairs.slices(number):
        found = resampled(block)
        if symmetric:
            np.abs(found, out=found)
            found.partition(number - rank, axis=1)
            high[part] = found[:, number - rank]
            low[part] = -high[part]
        else:
            found.partition([rank - 1, number - rank], axis=1)
            low[part], high[part] = found[:, rank - 1], found[:, number - rank]
    return low, high


def rank_of(tail: float, number: int) -> int:
    """Return how many of `number` resampled values, and the observed one, a tail holds."""
    # 1 - level is not quite alpha, as floats.
    return int(np.floor(tail * (number + 1) + 1e-9))


def monte_carlo(count: NDArray[np.intp], resamples: int) -> Floats:
    """Return (count + 1) / (B + 1): the observed arrangement is one of those that could be."""
    return np.asarray((count + 1.0) / (resamples + 1.0))
