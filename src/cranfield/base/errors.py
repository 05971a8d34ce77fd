"""Errors, warnings, and checks of arguments.

Functions import NumPy on use, so that commands can check their arguments without loading it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from math import isfinite
from numbers import Integral, Rational, Real
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeVar

from cranfield.base.text import sanitise, shorten_message, suggest_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from cranfield.base.arrays import Floats, Indices


class CranfieldError(Exception):
    """Base class of the errors of cranfield; the message is one printable line.

    Examples
    --------
    >>> print(CranfieldError("no column 'a\x1b[31m'"))
    no column 'a\\x1b[31m'
    """

    def __init__(self, text: object = "") -> None:
        super().__init__(shorten_message(str(text)))


class InputError(CranfieldError):
    """Raised for input that cannot be read or is invalid, and for files that cannot be written.

    Parameters
    ----------
    reason
        Description of the error, without a trailing full stop.
    source
        Name of the file or object.
    line
        Line of the file, from 1.
    topic, doc
        Topic and document of the error, if known.

    Examples
    --------
    >>> print(InputError("score 'x' is not a number", source="a.run", line=3, topic="401"))
    a.run:3: score 'x' is not a number (topic '401')
    """

    def __init__(
        self,
        reason: str,
        *,
        source: str | None = None,
        line: int | None = None,
        topic: str | None = None,
        doc: str | None = None,
    ) -> None:
        self.reason = reason
        self.source = source
        self.line = line
        self.topic = topic
        self.doc = doc
        location = ":".join(str(part) for part in (source, line) if part is not None)
        subject = [
            f"{name} {quote(value)}"
            for name, value in (("topic", topic), ("document", doc))
            if value is not None
        ]
        text = f"{location}: {reason}" if location else reason
        super().__init__(f"{text} ({', '.join(subject)})" if subject else text)


def get_system_reason(error: Exception) -> str:
    """Return the text of an error of the operating system, such as `permission denied`."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def make_file_error(error: Exception, action: str, path: object) -> InputError:
    """Return the error for a file or folder that cannot be `read`, `written` or the like."""
    return InputError(f"cannot be {action}: {get_system_reason(error)}", source=str(path))


ErrorType = TypeVar("ErrorType", bound=InputError)


def convert_error(
    error: InputError, error_class: type[ErrorType], source: str | None = None
) -> ErrorType:
    """Return a copy of an input error as another class, with `source` unless it is None."""
    source = error.source if source is None else source
    location = {"topic": error.topic, "doc": error.doc}
    return error_class(error.reason, source=source, line=error.line, **location)


@contextmanager
def add_source(source: str) -> Iterator[None]:
    """Add the source to input errors that have no source."""
    try:
        yield
    except InputError as error:
        if error.source:
            raise
        raise convert_error(error, InputError, source) from error


class MeasureError(CranfieldError, ValueError):
    """Raised for an unknown measure, or an invalid parameter or cutoff."""


class PolicyError(CranfieldError, ValueError):
    """Raised for an unknown option, or an invalid value of an option or argument."""


class ArgumentError(PolicyError, TypeError):
    """Raised, also as a TypeError, for an unknown, missing or unsuitable argument."""


class ForkError(CranfieldError, RuntimeError):
    """Raised in a process that was forked after Polars had started threads."""


class MissingDependencyError(CranfieldError, ImportError):
    """Raised if a required optional package is not installed."""


class CranfieldWarning(UserWarning):
    """Warning about suspicious input or settings; the message is one printable line."""

    def __init__(self, text: object = "") -> None:
        super().__init__(shorten_message(str(text)))


_FIND_OPTION: ContextVar[Callable[[str], str]] = ContextVar("find_option", default=lambda _: "")


@contextmanager
def name_options_in_notes(find_option: Callable[[str], str]) -> Iterator[None]:
    """Let notes within the context name options of a command instead of Python arguments."""
    token = _FIND_OPTION.set(find_option)
    try:
        yield
    finally:
        _FIND_OPTION.reset(token)


def find_command_option(argument: str) -> str:
    """Return the command's option for a hint such as `own=[...]`; empty if there is none."""
    return _FIND_OPTION.get()(argument)


_COLLECTED_WARNINGS: ContextVar[list[str] | None] = ContextVar("collected", default=None)


def warn(text: str) -> None:
    """Warn at the line that called this package; :func:`collect_warnings` delays the warning."""
    collected = _COLLECTED_WARNINGS.get()
    if collected is None:
        warnings.warn(CranfieldWarning(text), stacklevel=_find_caller())
    else:
        collected.append(shorten_message(text))


def _find_caller() -> int:
    """Return the stack level, as seen by :func:`warn`, of the caller of this package."""
    level = caller_level = 1
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        level += 1
        if frame.f_globals.get("__name__", "").partition(".")[0] == "cranfield":
            caller_level = level
        frame = frame.f_back
    return caller_level


@contextmanager
def collect_warnings() -> Iterator[list[str]]:
    """Collect the warnings of this thread, to issue them later and in order."""
    collected: list[str] = []
    token = _COLLECTED_WARNINGS.set(collected)
    try:
        yield collected
    finally:
        _COLLECTED_WARNINGS.reset(token)


def quote(value: object, limit: int = 60) -> str:
    """Quote the first `limit` characters of a value for a message; escape unprintable characters.

    >>> quote("a\\x1b[31mb")
    "'a\\\\x1b[31mb'"
    """
    # A subclass of str may define another __str__.
    text = str.__str__(value) if isinstance(value, str) else str(value)
    # repr does not escape characters that change the direction of text.
    return sanitise(repr(text if len(text) <= limit else text[:limit] + "…"))


def import_optional(name: str, package: str = "", install: str = "", purpose: str = "this") -> Any:
    """Import a module of an optional package, or raise an error that says how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = package or name
        install = install or f"'cranfield[{package}]'"
        raise MissingDependencyError(
            f"{purpose} requires the package {package}: pip install {install}"
        ) from error


# Tracebacks show the public names, such as `cranfield.InputError`.
for _error_class in (
    *(CranfieldError, InputError, MeasureError, PolicyError, ArgumentError),
    *(ForkError, MissingDependencyError, CranfieldWarning),
):
    _error_class.__module__ = "cranfield"


def format_repr(value: Any, limit: int = 60) -> str:
    """Return the first `limit` characters of a repr; describe an integer with too many digits."""
    try:
        text = repr(value)
    except ValueError:
        return f"{type(value).__name__} with too many digits to print"
    return text if len(text) <= limit else text[:limit] + "…"


def check_integer(name: str, value: Any, minimum: int, maximum: int | None = None) -> None:
    """Raise an error unless the value is an integer from minimum to maximum (None for no bound)."""
    is_integer = isinstance(value, Integral) and not isinstance(value, bool)
    if not is_integer or value < minimum or (maximum is not None and value > maximum):
        bounds = f">= {minimum}" if maximum is None else f"from {minimum} to {maximum:,}"
        raise PolicyError(f"{name} must be an integer {bounds}, got {format_repr(value)}")


def check_list(name: str, value: object) -> None:
    """Raise an error for a string, which would count as a list of its characters."""
    if isinstance(value, (str, bytes)):
        raise PolicyError(
            f"{name}: expected a list, got {quote(value)}; for a single value, use [{value!r}]"
        )


def check_choice(name: str, value: Any, choices: Collection[str]) -> None:
    """Raise an error unless the value is one of the choices."""
    if not isinstance(value, str) or value not in choices:
        hint = suggest_names(value, choices, 1)
        raise PolicyError(
            f"unknown {name} {quote(value)}; expected one of: {', '.join(choices)}{hint}"
        )


def check_proportion(name: str, value: Any) -> None:
    """Raise an error unless the value is a number, not a fraction, in the open interval (0, 1)."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    # Fractions cannot be formatted as other numbers before Python 3.12.
    is_fraction = isinstance(value, Rational) and not isinstance(value, Integral)
    if not is_number or is_fraction or not 0 < value < 1:
        noun = "float" if is_fraction else "number"
        text = str(value) if isinstance(value, float) else format_repr(value)
        raise PolicyError(f"{name} must be a {noun} between 0 and 1 (exclusive), got {text}")


def check_number(
    name: str,
    value: Any,
    minimum: float | None = None,
    maximum: float | None = None,
    *,
    above: float | None = None,
) -> None:
    """Raise an error unless the value is a number within bounds; `above` is an exclusive minimum.

    NaN is never allowed, and infinity only if the maximum is infinity.

    >>> check_number("rope", True, 0)
    Traceback (most recent call last):
    cranfield.PolicyError: rope must be a number >= 0, got True
    >>> check_number("slope", 0.99999999, 1)
    Traceback (most recent call last):
    cranfield.PolicyError: slope must be a number >= 1, got 0.99999999
    >>> check_number("df", float("inf"), above=0, maximum=float("inf"))
    """
    low = above if minimum is None else minimum
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    # An integer may be too large for a float.
    is_float = is_number and (abs(value) <= sys.float_info.max or value == maximum)
    if (
        not is_float
        or (maximum is not None and value > maximum)
        or (low is not None and (value < low or value == above))
    ):
        has_maximum = maximum is not None and isfinite(maximum)
        relation = "above" if above is not None else "from" if has_maximum else ">="
        lower = "" if low is None else f" {relation} {low:g}"
        is_huge = is_number and not is_float and isinstance(value, Rational)
        joiner = "to" if above is None else "and <="
        upper = f" {joiner} {maximum:g}" if has_maximum else " that fits a float" * is_huge
        noun = "finite number" if is_number and not is_float and not is_huge else "number"
        has_repr = not is_number or isinstance(value, Rational)
        # Rounded, a number just outside the bounds would seem to be inside.
        text = format_repr(value) if has_repr else repr(float(value)).removesuffix(".0")
        raise PolicyError(f"{name} must be a {noun}{lower}{upper}, got {text}")


def as_array(values: Any, message: str, dtype: Any = None) -> NDArray[Any]:
    """Convert values to an array, or raise a PolicyError with `message`."""
    import numpy as np

    try:
        return np.asarray(values, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        raise PolicyError(message) from None


def has_numbers(array: NDArray[Any]) -> bool:
    """Return True if all entries are real numbers; fractions and Booleans count as numbers."""
    if array.dtype == object:
        return all(isinstance(entry, Real) for entry in array.ravel())
    return array.dtype.kind in "biuf"


def as_numbers(values: Any, noun: str) -> Floats:
    """Convert real numbers to an array of floats, with NaN for masked values; refuse other types.

    >>> as_numbers("x", "scores")
    Traceback (most recent call last):
    cranfield.PolicyError: scores must be numbers, got 'x'
    """
    import numpy as np

    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        if isinstance(values, np.ma.MaskedArray):
            return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
        # A fast path: building the message would take most of the time.
        return np.asarray(values, dtype=np.float64)
    message = f"{noun} must be numbers, got {quote(values)}"
    array = as_array(values, message)
    if not has_numbers(array):
        raise PolicyError(message)
    return as_array(array, message, np.float64)


def as_indices(values: Any, noun: str, size: int) -> Indices:
    """Convert a list of indices from 0 to size - 1 to an array; refuse other values.

    >>> as_indices([0, 3], "the first systems", 2)
    Traceback (most recent call last):
    cranfield.PolicyError: the first systems must be indices from 0 to 1, got 3
    """
    import numpy as np

    message = f"{noun} must be a list of indices from 0 to {size - 1}, got {quote(values)}"
    array = as_array(values, message)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise PolicyError(message)
    invalid_indices = array[(array < 0) | (array >= size)]
    if invalid_indices.size:
        raise PolicyError(f"{noun} must be indices from 0 to {size - 1}, got {invalid_indices[0]}")
    return array.astype(np.intp)
