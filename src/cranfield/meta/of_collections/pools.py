"""Pools: which runs and teams brought which judged documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Ints
from cranfield.base.border.given import Teams
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.words import counted
from cranfield.meta.of_collections.contributors import (
    contributing,
    in_pool,
    judged_depths,
    retrieved_where_judged,
    unjudged_in_pool,
)
from cranfield.meta.of_collections.teams import teams_of
from cranfield.meta.of_collections.tracing import TracedRuns, traced
from cranfield.meta.work.options import Depth, Rel, check_options


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
    depth, found
        Documents that each of them contributed to each topic, and whether this was found in the
        judgments rather than given.
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
    found: bool
    judged_depth: Ints
    contributors: Ints
    owner: Ints
    by_team: pl.DataFrame

    @property
    def outside(self) -> int:
        """Judgments of topics that count which no contributing run has within the depth."""
        return int(((self.contributors == 0) & (self.runs.topic >= 0)).sum())

    def without(self, team: int, others: str = "keep") -> Bools:
        """Which judgments are left without the unique contributions of a team, by its index.

        Judgments from outside the pool of these runs are kept or dropped: `keep` or `drop`.
        """
        return np.asarray(self.judgments(others) & (self.owner != team))

    def judgments(self, others: str = "keep") -> Bools:
        """Which judgments there are before any team is left out."""
        return np.asarray(self.contributors > (0 if others == "drop" else -1))

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
    """Find out which judgments each team contributed.

    Parameters
    ----------
    runs, qrels
        As for :func:`cranfield.judge`; or :class:`TracedRuns`, and None.
    teams
        The team of each system, as for :func:`cranfield.meta.teams_of`; by default each
        system is a team of its own.
    contributors
        The runs that went into the pool: None for all of them, names of systems, or `judged`: those
        whose top `depth` documents are all judged.
    depth
        Pooled documents of each ranking. By default it is found: the largest depth at which every
        document of the contributing runs is judged.
    rel
        Lowest grade that counts as relevant, 1 or more.
    policies
        `ties`, `topics`, `negative` and `compat`, as for :func:`cranfield.judge`.

    Raises
    ------
    PolicyError
        For a depth that is no whole number from 1, one that cannot be found, or unknown systems.
    InputError
        As :func:`cranfield.judge`.

    Notes
    -----
    Any entry in the judgments counts as judged here, also one with a grade below 0. A ranking that
    is shorter than the depth contributes all that it has. That the depth of real pools is found
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
    check_options(pools, locals(), traced)
    if depth is None and isinstance(contributors, str) and contributors == "judged":
        raise PolicyError("contributors='judged' requires the depth of the pool")
    made = traced(runs, qrels, **policies)
    reach = judged_depths(made)
    contributes = contributing(made, contributors, reach, depth)
    names = teams_of(made.judged.systems, teams)
    labels = tuple(sorted(set(names)))
    place = {name: j for j, name in enumerate(labels)}
    team_of = np.array([place[name] for name in names], dtype=np.int64)
    if depth is None:
        if contributors is None and not reach.min():
            contributes = _half_of(reach)
        chosen = _depth_found(made, contributes, reach)
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
    return Pools(
        runs=made,
        teams=labels,
        team_of=team_of,
        contributes=contributes,
        depth=chosen,
        found=depth is None,
        judged_depth=np.minimum(reach, retrieved_where_judged(made).max(axis=0)),
        contributors=number,
        owner=owner,
        by_team=_by_team(made, labels, team_of, contributes, chosen, judgment, team, owner, rel),
    )


def _half_of(reach: Ints) -> Bools:
    """Choose the runs that are judged deepest: half of all, and those as deep as the last of them.

    A pool is often made of some of the runs that were handed in; the others are judged no deeper
    than they happen to agree.
    """
    least = np.sort(reach)[reach.size // 2]
    return np.asarray(reach >= least) if least else np.ones(reach.size, dtype=np.bool_)


def _depth_found(runs: TracedRuns, contributes: Bools, reach: Ints) -> int:
    depth = int(reach[contributes].min())
    if depth == 0:
        first = int(np.flatnonzero(contributes & (reach == 0))[0])
        raise PolicyError(
            f"no depth of the pool fits all runs: system {quoted(runs.judged.systems[first])} has"
            " an unjudged document at rank 1; give a depth, and the contributors if not all runs"
            " contributed"
        )
    return min(depth, max(1, int(retrieved_where_judged(runs)[:, contributes].max())))


def _by_team(
    runs: TracedRuns,
    labels: tuple[str, ...],
    team_of: Ints,
    contributes: Bools,
    depth: int,
    judgment: Ints,
    team: Ints,
    owner: Ints,
    rel: int,
) -> pl.DataFrame:
    def by_team(which: Any, weights: Any = None) -> Ints:
        counts = np.bincount(which, weights=weights, minlength=len(labels))
        return np.asarray(counts, dtype=np.int64)

    relevant = runs.grade >= rel
    unique = owner >= 0
    both = unique & relevant
    cells = np.unique(owner[both] * len(runs.judged.topics) + runs.topic[both])
    return pl.DataFrame(
        {
            "team": pl.Series(labels, dtype=pl.String),
            "systems": by_team(team_of),
            "contributing": by_team(team_of[contributes]),
            "contributed": by_team(team),
            "contributed relevant": by_team(team[relevant[judgment]]),
            "unique": by_team(owner[unique]),
            "unique relevant": by_team(owner[both]),
            "topics": by_team(cells // len(runs.judged.topics)),
            "unjudged": by_team(team_of, unjudged_in_pool(runs, contributes, depth)),
        }
    )
