"""Names for files, regular expressions, instants."""

from __future__ import annotations

import os
import re
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.campaign.rules.task_rules import (
    TaskRules,
    check_patterns,
    format_duration,
    format_time,
    format_utc,
    is_safe_name,
    match_in_full,
    parse_time,
)

BAD_NAMES = [
    *("", ".", "..", ".a", "-a", "a.", "a b", " a", "a ", "a/b", "a\\b", "a:b", "a\0", "a\n", "a*"),
    *("CON", "con", "Con.txt", "nul", "AUX", "prn.run", "COM1", "com9.x", "LPT3", "conin$"),
    *("é", "a\u202eb", "\x1b[31m", "<img>", "a" * 101, "\uff21", "~a", "a|b", "a?b", 'a"b'),
]


GOOD_NAMES = ["a", "0", "1", "bm25.v2", "T8_run-1", "CONx", "com", "com10", "a" * 100, "_", "a+b~1"]


@pytest.mark.parametrize("name", BAD_NAMES + GOOD_NAMES)
def test_safe_names(name: str, tmp_path: Path) -> None:
    assert is_safe_name(name) == (name in GOOD_NAMES)
    if name in GOOD_NAMES:
        (tmp_path / f"{name}.run.xz").write_text("x")
        assert os.listdir(tmp_path) == [f"{name}.run.xz"]  # noqa: PTH208


GOOD_PATTERNS = [
    *(r"[A-Za-z0-9_.-]{1,20}", r"[\w.-]{1,20}", r"[a-z0-9]{8}", r"NCT[0-9]+", r"\d+", r"[A-Z]?x*"),
    *(r"msmarco_(doc|passage)_\d\d_\d+", r"FT[0-9]+(-[0-9]+)*", r"(?:-[a-z]{2,5})+", "a|b|c"),
    *(r"[0-9a-z-]{32,36}", r"team-(C|J)-R[1-5]", r"(ab)+", r"([0-9][a-f])*", "[]a]+", r"a{2}?"),
    *(r"(\.[0-9]+)*", "", r"x{3,}", r"[^/]+/[0-9]+", "(?i)a", r"\pL+", "(?P<x>a)"),
]
SLOW_PATTERNS = [
    *(r"(a+)+b", r"(a|a)*b", r"(.*)*x", r"(\w+\s?)*", r"(-a+a+)*", r"(a?){30}a{30}"),
    *(".*.*.*.*.*.*x", "(a|b)(a|b)" * 20, r"(a{1,9}){1,9}", r"(-\D+)*x"),
]
"""Patterns that an engine with backtracking needs exponential time for."""

OTHER_PATTERNS = [
    *("[a-", "(", ")", "*a", "a{2,1}", "a(?=b)", "(?<!a)b", r"(a)\1", "(?>a)", "[z-a]", "\\"),
    *("(?#x)a", "(?:a", "a)|(b", "a{}", r"a\Z", "\n[", "(" * 5000 + ")" * 5000, r"(\w{100}){100}"),
]


@pytest.mark.parametrize("pattern", GOOD_PATTERNS + SLOW_PATTERNS)
def test_patterns_are_matched_quickly(pattern: str) -> None:
    check_patterns(TaskRules("adhoc", tag=pattern))
    names = pl.Series([letter * 10_000 + "!" for letter in "a-1.x_"])
    start = time.perf_counter()
    assert match_in_full(names, pattern).len() == 6
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize("pattern", OTHER_PATTERNS)
def test_patterns_that_do_not_compile_are_refused(pattern: str) -> None:
    for task in (TaskRules("adhoc", tag=pattern), TaskRules("adhoc", document_pattern=pattern)):
        with pytest.raises(
            cf.InputError, match=r"^tasks\.adhoc\.\w+: pattern '.* compile: "
        ) as error:
            check_patterns(task)
        assert "\n" not in str(error.value)
        assert len(str(error.value)) < 250


pieces = st.recursive(
    st.sampled_from(["a", "b", "-", ".", "[ab]", r"\w", "[^a]", r"\-"]),
    lambda inner: (
        st.builds(
            lambda parts, between, sign: f"({between.join(parts)}){sign}",
            st.lists(inner, min_size=1, max_size=3),
            st.sampled_from(["", "|"]),
            st.sampled_from(["", "*", "+", "?", "{2}", "{0,3}"]),
        )
        | st.builds(str.__add__, st.sampled_from(["a", "-", ".", r"\w"]), st.sampled_from("*+?"))
    ),
    max_leaves=6,
)


@given(pieces)
def test_plain_patterns_mean_what_they_mean_to_python(pattern: str) -> None:
    names = ["", "a", "b", "-", "ab", "a-b", "-a" * 3, "aab-!", "a\n", "\u00e9"]
    expected = [re.fullmatch(pattern, name) is not None for name in names]
    assert match_in_full(pl.Series(names), pattern).to_list() == expected


def test_the_whole_has_to_match() -> None:
    names = pl.Series(["a", "b", "ab", "a\n", "xa"])
    assert match_in_full(names, "a|b").to_list() == [True, True, False, False, False]
    assert match_in_full(names, "(?m)^a$").to_list() == [True, False, False, False, False]


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-08-15T23:59:59-12:00", "2026-08-16T11:59:59Z"),
        ("2026-08-15T23:59:59Z", "2026-08-15T23:59:59Z"),
        ("2026-08-15 23:59:59.9+05:30", "2026-08-15T18:29:59Z"),
        ("2026-03-29T02:30:00+02:00", "2026-03-29T00:30:00Z"),
    ],
)
def test_instants(text: str, utc: str) -> None:
    assert format_utc(parse_time(text)) == utc
    assert parse_time(utc) == parse_time(text).replace(microsecond=0)
    assert format_time(parse_time(text)) == utc.replace("T", " ").replace("Z", " UTC")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        *((text, "2026-08-15T23:59:59-12:00") for text in ("", "yesterday", "2026-08-15")),
        *((text, "-12:00") for text in ("2026-08-15T23:59:59", "2026-13-01T00:00:00Z", "12:00Z")),
        ("0001-01-01T00:00:00+12:00", "the years 1 to 9999"),
        ("9999-12-31T23:59:59-12:00", "the years 1 to 9999"),
    ],
)
def test_what_is_no_instant(text: str, message: str) -> None:
    with pytest.raises(cf.InputError, match=message):
        parse_time(text)


@given(st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)))  # noqa: DTZ001
def test_utc_text_sorts_as_instants_do_and_reads_back(naive: datetime) -> None:
    time = naive.replace(tzinfo=UTC, microsecond=0)
    assert parse_time(format_utc(time)) == time
    assert format_utc(time) < format_utc(time + timedelta(seconds=1))


def test_a_time_without_an_offset_is_no_instant() -> None:
    with pytest.raises(ValueError, match="without an offset"):
        format_utc(datetime(2026, 1, 1))  # noqa: DTZ001


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (180, "3 minutes"),
        (-180, "3 minutes"),
        (0.4, "less than a second"),
        (1, "1 second"),
        (3600, "1 hour"),
        (3601, "1 hour"),
        (86400 * 2 + 3600 * 3 + 59, "2 days 3 hours"),
        (86400 * 1000, "1,000 days"),
    ],
)
def test_how_long_something_lasts(seconds: float, words: str) -> None:
    assert format_duration(timedelta(seconds=seconds)) == words
