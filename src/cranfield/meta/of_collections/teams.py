"""Which team each system belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from math import isnan
from numbers import Real
from os import PathLike
from typing import Any

from cranfield.base.border.given import Teams
from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.sources.columns import is_frame
from cranfield.sources.schemas import FRAMES, Column, Schema
from cranfield.sources.tables import Table, read_table
from cranfield.sources.values import TAG

_TEAMS = Schema(
    "table of teams",
    (
        Column("system", TAG),
        Column("team", TAG),
    ),
    called="the teams",
    formats=FRAMES,
    otherwise="csv",
    readable="table of systems and teams",
    lacks="has no column {either}; it has {have}",
)


def teams_of(systems: Iterable[str], teams: Teams = None) -> tuple[str, ...]:
    """Find the team of each system.

    Parameters
    ----------
    systems
        Names of the systems.
    teams
        None: each system is a team of its own. A mapping of systems to teams; a function of the
        name; a compiled regular expression, which is looked for in the name, and whose first group,
        or whole match where there is no group, is the team; a data frame, or the path of a CSV or
        TSV file, with a column of systems (`system`, `tag`, `run`, ...) and one of teams (`team`,
        `group` or `participant`). Systems that are not asked for may be in it.

    Returns
    -------
    tuple of str
        A team a system, in order of `systems`.

    Raises
    ------
    PolicyError
        For what cannot tell teams, or a system without one.
    InputError
        For a table that cannot be read, lacks a column, or gives a system two teams.

    Examples
    --------
    >>> teams_of(["bm25-1", "bm25-2", "lm"], re.compile("[a-z0-9]+"))
    ('bm25', 'bm25', 'lm')
    >>> teams_of(["a1", "b1"], {"a1": "A", "b1": "B", "c1": "C"})
    ('A', 'B')
    """
    names = list(systems)
    if teams is None:
        return tuple(names)
    find = _finder(teams)
    found = []
    for name in names:
        team = find(name)
        # A number that is none stands where a table has nothing.
        nothing = team == "" if isinstance(team, str) else isinstance(team, float) and isnan(team)
        if nothing or not isinstance(team, str | Real):
            raise PolicyError(f"system {quoted(name)} has no team")
        found.append(str(team))
    return tuple(found)


def _finder(teams: Any) -> Callable[[str], Any]:
    if isinstance(teams, Mapping):
        return {str(system): team for system, team in teams.items()}.get
    if isinstance(teams, re.Pattern):
        if not isinstance(teams.pattern, str):
            raise PolicyError("a regular expression for teams is of text, not of bytes")
        return lambda name: _matched(teams, name)
    if isinstance(teams, (str, PathLike)) or is_frame(teams):
        return _by_system(read_table(teams, _TEAMS)).get
    if callable(teams):
        find: Callable[[str], Any] = teams
        return find
    raise PolicyError(
        "teams are a mapping of systems, a function, a compiled regular expression, a data frame"
        f" or the path of a table, not {type(teams).__name__}"
    )


def _matched(pattern: re.Pattern[str], name: str) -> str | None:
    found = pattern.search(name)
    if found is None:
        return None
    return found.group(1 if pattern.groups else 0)


def _by_system(table: Table) -> dict[str, str | None]:
    teams: dict[str, str | None] = {}
    for row, (system, team) in enumerate(table.frame.iter_rows()):
        if system is None and team is None:
            continue  # An empty line
        if system is None or team is None:
            raise table.wrong(
                row, f"expected a {'system' if system is None else 'team'}, got an empty cell"
            )
        if teams.setdefault(system, team) != team:
            raise InputError(f"system {quoted(system)} has two teams", source=table.source)
    return teams
