"""Distribution of a sum of many independent components, with proved bounds.

The values of a measure such as DCG or RBP over all judged runs are the sums x = s_1 + ... + s_n
with one s_k from each of n finite sets S_k, which are made so that different choices give different
sums. The proportion of values up to x,

    F(x) = #{(s_1, ..., s_n) : s_1 + ... + s_n <= x} / (|S_1| ... |S_n|),

is the distribution function of a sum X of independent variables, each uniform on its S_k. It is
computed by the first of three methods that is accurate enough, or else by the most accurate one:

1. Counting: all sums are listed, and F is exact, unless rounding cannot separate some sums.
2. Listing the sums A of the widest components, and enclosing the sum B of the remaining ones:
   B lies in [b, c], so that F_A(x - c) <= F(x) <= F_A(x - b). This is accurate where weights decay
   fast (RBP with p <= 1/2, also where F is singular).
3. Fourier inversion with Vaaler's polynomials: the theorem is below.

Values of components have a relative error of at most 1e-15. If every sum moves by at most
`rounding`, the new F(x) is between F(x - rounding) and F(x + rounding); the bounds allow for this.

Let theta be a sum of independent variables, each uniform on a finite set, and
phi(k) = E e(k theta) with e(t) = exp(2 pi i t). It is a product with one factor for each
variable, and for many variables it is close to 0 except for a few k. Vaaler's trigonometric
polynomial V_K is the best approximation of degree K to the sawtooth psi(t) = t - floor(t) - 1/2:

    V_K(t) = -sum_{k=1..K} Phi(k / (K + 1)) sin(2 pi k t) / (pi k),
    Phi(u) = pi u (1 - u) cot(pi u) + u,
    |V_K(t) - psi(t)| <= D_K(t) / (2 K + 2),
    D_K(t) = 1 + 2 sum_{k=1..K} (1 - k / (K + 1)) cos(2 pi k t)

for every t, whichever value between -1/2 and 1/2 psi has at integers t. The means of both
polynomials over theta follow from phi(1), ..., phi(K) without any further error.

Theorem. Let X be a sum of independent bounded variables and F its distribution function,
lo <= x <= hi, P > hi - lo, and psi(t) = t - ceil(t) + 1/2. Then

    F(x) = 1/2 + (x - E X) / P + E psi((X - x) / P) + R,  |R| <= epsilon,

if sum_{j >= 0} P(X >= hi + j P) and sum_{j >= 0} P(X <= lo - j P) are at most epsilon, and R = 0
if X is always within [lo, hi]. Proof: the right-hand side without R is the mean of
1 - ceil((X - x) / P), which is 1 for x - P < X <= x and 0 for x < X <= x + P. Outside this range
the error grows by one with every further P, and those two sums bound its mean.

Vaaler's inequality encloses E psi between the means of two trigonometric polynomials of degree K,
which are finite sums over phi(k) = E e(k X / P), k <= K:

    |E psi((X - x) / P) - E V_K((X - x) / P)| <= E D_K((X - x) / P) / (2 K + 2),

and as D_K is a kernel of mass 1, this is about density(x) P / (2 K): below 1e-6 for K = 2^22 and
an X that is nearly normal. No polynomials of degree K enclose psi more closely on average
(Vaaler), so that K must be of the order of 1 / max_error. Chernoff's inequality gives lo and hi,

    P(X - E X >= t) <= exp(-r t) prod_k E exp(r (s_k - E s_k)) for every r > 0.

Sources: Vaaler (1985), Some extremal functions in Fourier analysis, Bull. AMS 12, theorem 18;
Montgomery (1994), Ten Lectures on the Interface between Analytic Number Theory and Harmonic
Analysis, chapter 1; Ehlich and Zeller (1964), Math. Z. 86, for the peak between the points of a
grid; Higham (2002), Accuracy and Stability of Numerical Algorithms, chapter 3, for the rounding;
Chernoff (1952), Ann. Math. Stat. 23; Hoeffding (1963), JASA 58, whose window is wider; Gil-Pelaez
(1951), Biometrika 38, Davies (1973), Biometrika 60, and (1980), Applied Statistics 29, for
inversion on a lattice of frequencies with an estimated error.
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
from cranfield.base.parallel import count_processors, map_in_threads

Complex = NDArray[np.complex128]
Numbers = NDArray[Any]
"""Real numbers if every variable is symmetric, otherwise complex numbers."""

UNIT = 2.0**-53
"""Unit roundoff."""
SIDE = 512
"""Side of the square blocks of frequencies: k = start + SIDE row + column."""
CHUNK_SIZE = 1024
"""Number of values of a variable, or of frequencies of a polynomial, processed at a time."""
SPARSE_FACTOR = 16
"""Frequencies are computed one by one if fewer than 1 / SPARSE_FACTOR exceed the threshold."""


@dataclass(frozen=True)
class Spectrum:
    """Characteristic function phi(k) for k = 1..K; values close to 0 are omitted."""

    degree: int
    """The highest frequency K."""
    frequencies: Ints
    """Frequencies of the stored values of phi, from low to high."""
    values: Complex
    """Values of phi at the stored frequencies."""
    phi_error: float
    """Bound on the error of each phi(k), k <= K, if omitted values count as 0."""

    @property
    def sawtooth(self) -> Complex:
        """Coefficients of e(-k t), whose sum has the mean of V_K (Vaaler) as imaginary part."""
        ratio = self.frequencies / (self.degree + 1)
        vaaler = np.pi * ratio * (1 - ratio) / np.tan(np.pi * ratio) + ratio
        return np.asarray(-vaaler / (np.pi * self.frequencies) * self.values)

    @property
    def kernel(self) -> Complex:
        """Coefficients of e(-k t), whose sum has (mean of D_K - 1) / (2 K + 2) as real part."""
        ratio = self.frequencies / (self.degree + 1)
        return np.asarray((1 - ratio) * self.values / (self.degree + 1))

    @property
    def mean_error(self) -> float:
        """Bound on the sum of the errors of both means that `evaluate_means` returns."""
        # |Phi| <= 1 and sum 1/k <= 1 + ln K, so that errors of phi change the mean of V_K by at
        # most phi_error (1 + ln K) / pi and the mean of D_K / (2 K + 2) by at most phi_error / 2.
        # The summation in `evaluate_means` adds at most (2 CHUNK_SIZE + 2 rows + 100) units of
        # rounding, relative to the sum of the coefficients' magnitudes.
        spread = self.phi_error * ((1 + np.log(self.degree)) / np.pi + 0.5)
        magnitude = float(np.abs(self.sawtooth).sum() + np.abs(self.kernel).sum()) + 1
        n_rows = self.degree // CHUNK_SIZE + 1
        return float(spread + (2 * CHUNK_SIZE + 2 * n_rows + 100) * UNIT * magnitude)

    @property
    def slope(self) -> float:
        """Lipschitz constant of the sum or difference of both means of `evaluate_means`."""
        magnitudes = np.abs(self.sawtooth) + np.abs(self.kernel)
        return float(2 * np.pi * (self.frequencies * magnitudes).sum())

    def bound_peak(self, jobs: int, target: float = 0.0) -> float:
        """Return an upper bound over all t of the mean of Vaaler's error bound."""
        # The first bound is the sum of magnitudes. If it exceeds the target, the second bound is
        # the polynomial's largest value at 8 (K + 1) equidistant points, divided by cos(pi / 8)
        # (Ehlich and Zeller). Its computation stops once it is certain to exceed the target.
        n_points, kernel = self.degree + 1, self.kernel
        first_bound = 0.5 / n_points + float(np.abs(kernel).sum())
        if first_bound <= target or self.frequencies.size * SPARSE_FACTOR < n_points:
            return first_bound
        peak = 0.0
        for shift in range(8):
            spectrum = np.zeros(n_points, dtype=np.complex128)
            spectrum[self.frequencies] = kernel * np.exp(
                -2j * np.pi / (8 * n_points) * (self.frequencies * shift)
            )
            values = fft.fft(spectrum, workers=jobs, overwrite_x=True).real
            peak = max(peak, 0.5 / n_points + float(values.max()))
            if peak > target > 0:
                return first_bound
        rounding = 100 * UNIT * np.log2(n_points) * first_bound * np.sqrt(n_points)
        return float(min(first_bound, peak / np.cos(np.pi / 8) + rounding))

    def evaluate_means(self, points: Floats) -> tuple[Floats, Floats]:
        """Compute the means of Vaaler's polynomial V_K(theta - t) and of its error bound."""
        # The error bound is D_K(theta - t) / (2 K + 2).
        middle, width = np.zeros(points.size), np.zeros(points.size)
        row, column = np.divmod(self.frequencies, CHUNK_SIZE)
        rows, row_starts = np.unique(row, return_index=True)
        ends = np.append(row_starts, row.size)
        coefficients = np.stack([self.sawtooth, self.kernel])
        for start in range(0, points.size, 512):
            batch = slice(start, start + 512)
            waves = compute_waves(np.arange(CHUNK_SIZE), -points[batch])
            for begin in range(0, rows.size, 64):
                block_rows = rows[begin : begin + 64]
                block = slice(ends[begin], ends[begin + block_rows.size])
                if row[block].size <= 32 * block_rows.size:
                    sawtooth, kernel = coefficients[:, block] @ compute_waves(
                        self.frequencies[block], -points[batch]
                    )
                else:
                    # e(-k t) for the frequencies of a row is e(-k t) of row 0 times one factor.
                    table = np.zeros((2, block_rows.size, CHUNK_SIZE), dtype=np.complex128)
                    index = np.searchsorted(block_rows, row[block])
                    table[:, index, column[block]] = coefficients[:, block]
                    products = (table.reshape(-1, CHUNK_SIZE) @ waves).reshape(
                        2, block_rows.size, -1
                    )
                    shifts = compute_waves(block_rows * CHUNK_SIZE, -points[batch])
                    sawtooth, kernel = (products * shifts).sum(axis=1)
                middle[batch] += sawtooth.imag
                width[batch] += kernel.real
        return middle, width + 0.5 / (self.degree + 1)


@dataclass(frozen=True)
class Variable:
    """An independent variable: values as fractions of the period, and their weights in phi.

    A symmetric variable has only its nonnegative values: phi(k) = sum weight cos(2 pi k value).
    """

    values: Floats
    weights: Floats
    is_symmetric: bool
    n_values: int

    @classmethod
    def make_uniform(cls, values: Floats) -> Variable:
        """Make the variable with a uniform distribution on ascending values."""
        is_symmetric = bool(np.array_equal(values, -values[::-1]))
        half = values[values >= 0] if is_symmetric else values
        weights = np.where(half > 0, 2.0, 1.0) if is_symmetric else np.ones(half.size)
        return cls(half, weights / values.size, is_symmetric, values.size)

    @property
    def rounding(self) -> float:
        """Bound on the error of the factor of phi for this variable, and of multiplying by it."""
        # Each wave is within 24 UNIT, a product of two within 51 UNIT; a weighted mean of m values
        # adds 2 m UNIT and a complex product 3 UNIT.
        return (64 + 2 * self.n_values) * UNIT

    def compute_factor_on_square(self, start: int) -> Numbers:
        """Compute the factor of phi on a square block of frequencies; shape (SIDE, SIDE)."""
        total: Numbers = np.zeros((SIDE, SIDE), np.float64 if self.is_symmetric else np.complex128)
        for begin in range(0, self.values.size, CHUNK_SIZE):
            batch = slice(begin, begin + CHUNK_SIZE)
            rows = compute_waves(start + SIDE * np.arange(SIDE), self.values[batch])
            rows *= self.weights[batch]
            columns = compute_waves(np.arange(SIDE), self.values[batch]).T
            stacked_columns = np.vstack([columns.real, columns.imag])
            total.real += _multiply(np.hstack([rows.real, -rows.imag]), stacked_columns)
            if not self.is_symmetric:
                total.imag += _multiply(np.hstack([rows.imag, rows.real]), stacked_columns)
        return total

    def compute_factor(self, frequencies: Ints) -> Numbers:
        """Compute the factor of phi at some frequencies."""
        phi = np.empty(frequencies.size, dtype=np.float64 if self.is_symmetric else np.complex128)
        batch_size = max(1, 2**20 // self.values.size)
        for start in range(0, frequencies.size, batch_size):
            batch = slice(start, start + batch_size)
            waves = compute_waves(frequencies[batch], self.values)
            phi[batch] = (waves.real if self.is_symmetric else waves) @ self.weights
        return phi


def _multiply(left: Floats, right: Floats) -> Floats:
    """Multiply matrices; thin matrices without BLAS, which would wait for busy threads."""
    if left.shape[1] <= 32:
        return np.asarray(np.einsum("rm,mc->rc", left, right))
    return np.asarray(left @ right)


def compute_waves(multipliers: Ints, turns: Floats) -> Complex:
    """Compute exp(2 pi i k t) for integers k up to 2^24 and turns t, with an error of 24 UNIT."""
    # The fractional part of k t would lose digits. The product of k and the first 26 bits of a turn
    # is exact, and the remainder is small.
    turns = turns - np.rint(turns)
    leading_bits = np.rint(turns * 2**26) / 2**26
    angle = np.multiply.outer(multipliers, leading_bits)
    angle -= np.rint(angle)
    angle += np.multiply.outer(multipliers, turns - leading_bits)
    angle *= 2 * np.pi
    waves = np.empty(angle.shape, dtype=np.complex128)
    np.cos(angle, out=waves.real)
    np.sin(angle, out=waves.imag)
    return waves


def compute_phi(
    variables: Sequence[Variable], start: int, stop: int, threshold: float, jobs: int
) -> tuple[Ints, Complex]:
    """Compute phi(k), k > 0, from start to stop by squares; omit values below the threshold."""
    # Factors have magnitudes of at most 1: a product below the threshold stays below it.
    starts = range(start, stop, SIDE * SIDE)
    blocks = map_in_threads(
        lambda block_start: _compute_square(variables, block_start, threshold), starts, jobs
    )
    frequencies, phi = zip(*blocks, strict=True)
    return np.concatenate(frequencies), np.concatenate(phi)


def _compute_square(
    variables: Sequence[Variable], start: int, threshold: float
) -> tuple[Ints, Complex]:
    """Compute phi on a square; once few values exceed the threshold, only at their frequencies."""
    is_real = all(variable.is_symmetric for variable in variables)
    square = np.ones((SIDE, SIDE), dtype=np.float64 if is_real else np.complex128)
    n_done = 0
    for n_done, variable in enumerate(variables, 1):
        square *= variable.compute_factor_on_square(start)
        if (
            n_done % 4 == 0
            and np.count_nonzero(np.abs(square) >= threshold) * SPARSE_FACTOR < square.size
        ):
            break
    phi = square.ravel()
    frequencies = np.flatnonzero(np.abs(phi) >= threshold)
    frequencies, phi = frequencies + start, phi[frequencies]
    for index, variable in enumerate(variables[n_done:]):
        phi = phi * variable.compute_factor(frequencies)
        if index % 8 == 0:
            is_large = np.abs(phi) >= threshold
            frequencies, phi = frequencies[is_large], phi[is_large]
    is_large = (np.abs(phi) >= threshold) & (frequencies > 0)
    return frequencies[is_large], phi[is_large].astype(np.complex128)


MAX_FREQUENCIES = 2**24
"""Maximum number K + 1 of frequencies of a spectrum."""
MAX_WORK = 2**36
"""Maximum of frequencies times values of all components, if phi does not decay."""
BYTES_PER_FREQUENCY = 96
"""Bytes per stored frequency while polynomials are evaluated."""


@dataclass(frozen=True)
class FourierInversion:
    """Distribution of X = middle + period theta by Fourier inversion of the spectrum of theta.

    `mean` is the mean of theta. X is below the window, and above it, with a probability of at most
    `tail` each, and `rounding` bounds the error of X and x.
    """

    spectrum: Spectrum
    middle: float
    period: float
    mean: float
    window: tuple[float, float]
    tail: float
    rounding: float

    @property
    def added_error(self) -> float:
        """Bound on all errors that D_K does not bound: tails, errors of phi, rounding of x."""
        # The shift is doubled to cover the errors of the mean and of (x - middle) / period.
        shift = 2 * self.rounding / self.period * (1 + self.spectrum.slope)
        return self.tail + self.spectrum.mean_error + shift

    def compute_bounds(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Compute lower bounds, estimates and upper bounds of F(x) for ascending x."""
        low, high = self.window
        points = (np.clip(x, low, high) - self.middle) / self.period
        sawtooth, width = self.spectrum.evaluate_means(points)
        centre, width = 0.5 + points - self.mean + sawtooth, width + self.added_error
        lower = np.where(x < low, 0.0, np.where(x > high, 1 - self.tail, centre - width))
        upper = np.where(x > high, 1.0, np.where(x < low, self.tail, centre + width))
        # F is non-decreasing, and x ascends.
        lower = np.clip(np.maximum.accumulate(lower), 0.0, 1.0)
        upper = np.clip(np.minimum.accumulate(upper[::-1])[::-1], 0.0, 1.0)
        return lower, (lower + upper) / 2, upper


def make_inversion(
    sets: Sequence[Floats], max_error: float, memory: int, jobs: int | None, rounding: float
) -> tuple[FourierInversion, float]:
    """Return the Fourier inversion and its error, which may exceed `max_error` to limit costs."""
    jobs = jobs or count_processors()
    middles = [(values[0] + values[-1]) / 2 for values in sets]
    middle = math.fsum(middles)
    # The narrowest components are replaced by their middles, where that is within the rounding.
    widths = np.array([values[-1] - values[0] for values in sets])
    n_wide = int(np.count_nonzero(np.cumsum(widths[::-1])[::-1] > rounding / 5))
    terms = [_centre(values - mid) for values, mid in zip(sets[:n_wide], middles, strict=False)]
    window, tail = _find_window(terms, max_error / 1000, rounding)
    period = (window[1] - window[0]) * (1 + 1e-9) + 4 * rounding
    variables = [Variable.make_uniform(values / period) for values in terms]
    # Factors of small components are the cheapest; of equally small ones the widest come first.
    variables.sort(key=lambda variable: variable.n_values)
    threshold = max_error / 1000
    phi_error = threshold + 1.01 * sum(variable.rounding for variable in variables)
    mean = math.fsum(float(np.mean(values)) for values in terms) / period
    frequencies, phi = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.complex128)
    n_computed, stop = 0, SIDE * SIDE
    while True:
        new_frequencies, new_phi = compute_phi(variables, n_computed, stop, threshold, jobs)
        frequencies = np.concatenate([frequencies, new_frequencies])
        phi = np.concatenate([phi, new_phi])
        spectrum = Spectrum(stop - 1, frequencies, phi, phi_error)
        lowest, highest = (middle + bound for bound in window)
        inversion = FourierInversion(
            spectrum, middle, period, mean, (lowest, highest), tail, 1.2 * rounding
        )
        target = max(max_error - inversion.added_error, max_error / 2)
        error = inversion.added_error + spectrum.bound_peak(jobs, target)
        n_computed, stop = stop, 2 * stop
        # If phi does not decay, every frequency requires all values, and is stored.
        is_dense = new_frequencies.size * 4 > n_computed
        n_values = sum(variable.n_values for variable in variables) if is_dense else 0
        bytes_next = BYTES_PER_FREQUENCY * 2 * frequencies.size + (
            64 * stop if frequencies.size * SPARSE_FACTOR >= n_computed else 0
        )
        is_too_large = stop > MAX_FREQUENCIES or bytes_next > memory or n_values * stop > MAX_WORK
        if error <= max_error or is_too_large:
            return inversion, min(error, 0.5)


def is_affordable(sets: Sequence[Floats]) -> bool:
    """Return True if Fourier inversion can start in reasonable time."""
    # With many small components, phi is almost 0 before large ones are needed.
    log_size = math.fsum(math.log2(values.size) for values in sets if values.size <= 2**12)
    return log_size > 64 or sum(values.size for values in sets) * SIDE**2 <= MAX_WORK


def _centre(values: Floats) -> Floats:
    """Make a set that is symmetric about 0 up to rounding exactly symmetric (phi is then real)."""
    mirrored_values = -values[::-1]
    if np.abs(values - mirrored_values).max() <= 2e-15 * np.abs(values).max():
        return np.asarray((values + mirrored_values) / 2)
    return values


def _find_window(
    sets: Sequence[Floats], probability: float, rounding: float
) -> tuple[tuple[float, float], float]:
    """Return a window that the sum leaves on each side with probability <= p, and the bound on R.

    Chernoff's bound holds at every rate; the best of 60 rates is used. The probabilities beyond
    hi, hi + P, ... add up to p / (1 - exp(-rate P)), and rate P >= rate t >= -ln(p), so that
    R < 1.01 p for p below 1/100; probabilities beyond lo have the opposite sign. The window is cut
    to the range of the sum.
    """
    min_sum = math.fsum(values[0] for values in sets)
    max_sum = math.fsum(values[-1] for values in sets)
    means = [float(values.mean()) for values in sets]
    mean = math.fsum(means)
    deviation = math.sqrt(math.fsum(float(values.var()) for values in sets))
    rows_by_size: dict[int, list[Floats]] = {}
    for values, centre in zip(sets, means, strict=True):
        rows_by_size.setdefault(values.size, []).append(values - centre)
    tables = [np.stack(rows) for rows in rows_by_size.values()]
    distances = []
    for sign in (-1.0, 1.0):
        distance = math.inf
        for rate in np.geomspace(0.5, 60.0, 60) / deviation:
            logs = math.fsum(
                log for rows in tables for log in _compute_log_moments(sign * rate * rows)
            )
            distance = min(distance, (logs - math.log(min(probability, 0.01))) / rate)
        distances.append(distance * (1 + 1e-9))
    window = max(min_sum, mean - distances[0]), min(max_sum, mean + distances[1])
    tail = 0.0 if window == (min_sum, max_sum) else 1.01 * probability
    margin = 4 * rounding
    return (window[0] - margin, window[1] + margin), tail


def _compute_log_moments(exponents: Floats) -> list[float]:
    """Return the logarithm of the mean of exp(exponents) for each row."""
    tops = exponents.max(axis=1)
    moments = np.exp(exponents - tops[:, None]).mean(axis=1)
    return [top + math.log(mean) for top, mean in zip(tops.tolist(), moments.tolist(), strict=True)]


MAX_SUMS = 2**22
"""Maximum number of listed sums."""
ROUNDING = 5e-15
"""Relative uncertainty of a sum: 1e-15 from the components, the remainder from adding and x."""


@dataclass(frozen=True)
class SumDistribution:
    """Distribution function of a sum of independent components, with proved bounds."""

    error: float
    """Bound on |cdf(x) - F(x)| over all x, rounding included."""
    rounding: float
    """Bound on the error of sums and x. If x differs by less from a listed sum, or from the lowest
    or highest sum, x counts as equal to that sum."""
    min_sum: float
    max_sum: float
    method: ListedSums | FourierInversion

    def cdf(self, x: ArrayLike) -> Floats:
        """Return the proportion of sums up to each x; it never decreases within one call."""
        return self._compute_bounds(x)[1]

    def bracket(self, x: ArrayLike) -> tuple[Floats, Floats]:
        """Return proved lower and upper bounds of the proportions, often closer than `error`."""
        lower, _, upper = self._compute_bounds(x)
        return lower, upper

    def _compute_bounds(self, x: ArrayLike) -> tuple[Floats, Floats, Floats]:
        points = np.asarray(x, dtype=np.float64)
        unique_points, inverse = np.unique(points, return_inverse=True)
        bounds = np.stack(self.method.compute_bounds(unique_points))
        bounds[:, unique_points < self.min_sum - self.rounding] = 0.0
        bounds[:, unique_points >= self.max_sum - self.rounding] = 1.0
        lower, middle, upper = bounds[:, inverse].reshape(3, *points.shape)
        return lower, middle, upper


@dataclass(frozen=True)
class ListedSums:
    """Sums of the widest components, and the range of the sum of the remaining ones."""

    sums: Floats
    min_remainder: float
    max_remainder: float
    rounding: float

    @property
    def is_complete(self) -> bool:
        """True if the sums of all components are listed."""
        return self.min_remainder == self.max_remainder

    @cached_property
    def error(self) -> float:
        """Bound on the error of F(x): the largest proportion of sums too close to x to decide."""
        width = self.max_remainder - self.min_remainder + 2 * self.rounding
        ends = np.searchsorted(self.sums, self.sums + width, side="right")
        n_uncertain = int((ends - np.arange(self.sums.size)).max())
        # If all sums are listed, x is one of them; otherwise F is the midpoint of its bounds.
        return (n_uncertain - 1 if self.is_complete else n_uncertain / 2) / self.sums.size

    def compute_bounds(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        """Compute lower bounds, estimates and upper bounds of F(x)."""
        start = np.searchsorted(self.sums, x - self.max_remainder - self.rounding, side="right")
        high = np.searchsorted(self.sums, x - self.min_remainder + self.rounding, side="right")
        low = np.minimum(start + 1, high) if self.is_complete else start
        middle = high if self.is_complete else (low + high) / 2
        return low / self.sums.size, middle / self.sums.size, high / self.sums.size


def compute_distribution(
    components: Sequence[Floats],
    *,
    max_error: float = 1e-6,
    memory: int = 2**30,
    jobs: int | None = None,
) -> SumDistribution:
    """Compute the distribution function of a sum of independent components.

    Each of one or more components is an ascending array of equally likely values with a relative
    error of at most 1e-15; equal values (as of weights that underflow) count separately.
    The `error` of the result exceeds `max_error` if that accuracy cannot be reached.

    >>> rbp = compute_distribution([np.array([0.0, 0.5**j]) for j in range(1, 11)])
    >>> (rbp.cdf([0.0, 0.5, 1.0]) * 2**10).tolist()
    [1.0, 513.0, 1024.0]
    >>> rbp.error
    0.0
    """
    sets = sorted(components, key=lambda values: float(values[0] - values[-1]))
    rounding = ROUNDING * math.fsum(max(-values[0], values[-1]) for values in sets)
    min_sum = math.fsum(values[0] for values in sets)
    max_sum = math.fsum(values[-1] for values in sets)
    sums = _list_sums(sets, min(MAX_SUMS, memory // 64), rounding)
    methods: list[tuple[float, ListedSums | FourierInversion]] = [(sums.error, sums)]
    if not (sums.is_complete or sums.error <= max_error) and is_affordable(sets):
        inversion, error = make_inversion(sets, max_error, memory, jobs, rounding)
        methods.append((error, inversion))
    # Of equally accurate methods the first is preferred.
    error, method = min(methods, key=itemgetter(0))
    return SumDistribution(error, rounding, min_sum, max_sum, method)


def _list_sums(sets: Sequence[Floats], max_sums: int, rounding: float) -> ListedSums:
    """List the sums of the widest components, without exceeding the maximum number of sums."""
    sums, n_done = sets[0], 1
    while n_done < len(sets) and sums.size * sets[n_done].size <= max_sums:
        sums = np.add.outer(sums, sets[n_done]).ravel()
        n_done += 1
    sums = np.sort(sums)
    other_sets = sets[n_done:]
    lowest = math.fsum(values[0] for values in other_sets)
    highest = math.fsum(values[-1] for values in other_sets)
    return ListedSums(sums, lowest, highest, rounding)
