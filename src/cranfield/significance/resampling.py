"""What resampling tests share: scores as integers, whose sums are exact, and counting in threads.

A sum of floats depends on the order of its terms, and so on the processor, the number of threads
and the library that adds. A sum of integers does not. Scores are scaled to integers that are so
large that nothing of them is lost, and so small that every sum still fits a float exactly. The same
seed then gives the same p-values everywhere.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.streams import stream
from cranfield.significance.pairs import TINY

EXACT_BITS = 52
"""Integers of so many bits, and their sums, are exact as floats."""

DRAWN = 2**21
"""Random numbers that are drawn at a time; it is part of what a seed means."""


def as_integers(values: Floats, terms: int, bits: int = EXACT_BITS) -> tuple[Floats, float]:
    """Scale values to integers, as floats, whose sums over `terms` of them are exact.

    Such a sum takes up to so many bits; NaN stays. Also returned is the value of one unit.
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
    resampled: Floats,
    observed: Floats,
    alternative: str,
    *,
    slack: float = 0.0,
    relative: float = 0.0,
) -> NDArray[np.intp]:
    """Count the resampled values, shape (pairs, resamples), as extreme as what was observed.

    They are changed. By `slack`, and by the part `relative` of it, a value may miss what was
    observed: values that are equal in truth differ by rounding.
    """
    if alternative == "less":
        np.negative(resampled, out=resampled)
        observed = -observed
    elif alternative == "two-sided":
        np.abs(resampled, out=resampled)
        observed = np.abs(observed)
    # A factor rather than a term: what is infinite stays so.
    least = observed * (1 - relative * np.sign(observed)) - slack
    return np.asarray((resampled >= least[:, None]).sum(axis=1))


def rank_of(tail: Floats | float, number: int) -> NDArray[np.intp]:
    """Return how many of `number` resampled values, and the observed one, tails hold."""
    # 1 - level is not quite alpha, as floats.
    return np.asarray(np.floor(np.asarray(tail) * (number + 1) + 1e-9).astype(np.intp))


def monte_carlo(count: NDArray[np.intp], resamples: int) -> Floats:
    """Return (count + 1) / (B + 1): the observed arrangement is one of those that could be."""
    return np.asarray((count + 1.0) / (resamples + 1.0))
