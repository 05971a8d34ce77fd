"""Credit of rankers by the pages of a log, from clicks and teams."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.base.checks import check_choice
from cranfield.base.errors import InputError, PolicyError
from cranfield.base.words import counted
from cranfield.online.log.query_log import QueryLog

SATISFIED = 30.0
"""Seconds of dwell from which a click counts as satisfied."""

UNITS = ("user", "session", "query", "impression")
"""What may be counted and resampled."""


@dataclass(frozen=True, eq=False)
class LogCredits:
    """Credits of the interleaved pages of a log."""

    rankers: tuple[str, ...]  # In order of UTF-8 bytes
    values: Floats  # Shape (pages, rankers); NaN where a ranker took no part
    pages: Ints  # Row of each page in the log
    notes: tuple[str, ...]  # What was left aside


def click_weights(
    log: QueryLog, clicks: str, pages: pl.DataFrame
) -> tuple[pl.DataFrame, list[str]]:
    """Return what the click on each result of pages is worth: `page`, `rank`, `weight`; and notes.

    `all` results that were clicked are worth 1, or only the `first` or `last` one of a page by
    time, or those that satisfied (`sat`): a dwell of 30 seconds at least; else the name of a column
    of clicks. A result that was clicked again is worth what its best click is.
    """
    log.require("clicks", purpose="a preference")
    rows = log.clicks.filter(pl.col("rank").is_not_null())
    rows = rows.join(pages, on="page", how="semi", maintain_order="left")
    notes: list[str] = []
    weight: pl.Expr = pl.lit(1.0)
    if clicks in ("first", "last"):
        # Clicks stand in order of time; without times in that of the source.
        rows = rows.unique("page", keep=clicks, maintain_order=True)  # type: ignore[arg-type]
    elif clicks == "sat":
        log.require("clicks", "dwell", purpose="satisfied clicks")
        weight = (pl.col("dwell") >= SATISFIED).fill_null(False).cast(pl.Float64)
        unknown = rows["dwell"].null_count()
        if unknown:
            notes.append(f"{counted(unknown, 'click')} of unknown dwell taken for not satisfied")
    elif clicks != "all":
        numeric = [name for name, kind in rows.schema.items() if kind.is_numeric()]
        check_choice("clicks", clicks, ["all", "first", "last", "sat", *numeric[2:]])
        weight = pl.col(clicks).cast(pl.Float64).fill_null(0.0)
        unknown = rows[clicks].null_count()
        if unknown:
            notes.append(f"{counted(unknown, 'click')} without {clicks} worth nothing")
    best = rows.group_by("page", "rank", maintain_order=True).agg(weight.max().alias("weight"))
    return best, notes


def teams_of(log: QueryLog) -> tuple[str, ...]:
    """Return the teams of a log, in order of UTF-8 bytes."""
    if "method" not in log.pages.columns:
        log.require("results", "team", purpose="a preference")
    known = "team" in log.results.columns
    names = log.results["team"].drop_nulls().unique() if known else pl.Series(dtype=pl.String)
    if names.is_empty():
        raise InputError(
            "no result has a team: methods other than team draft need the lists (or runs) that were"
            " interleaved",
            source=log.source,
        )
    return tuple(sorted(names, key=str.encode))


def interleaved_pages(log: QueryLog) -> pl.Series:
    """Tell which pages are interleaved: those with a method or a team; all if none has either."""
    pages = log.pages
    known = pl.Series([False]).new_from_index(0, pages.height)
    if "method" in pages.columns:
        known |= pages["method"].is_not_null()
    if "team" in log.results.columns:
        owned = log.results.filter(pl.col("team").is_not_null())["page"]
        known |= pl.int_range(pages.height, eager=True).is_in(owned.unique().implode())
    return known if known.any() else ~known


def team_credits(log: QueryLog, clicks: str = "all") -> LogCredits:
    """Give each ranker the clicks on the results of its team.

    Of two rankers both take part in every interleaved page, with credit 0 where they own nothing
    (Radlinski et al., 2008: the team with more clicks wins the impression). Of more, a ranker takes
    part where it owns a result, as other pages may have interleaved other rankers.
    """
    names = teams_of(log)
    owned = log.results.filter(pl.col("team").is_not_null())
    weights, notes = click_weights(log, clicks, owned)
    each = (
        owned.join(weights, on=["page", "rank"], how="left")
        .group_by("page", "team")
        .agg(pl.col("weight").fill_null(0.0).sum())
        .with_columns(team=pl.col("team").replace_strict(names, range(len(names))))
    )
    pages = interleaved_pages(log).arg_true().to_numpy()
    values = np.full((len(pages), len(names)), 0.0 if len(names) == 2 else np.nan)
    row = np.searchsorted(pages, each["page"].to_numpy())
    values[row, each["team"].to_numpy()] = each["weight"].to_numpy()
    without = log.pages.height - len(pages)
    if without:
        notes.append(f"{counted(without, 'page')} without teams left aside")
    if "method" in log.pages.columns:
        method = log.pages["method"].drop_nulls()
        other = method.filter(~method.str.starts_with("TeamDraft")).unique().sort()
        if len(other):
            notes.append(
                f"clicks are credited by team, though pages were interleaved by {', '.join(other)}:"
                " the lists (or runs) are needed to compare them by that method"
            )
    return LogCredits(names, values, pages.astype(np.int64), tuple(notes))


def units_of(log: QueryLog, pages: Ints, unit: str | None) -> tuple[str, Indices, int, list[str]]:
    """Return what a unit is, that of each page as a number, how many there are, and notes."""
    chosen = log.pages[pages]
    if unit is None:
        for name in ("user", "session"):
            known = chosen[name].drop_nulls() if name in chosen.columns else pl.Series()
            if known.n_unique() < len(known):
                raise PolicyError(
                    f"{name}s come again ({counted(known.n_unique(), name)},"
                    f" {counted(len(known), 'page')}), so that pages are not independent: name the"
                    f" unit, such as unit={name!r}, or unit='impression' if you know better"
                )
        unit = "impression"
    check_choice("unit", unit, UNITS)
    if unit == "impression":
        return unit, np.arange(len(pages)), len(pages), []
    log.require("pages", unit, purpose=f"a preference by {unit}")
    labels = chosen[unit]
    unknown = labels.null_count()
    notes = (
        [f"{counted(unknown, 'page')} without {unit}, each taken for one of its own"]
        if unknown
        else []
    )
    code = labels.rank("dense").to_numpy() - 1.0
    own = np.isnan(code)
    code[own] = labels.n_unique() + np.arange(own.sum())
    known_units, place = np.unique(code, return_inverse=True)
    return unit, place, len(known_units), notes
