"""Negated scores of which lower is better have the same comparisons, with mirrored means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.errors import PolicyError
from cranfield.base.scale_types import Scale
from cranfield.reporting import summary
from cranfield.significance.registry import TESTS
from cranfield.tabular import as_cell

FLAT = [
    name for name, one in TESTS.items() if one.info.shards != "required" and not one.info.refusal
]
FAST: dict[str, Any] = {"resamples": 199}
SYSTEMS = ("a", "b", "c", "d", "e")


def drawn(seed: int, topics: int = 25) -> cf.Scores:
    random = np.random.default_rng(seed)
    values = random.normal(size=(topics, 1)) + np.array([0.3, 0.0, 0.1, 1.0, 0.9])
    values = np.round(values + random.normal(size=(topics, 5)) * 0.4, 2)
    return cf.Scores(values, tuple(map(str, range(topics))), SYSTEMS, "gain")


def mirrored(scores: cf.Scores) -> cf.Scores:
    return replace(scores, values=-scores.values, lower_is_better=True)


@pytest.mark.parametrize("baseline", [None, "b"])
@pytest.mark.parametrize("test", FLAT)
def test_comparison(test: str, baseline: str | None) -> None:
    scores = drawn(1 if baseline is None else 2)
    options = {"test": test, "baseline": baseline, **FAST}
    one, other = cf.compare(scores, **options), cf.compare(mirrored(scores), **options)
    np.testing.assert_allclose(other.adjusted_pvalues, one.adjusted_pvalues, atol=1e-12)
    (low, high), difference = one.interval, one.difference
    if not one.lower_is_better:
        # Mean ranks are not mirrored: 1 is the best system in both.
        low, high, difference = -high, -low, -difference
    np.testing.assert_allclose(other.difference, difference, atol=1e-12)
    np.testing.assert_allclose(other.interval[0], low, atol=1e-9)
    np.testing.assert_allclose(other.interval[1], high, atol=1e-9)
    assert one.order.tolist() == other.order.tolist()
    assert one.is_worse().tolist() == other.is_worse().tolist()
    assert summary.list_pair_verdicts(one).tolist() == summary.list_pair_verdicts(other).tolist()
    assert one.ranking()["system"].to_list() == other.ranking()["system"].to_list()
    if baseline is None:
        assert one.groups() == other.groups()
        assert one.top_group == other.top_group


def won_by_losing_a_lot(lower: bool = False) -> cf.Scores:
    """`often` beats `big` on 26 of 30 topics by little, and loses four by much; `low` loses all."""
    random = np.random.default_rng(5)
    big = random.uniform(0.4, 0.6, 30)
    gain = np.where(np.arange(30) < 4, -0.35, random.uniform(0.03, 0.04, 30))
    values = np.stack([big + gain, big, big / 2], axis=1)
    topics, systems = tuple(map(str, range(30))), ("often", "big", "low")
    return cf.Scores(-values if lower else values, topics, systems, lower_is_better=lower)


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("test", ["sign", "signed-rank"])
def test_verdict_is_that_of_the_test(test: str, lower: bool) -> None:
    """A sign or rank test can favour the system with the worse mean."""
    found = cf.compare(won_by_losing_a_lot(lower), test=test, baseline="big", correction="none")
    low, high = found.interval
    assert (high[0] < 0) if lower else (low[0] > 0)
    assert summary.list_pair_verdicts(found).tolist() == ["better", "worse"]
    assert found.is_worse().tolist() == [False, True]
    assert found.equivalence(0.01).verdicts == ("superior", "inferior")
    (note,) = [note for note in found.notes if "without the better mean" in note]
    assert note.startswith("1 of 2 significant differences favours a system without the better")
    assert "such as often over big" in note
    assert "1 is significantly better, 1 is significantly worse" in summary.describe_outcome(
        found, "x"
    )


def test_best_mean_is_not_called_best() -> None:
    scores = won_by_losing_a_lot()
    found = cf.compare(scores, test="sign")
    sentence = summary.describe_outcome(found, "x")
    assert "often is significantly better on x than the system with the best mean" in sentence
    # The order of the pair is undecided: by means it is another than by the test.
    assert found.ranking()["ranks"].to_list() == ["1-2", "1-2", "3"]
    two = cf.compare(scores.select(systems=["often", "big"]), test="sign")
    sentence = summary.describe_outcome(two, "x")
    assert sentence.startswith("On x often (") and "better than big" in sentence


@pytest.mark.parametrize("test", FLAT)
def test_direction_is_that_of_the_interval(test: str) -> None:
    found = cf.compare(won_by_losing_a_lot(), test=test, **FAST)
    low, high = found.interval
    side = np.where(low > 0, 1, np.where(high < 0, -1, 0)) * (-1 if found.lower_is_better else 1)
    is_shown = found.is_significant() & np.isfinite(low)
    assert found.direction[is_shown].tolist() == side[is_shown].tolist()


def test_worse_is_found() -> None:
    """The samples of this module hold pairs that differ, so that equality says something."""
    found = cf.compare(mirrored(drawn(1)), baseline="d", **FAST)
    assert found.is_worse().tolist() == [True, True, True, False]
    assert found.order.tolist() == [4, 3, 0, 2, 1]


@pytest.mark.parametrize("side", ["greater", "less"])
def test_one_sided(side: str) -> None:
    """The alternative is about scores: higher ones are lower ones of the negated scores."""
    scores = drawn(3)
    opposite = {"greater": "less", "less": "greater"}[side]
    one = cf.compare(scores, test="t", baseline="b", alternative=side)
    other = cf.compare(mirrored(scores), test="t", baseline="b", alternative=opposite)
    np.testing.assert_allclose(one.adjusted_pvalues, other.adjusted_pvalues, atol=1e-12)
    assert summary.list_pair_verdicts(one).tolist() == summary.list_pair_verdicts(other).tolist()


@pytest.mark.parametrize("margin", [0.2, 0.8, "50%"])
@pytest.mark.parametrize("test", ["t", "anova-2", "bootstrap"])
def test_equivalence(test: str, margin: float | str) -> None:
    scores = drawn(4)
    options = {"test": test, **FAST}
    one = cf.compare(scores, **options).equivalence(margin)
    other = cf.compare(mirrored(scores), **options).equivalence(margin)
    assert one.verdicts == other.verdicts
    assert len(set(one.verdicts)) > 1
    assert one.is_non_inferior.tolist() == other.is_non_inferior.tolist()
    np.testing.assert_allclose(one.pvalues, other.pvalues, atol=1e-9)


def test_non_inferior_when_lower_is_better() -> None:
    """Seconds: a system that is faster, or slower by less than the margin, is not inferior."""
    base = np.random.default_rng(0).normal(10, 2, size=30)
    noise = np.random.default_rng(1).normal(0, 0.01, size=30)
    values = np.column_stack([base, base + 0.1 + noise, base + 3 + noise, base - 3 + noise])
    topics = tuple(map(str, range(30)))
    scores = cf.Scores(values, topics, ("base", "near", "slow", "fast"), "s", lower_is_better=True)
    found = cf.compare(scores, test="t", baseline="base").equivalence(1.0)
    assert found.is_non_inferior.tolist() == [True, False, True]
    assert found.verdicts == ("different within the margin", "inferior", "superior")


def test_collections() -> None:
    parts = {"one": drawn(8), "two": drawn(9)}
    turned = {name: mirrored(scores) for name, scores in parts.items()}
    first, second = (cf.significance.meta_analysis(x) for x in (parts, turned))
    np.testing.assert_allclose(first.adjusted_pvalues, second.adjusted_pvalues)
    np.testing.assert_allclose(first.pooled.estimate, -second.pooled.estimate)
    assert "note: lower scores of gain are better" in str(second)
    with pytest.raises(PolicyError, match="only for 'two'"):
        cf.significance.meta_analysis({"one": parts["one"], "two": turned["two"]})


def test_effects_are_of_scores() -> None:
    """Signed differences have no direction: they are mirrored, and a note says which is better."""
    scores = drawn(11)
    one, other = (cf.significance.effect_sizes(x) for x in (scores, mirrored(scores)))
    np.testing.assert_allclose(one.effect, -other.effect)
    assert "lower scores of gain are better" in str(other)


@pytest.mark.parametrize(
    ("names", "noted"),
    [
        ("latency latency_ms testRMSE QueryCost p95Latency Log-Loss MAE@10 perplexity", True),
        ("energy/J seconds WER regret@10", True),
        ("timeliness lossless accuracy coster RMSEs ms_marco_ndcg", False),
    ],
)
def test_note_where_the_name_suggests_lower(names: str, noted: bool) -> None:
    note = "higher scores are treated as better"
    for measure in names.split():
        scores = replace(drawn(1), measure=measure)
        assert any(note in line for line in cf.compare(scores, **FAST).notes) == noted, measure
        for stated in (False, True):
            found = cf.compare(scores.with_direction(lower_is_better=stated), **FAST)
            assert not any(note in line for line in found.notes)
            assert found.lower_is_better == stated


def test_missing_as_zero_is_no_silent_reward() -> None:
    values = np.where(np.arange(125).reshape(25, 5) == 0, np.nan, drawn(1).values + 10)
    scores = replace(drawn(1), values=values, lower_is_better=True)
    note = "as lower scores are better, 0 favours systems that lack scores"
    for missing in ("zero", "drop"):
        assert (note in cf.compare(scores, missing=missing, **FAST).notes) == (missing == "zero")


def test_direction_of_plain_tables() -> None:
    """Seconds of a mapping or an array, whose direction is an argument of `compare`."""
    seconds = {"slow": [5.0, 6.1, 5.4, 6.0], "fast": [1.0, 2.0, 1.2, 2.1]}
    found = cf.compare(seconds, lower_is_better=True, baseline="fast", test="t")
    assert found.is_worse().tolist() == [True]
    assert cf.compare(seconds, baseline="fast", test="t").is_worse().tolist() == [False]
    turned = cf.compare(drawn(1), lower_is_better=True, **FAST)
    assert turned.order.tolist() == np.argsort(drawn(1).mean()).tolist()


def test_direction_survives_selecting_and_completing() -> None:
    scores = replace(drawn(1), measure="latency").with_direction(lower_is_better=False)
    part = scores.select(systems=["a", "b"]).complete("drop")[0]
    assert part.has_direction
    assert part.get_direction_notes() == []


def test_scores_of_a_known_measure_have_its_definition() -> None:
    columns = {"a": [1, 0.3, 0.9], "b": [1, 0.4, 0.9]}
    labels = np.array([*columns.values()]).T, ("1", "2", "3"), ("a", "b")
    for measure in ("RBPResidual(p=0.8)", "GMAP", "AP", "NumRelRet", "latency", "P"):
        scores = cf.Scores(*labels, measure)
        read = cf.read_scores(columns, measure=measure)
        for name in ("measure", "aggregate", "scale", "scale_source", "lower_is_better"):
            assert getattr(scores, name) == getattr(read, name), (measure, name)
        assert scores.definition == read.definition
        assert scores.has_direction == read.has_direction
    assert str(cf.Scores(*labels, "AP", scale=Scale.RATIO).scale) == "ratio"
    ap, residual = (cf.Scores(*labels, measure) for measure in ("AP", "RBPResidual(p=0.8)"))
    assert residual.lower_is_better
    assert ap.with_direction(lower_is_better=False).has_direction
    refused: list[tuple[Callable[[], Any], str]] = [
        (lambda: ap.with_direction(lower_is_better=True), "expected 'higher is better' for AP"),
        (lambda: residual.with_direction(False), "'lower is better' for RBPResidual"),
        (
            lambda: cf.Scores(*labels, "AP", lower_is_better=True),
            "for AP, got 'lower is better'",
        ),
        (lambda: cf.Scores(*labels, "AP", aggregate="sum"), "of AP must be 'mean', got 'sum'"),
    ]
    for call, message in refused:
        with pytest.raises(PolicyError, match=message):
            call()


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("test", ["anova-2", "t", "friedman"])
def test_means_that_differ_by_rounding_share_the_best(test: str, lower: bool) -> None:
    """Sums of the same numbers in another order."""
    a = np.array([0.5, 0.6, 0.4, 0.3, 0.7, 0.8, 0.2, 0.25, 0.5, 0.55, 0.35, 0.3])
    b = a.reshape(-1, 2)[:, ::-1].ravel()
    scores = cf.Scores(
        np.stack([b, a, a + (0.2 if lower else -0.2)], axis=1),
        tuple(f"q{k}" for k in range(12)),
        ("b", "a", "c"),
        lower_is_better=lower,
    )
    found = cf.compare(scores, test=test, resamples=99)
    assert (found.best, found.order.tolist()) == ((0, 1), [0, 1, 2])
    assert found.rank_sets().order.tolist() == [0, 1, 2]
    assert "best: b and a, " in summary.describe_outcome(found, "x")
    assert "b and a have the " in found.prose()
    assert [as_cell(row[1]).bold for row in found.tables()[0].rows] == [True, True, False]
