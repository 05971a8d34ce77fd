"""Arguments held against annotations: which one does not fit, said in plain words."""

from __future__ import annotations

import ast
import inspect
import os
import re
import traceback
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import InitVar, fields, is_dataclass
from decimal import Decimal
from functools import cache
from importlib import import_module
from itertools import islice
from types import FunctionType, NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    Unpack,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import numpy as np

from cranfield.base.border.given import Given, takes
from cranfield.base.errors import quoted
from cranfield.base.words import counted, did_you_mean

_LOOKED_AT = 1_000
"""Elements of a list, entries of a dict, that are looked at; of those inside, a tenth as many."""

_PLAIN: dict[type, set[type]] = {str: {str}, int: {int}, float: {float, int}}
"""Types of which every value fits."""

_TEXTS = (str, bytes, bytearray, memoryview)
"""What is no list of what is in it."""

_LARGE = 1 << 63

_NUMBERS: dict[type, tuple[type, ...]] = {
    float: (int, float, np.integer, np.floating),
    int: (int, np.integer),
    bool: (bool, np.bool_),
    str: (str,),
}

_ARRAYS = {"f": "biuf", "i": "iu", "u": "iu", "b": "b"}
"""The kinds of numbers that may stand where an array of a kind is declared."""

_CALLED = {"__call__", "__next__"}
"""What fails in these is work that the caller wrote, and its error stays what it is."""

_TOO_MANY = "too many positional arguments"
"""What Python says of arguments that have no place."""

_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)

_MADE = re.compile(r"made by\s+:func:`(?:\w+\.)*(\w+)`", re.IGNORECASE)
"""How the text of a class says which function makes its objects."""

_WORDS: dict[Any, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    NoneType: "None",
    os.PathLike: "a path",
    np.ndarray: "an array",
    Any: "anything",
}


def misfit(
    function: FunctionType,
    name: str,
    args: tuple[Any, ...],
    given: dict[str, Any],
    *,
    made: bool = False,
) -> str:
    """Say which argument does not fit its annotation, or nothing.

    Of an object that has been made, what it keeps of an argument stands for the argument.

    Examples
    --------
    >>> def share(part: float, of: list[str] | None = None) -> None: ...
    >>> misfit(share, "share", ("x",), {})
    "share(part=…) is a number, not the text 'x'"
    >>> misfit(share, "share", (1,), {"off": 3})
    "share takes no argument 'off'; did you mean of=…?"
    >>> misfit(share, "share", (1, ["a", 2]), {})
    'share(of=…) is a list of text or None, not a list with the whole number 2'
    >>> misfit(share, "share", (1, ["a"]), {})
    ''
    """
    signature = inspect.signature(function)
    try:
        bound = signature.bind(*args, **given)
    except TypeError as error:
        made_by = _maker(type(args[0])) if function.__name__ == "__init__" else ""
        return _unbound(signature, name, given, str(error)) + made_by
    kept = _fields(args[0]) if made else {}
    handed_on = _handed_on(function)
    first = next(iter(bound.arguments.values()), None)
    mine = first if isinstance(first, type) else type(first)
    for parameter in signature.parameters.values():
        if parameter.name not in bound.arguments:
            continue
        wanted = handed_on.get(parameter.name) or _resolved(function, parameter.annotation, mine)
        value = kept.get(parameter.name, bound.arguments[parameter.name])
        pairs = [(parameter.name, wanted, value)]
        if parameter.kind is parameter.VAR_POSITIONAL:
            pairs = [(parameter.name, wanted, one) for one in value]
        elif parameter.kind is parameter.VAR_KEYWORD:
            pairs = [(key, handed_on.get(key, Any), one) for key, one in value.items()]
        for key, kind, one in pairs:
            try:
                wrong, beyond = _wrong(one, kind), not made and _beyond(one)
            except Exception as error:
                # A class of the caller's own that cannot be asked for its elements or its length.
                wrong = f"a {type(one).__name__} that cannot be read ({type(error).__name__})"
                beyond = False
            if wrong:
                return f"{name}({key}=…) is {words(kind)}, not {wrong}{_maker(kind)}"
            if isinstance(one, np.ndarray) and not one.ndim:
                return f"{name}({key}=…) is an array without a dimension"
            if beyond:
                return f"{name}({key}=…) holds a number that is too large"
    return ""


def _beyond(value: Any) -> bool:
    """Tell whether whole numbers of 64 bits cannot hold a number, or one in a list or a dict."""
    if isinstance(value, Mapping):
        value = list(islice(value.values(), _LOOKED_AT))
    some = islice(value, _LOOKED_AT) if isinstance(value, list | tuple) else [value]
    return any(isinstance(one, int) and not -_LARGE <= one < _LARGE for one in some)


def _fields(made: Any) -> dict[str, Any]:
    """Return the fields of an object of a data class, by name."""
    names = [one.name for one in fields(made)] if is_dataclass(made) else []
    return {name: getattr(made, name) for name in names if hasattr(made, name)}


def python_number(value: Any) -> Any:
    """Return Python's number for one of NumPy, or a decimal one; anything else as it is."""
    if isinstance(value, Decimal):
        # What signals that it is no number has none.
        return float("nan") if value.is_snan() else float(value)
    if isinstance(value, np.integer) and not isinstance(value, np.timedelta64):
        return int(value)
    # Those of 64 bits are numbers of Python already.
    few = isinstance(value, np.floating) and not isinstance(value, float)
    return float(value) if few else value


def undecided(function: FunctionType, args: tuple[Any, ...], given: dict[str, Any]) -> str:
    """Name the first argument that is neither true nor false, as arrays and tables are.

    Examples
    --------
    >>> def share(part: object, of: object = None) -> None: ...
    >>> undecided(share, (1,), {"of": np.zeros(2)})
    '(of=…)'
    """
    for key, one in inspect.signature(function).bind(*args, **given).arguments.items():
        try:
            bool(one)
        except Exception:
            return f"({key}=…)"
    return ""


def of_its_own(error: Exception) -> str:
    """Say which operator of an object of the caller's failed, if that is the error; or nothing."""
    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    asked = frame.f_code.co_name
    operator = asked.startswith("__") and asked.endswith("__") and asked not in _CALLED
    if not operator or not frame.f_locals:
        return ""
    kind = type(next(iter(frame.f_locals.values())))
    if kind.__module__.startswith("cranfield"):
        return ""
    return f"a {kind.__name__} fails when asked for its {asked}: {type(error).__name__}: {error}"


def of_what_is_given(
    function: FunctionType, args: tuple[Any, ...], given: dict[str, Any], error: Exception
) -> str:
    """Say which argument may be at fault for what it yields or returns, which is gone; or nothing.

    It is one where the error is of types, and is raised by code of ours.

    Examples
    --------
    >>> def longest(of: Iterable[str], key: Callable[[str], int]) -> int: ...
    >>> given = {"of": ["a"], "key": print}
    >>> of_what_is_given(longest, (), given, TypeError("no order"))
    'what key=… returns may not fit: no order'
    """
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    ours = all(one.f_globals.get("__name__", "").startswith("cranfield.") for one in frames[-1:])
    if not ours or not isinstance(error, TypeError | AttributeError):
        return ""
    signature = inspect.signature(function)
    for key, one in signature.bind(*args, **given).arguments.items():
        if isinstance(one, Iterator):
            return f"what {key}=… yields may not fit: {error}"
        kinds = _alternatives(_resolved(function, signature.parameters[key].annotation))
        heard = all(get_args(kind)[-1:] != (NoneType,) for kind in kinds)
        if inspect.isroutine(one) and heard:
            return f"what {key}=… returns may not fit: {error}"
    return ""


def called(name: str, args: tuple[Any, ...]) -> str:
    """Name a method by the class of its object, rather than by the one that defines it."""
    owner, _, method = name.rpartition(".")
    kind = args[0] if args and isinstance(args[0], type) else type(args[0] if args else None)
    mine = owner in (one.__name__ for one in kind.__mro__)
    return f"{kind.__name__}.{method}" if mine else name


def _maker(wanted: Any) -> str:
    """Say which function makes what is wanted, as far as its class says so; or nothing."""
    found = (_MADE.search(getattr(one, "__doc__", "") or "") for one in _alternatives(wanted))
    return next((f"; {one[1]}() makes one" for one in found if one), "")


def _unbound(signature: inspect.Signature, name: str, given: dict[str, Any], why: str) -> str:
    parameters = signature.parameters.values()
    names = [one.name for one in parameters if one.kind is not one.POSITIONAL_ONLY]
    unknown = [key for key in given if key not in names]
    if why == _TOO_MANY and not unknown:
        placed = [one.name for one in parameters if one.kind in _PLACED and one.name != "self"]
        others = [one.name for one in parameters if one.kind is one.KEYWORD_ONLY]
        listed = f" ({', '.join(placed)})" if placed else ""
        named = f"; others have names, such as {others[0]}=…" if others else ""
        number = counted(len(placed), "argument") if placed else "no argument"
        return f"{name} takes {number} without a name{listed}{named}"
    if not unknown or any(one.kind is one.VAR_KEYWORD for one in parameters):
        return f"{name}: {why}"
    hint = did_you_mean(unknown[0], names, 1, shown="{}=…".format)
    return f"{name} takes no argument {quoted(unknown[0])}{hint}"


def _handed_on(function: FunctionType) -> dict[str, Any]:
    """Return the types of keywords that a function hands on, as far as they are declared."""
    for annotation in inspect.unwrap(function).__annotations__.values():
        wanted = _resolved(function, annotation)
        if get_origin(wanted) is Unpack:
            return get_type_hints(get_args(wanted)[0])
    return {}


class _Named(dict[str, Any]):
    """The names of a module that only type checkers import."""

    def __init__(self, module: str, **known: Any) -> None:
        super().__init__(known)
        self._module = module

    def __missing__(self, name: str) -> Any:
        source = _imports(self._module).get(name)
        if source is None:
            raise KeyError(name)
        home = import_module(source[0])
        return getattr(home, source[1]) if source[1] else home


@cache
def _imports(module: str) -> dict[str, tuple[str, str]]:
    """Find the imports that stand under `if TYPE_CHECKING` in a module."""
    found: dict[str, tuple[str, str]] = {}
    for guard in ast.parse(inspect.getsource(import_module(module))).body:
        if not (isinstance(guard, ast.If) and ast.unparse(guard.test) == "TYPE_CHECKING"):
            continue
        for line in guard.body:
            if isinstance(line, ast.ImportFrom) and line.module:
                found |= {one.asname or one.name: (line.module, one.name) for one in line.names}
            elif isinstance(line, ast.Import):
                found |= {one.asname or one.name: (one.name, "") for one in line.names}
    return found


def _resolved(function: FunctionType, annotation: Any, mine: type = object) -> Any:
    """Return the type that an annotation names; what cannot be found fits everything.

    Of a method, `mine` is the class that it is called of.
    """
    if not isinstance(annotation, str):
        return Any if annotation is inspect.Parameter.empty else annotation
    inside = inspect.unwrap(function).__globals__
    try:
        # The text stands in our own source, where it is evaluated as a type checker would.
        return eval(annotation, inside, _Named(inside["__name__"], Self=mine))
    except (NameError, AttributeError, ImportError, TypeError, OSError):
        return Any


def _wrong(value: Any, wanted: Any) -> str:
    """Say what of a value does not fit, or nothing."""
    if fits(value, wanted):
        return ""
    for one in _alternatives(wanted):
        origin, inner = get_origin(one), get_args(one)
        if not _is_many(value, origin or one) or not inner or isinstance(value, _TEXTS):
            continue
        bad = [key for key in islice(value, _LOOKED_AT) if not fits(key, inner[0])]
        if isinstance(value, Mapping) and not bad and len(inner) == 2:
            kept = islice(value.values(), _LOOKED_AT)
            bad = [entry for entry in kept if not fits(entry, inner[1])]
        if bad:
            kind = "dict" if isinstance(value, Mapping) else type(value).__name__
            return f"a {kind} with {_shown(bad[0])}"
    return _shown(value)


def _alternatives(wanted: Any) -> tuple[Any, ...]:
    if get_origin(wanted) is Annotated:
        return (wanted,) if _given(wanted) else _alternatives(get_args(wanted)[0])
    if isinstance(wanted, InitVar):
        return _alternatives(wanted.type)
    if isinstance(wanted, TypeVar) and wanted.__bound__ is not None:
        return _alternatives(wanted.__bound__)
    if get_origin(wanted) in (Union, UnionType):
        return tuple(one for part in get_args(wanted) for one in _alternatives(part))
    return (wanted,)


def _is_many(value: Any, kind: Any) -> bool:
    """Tell whether a value is the collection that is wanted; a text is none of texts."""
    if not (isinstance(kind, type) and issubclass(kind, Iterable)) or kind is str:
        return False
    if isinstance(value, _TEXTS) or (isinstance(value, np.ndarray) and not value.ndim):
        return False
    return isinstance(value, kind) or (kind in (list, tuple) and isinstance(value, list | tuple))


def _given(wanted: Any) -> Given | None:
    """Return the kind of argument that an annotation states, if it states one."""
    stated = get_args(wanted)[1:] if get_origin(wanted) is Annotated else ()
    return next((one for one in stated if isinstance(one, Given)), None)


def fits(value: Any, wanted: Any, most: int = _LOOKED_AT) -> bool:
    """Tell whether a value is of a type; where that cannot be told, it is.

    Examples
    --------
    >>> fits([1, 2], list[int]), fits([1, "a"], list[int]), fits("a", Collection[str])
    (True, False, False)
    """
    if wanted is None:
        return value is None
    if wanted in (Any, object):
        return True
    alternatives, given = _alternatives(wanted), _given(wanted)
    if alternatives != (wanted,):
        return any(fits(value, one, most) for one in alternatives)
    if given:
        return given.fits(value)
    return _fits_one(value, wanted, most)


def _fits_one(value: Any, wanted: Any, most: int) -> bool:
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if origin is type:
        return isinstance(value, type)
    kind = origin or wanted
    if kind in (Callable, type):
        return callable(value) and _takes(value, inner)
    if is_typeddict(kind):
        return isinstance(value, dict)
    if kind is Hashable:
        return _hashes(value)
    if not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        # Type variables say nothing about a value, protocols what it has.
        if _is_plain_protocol(kind):
            return _is_many(value, kind)
        return not isinstance(kind, type) or _has_all(value, kind)
    if kind in _NUMBERS:
        # Python counts these among whole numbers.
        other = isinstance(value, np.timedelta64) or (isinstance(value, bool) and kind is not bool)
        return isinstance(value, _NUMBERS[kind]) and not other
    if kind is np.ndarray and inner:
        [held] = get_args(inner[-1]) or [None]
        number = isinstance(held, type) and issubclass(held, np.generic)
        kinds = _ARRAYS.get(np.dtype(held).kind, "") if number else ""
        return isinstance(value, kind) and (not kinds or value.dtype.kind in kinds)
    if issubclass(kind, Iterable) and kind not in (str, bytes):
        if not _is_many(value, kind):
            return False
        return _entries_fit(value, inner, most)
    return isinstance(value, kind)


def _takes(function: Any, declared: tuple[Any, ...]) -> bool:
    """Tell whether a function can be called by as many arguments as are declared."""
    listed = bool(declared) and isinstance(declared[0], list)
    return not listed or takes(function, len(declared[0]))


def _has_all(value: Any, protocol: type) -> bool:
    parts = [one for one in protocol.__mro__ if getattr(one, "_is_protocol", False)]
    names = {name for one in parts for name in (*vars(one), *inspect.get_annotations(one))}
    return all(hasattr(value, name) for name in names if not name.startswith("_"))


def _hashes(value: Any) -> bool:
    """Tell whether a value has a hash, which a tuple of lists has not."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _is_plain_protocol(kind: Any) -> bool:
    return kind in (Iterable, Collection, Iterator)


def _entries_fit(value: Any, inner: tuple[Any, ...], most: int) -> bool:
    if not inner or isinstance(value, Iterator) or not isinstance(value, Collection | np.ndarray):
        return True
    if isinstance(value, np.ndarray):
        value = value[:most].tolist()
    if isinstance(value, Mapping) and len(inner) == 2:
        return _all_fit(value, inner[0], most) and _all_fit(value.values(), inner[1], most)
    if isinstance(value, tuple) and len(inner) > 1 and inner[-1] is not Ellipsis:
        return len(value) == len(inner) and all(map(fits, value, inner))
    return _all_fit(value, inner[0], most)


def _all_fit(entries: Iterable[Any], wanted: Any, most: int) -> bool:
    entries = [*islice(entries, most)]
    # Of many texts or numbers the types say all: dicts of judgments hold them by the thousand.
    plain = _PLAIN.get(wanted) if isinstance(wanted, type) else None
    if plain and plain.issuperset(map(type, entries)):
        return True
    return all(fits(one, wanted, max(most // 10, 10)) for one in entries)


def words(wanted: Any) -> str:
    """Name a type in words.

    Examples
    --------
    >>> words(Mapping[str, float] | None), words(Literal["a", "b"])
    ('a dict of text to a number or None', "'a' or 'b'")
    """
    alternatives, given = _alternatives(wanted), _given(wanted)
    if alternatives != (wanted,):
        return " or ".join(dict.fromkeys(map(words, alternatives)))
    if given:
        return given.words
    origin, inner = get_origin(wanted), get_args(wanted)
    if origin is Literal:
        return " or ".join(map(repr, inner))
    kind = origin or wanted
    if kind in _WORDS:
        return _WORDS[kind]
    if kind is get_origin(Callable[..., Any]):
        many = len(inner[0]) if inner and isinstance(inner[0], list) else None
        return "a function" if many is None else f"a function of {counted(many, 'argument')}"
    if isinstance(kind, type) and issubclass(kind, Mapping):
        return f"a dict of {words(inner[0])} to {words(inner[1])}" if len(inner) == 2 else "a dict"
    if isinstance(kind, type) and issubclass(kind, Iterable) and inner:
        of = [words(one) for one in inner if one is not Ellipsis]
        return f"a list of {', '.join(of)}".replace(
            "of a whole number", "of whole numbers"
        ).replace("of a number", "of numbers")
    return f"a {getattr(kind, '__name__', kind)}"


def _shown(value: Any) -> str:
    """Name a value by its type, and show it where it is short."""
    kind = type(value)
    if value is None or kind is bool:
        return str(value)
    if kind is str:
        return f"the text {quoted(value)}"
    if kind in (int, float):
        return f"{'the whole number' if kind is int else 'the number'} {quoted(repr(value))[1:-1]}"
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"a {kind.__name__}"
