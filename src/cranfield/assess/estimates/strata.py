"""Means from stratified samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.assess.estimates.means import (
    FOLDS,
    CorrectedMeans,
    HumanMean,
    Proportions,
    checked_labels,
    cluster_codes,
    dealt,
    few_errors,
    highest_grade,
    moments_outside,
    satterthwaite,
    summed,
    sums_by,
    with_intervals,
)
from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError, check_whole, numbers, quoted
from cranfield.base.streams import stream
from cranfield.collection.judged.rows import places, ratio

MOST_ITEMS = 10**15
"""Maximum size of a stratum; larger integers are not exact as floats."""
WIDEST = 1e100
"""Largest spread that can be multiplied by a size."""


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
    r"""Estimate the mean of a population from human labels of a random part of each stratum.

    With :math:`N_h` items of stratum h, of which :math:`n_h` are labelled, and residuals
    :math:`e = y - \lambda (f - \bar f_h)`, where the judge's mean is that of the whole stratum,

    .. math:: \hat\theta = \sum_h \frac{N_h}{N} \bar e_h, \quad \widehat{var} = \sum_h
        \left(\frac{N_h}{N}\right)^2 \left(1 - \frac{n_h}{N_h}\right) \frac{s_h^2(e)}{n_h}

    The items are the whole population, not a sample: a completely labelled stratum has no error.
    Without labels of a judge it is the stratified mean. Strata may be topics, or the grades of a
    judge, which then adds nothing further.

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
        Human labels as numbers, NaN for missing ones; shape (items,) or (means, items).
    strata
        Stratum of each item; shape (items,).
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
    check_whole("folds", folds, 1)
    no_judge = judge is None
    y, f, single = checked_labels(
        human, np.zeros(np.shape(human)[-1:]) if no_judge else judge, lambda_, alpha
    )
    code = cluster_codes(strata, y.shape[1])
    rows, many = y.shape[0], int(code.max(initial=-1)) + 1
    size = np.bincount(code, minlength=many).astype(np.float64)
    mean = sums_by(f, code, many) / size
    row, item = np.nonzero(~np.isnan(y))
    cell = row * many + code[item]
    count = np.bincount(cell, minlength=rows * many).reshape(rows, many)
    short = np.argwhere((count < 2) & (count < size))
    if short.size:
        mean_of, stratum = short[0].tolist()
        raise PolicyError(
            f"stratum {quoted(np.asarray(strata)[np.argmax(code == stratum)])} has"
            f" {count[mean_of, stratum]} human labels of {int(size[stratum])} items; it needs 2, or"
            " all"
        )
    guess, label = (f - mean[:, code])[row, item], y[row, item]
    scale = (size / size.sum()) ** 2 * ratio(1 - count / size, count)
    weight, correction = np.full(label.size, lambda_ or 0.0), guess
    learned = lambda_ is None and not no_judge
    if learned:
        # Items of each stratum in random order are dealt to the folds, one after the other.
        shuffled = stream(seed).permutation(y.shape[1])[item]
        order = np.lexsort((shuffled, cell))
        fold = np.empty(cell.size, dtype=np.int64)
        filled = dealt(folds, int(count.max()))
        fold[order] = (places(cell[order]) - 1) % filled
        # Of each fold the lambda with the least variance of the mean by the labels of the others.
        top, below = (
            np.einsum("rh,rhk->rk", scale, moment)
            for moment in moments_outside(label, guess, cell, fold, filled, count.shape)
        )
        weight = np.clip(ratio(top, np.maximum(below, 0.0)), 0.0, 1.0)[row, fold]
        correction = _from_mean_of_own(guess, cell, fold, filled, np.tile(size, rows))

    def variances(values: Floats) -> Floats:
        """Parts of the variance of the mean; shape (means, strata)."""
        centred = values - ratio(summed(values, cell, count.shape), count).ravel()[cell]
        return np.asarray(scale * ratio(summed(centred**2, cell, count.shape), count - 1))

    sums = summed(label - weight * correction, cell, count.shape)
    parts, alone = variances(label - weight * guess), variances(label)
    labels = count.sum(axis=1)
    used = ratio(summed(weight, row, (rows,)), labels)
    variance, rest = parts.sum(axis=1), np.zeros(rows)
    # The rate of a simple sample that would vary as much, were all strata alike.
    rate = scale.sum(axis=1)
    return with_intervals(
        ratio(sums, count) @ size / size.sum(),
        variance,
        used,
        satterthwaite(parts, count),
        labels,
        y.shape[1],
        alpha=alpha,
        folds=folds if learned else 0,
        seed=seed,
        alone=HumanMean(
            few_errors(y, f, labels, used), alone.sum(axis=1), satterthwaite(alone, count)
        ),
        proportions=Proportions(
            highest_grade(y, f), f.mean(axis=1), variance, rest, rate, np.full(rows, np.inf)
        ),
        complete=labels == y.shape[1],
        single=single,
    )


def _from_mean_of_own(guess: Floats, cell: Ints, fold: Ints, folds: int, size: Floats) -> Floats:
    """Return corrections of which lambda is independent, as it is learned from other folds.

    A fold is a random sample of the items without a label in other folds: the difference from the
    mean of those has the expectation 0. guess: the judge's labels less the mean of their stratum.
    """
    shape = size.size, folds
    code = cell * folds + fold
    sums, counts = (summed(values, code, shape) for values in (guess, np.ones(cell.size)))
    others, many = (total.sum(axis=1, keepdims=True) - total for total in (sums, counts))
    share = 1 - many / size[:, None]
    return np.asarray(guess * share[cell, fold] + (others / size[:, None])[cell, fold])


def allocation(sizes: Any, spreads: Any, labels: int, *, least: int = 2) -> Ints:
    r"""Allocate human labels to strata so that the mean has the smallest standard error.

    .. math:: n_h \propto N_h s_h

    but at least `least` labels of each stratum, and at most its size. Labels that a small stratum
    cannot take go to the others; fractions go to the largest remainders, the first of equal ones.

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
        Minimum for each stratum; a standard error needs two.

    Returns
    -------
    array
        Labels of each stratum; shape (strata,).

    Raises
    ------
    PolicyError
        For fewer labels than `least` of each stratum, or more labels than items.

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
    exact = _cut(share, low, size, labels)
    number = np.floor(exact + 1e-9)
    order = np.lexsort((number - exact, number >= size))
    number[order[: int(labels - number.sum())]] += 1
    return number.astype(np.int64)


def _cut(share: Floats, low: Floats, high: Floats, total: int) -> Floats:
    """Return numbers proportional to shares, within bounds, that add up to a total."""
    # If all strata with a share are full, the remainder goes by size.
    full = np.where(share > 0, high, low)
    if full.sum() < total:
        return _cut(np.where(share > 0, 0.0, high), full, high, total)
    # The sum rises with the factor of the shares, which bisection finds.
    below, above = 0.0, float((high[share > 0] / share[share > 0]).max())
    for _ in range(200):
        middle = (below + above) / 2
        if np.clip(middle * share, low, high).sum() < total:
            below = middle
        else:
            above = middle
    return np.asarray(np.clip(above * share, low, high))
