"""Nugget recall, precision and F of question answering."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield import evaluate_answers
from cranfield.base.errors import MeasureError
from cranfield.texts import judge_answers
from cranfield.texts.gold import text_length
from tests.collection.refusals import refuses

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*(missing and counted as 0|is 0 for every system|counted as empty)"
)

GOLD = {"q": {"a": "vital", "b": "vital", "c": "okay", "d": "okay"}}


def scores_of(answer: object, *measures: str, gold: object = None) -> list[float]:
    judged = judge_answers({"s": {"q": answer}}, GOLD if gold is None else gold)
    found = evaluate_answers(judged, list(measures))
    return [float(scores.values[0, 0]) for scores in found.values()]


def test_trec_question_answering_by_hand() -> None:
    # r = 1 of R = 2 vital, a = 1 okay: recall 1/2, allowance 200, precision 1 - (250 - 200) / 250.
    answer = {"nuggets": ["a", "c"], "length": 250}
    recall, precision, f3, f5 = scores_of(
        answer, "WRecall", "NuggetPrecision", "NuggetF", "NuggetF(beta=5)"
    )
    assert (recall, precision) == (0.5, 0.8)
    assert f3 == pytest.approx(10 * 0.8 * 0.5 / (9 * 0.8 + 0.5))
    assert f5 == pytest.approx(26 * 0.8 * 0.5 / (25 * 0.8 + 0.5))


def test_allowance() -> None:
    answer = {"nuggets": ["a", "c"], "length": 250}
    assert scores_of(answer, "NuggetPrecision(allowance=125)") == [1.0]
    assert scores_of(answer, "NuggetPrecision(allowance=50)") == [pytest.approx(0.4)]
    assert scores_of(answer, "NuggetPrecision(allowance=0)") == [0.0]


def test_length_leaves_white_space_out() -> None:
    assert text_length(" ab\tc\n d\u00a0e ") == 5
    answer = {"nuggets": ["a"], "text": "x y " * 100}
    assert scores_of(answer, "NuggetPrecision") == [0.5]


def test_empty_answers_score_zero() -> None:
    wanted = ["NuggetRecall", "WRecall", "NuggetPrecision", "NuggetF"]
    assert scores_of({"nuggets": [], "length": 0}, *wanted) == [0, 0, 0, 0]
    assert scores_of({"nuggets": [], "length": 70}, *wanted) == [0, 0, 0, 0]
    judged = judge_answers({"s": {"q": {"nuggets": ["a"], "length": 9}}}, {**GOLD, "r": {"x": 1}})
    found = evaluate_answers(judged, wanted)
    assert [scores.values[1, 0] for scores in found.values()] == [0, 0, 0, 0]


def test_no_vital_nugget_is_zero() -> None:
    gold = {"q": {"a": "okay"}}
    assert scores_of(["a"], "WRecall", "NuggetRecall", gold=gold) == [0.0, 1.0]


def test_votes_of_assessors_are_weights() -> None:
    gold = {
        "q": {"a": ["vital", "vital", "okay"], "b": ["okay", "vital", "okay"], "c": ["okay"] * 3}
    }
    judged = judge_answers({"s": {"q": ["a"]}}, gold)
    assert judged.nuggets.weight.tolist() == [1.0, 0.5, 0.0]
    assert judged.nuggets.vital.tolist() == [1.0, 0.0, 0.0]
    assert scores_of(["a"], "WRecall", gold=gold) == [pytest.approx(2 / 3)]


def test_partial_support_is_no_match() -> None:
    answer = {"nuggets": {"a": {"support": "partial_support"}, "b": {"support": 1}}, "length": 50}
    assert scores_of(answer, "NuggetRecall", "WRecall") == [0.25, 0.5]


def test_what_is_lacking_is_said() -> None:
    refuses("NuggetF requires the length of each", scores_of, ["a"], "NuggetF", error=MeasureError)
    rows = [{"topic": "q", "nugget": "a"}]
    with pytest.raises(MeasureError, match="WRecall requires the weight of each nugget"):
        scores_of(["a"], "WRecall", gold=rows)


WEIGHTS = st.lists(st.integers(0, 5), min_size=1, max_size=6)


@settings(max_examples=30, deadline=None)
@given(
    WEIGHTS,
    st.lists(st.sets(st.integers(0, 5)), min_size=1, max_size=4),
    st.integers(0, 900),
    st.randoms(use_true_random=False),
)
def test_bounds_order_and_monotony(
    weights: list[int], matched: list[set[int]], length: int, random: Random
) -> None:
    gold = {"q": {str(k): weight for k, weight in enumerate(weights)}}
    answers = {
        f"s{k}": {"q": {"nuggets": [str(n) for n in found if n < len(weights)], "length": length}}
        for k, found in enumerate(matched)
    }
    wanted = ["NuggetRecall", "WRecall", "NuggetPrecision", "NuggetF"]
    found = evaluate_answers(judge_answers(answers, gold), wanted)
    names = list(answers)
    random.shuffle(names)
    again = evaluate_answers(judge_answers({name: answers[name] for name in names}, gold), wanted)
    for name in wanted:
        values = found[name].values
        assert ((values >= 0) & (values <= 1)).all()
        assert np.array_equal(again[name].values, values[:, [int(one[1:]) for one in names]])
    everything = {"all": {"q": {"nuggets": list(gold["q"]), "length": length}}}
    best = evaluate_answers(judge_answers({**answers, **everything}, gold), wanted)
    for name in wanted:
        assert (best[name].values[:, -1:] >= best[name].values).all()
