"""On which scale is a measure: for runs of one length on one topic, or over several of both."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.errors import PolicyError
from cranfield.measures import Measure
from cranfield.scale import Scale
from cranfield.scales.additive import Additive, additive_form, pool_of
from cranfield.scales.exact import Number, Values, exact_values
from cranfield.scales.orders import rbto, sbto
from cranfield.scales.proofs import (
    MONOTONE,
    bottom_runs,
    even_sums,
    prove_rank_based,
    prove_set_based,
    uneven_bottom,
)
from cranfield.scales.runs import Grades, all_runs, check_size, checked_runs
from cranfield.scales.verdicts import ScaleReport, Verdict, Witness

OWN = "its own order"
SET_BASED = "set-based total order"
RANK_BASED = "rank-based total order"

LISTED = 2**18
"""Runs that are all looked at; beyond that, proofs and witnesses are looked for."""

SEARCHED = 2**10
"""Runs among which a witness is looked for when there are too many to look at all."""


def scale_of(
    measure: Measure,
    length: int | None = None,
    grades: int = 1,
    *,
    recall_base: Sequence[int] | int | None = None,
) -> ScaleReport:
    """Find the scale that a measure is on, and runs that show why it is not on a higher one.

    Parameters
    ----------
    measure
        The measure. One that needs a cutoff and has none gets the length.
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
        Without a length, or with one or a grade below 1.
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
    size = measure.cutoff if length is None else length
    if size is None:
        raise PolicyError(f"give the length of the runs, such as scale_of({measure}, 10)")
    check_size(size, grades)
    whole = completed(measure, size)
    pool = _checked_base(recall_base, size, grades)
    # A number of relevant documents leaves their grades open; so does the default.
    exactly = recall_base is not None and not isinstance(recall_base, int)
    total = (grades + 1) ** size
    sign = -1 if whole.info.lower_is_better else 1
    about = (str(whole), size, grades, _plain(recall_base))
    if total <= LISTED:
        runs = all_runs(size, grades)
        if recall_base is not None:
            runs = runs[feasible(runs, pool, exactly=exactly)]
        values = exact_values(whole, runs, grades, pool)
        return ScaleReport(
            *about,
            len(runs),
            own_verdict(values, runs),
            against(SET_BASED, sbto(runs, grades), values, runs, sign),
            against(RANK_BASED, rbto(runs, grades), values, runs, sign),
            values.exact,
        )
    form = additive_form(whole, size, grades, pool) if recall_base is None else None
    verdicts = _beyond(whole, size, grades, pool, form, sign, exactly=exactly)
    if recall_base is not None:
        total = _count_feasible(pool, size, grades, exactly=exactly)
    exact = exact_values(whole, bottom_runs(size, grades), grades, pool).exact
    return ScaleReport(*about, total, *verdicts, exact)


def own_verdict(values: Values, runs: Grades) -> Verdict:
    """Judge a measure for its own order: whether its values are equally spaced."""
    place = values.uneven()
    if place is None:
        return Verdict(OWN, Scale.INTERVAL)
    return Verdict(OWN, Scale.ORDINAL, True, _gaps(values, runs, place))


def against(
    order: str, ranks: NDArray[Any], values: Values, runs: Grades, sign: int = 1
) -> Verdict:
    """Judge a measure for a given weak order of runs.

    Parameters
    ----------
    order
        Its name.
    ranks
        Rank of each run in it, shape (runs,).
    values
        The measure's values of the runs.
    runs
        Grades by rank, shape (runs, ranks).
    sign
        -1 if low values are the good ones.
    """
    place = values.place if sign > 0 else values.numbers.size - 1 - values.place
    classes = np.unique(ranks, return_inverse=True)[1].ravel()
    by_class = np.lexsort((place, classes))
    ordered, sorted_place = classes[by_class], place[by_class]
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    ends = np.append(starts[1:], len(ordered)) - 1
    # Within a class the values ascend, so that its least stands first and its greatest last.
    low, high = sorted_place[starts], sorted_place[ends]
    before = np.maximum.accumulate(high)
    for kind, broken in (
        ("inverted", np.flatnonzero(before[:-1] > low[1:])),
        ("distinguished", np.flatnonzero(high > low)),
        ("tied", np.flatnonzero(before[:-1] == low[1:])),
    ):
        if broken.size:
            at = int(broken[0])
            if kind == "distinguished":
                pair = by_class[[starts[at], ends[at]]]
            else:
                greatest = int(np.argmax(high[: at + 1] == before[at]))
                pair = by_class[[ends[greatest], starts[at + 1]]]
            return Verdict(order, None, True, _witness(kind, values, runs, pair))
    uneven = values.uneven()
    if uneven is None:
        return Verdict(order, Scale.INTERVAL)
    return Verdict(order, Scale.ORDINAL, True, _gaps(values, runs, uneven))


def completed(measure: Measure, length: int) -> Measure:
    """Return the measure with the length for a cutoff, if it needs one and has none."""
    if measure.info.at == "cutoff" and measure.info.at_wanted == "required":
        return measure if measure.cutoff is not None else measure @ length
    return measure


def check_base(base: int) -> None:
    """Refuse a recall base that is no positive whole number."""
    if isinstance(base, bool) or base < 1:
        raise PolicyError(f"a recall base is a whole number from 1, not {base!r}")


def feasible(runs: Grades, pool: list[int], *, exactly: bool) -> NDArray[np.bool_]:
    """Whether runs can be retrieved from a topic's documents.

    Parameters
    ----------
    runs
        Grades by rank, shape (runs, ranks).
    pool
        Grades of the topic's documents.
    exactly
        Whether each document has its grade in the pool; else only their number counts.
    """
    if not exactly:
        return np.asarray((runs > 0).sum(axis=1) <= len(pool))
    out = np.ones(len(runs), dtype=bool)
    for grade in range(1, int(runs.max(initial=0)) + 1):
        out &= (runs == grade).sum(axis=1) <= pool.count(grade)
    return out


def _count_feasible(pool: list[int], length: int, grades: int, *, exactly: bool) -> int:
    """Number of runs that can be retrieved from a topic's documents."""
    if not exactly:
        most = min(length, len(pool))
        return sum(comb(length, found) * grades**found for found in range(most + 1))
    # Ways to place the documents of the grades so far at any of the ranks, by how many they are.
    ways = [1] + [0] * length
    for grade in range(1, grades + 1):
        have = pool.count(grade)
        ways = [
            sum(ways[n - k] * comb(length - n + k, k) for k in range(min(n, have) + 1))
            for n in range(length + 1)
        ]
    return sum(ways)


def _beyond(
    measure: Measure,
    length: int,
    grades: int,
    pool: list[int],
    form: Additive | None,
    sign: int,
    *,
    exactly: bool,
) -> tuple[Verdict, Verdict, Verdict]:
    """Decide what can be decided without looking at all runs."""
    if form is not None:
        set_based = prove_set_based(SET_BASED, form, length, sign)
        rank_based = prove_rank_based(RANK_BASED, form, length, sign)
    else:
        set_based, rank_based = _searched(measure, length, grades, pool, sign, exactly=exactly)
    own = Verdict(OWN, Scale.ORDINAL, False, None, _reach(grades))
    if not exactly:
        own = _own_beyond(measure, length, grades, pool, sign)
    if own.witness is None and form is not None:
        even = even_sums(form, length)
        if Scale.INTERVAL in {set_based.scale, rank_based.scale} or even:
            own = Verdict(OWN, Scale.INTERVAL, True, None, "from its weights and gains")
        elif even is False:
            own = Verdict(OWN, Scale.ORDINAL, True, None, "sums of its gains are unequally spaced")
    return own, set_based, rank_based


def _own_beyond(measure: Measure, length: int, grades: int, pool: list[int], sign: int) -> Verdict:
    if measure.name in MONOTONE and _rising(measure, grades) and length > 1 and len(pool):
        runs = bottom_runs(length, grades)
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
    form = additive_form(measure, 2, grades)
    return form is not None and all(np.diff(np.array(form.gains, dtype=float)) > 0)


def _reach(grades: int) -> str:
    longest = int(np.log(LISTED) / np.log(grades + 1) + 1e-9)
    return f"all runs are looked at up to N = {longest}"


def _checked_base(recall_base: Sequence[int] | int | None, length: int, grades: int) -> list[int]:
    if isinstance(recall_base, int):
        check_base(recall_base)
    elif recall_base is not None:
        found = np.asarray(recall_base)
        if found.ndim != 1 or not found.size or not np.issubdtype(found.dtype, np.integer):
            raise PolicyError(
                "the recall base is the number of relevant documents or a list of the grades of"
                f" the topic's documents, not {recall_base!r}"
            )
        for wrong in found[(found < 0) | (found > grades)].tolist():
            raise PolicyError(
                f"there is grade {wrong} in the recall base; grades are 0 to {grades}"
            )
    out: list[int] = pool_of(recall_base, length, grades).tolist()
    return out


def _plain(recall_base: Sequence[int] | int | None) -> int | tuple[int, ...] | None:
    if recall_base is None or isinstance(recall_base, int):
        return recall_base
    return tuple(int(one) for one in recall_base)


def _gaps(values: Values, runs: Grades, place: int) -> Witness:
    """Runs that show that the first gap and the one after `place` are not equal."""
    pairs = [int(np.argmax(values.place == p)) for p in (0, 1, place, place + 1)]
    return _witness("gaps", values, runs, pairs)


def _witness(kind: str, values: Values, runs: Grades, chosen: Any) -> Witness:
    found: tuple[Number, ...] = tuple(values.value(int(values.place[i])) for i in chosen)
    return Witness(kind, tuple(tuple(map(int, runs[i])) for i in chosen), found)
