"""Text from outside stays text in every output, and the readers that say so would see if not."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import cranfield as cf
from tests.hostile_texts import hostile_texts
from tests.reporting import hostile_outputs

TEXTS = hostile_texts(3)
LONG = ["x" * 200_000, "\x1b[31m" * 40_000, "\n" * 200_000, "\u202e" * 60_000]
WORDS = ["topic", "doc", "score", "grade", "system", "page", "query"]
# The folder of a test is used again by its examples: each writes all of its files.
some = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


@some
@given(case=st.sampled_from(hostile_outputs.CASES), text=st.sampled_from(TEXTS))
def test_texts_in_outputs(case: tuple[str, str, str], text: str, tmp_path: Path) -> None:
    assert hostile_outputs.problem(tmp_path, *case, text) == ""


@some
@given(data=st.data(), text=st.sampled_from([*TEXTS, *LONG]))
def test_messages_on_files_with_texts(
    data: st.DataObject, text: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cells = st.lists(st.sampled_from(["1", "a", "2.5", text]), min_size=12, max_size=12)
    contents = hostile_outputs.contents(
        text,
        data.draw(st.permutations(WORDS)),
        data.draw(cells),
        data.draw(st.sampled_from(",\t ;")),
    )
    name = data.draw(st.sampled_from(["a", text])) + data.draw(
        st.sampled_from(hostile_outputs.SUFFIXES)
    )
    command = data.draw(st.sampled_from(hostile_outputs.READERS))
    content = data.draw(st.sampled_from(contents))
    assert hostile_outputs.message_problem(tmp_path, command, name, content) == ""
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("html", "a <b>x</b>"),
        ("html", '<a title="x" onclick="y">'),
        ("html", "<!-- x -->"),
        ("markdown", "a *x*"),
        ("markdown", "a [x](http://x.example)"),
        ("markdown", "a <b>"),
        ("latex", r"a \input"),
        ("latex", "a_b"),
        ("latex", "a $x"),
        ("latex", r"\%%"),
    ],
)
def test_readers_see_markup(form: str, text: str) -> None:
    assert hostile_outputs.STRUCTURES[form](text) != hostile_outputs.STRUCTURES[form]("a x")


def test_readers_take_escaped_text_as_text() -> None:
    assert not hostile_outputs.controls(r"a\_b\textbackslash{}c$\leq$\&")
    assert hostile_outputs.tokens(r"a \*x\* &lt;b&gt;") == hostile_outputs.tokens("a x")


def test_documents_with_line_ends() -> None:
    """Ids from objects may hold what lines cannot."""
    runs = {"a": {"q": {"x\ny": 2.0, "z": 1.0}}, "b": {"q": {"z": 2.0, "x\ny": 1.0}}}
    pool = cf.assess.pool(runs, 2)
    assert pool.docs.to_list() == ["x\ny", "z"]
    assert pool.get_grades({"q": {"x\ny": 1}}).tolist()[0] == 1
    assert cf.evaluate(runs, {"q": {"x\ny": 1}}, ["AP"])["AP"]["a"]["q"] == 1.0
