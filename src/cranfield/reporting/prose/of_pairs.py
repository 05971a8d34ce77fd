"""What was found of pairs: means, differences with intervals, effects, equivalence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from cranfield.base.arrays import Indices
from cranfield.base.words import counted
from cranfield.reporting.prose.sentences import (
    MOST_PLACES,
    Cited,
    Maths,
    Sentence,
    listing,
    p_of,
    places_for,
    rounded,
)
from cranfield.significance.comparison.compared_pairs import MEANS
from cranfield.significance.comparison.result import PairwiseComparison

NOTHING = 1e-9
"""Of a limit, which is rather 0 and an error of rounding."""

SHOWN_PAIRS = 5
"""Pairs whose differences are told one by one."""


def _pair(one: PairwiseComparison, k: int) -> Sentence:
    """Write a difference with its interval, if it has one, and its p-value."""
    low, high = (float(ends[k]) for ends in one.interval)
    p = p_of(float(one.adjusted_pvalues[k]), one.alpha)
    if np.isnan([low, high]).any() or np.isinf([low, high]).all():
        return [_difference(one, k), " (", p, ")"]
    places = _places(one, k)
    ends: list[Any] = []
    if np.isfinite([low, high]).all():
        ends = [Maths(rounded(low, places)), " to ", Maths(rounded(high, places))]
    elif np.isfinite(low):
        ends = ["from ", Maths(rounded(low, places))]
    elif np.isfinite(high):
        ends = ["up to ", Maths(rounded(high, places))]
    level = f"{100 * (1 - one.alpha):g}% confidence interval"
    if one.interval_of in (*MEANS, one.difference_name):
        return [_difference(one, k), f" ({level} ", *ends, ", ", p, ")"]
    # It is no interval of the difference that stands before it.
    of = one.interval_of if len(one) == 1 else one.interval_of.split(" of ")[0]
    return [_difference(one, k), " (", p, f", {level} of the {of} ", *ends, ")"]


def _differences(one: PairwiseComparison) -> str:
    return "log ratios" if one.mean_of == "geometric mean" else "differences"


def _difference(one: PairwiseComparison, k: int) -> Maths:
    return Maths(rounded(one.difference[k], _places(one, k)))


def _places(one: PairwiseComparison, k: int) -> int:
    """Return the decimals of a pair; an interval of one limit counts as if it had both."""
    low, high = (float(ends[k]) for ends in one.interval)
    twice = 2 * float(one.difference[k])
    if np.isfinite(low) != np.isfinite(high):
        low, high = (low, twice - low) if np.isfinite(low) else (twice - high, high)
    places = places_for(low, high, one.places)
    # A limit that is not 0 is not shown as 0.
    least = min((abs(end) for end in (low, high) if NOTHING < abs(end) < np.inf), default=1.0)
    while places < MOST_PLACES and round(least, places) == 0:
        places += 1
    return places


def _name(one: PairwiseComparison, k: int) -> tuple[str, str]:
    return one.systems[one.first[k]], one.systems[one.second[k]]


def _mean(one: PairwiseComparison, system: int, k: int) -> str:
    """Write a mean as exactly as the difference of a pair."""
    return rounded(one.means[system], _places(one, k))


def result_of(one: PairwiseComparison) -> Iterator[Sentence]:
    star = one.is_significant()
    if len(one) == 1:
        a, b = int(one.first[0]), int(one.second[0])
        yield [
            f"The {one.mean_of} of {one.systems[a]} was {_mean(one, a, 0)},"
            f" that of {one.systems[b]} {_mean(one, b, 0)}.",
        ]
        yield [
            f"The {one.difference_name}, ",
            *_pair(one, 0),
            f", is {'' if star[0] else 'not '}significant.",
        ]
        return
    count = int(star.sum())
    yield [
        f"Of {len(one):,} pairs, {count or 'none'} {'differs' if count == 1 else 'differ'}"
        " significantly."
    ]
    without = ""
    if number := one.without_interval:
        pairs = counted(number, "pair")
        without = f"; {pairs} {'has' if number == 1 else 'have'} none that agrees with the decision"
    yield [f"Intervals are of the {one.interval_of}, and hold for {one.interval_kind}{without}."]
    if one.baselines:
        yield from _of_baselines(one)
    elif one.shows_pairs:
        found = np.flatnonzero(star)
        if found.size:
            yield [_largest(f"The {_differences(one)} found", found.size), *_told(one, found), "."]
    else:
        yield from _of_best(one)


def _of_baselines(one: PairwiseComparison) -> Iterator[Sentence]:
    """Tell which systems are better and which are worse than each baseline."""
    star, sign = one.is_significant(), np.sign(one.difference)
    good = sign * (-1 if one.lower_is_better else 1)
    for second in dict.fromkeys(one.second.tolist()):
        own = one.second == second
        base = one.systems[second]
        for word, chosen in (("better", good > 0), ("worse", good < 0)):
            if one.alternative != "two-sided" and word != one.tested_verdict:
                yield [f"Whether a system is {word} than {base} was not tested."]
                continue
            found = np.flatnonzero(own & star & chosen)
            if found.size == 0:
                yield [f"No system is significantly {word} than {base}."]
                continue
            start = f"{counted(found.size, 'system')} {'is' if found.size == 1 else 'are'}"
            start += f" significantly {word} than {base}, by these {_differences(one)}"
            yield [_largest(start, found.size), *_told(one, found), "."]


def _largest(start: str, count: int) -> str:
    most = f", the {SHOWN_PAIRS} largest" if count > SHOWN_PAIRS else ""
    return f"{start}{most}: "


def _told(one: PairwiseComparison, found: Indices) -> Iterator[str | Maths | Cited]:
    """Tell the largest differences among some pairs."""
    order = found[np.argsort(-np.abs(one.difference[found]), kind="stable")]
    for place, k in enumerate(order[:SHOWN_PAIRS].tolist()):
        first, second = _name(one, k)
        yield "; " if place else ""
        yield f"{first} " if one.baselines else f"{first} {one.between_names} {second} "
        yield from _pair(one, k)


def _of_best(one: PairwiseComparison) -> Iterator[Sentence]:
    """Tell of the best system, and of what it cannot be told from."""
    best, next_best = (int(k) for k in one.order[:2])
    top = [name for name in one.top_group if name != one.systems[best]]
    different = np.nan_to_num(one.matrix(one.is_significant().astype(float)))[best]
    better = int(different.sum())
    word = "lowest" if one.lower_is_better else "highest"
    [k] = np.flatnonzero(
        ((one.first == best) & (one.second == next_best))
        | ((one.first == next_best) & (one.second == best))
    )
    differs = f"it differs significantly from {_of_others(better, len(one.systems) - 1)}"
    differs += f", and not from {listing(top)}" if top else ""
    if not better:
        differs = "it is not found to differ from any other system"
    yield [
        f"{one.systems[best]} has the {word} {one.mean_of}, {_mean(one, best, int(k))}; {differs}."
    ]
    a, b = _name(one, int(k))
    yield [
        f"Beside the second, {one.systems[next_best]}, the {one.difference_name}"
        f" ({a} {one.between_names} {b}) is ",
        *_pair(one, int(k)),
        ".",
    ]


def _of_others(number: int, others: int) -> str:
    """Name so many of the other systems."""
    if number < others:
        return f"{number} of the {counted(others, 'other system')}"
    few = {1: "the other system", 2: "both other systems"}
    return few.get(others, f"all {others:,} other systems")


def effects_of(one: PairwiseComparison) -> Iterator[Sentence]:
    known = one.effect[np.isfinite(one.effect)]
    if known.size == 0:
        return
    kind = one.info.effect
    if known.size == 1:
        yield [f"The effect size ({kind}) is ", Maths(rounded(known[0], 2)), "."]
        return
    size = np.abs(known)
    yield [
        f"Effect sizes ({kind}) are from ",
        Maths(rounded(size.min(), 2)),
        " to ",
        Maths(rounded(size.max(), 2)),
        " in size, with a median of ",
        Maths(rounded(float(np.median(size)), 2)),
        ".",
    ]


def equivalence_of(one: PairwiseComparison, margin: float | str) -> Iterator[Sentence]:
    found = one.equivalence(margin)
    low, high = found.interval
    level = f"{100 * found.level:g}% intervals of the {one.interval_of}, {found.holds_for}"
    same, worse = int(found.is_equivalent.sum()), int(found.is_non_inferior.sum())
    asked = f"{margin:g}" if isinstance(margin, (int, float)) else str(margin)
    first = f"Within a margin of {asked}, by {level}"
    if len(one) > 1:
        total = counted(len(one), "pair")
        yield [
            f"{first}, {same or 'none'} of {total} {'is' if same == 1 else 'are'} equivalent; the"
            f" first system is shown to be non-inferior to the second in {worse or 'none'}."
        ]
        return
    places = places_for(float(low[0]), float(high[0]), one.places)
    yield [
        f"{first} (",
        Maths(rounded(low[0], places)),
        " to ",
        Maths(rounded(high[0], places)),
        f"), the two systems are {'' if same else 'not shown to be '}equivalent, and"
        f" {_name(one, 0)[0]} is {'' if worse else 'not shown to be '}non-inferior.",
    ]
