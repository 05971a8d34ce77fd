"""Two systems topic by topic."""

from __future__ import annotations

import numpy as np
import pytest

from cranfield.reporting.charts import difference_bars, difference_scatter
from tests.reporting.charts.drawn import domain_of, random_scores, rows_with, scores_of, spec_of

FIELDS = ("topic", "first", "second", "difference", "kind")


def test_bars_are_the_differences() -> None:
    scores = random_scores(3, topics=30)
    chart = difference_bars(scores, "s0", "s2")
    rows = rows_with(chart, *FIELDS)
    wanted = dict(zip(scores.topics, scores.values[:, 0] - scores.values[:, 2], strict=True))
    assert {row["topic"]: row["difference"] for row in rows} == pytest.approx(wanted)
    assert domain_of(chart, "x") == sorted(wanted, key=lambda topic: -wanted[topic])
    ahead = sum(value > 0 for value in wanted.values())
    kinds = [f"s0 better: {ahead}", f"s2 better: {30 - ahead}"]
    assert domain_of(chart, "color") == kinds
    assert {row["kind"] for row in rows if row["difference"] > 0} == {kinds[0]}
    [rule] = spec_of(chart)["layer"][1:]
    [mean] = spec_of(chart)["datasets"][rule["data"]["name"]]
    assert mean["difference"] == pytest.approx(np.mean(list(wanted.values())))


def test_lower_is_better() -> None:
    scores = scores_of([[1.0, 2.0], [3.0, 3.0]], "12", "ab", "SetE", lower_is_better=True)
    kinds = {
        row["topic"]: row["kind"] for row in rows_with(difference_bars(scores, "a", "b"), *FIELDS)
    }
    assert kinds == {"1": "a better: 1", "2": "equal: 1"}


def test_rounding_is_no_difference() -> None:
    scores = scores_of([[0.1 + 0.2, 0.3], [0.5, 0.4]], "12", "ab")
    rows = rows_with(difference_bars(scores, "a", "b"), *FIELDS)
    assert [row["difference"] for row in rows] == [pytest.approx(0.1), 0.0]


def test_missing_scores_are_told() -> None:
    scores = scores_of([[0.1, 0.3], [0.5, np.nan], [np.nan, 0.2]], "123", "ab")
    spec = spec_of(difference_scatter(scores, "a", "b"))
    assert spec["title"]["subtitle"] == ["Excluded: 2 topics without scores of both systems."]


@pytest.mark.parametrize(
    ("values", "ends"),
    [
        ([[0.1, 0.9], [0.4, 0.2]], [0, 1]),
        ([[0.1, 0.2], [0.2, 0.2]], [0, 0.2]),
        ([[-2.0, 5.0], [0.0, 1.0]], [-2, 5]),
        ([[0.0, 0.0], [0.0, 0.0]], [0, 1]),
    ],
)
def test_both_axes_of_the_scatter_are_one(values: list[list[float]], ends: list[float]) -> None:
    scores = scores_of(values, "12", "ab")
    chart = difference_scatter(scores, "a", "b")
    found: list[object] = [domain_of(chart, "x"), domain_of(chart, "y")]
    assert found == [ends, ends]
    rows = rows_with(chart, *FIELDS)
    assert [(row["first"], row["second"]) for row in rows] == [tuple(one) for one in values]
    titles = [spec_of(chart)["layer"][1]["encoding"][side]["title"] for side in "yx"]
    assert titles == ["score: a", "score: b"]


def test_many_topics() -> None:
    spec = spec_of(difference_bars(random_scores(2, topics=3000), "s0", "s1"))
    assert spec["width"] == 1000
    assert spec["layer"][0]["encoding"]["x"]["axis"]["labelOverlap"] == "greedy"
    few = spec_of(difference_bars(random_scores(2, topics=50), "s0", "s1"))
    assert few["layer"][0]["encoding"]["x"]["axis"]["labelOverlap"] is False


def test_long_names_stay_apart() -> None:
    names = ("x" * 200, "x" * 201)
    kinds = domain_of(difference_bars(scores_of([[1, 2], [3, 1]], "12", names), *names), "color")
    assert len(set(kinds)) == 2
    assert all(len(kind) < 60 for kind in kinds)
