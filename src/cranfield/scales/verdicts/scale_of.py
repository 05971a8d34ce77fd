"""On which scale is a measure, for runs of one length on one topic."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.base.errors import PolicyError
from cranfield.measures import Measure
from cranfield.scales.arrays import as_array
from cranfield.scales.forms.eligible import check_grades_decide
from cranfield.scales.forms.exact_values import exact_values
from cranfield.scales.forms.form import Additive, form
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
    recall_base: Sequence[int] | int | None = None,
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
    recall_base
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
    judged = _checked_base(recall_base, size, grades)
    # A number of relevant documents leaves their grades open; so does the default.
    exactly = recall_base is not None and not _is_number(recall_base)
    sign = -1 if whole.info.lower_is_better else 1
    about = (str(whole), size, grades, _plain(recall_base))
    if can_be_listed(size, grades):
        runs = all_runs(size, grades)
        if recall_base is not None:
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
    free = recall_base is None
    verdicts = verdicts_beyond(
        whole, size, grades, judged, additive if free else None, sign, exactly=exactly
    )
    total = (grades + 1) ** size if free else count_feasible(judged, size, grades, exactly=exactly)
    return ScaleReport(*about, total, *verdicts, found is not None)


def _checked_base(recall_base: Sequence[int] | int | None, length: int, grades: int) -> list[int]:
    if _is_number(recall_base):
        check_base(recall_base)
    elif recall_base is not None:
        wrong = (
            "the recall base is the number of relevant documents or a list of the grades of"
            f" the topic's documents, not {recall_base!r}"
        )
        found = as_array(recall_base, wrong)
        if found.ndim != 1 or not found.size or not np.issubdtype(found.dtype, np.integer):
            raise PolicyError(wrong)
        for wrong in found[(found < 0) | (found > grades)].tolist():
            raise PolicyError(
                f"there is grade {wrong} in the recall base; grades are 0 to {grades}"
            )
    return list(pool(recall_base, length, grades))


def _plain(recall_base: Sequence[int] | int | None) -> int | tuple[int, ...] | None:
    if recall_base is None:
        return None
    if isinstance(recall_base, (int, np.integer)):
        return int(recall_base)
    return tuple(int(one) for one in recall_base)


def _is_number(recall_base: object) -> bool:
    return isinstance(recall_base, (int, np.integer))
