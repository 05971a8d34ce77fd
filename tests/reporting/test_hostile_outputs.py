"""Text from outside stays text in every output, and the readers that say so would see if not."""

from __future__ import annotations

import pytest

import cranfield as cf
from studies.attack import messages, reports


def test_attack_by_texts() -> None:
    assert [one for one in reports.attack(3, 80) if one.verdict == "finding"] == []


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
    assert reports.STRUCTURES[form](text) != reports.STRUCTURES[form]("a x")


def test_readers_take_escaped_text_as_text() -> None:
    assert not reports.controls(r"a\_b\textbackslash{}c$\leq$\&")
    assert reports.tokens(r"a \*x\* &lt;b&gt;") == reports.tokens("a x")


def test_documents_with_line_ends() -> None:
    """Ids from objects may hold what lines cannot."""
    runs = {"a": {"q": {"x\ny": 2.0, "z": 1.0}}, "b": {"q": {"z": 2.0, "x\ny": 1.0}}}
    pool = cf.assess.pool(runs, 2)
    assert pool.docs.to_list() == ["x\ny", "z"]
    assert pool.graded({"q": {"x\ny": 1}}).tolist()[0] == 1
    assert cf.evaluate(runs, {"q": {"x\ny": 1}}, ["AP"])["AP"]["a"]["q"] == 1.0


def test_attack_on_messages() -> None:
    assert [one for one in messages.attack(4, 40) if one.verdict == "finding"] == []
