"""What samples of topics say, compared with what all topics say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.words import counted
from cranfield.meta.of_topics.topic_samples import AllTopics
from cranfield.meta.study import Study, first_rows, labelled, of_measure, percent, with_limits
from cranfield.tabular import Table, from_frame, number

TAUS = ("tau", "tau ap")
"""How the ranking by a sample is compared with that by all topics."""

MAYBE = dict.fromkeys(
    [*(f"{name}{end}" for name in TAUS for end in ("", " low", " high")), "found again"], pl.Float64
)
"""Columns of the table by size that may hold nothing."""

TOP_SCHEMA = {"topics": pl.Int64, "top": pl.Int64, "same": pl.Float64, "overlap": pl.Float64}
"""Columns of the table of top systems; it may be empty."""


@dataclass(frozen=True, eq=False, repr=False)
class Stability(
    Study,
    name="stability",
    source="Hall and Miller (2009)",
    keys={
        "stability": ("measure", "topics"),
        "top": ("measure", "topics", "top"),
        "first places": ("measure", "topics", "system"),
        "ranks": ("measure", "system"),
    },
    main="by_size",
):
    """What samples of topics say, compared with what all topics say.

    Attributes
    ----------
    measure, systems, topics
        Of the scores, and the number of topics.
    test, correction, alpha
        How pairs of systems were compared.
    repeats, replace, seed
        Number of samples of each size, and how they were drawn.
    confidence
        Level of the limits in all tables: the share of samples between `low` and `high`.
    significant, pairs
        Numbers of significant pairs on all topics, and of all pairs.
    by_size
        Table with a row a number of `topics`:

        - `samples`, and those of them that are `untested`, since the test could not be done: they
          count as finding nothing,
        - mean and limits of Kendall's `tau` with the ranking by all topics, and of `tau ap`, which
          holds that one for the truth and looks at the top,
        - `same first`, how often the first system is first by all topics,
        - mean, median and limits of the number of `significant` pairs,
        - `found again`, the mean share of the pairs significant on all topics that are significant
          in a sample too, with the same better system,
        - `contradicted`, the mean number of them that are significant with the other.
    top
        Table by number of `topics` and `top` systems: `same`, how often the same systems are among
        the top ones; `overlap`, the mean share of those of both that are in both (the size of the
        intersection by that of the larger set).
    firsts
        Table by number of `topics` and `system`: the share of samples in which it comes `first`;
        those that share a first place share the sample. Systems that never do are left out.
    ranks
        Table with a row a system, from best to worst: its `mean` and `rank` by all topics, the
        limits `low` and `high` of its rank, and `best`, its share of first places. Both come from
        samples with replacement of as many topics as there are.
    samples
        Table with a row a sample: `topics`, `repeat`, `tau`, `tau ap`, whether it was `tested`,
        and the numbers of pairs that are `significant`, `found again` and `contradicted`.
    notes
        What was left out or filled in.
    """

    measure: str
    systems: tuple[str, ...]
    topics: int
    test: str
    correction: str
    alpha: float
    repeats: int
    replace: bool
    confidence: float
    seed: int
    significant: int
    pairs: int
    by_size: pl.DataFrame
    top: pl.DataFrame
    firsts: pl.DataFrame
    ranks: pl.DataFrame
    samples: pl.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.by_size.drop_nulls("tau").sort("topics")
        if rows.is_empty():
            return ()
        # Half of the topics: more of them are too nearly all, and agree with all by construction.
        half = rows.filter(pl.col("topics") <= self.topics / 2)
        last = (rows.head(1) if half.is_empty() else half).row(-1, named=True)
        again = (
            ""
            if last["found again"] is None
            else (f" Of pairs that differ by all, {percent(last['found again'])} are found again.")
        )
        return (
            f"{labelled(self.measure)}samples of {last['topics']:,} of the {self.topics:,}"
            f" topics order"
            f" the systems with Kendall's tau {last['tau']:.2f} to the order by all, in"
            f" {percent(self.confidence)} {last['tau low']:.2f} to {last['tau high']:.2f};"
            f" the first system is the same in {percent(last['same first'])}.{again}",
            f"That rests on {counted(self.repeats, 'sample')} of one set of topics, which overlap:"
            " on new topics orders agree less.",
        )

    def heading(self) -> list[str]:
        drawn = "with" if self.replace else "without"
        return [
            f"{labelled(self.measure)}{len(self.systems)} systems,"
            f" {counted(self.topics, 'topic')}; samples {drawn} replacement,"
            f" {counted(self.repeats, 'repeat')}, seed {self.seed};"
            f" {self.test} with {self.correction}, alpha {self.alpha:g}"
        ]

    def frames(self) -> dict[str, pl.DataFrame]:
        every = zip(self.keys, (self.by_size, self.top, self.firsts, self.ranks), strict=True)
        return {name: of_measure(self.measure, frame) for name, frame in every}

    def about(self) -> dict[str, Any]:
        options = ("test", "correction", "alpha", "repeats", "replace", "confidence", "seed")
        return {
            "study": "stability",
            "measure": self.measure,
            "systems": len(self.systems),
            **self._chosen("topics", *options, "significant", "pairs"),
        }

    def tables(self) -> list[Table]:
        measure, percent = labelled(self.measure), f"{100 * self.confidence:g}%"
        rows = [
            [
                f"{row['topics']:,}",
                *with_limits(row, "tau", 2),
                *with_limits(row, "tau ap", 2),
                number(row["same first"], 2),
                *with_limits(row, "significant", 1, 0),
                number(row["found again"], 2),
                number(row["contradicted"], 2),
            ]
            for row in self.by_size.to_dicts()
        ]
        head = ["topics", "tau", "within", "tau ap", "within", "same first"]
        head += ["significant", "within", "found again", "contradicted"]
        title = (
            f"{measure}samples of topics against all {self.topics}, where {self.significant:,} of"
            f" {counted(self.pairs, 'pair')} differ; within: {percent} of samples"
        )
        tables = [Table(title, head, rows, ())]
        if len(self.top):
            table = self.top.pivot("top", index="topics", values="same")
            table = table.rename({name: f"top {name}" for name in table.columns[1:]})
            title = f"{measure}share of samples with the same systems on top"
            tables.append(from_frame(table, title, left=[], places=2))
        title = f"{measure}systems, and {percent} limits of their ranks by bootstrap"
        places = {"rank": 1, "low": 1, "high": 1, "best": 3}
        return [*tables, first_rows(self.ranks, title, left=["system"], places=places)]

    def __repr__(self) -> str:
        label = f"{self.measure}: " if self.measure else ""
        sizes = self.by_size["topics"].to_list()
        return (
            f"Stability({label}{len(self.systems)} systems, {sizes[0]} to {sizes[-1]} of"
            f" {self.topics} topics, {self.repeats} repeats, {self.test} with {self.correction})"
        )


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
    """Return limits by column, of the samples, that at most (1 - confidence) / 2 of them pass."""
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
