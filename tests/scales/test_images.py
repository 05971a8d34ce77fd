"""Images are what going through all runs finds, to the last tie."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cranfield.errors import MeasureError, PolicyError
from cranfield.measures import define, parse_measure
from cranfield.scales import image as images
from cranfield.scales import walk, windows
from cranfield.scales.image import image
from cranfield.scales.runs import all_runs, score_runs
from tests.scales.exhaustive import Everything, Run, ap, binary, dcg, err, rational, rbp, rr

PLAIN = [Fraction(g) for g in range(4)]
STEEP = [Fraction(2**g - 1) for g in range(4)]


def shift(rank: int) -> Fraction:
    return Fraction(rank + 1)


def patience(base: str) -> Callable[[int], Fraction]:
    return lambda rank: max(Fraction(base), Fraction(rank))


def added(base: str) -> Callable[[int], Fraction]:
    return lambda rank: Fraction(base) * rank


def found(rel: int = 1) -> Any:
    return rational(lambda run: sum(binary(run, rel)))


GRADED = [
    ("P(rel=2)@7", 7, 3, found(2)),
    ("P@3", 5, 3, rational(lambda run: sum(binary(run[:3])))),
    ("R@6", 6, 3, found()),
    ("RelP@6", 6, 2, found()),
    ("Success@4", 6, 2, rational(lambda run: any(binary(run[:4])))),
    ("Rprec", 6, 2, found()),
    ("RR(rel=2)", 7, 3, rational(lambda run: rr(run, 2))),
    ("SetP", 6, 3, found()),
    ("SetR", 6, 3, found()),
    ("SetRelP", 6, 3, found()),
    ("SetAP", 6, 3, rational(lambda run: sum(binary(run)) ** 2)),
    ("SetF(beta=2)", 6, 3, found()),
    ("SetE", 6, 3, rational(lambda run: -sum(binary(run)))),
    ("Utility(a=2, b=-0.5)", 6, 3, found()),
    ("Utility(a=-2)", 6, 3, rational(lambda run: -sum(binary(run)))),
    ("NumRelRet", 6, 3, found()),
    ("AP", 7, 3, rational(ap)),
    ("AP(rel=3)@5", 7, 3, rational(lambda run: ap(run[:5], 3))),
    ("GMAP", 5, 3, rational(ap)),
    ("DCG", 7, 3, dcg(shift, PLAIN)),
    ("DCG(gains='exponential')@6", 6, 3, dcg(shift, STEEP)),
    ("DCG(gains={1: 0.5, 2: 0.7, 3: 1.2})", 7, 3, dcg(shift, [Fraction(x) for x in ("0", ".5", ".7", "1.2")])),
    ("DCG(discount='max(1,log2(rank))')", 7, 3, dcg(patience("2"), PLAIN)),
    ("DCG(discount='max(1,log10(rank))', gains='exponential')", 7, 3, dcg(patience("10"), STEEP)),
    ("DCG(discount='max(1,log2.5(rank))')", 7, 3, dcg(patience("2.5"), PLAIN)),
    ("DCG(discount='1+log2(rank)')", 7, 3, dcg(added("2"), PLAIN)),
    ("DCG(discount='log3(rank+1)')", 6, 3, dcg(shift, PLAIN)),
    ("nDCG@6", 6, 3, dcg(shift, PLAIN)),
    ("RBP", 7, 3, rational(rbp("4/5", [Fraction(g > 0) for g in range(4)]))),
    ("RBP(gains='graded')", 7, 3, rational(rbp("4/5", [Fraction(g, 3) for g in range(4)]))),
    ("RBP(gains='graded', p=0.5)", 7, 3, rational(rbp("1/2", [Fraction(g, 3) for g in range(4)]))),
    ("RBP(gains='graded', max_grade=4, p=0.2)", 7, 3, rational(rbp("1/5", [Fraction(g, 4) for g in range(4)]))),
    ("RBP(gains='graded', p=0.75)", 7, 3, rational(rbp("3/4", [Fraction(g, 3) for g in range(4)]))),
    ("RBP(gains={1: 0.25, 2: 0.5, 3: 1}, p=0.25)", 7, 3, rational(rbp("1/4", [Fraction(x) for x in ("0", ".25", ".5", "1")]))),
    ("RBP(gains={1: 0.1, 3: 0.6}, p=0.4)", 6, 3, rational(rbp("2/5", [Fraction(x) for x in ("0", ".1", "0", ".6")]))),
    ("ERR", 7, 3, rational(lambda run: err(run, 3))),
    ("ERR(max_grade=12)", 6, 2, rational(lambda run: err(run, 12))),
    ("nERR@4", 6, 2, rational(lambda run: err(run[:4], 2))),
]  # fmt: skip
BINARY = [
    ("P@12", 12, 1, found()),
    ("AP", 12, 1, rational(ap)),
    ("AP", 13, 1, rational(ap)),
    ("RR", 11, 1, rational(rr)),
    ("DCG", 13, 1, dcg(shift, PLAIN)),
    ("DCG(discount='max(1,log2(rank))')", 14, 1, dcg(patience("2"), PLAIN)),
    ("DCG(discount='max(1,log4(rank))')", 10, 1, dcg(patience("4"), PLAIN)),
    ("DCG(discount='max(1,log10(rank))')", 12, 1, dcg(patience("10"), PLAIN)),
    ("DCG(discount='1+log4(rank)')", 12, 1, dcg(added("4"), PLAIN)),
    ("nDCG(discount='1+log10(rank)')@11", 11, 1, dcg(added("10"), PLAIN)),
    ("RBP(p=0.5)", 12, 1, rational(rbp("1/2", PLAIN))),
    ("RBP(p=0.3)", 12, 1, rational(rbp("3/10", PLAIN))),
    ("RBP", 13, 1, rational(rbp("4/5", PLAIN))),
    ("RBP(p=0.95)", 12, 1, rational(rbp("19/20", PLAIN))),
    ("ERR", 12, 1, rational(lambda run: err(run, 1))),
]  # fmt: skip


def same(found_: images.Image, every: Everything) -> None:
    """Check size, ranks of all runs under all policies, values and gaps."""
    assert found_.exact and found_.error == 0
    assert found_.size == len(every.sizes)
    assert found_.runs == len(every.runs)
    assert found_.rank_runs(every.runs).tolist() == every.unique
    assert found_.rank_runs(every.runs, "min").tolist() == every.low
    assert found_.rank_runs(every.runs, "max").tolist() == every.high
    mid = [(low + high) / 2 for low, high in zip(every.low, every.high, strict=True)]
    assert found_.rank_runs(every.runs, "mid").tolist() == mid
    gaps = found_.gaps()
    assert gaps.equispaced == (len(set(every.gaps)) <= 1)
    if every.gaps:
        # The values of `every` are those of the measure but for a unit.
        scale = float(every.sizes[-1] - every.sizes[0]) / (gaps.highest - gaps.lowest)
        assert gaps.smallest * scale == pytest.approx(float(min(every.gaps)), rel=1e-9)
        assert gaps.largest * scale == pytest.approx(float(max(every.gaps)), rel=1e-9)


@pytest.mark.parametrize(("text", "length", "grades", "value"), GRADED + BINARY)
def test_all_runs(text: str, length: int, grades: int, value: Any) -> None:
    found_ = image(text, length, grades)
    every = Everything(value, length, grades)
    same(found_, every)
    values = found_.values()
    assert (np.diff(values) > 0).all()
    scores = score_runs(parse_measure(text), np.array(every.runs), grades=grades)
    assert values[found_.rank_runs(every.runs) - 1] == pytest.approx(scores, rel=1e-12, abs=1e-14)
    assert found_.rank(values).tolist() == list(range(1, found_.size + 1))
    assert found_.rank(scores).tolist() == every.unique


@pytest.mark.parametrize(("text", "length", "grades", "value"), GRADED)
@pytest.mark.parametrize("limit", [0, 2])
def test_few_relevant_documents(text: str, length: int, grades: int, value: Any, limit: int) -> None:
    measure = parse_measure(text)
    rel = getattr(measure, "rel", 1)
    length = min(length, 5)

    def keep(run: Run) -> bool:
        return sum(binary(run, rel)) <= limit

    same(image(text, length, grades, at_most=limit), Everything(value, length, grades, keep))
