"""The swap method: how often another set of topics would turn the order of two systems round."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.checks import check_whole
from cranfield.base.errors import PolicyError, quoted
from cranfield.meta.of_measures.swap_counts import count_swaps
from cranfield.meta.of_measures.swap_fit import rate
from cranfield.meta.of_measures.swap_options import BINS, TIES, check_scores, read_edges, read_sizes
from cranfield.meta.of_measures.swap_result import Swaps
from cranfield.meta.work.folder import fingerprint
from cranfield.meta.work.parts import MOST_REPEATS, Progress, run_parts
from cranfield.significance.corrections.catalogue import find_correction
from cranfield.significance.options import Options
from cranfield.significance.prepare import as_scores
from cranfield.significance.tests.catalogue import find_test

REPEATS = 50
"""Of a part: so many topic sets of a size are compared at once."""


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
    >>> covid = cf.bundled.trec_covid()
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
