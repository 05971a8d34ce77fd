"""The shapes that a table can have, from a dict in memory to a Parquet file."""

from __future__ import annotations

import csv
import io
import json
import random
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl

Made = tuple[Any, str, list[list[Any]]]
Rows = list[list[Any]]


def _mapping(rng: random.Random, rows: Rows, heads: list[str], folder: Path) -> Made:
    made: dict[Any, Any] = {}
    for topic, doc, value in rows:
        if _hashable(topic) and _hashable(doc):
            made.setdefault(topic, {})[doc] = value
    kept = [[topic, doc, value] for topic, docs in made.items() for doc, value in docs.items()]
    if rng.random() < 0.1:
        made[rng.choice(("z", None, 1))] = rng.choice((1, None, [], "x", {}, {"a": {}}, [("d", 1)]))
        # What a topic without documents means is left open.
        return made, "", []
    return made, "", kept


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _tuples(rng: random.Random, rows: Rows, heads: list[str], folder: Path) -> Made:
    return [rng.choice((tuple, list))(row) for row in rows], "", rows


def _records(rng: random.Random, rows: Rows, heads: list[str], folder: Path) -> Made:
    made: list[Any] = [dict(zip(heads, row, strict=True)) for row in rows]
    if rng.random() < 0.15:
        other = rng.choice((None, 1, "x", (1, 2, 3), {}, {"topic": 1}, [], object()))
        at = rng.randrange(len(made) + 1)
        made.insert(at, other)
        rows = [*rows[:at], [None, None, None], *rows[at:]]
    return made, "", rows


def _named(rng: random.Random, rows: Rows, heads: list[str], folder: Path) -> Made:
    kind: Any = namedtuple("kind", heads, rename=True)  # type: ignore[misc]
    return [kind(*row) for row in rows], "", rows


def _columns(rows: Rows) -> list[list[Any]]:
    return [[row[i] for row in rows] for i in range(3)]


def _pandas(rng: random.Random, rows: Rows, heads: list[str], folder: Path) -> Made:
    kept = [row for row in rows if not any(isinstance(v, str) and "\ud800" in v for v in row)]
    frame = pd.DataFrame(kept, columns=heads, dtype=rng.choice((object, None)))
    return frame, "", kept


def _polars(rng: random.Random, rows: Rows, heads: list[str], folder: Path) -> Made:
    try:
        columns = zip(heads, _columns(rows), strict=True)
        frame = pl.DataFrame(
            {head: pl.Series(head, values, strict=True) for head, values in columns}
        )
        # What counts is what the frame holds: polars itself may have made 1 of True.
        rows = [list(row) for row in frame.rows()]
    except Exception:
        frame = pl.DataFrame({"topic": ["q"], "doc": ["d"], "score": [1.0], "grade": [1]})
        rows = [["q", "d", 1]]
    lazy = rng.random() < 0.05
    return (frame.lazy() if lazy else frame), "", rows


def _systems(rng: random.Random, rows: Rows, heads: list[str], folder: Path) -> Made:
    odd: tuple[Any, ...] = (
        None,
        1,
        "",
        "no/such",
        b"x",
        object(),
        [],
        {},
        [[]],
        [{}],
        [()],
        np.zeros((2, 3)),
        "a\x00b",
    )
    more: tuple[Any, ...] = (
        np.array(rows, dtype=object),
        iter(()),
        pl.Series([1]),
        pd.Series([1]),
        {"a": []},
        "x" * 5000,
    )
    return rng.choice(odd + more + (int, print, ..., "irds:no/such", namedtuple("E", "")())), "", []


def _csv(separator: str) -> Callable[..., Made]:
    def make(rng: random.Random, rows: Rows, heads: list[str], folder: Path) -> Made:
        rows = [[_text(value) for value in row] for row in rows]
        out = io.StringIO()
        quoting: Any = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
        end = rng.choice(("\n", "\r\n"))
        writer = csv.writer(out, delimiter=separator, quoting=quoting, lineterminator=end)
        writer.writerows([heads, *rows])
        return out.getvalue().encode(), "csv" if separator == "," else "tsv", rows

    return make


def _text(value: Any) -> str:
    return "" if value is None else str(value).replace("\ud800", "?")


def _json(rng: random.Random, rows: Rows, heads: list[str], folder: Path) -> Made:
    made: Any
    how = rng.choice(("mapping", "records", "lists"))
    if how == "mapping":
        made = {}
        for topic, doc, value in rows:
            made.setdefault(_text(topic), {})[_text(doc)] = value
        rows = [[topic, doc, value] for topic, docs in made.items() for doc, value in docs.items()]
    else:
        made = rows if how == "lists" else _records(rng, rows, heads, folder)[0]
        made, rows = _plain(made), (rows if len(made) == len(rows) else [*rows, [None] * 3])
    text = json.dumps(made, ensure_ascii=rng.random() < 0.5)
    if rng.random() < 0.03:
        text = rng.choice(
            ("[" * 100_000, "[]", "{}", "1", '"x"', "null", '{"q":{"d":1' + "0" * 5000 + "}}")
        )
        rows = [[None] * 3]
    return text.encode("utf-8", "replace"), "json", _encoded(rows)


def _jsonl(rng: random.Random, rows: Rows, heads: list[str], folder: Path) -> Made:
    made = _plain(_records(rng, rows, heads, folder)[0])
    rows = rows if len(made) == len(rows) else [*rows, [None] * 3]
    ascii = rng.random() < 0.5
    end = rng.choice(("\n", "\r\n", "\n\n"))
    text = end.join(json.dumps(row, ensure_ascii=ascii) for row in made)
    return text.encode("utf-8", "replace"), "jsonl", _encoded(rows)


def _plain(made: list[Any]) -> list[Any]:
    return [row if type(row) is not object else None for row in made]


def _encoded(rows: Rows) -> Rows:
    """Allow what the encoding of the file did to a text that no file can hold."""
    return [[v.replace("\ud800", "?") if isinstance(v, str) else v for v in row] for row in rows]


def _parquet(rng: random.Random, rows: Rows, heads: list[str], folder: Path) -> Made:
    frame, _, rows = _polars(rng, rows, heads, folder)
    out = io.BytesIO()
    try:
        frame.lazy().collect().write_parquet(out)
    except Exception:
        # Parquet has no place for some of the types.
        return b"PAR1", "parquet", [[None] * 3]
    return out.getvalue(), "parquet", rows


SHAPES: dict[str, Callable[..., Made]] = {
    "mapping": _mapping,
    "tuples": _tuples,
    "records": _records,
    "named tuples": _named,
    "pandas": _pandas,
    "polars": _polars,
    "systems": _systems,
    "csv": _csv(","),
    "tsv": _csv("\t"),
    "json": _json,
    "jsonl": _jsonl,
    "parquet": _parquet,
}
