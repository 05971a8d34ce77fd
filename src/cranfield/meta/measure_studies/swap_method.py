"""The swap method: how often another set of topics reverses the order of two systems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise, takewhile
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError, check_integer, check_proportion
from cranfield.base.kinds import Numbers, OneOf, check_arguments
from cranfield.base.text import format_prefix, inflect
from cranfield.meta.study import MEASURE_COLUMN, Study, format_percent
from cranfield.meta.study_options import Repeats, Resamples, Seed, check_integers
from cranfield.meta.test_studies.fast_tests import draw_topic_sets, label_scores
from cranfield.meta.work import WorkOptions, add_work_options, hash_scores, run_parts, split_repeats
from cranfield.result import Column, Columns
from cranfield.significance.comparison.compare import compare
from cranfield.significance.prepare import as_scores
from cranfield.significance.registry import CORRECTIONS, TestOptions, find_test
from cranfield.significance.resampling import as_integers

MAX_RATE = 0.05
"""Maximum rate of swaps of a reliable difference."""

_SIZE_COLUMNS = {**MEASURE_COLUMN, "size": Column("Number of topics of each set.", key=True)}
_COUNTS = {
    "comparisons": Column(
        "Number of compared pairs of systems, summed over repeats; with a test, only pairs that are"
        " significant on the first set are compared."
    ),
    "swaps": Column(
        "Number of comparisons in which the two sets order the systems differently; with"
        " ties='swaps', ties also count."
    ),
    "ties": Column("Number of comparisons with a difference of 0 on at least one of the sets."),
    "rate": Column("`swaps` / `comparisons`; null without comparisons.", decimals=1, percent=True),
}


class Swaps(Study):
    """Rates at which two sets of topics order two systems differently.

    Attributes
    ----------
    measure, n_systems, n_topics
        Text form of the measure, and numbers of systems and topics.
    test, correction, alpha, resamples
        The test in which pairs must be significant on the first topic set; None without a test.
    rates
        The table `swaps`, without the column `measure`.
    """

    name = "swaps"
    reference: ClassVar[str] = "Voorhees and Buckley (2002); Sanderson and Zobel (2005)"
    table_attributes: ClassVar[Sequence[str]] = ("rates", "_find_differences")
    titles: ClassVar[Mapping[str, str]] = {
        "differences": (
            "Swap method: pairs of systems in reverse order on another set of topics; the"
            f" smallest difference with at most {MAX_RATE:.0%} swaps, and the proportion of"
            " compared pairs with that difference or more"
        ),
        "swaps": "Swap method: swaps by the difference on the first set of topics",
    }
    columns: ClassVar[Mapping[str, Columns]] = {
        "swaps": {
            **_SIZE_COLUMNS,
            "low": Column(
                "Lower end of the bin of absolute differences on the first set.", key=True
            ),
            "high": Column(
                "Upper end of the bin (exclusive); infinite for the last bin.", key=True
            ),
            "pairs": Column("Number of pairs of systems with a difference in the bin."),
            **_COUNTS,
        },
        "differences": {
            **_SIZE_COLUMNS,
            "pairs": Column("Number of pairs of systems, summed over repeats.", display=False),
            **_COUNTS,
            "difference": Column(
                f"Smallest difference from which at most {MAX_RATE:.0%} of pairs are swapped in"
                " every bin; null if even the largest compared differences are swapped more often.",
                decimals=2,
            ),
            "proportion": Column(
                "Proportion of comparisons whose difference is at least `difference`"
                " (sensitivity); null if `difference` is null.",
                decimals=1,
                percent=True,
            ),
        },
    }

    measure: str
    rates: pl.DataFrame

    @cached_property
    def overall(self) -> pl.DataFrame:
        """The counts and rates of the table `swaps` summed over all bins, a row per size."""
        return sum_counts(self.rates.group_by("size", maintain_order=True))

    def find_smallest_differences(self, max_rate: float = MAX_RATE) -> pl.DataFrame:
        """Return the smallest differences that another topic set rarely reverses, a row per size.

        `difference` is the lower end of the lowest bin such that the rates of this and all higher
        bins are at most `max_rate`, between 0 and 1. From the highest bin down, a bin with fewer
        than 1 / `max_rate` comparisons is joined with the next lower bin, as a single swap would
        exceed `max_rate`. `proportion`, the sensitivity of the measure, is the proportion of
        comparisons with at least this difference. Both are null if even the largest differences are
        swapped more often, or without comparisons.
        """
        check_proportion("max_rate", max_rate)
        rows = []
        for size in self.sizes:
            bins = self._join_bins(size, 1 / max_rate)
            top_bins = list(takewhile(lambda b: b[2] <= max_rate * b[1], bins))
            low = top_bins[-1][0] if top_bins else None
            proportion = sum(b[1] for b in top_bins) / sum(b[1] for b in bins) if top_bins else None
            rows.append((size, low, proportion))
        schema = {"size": pl.Int64, "difference": pl.Float64, "proportion": pl.Float64}
        return pl.DataFrame(rows, schema, orient="row")

    def _join_bins(self, size: int, min_comparisons: float) -> list[tuple[float, int, int]]:
        """Join bins with few comparisons, from the highest; return low, comparisons and swaps."""
        rows = self.rates.filter(pl.col("size") == size, pl.col("comparisons") > 0)
        bins: list[tuple[float, int, int]] = []
        comparisons = swaps = 0
        for low, *counts in rows.select("low", "comparisons", "swaps").reverse().iter_rows():
            comparisons, swaps = comparisons + counts[0], swaps + counts[1]
            if comparisons >= min_comparisons:
                bins.append((low, comparisons, swaps))
                comparisons = swaps = 0
        if comparisons:
            # Join the lowest bins, which have too few comparisons, with the bin above.
            bin_above = bins.pop() if bins else (0.0, 0, 0)
            bins.append((rows["low"][0], bin_above[1] + comparisons, bin_above[2] + swaps))
        return bins

    def extrapolate_rates(self, size: int) -> pl.DataFrame:
        r"""Extrapolate the rates of swaps to topic sets of another size, however large.

        .. math:: \mathrm{rate}(n) = a_1 e^{-a_2 n}, \quad 0 \le a_1 \le 1, \; a_2 \ge 0

        is fitted to the rates of each bin by least squares, each size weighted by its number of
        comparisons.

        Source: Voorhees and Buckley (2002), who extrapolate the rates of sizes up to 25 by
        exponential curves. The weights and the bounds of the parameters are additions; the bounds
        ensure rates from 0 to 1 that do not increase with the size.

        The size is 1 or more. Returns a row per bin: `low`, `high`, `a1`, `a2`, `error` (root
        weighted mean square of the residuals) and `rate`; the last four are null if fewer than
        three sizes have comparisons. If `error` is large compared with `rate`, the extrapolation is
        not reliable: the rates of the highest bin, which has no upper end, and small rates may be
        far from an exponential curve.
        """
        check_integer("size", size, 1)
        rows = []
        for (low, high), bin_rows in self.rates.group_by(["low", "high"], maintain_order=True):
            compared_rows = bin_rows.filter(pl.col("comparisons") > 0)
            fit: tuple[float | None, ...] = (None,) * 4
            if compared_rows.height >= 3:
                columns = compared_rows.select("size", "rate", "comparisons").cast(pl.Float64)
                a1, a2, error = _fit_exponential(*columns.to_numpy().T)
                fit = (a1, a2, error, a1 * np.exp(-a2 * size))
            rows.append((low, high, *fit))
        names = ("low", "high", "a1", "a2", "error", "rate")
        return pl.DataFrame(rows, dict.fromkeys(names, pl.Float64), orient="row")

    @property
    def label(self) -> str:
        """Name of the measure, or `scores` if it is unknown."""
        return self.measure or "scores"

    @property
    def verdict(self) -> tuple[str, ...]:
        row = self._find_differences().sort("size").row(-1, named=True)
        if row["rate"] is None:
            return ()
        if row["difference"] is not None:
            sentence = (
                f"At most {MAX_RATE:.0%} of the differences of {row['difference']:g} or more"
                f" are reversed on other topics; {format_percent(row['proportion'])} of the"
                " compared pairs of systems have such a difference."
            )
        else:
            low, comparisons, swaps = self._join_bins(row["size"], 1 / MAX_RATE)[0]
            proportion = format_percent(swaps / comparisons)
            sentence = (
                f"Even of the largest differences ({low:g} or more), {proportion} are reversed on"
                " other topics."
            )
        tie_rate = format_percent(row["ties"] / row["comparisons"])
        return (
            f"{format_prefix(self.measure)}between two sets of {row['size']:,} topics,"
            f" {format_percent(row['rate'])} of the compared pairs of systems are swapped"
            f" and {tie_rate} are tied on at least one of the sets. {sentence}",
            f"Sample: {inflect(self.repeats, 'draw')} of two sets from"
            f" {inflect(self.n_topics, 'topic')}.",
        )

    def _find_differences(self) -> pl.DataFrame:
        return self.overall.join(self.find_smallest_differences(), on="size", maintain_order="left")

    def heading(self) -> list[str]:
        condition = f", {self.test} at {self.alpha:g}" if self.test else ""
        row = self.overall.row(-1, named=True)
        rate_text = "no pair compared"
        if row["rate"] is not None:
            rate_text = f"{format_percent(row['rate'])} of comparisons swapped"
        return [
            f"{format_prefix(self.measure)}swap method: {inflect(self.n_systems, 'system')},"
            f" {inflect(self.repeats, 'repeat')}, seed {self.seed}{condition};"
            f" {rate_text} with two sets of {inflect(self.sizes[-1], 'topic')}"
        ]


def sum_counts(groups: pl.dataframe.group_by.GroupBy) -> pl.DataFrame:
    """Sum counts by group, and add the rate of swaps, null if nothing was compared."""
    rate = pl.col("swaps") / pl.col("comparisons")
    return groups.agg(pl.col("pairs", "comparisons", "swaps", "ties").sum()).with_columns(
        pl.when(pl.col("comparisons") > 0).then(rate).alias("rate")
    )


def _fit_exponential(
    sizes: Floats, rates: Floats, comparisons: Floats
) -> tuple[float, float, float]:
    """Fit a1 exp(-a2 size) by weighted least squares; return a1, a2 and root mean square error."""
    from scipy.optimize import least_squares

    weights = np.sqrt(comparisons / comparisons.sum())

    def compute_residuals(a: Floats) -> Floats:
        return np.asarray(weights * (a[0] * np.exp(-a[1] * sizes) - rates))

    # Start from a line through the logarithms, where rates of 0 count as half a swap.
    logs = np.log(np.maximum(rates, 0.5 / comparisons))
    slope, intercept = np.polyfit(sizes, logs, 1, w=weights)
    start = [np.clip(np.exp(intercept), 0.01, 0.99), max(-slope, 1e-3)]
    bounds = ([0.0, 0.0], [1.0, np.inf])
    fit = least_squares(compute_residuals, start, bounds=bounds, x_scale="jac")
    return float(fit.x[0]), float(fit.x[1]), float(np.sqrt((fit.fun**2).sum()))


REPEATS_PER_PART = 50
"""Number of repeats in a part of the work."""

DEFAULT_EDGES = (*range(21), 25, 30, 40, 50, 60, 80)
"""Default lower ends of bins of differences, in hundredths if scores are from 0 to 1."""

MAX_SIZES = 25
"""Maximum number of default sizes of topic sets."""


@add_work_options
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
    **work: Unpack[WorkOptions],
) -> Swaps:
    r"""Estimate how often another topic set of the same size reverses the order of two systems.

    Two disjoint sets of topics are drawn, and each pair of systems is ordered by its means on each
    set. A pair is a swap if the two orders differ:

    .. math:: \mathrm{rate}(b, n) = \frac{|\{(x, y) : |d_1| \in b, \; d_1 d_2 < 0\}|}
        {|\{(x, y) : |d_1| \in b\}|}

    with the differences of means :math:`d_1` and :math:`d_2` of two systems on the first and second
    set of n topics, over all pairs of systems and all repeats, by bin b of the first difference.

    Source: Voorhees and Buckley (2002); with a test, Sanderson and Zobel (2005); both as in Sakai
    (2013), section 5.1.

    Parameters
    ----------
    scores
        Complete scores of one measure, as for :func:`cranfield.compare`.
    sizes
        Sizes of the topic sets. By default all sizes up to half of the topics (with replacement, up
        to all topics), or 25 evenly spaced sizes; at least 2 with a test.
    repeats
        Number of pairs of topic sets for each size. The first pairs do not depend on this number.
    bins
        Lower ends of the bins of absolute differences, ascending from 0, in the unit of the
        measure. By default 0, 0.01, ..., 0.2, 0.25, 0.3, 0.4, 0.5, 0.6 and 0.8, up to the largest
        difference on a topic; rescaled if that difference is above 1 or at most 0.1.
    replacement
        Whether to draw the two sets with replacement, independently of each other; they may then be
        as large as all topics (Sakai 2006a). The sets may have topics in common, which lowers the
        rates.
    ties
        How to count a difference of zero on either set: `apart`, not as a swap, since neither
        system is better; or `swaps`, as in programs that test whether the product of the
        differences is above 0. The number of ties is always reported.
    test, correction, alpha, resamples
        With a test, such as `t`, `signed-rank` or `sign`, only pairs that are significant on the
        first topic set are compared; options as for :func:`cranfield.compare`.
    seed
        Seed of the draws. Topic sets depend only on the seed, the size and the repeat: measures
        with the same topics are compared on the same sets.
    jobs, backend, folder, progress
        As for :func:`cranfield.meta.run_parts`; a part has 50 repeats of a size. A folder may be
        reused with other sizes and repeats.

    Raises
    ------
    PolicyError
        For a size that requires more topics than available, or another invalid option.
    CranfieldError
        For missing or infinite scores, fewer than two systems, or too few topics for two sets.

    Notes
    -----
    Scores are scaled and rounded to integers, whose sums are exact; differences of sums within this
    rounding are 0. A difference equal to the lower end of a bin belongs to it.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:10], covid.qrels, "nDCG@10")
    >>> study = swap_method(ev["nDCG@10"], sizes=[5, 25], repeats=100)
    >>> study.overall["size", "comparisons", "swaps"].rows()
    [(5, 4500, 1591), (25, 4500, 946)]
    """
    call = check_arguments(swap_method, locals())
    scores = as_scores(scores)
    scores.require_two_axes("the swap method does not support scores by shard")
    if len(scores.systems) < 2:
        raise CranfieldError(
            f"the swap method requires at least two systems, got {len(scores.systems)}"
        )
    scores.check_finite().complete("error")
    TestOptions(alpha=alpha, resamples=resamples, seed=seed)
    edges = choose_bins(scores.values) if bins is None else _parse_bins(bins)
    test_facts: dict[str, Any] = dict.fromkeys(("test", "correction", "alpha", "resamples"))
    if test is not None:
        names = {"test": find_test(test).info.name, "correction": CORRECTIONS.find(correction)}
        test_facts = {**names, "alpha": alpha, "resamples": resamples}
    options = None if test is None else {**test_facts, "seed": seed}
    parsed_sizes = _parse_sizes(sizes, len(scores.topics), replacement, 1 if test is None else 2)
    facts = {"bins": edges, "replacement": replacement, "ties": ties, "test": options, "seed": seed}
    table = run_parts(
        _count_swaps,
        (scores, edges, replacement, ties, options, seed),
        split_repeats(parsed_sizes, repeats, REPEATS_PER_PART, "size-{}-repeats-{}-{}"),
        settings={"study": "swaps", "scores": hash_scores(scores), **facts},
        **work,
    )
    return Swaps(
        call,
        measure=scores.measure,
        n_systems=len(scores.systems),
        n_topics=len(scores.topics),
        sizes=parsed_sizes,
        bins=edges,
        **test_facts,
        rates=sum_counts(table.group_by("size", "low", "high", maintain_order=True)),
    )


def _parse_sizes(sizes: Any, n_topics: int, replacement: bool, min_size: int) -> tuple[int, ...]:
    """Return distinct sizes of topic sets, ascending; evenly spaced by default."""
    max_size = n_topics if replacement else n_topics // 2
    if max_size < min_size:
        raise CranfieldError(
            f"the swap method requires two sets of {inflect(min_size, 'topic')} or more, got"
            f" {inflect(n_topics, 'topic')} in all"
        )
    if sizes is None:
        grid = np.linspace(min_size, max_size, min(MAX_SIZES, max_size - min_size + 1))
        return tuple(sorted({int(size) for size in np.rint(grid)}))
    return tuple(sorted(check_integers("size", sizes, max_size, " of topic sets", min_size)))


def choose_bins(values: Floats) -> tuple[float, ...]:
    """Choose bins for all differences of scores; shape (topics, systems).

    >>> choose_bins(np.array([[0.0, 0.5]]))[-3:]
    (0.25, 0.3, 0.4)
    >>> choose_bins(np.array([[0.0, 7.0]]))[:3], choose_bins(np.array([[0.0, 7.0]]))[-1]
    ((0.0, 0.1, 0.2), 6.0)
    """
    max_difference = float(np.ptp(values, axis=1).max())
    unit = 0.01
    if max_difference > 1:
        unit = _round_up(max_difference / 100)
    elif 0 < max_difference <= 0.1:
        unit = _round_up(max_difference / 20)
    edges = (float(f"{step * unit:.12g}") for step in DEFAULT_EDGES)
    return tuple(edge for edge in edges if edge == 0 or edge < max_difference * (1 - 1e-9))


def _round_up(value: float) -> float:
    """Round up to 1, 2 or 5 times a power of ten."""
    power = float(10.0 ** np.floor(np.log10(value)))
    return power * next(k for k in (1, 2, 5, 10) if k * power >= value * (1 - 1e-9))


def _parse_bins(bins: Sequence[float]) -> tuple[float, ...]:
    edges = tuple(float(edge) for edge in bins)
    if not edges or edges[0] != 0 or not all(a < b < np.inf for a, b in pairwise(edges)):
        raise PolicyError(f"bins must be finite, start at 0 and ascend, got {list(edges)}")
    return edges


def _count_swaps(shared: tuple[Any, ...], task: tuple[int, int, int]) -> pl.DataFrame:
    """Count swaps of all pairs of systems on several pairs of topic sets of a size."""
    scores, edges, replacement, ties, options, seed = shared
    size, start, stop = task
    n_topics, (integers, unit) = len(scores.topics), as_integers(scores.values, 2 * size)
    first, second = np.triu_indices(len(scores.systems), 1)
    # Differences below an edge by no more than rounding belong to its bin.
    lower_ends = np.asarray(edges) * (1 - 1e-9)
    totals = np.zeros((4, len(edges)), dtype=np.int64)
    for repeat in range(start, stop):
        sets = np.stack(draw_topic_sets(n_topics, size, repeat, seed, replacement=replacement))
        sums = integers[sets].sum(axis=1)
        difference = sums[:, first] - sums[:, second]
        # Rounding to integers adds at most half a unit per score; twice this is tolerated.
        difference[np.abs(difference) <= 2 * size] = 0.0
        is_compared = np.ones(first.size, dtype=bool)
        if options is not None:
            first_scores = label_scores(scores.values[sets[0]])
            is_compared = compare(first_scores, jobs=1, **options).is_significant()
        sign_product = np.sign(difference).prod(axis=0)
        is_tied = sign_product == 0
        is_swapped = (sign_product < 0) | (is_tied if ties == "swaps" else False)
        bins = np.searchsorted(lower_ends, np.abs(difference[0]) * (unit / size), side="right") - 1
        for row, mask in enumerate(
            (slice(None), is_compared, is_compared & is_swapped, is_compared & is_tied)
        ):
            totals[row] += np.bincount(bins[mask], minlength=len(edges))
    return pl.DataFrame(
        {
            "size": pl.repeat(size, len(edges), dtype=pl.Int64, eager=True),
            "low": edges,
            "high": [*edges[1:], np.inf],
            **dict(zip(("pairs", "comparisons", "swaps", "ties"), totals, strict=True)),
        }
    )
