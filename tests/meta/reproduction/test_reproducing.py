"""Runs and scores beside those of the original experiment, as a whole."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest
from scipy import stats

import cranfield as cf
from cranfield.meta.reproduction import replicate, replicate_scores, reproduce, reproduce_scores
from cranfield.meta.reproduction_result import Reproduction
from tests.conftest import DATA

MEASURES = ["AP", "P@10", "nDCG@10"]

ORIGINAL = {"baseline": "bm25L1_bilstm_run", "advanced": "UPrrf93-wt-r5"}
AGAIN = {"baseline": "bm25L2_bilstm_run", "advanced": "UPrrf102-wt-r5"}

KNOWN = json.loads((DATA / "meta" / "repro_eval.json").read_text())
"""What repro_eval 0.5.0 says of these runs; see the README of the data."""


def on_topics(names: dict[str, str], first: int, last: int) -> dict[str, cf.Run]:
    """Some runs of the bundled collection, on some of its topics."""
    runs = {run.name: run for run in cf.bundled.trec_covid().runs}
    return {role: cut(runs[name], first, last) for role, name in names.items()}


def cut(run: cf.Run, first: int, last: int) -> cf.Run:
    return cf.read_run(between(run.to_polars(), first, last), name=run.name)


def between(table: pl.DataFrame, first: int, last: int) -> pl.DataFrame:
    return table.filter(pl.col("topic").cast(pl.Int64).is_between(first, last))


def judgments(first: int, last: int) -> pl.DataFrame:
    return between(cf.bundled.trec_covid().qrels.to_polars(), first, last)


@pytest.fixture(scope="module")
def reproduced() -> Reproduction:
    return reproduce(
        on_topics(ORIGINAL, 1, 12),
        on_topics(AGAIN, 1, 12),
        qrels=judgments(1, 12),
        measures=MEASURES,
    )


@pytest.mark.parametrize("role", ["baseline", "advanced"])
def test_scores_against_repro_eval(reproduced: Reproduction, role: str) -> None:
    table = reproduced.scores.filter(role=role)
    assert table["measure"].to_list() == MEASURES
    assert table["topics"].to_list() == [12] * 3
    np.testing.assert_allclose(table["RMSE"], KNOWN["reproduction"]["RMSE"][role], rtol=1e-12)
    np.testing.assert_allclose(table["nRMSE"], KNOWN["reproduction"]["nRMSE"][role], rtol=1e-12)
    np.testing.assert_allclose(table["p"], KNOWN["reproduction"]["p"][role], rtol=1e-9)


def test_effects_against_repro_eval(reproduced: Reproduction) -> None:
    for name in ("ER", "DRI"):
        known = KNOWN["reproduction"][name]
        np.testing.assert_allclose(reproduced.effects[name], known, rtol=1e-12)


@pytest.mark.parametrize("role", ["baseline", "advanced"])
def test_orders_against_repro_eval(reproduced: Reproduction, role: str) -> None:
    assert reproduced.orders is not None
    table, known = reproduced.orders.filter(role=role), KNOWN["orders"][role]
    assert table["topic"].to_list() == [str(topic) for topic in range(1, 13)]
    np.testing.assert_allclose(table["KTU"], [known["KTU"][t] for t in table["topic"]], atol=1e-13)
    # Its RBO is of the 100 ranks that are there, by its value for equal rankings: what lies below
    # does not count. Here the agreement at rank 100 goes on below.
    rest = 0.9**100
    truncated = np.array([known["RBO"][t] for t in table["topic"]])
    expected = truncated * (1 - rest) + rest * table["shared"].to_numpy() / 100
    np.testing.assert_allclose(table["RBO"], expected, rtol=1e-12)


def test_replication_against_repro_eval() -> None:
    found = replicate(
        on_topics(ORIGINAL, 1, 12),
        on_topics(AGAIN, 13, 20),
        qrels=judgments(1, 12),
        other_qrels=judgments(13, 20),
        measures=MEASURES,
        test="t-unpaired",
    )
    assert found.kind == "replication" and found.orders is None
    known = KNOWN["replication"]
    for role, pvalues in known["p"].items():
        np.testing.assert_allclose(found.scores.filter(role=role)["p"], pvalues, rtol=1e-9)
    np.testing.assert_allclose(found.effects["ER"], known["ER"], rtol=1e-12)
    np.testing.assert_allclose(found.effects["DRI"], known["DRI"], rtol=1e-12)
    assert found.scores["RMSE"].null_count() == 6
    assert found.effects.select("topics", "other topics").rows() == [(12, 8)] * 3
    assert "12 topics and 8 other topics" in repr(found)
    assert found.average_orders().columns == ["role", "topics", "tau", "KTU", "RBO"]


def test_equal_experiments() -> None:
    runs = on_topics(ORIGINAL, 1, 12)
    found = reproduce(runs, runs, qrels=judgments(1, 12), measures=MEASURES)
    assert found.scores["RMSE"].to_list() == found.scores["nRMSE"].to_list() == [0.0] * 6
    assert found.scores["p"].to_list() == [1.0] * 6
    assert found.effects["ER"].to_list() == [1.0] * 3
    assert found.effects["DRI"].to_list() == [0.0] * 3
    means = found.average_orders()
    assert means["topics"].to_list() == [12, 12]
    for name in ("tau", "KTU", "RBO"):
        assert means[name].to_list() == pytest.approx([1, 1], abs=1e-12)


def test_summary_and_text(reproduced: Reproduction) -> None:
    table = reproduced.summary()
    assert table.columns == [
        "measure",
        "RMSE baseline",
        "RMSE advanced",
        "p baseline",
        "p advanced",
        "ER",
        "ER low",
        "ER high",
        "DRI",
    ]
    assert table["RMSE advanced"].to_list() == pytest.approx(
        KNOWN["reproduction"]["RMSE"]["advanced"]
    )
    text = str(reproduced)
    assert "baseline: 'bm25L1_bilstm_run', reproduced by 'bm25L2_bilstm_run'" in text
    words = re.sub(" +", " ", text)
    assert re.search(r"AP advanced 12 \S+ \S+ 0\.0073 \S+ \S+ 0\.4478\n", words)
    assert re.search(r"AP 12 \S+ \S+ 0\.9365 0\.8463 1\.0071 \S+ \S+ 0\.1445\n", words)
    assert repr(reproduced) == (
        "Reproduction(Reproduction of baseline and advanced: 12 topics, 3 measures)"
    )
    assert reproduced.settings["ties"] == "trec" and reproduced.persistence == 0.9


def test_a_single_run_is_a_baseline() -> None:
    one, two = on_topics(ORIGINAL, 1, 5), on_topics(AGAIN, 1, 5)
    found = reproduce(one["advanced"], two["advanced"], qrels=judgments(1, 5), measures="AP")
    assert found.roles == ("baseline",) and found.effects.is_empty()
    assert found.summary().columns == ["measure", "RMSE baseline", "p baseline"]
    assert "Reproduction of baseline: 5 topics" in str(found)


def test_missing_topics_are_said() -> None:
    one, two = on_topics(ORIGINAL, 1, 6), on_topics(AGAIN, 1, 6)
    two["baseline"] = cut(two["baseline"], 1, 4)
    found = reproduce(one, two, qrels=judgments(1, 6), measures="P@10")
    # An empty ranking scores 0, as everywhere.
    assert found.scores["topics"].to_list() == [6, 6]
    assert any("no results for some judged topics" in note for note in found.notes)
    assert any("excluded 2 topics with documents in only one run" in note for note in found.notes)
    assert found.average_orders()["topics"].to_list() == [4, 6]
    left = reproduce(one, two, qrels=judgments(1, 6), measures="P@10", topics="intersection")
    assert left.scores["topics"].to_list() == [4, 6]
    assert left.effects["topics"].to_list() == [4]
    assert "P@10: baseline: excluded 2 topics with a score of only the original run" in left.notes


def test_unjudged_topics_do_not_count() -> None:
    one, two = on_topics(ORIGINAL, 1, 6), on_topics(AGAIN, 1, 6)
    found = reproduce(one, two, qrels=judgments(1, 4), measures="P@10")
    assert found.average_orders()["topics"].to_list() == [4, 4]
    assert any("results for topics without judgments" in note for note in found.notes)


def test_depth_holds_for_orders_and_scores() -> None:
    one, two = on_topics(ORIGINAL, 1, 6), on_topics(AGAIN, 1, 6)
    found = reproduce(one, two, qrels=judgments(1, 6), measures=["P@20"], depth=10)
    assert found.orders is not None
    assert found.orders["original"].to_list() == [10] * 12
    assert found.scores["original"].max() <= 0.5  # type: ignore[operator]


def test_scores_by_scipy() -> None:
    rng = np.random.default_rng(11)
    base, better, base2, better2 = rng.beta(2, 3, (4, 25))
    found = reproduce_scores(
        {"baseline": base, "advanced": better}, {"baseline": base2, "advanced": better2}
    )
    for row, x, y in zip(
        found.scores.iter_rows(named=True), (base, better), (base2, better2), strict=True
    ):
        expected = stats.ttest_rel(x, y)
        assert row["p"] == pytest.approx(expected.pvalue)
        assert row["statistic"] == pytest.approx(expected.statistic)
        assert (row["original"], row["reproduced"]) == pytest.approx((x.mean(), y.mean()))
    other = replicate_scores(
        {"baseline": base, "advanced": better}, {"baseline": base2[:9], "advanced": better2[:9]}
    )
    expected = stats.ttest_ind(base, base2[:9], equal_var=False)
    assert other.scores["p"][0] == pytest.approx(expected.pvalue)
    ranks = reproduce_scores({"baseline": base}, {"baseline": base2}, test="signed-rank")
    assert ranks.test == "signed-rank"
    assert ranks.scores["p"][0] == pytest.approx(stats.wilcoxon(base, base2).pvalue)


def test_ways_to_give_scores() -> None:
    covid = cf.bundled.trec_covid()
    names = [run.name for run in covid.runs]
    picked = {role: covid.runs[names.index(name)] for role, name in ORIGINAL.items()}
    again = {role: covid.runs[names.index(name)] for role, name in AGAIN.items()}
    one = cf.evaluate(picked, covid.qrels, ["AP", "P@10"])
    two = cf.evaluate(again, covid.qrels, ["AP", "P@10"])
    whole = reproduce_scores(one, two)
    assert whole.measures == ("AP", "P@10")
    single = reproduce_scores(one["AP"], two["AP"])
    assert single.summary().equals(whole.summary()[:1])
    roles = [
        {role: cf.evaluate(run, covid.qrels, "AP")["AP"] for role, run in side.items()}
        for side in (picked, again)
    ]
    assert reproduce_scores(*roles).summary().equals(single.summary())
    runs = reproduce(picked, again, qrels=covid.qrels, measures=["AP", "P@10"])
    assert runs.summary().equals(whole.summary())
    framed = reproduce_scores(one["AP"].to_polars(), two["AP"].to_polars(), bounds=(0, 1))
    assert framed.scores["nRMSE"].to_list() == single.scores["nRMSE"].to_list()


def test_order_of_topics_does_not_matter() -> None:
    first = {"baseline": {"a": 0.1, "b": 0.4, "c": 0.2}, "advanced": {"a": 0.3, "b": 0.5, "c": 0.4}}
    again = {role: {t: s[t] ** 2 for t in "cab"} for role, s in first.items()}
    turned = {role: {t: s[t] for t in "bca"} for role, s in again.items()}
    one, two = reproduce_scores(first, again), reproduce_scores(first, turned)
    assert one.scores.equals(two.scores) and one.effects.equals(two.effects)


def test_what_is_not_defined_is_null_and_noted() -> None:
    first = {"baseline": [0.0, 0.0], "advanced": [0.0, 0.0]}
    again = {"baseline": [0.1, 0.2], "advanced": [0.2, 0.4]}
    found = reproduce_scores(first, again)
    row = found.effects.row(0, named=True)
    assert row["ER"] is row["DRI"] is row["original RI"] is None
    assert row["reproduced RI"] == pytest.approx(1.0)
    assert any("(ER) is not defined, as the original effect is 0" in note for note in found.notes)
    assert any("(RI, DRI) are not defined, as the original" in note for note in found.notes)
    assert any(
        "nRMSE is not defined without a lowest and a highest" in note for note in found.notes
    )
    outside = reproduce_scores({"baseline": [0.5, 2]}, {"baseline": [0.5, 1]}, bounds=(0, 1))
    assert outside.scores["nRMSE"][0] is None
    assert "nRMSE is not defined, as some scores are not from 0 to 1" in outside.notes
    alone = reproduce_scores({"baseline": [0.5]}, {"baseline": [0.25]})
    assert alone.scores.row(0, named=True)["RMSE"] == 0.25
    assert alone.scores["p"][0] is None
    assert "no test, as it requires at least two topics" in alone.notes
    assert "-" in str(alone)


def test_partial_scores_in_a_replication() -> None:
    nan = np.nan
    first = {"baseline": [0.2, 0.4, nan], "advanced": [0.3, 0.6, 0.9]}
    again = {"baseline": [0.2, 0.4], "advanced": [0.3, 0.6]}
    found = replicate_scores(first, again)
    # The effect is over topics that both systems have.
    assert found.effects.row(0, named=True)["ER"] == pytest.approx(1.0)
    assert found.effects.select("topics", "other topics").row(0) == (2, 2)
    assert found.scores.filter(role="advanced")["topics"][0] == 3
    assert found.notes == (
        "effects: excluded 1 topic with a score of only one of the two original runs",
        "the effect ratio (ER) has no confidence interval, as the original effect may be 0",
    )


def test_a_random_test_takes_a_seed() -> None:
    rng = np.random.default_rng(4)
    first, again = ({"baseline": rng.random(30)} for _ in range(2))
    one, two, three = (
        reproduce_scores(first, again, test="bootstrap", seed=seed).scores["p"][0]
        for seed in (1, 1, 2)
    )
    assert one == two != three
