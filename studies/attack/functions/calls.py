"""What is public, and calls of it that work: those that the examples make."""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import pkgutil
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, ValuesView
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import islice
from types import CodeType, FunctionType, ModuleType
from typing import Any

from studies.attack.functions import campaign_calls
from studies.attack.functions.values import extreme_objects

KEPT = 4
"""Calls of a function, objects of a class."""

INSIDE = {"Rows", "run_parts", "Order", "Annotations", "Scorable", "REGISTRY", "Info"}
"""What measures and studies are written with: its arguments go to functions of the same author.

So it is with the methods of measures, of which only operators are attacked.
"""

OPERATORS = {"call", "getitem", "matmul", "len", "iter", "contains", "eq", "repr", "str"}

PACKAGES = [
    *("", "assess", "bundled", "campaign", "collection", "correlation", "measures", "meta"),
    *("online", "reporting", "reporting.charts", "scales", "sessions", "significance", "texts"),
]

Pool = dict[type, list[Any]]
Call = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass
class Target:
    """Something public: its name, what users call, and calls of it that work."""

    name: str
    function: Callable[..., Any]
    signature: inspect.Signature
    owner: type | None = None
    calls: list[Call] = field(default_factory=list)


def modules() -> Iterator[ModuleType]:
    package = importlib.import_module("cranfield")
    yield package
    for found in pkgutil.walk_packages(package.__path__, "cranfield."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def public() -> dict[CodeType, tuple[Target, bool]]:
    """Return what users call, by its code, and whether a class stands first in its arguments."""
    found: dict[CodeType, tuple[Target, bool]] = {}
    for package in PACKAGES:
        module = importlib.import_module(f"cranfield.{package}".rstrip("."))
        names = getattr(module, "__all__", None) or vars(module)
        for name in names:
            thing = getattr(module, name)
            if name in INSIDE or not type(thing).__module__.startswith(("cranfield", "builtins")):
                continue
            kind = thing if isinstance(thing, type) else type(thing)
            if isinstance(thing, FunctionType):
                found.setdefault(inside(thing), (target(name, thing), False))
            elif not issubclass(kind, BaseException | Enum):
                found |= {code: one for code, one in members(kind) if code not in found}
    return found


def members(kind: type) -> Iterator[tuple[CodeType, tuple[Target, bool]]]:
    """Yield constructor, methods and properties of a class of ours, inherited ones too."""
    declared = any(one.__name__ == "Declared" for one in kind.__mro__)
    for owner in kind.__mro__:
        if not owner.__module__.startswith("cranfield"):
            continue
        for name, member in list(vars(owner).items()):
            shown = f"{owner.__name__}.{name}"
            if name == "__init__" and isinstance(member, FunctionType) and not declared:
                yield inside(member), (target(owner.__name__, owner), True)
            elif (name.startswith("_") or declared) and name.strip("_") not in OPERATORS:
                continue
            elif isinstance(member, FunctionType):
                yield inside(member), (asked(shown, owner, member), False)
            elif isinstance(member, classmethod):
                yield inside(member.__func__), (target(shown, getattr(owner, name)), True)
            elif isinstance(member, staticmethod):
                yield inside(member.__func__), (target(shown, member.__func__), False)
            else:
                read = getattr(member, "fget", None) or getattr(member, "func", None)
                if isinstance(read, FunctionType):
                    yield inside(read), (asked(shown, owner, read), False)


def inside(function: Any) -> CodeType:
    code = inspect.unwrap(function).__code__
    assert isinstance(code, CodeType)
    return code


def target(name: str, function: Any) -> Target:
    return Target(name, function, inspect.signature(function))


def asked(name: str, owner: type, member: FunctionType) -> Target:
    """Return a method or a property as users meet it: that of the object's own class."""
    attribute = name.rpartition(".")[2]

    def ask(self: Any, *args: Any, **kwargs: Any) -> Any:
        if callable(getattr(type(self), attribute, None)):
            return getattr(self, attribute)(*args, **kwargs)
        return getattr(self, attribute)

    return Target(name, ask, inspect.signature(member), owner)


def noted() -> tuple[list[Target], Pool]:
    """Run all examples; return what is public with calls of it, and objects by their class."""
    found = public()
    pool: Pool = defaultdict(list)

    def keep(value: Any) -> None:
        kind = type(value)
        if kind.__module__.startswith("cranfield") and len(pool[kind]) < KEPT:
            pool[kind].append(value)

    def watch(frame: Any, event: str, returned: Any) -> None:
        if event == "return" and frame.f_code in found:
            keep(returned)
        if event != "call" or frame.f_code not in found:
            return
        one, classy = found[frame.f_code]
        values, code = inspect.getargvalues(frame), frame.f_code
        args = [values.locals[name] for name in values.args[: code.co_argcount]][classy:]
        args += values.locals[values.varargs] if values.varargs else ()
        named = {name: values.locals[name] for name in values.args[code.co_argcount :]}
        named |= values.locals[values.keywords] if values.keywords else {}
        for value in (*args, *named.values()):
            keep(value)
        if len(one.calls) < KEPT:
            one.calls.append((tuple(args), named))

    finder = doctest.DocTestFinder(exclude_empty=True)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    runner = doctest.DocTestRunner(verbose=False, optionflags=flags)
    with contextlib.redirect_stdout(io.StringIO()):
        for module in modules():
            for test in finder.find(module, module.__name__):
                sys.setprofile(watch)
                try:
                    runner.run(test, out=lambda _: None)
                finally:
                    sys.setprofile(None)
    for value in (*extreme_objects(), *campaign_calls.objects()):
        pool[type(value)].append(value)
    # What is in what they hold, too.
    for _ in range(2):
        for value in [one for kept in list(pool.values()) for one in kept]:
            for inner in parts(value):
                keep(inner)
    targets = sorted((one for one, _ in found.values()), key=lambda one: one.name)
    known = campaign_calls.calls()
    for one in targets:
        if not one.calls:
            one.calls = [known[one.name]] if one.name in known else made_up(one, pool)
    return targets, pool


def parts(value: Any) -> Iterator[Any]:
    """Yield what an object's properties hold."""
    for name in dir(type(value)):
        member = getattr(type(value), name, None)
        fields = getattr(type(value), "__dataclass_fields__", ())
        if not name.startswith("_") and (
            isinstance(member, property | cached_property) or name in fields
        ):
            with contextlib.suppress(Exception):
                held = getattr(value, name)
                yield held
                some = held.values() if isinstance(held, dict) else held
                if isinstance(some, tuple | list | ValuesView):
                    yield from islice(some, 2)


def made_up(one: Target, pool: Pool) -> list[Call]:
    """Return a call of what no example calls; none where there is no object to call it of."""
    given: list[Any] = []
    named: dict[str, Any] = {}
    for name, parameter in one.signature.parameters.items():
        if parameter.default is not parameter.empty or parameter.kind in (2, 4):
            continue
        value = sample(name, str(parameter.annotation).strip("'\""), pool)
        if name == "self" and one.owner:
            some = (kept for kind, kept in pool.items() if issubclass(kind, one.owner))
            own = [value for kept in some for value in kept]
            if not own:
                return []
            value = own[0]
        if parameter.kind is parameter.KEYWORD_ONLY:
            named[name] = value
        else:
            given.append(value)
    return [(tuple(given), named)]


def sample(name: str, wanted: str, pool: Pool) -> Any:
    plain = {"str": "x", "int": 2, "float": 0.5, "bool": True}
    for part in wanted.replace(" ", "").split("|"):
        if part in plain:
            return plain[part]
        for kind, kept in pool.items():
            if kept and part in [one.__name__ for one in kind.__mro__]:
                return kept[0]
    usual = {"runs": {"1": {"a": 1.0}}, "run": {"1": {"a": 1.0}}, "qrels": {"1": {"a": 1}}}
    return usual.get(name, "x")
