"""Decisions by tolerances: verdicts by hand, intervals by SciPy, the number of topics by a loop."""

from __future__ import annotations

from itertools import count

import numpy as np
import polars as pl
import pytest
from scipy import stats

import cranfield as cf
from cranfield.assess.judges.tolerances import (
    AT_LEAST,
    AT_MOST,
    WITHIN,
    check_tolerances,
    compute_required_topics,
    decide_verdict,
)
from cranfield.base.errors import PolicyError

COVID = cf.bundled.trec_covid()
RUNS = COVID.runs[:4]


def machine(seed: int = 1) -> pl.DataFrame:
    more = np.random.default_rng(seed).integers(0, 2, len(COVID.qrels))
    return COVID.qrels.to_polars().with_columns(grade=np.clip(COVID.qrels.grades, 0, 1) + more)


JUDGES = {"llm": machine()}


@pytest.mark.parametrize(
    ("low", "high", "tolerance", "side", "verdict"),
    [
        (0.4, 0.6, 0.4, AT_LEAST, "met"),
        (0.39, 0.6, 0.4, AT_LEAST, "undecided"),
        (0.2, 0.39, 0.4, AT_LEAST, "not met"),
        (-0.5, 0.05, 0.05, AT_MOST, "met"),
        (0.0, 0.06, 0.05, AT_MOST, "undecided"),
        (0.06, 0.07, 0.05, AT_MOST, "not met"),
        (-0.05, 0.05, 0.05, WITHIN, "met"),
        (-0.06, 0.05, 0.05, WITHIN, "undecided"),
        (-0.2, 0.2, 0.05, WITHIN, "undecided"),
        (-0.2, -0.06, 0.05, WITHIN, "not met"),
        (0.06, 0.2, 0.05, WITHIN, "not met"),
        (None, None, 0.05, WITHIN, "undecided"),
    ],
)
def test_verdicts(low: float, high: float, tolerance: float, side: str, verdict: str) -> None:
    assert decide_verdict(low, high, tolerance, side) == verdict


def test_bias_of_scores_is_a_t_interval_with_bonferroni() -> None:
    bias = cf.assess.score_bias(RUNS, COVID.qrels, JUDGES, "nDCG@10", confidence=0.9)
    people, llm = (
        cf.evaluate(RUNS, qrels, "nDCG@10")["nDCG@10"].values
        for qrels in (COVID.qrels, JUDGES["llm"])
    )
    for row, values in zip(bias.rows.to_dicts(), (llm - people).T, strict=True):
        level = 1 - 0.1 / len(RUNS)
        expected = stats.ttest_1samp(values, 0).confidence_interval(level)
        assert row["bias"] == pytest.approx(values.mean(), abs=1e-12)
        assert (row["low"], row["high"]) == pytest.approx(expected, abs=1e-12)
    # The table says what its bounds are.
    assert f"90% t interval of the bias over topics, simultaneous for {len(RUNS)} " in str(bias)


def test_required_topics_are_the_smallest_number() -> None:
    sd, distance, level = 0.31, 0.07, 0.95
    half = stats.t.ppf((1 + level) / 2, 24) * sd / 25**0.5
    smallest = next(
        n for n in count(2) if stats.t.ppf((1 + level) / 2, n - 1) * sd / n**0.5 < distance
    )
    assert compute_required_topics(half, 25, distance, level) == smallest
    assert compute_required_topics(half, 25, 0.0, level) is None


def test_decisions_have_the_numbers_of_the_results() -> None:
    comparison = cf.assess.compare_judges(COVID.qrels, JUDGES)
    rankings = cf.assess.judge_rankings(RUNS, COVID.qrels, JUDGES, "nDCG@10")
    families = {"llm": [RUNS[0].name]}
    preference = cf.assess.self_preference(RUNS, COVID.qrels, JUDGES, families)
    few = COVID.qrels.restrict(COVID.qrels.codes < 20)
    ppi = cf.assess.ppi_scores(RUNS, few, JUDGES["llm"], "nDCG@10")
    first, second = RUNS[1].name, RUNS[0].name
    pair = f"difference({first}, {second})"
    limits = {"kappa": 0.3, "tau": 0.5, "self-preference": 0.5, pair: 0}
    decisions = cf.assess.decide(limits, comparison, rankings, preference, ppi)
    kappa = comparison.tabulate_intervals().filter(statistic="kappa").row(0)[2:]
    tau = rankings.to_polars().select("tau", "tau low", "tau high").row(0)
    bias = preference.to_polars().select("bias", "low", "high").row(0)
    difference = (
        ppi.estimate_differences(second)
        .filter(system=first)
        .select("estimate", "low", "high")
        .row(0)
    )
    rows = decisions.to_polars().select("quantity", "estimate", "low", "high").rows()
    assert rows[:2] == [("kappa", *kappa), ("tau", *tau)]
    assert rows[2:] == [("self-preference", *bias), (pair, *difference)]
    verdicts = decisions.to_polars()["verdict"].to_list()
    assert verdicts[0] == (
        "met" if kappa[1] >= 0.3 else "not met" if kappa[2] < 0.3 else "undecided"
    )
    assert verdicts[3] == "undecided"
    assert decisions.verdict[3].startswith(f"{pair} of nDCG@10, judge judge: 0.0079 (95% interval")
    [note] = decisions.notes
    assert note.startswith(pair) and "lambda of the labels of judge" in note
    # With the same lambda, the difference of the means is the estimate, so there is no note.
    ppi = cf.assess.ppi_scores(RUNS, few, JUDGES["llm"], "nDCG@10", lambda_=0.5)
    fixed = cf.assess.decide({pair: 0}, ppi)
    means = dict(zip(ppi.systems, ppi.means.estimate, strict=True))
    assert fixed.rows["estimate"].to_list() == pytest.approx([means[first] - means[second]])
    assert not fixed.notes
    # The text of the scores of two systems has their difference.
    two = str(cf.assess.ppi_scores(RUNS[:2], few, JUDGES["llm"], "nDCG@10"))
    assert all(f"{value:.4f}" in two for value in difference)
    # Only undecided t intervals have a number of topics.
    assert "topics" not in decisions.to_polars().columns


def test_the_system_with_the_deciding_bias() -> None:
    bias = cf.assess.score_bias(RUNS, COVID.qrels, JUDGES, "nDCG@10")
    largest = bias.rows.sort(pl.col("bias").abs())["bias"][-1]
    [row] = cf.assess.decide({"score-bias": 1}, bias).to_polars().to_dicts()
    assert (row["estimate"], row["verdict"]) == (largest, "met")
    [row] = cf.assess.decide({"score-bias": 0}, bias).to_polars().to_dicts()
    assert row["verdict"] == "not met"
    # The number of topics decides all undecided systems, not only the named one.
    limit = float(np.abs(bias.rows["bias"].to_numpy()).max()) * 1.02
    decisions = cf.assess.decide({"score-bias": limit}, bias)
    sizes = [
        compute_required_topics(
            (high - low) / 2, len(COVID.qrels.topics), abs(abs(value) - limit), 1 - 0.05 / len(RUNS)
        )
        for value, low, high in bias.rows.select("bias", "low", "high").iter_rows()
        if low < -limit < high or low < limit < high
    ]
    [row] = decisions.to_polars().to_dicts()
    assert (row["verdict"], row["topics"]) == ("undecided", max(filter(None, sizes)))
    assert len(sizes) > 1 and "would be enough for all systems" in decisions.verdict[0]


def test_several_judges_have_one_sentence() -> None:
    judges = {f"j{k}": machine(k) for k in range(4)}
    decisions = cf.assess.decide({"kappa": 0.9}, cf.assess.compare_judges(COVID.qrels, judges))
    assert decisions.verdict == ("kappa: at least 0.9: not met for j0, j1, j2 and j3.",)


@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"kapa": 1}, "unknown quantity 'kapa' of a tolerance; did you mean kappa"),
        ({"difference": 1}, "unknown quantity 'difference' of a tolerance; did you mean"),
        ({"kappa": "-2%"}, "must be a number in the unit of the quantity, not a percentage, got"),
        ({"tau": 0.5}, "the tolerance of tau requires a result of judge_rankings"),
        ({"kappa": "high"}, "tolerance of kappa must be a number, got 'high'"),
        ({"kappa": 40}, "tolerance of kappa must be from -1 to 1, got '40'"),
        ({"agreement": 1.1}, "tolerance of agreement must be from -1 to 1"),
        ({"bias": -0.1}, "tolerance of bias must be at least 0, got '-0.1'"),
        ({"kappa 0|1": 0.5}, "undefined for these grades; expected one of: kappa, kappa 0|12"),
    ],
)
def test_refusals(limits: dict[str, float], reason: str) -> None:
    comparison = cf.assess.compare_judges(COVID.qrels, JUDGES)
    with pytest.raises(PolicyError) as error:
        cf.assess.decide(limits, comparison)
    assert reason in str(error.value)


def test_a_quantity_requires_the_result_that_contains_it() -> None:
    rankings = cf.assess.judge_rankings(RUNS, COVID.qrels, JUDGES, "nDCG@10")
    with pytest.raises(PolicyError, match="kappa requires a result of compare_judges"):
        cf.assess.decide({"kappa": 0.5}, rankings)


def test_tolerances_at_the_bounds_are_accepted() -> None:
    limits = {"kappa": 1.0, "alpha": -1.0, "bias": 3.0}
    assert check_tolerances(limits, ["intervals"]) == limits
    numbers = {"score-bias": 40.0, "self-preference": -40.0, "difference(a, b)": 40.0}
    assert check_tolerances(numbers, ["score-bias", "self-preference", "ppi"]) == numbers


def test_a_difference_requires_two_systems() -> None:
    few = COVID.qrels.restrict(COVID.qrels.codes < 20)
    ppi = cf.assess.ppi_scores(RUNS, few, JUDGES["llm"], "nDCG@10")
    for text in ("x, y", RUNS[0].name, f"{RUNS[0].name}, {RUNS[0].name}"):
        with pytest.raises(PolicyError, match="requires two systems of"):
            cf.assess.decide({f"difference({text})": 0}, ppi)
