"""Means with intervals: those that do not overlap differ."""

from __future__ import annotations

from itertools import combinations

import pytest

import cranfield as cf
from cranfield.reporting.charts import intervals_chart
from tests.conftest import ADHOC8
from tests.reporting.charts.drawn import domain_of, random_scores, rows_with, spec_of


def test_trec8_as_in_the_paper() -> None:
    found = cf.compare(cf.read_scores(ADHOC8), correction="tukey")
    rows = rows_with(intervals_chart(found), "verdict", "mean")
    assert len(rows) == 129
    # Ferro and Maistro (2024), section 4.2.6: half-width .0515; 3,423 of 8,256 pairs differ.
    assert {round(row["high"] - row["mean"], 4) for row in rows} == {0.0515}
    apart = [a["low"] > b["high"] or b["low"] > a["high"] for a, b in combinations(rows, 2)]
    assert (sum(apart), len(apart)) == (3423, 8256)
    top = [
        row["system"]
        for row in rows
        if row["verdict"] in {"reference", "not significantly different"}
    ]
    assert top == list(found.top_group)


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_verdicts_follow_the_comparison(lower_is_better: bool) -> None:
    scores = random_scores(8, topics=60, lower_is_better=lower_is_better)
    found = cf.compare(scores)
    chart = intervals_chart(found, reference="s4")
    rows = {row["system"]: row for row in rows_with(chart, "verdict", "mean")}
    assert list(rows) == domain_of(chart, "y") == found.ranking()["system"].to_list()
    means = dict(zip(scores.systems, scores.mean(), strict=True))
    seen = set()
    for name, row in rows.items():
        assert row["mean"] == pytest.approx(means[name])
        if name == "s4":
            assert row["verdict"] == "reference"
            continue
        p = found.pvalue_matrix[scores.systems.index(name), 4]
        better = (means[name] > means["s4"]) != lower_is_better
        wanted = ("better" if better else "worse") if p <= 0.05 else "not significantly different"
        assert row["verdict"] == wanted
        seen.add(wanted)
    assert seen == {"better", "worse", "not significantly different"}


def test_a_baseline_is_the_reference() -> None:
    found = cf.compare(random_scores(5), baseline="s1", correction="tukey")
    spec = spec_of(intervals_chart(found))
    assert spec["layer"][1]["encoding"]["color"]["legend"]["title"] == "compared with s1"
    other = rows_with(intervals_chart(found, reference="s0"), "verdict", "mean")
    told = {row["system"]: row["verdict"] for row in other}
    assert told["s3"] == "not compared"
    assert told["s1"] != "not compared"


def test_systems_without_an_interval_are_counted() -> None:
    scores = {
        "low": [0.31, 0.12, 0.58, 0.44, 0.27, 0.65],
        "middle": [0.39, 0.10, 0.66, 0.47, 0.41, 0.70],
        "high": [0.42, 0.16, 0.71, 0.45, 0.46, 0.70],
    }
    found = cf.compare(cf.read_scores(scores, measure="AP"), test="t", baseline="low")
    number = found.n_without_interval
    spec = spec_of(intervals_chart(found))
    assert number == 1
    assert "1 system without a line" in " ".join(spec["title"]["subtitle"])
    # The reference has no interval of its own: a line marks its mean.
    assert spec["layer"][0]["mark"]["type"] == "rule"
    other = spec_of(intervals_chart(found, reference="middle"))
    assert "2 systems without" not in " ".join(other["title"]["subtitle"])


def test_the_axis_begins_at_the_data() -> None:
    scale = spec_of(intervals_chart(cf.compare(random_scores(8))))["layer"][1]["encoding"]["x"]
    rows = rows_with(intervals_chart(cf.compare(random_scores(8))), "verdict", "mean")
    ends = [min(row["low"] for row in rows), max(row["high"] for row in rows)]
    # No line ends at the frame.
    low, high = scale["scale"]["domain"]
    assert [low, high] == pytest.approx(ends, abs=0.03 * (ends[1] - ends[0]))
    assert low < ends[0] < ends[1] < high
    assert scale["scale"]["nice"] is False


def test_ranks() -> None:
    chart = intervals_chart(cf.compare(random_scores(4), test="friedman"))
    spec = spec_of(chart)
    assert spec["layer"][1]["encoding"]["x"]["title"] == "mean rank by AP (lower is better)"
    assert spec["title"]["text"] == "Mean rank by system: AP"


def test_intervals_of_differences_from_the_reference() -> None:
    """Where intervals leave out the mean of the reference, its limits leave out 0."""
    found = cf.compare(random_scores(8, topics=40), test="t", correction="bootstrap-max-t")
    assert found.half_widths is None
    for reference in ("s4", "s0"):
        rows = {
            row["system"]: row
            for row in rows_with(intervals_chart(found, reference=reference), "verdict", "mean")
        }
        middle = rows[reference]["mean"]
        assert rows[reference]["low"] == rows[reference]["high"] == middle
        frame = found.to_polars()
        for first, second, low, high in frame["first", "second", "low", "high"].rows():
            if second == reference:
                assert rows[first]["low"] == pytest.approx(middle + low)
                assert rows[first]["high"] == pytest.approx(middle + high)
            if first == reference:
                assert rows[second]["low"] == pytest.approx(middle - high)


def test_lines_below_the_title_are_no_longer_than_the_chart() -> None:
    covid = cf.bundled.trec_covid()
    scores = cf.evaluate(covid.runs[:5], covid.qrels, "nDCG@20")["nDCG@20"]
    found = cf.compare(scores, test="t", correction="bootstrap-max-t")
    lines = intervals_chart(found).to_dict()["title"]["subtitle"]
    assert max(map(len, lines)) <= 90
    assert found.systems[found.order[0]] in " ".join(lines)


def test_means_are_drawn_where_intervals_are_unbounded() -> None:
    """On three topics no difference is significant; the axis covers the means."""
    means = {"a": 0.25, "b": 0.375, "c": 0.3125}
    noise = {"a": (0, 0, 0), "b": (0.03125, -0.03125, 0), "c": (0.0625, 0, -0.0625)}
    scores = {name: [means[name] + x for x in noise[name]] for name in means}
    found = cf.compare(scores)
    chart = intervals_chart(found)
    rows = rows_with(chart, "verdict", "mean")
    assert [row["mean"] for row in rows] == [0.375, 0.3125, 0.25]
    assert {row["low"] for row in rows} == {row["high"] for row in rows} == {None}
    low, high = map(float, domain_of(chart, "x"))
    assert 0.24 < low < 0.25 and 0.375 < high < 0.385
    assert "3 systems without a line" in str(chart.to_dict()["title"])


def test_the_advice_of_the_refusal_works() -> None:
    scores = random_scores(4)
    for test in ("t", "anova"):
        with pytest.raises(cf.PolicyError, match="test='anova' without another correction"):
            intervals_chart(cf.compare(scores, test=test, correction="bh"))
    assert len(rows_with(intervals_chart(cf.compare(scores, test="anova")), "verdict", "mean")) == 4
