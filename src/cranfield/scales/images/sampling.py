"""Images of stateful measures with too many runs to enumerate: ranks estimated from a sample.

The relative rank of a value x is the proportion of the *values* of the image up to x, not of the
runs: rankings that tie count once. The first ranks of a run are represented by a table of their
distinct values by state (*heads*), the last ranks by their grades. A value v of the image then
belongs to t(v) pairs of a head and the grades of the last ranks, and

    #{values up to x} = sum over pairs with a value up to x of 1 / t(value).

Both the sum and t(v) are sampled. Pairs are drawn from a mixture of exponentially tilted
distributions, with probabilities proportional to exp(theta value), so that low and high values are
drawn as well as medium ones; each pair is weighted by the inverse of its probability (importance
sampling). The draws are cut into blocks of neighbouring values, and t(v) is counted for one draw of
each block.

t(v) is counted by walking back from the last rank. A partial run is abandoned if the ranks above
cannot contribute the remainder of v: it is outside of their range, or it is not a multiple of the
greatest common divisor of their contributions. For AP this leaves few partial runs. For example, no
value of the first 36 ranks has the denominator 37, so that only one number of relevant documents is
possible at rank 37.

Divisibility is decided in integers modulo factors of the common divisor of the first ranks. Heads
are searched by integers modulo the prime 2^61 - 1, in which two different values are equal with a
probability of 2^-61.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import gcd

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.base.parallel import map_in_threads
from cranfield.base.streams import make_named_stream
from cranfield.scales.forms.exact_values import Walk
from cranfield.scales.images.representation import Gaps, join_counted_ranges

CONFIDENCE = 0.99
"""Confidence level of the simultaneous bound on the errors of all values."""
N_DRAWS = 2**19
"""Number of pairs that are drawn."""
MAX_SAMPLES = 2**12
"""Maximum number of pairs whose ties are counted."""
MIN_SAMPLES = 2**9
"""Minimum number of pairs whose ties are counted; an error is raised if this is too slow."""
CHUNK_SIZE = 2**5
"""Number of pairs whose ties are counted at a time."""
MAX_NODES = 2**27
"""Maximum number of partial runs for all pairs, which take one processor about a minute."""
MAX_CHUNK_NODES = 2**22
"""Maximum number of partial runs for one chunk of pairs at one rank."""
MAX_HEADS = 2**22
"""Maximum number of distinct values that the first ranks of a run can contribute."""
TILTS = (0.0, -1.0, 1.0, -2.0, 2.0, -4.0, 4.0, -8.0, 8.0)
"""Parameters of exponential tilting, in units of 1 / (standard deviation of the values)."""
PROPORTIONS = (0.5, *(1 / 16,) * 8)
"""Proportion of the draws with each tilt."""
PRIME = 2**61 - 1
"""Modulus for searching the values of the first ranks."""
MAX_FACTOR = 2**60
"""Upper bound of the moduli of divisibility tests."""
N_REPLICATES = 2000
"""Number of simulated curves for the bounds of errors."""
MIN_PROPORTION = 1e-4
"""Minimum proportion whose relative error is bounded."""

TOO_MANY_TIES = "too many rankings have tied scores; use a smaller cutoff or fewer grades"


class UnestimableRanksError(PolicyError):
    """Raised if ranks cannot be estimated, for example because counting ties takes too long."""


@dataclass(frozen=True, eq=False)
class WalkSteps:
    """The steps of a walk at one rank, sorted by the state after the rank.

    Each step has a `state_before`, a `gain` and `residues` of the gain, shape (moduli, steps). For
    each state after the rank, `start` is the index of the first step to this state and `n_steps`
    the number of such steps.
    """

    state_before: Ints
    gain: Floats
    residues: Ints
    start: Ints
    n_steps: Ints


class SearchableWalk:
    """A walk prepared for drawing runs and for walking back from a value.

    For each number of first ranks, `divisors` has the greatest common divisor of their gains, and
    `lowest` and `highest` have bounds of their values by state. The last of the `moduli` is PRIME.
    """

    def __init__(self, walk: Walk) -> None:
        self.walk = walk
        self.divisors = [0]
        for table, targets in zip(walk.gains, walk.targets, strict=True):
            self.divisors.append(gcd(self.divisors[-1], *table[targets >= 0].tolist()))
        self.moduli = (*_find_factors(next(filter(None, self.divisors))), PRIME)
        self.moduli_column = np.array(self.moduli)[:, None]
        self.gains, self.residues, self.steps = [], [], []
        self.lowest, self.highest = [np.zeros(1)], [np.zeros(1)]
        for table, targets in zip(walk.gains, walk.targets, strict=True):
            rows = table.tolist()
            gains = np.array([[float(gain * walk.unit) for gain in row] for row in rows])
            residues = np.array([table % modulus for modulus in self.moduli]).astype(np.int64)
            state, grade = np.nonzero(targets >= 0)
            order = np.argsort(targets[state, grade], kind="stable")
            state, grade = state[order], grade[order]
            n_steps = np.bincount(targets[state, grade])
            start, gain = np.cumsum(n_steps) - n_steps, gains[state, grade]
            self.gains.append(gains)
            self.residues.append(residues)
            self.steps.append(WalkSteps(state, gain, residues[:, state, grade], start, n_steps))
            self.lowest.append(np.minimum.reduceat(self.lowest[-1][state] + gain, start))
            self.highest.append(np.maximum.reduceat(self.highest[-1][state] + gain, start))
        self.extremes = float(self.lowest[-1].min()), float(self.highest[-1].max())
        self.slack = 1e-9 * max(map(abs, self.extremes))

    def walk_back(self, values: Floats, residues: Ints, cut: int) -> tuple[Ints, Ints, Ints, int]:
        """Walk back from values to a rank, along all partial runs that may have these values.

        Returns for each partial run the index of its value, its state and its remainder, and the
        number of all partial runs visited.
        """
        n_states = self.lowest[-1].size
        index, state = np.divmod(np.arange(values.size * n_states), n_states)
        value, residue = values[index], residues[:, index]
        n_nodes = 0
        for rank in reversed(range(cut, len(self.steps))):
            steps, low, high = self.steps[rank], self.lowest[rank], self.highest[rank]
            node, step = join_counted_ranges(steps.start[state], steps.n_steps[state])
            value, state = value[node] - steps.gain[step], steps.state_before[step]
            is_possible = value >= low[state] - self.slack
            is_possible &= value <= high[state] + self.slack
            node, step = node[is_possible], step[is_possible]
            value, state = value[is_possible], state[is_possible]
            residue = residue[:, node] - steps.residues[:, step]
            residue += self.moduli_column * (residue < 0)
            is_possible = np.ones(node.size, dtype=bool)
            for row, modulus in zip(residue, self.moduli[:-1], strict=False):
                divisor = gcd(self.divisors[rank], modulus)
                if divisor != 1:
                    is_possible &= (row % divisor if divisor else row) == 0
            node, value, state = node[is_possible], value[is_possible], state[is_possible]
            index, residue = index[node], residue[:, is_possible]
            n_nodes += index.size
            if index.size > MAX_CHUNK_NODES:
                raise UnestimableRanksError(TOO_MANY_TIES)
        return index, state, residue[-1], n_nodes


def _find_factors(divisor: int) -> list[int]:
    """Return coprime factors of a divisor, all below `MAX_FACTOR`, by reducing prime powers."""
    powers, factor = [], 2
    while divisor > 1 and factor < MAX_FACTOR**0.2:
        power = 1
        while divisor % factor == 0:
            divisor //= factor
            power = power * factor if power * factor < MAX_FACTOR else power
        if power > 1:
            powers.append(power)
        factor += 1
    factors = [1]
    for power in sorted(powers, reverse=True):
        if factors[-1] * power < MAX_FACTOR:
            factors[-1] *= power
        else:
            factors.append(power)
    return factors


@dataclass(frozen=True, eq=False)
class Heads:
    """The distinct values (heads) of the first ranks by state, in the order of `keys`."""

    cut: int
    """Index of the first rank after the heads, from 0."""
    state: Ints
    values: Floats
    residues: Ints
    keys: Ints
    """Hashes of the values modulo PRIME and of the states, ascending."""

    @classmethod
    def from_walk(cls, search: SearchableWalk, max_values: int) -> Heads:
        """List the values of as many first ranks as possible with at most `max_values` values."""
        state, values = np.zeros(1, dtype=np.int64), np.zeros(1)
        residues = np.zeros((len(search.moduli), 1), dtype=np.int64)
        keys, cut = _hash_states(state, residues[-1]), 0
        for rank, targets in enumerate(search.walk.targets[:-1]):
            node, grade = np.nonzero(targets[state] >= 0)
            if node.size > 2 * max_values:
                break
            state_before = state[node]
            target = targets[state_before, grade]
            sums = residues[:, node] + search.residues[rank][:, state_before, grade]
            sums -= search.moduli_column * (sums >= search.moduli_column)
            distinct_keys, index = np.unique(_hash_states(target, sums[-1]), return_index=True)
            if distinct_keys.size > max_values:
                break
            values = (values[node] + search.gains[rank][state_before, grade])[index]
            state, residues = target[index], sums[:, index]
            keys, cut = distinct_keys, rank + 1
        return cls(cut, state, values, residues, keys)

    def find_matches(self, state: Ints, residues: Ints) -> Ints:
        """Return the indices of the pairs of a state and residue that belong to a head."""
        keys = _hash_states(state, residues)
        index = np.minimum(np.searchsorted(self.keys, keys), self.keys.size - 1)
        return np.flatnonzero(self.keys[index] == keys)


def _hash_states(state: Ints, residues: Ints) -> Ints:
    """Hash states and values modulo PRIME."""
    state_hash = (state.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)).view(np.int64)
    return residues ^ state_hash


def draw_pairs(
    search: SearchableWalk, heads: Heads, theta: float, n_draws: int, generator: np.random.Generator
) -> tuple[Floats, Ints, float]:
    """Draw pairs of a head and last ranks with probabilities proportional to exp(theta value).

    Returns the values and residues of the pairs, and the logarithm of the sum of exp(theta value)
    over all possible pairs.
    """
    walk, cut = search.walk, heads.cut
    logs = [np.zeros(search.lowest[-1].size)]
    steps = []
    for rank in reversed(range(cut, len(walk.targets))):
        gain, targets = search.gains[rank], walk.targets[rank]
        log = np.where(targets >= 0, theta * gain + logs[-1][np.maximum(targets, 0)], -np.inf)
        top = log.max(axis=1)
        logs.append(top + np.log(np.exp(log - top[:, None]).sum(axis=1)))
        steps.append(np.cumsum(np.exp(log - logs[-1][:, None]), axis=1))
    log = theta * heads.values + logs[-1][heads.state]
    totals = np.cumsum(np.exp(log - log.max()))
    head = np.searchsorted(totals, generator.random(n_draws) * totals[-1], side="right")
    head = np.minimum(head, log.size - 1)
    state, values = heads.state[head], heads.values[head].copy()
    residues = heads.residues[:, head]
    for rank, step in zip(range(cut, len(search.gains)), reversed(steps), strict=True):
        draws = generator.random(n_draws)[:, None] * step[state, -1:]
        grade = np.minimum((draws >= step[state]).sum(axis=1), step.shape[1] - 1)
        values += search.gains[rank][state, grade]
        residues = residues + search.residues[rank][:, state, grade]
        residues -= search.moduli_column * (residues >= search.moduli_column)
        state = walk.targets[rank][state, grade]
    return values, residues, float(log.max() + np.log(totals[-1]))


@dataclass(frozen=True, eq=False)
class Curve:
    """Estimated proportions of values of the image up to given values, linear in between."""

    values: Floats
    proportions: Floats
    size: float
    """Estimated number of values of the image."""
    error: float
    """Bound on the error of all proportions."""
    relative_error: float
    """Bound on the relative error of all proportions of MIN_PROPORTION or more."""


class SampledImage:
    """The image of a stateful measure, with relative ranks that are estimated from a sample."""

    tolerance = 0.0
    is_approximate = True
    confidence = CONFIDENCE

    def __init__(self, walk: Walk, seed: int, jobs: int | None) -> None:
        self.walk, self.seed, self.jobs = walk, seed, jobs
        self.n_runs = walk.count_runs()
        self.search = SearchableWalk(walk)
        self.lowest, self.highest = self.search.extremes
        if not self._has_unequal_gaps():
            raise UnestimableRanksError("all gaps between values may be equal")
        self.n_samples = self._choose_n_samples()

    def _has_unequal_gaps(self) -> bool:
        """Return True if a run proves that not all gaps equal that of the two lowest values."""
        lowest_values: list[list[int]] = [[0]]
        for gains, targets in zip(self.walk.gains, self.walk.targets, strict=True):
            sums: list[set[int]] = [set() for _ in range(int(targets.max()) + 1)]
            for state, grade in zip(*np.nonzero(targets >= 0), strict=True):
                gain = int(gains[state, grade])
                sums[targets[state, grade]].update(value + gain for value in lowest_values[state])
            lowest_values = [sorted(values)[:2] for values in sums]
        first, second = sorted({value for values in lowest_values for value in values})[:2]
        length, max_grade = len(self.walk.gains), self.walk.gains[0].shape[1] - 1
        values = self.walk.compute_values(np.eye(length, dtype=np.int64) * max_grade)
        return any((int(value) - first) % (second - first) for value in values)

    def _choose_n_samples(self) -> int:
        """Estimate from one chunk the number of pairs whose ties can be counted in `MAX_NODES`."""
        cut = int(np.log(MAX_HEADS) / np.log(self.walk.gains[0].shape[1]) + 1e-9)
        heads = Heads.from_walk(self.search, 1)
        values, residues, _ = draw_pairs(self.search, heads, 0.0, CHUNK_SIZE, self._make_stream(0))
        *_, n_nodes = self.search.walk_back(values, residues, cut)
        n_samples = min(MAX_SAMPLES, MAX_NODES // max(1, n_nodes // CHUNK_SIZE))
        if n_samples < MIN_SAMPLES:
            raise UnestimableRanksError(TOO_MANY_TIES)
        return n_samples - n_samples % CHUNK_SIZE

    def _make_stream(self, index: int) -> np.random.Generator:
        return make_named_stream(self.seed, "image", index)

    @property
    def size(self) -> int:
        """Estimated number of values."""
        return int(self.curve.size)

    @property
    def error(self) -> float:
        return self.curve.error

    @property
    def precision(self) -> str:
        return (
            f"estimated from {self.n_samples:,} sampled rankings (seed {self.seed}), with"
            f" absolute errors of at most {self.error:.2g}, and relative errors of at most"
            f" {self.curve.relative_error:.0%} for ranks >= {MIN_PROPORTION:g}"
            f" ({CONFIDENCE:.0%} confidence)"
        )

    @cached_property
    def curve(self) -> Curve:
        """The estimated distribution of values."""
        search, heads = self.search, Heads.from_walk(self.search, MAX_HEADS)
        deviation = float(
            draw_pairs(search, heads, 0.0, MAX_SAMPLES, self._make_stream(1))[0].std()
        )
        thetas = [tilt / deviation for tilt in TILTS]
        draws = [
            draw_pairs(
                search, heads, theta, int(proportion * N_DRAWS), self._make_stream(2 + index)
            )
            for index, (theta, proportion) in enumerate(zip(thetas, PROPORTIONS, strict=True))
        ]
        values = np.concatenate([drawn_values for drawn_values, _, _ in draws])
        residues = np.concatenate([drawn_residues for _, drawn_residues, _ in draws], axis=1)
        # Weights are the inverse probabilities of pairs in the mixture, relative to uniform ones.
        log_totals = [log_total for _, _, log_total in draws]
        logs = [
            np.log(proportion) + theta * values - (log_total - log_totals[0])
            for theta, proportion, log_total in zip(thetas, PROPORTIONS, log_totals, strict=True)
        ]
        weights = np.exp(-np.logaddexp.reduce(logs)) / values.size
        order = np.argsort(values, kind="stable")
        values, residues, weights = values[order], residues[:, order], weights[order]
        starts = np.arange(self.n_samples) * values.size // self.n_samples
        ends = np.append(starts[1:], values.size)
        samples = self._make_stream(1000).integers(starts, ends)
        ties = self._count_ties(heads, values[samples], residues[:, samples])
        totals, total_squares = (np.add.reduceat(x, starts) for x in (weights, weights**2))
        masses, standard_errors = _estimate_masses(totals, total_squares, 1 / ties)
        bounds = _simulate_errors(masses, standard_errors, self._make_stream(1001))
        sums = np.cumsum(masses)
        points, slack = values[ends - 1], search.slack
        # Of equal points only the last has the full proportion. The ends are fixed at 0 and 1.
        is_used = np.append(np.diff(points) > 0, True)
        is_used &= (points > self.lowest + slack) & (points < self.highest - slack)
        points = np.concatenate([[self.lowest], points[is_used], [self.highest]])
        proportions = np.concatenate([[0.0], (sums / sums[-1])[is_used], [1.0]])
        return Curve(points, proportions, float(sums[-1] * np.exp(log_totals[0])), *bounds)

    def _count_ties(self, heads: Heads, values: Floats, residues: Ints) -> Ints:
        """Count the pairs that have each value."""

        def count_chunk(start: int) -> Ints:
            chunk = slice(start, start + CHUNK_SIZE)
            index, state, residue, _ = self.search.walk_back(
                values[chunk], residues[:, chunk], heads.cut
            )
            matches = heads.find_matches(state, residue)
            return np.bincount(index[matches], minlength=values[chunk].size)

        ties = np.concatenate(
            map_in_threads(count_chunk, range(0, values.size, CHUNK_SIZE), self.jobs)
        )
        # The pair that was drawn itself has its value.
        assert ties.min() > 0
        return ties

    def compute_relative_ranks(self, runs: Ints) -> Floats:
        """Return the estimated proportion of values up to the value of each run."""
        unit = self.walk.unit
        values = (self.walk.compute_values(runs) * unit.numerator / unit.denominator).astype(
            np.float64
        )
        return np.interp(values, self.curve.values, self.curve.proportions)

    def find_gaps(self) -> Gaps:
        """Return the extreme values; gaps are unequal, as checked at construction."""
        return Gaps(False, None, None, self.lowest, self.highest)


def _estimate_masses(
    totals: Floats, total_squares: Floats, inverse_ties: Floats
) -> tuple[Floats, Floats]:
    """Return the number of values in each block, relative to all pairs, and its standard error.

    The arguments have for each block the total weight, the total of squared weights, and 1 / ties
    of one draw.
    """
    # The difference from the mean of two neighbouring blocks has 3/2 times the variance.
    padded_inverses = np.concatenate([inverse_ties[1:2], inverse_ties, inverse_ties[-2:-1]])
    neighbour_mean = (padded_inverses[:-2] + padded_inverses[2:]) / 2
    variance = totals**2 * (inverse_ties - neighbour_mean) ** 2 / 1.5
    variance += total_squares * neighbour_mean**2
    return totals * inverse_ties, np.sqrt(variance)


def _simulate_errors(
    masses: Floats, standard_errors: Floats, generator: np.random.Generator
) -> tuple[float, float]:
    """Return simultaneous bounds on errors and relative errors, from simulated curves."""
    proportions = np.cumsum(masses) / masses.sum()
    is_bounded = proportions >= MIN_PROPORTION
    max_errors = np.empty((N_REPLICATES, 2))
    for replicate in range(N_REPLICATES):
        noise = standard_errors * generator.standard_normal(masses.size)
        cumulative = np.cumsum(noise) / masses.sum()
        errors = np.abs(cumulative - proportions * cumulative[-1])
        max_errors[replicate] = errors.max(), (errors / proportions)[is_bounded].max()
    bounds = np.quantile(max_errors, (1 + CONFIDENCE) / 2, axis=0)
    # Inside a block the proportion may be anywhere between those of its ends.
    steps = masses / masses.sum()
    max_relative_step = (steps / proportions)[is_bounded].max()
    return float(bounds[0] + steps.max()), float(bounds[1] + max_relative_step)
