"""Shallower pools: what systems would score had less been judged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools
from cranfield.base.checks import check_whole
from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.policies import DEEPEST
from cranfield.measures import Measure, parse_measures
from cranfield.meta.of_collections.contributors import contributing, in_pool, judged_depths
from cranfield.meta.of_collections.pool_depth_tables import (
    COUNTS,
    RANKINGS,
    compared,
    counts_of,
    of_systems,
    with_shares,
)
from cranfield.meta.of_collections.rankings import Wanted, lists_of, overall
from cranfield.meta.of_collections.tracing import TracedRuns, traced
from cranfield.meta.policies import check_policies
from cranfield.tabular import frame_html

DEPTHS = (10, 20, 50, 100)
"""Depths of pools."""


@dataclass(frozen=True, eq=False, repr=False)
class PoolDepths:
    """Systems scored by pools of several depths; made by :func:`pool_depths`.

    Attributes
    ----------
    measures
        Text forms of the measures.
    lists
        Kinds of lists: `raw`, `condensed`.
    depths
        Depths of the pools, in rising order.
    contributors
        The systems whose runs made the pools.
    top
        Ranks looked at for unjudged documents.
    runs
        The judged runs, traced to their judgments.
    pools
        Table with a row a depth, and a last one with null for all judgments: number of documents
        `judged` and `relevant`, these as shares of all judgments, the share of `unjudged` documents
        among those that all systems have in their `top` ranks, the `largest unjudged` share of any
        system, and `lacking`: documents of the contributing runs within the depth that have no
        judgment, counted once a run. A pool that lacks documents is shallower than its depth says.
    rankings
        Table with a row a measure, list and depth: `mean score` over systems and its `difference`
        from that with all judgments, Kendall's `tau` of the systems' order and the order with all
        judgments (null where all systems are tied), and the `largest rank change` of any system.
    systems
        Table with a row a measure, list, depth (null for all judgments) and system: the overall
        `score` and the `rank`.
    """

    measures: tuple[str, ...]
    lists: tuple[str, ...]
    depths: tuple[int, ...]
    contributors: tuple[str, ...]
    top: int
    runs: TracedRuns
    pools: pl.DataFrame
    rankings: pl.DataFrame
    systems: pl.DataFrame

    def judged_to(self, depth: int) -> JudgedRuns:
        """Return all runs, judged by the pool of some depth only.

        Raises
        ------
        PolicyError
            For a depth that is no whole number from 1.
        """
        check_whole("depth", depth, 1, DEEPEST)
        contributes = contributing(self.runs, self.contributors, judged_depths(self.runs), None)
        return self.runs.restricted(_pool(self.runs, contributes, depth))

    def _repr_html_(self) -> str:
        return frame_html(self.rankings, repr(self))

    def __repr__(self) -> str:
        return (
            f"PoolDepths({counted(len(self.runs.judged.systems), 'system')},"
            f" {counted(len(self.contributors), 'contributing run')},"
            f" depths {list(self.depths)}: {', '.join(self.measures)}; {', '.join(self.lists)})"
        )


def pool_depths(
    runs: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    depths: int | Sequence[int] = DEPTHS,
    *,
    contributors: Any = None,
    lists: str | Sequence[str] = "raw",
    top: int = 10,
    rel: int = 1,
    compat: str | None = None,
    **policies: Any,
) -> PoolDepths:
    """Score systems by judgments of shallower pools, and compare with all judgments.

    At depth d the judgments are those of the documents that a contributing run has in its top d of
    the topic. All others are taken back, also those that came from elsewhere: nobody knows at which
    depth they would have been found.

    Source: Zobel (1998), who asks what deeper pools would have found.

    Parameters
    ----------
    runs, qrels
        As for :func:`cranfield.judge`, both are read once; or
        :class:`TracedRuns`, and None.
    measures
        Measures or their text forms; names of trec_eval are understood.
    depths
        Depths of pools, each 1 or more.
    contributors
        The runs that make the pools: None for all, names of systems, or `judged`: those whose top
        documents are all judged, down to the deepest of `depths`.
    lists
        `raw`: unjudged documents count as not relevant. `condensed`: they are removed. Or both.
    top
        Ranks in which unjudged documents are counted.
    rel
        Lowest grade that counts as relevant in the counts of documents, 1 or more.
    compat
        Another program's policies, as for :func:`cranfield.judge`.
    policies
        `ties`, `topics` and `negative`, as for :func:`cranfield.judge`.

    Returns
    -------
    PoolDepths

    Raises
    ------
    MeasureError, PolicyError, InputError
        For what does not exist or cannot be read.

    Notes
    -----
    A document that no contributing run has in its top d keeps no judgment, whoever judged it. Where
    the pools of the collection were shallower than d, nothing can be added: see `lacking`. Topics
    stay, also those that lose all their relevant documents.

    Examples
    --------
    >>> runs = {
    ...     "a": {"q": {"x": 3.0, "y": 2.0, "n": 1.0}},
    ...     "b": {"q": {"y": 3.0, "z": 2.0, "n": 1.0}},
    ... }
    >>> found = pool_depths(runs, {"q": {"x": 1, "y": 1, "z": 1, "n": 0}}, "AP", [1, 2])
    >>> found.pools.select("depth", "judged", "relevant", "lacking").rows()
    [(1, 2, 2, 0), (2, 3, 3, 0), (None, 4, 3, None)]
    >>> found.systems["score"].round(4).to_list()
    [1.0, 0.5, 0.6667, 0.6667, 0.6667, 0.6667]
    """
    check_policies("pool_depths", policies, traced)
    wanted = Wanted(tuple(dict.fromkeys(parse_measures(measures, compat=compat))), lists_of(lists))
    chosen = _depths(depths)
    check_whole("top", top, 1, DEEPEST)
    check_whole("rel", rel, 1)
    made = traced(runs, qrels, compat=compat, **policies)
    contributes = contributing(made, contributors, judged_depths(made), chosen[-1])
    full = made.judged
    kept = [_pool(made, contributes, depth) for depth in chosen]
    kept.append(np.ones(made.grade.size, dtype=bool))
    scores = np.array([overall(made.blocks(one), wanted) for one in kept])
    rankings, systems = [], []
    for m, measure in enumerate(wanted.names):
        lower = bool(wanted.lower[m])
        for k, kind in enumerate(wanted.lists):
            before = scores[-1, k, m]
            for depth, after in zip((*chosen, None), scores[:, k, m], strict=True):
                labels = {"measure": measure, "list": kind, "depth": depth}
                systems.append(of_systems(labels, full.systems, after, lower))
                if depth is not None:
                    rankings.append({**labels, **compared(before, after, lower)})
    rows = [
        counts_of(made, contributes, depth, one, top, rel)
        for depth, one in zip((*chosen, None), kept, strict=True)
    ]
    return PoolDepths(
        tuple(wanted.names),
        wanted.lists,
        chosen,
        tuple(name for name, one in zip(full.systems, contributes, strict=True) if one),
        int(top),
        made,
        with_shares(pl.DataFrame(rows, COUNTS)),
        pl.DataFrame(rankings, RANKINGS).with_columns(
            pl.col("mean score", "difference", "tau").fill_nan(None)
        ),
        pl.concat(systems),
    )


def _depths(depths: int | Sequence[int]) -> tuple[int, ...]:
    try:
        given = [depths] if isinstance(depths, (int, np.integer)) else list(depths)
    except TypeError:
        raise PolicyError(f"depths are whole numbers, not {depths!r}") from None
    if not given:
        raise PolicyError("no depth of pools was given")
    for depth in given:
        check_whole("depth", depth, 1, DEEPEST)
    return tuple(sorted({int(depth) for depth in given}))


def _pool(runs: TracedRuns, contributes: Bools, depth: int) -> Bools:
    """Tell which judgments are of documents in the pool of that depth."""
    kept = np.zeros(runs.grade.size, dtype=bool)
    kept[runs.number[in_pool(runs, contributes, depth)]] = True
    return kept
