"""Stability of results: samples of topics compared with all topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.kinds import Flag, Numbers, check_arguments
from cranfield.base.streams import stream
from cranfield.base.text import counted
from cranfield.correlation import kendall_tau, tau_ap
from cranfield.meta.study import OF_MEASURE, Study, labelled, percent
from cranfield.meta.study_options import (
    Proportion,
    Repeats,
    Resamples,
    Seed,
    Sizes,
    whole_numbers,
)
from cranfield.meta.test_studies.fast_tests import TestChoice, topic_sizes, verdict_or_none
from cranfield.meta.work import Work, fingerprint, repeated, run_parts, with_work
from cranfield.result import Column, Columns
from cranfield.significance.differences import ROUNDING, mid_ranks
from cranfield.significance.prepare import PreparedScores, as_scores, prepare_scores
from cranfield.significance.registry import find_test

BLOCK = 250
"""Samples in a part of the work; it is not part of what a seed means."""


def topic_scores(scores: Any, missing: str | None, test: str = "anova-2") -> PreparedScores:
    """Prepare scores for a study by topic: no gaps, no shards."""
    table = as_scores(scores)
    table.flat()
    if missing == "available":
        raise PolicyError(
            "this study requires the same topics for all systems;"
            " missing='available' is not supported"
        )
    return prepare_scores(table, find_test(test).info, missing or "error")


@dataclass(frozen=True, eq=False)
class AllTopics:
    """The scores on all topics, the test of pairs, and its results on all topics.

    `values` have shape (topics, systems), without gaps; `ranks` are twice the mid-rank of each
    system, the best first; `signs` are those of significant differences by pair, else 0.
    """

    values: Floats
    lower_is_better: bool
    choice: TestChoice
    replace: bool
    seed: int
    ranks: Ints
    signs: Ints


def _examined(whole: AllTopics, task: tuple[int, int, int]) -> pl.DataFrame:
    """Draw samples: a row a sample, with twice the mid-ranks as `ranks`.

    Size 0 stands for bootstrap samples of all topics, which are only ranked, not tested.
    """
    size, start, stop = task
    repeats = np.arange(start, stop)
    topics = len(whole.values)
    means = np.empty((repeats.size, whole.values.shape[1]))
    counts = np.zeros((repeats.size, 3), dtype=np.int64)
    tested = np.zeros(repeats.size, dtype=bool)
    for k, repeat in enumerate(repeats):
        random = stream(whole.seed, size, int(repeat))
        # In order of topics, so that equal samples have equal sums to the bit.
        drawn = np.sort(random.choice(topics, size or topics, replace=whole.replace or not size))
        values = whole.values[drawn]
        means[k] = values.mean(axis=0)
        if size:
            verdict, tested[k] = verdict_or_none(whole.choice, values, whole.seed)
            agreed = whole.signs[verdict.significant] * verdict.order[verdict.significant]
            counts[k] = verdict.significant.sum(), (agreed > 0).sum(), (agreed < 0).sum()
    ranks = _ranked(means, whole.values, whole.lower_is_better)
    # Rank 1 is the best, where correlations take the highest number for it.
    high, truth = -ranks, np.broadcast_to(-whole.ranks, ranks.shape)
    return pl.DataFrame(
        {
            "topics": np.full(repeats.size, size),
            "repeat": repeats,
            "ranks": pl.Series(ranks, dtype=pl.Array(pl.Int64, ranks.shape[1])),
            "tau": kendall_tau(high, truth),
            "tau ap": tau_ap(high, truth),
            "tested": tested,
            "significant": counts[:, 0],
            "confirmed": counts[:, 1],
            "contradicted": counts[:, 2],
        }
    )


def _ranked(means: Floats, values: Floats, lower_is_better: bool) -> Ints:
    """Return twice the mid-ranks by means, shape (samples, systems), the best first.

    The tolerance of rounding comes from the values of the means.
    """
    order = np.argsort(means if lower_is_better else -means, axis=1, kind="stable")
    ordered = np.take_along_axis(means if lower_is_better else -means, order, axis=1)
    gap = np.full(len(means), ROUNDING * float(np.abs(values).max()))
    ranks = np.empty(means.shape, dtype=np.int64)
    np.put_along_axis(ranks, order, mid_ranks(ordered, gap)[0].astype(np.int64), axis=1)
    return ranks


TAUS = ("tau", "tau ap")
"""How the ranking by a sample is compared with that by all topics."""

TOP_SCHEMA = {"topics": pl.Int64, "top": pl.Int64, "same": pl.Float64, "overlap": pl.Float64}
"""Columns of the table of top systems; it may be empty."""


class Stability(Study):
    """Agreement of samples of topics with all topics.

    Attributes
    ----------
    measure, systems, topics
        Measure and systems of the scores, and number of topics.
    significant, pairs
        Numbers of significant pairs on all topics, and of all pairs.
    by_size, top, firsts, ranks
        The tables `stability`, `top`, `first places` and `ranks`, without the measure.
    samples
        Table with a row a sample: `topics`, `repeat`, `tau`, `tau ap`, whether it was `tested`,
        and the numbers of pairs that are `significant`, `confirmed` and `contradicted`.
    notes
        Topics or scores that were excluded or imputed.
    """

    name = "stability"
    reference: ClassVar[str] = "Hall and Miller (2009)"
    parts: ClassVar[Sequence[str]] = ("by_size", "top", "firsts", "ranks")
    titles: ClassVar[Mapping[str, str]] = {
        "stability": "Samples of topics against all topics; low, high: quantiles over the samples",
        "top": "Samples with the same systems on top",
        "ranks": "Systems, and bootstrap intervals of their ranks",
    }
    columns: ClassVar[Mapping[str, Columns]] = {
        "stability": {
            **OF_MEASURE,
            "topics": Column("Number of topics in a sample.", key=True),
            "samples": Column("Number of samples.", read=False),
            "untested": Column(
                "Number of samples on which the test could not be done; they count as without a"
                " significant pair.",
                read=False,
            ),
            "tau": Column("Mean Kendall's tau with the ranking by all topics.", 2),
            "tau low": Column("Lower quantile of tau over the samples.", 2),
            "tau high": Column("Upper quantile of tau over the samples.", 2),
            "tau ap": Column(
                "Mean AP correlation, with the ranking by all topics as the truth.", 2
            ),
            "tau ap low": Column("Lower quantile of tau over the samples.", 2, read=False),
            "tau ap high": Column("Upper quantile of tau over the samples.", 2, read=False),
            "same first": Column(
                "Proportion of samples in which the best system by all topics is first.", 2
            ),
            "significant": Column("Mean number of significant pairs.", 1),
            "significant median": Column("Median number of significant pairs.", 1, read=False),
            "significant low": Column("Lower quantile of this number over the samples.", 0),
            "significant high": Column("Upper quantile of this number over the samples.", 0),
            "confirmed": Column(
                "Mean proportion of the pairs significant on all topics that are significant in a"
                " sample, with the same better system; null if there are none.",
                2,
            ),
            "contradicted": Column(
                (
                    "Mean number of pairs significant on all topics that are significant in"
                    " the opposite direction in a sample."
                ),
                2,
            ),
        },
        "top": {
            **OF_MEASURE,
            "topics": Column("Number of topics in a sample.", key=True),
            "top": Column("Number k of systems.", key=True),
            "same": Column("Proportion of samples with the same systems among the best k.", 2),
            "overlap": Column(
                "Mean proportion of systems that are in both sets: the size of the intersection"
                " divided by that of the larger set.",
                2,
            ),
        },
        "first places": {
            **OF_MEASURE,
            "topics": Column("Number of topics in a sample.", key=True),
            "system": Column("System; those that are never first are not in the table.", key=True),
            "first": Column(
                "Proportion of samples in which it is first; systems that tie share the sample."
            ),
        },
        "ranks": {
            **OF_MEASURE,
            "system": Column("System, from best to worst.", key=True),
            "mean": Column("Mean score on all topics."),
            "rank": Column("Rank by all topics.", decimals=1),
            "low": Column("Lower bound of its rank by bootstrap.", decimals=1),
            "high": Column("Upper bound of that rank.", decimals=1),
            "best": Column("Proportion of first places in these samples.", decimals=3),
        },
    }

    by_size: pl.DataFrame
    samples: pl.DataFrame

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.by_size.drop_nulls("tau").sort("topics")
        if rows.is_empty():
            return ()
        # Half of the topics: more of them are too nearly all, and agree with all by construction.
        half = rows.filter(pl.col("topics") <= self.topics / 2)
        last = (rows.head(1) if half.is_empty() else half).row(-1, named=True)
        again = ""
        if last["confirmed"] is not None:
            again = (
                " Of the pairs that are significant with all topics,"
                f" {percent(last['confirmed'])} are significant in the sample, too."
            )
        return (
            f"{labelled(self.measure)}samples of {last['topics']:,} of the {self.topics:,} topics"
            f" order the systems with Kendall's tau {last['tau']:.2f} to the order by all, in"
            f" {percent(self.confidence)} {last['tau low']:.2f} to {last['tau high']:.2f};"
            f" the first system is the same in {percent(last['same first'])}.{again}",
            f"The {counted(self.repeats, 'sample')} are of one set of topics and overlap:"
            " orders of systems on new topics agree less.",
        )

    def heading(self) -> list[str]:
        drawn = "with" if self.replace else "without"
        return [
            f"{labelled(self.measure)}{len(self.systems)} systems,"
            f" {counted(self.topics, 'topic')}; samples {drawn} replacement,"
            f" {counted(self.repeats, 'repeat')}, seed {self.seed}; {self.significant:,} of"
            f" {counted(self.pairs, 'pair')} differ on all topics, by {self.test} with"
            f" {self.correction}, alpha {self.alpha:g}; {100 * self.confidence:g}% intervals"
        ]

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "systems": len(self.systems)}


def _of_size(
    part: pl.DataFrame, ranks: Ints, whole: AllTopics, confidence: float
) -> dict[str, Any]:
    """Return the row of the table `stability` of the samples of a size."""
    row: dict[str, Any] = {
        "topics": part["topics"][0],
        "samples": len(part),
        "untested": int((~part["tested"]).sum()),
    }
    for name in TAUS:
        tau = part[name].fill_nan(None).drop_nulls().to_numpy()
        low, high = limits(tau, confidence) if tau.size else (None, None)
        row |= {name: tau.mean() if tau.size else None, f"{name} low": low, f"{name} high": high}
    significant, again, against = part["significant", "confirmed", "contradicted"].to_numpy().T
    low, high = limits(significant, confidence)
    before = int(np.count_nonzero(whole.signs))
    best = whole.ranks == whole.ranks.min()
    return {
        **row,
        "same first": _shares(ranks)[:, best].sum(axis=1).mean(),
        "significant": significant.mean(),
        "significant median": np.median(significant),
        "significant low": low,
        "significant high": high,
        "confirmed": again.mean() / before if before else None,
        "contradicted": against.mean(),
    }


def limits(samples: Any, confidence: float) -> tuple[Floats, Floats]:
    """Return bounds by column with at most (1 - confidence) / 2 of the samples beyond each."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return low.astype(np.float64), high.astype(np.float64)


def _shares(ranks: Ints) -> Floats:
    """Return how much of the first place each system has, by sample."""
    first = ranks == ranks.min(axis=1, keepdims=True)
    return np.asarray(first / first.sum(axis=1, keepdims=True))


def of_top(ranks: Ints, all_ranks: Ints, k: int) -> dict[str, Any]:
    """Compare the top k systems of the samples with those of all topics."""
    there = ranks <= np.sort(ranks, axis=1)[:, k - 1 : k]
    here = all_ranks <= np.sort(all_ranks)[k - 1]
    overlap = (there & here).sum(axis=1) / np.maximum(there.sum(axis=1), here.sum())
    return {"top": k, "same": float((overlap == 1).mean()), "overlap": float(overlap.mean())}


MOST_TOPICS = 100_000
"""In a sample with replacement."""

TOP = (1, 3, 5, 10)
"""Numbers of systems whose set is followed by default."""


@with_work
def stability(
    scores: Any,
    *,
    sizes: Sizes = None,
    repeats: Repeats = 1000,
    replace: Annotated[bool, Flag()] = False,
    test: str = "anova-2",
    correction: str | None = None,
    alpha: float = 0.05,
    resamples: Resamples = 1000,
    top: Annotated[Iterable[int] | None, Numbers()] = None,
    confidence: Proportion = 0.95,
    missing: str | None = None,
    seed: Seed = 0,
    **work: Unpack[Work],
) -> Stability:
    """Compare results on samples of the topics with the result on all topics.

    Parameters
    ----------
    scores
        As for :func:`cranfield.meta.topic_studies.extrapolation.generalizability`.
    missing
        How to treat topics for which a system has no score: `error` (default), `drop` or `zero`.
    sizes
        Sizes of the topic samples, 2 or more; by default tenths of the number of topics. Without
        replacement they are below the number of topics: a sample of all topics is
        the whole set.
    repeats
        Number of samples for each size, and for the confidence intervals of ranks.
    replace
        Whether to draw topics with replacement; required for sizes that are not below the number of
        topics. Tests then count a topic drawn twice as two topics, and have slightly more
        significant pairs than with different topics.
    test
        Significance test for pairs of systems, such as `t` or `friedman`. The names are those of
        :func:`cranfield.compare`. Analyses of variance with Tukey's HSD are fast; other tests take
        as long as so many calls of `compare`.
    correction, alpha
        As for :func:`cranfield.compare`.
    resamples
        Number of resamples, for tests that resample.
    top
        Numbers of top systems whose set is followed; by default 1, 3, 5 and 10, as far as there
        are more systems than that.
    confidence
        Proportion of samples within the bounds of the tables, between 0 and 1.
    seed
        Sample r of size n depends on the seed, n and r only.
    jobs, backend, folder, progress
        As for :func:`cranfield.meta.run_parts`.

    Raises
    ------
    CranfieldError
        When scores are missing, infinite or too few.
    PolicyError
        For an option that is unknown or out of its range, or scores by shard.

    Notes
    -----
    Samples without replacement share topics with the whole they are compared with, and more of
    them the larger they are: near all topics tau is near 1 by construction. The table shows how
    much of *this* result fewer topics would have reproduced. How close this result is to the truth,
    :func:`cranfield.meta.topic_studies.extrapolation.extrapolate` and
    :func:`cranfield.meta.topic_studies.extrapolation.generalizability` estimate.

    Systems whose means differ by no more than rounding are tied. Ranks are then mid-ranks, first
    places are shared, and the top k systems are all whose mean is not below the k-th highest.

    The intervals of ranks are percentiles of the bootstrap (Hall and Miller 2009), for each system
    alone. Where many systems are nearly equal they are too narrow to contain the true rank with
    the nominal probability; the pairs that differ significantly are the safer statement.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:6], covid.qrels, "nDCG@20")
    >>> found = stability(ev["nDCG@20"], sizes=[10, 25], repeats=100)
    >>> found
    Stability(nDCG@20: 6 systems, 50 topics; samples without replacement, 100 repeats, seed 0; ...)
    >>> found.by_size["tau"].round(2).to_list()
    [0.58, 0.77]
    """
    call = check_arguments(stability, locals())
    ready = topic_scores(scores, missing, test)
    table = ready.scores
    topics, systems = ready.flat.shape
    parsed_sizes = _sizes(sizes, topics, replace)
    tops = [k for k in TOP if k < systems]
    if top is not None:
        tops = sorted(whole_numbers("top", top, systems))
    choice = TestChoice(test, correction, alpha, resamples=resamples)
    verdict = choice(table, seed=seed)
    means = ready.flat.mean(axis=0)
    all_ranks = _ranked(means[None], ready.flat, table.lower_is_better)[0]
    whole = AllTopics(
        values=ready.flat,
        lower_is_better=table.lower_is_better,
        choice=choice,
        replace=bool(replace),
        seed=int(seed),
        ranks=all_ranks,
        signs=np.where(verdict.significant, verdict.order, 0).astype(np.int64),
    )
    rows = run_parts(
        _examined,
        whole,
        {
            **repeated([0], repeats, BLOCK, "ranks-{1:07d}-{2:07d}"),
            **repeated(parsed_sizes, repeats, BLOCK, "size-{:05d}-{:07d}-{:07d}"),
        },
        about={
            "study": "stability",
            "scores": fingerprint(table),
            "lower is better": table.lower_is_better,
            "test": choice.label,
            "alpha": float(alpha),
            "resamples": int(resamples),
            "replace": bool(replace),
            "seed": int(seed),
        },
        **work,
    )
    by_size, tops_by_size = [], []
    firsts = [pl.DataFrame(schema={"topics": pl.Int64, "system": pl.String, "first": pl.Float64})]
    for size in parsed_sizes:
        part = rows.filter(pl.col("topics") == size)
        ranks = part["ranks"].to_numpy()
        by_size.append(_of_size(part, ranks, whole, confidence))
        tops_by_size += [{"topics": size, **of_top(ranks, all_ranks, k)} for k in tops]
        share = _shares(ranks).mean(axis=0)
        own = {"topics": [size] * systems, "system": table.systems, "first": share}
        ever = pl.DataFrame(own).filter(pl.col("first") > 0)
        firsts.append(ever.sort("first", descending=True, maintain_order=True))
    of_bootstrap = rows.filter(pl.col("topics") == 0)["ranks"].to_numpy()
    low, high = limits(of_bootstrap, confidence)
    of_ranks = {
        "system": table.systems,
        "mean": means,
        "rank": all_ranks / 2,
        "low": low / 2,
        "high": high / 2,
        "best": _shares(of_bootstrap).mean(axis=0),
    }
    samples = rows.filter(pl.col("topics") > 0).drop("ranks")
    number_or_none = [f"{name}{end}" for name in TAUS for end in ("", " low", " high")]
    return Stability(
        call,
        measure=table.measure,
        systems=table.systems,
        topics=topics,
        test=choice.test,
        correction=choice.correction,
        significant=int(verdict.significant.sum()),
        pairs=verdict.significant.size,
        by_size=pl.DataFrame(
            by_size, schema_overrides=dict.fromkeys([*number_or_none, "confirmed"], pl.Float64)
        ),
        top=pl.DataFrame(tops_by_size, schema=TOP_SCHEMA),
        firsts=pl.concat(firsts),
        ranks=pl.DataFrame(of_ranks).sort("rank", maintain_order=True),
        samples=samples.with_columns(pl.col(*TAUS).fill_nan(None)),
        notes=ready.notes,
    )


def _sizes(sizes: Iterable[int] | None, topics: int, replace: bool) -> list[int]:
    largest = MOST_TOPICS if replace else topics - 1
    if sizes is None:
        if largest < 2:
            raise CranfieldError(f"samples of topics require at least 3 topics, got {topics}")
        tenths = {max(2, round(topics * k / 10)) for k in range(1, 11)}
        return sorted(size for size in tenths if size <= largest)
    parsed = sorted(topic_sizes(sizes, MOST_TOPICS))
    if parsed[-1] > largest:
        raise PolicyError(
            f"sizes must be below {topics:,}, the number of topics, or drawn with replace=True,"
            f" got {parsed[-1]:,}"
        )
    return parsed
