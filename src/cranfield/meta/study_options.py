"""Options that several studies have, with their allowed values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from numbers import Integral
from typing import Annotated, Any

from cranfield.base.errors import PolicyError, check_whole
from cranfield.base.kinds import Numbers, Share, Whole
from cranfield.collection.policies import DEEPEST
from cranfield.significance.registry import MOST_RESAMPLES

MOST_REPEATS = 10**6
"""Largest number of repeats."""


Repeats = Annotated[int, Whole(1, MOST_REPEATS)]
Resamples = Annotated[int, Whole(1, MOST_RESAMPLES)]
Seed = Annotated[int, Whole(0, called="the seed")]
Rel = Annotated[int, Whole(1)]
Proportion = Annotated[float, Share()]
Depth = Annotated[int | None, Whole(1, DEEPEST)]
Sizes = Annotated[Sequence[int] | None, Numbers(2)]


def whole_numbers(
    name: str, values: Any, most: int, of: str = "", least: int = 1
) -> tuple[int, ...]:
    """Return a whole number or several, sorted and without duplicates."""
    try:
        numbers = [values] if isinstance(values, Integral) else list(values)
    except TypeError:
        raise PolicyError(f"{name}s must be integers, got {values!r}") from None
    if not numbers:
        raise PolicyError(f"expected at least one {name}{of}, got none")
    for number in numbers:
        check_whole(name, number, least, most)
    return tuple(sorted(set(map(int, numbers))))


_COMMA = re.compile(r",(?![^(]*\))")


def split_texts(name: str, texts: Any) -> list[Any]:
    """Return several texts or specs, or those in one text with commas between them."""
    try:
        every = _COMMA.split(texts) if isinstance(texts, str) else list(texts)
    except TypeError:
        raise PolicyError(f"{name}s must be a list of names, got {texts!r}") from None
    if not every:
        raise PolicyError(f"expected at least one {name}, got none")
    return [one.strip() if isinstance(one, str) else one for one in every]
