"""What a budget of judgments buys: how the runs score by the documents that a method asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.assess.pools.orders import order
from cranfield.assess.pools.pool import UNJUDGED, Pool
from cranfield.base.arrays import Bools, Floats, Indices, Ints, to_order
from cranfield.collection.qrels import Qrels
from cranfield.correlation import tau_ap
from cranfield.meta.of_collections.pools import Pools, TracedRuns
from cranfield.meta.of_collections.rankings import (
    Wanted,
    agreement,
    by_topic,
    ranks,
)
from cranfield.meta.of_tests.fast_tests import TestChoice, verdict_or_none
from cranfield.scores import Scores

Task = tuple[str | None, int]
"""A method, or None for the whole pool, and a repeat of it."""

PAIRS = ("significant", "found again", "lost", "new", "reversed")
"""Numbers of pairs of systems, beside those that are significant with all judgments."""

AGREEMENT: dict[str, Any] = {
    **dict.fromkeys(("tau", "tau ap", "rmse"), pl.Float64),
    **dict.fromkeys(("rank change", *PAIRS), pl.Int64),
}
"""What is said of the scores against those by all judgments."""

ALONE: dict[str, Any] = {
    **dict.fromkeys(("drop", "drop %", "largest drop"), pl.Float64),
    "fall": pl.Int64,
}
"""What becomes of the runs of a team that is left out."""


@dataclass(frozen=True, eq=False)
class Spending:
    """What every part of the study needs.

    `number` is the judgment of each document of the pool, or -1, and `counts` tells which are of
    topics that count, both of shape (documents,). `full` are the scores with all judgments and
    `signs` those of their significant differences by pair, both a list and measure after another,
    measures first; no signs where pairs cannot be tested.
    """

    known: Pools
    wanted: Wanted
    pool: Pool
    qrels: Qrels
    number: Ints
    counts: Bools
    budgets: tuple[int, ...]
    rel: int
    others: str
    choice: TestChoice
    seed: int
    full: list[Scores]
    signs: list[Ints | None]


def judgments_of(runs: TracedRuns, within: Pool) -> Ints:
    """Find the judgment of each document of a pool, or -1; shape (documents,)."""
    own = np.flatnonzero(runs.topic >= 0)
    numbered = Qrels(
        runs.judged.topics,
        runs.topic[own].astype(np.int32),
        runs.doc.gather(own),
        own.astype(np.int32),
    )
    found = within.graded(numbered).astype(np.int64)
    return np.where(found == UNJUDGED, -1, found)


def counting(runs: TracedRuns, within: Pool) -> Bools:
    """Tell which documents of a pool are of topics that somebody judged."""
    judged = {runs.judged.topics[t] for t in np.unique(runs.topic).tolist() if t >= 0}
    return np.array([name in judged for name in within.topics], dtype=bool)[within.topic]


def signs_of(choice: TestChoice, scores: Scores, seed: int) -> Ints | None:
    """Return the sign of each significant difference, 0 for others; None where none is tested."""
    found, tested = verdict_or_none(choice, scores, seed)
    return np.where(found.significant, found.order, 0).astype(np.int64) if tested else None


def spent(given: Spending, task: Task) -> pl.DataFrame:
    """Judge by a method, and score the runs by what each budget buys.

    A row a budget, measure and kind of list; those of systems are in their order.
    """
    method, repeat = task
    if method is None:
        return _scored(given, np.flatnonzero(given.counts), method, None, repeat)
    made = order(
        given.pool,
        method,
        given.qrels,
        seed=given.seed + repeat,
        rel=given.rel,
        negative=given.known.runs.judged.policies.negative,
    )
    # One document of each topic after the other, or as one queue over all topics goes.
    queue = made.sequence[given.counts[made.sequence]]
    sizes = np.bincount(given.pool.topic[queue])
    return pl.concat(
        _scored(given, queue[: np.minimum(sizes, budget).sum()], method, budget, repeat)
        for budget in given.budgets
    )


def _scored(
    given: Spending, asked: Indices, method: str | None, budget: int | None, repeat: int
) -> pl.DataFrame:
    runs = given.known.runs
    judged = given.number[asked]
    judged = judged[judged >= 0]
    if runs.judged.policies.negative == "unjudged":
        judged = judged[runs.grade[judged] >= 0]
    kept = np.zeros(runs.grade.size, dtype=bool)
    kept[judged] = True
    found = by_topic(runs.blocks(kept), given.wanted)
    scores = np.array([one.overall() for one in found])
    without = _without_own(given, kept, scores)
    return pl.DataFrame(
        {
            **_numbers("asked", len(found), asked.size),
            **_numbers("judged", len(found), judged.size),
            **_numbers("relevant", len(found), int((runs.grade[judged] >= given.rel).sum())),
            **_against(given, found, scores),
            **_of_teams(given, scores, without),
            "score": pl.Series(scores, dtype=pl.Array(pl.Float64, scores.shape[1])),
            "without": pl.Series(without, dtype=pl.Array(pl.Float64, scores.shape[1])),
        }
    ).select(
        pl.Series("measure", [given.wanted.names[m] for _, m in given.wanted.places]),
        pl.Series("list", [given.wanted.lists[k] for k, _ in given.wanted.places]),
        pl.lit(method, dtype=pl.String).alias("method"),
        pl.lit(budget, dtype=pl.Int64).alias("budget"),
        pl.lit(repeat, dtype=pl.Int64).alias("repeat"),
        pl.all(),
    )


def _numbers(name: str, rows: int, value: int) -> dict[str, Ints]:
    return {name: np.full(rows, value)}


def _against(given: Spending, found: list[Scores], scores: Floats) -> dict[str, pl.Series]:
    """Compare with the scores by all judgments."""
    rows = []
    for i, (_, m) in enumerate(given.wanted.places):
        before, after, lower = given.full[i].overall(), scores[i], bool(given.wanted.lower[m])
        known = ~(np.isnan(before) | np.isnan(after))
        sign = -1.0 if lower else 1.0
        moved = np.abs(ranks(after, after, lower) - ranks(before, before, lower))[known]
        now, then = signs_of(given.choice, found[i], given.seed), given.signs[i]
        rows.append(
            {
                "tau": agreement(before, after),
                "tau ap": float(tau_ap(*(to_order(sign * one[known]) for one in (after, before)))),
                "rmse": float(np.sqrt(np.mean((after - before)[known] ** 2)))
                if known.any()
                else None,
                "rank change": int(moved.max()) if known.any() else None,
                **_pairs(then, now),
            }
        )
    return pl.DataFrame(rows, schema=AGREEMENT).fill_nan(None).to_dict()


def _pairs(then: Ints | None, now: Ints | None) -> dict[str, int | None]:
    if then is None or now is None:
        return dict.fromkeys(PAIRS)
    found = (
        now != 0,
        then * now > 0,
        (then != 0) & (now == 0),
        (then == 0) & (now != 0),
        then * now < 0,
    )
    return {name: int(one.sum()) for name, one in zip(PAIRS, found, strict=True)}


def _without_own(given: Spending, kept: Bools, scores: Floats) -> Floats:
    """Score each system without what only its team's runs have; shape (places, systems)."""
    known = given.known
    if len(known.teams) < 2:
        return np.full(scores.shape, np.nan)
    out = scores.copy()
    for team in np.unique(known.owner[kept]).tolist():
        if team >= 0:
            own = np.flatnonzero(known.team_of == team)
            parts = known.runs.of_systems(kept & (known.owner != team), own)
            out[:, own] = [one.overall() for one in by_topic(parts, given.wanted)]
    return out


def _of_teams(given: Spending, scores: Floats, without: Floats) -> dict[str, pl.Series]:
    """Sum up what becomes of the systems of teams that contributed, each team left out alone."""
    known = given.known
    contributed = np.isin(known.team_of, known.team_of[known.contributes])
    rows = []
    for i, (_, m) in enumerate(given.wanted.places):
        lower = bool(given.wanted.lower[m])
        before, after = scores[i], without[i]
        drop = after - before if lower else before - after
        fall = ranks(after, before, lower) - ranks(before, before, lower)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(before == 0, np.nan, 100 * drop / np.abs(before))
        some = contributed & ~np.isnan(drop)
        shares = share[some & ~np.isnan(share)]
        rows.append(
            {
                "drop": float(drop[some].mean()) if some.any() else None,
                "drop %": float(shares.mean()) if shares.size else None,
                "largest drop": max(0.0, float(drop[some].max())) if some.any() else None,
                "fall": max(0, int(fall[some].max())) if some.any() else None,
            }
        )
    return pl.DataFrame(rows, schema=ALONE).to_dict()
