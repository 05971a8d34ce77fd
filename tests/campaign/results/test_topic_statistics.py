"""Best, median and worst by topic: TREC's sheets, a naive count, and properties."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.campaign.results.topic_statistics import topic_statistics
from cranfield.scores import Scores

SHEETS = Path(__file__).parents[2] / "data" / "campaign" / "trec8-manual"


def table(values: Any, systems: Iterable[str], **more: Any) -> Scores:
    shape = np.shape(values)
    topics = tuple(f"q{k}" for k in range(shape[0]))
    return Scores(np.asarray(values, dtype=float), topics, tuple(systems), **more)


def of_sheets(column: pl.Expr) -> Scores:
    rows = pl.read_csv(SHEETS / "topic_results.csv").with_columns(column.alias("value"))
    wide = rows.pivot("tag", index="topic", values="value").sort("topic")
    return Scores(
        wide.drop("topic").to_numpy(), tuple(wide["topic"].cast(pl.String)), tuple(wide.columns[1:])
    )


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("rr100", pl.col("p100") * 100),
        ("rr1000", pl.col("relevant_retrieved").cast(pl.Float64)),
        ("ap", pl.col("ap")),
    ],
)
def test_the_values_of_the_sheets_of_trec_8(name: str, column: pl.Expr) -> None:
    official = pl.read_csv(SHEETS / "topic_statistics.csv").sort("topic")
    scores = of_sheets(column)
    assert scores.topics == tuple(official["topic"].cast(pl.String))
    groups = dict.fromkeys(scores.systems, "manual")
    found = topic_statistics(scores, groups).select_group("manual")
    assert found.height == 50
    for one in ("best", "median", "worst"):
        # Hundreds of a precision are whole numbers but for rounding.
        ours = found[one].to_numpy().round(9)
        np.testing.assert_array_equal(ours, official[f"{name}_{one}"].to_numpy())


def test_the_median_of_an_even_number_is_the_better_middle_score() -> None:
    scores = table([[0.1, 0.4, 0.2, 0.3]], "abcd")
    assert topic_statistics(scores).to_polars()["median"].to_list() == [0.3]
    low = table([[0.1, 0.4, 0.2, 0.3]], "abcd", lower_is_better=True)
    assert topic_statistics(low).to_polars()["median"].to_list() == [0.2]
    averaged = topic_statistics(scores, median="average").to_polars()["median"].to_list()
    assert averaged == [0.25]
    large = table([[1.7e308, 1.7e308]], "ab")
    assert topic_statistics(large, median="average").to_polars()["median"].to_list() == [1.7e308]


def test_a_run_without_the_topic_counts_0_and_it_is_said() -> None:
    scores = table([[0.5, np.nan, 0.7]], "abc")
    found = topic_statistics(scores)
    assert found.to_polars().select("best", "median", "worst", "n").rows() == [(0.7, 0.5, 0.0, 3)]
    assert found.notes == ("1 missing score counted as 0",)


def test_where_low_scores_are_good_a_missing_one_counts_as_the_highest_possible() -> None:
    of_sets = cf.parse_measure("SetE")
    scores = table([[0.2, np.nan]], "ab", definition=of_sets)
    found = topic_statistics(scores)
    assert found.to_polars()["worst"].to_list() == [1.0]
    assert found.notes == ("1 missing score counted as 1",)
    unknown = table([[0.2, np.nan]], "ab", lower_is_better=True)
    with pytest.raises(PolicyError, match="require a measure with a maximum"):
        topic_statistics(unknown)


def test_small_groups_are_left_out_and_said() -> None:
    scores = table([[0.1, 0.2, 0.3, 0.4]], "abcd")
    groups = {"a": "manual", "b": "automatic", "c": "automatic", "d": "automatic"}
    found = topic_statistics(scores, groups, min_runs=3)
    assert found.groups == ("all", "automatic")
    assert found.excluded_groups == {"manual": 1}
    assert found.notes == ("group manual is excluded: it has 1 run, fewer than 3",)
    assert found.select_group("manual").is_empty()
    assert str(found).splitlines()[:2] == [
        "scores: 2 groups, 1 topic",
        "note: group manual is excluded: it has 1 run, fewer than 3",
    ]
    assert found.n.tolist() == [4, 3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": {"x": "manual"}}, "'x'"),
        ({"groups": {"a": "all"}}, "all"),
        ({"median": "mean"}, "'mean'; expected one of"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    scores = table([[0.1, 0.2]], "ab")
    with pytest.raises(PolicyError, match=message):
        topic_statistics(scores, **options)
    with pytest.raises(PolicyError, match="group 'x'"):
        topic_statistics(scores).select_group("x")
    with pytest.raises(PolicyError, match="shards"):
        topic_statistics(table(np.zeros((1, 2, 2)), "ab"))


@given(
    st.integers(1, 4).flatmap(
        lambda topics: st.lists(
            st.lists(st.integers(0, 5), min_size=topics, max_size=topics), min_size=1, max_size=7
        )
    ),
    st.booleans(),
)
def test_the_same_as_counting_one_by_one(columns: list[list[int]], lower: bool) -> None:
    runs = [f"r{k}" for k in range(len(columns))]
    groups = {run: "even" if k % 2 == 0 else "odd" for k, run in enumerate(runs)}
    scores = table(np.transpose(columns), runs, lower_is_better=lower)
    found = topic_statistics(scores, groups).to_polars()
    for group, topic, best, median, worst, n in found.rows():
        members = [k for k, run in enumerate(runs) if group in ("all", groups[run])]
        mine = [columns[k][scores.topics.index(topic)] for k in members]
        in_order = sorted(mine, reverse=not lower)
        assert (best, worst, n) == (in_order[0], in_order[-1], len(mine))
        assert median == in_order[-(-len(mine) // 2) - 1]
        # It is a score that some run of the group has, and as many are as good or better.
        at_least = sum(one <= median if lower else one >= median for one in mine)
        assert median in mine
        assert 2 * at_least >= len(mine)
