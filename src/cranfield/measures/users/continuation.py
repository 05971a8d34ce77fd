r"""How users read a ranking, by the chance that they go on: the C/W/L framework.

A user who reads rank i goes on to the next with the chance C(i), the continuation. Three other
vectors say the same thing: V(i), the chance that rank i is read; W(i), the share of attention that
it gets; and L(i), the chance that it is the last rank that is read (Moffat, Bailey, Scholer and
Thomas 2017; Ferro and Maistro 2024, section 3). Any one of them gives the others:

.. math:: V(i) = \prod_{j<i} C(j), \quad W(i) = \frac{V(i)}{\sum_j V(j)}, \quad
    L(i) = V(i) \, (1 - C(i)) = \frac{W(i) - W(i+1)}{W(1)}, \quad C(i) = \frac{W(i+1)}{W(i)}

Vectors have a number for each of n ranks, along the last axis of an array; other axes are for many
rankings at once. Nobody reads beyond the last rank: C(n) counts as 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.collection.judged.segments import ratio


def viewed(continuation: ArrayLike) -> Floats:
    """V of C: the chance that each rank is read, 1 for the first.

    Examples
    --------
    >>> viewed([0.5, 0.5, 0.5]).tolist()
    [1.0, 0.5, 0.25]
    """
    going_on = _probabilities("continuation", continuation)
    seen = np.ones(going_on.shape)
    np.cumprod(going_on[..., :-1], axis=-1, out=seen[..., 1:])
    return seen


def weights_from_continuation(continuation: ArrayLike) -> Floats:
    """W of C: the share of attention that each rank gets.

    Parameters
    ----------
    continuation
        C(1), ..., C(n) along the last axis, each from 0 to 1; C(n) has no effect.

    Returns
    -------
    array, shape (..., n)
        Weights that add up to 1 and do not rise.

    Raises
    ------
    MeasureError
        If those are not vectors of at least one probability.

    Examples
    --------
    >>> weights_from_continuation([[0.5, 0.5, 0.5], [1, 0, 0]]).round(4).tolist()
    [[0.5714, 0.2857, 0.1429], [0.5, 0.5, 0.0]]
    """
    seen = viewed(continuation)
    return np.asarray(seen / seen.sum(axis=-1, keepdims=True))


def last_from_continuation(continuation: ArrayLike) -> Floats:
    """L of C: the chance that each rank is the last one read.

    Examples
    --------
    >>> last_from_continuation([0.5, 0.5, 0.5]).tolist()
    [0.5, 0.25, 0.25]
    """
    seen = viewed(continuation)
    return np.asarray(seen - _next(seen))


def last_from_weights(weights: ArrayLike) -> Floats:
    """L of W: the chance that each rank is the last one read.

    Parameters
    ----------
    weights
        W(1), ..., W(n) along the last axis: shares that add up to 1 and do not rise.

    Returns
    -------
    array, shape (..., n)
        Probabilities that add up to 1.

    Raises
    ------
    MeasureError
        If the weights rise, or do not add up to 1.

    Examples
    --------
    >>> last_from_weights([0.5, 0.25, 0.25]).tolist()
    [0.5, 0.0, 0.5]
    """
    share = _weights(weights)
    return np.asarray((share - _next(share)) / share[..., :1])


def continuation_from_weights(weights: ArrayLike) -> Floats:
    """C of W: the chance to go on from each rank; 0 at the last one, and where nobody comes.

    Parameters
    ----------
    weights
        W(1), ..., W(n) along the last axis: shares that add up to 1 and do not rise.

    Returns
    -------
    array, shape (..., n)
        Probabilities; the last is 0.

    Raises
    ------
    MeasureError
        If the weights rise, or do not add up to 1.

    Examples
    --------
    >>> continuation_from_weights([0.5, 0.25, 0.25]).tolist()
    [0.5, 1.0, 0.0]
    """
    share = _weights(weights)
    return ratio(_next(share), share)


def continuation_from_last(last: ArrayLike) -> Floats:
    """C of L: the chance to go on from each rank; 0 at the last one, and where nobody comes.

    Parameters
    ----------
    last
        L(1), ..., L(n) along the last axis: probabilities that add up to 1.

    Returns
    -------
    array, shape (..., n)
        Probabilities; the last is 0.

    Raises
    ------
    MeasureError
        If the probabilities do not add up to 1.

    Examples
    --------
    >>> continuation_from_last([0.5, 0.25, 0.25]).tolist()
    [0.5, 0.5, 0.0]
    """
    chance = _probabilities("last", last)
    _check_sum("last", chance)
    # All who stop here or later; from the end, so that rounding leaves no one over.
    seen = np.cumsum(chance[..., ::-1], axis=-1)[..., ::-1]
    return ratio(_next(seen), seen)


def _next(values: Floats) -> Floats:
    """Return the value of the next rank; 0 after the last."""
    after = np.zeros(values.shape)
    after[..., :-1] = values[..., 1:]
    return after


def _vectors(name: str, values: Any) -> Floats:
    try:
        vectors = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise MeasureError(f"{name} is not a vector of numbers") from None
    if vectors.ndim == 0 or vectors.shape[-1] == 0:
        raise MeasureError(f"{name} is not a vector of at least one number")
    return vectors


def _probabilities(name: str, values: ArrayLike) -> Floats:
    vectors = _vectors(name, values)
    if not ((vectors >= 0) & (vectors <= 1)).all():
        raise MeasureError(f"{name} has a value that is not from 0 to 1")
    return vectors


def _weights(values: ArrayLike) -> Floats:
    share = _probabilities("weights", values)
    # A rise by rounding alone is none.
    if (np.diff(share) > 1e-12).any():
        raise MeasureError("weights rise from one rank to the next")
    _check_sum("weights", share)
    return share


def _check_sum(name: str, values: Floats) -> None:
    sums = values.sum(axis=-1)
    wrong = np.abs(sums - 1.0) > 1e-9
    if wrong.any():
        raise MeasureError(f"{name} add up to {np.atleast_1d(sums[wrong])[0]:g}, not to 1")
