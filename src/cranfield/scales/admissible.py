"""Statistics and tests that a measurement scale admits, and stochastic dominance of systems.

A scale admits transformations: nominal ones any one-to-one function, ordinal ones any increasing
one, interval ones any positive affine one, ratio ones any multiple by a positive number (Ferrante,
Ferro and Fuhr, 2021, section 2.2; Ferro and Maistro, 2024, section 7.3). Stevens' prescriptions are
recorded here as data. They are one side of a long debate, reported in sections 2.3, 7.4 and 7.6 of
these papers; nothing in this module forbids anything.

Where the sources differ:

- Ferrante and others (2021) list rank-order correlation under the interval scale in their
  introduction, as Stevens (1946) did. Kendall's tau and Spearman's rho are functions of the order
  alone, and no increasing transformation changes them; they are ordinal here, as in today's books.
- The signed rank test ranks differences, and so needs an interval scale although it is called
  nonparametric (section 2.5 there). The rank sum test is ordinal; that section calls its samples
  paired, but they are independent.
- Tests that no paper classifies (randomisation, bootstrap) compare means, and need their scale.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.errors import PolicyError, indices
from cranfield.base.scale_types import Scale, find_scale
from cranfield.base.spec import Registry
from cranfield.significance.prepare import as_scores
from cranfield.significance.registry import TESTS, TestInfo


@dataclass(frozen=True)
class Statistic:
    """A statistic, and the lowest scale on which statements about it are invariant."""

    name: str
    scale: Scale
    aliases: tuple[str, ...]


_BY_SCALE = {
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
"""Statistics, each with its other names."""

STATISTICS: dict[str, Statistic] = {
    name: Statistic(name, scale, tuple(aliases))
    for scale, text in _BY_SCALE.items()
    for name, *aliases in (word.split("=") for word in text.split())
}
"""Ferrante, Ferro and Fuhr (2021), section 2.3; Ferro and Maistro (2024), section 7.4. The last
sentence of each says which operations a scale allows; statistics that are not named there
(minimum, effect size, ratio, ...) are classified by it."""


_INFOS: list[Statistic | TestInfo] = [*STATISTICS.values(), *(test.info for test in TESTS.values())]
NEEDED: Registry[Statistic | TestInfo] = Registry(
    "statistic or test",
    things={info.name: info for info in _INFOS},
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
    """Return the scale that a statistic or a significance test needs at least.

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
    return NEEDED.named(str(name).replace("'", "")).scale


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
    """Name the statistics that a scale allows, those of lower scales first.

    Examples
    --------
    >>> admitted_statistics("nominal")
    ['mode', 'frequency']
    """
    highest = find_scale(scale)
    return [info.name for info in STATISTICS.values() if info.scale <= highest]


def admitted_tests(scale: Scale | str) -> list[str]:
    """Name the significance tests that a scale allows.

    Examples
    --------
    >>> admitted_tests("ordinal")
    ['sign', 'rank-sum', 'kruskal-wallis', 'friedman']
    """
    highest = find_scale(scale)
    return [name for name, test in TESTS.items() if test.info.scale <= highest]


ROUNDING = 2.0**-44
"""Scores that differ by less than this fraction of the largest are equal."""

BLOCK = 2**15
"""Scores of a block of pairs, so that its arrays fit into the processor's cache."""


@dataclass(frozen=True, eq=False)
class Dominance:
    """Stochastic dominance of pairs of systems: whether the order of means survives rescaling.

    Attributes
    ----------
    holds
        Whether the system with the higher mean has the higher mean under every increasing
        transformation of the scores.
    reversed
        Whether some increasing transformation reverses the order of means. Both are False for two
        systems with the same scores on different topics.
    threshold
        Where the order can be reversed, a score that more topics of the system with the lower mean
        exceed; NaN elsewhere.
    above_first, above_second
        Number of topics of the first and of the second system above that threshold.
    """

    holds: NDArray[np.bool_]
    reversed: NDArray[np.bool_]
    threshold: Floats
    above_first: Indices
    above_second: Indices


def dominance(scores: Any, first: ArrayLike, second: ArrayLike) -> Dominance:
    r"""Decide for pairs of systems whether one stochastically dominates the other.

    Parameters
    ----------
    scores
        :class:`cranfield.Scores`, or what :func:`cranfield.compare` takes: a mapping of systems, a
        data frame, or an array of shape (topics, systems). NaN means no score; with shards, their
        means are taken.
    first, second
        Indices of the systems of each pair.

    Raises
    ------
    PolicyError
        For invalid scores, and for systems that are not indices or not in pairs.

    Notes
    -----
    The mean of f(A) is at least that of f(B) for every increasing f exactly when A's scores
    dominate B's stochastically (of first order; Lehmann 1955):

    .. math:: \frac{|\{t : a_t > x\}|}{n} \ge \frac{|\{t : b_t > x\}|}{m} \text{ for all } x,

    that is, at least as large a proportion of A's scores is above every threshold x. Otherwise
    there is an x where the opposite holds, and an increasing transformation that separates scores
    above x from scores below it, and changes little else, reverses the order of means. This does
    not say which system is better: for a measure where lower is better, the lower mean is.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.Scores(np.array([[.5, .4, .9], [.2, .1, .0]]), ("1", "2"), ("a", "b", "c"))
    >>> pairs = dominance(scores, np.array([0, 0]), np.array([1, 2]))
    >>> pairs.holds.tolist(), pairs.threshold.tolist()
    ([True, False], [nan, 0.0])
    """
    scores = as_scores(scores)
    size = len(scores.systems)
    first, second = indices(first, "first", size), indices(second, "second", size)
    if first.size != second.size:
        raise PolicyError(
            f"first and second must have the same length, got {first.size} and {second.size}"
        )
    columns = np.ascontiguousarray(scores.over_shards().values.T)
    gap = float(ROUNDING * np.nanmax(np.abs(columns), initial=0.0))
    blocks = list(row_slices(first.size, 2 * columns.shape[1], BLOCK)) or [slice(0)]
    parts = [_decide_pairs(columns, first[block], second[block], gap) for block in blocks]
    names = [field.name for field in fields(Dominance)]
    return Dominance(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def _decide_pairs(columns: Floats, first: Indices, second: Indices, gap: float) -> Dominance:
    """Decide for pairs of systems, whose scores are columns[system, topic]."""
    count = (~np.isnan(columns)).sum(axis=1)
    mean = np.nansum(columns, axis=1) / np.maximum(count, 1)
    # Each score is weighted by the number of the other system's scores: sums are integers.
    n, m = (np.maximum(count[systems], 1) for systems in (first, second))
    unit = np.gcd(n, m) * np.where(mean[first] >= mean[second], 1, -1)
    # Merging two sorted rows is faster than sorting their scores.
    ascending = np.sort(columns, axis=1, kind="stable")
    merged = np.concatenate([ascending[first], ascending[second]], axis=1)
    order = np.argsort(merged, axis=1, kind="stable")
    scores = np.take_along_axis(merged, order, axis=1)
    weights = np.where(order < columns.shape[1], (m // unit)[:, None], (-n // unit)[:, None])
    weights[np.isnan(scores)] = 0
    cumulated = np.cumsum(weights, axis=1)
    excess = cumulated[:, -1:] - cumulated
    # Scores are equal up to the gap; a threshold is the last of equal ones.
    with np.errstate(invalid="ignore"):
        excess[:, :-1][np.diff(scores, axis=1) <= gap] = 0
    minimum = excess.argmin(axis=1)[:, None]
    is_reversed = np.take_along_axis(excess, minimum, axis=1)[:, 0] < 0
    threshold = np.take_along_axis(scores, minimum, axis=1)
    counts = [(columns[systems] > threshold + gap).sum(axis=1) for systems in (first, second)]
    return Dominance(
        ~is_reversed & (excess > 0).any(axis=1),
        is_reversed,
        np.where(is_reversed, threshold[:, 0], np.nan),
        *(np.where(is_reversed, number, 0) for number in counts),
    )
