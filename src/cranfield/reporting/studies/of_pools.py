"""Studies of the pools of a collection, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from cranfield.base.words import counted
from cranfield.meta.of_collections.leave_one_out import LeaveOneOut
from cranfield.meta.of_collections.pool_depth import PoolDepths
from cranfield.reporting.studies.as_text import StudyText, by_column, first_rows

Frames = Mapping[str, tuple[pl.DataFrame, Sequence[str]]]

_OTHERS = {"keep": "kept", "drop": "taken back"}


def of_leave_one_out(found: LeaveOneOut) -> StudyText:
    """Show what happens without each team, or each run."""
    pools = found.pools
    # Each run alone where no teams were told.
    unit = "run" if len(pools.teams) == len(pools.team_of) else "team"
    every = {
        "unique": (found.teams, ("team",)),
        "summary": (found.summary, ("measure", "list")),
        "rankings": (found.rankings, ("measure", "list", "team")),
        "systems": (found.systems, ("measure", "list", "system", "team")),
    }
    frames = {
        name: (frame.select(pl.lit(unit).alias("left out"), pl.all()), ("left out", *keys))
        for name, (frame, keys) in every.items()
    }
    heading = [
        f"leaving out each {unit}: {counted(len(pools.teams), unit)},"
        f" {counted(int(pools.contributes.sum()), 'contributing run')}, pool depth {pools.depth}"
        f"{', found in the judgments' if pools.found else ''}"
    ]
    if pools.outside:
        heading.append(
            f"note: {counted(pools.outside, 'judgment')} of documents that no contributing run has"
            f" in its top {pools.depth}; these are {_OTHERS[found.others]}"
        )
    tables = [
        by_column(
            found.summary,
            f"Leaving out the unique documents of each {unit}: changes of its runs' scores",
            left=["measure", "list"],
            places={"mean drop %": 1, "largest drop %": 1},
        ),
        first_rows(
            found.teams.sort("unique relevant", "unique", descending=True),
            f"Unique contributions by {unit}, most relevant ones first",
            left=["team"],
        ),
    ]
    for (measure, kind), rows in found.systems.group_by("measure", "list", maintain_order=True):
        tables.append(
            first_rows(
                rows.sort(
                    pl.col("rank change", "difference").abs(), descending=True, nulls_last=True
                ).drop("measure", "list", "contributes"),
                f"{measure}, {kind} lists: ranks with and without the {unit}'s unique documents,"
                " largest change first",
                left=["system", "team"],
                places={"change %": 1},
            )
        )
    about = {
        "study": "leave one out",
        "left out": unit,
        "measures": list(found.measures),
        "lists": list(found.lists),
        "depth": pools.depth,
        "others": found.others,
    }
    return StudyText(heading, tables, {f"left out {k}": v for k, v in frames.items()}, about)


def of_pool_depths(found: PoolDepths) -> StudyText:
    """Show what shallower pools do."""
    runs = counted(len(found.contributors), "contributing run")
    tables = [
        by_column(
            found.pools.with_columns(pl.col("depth").cast(pl.String).fill_null("all")),
            f"Shallower pools of {runs}: what they judge; unjudged: share of the top {found.top}",
            left=["depth"],
        ),
        by_column(
            found.rankings,
            "Shallower pools: scores, and the order of systems, against those by all judgments",
            left=["measure", "list"],
        ),
    ]
    about = {
        "study": "pool depths",
        "measures": list(found.measures),
        "lists": list(found.lists),
        "depths": list(found.depths),
        "contributors": list(found.contributors),
    }
    frames: Frames = {
        "pools": (found.pools, ("depth",)),
        "pool rankings": (found.rankings, ("measure", "list", "depth")),
        "pool systems": (found.systems, ("measure", "list", "depth", "system")),
    }
    return StudyText([], tables, frames, about)
