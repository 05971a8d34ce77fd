r"""Any measure over several aspects of relevance: the weighted mean of its scores on each.

With the scores :math:`m_a` of a measure on the judgments of each aspect a, relevance being one, and
weights :math:`w_a` that sum to 1,

.. math:: CAM = \sum_a w_a m_a, \qquad MM = \Bigl( \sum_a \frac{w_a}{m_a} \Bigr)^{-1}

CAM is the convex aggregating measure of Lioma, Simonsen and Larsen (2017); MM, the
multidimensional measure of Palotti, Zuccon and Hanbury (2018), is the harmonic mean, which Lioma
and others call WHAM.

Examples
--------
>>> import cranfield as cf
>>> run, qrels = {"q": {"a": 2, "b": 1}}, {"q": {"a": 0, "b": 1}}
>>> found = cf.evaluate(
...     run,
...     qrels,
...     ["CAM(RR)", "MM(RR)", "CAM(RR, weights={'credibility': 3, 'relevance': 1})"],
...     aspects={"credibility": {"q": {"a": 1}}},
... )
>>> [round(float(scores.values[0, 0]), 4) for scores in found.values()]
[0.75, 0.6667, 0.875]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from cranfield.collection.judged import JudgedRuns
from cranfield.collection.segments import ratio
from cranfield.errors import MeasureError
from cranfield.measures.base import Floats, Measure
from cranfield.measures.grammar import parse_measure, wrapper
from cranfield.measures.named import Shares, shares
from cranfield.measures.parameters import checked, optional
from cranfield.scale import Scale

RELEVANCE = "relevance"
"""The name by which weights speak of the judgments themselves."""


class OverAspects(Measure):
    """A measure over several aspects; made by :func:`cam` and :func:`mm`.

    Attributes
    ----------
    inner
        The measure that is computed on each aspect.
    weights
        Weights of the aspects; None for equal ones on all that are given.
    """

    form: ClassVar[str] = ""
    inner: Measure
    weights: Shares | None

    def __init__(self, inner: Measure, *, weights: Any = None) -> None:
        if inner.info.aggregate != "mean":
            raise MeasureError(f"{self.form}: {inner} is no measure that is averaged over topics")
        vars(self).update(inner=inner, cutoff=inner.cutoff, judged_only=inner.judged_only)
        vars(self)["weights"] = checked(self.form, "weights", weights, optional(shares))
        # What it declares depends on the measure inside.
        vars(self)["info"] = replace(
            inner.info,
            name=self.form,
            aliases=(),
            family="several aspects",
            needs="judgments on other aspects besides those of relevance",
            scale=Scale.ORDINAL,
            scale_note="",
            elsewhere={},
            **self.about(inner),
        )

    @classmethod
    def about(cls, inner: Measure) -> dict[str, Any]:
        """What it declares of itself beyond what the measure inside does."""
        raise NotImplementedError

    def score(self, judged: JudgedRuns) -> Floats:
        """Score every ranking on every aspect, and take the mean.

        Parameters
        ----------
        judged
            Judged runs of some systems, with other aspects.

        Returns
        -------
        array, shape (topics, systems)
            The scores.
        """
        self.require_complete()
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

    def require_complete(self) -> None:
        """Refuse a measure that lacks what has to stand behind its @."""
        self.inner.require_complete()

    def __matmul__(self, at: Any) -> Self:
        return type(self)(self.inner @ at, weights=self.weights)

    def __call__(self, /, **parameters: Any) -> Self:
        """Return the measure with other parameters."""
        inside = {name: value for name, value in parameters.items() if name != "weights"}
        inner = self.inner(**inside) if inside else self.inner
        return type(self)(inner, weights=parameters.get("weights", self.weights))

    def __str__(self) -> str:
        shown = "" if self.weights is None else f", weights={self.weights.text}"
        return f"{self.form}({self.inner}{shown})"

    __repr__ = __str__


class ConvexAggregation(OverAspects):
    """The weighted arithmetic mean over aspects."""

    form: ClassVar[str] = "CAM"

    @classmethod
    def about(cls, inner: Measure) -> dict[str, Any]:
        """Summary, formula and source."""
        return {
            "summary": f"Mean of {inner} over aspects of relevance.",
            "formula": r"\sum_a w_a m_a",
            "source": "Lioma, Simonsen and Larsen (2017)",
        }

    def mean(self, scores: Floats, weights: Floats) -> Floats:
        """Weighted arithmetic mean."""
        out: Floats = (weights * scores).sum(axis=0)
        return out


class MultidimensionalMeasure(OverAspects):
    """The weighted harmonic mean over aspects; 0 where the score on an aspect is 0."""

    form: ClassVar[str] = "MM"

    def __init__(self, inner: Measure, *, weights: Any = None) -> None:
        if inner.info.range[0] < 0 or inner.info.lower_is_better:
            raise MeasureError(
                f"MM: {inner} has scores below 0, or low ones that are good; a harmonic mean of"
                " these says nothing"
            )
        super().__init__(inner, weights=weights)

    @classmethod
    def about(cls, inner: Measure) -> dict[str, Any]:
        """Summary, formula and source."""
        return {
            "summary": f"Harmonic mean of {inner} over aspects of relevance.",
            "formula": r"\Bigl( \sum_a \frac{w_a}{m_a} \Bigr)^{-1}",
            "source": "Palotti, Zuccon and Hanbury (2018)",
        }

    def mean(self, scores: Floats, weights: Floats) -> Floats:
        """Weighted harmonic mean."""
        some = (scores > 0).all(axis=0)
        return np.where(some, ratio(np.ones(some.shape), ratio(weights, scores).sum(axis=0)), 0.0)


@wrapper("CAM")
def cam(measure: Measure | str, *, weights: Mapping[str, float] | None = None) -> Measure:
    """Take the weighted arithmetic mean of a measure over aspects of relevance.

    Parameters
    ----------
    measure
        Any measure that is averaged over topics, or its text.
    weights
        Weight of each aspect, of any sum; `relevance` is the name of the judgments themselves. An
        aspect that is not named does not count. By default all aspects that judgments are given
        for, and relevance, weigh the same.

    Returns
    -------
    Measure
        A measure like any other, with the text form `CAM(nDCG@10)`.

    Raises
    ------
    MeasureError
        For a measure that is not averaged, or weights that are no numbers; when it scores, for an
        aspect without judgments.

    Notes
    -----
    Lioma, Simonsen and Larsen (2017), for relevance and credibility with weights
    :math:`\\lambda` and :math:`1 - \\lambda`; here for any number of aspects.

    Examples
    --------
    >>> cam("nDCG@10", weights={"relevance": 0.5, "credibility": 0.5})
    CAM(nDCG@10, weights={'credibility': 0.5, 'relevance': 0.5})
    """
    return ConvexAggregation(parse_measure(measure), weights=weights)


@wrapper("MM")
def mm(measure: Measure | str, *, weights: Mapping[str, float] | None = None) -> Measure:
    """Take the weighted harmonic mean of a measure over aspects of relevance.

    Parameters
    ----------
    measure
        Any measure with scores of at least 0 that is averaged over topics, or its text.
    weights
        Weight of each aspect, as for :func:`cam`.

    Returns
    -------
    Measure
        A measure like any other, with the text form `MM(RBP)`. A ranking that scores 0 on an
        aspect scores 0.

    Raises
    ------
    MeasureError
        As :func:`cam`, and for a measure with scores below 0 or where low scores are good.

    Notes
    -----
    Palotti, Zuccon and Hanbury (2018), who use RBP inside; WHAM of Lioma, Simonsen and Larsen
    (2017), is the same.

    Examples
    --------
    >>> mm("RBP(p=0.8)")
    MM(RBP)
    """
    return MultidimensionalMeasure(parse_measure(measure), weights=weights)
