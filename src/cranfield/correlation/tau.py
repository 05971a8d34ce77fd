"""Rank correlations: Kendall's tau, and tau AP, which gives more weight to top ranks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import CranfieldError, check_choice, check_number, quote

Signs = NDArray[np.int8]
BLOCK_SIGNS = 2**20  # Number of signs computed at a time, which fit into processor caches


def pair_values(x: Any, y: Any) -> tuple[Floats, Floats]:
    """Pair the values of x and y as arrays of shape (sets, items); a single set is broadcast.

    Items of two data frames or pandas series are paired by label.
    """
    a, b = _as_sets(x), _as_sets(y)
    if a.shape[1] != b.shape[1]:
        raise CranfieldError(
            f"expected values of the same number of items, got {a.shape[1]} and {b.shape[1]}"
        )
    b = b[:, _match_items(x, y)]
    if len(a) != len(b) and 1 not in {len(a), len(b)}:
        raise CranfieldError(
            "x and y must have the same number of sets (rows), unless one of them has a single set;"
            f" got {len(a)} and {len(b)}"
        )
    a, b = np.broadcast_arrays(a, b)
    return a, b


def _as_sets(values: Any) -> Floats:
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.empty((0, 0, 0))
    if array.ndim not in {1, 2}:
        expected = "values must be numbers, of shape (items,) or (sets, items)"
        raise CranfieldError(f"{expected}, got {quote(values)}")
    if array.ndim == 2 and array.shape[1] == 1 and hasattr(type(values), "columns"):
        raise CranfieldError(
            "expected one value for each item, got a data frame of one column; pass the column"
            f" itself, such as frame[{next(iter(values.columns))!r}]"
        )
    return np.atleast_2d(array)


def _find_labels(values: Any) -> Any:
    """Return the columns of a data frame, the index of a pandas series, or None."""
    is_series = type(values).__module__.split(".")[0] == "pandas" and values.ndim == 1
    return getattr(values, "index" if is_series else "columns", None)


def _match_items(x: Any, y: Any) -> Ints | slice:
    """Return the positions in y of the items of x, if both are frames or series with labels."""
    indices = [_find_labels(x), _find_labels(y)]
    if any(index is None for index in indices):
        return slice(None)
    labels, other_labels = ([str(label) for label in index] for index in indices)
    positions = {label: k for k, label in enumerate(other_labels)}
    if labels == other_labels:
        return slice(None)
    if len(positions) == len(labels) and positions.keys() == {*labels}:
        return np.array([positions[label] for label in labels])
    # A default index does not name items.
    if any(type(index).__name__ == "RangeIndex" for index in indices):
        return slice(None)
    label = next((label for label in labels if label not in positions), labels[0])
    raise CranfieldError(
        f"expected values of the same items, got different labels, such as {quote(label)};"
        " pass x.to_numpy() and y.to_numpy() to pair by position"
    )


def iterate_blocks(n_sets: int, n_items: int) -> Iterator[tuple[slice, slice]]:
    """Yield slices of sets and of items, whose comparisons with all items fit into the cache."""
    block_sets = max(1, BLOCK_SIGNS // max(1, n_items * n_items))
    block_rows = max(1, BLOCK_SIGNS // max(1, n_items * min(block_sets, n_sets)))
    for start in range(0, n_sets, block_sets):
        for row in range(0, n_items, block_rows):
            yield slice(start, start + block_sets), slice(row, row + block_rows)


def compute_signs(values: Floats, rows: slice) -> Signs:
    """Compare all items (columns) with items of a slice (rows): 1 if higher, -1 if lower."""
    row_values, column_values = values[:, rows, None], values[:, None, :]
    return np.subtract(column_values > row_values, column_values < row_values, dtype=np.int8)


VARIANTS = ("b", "a")
MAX_PAIRWISE_ITEMS = 1_000  # Number of items above which sorting is faster than comparing pairs


def kendall_tau(x: Any, y: Any, *, rounding: float = 0.0, variant: str = "b") -> Floats:
    r"""Compute Kendall's tau-b, corrected for ties, or tau-a.

    Parameters
    ----------
    x, y
        Values of the same items, shape (items,), or (sets, items) for several sets; a single set is
        broadcast. Two data frames or pandas series are paired by the labels of their items.
    rounding
        Largest rounding error of differences of x. Pairs whose values of x differ by at most this
        number, but are not equal, are excluded, as they may be ties.
    variant
        `b` or `a`.

    Returns
    -------
    array
        Correlations from -1 to 1, shape () or (sets,). NaN if a value is NaN, if no pair of items
        counts, and, for tau-b, if all pairs are tied in x, or all in y.

    Raises
    ------
    CranfieldError
        For values that are not numbers, or whose items, sets or labels do not match.
    PolicyError
        For an unknown variant, or a rounding that is not a number >= 0.

    Notes
    -----
    .. math::
        \tau_b = \frac{P - Q}{\sqrt{(P + Q + T)(P + Q + U)}} \qquad
        \tau_a = \frac{P - Q}{m(m-1)/2}

    with P concordant and Q discordant pairs of m items, T pairs tied only in x, and U pairs tied
    only in y (Kendall 1945; Ferrante, Ferro and Fuhr 2021, section 3.3; Sakai 2013, equation 51). A
    tied pair is neither concordant nor discordant, so that with ties tau-a is neither -1 nor 1.
    Pairs that `rounding` excludes count in no term, not even in m(m-1)/2.

    Examples
    --------
    >>> float(kendall_tau([1, 2, 3, 4], [1, 3, 2, 4]))
    0.6666666666666666
    >>> float(kendall_tau([1, 1, 2], [1, 2, 3], variant="a"))
    0.6666666666666666
    """
    check_choice("variant", variant, VARIANTS)
    check_number("rounding", rounding, 0)
    a, b = pair_values(x, y)
    n_sets, n_items = a.shape
    correlations = np.full(n_sets, np.nan)
    indices = np.flatnonzero(~(np.isnan(a).any(axis=1) | np.isnan(b).any(axis=1)))
    if n_items > 1 and indices.size:
        if n_items > MAX_PAIRWISE_ITEMS and not rounding:
            agreement, counts = _compare_by_sorting(a[indices], b[indices])
        else:
            agreement, counts = _compare_pairs(a[indices], b[indices], rounding)
        n_pairs = counts[0] if variant == "a" else np.sqrt(counts[1] * counts[2])
        with np.errstate(invalid="ignore"):
            correlations[indices] = np.where(n_pairs > 0, agreement / n_pairs, np.nan)
    return correlations[0] if np.ndim(x) == 1 and np.ndim(y) == 1 else correlations


def _compare_pairs(a: Floats, b: Floats, rounding: float) -> tuple[Floats, Floats]:
    """Compute twice P - Q, and twice the numbers of pairs: all, untied in x, and untied in y."""
    # Each pair is compared in both directions, so that no list of pairs is needed.
    n_sets, n_items = a.shape
    agreement, counts = np.zeros(n_sets), np.zeros((3, n_sets))
    for block, rows in iterate_blocks(n_sets, n_items):
        x, y = compute_signs(a[block], rows), compute_signs(b[block], rows)
        is_counted = np.ones_like(x)
        if rounding:
            with np.errstate(invalid="ignore"):
                distance = np.abs(a[block, rows, None] - a[block, None, :])
            is_counted = ((distance > rounding) | (x == 0)).astype(np.int8)
        x, y = x * is_counted, y * is_counted
        agreement[block] += (x * y).sum(axis=(1, 2), dtype=np.int64)
        counts[0, block] += is_counted.sum(axis=(1, 2), dtype=np.int64)
        counts[1, block] += np.count_nonzero(x, axis=(1, 2))
        counts[2, block] += np.count_nonzero(y, axis=(1, 2))
    # Items are not paired with themselves.
    counts[0] -= n_items
    return agreement, counts


def _compare_by_sorting(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Compute P - Q, and the numbers of pairs: all, untied in x, and untied in y."""
    from scipy.stats import kendalltau

    n_items = a.shape[1]
    counts = np.full((3, len(a)), n_items * (n_items - 1) / 2)
    agreement = np.zeros(len(a))
    for k, (x, y) in enumerate(zip(a, b, strict=True)):
        counts[1, k] -= _count_tied_pairs(x)
        counts[2, k] -= _count_tied_pairs(y)
        n_untied = np.sqrt(counts[1, k] * counts[2, k])
        if n_untied:
            agreement[k] = np.round(kendalltau(x, y).statistic * n_untied)
    return agreement, counts


def _count_tied_pairs(values: Floats) -> float:
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())


TIES = ("b", "a")


def tau_ap(x: Any, truth: Any, *, symmetric: bool = False, ties: str = "b") -> Floats:
    r"""Compute tau AP, a rank correlation in which swaps near the top of x have more weight.

    Parameters
    ----------
    x
        Scores of the items in the order to evaluate, where higher is better; shape (items,), or
        (sets, items) for several sets.
    truth
        Scores of the same items in the reference order; a single set is broadcast. Two data
        frames or pandas series are paired by the labels of their items.
    symmetric
        Whether to return the mean of both directions, with each order once as the reference.
    ties
        Treatment of equal scores. `b`: the items are equal. `a`: the order of the items is unknown,
        and the result is the mean over all ways to break the ties. Without ties both are equal.

    Returns
    -------
    array
        Correlations from -1 to 1, shape () or (sets,). NaN if a score is NaN, for fewer than two
        items, and, for `b`, if all scores of x or of the truth are equal.

    Raises
    ------
    CranfieldError
        For scores that are not numbers, or whose items, sets or labels do not match.
    PolicyError
        For an unknown treatment of ties.

    Notes
    -----
    .. math::
        \tau_{ap} = \frac{2}{m-1} \sum_{r=2}^{m} \frac{\mathit{correct}(r)}{r-1} - 1

    where correct(r) is the number of items above rank r in x that are above the item at rank r in
    the truth (Yilmaz, Aslam and Robertson 2008; Sakai 2013, equation 52).

    With `b`, an item is compared with the items that have higher scores, and r - 1 becomes the
    number of these items. Items with the highest score do not count, and a pair that is ordered in
    x but tied in the truth is not correct. The symmetric version is :math:`\tau_{ap,b}` of Urbano
    and Marrero (2017). For a truth without ties, `a` is their :math:`\tau_{ap,a}`; in addition,
    ties in the truth are broken in all ways.

    Examples
    --------
    >>> float(tau_ap([4, 3, 2, 1], [4, 3, 1, 2])), float(tau_ap([4, 3, 2, 1], [3, 4, 2, 1]))
    (0.7777777777777778, 0.3333333333333333)
    """
    check_choice("ties", ties, TIES)
    a, b = pair_values(x, truth)
    values = _compute_tau_ap(a, b, ties)
    if symmetric:
        values = (values + _compute_tau_ap(b, a, ties)) / 2
    return values[0] if np.ndim(x) == 1 and np.ndim(truth) == 1 else values


def _compute_tau_ap(a: Floats, truth: Floats, ties: str) -> Floats:
    """Compute tau AP of each set, as the mean of correct minus incorrect proportions over items."""
    n_sets, n_items = a.shape
    totals, n_counted = np.zeros((2, n_sets))
    is_constant = np.ones(n_sets, dtype=bool)
    for block, rows in iterate_blocks(n_sets, n_items):
        order, reference = compute_signs(a[block], rows), compute_signs(truth[block], rows)
        n_above = (order > 0).sum(axis=2)
        n_correct = ((order > 0) & (reference > 0)).sum(axis=2)
        if ties == "b":
            totals[block] += ((2 * n_correct - n_above) / np.maximum(n_above, 1)).sum(axis=1)
            n_counted[block] += (n_above > 0).sum(axis=1)
            is_constant[block] &= ~reference.any(axis=(1, 2))
        else:
            difference = n_correct - ((order > 0) & (reference < 0)).sum(axis=2)
            weight = _compute_mean_weights(n_above, (order == 0).sum(axis=2))
            totals[block] += (difference * weight).sum(axis=1)
    if ties == "a":
        n_counted[:], is_constant[:] = n_items - 1, n_items < 2
    has_nan = np.isnan(a).any(axis=1) | np.isnan(truth).any(axis=1)
    is_undefined = is_constant | (n_counted == 0) | has_nan
    return np.where(is_undefined, np.nan, totals / np.maximum(n_counted, 1))


def _compute_mean_weights(n_above: Any, n_tied: Any) -> Floats:
    """Compute the mean of 1/(r - 1) over the possible ranks r of tied items; 0 for r = 1."""
    # Pairs within a tie group are equally often in either order, so they add nothing.
    max_rank = n_above.max(initial=0) + n_tied.max()
    harmonic_sums = np.append(0.0, np.cumsum(1 / np.arange(1, max_rank + 1)))
    start, end = np.maximum(n_above - 1, 0), np.maximum(n_above + n_tied - 1, 0)
    return np.asarray((harmonic_sums[end] - harmonic_sums[start]) / np.maximum(n_tied, 1))
