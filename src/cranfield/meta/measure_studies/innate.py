"""Study of innate orders: pairs of rankings that all measures order in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError, check_whole
from cranfield.base.text import counted, names_or_count
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.evaluation.evaluation import score
from cranfield.measures import Measure
from cranfield.meta.measure_studies.correlations import (
    oriented_values,
    pair_columns,
    preference_signs,
    sign_pvalue,
)
from cranfield.meta.study import SYSTEM_PAIR, Study, names_with_value, percent
from cranfield.result import Column, Columns
from cranfield.significance.preferences import OPEN, order_pairs

ORDERS = {"better": 1, "worse": -1, "same": 0, "open": OPEN}
"""Possible innate orders of two rankings, with their codes in `order_pairs`."""


class InnateOrders(Study):
    """Numbers of topics on which all measures order two rankings in the same way.

    Attributes
    ----------
    systems, topics, depth
        Numbers of systems, topics, and ranks considered.
    pairs, agreement
        The tables `innate` and `agreement`.
    """

    name = "innate-orders"
    reference: ClassVar[str] = "Moffat and Mackenzie (2024); Ferrante, Ferro and Fuhr (2021)"
    parts: ClassVar[Sequence[str]] = ("pairs", "agreement")
    titles: ClassVar[Mapping[str, str]] = {
        "innate": "Topics by innate order",
        "agreement": "Measures and the innate order of two rankings on a topic",
    }
    columns: ClassVar[Mapping[str, Columns]] = {
        "innate": {
            **SYSTEM_PAIR,
            "better": Column("Number of topics on which the first is innately better."),
            "worse": Column("Number of topics on which the first is innately worse."),
            "same": Column("Number of topics on which both have the same grades, rank by rank."),
            "open": Column("Number of topics on which measures may differ."),
            "p": Column(
                "p-value of the exact two-sided sign test of better and worse.", pvalue=True
            ),
        },
        "agreement": {
            "measure": Column("Text form of the measure.", key=True),
            "ordered": Column("Number of pairs of rankings with an innate order."),
            "agrees": Column(
                "Number of innately ordered pairs that the measure orders in the same way."
            ),
            "ties": Column("Number of innately ordered pairs that the measure ties."),
            "against": Column(
                "Number of innately ordered pairs that the measure orders the opposite way."
            ),
            "open": Column("Number of pairs of different rankings without an innate order."),
            "decides": Column("Number of pairs without an innate order that the measure orders."),
        },
    }

    def _proportions(self) -> tuple[int, Floats]:
        """Return the number of pairs, and proportions that are ordered, the same and open."""
        n_better, n_worse, n_same, n_open = (int(self.pairs[name].sum()) for name in ORDERS)
        n_pairs = n_better + n_worse + n_same + n_open
        return n_pairs, np.array([n_better + n_worse, n_same, n_open]) / max(1, n_pairs)

    @property
    def verdict(self) -> tuple[str, ...]:
        n_pairs, (ordered, same, undetermined) = self._proportions()
        if not n_pairs:
            return ()
        measure_sentence = ""
        max_against: Any = self.agreement["against"].max()
        if max_against == 0:
            measure_sentence = " No measure in this study contradicts that order."
        elif max_against is not None:
            worst_names = names_or_count(
                names_with_value(self.agreement, "against", max_against), "measure"
            )
            n_ordered = self.agreement["ordered"][0]
            measure_sentence = (
                f" That order is contradicted most often by {worst_names}:"
                f" {max_against:,} of {n_ordered:,}."
            )
        return (
            f"In {percent(ordered)} of the pairs of rankings one is better by all measures; in"
            f" {percent(undetermined)} measures may disagree, and in {percent(same)} the rankings"
            f" are the same.{measure_sentence}",
            f"Only the first {counted(self.depth, 'rank')} count; unjudged documents count as not"
            " relevant.",
        )

    def heading(self) -> list[str]:
        n_pairs, (ordered, same, undetermined) = self._proportions()
        return [
            f"{self.systems} systems, {self.topics} topics, {self.depth} ranks; of {n_pairs:,}"
            f" pairs of rankings {percent(ordered)} have an innate order, {percent(same)} are the"
            f" same, {percent(undetermined)} are open"
        ]


def innate_orders(
    judged: JudgedRuns, depth: int = 10, measures: str | Measure | Iterable[str | Measure] = ()
) -> InnateOrders:
    r"""Count the topics on which one of two rankings is better by all measures.

    A ranking improves if a document is replaced by a more relevant document, or swapped with a more
    relevant document below it. If such steps lead from one ranking to another, every measure that
    rewards both kinds of steps orders the two in this way, or ties them: the order is innate.
    Otherwise measures may disagree.

    .. math:: r \preceq s \iff |\{j \le k : r_j \ge a\}| \le |\{j \le k : s_j \ge a\}|
       \quad \text{for all ranks } k \text{ and grades } a

    Source: Moffat and Mackenzie (2024) for the concept, and for the sign test over topics with an
    innate order; Ferrante, Ferro and Fuhr (2021), section 3.2, for the order by replacement and
    swap.

    Parameters
    ----------
    judged
        Judged runs of :func:`cranfield.judge`, of at least two systems. Unjudged documents, and
        ranks without a document, count as not relevant.
    depth
        Number of ranks to consider.
    measures
        Measures, or their text forms, to compare with the innate order. Their cutoff should be at
        most `depth`, as the innate order does not depend on deeper ranks.

    Raises
    ------
    PolicyError, CranfieldError
        For an argument other than judged runs, a depth below 1, or one system.

    Notes
    -----
    The sign test excludes topics on which rankings are the same or have no innate order. It assumes
    that topics are drawn independently, and concerns only topics with an innate order; p-values are
    not corrected for multiple comparisons. A measure can contradict the order (`against`) if it
    does not reward both kinds of steps, uses more ranks, or divides by a quantity in which the
    rankings differ.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> study = innate_orders(cf.judge(covid.runs[:3], covid.qrels), 10, ["P@10", "nDCG@10"])
    >>> study.agreement["against"].to_list()
    [0, 0]
    >>> [(row["better"], row["worse"], row["open"]) for row in study.pairs.to_dicts()]
    [(10, 13, 7), (12, 14, 10), (15, 13, 7)]
    """
    if not isinstance(judged, JudgedRuns):
        raise PolicyError(f"expected judged runs of judge(), got {type(judged).__name__}")
    check_whole("depth", depth, 1)
    n_topics, n_systems = judged.shape
    if n_systems < 2:
        raise CranfieldError(f"innate orders require at least two systems, got {n_systems}")
    first, second = np.triu_indices(n_systems, 1)
    grades = judged.grades_by_rank(int(depth))
    pair_orders = order_pairs(grades, first, second)
    counts = {name: (pair_orders == code).sum(axis=0) for name, code in ORDERS.items()}
    is_ordered, is_open = np.abs(pair_orders) == 1, pair_orders == OPEN
    has_no_measures = isinstance(measures, Sized) and not len(measures)
    evaluation = {} if has_no_measures else score(judged, measures)
    rows = []
    for name, scores in evaluation.items():
        preferred = preference_signs(oriented_values([scores])[0], first, second)
        products = (preferred * pair_orders)[is_ordered]
        n_decided = (np.abs(preferred[is_open]) == 1).sum()
        decision_counts = [is_ordered.sum(), *((products == sign).sum() for sign in (1, 0, -1))]
        rows.append((name, *map(int, (*decision_counts, is_open.sum(), n_decided))))
    columns = dict.fromkeys(InnateOrders.columns["agreement"], pl.Int64)
    return InnateOrders(
        {},
        systems=n_systems,
        topics=n_topics,
        depth=int(depth),
        pairs=pl.DataFrame(
            {
                **pair_columns(judged.systems),
                **counts,
                "p": sign_pvalue(counts["better"], counts["worse"]),
            }
        ),
        agreement=pl.DataFrame(rows, {**columns, "measure": pl.String}, orient="row"),
    )
