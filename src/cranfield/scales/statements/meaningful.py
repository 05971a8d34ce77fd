"""Whether what a comparison says is meaningful: it holds on every admissible scale."""

from __future__ import annotations

from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.scale_types import Scale
from cranfield.measures import Measure
from cranfield.scales.interval_scaled import Interval
from cranfield.scales.runs import depends_on_recall_base
from cranfield.scales.statements.dominance import dominance
from cranfield.scales.statements.statements import (
    MEANINGFUL,
    NOT_INVARIANT,
    UNKNOWN,
    Meaning,
    measure_of,
)
from cranfield.significance.comparison.result import PairwiseComparison


def meaning(comparison: PairwiseComparison) -> Meaning:
    """Judge whether the statements of a comparison are meaningful.

    A statement is meaningful when it stays true, or false, under every transformation that the
    scale of its numbers admits (Ferrante, Ferro and Fuhr 2021, section 2.4). What a test needs is
    compared with what the measure declares. And without any stance in that debate: for each pair,
    whether the order of the means survives every increasing transformation of the scores, which is
    so exactly when the scores of the better system dominate stochastically.

    Parameters
    ----------
    comparison
        What :func:`cranfield.compare` returns.

    Raises
    ------
    PolicyError
        For anything but a comparison.

    Notes
    -----
    SetP, SetF, SetE and most utilities are interval scales for retrieved sets of one size only,
    and scores do not tell the sizes: what needs more than an order is not invariant for them.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:4], covid.qrels, ["nDCG@20", "interval(RR@5)"])
    >>> meaning(cf.compare(ev["nDCG@20"])).verdict
    'not invariant'
    >>> meaning(cf.compare(ev["nDCG@20"], test="friedman")).verdict
    'meaningful'
    >>> meaning(cf.compare(ev["interval(RR@5)"])).verdict
    'meaningful'
    """
    if not isinstance(comparison, PairwiseComparison):
        raise PolicyError(f"meaning takes what compare() returns, not {type(comparison).__name__}")
    needs = comparison.info.scale
    has = comparison.measure_scale
    measure = measure_of(comparison.measure)
    if has is None and measure is not None:
        has = measure.scale
    by_topic = measure is not None and _by_topic(measure)
    by_size = measure is not None and measure.needs_one_size
    apart = by_topic and not comparison.info.within_topics
    verdict = MEANINGFUL
    if has is None:
        verdict = UNKNOWN
    elif has < needs or apart or (by_size and needs > Scale.ORDINAL):
        verdict = NOT_INVARIANT
    found = dominance(comparison.scores, comparison.first, comparison.second)
    return Meaning(comparison, needs, has, by_topic, by_size, verdict, found)


def _by_topic(measure: Measure) -> bool:
    """Tell whether a measure depends on the recall base."""
    # Ranks are the same on all topics; what they are ranks of is not. Risk is a difference.
    while isinstance(measure, Interval) or measure.info.family == "risk":
        measure = getattr(measure, "inner")  # noqa: B009
    try:
        return depends_on_recall_base(measure)
    except CranfieldError:
        # What it needs besides judgments, such as intents and lengths, each topic has its own.
        return True
