"""Effects of the pool: leave-one-out test of contributions, and shallower pools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, check_choice, check_integer, quote
from cranfield.base.kinds import Integer, Numbers, OneOf, check_arguments
from cranfield.base.text import inflect
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.policies import MAX_DEPTH
from cranfield.measures.base import Measure
from cranfield.meta.collection_studies.pools import (
    Pools,
    count_judged,
    find_contributors,
    iterate_blocks,
    mask_pool,
    pools,
    restrict_judgments,
    trace_runs,
)
from cranfield.meta.collection_studies.rankings import (
    LIST_COLUMNS,
    LISTS,
    ScoreKinds,
    Teams,
    compute_overall_scores,
    compute_ranks,
    correlate_ranks,
    join_tables,
    parse_score_kinds,
)
from cranfield.meta.study import Study
from cranfield.meta.study_options import PoolDepth, Rel, check_integers
from cranfield.meta.work import Progress, run_parts
from cranfield.result import Column, Columns

DEPTHS = (1, 2, 5, 10, 20, 50, 100)
"""Default depths; only those below the depth of the pool are used."""

_DEPTH_COLUMNS = {
    **LIST_COLUMNS,
    "depth": Column("Depth of the pool; null for the pool of all judgments.", key=True),
}


class PoolDepths(Study):
    """Scores and ranks of systems with pools of several depths; see :func:`pool_depths`.

    Attributes
    ----------
    measures, lists
        Text forms of the measures, and kinds of lists: `raw`, `condensed`.
    depths, contributors
        Depths of the pools, ascending, and names of the contributing systems.
    runs
        The judged runs.
    pools, rankings, systems
        The tables `pools`, `pool rankings` and `pool systems`.
    """

    name = "pool-depth"
    reference: ClassVar[str] = "Zobel (1998)"
    table_attributes: ClassVar[Sequence[str]] = ("pools", "rankings", "systems")
    titles: ClassVar[Mapping[str, str]] = {
        "pools": "Judgments of shallower pools",
        "pool rankings": "Scores and rankings of systems with the judgments of shallower pools,"
        " compared with all judgments",
    }
    nulls: ClassVar[Mapping[str, str]] = {"depth": "all"}
    columns: ClassVar[Mapping[str, Columns]] = {
        "pools": {
            "depth": Column("Depth of the pool; null for the pool of all judgments.", key=True),
            "judged": Column("Number of documents judged."),
            "judged proportion": Column(
                "Number of documents judged divided by the number of all judgments."
            ),
            "relevant": Column("Number of documents judged relevant."),
            "relevant proportion": Column(
                "Number of relevant documents in the pool divided by the number of all relevant"
                " documents; null without relevant documents."
            ),
            "unjudged": Column("Proportion of unjudged documents in the top ranks of all systems."),
            "largest unjudged": Column("Largest proportion of unjudged documents of one system."),
            "lacking": Column(
                "Number of unjudged documents within the depth, summed over contributing runs;"
                " above 0 if the pools of the collection were shallower; null for all judgments."
            ),
        },
        "pool rankings": {
            **_DEPTH_COLUMNS,
            "mean score": Column("Mean overall score of the systems with a score."),
            "difference": Column("Mean change of overall scores from those with all judgments."),
            "tau": Column(
                "Kendall's tau between the rankings of systems with the judgments of the pool and"
                " with all judgments; null if all systems are tied in one of the two."
            ),
            "largest rank change": Column(
                "Largest absolute difference of a system's rank from its rank with all judgments."
            ),
        },
        "pool systems": {
            **_DEPTH_COLUMNS,
            "system": Column("System.", key=True),
            "score": Column("Overall score."),
            "rank": Column("Rank by `score`; tied systems share the best of their ranks."),
        },
    }

    runs: JudgedRuns

    def judge_to_depth(self, depth: int) -> JudgedRuns:
        """Return all runs, judged with the pool of a depth of 1 or more."""
        check_integer("depth", depth, 1, MAX_DEPTH)
        is_contributor = np.isin(self.runs.systems, self.contributors)
        return restrict_judgments(self.runs, mask_pool(self.runs, is_contributor, depth))

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.rankings.drop_nulls(["depth", "tau"]).sort("depth")
        deepest_rows = rows.group_by("measure", "list", maintain_order=True).last()
        proportions = dict(self.pools.select("depth", "judged proportion").iter_rows())
        return tuple(
            f"{row['measure']}, {row['list']} lists: a pool of depth {row['depth']} has"
            f" {100 * proportions[row['depth']]:.0f}% of the judgments; Kendall's tau between the"
            f" rankings of systems with these and with all judgments is {row['tau']:.2f}."
            for row in deepest_rows.iter_rows(named=True)
        )

    def heading(self) -> list[str]:
        return [
            f"shallower pools: {inflect(len(self.runs.systems), 'system')},"
            f" {inflect(len(self.contributors), 'contributing run')}; unjudged: proportion of"
            f" unjudged documents in the top {self.top}"
        ]


def pool_depths(
    runs: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    depths: Annotated[int | Sequence[int] | None, Numbers()] = None,
    *,
    contributors: Any = None,
    pool_depth: PoolDepth = None,
    lists: str | Sequence[str] = "raw",
    top: Annotated[int, Integer(1, MAX_DEPTH)] = 10,
    rel: Rel = 1,
    compat: str | None = None,
    **policies: Any,
) -> PoolDepths:
    """Compare the scores of systems with the judgments of shallower pools and with all judgments.

    At depth d, judgments are restricted to documents in the top d of a contributing run for the
    topic. All other judgments are removed, including judgments of documents that no contributing
    run retrieves, since the depth of such documents is unknown.

    Source: Zobel (1998), who estimates the relevant documents of deeper pools.

    Parameters
    ----------
    runs, qrels, measures, compat, policies
        As for :func:`leave_one_out`.
    depths
        Pool depths to compare. By default the depths 1, 2, 5, 10, 20, 50 and 100 below the depth of
        the collection's pool; depth 1 if the collection's pool has depth 1.
    contributors
        The runs that contribute to the pools: None for all, names of systems, or `judged`: the runs
        whose top documents are all judged, down to `pool_depth`, or else the largest of `depths`
        (`judged` requires one of the two).
    pool_depth
        Depth of the collection's own pool, which no depth may exceed. By default this is not
        checked; without `depths` the pool depth and the contributing runs are inferred from the
        judgments, as by :func:`pools`.
    lists
        `raw`: unjudged documents count as not relevant. `condensed`: they are removed. Or both.
    top
        Number of top ranks in which unjudged documents are counted.
    rel
        Lowest grade that counts as relevant in the counts of documents, 1 or more.

    Raises
    ------
    MeasureError, PolicyError, InputError
        For unknown names, invalid options, unreadable data, and runs without a common pool depth.

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
    kinds = parse_score_kinds(measures, lists, compat)
    runs = trace_runs(runs, qrels, compat=compat, **policies)
    if depths is None:
        team_pools = pools(runs, None, contributors=contributors, depth=pool_depth)
        sorted_depths = tuple(d for d in DEPTHS if d < team_pools.depth) or (team_pools.depth,)
        is_contributor = team_pools.is_contributor
    else:
        sorted_depths = tuple(
            sorted(check_integers("depth", depths, pool_depth or MAX_DEPTH, " of pools"))
        )
        is_contributor = find_contributors(runs, contributors, pool_depth or sorted_depths[-1])
    all_depths = (*sorted_depths, None)
    masks = [mask_pool(runs, is_contributor, depth) for depth in sorted_depths]
    masks.append(np.ones(runs.judgments.grade.size, dtype=bool))
    scores = np.array([compute_overall_scores(iterate_blocks(runs, m), kinds) for m in masks])
    systems, rankings = [], []
    for k, (_, _, lower_is_better) in enumerate(kinds.items):
        full_scores = scores[-1, k]
        full_ranks = compute_ranks(full_scores, lower_is_better)
        for depth, pool_scores in zip(all_depths, scores[:, k], strict=True):
            rank = compute_ranks(pool_scores, lower_is_better)
            column = pl.Series([depth] * len(runs.systems), dtype=pl.Int64)
            columns = {"depth": column, "system": runs.systems, "score": pool_scores, "rank": rank}
            systems.append(kinds.make_frame(k, columns))
            if depth is not None:
                row = {
                    "depth": [depth],
                    "mean score": [_reduce_defined(np.mean, pool_scores)],
                    "difference": [_reduce_defined(np.mean, pool_scores - full_scores)],
                    "tau": [correlate_ranks(full_scores, pool_scores)],
                    "largest rank change": [np.nanmax(np.abs(rank - full_ranks), initial=0.0)],
                }
                rankings.append(kinds.make_frame(k, row))
    counts = [
        count_judged(runs, is_contributor, depth, mask, top, rel)
        for depth, mask in zip(all_depths, masks, strict=True)
    ]
    schema = dict.fromkeys(("unjudged", "largest unjudged"), pl.Float64)
    # The last row counts all judgments; proportions are relative to it.
    judged, relevant = pl.col("judged"), pl.col("relevant")
    pools_by_depth = pl.DataFrame(counts, schema_overrides=schema).with_columns(
        (judged / judged.last()).alias("judged proportion"),
        (relevant / relevant.last()).fill_nan(None).alias("relevant proportion"),
    )
    return PoolDepths(
        call,
        measures=tuple(kinds.names),
        lists=kinds.lists,
        depths=sorted_depths,
        contributors=tuple(runs.systems[s] for s in np.flatnonzero(is_contributor)),
        runs=runs,
        pools=pools_by_depth.select(list(PoolDepths.columns["pools"])),
        rankings=join_tables(rankings),
        systems=join_tables(systems),
    )


_UNIT_COLUMN = {"unit": Column("Unit that is excluded: a `team` or a `run`.", key=True)}


class LeaveOneOut(Study):
    """Changes of scores and ranks when the unique contributions of a team are removed.

    Attributes
    ----------
    measures, lists
        Text forms of the measures, and kinds of lists: `raw`, `condensed`.
    pools
        The teams, the contributing runs and the depth of the pool.
    teams, summary, rankings, systems
        The tables `leave one out unique` (see :class:`Pools`), `leave one out summary`,
        `leave one out rankings` and `leave one out systems`, without their first column.
    """

    name = "leave-one-out"
    reference: ClassVar[str] = "Zobel (1998); Sakai (2013)"
    table_attributes: ClassVar[Sequence[str]] = ("teams", "summary", "rankings", "systems")
    titles: ClassVar[Mapping[str, str]] = {
        "leave one out summary": "Changes of scores without the unique documents of the team or"
        " run",
        "leave one out unique": "Unique contributions of each team or run",
        "leave one out systems": "Ranks with and without the unique documents",
    }
    columns: ClassVar[Mapping[str, Columns]] = {
        "leave one out unique": {
            **_UNIT_COLUMN,
            "team": Column("Team.", key=True),
            "*": Column(
                "Counts for the team, such as its number of unique relevant documents; see the"
                " attribute `by_team` of :class:`Pools`."
            ),
        },
        "leave one out summary": {
            **_UNIT_COLUMN,
            **LIST_COLUMNS,
            "mean drop": Column(
                "Mean drop of the overall score of a contributing team's system without the team's"
                " unique documents. A drop is a change for the worse, even if lower is better."
            ),
            "largest drop": Column("Largest drop of the overall score; 0 if no score drops."),
            "mean drop %": Column("Mean drop in percent of the overall score.", decimals=1),
            "largest drop %": Column(
                "Largest drop of an overall score, in percent of it; 0 if no score drops.",
                decimals=1,
            ),
            "largest gain": Column("Largest gain of the overall score; 0 if no score improves."),
            "largest rank change": Column("Largest change of rank in either direction."),
            "mean tau": Column(
                "Mean over all teams of Kendall's tau between the rankings of all systems with and"
                " without the unique documents of the team (1 if there are none)."
            ),
            "lowest tau": Column("Lowest value over teams of the Kendall's tau in `mean tau`."),
        },
        "leave one out rankings": {
            **_UNIT_COLUMN,
            **LIST_COLUMNS,
            "team": Column("Excluded team.", key=True),
            "tau": Column(
                "Kendall's tau between the rankings of all systems with all judgments and without"
                " the unique judgments of the team; null if all systems are tied in one of the two."
            ),
            "largest rank change": Column("Largest absolute change of rank of a system."),
            "mean drop": Column("Mean drop of the score of the team's own runs."),
            "largest drop": Column("Largest drop of the score of the team's runs; may be below 0."),
        },
        "leave one out systems": {
            **_UNIT_COLUMN,
            **LIST_COLUMNS,
            "system": Column("System.", key=True),
            "team": Column("Team of the system.", key=True),
            "contributes": Column(
                "Whether the run of the system contributes to the pool.", display=False
            ),
            "before": Column("Overall score with all judgments."),
            "after": Column("Overall score without the unique judgments of the team."),
            "difference": Column("`after` minus `before`; null without a score."),
            "change %": Column("`difference` in percent of |`before`|; null if undefined.", 1),
            "rank before": Column("Rank with all judgments."),
            "rank after": Column("Rank of `after` among the values `before` of all other systems."),
            "rank change": Column("`rank after` minus `rank before`; above 0 if the system fell."),
        },
    }

    pools: Pools

    def judge_without(self, team: str) -> JudgedRuns:
        """Return all runs, judged without the unique contributions of a team."""
        check_choice("team", team, self.pools.teams)
        mask = self.pools.exclude_team(self.pools.teams.index(team), self.others)
        return restrict_judgments(self.pools.runs, mask)

    @property
    def unit(self) -> str:
        """Unit that is excluded: `run` if each team has one run, otherwise `team`."""
        return self.pools.unit

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.summary.drop_nulls(["mean drop %", "mean tau"])
        sentences = [
            f"{row['measure']}, {row['list']} lists: without the unique documents of its"
            f" {self.unit} a run loses {row['mean drop %']:z.1f}% of its score on average,"
            f" {row['largest drop %']:z.1f}% at most, and moves by up to"
            f" {inflect(row['largest rank change'], 'rank')}; Kendall's tau between the rankings of"
            f" all systems with and without the unique documents is {row['mean tau']:.2f} on"
            " average."
            for row in rows.iter_rows(named=True)
        ]
        return (*sentences, "New systems that differ from these runs may lose more.")

    def heading(self) -> list[str]:
        pools, unit = self.pools, self.unit
        lines = [
            f"leave-one-out test by {unit}: {inflect(len(pools.teams), unit)},"
            f" {inflect(len(pools.contributors), 'contributing run')}, pool depth"
            f" {pools.depth}{', inferred from the judgments' if pools.is_depth_inferred else ''}"
        ]
        n_unpooled = int((~pools.is_contributor).sum())
        if pools.is_depth_inferred and self.contributors is None and n_unpooled:
            lines.append(
                f"note: {inflect(n_unpooled, 'run')} treated as unpooled, because not all of the"
                f" top {pools.depth} are judged; override with depth and contributors"
            )
        if pools.n_outside:
            treatment = {"keep": "kept", "drop": "removed"}[self.others]
            lines.append(
                f"note: {treatment} {inflect(pools.n_outside, 'judgment')} of documents that no"
                f" contributing run has in its top {pools.depth}"
            )
        return lines

    def frames(self) -> dict[str, pl.DataFrame]:
        unit = pl.lit(self.unit).alias("unit")
        return {name: frame.select(unit, pl.all()) for name, frame in super().frames().items()}

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "unit": self.unit, "depth": self.pools.depth}


def _compare_exclusions(
    team_pools: Pools, kinds: ScoreKinds, full_scores: Floats, scores_without: Floats
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compare systems and rankings with and without the unique documents of each team."""
    systems, rankings = [], []
    for k, (_, _, lower_is_better) in enumerate(kinds.items):
        scores_with_all, scores = full_scores[k], scores_without[:, k]
        scores_without_team = scores[team_pools.team_of, np.arange(scores_with_all.size)]
        rank = compute_ranks(scores_with_all, lower_is_better)
        system_columns = team_pools.by_system().with_columns(
            pl.Series("before", scores_with_all),
            pl.Series("after", scores_without_team),
            pl.Series("rank before", rank),
            pl.Series(
                "rank after", compute_ranks(scores_without_team, lower_is_better, scores_with_all)
            ),
        )
        systems.append(kinds.make_frame(k, system_columns))
        drop = scores - scores_with_all if lower_is_better else scores_with_all - scores
        drops = [drop[j, team_pools.team_of == j] for j in range(len(team_pools.teams))]
        rank_changes = [np.abs(compute_ranks(row, lower_is_better) - rank) for row in scores]
        ranking_columns = {
            "team": pl.Series(team_pools.teams, dtype=pl.String),
            "tau": [correlate_ranks(scores_with_all, row) for row in scores],
            "largest rank change": [_reduce_defined(np.max, changes) for changes in rank_changes],
            "mean drop": [_reduce_defined(np.mean, values) for values in drops],
            "largest drop": [_reduce_defined(np.max, values) for values in drops],
        }
        rankings.append(kinds.make_frame(k, ranking_columns))
    before, difference = pl.col("before"), pl.col("after") - pl.col("before")
    change = pl.when(before != 0).then(100 * difference / before.abs())
    rank_change = pl.col("rank after") - pl.col("rank before")
    system_table = join_tables(systems).with_columns(
        difference.alias("difference"), change.alias("change %"), rank_change.alias("rank change")
    )
    columns = [name for name in LeaveOneOut.columns["leave one out systems"] if name != "unit"]
    return system_table.select(columns), join_tables(rankings)


def _reduce_defined(function: Callable[[Floats], Any], values: Floats) -> float:
    defined_values = values[~np.isnan(values)]
    return float(function(defined_values)) if defined_values.size else np.nan


def _summarise_changes(
    team_pools: Pools, kinds: ScoreKinds, systems: pl.DataFrame, rankings: pl.DataFrame
) -> pl.DataFrame:
    """Summarise both tables by measure and list; changes are of systems of contributing teams."""
    contributing_teams = team_pools.by_team.filter(pl.col("contributing") > 0)["team"]
    signs = {
        measure: 1.0 if lower_is_better else -1.0 for measure, _, lower_is_better in kinds.items
    }
    sign = pl.col("measure").replace_strict(signs)
    drops = (
        systems.filter(pl.col("team").is_in(contributing_teams.implode()))
        .with_columns(drop=pl.col("difference") * sign, percentage=pl.col("change %") * sign)
        .group_by("measure", "list", maintain_order=True)
        .agg(
            pl.col("drop").mean().alias("mean drop"),
            pl.col("drop").max().clip(lower_bound=0.0).alias("largest drop"),
            pl.col("percentage").mean().alias("mean drop %"),
            pl.col("percentage").max().clip(lower_bound=0.0).alias("largest drop %"),
            (-pl.col("drop").min()).clip(lower_bound=0.0).alias("largest gain"),
            pl.col("rank change").abs().max().alias("largest rank change"),
        )
    )
    taus = rankings.group_by("measure", "list", maintain_order=True).agg(
        pl.col("tau").mean().alias("mean tau"), pl.col("tau").min().alias("lowest tau")
    )
    return drops.join(taus, on=["measure", "list"], how="left", maintain_order="left")


def leave_one_out(
    runs: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    teams: Teams = None,
    contributors: Any = None,
    depth: PoolDepth = None,
    others: Annotated[str, OneOf(("keep", "drop"))] = "keep",
    lists: str | Sequence[str] = LISTS,
    rel: Rel = 1,
    compat: str | None = None,
    jobs: int = 1,
    backend: str | None = None,
    folder: str | PathLike[str] | None = None,
    progress: Progress | None = None,
    **policies: Any,
) -> LeaveOneOut:
    r"""Evaluate each team without its unique contributions to the pool (leave-one-out test).

    A team that is evaluated without its unique contributions represents a team that did not
    contribute to the pool. If its scores or ranks drop, the collection underestimates new systems.

    .. math:: LOO_j = \bigcup_{j' \ne j} C_{j'} = P - U_j

    with the contributions C_j and the unique contributions U_j of team j to the pool P, as for
    :class:`Pools`. Source: Zobel (1998), with single runs; Sakai (2013), section 5.4, with teams.

    Parameters
    ----------
    runs, qrels
        As for :func:`pools`. Runs are read once.
    measures
        Measures or their text forms; names of trec_eval are also accepted.
    teams, contributors, depth
        As for :func:`pools`; without teams each run is excluded alone. Runs that did not contribute
        are scored and ranked like the others; the unique documents of their team are removed, too.
    others
        How to treat judgments of documents that no contributing run retrieves within the pool
        depth: `keep` or `drop`.
    lists
        `raw`: unjudged documents count as not relevant. `condensed`: they are removed from the
        rankings. By default both kinds.
    rel
        Lowest relevant grade in the counts of documents, 1 or more; it does not affect measures.
    jobs, backend, folder, progress
        As for :func:`cranfield.meta.run_parts`, by default threads; a part is a team.
    compat, policies
        Another program's policies, or `ties`, `topics` and `negative`, as for
        :func:`cranfield.judge`.

    Raises
    ------
    MeasureError, PolicyError, InputError
        For unknown names, invalid options, unreadable data, a single team, and runs from which no
        pool depth can be inferred.

    Notes
    -----
    The score of a system without the unique documents of its team is ranked among the scores with
    all judgments of all other systems, including other systems of the team. Tied systems share the
    best of their ranks. Kendall's tau answers another question: by how much the complete ranking
    changes if every system is evaluated with the remaining judgments.

    Topics that lose all their relevant documents stay, so that overall scores are over the same
    topics before and after. The highest grade of the judgments does not change, either.

    If some contributing runs are not in `runs`, documents that a team shares only with missing runs
    appear unique, and too many judgments are removed; the drops are then usually upper bounds.

    Examples
    --------
    >>> runs = {
    ...     "a1": {"q": {"x": 3.0, "y": 2.0, "n": 1.0}},
    ...     "b1": {"q": {"y": 3.0, "z": 2.0, "n": 1.0}},
    ... }
    >>> qrels = {"q": {"x": 1, "y": 1, "z": 0, "n": 0}}
    >>> study = leave_one_out(runs, qrels, "AP", teams={"a1": "A", "b1": "B"}, lists="raw")
    >>> study
    LeaveOneOut(leave-one-out test by run: 2 runs, 2 contributing runs, pool depth 3, ...)
    >>> study.systems.select("system", "before", "after", "rank before", "rank after").rows()
    [('a1', 1.0, 0.5, 1, 1), ('b1', 0.5, 0.5, 2, 2)]
    >>> study.teams.select("team", "unique", "unique relevant").rows()
    [('A', 1, 1), ('B', 1, 0)]
    """
    call = check_arguments(leave_one_out, locals(), trace_runs)
    kinds = parse_score_kinds(measures, lists, compat)
    options = {"teams": teams, "contributors": contributors, "depth": depth, "rel": rel}
    team_pools = pools(runs, qrels, **options, compat=compat, **policies)
    if len(team_pools.teams) < 2:
        raise PolicyError(
            f"expected at least two teams, got only team {quote(team_pools.teams[0])}"
        )
    all_judgments = iterate_blocks(team_pools.runs, team_pools.mask_judgments(others))
    full_scores = compute_overall_scores(all_judgments, kinds)
    shape = (len(team_pools.teams), *full_scores.shape)
    scores_without = np.broadcast_to(full_scores, shape).copy()
    # Scores do not change without a team that has no unique contributions.
    indices = np.flatnonzero(team_pools.by_team["unique"].to_numpy() > 0)
    if indices.size:
        settings = {"study": "leave one out", **kinds.make_settings(), "others": others}
        parts = run_parts(
            _score_without,
            (team_pools, kinds, others),
            {f"team-{j}": int(j) for j in indices},
            settings={} if folder is None else {**settings, **team_pools.make_settings()},
            jobs=jobs,
            # Threads share the large arrays, whose operations release the interpreter lock.
            backend=backend or ("threading" if jobs > 1 else None),
            folder=folder,
            progress=progress,
        )
        scores_without[indices] = parts["score"].to_numpy().reshape(-1, *full_scores.shape)
    systems, rankings = _compare_exclusions(team_pools, kinds, full_scores, scores_without)
    return LeaveOneOut(
        call,
        measures=tuple(kinds.names),
        lists=kinds.lists,
        pools=team_pools,
        teams=team_pools.by_team,
        summary=_summarise_changes(team_pools, kinds, systems, rankings),
        rankings=rankings,
        systems=systems,
    )


def _score_without(shared: tuple[Pools, ScoreKinds, str], team: int) -> pl.DataFrame:
    team_pools, kinds, others = shared
    scores = compute_overall_scores(
        iterate_blocks(team_pools.runs, team_pools.exclude_team(team, others)), kinds
    )
    return pl.DataFrame({"score": scores.ravel()})
