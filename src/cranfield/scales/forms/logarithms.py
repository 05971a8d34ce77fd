"""Inverse logarithms of rational numbers: the irrational numbers that discounts are made of.

Write an argument x > 1 as r^k with r not itself a power (its *root*). Then 1/ln x = (1/k) (1/ln r).
Inverse logarithms of different roots are linearly independent over the rationals if Schanuel's
conjecture holds: it makes the logarithms of the primes algebraically independent; the ln r are
then linear forms in independent variables, no two of them proportional, and the functions 1/ln r
have different poles. No proof without the conjecture is known and no counterexample: a relation
with coefficients as small as those of grades would be seen by the numbers of this module, which
are computed to any precision. Whatever relies on the independence raises an error, and does not
guess, when two sums that should differ agree to thousands of digits.
"""

from __future__ import annotations

from decimal import Context, Decimal
from fractions import Fraction
from functools import lru_cache

ONE = Fraction(1)
"""Stands for the rational numbers themselves among the bases."""


@lru_cache(maxsize=4096)
def root(x: Fraction) -> tuple[Fraction, int]:
    """Write x > 1 as r^k with the largest k.

    Returns
    -------
    tuple
        r and k.

    Examples
    --------
    >>> root(Fraction(64)), root(Fraction(9, 4)), root(Fraction(12))
    ((Fraction(2, 1), 6), (Fraction(3, 2), 2), (Fraction(12, 1), 1))
    """
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
    """Return 2^bits / ln(base), within 1; for the base 1, 2^bits.

    Examples
    --------
    >>> scaled(Fraction(2), 64) / 2**64
    1.4426950408889634
    """
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
