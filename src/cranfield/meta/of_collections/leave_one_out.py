"""Leaving out a contributor: can a collection evaluate systems that were not in its pool?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.words import counted
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures import Measure, parse_measures
from cranfield.meta.of_collections.leave_one_out_tables import (
    of_rankings,
    of_systems,
    places,
    summarised,
)
from cranfield.meta.of_collections.pools import Pools, pools
from cranfield.meta.of_collections.rankings import LISTS, Wanted, lists_of, overall
from cranfield.meta.of_collections.tracing import traced
from cranfield.meta.policies import check_policies
from cranfield.meta.work.parts import run_parts
from cranfield.tabular import frame_html

OTHERS = ("keep", "drop")
"""What becomes of judgments from outside the pool of the given runs."""


@dataclass(frozen=True, eq=False, repr=False)
class LeaveOneOut:
    """What happens to each team when its unique contributions are taken from the judgments.

    Attributes
    ----------
    measures
        Text forms of the measures.
    lists
        Kinds of lists: `raw`, `condensed`.
    pools
        Who contributed what: the teams, the contributing runs, the depth.
    others
        What became of judgments from outside the pool: `keep` or `drop`.
    systems
        Table with a row a measure, list and system: its `team`, whether its run `contributes`, its
        overall score `before` and `after` its team is left out, the `difference` (after minus
        before, null without a score), the `change %` (null where the score was 0), its `rank
        before` and `rank after`, and the `rank change` (positive: it fell).
    teams
        Table with a row a team: what it contributed; see :class:`Pools`.
    rankings
        Table with a row a measure, list and team left out: Kendall's `tau` of all systems ordered
        by the scores with all judgments and by those with the judgments without the team (null
        where all systems are tied), the `largest rank change` of any system between these orders,
        and of the team's own runs the `mean drop` and the `largest drop`.
    summary
        Table with a row a measure and list, over the systems of teams that contributed: the `mean
        drop` and `largest drop` of the overall score and the same in percent, the `largest gain`
        (the largest are 0 if there is none), the `largest rank change` in either direction, and
        over all teams the `mean tau` and the `lowest tau`. A drop is a change for the worse,
        whether a measure wants high scores or low ones.
    """

    measures: tuple[str, ...]
    lists: tuple[str, ...]
    pools: Pools
    others: str
    systems: pl.DataFrame
    teams: pl.DataFrame
    rankings: pl.DataFrame
    summary: pl.DataFrame

    def judged_without(self, team: str) -> JudgedRuns:
        """Return all runs, judged without the unique contributions of a team.

        Raises
        ------
        PolicyError
            For a team that is not there.
        """
        if team not in self.pools.teams:
            raise PolicyError(f"there is no team {quoted(team)}")
        kept = self.pools.without(self.pools.teams.index(team), self.others)
        return self.pools.runs.restricted(kept)

    def _repr_html_(self) -> str:
        return frame_html(self.summary, repr(self))

    def __repr__(self) -> str:
        return (
            f"LeaveOneOut({counted(len(self.pools.teams), 'team')},"
            f" {counted(len(self.pools.team_of), 'system')}, depth {self.pools.depth}:"
            f" {', '.join(self.measures)}; {', '.join(self.lists)})"
        )


@dataclass(frozen=True, eq=False)
class _Shared:
    """What every part of the work needs."""

    pools: Pools
    wanted: Wanted
    others: str


def leave_one_out(
    runs: Any,
    qrels: Any,
    measures: str | Measure | Iterable[str | Measure],
    *,
    teams: Any = None,
    contributors: Any = None,
    depth: int | None = None,
    others: str = "keep",
    lists: str | Sequence[str] = LISTS,
    rel: int = 1,
    compat: str | None = None,
    jobs: int = 1,
    backend: str | None = None,
    folder: str | PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
    **policies: Any,
) -> LeaveOneOut:
    r"""Leave out the unique contributions of each team in turn.

    A team that is evaluated without its unique contributions is in the place of one that did not
    take part in the pooling. If it scores much lower, or ranks lower, the collection does not treat
    new systems fairly.

    .. math:: LOO_j = \bigcup_{j' \ne j} C_{j'} = P - U_j

    Source: Zobel (1998), who leaves out single runs; Sakai (2013), section 5.4, with teams.

    Parameters
    ----------
    runs, qrels
        As for :func:`cranfield.judge`, both are read once; or
        :class:`TracedRuns`, and None.
    measures
        Measures or their text forms; names of trec_eval are understood.
    teams
        The team of each system: a mapping, a function, a compiled regular expression, a data frame
        or a CSV file; see :func:`cranfield.meta.teams_of`. None leaves out each run alone.
    contributors
        The runs that went into the pool: None for all, names of systems, or `judged`: those whose
        top `depth` documents are all judged. A run that did not contribute is scored and ranked
        with the others; it suffers with its team, and protects no document of other teams.
    depth
        Pooled documents of each ranking. By default it is found: the largest depth at which every
        document of the contributing runs is judged.
    others
        Judgments of documents that no contributing run has within the depth: `keep` or `drop`.
    lists
        `raw`: unjudged documents count as not relevant. `condensed`: they are removed, before and
        after. By default both.
    rel
        Lowest grade that counts as relevant in the counts of documents, 1 or more. Measures have
        their own.
    compat
        Another program's policies, as for :func:`cranfield.judge`.
    jobs, backend, folder, progress
        Workers, by default threads, and where finished parts are kept; see
        :func:`cranfield.meta.run_parts`. Parts are teams.
    policies
        `ties`, `topics` and `negative`, as for :func:`cranfield.judge`.

    Returns
    -------
    LeaveOneOut

    Raises
    ------
    MeasureError, PolicyError, InputError
        For what does not exist or cannot be read; and when there is only one team, or no depth of
        the pool fits all runs.

    Notes
    -----
    Ranks are those of the field: the system with its own score after its team is left out, among
    the scores that all other systems, those of its team too, have with all judgments. Tied systems
    have the best of their ranks. Kendall's tau answers another question: by how much the whole
    ranking changes when every system is evaluated with the judgments that are left.

    Topics stay, also those that lose all their relevant documents, so that overall scores are over
    the same topics before and after. The highest grade of the judgments stays as well.

    Which documents are unique is known as well as the contributing runs are. If some of these are
    missing here, a document that only they share with a team looks unique, and too much is taken
    away: the drops are upper bounds then, as a rule.

    Examples
    --------
    >>> runs = {
    ...     "a1": {"q": {"x": 3.0, "y": 2.0, "n": 1.0}},
    ...     "b1": {"q": {"y": 3.0, "z": 2.0, "n": 1.0}},
    ... }
    >>> qrels = {"q": {"x": 1, "y": 1, "z": 0, "n": 0}}
    >>> found = leave_one_out(runs, qrels, "AP", teams={"a1": "A", "b1": "B"}, lists="raw")
    >>> found
    LeaveOneOut(2 teams, 2 systems, depth 3: AP; raw)
    >>> found.systems.select("system", "before", "after", "rank before", "rank after").rows()
    [('a1', 1.0, 0.5, 1, 1), ('b1', 0.5, 0.5, 2, 2)]
    >>> found.teams.select("team", "unique", "unique relevant").rows()
    [('A', 1, 1), ('B', 1, 0)]
    """
    check_policies("leave_one_out", policies, traced)
    wanted = Wanted(tuple(dict.fromkeys(parse_measures(measures, compat=compat))), lists_of(lists))
    if others not in OTHERS:
        raise PolicyError(f"others {quoted(others)} is none of {', '.join(OTHERS)}")
    known = pools(
        runs,
        qrels,
        teams=teams,
        contributors=contributors,
        depth=depth,
        rel=rel,
        compat=compat,
        **policies,
    )
    if len(known.teams) < 2:
        raise PolicyError(f"all systems are of team {quoted(known.teams[0])}; two teams are needed")
    before = overall(known.runs.blocks(known.judgments(others)), wanted)
    after = np.broadcast_to(before, (len(known.teams), *before.shape)).copy()
    # A team without unique contributions changes nothing.
    todo = np.flatnonzero(known.by_team["unique"].to_numpy() > 0)
    if todo.size:
        parts = run_parts(
            _without,
            _Shared(known, wanted, others),
            {f"team-{j}": int(j) for j in todo},
            about={} if folder is None else _about(known, wanted, others),
            jobs=jobs,
            # The arrays are large, and what is done with them releases the interpreter.
            backend=backend or ("threading" if jobs > 1 else None),
            folder=folder,
            progress=progress,
        )
        after[todo] = parts["score"].to_numpy().reshape(todo.size, *before.shape)
    systems = pl.concat(
        of_systems(known, wanted, place, before[place], after[(slice(None), *place)])
        for place in places(wanted)
    )
    rankings = pl.concat(
        of_rankings(known, wanted, place, before[place], after[(slice(None), *place)])
        for place in places(wanted)
    )
    return LeaveOneOut(
        tuple(wanted.names),
        wanted.lists,
        known,
        others,
        systems,
        known.by_team,
        rankings,
        summarised(known, wanted, systems, rankings),
    )


def _about(known: Pools, wanted: Wanted, others: str) -> dict[str, Any]:
    """Return what the scores without a team depend on."""
    systems = known.runs.judged.systems
    return {
        "study": "leave one out",
        "measures": wanted.names,
        "lists": list(wanted.lists),
        "others": others,
        "depth": known.depth,
        "teams": [known.teams[j] for j in known.team_of],
        "contributing": [s for s, one in zip(systems, known.contributes, strict=True) if one],
        "runs": known.runs.fingerprint(),
    }


def _without(shared: _Shared, team: int) -> pl.DataFrame:
    kept = shared.pools.without(team, shared.others)
    scores = overall(shared.pools.runs.blocks(kept), shared.wanted)
    return pl.DataFrame({"score": scores.ravel()})
