"""Any text from files, put into LaTeX, Markdown and HTML, is read as that text."""

from __future__ import annotations

import pickle
import re
from html import unescape

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from cranfield.base.errors import CranfieldError, CranfieldWarning, InputError, MeasureError
from cranfield.base.text import (
    escape_html,
    escape_latex,
    escape_markdown,
    sanitise,
    shorten_message,
)

NASTY = (
    st.text(alphabet=st.sampled_from("\\{}$&#_%~^<>|`'\",-*[]()!?=+@.: ab17\n\x1b†§é")) | st.text()
)

MACROS = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textasciigrave{}": "`",
    r"\dag{}": "†",
    r"\ddag{}": "‡",
    r"\S{}": "§",
    r"\P{}": "¶",
    r"\ldots{}": "…",
    r"$\Vert$": "‖",
    r"$\leq$": "≤",
    r"$\alpha$": "α",
    r"$\sharp$": "♯",
    r"\/": "",
    **{"\\" + char: char for char in "&%$#_{}"},
}


def read_latex(text: str) -> str:
    """Read LaTeX as LaTeX would, as far as it is used here; anything else is an error."""
    found, place = "", 0
    while place < len(text):
        macro = next((one for one in MACROS if text.startswith(one, place)), None)
        if macro is None:
            assert text[place] not in "\\{}$&#_%~^", text[place:]
            found, place = found + text[place], place + 1
        else:
            found, place = found + MACROS[macro], place + len(macro)
    return found


@example("α♯")
@given(NASTY)
def test_latex_reads_the_text(text: str) -> None:
    escaped = escape_latex(text)
    assert read_latex(escaped) == sanitise(text)
    assert not re.search("--|''|,,|`", escaped)


@given(NASTY)
def test_html_reads_the_text(text: str) -> None:
    assert unescape(escape_html(text)) == sanitise(text)
    assert not set(escape_html(text)) & set("<>\"'")


@given(NASTY)
def test_markdown_reads_the_text(text: str) -> None:
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    wanted = sanitise(text).strip()
    [block] = [one for one in parser.parse(f"x{escape_markdown(wanted)}x") if one.type == "inline"]
    assert {one.type for one in block.children or []} <= {"text", "text_special"}
    assert "".join(one.content for one in block.children or []) == f"x{wanted}x"
    # At the start of a line too.
    kinds = [one.type for one in parser.parse(escape_markdown(wanted))]
    assert kinds in ([], ["paragraph_open", "inline", "paragraph_close"])


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("bm25_rm3", "bm25_rm3"),
        ("_x", r"\_x"),
        ("# a", r"\# a"),
        ("-0.5", "-0.5"),
        ("12. x", r"12\. x"),
    ],
)
def test_markdown_escapes_no_more_than_it_must(text: str, escaped: str) -> None:
    assert escape_markdown(text) == escaped


@given(st.text() | NASTY, st.integers(1, 400))
def test_messages_are_one_short_printable_line(text: str, times: int) -> None:
    errors = (CranfieldError, InputError, MeasureError, CranfieldWarning)
    for made in (*(kind(text * times) for kind in errors), InputError("x", source=text * times)):
        said = str(made)
        assert said.isprintable()
        assert len(said) <= 500
        assert str(pickle.loads(pickle.dumps(made))) == said


def test_the_middle_of_a_message_is_cut() -> None:
    text = shorten_message("a.run:3: " + "\x1b[31m" * 9999 + "; what helps")
    assert text.startswith(r"a.run:3: \x1b[31m")
    assert text.endswith("; what helps")
    assert text.count("…") == 1
    assert len(text) == 500
