"""Tails of studentised statistics: a known tail, divided by an estimated standard deviation.

Tukey's and Dunnett's tests ask for P(X / S >= q), where X is a maximum over normal variables and S
an independent estimate of their standard deviation with `df` degrees of freedom. Only the tail of X
differs between them; this module does the rest, for thousands of q at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray
from scipy.special import gammaln

Floats = NDArray[np.float64]
Tail = Callable[[Floats], Floats]

DEGREE = 20
"""Of the Chebyshev polynomial on each panel."""

PANEL = 0.125
"""Width of a panel, in log(1 + q)."""

NEGLIGIBLE = 42.0
"""exp(-42) of the peak of an integrand is where the integration ends."""

STRIP = 0.05
"""Largest step of the trapezoidal rule in log S, whose integrand is analytic in a strip."""


class Interpolated:
    """The logarithm of a positive function on [0, inf), by polynomials on panels made on demand.

    Parameters
    ----------
    function
        Takes and returns an array; positive and smooth in log(1 + x).
    """

    def __init__(self, function: Tail) -> None:
        self.function = function
        self._panels: dict[int, Floats] = {}
        self._nodes = chebyshev.chebpts1(DEGREE + 1)
        vandermonde = chebyshev.chebvander(self._nodes, DEGREE)
        self._inverse = np.linalg.inv(vandermonde)

    def __call__(self, x: Floats) -> Floats:
        """Return the function's values, 0 where they are too small for a float."""
        u = np.log1p(x)
        panel = np.floor(u / PANEL).astype(np.intp)
        wanted, where = np.unique(panel, return_inverse=True)
        self._make([int(one) for one in wanted if int(one) not in self._panels])
        coefficients = np.array([self._panels[int(one)] for one in wanted]).T
        t = 2 * (u / PANEL - panel) - 1
        # Clenshaw's recurrence, each point with the coefficients of its own panel.
        older = np.zeros_like(u)
        old = np.zeros_like(u)
        for row in coefficients[:0:-1]:
            older, old = old, row[where] + 2 * t * old - older
        return np.asarray(np.exp(coefficients[0][where] + t * old - older))

    def _make(self, panels: list[int]) -> None:
        if not panels:
            return
        starts = np.array(panels)[:, None]
        u = (starts + (self._nodes + 1) / 2) * PANEL
        with np.errstate(divide="ignore"):
            logs = np.log(self.function(np.expm1(u).ravel())).reshape(u.shape)
        for panel, values in zip(panels, logs, strict=True):
            # A panel that reaches beyond the smallest floats counts as zero altogether.
            if np.isfinite(values).all():
                self._panels[panel] = self._inverse @ values
            else:
                self._panels[panel] = np.append(-np.inf, np.zeros(DEGREE))


def studentised_tail(q: Floats, tail: Tail, df: float) -> Floats:
    """Return P(X / S >= q).

    Parameters
    ----------
    q
        Values, any shape; NaN gives NaN, values up to 0 give 1.
    tail
        P(X >= w) of the statistic with known variance, for w >= 0.
    df
        Degrees of freedom of S, positive; infinite when the variance is known.

    Returns
    -------
    array
        Probabilities of the same shape, accurate to about 1e-12 of themselves.
    """
    q = np.asarray(q, dtype=np.float64)
    out = np.where(np.isnan(q), np.nan, 1.0)
    positive = q > 0
    finite = q[positive & np.isfinite(q)]
    out[np.isposinf(q)] = 0.0
    if finite.size:
        exact = tail if np.isinf(df) else _mixed(tail, df)
        panels = np.unique(np.floor(np.log1p(finite) / PANEL)).size
        few = finite.size <= 2 * (DEGREE + 1) * panels
        values = exact(finite) if few else Interpolated(exact)(finite)
        out[positive & np.isfinite(q)] = np.clip(values, 0.0, 1.0)
    return out


def studentised_quantile(probability: float, tail: Tail, df: float) -> float:
    """Return the q with P(X / S >= q) equal to `probability`, by bisecting with 32 points at once.

    Parameters
    ----------
    probability
        Between 0 and 1, both excluded.
    tail, df
        As for :func:`studentised_tail`.
    """
    low, high = 0.0, 8.0
    while studentised_tail(np.array([high]), tail, df)[0] > probability:
        low, high = high, high * 4
    for _ in range(20):
        points = np.linspace(low, high, 34)
        above = studentised_tail(points, tail, df) > probability
        last = int(np.flatnonzero(above)[-1]) if above.any() else 0
        narrow = points[min(last + 1, 33)]
        if narrow - points[last] <= 4e-15 * narrow:
            break
        low, high = float(points[last]), float(narrow)
    return (low + high) / 2


def _mixed(tail: Tail, df: float) -> Tail:
    """Return q -> E[tail(q S)], where df S^2 is chi-squared, by the trapezoidal rule in log S."""
    log_constant = np.log(2) + df / 2 * np.log(df / 2) - gammaln(df / 2)
    # The density in x = log S is exp(df (x - exp(2 x) / 2)); where has it fallen to nothing?
    left = -(NEGLIGIBLE / df + 0.5 + np.sqrt(NEGLIGIBLE / df))
    right = 0.5 * np.log1p(2 * (NEGLIGIBLE / df + np.sqrt(NEGLIGIBLE / df)))
    step = min(0.5 / np.sqrt(2 * df), STRIP)
    known = Interpolated(tail)

    def mixed(q: Floats) -> Floats:
        # For large q the product with a normal tail has its peak at a smaller S.
        shift = 0.5 * np.log(df / (df + q**2 / 2))
        points = int(np.ceil((right - left - float(shift.min())) / step)) + 1
        out = np.empty_like(q)
        for start in range(0, q.size, max(1, 2**19 // points)):
            part = slice(start, start + max(1, 2**19 // points))
            lowest = left + shift[part, None]
            widths = (right - lowest) / (points - 1)
            x = lowest + widths * np.arange(points)
            s = np.exp(x)
            density = np.exp(log_constant + df * (x - s**2 / 2))
            w = q[part, None] * s
            out[part] = (known(w.ravel()).reshape(w.shape) * density).sum(axis=1) * widths[:, 0]
        return out

    return mixed
