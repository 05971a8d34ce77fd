"""How many results of a page are clicked."""

from __future__ import annotations

import polars as pl

from cranfield.measures.parameters import choice, parameter
from cranfield.online.measures.aggregates import UNIT
from cranfield.online.measures.online_measure import OnlineMeasure, last_rank, repeated


def _counted(repeats: str) -> str:
    return "clicked" if repeats == "once" else "clicks"


def _behind(cutoff: int | None) -> str:
    return "" if cutoff is None else f"@{cutoff}"


class CTR(OnlineMeasure):
    """Share of the shown results that were clicked (click-through rate)."""

    name = "CTR"
    formula = r"\frac{\sum_p |C_p|}{\sum_p |S_p|}"
    source = "Ferro and Maistro (2024), section 6.5"
    range = (0.0, 1.0)
    better = "higher"
    ranks: str = parameter(
        "top", choice("top", "at"), "with @k: results up to rank k, or those `at` rank k alone"
    )
    over: str = parameter(
        "results", choice("results", "pages"), "what it is the mean of: all results, or pages"
    )
    repeats: str = repeated("once")
    cutoff: int | None = last_rank()

    @property
    def _ends(self) -> str:
        at = "_at" if self.ranks == "at" and self.cutoff is not None else ""
        return at + _behind(self.cutoff)

    def total(self) -> pl.Expr:
        clicked = pl.col(_counted(self.repeats) + self._ends)
        if self.over == "results":
            return clicked
        shown = pl.col("shown" + self._ends)
        return pl.when(shown > 0).then(clicked / shown)

    def number(self) -> pl.Expr | None:
        return pl.col("shown" + self._ends) if self.over == "results" else None


class UCTR(OnlineMeasure):
    """Share of the pages with a click."""

    name = "UCTR"
    formula = r"\frac{1}{|P|} \sum_p [C_p \ne \emptyset]"
    source = "Chapelle, Metzler, Zhang and Grinspan (2009)"
    range = (0.0, 1.0)
    better = "higher"
    cutoff: int | None = last_rank()

    def total(self) -> pl.Expr:
        return (pl.col("clicks" + _behind(self.cutoff)) > 0).cast(pl.Int64)


class QCTR(OnlineMeasure):
    """Number of clicks on a page."""

    name = "QCTR"
    formula = r"\frac{1}{|P|} \sum_p |C_p|"
    source = "Chapelle, Metzler, Zhang and Grinspan (2009)"
    unit = "clicks"
    better = "higher"
    repeats: str = repeated("count")
    cutoff: int | None = last_rank()

    def total(self) -> pl.Expr:
        return pl.col(_counted(self.repeats) + _behind(self.cutoff))


class COEC(OnlineMeasure):
    """Clicked results over those expected at the same ranks, by the log's own rates."""

    name = "COEC"
    formula = r"\frac{\sum_p |C_p|}{\sum_p \sum_{r \in S_p} \mathit{CTR}_r}"
    source = "Zhang and Jones (2007)"
    better = "higher"

    def total(self) -> pl.Expr:
        return pl.col("clicked")

    def number(self) -> pl.Expr | None:
        return pl.col("expected") / UNIT
