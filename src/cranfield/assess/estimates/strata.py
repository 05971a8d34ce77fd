"""Means from stratified samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.assess.estimates.means import (
    FEW,
    FOLDS,
    CorrectedMeans,
    Drawn,
    People,
    Proportions,
    checked_labels,
    checked_lambda,
    cluster_codes,
    dealt,
    highest_grade,
    satterthwaite,
)
from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError, check_share, check_whole, numbers, quoted
from cranfield.base.streams import stream
from cranfield.collection.judged.rows import places, ratio

MOST_ITEMS = 10**15
"""Of a stratum; larger whole numbers are no floats."""
WIDEST = 1e100
"""A spread that can be multiplied by a size."""


def stratified_mean(
    human: Any,
    strata: Any,
    judge: Any = None,
    *,
    lambda_: float | None = None,
    folds: int = FOLDS,
    seed: int = 0,
    alpha: float = 0.05,
) -> CorrectedMeans:
    r"""Estimate the mean of a whole, of each stratum of which humans labelled a random part.

    With :math:`N_h` items of stratum h, of which :math:`n_h` are labelled, and residuals
    :math:`e = y - \lambda (f - \bar f_h)`, where the judge's mean is that of the whole stratum,

    .. math:: \hat\theta = \sum_h \frac{N_h}{N} \bar e_h, \quad \widehat{var} = \sum_h
        \left(\frac{N_h}{N}\right)^2 \left(1 - \frac{n_h}{N_h}\right) \frac{s_h^2(e)}{n_h}

    The items are all that there are, not a sample: a stratum that is completely labelled has no
    error. Without labels of a judge it is the stratified mean. Strata may be topics, or the grades
    of a judge, which then has said all it can say.

    A given lambda leaves the estimate unbiased over all samples. A learned one is cross-fitted: the
    labels of a fold have the lambda of the other folds, and their difference from the judge's mean
    is taken in the part of the stratum that is not labelled in those; so the estimate is unbiased
    over samples and random folds. With `folds=1` it is biased.

    Intervals are as for :func:`corrected_mean`. For grades the number of labels is
    :math:`1 / \sum_h (N_h/N)^2 (1 - n_h/N_h) / n_h`; others have the t interval with
    Satterthwaite's degrees of freedom.

    Source: Cochran (1977), chapter 5, and with a judge 7; Fisch and others (2024), stratified
    prediction-powered inference.

    Parameters
    ----------
    human
        Human labels as numbers, NaN where there is none; shape (items,) or (means, items).
    strata
        What each item belongs to; shape (items,).
    judge
        The judge's labels of all items; the same shape as `human`, or (items,); or None.
    lambda_, folds, seed, alpha
        As for :func:`corrected_mean`.

    Returns
    -------
    CorrectedMeans
        With an entry a mean; no axis for one.

    Raises
    ------
    PolicyError
        For a stratum with fewer than two human labels that has more items than labels.

    Examples
    --------
    >>> import numpy as np
    >>> human = np.full(100, np.nan)
    >>> human[:6] = [0, 0, 0, 1, 0, 0]
    >>> human[60:66] = [1, 1, 0, 1, 1, 1]
    >>> stratified_mean(human, np.repeat(["grade 0", "grade 1"], [60, 40]))
    CorrectedMeans(0.4333 [0.2426, 0.6544], 12 human labels of 100, lambda 0.00)
    """
    check_share("alpha", alpha)
    check_whole("folds", folds, 1)
    y, f = checked_labels(human, np.zeros(np.shape(human)[-1:]) if judge is None else judge)
    one = y.ndim == 1
    y = np.atleast_2d(y)
    f = np.broadcast_to(np.atleast_2d(f), y.shape)
    code = cluster_codes(strata, y.shape[1])
    rows, many = y.shape[0], int(code.max(initial=-1)) + 1
    size = np.bincount(code, minlength=many).astype(np.float64)
    of_items = (np.arange(rows)[:, None] * many + code).ravel()
    mean = _summed(f.ravel(), of_items, (rows, many)) / size
    row, item = np.nonzero(~np.isnan(y))
    cell = row * many + code[item]
    count = np.bincount(cell, minlength=rows * many).reshape(rows, many)
    _check_counts(count, size, np.asarray(strata), code)
    guess = (f - mean[:, code])[row, item]
    label = y[row, item]
    scale = (size / size.sum()) ** 2 * ratio(1 - count / size, count)
    weight, correction = np.full(label.size, checked_lambda(lambda_) or 0.0), guess
    if lambda_ is None and judge is not None:
        # Items of each stratum in random order are dealt to the folds, one after the other.
        shuffled = stream(seed).permutation(y.shape[1])[item]
        order = np.lexsort((shuffled, cell))
        fold = np.empty(cell.size, dtype=np.int64)
        filled = dealt(folds, int(count.max()))
        fold[order] = (places(cell[order]) - 1) % filled
        weight = _learned(label, guess, cell, fold, filled, scale)
        correction = _from_mean_of_own(guess, cell, fold, filled, np.tile(size, rows))
    sums = _summed(label - weight * correction, cell, count.shape)
    estimate = ratio(sums, count) @ size / size.sum()
    residual = label - weight * guess
    parts = scale * _variance(residual, cell, count)
    labels = count.sum(axis=1)
    used = ratio(np.bincount(row, weights=weight, minlength=rows), labels)
    errors = np.bincount(row, weights=label != f[row, item], minlength=rows)
    alone = scale * _variance(label, cell, count)
    few = (errors < FEW) & (2 * errors < labels) & (used > 0)
    people = People(few, alone.sum(axis=1), satterthwaite(alone, count))
    variance, never = parts.sum(axis=1), np.full(rows, np.inf)
    # So many labels of a simple sample would vary as much as those of strata that are alike.
    rate, none = scale.sum(axis=1), np.zeros(rows)
    graded = Proportions(highest_grade(y, f), f.mean(axis=1), variance, none, rate, never)
    learned = folds if lambda_ is None and judge is not None else 0
    drawn = Drawn(labels, y.shape[1], alpha, learned, seed, one, labels == y.shape[1])
    freedom = satterthwaite(parts, count)
    return drawn.means(estimate, variance, used, freedom, people=people, proportions=graded)


def _summed(values: Floats, cell: Ints, shape: tuple[int, ...]) -> Floats:
    size = int(np.prod(shape))
    return np.bincount(cell, weights=values, minlength=size).reshape(shape).astype(np.float64)


def _variance(values: Floats, cell: Ints, count: Ints) -> Floats:
    """Variance of the values in each stratum; shape (means, strata)."""
    centred = values - ratio(_summed(values, cell, count.shape), count).ravel()[cell]
    return np.asarray(ratio(_summed(centred**2, cell, count.shape), count - 1))


def _from_mean_of_own(guess: Floats, cell: Ints, fold: Ints, folds: int, size: Floats) -> Floats:
    """Return corrections that do not depend on lambda, which is learned from other folds.

    A fold is a random sample of the items that are not labelled in another fold, so the difference
    from the mean of those has the expectation 0. Times their share of the stratum it adds up to the
    difference from the mean of the stratum, if all folds have the same lambda.

    guess: the judge's labels less the mean of their stratum.
    """
    shape = size.size, folds
    sums, counts = (_summed(one, cell * folds + fold, shape) for one in (guess, np.ones(cell.size)))
    others, many = (one.sum(axis=1, keepdims=True) - one for one in (sums, counts))
    share = 1 - many / size[:, None]
    return np.asarray(guess * share[cell, fold] + (others / size[:, None])[cell, fold])


def _learned(
    label: Floats, guess: Floats, cell: Ints, fold: Ints, folds: int, scale: Floats
) -> Floats:
    """Lambda of each label, with the least variance of the mean by the labels of other folds."""
    shape = (*scale.shape, folds)
    code = cell * folds + fold
    products = (np.ones(label.size), label, guess, label * guess, guess * guess)
    sums = [np.bincount(code, weights=one, minlength=scale.size * folds) for one in products]
    shaped = [one.reshape(shape) for one in sums]
    if folds > 1:
        shaped = [one.sum(axis=2, keepdims=True) - one for one in shaped]
    n, y, f, both, square = shaped
    enough = n > 1
    covariance = np.where(enough, ratio(both - ratio(y * f, n), n - 1), 0.0)
    variance = np.where(enough, ratio(square - ratio(f * f, n), n - 1), 0.0)
    top, below = (np.einsum("rh,rhk->rk", scale, one) for one in (covariance, variance))
    lambdas = np.clip(ratio(top, np.maximum(below, 0.0)), 0.0, 1.0)
    return np.asarray(lambdas[cell // scale.shape[1], fold])


def _check_counts(count: Ints, size: Floats, strata: Any, code: Ints) -> None:
    short = np.argwhere((count < 2) & (count < size))
    if short.size:
        row, stratum = short[0].tolist()
        name = strata[np.argmax(code == stratum)]
        raise PolicyError(
            f"stratum {quoted(name)} has {count[row, stratum]} human labels of"
            f" {int(size[stratum])} items; it needs 2, or all"
        )


def allocation(sizes: Any, spreads: Any, labels: int, *, least: int = 2) -> Ints:
    r"""Share human labels out to strata so that the mean has the least standard error.

    .. math:: n_h \propto N_h s_h

    but `least` of each stratum at least, and not more than it has. Labels that a small stratum
    cannot take go to the others; fractions go to the largest remainders, the first ones of equal.

    Source: Neyman (1934); Cochran (1977), section 5.5.

    Parameters
    ----------
    sizes
        Items of each stratum, such as the documents with each grade of a judge.
    spreads
        Standard deviation of the human labels in each, guessed or from a pilot; equal ones share
        the labels out by size.
    labels
        Human labels in all.
    least
        Of each stratum; two are needed for a standard error.

    Returns
    -------
    array
        Labels of each stratum; shape (strata,).

    Raises
    ------
    PolicyError
        For fewer labels than `least` of each stratum, or more than there are items.

    Examples
    --------
    >>> allocation([900, 90, 10], [0.1, 0.5, 0.5], 60).tolist()
    [39, 19, 2]
    """
    size = numbers(sizes, "sizes of strata")
    spread = numbers(spreads, "spreads of strata")
    if size.ndim != 1 or size.shape != spread.shape or not size.size:
        raise PolicyError(f"sizes of shape {size.shape} do not fit spreads of {spread.shape}")
    if not ((size >= 1) & (size <= MOST_ITEMS) & (size == np.trunc(size))).all():
        raise PolicyError(f"sizes of strata are whole numbers from 1 to {MOST_ITEMS:,}")
    if not ((spread >= 0) & (spread <= WIDEST)).all():
        raise PolicyError(f"spreads of strata are finite numbers from 0 to {WIDEST:g}")
    check_whole("least", least, 0)
    low = np.minimum(least, size)
    check_whole("labels", labels, int(low.sum()), int(size.sum()))
    share = size * spread
    if not share.any():
        share = size
    # The number that all are multiplied by: the sum rises with it, and it is found by halving.
    wanted = _cut(share, low, size, labels)
    found = np.floor(wanted + 1e-9)
    rest = int(labels - found.sum())
    able = found < size
    order = np.lexsort((-(wanted - found), ~able))
    found[order[:rest]] += 1
    return found.astype(np.int64)


def _cut(share: Floats, low: Floats, high: Floats, total: int) -> Floats:
    """Numbers in proportion to shares within limits, that add up to a total."""
    # Where all that has a share is full, what is left goes by size.
    full = np.where(share > 0, high, low)
    if full.sum() < total:
        return _cut(np.where(share > 0, 0.0, high), full, high, total)
    below, above = 0.0, float((high[share > 0] / share[share > 0]).max())
    for _ in range(200):
        middle = (below + above) / 2
        if np.clip(middle * share, low, high).sum() < total:
            below = middle
        else:
            above = middle
    return np.asarray(np.clip(above * share, low, high))
