"""The paired bootstrap test."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.threads import in_threads
from cranfield.significance.bootstrap_t import (
    RELATIVE,
    Centred,
    bootstrap_t_limits,
    studentised,
    topic_counts,
)
from cranfield.significance.difference_by_error import ratio, spread
from cranfield.significance.options import Options
from cranfield.significance.outcome import Level, Limits, Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.resampling import count_reaching, monte_carlo


def bootstrap_test(pairs: Pairs, options: Options) -> Outcome:
    """Resample t of the centred differences."""
    return _by_samples(pairs, options, by_error=True)


def shift_bootstrap_test(pairs: Pairs, options: Options) -> Outcome:
    """Resample means of the centred differences, not divided by their errors."""
    return _by_samples(pairs, options, by_error=False)


def _by_samples(pairs: Pairs, options: Options, *, by_error: bool) -> Outcome:
    counts = topic_counts(options.resamples, pairs.topics, options.seed)
    work = partial(_tested, counts=counts, options=options, by_error=by_error)
    # A block's results fit into the cache, and a matrix product is worth its call.
    parts = list(pairs.blocks(len(counts), 2**19))
    found = in_threads(work, parts, options.jobs)
    mean, error, deviation, count, zeros, unlimited = (
        np.concatenate([block[k] for block in found]) for k in range(6)
    )
    return Outcome(
        statistic=ratio(mean, error),
        pvalue=monte_carlo(count.astype(np.intp), options.resamples),
        effect=ratio(mean, deviation),
        interval=partial(paired_limits, pairs, mean, error, options, by_error),
        n=np.full(len(pairs), pairs.topics),
        zeros=zeros.astype(np.intp),
        ties=np.zeros(len(pairs), dtype=np.intp),
        details={"resamples": options.resamples, "seed": options.seed},
        smallest_pvalues=monte_carlo(unlimited, options.resamples),
    )


def _tested(
    pairs: Pairs, counts: Floats, options: Options, by_error: bool
) -> tuple[NDArray[Any], ...]:
    differences = pairs.differences()
    mean = differences.mean(axis=1)
    deviation = spread(differences, mean, pairs.rounding)
    error = deviation / np.sqrt(pairs.topics) if by_error else np.ones(len(pairs))
    found = resampled(pairs, differences, mean, deviation, counts, by_error, options.alternative)
    unlimited = np.isinf(found).sum(axis=1)
    count = count_reaching(found, ratio(mean, error), options.alternative, relative=RELATIVE)
    return mean, error, deviation, count, (differences == 0).sum(axis=1), unlimited


def resampled(
    pairs: Pairs,
    differences: Floats,
    mean: Floats,
    deviation: Floats,
    counts: Floats,
    by_error: bool,
    alternative: str,
) -> Floats:
    """Return t, or the mean, of the centred differences in each sample, shape (pairs, samples)."""
    centred = np.where(deviation[:, None] == 0, 0.0, differences - mean[:, None])
    means, variances = Centred.of(centred, pairs.rounding).moments(counts)
    if not by_error:
        return means
    variances /= pairs.topics
    # A resample without any variation is never discarded: it counts as extreme.
    extreme = -np.inf if alternative == "less" else np.inf
    return np.where(variances == 0, extreme, studentised(means, variances))


def paired_limits(
    pairs: Pairs, mean: Floats, error: Floats, options: Options, by_error: bool, level: Level
) -> Limits:
    counts = topic_counts(options.resamples, pairs.topics, options.seed)

    def again(block: Pairs) -> Floats:
        differences = block.differences()
        centre = differences.mean(axis=1)
        deviation = spread(differences, centre, block.rounding)
        return resampled(
            block, differences, centre, deviation, counts, by_error, options.alternative
        )

    return bootstrap_t_limits(pairs, mean, error, again, options, level)
