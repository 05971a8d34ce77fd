"""Pages that users leave without a click, or for another query."""

from __future__ import annotations

import polars as pl

from cranfield.measures.parameters import choice, number, parameter
from cranfield.measures.parameters import name as a_name
from cranfield.online.measures.aggregates import SECOND
from cranfield.online.measures.online_measure import OnlineMeasure

_ABANDONED = pl.col("clicks") == 0


def _share(condition: pl.Expr) -> pl.Expr:
    return condition.cast(pl.Int64)


class Abandonment(OnlineMeasure):
    """Share of the pages without a click."""

    name = "Abandonment"
    formula = r"\frac{1}{|P|} \sum_p [C_p = \emptyset]"
    source = "Ferro and Maistro (2024), section 6.1"
    range = (0.0, 1.0)
    better = "lower"

    def total(self) -> pl.Expr:
        return _share(_ABANDONED)


class ZeroResults(OnlineMeasure):
    """Share of the pages without a result."""

    name = "ZeroResults"
    formula = r"\frac{1}{|P|} \sum_p [S_p = \emptyset]"
    source = "Ferro and Maistro (2024), section 6.1"
    range = (0.0, 1.0)
    better = "lower"
    by: str = parameter(
        "shown", choice("shown", "found"), "what is none: results shown, or `found`, as the log has"
    )

    def total(self) -> pl.Expr:
        return _share(pl.col(self.by) == 0)


class GoodAbandonment(OnlineMeasure):
    """Share of the abandoned pages that are labelled good, of those with a label."""

    name = "GoodAbandonment"
    formula = r"\frac{|\{p : C_p = \emptyset, l_p = l\}|}{|\{p : C_p = \emptyset, l_p\}|}"
    source = "Li, Huffman and Tokuda (2009)"
    range = (0.0, 1.0)
    better = "higher"
    label: str = parameter("good", a_name, "the label of a page that answered without a click")

    def total(self) -> pl.Expr:
        return pl.when(_ABANDONED).then(_share(pl.col("label") == self.label))


class AbandonedLast(OnlineMeasure):
    """Share of the pages without a click or a later query in the session.

    What may be good abandonment, and may be giving up: no more than a proxy.
    """

    name = "AbandonedLast"
    formula = r"\frac{1}{|P|} \sum_p [C_p = \emptyset] [p = \mathit{last}(s_p)]"
    source = "a proxy of good abandonment, Li, Huffman and Tokuda (2009)"
    range = (0.0, 1.0)

    def total(self) -> pl.Expr:
        return _share(_ABANDONED & pl.col("last_in_session"))


class Reformulation(OnlineMeasure):
    """Share of the pages after which the session goes on with another query soon."""

    name = "Reformulation"
    formula = r"\frac{1}{|P|} \sum_p [q_{p+1} \ne q_p] [t_{p+1} - t_p \le w]"
    source = "Hassan, Shi, Craswell and Ramsey (2013)"
    range = (0.0, 1.0)
    better = "lower"
    window: float = parameter(300.0, number(0), "seconds within which the next query comes")
    shares: str = parameter(
        "any", choice("any", "term"), "any other query, or one that has a `term` in common"
    )

    def total(self) -> pl.Expr:
        query, following = pl.col("query"), pl.col("next_query")
        between = (pl.col("next_time") - pl.col("time")).dt.total_microseconds()
        again = (following != query) & (between <= self.window * SECOND) & (between >= 0)
        if self.shares == "term":
            again &= _terms(query).list.set_intersection(_terms(following)).list.len() > 0
        # A session's last page has no query after it; a page of no session has no value.
        again = pl.when(pl.col("last_in_session")).then(False).otherwise(again)
        return _share(again)


def _terms(query: pl.Expr) -> pl.Expr:
    return query.str.to_lowercase().str.extract_all(r"\w+")
