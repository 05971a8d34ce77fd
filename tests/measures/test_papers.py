"""The worked examples of the papers, with the values that are printed there."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import cranfield as cf

FIGURE_7 = {1: 1, 3: 1, 4: 1, 8: 1}
"""Ferro and Maistro (2024), figure 7: relevant documents by rank, in a run of 10; RB = 8."""

FIGURE_11 = {1: 3, 3: 1, 4: 2, 8: 2}
"""Figure 11: grades by rank; the ideal run is 3, 3, 2, 2, 2, 1, 1, 1."""


def value(
    measure: str, at_rank: dict[int, int], not_retrieved: list[int], length: int = 10, **policy: Any
) -> float:
    run = {"t": {f"d{rank}": float(-rank) for rank in range(1, length + 1)}}
    grades = {f"d{rank}": at_rank.get(rank, 0) for rank in range(1, length + 1)}
    grades |= {f"m{i}": grade for i, grade in enumerate(not_retrieved)}
    return float(cf.evaluate(run, {"t": grades}, measure, **policy)[measure].values[0, 0])


@pytest.mark.parametrize(
    ("measure", "expected"),
    [("SetP", 0.40), ("SetR", 0.50), ("P@5", 0.600), ("R@5", 0.375), ("Rprec", 0.50)],
)
def test_figure_7_precision_and_recall(measure: str, expected: float) -> None:
    assert value(measure, FIGURE_7, [1] * 4) == pytest.approx(expected, abs=1e-15)


def test_figure_7_average_precision() -> None:
    ap = value("AP", FIGURE_7, [1] * 4)
    assert ap == pytest.approx(float(Fraction(35, 96)), abs=1e-15)
    assert round(ap, 2) == 0.36


def test_figure_11_cumulated_gain() -> None:
    burn_in = "discount='max(1,log2(rank))'"
    missed = [3, 2, 1, 1]
    assert value(f"DCG({burn_in})", FIGURE_11, missed) == pytest.approx(5.2976, abs=5e-5)
    # The printed value is the quotient of the rounded ones to 4 decimals.
    assert value(f"nDCG({burn_in})", FIGURE_11, missed) == pytest.approx(0.5194, abs=5e-5)
    ideal = dict(enumerate([3, 3, 2, 2, 2, 1, 1, 1], 1))
    assert value(f"DCG({burn_in})", ideal, [], 8) == pytest.approx(10.1996, abs=5e-5)
    assert value(f"nDCG({burn_in})", ideal, [], 8) == 1.0


def test_figures_8_and_9_interpolated_precision() -> None:
    """RB = 5; Run1 has P = .66 first at R = .4, ranks 3 and 4, and 60% precision at 60% recall."""
    run_1 = {1: 1, 3: 1, 5: 1}
    assert value("IPrec@0.3", run_1, [1] * 2) == pytest.approx(2 / 3)
    assert value("IPrec@0.4", run_1, [1] * 2) == pytest.approx(2 / 3)
    assert value("IPrec@0.6", run_1, [1] * 2) == pytest.approx(0.6)
    assert value("IPrec@0.7", run_1, [1] * 2) == 0


def test_sakai_e_measure_is_one_minus_f() -> None:
    """Sakai (2013), equations (1) to (5): |A u B| - |A n B| over |A| + |B| for beta = 1."""
    union, both, a, b = 14, 4, 8, 10
    assert value("SetE", FIGURE_7, [1] * 4) == pytest.approx((union - both) / (a + b))
    assert value("SetF", FIGURE_7, [1] * 4) == pytest.approx(1 - (union - both) / (a + b))


def test_sakai_ndcg_discounts() -> None:
    """Section 2.2: a highly relevant document has 3 / log2(2) = 3 at rank 1, 3 / log2(8) at 7."""
    assert value("DCG", {1: 3}, []) == 3
    assert value("DCG", {7: 3}, []) == 1
    # With base 10 the original does not tell rank 1 from rank 10.
    burn_in = "DCG(discount='max(1,log10(rank))')"
    assert value(burn_in, {1: 3}, []) == value(burn_in, {10: 3}, []) == 3


def test_sakai_average_precision_of_a_small_depth() -> None:
    """Equation (10): 1 / min(l, R), so that the top 5 of 8 relevant can reach 1."""
    perfect = dict.fromkeys(range(1, 6), 1)
    assert value("AP@5", perfect, [1] * 3) == pytest.approx(5 / 8)
    assert value("AP(denominator='min')@5", perfect, [1] * 3) == 1


def test_sakai_condensed_list() -> None:
    """Section 2.2: unjudged, judged nonrelevant, judged relevant; AP' sees ranks 1 and 2."""
    run = {"t": {"u": 3.0, "n": 2.0, "r": 1.0}}
    qrels = {"t": {"n": 0, "r": 1}}
    assert cf.evaluate(run, qrels, "AP")["AP"].values[0, 0] == pytest.approx(1 / 3)
    condensed = cf.evaluate(run, qrels, "AP", unjudged="condensed")
    assert condensed["AP"].values[0, 0] == 0.5
    alone = "AP(judged_only=True)"
    assert cf.evaluate(run, qrels, alone)[alone].values[0, 0] == 0.5


def test_sakai_bpref_changes_by_the_same_step_everywhere() -> None:
    """Equations (22), (23) with R = N = 500: from rank 2 to 1, and 100 to 99, always 0.002."""
    others = 499
    for rank in (2, 100):
        values = []
        for at in (rank, rank - 1):
            run = {"t": {f"d{i}": -float(i) for i in range(1, 501)}}
            qrels = {f"d{i}": int(i == at) for i in range(1, 501)}
            qrels |= {"extra": 0} | {f"m{i}": 1 for i in range(others)}
            for form in ("R", "N"):
                measure = f"Bpref(form='{form}')"
                scores = cf.evaluate(run, {"t": qrels}, measure)
                values.append(float(scores[measure].values[0, 0]) * 500)
        assert values[0] == pytest.approx(1 - (rank - 1) / 500)
        assert values[2] - values[0] == pytest.approx(0.002)
        assert values[1] == pytest.approx(values[0])
        assert values[3] == pytest.approx(values[2])


def test_sakai_err_example() -> None:
    """ERR of the highest of three grades at rank 1: it satisfies with probability 7/8."""
    assert value("ERR(max_grade=3)", {1: 3}, []) == 0.8750
    assert value("ERR(max_grade=3)", {1: 3, 2: 3}, []) - 0.8750 == pytest.approx(
        0.5 * 0.125 * 0.875
    )


def test_rank_biased_precision_and_its_residual() -> None:
    """Moffat and Zobel (2008): the base and the residual add up to the best possible score."""
    run = {"t": {"a": 3.0, "u": 2.0, "b": 1.0}}
    qrels = {"t": {"a": 1, "b": 0}}
    ev = cf.evaluate(
        run, qrels, ["RBP(p=0.5)", "RBPResidual(p=0.5)", "RBPResidual(p=0.5, part='tail')"]
    )
    base, residual, tail = (float(scores.values[0, 0]) for scores in ev.values())
    assert (base, residual, tail) == (0.5, 0.25 + 0.125, 0.125)
