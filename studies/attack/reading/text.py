"""Hostile TREC runs and judgments, checked by a parser of plain loops."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from pathlib import Path
from typing import Any

from cranfield.base.errors import CranfieldError, InputError
from cranfield.collection.files.reading import read_qrels, read_run
from cranfield.collection.files.writing import write_qrels, write_run
from cranfield.collection.run import Run
from cranfield.sources.chunks import CHUNK, Source
from studies.attack.reading.spoil import hostile_text
from studies.attack.work.cases import FindingError, guarded

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
INTEGER = re.compile(r"[+-]?[0-9]+")
WHOLE = re.compile(r"[+-]?[0-9]+(\.0*)?")
BLANKS = re.compile("[ \t\v\f\r]+")
BZIP2 = re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")
PACKED = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")


@dataclass(frozen=True)
class Row:
    topic: str
    doc: str
    value: float | int
    extra: str | int | None
    """The iteration of a judgment, the rank of a run."""


@dataclass(frozen=True)
class Refused:
    lines: frozenset[int | None]


Wanted = tuple[list[Row], list[str]] | Refused | None
"""Rows and run tags, or lines to complain of; None where the format is one of another oracle."""


def expected(data: bytes, kind: str, encoding: str = "utf-8", suffix: str = "") -> Wanted:
    """Read as the documentation says."""
    if data.startswith(PACKED) or BZIP2.match(data):
        return Refused(frozenset({None}))
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Refused(frozenset({1}))
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    width = _width(data, kind, suffix)
    if width is None:
        return None
    rows: list[Row] = []
    tags: list[str] = []
    numbers: list[int] = []
    bad: dict[str, int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            text = line.decode(encoding)
        except UnicodeDecodeError:
            bad.setdefault("bytes", number)
            continue
        fields = [one for one in BLANKS.split(text) if one]
        if not fields or fields[0].startswith("#"):
            continue
        row = (_run_row if kind == "run" else _qrels_row)(fields, width, text)
        if row is None:
            bad.setdefault("fields", number)
            continue
        rows.append(row)
        numbers.append(number)
        tags.append(fields[5] if width == 6 else "")
    if bad:
        return Refused(frozenset(bad.values()))
    if not rows:
        return Refused(frozenset({None}))
    again = _repeat(rows, kind)
    if again is not None:
        return Refused(frozenset({numbers[again]}))
    if kind == "run" and width == 3:
        return _ranked(rows)
    return rows, tags


def _width(data: bytes, kind: str, suffix: str) -> int | None:
    """Tell by the first line how many columns there are; None if it is none of TREC's formats."""
    whole = 6 if kind == "run" else 4
    for line in data.decode("latin-1").split("\n"):
        fields = [one for one in BLANKS.split(line) if one]
        if not fields or fields[0].startswith("#"):
            continue
        if re.search(r"(^|[\s;])L[0-9]+($|[\s;])", line) or line.count(";") == 5:
            return None  # NTCIR's formats, or nearly so
        cells = line.split("\t") if suffix == "tsv" else fields
        if suffix == "tsv":
            if b"\r" in data.replace(b"\r\n", b""):
                return None
            place = {3: 2, whole: 4 if kind == "run" else 3}.get(len(cells))
            return len(cells) if place is not None and _is_value(cells[place], kind) else None
        return 3 if kind == "run" and len(cells) == 3 and _is_value(cells[2], kind) else whole
    return None if suffix == "tsv" else whole


def _is_value(text: str, kind: str) -> bool:
    text = text.strip(" \t\v\f\r")
    if kind == "qrels":
        return _grade(text) is not None
    return bool(NUMBER.fullmatch(text)) and isfinite(float(text))


def _run_row(fields: list[str], width: int, line: str) -> Row | None:
    value = fields[4 if width == 6 else 2] if len(fields) >= width else ""
    if not NUMBER.fullmatch(value) or not isfinite(float(value)):
        return None
    if width == 3:
        return Row(fields[0], fields[1], float(value), None) if len(fields) == 3 else None
    if len(fields) > width and "\r" in line.strip(" \t\v\f\r"):
        # Another line may stand behind it, which must not be lost.
        return None
    return Row(fields[0], fields[2], float(value), _int32(fields[3]))


def _qrels_row(fields: list[str], width: int, line: str) -> Row | None:
    grade = _grade(fields[-1]) if len(fields) == width else None
    return None if grade is None else Row(fields[0], fields[-2], grade, "".join(fields[1:-2]))


def _ranked(rows: list[Row]) -> Wanted:
    """Say whether the third of three columns is a rank, a score, or may be both."""
    by_topic: dict[str, list[float]] = {}
    for row in rows:
        by_topic.setdefault(row.topic, []).append(row.value)
    lists = list(by_topic.values())
    rise = [all(a < b for a, b in pairwise(one)) for one in lists]
    whole = all(value % 1 == 0 and value < 2**31 for one in lists for value in one)
    if whole and all(rise) and all(one[0] in (0, 1) for one in lists):
        return [Row(row.topic, row.doc, -row.value, int(row.value)) for row in rows], [""]
    counted = all(sorted(one) == list(range(1, len(one) + 1)) for one in lists)
    if counted and any(a < b for one in lists for a, b in pairwise(one)):
        return Refused(frozenset({None}))
    return rows, [""]


def _grade(text: str) -> int | None:
    """Read a whole number, such as 2 or 2.0."""
    return _int32(text.partition(".")[0]) if WHOLE.fullmatch(text) else None


def _int32(text: str) -> int | None:
    if not INTEGER.fullmatch(text):
        return None
    # Python refuses to convert thousands of digits, even where most of them are zeros.
    digits = text.lstrip("+-").lstrip("0") or "0"
    if len(digits) > 10:
        return None
    value = -int(digits) if text.startswith("-") else int(digits)
    return value if -(2**31) <= value < 2**31 else None


def _repeat(rows: list[Row], kind: str) -> int | None:
    parts: dict[tuple[str, str], set[Any]] = {}
    for row in rows:
        parts.setdefault((row.topic, row.doc), set()).add(row.extra)
    # A document judged in several iterations makes these subtopics; each may judge it once.
    by_part = kind == "qrels" and any(len(part) > 1 for part in parts.values())
    seen = set()
    for i, row in enumerate(rows):
        key = (row.topic, row.doc, row.extra if by_part else None)
        if key in seen:
            return i
        seen.add(key)
    return None


def text_case(rng: random.Random, folder: Path) -> bool:
    """Read runs or judgments as TREC and MS MARCO write them."""
    kind = rng.choice(("run", "qrels"))
    data = hostile_text(rng, kind)
    # Chunks are of 4 MiB; with small ones small files have their borders too.
    size = rng.choice((CHUNK, CHUNK, CHUNK, CHUNK, 7, 30, 100))
    if not data[:1].isalnum():
        # The format is told by the first line, which is looked for in the first chunk.
        size = CHUNK
    encoding = "utf-8" if rng.random() < 0.93 else "latin-1"
    path = folder / f"input.{'tsv' if rng.random() < 0.1 else kind}"
    path.write_bytes(data)
    suffix = path.suffix[1:]
    reproducer = f"read_{kind} of .{suffix}, chunks of {size}, {encoding}: {data!r}"
    Source.chunks.__defaults__ = (size,)
    reader = read_run if kind == "run" else read_qrels
    try:
        found = guarded(lambda: reader(str(path), encoding=encoding), reproducer)
    finally:
        Source.chunks.__defaults__ = (CHUNK,)
    wanted = expected(data, kind, encoding, suffix)
    if wanted is None:
        return not isinstance(found, CranfieldError)
    compare(found, wanted, path.stem, reproducer)
    if not isinstance(wanted, Refused) and len(data) % 8 == 0:
        _written(found, path.with_name("again"), reproducer)
    return not isinstance(wanted, Refused)


def _written(found: Any, path: Path, reproducer: str) -> None:
    """Check that what is written is read back as the same."""
    is_run = isinstance(found, Run)
    error = guarded(
        lambda: write_run(found, path) if is_run else write_qrels(found, path), reproducer
    )
    if error is None:
        again = guarded(lambda: read_run(path) if is_run else read_qrels(path), reproducer)
        columns = ["topic", "doc", "score" if is_run else "grade"]
        if isinstance(again, CranfieldError):
            raise FindingError(
                f"written, it is refused: {again}", reproducer, "written and refused"
            )
        pair = [frame.to_polars().select(columns).sort(columns) for frame in (found, again)]
        if not pair[0].equals(pair[1]):
            raise FindingError(
                f"written, it is read back as {pair[1].rows()}", reproducer, "written"
            )


def compare(
    found: Any, wanted: tuple[list[Row], list[str]] | Refused, stem: str, reproducer: object
) -> None:
    if isinstance(found, CranfieldError):
        if not isinstance(found, InputError):
            raise FindingError(
                f"{type(found).__name__} in place of InputError: {found}", reproducer
            )
        if not isinstance(wanted, Refused):
            raise FindingError(
                f"refused though valid: {found}", reproducer, f"refused: {found.reason[:25]}"
            )
        if found.line not in wanted.lines and wanted.lines != {None}:
            raise FindingError(
                f"names line {found.line}, not {set(wanted.lines)}: {found}",
                reproducer,
                "wrong line",
            )
        return
    if isinstance(wanted, Refused):
        raise FindingError(
            f"accepted, but lines {set(wanted.lines)} are bad", reproducer, "accepted"
        )
    rows, tags = wanted
    is_run = hasattr(found, "scores")
    values = (found.scores if is_run else found.grades).tolist()
    topics = [found.topics[code] for code in found.codes.tolist()]
    got = list(zip(topics, found.docs.to_list(), map(_bits, values), strict=True))
    right = [(row.topic, row.doc, _bits(row.value)) for row in rows]
    if got != right:
        pair = next(
            (p for p in zip(got, right, strict=False) if p[0] != p[1]), (len(got), len(right))
        )
        raise FindingError(f"read {pair[0]} where {pair[1]} stands", reproducer, "wrong rows")
    if is_run:
        ranks = [row.extra for row in rows]
        right_ranks = [rank or 0 for rank in ranks] if set(ranks) != {None} else None
        got_ranks = None if found.ranks is None else found.ranks.tolist()
        if got_ranks != right_ranks:
            raise FindingError(
                f"ranks {got_ranks} where {right_ranks} stand", reproducer, "wrong ranks"
            )
        name = tags[0] if len(set(tags)) == 1 and tags[0] else stem
        if found.name != name:
            raise FindingError(f"called {found.name!r}, not {name!r}", reproducer, "wrong name")


def _bits(value: float | int) -> str | int:
    return value.hex() if isinstance(value, float) else value
