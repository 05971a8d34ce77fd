"""What users may give where types of Python say too little: arguments known by what they can do.

These are annotations, for type checkers as wide as before; the border reads what they take.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import EnumType
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.checks import has_numbers


@dataclass(frozen=True)
class Given:
    """A kind of argument: what it is called, and which values fit."""

    words: str
    fits: Callable[[Any], bool]


def takes(function: Any, many: int) -> bool:
    """Tell whether a function can be called by so many arguments.

    Examples
    --------
    >>> takes(lambda name: name, 1), takes(lambda: 1, 1), takes(print, 5)
    (True, False, True)
    >>> from enum import Enum
    >>> takes(Enum("Colour", "RED"), 1), takes(Enum("Colour", "RED"), 2)
    (True, False)
    """
    if isinstance(function, EnumType):
        # With more than a value, it makes another kind of constants.
        return many == 1
    try:
        inspect.signature(function).bind(*range(many))
    except TypeError:
        return False
    except ValueError:
        # Functions of C may have no signature; of classes, this one takes one argument or three.
        return function is not type or many in (1, 3)
    return True


def _are_numbers(value: Any) -> bool:
    try:
        return has_numbers(np.asarray(value))
    except (TypeError, ValueError, OverflowError):
        return False


def _are_labels(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, Iterable) and not _is_alone(value))


def _is_alone(value: Any) -> bool:
    return isinstance(value, bytes) or getattr(value, "ndim", 1) == 0


def _tell_teams(value: Any) -> bool:
    return isinstance(value, Mapping) or not callable(value) or takes(value, 1)


Numbers = Annotated[ArrayLike, Given("a number, or numbers", _are_numbers)]
"""A number, a list or an array of numbers."""

Labels = Annotated[Any, Given("a label, or a list of labels or indices", _are_labels)]
"""What picks topics, systems or shards."""

Teams = Annotated[Any, Given("a dict, a table, a pattern, or a function of a name", _tell_teams)]
"""What tells the team of each system."""
