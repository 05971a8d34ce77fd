"""Reading the formats of NTCIREVAL, and judgments of samples."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import InputError, PolicyError
from tests.collection.refusals import refuses

DATA = Path(__file__).parents[1] / "data" / "ntcireval"

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str) -> Path:
        path = tmp_path / "a.qrels"
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write


def rows(qrels: cf.Qrels) -> list[tuple[object, ...]]:
    return qrels.to_polars().rows()


def test_packed_samples_of_the_program() -> None:
    """Their numbers of judged and relevant documents, counted with grep."""
    flat = cf.read_qrels(DATA / "TRECRUN.qrels.gz")
    assert (len(flat), int((flat.grades > 0).sum()), flat.subtopics) == (1423, 241, None)
    by_intent = cf.read_qrels(DATA / "TRECRUN.Dqrels.gz")
    assert by_intent.subtopics is not None
    assert by_intent.subtopics.n_unique() == 5
    assert len(by_intent) == 1498
    # Of documents with several intents there is one judgment each.
    assert len(by_intent.merge_subtopics()) == 1423


def test_intents_without_relevant_documents_are_none() -> None:
    judged = cf.judge(DATA / "e-testrun", DATA / "e-test.eqrels")
    assert judged.side_data.intents is None
    with gzip.open(DATA / "TRECRUN.run.gz", "rt") as file:
        run: dict[str, dict[str, float]] = {}
        for rank, line in enumerate(file):
            topic, document = line.split()
            run.setdefault(topic, {}).setdefault(document, -float(rank))
    judged = cf.judge(run, DATA / "TRECRUN.Dqrels.gz")
    # Topic 0002 has four intents, two of them with a relevant document.
    assert judged.intents("mine").names == (("1", "2", "3"), ("3", "4"), ("1", "2", "3"))


def test_classes_and_text_as_documents() -> None:
    assert rows(cf.read_qrels(DATA / "e-test.eqrels")) == [
        ("0001", "あいうえお かきくけこ", 3, "1"),
        ("0001", "酒井哲也", 1, "1"),
        ("0002", "我是日本人 你呢？", 1, "1"),
        ("0002", "今天 明天 昨天", 2, "2"),
    ]
    run = cf.read_run(DATA / "e-testrun")
    assert (run.name, run.topics, len(run.docs)) == ("test", ("0001", "0002"), 6)
    # What looks like a blank in it is an ideographic space, which belongs to the document.
    assert run.docs[1] == "酒井哲也　パピプペポ"
    assert run.scores.tolist() == [0.98, 0.5, 0.4, 0.98, 0.5, 0.4]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 a L0\n1 b L12\n", [("1", "a", 0), ("1", "b", 12)]),
        ("1\ta   L1\r\n\r\n# note\r\n1 b L0", [("1", "a", 1), ("1", "b", 0)]),
        ("1;a b; L2\n1; b;L0\n", [("1", "a b", 2), ("1", " b", 0)]),
        ("1 0 a L0\n1 7 b L1\n", [("1", "a", 0, "0"), ("1", "b", 1, "7")]),
        ("1;0;a;L1\n1;0;b;L0\n", [("1", "a", 1), ("1", "b", 0)]),
        ("1;a;L1;4\n1;b;L0;5\n", [("1", "a", 1, "4"), ("1", "b", 0, "5")]),
        # The last field is the grade where both could be.
        ("1 2 L3 L1\n1 0 L4 L0\n", [("1", "L3", 1, "2"), ("1", "L4", 0, "0")]),
        ("\ufeff1 a L1\n", [("1", "a", 1)]),
    ],
)
def test_forms(text: str, expected: list[tuple[object, ...]], write: Write) -> None:
    assert rows(cf.read_qrels(write(text))) == expected
    assert rows(cf.read_qrels(write(text), format="ntcir")) == expected


def test_classes_between_blanks_have_to_be_said(write: Write) -> None:
    path = write("1 a L1 4\n1 b L0 5\n")
    assert rows(cf.read_qrels(path, format="ntcir")) == [("1", "a", 1, "4"), ("1", "b", 0, "5")]
    assert cf.read_qrels(path).docs.to_list() == ["L1", "L0"]


def test_judgments_of_trec_stay_what_they_are(write: Write) -> None:
    assert rows(cf.read_qrels(write("1 0 L7 2\n1 0 a;L1;b 0\n"))) == [
        ("1", "L7", 2),
        ("1", "a;L1;b", 0),
    ]
    run = cf.read_run(write("1 Q0 a;b;c;d;1;e 1 2.5 t\n"))
    assert run.docs.to_list() == ["a;b;c;d;1;e"]


FIRST = {"prels": "1 a 1 1 0.5\n\n", "xqrels": "1 0 a 1 1\n\n", "run": "1;0;a;1;2.0;t\n"}
"""Lines above those of the cases."""


@pytest.mark.parametrize(
    ("form", "text", "line", "said"),
    [
        ("auto", "1 a L1\n1 b 2\n", 2, "grade must be L0, L1, L2, ..., got '2' (topic '1', docu"),
        ("auto", "1 a L1\n\n1 b\n", 3, "expected 3 columns (topic doc grade)"),
        ("auto", "1 0 a L1\n1 b L1\n", 2, "expected 4 columns (topic intent doc grade)"),
        ("auto", "1;a;L1\n1;b;c;L1\n", 2, "expected 3 columns (topic doc grade, separated by ';')"),
        ("auto", "1 a L1\n1 b L99999999999\n", 2, "grade must be L0, L1, L2, ..., got 'L999999"),
        ("auto", "1;a;L1\n1;;L1\n", 2, "doc is empty"),
        ("auto", "1;a;L1;1\n1;b;L1;\n", 2, "class is empty"),
        ("auto", "1 a L1\n2 c L0\n1 a L0\n", 3, "document judged twice"),
        ("auto", "1 1 a L1\n1 0 b L2\n", 2, "intent 0 marks a document that is relevant to"),
        ("ntcir", "1 0 a 1\n", 1, "grade must be L0, L1, L2, ..., got '1'"),
        ("ntcir", "1 a\n", 1, "expected 3 columns (topic doc grade) or 4"),
        ("ntcir", "", None, "is empty; expected at least one line"),
        ("ntcir", "\n# only this\n", None, "is empty"),
        (
            "run",
            "1;0;b;2;high;t",
            2,
            "score 'high' is not a finite number (topic '1', document 'b')",
        ),
        ("run", "1;0;b;2;inf;t", 2, "score 'inf' is not a finite number"),
        ("run", "1;0;b;c;2;1.0;t", 2, "expected 6 columns"),
        ("run", "1;0;a;2;1.0;t", 2, "document twice in one topic, first in line 1"),
        (
            "prels",
            "1 b 0 1 1.5",
            3,
            "inclusion probability must be from 0 to 1, got 1.5 (topic '1'",
        ),
        ("prels", "1 b 0 1 -0.1", 3, "inclusion probability must be from 0 to 1, got -0.1"),
        ("prels", "1 b 0 1 nan", 3, "is not"),
        ("prels", "1 b 0 0.5", 3, "expected 5 columns"),
        ("auto", "1 b 0 1 0.5\n", 1, "got 5; this looks like prels: use format='prels'"),
        ("auto", "1 0 b 1 -1\n", 1, "got 5; this looks like xqrels: use format='xqrels'"),
        ("auto", "1 0 b 1 x\n", 1, "got 5 (topic '1')"),
        ("prels", "1 b 0 1 1.01 c 1 1 0.5", 3, "got 9"),
        ("prels", "1 b x 1 0.5", 3, "grade 'x' is not an integer"),
        ("xqrels", "1 0 b 1 11 0 c 1 0", 3, "got 9"),
        ("xqrels", "1 0 b 1", 3, "expected 5 columns"),
        ("xqrels", "1 0 b 1 rel", 3, "grade 'rel' is not an integer"),
    ],
)
def test_bad_lines(form: str, text: str, line: int | None, said: str, write: Write) -> None:
    path = write(FIRST.get(form, "") + text)
    with pytest.raises(InputError) as caught:
        if form == "run":
            cf.read_run(path)
        else:
            cf.read_qrels(path, format=form)
    assert caught.value.line == line
    assert str(caught.value).startswith(f"{path}:{line}: " if line else f"{path}: ")
    assert said in str(caught.value).replace("document judged for the same subtopic", "document")


def test_runs_are_ranked_by_score(write: Write) -> None:
    run = cf.read_run(write("1;0;a;x;1.0;t\n1;0;b;1;2.0;t\n"))
    judged = cf.judge(run, {"1": {"a": 1, "b": 2}})
    assert judged.documents.grade.tolist() == [2, 1]


def test_bytes_of_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1;a;L1\n1;caf\xe9;L1\n")
    refuses(r"a:2: byte 0xe9 is not valid UTF-8", cf.read_qrels, path)
    assert cf.read_qrels(path, encoding="latin-1").docs.to_list() == ["a", "café"]


def test_chunks(monkeypatch: pytest.MonkeyPatch, write: Write) -> None:
    """Lines are counted over chunks."""
    monkeypatch.setattr("cranfield.sources.chunks.CHUNK_BYTES", 16)
    path = write("".join(f"t d{i} L{i % 3}\n" for i in range(20)))
    assert cf.read_qrels(path).grades.tolist() == [i % 3 for i in range(20)]
    path = write("".join(f"t d{i} L1\n" for i in range(20)) + "t d3 L1\n")
    refuses("first in line 4", cf.read_qrels, path)


# Judgments of samples


def test_prels(write: Write) -> None:
    path = write("1 a 1 1 0.25\n1 b 0 2 1\n\n1 c 2 0 0.0\n")
    qrels = cf.read_qrels(path, format="prels")
    assert rows(qrels) == [("1", "a", 1, 0.25), ("1", "b", 0, 1.0), ("1", "c", 2, 0.0)]
    kept = qrels.restrict(np.array([True, False, True]))
    assert kept.columns["inclusion"].tolist() == [0.25, 0.0]


def test_xqrels(write: Write) -> None:
    qrels = cf.read_qrels(write("1 0 a top 1\n1 0 b rest -1\n"), format="xqrels")
    assert rows(qrels) == [("1", "a", 1, "top"), ("1", "b", -1, "rest")]


@pytest.mark.parametrize("layout", ["prels", "xqrels"])
def test_samples_are_judgments(layout: str, write: Write) -> None:
    with pytest.raises(PolicyError, match="expected a format of runs, got"):
        cf.read_run(write("1 0 a 1 1\n"), format=layout)


def test_columns_of_the_wrong_length() -> None:
    qrels = cf.read_qrels({"q": {"a": 1, "b": 0}})
    refuses(
        "expected 2 values in the column 'class'",
        replace,
        qrels,
        columns={"class": np.array(["x"])},
    )
