"""The swap method: how often another set of topics would turn the order of two systems round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Annotated, Any, Unpack

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.checks import check_whole
from cranfield.base.errors import CranfieldError, PolicyError, quoted
from cranfield.base.streams import stream
from cranfield.base.words import counted
from cranfield.meta.of_measures.swap_rates import Swaps, rate
from cranfield.meta.work.folder import fingerprint
from cranfield.meta.work.options import Numbers, OneOf, Repeats, Resamples, Seed, check_options
from cranfield.meta.work.parts import Work, blocks, run_parts, with_work
from cranfield.scores import Scores
from cranfield.significance.comparison.compare import compare
from cranfield.significance.corrections.catalogue import find_correction
from cranfield.significance.options import Options
from cranfield.significance.prepare import as_scores
from cranfield.significance.resampling import as_integers
from cranfield.significance.tests.catalogue import find_test

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
        Numbers of topics in a set; by default all up to half of the topics, or 25 of them, evenly
        spaced; from 2 where there is a test.
    repeats
        Pairs of topic sets of each size. Those of 50 repeats are the first 50 of 1,000.
    bins
        Where bins of absolute differences begin: from 0, ascending, in units of the measure. By
        default 0, 0.01, ..., 0.2, 0.25, 0.3, 0.4, 0.5, 0.6 and 0.8, as far as the largest
        difference on a topic; with another unit than 0.01 where that is above 1 or up to 0.1.
    replacement
        Draw two sets with replacement, independently of each other, which may then be as large as
        all topics (Sakai 2006a). The sets have topics in common, which lowers the rates.
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
    jobs, backend, scheduler, folder, progress
        As for :func:`cranfield.meta.run_parts`; a part has 50 repeats of a size. A folder
        serves any sizes and repeats.

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
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:10], covid.qrels, "nDCG@10")
    >>> found = swap_method(ev["nDCG@10"], sizes=[5, 25], repeats=100)
    >>> found.overall["size", "comparisons", "swaps"].rows()
    [(5, 4500, 1591), (25, 4500, 946)]
    """
    check_options(swap_method, locals())
    given = as_scores(scores)
    _check_scores(given)
    Options(alpha=alpha, resamples=resamples, seed=seed)
    edges = default_bins(given.values) if bins is None else _edges(bins)
    of_test: dict[str, Any] = dict.fromkeys(("test", "correction", "alpha", "resamples"))
    if test is not None:
        names = find_test(test).info.name, find_correction(correction)
        of_test = dict(zip(of_test, (*names, alpha, resamples), strict=True))
    options = None if test is None else {**of_test, "seed": seed}
    chosen = _sizes(sizes, len(given.topics), replacement, 1 if test is None else 2)
    found = run_parts(
        _count_swaps,
        (given, edges, replacement, ties, options, seed),
        {
            f"size-{size}-repeats-{start}-{stop}": (size, start, stop)
            for size in chosen
            for start, stop in blocks(repeats, REPEATS)
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
        **work,
    )
    limits = pl.DataFrame({"low": edges, "high": [*edges[1:], np.inf]}).with_row_index("bin")
    rates = (
        found.group_by("size", "bin", maintain_order=True)
        .agg(pl.col("pairs", "comparisons", "swaps", "ties").sum())
        .join(limits.cast({"bin": pl.Int64}), on="bin", maintain_order="left")
        .select("size", "low", "high", "pairs", "comparisons", "swaps", "ties", rate())
    )
    return Swaps(
        measure=given.measure,
        systems=len(given.systems),
        topics=len(given.topics),
        sizes=chosen,
        repeats=repeats,
        bins=edges,
        replacement=replacement,
        ties=ties,
        **of_test,
        seed=seed,
        rates=rates,
    )


def _check_scores(given: Scores) -> None:
    given.flat("the swap method takes no scores by shard")
    if len(given.systems) < 2:
        raise CranfieldError(f"a swap is of two systems, and there is {len(given.systems)}")
    unknown = np.argwhere(~np.isfinite(given.values))
    if unknown.size:
        topic, system = (int(k) for k in unknown[0])
        what = "no score" if np.isnan(given.values[topic, system]) else "an infinite score"
        raise CranfieldError(
            f"system {quoted(given.systems[system])} has {what} on topic"
            f" {quoted(given.topics[topic])}"
        )


def _sizes(sizes: Any, topics: int, replacement: bool, least: int) -> tuple[int, ...]:
    """Return the sizes of topic sets, ascending, each once; evenly spaced ones by default."""
    most = topics if replacement else topics // 2
    if most < least:
        raise CranfieldError(f"{counted(topics, 'topic')} cannot make two sets of {least}")
    if sizes is None:
        spaced = np.linspace(least, most, min(MOST_SIZES, most - least + 1))
        return tuple(sorted({int(size) for size in np.rint(spaced)}))
    if not isinstance(sizes, Iterable) or isinstance(sizes, (str, bytes)):
        raise PolicyError(f"sizes are several numbers of topics, not {sizes!r}")
    given = list(sizes)
    for size in given:
        check_whole("sizes", size, least, most)
    if not given:
        raise PolicyError("there are no sizes")
    return tuple(sorted({int(size) for size in given}))


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


def _edges(bins: Any) -> tuple[float, ...]:
    try:
        edges = tuple(float(edge) for edge in bins)
    except (TypeError, ValueError):
        raise PolicyError(f"bins are the numbers where they begin, not {bins!r}") from None
    if not edges or edges[0] != 0 or not all(a < b < np.inf for a, b in pairwise(edges)):
        raise PolicyError("bins begin at 0 and ascend")
    return edges


def _count_swaps(shared: tuple[Any, ...], task: tuple[int, int, int]) -> pl.DataFrame:
    """Compare all pairs of systems on some pairs of topic sets of a size."""
    given, edges, replacement, ties, options, seed = shared
    size, start, stop = task
    integers, unit = as_integers(given.values, 2 * size)
    first, second = np.triu_indices(len(given.systems), 1)
    totals = np.zeros((4, len(edges)), dtype=np.int64)
    for repeat in range(start, stop):
        mine, other = draw(seed, len(given.topics), size, repeat, replacement=replacement)
        before, after = (
            sums[first] - sums[second]
            for sums in (integers[chosen].sum(axis=0) for chosen in (mine, other))
        )
        # Each integer is off by half a unit at most, and scores by rounding of their own.
        before[np.abs(before) <= 2 * size] = 0.0
        after[np.abs(after) <= 2 * size] = 0.0
        counts = _significant(given, mine, options)
        product = np.sign(before) * np.sign(after)
        tied = product == 0
        swapped = (product < 0) | (tied if ties == "swaps" else False)
        places = _bins(np.abs(before) * (unit / size), edges)
        for row, which in enumerate((True, counts, counts & swapped, counts & tied)):
            some = places if which is True else places[which]
            totals[row] += np.bincount(some, minlength=len(edges))
    return pl.DataFrame(
        {
            "size": pl.repeat(size, len(edges), dtype=pl.Int64, eager=True),
            "bin": pl.int_range(len(edges), dtype=pl.Int64, eager=True),
            **dict(zip(("pairs", "comparisons", "swaps", "ties"), totals, strict=True)),
        }
    )


def draw(seed: int, topics: int, size: int, repeat: int, *, replacement: bool = False) -> Indices:
    """Draw two sets of topics, disjoint unless drawn with replacement; shape (2, size)."""
    random = stream(seed, size, repeat)
    if replacement:
        return random.integers(topics, size=(2, size))
    return np.sort(random.permutation(topics)[: 2 * size].reshape(2, size), axis=1)


def _significant(given: Scores, chosen: Indices, options: Any) -> Bools:
    """Tell which pairs count: all, or those that a test finds significant on the chosen topics."""
    if options is None:
        return np.ones(len(given.systems) * (len(given.systems) - 1) // 2, dtype=bool)
    labels = tuple(map(str, range(len(chosen))))
    some = replace(given, values=given.values[chosen], topics=labels)
    return compare(some, jobs=1, **options).is_significant()


def _bins(differences: Floats, edges: tuple[float, ...]) -> Indices:
    """Return the bin of each difference; one that misses an edge by rounding belongs there."""
    near = np.asarray(edges) * (1 - 1e-9)
    return np.searchsorted(near, differences, side="right") - 1
