"""The methods of interleaving, by name."""

from __future__ import annotations

import polars as pl

from cranfield.measures.kinds import Kinds
from cranfield.online.interleaving.methods.method import InterleavingMethod

METHODS = Kinds(
    InterleavingMethod,
    "method of interleaving",
    "cranfield.online.interleaving.methods",
    """
    balanced: Balanced=BI
    team_draft: TeamDraft=TD=TDI=TDM=TeamDraftMultileaving
    probabilistic: Probabilistic=PI=PM=ProbabilisticMultileaving
    optimised: Optimised=OI=Optimized
      OptimisedMultileaving=OM=OptimizedMultileaving
    team_draft: SOSM=SampleOnlyScoredMultileaving
    pairwise_preference: PairwisePreference=PPM=PairwisePreferenceMultileaving
    """,
)


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
    return METHODS.parse(text)


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
            "parameters": METHODS.parameters(),
            "what it does": METHODS.summaries(),
            "source": [kind.source for kind in kinds],
        }
    )
