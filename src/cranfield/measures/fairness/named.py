"""Parameters that name things in the data: aspects and groups, and numbers that belong to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cranfield.measures.gains import short


def name(value: Any) -> str:
    """Check the name of a group or an aspect, which is any text."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a name")
    return value.strip()


def names(value: Any) -> str:
    """Check several names in one text, separated by commas.

    Examples
    --------
    >>> names("understandability, credibility")
    'understandability,credibility'
    """
    if not isinstance(value, str) or not all(one.strip() for one in value.split(",")):
        raise ValueError("a name, or names separated by commas")
    found = [one.strip() for one in value.split(",")]
    if len(set(found)) < len(found):
        raise ValueError("a list of different names")
    return ",".join(found)


@dataclass(frozen=True)
class Shares:
    """Numbers by name that add up to 1, given in any unit.

    Examples
    --------
    >>> Shares((("press", 3.0), ("blog", 1.0))).of(("blog", "forum", "press"))
    (0.25, 0.0, 0.75)
    """

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
        """Its form in a measure's text."""
        return "{" + ", ".join(f"{one!r}: {short(number)}" for one, number in self.given) + "}"


def shares(value: Any) -> Shares:
    """Check a mapping of names to numbers of at least 0 that are not all 0."""
    wanted = "a mapping of names to numbers of at least 0, such as {'a': 2, 'b': 1}"
    if isinstance(value, Shares):
        return value
    if not isinstance(value, Mapping) or not value:
        raise ValueError(wanted)
    for one, number in value.items():
        if not isinstance(one, str) or not one.strip():
            raise ValueError(wanted)
        if isinstance(number, bool) or not isinstance(number, (int, float)):
            raise ValueError(wanted)
        # A whole number may be too large for a float; NaN is not between the two.
        if not 0 <= number <= 1e15:
            raise ValueError(wanted)
    if not any(value.values()):
        raise ValueError("a mapping in which a number is above 0")
    if len({one.strip() for one in value}) < len(value):
        raise ValueError("a mapping of different names")
    return Shares(tuple(sorted((one.strip(), float(number)) for one, number in value.items())))
