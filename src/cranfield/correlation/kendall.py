"""Kendall's rank correlation."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice
from cranfield.base.errors import PolicyError
from cranfield.correlation.things import blocks, same_things, signs

VARIANTS = ("b", "a")

MANY = 1_000
"""Things beyond which sorting beats comparing all pairs."""


def kendall_tau(x: Any, y: Any, *, rounding: float = 0.0, variant: str = "b") -> Floats:
    r"""Kendall's tau-b, with its correction for ties, or tau-a, without.

    Parameters
    ----------
    x, y
        Values of the same things, shape (things,), or (sets, things) for several at once; one set
        may stand against several.
    rounding
        Pairs whose x differ by something, but by no more than this, are left out: whether they are
        tied in truth cannot be told.
    variant
        `b` or `a`.

    Returns
    -------
    array
        Shape () or (sets,), from -1 to 1. NaN where a value is NaN, where there are no two things,
        and, for tau-b, where all values of x or of y are the same.

    Raises
    ------
    CranfieldError
        For values that are not numbers, or not of the same things.
    PolicyError
        For an unknown variant, or a negative rounding.

    Notes
    -----
    .. math::
        \tau_b = \frac{P - Q}{\sqrt{(P + Q + T)(P + Q + U)}} \qquad
        \tau_a = \frac{P - Q}{m(m-1)/2}

    with P concordant and Q discordant pairs of m things, T pairs tied in x only and U in y only
    (Kendall 1945; Ferrante, Ferro and Fuhr 2021, section 3.3; Sakai 2013, equation 51). A tied pair
    is neither concordant nor discordant, so that tau-a stays below 1 where there are ties.

    Up to a thousand things, or with `rounding`, all pairs are compared, a block at a time; more are
    sorted.

    Examples
    --------
    >>> float(kendall_tau([1, 2, 3, 4], [1, 3, 2, 4]))
    0.6666666666666666
    >>> float(kendall_tau([1, 1, 2], [1, 2, 3], variant="a"))
    0.6666666666666666
    """
    check_choice("variant", variant, VARIANTS)
    if not isinstance(rounding, Real) or not rounding >= 0:
        raise PolicyError(f"rounding is a number from 0, not {rounding!r}")
    a, b = same_things(x, y)
    sets, things = a.shape
    out = np.full(sets, np.nan)
    known = np.flatnonzero(~(np.isnan(a).any(axis=1) | np.isnan(b).any(axis=1)))
    if things > 1 and known.size:
        if things > MANY and not rounding:
            agree, pairs = _by_sorting(a[known], b[known])
        else:
            agree, pairs = _by_pairs(a[known], b[known], rounding)
        untied = pairs[0] if variant == "a" else np.sqrt(pairs[1] * pairs[2])
        with np.errstate(invalid="ignore"):
            out[known] = np.where(untied > 0, agree / untied, np.nan)
    return out[0] if np.ndim(x) == 1 and np.ndim(y) == 1 else out


def _by_pairs(a: Floats, b: Floats, rounding: float) -> tuple[Floats, Floats]:
    """Return P - Q, and how many pairs there are, untied in x, and untied in y; all of them twice.

    Each pair is compared from both sides, which saves the list of pairs.
    """
    sets, things = a.shape
    agree, pairs = np.zeros(sets), np.zeros((3, sets))
    for some, rows in blocks(sets, things):
        one, other = signs(a[some], rows), signs(b[some], rows)
        clear = np.ones_like(one)
        if rounding:
            with np.errstate(invalid="ignore"):
                apart = np.abs(a[some, rows, None] - a[some, None, :])
            clear = ((apart > rounding) | (one == 0)).astype(np.int8)
        one, other = one * clear, other * clear
        agree[some] += (one * other).sum(axis=(1, 2), dtype=np.int64)
        pairs[0, some] += clear.sum(axis=(1, 2), dtype=np.int64)
        pairs[1, some] += np.count_nonzero(one, axis=(1, 2))
        pairs[2, some] += np.count_nonzero(other, axis=(1, 2))
    # Nothing is paired with itself.
    pairs[0] -= things
    return agree, pairs


def _by_sorting(a: Floats, b: Floats) -> tuple[Floats, Floats]:
    """Return the same as from all pairs, each counted once."""
    from scipy.stats import kendalltau

    things = a.shape[1]
    pairs = np.full((3, len(a)), things * (things - 1) / 2)
    agree = np.zeros(len(a))
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        pairs[1, k] -= _tied_pairs(one)
        pairs[2, k] -= _tied_pairs(other)
        untied = np.sqrt(pairs[1, k] * pairs[2, k])
        if untied:
            agree[k] = np.round(kendalltau(one, other).statistic * untied)
    return agree, pairs


def _tied_pairs(values: Floats) -> float:
    counts = np.unique(values, return_counts=True)[1].astype(np.float64)
    return float((counts * (counts - 1) / 2).sum())
