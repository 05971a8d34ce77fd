r"""Measures of several aspects of relevance.

The ideal ranking has the relevant documents in descending order of grade; documents of equal grade
are in the order of the run, the unretrieved ones last. With :math:`A_i` documents in common down to
rank i (Clarke, Vtyurina and Smucker 2020, 2021),

.. math:: \frac{\sum_{i=1}^{D} p^{i-1} A_i / i}{\sum_{i=1}^{D} p^{i-1} \min(i, RB) / i}

where the divisor is the overlap of the ideal ranking with itself; with `normalised=False` it is the
sum of all :math:`p^{i-1}` to D, as if every depth could be filled. D is the length of the longer of
the two, as in ir_measures; with a cutoff k it is k: `Compat@1000` is the authors' program.

With the scores :math:`m_a` of a measure on the judgments of each aspect a, relevance being one, and
weights :math:`w_a` that sum to 1,

.. math:: CAM = \sum_a w_a m_a, \qquad MM = \Bigl( \sum_a \frac{w_a}{m_a} \Bigr)^{-1}

CAM is the convex aggregating measure of Lioma, Simonsen and Larsen (2017); MM, the
multidimensional measure of Palotti, Zuccon and Hanbury (2018), is the harmonic mean, which Lioma
and others call WHAM.

In the RBP of several aspects, such as understandability, the gain of a document is the product over
all aspects (Zuccon 2016):

.. math:: (1 - p) \sum_r p^{r-1} \, P(R \mid r) \prod_a P(a \mid r)

Here :math:`P(R \mid r)` is the gain of the document at rank r, as in RBP, and
:math:`P(a \mid r)` its degree of aspect a. A document that is not judged on an aspect does not
have it. The judgments on aspects are given to :func:`cranfield.evaluate` by name.
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.base.spec import (
    TRUE_SHARE,
    Shares,
    flag,
    integer,
    name,
    names,
    optional,
    parameter,
    shares,
)
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, places_in, ratio
from cranfield.measures.base import Measure, check_ranks, measure
from cranfield.measures.gains import Gain
from cranfield.measures.ranked.precision import REL_DOC
from cranfield.measures.users.model import UnitGains
from cranfield.measures.wrapping import Wrapping, wrapping

_FAMILY = "preferences"
_NOTE = "not known to be interval: ranks are discounted by depth"


class _Compatibility(
    Measure, family=_FAMILY, scale_note=_NOTE, beyond_grades="which documents they are"
):
    rel: int = parameter(1, integer(1), REL_DOC + ", and is in the ideal ranking")
    p: float = parameter(0.95, TRUE_SHARE, "persistence: weight of deeper ranks in the overlap")
    normalised: bool = parameter(
        True, flag, "whether to divide by the overlap of the ideal ranking with itself"
    )

    def _overlap(self, judged: JudgedRuns, sign: int = 1) -> Floats:
        """Compatibility with the ideal of relevant documents; of harmful ones for sign -1."""
        judged_rows, judgments = judged.judged(), judged.judgments
        rows = (
            judged.relevant(self.rel)
            if sign == 1
            else judged_rows.where(-judged_rows.grade >= self.rel)
        )
        is_ideal = (sign * judgments.grade >= self.rel) & (judgments.grade >= judgments.judged_from)
        grades, topics = sign * judgments.grade[is_ideal], judgments.topic[is_ideal]
        base = np.bincount(topics, minlength=judgments.topics)[:, None]
        ideal_rank = _count_better(rows, sign * rows.grade, grades, topics, judgments.topics)
        ideal_rank += _places_in_grade(rows)
        depth = np.maximum(judged.retrieved, base)
        if self.cutoff is not None:
            check_ranks(self.cutoff, self)
            depth = np.full_like(depth, self.cutoff)
        # A document in both rankings from rank m on adds a sum over depths m to D.
        depths = np.arange(1, int(depth.max(initial=1)) + 1)
        cumulative = np.concatenate(([0.0], np.cumsum(self.p ** (depths - 1.0) / depths)))
        end = rows.at(cumulative[depth])
        common_rank = np.minimum(np.maximum(rows.rank, ideal_rank), depths.size + 1)
        overlap = rows.total(np.maximum(end - cumulative[common_rank - 1], 0.0))
        if not self.normalised:
            return ratio(overlap * (1.0 - self.p), 1.0 - self.p**depth)
        n_filled = np.minimum(base, depth)
        tail = cumulative[depth] - cumulative[n_filled]
        best = (1.0 - self.p**n_filled) / (1.0 - self.p) + base * tail
        # Rounding may put the best ranking slightly above 1.
        return np.minimum(ratio(overlap, best), 1.0)


def _count_better(rows: Rows, grade: Ints, grades: Ints, topics: Ints, number: int) -> Ints:
    out = np.zeros(grade.size, dtype=np.int64)
    for level in np.unique(grade):
        higher = np.bincount(topics[grades > level], minlength=number)
        is_equal = grade == level
        out[is_equal] = higher[rows.topic[is_equal]]
    return out


def _places_in_grade(rows: Rows) -> Ints:
    """Return the place of each row among those of its cell and grade, from 1."""
    out = np.zeros(rows.grade.size, dtype=np.int64)
    for grade in np.unique(rows.grade):
        is_equal = rows.grade == grade
        out[is_equal] = rows.counted(is_equal)[is_equal]
    return out


@measure(
    "Compat",
    summary="Rank-biased overlap of the ranking with the most similar ideal ranking.",
    formula=r"\sum_{i=1}^{D} p^{i-1} \frac{A_i}{i} \,\Big/\,"
    r" \sum_{i=1}^{D} p^{i-1} \frac{\min(i, RB)}{i}",
    source="Clarke, Vtyurina and Smucker (2021)",
    needs="graded or binary judgments",
    elsewhere={
        "ir_measures": "Compat(p=...), whose ideal takes unretrieved documents for scored 0",
        "compatibility.py": "Compat@1000",
    },
)
class Compatibility(_Compatibility):
    """Compatibility; 0 for a topic without relevant documents."""

    def values(self, judged: JudgedRuns) -> Floats:
        return self._overlap(judged)


@measure(
    "CompatDiff",
    summary="Compatibility with helpful documents minus compatibility with harmful ones.",
    formula=r"Compat_{help} - Compat_{harm}",
    source="Clarke, Vtyurina and Smucker (2021); Clarke and others (2020)",
    range=(-1.0, 1.0),
    needs="grades below 0 for harmful documents, or judgments of harm as an aspect",
)
class CompatibilityDifference(_Compatibility):
    """Compatibility with helpful documents minus compatibility with harmful ones.

    Harmful documents are those of grade -rel and below, the lowest grade the most harmful; or, with
    `harm='name'`, those of grade rel and above in the judgments on that aspect, the highest grade
    the most harmful, which is how the tracks split their files.
    """

    harm: str | None = parameter(
        None,
        optional(name),
        "aspect that grades the harm of documents; by default grades below 0 are harmful",
    )

    def values(self, judged: JudgedRuns) -> Floats:
        if self.harm is None:
            return self._overlap(judged) - self._overlap(judged, -1)
        return self._overlap(judged) - self._overlap(judged.aspect(self.harm, str(self)))


RELEVANCE = "relevance"
"""Name of the judgments of relevance in weights."""

NO_ASPECT = "{} needs judgments on another aspect, got none; pass them as aspects={{'harm': ...}}"

_ASPECTS = "several aspects"
_NEEDS = "judgments on relevance and on other aspects"


class OverAspects(Wrapping, family=_ASPECTS, inputs=("aspects",), needs=_NEEDS):
    """A measure over several aspects, relevance among them.

    Weights may have any sum; an aspect that they do not name does not count. Without weights, all
    judged aspects, and relevance, have equal weights.
    """

    weights: Shares | None = parameter(
        None, optional(shares), "weight of each aspect, 'relevance' among them; equal by default"
    )

    def check(self, inner: Measure) -> None:
        if inner.info.aggregate != "mean":
            raise MeasureError(
                f"{self.about.name}: {inner} is not averaged over topics by the arithmetic mean"
            )
        if "aspects" in inner.info.inputs:
            raise MeasureError(
                f"{self.about.name}: {inner} uses aspects itself, so it cannot be inside"
            )

    def values(self, judged: JudgedRuns) -> Floats:
        weights = self.weights
        if weights is None:
            if not judged.annotations.aspects:
                raise MeasureError(NO_ASPECT.format(self))
            weights = shares(dict.fromkeys((RELEVANCE, *judged.annotations.aspects), 1))
        names = tuple(name for name, weight in weights.pairs if weight)
        views = [judged if name == RELEVANCE else judged.aspect(name, str(self)) for name in names]
        scores = np.array([self.inner.score(view) for view in views])
        return self.mean(scores, np.array(weights.proportions(names))[:, None, None])

    def mean(self, scores: Floats, weights: Floats) -> Floats:
        """Average scores [aspect, topic, system] with weights [aspect, 1, 1]."""
        raise NotImplementedError


@wrapping(
    "CAM",
    summary="Convex aggregation: the weighted mean of a measure over aspects of relevance.",
    formula=r"\sum_a w_a m_a, \quad \sum_a w_a = 1",
    source="Lioma, Simonsen and Larsen (2017)",
)
class ConvexAggregation(OverAspects):
    """The weighted arithmetic mean over aspects."""

    def mean(self, scores: Floats, weights: Floats) -> Floats:
        out: Floats = (weights * scores).sum(axis=0)
        return out


@wrapping(
    "MM",
    summary="Multidimensional measure: the harmonic mean of a measure over aspects of relevance.",
    formula=r"\left( \sum_a \frac{w_a}{m_a} \right)^{-1}, \quad \sum_a w_a = 1",
    source="Palotti, Zuccon and Hanbury (2018); WHAM of Lioma, Simonsen and Larsen (2017)",
)
class MultidimensionalMeasure(OverAspects):
    """The weighted harmonic mean over aspects; 0 where the score on an aspect is 0."""

    def check(self, inner: Measure) -> None:
        super().check(inner)
        if inner.info.range[0] < 0 or inner.info.lower_is_better:
            raise MeasureError(
                f"MM: {inner} has scores below 0, or lower ones are better; their"
                " harmonic mean is not defined"
            )

    def mean(self, scores: Floats, weights: Floats) -> Floats:
        mask = (scores > 0).all(axis=0)
        return np.where(mask, ratio(np.ones(mask.shape), ratio(weights, scores).sum(axis=0)), 0.0)


_NEEDS_OF_RBP = "judgments on relevance and on the aspect"
_ASPECTS_DOC = "aspects required besides relevance, separated by commas"
_SOURCE = "Zuccon (2016)"


def first_ranks(rows: Rows) -> Ints:
    """Return the rank of each row before unjudged documents were removed.

    Condensed lists of two aspects have different ranks for the same document; these do not.
    """
    if not isinstance(rows.source, tuple):
        return rows.rank
    source, selection = rows.source
    ranks = first_ranks(source)
    return ranks if selection is None else ranks[selection]


def match_rows(rows: Rows, other_rows: Rows) -> Ints:
    """Find the row of the same document in the same runs judged on another aspect; -1 for none."""
    # Ranks stay far below 2^31, so that a cell and a rank fit into one number.
    positions, is_found = places_in(
        *(table.cell << 32 | first_ranks(table) for table in (other_rows, rows))
    )
    return np.where(is_found, positions, -1)


class _AspectRBP(
    UnitGains,
    family="several aspects",
    inputs=("aspects",),
    needs=_NEEDS_OF_RBP,
    scale_note="not known to be interval: a product of aspects, discounted by rank",
    linear=True,
):
    """Base class of aspect-based RBP; gains of relevance are those of RBP."""

    p: float = parameter(
        0.8, TRUE_SHARE, "persistence: the probability that a user goes on to the next document"
    )
    aspect_gains: Gain = parameter(
        Gain("binary"),
        UnitGains.parameters["gains"].check,
        "degree to which a document of a grade has the aspect: 'binary', 'graded'"
        " (grade / highest grade), or a mapping of grades to numbers in [0, 1]",
    )
    aspect_rel: int = parameter(
        1, integer(0), "lowest grade with which a document has the aspect (binary)"
    )
    aspects: str | None

    def score(self, judged: JudgedRuns) -> Floats:
        # Aspects are looked up in the whole list: their own condensed lists end elsewhere.
        view = self.cut_off(judged)
        rows = view.judged()
        worth = self.worth(view, rows)
        for aspect in self._names(judged):
            worth = worth * self._extent(judged.aspect(aspect, str(self)), rows)
        return rows.total(worth * (1.0 - self.p) * self.p ** (rows.rank - 1))

    def _names(self, judged: JudgedRuns) -> list[str]:
        available = list(judged.annotations.aspects)
        if self.aspects is None and not available:
            raise MeasureError(NO_ASPECT.format(self))
        return available if self.aspects is None else self.aspects.split(",")

    def _extent(self, other_runs: JudgedRuns, rows: Rows) -> Floats:
        """Return the degree of an aspect of each document; 0 without a judgment on it."""
        judged_rows = other_runs.judged()
        positions = match_rows(rows, judged_rows)
        grades = judged_rows.grade
        if isinstance(self.aspect_gains.kind, tuple):
            worth = self.aspect_gains.from_mapping(grades)
        elif self.aspect_gains.kind == "graded":
            worth = np.maximum(grades, 0) / max(other_runs.judgments.max_grade, 1)
        else:
            worth = (grades >= self.aspect_rel).astype(np.float64)
        return (
            np.where(positions >= 0, worth[positions], 0.0)
            if worth.size
            else np.zeros(positions.size)
        )


@measure(
    "uRBP",
    summary="RBP in which only documents that the user understands are of use.",
    formula=r"(1 - p) \sum_r p^{r-1} \, P(R \mid r) \, P(U \mid r)",
    source=_SOURCE,
    elsewhere={"ubire": "uRBP; uRBPgr is aspect_gains='graded' or a mapping"},
)
class UnderstandabilityRBP(_AspectRBP):
    """Understandability-biased RBP.

    With `aspect_gains='binary'` a document is understood or not; with 'graded' or a mapping it is
    uRBPgr of the source, whose campaigns chose the mapping. trectools 0.0.50 (`get_urbp`) gives the
    same scores, with `normalization_factor` for 1 over the highest grade.
    """

    aspects: str = parameter("understandability", names, _ASPECTS_DOC)


@measure(
    "cRBP",
    summary="RBP in which only credible documents are of use.",
    formula=r"(1 - p) \sum_r p^{r-1} \, P(R \mid r) \, P(C \mid r)",
    source=_SOURCE + ", with credibility in place of understandability"
    " as in Ferro and Maistro (2024), section 8",
)
class CredibilityRBP(_AspectRBP):
    """Credibility-biased RBP."""

    aspects: str = parameter("credibility", names, _ASPECTS_DOC)


@measure(
    "aRBP",
    summary="RBP in which only documents with all aspects are of use.",
    formula=r"(1 - p) \sum_r p^{r-1} \, P(R \mid r) \prod_a P(a \mid r)",
    source=_SOURCE + ", for any number of aspects",
    needs="judgments on relevance and on other aspects",
)
class AspectRBP(_AspectRBP):
    """RBP biased by several aspects; by default by all judged aspects.

    Aspects count as independent of each other, as relevance and understandability do in the
    source.
    """

    aspects: str | None = parameter(None, optional(names), _ASPECTS_DOC + "; all by default")
