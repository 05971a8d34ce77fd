"""The page of a sheet: whole, silent, and any text is text; and the same as text."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.campaign.pages import render, write_files
from cranfield.campaign.results.leaderboard import compare_pairs
from cranfield.campaign.results.overview import (
    make_charts,
    make_leaderboard_table,
    make_overview,
    make_overview_page,
)
from cranfield.campaign.results.sheet import Sheet, make_sheet_values
from cranfield.campaign.results.sheet_making import make_index_and_sheets, make_sheet_page
from cranfield.reporting.page.html import hash_source
from tests.campaign.results.sheets import made
from tests.reporting.page.reading import Page

HOSTILE = "<img src=x onerror=alert(1)>\"'&{{style}}\x1b[31m\u202e]]>"


def hostile() -> Sheet:
    one = made.sheets()[0]
    rows = tuple(replace(row, topic=HOSTILE + row.topic) for row in one.by_topic)
    assert one.category is not None
    names = ("campaign_title", "task_title", "judgments", "tag", "team", "team_name", "type")
    texts: dict[str, Any] = dict.fromkeys(names, HOSTILE)
    return replace(
        one,
        **texts,
        description=HOSTILE,
        metadata=f"{HOSTILE}\n  a: 1\n",
        answers={HOSTILE: HOSTILE},
        warnings=(HOSTILE,),
        received=HOSTILE,
        sha256=HOSTILE,
        measure=HOSTILE,
        measures={HOSTILE: 0.5},
        by_topic=rows,
        category=replace(one.category, key=HOSTILE, value=HOSTILE),
        comparison=replace(one.comparison, names=(HOSTILE,), groups=HOSTILE, verdict=(HOSTILE,)),
    )


def test_any_text_is_text() -> None:
    page = Page(make_sheet_page(hostile()))
    assert page.all("img") == page.all("script") == []
    # In no element but a title of a name.
    names = {name for _, attributes in page.elements for name in attributes}
    assert not {name for name in names if name.startswith("on")}
    assert "&lt;img src=x onerror=alert(1)&gt;" in page.html
    assert "\x1b" not in page.html
    assert "\u202e" not in page.html
    assert r"\x1b[31m" in page.shown
    text = hostile().to_text()
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_no_request_and_no_script() -> None:
    page = Page(make_sheet_page(made.sheets()[5]))
    assert "script-src" not in page.policy
    assert page.policy.startswith(f"default-src 'none'; style-src '{hash_source(page.style)}';")
    assert "style" not in {name for _, attributes in page.elements for name in attributes}
    links = [str(one["href"]) for one in page.all("a") + page.all("link")]
    assert all(link.startswith(("#", "data:,")) for link in links)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len({*ids})
    assert {link[1:] for link in links if link.startswith("#")} <= {*ids}
    assert re.findall(r"(?:https?:)?//", page.html) == []


def test_each_picture_has_its_numbers_in_a_table() -> None:
    sheet = made.sheets()[5]
    page = Page(make_sheet_page(sheet))
    assert all(one.get("role") == "img" or one.get("aria-hidden") for one in page.all("svg"))
    captions = [text for inside, text in page.texts if inside[-1:] == ("caption",)]
    assert "Interpolated precision at levels of recall" in captions
    for row in sheet.by_topic:
        assert f"{row.score:.4f}" in page.shown
        assert f"{row.rank} of {sheet.category.n_runs if sheet.category else 0}" in page.shown
    # One bar a topic that differs from the median, drawn twice: for wide and narrow screens.
    bars = [str(one.get("d")) for one in page.all("path") if one.get("class") != "grid"]
    apart = sum(row.score != row.median for row in sheet.by_topic)
    assert sum(one.count("z") for one in bars) == 2 * apart


def test_what_is_not_there_is_not_shown() -> None:
    bare = tuple(
        replace(row, best=None, median=None, worst=None, rank=None, score=None)
        for row in made.sheets()[0].by_topic
    )
    sheet = replace(
        made.sheets()[0],
        category=None,
        median_precision=(),
        by_topic=bare,
        comparison=replace(
            made.sheets()[0].comparison, names=None, not_compared="there is only one run"
        ),
        precision_at_recall=(None,) * 11,
        r_precision=None,
    )
    page = Page(make_sheet_page(sheet))
    assert "too few other runs" in page.shown
    assert "Runs are not compared: there is only one run." in page.shown
    assert "differences" not in [one.get("id") for one in page.all("section")]
    assert "nan" not in page.shown.lower()
    assert "nan" not in sheet.to_text().lower()


def test_the_body_is_part_of_the_page() -> None:
    sheet = made.sheets()[3]
    assert render("sheet_body.html", **make_sheet_values(sheet)) in make_sheet_page(sheet)


@pytest.mark.parametrize("sheet", made.sheets()[:3], ids=lambda one: one.tag)
def test_text_and_page_say_the_same(sheet: Sheet) -> None:
    page, text = Page(make_sheet_page(sheet)).shown, sheet.to_text()
    for value in (sheet.average_precision, *sheet.precision_at_recall, *sheet.measures.values()):
        assert f"{value:.4f}" in page
        assert f"{value:.4f}" in text
    for line in sheet.comparison.verdict:
        assert line in page
        assert line in text
    for name in sheet.comparison.names or ():
        assert name in page
        assert name in text


def test_hidden_others_are_not_named() -> None:
    for sheet in made.sheets(others="hidden"):
        assert sheet.comparison.names is None
        shown = make_sheet_page(sheet) + sheet.to_text() + sheet.to_json()
        for run in made.submissions():
            if run.tag != sheet.tag and run.tag not in sheet.tag and len(run.tag) > 5:
                assert run.tag not in shown.replace(sheet.tag, ""), (sheet.tag, run.tag)


def test_pages_of_a_task_lead_to_each_other(tmp_path: Path) -> None:
    files = dict(make_index_and_sheets(made.sheets()))
    made_files = write_files(tmp_path / "out", files)
    assert len(made_files) == 1 + 3 * len(made.sheets())
    index = Page((tmp_path / "out/index.html").read_text())
    links = [str(one["href"]) for one in index.all("a") if not str(one["href"]).startswith("#")]
    assert len(links) == len(made.sheets())
    assert all((tmp_path / "out" / link).is_file() for link in links)
    for sheet in made.sheets():
        text = (tmp_path / "out/runs" / f"{sheet.tag}.json").read_text()
        assert Sheet.from_json(text) == sheet


def test_any_name_is_text_in_an_overview() -> None:
    topics = [f"{HOSTILE}{k}" for k in range(4)]
    qrels = {topic: {"d0": 1, "d1": 1} for topic in topics}
    draw = np.random.default_rng(1)
    runs = {
        f"{HOSTILE}{k}": {topic: {f"d{d}": draw.random() for d in range(4)} for topic in topics}
        for k in range(3)
    }
    ev = cf.evaluate(runs, qrels, ["AP", "P@2"])
    handed = [made.submission(k, tag, HOSTILE, HOSTILE) for k, tag in enumerate(runs)]
    found = make_overview(ev, handed, made.TASK, title=HOSTILE, judgments=HOSTILE)
    page = Page(make_overview_page(found, {"scores": b"<svg/>"}, ["svg"]))
    assert page.all("script") == []
    assert [str(one["src"])[:26] for one in page.all("img")] == ["data:image/svg+xml;base64,"]
    assert "\x1b" not in page.html
    assert r"\textless{}img" in make_leaderboard_table(found).to_latex(caption=True, long=True)


def test_topics_without_a_score_are_not_equal_to_the_median() -> None:
    sheet = next(one for one in made.sheets() if one.category is not None)
    first, second, *others = sheet.by_topic
    topics = (replace(first, score=None), replace(second, score=second.median), *others)
    values = make_sheet_values(replace(sheet, by_topic=topics))
    signs = [np.sign(row.minus_median) for row in topics if row.minus_median is not None]
    assert (values["n_better"], values["n_worse"], values["n_equal"]) == tuple(
        signs.count(sign) for sign in (1, -1, 0)
    )
    assert values["n_equal"] > 0


def test_charts_show_the_comparison_of_the_leaderboard(monkeypatch: pytest.MonkeyPatch) -> None:
    # A missing score must not count as 0, the best score, where lower is better.
    values = np.random.default_rng(1).random((20, 3))
    values[0, 0] = np.nan
    topics, systems = tuple(map(str, range(20))), ("a", "b", "c")
    scores = cf.Scores(values, topics, systems, "latency", lower_is_better=True)
    leaderboard = SimpleNamespace(measures=["latency"], separation=True)
    overview: Any = SimpleNamespace(evaluation={"latency": scores}, leaderboard=leaderboard)
    drawn: list[Any] = []
    monkeypatch.setattr("cranfield.reporting.charts.significance_matrix", drawn.append)
    assert "separation" in dict(make_charts(overview))
    assert drawn == [compare_pairs(scores)]
