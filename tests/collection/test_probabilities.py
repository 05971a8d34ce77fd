"""Probabilities of relevance: forms of input, refusals, and drawn grades."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from tests.collection.refusals import refuses, written

FORMS: dict[str, tuple[str, str]] = {
    "table": ("p.csv", "topic,doc,probability\nq,a,0.25\nq,b,1\nr,a,0\n"),
    "grades": ("p.csv", "qid,docno,p1,p0\nq,a,0.25,0.75\nq,b,1,0\nr,a,0,1\n"),
    "lines": ("p.txt", "q a 0.25\nq b 1\nr a 0\n"),
    "tsv": ("p.tsv", "topic\tdoc\tprob\nq\ta\t0.25\nq\tb\t1\nr\ta\t0\n"),
    "jsonl": ("p.jsonl", "".join(
        f'{{"topic": "{t}", "doc": "{d}", "probability": {p}}}\n'
        for t, d, p in (("q", "a", 0.25), ("q", "b", 1), ("r", "a", 0)))),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_files(tmp_path: Path, form: str) -> None:
    name, text = FORMS[form]
    probabilities = cf.read_probabilities(written(tmp_path / name, text))
    assert probabilities.topics == ("q", "r")
    assert probabilities.docs.to_list() == ["a", "b", "a"]
    assert probabilities.grades.tolist() == [0, 1]
    assert probabilities.values.tolist() == [[0.75, 0.25], [0, 1], [1, 0]]


def test_objects() -> None:
    for data in (
        {"q": {"a": 0.25, "b": 1}},
        {"q": {"a": (0.75, 0.25), "b": (0, 1)}},
        [("q", "a", 0.25), ("q", "b", 1)],
        pl.DataFrame({"topic": ["q", "q"], "doc": ["a", "b"], "p0": [0.75, 0], "p1": [0.25, 1]}),
    ):
        assert cf.read_probabilities(data).values.tolist() == [[0.75, 0.25], [0, 1]]
    again = cf.read_probabilities(cf.read_probabilities({"q": {"a": (0.2, 0.3, 0.5)}}).to_polars())
    assert again.values.tolist() == [[0.2, 0.3, 0.5]]
    certain = cf.read_probabilities(cf.read_qrels({"q": {"a": 2, "b": -1}}))
    assert certain.grades.tolist() == [0, 1, 2]
    assert certain.values.tolist() == [[0, 0, 1], [1, 0, 0]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"q": {"a": 2}}, "from 0 to 1, got 2; .* one column of probabilities per grade: p0"),
        ({"q": {"a": -0.1}}, "from 0 to 1, got -0.1"),
        ({"q": {"a": float("nan")}}, "not a finite number"),
        ({"q": {"a": (0.5, 0.3)}}, "must sum to 1, got 0.8.*document 'a'"),
        ({"q": {"a": (0.5, 0.5), "b": (1, 0, 0)}}, "same number of probabilities"),
        ([("q", "a", 0.5), ("q", "a", 0.5)], "'a' occurs more than once in a topic"),
        (
            [{"topic": "q", "doc": "a", "p0": 1, "probability": 0.5}],
            "a column probability, or p0",
        ),
        ({}, "is empty"),
    ],
)
def test_refusals(data: Any, message: str) -> None:
    refuses(message, cf.read_probabilities, data)


def test_errors_name_the_line(tmp_path: Path) -> None:
    texts = {"p.csv": "topic,doc,probability\nq,a,0.5\nq,b,1.5\n", "p.txt": "q a 0\n\nq b 1.5\n"}
    for name, text in texts.items():
        refuses(rf"{name}:3: .*got 1.5", cf.read_probabilities, written(tmp_path / name, text))


def test_rounded_probabilities_are_rescaled_with_a_warning() -> None:
    with pytest.warns(cf.CranfieldWarning, match="1 document do not sum to 1 and were rescaled"):
        values = cf.read_probabilities({"q": {"a": (0.333, 0.333, 0.333)}}).values
    assert values.sum() == pytest.approx(1, abs=1e-15)


def test_drawn_grades_have_the_probabilities() -> None:
    chances = {"a": (0.2, 0.3, 0.5), "b": (0.0, 1.0, 0.0), "c": (0.0, 0.6, 0.4)}
    probabilities = cf.read_probabilities({"q": chances})
    grades = np.concatenate([probabilities.draw(block, 1) for block in range(400)])
    for k, expected in enumerate(chances.values()):
        shares = np.bincount(grades[:, k], minlength=3) / len(grades)
        np.testing.assert_allclose(shares, expected, atol=0.015)
    # Independent: the joint probability is the product.
    assert ((grades[:, 0] == 2) & (grades[:, 2] == 2)).mean() == pytest.approx(0.2, abs=0.015)


def test_real_grades_are_refused_with_the_way_to_read_them(tmp_path: Path) -> None:
    refuses(r"not an integer.*evaluate_probabilities", cf.read_qrels, {"q": {"d": 0.5}})
    (tmp_path / "q.txt").write_text("q 0 d 0.5\n")
    refuses(r"q.txt:1: .*evaluate_probabilities", cf.read_qrels, tmp_path / "q.txt")
