"""The paired bootstrap test."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.streams import stream
from cranfield.base.threads import in_threads
from cranfield.significance.options import Options
from cranfield.significance.outcome import Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.registry import TestInfo, declared
from cranfield.significance.resampling import (
    count_reaching,
    monte_carlo,
    quantile_limits,
)
from cranfield.significance.tests.bootstrap_samples import (
    RELATIVE,
    drawn_counts,
    resampled_moments,
    studentised,
    studentised_limits,
)
from cranfield.significance.tests.student_t import ratio, spread


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
        "interval is the bootstrap-t interval by the same samples: symmetric, from the quantile of "
        "|t|, so that it leaves out 0 exactly where p is at most alpha; of a one-sided test, from "
        "the quantile of t on its side.",
        random=True,
    )
)
def bootstrap_test(pairs: Pairs, options: Options) -> Outcome:
    """Do the paired bootstrap test on each pair."""
    counts = topic_counts(options.resamples, pairs.topics, options.seed)
    work = partial(_tested, counts=counts, options=options)
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
    counts = np.empty((resamples, topics))
    for part, some in drawn_counts(stream(seed), resamples, topics):
        counts[part] = some
    return counts


def _tested(pairs: Pairs, counts: Floats, options: Options) -> tuple[NDArray[Any], ...]:
    differences = pairs.differences()
    mean = differences.mean(axis=1)
    deviation = spread(differences, mean, pairs.rounding)
    error = deviation / np.sqrt(pairs.topics)
    found = resampled_t(pairs, differences, mean, deviation, counts)
    count = count_reaching(found, ratio(mean, error), options.alternative, relative=RELATIVE)
    return mean, error, deviation, count, (differences == 0).sum(axis=1)


def resampled_t(
    pairs: Pairs, differences: Floats, mean: Floats, deviation: Floats, counts: Floats
) -> Floats:
    """Return t of the centred differences in each sample, shape (pairs, samples)."""
    centred = np.where(deviation[:, None] == 0, 0.0, differences - mean[:, None])
    means, variances = resampled_moments(centred, pairs.rounding, counts)
    variances /= pairs.topics
    return studentised(means, variances)


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
            return resampled_t(block, differences, mean, deviation, counts)

        limits = quantile_limits(
            self.pairs, len(counts), level, resampled, symmetric=self.options.two_sided
        )
        return studentised_limits(self.mean, self.error, *limits)
