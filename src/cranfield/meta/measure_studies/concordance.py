"""Studies of pairs of runs: innate orders, and concordance of measures with a gold standard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.errors import CranfieldError, PolicyError, check_choice, check_integer, quote
from cranfield.base.text import format_names, inflect
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.evaluation.evaluation import score
from cranfield.measures import Measure
from cranfield.meta.measure_studies.correlations import (
    compute_preference_signs,
    name_pairs,
    orient_values,
    read_measure_scores,
)
from cranfield.meta.study import MEASURE_PAIR, Study, find_names, format_percent
from cranfield.result import Column, Columns
from cranfield.scores import Scores
from cranfield.scores.one_measure import align_scores
from cranfield.significance.differences import PAIR_COLUMNS
from cranfield.significance.pairwise.ranks import compute_binomial_pvalues
from cranfield.significance.preferences import OPEN, order_pairs
from cranfield.tabular import Table

ORDERS = {"better": 1, "worse": -1, "same": 0, "open": OPEN}
"""Possible innate orders of two rankings, with their codes in `order_pairs`."""


class InnateOrders(Study):
    """Numbers of topics on which two rankings have an innate order; see :func:`innate_orders`.

    Attributes
    ----------
    n_systems, n_topics, depth
        Numbers of systems, topics, and ranks considered.
    pairs, agreement
        The tables `innate` and `agreement`.
    """

    name = "innate-orders"
    reference: ClassVar[str] = "Moffat and Mackenzie (2024); Ferrante, Ferro and Fuhr (2021)"
    table_attributes: ClassVar[Sequence[str]] = ("pairs", "agreement")
    titles: ClassVar[Mapping[str, str]] = {
        "innate": "Topics on which one of two systems is innately better",
        "agreement": "Measures and the innate order of two rankings on a topic",
    }
    columns: ClassVar[Mapping[str, Columns]] = {
        "innate": {
            **PAIR_COLUMNS,
            "better": Column(
                "Number of topics on which the first system is innately better: no measure that"
                " rewards more relevant documents and higher ranks prefers the second."
            ),
            "worse": Column("Number of topics on which the first system is innately worse."),
            "same": Column(
                "Number of topics on which both systems have the same grades, rank by rank."
            ),
            "open": Column(
                "Number of topics without an innate order, on which measures may disagree."
            ),
            "p": Column(
                "p-value of the exact two-sided sign test of `better` and `worse`.", is_pvalue=True
            ),
        },
        "agreement": {
            "measure": Column("Measure.", key=True),
            "ordered": Column(
                "Number of pairs of rankings with an innate order: one is at least as good"
                " by every measure that rewards more relevant documents and higher ranks."
            ),
            "agrees": Column(
                "Number of pairs with an innate order that the measure orders in the same way."
            ),
            "ties": Column("Number of pairs with an innate order that the measure ties."),
            "against": Column(
                "Number of pairs with an innate order that the measure orders in the opposite way."
            ),
            "open": Column("Number of pairs of different rankings without an innate order."),
            "decides": Column("Number of pairs without an innate order that the measure orders."),
        },
    }

    def _format_proportions(self) -> tuple[int, list[str]]:
        """Return the number of pairs, and percentages that are ordered, the same and open."""
        n_better, n_worse, n_same, n_open = (int(self.pairs[name].sum()) for name in ORDERS)
        n_pairs = n_better + n_worse + n_same + n_open
        counts = (n_better + n_worse, n_same, n_open)
        return n_pairs, [format_percent(count / max(1, n_pairs)) for count in counts]

    @property
    def verdict(self) -> tuple[str, ...]:
        n_pairs, (ordered, same, undetermined) = self._format_proportions()
        if not n_pairs:
            return ()
        measure_sentence = ""
        max_against: Any = self.agreement["against"].max()
        if max_against == 0:
            measure_sentence = " No measure in this study contradicts such an order."
        elif max_against is not None:
            worst_measures = find_names(self.agreement, "against", max_against)
            measure_sentence = (
                " The measure that contradicts such an order most often:"
                f" {format_names(worst_measures, 'measure')}, in {max_against:,} of"
                f" {self.agreement['ordered'][0]:,} pairs."
            )
        return (
            f"In {ordered} of the pairs of rankings, one ranking is innately better: measures that"
            f" reward relevance and higher ranks cannot prefer the other; in {undetermined},"
            f" measures may disagree; in {same}, both have the same grades at each rank."
            f"{measure_sentence}",
            f"Only the first {inflect(self.depth, 'rank')} count; unjudged documents count as not"
            " relevant.",
        )

    def heading(self) -> list[str]:
        n_pairs, (ordered, same, undetermined) = self._format_proportions()
        return [
            f"{inflect(self.n_systems, 'system')}, {inflect(self.n_topics, 'topic')},"
            f" {inflect(self.depth, 'rank')}; of {inflect(n_pairs, 'pair')} of rankings, {ordered}"
            f" have an innate order, {same} have equal grades at each rank, and"
            f" {undetermined} have no innate order"
        ]


def innate_orders(
    judged: JudgedRuns, depth: int = 10, measures: str | Measure | Iterable[str | Measure] = ()
) -> InnateOrders:
    r"""Count the topics on which one of two rankings is innately better.

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
    PolicyError, CranfieldError, MeasureError
        For an argument other than judged runs, a depth below 1, one system, or an unknown measure.

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
        raise PolicyError(
            f"expected judged runs as returned by judge(), got {type(judged).__name__}"
        )
    check_integer("depth", depth, 1)
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
        preferences = compute_preference_signs(orient_values([scores])[0], first, second)
        products = (preferences * pair_orders)[is_ordered]
        n_decided = (np.abs(preferences[is_open]) == 1).sum()
        decision_counts = [is_ordered.sum(), *((products == sign).sum() for sign in (1, 0, -1))]
        rows.append((name, *map(int, (*decision_counts, is_open.sum(), n_decided))))
    columns = dict.fromkeys(InnateOrders.columns["agreement"], pl.Int64)
    return InnateOrders(
        {},
        n_systems=n_systems,
        n_topics=n_topics,
        depth=int(depth),
        pairs=pl.DataFrame(
            {
                **name_pairs(judged.systems),
                **counts,
                "p": compute_binomial_pvalues(counts["better"], counts["worse"]),
            }
        ),
        agreement=pl.DataFrame(rows, {**columns, "measure": pl.String}, orient="row"),
    )


MARKS = ((0.01, "‡"), (0.05, "†"))
"""Significance levels, with their marks in table 2 of Sakai (2013)."""


class Concordance(Study):
    """Concordance of measures with a gold standard, for pairs of runs on which they disagree.

    Attributes
    ----------
    measures, gold
        Names of the candidate measures, and of the gold measures.
    n_systems, n_topics
        Numbers of systems and topics.
    pairs
        The table `concordance`, a row for each pair of measures.
    """

    name = "concordance"
    reference: ClassVar[str] = "Sakai (2013)"
    table_attributes: ClassVar[Sequence[str]] = ("pairs",)
    columns: ClassVar[Columns] = {
        **MEASURE_PAIR,
        "compared": Column(
            "Number of pairs of runs on a topic that have scores by both measures and by the gold"
            " standard."
        ),
        "missing": Column(
            "Number of pairs of runs on a topic that lack at least one of these scores."
        ),
        "disagreements": Column("Number of compared pairs that the two measures order oppositely."),
        "first concordant": Column(
            "Number of disagreements in which the first measure is concordant with the gold"
            " standard."
        ),
        "second concordant": Column(
            "Number of disagreements in which the second measure is concordant with the gold"
            " standard."
        ),
        "first proportion": Column(
            "`first concordant` divided by `disagreements`; null if `disagreements` is 0."
        ),
        "second proportion": Column(
            "`second concordant` divided by `disagreements`; null if `disagreements` is 0."
        ),
        "first wins": Column("Number of disagreements with only the first measure concordant."),
        "second wins": Column("Number of disagreements with only the second measure concordant."),
        "both concordant": Column("Number of disagreements in which both measures are concordant."),
        "neither": Column("Number of disagreements in which neither measure is concordant."),
        "p": Column(
            "p-value of the exact two-sided sign test of `first wins` and `second wins`; 1 if both"
            " are 0.",
            is_pvalue=True,
        ),
    }

    pairs: pl.DataFrame

    def matrix(self) -> pl.DataFrame:
        """Return the pairs as a matrix of strings, as in table 2 of Sakai (2013).

        A cell has the concordance of the row's and of the column's measure, `‡` or `†` if the sign
        test is significant at 0.01 or 0.05, and the number of disagreements.
        """
        measures = self.measures
        cells = {name: dict.fromkeys(measures[1:], "") for name in measures[:-1]}
        for row in self.pairs.iter_rows(named=True):
            mark = next((mark for alpha, mark in MARKS if row["p"] <= alpha), "")
            text = "-"
            if row["first proportion"] is not None:
                text = f"{row['first proportion']:.0%}/{row['second proportion']:.0%}{mark}"
            cells[row["first"]][row["second"]] = f"{text} ({row['disagreements']})"
        # A measure may have the name "measure".
        columns = [name if name != "measure" else "measure " for name in measures[1:]]
        rows = [(measure, *row.values()) for measure, row in cells.items()]
        return pl.DataFrame(rows, dict.fromkeys(["measure", *columns], pl.String), orient="row")

    @property
    def verdict(self) -> tuple[str, ...]:
        rows = self.pairs.filter(pl.col("disagreements") > 0)
        if rows.is_empty():
            return ()
        net_wins = pl.col("first wins") - pl.col("second wins")
        winners = [*rows.filter(net_wins > 0)["first"], *rows.filter(net_wins < 0)["second"]]
        max_wins = max(map(winners.count, self.measures))
        top_names = [name for name in self.measures if winners.count(name) == max_wins]
        subject, comparison = "none agrees", "another"
        if max_wins:
            verb = "agrees" if len(top_names) == 1 else "each agree"
            subject = f"{format_names(top_names, 'measure')} {verb}"
            comparison = f"{max_wins:,} of the {inflect(len(self.measures) - 1, 'other')}"
        alpha = MARKS[-1][0]
        n_differ = rows.filter(pl.col("p") <= alpha).height
        return (
            f"Where two measures disagree, {subject} with {' and '.join(self.gold)} more often than"
            f" {comparison}. Significantly different at {alpha:g} (sign test, not corrected):"
            f" {n_differ:,} of {inflect(rows.height, 'pair')} of measures.",
            "These p-values are too small, because pairs of runs have runs and topics in common;"
            " the gold standard itself is not tested.",
        )

    def heading(self) -> list[str]:
        return [
            f"{inflect(len(self.measures), 'measure')} against {' and '.join(self.gold)},"
            f" {inflect(self.n_systems, 'system')}, {inflect(self.n_topics, 'topic')}"
        ]

    def tables(self) -> list[Table]:
        title = (
            f"Concordance with {' and '.join(self.gold)} where two measures disagree: row's measure"
            " / column's measure (number of disagreements); ‡: p <= 0.01, †: p <= 0.05 by the sign"
            " test"
        )
        matrix = self.matrix()
        # The column of names has no title, as a measure may have the same name.
        return [Table(title, ["", *matrix.columns[1:]], [list(row) for row in matrix.rows()])]


def concordance(scores_by_measure: Any, gold: Any) -> Concordance:
    r"""Compare the concordance of measures with a gold standard.

    The gold standard is a measure that is simple enough to be trusted for one property, such as
    intent recall for diversity or precision for relevance. It is used only where two candidate
    measures disagree on which of two runs is better on a topic.

    .. math:: \mathrm{Conc}(M_1 | M_2, M^*) =
        \frac{|\{d : \Delta M_1 \Delta M_2 < 0 \wedge \Delta M_1 \Delta M^* \ge 0\}|}
        {|\{d : \Delta M_1 \Delta M_2 < 0\}|}

    over all pairs of runs on all topics, d. With several gold measures, the condition must hold for
    each of them.

    Source: Sakai (2013), section 5.3, figure 17 and table 2; footnote 21 for the sign test on the
    disagreements in which exactly one measure is concordant.

    Parameters
    ----------
    scores_by_measure
        As for :func:`discriminative_power`, with the same topics and systems for all measures.
    gold
        The gold standard: the name of one of the measures, which is then not a candidate;
        :class:`Scores`; several of these; or a mapping of names to scores.

    Raises
    ------
    PolicyError
        For no, an unknown or a repeated gold measure, fewer than two candidates, scores by shard.
    CranfieldError
        For measures with different topics or systems, infinite scores, or a single system.

    Notes
    -----
    A gold measure that ties two runs is concordant with both candidates, as in figure 17. Scores on
    a topic that differ by at most 2**-44 of the largest absolute score on it are tied. Scores of
    measures for which lower is better are negated. If a measure has no score for a pair of runs on
    a topic, that pair is excluded for all pairs of measures with it, and counted as missing.

    Pairs of runs have runs and topics in common and are not independent. The sign test treats them
    as independent, as in the source, so that its p-values are too small.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs, covid.qrels, ["nDCG@10", "RR", "P@5"])
    >>> study = concordance(ev, "P@5")
    >>> row = study.pairs.row(0, named=True)
    >>> row["disagreements"], row["first concordant"], row["second concordant"]
    (634, 526, 330)
    >>> print(study.matrix().row(0))
    ('nDCG@10', '83%/52%‡ (634)')
    """
    candidates = read_measure_scores(scores_by_measure)
    gold_scores = _read_gold(gold, scores_by_measure, candidates)
    if not gold_scores:
        raise PolicyError("expected at least one gold measure, got none")
    candidates = {name: table for name, table in candidates.items() if name not in gold_scores}
    if len(candidates) < 2:
        raise PolicyError(
            f"the concordance test requires at least two measures besides the gold"
            f" measure, got {len(candidates)}"
        )
    names = tuple(candidates)
    all_scores: dict[Any, Scores] = {**candidates}
    all_scores |= {("gold", name): table for name, table in gold_scores.items()}
    scores = list(align_scores(all_scores, format_name=_describe_name).values())
    n_topics, n_systems = scores[0].values.shape
    if n_systems < 2:
        raise CranfieldError(f"the concordance test requires at least two systems, got {n_systems}")
    return Concordance(
        {},
        measures=names,
        gold=tuple(gold_scores),
        n_systems=n_systems,
        n_topics=n_topics,
        pairs=_compare_pairs(names, scores),
    )


def _describe_name(name: Any) -> str:
    return f"the gold measure {quote(name[1])}" if isinstance(name, tuple) else quote(name)


def _read_gold(gold: Any, data: Any, candidates: Mapping[str, Scores]) -> dict[str, Scores]:
    if isinstance(gold, Mapping):
        return read_measure_scores(gold)
    scores: dict[str, Scores] = {}
    items = [gold] if isinstance(gold, (str, Measure, Scores)) else gold
    for index, item in enumerate(items, 1):
        name = item.measure or f"gold {index}" if isinstance(item, Scores) else None
        if name is None:
            name = _find_candidate(str(item), data, candidates)
        if name in scores:
            raise PolicyError(f"expected distinct gold measures, got {quote(name)} more than once")
        scores[name] = item if isinstance(item, Scores) else candidates[name]
    return scores


def _find_candidate(name: str, data: Any, candidates: Mapping[str, Scores]) -> str:
    """Return the canonical name of a candidate measure."""
    if name not in candidates and isinstance(data, Mapping):
        with suppress(KeyError):
            scores = data[name]
            name = next(label for label, table in candidates.items() if table is scores)
    check_choice("measure", name, candidates)
    return name


def _compare_pairs(names: tuple[str, ...], scores: list[Scores]) -> pl.DataFrame:
    """Compare pairs of candidates; `scores` are of the candidates, then of the gold measures."""
    # Counts are sums of products of indicators over pairs of runs: matrix products, which are exact
    # in floats below 2**53. Rows are the first candidate, columns the second.
    values = orient_values(scores)
    n_measures = len(names)
    first, second = np.triu_indices(values.shape[2], 1)
    comparisons, disagreements, matches, joint_matches = np.zeros((4, n_measures, n_measures))
    for topic in range(values.shape[1]):
        preferences = compute_preference_signs(values[:, topic], first, second)
        gold_signs = preferences[n_measures:]
        has_gold = ~np.isnan(gold_signs).any(axis=0)
        has_score = np.where(has_gold, ~np.isnan(preferences[:n_measures]), 0.0)
        prefers_first = np.where(has_gold, preferences[:n_measures] > 0, 0.0)
        prefers_second = np.where(has_gold, preferences[:n_measures] < 0, 0.0)
        is_first_concordant = (gold_signs >= 0).all(axis=0)
        is_second_concordant = (gold_signs <= 0).all(axis=0)
        comparisons += has_score @ has_score.T
        disagreements += prefers_first @ prefers_second.T + prefers_second @ prefers_first.T
        matches += (prefers_first * is_first_concordant) @ prefers_second.T + (
            prefers_second * is_second_concordant
        ) @ prefers_first.T
        products = (prefers_first * (is_first_concordant & is_second_concordant)) @ prefers_second.T
        joint_matches += products + products.T
    i, j = np.triu_indices(n_measures, 1)
    matrices = (comparisons, disagreements, matches, matches.T, joint_matches)
    n_compared, n_disagree, n_first, n_second, n_both = (
        matrix[i, j].astype(np.int64) for matrix in matrices
    )
    first_wins, second_wins = n_first - n_both, n_second - n_both
    with np.errstate(invalid="ignore"):
        proportions = n_first / n_disagree, n_second / n_disagree
    return pl.DataFrame(
        {
            **name_pairs(names),
            "compared": n_compared,
            "missing": values.shape[1] * first.size - n_compared,
            "disagreements": n_disagree,
            "first concordant": n_first,
            "second concordant": n_second,
            "first proportion": proportions[0],
            "second proportion": proportions[1],
            "first wins": first_wins,
            "second wins": second_wins,
            "both concordant": n_both,
            "neither": n_disagree - first_wins - n_second,
            "p": compute_binomial_pvalues(first_wins, second_wins),
        }
    ).fill_nan(None)
