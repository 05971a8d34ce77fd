"""Options of studies, declared in the signature with their allowed values.

An annotation such as `Annotated[int, Whole(1)]` declares the values of an option, and
:func:`check_options` checks arguments by it. The command line makes its options of the same
signatures.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Annotated, Any

from cranfield.base.errors import PolicyError, check_whole, quoted
from cranfield.base.kinds import Numbers, Share, Whole, check_arguments
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
        raise PolicyError(f"{name}s are whole numbers, not {values!r}") from None
    if not numbers:
        raise PolicyError(f"no {name}{of} was given")
    for number in numbers:
        check_whole(name, number, least, most)
    return tuple(sorted(set(map(int, numbers))))


_COMMA = re.compile(r",(?![^(]*\))")


def split_texts(name: str, texts: Any) -> list[Any]:
    """Return several texts or specs, or those in one text with commas between them."""
    try:
        every = _COMMA.split(texts) if isinstance(texts, str) else list(texts)
    except TypeError:
        raise PolicyError(f"{name}s are a list of their names, not {texts!r}") from None
    if not every:
        raise PolicyError(f"no {name} was given")
    return [one.strip() if isinstance(one, str) else one for one in every]


def check_options(
    function: Callable[..., Any],
    given: Mapping[str, Any],
    judging: Callable[..., Any] | None = None,
) -> None:
    """Check the arguments of a study, its `locals()` at the start, before anything is read.

    `work` has the options of :func:`run_parts`, `policies` the keywords of the function `judging`.
    """
    from cranfield.meta.work import Work

    check_arguments(function, given)
    for name in given.get("work", ()):
        if name not in Work.__annotations__:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {name!r}")
    if judging is None:
        return
    known = [
        name
        for name, parameter in inspect.signature(judging).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    ]
    for name in given["policies"]:
        if name not in known:
            raise PolicyError(
                f"{function.__name__} has no option {quoted(name)}; of judging: {', '.join(known)}"
            )
