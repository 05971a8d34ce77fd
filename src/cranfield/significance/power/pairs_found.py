"""The power to find single pairs among several systems, by simulation from pilot scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.checks import check_share, check_whole
from cranfield.base.errors import CranfieldError
from cranfield.base.streams import stream
from cranfield.base.threads import in_threads
from cranfield.base.words import counted
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.options import MOST_RESAMPLES
from cranfield.significance.pairs import all_pairs
from cranfield.significance.power.power_and_width import check_positive
from cranfield.significance.power.topics_needed import smallest
from cranfield.significance.simulation.resampled import Resampled
from cranfield.significance.simulation.simulator import Simulator, fit_simulator

MOST_TOPICS = 10_000
"""No larger data sets are simulated to find how many topics are needed."""


@dataclass(frozen=True, eq=False)
class PairPower:
    """How often pairs of systems that differ are found, by number of topics.

    Attributes
    ----------
    test, correction
        Names.
    topics
        Numbers of topics, rising.
    average
        Share of the truly different pairs that are found in the right direction, on average; this
        and the next three have shape (numbers of topics,).
    any_pair, every_pair
        Share of data sets in which one such pair is found at least, and in which all are.
    errors
        Share of data sets in which a pair is found that does not differ, or in the wrong direction.
    found
        Share by pair, shape (numbers of topics, pairs): of the data sets in which it differs.
    systems, first, second
        Names of systems, and the indices of those of each pair.
    difference
        The true difference that was asked for; None where systems have the means of the pilot.
    sets, resamples, seed, alpha, power
        Number of data sets for each number of topics; samples of tests that need them; options.
    """

    test: str
    correction: str
    topics: tuple[int, ...]
    average: Floats
    any_pair: Floats
    every_pair: Floats
    errors: Floats
    found: Floats
    systems: tuple[str, ...]
    first: Indices
    second: Indices
    difference: float | None
    sets: int
    resamples: int
    seed: int
    alpha: float
    power: float

    @property
    def needed(self) -> int | None:
        """The smallest number of those topics whose average reaches the power; None if none does.

        That is 0.8 where no other power was asked for.
        """
        enough = np.flatnonzero(self.average >= self.power)
        return self.topics[enough[0]] if enough.size else None

    def __str__(self) -> str:
        what = "the pilot's means" if self.difference is None else f"difference {self.difference:g}"
        lines = [
            f"{self.test}, {self.correction}: {counted(len(self.systems), 'system')}, {what};"
            f" {counted(self.sets, 'data set')}, alpha {self.alpha:g}, seed {self.seed}",
            "topics  average  any pair  every pair  errors",
        ]
        columns = (self.topics, self.average, self.any_pair, self.every_pair, self.errors)
        lines += [
            f"{n:6d}  {mean:7.3f}  {some:8.3f}  {every:10.3f}  {wrong:6.3f}"
            for n, mean, some, every, wrong in zip(*columns, strict=True)
        ]
        return "\n".join(lines)


def power_pairs(
    pilot: Any,
    *,
    topics: int | Sequence[int] | None = None,
    difference: float | None = None,
    power: float = 0.8,
    test: str | None = None,
    correction: str | None = None,
    alpha: float = 0.05,
    sets: int = 1000,
    resamples: int = 999,
    seed: int = 0,
    jobs: int | None = None,
) -> PairPower:
    """Estimate how often a test with its correction finds the pairs that differ.

    Data sets are simulated from a population like the pilot's: with the spreads, the shapes and the
    correlations of its systems. With a `difference` D all systems have one true mean, but for one
    that is better by D: the pairs that it is in are to be found. Systems take turns to be that one.
    Scores are moved by a constant for it, so that spreads and correlations stay as they are; a few
    may lie beyond their bounds.
    Without it all systems have the means of the pilot, and all pairs that differ are to be found;
    these means lie farther apart than true ones, so that such power is too high for a plan.

    The error of a simulated share is sqrt(p (1 - p) / sets) at most, 0.016 for 1,000 data sets. It
    assumes that the pilot is like what is planned; see :func:`fit_simulator` for the rest.

    Parameters
    ----------
    pilot
        Scores as :func:`compare` takes them, which :func:`fit_simulator` is given; or a population:
        a :class:`Simulator`, or real scores as :class:`Resampled`.
    topics
        Numbers of topics, 2 or more. By default the smallest is looked for whose `average` reaches
        the `power`; the result has all that were tried, and :attr:`PairPower.needed`.
    difference
        True difference D, above 0, in the unit of the scores.
    power
        Required average power, between 0 and 1, where topics are looked for.
    test, correction, alpha, resamples
        As for :func:`compare`.
    sets
        Data sets for each number of topics.
    seed, jobs
        Random numbers; threads, which never change a result.

    Returns
    -------
    PairPower
        By number of topics.

    Raises
    ------
    PolicyError
        For an option out of its range.
    CranfieldError
        When the pilot cannot be simulated, when more than 10,000 topics would be needed, or when no
        two systems differ.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> pilot = cf.evaluate(covid.runs[:5], covid.qrels, "nDCG@20")["nDCG@20"]
    >>> asked = dict(test="anova-2", correction="tukey", difference=0.05)
    >>> print(power_pairs(pilot, topics=[25, 50], sets=50, **asked))
    anova-2, tukey: 5 systems, difference 0.05; 50 data sets, alpha 0.05, seed 0
    topics  average  any pair  every pair  errors
        25    0.245     0.520       0.060   0.080
        50    0.570     0.840       0.260   0.080
    """
    for name, value in (("sets", sets), ("resamples", resamples)):
        check_whole(name, value, 1, MOST_RESAMPLES)
    check_whole("the seed", seed, 0)
    check_share("alpha", alpha)
    check_share("power", power)
    if difference is not None:
        check_positive(difference=difference)
    asked = () if topics is None else (topics,) if isinstance(topics, int) else tuple(topics)
    for number in asked:
        check_whole("the number of topics", number, 2, MOST_TOPICS)
    if isinstance(pilot, (Simulator, Resampled)):
        population: Simulator | Resampled = pilot
    else:
        population = fit_simulator(pilot)
    options = {"test": test, "correction": correction, "alpha": alpha, "resamples": resamples}
    simulate = partial(_one, population, difference, seed, options)
    tried: dict[int, tuple[Said, ...]] = {}

    def average(number: int) -> float:
        tried[number] = tuple(in_threads(partial(simulate, number), range(sets), jobs))
        right, differs, _ = _counted(tried[number])
        if not differs.any():
            raise CranfieldError("no two systems differ in their true means")
        return float(right.sum() / differs.sum())

    if asked:
        for number in sorted(set(asked)):
            average(number)
    else:
        smallest(lambda number: average(number) >= power, MOST_TOPICS)
    numbers = tuple(sorted(tried))
    pairs = all_pairs(population.means[None, :])
    every = [_counted(tried[number]) for number in numbers]
    with np.errstate(invalid="ignore"):
        found = [right.sum(axis=0) / differs.sum(axis=0) for right, differs, _ in every]
    said = tried[numbers[0]][0]
    return PairPower(
        test=said.test,
        correction=said.correction,
        topics=numbers,
        average=np.array([right.sum() / differs.sum() for right, differs, _ in every]),
        any_pair=np.array([right.any(axis=1).mean() for right, _, _ in every]),
        every_pair=np.array([(right == differs).all(axis=1).mean() for right, differs, _ in every]),
        errors=np.array([wrong.mean() for _, _, wrong in every]),
        found=np.array(found),
        systems=_names(population),
        first=pairs.first,
        second=pairs.second,
        difference=difference,
        sets=sets,
        resamples=resamples,
        seed=seed,
        alpha=alpha,
        power=power,
    )


@dataclass(frozen=True)
class Said:
    """What a test said of one data set: pairs found rightly, those that differ, any wrong one."""

    test: str
    correction: str
    right: Bools
    differs: Bools
    wrong: bool


def _one(
    population: Simulator | Resampled,
    difference: float | None,
    seed: int,
    options: dict[str, Any],
    topics: int,
    at: int,
) -> Said:
    """Simulate one data set and test it; of more topics it begins with the same ones."""
    values, means = population.draw(topics, seed, at), population.means.copy()
    if difference is not None:
        # Moved by constants: other ways to move a mean would change what differences vary.
        equal = np.full(means.size, means.mean())
        equal[at % means.size] += difference
        values += equal - means
        means = equal
    names = _names(population)
    scores = Scores(values, tuple(map(str, range(topics))), names)
    found = compare(scores, seed=int(stream(seed, at, 1).integers(2**31)), jobs=1, **options)
    true = all_pairs(values).differences_of(means)
    significant = found.is_significant()
    right = significant & (true != 0) & (np.sign(true) == np.sign(found.difference))
    return Said(found.test, found.correction, right, true != 0, bool((significant & ~right).any()))


def _counted(said: tuple[Said, ...]) -> tuple[Bools, Bools, Bools]:
    """Put data sets one under the other."""
    return (
        np.stack([one.right for one in said]),
        np.stack([one.differs for one in said]),
        np.array([one.wrong for one in said]),
    )


def _names(population: Simulator | Resampled) -> tuple[str, ...]:
    if isinstance(population, Simulator):
        return population.systems
    return tuple(str(k + 1) for k in range(population.means.size))
