"""What budgets of judgments buy: the result of the study of pooling, and its tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.assess.pools.pool import Pool
from cranfield.base.words import counted, names_or_count
from cranfield.meta.of_collections.pools import Pools
from cranfield.meta.of_collections.rankings import Wanted, ranks
from cranfield.meta.of_collections.spending import AGREEMENT, ALONE, PAIRS
from cranfield.meta.study import Study, attaining, percent
from cranfield.tabular import Table, from_frame

KIND = ("measure", "list")
BUDGET = ("method", "budget")
SPREAD = ("tau", "tau ap", "rmse")
"""Numbers whose standard deviation over repeats is told."""

WHOLE = "whole pool"


@dataclass(frozen=True, eq=False, repr=False)
class Pooling(
    Study,
    name="pooling",
    source="Zobel (1998); Losada, Parapar and Barreiro (2017); Otero, Parapar and Ferro (2023)",
    keys={
        "pooling found": BUDGET,
        "pooling rankings": (*KIND, *BUDGET),
        "pooling samples": (*KIND, *BUDGET, "repeat"),
        "pooling systems": (*KIND, *BUDGET, "repeat", "system"),
    },
    main="rankings",
):
    """Methods of judging a pool, by what their first documents find and say; see :func:`pooling`.

    In all tables the last row or rows, with null for method and budget, are of the whole pool,
    which every method ends with.

    Attributes
    ----------
    measures, lists
        Text forms of the measures, and kinds of lists: `raw`, `condensed`.
    methods, budgets, repeats
        Text forms of the methods, judgments of each topic in rising order, and how often methods
        that draw random numbers were repeated.
    test, correction, alpha
        How pairs of systems were compared, and at which level.
    rel, seed
        Lowest grade that counts as relevant, and the seed.
    pools
        The judged runs, the teams and the systems that contribute to the pool.
    pool
        The pool that is judged.
    relevant
        Number of relevant documents of all judgments, of topics that count.
    found
        Table with a row a method and budget: `repeats`, documents `asked` for, those of them that
        are `judged`, the `relevant` ones found, with the standard deviation over repeats `relevant
        sd`, and their shares `of pool` and `of all` relevant documents. Means over repeats.
    rankings
        Table with a row a measure, list, method and budget. Against the scores by all judgments:
        Kendall's `tau`, `tau ap` and the root of the mean squared difference of overall scores,
        `rmse`, each with a standard deviation over repeats, and the largest `rank change`. Pairs of
        systems that are `significant`; of those significant with all judgments the ones `found
        again` with the same sign, `lost`, or `reversed`: significant with the other sign; and `new`
        ones. Of systems whose teams contribute, each team left out alone: mean `drop` of the score,
        the same in percent, the `largest drop` and the largest `fall` in ranks. Means over repeats.
    samples
        The same without means: a row a measure, list, method, budget and repeat.
    systems
        Table with a row a measure, list, method, budget, repeat and system: the overall `score` and
        `rank`, both by all judgments, `full score` and `full rank`, and both without what only its
        team's runs have in the pool: `score without`, `rank without`.
    notes
        What should be known.
    """

    measures: tuple[str, ...]
    lists: tuple[str, ...]
    methods: tuple[str, ...]
    budgets: tuple[int, ...]
    repeats: int
    test: str
    correction: str
    alpha: float
    rel: int
    seed: int
    pools: Pools
    pool: Pool
    relevant: int
    found: pl.DataFrame
    rankings: pl.DataFrame
    samples: pl.DataFrame
    systems: pl.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.found.filter(pl.col("budget") == self.found["budget"].min())
        best = rows.sort("relevant", descending=True, nulls_last=True).row(0, named=True)
        if best["of pool"] is None:
            return ()
        names = attaining(rows, "relevant", best["relevant"], "method")
        share = f"{percent(best['of pool'])} of those in the pool"
        budget = f"With {counted(best['budget'], 'judgment')} a topic,"
        if len(names) == len(rows) > 1:
            lead = (
                f"{budget} all {len(rows)} methods find equally many relevant documents: {share}."
            )
        else:
            finds = "finds" if len(names) == 1 else "find"
            lead = (
                f"{budget} {names_or_count(names, 'method')} {finds} the most relevant documents:"
                f" {share}."
            )
        return (
            lead,
            f"That rests on {counted(len(self.pools.runs.judged.topics), 'topic')}"
            f" and {counted(self.repeats, 'repeat')} of methods that draw.",
        )

    def heading(self) -> list[str]:
        runs = counted(int(self.pools.contributes.sum()), "contributing run")
        drawn = self.found["repeats"].max() != 1
        again = f"; {counted(self.repeats, 'repeat')}, seed {self.seed}" if drawn else ""
        return [
            f"judging a pool of {counted(len(self.pool), 'document')}: {runs}, depth"
            f" {self.pool.depth}; {counted(len(self.pools.team_of), 'system')} scored{again};"
            f" {self.test} with {self.correction}, alpha {self.alpha:g}"
        ]

    def frames(self) -> dict[str, pl.DataFrame]:
        every = (self.found, self.rankings, self.samples, self.systems)
        return dict(zip(self.keys, every, strict=True))

    def about(self) -> dict[str, Any]:
        options = ("measures", "lists", "methods", "budgets", "repeats", "seed", "rel", "relevant")
        return {
            "study": "pooling",
            **self._chosen(*options, "test", "correction", "alpha"),
            "depth": self.pool.depth,
            "pooled": len(self.pool),
        }

    def tables(self) -> list[Table]:
        several = int(self.found["relevant sd"].is_not_null().any())
        tables = [
            from_frame(
                _shown(self.found).pivot("budget", index="method", values="relevant"),
                f"Relevant documents found, of {self.relevant:,}, by judgments of each topic",
                left=["method"],
                places=several,
            )
        ]
        without = () if several else tuple(f"{name} sd" for name in SPREAD)
        places = {"drop %": 1, **dict.fromkeys(("rank change", *PAIRS, "fall"), several)}
        for (measure, kind), rows in self.rankings.group_by(*KIND, maintain_order=True):
            whole = rows["found again", "lost", "reversed"].tail(1)
            tested = whole.sum_horizontal(ignore_nulls=False).item()
            pairs = "" if tested is None else f", where {tested:,.0f} pairs differ significantly"
            tables.append(
                from_frame(
                    _shown(rows.drop(*KIND, "repeats", *without)),
                    f"{measure}, {kind} lists: budgets against all judgments{pairs};"
                    f" drop and fall: of a {self.unit} left out",
                    left=["method"],
                    places=places,
                )
            )
        return tables

    @property
    def unit(self) -> str:
        """What was left out: a `team`, or a `run` where no teams were told."""
        return "run" if len(self.pools.teams) == len(self.pools.team_of) else "team"

    def __repr__(self) -> str:
        return (
            f"Pooling({len(self.pool):,} documents, {counted(len(self.methods), 'method')}, budgets"
            f" {list(self.budgets)}: {', '.join(self.measures)}; {', '.join(self.lists)})"
        )


def _shown(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(
        pl.col("method").fill_null(WHOLE), pl.col("budget").cast(pl.String).fill_null("all")
    )


def over_repeats(samples: pl.DataFrame, relevant: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return what is found, and what is said of systems, as means over repeats."""
    # What is found is the same by each measure.
    first = pl.struct(*KIND) == pl.struct(*KIND).first()
    of_pool = pl.col("relevant") / pl.col("relevant").last()
    found = (
        samples.filter(first)
        .group_by(*BUDGET, maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("repeats"),
            pl.col("asked", "judged", "relevant").mean(),
            pl.col("relevant").std().alias("relevant sd"),
        )
        .with_columns(
            of_pool.fill_nan(None).alias("of pool"),
            (pl.col("relevant") / relevant).fill_nan(None).alias("of all"),
        )
    )
    spread: list[pl.Expr] = []
    for name in AGREEMENT:
        spread.append(pl.col(name).mean())
        if name in SPREAD:
            spread.append(pl.col(name).std().alias(f"{name} sd"))
    rankings = samples.group_by(*KIND, *BUDGET, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("repeats"), *spread, pl.col(*ALONE).mean()
    )
    return found, rankings


def of_systems(
    rows: pl.DataFrame, systems: Sequence[str], full: Sequence[Any], wanted: Wanted
) -> pl.DataFrame:
    """Make a row a system of the scores of each row, and rank it."""
    place = {(wanted.names[m], wanted.lists[k]): i for i, (k, m) in enumerate(wanted.places)}
    lower = dict(zip(wanted.names, wanted.lower.tolist(), strict=True))
    tables = []
    for row in rows.select(*KIND, *BUDGET, "repeat", "score", "without").iter_rows(named=True):
        score, without = (np.array(row.pop(name), dtype=float) for name in ("score", "without"))
        before, down = full[place[row["measure"], row["list"]]], lower[row["measure"]]
        columns = {
            "system": pl.Series(systems, dtype=pl.String),
            "score": score,
            "rank": ranks(score, score, down),
            "full score": before,
            "full rank": ranks(before, before, down),
            "score without": without,
            "rank without": ranks(without, score, down),
        }
        labels = [pl.lit(value, rows.schema[name]).alias(name) for name, value in row.items()]
        tables.append(pl.DataFrame(columns).select(*labels, pl.all()))
    return pl.concat(tables).with_columns(
        pl.col("^.*score.*$").fill_nan(None), pl.col("^.*rank.*$").fill_nan(None).cast(pl.Int64)
    )
