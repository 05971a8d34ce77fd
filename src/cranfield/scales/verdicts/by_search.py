"""Verdicts where there are too many runs to look at all: by proofs, and by witnesses among few."""

from __future__ import annotations

import numpy as np

from cranfield.base.scale_types import Scale
from cranfield.scales.forms.form import Additive, Form
from cranfield.scales.forms.measure_forms import form
from cranfield.scales.verdicts.by_listing import (
    OWN,
    RANK_BASED,
    SET_BASED,
    against_total_orders,
    own_verdict,
)
from cranfield.scales.verdicts.proofs import (
    bottom_runs,
    evenly_spaced,
    prove_rank_based,
    prove_set_based,
    uneven_bottom,
)
from cranfield.scales.verdicts.run_set import LISTED, RunSet
from cranfield.scales.verdicts.verdicts import Verdict

SEARCHED = 2**10
"""Runs among which a witness is looked for when there are too many to look at all."""


def searched_verdicts(asked: RunSet, exact: Form | None) -> list[Verdict]:
    """Decide what can be decided: for its own order, the set-based and the rank-based one.

    An additive measure, where any run can be, is decided by the steps between neighbours; against
    others a witness is looked for.
    """
    own = _own(asked)
    if asked.stated is not None or exact is None or not isinstance(exact.shape, Additive):
        return [own, *_witnesses(asked)]
    if not own.decided and (even := evenly_spaced(exact)) is not None:
        scale = Scale.INTERVAL if even else Scale.ORDINAL
        own = Verdict(OWN, scale, True, None, "from its weights and gains")
    return [
        own,
        prove_set_based(SET_BASED, exact, asked.sign),
        prove_rank_based(RANK_BASED, exact, asked.sign),
    ]


def _own(asked: RunSet) -> Verdict:
    """Look at the ranks that count only, and there at all runs or at the bottom of their order."""
    measure, length, grades = asked.measure, asked.length, asked.grades
    depth = length if measure.cutoff is None else min(length, measure.cutoff)
    if asked.can_be_listed(depth):
        runs = asked.listed(depth)
        return own_verdict(asked.values(runs), runs)
    if measure.info.monotone and _rising(asked) and depth > 1 and not asked.graded:
        runs = np.pad(bottom_runs(depth, grades), ((0, 0), (0, length - depth)))
        witness = uneven_bottom(asked.values(runs), runs, asked.sign)
        if witness is not None:
            return Verdict(OWN, Scale.ORDINAL, True, witness, "its lowest values")
    return Verdict(OWN, Scale.ORDINAL, False, None, _reach(grades))


def _witnesses(asked: RunSet) -> list[Verdict]:
    """Look for witnesses against the total orders among short runs padded with grade 0."""
    short = min(asked.length, int(np.log(SEARCHED) / np.log(asked.grades + 1) + 1e-9))
    runs = asked.listed(max(short, 1))
    verdicts = against_total_orders(asked, asked.values(runs), runs)
    reach = _reach(asked.grades)
    return [
        one if one.scale is None else Verdict(one.order, None, False, None, reach)
        for one in verdicts
    ]


def _rising(asked: RunSet) -> bool:
    """Whether a better grade is never worse for a measure with gains."""
    gains = getattr(asked.measure, "gains", None)
    if gains is None or gains.kind in {"binary", "graded"}:
        return True
    exact = form(asked.measure, 2, asked.grades)
    return exact is not None and exact.shape.rises


def _reach(grades: int) -> str:
    longest = int(np.log(LISTED) / np.log(grades + 1) + 1e-9)
    return f"all runs are looked at up to N = {longest}"
