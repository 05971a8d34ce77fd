"""The rank correlation that looks at the top: tau AP."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice
from cranfield.correlation.things import blocks, same_things, signs

TIES = ("b", "a")


def tau_ap(x: Any, truth: Any, *, symmetric: bool = False, ties: str = "b") -> Floats:
    r"""Rank correlation by average precision: a swap near the top of x costs more.

    Parameters
    ----------
    x
        Scores of the things, higher is better, shape (things,), or (sets, things) for several at
        once: the order that is evaluated.
    truth
        Scores of the same things in the order that is held to be right; one set may stand against
        several.
    symmetric
        Average over both ways: each order held to be right once.
    ties
        What equal scores mean. `b`: the things are equal. `a`: their order is not known, and the
        result is the mean over all ways to break the ties. Without ties both are the same.

    Returns
    -------
    array
        Shape () or (sets,), from -1 to 1. NaN where a score is NaN, where there are no two things,
        and, for `b`, where all scores of x or of the truth are the same.

    Raises
    ------
    CranfieldError
        For scores that are not numbers, or not of the same things.
    PolicyError
        For an unknown treatment of ties.

    Notes
    -----
    .. math::
        \tau_{ap} = \frac{2}{m-1} \sum_{r=2}^{m} \frac{\mathit{correct}(r)}{r-1} - 1

    with correct(r) the number of things above rank r in x that the truth has above the thing at r
    (Yilmaz, Aslam and Robertson 2008; Sakai 2013, equation 52).

    With `b`, a thing is compared with those whose score is higher, so that rank r - 1 becomes their
    number; the things at the top of x, which have none, do not count; and a pair that x puts in
    order, but the truth does not, is not correct. The symmetric version is the
    :math:`\tau_{ap,b}` of Urbano and Marrero (2017). Their :math:`\tau_{ap,a}` is `a` with a truth
    without ties; ties in the truth are here broken in all ways too.

    Examples
    --------
    >>> float(tau_ap([4, 3, 2, 1], [4, 3, 1, 2])), float(tau_ap([4, 3, 2, 1], [3, 4, 2, 1]))
    (0.7777777777777778, 0.3333333333333333)
    """
    check_choice("ties", ties, TIES)
    a, b = same_things(x, truth)
    found = _one_way(a, b, ties)
    if symmetric:
        found = (found + _one_way(b, a, ties)) / 2
    return found[0] if np.ndim(x) == 1 and np.ndim(truth) == 1 else found


def _one_way(a: Floats, truth: Floats, ties: str) -> Floats:
    """Return tau AP by set: of each thing, how much of what is above it is so rightly."""
    sets, things = a.shape
    total, counted = np.zeros(sets), np.zeros(sets)
    same = np.ones(sets, dtype=bool)
    for some, rows in blocks(sets, things):
        mine, true = signs(a[some], rows), signs(truth[some], rows)
        above = (mine > 0).sum(axis=2)
        correct = ((mine > 0) & (true > 0)).sum(axis=2)
        if ties == "b":
            total[some] += ((2 * correct - above) / np.maximum(above, 1)).sum(axis=1)
            counted[some] += (above > 0).sum(axis=1)
            same[some] &= ~true.any(axis=(1, 2))
        else:
            agree = correct - ((mine > 0) & (true < 0)).sum(axis=2)
            total[some] += (agree * _mean_weight(above, (mine == 0).sum(axis=2))).sum(axis=1)
    if ties == "a":
        counted[:], same[:] = things - 1, things < 2
    unknown = same | (counted == 0) | np.isnan(a).any(axis=1) | np.isnan(truth).any(axis=1)
    return np.where(unknown, np.nan, total / np.maximum(counted, 1))


def _mean_weight(above: Any, tied: Any) -> Floats:
    """Mean of 1/(r - 1) over the ranks r that things may have, so many above them, so many tied.

    Pairs within a group of ties are as often in order as not, and add nothing. The first rank has
    no weight, and needs none: nothing is above it.
    """
    harmonic = np.append(0.0, np.cumsum(1 / np.arange(1, above.max(initial=0) + tied.max() + 1)))
    low, high = np.maximum(above - 1, 0), np.maximum(above + tied - 1, 0)
    return np.asarray((harmonic[high] - harmonic[low]) / np.maximum(tied, 1))
