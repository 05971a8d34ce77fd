"""Measures by equivalence classes: NTCIREVAL's example, and a naive version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
import cranfield.measures.wrapping
from cranfield.base.errors import MeasureError
from cranfield.collection.judged.judged_runs import keep_first_of_classes
from cranfield.measures import AP, Classes, P
from tests import reference as ref
from tests.measures.test_ntcir import equal, names

DATA = Path(__file__).parents[1] / "data" / "ntcireval"


def test_every_value_of_the_example() -> None:
    """README.equivalence of NTCIREVAL, section 4: -g 1:2:3:4:5 -cutoffs 10,1000."""
    qrels = with_classes({"q": {"aaa": 3, "bbb": 1, "ccc": 0}}, ["1", "1", "2"])
    shares = "{1: 0.2, 2: 0.4, 3: 0.6, 4: 0.8, 5: 1}"
    measures = names("'linear'", 5, (10, 1000), shares=shares)
    shown = {
        **{"RR": 1.0, "O-measure": 0.5, "P-measure": 0.5, "P-plus": 0.5, "AP": 1.0},
        **{"Q-measure": 0.5, "NCUgu,P": 0.3333, "NCUgu,BR": 0.1667, "NCUrb,P": 1.0},
        **{"NCUrb,BR": 0.5, "RBP": 0.01, "ERR": 0.1667},
        **{"AP@0010": 1.0, "Q@0010": 0.5, "nDCG@0010": 0.3333, "MSnDCG@0010": 0.3333},
        **{"P@0010": 0.1, "nERR@0010": 0.3333, "Hit@0010": 1.0},
        **{"AP@1000": 1.0, "Q@1000": 0.5, "nDCG@1000": 0.3333, "MSnDCG@1000": 0.3333},
        **{"P@1000": 0.001, "nERR@1000": 0.3333, "Hit@1000": 1.0},
    }
    texts = {what: f"Classes({measures[what]})" for what in shown}
    found = cf.evaluate({"q": {"bbb": 2, "aaa": 1}}, qrels, list(texts.values()))
    for what, value in shown.items():
        assert equal(float(found[texts[what]].values[0, 0]), value), what


def test_the_sample_files() -> None:
    """README.equivalence, section 3.1: both relevant items of topic 0001 are of one class."""
    judged = cf.judge(DATA / "e-testrun", DATA / "e-test.eqrels")
    assert judged.recall_base().tolist() == [[2], [2]]
    view = keep_first_of_classes(judged, "mine")
    assert view.recall_base().tolist() == [[1], [2]]
    assert view.judgments.grade.tolist() == [3, 2, 1]
    # The item at rank 3 of topic 0001 is of the class of that at rank 1.
    assert view.documents.rank.tolist() == [1, 3, 2, 3]
    assert view.documents.grade.tolist() == [3, 0, 1, 2]


def with_classes(qrels: dict[str, dict[str, int]], classes: list[str]) -> cf.Qrels:
    return replace(cf.read_qrels(qrels), columns={"class": np.array(classes)})


def reduced(
    ranking: list[tuple[int | None, str]], judged: list[tuple[int, str]]
) -> tuple[ref.Ranking, list[int]]:
    """The rule in plain words: of a class the first document counts; the ideal has the best."""
    seen: set[str] = set()
    out: ref.Ranking = []
    for grade, name in ranking:
        redundant = grade is not None and name != "" and name in seen
        out.append(min(grade or 0, 0) if redundant else grade)
        if grade is not None:
            seen.add(name)
    best: dict[str, int] = {}
    alone = [grade for grade, name in judged if name == ""]
    for grade, name in judged:
        if name:
            best[name] = max(best.get(name, grade), grade)
    return out, alone + list(best.values())


NAIVE: dict[str, Callable[[ref.Ranking, list[int]], float]] = {
    "AP": lambda r, j: ref.ap(r, j),
    "AP(judged_only=True, rel=2)": lambda r, j: ref.ap(ref.condensed(r), j, rel=2),
    "Q@4": lambda r, j: ref.q_measure(r, j, k=4),
    "nDCG@3": lambda r, j: ref.ndcg(r, j, k=3),
    "Bpref(form='N')": lambda r, j: ref.bpref(r, j, form="N"),
    "P@5": lambda r, j: ref.precision(r, j, k=5),
}

documents = st.tuples(st.none() | st.integers(-1, 3), st.sampled_from(["", "1", "2", "3"]))
missing = st.lists(st.tuples(st.integers(-1, 3), st.sampled_from(["", "1", "2", "9"])), max_size=4)


@settings(max_examples=30)
@given(st.lists(documents, max_size=8), missing)
def test_classes_against_the_rule(
    ranking: list[tuple[int | None, str]], missed: list[tuple[int, str]]
) -> None:
    judged = [(grade, name) for grade, name in ranking if grade is not None] + missed + [(0, "")]
    run = {"q": {f"d{i:02}": -float(i) for i in range(len(ranking))} | {"u": -99.0}}
    qrels = {f"d{i:02}": grade for i, (grade, _) in enumerate(ranking) if grade is not None}
    qrels |= {f"m{i}": grade for i, (grade, _) in enumerate(missed)} | {"n": 0}
    given_qrels = with_classes({"q": qrels}, [name for _, name in judged])
    found = cf.evaluate(run, given_qrels, [f"Classes({measure})" for measure in NAIVE])
    flat, base = reduced([*ranking, (None, "")], judged)
    for measure, oracle in NAIVE.items():
        value = float(found[f"Classes({measure})"].values[0, 0])
        assert value == pytest.approx(oracle(flat, base), abs=1e-12), measure


def test_documents_of_their_own_classes_change_nothing() -> None:
    rng = np.random.default_rng(3)
    qrels = {f"t{t}": {f"d{i}": int(rng.integers(0, 4)) for i in range(20)} for t in range(4)}
    runs = {
        name: {t: {doc: float(rng.random()) for doc in docs} for t, docs in qrels.items()}
        for name in "ab"
    }
    measures = ["AP", "nDCG@5", "Q", "ERR@10", "Rprec", "Bpref"]
    apart = with_classes(qrels, [str(i) for _ in qrels for i in range(20)])
    found = cf.evaluate(runs, apart, [*measures, *(f"Classes({one})" for one in measures)])
    for one in measures:
        assert found[f"Classes({one})"].values.tolist() == found[one].values.tolist()


def test_classes_belong_to_topics() -> None:
    qrels = with_classes({"1": {"a": 1, "b": 1}, "2": {"a": 1, "b": 1}}, ["x", "y", "x", "x"])
    run = {"1": {"a": 2, "b": 1}, "2": {"a": 2, "b": 1}}
    found = cf.evaluate({"s": run, "t": run}, qrels, ["Classes(P@2)", "Classes(R@2)"])
    assert found["Classes(P@2)"].values.tolist() == [[1.0, 1.0], [0.5, 0.5]]
    assert found["Classes(R@2)"].values.tolist() == [[1.0, 1.0], [1.0, 1.0]]


def test_the_text_form() -> None:
    assert str(Classes(P) @ 10) == "Classes(P@10)"
    assert Classes(AP)(rel=2) == cf.parse_measure("Classes(AP(rel=2))")
    assert cf.parse_measure("Classes(P)@10") == cf.parse_measure("Classes(P@10)")
    assert cf.parse_measure("Classes(AP)").info.needs.startswith("equivalence classes")


def test_without_classes() -> None:
    with pytest.raises(MeasureError, match=r"Classes\(AP\) requires a column 'class'"):
        cf.evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, ["Classes(AP)"])
