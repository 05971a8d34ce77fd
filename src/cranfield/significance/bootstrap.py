"""The paired bootstrap test."""

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
    generator,
    in_threads,
    monte_carlo,
    quantile_limits,
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

        def resampled(block: Pairs) -> Floats:
            differences = block.differences()
            mean = differences.mean(axis=1)
            deviation = spread(differences, mean, block.rounding)
            centre, variance = resampled_t(differences, mean, deviation, counts)
            with np.errstate(divide="ignore", invalid="ignore"):
                t = centre / np.sqrt(variance / block.topics)
            t[np.isnan(t)] = 0.0
            return np.asarray(t)

        low, high = quantile_limits(self.pairs, len(counts), level, resampled)
        with np.errstate(invalid="ignore"):
            # Where there is no error there is nothing to add, however large t became.
            below, above = (np.where(self.error == 0, 0.0, t * self.error) for t in (high, low))
        return self.mean - below, self.mean - above
