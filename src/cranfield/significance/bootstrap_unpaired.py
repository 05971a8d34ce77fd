"""The unpaired bootstrap test, for systems on different topics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from cranfield.significance.bootstrap import topic_counts
from cranfield.significance.options import Options
from cranfield.significance.outcome import Floats, Outcome
from cranfield.significance.pairs import Pairs
from cranfield.significance.registry import TestInfo, declared
from cranfield.significance.resampling import (
    DRAWN,
    as_integers,
    generator,
    in_threads,
    monte_carlo,
    quantile_limits,
)
from cranfield.significance.t import ratio


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
        low, high = quantile_limits(
            self.pairs,
            number,
            level,
            lambda block: np.asarray(means[block.first] - means[block.second]),
        )
        observed = self.pairs.of_systems(np.nanmean(self.pairs.values, axis=0))
        return 2 * observed - high, 2 * observed - low
