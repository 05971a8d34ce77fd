"""The tables of stability: what samples of topics have in common with all topics."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.meta.of_topics.topic_samples import AllTopics

TAUS = ("tau", "tau ap")
"""How the ranking by a sample is compared with that by all topics."""

MAYBE = dict.fromkeys(
    [*(f"{name}{end}" for name in TAUS for end in ("", " low", " high")), "found again"], pl.Float64
)
"""Columns of the table by size that may hold nothing."""

TOP_SCHEMA = {"topics": pl.Int64, "top": pl.Int64, "same": pl.Float64, "overlap": pl.Float64}
"""Columns of the table of top systems; it may be empty."""


def ranks_of(rows: pl.DataFrame) -> Ints:
    """Return twice the mid-ranks, shape (samples, systems)."""
    return np.asarray(rows["ranks"].to_numpy(), dtype=np.int64)


def agreement(
    part: pl.DataFrame, ranks: Ints, whole: AllTopics, confidence: float
) -> dict[str, Any]:
    """Return the row of a size, without the size."""
    number = part["significant"].to_numpy()
    before = int(np.count_nonzero(whole.signs))
    low, high = limits(number[:, None], confidence)
    again = part["found again"].to_numpy()
    return {
        "samples": len(part),
        "untested": int((~part["tested"]).sum()),
        **_correlations(part, confidence),
        "same first": float(_shares(ranks)[:, whole.ranks == whole.ranks.min()].sum(axis=1).mean()),
        "significant": float(number.mean()),
        "significant median": float(np.median(number)),
        "significant low": low[0],
        "significant high": high[0],
        "found again": float(again.mean()) / before if before else None,
        "contradicted": float(part["contradicted"].to_numpy().mean()),
    }


def _correlations(part: pl.DataFrame, confidence: float) -> dict[str, float | None]:
    """Return mean and limits of the correlations; None where no sample has one."""
    found: dict[str, float | None] = {}
    for name in TAUS:
        tau = part[name].fill_nan(None).drop_nulls().to_numpy()
        low, high = limits(tau[:, None], confidence) if tau.size else ([None], [None])
        mean = float(tau.mean()) if tau.size else None
        found |= {name: mean, f"{name} low": low[0], f"{name} high": high[0]}
    return found


def limits(samples: Any, confidence: float) -> tuple[Floats, Floats]:
    """Return limits by column that at most (1 - confidence) / 2 of the samples pass on each side.

    They are among the samples.
    """
    tail = (1 - confidence) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return low.astype(np.float64), high.astype(np.float64)


def _shares(ranks: Ints) -> Floats:
    """Return how much of the first place each system has, by sample."""
    first = ranks == ranks.min(axis=1, keepdims=True)
    return np.asarray(first / first.sum(axis=1, keepdims=True))


def of_top(ranks: Ints, all_ranks: Ints, k: int) -> dict[str, Any]:
    """Compare the top k systems of the samples with those of all topics."""
    there = ranks <= np.sort(ranks, axis=1)[:, k - 1 : k]
    here = all_ranks <= np.sort(all_ranks)[k - 1]
    both = (there & here).sum(axis=1)
    larger = np.maximum(there.sum(axis=1), here.sum())
    overlap = both / larger
    return {"top": k, "same": float((overlap == 1).mean()), "overlap": float(overlap.mean())}


def firsts(size: int, ranks: Ints, systems: tuple[str, ...]) -> pl.DataFrame:
    """Return the systems that come first, those that do most often at the top."""
    share = _shares(ranks).mean(axis=0)
    ever = [k for k in np.argsort(-share, kind="stable") if share[k] > 0]
    return pl.DataFrame(
        {
            "topics": pl.repeat(size, len(ever), dtype=pl.Int64, eager=True),
            "system": [systems[k] for k in ever],
            "first": share[ever],
        }
    )


def rank_table(
    ranks: Ints, all_ranks: Ints, systems: tuple[str, ...], means: Floats, confidence: float
) -> pl.DataFrame:
    """Return the systems from best to worst, with limits of their ranks."""
    order = np.argsort(all_ranks, kind="stable")
    low, high = limits(ranks, confidence)
    return pl.DataFrame(
        {
            "system": [systems[k] for k in order],
            "mean": means[order],
            "rank": all_ranks[order] / 2,
            "low": low[order] / 2,
            "high": high[order] / 2,
            "best": _shares(ranks).mean(axis=0)[order],
        }
    )
