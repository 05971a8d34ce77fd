"""Measures whose values are equally spaced only among retrieved sets of one size."""

from __future__ import annotations

from cranfield.measures import Measure
from cranfield.measures.ranked.sets import EMeasure, FMeasure, SetPrecision, Utility
from cranfield.scales.forms.additive import fraction_of


def needs_one_size(measure: Measure) -> bool:
    """Tell whether a measure is an interval scale for retrieved sets of one size only.

    Parameters
    ----------
    measure
        The measure; one with a cutoff, too, as a ranking may end before it.

    Returns
    -------
    bool
        True for SetP, SetF and SetE, which divide by how many documents were retrieved: with one
        or two of them SetP can be 0, 1/2 and 1, with three 1/3 and 2/3 as well, and steps are 1/3
        and 1/6. True for a utility, unless a step of it is a whole multiple of what a document
        that is not relevant costs.

    Notes
    -----
    Ferrante, Ferro and Fuhr (2021), section 3.4. P divides by the cutoff and SetR by the recall
    base, whatever was retrieved.

    Examples
    --------
    >>> from cranfield.measures import P, SetP
    >>> needs_one_size(SetP), needs_one_size(P @ 10)
    (True, False)
    """
    if isinstance(measure, Utility):
        a, b, c, d = (fraction_of(one) for one in (measure.a, measure.b, measure.c, measure.d))
        found, other = a - c, b - d
        return bool(found and other) and (found / other).denominator != 1
    return isinstance(measure, (SetPrecision, FMeasure, EMeasure))
