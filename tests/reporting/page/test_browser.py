"""The page in a real browser: it opens in silence, and does what it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.tabular import format_pvalue
from tests.reporting.page.opening import opened

HOSTILE = "<img src=x onerror=document.title='caught'>"
MEASURES = ["nDCG@10", "RR@10", "P@10"]


@pytest.fixture(scope="module")
def evaluation() -> cf.Evaluation:
    covid = cf.bundled.trec_covid()
    runs = {(HOSTILE if k == 2 else run.name): run for k, run in enumerate(covid.runs[:12])}
    return cf.evaluate(runs, covid.qrels, MEASURES)


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, evaluation: cf.Evaluation) -> Path:
    return cf.report(evaluation, tmp_path_factory.mktemp("report") / "report.html")


@pytest.fixture
def page(browser: Any, report: Path) -> Iterator[Any]:
    one = opened(browser, report, viewport={"width": 1280, "height": 900})
    yield one.page
    assert one.complaints == []
    assert [url for url in one.requests if not url.startswith("data:")] == [report.as_uri()]


def column(page: Any, place: int) -> list[str]:
    """The cells of a column of the table of systems, as far as they are shown."""
    rows = page.locator("#systems tbody tr:visible")
    return [str(text) for text in rows.locator(f":nth-child({place})").all_inner_texts() if text]


def systems(page: Any) -> list[str]:
    return [str(text) for text in page.locator("#systems tbody tr:visible th").all_inner_texts()]


def ranked(evaluation: cf.Evaluation, measure: str) -> list[str]:
    values = evaluation[measure].overall()
    return [evaluation.systems[k] for k in np.argsort(-values, kind="stable")]


def test_sorting(page: Any, evaluation: cf.Evaluation) -> None:
    assert systems(page) == ranked(evaluation, "nDCG@10")
    first, third = (page.locator(f"#systems thead th[data-sort='{k}']") for k in (0, 2))
    assert first.get_attribute("aria-sort") == "descending"
    page.get_by_role("button", name="P@10").click()
    assert systems(page) == ranked(evaluation, "P@10")
    assert third.get_attribute("aria-sort") == "descending"
    assert first.get_attribute("aria-sort") is None
    page.get_by_role("button", name="P@10").click()
    assert third.get_attribute("aria-sort") == "ascending"
    values = [float(text) for text in column(page, 6)]
    assert values == sorted(values)
    page.get_by_role("button", name="system", exact=True).click()
    assert systems(page) == sorted(evaluation.systems)


def test_filtering(page: Any, evaluation: cf.Evaluation) -> None:
    page.get_by_label("Filter systems by name").fill("UPRRF")
    found = [name for name in ranked(evaluation, "nDCG@10") if "uprrf" in name.lower()]
    assert systems(page) == found
    assert page.locator("#shown").inner_text() == f"{len(found)} of 12 systems"
    page.get_by_label("Filter systems by name").fill("<img")
    assert systems(page) == [HOSTILE]
    page.get_by_label("Filter systems by name").fill("")
    assert len(systems(page)) == 12


def test_one_measure_everywhere(page: Any, evaluation: cf.Evaluation) -> None:
    page.get_by_label("Measure", exact=True).select_option(label="RR@10")
    assert page.locator("#answer article:visible h3").all_inner_texts() == ["RR@10"]
    assert page.locator("#analysis .of-measure:visible h3").all_inner_texts() == ["RR@10"]
    assert systems(page) == ranked(evaluation, "RR@10")
    found = cf.compare(evaluation["RR@10"])
    groups = dict(
        zip(systems(page), page.locator("#systems td.groups").all_inner_texts(), strict=True)
    )
    assert groups == found.groups()
    assert "RR@10" in page.locator("#statement").inner_text()
    assert page.locator("#answer article:visible .plot g").count() == 12


def test_two_systems(page: Any, evaluation: cf.Evaluation) -> None:
    scores = evaluation["nDCG@10"]
    found = cf.compare(scores)
    # In the order of the table, and the other way round.
    for first, second in ((1, 7), (7, 1)):
        page.get_by_label("First system").select_option(label=evaluation.systems[first])
        page.get_by_label("Second system").select_option(label=evaluation.systems[second])
        k = int(np.flatnonzero((found.first == 1) & (found.second == 7))[0])
        sign = 1 if first == 1 else -1
        low, high = (float(limit[k]) for limit in found.interval)
        low, high = (low, high) if sign > 0 else (-high, -low)
        facts = dict(
            zip(
                page.locator("#facts dt").all_inner_texts(),
                page.locator("#facts dd").all_inner_texts(),
                strict=True,
            )
        )
        difference = scores.values[:, first] - scores.values[:, second]
        wins, losses = int((difference > 1e-12).sum()), int((difference < -1e-12).sum())
        n_ties = 50 - wins - losses
        assert facts == {
            "difference": minus(f"{sign * found.difference[k]:.4f}"),
            "95% confidence interval of the difference of means, all pairs simultaneously": minus(
                f"{low:.4f} to {high:.4f}"
            ),
            "p": format_pvalue(found.adjusted_pvalues[k]),
            "effect": minus(f"{sign * found.effect[k]:.2f}"),
            "order of means under any rescaling": "holds"
            if cf.meaningfulness(found).dominance.holds[k]
            else "may change",
            "topics won, lost and tied by the first system": f"{wins} / {losses} / {n_ties}",
        }
        order = np.argsort(-np.where(np.abs(difference) < 1e-12, 0, difference), kind="stable")
        topics = page.locator("#topics tbody th").all_inner_texts()
        assert topics == [evaluation.topics[t] for t in order]
        shown = page.locator("#topics tbody tr").first.locator("td").all_inner_texts()[1:]
        best = order[0]
        numbers = (scores.values[best, first], scores.values[best, second], difference[best])
        assert shown == [minus(f"{number:.4f}") for number in numbers]
    page.get_by_role("button", name="Swap").click()
    assert (
        page.get_by_label("First system").locator("option:checked").inner_text()
        == (evaluation.systems[1])
    )
    page.get_by_label("Second system").select_option(label=evaluation.systems[1])
    assert page.locator("#statement").inner_text() == "Choose two different systems."


def minus(text: str) -> str:
    return text.replace("-", "−")


def test_text_stays_text(page: Any) -> None:
    page.get_by_label("First system").select_option(label=HOSTILE)
    assert page.locator("img").count() == 0
    assert page.title() == "Evaluation report"
    assert HOSTILE in page.locator("#statement").inner_text()
    assert page.locator("#head-first").inner_text() == HOSTILE


def test_by_keyboard_alone(page: Any, evaluation: cf.Evaluation) -> None:
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        one = page.evaluate(
            "document.activeElement.id || document.activeElement.textContent.slice(0, 20)"
        )
        reached.add(one)
        if one == "measure":
            page.keyboard.press("ArrowDown")
        elif one == "filter":
            page.keyboard.type("UP")
        elif one == "P@10":
            page.keyboard.press("Enter")
        elif one == "swap":
            page.keyboard.press("Space")
        outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert outline != "none", one
    assert {"measure", "filter", "system", "nDCG@10", "P@10", "first", "second", "swap"} <= reached
    assert page.get_by_label("Measure", exact=True).input_value() == "1"
    assert systems(page) == [one for one in ranked(evaluation, "P@10") if "up" in one.lower()]


def test_numbers_as_in_python(page: Any, browser: Any, tmp_path: Path) -> None:
    # Halves that float exactly: the even neighbour is shown, as Python does.
    columns = [[0.03125, 0.09375, -0.00003, 0.5], [0.0, 0.0, 0.0, 0.0], [0.2, 0.1, 0.4, 0.3]]
    scores = cf.Scores(np.array(columns).T, tuple("1234"), tuple("abc"), measure="x")
    one = opened(browser, cf.report(scores, tmp_path / "r.html"))
    one.page.get_by_label("First system").select_option("0")
    one.page.get_by_label("Second system").select_option("1")
    rows = one.page.locator("#topics tbody tr")
    shown = [rows.nth(k).locator("td").nth(1).inner_text() for k in range(4)]
    assert shown == ["0.5000", f"{0.09375:.4f}", f"{0.03125:.4f}", "0.0000"]


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_nothing_overflows(browser: Any, report: Path, width: int, scheme: str) -> None:
    one = opened(
        browser, report, viewport={"width": width, "height": 800}, color_scheme=scheme
    ).page
    assert one.evaluate("document.documentElement.scrollWidth") == width
    contrast = one.evaluate(CONTRAST)
    assert contrast
    assert {kind: found for kind, found in contrast.items() if found < 4.5} == {}


CONTRAST = """() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (text) => {
    const [r, g, b] = parts(text).map((c) => c / 255)
      .map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (one) => {
    for (let at = one; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if ((parts(colour)[3] ?? 1) > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = {};
  const chosen = "h1, h2, h3, p, a:not(.skip), label, dt, dd, th, td, caption, summary, button,"
    + " li, select, code, th.diverging span";
  for (const one of document.querySelectorAll(chosen)) {
    const [a, b] = [light(getComputedStyle(one).color), light(behind(one))];
    const key = `${one.tagName}.${one.className}`;
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    found[key] = Math.min(found[key] ?? 99, ratio);
  }
  return found;
}"""


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 800)])
def test_an_experiment_opens_with_its_lifts(
    browser: Any, tmp_path: Path, width: int, height: int
) -> None:
    log = cf.online.simulated_log()
    found = cf.online.analyse_experiment(log, ["CTR", "ClickRR", "Abandonment"])
    viewport = {"width": width, "height": height}
    one = opened(browser, cf.report(found, tmp_path / "experiment.html"), viewport=viewport)
    assert one.page.evaluate("document.scrollingElement.scrollWidth") == width
    chart = one.page.locator("#answer .intervals").bounding_box()
    assert chart["y"] + chart["height"] <= height
    shown = one.page.locator("#answer .values text").all_text_contents()
    assert shown == [minus(f"{100 * lift:+.1f}%") for lift in found.lift.ravel()]
    if width == 1280:
        for box in one.page.locator(".box").all():
            assert box.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_without_scripts(browser: Any, report: Path, evaluation: cf.Evaluation) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("#answer article:visible").count() == 3
    assert page.locator("#analysis .of-measure:visible").count() == 3
    assert systems(page) == ranked(evaluation, "nDCG@10")
    assert page.locator(".js-only:visible").count() == 0
    assert "Without JavaScript" in page.locator("header").inner_text()
    context.close()


def test_with_a_baseline(browser: Any, evaluation: cf.Evaluation, tmp_path: Path) -> None:
    base = evaluation.systems[5]
    path = cf.report(evaluation, tmp_path / "r.html", baseline=base, scales=False)
    one = opened(browser, path)
    assert one.page.get_by_label("Second system").locator("option:checked").inner_text() == base
    one.page.get_by_label("Second system").select_option(label=evaluation.systems[0])
    one.page.get_by_label("First system").select_option(label=evaluation.systems[1])
    assert "only differences from the baseline" in one.page.locator("#statement").inner_text()
    assert one.page.locator("#systems td.groups", has_text="baseline").count() == 1
    assert one.complaints == []


def test_on_paper(browser: Any, report: Path) -> None:
    one = opened(browser, report)
    one.page.emulate_media(media="print")
    assert one.page.locator("#answer article:visible").count() == 3
    assert not one.page.locator("nav").is_visible()
    assert len(one.page.pdf(format="A4")) > 10_000
    assert one.complaints == []


def test_very_many_topics(browser: Any, tmp_path: Path) -> None:
    values = np.random.default_rng(2).random((1200, 2))
    scores = cf.Scores(values, tuple(map(str, range(1200))), ("a", "b"), measure="m")
    one = opened(browser, cf.report(scores, tmp_path / "r.html")).page
    assert one.locator("#topics tbody tr").count() == 1001
    assert one.get_by_text("… 200 topics in between").count() == 1


def of_pair(page: Any) -> tuple[str, list[list[str]]]:
    rows = page.locator("#topics tbody tr:visible").all()
    found = [[str(one) for one in row.locator("th, td").all_inner_texts()] for row in rows]
    return str(page.locator("#statement").inner_text()), found


def test_scores_that_are_missing_or_infinite(browser: Any, tmp_path: Path) -> None:
    values = np.array([[0.1, 0.5], [np.nan, 0.5], [0.3, np.nan], [0.2, 0.1], [np.inf, 0.2]])
    scores = cf.Scores(values, tuple("12345"), ("a", "b"), measure="x")
    with pytest.warns(cf.CranfieldWarning, match="not compared"):
        path = cf.report(scores, tmp_path / "r.html")
    one = opened(browser, path)
    one.page.get_by_label("First system").select_option("0")
    one.page.get_by_label("Second system").select_option("1")
    said, rows = of_pair(one.page)
    assert "2 topics lack a score of one or both systems." in said
    assert "a has inf on x" in said
    assert [[row[0], *row[2:]] for row in rows] == [
        ["5", "inf", "0.2000", "inf"],
        ["4", "0.2000", "0.1000", "0.1000"],
        ["1", "0.1000", "0.5000", "−0.4000"],
    ]
    widths = [str(rod.get_attribute("style")) for rod in one.page.locator("#topics .rod").all()]
    assert [float(text.split(":")[1].strip(" %;")) for text in widths] == [100, 25, 100]
    assert "inf" in one.page.locator("#systems").inner_text()
    one.page.get_by_label("Second system").select_option("0")
    assert of_pair(one.page) == ("Choose two different systems.", [])
    assert one.page.locator("#facts dt").count() == 0


def test_lower_is_better(browser: Any, tmp_path: Path) -> None:
    values = np.random.default_rng(5).random((10, 2)) + [0, 2]
    scores = cf.Scores(values, tuple("0123456789"), ("a", "b"), "x", lower_is_better=True)
    page = opened(browser, cf.report(scores, tmp_path / "r.html")).page
    page.get_by_label("First system").select_option("0")
    page.get_by_label("Second system").select_option("1")
    assert "a is better (lower is better)" in page.locator("#statement").inner_text()
    assert page.locator("#topics .left .rod.for-first").count() == 10
    assert page.locator("#head-left").inner_text() == "first better (lower)"
    assert "difference (negative: the first is better)" in page.locator("#facts").inner_text()
    differences = [
        float(text.replace("−", "-"))
        for text in page.locator("#topics tbody td:last-child").all_inner_texts()
    ]
    assert differences == sorted(differences)
    names = page.locator("#systems tbody th").all_inner_texts()
    assert [name.strip() for name in names] == ["a", "b"]


def test_no_hit_and_long_names(browser: Any, tmp_path: Path) -> None:
    values = np.random.default_rng(5).random((10, 3))
    names = ("x" * 300, "bm25", "dense")
    found = [cf.Scores(values, tuple("0123456789"), names, f"m{k}") for k in range(10)]
    path = cf.report(found, tmp_path / "r.html")
    page = opened(browser, path, viewport={"width": 390, "height": 800}).page
    long = page.locator("#systems .name", has_text="x" * 300)
    assert long.get_attribute("title") == "x" * 300
    assert long.bounding_box()["height"] < 120
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    # The chosen measure, and the bars of a pair, are in sight.
    page.get_by_label("Measure", exact=True).select_option(label="m7")
    for place in ("#systems tbody tr:first-child td.chosen", "#topics tbody td.diverging >> nth=0"):
        box = page.locator(place).bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 390
    page.set_viewport_size({"width": 1280, "height": 800})
    # The columns go back to their places when the page is told of its width.
    third = page.locator("#systems thead th:nth-child(3)", has_text="m0")
    third.wait_for(timeout=10_000)
    assert third.inner_text().strip() == "m0"
    page.get_by_label("Filter systems by name").fill("zzz")
    assert page.locator("#shown").inner_text() == "no name contains this text"
    assert not page.locator("#systems thead").is_visible()


def test_a_pair_without_limits_and_the_name_of_its_difference(browser: Any, tmp_path: Path) -> None:
    scores = {
        "bm25": [0.31, 0.12, 0.58, 0.44, 0.27, 0.65],
        "dense": [0.39, 0.10, 0.66, 0.47, 0.41, 0.70],
        "fused": [0.42, 0.16, 0.71, 0.45, 0.46, 0.70],
    }
    facts = {}
    for statistic in ("mean", "geometric-mean"):
        found = cf.compare(scores, test="t", baseline="bm25", statistic=statistic)
        one = opened(browser, cf.report(found, tmp_path / f"{statistic}.html"))
        one.page.get_by_label("Second system").select_option(label="bm25")
        for name in ("dense", "fused"):
            one.page.get_by_label("First system").select_option(label=name)
            facts[statistic, name] = dict(
                zip(
                    one.page.locator("#facts dt").all_inner_texts(),
                    one.page.locator("#facts dd").all_inner_texts(),
                    strict=True,
                )
            )
            low, high = found[name, "bm25"].interval
            limits = next(
                v for k, v in facts[statistic, name].items() if "confidence interval" in k
            )
            expected = "none: it would contradict the decision of the test"
            assert limits == (expected if np.isnan(low) else minus(f"{low:.4f} to {high:.4f}"))
        assert one.complaints == []
    limits = [v for one in facts.values() for k, v in one.items() if "confidence interval" in k]
    assert any(one.startswith("none") for one in limits) and " to " in "".join(limits)
    assert "difference" in facts["mean", "dense"]
    assert "log ratio of geometric means" in facts["geometric-mean", "dense"]
