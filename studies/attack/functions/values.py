"""What stands in place of an argument: wrong types, and right types with extreme values."""

from __future__ import annotations

import contextlib
import copy
import datetime
import inspect
import io
import os
import random
import re
from collections import OrderedDict, UserDict, UserList, UserString, deque
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from fractions import Fraction
from pathlib import Path
from types import FunctionType, MappingProxyType
from typing import Any

import numpy as np
import pandas as pd
import polars as pl


class OddError(Exception):
    """Raised by objects of ours, whatever is asked of them."""


class OwnError(Exception):
    """Raised by the caller's functions and generators: these errors arrive as they are."""


def _fails(*_: object) -> Any:
    raise OwnError("own")


def _operators(*names: str) -> dict[str, Any]:
    def odd(self: Any, *_: object) -> Any:
        raise OddError("odd")

    named = [f"__{name}__" for name in names]
    return {
        name: FunctionType(odd.__code__.replace(co_name=name), globals(), name) for name in named
    }


_ASKED = (
    *("str", "repr", "len", "iter", "getitem", "eq", "hash", "bool", "float", "int", "index"),
    *("array", "fspath", "contains", "lt"),
)

Silent: Any = type("Silent", (), _operators(*_ASKED))
Text: Any = type("Text", (str,), {})
SilentText: Any = type("SilentText", (str,), _operators("str", "repr"))
SilentList: Any = type("SilentList", (list,), _operators("iter"))
LenlessList: Any = type("LenlessList", (list,), _operators("len"))
SilentDict: Any = type("SilentDict", (dict,), _operators("iter", "getitem"))
Whole: Any = type("Whole", (int,), {})
Number: Any = type("Number", (float,), {})


class Colour(Enum):
    RED = "red"


class Level(IntEnum):
    LOW = 1


class Word(StrEnum):
    AP = "AP"


def one_of_hostile(chance: random.Random) -> tuple[Any, str]:
    """Return something of a wrong type, made anew, and its name."""
    number = chance.randrange(len(HOSTILE))
    value = HOSTILE[number]
    used_up = isinstance(value, Iterator | io.IOBase)
    return hostile()[number] if used_up else copied(value), f"hostile[{number}]"


def copied(value: Any) -> Any:
    """Return a copy, where there can be one: a case leaves nothing behind for the next."""
    try:
        return copy.deepcopy(value)
    except Exception:
        return value


def hostile() -> list[Any]:
    """Return new objects each time, as functions may change what they are given."""
    endless: list[Any] = []
    endless.append(endless)
    holds_itself: dict[str, Any] = {}
    holds_itself["x"] = holds_itself
    deep: Any = 1
    for _ in range(2_000):
        deep = [deep]
    return [
        *(None, True, False, object, object(), 0, 3, -1, 10**30, 1.5, float("nan"), float("inf")),
        *(-float("inf"), Decimal("0.5"), Decimal("sNaN"), Fraction(1, 3), 1j, 10**400, -0.0, 1e308),
        *("", "x", "AP", "\x1b[31m", "a\0b", "\ud800", "x" * 10_000, "\u0663", "a\nb", "\u202e"),
        *(b"x", bytearray(b""), memoryview(b"x"), UserString("x"), np.str_("x"), np.bytes_(b"x")),
        *([], [None], [[]], ["x", 3], [1.5, "x"], (), (1, 2, 3), {}, {"x": 1}, {1: 2}, {None: []}),
        *({"x": {"y": "z"}}, {"x": [1, 2]}, {"x": None}, {("a", "b"): 1}, set(), {1, "x"}),
        *({float("nan"): 1}, {"\ud800": 1}, {"a\0": {"b\0": 1}}, {"x": {"y": float("nan")}}),
        *(UserDict({"x": 1}), UserList([1]), OrderedDict(x=1), MappingProxyType({"x": 1})),
        *(
            deque([1]),
            frozenset("x"),
            {"x": 1}.keys(),
            {"x": 1}.items(),
            endless,
            holds_itself,
            deep,
        ),
        *(
            iter([1]),
            (x for x in "ab"),
            (_fails() for _ in "a"),
            map(_fails, [1]),
            zip([1], [2], strict=True),
        ),
        *(lambda: 3, lambda *_, **__: None, print, _fails, len, type("Odd", (), {})(), Silent()),
        *(Text("AP"), SilentText("AP"), SilentList([1]), LenlessList([1]), SilentDict(x=1)),
        *(Whole(3), Number(0.5), Colour.RED, Level.LOW, Word.AP, Colour, type("Odd", (), {})),
        *(
            np.zeros(0),
            np.zeros((2, 3)),
            np.float64("nan"),
            np.int8(3),
            np.array(["x"]),
            np.bool_(1),
        ),
        *(np.array([object()]), np.datetime64("2020-01-01"), np.array(3), np.ma.masked),
        *(np.float16(0.5), np.longdouble(1), np.uint64(2**64 - 1), np.complex128(1j)),
        *(np.zeros(2, "i4,f8"), np.zeros((0, 3, 0)), np.arange(3), np.array([True, False])),
        *(
            np.ma.array([1, 2], mask=[False, True]),
            np.timedelta64("NaT"),
            np.array([np.nan, np.inf]),
        ),
        *(pl.DataFrame(), pl.DataFrame({"x": [1]}), pl.DataFrame({"topic": [None]}), pl.lit(1)),
        *(pl.Series("x", [1]), pl.LazyFrame({"x": [1]}), pl.col("x"), pl.Series([[1]]), pl.Int64),
        *(pd.DataFrame({"x": [1]}), pd.Series([1]), pd.NA, pd.NaT, pd.Index(["x"]), pd.DataFrame()),
        *(pd.Timestamp("2020"), pd.Categorical(["x"]), pd.DataFrame([[1, 2]], columns=["x", "x"])),
        *(pd.MultiIndex.from_tuples([(1, 2)]), datetime.date(2020, 1, 1), datetime.timedelta(1)),
        *(Path("nowhere"), Path(), Path("/dev/null"), Path("a\0b"), range(3), range(10**18)),
        *(slice(1), os, Ellipsis, type, io.StringIO("x"), io.BytesIO(b"x")),
        *(ValueError("x"), random.Random(1), np.random.default_rng(1), complex("nan"), re),
    ]


HOSTILE = hostile()

WHOLE = [
    *(0, 1, -1, 2, 7, 100, 2**31, 2**63 - 1, 2**63, 2**64, 10**18, -(2**63), 10**30),
    *(np.int64(0), np.int64(3), np.int8(-1), np.uint64(2**64 - 1), np.uint8(5), True),
]
NUMBERS = [
    *(0, 1, 0.0, 1.0, -0.0, 2.0, -1.0, 0.5, 1e-300, 5e-324, 1e308, float("nan"), float("inf")),
    *(-float("inf"), 1 - 1e-16, np.float32(0.5), np.float64("nan"), np.int64(1), 10**18, 10**400),
]
TEXTS = [
    *("", " ", "x", "a\0b", "\n", "\t", "\ud800", "x" * 100_000, "\x1b[31m", "\u202e", "é", "run"),
    *("../x", "/nowhere/x", "x.csv", "x.html", "x.json", "*", "[", "{}", "%s", "1", "nan", "=1+1"),
    *("none", "all", "mean", "pdf", "latex", "t-test", "bh", "holm", "bootstrap", "tukey", "zero"),
]
RUNS: list[Any] = [
    *({}, {"1": {}}, {"1": {"a": 1.0}}, {"9": {"z": 1.0}}, {"1": {"a": 1e308, "b": -1e308}}),
    *(
        {"1": {"a": float("nan")}},
        {"1": {"a": float("inf")}},
        {"1\0": {"a\0": 1.0}},
        {"": {"": 0.0}},
    ),
    *({"s": {"1": {"a": 1.0}}}, {"s": {}}, {"s": {"1": {}}, "t": {"1": {"a": 1.0}}}),
    *({"s": {"1": {"a": 1.0}}, "t": {"2": {"b": 1.0}}}, {1: {2: 3}}, {"1": {"a": 10**400}}),
    {"1": {f"d{place}": 0.0 for place in range(3000)}},
    {f"{topic}": {"a": 1.0, "b": 2.0} for topic in range(300)},
    {f"s{system}": {"1": {"a": 1.0, "b": float(system)}} for system in range(30)},
    *([], [("1", "a", 1.0)], [("1", "a")], ["a", "b"], "nowhere.run", "", Path("x" * 300)),
    pl.DataFrame({"topic": [], "doc": [], "score": []}),
    pl.DataFrame({"topic": ["1"], "doc": ["a"], "score": [1.0]}),
    pd.DataFrame({"topic": ["1", None], "doc": ["a", "b"], "score": [1.0, float("nan")]}),
]
QRELS: list[Any] = [
    *({}, {"1": {}}, {"1": {"a": 0}}, {"1": {"a": -1}}, {"1": {"a": 1}}, {"1": {"a": 10**18}}),
    *({"1": {"a": 2**64}}, {"1": {"a": 0.5}}, {"1": {"a": float("nan")}}, {"9": {"z": 1}}),
    *({"1\0": {"a\0": 1}}, {"1": {"a": -(2**63)}}, {"1": {"a": 2**31}}, {"1": {"a": 200}}),
    {"1": {f"d{place}": 1 for place in range(3000)}},
    pl.DataFrame({"topic": ["1"], "doc": ["a"], "grade": [1]}),
]
CUTOFFS = ["", "@1", "@10", "@0", "@-1", "@1000000000000000000", "@1.5", "@1000000"]


def measure(chance: random.Random) -> Any:
    """Return a measure, by its name or as it is, some of them impossible."""
    import cranfield as cf

    name = chance.choice(["AP", "P", "nDCG", "RBP", "ERR", *cf.measures.__all__])
    thing = getattr(cf.measures, name)
    text = name + chance.choice(CUTOFFS)
    odd = chance.choice(
        ["AP(rel=0)", "AP(rel=1000000000000)", "RBP(p=1)", "RBP(p=0)", "", "mean(AP)"]
    )
    usable = isinstance(thing, cf.Measure)
    return chance.choice([text, text, [text, "AP"], odd, [], thing if usable else text])


def extreme(
    parameter: inspect.Parameter, value: Any, pool: Mapping[type, list[Any]], chance: random.Random
) -> Any:
    """Return a value of the type of another, or of its annotation, at the edge of what there is."""
    text, name = str(parameter.annotation), parameter.name
    if name == "jobs":
        # A hundred processes take long to start, and are no fault.
        return chance.choice([1, 2, 0, -2, 2**64, None])
    of: list[Callable[[], Any]] = []
    if name.startswith("measure") or "Measure" in text:
        of.append(lambda: measure(chance))
    if "Any" in text or name in ("runs", "run", "qrels"):
        of.append(lambda: chance.choice(RUNS if "run" in name else [*QRELS, *RUNS]))
    if isinstance(value, bool) or "bool" in text:
        of.append(lambda: chance.choice([True, False]))
    elif isinstance(value, int) or re.search(r"\bint\b", text):
        of.append(lambda: chance.choice(WHOLE))
    if isinstance(value, float) or "float" in text:
        of.append(lambda: chance.choice(NUMBERS))
    if isinstance(value, str) or re.search(r"\bstr\b", text):
        of.append(lambda: chance.choice(TEXTS))
    if "None" in text:
        of.append(lambda: None)
    if literals := re.findall(r"'(\w+)'", text):
        of.append(lambda: chance.choice(literals))
    if type(value) in (list, tuple):
        entries = list(value)
        shapes: tuple[Any, ...] = (
            [],
            entries[:1],
            entries[::-1],
            entries * 2,
            entries * 20,
            entries[1:],
        )
        of.append(lambda: type(value)(chance.choice(shapes)))
    if type(value) is dict:
        of.append(lambda: of_dict(value, chance))
    if isinstance(value, np.ndarray):
        of.append(lambda: of_array(value, chance))
    if isinstance(value, pl.DataFrame):
        of.append(lambda: chance.choice([value.head(0), value.head(1), pl.concat([value, value])]))
        of.append(lambda: value.drop(value.columns[: chance.randrange(2)]))
    mine = [one for kept in pool.values() for one in kept if type(one).__name__ in text]
    mine += pool.get(type(value), [])
    if mine:
        of += [lambda: chance.choice(mine)] * 2
    if not of:
        of.append(lambda: chance.choice([*WHOLE, *NUMBERS, *TEXTS, *RUNS]))
    return chance.choice(of)()


def of_dict(value: dict[Any, Any], chance: random.Random) -> Any:
    keys = list(value)
    if not keys:
        return {"x": {}}
    chosen: list[Callable[[], Any]] = [
        dict,
        lambda: {key: value[key] for key in keys[:1]},
        lambda: {key: value[key] for key in keys[1:]},
        lambda: {f"{key}\0": one for key, one in value.items()},
        lambda: {f"other {key}": one for key, one in value.items()},
        lambda: {key: {} for key in keys},
        lambda: dict.fromkeys(keys, value[keys[0]]),
        lambda: {key: extreme_entry(one, chance) for key, one in value.items()},
    ]
    return chance.choice(chosen)()


def extreme_entry(value: Any, chance: random.Random) -> Any:
    if type(value) is dict:
        return of_dict(value, chance)
    if isinstance(value, int):
        return chance.choice(WHOLE)
    if isinstance(value, float):
        return chance.choice(NUMBERS)
    return chance.choice(TEXTS) if isinstance(value, str) else value


def of_array(value: np.ndarray[Any, Any], chance: random.Random) -> Any:
    if not value.ndim:
        return value
    shapes: list[Any] = [value[:0], value[:1], value[::-1], np.concatenate([value, value])]
    if value.dtype.kind == "f":
        shapes += [value * np.nan, value + np.inf, value * 0 + 1e308, value.astype("f4")]
    elif value.dtype.kind in "iu":
        shapes += [value - value.dtype.type(100), value.astype("i8") + 10**12, value.astype(float)]
    return chance.choice(shapes)


def named(value: Any) -> str:
    """Name a value in a few characters."""
    plain = isinstance(value, int | float | str | list | dict | tuple)
    with contextlib.suppress(Exception):
        return ascii(value)[:40] if plain else f"a {type(value).__name__}"
    return f"a {type(value).__name__}"


def extreme_objects() -> Iterator[Any]:
    """Yield objects at the edge: nothing in them, one topic, one system, nothing in common."""
    import cranfield as cf

    def tried(function: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Any]:
        try:
            return [function(*args, **kwargs)]
        except cf.CranfieldError:
            return []

    for run in RUNS[:20]:
        yield from tried(cf.read_run, run)
    for qrels in QRELS:
        yield from tried(cf.read_qrels, qrels)
    plain = {"1": {"a": 1.0, "b": 2.0}, "2": {"c": 1.0}}
    chance = random.Random(1)
    for runs, qrels in (
        *((run, {"1": {"a": 1}}) for run in RUNS[:18]),
        *((plain, qrels) for qrels in QRELS),
    ):
        for judged in tried(cf.judge, runs, qrels, topics=chance.choice(["qrels", "run"])):
            yield from (judged, *judged.coverage.systems)
            yield from tried(cf.score, judged, ["AP", "P@2"])
    odd = [float("nan"), float("inf"), 0.0, 1e308, -1.0, 5e-324]
    tables: list[dict[str, dict[str, float]]] = [
        {},
        {"x": {}},
        {"x": {"1": 0.5}},
        {"x": {"1": 0.5}, "y": {"1": 0.5}},
        {"x": {"1": 0.5}, "y": {"2": 0.5}},
        {"x": {"1": 0.5, "2": 0.5}, "y": {"1": 0.5, "2": 0.5}},
        {"x\0": {"1\0": 0.5, "2": 0.1}, "": {"1\0": 0.2, "2": 0.3}},
        *({"x": {"1": one, "2": 0.1}, "y": {"1": 0.2, "2": 0.3}} for one in odd),
        *({"x": {"1": one, "2": one}, "y": {"1": one, "2": one}} for one in odd),
    ]
    rows = {"topic": ["1"] * 3, "doc": ["a"] * 3, "worker": ["u", "v", "w"], "grade": [1, 0, 1]}
    labels = cf.assess.read_labels(pl.DataFrame(rows))
    yield from cf.assess.stopping([1, 0, 0, 1, 0], "knee", total=100).verdicts()
    yield cf.assess.LeadRule().replay(labels)
    for table in tables:
        for scores in tried(cf.read_scores, table):
            yield scores
            yield from tried(cf.compare, scores)
