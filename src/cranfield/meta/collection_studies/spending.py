"""Scores of runs by the documents that a pooling method requests within a budget."""

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
from cranfield.meta.collection_studies.pools import Pools, TracedRuns
from cranfield.meta.collection_studies.rankings import Wanted, agreement, by_topic, ranks
from cranfield.meta.test_studies.fast_tests import TestChoice, verdict_or_none
from cranfield.scores import Scores

Task = tuple[str | None, int]
"""A method, or None for the whole pool, and a repeat of it."""

PAIRS = ("significant", "confirmed", "lost", "new", "reversed")
"""Numbers of pairs of systems, beside those that are significant with all judgments."""

AGREEMENT: dict[str, Any] = {
    **dict.fromkeys(("tau", "tau ap", "rmse"), pl.Float64),
    **dict.fromkeys(("rank change", *PAIRS), pl.Int64),
}
"""Agreement of scores with those by all judgments."""

ALONE: dict[str, Any] = {
    **dict.fromkeys(("drop", "drop %", "largest drop"), pl.Float64),
    "fall": pl.Int64,
}
"""Effects on the runs of an excluded team."""

_ROW: dict[str, Any] = {
    **dict.fromkeys(("measure", "list", "method"), pl.String),
    **dict.fromkeys(("budget", "repeat", "requested", "judged", "relevant"), pl.Int64),
    **AGREEMENT,
    **ALONE,
}


@dataclass(frozen=True, eq=False)
class Spending:
    """What every part of the study needs.

    `number` is the judgment of each document of the pool, or -1, and `counts` tells which are of
    topics that count, both of shape (documents,). `full` are the scores with all judgments and
    `signs` those of their significant differences by pair, both by kind of score; no signs where
    pairs cannot be tested.
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
    numbers = np.arange(runs.topic.size, dtype=np.int32)
    numbered = Qrels(runs.judged.topics, runs.topic.astype(np.int32), runs.doc, numbers)
    found = within.graded(numbered).astype(np.int64)
    return np.where(found == UNJUDGED, -1, found)


def counting(runs: TracedRuns, within: Pool) -> Bools:
    """Return a mask of the documents of a pool whose topics have judgments."""
    judged = {runs.judged.topics[t] for t in np.unique(runs.topic).tolist()}
    return np.array([name in judged for name in within.topics], dtype=bool)[within.topic]


def signs_of(choice: TestChoice, scores: Scores, seed: int) -> Ints | None:
    """Return the sign of each significant difference, 0 for others; None where none is tested."""
    found, tested = verdict_or_none(choice, scores, seed)
    return np.where(found.significant, found.order, 0).astype(np.int64) if tested else None


def spent(given: Spending, task: Task) -> pl.DataFrame:
    """Judge documents in the order of a method, and score the runs within each budget.

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
    counts = {
        "method": method,
        "budget": budget,
        "repeat": repeat,
        "requested": asked.size,
        "judged": judged.size,
        "relevant": int((runs.grade[judged] >= given.rel).sum()),
    }
    rows = [
        {
            "measure": measure,
            "list": kind,
            **counts,
            **_against(given, k, found[k], lower),
            **_of_teams(given.known, scores[k], without[k], lower),
        }
        for k, (measure, kind, lower) in enumerate(given.wanted.kinds)
    ]
    by_system = pl.Array(pl.Float64, scores.shape[1])
    return (
        pl.DataFrame(rows, _ROW)
        .fill_nan(None)
        .with_columns(
            pl.Series("score", scores, by_system), pl.Series("without", without, by_system)
        )
    )


def _against(given: Spending, kind: int, found: Scores, lower: bool) -> dict[str, Any]:
    """Compare with the scores by all judgments."""
    before, after = given.full[kind].overall(), found.overall()
    known = ~(np.isnan(before) | np.isnan(after))
    sign = -1.0 if lower else 1.0
    moved = np.abs(ranks(after, after, lower) - ranks(before, before, lower))[known]
    orders = (to_order(sign * one[known]) for one in (after, before))
    then, now = given.signs[kind], signs_of(given.choice, found, given.seed)
    pairs: list[int | None] = [None] * len(PAIRS)
    if then is not None and now is not None:
        lost, new = (then != 0) & (now == 0), (then == 0) & (now != 0)
        masks = (now != 0, then * now > 0, lost, new, then * now < 0)
        pairs = [int(mask.sum()) for mask in masks]
    return {
        "tau": agreement(before, after),
        "tau ap": float(tau_ap(*orders)),
        "rmse": float(np.sqrt(np.mean((after - before)[known] ** 2))) if known.any() else None,
        "rank change": int(moved.max()) if known.any() else None,
        **dict(zip(PAIRS, pairs, strict=True)),
    }


def _without_own(given: Spending, kept: Bools, scores: Floats) -> Floats:
    """Score each system without the unique documents of its team; shape (kinds, systems)."""
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


def _of_teams(known: Pools, before: Floats, after: Floats, lower: bool) -> dict[str, Any]:
    """Summarise the changes of the systems of contributing teams, each team excluded alone."""
    contributed = np.isin(known.team_of, known.team_of[known.contributes])
    drop = after - before if lower else before - after
    some = contributed & ~np.isnan(drop)
    if not some.any():
        return {}
    fall = ranks(after, before, lower) - ranks(before, before, lower)
    nonzero = some & (before != 0)
    shares = 100 * drop[nonzero] / np.abs(before[nonzero])
    return {
        "drop": float(drop[some].mean()),
        "drop %": float(shares.mean()) if shares.size else None,
        "largest drop": max(0.0, float(drop[some].max())),
        "fall": max(0, int(fall[some].max())),
    }
