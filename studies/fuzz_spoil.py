"""Texts of runs and judgments, nearly right: valid lines, spoilt by field and by byte."""

from __future__ import annotations

import random

from studies.fuzz_base import pick, some_id

SCORES = (
    *(
        "nan",
        "inf",
        "-inf",
        "infinity",
        "1e999",
        "-1e999",
        "1_000",
        "0x10",
        "1,5",
        "--1",
        "+1",
        ".5",
    ),
    *("5.", "1e", "e5", "1e+", ".", "-", "+", "-.5", "1.5.2", "１", "1e-400", "-0", "-0.0", "1d5"),
    *("4.9e-324", "2.5e-324", "1.7976931348623157e308", "1.7976931348623159e308", "1f", "5e-1"),
    *("9007199254740993", "0.1000000000000000055511151231257827021181583404541015625", "1E5", "٣"),
    *(
        "8.41e21",
        "9223372036854775808",
        "1" * 400,
        "0." + "0" * 400 + "1",
        "1e00001",
        "NULL",
        "TRUE",
    ),
    *(
        "2.2250738585072011e-308",
        "6.631236846766476e-316",
        "1e23",
        "0e999",
        "1e-99999999999999999999",
    ),
)
GRADES = (
    *(
        "0.5",
        "1e0",
        "99999999999",
        "-2",
        "+1",
        "1.",
        "1_0",
        "0x1",
        "--1",
        "2147483647",
        "2147483648",
    ),
    *(
        "-2147483648",
        "-2147483649",
        "00000000000000000000000001",
        "x",
        "-0",
        "+0",
        "1,0",
        "nan",
        "١",
    ),
)
RANKS = ("x", "1.0", "+1", "-1", "01", "99999999999", "1e3", "0", "00000000000000000000000007", "-")


def valid_lines(rng: random.Random, kind: str) -> list[list[str]]:
    """Make the fields of a small file without mistakes, unless odd ids happen to repeat."""
    lines = []
    tag = some_id(rng, "tag", 1)
    first = some_id(rng, "q", 0)
    for number in range(rng.choice((1, 2, 3, 5, 8, 12))):
        topic = first if number < 3 else some_id(rng, "q", number % 3)
        doc = some_id(rng, "d", number)
        if kind == "run":
            score = rng.choice(
                (repr(rng.gauss(0, 10)), str(rng.randrange(9)), f"{rng.random():.3g}")
            )
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
        lines.insert(
            at, rng.choice(("#", "# a b c d e f", "  #x", "\t# é", "#\x00", "\r#", "\x00#"))
        )
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
        odd = (
            b"\x00",
            b"\r",
            b"\n",
            b"\t",
            b" ",
            b"#",
            b'"',
            b"\xff",
            b"\xc3",
            b"\xed\xa0\x80",
            b"\x85",
        )
        return data[:at] + rng.choice((*odd, b"\xef\xbb\xbf", b"\xc2\xa0", b"\x1a")) + data[at:]
    if how == "cut":
        return data[:at]
    return data + data[at:]
