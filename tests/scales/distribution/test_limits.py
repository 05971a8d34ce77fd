"""Distributions of sums: against counting, simulation, a grid, and their own theorem."""

import math
import pickle
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from cranfield.base.arrays import Floats
from cranfield.scales import distribution as distributions
from cranfield.scales.distribution import (
    Spectrum,
    SumDistribution,
    compute_distribution,
    compute_waves,
)


def invert(components: Sequence[Floats], max_error: float = 1e-6) -> SumDistribution:
    """By Fourier inversion, without millions of listed sums to begin with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distributions, "MAX_SUMS", 2**12)
        return compute_distribution(components, max_error=max_error)


def rbp(length: int, persistence: float, gains: Sequence[int] = (0, 1)) -> list[Floats]:
    return [
        np.array(gains) / max(gains) * (1 - persistence) * persistence**rank
        for rank in range(length)
    ]


def dcg(length: int, gains: Sequence[int] = (0, 1)) -> list[Floats]:
    """Components of DCG: ranks whose logarithms have rational ratios share one."""
    shared: dict[int, list[int]] = {}
    for rank in range(1, length + 1):
        place = max(2, rank)
        base, power = next(
            (base, power)
            for base in range(2, place + 1)
            for power in [round(math.log(place, base))]
            if base**power == place
        )
        shared.setdefault(base, []).append(power)
    components = []
    for base, powers in shared.items():
        unit = math.lcm(*powers)
        sums = {0}
        for power in powers:
            sums = {old + gain * (unit // power) for old in sums for gain in gains}
        components.append(np.array(sorted(sums)) / unit / math.log2(base))
    return components


def sums_of(components: Sequence[Floats]) -> Floats:
    sums: Floats = np.zeros(1)
    for values in components:
        sums = np.add.outer(sums, values).ravel()
    return np.sort(sums)


def counted(components: Sequence[Floats], x: Floats) -> Floats:
    """Count by meeting in the middle: exactly, x being sums up to rounding."""
    halves: list[list[Floats]] = [[], []]
    for values in sorted(components, key=len, reverse=True):
        halves[math.prod(map(len, halves[0])) > math.prod(map(len, halves[1]))].append(values)
    one, other = sums_of(halves[0]), sums_of(halves[1])
    return np.array(
        [np.searchsorted(other, value - one + 1e-13, side="right").mean() for value in x]
    ) / len(other)


def drawn(components: Sequence[Floats], count: int, seed: int = 1) -> Floats:
    rng = np.random.default_rng(seed)
    total = np.zeros(count)
    for values in components:
        total += values[rng.integers(0, values.size, count)]
    return total


def on_a_grid(
    components: Sequence[Floats], points: int = 2**17, reach: float = 7.5
) -> tuple[Floats, Floats]:
    """Another way: in space, every component's values split between two grid points.

    The split keeps each mean; the error is of second order in the grid's step. Returns the grid
    and (F(x) + F(x-)) / 2 on it.
    """
    means = [values.mean() for values in components]
    step = 2 * reach * math.sqrt(sum(values.var() for values in components)) / points
    share = np.zeros(points)
    share[points // 2] = 1.0
    for values, mean in zip(components, means, strict=True):
        kernel_at = (values - mean) / step
        floor = np.floor(kernel_at).astype(int)
        new = np.zeros(points)
        for low, rest in zip(floor, kernel_at - floor, strict=True):
            for move, weight in ((low, 1 - rest), (low + 1, rest)):
                if move >= 0:
                    new[move:] += weight / values.size * share[: points - move]
                else:
                    new[:move] += weight / values.size * share[-move:]
        share = new
    x = sum(means) + step * (np.arange(points) - points // 2)
    return x, np.cumsum(share) - share / 2


def check(distribution: SumDistribution, x: Floats, exact: Floats) -> None:
    """The limits hold, the share is within the error, and F is a distribution function."""
    lower, upper = distribution.bracket(x)
    share = distribution.cdf(x)
    assert (lower <= exact + 1e-12).all()
    assert (exact <= upper + 1e-12).all()
    assert np.abs(share - exact).max() <= distribution.error + 1e-12
    assert (lower <= share).all()
    assert (share <= upper).all()
    assert ((share >= 0) & (share <= 1)).all()
    assert (np.diff(share[np.argsort(x)]) >= 0).all()


def test_few_sums_are_counted() -> None:
    rng = np.random.default_rng(3)
    for _ in range(5):
        components = [np.sort(rng.random(rng.integers(1, 6))) for _ in range(5)]
        sums = sums_of(components)
        distribution = compute_distribution(components)
        assert distribution.error == 0
        share = distribution.cdf(sums)
        assert np.array_equal(share, np.arange(1, sums.size + 1) / sums.size)
        between = (sums[1:] + sums[:-1]) / 2
        assert np.array_equal(distribution.cdf(between), share[:-1])


def test_sums_that_rounding_cannot_tell_apart_are_an_error() -> None:
    distribution = compute_distribution([np.array([0, 0.1, 0.3]), np.array([0, 0.2])])
    assert distribution.error == 1 / 6
    assert distribution.cdf(0.3) == 5 / 6


@pytest.mark.parametrize("sizes", [[2] * 26, [3, 2, 4] * 7, [50, 60, 70, 80, 3]])
def test_random_components_against_counting(sizes: list[int]) -> None:
    rng = np.random.default_rng(len(sizes))
    components = [np.sort(rng.normal(size=size)) for size in sizes]
    distribution = invert(components, max_error=1e-5)
    assert 0 < distribution.error <= 1e-5
    x = drawn(components, 60)
    check(distribution, x, counted(components, x))


@pytest.mark.parametrize(
    "components",
    [rbp(34, 0.8), dcg(34), rbp(18, 0.8, (0, 1, 2, 3))],
    ids=["rbp", "dcg", "rbp of four grades"],
)
def test_measures_against_counting(components: list[Floats]) -> None:
    distribution = invert(components)
    assert 0 < distribution.error <= 1e-6
    x = np.sort(drawn(components, 12))
    check(distribution, x, counted(components, x))


@pytest.mark.parametrize("persistence", [0.3, 0.5])
def test_weights_that_fall_fast(persistence: float) -> None:
    """The binary digits of a run are its rank; F is singular for p < 1/2."""
    components = rbp(45, persistence)
    runs = np.random.default_rng(2).integers(0, 2, (200, 45))
    x = runs @ np.array([values[1] for values in components])
    exact = runs @ 0.5 ** np.arange(1, 46) + 0.5**45
    distribution = compute_distribution(rbp(1000, persistence))
    assert distribution.error <= 1e-6
    check(distribution, x, exact)
    # Without listing, the error has to be larger, and the limits have to say so.
    few = compute_distribution(components, max_error=1e-6, memory=2**12)
    assert few.error > 1e-6
    check(few, x, exact)


def test_atoms_are_not_smoothed_away() -> None:
    """Sums of equal components lie on a lattice: an error below half an atom would be wrong."""
    distribution = compute_distribution([np.array([0.0, 1.0])] * 100, memory=2**24)
    atoms = np.array([math.comb(100, k) / 2**100 for k in range(101)])
    assert distribution.error >= atoms.max() / 2
    assert distribution.error <= atoms.max()
    for x in (np.arange(100.0), np.arange(0.5, 100)):
        check(distribution, x, np.cumsum(atoms)[:-1])


LONG = {
    "dcg": dcg(400),
    "dcg of four grades": dcg(300, (0, 1, 2, 3)),
    "rbp .8": rbp(1000, 0.8),
    "rbp .95": rbp(1000, 0.95),
}


@cache
def long_runs(name: str) -> SumDistribution:
    return invert(LONG[name])


@pytest.mark.parametrize("name", LONG)
def test_long_runs(name: str) -> None:
    components, distribution = LONG[name], long_runs(name)
    assert distribution.error <= 1e-6
    # Five deviations of a simulated share, over many x.
    x = np.sort(drawn(components, 4000))
    seen = np.arange(1, x.size + 1) / x.size
    assert np.abs(distribution.cdf(x) - seen).max() < 2.5 / math.sqrt(x.size)
    lower, upper = distribution.bracket(x)
    assert ((upper - lower) / 2 <= distribution.error).all()
    top = sum(values[-1] for values in components)
    assert distribution.cdf([-1.0, top, top + 1, -math.inf, math.inf]).tolist() == [0, 1, 1, 0, 1]
    mirrored = distribution.cdf(x) + distribution.cdf(top - x)
    assert np.abs(mirrored - 1).max() <= 2 * distribution.error


@pytest.mark.parametrize("name", ["rbp .8", "rbp .95"])
def test_long_runs_against_a_grid(name: str) -> None:
    components = [values for values in LONG[name] if values[-1] > 1e-14]
    x, share = on_a_grid(components)
    distribution = long_runs(name)
    some = slice(5, -5, 101)
    assert np.abs(distribution.cdf(x[some]) - share[some]).max() < 2e-7


def test_limits_only_tighten_with_more_x() -> None:
    distribution = long_runs("dcg")
    x = np.linspace(distribution.min_sum, distribution.max_sum, 301)
    lower, upper = distribution.bracket(x)
    alone = np.array([distribution.bracket(value) for value in x[140:160]])
    assert (lower[140:160] >= alone[:, 0] - 1e-15).all()
    assert (upper[140:160] <= alone[:, 1] + 1e-15).all()
    grid = x[:300].reshape(3, 100)
    assert distribution.cdf(grid).shape == (3, 100)
    assert np.array_equal(pickle.loads(pickle.dumps(distribution)).cdf(x), distribution.cdf(x))


def test_the_inequality_of_vaaler() -> None:
    """For theta = 0, phi = 1: the polynomials themselves."""
    for degree in (1, 2, 7, 40):
        at = np.arange(1, degree + 1)
        spectrum = Spectrum(degree, at, np.ones(degree, dtype=np.complex128), 0.0)
        t = np.linspace(-0.999, 0.998, 2003)
        mean, width = spectrum.evaluate_means(t)
        sawtooth = -t - np.floor(-t) - 0.5
        assert (np.abs(mean - sawtooth) <= width + 1e-12).all()
        assert spectrum.bound_peak(1) >= width.max() - 1e-12


def test_waves_of_large_times() -> None:
    times, turns = np.array([2**24, 2**24 - 1, 3, 0]), np.array([0.3, -1 / 7, 0.499999, 123.25])
    for row, time in enumerate(times.tolist()):
        for column, turn in enumerate(turns.tolist()):
            exact = float(time * Fraction(turn) % 1)
            expected = complex(math.cos(2 * math.pi * exact), math.sin(2 * math.pi * exact))
            assert abs(compute_waves(times, turns)[row, column] - expected) < 48 * 2.0**-53
