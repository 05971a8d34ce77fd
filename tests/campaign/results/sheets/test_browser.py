"""Sheets and overviews in a real browser: silent, and readable on a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cranfield.campaign.pages import write_files
from cranfield.campaign.results.sheet_making import index_and_sheets
from tests.campaign.results.sheets import made
from tests.campaign.results.sheets.conftest import Make
from tests.reporting.page.opening import opened

HEIGHTS = """all => all.map(one => parseFloat(getComputedStyle(one).fontSize)
    * one.ownerSVGElement.getScreenCTM().d)"""
"""Heights of letters in pictures, in pixels of the screen."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("sheets")
    write_files(target, dict(index_and_sheets(made.sheets()[:4])))
    return target


@pytest.mark.parametrize("width", [1280, 390])
def test_a_sheet_fits_and_is_silent(browser: Any, folder: Path, width: int) -> None:
    path = folder / "runs" / f"{made.sheets()[2].tag}.html"
    one = opened(browser, path, viewport={"width": width, "height": 844})
    assert one.page.evaluate("document.documentElement.scrollWidth") <= width
    bars = one.page.locator("svg.bars:visible")
    assert bars.count() == 1
    names = bars.locator("text").all_text_contents()
    assert {str(k) for k in range(1, 51)} <= {*names}
    # Letters are at least nine pixels high on any screen.
    assert min(one.page.locator("svg text:visible").evaluate_all(HEIGHTS)) > 9


def test_without_scripts_from_index_to_sheet(browser: Any, folder: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((folder / "index.html").as_uri())
    best = min(made.sheets()[:4], key=lambda one: one.comparison.rank)
    assert page.locator("tbody th a").first.inner_text() == best.tag
    page.locator("tbody th a").first.click()
    assert page.locator("h1").inner_text() == best.tag
    context.close()


def test_an_overview_is_silent(browser: Any, small: Make, tmp_path: Path) -> None:
    [page, *_] = small().overview(None, tmp_path / "over", forms=[])
    one = opened(browser, page, viewport={"width": 390, "height": 844})
    assert one.page.evaluate("document.documentElement.scrollWidth") <= 390
    assert one.page.locator("img").evaluate_all("all => all.every(one => one.naturalWidth > 0)")
    assert [url for url in one.requests if not url.startswith("data:")] == [page.as_uri()]
    assert one.complaints == []
