"""The swap method: how often another set of topics would turn the order of two systems round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from cranfield.checks import check_whole
from cranfield.errors import PolicyError, quoted
from cranfield.meta.of_measures.swap_counts import count_swaps
from cranfield.meta.of_measures.swap_fit import extrapolated, rate, smallest
from cranfield.meta.of_measures.swap_options import BINS, TIES, check_scores, read_edges, read_sizes
from cranfield.meta.work.folder import fingerprint
from cranfield.meta.work.parts import MOST_REPEATS, Progress, run_parts
from cranfield.significance.corrections import find_correction
from cranfield.significance.options import Options
from cranfield.significance.prepare import as_scores
from cranfield.significance.registry import find_test
from cranfield.tabular import frame_html
from cranfield.text import counted

REPEATS = 50
"""Of a part: so many topic sets of a size are compared at once."""


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


def swap_method(
    scores: Any,
    *,
    sizes: Iterable[int] | None = None,
    repeats: int = 50,
    bins: Sequence[float] = BINS,
    replacement: bool = False,
    ties: str = "apart",
    test: str | None = None,
    correction: str = "none",
    alpha: float = 0.05,
    resamples: int = 1_000,
    seed: int = 0,
    jobs: int = 1,
    backend: str | None = None,
    folder: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Swaps:
    r"""Estimate how often another topic set of the same size reverses the order of two systems.

    Two disjoint sets of topics are drawn, and each orders every pair of systems by their means. It
    is a swap when the two orders differ:

    .. math:: \mathrm{rate}(b, n) = \frac{|\{(x, y) : |d_1| \in b, \; d_1 d_2 < 0\}|}
        {|\{(x, y) : |d_1| \in b\}|}

    with the differences of means of two systems on the first and the second set of n topics, over
    all pairs of systems and all repeats, by bin b of the difference on the first.

    Source: Voorhees and Buckley (2002); with a test, Sanderson and Zobel (2005); both as in Sakai
    (2013), section 5.1.

    Parameters
    ----------
    scores
        Scores of one measure, as for :func:`cranfield.compare`, complete.
    sizes
        Numbers of topics in a set; by default all up to half of the topics, or 25 of them, evenly
        spaced; from 2 where there is a test.
    repeats
        Pairs of topic sets of each size. Those of 50 repeats are the first 50 of 1,000.
    bins
        Where bins of absolute differences begin: from 0, ascending, in units of the measure. The
        default fits measures from 0 to 1.
    replacement
        Draw two sets with replacement, independently of each other, which may then be as large as
        all topics (Sakai 2006). The sets have topics in common, which lowers the rates.
    ties
        What a difference of zero on either set counts as: `apart`, no swap, since neither system is
        ahead there; or `swaps`, as where a program asks whether the product of the differences is
        above 0. They are counted in any case.
    test, correction, alpha, resamples
        Only pairs that this test finds significant on the first topic set count, as for
        :func:`cranfield.compare`; such as `t`, `signed-rank` or `sign`.
    seed
        Of the random numbers. Topic sets depend on it, on the size and on the repeat only: two
        measures with the same topics are judged on the same sets.
    jobs, backend, folder, progress
        As for :func:`cranfield.meta.run_parts`; a part has 50 repeats of a size. A folder
        serves any sizes and repeats.

    Returns
    -------
    Swaps

    Raises
    ------
    PolicyError
        For a size that needs more topics than there are, or another option that does not exist.
    CranfieldError
        For missing or infinite scores, or fewer than two systems.

    Notes
    -----
    Means are exact sums of scores as integers; differences that are no more than rounding are zero.
    A difference where a bin begins belongs to it.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.collections.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:10], covid.qrels, "nDCG@10")
    >>> found = swap_method(ev["nDCG@10"], sizes=[5, 25], repeats=100)
    >>> found.overall["size", "comparisons", "swaps"].rows()
    [(5, 4500, 1591), (25, 4500, 946)]
    """
    given = as_scores(scores)
    check_scores(given)
    if ties not in TIES:
        raise PolicyError(f"ties {quoted(ties)} is none of {', '.join(TIES)}")
    check_whole("repeats", repeats, 1, MOST_REPEATS)
    Options(alpha=alpha, resamples=resamples, seed=seed)
    edges = read_edges(bins)
    options: dict[str, Any] | None = None
    if test is not None:
        options = {
            "test": find_test(test).info.name,
            "correction": find_correction(correction),
            "alpha": alpha,
            "resamples": resamples,
            "seed": seed,
        }
    wanted = read_sizes(sizes, len(given.topics), replacement, 1 if test is None else 2)
    found = run_parts(
        count_swaps,
        (given, edges, replacement, ties, options, seed),
        {
            f"size-{size}-repeats-{start}-{stop}": (size, start, stop)
            for size in wanted
            for start in range(0, repeats, REPEATS)
            for stop in [min(start + REPEATS, repeats)]
        },
        about={
            "study": "swaps",
            "scores": fingerprint(given),
            "bins": edges,
            "replacement": replacement,
            "ties": ties,
            "test": options,
            "seed": seed,
        },
        jobs=jobs,
        backend=backend,
        folder=folder,
        progress=progress,
    )
    limits = pl.DataFrame({"low": edges, "high": [*edges[1:], np.inf]}).with_row_index("bin")
    rates = (
        found.group_by("size", "bin", maintain_order=True)
        .agg(pl.col("pairs", "comparisons", "swaps", "ties").sum())
        .join(limits.cast({"bin": pl.Int64}), on="bin", maintain_order="left")
        .select("size", "low", "high", "pairs", "comparisons", "swaps", "ties", rate())
    )
    chosen = options or dict.fromkeys(("test", "correction", "alpha", "resamples"))
    return Swaps(
        measure=given.measure,
        systems=len(given.systems),
        topics=len(given.topics),
        sizes=wanted,
        repeats=repeats,
        bins=edges,
        replacement=replacement,
        ties=ties,
        test=chosen["test"],
        correction=chosen["correction"],
        alpha=chosen["alpha"],
        resamples=chosen["resamples"],
        seed=seed,
        rates=rates,
    )
