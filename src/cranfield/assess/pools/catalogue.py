"""Where each method of judging is defined: the one list of their names, in the order shown.

Behind `=` stand other names that are understood.
"""

from __future__ import annotations

from cranfield.base.words import homes_of

_METHODS = """
by_rank: depth=depth-k=top-k count=PP RRF=reciprocal-rank-fusion Borda=Borda-count
  Condorcet=Copeland
by_score: CombSUM CombMNZ CombMAX CombMED CombANZ CombMIN
by_rank: RBP-A=RBP
by_weights: RBP-B RBP-C Hedge
moving_to_front: MTF=move-to-front
by_run: random epsilon-greedy=epsilon=greedy UCB1-tuned=UCB1=UCB
  Thompson=Thompson-sampling=TS=BLA MaxMean=MM=max-mean
"""


HOME, ALIASES = homes_of(_METHODS)
"""The module that defines each method, by name; and the method that each other name means."""
