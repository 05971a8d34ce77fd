"""Stability of results: compare samples of topics with all topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.kinds import Flag, Numbers, check_arguments
from cranfield.base.streams import make_stream
from cranfield.base.text import format_prefix, inflect
from cranfield.correlation import kendall_tau, tau_ap
from cranfield.meta.study import MEASURE_COLUMN, Study, format_percent
from cranfield.meta.study_options import Proportion, Repeats, Resamples, Seed, Sizes, check_integers
from cranfield.meta.test_studies.fast_tests import TestChoice, check_topic_sizes, compute_decisions
from cranfield.meta.work import WorkOptions, add_work_options, hash_scores, run_parts, split_repeats
from cranfield.result import Column, Columns
from cranfield.significance.differences import ROUNDING, rank_rows
from cranfield.significance.prepare import PreparedScores, as_scores, prepare_scores
from cranfield.significance.registry import find_test

SAMPLES_PER_PART = 250
"""Number of samples in a part of the work; results do not depend on it."""


def prepare_topic_scores(scores: Any, missing: str | None, test: str = "anova-2") -> PreparedScores:
    """Prepare scores for a study by topic, without shards or missing scores."""
    table = as_scores(scores)
    table.require_two_axes()
    if missing == "available":
        raise PolicyError(
            "missing must be error, drop or zero, as this study requires the same topics for all"
            " systems; got available"
        )
    return prepare_scores(table, find_test(test).info, missing or "error")


@dataclass(frozen=True, eq=False)
class AllTopics:
    """Complete scores on all topics, shape (topics, systems), the test, and its results."""

    values: Floats
    lower_is_better: bool
    choice: TestChoice
    with_replacement: bool
    seed: int
    ranks: Ints  # twice the mid-rank of each system, the best first
    signs: Ints  # of significant differences, 0 for others; shape (pairs,)


def _draw_samples(all_topics: AllTopics, task: tuple[int, int, int]) -> pl.DataFrame:
    """Draw samples of topics, and return a row for each; `ranks` are twice the mid-ranks."""
    # Size 0 stands for bootstrap samples of all topics, which are ranked, but not tested.
    size, start, stop = task
    repeats = np.arange(start, stop)
    n_topics = len(all_topics.values)
    with_replacement = all_topics.with_replacement or not size
    means = np.empty((repeats.size, all_topics.values.shape[1]))
    counts = np.zeros((repeats.size, 3), dtype=np.int64)
    is_tested = np.zeros(repeats.size, dtype=bool)
    for k, repeat in enumerate(repeats):
        rng = make_stream(all_topics.seed, size, int(repeat))
        # Sort topics, so that equal samples have exactly equal sums.
        sample = np.sort(rng.choice(n_topics, size or n_topics, replace=with_replacement))
        values = all_topics.values[sample]
        means[k] = values.mean(axis=0)
        if size:
            decisions, is_tested[k] = compute_decisions(all_topics.choice, values, all_topics.seed)
            products = (all_topics.signs * decisions.order)[decisions.is_significant]
            counts[k] = decisions.is_significant.sum(), (products > 0).sum(), (products < 0).sum()
    ranks = _rank_means(means, all_topics.values, all_topics.lower_is_better)
    # The correlations expect the best system to have the highest number.
    sample_order, full_order = -ranks, np.broadcast_to(-all_topics.ranks, ranks.shape)
    return pl.DataFrame(
        {
            "topics": np.full(repeats.size, size),
            "repeat": repeats,
            "ranks": pl.Series(ranks, dtype=pl.Array(pl.Int64, ranks.shape[1])),
            "tau": kendall_tau(sample_order, full_order),
            "tau ap": tau_ap(sample_order, full_order),
            "tested": is_tested,
            "significant": counts[:, 0],
            "confirmed": counts[:, 1],
            "contradicted": counts[:, 2],
        }
    )


def _rank_means(means: Floats, values: Floats, lower_is_better: bool) -> Ints:
    """Rank systems by `means`; return twice the mid-ranks, shape (samples, systems)."""
    keys = means if lower_is_better else -means
    order = np.argsort(keys, axis=1, kind="stable")
    sorted_keys = np.take_along_axis(keys, order, axis=1)
    tolerance = np.full(len(means), ROUNDING * float(np.abs(values).max()))
    sorted_ranks = rank_rows(sorted_keys, tolerance)[0].astype(np.int64)
    ranks = np.empty_like(sorted_ranks)
    np.put_along_axis(ranks, order, sorted_ranks, axis=1)
    return ranks


TAUS = ("tau", "tau ap")
"""Coefficients that compare the ranking by a sample of topics with the ranking by all topics."""


class Stability(Study):
    """Agreement of results on samples of topics with those on all topics; see :func:`stability`.

    Attributes
    ----------
    measure, systems, n_topics
        Text form of the measure, names of the systems, and number of topics.
    n_significant, n_pairs
        Number of pairs that are significant on all topics, and number of all pairs.
    by_size, top, firsts, ranks
        The tables `stability`, `top`, `first places` and `ranks`, without the column `measure`.
    samples
        Table with a row per sample: `topics`, `repeat`, `tau`, `tau ap`, whether it was `tested`,
        and the numbers of pairs that are `significant`, `confirmed` and `contradicted`.
    notes
        Notes on topics or scores that were excluded or imputed.
    """

    name = "stability"
    reference: ClassVar[str] = "Hall and Miller (2009)"
    table_attributes: ClassVar[Sequence[str]] = ("by_size", "top", "firsts", "ranks")
    titles: ClassVar[Mapping[str, str]] = {
        "stability": "Samples of topics compared with all topics; low, high: quantiles over the"
        " samples",
        "top": "Samples with the same best systems as all topics",
        "ranks": "Systems, and bootstrap intervals of their ranks",
    }
    columns: ClassVar[Mapping[str, Columns]] = {
        "stability": {
            **MEASURE_COLUMN,
            "topics": Column("Number of topics in a sample.", key=True),
            "samples": Column("Number of samples.", display=False),
            "untested": Column(
                "Number of samples on which the test could not be computed; they count as having no"
                " significant pairs.",
                display=False,
            ),
            "tau": Column("Mean Kendall's tau with the ranking by all topics.", 2),
            "tau low": Column("Lower quantile of tau over the samples.", 2),
            "tau high": Column("Upper quantile of tau over the samples.", 2),
            "tau ap": Column(
                "Mean AP correlation with the ranking by all topics as the true ranking.", 2
            ),
            "tau ap low": Column("Lower quantile of tau ap over the samples.", 2, display=False),
            "tau ap high": Column("Upper quantile of tau ap over the samples.", 2, display=False),
            "same first": Column(
                "Proportion of samples in which the best system by all topics is first.", 2
            ),
            "significant": Column("Mean over the samples of the number of significant pairs.", 1),
            "significant median": Column(
                "Median over the samples of the number of significant pairs.", 1, display=False
            ),
            "significant low": Column(
                "Lower quantile over the samples of the number of significant pairs.", 0
            ),
            "significant high": Column(
                "Upper quantile over the samples of the number of significant pairs.", 0
            ),
            "confirmed": Column(
                "Mean proportion of the pairs significant on all topics that are significant in a"
                " sample, in the same direction; null if there are no such pairs.",
                2,
            ),
            "contradicted": Column(
                "Mean number of pairs significant on all topics that are significant in"
                " the opposite direction in a sample.",
                2,
            ),
        },
        "top": {
            **MEASURE_COLUMN,
            "topics": Column("Number of topics in a sample.", key=True),
            "top": Column("Number k of systems.", key=True),
            "same": Column("Proportion of samples with the same systems among the best k.", 2),
            "overlap": Column(
                "Mean overlap of both sets of systems: size of the intersection divided by the size"
                " of the larger set.",
                2,
            ),
        },
        "first places": {
            **MEASURE_COLUMN,
            "topics": Column("Number of topics in a sample.", key=True),
            "system": Column("System; only systems that are first in a sample.", key=True),
            "first": Column(
                "Proportion of samples in which the system is first; tied systems share a sample"
                " equally."
            ),
        },
        "ranks": {
            **MEASURE_COLUMN,
            "system": Column("System, from best to worst.", key=True),
            "mean": Column("Mean score on all topics."),
            "rank": Column("Rank by all topics.", decimals=1),
            "low": Column("Lower bound of the bootstrap interval of the rank.", decimals=1),
            "high": Column("Upper bound of the bootstrap interval of the rank.", decimals=1),
            "best": Column(
                "Proportion of bootstrap samples in which the system is first.", decimals=3
            ),
        },
    }

    by_size: pl.DataFrame
    samples: pl.DataFrame

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.by_size.drop_nulls("tau").sort("topics")
        if rows.is_empty():
            return ()
        # Larger samples have most topics in common with the complete set.
        small_rows = rows.filter(pl.col("topics") <= self.n_topics / 2)
        row = (rows.head(1) if small_rows.is_empty() else small_rows).row(-1, named=True)
        confirmation = ""
        if row["confirmed"] is not None:
            confirmation = (
                " Of the pairs that are significant with all topics,"
                f" {format_percent(row['confirmed'])} are also significant in a sample on average."
            )
        return (
            f"{format_prefix(self.measure)}Kendall's tau of the orders of systems by samples of"
            f" {row['topics']:,} topics and by all {self.n_topics:,} topics is {row['tau']:.2f} on"
            f" average ({100 * self.confidence:g}% of samples: {row['tau low']:.2f} to"
            f" {row['tau high']:.2f}); the first system is the same in"
            f" {format_percent(row['same first'])} of the samples.{confirmation}",
            f"Sample: {inflect(self.repeats, 'draw')} from one set of topics. Draws overlap; orders"
            " of systems on different topics agree less.",
        )

    def heading(self) -> list[str]:
        preposition = "with" if self.replace else "without"
        return [
            f"{format_prefix(self.measure)}{len(self.systems)} systems,"
            f" {inflect(self.n_topics, 'topic')}; samples {preposition} replacement,"
            f" {inflect(self.repeats, 'repeat')}, seed {self.seed}; {self.n_significant:,} of"
            f" {inflect(self.n_pairs, 'pair')} differ significantly on all topics, by {self.test}"
            f" with {self.correction}, alpha {self.alpha:g}; {100 * self.confidence:g}% intervals"
        ]

    def facts(self) -> dict[str, Any]:
        return {**super().facts(), "systems": len(self.systems)}


def _summarise_size(
    samples: pl.DataFrame, ranks: Ints, all_topics: AllTopics, confidence: float
) -> dict[str, Any]:
    """Return the row of the table `stability` for the samples of a size."""
    row: dict[str, Any] = {
        "topics": samples["topics"][0],
        "samples": len(samples),
        "untested": int((~samples["tested"]).sum()),
    }
    for name in TAUS:
        tau = samples[name].fill_nan(None).drop_nulls().to_numpy()
        low, high = compute_quantile_bounds(tau, confidence) if tau.size else (None, None)
        row |= {name: tau.mean() if tau.size else None, f"{name} low": low, f"{name} high": high}
    counts = samples["significant", "confirmed", "contradicted"].to_numpy().T
    n_rejected, n_confirmed, n_contradicted = counts
    low, high = compute_quantile_bounds(n_rejected, confidence)
    n_significant = int(np.count_nonzero(all_topics.signs))
    is_best = all_topics.ranks == all_topics.ranks.min()
    return {
        **row,
        "same first": _divide_first_places(ranks)[:, is_best].sum(axis=1).mean(),
        "significant": n_rejected.mean(),
        "significant median": np.median(n_rejected),
        "significant low": low,
        "significant high": high,
        "confirmed": n_confirmed.mean() / n_significant if n_significant else None,
        "contradicted": n_contradicted.mean(),
    }


def compute_quantile_bounds(samples: Any, confidence: float) -> tuple[Floats, Floats]:
    """Return the quantiles (1 - confidence) / 2 and (1 + confidence) / 2 of each column."""
    tail = (1 - confidence) / 2
    low, high = np.quantile(samples, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return low.astype(np.float64), high.astype(np.float64)


def _divide_first_places(ranks: Ints) -> Floats:
    """Divide the first place of each sample among the tied systems; shape (samples, systems)."""
    is_first = ranks == ranks.min(axis=1, keepdims=True)
    return np.asarray(is_first / is_first.sum(axis=1, keepdims=True))


def compare_top(ranks: Ints, all_ranks: Ints, k: int) -> dict[str, Any]:
    """Compare the top k systems of the samples with the top k systems on all topics."""
    is_top_in_sample = ranks <= np.sort(ranks, axis=1)[:, k - 1 : k]
    is_top = all_ranks <= np.sort(all_ranks)[k - 1]
    n_common = (is_top_in_sample & is_top).sum(axis=1)
    overlap = n_common / np.maximum(is_top_in_sample.sum(axis=1), is_top.sum())
    return {"top": k, "same": float((overlap == 1).mean()), "overlap": float(overlap.mean())}


MAX_TOPICS = 100_000
"""Maximum number of topics in a sample with replacement."""

TOP = (1, 3, 5, 10)
"""Default numbers of top systems."""


@add_work_options
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
    **work: Unpack[WorkOptions],
) -> Stability:
    """Compare results on samples of the topics with the result on all topics.

    Parameters
    ----------
    scores
        As for :func:`cranfield.meta.topic_studies.extrapolation.generalizability`.
    sizes
        Sizes of the topic samples, 2 or more; by default tenths of the number of topics. Without
        replacement they must be below the number of topics.
    repeats
        Number of samples for each size, and for the confidence intervals of ranks.
    replace
        Whether to draw topics with replacement; required for sizes that are not below the number of
        topics. Tests then count a topic drawn twice as two topics, so that slightly more pairs are
        significant than with distinct topics.
    test
        Significance test for pairs of systems, such as `t` or `friedman`. The names are those of
        :func:`cranfield.compare`. Analyses of variance with Tukey's HSD are fast; other tests call
        `compare` for each sample.
    correction, alpha
        As for :func:`cranfield.compare`.
    resamples
        Number of resamples, for tests and corrections that resample.
    top
        Numbers k for which the sets of the top k systems are compared; by default those of 1, 3, 5
        and 10 that are below the number of systems.
    confidence
        Proportion of samples within the bounds of the tables, between 0 and 1.
    missing
        How to treat topics without a score of a system: `error` (default), `drop` or `zero`.
    seed
        Sample r of size n depends on the seed, n and r only.
    jobs, backend, folder, progress
        As for :func:`cranfield.meta.run_parts`.

    Raises
    ------
    CranfieldError
        If scores are missing, infinite or too few.
    PolicyError
        For an option that is unknown or out of range, or scores by shard.

    Notes
    -----
    Samples without replacement share topics with the complete set, so that tau approaches 1 by
    construction as the size approaches the number of topics. The table shows to what extent fewer
    topics would have reproduced *this* result. Its closeness to the true order is estimated by
    :func:`cranfield.meta.topic_studies.extrapolation.extrapolate` and
    :func:`cranfield.meta.topic_studies.extrapolation.generalizability`.

    Systems whose means differ by no more than rounding are tied. Ranks are then mid-ranks, a first
    place is divided among tied systems, and the top k systems are all systems whose mean is not
    worse than the k-th best mean.

    The intervals of ranks are bootstrap percentile intervals (Hall and Miller 2009), separate for
    each system. If many systems are nearly equal, the intervals are too narrow to contain the true
    rank with the nominal probability; significant differences of pairs are more reliable.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:6], covid.qrels, "nDCG@20")
    >>> study = stability(ev["nDCG@20"], sizes=[10, 25], repeats=100)
    >>> study
    Stability(nDCG@20: 6 systems, 50 topics; samples without replacement, 100 repeats, seed 0; ...)
    >>> study.by_size["tau"].round(2).to_list()
    [0.58, 0.77]
    """
    call = check_arguments(stability, locals())
    complete_scores = prepare_topic_scores(scores, missing, test)
    study_scores, values = complete_scores.scores, complete_scores.topic_scores
    (n_topics, n_systems), systems = values.shape, study_scores.systems
    parsed_sizes = _parse_sizes(sizes, n_topics, replace)
    top_sizes = [k for k in TOP if k < n_systems]
    if top is not None:
        top_sizes = sorted(check_integers("top", top, n_systems))
    choice = TestChoice(test, correction, alpha, resamples=resamples)
    decisions = choice(study_scores, seed=seed)
    means = values.mean(axis=0)
    all_ranks = _rank_means(means[None], values, study_scores.lower_is_better)[0]
    all_topics = AllTopics(
        values=values,
        lower_is_better=study_scores.lower_is_better,
        choice=choice,
        with_replacement=bool(replace),
        seed=int(seed),
        ranks=all_ranks,
        signs=np.where(decisions.is_significant, decisions.order, 0).astype(np.int64),
    )
    rows = run_parts(
        _draw_samples,
        all_topics,
        {
            **split_repeats([0], repeats, SAMPLES_PER_PART, "ranks-{1:07d}-{2:07d}"),
            **split_repeats(parsed_sizes, repeats, SAMPLES_PER_PART, "size-{:05d}-{:07d}-{:07d}"),
        },
        settings={
            "study": "stability",
            "scores": hash_scores(study_scores),
            "lower is better": study_scores.lower_is_better,
            "test": choice.label,
            "alpha": float(alpha),
            "resamples": int(resamples),
            "replace": bool(replace),
            "seed": int(seed),
        },
        **work,
    )
    summaries, top_rows, firsts = [], [], []
    for size in parsed_sizes:
        size_rows = rows.filter(pl.col("topics") == size)
        ranks = size_rows["ranks"].to_numpy()
        summaries.append(_summarise_size(size_rows, ranks, all_topics, confidence))
        top_rows += [{"topics": size, **compare_top(ranks, all_ranks, k)} for k in top_sizes]
        first_places = _divide_first_places(ranks).mean(axis=0)
        columns = {"topics": [size] * n_systems, "system": systems, "first": first_places}
        first_rows = pl.DataFrame(columns).filter(pl.col("first") > 0)
        firsts.append(first_rows.sort("first", descending=True, maintain_order=True))
    bootstrap_ranks = rows.filter(pl.col("topics") == 0)["ranks"].to_numpy()
    low, high = compute_quantile_bounds(bootstrap_ranks, confidence)
    rank_columns = {
        "system": systems,
        "mean": means,
        "rank": all_ranks / 2,
        "low": low / 2,
        "high": high / 2,
        "best": _divide_first_places(bootstrap_ranks).mean(axis=0),
    }
    samples = rows.filter(pl.col("topics") > 0).drop("ranks")
    nullable_columns = [f"{name}{end}" for name in TAUS for end in ("", " low", " high")]
    types = dict.fromkeys([*nullable_columns, "confirmed"], pl.Float64)
    # The table of top systems may be empty.
    top_schema = {"topics": pl.Int64, "top": pl.Int64, "same": pl.Float64, "overlap": pl.Float64}
    return Stability(
        call,
        measure=study_scores.measure,
        systems=systems,
        n_topics=n_topics,
        test=choice.test,
        correction=choice.correction,
        n_significant=int(decisions.is_significant.sum()),
        n_pairs=decisions.is_significant.size,
        by_size=pl.DataFrame(summaries, schema_overrides=types),
        top=pl.DataFrame(top_rows, top_schema),
        firsts=pl.concat(firsts),
        ranks=pl.DataFrame(rank_columns).sort("rank", maintain_order=True),
        samples=samples.with_columns(pl.col(*TAUS).fill_nan(None)),
        notes=complete_scores.notes,
    )


def _parse_sizes(sizes: Iterable[int] | None, n_topics: int, replace: bool) -> list[int]:
    max_size = MAX_TOPICS if replace else n_topics - 1
    if sizes is None:
        if max_size < 2:
            raise CranfieldError(f"samples of topics require at least 3 topics, got {n_topics}")
        tenths = {max(2, round(n_topics * k / 10)) for k in range(1, 11)}
        return sorted(size for size in tenths if size <= max_size)
    parsed_sizes = sorted(check_topic_sizes(sizes, MAX_TOPICS))
    if parsed_sizes[-1] > max_size:
        raise PolicyError(
            f"sizes must be below {n_topics:,}, the number of topics, got {parsed_sizes[-1]:,}; use"
            " replace=True for larger samples"
        )
    return parsed_sizes
