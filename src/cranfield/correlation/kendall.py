"""How well two orders of the same things agree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def kendall_tau(x: Any, y: Any, *, rounding: float = 0.0) -> Floats:
    r"""Kendall's tau-b, with its correction for ties.

    Parameters
    ----------
    x, y
        Values of the same things, shape (things,), or (sets, things) for several at once.
    rounding
        Pairs whose x differ by something, but by no more than this, are left out: whether they are
        tied in truth cannot be told.

    Returns
    -------
    array
        Shape () or (sets,), from -1 to 1; NaN where all values of x or of y are the same, or one
        is NaN.

    Notes
    -----
    .. math:: \tau = \frac{P - Q}{\sqrt{(P + Q + T)(P + Q + U)}}

    with P concordant and Q discordant pairs, T pairs tied in x only and U in y only (Kendall 1945;
    Ferrante, Ferro and Fuhr 2021, section 3.3).

    Examples
    --------
    >>> float(kendall_tau([1, 2, 3, 4], [1, 3, 2, 4]))
    0.6666666666666666
    """
    a, b = np.atleast_2d(np.asarray(x, dtype=float)), np.atleast_2d(np.asarray(y, dtype=float))
    first, second = np.triu_indices(a.shape[1], 1)
    out = np.full(len(a), np.nan)
    for k, (one, other) in enumerate(zip(a, b, strict=True)):
        if np.isnan(one).any() or np.isnan(other).any():
            continue
        apart = one[first] - one[second]
        clear = (np.abs(apart) > rounding) | (apart == 0)
        signs = np.sign(apart[clear])
        others = np.sign(other[first] - other[second])[clear]
        untied = np.sqrt(float((signs != 0).sum()) * float((others != 0).sum()))
        if untied:
            out[k] = float((signs * others).sum()) / untied
    return out[0] if np.ndim(x) == 1 else out
