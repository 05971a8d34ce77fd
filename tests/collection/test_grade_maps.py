"""Words and real numbers as grades."""

from __future__ import annotations

from collections.abc import Mapping
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldWarning, PolicyError
from cranfield.collection.files.grade_maps import GradeMap
from tests.cli.running import cranfield
from tests.collection.refusals import refuses

WORDS = {"Relevant": 2, "Partly": 1, "Not relevant": 0}


def sources(rows: list[tuple[str, str, Any]], folder: Path) -> Mapping[str, Any]:
    """Write the same judgments in all forms."""
    lines = [f"{topic}\t{doc}\t{value}\n" for topic, doc, value in rows]
    texts = {
        "trec.txt": "".join(f"{topic}\t0\t{doc}\t{value}\n" for topic, doc, value in rows),
        "short.txt": "".join(lines),
        "plain.tsv": "".join(lines),
        "head.tsv": "query-id\tcorpus-id\tscore\n" + "".join(lines),
        "head.csv": "topic,doc,grade\n" + "".join(lines).replace("\t", ","),
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    nested: dict[str, dict[str, Any]] = {}
    for topic, doc, value in rows:
        nested.setdefault(topic, {})[doc] = value
    frame = pl.DataFrame(rows, schema=["topic", "doc", "grade"], orient="row")
    return {**{name: folder / name for name in texts}, "dict": nested, "frame": frame, "rows": rows}


def test_words(tmp_path: Path) -> None:
    rows = [("q1", "a", "Relevant"), ("q1", "b", "Not relevant"), ("q2", "a", "Partly")]
    expected = [(topic, doc, WORDS[word]) for topic, doc, word in rows]
    for name, data in sources(rows, tmp_path).items():
        assert cf.read_qrels(data, grades=WORDS).to_polars().rows() == expected, name
    # A line between blanks has words without blanks.
    (tmp_path / "blank.txt").write_text("q1 0 a yes\nq1  0 b no\n")
    found = cf.read_qrels(tmp_path / "blank.txt", grades={"yes": 1, "no": 0})
    assert found.grades.tolist() == [1, 0]


def test_cut_points(tmp_path: Path) -> None:
    draw = np.random.default_rng(3)
    values = [*draw.random(200).round(3).tolist(), 0.5, 0.8, 0.0, 1.0]
    rows = [(f"q{k % 7}", f"d{k}", value) for k, value in enumerate(values)]
    cuts = [0.5, 0.8]
    expected = {}
    for topic, doc, value in rows:
        grade = 0
        for cut in cuts:
            if value >= cut:
                grade += 1
        expected[topic, doc] = grade
    for name, data in sources(rows, tmp_path).items():
        found = cf.read_qrels(data, grades=cuts).to_polars().rows()
        assert {row[:2]: row[2] for row in found} == expected, name


def test_gains_of_a_map() -> None:
    # Gains of ESCI: 1 for exact matches, and 0.1 for substitutes.
    qrels = {"q1": {"d1": 0.1, "d5": 1.0}}
    run = {"q1": {"d1": 2.0, "d5": 1.0}}
    found = cf.evaluate(run, qrels, ["nDCG@10"], grades={0.1: 1, 1: 10}).means()
    assert found.rows()[0][-1] == pytest.approx((1 + 10 / log2(3)) / (10 + 1 / log2(3)))
    with pytest.raises(PolicyError, match="grades cannot be combined with shards"):
        cf.evaluate(run, qrels, ["AP"], shards=2, grades=[0.5])


def test_numbers_are_the_same_however_written() -> None:
    data = [("q1", "a", "1.0"), ("q1", "b", "01"), ("q1", "c", 1)]
    assert cf.read_qrels(data, grades={1: 3}).grades.tolist() == [3, 3, 3]


def test_missing_grades(tmp_path: Path) -> None:
    (tmp_path / "q.csv").write_text("topic,doc,grade\nq1,a,yes\nq1,b,\nq1,c,NA\n")
    refuses(r"q.csv:3: has no grade", cf.read_qrels, tmp_path / "q.csv", grades={"yes": 1})
    with pytest.warns(CranfieldWarning, match="2 of 3 rows have no grade"):
        found = cf.read_qrels(tmp_path / "q.csv", grades={"yes": 1}, ungraded="drop")
    assert found.to_polars().rows() == [("q1", "a", 1)]


def test_values_without_a_grade(tmp_path: Path) -> None:
    rows = [("q1", "a", "Relevant"), ("q1", "b", "Perfect")]
    for name, data in sources(rows, tmp_path).items():
        place = {"head.csv": "head.csv:3: ", "head.tsv": "head.tsv:3: "}.get(name, f"{name}:2: ")
        place = "row 2: " if name in {"dict", "frame", "rows"} else place
        expected = f"{place}unknown grade 'Perfect'; expected one of the map of grades: 'Rel"
        refuses(expected, cf.read_qrels, data, grades={"Relevant": 1})
    refuses("grade must be a finite number to compare with cut", cf.read_qrels, rows, grades=[0.5])


@pytest.mark.parametrize(
    "grades", [{}, [], "a", 0.5, [0.8, 0.5], [0.5, 0.5], ["x"], [True], {"a": 0.5}, {"a": True}]
)
def test_wrong_maps(grades: Any) -> None:
    refuses("grades(:| must)", cf.read_qrels, {"q": {"d": 1}}, grades=grades, error=PolicyError)


def test_the_refusal_names_the_way_out(tmp_path: Path) -> None:
    texts = {
        "a.run": "q1 Q0 d1 1 3 a\nq1 Q0 d5 2 2 a\n",
        "q.txt": "q1 0 d1 0.1\nq1 0 d5 1.0\n",
        "q.csv": "query,docid,rating\nq1,d1,no\nq1,d5,exact\n",
        "esci.csv": "query_id,docid,label\nq1,d1,I\nq1,d5,E\n",
        "words.csv": 'query_id,docid,label\nq1,d1,No\nq1,d5,"Good, I think"\n',
        "cuts.yml": "map-grades: [0.5, 0.8]\n",
        "exact.yml": 'map-grades: {exact: 2, "no": 0}\n',
        "few.yml": "map-grades: {exact: 2}\n",
        "map.yml": 'map-grades: {E: 3, I: 0, "No": 0, "Good, I think": 1}\n',
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    for data in (tmp_path / "q.txt", {"q1": {"d1": 0.1}}):
        refuses(r"grades=\[0.5, 0.8\] maps real numbers to grades", cf.read_qrels, data)
    refuses(r"'no' is not an .*; grades=\{'no': GRADE", cf.read_qrels, tmp_path / "q.csv")
    for name, more, said in (
        ("q.txt", (), "q.txt:1: "),
        (
            "q.txt",
            (),
            "; --settings with map-grades: [0.5, 0.8] maps real numbers to grades 0, 1",
        ),
        (
            "q.csv",
            ("--settings", "few.yml"),
            "unknown grade 'no'; expected one of the map of grades",
        ),
        ("esci.csv", (), "esci.csv:2: grade 'I'"),
        ("esci.csv", (), "map-grades: {'I': GRADE, ...}"),
    ):
        assert said in cranfield(tmp_path, "evaluate", name, "a.run", *more, status=2)[1]
    mapped = {"q.txt": "cuts.yml", "q.csv": "exact.yml", "esci.csv": "map.yml"}
    for name, settings in (mapped | {"words.csv": "map.yml"}).items():
        words = ("evaluate", name, "a.run", "-m", "RR", "--settings", settings)
        assert "0.5000" in cranfield(tmp_path, *words)[0]


def test_text_has_a_value_on_each_line(tmp_path: Path) -> None:
    path = tmp_path / "q.txt"
    path.write_text("1 0 a yes\n1 0 b no\n")
    with pytest.raises(cf.PolicyError, match="ungraded"):
        cf.read_qrels(path, grades={"yes": 1, "no": 0}, ungraded="drop")


@pytest.mark.parametrize(
    ("pattern", "text", "grade"),
    [
        # A part of a longer number is not the grade.
        (r"score: -?([0-3])", "score: 10", None),
        (r"score: -?([0-3])", "score: 2.9", None),
        (r"score: -?([0-3])", "score: -1", None),
        (r"score: ([0-3])", "score: 2,9", None),
        (r"score.*(\d)", "score: 10", None),
        (r"(\d)$", "score: 2.9", None),
        (r"(-?\d+)", "2.2", None),
        # A whole number is, whatever surrounds it.
        (r"score: -?([0-3])", "score: 2.", 2),
        (r"score: ([0-3])", "score: 2.0", 2),
        (r"score: ([0-3])", "score: 2/10, 1.5", 2),
        (r"grade-(\d)", "grade-2", 2),
        (r"0(\d)", "grade 02", 2),
        (r"\[(\d),", "[2,1]", 2),
        (r"(-?\d+)", "grade: -1", -1),
        (r"([01])\.\s", "1. Yes", 1),
    ],
)
def test_pattern_takes_whole_numbers(pattern: str, text: str, grade: int | None) -> None:
    assert GradeMap.parse(pattern).find_grade(text) == grade


def test_pattern_of_evaluate_and_judge() -> None:
    rows = [("q", "a", "score: 2"), ("q", "b", "score: 0")]
    run = {"q": {"b": 2.0, "a": 1.0}}
    assert cf.judge(run, rows, grades=r"score: (\d)").max_grade == 2
    assert cf.evaluate(run, rows, "RR", grades=r"score: (\d)")["RR"].values.item() == 0.5


def test_part_of_a_number_is_refused() -> None:
    refuses(
        r"in 'score: 10', got '1', which is part of a longer number",
        cf.read_qrels,
        [("q", "d", "score: 10")],
        grades=r"score: (\d)",
    )


def test_a_line_of_names_is_not_a_word_to_map(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    path.write_text("query_id iter doc_id label\nq 0 d 1\n")
    refuses(r"qrels.txt:1: .*\); if the line is a header, .* the suffix .tsv", cf.read_qrels, path)
    path.write_text("topic doc worker grade\nq d w 1\n")
    refuses(r"qrels.txt:1: .*\); if the line is a header, remove it", cf.assess.read_labels, path)


def test_words_without_a_grade(tmp_path: Path) -> None:
    """Unsure assessors, and answers that could not be parsed, as Phoenix marks them."""
    words = {"relevant": 1, "unrelated": 0, "NOT_PARSABLE": None}
    frame = pl.DataFrame(
        {"qid": "q", "docid": ["a", "b", "c"], "label": ["relevant", "NOT_PARSABLE", "unrelated"]}
    )
    [judge] = cf.assess.read_judges(frame, grades=words)
    assert (judge.labels.grades.tolist(), judge.n_unparsed) == ([1, 0], 1)
    refuses("has no grade; ungraded='drop'", cf.read_qrels, frame, grades=words)
    with pytest.warns(cf.CranfieldWarning, match="1 of 3 rows ha"):
        assert cf.read_qrels(frame, grades=words, ungraded="drop").grades.tolist() == [1, 0]
    labels = frame.with_columns(worker=pl.lit("ann"))
    assert len(cf.assess.read_labels(labels, grades=words, missing="drop")) == 2
    frame.write_csv(tmp_path / "labels.csv")
    command = ("labels", "ann=labels.csv", "--missing", "drop", "--table", "grades", "-f", "csv")
    words_option = "relevant=1,unrelated=0,NOT_PARSABLE="
    out, _ = cranfield(tmp_path, *command, "--grades", words_option)
    assert out.splitlines() == ["grade,labels,proportion", "0,1,0.5", "1,1,0.5"]
    (tmp_path / "people.txt").write_text("q 0 a 1\nq 0 b 1\nq 0 c 0\n")
    (tmp_path / "s.yml").write_text("map-grades: {relevant: 1, unrelated: 0, NOT_PARSABLE: null}\n")
    judges = ("judges", "people.txt", "labels.csv", "--settings", "s.yml", "-f", "csv")
    out, _ = cranfield(tmp_path, *judges, "--table", "agreement")
    assert out.splitlines()[1].startswith("labels,2,2,1,0,0,1,0,1.0")
    (tmp_path / "q.txt").write_text("q 0 a relevant\nq 0 b NOT_PARSABLE\n")
    refuses(
        "q.txt:2: .* got 'NOT_PARSABLE', which is mapped to None",
        cf.read_qrels,
        tmp_path / "q.txt",
        grades=words,
    )
