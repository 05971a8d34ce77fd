"""Charts of judges: agreement, grade by grade, and self-preference."""

from __future__ import annotations

import numpy as np
import pytest

import cranfield as cf
from cranfield.reporting import charts
from tests.reporting.charts.drawn import HOSTILE, domain_of, rows_with, spec_of

TOPICS, DOCS = 6, 12


@pytest.fixture(scope="module")
def people() -> dict[str, dict[str, int]]:
    grades = np.random.default_rng(1).integers(0, 4, size=(TOPICS, DOCS))
    return {f"q{t}": {f"d{d}": int(g) for d, g in enumerate(row)} for t, row in enumerate(grades)}


def noisy(people: dict[str, dict[str, int]], most: int, seed: int) -> dict[str, dict[str, int]]:
    random = np.random.default_rng(seed)
    return {
        t: {d: int(np.clip(g + random.integers(-most, most + 1), 0, 3)) for d, g in docs.items()}
        for t, docs in people.items()
    }


def test_agreement_is_that_of_the_comparison(people: dict[str, dict[str, int]]) -> None:
    judges = {"wild": noisy(people, 3, 11), "close": noisy(people, 1, 12), "same": people}
    found = cf.assess.compare_judges(people, judges)
    chart = charts.judges_chart(found, ["kappa 01|23", "alpha", "bias"])
    spec_of(chart)
    assert domain_of(chart, "y") == ["same", "close", "wild"]
    frame = found.tabulate_intervals()
    for row in rows_with(chart, "judge", "statistic"):
        [(value, low, high)] = (
            frame.filter(judge=row["judge"], statistic=row["statistic"])
            .select("estimate", "low", "high")
            .rows()
        )
        assert (row["value"], row["low"], row["high"]) == (value, low, high)


def test_a_table_of_shares_for_each_judge(people: dict[str, dict[str, int]]) -> None:
    judges = {f"j{k}": noisy(people, 1 + k % 3, k) for k in range(6)}
    found = cf.assess.compare_judges(people, judges)
    spec = spec_of(charts.confusion_chart(found))
    assert [panel["title"] for panel in spec["concat"]] == list(judges)
    [rows] = spec_of(charts.confusion_chart(found, judges=["j2"]))["datasets"].values()
    shares = {(row["label"], row["grade"]): row["proportion"] for row in rows}
    table = found.tabulate_confusion("j2").drop("human grade").to_numpy()
    assert [shares[k, 1] for k in range(4)] == pytest.approx(table[1] / table.sum(axis=0))


def test_self_preference_is_drawn_by_its_sign(people: dict[str, dict[str, int]]) -> None:
    """Two systems: one ranks by grade, the other by the reverse; a judge loves either of them."""
    good = {t: {d: float(g) for d, g in docs.items()} for t, docs in people.items()}
    bad = {t: {d: -float(g) for d, g in docs.items()} for t, docs in people.items()}
    turned = {t: {d: 3 - g for d, g in docs.items()} for t, docs in people.items()}
    judges = {"turned": turned, "fair": people, "turned too": turned}
    families = {"turned": "bad", "fair": "good", "turned too": "good"}
    runs = {"good": good, "bad": bad}
    found = cf.assess.self_preference(runs, people, judges, families, ["nDCG@5", "P@5"])
    chart = charts.self_preference_chart(found, "P@5")
    spec_of(chart)
    assert domain_of(chart, "y") == ["turned", "fair", "turned too"]
    verdicts = {row["judge"]: row["verdict"] for row in rows_with(chart, "bias")}
    assert verdicts == {
        "turned": "favours its family",
        "fair": "no clear bias",
        "turned too": "disfavours its family",
    }


def test_names_of_any_kind(people: dict[str, dict[str, int]]) -> None:
    judges = {name: noisy(people, 2, k) for k, name in enumerate(HOSTILE)}
    found = cf.assess.compare_judges(people, judges)
    for chart in (charts.judges_chart(found), charts.confusion_chart(found)):
        spec_of(chart)
    assert len(set(domain_of(charts.judges_chart(found), "y"))) == len(HOSTILE)


def test_nothing_but_undefined_values() -> None:
    alike = {"q": {"a": 1, "b": 1}}
    found = cf.assess.compare_judges(alike, {"x": alike})
    for chart in (charts.judges_chart(found), charts.confusion_chart(found)):
        spec_of(chart)
