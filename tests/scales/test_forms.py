"""Forms give the measures' values; parts, sums and pairs are what counting by hand finds."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cranfield.measures import REGISTRY, parse_measure
from cranfield.scales.forms.exact_values import Walk, compute_exact_values, split_form
from cranfield.scales.forms.form import (
    ONE,
    Additive,
    Stateful,
    compute_inverse_log,
    find_root,
    scale_inverse_log,
)
from cranfield.scales.forms.measure_forms import FORMS, find_form
from cranfield.scales.images.representation import count_pairs
from cranfield.scales.images.sums import SummedImage
from cranfield.scales.images.values import image
from cranfield.scales.runs import all_runs, score_runs

TEXTS = [
    *("P@3", "P(rel=0)@9", "R@4", "RelP@3", "Success@2", "Rprec", "Rprec(multiple=0.4)", "RR"),
    *("SetP", "SetR", "SetRelP@3", "SetAP", "SetF(beta=0.5)", "SetE@3", "NumRelRet@2"),
    *("Utility(a=3, b=-2, c=-1, d=0.25, docs=100)", "AP", "AP(rel=2)@4", "GMAP"),
    *("AP(denominator='min')@2", "GMAP@3"),
    *("DCG", "DCG@3", "DCG(gains='exponential')", "DCG(gains={0: 0.1, 1: -0.5, 2: 3})"),
    *("DCG(discount='max(1,log3(rank))')", "DCG(discount='1+log2.5(rank)')"),
    *("nDCG@3", "nDCG(ideal='full')@3", "nDCG(discount='max(1,log10(rank))')"),
    *("RBP", "RBP(rel=2, p=0.5)", "RBP(gains='graded')", "RBP(gains={0: 0.1, 1: 0.3}, p=0.95)"),
    *("gP@3", "gP(gains='exponential', max_grade=3)@4", "gP(gains={1: 2, 2: -1})@3", "gR@4"),
    *("gR(gains={0: 0.1, 2: 7})@2", "RBP(gains='graded', p=0.3333333333333333)", "SetF(beta=0.3)"),
    *("RBP(gains='graded', max_grade=4)", "ERR", "ERR(max_grade=5)@4", "nERR", "nERR@3"),
    *("ERR(gains='linear', max_grade=4)", "nERR(gains={0: 0.5, 1: 3, 2: 1})@3"),
    *("uM(clicks={0: 0.25, 1: 0.5, 2: 0.75}, satisfies={1: 0.5, 2: 1}, gamma=0.875)@4",),
    *("rrM(clicks={1: 0.5, 2: 0.75}, satisfies={1: 0.5})", "uM(clicks={1: 0.5}, examined={1: 1})"),
    "EBU(clicks={0: 0.25, 1: 0.5}, leaves={1: 0.5, 2: 1}, gamma=0.9375)@3",
    "uDCM(clicks={0: 0.25, 1: 0.5}, continues={1: 0.75, 2: 0.5})",
    "rrDCM(clicks={1: 0.5, 2: 1}, continues={1: 0.75, 2: 0.5})",
    "uCCM(clicks={0: 0.25, 1: 0.5}, tau1=0.75, tau2=0.875, tau3=0.25)",
    "rrCCM(clicks={1: 0.5, 2: 1}, tau1=0.75, tau2=0.875, tau3=0.25)@3",
]

GRADED = [
    *("Q", "Q(beta=0)@4", "Q(beta=2.5, rel=2, denominator='R')@4"),
    *("Q(gains='exponential')@3", "NCU", "NCU(stopping='graded')@4", "NCU(gamma=1)", "EBR"),
    *("NCU(stopping='graded', stops={1: 0, 2: 3})", "NCU(gamma=0.5, utility='P')@3", "EBR(rel=2)"),
    *("EBR(gains='exponential', max_grade=4)@4", "OMeasure", "OMeasure(beta=10)@3"),
    *("OMeasure(rel=0)", "PMeasure", "PMeasure(gains={1: 3, 2: 1})@4", "PMeasure(rel=0)@4"),
    *("PPlus(rel=2)", "RMeasure", "RMeasure(beta=0.1)", "gAP", "gAP@3"),
    *("gAP(gains='exponential', denominator='R')@3", "GAP", "GAP(thresholds='linear')@3"),
    *("GAP(thresholds={2: 1})", "GAP(thresholds={1: 0.3, 2: 0.7}, denominator='R')@3", "WRR"),
    *("WRR(betas={1: 5, 2: 1.5})@4", "WRR(max_grade=4, rel=2)", "iRBU", "iRBU(p=0.5)@3", "INSQ"),
    *("INSQ(T=2.5, depth=4)", "INSQ(gains='graded')@3", "SDCG@3", "SDCG(gains={1: 0.2, 2: 1})@9"),
    *("NERR8@4", "NERR9@5", "NERR10(p=0.3)", "NERR11(T=2)@4", "NERR10(gains={1: 0, 2: 1})"),
    *("BPM", "BPM(T=2, K=3)", "BPM(K=7.5, gains={1: 0.5})@3", "BPM(T=0)", "BPM(T=50, K=5000)"),
    *("BPMDynamic", "BPMDynamic(T=2, hb=0.25, hc=2, median=0.25, gains='graded')"),
    *("BPMDynamic(T=8, K=40)@4", "EU(P@3)", "EU(RBP)", "ETU(RBP(p=0.3))", "EU(RBP, depth=3)"),
    *("EU(SDCG@4, depth=3)", "ETU(SDCG@4)", "EU(RR)", "ETU(RR@3)", "ETU(ERR)", "ETU(ERR@3)"),
    *("ETU(NERR9(gains='graded')@4)", "ETU(NERR11(gains='graded'))", "EU(NERR10, depth=3)"),
    *("ETU(INSQ)", "EU(INSQ(T=3))", "ETU(BPM(T=2))", "EU(BPM(T=2, K=9), depth=3)"),
    *("EU(RBP, depth=3000)", "EU(INSQ, depth=3000)"),
]


SOME: list[tuple[str, Any]] = [(text, one) for text in GRADED for one in ([2, 1, 1, 0, 0], [1])]


@pytest.mark.parametrize(
    ("text", "judgments"),
    [*((text, one) for text in TEXTS for one in (None, 3, 9, [2, 1, 1, 0, 0], [0, 0])), *SOME],
)
def test_forms_give_the_values(text: str, judgments: Any) -> None:
    measure = parse_measure(text)
    runs = all_runs(5, 2)
    scores = score_runs(measure, runs, grades=2, judgments=judgments)
    found = find_form(measure, 5, 2, judgments)
    assert found is not None
    if isinstance(found.rank_sum, Additive):
        raw = found.rank_sum.compute_weights()[np.arange(5), runs].sum(axis=1)
    else:
        walk = Walk.from_form(found.rank_sum)
        raw = walk.compute_values(runs) * float(walk.unit)
    assert found.offset + found.unit * raw == pytest.approx(scores, rel=1e-12, abs=1e-12)
    exact = compute_exact_values(measure, runs, 2, judgments)
    values = np.array([float(exact.get_value(index)) for index in range(exact.size)])
    assert exact.is_exact and (np.diff(values) > 0).all()
    assert values[exact.index] == pytest.approx(scores, rel=1e-12, abs=1e-12)


def test_every_form_is_tested() -> None:
    tested = {type(parse_measure(text)) for text in [*TEXTS, *GRADED]}
    assert tested == set(FORMS) <= set(REGISTRY.values())


@pytest.mark.parametrize(
    "text",
    [
        *("PPlus", "NERR10(gains='graded')", "EU(ERR)", "EU(AP)", "INST", "EU(INST)", "ETU(INST)"),
        *("Depth(BPM)", "EC(RBP)", "BPM(gains={1: 0.3})", "BPMDynamic(median=0.1)", "MP", "binG"),
    ],
)
def test_others_have_none(text: str) -> None:
    assert find_form(parse_measure(text), 5, 2) is None


@given(st.fractions(min_value=Fraction(11, 10), max_value=500, max_denominator=50))
def test_roots(x: Fraction) -> None:
    r, power = find_root(x)
    assert r**power == x
    assert find_root(r) == (r, 1)
    assert compute_inverse_log(r) == pytest.approx(1 / log(r), rel=1e-13)


def test_precise_inverse_logarithms() -> None:
    assert scale_inverse_log(ONE, 10) == 1024
    long, short = (
        scale_inverse_log(Fraction(3), 4000),
        scale_inverse_log(Fraction(3), 200),
    )
    assert abs((long >> 3800) - short) <= 1
    # 1 / ln 2 = log2 e, to more digits than a float has.
    assert str(scale_inverse_log(Fraction(2), 400) * 10**40 >> 400).startswith(
        "144269504088896340735992468100"
    )


def test_cascade_stops_with_the_chance_of_the_paper() -> None:
    found = find_form(parse_measure("ERR@3"), 5, 2)
    assert found is not None
    shape = found.rank_sum
    assert isinstance(shape, Stateful)
    assert shape.step(2, Fraction(1, 4), 2) == (Fraction(3, 32), Fraction(1, 16))
    # All are alike where nothing counts any more.
    assert shape.step(4, Fraction(1, 4), 2) == (Fraction(0), Fraction(1))


@pytest.mark.parametrize(
    ("text", "rises"),
    [
        ("DCG", True),
        ("DCG(gains={1: 2, 2: 1})", False),
        ("ERR", True),
        ("ERR(gains={1: 2, 2: 1})", False),
        # Not known of other forms with a state.
        ("AP", False),
    ],
)
def test_a_better_grade_is_known_not_to_be_worse(text: str, rises: bool) -> None:
    found = find_form(parse_measure(text), 3, 2)
    assert found is not None and found.rank_sum.is_monotone is rises


@given(
    st.lists(st.lists(st.integers(-6, 12), min_size=3, max_size=3), min_size=1, max_size=5),
    st.lists(st.sampled_from([Fraction(1), Fraction(2), Fraction(3)]), min_size=5, max_size=5),
    st.one_of(st.none(), st.integers(0, 3)),
)
def test_parts_have_the_sums(weights: Any, bases: Any, limit: int | None) -> None:
    rows = tuple(tuple(Fraction(one, 4) for one in row) for row in weights)
    shape = Additive(tuple(bases[: len(rows)]), rows)
    limit = None if limit is None or limit >= len(rows) else limit
    held = SummedImage(split_form(shape, 1), limit, 2**20, 1)
    runs = [
        run
        for run in product(range(3), repeat=len(rows))
        if limit is None or sum(grade > 0 for grade in run) <= limit
    ]

    def key(run: Any) -> Any:
        total = dict.fromkeys(bases, Fraction(0))
        for row, base, grade in zip(rows, bases, run, strict=False):
            total[base] += row[grade]
        return tuple(total.items())

    def value(total: Any) -> int:
        return sum(int(factor * 4) * scale_inverse_log(base, 300) for base, factor in total)

    counts = Counter(map(key, runs))
    ordered = sorted(counts, key=value)
    rank = {one: index + 1 for index, one in enumerate(ordered)}
    assert held.size == len(ordered) and held.n_runs == len(runs)
    assert held.rank_runs(np.array(runs)).tolist() == [rank[key(run)] for run in runs]
    below, same = held.count_lower_and_equal(np.array(runs))
    assert same.tolist() == [counts[key(run)] for run in runs]
    before = {one: sum(counts[other] for other in ordered[: rank[one] - 1]) for one in ordered}
    assert below.tolist() == [before[key(run)] for run in runs]
    steps = {b - a for a, b in zip(map(value, ordered), map(value, ordered[1:]), strict=False)}
    # Steps of irrational numbers agree but for the last of their 300 digits.
    equal = max(steps, default=0) - min(steps, default=0) <= 1000
    assert held.find_gaps().is_equispaced == equal


@given(
    st.lists(st.integers(-40, 40), min_size=1, max_size=300),
    st.lists(st.integers(-40, 40), min_size=1, max_size=20),
    st.lists(st.integers(-90, 90), min_size=1, max_size=10),
    st.integers(0, 2),
)
def test_pairs_are_counted(inner: Any, outer: Any, x: Any, slack: int) -> None:
    inner, outer, x = np.sort(inner) * 1.0, np.sort(outer) * 1.0, np.array(x) * 1.0
    n_below, pairs = count_pairs(inner, outer, x, float(slack), jobs=1)
    sums = (outer[:, None] + inner[None, :]).ravel()
    assert n_below.tolist() == [(sums < one - slack).sum() for one in x]
    near = Counter(pairs.query.tolist())
    assert [near[i] for i in range(x.size)] == [(abs(sums - one) <= slack).sum() for one in x]
    assert (abs(outer[pairs.outer] + inner[pairs.inner] - x[pairs.query]) <= slack).all()


def test_an_image_of_every_recall_base_is_held_once() -> None:
    one, other = image("AP", 8, judgments=3), image("AP", 8, judgments=5)
    assert one._representation is other._representation
    assert one.values() * 3 == pytest.approx(other.values() * 5)
