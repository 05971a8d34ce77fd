"""Tables of shallower pools: what they judge, and what scores and ranks become."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats
from cranfield.meta.of_collections.contributors import unjudged_in_pool
from cranfield.meta.of_collections.rankings import agreement, ranks
from cranfield.meta.of_collections.tracing import TracedRuns

LABELS = {"measure": pl.String, "list": pl.String, "depth": pl.Int64}
RANKINGS = {
    **LABELS,
    **dict.fromkeys(("mean score", "difference", "tau"), pl.Float64),
    "largest rank change": pl.Int64,
}
COUNTS = {
    **dict.fromkeys(("depth", "judged", "relevant"), pl.Int64),
    **dict.fromkeys(("unjudged", "largest unjudged"), pl.Float64),
    "lacking": pl.Int64,
}
"""Columns of the tables, and their types."""


def with_shares(counts: pl.DataFrame) -> pl.DataFrame:
    """Add the shares of all judgments, which stand in the last row."""
    return counts.select(
        "depth",
        "judged",
        (pl.col("judged") / pl.col("judged").last()).alias("judged share"),
        "relevant",
        (pl.col("relevant") / pl.col("relevant").last()).fill_nan(None).alias("relevant share"),
        "unjudged",
        "largest unjudged",
        "lacking",
    )


def counts_of(
    runs: TracedRuns,
    contributes: Bools,
    depth: int | None,
    kept: Bools,
    top: int,
    rel: int,
) -> dict[str, Any]:
    """Count what is judged, and what is not judged among the top documents."""
    chosen = kept & (runs.topic >= 0)
    seen = runs.restricted(kept).top(top)
    retrieved = seen.retrieved.sum(axis=0)
    unjudged = retrieved - seen.judged().count.sum(axis=0)
    some = retrieved > 0
    return {
        "depth": depth,
        "judged": int(chosen.sum()),
        "relevant": int((chosen & (runs.grade >= rel)).sum()),
        "unjudged": float(unjudged.sum() / retrieved.sum()) if some.any() else None,
        "largest unjudged": float((unjudged[some] / retrieved[some]).max()) if some.any() else None,
        "lacking": None if depth is None else int(unjudged_in_pool(runs, contributes, depth).sum()),
    }


def compared(before: Floats, after: Floats, lower: bool) -> dict[str, Any]:
    """Compare the systems' scores by a pool with those by all judgments."""
    known = ~np.isnan(before)
    moved = np.abs(ranks(after, after, lower) - ranks(before, before, lower))[known]
    return {
        "mean score": float(after[known].mean()) if known.any() else None,
        "difference": float((after - before)[known].mean()) if known.any() else None,
        "tau": agreement(before, after),
        "largest rank change": int(moved.max()) if known.any() else None,
    }


def of_systems(
    labels: dict[str, Any], systems: tuple[str, ...], scores: Floats, lower: bool
) -> pl.DataFrame:
    """Return a row a system: its overall score and rank, with what they are of."""
    columns = {
        name: pl.Series([value] * len(systems), dtype=LABELS[name])
        for name, value in labels.items()
    }
    return pl.DataFrame(
        {
            **columns,
            "system": pl.Series(systems, dtype=pl.String),
            "score": scores,
            "rank": ranks(scores, scores, lower),
        }
    ).with_columns(pl.col("score").fill_nan(None), pl.col("rank").fill_nan(None).cast(pl.Int64))
