"""Innate orders: topics on which all measures prefer the same ranking of two."""

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
    higher_is_better,
    name_pairs,
    sign_pvalue,
    signs,
)
from cranfield.meta.study import SYSTEM_PAIR, Study, names_with_value, percent
from cranfield.result import Column, Columns
from cranfield.significance.preferences import OPEN, order_pairs

COUNTS = {"better": 1, "worse": -1, "same": 0, "open": OPEN}
"""Possible orders of two rankings of a topic, with their codes."""


class InnateOrders(Study):
    """Topics on which two rankings have the same order by any measure.

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
                "Number of innately ordered pairs that the measure orders the other way round."
            ),
            "open": Column("Number of pairs of rankings without an innate order that differ."),
            "decides": Column(
                "Number of the pairs without an innate order that the measure orders."
            ),
        },
    }

    def _proportions(self) -> tuple[int, Floats]:
        """Return the number of pairs of rankings, and the proportions ordered, same and open."""
        n_better, n_worse, n_same, n_open = (int(self.pairs[name].sum()) for name in COUNTS)
        total = n_better + n_worse + n_same + n_open
        return total, np.array([n_better + n_worse, n_same, n_open]) / max(1, total)

    @property
    def verdict(self) -> tuple[str, ...]:
        total, (ordered, tied, open_) = self._proportions()
        if not total:
            return ()
        measures = ""
        most_against: Any = self.agreement["against"].max()
        if most_against == 0:
            measures = " No measure in this study contradicts that order."
        elif most_against is not None:
            worst_names = names_or_count(
                names_with_value(self.agreement, "against", most_against), "measure"
            )
            n_ordered = self.agreement["ordered"][0]
            measures = (
                f" That order is contradicted most often by {worst_names}:"
                f" {most_against:,} of {n_ordered:,}."
            )
        return (
            f"In {percent(ordered)} of the pairs of rankings one is better whatever the measure; in"
            f" {percent(open_)} measures may disagree, and in {percent(tied)} the rankings"
            f" are the same.{measures}",
            f"Only the first {counted(self.depth, 'rank')} count; unjudged documents count as not"
            f" relevant.",
        )

    def heading(self) -> list[str]:
        total, (ordered, tied, open_) = self._proportions()
        return [
            f"{self.systems} systems, {self.topics} topics, {self.depth} ranks; of {total:,} pairs"
            f" of rankings {percent(ordered)} are ordered innately, {percent(tied)} the same,"
            f" {percent(open_)} open"
        ]


def innate_orders(
    judged: JudgedRuns,
    depth: int = 10,
    measures: str | Measure | Iterable[str | Measure] = (),
) -> InnateOrders:
    r"""Count the topics on which one of two rankings is better by any measure.

    A ranking improves if a document is replaced by a more relevant one, or swapped with a more
    relevant one below it. If such steps lead from one ranking to another, every measure that
    rewards both kinds of steps orders the two in this way, or ties them: the order is innate.
    Otherwise measures may differ.

    .. math:: r \preceq s \iff |\{j \le k : r_j \ge a\}| \le |\{j \le k : s_j \ge a\}|
       \quad \text{for all ranks } k \text{ and grades } a

    Sources: the idea, and the sign test over topics that are innately ordered, Moffat and Mackenzie
    (2024); the order by replacement and swap, Ferrante, Ferro and Fuhr (2021), section 3.2.

    Parameters
    ----------
    judged
        The outcome of :func:`cranfield.judge`, of at least two systems. Unjudged documents and
        ranks where nothing was retrieved count as not relevant.
    depth
        Number of top ranks that are considered.
    measures
        Measures, or their texts, that are compared with the innate order; their cutoff should be at
        most `depth`, as deeper ranks are not part of the innate order.

    Raises
    ------
    PolicyError, CranfieldError
        For an argument other than judged runs, a depth below 1, or one system.

    Notes
    -----
    The sign test excludes topics that are the same or open. It assumes that topics are drawn
    independently, and is about topics with an innate order only; p-values are not corrected for
    multiple comparisons. A measure `against` the order does not reward both steps, or
    uses more ranks, or divides by a quantity in which the rankings differ.

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
    topics, systems = judged.shape
    if systems < 2:
        raise CranfieldError(f"innate orders require at least two systems, got {systems}")
    first, second = np.triu_indices(systems, 1)
    grades = judged.grades_by_rank(int(depth))
    pair_orders = order_pairs(grades, first, second)
    counts = {name: (pair_orders == code).sum(axis=0) for name, code in COUNTS.items()}
    is_ordered, is_open = np.abs(pair_orders) == 1, pair_orders == OPEN
    no_measures = isinstance(measures, Sized) and not len(measures)
    evaluation = {} if no_measures else score(judged, measures)
    rows = []
    for name, scores in evaluation.items():
        preferred = signs(higher_is_better([scores])[0], first, second)
        products = (preferred * pair_orders)[is_ordered]
        n_decided = (np.abs(preferred[is_open]) == 1).sum()
        numbers = [is_ordered.sum(), *((products == sign).sum() for sign in (1, 0, -1))]
        rows.append((name, *map(int, (*numbers, is_open.sum(), n_decided))))
    columns = dict.fromkeys(InnateOrders.columns["agreement"], pl.Int64)
    return InnateOrders(
        {},
        systems=systems,
        topics=topics,
        depth=int(depth),
        pairs=pl.DataFrame(
            {
                **name_pairs(judged.systems),
                **counts,
                "p": sign_pvalue(counts["better"], counts["worse"]),
            }
        ),
        agreement=pl.DataFrame(rows, {**columns, "measure": pl.String}, orient="row"),
    )
