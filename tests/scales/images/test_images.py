"""Images are what going through all runs finds, to the last tie."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from cranfield.measures import REGISTRY, define, parse_measure
from cranfield.scales.forms import exact_values
from cranfield.scales.forms.form import Additive
from cranfield.scales.forms.measure_forms import find_form
from cranfield.scales.images import representation, sums, windows
from cranfield.scales.images import sums as lexicographic
from cranfield.scales.images import sums as sides
from cranfield.scales.images import values as making
from cranfield.scales.images import windows as halves
from cranfield.scales.images.representation import Gaps
from cranfield.scales.images.values import Image, image
from cranfield.scales.images.windows import WindowedImage
from cranfield.scales.runs import all_runs, score_runs
from tests.scales.exhaustive import Everything, Run, ap, binary, dcg, err, rational, rbp, rr

PLAIN = [Fraction(g) for g in range(4)]
THIRDS = [Fraction(g, 3) for g in range(4)]
STEEP = [Fraction(2**g - 1) for g in range(4)]


def numbers(*texts: str) -> list[Fraction]:
    return [Fraction(text) for text in texts]


def shift(rank: int) -> Fraction:
    return Fraction(rank + 1)


def patience(base: str) -> Callable[[int], Fraction]:
    return lambda rank: max(Fraction(base), Fraction(rank))


def added(base: str) -> Callable[[int], Fraction]:
    return lambda rank: Fraction(base) * rank


def user(p: str, gains: list[Fraction]) -> Any:
    return rational(rbp(p, gains))


def found(rel: int = 1) -> Any:
    return rational(lambda run: sum(binary(run, rel)))


GRADED = [
    ("P(rel=2)@5", 5, 3, found(2)),
    ("P@3", 5, 3, rational(lambda run: sum(binary(run[:3])))),
    ("R@5", 5, 3, found()),
    ("RelP@5", 5, 2, found()),
    ("Success@4", 5, 2, rational(lambda run: any(binary(run[:4])))),
    ("Rprec", 5, 2, found()),
    ("RR(rel=2)", 5, 3, rational(lambda run: rr(run, 2))),
    ("SetP", 5, 3, found()),
    ("SetR", 5, 3, found()),
    ("SetRelP", 5, 3, found()),
    ("SetAP", 5, 3, rational(lambda run: sum(binary(run)) ** 2)),
    ("SetF(beta=2)", 5, 3, found()),
    ("SetE", 5, 3, rational(lambda run: -sum(binary(run)))),
    ("Utility(a=2, b=-0.5)", 5, 3, found()),
    ("Utility(a=-2)", 5, 3, rational(lambda run: -sum(binary(run)))),
    ("NumRelRet", 5, 3, found()),
    ("AP", 5, 3, rational(ap)),
    ("AP(rel=3)@5", 5, 3, rational(lambda run: ap(run[:5], 3))),
    ("GMAP", 5, 3, rational(ap)),
    ("DCG", 5, 3, dcg(shift, PLAIN)),
    ("DCG(gains='exponential')@5", 5, 3, dcg(shift, STEEP)),
    ("DCG(gains={1: 0.5, 2: 0.7, 3: 1.2})", 5, 3, dcg(shift, numbers("0", ".5", ".7", "1.2"))),
    ("DCG(discount='max(1,log2(rank))')", 5, 3, dcg(patience("2"), PLAIN)),
    ("DCG(discount='max(1,log10(rank))', gains='exponential')", 5, 3, dcg(patience("10"), STEEP)),
    ("DCG(discount='max(1,log2.5(rank))')", 5, 3, dcg(patience("2.5"), PLAIN)),
    ("DCG(discount='1+log2(rank)')", 5, 3, dcg(added("2"), PLAIN)),
    ("DCG(discount='log3(rank+1)')", 5, 3, dcg(shift, PLAIN)),
    ("nDCG@5", 5, 3, dcg(shift, PLAIN)),
    ("RBP", 5, 3, user("4/5", [Fraction(g > 0) for g in range(4)])),
    ("RBP(gains='graded')", 5, 3, user("4/5", THIRDS)),
    ("RBP(gains='graded', p=0.5)", 5, 3, user("1/2", THIRDS)),
    ("RBP(gains='graded', max_grade=4, p=.2)", 5, 3, user("1/5", numbers("0", ".25", ".5", ".75"))),
    ("RBP(gains='graded', p=0.75)", 5, 3, user("3/4", THIRDS)),
    ("RBP(gains={1: .25, 2: 0.5, 3: 1}, p=.25)", 5, 3, user("1/4", numbers("0", ".25", ".5", "1"))),
    ("RBP(gains={1: 0.1, 3: 0.6}, p=0.4)", 5, 3, user("2/5", numbers("0", ".1", "0", ".6"))),
    ("ERR", 5, 3, rational(lambda run: err(run, 3))),
    ("ERR(max_grade=12)", 5, 2, rational(lambda run: err(run, 12))),
    ("nERR@4", 5, 2, rational(lambda run: err(run[:4], 2))),
]  # fmt: skip
BINARY = [
    ("P@9", 9, 1, found()),
    ("AP", 9, 1, rational(ap)),
    ("RR", 9, 1, rational(rr)),
    ("DCG", 9, 1, dcg(shift, PLAIN)),
    ("DCG(discount='max(1,log2(rank))')", 9, 1, dcg(patience("2"), PLAIN)),
    ("DCG(discount='max(1,log4(rank))')", 9, 1, dcg(patience("4"), PLAIN)),
    ("DCG(discount='max(1,log10(rank))')", 9, 1, dcg(patience("10"), PLAIN)),
    ("DCG(discount='1+log4(rank)')", 9, 1, dcg(added("4"), PLAIN)),
    ("nDCG(discount='1+log10(rank)')@9", 9, 1, dcg(added("10"), PLAIN)),
    ("RBP(p=0.5)", 9, 1, user("1/2", PLAIN)),
    ("RBP(p=0.3)", 9, 1, user("3/10", PLAIN)),
    ("RBP", 9, 1, user("4/5", PLAIN)),
    ("RBP(p=0.95)", 9, 1, user("19/20", PLAIN)),
    ("ERR", 9, 1, rational(lambda run: err(run, 1))),
]  # fmt: skip


def same(found_: Image, every: Everything) -> None:
    """Check size, ranks of all runs under all policies, values and gaps."""
    assert found_.is_exact and found_.error == found_.tolerance == 0
    assert found_.size == len(every.sizes)
    assert found_.n_runs == len(every.runs)
    assert found_.rank_runs(every.runs).tolist() == every.unique
    assert found_.rank_runs(every.runs, "min").tolist() == every.low
    assert found_.rank_runs(every.runs, "max").tolist() == every.high
    mid = [(low + high) / 2 for low, high in zip(every.low, every.high, strict=True)]
    assert found_.rank_runs(every.runs, "mid").tolist() == mid
    gaps = found_.find_gaps()
    assert gaps.is_equispaced == (len(set(every.gaps)) <= 1)
    if every.gaps:
        assert gaps.smallest is not None and gaps.largest is not None
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
def test_few_relevant_documents(
    text: str, length: int, grades: int, value: Any, limit: int
) -> None:
    measure = parse_measure(text)
    rel = getattr(measure, "rel", 1)
    length = min(length, 5)

    def keep(run: Run) -> bool:
        return sum(binary(run, rel)) <= limit

    same(image(text, length, grades, at_most=limit), Everything(value, length, grades, keep))


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Make small images take the ways of large ones."""
    caches = [making._cached_image, making.represent, sides.make_sides, halves.make_halves]
    for cached in caches:
        cached.cache_clear()
    monkeypatch.setattr(making, "MAX_TABLE", 20)
    monkeypatch.setattr(windows, "SAMPLE_SIZE", 4096)
    monkeypatch.setattr(windows, "WINDOW_SIZE", 50)
    monkeypatch.setattr(windows, "MARK_SPACING", 8)
    monkeypatch.setattr(sides, "MIN_INNER", 16)
    monkeypatch.setattr(sides, "TYPICAL_RUNS", 1)
    monkeypatch.setattr(lexicographic.LexicographicParts, "from_parts", lambda *_: None)
    monkeypatch.setattr(representation, "CHUNK_SIZE", 128)
    monkeypatch.setattr(representation, "TASK_SIZE", 256)
    yield
    for cached in caches:
        cached.cache_clear()


LARGE = [
    ("AP", 10, 1, rational(ap)),
    ("AP(rel=2)", 7, 2, rational(lambda run: ap(run, 2))),
    ("ERR", 10, 1, rational(lambda run: err(run, 1))),
    ("ERR", 5, 3, rational(lambda run: err(run, 3))),
    ("ERR(max_grade=9)", 6, 2, rational(lambda run: err(run, 9))),
    ("DCG(discount='max(1,log2(rank))')", 10, 1, dcg(patience("2"), PLAIN)),
    ("DCG", 5, 3, dcg(shift, PLAIN)),
    ("RBP(p=0.3)", 10, 1, user("3/10", PLAIN)),
    ("RBP(gains='graded')", 5, 3, user("4/5", THIRDS)),
]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("limit", [None, 3])
@pytest.mark.parametrize(("text", "length", "grades", "value"), LARGE)
def test_ways_for_large_images(text: str, length: int, grades: int, value: Any, limit: Any) -> None:
    measure = parse_measure(text)
    rel = getattr(measure, "rel", 1)

    def keep(run: Run) -> bool:
        return limit is None or sum(binary(run, rel)) <= limit

    every = Everything(value, length, grades, keep)
    # Room for the tails of a few ranks, and for a few sums.
    found_ = image(text, length, grades, at_most=limit, memory=100_000, jobs=2)
    assert isinstance(found_._representation, (WindowedImage, sums.SummedImage))
    same(found_, every)
    values = found_.values()
    assert values.size == found_.size
    assert found_.rank(values).tolist() == list(range(1, values.size + 1))
    scores = score_runs(measure, np.array(every.runs), grades=grades)
    assert found_.rank(scores).tolist() == every.unique


@pytest.mark.usefixtures("small")
def test_tied_weights_in_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cranfield.scales.forms.exact_values.MAX_SUMS", 64)
    every = Everything(user("1/2", THIRDS), 6, 3)
    found_ = image("RBP(gains='graded', p=0.5)", 6, 3, memory=5000)
    assert isinstance(found_._representation, WindowedImage)
    same(found_, every)


def test_two_ways_agree() -> None:
    found_ = find_form(parse_measure("RBP(p=0.7)"), 22)
    assert found_ is not None and isinstance(found_.rank_sum, Additive)
    alone = found_.rank_sum.make_stateful()
    assert alone is not None
    way = exact_values.Walk.from_form(alone)
    runs = np.random.default_rng(4).integers(0, 2, (300, 22))
    one = image("RBP(p=0.7)", 22)
    rank, _ = halves.cut_ranks(way, 2**12)
    other = WindowedImage(way, rank, None)
    assert one.size == other.size == 2**22
    assert (one.rank_runs(runs) == other.rank_runs(runs)).all()


def test_memory_does_not_matter() -> None:
    runs = np.random.default_rng(2).integers(0, 2, (40, 32))
    for text in ("DCG(discount='max(1,log2(rank))')", "RBP(p=0.6)"):
        for ties in ("unique", "max"):
            one = image(text, 32, memory=2**24).rank_runs(runs, ties)
            assert (image(text, 32, memory=2**26).rank_runs(runs, ties) == one).all()


def test_recall_base_scales_the_values() -> None:
    assert image("R@2", judgments=2).values().tolist() == [0, 0.5, 1]
    assert image("R@2", judgments=3).values() == pytest.approx([0, 1 / 3, 2 / 3])
    assert image("AP", 5, 2, judgments=[2, 1, 1, 0]).find_gaps().highest == 5 / 3
    nothing = image("nDCG@5", judgments=[0, 0])
    assert (nothing.size, nothing.values().tolist()) == (1, [0.0])
    assert nothing.rank_runs([[1, 0]]).tolist() == nothing.rank([0.0]).tolist() == [1]
    assert nothing.rank_runs([[1, 0]], "max").tolist() == [32]
    assert nothing.find_gaps().is_equispaced


def test_measure_without_a_form() -> None:
    found_ = image("IPrec@0.5", 8, judgments=4)
    assert not found_.is_exact and (found_.error, found_.tolerance) == (0, 2.0**-40)
    runs = all_runs(8)
    scores = score_runs(parse_measure("IPrec@0.5"), runs, judgments=4)
    unique = np.unique(scores.round(9))
    assert found_.size == unique.size
    expected = np.searchsorted(unique, scores.round(9)) + 1
    assert (found_.rank_runs(runs) == expected).all()
    assert (found_.rank(scores) == expected).all()
    assert found_.rank_runs(runs, "max").max() == 256
    own = define("Half", lambda judged: judged.relevant().n_rows / 2, range=(0, float("inf")))
    try:
        assert image(own, 6).find_gaps() == Gaps(True, 0.5, 0.5, 0.0, 3.0, None)
        assert image(own, 6, at_most=2).size == 3
    finally:
        del REGISTRY["Half"]
