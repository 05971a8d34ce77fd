"""Pools: contributions of runs and teams to the judged documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Ints
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.kinds import check_arguments
from cranfield.base.text import counted
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.judged.each_run import Progress
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judging import judge
from cranfield.collection.judged.rows import Rows
from cranfield.meta.collection_studies.rankings import Teams, teams_of
from cranfield.meta.study_options import Depth, Rel
from cranfield.meta.work import judged_fingerprint
from cranfield.scores.one_measure import label_indices

ROWS = 200_000
"""Approximate number of judged rows in a block of systems."""


@dataclass(frozen=True, eq=False, repr=False)
class TracedRuns:
    """Judged runs, and the documents of their judgments; made by :func:`trace_runs`.

    Judgments are those of the evaluated topics, in order of topic and descending grade; `doc` has
    their documents.
    """

    judged: JudgedRuns
    doc: pl.Series

    @property
    def number(self) -> Ints:
        """Index of the judgment of each row of `judged.documents`."""
        return self.judged.documents.judgment

    @property
    def topic(self) -> Ints:
        """Topic of each judgment, an index into `judged.topics`."""
        return self.judged.judgments.topic

    @property
    def grade(self) -> Ints:
        return self.judged.judgments.grade

    def restrict(self, mask: Bools) -> JudgedRuns:
        """Return the runs with some of the judgments only, by a mask of shape (judgments,).

        Topics stay, also those that lose all judgments, and so does the highest grade, which some
        measures take from the judgments: the grades that assessors could give do not change.
        """
        return next(self._parts(mask, [(0, len(self.judged.systems))]))

    def blocks(self, mask: Bools) -> Iterator[JudgedRuns]:
        """Yield the runs of :meth:`restrict` in blocks of systems, in order.

        Scores of a system do not depend on others; tables that fit into the cache are scored about
        twice as fast as one of all systems.
        """
        systems = len(self.judged.systems)
        size = max(1, ROWS * systems // max(1, self.number.size))
        starts = range(0, systems, size)
        return self._parts(mask, ((start, min(start + size, systems)) for start in starts))

    def of_systems(self, mask: Bools, systems: Ints) -> Iterator[JudgedRuns]:
        """Yield the runs of :meth:`restrict` of single systems, by index."""
        return self._parts(mask, ((system, system + 1) for system in systems.tolist()))

    def _parts(self, mask: Bools, spans: Iterable[tuple[int, int]]) -> Iterator[JudgedRuns]:
        judged, topics = self.judged, self.judged.shape[0]
        rows, judgments, new_index = judged.documents, judged.judgments, np.cumsum(mask) - 1
        remaining = replace(
            judgments,
            topic=judgments.topic[mask],
            grade=judgments.grade[mask],
            columns={name: values[mask] for name, values in judgments.columns.items()},
        )
        for start, stop in spans:
            # Rows are in order of system first.
            begin, end = np.searchsorted(rows.cell, [start * topics, stop * topics])
            row_index = begin + np.flatnonzero(mask[self.number[begin:end]])
            yield replace(
                judged,
                systems=judged.systems[start:stop],
                documents=Rows(
                    rows.cell[row_index] - start * topics,
                    rows.rank[row_index],
                    rows.grade[row_index],
                    (topics, stop - start),
                    source=new_index[self.number[row_index]],
                ),
                retrieved=judged.retrieved[:, start:stop],
                scored=judged.scored[:, start:stop],
                judgments=remaining,
                views={},
            )

    def __repr__(self) -> str:
        return f"TracedRuns({self.judged!r}, {counted(self.grade.size, 'judgment')})"


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
) -> TracedRuns:
    """Judge runs once, so that judgments can be withdrawn without reading anything again.

    Arguments are those of :func:`cranfield.judge`; traced runs are returned unchanged, and take no
    judgments (None) and no policies.
    """
    policies: dict[str, Any] = {"ties": ties, "topics": topics, "negative": negative}
    policies["compat"] = compat
    if isinstance(runs, TracedRuns):
        if any(value is not None for value in (qrels, *policies.values())):
            raise PolicyError("these runs are judged already; pass no judgments and no policies")
        return runs
    pairs = read_qrels(qrels).flat()
    judged = judge(runs, pairs, jobs=jobs, backend=backend, progress=progress, **policies)
    judged.policies.require_order("pools of documents")
    topic_index = {name: t for t, name in enumerate(judged.topics)}
    topic = np.array([topic_index.get(name, -1) for name in pairs.topics])[pairs.codes]
    rows = np.flatnonzero(topic >= 0)
    rows = rows[np.lexsort((-pairs.grades[rows].astype(np.int64), topic[rows]))]
    return TracedRuns(judged, pairs.docs.gather(rows))


def judged_depths(runs: TracedRuns) -> Ints:
    """Find the largest d with all top d documents of each system judged; shape (systems,).

    The depth of a run whose documents are all judged is the maximum integer.
    """
    rows = runs.judged.documents
    # Rows are judged documents in order of rank: positions and ranks agree until one is missing.
    leading = rows.where(rows.seen == rows.rank).count
    endless = np.iinfo(np.int64).max
    return np.asarray(
        np.where(leading < retrieved_where_judged(runs), leading, endless).min(axis=0)
    )


def find_contributors(runs: TracedRuns, contributors: Any, reach: Ints, depth: int | None) -> Bools:
    systems = runs.judged.systems
    if contributors is None:
        return np.ones(len(systems), dtype=bool)
    if isinstance(contributors, str) and contributors == "judged":
        is_contributor: Bools = reach >= (depth or 1)
        if not is_contributor.any():
            raise PolicyError(
                f"contributors='judged' requires a run whose top {depth} documents are all judged"
                f" (the depth of the pool), got at most the top {reach.max()}"
            )
        return is_contributor
    if isinstance(contributors, str) or not isinstance(contributors, Iterable):
        raise PolicyError(
            f"contributors must be 'judged' or names of systems, got {quoted(contributors)}"
        )
    indices = label_indices([str(name) for name in contributors], systems)
    if not indices.size:
        raise PolicyError("no run contributes to the pool")
    return np.isin(np.arange(len(systems)), indices)


def is_pooled(runs: TracedRuns, contributes: Bools, depth: int) -> Bools:
    """Return a mask of the rows of judged runs within the pool depth of a contributing run."""
    rows = runs.judged.documents
    return np.asarray((rows.rank <= depth) & contributes[rows.cell // runs.judged.shape[0]])


def unjudged_in_pool(runs: TracedRuns, contributes: Bools, depth: int) -> Ints:
    """Count the documents without judgment within the pool depth of each contributing run."""
    rows = runs.judged.documents
    n_judged = rows.where(is_pooled(runs, contributes, depth)).count.sum(axis=0)
    n_unjudged: Ints = (
        np.minimum(retrieved_where_judged(runs), depth).sum(axis=0) * contributes - n_judged
    )
    return n_unjudged


def retrieved_where_judged(runs: TracedRuns) -> Ints:
    """Count retrieved documents by topic and system; 0 for topics without judgments."""
    is_judged = np.isin(np.arange(runs.judged.shape[0]), runs.topic)
    return np.asarray(runs.judged.retrieved * is_judged[:, None])


def pool_of(runs: TracedRuns, contributes: Bools, depth: int) -> Bools:
    """Return a mask of the judgments of documents in the pool of a depth."""
    mask = np.zeros(runs.grade.size, dtype=bool)
    mask[runs.number[is_pooled(runs, contributes, depth)]] = True
    return mask


def count_judged(
    runs: TracedRuns, contributes: Bools, depth: int | None, mask: Bools, top: int, rel: int
) -> dict[str, Any]:
    """Count judged documents, and unjudged ones among the top documents."""
    top_runs = runs.restrict(mask).top(top)
    retrieved = top_runs.retrieved.sum(axis=0)
    unjudged = retrieved - top_runs.judged().count.sum(axis=0)
    has_documents = retrieved > 0
    return {
        "depth": depth,
        "judged": int(mask.sum()),
        "relevant": int((mask & (runs.grade >= rel)).sum()),
        "unjudged": float(unjudged.sum() / retrieved.sum()) if has_documents.any() else None,
        "largest unjudged": float((unjudged[has_documents] / retrieved[has_documents]).max())
        if has_documents.any()
        else None,
        "lacking": None if depth is None else int(unjudged_in_pool(runs, contributes, depth).sum()),
    }


@dataclass(frozen=True, eq=False, repr=False)
class Pools:
    r"""Contributions of teams to the judgments of a collection; made by :func:`pools`.

    With C_j the top `depth` documents of the contributing runs of team j, topic by topic,

    .. math:: P = \bigcup_j C_j, \quad U_j = C_j - \bigcup_{j' \ne j} C_{j'}, \quad
              LOO_j = P - U_j

    Source: Sakai (2013), section 5.4.

    Attributes
    ----------
    runs
        The judged runs, traced to their judgments.
    teams
        Names of the teams, in order of name.
    team_of
        Team of each system, an index into `teams`; shape (systems,).
    contributes
        Mask of the systems whose runs went into the pool; shape (systems,).
    depth, depth_inferred
        Documents per topic that each of them contributed, and whether this depth was inferred from
        the judgments.
    judged_depth
        For each system the largest d with all its top d documents judged, on all topics; shape
        (systems,). A run whose documents are all judged has the length of its longest ranking.
    contributors
        Number of teams that contributed each judgment, 0 for one from outside the pool of these
        runs; shape (judgments,).
    owner
        The only team that contributed the judgment, an index into `teams`; -1 for none, or more
        than one; shape (judgments,).
    by_team
        Table with a row per team: its `systems`, those `contributing`, the judged documents it
        `contributed` and those `unique` to it, the relevant ones of both, the `topics` where it
        has a unique relevant document, and `unjudged`: documents in the pooled ranks of its runs
        that have no judgment, counted once per run.
    """

    runs: TracedRuns
    teams: tuple[str, ...]
    team_of: Ints
    contributes: Bools
    depth: int
    depth_inferred: bool
    judged_depth: Ints
    contributors: Ints
    owner: Ints
    by_team: pl.DataFrame

    @property
    def outside(self) -> int:
        """Number of judgments of documents that no contributing run has within the depth."""
        return int((self.contributors == 0).sum())

    def without(self, team: int, others: str = "keep") -> Bools:
        """Return a mask of the judgments without the unique contributions of a team, by index.

        `others`: `keep` or `drop` judgments from outside the pool of these runs.
        """
        return np.asarray(self.judgments(others) & (self.owner != team))

    def judgments(self, others: str = "keep") -> Bools:
        """Return a mask of the judgments with all teams."""
        return np.asarray(self.contributors > (0 if others == "drop" else -1))

    @property
    def unit(self) -> str:
        """Unit of a contribution: a `team`, or a `run` without a table of teams."""
        return "run" if len(self.teams) == len(self.team_of) else "team"

    @property
    def contributing(self) -> list[str]:
        """The systems whose runs went into the pool."""
        return [self.runs.judged.systems[s] for s in np.flatnonzero(self.contributes)]

    def about(self) -> dict[str, Any]:
        """Return the settings that scores without a team depend on."""
        return {
            "depth": self.depth,
            "teams": [self.teams[j] for j in self.team_of],
            "contributing": self.contributing,
            "runs": judged_fingerprint(self.runs.judged, self.runs.number),
        }

    def by_system(self) -> pl.DataFrame:
        """Return the team, the contribution and the judged depth of each system."""
        return pl.DataFrame(
            {
                "system": pl.Series(self.runs.judged.systems, dtype=pl.String),
                "team": pl.Series([self.teams[j] for j in self.team_of], dtype=pl.String),
                "contributes": self.contributes,
                "judged depth": self.judged_depth,
            }
        )

    def __repr__(self) -> str:
        inside = int((self.contributors > 0).sum())
        return (
            f"Pools({counted(len(self.teams), 'team')},"
            f" {counted(int(self.contributes.sum()), 'contributing run')}, depth {self.depth}:"
            f" {counted(inside, 'judgment')}, {self.outside:,} from elsewhere)"
        )


def pools(
    runs: Any,
    qrels: Any,
    *,
    teams: Teams = None,
    contributors: Any = None,
    depth: Depth = None,
    rel: Rel = 1,
    **policies: Any,
) -> Pools:
    """Compute the contributions of each team to the judgments.

    Parameters
    ----------
    runs, qrels
        As for :func:`cranfield.judge`; or :class:`TracedRuns`, and None.
    teams
        Table of systems and their teams; the systems of a team are excluded together. By default
        each system is a team of its own. Other forms are those of :func:`cranfield.meta.teams_of`.
    contributors
        The runs that went into the pool: None for all of them, names of systems, or `judged`: those
        whose top `depth` documents are all judged.
    depth
        Depth of the pool: number of documents that were pooled from each ranking. By default the
        largest depth at which every document of the contributing runs is judged.
    rel
        Lowest grade that counts as relevant, 1 or more.
    policies
        `ties`, `topics`, `negative` and `compat`, as for :func:`cranfield.judge`.

    Raises
    ------
    PolicyError
        For an invalid depth, one that cannot be inferred, or unknown systems.
    InputError
        As :func:`cranfield.judge`.

    Notes
    -----
    Any entry in the judgments counts as judged here, also one with a grade below 0. A ranking that
    is shorter than the depth contributes all that it has. Inference of the depth of real pools
    depends on exact ranks: if pools were made from ranks that scores do not reproduce, pass
    `ties="rank"`; if they were made in several rounds, pass a depth.

    Examples
    --------
    >>> runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "z": 1.0}}}
    >>> team_pools = pools(runs, {"q": {"x": 1, "y": 1, "z": 0, "w": 1}})
    >>> team_pools
    Pools(2 teams, 2 contributing runs, depth 2: 3 judgments, 1 from elsewhere)
    >>> team_pools.by_team.select("team", "contributed", "unique", "unique relevant").rows()
    [('a', 2, 1, 1), ('b', 2, 1, 0)]
    """
    check_arguments(pools, locals(), trace_runs)
    if depth is None and isinstance(contributors, str) and contributors == "judged":
        raise PolicyError("contributors='judged' requires the depth of the pool")
    runs = trace_runs(runs, qrels, **policies)
    run_depths = judged_depths(runs)
    contributes = find_contributors(runs, contributors, run_depths, depth)
    names = teams_of(runs.judged.systems, teams)
    labels = tuple(sorted(set(names)))
    team_of = np.array([labels.index(name) for name in names], dtype=np.int64)
    if depth is None:
        # A pool is often made of some of the submitted runs: the half that is judged deepest, and
        # runs as deep as the last of these. The others are judged only where they agree by chance.
        median_depth = np.sort(run_depths)[run_depths.size // 2]
        if contributors is None and not run_depths.min() and median_depth:
            contributes = run_depths >= median_depth
        shallowest = int(np.argmin(np.where(contributes, run_depths, np.iinfo(np.int64).max)))
        if not run_depths[shallowest]:
            raise PolicyError(
                f"no pool depth is consistent with all runs: system"
                f" {quoted(runs.judged.systems[shallowest])} has an unjudged document at"
                " rank 1; pass depth, and contributors if not all runs contributed"
            )
        longest = int(retrieved_where_judged(runs)[:, contributes].max())
        parsed_depth = min(int(run_depths[shallowest]), max(1, longest))
    else:
        parsed_depth = int(depth)
    is_row_pooled = is_pooled(runs, contributes, parsed_depth)
    # Each pair of a judgment and a team counts once.
    row_teams = team_of[runs.judged.documents.cell[is_row_pooled] // runs.judged.shape[0]]
    pairs = np.unique(runs.number[is_row_pooled] * len(labels) + row_teams)
    judgment, team = pairs // len(labels), pairs % len(labels)
    n_teams = np.bincount(judgment, minlength=runs.grade.size)
    owner = np.full(runs.grade.size, -1, dtype=np.int64)
    owner[judgment] = team
    owner[n_teams != 1] = -1

    def by_team(teams: Any, weights: Any = None) -> Ints:
        return np.bincount(teams, weights=weights, minlength=len(labels)).astype(np.int64)

    relevant = runs.grade >= rel
    is_unique_relevant = (owner >= 0) & relevant
    n_topics = len(runs.judged.topics)
    cells = np.unique(owner[is_unique_relevant] * n_topics + runs.topic[is_unique_relevant])
    counts = {
        "team": pl.Series(labels, dtype=pl.String),
        "systems": by_team(team_of),
        "contributing": by_team(team_of[contributes]),
        "contributed": by_team(team),
        "contributed relevant": by_team(team[relevant[judgment]]),
        "unique": by_team(owner[owner >= 0]),
        "unique relevant": by_team(owner[is_unique_relevant]),
        "topics": by_team(cells // n_topics),
        "unjudged": by_team(team_of, unjudged_in_pool(runs, contributes, parsed_depth)),
    }
    return Pools(
        runs=runs,
        teams=labels,
        team_of=team_of,
        contributes=contributes,
        depth=parsed_depth,
        depth_inferred=depth is None,
        judged_depth=np.minimum(run_depths, retrieved_where_judged(runs).max(axis=0)),
        contributors=n_teams,
        owner=owner,
        by_team=pl.DataFrame(counts),
    )
