"""Checks of options that many parts share: whole numbers, numbers, indices.

Commands check what they are given before they load NumPy.
"""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Rational, Real
from typing import TYPE_CHECKING, Any

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.words import did_you_mean

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cranfield.base.arrays import Floats, Indices


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> None:
    """Refuse what is no whole number within limits."""
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        limits = f"from {least}" if most is None else f"from {least} to {most:,}"
        raise PolicyError(f"{name} must be a whole number {limits}, not {value!r}")


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    if not isinstance(value, str) or value not in choices:
        hint = did_you_mean(value, choices, 1)
        raise PolicyError(f"{name} {quoted(value)} is none of {', '.join(choices)}{hint}")


def check_share(name: str, value: Any) -> None:
    """Refuse what is no number, of whatever type, between 0 and 1, both excluded."""
    # Fractions cannot be written like other numbers before Python 3.12; no whole one is between.
    number = isinstance(value, Real) and not isinstance(value, Rational)
    if not number or not 0 < float(value) < 1:
        said = str(value) if number else repr(value)
        raise PolicyError(f"{name} must be a number between 0 and 1, not {said}")


def as_array(values: Any, message: str, kind: Any = None) -> NDArray[Any]:
    """Make an array, or refuse rows of different lengths, and text where numbers should be."""
    import numpy as np

    try:
        return np.asarray(values, dtype=kind)
    except (TypeError, ValueError, OverflowError):
        raise PolicyError(message) from None


def has_numbers(array: NDArray[Any]) -> bool:
    """Tell whether an array has real numbers only; fractions are, too."""
    if array.dtype == object:
        return all(isinstance(entry, Real) for entry in array.ravel())
    return array.dtype.kind in "biuf"


def numbers(values: Any, what: str) -> Floats:
    """Return numbers as floats, NaN where they are masked; refuse anything else.

    >>> numbers("x", "scores")
    Traceback (most recent call last):
    cranfield.PolicyError: scores are numbers, not 'x'
    """
    import numpy as np

    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        if isinstance(values, np.ma.MaskedArray):
            # What is masked is not there.
            return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
        # The message would take longer than all else.
        return np.asarray(values, dtype=np.float64)
    wrong = f"{what} are numbers, not {quoted(values)}"
    array = as_array(values, wrong)
    if not has_numbers(array):
        raise PolicyError(wrong)
    return as_array(array, wrong, np.float64)


def indices(values: Any, what: str, size: int) -> Indices:
    """Return indices from 0 to size - 1; refuse anything else.

    >>> indices([0, 3], "the first systems", 2)
    Traceback (most recent call last):
    cranfield.PolicyError: the first systems are indices from 0 to 1, not 3
    """
    import numpy as np

    wrong = f"{what} are a list of indices from 0 to {size - 1}, not {quoted(values)}"
    array = as_array(values, wrong)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise PolicyError(wrong)
    outside = array[(array < 0) | (array >= size)]
    if outside.size:
        raise PolicyError(f"{what} are indices from 0 to {size - 1}, not {outside[0]}")
    return array.astype(np.intp)
