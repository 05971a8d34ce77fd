"""Predictive power against preferences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from cranfield.base.errors import CranfieldError, InputError, PolicyError
from cranfield.meta.measure_studies.predictive import predictive_power
from cranfield.scores import Scores

TOPICS, SYSTEMS = ("q0", "q1"), ("a", "b", "c")


def scored(values: Any, **more: Any) -> Scores:
    return Scores(np.asarray(values, dtype=np.float64), TOPICS, SYSTEMS, **more)


GOOD = scored([[3, 2, 1], [1, 1, 2]])
BAD = scored([[1, 2, 3], [1, 1, 2]])

PREFERENCES = [
    ("q0", "a", "b", "a", "Ann"),
    ("q0", "b", "a", "second", "Bob"),
    ("q0", "a", "c", "left", "Ann"),
    ("q0", "b", "c", "c", "Bob"),
    ("q0", "b", "c", "tie", "Ann"),
    ("q1", "a", "b", "a", "Ann"),
    ("q1", "a", "b", "same", "Bob"),
    ("q1", "c", "a", "1", "Bob"),
]


def test_an_example_by_hand() -> None:
    """Six preferences and two ties.

    GOOD has the first three and the last, misses b against c, and ties a and b on q1. BAD, which
    orders q0 the other way round, has b against c and the last.
    """
    found = predictive_power({"bad": BAD, "good": GOOD}, PREFERENCES)
    columns = ("measure", "preferences", "correct", "wrong", "tied", "no preference", "both tied")
    assert found.summary.select(columns).rows() == [
        ("good", 6, 4, 1, 1, 2, 1),
        ("bad", 6, 2, 3, 1, 2, 1),
    ]
    assert found.summary["predicted", "of decided"].rows() == [(4 / 6, 4 / 5), (2 / 6, 2 / 5)]
    assert found.summary["missing"].to_list() == [0, 0]
    assert found.versus.rows() == [("bad", "good", 1, 3, 0.625)]
    assert found.by_assessor.select("assessor", *columns).rows() == [
        ("Ann", "bad", 3, 0, 2, 1, 1, 0),
        ("Ann", "good", 3, 2, 0, 1, 1, 0),
        ("Bob", "bad", 3, 2, 1, 0, 1, 1),
        ("Bob", "good", 3, 2, 1, 0, 1, 1),
    ]
    assert found.preferences["preferred"].to_list() == [1, -1, 1, -1, 0, 1, 0, 1]
    assert "6 human preferences (and 2 ties, not counted)" in repr(found)


def test_majority() -> None:
    found = predictive_power({"good": GOOD}, PREFERENCES, majority=True)
    # b against c on q0: one for c and a tie, so c.
    assert found.preferences.drop("assessor").rows() == [
        ("q0", "a", "b", 1, 2),
        ("q0", "a", "c", 1, 1),
        ("q0", "b", "c", -1, 2),
        ("q1", "a", "b", 1, 2),
        ("q1", "a", "c", -1, 1),
    ]
    assert found.summary["preferences", "correct", "wrong", "tied"].row(0) == (5, 3, 1, 1)
    assert found.by_assessor.is_empty() and found.majority
    even = predictive_power(
        {"good": GOOD}, [("q0", "a", "b", "a"), ("q0", "a", "b", "b")], majority=True
    )
    assert even.summary["preferences", "no preference"].row(0) == (0, 1)
    assert even.summary["predicted", "low", "of decided", "p"].row(0) == (None, None, None, 1.0)
    assert even.verdict == ()


@pytest.mark.parametrize("correct", [0, 1, 7, 12])
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_intervals_and_p_against_scipy(correct: int, confidence: float) -> None:
    rows = [("q0", "a", "b", "a")] * correct + [("q0", "a", "b", "b")] * (12 - correct)
    one = predictive_power({"M": GOOD}, rows, confidence=confidence).summary.row(0, named=True)
    wanted = stats.binomtest(correct, 12)
    limits = wanted.proportion_ci(confidence, method="exact")
    assert (one["low"], one["high"]) == pytest.approx((limits.low, limits.high), abs=1e-12)
    assert one["p"] == pytest.approx(wanted.pvalue)
    assert one["predicted"] == correct / 12


@given(st.integers(0, 1000), st.floats(0.25, 4), st.floats(-1, 1))
@settings(max_examples=20, deadline=None)
def test_names_order_units_and_loops(seed: int, unit: float, origin: float) -> None:
    random = np.random.default_rng(seed)
    values = random.integers(0, 4, (2, 3)).astype(float)
    rows = []
    for _ in range(30):
        x, y = random.choice(3, 2, replace=False)
        said = random.choice(["first", "second", "tie"])
        rows.append((TOPICS[random.integers(2)], SYSTEMS[x], SYSTEMS[y], said))
    plain = predictive_power({"M": scored(values)}, rows).summary.row(0, named=True)

    correct = wrong = tied = 0
    for topic, x, y, said in rows:
        apart = (
            values[TOPICS.index(topic), SYSTEMS.index(x)]
            - values[TOPICS.index(topic), SYSTEMS.index(y)]
        )
        if said != "tie":
            wanted = apart if said == "first" else -apart
            correct, wrong, tied = (
                correct + (wanted > 0),
                wrong + (wanted < 0),
                tied + (wanted == 0),
            )
    assert (plain["correct"], plain["wrong"], plain["tied"]) == (correct, wrong, tied)

    other = Scores(
        -unit * values[::-1, ::-1] + origin,
        TOPICS[::-1],
        tuple(f"x{name}" for name in SYSTEMS[::-1]),
        lower_is_better=True,
    )
    turn = {"first": "second", "second": "first", "tie": "tie"}
    turned = [(topic, f"x{y}", f"x{x}", turn[said]) for topic, x, y, said in rows[::-1]]
    assert predictive_power({"M": other}, turned).summary.row(0, named=True) == plain


def test_missing_scores_are_counted() -> None:
    lacking = scored([[np.nan, 2, 1], [1, 1, 2]])
    found = predictive_power({"lacking": lacking, "good": GOOD}, PREFERENCES)
    one = found.summary.filter(measure="lacking").row(0, named=True)
    # Three preferences concern system a on q0.
    assert (one["preferences"], one["missing"]) == (3, 3)
    assert found.summary.filter(measure="good")["preferences"][0] == 6
    # Measures are compared on what both have scores for.
    assert found.versus["first only", "second only"].row(0) == (0, 0)


def test_rounding_is_a_tie() -> None:
    close = scored([[0.1 + 0.2, 0.3, 0.0], [0, 0, 0]])
    assert predictive_power({"M": close}, PREFERENCES[:1]).summary["tied"][0] == 1


def test_tables_of_any_kind(tmp_path: Path) -> None:
    wanted = predictive_power({"good": GOOD}, PREFERENCES)
    names = ["topic", "first", "second", "preferred", "assessor"]
    frame = pl.DataFrame(PREFERENCES, names, orient="row")
    frame.write_csv(tmp_path / "p.csv")
    frame.write_csv(tmp_path / "p.tsv", separator="\t")
    other = frame.rename(
        dict(zip(names, ["Query", "Left", "Right", "Winner", "Worker"], strict=True))
    )
    for one in (
        frame,
        frame.lazy(),
        frame.to_pandas(),
        other,
        tmp_path / "p.csv",
        str(tmp_path / "p.tsv"),
        frame.rows(),
        iter(frame.rows()),
    ):
        found = predictive_power({"good": GOOD}, one)
        assert found.summary.equals(wanted.summary)
        assert found.by_assessor.equals(wanted.by_assessor)


def test_numbers_as_labels() -> None:
    scores = Scores(np.array([[1.0, 2.0]]), ("401",), ("1", "2"))
    frame = pl.DataFrame({"topic": [401.0], "left": [1], "right": [2], "preferred": [2]})
    assert predictive_power({"M": scores}, frame).summary["correct"][0] == 1
    # Systems are called 1 and 2: here the name and the word differ.
    swapped = frame.with_columns(left=2, right=1)
    with pytest.raises(
        InputError, match="preferred '2' is the name of a system, but may also mean the sec"
    ):
        predictive_power({"M": scores}, swapped)
    # Only a name may be a label that is no word, so all labels are names.
    scores = Scores(np.array([[1.0, 2.0, 3.0]]), ("401",), ("1", "2", "7"))
    sides = {"left": [2, 1], "right": [1, 7], "preferred": [2, 7]}
    named = pl.DataFrame({"topic": [401.0, 401.0], **sides})
    assert predictive_power({"M": scores}, named).summary["correct"][0] == 2


def test_errors(tmp_path: Path) -> None:
    scores = {"good": GOOD}
    (tmp_path / "p.csv").write_text("topic,first,second,preferred\nq0,a,b,a\nq0,a,d,a\n")
    with pytest.raises(InputError, match="p.csv:3: system 'd' has no scores"):
        predictive_power(scores, tmp_path / "p.csv")
    (tmp_path / "p.csv").write_text("topic,first,second\nq0,a,b\n")
    with pytest.raises(InputError, match="p.csv: has no preferred column .*: .topic., .first."):
        predictive_power(scores, tmp_path / "p.csv")
    (tmp_path / "p.csv").write_text("")
    with pytest.raises(InputError, match="p.csv: is empty; expected at least one row"):
        predictive_power(scores, tmp_path / "p.csv")
    with pytest.raises(InputError, match="none.csv"):
        predictive_power(scores, tmp_path / "none.csv")
    for bad, message in (
        ([("q0", "a", "b")], "preferences: .*, preferred.* as rows of a table of preferences"),
        (["abcd"], "preferences: .* as rows of a table of preferences"),
        ([("q9", "a", "b", "a")], "preferences: row 1: topic 'q9' has no scores"),
        ([("q0", "a", "b", "a"), ("q0", "a", "a", "a")], "row 2: system 'a' is compared"),
        ([("q0", "a", "b", "c")], "preferred must be 'a', 'b', first, second or tie, got 'c'"),
        ([("q0", "a", "b", None)], "second or tie, got ''"),
        ([], "preferences: is empty"),
    ):
        with pytest.raises(InputError, match=message):
            predictive_power(scores, bad)
    with pytest.raises(InputError, match="int cannot be read as preferences"):
        predictive_power(scores, 3)
    with pytest.raises(
        PolicyError, match=r"confidence must be a number between 0 and 1 \(exclusive\), got 95"
    ):
        predictive_power(scores, PREFERENCES, confidence=95)
    with pytest.raises(PolicyError, match="majority must be True or False, got 'yes'"):
        predictive_power(scores, PREFERENCES, majority="yes")  # type: ignore[arg-type]
    with pytest.raises(CranfieldError, match="'less' lacks system 'b', which 'good' has"):
        predictive_power({**scores, "less": Scores(np.ones((2, 1)), TOPICS, ("a",))}, PREFERENCES)
