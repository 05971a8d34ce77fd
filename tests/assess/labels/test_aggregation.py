"""One grade from several labels: published and other programs' values, enumeration, properties."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cranfield import CranfieldError, InputError, PolicyError
from cranfield.assess import (
    Consensus,
    Labels,
    LeadRule,
    dawid_skene,
    glad,
    mace,
    majority,
    one_coin,
    read_labels,
    wawa,
)
from cranfield.assess.labels import CROWD_MODELS, QUALITIES
from tests.assess.labels.crowds import anaesthetists, barzan, barzan_gold, drawn

METHODS: dict[str, Callable[..., Consensus]] = {
    "majority": majority,
    "wawa": wawa,
    "dawid-skene": dawid_skene,
    "one-coin": one_coin,
    "glad": glad,
    "mace": partial(mace, restarts=3),
}


def wrong(consensus: Consensus) -> int:
    gold = barzan_gold()
    qrels = consensus.qrels
    return sum(
        gold[doc] != grade for doc, grade in zip(qrels.docs, qrels.grades.tolist(), strict=True)
    )


def test_dawid_and_skenes_own_data() -> None:
    """Dawid and Skene (1979), tables 2 and 4; the likelihood by an independent script."""
    found = dawid_skene(anaesthetists())
    assert found.log_likelihood == pytest.approx(-192.89088121, abs=1e-8)
    assert found.prior == pytest.approx([0.399555, 0.421983, 0.111795, 0.066667], abs=5e-7)
    assert np.bincount(found.level).tolist() == [18, 19, 5, 3]
    first = [[0.889, 0.111, 0, 0], [0.071, 0.876, 0.053, 0], [0, 0.339, 0.661, 0]]
    assert found.confusion[0].round(3).tolist() == [*first, [0, 0, 0.556, 0.444]]
    assert found.has_converged


def test_a_crowd_with_known_grades() -> None:
    """Numbers of wrong items by an independent script; of GLAD also by crowd-kit 1.4.2."""
    labels = barzan()
    assert wrong(majority(labels)) == 304
    plain = dawid_skene(labels)
    assert wrong(plain) == 288
    assert plain.prior == pytest.approx([0.69762, 0.30238], abs=5e-6)
    assert plain.log_likelihood == pytest.approx(-2094.7541, abs=5e-5)
    fixed = dawid_skene(labels, prior="uniform")
    assert wrong(fixed) == 276
    assert fixed.log_likelihood == pytest.approx(-2148.3242, abs=5e-5)
    smooth = dawid_skene(labels, smoothing=0.01)
    assert wrong(smooth) == 288
    assert smooth.log_likelihood == pytest.approx(-2095.5157, abs=5e-5)
    even = dawid_skene(labels, unmet="even")
    assert wrong(even) == 288
    assert even.log_likelihood == pytest.approx(-2094.7468, abs=5e-5)
    assert wrong(glad(labels)) == 307


def log_likelihood(labels: Labels, prior: Any, chance: Any) -> float:
    """Sum over pairs of the log of the sum over grades, in plain loops."""
    total = 0.0
    for i in range(len(labels.docs)):
        mine = np.flatnonzero(labels.pair == i)
        likely = 0.0
        for k in range(labels.grades.size):
            product = prior[k]
            for row in mine:
                product *= chance(labels.worker[row], i, k, labels.level[row])
            likely += product
        total += np.log(likely)
    return total


@pytest.mark.parametrize("seed", range(3))
def test_likelihoods_in_plain_loops(seed: int) -> None:
    labels = drawn(seed)
    found = dawid_skene(labels, smoothing=0.1)
    table = found.confusion
    # Without smoothing the confusion of the chances is the estimate itself.
    plain = dawid_skene(labels)
    expected = log_likelihood(labels, plain.prior, lambda w, i, k, g: plain.confusion[w, k, g])
    assert plain.log_likelihood == pytest.approx(expected, abs=1e-4)
    assert table.shape == (6, 3, 3)
    coin = one_coin(labels)
    expected = log_likelihood(
        labels,
        coin.prior,
        lambda w, i, k, g: coin.quality[w] if k == g else (1 - coin.quality[w]) / 2,
    )
    assert coin.log_likelihood == pytest.approx(expected, abs=1e-8)
    copies = mace(labels, inference="em", seed=seed)
    theta, spam = copies.parameters["copying"], copies.parameters["spam"]
    expected = log_likelihood(
        labels, copies.prior, lambda w, i, k, g: theta[w] * (k == g) + (1 - theta[w]) * spam[w, g]
    )
    assert copies.log_likelihood == pytest.approx(expected, abs=1e-8)
    easy = glad(labels)
    alpha, ease = easy.parameters["ability"], easy.parameters["ease"]

    def chance(w: int, i: int, k: int, g: int) -> float:
        right = 1 / (1 + np.exp(-alpha[w] * ease[i]))
        return float(right if k == g else (1 - right) / 2)

    priors = ((alpha - 1) ** 2).sum() / 2 + ((np.log(ease) - 1) ** 2).sum() / 2
    expected = log_likelihood(labels, easy.prior, chance) - priors
    assert easy.objective[-1] == pytest.approx(expected, abs=1e-8)
    assert f"after {easy.objective.size - 1} steps" in repr(easy)
    assert easy.log_likelihood == pytest.approx(expected + priors, abs=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_glad_ends_where_expectation_maximisation_stands_still(seed: int) -> None:
    """At the end the gradient of the expected log-likelihood and the priors vanishes."""
    labels = drawn(seed, pairs=12, workers=4)
    found = glad(labels)
    alpha, ease = found.parameters["ability"], found.parameters["ease"]
    right = 1 / (1 + np.exp(-alpha[labels.worker] * ease[labels.pair]))
    pull = found.posterior[labels.pair, labels.level] - right
    slope = np.bincount(labels.worker, weights=pull * ease[labels.pair], minlength=4)
    assert slope == pytest.approx(alpha - 1, abs=1e-4)
    of_ease = np.bincount(
        labels.pair, weights=pull * alpha[labels.worker] * ease[labels.pair], minlength=12
    )
    assert of_ease == pytest.approx(np.log(ease) - 1, abs=1e-4)


@pytest.mark.parametrize("name", METHODS)
@settings(max_examples=8)
@given(seed=st.integers(0, 40), grades=st.integers(1, 4), share=st.sampled_from([0.0, 0.4, 1.0]))
def test_what_all_methods_keep(name: str, seed: int, grades: int, share: float) -> None:
    labels = drawn(seed, pairs=9, workers=4, grades=grades, share=share)
    found = METHODS[name](labels)
    assert found.posterior.shape == (9, grades)
    assert found.posterior.sum(axis=1) == pytest.approx(np.ones(9))
    assert (np.diff(found.objective) >= -1e-9).all()
    assert found.qrels.docs.to_list() == labels.docs.to_list()
    assert found.qrels.to_polars().select("topic", "doc").equals(labels.pairs)
    assert ((found.quality >= 0) & (found.quality <= 1 + 1e-12)).all()
    assert found.summarise_workers()["labels"].sum() == len(labels)
    assert found.confusion.shape == (4, grades, grades)


@pytest.mark.parametrize("name", [name for name in METHODS if name != "mace"])
def test_the_order_of_rows_decides_nothing(name: str) -> None:
    """Nor that of workers, but for MACE, whose starts are drawn worker by worker."""
    labels = drawn(5)
    shuffled = labels.to_polars().sample(fraction=1, shuffle=True, seed=3)
    for tie in ("low", "random"):
        first = METHODS[name](labels, tie=tie, seed=4).to_polars()
        other = read_labels(shuffled, grades=range(3))
        again = METHODS[name](other, tie=tie, seed=4).to_polars()
        both = first.join(again, on=["topic", "doc"])
        assert both["grade"].to_list() == both["grade_right"].to_list()
        assert both["p(0)"].to_list() == pytest.approx(both["p(0)_right"].to_list(), abs=1e-4)


def test_repeated_labels_are_counts() -> None:
    rows = [("q", "d", "w", 1), ("q", "d", "w", 1), ("q", "d", "v", 0)]
    found = majority(read_labels(rows, repeats="keep"))
    assert found.posterior.tolist() == [pytest.approx([1 / 3, 2 / 3])]


def tied() -> Labels:
    said = {"a": (0, 0, 1), "b": (2, 1, 1), "c": (None, 2, None)}
    rows = [
        (f"q{i}", f"d{i}", worker, grade)
        for worker, grades in said.items()
        for i, grade in enumerate(grades)
        if grade is not None
    ]
    return read_labels(rows)


def test_quality_of_workers_is_described_for_every_model() -> None:
    assert QUALITIES.keys() == {*CROWD_MODELS}


def test_ties() -> None:
    labels = tied()
    assert majority(labels).is_tied.tolist() == [True, True, False]
    assert majority(labels, tie="low").qrels.grades.tolist() == [0, 0, 1]
    assert majority(labels, tie="high").qrels.grades.tolist() == [2, 2, 1]
    assert majority(labels, tie="median").qrels.grades.tolist() == [0, 1, 1]
    dropped = majority(labels, tie="drop")
    assert dropped.qrels.to_polars().rows() == [("q2", "d2", 1)]
    assert dropped.to_polars()["grade"].to_list() == [None, None, 1]
    drawn_ = [majority(labels, tie="random", seed=s).qrels.grades.tolist() for s in range(60)]
    assert {row[0] for row in drawn_} == {0, 2}
    assert {row[1] for row in drawn_} == {0, 1, 2}
    # A topic's draw does not depend on which other topics there are.
    alone = labels.restrict(labels.topic_of[labels.pair] == 1)
    for seed in range(20):
        mine = majority(alone, tie="random", seed=seed).qrels.grades[0]
        assert mine == drawn_[seed][1]
    with pytest.raises(CranfieldError, match="got dropped ties only; use tie='low'"):
        _ = majority(labels.restrict(labels.pair == 0), tie="drop").qrels


def test_expected_grades_are_rounded_by_name_only() -> None:
    found = majority(tied())
    assert found.compute_expected_grades() == pytest.approx([1, 1, 1])
    half = majority(read_labels([("q", "d", "a", 0), ("q", "d", "b", 1)]))
    rounded = {
        name: half.make_expected_qrels(name).grades[0]
        for name in ("half-up", "half-down", "half-even", "up", "down")
    }
    assert rounded == {"half-up": 1, "half-down": 0, "half-even": 0, "up": 1, "down": 0}
    with pytest.raises(PolicyError, match="unknown rounding 'near'; expected one of:"):
        half.make_expected_qrels("near")


def test_weights() -> None:
    labels = tied()
    assert majority(labels, weights=[1, 2, 0]).qrels.grades.tolist() == [2, 1, 1]
    nothing = majority(labels, weights=[0, 0, 0])
    assert nothing.is_tied.all()
    assert nothing.posterior == pytest.approx(np.full((3, 3), 1 / 3))
    for weights in ([1, 2], [1, 2, -1], [1, 2, np.nan], "x"):
        with pytest.raises(PolicyError, match="weights"):
            majority(labels, weights=weights)


def test_weights_by_worker() -> None:
    """Weights with names, such as the skills of crowd-kit, are in any order of workers."""
    labels = read_labels([("q", "d", "ann", 1), ("q", "d", "bob", 0), ("q", "d", "cat", 0)])
    skills = {"cat": 1.0, "bob": 1.0, "ann": 5.0}
    for weights in (skills, pd.Series(skills)):
        assert majority(labels, weights=weights).qrels.grades.tolist() == [1]
        assert majority(labels, weights=weights).quality.tolist() == [5, 1, 1]
    assert majority(labels, weights=pd.Series([1, 1, 5])).qrels.grades.tolist() == [0]
    for weights in (
        {"ann": 1, "bob": 1},
        {**skills, "zoe": 1},
        pd.Series({"a": 1, "b": 2, "c": 3}),
    ):
        with pytest.raises(PolicyError, match="got other or missing names: '(a|cat|zoe)'"):
            majority(labels, weights=weights)


def test_wawa_is_agreement_with_the_majority() -> None:
    labels = drawn(2)
    right = majority(labels).level[labels.pair] == labels.level
    skill = [right[labels.worker == worker].mean() for worker in range(6)]
    assert wawa(labels).quality == pytest.approx(skill)


def test_workers_without_their_own_labels() -> None:
    rows = [("q", "d", "a", 1), ("q", "d", "b", 1), ("q", "d", "c", 0), ("q", "e", "a", 0)]
    frame = majority(read_labels(rows)).summarise_workers()
    assert frame["agreement"].to_list() == [1.0, 1.0, 0.0]
    # Without a: b and c tie. Nobody else labelled e.
    assert frame["without"].to_list() == [0.5, 0.5, 0.0]


def test_gold_is_kept_and_helps() -> None:
    labels, gold = barzan(), barzan_gold()
    some = {item: grade for item, grade in gold.items() if int(item) <= 300}
    for name in ("dawid-skene", "one-coin", "glad", "mace"):
        found = METHODS[name](labels, gold=some)
        assert found.has_gold.sum() == 300
        grades = dict(zip(found.qrels.docs, found.qrels.grades.tolist(), strict=True))
        assert all(grades[item] == grade for item, grade in some.items()), name
        assert (np.diff(found.objective) >= -1e-9).all()
    rest = wrong(dawid_skene(labels, gold=some))
    assert rest < 288 - 60
    assert dawid_skene(labels, gold={"1": 1, "no such": 1}).notes == (
        "1 pair with a gold grade",
        "1 gold judgment ignored, as the pair has no label",
    )
    with pytest.raises(InputError, match=r"gold grade 2 is outside the scale of the labels"):
        dawid_skene(labels, gold={"1": 2})
    with pytest.raises(CranfieldError, match="no labelled pair has a gold judgment"):
        dawid_skene(labels, gold={"x": 1})


def test_mace_starts_are_different_and_the_same_by_seed() -> None:
    labels = drawn(1)
    one, again, other = (mace(labels, seed=s, inference="em") for s in (1, 1, 2))
    assert np.unique(one.parameters["restarts"]).size > 1
    assert one.posterior.tolist() == again.posterior.tolist()
    assert one.parameters["restarts"].tolist() != other.parameters["restarts"].tolist()
    fewer = mace(labels, seed=1, inference="em", restarts=3)
    assert fewer.parameters["restarts"].tolist() == one.parameters["restarts"][:3].tolist()


def test_mace_tells_of_starts_that_end_below_the_best() -> None:
    labels = drawn(6, pairs=9, workers=4, share=0.4)
    several = mace(labels, seed=1, inference="em")
    values = several.parameters["restarts"]
    assert several.objective[-1] == values.max()
    assert (values < values.max() - 0.01).sum() == 8
    assert several.notes[-1].startswith("8 of 10 random starts ended below the best objective")
    assert mace(labels, seed=1, inference="em", restarts=1).notes == ()


def test_too_many_grades_are_refused() -> None:
    rows = [("q", f"d{i}", f"w{i}", i) for i in range(1500)]
    with pytest.raises(PolicyError, match="got 1,500 workers by 1,500 grades by"):
        dawid_skene(read_labels(rows))
    many = read_labels([("q", f"d{i}", "w", i) for i in range(17_000)])
    for method in (majority, wawa, glad):
        with pytest.raises(PolicyError, match="17,000 grades"):
            method(many)
    with pytest.raises(PolicyError, match="entries, got 17,000 labels by 17,000 grades"):
        LeadRule().replay(many)
