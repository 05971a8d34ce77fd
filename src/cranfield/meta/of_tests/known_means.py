"""Data sets whose true means are known: real scores drawn again or swapped, or simulated ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import PolicyError
from cranfield.base.streams import stream
from cranfield.meta.of_tests.fast_tests import TestChoice
from cranfield.meta.of_tests.given import Given
from cranfield.scores import Scores
from cranfield.significance.simulation.resampled import Resampled
from cranfield.significance.simulation.simulator import Simulator, fit_simulator

MOST_DRAWN = 100_000
"""Topics in a data set that is drawn."""


class Source(Protocol):
    """Where data sets come from."""

    def data_set(self, test: TestChoice, size: int, seed: int, repeat: int) -> Scores | Floats:
        """Return the scores that a test is given, of the same topics as other tests."""


@dataclass(frozen=True, eq=False)
class Swapped:
    """Real topics, on each of which the systems swap their scores."""

    given: Given
    members: Indices

    def data_set(self, test: TestChoice, size: int, seed: int, repeat: int) -> Scores | Floats:
        random = stream(seed, size, repeat)
        topics = np.sort(random.permutation(len(self.given.scores.topics))[:size])
        order = random.permuted(np.tile(np.arange(len(self.members)), (size, 1)), axis=1)
        scores = self.given.of(test, topics, self.members)
        return replace(scores, values=scores.values[np.arange(size)[:, None], order])


@dataclass(frozen=True, eq=False)
class Drawn:
    """New topics of a population, and of one of scores by shard where some test needs it."""

    whole: Resampled | Simulator
    by_shard: Resampled | None

    def equal(self) -> Drawn:
        """Return the population in which all systems have the mean of their means."""
        shards = self.by_shard
        return Drawn(
            self.whole.with_means(self.whole.means.mean()),
            None if shards is None else shards.with_means(shards.means.mean()),
        )

    def data_set(self, test: TestChoice, size: int, seed: int, repeat: int) -> Scores | Floats:
        takes = self.by_shard if test.by_shard else None
        values = (takes or self.whole).draw(size, seed, size, repeat)
        if not np.isnan(values).any():
            return values
        topics, systems = (tuple(map(str, range(number))) for number in values.shape[:2])
        return Scores(values, topics, systems)


def drawn_from(given: Given, kind: str) -> Drawn:
    """Make a population of the systems that are given: `simulated`, or real topics drawn again."""
    [members] = given.groups.values()
    missing = given.tests[0].missing

    def of(scores: Scores) -> Scores:
        chosen = scores.select(systems=members)
        # What is filled in or left out is so before means are moved.
        return chosen.complete(missing)[0] if missing in ("drop", "zero") else chosen

    sharded = [test for test in given.tests if test.by_shard]
    if kind == "simulated":
        if sharded:
            raise PolicyError(f"{sharded[0].test} needs scores by shard, which are not simulated")
        # Under another copula differences would be more symmetric than real ones.
        return Drawn(fit_simulator(of(given.scores), copula="empirical"), None)
    by_shard = Resampled(of(given.by_shard).values) if sharded and given.by_shard else None
    return Drawn(Resampled(of(given.scores).values), by_shard)


def seed_of(seed: int, size: int, repeat: int) -> int:
    """Return the seed of tests that draw random numbers, apart from that of their topics."""
    return int(stream(seed, size, repeat, 1).integers(2**31))
