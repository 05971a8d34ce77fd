"""Runs compared with each other, once: boards, sheets and reports say the same of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from cranfield.base.checks import check_share
from cranfield.base.errors import CranfieldError
from cranfield.scores import Scores

if TYPE_CHECKING:
    from cranfield.significance.comparison.result import PairwiseComparison

MOST_COMPARED = 150
"""Runs that are compared with each other; the pairs of more take long."""

KEPT = 8
"""Comparisons that are kept in memory."""


def compared(scores: Scores, alpha: float = 0.05) -> PairwiseComparison:
    """Compare all pairs of systems by the default test.

    Missing scores count 0; where lower is better, topics with missing scores are left out. The
    same scores are compared once: of 126 runs it takes two seconds.
    """
    return _compared(_Same(scores), alpha)


def not_compared(runs: int, most: int = MOST_COMPARED) -> str:
    """Say why so many runs are not compared; nothing where they are."""
    if runs < 2:
        return "there is no other run"
    return f"there are {runs:,}, and up to {most} are" if runs > most else ""


def compared_if_possible(
    scores: Scores, alpha: float = 0.05, most: int = MOST_COMPARED
) -> PairwiseComparison | str:
    """Compare all pairs, or say why they are not compared, such as for want of topics."""
    check_share("alpha", alpha)
    if refused := not_compared(len(scores.systems), most):
        return refused
    try:
        return compared(scores, alpha)
    except CranfieldError as error:
        return str(error)


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
    # Loaded only where a comparison is not kept yet: it would be most of the time of a board.
    from cranfield.significance.comparison.compare import compare

    missing = None
    if np.isnan(same.scores.values).any():
        # 0 would be the best score if lower is better.
        missing = "drop" if same.scores.lower_is_better else "zero"
    return compare(same.scores, alpha=alpha, missing=missing)
