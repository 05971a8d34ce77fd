"""Consistency of tests on disjoint sets of topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Unpack

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import PolicyError, check_choice, check_several, numbers
from cranfield.base.kinds import check_arguments
from cranfield.base.streams import stream
from cranfield.base.text import counted, names_or_count
from cranfield.meta.collection_studies.rankings import Teams
from cranfield.meta.study import Study, percent
from cranfield.meta.study_options import Repeats, Resamples, Seed, Sizes
from cranfield.meta.test_studies.fast_tests import (
    Given,
    Verdict,
    explained,
    given_tests,
    is_bound,
    verdict_or_none,
)
from cranfield.meta.work import Work, repeated, run_parts, with_work
from cranfield.result import Column, Columns
from cranfield.tabular import Table, number

COUNTS = ("AA", "AD", "MA", "MD")
"""Active agreements and disagreements, mixed agreements and disagreements."""

URBANO = {
    "AA": "success",
    "MA": "lack of power",
    "MD": "minor error",
    "AD": "major error",
    "neither": "non-significance",
}
"""Names of the same counts by Urbano, Marrero and Martin (2013)."""


def agreement(first: Sequence[Verdict], second: Sequence[Verdict]) -> dict[str, Floats]:
    r"""Count how tests agree, each of the first with each of the second.

    Parameters
    ----------
    first, second
        Verdicts on the same pairs of systems: of several tests on one set of topics, and of tests
        on the same set or on another.

    Returns
    -------
    dict of arrays
        Each of shape (first, second):

        - `significant first`, `significant second`: numbers of significant pairs of each;
        - `both`: pairs that are significant by both, in any direction;
        - `AA`, active agreements: significant by both, in the same direction;
        - `AD`, active disagreements: significant by both, in opposite directions;
        - `MA`, mixed agreements: significant by one, and in the same order by the other;
        - `MD`, mixed disagreements: significant by one, and not in the same order by the other;
        - `neither`: pairs that are significant by neither;
        - `jaccard`, `overlap`: of the two sets of pairs, NaN where a set that they divide by is
          empty;
        - `bias`: see :func:`publication_bias`;
        - `tau`: Kendall's tau-b of the two orders of systems.

    Raises
    ------
    PolicyError
        For arguments that are not verdicts, an empty list, and verdicts on different pairs.

    Notes
    -----
    .. math:: J = \frac{|S_1 \cap S_2|}{|S_1 \cup S_2|}, \quad
        O = \frac{|S_1 \cap S_2|}{\min(|S_1|, |S_2|)}

    Ferro and Sanderson (2022), section 3.3. Two systems with equal means have no order, and so do
    not have the same one: AA + AD + MA + MD + neither are all pairs.

    Examples
    --------
    >>> one = Verdict(np.array([1, 1, -1], np.int8), np.array([True, True, False]))
    >>> other = Verdict(np.array([1, -1, -1], np.int8), np.array([True, False, False]))
    >>> found = agreement([one], [other])
    >>> [int(found[name][0, 0]) for name in ("AA", "AD", "MA", "MD", "neither")]
    [1, 0, 0, 1, 1]
    """
    check_several("first", first)
    check_several("second", second)
    verdicts = [_checked(first), _checked(second)]
    pairs = {verdict.order.size for some in verdicts for verdict in some}
    if len(pairs) > 1:
        raise PolicyError(
            f"verdicts must be on the same pairs, got {min(pairs)} and {max(pairs)} pairs"
        )
    # Counts are sums of products of 0, 1 and -1, which floats hold exactly.
    order1, order2 = (np.array([v.order for v in some], dtype=np.float64) for some in verdicts)
    significant1, significant2 = (
        np.array([v.significant for v in some], dtype=np.float64) for some in verdicts
    )
    ordered1, ordered2 = np.abs(order1), np.abs(order2)
    sizes1, sizes2 = significant1.sum(axis=1)[:, None], significant2.sum(axis=1)[None, :]
    in_both = significant1 @ significant2.T

    def same_order(some1: Any, some2: Any) -> Floats:
        """Count pairs within both sets that have the same order."""
        products = (some1 * order1) @ (some2 * order2).T
        return np.asarray(((some1 * ordered1) @ (some2 * ordered2).T + products) / 2)

    agree = same_order(significant1, significant2)
    mixed = same_order(significant1, 1.0) + same_order(1.0, significant2) - 2 * agree
    either = sizes1 + sizes2 - in_both
    counts = {
        "AA": agree,
        "AD": in_both - agree,
        "MA": mixed,
        "MD": sizes1 + sizes2 - 2 * in_both - mixed,
    }
    with np.errstate(invalid="ignore", divide="ignore"):
        jaccard = in_both / either
        overlap = in_both / np.minimum(sizes1, sizes2)
        n_ordered = ordered1.sum(axis=1)[:, None] * ordered2.sum(axis=1)[None, :]
        tau = (order1 @ order2.T) / np.sqrt(n_ordered)
    return {
        "significant first": np.broadcast_to(sizes1, in_both.shape),
        "significant second": np.broadcast_to(sizes2, in_both.shape),
        "both": in_both,
        **counts,
        "neither": order1.shape[1] - either,
        "jaccard": jaccard,
        "overlap": overlap,
        "tau": tau,
        "bias": publication_bias(**counts),
    }


def _checked(verdicts: Iterable[Verdict]) -> list[Verdict]:
    several = list(verdicts)
    if not several:
        raise PolicyError("expected at least one verdict of a test, got none")
    return several


def publication_bias(AA: Any, AD: Any, MA: Any, MD: Any) -> Any:  # noqa: N803
    r"""Return the proportion of significant results that other topics would not have confirmed.

    .. math:: \mathit{Bias} = 1 - \frac{AA}{AA + AD + \frac{MA}{2} + \frac{MD}{2}}

    Ferro and Sanderson (2022), section 5.2.

    Parameters
    ----------
    AA, AD, MA, MD
        Counts, or mean counts, of any shape.

    Returns
    -------
    float or array
        From 0 to 1; NaN where nothing was significant.

    Raises
    ------
    PolicyError
        For counts that are not numbers, or whose shapes cannot be broadcast.

    Examples
    --------
    Table 6 of the source, MD3:

    >>> round(100 * publication_bias(4556.6, 5.8, 591.9, 114.2), 1)
    7.3
    """
    counts = [numbers(count, name) for count, name in zip((AA, AD, MA, MD), COUNTS, strict=True)]
    try:
        active, against, agree, disagree = np.broadcast_arrays(*counts)
    except ValueError:
        shapes = ", ".join(str(count.shape) for count in counts)
        raise PolicyError(f"shapes of counts cannot be broadcast: {shapes}") from None
    with np.errstate(invalid="ignore", divide="ignore"):
        bias = 1 - active / (active + against + agree / 2 + disagree / 2)
    return bias if bias.ndim else float(bias)


KEYS = ("group", "size", "sets", "first", "second")
"""Key columns."""

FOUND = ("significant first", "significant second", "both")
NUMBERS = (*FOUND, *COUNTS, "neither", "jaccard", "overlap", "tau", "bias")
"""Columns with numbers."""

DEFINED = ("jaccard", "overlap", "bias")
"""Numbers that are not defined in every repeat."""

BY_SIZE = {"significant first": 1, "jaccard": 2, "AA": 1, "AD": 1, "MA": 1, "MD": 1, "tau": 2}
"""Numbers that are shown by test and size, and their decimals."""


def _means(name: str, about: str) -> Columns:
    """Declare the columns of the mean of a number over repeats, and of its spread."""
    mean = "bias mean" if name == "bias" else name
    columns = {
        mean: Column(f"Mean {about}."),
        f"{name} sd": Column("Its standard deviation over repeats."),
        f"{name} low": Column("Its 5% quantile over repeats."),
        f"{name} high": Column("Its 95% quantile over repeats."),
    }
    defined = Column("Number of repeats in which it is defined.")
    return {**columns, f"defined {name}": defined} if name in DEFINED else columns


class SplitStudy(Study):
    """Agreement of tests with themselves, and with each other, on disjoint topic sets.

    Attributes
    ----------
    measure, tests
        Text form of the measure; the tests, in the order in which they were named.
    sizes
        Sizes of the topic sets.
    groups, topics
        Names and sizes of the groups of systems; number of topics that there are.
    repeated
        Table with a row for each `group`, `size`, `repeat`, pair of topic sets (`sets`: `1-2` two
        disjoint sets, `1-1` and `2-2` the same one), and pair of tests, `first` and `second`. Its
        numbers are those of :func:`agreement`; `failed` counts tests that could not be computed on
        these topics; the summary excludes these repeats.
    """

    name = "tests"
    reference: ClassVar[str] = "Ferro and Sanderson (2022)"
    parts: ClassVar[Sequence[str]] = ("summary",)
    columns: ClassVar[Mapping[str, Columns]] = {
        "agreement": {
            "group": Column("Group of systems.", key=True),
            "size": Column("Number of topics of each set.", key=True),
            "sets": Column(
                (
                    "The two sets of topics: `1-2`, two disjoint sets; `1-1` and `2-2`, the"
                    " same set twice."
                ),
                key=True,
            ),
            "first": Column("Test on the first set.", key=True),
            "second": Column("Test on the second set.", key=True),
            "failed": Column("Number of repeats excluded because the test could not be computed."),
            **_means("significant first", "number of significant pairs on the first set"),
            **_means("significant second", "number of significant pairs on the second set"),
            **_means("both", "number of pairs that are significant on both sets"),
            **_means("AA", "active agreements: significant on both, in the same direction"),
            **_means("AD", "active disagreements: significant on both, in opposite directions"),
            **_means("MA", "mixed agreements: significant on one, in the same order on the other"),
            **_means("MD", "mixed disagreements: significant on one, not in the same order"),
            **_means("neither", "number of pairs that are significant on neither"),
            **_means("jaccard", "Jaccard similarity of the two sets of significant pairs"),
            **_means("overlap", "overlap coefficient of the two sets of significant pairs"),
            **_means("tau", "Kendall's tau of the two orders of systems"),
            **_means("bias", "publication bias"),
            "bias": Column("Publication bias of the mean counts, as the source has it."),
        }
    }

    groups: dict[str, int]
    repeated: pl.DataFrame

    def summary(self) -> pl.DataFrame:
        """Return means over repeats, with their spread.

        Repeats in which one of the two tests could not be computed are excluded; so are those in
        which
        a number is not defined, and `defined jaccard`, `defined overlap` and `defined bias` count
        the others.
        """
        columns: list[pl.Expr] = [pl.col("failed").sum()]
        for name in NUMBERS:
            values = pl.col(name).filter(pl.col("failed") == 0).drop_nans()
            columns += [
                values.mean().alias("bias mean" if name == "bias" else name),
                values.std().alias(f"{name} sd"),
                values.quantile(0.05, "linear").alias(f"{name} low"),
                values.quantile(0.95, "linear").alias(f"{name} high"),
            ]
            if name in DEFINED:
                columns.append(values.count().alias(f"defined {name}"))
        table = self.repeated.group_by(*KEYS, maintain_order=True).agg(columns)
        counts = [table[name].fill_null(float("nan")).to_numpy() for name in COUNTS]
        return table.with_columns(pl.Series("bias", publication_bias(*counts)))

    def outcomes(
        self,
        what: str,
        *,
        second: str | None = None,
        sets: str = "1-2",
        group: str | None = None,
    ) -> pl.DataFrame:
        """Return one number, a row a test and a column a size, as the tables of the source do.

        Parameters
        ----------
        what
            A column of :meth:`summary`, such as `AA`, `jaccard` or `significant first`;
            `significant` is the last.
        second
            The other test; by default each test is compared with itself.
        sets, group
            `1-2`, `1-1` or `2-2`; the group of systems, by default the first.
        """
        rows = self._of(sets, group)
        what = FOUND[0] if what == "significant" else what
        check_choice("number", what, rows.columns)
        if second is not None:
            check_choice("test", second, self.tests)
        other = pl.col("first") if second is None else pl.lit(second)
        rows = rows.filter(pl.col("second") == other)
        return rows.pivot("size", index="first", values=what).rename({"first": "test"})

    def _of(self, sets: str = "1-2", group: str | None = None) -> pl.DataFrame:
        group = next(iter(self.groups)) if group is None else group
        check_choice("group", group, self.groups)
        check_choice("sets", sets, ("1-2", "1-1", "2-2"))
        return self.summary().filter(pl.col("group") == group, pl.col("sets") == sets)

    def urbano(self) -> pl.DataFrame:
        """Return :meth:`summary` with the names of Urbano, Marrero and Martin (2013)."""
        table = self.summary()
        return table.rename({old: new for old, new in URBANO.items() if old in table.columns})

    @property
    def verdict(self) -> tuple[str, ...]:
        size = max(self.sizes)
        rows = self._of().filter(pl.col("first") == pl.col("second"), pl.col("size") == size)
        if rows["AA"].null_count() == len(rows):
            return ()
        # A test with more contradictions than its level allows cannot be the best.
        is_sound = (pl.col("AD") <= self.alpha * pl.col("significant first")).fill_null(False)
        sound, out = rows.filter(is_sound), rows.filter(~is_sound)["first"].to_list()
        best = sound["AA"].max()
        each = [
            f"{row['first']} ({row['AA']:.1f} of the {row['significant first']:.1f} on the first)"
            for row in sound.filter(pl.col("AA") == best).iter_rows(named=True)
        ]
        lines = []
        if best:
            lines.append(
                f"On two sets of {size} topics, the most pairs significant on both and in the same"
                f" order: {names_or_count(each, 'test')}, mean over the draws."
            )
        elif not sound.is_empty():
            others = "none of the other tests" if out else "no test"
            lines.append(
                f"On two sets of {size} topics, {others} has a pair that is significant on both."
            )
        if out:
            lines.append(
                f"Excluded for significant differences in opposite directions in more than"
                f" {percent(self.alpha)}: {', '.join(out)}."
            )
        if best:
            lines.append(
                f"Sample: {counted(self.repeats, 'draw')} from"
                f" {counted(self.topics, 'topic')}. Tests with more Type I errors also"
                " have more significant pairs; see the study of Type I errors."
            )
        return tuple(lines)

    def heading(self) -> list[str]:
        lines = [
            f"{self.measure or 'scores'}: {counted(self.topics, 'topic')}; two disjoint sets of"
            f" {', '.join(map(str, self.sizes))} topics, {counted(self.repeats, 'repeat')};"
            f" alpha {self.alpha:g}, seed {self.seed}"
        ]
        lines += explained(self.tests)
        if self.summary().filter(pl.col("sets") == "1-2")["failed"].sum():
            lines.append("note: some tests could not be computed on some sets, which are excluded")
        return lines

    def facts(self) -> dict[str, Any]:
        options = {"missing": self.missing, "resamples": self.resamples}
        return {**super().facts(), "groups": self.groups, "options": options}

    def tables(self) -> list[Table]:
        tables, summary = [], self.summary()
        for group, systems in self.groups.items():
            of_group = summary.filter(pl.col("group") == group)
            label = "" if len(self.groups) == 1 else f"{group}: "
            of = f"{label}of {systems * (systems - 1) // 2:,} pairs of {systems} systems"
            is_own = (pl.col("first") == pl.col("second")) & (pl.col("sets") == "1-2")
            own = of_group.filter(is_own).rename({"first": "test"})
            for what, places in BY_SIZE.items():
                title = f"{what}: {self.columns['agreement'][what].about[:-1]}; {of}"
                tables.append(_by_size(own, ["test"], what, title, places))
            # Overlap of the significant pairs of two tests on the same topics.
            real = [test for test in self.tests if not is_bound(test)]
            same = of_group.filter(
                pl.all_horizontal(pl.col("first", "second").is_in(real)), pl.col("sets") == "1-1"
            )
            # Grouped by the second test, in the order of tests.
            same = same.sort(pl.col("second").cast(pl.Enum(self.tests)), maintain_order=True)
            if same.height:
                title = f"Overlap of the significant pairs of two tests on the same set; {of}"
                tables.append(_by_size(same, ["first", "second"], "overlap", title, 2))
            largest = max(self.sizes)
            rows = [
                [row["test"], *(number(row[name], 1) for name in COUNTS), percent(row["bias"])]
                for row in own.filter(pl.col("size") == largest).iter_rows(named=True)
            ]
            title = f"Consistent and inconsistent results, and publication bias, sets of {largest}"
            tables.append(Table(f"{title}; {of}", ["test", *COUNTS, "bias"], rows))
        return tables


def _by_size(frame: pl.DataFrame, keys: list[str], what: str, title: str, places: int) -> Table:
    """Show a number with a column for each size."""
    wide, labels = frame.pivot("size", index=keys, values=what), len(keys)
    cells = [[*row[:labels], *(number(x, places) for x in row[labels:])] for row in wide.rows()]
    return Table(title, wide.columns, cells, range(labels))


@with_work
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
    **work: Unpack[Work],
) -> SplitStudy:
    """Measure the agreement of tests on two disjoint sets of topics.

    Parameters
    ----------
    scores
        Scores of one measure, by topic and system: what :func:`compare` takes.
    tests
        Names of tests, such as `t`, or `t+holm` with another correction. Tests of scores by shard,
        such as
        `anova-3` and `anova-3f`, need `by_shard`.
    by_shard
        Scores of the same topics and systems by shard: see :func:`cranfield.evaluate`.
    sizes
        Sizes of the topic sets, from 2 to half of the topics. Where the number of topics is odd,
        half of them may be rounded up, and the second set has one less. By default those of 5, 10,
        25, 50 and 125 that fit.
    repeats
        Number of pairs of topic sets to draw for each size.
    seed
        Seed of the draws, and of tests that draw random numbers. The draws of a size and a repeat
        do not
        depend on the other sizes, on the number of repeats, or on the tests.
    systems
        Only these systems.
    teams
        Table of systems and their teams; the study is repeated for each team. Other forms are those
        of :func:`cranfield.meta.teams_of`. Teams of one system have nothing to compare, and are
        skipped.
    alpha, missing, resamples
        As for :func:`compare`; scores by shard that are missing for all systems are taken as such
        by default.
    jobs, backend, folder, progress
        Where and how the work is done: see :func:`run_parts`.

    Raises
    ------
    PolicyError, CranfieldError
        For invalid options, and scores that cannot be tested.

    Notes
    -----
    Ferro and Sanderson (2022), sections 3.2 and 3.3. Splitting measures consistency, not
    correctness: see :func:`false_alarms`.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> scores = cf.evaluate(covid.runs[::4], covid.qrels, "nDCG@20")["nDCG@20"]
    >>> study = split_topics(scores, ["anova-2", "anova-2f"], sizes=[10, 25], repeats=20)
    >>> study.outcomes("AA").rows()
    [('anova-2', 12.25, 23.05), ('anova-2f', 41.0, 42.5)]
    """
    call = check_arguments(split_topics, locals())
    inputs = given_tests(scores, by_shard, tests, systems, teams, alpha, missing, resamples)
    parsed_sizes = inputs.sizes(sizes)
    table = run_parts(
        _split_block,
        (inputs, seed),
        {
            f"{where:03d}-{name}": (group, *task)
            for where, group in enumerate(inputs.groups)
            for name, task in repeated(parsed_sizes, repeats).items()
        },
        about={"study": "split topics", **inputs.about(seed)},
        **work,
    )
    return SplitStudy(
        call,
        measure=inputs.scores.measure,
        tests=inputs.labels,
        sizes=parsed_sizes,
        groups={name: len(members) for name, members in inputs.groups.items()},
        topics=len(inputs.scores.topics),
        repeated=table,
    )


def draw(topics: int, size: int, repeat: int, seed: int) -> tuple[Indices, Indices]:
    """Draw two disjoint sets of topics; the second is short by one where half is rounded up."""
    drawn = stream(seed, size, repeat).permutation(topics)[: 2 * size]
    return np.sort(drawn[:size]), np.sort(drawn[size:])


def _split_block(shared: tuple[Given, int], task: tuple[str, int, int, int]) -> pl.DataFrame:
    inputs, seed = shared
    group, size, start, stop = task
    return pl.concat(_split(inputs, group, size, repeat, seed) for repeat in range(start, stop))


def _split(inputs: Given, group: str, size: int, repeat: int, seed: int) -> pl.DataFrame:
    verdicts, failed = [], []
    for which, topics in enumerate(draw(len(inputs.scores.topics), size, repeat, seed)):
        own_seed = int(stream(seed, size, repeat, which + 1).integers(2**31))
        decisions, done = zip(
            *(
                verdict_or_none(test, inputs.of(test, topics, inputs.groups[group]), own_seed)
                for test in inputs.tests
            ),
            strict=True,
        )
        verdicts.append(decisions)
        failed.append(1 - np.array(done, dtype=np.int64))
    labels = pl.Series(inputs.labels, dtype=pl.String)
    grid = np.indices((len(labels), len(labels))).reshape(2, -1)
    later = np.triu_indices(len(labels), 1)
    tables = []
    for first_set, second_set, (i, j) in ((0, 1, grid), (0, 0, later), (1, 1, later)):
        counts = agreement(verdicts[first_set], verdicts[second_set])
        head = {
            "group": group,
            "size": size,
            "repeat": repeat,
            "sets": f"{first_set + 1}-{second_set + 1}",
        }
        table = {
            "first": labels.gather(i),
            "second": labels.gather(j),
            **{name: counts[name][i, j] for name in NUMBERS},
            "failed": failed[first_set][i] + failed[second_set][j],
        }
        tables.append(pl.DataFrame([head]).join(pl.DataFrame(table), how="cross"))
    return pl.concat(tables)
