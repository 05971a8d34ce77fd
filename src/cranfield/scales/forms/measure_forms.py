"""Which form the values of each measure have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cranfield.measures.base import Measure
from cranfield.measures.ranked import average_precision, dcg, ntcir, precision, sets
from cranfield.measures.users import (
    browsing,
    clicks,
    expected_reciprocal_rank,
    rank_biased,
    satisfied,
    wanted_gain,
)
from cranfield.measures.users.expectation import ETU, EU
from cranfield.measures.users.wanted_gain import INSQ, ScaledDCG
from cranfield.scales.forms import additive, blended, of_clicks, of_users, stateful
from cranfield.scales.forms.form import Form, Setting
from cranfield.scales.runs import pool

Maker = Callable[[Any, Setting], Form | None]

_MAKERS: dict[Maker, tuple[type[Measure], ...]] = {
    additive.of_counts: (
        *(precision.Precision, precision.Recall, precision.RelativePrecision),
        *(sets.NumRelevantRetrieved, sets.SetPrecision, sets.SetRecall),
        *(sets.SetRelativePrecision, sets.SetAveragePrecision, sets.FMeasure, sets.EMeasure),
        sets.Utility,
    ),
    additive.r_precision: (precision.RPrecision,),
    additive.of_gains: (precision.GeneralisedPrecision, precision.GeneralisedRecall),
    additive.rank_biased: (rank_biased.RankBiasedPrecision,),
    additive.discounted: (dcg.DCG, dcg.nDCG),
    stateful.first_found: (
        *(precision.ReciprocalRank, precision.Success, precision.WeightedReciprocalRank),
    ),
    stateful.average_precision: (
        *(average_precision.AveragePrecision, average_precision.GeometricAveragePrecision),
    ),
    stateful.mean_gains: (average_precision.KishidaAveragePrecision,),
    stateful.shared_grades: (average_precision.GradedAveragePrecision,),
    stateful.cascade: (
        expected_reciprocal_rank.ExpectedReciprocalRank,
        expected_reciprocal_rank.NormalisedExpectedReciprocalRank,
        expected_reciprocal_rank.IntentwiseRankBiasedUtility,
    ),
    of_clicks.chained: (
        *(clicks.ClickUtility, clicks.ClickEffort, browsing.ExpectedBrowsingUtility),
        *(browsing.DependentUtility, browsing.DependentEffort),
        *(browsing.ChainUtility, browsing.ChainEffort),
    ),
    blended.q_measure: (ntcir.QMeasure,),
    blended.cumulative_utility: (ntcir.NormalisedCumulativeUtility,),
    blended.expected_ratio: (ntcir.ExpectedBlendedRatio,),
    blended.r_measure: (ntcir.RMeasure,),
    blended.o_measure: (ntcir.OMeasure,),
    blended.p_measure: (ntcir.PMeasure, ntcir.PPlusMeasure),
    of_users.of_model: (
        *(INSQ, ScaledDCG, wanted_gain.BPM, wanted_gain.BPMDynamic),
        *(satisfied.NERR8, satisfied.NERR9, satisfied.NERR10, satisfied.NERR11),
    ),
    of_users.of_expectation: (EU, ETU),
}

FORMS: dict[type[Measure], Maker] = {
    measure: maker for maker, measures in _MAKERS.items() for measure in measures
}
"""How the form of each class of measures is made."""


def form(
    measure: Measure,
    length: int,
    grades: int = 1,
    judgments: Sequence[int] | int | None = None,
) -> Form | None:
    """Return the form of a measure's values on runs of a length; None for one that has none.

    Judgments are grades of the topic's judged documents, or how many it has of the highest grade;
    by default as many as the runs are long.

    >>> from cranfield.measures import DCG, IPrec
    >>> form(DCG, 3).shape.bases, form(IPrec @ 0.1, 3) is None
    ((Fraction(2, 1), Fraction(3, 1), Fraction(2, 1)), True)
    """
    maker = FORMS.get(type(measure))
    if maker is None:
        return None
    measure.require_complete()
    return maker(measure, Setting(length, grades, pool(judgments, length, grades)))
