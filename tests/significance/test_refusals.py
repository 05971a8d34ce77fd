"""Wrong arguments and any scores: an answer that is a number, or one line that names the reason."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import cranfield as cf
from cranfield import significance
from cranfield.base.errors import CranfieldError
from cranfield.scales.admissible import dominance
from cranfield.significance import TESTS
from cranfield.significance.corrections.pvalue_corrections import adjust_pvalues
from cranfield.significance.corrections.studentised import (
    studentised_range_isf,
    studentised_range_sf,
)
from cranfield.significance.effects import anova_effect_sizes, effect_sizes
from cranfield.significance.models.assumptions import check_assumptions
from cranfield.significance.models.random_topics import fit_random_topics
from cranfield.significance.prepare import aggregate_clusters
from cranfield.significance.transform import arcsine, standardise
from tests.significance.helpers import Refusals, cases, options, scored

# Without types, which forbid much of what is wrong here.
compare: Any = cf.compare
room: Any = significance

SOME = scored(np.random.default_rng(0).random((20, 6)), measure="AP")
PAIR = SOME.select(systems=SOME.systems[:2])
SMALL = {"a": [0.2, 0.4, 0.3, 0.5], "b": [0.21, 0.4, 0.32, 0.49]}
SHARDS = scored(np.random.default_rng(1).random((5, 3, 2)))
GAP = scored(np.where(np.arange(20)[:, None] == 3, np.nan, SOME.values))
ENDLESS = scored([[0.1, np.inf], [0.3, 0.4]])
ONE_TOPIC = scored([[0.1, 0.2, 0.3]])
RESIDUALS = np.random.default_rng(0).normal(size=(5, 3))
MEASURES = {"AP": SOME, "RR": SOME}
TABLE = scored([[0.1, 0.2], [0.3, 0.4]], measure="AP")

REFUSALS: Refusals = {
    "compare": [
        *options(
            lambda **more: compare(SOME, **more),
            ({"test": "wilcox"}, "did you mean wilcoxon"),
            ({"test": 5}, r"\(test\), got 5"),
            ({"test": "anova-2f"}, "studies of tests"),
            ({"test": "anova-3"}, "scores by shard"),
            ({"correction": "fdx"}, "unknown correction 'fdx'; did you mean"),
            ({"correction": 5}, r"\(correction\), got 5"),
            ({"correction": "dunnett"}, "one baseline, got 0"),
            ({"correction": "tukey", "alternative": "less", "baseline": "s0"}, "two-sided"),
            ({"test": "t", "correction": "tukey"}, "cannot be combined with test 't'"),
            ({"alpha": "0.05"}, "between 0 and 1"),
            ({"alpha": None}, "between 0 and 1 .*, got None"),
            ({"alternative": "less"}, "requires a baseline"),
            ({"alternative": "both"}, "expected one of: two-sided"),
            ({"seed": None}, "seed must be an integer"),
            ({"seed": -1}, ">= 0"),
            ({"resamples": 10**8}, "from 1 to 1,000,000"),
            ({"jobs": 0}, ">= 1"),
            ({"exact": "yes"}, "True, False or None"),
            ({"exact_n": -1}, ">= 0"),
            ({"baseline": 3.0}, "name or the index of a system"),
            ({"baseline": [True]}, "name or the index of a system"),
            ({"baseline": 6}, "from 0 to 5, got 6"),
            ({"baseline": [-1]}, "-1"),
            ({"baseline": "bm52"}, "system 'bm52'"),
            (
                {"baseline": list(SOME.systems)},
                "expected a system besides the baselines, got only baselines",
            ),
            ({"missing": "skip"}, "expected one of: error"),
            ({"missing": "available"}, "cannot be combined"),
            ({"statistic": "mode"}, "statistic"),
            ({"test": "t", "statistic": "median"}, "requires the test bootstrap-median"),
            ({"test": "bootstrap-median", "statistic": "mean"}, "medians, got statistic='mean'"),
            ({"test": "t", "threshold": 0.01}, "threshold .*sign"),
            ({"test": "sign", "threshold": -1}, "-1"),
        ),
        (lambda: compare(MEASURES), "AP, RR"),
        (lambda: compare(np.zeros(5)), "array of scores"),
        (lambda: compare(cf.evaluate({"q": {"d": 1}}, {"q": {"d": 1}}, ["AP", "RR"])), "AP, RR"),
        (lambda: compare({"x": 0.1, "y": 0.2}), "system 'x'"),
        (lambda: compare({"x": ["a"], "y": ["b"]}), "score 'a'"),
        (lambda: compare({"x": {"q": None}, "y": {}}), "empty"),
        (lambda: compare({"a": [0.5, 0.4]}), "two systems"),
        (lambda: compare({"a": [0.5], "b": [0.4]}), "got 1 of 'a'"),
        (lambda: compare(pl.LazyFrame({"x": [1.0, 2.0]})), "topic"),
        (lambda: compare(ENDLESS), "system 's1' on topic 'q0' has an infinite score"),
        *(
            (partial(call, ENDLESS, *more), "system 's1' on topic 'q0' has an infinite score")
            for call, *more in (
                (cf.summarise,),
                (cf.risk,),
                (cf.factorial_anova, {"s0": {"stop": "yes"}, "s1": {"stop": "no"}}),
                (dominance, [0], [1]),
            )
        ),
        (lambda: compare(scored([[0, np.nan], [1, np.nan]]), test="welch"), "got 0 of 's1'"),
        (lambda: compare({"a": [0.1, 0.5], "b": [0.2, 0.3, 0.6]}), "unpaired test"),
        (lambda: compare(SHARDS, test="t"), "by shard"),
        (lambda: compare(SHARDS.select(["q0"]), test="anova-3"), "two topics"),
        (lambda: SOME.select(systems=[99]), "indices of systems must be from -"),
        (lambda: compare(-SOME.values, statistic="geometric-mean"), "at least 0, got -"),
        (lambda: SOME.geometric_mean(-1), "floor must be a number >= 0"),
        (
            lambda: compare({"1": [0.1, 0.2], "2": [0.3, 0.1]}, baseline=1),
            "an index or a name, as a system has the name '1'",
        ),
    ],
    "comparison": [
        (lambda: compare(SOME, baseline="s0").groups(), "all pairs"),
        (lambda: compare(SOME, baseline="s0", test="t")["s1", "s2"], "not compared"),
        (lambda: compare(SOME, test="t")["zz", "s0"], "system 'zz'"),
        (lambda: compare(SOME, test="t")["s0"], "two systems"),
        (lambda: compare(SOME, test="t")[0], "two systems"),
        (lambda: compare(SOME, test="t")["s0", "s1", "s2"], "two systems"),
        (lambda: compare(SOME, test="t", correction="bh").rank_sets(), "holm.*got bh"),
        (lambda: compare(SOME, baseline="s1").rank_sets(), "all pairs"),
        *(
            (lambda margin=margin: compare(SMALL).equivalence(margin), "margin")
            for margin in (0, -1, "2 percent", "nan", True, "%", "2%3", None)
        ),
        (lambda: compare(SOME, test="friedman").equivalence("2%"), "ranks"),
        (lambda: str(compare(SMALL, alpha=0.5).equivalence(1)), "alpha below 0.5"),
    ],
    "several": [
        (
            lambda: room.compare_measures({"a": SOME, "b": GAP}),
            "system 's0' on topic 'q3' has no score of 'b'",
        ),
        (lambda: room.compare_measures({"a": SOME, "b": PAIR}), "'b' lacks system 's2'"),
        (lambda: room.compare_measures([SOME]), "mapping"),
        (lambda: room.meta_analysis({"a": SOME}), "two collections"),
        (lambda: room.meta_analysis(MEASURES, correction="max-t"), "max-t"),
        (lambda: room.meta_analysis(MEASURES, tau2_by="ml"), "unknown tau2_by 'ml'"),
        (lambda: room.meta_analysis(MEASURES, baseline="v"), "baseline"),
        (
            lambda: room.meta_analysis(
                {"a": SMALL, "b": {"v": SMALL["a"], "w": SMALL["b"]}}, baseline=["a", "b"]
            ),
            "no collection",
        ),
        (
            lambda: room.meta_analysis({"a": SOME, "b": scored(SOME.values, measure="RR")}),
            "'AP', 'RR' have no common unit",
        ),
    ],
    "bayes": [
        *options(
            lambda **more: room.compare_bayes(PAIR, "s0", "s1", **more),
            ({"missing": "zero"}, "unknown missing 'zero'; expected one of: error, drop"),
            ({"rope": -0.1}, "rope must be a number >= 0, got -0.1"),
            ({"level": 1.0}, "level must be a number between 0 and 1"),
        ),
        (lambda: room.compare_bayes(PAIR, "s0", "c"), "system 'c'"),
        (lambda: room.compare_bayes(PAIR, "s0", "s0"), "'s0' cannot be compared with itself"),
        (lambda: room.compare_bayes(ONE_TOPIC, "s0", "s1"), "two topics"),
        (lambda: room.compare_bayes(GAP.select(["q3"]), "s0", "s1", missing="drop"), "two topics"),
        (lambda: room.compare_bayes(GAP, "s0", "s1"), "system 's0' on topic 'q3' has no score"),
        (lambda: room.compare_bayes(ENDLESS, "s0", "s1"), "'s1' on topic 'q0' has an infinite"),
        (lambda: room.compare_bayes(SHARDS, "s0", "s1"), "by shard"),
    ],
    "effects": [
        (lambda: effect_sizes(SOME, kind="g"), "unknown effect size 'g'; expected one of:"),
        (lambda: effect_sizes(SOME, confidence=95), "confidence"),
        (lambda: effect_sizes(GAP), "no score"),
        (lambda: anova_effect_sizes(compare(SOME, test="t").anova), "ANOVA table"),
        (lambda: cf.risk(scored([[0.5, -1.0]])), "at least 0"),
        (lambda: cf.risk(scored([[0.5, np.nan]])), "topic 'q0' lacks a score that risk requires"),
        (lambda: cf.risk(scored([[0.5, 1.0]]), baseline="x"), "'x'"),
        (lambda: cf.risk(scored([[0.5, 1.0]]), alpha=-1), "alpha"),
        (lambda: cf.risk(scored(SOME.values, lower_is_better=True)), "higher is better"),
    ],
    "models": [
        (lambda: check_assumptions(RESIDUALS, alpha=1), "alpha must be a number between 0 and 1"),
        (lambda: check_assumptions(RESIDUALS[:, :, None]), r"\(5, 3, 1\)"),
        (lambda: check_assumptions(RESIDUALS, RESIDUALS[:, :2]), r"\(5, 2\)"),
        (lambda: check_assumptions([[0.1, np.nan, 0.2]]), "three residuals"),
        (lambda: check_assumptions([[0.1, np.inf, 0.2]]), "at most 1e"),
        (
            lambda: fit_random_topics(
                np.where(np.arange(5)[:, None, None] == 0, SHARDS.values, np.nan)
            ),
            "two topics with scores",
        ),
        (lambda: compare(SHARDS.values[:, :, :1], test="anova-3"), "shards"),
        (lambda: compare(SHARDS.values[:, :, :1], test="bootstrap-anova"), "shards"),
        (lambda: studentised_range_sf(1.0, 1, 10), "n_groups must be an integer >= 2"),
        (lambda: studentised_range_sf(1.0, 3, 0), "df must be a number above 0"),
        (lambda: studentised_range_isf(1.0, 3, 10), "probability"),
        (lambda: adjust_pvalues([1.2]), "from 0 to 1"),
        (lambda: adjust_pvalues([0.1], "tukey"), "tukey"),
        (lambda: adjust_pvalues(["a"]), "p-values"),
    ],
    "power": [
        *options(
            lambda **more: room.topics_needed(**{"variance": 0.02, "difference": 0.1, **more}),
            ({"design": "anova"}, "unknown design 'anova'; expected one of: t, anova-1"),
            ({"difference": None}, "difference"),
            ({"width": 0.1}, "width"),
            ({"design": "interval"}, "width"),
            ({"design": "t", "systems": 3}, "two systems"),
            ({"systems": 1}, "systems must be an integer >= 2, got 1"),
            ({"systems": 2.5}, "systems must be an integer >= 2, got 2.5"),
            ({"alternative": "less"}, "two-sided"),
            ({"design": "t", "alternative": "more"}, "unknown alternative 'more'"),
            ({"power": 1.0}, "power must be a number between 0 and 1"),
            ({"alpha": 0.0}, "alpha must be a number between 0 and 1"),
            ({"design": "t", "alpha": 0.6, "alternative": "less"}, "below 0.5"),
            ({"variance": 0.0}, "variance must be a number above 0"),
            ({"difference": -0.1}, "difference must be a number above 0"),
            ({"design": "t", "epsilon": 0.5}, "'t'"),
            ({"design": "t", "difference": 1e-6, "variance": 1.0}, "10,000,000 topics"),
        ),
        *options(
            lambda **more: room.power_anova(
                **{"topics": 12, "systems": 10, "difference": 0.1, "variance": 0.1, **more}
            ),
            ({"epsilon": 0.1}, "from 0.1111 to 1"),
            ({"epsilon": 0.5, "model": "anova-1"}, "requires model='anova-2', got model='anova-1'"),
            ({"model": "anova-3"}, "unknown model 'anova-3'; expected one of:"),
        ),
        *(
            (lambda n=n: room.power_t(n, difference=0.1, variance=0.1), ">= 2")
            for n in (1, [10, 0], float("nan"), float("inf"))
        ),
        (lambda: room.variance(SOME, model="t"), "unknown model 't'; expected one of:"),
        (lambda: room.variance([]), "scores"),
        (lambda: room.variance("AP"), "expected a list, got 'AP'"),
        (lambda: room.variance(ONE_TOPIC), "two topics"),
        (lambda: room.variance(scored(np.ones((4, 1)))), "two systems"),
        (lambda: room.variance(ONE_TOPIC, model="anova-1"), "two scores"),
        (lambda: room.variance(SHARDS), "by shard"),
        (lambda: room.variance(GAP), "system 's0' on topic 'q3' has no score"),
        (lambda: room.variance(ENDLESS), "infinite"),
        *options(
            lambda **more: room.power_pairs(room.Resampled(PAIR.values), **more),
            ({"topics": 1}, "number of topics"),
            ({"topics": 5, "difference": -1.0}, "difference must be a number above 0"),
            ({"topics": 5, "sets": 0}, "sets"),
            ({"power": 1.5}, "power"),
            ({"topics": 5, "difference": 0.1, "alpha": 2.0}, "alpha"),
            ({"difference": 1e-6, "sets": 1, "test": "sign"}, "10,000 topics"),
        ),
        (
            lambda: room.power_pairs(room.Resampled(PAIR.values).with_means(0.0), topics=5, sets=2),
            "true means",
        ),
    ],
    "simulation": [
        *options(
            lambda **more: room.fit_simulator(SOME, **more),
            ({"shrinkage": 2.0}, "shrinkage"),
            ({"df": 0.0}, "df must be a number above 0"),
            ({"criterion": "bic2"}, "criterion"),
            ({"copula": "vine"}, "copula"),
        ),
        (lambda: room.fit_simulator(np.full((9, 2), 0.5)), "same score"),
        (lambda: room.fit_simulator(SOME.select(topics=SOME.topics[:4])), "5 topics"),
        (lambda: room.fit_simulator(SOME.values * 1e-10), "less than 1e-9"),
        (lambda: room.fit_simulator(GAP), "no score"),
        (lambda: room.fit_simulator(SHARDS), "by shard"),
        (
            lambda: room.fit_simulator(PAIR).with_means(1.2),
            "1 other system cannot have the mean 1.2",
        ),
        (lambda: room.fit_simulator(PAIR).with_means([1, 2, 3]), "means"),
        (lambda: room.fit_simulator(PAIR).draw(5, -1), "seed must be"),
        (lambda: room.fit_simulator(PAIR).select(["w"]), "indices"),
        (lambda: room.fit_simulator(scored([[1e308], [-1e308]] * 3)), "1e\\+100"),
        (lambda: room.Resampled(PAIR.values).draw("x", 1), "n_topics must be"),
    ],
    "clusters": [
        (lambda: aggregate_clusters(SOME, dict.fromkeys(SOME.topics[:-1], "1")), "'q19'"),
        (lambda: aggregate_clusters(SOME, str, weight="rows"), "unknown weight 'rows'"),
        (lambda: aggregate_clusters(GAP, str), "has no score"),
        (lambda: aggregate_clusters(scored([[1e308], [-1e308]]), str.upper), "1e\\+100"),
        (lambda: room.aggregate_clusters(SOME, np.arange(20)), "mapping"),
    ],
    "transformations": [
        (lambda: arcsine(scored([[0.5, 1.5]])), "got 1.5 for system 's1' on topic 'q0'"),
        (lambda: arcsine(scored([[-0.1]])), "got -0.1"),
        (lambda: arcsine(scored([[[0.1, np.inf]]])), "got inf for .* in shard 2"),
        (lambda: standardise(TABLE, method="uniform"), "unknown method 'uniform'"),
        (lambda: standardise(TABLE, method="linear", slope=0), "slope must"),
        (lambda: standardise(SHARDS), "by shard"),
        (lambda: standardise(ENDLESS), "system 's1' on topic 'q0' has an infinite score"),
        (
            lambda: standardise(scored([[0.1]])),
            "2 reference scores per topic, got 1 for topic 'q0'",
        ),
        (lambda: standardise(scored([[0.1, 0.2], [0.3, np.nan]])), "got 1 for topic 'q1'"),
        (lambda: standardise(TABLE, scored(TABLE.values, measure="P@5")), "'P@5'"),
        (lambda: standardise(TABLE, scored([[0.1, 0.2]], measure="AP")), "lack topic 'q1'"),
        (lambda: standardise(TABLE, scored([[0.1, 0.2]] * 3)), "lack topic 'q2' of the reference"),
    ],
}


@pytest.mark.parametrize(("call", "message"), cases(REFUSALS))
def test_refusals(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(CranfieldError, match=message) as refused:
        call()
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("test", "correction"),
    [
        ("anova-2", "tukey"),
        ("anova-1", "tukey"),
        ("friedman", "tukey"),
        ("randomisation", "randomised-tukey"),
    ],
)
def test_advised_one_sided_corrections_support_the_test(test: str, correction: str) -> None:
    one_sided: dict[str, Any] = {"test": test, "baseline": "a", "alternative": "greater"}
    scores = {"a": [0.1, 0.5, 0.3], "b": [0.2, 0.7, 0.6], "c": [0.3, 0.1, 0.2]}
    with pytest.raises(CranfieldError, match="requires a two-sided test, got ") as refused:
        cf.compare(scores, correction=correction, **one_sided)
    advised = str(refused.value).partition("; use ")[2].partition(" for ")[0].split(" or ")
    for name in advised:
        cf.compare(scores, correction=name, **one_sided)


def test_exact_without_effect_is_reported() -> None:
    said = "exact has no effect: this test computes p-values in only one way"
    scores = {"a": [0.1, 0.2, 0.4], "b": [0.2, 0.2, 0.3]}
    for exact in (True, False):
        with pytest.warns(cf.CranfieldWarning, match=said):
            cf.compare(scores, test="t", exact=exact)
        cf.compare(scores, test="signed-rank", exact=exact)


EXTREME = st.sampled_from(
    [0.0, -0.0, 0.5, 0.5 + 2**-53, 1.0, -1.0, 1e-300, 5e-324, 1e300, -1e300, 1e16, 0.1, 0.2, 0.3]
)
ODD = st.one_of(EXTREME, st.floats(0, 1), st.sampled_from([np.nan, np.inf]))


# Tests without a choice of exact p-values warn; it is passed to all.
@pytest.mark.filterwarnings("ignore:exact has no effect")
@pytest.mark.parametrize("elements", [EXTREME, ODD, st.floats(-1, 1), st.sampled_from([0.0, 1.0])])
@settings(max_examples=40)
@given(data=st.data())
def test_any_scores(elements: Any, data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(list(TESTS)))
    shape = data.draw(array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=7))
    if TESTS[name].info.shards == "required":
        shape = (*shape, 2)
    values = data.draw(arrays(np.float64, shape, elements=elements))
    info = TESTS[name].info
    options: dict[str, Any] = {
        "correction": data.draw(st.sampled_from([None, *info.corrections])),
        "alternative": data.draw(st.sampled_from(["two-sided", "greater", "less"])),
        "missing": data.draw(st.sampled_from([None, "drop", "zero", "available"])),
        "baseline": data.draw(st.sampled_from([None, "0"])),
        "exact": data.draw(st.sampled_from([None, True, False])),
    }
    scores = cf.Scores(
        values, tuple(map(str, range(shape[0]))), tuple(map(str, range(shape[1]))), axis=info.axis
    )
    try:
        found = cf.compare(scores, test=name, resamples=50, **options)
    except CranfieldError as error:
        assert "\n" not in str(error)
        return
    for p in (found.raw_pvalues, found.adjusted_pvalues):
        assert ((p >= 0) & (p <= 1)).all()
    low, high = found.interval
    without = np.isnan(low)
    np.testing.assert_array_equal(without, np.isnan(high))
    assert without.sum() == found.n_without_interval
    np.testing.assert_array_equal(
        ((low > 0) | (high < 0))[~without], found.is_significant()[~without]
    )
    assert not np.isnan(found.difference).any()
    assert not np.isnan(found.statistic).any()
    assert not np.isnan(found.effect).any()
    assert "nan" not in str(found)
    if not found.baselines and found.alternative == "two-sided":
        assert len(found.groups()) == shape[1]


@example(b"\x00,\x00\n,\x00")
@given(st.binary(max_size=60) | st.text("ab,\t\"1.5\n x-e'{}[]:", max_size=60).map(str.encode))
def test_any_file_of_scores(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for suffix in (".csv", ".tsv", ".json", ".jsonl", ".eval", ".parquet"):
            path = Path(folder) / f"s{suffix}"
            path.write_bytes(content)
            try:
                with warnings.catch_warnings():
                    # Such as one line about columns that are not used.
                    warnings.simplefilter("ignore")
                    scores = cf.read_scores(path)
            except CranfieldError as error:
                assert "\n" not in str(error)
                assert str(path) in str(error) or "called" in str(error)
            else:
                assert scores.values.size
                assert not np.isinf(scores.values).any()


def test_populations_print_what_they_are_not_their_arrays() -> None:
    values = np.random.default_rng(1).random((12, 4))
    assert len(repr(significance.fit_simulator(values))) < 200


def test_advice_on_missing_scores_can_be_followed() -> None:
    """The error names no test that compare refuses, and no policy that would fail as well."""
    values = np.random.default_rng(0).random((6, 3, 2))
    shards = scored(values)
    with pytest.raises(cf.PolicyError, match=r"use random-topics, anova-3, bootstrap-anova$"):
        compare(shards, test="welch")
    values[0, 1, 0] = np.nan
    for test in ("random-topics", "bootstrap-anova"):
        with pytest.raises(cf.CranfieldError, match=r"counts missing scores as 0$"):
            compare(scored(values), test=test)
    values[0, :, 0] = np.nan
    with pytest.raises(cf.CranfieldError, match="missing='available' excludes topics and shards"):
        compare(scored(values))
    assert compare(scored(values), missing="available").n_topics == 6
    with pytest.raises(cf.CranfieldError, match="missing='available' uses the available scores"):
        compare(GAP, test="welch", missing="error")
