"""The values of an image in the unit of their measure, or the only one of a constant measure."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.scales.images.approximate import Approximate
from cranfield.scales.images.representation import Engine, Gaps


@dataclass(frozen=True, eq=False)
class Scaled:
    """An engine whose values are multiplied by a unit, and moved by an offset.

    Attributes
    ----------
    engine
        What depends on the grades alone.
    unit
        Of the values; 0 for a measure that has the same value for every run.
    offset
        What is added to each value.
    """

    engine: Engine
    unit: float
    offset: float

    @property
    def size(self) -> int:
        """Number of distinct values."""
        return self.engine.size if self.unit else 1

    @property
    def approximate(self) -> Approximate | None:
        """The engine, where it knows shares and no ranks."""
        return self.engine if isinstance(self.engine, Approximate) else None

    def _times_unit(self, raw: Any) -> Any:
        """Multiply by the unit; where it is 1 / n divide by n, as measures do."""
        below = round(1 / self.unit) if self.unit <= 1 else 0
        return raw / below if below and 1 / below == self.unit else raw * self.unit

    @cached_property
    def listing(self) -> Floats:
        """All values, ascending; only for up to `MOST_VALUES`."""
        if not self.unit:
            return np.array([self.offset])
        return np.asarray(self._times_unit(self.engine.listing()) + self.offset)

    def gaps(self, limits: tuple[float, float]) -> Gaps:
        """How values are spaced within the range of the measure."""
        bottom, top = limits
        if self.unit:
            raw = self.engine.spacing()
            low, high = (self._times_unit(one) + self.offset for one in (raw.lowest, raw.highest))
            equal = raw.equispaced
            small, large = (
                None if one is None else self._times_unit(one)
                for one in (raw.smallest, raw.largest)
            )
        else:
            low = high = self.offset
            small, large, equal = None, None, True
        unused = None
        if np.isfinite(bottom) and np.isfinite(top):
            outside = max(0.0, low - bottom) + max(0.0, top - high)
            unused = min(1.0, outside / (top - bottom))
        return Gaps(equal, small, large, low, high, unused)

    def find(self, values: Floats, reach: Floats) -> tuple[Ints, Ints]:
        """Rank of the value within reach of each float, and how many there are."""
        if self.unit:
            return self.engine.find((values - self.offset) / self.unit, reach / self.unit)
        ranks = np.ones(values.size, dtype=np.int64)
        return ranks, (np.abs(values - self.offset) <= reach).astype(np.int64)

    def require(self, runs: int, *, by_runs: bool) -> None:
        """Refuse so many runs if their ranks among values, or among runs, are beyond reach."""
        if self.unit:
            self.engine.require(runs, by_runs=by_runs)

    def ranks(self, runs: Ints) -> Ints:
        """Number of distinct values up to that of each run."""
        return self.engine.ranks(runs) if self.unit else np.ones(len(runs), dtype=np.int64)

    def counts(self, runs: Ints) -> tuple[Ints, Ints]:
        """Number of runs with a lower value, and with the same value, as each run."""
        if self.unit:
            return self.engine.counts(runs)
        return np.zeros(len(runs), dtype=np.int64), np.full(len(runs), self.engine.runs)
