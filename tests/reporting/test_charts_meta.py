"""Charts of studies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cranfield.meta.measure_studies.discriminative import DiscriminativePower
from cranfield.reporting.charts.studies import asl_chart, select_points


def power(pvalues: dict[str, Any], systems: int, alpha: float = 0.05) -> DiscriminativePower:
    """Make a result of p-values that are known."""
    parts = [
        pl.DataFrame({"measure": name, "first": "a", "second": "b", "difference": 0.1, "p": p})
        for name, p in pvalues.items()
    ]
    names = tuple(pvalues)
    topics = dict.fromkeys(names, 50)
    call = {"test": "t", "correction": "none", "alpha": alpha, "resamples": None}
    sizes = {"measures": names, "n_systems": systems, "n_topics": topics}
    return DiscriminativePower(call, **sizes, pairs=pl.concat(parts), notes={})


def lines(chart: Any) -> tuple[dict[str, Any], dict[str, list[tuple[int, float]]]]:
    """Return the layer of curves, and the points of each measure."""
    made = chart.to_dict()
    [layer] = [one for one in made["layer"] if one["mark"]["type"] == "line"]
    data = made["datasets"][layer.get("data", made.get("data"))["name"]]
    found: dict[str, list[tuple[int, float]]] = {}
    for row in data:
        found.setdefault(row["measure"], []).append((row["rank"], row["p"]))
    return layer, found


def test_curves_by_hand() -> None:
    """Six pairs; the curve of A ends where it leaves the chart, at its fourth pair."""
    given = power({"B": [0.9, 0.2, 0.1, 0.8, 0.3, 0.7], "A": [0.14, 0.01, 0.5, 0.6, 0.02, 0.9]}, 4)
    layer, found = lines(asl_chart(given))
    assert found == {"B": [(1, 0.1), (2, 0.2)], "A": [(1, 0.01), (2, 0.02), (3, 0.14)]}
    assert layer["encoding"]["x"]["scale"]["domain"] == [0, 3]
    assert layer["encoding"]["y"]["scale"]["domain"] == [0, 0.15]
    # The most discriminative first.
    assert layer["encoding"]["color"]["scale"]["domain"] == ["A", "B"]
    whole, every = lines(asl_chart(given, max_pvalue=1))
    assert [len(points) for points in every.values()] == [6, 6]
    assert whole["encoding"]["x"]["scale"]["domain"] == [0, 6]


def test_significance_level() -> None:
    kinds = [one["mark"]["type"] for one in asl_chart(power({"A": [0.1]}, 2)).to_dict()["layer"]]
    assert kinds == ["rule", "line", "text", "text"]
    high = asl_chart(power({"A": [0.1]}, 2, alpha=0.2)).to_dict()["layer"]
    assert [one["mark"]["type"] for one in high] == ["line"]


def test_many_pairs_are_thinned_without_changing_the_look() -> None:
    pairs = 7_875
    random = np.random.default_rng(0)
    p = np.sort(random.beta(0.2, 1, pairs))
    curves = pl.DataFrame({"measure": "A", "rank": np.arange(1, pairs + 1), "p": p})
    few = select_points(curves, pairs, 500)
    assert few.height <= 2 * 501
    # In each column of the chart the curve covers the same interval.
    for start in range(0, 500, 50):
        inside = [k for k in range(1, pairs + 1) if k * 500 // pairs == start]
        mine = few.filter(pl.col("rank").is_between(inside[0], inside[-1]))["p"]
        assert (mine.min(), mine.max()) == (p[inside[0] - 1], p[inside[-1] - 1])
    _, found = lines(asl_chart(power({"A": p, "B": p}, 126)))
    assert found["A"] == found["B"]
    assert len(found["A"]) < 1_900


def test_nothing_is_low(tmp_path: Path) -> None:
    chart = asl_chart(power({"A: <b>@10": [1.0, 1.0, 1.0], "B": [1.0] * 3}, 3))
    _, found = lines(chart)
    assert found == {"A: <b>@10": [(1, 1.0)], "B": [(1, 1.0)]}
    chart.save(tmp_path / "asl.svg")
    assert "A: &lt;b&gt;@10" in (tmp_path / "asl.svg").read_text()
