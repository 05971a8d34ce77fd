"""Comparisons as a whole: options, ugly input, groups, what is printed, and what always holds."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import cranfield as cf
from cranfield.base.errors import CranfieldError
from cranfield.significance import CORRECTIONS, TESTS
from cranfield.significance.comparison.compared_pairs import (
    assign_letters,
    find_groups,
    name_group,
    parse_group_name,
    shorten_letters,
)
from cranfield.significance.comparison.result import choose_decimals
from cranfield.significance.registry import TestInfo
from cranfield.tabular import as_cell, format_pvalue

FLAT = [
    name for name, test in TESTS.items() if test.info.shards != "required" and not test.info.refusal
]
PAIRED = [name for name in FLAT if TESTS[name].info.is_paired]
UNPAIRED = [name for name in FLAT if not TESTS[name].info.is_paired]
FAST: dict[str, Any] = {"resamples": 200}


def scores_of(values: Any, systems: str = "abcdefghijklmnopqrstuvwxyz", **more: Any) -> cf.Scores:
    array = np.asarray(values, dtype=float)
    names = tuple(systems[: array.shape[1]])
    return cf.Scores(array, tuple(f"t{k}" for k in range(len(array))), names, **more)


SOME = scores_of(
    np.random.default_rng(0).random((20, 1))
    + 0.3 * np.random.default_rng(1).random((20, 6))
    + 0.1 * np.arange(6),
    measure="AP",
    scale=cf.Scale.ORDINAL,
)


# Options


@pytest.mark.parametrize("name", FLAT)
def test_aliases_and_registry(name: str) -> None:
    info = TESTS[name].info
    assert isinstance(info, TestInfo)
    for field in ("title", "asks", "null", "assumes", "when", "formula", "source", "statistic"):
        assert getattr(info, field), field
    assert set(info.corrections) <= set(CORRECTIONS)
    assert info.baseline_correction in info.corrections
    assert all(cf.significance.find_test(alias).info is info for alias in info.aliases)


TWO = {"a": [0.1, 0.4, 0.3], "b": [0.2, 0.9, 0.5]}
SHARDS = scores_of(np.random.default_rng(1).random((5, 3, 2)))


@pytest.mark.parametrize(
    ("scores", "options", "test", "correction"),
    [
        (SOME, {}, "anova-2", "bootstrap-tukey"),
        (SOME, {"baseline": "b"}, "anova-2", "bootstrap-tukey"),
        (SOME, {"baseline": ["b", "c"]}, "anova-2", "bootstrap-tukey"),
        (SOME, {"alternative": "greater", "baseline": "b"}, "anova-2", "bootstrap-tukey"),
        (SOME, {"correction": "HSD"}, "anova-2", "tukey"),
        (SOME, {"test": "t"}, "t", "holm"),
        (SOME, {"test": "bootstrap"}, "bootstrap", "bootstrap-max-t"),
        # Where topics are no sample, or not the same for all.
        (SOME, {"test": "anova-1"}, "anova-1", "tukey"),
        (SOME, {"test": "anova-1", "baseline": "b"}, "anova-1", "dunnett"),
        (SOME, {"test": "sign"}, "sign", "holm"),
        (SOME, {"test": "friedman"}, "friedman", "tukey"),
        (SOME, {"test": "randomisation"}, "randomisation", "randomised-tukey"),
        (SHARDS, {"test": "anova-3"}, "anova-3", "tukey"),
        (SHARDS, {}, "random-topics", "bootstrap-tukey"),
        (TWO, {}, "bootstrap", "none"),
        (TWO, {"test": "t"}, "t", "none"),
        (TWO, {"correction": "tukey"}, "anova-2", "tukey"),
        *(
            (SOME, {"test": "randomisation", "correction": name}, "randomisation", known)
            for name, known in (
                ("FDR_BH", "bh"),
                ("randomized-tukey", "randomised-tukey"),
                ("Holm", "holm"),
            )
        ),
    ],
)
def test_defaults_and_names(
    scores: Any, options: dict[str, Any], test: str, correction: str
) -> None:
    found = cf.compare(scores, **options, **FAST)
    assert (found.test, found.correction) == (test, correction)
    if scores is TWO and test == "t":
        assert "two-way ANOVA" in found.notes[0]


def test_what_scores_may_be() -> None:
    """An evaluation of one measure, a frame, an array and a mapping say the same."""
    expected = cf.compare(SOME).adjusted_pvalues
    columns = dict(zip(SOME.systems, SOME.values.T, strict=True))
    frame = pl.DataFrame({"topic": list(SOME.topics), **columns})
    for form in ({"AP": SOME}, columns, SOME.values, frame, frame.to_pandas()):
        np.testing.assert_array_equal(cf.compare(form).adjusted_pvalues, expected)


def test_another_level_moves_limits_too() -> None:
    found = cf.compare(SOME, test="t")
    table = found.list_significant_pairs(0.5)
    assert table["significant"].all()
    assert table.height == found.count(0.5)
    wider = cf.compare(SOME, test="t", alpha=0.5).to_polars()
    assert found.tabulate_pairs(0.5).equals(wider)
    assert not any("confidence level" in note for note in cf.compare(SOME, alpha=0.5).notes)
    [note] = [note for note in cf.compare(SOME, alpha=0.95).notes if "confidence level" in note]
    assert note.endswith("here 0.95; for a confidence level of 95% it must be 0.05")


def test_systems_with_topics_of_their_own() -> None:
    uneven = {"a": [0.1, 0.5, 0.4, 0.3], "b": [0.2, 0.3, 0.6], "c": [0.9, 0.8, 0.7, 0.95, 0.85]}
    found = cf.compare(uneven, test="anova-1")
    assert (found.n.tolist(), found.half_widths) == ([7, 9, 8], None)
    assert cf.compare(uneven, test="anova-1", baseline="a").correction == "holm"


def test_models_count_topics_without_difference() -> None:
    found = cf.compare({"a": [0.1, 0.2, 0.3], "b": [0.1, 0.2, 0.5], "c": [0.4, 0.1, 0.3]})
    assert found.zeros.tolist() == [2, 1, 0]


def test_it_is_said_when_nothing_can_be_significant() -> None:
    few = np.random.default_rng(3).random((4, 3))
    for options in (
        {"test": "sign"},
        {"test": "signed-rank"},
        {"test": "randomisation", "correction": "holm"},
        {"test": "randomisation", "resamples": 9},
        {"test": "t", "correction": "max-t", "resamples": 9},
    ):
        found = cf.compare(few, **options)
        assert any("cannot give a p-value below" in note for note in found.notes), options
    many = np.random.default_rng(0).random((40, 12)) * 0.1 + np.arange(12)
    found = cf.compare(scores_of(many), test="bootstrap", correction="holm", resamples=100)
    assert "100 resamples cannot give a p-value below 0.0099" in found.notes[-1]
    clear = few + np.array([0, 5, 10])
    assert not any("cannot give a p" in note for note in cf.compare(clear, test="t").notes)


# Ugly input


@pytest.mark.parametrize("name", FLAT)
def test_systems_that_are_the_same_or_constant(name: str) -> None:
    column = [0.1, 0.5, 0.3, 0.9, 0.2]
    same = cf.compare(dict.fromkeys("abc", column), test=name, **FAST)
    assert same.adjusted_pvalues.tolist() == [1.0] * 3
    assert same.difference.tolist() == same.effect.tolist() == [0.0] * 3
    assert set(same.groups().values()) == {"a"}
    constant = cf.compare({"a": [0.5] * 6, "b": [0.5] * 6, "c": [0.75] * 6}, test=name, **FAST)
    assert constant.raw_pvalues[0] == 1.0
    assert (constant.raw_pvalues[1:] < 0.05).all() or name == "sign" or constant.seed is not None
    base = np.array([0.1, 0.4, 0.3, 0.9, 0.2, 0.6])
    shifted = cf.compare({"a": base, "b": base + 0.1}, test=name, **FAST)
    assert not np.isnan(shifted.adjusted_pvalues).any()
    for found in (same, constant, shifted):
        assert not np.isnan(np.array(found.interval)).any()
        assert "nan" not in str(found)


@pytest.mark.parametrize(
    "name", ["t", "bootstrap", "bootstrap-median", "anova-2", "bootstrap-shift", "welch"]
)
@pytest.mark.parametrize("topics", [2, 3, 6])
def test_a_constant_difference_is_tested_by_exchange(name: str, topics: int) -> None:
    """Enumeration: how many assignments of the labels are as extreme, of how many there are."""
    constant = np.full(topics, 0.25)
    paired = TESTS[name].info.is_paired
    base = np.linspace(0.1, 0.4, topics) if paired else constant
    values = {"a": base + constant, "b": base}
    together = np.concatenate([base + constant, base])
    if paired:
        extreme = [abs(sum(s)) == topics for s in itertools.product([-1, 1], repeat=topics)]
    else:
        observed = abs((base + constant).mean() - base.mean())
        extreme = [
            abs(together[list(k)].mean() - np.delete(together, list(k)).mean()) > observed - 1e-9
            for k in itertools.combinations(range(2 * topics), topics)
        ]
    found = cf.compare(values, test=name, correction="none", **FAST)
    assert found.adjusted_pvalues[0] == pytest.approx(np.mean(extreme), rel=1e-9)
    low, high = found.interval
    if found.is_significant()[0]:
        assert [low[0], high[0]] == pytest.approx([0.25, 0.25])
    else:
        assert np.isinf([low[0], high[0]]).all()


@pytest.mark.parametrize("base", [[0.5, 0.7, 0.8], [0.25, 0.5, 0.75]])
def test_an_error_of_0_gives_no_pvalue_of_all_systems(base: list[float]) -> None:
    values = np.array(base)[:, None] - [0, 0.1, 0.4]
    found = cf.compare(scores_of(values), test="anova-2")
    assert found.anova is not None and found.anova.sphericity is None
    assert found.anova.get_f("System") == pytest.approx((np.inf, np.nan), nan_ok=True)
    assert found.adjusted_pvalues.tolist() == [0.75] * 3
    assert any("Bonferroni's correction replaces" in note for note in found.notes)


@pytest.mark.parametrize("step", [0.1, 0.125, 0.25])
def test_randomised_intervals_agree_with_decisions_in_spite_of_rounding(step: float) -> None:
    for systems in (2, 3):
        values = step * np.array([[1.0], [2.0]]) + 0.1 * np.arange(systems)
        for offset in (0.3, 1000):
            scores = scores_of(values + offset)
            found = cf.compare(scores, test="randomisation", correction="randomised-tukey")
            assert (found.count(), found.n_without_interval) == (0, 0)
        zeros = scores_of(0 * values)
        found = cf.compare(zeros, test="randomisation", correction="randomised-tukey")
        assert not np.any(found.interval)


def test_few_topics_cannot_reach_alpha() -> None:
    """Of n topics one is drawn n times in n of n^n resamples, which then have no variation."""
    random = np.random.default_rng(2)
    for topics, smallest in ((2, 1 / 2), (3, 1 / 9)):
        for systems in (2, 4):
            values = random.random((topics, systems)) * 1e-3 + np.arange(systems)
            found = cf.compare(scores_of(values))
            assert found.count() == 0
            assert found.adjusted_pvalues.min() == pytest.approx(smallest, abs=0.02)
            assert any("no difference can be significant" in note for note in found.notes)
    assert cf.compare(scores_of(random.random((5, 4)) * 1e-3 + np.arange(4))).count() == 6


@pytest.mark.parametrize("name", PAIRED)
def test_missing_scores_of_paired_tests(name: str) -> None:
    values = np.random.default_rng(3).random((8, 3))
    gap = np.where(np.arange(24).reshape(8, 3) == 7, np.nan, values)
    with pytest.raises(CranfieldError, match=r"system 'b' on topic 't2' has no score \(1 score"):
        cf.compare(scores_of(gap), test=name, **FAST)
    for missing, known, note in (
        ("drop", np.delete(values, 2, axis=0), "1 topic excluded"),
        ("zero", np.nan_to_num(gap), "1 missing score counted as 0"),
    ):
        found = cf.compare(scores_of(gap), test=name, missing=missing, **FAST)
        assert note in found.notes[0]
        whole = cf.compare(scores_of(known), test=name, **FAST)
        assert (found.n_topics, found.adjusted_pvalues.tolist()) == (
            len(known),
            whole.adjusted_pvalues.tolist(),
        )


@pytest.mark.parametrize("name", UNPAIRED)
def test_systems_on_different_topics(name: str) -> None:
    rng = np.random.default_rng(3)
    x, y = rng.random(8), rng.random(12) + 0.8
    apart = np.full((20, 2), np.nan)
    apart[:8, 0], apart[8:, 1] = x, y
    found = cf.compare(scores_of(apart), test=name, **FAST)
    again = cf.compare({"a": x, "b": y}, test=name, **FAST)
    assert found.adjusted_pvalues[0] == again.adjusted_pvalues[0] < 0.05
    with pytest.raises(CranfieldError, match="no topic has a score of every system"):
        cf.compare(scores_of(apart), test=name, missing="drop")
    with pytest.raises(
        CranfieldError, match="^no topic has .* in the same way, and missing='zero' counts"
    ):
        cf.compare(scores_of(apart), test="t")


def test_shards() -> None:
    scores = SHARDS
    for name in ("random-topics", "anova-3", "bootstrap-anova"):
        found = cf.compare(scores, test=name, **FAST)
        np.testing.assert_allclose(found.means, scores.values.mean(axis=(0, 2)))
    values = scores.values.copy()
    values[1, :, 0] = np.nan
    gaps = scores_of(values)
    with pytest.raises(CranfieldError, match="topic 't1' in shard 1 has no score"):
        cf.compare(gaps)
    found = cf.compare(gaps, missing="available")
    assert found.notes[0] == "1 combination of topic and shard excluded, as no system has a score"
    assert cf.compare(gaps, missing="drop").n_topics == 4
    assert cf.compare(gaps, missing="zero").n_topics == 5
    values[2, 0, 1] = np.nan
    with pytest.raises(CranfieldError, match="scores of all systems or of none"):
        cf.compare(scores_of(values), missing="available")


def test_names_from_files_are_escaped() -> None:
    found = cf.compare({"\x1b[31mred": [0.1, 0.2, 0.3], "a_b & c": [0.3, 0.1, 0.5]})
    assert "\x1b" not in str(found)
    assert r"a\_b \& c" in found.to_latex()


# What is said


def test_scale_is_told() -> None:
    assert any(
        "AP is an ordinal scale" in n and "assumes an interval scale" in n
        for n in cf.compare(SOME).notes
    )
    unstated = replace(SOME, scale_source="measure")
    for name in ("sign", "rank-sum", "kruskal-wallis"):
        assert cf.compare(unstated, test=name).notes == ()
    [note] = cf.compare(unstated, test="friedman").notes
    assert "depends on the other systems" in note
    assert cf.compare(unstated.select(systems=unstated.systems[:2]), test="friedman").notes == ()


def test_result_is_complete() -> None:
    found = cf.compare(SOME, test="bootstrap", resamples=300, seed=9)
    frame = found.to_polars()
    assert frame.columns[:2] == ["first", "second"]
    assert list(found.to_pandas().columns) == frame.columns
    assert (found.resamples, found.seed) == (300, 9)
    matrix = found.pvalue_matrix
    assert np.isnan(matrix.diagonal()).all()
    assert (matrix == matrix.T)[~np.eye(6, dtype=bool)].all()
    copy = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(copy.interval, found.interval)
    assert found.ranking()["mean"].is_sorted(descending=True)


def test_a_baseline_by_its_place() -> None:
    for place, name in enumerate(SOME.systems):
        assert cf.compare(SOME, test="t", baseline=place).baselines == (name,)
    assert cf.compare(SOME, test="t", baseline=[2, "a", 0]).baselines == ("c", "a")
    numbered = {str(k): SOME.values[:, k] for k in range(1, 4)}
    assert cf.compare(numbered, baseline=0).baselines == ("1",)


def test_baseline() -> None:
    found = cf.compare(SOME, baseline="c")
    assert len(found) == 5
    assert {found.systems[k] for k in found.second} == {"c"}
    several = cf.compare(SOME, test="t", baseline=["c", "a"])
    assert len(several) == 8
    everything = cf.compare(SOME, test="t", correction="none")
    k = next(i for i in range(len(several)) if several.systems[several.first[i]] == "f")
    pair = everything.pvalue_matrix[2, 5]
    assert several.raw_pvalues[k] == pytest.approx(pair, rel=1e-12)


def test_one_sided_intervals() -> None:
    options: dict[str, Any] = {"test": "t", "correction": "none", "baseline": "c"}
    both = cf.compare(SOME, **options, alpha=0.1)
    greater = cf.compare(SOME, **options, alternative="greater")
    assert (greater.interval[1] == np.inf).all()
    np.testing.assert_allclose(greater.interval[0], both.interval[0])
    assert ((greater.interval[0] > 0) == greater.is_significant()).all()
    assert "groups" not in greater.ranking().columns


# Groups


@given(
    st.integers(2, 9).flatmap(
        lambda n: st.tuples(
            st.lists(st.booleans(), min_size=n * n, max_size=n * n), st.permutations(range(n))
        )
    )
)
def test_groups_separate_exactly_what_differs(given_: tuple[list[bool], list[int]]) -> None:
    flags, order = given_
    n = len(order)
    different = np.array(flags).reshape(n, n)
    different = np.triu(different, 1) | np.triu(different, 1).T
    groups = find_groups(different, np.array(order))
    held = [set(group.tolist()) for group in groups]
    for i in range(n):
        assert any(i in group for group in held)
        for j in range(i):
            assert any({i, j} <= group for group in held) == (not different[i, j])
    assert not any(one < other for one in held for other in held)


def test_groups_of_intervals_are_as_few_as_can_be() -> None:
    means = np.array([5.0, 4.6, 4.2, 3.0, 2.8, 1.0])
    different = np.abs(means[:, None] - means) > 1
    groups = find_groups(different, np.arange(6))
    assert [group.tolist() for group in groups] == [[0, 1, 2], [3, 4], [5]]
    assert assign_letters(groups, 6) == ["a", "a", "a", "b", "b", "c"]


def test_many_letters() -> None:
    assert [name_group(k) for k in (0, 25, 26, 51, 52)] == ["a", "z", "aa", "az", "ba"]
    assert [parse_group_name(name) for name in ("a", "zz", name_group(702))] == [0, 701, 702]
    assert (shorten_letters("a,b,c,d,f,aa"), shorten_letters("abcd")) == ("a-d,f,aa", "abcd")
    groups = find_groups(~np.eye(30, dtype=bool), np.arange(30))
    assert assign_letters(groups, 30)[27] == "ab"


# What always holds


@given(seed=st.integers(0, 10**6), name=st.sampled_from(FLAT))
def test_invariances(seed: int, name: str) -> None:
    """Scaling, shifting, reordering topics and renaming systems change no p-value."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 9, (int(rng.integers(3, 9)), int(rng.integers(2, 5)))) / 8
    random = TESTS[name].info.is_random
    options: dict[str, Any] = {"test": name, "correction": "none"}
    if name == "randomisation":
        options["exact"] = True
    elif random:
        options["resamples"] = 150
    found = cf.compare(scores_of(values), **options)
    moved = cf.compare(scores_of(values * 4 + 2), **options)
    np.testing.assert_allclose(moved.raw_pvalues, found.raw_pvalues, atol=1e-9)
    np.testing.assert_allclose(moved.effect, found.effect, atol=1e-9)
    if not random or name == "randomisation":
        shuffled = cf.compare(scores_of(values[rng.permutation(len(values))]), **options)
        np.testing.assert_allclose(shuffled.raw_pvalues, found.raw_pvalues, atol=1e-9)
        order = rng.permutation(values.shape[1])
        renamed = cf.compare(scores_of(values[:, order]), **options)
        np.testing.assert_allclose(
            renamed.pvalue_matrix, found.pvalue_matrix[np.ix_(order, order)], atol=1e-9
        )
        # The other way round, the tails change places.
        one = cf.compare(scores_of(values), **options, baseline="a", alternative="greater")
        other = cf.compare(scores_of(-values), **options, baseline="a", alternative="less")
        np.testing.assert_allclose(one.raw_pvalues, other.raw_pvalues, atol=1e-9)


# What a mapping means


def test_scores_by_topic_are_matched_by_topic() -> None:
    import pandas as pd

    x = {"301": 0.1, "302": 0.2, "303": 0.4}
    y = {"303": 0.9, "301": 0.3, "302": 0.2}
    found = cf.compare({"x": x, "y": y})
    np.testing.assert_allclose(found.means, [0.7 / 3, 1.4 / 3])
    again = cf.compare({"x": [0.1, 0.2, 0.4], "y": [0.3, 0.2, 0.9]})
    series = cf.compare({"x": pd.Series(x), "y": pd.Series(y)})
    for other in (again, series):
        assert other.adjusted_pvalues[0] == pytest.approx(found.adjusted_pvalues[0], rel=1e-12)


def test_exact_rank_sum_keeps_small_tails_on_both_sides() -> None:
    low = np.arange(60) / 100
    one, other = (
        cf.compare({"a": a, "b": b}, test="rank-sum", exact=True)
        for a, b in ((low, low + 10), (low + 10, low))
    )
    assert one.adjusted_pvalues[0] == pytest.approx(2.0700738e-35, rel=1e-6)
    assert other.adjusted_pvalues[0] == pytest.approx(one.adjusted_pvalues[0], rel=1e-9)


def test_exact_rank_sum_counts_only_the_scores_of_a_pair() -> None:
    """Topics of one system only count once; 120 scores are not 240."""
    random = np.random.default_rng(0)
    a, b = random.normal(size=60), random.normal(0.5, 1, 60)
    scores = {"a": dict(enumerate(a)), "b": {60 + k: value for k, value in enumerate(b)}}
    found = cf.compare(scores, test="rank-sum", exact=True, missing="available")
    expected = stats.mannwhitneyu(a, b, method="exact").pvalue
    assert found.raw_pvalues[0] == pytest.approx(expected, rel=1e-12)
    with pytest.raises(CranfieldError, match="at most 200 scores of a pair, got 202"):
        cf.compare({"a": np.arange(101.0), "b": np.ones(101)}, test="rank-sum", exact=True)


def test_decimals_show_four_digits() -> None:
    assert [choose_decimals(np.array(means)) for means in ([0.25, 0.5], [0.00025, 0.00031])] == [
        4,
        7,
    ]
    [table] = cf.compare(replace(SOME, values=SOME.values / 1e6)).tables()
    assert len({as_cell(row[1]).text for row in table.rows} - {"0.0000"}) == len(SOME.systems)


def test_effects_and_limits_turn_with_the_pair() -> None:
    """A pair in the other order is what a comparison in the other order computes."""
    turned = SOME.select(systems=list(reversed(SOME.systems)))
    for test in ("t", "signed-rank", "rank-sum", "welch", "anova-2", "friedman"):
        one = cf.compare(SOME, test=test, correction="none")[SOME.systems[1], SOME.systems[0]]
        same = cf.compare(turned, test=test, correction="none")[SOME.systems[1], SOME.systems[0]]
        assert one.is_significant is same.is_significant
        for name in ("difference", "interval", "effect", "pvalue"):
            np.testing.assert_allclose(getattr(one, name), getattr(same, name), rtol=1e-9)


def test_a_comparison_is_not_iterable() -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(cf.compare(SOME, test="t"))  # type: ignore[call-overload]


def test_an_array_with_more_systems_than_topics_has_a_warning() -> None:
    random = np.random.default_rng(0)
    # Scores of 3 systems differ less than those of 8 topics.
    values = random.random(8) + 0.1 * random.random((3, 8))
    with pytest.warns(cf.CranfieldWarning, match="3 topics and 8 systems; if its rows are systems"):
        cf.compare(values, test="t")
    # The transpose, as many topics as systems, and labelled scores are quiet.
    assert cf.compare(values.T, test="t").n_topics == 8
    assert cf.compare(values[:, :3], test="t").n_topics == 3
    # Many systems on few topics, which differ more than systems do.
    many = random.random((3, 1)) + 0.1 * random.random((3, 8))
    assert cf.compare(many, test="t").n_topics == 3
    assert cf.compare(cf.Scores(values, (*"123",), (*"abcdefgh",)), test="t").n_topics == 3


@pytest.mark.parametrize("n_systems", [2, 4])
def test_a_decision_that_depends_on_the_seed_has_a_note(n_systems: int) -> None:
    """A note stands exactly where a p-value is within the sampling error of alpha."""
    table = np.random.default_rng(5).normal(0, 1, (30, n_systems)) + np.arange(n_systems) / 3
    options: dict[str, Any] = {"test": "bootstrap" if n_systems == 2 else "anova-2"}
    pvalue = float(np.median(cf.compare(table, **options).adjusted_pvalues))
    for alpha in (pvalue, 0.9 * pvalue, 0.5 * pvalue, (1 + pvalue) / 2):
        for resamples in (500, 20_000):
            found = cf.compare(table, **options, alpha=alpha, resamples=resamples)
            error = 1.96 * np.sqrt(alpha * (1 - alpha) / resamples)
            close = np.flatnonzero(np.abs(found.adjusted_pvalues - alpha) <= error)
            notes = [note for note in found.notes if "another seed" in note]
            assert len(notes) == (close.size > 0)
            assert close.size or alpha != pvalue or resamples > 500
            for note in notes:
                k = close[0]
                a, b = found.systems[found.first[k]], found.systems[found.second[k]]
                assert f"({a} and {b}: p = {format_pvalue(found.adjusted_pvalues[k])};" in note
                # A paragraph states the fact without the advice.
                assert "more resamples" in note and "more resamples" not in found.prose()
                assert f"reverse the decision ({a} and {b}: p = " in found.prose()


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@pytest.mark.parametrize(
    ("test", "correction"),
    [
        ("randomisation", "bonferroni"),
        ("bootstrap", "holm"),
        ("bootstrap-anova", "bh"),
        ("bootstrap-unpaired", "by"),
    ],
)
def test_corrections_of_random_pvalues_have_the_note(
    test: str, correction: str, alternative: str
) -> None:
    """A note stands within 1.96 standard deviations, over seeds, of an adjusted p-value."""
    # The second system is better than the baseline, the third is not.
    table = np.random.default_rng(5).normal(0, 1, (30, 3))
    table += [0.0, 0.35, 0.0] - table.mean(axis=0)
    compare = partial(
        cf.compare,
        table,
        test=test,
        correction=correction,
        alternative=alternative,
        baseline=0,
        resamples=500,
    )
    if test == "randomisation":
        compare = partial(compare, exact=False)

    def count_notes(alpha: float) -> int:
        notes = (compare(alpha=alpha, seed=seed).notes for seed in range(40))
        return sum("another seed" in str(notes_of_seed) for notes_of_seed in notes)

    pvalues = np.array([compare(seed=seed).adjusted_pvalues[0] for seed in range(200)])
    mean, deviation = pvalues.mean(), pvalues.std()
    # Expected are 38, 33, 19 and 0 notes.
    assert count_notes(mean + 0.2 * deviation) >= 34
    assert count_notes(mean + 1.0 * deviation) >= 29
    assert 12 <= count_notes(mean + 2.0 * deviation) <= 30
    assert count_notes(mean + 4.5 * deviation) <= 3
    assert count_notes(mean - 4.5 * deviation) <= 3


def test_exact_pvalues_have_no_note_on_seeds() -> None:
    """Neither the p-values of all sign flips nor those of a correction that is replaced vary."""
    few = np.random.default_rng(5).normal(0, 1, (8, 3)) + np.arange(3) / 3
    constant = np.arange(6)[:, None] / 9 + np.arange(2) / 9
    for table, test, correction in (
        (few, "randomisation", "bonferroni"),
        (constant, "anova-2", "bootstrap-tukey"),
        (np.c_[constant, constant[:, 1] + 1], "anova-2", "bootstrap-tukey"),
    ):
        compare = partial(cf.compare, table, test=test, correction=correction, resamples=100)
        pvalues = compare().adjusted_pvalues
        assert pvalues.tolist() == compare(seed=1).adjusted_pvalues.tolist()
        assert (pvalues < 1).any()
        for alpha in pvalues[pvalues < 1].tolist():
            assert not any("another seed" in note for note in compare(alpha=alpha).notes)


@pytest.mark.parametrize(
    ("order", "options", "has_note"),
    [
        ([3, 1, 2], {}, True),
        ([1, 3, 2], {}, False),
        ([3, 3, 2], {}, True),
        ([3, 3, 3], {}, False),
        ([3, 1], {}, False),
        ([1, 2, 3], {"lower_is_better": True}, True),
        ([3, 1, 2], {"lower_is_better": True}, False),
        ([3, 1, 2], {"test": "friedman"}, True),
        ([3, 1, 2], {"alternative": "less"}, True),
        # No system can be significantly better by chance than the best.
        ([3, 1, 2], {"alternative": "greater"}, False),
        ([3, 1, 2], {"baseline": None}, False),
        ([1, 3, 2], {"baseline": ["0", "1"]}, True),
    ],
)
def test_a_baseline_with_the_best_mean_has_a_note(
    order: list[int], options: dict[str, Any], has_note: bool
) -> None:
    noise = np.random.default_rng(7).normal(0, 1, (30, 1)) * np.linspace(0, 0.1, len(order))
    values = np.array(order) + noise - noise.mean(axis=0) + np.arange(30)[:, None] / 9
    scores = cf.Scores(values, tuple(map(str, range(30))), tuple("0123"[: len(order)]))
    found = cf.compare(scores, **{"baseline": "0", "resamples": 200, **options})
    assert any("the best mean" in note for note in found.notes) == has_note
    assert "compare all pairs instead" not in found.prose()


@pytest.mark.parametrize(
    ("test", "correction"),
    [
        ("anova-2", "tukey"),
        ("anova-2", "dunnett"),
        ("anova-2", "bootstrap-tukey"),
        ("randomisation", "randomised-tukey"),
        ("randomisation", "max-t"),
        ("friedman", "tukey"),
        ("t", "holm"),
    ],
)
def test_a_best_baseline_has_no_note_if_pvalues_are_those_of_all_pairs(
    test: str, correction: str
) -> None:
    table = np.random.default_rng(7).normal(0, 1, (30, 4)) + [0.6, 0.3, 0.2, 0]
    compare = partial(cf.compare, table, test=test, resamples=500)
    found = compare(correction=correction, baseline=0)
    # Dunnett's test has no counterpart for all pairs but Tukey's.
    all_pairs = compare(correction="tukey" if correction == "dunnett" else correction)
    is_larger = all_pairs.adjusted_pvalues[:3] > found.adjusted_pvalues + 1e-12
    assert is_larger.any() == any("the best mean" in note for note in found.notes)


def test_several_baselines_are_not_compared_with_each_other() -> None:
    table = np.random.default_rng(6).normal(0, 1, (20, 4))
    note = "baselines are not compared with each other"
    found = cf.compare(table, baseline=["1", "2"])
    assert note in found.notes and len(found) == 4
    assert note not in cf.compare(table, baseline="1").notes
