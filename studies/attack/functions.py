"""Public functions and methods called with one argument replaced by something hostile.

Calls that work are noted while the examples of the documentation run; then arguments that a
function declares, given or not, are replaced. Right is any result, as what an odd argument should
give is seldom known; refused is one printable line by an error of ours. A finding is any other
exception, what takes longer than `PATIENCE`, and the end of the process.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib
import inspect
import io
import itertools
import json
import os
import pkgutil
import random
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from studies.attack import Outcome

PATIENCE = 10
"""Seconds."""

CALLS_KEPT = 2

INTERNAL = {"Rows", "run_parts", "Order"}
"""What measures and studies are written with: its arguments go to functions of the same author."""

Call = tuple[FunctionType, str, tuple[Any, ...], dict[str, Any]]


def attack(seed: int, cases: int) -> Iterator[Outcome]:
    """Yield what became of so many cases; another process does them, and may end."""
    done = 0
    while done < cases:
        command = [sys.executable, "-m", "studies.attack.functions", str(seed), str(done)]
        with subprocess.Popen([*command, str(cases)], stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            begun = "the examples"
            for line in worker.stdout:
                kind, *told = json.loads(line)
                if kind == "begun":
                    [begun] = told
                elif kind == "all":
                    return
                else:
                    done += 1
                    yield Outcome(begun, kind, *told)
        if worker.returncode:
            done += 1
            yield Outcome(begun, "finding", f"the process ended with {worker.returncode}")


def hostile() -> list[Any]:
    """Return new objects each time, as functions may change what they are given."""
    endless: list[Any] = []
    endless.append(endless)
    deep: Any = 1
    for _ in range(2_000):
        deep = [deep]
    return [
        *(None, True, False, object, object(), 0, 3, -1, 10**30, 1.5, float("nan"), float("inf")),
        *(-float("inf"), Decimal("0.5"), Decimal("sNaN"), Fraction(1, 3), 1j, 10**400),
        *(
            "",
            "x",
            "AP",
            "\x1b[31m",
            "a\0b",
            "\ud800",
            "x" * 10_000,
            "\u0663",
            b"x",
            bytearray(b""),
        ),
        *([], [None], [[]], ["x", 3], [1.5, "x"], (), (1, 2, 3), {}, {"x": 1}, {1: 2}, {None: []}),
        *({"x": {"y": "z"}}, {"x": [1, 2]}, {"x": None}, {("a", "b"): 1}, set(), {1, "x"}),
        *(endless, deep, iter([1]), (x for x in "ab"), lambda: 3, print, type("Odd", (), {})()),
        *(np.zeros(0), np.zeros((2, 3)), np.float64("nan"), np.int8(3), np.array(["x"])),
        *(np.array([object()]), np.datetime64("2020-01-01"), np.array(3), np.ma.masked),
        *(pl.DataFrame(), pl.DataFrame({"x": [1]}), pl.DataFrame({"topic": [None]}), pl.lit(1)),
        *(pl.Series("x", [1]), pl.LazyFrame({"x": [1]}), pd.DataFrame({"x": [1]}), pd.Series([1])),
        *(pd.NA, pd.NaT, Path("nowhere"), Path(), range(3), slice(1), os, Ellipsis, NotImplemented),
        *(io.StringIO("x"), io.BytesIO(b"x"), ValueError("x"), random.Random(1)),
        *(np.random.default_rng(1), memoryview(b"x"), frozenset("x"), complex("nan")),
    ]


def public() -> dict[FunctionType, tuple[str, FunctionType]]:
    """Return public functions and methods: what is inside, its name, and what users call."""
    from cranfield.base import border

    met: dict[FunctionType, tuple[str, FunctionType]] = {}
    exported: set[str] = set()
    plain = border._explained

    def noted(raw: FunctionType, name: str) -> FunctionType:
        shown = plain(raw, name)
        met[raw] = name, shown
        return shown

    border._explained = noted
    for module in modules():
        for name in getattr(module, "__all__", ()):
            getattr(module, name)
            exported.add(name)
    mine = exported - INTERNAL
    return {raw: named for raw, named in met.items() if named[0].partition(".")[0] in mine}


def modules() -> Iterator[Any]:
    package = importlib.import_module("cranfield")
    yield package
    for found in pkgutil.walk_packages(package.__path__, "cranfield."):
        if not found.name.endswith("__main__"):
            yield importlib.import_module(found.name)


def noted_calls() -> list[Call]:
    """Run all examples, and return calls of public functions and methods."""
    met = public()
    by_code = {raw.__code__: raw for raw in met}
    kept: dict[FunctionType, list[Call]] = defaultdict(list)

    def watch(frame: Any, event: str, _: Any) -> None:
        raw = by_code.get(frame.f_code) if event == "call" else None
        if raw is None or len(kept[raw]) >= CALLS_KEPT:
            return
        name, shown = met[raw]
        inside, code = inspect.getargvalues(frame), raw.__code__
        args = [inside.locals[one] for one in inside.args[: code.co_argcount]]
        args += inside.locals[inside.varargs] if inside.varargs else ()
        named = {one: inside.locals[one] for one in inside.args[code.co_argcount :]}
        named |= inside.locals[inside.keywords] if inside.keywords else {}
        kept[raw].append((shown, name, tuple(args), named))

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
    return [call for calls in kept.values() for call in calls]


def case(call: Call, parameter: inspect.Parameter, number: int) -> Callable[[], Any]:
    """Return what makes a call again, with one argument replaced."""
    function, _, args, kwargs = call
    value = hostile()[number]
    signature = inspect.signature(function)
    given = dict(signature.bind(*args, **kwargs).arguments)
    if parameter.kind is parameter.VAR_POSITIONAL:
        value = (value,)
    elif parameter.kind is parameter.VAR_KEYWORD:
        value = {"nonsense": value}
    given[parameter.name] = value
    positional: list[Any] = []
    named: dict[str, Any] = {}
    by_place = True
    for name, one in signature.parameters.items():
        if name not in given:
            # What comes behind an argument that is not given goes by its name.
            by_place = False
        elif one.kind is one.VAR_POSITIONAL:
            positional += given[name] if by_place else ()
        elif one.kind is one.VAR_KEYWORD:
            named |= given[name]
        elif by_place and one.kind is not one.KEYWORD_ONLY:
            positional.append(given[name])
        else:
            named[name] = given[name]
    return lambda: function(*positional, **named)


class LateError(BaseException):
    """A case takes too long."""


def outcome(run: Callable[[], Any]) -> tuple[str, str]:
    """Do a case, and say what became of it."""
    from cranfield import CranfieldError

    def late(*_: object) -> None:
        raise LateError

    silent = io.StringIO()
    signal.signal(signal.SIGALRM, late)
    signal.alarm(PATIENCE)
    try:
        with contextlib.redirect_stdout(silent), contextlib.redirect_stderr(silent):
            run()
    except CranfieldError as error:
        line = str(error)
        if len(line) > 1_000 or not line.isprintable():
            return "finding", f"a message that is no short printable line: {ascii(line)[:100]}"
        return "refused", ""
    except LateError:
        return "finding", f"takes more than {PATIENCE} s"
    except BaseException as error:
        return "finding", f"{type(error).__name__}: {ascii(str(error))[:120]}"
    finally:
        signal.alarm(0)
    return "right", ""


def work(seed: int, first: int, last: int) -> None:
    """Do the cases from one number to another, and say before and after each what it is."""
    out = os.fdopen(os.dup(1), "w")
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        every = [
            (call, parameter, number)
            for call in noted_calls()
            for parameter in inspect.signature(call[0]).parameters.values()
            if parameter.name not in ("self", "cls") and "Callable" not in str(parameter.annotation)
            for number in range(len(hostile()))
        ]
        random.Random(seed).shuffle(every)
        for call, parameter, number in itertools.islice(every, first, last):
            begun = f"{call[1]}({parameter.name}=hostile[{number}])"
            print(json.dumps(["begun", begun]), file=out, flush=True)
            print(json.dumps(outcome(case(call, parameter, number))), file=out, flush=True)
        print(json.dumps(["all"]), file=out, flush=True)
        os.chdir("/")


if __name__ == "__main__":
    work(*map(int, sys.argv[1:]))
