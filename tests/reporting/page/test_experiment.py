"""The page of an experiment: the sample ratio first, the numbers of the report, any names."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.online import ExperimentReport
from cranfield.reporting import charts
from tests.reporting.charts.drawn import HOSTILE, rows_with, spec_of
from tests.reporting.page.reading import Page


def experiment(
    variants: tuple[str, ...] = ("control", "treatment"),
    metrics: tuple[str, ...] = ("m",),
    lift: float = 0.5,
    **options: Any,
) -> ExperimentReport:
    """Analyse 100 units a variant, of which each metric is higher in the others than the first."""
    draw = np.random.default_rng(6)
    arm = np.tile(np.arange(len(variants)), 100)
    columns = {
        f"c{k}": draw.normal(1, 0.3, arm.size) + lift * (arm > 0) for k in range(len(metrics))
    }
    table = {
        "variant": [variants[k] for k in arm],
        "level": np.repeat(["<b>x</b>", "y"], arm.size // 2).tolist(),
    }
    asked = dict(zip(metrics, columns, strict=True))
    return cf.online.analyse_experiment({**table, **columns}, asked, control=variants[0], **options)


def read(found: ExperimentReport, folder: Path, **options: Any) -> Page:
    return Page(cf.report(found, folder / "experiment.html", **options).read_text())


def words(page: Page) -> str:
    return " ".join(text for inside, text in page.texts if "style" not in inside)


def test_the_page_says_what_the_report_says(tmp_path: Path) -> None:
    found = experiment(metrics=("revenue", "clicks"), segments=["level"])
    page = read(found, tmp_path, command=["cranfield", "online", "a b"], date="today")
    said = words(page)
    assert "Experiment report" in said
    assert "treatment is better on revenue" in said
    for k in range(2):
        for value in (found.means[k, 1], found.difference[k, 0], found.low[k, 0]):
            assert f"{value:.4f}" in said
        assert f"{found.lift[k, 0]:+.2%}" in said
    assert "No sample ratio mismatch: control 100 : treatment 100" in said
    assert "cranfield online 'a b'" in said
    assert "Effects at each level" in said
    assert found.segments is not None
    assert all(f"{lift:+.2%}" in said for lift in found.segments["lift"])
    assert "<b>x</b>" in said
    assert page.html.count("<b>") == 0
    # The first screen has one sentence on the sample ratio, and a chart with all lifts.
    opening = said[: said.index("Sample ratio", said.index("expected 0.5 : 0.5"))]
    assert "expected proportion" not in opening
    assert "\\n" not in said
    for lift in found.lift.ravel():
        assert f"{100 * lift:+.1f}%" in opening


def test_the_margin_and_its_test_are_on_the_page(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    table = {"variant": ["control", "new"] * 200, "wait": random.normal(10, 1, 400)}
    metric = cf.online.Metric("wait", margin="2%", better="lower")
    found = cf.online.analyse_experiment(table, {"wait": metric})
    said = words(read(found, tmp_path))
    assert f"{found.noninferiority_pvalues[0, 0]:.3g}" in said
    assert "wait is worse (higher) by at least 2% of the mean of the control" in said
    plain_table = cf.online.analyse_experiment(table, ["wait"])
    assert "noninferiority p" not in words(read(plain_table, tmp_path))


@pytest.mark.parametrize(
    ("margin", "verdict", "expected"),
    [
        ("0.1%", "undecided", "on wait (not shown to be within the margin of 0.1%)"),
        ("50%", "not worse", "not worse, within the margin, on wait (50%)"),
        (None, "undecided", "on wait."),
        ("6%", "worse", "worse on wait (+5.3%, not shown to be within the margin of 6%) than"),
        (0.9, "worse", "worse on wait (+5.3%, but by less than the margin of 0.9) than"),
        (None, "worse", "worse on wait (+5.3%) than"),
        ("1%", "better", "better on wait (-4.7%) than"),
    ],
)
def test_losses_are_compared_with_the_margin(
    tmp_path: Path, margin: float | str | None, verdict: str, expected: str
) -> None:
    random = np.random.default_rng(3)
    wait = random.normal(10, 1, 400)
    wait[1::2] += {"worse": 0.5, "better": -0.5}.get(verdict, 0)
    table = {"variant": ["control", "new"] * 200, "wait": wait}
    metric = cf.online.Metric("wait", margin=margin, better="lower")
    found = cf.online.analyse_experiment(table, {"wait": metric})
    assert found.verdicts == ((verdict,),)
    is_missed = "not shown" in expected
    assert found.misses_margin().tolist() == [[is_missed]]
    # The sentences agree with the one-sided test.
    pvalue = found.noninferiority_pvalues[0, 0]
    assert is_missed == (margin is not None and verdict != "better" and not pvalue <= 0.025)
    assert (f"not shown to be within the margin of {margin}" in str(found)) == is_missed
    assert ("but by less than the margin" in str(found)) == ("but by less" in expected)
    assert expected in words(read(found, tmp_path))


@pytest.mark.parametrize(
    ("unit", "units"),
    [
        ("user_id", "200 users"),
        ("query", "200 queries"),
        ("userId", "200 users"),
        ("idea", "200 ideas"),
    ],
)
def test_units_on_the_page_have_a_plural(tmp_path: Path, unit: str, units: str) -> None:
    table = {"variant": ["a", "b"] * 100, "x": np.arange(200) % 7, unit: np.arange(200)}
    found = cf.online.analyse_experiment(table, "x", unit=unit)
    said = words(read(found, tmp_path, title="Ship?"))
    assert units in said and "user_ids" not in said and "querys" not in said and "Ship?" in said


def test_no_verdict_while_the_sample_ratio_fails(tmp_path: Path) -> None:
    found = experiment(weights={"control": 0.9, "treatment": 0.1})
    assert found.is_stopped
    page = read(found, tmp_path)
    said = words(page)
    assert "No verdict: sample ratio mismatch" in said
    assert "SAMPLE RATIO MISMATCH: control 100 : treatment 100, expected 0.9 : 0.1" in said
    assert said.index("SAMPLE RATIO MISMATCH") < said.index("Metrics by variant")
    assert "better" not in said
    assert "confidence intervals, each" not in said
    assert "Confidence intervals: unadjusted" not in said
    assert "<svg" not in page.html
    chart = charts.experiment_chart(found)
    assert "SAMPLE RATIO MISMATCH" in str(spec_of(chart)["title"])
    [row] = rows_with(chart, "metric", "lift")
    assert (row["verdict"], row["low"], row["p"]) == ("no verdict", None, None)


@pytest.mark.parametrize(
    ("correction", "words_of_intervals"),
    [("holm", "unadjusted, each for its row alone"), ("bonferroni", "simultaneous.")],
)
def test_the_page_says_what_intervals_hold_for(
    tmp_path: Path, correction: str, words_of_intervals: str
) -> None:
    said = words(read(experiment(metrics=("m", "n"), correction=correction), tmp_path))
    assert f"Confidence intervals: {words_of_intervals}" in said


def test_worse_lifts_have_another_colour(tmp_path: Path) -> None:
    html = read(experiment(lift=-0.5), tmp_path).html
    assert '<g class="worse"' in html
    assert '<g class="top"' not in html
    assert '<g class="top"' in read(experiment(), tmp_path).html


def test_nothing_found_is_said(tmp_path: Path) -> None:
    said = words(read(experiment(lift=0.0), tmp_path))
    assert "No significant difference between treatment and control on m." in said


def test_looks_are_drawn_and_listed(tmp_path: Path) -> None:
    found = experiment(sequential="CS(tuned=100)", looks=[50, 100, 150])
    page = read(found, tmp_path)
    assert found.looks is not None
    [band] = page.all("polygon")
    assert len((band["points"] or "").split()) == 2 * found.looks.height
    said = words(page)
    assert "confidence intervals and p-values are valid at all looks" in said
    for value in found.looks["low"]:
        assert f"{value:.4f}" in said
    chart = charts.sequence_chart(found)
    rows = rows_with(chart, "units", "difference")
    assert [row["low"] for row in rows] == found.looks["low"].to_list()
    spec_of(chart)
    with pytest.raises(cf.PolicyError, match="unknown metric 'x'; expected one of: m"):
        charts.sequence_chart(found, "x")
    with pytest.raises(cf.CranfieldError, match="table of looks, got none"):
        charts.sequence_chart(experiment())


def test_the_chart_has_the_lifts_of_the_report() -> None:
    found = experiment(("a", "b", "c"), ("revenue", "clicks"))
    chart = charts.experiment_chart(found)
    spec_of(chart)
    rows = rows_with(chart, "metric", "lift")
    assert [row["metric"] for row in rows] == [
        f"{metric}: {variant}" for metric in ("revenue", "clicks") for variant in "bc"
    ]
    assert [row["lift"] for row in rows] == found.lift.ravel().tolist()
    assert [row["high"] for row in rows] == found.lift_high.ravel().tolist()
    assert {row["verdict"] for row in rows} == {"better"}


@pytest.mark.filterwarnings("ignore:.*differ only in case")
def test_names_are_text(tmp_path: Path) -> None:
    names = tuple(name for name in HOSTILE if name.strip())
    found = experiment(names, names[:2], sequential="CS(tuned=100)", looks=[300])
    page = read(found, tmp_path, title="<script>alert(2)</script>")
    assert page.all("script") == []
    assert page.all("img") == []
    assert not re.search(r"\son\w+=", re.sub(r"&lt;.*?&gt;", "", page.html))
    assert "&lt;img src=x onerror=alert(1)&gt;" in page.html
    for chart in (charts.experiment_chart(found), charts.sequence_chart(found)):
        spec_of(chart)


def test_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    page = read(experiment(), tmp_path)
    assert "default-src 'none'" in page.policy
    assert "script-src" not in page.policy
    assert re.findall(r"(?:https?:)?//", page.html.replace("<!doctype", "")) == []
    assert all(link["href"] == "data:," for link in page.all("link"))
    assert all((link["href"] or "").startswith("#") for link in page.all("a"))


def test_the_same_bytes_again(tmp_path: Path) -> None:
    assert read(experiment(), tmp_path).html == read(experiment(), tmp_path).html


def test_what_is_odd_in_a_log_is_told(tmp_path: Path) -> None:
    log = cf.online.simulated_log()
    odd = dataclasses.replace(
        log, anomalies={"clicks without a known result": 3, "pages recorded twice": 0}
    )
    said = words(read(cf.online.analyse_experiment(odd, ["CTR"]), tmp_path))
    assert "3 clicks without a known result." in said
    assert "pages recorded twice" not in said


def test_options_of_comparisons_are_refused(tmp_path: Path) -> None:
    with pytest.raises(cf.PolicyError, match="alpha cannot be combined with an experiment"):
        cf.report(experiment(), tmp_path / "x.html", alpha=0.1)
    assert not (tmp_path / "x.html").exists()
