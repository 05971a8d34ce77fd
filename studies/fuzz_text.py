"""Hostile TREC runs and judgments, checked by a parser of plain loops."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from cranfield.base.errors import CranfieldError, InputError
from cranfield.collection.files.reading import read_qrels, read_run
from cranfield.collection.files.writing import write_qrels, write_run
from cranfield.collection.run import Run
from cranfield.sources.chunks import CHUNK, Source
from studies.fuzz_base import FailedCaseError, guarded
from studies.fuzz_spoil import hostile_text

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
INTEGER = re.compile(r"[+-]?[0-9]+")
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


def expected(
    data: bytes, kind: str, encoding: str = "utf-8"
) -> tuple[list[Row], list[str]] | Refused:
    """Read as the documentation says: the rows and the run tags, or the lines to complain of."""
    if data.startswith(PACKED) or BZIP2.match(data):
        return Refused(frozenset({None}))
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return Refused(frozenset({1}))
    data = data.removeprefix(b"\xef\xbb\xbf")
    if b"\n" not in data:
        data = data.replace(b"\r", b"\n")
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
        fields = [one for one in re.split("[ \t\v\f\r]+", text) if one]
        if not fields or fields[0].startswith("#"):
            continue
        row = _run_row(fields) if kind == "run" else _qrels_row(fields)
        if row is None:
            bad.setdefault("fields", number)
            continue
        rows.append(row)
        numbers.append(number)
        tags.append(fields[5] if kind == "run" else "")
    if bad:
        return Refused(frozenset(bad.values()))
    if not rows:
        return Refused(frozenset({None}))
    again = _repeat(rows, kind)
    return (rows, tags) if again is None else Refused(frozenset({numbers[again]}))


def _run_row(fields: list[str]) -> Row | None:
    if len(fields) < 6 or not NUMBER.fullmatch(fields[4]) or not isfinite(float(fields[4])):
        return None
    return Row(fields[0], fields[2], float(fields[4]), _int32(fields[3]))


def _qrels_row(fields: list[str]) -> Row | None:
    grade = _int32(fields[3]) if len(fields) == 4 else None
    return None if grade is None else Row(fields[0], fields[2], grade, fields[1])


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


def text_case(kind: str) -> Any:
    """Make the case for `run` or `qrels` text."""

    def case(rng: random.Random, folder: Path) -> bool:
        data = hostile_text(rng, kind)
        # Chunks are of 4 MiB; with small ones small files have their borders too.
        size = rng.choice((CHUNK, CHUNK, 1, 7, 30, 100))
        encoding = "utf-8" if rng.random() < 0.93 else "latin-1"
        return check_text(data, kind, folder / f"input.{kind}", size=size, encoding=encoding)

    return case


def check_text(
    data: bytes, kind: str, path: Path, *, size: int = CHUNK, encoding: str = "utf-8"
) -> bool:
    path.write_bytes(data)
    reproducer = f"read_{kind}, chunks of {size}, {encoding}: {data!r}"
    Source.chunks.__defaults__ = (size,)
    reader = read_run if kind == "run" else read_qrels
    try:
        found = guarded(lambda: reader(str(path), encoding=encoding), reproducer)
    finally:
        Source.chunks.__defaults__ = (CHUNK,)
    wanted = expected(data, kind, encoding)
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
            raise FailedCaseError(
                f"written, it is refused: {again}", reproducer, "written and refused"
            )
        pair = [frame.to_polars().select(columns).sort(columns) for frame in (found, again)]
        if not pair[0].equals(pair[1]):
            raise FailedCaseError(
                f"written, it is read back as {pair[1].rows()}", reproducer, "written"
            )


def compare(
    found: Any, wanted: tuple[list[Row], list[str]] | Refused, stem: str, reproducer: object
) -> None:
    if isinstance(found, CranfieldError):
        if not isinstance(found, InputError):
            raise FailedCaseError(
                f"{type(found).__name__} in place of InputError: {found}", reproducer
            )
        if not isinstance(wanted, Refused):
            raise FailedCaseError(
                f"refused though valid: {found}", reproducer, f"refused: {found.reason[:25]}"
            )
        if found.line not in wanted.lines and wanted.lines != {None}:
            raise FailedCaseError(
                f"names line {found.line}, not {set(wanted.lines)}: {found}",
                reproducer,
                "wrong line",
            )
        return
    if isinstance(wanted, Refused):
        raise FailedCaseError(
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
        raise FailedCaseError(f"read {pair[0]} where {pair[1]} stands", reproducer, "wrong rows")
    if is_run:
        ranks = [row.extra for row in rows]
        right_ranks = [rank or 0 for rank in ranks] if set(ranks) != {None} else None
        got_ranks = None if found.ranks is None else found.ranks.tolist()
        if got_ranks != right_ranks:
            raise FailedCaseError(
                f"ranks {got_ranks} where {right_ranks} stand", reproducer, "wrong ranks"
            )
        name = tags[0] if len(set(tags)) == 1 else stem
        if found.name != name:
            raise FailedCaseError(f"called {found.name!r}, not {name!r}", reproducer, "wrong name")


def _bits(value: float | int) -> str | int:
    return value.hex() if isinstance(value, float) else value
