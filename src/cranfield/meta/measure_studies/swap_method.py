"""The swap method: how often another set of topics reverses the order of two systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, takewhile
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import CranfieldError, PolicyError, check_share, check_whole
from cranfield.base.kinds import Numbers, OneOf, check_arguments
from cranfield.base.streams import stream
from cranfield.base.text import counted
from cranfield.meta.study import OF_MEASURE, Study, labelled, percent
from cranfield.meta.study_options import Repeats, Resamples, Seed, whole_numbers
from cranfield.meta.test_studies.fast_tests import numbered
from cranfield.meta.work import Work, fingerprint, repeated, run_parts, with_work
from cranfield.result import Column, Columns
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.prepare import as_scores
from cranfield.significance.registry import CORRECTIONS, Options, find_test
from cranfield.significance.resampling import as_integers

ERROR = 0.05
"""Rate of swaps above which a difference is not trusted."""

_SIZE = {**OF_MEASURE, "size": Column("Number of topics of each set.", key=True)}
_COUNTS = {
    "comparisons": Column("Number of these that count, because they passed the test."),
    "swaps": Column("Number of comparisons that the second set orders differently."),
    "ties": Column("Number of comparisons without a difference on one of the sets."),
    "rate": Column("swaps / comparisons; null if there are none.", decimals=1, percent=True),
}


class Swaps(Study):
    """Rates at which two sets of topics order two systems differently.

    Attributes
    ----------
    measure, systems, topics
        Text form of the measure; numbers of systems and topics.
    test, correction, alpha, resamples
        The test that pairs had to pass on the first topic set; None where there was none.
    rates
        The table `swaps`, without the measure.
    """

    name = "swaps"
    reference: ClassVar[str] = "Voorhees and Buckley (2002); Sanderson and Zobel (2005)"
    parts: ClassVar[Sequence[str]] = ("rates", "_differences")
    titles: ClassVar[Mapping[str, str]] = {
        "differences": (
            "Swap method: pairs of systems in reverse order on another set of topics; the"
            f" smallest difference with at most {ERROR:.0%} swaps, and the proportion of pairs"
            " with that difference or more"
        ),
        "swaps": "Swap method: swaps by the difference on the first set of topics",
    }
    columns: ClassVar[Mapping[str, Columns]] = {
        "swaps": {
            **_SIZE,
            "low": Column(
                "Lower end of the bin of absolute differences on the first set.", key=True
            ),
            "high": Column(
                "Upper end of the bin, not included; infinite in the last one.", key=True
            ),
            "pairs": Column("Number of pairs of systems with a difference in the bin."),
            **_COUNTS,
        },
        "differences": {
            **_SIZE,
            "pairs": Column("Number of pairs of systems, all bins together.", read=False),
            **_COUNTS,
            "difference": Column(
                f"Smallest difference from which at most {ERROR:.0%} are swapped; null if even the"
                " largest are swapped more often.",
                decimals=2,
            ),
            "proportion": Column(
                "Proportion of comparisons with that difference or more (sensitivity).",
                decimals=1,
                percent=True,
            ),
        },
    }

    measure: str
    rates: pl.DataFrame

    @cached_property
    def overall(self) -> pl.DataFrame:
        """The same table with all bins together, a row a size."""
        return with_rates(self.rates.group_by("size", maintain_order=True))

    def smallest(self, error: float = ERROR) -> pl.DataFrame:
        """Return the smallest differences that another topic set rarely reverses.

        A row a size: `difference`, where the first bin begins whose rate, and that of every bin
        above it, is at most `error`, which is above 0 and below 1. From the top, a bin with fewer
        than 1 / `error` comparisons is joined with the next lower one: one swap in it would exceed
        `error`. `proportion`: the part of all comparisons that have such a difference, called the
        sensitivity of the measure. Both are null where even the largest differences are swapped
        more often.
        """
        check_share("error", error)
        rows = []
        for size in self.sizes:
            bins = self._joined(size, 1 / error)
            rare = list(takewhile(lambda one: one[2] <= error * one[1], bins))
            reached: tuple[float | None, ...] = (None, None)
            if rare:
                reached = rare[-1][0], sum(one[1] for one in rare) / sum(one[1] for one in bins)
            rows.append((size, *reached))
        schema = {"size": pl.Int64, "difference": pl.Float64, "proportion": pl.Float64}
        return pl.DataFrame(rows, schema, orient="row")

    def _joined(self, size: int, least: float) -> list[tuple[float, int, int]]:
        """Join bins, from the highest, until each has enough comparisons: low, number, swaps."""
        mine = self.rates.filter(pl.col("size") == size, pl.col("comparisons") > 0)
        bins: list[tuple[float, int, int]] = []
        number = swaps = 0
        for low, *counts in mine.select("low", "comparisons", "swaps").reverse().iter_rows():
            number, swaps = number + counts[0], swaps + counts[1]
            if number >= least:
                bins.append((low, number, swaps))
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
            fit: tuple[float | None, ...] = (None,) * 4
            if known.height >= 3:
                columns = known.select("size", "rate", "comparisons").cast(pl.Float64)
                a1, a2, error = _fitted(*columns.to_numpy().T)
                fit = (a1, a2, error, a1 * np.exp(-a2 * size))
            rows.append((low, high, *fit))
        names = ("low", "high", "a1", "a2", "error", "rate")
        return pl.DataFrame(rows, dict.fromkeys(names, pl.Float64), orient="row")

    @property
    def label(self) -> str:
        """The measure, or a placeholder if it has no name."""
        return self.measure or "scores"

    @property
    def verdict(self) -> tuple[str, ...]:
        row = self._differences().sort("size").row(-1, named=True)
        if row["rate"] is None:
            return ()
        if row["difference"] is not None:
            sure = (
                f"At most {ERROR:.0%} of the differences of {row['difference']:g} or more"
                f" are reversed on other topics; {percent(row['proportion'])} of the pairs"
                " of systems differ by as much."
            )
        else:
            low, number, swaps = self._joined(row["size"], 1 / ERROR)[0]
            share = percent(swaps / number)
            sure = (
                f"Even of the largest differences, {low:g} or more, {share} are reversed on"
                " other topics."
            )
        ties = percent(row["ties"] / row["comparisons"])
        return (
            f"{labelled(self.measure)}between two sets of {row['size']:,} topics,"
            f" {percent(row['rate'])} of the pairs of systems swap and {ties} are tied on one of"
            f" them. {sure}",
            f"Sample: {counted(self.repeats, 'draw')} of two sets from"
            f" {counted(self.topics, 'topic')}.",
        )

    def _differences(self) -> pl.DataFrame:
        return self.overall.join(self.smallest(), on="size", maintain_order="left")

    def heading(self) -> list[str]:
        passed = f", {self.test} at {self.alpha:g}" if self.test else ""
        last = self.overall.row(-1, named=True)
        rate = "no comparison" if last["rate"] is None else f"{percent(last['rate'])} swaps"
        return [
            f"{labelled(self.measure)}swap method: {counted(self.systems, 'system')},"
            f" {counted(self.repeats, 'repeat')}, seed {self.seed}{passed};"
            f" {rate} with {counted(self.sizes[-1], 'topic')}"
        ]


def with_rates(groups: pl.dataframe.group_by.GroupBy) -> pl.DataFrame:
    """Sum up counts, with the rate of swaps by comparisons, null where there are none."""
    rate = pl.col("swaps") / pl.col("comparisons")
    return groups.agg(pl.col("pairs", "comparisons", "swaps", "ties").sum()).with_columns(
        pl.when(pl.col("comparisons") > 0).then(rate).alias("rate")
    )


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


REPEATS = 50
"""Of a part: so many topic sets of a size are compared at once."""

STEPS = (*range(21), 25, 30, 40, 50, 60, 80)
"""Where bins of differences begin by default, in hundredths for scores from 0 to 1."""

MOST_SIZES = 25
"""Sizes of topic sets by default."""


@with_work
def swap_method(
    scores: Any,
    *,
    sizes: Annotated[Iterable[int] | None, Numbers()] = None,
    repeats: Repeats = 50,
    bins: Annotated[Sequence[float] | None, Numbers(None)] = None,
    replacement: bool = False,
    ties: Annotated[str, OneOf(("apart", "swaps"))] = "apart",
    test: str | None = None,
    correction: str = "none",
    alpha: float = 0.05,
    resamples: Resamples = 1_000,
    seed: Seed = 0,
    **work: Unpack[Work],
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
        Sizes of the topic sets. By default all up to half of the topics, or 25 of these, evenly
        spaced; from 2 if there is a test.
    repeats
        Number of pairs of topic sets for each size. Those of 50 repeats are the first 50 of 1,000.
    bins
        Lower ends of the bins of absolute differences, ascending from 0, in the unit of the
        measure. By default 0, 0.01, ..., 0.2, 0.25, 0.3, 0.4, 0.5, 0.6 and 0.8, up to the largest
        difference on a topic; rescaled if that is above 1 or at most 0.1.
    replacement
        Draw two sets with replacement, independently of each other, which may then be as large as
        all topics (Sakai 2006a). The sets have topics in common, which lowers the rates.
    ties
        What a difference of zero on either set counts as: `apart`, no swap, since neither system is
        ahead there; or `swaps`, as where a program asks whether the product of the differences is
        above 0. They are counted in any case.
    test, correction, alpha, resamples
        Only pairs that are significant by this test on the first topic set count, as for
        :func:`cranfield.compare`; such as `t`, `signed-rank` or `sign`.
    seed
        Of the random numbers. Topic sets depend on it, on the size and on the repeat only: two
        measures with the same topics are judged on the same sets.
    jobs, backend, folder, progress
        As for :func:`cranfield.meta.run_parts`; a part has 50 repeats of a size. A folder
        serves any sizes and repeats.

    Raises
    ------
    PolicyError
        For a size that needs more topics than there are, or another invalid option.
    CranfieldError
        For missing or infinite scores, or fewer than two systems.

    Notes
    -----
    Means are exact sums of scores as integers; differences within rounding are zero.
    A difference where a bin begins belongs to it.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:10], covid.qrels, "nDCG@10")
    >>> found = swap_method(ev["nDCG@10"], sizes=[5, 25], repeats=100)
    >>> found.overall["size", "comparisons", "swaps"].rows()
    [(5, 4500, 1591), (25, 4500, 946)]
    """
    call = check_arguments(swap_method, locals())
    given = as_scores(scores)
    given.flat("the swap method does not take scores by shard")
    if len(given.systems) < 2:
        raise CranfieldError(
            f"the swap method requires at least two systems, got {len(given.systems)}"
        )
    given.finite().complete("error")
    Options(alpha=alpha, resamples=resamples, seed=seed)
    edges = default_bins(given.values) if bins is None else _edges(bins)
    of_test: dict[str, Any] = dict.fromkeys(("test", "correction", "alpha", "resamples"))
    options = None
    if test is not None:
        names = {"test": find_test(test).info.name, "correction": CORRECTIONS.find(correction)}
        of_test = {**names, "alpha": alpha, "resamples": resamples}
        options = {**of_test, "seed": seed}
    chosen = _sizes(sizes, len(given.topics), replacement, 1 if test is None else 2)
    about = {"bins": edges, "replacement": replacement, "ties": ties, "test": options, "seed": seed}
    found = run_parts(
        _count_swaps,
        (given, edges, replacement, ties, options, seed),
        repeated(chosen, repeats, REPEATS, "size-{}-repeats-{}-{}"),
        about={"study": "swaps", "scores": fingerprint(given), **about},
        **work,
    )
    return Swaps(
        call,
        measure=given.measure,
        systems=len(given.systems),
        topics=len(given.topics),
        sizes=chosen,
        bins=edges,
        **of_test,
        rates=with_rates(found.group_by("size", "low", "high", maintain_order=True)),
    )


def _sizes(sizes: Any, topics: int, replacement: bool, least: int) -> tuple[int, ...]:
    """Return the sizes of topic sets, ascending, each once; evenly spaced ones by default."""
    most = topics if replacement else topics // 2
    if most < least:
        raise CranfieldError(f"{counted(topics, 'topic')} cannot make two sets of {least}")
    if sizes is None:
        spaced = np.linspace(least, most, min(MOST_SIZES, most - least + 1))
        return tuple(sorted({int(size) for size in np.rint(spaced)}))
    return tuple(sorted(whole_numbers("size", sizes, most, " of topic sets", least)))


def default_bins(values: Floats) -> tuple[float, ...]:
    """Choose bins that cover all differences of scores of shape (topics, systems).

    Examples
    --------
    >>> import numpy as np
    >>> default_bins(np.array([[0.0, 0.5]]))[-3:]
    (0.25, 0.3, 0.4)
    >>> default_bins(np.array([[0.0, 7.0]]))[:3], default_bins(np.array([[0.0, 7.0]]))[-1]
    ((0.0, 0.1, 0.2), 6.0)
    """
    largest = float(np.ptp(values, axis=1).max())
    unit = 0.01
    if largest > 1:
        unit = _round_up(largest / 100)
    elif 0 < largest <= 0.1:
        unit = _round_up(largest / 20)
    edges = (float(f"{step * unit:.12g}") for step in STEPS)
    return tuple(edge for edge in edges if edge == 0 or edge < largest * (1 - 1e-9))


def _round_up(number: float) -> float:
    """Return the next number of the form 1, 2 or 5 times a power of ten."""
    power = float(10.0 ** np.floor(np.log10(number)))
    return power * next(k for k in (1, 2, 5, 10) if k * power >= number * (1 - 1e-9))


def _edges(bins: Sequence[float]) -> tuple[float, ...]:
    edges = tuple(float(edge) for edge in bins)
    if not edges or edges[0] != 0 or not all(a < b < np.inf for a, b in pairwise(edges)):
        raise PolicyError("bins must begin at 0 and ascend")
    return edges


def _count_swaps(shared: tuple[Any, ...], task: tuple[int, int, int]) -> pl.DataFrame:
    """Compare all pairs of systems on some pairs of topic sets of a size."""
    given, edges, replacement, ties, options, seed = shared
    size, start, stop = task
    integers, unit = as_integers(given.values, 2 * size)
    first, second = np.triu_indices(len(given.systems), 1)
    # A difference that misses an edge by rounding belongs there.
    near = np.asarray(edges) * (1 - 1e-9)
    totals = np.zeros((4, len(edges)), dtype=np.int64)
    for repeat in range(start, stop):
        sets = draw(seed, len(given.topics), size, repeat, replacement=replacement)
        sums = integers[sets].sum(axis=1)
        apart = sums[:, first] - sums[:, second]
        # Each integer is off by half a unit at most, and scores by rounding of their own.
        apart[np.abs(apart) <= 2 * size] = 0.0
        counts = _significant(given, sets[0], options)
        product = np.sign(apart).prod(axis=0)
        tied = product == 0
        swapped = (product < 0) | (tied if ties == "swaps" else False)
        places = np.searchsorted(near, np.abs(apart[0]) * (unit / size), side="right") - 1
        for row, which in enumerate((slice(None), counts, counts & swapped, counts & tied)):
            totals[row] += np.bincount(places[which], minlength=len(edges))
    return pl.DataFrame(
        {
            "size": pl.repeat(size, len(edges), dtype=pl.Int64, eager=True),
            "low": edges,
            "high": [*edges[1:], np.inf],
            **dict(zip(("pairs", "comparisons", "swaps", "ties"), totals, strict=True)),
        }
    )


def draw(seed: int, topics: int, size: int, repeat: int, *, replacement: bool = False) -> Indices:
    """Draw two sets of topics, disjoint unless drawn with replacement; shape (2, size)."""
    random = stream(seed, size, repeat)
    if replacement:
        return random.integers(topics, size=(2, size))
    return np.sort(random.permutation(topics)[: 2 * size].reshape(2, size), axis=1)


def _significant(given: Scores, topics: Indices, options: Any) -> Bools:
    """Return a mask of the pairs that count: all, or the significant ones on some topics."""
    if options is None:
        return np.ones(len(given.systems) * (len(given.systems) - 1) // 2, dtype=bool)
    return compare(numbered(given.values[topics]), jobs=1, **options).is_significant()
