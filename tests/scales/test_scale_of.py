"""Which scale a measure is on: every claim of the papers, and its limits."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from math import log2
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield.base.errors import MeasureError
from cranfield.base.scale_types import Scale
from cranfield.measures import (
    AP,
    DCG,
    ERR,
    RBP,
    RR,
    IPrec,
    Measure,
    P,
    R,
    SetE,
    SetF,
    SetP,
    gP,
    gR,
    nDCG,
    nERR,
    parse_measure,
)
from cranfield.scales import measure_scales, verdicts
from cranfield.scales.forms.exact_values import compute_exact_values
from cranfield.scales.forms.form import Additive
from cranfield.scales.forms.measure_forms import find_form
from cranfield.scales.measure_scales import (
    decide_additive_orders,
    is_form_evenly_spaced,
    scale_of,
    scale_over_topics,
)
from cranfield.scales.orders import rbto, sbto
from cranfield.scales.runs import score_runs
from cranfield.scales.verdicts import ScaleVerdict

INTERVAL, ORDINAL = Scale.INTERVAL, Scale.ORDINAL
FLAT = DCG(discount="max(1,log10(rank))")


def value(measure: Measure, run: list[int], grades: int, judgments: int | None = None) -> Fraction:
    found = compute_exact_values(measure, np.array([run]), grades, judgments).get_value(0)
    assert isinstance(found, Fraction)
    return found


# --- Ferrante, Ferro and Pontarollo (2019) ----------------------------------------------------


@pytest.mark.parametrize("measure", [P, R, SetF, SetF(beta=3), SetE, SetP])
@pytest.mark.parametrize("length", [1, 2, 5, 9, 200])
def test_set_based_measures_are_interval_for_binary_relevance(
    measure: Measure, length: int
) -> None:
    """Section 4.1."""
    found = scale_of(measure, length)
    assert found.set_based.scale is INTERVAL
    assert found.own.scale is INTERVAL
    assert found.is_exact


@pytest.mark.parametrize("measure", [gP, gR, gP(gains="exponential"), gR(gains={1: 1, 2: 5})])
def test_generalised_measures_are_neither(measure: Measure) -> None:
    """Section 4.2: (a1, ..., a1) is below (a2, a0, ..., a0), and gains more if N is large."""
    length = 6
    low, high = [1] * length, [2] + [0] * (length - 1)
    assert sbto([low], 2)[0] < sbto([high], 2)[0]
    whole = measure @ length
    assert value(whole, low, 2) > value(whole, high, 2)
    found = scale_of(measure, length, 2).set_based
    assert (found.scale, found.is_decided) == (None, True)
    assert found.witness is not None
    assert found.witness.kind in {"inverted", "tied"}


def test_generalised_measures_on_short_runs() -> None:
    """Their claim needs N 'big enough': one rank is interval, two can be ordinal."""
    assert scale_of(gP, 1, 2).set_based.scale is INTERVAL
    steep = gP(gains={1: 1, 2: 3})
    assert scale_of(steep, 2, 2).set_based.scale is ORDINAL
    tied = scale_of(steep, 3, 2).set_based
    assert tied.scale is None
    assert tied.witness is not None
    assert tied.witness.runs == ((1, 1, 1), (0, 0, 2))
    # On their own order even gains are interval, whatever the length.
    assert scale_of(gP, 4, 3).own.scale is scale_of(gR, 90, 3).own.scale is INTERVAL
    assert scale_of(gP(gains={1: 1, 2: 2.5}), 90, 2).own.scale is ORDINAL


@pytest.mark.parametrize("length", [3, 6, 10, 64])
def test_rbp(length: int) -> None:
    """Section 5 and summary: interval for p = 1/2 only, ordinal below, neither above."""
    assert scale_of(RBP(p=0.5), length).rank_based.scale is INTERVAL
    assert scale_of(RBP(p=0.5), length).own.scale is INTERVAL
    for p in (0.01, 0.3, 0.499):
        assert scale_of(RBP(p=p), length).rank_based.scale is ORDINAL
        assert scale_of(RBP(p=p), length).own.scale is ORDINAL
    for p in (0.62, 0.8, 0.95):
        assert scale_of(RBP(p=p), length).rank_based.scale is None
        assert scale_of(RBP(p=p), length).own.scale is ORDINAL


@pytest.mark.parametrize(("p", "last"), [(0.51, 5), (0.55, 3), (0.6, 3), (0.8, 2), (0.95, 2)])
def test_rbp_above_one_half_is_ordinal_on_short_runs(p: float, last: int) -> None:
    """1 > p + ... + p^(N - 1) is what it takes: 'neither' holds for N large enough only."""
    for length in range(2, 9):
        ordinal = scale_of(RBP(p=p), length).rank_based.scale is ORDINAL
        assert ordinal == (length <= last)
        assert ordinal == (sum(p**i for i in range(1, length)) < 1)


@pytest.mark.parametrize("length", [3, 5, 30])
@pytest.mark.parametrize(("grades", "critical"), [(1, 0.5), (2, 1 / 3), (3, 0.25), (4, 0.2)])
def test_graded_rbp(length: int, grades: int, critical: float) -> None:
    """Interval for p = G / (G + 1) = 1 / (c + 1) and even gains only, ordinal below."""
    graded = RBP(gains="graded")
    assert scale_of(graded(p=critical), length, grades).rank_based.scale is INTERVAL
    assert scale_of(graded(p=critical / 2), length, grades).rank_based.scale is ORDINAL
    assert scale_of(graded(p=critical + 0.3), length, grades).rank_based.scale is None


def test_graded_rbp_with_other_gains() -> None:
    even = {1: 0.25, 2: 0.5, 3: 0.75}
    assert scale_of(RBP(p=0.25, gains=even), 4, 3).rank_based.scale is INTERVAL
    uneven = {1: 0.25, 2: 0.5, 3: 1}
    # G = 1/4: ordinal up to G / (G + 1) = 1/5, and interval for no p.
    for p in (0.05, 0.15, 0.2):
        assert scale_of(RBP(p=p, gains=uneven), 4, 3).rank_based.scale is ORDINAL
    for p in (0.25, 0.3, 0.5):
        assert scale_of(RBP(p=p, gains=uneven), 4, 3).rank_based.scale is None


def test_example_of_section_5() -> None:
    """r = (a1, a0, a2, a0, a1) is below s = (a1, a1, a0, a0, a0) and scores better."""
    r, s = [1, 0, 2, 0, 1], [1, 1, 0, 0, 0]
    assert rbto([r], 2)[0] < rbto([s], 2)[0]
    scores = score_runs(DCG(discount="max(1,log2(rank))"), np.array([r, s]), grades=2)
    assert scores == pytest.approx([1 + 2 / log2(3) + 1 / log2(5), 2])
    assert value(ERR, r, 2) == Fraction(1, 4) + Fraction(3, 16) + Fraction(3, 320)
    assert value(ERR, s, 2) == Fraction(1, 4) + Fraction(3, 32)
    assert 5 * value(AP, r, 2) == 1 + Fraction(2, 3) + Fraction(3, 5)
    assert 5 * value(AP, s, 2) == 2
    graded = RBP(gains="graded")
    for p, better in ((0.453, False), (0.454, True), (0.8, True)):
        assert (value(graded(p=p), r, 2) > value(graded(p=p), s, 2)) == better
        exact = Fraction(repr(p))
        assert 2 * value(graded(p=p), r, 2) == (1 - exact) * (1 + 2 * exact**2 + exact**4)


@pytest.mark.parametrize("measure", [AP, DCG, DCG(discount="max(1,log2(rank))"), nDCG, ERR, RR])
@pytest.mark.parametrize(("length", "grades"), [(5, 1), (5, 2), (40, 1), (40, 3)])
def test_not_even_ordinal(measure: Measure, length: int, grades: int) -> None:
    found = scale_of(measure, length, grades)
    assert found.rank_based.scale is None
    assert found.rank_based.is_decided
    assert found.set_based.scale is None
    # And on their own order they are ordinal, and not interval (000, section 3.2).
    assert (found.own.scale, found.own.is_decided) == (ORDINAL, True)
    assert found.scale is ORDINAL


def test_dcg_with_base_10() -> None:
    for length in range(1, 11):
        found = scale_of(FLAT, length)
        assert found.is_exact
        assert found.own.scale is found.set_based.scale is INTERVAL
    for length in (11, 12, 40):
        found = scale_of(FLAT, length)
        assert found.own.scale is ORDINAL
        assert found.set_based.scale is None


# --- Witnesses, and proofs against enumeration ------------------------------------------------


def check_witness(
    verdict: ScaleVerdict, measure: Measure, grades: int, orders: dict[str, Callable[..., Any]]
) -> None:
    """A witness is what it says."""
    witness = verdict.witness
    if witness is None:
        assert verdict.scale is INTERVAL
        return
    sign = -1 if measure.info.lower_is_better else 1
    scores = sign * score_runs(measure, np.array(witness.runs), grades=grades)
    assert scores == pytest.approx([sign * float(one) for one in witness.values], abs=1e-12)
    rank = orders.get(verdict.order)
    ranks = np.zeros(4) if rank is None else rank(np.array(witness.runs), grades)
    if witness.kind == "gaps":
        assert verdict.scale is ORDINAL
        assert abs(scores[1] - scores[0]) != pytest.approx(abs(scores[3] - scores[2]), abs=1e-11)
        if rank is sbto:
            assert np.diff(ranks)[[0, 2]].tolist() == [1, 1]
        return
    assert verdict.scale is None
    if witness.kind == "distinguished":
        assert ranks[0] == ranks[1]
        assert scores[0] != pytest.approx(scores[1], abs=1e-11)
    else:
        assert ranks[0] < ranks[1]
        if witness.kind == "tied":
            assert scores[0] == pytest.approx(scores[1], abs=1e-11)
        else:
            assert scores[0] > scores[1] + 1e-11


ORDERS: dict[str, Callable[..., Any]] = {
    measure_scales.SET_BASED: sbto,
    measure_scales.RANK_BASED: rbto,
}
TEXTS = ["P@5", "R@2", "SetF", "SetE", "AP", "RR", "ERR", "nERR", "DCG", "nDCG@3", "gP@4", "gR@3"]
TEXTS += ["RBP(p=0.25)", "RBP(p=0.5)", "RBP(gains='graded', p=0.25)", "RBP(gains='graded', p=0.3)"]
TEXTS += ["DCG(discount='max(1,log3(rank))')", "DCG(gains='exponential')", "RBP(rel=2, p=0.5)"]
TEXTS += ["AP(rel=2)", "P(rel=2)@4", "RBP(gains={1: 1, 2: 1, 3: 1})", "gP(gains='exponential')@4"]


@pytest.mark.parametrize(
    ("length", "grades"), [(1, 1), (2, 1), (4, 1), (7, 1), (1, 3), (2, 2), (4, 3)]
)
@pytest.mark.parametrize("text", TEXTS)
def test_proofs_agree_with_looking_at_all_runs(
    text: str, length: int, grades: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = parse_measure(text)
    full = scale_of(measure, length, grades)
    for verdict in (full.own, full.set_based, full.rank_based):
        assert verdict.is_decided
        check_witness(verdict, measure, grades, ORDERS)
        assert verdict.order in str(full)
    monkeypatch.setattr(verdicts, "MAX_LISTED", 1)
    quick = scale_of(measure, length, grades)
    for one, other in zip(
        (quick.own, quick.set_based, quick.rank_based),
        (full.own, full.set_based, full.rank_based),
        strict=True,
    ):
        if one.is_decided:
            assert one.scale is other.scale, (one, other)
            if one.witness is not None:
                check_witness(one, measure, grades, ORDERS)
    assert quick.n_runs == full.n_runs


@settings(max_examples=30, deadline=None)
@given(
    st.integers(1, 6),
    st.lists(st.integers(1, 8), min_size=1, max_size=3),
    st.integers(1, 19),
    st.booleans(),
)
def test_additive_proofs_for_any_gains(
    length: int, steps: list[int], tenths: int, equal: bool
) -> None:
    """The kinds of steps between neighbours are complete: no case differs from enumeration."""
    gains = {grade: int(sum(steps[:grade])) / 24 for grade in range(1, len(steps) + 1)}
    measure = gP(gains=gains) @ length if equal else RBP(p=tenths / 20, gains=gains)
    grades = len(steps)
    if (grades + 1) ** length > 4096:
        return
    full = scale_of(measure, length, grades)
    found = find_form(measure, length, grades)
    assert found is not None
    assert isinstance(found.rank_sum, Additive)
    set_based, rank_based = decide_additive_orders(found, found.rank_sum, 1)
    assert rank_based.scale is full.rank_based.scale
    assert set_based.scale is full.set_based.scale
    assert is_form_evenly_spaced(found) is (full.own.scale is INTERVAL)


def test_only_the_ranks_and_gains_that_count() -> None:
    cases: list[tuple[Measure, int, int, Scale]] = [
        (RBP(p=0.5, rel=2), 30, 2, INTERVAL),
        (RBP(p=0.5) @ 30, 60, 1, INTERVAL),
        (RBP(p=0.5) @ 5, 60, 1, INTERVAL),
        (P @ 50, 90, 3, INTERVAL),
        (AP @ 6, 60, 1, ORDINAL),
        (AP(rel=2) @ 30, 60, 3, ORDINAL),
        (FLAT @ 10, 60, 1, INTERVAL),
        (RBP(p=0.5, gains="graded") @ 50, 60, 2, INTERVAL),
    ]
    for measure, length, grades, scale in cases:
        found = scale_of(measure, length, grades)
        assert (found.own.scale, found.own.is_decided) == (scale, True), measure
        assert found.rank_based.scale is None
        check_witness(found.own, measure, grades, ORDERS)


def test_undecided_is_said() -> None:
    found = scale_of(IPrec @ 0.5, 30)
    assert not found.own.is_decided
    assert found.own.scale is ORDINAL
    assert "not decided" in str(found)
    assert "up to length 18" in str(found)
    assert not found.is_exact
    assert "2^-40" in str(found)


def test_reports_read_well() -> None:
    report = scale_of(DCG @ 10)
    found = str(report)
    assert found.startswith("DCG@10 on runs of length 10 with grades 0 to 1 (1,024 runs)")
    assert "its own order: ordinal; not interval: the step from 0 to 0.289065, for" in found
    assert repr(report) == "ScaleReport(DCG@10, length=10, grades=1: ordinal)"
    assert len(repr(report.own.witness)) < 300
    assert "39 x 0" in str(scale_of(AP, 40))
    assert "scores better" in str(scale_of(SetE, 3).rank_based)


# --- Recall bases -----------------------------------------------------------------------------


def test_recall_base_leaves_runs_out() -> None:
    found = scale_of(RBP(p=0.5), 5, judgments=2)
    assert "recall base 2 (" in str(found)
    assert found.n_runs == 16
    # 11100 cannot be, and so 01100 and 10000 are neighbours.
    assert found.own.scale is ORDINAL
    assert scale_of(RBP(p=0.5), 5, judgments=5).own.scale is INTERVAL
    assert scale_of(P, 5, judgments=2).set_based.scale is INTERVAL
    graded = scale_of(DCG, 3, 2, judgments=[2, 1, 1])
    assert "grades 0 to 2, judgments (2, 1, 1) (" in str(graded)
    fits = [r for r in product(range(3), repeat=3) if r.count(2) <= 1 and r.count(1) <= 2]
    assert graded.n_runs == len(fits)


@pytest.mark.parametrize("base", [1, 2, [1, 1], [1, 2, 2]])
def test_number_of_feasible_runs(base: int | list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    full = scale_of(AP, 4, 2, judgments=base)
    monkeypatch.setattr(verdicts, "MAX_LISTED", 1)
    quick = scale_of(AP, 4, 2, judgments=base)
    assert quick.n_runs == full.n_runs
    for one, other in ((quick.own, full.own), (quick.rank_based, full.rank_based)):
        assert not one.is_decided or one.scale is other.scale


# --- Over topics: Ferrante, Ferro and Fuhr (2021), section 3.4 --------------------------------


def test_precision_recall_and_f_over_topics() -> None:
    for n, k in product(range(1, 5), repeat=2):
        assert (scale_over_topics(P, n, k).scale is INTERVAL) == (n <= 2)
        assert (scale_over_topics(SetP, n, k).scale is INTERVAL) == (n <= 2)
        assert (scale_over_topics(R, n, k).scale is INTERVAL) == (k <= 2)
        assert (scale_over_topics(SetF, n, k).scale is INTERVAL) == (n == k == 1)
    assert scale_over_topics(P, 12, 12).scale is ORDINAL


def test_triples_by_definition() -> None:
    for n, k in product(range(1, 5), repeat=2):
        triples = [
            (r, length, base)
            for length in range(1, n + 1)
            for base in range(1, k + 1)
            for r in range(min(length, base) + 1)
        ]
        formulas: list[tuple[Measure, Callable[[int, int, int], Fraction]]] = [
            (P, lambda r, length, _: Fraction(r, length)),
            (R, lambda r, length, base: Fraction(r, base)),
            (SetF, lambda r, length, base: Fraction(2 * r, length + base)),
        ]
        for measure, formula in formulas:
            expected = sorted({formula(*triple) for triple in triples})
            assert list(scale_over_topics(measure, n, k).values) == expected


def test_rank_based_measures_over_topics() -> None:
    """The paper supposes that these are no better; on S[1, 1] all are trivial."""
    trivial: list[Measure] = [AP, RR, nDCG, ERR, nERR, RBP]
    for measure in trivial:
        assert scale_over_topics(measure, 1, 1).scale is INTERVAL
    others: list[Measure] = [AP, RR, nDCG, RBP, DCG]
    for measure in others:
        found = scale_over_topics(measure, 4, 3)
        assert found.scale is ORDINAL
        assert found.witness is not None
        assert "not interval" in str(found)
    # RBP does not know the recall base; its values at p = 1/2 stay on one scale, once all can be.
    assert scale_over_topics(RBP(p=0.5), 4, 4).scale is INTERVAL
    assert scale_over_topics(RBP(p=0.5), 4, 2).scale is ORDINAL


def test_topics_of_one_length_or_recall_base() -> None:
    """Where the length is fixed P is interval, and where the recall base is, recall is."""
    assert scale_over_topics(P @ 5, 5, 7).scale is INTERVAL
    for base in (1, 4):
        assert scale_of(R, 5, judgments=base).own.scale is INTERVAL


# --- Bad input --------------------------------------------------------------------------------


def test_a_measure_that_has_no_room_for_the_grades() -> None:
    with pytest.raises(MeasureError, match="max_grade"):
        scale_of(ERR(max_grade=2), 4, 3)
