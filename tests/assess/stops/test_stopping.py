"""Rules of stopping against their definitions, written out plainly."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

import cranfield as cf
from cranfield.assess import stopping

LABELS = [1, 1, 0, 1, 0, 1, 0, 0, 0, 1] + 40 * [0]


def least_p(labels: list[int], total: int, recall: Fraction) -> float:
    """The least p of all urns, one after the other."""
    seen, found, least = len(labels), sum(labels), 1.0
    for n in range(1, seen + 1):
        u = sum(labels[seen - n :])
        k = floor(found / recall + 1 - (found - u))
        size = total - seen + n
        # More relevant documents than there are places for is impossible.
        p = 0.0 if k > size else float(hypergeom.cdf(u, size, k, n))
        least = min(least, p)
    return least


def bend(labels: list[int]) -> float:
    seen, found = len(labels), sum(labels)
    ratios = [
        (sum(labels[:i]) / i) / ((1 + found - sum(labels[:i])) / (seen - i)) for i in range(1, seen)
    ]
    return max(ratios, default=0.0)


HISTORIES = st.tuples(
    st.lists(st.sampled_from([0, 0, 0, 1]), min_size=1, max_size=60), st.integers(0, 60)
)


@settings(max_examples=40, deadline=None)
@given(HISTORIES, st.sampled_from(["0.95", "0.7", "0.8", "0.333"]))
def test_every_number_of_judgments(history: tuple[list[int], int], recall: str) -> None:
    labels, rest = history
    total = len(labels) + rest
    names = [
        f"RecallTest(recall={recall})",
        "Knee(min_judgments=3)",
        "Line(more=20)",
        "Budget(bend=2)",
    ]
    asked = stopping(labels, names, total=total)
    assert asked.after.tolist() == list(range(1, len(labels) + 1))
    for s in asked.after.tolist():
        some, found = labels[:s], sum(labels[:s])
        p, rho = least_p(some, total, Fraction(recall)), bend(some)
        assert asked.value[0, s - 1] == pytest.approx(p, abs=1e-9)
        assert asked.value[1, s - 1] == pytest.approx(rho, rel=1e-12)
        if abs(p - 0.05) > 1e-9:
            assert asked.stop[0, s - 1] == (p < 0.05)
        assert asked.stop[1, s - 1] == (rho >= 156 - min(found, 150) and s >= 3)
        assert asked.stop[2, s - 1] == (s >= 1.2 * found + 20)
        enough = found > 0 and rho >= 2 and s >= 10 * total / found
        assert asked.stop[3, s - 1] == (enough or s >= 0.75 * total)


def test_long_histories_against_scipy() -> None:
    """Where most of a long urn is relevant, and where almost nothing is."""
    random = np.random.default_rng(3)
    for share in (0.9, 0.5, 0.02):
        labels = (random.random(200) < share).astype(int).tolist()
        labels += (random.random(300) < 0.01).astype(int).tolist()
        for total in (500, 505, 750):
            asked = stopping(labels, "RecallTest", total=total, every=1000)
            expected = least_p(labels, total, Fraction("0.95"))
            assert asked.value[0, -1] == pytest.approx(expected, abs=1e-9)


def test_recall_is_a_decimal() -> None:
    """7 found of at most 50 are a recall of .14 exactly, whatever binary fractions say."""
    labels = 7 * [1] + 30 * [0]
    asked = stopping(labels, "RecallTest(recall=0.14)", total=200, every=37)
    assert asked.value[0, -1] == pytest.approx(least_p(labels, 200, Fraction(7, 50)), abs=1e-12)


def test_targets() -> None:
    labels = [1, 0, 1, 1, 0, 1]
    marks = [True, False, False, True, False, True]
    asked = stopping(labels, "Target(n_targets=2)", total=9, targets=marks)
    assert asked.find_stops() == {"Target(n_targets=2)": 4}


def test_two_at_once_and_in_words() -> None:
    asked = stopping(
        LABELS, ["RecallTest(recall=0.8)", "knee(min_judgments=10)"], total=60, every=25
    )
    assert asked.after.tolist() == [25, 50]
    first, second = asked.list_verdicts()
    assert (first.n_judged, first.n_relevant, first.stop) == (50, 5, True)
    assert "not a p-value" in first.reason
    assert second.reason.startswith("the bend (slope ratio) of the gain curve is 20; the rule")
    assert asked.to_polars().height == 4
    everything = stopping(LABELS + 10 * [0], "RecallTest", total=60).list_verdicts()[0]
    assert everything.stop
    assert everything.value == 0


def test_rules_have_a_text_form() -> None:
    parse = cf.assess.parse_rule
    for text in (
        "RecallTest(recall=0.9)",
        "Knee",
        "Line(each=2)",
        "Budget(proportion=0.5)",
        "Target",
    ):
        assert str(parse(text)) == text
        assert parse(parse(text)) == parse(text)
    assert str(parse(" cmh ")) == "RecallTest"


def test_nothing_judged() -> None:
    asked = stopping([], ["RecallTest", "Knee", "Line", "Budget"], total=5)
    assert asked.after.tolist() == [0]
    assert not asked.stop.any()


def test_topics_of_a_pool() -> None:
    """Judgments go in their own order; those of documents outside the pool play no part."""
    runs = {"a": {"1": {f"d{i}": -float(i) for i in range(30)}, "2": {"x": 1.0}}}
    pool = cf.assess.pool(runs, 30)
    judged = [("1", f"d{i}", int(i in {9, 20})) for i in (20, 9, 3, 1, 2)]
    judged += [("1", "other", 1), ("9", "x", 1)]
    said = cf.assess.stopping_by_topic(
        pool, judged, ["Knee(min_judgments=1)", "Line(each=1, more=3)"]
    )
    alone = stopping([1, 1, 0, 0, 0], ["Knee(min_judgments=1)", "Line(each=1, more=3)"], total=30)
    assert list(said) == ["1", "2"]
    assert said["1"].to_polars().equals(alone.to_polars())
    assert said["1"].find_stops()["Line(each=1, more=3)"] == 5
    assert said["2"].after.tolist() == [0]
    nothing = cf.assess.stopping_by_topic(pool, None, "Budget")
    assert [one.find_stops()["Budget"] for one in nothing.values()] == [None, None]


def test_first_by_the_text_that_was_given() -> None:
    asked = stopping(
        [1, 0, 1] + 9 * [0],
        ["knee(min_judgments = 5)", "2399", cf.assess.parse_rule("Knee")],
        total=12,
    )
    first = asked.find_stops()
    assert first["knee(min_judgments = 5)"] == first["Knee(min_judgments=5)"]
    assert first["2399"] is None and first["Line"] is None
    assert list(first) == ["Knee(min_judgments=5)", "Line", "Knee"]
    with pytest.raises(KeyError):
        first["Budget"]
