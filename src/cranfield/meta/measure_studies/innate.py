"""Innate orders: topics on which every measure prefers the same one of two rankings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Ints
from cranfield.base.errors import CranfieldError, PolicyError, check_whole
from cranfield.base.text import counted, names_or_count
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.evaluation.evaluation import score
from cranfield.measures import Measure
from cranfield.meta.measure_studies.correlations import sign_pvalue, signs
from cranfield.meta.study import Study, attaining, percent
from cranfield.result import Column, Columns
from cranfield.scales.interval_scaled import padded

OPEN = 2
"""Code of two rankings without an innate order."""

COUNTS = {"better": 1, "worse": -1, "same": 0, "open": OPEN}
"""How two rankings of a topic may be ordered, and the code of each case."""


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
            "first": Column("First system of the pair.", key=True),
            "second": Column("Second system of the pair.", key=True),
            "better": Column("Number of topics on which the first is innately better."),
            "worse": Column("Number of topics on which it is innately worse."),
            "same": Column("Number of topics on which both have the same grades, rank by rank."),
            "open": Column("Number of topics on which measures may differ."),
            "p": Column(
                "p-value of the exact two-sided sign test of better and worse.", pvalue=True
            ),
        },
        "agreement": {
            "measure": Column("Text form of the measure.", key=True),
            "ordered": Column("Number of pairs of rankings with an innate order."),
            "agrees": Column("Number of these that the measure orders in the same way."),
            "ties": Column("Number of these that it ties."),
            "against": Column("Number of these that it orders the other way round."),
            "open": Column("Number of pairs of rankings without an innate order that differ."),
            "decides": Column("Number of these that the measure orders."),
        },
    }

    @property
    def verdict(self) -> tuple[str, ...]:
        counts = {name: int(self.pairs[name].sum()) for name in COUNTS}
        ordered, total = counts["better"] + counts["worse"], sum(counts.values())
        if not total:
            return ()
        measures = ""
        most: Any = self.agreement["against"].max()
        if most == 0:
            measures = " No measure here goes against that order."
        elif most is not None:
            worst = names_or_count(attaining(self.agreement, "against", most), "measure")
            measures = f" Most often against that order: {worst}, in {most:,} of {ordered:,}."
        return (
            f"In {percent(ordered / total)} of the pairs of rankings one is better whatever the"
            f" measure; in {percent(counts['open'] / total)} measures are free to differ, and in"
            f" {percent(counts['same'] / total)} the rankings are the same.{measures}",
            f"Only the first {counted(self.depth, 'rank')} count; unjudged documents count as not"
            f" relevant.",
        )

    def heading(self) -> list[str]:
        counts = [int(self.pairs[name].sum()) for name in COUNTS]
        shares = 100 * np.array([counts[0] + counts[1], counts[2], counts[3]]) / sum(counts)
        return [
            f"{self.systems} systems, {self.topics} topics, {self.depth} ranks; of"
            f" {sum(counts):,} pairs of rankings {shares[0]:.1f}% are ordered innately,"
            f" {shares[1]:.1f}% the same, {shares[2]:.1f}% open"
        ]


def innate_orders(
    judged: JudgedRuns,
    depth: int = 10,
    measures: str | Measure | Iterable[str | Measure] = (),
) -> InnateOrders:
    r"""Count the topics on which one of two rankings is better by any measure.

    A ranking gets better when a document gives way to a more relevant one, or changes places with
    a more relevant one below it. Where such steps lead from one ranking to another, every measure
    that rewards them both orders the two likewise, or ties them: the order is innate. Elsewhere
    measures are free to differ.

    .. math:: r \preceq s \iff |\{j \le k : r_j \ge a\}| \le |\{j \le k : s_j \ge a\}|
       \quad \text{for all ranks } k \text{ and grades } a

    Sources: the idea, and the sign test over topics that are innately ordered, Moffat and Mackenzie
    (2024); the order by replacement and swap, Ferrante, Ferro and Fuhr (2021), section 3.2.

    Parameters
    ----------
    judged
        The outcome of :func:`cranfield.judge`, of two systems at least. Unjudged documents and
        ranks where nothing was retrieved count as not relevant.
    depth
        Number of top ranks that are considered.
    measures
        Measures, or their texts, that are compared with the innate order; cut them off at `depth`
        or above, as they may else see what it does not.

    Raises
    ------
    PolicyError, CranfieldError
        For an argument other than judged runs, a depth below 1, or one system.

    Notes
    -----
    The sign test excludes topics that are the same or open. It assumes that topics are drawn
    independently, and is about topics with an innate order only; p-values are not corrected for
    multiple comparisons. A measure that goes `against` the order does not reward both steps, or
    sees more
    ranks, or divides by something that the rankings differ in.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> found = innate_orders(cf.judge(covid.runs[:3], covid.qrels), 10, ["P@10", "nDCG@10"])
    >>> found.agreement["against"].to_list()
    [0, 0]
    >>> [(row["better"], row["worse"], row["open"]) for row in found.pairs.to_dicts()]
    [(10, 13, 7), (12, 14, 10), (15, 13, 7)]
    """
    if not isinstance(judged, JudgedRuns):
        raise PolicyError(f"expected judged runs of judge(), got {type(judged).__name__}")
    check_whole("depth", depth, 1)
    topics, systems = judged.shape
    if systems < 2:
        raise CranfieldError(f"innate orders require at least two systems, got {systems}")
    first, second = np.triu_indices(systems, 1)
    order = _orders(padded(judged.top(int(depth)), int(depth), None).reshape(topics, systems, -1))
    pair_orders = order[:, first, second]
    counts = {name: (pair_orders == code).sum(axis=0) for name, code in COUNTS.items()}
    names = pl.Series(judged.systems, dtype=pl.String)
    pairs = {
        "first": names.gather(first),
        "second": names.gather(second),
        **counts,
        "p": sign_pvalue(counts["better"], counts["worse"]),
    }
    ordered, is_open = np.abs(pair_orders) == 1, pair_orders == OPEN
    none = isinstance(measures, Sized) and not len(measures)
    evaluation = {} if none else score(judged, measures)
    rows = []
    for name, scores in evaluation.items():
        values = -scores.values if scores.lower_is_better else scores.values
        preferred = signs(values, first, second)
        likewise = (preferred * pair_orders)[ordered]
        rows.append(
            {
                "measure": name,
                "ordered": int(ordered.sum()),
                "agrees": int((likewise > 0).sum()),
                "ties": int((likewise == 0).sum()),
                "against": int((likewise < 0).sum()),
                "open": int(is_open.sum()),
                "decides": int((np.abs(preferred[is_open]) == 1).sum()),
            }
        )
    columns = dict.fromkeys(InnateOrders.columns["agreement"], pl.Int64)
    return InnateOrders(
        {},
        systems=systems,
        topics=topics,
        depth=int(depth),
        pairs=pl.DataFrame(pairs),
        agreement=pl.DataFrame(rows, {**columns, "measure": pl.String}),
    )


def _orders(grades: Ints) -> Ints:
    """Order of all pairs of rankings, from grades by rank, shape (topics, systems, ranks).

    1 where the first is above, -1 where it is below, 0 where both are the same, else `OPEN`; shape
    (topics, systems, systems).
    """
    topics, systems, _ = grades.shape
    below = np.ones((topics, systems, systems), dtype=np.bool_)
    for grade in range(1, int(grades.max(initial=0)) + 1):
        counts = np.cumsum(grades >= grade, axis=2, dtype=np.int32)
        for column in np.moveaxis(counts, 2, 0):
            below &= column[:, :, None] <= column[:, None, :]
    above = np.swapaxes(below, 1, 2)
    apart = above.astype(np.int64) - below
    return np.asarray(np.where(below | above, apart, OPEN))
