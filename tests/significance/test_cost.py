"""Cost beside effect: fronts beside published values, definitions and all samples of topics."""

from __future__ import annotations

import re
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf

COSTS = """system,seconds,joules
bm25,2.0,40
bm25-rm3,6.0,110
dense,9.0,900
cross,95.0,8200
splade,12.0,700
tfidf,2.0,41
dup,2.0,40
unmeasured,20.0,
"""
MEANS = {
    "bm25": 0.48,
    "bm25-rm3": 0.50,
    "dense": 0.55,
    "cross": 0.61,
    "splade": 0.55,
    "tfidf": 0.41,
    "dup": 0.48,
    "unmeasured": 0.58,
}
FRONTS = {
    "seconds": ["bm25", "bm25-rm3", "cross", "dense", "dup", "unmeasured"],
    "joules": ["bm25", "bm25-rm3", "cross", "dup", "splade"],
}


def fronts(found: cf.CostEffectiveness) -> dict[str, list[str]]:
    front = found.to_polars().filter("on front").group_by("cost", maintain_order=True)
    return {str(name): sorted(rows["system"]) for (name,), rows in front}


@pytest.mark.parametrize(
    ("names", "refused"),
    [
        ("queries_per_second qps throughput docs/s tokens/s rps speed docsPerSec", "its inverse"),
        ("throughput+(docs/s) pages+per+hour FPS speed-up", "pass its inverse"),
        ("compression+ratio savings clock_GHz Hz sparsity", "its inverse"),
        ("recall hit_rate nDCG@10 MRR recall_100 P@5", "remove the column"),
        ("ms/query USD/h joules_per_second cost+per+hour papers steps speed_ms latency/s", ""),
        ("Time+/+h tokens latency_p99 map_seconds GB reps EUR", ""),
    ],
)
def test_rates_and_measures_of_quality_are_no_costs(names: str, refused: str) -> None:
    for name in (word.replace("+", " ") for word in names.split()):
        costs = {"system": ["a", "b"], "seconds": [2, 1], name: [200, 10]}
        if refused:
            message = f"higher values of '{re.escape(name)}' are better; .*{refused}"
            with pytest.raises(cf.InputError, match=message):
                cf.cost_effectiveness({"a": [0.5, 1.0], "b": [0.25, 1.0]}, costs)
        else:
            found = cf.cost_effectiveness({"a": [0.5, 1.0], "b": [0.25, 1.0]}, costs)
            assert found.to_polars()["cost"].unique(maintain_order=True).to_list() == [
                "seconds",
                name,
            ]


def test_reference_fronts(tmp_path: Any) -> None:
    table = tmp_path / "costs.csv"
    table.write_text(COSTS)
    # The same means of two topics, whose floats do not add up alike.
    shift = {name: 0.1 * k / 7 for k, name in enumerate(MEANS)}
    scores = {name: [mean - shift[name], mean + shift[name]] for name, mean in MEANS.items()}
    found = cf.cost_effectiveness(scores, table)
    assert fronts(found) == FRONTS
    assert found.notes == ("1 system excluded from the front of joules: no value for 'unmeasured'",)
    rows = found.to_polars().filter(cost="joules")
    dominated = dict(rows.filter(~pl.col("on front")).select("system", "dominated by").iter_rows())
    assert dominated == {"tfidf": "bm25", "dense": "splade"}
    assert "unmeasured" not in rows["system"] and rows["amount"].is_sorted()


def random_case(seed: int, lower: bool) -> tuple[cf.Scores, dict[str, int]]:
    draw = np.random.default_rng(seed)
    systems = tuple("abcdef")
    # Few values, so that means and costs have ties.
    scores = cf.Scores(draw.integers(0, 3, (4, 6)) / 10, tuple("1234"), systems, "m")
    costs = dict(zip(systems, draw.integers(1, 4, 6).tolist(), strict=True))
    return scores.with_direction(lower), costs


def plain_front(sums: Any, costs: dict[str, int], lower: bool) -> list[str]:
    effect = {name: -one if lower else one for name, one in zip(costs, sums, strict=True)}
    return [
        a
        for a in costs
        if not any(
            effect[b] >= effect[a]
            and costs[b] <= costs[a]
            and (effect[b] > effect[a] or costs[b] < costs[a])
            for b in costs
        )
    ]


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_beside_a_plain_loop_over_all_samples(seed: int, lower: bool) -> None:
    scores, costs = random_case(seed, lower)
    tenths = np.rint(scores.values * 10).astype(int)
    found = cf.cost_effectiveness(scores, costs, resamples=20_000, seed=seed)
    assert fronts(found)["cost"] == plain_front(tenths.sum(axis=0), costs, lower)
    samples = [tenths[list(topics)].sum(axis=0) for topics in product(range(4), repeat=4)]
    counts = dict.fromkeys(costs, 0)
    for sums in samples:
        for name in plain_front(sums, costs, lower):
            counts[name] += 1
    for row in found.to_polars().to_dicts():
        expected = counts[row["system"]] / len(samples)
        # Five times the largest standard error.
        assert row["front proportion"] == pytest.approx(expected, abs=5 * 0.5 / 20_000**0.5)
        if not row["on front"]:
            by = found.to_polars().row(by_predicate=pl.col("system") == row["dominated by"])
            assert by[4] and by[3] <= row["amount"]


def test_the_seed_is_recorded_and_decides() -> None:
    scores, costs = random_case(3, False)
    first, same, other = (
        cf.cost_effectiveness(scores, costs, resamples=100, seed=seed) for seed in (7, 7, 8)
    )
    assert first.seed == 7 and "100 bootstrap samples of topics, seed 7" in str(first)
    assert "error of proportions at most 0.05" in str(first)
    assert first.to_polars().equals(same.to_polars())
    assert not first.to_polars().equals(other.to_polars())


def test_missing_values_and_one_topic() -> None:
    scores = cf.Scores(np.array([[0.1, 0.2, 0.9], [0.3, np.nan, 0.9]]), ("1", "2"), ("a", "b", "c"))
    table = {
        "system": ["a", "b", "x"],
        "joules": [0, 5, 1],
        "seconds": ["NA", 2, 3],
        "dollars": [0, 2, 3],
        "machine": ["m", "m", "n"],
        "weight": [1, 2, 3],
        "n_topics": [10, 10, 10],
        "year": [2020, 2021, 2022],
    }
    found = cf.cost_effectiveness(scores, table)
    notes = "; ".join(found.notes)
    for part in (
        "'machine' of",
        "'n_topics' of",
        "'year' of",
        "1 row of",
        "0 in column joules is treated as missing: 'a'",
        "2 systems excluded from the front of joules: no value for 'a', 'c'",
        "1 system excluded from the front of weight: no value for 'c'",
        "1 topic excluded, as a score is missing",
    ):
        assert part in notes
    assert found.n_topics == 1 and found.to_polars()["front proportion"].null_count() == 6
    assert fronts(found) == {
        "joules": ["b"],
        "seconds": ["b"],
        "dollars": ["a", "b"],
        "weight": ["a", "b"],
    }


def test_mappings_and_frames_are_the_same() -> None:
    scores = {"a": [0.1, 0.5], "b": [0.2, 0.3]}
    one = cf.cost_effectiveness(scores, {"a": 1, "b": 2.5}).to_polars()
    costs = {"a": {"cost": 1}, "b": {"cost": 2.5}}
    frame = pl.DataFrame({"run": ["a", "b"], "cost": [1.0, 2.5]})
    columns = {"system": np.array(["a", "b"]), "cost": np.array([1, 2.5])}
    for other in (costs, frame, columns):
        assert cf.cost_effectiveness(scores, other).to_polars().equals(one)


def test_a_column_of_models_stands_beside_systems() -> None:
    """The column `system` names the systems; `model`, another usual name, is a further column."""
    scores = {"a": [0.1, 0.5], "b": [0.2, 0.3]}
    table = pl.DataFrame({"model": ["b", "a"], "system": ["a", "b"], "seconds": [1.0, 2.5]})
    costs = cf.cost_effectiveness(scores, table)
    seconds = cf.cost_effectiveness(scores, table.drop("model"))
    assert costs.to_polars().equals(seconds.to_polars())
    assert dict(costs.to_polars()["system", "amount"].rows()) == {"a": 1.0, "b": 2.5}
    assert any("column 'model'" in note for note in costs.notes)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,-1\nb,2", "costs.csv:2: seconds must be at least 0, got -1"),
        ("a,1\nb,2s", "costs.csv:3: seconds '2s' is not a finite number"),
        ("a,1\na,2", "costs.csv:3: system 'a' occurs twice"),
        ("a,\nb,x", "expected costs besides column"),
        ("x,1\ny,2", "expected a cost of at least one system with scores, such as 'a', got none"),
    ],
)
def test_refusals(tmp_path: Any, rows: str, message: str) -> None:
    table = tmp_path / "costs.csv"
    table.write_text(f"system,seconds\n{rows}\n")
    with pytest.raises(cf.CranfieldError, match=message):
        cf.cost_effectiveness({"a": [0.1, 0.5], "b": [0.2, 0.3]}, table)


def test_no_complete_topic() -> None:
    scores = cf.Scores(np.array([[0.1, np.nan], [np.nan, 0.2]]), ("1", "2"), ("a", "b"))
    with pytest.raises(
        cf.CranfieldError, match="expected a topic with scores of all systems with a cost"
    ):
        cf.cost_effectiveness(scores, {"a": 1, "b": 2})


def test_several_units_of_measurement(tmp_path: Any) -> None:
    table, scores = tmp_path / "costs.csv", {"a": [0.1, 0.5], "b": [0.2, 0.3]}
    table.write_text("system,time,unit\na,10,ms\nb,5,s\n")
    with pytest.raises(cf.InputError, match=r"column 'unit' \('ms', 's'\) may be the unit"):
        cf.cost_effectiveness(scores, table)
    table.write_text("system,time,unit\na,10,ms\nb,5,ms\n")
    cf.cost_effectiveness(scores, table)
