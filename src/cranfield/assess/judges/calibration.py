"""What a grade of a judge is worth: how people graded what it gave that grade."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

from cranfield.assess.agreement.intervals import freedom
from cranfield.base.arrays import Floats, Ints
from cranfield.base.shares import wilson


def calibration(tables: Ints, confidence: float) -> tuple[Floats, Floats, Floats]:
    r"""Return shares of people's grades by the grade of the judge, lower and upper bounds.

    Tables have shape (topics, grades by people, grades by the judge), results (grades by the judge,
    grades by people); NaN for a grade that the judge never gave. Intervals are those of Wilson
    (1927) for a share p, with pairs divided by the design effect of topics, as pairs of a topic are
    alike: the variance of p by the jackknife over topics,

    .. math:: \frac{T-1}{T} \sum_t \left(\frac{n_{t1} - p\, n_t}{n - n_t}\right)^2,

    over p (1 - p) / n, and at least 1; the t quantile has the degrees of freedom that ``freedom``
    finds in these terms. A share of 0 or 1 has no variance to estimate it from: each topic counts
    as one pair there.
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
    low, high = wilson(share, pairs, stdtrit(np.maximum(known, 1), (1 + confidence) / 2))
    # One topic says nothing of others.
    alone = (topics < 2) & ~np.isnan(share)
    return share, np.where(alone, 0.0, low), np.where(alone, 1.0, high)
