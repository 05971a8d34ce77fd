"""The matrix of differences: each pair once, from both sides."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from cranfield.reporting.charts import significance_matrix
from cranfield.reporting.summary import make_verdict_matrix
from tests.reporting.charts.drawn import domain_of, random_scores, rows_with, scores_of, spec_of

CODES = {1: "better", -1: "worse", 0: "not significantly different"}


def read_back(chart: object) -> dict[tuple[str, str], tuple[str, float, float]]:
    """Return verdict, difference and p-value by systems, as a chart looks them up."""
    name = {row["rank"]: row["name"] for row in rows_with(chart, "rank")}
    return {
        (name[row["i"]], name[row["j"]]): (CODES.get(row["v"], "different"), row["d"], row["p"])
        for row in rows_with(chart, "i", "j")
    }


@pytest.mark.parametrize("lower_is_better", [False, True])
def test_cells_are_the_pairs(lower_is_better: bool) -> None:
    found = cf.compare(random_scores(9, topics=60, lower_is_better=lower_is_better))
    chart = significance_matrix(found)
    cells = read_back(chart)
    assert len(cells) == len(found) == 36
    words = set()
    for row in found.to_polars().iter_rows(named=True):
        word, difference, p = cells[row["first"], row["second"]]
        assert difference == pytest.approx(row["difference"], rel=1e-5)
        assert p == pytest.approx(row["p"], rel=1e-5)
        better = (row["difference"] > 0) != lower_is_better
        assert word == (("better" if better else "worse") if row["significant"] else CODES[0])
        words.add(word)
    assert words == {"worse" if not lower_is_better else "better", "not significantly different"}
    order = found.ranking()["system"].to_list()
    assert domain_of(chart, "y") == domain_of(chart, "x") == order
    spec = spec_of(chart)
    fills = spec["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert fills == ["better", "worse", "not significantly different"]
    # The other side: what was looked up for rows is looked up for columns, with the sign changed.
    here, there = (spec["layer"][k]["transform"] for k in (0, 2))
    assert [one.get("lookup") for one in here] == ["i", "j", None, None, None]
    assert [one.get("lookup") for one in there] == ["j", "i", None, None, None]
    assert there[4]["calculate"] == "-" + here[4]["calculate"]


def test_verdicts_mirror_each_other() -> None:
    words = make_verdict_matrix(cf.compare(random_scores(12, topics=60)))
    turned = {"better": "worse", "worse": "better"}
    for i, j in np.ndindex(words.shape):
        word = str(words[i, j])
        assert words[j, i] == turned.get(word, word)


def test_baselines_are_the_columns() -> None:
    found = cf.compare(random_scores(5), baseline=["s1", "s3"])
    chart = significance_matrix(found)
    assert len(read_back(chart)) == 6
    order = found.ranking()["system"].to_list()
    assert domain_of(chart, "x") == [name for name in order if name in {"s1", "s3"}]
    assert domain_of(chart, "y") == [name for name in order if name not in {"s1", "s3"}]
    assert len(spec_of(chart)["layer"]) == 2


def test_one_sided_tests_have_one_side() -> None:
    found = cf.compare(random_scores(4, topics=60), test="t", baseline="s1", alternative="less")
    chart = significance_matrix(found)
    assert len(spec_of(chart)["layer"]) == 2
    assert {word for word, _, _ in read_back(chart).values()} <= {
        "worse",
        "not significantly different",
    }


def test_systems_of_the_same_mean_that_differ() -> None:
    # A sign test goes by wins, whatever they are worth: 11 of 12 here.
    values = np.zeros((12, 2))
    values[:11, 0], values[11, 1] = 1, 11
    found = cf.compare(scores_of(values, [str(k) for k in range(12)], "ab"), test="sign")
    assert found.count() == 1
    chart = significance_matrix(found)
    assert [word for word, _, _ in read_back(chart).values()] == ["better"]
    fills = spec_of(chart)["layer"][0]["encoding"]["color"]["scale"]["domain"]
    assert set(fills) == {"better", "worse"}


def test_130_systems() -> None:
    found = cf.compare(random_scores(130, topics=10))
    chart = significance_matrix(found)
    text = chart.to_json(indent=None)
    assert len(read_back(chart)) == 8385
    assert len(text) < 1_000_000
    assert len(spec_of(chart)["layer"]) == 2
