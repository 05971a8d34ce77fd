"""The result of measuring how well an experiment was reproduced or replicated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cranfield.base.errors import quoted
from cranfield.base.words import counted
from cranfield.meta.study import Study
from cranfield.significance.tests.catalogue import find_test
from cranfield.tabular import Table, from_frame, number, text_table

ROLES = ("baseline", "advanced")
"""What a system is in an experiment."""

RATIO = ("ER", "ER low", "ER high", "DRI")
"""Columns of the table of effects that sum it up."""

ORDERS = ("tau", "KTU", "RBO")
"""Columns of the table of orders that compare two rankings."""


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction(
    Study,
    name="reproduction",
    source="Breuer and others (2020); Maistro and others (2023)",
    keys={
        "scores": ("measure", "role"),
        "order means": ("role",),
        "orders": ("role", "topic"),
        "effects": ("measure",),
    },
    main="summary",
):
    """How close an experiment came to the original one.

    Attributes
    ----------
    kind
        `reproduction`: on the same collection and topics; `replication`: on another.
    measures, roles
        Text forms of the measures; `baseline`, `advanced`, or both.
    systems
        Names of the original and of the other run, by role; empty where there were scores only.
    test
        Name of the test of both sets of scores. It is not corrected for many measures.
    scores
        Table with a row a measure and role: `topics` and `other topics` that count, the means
        `original` and `reproduced`, `RMSE`, `nRMSE`, the `statistic` of the test (original less
        reproduced) and its p-value `p`. What is not defined is null here and below, and the notes
        say why.
    effects
        Table with a row a measure, empty without both roles: `topics` and `other topics`,
        `original effect` and `reproduced effect`, which are mean improvements over the baseline,
        their ratio `ER` with the 0.95 confidence limits `ER low` and `ER high` (Fieller, 1954;
        they assume that mean improvements are about normal), `original RI` and `reproduced RI`,
        which are relative improvements, and their difference `DRI`.
    orders
        Table with a row a role and topic, of :func:`order_agreement`; None for replications, and
        where there were scores only.
    persistence, seed, settings
        The p of rank-biased overlap, the seed of tests that draw random numbers, and the policies
        under which the runs were judged.
    notes
        What a reader should know, such as topics that are missing on one side.
    """

    kind: str
    measures: tuple[str, ...]
    roles: tuple[str, ...]
    test: str
    scores: pl.DataFrame
    effects: pl.DataFrame
    orders: pl.DataFrame | None = None
    systems: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    persistence: float | None = None
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def order_means(self) -> pl.DataFrame:
        """Return the means over topics by role, as far as both runs have documents.

        Columns `role`, `topics`, `tau`, `KTU`, `RBO`; no row where orders were not compared.
        """
        if self.orders is None:
            schema = {"role": pl.String, "topics": pl.UInt32, **dict.fromkeys(ORDERS, pl.Float64)}
            return pl.DataFrame(schema=schema)
        return self.orders.group_by("role", maintain_order=True).agg(
            ((pl.col("original") > 0) & (pl.col("reproduced") > 0)).sum().alias("topics"),
            *(pl.col(name).mean() for name in ORDERS),
        )

    def summary(self) -> pl.DataFrame:
        """Return one row a measure.

        Columns `measure`; `RMSE` (not of a replication) and `p` followed by the role; `ER`, its
        limits and `DRI` where there are both roles.
        """
        found = pl.DataFrame({"measure": self.measures}, schema={"measure": pl.String})
        wanted = ["p"] if self.kind == "replication" else ["RMSE", "p"]
        for name in wanted:
            for role in self.roles:
                part = self.scores.filter(pl.col("role") == role)
                found = found.with_columns(part[name].alias(f"{name} {role}"))
        return found.with_columns(self.effects.select(*RATIO)) if self.pairs else found

    @property
    def pairs(self) -> bool:
        """Whether there are both roles, and so effects."""
        return len(self.roles) == len(ROLES)

    @property
    def verdict(self) -> tuple[str, ...]:
        if not self.measures:
            return ()
        measure = self.measures[0]
        rows = self.scores.filter(pl.col("measure") == measure).to_dicts()
        each = [
            f"the {row['role']} run has a mean of {row['reproduced']:.4f} where the original has"
            f" {row['original']:.4f}" + ("" if row["p"] is None else f" (p {_compared(row['p'])})")
            for row in rows
            if row["reproduced"] is not None and row["original"] is not None
        ]
        if not each:
            return ()
        found = self.effects.filter(pl.col("measure") == measure).to_dicts()
        effect = ""
        if found and found[0]["ER"] is not None:
            row = found[0]
            limits = (
                ""
                if row["ER low"] is None or row["ER high"] is None
                else f" (0.95 confidence limits {row['ER low']:.2f} to {row['ER high']:.2f})"
            )
            effect = f" The improvement is {row['ER']:.2f} times the original one{limits}."
        only = f", the first of {len(self.measures)} measures" if len(self.measures) > 1 else ""
        return (
            f"By {measure}{only}, {' and '.join(each)}.{effect}",
            "A large p does not show that the runs are equally good: see the errors and limits.",
        )

    def heading(self) -> list[str]:
        topics, others = (_largest(self.scores[name]) for name in ("topics", "other topics"))
        where = counted(topics, "topic")
        where += "" if self.kind == "reproduction" else f" and {others:,} others"
        lines = [
            f"{self.kind.capitalize()} of {' and '.join(self.roles)}: {where},"
            f" {counted(len(self.measures), 'measure')}"
        ]
        lines += [
            f"{role}: {quoted(one)}, again {quoted(two)}"
            for role, (one, two) in self.systems.items()
        ]
        lines.append(f"p: {find_test(self.test).info.title}, not corrected for many measures")
        return lines

    def __str__(self) -> str:
        blocks = ["\n".join([*self.heading(), *(f"note: {note}" for note in self.notes)])]
        blocks.append(_text(self.summary()))
        if self.orders is not None:
            blocks.append(_text(self.order_means()))
        return "\n\n".join(blocks)

    def frames(self) -> dict[str, pl.DataFrame]:
        every = {
            "scores": self.scores,
            "order means": None if self.orders is None else self.order_means(),
            "orders": self.orders,
            "effects": self.effects if self.pairs else None,
        }
        return {name: frame for name, frame in every.items() if frame is not None}

    def about(self) -> dict[str, Any]:
        return {
            "study": self.kind,
            **self._chosen("measures", "roles"),
            "systems": dict(self.systems),
            **self._chosen("test", "seed", "persistence"),
            "policies": dict(self.settings),
            "notes": list(self.notes),
        }

    def tables(self) -> list[Table]:
        same = self.kind == "reproduction"
        tables: list[Table] = []
        if self.orders is not None:
            title = (
                "Order of documents, means over topics: Kendall's tau of the union of both"
                " rankings (tau) and of documents by rank (KTU), rank-biased overlap"
                f" (RBO, p = {self.persistence:g})"
            )
            tables.append(from_frame(self.order_means(), title, left=["role"]))
        tables.append(
            from_frame(
                self.scores.drop(["other topics"] if same else ["RMSE", "nRMSE"]).with_columns(
                    p=pl.col("p").map_elements(_p_value, return_dtype=pl.String)
                ),
                f"Scores by topic, the test {self.test} of no difference"
                + (", and the root mean square error" if same else ""),
                left=["measure", "role"],
                places={"statistic": 3},
            )
        )
        if self.pairs:
            title = (
                "Effect of the advanced system: mean improvement, ratio (ER, 1 is best) with 0.95"
                " confidence limits, relative improvement (RI), and difference of these (DRI, 0 is"
                " best)"
            )
            effects = self.effects.drop(["other topics"] if same else [])
            tables.append(from_frame(effects, title, left=["measure"]))
        return tables

    def __repr__(self) -> str:
        return f"Reproduction({self.heading()[0]})"


def _largest(numbers: pl.Series) -> int:
    largest: Any = numbers.max()
    return int(largest or 0)


def _text(table: pl.DataFrame) -> str:
    rows = [[_cell(*cell) for cell in row.items()] for row in table.iter_rows(named=True)]
    return text_table(table.columns, rows)


def _p_value(p: float) -> str:
    return "<0.0001" if p < 0.0001 else number(p)


def _compared(p: float) -> str:
    return "below 0.0001" if p < 0.0001 else number(p)


def _cell(name: str, cell: Any) -> str:
    if cell is None:
        return "-"
    if not isinstance(cell, float):
        return str(cell)
    return _p_value(cell) if name.startswith("p ") else f"{cell:.4f}"
