"""Mutate small valid tables of every reader, and compare what is read with an oracle.

A reader may return the value that the documentation promises (equal), refuse the table in one line
(refused), or return another value and say something (said). Another value without a message, a
column that is not read without a message, and any other exception are failures.

``python -m tests.collection.mutated_tables --cases 200000 --seed 1`` prints the counts by reader.
"""

from __future__ import annotations

import argparse
import csv
import io
import itertools
import json
import random
import re
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl

import cranfield as cf
from tests.collection import table_oracle as oracle
from tests.collection.table_oracle import DECISIVE, Column, RefusalError, Schema, UndecidableError
from tests.collection.table_readers import FILE, READERS, Reader

NUMBERS = ("number", "whole", "truth", "grade")
WORDS = ["NaN", "nan", "NA", "null", "None", "N/A", "-", "?", "inf"]
ODD = (
    "1.0 2.00 1e0 1,5 1.5 ١ 0x1 1_0 +1 1. -1 1e400 007 99999999999 2147483648 1e-400 ½ 1% ’1 0"
    " TRUE yes"
)
IDS = "é e\u0301 日本 d\u200b1 😀 Ω1 \ufeffd1 a,b a;b a#b #1 'd1' =1+1 1.0 01 1 True None NA D1"
SPACED = ["a\u00a0b", "a b", 'a"b', "a\tb", "a\nb"]


@dataclass
class Case:
    """A table on its way to a reader: named columns, then the bytes of a file."""

    reader: str
    form: str
    draw: random.Random
    names: list[Any]
    rows: list[list[Any]]
    sep: str = ","
    data: bytes = b""
    partial: bool = False
    done: list[str] = field(default_factory=list)

    @property
    def spec(self) -> Reader:
        return READERS[self.reader]

    @property
    def columns(self) -> dict[str, Column]:
        return self.spec.schema.columns

    def kind(self, place: int) -> str:
        """Return the kind of the values of a column, before its name was changed."""
        kinds = [c.kind for c in self.columns.values() if self.names[place] in c.usual]
        return kinds[0] if kinds else "number" if self.reader == "wide scores" else "id"


Mutation = Callable[[Case], None]


# Mutations of the table


def rename(case: Case) -> None:
    called = case.draw.choice([name for name in case.names if name in case.columns] or [""])
    if not called or not case.spec.renames:
        return _spelt(case)
    case.names[case.names.index(called)] = case.draw.choice(case.columns[called].usual)


def _spelt(case: Case) -> None:
    place = case.draw.randrange(len(case.names))
    name = str(case.names[place])
    ways = [
        name.upper(),
        name.title(),
        f" {name}",
        f"{name} ",
        name.replace("_", "-"),
        name.replace("_", " "),
    ]
    if case.reader not in ("units", "wide scores"):
        case.names[place] = case.draw.choice(ways)


def insert(case: Case, name: str, cells: Iterable[Any]) -> None:
    place = case.draw.randint(0, len(case.names))
    case.names.insert(place, name)
    for row, cell in zip(case.rows, cells, strict=False):
        row.insert(place, cell)


def second_column(case: Case) -> None:
    """Add another column of a meaning that is there, with its values in another order."""
    called = case.draw.choice([name for name in case.names if name in case.columns] or [""])
    if called:
        cells = [row[case.names.index(called)] for row in case.rows]
        insert(
            case, case.draw.choice(case.columns[called].usual), case.draw.sample(cells, len(cells))
        )


def text_beside(case: Case) -> None:
    """Add a text beside the id that it belongs to."""
    called = case.draw.choice(
        [n for n in case.names if n in case.columns and case.columns[n].kind == "id"] or [""]
    )
    if called:
        case.names[case.names.index(called)] = case.draw.choice(case.columns[called].ranks[0])
        name = case.draw.choice([*case.columns[called].ranks[-1], "text", "title", called])
        insert(case, name, (f"some words {i // 2}" for i in range(len(case.rows))))


def more(case: Case) -> None:
    """Add a column that may change what a row means, or one of a user."""
    if case.reader == "wide scores":
        return
    kind = case.draw.choice([*DECISIVE, "user", "remark", "position", "split"])
    name = case.draw.choice(DECISIVE[kind].split()) if kind in DECISIVE else kind
    cells = {
        "status": ["done", "rejected"],
        "user": ["u1", "u2"],
        "remark": ["x", "y"],
        "split": ["dev", "test"],
    }
    insert(case, name, (cells.get(kind, [3, 1])[i % 2] for i in range(len(case.rows))))


def duplicate_row(case: Case) -> None:
    row = list(case.draw.choice(case.rows))
    if case.draw.random() < 0.5:
        place = case.draw.randrange(len(row))
        row[place] = case.draw.choice(case.rows)[place]
    case.rows.insert(case.draw.randint(0, len(case.rows)), row)


def _cell(case: Case, change: Callable[[Any, str], Any]) -> None:
    place = case.draw.randrange(len(case.names))
    rows = case.rows if case.draw.random() < 0.25 else [case.draw.choice(case.rows)]
    for row in rows:
        row[place] = change(row[place], case.kind(place))


def blank(case: Case) -> None:
    cell = case.draw.choice(["", None, " "])
    _cell(case, lambda value, kind: cell)


def spaces(case: Case) -> None:
    form = case.draw.choice([" {}", "{} ", "  {} ", "{}\t"])
    _cell(case, lambda value, kind: form.format("" if value is None else value))


def truths(case: Case) -> None:
    pair = case.draw.choice([("True", "False"), ("true", "false"), (True, False), ("yes", "no")])
    _cell(case, lambda value, kind: pair[0] if str(value) in ("1", "2", "3") else pair[1])


def odd_value(case: Case) -> None:
    number, text, word = (
        case.draw.choice(ODD.split(" ")),
        case.draw.choice([*IDS.split(" "), *SPACED]),
        case.draw.choice(WORDS),
    )
    rare = case.draw.random() < 0.3
    _cell(case, lambda value, kind: word if rare else number if kind in NUMBERS else text)


def decimal(case: Case) -> None:
    _cell(case, lambda value, kind: f"{value}.0" if re.fullmatch(r"-?\d+", str(value)) else value)


def shuffle_columns(case: Case) -> None:
    order = case.draw.sample(range(len(case.names)), len(case.names))
    case.names = [case.names[i] for i in order]
    case.rows = [[row[i] for i in order] for row in case.rows]


def shuffle_rows(case: Case) -> None:
    case.draw.shuffle(case.rows)


def drop_column(case: Case) -> None:
    place = case.draw.randrange(len(case.names))
    case.names.pop(place)
    for row in case.rows:
        row.pop(place)


def swap_names(case: Case) -> None:
    """Give a column the name of a column that is not there."""
    lacks = [name for name in case.columns if name not in case.names]
    if lacks:
        case.names[case.draw.randrange(len(case.names))] = case.draw.choice(lacks)


TABLES: list[Mutation] = [
    rename, rename, second_column, text_beside, more, more, duplicate_row, blank, blank, spaces,
    truths, odd_value, odd_value, decimal, shuffle_columns, shuffle_rows, drop_column, swap_names,
]  # fmt: skip


# Mutations of the file


def lines_of(case: Case) -> list[bytes]:
    return case.data.splitlines(keepends=True)


def cut(case: Case) -> None:
    """Cut the file at a byte; the last value is in doubt where its end is missing."""
    at = case.draw.randrange(len(case.data))
    case.partial = case.data[at : at + 1] not in (b"\n", b"\r") and not case.data[:at].endswith(
        b"\n"
    )
    case.data = case.data[:at]


def headless(case: Case) -> None:
    if case.form in ("csv", "tsv"):
        case.data = b"".join(lines_of(case)[1:])


def unended(case: Case) -> None:
    case.data = case.data.rstrip(b"\r\n")


def joined(case: Case) -> None:
    """Join two files, the first of which may not end in a line end."""
    lines = lines_of(case)
    at = case.draw.randint(1, len(lines))
    head = lines[:1] if case.form in ("csv", "tsv") else []
    first = b"".join(lines[:at])
    case.data = (first.rstrip(b"\r\n") if case.draw.random() < 0.5 else first) + b"".join(
        head + lines[at:]
    )


def ends(case: Case) -> None:
    way = case.draw.choice([b"\r\n", b"\r", b"mixed", b"\n\n", b"\n \n"])
    lines = [line.rstrip(b"\r\n") for line in lines_of(case)]
    case.data = b"".join(
        line + ((b"\n" if i % 2 else b"\r\n") if way == b"mixed" else way)
        for i, line in enumerate(lines)
    )


def encoded(case: Case) -> None:
    way = case.draw.choice(["utf-8-sig", "utf-8-sig", "latin-1", "utf-16"])
    case.data = case.data.decode("utf-8", "replace").encode(way, "replace")


def quotes(case: Case) -> None:
    if case.form == "csv":
        rows = list(
            csv.reader(
                io.StringIO(case.data.decode("utf-8", "replace"), newline=""), delimiter=case.sep
            )
        )
        case.data = written(rows, case.sep, csv.QUOTE_ALL)


def stray_quote(case: Case) -> None:
    lines = lines_of(case)
    place = case.draw.randrange(len(lines))
    at = case.draw.choice([0, *(m.end() for m in re.finditer(rb"[,;\t ]", lines[place]))])
    lines[place] = lines[place][:at] + b'"' + lines[place][at:]
    case.data = b"".join(lines)


def separator(case: Case) -> None:
    if case.form in ("csv", "tsv"):
        rows = list(
            csv.reader(
                io.StringIO(case.data.decode("utf-8", "replace"), newline=""), delimiter=case.sep
            )
        )
        case.sep = case.draw.choice([";", "\t", ",", "|"])
        if case.sep == ";" and case.draw.random() < 0.5:
            rows = rows[:1] + with_commas(case, rows[1:])
        case.data = written(rows, case.sep)


def with_commas(case: Case, rows: list[list[str]]) -> list[list[str]]:
    """Write the numbers of a table with decimal commas, as spreadsheets do in some countries."""
    kinds = [case.kind(place) for place in range(len(case.names))]
    return [
        [
            cell.replace(".", ",")
            if kind in oracle.NUMBERS and oracle.DECIMAL.fullmatch(cell)
            else cell
            for kind, cell in itertools.zip_longest(kinds, row[: len(kinds)], fillvalue="")
        ]
        for row in rows
    ]


def ragged(case: Case) -> None:
    lines = lines_of(case)
    place = case.draw.randrange(len(lines))
    sep = case.sep.encode() if case.form in ("csv", "tsv") else b" "
    parts = lines[place].rstrip(b"\r\n").split(sep)
    at = case.draw.randrange(len(parts))
    parts = case.draw.choice(
        [
            parts[:-1],
            parts[:at] + parts[at + 1 :],
            [*parts, b""],
            [*parts, b"x"],
            [*parts[:at], b"7", *parts[at:]],
        ]
    )
    lines[place] = sep.join(parts) + b"\n"
    case.data = b"".join(lines)


def line_between(case: Case) -> None:
    lines = lines_of(case)
    new = case.draw.choice(
        [
            b"\n",
            b"# a comment\n",
            b"\x00\n",
            case.sep.encode() * (len(case.names) - 1) + b"\n",
            b"total\n",
        ]
    )
    lines.insert(case.draw.randint(0, len(lines)), new)
    case.data = b"".join(lines)


def json_change(case: Case) -> None:
    if case.form not in ("json", "jsonl"):
        return
    text = case.data.decode("utf-8", "ignore")
    name = json.dumps(case.draw.choice(case.names))
    ways = [
        lambda: re.sub(re.escape(name) + ": ", f"{name}: 1, {name}: ", text, count=1),
        lambda: re.sub(re.escape(name) + r": [^,}\n]*,? ?", "", text, count=1),
        lambda: re.sub(re.escape(name) + r": ([^,}\n]*)", f"{name}: [\\1]", text, count=1),
        lambda: re.sub(re.escape(name) + r": ([^,}\n]*)", f"{name}: NaN", text, count=1),
        lambda: '{"data": ' + text + "}",
        lambda: text.replace("}", ",}", 1),
        lambda: text + text,
        lambda: text.replace(": ", ":\n", 1),
    ]
    case.data = case.draw.choice(ways)().encode()


FILES: list[Mutation] = [
    cut, cut, headless, unended, joined, ends, ends, encoded, quotes, stray_quote, separator,
    ragged, ragged, line_between, json_change, json_change,
]  # fmt: skip


# A case from its number


def written(rows: Iterable[Iterable[Any]], sep: str, quoting: Any = csv.QUOTE_MINIMAL) -> bytes:
    target = io.StringIO(newline="")
    csv.writer(target, delimiter=sep, lineterminator="\n", quoting=quoting).writerows(rows)
    return target.getvalue().encode("utf-8", "surrogatepass")


def typed(case: Case) -> None:
    """Make numbers of the cells of columns of numbers, as JSON and data frames hold them."""
    for place in range(len(case.names)):
        if case.kind(place) in NUMBERS:
            for row in case.rows:
                if isinstance(row[place], str) and oracle.DECIMAL.fullmatch(row[place]):
                    value = float(row[place])
                    row[place] = int(row[place]) if re.fullmatch(r"-?\d+", row[place]) else value


def serialise(case: Case) -> None:
    """Write the table in the form of the case."""
    rows = [dict(zip(case.names, row, strict=True)) for row in case.rows]
    if case.form in ("csv", "tsv"):
        case.sep = "," if case.form == "csv" else "\t"
        case.data = written([case.names, *case.rows], case.sep)
    elif case.form == "jsonl":
        case.data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    elif case.form == "json":
        case.data = (json.dumps(rows, ensure_ascii=False) + "\n").encode()
    elif case.form in ("trec", "lines"):
        sep = case.draw.choice(["\t", " "])
        out = []
        for i, row in enumerate(rows):
            if case.form == "lines":
                fields = [row[name] for name in case.spec.schema.lines.split() if name in row]
            elif case.reader == "runs":
                fields = [
                    row.get("topic"),
                    "Q0",
                    row.get("doc"),
                    i + 1,
                    row.get("score"),
                    row.get("tag", "x"),
                ]
            else:
                fields = [
                    row.get("topic"),
                    row.get("subtopic", 0),
                    row.get("doc"),
                    row.get("grade"),
                ]
            out.append(sep.join("" if cell is None else str(cell) for cell in fields) + "\n")
        case.data = "".join(out).encode()


def make(seed: int, index: int, reader: str = "", *, mutations: bool = True) -> Case:
    """Return the case of a number: a valid table, with up to two mutations."""
    draw = random.Random(f"{seed}/{index}")
    name = draw.choice(list(READERS))
    name = reader or name
    spec = READERS[name]
    rows, form = spec.rows(draw), draw.choice(spec.formats.split())
    while form == "lines" and next(iter(rows[0])) != spec.schema.lines.split()[0]:
        rows = spec.rows(draw)
    case = Case(name, form, draw, list(rows[0]), [list(r.values()) for r in rows])
    text = case.form not in ("rows", "polars", "pandas")
    if draw.random() < 0.3 and name != "wide scores":
        names = [n for n in case.columns if n in case.names and spec.renames]
        for called in names:
            case.names[case.names.index(called)] = draw.choice(case.columns[called].usual)
            if len(set(map(oracle.plain, case.names))) < len(case.names):
                case.names = list(rows[0])
                break
    if case.form not in ("csv", "tsv", "trec", "lines"):
        typed(case)
    if case.form in ("trec", "lines"):
        case.names = list(rows[0])
    if not mutations:
        serialise(case)
        return case
    tables = draw.choice([0, 1, 1, 2]) if text else draw.choice([0, 1, 2])
    for _ in range(tables):
        mutation = draw.choice(TABLES)
        if case.form in ("trec", "lines") and mutation in (
            rename,
            second_column,
            text_beside,
            more,
            drop_column,
            swap_names,
            shuffle_columns,
        ):
            mutation = odd_value
        before = repr((case.names, case.rows))
        mutation(case)
        if repr((case.names, case.rows)) != before:
            case.done.append(mutation.__name__)
    serialise(case)
    if text:
        for _ in range(1 if tables == 1 else 2 - tables):
            mutation, data = draw.choice(FILES), case.data
            if case.data:
                mutation(case)
            if case.data != data:
                case.done.append(mutation.__name__)
    return case


def wide(names: list[Any], rows: list[list[Any]]) -> Schema:
    """Return the schema of a wide table: a column of topics, and systems."""
    if not any(oracle.plain(name) in ("topic", "qid", "queryid") for name in names):
        raise (
            UndecidableError("rows are numbered")
            if not any(map(oracle.DECIMAL.fullmatch, map(str, names)))
            else RefusalError("no header")
        )
    columns = {"topic": Column("id", "topic qid query_id")}
    columns |= {
        str(n): Column("score", str(n).replace(" ", "_"), False)
        for n in names
        if oracle.plain(n) not in ("topic", "qid", "queryid")
    }
    return Schema(columns, READERS["wide scores"].schema.value, exempt=True)


def trec_table(case: Case) -> tuple[list[Any], list[list[Any]]]:
    """Split TREC text by its rules: tabs where a line has as many columns by them, else blanks."""
    try:
        text = case.data.decode("utf-8-sig").lstrip("\ufeff")
    except UnicodeDecodeError as error:
        raise RefusalError("not UTF-8") from error
    # A file that was cut between CR and LF ends in a line end, too.
    text = re.sub("\r\n|\r$", "\n", text)
    text = text if "\n" in text else text.replace("\r", "\n")
    names = (
        ["topic", "iteration", "doc", "rank", "score", "tag"]
        if case.reader == "runs"
        else ["topic", "subtopic", "doc", "grade"]
    )
    rows = []
    for line in text.split("\n"):
        if not line.strip(" \t") or line.lstrip(" \t").startswith("#"):
            continue
        row = oracle.fields(line, [len(names)])
        rows.append([*row[:5], row[5].split(" ")[0]] if len(row) == 6 else row)
    widths = {len(row) for row in rows}
    if len(widths) == 1 and widths != {len(names)}:
        raise UndecidableError("another form")
    if widths != {len(names)}:
        raise RefusalError("columns")
    if case.partial and not text.endswith("\n"):
        raise UndecidableError("the last value may be cut")
    if case.reader == "runs":
        if len({row[5] for row in rows}) > 1:
            names[5] = "other"
    else:
        pairs = {(row[0], row[2]) for row in rows}
        if not all(re.fullmatch(r"\d+", row[1]) for row in rows) or len(pairs) == len(rows):
            names[1] = "iteration"
    return names, rows


def in_memory(case: Case) -> tuple[Any, list[Any], list[list[Any]]]:
    """Return the table as rows or a frame, and the cells that are in it."""
    rows = [dict(zip(case.names, row, strict=True)) for row in case.rows]
    if len(set(case.names)) < len(case.names):
        raise UndecidableError("a name twice")
    if case.form == "rows":
        return rows, case.names, case.rows
    if case.form == "polars":
        frame = pl.DataFrame(rows, strict=False, infer_schema_length=None)
        return frame, frame.columns, [list(row) for row in frame.rows()]
    table = pd.DataFrame(rows)
    cells = [
        [None if c is None else c for c in row] for row in table.astype(object).to_numpy().tolist()
    ]
    return table, list(table.columns), cells


HEADLESS = ("runs", "ranks", "judgments", "scores", "wide scores")
"""Readers of tables that may be without a header: those of MS MARCO."""


def alike(found: Any, wanted: Any) -> bool:
    """Compare values, with numbers as numbers."""
    if isinstance(wanted, list | tuple) and isinstance(found, list | tuple):
        return len(found) == len(wanted) and all(map(alike, found, wanted))
    if isinstance(wanted, float | int) and isinstance(found, float | int):
        return abs(found - wanted) <= 1e-8 * max(1.0, abs(wanted))
    return bool(found == wanted)


def tried(case: Case, folder: Path) -> tuple[str, str]:
    """Read a case; return its outcome, and what was found against what was expected."""
    schema, path = (
        case.spec.schema,
        folder / f"{FILE}.{ {'trec': 'run', 'lines': 'txt'}.get(case.form, case.form) }",
    )
    source: Any = str(path)
    if case.form == "tsv" and case.reader in HEADLESS and "headless" in case.done:
        return "undecidable", ""
    try:
        if case.form in ("rows", "polars", "pandas"):
            source, names, rows = in_memory(case)
        else:
            path.write_bytes(case.data)
            names, rows = (
                trec_table(case)
                if case.form == "trec"
                else oracle.rows_of(case.data, case.form, schema, case.sep, case.partial)
            )
        wanted, left = oracle.expected(
            names,
            rows,
            wide(names, rows) if case.reader == "wide scores" else schema,
            case.sep if case.form in ("csv", "tsv") else ",",
        )
    except RefusalError as error:
        wanted, left = error, []
    except UndecidableError:
        return "undecidable", ""
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        try:
            found, notes = case.spec.read(source)
        except cf.CranfieldError as error:
            return (
                "refused" if isinstance(wanted, RefusalError) else "refused a value"
            ), f"{type(error).__name__}: {error}"
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 (a panic of Rust is no Exception)
            return "FAILED", f"{type(error).__name__}: {error}\n{traceback.format_exc(limit=-3)}"
    said = notes + [str(message.message) for message in messages]
    only_names = all("columns not used" in text and "contain" not in text for text in said)
    if not isinstance(wanted, RefusalError) and alike(found, wanted):
        left = [] if case.form == "trec" else left
        return ("FAILED", f"not said: columns {left}") if left and not said else ("equal", "")
    if said and not only_names:
        return "said", said[0]
    if isinstance(wanted, RefusalError):
        return "FAILED", f"expected a refusal ({wanted}), got {found} {said}"
    return "FAILED", f"expected {wanted}\n     got {found} {said}"


def many(seed: int, numbers: range) -> tuple[Counter[tuple[str, str]], list[tuple[int, str]]]:
    """Try cases; return counts by reader and outcome, and the failures."""
    counts: Counter[tuple[str, str]] = Counter()
    failures = []
    place = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=place) as name:
        for index in numbers:
            case = make(seed, index)
            outcome, text = tried(case, Path(name))
            counts[case.reader, outcome] += 1
            if outcome == "FAILED":
                failures.append((index, text))
    return counts, failures


def shown(seed: int, index: int, reader: str = "") -> str:
    """Describe a case."""
    case = make(seed, index, reader)
    data = (
        case.data.decode("utf-8", "backslashreplace") if case.data else f"{case.names}\n{case.rows}"
    )
    data = re.sub(r"[\x00\r\ufeff]", lambda found: repr(found[0])[1:-1], data)
    return (
        f"{case.reader}, {case.form}, {'+'.join(case.done) or 'unchanged'} (case {index})\n{data}"
    )


OUTCOMES = ("equal", "refused", "refused a value", "said", "undecidable", "FAILED")


def main() -> int:
    """Try many cases and print the counts; the exit status is 1 if a case failed."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--cases", type=int, default=2000)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("--seconds", type=float, help="stop after this time")
    options.add_argument("--case", type=int, help="show one case")
    options.add_argument("--show", type=int, default=10, help="failures that are shown in full")
    asked = options.parse_args()
    if asked.case is not None:
        with tempfile.TemporaryDirectory() as name:
            print(
                shown(asked.seed, asked.case),
                *tried(make(asked.seed, asked.case), Path(name)),
                sep="\n",
            )
        return 0
    start = time.perf_counter()
    parts = [range(i, min(i + 500, asked.cases)) for i in range(0, asked.cases, 500)]
    counts: Counter[tuple[str, str]] = Counter()
    failures: list[tuple[int, str]] = []
    pool = (
        ProcessPoolExecutor(asked.processes, get_context("spawn")) if asked.processes > 1 else None
    )
    mapped = pool.map if pool else map
    for count, found in mapped(many, [asked.seed] * len(parts), parts):
        counts.update(count)
        failures += found
        if asked.seconds and time.perf_counter() - start > asked.seconds:
            break
    if pool:
        pool.shutdown(cancel_futures=True)
    seen: Counter[tuple[str, str, str]] = Counter()
    for index, text in failures:
        case = make(asked.seed, index)
        kind = (case.reader, "+".join(case.done), text.split("(")[0][:60].split("\n")[0])
        seen[kind] += 1
        if seen[kind] == 1 and len(seen) <= asked.show:
            print(shown(asked.seed, index), text, "", sep="\n")
    for kind, often in seen.most_common(40):
        print(f"{often:5}  {' | '.join(kind)}")
    print("reader".ljust(22), *(name.rjust(15) for name in ("cases", *OUTCOMES)))
    for reader in [*READERS, "all"]:
        row = [
            sum(n for (r, o), n in counts.items() if o == out and reader in (r, "all"))
            for out in OUTCOMES
        ]
        print(reader.ljust(22), *(f"{n:15,}" for n in (sum(row), *row)))
    print(f"{counts.total():,} cases, seed {asked.seed}, {time.perf_counter() - start:.0f} s")
    return int(bool(failures))


if __name__ == "__main__":
    raise SystemExit(main())
