"""What studies say first, held against their tables."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest

import cranfield as cf
from cranfield import meta
from cranfield.meta.study import STUDIES
from cranfield.result import Result, combine_results
from tests.meta.studies import COVID, PREFERRED, RUNS, SCORED, STUDIED, studied


@pytest.fixture(scope="module", params=STUDIED)
def study(request: pytest.FixtureRequest) -> Result:
    return studied(request.param)


def test_a_verdict_comes_first_and_is_short(study: Result) -> None:
    assert isinstance(study, STUDIES[study.name])
    assert 1 <= len(study.verdict) <= 3
    said = " ".join(study.verdict)
    assert not re.search(
        r"\b(nan|None|inf|null)\b|(?<!to )\b1 (systems|topics|pairs|repeats)\b", said
    )
    assert all(line[-1] == "." for line in study.verdict)
    assert combine_results(study).write("text").startswith(said)


def _has(study: Result, *parts: str) -> None:
    said = " ".join(study.verdict)
    for part in parts:
        assert part in said, (part, said)


def test_power_of_tests() -> None:
    study: Any = studied("power-of-tests")
    differ = study.by_repeat.filter(pl.col("range") > 0)
    found = {
        name: rows["right"].sum() / rows["pairs"].sum()
        for (name,), rows in differ.group_by("test", maintain_order=True)
    }
    best, least = (choose(found, key=found.__getitem__) for choose in (max, min))
    _has(
        study,
        f"on 50 topics most true differences detected: {best}, {100 * found[best]:.1f}% of",
        f"fewest: {least}, {100 * found[least]:.1f}%.",
    )


def test_predictive_power() -> None:
    study: Any = studied("predictive-power")
    values = {name: SCORED[name].values for name in study.measures}
    place = {name: k for k, name in enumerate(SCORED["AP"].topics)}
    right = {}
    for name, table in values.items():
        signs = [
            np.sign(table[place[row["topic"]], 0] - table[place[row["topic"]], 1])
            * {1: 1, 2: -1}[row["preferred"]]
            for row in PREFERRED.to_dicts()
            if row["preferred"]
        ]
        right[name] = sum(sign > 0 for sign in signs)
    best, least = max(right.values()), min(right.values())
    _has(
        study,
        f"Most human preferences predicted: AP, {best} of 48, {100 * best / 48:.1f}%",
        f"fewest: RR, {100 * least / 48:.1f}%.",
    )
    assert [name for name in right if right[name] == best] == ["AP"]
    assert [name for name in right if right[name] == least] == ["RR"]


def _said(study: Result) -> str:
    return " ".join(study.verdict)


def test_ties_are_named_together() -> None:
    """Two measures find the same pairs, a third finds fewer."""
    weak = SCORED["RR"]
    power = meta.discriminative_power({"x": SCORED["AP"], "y": SCORED["AP"], "z": weak})
    counts = dict(power.summary.select("measure", "significant").iter_rows())
    assert counts["x"] == counts["y"] > counts["z"]
    lead = power.verdict[0]
    assert lead.startswith(f"Most significant differences: x and y, {counts['x']} of 15 pairs")
    assert lead.endswith(f"each; fewest: z, {counts['z']}.")
    same = meta.discriminative_power({"x": SCORED["AP"], "y": SCORED["AP"]})
    assert same.verdict[0].startswith("All 2 measures are equal in significant differences:")
    alike = _said(meta.correlate({"x": weak, "y": SCORED["AP"], "z": SCORED["AP"]}))
    assert "y/z (tau 1.00), least for x/y and x/z" in alike
    assert "x/y have tau 1.00." in _said(meta.correlate({"x": weak, "y": weak}))
    chosen = meta.predictive_power({"x": weak, "y": SCORED["AP"], "z": SCORED["AP"]}, PREFERRED)
    assert "Most human preferences predicted: y and z, 24 of 48" in _said(chosen)
    split = meta.split_topics(SCORED["AP"], ["t+none", "t+bh", "anova-2"], sizes=[20], repeats=3)
    rows = split.summary().filter(sets="1-2").filter(pl.col("first") == pl.col("second"))
    best = rows.filter(pl.col("AA") == rows["AA"].max())["first"].to_list()
    assert all(f"{name} (" in _said(split) for name in best)


def test_no_measure_is_ahead_where_none_is_more_concordant() -> None:
    """b orders the topics against a as often for the gold measure as against it."""
    gold = cf.read_scores({"s": {"1": 0.3, "2": 0.1}, "t": {"1": 0.2, "2": 0.2}})
    a = cf.read_scores({"s": {"1": 0.3, "2": 0.3}, "t": {"1": 0.2, "2": 0.2}})
    b = cf.read_scores({"s": {"1": 0.1, "2": 0.1}, "t": {"1": 0.2, "2": 0.2}})
    found = meta.concordance({"a": a, "b": b, "gold": gold}, "gold")
    [row] = found.pairs.rows(named=True)
    assert (row["first wins"], row["second wins"]) == (1, 1)
    assert "none agrees with gold more often than another" in _said(found)


def test_false_positives_name_all_tests_with_the_same_rate() -> None:
    found = meta.false_positives(SCORED["AP"], ["t+none", "t+bonferroni", "sign+none"], repeats=20)
    rows = found.summary().filter(size=max(found.sizes))
    highest = float(rows["FWER"].to_numpy().max())
    most = rows.filter(pl.col("FWER") == highest)["test"].to_list()
    assert f"highest for {' and '.join(most)}: {100 * highest:.1f}%" in _said(found)
    above = rows.filter(pl.col("low") > 0.05)["test"].to_list()
    assert f"{', '.join(above) or 'No test'} ha" in _said(found).replace(" and ", ", ")


def test_concordance() -> None:
    study: Any = studied("concordance")
    beaten = dict.fromkeys(study.measures, 0)
    for one in study.measures:
        for other in study.measures:
            wins = []
            for a, b in ((one, other), (other, one)):
                d1, d2, gold = (_differences(SCORED[name].values) for name in (a, b, "P@10"))
                wins.append(((d1 * d2 < 0) & (d1 * gold >= 0) & (d2 * gold < 0)).sum())
            beaten[one] += wins[0] > wins[1]
    most = max(beaten.values())
    best = [name for name, number in beaten.items() if number == most]
    _has(study, ", ".join(best), f"with P@10 more often than {most} of the 2 others.")


def _differences(values: Any) -> Any:
    one, other = np.triu_indices(values.shape[1], 1)
    found = values[:, one] - values[:, other]
    return np.where(np.abs(found) < 1e-12, 0, found)


def test_innate_orders() -> None:
    study: Any = studied("innate-orders")
    total = 50 * 15
    counts = {name: study.pairs[name].sum() for name in ("better", "worse", "same", "open")}
    assert sum(counts.values()) == total
    _has(
        study,
        f"In {100 * (counts['better'] + counts['worse']) / total:.1f}% of the pairs",
        f"in {100 * counts['open'] / total:.1f}%, measures may disagree",
        "No measure in this study contradicts such an order.",
    )


def test_facets() -> None:
    study: Any = studied("facets")
    shares = dict(study.components.select("source", "proportion").rows())
    assert max(shares, key=shares.__getitem__) == "topic"
    variances = dict(study.components.select("source", "variance").rows())
    noise = variances["system:topic"] / 50 + variances["error"] / study.n_cells
    relative = variances["system"] / (variances["system"] + noise)
    _has(
        study,
        f"{100 * shares['topic']:.1f}%, comes from differences between topics that are the same",
        f"{100 * shares['system']:.1f}% comes from differences between systems",
        f"is {relative:.2f} (1 if",
    )


def test_reproduction() -> None:
    study: Any = studied("reproduction")
    means = [float(np.mean(SCORED["AP"].values[:, k])) for k in range(4)]
    _has(
        study,
        f"By AP, the first of 2 measures, the baseline run has a mean of {means[1]:.4f}"
        f" (original {means[0]:.4f}",
        f"the advanced run has a mean of {means[3]:.4f} (original {means[2]:.4f}",
        f"The effect of {means[3] - means[1]:.4f} is"
        f" {(means[3] - means[1]) / (means[2] - means[0]):.2f} times (",
        f") the original effect of {means[2] - means[0]:.4f}.",
    )


def test_a_reproduced_loss_is_not_an_improvement() -> None:
    # Means .4 and .2; then .5 and .4.
    first = {"baseline": [0.3, 0.4, 0.5], "advanced": [0.1, 0.2, 0.3]}
    other = {"baseline": [0.4, 0.5, 0.6], "advanced": [0.2, 0.5, 0.5]}
    study = meta.reproduce_scores(first, other)
    _has(study, "The effect of -0.1000 is 0.50 times (", "the original effect of -0.2000.")
    assert "improvement" not in " ".join(study.verdict)


def test_a_reproduction_refers_to_evidence_that_it_has() -> None:
    first = {"baseline": [0.2, 0.4, 0.3], "advanced": [0.3, 0.6, 0.3]}
    other = {"baseline": [0.1, 0.4, 0.4], "advanced": [0.2, 0.5, 0.6]}
    one, repeated = ({"baseline": scores["baseline"]} for scores in (first, other))
    for study, evidence in (
        (meta.reproduce_scores(first, other), "; see the RMSE and the confidence interval."),
        (meta.reproduce_scores(one, repeated), "; see the RMSE."),
        (meta.replicate_scores(first, other), "; see the confidence interval."),
        (meta.replicate_scores(one, repeated), "are equally good."),
    ):
        assert study.verdict[1].endswith(evidence)


def test_extrapolation() -> None:
    study: Any = studied("extrapolation")
    found = cf.compare(SCORED["AP"], test="anova-2", correction="tukey")
    significant = int(np.sum(found.adjusted_pvalues <= 0.05))
    _has(study, f"of 15 pairs of systems, {significant} differ significantly on 50 topics")


def test_scales() -> None:
    study: Any = studied("scales")
    row = study.correlation.sort("overall").row(0, named=True)
    if row["overall"] < 1:
        _has(study, f"most with {row['measure']} at cutoff 5: Kendall's tau {row['overall']:.2f}")
    share = study.changes["changed % of all"].max()
    _has(study, f"changes up to {share:.1f}%" if share else "no decision on a pair")


def test_interleaving() -> None:
    study: Any = studied("interleaving")
    pairs = study.pairs.filter(pl.col("method") != "A/B").with_columns(
        pl.col("needed").fill_null(np.inf)
    )
    needed = pairs.group_by("user", "method").agg(pl.col("needed").median()).sort("needed")
    _has(study, f"user {needed['user'][0]}): {needed['needed'][0]:,.0f} impressions")


EQUAL = cf.read_scores({name: {"1": 0.2, "2": 0.4, "3": 0.3} for name in ("x", "y")})
TWO = cf.read_scores({"x": {"1": 0.2, "2": 0.4, "3": 0.1}, "y": {"1": 0.4, "2": 0.5, "3": 0.4}})
SMALL: dict[str, Callable[[], Result]] = {
    "power": lambda: meta.power_of_tests(TWO, ["t"], population="resampled", sizes=[3], repeats=1),
    "power, equal": lambda: meta.power_of_tests(
        EQUAL, ["sign"], population="resampled", sizes=[2], repeats=1
    ),
    "false positives": lambda: meta.false_positives(TWO, ["sign"], sizes=[2], repeats=1),
    "concordance": lambda: meta.concordance({"a": TWO, "b": EQUAL, "c": TWO}, "c"),
    "extrapolation": lambda: meta.extrapolate(TWO, [2]),
    "innate": lambda: meta.innate_orders(cf.judge(RUNS[:2], COVID.qrels), 1),
    "reproduction": lambda: meta.reproduce_scores(
        {"baseline": [0.1, 0.2]}, {"baseline": [0.1, 0.3]}
    ),
    "stability": lambda: meta.stability(TWO, sizes=[2], repeats=1),
    "generalizability": lambda: meta.generalizability(TWO),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_studies_say_nothing_odd(name: str) -> None:
    said = " ".join(SMALL[name]().verdict)
    assert not re.search(
        r"\b(nan|None|inf|null)\b|(?<!to )\b1 (systems|topics|pairs|repeats)\b", said
    ), said
