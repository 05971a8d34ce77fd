"""Bayesian comparison of two systems: how probable it is that one is better, or as good."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import stdtr, stdtrit

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice, check_share
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.scores import Scores
from cranfield.scores.labels import place_of
from cranfield.significance.bayes.chains import agreement
from cranfield.significance.bayes.dirichlet_signed_rank import Chances, Limits, signed_rank
from cranfield.significance.bayes.systems_posterior import (
    MISSING,
    SystemsPosterior,
    chances,
    check_rope,
    fit_bayes,
    sampling_notes,
)
from cranfield.significance.pairs import ROUNDING, TINY
from cranfield.tabular.frames import Framed

METHODS = ("t", "signed-rank", "hierarchical")
"""Ways to compare two systems."""

SAMPLES = {"t": 0, "signed-rank": 50_000, "hierarchical": 4000}
"""Random samples of each by default; `t` needs none."""


def compare_bayes(
    scores: Scores,
    first: str,
    second: str,
    *,
    rope: float = 0.01,
    method: str = "t",
    level: float = 0.95,
    prior: float = 0.5,
    missing: str = "error",
    samples: int | None = None,
    seed: int = 0,
) -> BayesianComparison:
    r"""Compare two systems on the same topics, with a region of practical equivalence.

    A p-value is the probability of such scores if the systems were the same. These are
    probabilities of what one wants to know: that a system is better, or that they do not differ by
    more than matters.

    .. math:: \mu \mid d \sim \bar{d} + \frac{s}{\sqrt{n}}\, t_{n-1}

    is the posterior of the mean difference for `t`, with the prior that is flat in the mean and in
    the logarithm of the standard deviation. For `signed-rank` the differences come from an unknown
    distribution with a Dirichlet process as prior; in each sample, with random weights w of the
    topics,

    .. math:: \theta_{better} = \sum_{ij} w_i w_j \, 1[d_i + d_j > 2r], \quad
        w \sim \mathrm{Dirichlet}(s, 1, \dots, 1)

    where the weight of parameter s is of a difference of 0, and sums of exactly 2r count half. The
    probabilities are the shares of samples in which each of the three thetas is the largest. So the
    rope of `t` is of the mean, and that of `signed-rank` of Walsh averages, which are the means of
    the differences of two topics: with a narrow one, systems that win as often as they lose are not
    equivalent there.

    Both look at two systems alone. `hierarchical` compares the expected scores of the two in a
    model of all systems in `scores`, which are pulled together as far as they are alike: see
    :func:`fit_bayes`, which gives all pairs and ranks at once.

    Source: Benavoli, Corani, Demšar and Zaffalon (2017), with correlation 0, since topics are
    independent; Carterette (2015).

    Parameters
    ----------
    scores
        Shape (topics, systems).
    first, second
        The systems.
    rope
        Largest difference that does not matter, 0 or more, in the unit of the scores. With 0 no
        systems are equivalent.
    method
        `t`, `signed-rank` or `hierarchical`.
    level
        Probability of the credible interval.
    prior
        Strength s of the prior of `signed-rank`, above 0.
    missing
        `error`, or `drop`, which leaves out topics where a system lacks a score: one of the two,
        or for `hierarchical` any.
    samples, seed
        Of `signed-rank`, by default 50,000, and of `hierarchical`, 4,000. The same seed gives the
        same weights of `signed-rank` whatever the systems, and comparing second with first gives
        the same probabilities, exchanged.

    Raises
    ------
    PolicyError
        For an unknown system or method, or an option out of its range.
    CranfieldError
        For scores that are missing, infinite, by shard, or of fewer than two topics; for `t` also
        where the difference is the same on all topics.

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
    mean difference 0.1750; 0.95 credible interval of the mean [0.0954, 0.2546]
    P(new is worse) = 0.0026
    P(practically equivalent, within 0.01) = 0.0010
    P(new is better) = 0.9965
    """
    _check_options(rope, method, level, prior, missing, samples, seed)
    difference, rounding, left_out = _differences(scores, first, second, missing)
    drawn = samples or SAMPLES[method]
    if method == "hierarchical":
        fitted = fit_bayes(scores, level=level, missing=missing, samples=drawn, seed=seed)
        return _of_all(fitted, first, second, rope)
    by_t = method == "t"
    (below, within, above), interval = (
        _student(difference, rounding, rope, level)
        if by_t
        else signed_rank(difference, rounding, rope, level, prior=prior, samples=drawn, seed=seed)
    )
    worse, better = (above, below) if scores.lower_is_better else (below, above)
    return BayesianComparison(
        method=method,
        measure=scores.measure,
        systems=(first, second),
        n=difference.size,
        left_out=left_out,
        difference=float(difference.mean()),
        p_worse=worse,
        p_equivalent=within,
        p_better=better,
        rope=rope,
        interval=interval,
        level=level,
        prior=None if by_t else prior,
        samples=None if by_t else drawn,
        seed=None if by_t else seed,
        lower_is_better=scores.lower_is_better,
    )


def _of_all(fitted: SystemsPosterior, first: str, second: str, rope: float) -> BayesianComparison:
    """Take two systems out of a model of all."""
    by_chain = fitted.difference(first, second)[..., None]
    apart = by_chain.reshape(-1, 1)
    worse, within, better = (float(p[0]) for p in chances(apart, rope, fitted.lower_is_better))
    low, high = fitted.limits(apart[:, 0])
    one, other = (fitted.means[fitted.systems.index(name)] for name in (first, second))
    return BayesianComparison(
        method="hierarchical",
        measure=fitted.measure,
        systems=(first, second),
        n=fitted.n,
        left_out=fitted.left_out,
        difference=float(one - other),
        p_worse=worse,
        p_equivalent=within,
        p_better=better,
        rope=rope,
        interval=(float(low), float(high)),
        level=fitted.level,
        prior=None,
        samples=len(apart),
        seed=fitted.seed,
        lower_is_better=fitted.lower_is_better,
        notes=sampling_notes(*agreement(by_chain)),
    )


def _student(
    difference: Floats, rounding: float, rope: float, level: float
) -> tuple[Chances, Limits]:
    """Return P(mean < -rope), P(between), P(mean > rope), and the limits of the mean."""
    n, mean = difference.size, float(difference.mean())
    if np.ptp(difference) <= rounding:
        # The posterior would be a point: certainty, from however few topics.
        raise CranfieldError(
            f"method 't' requires differences that vary, got {difference[0]:g} on all {n} topics;"
            " method='signed-rank' takes them"
        )
    error = float(difference.std(ddof=1) / np.sqrt(n))
    below = float(stdtr(n - 1, (-rope - mean) / error))
    above = float(stdtr(n - 1, (mean - rope) / error))
    half = float(stdtrit(n - 1, (1 + level) / 2)) * error
    return (below, max(0.0, 1 - below - above), above), (mean - half, mean + half)


def _differences(
    scores: Scores, first: str, second: str, missing: str
) -> tuple[Floats, float, int]:
    """Return first minus second by topic, what of it may be rounding, and topics left out."""
    values = scores.flat("scores by shard cannot be compared so")
    columns = [values[:, place_of(system, scores.systems)] for system in (first, second)]
    if first == second:
        raise PolicyError(f"system {quoted(first)} cannot be compared with itself")
    one, other = columns
    if np.isinf(one).any() or np.isinf(other).any():
        raise CranfieldError("there is an infinite score")
    lacking = np.isnan(one) | np.isnan(other)
    if missing == "error" and lacking.any():
        topic = int(np.flatnonzero(lacking)[0])
        system = first if np.isnan(one[topic]) else second
        raise CranfieldError(
            f"system {quoted(system)} on topic {quoted(scores.topics[topic])} has no score;"
            " missing='drop' leaves out such topics"
        )
    one, other = one[~lacking], other[~lacking]
    if one.size < 2:
        raise CranfieldError(f"a comparison needs two topics at least, not {one.size}")
    rounding = max(TINY, float(ROUNDING * max(np.abs(one).max(), np.abs(other).max())))
    difference = one - other
    difference[np.abs(difference) <= rounding] = 0.0
    return difference, rounding, int(lacking.sum())


def _check_options(
    rope: float,
    method: str,
    level: float,
    prior: float,
    missing: str,
    samples: int | None,
    seed: int,
) -> None:
    check_choice("method", method, METHODS)
    check_choice("missing", missing, MISSING)
    check_rope(rope)
    check_share("level", level)
    if not (np.isfinite(prior) and prior > 0):
        raise PolicyError(f"the strength of the prior must be above 0, not {prior:g}")
    if samples is not None and samples < 1:
        raise PolicyError(f"samples must be 1 or more, not {samples}")
    if seed < 0:
        raise PolicyError(f"the seed must be 0 or more, not {seed}")


NAMES = {
    "t": "Bayesian paired t-test",
    "signed-rank": "Bayesian signed-rank test",
    "hierarchical": "Bayesian hierarchical model",
}

INTERVALS = {"t": "mean", "signed-rank": "pseudo-median", "hierarchical": "expected difference"}
"""What the interval is of."""


@dataclass(frozen=True)
class BayesianComparison(Framed):
    """How two systems compare, as probabilities given the scores.

    Attributes
    ----------
    method
        `t`, `signed-rank` or `hierarchical`.
    measure
        Text form of the measure; empty where it is not known.
    systems
        First and second system.
    n
        Number of topics.
    left_out
        Topics that lack a score, and were left out.
    difference
        Mean of the first minus that of the second.
    p_worse, p_equivalent, p_better
        Posterior probabilities that the first system is worse than the second by more than
        `rope`, that they are practically equivalent, and that the first is better; their sum is 1.
    rope
        Half-width of the region of practical equivalence, in the unit of the scores: of the mean
        difference for `t`, of the averages of two topics' differences for `signed-rank`.
    interval
        Equal-tailed credible interval of first minus second: of the mean difference for `t`, where
        it has the highest density too; of the pseudo-median for `signed-rank`; of the difference
        of the expected scores for `hierarchical`.
    level
        Probability that it contains.
    prior
        Strength of the prior of `signed-rank`, as a number of topics without a difference; else
        None.
    samples, seed
        Number and seed of the random samples; None for `t`, which needs none.
    lower_is_better
        Whether the better system is the one with lower scores.
    notes
        What a reader should be told.
    """

    method: str
    measure: str
    systems: tuple[str, str]
    n: int
    left_out: int
    difference: float
    p_worse: float
    p_equivalent: float
    p_better: float
    rope: float
    interval: tuple[float, float]
    level: float
    prior: float | None
    samples: int | None
    seed: int | None
    lower_is_better: bool = False
    notes: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row."""
        return pl.DataFrame(
            {
                "first": [self.systems[0]],
                "second": [self.systems[1]],
                "difference": [self.difference],
                "low": [self.interval[0]],
                "high": [self.interval[1]],
                "p worse": [self.p_worse],
                "p equivalent": [self.p_equivalent],
                "p better": [self.p_better],
            }
        )

    def __str__(self) -> str:
        first, second = map(plain, self.systems)
        start = f"{plain(self.measure)}: " if self.measure else ""
        drawn = "" if self.samples is None else f"; {self.samples:,} samples, seed {self.seed}"
        left = f" ({self.left_out:,} left out for lack of a score)" if self.left_out else ""
        low, high = self.interval
        within = "averages of two topics within" if self.method == "signed-rank" else "within"
        return "\n".join(
            [
                f"{start}{NAMES[self.method]} of {first} and {second},"
                f" {counted(self.n, 'topic')}{left}{drawn}",
                f"mean difference {self.difference:.4f}; {self.level:g} credible interval of the"
                f" {INTERVALS[self.method]} [{low:.4f}, {high:.4f}]",
                f"P({first} is worse) {_shown(self.p_worse)}",
                f"P(practically equivalent, {within} {self.rope:g}) {_shown(self.p_equivalent)}",
                f"P({first} is better) {_shown(self.p_better)}",
                *(f"note: {note}" for note in self.notes),
            ]
        )


def _shown(probability: float) -> str:
    """Write a probability after its name; one that only rounds to 0 or 1 is not called certain.

    Examples
    --------
    >>> _shown(0.5), _shown(1e-9), _shown(1 - 1e-9)
    ('= 0.5000', '< 0.0001', '> 0.9999')
    """
    if probability < 0.00005:
        return "< 0.0001"
    return "> 0.9999" if probability > 0.99995 else f"= {probability:.4f}"
