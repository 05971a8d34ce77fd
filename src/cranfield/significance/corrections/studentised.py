"""Tails of studentised statistics: a known tail, divided by an estimated standard deviation.

Tukey's and Dunnett's tests ask for P(X / S >= q), where X is a maximum over normal variables and S
an independent estimate of their standard deviation with `df` degrees of freedom. Only the tail of X
differs between them; this module does the rest, for thousands of q at once.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import gammaln

from cranfield.base.arrays import Floats

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


class Studentised:
    """The distribution of X / S.

    Parameters
    ----------
    tail
        P(X >= w) of the statistic with known variance, for w >= 0.
    df
        Degrees of freedom of S, positive; infinite when the variance is known.
    """

    def __init__(self, tail: Tail, df: float) -> None:
        self.df = df
        self._tail = tail
        self._known = Interpolated(tail)
        self._interpolated = Interpolated(self._exact)

    def sf(self, q: Floats) -> Floats:
        """Return P(X / S >= q).

        Parameters
        ----------
        q
            Values, any shape; NaN gives NaN, values up to 0 give 1.

        Returns
        -------
        array
            Probabilities of the same shape, accurate to about 1e-11 of themselves.
        """
        q = np.asarray(q, dtype=np.float64)
        out = np.where(np.isnan(q), np.nan, 1.0)
        out[np.isposinf(q)] = 0.0
        positive = (q > 0) & np.isfinite(q)
        finite = q[positive]
        if finite.size:
            panels = np.unique(np.floor(np.log1p(finite) / PANEL)).size
            few = finite.size <= 2 * (DEGREE + 1) * panels
            values = self._exact(finite) if few else self._interpolated(finite)
            out[positive] = np.clip(values, 0.0, 1.0)
        return out

    def isf(self, probability: float) -> float:
        """Return the q with P(X / S >= q) = `probability`, which lies between 0 and 1."""
        low, high = 0.0, 8.0
        while self._exact(np.array([high]))[0] > probability:
            low, high = high, high * 4
        # Regula falsi on the logarithm, which is smooth, halving where that does not halve.
        wanted = np.log(probability)
        at_low, at_high = 0.0 - wanted, self._log(high) - wanted
        if low > 0:
            at_low = self._log(low) - wanted
        for _ in range(100):
            if high - low <= 4e-15 * high:
                break
            guess = high - at_high * (high - low) / (at_high - at_low)
            width = high - low
            for point in (guess, None):
                middle = (low + high) / 2 if point is None else point
                if not low < middle < high:
                    break
                value = self._log(middle) - wanted
                if value > 0:
                    low, at_low = middle, value
                else:
                    high, at_high = middle, value
                if high - low <= width / 4:
                    break
        return float(low if abs(at_low) < abs(at_high) else high)

    def _log(self, q: float) -> float:
        return float(np.log(np.maximum(self._exact(np.array([q]))[0], 1e-323)))

    def _exact(self, q: Floats) -> Floats:
        """Return E[tail(q S)], where df S^2 is chi-squared, by the trapezoidal rule in log S."""
        df = self.df
        if np.isinf(df):
            return self._tail(q)
        log_constant = np.log(2) + df / 2 * np.log(df / 2) - gammaln(df / 2)
        # The density in x = log S is exp(df (x - exp(2 x) / 2)); where has it fallen to nothing?
        left = -(NEGLIGIBLE / df + 0.5 + np.sqrt(NEGLIGIBLE / df))
        right = 0.5 * np.log1p(2 * (NEGLIGIBLE / df + np.sqrt(NEGLIGIBLE / df)))
        step = min(0.5 / np.sqrt(2 * df), STRIP)
        # For large q the product with a normal tail has its peak at a smaller S.
        shift = 0.5 * np.log(df / (df + q**2 / 2))
        points = int(np.ceil((right - left - float(shift.min())) / step)) + 1
        out = np.empty_like(q)
        rows = max(1, 2**19 // points)
        for start in range(0, q.size, rows):
            part = slice(start, start + rows)
            lowest = left + shift[part, None]
            widths = (right - lowest) / (points - 1)
            x = lowest + widths * np.arange(points)
            s = np.exp(x)
            density = np.exp(log_constant + df * (x - s**2 / 2))
            w = q[part, None] * s
            tails = self._known(w.ravel()).reshape(w.shape)
            out[part] = (tails * density).sum(axis=1) * widths[:, 0]
        return out
