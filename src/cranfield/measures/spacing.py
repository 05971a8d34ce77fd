"""Check whether the values of a measure are equally spaced, by enumeration or number theory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from itertools import product
from math import gcd, lcm

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError
from cranfield.collection.judged.judged_runs import JudgedRuns, runs_of_grades

MAX_SCORED_LENGTH = 5
"""Maximum length of runs for which all runs are scored."""

MAX_SCORED_RUNS = 1_500
"""Maximum number of runs to score; enough for runs of five documents with grades 0 to 3."""

MAX_TRIED_GRADE = 5
"""The highest grade to try: values that are unevenly spaced with more grades are so with these."""

DUPLICATE_TOLERANCE = 1e-13
"""Values that differ by less than this fraction of the largest value are equal."""

STEP_TOLERANCE = 1e-6
"""Steps that differ by less than this fraction of the smallest step are equal."""

MAX_ENUMERATED_SUM = 2_000
"""Maximum sum of gains to enumerate, in units of their common divisor."""


def can_enumerate_runs(length: int, highest: int) -> bool:
    """Return True if all runs of up to `length` documents can be scored quickly."""
    return (
        length <= MAX_SCORED_LENGTH
        and sum((highest + 1) ** size for size in range(length + 1)) <= MAX_SCORED_RUNS
    )


@cache
def all_runs(length: int, highest: int) -> JudgedRuns:
    """Return all runs of up to `length` documents, on a topic for which each is possible."""
    grades = [
        (*run, *(-1,) * (length - size))
        for size in range(length + 1)
        for run in product(range(highest + 1), repeat=size)
    ]
    return runs_of_grades(np.array(grades), np.full(length, highest), highest, every_grade=True)


def evenly_spaced(score: Callable[[JudgedRuns], Floats], length: int, highest: int) -> bool:
    """Return True if the values on all runs of up to `length` ranks are equally spaced.

    The grades are 0 to `highest`. The result is False for a measure that cannot score the runs, and
    for a single value at the highest grade tried, as the relevant grades may be higher.
    """
    try:
        values = np.unique(score(all_runs(length, highest))[0])
    except CranfieldError:
        return False
    steps = np.diff(values)
    steps = steps[~(steps <= DUPLICATE_TOLERANCE * float(np.abs(values).max()))]
    if not steps.size:
        return highest < MAX_TRIED_GRADE
    return bool(np.ptp(steps) <= STEP_TOLERANCE * steps.min())


def sums_evenly_spaced(
    gains: Iterable[Fraction], ranks: int | None, base: Fraction | int = 1
) -> bool:
    r"""Return True if the possible weighted sums of gains over the ranks are equally spaced.

    The sums are :math:`\sum_{r=1}^{k} g_r \, b^{k-r}` over k ranks, where each :math:`g_r` is any
    of the gains: an unweighted sum for b = 1, and rank-biased precision with p = 1/b. Gains in
    equal steps, :math:`0, h, \dots, m h`, are the digits 0 to m of numbers in base b, and they
    represent all integers up to the largest one if and only if :math:`b \le m + 1`. A base that is
    not an integer gives unequal steps. If the sums of two ranks have no gap, those of more ranks
    have none either; `ranks` is None for sums of every length.

    >>> sums_evenly_spaced([Fraction(0), Fraction(1, 2), Fraction(1)], None, base=3)
    True
    >>> sums_evenly_spaced([Fraction(0), Fraction(1)], None, base=3)
    False
    """
    gains = sorted(set(gains))
    if len(gains) == 1:
        return True
    if base.denominator != 1 and ranks != 1:
        return False
    if ranks is None:
        return all(sums_evenly_spaced(gains, length, base) for length in (1, 2))
    denominator = lcm(*(gain.denominator for gain in gains))
    steps = [int((gain - gains[0]) * denominator) for gain in gains]
    unit = gcd(*steps)
    digits = [number // unit for number in steps]
    if digits[-1] == len(digits) - 1:
        return ranks == 1 or base <= len(digits)
    sums = {0}
    for _ in range(ranks):
        sums = {int(base) * number + digit for number in sums for digit in digits}
        if max(sums) > MAX_ENUMERATED_SUM:
            break
    return len(sums) == max(sums) + 1
