r"""How users read a ranking, by the chance that they go on: the C/W/L framework.

A user who reads rank i goes on to the next with the chance C(i), the continuation. Two other
vectors say the same thing: W(i), the share of attention that rank i gets, and L(i), the chance that
it is the last rank that is read (Moffat, Bailey, Scholer and Thomas 2017; Ferro and Maistro 2024,
section 3). Any one of them gives the others:

.. math:: V(i) = \prod_{j<i} C(j), \quad W(i) = \frac{V(i)}{\sum_j V(j)}, \quad
    L(i) = V(i) \, (1 - C(i)) = \frac{W(i) - W(i+1)}{W(1)}, \quad C(i) = \frac{W(i+1)}{W(i)}

Vectors have a number for each of n ranks, and nobody reads beyond the last: C(n) counts as 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.collection.segments import ratio
from cranfield.errors import MeasureError

Floats = NDArray[np.float64]


def weights_from_continuation(continuation: ArrayLike) -> Floats:
    """W of C: the share of attention that each rank gets.

    Parameters
    ----------
    continuation
        C(1), ..., C(n), each from 0 to 1; C(n) has no effect.

    Returns
    -------
    array, shape (n,)
        Weights that add up to 1 and do not rise.

    Raises
    ------
    MeasureError
        If that is not a vector of at least one probability.

    Examples
    --------
    >>> weights_from_continuation([0.5, 0.5, 0.5]).round(4).tolist()
    [0.5714, 0.2857, 0.1429]
    """
    seen = viewed(continuation)
    return np.asarray(seen / seen.sum())


def last_from_weights(weights: ArrayLike) -> Floats:
    """L of W: the chance that each rank is the last one read.

    Parameters
    ----------
    weights
        W(1), ..., W(n): shares that add up to 1 and do not rise.

    Returns
    -------
    array, shape (n,)
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
    return np.asarray((share - np.append(share[1:], 0.0)) / share[0])


def continuation_from_weights(weights: ArrayLike) -> Floats:
    """C of W: the chance to go on from each rank; 0 at the last one, and where nobody comes.

    Parameters
    ----------
    weights
        W(1), ..., W(n): shares that add up to 1 and do not rise.

    Returns
    -------
    array, shape (n,)
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
    return ratio(np.append(share[1:], 0.0), share)


def viewed(continuation: ArrayLike) -> Floats:
    """V of C: the chance that each rank is read, 1 for the first.

    Examples
    --------
    >>> viewed([0.5, 0.5, 0.5]).tolist()
    [1.0, 0.5, 0.25]
    """
    going_on = _probabilities("continuation", continuation)
    return np.cumprod(np.append(1.0, going_on[:-1]))


@dataclass(frozen=True)
class Expected:
    """What a user can expect of a ranking.

    Attributes
    ----------
    utility
        Gain a document read: the sum of W(i) g(i).
    total
        Gain until the user stops: the sum of V(i) g(i), which is utility times depth.
    depth
        Documents read until the user stops: 1 / W(1). With costs of 1 this is the total cost.
    """

    utility: float
    total: float
    depth: float


@dataclass(frozen=True)
class UserModel:
    """A way to read a ranking.

    Attributes
    ----------
    name
        What it is called.
    continuation
        Makes C(1), ..., C(n) of the gains g(1), ..., g(n). A static model looks at their number
        alone, an adaptive one at the gains too.

    Examples
    --------
    >>> going_on = UserModel("half", lambda gains: np.full(gains.size, 0.5))
    >>> going_on.expected([1.0, 0.0, 1.0])
    Expected(utility=0.714285714285714..., total=1.25, depth=1.75)
    """

    name: str
    continuation: Callable[[Floats], Floats]

    def viewed(self, gains: ArrayLike) -> Floats:
        """V: the chance that each rank is read."""
        return viewed(self.continuation(_probabilities("gains", gains)))

    def weights(self, gains: ArrayLike) -> Floats:
        """W: the share of attention that each rank gets."""
        return weights_from_continuation(self.continuation(_probabilities("gains", gains)))

    def last(self, gains: ArrayLike) -> Floats:
        """L: the chance that each rank is the last one read."""
        return last_from_weights(self.weights(gains))

    def expected(self, gains: ArrayLike) -> Expected:
        """Return what a user can expect of a ranking with these gains, from 0 to 1."""
        worth = _probabilities("gains", gains)
        seen = self.viewed(worth)
        total, depth = float(seen @ worth), float(seen.sum())
        return Expected(total / depth, total, depth)


def geometric(p: float) -> UserModel:
    """Model of RBP: C(i) = p (Moffat and Zobel 2008)."""
    return UserModel(f"RBP(p={p:g})", lambda gains: np.full(gains.size, float(p)))


def top(k: int) -> UserModel:
    """Model of P@k: all of the top k are read, and nothing else."""
    return UserModel(f"P@{k}", lambda gains: (_ranks(gains) < k).astype(float))


def scaled_dcg(k: int) -> UserModel:
    """Model of SDCG@k: weights of DCG, which end at rank k."""

    def continuation(gains: Floats) -> Floats:
        i = _ranks(gains)
        return np.where(i < k, np.log(i + 1) / np.log(i + 2), 0.0)

    return UserModel(f"SDCG@{k}", continuation)


def first_found() -> UserModel:
    """Model of RR: a user stops at the first document with a gain."""
    return UserModel("RR", lambda gains: (gains == 0).astype(float))


def satisfied() -> UserModel:
    """Model of ERR: C(i) = 1 - g(i); ERR is the mean of 1/i over the last rank read."""
    return UserModel("ERR", lambda gains: 1.0 - gains)


def average_precision() -> UserModel:
    """Model of AP, where all relevant documents are retrieved (Moffat, Thomas and Scholer 2013)."""

    def continuation(gains: Floats) -> Floats:
        ahead = np.cumsum((gains / _ranks(gains))[::-1])[::-1]
        return ratio(np.append(ahead[1:], 0.0), ahead)

    return UserModel("AP", continuation)


def insq(wanted: float) -> UserModel:
    """Model of INSQ: a user wants T documents, whatever is found (Moffat and others 2012)."""

    def continuation(gains: Floats) -> Floats:
        above = _ranks(gains) + 2.0 * wanted
        return ((above - 1.0) / above) ** 2

    return UserModel(f"INSQ(T={wanted:g})", continuation)


def inst(wanted: float) -> UserModel:
    """Model of INST: what is found is taken off T (Moffat, Bailey, Scholer and Thomas 2015)."""

    def continuation(gains: Floats) -> Floats:
        above = _ranks(gains) + 2.0 * wanted - np.cumsum(gains)
        return ((above - 1.0) / above) ** 2

    return UserModel(f"INST(T={wanted:g})", continuation)


def _ranks(gains: Floats) -> Floats:
    return np.arange(1.0, gains.size + 1)


def _vector(name: str, values: Any) -> Floats:
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise MeasureError(f"{name} is not a vector of numbers") from None
    if vector.ndim != 1 or vector.size == 0:
        raise MeasureError(f"{name} is not a vector of at least one number")
    return vector


def _probabilities(name: str, values: ArrayLike) -> Floats:
    vector = _vector(name, values)
    if not ((vector >= 0) & (vector <= 1)).all():
        raise MeasureError(f"{name} has a value that is not from 0 to 1")
    return vector


def _weights(values: ArrayLike) -> Floats:
    share = _probabilities("weights", values)
    # A rise by rounding alone is none.
    if (np.diff(share) > 1e-12).any():
        raise MeasureError("weights rise from one rank to the next")
    if abs(share.sum() - 1.0) > 1e-9:
        raise MeasureError(f"weights add up to {share.sum():g}, not to 1")
    return share
