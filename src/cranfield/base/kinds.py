"""Allowed values of parameters, declared in annotations.

`Annotated[int, Integer(1)]` declares the allowed values of a parameter. Functions check their
arguments by these declarations, and the command line creates options from them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from numbers import Number
from typing import Annotated, Any, Protocol, TypeVar, get_args, get_type_hints

from cranfield.base.errors import (
    ArgumentError,
    PolicyError,
    check_choice,
    check_integer,
    check_list,
    check_number,
    check_proportion,
    quote,
)
from cranfield.base.text import suggest_names

Function = TypeVar("Function", bound=Callable[..., Any])


class AllowedValues(Protocol):
    """Allowed values of a parameter."""

    def check(self, name: str, value: Any) -> None: ...


@dataclass(frozen=True)
class Integer:
    """An integer within bounds; `noun` replaces the name of the parameter in messages."""

    minimum: int
    maximum: int | None = None
    noun: str = ""

    def check(self, name: str, value: Any) -> None:
        check_integer(self.noun or name, value, self.minimum, self.maximum)


@dataclass(frozen=True)
class RealNumber:
    """A number within bounds; :func:`check_number` describes the bounds."""

    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None

    def check(self, name: str, value: Any) -> None:
        check_number(name, value, self.minimum, self.maximum, above=self.above)


@dataclass(frozen=True)
class UnitInterval:
    """A number between 0 and 1, both excluded."""

    def check(self, name: str, value: Any) -> None:
        check_proportion(name, value)


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
            raise PolicyError(f"{name} must be True or False, got {value!r}")


@dataclass(frozen=True)
class Numbers:
    """A list of integers >= `minimum`; if `minimum` is None, a list of real numbers.

    The bound is for the command line: `check` refuses text only, as functions check the numbers.
    """

    minimum: int | None = 1

    def check(self, name: str, value: Any) -> None:
        check_list(name, value)


Positive = Annotated[float, RealNumber(above=0)]
Probability = Annotated[float, UnitInterval()]
Seed = Annotated[int, Integer(0, noun="the seed")]


@cache
def find_allowed_values(function: Callable[..., Any]) -> Mapping[str, AllowedValues]:
    """Return the allowed values of the parameters of a function, by name."""
    hints = _get_hints(function).items()
    return {
        name: values for name, hint in hints if (values := get_allowed_values(hint)) is not None
    }


@cache
def _get_hints(function: Callable[..., Any]) -> Mapping[str, Any]:
    return get_type_hints(function, include_extras=True)


def _allows_none(hint: Any) -> bool:
    return hint is type(None) or any(map(_allows_none, get_args(hint)))


def replace_keywords(function: Function, parameters: Iterable[Parameter]) -> Function:
    """Replace `**keywords` in the signature of a function by parameters."""
    old_signature = signature(function)
    other_parameters = [p for p in old_signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    function.__signature__ = old_signature.replace(parameters=[*other_parameters, *parameters])  # type: ignore[attr-defined]
    return function


def check_arguments(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    judging_function: Callable[..., Any] | None = None,
) -> dict[str, Any]:
    """Check the arguments of a function by its annotations; return its keyword-only arguments.

    `arguments` are the `locals()` of the function at its start. Variable keyword arguments must be
    keyword-only parameters of `judging_function`; if it is None, they are refused. NumPy numbers
    are converted to Python numbers.
    """
    parameters = _get_parameters(function)
    for name, allowed in find_allowed_values(function).items():
        if arguments[name] is not None or not _allows_none(_get_hints(function)[name]):
            allowed.check(name, arguments[name])
    for name, parameter in parameters.items():
        if parameter.kind is not Parameter.VAR_KEYWORD or name not in arguments:
            continue
        if judging_function is None:
            check_keywords(function, arguments[name])
            continue
        accepted = _list_keywords(judging_function)
        for keyword in arguments[name]:
            if keyword not in accepted:
                names = dict.fromkeys((*_list_keywords(function), *accepted))
                hint = suggest_names(
                    keyword, names, otherwise=f"expected one of: {', '.join(names)}"
                )
                raise ArgumentError(f"{function.__name__}: unknown option {quote(keyword)}{hint}")
    return {k: _to_python(arguments[k]) for k in _list_keywords(function) if k in arguments}


def check_keywords(
    function: Callable[..., Any], keywords: Iterable[str], *more_functions: Callable[..., Any]
) -> None:
    """Raise a TypeError for a keyword argument that none of the functions accepts."""
    accepted = [name for f in (function, *more_functions) for name in _list_keywords(f)]
    for keyword in keywords:
        if keyword not in accepted:
            raise TypeError(f"{function.__name__}() got an unexpected keyword argument {keyword!r}")


@cache
def _get_parameters(function: Callable[..., Any]) -> Mapping[str, Parameter]:
    return signature(function).parameters


def _list_keywords(function: Callable[..., Any]) -> list[str]:
    return [p.name for p in _get_parameters(function).values() if p.kind is Parameter.KEYWORD_ONLY]


def _to_python(value: Any) -> Any:
    is_number = isinstance(value, Number) or type(value).__name__ == "bool"
    return value.item() if is_number and hasattr(value, "item") else value


def get_allowed_values(hint: Any) -> AllowedValues | None:
    """Return the allowed values that an annotation declares, such as `Integer(1)`, or None."""
    if hasattr(hint, "__metadata__"):
        return next((values for values in hint.__metadata__ if hasattr(values, "check")), None)
    inner_values = (get_allowed_values(inner) for inner in get_args(hint))
    return next((values for values in inner_values if values is not None), None)
