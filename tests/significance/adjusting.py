"""P-values alone, corrected for many comparisons."""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.significance import CORRECTIONS
from cranfield.significance.differences import Outcome, Pairs
from cranfield.significance.registry import Options


def adjusted(pvalues: Floats, correction: str) -> Floats:
    """Correct p-values by one of the corrections that need nothing else."""
    none = np.zeros(pvalues.size, dtype=np.intp)
    pairs = Pairs(np.zeros((1, 1)), none, none)
    outcome = Outcome(pvalues, pvalues, pvalues, lambda level: (pvalues, pvalues), none, none, none)
    return CORRECTIONS[correction].run(outcome, pairs, Options()).pvalue
