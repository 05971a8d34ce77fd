"""The scale of a measure over runs of several lengths and topics of several recall bases."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from cranfield.base.arrays import Ints
from cranfield.base.errors import PolicyError
from cranfield.base.scale_types import Scale
from cranfield.measures import Measure
from cranfield.scales.forms.eligible import check_grades_decide
from cranfield.scales.forms.exact_numbers import Irrational, Number
from cranfield.scales.forms.exact_values import TOLERANCE, exact_values
from cranfield.scales.runs import all_runs, as_measure, check_base, check_size
from cranfield.scales.verdicts.run_set import LISTED, completed
from cranfield.scales.verdicts.verdicts import Run, TopicsReport, Witness

MOST_TOPICS = 2_500
"""Pairs of a length and a recall base."""

Example = tuple[Run, int]
"""A run and the recall base of its topic."""


def scale_over_topics(measure: Measure | str, longest: int, largest_base: int) -> TopicsReport:
    r"""Find the scale of a measure over runs of all lengths and topics of all recall bases.

    .. math:: S[N, K] = \bigcup_{1 \le n \le N,\ 1 \le RB \le K} S_{n, RB}

    where :math:`S_{n, RB}` are the runs of length n on topics with RB relevant documents, of which
    they have at most RB. Relevance is binary.

    Parameters
    ----------
    measure
        The measure, or its text. One that needs a cutoff and has none gets the length of each run,
        so that P is the precision of the retrieved set.
    longest, largest_base
        The longest run, N, and the largest recall base, K.

    Returns
    -------
    TopicsReport
        Interval if the values over the whole set are equally spaced, else ordinal, with a witness.

    Raises
    ------
    PolicyError
        For N or K below 1, for N K above 2,500, or too many runs to look at all.

    Notes
    -----
    Values are compared exactly, but for those of measures whose divisor is another irrational
    number on each topic, such as nDCG, whose ideal DCG depends on the recall base. Of such
    quotients of sums of logarithms it is not known when two are equal; they are floats, and those
    within 2^-40 of the largest count as equal. `exact` tells which it is, and so does the text.

    Source: Ferrante, Ferro and Fuhr (2021), section 3.4. Precision is interval for N up to 2 only,
    recall for K up to 2 only, and F1 for N = K = 1 only. Where that section's summary names S[2, 2]
    as the only set on which precision and recall are interval without being affine to each other,
    S[1, 2] and S[2, 1] are such sets too.

    Examples
    --------
    >>> from cranfield.measures import P
    >>> print(scale_over_topics(P, 2, 2))
    P on S[2, 2]: interval, with 3 values
    >>> print(scale_over_topics(P, 3, 1))
    P on S[3, 1]: ordinal, with 4 values; not interval: the step from 0 to 1/3, for [0, 1, 1] and
    [1, 3, 1], is 1/3; the step from 1/3 to 1/2, for [1, 3, 1] and [1, 2, 1], is 1/6
    """
    check_size(longest, 1)
    check_base(largest_base)
    deepest = as_measure(measure, longest)
    check_grades_decide(deepest)
    if longest * largest_base > MOST_TOPICS:
        raise PolicyError(
            f"S[{longest}, {largest_base}] has {longest * largest_base:,} pairs of a length and a"
            f" recall base; up to {MOST_TOPICS:,} are feasible"
        )
    counted = deepest.info.counts and (deepest.cutoff or longest) >= longest
    if not counted and 2 ** (longest + 1) * largest_base > LISTED:
        raise PolicyError(
            f"S[{longest}, {largest_base}] has too many runs to look at all of them; for {measure}"
            f" up to {LISTED:,} can be"
        )
    values: dict[Number, Example] = {}
    exact = True
    for length in range(1, longest + 1):
        whole = completed(as_measure(measure, length), length)
        for base in range(1, largest_base + 1):
            runs = _runs(length, base, counted=counted)
            found = exact_values(whole, runs, 1, base)
            exact &= found.exact and found.factor == 1.0
            places, first = np.unique(found.place, return_index=True)
            for place, at in zip(places.tolist(), first.tolist(), strict=True):
                example = (tuple(map(int, runs[at])), base)
                values.setdefault(found.value(place), example)
    divisors = {one.below for one in values if isinstance(one, Irrational)}
    if len(divisors) > 1:
        # Of sums of logarithms over different ideal ones it is not known when they are equal.
        exact = False
        floats: dict[Number, Example] = {}
        for value, example in values.items():
            floats.setdefault(float(value), example)
        values = floats
    ordered = _distinct(sorted(values), exact=exact)
    witness = _uneven(ordered, values, exact=exact)
    scale = Scale.INTERVAL if witness is None else Scale.ORDINAL
    return TopicsReport(str(measure), longest, largest_base, scale, tuple(ordered), witness, exact)


def _runs(length: int, base: int, *, counted: bool) -> Ints:
    """Runs of a length with at most so many relevant documents, or one of each number of them."""
    if counted:
        found = np.arange(min(length, base) + 1)
        return np.asarray((np.arange(length) < found[:, None]).astype(np.int64))
    runs = all_runs(length)
    return np.asarray(runs[runs.sum(axis=1) <= base])


def _distinct(values: list[Any], *, exact: bool) -> list[Number]:
    if exact or not values:
        return values
    slack = TOLERANCE * max(abs(float(one)) for one in values)
    out = [values[0]]
    for value in values[1:]:
        if value - out[-1] > slack:
            out.append(value)
    return out


def _uneven(
    values: list[Number], examples: dict[Number, Example], *, exact: bool
) -> Witness | None:
    """Two unequal steps, the first of them the lowest."""
    if len(values) < 3:
        return None
    slack = 4 * TOLERANCE * max(abs(float(one)) for one in values)
    numbers: list[Any] = list(values)
    steps = [upper - lower for lower, upper in pairwise(numbers)]
    for i, step in enumerate(steps):
        if (step != steps[0]) if exact else abs(step - steps[0]) > slack:
            chosen = [values[j] for j in (0, 1, i, i + 1)]
            runs = [examples[value] for value in chosen]
            labels = tuple(f"[{sum(run)}, {len(run)}, {base}]" for run, base in runs)
            return Witness("gaps", tuple(run for run, _ in runs), tuple(chosen), labels)
    return None
