"""Exact numbers: fractions, and quotients of sums of inverse logarithms, of which DCG is made.

Write an argument x > 1 as r^k with r not itself a power (its *root*). Then 1/ln x = (1/k) (1/ln r).
Inverse logarithms of different roots are linearly independent over the rationals if Schanuel's
conjecture holds: it makes the logarithms of the primes algebraically independent; the ln r are
then linear forms in independent variables, no two of them proportional, and the functions 1/ln r
have different poles. No proof without the conjecture is known and no counterexample: a relation
with coefficients as small as those of grades would be seen by the numbers of this module, which
are computed to any precision. So two combinations are equal if, and only if, their coefficients
are; which of two others is larger is told by as many digits as it takes. Whatever relies on the
independence raises an error, and does not guess, when two sums that should differ agree to
thousands of digits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache, total_ordering
from math import lcm

from cranfield.base.errors import PolicyError

ZERO = Fraction(0)
ONE = Fraction(1)
"""Stands for the rational numbers themselves among the bases."""


@lru_cache(maxsize=4096)
def root(x: Fraction) -> tuple[Fraction, int]:
    """Write x > 1 as r^k with the largest k: r and k."""
    for power in range(x.numerator.bit_length(), 1, -1):
        above, below = _whole_root(x.numerator, power), _whole_root(x.denominator, power)
        if above is not None and below is not None:
            return Fraction(above, below), power
    return x, 1


def _whole_root(n: int, power: int) -> int | None:
    near = round(n ** (1 / power))
    return next((m for m in (near - 1, near, near + 1) if m > 0 and m**power == n), None)


@lru_cache(maxsize=8192)
def scaled(base: Fraction, bits: int) -> int:
    """2^bits / ln(base), within 1; for the base 1, 2^bits."""
    if base == ONE:
        return 1 << bits
    context = Context(prec=int(bits * 0.302) + 40)
    log = context.ln(Decimal(base.numerator))
    if base.denominator != 1:
        log = context.subtract(log, context.ln(Decimal(base.denominator)))
    return int(context.divide(context.power(Decimal(2), bits), log))


def approximate(base: Fraction) -> float:
    """Return 1 / ln(base), correct to the last bit but one; 1 for the base 1."""
    return scaled(base, 192) / (1 << 192)


Terms = tuple[tuple[Fraction, Fraction], ...]
"""The sum of coefficient / ln(base), given as (base, coefficient); the base 1 stands for 1."""

MOST_DIGITS = 2**16
"""Binary digits to which two numbers are compared."""


def terms(coefficients: Mapping[Fraction, Fraction] | Iterable[tuple[Fraction, Fraction]]) -> Terms:
    """The one form that a combination has: by base, without zeros."""
    return tuple(sorted((base, one) for base, one in dict(coefficients).items() if one))


def rational(number: Fraction | int) -> Terms:
    return terms({ONE: Fraction(number)})


UNITY = rational(1)
"""The combination that is 1."""


def minus(one: Terms, other: Terms, times: Fraction = ONE) -> Terms:
    """Subtract a multiple."""
    out = dict(one)
    for base, coefficient in other:
        out[base] = out.get(base, Fraction(0)) - times * coefficient
    return terms(out)


def precisions() -> Iterator[int]:
    """Binary digits by which numbers may be told apart, more and more, to an end."""
    bits = 192
    while bits <= MOST_DIGITS:
        yield bits
        bits *= 4
    raise PolicyError("two values agree to so many digits that they cannot be told")


def near(combination: Terms, digits: int = 64) -> Fraction:
    """Return a number of the same sign, equal to a combination but for 2^-digits of it."""
    if not combination:
        return Fraction(0)
    below = lcm(*(one.denominator for _, one in combination))
    whole = [(base, int(one * below)) for base, one in combination]
    error = sum(abs(one) for _, one in whole)
    for bits in precisions():
        found = sum(one * scaled(base, bits) for base, one in whole)
        if abs(found) > error << digits:
            break
    return Fraction(found, below << bits)


def quotient(above: Terms, below: Terms) -> Fraction | Irrational:
    """Divide combinations, with 0 where the divisor is 0: the convention of the field."""
    if not below or not above:
        return Fraction(0)
    first = below[0][1]
    share = above[0][1] / first
    if not minus(above, below, share):
        return share
    return Irrational(
        tuple((base, one / first) for base, one in above),
        tuple((base, one / first) for base, one in below),
    )


@total_ordering
@dataclass(frozen=True)
class Irrational:
    """A quotient of two combinations that is no rational number; made by :func:`quotient`.

    Those of one divisor can be compared and subtracted, with each other and with fractions.
    The first coefficient of `below` is 1.
    """

    above: Terms
    below: Terms

    def __float__(self) -> float:
        return float(near(self.above) / near(self.below))

    def __str__(self) -> str:
        return f"{float(self):.6g}"

    def __sub__(self, other: Number) -> Fraction | Irrational:
        if isinstance(other, Irrational):
            if other.below != self.below:
                raise PolicyError("numbers of different divisors are not subtracted exactly")
            return quotient(minus(self.above, other.above), self.below)
        return quotient(minus(self.above, self.below, Fraction(other)), self.below)

    def __neg__(self) -> Irrational:
        return Irrational(tuple((base, -one) for base, one in self.above), self.below)

    def __rsub__(self, other: Fraction) -> Fraction | Irrational:
        return -(self - other)

    def __add__(self, other: Fraction) -> Fraction | Irrational:
        return self - -other

    __radd__ = __add__

    def __abs__(self) -> Irrational:
        return self if self > 0 else -self

    def __lt__(self, other: Number) -> bool:
        difference = self - other
        if isinstance(difference, Fraction):
            return difference < 0
        return (near(difference.above, 1) < 0) != (near(difference.below, 1) < 0)


Number = Fraction | float | Irrational
"""A value of a measure; a float where it is not known exactly."""
