"""Corrections by random signs and permutations: step-down max-T, and the randomised Tukey HSD."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.streams import stream
from cranfield.base.threads import in_threads
from cranfield.significance.corrections.of_pvalues import bonferroni
from cranfield.significance.options import Options
from cranfield.significance.outcome import TOGETHER, Corrected, Level, Limits, Outcome
from cranfield.significance.pairs import BLOCK, Pairs
from cranfield.significance.resampling import as_integers, monte_carlo, random_signs


def max_t(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    """Correct step by step; intervals are Bonferroni's, as random signs give none of their own."""
    return replace(bonferroni(outcome, pairs, options), pvalue=max_t_pvalues(pairs, options))


def max_t_pvalues(pairs: Pairs, options: Options) -> Floats:
    r"""Return adjusted p-values by pair, (count + 1) / (B + 1).

    Each topic's differences keep or change their sign, the same for all pairs, so that pairs stay
    as dependent as they are. Of each assignment the largest t counts. Every pair is measured by
    its own variance: systems may differ in variance and be correlated in any way, which Tukey's
    HSD and its randomised version do not allow for.

    Westfall and Young (1993), algorithm 4.1: the pair with the largest t is compared with the
    largest t of all pairs, the next one with the largest of the others, and so on; p never falls on
    the way down. The sum of squares of a pair's differences does not change with their signs, so t
    rises with

    .. math:: u = \frac{\sum_t s_t d_t}{\sqrt{\sum_t d_t^2}}

    and the largest u stands for the largest t. It assumes that, where two systems do not differ,
    their differences are symmetric around zero.
    """
    integers, unit = as_integers(pairs.values, 2 * pairs.topics)
    size = np.concatenate(
        [np.sqrt((block.differences() ** 2).sum(axis=1)) for block in pairs.blocks()]
    )
    with np.errstate(divide="ignore"):
        weight = np.where(size > 0, unit / size, 0.0)
    if options.alternative == "less":
        weight = -weight
    observed = pairs.of_systems(integers.sum(axis=0)) * weight
    if options.two_sided:
        observed = np.abs(observed)
    order = np.argsort(observed, kind="stable")
    # Sums that are equal in truth may differ by the rounding of their terms, and of the division.
    slack = 2.0 * pairs.topics * np.abs(weight) + 1e-12 * np.abs(observed)
    work = partial(
        _count,
        integers=integers,
        first=pairs.first[order],
        second=pairs.second[order],
        weight=weight[order],
        least=(observed - slack)[order],
        two_sided=options.two_sided,
    )
    signs = random_signs(options.resamples, pairs.topics, options.seed)
    parts = [signs[part] for part in row_slices(len(signs), len(pairs), BLOCK)]
    count = np.sum(in_threads(work, parts, options.jobs), axis=0)
    pvalue = monte_carlo(count, options.resamples)
    # From the largest t down, p may not fall.
    falling = np.maximum.accumulate(pvalue[::-1])[::-1]
    out = np.empty(len(pairs))
    out[order] = falling
    out[size == 0] = 1.0
    return out


def _count(
    signs: NDArray[np.int8],
    integers: Floats,
    first: Indices,
    second: Indices,
    weight: Floats,
    least: Floats,
    two_sided: bool,
) -> Indices:
    """Count where the largest of a pair and those below it reaches the pair; pairs ascending."""
    sums = signs.astype(np.float64) @ integers
    found = sums[:, first]
    found -= sums[:, second]
    found *= weight
    if two_sided:
        np.abs(found, out=found)
    np.maximum.accumulate(found, axis=1, out=found)
    return np.asarray((found >= least).sum(axis=0))


PERMUTED = 2**20
"""Scores that are permuted at a time; it is part of what a seed means."""


def randomised_tukey(outcome: Outcome, pairs: Pairs, options: Options) -> Corrected:
    """Compare all pairs of systems with the largest differences of random permutations.

    Carterette (2012); Sakai (2013), figure 15, whose p is count / B with a strict inequality. It is
    of all pairs of the systems, whichever are asked for.
    """
    values, topics = pairs.values, pairs.topics
    integers, unit = as_integers(values, 2 * topics)
    ranges = np.sort(permuted_ranges(integers, options))
    observed = np.abs(pairs.of_systems(integers.sum(axis=0))) - 2.0 * topics
    count = ranges.size - np.searchsorted(ranges, observed)
    widths = ranges * unit / topics
    limits = partial(range_limits, pairs.of_systems(values.mean(axis=0)), widths)
    low, high = limits(1 - options.alpha)
    return Corrected(
        monte_carlo(count, options.resamples),
        interval=limits,
        holds_for=TOGETHER,
        half_widths=np.full(pairs.systems, (high - low)[0] / 4),
    )


def range_limits(difference: Floats, ranges: Floats, level: Level) -> Limits:
    """Return simultaneous limits of all differences, from the quantile of the largest one."""
    rank = np.ceil(np.asarray(level) * (ranges.size + 1)).astype(np.intp) - 1
    half = np.append(ranges, np.inf)[np.minimum(rank, ranges.size)]
    return difference - half, difference + half


def permuted_ranges(integers: Floats, options: Options) -> Floats:
    """Return the largest minus the smallest sum of systems in each random permutation.

    Each topic's scores are permuted on their own.
    """
    topics, systems = integers.shape
    out = np.empty(options.resamples)
    parts = list(row_slices(options.resamples, integers.size, PERMUTED))

    def permute(part: int) -> None:
        # Each part has its own random numbers, whichever thread it falls to.
        random = stream(options.seed, part)
        rows = np.tile(integers, (parts[part].stop - parts[part].start, 1))
        random.permuted(rows, axis=1, out=rows)
        sums = rows.reshape(-1, topics, systems).sum(axis=1)
        out[parts[part]] = sums.max(axis=1) - sums.min(axis=1)

    in_threads(permute, range(len(parts)), options.jobs)
    return out
