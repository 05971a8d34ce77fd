"""What tests say on two disjoint sets of topics: the result of splitting topics."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from cranfield.base.errors import PolicyError, quoted
from cranfield.meta.of_tests.agreement import publication_bias, renamed
from cranfield.tabular import frame_html

KEYS = ("group", "size", "sets", "first", "second")
"""Columns that say what the numbers of a row are of."""

NUMBERS = (
    "significant first",
    "significant second",
    "both",
    "AA",
    "AD",
    "MA",
    "MD",
    "neither",
    "jaccard",
    "overlap",
    "tau",
    "bias",
)
"""Columns with numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class SplitStudy:
    """How tests agree with themselves, and with each other, on other topics.

    Attributes
    ----------
    measure
        Text form of the measure.
    tests
        The tests, in the order in which they were named.
    sizes, repeats, seed, alpha
        Sizes of the topic sets, how often they were drawn, and options.
    groups
        Names and sizes of the groups of systems.
    topics
        Number of topics that there are.
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

        Returns
        -------
        DataFrame
            A row for each group, size, pair of sets and pair of tests, and a column for the mean of
            each number, its standard deviation (`AA sd`) and its 5 and 95 percent quantiles
            (`AA low`, `AA high`). Repeats in which one of the two tests could not be done are left
            out; `undone` counts such tests. `bias` is that of the mean counts, as the source has
            it; `bias mean` is the mean over the repeats. What is not defined in a repeat is left
            out of the mean, and `defined jaccard`, `defined overlap` and `defined bias` count the
            rest.
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
        counts = [
            table[name].fill_null(float("nan")).to_numpy() for name in ("AA", "AD", "MA", "MD")
        ]
        return table.with_columns(pl.Series("bias", publication_bias(*counts)))

    def table(
        self,
        what: str,
        *,
        second: str | None = None,
        sets: str = "1-2",
        group: str | None = None,
    ) -> pl.DataFrame:
        """Return one number by test and size, as the tables of the source do.

        Parameters
        ----------
        what
            A column of :meth:`summary`, such as `AA`, `jaccard` or `significant first`.
        second
            The other test; by default each test is compared with itself.
        sets
            `1-2`, `1-1` or `2-2`.
        group
            Group of systems; by default the first.

        Returns
        -------
        DataFrame
            A row a test, and a column a size.
        """
        group = next(iter(self.groups)) if group is None else group
        rows = self._summary.filter(pl.col("group") == group)
        if what not in rows.columns:
            raise PolicyError(f"there is no number {quoted(what)}; there are {', '.join(NUMBERS)}")
        if second is not None:
            self._known(second)
        if sets not in {"1-2", "1-1", "2-2"}:
            raise PolicyError(f"sets {quoted(sets)} are none of 1-2, 1-1, 2-2")
        other = pl.col("first") if second is None else pl.lit(second)
        rows = rows.filter((pl.col("second") == other) & (pl.col("sets") == sets))
        return rows.pivot("size", index="first", values=what).rename({"first": "test"})

    def _known(self, test: str) -> None:
        if test not in self.tests:
            raise PolicyError(f"the study has no test {quoted(test)}: {', '.join(self.tests)}")

    def urbano(self) -> pl.DataFrame:
        """Return :meth:`summary` with the names of Urbano, Marrero and Martin (2013)."""
        return renamed(self.summary())

    def _repr_html_(self) -> str:
        return frame_html(self.summary(), repr(self))

    def __repr__(self) -> str:
        return (
            f"SplitStudy({self.measure or 'scores'}: {', '.join(self.tests)}; sizes"
            f" {list(self.sizes)}, {self.repeats} repeats)"
        )
