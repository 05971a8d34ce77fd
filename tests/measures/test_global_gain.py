"""D-, DIN-, sharp and intent-aware measures and P+Q against NTCIREVAL's outputs, and by hand."""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import MeasureError

DATA = Path(__file__).parents[1] / "data" / "ntcireval"


def lines(name: str) -> list[str]:
    """Lines of a packed file."""
    return gzip.decompress((DATA / f"{name}.gz").read_bytes()).decode().splitlines()


@pytest.fixture(scope="module")
def judged() -> cf.JudgedRuns:
    """The example run, judged by intent."""
    rows = []
    for line in lines("TRECRUN.Dqrels"):
        topic, intent, doc, level = line.split()
        rows.append({"topic": topic, "doc": doc, "grade": int(level[1:]), "subtopic": intent})
    run: dict[str, dict[str, float]] = defaultdict(dict)
    for line in lines("TRECRUN.run"):
        topic, doc = line.split()
        run[topic][doc] = -len(run[topic])
    qrels = cf.read_qrels(rows, subtopics=True)
    return cf.judge(dict(run), qrels, intents=DATA / "Dtest.DINprob", depth=10)


def printed(name: str) -> dict[tuple[str, str], float]:
    """Values of whole topics by topic and name."""
    found = {}
    for line in lines(name):
        if "#" in line.split("=")[0] and "intent_num" not in line and "#-" not in line:
            continue
        if match := re.fullmatch(r"(\d+) (?:SUMp= \S+ )?(\S+)=\s+(\S+)", line):
            found[match[1], match[2]] = float(match[3])
    return found


def forms(wrap: str) -> dict[str, str]:
    """Names of the program with ours, inside a wrapper."""
    inside = {
        "RR": "RR",
        "O-measure": "OMeasure",
        "P-measure": "PMeasure",
        "P-plus": "PPlus",
        "AP": "AP",
        "Q-measure": "Q",
        "NCUrb,P": "NCU(utility='P')",
        "NCUrb,BR": "NCU",
        "AP@0010": "AP(denominator='min')@10",
        "Q@0010": "Q@10",
        "nDCG@0010": "nDCG(discount='max(1,log2(rank))')@10",
        "MSnDCG@0010": "nDCG@10",
        "P@0010": "P@10",
        "Hit@0010": "Success@10",
        "RBP": "RBP(gains='graded', max_grade='topic', p=0.95)",
        "RBP@0010": "RBP(gains='graded', max_grade='topic', p=0.95)@10",
        "ERR": "ERR(gains='linear', max_grade='topic')",
        "ERR@0010": "ERR(gains='linear', max_grade='topic')@10",
        "nERR@0010": "nERR(gains='linear', max_grade='topic')@10",
        "EBR": "EBR(max_grade='topic')",
        "EBR@0010": "EBR(max_grade='topic')@10",
    }
    found = {name: f"{wrap}({form})" for name, form in inside.items()}
    if wrap == "IA":
        return {f"IA-{name}": form for name, form in found.items()}
    return found | {"I-rec@n": "StRecall(upto='intents')", "I-rec@0010": "StRecall@10"}


@pytest.mark.parametrize(
    ("wrap", "file"), [("D", "TRECRUN.Dnev"), ("DIN", "TRECRUN.DINnev"), ("IA", "TRECRUN.nevIA")]
)
def test_ntcireval(judged: cf.JudgedRuns, wrap: str, file: str) -> None:
    """Every value of the files, to the printed digits."""
    known = forms(wrap)
    compared = 0
    for (topic, name), expected in printed(file).items():
        if "#-" in name or name == "#intent_num":
            continue
        [measure] = cf.parse_measures(known[name])
        value = cf.score(judged, measure)[measure].values[judged.topics.index(topic), 0]
        assert value == pytest.approx(expected, abs=5.1e-5), (topic, name)
        compared += 1
    assert compared == (9 if wrap == "IA" else 69)


@pytest.mark.parametrize("wrap", ["D", "DIN"])
def test_sharp(judged: cf.JudgedRuns, wrap: str) -> None:
    """The program adds up numbers that it has rounded to four places; so does the test."""
    expected = printed(f"TRECRUN.{wrap}nev")
    recall = cf.score(judged, "StRecall@10")["StRecall@10"].values[:, 0]
    for inner, theirs in (("Q", "Q@0010"), ("nDCG", "nDCG@0010")):
        form = f"Sharp({wrap}({inner}@10))"
        value = cf.score(judged, form)[form].values[:, 0]
        plain = cf.score(judged, f"{wrap}({inner}@10)")[f"{wrap}({inner}@10)"].values[:, 0]
        assert value == pytest.approx((recall + plain) / 2)
        rounded = (recall.round(4) + plain.round(4)) / 2
        for place, topic in enumerate(judged.topics):
            assert rounded[place] == pytest.approx(expected[topic, f"{wrap}#-{theirs}"], abs=5.1e-5)


def test_p_plus_q(judged: cf.JudgedRuns) -> None:
    """P+Q by equation (34)."""
    expected = printed("TRECRUN.nevPQ")
    values = cf.score(judged, "PQ@10")["PQ@10"].values[:, 0]
    for topic, value in zip(judged.topics, values, strict=True):
        assert value == pytest.approx(expected[topic, "PplusQ@0010"], abs=5.1e-5)


def test_by_hand() -> None:
    """Equations (27), (28), (32) and (33) on four documents."""
    grades = {"a": (2, 0), "b": (0, 1), "c": (1, 1), "d": (0, 0)}
    rows = [
        {"topic": "q", "doc": doc, "grade": grade, "subtopic": intent}
        for doc, pair in grades.items()
        for intent, grade in zip(("books", "site"), pair, strict=True)
    ]
    run = {"q": {doc: -rank for rank, doc in enumerate("bca")}}
    intents = [("q", "books", 0.75, "inf"), ("q", "site", 0.25, "nav")]
    names = ("topic", "intent", "probability", "type")
    measures = ["D(DCG)", "D(nDCG)", "DIN(nDCG)", "Sharp(D(nDCG)@2, gamma=0.25)"]
    found = cf.evaluate(
        run, rows, measures, intents=[dict(zip(names, one, strict=True)) for one in intents]
    )
    gain = {"a": 1.5, "b": 0.25, "c": 1.0}
    discount = 1 / np.log2([2, 3, 4])
    dcg = np.dot([gain[doc] for doc in "bca"], discount)
    ideal = np.dot([gain[doc] for doc in "acb"], discount)
    once = np.dot([0.25, 0.75, 1.5], discount)
    ideal_2 = np.dot([1.5, 1.0], discount[:2])
    sharp = 0.25 + 0.75 * np.dot([0.25, 1.0], discount[:2]) / ideal_2
    values = [scores.values[0, 0] for scores in found.values()]
    assert values == pytest.approx([dcg, dcg / ideal, once / ideal, sharp])


def test_text_read_for_several_intents() -> None:
    """D-U and U-IA by equations (30), (31), (19) and (20), written out."""
    grades = {"a": (2, 0), "b": (0, 1), "c": (1, 1)}
    rows = [
        {"topic": "q", "doc": doc, "grade": grade, "subtopic": intent}
        for doc, pair in grades.items()
        for intent, grade in zip("12", pair, strict=True)
    ]
    run = {"q": {doc: -rank for rank, doc in enumerate("axcb")}}
    lengths = {"a": 5000, "b": 20000, "c": 10000}
    found = cf.evaluate(
        run, rows, ["D(U)", "IA(U)"], intents={"q": {"1": 0.75, "2": 0.25}}, lengths=lengths
    )
    gain = {0: 0.0, 1: 1 / 4, 2: 3 / 4}
    together, by_intent, at = 0.0, 0.0, 0.0
    for doc in "axcb":
        pair = grades.get(doc, (0, 0))
        at += 200 + (0.2 * lengths[doc] if any(pair) else 0)
        worth = 0.75 * gain[pair[0]] + 0.25 * gain[pair[1]]
        together += worth * max(0, 1 - at / 132000)
    for intent, share in ((0, 0.75), (1, 0.25)):
        at = 0.0
        for doc in "axcb":
            grade = grades.get(doc, (0, 0))[intent]
            at += 200 + (0.2 * lengths[doc] if grade else 0)
            by_intent += share * gain[grade] * max(0, 1 - at / 132000)
    values = [scores.values[0, 0] for scores in found.values()]
    assert values == pytest.approx([together, by_intent])


def test_a_measure_whose_gains_are_not_given() -> None:
    """Its relevant documents gain by the grade, as those of binary measures do."""
    run = {"q": {"a": 2.0, "b": 1.0}}
    rows = [("q", "a", 1, "1"), ("q", "b", 2, "1"), ("q", "b", 1, "2")]
    qrels = cf.read_qrels(
        [{"topic": t, "doc": d, "grade": g, "subtopic": s} for t, d, g, s in rows]
    )
    asked = ["D(EUR)", "D(EUR(gains='linear'))"]
    found = cf.evaluate(run, qrels, asked, groups={"a": "x", "b": "y"})
    assert found[asked[0]].values.tolist() == found[asked[1]].values.tolist()


def two_intents(gains: dict[str, tuple[int, int]]) -> list[dict[str, object]]:
    """Judgments of one topic: {document: grades for two intents}."""
    return [
        {"topic": "q", "doc": doc, "grade": grade, "subtopic": intent}
        for doc, pair in gains.items()
        for intent, grade in zip("12", pair, strict=True)
    ]


def test_end_of_the_scale() -> None:
    """A highest grade that is given ends the scale of global gains too; equation (15) by hand."""
    rows = two_intents({"a": (2, 0), "b": (1, 1), "c": (0, 1)})
    run = {"q": {"a": 2.0, "c": 1.0}}
    asked = ["D(ERR(max_grade=4))", "D(gP(max_grade=4)@2)", "D(RBP(gains={1: 0.5, 2: 1}, p=0.5))"]
    found = cf.evaluate(run, rows, asked, intents={"q": {"1": 0.75, "2": 0.25}})
    first, second = 0.75 * 3 / 16, 0.25 * 1 / 16
    assert [scores.values[0, 0] for scores in found.values()] == pytest.approx(
        [
            first + (1 - first) * second / 2,
            (0.75 * 2 + 0.25 * 1) / (2 * 4),
            0.5 * (0.75 * 1 + 0.5 * 0.25 * 0.5),
        ]
    )
    with pytest.raises(MeasureError, match="max_grade=1, got .* grade 2"):
        cf.evaluate(run, rows, "D(ERR(max_grade=1))")


def test_many_global_gains() -> None:
    """More different global gains than there could be grades."""
    chances = {str(i): 1 / 80 for i in range(80)}
    rows = [
        {"topic": "q", "doc": f"d{k:02}", "grade": 1, "subtopic": str(i)}
        for k in range(80)
        for i in range(k + 1)
    ]
    run = {"q": {"d79": 2.0, "d00": 1.0}}
    found = cf.evaluate(run, rows, "D(ERR)", intents={"q": chances})
    assert found["D(ERR)"].values[0, 0] == pytest.approx(1 / 2 + 1 / 2 * (1 / 160) / 2)


def test_fairness_by_global_gain() -> None:
    """Groups stay with their documents where judgments are put in the order of global gains."""
    rows = two_intents({"a": (2, 0), "b": (1, 1), "c": (0, 3)})
    flat = {"q": {"a": 15, "b": 10, "c": 8}}
    run = {"q": {"c": 3.0, "a": 2.0, "b": 1.0}}
    groups = {"a": "one", "b": "two", "c": "one"}
    intents = {"q": {"1": 0.75, "2": 0.25}}
    diverse = cf.evaluate(run, rows, "D(EUR(gains='linear'))", intents=intents, groups=groups)
    gains = {grade: grade / 10 for grade in (15, 10)} | {8: 0.75}
    plain = cf.evaluate(run, flat, cf.measures.EUR(gains=gains), groups=groups)
    assert diverse.by_system().row(0)[1] == pytest.approx(plain.by_system().row(0)[1])
    assert plain.by_system().row(0)[1] < 1


def test_binary_gains() -> None:
    """Of binary gains the global gain is the chance that a document is relevant."""
    rows = two_intents({"a": (2, 0), "b": (1, 1), "c": (0, 3)})
    run = {"q": {"c": 3.0, "a": 2.0, "b": 1.0}}
    intents = {"q": {"1": 0.75, "2": 0.25}}
    asked = ["D(RBP(p=0.5))", "D(RBP(p=0.5, rel=2))"]
    found = cf.evaluate(run, rows, asked, intents=intents)
    assert [scores.values[0, 0] for scores in found.values()] == pytest.approx(
        [0.25 * 0.5 + 0.75 * 0.25 + 1.0 * 0.125, 0.25 * 0.5 + 0.75 * 0.25]
    )
