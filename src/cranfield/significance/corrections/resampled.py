"""Corrections by resampling: bootstrap over topics, random signs, random permutations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import comb

import numpy as np

from cranfield.base.arrays import Floats, Indices, slice_rows
from cranfield.base.parallel import map_in_threads
from cranfield.base.streams import make_stream
from cranfield.significance.corrections.pvalue_corrections import bonferroni
from cranfield.significance.differences import (
    ALL_PAIRS,
    BLOCK_VALUES,
    Bounds,
    IntervalFunction,
    Level,
    Outcome,
    Pairs,
    compute_deviations,
    orient,
    standardise_difference,
)
from cranfield.significance.registry import TestOptions, register_correction
from cranfield.significance.resampling import (
    RELATIVE_TOLERANCE,
    CentredRows,
    DrawCounts,
    as_integers,
    compute_min_flip_pvalue,
    count_in_tail,
    draw_signs,
    draw_topic_counts,
    estimate_pvalues,
    orient_inplace,
    replace_constant_results,
    studentise,
)

BLOCK_MEANS = 2**18  # resampled means (systems by resamples) in a block, which fit in the cache


class PooledErrors:
    r"""Mean differences of pairs, and the standard error that they have in common.

    The common variance is the mean of the variances v of the differences of all pairs,

    .. math:: c = \frac{2}{m (m - 1)} \sum_{i < j} v_{ij} = 2\,\mathit{MS}_{Error}

    for m systems, with the mean square of the error of two-way ANOVA (topic + system).
    """

    def __init__(self, pairs: Pairs) -> None:
        self.pairs = pairs  # the compared pairs; c is over all pairs of their systems
        self.difference = pairs.compute_mean_differences(pairs.values.mean(axis=0))
        # Scores minus the means of their system and topic, shape (systems, topics).
        residuals = pairs.values - pairs.values.mean(axis=0)
        residuals -= residuals.mean(axis=1, keepdims=True)
        residuals[np.abs(residuals) <= pairs.rounding.max(initial=0.0)] = 0.0
        self.residuals = CentredRows(np.ascontiguousarray(residuals.T), np.zeros(pairs.n_systems))
        # Of each difference: sqrt(c / n).
        self.standard_error = float(self.resample(np.ones((1, pairs.n_topics)))[1][0])

    @property
    def t(self) -> Floats:
        """Differences divided by their error, by pair; 0 / 0 is 0, and x / 0 is infinite."""
        errors = np.full(len(self.pairs), self.standard_error)
        return standardise_difference(self.difference, errors)

    def resample(self, counts: Floats | DrawCounts) -> tuple[Floats, Floats]:
        """Return centred means, shape (systems, samples), and standard errors of differences."""
        means, variances = self.residuals.compute_moments(counts)
        # For scores centred by topic, the variances of systems determine those of differences.
        common_variance = 2 * np.maximum(variances, 0.0).sum(axis=0) / (self.pairs.n_systems - 1)
        return means, np.sqrt(common_variance / self.pairs.n_topics)


def find_largest_difference(pairs: Pairs, means: Floats, alternative: str) -> Floats:
    """Return the largest difference in each resample; `means` are (systems, resamples)."""
    n_pairs = pairs.n_systems * (pairs.n_systems - 1) // 2
    if alternative == "two-sided" and len(pairs) == n_pairs:
        return np.asarray(np.ptp(means, axis=0))
    out = np.full(means.shape[1], -np.inf)
    for baseline in np.unique(pairs.second):
        compared_means = means[pairs.first[pairs.second == baseline]]
        if alternative != "less":
            np.maximum(out, compared_means.max(axis=0) - means[baseline], out=out)
        if alternative != "greater":
            np.maximum(out, means[baseline] - compared_means.min(axis=0), out=out)
    return out


def resample_maxima(families: Sequence[PooledErrors], options: TestOptions) -> Floats:
    """Return the largest statistic of all families in each resample of topics, sorted."""
    # Families, such as the pairs by several measures, are ignored if no difference varies.
    families = [family for family in families if family.standard_error] or families
    n_topics = families[0].pairs.n_topics
    counts = draw_topic_counts(options.resamples, n_topics, options.seed)

    def find_maxima(rows: slice) -> Floats:
        maxima = np.full(rows.stop - rows.start, -np.inf)
        for family in families:
            means, errors = family.resample(counts[rows])
            largest_differences = find_largest_difference(family.pairs, means, options.alternative)
            np.maximum(maxima, divide_by_errors(largest_differences, errors), out=maxima)
        return maxima

    n_systems = sum(family.pairs.n_systems for family in families)
    slices = list(slice_rows(options.resamples, n_systems, BLOCK_MEANS))
    return np.sort(np.concatenate(map_in_threads(find_maxima, slices, options.jobs)))


def divide_by_errors(differences: Floats, errors: Floats) -> Floats:
    """Divide by the standard errors of resamples; an error of 0 makes the statistic infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(errors == 0, np.inf, differences / errors))


def compute_max_statistic_pvalues(statistic: Floats, maxima: Floats) -> Floats:
    """Return (count + 1) / (B + 1), counting the sorted maxima that reach each statistic."""
    threshold = statistic * (1 - RELATIVE_TOLERANCE * np.sign(statistic))
    return estimate_pvalues(maxima.size - np.searchsorted(maxima, threshold), maxima.size)


def compute_smallest_pvalue(maxima: Floats) -> Floats:
    """Return the smallest possible p-value, that of an arbitrarily large statistic; shape (1,)."""
    return compute_max_statistic_pvalues(np.array([np.finfo(float).max]), maxima)


@register_correction(
    "bootstrap-tukey",
    aliases=("bootstrapped-tukey", "tukey-bootstrap"),
    families=("anova",),
    resamples_topics=True,
    pools_errors=True,
    is_random=True,
    symbol="t",
    heading="Tukey's HSD on the {error}, bootstrapped over topics",
    baseline_heading="Dunnett's test on the {error}, bootstrapped over topics",
    baseline_title="Dunnett's test bootstrapped over topics",
)
def bootstrap_tukey(outcome: Outcome, pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Tukey's HSD bootstrapped over topics.

    does: Tukey's HSD on the error of two-way ANOVA, or with a baseline the counterpart of
        Dunnett's test; the distribution of the largest difference is estimated by drawing
        topics with replacement from centred scores, in a single step. Scores need not be
        normal; systems may be dependent and differ in variance
    assumes: topics are a random sample of at least a dozen
    source: Tukey (1949a); Westfall and Young (1993); Romano and Wolf (2005)
    baseline_source: Dunnett (1955); Westfall and Young (1993); Romano and Wolf (2005)

    With mean differences d, and one variance c for all pairs, the statistic of a pair is

    .. math:: T_{ij} = \frac{|d_{ij}|}{\sqrt{c / n}}

    which is Tukey's q divided by sqrt(2); a one-sided test uses d without the absolute value.
    Topics are drawn with replacement, each with its differences minus d. The adjusted p-value is
    (1 + number of resamples whose largest T of the family is at least as large) / (B + 1), in a
    single step, so that intervals and p-values agree.
    """
    family = PooledErrors(pairs)
    maxima = resample_maxima([family], options)
    interval = partial(
        bound_simultaneously, family.difference, family.standard_error, maxima, options
    )
    half_widths = None
    if options.is_two_sided and len(pairs) == comb(pairs.n_systems, 2):
        low, high = interval(1 - options.alpha)
        half_widths = np.full(pairs.n_systems, (high - low)[0] / 4)
    return replace(
        outcome,
        pvalue=compute_max_statistic_pvalues(orient(family.t, options.alternative), maxima),
        statistic=family.t,
        interval=interval,
        interval_kind=ALL_PAIRS,
        half_widths=half_widths,
        smallest_pvalues=compute_smallest_pvalue(maxima),
    )


def bound_simultaneously(
    difference: Floats,
    standard_error: Floats | float,
    maxima: Floats,
    options: TestOptions,
    level: Level,
) -> Bounds:
    """Return simultaneous intervals; they exclude 0 if and only if single-step p-values reject."""
    tail = (1 - level) / (1 if options.is_two_sided else 2)
    # The k-th largest of B maxima, k = floor(tail (B + 1)); infinite for k = 0.
    rank = count_in_tail(tail, maxima.size)
    quantile = np.append(maxima, np.inf)[maxima.size - np.maximum(rank, 0)]
    with np.errstate(invalid="ignore"):
        # Wider by the tolerance of ties.
        half_width = quantile / (1 - RELATIVE_TOLERANCE * np.sign(quantile)) * standard_error
    half_width = np.where(np.isinf(quantile) | np.isinf(standard_error), np.inf, half_width)
    return difference - half_width, difference + half_width


class CentredPairs:
    """Mean differences by pair, and their standard errors: 0 for differences that do not vary."""

    def __init__(self, pairs: Pairs) -> None:
        differences = pairs.compute_differences()
        self.difference = differences.mean(axis=1)
        deviation = compute_deviations(differences, self.difference, pairs.rounding)
        self.standard_error = deviation / np.sqrt(pairs.n_topics)
        differences -= self.difference[:, None]
        differences[deviation == 0] = 0.0
        self.rows = CentredRows(differences, pairs.rounding)

    @property
    def t(self) -> Floats:
        """Student's t by pair; 0 for constant differences, which resamples cannot test."""
        t = standardise_difference(self.difference, self.standard_error)
        return np.where(self.standard_error == 0, 0.0, t)

    def resample(self, counts: Floats | DrawCounts) -> Floats:
        """Return t in samples of topics, shape (pairs, samples); `counts` is (samples, topics)."""
        mean, variance = self.rows.compute_moments(counts)
        variance /= counts.shape[1]
        return studentise(mean, variance)


@register_correction(
    "bootstrap-max-t",
    aliases=("romano-wolf",),
    families=("t", "bootstrap"),
    resamples_topics=True,
    is_random=True,
)
def bootstrap_max_t(outcome: Outcome, pairs: Pairs, options: TestOptions) -> Outcome:
    r"""bootstrap max-T of Romano and Wolf.

    does: topics are drawn with replacement from centred scores, with a step-down procedure by the
        largest t of all pairs, each with its own variance; a few nearly equal runs lower its power
    assumes: topics are a random sample of at least a dozen
    source: Romano and Wolf (2005)

    Pairs whose differences do not vary are corrected by Bonferroni's inequality.
    """
    family = CentredPairs(pairs)
    pvalue, maxima = step_down([family], options)
    interval: IntervalFunction = partial(
        bound_simultaneously, family.difference, family.standard_error, maxima, options
    )
    exact_pvalue = min(1.0, len(pairs) * compute_min_flip_pvalue(pairs.n_topics, options))
    is_constant = family.standard_error == 0
    pvalue, interval = replace_constant_results(
        pvalue, interval, family.difference, is_constant, exact_pvalue, options
    )
    return replace(
        outcome,
        pvalue=pvalue,
        statistic=np.where(is_constant, outcome.statistic, family.t),
        interval=interval,
        interval_kind=ALL_PAIRS,
        smallest_pvalues=np.where(is_constant, pvalue, compute_smallest_pvalue(maxima)),
    )


def step_down(families: Sequence[CentredPairs], options: TestOptions) -> tuple[Floats, Floats]:
    """Return adjusted p-values of all pairs of all families, and the sorted maxima of resamples."""
    oriented_statistic = np.concatenate(
        [orient(family.t, options.alternative) for family in families]
    )
    n_topics = families[0].rows.integers.shape[1]
    counts = draw_topic_counts(options.resamples, n_topics, options.seed)

    def resample(rows: slice) -> Floats:
        return np.concatenate([family.resample(counts[rows]) for family in families])

    slices = list(slice_rows(options.resamples, oriented_statistic.size, BLOCK_MEANS))
    thresholds = oriented_statistic * (1 - RELATIVE_TOLERANCE * np.sign(oriented_statistic))
    return step_down_pvalues(oriented_statistic, thresholds, resample, slices, options)


def step_down_pvalues(
    oriented_statistic: Floats,
    thresholds: Floats,
    resample: Callable[[slice], Floats],
    slices: Sequence[slice],
    options: TestOptions,
) -> tuple[Floats, Floats]:
    """Return adjusted p-values of the step-down procedure, and the sorted maxima of resamples.

    Each pair is compared with the largest resampled statistic of the pairs whose observed
    statistic, oriented towards the alternative, is not larger. Resampled values that reach
    `thresholds` count; `resample` returns the values of a slice, shape (pairs, resamples).
    """
    order = np.argsort(oriented_statistic, kind="stable")
    thresholds = thresholds[order]

    def count_reaching(rows: slice) -> tuple[Indices, Floats]:
        values = orient_inplace(resample(rows), options.alternative)[order]
        np.maximum.accumulate(values, axis=0, out=values)
        return (values >= thresholds[:, None]).sum(axis=1), values[-1].copy()

    n_reaching, maxima = zip(*map_in_threads(count_reaching, slices, options.jobs), strict=True)
    pvalue = estimate_pvalues(np.sum(n_reaching, axis=0), options.resamples)
    pvalue[order] = np.maximum.accumulate(pvalue[::-1])[::-1]
    return pvalue, np.sort(np.concatenate(maxima))


@register_correction(
    "max-t",
    aliases=("westfall-young", "maxt"),
    families=("t", "randomisation"),
    requires_pairing=True,
    assumes_symmetry=True,
    is_random=True,
)
def max_t(outcome: Outcome, pairs: Pairs, options: TestOptions) -> Outcome:
    r"""step-down max-T of Westfall and Young.

    does: Westfall and Young's step-down max-T: the largest t of all pairs under random signs;
        systems may be dependent and differ in variance
    assumes: the joint distribution of the differences of all pairs is symmetric around its mean
    source: Westfall and Young (1993)

    Intervals are Bonferroni's, as random signs do not provide intervals.
    """
    return replace(bonferroni(outcome, pairs, options), pvalue=adjust_by_max_t(pairs, options))


def adjust_by_max_t(pairs: Pairs, options: TestOptions) -> Floats:
    r"""Return adjusted p-values by pair (Westfall and Young 1993, algorithm 4.1).

    The signs of all differences on a topic are kept or flipped jointly. As the sum of squared
    differences does not depend on signs, the statistic t can be replaced by u, of which t is an
    increasing function:

    .. math:: u = \frac{\sum_t s_t d_t}{\sqrt{\sum_t d_t^2}}
    """
    integers, unit = as_integers(pairs.values, 2 * pairs.n_topics)
    [norm] = pairs.map_blocks(
        lambda _, block: [np.sqrt((block.compute_differences() ** 2).sum(axis=1))]
    )
    with np.errstate(divide="ignore"):
        weight = np.where(norm > 0, unit / norm, 0.0)
    oriented_statistic = orient(pairs.subtract(integers.sum(axis=0)) * weight, options.alternative)
    # Equal sums may differ by the rounding of their terms, and of the division.
    thresholds = oriented_statistic - (
        2.0 * pairs.n_topics * np.abs(weight) + RELATIVE_TOLERANCE * np.abs(oriented_statistic)
    )
    signs = draw_signs(options.resamples, pairs.n_topics, options.seed)

    def resample(rows: slice) -> Floats:
        sums = integers.T @ signs[rows].T.astype(np.float64)
        return pairs.subtract(sums) * weight[:, None]

    slices = list(slice_rows(len(signs), len(pairs), BLOCK_VALUES))
    pvalue, _ = step_down_pvalues(oriented_statistic, thresholds, resample, slices, options)
    pvalue[norm == 0] = 1.0
    return pvalue


# Number of scores permuted at a time; results for a seed depend on it, so do not change it.
BLOCK_SCORES = 2**20


@register_correction(
    "randomised-tukey",
    aliases=("randomized-tukey", "randomised-tukey-hsd", "randomized-tukey-hsd"),
    families=("randomisation",),
    requires_pairing=True,
    covers_all_pairs=True,
    assumes_one_variance=True,
    is_random=True,
)
def randomised_tukey(outcome: Outcome, pairs: Pairs, options: TestOptions) -> Outcome:
    r"""randomised Tukey HSD.

    does: Tukey's HSD with the distribution of the largest difference from random permutations of
        each topic's scores
    assumes: the scores of systems that do not differ are exchangeable on each topic, so that all
        have one variance
    source: Carterette (2012)

    In Sakai (2013), figure 15, p is count / B with a strict inequality. The family consists of all
    pairs of the systems, even if only some are requested.
    """
    values, n_topics = pairs.values, pairs.n_topics
    integers, unit = as_integers(values, 2 * n_topics)
    ranges = np.sort(permute_ranges(integers, options))
    difference = pairs.subtract(integers.sum(axis=0))
    # Sums that differ by less than the rounding of their terms are equal, in intervals too.
    ranges += 2.0 * n_topics * integers.any()
    n_reaching = ranges.size - np.searchsorted(ranges, np.abs(difference))
    unit /= n_topics
    interval = partial(bound_by_ranges, difference * unit, ranges * unit)
    low, high = interval(1 - options.alpha)
    return replace(
        outcome,
        pvalue=estimate_pvalues(n_reaching, options.resamples),
        interval=interval,
        interval_kind=ALL_PAIRS,
        # Wider by the tolerance of ties: a difference as large as the quantile is not significant.
        half_widths=np.full(pairs.n_systems, (high - low)[0] / 4 * (1 + RELATIVE_TOLERANCE)),
    )


def bound_by_ranges(difference: Floats, ranges: Floats, level: Level) -> Bounds:
    """Return simultaneous intervals, from the quantile of the largest difference."""
    rank = np.ceil(np.asarray(level) * (ranges.size + 1)).astype(np.intp) - 1
    half_width = np.append(ranges, np.inf)[np.minimum(rank, ranges.size)]
    return difference - half_width, difference + half_width


def permute_ranges(integers: Floats, options: TestOptions) -> Floats:
    """Return the range of the sums of systems in each permutation of the topics' scores."""
    n_topics, n_systems = integers.shape
    out = np.empty(options.resamples)
    slices = list(slice_rows(options.resamples, integers.size, BLOCK_SCORES))

    def permute_slice(k: int) -> None:
        # One random stream for each slice, so that results do not depend on threads.
        rng = make_stream(options.seed, k)
        values = np.tile(integers, (slices[k].stop - slices[k].start, 1))
        rng.permuted(values, axis=1, out=values)
        sums = values.reshape(-1, n_topics, n_systems).sum(axis=1)
        out[slices[k]] = sums.max(axis=1) - sums.min(axis=1)

    map_in_threads(permute_slice, range(len(slices)), options.jobs)
    return out
