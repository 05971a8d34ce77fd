"""Graded average precision, weighted ranks and rpref against naive versions and known values."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
import cranfield.measures.ranked.average_precision
import cranfield.measures.ranked.incomplete
from cranfield.base.errors import MeasureError
from tests import reference as ref
from tests.measures import graded_reference as graded
from tests.measures.test_ntcir import DATA, run_of

Oracle = Callable[[ref.Ranking, list[int]], float]

GAINS = {1: 0.5, 2: 3.0, 4: 7.0}


def mapped(grade: int) -> float:
    return GAINS.get(grade, float(grade))


CASES: dict[str, Oracle] = {
    "GAP": lambda r, j: graded.gap(r, j),
    "GAP@3": lambda r, j: graded.gap(r, j, k=3),
    "GAP(denominator='R')@3": lambda r, j: graded.gap(r, j, k=3, denominator="R"),
    "GAP(thresholds='linear')@4": lambda r, j: graded.gap(r, j, k=4, threshold=float),
    "GAP(thresholds={1: 0.2, 3: 0.8})": lambda r, j: graded.gap(
        r, j, threshold=lambda level: {1: 0.2, 3: 0.8}.get(level, 0.0)
    ),
    "gAP": lambda r, j: graded.kishida(r, j),
    "gAP(denominator='R')@3": lambda r, j: graded.kishida(r, j, k=3, denominator="R"),
    "gAP(gains={1: 0.5, 2: 3, 4: 7})@4": lambda r, j: graded.kishida(r, j, k=4, gain=mapped),
    "WRR(max_grade=4)": lambda r, j: graded.wrr(r, j, beta=lambda g: 6.0 - g),
    "WRR(betas={1: 5, 2: 1.5}, rel=2)@3": lambda r, j: graded.wrr(
        r, j, beta=lambda g: {1: 5.0, 2: 1.5}.get(g, float("inf")), rel=2, k=3
    ),
    "iRBU(max_grade=4)": lambda r, j: graded.irbu(r, j, chance=lambda g: g / 5),
    "iRBU(p=0.5, gains='exponential', max_grade=4)@3": lambda r, j: graded.irbu(
        r, j, chance=lambda g: (2**g - 1) / 16, p=0.5, k=3
    ),
    "Rpref": lambda r, j: graded.rpref(r, j),
    "Rpref(form='relative')": lambda r, j: graded.rpref(r, j, form="relative"),
    "Rpref(form='N', max_grade=4)": lambda r, j: graded.rpref(r, j, form="N", most=4.0),
    "Rpref(form='N', gains={1: 0.5, 2: 3, 4: 7}, max_grade=4)": lambda r, j: graded.rpref(
        r, j, form="N", gain=mapped, most=7.0
    ),
    "Rpref@4": lambda r, j: graded.rpref(r, j, k=4),
    "Bpref(form='relative')": lambda r, j: graded.bpref_relative(r, j),
    "Bpref(form='relative', rel=2)": lambda r, j: graded.bpref_relative(r, j, rel=2),
}

grades = st.lists(st.none() | st.integers(-1, 4), max_size=9)
missing = st.lists(st.integers(-1, 4), max_size=4)


def several(measures: Sequence[str], ranking: ref.Ranking, missed: list[int]) -> list[float]:
    run = {"q": {f"d{i:02}": -float(i) for i in range(len(ranking))} | {"u": -99.0}}
    qrels = {f"d{i:02}": grade for i, grade in enumerate(ranking) if grade is not None}
    judgments = {"q": qrels | {f"m{i}": grade for i, grade in enumerate(missed)} | {"n": 0}}
    found = cf.evaluate(run, judgments, measures)
    return [float(found[measure].values[0, 0]) for measure in measures]


@settings(max_examples=25)
@given(grades, missing)
def test_measures_are_their_definitions(ranking: ref.Ranking, missed: list[int]) -> None:
    judged = [grade for grade in ranking if grade is not None] + missed + [0]
    found = several(list(CASES), ranking, missed)
    expected = [oracle([*ranking, None], judged) for oracle in CASES.values()]
    assert found == pytest.approx(expected, abs=1e-12)
    limits = [2.0 if text.startswith("WRR(max") else 1.0 for text in CASES]
    assert all(
        -1e-12 <= value <= limit + 1e-12 or "betas" in text
        for value, limit, text in zip(found, limits, CASES, strict=True)
    )


positive = st.lists(st.integers(0, 4), min_size=1, max_size=8).filter(any)


@settings(max_examples=20)
@given(positive)
def test_the_ideal_ranking_scores_one(levels: list[int]) -> None:
    best: ref.Ranking = [*sorted(levels, reverse=True)]
    measures = ["GAP", "GAP@2", "GAP(thresholds='linear')@3", "gAP", "gAP@2", "Rpref"]
    measures += ["Rpref(form='N')"]
    assert several(measures, best, []) == pytest.approx([1.0] * len(measures))
    # The flaw that the form relative2 mends.
    assert several(["Rpref(form='relative')"], best, [])[0] < 1


@settings(max_examples=25)
@given(grades, missing)
def test_measures_of_one_grade(ranking: ref.Ranking, missed: list[int]) -> None:
    """With binary gains, each is a measure of binary relevance."""
    flat: ref.Ranking = [None if grade is None else int(grade > 0) for grade in ranking]
    special = ["GAP", "gAP", "Rpref", "Rpref(form='N')", "Rpref(form='relative')"]
    known = ["AP", "AP", "AP(judged_only=True)", "Bpref(form='N')", "Bpref(form='relative')"]
    missed = [int(grade > 0) for grade in missed]
    found = several(special + known, flat, missed)
    assert found[: len(special)] == pytest.approx(found[len(special) :])
    # A user with one threshold sees binary relevance, and proportions are all that matters.
    pair = several(["GAP(thresholds={2: 5})", "AP(rel=2)"], ranking, missed)
    assert pair[0] == pytest.approx(pair[1])


@settings(max_examples=25)
@given(positive, st.data())
def test_a_better_document_in_front_never_hurts(levels: list[int], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(levels) - 1))
    later = data.draw(st.integers(at, len(levels) - 1))
    if levels[at] >= levels[later]:
        return
    swapped: ref.Ranking = [*levels]
    swapped[at], swapped[later] = swapped[later], swapped[at]
    # The form `relative` is left out: by its flaw a document loses what it had by rank 1.
    measures = ["GAP", "gAP", "WRR", "iRBU", "Rpref", "Rpref(form='N')"]
    before, after = several(measures, [*levels], []), several(measures, swapped, [])
    assert all(b <= a + 1e-12 for b, a in zip(before, after, strict=True))


def test_gap_of_another_program() -> None:
    """Infer.NET, MetricsTests.TestGap: relevances 3, 1, 2, 2 with uniform thresholds."""
    expected = (3 / 1 + (1 + 1) / 2 + (2 + 1 + 2) / 3 + (2 + 1 + 2 + 2) / 4) / (3 + 1 + 2 + 2)
    assert several(["GAP"], [3, 1, 2, 2], [])[0] == pytest.approx(expected)


def test_users_between_grades_that_do_not_occur() -> None:
    """Thresholds at grades that no document has go to the next grade; none is looped over."""
    high = 2_000_000_000
    found = several(["GAP", "GAP(thresholds={1: 1, 1000: 3})"], [1, high], [])
    assert found[1] == pytest.approx((1 * (1 + 2 / 2) + 3 * (1 / 2)) / (1 * 2 + 3 * 1))
    assert found[0] == pytest.approx(0.5, abs=1e-8)


@pytest.mark.parametrize("beta", [0.1, 1, 10, 100])
def test_figure_3_of_the_blended_ratio(beta: float) -> None:
    """Sakai (2013), figure 3: BR(r_1) for R = 5 and one relevant document at rank r_1."""
    for rank in range(1, 21):
        expected = 1 / rank if rank <= 5 else (1 + beta) / (rank + beta * 5)
        ranking: ref.Ranking = [None] * (rank - 1) + [1]
        assert several([f"OMeasure(beta={beta})"], ranking, [1] * 4)[0] == pytest.approx(expected)


def test_the_names_of_ntcireval_for_ndcg() -> None:
    """README, section 3.1 of NTCIREVAL: MSnDCG@1000 and nDCG@1000 of the sample."""
    levels = [3, 3, 3, 2, 2, 2, 1, 1, 1, 1, 0]
    qrels = {"q": {f"dummy{i:02}": level for i, level in enumerate(levels, 1)}}
    run = {"q": {"dummy11": 4, "dummy01": 3, "dummy12": 2, "dummy04": 1}}
    ev = cf.evaluate(run, qrels, ["nDCG@1000", "nDCG(discount='max(1,log2(rank))')@1000"])
    values = [round(float(ev[measure].values[0, 0]), 4) for measure in ev]
    assert values == [0.2760, 0.3380]


@pytest.mark.parametrize(
    ("name", "measure", "shown"),
    [
        # README.adhoc, section 3.2: the mean of MSnDCG@1000 over three topics.
        ("TRECRUN", "nDCG@1000", 0.4142),
        # cacm/runl.qrels.test.nev.AP and .nDCG@1000, over 52 topics.
        ("cacm", "AP", 0.1415),
        ("cacm", "nDCG(discount='max(1,log2(rank))')@1000", 0.3169),
    ],
)
def test_means_that_ntcireval_prints(name: str, measure: str, shown: float) -> None:
    """The program takes the mean of values of four decimals."""
    found = cf.evaluate(run_of(f"{name}.run"), DATA / f"{name}.qrels.gz", [measure])[measure]
    assert float(found.values.round(4).mean()) == pytest.approx(shown, abs=0.51e-4)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("GAP(thresholds='often')", "'uniform', 'linear' or a mapping"),
        ("GAP(thresholds={0: 1})", "a mapping of grades from 1 on"),
        ("GAP(thresholds={1: 0})", "not all 0"),
        ("GAP(thresholds={1: -1, 2: 3})", "at least 0"),
        ("gAP(gains={1: -1})", "gains of at least 0"),
        ("WRR(betas={1: 1})", "numbers above 1"),
        ("WRR(betas=2)", "a mapping of grades to numbers above 1"),
        ("iRBU(p=0)", "a number > 0"),
        ("Rpref(form='R')", "one of 'relative2', 'relative', 'N'"),
        ("Bpref(form='r')", "'relative'"),
    ],
)
def test_wrong_parameters(text: str, complaint: str) -> None:
    with pytest.raises(MeasureError, match=complaint):
        cf.parse_measure(text)


@pytest.mark.parametrize(
    "text", ["WRR(max_grade=2)", "iRBU(max_grade=2)", "Rpref(form='N', max_grade=2)"]
)
def test_a_grade_above_the_highest_is_refused(text: str) -> None:
    with pytest.raises(MeasureError, match="grade 3, above max_grade=2"):
        several([text], [3], [])


@pytest.mark.parametrize("text", CASES)
def test_text_forms_read_back(text: str) -> None:
    one = cf.parse_measure(text)
    assert cf.parse_measure(str(one)) == one


@pytest.mark.parametrize("name", ["Rpref(form='N')", "U(gains='linear')", "U(gains={1: 1, 2: 3})"])
def test_a_grade_that_is_very_high_takes_no_memory(name: str) -> None:
    """The highest gain of a scale is found without a list of all its grades."""
    run, lengths = {"1": {"a": 2.0, "b": 1.0}}, {"a": 100, "b": 50}
    values = cf.evaluate(run, {"1": {"a": 1, "b": 2**31 - 1}}, [name], lengths=lengths)
    assert 0 <= next(iter(values.values())).values.item() <= 1
