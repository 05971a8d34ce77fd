"""Two hundred hostile texts in all places of all pages: shown; nothing runs, nothing is loaded."""

from __future__ import annotations

from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cranfield as cf
from cranfield.base.text import sanitise
from cranfield.campaign.publishing.site import write_release_site
from cranfield.campaign.results.overview import make_overview, make_overview_page
from tests.campaign.publishing.site.making import make_release
from tests.campaign.results.sheets import made
from tests.hostile_texts import hostile_texts
from tests.reporting.page.opening import Opened, opened

pytestmark = pytest.mark.filterwarnings(
    "ignore:(blanks around .* were removed|.* read as text, not as missing)"
)

# Blanks around ids do not count: texts differ by more, and none is blank.
TEXTS = [*{text.strip(): text for text in hostile_texts(11) if text.strip()}.values()]
TOGETHER = 100
PARTS = range(0, len(TEXTS), TOGETHER)


def named(runs: list[str], topics: list[str], docs: list[str]) -> cf.Evaluation:
    """Evaluate runs, which differ, by names."""
    size = len(docs)
    found = {
        name: {
            topic: {docs[(k * (i + 1) + j) % size]: float(-j) for j in range(4)}
            for i, topic in enumerate(topics)
        }
        for k, name in enumerate(runs)
    }
    qrels = {topic: {docs[i % size]: 1, docs[-1 - i % size]: 0} for i, topic in enumerate(topics)}
    return cf.evaluate(found, qrels, ["AP", "P@2"])


@cache
def usable(first: int) -> list[str]:
    """Leave out what may be no name at all, such as no text, and say so in one line."""
    kept = []
    some = TEXTS[first : first + TOGETHER]
    for text in some:
        try:
            cf.judge({text: {text: {text: 1.0}}}, {text: {text: 1}})
        except cf.InputError as error:
            assert str(error).isprintable()
        else:
            kept.append(text)
    assert len(kept) > len(some) / 2
    return kept


def harmless(browser: Any, path: Path, before: Opened | None = None) -> Opened:
    """Open a page that must run nothing of a text, or go on to it; move and click on it."""
    if before is None:
        one = opened(browser, path)
    else:
        one = before
        one.go(path)
    one.page.mouse.move(300, 300)
    for button in one.page.get_by_role("button").all()[:3]:
        button.click()
    assert one.page.locator("iframe, base, object, embed, plaintext, template").count() == 0
    assert one.complaints == []
    assert [url for url in one.requests if not url.startswith("data:")] == [path.as_uri()]
    return one


def words(texts: list[str]) -> set[str]:
    # A browser puts blanks together.
    return {" ".join(sanitise(text).split()) for text in texts}


def closes_at_its_end(entry: str) -> bool:
    """Tell whether an entry is one: BibTeX counts braces, whatever is before them."""
    depths = [*accumulate((one == "{") - (one == "}") for one in entry)]
    return depths.index(0, entry.index("{")) == len(entry) - 1


@pytest.mark.parametrize("first", PARTS)
def test_report(browser: Any, tmp_path: Path, first: int) -> None:
    some = usable(first)
    path = tmp_path / "report.html"
    cf.report(named(some, some, some), path, title=" ".join(some))
    one = harmless(browser, path)
    shown = one.page.locator("#systems tbody tr th").all_text_contents()
    assert words(shown) == words(some)


@pytest.mark.parametrize("first", PARTS)
def test_pages_of_a_campaign(browser: Any, tmp_path: Path, first: int) -> None:
    # In files of scores, blanks around a name are none of it.
    some = [text for text in usable(first) if text == text.strip()]
    (tmp_path / "releases").mkdir()
    make_release(
        tmp_path / "releases",
        tags=some,
        teams=some[::-1],
        types=some[:5],
        topics=some,
        title=" ".join(some),
        description=" ".join(some),
    )
    write_release_site(tmp_path / "releases", tmp_path / "site")
    entries, one = [], None
    for path in sorted((tmp_path / "site").rglob("*.html")):
        one = harmless(browser, path, one)
        entries += one.page.locator("pre", has_text="@misc").all_text_contents()
    assert entries
    assert all(closes_at_its_end(entry.strip()) for entry in entries)
    ev = named(some, some, some)
    handed = [made.submission(k, tag, some[-k], some[k // 2]) for k, tag in enumerate(some)]
    found = make_overview(ev, handed, made.TASK, title=some[0], judgments=some[1])
    path = tmp_path / "overview.html"
    path.write_text(make_overview_page(found, {}, ()))
    harmless(browser, path, one)


@pytest.mark.parametrize("first", PARTS)
def test_page_of_an_experiment(browser: Any, tmp_path: Path, first: int) -> None:
    some = usable(first)
    values = np.random.default_rng(3).random(4 * len(some))
    for names, path in ((some, tmp_path / "variants.html"), (some[:2], tmp_path / "metrics.html")):
        arms = (names * 400)[: len(values)]
        table = {"variant": arms, "segment": [some[0], some[1]] * (len(values) // 2), "x": values}
        metrics = dict.fromkeys(some if len(names) == 2 else some[:2], "x")
        segments = ["segment"] if len(names) == 2 else []
        options: dict[str, Any] = {"control": names[0], "segments": segments, "resamples": 99}
        found = cf.online.analyse_experiment(table, metrics, **options)
        cf.report(found, path, title=some[-1])
        harmless(browser, path)


@pytest.mark.filterwarnings("ignore:.*pages of users named")
@pytest.mark.parametrize("first", PARTS)
def test_objects_in_a_notebook(browser: Any, tmp_path: Path, first: int) -> None:
    some = usable(first)
    ev = named(some, some, some)
    run = {text: {text: 1.0} for text in some}
    qrels = {text: {text: 1} for text in some}
    judged = cf.judge(dict.fromkeys(some, run), qrels)
    pages = {"page": some, "query": some, "user": some, "variant": some}
    results = {"page": some, "rank": [1] * len(some), "doc": some}
    log = cf.online.read_log(pages, results, {"page": [], "rank": []})
    compared = cf.compare(ev["AP"])
    objects: list[Any] = [
        *(cf.read_run(run, name=some[0]), cf.read_qrels(qrels), judged, judged.coverage, ev),
        *(ev["AP"], compared, compared.anova, log, cf.cite(ev["AP"])),
    ]
    shown = "<hr>".join(one._repr_html_() for one in objects)
    path = tmp_path / "objects.html"
    path.write_text(f"<!doctype html><meta charset=utf-8>{shown}")
    one = harmless(browser, path)
    assert one.page.locator("hr").count() == len(objects) - 1
