"""Measures of several aspects: brute force from the formulas, identities, text forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import cranfield as cf
import cranfield.measures.aspects
from cranfield.base.errors import MeasureError
from cranfield.measures import CAM, MM, RBP, RR, parse_measure
from tests.measures.rankings import score_ids

DOCS = "abcdefgh"
rankings = st.permutations(DOCS).flatmap(
    lambda docs: st.integers(1, 8).map(lambda length: list(docs[:length]))
)
judgments = st.dictionaries(st.sampled_from(DOCS + "i"), st.integers(0, 3), min_size=1)


def aspects(**given: dict[str, int]) -> dict[str, Any]:
    return {"aspects": {name: {"q": grades} for name, grades in given.items()}}


@settings(max_examples=10)
@given(rankings, judgments, judgments, judgments)
def test_aspect_biased_rbp(
    run: list[str], grades: dict[str, int], easy: dict[str, int], sure: dict[str, int]
) -> None:
    p, top = 0.7, max(1, *easy.values())
    weights = {1: 0.4, 2: 0.8, 3: 1.0}

    def total(worth: Any, length: int = 8) -> float:
        return float(sum((1 - p) * p**i * worth(doc) for i, doc in enumerate(run[:length])))

    def good(doc: str) -> bool:
        return grades.get(doc, 0) >= 1

    both = aspects(understandability=easy, credibility=sure)
    found = score_ids(
        run,
        grades,
        "uRBP(p=0.7)",
        "cRBP(p=0.7)@2",
        "uRBP(aspect_rel=2, p=0.7)",
        "uRBP(aspect_gains='graded', p=0.7)",
        "uRBP(aspect_gains={1: 0.4, 2: 0.8, 3: 1}, p=0.7)",
        "aRBP(p=0.7)",
        "aRBP(aspects='credibility,understandability', p=0.7)",
        "uRBP(gains='graded', max_grade=3, p=0.7)",
        **both,
    )
    wanted = [
        total(lambda d: good(d) and easy.get(d, 0) >= 1),
        total(lambda d: good(d) and sure.get(d, 0) >= 1, 2),
        total(lambda d: good(d) and easy.get(d, 0) >= 2),
        total(lambda d: good(d) * easy.get(d, 0) / top),
        total(lambda d: good(d) * weights.get(easy.get(d, 0), 0.0)),
        *[total(lambda d: good(d) and easy.get(d, 0) >= 1 and sure.get(d, 0) >= 1)] * 2,
        total(lambda d: grades.get(d, 0) / 3 * (easy.get(d, 0) >= 1)),
    ]
    assert found == pytest.approx(wanted, abs=1e-12)


@settings(max_examples=10)
@given(rankings, judgments, judgments)
def test_condensed_lists_match_the_same_documents(
    run: list[str], grades: dict[str, int], easy: dict[str, int]
) -> None:
    kept = [doc for doc in run if doc in grades]
    wanted = sum(
        0.5 ** (i + 1) * (grades[doc] >= 1) * (easy.get(doc, 0) >= 1)
        for i, doc in enumerate(kept[:2])
    )
    given = aspects(understandability=easy)
    [flagged] = score_ids(run, grades, "uRBP(judged_only=True, p=0.5)@2", **given)
    [policy] = score_ids(run, grades, "uRBP(p=0.5)@2", unjudged="condensed", **given)
    assert [flagged, policy] == pytest.approx([wanted, wanted], abs=1e-12)


@settings(max_examples=10)
@given(rankings, judgments, judgments)
def test_means_over_aspects(run: list[str], grades: dict[str, int], sure: dict[str, int]) -> None:
    given = aspects(credibility=sure)
    inner = ["nDCG@5", "RBP", "AP"]
    one, two = np.array(score_ids(run, grades, *inner)), np.array(score_ids(run, sure, *inner))
    arithmetic = score_ids(run, grades, *(f"CAM({text})" for text in inner), **given)
    harmonic = score_ids(run, grades, *(f"MM({text})" for text in inner), **given)
    weighted = "weights={'credibility': 3, 'relevance': 1}"
    mixed = score_ids(run, grades, f"CAM(AP, {weighted})", f"MM(AP, {weighted})", **given)
    assert arithmetic == pytest.approx((one + two) / 2, abs=1e-12)
    safe = np.where((one > 0) & (two > 0), one + two, 1.0)
    assert harmonic == pytest.approx(2 * one * two / safe, abs=1e-12)
    assert (np.array(harmonic) <= np.array(arithmetic) + 1e-12).all()
    assert mixed[0] == pytest.approx(one[2] / 4 + two[2] * 3 / 4, abs=1e-12)
    if one[2] and two[2]:
        assert mixed[1] == pytest.approx(1 / (0.25 / one[2] + 0.75 / two[2]), abs=1e-12)


def test_texts_read_back() -> None:
    for text in (
        "CAM(nDCG@10)",
        "MM(RBP(p=0.5)@10, weights={'credibility': 0.3, 'relevance': 1})",
        "CAM(interval(DCG@5))",
        "MM(Classes(RR))",
        "uRBP(aspects='trust', p=0.5)@10",
        "aRBP(aspects='a,b')",
    ):
        assert str(parse_measure(text)) == text
    assert str(parse_measure("CAM(nDCG)@10")) == "CAM(nDCG@10)"
    assert str(MM(RBP)(p=0.5)) == "MM(RBP(p=0.5))"
    assert str(CAM(RR)(weights={"relevance": 1})) == "CAM(RR, weights={'relevance': 1})"
    assert str(parse_measure("aRBP(aspects=' b , a')")) == "aRBP(aspects='b,a')"


def test_topics_of_an_aspect_alone_do_not_count() -> None:
    """Neither as topics nor as rows of another topic or system, whichever comes first."""
    qrels, easy = {"q2": {"a": 1, "b": 1}}, {"q2": {"b": 1}}
    runs = {
        "one": {"q1": {"c": 2, "d": 1}, "q2": {"a": 2, "b": 1}},
        "two": {"q2": {"b": 2, "a": 1}},
        "three": {"q1": {"d": 1}, "q2": {"b": 1}, "q3": {"c": 1}},
    }
    asked = ["CAM(RBP(p=0.5), weights={'understandability': 1})", "uRBP(p=0.5)"]
    found, same = (
        cf.evaluate(runs, qrels, asked, aspects={"understandability": judgments})
        for judgments in ({**easy, "q1": {"c": 1, "d": 1}, "q3": {"c": 1}}, easy)
    )
    for text in asked:
        assert found[text].topics == ("q2",)
        assert found[text].values.tolist() == same[text].values.tolist()


@pytest.mark.filterwarnings("ignore:aspect .* has no judgments for")
@pytest.mark.parametrize("text", ["TBG", "U", "EC(P@3, unit=1)", "AWRF", "DP", "EEL(by='group')"])
@pytest.mark.parametrize("unjudged", ["nonrelevant", "condensed"])
def test_lengths_and_groups_are_known_on_every_aspect(text: str, unjudged: str) -> None:
    """A mean over one aspect is the measure itself, on the judgments of that aspect."""
    run = {"q": {"a": 3.0, "b": 2.0, "c": 1.0}, "r": {"a": 2.0, "c": 1.0}}
    easy = {"q": {"a": 0, "b": 1, "d": 1}}
    beside: dict[str, Any] = {
        "lengths": {"a": 100, "b": 900, "c": 300},
        "groups": {"a": "x", "b": "y", "c": "x", "d": "y"},
        "unjudged": unjudged,
    }
    wanted = cf.evaluate(run, easy, text, **beside)[text]
    one = f"CAM({text}, weights={{'easy': 1}})"
    grades = {"q": {"c": 1, "a": 1}, "r": {"c": 1}}
    found = cf.evaluate(run, grades, one, aspects={"easy": easy}, **beside)[one]
    assert found.values[0].tolist() == wanted.values[0].tolist()
    assert found.topics == ("q", "r")
    assert np.isfinite(found.values).all()


def test_trectools() -> None:
    """trectools 0.0.50, get_urbp with p=0.8 and normalization_factor=0.5."""
    grades = {"a": 1, "b": 2, "c": 0, "d": 1, "f": 2}
    easy = {"a": 0, "b": 2, "c": 2, "d": 1, "e": 2, "f": 1}
    text = "uRBP(aspect_gains={1: 0.5, 2: 1}, p=0.8)"
    found = score_ids(list("abcdef"), grades, text, **aspects(understandability=easy))
    assert found == pytest.approx([0.243968], abs=1e-9)


@pytest.mark.parametrize("text", ["uRBP", "aRBP", "CAM(RR)", "CAM(RR, weights={'no': 1})"])
def test_aspects_without_judgments(text: str) -> None:
    with pytest.raises(MeasureError, match="judgments on"):
        score_ids(["a"], {"a": 1}, text)
