"""Images that are too large to count in: the share of values up to a run's, within a stated error.

Runs of length 1000 have some 2^960 values of DCG. The rank of one of them is a number that nobody
needs to the last digit; its share of the image, rank by size, is what an interval-scaled measure
is. It is a distribution function (`distribution/limits.py`), known within `error`.
"""

from __future__ import annotations

from functools import cached_property
from typing import NoReturn

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.scales.distribution.limits import SumDistribution, distribution_of_sums
from cranfield.scales.images.representation import Spacing
from cranfield.scales.images.sums import Sums

COUNTED = 2**44
"""Values of an image up to which ranks are counted; 2^40 take a minute."""


class Approximate:
    """The image of an additive measure, where shares are known but ranks are not."""

    def __init__(self, sums: Sums, memory: int, jobs: int | None) -> None:
        self.sums = sums
        self.memory = memory
        self.jobs = jobs
        self.size = sums.size
        self.runs = sums.runs

    tolerance = 0.0

    @cached_property
    def distribution(self) -> SumDistribution:
        """The distribution of the values."""
        parts = [part.values for part in self.sums.parts if part.values.size > 1]
        return distribution_of_sums(parts, memory=self.memory, jobs=self.jobs)

    @property
    def error(self) -> float:
        """Largest possible distance of a share from the true one."""
        return float(self.distribution.error)

    def shares(self, runs: Ints) -> Floats:
        """Share of the values up to that of each run, within `error`."""
        shift = sum(float(part.values[0]) for part in self.sums.parts if part.values.size == 1)
        return self.distribution.share(self.sums.floats(self.sums.digits(runs)) - shift)

    def spacing(self) -> Spacing:
        """Gaps and extreme values, as exact as for shorter runs."""
        return self.sums.spacing()

    def listing(self) -> Floats:
        """Refuse: there are too many values."""
        return self.sums.listing()

    def require(self, runs: int, *, by_runs: bool) -> None:
        """Refuse: ranks are not counted."""
        self._refuse()

    def ranks(self, runs: Ints) -> Ints:
        """Refuse: ranks are not counted."""
        self._refuse()

    def counts(self, runs: Ints) -> tuple[Ints, Ints]:
        """Refuse: runs are not counted."""
        self._refuse()

    def find(self, values: Floats, reach: Floats) -> tuple[Ints, Ints]:
        """Refuse: ranks are not counted."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise PolicyError(
            f"the image has about 2^{self.size.bit_length() - 1} values, too many to count ranks in"
            " it; share_runs gives shares of it within a stated error, and shorter runs or fewer"
            " grades have ranks"
        )
