"""Options of studies, declared once: in the signature, with what they may be.

An annotation such as `Annotated[int, Whole(1)]` says what an option takes. :func:`check_options`
holds what was given against it. The command line makes its own options of the same kinds; it does
not ask the signature, as that would load the study.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral
from typing import Annotated, Any, Protocol, get_args, get_type_hints

from cranfield.base.errors import PolicyError, check_choice, check_share, check_whole, quoted
from cranfield.collection.policies import DEEPEST
from cranfield.significance.registry import MOST_RESAMPLES

MOST_REPEATS = 10**6
"""More repeats would only fill the memory."""


class Kind(Protocol):
    """What an option may be."""

    def check(self, name: str, value: Any) -> None: ...


@dataclass(frozen=True)
class Whole:
    """A whole number within limits; messages may call it something else."""

    least: int
    most: int | None = None
    called: str = ""

    def check(self, name: str, value: Any) -> None:
        check_whole(self.called or name, value, self.least, self.most)


@dataclass(frozen=True)
class Share:
    """A number between 0 and 1, both excluded."""

    def check(self, name: str, value: Any) -> None:
        check_share(name, value)


@dataclass(frozen=True)
class OneOf:
    """One of several names."""

    names: tuple[str, ...]

    def check(self, name: str, value: Any) -> None:
        check_choice(name, value, self.names)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def check(self, name: str, value: Any) -> None:
        import numpy as np

        if not isinstance(value, (bool, np.bool_)):
            raise PolicyError(f"{name} is True or False, not {value!r}")


@dataclass(frozen=True)
class Numbers:
    """Several numbers, which each study checks against its data; the least of whole ones."""

    least: int | None = 1

    def check(self, name: str, value: Any) -> None:
        """Leave it to the study."""


Repeats = Annotated[int, Whole(1, MOST_REPEATS)]
Resamples = Annotated[int, Whole(1, MOST_RESAMPLES)]
Seed = Annotated[int, Whole(0, called="the seed")]
Rel = Annotated[int, Whole(1)]
Proportion = Annotated[float, Share()]
Depth = Annotated[int | None, Whole(1, DEEPEST)]
Sizes = Annotated[Sequence[int] | None, Numbers(2)]


def whole_numbers(name: str, given: Any, most: int, of: str = "") -> tuple[int, ...]:
    """Return whole numbers from 1, one or several, in rising order and each once."""
    try:
        every = [given] if isinstance(given, Integral) else list(given)
    except TypeError:
        raise PolicyError(f"{name}s are whole numbers, not {given!r}") from None
    if not every:
        raise PolicyError(f"no {name}{of} was given")
    for one in every:
        check_whole(name, one, 1, most)
    return tuple(sorted({int(one) for one in every}))


@cache
def declared(function: Callable[..., Any]) -> Mapping[str, Kind]:
    """Return what the options of a study may be, by name."""
    hints = get_type_hints(function, include_extras=True)
    found = {name: kind_of(hint) for name, hint in hints.items()}
    return {name: kind for name, kind in found.items() if kind is not None}


def kind_of(hint: Any) -> Kind | None:
    """Return what is declared in an annotation, such as :data:`Repeats`."""
    if hasattr(hint, "__metadata__"):
        return next((one for one in hint.__metadata__ if hasattr(one, "check")), None)
    found = (kind_of(part) for part in get_args(hint))
    return next((one for one in found if one is not None), None)


def check_options(
    function: Callable[..., Any],
    given: Mapping[str, Any],
    judging: Callable[..., Any] | None = None,
) -> None:
    """Hold what a study was given against its declaration, before anything is read.

    Given are its `locals()` where it begins: options that go on to :func:`run_parts` are `work`,
    and those of judging `policies`, which the function `judging` takes by keyword.
    """
    from cranfield.meta.work import Work

    parameters = inspect.signature(function).parameters
    for name, kind in declared(function).items():
        if given[name] is not None or parameters[name].default is not None:
            kind.check(name, given[name])
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
