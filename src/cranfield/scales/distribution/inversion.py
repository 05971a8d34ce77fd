"""Fourier inversion of a sum of independent variables, with a proved error.

Theorem. Let X be a sum of independent bounded variables and F its distribution function,
lo <= x <= hi, P > hi - lo, and psi(t) = t - ceil(t) + 1/2. Then

    F(x) = 1/2 + (x - E X) / P + E psi((X - x) / P) + R,  |R| <= epsilon,

if sum_{j >= 0} P(X >= hi + j P) and sum_{j >= 0} P(X <= lo - j P) are at most epsilon, and R = 0
if X is always within [lo, hi]. For the right-hand side without R is the mean of
1 - ceil((X - x) / P), which is 1 for x - P < X <= x and 0 for x < X <= x + P; further out it is
off by one for every further P, and those two sums bound the means of that.

Vaaler's inequality (see `spectrum.py`) encloses E psi between the means of two
trigonometric polynomials of degree K, finite sums over phi(k) = E e(k X / P), k <= K:

    |E psi((X - x) / P) - E V_K((X - x) / P)| <= E D_K((X - x) / P) / (2 K + 2),

and as D_K is a kernel of mass 1, this is about density(x) P / (2 K): below 1e-6 for K = 2^22 and
an X that is nearly normal. No polynomials of degree K enclose psi more closely on average
(Vaaler), so that K must be of the order of 1 / wanted. lo and hi come from Chernoff's inequality,

    P(X - E X >= t) <= exp(-r t) prod_k E exp(r (s_k - E s_k)) for every r > 0.

Sources: Vaaler (1985), Bull. AMS 12; Chernoff (1952), Ann. Math. Stat. 23; Hoeffding (1963), JASA
58, for a wider window; Gil-Pelaez (1951), Biometrika 38, Davies (1973), Biometrika 60, and (1980),
Applied Statistics 29, for inversion on a lattice of frequencies whose cut-off error is estimated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.scales.distribution.spectrum import SIDE, SPARSE, Spectrum, Variable, coefficients

HIGHEST_DEGREE = 2**24
"""No more than so many frequencies are tried."""
MOST_WORK = 2**36
"""Nor does frequencies times values of the components, where phi does not fall, go above this."""
BYTES = 96
"""Memory that one kept frequency takes while polynomials are evaluated."""


@dataclass(frozen=True)
class Inverted:
    """Fourier inversion: X = middle + period theta, theta the sum that the spectrum belongs to."""

    spectrum: Spectrum
    middle: float
    period: float
    mean: float
    window: tuple[float, float]
    beyond: float
    rounding: float

    @property
    def slack(self) -> float:
        """What is open beside D_K: beyond the window, errors of phi, moving x by the rounding.

        It is moved twice as far, for the errors of the mean and of (x - middle) / period.
        """
        moved = 2 * self.rounding / self.period * (1 + self.spectrum.slope)
        return self.beyond + self.spectrum.uncertainty + moved

    def limits(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        low, high = self.window
        where = (np.clip(x, low, high) - self.middle) / self.period
        step, width = self.spectrum.mean_steps(where)
        about, width = 0.5 + where - self.mean + step, width + self.slack
        lower = np.where(x < low, 0.0, np.where(x > high, 1 - self.beyond, about - width))
        upper = np.where(x > high, 1.0, np.where(x < low, self.beyond, about + width))
        # x ascends, and so does F.
        lower = np.clip(np.maximum.accumulate(lower), 0.0, 1.0)
        upper = np.clip(np.minimum.accumulate(upper[::-1])[::-1], 0.0, 1.0)
        return lower, (lower + upper) / 2, upper


def inverted(
    sets: Sequence[Floats], wanted: float, memory: int, jobs: int, rounding: float
) -> tuple[Inverted, float]:
    """Take as many frequencies as it needs, doubling them, and return the error for all x."""
    middles = [(values[0] + values[-1]) / 2 for values in sets]
    middle = math.fsum(middles)
    # The narrowest components are put at their middles while that moves sums less than rounding.
    widths = np.array([values[-1] - values[0] for values in sets])
    kept = int(np.count_nonzero(np.cumsum(widths[::-1])[::-1] > rounding / 5))
    centred = [_centred(values - mid) for values, mid in zip(sets[:kept], middles, strict=False)]
    window, beyond = _window(centred, wanted / 1000, rounding)
    period = (window[1] - window[0]) * (1 + 1e-9) + 4 * rounding
    variables = [Variable.uniform(values / period) for values in centred]
    # Small components first: their factors are the cheapest. Wide ones before narrow ones.
    variables.sort(key=lambda variable: variable.count)
    cut = wanted / 1000
    slack = cut + 1.01 * sum(variable.rounding for variable in variables)
    mean = math.fsum(float(np.mean(values)) for values in centred) / period
    at, phi = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.complex128)
    reached, count, error = 0, SIDE * SIDE, math.inf
    while True:
        more_at, more_phi = coefficients(variables, reached, count, cut, jobs)
        at, phi = np.concatenate([at, more_at]), np.concatenate([phi, more_phi])
        spectrum = Spectrum(count - 1, at, phi, slack)
        low, high = (middle + end for end in window)
        way = Inverted(spectrum, middle, period, mean, (low, high), beyond, 1.2 * rounding)
        error = way.slack + spectrum.peak(jobs, max(wanted - way.slack, wanted / 2))
        reached, count = count, 2 * count
        # Where phi does not fall, every frequency costs all values, and has to be kept.
        dense = more_at.size * 4 > reached
        values = sum(variable.count for variable in variables) if dense else 0
        bytes_next = BYTES * 2 * at.size + (64 * count if at.size * SPARSE >= reached else 0)
        if error <= wanted or count > HIGHEST_DEGREE:
            return way, min(error, 0.5)
        if bytes_next > memory or values * count > MOST_WORK:
            return way, min(error, 0.5)


def affordable(sets: Sequence[Floats]) -> bool:
    """Tell whether a first square of frequencies is: few components with very many values are not.

    Many small components are enough to leave few frequencies for the large ones.
    """
    small = math.fsum(math.log2(values.size) for values in sets if values.size <= 2**12)
    return small > 64 or sum(values.size for values in sets) * SIDE**2 <= MOST_WORK


def _centred(values: Floats) -> Floats:
    """Make a set exactly symmetric about 0 where it is so within rounding: phi is real then."""
    mirrored = -values[::-1]
    if np.abs(values - mirrored).max() <= 2e-15 * np.abs(values).max():
        return np.asarray((values + mirrored) / 2)
    return values


def _window(
    sets: Sequence[Floats], share: float, rounding: float
) -> tuple[tuple[float, float], float]:
    """Return limits that the sum of the sets leaves with a share that is small enough, and R.

    Chernoff's bound is taken at 60 rates; any would do. The shares beyond hi, hi + P, ... add up to
    share / (1 - exp(-rate P)), and rate P >= rate t >= -ln(share), so R < 1.01 share for a share
    below 1/100; what is beyond lo counts with the other sign. The whole range
    serves if it is not wider.
    """
    lowest = math.fsum(values[0] for values in sets)
    highest = math.fsum(values[-1] for values in sets)
    means = [float(values.mean()) for values in sets]
    mean = math.fsum(means)
    deviation = math.sqrt(math.fsum(float(values.var()) for values in sets))
    by_size: dict[int, list[Floats]] = {}
    for values, centre in zip(sets, means, strict=True):
        by_size.setdefault(values.size, []).append(values - centre)
    tables = [np.stack(rows) for rows in by_size.values()]
    reaches = []
    for sign in (-1.0, 1.0):
        reach = math.inf
        for rate in np.geomspace(0.5, 60.0, 60) / deviation:
            logs = math.fsum(log for rows in tables for log in _log_moments(sign * rate * rows))
            reach = min(reach, (logs - math.log(min(share, 0.01))) / rate)
        reaches.append(reach * (1 + 1e-9))
    inside = max(lowest, mean - reaches[0]), min(highest, mean + reaches[1])
    whole = inside == (lowest, highest)
    margin = 4 * rounding
    return (inside[0] - margin, inside[1] + margin), 0.0 if whole else 1.01 * share


def _log_moments(exponents: Floats) -> list[float]:
    """Logarithms of the means of exp(exponents), by row."""
    tops = exponents.max(axis=1)
    moments = np.exp(exponents - tops[:, None]).mean(axis=1)
    return [top + math.log(mean) for top, mean in zip(tops.tolist(), moments.tolist(), strict=True)]
