"""Runs as they are released: their lines, and nothing else."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.campaign.publishing.releasing import clean_run_text
from cranfield.sources.values import parse_integer

LINES = b"1 Q0 d1 1 9.50 mine\n1\tq0  d2 2 1e-3 mine\r\n\n  2 0 d1 first .5 mine"
HEADER = b"# ir_metadata.start\n# actor:\n#   mail: a@b.c\n# ir_metadata.end\n"


@pytest.mark.parametrize(
    "head",
    [
        b"",
        HEADER,
        HEADER.replace(b"# ", b""),
        b"\xef\xbb\xbf" + HEADER,
        HEADER.replace(b"\n", b"\r\n"),
        b"<SYSDESC>The mail is a@b.c</SYSDESC>\n",
        b"# a@b.c\n\t# a@b.c\n",
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress])
def test_lines_stay_as_they_are(head: bytes, pack: type[bytes]) -> None:
    assert clean_run_text(pack(head + LINES)) == LINES


FIRST, *OTHERS = LINES.splitlines(keepends=True)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (FIRST + b"  # /home/me\n" + b"".join(OTHERS), None, LINES),
        (LINES + b"\n#end", None, LINES + b"\n"),
        (b"# a@b.c\r1 Q0 d1 1 9 gam\r# a@b.c", None, b"1 Q0 d1 1 9 gam\n"),
        (b"1\tQ0\td 4\t1\t9\tgam padua\n", "t1", b"1\tQ0\td 4\t1\t9\tt1\n"),
        (HEADER + LINES, "t1", b"1 Q0 d1 1 9.50 t1\n1 Q0 d2 2 1e-3 t1\n2 Q0 d1 0 .5 t1\n"),
    ],
)
def test_comments_and_names_are_removed_and_nothing_else(
    text: bytes, name: str | None, expected: bytes
) -> None:
    assert clean_run_text(text, name) == expected


@pytest.mark.parametrize(
    "text",
    [
        b"1 Q0 d1 1 9 gam\r1 gam d2 gam 8 gam\r",
        b"# gam\r1 Q0 d1 1 9 gam\r# gam\r1 gam d2 gam 8 gam",
        b"1\tQ0\td1\t1\t9\tgam padua\n1\tQ padua\td2\tx y\t8\tgam\n",
        b"1\tQ0\td1\t1\t9\tgam\n1 gam d2 gam 8 gam\n",
        b"1\tQ0\td1\t1\t9\tgam\n\n1\vgam  d2\tgam 8 gam\r\n",
    ],
)
def test_no_word_of_the_team_is_left_however_lines_are_written(text: bytes) -> None:
    assert clean_run_text(text, "team1-1") == b"1 Q0 d1 1 9 team1-1\n1 Q0 d2 0 8 team1-1\n"


def test_runs_between_semicolons_are_released_between_semicolons(tmp_path: Path) -> None:
    text = b"1; Q gam ;d1;+1; 9.0;gam\n1;gam;d 2;x;8;gam\n"
    released = clean_run_text(text, "team1-1", "ntcir")
    assert released == b"1;Q0;d1;+1;9.0;team1-1\n1;Q0;d 2;0;8;team1-1\n"
    (tmp_path / "a").write_bytes(text)
    (tmp_path / "b").write_bytes(released)
    a, b = (cf.read_run(tmp_path / name, format="ntcir", name="x") for name in ("a", "b"))
    assert a.to_polars().equals(b.to_polars())


def test_a_line_that_cannot_be_read_is_not_released_without_a_name() -> None:
    with pytest.raises(cf.InputError, match="the run:2: .* got 7"):
        clean_run_text(b"1 Q0 d1 1 9 gam\n1 Q0 d2 2 8 gam padua\n", "team1-1")


WORD = st.from_regex(r"[!-~]{1,8}", fullmatch=True).filter(lambda word: not word.startswith("#"))
BLANK = st.sampled_from([" ", "\t", "  ", " \t"])


@given(st.lists(st.tuples(*[WORD] * 6, BLANK), max_size=8), st.sampled_from(["\n", "\r\n"]))
def test_each_line_says_the_same(rows: list[tuple[str, ...]], end: str) -> None:
    """By splitting each line, as a definition would."""
    text = "".join(row[6].join(row[:6]) + end for row in rows)
    wanted = "".join(
        f"{row[0]} Q0 {row[2]} {'0' if parse_integer(row[3]) is None else row[3]} {row[4]} x1\n"
        for row in rows
    )
    assert clean_run_text(text.encode(), "x1").decode() == wanted
    assert clean_run_text(text.encode()).decode() == text
