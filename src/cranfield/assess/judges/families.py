"""Which systems are kin of which judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cranfield.base.arrays import Bools
from cranfield.base.errors import PolicyError, quoted
from cranfield.sources.schemas import FRAMES, Column, Schema
from cranfield.sources.tables import read_table
from cranfield.sources.values import ID

_FAMILIES = Schema(
    "table of families",
    (
        Column("name", ID, "judge"),
        Column("family", ID),
    ),
    called="the families",
    formats=FRAMES,
    otherwise="csv",
    readable="table of names and families",
    tuples=("name", "family"),
)


def kin_of(judges: Sequence[str], systems: Sequence[str], families: Any) -> Bools:
    """Tell which systems share a family with each judge; shape (judges, systems).

    A name without an entry is a family of its own, so that a table may also list the systems of
    each judge. A system of the judge's own name is no kin, but the judge itself.
    """
    known = _read(families)
    kin = np.array(
        [[not _of(judge, known).isdisjoint(_of(one, known)) for one in systems] for judge in judges]
    )
    return np.asarray(kin & ~own_of(judges, systems))


def own_of(judges: Sequence[str], systems: Sequence[str]) -> Bools:
    return np.array([[judge == system for system in systems] for judge in judges])


def _of(name: str, known: Mapping[str, set[str]]) -> set[str]:
    return known.get(name, {name})


def _read(families: Any) -> dict[str, set[str]]:
    if isinstance(families, Mapping):
        pairs: Iterable[tuple[Any, Any]] = (
            (name, one)
            for name, some in families.items()
            for one in ([some] if isinstance(some, str) or not isinstance(some, Iterable) else some)
        )
    else:
        table = read_table(families, _FAMILIES)
        pairs = table.frame.rows()
    known: dict[str, set[str]] = {}
    for name, one in pairs:
        if not isinstance(one, (str, int)):
            raise PolicyError(f"the family of {quoted(name)} is {quoted(one)}, which is no name")
        known.setdefault(str(name), set()).add(str(one))
    return known
