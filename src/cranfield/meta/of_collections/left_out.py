"""What happens without each team: the result of leaving out, and how its tables are made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.words import counted
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.meta.of_collections.pools import Pools
from cranfield.meta.of_collections.rankings import Wanted, agreement, ranks
from cranfield.meta.study import Study, first_rows
from cranfield.tabular import Table, from_frame


@dataclass(frozen=True, eq=False, repr=False)
class LeaveOneOut(
    Study,
    name="leave-one-out",
    source="Zobel (1998); Sakai (2013)",
    keys={
        "left out unique": ("left out", "team"),
        "left out summary": ("left out", "measure", "list"),
        "left out rankings": ("left out", "measure", "list", "team"),
        "left out systems": ("left out", "measure", "list", "system", "team"),
    },
    main="summary",
):
    """What happens to each team when its unique contributions are taken from the judgments.

    Attributes
    ----------
    measures, lists
        Text forms of the measures, and kinds of lists: `raw`, `condensed`.
    pools
        Who contributed what: the teams, the contributing runs, the depth.
    others
        What became of judgments from outside the pool: `keep` or `drop`.
    systems
        Table with a row a measure, list and system: its `team`, whether its run `contributes`, its
        overall score `before` and `after` its team is left out, the `difference` (after minus
        before, null without a score), the `change %` (null where the score was 0), its `rank
        before` and `rank after`, and the `rank change` (positive: it fell).
    teams
        Table with a row a team: what it contributed; see :class:`Pools`.
    rankings
        Table with a row a measure, list and team left out: Kendall's `tau` of all systems ordered
        by the scores with all judgments and by those with the judgments without the team (null
        where all systems are tied), the `largest rank change` of any system between these orders,
        and of the team's own runs the `mean drop` and the `largest drop`.
    summary
        Table with a row a measure and list, over the systems of teams that contributed: the `mean
        drop` and `largest drop` of the overall score and the same in percent, the `largest gain`
        (the largest are 0 if there is none), the `largest rank change` in either direction, and
        over all teams the `mean tau` and the `lowest tau`. A drop is a change for the worse,
        whether a measure wants high scores or low ones.
    """

    measures: tuple[str, ...]
    lists: tuple[str, ...]
    pools: Pools
    others: str
    systems: pl.DataFrame
    teams: pl.DataFrame
    rankings: pl.DataFrame
    summary: pl.DataFrame

    def judged_without(self, team: str) -> JudgedRuns:
        """Return all runs, judged without the unique contributions of a team that is there."""
        if team not in self.pools.teams:
            raise PolicyError(f"there is no team {quoted(team)}")
        kept = self.pools.without(self.pools.teams.index(team), self.others)
        return self.pools.runs.restricted(kept)

    @property
    def unit(self) -> str:
        """What was left out: a `team`, or a `run` where no teams were told."""
        return "run" if len(self.pools.teams) == len(self.pools.team_of) else "team"

    @property
    def verdict(self) -> tuple[str, ...]:
        told = []
        for row in self.summary.iter_rows(named=True):
            if row["mean drop %"] is None or row["mean tau"] is None:
                continue
            told.append(
                f"{row['measure']}, {row['list']} lists: without the unique documents of its"
                f" {self.unit}"
                f" a run loses {row['mean drop %']:.1f}% on average,"
                f" {row['largest drop %']:.1f}% at"
                f" most, and moves by up to {counted(row['largest rank change'], 'rank')}; the"
                f" orders"
                f" of all systems have a tau of {row['mean tau']:.2f} on average."
            )
        return (*told, "What new systems lose can be more, if they are unlike all of these.")

    def heading(self) -> list[str]:
        pools, unit = self.pools, self.unit
        runs = counted(int(pools.contributes.sum()), "contributing run")
        lines = [
            f"leaving out each {unit}: {counted(len(pools.teams), unit)}, {runs}, pool depth"
            f" {pools.depth}{', found in the judgments' if pools.found else ''}"
        ]
        apart = len(pools.contributes) - int(pools.contributes.sum())
        if pools.found and apart:
            lines.append(
                f"note: the half of the runs that is judged deepest has all its top {pools.depth}"
                f" judged; the other {counted(apart, 'run')} {'is' if apart == 1 else 'are'} taken"
                " for not pooled (a depth, and contributors, say otherwise)"
            )
        if pools.outside:
            fate = {"keep": "kept", "drop": "taken back"}[self.others]
            lines.append(
                f"note: {counted(pools.outside, 'judgment')} of documents that no contributing run"
                f" has in its top {pools.depth}; these are {fate}"
            )
        return lines

    def frames(self) -> dict[str, pl.DataFrame]:
        unit = pl.lit(self.unit).alias("left out")
        every = (self.teams, self.summary, self.rankings, self.systems)
        return {
            name: frame.select(unit, pl.all()) for name, frame in zip(self.keys, every, strict=True)
        }

    def about(self) -> dict[str, Any]:
        of_study = {"study": "leave one out", "left out": self.unit}
        options = {**self._chosen("measures", "lists"), "depth": self.pools.depth}
        return {**of_study, **options, "others": self.others}

    def tables(self) -> list[Table]:
        unit = self.unit
        tables = [
            from_frame(
                self.summary,
                f"Leaving out the unique documents of each {unit}: changes of its runs' scores",
                left=["measure", "list"],
                places={"mean drop %": 1, "largest drop %": 1},
            ),
            first_rows(
                self.teams.sort("unique relevant", "unique", descending=True),
                f"Unique contributions by {unit}, most relevant ones first",
                left=["team"],
            ),
        ]
        change = pl.col("rank change", "difference").abs()
        for (measure, kind), rows in self.systems.group_by("measure", "list", maintain_order=True):
            tables.append(
                first_rows(
                    rows.sort(change, descending=True, nulls_last=True).drop(
                        "measure", "list", "contributes"
                    ),
                    f"{measure}, {kind} lists: ranks with and without the {unit}'s unique"
                    " documents, largest change first",
                    left=["system", "team"],
                    places={"change %": 1},
                )
            )
        return tables

    def __repr__(self) -> str:
        return (
            f"LeaveOneOut({counted(len(self.pools.teams), 'team')},"
            f" {counted(len(self.pools.team_of), 'system')}, depth {self.pools.depth}:"
            f" {', '.join(self.measures)}; {', '.join(self.lists)})"
        )


def left_out(
    known: Pools, wanted: Wanted, others: str, before: Floats, after: Floats
) -> LeaveOneOut:
    """Make the result of overall scores, shape ([teams,] lists, measures, systems)."""
    systems, rankings = (
        pl.concat(
            table(known, wanted, place, before[place], after[(slice(None), *place)])
            for place in wanted.places
        )
        for table in (_of_systems, _of_rankings)
    )
    summary = _summary(known, wanted, systems, rankings)
    return LeaveOneOut(
        tuple(wanted.names), wanted.lists, known, others, systems, known.by_team, rankings, summary
    )


def _labels(wanted: Wanted, place: tuple[int, int], rows: int) -> dict[str, list[str]]:
    return {"measure": [wanted.names[place[1]]] * rows, "list": [wanted.lists[place[0]]] * rows}


def _of_systems(
    known: Pools, wanted: Wanted, place: tuple[int, int], before: Floats, after: Floats
) -> pl.DataFrame:
    """Compare each system's score with the one without its team; shapes ([teams,] systems)."""
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


def _of_rankings(
    known: Pools, wanted: Wanted, place: tuple[int, int], before: Floats, after: Floats
) -> pl.DataFrame:
    """Compare all systems without a team with all systems before, a row a team left out."""
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


def _summary(
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
