"""Tests of means: Student's t-test, Welch's test, Fisher's randomisation test."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from scipy.special import gammaln

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import PolicyError
from cranfield.base.text import inflect
from cranfield.significance.differences import (
    BLOCK_VALUES,
    ROUNDING,
    Bounds,
    Level,
    Outcome,
    Pairs,
    make_infinite_bounds,
    make_t_outcome,
    orient,
    select_by_rank,
    standardise_difference,
)
from cranfield.significance.registry import TestInfo, TestOptions, register_test
from cranfield.significance.resampling import (
    as_integers,
    compute_min_flip_pvalue,
    count_extremes,
    draw_signs,
    estimate_pvalues,
    find_bound_ranks,
    replace_constant_results,
)

STUDENTISED_FAMILIES = ("t", "bootstrap", "anova")
"""Families of tests that divide a difference by its estimated standard error."""


def apply_exact_permutations(
    outcome: Outcome, pairs: Pairs, info: TestInfo, options: TestOptions
) -> Outcome:
    """Use exact permutations for differences that do not vary.

    This replaces the results of tests that divide by a standard error of 0, and, in paired tests
    without a common error, the results of two systems with the same score on every topic.
    """
    is_constant = _find_constant_pairs(outcome, pairs, info)
    if info.is_paired and not info.has_model:
        is_constant |= _find_equal_pairs(outcome, pairs)
    if not is_constant.any():
        return outcome
    exact_pvalues = _compute_exact_pvalues(pairs, info.is_paired, options)
    difference = pairs.compute_mean_differences(np.nanmean(pairs.values, axis=0))
    n_constant = int((is_constant & (difference != 0)).sum())
    notes = describe_constants(n_constant, is_paired=info.is_paired)
    pvalue, interval = replace_constant_results(
        outcome.pvalue, outcome.interval, difference, is_constant, exact_pvalues, options
    )
    smallest_pvalues = outcome.smallest_pvalues
    if smallest_pvalues is not None:
        smallest_pvalues = np.where(is_constant, pvalue, smallest_pvalues)
    return replace(
        outcome,
        smallest_pvalues=smallest_pvalues,
        pvalue=pvalue,
        interval=interval,
        notes=(*outcome.notes, *notes),
    )


def describe_constants(n_pairs: int, noun: str = "pair", *, is_paired: bool = True) -> list[str]:
    """Return a note on pairs whose differences do not vary, if there are any."""
    if not n_pairs:
        return []
    return [
        f"{inflect(n_pairs, noun)} whose differences do not vary: the standard error cannot be"
        f" estimated, so p-values are from exact {'sign flips' if is_paired else 'permutations'}"
    ]


def _find_equal_pairs(outcome: Outcome, pairs: Pairs) -> Bools:
    """Return a mask of the pairs with the same score on every topic."""
    is_equal = outcome.n_zeros + np.zeros_like(outcome.n) == pairs.n_topics
    if is_equal.any():
        # The zero differences of some tests include differences up to a threshold.
        first, second = pairs.first[is_equal], pairs.second[is_equal]
        n_zeros = replace(pairs, first=first, second=second).compute_moments()[2]
        is_equal[is_equal] = n_zeros == pairs.n_topics
    return np.asarray(is_equal)


def _find_constant_pairs(outcome: Outcome, pairs: Pairs, info: TestInfo) -> Bools:
    """Return a mask of the pairs without a standard error, of tests that divide by it."""
    if info.family not in STUDENTISED_FAMILIES:
        return np.zeros(len(pairs), dtype=bool)
    if info.has_model:
        # The common error is 0 only if no difference varies; a test without a model has a table.
        has_model, table = outcome.model is not None, outcome.table
        if has_model or table is None:
            return np.full(len(pairs), outcome.required_model.error_variance == 0)
        return np.full(len(pairs), table.ms_error == 0)
    if not info.is_paired:
        ranges = np.nanmax(pairs.values, axis=0) - np.nanmin(pairs.values, axis=0)
        is_varying = ranges > pairs.rounding.max(initial=0.0)
        return np.asarray(~(is_varying[pairs.first] | is_varying[pairs.second]))
    _, deviation, _ = pairs.compute_moments()
    return np.asarray(deviation == 0)


def _compute_exact_pvalues(pairs: Pairs, is_paired: bool, options: TestOptions) -> Floats:
    """Return the p-value of the most extreme permutation, by pair."""
    if is_paired:
        return np.full(len(pairs), compute_min_flip_pvalue(pairs.n_topics, options))
    counts = (~np.isnan(pairs.values)).sum(axis=0)
    n, m = counts[pairs.first], counts[pairs.second]
    n_permutations = np.exp(gammaln(n + m + 1) - gammaln(n + 1) - gammaln(m + 1))
    return np.asarray(np.where(options.is_two_sided & (n == m), 2.0, 1.0) / n_permutations)


@register_test("t", aliases=("paired-t", "t-paired", "student", "t-test", "ttest"), family="t")
def t_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Paired t-test.

    asks: Does the mean of the per-topic differences differ from zero?
    null: The mean difference is zero.
    assumes: Topics are independent and the mean of their differences is nearly normal, which holds
        from a few dozen topics on unless the differences are very skewed.
    when: Two systems on the same topics, for readers who expect a t-test. For more systems use
        two-way ANOVA with Tukey's HSD, which for two systems equals this test.
    formula: t = \frac{\bar{d}}{s_d / \sqrt{n}}, \quad n - 1 \text{ degrees of freedom}
    statistic: t
    effect: Cohen's d of the differences: their mean divided by their standard deviation
    interval: mean difference
    source: Student (1908); Ferro and Maistro (2024), section 4
    convention: If all differences are equal, their variance is 0, and p is from exact sign flips.
    two_systems_note: for two systems the paired t-test equals two-way ANOVA with Tukey's HSD
    """
    mean, deviation, n_zeros = pairs.compute_moments()
    df, standard_error = pairs.n_topics - 1, deviation / np.sqrt(pairs.n_topics)
    results = {
        "n": np.full(len(pairs), pairs.n_topics),
        "n_zeros": n_zeros,
        "details": {"df": float(df)},
    }
    return make_t_outcome(mean, standard_error, df, options.alternative, deviation, **results)


@register_test(
    "t-unpaired", aliases=("student-unpaired", "two-sample-t"), family="t", is_paired=False
)
def unpaired_t_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Two-sample t-test (Student).

    asks: Do the mean scores of two systems differ, whatever their topics?
    null: Both systems have the same mean.
    assumes: All scores are independent, both systems have the same variance, and means are
        nearly normal.
    when: Two systems that were tested on different topics. Prefer Welch's test, which does not
        assume equal variances.
    formula: t = \frac{\bar{x} - \bar{y}}{s \sqrt{1/n + 1/m}}, \quad s^2 = \frac{(n - 1) s_x^2 +
        (m - 1) s_y^2}{n + m - 2}
    statistic: t
    effect: Hedges' g without small-sample correction: mean difference divided by the pooled
        standard deviation
    interval: difference of means
    source: Student (1908)
    convention: If the scores of each system are all equal, their variance is 0, and p is from exact
        permutations.
    """
    return _compare_unpaired(pairs, options, is_pooled=True)


@register_test("welch", aliases=("welch-t",), family="t", is_paired=False)
def welch_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Welch's t-test.

    asks: Do the mean scores of two systems differ, whatever their topics?
    null: Both systems have the same mean.
    assumes: All scores are independent; means are nearly normal.
    when: Two systems that were tested on different topics.
    formula: t = \frac{\bar{x} - \bar{y}}{\sqrt{s_x^2 / n + s_y^2 / m}}
    statistic: t
    effect: mean difference divided by the square root of the mean of both variances
    interval: difference of means
    source: Welch (1947)
    convention: Degrees of freedom by Welch and Satterthwaite. If the scores of each system are all
        equal, their variance is 0, and p is from exact permutations.
    """
    return _compare_unpaired(pairs, options, is_pooled=False)


def _compare_unpaired(pairs: Pairs, options: TestOptions, *, is_pooled: bool) -> Outcome:
    counts = (~np.isnan(pairs.values)).sum(axis=0)
    mean = np.nanmean(pairs.values, axis=0)
    centred_scores = pairs.values - mean
    largest_scores = np.nanmax(np.abs(pairs.values), axis=0)
    is_constant = np.nanmax(np.abs(centred_scores), axis=0) <= ROUNDING * largest_scores
    ss = np.where(is_constant, 0.0, np.nansum(centred_scores**2, axis=0))
    i, j = pairs.first, pairs.second
    n, m = counts[i], counts[j]
    difference = pairs.compute_mean_differences(mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = ss / (counts - 1)
        if is_pooled:
            df = n + m - 2.0
            common_variance = (ss[i] + ss[j]) / df
            error = np.sqrt(common_variance * (1 / n + 1 / m))
        else:
            a, b = variance[i] / n, variance[j] / m
            # In terms of proportions, as squared variances may overflow or underflow.
            proportion = a / (a + b)
            df = np.nan_to_num(
                1 / (proportion**2 / (n - 1) + (1 - proportion) ** 2 / (m - 1)), nan=1.0
            )
            common_variance = (variance[i] + variance[j]) / 2
            error = np.sqrt(a + b)
    results = {"n": n + m, "details": {"df": df}}
    unit = np.sqrt(common_variance)
    return make_t_outcome(difference, error, df, options.alternative, unit, **results)


MAX_HALF_SUMS = 2**22  # largest number of half-sums of all pairs for an exact test by default
MAX_EXACT = 48  # largest number of nonzero differences of an exact test
MAX_SUBSET_TOPICS = 16  # largest number of topics for intervals that use all subsets
MAX_SUBSETS = 2**26  # largest number of subset means of all pairs for such intervals, a few seconds


@register_test(
    "randomisation",
    aliases=("randomization", "permutation", "fisher"),
    family="randomisation",
    symbol="",
    allows_unequal_variances=True,
    is_random=True,
    correction="randomised-tukey",
)
def randomisation_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Randomisation test (Fisher).

    asks: If the labels of the two systems were swapped at random on each topic, how often would the
        means differ at least as much as observed?
    null: The labels of the two systems are exchangeable on each topic.
    assumes: Topics are independent. They need not be a random sample, and no distributional form is
        assumed.
    when: Two systems on the same topics, without the normality that the t-test assumes. For many
        systems, use it with the randomised Tukey HSD only if the differences of all pairs have one
        variance, which is rare for real systems.
    formula: p = \frac{|\{b : |\sum_t s_{bt} d_t| \ge |\sum_t d_t|\}| + 1}{B + 1}, \quad s_{bt}
        = \pm 1
    statistic: mean difference
    effect: Cohen's d of the differences: their mean divided by their standard deviation
    interval: mean difference
    source: Fisher (1935); Smucker, Allan and Carterette (2007)
    convention: Two-sided by the absolute value of the statistic (SciPy doubles the smaller
        tail). All 2^n assignments are enumerated if that is feasible, and p is count / 2^n;
        otherwise B assignments are drawn, the same for all pairs. The interval contains the shifts
        that the test does not reject by the same assignments; its bounds are means of subsets of
        the topics. After an exact test of more than 16 topics, or of many pairs, the interval uses
        B random assignments (interval resamples and interval seed in the details).
    """
    mean, deviation, n_zeros = pairs.compute_moments()
    n = pairs.n_topics
    if is_enumerable(pairs, n_zeros, options):
        pvalue = enumerate_pvalues(pairs, options)
        details: dict[str, object] = {"exact": True, "assignments": "all 2^n"}
        has_all_subsets = n <= MAX_SUBSET_TOPICS and len(pairs) * 2**n <= MAX_SUBSETS
        if not has_all_subsets:
            details |= {"interval resamples": options.resamples, "interval seed": options.seed}
    else:
        has_all_subsets = False
        signs = draw_signs(options.resamples, n, options.seed)
        integers, _ = as_integers(pairs.values, 2 * n)
        # The sum of a pair's signed differences is the difference of the systems' signed sums.
        sums = np.ascontiguousarray((signs.astype(np.float64) @ integers).T)
        observed_sums = pairs.subtract(integers.sum(axis=0))
        # Sums that differ by less than the rounding of their terms are equal.
        n_extreme = count_extremes(
            pairs, observed_sums, lambda block: block.subtract(sums), options, atol=2.0 * n
        )
        pvalue = estimate_pvalues(n_extreme, options.resamples)
        details = {"exact": False, "resamples": options.resamples, "seed": options.seed}
    return Outcome(
        statistic=mean,
        pvalue=pvalue,
        effect=standardise_difference(mean, deviation),
        interval=partial(bound_by_subsets, pairs, options, has_all_subsets),
        n=np.full(len(pairs), n),
        n_zeros=n_zeros,
        details=details,
    )


def is_enumerable(pairs: Pairs, n_zeros: Indices, options: TestOptions) -> bool:
    """Return True if the randomisation test enumerates all assignments."""
    n = int((pairs.n_topics - n_zeros).max(initial=0))
    if options.exact and n > MAX_EXACT:
        raise PolicyError(
            f"the exact randomisation test takes at most {MAX_EXACT} topics with a difference, got"
            f" {n}; use exact=False"
        )
    if options.exact is not None:
        return options.exact
    return n <= MAX_EXACT and len(pairs) * 2 ** ((n + 1) // 2) <= MAX_HALF_SUMS


def enumerate_pvalues(pairs: Pairs, options: TestOptions) -> Floats:
    """Return exact p-values over all 2^n assignments, from the signed sums of both topic halves."""

    def test_block(_: slice, block: Pairs) -> tuple[Floats]:
        differences = block.compute_differences()
        # Zero differences do not count: move them to the end, and skip them.
        order = np.argsort(differences == 0, axis=1, kind="stable")
        n = max(1, int((differences != 0).sum(axis=1).max(initial=0)))
        nonzero_differences = np.take_along_axis(differences, order, axis=1)[:, :n]
        integers = as_integers(nonzero_differences, n)[0]
        halves = integers[:, : n // 2], integers[:, n // 2 :]
        threshold = orient(integers.sum(axis=1), options.alternative) - float(n)
        first_sums, second_sums = (np.sort(_enumerate_signed_sums(half), axis=1) for half in halves)
        n_reaching = _count_reaching_pairs(first_sums, second_sums, threshold)
        if options.is_two_sided:
            # The sums are symmetric around 0; the tails overlap only if they contain all sums.
            n_reaching = np.where(threshold <= 0, 2.0**n, 2 * n_reaching)
        return (np.minimum(1.0, n_reaching / 2.0**n),)

    return pairs.map_blocks(test_block, 4 * 2 ** ((pairs.n_topics + 1) // 2), 4 * BLOCK_VALUES)[0]


def _enumerate_signed_sums(integers: Floats) -> Floats:
    """Return all signed sums of each row, shape (rows, 2^columns)."""
    sums = np.zeros((len(integers), 1))
    for column in integers.T:
        sums = np.hstack([sums - column[:, None], sums + column[:, None]])
    return sums


def _count_reaching_pairs(first: Floats, second: Floats, threshold: Floats) -> Floats:
    """Count, by row, the pairs of a first and a second sum that add up to at least `threshold`."""
    size = first.shape[1]
    # In stable order, a second sum is after the first sums with which it reaches the threshold.
    order = np.argsort(np.hstack([threshold[:, None] - first, second]), axis=1, kind="stable")
    positions = np.where(order < size, np.arange(order.shape[1], dtype=np.float64), 0.0)
    n_too_small = positions.sum(axis=1) - size * (size - 1) / 2
    return np.asarray(float(size) * second.shape[1] - n_too_small)


def bound_by_subsets(
    pairs: Pairs, options: TestOptions, has_all_subsets: bool, level: Level
) -> Bounds:
    """Return the interval of shifts that the randomisation test does not reject.

    If the signs of a subset of the shifted differences are flipped, their sum becomes at least as
    large if and only if the mean of the subset is at most the shift. In a two-sided test, it
    becomes at most minus the observed sum if and only if the mean of the other topics is at most
    the shift. A bound is the mean of a certain rank among all subsets, or among drawn subsets.
    """
    n = pairs.n_topics
    low, high = make_infinite_bounds(len(pairs))
    if has_all_subsets:
        is_flipped = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.float64)
    else:
        is_flipped = (draw_signs(options.resamples, n, options.seed) < 0).astype(np.float64)
    # All subsets include the observed arrangement, random subsets do not.
    n_subsets = len(is_flipped) - has_all_subsets
    size = is_flipped.sum(axis=1)
    rank = find_bound_ranks(pairs, level, options, n_subsets)
    # The empty subset, and in a two-sided test the full one, are extreme for any shift.
    is_proper = (size > 0) & (size < n) if options.is_two_sided else size > 0
    rank = rank - int((~is_proper).sum()) + has_all_subsets
    is_flipped, size = is_flipped[is_proper], size[is_proper]
    if not (rank >= 1).any():
        return low, high
    integers, unit = as_integers(pairs.values, 2 * n)
    sums = np.ascontiguousarray((is_flipped @ integers).T)
    rounding = pairs.rounding
    for rows, block in pairs.iterate_blocks(len(size)):
        subset_sums = sums[block.first] - sums[block.second]
        low_means = high_means = subset_sums / size
        if options.is_two_sided:
            observed_sums = block.subtract(integers.sum(axis=0))[:, None]
            other_means = (observed_sums - subset_sums) / (n - size)
            low_means = np.minimum(low_means, other_means)
            high_means = np.maximum(high_means, other_means)
        low_rank, high_rank = rank[rows] - 1, len(size) - rank[rows]
        for bounds, means, k in ((low, low_means, low_rank), (high, high_means, high_rank)):
            bound = select_by_rank(means.copy(), k[:, None])[:, 0] * unit
            # A bound of 0 does not exclude 0.
            bound[np.abs(bound) <= rounding[rows]] = 0.0
            bounds[rows] = np.where((k >= 0) & (k < len(size)), bound, bounds[rows])
    return low, high
