"""What a grade of a judge is worth: how people graded what it gave that grade."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from cranfield.assess.agreement.intervals import freedom
from cranfield.base.arrays import Floats, Ints
from cranfield.base.shares import wilson


def calibration(tables: Ints, confidence: float) -> tuple[Floats, Floats, Floats]:
    r"""Share of each grade of people among what the judge gave a grade, and its limits.

    Parameters
    ----------
    tables
        Pairs by topic, grade of people and grade of the judge; shape (topics, grades, grades).
    confidence
        Of the intervals.

    Returns
    -------
    tuple of arrays
        Shares, lower and upper limits, by grade of the judge and grade of people; shape (grades,
        grades). NaN for a grade that the judge never gave.

    Notes
    -----
    Wilson's (1927) interval of a share p, with pairs divided by the design effect of topics, as
    pairs of a topic are alike. The design effect is the variance of p by the jackknife over topics,

    .. math:: \frac{T-1}{T} \sum_t \left(\frac{n_{t1} - p\, n_t}{n - n_t}\right)^2,

    over p (1 - p) / n, and at least 1; the t quantile has the degrees of freedom that ``freedom``
    of the jackknife finds in these terms. A share of 0 or 1 has no variance to estimate it from:
    each topic counts as one pair there.
    """
    counts = np.swapaxes(tables, 1, 2).astype(np.float64)
    of_grade = counts.sum(axis=2, keepdims=True)
    size = of_grade.sum(axis=0)
    topics = (of_grade > 0).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = counts.sum(axis=0) / size
        # The change of the share without each topic.
        apart = (counts - share * of_grade) / (size - of_grade)
        variance = (topics - 1) / topics * (apart**2).sum(axis=0)
        effect = np.maximum(1.0, variance / (share * (1 - share) / size))
    certain = (share == 0) | (share == 1)
    pairs = np.where(certain, topics, size / np.where(certain, 1.0, effect))
    known = np.where(certain, topics - 1, freedom(apart, topics))
    return (share, *_wilson(share, pairs, known, topics, confidence))


def _wilson(
    share: Floats, size: Floats, df: Floats, topics: Ints, confidence: float
) -> tuple[Floats, Floats]:
    low, high = wilson(share, size, stdtrit(np.maximum(df, 1), (1 + confidence) / 2))
    # One topic says nothing of others.
    alone = (topics < 2) & ~np.isnan(share)
    return np.where(alone, 0.0, low), np.where(alone, 1.0, high)
