"""Which statements hold whatever the spacing of the scale.

A scale admits transformations: nominal ones any one-to-one function, ordinal ones any increasing
one, interval ones any positive affine one, ratio ones any multiple by a positive number (Ferrante,
Ferro and Fuhr, 2021, section 2.2; Ferro and Maistro, 2024, section 7.3). Stevens' prescriptions are
data here, for other parts to ask. They are one side of a long debate, which the same report in
sections 2.3, 7.4 and 7.6; nothing in this module forbids anything.

Where the sources differ:

- Ferrante and others (2021) list rank-order correlation under the interval scale in their
  introduction, as Stevens (1946) did. Kendall's tau and Spearman's rho are functions of the order
  alone, and no increasing transformation changes them; they are ordinal here, as in today's books.
- The signed rank test ranks differences, and so needs an interval scale for all that it is called
  nonparametric (section 2.5 there). The rank sum test is ordinal; that section calls its samples
  paired, and they are independent.
- Tests that no paper places (randomisation, bootstrap) compare means, and need what means need.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.arrays import Floats, Indices, Ints, row_slices
from cranfield.base.errors import PolicyError, indices
from cranfield.base.scale_types import Scale, find_scale
from cranfield.base.spec import Registry
from cranfield.scores import Scores
from cranfield.significance.pairwise.catalogue import TESTS, TestInfo
from cranfield.significance.prepare import as_scores


@dataclass(frozen=True)
class Statistic:
    """A statistic, and the least scale on which statements of it are invariant."""

    name: str
    scale: Scale
    aliases: tuple[str, ...]


STATISTICS: dict[str, Statistic] = {
    name: Statistic(name, scale, aliases)
    for scale, names in {
        # They count equal values.
        Scale.NOMINAL: {"mode": (), "frequency": ("count", "counts")},
        # They compare values, in pairs or by their ranks.
        Scale.ORDINAL: {
            "median": (),
            "percentile": ("percentiles",),
            "quantile": ("quantiles", "quartile", "quartiles"),
            "minimum": ("min",),
            "maximum": ("max",),
            "rank-correlation": (
                "kendall",
                "kendall-tau",
                "tau",
                "spearman",
                "spearman-rho",
                "tau-ap",
            ),
        },
        # They add and subtract values, or are made of means and standard deviations.
        Scale.INTERVAL: {
            "difference": ("differences",),
            "mean": ("average", "arithmetic-mean", "map", "mrr"),
            "standard-deviation": ("sd", "std", "stdev"),
            "variance": ("var",),
            "confidence-interval": ("ci", "confidence-interval-of-the-mean"),
            "effect-size": ("cohen-d", "cohens-d", "hedges-g", "glass-delta"),
            "standardisation": ("standardization", "z-score", "zscore"),
            "pearson": ("pearson-correlation", "product-moment-correlation", "correlation"),
        },
        # They multiply or divide values.
        Scale.RATIO: {
            "geometric-mean": ("gmean", "gmap"),
            "harmonic-mean": ("hmean",),
            "coefficient-of-variation": ("cv",),
            "ratio": ("ratios", "percent-change", "relative-improvement", "relative-difference"),
        },
    }.items()
    for name, aliases in names.items()
}
"""Ferrante, Ferro and Fuhr (2021), section 2.3; Ferro and Maistro (2024), section 7.4. The last
sentence of each says which operations a scale allows; statistics that are not named there
(minimum, effect size, ratio, ...) are placed by it."""


_NEEDING: list[Statistic | TestInfo] = [*STATISTICS.values(), *(one.info for one in TESTS.values())]
NEEDED: Registry[Statistic | TestInfo] = Registry(
    "statistic or test",
    things={one.name: one for one in _NEEDING},
    # Tests are also named with the word: "Wilcoxon test", "sign test".
    aliases={
        f"{alias}{word}": one.name
        for one in _NEEDING
        for word in ("-test", "")
        for alias in (one.name, *one.aliases)
    },
)
"""Statistics and tests by name."""


def find_needed(what: str) -> Statistic | TestInfo:
    """Find a statistic or a significance test by any of its names."""
    return NEEDED.named(str(what).replace("'", ""))


def needed_for(what: str) -> Scale:
    """Return the scale that a statistic or a significance test needs at least.

    Raises
    ------
    PolicyError
        For an unknown name.

    Examples
    --------
    >>> str(needed_for("median")), str(needed_for("t")), str(needed_for("Geometric mean"))
    ('ordinal', 'interval', 'ratio')
    >>> needed_for("medain")
    Traceback (most recent call last):
    cranfield.PolicyError: unknown statistic or test 'medain'; did you mean ...?
    """
    return find_needed(what).scale


def allows(scale: Scale | str, what: str) -> bool:
    """Whether a scale suffices for a statistic or a significance test.

    Raises
    ------
    PolicyError
        For an unknown scale or name.

    Examples
    --------
    >>> allows("ordinal", "mean"), allows("ordinal", "sign test"), allows(Scale.RATIO, "mean")
    (False, True, True)
    """
    return find_scale(scale) >= needed_for(what)


def admitted_statistics(scale: Scale | str) -> list[str]:
    """Name the statistics that a scale allows, those of lower scales first.

    Examples
    --------
    >>> admitted_statistics("nominal")
    ['mode', 'frequency']
    """
    highest = find_scale(scale)
    return [one.name for one in STATISTICS.values() if one.scale <= highest]


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
"""Scores that differ by less than this part of the largest are the same."""

BLOCK = 2**15
"""Numbers of a block of pairs: what is computed with them fits into the processor's cache."""


@dataclass(frozen=True, eq=False)
class Dominance:
    """For each pair of systems: does the order of their means survive every rescaling?

    Attributes
    ----------
    holds
        Whether the system with the higher mean has the higher mean under every increasing
        transformation of the scores.
    reversed
        Where it does not: whether a transformation turns the order over. Both are False for two
        systems whose scores are the same but for their topics.
    threshold
        Where the order can be turned over, a score: more topics of the system with the lower mean
        are above it. NaN elsewhere.
    above_first, above_second
        How many topics of the first and of the second system are above that threshold.
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
        data frame, or an array of shape (topics, systems). NaN is no score; with shards, their
        means are taken.
    first, second
        Indices of the systems of each pair.

    Raises
    ------
    PolicyError
        For what are no scores, and for systems that are no indices or not in pairs.

    Notes
    -----
    The mean of f(A) is at least that of f(B) for every increasing f exactly when A's scores
    dominate B's stochastically (of first order; Lehmann 1955):

    .. math:: \frac{|\{t : a_t > x\}|}{n} \ge \frac{|\{t : b_t > x\}|}{m} \text{ for all } x,

    whatever bar x is set, at least as large a share of A's scores is above it. Otherwise there is
    an x where the opposite holds, and an increasing transformation that tells scores above x from
    scores below it, and nearly nothing else, turns the means over. Nothing in this says which
    system is the better one: of a measure for which low is good it is that with the lower mean.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = cf.Scores(np.array([[.5, .4, .9], [.2, .1, .0]]), ("1", "2"), ("a", "b", "c"))
    >>> found = dominance(scores, np.array([0, 0]), np.array([1, 2]))
    >>> found.holds.tolist(), found.threshold.tolist()
    ([True, False], [nan, 0.0])
    """
    if not isinstance(scores, (Scores, Mapping, np.ndarray)) and not hasattr(
        type(scores), "columns"
    ):
        raise PolicyError(
            "dominance takes Scores, scores by system, a data frame or an array, not"
            f" {type(scores).__name__}"
        )
    given = as_scores(scores)
    size = len(given.systems)
    first, second = indices(first, "first", size), indices(second, "second", size)
    if first.size != second.size:
        raise PolicyError(
            f"a pair has a first and a second system; there are {first.size} and {second.size}"
        )
    columns = np.ascontiguousarray(given.over_shards().values.T)
    gap = float(ROUNDING * np.nanmax(np.abs(columns), initial=0.0))
    levels = _levels(columns, gap)
    if levels.settled or not first.size:
        return _decided(levels, first, second, gap)
    # What counts as equal is not the same for all pairs, so each is looked at by itself.
    parts = [
        _decided(_levels(columns[pair], gap), np.array([0]), np.array([1]), gap)
        for pair in np.column_stack([first, second])
    ]
    names = [one.name for one in fields(Dominance)]
    return Dominance(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True, eq=False)
class _Levels:
    """Scores of each system in rising order, NaN last, with their levels, which equal ones share.

    values, level: shape (systems, topics). Levels are numbers from 0 to below `size`; where there
    is no score stands the highest.
    count, mean: how many scores a system has, and their mean; shape (systems,).
    settled: whether all scores of a level are equal, and not just each and the next one.
    """

    values: Floats
    level: NDArray[np.int32]
    size: int
    count: Ints
    mean: Floats
    settled: bool

    def up_to(self, system: int) -> NDArray[np.int32]:
        """How many scores of a system are of each level or a lower one; shape (size,)."""
        count = int(self.count[system])
        steps = np.diff(self.level[system, :count], prepend=0, append=self.size)
        return np.repeat(np.arange(count + 1, dtype=np.int32), steps)

    def nth(self, system: Any, number: Ints) -> Floats:
        """Return the score of a system, or of each system, with a number from 1; -inf for 0."""
        return np.where(number > 0, self.values[system, np.maximum(number - 1, 0)], -np.inf)


def _levels(columns: Floats, gap: float) -> _Levels:
    """Give scores levels; shape (systems, topics). A score and the next are equal up to `gap`."""
    known = ~np.isnan(columns)
    count = known.sum(axis=1)
    every = columns[known]
    order = np.argsort(every, kind="stable")
    ordered = every[order]
    apart = np.ones(every.size, dtype=bool)
    with np.errstate(invalid="ignore"):
        apart[1:] = ~(np.diff(ordered) <= gap)
        wide = ordered[np.roll(apart, -1)] - ordered[apart] > gap
    size = max(wide.size, 1)
    number = np.empty(every.size, dtype=np.int32)
    number[order] = np.cumsum(apart) - 1
    level = np.full(columns.shape, size - 1, dtype=np.int32)
    level[known] = number
    rising = np.argsort(columns, axis=1, kind="stable")
    return _Levels(
        np.take_along_axis(columns, rising, axis=1),
        np.take_along_axis(level, rising, axis=1),
        size,
        count,
        np.nansum(columns, axis=1) / np.maximum(count, 1),
        bool(np.isfinite(gap) and not wide.any()),
    )


def _decided(levels: _Levels, first: Indices, second: Indices, gap: float) -> Dominance:
    # Each score is worth as much as the other system has scores less: sums are integers.
    n, m = (np.maximum(levels.count[one], 1) for one in (first, second))
    unit = np.gcd(n, m) * np.where(levels.mean[first] >= levels.mean[second], 1, -1)
    worth, worth_other = m // unit, -n // unit
    found = _at_scores(levels, first, second, worth, worth_other)
    again = _at_scores(levels, second, first, worth_other, worth)
    # The lowest sum is at a score of either system; where it is at several, the lowest decides.
    behind = again.least < found.least
    behind |= (again.least == found.least) & (again.level < found.level)
    turned = np.minimum(found.least, again.least) < 0
    ends = (
        np.where(behind, again.last_other, found.last),
        np.where(behind, again.last, found.last_other),
    )
    bar = np.where(ends[1] >= ends[0], ends[1], ends[0])
    over = [np.zeros(first.size, dtype=np.int64) for _ in range(2)]
    for counts, systems in zip(over, (first, second), strict=True):
        for system, pairs in _by_system(systems):
            scores = levels.values[system, : levels.count[system]]
            counts[pairs] = scores.size - np.searchsorted(scores, bar[pairs] + gap, "right")
    return Dominance(
        ~turned & ((found.most > 0) | (again.most > 0)),
        turned,
        np.where(turned, bar, np.nan),
        *(np.where(turned, counts, 0) for counts in over),
    )


@dataclass(frozen=True, eq=False)
class _Sums:
    """What scores above a bar are worth, at all bars that are scores of one system of a pair.

    least, most: the lowest sum and the highest one.
    level: the lowest bar with the lowest sum, as a level.
    last, last_other: the highest score of each system that is not above it; -inf for none.
    """

    least: Ints
    most: Ints
    level: NDArray[np.int32]
    last: Floats
    last_other: Floats


def _at_scores(
    levels: _Levels, one: Indices, other: Indices, worth: Ints, worth_other: Ints
) -> _Sums:
    systems, topics = levels.level.shape
    out = _Sums(
        *(np.zeros(one.size, dtype=kind) for kind in (np.int64, np.int64, np.int32, float, float))
    )
    own = np.stack([levels.up_to(k)[levels.level[k]] for k in range(systems)])
    above_own = levels.count[:, None] - own
    for system, pairs in _by_system(other):
        up_to = levels.up_to(system)
        for part in row_slices(pairs.size, topics, BLOCK):
            at = pairs[part]
            bars = one[at]
            passed = up_to[levels.level[bars]]
            sums = worth[at, None] * above_own[bars]
            sums += worth_other[at, None] * (levels.count[system] - passed)
            place = sums.argmin(axis=1)
            row = np.arange(at.size)
            out.least[at] = sums[row, place]
            out.most[at] = sums.max(axis=1)
            out.level[at] = levels.level[bars, place]
            out.last[at] = levels.nth(bars, own[bars, place])
            out.last_other[at] = levels.nth(system, passed[row, place])
    return out


def _by_system(systems: Indices) -> Iterator[tuple[int, Indices]]:
    """Go through systems, each with the pairs that it is in."""
    order = np.argsort(systems, kind="stable")
    names, counts = np.unique(systems, return_counts=True)
    parts = np.split(order, np.cumsum(counts)[:-1]) if names.size else []
    return zip(names.tolist(), parts, strict=True)
