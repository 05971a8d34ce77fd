"""Pools: contributions of runs and teams to the judgments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Ints
from cranfield.base.errors import PolicyError, quote
from cranfield.base.kinds import check_arguments
from cranfield.base.text import inflect
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.judged.each_run import Progress
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge
from cranfield.collection.judged.rows import Rows
from cranfield.meta.collection_studies.rankings import Teams, teams_of
from cranfield.meta.study_options import PoolDepth, Rel
from cranfield.meta.work import hash_judged_runs
from cranfield.scores.one_measure import find_labels

BLOCK_ROWS = 200_000
"""Approximate number of judged documents of runs in a block of systems."""

QRELS_INDEX = "qrels index"
"""Column of the judgments of traced runs: the index of each judgment in the qrels."""


def trace_runs(
    runs: Any,
    qrels: Any,
    *,
    ties: str | None = None,
    topics: str | None = None,
    negative: str | None = None,
    compat: str | None = None,
    jobs: int | None = None,
    backend: str | None = None,
    progress: Progress | None = None,
) -> JudgedRuns:
    """Judge runs once, so that judgments can be removed later; arguments as for `judge`.

    The judgments of traced runs have the column `QRELS_INDEX`. Runs that are already traced are
    returned unchanged; `qrels` and policies must then be None.
    """
    policies: Any = {"ties": ties, "topics": topics, "negative": negative, "compat": compat}
    if isinstance(runs, JudgedRuns) and QRELS_INDEX in runs.judgments.columns:
        if any(value is not None for value in (qrels, *policies.values())):
            raise PolicyError("qrels and policies must be None, as the runs are already judged")
        return runs
    judgments = read_qrels(qrels).merge_subtopics()
    indexed_qrels = replace(judgments, columns={QRELS_INDEX: np.arange(len(judgments))})
    judged = judge(runs, indexed_qrels, jobs=jobs, backend=backend, progress=progress, **policies)
    judged.policies.require_order("pools of documents")
    return judged


def restrict_judgments(runs: JudgedRuns, mask: Bools) -> JudgedRuns:
    """Return traced runs with a selection of judgments; topics without judgments stay."""
    return next(_iterate_spans(runs, mask, [(0, len(runs.systems))]))


def iterate_blocks(runs: JudgedRuns, mask: Bools) -> Iterator[JudgedRuns]:
    """Yield restricted runs in blocks of systems, faster to score than all systems at once."""
    n_systems = len(runs.systems)
    size = max(1, BLOCK_ROWS * n_systems // max(1, runs.documents.judgment.size))
    starts = range(0, n_systems, size)
    return _iterate_spans(runs, mask, ((start, min(start + size, n_systems)) for start in starts))


def iterate_systems(runs: JudgedRuns, mask: Bools, systems: Ints) -> Iterator[JudgedRuns]:
    """Yield restricted runs in blocks of one system each, by index."""
    return _iterate_spans(runs, mask, ((system, system + 1) for system in systems.tolist()))


def _iterate_spans(
    runs: JudgedRuns, mask: Bools, spans: Iterable[tuple[int, int]]
) -> Iterator[JudgedRuns]:
    n_topics, rows, judgments = len(runs.topics), runs.documents, runs.judgments
    old_index, new_index = rows.judgment, np.cumsum(mask) - 1
    selected_judgments = replace(
        judgments,
        topic=judgments.topic[mask],
        grade=judgments.grade[mask],
        columns={name: values[mask] for name, values in judgments.columns.items()},
    )
    for start, stop in spans:
        # Rows are sorted by system.
        begin, end = np.searchsorted(rows.cell, [start * n_topics, stop * n_topics])
        row_index = begin + np.flatnonzero(mask[old_index[begin:end]])
        yield replace(
            runs,
            systems=runs.systems[start:stop],
            documents=Rows(
                rows.cell[row_index] - start * n_topics,
                rows.rank[row_index],
                rows.grade[row_index],
                (n_topics, stop - start),
                source=new_index[old_index[row_index]],
            ),
            n_retrieved=runs.n_retrieved[:, start:stop],
            is_scored=runs.is_scored[:, start:stop],
            judgments=selected_judgments,
            views={},
        )


def count_retrieved(runs: JudgedRuns) -> Ints:
    """Count retrieved documents by topic and system; 0 for topics without judgments."""
    is_judged = np.isin(np.arange(len(runs.topics)), runs.judgments.topic)
    return np.asarray(runs.n_retrieved * is_judged[:, None])


def find_judged_depths(runs: JudgedRuns) -> Ints:
    """Find the largest d such that a system's top d are judged: the largest int64 if all are."""
    rows = runs.documents
    # Rows are judged documents by rank: position and rank agree down to the first unjudged one.
    prefix_sizes = rows.where(rows.row_numbers == rows.rank).n_rows
    # Rankings whose documents are all judged do not limit the depth.
    max_depth = np.iinfo(np.int64).max
    depths = np.where(prefix_sizes < count_retrieved(runs), prefix_sizes, max_depth)
    return np.asarray(depths.min(axis=0))


def find_contributors(runs: JudgedRuns, contributors: Any, depth: int | None) -> Bools:
    """Return a mask of the systems that contribute to the pool; shape (systems,)."""
    systems = runs.systems
    if contributors is None:
        return np.ones(len(systems), dtype=bool)
    if isinstance(contributors, str) and contributors == "judged":
        judged_depths = find_judged_depths(runs)
        is_contributor: Bools = judged_depths >= (depth or 1)
        if not is_contributor.any():
            max_depth = judged_depths.max()
            result = f"at most the top {max_depth}" if max_depth else "unjudged first documents"
            advice = f"choose a depth of at most {max_depth}, or " if max_depth else ""
            raise PolicyError(
                f"contributors='judged' requires a run whose top {depth} documents (the depth of"
                f" the pool) are all judged, got {result}; {advice}name the contributing runs"
            )
        return is_contributor
    if isinstance(contributors, str) or not isinstance(contributors, Iterable):
        raise PolicyError(
            f"contributors must be None, 'judged' or names of systems, got {quote(contributors)}"
        )
    indices = find_labels([str(name) for name in contributors], systems)
    if not indices.size:
        raise PolicyError("expected at least one contributor, got none")
    return np.isin(np.arange(len(systems)), indices)


def is_pooled(runs: JudgedRuns, is_contributor: Bools, depth: int) -> Bools:
    """Return a mask of the judged documents that contributing runs rank within the depth."""
    rows = runs.documents
    return np.asarray((rows.rank <= depth) & is_contributor[rows.cell // len(runs.topics)])


def count_unjudged(runs: JudgedRuns, is_contributor: Bools, depth: int) -> Ints:
    """Count the unjudged documents within the pool depth of each contributing run."""
    rows = runs.documents
    n_judged = rows.where(is_pooled(runs, is_contributor, depth)).n_rows.sum(axis=0)
    n_pooled = np.minimum(count_retrieved(runs), depth).sum(axis=0) * is_contributor
    return np.asarray(n_pooled - n_judged)


def mask_pool(runs: JudgedRuns, is_contributor: Bools, depth: int) -> Bools:
    """Return a mask of the judgments of documents in a pool; shape (judgments,)."""
    mask = np.zeros(runs.judgments.grade.size, dtype=bool)
    mask[runs.documents.judgment[is_pooled(runs, is_contributor, depth)]] = True
    return mask


def count_judged(
    runs: JudgedRuns, is_contributor: Bools, depth: int | None, is_judged: Bools, top: int, rel: int
) -> dict[str, Any]:
    """Count judged and relevant documents, and find proportions of unjudged ones in top ranks."""
    top_runs = restrict_judgments(runs, is_judged).top(top)
    n_retrieved = top_runs.n_retrieved.sum(axis=0)
    n_unjudged = n_retrieved - top_runs.judged().n_rows.sum(axis=0)
    proportions = n_unjudged[n_retrieved > 0] / n_retrieved[n_retrieved > 0]
    n_lacking = None if depth is None else int(count_unjudged(runs, is_contributor, depth).sum())
    return {
        "depth": depth,
        "judged": int(is_judged.sum()),
        "relevant": int((is_judged & (runs.judgments.grade >= rel)).sum()),
        "unjudged": float(n_unjudged.sum() / n_retrieved.sum()) if proportions.size else None,
        "largest unjudged": float(proportions.max()) if proportions.size else None,
        "lacking": n_lacking,
    }


@dataclass(frozen=True, eq=False, repr=False)
class Pools:
    r"""Contributions of teams to the judgments of a collection; returned by :func:`pools`.

    With C_j the top `depth` documents of the contributing runs of team j, topic by topic,

    .. math:: P = \bigcup_j C_j, \quad U_j = C_j - \bigcup_{j' \ne j} C_{j'}, \quad
              LOO_j = P - U_j

    Source: Sakai (2013), section 5.4.

    Attributes
    ----------
    runs
        The judged runs.
    teams
        Names of the teams, in order of name.
    team_of
        Team of each system, an index into `teams`; shape (systems,).
    is_contributor
        Mask of the systems whose runs contributed to the pool; shape (systems,).
    depth, is_depth_inferred
        Maximum number of documents per topic from each of these runs, and whether it was inferred
        from the judgments.
    judged_depth
        Largest d such that all top d documents of a system are judged, on all judged topics; shape
        (systems,). For a run whose documents are all judged, the length of its longest ranking.
    n_contributing_teams
        Number of teams that contributed each judgment, 0 outside the pool of these runs; shape
        (judgments,).
    owner
        The only team that contributed each judgment, an index into `teams`; -1 for no team or
        several teams; shape (judgments,).
    by_team
        Table with a row per team: the numbers of `systems` and of `contributing` systems; the
        numbers of judged documents that the team `contributed`, and that are `unique` to it, and
        the same numbers for relevant documents (`contributed relevant`, `unique relevant`); the
        number of `topics` with unique relevant documents; and `unjudged`, the number of unjudged
        documents in the pooled ranks, summed over the contributing runs of the team.
    """

    runs: JudgedRuns
    teams: tuple[str, ...]
    team_of: Ints
    is_contributor: Bools
    depth: int
    is_depth_inferred: bool
    judged_depth: Ints
    n_contributing_teams: Ints
    owner: Ints
    by_team: pl.DataFrame

    @property
    def n_outside(self) -> int:
        """Number of judgments of documents that no contributing run has within the depth."""
        return int((self.n_contributing_teams == 0).sum())

    def exclude_team(self, team: int, others: str = "keep") -> Bools:
        """Return a mask of the judgments without the unique contributions of a team.

        `team` is an index into `teams`. `others` is `keep` or `drop`, for judgments of documents
        outside the pool.
        """
        return np.asarray(self.mask_judgments(others) & (self.owner != team))

    def mask_judgments(self, others: str = "keep") -> Bools:
        """Return a mask of the judgments of all teams; `others` as for :meth:`exclude_team`."""
        return np.asarray((self.n_contributing_teams > 0) | (others == "keep"))

    @property
    def unit(self) -> str:
        """Unit of a contribution: `run` if each team has one run, otherwise `team`."""
        return "run" if len(self.teams) == len(self.team_of) else "team"

    @property
    def contributors(self) -> list[str]:
        """Names of the systems whose runs contributed to the pool."""
        return [self.runs.systems[s] for s in np.flatnonzero(self.is_contributor)]

    def make_settings(self) -> dict[str, Any]:
        """Return the settings that results depend on."""
        return {
            "depth": self.depth,
            "teams": [self.teams[j] for j in self.team_of],
            "contributing": self.contributors,
            "runs": hash_judged_runs(self.runs, self.runs.documents.judgment),
        }

    def by_system(self) -> pl.DataFrame:
        """Return the team of each system, whether it contributes, and its judged depth."""
        return pl.DataFrame(
            {
                "system": pl.Series(self.runs.systems, dtype=pl.String),
                "team": pl.Series([self.teams[j] for j in self.team_of], dtype=pl.String),
                "contributes": self.is_contributor,
                "judged depth": self.judged_depth,
            }
        )

    def __repr__(self) -> str:
        n_pooled = int((self.n_contributing_teams > 0).sum())
        return (
            f"Pools({inflect(len(self.teams), 'team')},"
            f" {inflect(int(self.is_contributor.sum()), 'contributing run')}, depth {self.depth}:"
            f" {inflect(n_pooled, 'judgment')} in the pool, {self.n_outside:,} outside)"
        )


def pools(
    runs: Any,
    qrels: Any,
    *,
    teams: Teams = None,
    contributors: Any = None,
    depth: PoolDepth = None,
    rel: Rel = 1,
    **policies: Any,
) -> Pools:
    """Compute the contributions of each team to the judgments.

    Parameters
    ----------
    runs, qrels
        As for :func:`cranfield.judge`. To judge runs only once, pass the attribute `runs` of
        another :class:`Pools`, and None as `qrels`.
    teams
        Teams of the systems, such as a table with the columns system and team. By default each
        system is a team of its own. Other forms: see :func:`cranfield.meta.teams_of`.
    contributors
        The runs that contributed to the pool: None for all, names of systems, or `judged`: the runs
        whose top `depth` documents are all judged. With None and no `depth`, if the first document
        of a run is unjudged, only runs contribute that are judged at least as deep as the median.
    depth
        Depth of the pool: number of documents taken from each ranking. By default the largest depth
        down to which all documents of the contributing runs are judged.
    rel
        Lowest relevant grade, 1 or more.
    policies
        `ties`, `topics`, `negative` and `compat`, as for :func:`cranfield.judge`.

    Raises
    ------
    PolicyError
        For a missing, invalid or not inferable depth, unknown systems, and systems without a team.
    InputError
        As for :func:`cranfield.judge`, and for a table of teams that cannot be read.

    Notes
    -----
    Every document in the judgments counts as judged, even with a grade below 0. A ranking that is
    shorter than the depth contributes all its documents. Inferring the depth of real pools requires
    exact ranks: if the pools were made from ranks that scores do not reproduce, pass `ties="rank"`;
    if the pools were made in several rounds, pass a depth.

    Examples
    --------
    >>> runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "z": 1.0}}}
    >>> team_pools = pools(runs, {"q": {"x": 1, "y": 1, "z": 0, "w": 1}})
    >>> team_pools
    Pools(2 teams, 2 contributing runs, depth 2: 3 judgments in the pool, 1 outside)
    >>> team_pools.by_team.select("team", "contributed", "unique", "unique relevant").rows()
    [('a', 2, 1, 1), ('b', 2, 1, 0)]
    """
    check_arguments(pools, locals(), trace_runs)
    if depth is None and isinstance(contributors, str) and contributors == "judged":
        raise PolicyError("contributors='judged' requires the depth of the pool")
    runs = trace_runs(runs, qrels, **policies)
    judgments, n_retrieved = runs.judgments, count_retrieved(runs)
    run_depths = find_judged_depths(runs)
    is_contributor = find_contributors(runs, contributors, depth)
    system_teams = teams_of(runs.systems, teams)
    team_names = tuple(sorted(set(system_teams)))
    team_of = np.array([team_names.index(name) for name in system_teams], dtype=np.int64)
    if depth is None:
        # Pools are often made from a part of the submitted runs: assume the half that is judged
        # deepest, and runs as deep as the median. Other documents are judged only by coincidence.
        median_depth = np.sort(run_depths)[run_depths.size // 2]
        if contributors is None and not run_depths.min() and median_depth:
            is_contributor = run_depths >= median_depth
        run = int(np.argmin(np.where(is_contributor, run_depths, np.iinfo(np.int64).max)))
        if not run_depths[run]:
            raise PolicyError(
                "no pool depth is consistent with all contributing runs: system"
                f" {quote(runs.systems[run])} has an unjudged document at rank 1; pass depth=...,"
                " and contributors=... if not all runs contributed"
            )
        max_length = int(n_retrieved[:, is_contributor].max())
        pool_depth = min(int(run_depths[run]), max(1, max_length))
    else:
        pool_depth = int(depth)
    is_row_pooled = is_pooled(runs, is_contributor, pool_depth)
    # Count each pair of a judgment and a team once.
    row_teams = team_of[runs.documents.cell[is_row_pooled] // len(runs.topics)]
    pairs = np.unique(runs.documents.judgment[is_row_pooled] * len(team_names) + row_teams)
    judgment, team = pairs // len(team_names), pairs % len(team_names)
    n_teams = np.bincount(judgment, minlength=judgments.grade.size)
    owner = np.full(judgments.grade.size, -1, dtype=np.int64)
    owner[judgment] = team
    owner[n_teams != 1] = -1

    def count_by_team(indices: Any, weights: Any = None) -> Ints:
        return np.bincount(indices, weights=weights, minlength=len(team_names)).astype(np.int64)

    is_relevant = judgments.grade >= rel
    is_unique_relevant = (owner >= 0) & is_relevant
    n_topics = len(runs.topics)
    owned_topics = np.unique((owner * n_topics + judgments.topic)[is_unique_relevant])
    counts = {
        "team": pl.Series(team_names, dtype=pl.String),
        "systems": count_by_team(team_of),
        "contributing": count_by_team(team_of[is_contributor]),
        "contributed": count_by_team(team),
        "contributed relevant": count_by_team(team[is_relevant[judgment]]),
        "unique": count_by_team(owner[owner >= 0]),
        "unique relevant": count_by_team(owner[is_unique_relevant]),
        "topics": count_by_team(owned_topics // n_topics),
        "unjudged": count_by_team(team_of, count_unjudged(runs, is_contributor, pool_depth)),
    }
    return Pools(
        runs=runs,
        teams=team_names,
        team_of=team_of,
        is_contributor=is_contributor,
        depth=pool_depth,
        is_depth_inferred=depth is None,
        judged_depth=np.minimum(run_depths, n_retrieved.max(axis=0)),
        n_contributing_teams=n_teams,
        owner=owner,
        by_team=pl.DataFrame(counts),
    )
