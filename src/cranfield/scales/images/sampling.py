"""Images of stateful measures with too many runs to enumerate: ranks estimated from a sample.

The relative rank of a value x is the proportion of the *values* of the image up to x, not of the
runs: rankings that tie count once. The first ranks of a run are represented by the table of their
distinct values by state, the last ranks by their grades. A value v of the image then belongs to
t(v) pairs of a table entry and the grades of the last ranks, and

    #{values up to x} = sum over pairs with a value up to x of 1 / t(value).

Both factors are sampled. Pairs are drawn from a mixture of exponentially tilted distributions, with
probabilities proportional to exp(theta value), so that low and high values are drawn as well as
medium ones; each pair has the inverse of its probability as a weight (importance sampling). The
draws are cut into blocks of neighbouring values, and t(v) is counted for one draw of each block.

t(v) is counted by walking back from the last rank: a partial run is given up as soon as what
remains of v is out of reach, or is not a multiple of the greatest common divisor of all
contributions of the ranks above. For AP few partial runs are left: down to rank 36 no value has the
denominator 37, so that only one number of relevant documents is possible at rank 37.

Divisibility is decided in integers modulo factors of the common divisor of the first ranks, and the
table is searched by integers modulo the prime 2^61 - 1: two different values are equal there with a
probability of 2^-61.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.base.parallel import in_threads
from cranfield.base.streams import stream_of
from cranfield.scales.forms.stateful import Walk
from cranfield.scales.images.representation import Gaps, flat_ranges

CONFIDENCE = 0.99
"""Confidence that the error is below its bound for all values at once."""
DRAWS = 2**19
"""Number of pairs that are drawn."""
SAMPLES = 2**12
"""Maximum number of pairs whose ties are counted."""
FEWEST_SAMPLES = 2**9
"""Minimum number of them; an image that affords fewer is refused."""
CHUNK = 2**5
"""Number of pairs whose ties are counted together."""
MAX_NODES = 2**27
"""Maximum number of partial runs over all pairs; about a minute of one processor."""
MAX_AT_ONCE = 2**22
"""Maximum number of partial runs of a chunk at one rank."""
MAX_HEADS = 2**22
"""Maximum number of values of the first ranks."""
TILTS = (0.0, -1.0, 1.0, -2.0, 2.0, -4.0, 4.0, -8.0, 8.0)
"""Values of theta, times the standard deviation of the values of pairs."""
SHARES = (0.5, *(1 / 16,) * 8)
"""Proportions of the draws from each."""
PRIME = 2**61 - 1
WORD = 2**60
"""Factors of a divisor are below this."""
REPLICATES = 2000
"""Number of simulated errors of the whole curve."""
LOW = 1e-4
"""Lowest proportion whose relative error is bounded."""


class TooManyTiesError(PolicyError):
    """Counting ties takes too long, so that ranks cannot be estimated."""


@dataclass(frozen=True, eq=False)
class Steps:
    """The steps of one rank, sorted by the state after it.

    Steps have a state `before`, a `gain` and `residues`, shape (moduli, steps). The steps to a
    state are `count` of them from `start` on.
    """

    before: Ints
    gain: Floats
    residues: Ints
    start: Ints
    count: Ints


class Search:
    """A walk prepared for drawing runs and for walking back from a value.

    `divisors`, `lowest` and `highest` are those of the values of the first ranks, by their number;
    the bounds are by state. Residues are modulo the `moduli`, of which the last is the prime.
    """

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.divisors = [0]
        for table, after in zip(walk.gains, walk.after, strict=True):
            self.divisors.append(gcd(self.divisors[-1], *table[after >= 0].tolist()))
        self.moduli = (*_factors(next(filter(None, self.divisors))), PRIME)
        self.column = np.array(self.moduli)[:, None]
        self.gains, self.residues, self.steps = [], [], []
        self.lowest, self.highest = [np.zeros(1)], [np.zeros(1)]
        for table, after in zip(walk.gains, walk.after, strict=True):
            rows = table.tolist()
            gains = np.array([[float(gain * walk.unit) for gain in row] for row in rows])
            residues = np.array([table % modulus for modulus in self.moduli]).astype(np.int64)
            state, grade = np.nonzero(after >= 0)
            order = np.argsort(after[state, grade], kind="stable")
            state, grade = state[order], grade[order]
            count = np.bincount(after[state, grade])
            start, gain = np.cumsum(count) - count, gains[state, grade]
            self.gains.append(gains)
            self.residues.append(residues)
            self.steps.append(Steps(state, gain, residues[:, state, grade], start, count))
            self.lowest.append(np.minimum.reduceat(self.lowest[-1][state] + gain, start))
            self.highest.append(np.maximum.reduceat(self.highest[-1][state] + gain, start))
        self.ends = float(self.lowest[-1].min()), float(self.highest[-1].max())
        self.slack = 1e-9 * max(map(abs, self.ends))

    def walk_back(self, values: Floats, residues: Ints, cut: int) -> tuple[Ints, Ints, Ints, int]:
        """Walk back from values to a rank along all runs that may have one of them.

        Returns index of the value, state, what is left of the value modulo the prime, and the
        number of partial runs on the way.
        """
        n_states = self.lowest[-1].size
        index, state = np.divmod(np.arange(values.size * n_states), n_states)
        value, residue = values[index], residues[:, index]
        total = 0
        for rank in reversed(range(cut, len(self.steps))):
            steps, low, high = self.steps[rank], self.lowest[rank], self.highest[rank]
            node, step = flat_ranges(steps.start[state], steps.count[state])
            value, state = value[node] - steps.gain[step], steps.before[step]
            is_possible = value >= low[state] - self.slack
            is_possible &= value <= high[state] + self.slack
            node, step = node[is_possible], step[is_possible]
            value, state = value[is_possible], state[is_possible]
            residue = residue[:, node] - steps.residues[:, step]
            residue += self.column * (residue < 0)
            is_possible = np.ones(node.size, dtype=bool)
            for row, modulus in zip(residue, self.moduli[:-1], strict=False):
                divisor = gcd(self.divisors[rank], modulus)
                if divisor != 1:
                    is_possible &= (row % divisor if divisor else row) == 0
            node, value, state = node[is_possible], value[is_possible], state[is_possible]
            index, residue = index[node], residue[:, is_possible]
            total += index.size
            if index.size > MAX_AT_ONCE:
                raise TooManyTiesError("ties are too many to count")
        return index, state, residue[-1], total


def _factors(divisor: int) -> list[int]:
    """Return coprime factors of a divisor below a word; larger powers of a prime are cut."""
    powers, factor = [], 2
    while divisor > 1 and factor < WORD**0.2:
        power = 1
        while divisor % factor == 0:
            divisor //= factor
            power = power * factor if power * factor < WORD else power
        if power > 1:
            powers.append(power)
        factor += 1
    factors = [1]
    for power in sorted(powers, reverse=True):
        if factors[-1] * power < WORD:
            factors[-1] *= power
        else:
            factors.append(power)
    return factors


@dataclass(frozen=True, eq=False)
class Heads:
    """The distinct values of the first ranks, state by state."""

    cut: int
    state: Ints
    values: Floats
    residues: Ints
    keys: Ints
    """The values modulo the prime, mixed with the state, ascending; they order the heads."""

    @classmethod
    def of(cls, search: Search, limit: int) -> Heads:
        """List the values of as many ranks as there are at most so many values of."""
        state, values = np.zeros(1, dtype=np.int64), np.zeros(1)
        residues = np.zeros((len(search.moduli), 1), dtype=np.int64)
        keys, cut = _mix(state, residues[-1]), 0
        for rank, after in enumerate(search.walk.after[:-1]):
            node, grade = np.nonzero(after[state] >= 0)
            if node.size > 2 * limit:
                break
            before = state[node]
            target = after[before, grade]
            sums = residues[:, node] + search.residues[rank][:, before, grade]
            sums -= search.column * (sums >= search.column)
            distinct, place = np.unique(_mix(target, sums[-1]), return_index=True)
            if distinct.size > limit:
                break
            values = (values[node] + search.gains[rank][before, grade])[place]
            state, residues = target[place], sums[:, place]
            keys, cut = distinct, rank + 1
        return cls(cut, state, values, residues, keys)

    def contain(self, state: Ints, residues: Ints) -> Ints:
        """Return which states and residues are those of a head, as indices."""
        keys = _mix(state, residues)
        place = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        return np.flatnonzero(self.keys[place] == keys)


def _mix(state: Ints, residues: Ints) -> Ints:
    """Return one number for a state and a value modulo the prime."""
    shift = (state.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).view(np.int64)
    return residues ^ shift


def draw(
    search: Search, heads: Heads, theta: float, count: int, generator: np.random.Generator
) -> tuple[Floats, Ints, float]:
    """Draw pairs of a head and last ranks with probabilities proportional to exp(theta value).

    Returns their values and residues, and the logarithm of the sum of exp(theta value) over all
    pairs.
    """
    walk, cut = search.walk, heads.cut
    logs = [np.zeros(search.lowest[-1].size)]
    steps = []
    for gain, after in zip(reversed(search.gains[cut:]), reversed(walk.after[cut:]), strict=True):
        log = np.where(after >= 0, theta * gain + logs[-1][np.maximum(after, 0)], -np.inf)
        top = log.max(axis=1)
        logs.append(top + np.log(np.exp(log - top[:, None]).sum(axis=1)))
        steps.append(np.cumsum(np.exp(log - logs[-1][:, None]), axis=1))
    log = theta * heads.values + logs[-1][heads.state]
    cumulative = np.cumsum(np.exp(log - log.max()))
    chosen = np.searchsorted(cumulative, generator.random(count) * cumulative[-1], side="right")
    chosen = np.minimum(chosen, log.size - 1)
    state, values = heads.state[chosen], heads.values[chosen].copy()
    residues = heads.residues[:, chosen]
    for rank, cumulated in zip(range(cut, len(search.gains)), reversed(steps), strict=True):
        numbers = generator.random(count)[:, None] * cumulated[state, -1:]
        grade = np.minimum((numbers >= cumulated[state]).sum(axis=1), cumulated.shape[1] - 1)
        values += search.gains[rank][state, grade]
        residues = residues + search.residues[rank][:, state, grade]
        residues -= search.column * (residues >= search.column)
        state = walk.after[rank][state, grade]
    return values, residues, float(log.max() + np.log(cumulative[-1]))


@dataclass(frozen=True, eq=False)
class Curve:
    """Estimated proportion of values up to some values, linear between them."""

    values: Floats
    proportions: Floats
    size: float
    error: float
    relative_error: float


class SampledImage:
    """The image of a stateful measure, whose relative ranks are estimated from a sample."""

    tolerance = 0.0

    def __init__(self, walk: Walk, seed: int, jobs: int | None) -> None:
        self.walk, self.seed, self.jobs = walk, seed, jobs
        self.runs = walk.count_runs()
        self.search = Search(walk)
        self.lowest, self.highest = self.search.ends
        if not self._has_unequal_gaps():
            raise TooManyTiesError("values may be equispaced")
        self.samples = self._affordable_samples()

    def _has_unequal_gaps(self) -> bool:
        """Return True if the lowest gap does not divide all differences of values.

        The values of runs with one relevant document suffice for that.
        """
        lowest: list[list[int]] = [[0]]
        for gains, after in zip(self.walk.gains, self.walk.after, strict=True):
            sums: list[set[int]] = [set() for _ in range(int(after.max()) + 1)]
            for state, grade in zip(*np.nonzero(after >= 0), strict=True):
                gain = int(gains[state, grade])
                sums[after[state, grade]].update(value + gain for value in lowest[state])
            lowest = [sorted(values)[:2] for values in sums]
        bottom, second = sorted({value for values in lowest for value in values})[:2]
        length, top = len(self.walk.gains), self.walk.gains[0].shape[1] - 1
        values = self.walk.run(np.eye(length, dtype=np.int64) * top)
        return any((int(value) - bottom) % (second - bottom) for value in values)

    def _affordable_samples(self) -> int:
        """Return for how many pairs ties can be counted, from a first chunk of runs."""
        cut = int(np.log(MAX_HEADS) / np.log(self.walk.gains[0].shape[1]) + 1e-9)
        drawn = draw(self.search, Heads.of(self.search, 1), 0.0, CHUNK, self._stream(0))
        nodes = self.search.walk_back(*drawn[:2], cut)[-1] // CHUNK
        samples = min(SAMPLES, MAX_NODES // max(1, nodes))
        if samples < FEWEST_SAMPLES:
            raise TooManyTiesError("ties are too many to count")
        return samples - samples % CHUNK

    def _stream(self, number: int) -> np.random.Generator:
        return stream_of(self.seed, "image", number)

    @property
    def size(self) -> int:
        """Estimated number of values."""
        return int(self.curve.size)

    @property
    def error(self) -> float:
        return self.curve.error

    @cached_property
    def curve(self) -> Curve:
        """The estimated distribution of values."""
        search, heads = self.search, Heads.of(self.search, MAX_HEADS)
        deviation = float(draw(search, heads, 0.0, SAMPLES, self._stream(1))[0].std())
        thetas = [tilt / deviation for tilt in TILTS]
        draws = [
            draw(search, heads, theta, int(share * DRAWS), self._stream(2 + number))
            for number, (theta, share) in enumerate(zip(thetas, SHARES, strict=True))
        ]
        values = np.concatenate([part for part, _, _ in draws])
        residues = np.concatenate([part for _, part, _ in draws], axis=1)
        # The mixture's probability of each pair; weights are its inverse, relative to all pairs.
        log_totals = [log for _, _, log in draws]
        logs = [
            np.log(share) + theta * values - (log - log_totals[0])
            for theta, share, log in zip(thetas, SHARES, log_totals, strict=True)
        ]
        weights = np.exp(-np.logaddexp.reduce(logs)) / values.size
        order = np.argsort(values, kind="stable")
        values, residues, weights = values[order], residues[:, order], weights[order]
        starts = np.arange(self.samples) * values.size // self.samples
        ends = np.append(starts[1:], values.size)
        chosen = self._stream(1000).integers(starts, ends)
        ties = self._count_ties(heads, values[chosen], residues[:, chosen])
        block, square = (np.add.reduceat(x, starts) for x in (weights, weights**2))
        masses, errors = _estimate(block, square, 1 / ties)
        bounds = _simulate_errors(masses, errors, self._stream(1001))
        below = np.cumsum(masses)
        points, slack = values[ends - 1], search.slack
        # Of equal points the last proportion counts; those of the ends are known.
        is_last = np.append(np.diff(points) > 0, True)
        is_last &= (points > self.lowest + slack) & (points < self.highest - slack)
        points = np.concatenate([[self.lowest], points[is_last], [self.highest]])
        proportions = np.concatenate([[0.0], (below / below[-1])[is_last], [1.0]])
        return Curve(points, proportions, float(below[-1] * np.exp(log_totals[0])), *bounds)

    def _count_ties(self, heads: Heads, values: Floats, residues: Ints) -> Ints:
        """Count the pairs of each value, of which each was drawn itself."""

        def task(start: int) -> Ints:
            part = slice(start, start + CHUNK)
            index, state, residue, _ = self.search.walk_back(
                values[part], residues[:, part], heads.cut
            )
            return np.bincount(index[heads.contain(state, residue)], minlength=values[part].size)

        ties = np.concatenate(in_threads(task, range(0, values.size, CHUNK), self.jobs))
        assert ties.min() > 0
        return ties

    def relative_ranks(self, runs: Ints) -> Floats:
        """Return the estimated proportion of values up to that of each run."""
        unit = self.walk.unit
        values = (self.walk.run(runs) * unit.numerator / unit.denominator).astype(np.float64)
        return np.interp(values, self.curve.values, self.curve.proportions)

    def gaps(self) -> Gaps:
        """Return the ends; gaps are not equal, as checked when the image was made."""
        return Gaps(False, None, None, self.lowest, self.highest)


def _estimate(block: Floats, square: Floats, distinct: Floats) -> tuple[Floats, Floats]:
    """Return the number of values of each block, relative to all pairs, and its standard error.

    Blocks have a total weight, a total of squared weights and the inverse number of ties of one
    draw. Its variance is that of the difference from the mean of the two neighbours, 3/2.
    """
    padded = np.concatenate([distinct[1:2], distinct, distinct[-2:-1]])
    nearby = (padded[:-2] + padded[2:]) / 2
    variance = block**2 * (distinct - nearby) ** 2 / 1.5 + square * nearby**2
    return block * distinct, np.sqrt(variance)


def _simulate_errors(
    masses: Floats, errors: Floats, generator: np.random.Generator
) -> tuple[float, float]:
    """Return bounds of the largest error and of the largest relative error of proportions.

    Both hold together, from simulated errors of blocks.
    """
    proportions = np.cumsum(masses) / masses.sum()
    is_bounded = proportions >= LOW
    largest = np.empty((REPLICATES, 2))
    for replicate in range(REPLICATES):
        walk = np.cumsum(errors * generator.standard_normal(errors.size)) / masses.sum()
        error = np.abs(walk - proportions * walk[-1])
        largest[replicate] = error.max(), (error / proportions)[is_bounded].max()
    bounds = np.quantile(largest, (1 + CONFIDENCE) / 2, axis=0)
    # A value inside of a block may be anywhere between the proportions of its ends.
    steps = masses / masses.sum()
    return float(bounds[0] + steps.max()), float(
        bounds[1] + (steps / proportions)[is_bounded].max()
    )
