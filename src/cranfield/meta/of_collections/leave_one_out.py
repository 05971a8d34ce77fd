"""Leaving out a contributor: can a collection evaluate systems that were not in its pool?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Annotated, Any

import numpy as np
import polars as pl

from cranfield.base.border.given import Teams
from cranfield.base.errors import PolicyError, quoted
from cranfield.measures import Measure
from cranfield.meta.of_collections.left_out import LeaveOneOut, left_out
from cranfield.meta.of_collections.pools import Pools, pools
from cranfield.meta.of_collections.rankings import LISTS, Wanted, overall, wanted_of
from cranfield.meta.of_collections.tracing import traced
from cranfield.meta.work.options import Depth, OneOf, Rel, check_options
from cranfield.meta.work.parts import Progress, run_parts


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
    teams: Teams = None,
    contributors: Any = None,
    depth: Depth = None,
    others: Annotated[str, OneOf(("keep", "drop"))] = "keep",
    lists: str | Sequence[str] = LISTS,
    rel: Rel = 1,
    compat: str | None = None,
    jobs: int = 1,
    backend: str | None = None,
    scheduler: str | None = None,
    folder: str | PathLike[str] | None = None,
    progress: Progress | None = None,
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
        As for :func:`cranfield.judge`, both are read once; or :class:`TracedRuns`, and None.
    measures
        Measures or their text forms; names of trec_eval are understood.
    teams, contributors, depth
        As for :func:`pools`; without teams each run is left out alone. A run that did not
        contribute is scored and ranked with the others; it suffers with its team, and protects no
        document of other teams.
    others
        Judgments of documents that no contributing run has within the depth: `keep` or `drop`.
    lists
        `raw`: unjudged documents count as not relevant. `condensed`: they are removed, before and
        after. By default both.
    rel
        Lowest grade that counts as relevant in the counts of documents, 1 or more. Measures have
        their own.
    jobs, backend, scheduler, folder, progress
        As for :func:`cranfield.meta.run_parts`, by default threads; a part is a team.
    compat, policies
        Another program's policies, or `ties`, `topics` and `negative`, as for
        :func:`cranfield.judge`.

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
    check_options(leave_one_out, locals(), traced)
    wanted = wanted_of(measures, lists, compat)
    of_pools = {"teams": teams, "contributors": contributors, "depth": depth, "rel": rel}
    known = pools(runs, qrels, **of_pools, compat=compat, **policies)
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
            scheduler=scheduler,
            folder=folder,
            progress=progress,
        )
        after[todo] = parts["score"].to_numpy().reshape(todo.size, *before.shape)
    return left_out(known, wanted, others, before, after)


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
