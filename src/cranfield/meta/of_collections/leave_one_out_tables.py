"""The tables of a leave-one-out test: from overall scores to drops, ranks and correlations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.meta.of_collections.pools import Pools
from cranfield.meta.of_collections.rankings import Wanted, agreement, ranks


def places(wanted: Wanted) -> list[tuple[int, int]]:
    """Places of (list, measure), measures first."""
    return [(k, m) for m in range(len(wanted.measures)) for k in range(len(wanted.lists))]


def _labels(wanted: Wanted, place: tuple[int, int], rows: int) -> dict[str, list[str]]:
    return {"measure": [wanted.names[place[1]]] * rows, "list": [wanted.lists[place[0]]] * rows}


def of_systems(
    known: Pools, wanted: Wanted, place: tuple[int, int], before: Floats, after: Floats
) -> pl.DataFrame:
    """Compare each system's score with the one without its team, a row a system.

    Parameters
    ----------
    known, wanted
        The pools, and what was computed.
    place
        Of the list and of the measure.
    before
        Overall scores with all judgments; shape (systems,).
    after
        The scores without each team; shape (teams, systems).
    """
    lower = bool(wanted.lower[place[1]])
    own = after[known.team_of, np.arange(before.size)]
    first, then = ranks(before, before, lower), ranks(own, before, lower)
    difference = own - before
    with np.errstate(divide="ignore", invalid="ignore"):
        change = np.where(before == 0, np.nan, 100 * difference / np.abs(before))
    return pl.DataFrame(
        {
            **_labels(wanted, place, before.size),
            "system": pl.Series(known.runs.judged.systems, dtype=pl.String),
            "team": [known.teams[j] for j in known.team_of],
            "contributes": known.contributes,
            "before": before,
            "after": own,
            "difference": difference,
            "change %": change,
            "rank before": first,
            "rank after": then,
            "rank change": then - first,
        }
    ).with_columns(
        pl.col("before", "after", "difference", "change %").fill_nan(None),
        pl.col("^rank .*$").fill_nan(None).cast(pl.Int64),
    )


def of_rankings(
    known: Pools, wanted: Wanted, place: tuple[int, int], before: Floats, after: Floats
) -> pl.DataFrame:
    """Compare all systems without a team with all systems before, a row a team left out.

    Parameters are those of :func:`of_systems`.
    """
    lower = bool(wanted.lower[place[1]])
    first = ranks(before, before, lower)
    moved = [np.abs(ranks(one, one, lower) - first) for one in after]
    worse = after - before if lower else before - after
    own = [worse[j, known.team_of == j] for j in range(len(known.teams))]
    return pl.DataFrame(
        {
            **_labels(wanted, place, len(known.teams)),
            "team": pl.Series(known.teams, dtype=pl.String),
            "tau": [agreement(before, one) for one in after],
            "largest rank change": [_reduced(np.max, one) for one in moved],
            "mean drop": [_reduced(np.mean, one) for one in own],
            "largest drop": [_reduced(np.max, one) for one in own],
        }
    ).with_columns(
        pl.col("tau", "mean drop", "largest drop").fill_nan(None),
        pl.col("largest rank change").fill_nan(None).cast(pl.Int64),
    )


def _reduced(function: Callable[[Floats], Any], values: Floats) -> float:
    known = values[~np.isnan(values)]
    return float(function(known)) if known.size else np.nan


def summarised(
    known: Pools, wanted: Wanted, systems: pl.DataFrame, rankings: pl.DataFrame
) -> pl.DataFrame:
    """Sum up both tables by measure and list, over the teams that contributed."""
    contributed = known.by_team.filter(pl.col("contributing") > 0)["team"]
    sign = pl.col("measure").replace_strict(
        dict(zip(wanted.names, np.where(wanted.lower, 1.0, -1.0).tolist(), strict=True))
    )
    drops = (
        systems.filter(pl.col("team").is_in(contributed.implode()))
        .with_columns(drop=pl.col("difference") * sign, share=pl.col("change %") * sign)
        .group_by("measure", "list", maintain_order=True)
        .agg(
            pl.col("drop").mean().alias("mean drop"),
            pl.col("drop").max().clip(lower_bound=0.0).alias("largest drop"),
            pl.col("share").mean().alias("mean drop %"),
            pl.col("share").max().clip(lower_bound=0.0).alias("largest drop %"),
            (-pl.col("drop").min()).clip(lower_bound=0.0).alias("largest gain"),
            pl.col("rank change").abs().max().alias("largest rank change"),
        )
    )
    taus = rankings.group_by("measure", "list", maintain_order=True).agg(
        pl.col("tau").mean().alias("mean tau"), pl.col("tau").min().alias("lowest tau")
    )
    return drops.join(taus, on=["measure", "list"], how="left", maintain_order="left")
