"""Type I error rates and power of tests, on simulated scores with known true means."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, ClassVar, Unpack

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import PolicyError, check_list
from cranfield.base.kinds import OneOf, check_arguments
from cranfield.base.proportions import compute_clopper_pearson_intervals
from cranfield.base.streams import make_stream
from cranfield.base.text import format_names, format_prefix, inflect
from cranfield.meta.study import Study, describe_extremes, find_names, format_percent
from cranfield.meta.study_options import Repeats, Resamples, Seed, Sizes
from cranfield.meta.test_studies.fast_tests import (
    PairDecisions,
    StudyInputs,
    TestChoice,
    check_topic_sizes,
    compute_decisions,
    explain_tests,
    label_scores,
    read_inputs,
)
from cranfield.meta.work import WorkOptions, add_work_options, run_parts, split_repeats
from cranfield.result import Column, Columns
from cranfield.scores import Scores
from cranfield.significance.differences import pair_all
from cranfield.significance.simulation import Resampled, Simulator, fit_simulator

MAX_TOPICS = 100_000
"""Maximum number of topics of a simulated data set."""

_TEST_COLUMNS = {
    "size": Column("Number of topics.", key=True),
    "test": Column("Test and correction.", key=True),
}

Population = Resampled | Simulator

ScoreSampler = Callable[[TestChoice, int, int], "Scores | Floats"]
"""Function that draws scores for a test, a size and a repeat; all tests have the same topics."""


def _draw_swapped_scores(
    inputs: StudyInputs, members: Indices, seed: int, test: TestChoice, size: int, repeat: int
) -> Scores:
    """Sample real topics, and permute the scores of the systems on each topic."""
    rng = make_stream(seed, size, repeat)
    topics = np.sort(rng.permutation(len(inputs.scores.topics))[:size])
    order = rng.permuted(np.tile(np.arange(len(members)), (size, 1)), axis=1)
    scores = inputs.select(test, topics, members)
    return replace(scores, values=scores.values[np.arange(size)[:, None], order])


def _draw_population_scores(
    populations: Mapping[bool, Population], seed: int, test: TestChoice, size: int, repeat: int
) -> Scores | Floats:
    values = populations[test.uses_shards].draw(size, seed, size, repeat)
    return label_scores(values) if np.isnan(values).any() else values


def _make_populations(inputs: StudyInputs, kind: str) -> dict[bool, Population]:
    """Return the populations of topics, by whether tests require scores by shard."""
    [members] = inputs.groups.values()
    populations: dict[bool, Population] = {}
    for uses_shards, test in {test.uses_shards: test for test in reversed(inputs.tests)}.items():
        scores = inputs.select(test, None, members)
        # Impute or exclude missing scores before means are shifted.
        if test.missing in ("drop", "zero"):
            scores = scores.complete(test.missing)[0]
        if kind != "simulated":
            populations[uses_shards] = Resampled(scores.values)
        elif uses_shards:
            raise PolicyError(f"{test.test} requires scores by shard, which cannot be simulated")
        else:
            # Parametric copulas would make differences more symmetric than in the real scores.
            populations[uses_shards] = fit_simulator(scores, copula="empirical")
    return populations


RejectionCounter = Callable[[TestChoice, PairDecisions], "Iterable[tuple[int, ...]]"]
"""Function that counts the rejections among decisions, in one or more rows."""


def _compute_block(
    shared: tuple[StudyInputs, ScoreSampler, int, RejectionCounter, Sequence[str]],
    task: tuple[int, int, int],
) -> pl.DataFrame:
    inputs, draw_scores, seed, count_rejections, columns = shared
    size, start, stop = task
    rows = []
    for repeat in range(start, stop):
        # Seed of randomised tests, independent of the seed of their topics.
        test_seed = int(make_stream(seed, size, repeat, 1).integers(2**31))
        for test in inputs.tests:
            scores = draw_scores(test, size, repeat)
            decisions, is_computed = compute_decisions(test, scores, test_seed)
            rows += [
                (size, repeat, test.label, *row, int(not is_computed))
                for row in count_rejections(test, decisions)
            ]
    return pl.DataFrame(rows, schema=["size", "repeat", "test", *columns, "failed"], orient="row")


NULLS = {
    "centred": "made equal by centring their scores and resampling topics",
    "simulated": "made equal by simulation from fitted distributions",
    "swapped": "made equal by swapping their scores within topics",
}
"""Methods that make systems equal, with their descriptions in headings."""

CONFIDENCE = 0.95
"""Confidence level of the interval of the family-wise error rate."""


class FalsePositives(Study):
    """Rates of false positives of tests among equal systems.

    Attributes
    ----------
    measure, n_systems, n_topics
        Text form of the measure, and numbers of systems and topics.
    tests, sizes
        Labels of the tests, and sample sizes (numbers of topics).
    by_repeat
        Table with a row for each `size`, `repeat` and `test`: the number of `pairs`, the number of
        `rejected` pairs, and `failed`, 1 where the test could not be computed.
    """

    name = "false-positives"
    reference: ClassVar[str] = "Ferro and Sanderson (2022)"
    table_attributes: ClassVar[Sequence[str]] = ("summary",)
    columns: ClassVar[Mapping[str, Columns]] = {
        "false positives": {
            **_TEST_COLUMNS,
            "per pair": Column(
                "Proportion of rejected pairs; about alpha for a valid test without correction."
            ),
            "FWER": Column(
                "Family-wise error rate: proportion of repeats with at least one rejected"
                " pair; at most about alpha with a valid correction for the FWER."
            ),
            "low": Column("Lower bound of the exact (Clopper-Pearson) 95% interval of `FWER`."),
            "high": Column("Upper bound of the same confidence interval as `low`."),
            "failed": Column("Number of repeats excluded because the test could not be computed."),
        }
    }

    by_repeat: pl.DataFrame

    def summary(self) -> pl.DataFrame:
        """Return the Type I error rates, a row for each size and test."""
        is_computed = pl.col("failed") == 0
        rejected = pl.col("rejected").filter(is_computed)
        pairs = pl.col("pairs").filter(is_computed)
        table = self.by_repeat.group_by("size", "test", maintain_order=True).agg(
            (rejected.sum() / pairs.sum()).alias("per pair"),
            (rejected > 0).mean().alias("FWER"),
            (rejected > 0).sum().alias("count"),
            is_computed.sum().alias("computed"),
            pl.col("failed").sum(),
        )
        n_rejected, n_computed = (table[name].to_numpy() for name in ("count", "computed"))
        interval = compute_clopper_pearson_intervals(n_rejected, n_computed, CONFIDENCE)
        low, high = (pl.Series(bounds).fill_nan(None) for bounds in interval)
        return table.with_columns(low=low, high=high).select(*self.columns["false positives"])

    @property
    def verdict(self) -> tuple[str, ...]:
        size = max(self.sizes)
        rows = self.summary().filter(pl.col("size") == size).drop_nulls("FWER")
        if rows.is_empty():
            return ()
        max_rate: Any = rows["FWER"].max()
        worst_names = format_names(find_names(rows, "FWER", max_rate, "test"), "test")
        tests_above = rows.filter(pl.col("low") > self.alpha)["test"].to_list()
        subject = format_names(tests_above, "test") if tests_above else "No test"
        return (
            f"If no systems differ, the family-wise error rate on {size} topics is highest for"
            f" {worst_names}: {format_percent(max_rate)}.",
            f"{subject} {'have' if len(tests_above) > 1 else 'has'} an error rate"
            f" significantly above {self.alpha:g} (95% confidence interval).",
            f"Sample: {inflect(self.repeats, 'repeat')}.",
        )

    def heading(self) -> list[str]:
        return [
            f"{format_prefix(self.measure)}false positives among"
            f" {inflect(self.n_systems, 'system')}"
            f" {NULLS[self.null]}, {inflect(self.repeats, 'repeat')}",
            f"alpha {self.alpha:g}, seed {self.seed}",
            *explain_tests(self.tests),
        ]


@add_work_options
def false_positives(
    scores: Any,
    tests: Iterable[Any] = ("anova-1", "anova-2"),
    *,
    by_shard: Any = None,
    sizes: Sizes = None,
    repeats: Repeats = 1000,
    seed: Seed = 0,
    systems: Sequence[str] | None = None,
    alpha: float = 0.05,
    missing: str | None = None,
    resamples: Resamples = 1000,
    null: Annotated[str, OneOf(tuple(NULLS))] = "centred",
    **work: Unpack[WorkOptions],
) -> FalsePositives:
    """Estimate the Type I error rates of tests, with systems that are known to be equal.

    Rejections by tests of means are Type I errors, as means are made equal in one of three ways:

    - `centred`: a constant is added to the scores of each system so that all means are equal, and
      topics are drawn with replacement. Variances, correlations and the shapes of the distributions
      of differences do not change.
    - `simulated`: new topics are drawn from fitted distributions with equal means, as described for
      :func:`cranfield.significance.fit_simulator`, with the empirical copula. Scores remain
      possible values of the measure.
    - `swapped`: on each topic independently, the scores of the systems are permuted at random
      (Ferro and Sanderson 2022). This also gives all systems the same variance, and all pairs the
      same correlation, so that Type I errors of tests that assume equal variances, such as Tukey's
      HSD, are not detected. The shards of a topic are permuted jointly.

    Parameters
    ----------
    scores, tests, by_shard, systems, alpha, missing, resamples
        As for :func:`split_topics`, which raises the same errors.
    sizes
        Numbers of topics, by default the number in `scores`; swapped topics are drawn without
        replacement.
    repeats
        Number of draws of topics.
    null
        How to simulate equal systems: scores `centred`, `simulated` (not with scores by shard) or
        `swapped`.
    seed, jobs, backend, folder, progress
        As for :func:`split_topics`.

    Notes
    -----
    Consistency on other topics is not correctness (Ferro and Sanderson 2022, section 3): a fake
    test that rejects for every difference is consistent too. A test that treats the interaction of
    topic and system as fixed, such as `anova-3`, concerns only the topics of the scores; it also
    rejects for differences that do not occur on other topics.

    Tests on ranks and signs, such as `sign`, `signed-rank` and `friedman`, do not test means: only
    `swapped` makes their null hypotheses true, and under the other nulls their rejections may be
    correct. If two runs have equal scores on most topics, `centred` makes them differ by a constant
    on these topics, whereas with a real measure they would remain equal.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> scores = cf.evaluate(covid.runs[::4], covid.qrels, "nDCG@20")["nDCG@20"]
    >>> study = false_positives(scores, ["anova-2+tukey", "t+none"], repeats=200)
    >>> study.summary().select("test", pl.col("per pair").round(6), "FWER").rows()
    [('anova-2', 0.005778, 0.125), ('t+none', 0.055333, 0.58)]
    """
    call = check_arguments(false_positives, locals())
    inputs = read_inputs(scores, by_shard, tests, systems, None, alpha, missing, resamples)
    n_topics = len(inputs.scores.topics)
    check_null(inputs.tests, null)
    max_topics = n_topics if null == "swapped" else MAX_TOPICS
    parsed_sizes = check_topic_sizes([n_topics] if sizes is None else sizes, max_topics)
    [members] = inputs.groups.values()
    draw_scores: ScoreSampler = partial(_draw_swapped_scores, inputs, members, seed)
    if null != "swapped":
        populations = _make_populations(inputs, null).items()
        equal_populations = {key: p.with_means(p.means.mean()) for key, p in populations}
        draw_scores = partial(_draw_population_scores, equal_populations, seed)
    table = run_parts(
        _compute_block,
        (inputs, draw_scores, seed, _count_significant, ("rejected", "pairs")),
        split_repeats(parsed_sizes, repeats, 25),
        settings={"study": "false positives", "null": null, **inputs.make_settings(seed)},
        **work,
    )
    return FalsePositives(
        call,
        measure=inputs.scores.measure,
        tests=inputs.labels,
        sizes=parsed_sizes,
        n_systems=len(members),
        n_topics=n_topics,
        by_repeat=table,
        notes=inputs.notes,
    )


def check_null(tests: Iterable[TestChoice], null: str) -> None:
    """Raise an error if a test does not support the scores of a null hypothesis."""
    bounded_tests = [test.label for test in tests if test.info.requires_bounded_scores]
    if bounded_tests and null == "centred":
        raise PolicyError(
            f"{bounded_tests[0]} requires scores from 0 to 1, but the null 'centred' shifts scores;"
            " use 'simulated' or 'swapped'"
        )


def _count_significant(test: TestChoice, decisions: PairDecisions) -> list[tuple[int, ...]]:
    return [(int(decisions.is_significant.sum()), decisions.is_significant.size)]


POPULATIONS = ("simulated", "resampled")
"""Sources of new topics: fitted distributions, or the real topics with replacement."""

EDGES = (0.01, 0.02, 0.05, 0.1)
"""Bounds of the ranges of true differences, besides 0 and infinity."""


class PowerOfTests(Study):
    """Power and error rates of tests, for known true differences.

    Attributes
    ----------
    measure, n_systems
        Text form of the measure, and number of systems.
    tests, sizes
        Labels of the tests, and sample sizes (numbers of topics).
    by_repeat
        Table with a row for each `size`, `repeat`, `test` and `range` of true differences (0 for
        pairs with equal true means): the number of `pairs`; `right`, the number of pairs rejected
        in the right direction; `wrong`, the number of pairs rejected in the wrong direction or
        without a true difference; `failed`, 1 where the test could not be computed, which counts as
        no rejection.
    """

    name = "power-of-tests"
    reference: ClassVar[str] = "Urbano, Lima and Hanjalic (2019b)"
    table_attributes: ClassVar[Sequence[str]] = ("summary", "summarise_errors")
    columns: ClassVar[Mapping[str, Columns]] = {
        "power": {
            **_TEST_COLUMNS,
            "from": Column("Lower end of the range of true differences (exclusive)."),
            "to": Column("Upper end of this range (inclusive); may be infinite.", key=True),
            "pairs": Column("Number of pairs of systems in the range."),
            "power": Column(
                "Power: proportion of pairs rejected in the right direction, over all repeats."
            ),
            "reversed": Column(
                "Proportion of pairs rejected in the wrong direction (Type III errors)."
            ),
        },
        "errors": {
            **_TEST_COLUMNS,
            "power": Column("Power for all pairs with a true difference; NaN without such pairs."),
            "any reversed": Column(
                "Proportion of repeats in which a pair was rejected in the wrong direction."
            ),
            "any equal": Column(
                "Proportion of repeats in which a pair with equal true means was rejected."
            ),
            "failed": Column("Number of repeats in which the test could not be computed."),
        },
    }

    by_repeat: pl.DataFrame

    def summary(self) -> pl.DataFrame:
        """Return the power by size of the true difference; a failed test rejects nothing."""
        bounds = pl.Series((0.0, *self.edges, np.inf), dtype=pl.Float64)
        range_end, pairs = pl.col("range"), pl.col("pairs").sum()
        return (
            self.by_repeat.filter(range_end > 0)
            .group_by("size", "test", "range", maintain_order=True)
            .agg(
                pl.col("pairs").first(),
                (pl.col("right").sum() / pairs).alias("power"),
                (pl.col("wrong").sum() / pairs).alias("reversed"),
            )
            .with_columns(
                pl.lit(bounds).gather(range_end - 1).alias("from"),
                pl.lit(bounds).gather(range_end).alias("to"),
            )
            .select(*self.columns["power"])
        )

    def summarise_errors(self) -> pl.DataFrame:
        """Return the power over all pairs, and the proportions of repeats with an error."""
        differs = pl.col("range") > 0
        by_repeat = self.by_repeat.group_by("size", "test", "repeat", maintain_order=True).agg(
            pl.col("right").sum(),
            pl.col("pairs").filter(differs).sum(),
            pl.col("wrong").filter(differs).sum().alias("reversed"),
            pl.col("wrong").filter(~differs).sum().alias("equal"),
            pl.col("failed").max(),
        )
        return by_repeat.group_by("size", "test", maintain_order=True).agg(
            (pl.col("right").sum() / pl.col("pairs").sum()).alias("power"),
            (pl.col("reversed") > 0).mean().alias("any reversed"),
            (pl.col("equal") > 0).mean().alias("any equal"),
            pl.col("failed").sum(),
        )

    @property
    def verdict(self) -> tuple[str, ...]:
        size = max(self.sizes)
        rows = self.summarise_errors().filter(pl.col("size") == size).drop_nans("power")
        if rows.is_empty():
            return ()

        def describe(row: Mapping[str, Any]) -> tuple[str, str]:
            power = format_percent(row["power"])
            return f"{power} of the pairs", power

        text = describe_extremes(rows, "power", "true differences detected", describe, "test")
        max_rate: Any = rows["any reversed"].max()
        names = format_names(find_names(rows, "any reversed", max_rate, "test"), "test")
        suffix = f" with {names}, the highest rate" if len(rows) > 1 else ""
        return (
            f"{format_prefix(self.measure)}on {inflect(size, 'topic')} {text[0].lower()}{text[1:]}",
            f"A truly worse system is significantly better in {format_percent(max_rate)} of the"
            f" repeats{suffix}."
            if max_rate
            else "In no repeat is a truly worse system significantly better.",
            f"Sample: {inflect(self.repeats, 'repeat')} with {self.population} topics.",
        )

    def heading(self) -> list[str]:
        return [
            f"{format_prefix(self.measure)}power of tests: {inflect(self.n_systems, 'system')},"
            f" {self.population} topics, {inflect(self.repeats, 'repeat')}",
            f"alpha {self.alpha:g}, seed {self.seed}",
            *explain_tests(self.tests),
        ]


@add_work_options
def power_of_tests(
    scores: Any,
    tests: Iterable[Any] = ("anova-2", "t"),
    *,
    population: Annotated[str, OneOf(POPULATIONS)] = "simulated",
    edges: Sequence[float] = EDGES,
    sizes: Sizes = None,
    repeats: Repeats = 1000,
    seed: Seed = 0,
    by_shard: Any = None,
    systems: Sequence[str] | None = None,
    alpha: float = 0.05,
    missing: str | None = None,
    resamples: Resamples = 1000,
    **work: Unpack[WorkOptions],
) -> PowerOfTests:
    """Estimate the power of tests, for known true differences.

    New topics are drawn from a population in which the true mean of each system is its mean on the
    real topics. Choose the most powerful of the tests whose Type I error rates, estimated by
    :func:`false_positives`, do not exceed alpha (Urbano, Lima and Hanjalic 2019).

    The means on the real topics are estimates, and vary more than the unknown means of the systems:
    prefer the power by size of the difference to the power for all pairs.

    Parameters
    ----------
    scores, tests, by_shard, systems, alpha, missing, resamples
        As for :func:`split_topics`, which raises the same errors.
    population
        Source of the sampled topics: distributions fitted to the scores (`simulated`), or the real
        topics, with replacement (`resampled`, required for scores by shard). Distributions are
        fitted by :func:`cranfield.significance.fit_simulator`, with the empirical copula.
    edges
        Bounds of the ranges of true differences, above 0 and ascending.
    sizes
        Numbers of topics, by default the number in `scores`.
    repeats
        Number of draws of topics.
    seed, jobs, backend, folder, progress
        As for :func:`split_topics`.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> scores = cf.evaluate(covid.runs[::4], covid.qrels, "nDCG@20")["nDCG@20"]
    >>> study = power_of_tests(scores, ["anova-2+tukey", "t+holm"], sizes=[50], repeats=50)
    >>> study.summarise_errors().select("test", pl.col("power").round(3), "any reversed").rows()
    [('anova-2', 0.726, 0.0), ('t', 0.815, 0.0)]
    """
    check_list("edges", edges)
    call = check_arguments(power_of_tests, locals())
    inputs = read_inputs(scores, by_shard, tests, systems, None, alpha, missing, resamples)
    parsed_edges = tuple(float(edge) for edge in edges)
    if not parsed_edges or not (np.diff((0.0, *parsed_edges)) > 0).all():
        raise PolicyError(f"edges must be above 0 and ascending, got {list(parsed_edges)}")
    n_topics = len(inputs.scores.topics)
    parsed_sizes = check_topic_sizes([n_topics] if sizes is None else sizes, MAX_TOPICS)
    populations = _make_populations(inputs, population)
    true_differences = {
        # `compute_mean_differences` sets differences within rounding to 0.
        uses_shards: pair_all(p.means[None, :]).compute_mean_differences(p.means)
        for uses_shards, p in populations.items()
    }
    count_rejections = partial(_count_by_range, true_differences, parsed_edges)
    draw_scores = partial(_draw_population_scores, populations, seed)
    settings = {"study": "power of tests", "population": population, "edges": list(parsed_edges)}
    table = run_parts(
        _compute_block,
        (inputs, draw_scores, seed, count_rejections, ("range", "pairs", "right", "wrong")),
        split_repeats(parsed_sizes, repeats, 25),
        settings={**settings, **inputs.make_settings(seed)},
        **work,
    )
    [members] = inputs.groups.values()
    return PowerOfTests(
        call,
        measure=inputs.scores.measure,
        tests=inputs.labels,
        sizes=parsed_sizes,
        n_systems=len(members),
        edges=parsed_edges,
        by_repeat=table,
        notes=inputs.notes,
    )


def _count_by_range(
    true_differences: Mapping[bool, Floats],
    edges: Sequence[float],
    test: TestChoice,
    decisions: PairDecisions,
) -> list[tuple[int, ...]]:
    """Count pairs and their right and wrong rejections by range of the true difference."""
    differences = true_differences[test.uses_shards]
    is_right = decisions.is_significant & (decisions.order == np.sign(differences))
    is_wrong = decisions.is_significant & ~is_right
    bins = np.where(differences == 0, 0, 1 + np.searchsorted(edges, np.abs(differences)))
    counts = [
        np.bincount(bins, mask, len(edges) + 2)
        for mask in (np.ones_like(is_right), is_right, is_wrong)
    ]
    return [(k, *map(int, row)) for k, row in enumerate(zip(*counts, strict=True)) if row[0]]
