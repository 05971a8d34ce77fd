"""Study of pool depth: scores and rankings of systems with shallower pools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.errors import check_whole
from cranfield.base.kinds import Integer, Numbers, check_arguments
from cranfield.base.text import counted
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.policies import DEEPEST
from cranfield.measures import Measure
from cranfield.meta.collection_studies.pools import (
    TracedRuns,
    count_judged,
    find_contributors,
    judged_depths,
    pool_mask,
    pools,
    trace_runs,
)
from cranfield.meta.collection_studies.rankings import (
    LIST_COLUMNS,
    join_tables,
    overall_scores,
    rank_correlation,
    rank_systems,
    read_scoring,
)
from cranfield.meta.study import Study
from cranfield.meta.study_options import Depth, Rel, whole_numbers
from cranfield.result import Column, Columns

DEPTHS = (1, 2, 5, 10, 20, 50, 100)
"""Default depths; only those below the depth of the pool are used."""

_DEPTH_COLUMNS = {
    **LIST_COLUMNS,
    "depth": Column("Depth of the pool; null for all judgments.", key=True),
}


class PoolDepths(Study):
    """Scores and ranks of systems by pools of several depths; see :func:`pool_depths`.

    Attributes
    ----------
    measures, lists
        Text forms of the measures, and kinds of lists: `raw`, `condensed`.
    depths, contributors
        Depths of the pools, ascending, and names of the contributing systems.
    runs
        The judged runs, traced to their judgments.
    pools, rankings, systems
        The tables `pools`, `pool rankings` and `pool systems`.
    """

    name = "pool-depth"
    reference: ClassVar[str] = "Zobel (1998)"
    parts: ClassVar[Sequence[str]] = ("pools", "rankings", "systems")
    titles: ClassVar[Mapping[str, str]] = {
        "pools": "Judgments of shallower pools",
        "pool rankings": "Scores and orders of systems by shallower pools, compared with all"
        " judgments",
    }
    nulls: ClassVar[Mapping[str, str]] = {"depth": "all"}
    columns: ClassVar[Mapping[str, Columns]] = {
        "pools": {
            "depth": Column("Depth of the pool; null for all judgments.", key=True),
            "judged": Column("Number of documents judged."),
            "judged proportion": Column("Documents judged as a proportion of all judgments."),
            "relevant": Column("Number of documents judged relevant."),
            "relevant proportion": Column(
                "Relevant documents as a proportion of all relevant documents."
            ),
            "unjudged": Column("Proportion of unjudged documents in the top ranks of all systems."),
            "largest unjudged": Column("Largest proportion of unjudged documents of a system."),
            "lacking": Column(
                "Unjudged documents within the depth in contributing runs, counted once per run; if"
                " there are any, the pools of the collection were shallower."
            ),
        },
        "pool rankings": {
            **_DEPTH_COLUMNS,
            "mean score": Column("Mean overall score of the systems."),
            "difference": Column("mean score minus the mean score by all judgments."),
            "tau": Column(
                "Kendall's tau of the orders of systems by the pool and by all judgments; null if"
                " all systems are tied."
            ),
            "largest rank change": Column("Largest change of rank of a system."),
        },
        "pool systems": {
            **_DEPTH_COLUMNS,
            "system": Column("System.", key=True),
            "score": Column("Overall score."),
            "rank": Column("Rank."),
        },
    }

    runs: TracedRuns

    def judged_to(self, depth: int) -> JudgedRuns:
        """Return all runs, judged only by the pool of a depth of 1 or more."""
        check_whole("depth", depth, 1, DEEPEST)
        contributes = find_contributors(
            self.runs, self.contributors, judged_depths(self.runs), None
        )
        return self.runs.restrict(pool_mask(self.runs, contributes, depth))

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.rankings.drop_nulls(["depth", "tau"]).sort("depth")
        deepest = rows.group_by("measure", "list", maintain_order=True).last()
        proportions = dict(self.pools.select("depth", "judged proportion").iter_rows())
        return tuple(
            f"{row['measure']}, {row['list']} lists: a pool of depth {row['depth']} has"
            f" {100 * proportions[row['depth']]:.0f}% of the judgments; its order of systems has"
            f" Kendall's tau {row['tau']:.2f} with the order by all judgments."
            for row in deepest.iter_rows(named=True)
        )

    def heading(self) -> list[str]:
        return [
            f"shallower pools: {counted(len(self.runs.judged.systems), 'system')},"
            f" {counted(len(self.contributors), 'contributing run')}; unjudged: proportion of the"
            f" top {self.top}"
        ]


def pool_depths(
    runs: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    depths: Annotated[int | Sequence[int] | None, Numbers()] = None,
    *,
    contributors: Any = None,
    pool_depth: Depth = None,
    lists: str | Sequence[str] = "raw",
    top: Annotated[int, Integer(1, DEEPEST)] = 10,
    rel: Rel = 1,
    compat: str | None = None,
    **policies: Any,
) -> PoolDepths:
    """Score systems by the judgments of shallower pools, and compare with all judgments.

    At depth d, judgments are restricted to documents in the top d of a contributing run for the
    topic. All other judgments are removed, also those from outside the pool, whose depth is
    unknown.

    Source: Zobel (1998), who estimates the relevant documents of deeper pools.

    Parameters
    ----------
    runs, qrels, measures, compat, policies
        As for :func:`leave_one_out`.
    depths
        Pool depths to compare. By default those of 1, 2, 5, 10, 20, 50 and 100 that are below the
        depth of the collection's pool, or that depth if it is 1.
    contributors
        The runs that contribute to the pools: None for all, names of systems, or `judged`: the runs
        whose top documents are all judged, down to `pool_depth`, or else the largest of `depths`.
    pool_depth
        Depth of the collection's own pool, which no depth may exceed. By default this is not
        checked; without `depths` the pool depth and the contributing runs are inferred from the
        judgments, as by :func:`pools`.
    lists
        `raw`: unjudged documents count as not relevant. `condensed`: they are removed. Or both.
    top
        Ranks in which unjudged documents are counted.
    rel
        Lowest grade that counts as relevant in the counts of documents, 1 or more.

    Raises
    ------
    MeasureError, PolicyError, InputError
        For unknown names or unreadable data.

    Notes
    -----
    If the pools of the collection were shallower than d, judgments are missing: see the column
    `lacking`. Topics that lose all their relevant documents stay.

    Examples
    --------
    >>> runs = {
    ...     "a": {"q": {"x": 3.0, "y": 2.0, "n": 1.0}},
    ...     "b": {"q": {"y": 3.0, "z": 2.0, "n": 1.0}},
    ... }
    >>> study = pool_depths(runs, {"q": {"x": 1, "y": 1, "z": 1, "n": 0}}, "AP", [1, 2])
    >>> study.pools.select("depth", "judged", "relevant", "lacking").rows()
    [(1, 2, 2, 0), (2, 3, 3, 0), (None, 4, 3, None)]
    >>> study.systems["score"].round(4).to_list()
    [1.0, 0.5, 0.6667, 0.6667, 0.6667, 0.6667]
    """
    call = check_arguments(pool_depths, locals(), trace_runs)
    scoring = read_scoring(measures, lists, compat)
    runs = trace_runs(runs, qrels, compat=compat, **policies)
    if depths is None:
        team_pools = pools(runs, None, contributors=contributors, depth=pool_depth)
        sorted_depths = tuple(d for d in DEPTHS if d < team_pools.depth) or (team_pools.depth,)
        contributes = team_pools.contributes
    else:
        sorted_depths = tuple(
            sorted(whole_numbers("depth", depths, pool_depth or DEEPEST, " of pools"))
        )
        run_depths = judged_depths(runs)
        contributes = find_contributors(
            runs, contributors, run_depths, pool_depth or sorted_depths[-1]
        )
    judged_runs = runs.judged
    masks = [pool_mask(runs, contributes, depth) for depth in sorted_depths]
    masks.append(np.ones(runs.grade.size, dtype=bool))
    scores = np.array([overall_scores(runs.blocks(mask), scoring) for mask in masks])
    systems, rankings = [], []
    for k, (_, _, lower_is_better) in enumerate(scoring.kinds):
        before = scores[-1, k]
        is_scored = ~np.isnan(before)
        full_ranks = rank_systems(before, lower_is_better)
        for depth, after in zip((*sorted_depths, None), scores[:, k], strict=True):
            rank = rank_systems(after, lower_is_better)
            column = pl.Series([depth] * len(judged_runs.systems), dtype=pl.Int64)
            columns = {"depth": column, "system": judged_runs.systems, "score": after, "rank": rank}
            systems.append(scoring.frame(k, columns))
            if depth is not None:
                changes = (after - before)[is_scored]
                row = {
                    "depth": [depth],
                    "mean score": [after[is_scored].mean() if is_scored.any() else None],
                    "difference": [changes.mean() if is_scored.any() else None],
                    "tau": [rank_correlation(before, after)],
                    "largest rank change": [np.abs(rank - full_ranks)[is_scored].max(initial=0)],
                }
                rankings.append(scoring.frame(k, row))
    counts = [
        count_judged(runs, contributes, depth, mask, top, rel)
        for depth, mask in zip((*sorted_depths, None), masks, strict=True)
    ]
    schema = dict.fromkeys(("unjudged", "largest unjudged"), pl.Float64)
    # The last row has all judgments, of which the others are proportions.
    judged, relevant = pl.col("judged"), pl.col("relevant")
    pools_by_depth = pl.DataFrame(counts, schema_overrides=schema).with_columns(
        (judged / judged.last()).alias("judged proportion"),
        (relevant / relevant.last()).fill_nan(None).alias("relevant proportion"),
    )
    return PoolDepths(
        call,
        measures=tuple(scoring.names),
        lists=scoring.lists,
        depths=sorted_depths,
        contributors=tuple(judged_runs.systems[s] for s in np.flatnonzero(contributes)),
        runs=runs,
        pools=pools_by_depth.select(list(PoolDepths.columns["pools"])),
        rankings=join_tables(rankings),
        systems=join_tables(systems),
    )
