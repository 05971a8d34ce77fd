"""Names of the methods of fusion and of the normalisations; loads nothing that computes."""

from __future__ import annotations

from cranfield.base.spec import homes_of

LISTED = """
methods: RRF=reciprocal-rank-fusion
methods: CombSUM=linear=interpolation=sum=wsum CombMNZ=mnz CombGMNZ=gmnz CombMAX=max
  CombMIN=min CombMED=med=median CombANZ=anz=mean
methods: Borda=bordafuse=Borda-count Condorcet=Condorcet-fuse=Copeland
  ISR=inverse-square-rank LogISR=logn-ISR RBC=rank-biased-centroid
"""
"""The methods behind the names of their modules."""

METHODS = tuple(homes_of(LISTED)[0])
NORMS = ("min-max", "max", "sum", "z-score", "rank", "borda", "none")
