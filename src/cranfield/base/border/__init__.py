"""The border: what users call explains an argument of a wrong type in one line.

Inside, functions trust one another, and nothing is checked before it is needed. When a public
function or a method fails by an error that is none of ours, its arguments are held against its
annotations: an argument that does not fit is what went wrong, and is said. Nothing is slower, and
whatever works by likeness (a list where a tuple is declared) goes on working.
Two things are refused besides: lists and dicts without end, and an object that users made of what
does not fit in it, which would fail later, and elsewhere.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cached_property, update_wrapper
from pathlib import Path
from threading import RLock
from types import FunctionType
from typing import Any

import lazy_loader  # type: ignore[import-untyped]

from cranfield.base.border.forks import check_fork
from cranfield.base.errors import ArgumentError, CranfieldError
from cranfield.base.words import did_you_mean

_OPERATORS = {"__init__", "__call__", "__getitem__", "__matmul__"}
"""The methods without a name of their own that take what users write."""

_TOO_LARGE = "a number is too large"

_UNDECIDED = "an array or a table stands where only one value can"

_REASONS: dict[type[Exception], str] = {
    RecursionError: "an argument is nested too deep, or holds itself",
    OverflowError: _TOO_LARGE,
    FloatingPointError: "NumPy is told to raise errors of arithmetic (np.seterr)",
    UnicodeEncodeError: "text is no Unicode: it has half a character (a lone surrogate)",
}
"""What only an argument causes, whatever its type is, or who calls."""

_TELLING = {
    _TOO_LARGE: r"cannot fit 'int' into|int(eger)? too large|out of bounds for u?int\d"
    r"|larger than the maximum|array is too big|Maximum allowed (size|dimension) exceeded"
    r"|has no callable \w+ method|Exceeds the limit \(\d+ digits\)|Too many decimal digits"
    r"|precision too big|won't fit into a C int",
    _REASONS[RecursionError]: r"exceed the maximum number of dimension",
    "a name is too long": r"File name too long",
    "a name holds a null character": r"embedded null (byte|character)",
    "a number of decimal places is negative": r"Format specifier missing precision",
    "arrays or lists have lengths that do not go together": r"could not be broadcast"
    r"|don't have the same length|shape mismatch|not aligned|array dimensions|0-d array"
    r"|out of bounds for (axis|array of)|indices are out of bounds"
    r"|inhomogeneous shape|object too deep|same shape|too many indices for array|zip\(\) argument"
    r"|len\(\) of unsized object",
    "a list or an array is empty": r"need at least one array|zero-size array|empty sequence",
    _UNDECIDED: r"truth value of an? \w+|boolean value of NA",
}
"""What Python and NumPy say, by errors of several types, that only values of arguments cause."""

_OF_POLARS = {
    "ColumnNotFoundError": "a data frame lacks a column",
    "DuplicateError": "a data frame has two columns of one name",
}

_DEEPEST = 32
"""Lists and dicts that are followed; nothing here has more than three."""

_LONGEST = 1 << 31
"""Numbers of a range; all that is done with one makes a list of it."""

_CONTAINERS = {list, range, dict}
"""What is looked at before a call."""

_FOREIGN = {
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "longlong"),
    *("ulonglong", "float16", "float32", "longdouble"),
    *("complex64", "complex128", "clongdouble", "timedelta64", "datetime64"),
    *("complex", "NaTType", "NAType", "Timestamp", "Timedelta", "Decimal"),
}
"""Numbers and times beside those of Python, by name, as nothing here loads NumPy or pandas."""

_STRAY = re.compile(r"unexpected keyword argument '(\w+)'$")

_BETWEEN = {"dataclasses", "functools"}
"""Modules of Python that call ours for whoever makes an object, or asks for a value."""

_LOCK = RLock()
_SHOWN: dict[Any, Any] = {}
"""What users meet of each function, and of each class that has been seen."""


def attach_public(package: str, file: str) -> tuple[Callable[[str], Any], Any, list[str]]:
    """Give a package the names that its stub declares, each loaded when it is first used."""
    load, listed, names = lazy_loader.attach_stub(package, file)

    def found(name: str) -> Any:
        if name not in names and not name.startswith("_"):
            # It is only needed when something is wrong.
            from pkgutil import iter_modules

            modules = {one.name: one.ispkg for one in iter_modules([str(Path(file).parent)])}
            # Python asks here for modules, too, before it looks for their files.
            rooms = [] if name in modules else [one for one in names if modules.get(one)]
            inside = {word: f"{one}.{word}" for one in rooms for word in load(one).__all__}
            raise no_name(package, name, inside | {one: one for one in names})
        shown = at_border(load(name), package)
        vars(sys.modules[package])[name] = shown
        return shown

    return found, listed, names


def no_name(package: str, name: str, known: Mapping[str, str]) -> AttributeError:
    """Make the error of a name that a package has not; `known` are those that it has, as written.

    >>> print(no_name("cranfield", "nDGC", {"nDCG": "measures.nDCG"}))
    module 'cranfield' has no attribute 'nDGC'; did you mean measures.nDCG?
    """
    hint = did_you_mean(name, known, 1, shown=known.__getitem__)
    return AttributeError(f"module {package!r} has no attribute {name!r}{hint}")


def close_border(package: str, names: Iterable[str]) -> None:
    """Do the same for names that a package has loaded."""
    inside = vars(sys.modules[package])
    inside.update({name: at_border(inside[name], package) for name in names})


def at_border(thing: Any, package: str) -> Any:
    """Return a function, or a class, as users meet it; anything else as it is."""
    if isinstance(thing, type):
        _explain_methods(thing)
    elif isinstance(getattr(thing, "__wrapped__", thing), FunctionType):
        # A function, or one that keeps what it returned.
        with _LOCK:
            if thing not in _SHOWN:
                shown = explained(thing, thing.__name__)
                # Under this name it is pickled, and found again.
                shown.__module__ = package
                _SHOWN[thing] = _SHOWN[shown] = shown
            return _SHOWN[thing]
    return thing


def explained(raw: Any, name: str) -> FunctionType:
    """Return a function that calls another, and holds its arguments against it when it fails."""
    explain, failure, seen, shallow = _explain, Exception, _explain_methods, _check_depth
    fork, check, makes = check_fork, _check_made, raw.__name__ == "__init__"
    containers, foreign, as_python = _CONTAINERS, _FOREIGN, _as_python

    def call(*args: Any, **kwargs: Any) -> Any:
        fork()
        for value in (*args, *kwargs.values()):
            kind = type(value)
            if kind in containers:
                shallow(name, value)
            elif kind.__name__ in foreign:
                args, kwargs = as_python(raw, name, args, kwargs)
        try:
            result = raw(*args, **kwargs)
        except failure as error:
            explain(raw, name, args, kwargs, error)
            raise
        if makes:
            check(raw, name, args, kwargs)
        seen(type(result))
        return result

    # Doctests are looked for among functions of a module's own, which its globals tell.
    own = FunctionType(
        call.__code__, getattr(raw, "__wrapped__", raw).__globals__, name, None, call.__closure__
    )
    update_wrapper(own, raw)
    return own


def _caller() -> str:
    """Name the module that calls what asks this, by itself or through a module of Python's."""
    frame = sys._getframe(3)
    caller: str = frame.f_globals.get("__name__", "")
    if caller in _BETWEEN and frame.f_back:
        caller = frame.f_back.f_globals.get("__name__", "")
    return caller


def _as_python(
    raw: FunctionType, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return arguments with numbers of Python for those of NumPy, which overflow.

    Complex numbers and times, with which NumPy computes too, are held against annotations.
    """
    if _caller().startswith("cranfield"):
        return args, kwargs
    from cranfield.base.border.misfits import misfit, python_number

    args = tuple(map(python_number, args))
    kwargs = {key: python_number(one) for key, one in kwargs.items()}
    if any(type(one).__name__ in _FOREIGN for one in (*args, *kwargs.values())):
        said = misfit(raw, name, args, kwargs)
        if said:
            raise ArgumentError(said)
    return args, kwargs


def _check_made(
    raw: FunctionType, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    """Refuse an object that was made outside of what does not fit in it."""
    if _caller().startswith("cranfield"):
        return
    from cranfield.base.border.misfits import misfit

    said = misfit(raw, name, args, kwargs, made=True)
    if said:
        raise ArgumentError(said)


def _check_depth(name: str, value: Any) -> None:
    """Refuse lists and dicts without end, which would end the process, and ranges without end."""
    for one in value.values() if type(value) is dict else (value,):
        if type(one) is range and abs(one.stop - one.start) > _LONGEST * abs(one.step):
            raise ArgumentError(f"{name}: a range is too long")
        inner = one
        for _ in range(_DEEPEST):
            if type(inner) is list and inner:
                inner = inner[0]
            elif type(inner) is dict and inner:
                inner = next(iter(inner.values()))
            else:
                break
        else:
            raise ArgumentError(f"{name}: {_REASONS[RecursionError]}")


def _explain(
    raw: FunctionType,
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    error: Exception,
) -> None:
    # Inside, a caller may wait for this very error.
    if isinstance(error, CranfieldError) or _caller().startswith("cranfield."):
        return
    if isinstance(error, MemoryError):
        # What does not fit is refused before it is made: there is room to say so.
        raise CranfieldError(f"{name}: not enough memory. {error}".rstrip(". ")) from error
    from cranfield.base.border.misfits import (
        called,
        misfit,
        of_its_own,
        of_what_is_given,
        undecided,
    )

    name = called(name, args)
    said = misfit(raw, name, args, kwargs)
    if said:
        raise ArgumentError(said) from None
    stray = _STRAY.search(str(error)) if isinstance(error, TypeError) else None
    if stray and stray[1] in kwargs:
        raise ArgumentError(f"{name} takes no argument {stray[1]!r}") from None
    for kind, reason in _REASONS.items():
        if isinstance(error, kind):
            raise ArgumentError(f"{name}: {reason}") from error
    text = str(error)
    for reason, pattern in _TELLING.items():
        if re.search(pattern, text):
            which = undecided(raw, args, kwargs) if reason is _UNDECIDED else ""
            raise ArgumentError(f"{name}{which}: {reason}") from error
    own = of_its_own(error) or of_what_is_given(raw, args, kwargs, error)
    if own:
        raise ArgumentError(f"{name}: {own}") from error
    if type(error).__module__ in {"polars.exceptions", "narwhals.exceptions"}:
        said = _OF_POLARS.get(type(error).__name__, "a data frame, or a value in it, does not fit")
        raise ArgumentError(f"{name}: {said}: {text.partition(chr(10))[0]}") from error


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
                if name.startswith("_") and name not in _OPERATORS:
                    continue
                held = isinstance(member, classmethod | staticmethod)
                raw = member.__func__ if held else getattr(member, "fget", member)
                title = each.__name__ if name == "__init__" else f"{each.__name__}.{name}"
                if isinstance(member, cached_property):
                    member.func = explained(member.func, title)
                elif isinstance(raw, FunctionType):
                    shown = explained(raw, title)
                    setattr(each, name, shown if raw is member else type(member)(shown))
        _SHOWN[kind] = kind
