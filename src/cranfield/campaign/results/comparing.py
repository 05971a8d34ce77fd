"""Runs compared with each other, once: boards, sheets and reports say the same of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.comparison.result import PairwiseComparison

KEPT = 8
"""Comparisons that are kept in memory."""


def compared(scores: Scores, alpha: float = 0.05) -> PairwiseComparison:
    """Compare all pairs of systems by the default test; missing scores count 0.

    The same scores are compared once: of 126 runs it takes two seconds.
    """
    return _compared(_Same(scores), alpha)


@dataclass(frozen=True, eq=False)
class _Same:
    """Scores that are equal when all that a comparison depends on is."""

    scores: Scores

    def _key(self) -> tuple[object, ...]:
        one = self.scores
        kind = (one.measure, one.aggregate, one.lower_is_better, one.scale, one.settings)
        return (*kind, one.topics, one.systems, one.values.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash((self.scores.measure, self.scores.systems))


@lru_cache(KEPT)
def _compared(same: _Same, alpha: float) -> PairwiseComparison:
    gaps = bool(np.isnan(same.scores.values).any())
    return compare(same.scores, alpha=alpha, missing="zero" if gaps else None)
