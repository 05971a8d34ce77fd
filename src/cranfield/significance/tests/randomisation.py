"""Fisher's randomisation test for paired scores."""

from __future__ import annotations

from functools import partial

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import PolicyError
from cranfield.base.threads import in_threads
from cranfield.significance.difference_by_error import ratio, spread
from cranfield.significance.options import Options
from cranfield.significance.outcome import Level, Limits, Outcome, nothing_known
from cranfield.significance.pairs import BLOCK, Pairs
from cranfield.significance.ranks import order_statistics
from cranfield.significance.resampling import (
    as_integers,
    count_reaching,
    monte_carlo,
    random_signs,
    rank_of,
)

EXACT_WORK = 2**22
"""Half-sums over all pairs, up to which all assignments are enumerated."""

MOST_EXACT = 48
"""Differences above which the enumeration is refused."""

MOST_SUBSET_TOPICS = 16
"""Topics of which all subsets are taken for the interval, at most."""

SUBSETS = 2**26
"""Means of subsets over all pairs, up to which all are taken: a few seconds."""


def randomisation_test(pairs: Pairs, options: Options) -> Outcome:
    means, deviations, zeros = [], [], []
    for block in pairs.blocks():
        differences = block.differences()
        means.append(differences.mean(axis=1))
        deviations.append(spread(differences, means[-1], block.rounding))
        zeros.append((differences == 0).sum(axis=1))
    mean, none = np.concatenate(means), np.concatenate(zeros)
    exact = exact_wanted(pairs, none, options)
    if exact:
        pvalue = enumerated(pairs, options)
        details: dict[str, object] = {"exact": True, "assignments": "all 2^n"}
        n = pairs.topics
        all_subsets = n <= MOST_SUBSET_TOPICS and len(pairs) * 2**n <= SUBSETS
        if not all_subsets:
            details |= {"interval resamples": options.resamples, "interval seed": options.seed}
    else:
        all_subsets = False
        signs = random_signs(options.resamples, pairs.topics, options.seed)
        pvalue = monte_carlo(count_extreme(pairs, signs, options), options.resamples)
        details = {"exact": False, "resamples": options.resamples, "seed": options.seed}
    return Outcome(
        statistic=mean,
        pvalue=pvalue,
        effect=ratio(mean, np.concatenate(deviations)),
        interval=partial(subset_limits, pairs, options, all_subsets),
        n=np.full(len(pairs), pairs.topics),
        zeros=none,
        ties=np.zeros_like(none),
        details=details,
    )


def exact_wanted(pairs: Pairs, zeros: Indices, options: Options) -> bool:
    most = int((pairs.topics - zeros).max(initial=0))
    if options.exact:
        if most > MOST_EXACT:
            raise PolicyError(
                f"{most} topics are too many for the exact randomisation test, which takes up to"
                f" {MOST_EXACT}; give a number of resamples instead"
            )
        return True
    feasible = most <= MOST_EXACT and len(pairs) * 2 ** ((most + 1) // 2) <= EXACT_WORK
    return options.exact is None and feasible


def count_extreme(pairs: Pairs, signs: NDArray[np.int8], options: Options) -> Indices:
    """Count the assignments with a difference at least as extreme as the observed one, by pair."""
    integers, _ = as_integers(pairs.values, 2 * pairs.topics)
    # The sum of a pair's signed differences is the difference of two systems' signed sums.
    sums = np.ascontiguousarray((signs.astype(np.float64) @ integers).T)
    observed = integers.sum(axis=0)
    # Equal in truth, but not as floats, are sums that differ by less than the rounding of terms.
    slack = 2.0 * pairs.topics

    def count(block: Pairs) -> Indices:
        found = sums[block.first]
        found -= sums[block.second]
        return count_reaching(found, block.of_systems(observed), options.alternative, slack=slack)

    return np.concatenate(in_threads(count, list(pairs.blocks(len(signs), 2**17)), options.jobs))


def enumerated(pairs: Pairs, options: Options) -> Floats:
    """Return exact p-values over all assignments, by meeting in the middle.

    The signed sums of each half of the topics are enumerated; sorted, they tell how many pairs of
    half-sums reach the observed sum.
    """
    out = []
    half = (pairs.topics + 1) // 2
    for block in pairs.blocks(4 * 2**half, 4 * BLOCK):
        differences = block.differences()
        # Topics without difference take no part: move them to the end, and leave them out.
        order = np.argsort(differences == 0, axis=1, kind="stable")
        most = int((differences != 0).sum(axis=1).max(initial=0))
        packed = np.take_along_axis(differences, order, axis=1)[:, : max(1, most)]
        integers, _ = as_integers(packed, packed.shape[1])
        out.append(_two_halves(integers, options.alternative))
    return np.concatenate(out)


def _two_halves(integers: Floats, alternative: str) -> Floats:
    n = integers.shape[1]
    left, right = (_signed_sums(part) for part in (integers[:, : n // 2], integers[:, n // 2 :]))
    left.sort(axis=1)
    right.sort(axis=1)
    total = integers.sum(axis=1)
    slack = float(n)
    if alternative == "less":
        total = -total
    least = np.abs(total) if alternative == "two-sided" else total
    at_least = _pairs_reaching(left, right, least - slack)
    assignments = float(left.shape[1]) * right.shape[1]
    if alternative == "two-sided":
        # The sums are symmetric around zero; both tails overlap only where all counts.
        reached = np.where(least - slack <= 0, assignments, 2 * at_least)
        return np.asarray(np.minimum(1.0, reached / assignments))
    return np.asarray(at_least / assignments)


def _signed_sums(integers: Floats) -> Floats:
    """Return all signed sums of each row, shape (rows, 2^columns)."""
    sums = np.zeros((len(integers), 1))
    for column in integers.T:
        sums = np.hstack([sums - column[:, None], sums + column[:, None]])
    return sums


def _pairs_reaching(left: Floats, right: Floats, least: Floats) -> Floats:
    """Count, by row, pairs of a left and a right number with a sum of at least `least`."""
    size = left.shape[1]
    # In one stable order of both, a number on the right stands behind those that it suffices for.
    order = np.argsort(np.hstack([least[:, None] - left, right]), axis=1, kind="stable")
    position = np.where(order < size, np.arange(order.shape[1], dtype=np.float64), 0.0)
    too_small = position.sum(axis=1) - size * (size - 1) / 2
    return np.asarray(float(size) * right.shape[1] - too_small)


def subset_limits(pairs: Pairs, options: Options, everything: bool, level: Level) -> Limits:
    """Return limits of the shift that the test does not reject.

    Turning the signs of a subset of topics makes the sum of shifted differences at least as large
    exactly when the mean of the subset is at most the shift. So the lower limit of a one-sided test
    is the mean of a certain rank. In a two-sided test the sum may become as large below zero, which
    it does when the mean of the other topics is at most the shift; so the lower of both means
    counts for the lower limit, and the higher one for the upper limit. Either `everything`, all
    subsets, is taken, or those that the test drew.
    """
    n = pairs.topics
    low, high = nothing_known(len(pairs))
    turned = _all_subsets(n) if everything else _drawn_subsets(n, options)
    # Of all subsets one is the observed arrangement, which is none of those drawn.
    number = len(turned) - everything
    size = turned.sum(axis=1)
    rank = rank_of((1 - level) / (1 if options.two_sided else 2), number)
    rank = np.broadcast_to(rank, (len(pairs),))
    # No topic turned, or in a two-sided test all: as extreme as can be, whatever the shift.
    proper = (size > 0) & (size < n) if options.two_sided else size > 0
    rank = rank - int((~proper).sum()) + everything
    turned, size = turned[proper], size[proper]
    if not (rank >= 1).any():
        return low, high
    integers, unit = as_integers(pairs.values, 2 * n)
    sums = np.ascontiguousarray((turned @ integers).T)
    rounding = pairs.rounding
    for part, block in pairs.slices(len(size)):
        inside = sums[block.first] - sums[block.second]
        below = above = inside / size
        if options.two_sided:
            whole = block.of_systems(integers.sum(axis=0))[:, None]
            outside = (whole - inside) / (n - size)
            below, above = np.minimum(below, outside), np.maximum(above, outside)
        ends = rank[part] - 1, len(size) - rank[part]
        for limits, means, end in zip((low, high), (below, above), ends, strict=True):
            limit = order_statistics(means.copy(), end[:, None])[:, 0] * unit
            # A limit that is 0 in truth does not leave 0 out.
            limit[np.abs(limit) <= rounding[part]] = 0.0
            limits[part] = np.where(end == np.clip(end, 0, len(size) - 1), limit, limits[part])
    return low, high


def _all_subsets(n: int) -> Floats:
    number = np.arange(2**n, dtype=np.int64)[:, None]
    return ((number >> np.arange(n)) & 1).astype(np.float64)


def _drawn_subsets(n: int, options: Options) -> Floats:
    return (random_signs(options.resamples, n, options.seed) < 0).astype(np.float64)
