"""A comparison as data frames: a row a system, or a row a pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from cranfield.significance.comparison.result import PairwiseComparison


def by_system(found: PairwiseComparison) -> pl.DataFrame:
    """Return the systems from best to worst: mean, interval and groups where there are any."""
    order = found.order
    columns: dict[str, Any] = {
        "system": [found.systems[k] for k in order],
        found.mean_of: found.means[order],
    }
    if found.half_widths is not None:
        columns["low"] = (found.means - found.half_widths)[order]
        columns["high"] = (found.means + found.half_widths)[order]
    if not found.baselines and found.alternative == "two-sided":
        columns["groups"] = list(found.groups().values())
    return pl.DataFrame(columns)


def by_pair(found: PairwiseComparison, alpha: float | None = None) -> pl.DataFrame:
    """Return a table with a row a pair; limits and significance at `alpha`, if it is given."""
    low, high = found.interval if alpha is None else found.interval_at(alpha)
    names = pl.Series(found.systems, dtype=pl.String)
    return pl.DataFrame(
        {
            "first": names.gather(found.first),
            "second": names.gather(found.second),
            "difference": found.difference,
            "low": low,
            "high": high,
            "statistic": found.statistic,
            "raw p": found.raw_pvalues,
            "p": found.adjusted_pvalues,
            "effect": found.effect,
            "n": found.n,
            "zeros": found.zeros,
            "ties": found.ties,
            "significant": found.is_significant(alpha),
        }
    )
