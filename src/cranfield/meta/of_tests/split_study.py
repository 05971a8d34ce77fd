"""What tests say on two disjoint sets of topics: the result of splitting topics."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from cranfield.base.checks import check_choice
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.words import counted, names_or_count
from cranfield.meta.of_tests.agreement import COUNTS, URBANO, publication_bias
from cranfield.meta.of_tests.fast_tests import is_bound
from cranfield.meta.of_tests.given import explained
from cranfield.meta.study import Study, percent
from cranfield.tabular import Table, number

KEYS = ("group", "size", "sets", "first", "second")
"""Columns that say what the numbers of a row are of."""

FOUND = ("significant first", "significant second", "both")
NUMBERS = (*FOUND, *COUNTS, "neither", "jaccard", "overlap", "tau", "bias")
"""Columns with numbers."""

BY_SIZE = (
    ("significant first", "Pairs of systems that differ significantly, mean over repeats", 1),
    ("jaccard", "Jaccard similarity of what a test finds on the one set and on the other", 2),
    ("AA", "Active agreements (AA): significant on both sets, in the same direction", 1),
    ("AD", "Active disagreements (AD): significant on both sets, in opposite directions", 1),
    ("MA", "Mixed agreements (MA): significant on one set, and in the same order on the other", 1),
    (
        "MD",
        "Mixed disagreements (MD): significant on one set, not in the same order on the other",
        1,
    ),
    ("tau", "Kendall's tau of the rankings of systems on the two sets", 2),
)
"""Numbers that are shown by test and size: column, title, decimals."""


@dataclass(frozen=True, eq=False, repr=False)
class SplitStudy(
    Study,
    name="tests",
    source="Ferro and Sanderson (2022)",
    keys={"agreement": KEYS},
    main="summary",
):
    """How tests agree with themselves, and with each other, on other topics.

    Attributes
    ----------
    measure, tests
        Text form of the measure; the tests, in the order in which they were named.
    sizes, repeats, seed, alpha
        Sizes of the topic sets, how often they were drawn, and options.
    groups, topics
        Names and sizes of the groups of systems; number of topics that there are.
    repeated
        Table with a row for each `group`, `size`, `repeat`, pair of topic sets (`sets`: `1-2` two
        disjoint sets, `1-1` and `2-2` the same one), and pair of tests, `first` and `second`. Its
        numbers are those of :func:`agreement`; `undone` counts tests that could not be done on
        these topics, and so found nothing: the summary leaves these repeats out.
    """

    measure: str
    tests: tuple[str, ...]
    sizes: tuple[int, ...]
    repeats: int
    seed: int
    alpha: float
    groups: dict[str, int]
    topics: int
    repeated: pl.DataFrame
    options: dict[str, Any] = field(default_factory=dict)

    def summary(self) -> pl.DataFrame:
        """Return means over repeats, with their spread.

        A row for each group, size, pair of sets and pair of tests, and columns for the mean of each
        number, its standard deviation (`AA sd`) and its 5 and 95 percent quantiles (`AA low`, `AA
        high`). Repeats in which one of the two tests could not be done are left out; `undone`
        counts such tests. `bias` is that of the mean counts, as the source has it; `bias mean` is
        the mean over the repeats. What is not defined in a repeat is left out of the mean, and
        `defined jaccard`, `defined overlap` and `defined bias` count the rest.
        """
        # A copy of its own, which may be changed in place; it shares the columns.
        return self._summary.clone()

    @cached_property
    def _summary(self) -> pl.DataFrame:
        columns: list[pl.Expr] = [pl.col("undone").sum()]
        for name in NUMBERS:
            known = pl.col(name).filter(pl.col("undone") == 0).drop_nans()
            mean = "bias mean" if name == "bias" else name
            columns += [
                known.mean().alias(mean),
                known.std().alias(f"{name} sd"),
                known.quantile(0.05, "linear").alias(f"{name} low"),
                known.quantile(0.95, "linear").alias(f"{name} high"),
            ]
            if name in {"jaccard", "overlap", "bias"}:
                columns.append(known.count().alias(f"defined {name}"))
        table = self.repeated.group_by(*KEYS, maintain_order=True).agg(columns)
        counts = [table[name].fill_null(float("nan")).to_numpy() for name in COUNTS]
        return table.with_columns(pl.Series("bias", publication_bias(*counts)))

    def table(
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
        group = next(iter(self.groups)) if group is None else group
        check_choice("group", group, self.groups)
        rows = self._summary.filter(pl.col("group") == group)
        what = FOUND[0] if what == "significant" else what
        if what not in rows.columns:
            raise PolicyError(f"there is no number {quoted(what)}; there are {', '.join(NUMBERS)}")
        if second is not None and second not in self.tests:
            raise PolicyError(f"the study has no test {quoted(second)}: {', '.join(self.tests)}")
        if sets not in {"1-2", "1-1", "2-2"}:
            raise PolicyError(f"sets {quoted(sets)} are none of 1-2, 1-1, 2-2")
        other = pl.col("first") if second is None else pl.lit(second)
        rows = rows.filter((pl.col("second") == other) & (pl.col("sets") == sets))
        return rows.pivot("size", index="first", values=what).rename({"first": "test"})

    def urbano(self) -> pl.DataFrame:
        """Return :meth:`summary` with the names of Urbano, Marrero and Martin (2013)."""
        table = self.summary()
        return table.rename({old: new for old, new in URBANO.items() if old in table.columns})

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.summary().filter(
            (pl.col("sets") == "1-2")
            & (pl.col("first") == pl.col("second"))
            & (pl.col("group") == next(iter(self.groups)))
            & (pl.col("size") == max(self.sizes))
        )
        if rows.is_empty() or rows["AA"].null_count() == len(rows):
            return ()
        # What contradicts itself more often than errors may does not win by finding much.
        sound = rows.filter(pl.col("AD") <= self.alpha * pl.col("significant first"))
        out = [one for one in rows["first"] if one not in sound["first"].to_list()]
        left = (
            f"Left out for opposite findings in more than {percent(self.alpha)}: {', '.join(out)}."
        )
        if sound.is_empty():
            return (left,)
        best = sound.sort("AA", descending=True, nulls_last=True).row(0, named=True)
        if not best["AA"]:
            others = "none of the other tests" if out else "no test"
            found = (
                f"On two sets of {best['size']} topics, {others} finds a pair significant on both."
            )
            return (found, *([left] if out else []))
        tied = sound.filter(pl.col("AA") == best["AA"])
        each = [
            f"{row['first']} ({row['AA']:.1f} of the {row['significant first']:.1f} on the first)"
            for row in tied.iter_rows(named=True)
        ]
        told = (
            f"On two sets of {best['size']} topics, the most pairs significant on both and in the"
            f" same order: {names_or_count(each, 'test')}, mean over the draws."
        )
        rests = (
            f"That rests on {counted(self.repeats, 'draw')} from {counted(self.topics, 'topic')}; a"
            " test that errs more often finds more, too; how often it errs is a study of its own,"
            " of false alarms."
        )
        return (told, *([left] if out else []), rests)

    def heading(self) -> list[str]:
        lines = [
            f"{self.measure or 'scores'}: {counted(self.topics, 'topic')}; two disjoint sets of"
            f" {', '.join(map(str, self.sizes))} topics, {counted(self.repeats, 'repeat')};"
            f" alpha {self.alpha:g}, seed {self.seed}"
        ]
        lines += explained(self.tests)
        if self._summary.filter(pl.col("sets") == "1-2")["undone"].sum():
            lines.append("note: some tests could not be done on some sets, which are left out")
        return lines

    def frames(self) -> dict[str, pl.DataFrame]:
        return {"agreement": self.summary()}

    def about(self) -> dict[str, Any]:
        names = ("measure", "topics", "groups", "tests", "sizes", "repeats", "seed", "alpha")
        return self._chosen(*names, "options")

    def tables(self) -> list[Table]:
        tables = []
        for group, systems in self.groups.items():
            label = "" if len(self.groups) == 1 else f"{group}: "
            of = f"{label}of {systems * (systems - 1) // 2:,} pairs of {systems} systems"
            tables += [self._sized(group, *what, of=of) for what in BY_SIZE]
            tables += self._overlaps(group, of)
            tables.append(self._largest(group, of))
        return tables

    def _sized(self, group: str, what: str, title: str, places: int, *, of: str) -> Table:
        frame = self.table(what, group=group)
        rows = [[str(row[0]), *(number(one, places) for one in row[1:])] for row in frame.rows()]
        return Table(f"{title}; {of}", ["test", *map(str, self.sizes)], rows)

    def _overlaps(self, group: str, of: str) -> list[Table]:
        """Show how much of what a test finds another one finds, on the same topics."""
        real = [test for test in self.tests if not is_bound(test)]
        rows = []
        for later, second in enumerate(real):
            frame = self.table("overlap", second=second, sets="1-1", group=group)
            for row in frame.filter(pl.col("test").is_in(real[:later])).rows():
                rows.append([str(row[0]), second, *(number(one, 2) for one in row[1:])])
        if not rows:
            return []
        title = f"Overlap of what two tests find on the same set; {of}"
        return [Table(title, ["first", "second", *map(str, self.sizes)], rows, (0, 1))]

    def _largest(self, group: str, of: str) -> Table:
        size = max(self.sizes)
        columns = {name: self.table(name, group=group)[str(size)] for name in (*COUNTS, "bias")}
        rows = [
            [test, *(number(columns[name][k], 1) for name in COUNTS), percent(columns["bias"][k])]
            for k, test in enumerate(self.tests)
        ]
        title = f"Consistent and inconsistent results, and publication bias, sets of {size}; {of}"
        return Table(title, ["test", *COUNTS, "bias"], rows)

    def __repr__(self) -> str:
        return (
            f"SplitStudy({self.measure or 'scores'}: {', '.join(self.tests)}; sizes"
            f" {list(self.sizes)}, {self.repeats} repeats)"
        )
