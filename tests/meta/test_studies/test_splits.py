"""Studies of tests on disjoint sets of topics."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.meta.test_studies.fast_tests import TestChoice, draw_topic_sets
from cranfield.meta.test_studies.splits import split_topics

MODELS = ("anova-1", "anova-2", "anova-3", "anova-2f", "anova-3f")


def made(topics: int = 21, systems: int = 6, shards: int = 3, gaps: float = 0.0) -> tuple[Any, Any]:
    random = np.random.default_rng(3)
    spread = random.normal(0, 0.15, (1, systems, 1))
    values = 0.4 + spread + random.normal(0, 0.2, (topics, 1, 1))
    values = values + random.normal(0, 0.1, (topics, systems, 1))
    values = values + random.normal(0, 0.05, (topics, systems, shards))
    names = [f"q{k}" for k in range(topics)], [f"s{k}" for k in range(systems)]
    whole = cf.Scores(values.mean(axis=2), *names, "AP")  # type: ignore[arg-type]
    missing = random.random((topics, 1, shards)) < gaps
    shard = cf.Scores(np.where(missing, np.nan, values), *names, "AP")  # type: ignore[arg-type]
    return whole, shard


@pytest.mark.parametrize("gaps", [0.0, 0.15])
@pytest.mark.parametrize(
    "test",
    [
        *(name for name in MODELS if name not in ("anova-2f", "anova-3f")),
        *("t", "t+none", "sign+bh", "friedman", "anova-2+holm", "anova-2+none"),
    ],
)
def test_fast_verdicts_are_those_of_compare(test: str, gaps: float) -> None:
    whole, shard = made(gaps=gaps)
    name, _, correction = test.partition("+")
    by_shard = name in {"anova-3", "anova-3f"}
    scores = shard if by_shard else whole
    choice = TestChoice(name, correction or None)
    found = choice(scores)
    expected = cf.compare(
        scores, test=name, correction=choice.correction, missing="available" if by_shard else None
    )
    assert found.is_significant.tolist() == expected.is_significant().tolist()
    better = -expected.difference if expected.lower_is_better else expected.difference
    assert found.order.tolist() == np.sign(better).tolist()
    if not np.isnan(scores.values).any():
        # A bare array is not checked, and compared the same.
        bare = choice(scores.values)
        assert bare.is_significant.tolist() == found.is_significant.tolist()
        assert bare.order.tolist() == found.order.tolist()


@pytest.mark.parametrize("test", ["anova-1", "anova-2", "t", "friedman", "glm"])
def test_lower_is_better_changes_no_order(test: str) -> None:
    """All tests give the sign of the difference of means, so that their orders can be compared."""
    values = np.random.default_rng(0).random((12, 3)) / 5 + np.array([0.5, 0.0, 0.2])
    names = tuple(map(str, range(12)))
    lower = cf.Scores(values, names, ("a", "b", "c"), lower_is_better=True)
    found, bare = TestChoice(test)(lower), TestChoice(test)(values)
    assert found.order.tolist() == bare.order.tolist() == [1, 1, -1]
    assert found.is_significant.tolist() == bare.is_significant.tolist()


@pytest.mark.parametrize("test", ["anova-2f", "anova-3f"])
def test_bounds_are_of_studies_only(test: str) -> None:
    """They call all systems different but those with equal means, and `compare` refuses them."""
    whole, shard = made()
    scores = shard if test == "anova-3f" else whole
    found = TestChoice(test, None)(scores)
    means = np.nanmean(scores.values.reshape(len(scores.topics), len(scores.systems), -1), (0, 2))
    first, second = np.triu_indices(len(means), 1)
    assert found.is_significant.tolist() == (means[first] != means[second]).tolist()
    with pytest.raises(PolicyError, match="studies of tests"):
        cf.compare(scores, test=test)


def test_every_repeat_is_what_compare_says() -> None:
    whole, _ = made()
    study = split_topics(whole, ["anova-2", "t"], sizes=[8], repeats=3, seed=4)
    for repeat in range(3):
        counts = []
        for topics in draw_topic_sets(21, 8, repeat, 4):
            part = cf.Scores(
                whole.values[topics], tuple(whole.topics[k] for k in topics), whole.systems
            )
            counts.append(cf.compare(part, test="t", correction="holm").count())
        row = study.by_repeat.filter(
            (pl.col("repeat") == repeat)
            & (pl.col("sets") == "1-2")
            & (pl.col("first") == "t")
            & (pl.col("second") == "t")
        )
        assert row["significant first"].item() == counts[0]
        assert row["significant second"].item() == counts[1]


def test_what_a_test_finds_is_what_it_finds_on_the_first_set() -> None:
    study = split_topics(made()[0], ["t"], sizes=[8], repeats=2, seed=4)
    assert study.tabulate_outcomes("significant").equals(
        study.tabulate_outcomes("significant first")
    )


def test_draws_are_disjoint_and_their_own() -> None:
    for size in (2, 10, 11):
        one, other = draw_topic_sets(21, size, 0, 7)
        assert len(one) == size
        assert len(other) == min(size, 21 - size)
        assert not set(one) & set(other)
    assert [k.tolist() for k in draw_topic_sets(21, 5, 3, 7)] == [
        k.tolist() for k in draw_topic_sets(21, 5, 3, 7)
    ]
    assert draw_topic_sets(21, 5, 3, 7)[0].tolist() != draw_topic_sets(21, 5, 4, 7)[0].tolist()


def test_more_of_it_changes_nothing() -> None:
    whole, shard = made(gaps=0.1)
    few = split_topics(whole, ["anova-2"], sizes=[5], repeats=4, seed=2).by_repeat
    many = split_topics(whole, MODELS, by_shard=shard, sizes=[10, 5], repeats=12, seed=2).by_repeat
    again = many.filter(
        (pl.col("size") == 5)
        & (pl.col("repeat") < 4)
        & (pl.col("first") == "anova-2")
        & (pl.col("second") == "anova-2")
    )
    assert again.equals(few)


def test_summary_and_tables() -> None:
    whole, shard = made()
    study = split_topics(whole, MODELS, by_shard=shard, sizes=[5, 10], repeats=10)
    summary = study.summary()
    pairs = 15
    parts = ("AA", "AD", "MA", "MD", "neither")
    assert summary.select(sum=sum(pl.col(name) for name in parts))["sum"].round(9).eq(pairs).all()
    fake = study.tabulate_outcomes("AA").filter(pl.col("test") == "anova-2f")
    against = study.tabulate_outcomes("AD").filter(pl.col("test") == "anova-2f")
    assert fake["10"].item() + against["10"].item() == pytest.approx(pairs)
    contained = study.tabulate_outcomes("overlap", second="anova-2f", sets="1-1")
    assert contained["test"].to_list() == ["anova-1", "anova-2", "anova-3"]
    assert contained.row(1)[1:] == (1.0, 1.0)
    assert "major error" in study.summarise_as_urbano().columns
    for bad in (
        {"column": "nothing"},
        {"column": "AA", "second": "t"},
        {"column": "AA", "sets": "3"},
    ):
        with pytest.raises(PolicyError):
            study.tabulate_outcomes(**bad)


def test_a_summary_that_is_changed_in_place_changes_no_other() -> None:
    whole, _ = made()
    study = split_topics(whole, ["anova-2", "t"], sizes=[5], repeats=3)
    before = study.summary().clone()
    study.summary().drop_in_place("AA")
    assert study.summary().equals(before)


def test_teams() -> None:
    whole, shard = made()
    teams = dict(zip(whole.systems, "aabbbc", strict=True))
    study = split_topics(whole, ["anova-2"], sizes=[5], repeats=2, teams=teams)
    assert study.groups == {"all systems": 6, "a": 2, "b": 3}
    alone = split_topics(whole, ["anova-2"], sizes=[5], repeats=2, systems=["s2", "s3", "s4"])
    mine = study.by_repeat.filter(pl.col("group") == "b").drop("group")
    assert mine.equals(alone.by_repeat.drop("group"))


def test_topics_without_scores_in_enough_shards() -> None:
    whole, shard = made()
    values = shard.values.copy()
    values[:, :, 1:] = np.nan
    values[0] = shard.values[0]
    lonely = cf.Scores(values, shard.topics, shard.systems)
    study = split_topics(whole, ["anova-3"], by_shard=lonely, sizes=[3], repeats=3)
    row = study.summary().filter(pl.col("sets") == "1-2")
    # What could not be done is no result.
    assert row["failed"].item() >= 3
    assert row["significant first"].item() is None or row["failed"].item() < 6


def test_missing_scores_may_count_as_zero() -> None:
    whole, _ = made()
    values = whole.values.copy()
    values[0, 0] = np.nan
    gap = cf.Scores(values, whole.topics, whole.systems)
    study = split_topics(gap, ["anova-2"], sizes=[5], repeats=3, missing="zero")
    values[0, 0] = 0
    zero = cf.Scores(values, whole.topics, whole.systems)
    assert study.by_repeat.equals(split_topics(zero, ["anova-2"], sizes=[5], repeats=3).by_repeat)


def test_scores_by_shard_are_matched_by_name() -> None:
    whole, shard = made()
    turned = cf.Scores(shard.values[::-1, ::-1], shard.topics[::-1], shard.systems[::-1])
    one, two = (
        split_topics(whole, ["anova-3"], by_shard=each, sizes=[5], repeats=2).by_repeat
        for each in (shard, turned)
    )
    assert one.equals(two)
