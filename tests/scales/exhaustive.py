"""Images by going through all runs, with the measures written down a second time, exactly.

A value is a pair of a key, which is equal for equal values, and a number to sort by: Fractions
both, or for logarithms the rational coefficient of each 1/ln r and a decimal of 60 digits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import Any

Run = tuple[int, ...]
Value = tuple[Any, Any]


def binary(run: Run, rel: int = 1) -> list[int]:
    return [int(grade >= rel) for grade in run]


def rational(function: Callable[[Run], Fraction | int]) -> Callable[[Run], Value]:
    def both(run: Run) -> Value:
        value = Fraction(function(run))
        return value, value

    return both


def ap(run: Run, rel: int = 1) -> Fraction:
    hits = binary(run, rel)
    return sum(
        (Fraction(sum(hits[: i + 1]), i + 1) for i, hit in enumerate(hits) if hit), Fraction()
    )


def rr(run: Run, rel: int = 1) -> Fraction:
    hits = binary(run, rel)
    return Fraction(1, hits.index(1) + 1) if any(hits) else Fraction()


def rbp(p: str, gains: list[Fraction]) -> Callable[[Run], Fraction]:
    q = Fraction(p)
    return lambda run: sum(((1 - q) * gains[g] * q**i for i, g in enumerate(run)), Fraction())


def err(run: Run, highest: int) -> Fraction:
    total, reading = Fraction(), Fraction(1)
    for rank, grade in enumerate(run, 1):
        stop = Fraction(2**grade - 1, 2**highest)
        total += reading * stop / rank
        reading *= 1 - stop
    return total


@cache
def power(n: int) -> tuple[int, int]:
    """n = r^k with the largest k, by trying."""
    return max(
        ((r, k) for r in range(2, n + 1) for k in range(1, 40) if r**k == n), key=lambda x: x[1]
    )


WHOLE = 720_720 * 1000
"""All coefficients of the tests are multiples of one over this."""


def inverse(r: Fraction) -> int:
    """10^70 / ln r."""
    with localcontext() as context:
        context.prec = 80
        return int(Decimal(10) ** 70 / (Decimal(r.numerator).ln() - Decimal(r.denominator).ln()))


def dcg(argument: Callable[[int], Fraction], gains: list[Fraction]) -> Callable[[Run], Value]:
    """DCG / ln(base) with weights 1/ln(argument of the rank)."""
    roots = []
    for rank in range(1, 15):
        x = argument(rank)
        roots.append(
            (Fraction(power(x.numerator)[0]), power(x.numerator)[1])
            if x.denominator == 1
            else (x, 1)
        )
    bases = sorted({r for r, _ in roots})
    sizes = [inverse(r) for r in bases]
    places = [bases.index(r) for r, _ in roots]
    weights = [[int(gain * WHOLE / k) for gain in gains] for _, k in roots]
    assert all(gain * WHOLE % k == 0 for gain in gains for _, k in roots)

    def value(run: Run) -> Value:
        key = [0] * len(bases)
        for place, row, grade in zip(places, weights, run, strict=False):
            key[place] += row[grade]
        return tuple(key), Fraction(sum(map(int.__mul__, key, sizes)), WHOLE * 10**70)

    return value


class Everything:
    """All runs of a length with their values, ranks and numbers."""

    def __init__(
        self,
        value: Callable[[Run], Value],
        length: int,
        grades: int,
        keep: Callable[[Run], bool] = lambda run: True,
    ) -> None:
        self.runs = [run for run in product(range(grades + 1), repeat=length) if keep(run)]
        pairs = [value(run) for run in self.runs]
        number = dict(pairs)
        keys = sorted(number, key=lambda key: number[key])
        self.sizes = [number[key] for key in keys]
        assert len(set(self.sizes)) == len(self.sizes)
        place = {key: index for index, key in enumerate(keys)}
        self.unique = [place[key] + 1 for key, _ in pairs]
        counts = Counter(place[key] for key, _ in pairs)
        before = [0]
        for index in range(len(keys)):
            before.append(before[-1] + counts[index])
        self.low = [before[rank - 1] + 1 for rank in self.unique]
        self.high = [before[rank] for rank in self.unique]
        self.gaps = [b - a for a, b in pairwise(self.sizes)]


EXAMPLES = {
    "IPrec": "IPrec@0.5",
    "uM": "uM(clicks={0: 0.2, 1: 0.5, 2: 0.9}, satisfies={0: 0.1, 1: 0.4, 2: 0.7}, gamma=0.8)",
    "rrM": "rrM(clicks={0: 0.2, 1: 0.5, 2: 0.9}, satisfies={1: 0.4, 2: 0.7}, gamma=0.8)",
    "CWL": "CWL(by_grade={0: 0.9, 1: 0.5}, by_rank={1: 0.9, 3: 0.6})",
    "EBU": "EBU(clicks={0: 0.2, 1: 0.5, 2: 0.9}, leaves={1: 0.4, 2: 0.7}, gamma=0.8)",
    "uUBM": "uUBM(clicks={1: 0.5, 2: 0.9}, examined_after={1: {0: 1}, 2: {0: 0.8, 1: 0.5}})",
    **{
        name: f"{name}(clicks={{1: 0.5, 2: 0.9}}, continues={{1: 0.6, 3: 0.4}})"
        for name in ("uDCM", "rrDCM")
    },
    **{
        name: f"{name}(clicks={{1: 0.5, 2: 0.9}}, tau1=0.9, tau2=0.7, tau3=0.2)"
        for name in ("uCCM", "rrCCM")
    },
}
"""Texts of measures that need parameters."""
