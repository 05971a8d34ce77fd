"""How often topic sets turn the order of two systems round: the result of the swap method."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real

import polars as pl

from cranfield.base.checks import check_whole
from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.meta.of_measures.swap_fit import extrapolated, rate, smallest
from cranfield.tabular import frame_html


@dataclass(frozen=True, eq=False, repr=False)
class Swaps:
    """How often two sets of topics order two systems differently.

    Attributes
    ----------
    measure
        Text form of the measure.
    systems, topics
        Numbers of them.
    sizes
        Sizes of topic sets.
    repeats
        Pairs of topic sets of each size.
    bins
        Where bins of differences begin.
    replacement
        Whether topic sets were drawn with replacement.
    ties
        What a difference of zero counts as: `apart` or `swaps`.
    test, correction, alpha, resamples
        The test that pairs had to pass on the first topic set; None where there was none.
    seed
        Of the random numbers.
    rates
        Table with a row for each `size` and bin: `low` and `high`, the limits of the absolute
        difference on the first topic set, the upper one not included and infinite in the last bin;
        `pairs`, the pairs of systems with such a difference; `comparisons`, those that count, which
        are those that passed the test; `swaps`; `ties`, comparisons with no difference on one of
        the topic sets; and `rate`, swaps by comparisons, null where there are none.
    """

    measure: str
    systems: int
    topics: int
    sizes: tuple[int, ...]
    repeats: int
    bins: tuple[float, ...]
    replacement: bool
    ties: str
    test: str | None
    correction: str | None
    alpha: float | None
    resamples: int | None
    seed: int
    rates: pl.DataFrame

    @cached_property
    def overall(self) -> pl.DataFrame:
        """The same table with all bins together, a row a size."""
        return (
            self.rates.group_by("size", maintain_order=True)
            .agg(pl.col("pairs", "comparisons", "swaps", "ties").sum())
            .with_columns(rate())
        )

    def smallest(self, error: float = 0.05) -> pl.DataFrame:
        """Return the smallest differences that another topic set rarely turns round.

        Parameters
        ----------
        error
            Highest rate of swaps, above 0 and below 1.

        Returns
        -------
        DataFrame
            A row a size: `difference`, where the first bin begins whose rate, and that of every
            bin above it, is at most `error`; bins without comparisons are passed over. `share`: the
            part of all comparisons that have such a difference, called the sensitivity of the
            measure. Null and 0 where there is no such bin.
        """
        if not isinstance(error, Real) or not 0 < error < 1:
            raise PolicyError(f"error is a number above 0 and below 1, not {error!r}")
        return smallest(self.rates, self.sizes, error)

    def extrapolated(self, size: int) -> pl.DataFrame:
        r"""Estimate the rates with topic sets of a size that cannot be split off.

        .. math:: \mathrm{rate}(n) = a_1 e^{-a_2 n}, \quad 0 \le a_1 \le 1, \; a_2 \ge 0

        is fitted to the rates of each bin by least squares, each size weighted by its number of
        comparisons.

        Source: Voorhees and Buckley (2002), who extrapolate rates of sizes up to 25 by exponential
        curves. The weights are added here, and the bounds, which keep rates between 0 and 1 and do
        not let them grow with the size. Compare `error` with the rate: the largest bin has no end,
        and small rates may be far from an exponential curve.

        Parameters
        ----------
        size
            Of the topic sets, 1 or more.

        Returns
        -------
        DataFrame
            A row a bin: `low`, `high`, `a1`, `a2`, `error` (root of the weighted mean square of the
            residuals) and `rate`; null where fewer than three sizes have comparisons.

        Raises
        ------
        PolicyError
            For a size that is no whole number from 1.
        """
        check_whole("size", size, 1)
        return extrapolated(self.rates, size)

    def _repr_html_(self) -> str:
        return frame_html(self.overall, repr(self))

    def __repr__(self) -> str:
        about = f"{self.measure}: " if self.measure else ""
        passed = f", {self.test} at {self.alpha:g}" if self.test else ""
        last = self.overall.row(-1, named=True)
        rate = "no comparison" if last["rate"] is None else f"{last['rate']:.1%} swaps"
        return (
            f"Swaps({about}{counted(self.systems, 'system')}, {counted(self.repeats, 'repeat')}"
            f"{passed}; {rate} with {counted(self.sizes[-1], 'topic')})"
        )
