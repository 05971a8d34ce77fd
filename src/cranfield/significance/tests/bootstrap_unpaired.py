"""The unpaired bootstrap test, for systems on different topics."""

from __future__ import annotations

from functools import partial

import numpy as np

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.streams import stream
from cranfield.base.threads import in_threads
from cranfield.significance.bootstrap_t import (
    Centred,
    bootstrap_t_limits,
    drawn_counts,
    studentised,
)
from cranfield.significance.difference_by_error import ratio
from cranfield.significance.options import Options
from cranfield.significance.outcome import Level, Limits, Outcome
from cranfield.significance.pairs import ROUNDING, TINY, Pairs
from cranfield.significance.resampling import DRAWN, as_integers, count_reaching, monte_carlo

OF_INTERVAL = 0
"""First step of the path to the random numbers of the interval; those of the test have one step."""


def unpaired_bootstrap_test(pairs: Pairs, options: Options) -> Outcome:
    values, count = packed(pairs.values)
    integers, _ = as_integers(values, 4 * values.shape[0] ** 2)
    integers = np.nan_to_num(integers)
    totals = integers.sum(axis=0)
    extreme = np.zeros(len(pairs), dtype=np.intp)
    # Systems with as many scores draw the same samples.
    sizes = np.stack([count[pairs.first], count[pairs.second]], axis=1)
    for k, (n, m) in enumerate(np.unique(sizes, axis=0)):
        same = np.flatnonzero((sizes == (n, m)).all(axis=1))
        some = Pairs(pairs.values, pairs.first[same], pairs.second[same])
        sums = pooled_sums(integers, int(n), int(m), options, k)
        work = partial(_reaching, sums=sums, slack=2.0 * n * m, kind=options.alternative)
        least = totals[some.first] * m - totals[some.second] * n
        parts = [(block, least[part]) for part, block in some.slices(options.resamples, 2**17)]
        extreme[same] = np.concatenate(in_threads(work, parts, options.jobs))
    mean = np.nanmean(pairs.values, axis=0)
    squares = np.nansum((pairs.values - mean) ** 2, axis=0)
    n, m = count[pairs.first], count[pairs.second]
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = np.sqrt((squares[pairs.first] + squares[pairs.second]) / (n + m - 2))
    difference = pairs.differences_of(mean)
    none = np.zeros_like(n)
    return Outcome(
        statistic=difference,
        pvalue=monte_carlo(extreme, options.resamples),
        effect=ratio(difference, pooled),
        interval=partial(welch_limits, pairs, options),
        n=n + m,
        zeros=none,
        ties=none,
        details={"resamples": options.resamples, "seed": options.seed},
    )


def packed(values: Floats) -> tuple[Floats, Indices]:
    """Move each system's scores to the front; return them, and how many each system has."""
    missing = np.isnan(values)
    order = np.argsort(missing, axis=0, kind="stable")
    return np.take_along_axis(values, order, axis=0), (~missing).sum(axis=0)


def pooled_sums(
    integers: Floats, n: int, m: int, options: Options, which: int
) -> tuple[Floats, Floats]:
    """Draw n and m scores from the pooled ones of two systems, and sum them up.

    `integers` are scores, each system's at the front, and zeros; `which` numbers the pairs of
    sizes n and m. Returned is what each system adds to n m (mean of x* - mean of y*), as first and
    as second of a pair; shape (systems, resamples).
    """
    random = stream(options.seed, which)
    total = n + m
    found = np.empty((2, integers.shape[1], options.resamples))
    for part in row_slices(options.resamples, total, DRAWN):
        drawn = random.integers(0, total, size=(part.stop - part.start, total))
        drawn += total * np.arange(len(drawn))[:, None]
        of_x, of_y = (
            np.bincount(some.ravel(), minlength=drawn.size).reshape(drawn.shape)
            for some in (drawn[:, :n], drawn[:, n:])
        )
        # Sums of integers: the same, however many samples are taken at a time.
        weights = (of_x * m - of_y * n).astype(np.float64)
        found[0, :, part] = (weights[:, :n] @ integers[:n]).T
        found[1, :, part] = (weights[:, n:] @ integers[:m]).T
    return found[0], found[1]


def _reaching(
    part: tuple[Pairs, Floats], sums: tuple[Floats, Floats], slack: float, kind: str
) -> Indices:
    pairs, observed = part
    found = sums[0][pairs.first]
    found += sums[1][pairs.second]
    return count_reaching(found, observed, kind, slack=slack)


def welch_limits(pairs: Pairs, options: Options, level: Level) -> Limits:
    """Return bootstrap-t limits of the difference of means, each system by its own variance."""
    values, count = packed(pairs.values)
    systems, resamples = values.shape[1], options.resamples
    means, squared = np.empty((2, systems, resamples))
    own = np.empty(systems)

    def draw(system: int) -> None:
        n = int(count[system])
        scores = values[:n, system]
        noise = np.maximum(ROUNDING * np.abs(scores).max(keepdims=True), TINY)
        centred = scores - scores.mean()
        if np.abs(centred).max() <= noise:
            centred = np.zeros(n)
        own[system] = centred @ centred / (n - 1) / n
        # Its own random numbers, whichever thread it falls to, and not those of the p-value.
        random = stream(options.seed, OF_INTERVAL, system)
        for part, counts in drawn_counts(random, resamples, n):
            mean, variance = Centred.of(centred[None], noise).moments(counts)
            means[system, part], squared[system, part] = mean[0], variance[0] / n

    in_threads(draw, list(range(systems)), options.jobs)

    def resampled(block: Pairs) -> Floats:
        return studentised(
            means[block.first] - means[block.second],
            squared[block.first] + squared[block.second],
        )

    error = np.sqrt(own[pairs.first] + own[pairs.second])
    difference = pairs.differences_of(np.nanmean(pairs.values, axis=0))
    return bootstrap_t_limits(pairs, difference, error, resampled, options, level)
