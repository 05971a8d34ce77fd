"""Topic set size design: number of topics that a comparison requires."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import CranfieldError, PolicyError, check_integer, check_list
from cranfield.base.kinds import (
    Integer,
    OneOf,
    Positive,
    Probability,
    RealNumber,
    Seed,
    check_arguments,
)
from cranfield.base.parallel import map_in_threads
from cranfield.base.streams import make_stream
from cranfield.base.text import inflect
from cranfield.result import Column, Columns, TableResult
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.differences import pair_all
from cranfield.significance.models.anova import fit_one_way, fit_two_way
from cranfield.significance.power_and_width import MODELS, expected_width, power_anova, power_t
from cranfield.significance.registry import MAX_RESAMPLES
from cranfield.significance.simulation import Resampled, Simulator, fit_simulator

DESIGNS = ("t", "anova-1", "anova-2", "interval")
MAX_TOPICS = 10_000_000  # largest number of topics of a design


@dataclass(frozen=True)
class TopicsNeeded:
    """The smallest number of topics that meets a requirement.

    Attributes
    ----------
    n_topics
        Number of topics.
    achieved
        Power with this number of topics; for `interval` the expected width.
    design, power, width, difference, variance, systems, alpha, alternative, epsilon
        Options of :func:`topics_needed`; an unused power, width or difference is None.
    """

    design: str
    n_topics: int
    achieved: float
    power: float | None
    width: float | None
    difference: float | None
    variance: float
    systems: int
    alpha: float
    alternative: str
    epsilon: float = 1.0

    def __str__(self) -> str:
        options = f"variance of a score {self.variance:.4g}, alpha {self.alpha:g}"
        if self.design == "interval":
            return (
                f"{inflect(self.n_topics, 'topic')}: the {100 * (1 - self.alpha):.4g}% confidence"
                " interval of the difference of two systems has an expected width of"
                f" {self.achieved:.4f}, at most {self.width:g}\n{options}"
            )
        if self.design == "t":
            side = "" if self.alternative == "two-sided" else f", one-sided ({self.alternative})"
            name, effect = f"paired t-test{side}", f"a difference of {self.difference:g}"
        else:
            model = {"anova-1": "one-way", "anova-2": "two-way"}[self.design]
            name = f"{model} ANOVA of {inflect(self.systems, 'system')}"
            if self.design == "anova-2" and self.systems > 2:
                is_spherical = self.epsilon == 1
                options += ", sphericity assumed" if is_spherical else f", epsilon {self.epsilon:g}"
            effect = f"that the systems differ, if best and worst differ by {self.difference:g},"
        return (
            f"{inflect(self.n_topics, 'topic')}: {name} detects {effect} with power"
            f" {self.achieved:.4f}, at least {self.power:g}\n{options}"
        )


def topics_needed(
    design: Annotated[str, OneOf(DESIGNS)] = "anova-2",
    *,
    variance: float,
    difference: Positive | None = None,
    width: Positive | None = None,
    systems: int = 2,
    alpha: float = 0.05,
    power: Probability = 0.8,
    alternative: str = "two-sided",
    epsilon: Annotated[float, RealNumber()] = 1.0,
) -> TopicsNeeded:
    """Find the smallest number of topics that reaches a power, or an expected interval width.

    Source: Sakai (2016), Topic set size design; Sakai (2018).

    Parameters
    ----------
    design
        `t`: paired t-test of two systems; `anova-1`, `anova-2`: F-test of one-way or two-way ANOVA
        that all systems are equal; `interval`: confidence interval of a difference.
    variance
        Variance of a score, above 0: see :func:`variance`.
    difference
        Smallest difference to be detected, above 0; for the analyses of variance the difference
        between the best and the worst system. Not for `interval`.
    width
        Largest expected width, above 0; for `interval` only.
    systems
        Number of systems; must be 2 for `t` and `interval`.
    alpha
        Significance level; the confidence level is 1 - alpha.
    power
        Required power, between 0 and 1; not used by `interval`.
    alternative
        Alternative hypothesis; for `t` only.
    epsilon
        For `anova-2` only, as for :func:`power_anova`. By default the differences of all pairs of
        systems are assumed to have equal variances (sphericity), which real systems violate.

    Returns
    -------
    TopicsNeeded
        The number of topics, at least 2, and the power or width it achieves.

    Raises
    ------
    PolicyError
        For an unknown design, or an option that is missing, invalid, or (except `power`) unused.
    CranfieldError
        If more than ten million topics would be needed.

    Examples
    --------
    >>> print(topics_needed("t", difference=0.05, variance=0.01))
    65 topics: paired t-test detects a difference of 0.05 with power 0.8016, at least 0.8
    variance of a score 0.01, alpha 0.05
    >>> topics_needed("interval", width=0.05, variance=0.01).n_topics
    125
    """
    check_arguments(topics_needed, locals())
    is_interval = design == "interval"
    goals = {"width": width, "difference": difference}
    name, unused_name = goals if is_interval else reversed(goals)
    goal = goals[name]
    names = [key for key, value in goals.items() if value is not None]
    if goal is None or names != [name]:
        text = " and ".join(names) or "neither"
        raise PolicyError(f"design {design!r} requires {name}, without {unused_name}; got {text}")
    if design in {"t", "interval"} and systems != 2:
        raise PolicyError(f"design {design!r} requires two systems, got {systems}")
    if design != "t" and alternative != "two-sided":
        raise PolicyError(
            f"alternative must be 'two-sided' with design {design!r}, got {alternative!r}"
        )
    if design != "anova-2" and epsilon != 1:
        raise PolicyError(f"epsilon requires design 'anova-2', got {design!r}")
    options: dict[str, Any] = {"variance": variance, "alpha": alpha}
    compute_achieved: Callable[..., Any] = expected_width
    if design == "t":
        compute_achieved = power_t
        options |= {"difference": goal, "alternative": alternative}
    elif not is_interval:
        compute_achieved = power_anova
        options |= {"difference": goal, "systems": systems, "model": design, "epsilon": epsilon}

    def is_enough(n_topics: int) -> bool:
        achieved = compute_achieved(n_topics, **options)
        return bool(achieved <= goal if is_interval else achieved >= power)

    n_topics = find_smallest(is_enough)
    return TopicsNeeded(
        design=design,
        n_topics=n_topics,
        achieved=float(compute_achieved(n_topics, **options)),
        power=None if is_interval else power,
        width=width,
        difference=difference,
        variance=variance,
        systems=systems,
        alpha=alpha,
        alternative=alternative,
        epsilon=float(epsilon),
    )


def find_smallest(is_enough: Callable[[int], bool], max_topics: int = MAX_TOPICS) -> int:
    """Find the smallest number of topics, at least 2, that is enough; `is_enough` is monotone."""
    low, high = 1, 2
    while not is_enough(high):
        if high >= max_topics:
            raise CranfieldError(f"reaching the goal requires more than {max_topics:,} topics")
        low, high = high, min(2 * high, max_topics)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def variance(
    scores: Scores | Iterable[Scores], *, model: Annotated[str, OneOf(MODELS)] = "anova-2"
) -> float:
    r"""Estimate the variance of a score from existing scores, for topic set size design.

    .. math:: V_{E1} = \frac{\sum_{ts} (x_{ts} - \bar{x}_{\cdot s})^2}{m(n - 1)}, \quad
        V_{E2} = \frac{\sum_{ts} (x_{ts} - \bar{x}_{t\cdot} - \bar{x}_{\cdot s}
        + \bar{x}_{\cdot\cdot})^2}{(m - 1)(n - 1)}

    Source: Sakai (2016), Topic set size design; Sakai (2018).

    Parameters
    ----------
    scores
        Scores, or several `Scores`, whose variances are pooled, weighted by degrees of freedom.
    model
        `anova-1`: the variance within systems, which includes differences between topics and
        therefore requires more topics; NaN is excluded. `anova-2`: the residual variance after
        effects of topics and systems; every system must have a score for every topic.

    Returns
    -------
    float
        The variance, in squared units of the scores.

    Raises
    ------
    PolicyError
        For an unknown model, scores by shard, or input that is not :class:`Scores`.
    CranfieldError
        For scores that are too few, infinite or missing.

    Examples
    --------
    >>> scores = Scores([[0.1, 0.3], [0.2, 0.8]], topics=["q1", "q2"], systems=["a", "b"])
    >>> round(variance(scores), 4), round(variance(scores, model="anova-1"), 4)
    (0.04, 0.065)
    """
    check_arguments(variance, locals())
    check_list("scores", scores)
    samples = [scores] if isinstance(scores, Scores) else list(scores)
    if not samples:
        raise CranfieldError("expected scores to estimate a variance, got none")
    # Scores too large to be squared have an infinite variance.
    with np.errstate(over="ignore", invalid="ignore"):
        estimates = [_estimate_error_variance(sample, model) for sample in samples]
    return sum(ms * df for ms, df in estimates) / sum(df for _, df in estimates)


def _estimate_error_variance(scores: Scores, model: str) -> tuple[float, float]:
    """Return the mean square and the degrees of freedom of the error."""
    if not isinstance(scores, Scores):
        raise PolicyError(f"scores must be Scores, got {type(scores).__name__}")
    values = scores.check_finite().require_two_axes("scores by shard have no variance over topics")
    if model == "anova-1":
        values = values[:, ~np.isnan(values).all(axis=0)]
        if (~np.isnan(values)).sum() <= values.shape[1]:
            raise CranfieldError("a variance requires a system with at least two scores, got none")
        table, _ = fit_one_way(values)
        return table.ms_error, table.df_error
    if (cells := np.argwhere(np.isnan(values))).size:
        cell = scores.describe_cell(cells[0])
        raise CranfieldError(f"{cell} has no score; model='anova-1' allows missing scores")
    if min(values.shape) < 2:
        raise CranfieldError(
            f"model 'anova-2' requires at least two topics and two systems, got {values.shape[0]}"
            f" and {values.shape[1]}"
        )
    table, _ = fit_two_way(values)
    return table.ms_error, table.df_error


MAX_PILOT_TOPICS = 10_000  # largest number of topics of a simulated data set


@dataclass(frozen=True, eq=False, repr=False)
class PairPower(TableResult):
    """Power of pairwise comparisons, by number of topics.

    Attributes
    ----------
    test, correction
        Names of the test and the correction.
    power_by_pair
        Power by pair, shape (numbers of topics, pairs): the proportion of significant results, in
        the right direction, among the data sets in which the pair truly differs.
    systems, first, second
        Names of the systems, and indices of the two systems of each pair.
    difference, sets, resamples, seed, alpha, power
        Options of :func:`power_pairs`.
    """

    name: ClassVar[str] = "power"
    columns: ClassVar[Columns] = {
        "topics": Column("Number of topics, in ascending order.", key=True),
        "average": Column(
            "Average power: mean proportion of the truly different pairs that are significant in"
            " the right direction.",
            3,
        ),
        "any pair": Column(
            "Proportion of data sets in which at least one truly different pair is significant in"
            " the right direction.",
            3,
        ),
        "every pair": Column(
            "Proportion of data sets in which all truly different pairs are significant in the"
            " right direction.",
            3,
        ),
        "errors": Column(
            "Proportion of data sets with a false rejection, or a significant difference in the"
            " wrong direction.",
            3,
        ),
    }

    test: str
    correction: str
    power_by_pair: Floats
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
    def n_needed(self) -> int | None:
        """Smallest simulated number of topics whose average power reaches `power`, or None."""
        topics = self.topics[self.average >= self.power]
        return int(topics[0]) if topics.size else None

    def heading(self) -> list[str]:
        case = "the pilot's means" if self.difference is None else f"difference {self.difference:g}"
        return [
            f"{self.test}, {self.correction}: {inflect(len(self.systems), 'system')}, {case};"
            f" {inflect(self.sets, 'data set')}, alpha {self.alpha:g}, seed {self.seed}"
        ]


def power_pairs(
    pilot: Any,
    *,
    topics: int | Sequence[int] | None = None,
    difference: Positive | None = None,
    power: Probability = 0.8,
    test: str | None = None,
    correction: str | None = None,
    alpha: Probability = 0.05,
    sets: Annotated[int, Integer(1, MAX_RESAMPLES)] = 1000,
    resamples: Annotated[int, Integer(1, MAX_RESAMPLES)] = 999,
    seed: Seed = 0,
    jobs: int | None = None,
) -> PairPower:
    """Estimate the power of a test with its correction for pairs of systems, by simulation.

    Data sets are simulated from a population that has the distributions, variances and correlations
    of the pilot's systems. With a `difference` D all systems have the same true mean, except one
    system that is better by D: only the pairs with this system are truly different. Each system
    takes this role in turn. Scores are shifted by constants, so that variances and correlations do
    not change; some scores may leave the range of the measure. Without a difference, the true means
    are the observed means of the pilot. Observed means differ more than the true means that they
    estimate, so the power is then too high for planning.

    The standard error of a simulated proportion p is at most sqrt(p (1 - p) / sets), which is up to
    0.016 for 1,000 data sets. The simulation assumes that the pilot is like the planned experiment;
    see :func:`fit_simulator` for further assumptions.

    Parameters
    ----------
    pilot
        Scores as for :func:`compare`, to which :func:`fit_simulator` fits a population; or a
        population: a :class:`Simulator`, or :class:`Resampled` for real scores.
    topics
        Numbers of topics, 2 to 10,000. By default, search for the smallest number whose `average`
        reaches `power`; the result has all simulated numbers, and :attr:`PairPower.n_needed`.
    difference
        True difference D, above 0, in the unit of the scores.
    power
        Required average power of the search, between 0 and 1.
    test, correction, alpha, resamples
        As for :func:`compare`.
    sets
        Number of data sets for each number of topics.
    seed, jobs
        Seed of random numbers; number of threads, which does not change the results.

    Returns
    -------
    PairPower
        A row for each number of topics.

    Raises
    ------
    PolicyError
        For an option out of its range.
    CranfieldError
        If the pilot cannot be simulated, more than 10,000 topics would be needed, or all systems
        have the same true mean.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> pilot = cf.evaluate(covid.runs[:5], covid.qrels, "nDCG@20")["nDCG@20"]
    >>> options = dict(test="anova-2", correction="tukey", difference=0.05)
    >>> print(power_pairs(pilot, topics=[25, 50], sets=50, **options))
    anova-2, tukey: 5 systems, difference 0.05; 50 data sets, alpha 0.05, seed 0
    <BLANKLINE>
    topics  average  any pair  every pair  errors
        25    0.245     0.520       0.060   0.080
        50    0.570     0.840       0.260   0.080
    """
    check_arguments(power_pairs, locals())
    if isinstance(topics, (int, np.integer)):
        topics = (int(topics),)
    sizes = () if topics is None else tuple(topics)
    for size in sizes:
        check_integer("the number of topics", size, 2, MAX_PILOT_TOPICS)
    is_population = isinstance(pilot, (Simulator, Resampled))
    population: Simulator | Resampled = pilot if is_population else fit_simulator(pilot)
    labels = map(str, range(1, population.means.size + 1))
    systems = population.systems if isinstance(population, Simulator) else tuple(labels)
    names: dict[str, str] = {}  # of the test and the correction
    rows: dict[int, tuple[Any, ...]] = {}
    power_by_pair: dict[int, Floats] = {}

    def simulate(n_topics: int, index: int) -> tuple[Bools, Bools, bool, str, str]:
        """Simulate one data set and test it; a larger data set begins with the same topics."""
        values, means = population.draw(n_topics, seed, index), population.means.copy()
        if difference is not None:
            # Shift by constants, which do not change the variance of differences.
            shifted_means = np.full(means.size, means.mean())
            shifted_means[index % means.size] += difference
            values += shifted_means - means
            means = shifted_means
        result = compare(
            Scores(values, tuple(map(str, range(n_topics))), systems),
            test=test,
            correction=correction,
            alpha=alpha,
            resamples=resamples,
            seed=int(make_stream(seed, index, 1).integers(2**31)),
            jobs=1,
        )
        true_difference = pair_all(values).compute_mean_differences(means)
        is_different, is_significant = true_difference != 0, result.is_significant()
        has_right_sign = np.sign(true_difference) == np.sign(result.difference)
        is_correct = is_significant & is_different & has_right_sign
        has_error = bool((is_significant & ~is_correct).any())
        return is_correct, is_different, has_error, result.test, result.correction

    def simulate_power(n_topics: int) -> float:
        """Simulate all data sets, store the row of the table, and return the average power."""
        results = map_in_threads(partial(simulate, n_topics), range(sets), jobs)
        is_correct, is_different, has_error, tests, corrections = map(
            np.array, zip(*results, strict=True)
        )
        if not is_different.any():
            raise CranfieldError(
                "power requires different true means, got the same for all systems"
            )
        average = is_correct.sum() / is_different.sum()
        any_pair = is_correct.any(axis=1).mean()
        every_pair = (is_correct == is_different).all(axis=1).mean()
        rows[n_topics] = (n_topics, average, any_pair, every_pair, has_error.mean())
        with np.errstate(invalid="ignore"):
            power_by_pair[n_topics] = is_correct.sum(axis=0) / is_different.sum(axis=0)
        names.update(test=str(tests[0]), correction=str(corrections[0]))
        return float(average)

    for size in sorted(set(sizes)):
        simulate_power(size)
    if not sizes:
        find_smallest(lambda size: simulate_power(size) >= power, MAX_PILOT_TOPICS)
    simulated_sizes = sorted(rows)
    pairs = pair_all(population.means[None, :])
    return PairPower(
        pl.DataFrame([rows[n] for n in simulated_sizes], list(PairPower.columns), orient="row"),
        **names,
        power_by_pair=np.array([power_by_pair[n] for n in simulated_sizes]),
        systems=systems,
        first=pairs.first,
        second=pairs.second,
        difference=difference,
        sets=sets,
        resamples=resamples,
        seed=seed,
        alpha=alpha,
        power=power,
    )
