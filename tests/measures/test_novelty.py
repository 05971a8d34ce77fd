"""Measures of novelty, risk and subtopic recall: ndeval, gdeval, hand-made examples, properties."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from itertools import permutations
from math import log2
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import MeasureError
from cranfield.measures.novelty import IntentAwareMeasure

DATA = Path(__file__).parents[1] / "data" / "web2012"
RUNS = ("ql-cata", "rm-catb-filtered", "ql-cata-filtered")
NDEVAL = {
    **{
        f"{theirs}@{k}": f"{ours}@{k}"
        for theirs, ours in (
            ("ERR-IA", "ERR_IA"),
            ("nERR-IA", "nERR_IA"),
            ("alpha-DCG", "alpha_DCG"),
            ("alpha-nDCG", "alpha_nDCG"),
            ("P-IA", "P_IA"),
            ("strec", "StRecall"),
        )
        for k in (5, 10, 20)
    },
    "NRBP": "NRBP",
    "nNRBP": "nNRBP",
    "MAP-IA": "AP_IA",
}
GDEVAL = {"ndcg@20": "nDCG(gains='exponential')@20", "err@20": "ERR(max_grade=4)@20"}


def judged(qrels: str) -> cf.JudgedRuns:
    """The three runs, judged."""
    runs = [cf.read_run(DATA / f"{name}.run.xz", name=name) for name in RUNS]
    return cf.judge(runs, DATA / f"qrels.{qrels}.xz")


def printed(name: str) -> list[dict[str, str]]:
    """Rows of a file of ndeval or gdeval."""
    with (DATA / name).open() as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("run", RUNS[:2])
@pytest.mark.parametrize(
    ("program", "columns", "half"), [("ndeval", NDEVAL, 5e-7), ("gdeval", GDEVAL, 5e-6)]
)
def test_web_track(run: str, program: str, columns: dict[str, str], half: float) -> None:
    """All columns of the track's programs, to the printed digits."""
    runs = judged("ndeval" if program == "ndeval" else "adhoc")
    scores = cf.score(runs, list(columns.values()))
    rows = printed(f"{run}.{program}.csv")
    assert len(rows) == 4
    for row in rows:
        for column, measure in columns.items():
            value = scores[measure].values[runs.topics.index(row["topic"]), runs.systems.index(run)]
            assert value == pytest.approx(float(row[column]), abs=half * 1.001), (column, row)


@pytest.mark.parametrize(
    ("program", "columns", "half"), [("ndeval", NDEVAL, 5e-7), ("gdeval", GDEVAL, 5e-6)]
)
def test_risk_of_the_web_track(program: str, columns: dict[str, str], half: float) -> None:
    """Risk-sensitive versions against a baseline, alpha = 5."""
    runs = judged("ndeval" if program == "ndeval" else "adhoc")
    forms = {
        column: f"URisk({measure}, baseline='ql-cata-filtered', alpha=5)"
        for column, measure in columns.items()
    }
    scores = cf.score(runs, list(forms.values()))
    for row in printed(f"risk-a5.{program}.csv"):
        for column, form in forms.items():
            [measure] = cf.parse_measures(form)
            value = scores[measure].values[runs.topics.index(row["topic"]), 1]
            assert value == pytest.approx(float(row[column]), abs=half * 1.001), (column, row)


def by_subtopic(grades: dict[str, dict[str, int]]) -> list[dict[str, Any]]:
    """Judgments of one topic: {document: {intent: grade}}."""
    return [
        {"topic": "q", "doc": doc, "grade": grade, "subtopic": intent}
        for doc, intents in grades.items()
        for intent, grade in intents.items()
    ]


def values(
    measures: tuple[str, ...], ranking: str, grades: dict[str, dict[str, int]], **more: Any
) -> list[float]:
    """Score a ranking of documents with one letter each."""
    run = {"q": {doc: -rank for rank, doc in enumerate(ranking)}}
    qrels = cf.read_qrels(by_subtopic(grades), subtopics=True)
    found = cf.evaluate(run, qrels, measures, **more)
    return [float(scores.values[0, 0]) for scores in found.values()]


def value(measure: str, ranking: str, grades: dict[str, dict[str, int]], **more: Any) -> float:
    """Score with one measure."""
    return values((measure,), ranking, grades, **more)[0]


EXAMPLE = {
    "a": {"1": 1, "2": 1},
    "b": {"1": 1, "2": 0},
    "c": {"1": 0, "3": 2},
    "d": {"2": 0},
}


def test_probabilities() -> None:
    """Probabilities weigh the intents; an intent without relevant documents does not count."""
    given_ = {"q": {"1": 0.5, "2": 0.2, "3": 0.2, "4": 0.1}}
    assert value("alpha_DCG(over='none')@1", "c", EXAMPLE, intents=given_) == pytest.approx(0.2)
    assert value("StRecall", "ac", EXAMPLE, intents=given_) == 1.0
    with pytest.raises(cf.InputError, match="no probability"):
        value("StRecall", "ac", EXAMPLE, intents={"q": {"1": 1.0}})


def test_needs_subtopics() -> None:
    """Judgments without subtopics are refused by name of the measure."""
    with pytest.raises(MeasureError, match="alpha_nDCG@5 requires judgments by subtopic"):
        cf.evaluate({"q": {"a": 1}}, {"q": {"a": 1}}, "alpha_nDCG@5")


GRADES = st.dictionaries(
    st.sampled_from("abcdef"),
    st.dictionaries(st.sampled_from("123"), st.integers(-1, 2), min_size=1, max_size=3),
    min_size=1,
    max_size=6,
).filter(lambda one: any(g > 0 for grades in one.values() for g in grades.values()))
NORMALISED = ("alpha_nDCG@5", "nERR_IA@5", "nNRBP@5")


def gains_of(
    ranking: Sequence[str], grades: dict[str, dict[str, int]], alpha: float, given: dict[str, float]
) -> list[float]:
    """Novelty-biased gains, document by document; `given` has the probability of each intent."""
    seen, gains = dict.fromkeys(given, 0), []
    for doc in ranking:
        hits = [i for i, grade in grades.get(doc, {}).items() if grade > 0]
        gains.append(sum(given[i] * (1 - alpha) ** seen[i] for i in hits))
        for i in hits:
            seen[i] += 1
    return gains


def intents_of(grades: dict[str, dict[str, int]]) -> dict[str, float]:
    names = {i for labels in grades.values() for i, grade in labels.items() if grade > 0}
    return {i: 1 / len(names) for i in sorted(names)}


@settings(max_examples=30)
@given(GRADES, st.permutations("abcdef"), st.sampled_from([0.0, 0.3, 0.5]), st.booleans())
def test_gains_written_out(
    grades: dict[str, dict[str, int]], order: list[str], alpha: float, weighted: bool
) -> None:
    """Novelty-biased gains, document by document, and those of a perfect list."""
    equal = intents_of(grades)
    given = {"1": 0.5, "2": 0.3, "3": 0.2} if weighted else equal
    gains = gains_of(order[:5], grades, alpha, given)
    whole = sum(given[i] for i in equal)
    perfect = [whole * (1 - alpha) ** r for r in range(5)]
    expected = []
    for discount in (lambda r: log2(r + 2), lambda r: r + 1):
        total, best = (sum(g / discount(r) for r, g in enumerate(x)) for x in (gains, perfect))
        expected += [total, total / best]
    nrbp = sum(0.5**r * gain for r, gain in enumerate(gains)) * (1 - (1 - alpha) * 0.5) / whole
    texts = [
        f"{name}(alpha={alpha}{over})@5"
        for name in ("alpha_DCG", "ERR_IA")
        for over in (", over='none'", "")
    ]
    more = {"intents": {"q": given}} if weighted else {}
    found = values((*texts, f"NRBP(alpha={alpha})@5", "StRecall@5"), "".join(order), grades, **more)
    assert found[:5] == pytest.approx([*expected, nrbp])
    assert 0 <= found[5] <= 1


@settings(max_examples=30)
@given(GRADES)
def test_ideal_ranking_is_greedy(grades: dict[str, dict[str, int]]) -> None:
    """A ranking that takes the best document each time scores 1, and few score more."""
    left, ranking = sorted(grades, reverse=True), ""
    while left:
        best = max(
            left,
            key=lambda doc: round(gains_of(ranking + doc, grades, 0.5, intents_of(grades))[-1], 12),
        )
        ranking += best
        left.remove(best)
    assert values(NORMALISED, ranking, grades) == pytest.approx([1.0] * len(NORMALISED))


def test_greedy_is_not_always_best() -> None:
    """Building the ideal ranking greedily is an approximation: a ranking may beat it."""
    grades = {
        "a": {"1": 1, "2": 1, "3": 0, "4": 0},
        "b": {"1": 1, "3": 1},
        "c": {"2": 1, "4": 1},
        "d": {"1": 1, "2": 1},
    }
    best = max(value("alpha_nDCG@2", "".join(one), grades) for one in permutations("abc", 2))
    assert best > 1.0


@settings(max_examples=30)
@given(GRADES, st.permutations("abcdef"))
def test_renaming_intents(grades: dict[str, dict[str, int]], order: list[str]) -> None:
    """Names of intents mean nothing."""
    names = {"1": "x", "2": "b", "3": "a"}
    renamed = {
        doc: {names[intent]: grade for intent, grade in one.items()} for doc, one in grades.items()
    }
    ranking = "".join(order)
    measures = ("alpha_nDCG@5", "nERR_IA@5", "P_IA@3", "AP_IA")
    assert values(measures, ranking, grades) == pytest.approx(values(measures, ranking, renamed))


def test_risk() -> None:
    """U_risk weighs losses; T_risk is it over its standard error; unknown baselines are refused."""
    runs = {
        "old": {"1": {"a": 1}, "2": {"a": 1}, "3": {"b": 1, "a": 0}},
        "new": {"1": {"b": 1, "a": 0}, "2": {"a": 1}, "3": {"a": 1}},
    }
    qrels = {topic: {"a": 1} for topic in "123"}
    ev = cf.evaluate(runs, qrels, ["URisk(RR, baseline='old')", "TRisk(RR, baseline='old')"])
    plain, standard = ev.values()
    assert plain.values[:, 1].tolist() == [-1.0, 0.0, 0.5]
    error = np.std([-1.0, 0.0, 0.5], ddof=1) / 3**0.5
    assert standard.mean()[1] == pytest.approx((-0.5 / 3) / error)
    with pytest.raises(MeasureError, match="unknown baseline"):
        cf.evaluate(runs, qrels, "URisk(RR, baseline='bm25')")
    with pytest.raises(MeasureError, match="requires a baseline"):
        cf.parse_measure("URisk(RR)")


# pyndeval 0.0.8 with relevance_level=2: intent 3 has no document of that grade, and does not count.
AT_LEVEL_2 = {
    "alpha_DCG(rel=2)@2": 0.3800937667159343,
    "P_IA(rel=2)@2": 0.25,
    "AP_IA(rel=2)": 0.5,
    "StRecall(rel=2)@2": 0.5,
    "NRBP(rel=2)": 0.375,
    "ERR_IA(rel=2)@2": 0.4,
}


def test_intents_without_a_document_of_the_grade() -> None:
    """Intents count that have a relevant document, by the lowest grade that is relevant."""
    grades = {"a": {"1": 2, "2": 1, "3": 1}, "b": {"2": 1}, "c": {"2": 3}}
    found = values(tuple(AT_LEVEL_2), "ab", grades)
    assert found == pytest.approx(list(AT_LEVEL_2.values()))
    given_ = {"q": {"1": 0.5, "2": 0.25, "3": 0.25}}
    assert value("StRecall(rel=2)@2", "ab", grades, intents=given_) == 0.5
    assert value("IA(P(rel=2)@1)", "ab", grades, intents=given_) == 0.5
    assert value("Sharp(D(P(rel=2)@1))", "ab", grades) == pytest.approx(0.5 * 0.5 + 0.5)


# Rank-biased utility


def utility(ranking: str, grades: dict[str, dict[str, int]], p: float, e: float) -> float:
    """RBU of a ranking, one document after the other; intents are equally likely."""
    best: dict[str, int] = {}
    for own in grades.values():
        for intent, grade in own.items():
            best[intent] = max(best.get(intent, 0), grade)
    unsatisfied = {intent: 1.0 for intent, grade in best.items() if grade > 0}
    number, score = len(unsatisfied), 0.0
    for k, doc in enumerate(ranking):
        for intent, left in unsatisfied.items():
            grade = max(grades.get(doc, {}).get(intent, 0), 0)
            chance = (2**grade - 1) / 2 ** best[intent]
            score += p**k * chance * left / number
            unsatisfied[intent] = left * (1 - chance)
        score -= e * p**k
    return (1 - p) * score


@settings(max_examples=30)
@given(
    st.dictionaries(
        st.sampled_from("abcdef"),
        st.dictionaries(st.sampled_from("123"), st.integers(-1, 3), min_size=1),
        min_size=2,
    ),
    st.permutations("abcdefgh"),
    st.integers(1, 8),
    st.sampled_from([(0.8, 0.03), (0.99, 0.05), (0.5, 1.0), (0.6, 0.0)]),
)
def test_rbu(
    grades: dict[str, dict[str, int]],
    docs: list[str],
    size: int,
    parameters: tuple[float, float],
) -> None:
    p, e = parameters
    ranking = "".join(docs)[:size]
    found = values((f"RBU(p={p}, e={e})", f"RBU(p={p}, e={e})@3"), ranking, grades)
    expected = [utility(part, grades, p, e) for part in (ranking, ranking[:3])]
    assert found == pytest.approx(expected, abs=1e-12)


RBU_EXAMPLE = {"a": {"1": 1, "2": 0}, "b": {"2": 1}, "c": {"1": 2}}


def test_rbu_of_a_worked_example() -> None:
    assert value("RBU", "abc", RBU_EXAMPLE) == pytest.approx(0.08636, abs=1e-12)
    assert value("RBU(max_grade=2)", "abc", RBU_EXAMPLE) == pytest.approx(
        0.2 * (0.125 + 0.8 * 0.125 + 0.64 * 0.5 * 0.75 * 0.75) - 0.03 * (1 - 0.8**3), abs=1e-12
    )
    with pytest.raises(MeasureError, match="at most max_grade=1"):
        value("RBU(max_grade=1)", "abc", RBU_EXAMPLE)


def test_rbu_does_not_depend_on_the_highest_grade_of_all_judgments() -> None:
    qrels = cf.read_qrels(by_subtopic(RBU_EXAMPLE), subtopics=True)
    run = {"q": {"a": 3, "b": 2, "c": 1}}
    ev, other = (cf.evaluate(run, qrels, "RBU", max_grade=grade) for grade in (None, 9))
    assert ev["RBU"].values.tolist() == other["RBU"].values.tolist()
    assert not any("highest grade" in note for note in ev.notes)


@pytest.mark.parametrize("text", ["alpha_nDCG@2", "nERR_IA@2", "nNRBP(beta=0.8)"])
def test_ranking_that_is_better_than_the_greedy_one(text: str) -> None:
    """Of three documents with four intents each, the greedy ranking starts with the wrong one."""
    intents = {"z": "1234", "b": "1256", "c": "3478"}
    grades = {doc: dict.fromkeys(answered, 1) for doc, answered in intents.items()}
    score = value(text, "bcz", grades)
    assert 1.01 < score < cf.parse_measure(text).info.range[1]


def test_rbu_is_negative_for_a_list_without_relevant_documents() -> None:
    assert value("RBU", "xyz", RBU_EXAMPLE) == pytest.approx(-0.03 * (1 - 0.8**3), abs=1e-12)
    qrels = cf.read_qrels(
        by_subtopic(RBU_EXAMPLE) + [{"topic": "r", "doc": "a", "grade": 1, "subtopic": "1"}],
        subtopics=True,
    )
    missing = cf.evaluate({"q": {"x": 1.0}}, qrels, ["RBU"])["RBU"]
    assert dict(zip(missing.topics, missing.values[:, 0].tolist(), strict=True)) == {
        "q": pytest.approx(-0.006),
        "r": 0.0,
    }


def test_rbu_without_effort_of_one_intent_is_irbu() -> None:
    grades = {"a": {"1": 1}, "b": {"1": 2}, "c": {"1": 3}, "d": {"1": 0}}
    irbu = value("iRBU(gains='exponential', max_grade='topic', p=0.8)", "bxac", grades)
    assert value("RBU(e=0)", "bxac", grades) == pytest.approx(irbu * 0.2 / 0.8, abs=1e-12)


def test_rbu_uses_probabilities_unchanged() -> None:
    halves = {"q": {"1": 0.25, "2": 0.25}}
    with pytest.warns(cf.CranfieldWarning, match="sum to 0.5"):
        half = value("RBU(e=0)", "abc", RBU_EXAMPLE, intents=halves)
    assert half == pytest.approx(value("RBU(e=0)", "abc", RBU_EXAMPLE) / 2, abs=1e-12)


# Risk-sensitive versions

RISK_QRELS = {f"t{i}": {"a": 1, "b": 1, "c": 1} for i in range(6)}


def test_the_same_difference_everywhere() -> None:
    """AP is 1/9 and 1/3 on every topic: the standard error is rounding, and says nothing."""
    runs = {
        "base": {topic: {"z": 3, "y": 2, "a": 1} for topic in RISK_QRELS},
        "new": {topic: {"a": 3, "y": 2, "x": 1} for topic in RISK_QRELS},
    }
    found = cf.evaluate(runs, RISK_QRELS, ["AP", "TRisk(AP, baseline='base')"])
    assert found["TRisk(AP, baseline='base')"].values.tolist() == [[0.0, 0.0]] * 6
    risk = cf.risk(found["AP"], baseline="base", alpha=np.int64(1))  # type: ignore[arg-type]
    assert risk.u_risk == pytest.approx([0, 2 / 9])
    assert np.isnan(risk.t_risk).all()
    assert np.isnan(risk.pvalue).all()


@pytest.mark.parametrize("form", ["URisk(AP, baseline='base')", "TRisk(AP, baseline='base')"])
@pytest.mark.parametrize("topics", ["intersection", "run"])
def test_topics_without_the_baseline(form: str, topics: Any) -> None:
    """A baseline without a score is no baseline with a score of 0."""
    runs = {"base": {"t0": {"a": 1}}, "new": {"t0": {"z": 1}, "t1": {"a": 1}}}
    values = cf.evaluate(runs, RISK_QRELS, form, topics=topics)[form].values
    assert np.isnan(values[1]).all()
    assert np.isfinite(values[0]).all()


@pytest.mark.parametrize("inner", [3, None, cf.Measure])
def test_what_stands_inside(inner: object) -> None:
    """A measure of what is no measure is refused."""
    with pytest.raises(MeasureError, match="expected a measure or its text form, got"):
        IntentAwareMeasure(inner)  # type: ignore[arg-type]
