"""Options that studies share, with their allowed values."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from cranfield.base.errors import PolicyError, check_integer
from cranfield.base.kinds import Integer, Numbers, UnitInterval
from cranfield.collection.policies import MAX_DEPTH
from cranfield.significance.registry import MAX_RESAMPLES

MAX_REPEATS = 10**6
"""Maximum number of repetitions of the draws of a study."""

Repeats = Annotated[int, Integer(1, MAX_REPEATS)]
Resamples = Annotated[int, Integer(1, MAX_RESAMPLES)]
Seed = Annotated[int, Integer(0, noun="the seed")]
Rel = Annotated[int, Integer(1)]
Proportion = Annotated[float, UnitInterval()]
PoolDepth = Annotated[int | None, Integer(1, MAX_DEPTH)]
Sizes = Annotated[Sequence[int] | None, Numbers(2)]


def check_integers(
    name: str, values: Any, max_value: int | None = None, suffix: str = "", min_value: int = 1
) -> tuple[int, ...]:
    """Check one or more integers; raise an error for duplicates and integers out of range."""
    integers = list(values) if isinstance(values, Iterable) else [values]
    if not integers:
        raise PolicyError(f"expected at least one {name}{suffix}, got none")
    for integer in integers:
        check_integer(f"{name}{suffix}", integer, min_value, max_value)
        if integers.count(integer) > 1:
            raise PolicyError(f"expected distinct values of {name}, got {integer} more than once")
    return tuple(map(int, integers))


_COMMA = re.compile(r",(?![^(]*\))")


def split_texts(name: str, items: Any) -> list[Any]:
    """Return strings or specs as a list; a single string is split at commas outside parentheses."""
    parts = _COMMA.split(items) if isinstance(items, str) else list(items)
    if not parts:
        raise PolicyError(f"expected at least one {name}, got none")
    return [part.strip() if isinstance(part, str) else part for part in parts]
