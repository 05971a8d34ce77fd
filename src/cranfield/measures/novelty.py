r"""Measures of several intents: intent-aware measures and novelty-biased gains.

An intent-aware measure is the mean of a measure over the intents of a topic, weighted by their
probabilities (Agrawal and others 2009; Sakai 2013, equation (26)). Intents without a relevant
document do not count; the probabilities of the other intents, if they were read from a table, then
sum to less than 1.

The novelty-biased gain of a document is a sum over the intents to which it is relevant; each
earlier answer to an intent (document relevant to it) reduces the value of the next:

.. math:: ng(r) = \sum_i Pr(i|q) \, I_i(r) \, (1 - \alpha)^{C_i(r-1)}

where :math:`I_i(r)` is 1 if the document at rank r is relevant to intent i, else 0, and
:math:`C_i(r-1)` is the number of documents above rank r that are relevant to intent i (Sakai 2013,
equation (25); with probabilities Clarke and others 2011). Without a table of intents, all are
equally probable. The measures sum these gains, discounted by rank, and, unless `over='none'`,
divide by a maximum: the sum for documents that each answer every intent (`over='perfect'`, and
NRBP), or for the best ranking of the judged documents. As finding the best ranking is NP-complete,
it is built greedily; of documents with the same gain, the last by id is chosen.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.base.spec import OPEN_PROBABILITY, choice, integer, number, optional, parameter
from cranfield.collection.intents import Intents
from cranfield.collection.judged.judged_runs import IntentBlock, JudgedRuns, average_by_intent
from cranfield.collection.judged.rows import Rows, divide, number_rows
from cranfield.measures.base import Measure, check_ranks, measure
from cranfield.measures.gains import MAX_EXPONENT, NONNEGATIVE_GAINS, P_DOC, Gain, find_max_grade
from cranfield.measures.grammar import find_innermost_measure
from cranfield.measures.ranked.average_precision import AveragePrecision
from cranfield.measures.ranked.ntcir import PPlusMeasure, QMeasure
from cranfield.measures.ranked.precision import REL, Precision
from cranfield.measures.users.stopping import compute_stopping_probabilities
from cranfield.measures.wrapping import Wrapper, wrapper_measure

_FAMILY = "diversity"
_NEEDS = "judgments by subtopic"


class IntentMeasure(Measure, family=_FAMILY, inputs=("intents",), needs=_NEEDS):
    """Base class of measures with a lowest grade that is relevant to an intent."""

    rel: int = parameter(1, REL, "lowest grade that is relevant to an intent")


def average_over_intents(inner: Measure, judged: JudgedRuns, name: str) -> Floats:
    """Average a measure over the intents, weighted by their probability."""
    # Cutting runs off before splitting them by intent is faster and does not change scores.
    if inner.cutoff is not None and not inner.judged_only:
        judged = judged.top(inner.cutoff)
    rel = int(getattr(inner, "rel", 1))
    return average_by_intent(judged, name, rel, lambda intent: inner.score(intent.judged))


@wrapper_measure(
    "IA",
    summary="Intent-aware version of a measure: its mean over the intents of the topic.",
    formula=r"\sum_i Pr(i|q) \, M_i",
    source="Agrawal and others (2009)",
    needs=_NEEDS,
    elsewhere={"NTCIREVAL": "IA-M@k", "ndeval": "MAP-IA for IA(AP), P-IA@k for IA(P@k)"},
    family=_FAMILY,
    inputs=("intents",),
)
class IntentAwareMeasure(Wrapper):
    """The intent-aware version of a measure.

    Examples
    --------
    >>> import cranfield as cf
    >>> rows = [("q", "a", 1, "books"), ("q", "b", 2, "films"), ("q", "a", 0, "films")]
    >>> qrels = [dict(zip(("topic", "doc", "grade", "subtopic"), row)) for row in rows]
    >>> ev = cf.evaluate({"q": {"a": 2, "b": 1}}, qrels, ["IA(RR)"],
    ...                  intents={"q": {"books": 0.75, "films": 0.25}})
    >>> ev["IA(RR)"].values.tolist()
    [[0.875]]
    """

    _own_input, _requires_mean = "intents", True

    def check(self, inner: Measure) -> None:
        super().check(inner)
        has_other_inputs = not set(inner.info.inputs) <= {"lengths"}
        if inner.info.family == "fairness" or not inner.scores_cut_rankings or has_other_inputs:
            raise MeasureError(
                f"IA: expected a measure whose inputs can be split by intent, got {inner}"
            )

    def values(self, judged: JudgedRuns) -> Floats:
        return average_over_intents(self.inner, judged, str(self))


@measure(
    "AP_IA",
    aliases=("MAP_IA",),
    summary="Intent-aware average precision.",
    formula=r"\sum_i Pr(i|q) \, AP_i",
    source="Agrawal and others (2009)",
    elsewhere={"ndeval": "MAP-IA", "ir_measures": "AP_IA", "equal to": "IA(AP)"},
)
class AveragePrecisionIA(IntentMeasure):
    """IA(AP)."""

    def values(self, judged: JudgedRuns) -> Floats:
        return average_over_intents(AveragePrecision(rel=self.rel), judged, str(self))


@measure(
    "P_IA",
    summary="Intent-aware precision.",
    formula=r"\sum_i Pr(i|q) \, P_i@k",
    source="Agrawal and others (2009)",
    at_usage="required",
    elsewhere={"ndeval": "P-IA@k", "ir_measures": "P_IA@k", "equal to": "IA(P@k)"},
)
class PrecisionIA(IntentMeasure):
    """IA(P@k)."""

    def values(self, judged: JudgedRuns) -> Floats:
        return average_over_intents(Precision(rel=self.rel, cutoff=self.cutoff), judged, str(self))


@measure(
    "StRecall",
    aliases=("IRec", "I_rec"),
    summary="Subtopic recall: proportion of intents for which a relevant document is retrieved.",
    formula=r"\frac{|\{i : \exists r \le k : I_i(r) = 1\}|}{|\{i\}|}",
    source="Zhai, Cohen and Lafferty (2003)",
    elsewhere={
        "ndeval": "strec@k",
        "ir_measures": "StRecall@k",
        "NTCIREVAL": "I-rec@k; I-rec@n is upto='intents'",
    },
)
class SubtopicRecall(IntentMeasure):
    """Subtopic recall; all intents with a relevant document have equal weight."""

    upto: str = parameter(
        "list",
        choice("list", "intents"),
        "last rank to consider: 'list', the cutoff, or the end of a shorter list; 'intents', the"
        " number of intents of the topic with a relevant document",
    )

    def values(self, judged: JudgedRuns) -> Floats:
        intents = judged.intents(str(self), self.rel)
        rows = judged.relevant(min(self.rel, 1))
        if self.upto == "intents":
            rows = rows.where(rows.rank <= intents.n_intents[rows.topic, 0])
        row, intent = intents.find_relevant_pairs(rows.judgment, self.rel)
        is_counted = intents.exists[rows.topic[row], intent]
        n_intents = intents.exists.shape[1]
        answers = np.unique(rows.cell[row[is_counted]] * n_intents + intent[is_counted])
        n_answered = np.bincount(answers // n_intents, minlength=judged.shape[0] * judged.shape[1])
        return divide(n_answered.reshape(judged.shape[::-1]).T.astype(float), intents.n_intents)


@measure(
    "PQ",
    summary="Q-measure for informational intents, P+ for navigational intents, averaged.",
    formula=r"\sum_{i \text{ inf}} Pr(i|q) \, Q_i + \sum_{j \text{ nav}} Pr(j|q) \, P^+_j",
    source="Sakai (2012)",
    needs=_NEEDS + " and types of intents",
    elsewhere={"NTCIREVAL": "PplusQ@k", "in the papers": "P+Q; P+Q# is Sharp(PQ@k)"},
)
class PPlusQ(IntentMeasure):
    """P+Q, which depends on the types of intents; an intent without a type is informational."""

    beta: float = parameter(
        1.0, number(0, 1e6), "weight of gain relative to precision in the blended ratio"
    )
    gains: Gain = NONNEGATIVE_GAINS

    def values(self, judged: JudgedRuns) -> Floats:
        names = ("rel", "beta", "gains", "cutoff")
        parameters: dict[str, Any] = {name: getattr(self, name) for name in names}
        q_measure, p_plus = QMeasure(**parameters), PPlusMeasure(**parameters)

        def score(intent: IntentBlock) -> Floats:
            return np.where(
                intent.is_navigational[:, None],
                p_plus.score(intent.judged),
                q_measure.score(intent.judged),
            )

        return average_by_intent(judged, str(self), self.rel, score)


@wrapper_measure(
    "Sharp",
    summary="Weighted mean of intent recall and the diversity measure `inner`.",
    formula=r"\gamma \, I\text{-}rec@k + (1 - \gamma) \, M@k",
    source="Sakai and Song (2011); Zhai, Cohen and Lafferty (2003)",
    needs=_NEEDS,
    elsewhere={
        "in the papers": "D#-nDCG is Sharp(D(nDCG@k)), DIN#-nDCG is Sharp(DIN(nDCG@k)),"
        " P+Q# is Sharp(PQ@k)"
    },
    family=_FAMILY,
    inputs=("intents",),
)
class Sharp(Wrapper):
    """Weighted mean of intent recall and another measure; with D(nDCG), it is D#-nDCG."""

    gamma: float = parameter(0.5, number(0, 1), "weight of intent recall")

    def check(self, inner: Measure) -> None:
        low, high = inner.info.range
        if low != 0.0 or not math.isfinite(high) or inner.info.lower_is_better:
            raise MeasureError(
                "Sharp: expected a measure whose scores are from 0 to a finite maximum and better"
                f" if higher, got {inner}"
            )

    def values(self, judged: JudgedRuns) -> Floats:
        rel = getattr(find_innermost_measure(self.inner), "rel", 1)
        recall = SubtopicRecall(rel=rel, cutoff=self.cutoff, judged_only=self.judged_only)
        return self.gamma * recall.score(judged) + (1.0 - self.gamma) * self.inner.score(judged)


_GAIN = r"ng(r) = \sum_i Pr(i|q) \, I_i(r) (1 - \alpha)^{C_i(r-1)}"
_PERFECT_GAIN = r"\sum_i Pr(i|q) (1 - \alpha)^{r-1}"
"""Formula of the gain at rank r if every document answers every intent."""

_OVER_DOC = (
    "divisor of the sum: 'perfect', the sum for a list in which every document answers every"
    " intent; 'none', 1"
)
_GREEDY_RANGE = (0.0, math.e / (math.e - 1))
"""Range of a gain divided by that of the greedy ranking, whose first k documents have at least
1 - 1/e of the gain of any k documents (Nemhauser, Wolsey and Fisher 1978)."""
_DECIMALS = 12
"""Decimals to which gains are compared, as the order of additions affects their last bits."""


class _NoveltyMeasure(IntentMeasure):
    """Base class of sums of novelty-biased gains, by default divided by the greedy sum."""

    alpha: float = parameter(
        0.5,
        number(0, 1, excludes_high=True),
        "proportion by which each earlier answer to an intent reduces the gain of an answer to it",
    )

    def compute_discounts(self, rank: Ints) -> Floats:
        raise NotImplementedError

    def values(self, judged: JudgedRuns) -> Floats:
        return divide(self.compute_total_gain(judged), self.compute_greedy_total(judged))

    def compute_total_gain(self, judged: JudgedRuns) -> Floats:
        intents = judged.intents(str(self), self.rel)
        rows = judged.relevant(min(self.rel, 1))
        row, intent = intents.find_relevant_pairs(rows.judgment, self.rel)
        weight = intents.probability[rows.topic[row], intent]
        is_positive = weight > 0
        row, intent, weight = row[is_positive], intent[is_positive], weight[is_positive]
        # Sorted by intent and rank, to count the earlier answers.
        key = rows.cell[row] * intents.exists.shape[1] + intent
        order = np.argsort(key, kind="stable")
        n_earlier = np.empty(row.size, dtype=np.int64)
        n_earlier[order] = number_rows(key[order]) - 1
        answer_gains = weight * (1.0 - self.alpha) ** n_earlier
        gain = np.bincount(row, weights=answer_gains, minlength=rows.cell.size)
        return rows.total(gain * self.compute_discounts(rows.rank))

    def compute_greedy_total(self, judged: JudgedRuns) -> Floats:
        """Compute the discounted gain of the greedy ranking; shape (topics, 1)."""
        judgments, intents = judged.judgments, judged.intents(str(self), self.rel)
        min_grade = max(self.rel, judgments.judged_from)
        judged_rows, intent = intents.find_relevant_pairs(
            np.arange(judgments.topic.size), min_grade
        )
        has_weight = intents.probability[judgments.topic[judged_rows], intent] > 0
        answers = np.unique(judged_rows[has_weight])
        # By topic, then by id in descending order: of documents with equal gain the first is taken.
        answers = answers[
            np.lexsort((-intents.compute_id_ranks(answers), judgments.topic[answers]))
        ]
        starts = np.searchsorted(judgments.topic[answers], np.arange(judgments.n_topics + 1))
        totals = np.zeros((judgments.n_topics, 1))
        for topic in np.flatnonzero(np.diff(starts)):
            docs = answers[starts[topic] : starts[topic + 1]]
            weight = intents.probability[topic]
            hits = (intents.compute_grades(docs) >= min_grade) & (weight > 0)
            gains = _compute_greedy_gains(hits, weight, 1.0 - self.alpha, self.cutoff)
            # Summed in order of rank, as for runs, so that the ideal ranking scores 1.
            discounts = self.compute_discounts(np.arange(1, gains.size + 1))
            totals[topic] = np.cumsum(gains * discounts)[-1]
        return totals

    def compute_perfect_total(self, judged: JudgedRuns) -> Floats:
        """Compute the discounted gain if all documents answer all intents; shape (topics, 1)."""
        total = judged.intents(str(self), self.rel).probability.sum(axis=1)[:, None]
        return np.asarray(total * self.sum_perfect_discounts())

    def sum_perfect_discounts(self) -> float:
        """Sum the discounts, each times (1 - alpha)^(r - 1), over the ranks."""
        assert self.cutoff is not None
        check_ranks(self.cutoff, self)
        rank = np.arange(1, self.cutoff + 1)
        return float((self.compute_discounts(rank) * (1.0 - self.alpha) ** (rank - 1.0)).sum())


def _compute_greedy_gains(
    hits: NDArray[np.bool_], weight: Floats, factor: float, cutoff: int | None
) -> Floats:
    """Compute the gains of the greedy ranking; `hits` has documents in tie-breaking order."""
    n_ranks = min(len(hits), cutoff or len(hits))
    # Documents that answer the same intents (a pattern) are interchangeable.
    packed_hits = np.packbits(hits, axis=1)
    _, first_docs, pattern = np.unique(packed_hits, axis=0, return_index=True, return_inverse=True)
    pattern = pattern.ravel()
    n_docs = np.bincount(pattern)
    answers = hits[first_docs].astype(np.float64)
    # Documents of each pattern in order, to resolve ties.
    docs_by_pattern = np.split(np.argsort(pattern, kind="stable"), np.cumsum(n_docs)[:-1])
    intent_gains = weight.copy()
    n_used = np.zeros(len(answers), dtype=np.int64)
    rank_gains = np.empty(n_ranks)
    for rank in range(n_ranks):
        sums = (answers * intent_gains).sum(axis=1)
        gains = np.where(n_used < n_docs, sums, -1.0).round(_DECIMALS)
        tied_patterns = np.flatnonzero(gains == gains.max())
        next_pattern = min(tied_patterns.tolist(), key=lambda k: int(docs_by_pattern[k][n_used[k]]))
        rank_gains[rank] = float((answers[next_pattern] * intent_gains).sum())
        n_used[next_pattern] += 1
        intent_gains = np.where(answers[next_pattern] > 0, intent_gains * factor, intent_gains)
    return rank_gains


class _PerfectNormalisedMeasure(_NoveltyMeasure, at_usage="required"):
    over: str = parameter("perfect", choice("perfect", "none"), _OVER_DOC)

    def _compute_score_range(self) -> tuple[float, float]:
        return self.info.range if self.over == "perfect" else (0.0, float("inf"))

    def values(self, judged: JudgedRuns) -> Floats:
        total = self.compute_total_gain(judged)
        return total if self.over == "none" else divide(total, self.compute_perfect_total(judged))


class _AlphaDCGBase(_NoveltyMeasure, source="Clarke and others (2008)"):
    def compute_discounts(self, rank: Ints) -> Floats:
        return np.asarray(1.0 / np.log2(rank + 1.0))


class _ERRIABase(_NoveltyMeasure):
    def compute_discounts(self, rank: Ints) -> Floats:
        return np.asarray(1.0 / rank)


@measure(
    "alpha_DCG",
    aliases=("α_DCG",),
    summary="Discounted sum of novelty-biased gains: repeated answers to an intent count less.",
    formula=r"\sum_{r=1}^k \frac{ng(r)}{\log_2(r+1)} \,\Big/\, \sum_{r=1}^k"
    rf" \frac{{{_PERFECT_GAIN}}}{{\log_2(r+1)}}, \quad {_GAIN}",
    parameter_sources={"over='perfect'": "Clarke and others (2011)"},
    elsewhere={"ndeval": "alpha-DCG@k (with over='none' for k = 1)", "ir_measures": "alpha_DCG@k"},
)
class AlphaDCG(_PerfectNormalisedMeasure, _AlphaDCGBase):
    """Alpha-DCG, by default divided by its value if every document answers every intent."""


@measure(
    "alpha_nDCG",
    aliases=("α_nDCG",),
    summary="Alpha-DCG divided by the alpha-DCG of the ideal ranking, which is built greedily.",
    formula=r"\frac{\alpha DCG@k}{\alpha iDCG@k}",
    range=_GREEDY_RANGE,
    elsewhere={"ndeval": "alpha-nDCG@k", "ir_measures": "alpha_nDCG@k"},
)
class AlphaNDCG(_AlphaDCGBase):
    """Alpha-nDCG; it is above 1 if a ranking is better than the greedy one."""


@measure(
    "ERR_IA",
    summary="Intent-aware expected reciprocal rank with binary relevance to each intent.",
    formula=rf"\sum_{{r=1}}^k \frac{{ng(r)}}{{r}} \,\Big/\, \sum_{{r=1}}^k"
    rf" \frac{{{_PERFECT_GAIN}}}{{r}}, \quad {_GAIN}",
    source="Chapelle and others (2009, 2011); Clarke and others (2011)",
    elsewhere={
        "ndeval": "ERR-IA@k (with over='none' for k = 1)",
        "ir_measures": "ERR_IA@k",
        "with grades": "IA(ERR@k)",
    },
)
class ERRIA(_PerfectNormalisedMeasure, _ERRIABase):
    """ERR-IA, by default divided by its value if every document answers every intent.

    This is the form of the TREC Web track. `IA(ERR@k)`, in contrast, is the mean of ERR over
    intents: it uses grades, and is not divided by a maximum.
    """


@measure(
    "nERR_IA",
    summary="ERR-IA divided by the ERR-IA of the ideal ranking, which is built greedily.",
    formula=r"\frac{ERR\text{-}IA@k}{iERR\text{-}IA@k}",
    range=_GREEDY_RANGE,
    source="Clarke and others (2011)",
    elsewhere={"ndeval": "nERR-IA@k", "ir_measures": "nERR_IA@k"},
)
class NormalisedERRIA(_ERRIABase):
    """Normalised ERR-IA; it is above 1 if a ranking is better than the greedy one."""


class _NRBPBase(_NoveltyMeasure, source="Clarke, Kolla and Vechtomova (2009)"):
    beta: float = parameter(0.5, OPEN_PROBABILITY, P_DOC)

    def compute_discounts(self, rank: Ints) -> Floats:
        return np.asarray(self.beta ** (rank - 1.0))

    def sum_perfect_discounts(self) -> float:
        return 1.0 / (1.0 - (1.0 - self.alpha) * self.beta)


@measure(
    "NRBP",
    summary="Novelty- and rank-biased precision.",
    formula=rf"\frac{{1 - (1 - \alpha)\beta}}{{\sum_i Pr(i|q)}} \sum_r \beta^{{r-1}} ng(r),"
    rf" \quad {_GAIN}",
    elsewhere={"ndeval": "NRBP", "ir_measures": "NRBP"},
)
class NoveltyRBP(_NRBPBase):
    """NRBP, divided by its value for infinitely many documents that answer every intent."""

    def values(self, judged: JudgedRuns) -> Floats:
        return divide(self.compute_total_gain(judged), self.compute_perfect_total(judged))


@measure(
    "nNRBP",
    summary="NRBP divided by the NRBP of the ideal ranking, which is built greedily.",
    formula=r"\frac{NRBP}{iNRBP}",
    range=_GREEDY_RANGE,
    elsewhere={"ndeval": "nNRBP", "ir_measures": "nNRBP"},
)
class NormalisedNRBP(_NRBPBase):
    """Normalised NRBP; it is above 1 if a ranking is better than the greedy one."""


@measure(
    "RBU",
    summary="Rank-biased utility: satisfaction of each intent, less the effort to read the list.",
    formula=r"(1 - p) \sum_r p^{r-1} \Bigl( \sum_i Pr(i|q) \, R_{ir} \prod_{j<r} (1 - R_{ij})"
    r" - e \Bigr), \quad R_{ir} = \frac{2^{g_{ir}} - 1}{2^{g_{max,i}}}",
    source="Amigó and others (2018), as in the authors' program",
    range=(-1.0, 1.0),
    family=_FAMILY,
    inputs=("intents",),
    needs=_NEEDS,
    scale_note="not known to be on an interval scale, as the gain of a document depends on the"
    " documents above it",
)
class RankBiasedUtility(Measure):
    """Rank-biased utility, in the form and with the defaults of the authors' program.

    Every retrieved document costs the effort e, so that a long list without relevant documents
    scores about -e, and an empty list scores 0. Runs must not be padded with arbitrary documents,
    and scores depend on the cutoff. To obtain the form that sums p^r from rank 1, without the
    factor 1 - p, multiply the score by p / (1 - p).

    By default the highest grade is that of each intent of the topic. Probabilities of intents are
    not divided by their sum.
    """

    p: float = parameter(0.8, OPEN_PROBABILITY, P_DOC)
    e: float = parameter(0.03, number(0, 1), "cost of reading a document")
    max_grade: int | None = parameter(
        None,
        optional(integer(1, MAX_EXPONENT)),
        "highest grade of the scale; by default the highest grade of each intent of the topic",
    )

    uses_highest_grade = False

    def values(self, judged: JudgedRuns) -> Floats:
        intents = judged.intents(str(self), 1)
        (n_topics, n_systems), n_intents = judged.shape, intents.exists.shape[1]
        rows = judged.relevant(1)
        row, entry = intents.find_entries(rows.judgment)
        is_relevant = intents.grade[entry] >= 1
        row, entry = row[is_relevant], entry[is_relevant]
        cell = rows.cell[row] * n_intents + intents.position[entry]
        order = np.argsort(cell, kind="stable")
        rank, grade = rows.rank[row[order]], intents.grade[entry[order]].astype(np.int64)
        gain = Gain("exponential")
        # The answers to each intent, in order of rank, as if it were a topic.
        shape = (n_topics * n_intents, n_systems)
        answers = Rows(cell[order], rank, grade, shape, gain.compute_gains(grade))
        max_grades = self._find_max_grades(judged, intents)
        max_gains = answers.at(gain.compute_gains(max_grades.reshape(-1, 1)))
        weights = answers.map_ranks(lambda rank: (1.0 - self.p) * self.p ** (rank - 1))
        intent_scores = answers.total(compute_stopping_probabilities(answers, max_gains) * weights)
        intent_scores = intent_scores.reshape(n_topics, n_intents, n_systems)
        utility = (intent_scores * intents.probability[:, :, None]).sum(axis=1)
        return np.asarray(utility - self.e * (1.0 - self.p**judged.n_retrieved))

    def _find_max_grades(self, judged: JudgedRuns, intents: Intents) -> Ints:
        """Return the highest grade of each intent of each topic; shape (topics, intents)."""
        if self.max_grade is not None:
            max_grade = find_max_grade(judged, self.max_grade, str(self))
            return np.full(intents.exists.shape, max_grade, dtype=np.int64)
        judgment, entry = intents.find_entries(np.arange(judged.judgments.topic.size))
        max_grades = np.zeros(intents.exists.shape, dtype=np.int64)
        positions = judged.judgments.topic[judgment], intents.position[entry]
        np.maximum.at(max_grades, positions, intents.grade[entry])
        return max_grades
