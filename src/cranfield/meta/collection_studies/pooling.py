"""Study of pooling methods: relevant documents and rankings within budgets of judgments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.assess.pools.method import Method, parse_method
from cranfield.assess.pools.orders import DEPTH, order
from cranfield.assess.pools.pool import UNJUDGED_GRADE, Pool, pool
from cranfield.base.arrays import Bools, Floats, Indices, Ints, round_for_ranking
from cranfield.base.errors import PolicyError
from cranfield.base.kinds import Integer, Numbers, OneOf, check_arguments
from cranfield.base.text import format_names, inflect
from cranfield.collection.files.many_runs import read_runs
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.policies import MAX_DEPTH
from cranfield.collection.qrels import Qrels
from cranfield.correlation import tau_ap
from cranfield.measures.base import Measure
from cranfield.meta.collection_studies.pools import (
    QRELS_INDEX,
    Pools,
    iterate_blocks,
    iterate_systems,
    pools,
    trace_runs,
)
from cranfield.meta.collection_studies.rankings import (
    LIST_COLUMNS,
    ScoreKinds,
    Teams,
    compute_ranks,
    correlate_ranks,
    join_tables,
    parse_score_kinds,
    score_blocks,
)
from cranfield.meta.study import Study, find_names, format_percent
from cranfield.meta.study_options import Rel, Repeats, Resamples, Seed, check_integers, split_texts
from cranfield.meta.test_studies.fast_tests import TestChoice, compute_decisions, read_choice
from cranfield.meta.work import Progress, hash_values, make_part_name, run_parts
from cranfield.result import Column, Columns
from cranfield.scores import Scores

MethodTask = tuple[str | None, int]
"""Text form of a method (None for the whole pool), and the index of a repeat."""

PAIR_COUNTS = ("significant", "confirmed", "lost", "new", "reversed")
"""Columns that compare significant pairs of systems with those for all judgments."""

_AGREEMENT = {
    "tau": "Kendall's tau with the ranking of systems with all judgments",
    "tau ap": "AP correlation with the ranking of systems with all judgments",
    "rmse": "Root mean square difference from the overall scores with all judgments",
    "rank change": "Largest absolute change of a system's rank from its rank with all judgments",
    "significant": "Number of significant pairs of systems",
    "confirmed": "Number of pairs significant in the same direction with all judgments",
    "lost": "Number of pairs that are significant only with all judgments",
    "new": "Number of significant pairs that are not significant with all judgments",
    "reversed": "Number of pairs significant in the opposite direction with all judgments",
    "drop": "Mean drop of the score of a contributing team's systems if their team is excluded",
    "drop %": "Mean drop of the score in percent, if the team of the system is excluded",
    "largest drop": "Largest drop of a system's score if its team is excluded; 0 if none drops",
    "fall": "Largest drop in rank of a system if its team is excluded; 0 if none drops",
}
"""Columns of the table of rankings, besides keys and repeats, with their descriptions."""

_COUNTS = ("rank change", *PAIR_COUNTS, "fall")
"""Columns of integers; their means over repeats have one decimal."""

_ROW_TYPES: dict[str, Any] = {
    **dict.fromkeys(("measure", "list", "method"), pl.String),
    **dict.fromkeys(("budget", "repeat", "requested", "judged", "relevant"), pl.Int64),
    **{name: pl.Int64 if name in _COUNTS else pl.Float64 for name in _AGREEMENT},
}


@dataclass(frozen=True, eq=False)
class PoolingInputs:
    """Inputs of all parts of a study of pooling."""

    team_pools: Pools
    kinds: ScoreKinds
    pool: Pool
    qrels: Qrels
    judgment_indices: Ints  # of each document of the pool; -1 without a judgment
    is_evaluated: Bools  # whether the topic of each document is evaluated
    budgets: tuple[int, ...]
    rel: int
    others: str
    choice: TestChoice
    seed: int
    full_scores: list[Scores]  # with all judgments, for each kind of score
    signs: list[Ints | None]  # of significant differences by pair; None if no pair can be tested


def locate_judgments(runs: JudgedRuns, qrels: Qrels, pool: Pool) -> tuple[Ints, Bools]:
    """Return the index of each document's judgment, or -1, and whether its topic has judgments."""
    merged = qrels.merge_subtopics()
    # The qrels with indices of judgments in place of grades.
    indices = np.full(len(merged), -1, dtype=np.int32)
    indices[runs.judgments.columns[QRELS_INDEX]] = np.arange(runs.judgments.grade.size)
    judgments = pool.get_grades(replace(merged, grades=indices)).astype(np.int64)
    topics = {runs.topics[t] for t in np.unique(runs.judgments.topic).tolist()}
    is_evaluated = np.array([name in topics for name in pool.topics], dtype=bool)
    return np.where(judgments == UNJUDGED_GRADE, -1, judgments), is_evaluated[pool.topic]


def compute_signs(choice: TestChoice, scores: Scores, seed: int) -> Ints | None:
    """Return signs of significant differences by pair, 0 for others; None if not testable."""
    decisions, is_tested = compute_decisions(choice, scores, seed)
    signs = np.where(decisions.is_significant, decisions.order, 0).astype(np.int64)
    return signs if is_tested else None


def judge_within_budgets(inputs: PoolingInputs, task: MethodTask) -> pl.DataFrame:
    """Judge documents in the order of a method, and score the runs within each budget."""
    method, repeat = task
    if method is None:
        return _score_budget(inputs, np.flatnonzero(inputs.is_evaluated), method, None, repeat)
    judging_order = order(
        inputs.pool,
        method,
        inputs.qrels,
        seed=inputs.seed + repeat,
        rel=inputs.rel,
        negative=inputs.team_pools.runs.policies.negative,
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
    judgments = inputs.judgment_indices[documents]
    judgments = judgments[judgments >= 0]
    if runs.policies.negative == "unjudged":
        judgments = judgments[runs.judgments.grade[judgments] >= 0]
    is_judged = np.zeros(runs.judgments.grade.size, dtype=bool)
    is_judged[judgments] = True
    topic_scores = score_blocks(iterate_blocks(runs, is_judged), inputs.kinds)
    scores = np.array([item.overall() for item in topic_scores])
    loo_scores = _score_without_unique(inputs, is_judged, scores)
    rows = [
        {
            "measure": measure,
            "list": kind,
            "method": method,
            "budget": budget,
            "repeat": repeat,
            "requested": documents.size,
            "judged": judgments.size,
            "relevant": int((runs.judgments.grade[judgments] >= inputs.rel).sum()),
            **_compare_with_full(inputs, k, topic_scores[k], lower_is_better),
            **_summarise_exclusion(inputs.team_pools, scores[k], loo_scores[k], lower_is_better),
        }
        for k, (measure, kind, lower_is_better) in enumerate(inputs.kinds.items)
    ]
    row_type = pl.Array(pl.Float64, scores.shape[1])
    return (
        pl.DataFrame(rows, _ROW_TYPES)
        .fill_nan(None)
        .with_columns(
            pl.Series("score", scores, row_type), pl.Series("without", loo_scores, row_type)
        )
    )


def _compare_with_full(
    inputs: PoolingInputs, kind_index: int, scores: Scores, lower_is_better: bool
) -> dict[str, Any]:
    """Compare scores of one kind with the scores with all judgments."""
    full_values, new_values = inputs.full_scores[kind_index].overall(), scores.overall()
    has_score = ~(np.isnan(full_values) | np.isnan(new_values))
    sign = -1.0 if lower_is_better else 1.0
    full_ranks, new_ranks = (compute_ranks(x, lower_is_better) for x in (full_values, new_values))
    differences = (new_values - full_values)[has_score]
    rank_changes = np.abs(new_ranks - full_ranks)[has_score]
    orders = (round_for_ranking(sign * values[has_score]) for values in (new_values, full_values))
    full_signs = inputs.signs[kind_index]
    new_signs = compute_signs(inputs.choice, scores, inputs.seed)
    pairs: dict[str, int] = {}
    if full_signs is not None and new_signs is not None:
        was_significant, is_significant = full_signs != 0, new_signs != 0
        is_lost, is_new = was_significant & ~is_significant, is_significant & ~was_significant
        products = full_signs * new_signs
        masks = (is_significant, products > 0, is_lost, is_new, products < 0)
        pairs = {name: int(mask.sum()) for name, mask in zip(PAIR_COUNTS, masks, strict=True)}
    return {
        "tau": correlate_ranks(full_values, new_values),
        "tau ap": float(tau_ap(*orders)),
        "rmse": np.sqrt(np.mean(differences**2)) if differences.size else None,
        "rank change": int(rank_changes.max()) if differences.size else None,
        **pairs,
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
            systems = iterate_systems(team_pools.runs, mask, team_runs)
            loo_scores[:, team_runs] = [s.overall() for s in score_blocks(systems, inputs.kinds)]
    return loo_scores


def _summarise_exclusion(
    team_pools: Pools, before: Floats, after: Floats, lower_is_better: bool
) -> dict[str, Any]:
    """Summarise the changes of systems of contributing teams when their team is excluded."""
    is_contributor = np.isin(team_pools.team_of, team_pools.team_of[team_pools.is_contributor])
    drop = after - before if lower_is_better else before - after
    has_drop = is_contributor & ~np.isnan(drop)
    if not has_drop.any():
        return {}
    full_ranks, new_ranks = (compute_ranks(x, lower_is_better, before) for x in (before, after))
    fall = new_ranks - full_ranks
    has_percentage = has_drop & (before != 0)
    percents = 100 * drop[has_percentage] / np.abs(before[has_percentage])
    return {
        "drop": float(drop[has_drop].mean()),
        "drop %": float(percents.mean()) if percents.size else None,
        "largest drop": max(0.0, float(drop[has_drop].max())),
        "fall": max(0, int(fall[has_drop].max())),
    }


KIND_COLUMNS = ("measure", "list")
"""Key columns for the kind of score."""

BUDGET_COLUMNS = ("method", "budget")
"""Key columns for the judgments that scores are computed from."""

SD_COLUMNS = ("tau", "tau ap", "rmse")
"""Columns with a standard deviation over repeats."""

_BUDGET_KEYS = {
    "method": Column("Pooling method; null for the complete pool.", key=True),
    "budget": Column("Number of judgments per topic; null for the complete pool.", key=True),
}

_REPEATS = Column("Number of repeats; the following columns without `sd` are means over them.")
_SD = "Standard deviation of the previous column over repeats; null for one repeat."


def _declare_means() -> Columns:
    """Declare the columns of means over repeats, and of some standard deviations."""
    columns = {}
    for name, description in _AGREEMENT.items():
        decimals = 1 if name in (*_COUNTS, "drop %") else 4
        suffix = "; null if no pair could be tested" if name in PAIR_COUNTS else ""
        columns[name] = Column(f"{description}{suffix}.", decimals=decimals)
        if name in SD_COLUMNS:
            columns[f"{name} sd"] = Column(_SD, display=False)
    return columns


class Pooling(Study):
    """Results of pooling methods with limited numbers of judgments; see :func:`pooling`.

    In all tables rows with null for method and budget are for the complete pool.

    Attributes
    ----------
    measures, lists
        Text forms of the measures, and kinds of lists: `raw`, `condensed`.
    methods, budgets
        Text forms of the methods, and ascending numbers of judgments per topic.
    pools
        The judged runs, the teams, and the systems that contribute to the pool.
    pool
        The documents to judge.
    n_relevant
        Number of relevant documents in all judgments, or in the pool if `others` is `drop`.
    documents, rankings, samples, systems
        The tables `pooling documents`, `pooling rankings`, `pooling samples` and `pooling systems`.
    notes
        Notes on judgments outside the pool, unjudged documents and topics, and untested pairs.
    """

    name = "pooling"
    reference: ClassVar[str] = (
        "Zobel (1998); Losada, Parapar and Barreiro (2017); Otero, Parapar and Ferro (2023)"
    )
    table_attributes: ClassVar[Sequence[str]] = ("documents", "rankings", "samples", "systems")
    titles: ClassVar[Mapping[str, str]] = {
        "pooling documents": "Relevant documents by number of judgments per topic",
        "pooling rankings": "Budgets compared with all judgments; drop: mean drop of a system's"
        " score if its team is excluded; fall: largest drop in rank",
    }
    nulls: ClassVar[Mapping[str, str]] = {"method": "whole pool", "budget": "all"}
    columns: ClassVar[Mapping[str, Columns]] = {
        "pooling documents": {
            **_BUDGET_KEYS,
            "repeats": _REPEATS,
            "requested": Column(
                "Number of documents that the method selects for judging.", decimals=1
            ),
            "judged": Column("Number of selected documents that have a judgment.", decimals=1),
            "relevant": Column("Number of relevant documents found.", decimals=1),
            "relevant sd": Column(_SD),
            "of pool": Column("Proportion of the pool's relevant documents that are found."),
            "of all": Column("Proportion of the `n_relevant` documents that are found."),
        },
        "pooling rankings": {
            **LIST_COLUMNS,
            **_BUDGET_KEYS,
            "repeats": _REPEATS,
            **_declare_means(),
        },
        "pooling samples": {
            **LIST_COLUMNS,
            **_BUDGET_KEYS,
            "repeat": Column("Index of the repeat, from 0.", key=True),
            "*": Column("Value of a column of `pooling documents` or `pooling rankings`."),
        },
        "pooling systems": {
            **LIST_COLUMNS,
            **_BUDGET_KEYS,
            "repeat": Column("Index of the repeat, from 0.", key=True),
            "system": Column("System.", key=True),
            "score": Column("Overall score with the judgments within the budget."),
            "rank": Column("Rank by `score`."),
            "full score": Column("Overall score with all judgments."),
            "full rank": Column("Rank by `full score`."),
            "score without": Column(
                "Overall score without the documents that only the system's team has in the pool."
            ),
            "rank without": Column("Rank by `score without` among the `score` of other systems."),
        },
    }

    pools: Pools
    pool: Pool

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.documents.filter(pl.col("budget") == self.documents["budget"].min())
        row = rows.sort("relevant", descending=True, nulls_last=True).row(0, named=True)
        if row["of pool"] is None:
            return ()
        names = find_names(rows, "relevant", row["relevant"], "method")
        n_repeats = self.documents["repeats"].max()
        repeats_text = f", and {n_repeats:,} repeats of randomised methods" if n_repeats > 1 else ""
        return (
            f"With {inflect(row['budget'], 'judgment')} per topic, the largest number of relevant"
            f" documents is found by {format_names(names, 'method')}:"
            f" {format_percent(row['of pool'])} of the relevant documents in the pool.",
            f"Sample: {inflect(len(self.pools.runs.topics), 'topic')}{repeats_text}.",
        )

    def heading(self) -> list[str]:
        is_random = self.documents["repeats"].max() != 1
        suffix = f"; {inflect(self.repeats, 'repeat')}, seed {self.seed}" if is_random else ""
        return [
            f"pool of {inflect(len(self.pool), 'document')}:"
            f" {inflect(len(self.pools.contributors), 'contributing run')}, depth"
            f" {self.pool.depth}; {inflect(self.n_relevant, 'relevant document')} in"
            f" {'all judgments' if self.others == 'keep' else 'the pool'};"
            f" {inflect(len(self.pools.team_of), 'system')} scored{suffix};"
            f" {self.test} with {self.correction}, alpha {self.alpha:g}"
        ]

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "depth": self.pool.depth, "pooled": len(self.pool)}

    @property
    def unit(self) -> str:
        """Unit of exclusion: `run` if each team has one run, otherwise `team`."""
        return self.pools.unit


def average_repeats(samples: pl.DataFrame, n_relevant: int) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the tables of documents and rankings: means over repeats."""
    repeats, relevant = pl.len().cast(pl.Int64).alias("repeats"), pl.col("relevant")
    # Documents do not depend on the kind of score; use the rows of the first kind.
    is_first_kind = pl.struct(*KIND_COLUMNS) == pl.struct(*KIND_COLUMNS).first()
    documents = (
        samples.filter(is_first_kind)
        .group_by(*BUDGET_COLUMNS, maintain_order=True)
        .agg(
            repeats,
            pl.col("requested", "judged", "relevant").mean(),
            relevant.std().alias("relevant sd"),
        )
        .with_columns(
            (relevant / relevant.last()).fill_nan(None).alias("of pool"),
            (relevant / n_relevant).fill_nan(None).alias("of all"),
        )
    )
    deviations = pl.col(*SD_COLUMNS).std().name.suffix(" sd")
    rankings = (
        samples.group_by(*KIND_COLUMNS, *BUDGET_COLUMNS, maintain_order=True)
        .agg(repeats, pl.col(*_AGREEMENT).mean(), deviations)
        .select(list(Pooling.columns["pooling rankings"]))
    )
    return documents, rankings


def _rank_by_budget(rows: pl.DataFrame, inputs: PoolingInputs) -> pl.DataFrame:
    """Return the scores and ranks of systems by budget, a row per system."""
    names = pl.Series(inputs.team_pools.runs.systems, dtype=pl.String)
    tables = []
    for (measure, kind, lower_is_better), full_scores in zip(
        inputs.kinds.items, inputs.full_scores, strict=True
    ):
        overall = full_scores.overall()
        full_ranks = compute_ranks(overall, lower_is_better)
        kind_rows = rows.filter(pl.col("measure") == measure, pl.col("list") == kind)
        for row in kind_rows.iter_slices(1):
            score, score_without = (row[column].to_numpy()[0] for column in ("score", "without"))
            columns = {
                "system": names,
                "score": score,
                "rank": compute_ranks(score, lower_is_better),
                "full score": overall,
                "full rank": full_ranks,
                "score without": score_without,
                "rank without": compute_ranks(score_without, lower_is_better, score),
            }
            labels = row.select(*KIND_COLUMNS, *BUDGET_COLUMNS, "repeat")
            tables.append(labels.join(pl.DataFrame(columns), how="cross"))
    return join_tables(tables)


METHODS = ("depth", "RRF", "Hedge", "MTF", "MaxMean")
"""Default methods."""

BUDGETS = (5, 10, 20, 50, 100, 200, 300, 500, 1000)
"""Default numbers of judgments per topic."""


def pooling(
    runs: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    methods: str | Method | Iterable[str | Method] = METHODS,
    budgets: Annotated[int | Sequence[int] | None, Numbers()] = None,
    depth: Annotated[int, Integer(1, MAX_DEPTH)] = DEPTH,
    contributors: Any = "judged",
    teams: Teams = None,
    others: Annotated[str, OneOf(("keep", "drop"))] = "keep",
    lists: str | Sequence[str] = "raw",
    test: Any = "anova-2",
    alpha: float = 0.05,
    resamples: Resamples = 1000,
    missing: str | None = None,
    repeats: Repeats = 10,
    rel: Rel = 1,
    seed: Seed = 0,
    compat: str | None = None,
    jobs: int = 1,
    backend: str | None = None,
    folder: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    **policies: Any,
) -> Pooling:
    """Compare pooling methods that have a limited number of judgments per topic (a budget).

    A method orders the documents of the pool, and receives the judgment of each document that it
    requests. Only the first documents, up to the budget, are judged: all runs are scored with these
    judgments, and the scores are compared with the scores with all judgments.

    Source: Zobel (1998); Losada, Parapar and Barreiro (2017) on relevant documents found; Otero,
    Parapar and Ferro (2023) on significant differences.

    Parameters
    ----------
    runs, qrels
        As for :func:`cranfield.judge`. Runs are read twice, since a pool has unjudged documents.
    measures, compat, policies
        As for :func:`leave_one_out`.
    methods
        Pooling methods, such as `depth`, `RRF(k=60)` or `MaxMean`. See
        :func:`cranfield.assess.methods` for a list. A string may contain several, separated by
        commas.
    budgets
        Budgets to compare: numbers of judgments per topic. If a topic has fewer documents, all of
        them are judged. By default the numbers 5, 10, 20, 50, 100, 200, 300, 500 and 1,000 below
        the number of documents of the largest topic, or 1 if there is none. A method with one queue
        for all topics has the same total number of judgments as other methods.
    depth
        Depth of the pool: number of documents taken from each contributing run per topic.
    contributors
        The runs that contribute to the pool: `judged` (default), the runs whose top `depth`
        documents are all judged, since some judgments of other runs are unknown; None for all, or
        names of systems. All runs are scored.
    teams
        As for :func:`cranfield.meta.pools`; without teams each run is excluded alone.
    others
        How to treat judgments of documents that no contributing run retrieves within the pool
        depth, which no method can request: `keep` (default) or `drop`. `keep`: the judgments with
        which budgets are compared include them, so that the rows for the complete pool show the
        effect of their absence. `drop`: budgets are compared with the judgments of the pool.
    lists
        `raw`: unjudged documents count as not relevant. `condensed`: they are removed. Or both.
    test
        Significance test for pairs of systems, such as `anova-2` (two-way analysis of variance with
        Tukey's HSD, which is fast) or `t+holm`.
    alpha, resamples, missing
        As for :func:`cranfield.compare`.
    repeats
        Number of repeats of randomised methods; other methods run once.
    rel
        Lowest relevant grade for methods and counts; it does not affect measures.
    seed
        Seed of randomised methods; repeat r uses seed + r, as in :func:`cranfield.assess.order`.
    jobs, backend, folder, progress
        As for :func:`cranfield.meta.run_parts`; a part is a repeat of a method.

    Raises
    ------
    MeasureError, PolicyError, InputError
        For unknown names, invalid options, a test of scores by shard, or unreadable data.

    Notes
    -----
    To exclude a team, the documents that only its runs have in the pool are removed from the
    judgments of a budget. The method is not run again without the team, so that no other documents
    replace the removed ones. Ranks are computed as for :func:`leave_one_out`.

    Topics that lose all their relevant documents stay. Documents of the pool without a judgment are
    requested, and count as not relevant for the method.

    Examples
    --------
    >>> runs = {
    ...     "a": {"p": {"x": 3.0, "y": 2.0, "n": 1.0}, "q": {"v": 2.0, "w": 1.0}},
    ...     "b": {"p": {"n": 3.0, "m": 2.0, "x": 1.0}, "q": {"w": 2.0, "u": 1.0}},
    ... }
    >>> qrels = {"p": {"x": 1, "y": 1, "n": 0, "m": 0}, "q": {"v": 1, "w": 0, "u": 0}}
    >>> study = pooling(runs, qrels, "AP", methods="depth,MaxMean", budgets=[1, 2])
    >>> study.documents["method", "budget", "requested", "relevant"].rows()
    ... # doctest: +NORMALIZE_WHITESPACE
    [('depth', 1, 2.0, 1.0), ('depth', 2, 4.0, 2.0), ('MaxMean', 1, 2.0, 2.0),
     ('MaxMean', 2, 4.0, 3.0), (None, None, 7.0, 3.0)]
    """
    call = check_arguments(pooling, locals(), trace_runs)
    parsed_methods = parse_methods(methods)
    kinds = parse_score_kinds(measures, lists, compat)
    parsed_budgets = (
        None if budgets is None else sorted(check_integers("budget", budgets, MAX_DEPTH))
    )
    choice = read_choice(test, alpha=alpha, missing=missing, resamples=resamples)
    if choice.uses_shards:
        raise PolicyError(
            f"{choice.test} requires scores by shard, which the study of pooling does not support"
        )
    all_runs, judgments = read_runs(runs), read_qrels(qrels)
    options = {"teams": teams, "contributors": contributors, "depth": depth, "rel": rel}
    team_pools = pools(all_runs, judgments, **options, compat=compat, **policies)
    document_pool = pool(
        all_runs, depth, ties=team_pools.runs.policies.ties, contributors=team_pools.contributors
    )
    if parsed_budgets is None:
        max_documents = np.diff(document_pool.starts).max(initial=0)
        parsed_budgets = [budget for budget in BUDGETS if budget < max_documents] or [1]
    is_judged = team_pools.mask_judgments(others)
    full_scores = score_blocks(iterate_blocks(team_pools.runs, is_judged), kinds)
    judgment_indices, is_evaluated = locate_judgments(team_pools.runs, judgments, document_pool)
    inputs = PoolingInputs(
        team_pools=team_pools,
        kinds=kinds,
        pool=document_pool,
        qrels=judgments,
        judgment_indices=judgment_indices,
        is_evaluated=is_evaluated,
        budgets=tuple(parsed_budgets),
        rel=int(rel),
        others=others,
        choice=choice,
        seed=int(seed),
        full_scores=full_scores,
        signs=[compute_signs(choice, scores, int(seed)) for scores in full_scores],
    )
    # Names of parts contain the method, so that later calls can add methods.
    tasks: dict[str, MethodTask] = {
        f"{make_part_name(str(method))}-{repeat:05d}": (str(method), repeat)
        for method in parsed_methods
        for repeat in range(repeats if method.is_random else 1)
    }
    rows = run_parts(
        judge_within_budgets,
        inputs,
        {**tasks, "whole-pool": (None, 0)},
        settings={} if folder is None else _make_settings(inputs),
        jobs=jobs,
        backend=backend,
        folder=folder,
        progress=progress,
    )
    # Group rows by measure and list, and keep their order otherwise.
    rows = pl.concat(
        rows.filter(pl.col("measure") == measure, pl.col("list") == kind)
        for measure, kind, _ in kinds.items
    )
    n_relevant = int((is_judged & (team_pools.runs.judgments.grade >= rel)).sum())
    samples = rows.drop("score", "without")
    documents, rankings = average_repeats(samples, n_relevant)
    return Pooling(
        call,
        measures=tuple(kinds.names),
        lists=kinds.lists,
        methods=tuple(map(str, parsed_methods)),
        budgets=tuple(parsed_budgets),
        test=choice.test,
        correction=choice.correction,
        pools=team_pools,
        pool=document_pool,
        n_relevant=n_relevant,
        documents=documents,
        rankings=rankings,
        samples=samples,
        systems=_rank_by_budget(rows, inputs),
        notes=tuple(_write_notes(inputs, rows)),
    )


def parse_methods(methods: Any) -> tuple[Method, ...]:
    """Parse distinct pooling methods."""
    texts = [methods] if isinstance(methods, Method) else split_texts("method", methods)
    return tuple(dict.fromkeys(map(parse_method, texts)))


def _make_settings(inputs: PoolingInputs) -> dict[str, Any]:
    """Return the settings that results depend on, besides methods and repeats."""
    document_pool = inputs.pool
    # Adding 0.0 makes scores of -0.0 and 0.0 the same bytes.
    scores = document_pool.scores + 0.0
    arrays = (document_pool.starts, document_pool.ranked, document_pool.ranking_starts, scores)
    return {
        "study": "pooling",
        **inputs.kinds.make_settings(),
        **inputs.team_pools.make_settings(),
        "budgets": list(inputs.budgets),
        "others": inputs.others,
        "rel": inputs.rel,
        "test": inputs.choice.label,
        "alpha": inputs.choice.alpha,
        "resamples": inputs.choice.resamples,
        "missing": inputs.choice.missing,
        "seed": inputs.seed,
        "pool": hash_values("\n".join(document_pool.docs), *arrays),
    }


def _write_notes(inputs: PoolingInputs, rows: pl.DataFrame) -> Iterable[str]:
    team_pools, document_pool = inputs.team_pools, inputs.pool
    if team_pools.n_outside:
        treatment = "removed" if inputs.others == "drop" else "no budget includes"
        yield (
            f"{treatment} {inflect(team_pools.n_outside, 'judgment')} of documents that no"
            f" contributing run retrieves in its top {document_pool.depth}"
        )
    if n_unjudged := int((inputs.is_evaluated & (inputs.judgment_indices < 0)).sum()):
        yield (
            f"the pool has {inflect(n_unjudged, 'document')} without a judgment; when a method"
            " selects such a document, it counts as not relevant"
        )
    if n_topics := np.unique(document_pool.topic[~inputs.is_evaluated]).size:
        yield f"excluded {inflect(n_topics, 'topic')} without judgments"
    signs_by_kind = zip(inputs.kinds.items, inputs.signs, strict=True)
    kinds = [f"{label} ({name} lists)" for (label, name, _), x in signs_by_kind if x is None]
    if kinds:
        names = ", ".join(kinds)
        yield f"significant pairs are not counted for {names}: not testable with all judgments"
    elif n_untested := rows["significant"].null_count():
        yield f"pairs of systems could not be tested in {inflect(n_untested, 'row')} of the samples"
