"""Scores of runs after judging the documents that a pooling method requests within a budget."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.assess.pools.orders import order
from cranfield.assess.pools.pool import UNJUDGED, Pool
from cranfield.base.arrays import Bools, Floats, Indices, Ints, round_for_ranking
from cranfield.collection.qrels import Qrels
from cranfield.correlation import tau_ap
from cranfield.meta.collection_studies.pools import Pools, TracedRuns
from cranfield.meta.collection_studies.rankings import (
    Scoring,
    rank_correlation,
    rank_systems,
    score_blocks,
)
from cranfield.meta.test_studies.fast_tests import TestChoice, verdict_or_none
from cranfield.scores import Scores

Task = tuple[str | None, int]
"""A method, or None for the whole pool, and the index of a repeat."""

PAIRS = ("significant", "confirmed", "lost", "new", "reversed")
"""Numbers of pairs of systems, compared with the test on all judgments."""

AGREEMENT: dict[str, Any] = {
    **dict.fromkeys(("tau", "tau ap", "rmse"), pl.Float64),
    **dict.fromkeys(("rank change", *PAIRS), pl.Int64),
}
"""Columns for the agreement with scores by all judgments."""

EXCLUSION: dict[str, Any] = {
    **dict.fromkeys(("drop", "drop %", "largest drop"), pl.Float64),
    "fall": pl.Int64,
}
"""Columns for the effects of excluding a team on its systems."""

_ROW: dict[str, Any] = {
    **dict.fromkeys(("measure", "list", "method"), pl.String),
    **dict.fromkeys(("budget", "repeat", "requested", "judged", "relevant"), pl.Int64),
    **AGREEMENT,
    **EXCLUSION,
}


@dataclass(frozen=True, eq=False)
class PoolingInputs:
    """Inputs of all parts of a study of pooling.

    judgment: index of the judgment of each document of the pool, or -1; shape (documents,).
    is_evaluated: mask of the documents of evaluated topics; shape (documents,). full_scores: scores
    with all judgments, by kind of score. signs: sign of the significant differences by pair, 0 for
    others, by kind of score; None if pairs cannot be tested.
    """

    team_pools: Pools
    scoring: Scoring
    pool: Pool
    qrels: Qrels
    judgment: Ints
    is_evaluated: Bools
    budgets: tuple[int, ...]
    rel: int
    others: str
    choice: TestChoice
    seed: int
    full_scores: list[Scores]
    signs: list[Ints | None]


def find_judgments(runs: TracedRuns, pool: Pool) -> Ints:
    """Find the index of the judgment of each document of a pool, or -1; shape (documents,)."""
    numbers = np.arange(runs.topic.size, dtype=np.int32)
    positions = Qrels(runs.judged.topics, runs.topic.astype(np.int32), runs.doc, numbers)
    judgments = pool.graded(positions).astype(np.int64)
    return np.where(judgments == UNJUDGED, -1, judgments)


def has_judgments(runs: TracedRuns, pool: Pool) -> Bools:
    """Return a mask of the documents of a pool whose topics have judgments."""
    topics = {runs.judged.topics[t] for t in np.unique(runs.topic).tolist()}
    return np.array([name in topics for name in pool.topics], dtype=bool)[pool.topic]


def significant_signs(choice: TestChoice, scores: Scores, seed: int) -> Ints | None:
    """Return the sign of significant differences by pair, 0 for others; None if not testable."""
    verdict, is_tested = verdict_or_none(choice, scores, seed)
    return np.where(verdict.significant, verdict.order, 0).astype(np.int64) if is_tested else None


def judge_within_budgets(inputs: PoolingInputs, task: Task) -> pl.DataFrame:
    """Judge documents in the order of a method, and score the runs within each budget.

    Rows are by budget, measure and kind of list; scores are arrays in order of the systems.
    """
    method, repeat = task
    if method is None:
        return _score_budget(inputs, np.flatnonzero(inputs.is_evaluated), method, None, repeat)
    judging_order = order(
        inputs.pool,
        method,
        inputs.qrels,
        seed=inputs.seed + repeat,
        rel=inputs.rel,
        negative=inputs.team_pools.runs.judged.policies.negative,
    )
    # The method defines whether topics take turns in the queue or are ordered jointly.
    queue = judging_order.sequence[inputs.is_evaluated[judging_order.sequence]]
    sizes = np.bincount(inputs.pool.topic[queue])
    return pl.concat(
        _score_budget(inputs, queue[: np.minimum(sizes, budget).sum()], method, budget, repeat)
        for budget in inputs.budgets
    )


def _score_budget(
    inputs: PoolingInputs, documents: Indices, method: str | None, budget: int | None, repeat: int
) -> pl.DataFrame:
    runs = inputs.team_pools.runs
    judgments = inputs.judgment[documents]
    judgments = judgments[judgments >= 0]
    if runs.judged.policies.negative == "unjudged":
        judgments = judgments[runs.grade[judgments] >= 0]
    is_judged = np.zeros(runs.grade.size, dtype=bool)
    is_judged[judgments] = True
    topic_scores = score_blocks(runs.blocks(is_judged), inputs.scoring)
    scores = np.array([table.overall() for table in topic_scores])
    loo_scores = _score_without_unique(inputs, is_judged, scores)
    counts = {
        "method": method,
        "budget": budget,
        "repeat": repeat,
        "requested": documents.size,
        "judged": judgments.size,
        "relevant": int((runs.grade[judgments] >= inputs.rel).sum()),
    }
    rows = [
        {
            "measure": measure,
            "list": kind,
            **counts,
            **_compare_with_full(inputs, k, topic_scores[k], lower_is_better),
            **_summarise(inputs.team_pools, scores[k], loo_scores[k], lower_is_better),
        }
        for k, (measure, kind, lower_is_better) in enumerate(inputs.scoring.kinds)
    ]
    by_system = pl.Array(pl.Float64, scores.shape[1])
    return (
        pl.DataFrame(rows, _ROW)
        .fill_nan(None)
        .with_columns(
            pl.Series("score", scores, by_system), pl.Series("without", loo_scores, by_system)
        )
    )


def _compare_with_full(
    inputs: PoolingInputs, kind: int, scores: Scores, lower_is_better: bool
) -> dict[str, Any]:
    """Compare scores with the scores by all judgments."""
    before, after = inputs.full_scores[kind].overall(), scores.overall()
    has_score = ~(np.isnan(before) | np.isnan(after))
    sign = -1.0 if lower_is_better else 1.0
    full_ranks, new_ranks = (rank_systems(x, x, lower_is_better) for x in (before, after))
    rank_changes = np.abs(new_ranks - full_ranks)[has_score]
    orders = (round_for_ranking(sign * values[has_score]) for values in (after, before))
    full_signs = inputs.signs[kind]
    new_signs = significant_signs(inputs.choice, scores, inputs.seed)
    pairs: list[int | None] = [None] * len(PAIRS)
    if full_signs is not None and new_signs is not None:
        in_full, in_new, products = full_signs != 0, new_signs != 0, full_signs * new_signs
        masks = (in_new, products > 0, in_full & ~in_new, in_new & ~in_full, products < 0)
        pairs = [int(mask.sum()) for mask in masks]
    return {
        "tau": rank_correlation(before, after),
        "tau ap": float(tau_ap(*orders)),
        "rmse": float(np.sqrt(np.mean((after - before)[has_score] ** 2)))
        if has_score.any()
        else None,
        "rank change": int(rank_changes.max()) if has_score.any() else None,
        **dict(zip(PAIRS, pairs, strict=True)),
    }


def _score_without_unique(inputs: PoolingInputs, is_judged: Bools, scores: Floats) -> Floats:
    """Score each system without the unique documents of its team; shape (kinds, systems)."""
    team_pools = inputs.team_pools
    if len(team_pools.teams) < 2:
        return np.full(scores.shape, np.nan)
    loo_scores = scores.copy()
    for team in np.unique(team_pools.owner[is_judged]).tolist():
        if team >= 0:
            team_runs = np.flatnonzero(team_pools.team_of == team)
            mask = is_judged & (team_pools.owner != team)
            blocks = team_pools.runs.single_systems(mask, team_runs)
            loo_scores[:, team_runs] = [s.overall() for s in score_blocks(blocks, inputs.scoring)]
    return loo_scores


def _summarise(
    team_pools: Pools, before: Floats, after: Floats, lower_is_better: bool
) -> dict[str, Any]:
    """Summarise the changes of systems of contributing teams when their team is excluded."""
    is_contributor = np.isin(team_pools.team_of, team_pools.team_of[team_pools.contributes])
    drop = after - before if lower_is_better else before - after
    has_drop = is_contributor & ~np.isnan(drop)
    if not has_drop.any():
        return {}
    full_ranks, new_ranks = (rank_systems(x, before, lower_is_better) for x in (before, after))
    fall = new_ranks - full_ranks
    has_percentage = has_drop & (before != 0)
    percents = 100 * drop[has_percentage] / np.abs(before[has_percentage])
    return {
        "drop": float(drop[has_drop].mean()),
        "drop %": float(percents.mean()) if percents.size else None,
        "largest drop": max(0.0, float(drop[has_drop].max())),
        "fall": max(0, int(fall[has_drop].max())),
    }
