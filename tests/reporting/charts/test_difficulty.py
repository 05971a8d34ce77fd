"""The heat map of topics and systems."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cranfield.reporting.charts import difficulty_map
from tests.reporting.charts.drawn import domain_of, random_scores, rows_with, scores_of, spec_of


def test_cells_are_the_scores() -> None:
    scores = random_scores(6, topics=9)
    values = scores.values.copy()
    values[3, 2] = np.nan
    scores = replace(scores, values=values)
    chart = difficulty_map(scores)
    cells = {(row["topic"], row["system"]): row["score"] for row in rows_with(chart, "score")}
    assert len(cells) == 53
    for (topic, system), score in cells.items():
        where = scores.topics.index(topic), scores.systems.index(system)
        assert score == scores.values[where]
    assert spec_of(chart)["title"]["subtitle"] == ["White: 1 cells without a score."]
    means = dict(zip(scores.topics, np.nanmean(scores.values, axis=1), strict=True))
    assert domain_of(chart, "x") == sorted(means, key=lambda topic: -means[topic])
    by_system = dict(zip(scores.systems, np.nanmean(scores.values, axis=0), strict=True))
    assert domain_of(chart, "y") == sorted(by_system, key=lambda name: -by_system[name])


def test_topics_are_ordered_by_the_systems_shown() -> None:
    scores = scores_of([[0.1, 0.9, 0.9], [0.2, 0.1, 0.1]], ["p", "q"], "abc", "AP")
    assert domain_of(difficulty_map(scores), "x") == ["p", "q"]
    assert domain_of(difficulty_map(scores, systems=["a"]), "x") == ["q", "p"]


@pytest.mark.parametrize(
    ("values", "ends"), [([[0.2, 0.7]], [0, 0.7]), ([[0, 0]], [0, 1]), ([[-1, 2]], [-1, 2])]
)
def test_colours_begin_at_zero(values: list[list[float]], ends: list[float]) -> None:
    chart = difficulty_map(scores_of(values, ["1"], "ab", "AP"))
    colour = spec_of(chart)["encoding"]["color"]
    assert colour["scale"] == {"scheme": "viridis", "domain": ends}
    assert colour["legend"]["title"] == "AP"


def test_many_topics_share_the_width() -> None:
    spec = spec_of(difficulty_map(random_scores(2, topics=500)))
    assert spec["width"] == 1000
    assert spec["encoding"]["x"]["axis"]["labelOverlap"] == "greedy"
