"""What a comparison found of one pair of systems."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING

from cranfield.base.errors import quoted
from cranfield.base.showing import Hinting
from cranfield.significance.models.anova_table import shown_p

if TYPE_CHECKING:
    from cranfield.significance.comparison.compared_pairs import ComparedPairs


@dataclass(frozen=True, eq=False, repr=False)
class OnePair(Hinting):
    """Two systems of a comparison, such as `comparison["bm25", "dense"]`.

    Attributes
    ----------
    first, second
        The systems, in the order that was asked for.
    """

    first: str
    second: str
    _within: ComparedPairs
    _place: int

    @property
    def _sign(self) -> int:
        return 1 if self._within.systems[self._within.first[self._place]] == self.first else -1

    @property
    def difference(self) -> float:
        """The mean of the first minus that of the second, or the log ratio of geometric means."""
        return self._sign * float(self._within.difference[self._place])

    @property
    def interval(self) -> tuple[float, float]:
        """Confidence limits, of what the comparison calls `interval_of`.

        NaN where they would contradict the decision.
        """
        low, high = sorted(self._sign * float(ends[self._place]) for ends in self._within.interval)
        return low, high

    @property
    def pvalue(self) -> float:
        """The p-value after the correction; one-sided, it is of the order of the comparison."""
        return float(self._within.adjusted_pvalues[self._place])

    @property
    def effect(self) -> float:
        """The effect size, as the test defines it."""
        return self._sign * float(self._within.effect[self._place])

    @property
    def significant(self) -> bool:
        """Whether the systems differ significantly."""
        return bool(self._within.is_significant()[self._place])

    def __repr__(self) -> str:
        low, high = self.interval
        limits = "" if isnan(low) else f" from {low:.4g} to {high:.4g},"
        return (
            f"OnePair({quoted(self.first)} {self._within.between_names} {quoted(self.second)}:"
            f" {self.difference:.4g},{limits} p = {shown_p(self.pvalue)})"
        )
