"""Statistics and tests that a measurement scale admits, and stochastic dominance of systems.

A scale admits transformations: a nominal scale any one-to-one function, an ordinal scale any
increasing function, an interval scale any positive affine function, a ratio scale any positive
factor (Ferrante, Ferro and Fuhr, 2021, section 2.2; Ferro and Maistro, 2024, section 7.3). The
tables of this module follow Stevens' prescriptions. They are one side of a long debate, reported in
section 2.3 of the first and sections 7.4 and 7.6 of the second paper, and are not enforced.

Where the sources differ:

- Ferrante and others (2021) list rank-order correlation under the interval scale in their
  introduction, as Stevens (1946) did. Kendall's tau and Spearman's rho are functions of the order
  alone, and no increasing transformation changes them; they are ordinal here, as in today's books.
- The signed rank test ranks differences, and thus needs an interval scale although it is called
  nonparametric (Ferrante and others, 2021, section 2.5). The rank sum test is ordinal; that section
  calls its samples paired, but they are independent.
- Tests that neither paper classifies (randomisation, bootstrap) compare means, and need an interval
  scale as means do.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.arrays import Floats, Indices, slice_rows
from cranfield.base.errors import PolicyError, as_indices
from cranfield.base.scale_types import Scale, find_scale
from cranfield.base.spec import Registry
from cranfield.significance.prepare import as_scores
from cranfield.significance.registry import TESTS, TestInfo


@dataclass(frozen=True)
class Statistic:
    """A statistic, and the lowest scale on which statements with this statistic are invariant."""

    name: str
    scale: Scale
    aliases: tuple[str, ...]


_NAMES_BY_SCALE = {
    # Statistics that count equal values.
    Scale.NOMINAL: "mode frequency=count=counts",
    # Statistics that compare values, in pairs or by their ranks.
    Scale.ORDINAL: """
        median percentile=percentiles quantile=quantiles=quartile=quartiles minimum=min maximum=max
        rank-correlation=kendall=kendall-tau=tau=spearman=spearman-rho=tau-ap
    """,
    # Statistics that add and subtract values, or consist of means and standard deviations.
    Scale.INTERVAL: """
        difference=differences mean=average=arithmetic-mean=map=mrr standard-deviation=sd=std=stdev
        variance=var confidence-interval=ci=confidence-interval-of-the-mean
        effect-size=cohen-d=cohens-d=hedges-g=glass-delta
        standardisation=standardization=z-score=zscore
        pearson=pearson-correlation=product-moment-correlation=correlation
    """,
    # Statistics that multiply or divide values.
    Scale.RATIO: """
        geometric-mean=gmean=gmap harmonic-mean=hmean coefficient-of-variation=cv
        ratio=ratios=percent-change=relative-improvement=relative-difference
    """,
}
"""Names of statistics by scale; `=` separates a name from its aliases."""

STATISTICS: dict[str, Statistic] = {
    name: Statistic(name, scale, tuple(aliases))
    for scale, text in _NAMES_BY_SCALE.items()
    for name, *aliases in (word.split("=") for word in text.split())
}
"""Source: Ferrante, Ferro and Fuhr (2021), section 2.3; Ferro and Maistro (2024), section 7.4.
Statistics that these sections do not name (minimum, effect size, ratio, ...) are classified by the
operations on scores that they require."""

_INFOS: list[Statistic | TestInfo] = [*STATISTICS.values(), *(test.info for test in TESTS.values())]
STATISTICS_AND_TESTS: Registry[Statistic | TestInfo] = Registry(
    "statistic or test",
    components={info.name: info for info in _INFOS},
    # Tests may be named with the word "test", as in "sign test".
    aliases={
        f"{alias}{word}": info.name
        for info in _INFOS
        for word in ("-test", "")
        for alias in (info.name, *info.aliases)
    },
)
"""Statistics and tests by name."""


def required_scale(name: str) -> Scale:
    """Return the lowest scale that admits a statistic or a significance test.

    Raises
    ------
    PolicyError
        For an unknown name.

    Examples
    --------
    >>> [str(required_scale(name)) for name in ("median", "t", "Geometric mean")]
    ['ordinal', 'interval', 'ratio']
    >>> required_scale("medain")
    Traceback (most recent call last):
    cranfield.PolicyError: unknown statistic or test 'medain'; did you mean ...?
    """
    return STATISTICS_AND_TESTS.find_component(str(name).replace("'", "")).scale


def admits(scale: Scale | str, name: str) -> bool:
    """Return True if a scale admits a statistic or a significance test.

    Raises
    ------
    PolicyError
        For an unknown scale or name.

    Examples
    --------
    >>> admits("ordinal", "mean"), admits("ordinal", "sign test"), admits(Scale.RATIO, "mean")
    (False, True, True)
    """
    return find_scale(scale) >= required_scale(name)


def admitted_statistics(scale: Scale | str) -> list[str]:
    """Return the names of the statistics that a scale admits, in order of their scales.

    Examples
    --------
    >>> admitted_statistics("nominal")
    ['mode', 'frequency']
    """
    max_scale = find_scale(scale)
    return [info.name for info in STATISTICS.values() if info.scale <= max_scale]


def admitted_tests(scale: Scale | str) -> list[str]:
    """Return the names of the significance tests that a scale admits.

    Examples
    --------
    >>> admitted_tests("ordinal")
    ['sign', 'rank-sum', 'kruskal-wallis', 'friedman']
    """
    max_scale = find_scale(scale)
    return [name for name, test in TESTS.items() if test.info.scale <= max_scale]


ROUNDING = 2.0**-44
"""Scores that differ by at most this fraction of the largest absolute score count as equal."""

BLOCK_SIZE = 2**15
"""Number of scores in a block of pairs, whose arrays should fit into the processor's cache."""


@dataclass(frozen=True, eq=False)
class Dominance:
    """Stochastic dominance of pairs of systems: invariance of the order of means to rescaling.

    Attributes
    ----------
    holds
        Whether the system with the higher mean keeps the higher mean under every increasing
        transformation of the scores.
    is_reversed
        Whether some increasing transformation reverses the order of means. For two systems with the
        same scores on different topics, both `holds` and `is_reversed` are False.
    threshold
        A score that the system with the lower mean exceeds on a larger proportion of its topics;
        NaN if the order of means cannot be reversed.
    n_above_first, n_above_second
        Number of topics on which the first and the second system exceed the threshold; 0 if the
        order of means cannot be reversed.
    """

    holds: NDArray[np.bool_]
    is_reversed: NDArray[np.bool_]
    threshold: Floats
    n_above_first: Indices
    n_above_second: Indices


def dominance(scores: Any, first: ArrayLike, second: ArrayLike) -> Dominance:
    r"""Determine for pairs of systems whether one system stochastically dominates the other.

    Parameters
    ----------
    scores
        :class:`cranfield.Scores`, or any input of :func:`cranfield.compare`: a mapping of systems,
        a data frame, or an array of shape (topics, systems). NaN means no score; shards are
        averaged.
    first, second
        Indices of the systems of each pair.

    Raises
    ------
    PolicyError
        For invalid scores or indices, or if first and second differ in length.

    Notes
    -----
    The mean of f(A) is at least the mean of f(B) for every increasing f exactly if A's scores
    have first-order stochastic dominance over B's (Lehmann 1955):

    .. math:: \frac{|\{t : a_t > x\}|}{n} \ge \frac{|\{t : b_t > x\}|}{m} \text{ for all } x,

    that is, for every threshold x the proportion of scores above x is at least as large for A as
    for B. Otherwise there is an x where the opposite holds, and an increasing transformation
    that separates scores above x from scores below it, and changes little else, reverses the order
    of means. Dominance does not depend on whether lower or higher scores are better.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.Scores(np.array([[.5, .4, .9], [.2, .1, .0]]), ("1", "2"), ("a", "b", "c"))
    >>> pairs = dominance(scores, np.array([0, 0]), np.array([1, 2]))
    >>> pairs.holds.tolist(), pairs.threshold.tolist()
    ([True, False], [nan, 0.0])
    """
    scores = as_scores(scores).check_finite()
    n = len(scores.systems)
    first, second = as_indices(first, "first", n), as_indices(second, "second", n)
    if first.size != second.size:
        raise PolicyError(
            f"first and second must have the same length, got {first.size} and {second.size}"
        )
    rows = np.ascontiguousarray(scores.average_shards().values.T)
    slack = float(ROUNDING * np.nanmax(np.abs(rows), initial=0.0))
    blocks = list(slice_rows(first.size, 2 * rows.shape[1], BLOCK_SIZE)) or [slice(0)]
    results = [_decide_pairs(rows, first[block], second[block], slack) for block in blocks]
    columns = ([getattr(result, field.name) for result in results] for field in fields(Dominance))
    return Dominance(*map(np.concatenate, columns))


def _decide_pairs(rows: Floats, first: Indices, second: Indices, slack: float) -> Dominance:
    """Decide dominance for pairs of systems; rows[system, topic] are their scores."""
    n_scores = (~np.isnan(rows)).sum(axis=1)
    means = np.nansum(rows, axis=1) / np.maximum(n_scores, 1)
    # Each score is weighted by the other system's number of scores, so that sums are integers.
    n, m = (np.maximum(n_scores[systems], 1) for systems in (first, second))
    signed_gcd = np.gcd(n, m) * np.where(means[first] >= means[second], 1, -1)
    # Merging two sorted rows is faster than sorting their scores.
    sorted_rows = np.sort(rows, axis=1, kind="stable")
    merged_rows = np.concatenate([sorted_rows[first], sorted_rows[second]], axis=1)
    order = np.argsort(merged_rows, axis=1, kind="stable")
    scores = np.take_along_axis(merged_rows, order, axis=1)
    first_weight, second_weight = m // signed_gcd, -n // signed_gcd
    weights = np.where(order < rows.shape[1], first_weight[:, None], second_weight[:, None])
    weights[np.isnan(scores)] = 0
    cumulated_weights = np.cumsum(weights, axis=1)
    excess = cumulated_weights[:, -1:] - cumulated_weights
    # Scores that differ by at most the slack are equal; the last of them can be a threshold.
    with np.errstate(invalid="ignore"):
        excess[:, :-1][np.diff(scores, axis=1) <= slack] = 0
    min_index = excess.argmin(axis=1)[:, None]
    is_reversed = np.take_along_axis(excess, min_index, axis=1)[:, 0] < 0
    threshold = np.take_along_axis(scores, min_index, axis=1)
    counts = [(rows[systems] > threshold + slack).sum(axis=1) for systems in (first, second)]
    return Dominance(
        ~is_reversed & (excess > 0).any(axis=1),
        is_reversed,
        np.where(is_reversed, threshold[:, 0], np.nan),
        *(np.where(is_reversed, n_above, 0) for n_above in counts),
    )
