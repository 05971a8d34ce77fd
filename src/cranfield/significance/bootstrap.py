"""Bootstrap tests, for the same topics and for different ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.significance.options import Options
from cranfield.significance.outcome import Floats, Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.registry import TestInfo, declared
from cranfield.significance.resampling import (
    DRAWN,
    EXACT_BITS,
    as_integers,
    generator,
    in_threads,
    monte_carlo,
)
from cranfield.significance.t import ratio, spread


@declared(
    TestInfo(
        name="bootstrap",
        aliases=("paired-bootstrap", "bootstrap-paired"),
        title="Paired bootstrap test, studentised",
        asks="If topics were drawn anew from topics like these, and the systems did not differ, "
        "how often would t be as large as it is?",
        null="The mean difference is zero.",
        assumes="Topics are a random sample; nothing on the shape of the distribution.",
        when="Two systems on the same topics, with differences that are far from normal, and a "
        "few dozen topics at least.",
        formula=r"p = \frac{|\{b : |t(w^{*b})| \ge |t(z)|\}| + 1}{B + 1}, \quad "
        r"t(z) = \frac{\bar{z}}{\bar{\sigma} / \sqrt{n}}, \quad w_i = z_i - \bar{z}",
        statistic="t",
        effect="Cohen's d of the differences: their mean by their standard deviation",
        source="Efron and Tibshirani (1993); Sakai (2013), figures 11 and 12",
        convention="The paper's p is count / B. The same topics are drawn for all pairs. The "
        "interval is the bootstrap-t interval.",
        random=True,
    )
)
def bootstrap_test(pairs: Pairs, options: Options) -> Outcome:
    """Do the paired bootstrap test on each pair."""
    counts = topic_counts(options.resamples, pairs.topics, options.seed)
    work = partial(_paired, counts=counts, options=options)
    # A block's results fit into the cache, and a matrix product is worth its call.
    parts = list(pairs.blocks(len(counts), 2**19))
    found = in_threads(work, parts, options.jobs)
    mean, error, deviation, count, zeros = (
        np.concatenate([one[k] for one in found]) for k in range(5)
    )
    return Outcome(
        statistic=ratio(mean, error),
        pvalue=monte_carlo(count.astype(np.intp), options.resamples),
        effect=ratio(mean, deviation),
        interval=BootstrapTInterval(pairs, mean, error, options),
        interval_of="mean difference",
        n=np.full(len(pairs), pairs.topics),
        zeros=zeros.astype(np.intp),
        ties=np.zeros(len(pairs), dtype=np.intp),
        details={"resamples": options.resamples, "seed": options.seed},
    )


def topic_counts(resamples: int, topics: int, seed: int) -> Floats:
    """Return how often each topic is drawn in each sample, shape (resamples, topics)."""
    random = generator(seed)
    counts = np.empty((resamples, topics))
    rows = max(1, DRAWN // topics)
    for start in range(0, resamples, rows):
        part = counts[start : start + rows]
        drawn = random.integers(0, topics, size=part.shape)
        drawn += topics * np.arange(len(part))[:, None]
        part[:] = np.bincount(drawn.ravel(), minlength=part.size).reshape(part.shape)
    return counts


def _paired(pairs: Pairs, counts: Floats, options: Options) -> tuple[NDArray[Any], ...]:
    differences = pairs.differences()
    n = pairs.topics
    mean = differences.mean(axis=1)
    deviation = spread(differences, mean, pairs.rounding)
    error = deviation / np.sqrt(n)
    numerator, variance = resampled_t(differences, mean, deviation, counts)
    t = np.abs(mean) if options.two_sided else mean if options.alternative == "greater" else -mean
    if options.alternative == "less":
        np.negative(numerator, out=numerator)
    # |mean*| / sd* >= |mean| / sd, without a division by a variance that may be zero.
    with np.errstate(divide="ignore", invalid="ignore"):
        least = np.where(t == 0, 0.0, t / deviation)[:, None]
        if options.two_sided:
            numerator *= numerator
            extreme = numerator >= least**2 * variance * (1 - 1e-12)
        else:
            np.sqrt(variance, out=variance)
            variance *= least
            extreme = numerator >= variance - 1e-12 * np.abs(variance)
    return mean, error, deviation, extreme.sum(axis=1), (differences == 0).sum(axis=1)


def resampled_t(
    differences: Floats, mean: Floats, deviation: Floats, counts: Floats
) -> tuple[Floats, Floats]:
    """Return mean and variance of the centred differences in each sample.

    Both come from sums of integers, so that they are the same however they are added.

    Returns
    -------
    mean, variance
        Shape (pairs, samples); the variance has the divisor n - 1.
    """
    n = differences.shape[1]
    scale = np.abs(differences).max(axis=1, initial=0.0)
    scale[scale == 0] = 1.0
    centred = np.where(deviation[:, None] == 0, 0.0, differences - mean[:, None])
    centred /= 2 * scale[:, None]
    bits = EXACT_BITS - int(np.ceil(np.log2(max(2, n))))
    unit = float(np.ldexp(1.0, bits))
    first = np.rint(centred * unit) @ counts.T
    second = np.rint(centred**2 * unit) @ counts.T
    first *= 1 / (n * unit)
    second *= 1 / (n * unit)
    second -= first**2
    # What is left of a variance that is zero in truth is rounding.
    second[second < n * 2.0**-40] = 0.0
    second *= (n / (n - 1)) * (2 * scale[:, None]) ** 2
    first *= 2 * scale[:, None]
    return first, second


@dataclass(frozen=True)
class BootstrapTInterval:
    """Bootstrap-t limits: quantiles of the resampled t take the place of Student's."""

    pairs: Pairs
    mean: Floats
    error: Floats
    options: Options

    def __call__(self, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits at a confidence level."""
        counts = topic_counts(self.options.resamples, self.pairs.topics, self.options.seed)
        number = len(counts)
        rank = int(np.floor((1 - level) / 2 * (number + 1)))
        low = np.full(len(self.pairs), -np.inf)
        high = -low
        if rank < 1:
            return low, high
        done = 0
        for block in self.pairs.blocks(number, 2**20):
            part = slice(done, done + len(block))
            differences = block.differences()
            mean = differences.mean(axis=1)
            deviation = spread(differences, mean, block.rounding)
            centre, variance = resampled_t(differences, mean, deviation, counts)
            with np.errstate(divide="ignore", invalid="ignore"):
                t = np.nan_to_num(centre / np.sqrt(variance / block.topics), nan=0.0)
            t.partition([rank - 1, number - rank], axis=1)
            with np.errstate(invalid="ignore"):
                below = np.nan_to_num(t[:, number - rank] * self.error[part], nan=0.0)
                above = np.nan_to_num(t[:, rank - 1] * self.error[part], nan=0.0)
            low[part], high[part] = self.mean[part] - below, self.mean[part] - above
            done += len(block)
        return low, high


@declared(
    TestInfo(
        name="bootstrap-unpaired",
        aliases=("unpaired-bootstrap",),
        title="Unpaired bootstrap test",
        asks="If both systems' scores were drawn from all of their scores together, how often "
        "would their means differ as much as they do?",
        null="The scores of both systems come from one distribution.",
        assumes="All scores are a random sample, independent of each other.",
        when="Two systems that were tested on different topics.",
        formula=r"p = \frac{|\{b : |\bar{x}^{*b} - \bar{y}^{*b}| \ge |\bar{x} - \bar{y}|\}| + 1}"
        r"{B + 1}",
        statistic="difference of means",
        effect="Hedges' g without small-sample correction: mean difference by pooled deviation",
        source="Efron and Tibshirani (1993); Sakai (2013), figures 13 and 14",
        convention="The paper's p is count / B. The interval is the basic bootstrap interval: each "
        "system's scores are drawn from its own.",
        paired=False,
        random=True,
    )
)
def unpaired_bootstrap_test(pairs: Pairs, options: Options) -> Outcome:
    """Do the unpaired bootstrap test on each pair."""
    values, count = packed(pairs.values)
    integers, _ = as_integers(values, 4 * values.shape[0] ** 2)
    sums = np.nansum(integers, axis=0)
    extreme = np.zeros(len(pairs), dtype=np.intp)
    # Systems with as many scores draw the same samples.
    sizes = np.stack([count[pairs.first], count[pairs.second]], axis=1)
    for k, (n, m) in enumerate(np.unique(sizes, axis=0)):
        same = np.flatnonzero((sizes == (n, m)).all(axis=1))
        part = Pairs(pairs.values, pairs.first[same], pairs.second[same])
        weights = pooled_weights(options.resamples, int(n), int(m), options.seed, k)
        of_first = np.ascontiguousarray((weights[:, :n] @ np.nan_to_num(integers[:n])).T)
        of_second = np.ascontiguousarray((weights[:, n:] @ np.nan_to_num(integers[:m])).T)
        least = sums[part.first] * m - sums[part.second] * n
        work = partial(
            _reaching,
            first=of_first,
            second=of_second,
            slack=2.0 * n * m,
            kind=options.alternative,
        )
        blocks, start = [], 0
        for block in part.blocks(len(weights), 2**17):
            blocks.append((block, least[start : start + len(block)]))
            start += len(block)
        extreme[same] = np.concatenate(in_threads(work, blocks, options.jobs))
    mean = np.nanmean(pairs.values, axis=0)
    squares = np.nansum((pairs.values - mean) ** 2, axis=0)
    n, m = count[pairs.first], count[pairs.second]
    with np.errstate(divide="ignore", invalid="ignore"):
        pooled = np.sqrt((squares[pairs.first] + squares[pairs.second]) / (n + m - 2))
    difference = pairs.of_systems(mean)
    difference[np.abs(difference) <= pairs.rounding] = 0.0
    none = np.zeros_like(n)
    return Outcome(
        statistic=difference,
        pvalue=monte_carlo(extreme, options.resamples),
        effect=ratio(difference, pooled),
        interval=BasicInterval(pairs, options),
        interval_of="difference of means",
        n=n + m,
        zeros=none,
        ties=none,
        details={"resamples": options.resamples, "seed": options.seed},
    )


def packed(values: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """Move each system's scores to the front; return them, and how many each system has."""
    missing = np.isnan(values)
    order = np.argsort(missing, axis=0, kind="stable")
    return np.take_along_axis(values, order, axis=0), (~missing).sum(axis=0)


def pooled_weights(resamples: int, n: int, m: int, seed: int, which: int) -> Floats:
    """Return the weight of each pooled score in n m (mean of x* - mean of y*).

    Returns
    -------
    array
        Integers, shape (resamples, n + m).
    """
    random = generator(seed, which)
    total = n + m
    weights = np.empty((resamples, total))
    rows = max(1, DRAWN // total)
    for start in range(0, resamples, rows):
        part = weights[start : start + rows]
        drawn = random.integers(0, total, size=part.shape)
        drawn += total * np.arange(len(part))[:, None]
        of_x, of_y = (
            np.bincount(some.ravel(), minlength=part.size).reshape(part.shape)
            for some in (drawn[:, :n], drawn[:, n:])
        )
        part[:] = of_x * m - of_y * n
    return weights


def _reaching(
    part: tuple[Pairs, Floats], first: Floats, second: Floats, slack: float, kind: str
) -> NDArray[np.intp]:
    pairs, least = part
    found = first[pairs.first]
    found += second[pairs.second]
    if kind == "two-sided":
        np.abs(found, out=found)
        least = np.abs(least)
    elif kind == "less":
        np.negative(found, out=found)
        least = -least
    return np.asarray((found >= (least - slack)[:, None]).sum(axis=1))


@dataclass(frozen=True)
class BasicInterval:
    """Basic bootstrap limits of the difference of means."""

    pairs: Pairs
    options: Options

    def __call__(self, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits at a confidence level."""
        values, count = packed(self.pairs.values)
        number = self.options.resamples
        means = np.empty((values.shape[1], number))
        for system, n in enumerate(count):
            counts = topic_counts(number, int(n), self.options.seed + 1 + system)
            means[system] = counts @ values[:n, system] / n
        rank = int(np.floor((1 - level) / 2 * (number + 1)))
        observed = self.pairs.of_systems(np.nanmean(self.pairs.values, axis=0))
        low = np.full(len(self.pairs), -np.inf)
        high = -low
        if rank < 1:
            return low, high
        done = 0
        for block in self.pairs.blocks(number):
            part = slice(done, done + len(block))
            found = means[block.first] - means[block.second]
            found.partition([rank - 1, number - rank], axis=1)
            low[part] = 2 * observed[part] - found[:, number - rank]
            high[part] = 2 * observed[part] - found[:, rank - 1]
            done += len(block)
        return low, high
