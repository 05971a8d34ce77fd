"""Study of the consistency of tests on disjoint sets of topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Unpack

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, as_numbers, check_choice, check_list
from cranfield.base.kinds import check_arguments
from cranfield.base.streams import make_stream
from cranfield.base.text import format_names, inflect
from cranfield.meta.collection_studies.rankings import Teams
from cranfield.meta.study import Study, format_percent
from cranfield.meta.study_options import Repeats, Resamples, Seed, Sizes
from cranfield.meta.test_studies.fast_tests import (
    PairDecisions,
    StudyInputs,
    compute_decisions,
    draw_topic_sets,
    explain_tests,
    is_bound,
    read_inputs,
)
from cranfield.meta.work import WorkOptions, add_work_options, run_parts, split_repeats
from cranfield.result import Column, Columns, format_table
from cranfield.tabular import Table, tabulate_frame

COUNTS = ("AA", "AD", "MA", "MD")
"""Active agreements and disagreements, mixed agreements and disagreements."""


def agreement(first: Sequence[PairDecisions], second: Sequence[PairDecisions]) -> dict[str, Floats]:
    r"""Count the agreements of each of the first tests with each of the second tests.

    Parameters
    ----------
    first, second
        Decisions of several tests on the same pairs of systems: `first` on one set of topics,
        `second` on the same or another set of topics.

    Returns
    -------
    dict of arrays
        Each of shape (first, second):

        - `significant first`, `significant second`: numbers of significant pairs by each test;
        - `significant both`: pairs that are significant by both, in any direction;
        - `AA`, active agreements: significant by both, in the same direction;
        - `AD`, active disagreements: significant by both, in opposite directions;
        - `MA`, mixed agreements: significant by one, and in the same order by the other;
        - `MD`, mixed disagreements: significant by one, and not in the same order by the other;
        - `neither`: pairs that are significant by neither;
        - `jaccard`, `overlap`: Jaccard similarity and overlap coefficient of the two sets of
          significant pairs, NaN where the divisor is 0;
        - `bias`: see :func:`publication_bias`;
        - `tau`: Kendall's tau-b of the two orders of systems.

    Raises
    ------
    PolicyError
        For an empty list, and decisions on different pairs.

    Notes
    -----
    .. math:: J = \frac{|S_1 \cap S_2|}{|S_1 \cup S_2|}, \quad
        O = \frac{|S_1 \cap S_2|}{\min(|S_1|, |S_2|)}

    Source: Ferro and Sanderson (2022), section 3.3. Tests cannot agree on the order of two systems
    with equal means. AA + AD + MA + MD + neither is the number of all pairs.

    Examples
    --------
    >>> first = PairDecisions(np.array([1, 1, -1], np.int8), np.array([True, True, False]))
    >>> second = PairDecisions(np.array([1, -1, -1], np.int8), np.array([True, False, False]))
    >>> counts = agreement([first], [second])
    >>> [int(counts[name][0, 0]) for name in ("AA", "AD", "MA", "MD", "neither")]
    [1, 0, 0, 1, 1]
    """
    check_list("first", first)
    check_list("second", second)
    groups = [list(first), list(second)]
    if not all(groups):
        raise PolicyError(
            "expected the result of at least one test in `first` and in `second`, got none"
        )
    pair_counts = {decisions.order.size for group in groups for decisions in group}
    if len(pair_counts) > 1:
        counts_text = f"{min(pair_counts)} and {max(pair_counts)} pairs"
        raise PolicyError(f"decisions must be on the same pairs, got {counts_text}")
    # Counts are sums of products of 0, 1 and -1, which are exact in floating point.
    order1, order2 = (np.array([d.order for d in group], dtype=np.float64) for group in groups)
    is_significant1, is_significant2 = (
        np.array([d.is_significant for d in group], dtype=np.float64) for group in groups
    )
    is_ordered1, is_ordered2 = np.abs(order1), np.abs(order2)
    n_significant1 = is_significant1.sum(axis=1)[:, None]
    n_significant2 = is_significant2.sum(axis=1)[None, :]
    n_both = is_significant1 @ is_significant2.T

    def count_same(mask1: Any, mask2: Any) -> Floats:
        """Count pairs in both sets that have the same order by both tests."""
        products = (mask1 * order1) @ (mask2 * order2).T
        return np.asarray(((mask1 * is_ordered1) @ (mask2 * is_ordered2).T + products) / 2)

    n_agree = count_same(is_significant1, is_significant2)
    n_mixed = count_same(is_significant1, 1.0) + count_same(1.0, is_significant2) - 2 * n_agree
    n_either = n_significant1 + n_significant2 - n_both
    counts = {
        "AA": n_agree,
        "AD": n_both - n_agree,
        "MA": n_mixed,
        "MD": n_significant1 + n_significant2 - 2 * n_both - n_mixed,
    }
    with np.errstate(invalid="ignore", divide="ignore"):
        jaccard = n_both / n_either
        overlap = n_both / np.minimum(n_significant1, n_significant2)
        n_ordered = is_ordered1.sum(axis=1)[:, None] * is_ordered2.sum(axis=1)[None, :]
        tau = (order1 @ order2.T) / np.sqrt(n_ordered)
    return {
        "significant first": np.broadcast_to(n_significant1, n_both.shape),
        "significant second": np.broadcast_to(n_significant2, n_both.shape),
        "significant both": n_both,
        **counts,
        "neither": order1.shape[1] - n_either,
        "jaccard": jaccard,
        "overlap": overlap,
        "tau": tau,
        "bias": publication_bias(**counts),
    }


def publication_bias(AA: Any, AD: Any, MA: Any, MD: Any) -> Any:  # noqa: N803
    r"""Compute the proportion of significant results that other topics would not confirm.

    .. math:: \mathit{Bias} = 1 - \frac{AA}{AA + AD + \frac{MA}{2} + \frac{MD}{2}}

    Source: Ferro and Sanderson (2022), section 5.2.

    Parameters
    ----------
    AA, AD, MA, MD
        Counts, or mean counts, of any shape.

    Returns
    -------
    float or array
        From 0 to 1; NaN if no pair is significant.

    Raises
    ------
    PolicyError
        For counts that are not numbers, and shapes that cannot be broadcast.

    Examples
    --------
    Table 6 of the source, MD3:

    >>> round(100 * publication_bias(4556.6, 5.8, 591.9, 114.2), 1)
    7.3
    """
    counts = [as_numbers(count, name) for count, name in zip((AA, AD, MA, MD), COUNTS, strict=True)]
    try:
        agreements, disagreements, mixed_same, mixed_other = np.broadcast_arrays(*counts)
    except ValueError:
        shapes = ", ".join(str(count.shape) for count in counts)
        raise PolicyError(f"counts must have shapes that can be broadcast, got {shapes}") from None
    with np.errstate(invalid="ignore", divide="ignore"):
        bias = 1 - agreements / (agreements + disagreements + mixed_same / 2 + mixed_other / 2)
    return bias if bias.ndim else float(bias)


KEYS = ("group", "size", "sets", "first", "second")
"""Key columns of the table of agreements."""

AGREEMENTS = {
    "significant first": "number of significant pairs on the first set of topics",
    "significant second": "number of significant pairs on the second set of topics",
    "significant both": "number of pairs that are significant on both sets of topics",
    "AA": "number of active agreements: pairs significant on both sets, in the same direction",
    "AD": "number of active disagreements: pairs significant on both sets, in opposite directions",
    "MA": "number of mixed agreements: pairs significant on one set, with the same order on both",
    "MD": "number of mixed disagreements: pairs significant on one set, not with the same order",
    "neither": "number of pairs that are significant on neither set",
    "jaccard": "Jaccard similarity of the two sets of significant pairs",
    "overlap": "overlap coefficient of the two sets of significant pairs",
    "tau": "Kendall's tau of the two orders of systems",
    "bias": "publication bias: proportion of significant pairs that other topics do not confirm",
}
"""Statistics of :func:`agreement`, with their descriptions."""

PARTIAL_STATISTICS = ("jaccard", "overlap", "bias")
"""Statistics that may be undefined in a repeat, as without significant pairs."""

DECIMALS = {"significant first": 1, "jaccard": 2, "AA": 1, "AD": 1, "MA": 1, "MD": 1, "tau": 2}
"""Statistics that have a table by test and size, with their decimals."""

URBANO_NAMES = {
    "AA": "success",
    "MA": "lack of power",
    "MD": "minor error",
    "AD": "major error",
    "neither": "non-significance",
}
"""Names of the counts of agreements in Urbano, Marrero and Martin (2013)."""

COMPARED_MODELS = {"%MD1": "anova-1", "%MD2": "anova-2"}
"""Baseline tests for active agreements, by the column that has the difference from them."""

MIN_PROPORTION = 0.01
"""Minimum proportion of all pairs that are active agreements, for differences in percent.

Ferro and Sanderson (2022) omit differences "with a small divisor": in tables 4 and 8 the divisors
are at least 1.2% of the pairs in printed differences, and at most 0.4% in omitted ones.
"""


def _declare_statistics() -> dict[str, tuple[str, pl.Expr]]:
    """Return the description and the expression of each statistic over repeats, by column."""
    columns = {}
    for name, description in AGREEMENTS.items():
        values = pl.col(name).filter(pl.col("failed") == 0).drop_nans()
        low, high = (values.quantile(level, "linear") for level in (0.05, 0.95))
        columns["bias mean" if name == "bias" else name] = f"Mean {description}.", values.mean()
        columns[f"{name} sd"] = f"Standard deviation of `{name}` over repeats.", values.std()
        columns[f"{name} low"] = f"5% quantile of `{name}` over repeats.", low
        columns[f"{name} high"] = f"95% quantile of `{name}` over repeats.", high
        if name in PARTIAL_STATISTICS:
            count_description = f"Number of repeats with a defined `{name}`."
            columns[f"defined {name}"] = count_description, values.count()
    return columns


_STATISTICS = _declare_statistics()
_BIAS = "Publication bias by the means of AA, AD, MA and MD; NaN without significant pairs."


class SplitStudy(Study):
    """Agreement of tests, with themselves and with each other, on disjoint topic sets.

    Attributes
    ----------
    measure, tests
        Text form of the measure, and labels of the tests.
    sizes
        Sizes of the topic sets.
    groups, n_topics
        Numbers of systems by group, and number of topics.
    by_repeat
        Table with a row for each `group`, `size`, `repeat`, pair of topic sets (`sets`: `1-2` for
        two disjoint sets, `1-1` and `2-2` for the same set twice), and pair of tests, `first` and
        `second`. It has the statistics of :func:`agreement`, and `failed`, the number of tests that
        could not be computed on these topics; the summary excludes such repeats.
    """

    name = "tests"
    reference: ClassVar[str] = "Ferro and Sanderson (2022)"
    table_attributes: ClassVar[Sequence[str]] = ("summary", "cross_tests")
    columns: ClassVar[Mapping[str, Columns]] = {
        "agreement": {
            "group": Column("Group of systems.", key=True),
            "size": Column("Number of topics of each set.", key=True),
            "sets": Column(
                "The two sets of topics: `1-2`, two disjoint sets; `1-1` and `2-2`, the same set"
                " twice.",
                key=True,
            ),
            "first": Column("Name of the test on the first set.", key=True),
            "second": Column("Name of the test on the second set.", key=True),
            "failed": Column("Number of failed tests; repeats with a failed test are excluded."),
            **{name: Column(description) for name, (description, _) in _STATISTICS.items()},
            "bias": Column(_BIAS),
        },
        "cross": {
            "group": Column("Group of systems.", key=True, display=False),
            "size": Column("Number of topics of each set.", key=True),
            "first": Column("Name of the test on the first set.", key=True),
            "second": Column("Name of the test on the second set.", key=True),
            **{name: Column(f"Mean {AGREEMENTS[name]}.", 1) for name in (*COUNTS, "neither")},
            **{name: Column(f"Mean {AGREEMENTS[name]}.", 2) for name in ("jaccard", "overlap")},
            "bias": Column(_BIAS, decimals=1, percent=True),
            "%MD1": Column(
                "Difference of AA from the AA of one-way ANOVA (MD1) on both sets of topics, in"
                " percent; null if the AA of MD1 is below 1% of all pairs.",
                decimals=1,
            ),
            "%MD2": Column("As `%MD1`, but with two-way ANOVA (MD2).", decimals=1),
        },
    }

    groups: dict[str, int]
    by_repeat: pl.DataFrame

    def summary(self) -> pl.DataFrame:
        """Return means, standard deviations and quantiles over repeats.

        Repeats in which one of the two tests could not be computed are excluded. `jaccard`,
        `overlap` and `bias mean` are averages over the repeats in which they are defined; the
        columns `defined jaccard`, `defined overlap` and `defined bias` have the numbers of these.
        """
        statistics = [expression.alias(name) for name, (_, expression) in _STATISTICS.items()]
        groups = self.by_repeat.group_by(*KEYS, maintain_order=True)
        table = groups.agg(pl.col("failed").sum(), *statistics)
        counts = [table[name].fill_null(np.nan).to_numpy() for name in COUNTS]
        return table.with_columns(pl.Series("bias", publication_bias(*counts)))

    def cross_tests(self) -> pl.DataFrame:
        """Return the agreement of each test on the first set with each test on the second set.

        Source: Ferro and Sanderson (2022), section 3.2. Rows with the same test on both sets have
        the values of tables 2 and 4 to 6; `%MD1` and `%MD2` are the last rows of table 4. Each is
        omitted if its analysis of variance is not one of the tests.
        """
        rows = self.summary().filter(pl.col("sets") == "1-2")
        pairs = pl.sum_horizontal(*COUNTS, "neither", ignore_nulls=False)
        differences = {}
        for column, test in COMPARED_MODELS.items():
            if test in self.tests:
                is_divisor = (pl.col("first") == test) & (pl.col("second") == test)
                divisor, n_pairs = (
                    expression.filter(is_divisor).first().over("group", "size")
                    for expression in (pl.col("AA"), pairs)
                )
                difference = 100 * (pl.col("AA") - divisor) / divisor
                differences[column] = pl.when(divisor >= MIN_PROPORTION * n_pairs).then(difference)
        names = [name for name in self.columns["cross"] if name in rows.columns]
        return rows.select(*names, **differences)

    def tabulate_outcomes(
        self, column: str, *, second: str | None = None, sets: str = "1-2", group: str | None = None
    ) -> pl.DataFrame:
        """Return one column of the summary as a table, a row per test and a column per size.

        Parameters
        ----------
        column
            A column of :meth:`summary`, such as `AA`, `jaccard` or `significant first`;
            `significant` is an alias of `significant first`.
        second
            Test on the second set; by default the test of the row. The sets `1-1` and `2-2` only
            have rows in which it comes later in `tests` than the test on the first set.
        sets, group
            Topic sets: `1-2`, `1-1` or `2-2`; group of systems, by default the first.
        """
        rows = self._select(sets, group)
        column = "significant first" if column == "significant" else column
        check_choice("column", column, rows.columns)
        if second is not None:
            check_choice("test", second, self.tests)
        second_test = pl.col("first") if second is None else pl.lit(second)
        rows = rows.filter(pl.col("second") == second_test)
        return rows.pivot("size", index="first", values=column).rename({"first": "test"})

    def _select(self, sets: str = "1-2", group: str | None = None) -> pl.DataFrame:
        group = next(iter(self.groups)) if group is None else group
        check_choice("group", group, self.groups)
        check_choice("sets", sets, ("1-2", "1-1", "2-2"))
        return self.summary().filter(pl.col("group") == group, pl.col("sets") == sets)

    def summarise_as_urbano(self) -> pl.DataFrame:
        """Return :meth:`summary` with the names of Urbano, Marrero and Martin (2013)."""
        table = self.summary()
        return table.rename({old: new for old, new in URBANO_NAMES.items() if old in table.columns})

    @property
    def verdict(self) -> tuple[str, ...]:
        size = max(self.sizes)
        rows = self._select().filter(pl.col("first") == pl.col("second"), pl.col("size") == size)
        if rows["AA"].null_count() == len(rows):
            return ()
        failed_tests = rows.filter(pl.col("AA").is_null())["first"].to_list()
        # A test with more active disagreements than its level allows is not a candidate.
        is_valid = pl.col("AD") <= self.alpha * pl.col("significant first")
        candidates = rows.filter(is_valid)
        excluded_tests = rows.filter(~is_valid)["first"].to_list()
        max_agreements = candidates["AA"].max()
        descriptions = [
            f"{row['first']} ({row['AA']:.1f} of {row['significant first']:.1f} on the first set)"
            for row in candidates.filter(pl.col("AA") == max_agreements).iter_rows(named=True)
        ]
        sentences = []
        if max_agreements:
            sentences.append(
                f"On two sets of {size} topics, the test with the largest mean number of pairs"
                " significant on both sets in the same direction:"
                f" {format_names(descriptions, 'test')}."
            )
        elif not candidates.is_empty():
            subject = "no test" if len(candidates) == len(rows) else "none of the other tests"
            sentences.append(
                f"On two sets of {size} topics, {subject} has a pair that is significant on both"
                " sets in the same direction."
            )
        reason = (
            f"more than {format_percent(self.alpha)} of their significant pairs are significant in"
            " the opposite direction on the other set"
        )
        reasons = ((excluded_tests, reason), (failed_tests, "no repeat could be computed"))
        sentences += [
            f"Excluded tests: {', '.join(names)}; {why}." for names, why in reasons if names
        ]
        if max_agreements:
            sentences.append(
                f"Sample: {inflect(self.repeats, 'draw')} from"
                f" {inflect(self.n_topics, 'topic')}. Tests with more Type I errors also"
                " have more significant pairs; see the study of Type I errors."
            )
        return tuple(sentences)

    def heading(self) -> list[str]:
        lines = [
            f"{self.measure or 'scores'}: {inflect(self.n_topics, 'topic')}; two disjoint sets of"
            f" {', '.join(map(str, self.sizes))} topics, {inflect(self.repeats, 'repeat')};"
            f" alpha {self.alpha:g}, seed {self.seed}"
        ]
        lines += explain_tests(self.tests)
        if n_failed := self.by_repeat.filter(pl.col("failed") > 0, sets="1-2").height:
            lines.append(
                f"note: excluded {inflect(n_failed, 'repeat')} of pairs of tests that failed"
            )
        return lines

    def facts(self) -> dict[str, Any]:
        options = {"missing": self.missing, "resamples": self.resamples}
        return {**super().facts(), "groups": self.groups, "options": options}

    def tables(self) -> list[Table]:
        tables, summary = [], self.summary()
        for group, systems in self.groups.items():
            group_rows = summary.filter(pl.col("group") == group)
            label = "" if len(self.groups) == 1 else f"{group}: "
            subject = f"{label}of {systems * (systems - 1) // 2:,} pairs of {systems} systems"
            is_diagonal = (pl.col("first") == pl.col("second")) & (pl.col("sets") == "1-2")
            diagonal = group_rows.filter(is_diagonal).rename({"first": "test"})
            for column, decimals in DECIMALS.items():
                title = f"{column}: {self.columns['agreement'][column].about[:-1]}; {subject}"
                tables.append(_make_table_by_size(diagonal, ["test"], column, title, decimals))
            test_labels = [test for test in self.tests if not is_bound(test)]
            # Group by the second test, in the order of tests.
            overlaps = group_rows.filter(
                pl.all_horizontal(pl.col("first", "second").is_in(test_labels)),
                pl.col("sets") == "1-1",
            ).sort(pl.col("second").cast(pl.Enum(self.tests)), maintain_order=True)
            if overlaps.height:
                title = f"Overlap of the significant pairs of two tests on the same set; {subject}"
                tables.append(
                    _make_table_by_size(overlaps, ["first", "second"], "overlap", title, 2)
                )
            max_size, columns = max(self.sizes), self.columns["cross"]
            counts = diagonal.filter(pl.col("size") == max_size).select("test", *COUNTS, "bias")
            title = f"Agreements, disagreements and publication bias, sets of {max_size} topics"
            tables.append(format_table(counts, f"{title}; {subject}", columns))
            tables += self._make_cross_tables(group, subject)
        return tables

    def _make_cross_tables(self, group: str, subject: str) -> list[Table]:
        """Return the tables of agreements of two tests, and of differences in percent."""
        if len(self.tests) < 2:
            return []
        rows, max_size = self.cross_tests().filter(pl.col("group") == group), max(self.sizes)
        title = f"Tests on the first and on the second set, sets of {max_size} topics; {subject}"
        columns = self.columns["cross"]
        tables = [format_table(rows.filter(pl.col("size") == max_size), title, columns)]
        if differences := [column for column in COMPARED_MODELS if column in rows.columns]:
            rows = (
                rows.filter(pl.col("first") == pl.col("second"))
                .rename({"first": "test"})
                .unpivot(differences, index=["test", "size"], variable_name="baseline")
                .filter(pl.col("test") != pl.col("baseline").replace_strict(COMPARED_MODELS))
            )
            title = "Active agreements (AA): difference in percent from MD1 (one-way ANOVA), MD2"
            title += f" (two-way ANOVA); {subject}"
            tables.append(_make_table_by_size(rows, ["test", "baseline"], "value", title, 1))
        return tables


def _make_table_by_size(
    frame: pl.DataFrame, keys: list[str], column: str, title: str, decimals: int
) -> Table:
    """Make a table of one column of the summary, with a column for each size."""
    return tabulate_frame(
        frame.pivot("size", index=keys, values=column), title, left=keys, places=decimals
    )


@add_work_options
def split_topics(
    scores: Any,
    tests: Iterable[Any] = ("anova-1", "anova-2", "anova-2f"),
    *,
    by_shard: Any = None,
    sizes: Sizes = None,
    repeats: Repeats = 100,
    seed: Seed = 0,
    systems: Sequence[str] | None = None,
    teams: Teams = None,
    alpha: float = 0.05,
    missing: str | None = None,
    resamples: Resamples = 1000,
    **work: Unpack[WorkOptions],
) -> SplitStudy:
    """Measure the agreement of tests on two disjoint sets of topics.

    Parameters
    ----------
    scores
        Scores of one measure by topic and system, as for :func:`cranfield.compare`.
    tests
        Names of tests, such as `t`, or `t+holm` with another correction. Tests of scores by shard,
        such as `anova-3` and `anova-3f`, require `by_shard`.
    by_shard
        Scores of the same topics and systems by shard, as from :func:`cranfield.evaluate`.
    sizes
        Sizes of the topic sets, from 2 to half of the topics, rounded up (the second set then has
        one topic less). By default the sizes 5, 10, 25, 50 and 125 up to half of the topics, or
        half of the topics if that is below 5.
    repeats
        Number of pairs of topic sets to draw for each size.
    seed
        Seed of the draws, and of randomised tests. The draw for a size and a repeat does not depend
        on other sizes, the number of repeats or the tests.
    systems
        Names of the systems to compare; by default all.
    teams
        Teams of the systems, such as a table with the columns system and team; the study is
        repeated for each team of at least two systems. Other forms: see
        :func:`cranfield.meta.teams_of`.
    alpha, missing, resamples
        As for :func:`cranfield.compare`; by default scores by shard may be missing if they are
        missing for all systems.
    jobs, backend, folder, progress
        As for :func:`cranfield.meta.run_parts`.

    Raises
    ------
    PolicyError, CranfieldError
        For invalid options, and scores that cannot be tested.

    Notes
    -----
    Source: Ferro and Sanderson (2022), sections 3.2 and 3.3. Splitting topics measures consistency,
    not correctness, which :func:`false_positives` studies.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> scores = cf.evaluate(covid.runs[::4], covid.qrels, "nDCG@20")["nDCG@20"]
    >>> study = split_topics(scores, ["anova-2", "anova-2f"], sizes=[10, 25], repeats=20)
    >>> study.tabulate_outcomes("AA").rows()
    [('anova-2', 12.25, 23.05), ('anova-2f', 41.0, 42.5)]
    """
    call = check_arguments(split_topics, locals())
    inputs = read_inputs(scores, by_shard, tests, systems, teams, alpha, missing, resamples)
    parsed_sizes = inputs.parse_sizes(sizes)
    table = run_parts(
        _compute_block,
        (inputs, seed),
        {
            f"{index:03d}-{name}": (group, *task)
            for index, group in enumerate(inputs.groups)
            for name, task in split_repeats(parsed_sizes, repeats).items()
        },
        settings={"study": "split topics", **inputs.make_settings(seed)},
        **work,
    )
    return SplitStudy(
        call,
        measure=inputs.scores.measure,
        tests=inputs.labels,
        sizes=parsed_sizes,
        groups={name: len(members) for name, members in inputs.groups.items()},
        n_topics=len(inputs.scores.topics),
        by_repeat=table,
        notes=inputs.notes,
    )


def _compute_block(
    shared: tuple[StudyInputs, int], task: tuple[str, int, int, int]
) -> pl.DataFrame:
    inputs, seed = shared
    group, size, start, stop = task
    return pl.concat(
        _test_split(inputs, group, size, repeat, seed) for repeat in range(start, stop)
    )


def _test_split(inputs: StudyInputs, group: str, size: int, repeat: int, seed: int) -> pl.DataFrame:
    decisions, n_failed = [], []
    topic_sets = draw_topic_sets(len(inputs.scores.topics), size, repeat, seed)
    for set_number, topics in enumerate(topic_sets, 1):
        test_seed = int(make_stream(seed, size, repeat, set_number).integers(2**31))
        outcomes = [
            compute_decisions(test, inputs.select(test, topics, inputs.groups[group]), test_seed)
            for test in inputs.tests
        ]
        decisions.append([test_decisions for test_decisions, _ in outcomes])
        n_failed.append(np.array([not is_computed for _, is_computed in outcomes], dtype=np.int64))
    labels = pl.Series(inputs.labels, dtype=pl.String)
    grid = np.indices((len(labels), len(labels))).reshape(2, -1)
    upper = np.triu_indices(len(labels), 1)
    tables = []
    for first_set, second_set, (i, j) in ((0, 1, grid), (0, 0, upper), (1, 1, upper)):
        counts = agreement(decisions[first_set], decisions[second_set])
        table = {
            "group": group,
            "size": size,
            "repeat": repeat,
            "sets": f"{first_set + 1}-{second_set + 1}",
            "first": labels.gather(i),
            "second": labels.gather(j),
            **{name: counts[name][i, j] for name in AGREEMENTS},
            "failed": n_failed[first_set][i] + n_failed[second_set][j],
        }
        types = dict.fromkeys(("size", "repeat"), pl.Int64)
        tables.append(pl.DataFrame(table, schema_overrides=types))
    return pl.concat(tables)
