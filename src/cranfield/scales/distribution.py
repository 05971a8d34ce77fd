"""Distribution of a sum of many independent components, with proved bounds.

The values that a measure such as DCG or RBP takes over all judged runs are, as a set, all the
sums x = s_1 + ... + s_n of one s_k from each of n finite sets S_k, every choice giving another
value. The share of values up to x,

    F(x) = #{(s_1, ..., s_n) : s_1 + ... + s_n <= x} / (|S_1| ... |S_n|),

is the distribution function of a sum X of independent variables, each uniform on its S_k. It is
found in the first of three ways that is close enough:

1. Counting: all sums are listed. Nothing is left open.
2. Listing the widest components' sums A, and enclosing the others' sum: B lies in [b, c], so that
   F_A(x - c) <= F(x) <= F_A(x - b). It serves where weights fall fast (RBP with p <= 1/2, also
   where F is singular).
3. Fourier inversion with Vaaler's polynomials: the theorem is below.

Sums are known to a relative 1e-15, and so is x. Moving every sum by at most `rounding` moves F(x)
between F(x - rounding) and F(x + rounding); the limits contain that.

Sources: Ferrante, Ferro and Fuhr (2021), Towards Meaningful Statements in IR Evaluation, IEEE
Access 9, for ranks among all runs; the others with the theorem.

Let theta be a sum of independent variables, each uniform on a finite set, and
phi(k) = E e(k theta) with e(t) = exp(2 pi i t). It is a product with one factor for every
variable, and for many variables it all but vanishes outside a few k. Vaaler's trigonometric
polynomial V_K is the best approximation of degree K to the sawtooth psi(t) = t - floor(t) - 1/2:

    V_K(t) = -sum_{k=1..K} Phi(k / (K + 1)) sin(2 pi k t) / (pi k),
    Phi(u) = pi u (1 - u) cot(pi u) + u,
    |V_K(t) - psi(t)| <= D_K(t) / (2 K + 2),
    D_K(t) = 1 + 2 sum_{k=1..K} (1 - k / (K + 1)) cos(2 pi k t)

for every t, whichever value between -1/2 and 1/2 psi has at whole t. Both polynomials have
means over theta that phi(1), ..., phi(K) give without any further error.

Sources: Vaaler (1985), Some extremal functions in Fourier analysis, Bull. AMS 12, theorem 18;
Montgomery (1994), Ten Lectures on the Interface between Analytic Number Theory and Harmonic
Analysis, chapter 1; Ehlich and Zeller (1964), Math. Z. 86, for the peak between the points of a
grid; Higham (2002), Accuracy and Stability of Numerical Algorithms, chapter 3, for the rounding.

Theorem. Let X be a sum of independent bounded variables and F its distribution function,
lo <= x <= hi, P > hi - lo, and psi(t) = t - ceil(t) + 1/2. Then

    F(x) = 1/2 + (x - E X) / P + E psi((X - x) / P) + R,  |R| <= epsilon,

if sum_{j >= 0} P(X >= hi + j P) and sum_{j >= 0} P(X <= lo - j P) are at most epsilon, and R = 0
if X is always within [lo, hi]. For the right-hand side without R is the mean of
1 - ceil((X - x) / P), which is 1 for x - P < X <= x and 0 for x < X <= x + P; further out it is
off by one for every further P, and those two sums bound the means of that.

Vaaler's inequality encloses E psi between the means of two
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
from functools import cached_property
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import fft

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.base.parallel import in_threads, processors

Complex = NDArray[np.complex128]
Numbers = NDArray[Any]
"""Real where every variable is symmetric, complex otherwise."""

UNIT = 2.0**-53
"""Unit roundoff."""
SIDE = 512
"""Frequencies are computed in squares of this side: k = row + column."""
SLICE = 1024
"""Values of one variable, and frequencies of one row of a polynomial, that are taken at a time."""
SPARSE = 16
"""Once fewer than one in so many frequencies is left, they are computed one by one."""


@dataclass(frozen=True)
class Spectrum:
    """phi(k) for k = 1..K: the values that are kept, all others being close to 0."""

    degree: int
    """The highest frequency K."""
    at: Ints
    """Frequencies that are kept, ascending."""
    values: Complex
    """phi at these frequencies."""
    slack: float
    """Largest possible error of any phi(k), k <= K, those that are not kept counting as 0."""

    @property
    def steps(self) -> Complex:
        """Coefficients of the mean of V_K: of e(-k t) in its imaginary part."""
        share = self.at / (self.degree + 1)
        vaaler = np.pi * share * (1 - share) / np.tan(np.pi * share) + share
        return np.asarray(-vaaler / (np.pi * self.at) * self.values)

    @property
    def kernel(self) -> Complex:
        """Coefficients of (mean of D_K - 1) / (2 K + 2): of e(-k t) in its real part."""
        share = self.at / (self.degree + 1)
        return np.asarray((1 - share) * self.values / (self.degree + 1))

    @property
    def uncertainty(self) -> float:
        """Error of V_K's mean plus that of D_K's over 2 K + 2, from the errors of phi and sums.

        |Phi| <= 1 and sum 1/k <= 1 + ln K, so that V_K takes up at most slack (1 + ln K) / pi and
        D_K / (2 K + 2) at most slack / 2. The sums of `mean_steps` add at most
        (2 SLICE + 2 rows + 100) units of rounding of the sum of the coefficients' magnitudes.
        """
        spread = self.slack * ((1 + np.log(self.degree)) / np.pi + 0.5)
        size = float(np.abs(self.steps).sum() + np.abs(self.kernel).sum()) + 1
        rows = self.degree // SLICE + 1
        return float(spread + (2 * SLICE + 2 * rows + 100) * UNIT * size)

    @property
    def slope(self) -> float:
        """Lipschitz constant of (mean of V_K) +- (mean of D_K) / (2 K + 2), per unit of theta."""
        pieces = np.abs(self.steps) + np.abs(self.kernel)
        return float(2 * np.pi * (self.at * pieces).sum())

    def peak(self, jobs: int, aim: float = 0.0) -> float:
        """Bound the mean of D_K(theta - t) / (2 K + 2) over all t.

        The sum of the magnitudes is one bound. If it is above the aim, the polynomial's largest
        value at 8 (K + 1) equidistant points is another, divided by cos(pi / 8) (Ehlich and
        Zeller); that one is given up as soon as it must be above the aim as well.
        """
        count, kernel = self.degree + 1, self.kernel
        simple = 0.5 / count + float(np.abs(kernel).sum())
        if simple <= aim or self.at.size * SPARSE < count:
            return simple
        highest = 0.0
        for part in range(8):
            shifted = np.zeros(count, dtype=np.complex128)
            shifted[self.at] = kernel * np.exp(-2j * np.pi / (8 * count) * (self.at * part))
            points = fft.fft(shifted, workers=jobs, overwrite_x=True).real
            highest = max(highest, 0.5 / count + float(points.max()))
            if highest > aim > 0:
                return simple
        rounding = 100 * UNIT * np.log2(count) * simple * np.sqrt(count)
        return float(min(simple, highest / np.cos(np.pi / 8) + rounding))

    def mean_steps(self, where: Floats) -> tuple[Floats, Floats]:
        """Return the means of V_K(theta - t) and of D_K(theta - t) / (2 K + 2) at some t."""
        middle, width = np.zeros(where.size), np.zeros(where.size)
        row, column = np.divmod(self.at, SLICE)
        rows, first = np.unique(row, return_index=True)
        ends = np.append(first, row.size)
        both = np.stack([self.steps, self.kernel])
        for start in range(0, where.size, 512):
            part = slice(start, start + 512)
            turns = waves(np.arange(SLICE), -where[part])
            for begin in range(0, rows.size, 64):
                some = rows[begin : begin + 64]
                inside = slice(ends[begin], ends[begin + some.size])
                if row[inside].size <= 32 * some.size:
                    step, kernel = both[:, inside] @ waves(self.at[inside], -where[part])
                else:
                    # e(-k t) of a row's frequencies are those of row 0, turned: one product.
                    table = np.zeros((2, some.size, SLICE), dtype=np.complex128)
                    table[:, np.searchsorted(some, row[inside]), column[inside]] = both[:, inside]
                    turned = (table.reshape(-1, SLICE) @ turns).reshape(2, some.size, -1)
                    step, kernel = (turned * waves(some * SLICE, -where[part])).sum(axis=1)
                middle[part] += step.imag
                width[part] += kernel.real
        return middle, width + 0.5 / (self.degree + 1)


@dataclass(frozen=True)
class Variable:
    """One of the independent variables: its values, in turns, and the weights of its phi.

    For a symmetric variable phi(k) = sum weight cos(2 pi k value) over the values from 0 on.
    """

    values: Floats
    weights: Floats
    symmetric: bool
    count: int

    @classmethod
    def uniform(cls, values: Floats) -> Variable:
        symmetric = bool(np.array_equal(values, -values[::-1]))
        half = values[values >= 0] if symmetric else values
        weights = np.where(half > 0, 2.0, 1.0) if symmetric else np.ones(half.size)
        return cls(half, weights / values.size, symmetric, values.size)

    @property
    def rounding(self) -> float:
        """Bound the error of a computed factor of phi, and of multiplying it.

        Each wave is within 24 UNIT, a product of two within 51 UNIT; a weighted mean of m adds
        2 m UNIT and a complex product 3 UNIT.
        """
        return (64 + 2 * self.count) * UNIT

    def square(self, start: int) -> Numbers:
        """Compute phi at start + SIDE row + column for a square of frequencies."""
        total: Numbers = np.zeros((SIDE, SIDE), np.float64 if self.symmetric else np.complex128)
        for begin in range(0, self.values.size, SLICE):
            part = slice(begin, begin + SLICE)
            down = waves(start + SIDE * np.arange(SIDE), self.values[part]) * self.weights[part]
            along = waves(np.arange(SIDE), self.values[part]).T
            parts = np.vstack([along.real, along.imag])
            total.real += _product(np.hstack([down.real, -down.imag]), parts)
            if not self.symmetric:
                total.imag += _product(np.hstack([down.imag, down.real]), parts)
        return total

    def single(self, at: Ints) -> Numbers:
        """Compute phi at single frequencies."""
        out = np.empty(at.size, dtype=np.float64 if self.symmetric else np.complex128)
        step = max(1, 2**20 // self.values.size)
        for start in range(0, at.size, step):
            part = slice(start, start + step)
            factor = waves(at[part], self.values)
            out[part] = (factor.real if self.symmetric else factor) @ self.weights
        return out


def _product(left: Floats, right: Floats) -> Floats:
    """Multiply matrices; not by BLAS where they are thin.

    It would spread each small product over threads that are taken already, and on busy processors
    wait for them many times as long as the product takes.
    """
    if left.shape[1] <= 32:
        return np.asarray(np.einsum("rm,mc->rc", left, right))
    return np.asarray(left @ right)


def waves(times: Ints, turns: Floats) -> Complex:
    """Return e(time turn) for whole times up to 2^24, each within 24 units of rounding.

    A product of a large time and a turn would lose the turn's last digits just where they matter,
    after the decimal point. So the turn is split in two: its first 26 bits times a whole number
    are exact, the rest is small.
    """
    turns = turns - np.rint(turns)
    high = np.rint(turns * 2**26) / 2**26
    angle = np.multiply.outer(times, high)
    angle -= np.rint(angle)
    angle += np.multiply.outer(times, turns - high)
    angle *= 2 * np.pi
    out = np.empty(angle.shape, dtype=np.complex128)
    np.cos(angle, out=out.real)
    np.sin(angle, out=out.imag)
    return out


def coefficients(
    variables: Sequence[Variable], start: int, stop: int, cut: float, jobs: int
) -> tuple[Ints, Complex]:
    """Compute phi(k) for start <= k < stop, whole squares, leaving out those surely below the cut.

    A product of factors of magnitude at most 1 only falls: once it is below the cut, the
    other factors do not matter.
    """
    starts = range(start, stop, SIDE * SIDE)
    parts = in_threads(lambda first: _square(variables, first, cut), starts, jobs)
    return np.concatenate([at for at, _ in parts]), np.concatenate([phi for _, phi in parts])


def _square(variables: Sequence[Variable], start: int, cut: float) -> tuple[Ints, Complex]:
    """Compute phi on one square: all of it at first, then only where it is not yet near 0."""
    real = all(variable.symmetric for variable in variables)
    square = np.ones((SIDE, SIDE), dtype=np.float64 if real else np.complex128)
    done = 0
    for done, variable in enumerate(variables, 1):
        square *= variable.square(start)
        if done % 4 == 0 and np.count_nonzero(np.abs(square) >= cut) * SPARSE < square.size:
            break
    phi = square.ravel()
    at = np.flatnonzero(np.abs(phi) >= cut)
    at, phi = at + start, phi[at]
    for count, variable in enumerate(variables[done:]):
        phi = phi * variable.single(at)
        if count % 8 == 0:
            kept = np.abs(phi) >= cut
            at, phi = at[kept], phi[kept]
    kept = (np.abs(phi) >= cut) & (at > 0)
    return at[kept], phi[kept].astype(np.complex128)


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
    """Return True if a first square of frequencies is affordable.

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


MOST_SUMS = 2**22
"""Sums that are listed one by one."""
ROUNDING = 5e-15
"""Relative uncertainty of a sum: 1e-15 of each component's own, the rest for adding and for x."""


@dataclass(frozen=True)
class SumDistribution:
    """Distribution function of a sum of independent components, with proved bounds."""

    error: float
    """Largest possible |share(x) - F(x)| over all x, rounding included."""
    rounding: float
    """How far sums and x may be off; an x within it of a listed sum, or of the least or the largest
    sum of all, is taken to be that sum."""
    lowest: float
    highest: float
    way: _Listed | Inverted

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the proportion of sums up to x, from 0 to 1, non-decreasing over the requested x.

        The middle of the limits, unless all sums are counted.
        """
        return self._all(x)[1]

    def bracket(self, x: ArrayLike) -> tuple[Floats, Floats]:
        """Return proved lower and upper bounds of F(x).

        They are often closer than the error, which holds for the worst x. F is monotone, so
        limits at one x are limits beyond it, too: asking for more x together never widens them.
        """
        lower, _, upper = self._all(x)
        return lower, upper

    def _all(self, x: ArrayLike) -> tuple[Floats, Floats, Floats]:
        points = np.asarray(x, dtype=np.float64)
        if np.isnan(points).any():
            raise PolicyError("x must be numbers, got nan")
        asked, place = np.unique(points, return_inverse=True)
        limits = np.stack(self.way.limits(asked))
        limits[:, asked < self.lowest - self.rounding] = 0.0
        limits[:, asked >= self.highest - self.rounding] = 1.0
        lower, share, upper = limits[:, place].reshape(3, *points.shape)
        return lower, share, upper


@dataclass(frozen=True)
class _Listed:
    """Sums of the widest components, and the range of the sum of all others."""

    sums: Floats
    least: float
    most: float
    rounding: float

    @property
    def complete(self) -> bool:
        return self.least == self.most

    @cached_property
    def error(self) -> float:
        """The share of sums in the fullest window of the width that is left open.

        Where all are listed, x is one of the sums, so that one less is in doubt; otherwise the
        share is the middle of the window.
        """
        width = self.most - self.least + 2 * self.rounding
        inside = np.searchsorted(self.sums, self.sums + width, side="right")
        fullest = int((inside - np.arange(self.sums.size)).max())
        return (fullest - 1 if self.complete else fullest / 2) / self.sums.size

    def limits(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        up_to = np.searchsorted(self.sums, x - self.most - self.rounding, side="right")
        high = np.searchsorted(self.sums, x - self.least + self.rounding, side="right")
        low = np.minimum(up_to + 1, high) if self.complete else up_to
        share = high if self.complete else (low + high) / 2
        return low / self.sums.size, share / self.sums.size, high / self.sums.size


def distribution_of_sums(
    components: Sequence[Floats],
    *,
    wanted: float = 1e-6,
    memory: int = 2**30,
    jobs: int | None = None,
) -> SumDistribution:
    """Find the distribution function of a sum of independent components.

    The components' distinct values ascend, each right to a relative 1e-15; equal neighbours
    (weights so small that they underflow) are counted as two. Where the wanted error is out of
    reach, a larger one is stated.

    >>> rbp = distribution_of_sums([np.array([0.0, 0.5**j]) for j in range(1, 11)])
    >>> (rbp.cdf([0.0, 0.5, 1.0]) * 2**10).tolist()
    [1.0, 513.0, 1024.0]
    >>> rbp.error
    0.0
    """
    sets = [_checked(component) for component in components]
    if not sets or not wanted > 0:
        raise PolicyError("expected at least one component and an error above 0")
    sets.sort(key=lambda values: float(values[0] - values[-1]))
    rounding = ROUNDING * math.fsum(max(-values[0], values[-1]) for values in sets)
    lowest = math.fsum(values[0] for values in sets)
    highest = math.fsum(values[-1] for values in sets)
    listed = _listed(sets, min(MOST_SUMS, memory // 64), rounding)
    ways: list[tuple[float, _Listed | Inverted]] = [(listed.error, listed)]
    if not (listed.complete or listed.error <= wanted) and affordable(sets):
        inversion, error = inverted(sets, wanted, memory, jobs or processors(), rounding)
        ways.append((error, inversion))
    # Of equally close ones the first.
    error, way = min(ways, key=itemgetter(0))
    return SumDistribution(error, rounding, lowest, highest, way)


def _checked(component: Floats) -> Floats:
    values = np.asarray(component, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise PolicyError("each component must be a list of one or more finite values")
    if (np.diff(values) < 0).any():
        raise PolicyError("the values of each component must ascend")
    return values


def _listed(sets: Sequence[Floats], most: int, rounding: float) -> _Listed:
    """List the sums of as many of the widest components as memory allows."""
    sums, done = sets[0], 1
    while done < len(sets) and sums.size * sets[done].size <= most:
        sums = np.add.outer(sums, sets[done]).ravel()
        done += 1
    sums = np.sort(sums)
    rest = sets[done:]
    least = math.fsum(values[0] for values in rest)
    return _Listed(sums, least, math.fsum(values[-1] for values in rest), rounding)
