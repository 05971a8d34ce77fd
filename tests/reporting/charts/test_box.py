"""Box plots: quartiles, whiskers and means are those of the scores."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean, quantiles

import numpy as np
import pytest

from cranfield.reporting.charts import box_plot
from tests.reporting.charts.drawn import domain_of, random_scores, rows_with, scores_of, spec_of


def test_boxes_are_of_the_scores() -> None:
    scores = random_scores(7, topics=23, seed=3)
    values = scores.values.copy()
    values[4, 2] = 9.0
    values[[1, 5], 3] = np.nan
    scores = replace(scores, values=values)
    chart = box_plot(scores)
    boxes = {row["system"]: row for row in rows_with(chart, "q1")}
    beyond = rows_with(chart, "topic", "score")
    assert ("s2", "t4", 9.0) in [(row["system"], row["topic"], row["score"]) for row in beyond]
    for k, name in enumerate(scores.systems):
        column = sorted(value for value in scores.values[:, k].tolist() if value == value)
        q1, median, q3 = quantiles(column, n=4, method="inclusive")
        inside = [one for one in column if q1 - 1.5 * (q3 - q1) <= one <= q3 + 1.5 * (q3 - q1)]
        box = boxes[name]
        assert box["topics"] == len(column)
        assert [box[key] for key in ("low", "q1", "median", "q3", "high", "mean")] == pytest.approx(
            [inside[0], q1, median, q3, inside[-1], fmean(column)]
        )
        outside = [row["score"] for row in beyond if row["system"] == name]
        assert sorted(inside + outside) == column


def test_best_mean_first() -> None:
    scores = random_scores(5)
    means = dict(zip(scores.systems, scores.mean(), strict=True))
    order = sorted(means, key=lambda name: -means[name])
    assert domain_of(box_plot(scores), "y") == order
    assert domain_of(box_plot(scores, systems=["s0", "s4", "s0"]), "y") == [
        name for name in order if name in {"s0", "s4"}
    ]
    lower = random_scores(5, lower_is_better=True)
    assert domain_of(box_plot(lower), "y") == order[::-1]
    title = spec_of(box_plot(lower))["layer"][0]["encoding"]["x"]["title"]
    assert title == "effort of a topic (lower is better)"


def test_equal_means_keep_their_order() -> None:
    # Sums of the same numbers in another order differ in the last bit.
    scores = {"a": [0.1, 0.2, 0.3], "b": [0.3, 0.2, 0.1], "c": [0.2, 0.3, 0.1]}
    assert domain_of(box_plot(scores), "y") == ["a", "b", "c"]


def test_few_scores() -> None:
    chart = box_plot({"one": [0.5], "none": [None], "three": [0.0, 10.0, 10.0, 10.0]})
    boxes = {row["system"]: row for row in rows_with(chart, "q1")}
    assert boxes["none"]["mean"] is None
    assert boxes["none"]["topics"] == 0
    assert boxes["one"]["low"] == boxes["one"]["high"] == 0.5
    # The fence is at 3.75, and no score lies between it and the quartile, 7.5.
    assert (boxes["three"]["low"], boxes["three"]["q1"]) == (7.5, 7.5)
    assert "none with no score" in spec_of(chart)["description"]


def test_the_scores_may_come_from_anywhere() -> None:
    frame = random_scores(3).to_pandas()
    assert domain_of(box_plot(frame), "y")[-1] in {"s0", "s1"}
    one = scores_of([[0.5]], ["1"], ["a"])
    assert spec_of(box_plot(one))["title"]["text"] == "score: 1 system, 1 topic"


def test_titles_count_the_topics_with_scores() -> None:
    scores = random_scores(3, topics=13)
    title = str(spec_of(box_plot(scores))["title"])
    assert "3 systems, 13 topics" in title
    values = scores.values.copy()
    values[[1, 5], 0] = np.nan
    scores = replace(scores, values=values)
    assert "3 systems, 11 to 13 of 13 topics" in str(spec_of(box_plot(scores))["title"])
    values[[1, 5]] = np.nan
    scores = replace(scores, values=values)
    assert "3 systems, 11 of 13 topics" in str(spec_of(box_plot(scores))["title"])
