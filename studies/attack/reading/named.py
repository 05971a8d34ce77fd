"""Runs and judgments in CSV, TSV, JSON and JSON lines, edited, beside Python's own readers.

What is accepted holds the rows that Python's `csv` and `json` find; what holds a value that is no
number, or a name twice, is refused.
"""

from __future__ import annotations

import csv
import io
import json
import random
import re
from math import isfinite
from pathlib import Path
from typing import Any

import cranfield as cf
from cranfield.base.errors import CranfieldError
from studies.attack.reading.spoil import edited
from studies.attack.reading.text import NUMBER, WHOLE
from studies.attack.work.cases import FindingError, guarded, some_id, words

TOPIC = words("topic query_id qid q_id topic_id query queryid")
DOC = words("doc docno doc_id docid document document_id pid passage_id corpus_id")
NUMBERS = {
    "run": words("score sim similarity"),
    "qrels": words("grade relevance label rel judgment judgement score"),
}
MORE = ("rank", "iteration", "tag", "note", "", "Rank", "method")
BLANKS = " \t\n\r\v\f"

ODD: tuple[Any, ...] = (
    None,
    [],
    {},
    {"a": 1},
    [1],
    "1_0",
    "x",
    "",
    10**30,
    10**400,
    1e300,
    float("nan"),
    "٣",
    "1e3",
)

Row = tuple[str, str, float]


class UnknownError(Exception):
    """The documentation leaves open what becomes of it."""


def named_case(rng: random.Random, folder: Path) -> bool:
    """Write a table with names of columns, edit it, and read it."""
    kind, form = rng.choice(("run", "qrels")), rng.choice(("csv", "tsv", "json", "jsonl"))
    data = _made(rng, kind, form)
    edits = rng.choice((0, 1, 1, 1, 2, 3))
    for _ in range(edits):
        data = edited(rng, data)
    path = folder / f"named.{form}"
    path.write_bytes(data)
    reproducer = f"read_{kind} of .{form}: {data!r}"
    reader = cf.read_run if kind == "run" else cf.read_qrels
    found = guarded(lambda: reader(str(path)), reproducer)
    try:
        wanted = expected(data, kind, form)
    except UnknownError:
        return not isinstance(found, CranfieldError)
    if isinstance(found, CranfieldError):
        if wanted is not None:
            raise FindingError(f"refused: {found}", reproducer, f"refused {form}")
        return False
    if wanted is None:
        raise FindingError(f"accepted: {found.to_polars().rows()}", reproducer, f"accepted {form}")
    numbers = (found.scores if isinstance(found, cf.Run) else found.grades).tolist()
    topics = [found.topics[code] for code in found.codes.tolist()]
    got = list(zip(topics, found.docs.to_list(), numbers, strict=True))
    if got != wanted:
        raise FindingError(f"read {got}, not {wanted}", reproducer, f"other rows {form}")
    return True


def _made(rng: random.Random, kind: str, form: str) -> bytes:
    heads = [rng.choice(TOPIC), rng.choice(DOC), rng.choice(NUMBERS[kind])]
    rows: list[list[Any]] = [
        [
            f"q{n // 3}" if rng.random() < 0.9 else some_id(rng, "q", n),
            f"d{n}" if rng.random() < 0.9 else rng.choice(("a\nb", 'a"b', "a,b", "a b", f"x{n}")),
            rng.choice((n, round(rng.gauss(0, 9), 3), 1e-300, -0.0))
            if kind == "run"
            else n % 4 - 1,
        ]
        for n in range(rng.choice((1, 2, 4, 7)))
    ]
    if rng.random() < 0.4:
        heads.append(rng.choice(MORE))
        rows = [[*row, str(n + 1)] for n, row in enumerate(rows)]
    order = list(range(len(heads)))
    if rng.random() < 0.5:
        rng.shuffle(order)
    heads, rows = [heads[i] for i in order], [[row[i] for i in order] for row in rows]
    if rng.random() < 0.3:
        change = rng.choice((str.upper, str.title, lambda head: head.replace("_", "-")))
        heads = [change(head) for head in heads]
    if form in {"json", "jsonl"}:
        if rng.random() < 0.01:
            deep = rng.choice((60, 1_000, 100_000))
            return (rng.choice(("[", '{"a":', '[{"qid":')) * deep + "]" * deep).encode()
        if rng.random() < 0.1:
            rng.choice(rows)[rng.randrange(3)] = rng.choice(ODD)
        if form == "json" and len(heads) == 3 and rng.random() < 0.3:
            return _mapping(rows, order)
        records = [dict(zip(heads, row, strict=True)) for row in rows]
        if rng.random() < 0.05:
            # A name twice, with another value or the same.
            one = f'"{heads[0]}": {json.dumps(rng.choice(rows)[0])}, '
            at = rng.randrange(len(records))
            lines = [json.dumps(record) for record in records]
            lines[at] = "{" + one + lines[at][1:]
            text = "\n".join(lines) if form == "jsonl" else f"[{', '.join(lines)}]"
            return text.encode()
        if form == "jsonl":
            return "".join(json.dumps(one) + "\n" for one in records).encode()
        return json.dumps(records, indent=rng.choice((None, 1))).encode()
    out = io.StringIO()
    quoting: Any = rng.choice((csv.QUOTE_MINIMAL, csv.QUOTE_MINIMAL, csv.QUOTE_ALL))
    end = rng.choice(("\n", "\r\n"))
    writer = csv.writer(out, "excel-tab" if form == "tsv" else "excel", quoting=quoting)
    writer.writerows([heads, *rows])
    return out.getvalue().replace("\r\n", end).encode("utf-8", "replace")


def _mapping(rows: list[list[Any]], order: list[int]) -> bytes:
    made: dict[str, dict[str, Any]] = {}
    for row in rows:
        topic, doc, value = (row[order.index(i)] for i in range(3))
        made.setdefault(str(topic), {})[str(doc)] = value
    return json.dumps(made).encode()


def expected(data: bytes, kind: str, form: str) -> list[Row] | None:
    """Read as Python does; None where it has to be refused."""
    if data.startswith((b"\x1f\x8b", b"BZh", b"\xfd7z", b"\x28\xb5", b"PAR1")) or not data.strip():
        raise UnknownError
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    made = _json(text, form) if form in {"json", "jsonl"} else _csv(text, form)
    return None if made is None else _rows(*made, kind)


def _csv(text: str, form: str) -> tuple[list[str], list[list[Any]]]:
    # Where quotes stand elsewhere than around cells, or lines end in more than one way, readers
    # of CSV differ.
    cell = '(?:"(?:[^"]|"")*"|[^",\t\r\n]*)'
    end = "\r\n" if "\r\n" in text else "\n"
    line = f"{cell}(?:{',' if form == 'csv' else chr(9)}{cell})*"
    if not re.fullmatch(f"(?:{line}{end})*{line}", text) or "\0" in text:
        raise UnknownError
    dialect = "excel-tab" if form == "tsv" else "excel"
    rows = list(csv.reader(io.StringIO(text, newline=""), dialect))
    if not all(rows) or len({*map(len, rows)}) != 1:
        raise UnknownError
    return rows[0], [list(row) for row in rows[1:]]


def _json(text: str, form: str) -> tuple[list[str], list[list[Any]]] | None:
    twice: list[str] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(found)
        if len(made) != len(found):
            twice.append("")
        return made

    try:
        if form == "json":
            records = json.loads(text, object_pairs_hook=pairs, parse_int=_int)
        else:
            lines = [line for line in re.split("\r?\n", text) if line.strip()]
            records = [json.loads(line, object_pairs_hook=pairs, parse_int=_int) for line in lines]
    except (ValueError, RecursionError):
        return None
    if twice:
        return None
    if isinstance(records, dict) and all(isinstance(one, dict) for one in records.values()):
        names = ["topic", "doc", "score"]
        listed = [[t, d, value] for t, docs in records.items() for d, value in docs.items()]
        if any(isinstance(row[2], (dict, list)) for row in listed) or not all(records.values()):
            raise UnknownError
        return names, listed
    if not isinstance(records, list) or not all(isinstance(one, dict) for one in records):
        raise UnknownError
    names = [*dict.fromkeys(name for one in records for name in one)]
    if not records or any({*one} != {*names} for one in records):
        raise UnknownError
    return names, [[one[name] for name in names] for one in records]


def _int(text: str) -> Any:
    return int(text) if isfinite(float(text)) else float("inf")


def _rows(names: list[str], rows: list[list[Any]], kind: str) -> list[Row] | None:
    spelt = [re.sub(r"[\s_-]", "", name).lower() for name in names]
    places = []
    for known in (TOPIC, DOC, (*NUMBERS[kind], "score")):
        found = [i for i, name in enumerate(spelt) if name in {k.replace("_", "") for k in known}]
        if len(found) != 1:
            raise UnknownError
        places += found
    rest = {name for i, name in enumerate(spelt) if i not in places}
    if not rest <= {"note", "method", "", "rank"} or not rows:
        raise UnknownError
    made: list[Row] = []
    for row in rows:
        topic, doc, value = (row[i] for i in places)
        for one in (topic, doc):
            if not isinstance(one, str) or not one or one != one.strip():
                raise UnknownError
            if re.search("[\ud800-\udfff]", one):
                return None
        number = _number(value, kind)
        if number is None:
            return None
        made.append((topic, doc, number))
    return made if len({row[:2] for row in made}) == len(made) else None


def _number(value: Any, kind: str) -> float | None:
    if isinstance(value, bool):
        raise UnknownError
    if isinstance(value, str):
        text = value.strip(BLANKS)
        if not (NUMBER if kind == "run" else WHOLE).fullmatch(text):
            return None
        value = float(text)
    if not isinstance(value, (int, float)) or not isfinite(value):
        return None
    if kind == "qrels" and (value % 1 or not -(2**31) <= value < 2**31):
        return None
    return float(value)
