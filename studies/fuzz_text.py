"""Hostile TREC runs and judgments, checked by a parser of plain loops."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from cranfield.collection.reading import read_qrels, read_run
from cranfield.collection.source import CHUNK, Source
from cranfield.errors import CranfieldError, InputError
from studies.fuzz_base import Failure, guarded, pick, some_id

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
INTEGER = re.compile(r"[+-]?[0-9]+")
BZIP2 = re.compile(rb"BZh[1-9](1AY&SY|\x17rE8P\x90)")
PACKED = (b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd")

SCORES = (
    *("nan", "inf", "-inf", "infinity", "1e999", "-1e999", "1_000", "0x10", "1,5", "--1", "+1", ".5"),
    *("5.", "1e", "e5", "1e+", ".", "-", "+", "-.5", "1.5.2", "１", "1e-400", "-0", "-0.0", "1d5"),
    *("4.9e-324", "2.5e-324", "1.7976931348623157e308", "1.7976931348623159e308", "1f", "5e-1"),
    *("9007199254740993", "0.1000000000000000055511151231257827021181583404541015625", "1E5", "٣"),
    *("8.41e21", "9223372036854775808", "1" * 400, "0." + "0" * 400 + "1", "1e00001", "NULL", "TRUE"),
    *("2.2250738585072011e-308", "6.631236846766476e-316", "1e23", "0e999", "1e-99999999999999999999"),
)
GRADES = (
    *("0.5", "1e0", "99999999999", "-2", "+1", "1.", "1_0", "0x1", "--1", "2147483647", "2147483648"),
    *("-2147483648", "-2147483649", "00000000000000000000000001", "x", "-0", "+0", "1,0", "nan", "١"),
)
RANKS = ("x", "1.0", "+1", "-1", "01", "99999999999", "1e3", "0", "00000000000000000000000007", "-")


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


def expected(data: bytes, kind: str, encoding: str = "utf-8") -> tuple[list[Row], list[str]] | Refused:
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
    value = int(text) if INTEGER.fullmatch(text) else 2**31
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


def valid_lines(rng: random.Random, kind: str) -> list[list[str]]:
    """Make the fields of a small file without mistakes, unless odd ids happen to repeat."""
    lines = []
    tag = some_id(rng, "tag", 1)
    first = some_id(rng, "q", 0)
    for number in range(rng.choice((1, 2, 3, 5, 8, 12))):
        topic = first if number < 3 else some_id(rng, "q", number % 3)
        doc = some_id(rng, "d", number)
        if kind == "run":
            score = rng.choice((repr(rng.gauss(0, 10)), str(rng.randrange(9)), f"{rng.random():.3g}"))
            lines.append([topic, "Q0", doc, str(number + 1), score, tag])
        else:
            part = "0" if rng.random() < 0.9 else str(rng.randrange(3))
            lines.append([topic, part, doc, str(rng.randrange(-1, 4))])
    return lines


def hostile_text(rng: random.Random, kind: str) -> bytes:
    lines = valid_lines(rng, kind)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        _spoil_fields(rng, lines, kind)
    blank = rng.choice(("\t", " ", " ", " ", "  ", " \t", "\v", "\f"))
    made = [blank.join(fields) for fields in lines]
    for _ in range(rng.choice((0, 0, 1, 2))):
        _spoil_lines(rng, made)
    end = rng.choice(("\n", "\n", "\n", "\n", "\r\n", "\r", "\n\n"))
    text = end.join(made) + (end if rng.random() < 0.8 else "")
    data = text.encode(rng.choice(("utf-8",) * 30 + ("latin-1", "utf-16", "utf-16-be")), "replace")
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        data = spoil_bytes(rng, data)
    if rng.random() < 0.05:
        data = b"\xef\xbb\xbf" * rng.choice((1, 1, 2)) + data
    return data


def _spoil_fields(rng: random.Random, lines: list[list[str]], kind: str) -> None:
    line = rng.choice(lines)
    how = pick(rng, value=5, rank=2, id=2, drop=1, add=1, again=2, swap=1)
    if how == "value" and len(line) > 3:
        line[min(4 if kind == "run" else 3, len(line) - 1)] = rng.choice(
            SCORES if kind == "run" else GRADES
        )
    elif how == "rank" and len(line) > 3:
        line[3] = rng.choice(RANKS)
    elif how == "id" and line:
        line[rng.randrange(len(line))] = some_id(rng, "x", 0)
    elif how == "drop" and line:
        del line[rng.randrange(len(line))]
    elif how == "add":
        line.insert(rng.randrange(len(line) + 1), some_id(rng, "x", 1))
    elif how == "again":
        lines.insert(rng.randrange(len(lines) + 1), list(line))
    else:
        rng.shuffle(lines)


def _spoil_lines(rng: random.Random, lines: list[str]) -> None:
    at = rng.randrange(len(lines) + 1)
    how = pick(rng, blank=2, comment=2, before=1, after=1, ends=1, empty=0.2)
    if how == "blank":
        lines.insert(at, rng.choice(("", " ", "\t ", "\v", "\f", "\r")))
    elif how == "comment":
        lines.insert(at, rng.choice(("#", "# a b c d e f", "  #x", "\t# é", "#\x00", "\r#", "\x00#")))
    elif how == "empty":
        lines[:] = rng.choice(([], [""], ["#"], [" "]))
    elif at < len(lines):
        blank = rng.choice((" ", "\t", "  ", "\r", "\v", "\f", "\x00", "\u00a0", "\x1c"))
        if how == "before":
            lines[at] = blank + lines[at]
        elif how == "after":
            lines[at] += blank
        else:
            lines[at] = lines[at].replace(" ", blank, 1)


def spoil_bytes(rng: random.Random, data: bytes) -> bytes:
    """Flip, delete, insert, cut or double some bytes."""
    at = rng.randrange(len(data) + 1)
    how = pick(rng, flip=4, delete=2, insert=3, cut=2, double=1)
    if how == "flip" and at < len(data):
        return data[:at] + bytes((data[at] ^ 1 << rng.randrange(8),)) + data[at + 1 :]
    if how == "delete":
        return data[:at] + data[at + rng.choice((1, 1, 2, 8)) :]
    if how == "insert":
        odd = (b"\x00", b"\r", b"\n", b"\t", b" ", b"#", b'"', b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x85")
        return data[:at] + rng.choice((*odd, b"\xef\xbb\xbf", b"\xc2\xa0", b"\x1a")) + data[at:]
    if how == "cut":
        return data[:at]
    return data + data[at:]


def text_case(kind: str) -> Any:
    """Make the case for `run` or `qrels` text."""

    def case(rng: random.Random, folder: Path) -> bool:
        data = hostile_text(rng, kind)
        # Files of chunks that are larger than memory's pages cannot be had a hundred thousand times.
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
    return not isinstance(wanted, Refused)


def compare(
    found: Any, wanted: tuple[list[Row], list[str]] | Refused, stem: str, reproducer: object
) -> None:
    if isinstance(found, CranfieldError):
        if not isinstance(found, InputError):
            raise Failure(f"{type(found).__name__} in place of InputError: {found}", reproducer)
        if not isinstance(wanted, Refused):
            raise Failure(f"refused though valid: {found}", reproducer, f"refused: {found.reason[:25]}")
        if found.line not in wanted.lines and wanted.lines != {None}:
            raise Failure(
                f"names line {found.line}, not {set(wanted.lines)}: {found}", reproducer, "wrong line"
            )
        return
    if isinstance(wanted, Refused):
        raise Failure(f"accepted, but lines {set(wanted.lines)} are bad", reproducer, "accepted")
    rows, tags = wanted
    is_run = hasattr(found, "scores")
    values = (found.scores if is_run else found.grades).tolist()
    topics = [found.topics[code] for code in found.codes.tolist()]
    got = list(zip(topics, found.docs.to_list(), map(_bits, values), strict=True))
    right = [(row.topic, row.doc, _bits(row.value)) for row in rows]
    if got != right:
        pair = next((p for p in zip(got, right, strict=False) if p[0] != p[1]), (len(got), len(right)))
        raise Failure(f"read {pair[0]} where {pair[1]} stands", reproducer, "wrong rows")
    if is_run:
        ranks = [row.extra for row in rows]
        right_ranks = [rank or 0 for rank in ranks] if set(ranks) != {None} else None
        got_ranks = None if found.ranks is None else found.ranks.tolist()
        if got_ranks != right_ranks:
            raise Failure(f"ranks {got_ranks} where {right_ranks} stand", reproducer, "wrong ranks")
        name = tags[0] if len(set(tags)) == 1 else stem
        if found.name != name:
            raise Failure(f"called {found.name!r}, not {name!r}", reproducer, "wrong name")


def _bits(value: float | int) -> str | int:
    return value.hex() if isinstance(value, float) else value
