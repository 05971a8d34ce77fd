"""On which scale is a measure, for runs of one length on one topic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.base.checks import check_whole
from cranfield.base.errors import PolicyError
from cranfield.measures import Measure
from cranfield.scales.forms.eligible import check_grades_decide
from cranfield.scales.forms.exact_values import exact_values
from cranfield.scales.forms.form import Additive
from cranfield.scales.forms.measure_forms import form
from cranfield.scales.judgments import check_base, pool
from cranfield.scales.orders.total_orders import rbto, sbto
from cranfield.scales.runs import all_runs, as_measure, check_size
from cranfield.scales.verdicts.beyond import verdicts_beyond
from cranfield.scales.verdicts.enumeration import (
    RANK_BASED,
    SET_BASED,
    against,
    can_be_listed,
    completed,
    count_feasible,
    feasible,
    own_verdict,
)
from cranfield.scales.verdicts.verdicts import ScaleReport


def scale_of(
    measure: Measure | str,
    length: int | None = None,
    grades: int = 1,
    *,
    judgments: Sequence[int] | int | None = None,
) -> ScaleReport:
    """Find the scale that a measure is on, and runs that show why it is not on a higher one.

    Parameters
    ----------
    measure
        The measure, or its text. One that needs a cutoff and has none gets the length.
    length
        Length N of the runs; the measure's cutoff by default.
    grades
        The highest grade c; grades are 0..c.
    judgments
        The topic's documents: their grades, or the number of relevant ones. Only runs that can be
        retrieved from them are looked at, and they are the set whose neighbours are compared. By
        default N documents of the highest grade are judged and every run can be.

    Returns
    -------
    ScaleReport
        For the measure's own order it is interval when its values are equally spaced (Ferrante,
        Ferro and Fuhr, 2021, sections 2.2.3 and 3.2), else ordinal. For a total order it is
        ordinal when it orders all pairs of runs in the same way, and interval when it is also a
        positive affine function of the rank in that order (Ferrante, Ferro and Pontarollo, 2019,
        sections 2, 4 and 5).

    Raises
    ------
    PolicyError
        Without a length, or with a length, a grade or a recall base below 1 or out of reach.
    MeasureError
        For a measure that cannot score such runs.

    Notes
    -----
    All runs are looked at while there are up to 2^18 of them. Beyond that additive measures (P, R,
    F, gP, gR, RBP, DCG, nDCG) are decided by the steps between neighbours, other known ones by the
    bottom of the partial order and by witnesses; what is still open is said to be so.

    Examples
    --------
    >>> from cranfield.measures import AP, RBP
    >>> print(scale_of(RBP(p=0.5), 3).rank_based)
    rank-based total order: interval
    >>> print(scale_of(AP, 4).own)
    its own order: ordinal; not interval: the step from 0 to 1/16, for (0, 0, 0, 0) and
    (0, 0, 0, 1), is 1/16; the step from 1/16 to 1/12, for (0, 0, 0, 1) and (0, 0, 1, 0), is 1/48
    """
    measure = as_measure(measure, length)
    check_grades_decide(measure)
    size = measure.cutoff if length is None else length
    if size is None:
        raise PolicyError(f"give the length of the runs, such as scale_of({measure}, 10)")
    check_size(size, grades)
    whole = completed(measure, size)
    if isinstance(judgments, (int, np.integer)):
        check_base(judgments)
    judged = list(pool(judgments, size, grades))
    check_whole("the recall base", len(judged), 1)
    stated: int | tuple[int, ...] | None = None
    if isinstance(judgments, (int, np.integer)):
        stated = int(judgments)
    elif judgments is not None:
        stated = tuple(int(grade) for grade in judgments)
    # A number of relevant documents leaves their grades open; so does the default.
    free, exactly = stated is None, isinstance(stated, tuple)
    sign = -1 if whole.info.lower_is_better else 1
    about = (str(whole), size, grades, stated)
    if can_be_listed(size, grades):
        runs = all_runs(size, grades)
        if not free:
            runs = runs[feasible(runs, judged, exactly=exactly)]
        values = exact_values(whole, runs, grades, judged)
        return ScaleReport(
            *about,
            len(runs),
            own_verdict(values, runs),
            against(SET_BASED, sbto(runs, grades), values, runs, sign),
            against(RANK_BASED, rbto(runs, grades), values, runs, sign),
            values.exact,
        )
    found = form(whole, size, grades, judged)
    additive = found if found is not None and isinstance(found.shape, Additive) else None
    verdicts = verdicts_beyond(
        whole, size, grades, judged, additive if free else None, sign, exactly=exactly
    )
    total = (grades + 1) ** size if free else count_feasible(judged, size, grades, exactly=exactly)
    return ScaleReport(*about, total, *verdicts, found is not None)
