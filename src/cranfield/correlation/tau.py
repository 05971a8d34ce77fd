"""Rank correlations: Kendall's tau, and tau AP, which weights top ranks more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, check_choice, check_number

Signs = NDArray[np.int8]

BLOCK = 2**20
"""Signs in a block: enough to be fast, few enough to stay in the cache."""


def paired_values(x: Any, y: Any) -> tuple[Floats, Floats]:
    """Return both arrays with shape (sets, items); one set is broadcast against several."""
    a, b = _numbers(x), _numbers(y)
    if a.shape[1] != b.shape[1]:
        raise CranfieldError(
            f"expected values of equally many items, got {a.shape[1]} and {b.shape[1]}"
        )
    if len(a) != len(b) and 1 not in {len(a), len(b)}:
        raise CranfieldError(f"expected 1 or equally many sets, got {len(a)} and {len(b)}")
    a, b = np.broadcast_arrays(a, b)
    return a, b


def _numbers(values: Any) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty((0, 0, 0))
    if array.ndim not in {1, 2}:
        raise CranfieldError("values must be numbers, of shape (items,) or (sets, items)")
    return np.atleast_2d(array)


def blocks(sets: int, items: int) -> Iterator[tuple[slice, slice]]:
    """Yield slices of sets, and of their items compared with all others, that fit into memory."""
    n_sets = max(1, BLOCK // max(1, items * items))
    n_rows = max(1, BLOCK // max(1, items * min(n_sets, sets)))
    for start in range(0, sets, n_sets):
        for row in range(0, items, n_rows):
            yield slice(start, start + n_sets), slice(row, row + n_rows)


def signs(values: Floats, rows: slice) -> Signs:
    """Compare items with all others: 1 if the other is higher; shape (sets, rows, items)."""
    row_values, column_values = values[:, rows, None], values[:, None, :]
    return np.subtract(column_values > row_values, column_values < row_values, dtype=np.int8)


VARIANTS = ("b", "a")

MAX_COMPARED = 1_000
"""Number of items above which sorting is faster than comparing all pairs."""


def kendall_tau(x: Any, y: Any, *, rounding: float = 0.0, variant: str = "b") -> Floats:
    r"""Kendall's tau-b, with its correction for ties, or tau-a, without.

    Parameters
    ----------
    x, y
        Values of the same items, shape (items,), or (sets, items) for several at once; one set is
        broadcast against several.
    rounding
        Pairs whose x differ by more than 0, but at most by this, are excluded, as they may be tied.
    variant
        `b` or `a`.

    Returns
    -------
    array
        Shape () or (sets,), from -1 to 1. NaN if a value is NaN, for fewer than two items, and,
        for tau-b, if all values of x or of y are the same.

    Raises
    ------
    CranfieldError
        For values that are not numbers, or not of the same items.
    PolicyError
        For an unknown variant, or a negative rounding.

    Notes
    -----
    .. math::
        \tau_b = \frac{P - Q}{\sqrt{(P + Q + T)(P + Q + U)}} \qquad
        \tau_a = \frac{P - Q}{m(m-1)/2}

    with P concordant and Q discordant pairs of m items, T pairs tied in x only and U in y only
    (Kendall 1945; Ferrante, Ferro and Fuhr 2021, section 3.3; Sakai 2013, equation 51). A tied pair
    is neither concordant nor discordant, so that tau-a stays below 1 where there are ties.

    Up to a thousand items, or with `rounding`, all pairs are compared, a block at a time; more are
    sorted.

    Examples
    --------
    >>> float(kendall_tau([1, 2, 3, 4], [1, 3, 2, 4]))
    0.6666666666666666
    >>> float(kendall_tau([1, 1, 2], [1, 2, 3], variant="a"))
    0.6666666666666666
    """
    check_choice("variant", variant, VARIANTS)
    check_number("rounding", rounding, 0)
    a, b = paired_values(x, y)
    sets, items = a.shape
    out = np.full(sets, np.nan)
    indices = np.flatnonzero(~(np.isnan(a).any(axis=1) | np.isnan(b).any(axis=1)))
    if items > 1 and indices.size:
        if items > MAX_COMPARED and not rounding:
            agreement, pairs = _compare_by_sorting(a[indices], b[indices])
        else:
            agreement, pairs = _compare_pairs(a[indices], b[indices], rounding)
        untied = pairs[0] if variant == "a" else np.sqrt(pairs[1] * pairs[2])
        with np.errstate(invalid="ignore"):
            out[indices] = np.where(untied > 0, agreement / untied, np.nan)
    return out[0] if np.ndim(x) == 1 and np.ndim(y) == 1 else out


def _compare_pairs(a: Floats, b: Floats, rounding: float) -> tuple[Floats, Floats]:
    """Return P - Q, and the numbers of all pairs, pairs untied in x, and untied in y; all twice."""
    # Each pair is compared from both sides, which saves a list of pairs.
    sets, items = a.shape
    agreement, pairs = np.zeros(sets), np.zeros((3, sets))
    for block, rows in blocks(sets, items):
        x, y = signs(a[block], rows), signs(b[block], rows)
        is_clear = np.ones_like(x)
        if rounding:
            with np.errstate(invalid="ignore"):
                distance = np.abs(a[block, rows, None] - a[block, None, :])
            is_clear = ((distance > rounding) | (x == 0)).astype(np.int8)
        x, y = x * is_clear, y * is_clear
        agreement[block] += (x * y).sum(axis=(1, 2), dtype=np.int64)
        pairs[0, block] += is_clear.sum(axis=(1, 2), dtype=np.int64)
        pairs[1, block] += np.count_nonzero(x, axis=(1, 2))
        pairs[2, block] += np.count_nonzero(y, axis=(1, 2))
    # Items are not paired with themselves.
    pairs[0] -= items
    return agreement, pairs


def _compare_by_sorting(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the same numbers, each pair counted once."""
    from scipy.stats import kendalltau

    items = a.shape[1]
    pairs = np.full((3, len(a)), items * (items - 1) / 2)
    agreement = np.zeros(len(a))
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        pairs[1, k] -= _count_tied_pairs(x)
        pairs[2, k] -= _count_tied_pairs(y)
        untied = np.sqrt(pairs[1, k] * pairs[2, k])
        if untied:
            agreement[k] = np.round(kendalltau(x, y).statistic * untied)
    return agreement, pairs


def _count_tied_pairs(values: Floats) -> float:
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())


TIES = ("b", "a")


def tau_ap(x: Any, truth: Any, *, symmetric: bool = False, ties: str = "b") -> Floats:
    r"""Rank correlation by average precision: a swap near the top of x costs more.

    Parameters
    ----------
    x
        Scores of the items, higher is better, shape (items,), or (sets, items) for several at once:
        the order that is evaluated.
    truth
        Scores of the same items in the reference order; one set is broadcast against several.
    symmetric
        Whether to average over both directions, with each order as the reference once.
    ties
        Meaning of equal scores. `b`: the items are equal. `a`: their order is not known, and the
        result is the mean over all ways to break the ties. Without ties both are the same.

    Returns
    -------
    array
        Shape () or (sets,), from -1 to 1. NaN if a score is NaN, for fewer than two items, and,
        for `b`, if all scores of x or of the truth are the same.

    Raises
    ------
    CranfieldError
        For scores that are not numbers, or not of the same items.
    PolicyError
        For an unknown treatment of ties.

    Notes
    -----
    .. math::
        \tau_{ap} = \frac{2}{m-1} \sum_{r=2}^{m} \frac{\mathit{correct}(r)}{r-1} - 1

    with correct(r) the number of items above rank r in x that the truth has above the item at r
    (Yilmaz, Aslam and Robertson 2008; Sakai 2013, equation 52).

    With `b`, an item is compared with those of higher scores, so that rank r - 1 becomes their
    number; the items at the top of x, which have none, do not count; and a pair that x orders, but
    the truth does not, is not correct. The symmetric version is the
    :math:`\tau_{ap,b}` of Urbano and Marrero (2017). Their :math:`\tau_{ap,a}` is `a` with a truth
    without ties; ties in the truth are here broken in all ways too.

    Examples
    --------
    >>> float(tau_ap([4, 3, 2, 1], [4, 3, 1, 2])), float(tau_ap([4, 3, 2, 1], [3, 4, 2, 1]))
    (0.7777777777777778, 0.3333333333333333)
    """
    check_choice("ties", ties, TIES)
    a, b = paired_values(x, truth)
    values = _tau_ap(a, b, ties)
    if symmetric:
        values = (values + _tau_ap(b, a, ties)) / 2
    return values[0] if np.ndim(x) == 1 and np.ndim(truth) == 1 else values


def _tau_ap(a: Floats, truth: Floats, ties: str) -> Floats:
    """Return tau AP by set, from the proportion of correct items above each item."""
    sets, items = a.shape
    total, n_counted = np.zeros(sets), np.zeros(sets)
    is_constant = np.ones(sets, dtype=bool)
    for block, rows in blocks(sets, items):
        order, reference = signs(a[block], rows), signs(truth[block], rows)
        above = (order > 0).sum(axis=2)
        correct = ((order > 0) & (reference > 0)).sum(axis=2)
        if ties == "b":
            total[block] += ((2 * correct - above) / np.maximum(above, 1)).sum(axis=1)
            n_counted[block] += (above > 0).sum(axis=1)
            is_constant[block] &= ~reference.any(axis=(1, 2))
        else:
            difference = correct - ((order > 0) & (reference < 0)).sum(axis=2)
            total[block] += (difference * _mean_weight(above, (order == 0).sum(axis=2))).sum(axis=1)
    if ties == "a":
        n_counted[:], is_constant[:] = items - 1, items < 2
    has_nan = np.isnan(a).any(axis=1) | np.isnan(truth).any(axis=1)
    is_undefined = is_constant | (n_counted == 0) | has_nan
    return np.where(is_undefined, np.nan, total / np.maximum(n_counted, 1))


def _mean_weight(above: Any, tied: Any) -> Floats:
    """Return the mean of 1/(r - 1) over the possible ranks r of tied items; 0 for r = 1."""
    # Pairs within a group of ties are equally often in either order, and add nothing.
    harmonic = np.append(0.0, np.cumsum(1 / np.arange(1, above.max(initial=0) + tied.max() + 1)))
    low, high = np.maximum(above - 1, 0), np.maximum(above + tied - 1, 0)
    return np.asarray((harmonic[high] - harmonic[low]) / np.maximum(tied, 1))
