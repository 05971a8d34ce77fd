"""Scores by topic, and samples of topics: the ranking of the systems, and which pairs differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.base.streams import stream
from cranfield.correlation import kendall_tau, tau_ap
from cranfield.meta.of_tests.fast_tests import TestChoice, verdict_or_none
from cranfield.meta.work.parts import blocks
from cranfield.significance.pairs import ROUNDING
from cranfield.significance.prepare import Ready, as_scores, prepared
from cranfield.significance.ranks import mid_ranks
from cranfield.significance.tests.catalogue import find_test

BLOCK = 250
"""Samples in a part of the work; it is not part of what a seed means."""


def topic_scores(scores: Any, missing: str | None, test: str = "anova-2") -> Ready:
    """Make scores ready that a study samples, or generalises, by topic: no gaps, no shards."""
    given = as_scores(scores)
    given.flat()
    if missing == "available":
        raise PolicyError("all systems have the same topics here: missing='available' does not fit")
    return prepared(given, find_test(test).info, missing or "error")


@dataclass(frozen=True, eq=False)
class AllTopics:
    """The scores on all topics, how pairs are compared, and what all topics say together.

    `values` have shape (topics, systems), without gaps; `ranks` are twice the mid-rank of each
    system, the best first; `signs` are those of significant differences by pair, else 0.
    """

    values: Floats
    lower_is_better: bool
    choice: TestChoice
    seed: int
    ranks: Ints
    signs: Ints


@dataclass(frozen=True)
class Block:
    """Samples `start` to before `stop` of `size` topics each, drawn from the streams of `key`."""

    key: int
    size: int
    replace: bool
    start: int
    stop: int


def sample_blocks(key: int, size: int, replace: bool, repeats: int) -> Iterator[tuple[str, Block]]:
    """Yield the parts of the samples of one size, with their names.

    Key 0 is for samples that are only ranked, not tested.
    """
    what = f"size-{size:05d}" if key else "ranks"
    for start, stop in blocks(repeats, BLOCK):
        yield f"{what}-{start:07d}-{stop:07d}", Block(key, size, replace, start, stop)


def examined(whole: AllTopics, block: Block) -> pl.DataFrame:
    """Draw the samples of a block: a row a sample, with twice the mid-ranks as `ranks`."""
    repeats = np.arange(block.start, block.stop)
    topics = len(whole.values)
    means = np.empty((repeats.size, whole.values.shape[1]))
    counts = np.zeros((repeats.size, 3), dtype=np.int64)
    tested = np.zeros(repeats.size, dtype=bool)
    for k, repeat in enumerate(repeats):
        random = stream(whole.seed, block.key, int(repeat))
        # In order of topics, so that equal samples have equal sums to the bit.
        drawn = np.sort(random.choice(topics, block.size, replace=block.replace))
        values = whole.values[drawn]
        means[k] = values.mean(axis=0)
        if block.key:
            found, tested[k] = verdict_or_none(whole.choice, values, whole.seed)
            agreed = whole.signs[found.significant] * found.order[found.significant]
            counts[k] = found.significant.sum(), (agreed > 0).sum(), (agreed < 0).sum()
    ranks = ranked(means, whole.values, whole.lower_is_better)
    # Rank 1 is the best, where correlations take the highest number for it.
    high, truth = -ranks, np.broadcast_to(-whole.ranks, ranks.shape)
    return pl.DataFrame(
        {
            "key": pl.repeat(block.key, repeats.size, dtype=pl.Int64, eager=True),
            "topics": pl.repeat(block.size, repeats.size, dtype=pl.Int64, eager=True),
            "repeat": repeats,
            "ranks": pl.Series(ranks, dtype=pl.Array(pl.Int64, ranks.shape[1])),
            "tau": pl.Series(kendall_tau(high, truth)),
            "tau ap": pl.Series(tau_ap(high, truth)),
            "tested": tested,
            "significant": counts[:, 0],
            "found again": counts[:, 1],
            "contradicted": counts[:, 2],
        }
    )


def ranked(means: Floats, values: Floats, lower_is_better: bool) -> Ints:
    """Return twice the mid-ranks by means, shape (samples, systems), the best first.

    The values that they are means of say what may be rounding.
    """
    order = np.argsort(means if lower_is_better else -means, axis=1, kind="stable")
    ordered = np.take_along_axis(means if lower_is_better else -means, order, axis=1)
    gap = np.full(len(means), ROUNDING * float(np.abs(values).max()))
    ranks = np.empty(means.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, mid_ranks(ordered, gap)[0].astype(np.int64), axis=1)
    return ranks
