"""Bootstrap tests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from cranfield.base.arrays import Floats, Indices, slice_rows
from cranfield.base.parallel import map_in_threads
from cranfield.base.streams import make_stream
from cranfield.significance.corrections.resampled import (
    CentredPairs,
    bound_simultaneously,
    compute_max_statistic_pvalues,
    find_largest_difference,
)
from cranfield.significance.differences import (
    ALL_PAIRS,
    MIN_DIFFERENCE,
    ROUNDING,
    Bounds,
    IntervalFunction,
    Level,
    Outcome,
    Pairs,
    SystemModel,
    orient,
    standardise_difference,
)
from cranfield.significance.registry import TestOptions, register_correction, register_test
from cranfield.significance.resampling import (
    DRAWS_PER_BLOCK,
    RELATIVE_TOLERANCE,
    CentredRows,
    as_integers,
    bound_by_bootstrap_t,
    compute_min_flip_pvalue,
    count_extreme_values,
    count_extremes,
    draw_counts,
    draw_topic_counts,
    estimate_pvalues,
    find_bound_ranks,
    studentise,
)


@register_test(
    "bootstrap",
    aliases=("paired-bootstrap", "bootstrap-paired"),
    family="bootstrap",
    is_random=True,
    resamples_topics=True,
    correction="bootstrap-max-t",
    baseline_correction="bootstrap-max-t",
)
def bootstrap_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Studentised bootstrap test.

    asks: If new topics were sampled and the systems did not differ, how often would t be as large
        as observed?
    null: The mean difference is zero.
    assumes: Topics are a random sample; no distributional form is assumed.
    when: Two systems on the same topics, with differences that are far from normal, and a few
        dozen topics at least.
    formula: p = \frac{|\{b : |t(w^{*b})| \ge |t(z)|\}| + 1}{B + 1}, \quad t(z) =
        \frac{\bar{z}}{\bar{\sigma} / \sqrt{n}}, \quad w_i = z_i - \bar{z}
    statistic: t
    effect: Cohen's d of the differences: their mean divided by their standard deviation
    interval: mean difference
    source: Efron and Tibshirani (1993); Sakai (2013), figures 11 and 12
    convention: The paper's p is count / B. The same topics are drawn for all pairs. The
        interval is the bootstrap-t interval by the same resamples: symmetric, from the quantile
        of |t|, so that it excludes 0 if and only if p is at most alpha; for a one-sided test, from
        the quantile of t on its side. A resample without any variation counts as extreme.
    """
    return _bootstrap_pairs(pairs, options, is_studentised=True)


@register_test(
    "bootstrap-shift",
    aliases=("shift-bootstrap",),
    family="bootstrap",
    symbol="",
    is_random=True,
    resamples_topics=True,
    is_studentised=False,
)
def shift_bootstrap_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Paired bootstrap test by shifting.

    asks: If new topics were sampled and the systems did not differ, how often would their means
        differ at least as much as observed?
    null: The mean difference is zero.
    assumes: Topics are a random sample, large enough that the mean varies as in resamples of it.
    when: Only to compare with studies that used this test. With few topics its Type I errors are
        too frequent: resampled means have a smaller variance than the mean, by a factor of 1 - 1/n,
        and thinner tails than t. The test bootstrap, which divides by the error of each resample,
        avoids both problems.
    formula: p = \frac{|\{b : |\bar{w}^{*b}| \ge |\bar{z}|\}| + 1}{B + 1}, \quad w_i = z_i -
        \bar{z}
    statistic: mean difference
    effect: Cohen's d of the differences: their mean divided by their standard deviation
    interval: mean difference
    source: Efron and Tibshirani (1993); Urbano, Lima and Hanjalic (2019b)
    convention: Two-sided by the absolute value of the mean; the paper shifts by the mean of the
        resamples, not by the mean of the topics, and its p is count / B. The same topics are drawn
        for all pairs, and for the test bootstrap. The interval is symmetric, from the quantile of
        the absolute value; for a one-sided test, from the quantile of the mean on its side.
    """
    return _bootstrap_pairs(pairs, options, is_studentised=False)


def _bootstrap_pairs(pairs: Pairs, options: TestOptions, *, is_studentised: bool) -> Outcome:
    mean, deviation, n_zeros = pairs.compute_moments()
    error = deviation / np.sqrt(pairs.n_topics) if is_studentised else np.ones(len(pairs))
    statistic = standardise_difference(mean, error)
    resample = make_resampler(pairs, options, is_studentised)

    def test_block(rows: slice, block: Pairs) -> tuple[Indices, Indices]:
        statistics, alternative = resample(block), options.alternative
        n_infinite = np.isinf(statistics).sum(axis=1)
        n_extreme = count_extreme_values(
            statistics, statistic[rows], alternative, rtol=RELATIVE_TOLERANCE
        )
        return n_extreme, n_infinite

    # Blocks fit into the cache, and are large enough for a matrix product.
    counts = pairs.map_blocks(test_block, options.resamples, 2**19, options.jobs)
    pvalues, smallest_pvalues = (estimate_pvalues(count, options.resamples) for count in counts)
    return Outcome(
        statistic=statistic,
        pvalue=pvalues,
        effect=standardise_difference(mean, deviation),
        interval=partial(bound_by_resamples, pairs, mean, error, options, is_studentised),
        n=np.full(len(pairs), pairs.n_topics),
        n_zeros=n_zeros,
        details={"resamples": options.resamples, "seed": options.seed},
        smallest_pvalues=smallest_pvalues,
    )


def bound_by_resamples(
    pairs: Pairs,
    mean: Floats,
    error: Floats,
    options: TestOptions,
    is_studentised: bool,
    level: Level,
) -> Bounds:
    """Return intervals by the resamples of the test."""
    # Resamples are drawn again, since they need far more memory than scores.
    resample = make_resampler(pairs, options, is_studentised)
    return bound_by_bootstrap_t(pairs, mean, error, resample, options, level)


def make_resampler(
    pairs: Pairs, options: TestOptions, is_studentised: bool
) -> Callable[[Pairs], Floats]:
    """Draw topics; return a function that computes resampled t or means of a block of pairs."""
    counts = draw_topic_counts(options.resamples, pairs.n_topics, options.seed)
    # A resample without variation is not discarded: it counts as extreme.
    extreme_value = -np.inf if options.alternative == "less" else np.inf

    def resample(block: Pairs) -> Floats:
        means, variances = CentredPairs(block).rows.compute_moments(counts)
        if not is_studentised:
            return means
        variances /= pairs.n_topics
        return np.where(variances == 0, extreme_value, studentise(means, variances))

    return resample


@register_test(
    "bootstrap-median",
    family="medians",
    symbol="",
    effect_unit="IQR",
    is_random=True,
    resamples_topics=True,
    is_studentised=False,
    correction="bootstrap-max",
    baseline_correction="bootstrap-max",
)
def bootstrap_median_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Bootstrap test of medians.

    asks: If new topics were sampled and the systems had the same median score, how often would
        their medians differ at least as much as observed?
    null: The median scores of the two systems are the same.
    assumes: Topics are a random sample, large enough that medians vary as in resamples of it.
    when: The median is the statistic of interest, for example because a few topics have extreme
        scores. It tests the difference of medians; the sign test tests the median difference. Its
        error rates on real scores have not been measured.
    formula: p = \frac{|\{b : |(\tilde{x}^{*b} - \tilde{x}) - (\tilde{y}^{*b} - \tilde{y})| \ge
        |\tilde{x} - \tilde{y}|\}| + 1}{B + 1}
    statistic: difference of medians
    effect: difference of medians divided by the mean interquartile range of the systems
    interval: difference of medians
    source: Efron and Tibshirani (1993); for statistics other than the mean Sakai (2013)
    convention: Not studentised, as the standard error of a median has no simple estimate. The
        same topics are drawn for all systems. Several pairs are compared with the largest centred
        difference of each resample (correction bootstrap-max). Medians of few topics hardly vary
        in resamples; p is never below the smallest p-value of exact sign flips, 2^(1 - n), or 2^-n
        in a one-sided test.
    """
    errors = resample_medians(pairs, options)
    medians = np.median(pairs.values, axis=0)
    model = SystemModel(
        medians, np.nan, np.full(pairs.n_systems, float(pairs.n_topics)), np.inf, "median"
    )
    difference = model.subtract(pairs)
    first_quartile, third_quartile = np.quantile(pairs.values, [0.25, 0.75], axis=0)
    n_extreme = count_extremes(
        pairs, difference, lambda block: block.subtract(errors), options, rtol=RELATIVE_TOLERANCE
    )
    _, _, n_zeros = pairs.compute_moments()
    min_pvalue = compute_min_flip_pvalue(pairs.n_topics, options)
    return Outcome(
        statistic=difference,
        pvalue=np.maximum(estimate_pvalues(n_extreme, options.resamples), min_pvalue),
        effect=standardise_difference(difference, (third_quartile - first_quartile).mean()),
        interval=partial(
            bound_by_sign_flips,
            partial(bound_median, pairs, difference, errors, options),
            min_pvalue,
            options,
        ),
        n=np.full(len(pairs), pairs.n_topics),
        n_zeros=n_zeros,
        details={"resamples": options.resamples, "seed": options.seed},
        model=model,
        smallest_pvalues=np.full(len(pairs), min_pvalue),
    )


def resample_medians(pairs: Pairs, options: TestOptions) -> Floats:
    """Return resampled medians minus the medians of the sample, shape (systems, resamples)."""
    counts = draw_topic_counts(options.resamples, pairs.n_topics, options.seed)
    middle_ranks = (pairs.n_topics + 1) // 2, pairs.n_topics // 2 + 1

    def resample(scores: Floats) -> Floats:
        order = np.argsort(scores, kind="stable")
        totals = np.cumsum(counts[:, order], axis=1)
        ascending_scores = scores[order]
        lower, upper = (ascending_scores[(totals >= k).argmax(axis=1)] for k in middle_ranks)
        return np.asarray((lower + upper) / 2 - np.median(scores))

    columns = list(np.ascontiguousarray(pairs.values.T))
    return np.array(map_in_threads(resample, columns, options.jobs))


def bound_median(
    pairs: Pairs, difference: Floats, errors: Floats, options: TestOptions, level: Level
) -> Bounds:
    """Return the unadjusted interval of each pair, by the quantile of its resampled differences."""
    rank = find_bound_ranks(pairs, level, options)
    half_width = np.full(len(pairs), np.inf)
    for rows, block in pairs.iterate_blocks(options.resamples):
        draws = np.sort(orient(block.subtract(errors), options.alternative))
        positions = options.resamples - np.maximum(rank[rows], 1)
        quantile = np.take_along_axis(draws, positions[:, None], axis=1)[:, 0]
        half_width[rows] = np.where(rank[rows] >= 1, quantile / (1 - RELATIVE_TOLERANCE), np.inf)
    return difference - half_width, difference + half_width


def bound_by_sign_flips(
    interval: IntervalFunction, min_pvalue: float, options: TestOptions, level: Level
) -> Bounds:
    """Return unbounded intervals where the smallest p-value of sign flips is not significant."""
    low, high = interval(level)
    tail = (1 - np.asarray(level)) / (1 if options.is_two_sided else 2)
    is_possible = min_pvalue <= tail * (1 + 1e-9)
    return np.where(is_possible, low, -np.inf), np.where(is_possible, high, np.inf)


@register_correction("bootstrap-max", families=("medians",), resamples_topics=True, is_random=True)
def bootstrap_max(outcome: Outcome, pairs: Pairs, options: TestOptions) -> Outcome:
    r"""bootstrap distribution of the largest difference.

    does: topics are drawn with replacement from centred scores; each difference is compared, in a
        single step, with the largest difference of all pairs, not divided by an error
    assumes: topics are a random sample of at least a dozen
    source: Westfall and Young (1993)
    """
    errors = resample_medians(pairs, options)
    maxima = np.sort(find_largest_difference(pairs, errors, options.alternative))
    difference, min_pvalue = outcome.statistic, compute_min_flip_pvalue(pairs.n_topics, options)
    pvalue = compute_max_statistic_pvalues(orient(difference, options.alternative), maxima)
    interval = partial(bound_simultaneously, difference, 1.0, maxima, options)
    return replace(
        outcome,
        pvalue=np.maximum(pvalue, min_pvalue),
        interval=partial(bound_by_sign_flips, interval, min_pvalue, options),
        interval_kind=ALL_PAIRS,
    )


# Random streams of intervals have this key and the index of a system; those of tests have one key.
INTERVAL_KEY = 0


@register_test(
    "bootstrap-unpaired",
    aliases=("unpaired-bootstrap",),
    family="bootstrap",
    symbol="",
    is_paired=False,
    is_random=True,
)
def unpaired_bootstrap_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Unpaired bootstrap test.

    asks: If the scores of the two systems were drawn from their pooled scores, how often would
        their means differ at least as much as observed?
    null: The scores of both systems come from one distribution.
    assumes: All scores are a random sample, independent of each other.
    when: Two systems that were tested on different topics.
    formula: p = \frac{|\{b : |\bar{x}^{*b} - \bar{y}^{*b}| \ge |\bar{x} - \bar{y}|\}| + 1}{B +
        1}
    statistic: difference of means
    effect: Hedges' g without small-sample correction: mean difference divided by the pooled
        standard deviation
    interval: difference of means
    source: Efron and Tibshirani (1993); Sakai (2013), figures 13 and 14
    convention: The paper's p is count / B. The interval is the bootstrap-t interval with
        Welch's standard error, for which each system is resampled from its own scores: symmetric,
        from the quantile of |t|; for a one-sided test, from the quantile of t on its side. Unlike
        the p-value, it does not assume that both distributions are the same, so that the two may
        disagree if a difference is barely significant.
    """
    values, counts = sort_missing_last(pairs.values)
    integers, _ = as_integers(values, 4 * values.shape[0] ** 2)
    integers = np.nan_to_num(integers)
    totals = integers.sum(axis=0)
    n_extreme = np.zeros(len(pairs), dtype=np.intp)
    # Pairs with the same numbers of scores draw the same samples.
    sizes = np.stack([counts[pairs.first], counts[pairs.second]], axis=1)
    for k, (n_x, n_y) in enumerate(np.unique(sizes, axis=0)):
        indices = np.flatnonzero((sizes == (n_x, n_y)).all(axis=1))
        subset = Pairs(pairs.values, pairs.first[indices], pairs.second[indices])
        sums = totals[subset.first] * n_y - totals[subset.second] * n_x
        resample = make_pooled_resampler(integers, int(n_x), int(n_y), options, k)
        n_extreme[indices] = count_extremes(subset, sums, resample, options, atol=2.0 * n_x * n_y)
    mean = np.nanmean(pairs.values, axis=0)
    ss = np.nansum((pairs.values - mean) ** 2, axis=0)
    n, m = counts[pairs.first], counts[pairs.second]
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.sqrt((ss[pairs.first] + ss[pairs.second]) / (n + m - 2))
    difference = pairs.compute_mean_differences(mean)
    return Outcome(
        statistic=difference,
        pvalue=estimate_pvalues(n_extreme, options.resamples),
        effect=standardise_difference(difference, deviation),
        interval=partial(bound_by_welch, pairs, options),
        n=n + m,
        details={"resamples": options.resamples, "seed": options.seed},
    )


def sort_missing_last(values: Floats) -> tuple[Floats, Indices]:
    """Move missing scores of each system to the end; also return the number of scores by system."""
    is_missing = np.isnan(values)
    order = np.argsort(is_missing, axis=0, kind="stable")
    return np.take_along_axis(values, order, axis=0), (~is_missing).sum(axis=0)


def make_pooled_resampler(
    integers: Floats, n: int, m: int, options: TestOptions, stream_key: int
) -> Callable[[Pairs], Floats]:
    """Draw n and m scores from the pooled scores of two systems, x* and y*.

    Returns a function that computes n m (mean of x* - mean of y*) of a block of pairs. The columns
    of `integers` are the scores of systems, followed by zeros for missing scores.
    """
    rng = make_stream(options.seed, stream_key)
    n_scores = n + m
    # Contributions of each system, as the first and as the second of a pair.
    first_sums, second_sums = np.empty((2, integers.shape[1], options.resamples))
    for rows in slice_rows(options.resamples, n_scores, DRAWS_PER_BLOCK):
        draws = rng.integers(0, n_scores, size=(rows.stop - rows.start, n_scores))
        draws += n_scores * np.arange(len(draws))[:, None]
        counts_of_x, counts_of_y = (
            np.bincount(indices.ravel(), minlength=draws.size).reshape(draws.shape)
            for indices in (draws[:, :n], draws[:, n:])
        )
        # Sums of integers do not depend on the number of resamples drawn at a time.
        weights = (counts_of_x * m - counts_of_y * n).astype(np.float64)
        first_sums[:, rows] = (weights[:, :n] @ integers[:n]).T
        second_sums[:, rows] = (weights[:, n:] @ integers[:m]).T
    return lambda block: first_sums[block.first] + second_sums[block.second]


def bound_by_welch(pairs: Pairs, options: TestOptions, level: Level) -> Bounds:
    """Return bootstrap-t intervals of differences of means, with Welch's standard error."""
    values, sizes = sort_missing_last(pairs.values)
    n_systems, resamples = values.shape[1], options.resamples
    means, squared_errors = np.empty((2, n_systems, resamples))
    observed_squared_errors = np.empty(n_systems)

    def resample_system(system: int) -> None:
        n = int(sizes[system])
        scores = values[:n, system]
        noise = np.maximum(ROUNDING * np.abs(scores).max(keepdims=True), MIN_DIFFERENCE)
        centred_scores = scores - scores.mean()
        if np.abs(centred_scores).max() <= noise:
            centred_scores = np.zeros(n)
        observed_squared_errors[system] = centred_scores @ centred_scores / (n - 1) / n
        # One random stream for each system, so that results do not depend on threads.
        rng = make_stream(options.seed, INTERVAL_KEY, system)
        for columns, counts in draw_counts(rng, resamples, n):
            mean, variance = CentredRows(centred_scores[None], noise).compute_moments(counts)
            means[system, columns], squared_errors[system, columns] = mean[0], variance[0] / n

    map_in_threads(resample_system, list(range(n_systems)), options.jobs)

    def resample(block: Pairs) -> Floats:
        squared_error = squared_errors[block.first] + squared_errors[block.second]
        return studentise(block.subtract(means), squared_error)

    error = np.sqrt(observed_squared_errors[pairs.first] + observed_squared_errors[pairs.second])
    difference = pairs.compute_mean_differences(np.nanmean(pairs.values, axis=0))
    return bound_by_bootstrap_t(pairs, difference, error, resample, options, level)
