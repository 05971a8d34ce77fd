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
from cranfield.scores.one_measure import places_of

ROWS = 200_000
"""Judged rows in a block of systems, at about."""


@dataclass(frozen=True, eq=False, repr=False)
class TracedRuns:
    """Judged runs, and the documents of their judgments; made by :func:`traced`.

    Judgments are those of the topics that count, in order of topic and falling grade; each `doc`
    is the document of one.
    """

    judged: JudgedRuns
    doc: pl.Series

    @property
    def number(self) -> Ints:
        """The judgment of each row of `judged.documents`."""
        return self.judged.documents.judgment

    @property
    def topic(self) -> Ints:
        """The topic of each judgment, an index into `judged.topics`."""
        return self.judged.judgments.topic

    @property
    def grade(self) -> Ints:
        return self.judged.judgments.grade

    def restricted(self, kept: Bools) -> JudgedRuns:
        """Return the same runs with some of the judgments only, by a mask of shape (judgments,).

        Topics stay, also those that lose all judgments, and so does the highest grade, which some
        measures take from the judgments: the grades that assessors could give do not change.
        """
        return next(self._parts(kept, [(0, len(self.judged.systems))]))

    def blocks(self, kept: Bools) -> Iterator[JudgedRuns]:
        """Yield the same runs as :meth:`restricted`, a few systems at a time, in order.

        Scores of a system do not depend on others; tables that fit into the cache are scored about
        twice as fast as one of all systems.
        """
        systems = len(self.judged.systems)
        size = max(1, ROWS * systems // max(1, self.number.size))
        starts = range(0, systems, size)
        return self._parts(kept, ((start, min(start + size, systems)) for start in starts))

    def of_systems(self, kept: Bools, systems: Ints) -> Iterator[JudgedRuns]:
        """Yield the same as :meth:`restricted` of some of the systems, by index, one at a time."""
        return self._parts(kept, ((system, system + 1) for system in systems.tolist()))

    def _parts(self, kept: Bools, spans: Iterable[tuple[int, int]]) -> Iterator[JudgedRuns]:
        judged, topics = self.judged, self.judged.shape[0]
        rows, judgments, place = judged.documents, judged.judgments, np.cumsum(kept) - 1
        fewer = replace(
            judgments,
            topic=judgments.topic[kept],
            grade=judgments.grade[kept],
            columns={name: values[kept] for name, values in judgments.columns.items()},
        )
        for start, stop in spans:
            # Rows are in order of system first.
            begin, end = np.searchsorted(rows.cell, [start * topics, stop * topics])
            chosen = begin + np.flatnonzero(kept[self.number[begin:end]])
            yield replace(
                judged,
                systems=judged.systems[start:stop],
                documents=Rows(
                    rows.cell[chosen] - start * topics,
                    rows.rank[chosen],
                    rows.grade[chosen],
                    (topics, stop - start),
                    source=place[self.number[chosen]],
                ),
                retrieved=judged.retrieved[:, start:stop],
                scored=judged.scored[:, start:stop],
                judgments=fewer,
                views={},
            )

    def __repr__(self) -> str:
        return f"TracedRuns({self.judged!r}, {counted(self.grade.size, 'judgment')})"


def traced(
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

    What is given is as for :func:`cranfield.judge`; runs that are traced already are unchanged,
    and take no judgments (None) and no policies.
    """
    policies: dict[str, Any] = {"ties": ties, "topics": topics, "negative": negative}
    policies["compat"] = compat
    if isinstance(runs, TracedRuns):
        if any(one is not None for one in (qrels, *policies.values())):
            raise PolicyError("these runs are judged already; pass no judgments and no policies")
        return runs
    given = read_qrels(qrels).flat()
    judged = judge(runs, given, jobs=jobs, backend=backend, progress=progress, **policies)
    judged.policies.require_order("pools of documents")
    place = {name: t for t, name in enumerate(judged.topics)}
    topic = np.array([place.get(name, -1) for name in given.topics])[given.codes]
    row = np.flatnonzero(topic >= 0)
    row = row[np.lexsort((-given.grades[row].astype(np.int64), topic[row]))]
    return TracedRuns(judged, given.docs.gather(row))


def judged_depths(runs: TracedRuns) -> Ints:
    """Find the largest d with all top d documents of each system judged; shape (systems,).

    A run whose documents are all judged has the largest whole number there is.
    """
    rows = runs.judged.documents
    # Rows are judged documents in order of rank: as long as none is missing, both count alike.
    leading = rows.where(rows.seen == rows.rank).count
    endless = np.iinfo(np.int64).max
    return np.asarray(
        np.where(leading < retrieved_where_judged(runs), leading, endless).min(axis=0)
    )


def contributing(runs: TracedRuns, contributors: Any, reach: Ints, depth: int | None) -> Bools:
    systems = runs.judged.systems
    if contributors is None:
        return np.ones(len(systems), dtype=bool)
    if isinstance(contributors, str) and contributors == "judged":
        chosen: Bools = reach >= (depth or 1)
        if not chosen.any():
            raise PolicyError(
                f"contributors='judged' requires a run whose top {depth} documents are all judged"
                f" (the depth of the pool), got at most the top {reach.max()}"
            )
        return chosen
    if isinstance(contributors, str) or not isinstance(contributors, Iterable):
        raise PolicyError(
            f"contributors must be 'judged' or names of systems, got {quoted(contributors)}"
        )
    places = places_of([str(name) for name in contributors], systems)
    if not places.size:
        raise PolicyError("no run contributes to the pool")
    return np.isin(np.arange(len(systems)), places)


def in_pool(runs: TracedRuns, contributes: Bools, depth: int) -> Bools:
    """Return a mask of the rows of the judged runs in the pooled ranks of a contributing run."""
    rows = runs.judged.documents
    return np.asarray((rows.rank <= depth) & contributes[rows.cell // runs.judged.shape[0]])


def unjudged_in_pool(runs: TracedRuns, contributes: Bools, depth: int) -> Ints:
    """Count the documents without judgment in the pooled ranks of each system's run."""
    rows = runs.judged.documents
    found = rows.where(in_pool(runs, contributes, depth)).count.sum(axis=0)
    out: Ints = np.minimum(retrieved_where_judged(runs), depth).sum(axis=0) * contributes - found
    return out


def retrieved_where_judged(runs: TracedRuns) -> Ints:
    """Count retrieved documents by topic and system; none where nobody judged the topic."""
    judged = np.isin(np.arange(runs.judged.shape[0]), runs.topic)
    return np.asarray(runs.judged.retrieved * judged[:, None])


def pool_of(runs: TracedRuns, contributes: Bools, depth: int) -> Bools:
    """Return a mask of the judgments of documents in the pool of that depth."""
    kept = np.zeros(runs.grade.size, dtype=bool)
    kept[runs.number[in_pool(runs, contributes, depth)]] = True
    return kept


def counts_of(
    runs: TracedRuns, contributes: Bools, depth: int | None, kept: Bools, top: int, rel: int
) -> dict[str, Any]:
    """Count what is judged, and what is not judged among the top documents."""
    seen = runs.restricted(kept).top(top)
    retrieved = seen.retrieved.sum(axis=0)
    unjudged = retrieved - seen.judged().count.sum(axis=0)
    some = retrieved > 0
    return {
        "depth": depth,
        "judged": int(kept.sum()),
        "relevant": int((kept & (runs.grade >= rel)).sum()),
        "unjudged": float(unjudged.sum() / retrieved.sum()) if some.any() else None,
        "largest unjudged": float((unjudged[some] / retrieved[some]).max()) if some.any() else None,
        "lacking": None if depth is None else int(unjudged_in_pool(runs, contributes, depth).sum()),
    }


@dataclass(frozen=True, eq=False, repr=False)
class Pools:
    r"""What each team contributed to the judgments of a collection; made by :func:`pools`.

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
        Which systems' runs went into the pool; shape (systems,).
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
        The only team that contributed it, an index into `teams`, or -1 where there is none, or
        more than one; shape (judgments,).
    by_team
        Table with a row a team: its `systems`, those `contributing`, the judged documents it
        `contributed` and those `unique` to it, how many of both are relevant, the `topics` where it
        has a unique relevant document, and `unjudged`: documents in the pooled ranks of its runs
        that have no judgment, counted once a run.
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
        """Judgments of topics that count which no contributing run has within the depth."""
        return int((self.contributors == 0).sum())

    def without(self, team: int, others: str = "keep") -> Bools:
        """Which judgments are left without the unique contributions of a team, by its index.

        Judgments from outside the pool of these runs are kept or dropped: `keep` or `drop`.
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
        """Return what scores without a team depend on."""
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
    depends on exact ranks: where the pools were made from ranks that the scores do not give back,
    `ties="rank"` may be right, and where they were made in several rounds a depth is best given.

    Examples
    --------
    >>> runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "z": 1.0}}}
    >>> found = pools(runs, {"q": {"x": 1, "y": 1, "z": 0, "w": 1}})
    >>> found
    Pools(2 teams, 2 contributing runs, depth 2: 3 judgments, 1 from elsewhere)
    >>> found.by_team.select("team", "contributed", "unique", "unique relevant").rows()
    [('a', 2, 1, 1), ('b', 2, 1, 0)]
    """
    check_arguments(pools, locals(), traced)
    if depth is None and isinstance(contributors, str) and contributors == "judged":
        raise PolicyError("contributors='judged' requires the depth of the pool")
    made = traced(runs, qrels, **policies)
    reach = judged_depths(made)
    contributes = contributing(made, contributors, reach, depth)
    names = teams_of(made.judged.systems, teams)
    labels = tuple(sorted(set(names)))
    team_of = np.array([labels.index(name) for name in names], dtype=np.int64)
    if depth is None:
        # A pool is often made of some of the runs that were submitted: the half that is judged
        # deepest, and those as deep as the last of them. The others are judged no deeper than they
        # happen to agree.
        least = np.sort(reach)[reach.size // 2]
        if contributors is None and not reach.min() and least:
            contributes = reach >= least
        shallowest = int(np.argmin(np.where(contributes, reach, np.iinfo(np.int64).max)))
        if not reach[shallowest]:
            raise PolicyError(
                f"no depth of the pool fits all runs: system"
                f" {quoted(made.judged.systems[shallowest])} has an unjudged document at rank 1;"
                " pass depth, and contributors if not all runs contributed"
            )
        longest = int(retrieved_where_judged(made)[:, contributes].max())
        chosen = min(int(reach[shallowest]), max(1, longest))
    else:
        chosen = int(depth)
    pooled = in_pool(made, contributes, chosen)
    # Each (judgment, team) once, however many runs of the team have it.
    of_row = team_of[made.judged.documents.cell[pooled] // made.judged.shape[0]]
    pairs = np.unique(made.number[pooled] * len(labels) + of_row)
    judgment, team = pairs // len(labels), pairs % len(labels)
    number = np.bincount(judgment, minlength=made.grade.size)
    owner = np.full(made.grade.size, -1, dtype=np.int64)
    owner[judgment] = team
    owner[number != 1] = -1

    def by_team(teams: Any, weights: Any = None) -> Ints:
        return np.bincount(teams, weights=weights, minlength=len(labels)).astype(np.int64)

    relevant = made.grade >= rel
    both = (owner >= 0) & relevant
    n_topics = len(made.judged.topics)
    cells = np.unique(owner[both] * n_topics + made.topic[both])
    counts = {
        "team": pl.Series(labels, dtype=pl.String),
        "systems": by_team(team_of),
        "contributing": by_team(team_of[contributes]),
        "contributed": by_team(team),
        "contributed relevant": by_team(team[relevant[judgment]]),
        "unique": by_team(owner[owner >= 0]),
        "unique relevant": by_team(owner[both]),
        "topics": by_team(cells // n_topics),
        "unjudged": by_team(team_of, unjudged_in_pool(made, contributes, chosen)),
    }
    return Pools(
        runs=made,
        teams=labels,
        team_of=team_of,
        contributes=contributes,
        depth=chosen,
        depth_inferred=depth is None,
        judged_depth=np.minimum(reach, retrieved_where_judged(made).max(axis=0)),
        contributors=number,
        owner=owner,
        by_team=pl.DataFrame(counts),
    )
