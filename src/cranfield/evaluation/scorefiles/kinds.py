"""Which measure is meant: the names of other programs, and those of cranfield."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice

from cranfield.base.errors import InputError, MeasureError, quoted
from cranfield.base.words import some_of
from cranfield.measures import Measure, parse_measures

LOOKED_AT = 50
"""Names of a column that are looked at; each costs a parse."""


@lru_cache(maxsize=4096)
def measure_of(name: str) -> Measure | None:
    """Return the one measure that a name stands for; None where there is none."""
    # No measure begins otherwise, and Python warns of some of what it parses.
    if not re.match("[A-Za-z_]|11pt", name):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            [one] = parse_measures(name)
    except (MeasureError, ValueError):
        return None
    return one


def are_measures(names: Iterable[str]) -> bool:
    """Tell whether there are names, and all of them are those of measures."""
    some = list(islice(names, LOOKED_AT))
    return bool(some) and all(measure_of(name) is not None for name in some)


def same_measure(one: str, other: str) -> bool:
    known = measure_of(one)
    return one == other or (known is not None and known == measure_of(other))


def chosen(kinds: Sequence[str], measure: str | None, source: str) -> str:
    """Choose the measure to take of those that there are, or say that it has to be named.

    The plain name counts first, then the measure that it stands for, then the name in any case.
    """
    if measure is None and len(kinds) == 1:
        return kinds[0]
    some = some_of(kinds, 10)
    if measure is None:
        raise InputError(f"name the measure: there are {some}", source=source)
    if measure in kinds:
        return measure
    same = [kind for kind in kinds if same_measure(kind, measure)]
    same = same or [kind for kind in kinds if kind.casefold() == measure.casefold()]
    if len(same) > 1:
        raise InputError(
            f"{quoted(measure)} is there under several names: {', '.join(same)}", source=source
        )
    if not same:
        raise InputError(f"there is no {quoted(measure)}: there are {some}", source=source)
    return same[0]
