"""The methods of judging, by name."""

from __future__ import annotations

import polars as pl

from cranfield.assess.pools.method import Method
from cranfield.measures.kinds import Kinds

METHODS = Kinds(
    Method,
    "method",
    "cranfield.assess.pools",
    """
    by_rank: depth=depth-k=top-k count=PP RRF=reciprocal-rank-fusion Borda=Borda-count
      Condorcet=Copeland
    by_score: CombSUM CombMNZ CombMAX CombMED CombANZ CombMIN
    by_rank: RBP-A=RBP
    by_weights: RBP-B RBP-C Hedge
    moving_to_front: MTF=move-to-front
    by_run: random epsilon-greedy=epsilon=greedy UCB1-tuned=UCB1=UCB
      Thompson=Thompson-sampling=TS=BLA MaxMean=MM=max-mean
    """,
)


def parse_method(text: str | Method) -> Method:
    """Read a method of judging from its text form.

    Raises
    ------
    PolicyError
        For a wrong name, parameter or value; naming the nearest right ones.

    Examples
    --------
    >>> parse_method("rrf(k=10)"), parse_method("move-to-front")
    (RRF(k=10), MTF)
    >>> parse_method("maxmeen")
    Traceback (most recent call last):
        ...
    cranfield.PolicyError: there is no method 'maxmeen'; did you mean MaxMean?
    """
    return METHODS.parse(text)


def methods() -> pl.DataFrame:
    """List the methods of judging: name, whether it learns, parameters, what it does, source.

    Examples
    --------
    >>> methods().filter(pl.col("method") == "RRF").select("learns", "parameters").rows()
    [(False, 'k=60')]
    """
    kinds = METHODS.values()
    return pl.DataFrame(
        {
            "method": list(METHODS),
            "learns": [kind.learns for kind in kinds],
            "parameters": METHODS.parameters(),
            "other names": METHODS.others(),
            "what it does": METHODS.summaries(),
            "source": [kind.source for kind in kinds],
        }
    )
