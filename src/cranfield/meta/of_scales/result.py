"""What interval scaling changes: the result of the study of scales, and its tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from cranfield.base.words import counted, names_or_count
from cranfield.meta.study import Study
from cranfield.tabular import Table, number


@dataclass(frozen=True, eq=False, repr=False)
class ScaleStudy(
    Study,
    name="scales",
    source="Ferrante, Ferro and Fuhr (2021)",
    keys={
        "correlation": ("cutoff", "measure"),
        "pairs": ("cutoff", "first", "second"),
        "changes": ("cutoff", "measure", "test"),
    },
    main="correlation",
):
    """What interval scaling changes.

    Attributes
    ----------
    measures, cutoffs, ties
        Text forms without their cutoffs, lengths of runs, and how ties were ranked.
    systems, topics
        Numbers of them.
    correlation
        Table of Kendall's tau between each measure and its interval-scaled version, by `cutoff` and
        `measure`: `overall`, of the means of systems; `by topic`, the mean over topics; and
        `lowest`, the topic with the lowest (tables 2 and 3 of the source).
    pairs
        Table of Kendall's tau between two measures, `original` and `interval`-scaled, with the
        change in percent (table 4).
    changes
        Table, by test, of pairs of systems that differ by the measure (`Sig`), those that no longer
        do by its interval-scaled version (`S2NS`), those that only then do (`NS2S`), and the share
        of changes: `changed %` of Sig, as in the source (tables 5 and 6), which may be above 100,
        and `changed % of all`, of the decisions on all pairs.
    """

    measures: tuple[str, ...]
    cutoffs: tuple[int, ...]
    ties: str
    systems: int
    topics: int
    correlation: pl.DataFrame
    pairs: pl.DataFrame
    changes: pl.DataFrame

    @property
    def verdict(self) -> tuple[str, ...]:
        orders = self.correlation.drop_nulls("overall").sort("overall", maintain_order=True)
        if orders.is_empty():
            return ()
        least = orders.row(0, named=True)
        alike = orders.filter(pl.col("overall") == least["overall"])
        names = [f"{row['measure']} at cutoff {row['cutoff']}" for row in alike.to_dicts()]
        said = (
            "Interval scaling leaves the order of the systems by their means as it is"
            if least["overall"] == 1
            else f"Interval scaling changes the order of the systems most with"
            f" {names_or_count(names, 'version')}: Kendall's tau {least['overall']:.2f} to the"
            " order by the measure itself"
        )
        decisions = self.changes.drop_nulls("changed % of all").sort(
            "changed % of all", descending=True, maintain_order=True
        )
        most = decisions.head(1).to_dicts()
        changed = ""
        if most and not most[0]["changed % of all"]:
            changed = "; no decision on a pair of systems changes"
        elif most:
            changed = (
                f"; of the decisions on all pairs it changes {most[0]['changed % of all']:.1f}% at"
                f" most (test {most[0]['test']}, {most[0]['measure']} at {most[0]['cutoff']})"
            )
        return (
            f"{said}{changed}.",
            f"That is so on these {counted(self.systems, 'system')} and"
            f" {counted(self.topics, 'topic')}; which version is right it does not say.",
        )

    def heading(self) -> list[str]:
        return [
            f"{self.systems} systems, {self.topics} topics; ties ranked {self.ties};"
            " Sig: pairs that differ by the measure; S2NS: no longer by its interval-scaled"
            " version; NS2S: only by that; changed: both, as a share of Sig and of all pairs"
        ]

    def frames(self) -> dict[str, pl.DataFrame]:
        return self._chosen(*self.keys)

    def about(self) -> dict[str, Any]:
        return self._chosen("systems", "topics", "ties")

    def tables(self) -> list[Table]:
        by_cutoff = [self._correlation("overall")]
        low = self.correlation["lowest"].min()
        if not isinstance(low, float) or low < 1:
            by_cutoff.append(self._correlation("by topic"))
        pairs = [self._pairs(cutoff) for cutoff in self.cutoffs]
        return [*by_cutoff, *pairs, *(self._changes(cutoff) for cutoff in self.cutoffs)]

    def _correlation(self, which: str) -> Table:
        title = (
            "Kendall's tau of a measure and its interval-scaled version, of the means of systems"
            if which == "overall"
            else "The same topic by topic, mean over topics"
        )
        rows = []
        for name in self.measures:
            mine = self.correlation.filter(pl.col("measure") == name)
            rows.append([name, *(number(tau, 4) for tau in mine[which].to_list())])
        return Table(title, ["measure", *(f"@{k}" for k in self.cutoffs)], rows)

    def _pairs(self, cutoff: int) -> Table:
        title = f"Kendall's tau of two measures, and of their interval-scaled versions, @{cutoff}"
        rows = [
            [a, b, number(x, 4), number(y, 4), f"{change:+.2f}%"]
            for _, a, b, x, y, change in self.pairs.filter(pl.col("cutoff") == cutoff).rows()
        ]
        head = ["first", "second", "measures", "interval-scaled", "change"]
        return Table(title, head, rows, (0, 1))

    def _changes(self, cutoff: int) -> Table:
        pairs = self.systems * (self.systems - 1) // 2
        title = f"Of {pairs:,} pairs of systems, those that differ, @{cutoff}"
        rows = [
            [
                *(name, test, f"{sig:,}", _part(lost, sig), _part(won, sig)),
                *(f"{number(share, 2)}%" for share in shares),
            ]
            for _, name, test, sig, lost, won, *shares in self.changes.filter(
                pl.col("cutoff") == cutoff
            ).rows()
        ]
        head = ["measure", "test", "Sig", "S2NS", "NS2S", "changed, of Sig", "of all"]
        return Table(title, head, rows, (0, 1))

    def __repr__(self) -> str:
        return (
            f"ScaleStudy({len(self.measures)} measures, cutoffs {list(self.cutoffs)},"
            f" {self.systems} systems, {self.topics} topics)"
        )


def _part(count: int, of: int) -> str:
    return f"{count:,} ({100 * count / of:.2f}%)" if of else f"{count:,}"
