"""Fisher's randomisation test for paired scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError
from cranfield.base.threads import in_threads
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome
from cranfield.significance.pairs import BLOCK, Pairs
from cranfield.significance.registry import PLAIN, TestInfo, declared
from cranfield.significance.resampling import (
    as_integers,
    count_reaching,
    monte_carlo,
    random_signs,
)
from cranfield.significance.tests.student_t import ratio, spread
from cranfield.significance.tests.subset_means import SubsetInterval, exact_limits

EXACT_WORK = 2**22
"""Half-sums over all pairs, up to which all assignments are enumerated."""

MOST_EXACT = 48
"""Differences above which the enumeration is refused."""


@declared(
    TestInfo(
        name="randomisation",
        aliases=("randomization", "permutation", "fisher"),
        title="Randomisation test (Fisher)",
        asks="If the two systems' labels were swapped at random, topic by topic, how often would "
        "their means differ as much as they do?",
        null="The two systems are the same: it makes no difference which is called which.",
        assumes="Topics are independent. Nothing on distributions, nor that topics are a sample.",
        when="Two systems on the same topics, without the t-test's assumption. For many systems, "
        "with the randomised Tukey HSD.",
        formula=r"p = \frac{|\{b : |\sum_t s_{bt} d_t| \ge |\sum_t d_t|\}| + 1}{B + 1}, "
        r"\quad s_{bt} = \pm 1",
        statistic="mean difference",
        effect="Cohen's d of the differences: their mean by their standard deviation",
        source="Fisher (1935); Smucker, Allan and Carterette (2007)",
        convention="Two-sided by the absolute value of the statistic (SciPy doubles the smaller "
        "tail). All 2^n assignments are counted, exactly, where that is feasible; there p is "
        "count / 2^n. Else B of them are drawn, the same for all pairs. The interval holds the "
        "shifts that the test does not reject, by the same assignments: it is between two means "
        "of subsets of the topics. After an exact test of more than 16 topics, or of many pairs, "
        "it is of B random ones (interval resamples and interval seed in the details).",
        random=True,
        corrections=("randomised-tukey", "max-t", *PLAIN),
    )
)
def randomisation_test(pairs: Pairs, options: Options) -> Outcome:
    """Do the randomisation test on each pair."""
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
        all_subsets = exact_limits(pairs)
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
        interval=SubsetInterval(pairs, options, all_subsets),
        interval_of="mean difference",
        n=np.full(len(pairs), pairs.topics),
        zeros=none,
        ties=np.zeros_like(none),
        details=details,
    )


def exact_wanted(pairs: Pairs, zeros: NDArray[np.intp], options: Options) -> bool:
    """Decide whether all assignments are enumerated."""
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


def count_extreme(pairs: Pairs, signs: NDArray[np.int8], options: Options) -> NDArray[np.intp]:
    """Count the assignments with a difference at least as extreme as the observed one, by pair."""
    integers, _ = as_integers(pairs.values, 2 * pairs.topics)
    # The sum of a pair's signed differences is the difference of two systems' signed sums.
    sums = np.ascontiguousarray((signs.astype(np.float64) @ integers).T)
    observed = integers.sum(axis=0)
    # Equal in truth, but not as floats, are sums that differ by less than the rounding of terms.
    slack = 2.0 * pairs.topics

    def count(block: Pairs) -> NDArray[np.intp]:
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
