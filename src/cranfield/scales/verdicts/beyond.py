"""Scales of measures where there are too many runs to look at all of them."""

from __future__ import annotations

import numpy as np

from cranfield.base.scale_types import Scale
from cranfield.measures import Measure
from cranfield.scales.forms.exact_values import exact_values
from cranfield.scales.forms.form import Form
from cranfield.scales.forms.measure_forms import form
from cranfield.scales.orders.total_orders import rbto, sbto
from cranfield.scales.runs import all_runs, checked_runs
from cranfield.scales.verdicts.enumeration import (
    LISTED,
    OWN,
    RANK_BASED,
    SET_BASED,
    against,
    can_be_listed,
    feasible,
    own_verdict,
)
from cranfield.scales.verdicts.proofs import (
    bottom_runs,
    evenly_spaced,
    prove_rank_based,
    prove_set_based,
    uneven_bottom,
)
from cranfield.scales.verdicts.verdicts import Verdict

SEARCHED = 2**10
"""Runs among which a witness is looked for when there are too many to look at all."""


def verdicts_beyond(
    measure: Measure,
    length: int,
    grades: int,
    pool: list[int],
    additive: Form | None,
    sign: int,
    *,
    exactly: bool,
) -> tuple[Verdict, Verdict, Verdict]:
    """Decide what can be decided without looking at all runs.

    Parameters
    ----------
    measure
        The measure, with its cutoff if it needs one.
    length, grades
        Length of the runs and highest grade.
    pool
        Grades of the topic's documents.
    additive
        Form of an additive measure, if any run can be.
    sign
        -1 if low values are the good ones.
    exactly
        Whether each document has its grade in the pool; else only their number counts.

    Returns
    -------
    tuple
        Verdicts for the measure's own order, the set-based and the rank-based total order.
    """
    if additive is not None:
        set_based = prove_set_based(SET_BASED, additive, sign)
        rank_based = prove_rank_based(RANK_BASED, additive, sign)
    else:
        set_based, rank_based = _searched(measure, length, grades, pool, sign, exactly=exactly)
    own = _own_beyond(measure, length, grades, pool, sign, exactly=exactly)
    if not own.decided and additive is not None:
        even = evenly_spaced(additive)
        if even is not None:
            scale = Scale.INTERVAL if even else Scale.ORDINAL
            own = Verdict(OWN, scale, True, None, "from its weights and gains")
    return own, set_based, rank_based


def _own_beyond(
    measure: Measure, length: int, grades: int, pool: list[int], sign: int, *, exactly: bool
) -> Verdict:
    """Look at the ranks that count only, and there at all runs or at the bottom of their order."""
    depth = length if measure.cutoff is None else min(length, measure.cutoff)
    if can_be_listed(depth, grades):
        runs = checked_runs(all_runs(depth, grades), length, grades)
        runs = runs[feasible(runs, pool, exactly=exactly)]
        return own_verdict(exact_values(measure, runs, grades, pool), runs)
    if measure.info.monotone and _rising(measure, grades) and depth > 1 and not exactly:
        runs = np.pad(bottom_runs(depth, grades), ((0, 0), (0, length - depth)))
        values = exact_values(measure, runs, grades, pool)
        witness = uneven_bottom(values, runs, sign)
        if witness is not None:
            return Verdict(OWN, Scale.ORDINAL, True, witness, "its lowest values")
    return Verdict(OWN, Scale.ORDINAL, False, None, _reach(grades))


def _searched(
    measure: Measure, length: int, grades: int, pool: list[int], sign: int, *, exactly: bool
) -> tuple[Verdict, Verdict]:
    """Look for witnesses against the total orders among short runs padded with grade 0."""
    short = min(length, int(np.log(SEARCHED) / np.log(grades + 1) + 1e-9))
    runs = checked_runs(all_runs(max(short, 1), grades), length, grades)
    runs = runs[feasible(runs, pool, exactly=exactly)]
    values = exact_values(measure, runs, grades, pool)
    found = []
    for order, ranks in ((SET_BASED, sbto(runs, grades)), (RANK_BASED, rbto(runs, grades))):
        verdict = against(order, ranks, values, runs, sign)
        if verdict.scale is not None:
            verdict = Verdict(order, None, False, None, _reach(grades))
        found.append(verdict)
    return found[0], found[1]


def _rising(measure: Measure, grades: int) -> bool:
    """Whether a better grade is never worse for a measure with gains."""
    gains = getattr(measure, "gains", None)
    if gains is None or gains.kind in {"binary", "graded"}:
        return True
    found = form(measure, 2, grades)
    return found is not None and found.shape.rises


def _reach(grades: int) -> str:
    longest = int(np.log(LISTED) / np.log(grades + 1) + 1e-9)
    return f"all runs are looked at up to N = {longest}"
