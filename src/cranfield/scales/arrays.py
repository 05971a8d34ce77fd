"""Arrays of what was given, or one line that says why there is none."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import PolicyError, quoted


def as_array(given: Any, message: str, kind: Any = None) -> NDArray[Any]:
    """Make an array.

    Raises
    ------
    PolicyError
        With the message, for what is none: rows of different lengths, text where numbers should be.
    """
    try:
        return np.asarray(given, dtype=kind)
    except (TypeError, ValueError, OverflowError):
        raise PolicyError(message) from None


def has_numbers(array: NDArray[Any]) -> bool:
    """Tell whether an array has real numbers only; fractions are, too.

    Examples
    --------
    >>> has_numbers(np.array([1, 0.5])), has_numbers(np.array([1, "a"]))
    (True, False)
    """
    if array.dtype == object:
        return all(isinstance(one, Real) for one in array.ravel())
    return array.dtype.kind in "biuf"


def numbers(given: Any, what: str) -> NDArray[np.float64]:
    """Return numbers as floats.

    Raises
    ------
    PolicyError
        For anything else.

    Examples
    --------
    >>> numbers("x", "scores")
    Traceback (most recent call last):
    cranfield.PolicyError: scores are numbers, not 'x'
    """
    wrong = f"{what} are numbers, not {quoted(given)}"
    found = as_array(given, wrong)
    if not has_numbers(found):
        raise PolicyError(wrong)
    return as_array(found, wrong, np.float64)


def indices(given: Any, what: str, size: int) -> NDArray[np.intp]:
    """Return indices from 0 to size - 1.

    Raises
    ------
    PolicyError
        For anything else.

    Examples
    --------
    >>> indices([0, 3], "the first systems", 2)
    Traceback (most recent call last):
    cranfield.PolicyError: the first systems are indices from 0 to 1, not 3
    """
    wrong = f"{what} are a list of indices from 0 to {size - 1}, not {quoted(given)}"
    found = as_array(given, wrong)
    if found.ndim != 1 or (found.size and found.dtype.kind not in "iu"):
        raise PolicyError(wrong)
    outside = found[(found < 0) | (found >= size)]
    if outside.size:
        raise PolicyError(f"{what} are indices from 0 to {size - 1}, not {outside[0]}")
    return found.astype(np.intp)
