"""The methods of interleaving, by name."""

from __future__ import annotations

from inspect import getdoc

import polars as pl

from cranfield.measures.declared import parse_declared
from cranfield.online.interleaving.methods.balanced import Balanced
from cranfield.online.interleaving.methods.method import InterleavingMethod
from cranfield.online.interleaving.methods.optimised import Optimised, OptimisedMultileaving
from cranfield.online.interleaving.methods.pairwise_preference import PairwisePreference
from cranfield.online.interleaving.methods.probabilistic import Probabilistic
from cranfield.online.interleaving.methods.team_draft import SOSM, TeamDraft

METHODS: dict[str, type[InterleavingMethod]] = {
    kind.name: kind
    for kind in (
        *(Balanced, TeamDraft, Probabilistic, Optimised),
        *(OptimisedMultileaving, SOSM, PairwisePreference),
    )
}
"""Methods by name."""

_OTHERS = {
    "Balanced": "BI",
    "TeamDraft": "TD TDI TDM TeamDraftMultileaving",
    "Probabilistic": "PI PM ProbabilisticMultileaving",
    "Optimised": "OI Optimized",
    "OptimisedMultileaving": "OM OptimizedMultileaving",
    "SOSM": "SampleOnlyScoredMultileaving",
    "PairwisePreference": "PPM PairwisePreferenceMultileaving",
}
_ALIASES = {other: name for name, others in _OTHERS.items() for other in others.split()}


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
