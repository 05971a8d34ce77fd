"""What an image is held as: sums of parts, a table or windows of values, before unit and offset."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError

MOST_VALUES = 2**22
"""Values that are listed."""
LARGEST = 2**62
"""Ranks and numbers of runs are int64."""


@dataclass(frozen=True)
class Gaps:
    """How the values of an image are spaced.

    Attributes
    ----------
    equispaced
        Whether all gaps between neighbouring values are equal, decided exactly where the image is
        exact.
    smallest, largest
        The extreme gaps; None where there are too many values to tell, and for a single value.
    lowest, highest
        The extreme values.
    unused
        Share of the measure's range below the lowest and above the highest value; None for a
        measure whose range is infinite.
    """

    equispaced: bool
    smallest: float | None
    largest: float | None
    lowest: float
    highest: float
    unused: float | None = None


class Representation(Protocol):
    """The values that the grades alone decide, or what counts them."""

    @property
    def size(self) -> int:
        """Number of distinct values."""

    @property
    def runs(self) -> int:
        """Number of runs."""

    @property
    def tolerance(self) -> float:
        """0 for exact values, else the relative distance within which they count as one."""

    def require(self, runs: int, *, by_runs: bool) -> None:
        """Refuse so many runs if their ranks among values, or among runs, are beyond reach."""

    def gaps(self) -> Gaps:
        """Gaps and extreme values."""

    def listing(self) -> Floats:
        """All values, ascending; only for up to MOST_VALUES."""

    def ranks(self, runs: Ints) -> Ints:
        """Number of distinct values up to that of each run."""

    def counts(self, runs: Ints) -> tuple[Ints, Ints]:
        """Number of runs with a lower value, and with the same value, as each run."""

    def find(self, values: Floats, reach: Floats) -> tuple[Ints, Ints]:
        """Rank of the value within reach of each float, and how many there are."""


def check_runs(total: int) -> None:
    """Refuse to count runs that do not fit into 64 bits."""
    if total >= LARGEST:
        raise PolicyError(
            f"there are about 2^{total.bit_length() - 1} runs, too many to count them by value;"
            " use ties='unique'"
        )
