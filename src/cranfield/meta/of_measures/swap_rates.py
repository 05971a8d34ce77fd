"""How often topic sets turn the order of two systems round, and what is read off these rates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_whole
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.words import counted
from cranfield.meta.study import Study, labelled, of_measure, percent
from cranfield.tabular import Table, number

FITTED = ("size", "rate", "comparisons")

ERROR = 0.05
"""Rate of swaps above which a difference is not trusted."""


@dataclass(frozen=True, eq=False, repr=False)
class Swaps(
    Study,
    name="swaps",
    source="Voorhees and Buckley (2002); Sanderson and Zobel (2005)",
    keys={"swaps": ("measure", "size", "low", "high"), "differences": ("measure", "size")},
    main="overall",
):
    """How often two sets of topics order two systems differently.

    Attributes
    ----------
    measure, systems, topics
        Text form of the measure; numbers of systems and topics.
    sizes, repeats, bins, replacement, ties, seed
        As they were given to :func:`swap_method`.
    test, correction, alpha, resamples
        The test that pairs had to pass on the first topic set; None where there was none.
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

    def smallest(self, error: float = ERROR) -> pl.DataFrame:
        """Return the smallest differences that another topic set rarely turns round.

        A row a size: `difference`, where the first bin begins whose rate, and that of every bin
        above it, is at most `error`, which is above 0 and below 1. From the top, a bin with fewer
        than 1 / `error` comparisons is joined with the next lower one: one swap in it would exceed
        `error`. `share`: the part of all comparisons that have such a difference, called the
        sensitivity of the measure. Both are null where even the largest differences are swapped
        more often.
        """
        if not isinstance(error, Real) or not 0 < error < 1:
            raise PolicyError(f"error is a number above 0 and below 1, not {error!r}")
        rows = []
        for size in self.sizes:
            reached, share = None, 0
            mine = self._joined(size, 1 / error)
            for low, comparisons, swaps in mine:
                if swaps > error * comparisons:
                    break
                reached, share = low, share + comparisons
            total = sum(comparisons for _, comparisons, _ in mine)
            rows.append((size, reached, None if reached is None else share / total))
        schema = {"size": pl.Int64, "difference": pl.Float64, "share": pl.Float64}
        return pl.DataFrame(rows, schema, orient="row")

    def _joined(self, size: int, least: float) -> list[tuple[float, int, int]]:
        """Join bins, from the highest, until each has enough comparisons: low, number, swaps."""
        mine = self.rates.filter(pl.col("size") == size, pl.col("comparisons") > 0)
        bins: list[tuple[float, int, int]] = []
        number = swaps = 0
        for row in mine.reverse().iter_rows(named=True):
            number, swaps = number + row["comparisons"], swaps + row["swaps"]
            if number >= least:
                bins.append((row["low"], number, swaps))
                number = swaps = 0
        if number:
            # The lowest bins together are too few: they join the one above them.
            above = bins.pop() if bins else (0.0, 0, 0)
            bins.append((mine["low"][0], above[1] + number, above[2] + swaps))
        return bins

    def extrapolated(self, size: int) -> pl.DataFrame:
        r"""Estimate the rates with topic sets of a size that cannot be split off.

        .. math:: \mathrm{rate}(n) = a_1 e^{-a_2 n}, \quad 0 \le a_1 \le 1, \; a_2 \ge 0

        is fitted to the rates of each bin by least squares, each size weighted by its number of
        comparisons.

        Source: Voorhees and Buckley (2002), who extrapolate rates of sizes up to 25 by exponential
        curves. The weights are added here, and the bounds, which keep rates between 0 and 1 and do
        not let them grow with the size. Compare `error` with the rate: the largest bin has no end,
        and small rates may be far from an exponential curve.

        The size is 1 or more. Returns a row a bin: `low`, `high`, `a1`, `a2`, `error` (root of the
        weighted mean square of the residuals) and `rate`; null where fewer than three sizes have
        comparisons.
        """
        check_whole("size", size, 1)
        rows = []
        for (low, high), mine in self.rates.group_by(["low", "high"], maintain_order=True):
            known = mine.filter(pl.col("comparisons") > 0)
            fit: dict[str, float | None] = dict.fromkeys(("a1", "a2", "error", "rate"))
            if known.height >= 3:
                a1, a2, error = _fitted(
                    *(known[name].cast(pl.Float64).to_numpy() for name in FITTED)
                )
                fit = {"a1": a1, "a2": a2, "error": error, "rate": a1 * np.exp(-a2 * size)}
            rows.append({"low": low, "high": high, **fit})
        return pl.DataFrame(rows, dict.fromkeys(rows[0], pl.Float64))

    @property
    def label(self) -> str:
        """The measure, or what stands for it where it has no name."""
        return self.measure or "scores"

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.frames()["differences"].sort("size")
        row = rows.row(-1, named=True)
        if row["rate"] is None:
            return ()
        if row["difference"] is not None:
            sure = (
                f" Of differences of {row['difference']:g} or more at most {ERROR:.0%} are swapped,"
                f" and {percent(row['share'])} of the pairs have one."
            )
        else:
            low, number, swaps = self._joined(row["size"], 1 / ERROR)[0]
            sure = (
                f" Even of the largest differences, {low:g} or more, {percent(swaps / number)} are"
                " swapped."
            )
        tied = row["ties"] / row["comparisons"]
        ties = f" and {percent(tied)} are tied on one of them" if tied else ""
        return (
            f"{labelled(self.measure)}between two sets of {row['size']:,} topics,"
            f" {percent(row['rate'])} of the pairs of systems change places{ties}.{sure}",
            f"That rests on {counted(self.repeats, 'draw')} of two sets from"
            f" {counted(self.topics, 'topic')}.",
        )

    def frames(self) -> dict[str, pl.DataFrame]:
        total = self.overall.join(self.smallest(), on="size", maintain_order="left")
        frames = {"swaps": self.rates, "differences": total}
        return {name: of_measure(self.label, frame) for name, frame in frames.items()}

    def about(self) -> dict[str, Any]:
        return {**self._chosen("sizes", "repeats"), "swaps seed": self.seed}

    def tables(self) -> list[Table]:
        return self.side_by_side([self])

    @classmethod
    def side_by_side(cls, studies: Sequence[Swaps]) -> list[Table]:
        """Return the tables of several measures, all of the same sizes."""
        if not studies:
            raise CranfieldError("there is no study to be shown")
        frames = [study.frames() for study in studies]
        rates, overall = (pl.concat(one[name] for one in frames) for name in cls.keys)
        some = studies[0]
        rows = [
            [
                row["measure"],
                str(row["size"]),
                percent(row["rate"]),
                percent(row["ties"] / row["comparisons"] if row["comparisons"] else None),
                number(row["difference"], 2),
                percent(row["share"]),
            ]
            for row in overall.iter_rows(named=True)
        ]
        title = (
            "Swap method: pairs of systems that another set of as many topics turns round,"
            f" {counted(some.repeats, 'repeat')}; the least difference from which {ERROR:.0%} do at"
            " most, and how many reach it"
        )
        head = ("measure", "topics", "swaps", "tied", "least difference", "reach it")
        alike: dict[tuple[float, ...], list[str]] = {}
        for study in studies:
            alike.setdefault(study.bins, []).append(study.label)
        return [
            Table(title, head, rows),
            *(_by_bin(rates, names, size) for size in some.sizes for names in alike.values()),
        ]

    def __repr__(self) -> str:
        about = f"{self.measure}: " if self.measure else ""
        passed = f", {self.test} at {self.alpha:g}" if self.test else ""
        last = self.overall.row(-1, named=True)
        rate = "no comparison" if last["rate"] is None else f"{last['rate']:.1%} swaps"
        return (
            f"Swaps({about}{counted(self.systems, 'system')}, {counted(self.repeats, 'repeat')}"
            f"{passed}; {rate} with {counted(self.sizes[-1], 'topic')})"
        )


def _by_bin(rates: pl.DataFrame, measures: Sequence[str], size: int) -> Table:
    """Show the rates of all measures with sets of a size, by bin of differences."""
    rows = []
    of_size = rates.filter(pl.col("size") == size, pl.col("measure").is_in(measures))
    for (low, high), mine in of_size.group_by("low", "high", maintain_order=True):
        if not mine["comparisons"].sum():
            continue
        shares = dict(mine.select("measure", "rate").iter_rows())
        limits = f"{low:g} to {high:g}" if high != float("inf") else f"{low:g} or more"
        rows.append([limits, *(percent(shares[name]) for name in measures)])
    title = f"The same by the difference on the first set, sets of {counted(size, 'topic')}"
    return Table(title, ["difference", *measures], rows)


def rate() -> pl.Expr:
    """Return swaps by comparisons, null where there are none."""
    some = pl.col("comparisons") > 0
    return pl.when(some).then(pl.col("swaps") / pl.col("comparisons")).alias("rate")


def _fitted(sizes: Floats, rates: Floats, comparisons: Floats) -> tuple[float, float, float]:
    """Fit a1 exp(-a2 size) to rates by weighted least squares; also the root mean square error."""
    from scipy.optimize import least_squares

    weights = np.sqrt(comparisons / comparisons.sum())

    def residuals(a: Floats) -> Floats:
        return np.asarray(weights * (a[0] * np.exp(-a[1] * sizes) - rates))

    # The search starts from a line through the logarithms, where rates of 0 count as half a swap.
    logs = np.log(np.maximum(rates, 0.5 / comparisons))
    slope, start = np.polyfit(sizes, logs, 1, w=weights)
    inside = [np.clip(np.exp(start), 0.01, 0.99), max(-slope, 1e-3)]
    found = least_squares(residuals, inside, bounds=([0.0, 0.0], [1.0, np.inf]), x_scale="jac")
    return float(found.x[0]), float(found.x[1]), float(np.sqrt((found.fun**2).sum()))
