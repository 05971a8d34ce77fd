"""Graded average precision, weighted ranks and rpref against naive versions and known values."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
import cranfield.measures.ranked.average_precision
import cranfield.measures.ranked.incomplete
from cranfield.base.errors import MeasureError
from tests import reference as ref
from tests.measures import graded_reference as graded
from tests.measures.rankings import score_grades

Oracle = Callable[[ref.Ranking, list[int]], float]

GAINS = {1: 0.5, 2: 3.0, 4: 7.0}


def mapped(grade: int) -> float:
    return GAINS.get(grade, float(grade))


CASES: dict[str, Oracle] = {
    "GAP": graded.gap,
    "GAP@3": partial(graded.gap, k=3),
    "GAP(denominator='R')@3": partial(graded.gap, k=3, denominator="R"),
    "GAP(thresholds='linear')@4": partial(graded.gap, k=4, threshold=float),
    "GAP(thresholds={1: 0.2, 3: 0.8})": partial(
        graded.gap, threshold=lambda level: {1: 0.2, 3: 0.8}.get(level, 0.0)
    ),
    "gAP": graded.kishida,
    "gAP(denominator='R')@3": partial(graded.kishida, k=3, denominator="R"),
    "gAP(gains={1: 0.5, 2: 3, 4: 7})@4": partial(graded.kishida, k=4, gain=mapped),
    "WRR(max_grade=4)": partial(graded.wrr, beta=lambda g: 6.0 - g),
    "WRR(betas={1: 5, 2: 1.5}, rel=2)@3": partial(
        graded.wrr, beta=lambda g: {1: 5.0, 2: 1.5}.get(g, float("inf")), rel=2, k=3
    ),
    "iRBU(max_grade=4)": partial(graded.irbu, chance=lambda g: g / 5),
    "iRBU(p=0.5, gains='exponential', max_grade=4)@3": partial(
        graded.irbu, chance=lambda g: (2**g - 1) / 16, p=0.5, k=3
    ),
    "Rpref": graded.rpref,
    "Rpref(form='relative')": partial(graded.rpref, form="relative"),
    "Rpref(form='N', max_grade=4)": partial(graded.rpref, form="N", most=4.0),
    "Rpref(form='N', gains={1: 0.5, 2: 3, 4: 7}, max_grade=4)": partial(
        graded.rpref, form="N", gain=mapped, most=7.0
    ),
    "Rpref@4": partial(graded.rpref, k=4),
    "Bpref(form='relative')": graded.bpref_relative,
    "Bpref(form='relative', rel=2)": partial(graded.bpref_relative, rel=2),
}

grades = st.lists(st.none() | st.integers(-1, 4), max_size=9)
missing = st.lists(st.integers(-1, 4), max_size=4)


@settings(max_examples=25)
@given(grades, missing)
def test_measures_are_their_definitions(ranking: ref.Ranking, missed: list[int]) -> None:
    judged = [grade for grade in ranking if grade is not None] + missed + [0]
    found = score_grades(list(CASES), [*ranking, None], [*missed, 0])
    expected = [oracle([*ranking, None], judged) for oracle in CASES.values()]
    assert found == pytest.approx(expected, abs=1e-12)
    limits = [2.0 if text.startswith("WRR(max") else 1.0 for text in CASES]
    assert all(
        -1e-12 <= value <= limit + 1e-12 or "betas" in text
        for value, limit, text in zip(found, limits, CASES, strict=True)
    )


@settings(max_examples=25)
@given(grades, missing)
def test_measures_of_one_grade(ranking: ref.Ranking, missed: list[int]) -> None:
    """With binary gains, each is a measure of binary relevance."""
    flat: ref.Ranking = [None if grade is None else int(grade > 0) for grade in ranking]
    special = ["GAP", "gAP", "Rpref", "Rpref(form='N')", "Rpref(form='relative')"]
    known = ["AP", "AP(judged_only=True)", "Bpref(form='N')", "Bpref(form='relative')"]
    missed = [int(grade > 0) for grade in missed]
    found = score_grades(special + known, [*flat, None], [*missed, 0])
    expected = [found[len(special)], *found[len(special) :]]
    assert found[: len(special)] == pytest.approx(expected)
    # A user with one threshold sees binary relevance, and proportions are all that matters.
    pair = score_grades(["GAP(thresholds={2: 5})", "AP(rel=2)"], [*ranking, None], [*missed, 0])
    assert pair[0] == pytest.approx(pair[1])


def test_gap_of_another_program() -> None:
    """Infer.NET, MetricsTests.TestGap: relevances 3, 1, 2, 2 with uniform thresholds."""
    expected = (3 / 1 + (1 + 1) / 2 + (2 + 1 + 2) / 3 + (2 + 1 + 2 + 2) / 4) / (3 + 1 + 2 + 2)
    assert score_grades(["GAP"], [3, 1, 2, 2], [])[0] == pytest.approx(expected)


def test_users_between_grades_that_do_not_occur() -> None:
    """Thresholds at grades that no document has go to the next grade; none is looped over."""
    high = 2_000_000_000
    found = score_grades(["GAP", "GAP(thresholds={1: 1, 1000: 3})"], [1, high], [])
    assert found[1] == pytest.approx((1 * (1 + 2 / 2) + 3 * (1 / 2)) / (1 * 2 + 3 * 1))
    assert found[0] == pytest.approx(0.5, abs=1e-8)


@pytest.mark.parametrize(
    "text", [f"{name}max_grade=2)" for name in ("WRR(", "iRBU(", "EBR(", "Rpref(form='N', ")]
)
def test_a_grade_above_the_highest_is_refused(text: str) -> None:
    with pytest.raises(MeasureError, match="max_grade=2, got .* grade 3"):
        score_grades([text], [3], [])


@pytest.mark.parametrize("name", ["Rpref(form='N')", "U(gains='linear')", "U(gains={1: 1, 2: 3})"])
def test_a_grade_that_is_very_high_takes_no_memory(name: str) -> None:
    """The highest gain of a scale is found without a list of all its grades."""
    run, lengths = {"1": {"a": 2.0, "b": 1.0}}, {"a": 100, "b": 50}
    values = cf.evaluate(run, {"1": {"a": 1, "b": 2**31 - 1}}, [name], lengths=lengths)
    assert 0 <= next(iter(values.values())).values.item() <= 1
