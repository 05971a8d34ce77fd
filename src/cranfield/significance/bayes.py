"""Bayesian comparison of two systems."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl
from scipy.special import poch, stdtr, stdtrit

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError, quote
from cranfield.base.kinds import OneOf, Probability, RealNumber, check_arguments
from cranfield.base.text import format_prefix, inflect
from cranfield.result import Column, Columns, Result, declare_bounds
from cranfield.scores import Scores
from cranfield.scores.one_measure import find_label
from cranfield.significance.differences import pair_all
from cranfield.significance.effects import find_noncentrality
from cranfield.tabular import Table

MISSING = ("error", "drop")  # policies for topics without a score


def compare_bayes(
    scores: Scores,
    first: str,
    second: str,
    *,
    rope: Annotated[float, RealNumber(0)] = 0.01,
    level: Probability = 0.95,
    missing: Annotated[str, OneOf(MISSING)] = "error",
) -> BayesianComparison:
    r"""Compare two systems on the same topics, with a region of practical equivalence.

    A p-value is the probability of a difference at least as extreme as the observed one if the
    systems did not differ. A posterior probability is the probability of the statement of interest
    itself: that a system is better, or that the difference is negligible. The posteriors of the
    mean difference mu and of the effect size are

    .. math:: \mu \mid d \sim \bar{d} + \frac{s}{\sqrt{n}}\, t_{n-1}, \quad
        \frac{\mu}{\sigma} \mid d \sim
        \frac{\bar{d}}{s} \sqrt{\frac{\chi^2_{n-1}}{n-1}} + \frac{1}{\sqrt{n}} N(0, 1)

    where d are the differences by topic, assumed to be normal with mean mu and standard deviation
    sigma. The prior is flat in mu and in the logarithm of sigma.

    Sources: Benavoli, Corani, Demšar and Zaffalon (2017), with correlation 0, since topics are
    independent; Carterette (2015); for the effect size, Lecoutre (1999).

    Parameters
    ----------
    scores
        Scores of one measure, not by shard.
    first, second
        Names of the two systems.
    rope
        Largest negligible mean difference, at least 0, in the unit of the scores. With 0 the
        probability of equivalence is 0.
    level
        Probability of the credible intervals.
    missing
        `error`, or `drop`, which excludes topics where one of the two systems lacks a score.

    Raises
    ------
    PolicyError
        For an unknown system, one system twice, an option out of its range, or scores by shard.
    CranfieldError
        If scores are missing, infinite, of fewer than two topics, or differ equally on all topics.

    Examples
    --------
    >>> scores = Scores(
    ...     [[0.3, 0.2], [0.6, 0.4], [0.5, 0.3], [0.3, 0.1]],
    ...     topics=["q1", "q2", "q3", "q4"],
    ...     systems=["new", "old"],
    ...     measure="AP",
    ... )
    >>> print(compare_bayes(scores, "new", "old"))
    AP: Bayesian paired t-test of new and old, 4 topics
    P(new is worse) = 0.0026
    P(practically equivalent, within 0.01) = 0.0010
    P(new is better) = 0.9965
    <BLANKLINE>
                       mean     low    high
    mean difference  0.1750  0.0954  0.2546
    effect size      3.2246  0.7079  6.3243
    <BLANKLINE>
    low, high: 95% credible interval, equal-tailed
    """
    check_arguments(compare_bayes, locals())
    difference, rounding, n_excluded = _compute_differences(scores, first, second, missing)
    n, mean = difference.size, float(difference.mean())
    if np.ptp(difference) <= rounding:
        # The posterior would be a point mass, even with only two topics.
        raise CranfieldError(
            f"expected differences that vary by topic, got {difference[0]:g} on all {n} topics"
        )
    standard_error = float(difference.std(ddof=1) / np.sqrt(n))
    p_below = float(stdtr(n - 1, (-rope - mean) / standard_error))
    p_above = float(stdtr(n - 1, (mean - rope) / standard_error))
    half_width = float(stdtrit(n - 1, (1 + level) / 2)) * standard_error
    p_worse, p_better = (p_above, p_below) if scores.lower_is_better else (p_below, p_above)
    t, root_n = mean / standard_error, np.sqrt(n)
    # P(effect > x | data) = P(T <= t), where T is a noncentral t with noncentrality x * sqrt(n).
    (low,), (high,) = find_noncentrality(np.array([t]), n - 1, level)
    effect = t * float(poch((n - 1) / 2, 0.5)) / np.sqrt((n - 1) / 2) / root_n
    return BayesianComparison(
        measure=scores.measure,
        systems=(first, second),
        n_topics=n,
        n_excluded=n_excluded,
        difference=mean,
        p_worse=p_worse,
        p_equivalent=max(0.0, 1 - p_below - p_above),
        p_better=p_better,
        rope=rope,
        interval=(mean - half_width, mean + half_width),
        effect=float(effect),
        effect_interval=(float(low / root_n), float(high / root_n)),
        level=level,
        lower_is_better=scores.lower_is_better,
    )


def _compute_differences(
    scores: Scores, first: str, second: str, missing: str
) -> tuple[Floats, float, int]:
    """Return first minus second by topic, its rounding error, and the number of excluded topics."""
    values = scores.require_two_axes("a Bayesian comparison does not take scores by shard")
    x, y = (values[:, find_label(system, scores.systems)] for system in (first, second))
    if first == second:
        raise PolicyError(f"system {quote(first)} cannot be compared with itself")
    scores.select(systems=[first, second]).check_finite()
    is_missing = np.isnan(x) | np.isnan(y)
    if missing == "error" and is_missing.any():
        topic = int(np.flatnonzero(is_missing)[0])
        system = first if np.isnan(x[topic]) else second
        raise CranfieldError(
            f"system {quote(system)} on topic {quote(scores.topics[topic])} has no score;"
            " missing='drop' excludes such topics"
        )
    x, y = x[~is_missing], y[~is_missing]
    if x.size < 2:
        raise CranfieldError(f"a Bayesian comparison requires at least two topics, got {x.size}")
    pair = pair_all(np.stack([x, y], axis=1))
    return pair.compute_differences()[0], float(pair.rounding[0]), int(is_missing.sum())


@dataclass(frozen=True, repr=False)
class BayesianComparison(Result):
    """Posterior distributions of the difference between two systems and of its effect size.

    Attributes
    ----------
    measure
        Name of the measure; empty if it is not known.
    systems
        First and second system.
    n_topics
        Number of topics.
    n_excluded
        Number of topics that were excluded because one of the systems has no score.
    difference
        Posterior mean of the difference, first system minus second.
    p_worse, p_equivalent, p_better
        Posterior probabilities that the first system is worse than the second by more than `rope`,
        that the systems are practically equivalent, and that the first is better by more than
        `rope`. Their sum is 1.
    rope, level
        Options of :func:`compare_bayes`.
    interval
        Credible interval of the mean difference, first minus second. It is both the equal-tailed
        and the highest-density interval.
    effect
        Posterior mean of the effect size: the mean difference divided by the standard deviation of
        the differences over topics.
    effect_interval
        Equal-tailed credible interval of the effect size.
    lower_is_better
        Whether lower scores are better.
    """

    columns: ClassVar[Columns] = {
        "first": Column("First system.", key=True),
        "second": Column("Second system.", key=True),
        "difference": Column("Posterior mean of the difference, first minus second."),
        **declare_bounds("equal-tailed credible interval of the difference"),
        "effect": Column("Posterior mean of the effect size."),
        **declare_bounds("equal-tailed credible interval of the effect size", prefix="effect "),
        "p worse": Column(
            "Posterior probability that the first system is worse by more than `rope`."
        ),
        "p equivalent": Column(
            "Posterior probability that the systems are practically equivalent: they differ by at"
            " most `rope`."
        ),
        "p better": Column(
            "Posterior probability that the first system is better by more than `rope`."
        ),
    }

    measure: str
    systems: tuple[str, str]
    n_topics: int
    n_excluded: int
    difference: float
    p_worse: float
    p_equivalent: float
    p_better: float
    rope: float
    interval: tuple[float, float]
    effect: float
    effect_interval: tuple[float, float]
    level: float
    lower_is_better: bool = False

    def _frame(self) -> pl.DataFrame:
        estimates = self.difference, *self.interval, self.effect, *self.effect_interval
        row = *self.systems, *estimates, self.p_worse, self.p_equivalent, self.p_better
        return pl.DataFrame([row], list(self.columns), orient="row")

    def heading(self) -> list[str]:
        first, second = self.systems
        suffix = f" ({self.n_excluded:,} excluded: a score is missing)" if self.n_excluded else ""
        return [
            f"{format_prefix(self.measure)}Bayesian paired t-test of {first} and {second},"
            f" {inflect(self.n_topics, 'topic')}{suffix}",
            f"P({first} is worse) {_format_p(self.p_worse)}",
            f"P(practically equivalent, within {self.rope:g}) {_format_p(self.p_equivalent)}",
            f"P({first} is better) {_format_p(self.p_better)}",
        ]

    def tables(self) -> list[Table]:
        difference, effect = (self.difference, *self.interval), (self.effect, *self.effect_interval)
        estimates = {"mean difference": difference, "effect size": effect}
        rows = [[name, *(f"{x:.4f}" for x in values)] for name, values in estimates.items()]
        legend = f"low, high: {100 * self.level:g}% credible interval, equal-tailed"
        return [Table("", ["", "mean", "low", "high"], rows, notes=[legend])]


def _format_p(probability: float) -> str:
    """Format a probability with `=`, or with `<` or `>` if it would round to 0 or 1."""
    if probability < 0.00005:
        return "< 0.0001"
    return "> 0.9999" if probability > 0.99995 else f"= {probability:.4f}"
