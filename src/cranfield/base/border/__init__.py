"""The border: what users call explains an argument of a wrong type in one line.

Inside, functions trust one another, and nothing is checked before it is needed. When a public
function or a method fails by an error that is none of ours, its arguments are held against its
annotations: an argument that does not fit is what went wrong, and is said. Nothing is slower, and
whatever works by likeness (a list where a tuple is declared) goes on working.
Only lists in lists without end are refused before.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from enum import Enum
from functools import update_wrapper
from threading import RLock
from types import FunctionType
from typing import Any

import lazy_loader  # type: ignore[import-untyped]

from cranfield.base.border.forks import check_fork
from cranfield.base.errors import ArgumentError, CranfieldError

_OPERATORS = {"__init__", "__call__", "__getitem__", "__matmul__"}
"""The methods without a name of their own that take what users write."""

_REASONS: dict[type[Exception], str] = {
    RecursionError: "an argument is nested too deep, or holds itself",
    OverflowError: "a number is too large",
    UnicodeEncodeError: "text is no Unicode: it has half a character (a lone surrogate)",
}
"""What only an argument causes, whatever its type is."""

_DEEPEST = 32
"""Lists in lists that are followed; nothing here has more than three."""

_STRAY = re.compile(r"unexpected keyword argument '(\w+)'$")

_LOCK = RLock()
_SHOWN: dict[Any, Any] = {}
"""What users meet of each function, and of each class that has been seen."""


def attach_public(package: str, file: str) -> tuple[Callable[[str], Any], Any, list[str]]:
    """Give a package the names that its stub declares, each loaded when it is first used."""
    load, listed, names = lazy_loader.attach_stub(package, file)

    def found(name: str) -> Any:
        shown = at_border(load(name), package)
        vars(sys.modules[package])[name] = shown
        return shown

    return found, listed, names


def close_border(package: str, names: Iterable[str]) -> None:
    """Do the same for names that a package has loaded."""
    inside = vars(sys.modules[package])
    inside.update({name: at_border(inside[name], package) for name in names})


def at_border(thing: Any, package: str) -> Any:
    """Return a function, or a class, as users meet it; anything else as it is."""
    if isinstance(thing, type):
        _explain_methods(thing)
    elif isinstance(thing, FunctionType):
        with _LOCK:
            if thing not in _SHOWN:
                shown = _explained(thing, thing.__name__)
                # Under this name it is pickled, and found again.
                shown.__module__ = package
                _SHOWN[thing] = _SHOWN[shown] = shown
            return _SHOWN[thing]
    return thing


def _explained(raw: FunctionType, name: str) -> FunctionType:
    """Return a function that calls another, and holds its arguments against it when it fails."""
    explain, failure, seen, shallow = _explain, Exception, _explain_methods, _check_depth
    fork = check_fork

    def call(*args: Any, **kwargs: Any) -> Any:
        fork()
        for value in (*args, *kwargs.values()):
            if type(value) is list:
                shallow(name, value)
        try:
            result = raw(*args, **kwargs)
        except failure as error:
            explain(raw, name, args, kwargs, error)
            raise
        seen(type(result))
        return result

    # Doctests are looked for among functions of a module's own, which its globals tell.
    own = FunctionType(call.__code__, raw.__globals__, name, None, call.__closure__)
    update_wrapper(own, raw)
    return own


def _check_depth(name: str, value: Any) -> None:
    """Refuse lists in lists without end: NumPy and Polars would end the process."""
    for _ in range(_DEEPEST):
        if type(value) is not list or not value:
            return
        value = value[0]
    raise ArgumentError(f"{name}: {_REASONS[RecursionError]}")


def _explain(
    raw: FunctionType,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    error: Exception,
) -> None:
    caller = sys._getframe(2).f_globals.get("__name__", "")
    # Inside, a caller may wait for this very error.
    if isinstance(error, CranfieldError | MemoryError) or caller.startswith("cranfield."):
        return
    from cranfield.base.border.misfits import misfit

    said = misfit(raw, name, args, kwargs)
    if said:
        raise ArgumentError(said) from None
    stray = _STRAY.search(str(error)) if isinstance(error, TypeError) else None
    if stray and stray[1] in kwargs:
        raise ArgumentError(f"{name} takes no argument {stray[1]!r}") from None
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            raise ArgumentError(f"{name}: {reason}") from error


def _explain_methods(kind: type) -> None:
    """Let the methods of a class of ours, inherited ones too, explain themselves."""
    if kind in _SHOWN or not kind.__module__.startswith("cranfield"):
        return
    with _LOCK:
        for each in kind.__mro__:
            ours = each.__module__.startswith("cranfield")
            if each in _SHOWN or not ours or issubclass(each, BaseException | Enum):
                continue
            _SHOWN[each] = each
            for name, member in list(vars(each).items()):
                held = isinstance(member, classmethod | staticmethod)
                raw = member.__func__ if held else member
                if isinstance(raw, FunctionType) and (
                    not name.startswith("_") or name in _OPERATORS
                ):
                    title = each.__name__ if name == "__init__" else f"{each.__name__}.{name}"
                    shown = _explained(raw, title)
                    setattr(each, name, type(member)(shown) if held else shown)
        _SHOWN[kind] = kind
