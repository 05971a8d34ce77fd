"""Which team each system belongs to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, PolicyError, quoted

SYSTEM = ("system", "tag", "run_tag", "run", "run_id", "runid")
TEAM = ("team", "group", "participant")
"""Names of columns that are understood, in order of preference; case does not matter."""


def teams_of(systems: Iterable[str], teams: Any = None) -> tuple[str, ...]:
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
        if team is None or team == "":
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
    if isinstance(teams, (str, PathLike)):
        path = fspath(teams)
        return _table(_read(path), path).get
    if hasattr(type(teams), "columns") or hasattr(type(teams), "column_names"):
        return _table(_rows(teams), "the teams").get
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


def _read(path: str) -> pl.DataFrame:
    separator = "\t" if Path(path).suffix.lower() == ".tsv" else ","
    try:
        return pl.read_csv(path, separator=separator, infer_schema=False)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot be read: {reason}", source=path) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = (str(error).splitlines() or ["it is damaged"])[0]
        raise InputError(f"is no table of systems and teams: {reason}", source=path) from None


def _rows(frame: Any) -> pl.DataFrame:
    import narwhals.stable.v1 as nw

    try:
        table = nw.from_native(frame)
        table = table.collect() if isinstance(table, nw.LazyFrame) else table
        columns = {str(name): table[name].to_list() for name in table.columns}
    except Exception as error:
        # Each library has its own ways to refuse a frame.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"cannot be read: {reason}", source="the teams") from None
    return pl.DataFrame(
        {
            name: [None if one is None else str(one) for one in column]
            for name, column in columns.items()
        },
        schema=dict.fromkeys(columns, pl.String),
    )


def _table(frame: pl.DataFrame, source: str) -> dict[str, str | None]:
    system, team = _column(frame, SYSTEM, source), _column(frame, TEAM, source)
    found: dict[str, str | None] = {}
    for name, of in zip(frame[system].to_list(), frame[team].to_list(), strict=True):
        if found.setdefault(name, of) != of:
            raise InputError(f"system {quoted(name)} has two teams", source=source)
    return found


def _column(frame: pl.DataFrame, names: tuple[str, ...], source: str) -> str:
    lower = {name.strip().lower(): name for name in reversed(frame.columns)}
    for name in names:
        if name in lower:
            return lower[name]
    have = ", ".join(quoted(name) for name in frame.columns[:10])
    raise InputError(f"has no column {' or '.join(names)}; it has {have}", source=source)
