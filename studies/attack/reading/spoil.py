"""Texts of runs and judgments, nearly right, and edits of any text: by field, line and byte."""

from __future__ import annotations

import random
import re

from studies.attack.work.cases import pick, some_id, words

SCORES = (
    *words("nan inf -inf infinity 1e999 -1e999 1_000 0x10 1,5 --1 +1 .5 5. 1e e5 1e+ . - + -.5"),
    *words("1.5.2 １ 1e-400 -0 -0.0 1d5 4.9e-324 2.5e-324 1.7976931348623157e308 +-1 -+1 ١ ².5"),
    *words("1.7976931348623159e308 1f 5e-1 9007199254740993 1E5 ٣ 8.41e21 9223372036854775808"),
    *words("1e00001 NULL TRUE 2.2250738585072011e-308 6.631236846766476e-316 1e23 0e999 0b1"),
    *words("0.1000000000000000055511151231257827021181583404541015625 1e-99999999999999999999"),
    *words("1e99999999999999999999 0x1p3 1.0e+00 1e-0 1'000 1;5 $1 1% NaN -nan Infinity 1e5.0"),
    *("1" * 400, "0." + "0" * 400 + "1", "0" * 5000 + "1", "1" + "0" * 308, "1" + "0" * 309),
)
GRADES = (
    *words("0.5 1e0 99999999999 -2 +1 1. 1_0 0x1 --1 2147483647 2147483648 -2147483648 2.0 -1.000"),
    *words("-2147483649 00000000000000000000000001 x -0 +0 1,0 nan ١ ² １ +-1 1.0e0 .0 L1 -0.0"),
    *("0" * 5000 + "1", "9" * 5000, "1.0000000000000000000000000001", "1." + "0" * 400),
)
RANKS = (
    *words("x 1.0 +1 -1 01 99999999999 1e3 0 00000000000000000000000007 - 2147483648 １ 0x1"),
    "9" * 5000,
)
COMMENTS = ("#", "# a b c d e f", "  #x", "\t# é", "#\x00", "\r#", "\x00#", "#\u2028")
FIRST = ("# run 2", "#\tL1\tL2", "# q d L1", "#a;b;c;1;2.5;f", "# q Q0 d 1 2 t", '#{"a":1}')
ODD_BYTES = (
    *(b"\x00", b"\r", b"\n", b"\r\n", b"\t", b" ", b"#", b'"', b"\xff", b"\xc3", b"\xed\xa0\x80"),
    *(b"\x85", b"\xef\xbb\xbf", b"\xc2\xa0", b"\x1a", b"\xff\xfe", b"\xe2\x80\xa8", b"\x1c"),
    *(b",", b";", b"{", b"}", b"[", b"]", b"<", b">", b"&", b"\\", b"'", b":", b"&lt;", b"&x;"),
    *(b"<!DOCTYPE a [<!ENTITY x 'y'>]>", b"<![CDATA[", b"<!--", b"<?x"),
)
ENCODINGS = ("latin-1", "utf-16", "utf-16-be", "utf-16-le", "utf-32", "utf-7", "utf-8-sig")
BLANK = re.compile("[ \t]+")
TOKEN = re.compile(rb"""[^\s,;:"'{}\[\]<>=/]+|[,;:"'{}\[\]<>=/]""")


def valid_lines(rng: random.Random, kind: str) -> list[list[str]]:
    """Make the fields of a small file without mistakes, unless odd ids happen to repeat."""
    lines = []
    tag = some_id(rng, "tag", 1)
    first = some_id(rng, "q", 0)
    short = rng.random() < 0.1
    for number in range(rng.choice((1, 2, 3, 5, 8, 12))):
        topic = first if number < 3 else some_id(rng, "q", number % 3)
        doc = some_id(rng, "d", number)
        if kind == "run":
            score = rng.choice(
                (repr(rng.gauss(0, 10)), str(rng.randrange(9)), f"{rng.random():.3g}")
            )
            rank = str(number + 1)
            value = rank if rng.random() < 0.5 else score
            lines.append([topic, doc, value] if short else [topic, "Q0", doc, rank, score, tag])
        else:
            part = [] if short else ["0" if rng.random() < 0.9 else str(rng.randrange(3))]
            lines.append([topic, *part, doc, str(rng.randrange(-1, 4))])
    return lines


def hostile_text(rng: random.Random, kind: str) -> bytes:
    lines = valid_lines(rng, kind)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        _spoil_fields(rng, lines, kind)
    blank = rng.choice(("\t", "\t", " ", " ", " ", "  ", " \t", "\v", "\f"))
    made = [blank.join(fields) for fields in lines]
    for _ in range(rng.choice((0, 0, 1, 2))):
        _spoil_lines(rng, made)
    ends = rng.choice((["\n"],) * 8 + (["\r\n"], ["\r"], ["\n\n"], ["\n", "\r\n"], ["\n", "\r"]))
    text = "".join(line + rng.choice(ends) for line in made)
    text = text if rng.random() < 0.8 else text.rstrip("\r\n")
    encoding = "utf-8" if rng.random() < 0.93 else rng.choice(ENCODINGS)
    data = text.encode(encoding, "replace")
    for _ in range(rng.choice((0, 0, 0, 1, 1, 2))):
        data = spoil_bytes(rng, data)
    if rng.random() < 0.05:
        data = b"\xef\xbb\xbf" * rng.choice((1, 1, 2)) + data
    return data


def _spoil_fields(rng: random.Random, lines: list[list[str]], kind: str) -> None:
    line = rng.choice(lines)
    how = pick(rng, value=5, rank=2, id=2, drop=1, add=1, again=2, swap=1)
    if how == "value" and len(line) > 2:
        place = 4 if kind == "run" and len(line) > 4 else len(line) - 1
        line[place] = rng.choice(SCORES if kind == "run" else GRADES)
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
    how = pick(rng, blank=2, comment=2, first=1, before=1, after=1, ends=1, empty=0.2)
    if how == "blank":
        lines.insert(at, rng.choice(("", " ", "\t ", "\v", "\f", "\r")))
    elif how == "comment":
        lines.insert(at, rng.choice(COMMENTS))
    elif how == "first":
        # What a comment says must not say what the lines below it are.
        lines.insert(0, rng.choice(FIRST))
    elif how == "empty":
        lines[:] = rng.choice(([], [""], ["#"], [" "]))
    elif at < len(lines):
        blank = rng.choice((" ", "\t", "  ", "\r", "\v", "\f", "\x00", "\u00a0", "\x1c", "\ufeff"))
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
        return data[:at] + rng.choice(ODD_BYTES) + data[at:]
    if how == "cut":
        return data[:at]
    return data + data[at:]


def edited(rng: random.Random, data: bytes) -> bytes:
    """Edit a text of any format once, where its structure is: tokens, lines, ends, encoding."""
    how = pick(rng, token=6, lines=3, ends=1, encoding=0.5, bytes=2, whole=0.5)
    if how == "token":
        return _token(rng, data)
    if how == "lines":
        lines = data.splitlines(keepends=True) or [b""]
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        act = pick(rng, drop=1, again=2, swap=1, join=1, move=1)
        if act == "drop":
            del lines[at]
        elif act == "again":
            lines.insert(other, lines[at])
        elif act == "swap":
            lines[at], lines[other] = lines[other], lines[at]
        elif act == "join":
            lines[at] = lines[at].rstrip(b"\r\n")
        else:
            lines.insert(other, lines.pop(at))
        return b"".join(lines)
    if how == "ends":
        lines = data.splitlines()
        ends = rng.choice(([b"\r"], [b"\r\n"], [b"\n", b"\r\n"], [b"\n", b"\r"], [b"\n\n"], [b""]))
        return b"".join(line + rng.choice(ends) for line in lines)
    if how == "encoding":
        return data.decode("utf-8", "replace").encode(rng.choice(ENCODINGS), "replace")
    if how == "whole":
        return rng.choice(
            (data * 2, data[: len(data) // 2], b"", b"\0" * 64, data + b"\x1a", b"\n")
        )
    return spoil_bytes(rng, data)


def _token(rng: random.Random, data: bytes) -> bytes:
    found = [match.span() for match in TOKEN.finditer(data)]
    if not found:
        return data
    start, end = rng.choice(found)
    first, last = rng.choice(found)
    odd = rng.choice((*SCORES, *GRADES, some_id(rng, "x", 1), "null", "true", "[]", "{}", '""'))
    act = pick(rng, odd=5, drop=2, again=1, swap=2, blank=1, none=1)
    put = {
        "odd": odd.encode("utf-8", "replace"),
        "drop": b"",
        "again": data[start:end] * 2,
        "swap": data[first:last],
        "blank": b" " + data[start:end] + b" ",
        "none": b'""',
    }[act]
    return data[:start] + put + data[end:]
