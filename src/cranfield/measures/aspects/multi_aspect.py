r"""Any measure over several aspects of relevance: the weighted mean of its scores on each.

With the scores :math:`m_a` of a measure on the judgments of each aspect a, relevance being one, and
weights :math:`w_a` that sum to 1,

.. math:: CAM = \sum_a w_a m_a, \qquad MM = \Bigl( \sum_a \frac{w_a}{m_a} \Bigr)^{-1}

CAM is the convex aggregating measure of Lioma, Simonsen and Larsen (2017); MM, the
multidimensional measure of Palotti, Zuccon and Hanbury (2018), is the harmonic mean, which Lioma
and others call WHAM.
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Measure
from cranfield.measures.parameters import Shares, optional, parameter, shares
from cranfield.measures.wrapping import Wrapping, wrapping

RELEVANCE = "relevance"
"""The name by which weights speak of the judgments themselves."""

_FAMILY = "several aspects"
_NEEDS = "judgments on other aspects besides those of relevance"


class OverAspects(Wrapping):
    """A measure over several aspects, relevance among them.

    Weights may have any sum; an aspect that they do not name does not count. Without weights all
    aspects that judgments are given for, and relevance, weigh the same.
    """

    weights: Shares | None = parameter(
        None, optional(shares), "weight of each aspect, 'relevance' among them; equal by default"
    )

    def check(self, inner: Measure) -> None:
        if inner.info.aggregate != "mean":
            raise MeasureError(
                f"{self.about.name}: {inner} is no measure that is averaged over topics"
            )
        if "aspects" in inner.info.inputs:
            raise MeasureError(f"{self.about.name}: {inner} looks at the aspects itself")

    def values(self, judged: JudgedRuns) -> Floats:
        weights = self.weights
        if weights is None:
            if not judged.annotations.aspects:
                raise MeasureError(f"{self} needs judgments on another aspect, and none are given")
            weights = shares(dict.fromkeys((RELEVANCE, *judged.annotations.aspects), 1))
        named = tuple(one for one, number in weights.given if number)
        views = [judged if one == RELEVANCE else judged.aspect(one, str(self)) for one in named]
        scores = np.array([self.inner.score(one) for one in views])
        return self.mean(scores, np.array(weights.of(named))[:, None, None])

    def mean(self, scores: Floats, weights: Floats) -> Floats:
        """Mean of scores [aspect, topic, system] with weights [aspect, 1, 1]."""
        raise NotImplementedError


@wrapping(
    "CAM",
    summary="Convex aggregation: the weighted mean of a measure over aspects of relevance.",
    formula=r"\sum_a w_a m_a",
    source="Lioma, Simonsen and Larsen (2017)",
    family=_FAMILY,
    inputs=("aspects",),
    needs=_NEEDS,
)
class ConvexAggregation(OverAspects):
    """The weighted arithmetic mean over aspects."""

    def mean(self, scores: Floats, weights: Floats) -> Floats:
        out: Floats = (weights * scores).sum(axis=0)
        return out


@wrapping(
    "MM",
    summary="Multidimensional measure: the harmonic mean of a measure over aspects of relevance.",
    formula=r"\left( \sum_a \frac{w_a}{m_a} \right)^{-1}",
    source="Palotti, Zuccon and Hanbury (2018); WHAM of Lioma, Simonsen and Larsen (2017)",
    family=_FAMILY,
    inputs=("aspects",),
    needs=_NEEDS,
)
class MultidimensionalMeasure(OverAspects):
    """The weighted harmonic mean over aspects; 0 where the score on an aspect is 0."""

    def check(self, inner: Measure) -> None:
        super().check(inner)
        if inner.info.range[0] < 0 or inner.info.lower_is_better:
            raise MeasureError(
                f"MM: {inner} has scores below 0, or low ones that are good; a harmonic mean of"
                " these says nothing"
            )

    def mean(self, scores: Floats, weights: Floats) -> Floats:
        some = (scores > 0).all(axis=0)
        return np.where(some, ratio(np.ones(some.shape), ratio(weights, scores).sum(axis=0)), 0.0)
