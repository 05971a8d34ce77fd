"""Stability against the whole result, all samples one by one, and simulated truth."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, rankdata

import cranfield as cf
from cranfield.base.arrays import Floats
from cranfield.base.streams import make_stream
from cranfield.meta.topic_studies.sample_study import Stability, compare_top, stability
from cranfield.scores import Scores
from cranfield.significance import TESTS


def some(topics: int = 12, systems: int = 6, seed: int = 0) -> Floats:
    random = np.random.default_rng(seed)
    return (
        random.random((topics, 1))
        + 0.3 * random.normal(size=(topics, systems))
        + np.linspace(0, 0.6, systems)
    )


def scores(values: Any, *, lower_is_better: bool = False) -> Scores:
    topics, systems = np.shape(values)
    return Scores(
        values,
        tuple(f"q{k}" for k in range(topics)),
        tuple("abcdefghijkl"[:systems]),
        lower_is_better=lower_is_better,
    )


def same(one: Stability, other: Stability) -> None:
    for name in ("by_size", "top", "firsts", "ranks", "samples"):
        assert getattr(one, name).equals(getattr(other, name)), name


@pytest.mark.parametrize(
    ("test", "correction"), [("anova-2", None), ("anova-2", "holm"), ("t", "bh"), ("anova-1", None)]
)
def test_the_whole_result_is_that_of_compare(test: str, correction: str | None) -> None:
    values = some()
    # Studies take the test's own correction by default.
    own = correction or TESTS[test].info.corrections[0]
    whole = cf.compare(values, test=test, correction=own)
    found = stability(values, sizes=[6], repeats=3, test=test, correction=correction)
    assert found.n_significant == whole.count() > 0
    assert found.top["top"].to_list() == [1, 3, 5]
    assert found.ranks["rank"].to_list() == [1, 2, 3, 4, 5, 6]
    assert found.ranks["mean"].to_list() == sorted(values.mean(axis=0), reverse=True)


def tau_ap_of(sample: Floats, values: Floats) -> float:
    """Yilmaz, Aslam and Robertson (2008), equation 4, written out: the list is the sample's."""
    listed, true = (np.argsort(-one.mean(axis=0)).tolist() for one in (sample, values))
    correct = [
        sum(true.index(above) < true.index(listed[i]) for above in listed[:i]) / i
        for i in range(1, len(listed))
    ]
    return 2 / (len(listed) - 1) * float(sum(correct)) - 1


@pytest.mark.parametrize("replace", [False, True])
@pytest.mark.parametrize(("test", "correction"), [("anova-2", "tukey"), ("t", "holm")])
def test_sample_by_sample(test: str, correction: str, replace: bool) -> None:
    values = some()
    options: dict[str, Any] = {"test": test, "correction": correction}
    found = stability(values, sizes=[4, 9], repeats=8, replace=replace, seed=5, **options)
    whole = cf.compare(values, **options)
    first, top = [], []
    for row in found.samples.rows(named=True):
        size = row["topics"]
        drawn = make_stream(5, size, row["repeat"]).choice(12, size, replace=replace)
        one = cf.compare(scores(values[drawn]), **options)
        assert row["significant"] == one.count()
        both = one.is_significant() & whole.is_significant()
        agree = np.sign(one.difference) == np.sign(whole.difference)
        assert row["confirmed"] == (both & agree).sum()
        assert row["contradicted"] == (both & ~agree).sum()
        wanted = kendalltau(values[drawn].mean(axis=0), values.mean(axis=0)).statistic
        assert row["tau"] == pytest.approx(wanted)
        assert row["tau ap"] == pytest.approx(tau_ap_of(values[drawn], values))
        order = np.argsort(-values[drawn].mean(axis=0))
        first.append(order[0] == np.argmax(values.mean(axis=0)))
        top.append(len(set(order[:3]) & set(np.argsort(-values.mean(axis=0))[:3])))
    by_size = found.by_size.rows(named=True)
    tops = found.top.filter(top=3).rows(named=True)
    for k, part in enumerate((slice(0, 8), slice(8, 16))):
        samples = found.samples[part]
        assert by_size[k]["same first"] == np.mean(first[part])
        assert tops[k]["same"] == np.mean(np.array(top[part]) == 3)
        assert tops[k]["overlap"] == pytest.approx(np.mean(top[part]) / 3)
        assert by_size[k]["significant"] == pytest.approx(samples["significant"].to_numpy().mean())
        for name in ("tau", "tau ap"):
            assert by_size[k][name] == pytest.approx(samples[name].to_numpy().mean())


def test_ranks_by_bootstrap() -> None:
    values = some(10, 4)
    found = stability(scores(values), sizes=[5], repeats=150, seed=2, confidence=0.8)
    ranks = np.empty((150, 4))
    for repeat in range(150):
        drawn = make_stream(2, 0, repeat).choice(10, 10)
        ranks[repeat] = rankdata(-values[drawn].mean(axis=0))
    for row in found.ranks.rows(named=True):
        of_system = np.sort(ranks[:, "abcd".index(row["system"])])
        assert row["best"] == pytest.approx((of_system == 1).mean())
        # At most a tenth of the samples lies outside on each side, and more would with less room.
        assert (of_system < row["low"]).mean() < 0.1 <= (of_system <= row["low"]).mean()
        assert (of_system > row["high"]).mean() <= 0.1 < (of_system >= row["high"]).mean()


def test_limits_are_samples() -> None:
    found = stability(some(), sizes=[4], repeats=40, confidence=0.8)
    [by_size] = found.by_size.rows(named=True)
    for name in ("tau", "tau ap", "significant"):
        # A tenth of 40 are four; so many samples are at most as high as the lower limit.
        ordered = np.sort(found.samples[name].to_numpy())
        assert (by_size[f"{name} low"], by_size[f"{name} high"]) == (ordered[3], ordered[35])


def test_contradictions() -> None:
    difference = np.linspace(0.99, 1.01, 12)
    difference[[3, 7]] *= -1
    found = stability(
        scores(np.column_stack([difference, np.zeros(12)])), sizes=[2], repeats=300, seed=1
    )
    assert found.n_significant == 1
    against = 0
    for row in found.samples.rows(named=True):
        drawn = set(make_stream(1, 2, row["repeat"]).choice(12, 2, replace=False).tolist())
        turned = len(drawn & {3, 7})
        assert row["significant"] == (turned != 1)
        assert row["confirmed"] == (turned == 0)
        assert row["contradicted"] == (turned == 2)
        against += turned == 2
    assert found.by_size["contradicted"][0] == against / 300 > 0


def test_overlap_of_top_systems_with_ties() -> None:
    # Twice the mid-ranks: by all topics a, then b and c, then d; in the samples otherwise.
    whole = np.array([2, 5, 5, 8])
    samples = np.array([[2, 5, 5, 8], [2, 4, 6, 8], [5, 2, 8, 5], [5, 5, 5, 5]])
    assert compare_top(samples, whole, 1) == {
        "top": 1,
        "same": 0.5,
        "overlap": (1 + 1 + 0 + 1 / 4) / 4,
    }
    # The two top ones are three by all topics, and 3, 2, 3, 4 in the samples.
    assert compare_top(samples, whole, 2) == {
        "top": 2,
        "same": 0.25,
        "overlap": pytest.approx((1 + 2 / 3 + 2 / 3 + 3 / 4) / 4),
    }


def test_sizes_beyond_the_topics() -> None:
    values = some()
    found = stability(values, sizes=[12, 40], repeats=60, replace=True)
    few, many = found.by_size["significant"].to_list()
    assert many > few
    assert found.by_size["samples"].to_list() == [60, 60]


def test_samples_of_all_topics_without_replacement_are_left_out() -> None:
    assert stability(some(), repeats=2).by_size["topics"].to_list() == [2, 4, 5, 6, 7, 8, 10, 11]
    found = stability(some(), repeats=2, replace=True).by_size
    assert found["topics"].to_list() == [2, 4, 5, 6, 7, 8, 10, 11, 12]
    assert stability(some(3), repeats=2).by_size["topics"].to_list() == [2]


def test_the_verdict_is_of_half_of_the_topics() -> None:
    found = stability(scores(some(20)), sizes=[5, 10, 19], repeats=30)
    tau = found.by_size.filter(topics=10)["tau"].item()
    assert (
        f"by samples of 10 topics and by all 20 topics is {tau:.2f} on average"
        in (found.verdict[0])
    )


def test_more_repeats_and_other_sizes_keep_the_samples() -> None:
    values = scores(some())
    plain = stability(values, sizes=[5], repeats=255, seed=9)
    more = stability(values, sizes=[5, 7], repeats=260, seed=9)
    assert more.samples.filter(topics=5)[:255].equals(plain.samples.filter(topics=5))
    other = stability(values, sizes=[5], repeats=255, seed=10)
    assert not other.samples.equals(plain.samples.filter(topics=5))


@pytest.mark.parametrize("test", ["anova-2", "t", "friedman"])
def test_lower_is_better(test: str) -> None:
    values = some()
    plain = stability(scores(values), sizes=[8], repeats=50, test=test)
    turned = stability(scores(-values, lower_is_better=True), sizes=[8], repeats=50, test=test)
    assert plain.samples["confirmed"].sum() > plain.samples["contradicted"].sum() == 0
    ranks = turned.ranks.with_columns(-turned.ranks["mean"])
    same(plain, Stability(vars(turned), ranks=ranks))


def test_ties_are_shared() -> None:
    one = some(10, 1)
    values = np.hstack([one, one, one - 1.0])
    found = stability(scores(values), sizes=[5, 9], repeats=20, top=[1, 2])
    assert found.by_size["tau"].to_list() == [1, 1]
    assert found.by_size["same first"].to_list() == [1, 1]
    assert found.firsts["first"].to_list() == [0.5] * 4
    assert found.ranks["rank"].to_list() == [1.5, 1.5, 3]
    assert found.ranks["best"].to_list() == [0.5, 0.5, 0]
    assert found.top["overlap"].to_list() == [1] * 4
    # No pair differs significantly: there is nothing to find again.
    equal = stability(scores(np.hstack([one, one])), sizes=[5], repeats=3)
    assert equal.by_size["tau"].to_list() == equal.by_size["confirmed"].to_list() == [None]
    assert equal.samples["tau"].null_count() == 3


def test_rounding_is_no_difference() -> None:
    one = some(20, 1)
    values = np.hstack([one, one + 3 * 2.0**-52, one - 1.0])
    found = stability(scores(values), sizes=[9], repeats=20)
    assert found.ranks["rank"].to_list() == [1.5, 1.5, 3]
    assert found.by_size["tau"].to_list() == [1]
    # There is no error, but the first two are no further apart than rounding. Of the others,
    # 2 of 2^9 assignments of signs are as extreme, which is enough for three pairs.
    assert found.samples["significant"].to_list() == [2] * 20


@settings(max_examples=8, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 100), st.floats(-5, 5))
def test_properties(seed: int, scale: float, shift: float) -> None:
    values = some(7, 4, seed)
    found = stability(scores(values), sizes=[3, 5], repeats=20)
    other = stability(scores(scale * values + shift), sizes=[3, 5], repeats=20)
    assert found.samples.equals(other.samples)
    assert found.firsts.equals(other.firsts)
    turn = np.random.default_rng(seed).permutation(4)
    labels = tuple("abcd"[k] for k in turn)
    renamed = stability(Scores(values[:, turn], tuple("1234567"), labels), sizes=[3, 5], repeats=20)
    assert found.ranks.select("system", "rank", "low", "high", "best").equals(
        renamed.ranks.select("system", "rank", "low", "high", "best")
    )
    assert found.by_size["significant"].equals(renamed.by_size["significant"])
    for row in found.by_size.rows(named=True):
        assert -1 <= row["tau low"] <= row["tau"] <= row["tau high"] + 1e-12 <= 1 + 1e-12
        assert 0 <= row["significant low"] <= row["significant high"] <= found.n_pairs
    ranks = found.ranks
    assert (ranks["low"] <= ranks["high"]).all()


def test_missing_scores() -> None:
    values = some()
    values[3, 2] = np.nan
    found = stability(values, repeats=2, missing="drop")
    assert found.n_topics == 11
    assert found.notes == ("1 topic excluded: no score of some systems",)
    assert found.by_size["topics"].to_list() == [2, 3, 4, 6, 7, 8, 9, 10]


def test_it_shows_itself() -> None:
    found = stability(some(), repeats=2)
    assert repr(found) == (
        "Stability(6 systems, 12 topics; samples without replacement, 2 repeats, seed 0; 5 of 15"
        " pairs differ significantly on all topics, by anova-2 with tukey, alpha 0.05; 95%"
        " intervals)"
    )
