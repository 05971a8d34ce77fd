"""The Fourier coefficients of a sum of independent finite variables, and steps made from them.

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
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from cranfield.base.arrays import Floats, Ints
from cranfield.base.threads import in_threads

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

    A product of factors of magnitude at most 1 only falls: as soon as it is below the cut, the
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
