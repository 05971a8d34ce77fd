"""Exact values of measures: rational, irrational, and the same for images and for scales."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cranfield.base.errors import PolicyError
from cranfield.base.scale_types import Scale
from cranfield.measures import AP, DCG, RBP, P, nDCG, parse_measure
from cranfield.scales import verdicts
from cranfield.scales.forms.exact_values import compute_exact_values
from cranfield.scales.forms.form import Irrational
from cranfield.scales.images.values import image
from cranfield.scales.measure_scales import scale_of, scale_over_topics
from cranfield.scales.orders import induced_order
from cranfield.scales.runs import all_runs, as_measure, score_runs
from tests.scales.test_forms import GRADED, TEXTS

INTERVAL = Scale.INTERVAL


def test_exact_means_exact() -> None:
    """Values that floats cannot tell apart, and values that floats split."""
    close = compute_exact_values(
        RBP(p=0.5), np.eye(70, dtype=int)[[0, 69]] | np.eye(70, dtype=int)[0]
    )
    assert close.size == 2
    low, high = close.get_value(0), close.get_value(1)
    assert isinstance(low, Fraction) and isinstance(high, Fraction)
    assert high - low == Fraction(1, 2**70)
    assert compute_exact_values(AP, all_runs(10)).size == 810
    assert compute_exact_values(DCG(discount="max(1,log2(rank))"), all_runs(10)).size == 768


@pytest.mark.parametrize(
    ("number", "base", "expected"),
    [
        (8, "2", 3),
        (8, "4", Fraction(3, 2)),
        (27, "9", Fraction(3, 2)),
        (3, "2", None),
        (100, "10", 2),
        (5, "4.5", None),
    ],
)
def test_rational_logarithms(number: int, base: str, expected: Fraction | None) -> None:
    """Discounts that are rational give rational values, others irrational ones."""
    measure = parse_measure(f"DCG(discount='max(1,log{base}(rank))')")
    run = np.array([[*[0] * (number - 1), 1]])
    found = compute_exact_values(measure, run).get_value(0)
    if expected is None:
        assert isinstance(found, Irrational)
        assert float(found) == pytest.approx(score_runs(measure, run)[0], rel=1e-15)
    else:
        assert found == 1 / Fraction(expected)


# --- One definition of a measure: images and scales agree -------------------------------------

SIZES = [(1, 1), (2, 1), (4, 1), (7, 1), (2, 2), (4, 2)]


@pytest.mark.parametrize(
    ("text", "length", "grades"),
    [(text, *size) for text in TEXTS for size in SIZES]
    + [(text, *size) for text in GRADED for size in ((1, 1), (6, 1), (3, 2))],
)
def test_images_and_scales_agree(
    text: str, length: int, grades: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = scale_of(text, length, grades)
    values = image(text, length, grades)
    assert found.is_exact
    assert (found.own.scale is INTERVAL) == values.find_gaps().is_equispaced
    own = compute_exact_values(as_measure(text, length), all_runs(length, grades), grades)
    assert own.size == values.size
    monkeypatch.setattr(verdicts, "MAX_LISTED", 1)
    proved = scale_of(text, length, grades).own
    assert not proved.is_decided or proved.scale is found.own.scale


def test_a_third_is_a_third() -> None:
    for length in (4, 30):
        assert scale_of(RBP(gains="graded", p=1 / 3), length, 2).own.scale is INTERVAL
    assert image(RBP(gains="graded", p=1 / 3), 4, 2).find_gaps().is_equispaced
    assert not image(RBP(gains="graded", p=0.333333), 4, 2).find_gaps().is_equispaced


# --- Irrational values ------------------------------------------------------------------------


def test_irrational_numbers_are_ordered_and_subtracted() -> None:
    runs = all_runs(5, 2)
    for text in ("DCG", "nDCG", "DCG(gains={0: -0.3, 1: 0.2, 2: 0.5})"):
        found = compute_exact_values(parse_measure(text), runs, 2)
        numbers = [found.get_value(index) for index in range(found.size)]
        floats = np.array([float(one) for one in numbers])
        assert (np.diff(floats) > 0).all()
        rng = np.random.default_rng(4)
        for one, other in rng.integers(0, found.size, (200, 2)).tolist():
            a: Any = numbers[one]
            b: Any = numbers[other]
            assert (a < b, a > b, a == b) == (one < other, one > other, one == other)
            assert float(a - b) == pytest.approx(floats[one] - floats[other], abs=1e-12)
            assert abs(a - b) == abs(b - a)
    # The values of DCG come from rational multiples of logarithms; sums of these may be rational.
    a, b = (compute_exact_values(DCG, np.array([run])).get_value(0) for run in ([1, 1], [0, 1]))
    assert a - b == 1


def test_values_that_nearly_tie_are_told_apart() -> None:
    """A gain so that two runs of DCG differ by less than floats show: 10^9 / log2(3), nearly."""
    close = 630929753.5714574
    runs = np.array([[2, 0], [0, 1]])
    for gain in (close, close + 2.0**-23):
        measure = DCG(gains={1: 1e9, 2: gain})
        found = compute_exact_values(measure, runs, 2)
        assert found.size == 2
        with localcontext() as context:
            context.prec = 50
            exact = 10**9 * Decimal(2).ln() / Decimal(3).ln()
            first = Decimal(repr(gain)) > exact
        assert found.index.tolist() == ([1, 0] if first else [0, 1])
    scores = score_runs(DCG(gains={1: 1e9, 2: close}), runs, grades=2)
    assert abs(scores[0] - scores[1]) <= 2.0**-23  # a unit in the last place


def test_different_divisors_are_not_subtracted() -> None:
    with pytest.raises(PolicyError, match="divisors"):
        one, other = (
            compute_exact_values(nDCG, np.array([[0, 1, 0]]), 1, k).get_value(0) for k in (2, 3)
        )
        assert isinstance(one, Irrational) and isinstance(other, Irrational)
        one - other


def test_measures_by_their_text() -> None:
    for text, measure in (("P", P), ("nDCG", nDCG), ("AP", AP)):
        one, other = scale_over_topics(text, 3, 2), scale_over_topics(measure, 3, 2)
        assert str(one) == str(other)
        assert one.values == other.values
    runs = all_runs(3)
    assert induced_order("P", runs).tolist() == induced_order(P @ 3, runs).tolist()
    assert scale_over_topics("DCG", 4, 3).is_exact
    assert not scale_over_topics("nDCG", 4, 3).is_exact
