"""Parameters of measures: declared with a check, so that a wrong value is refused at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite, ulp
from typing import Any

import numpy as np

from cranfield.base.errors import MeasureError, quoted

Check = Callable[[Any], Any]
"""Returns the value in its canonical form, or raises ValueError saying what is wanted."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a measure: its default, what it may be, and what it does."""

    default: Any
    check: Check
    doc: str


def parameter(default: Any, check: Check, doc: str) -> Any:
    return Parameter(default, check, doc)


def integer(low: int, high: int = 10**9) -> Check:
    def check(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise ValueError(f"an integer of at least {low}")
        if not low <= value <= high:
            raise ValueError(f"an integer from {low} to {high}")
        return int(value)

    return check


def number(
    low: float, high: float = float("inf"), *, open_low: bool = False, open_high: bool = False
) -> Check:
    """Finite numbers from low to high, ends included unless open."""
    wanted = f"a number {'above' if open_low else 'of at least'} {low:g}"
    if isfinite(high):
        wanted += f" and {'below' if open_high else 'at most'} {high:g}"

    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, np.number)):
            raise ValueError(wanted)
        try:
            number = float(value)
        except OverflowError:
            raise ValueError(wanted) from None
        outside = number < low or number > high or not isfinite(number)
        if outside or (open_low and number == low) or (open_high and number == high):
            raise ValueError(wanted)
        return number

    return check


POSITIVE_SHARE = number(0, 1, open_low=True)
TRUE_SHARE = number(0, 1, open_low=True, open_high=True)


def choice(*options: str) -> Check:
    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in options:
            raise ValueError(f"one of {', '.join(map(repr, options))}")
        return value

    return check


def flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("True or False")
    return value


def optional(check: Check) -> Check:
    return lambda value: None if value is None else check(value)


def fraction_of(number: float) -> Fraction:
    """Return the number that a parameter was meant to be.

    A fraction with a denominator up to a million, if this float is the one nearest to it, else the
    shortest decimal that reads back as this float: who writes p = 1/3 means a third. For large
    numbers, of which floats hold fewer decimals, the denominators end sooner, so that no fraction
    is met by chance.

    Examples
    --------
    >>> print(fraction_of(0.8), fraction_of(1 / 3), fraction_of(0.123456789))
    4/5 1/3 123456789/1000000000
    >>> print(fraction_of(1234567.7890123))
    12345677890123/10000000
    """
    # Of the floats around a number a share of about highest^2 ulp is next to such a fraction.
    spacing = ulp(max(abs(number), 1.0))
    highest = max(1, min(10**6, int((1e-3 / spacing) ** 0.5)))
    simple = Fraction(number).limit_denominator(highest)
    return simple if float(simple) == number else Fraction(repr(float(number)))


def checked(
    measure: str,
    name: str,
    value: Any,
    check: Check,
    wrong: type[Exception] = MeasureError,
) -> Any:
    """Apply a check; its complaint becomes an error that names measure, parameter and value."""
    try:
        return check(value)
    except ValueError as error:
        shown = quoted(value) if isinstance(value, str) else plain_repr(value)
        raise wrong(f"{measure}: {name}={shown} is not {error}") from None


def plain_repr(value: Any, limit: int = 60) -> str:
    """Show a value in one short piece; even one that Python refuses to write out."""
    try:
        text = repr(value)
    except ValueError:
        return f"a {type(value).__name__} of too many digits"
    return text if len(text) <= limit else text[:limit] + "…"


def short(value: float) -> str:
    """Write a number so that it reads back the same, without '.0' where it is whole."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


SIMPLE = 1_000
"""Denominators up to which the text form of a number is a fraction instead of a long decimal."""


def number_text(value: float) -> str:
    """Write a number as in :func:`short`, but 1/3 instead of 0.3333333333333333.

    Examples
    --------
    >>> number_text(0.8), number_text(1 / 3), number_text(0.123456789012)
    ('0.8', '1/3', '0.123456789012')
    """
    text = short(value)
    if len(text) > 12 and 1e-3 <= abs(value) <= SIMPLE:
        simple = Fraction(value).limit_denominator(SIMPLE)
        if float(simple) == value:
            return str(simple)
    return text


def name(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a name")
    return value.strip()


def names(value: Any) -> str:
    """Check several names in one text, separated by commas."""
    if not isinstance(value, str) or not all(one.strip() for one in value.split(",")):
        raise ValueError("a name, or names separated by commas")
    found = [one.strip() for one in value.split(",")]
    if len(set(found)) < len(found):
        raise ValueError("a list of different names")
    return ",".join(found)


@dataclass(frozen=True)
class Shares:
    """Numbers by name that add up to 1, given in any unit."""

    given: tuple[tuple[str, float], ...]

    def of(self, names: tuple[str, ...]) -> tuple[float, ...]:
        """Share of each name; 0 of one that was not given."""
        whole = sum(number for _, number in self.given)
        by_name = dict(self.given)
        return tuple(by_name.get(one, 0.0) / whole for one in names)

    def __contains__(self, name: object) -> bool:
        return any(one == name for one, _ in self.given)

    @property
    def text(self) -> str:
        return (
            "{" + ", ".join(f"{one!r}: {number_text(number)}" for one, number in self.given) + "}"
        )


def shares(value: Any) -> Shares:
    wanted = "a mapping of names to numbers of at least 0, such as {'a': 2, 'b': 1}"
    if isinstance(value, Shares):
        return value
    if not isinstance(value, Mapping) or not value:
        raise ValueError(wanted)
    for one, number in value.items():
        if not isinstance(one, str) or not one.strip():
            raise ValueError(wanted)
        if isinstance(number, bool) or not isinstance(number, (int, float, Fraction)):
            raise ValueError(wanted)
        # A whole number may be too large for a float; NaN is not between the two.
        if not 0 <= number <= 1e15:
            raise ValueError(wanted)
    if not any(value.values()):
        raise ValueError("a mapping in which a number is above 0")
    if len({one.strip() for one in value}) < len(value):
        raise ValueError("a mapping of different names")
    return Shares(tuple(sorted((one.strip(), float(number)) for one, number in value.items())))


MOST_RANKS = 1 << 20
"""Ranks down to a cutoff that a measure looks at one by one, if no documents are there, too."""


def check_ranks(ranks: int, name: object) -> None:
    """Refuse a cutoff that would take all memory."""
    if ranks > MOST_RANKS:
        raise MeasureError(
            f"{name} sums the ranks down to its cutoff, which may be {MOST_RANKS:,} at most"
        )
