r"""Measures of several aspects of relevance.

Compatibility is the overlap of a ranking with an ideal ranking: the relevant documents in
descending order of grade; documents of equal grade are in the order of the run, unretrieved ones
last. If both rankings have :math:`A_i` documents in common down to rank i, compatibility is
(Clarke, Vtyurina and Smucker 2020, 2021)

.. math:: \frac{\sum_{i=1}^{D} p^{i-1} A_i / i}{\sum_{i=1}^{D} p^{i-1} \min(i, RB) / i}

where RB is the number of relevant documents, and the divisor the overlap of the ideal ranking with
itself; with `normalised=False` the divisor is the sum of :math:`p^{i-1}` up to D, as if there were
a relevant document for each rank. D is the cutoff, or else the length of the longer ranking, as in
ir_measures; `Compat@1000` has the scores of the authors' program.

For the scores :math:`m_a` of a measure on the judgments of each aspect a, one of which is
relevance, and weights :math:`w_a` that sum to 1,

.. math:: CAM = \sum_a w_a m_a, \qquad MM = \Bigl( \sum_a \frac{w_a}{m_a} \Bigr)^{-1}

CAM is the convex aggregating measure of Lioma, Simonsen and Larsen (2017); MM, the
multidimensional measure of Palotti, Zuccon and Hanbury (2018), is the harmonic mean, which Lioma
and others call WHAM.

In the RBP of several aspects, such as understandability, the gain of a document is the product over
all aspects (Zuccon 2016):

.. math:: (1 - p) \sum_r p^{r-1} \, P(R \mid r) \prod_a P(a \mid r)

Here :math:`P(R \mid r)` is the gain of the document at rank r, as in RBP, and
:math:`P(a \mid r)` is the degree to which the document has aspect a, or 0 if it is not judged on
the aspect. Judgments on aspects are passed to :func:`cranfield.evaluate` by name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.base.spec import (
    OPEN_PROBABILITY,
    NamedWeights,
    any_name,
    flag,
    integer,
    name_list,
    named_weights,
    optional,
    parameter,
)
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, divide, find_positions, make_row_keys
from cranfield.measures.base import Measure, check_ranks, measure
from cranfield.measures.gains import P_DOC, Gain
from cranfield.measures.ranked.precision import REL_DOC
from cranfield.measures.users.model import UnitGains
from cranfield.measures.wrapping import Wrapper, wrapper_measure


class _CompatibilityMeasure(
    Measure,
    family="preferences",
    scale_note="not known to be on an interval scale, as overlaps are discounted by depth",
    beyond_grades="which documents are retrieved",
):
    rel: int = parameter(1, integer(1), REL_DOC + ", for the ideal ranking")
    p: float = parameter(
        0.95, OPEN_PROBABILITY, "persistence: weight of depth d + 1 divided by weight of depth d"
    )
    normalised: bool = parameter(
        True, flag, "whether to divide by the overlap of the ideal ranking with itself"
    )

    def _compute_compatibility(self, judged: JudgedRuns, sign: int = 1) -> Floats:
        """Compute compatibility with relevant documents (sign 1) or harmful ones (sign -1)."""
        judged_rows, judgments = judged.judged(), judged.judgments
        is_harmful = -judged_rows.grade >= self.rel
        rows = judged.relevant(self.rel) if sign == 1 else judged_rows.where(is_harmful)
        is_ideal = (sign * judgments.grade >= self.rel) & (judgments.grade >= judgments.judged_from)
        grades, topics = sign * judgments.grade[is_ideal], judgments.topic[is_ideal]
        recall_base = np.bincount(topics, minlength=judgments.n_topics)[:, None]
        ideal_rank = np.zeros(rows.grade.size, dtype=np.int64)
        for grade in np.unique(rows.grade):
            # Ideal documents of a higher grade come first, then those of the grade as in the run.
            n_better = np.bincount(topics[grades > sign * grade], minlength=judgments.n_topics)
            is_equal = rows.grade == grade
            ranks = n_better[rows.topic] + rows.cumulate_counts(is_equal)
            ideal_rank[is_equal] = ranks[is_equal]
        depth = np.maximum(judged.n_retrieved, recall_base)
        if self.cutoff is not None:
            check_ranks(self.cutoff, self)
            depth = np.full_like(depth, self.cutoff)
        # A document that is in both rankings from rank m on adds a sum over the depths m to D.
        depths = np.arange(1, int(depth.max(initial=1)) + 1)
        cumulative_weights = np.concatenate(([0.0], np.cumsum(self.p ** (depths - 1.0) / depths)))
        total_at_depth = rows.at(cumulative_weights[depth])
        common_rank = np.minimum(np.maximum(rows.rank, ideal_rank), depths.size + 1)
        overlap = rows.total(np.maximum(total_at_depth - cumulative_weights[common_rank - 1], 0.0))
        if not self.normalised:
            return divide(overlap * (1.0 - self.p), 1.0 - self.p**depth)
        n_filled = np.minimum(recall_base, depth)
        tail = cumulative_weights[depth] - cumulative_weights[n_filled]
        max_overlap = (1.0 - self.p**n_filled) / (1.0 - self.p) + recall_base * tail
        # Rounding may put the ideal ranking slightly above 1.
        return np.minimum(divide(overlap, max_overlap), 1.0)


@measure(
    "Compat",
    summary="Rank-biased overlap of the ranking with the most similar ideal ranking.",
    formula=r"\sum_{i=1}^{D} p^{i-1} \frac{A_i}{i} \,\Big/\,"
    r" \sum_{i=1}^{D} p^{i-1} \frac{\min(i, RB)}{i}",
    source="Clarke, Vtyurina and Smucker (2021)",
    needs="graded or binary judgments",
    elsewhere={
        "ir_measures": "Compat(p=...), whose ideal ranking orders documents of equal grade by their"
        " scores in the run, 0 if they are not retrieved",
        "compatibility.py": "Compat@1000",
    },
)
class Compatibility(_CompatibilityMeasure):
    """Compatibility; 0 for a topic without relevant documents."""

    def values(self, judged: JudgedRuns) -> Floats:
        return self._compute_compatibility(judged)


@measure(
    "CompatDiff",
    summary="Compatibility with helpful documents minus compatibility with harmful ones.",
    formula=r"Compat_{help} - Compat_{harm}",
    source="Clarke, Vtyurina and Smucker (2021); Clarke and others (2020)",
    range=(-1.0, 1.0),
    needs="grades below 0 for harmful documents, or judgments of harm as an aspect",
)
class CompatibilityDifference(_CompatibilityMeasure):
    """Compatibility with helpful documents minus compatibility with harmful ones.

    By default a document with a grade of -rel or below is harmful, and the lowest grade is the most
    harmful. With `harm='name'` a document with a grade of at least rel in the judgments on that
    aspect is harmful, and the highest grade is the most harmful, as in the separate files of TREC.
    """

    harm: str | None = parameter(
        None,
        optional(any_name),
        "aspect that grades the harm of documents; by default grades below 0 are harmful",
    )

    def __init__(self, /, **parameters: Any) -> None:
        super().__init__(**parameters)
        if self.harm is not None:
            vars(self)["info"] = replace(self.info, inputs=("aspects",))

    def values(self, judged: JudgedRuns) -> Floats:
        if self.harm is None:
            return self._compute_compatibility(judged) - self._compute_compatibility(judged, -1)
        return self._compute_compatibility(judged) - self._compute_compatibility(
            judged.aspect(self.harm, str(self))
        )


RELEVANCE = "relevance"
"""Name of the judgments of relevance in weights."""

NO_ASPECT = "{} requires judgments on another aspect, got none; pass aspects={{'harm': ...}}"

_FAMILY = "several aspects"
_NEEDS = "judgments on relevance and on other aspects"


class AspectMean(Wrapper, family=_FAMILY, inputs=("aspects",), needs=_NEEDS):
    """Base class of means of a measure over several aspects, such as relevance and credibility.

    Weights need not sum to 1; an aspect without a weight does not count. By default relevance and
    all judged aspects have equal weights.
    """

    weights: NamedWeights | None = parameter(
        None,
        optional(named_weights),
        "weight of each aspect, including 'relevance'; equal by default",
    )

    _own_input, _requires_mean = "aspects", True

    def values(self, judged: JudgedRuns) -> Floats:
        weights = self.weights
        if weights is None:
            if not judged.side_data.aspects:
                raise MeasureError(NO_ASPECT.format(self))
            weights = named_weights(dict.fromkeys((RELEVANCE, *judged.side_data.aspects), 1))
        names = tuple(name for name, weight in weights.pairs if weight)
        views = [judged if name == RELEVANCE else judged.aspect(name, str(self)) for name in names]
        scores = np.array([self.inner.score(view) for view in views])
        return self.mean(scores, np.array(weights.compute_proportions(names))[:, None, None])

    def mean(self, scores: Floats, weights: Floats) -> Floats:
        """Average scores of shape (aspects, topics, systems) with weights (aspects, 1, 1)."""
        raise NotImplementedError


@wrapper_measure(
    "CAM",
    summary="Convex aggregation: the weighted mean of a measure over aspects of relevance.",
    formula=r"\sum_a w_a m_a, \quad \sum_a w_a = 1",
    source="Lioma, Simonsen and Larsen (2017)",
)
class ConvexAggregation(AspectMean):
    """The weighted arithmetic mean over aspects."""

    def mean(self, scores: Floats, weights: Floats) -> Floats:
        return np.asarray((weights * scores).sum(axis=0))


@wrapper_measure(
    "MM",
    summary="Multidimensional measure: the harmonic mean of a measure over aspects of relevance.",
    formula=r"\left( \sum_a \frac{w_a}{m_a} \right)^{-1}, \quad \sum_a w_a = 1",
    source="Palotti, Zuccon and Hanbury (2018); WHAM of Lioma, Simonsen and Larsen (2017)",
)
class MultidimensionalMeasure(AspectMean):
    """The weighted harmonic mean over aspects; 0 where the score on a weighted aspect is 0."""

    def check(self, inner: Measure) -> None:
        super().check(inner)
        if inner.info.range[0] < 0 or inner.info.lower_is_better:
            raise MeasureError(
                "MM: expected a measure whose scores are at least 0 and better if higher, as"
                f" required by the harmonic mean, got {inner}"
            )

    def mean(self, scores: Floats, weights: Floats) -> Floats:
        is_positive = (scores > 0).all(axis=0)
        means = divide(np.ones(is_positive.shape), divide(weights, scores).sum(axis=0))
        return np.where(is_positive, means, 0.0)


_ASPECTS_DOC = "aspects that a document needs besides relevance, separated by commas"
_SOURCE = "Zuccon (2016)"


def find_original_ranks(rows: Rows) -> Ints:
    """Return the rank of each row before unjudged documents were removed.

    Unlike the rank among judged documents, this rank does not depend on the aspect.
    """
    if not isinstance(rows.source, tuple):
        return rows.rank
    source, selection = rows.source
    ranks = find_original_ranks(source)
    return ranks if selection is None else ranks[selection]


class _BiasedRBP(
    UnitGains,
    family=_FAMILY,
    inputs=("aspects",),
    needs="judgments on relevance and on the aspect",
    scale_note="not known to be on an interval scale, as it is a discounted product of aspects",
    is_linear=True,
):
    """Base class of RBP of several aspects; gains of relevance are those of RBP."""

    p: float = parameter(0.8, OPEN_PROBABILITY, P_DOC)
    aspect_gains: Gain = parameter(
        Gain("binary"),
        UnitGains.parameters["gains"].check,
        "degree to which a document of a grade has the aspect: 'binary', 'graded'"
        " (grade / highest grade), or a mapping of grades to numbers in [0, 1]",
    )
    aspect_rel: int = parameter(
        1, integer(0), "lowest grade with which a document has the aspect (aspect_gains='binary')"
    )
    aspects: str | None

    def score(self, judged: JudgedRuns) -> Floats:
        # Aspects are looked up in the full list, as cut-off lists of aspects end at other ranks.
        view = self.cut_off(judged)
        rows = view.judged()
        gains = self.compute_document_gains(view, rows)
        names = self.aspects.split(",") if self.aspects else list(judged.side_data.aspects)
        if not names:
            raise MeasureError(NO_ASPECT.format(self))
        for aspect in names:
            gains = gains * self._compute_degrees(judged.aspect(aspect, str(self)), rows)
        return rows.total(gains * (1.0 - self.p) * self.p ** (rows.rank - 1))

    def _compute_degrees(self, aspect_runs: JudgedRuns, rows: Rows) -> Floats:
        """Return the degree to which each document has an aspect; 0 without a judgment."""
        judged_rows = aspect_runs.judged()
        positions, has_degree = find_positions(
            make_row_keys(judged_rows.cell, find_original_ranks(judged_rows)),
            make_row_keys(rows.cell, find_original_ranks(rows)),
        )
        grades = judged_rows.grade
        if isinstance(self.aspect_gains.kind, tuple):
            degrees = self.aspect_gains.look_up_gains(grades)
        elif self.aspect_gains.kind == "graded":
            degrees = np.maximum(grades, 0) / max(aspect_runs.judgments.max_grade, 1)
        else:
            degrees = (grades >= self.aspect_rel).astype(np.float64)
        return np.where(has_degree, np.append(degrees, 0.0)[positions], 0.0)


@measure(
    "uRBP",
    summary="RBP in which only relevant documents that the user understands are useful.",
    formula=r"(1 - p) \sum_r p^{r-1} \, P(R \mid r) \, P(U \mid r)",
    source=_SOURCE,
    elsewhere={"ubire": "uRBP; uRBPgr with aspect_gains='graded' or a mapping"},
)
class UnderstandabilityRBP(_BiasedRBP):
    """Understandability-biased RBP.

    With `aspect_gains='binary'` a document is either understandable or not; with 'graded' or a
    mapping, such as a campaign defines, the measure is uRBPgr of the source. Scores equal those of
    `get_urbp` of trectools 0.0.50 if its `normalization_factor` is 1 over the highest grade.
    """

    aspects: str = parameter("understandability", name_list, _ASPECTS_DOC)


@measure(
    "cRBP",
    summary="RBP in which only relevant and credible documents are useful.",
    formula=r"(1 - p) \sum_r p^{r-1} \, P(R \mid r) \, P(C \mid r)",
    source=_SOURCE + ", with credibility in place of understandability"
    " as in Ferro and Maistro (2024), section 8",
)
class CredibilityRBP(_BiasedRBP):
    """Credibility-biased RBP."""

    aspects: str = parameter("credibility", name_list, _ASPECTS_DOC)


@measure(
    "aRBP",
    summary="RBP in which only relevant documents with all aspects are useful.",
    formula=r"(1 - p) \sum_r p^{r-1} \, P(R \mid r) \prod_a P(a \mid r)",
    source=_SOURCE + ", for any number of aspects",
    needs=_NEEDS,
)
class AspectRBP(_BiasedRBP):
    """RBP biased by several aspects, by default by all judged aspects.

    Aspects are assumed to be independent, as relevance and understandability are in the source.
    """

    aspects: str | None = parameter(None, optional(name_list), _ASPECTS_DOC + "; all by default")
