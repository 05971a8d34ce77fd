"""The methods of interleaving, by name."""

from __future__ import annotations

from inspect import getdoc

import polars as pl

from cranfield.measures.declared import parse_declared
from cranfield.online.interleaving.methods.balanced import Balanced
from cranfield.online.interleaving.methods.method import InterleavingMethod
from cranfield.online.interleaving.methods.team_draft import TeamDraft

METHODS: dict[str, type[InterleavingMethod]] = {kind.name: kind for kind in (Balanced, TeamDraft)}
"""Methods by name."""

_ALIASES = {
    "BI": "Balanced",
    "TD": "TeamDraft",
    "TDI": "TeamDraft",
    "TDM": "TeamDraft",
    "TeamDraftMultileaving": "TeamDraft",
}


def parse_interleaving(text: str | InterleavingMethod) -> InterleavingMethod:
    """Read a method of interleaving from its text form.

    Raises
    ------
    PolicyError
        For a wrong name, parameter or value; naming the nearest right ones.

    Examples
    --------
    >>> parse_interleaving("team-draft"), parse_interleaving("TDM(common_prefix='nobody')")
    (TeamDraft, TeamDraft(common_prefix='nobody'))
    """
    return parse_declared(text, InterleavingMethod, METHODS, _ALIASES, "method of interleaving")


def interleaving_methods() -> pl.DataFrame:
    """List the methods of interleaving: name, rankers, parameters, what it does, source.

    Examples
    --------
    >>> interleaving_methods().filter(pl.col("method") == "Balanced")["rankers"].item()
    '2'
    """
    kinds = METHODS.values()
    return pl.DataFrame(
        {
            "method": list(METHODS),
            "rankers": ["2 or more" if kind.most is None else str(kind.most) for kind in kinds],
            "parameters": [
                ", ".join(f"{name}={one.default!r}" for name, one in kind.parameters.items())
                for kind in kinds
            ],
            "what it does": [(getdoc(kind) or "").split("\n\n")[0] for kind in kinds],
            "source": [kind.source for kind in kinds],
        }
    )
