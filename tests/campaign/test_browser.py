"""The site, sheets and overviews in a real browser: silent, asking for nothing, by keyboard."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cranfield.campaign.pages import write_files
from cranfield.campaign.publishing.site import write_release_site
from cranfield.campaign.results.sheet_making import make_index_and_sheets
from tests.campaign.publishing.site.making import make_release
from tests.campaign.results.sheets import made
from tests.campaign.results.sheets.conftest import Make, small
from tests.reporting.page.opening import opened
from tests.reporting.page.test_browser import CONTRAST

__all__ = ["small"]

HOSTILE = "<img src=x onerror=document.title='caught'>"
BOARD = "adhoc/index.html"
PAGES = ("index.html", "data.html", BOARD, "adhoc/topics.html", "adhoc/bm25.html")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    (folder / "releases").mkdir()
    make_release(
        folder / "releases",
        tags=["bm25", "dense", "hybrid", "Run1", "run1", HOSTILE],
        teams=["padua", HOSTILE, "delft"],
        title="A campaign with a title that is quite long for a phone",
        description=HOSTILE,
        measures=["AP", "nDCG@10", "P@10", "RR@10", "Q", "RBP(p=0.8)"],
    )
    write_release_site(folder / "releases", folder / "public")
    return folder / "public"


def rows(page: Any) -> list[str]:
    found = page.locator("#runs tbody tr:visible th .name").all_inner_texts()
    return [str(text) for text in found]


def test_every_page_is_silent_asks_for_nothing_and_is_reached_by_links(
    browser: Any, site: Path
) -> None:
    one = opened(browser, site / "index.html")
    links = {}
    for path in sorted(site.rglob("*.html")):
        one.go(path)
        assert one.page.title() != "caught"
        assert one.page.locator("img").count() == 0
        assert one.complaints == []
        assert [url for url in one.requests if not url.startswith("data:")] == [path.as_uri()]
        hrefs = one.page.evaluate("[...document.links].map((one) => one.href.split('#')[0])")
        links[path.as_uri()] = {href for href in hrefs if href.endswith(".html")}
    reached = {(site / "index.html").as_uri()}
    while more := {href for page in reached for href in links[page]} - reached:
        reached |= more
    assert reached == set(links)


def test_sorting_by_keyboard(browser: Any, site: Path) -> None:
    one = opened(browser, site / BOARD)
    page = one.page
    first = rows(page)
    measure = page.locator("#runs th", has_text="AP").first
    assert measure.get_attribute("aria-sort") == "descending"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = []
    for _ in range(30):
        page.keyboard.press("Tab")
        text = page.evaluate("document.activeElement.textContent.trim()")
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        reached.append(text)
        if page.evaluate("document.activeElement.className") == "sort" and text == "AP":
            page.keyboard.press("Enter")
            break
    assert {"Campaign", "rank", "run"} <= {*reached}
    assert rows(page) == first[::-1]
    assert measure.get_attribute("aria-sort") == "ascending"
    page.get_by_role("button", name="run", exact=True).press("Space")
    assert rows(page) == sorted(first, key=lambda name: (name.casefold(), name.swapcase()))
    assert measure.get_attribute("aria-sort") is None
    assert page.locator("#runs th[aria-sort]").count() == 1
    page.get_by_role("button", name="rank", exact=True).click()
    assert rows(page) == first
    assert one.complaints == []


def test_filtering(browser: Any, site: Path) -> None:
    one = opened(browser, site / BOARD)
    page = one.page
    every = rows(page)
    page.get_by_label("Show rows that contain").fill("<img src=x onerror=document.title='caught'>")
    assert 0 < len(rows(page)) < len(every)
    page.get_by_label("Show rows that contain").fill("")
    page.get_by_label("type").select_option("manual")
    manual = rows(page)
    page.get_by_label("type").select_option("automatic")
    assert sorted([*manual, *rows(page)]) == sorted(every)
    assert page.get_by_role("status").inner_text() == f"{len(rows(page))} of 6 shown"
    page.get_by_label("fields").select_option("all")
    assert len(rows(page)) < 4
    assert page.title() != "caught"
    assert one.complaints == []


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_nothing_overflows(browser: Any, site: Path, width: int, scheme: str) -> None:
    viewport = {"width": width, "height": 800}
    one = opened(browser, site / PAGES[0], viewport=viewport, color_scheme=scheme)
    page = one.page
    for path in PAGES:
        one.go(site / path)
        assert page.evaluate("document.documentElement.scrollWidth") == width, path
        contrast = page.evaluate(CONTRAST.replace(' + " li', ' + " .mark, .retracted, li'))
        assert contrast
        assert {kind: found for kind, found in contrast.items() if found < 4.5} == {}, path


def test_the_first_screen_is_the_leaderboard(browser: Any, site: Path) -> None:
    for width, height in ((1280, 800), (390, 844)):
        one = opened(browser, site / "index.html", viewport={"width": width, "height": height})
        table = one.page.locator("#task-1 table")
        # Rank, run and score of the first run, without any scrolling.
        for cell in table.locator("tr").nth(1).locator("td, th").all()[:3]:
            box = cell.bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] + box["height"] <= height


def test_all_columns_can_be_seen_on_a_phone(browser: Any, site: Path) -> None:
    one = opened(browser, site / BOARD, viewport={"width": 390, "height": 800})
    page = one.page
    assert page.get_by_text("scrolls sideways").is_visible()
    heads = page.locator("#runs thead th")
    name = page.locator("#runs tbody tr").first.locator("th")
    for k in range(heads.count()):
        heads.nth(k).scroll_into_view_if_needed()
        box = heads.nth(k).bounding_box()
        assert 0 <= box["x"] < 390
        # The run stays in sight, whichever column is looked at.
        assert 0 <= name.bounding_box()["x"] < 120


def test_without_scripts(browser: Any, site: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((site / BOARD).as_uri())
    assert len(rows(page)) == 6
    assert page.locator(".js-only:visible").count() == 0
    assert page.locator("#runs button").count() == 0
    assert page.locator("#runs th[aria-sort=descending]").inner_text() == "AP"
    assert "not significantly different" in page.locator("#leaderboard").inner_text()
    page.goto((site / "adhoc/topics.html").as_uri())
    assert page.locator("svg.map").is_visible()
    context.close()


def test_on_paper(browser: Any, site: Path) -> None:
    one = opened(browser, site / BOARD)
    one.page.emulate_media(media="print")
    assert not one.page.locator("nav").is_visible()
    assert not one.page.locator(".tools").is_visible()
    assert len(rows(one.page)) == 6
    assert len(one.page.pdf(format="A4")) > 10_000
    assert one.complaints == []


def test_limits_can_be_seen(browser: Any, site: Path) -> None:
    """A line that the style does not name is drawn, and has no colour."""
    one = opened(browser, site / BOARD)
    colours = one.page.evaluate(
        "[...document.querySelectorAll('svg line, svg rect.band')]"
        ".map(each => getComputedStyle(each)[each.tagName === 'line' ? 'stroke' : 'fill'])"
    )
    assert colours
    assert not {"none", "rgb(0, 0, 0)"} & set(colours)
    spans = one.page.locator(".axis > span").all()
    ends = [span.bounding_box()["x"] for span in spans]
    assert max(ends) - min(ends) > 60


# Sheets and overviews

HEIGHTS = """all => all.map(one => parseFloat(getComputedStyle(one).fontSize)
    * one.ownerSVGElement.getScreenCTM().d)"""
"""Heights of letters in pictures, in pixels of the screen."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("sheets")
    write_files(target, dict(make_index_and_sheets(made.sheets()[:4])))
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
