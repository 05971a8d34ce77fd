"""Hostile data in memory: dicts, rows and frames, with values of any type anywhere."""

from __future__ import annotations

import random
import re
from collections import namedtuple
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from math import isfinite, nan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from cranfield.base.errors import CranfieldError
from cranfield.collection.files.reading import read_qrels, read_run
from cranfield.collection.run import Run
from studies.attack.reading.text import NUMBER, WHOLE
from studies.attack.work.cases import FindingError, guarded, shown, some_id

SIMPLE: tuple[Any, ...] = (
    *(None, nan, 1.5, 2.0, 7, -1, True, "", " x ", "x", "5", "1e3", "\ud800", 2**53 + 1),
)
ODD: tuple[Any, ...] = (
    *(float("inf"), 10**30, 10**400, 2**63, 1e300, "nan", "1_000", "0x10", "+1", "1.0", "\x00"),
    *(" 7 ",),
    *([1], [], {"a": 1}, {}, [[1], 2], "é", "a\u2028b", "a\nb", '"', -0.0, 5e-324, "inf", "1,5"),
    *("٣",),
)
PYTHON: tuple[Any, ...] = (
    *(b"x", (1, 2), 1 + 2j, Decimal("1.5"), Decimal(3), date(2020, 1, 2), np.float32(1.5)),
    *(np.int64(3),),
    *(object(), {1, 2}, np.array([1.0]), np.nan, np.bool_(True), pd.NA, pd.NaT, ..., int),
    *(np.str_("n"),),
)
HEADS = (
    *("topic", "query_id", "qid", "TOPIC", "doc", "docno", "doc_id", "score", "sim", "rel"),
    *("grade", "x", ""),
)


def memory_case(rng: random.Random, folder: Path) -> bool:
    """Read data in memory: what is accepted holds the rows that were given."""
    kind = rng.choice(("run", "qrels"))
    how = rng.choice(list(SHAPES))
    rows = [
        [some_id(rng, "q", n // 3), some_id(rng, "d", n), _value(rng, kind)]
        for n in range(rng.choice((1, 2, 4, 8)))
    ]
    hostile = rng.choice((0, 0, 1, 1, 2))
    for _ in range(hostile):
        column = rng.randrange(3)
        value = rng.choice(rng.choice((SIMPLE, ODD, PYTHON)))
        for row in rows if rng.random() < 0.3 else [rng.choice(rows)]:
            row[column] = value
    heads = ["topic", "doc", "score" if kind == "run" else "grade"]
    tidy = rng.random() < 0.8
    if not tidy:
        heads = [rng.choice(HEADS) for _ in range(3)]
    data, rows = SHAPES[how](rng, rows, heads)
    reproducer = f"read_{kind}, {how}, columns {heads}: {shown(data, 1500)}"
    reader = read_run if kind == "run" else read_qrels
    found = guarded(lambda: reader(data), reproducer)
    if isinstance(found, CranfieldError):
        if not hostile and tidy and _clean(rows):
            raise FindingError(f"refused though valid: {found}", reproducer, f"refused {how}")
        return False
    numbers = found.scores if isinstance(found, Run) else found.grades
    if not np.isfinite(numbers).all():
        raise FindingError(f"numbers {numbers}", reproducer, "not finite")
    if tidy and rows:
        topics = [found.topics[code] for code in found.codes.tolist()]
        # Documents of a dict are looked at when they are asked for.
        if isinstance(guarded(lambda: found.docs, reproducer), CranfieldError):
            return False
        got = list(zip(topics, found.docs.to_list(), numbers.tolist(), strict=True))
        _compare(got, rows, kind, reproducer)
    return True


def _value(rng: random.Random, kind: str) -> Any:
    return rng.randrange(-1, 4) if kind == "qrels" else rng.gauss(0, 1)


def _clean(rows: list[list[Any]]) -> bool:
    """Tell whether the rows hold nothing but texts that are usual everywhere, each pair once."""
    ids = [text for row in rows for text in row[:2]]
    pairs = {tuple(row[:2]) for row in rows}
    return (
        bool(pairs)
        and len(pairs) == len(rows)
        and all(re.fullmatch("[qd][0-9]+", str(text)) for text in ids)
    )


def _compare(got: list[Any], rows: list[list[Any]], kind: str, reproducer: str) -> None:
    if len(got) != len(rows):
        raise FindingError(f"{len(got)} rows of {len(rows)}", reproducer, "rows lost")
    for (topic, doc, number), row in zip(got, rows, strict=True):
        for name, value, original in (("topic", topic, row[0]), ("document", doc, row[1])):
            if value not in _as_id(original):
                what = f"{name} {original!r} became {value!r}"
                raise FindingError(what, reproducer, f"id of {type(original).__name__}")
        if number not in _as_number(row[2], kind):
            what = f"number {row[2]!r} became {number!r}"
            raise FindingError(what, reproducer, f"number of {type(row[2]).__name__}")


def _as_id(value: Any) -> tuple[str, ...]:
    """Texts that an id may become; none where it has to be refused."""
    if isinstance(value, str):
        return (str(value),)
    if isinstance(value, (bool, np.bool_)):
        return ("true", "false")
    if isinstance(value, (int, np.integer)):
        return (str(int(value)), str(float(value)) if abs(int(value)) < 10**300 else "")
    if isinstance(value, (float, np.floating)) and isfinite(value):
        whole = str(int(value)) if float(value).is_integer() else str(value)
        return (whole, str(value), str(float(value)), f"{float(value):.0e}".replace("e+", "e"))
    if isinstance(value, bytes):
        return (value.decode(),)
    return (str(value), f"{value}.0") if isinstance(value, (Decimal, date)) else ()


def _as_number(value: Any, kind: str) -> tuple[float, ...]:
    """Numbers that a value may become; none where it has to be refused."""
    if isinstance(value, (bool, np.bool_)):
        return (float(value),)
    if isinstance(value, str):
        pattern = NUMBER if kind == "run" else WHOLE
        return (float(value),) if pattern.fullmatch(value.strip()) else ()
    if isinstance(value, (int, float, Decimal, np.integer, np.floating)):
        try:
            return (float(value),) if isfinite(value) else ()
        except OverflowError:
            return ()
    return ()


Rows = list[list[Any]]
Made = tuple[Any, Rows]
"""Data, and the rows that they hold."""


def _mapping(rng: random.Random, rows: Rows, heads: list[str]) -> Made:
    made: dict[Any, Any] = {}
    for topic, doc, value in rows:
        if _hashable(topic) and _hashable(doc):
            made.setdefault(topic, {})[doc] = value
    kept = [[topic, doc, value] for topic, docs in made.items() for doc, value in docs.items()]
    if rng.random() < 0.1:
        made[rng.choice(("z", None, 1))] = rng.choice((1, None, [], "x", {}, {"a": {}}, [("d", 1)]))
        # What a topic without documents means is left open.
        return made, []
    return made, kept


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _tuples(rng: random.Random, rows: Rows, heads: list[str]) -> Made:
    return [rng.choice((tuple, list))(row) for row in rows], rows


def _records(rng: random.Random, rows: Rows, heads: list[str]) -> Made:
    made: list[Any] = [dict(zip(heads, row, strict=True)) for row in rows]
    if rng.random() < 0.15:
        other = rng.choice((None, 1, "x", (1, 2, 3), {}, {"topic": 1}, [], object()))
        at = rng.randrange(len(made) + 1)
        made.insert(at, other)
        rows = [*rows[:at], [None, None, None], *rows[at:]]
    return made, rows


def _named(rng: random.Random, rows: Rows, heads: list[str]) -> Made:
    kind: Any = namedtuple("kind", heads, rename=True)  # type: ignore[misc]
    return [kind(*row) for row in rows], rows


def _pandas(rng: random.Random, rows: Rows, heads: list[str]) -> Made:
    kept = [row for row in rows if not any(isinstance(v, str) and "\ud800" in v for v in row)]
    frame = pd.DataFrame(kept, columns=heads, dtype=rng.choice((object, None)))
    return frame, kept


def _polars(rng: random.Random, rows: Rows, heads: list[str]) -> Made:
    try:
        columns = zip(heads, zip(*rows, strict=True), strict=True)
        frame = pl.DataFrame(
            {head: pl.Series(head, values, strict=True) for head, values in columns}
        )
        # What counts is what the frame holds: polars itself may have made 1 of True.
        rows = [list(row) for row in frame.rows()]
    except Exception:
        frame = pl.DataFrame({"topic": ["q"], "doc": ["d"], "score": [1.0], "grade": [1]})
        rows = [["q", "d", 1]]
    lazy = rng.random() < 0.05
    return (frame.lazy() if lazy else frame), rows


def _systems(rng: random.Random, rows: Rows, heads: list[str]) -> Made:
    odd: tuple[Any, ...] = (
        *(None, 1, "", "no/such", b"x", object(), [], {}, [[]], [{}], [()], np.zeros((2, 3))),
        *("a\x00b",),
    )
    more: tuple[Any, ...] = (
        *(np.array(rows, dtype=object), iter(()), pl.Series([1]), pd.Series([1]), {"a": []}),
        *("x" * 5000,),
    )
    return rng.choice(odd + more + (int, print, ..., "irds:no/such", namedtuple("E", "")())), []


SHAPES: dict[str, Callable[..., Made]] = {
    "mapping": _mapping,
    "tuples": _tuples,
    "records": _records,
    "named tuples": _named,
    "pandas": _pandas,
    "polars": _polars,
    "systems": _systems,
}
