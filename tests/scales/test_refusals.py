"""What is out of reach or makes no sense is refused in a line, at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import CranfieldError, MeasureError, PolicyError
from cranfield.measures import AP, P
from cranfield.scales import (
    all_runs,
    covers,
    difference_axioms,
    induced_order,
    interval,
    is_at_or_below,
    levels,
    natural_distance,
    order_matrix,
    rbto,
    rbto_runs,
    sbto,
    scale_over_topics,
    score_runs,
    verdicts,
)
from cranfield.scales.admissible import dominance
from cranfield.scales.images.values import image
from cranfield.scales.measure_scales import scale_of
from cranfield.scales.statements import meaningfulness

ONE = {"q": {"a": 1.0}}


SCORES = {"a": [0.1, 0.2], "b": [0.3, 0.1]}
ROWS = "rows of integer grades"
NONE: Any = None
TEXT: Any = "x"
HALF: Any = 2.5
LIST: Any = [1, 2]
RAGGED: Any = [[1], [1, 2]]
TABLE: Any = [[1, 2]]

REFUSED: list[tuple[Callable[[], Any], str]] = [
    # Beyond reach
    (lambda: image("DCG", 100_000), "length of runs must be at most 2,000"),
    (lambda: image("P@5", 5, 10**8), "highest grade must be at most 1,000"),
    (lambda: image("DCG", 2000, 500), "with 501 grades must be at most 65, got 2,000"),
    (lambda: image("P@5", judgments=10**9), "to 100,000, got 1"),
    (lambda: image("IPrec@0.5", 2000), "2^2000 runs of length 2000"),
    (lambda: scale_of("P@5", 100_000), "length of runs must be at most 2,000"),
    (lambda: scale_of("AP@5", 5, judgments=10**8), "from 1 to 100,000"),
    (lambda: scale_over_topics("P", 100_000, 5), "length of runs must be at most 2,000"),
    (lambda: scale_over_topics("P", 5, 10**8), "from 1 to 100,000"),
    (lambda: scale_over_topics("P", 2000, 2000), "at most 2,500 combinations"),
    (lambda: all_runs(10**9), "must be at most 22"),
    (lambda: covers(10**9), "length of runs must be at most 2,000"),
    (lambda: covers(2000), "reduce the length to 12"),
    (lambda: rbto([[0, 1]], length=10**9), "length of runs must be at most 2,000"),
    (lambda: rbto_runs([1], 10**9), "length of runs must be at most 2,000"),
    (lambda: score_runs("P@5", [[1]], judgments=10**9), "to 100,000, got 1"),
    (lambda: cf.evaluate(ONE, {"q": {"a": 1}}, "interval(DCG@10000000)"), "at most 2,000"),
    (lambda: cf.evaluate(ONE, {"q": {"a": 10**7}}, "interval(DCG@10)"), "at most 1,000"),
    # Images
    (lambda: image("AP"), "length is required, such as image('AP', 10)"),
    (lambda: image("AP", 0), "length of a run must be an integer >= 1, got 0"),
    (lambda: image("AP", 5, 0), "highest grade"),
    (lambda: image("AP", HALF), "length of a run"),
    (lambda: image("P@3", at_most=-1), "at_most"),
    (lambda: image("P(rel=0)@3", at_most=1), "every document"),
    (lambda: image("P@3", judgments=-1), "an integer from 0 to 100,000, got -1"),
    (lambda: image("P@3", judgments=[4]), "grades must be from 0 to 1, got judgments with grade 4"),
    (lambda: image("P@3", judgments=[HALF]), "of their grades"),
    (lambda: image("AP11", 30), "a length of at most 20"),
    (lambda: image("AP11", 11, 3), "a length of at most 10"),
    (lambda: image("AP", 60), "a length of at most about 30"),
    (lambda: image("AP", 70), "such as RBP@70"),
    (lambda: image("ERR", 40, 3), "use a length of at most"),
    (lambda: image("RBP@100").rank_runs([[1]]), "shorter runs"),
    (lambda: image("RBP@30").values(), "can be listed"),
    (lambda: image("RR@100").rank_runs([[1]], "min"), "ties='unique'"),
    (lambda: image("P@3").rank_runs([[1, 1, 0, 0]]), "runs must have at most 3 ranks, got 4"),
    (lambda: image("P@3").rank_runs([[2, 0, 0]]), "grades must be from 0 to 1, got 2"),
    (lambda: image("P@3").rank_runs([[-1, 0, 0]]), "grades must be from 0 to 1, got -1"),
    (lambda: image("P@3").rank_runs([[1, 0, 0]], "average"), "unique, mid, min, max"),
    (lambda: image("P@3", at_most=1).rank_runs([[1, 1, 0]]), "at_most=1"),
    (lambda: image("P@3").rank([0.5]), "0.5 is not a value of P@3 on runs of length 3"),
    (lambda: image("P@3").rank([float("nan")]), "scores must be finite, got nan"),
    (lambda: image("AP", 23).rank([0.5, 1e300]), "1e+300 is not a value of AP on runs"),
    (lambda: image("AP", 23).rank([-1.0]), "-1.0 is not a value of AP on runs of length 23"),
    (lambda: image("RBP(p=0.01)@24").rank([0.99]), "rank_runs"),
    (lambda: image("Success@0"), "cutoff"),
    (lambda: image("P"), "requires a cutoff"),
    (lambda: image("ERR(max_grade=2)", 4, 3), "grades must be at most max_grade=2, got 3"),
    # Scales
    (lambda: scale_of(AP), "length is required, such as length=10"),
    (lambda: scale_of(AP, 0), ">= 1"),
    (lambda: scale_of(AP, 3, 0), "highest grade"),
    (lambda: scale_of(AP, 3, judgments=0), "recall base"),
    (lambda: scale_of(AP, 3, judgments=[2]), "grade 2"),
    (lambda: scale_of(AP, 3, judgments=[]), "recall base"),
    (
        lambda: scale_over_topics(AP, 30, 2),
        "at most 262,144 runs, got up to 4.3e+09 runs of length up to 30",
    ),
    (lambda: scale_over_topics(P, 0, 2), ">= 1"),
    (lambda: scale_over_topics(P, 2, 0), "from 1"),
    # Wrong types
    (lambda: image("P@5").rank("x"), "scores must be numbers, got 'x'"),
    (lambda: image("P@5").rank(NONE), "scores must be numbers, got 'None'"),
    (lambda: image("P@5").rank(RAGGED), "scores must be numbers"),
    (lambda: image("P@5").rank(1j), "scores must be numbers, got"),
    (lambda: image("P@5").rank([10**400]), "scores must be numbers"),
    (lambda: image("P@5").normalise_ranks("x"), "ranks must be numbers, got 'x'"),
    (lambda: image("P@5").rank_runs([[0, 1], None]), ROWS),
    (lambda: image("P@5").require(1, "average"), "unique, mid, min, max"),
    (lambda: image("P@5", jobs=0), "jobs must be an integer >= 1, got 0"),
    (lambda: image("P@5", memory=-1), "memory must be an integer >= 1, got -1"),
    (lambda: image("P@5", judgments=RAGGED), "list of their grades"),
    (lambda: scale_of("P@5", judgments=RAGGED), "list of their grades"),
    (lambda: scale_over_topics("P", 1, TEXT), "recall base must be an integer"),
    (lambda: score_runs("P", None), ROWS),
    (lambda: score_runs("P", [[0.5, 1]]), ROWS),
    (lambda: score_runs("P", [[0, 2]]), "grades must be from 0 to 1, got 2"),
    (lambda: score_runs("P", [[0, 1]], grades=TEXT), "highest grade"),
    (lambda: score_runs("P", [[0, 1]], judgments=TEXT), "list of their grades"),
    (lambda: score_runs("P", [[0, 1]], judgments=-1), "an integer from 0 to 100,000, got -1"),
    (lambda: score_runs(NONE, [[0, 1]]), "expected a measure or its text, got NoneType"),
    (lambda: score_runs("nDGC", [[0, 1]]), "did you mean nDCG"),
    (lambda: dominance([[1, 2]], [0], [1]), "got list"),
    (lambda: dominance(None, [0], [1]), "got NoneType"),
    (lambda: dominance(SCORES, [0], [2]), "indices from 0 to 1, got 2"),
    (lambda: dominance(SCORES, [-1], [1]), "indices from 0 to 1, got -1"),
    (lambda: dominance(SCORES, "a", "b"), "a list of indices from 0 to 1"),
    (lambda: dominance(SCORES, [0, 0], [1]), "the same length, got 2 and 1"),
    (lambda: meaningfulness(NONE), "expected the result of compare(), got NoneType"),
    (lambda: meaningfulness(LIST), "expected the result of compare(), got list"),
    (lambda: natural_distance(NONE), "ranks must be a list of numbers, one for each run"),
    (lambda: natural_distance(TABLE), "ranks must be a list of numbers, one for each run"),
    (lambda: natural_distance(np.array([1.0, np.inf])), "ranks must be finite, got inf"),
    (lambda: induced_order("P", [[0, 1]], judgments=TEXT), "list of their grades"),
    (lambda: is_at_or_below([1, [2]], [1]), ROWS),
    (lambda: order_matrix([[1], None]), ROWS),
    (lambda: difference_axioms([[1], [1, 2]]), "one value per object"),
    (lambda: difference_axioms([1, "a"]), "values and differences must be numbers"),
    (lambda: difference_axioms([1, np.nan]), "values must be finite, got nan"),
    (lambda: difference_axioms([[0, np.nan], [np.nan, 0]]), "must be finite, got nan"),
    (lambda: is_at_or_below([[1], [0]], [[1], [0], [1]]), "one run, got 2 and 3"),
    # Orders
    (lambda: covers(13), "reduce the length to 12"),
    (lambda: levels(7, 3), "reduce the length to 6"),
    (lambda: order_matrix(np.zeros((5000, 3), dtype=int)), "at most 4,096 runs, got 5,000"),
    (lambda: is_at_or_below([2], [1]), "grades must be from 0 to 1, got 2"),
    (lambda: rbto([[2]]), "grades must be from 0 to 1, got 2"),
    (lambda: sbto([[-1]]), "grades must be from 0 to 1, got -1"),
    (lambda: rbto([[0.5]]), ROWS),
    (lambda: rbto([[0]], 0), "highest grade"),
    *((lambda rank=rank: rbto_runs([rank], 3), "from 0 to 7") for rank in (-1, 8, 1.5, True)),
    (lambda: difference_axioms(np.zeros((2, 3))), "square"),
    (lambda: difference_axioms(np.zeros((2, 2, 2))), "square"),
    (lambda: difference_axioms(np.zeros((2, 2, 2, 2))), "boolean array"),
    (lambda: difference_axioms([]), "object"),
    (lambda: difference_axioms(np.arange(33)), "32"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_refusals(call: Callable[[], Any], message: str) -> None:
    start = time.perf_counter()
    with pytest.raises((PolicyError, MeasureError)) as caught:
        call()
    # Nothing is computed for hours first; the limit is wide for machines that are busy.
    assert time.perf_counter() - start < 30
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_is_just_within_reach() -> None:
    """Long runs, whose number has more digits than a float has room for."""
    report = scale_of("RBP(p=0.3)", 1100)
    assert "about 2^1100 runs" in str(report)
    assert image("DCG", 2000).size.bit_length() > 1000
    assert image("nDCG@5", judgments=100_000).size == 32
    many: Any = np.int64(100_000)
    assert scale_of("AP@5", judgments=many).judgments == 100_000
    assert verdicts.format_n_runs(2**999).endswith("e+300 runs")


def test_a_cutoff_without_a_limit_has_a_name() -> None:
    """Such a measure can be made; only its scores are beyond reach."""
    assert "surrogate" in interval("R@100000000").info.scale_note
    assert interval("P@100000000").info.scale_note == ""


def test_texts_and_lists_are_taken() -> None:
    assert score_runs("P", [[1, 0], [1]]).tolist() == [0.5, 0.5]
    assert score_runs("P@5", [[1, 0]]).tolist() == [0.2]
    lists = dominance(SCORES, [0], [1])
    array = dominance(np.array([[0.1, 0.3], [0.2, 0.1]]), np.array([0]), np.array([1]))
    assert lists.holds.tolist() == array.holds.tolist() == [True]
    assert dominance(SCORES, [], []).holds.size == 0


@pytest.mark.parametrize("text", ["interval", "interval()", "Interval", "interval@5", " interval "])
def test_interval_needs_a_measure_inside(text: str) -> None:
    calls: list[Callable[[str], object]] = [
        interval,
        scale_of,
        lambda one: image(one, 5),
        lambda one: scale_over_topics(one, 2, 2),
    ]
    for call in calls:
        with pytest.raises(MeasureError, match=r"an inner measure, such as interval\(DCG@10\)$"):
            call(text)


def test_scores_of_other_recall_bases_are_explained() -> None:
    score = float(score_runs("nDCG@5", [[0, 1, 0, 0, 0]], judgments=3)[0])
    with pytest.raises(PolicyError, match="with 5 judged documents; .* such as judgments=3"):
        image("nDCG@5").rank([score])
    assert image("nDCG@5", judgments=3).rank([score]).tolist() == [5]
    with pytest.raises(PolicyError) as caught:
        image("DCG@5").rank([0.3])
    assert "judgments" not in str(caught.value)


def test_error_and_tolerance_are_two_things() -> None:
    exact, floats, long = image("P@5"), image("IPrec@0.5", 5), image("RBP(p=0.8)@500")
    assert (exact.error, exact.tolerance, exact.is_exact) == (0, 0, True)
    assert (floats.error, floats.tolerance, floats.is_exact) == (0, 2.0**-40, False)
    assert 0 < long.error < 1e-6
    assert (long.tolerance, long.is_exact) == (0, False)
    assert str(exact) == "Image(P@5, length=5, grades=1)"
    assert str(floats) == "Image(IPrec@0.5, length=5, grades=1, values within 9e-13 are equal)"
    assert str(long) == "Image(RBP@500, length=500, grades=1, relative ranks only)"


def refusal(call: Callable[[], object]) -> str:
    try:
        call()
    except CranfieldError as error:
        return str(error)
    return ""


def test_what_can_be_ranked_is_known_before() -> None:
    """`require` refuses what `rank_runs` would, and nothing else, without ranking."""
    cases: list[tuple[str, int, str]] = [
        *(
            (name, 8, ties)
            for name in ("P", "AP", "RR", "DCG", "RBP")
            for ties in ("unique", "mid")
        ),
        ("RBP", 100, "unique"),
        ("RR", 100, "unique"),
        ("RR", 100, "min"),
        ("P", 100, "unique"),
        ("P", 100, "max"),
        ("P", 20, "max"),
        ("RBP(p=0.3)", 100, "unique"),
        ("RBP(p=0.3)", 60, "unique"),
        ("DCG(discount='max(1,log10(rank))')", 100, "mid"),
    ]
    for name, length, ties in cases:
        found = image(name, length)
        before = refusal(partial(found.require, 1, ties))
        assert before == refusal(partial(found.rank_runs, [[1]], ties)), (name, length, ties)


def test_many_runs_of_a_large_image() -> None:
    found = image("DCG", 44)
    found.require(6000)
    with pytest.raises(PolicyError, match="would take many hours"):
        found.require(10**9)


def test_floats_over_topics_are_said_to_be_floats() -> None:
    found = scale_over_topics("nDCG", 3, 2)
    assert not found.is_exact
    assert (
        "values are floats; differences up to 2^-40 of the largest value are treated as ties"
        in str(found)
    )
    assert "floats" not in str(scale_over_topics("DCG", 3, 2))


def test_the_highest_grade_is_one_that_64_bits_hold() -> None:
    assert cf.scales.score_runs("P", [[0, 1]], grades=2**63 - 1).tolist() == [0.5]
    with pytest.raises(PolicyError, match="the highest grade must be an integer from 1 to"):
        cf.scales.score_runs("P", [[0, 1]], grades=2**63)
