"""Look at the site as it was built: nothing comes from elsewhere, and search works from a folder.

    python docs/check_site.py SITE

Links and anchors are checked by `mkdocs build --strict`. What needs a browser is left out, and said,
where there is none. The exit status is 1 when anything is wrong.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LOADED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(?:https?:)?//[^"'> ]+|<link\b
    (?=[^>]*rel=["']?(?:stylesheet|preload|preconnect|icon))[^>]*href=["']?(?:https?:)?//[^"'> ]+""",
    re.X,
)
"""What a browser fetches by itself from another host."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
PHONE = ("api/significance.html", "readers.html", "tasks/rag.html", "significance/tests.html")
"""Pages whose geometry is looked at on a phone: tables of words, code and formulas."""

SEARCHED = {
    "type I error": "calibration.html",
    "A/B test": "experiments.html",
    "hit rate": "measures/Success.html",
    "t-test": "significance/t.html",
    "LLM as a judge": "llm-judges.html",
}
"""Words that a reader searches for, and the page that the search has to show first."""

MARKUP = re.compile(r"\.\. [a-z]+::|:[a-z]+:<code>|\$\$")
"""Markup of docstrings that a reader must not see."""

FAULTS = """() => {
    const lines = cell => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size;
    };
    const narrow = [...document.querySelectorAll(".md-content td")]
        .filter(cell => cell.offsetWidth && cell.offsetWidth < 90 && lines(cell) > 7)
        .map(cell => `a column of ${cell.offsetWidth} px: ${cell.innerText.slice(0, 30)}`);
    const wide = document.scrollingElement.scrollWidth;
    return [...narrow, ...(wide > innerWidth ? [`${wide} px wide`] : [])];
}"""
COPIED = """() => [...document.querySelectorAll(".highlight code")].map(code => {
    code.setAttribute("data-md-copying", "");
    const text = code.innerText;
    code.removeAttribute("data-md-copying");
    return text.trimEnd();
})"""


def fetched(site: Path) -> Iterator[str]:
    """Yield what pages fetch from elsewhere."""
    for path in sorted(site.rglob("*.html")):
        for found in LOADED.finditer(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)}: {found[0]}"


def raw_markup(site: Path) -> Iterator[str]:
    """Yield markup of docstrings in pages of the reference."""
    for path in sorted(site.glob("api/*.html")):
        for found in MARKUP.finditer(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)}: markup {found[0]!r}"


def seen(site: Path, browser: str) -> Iterator[str]:
    """Yield what is wrong in a browser that opens the folder."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = started.new_page(viewport={"width": 1280, "height": 800})
        heard: list[str] = []
        page.on("request", lambda one: heard.append(one.url))
        said: list[str] = []
        page.on("console", lambda one: said.append(one.text))
        page.on("pageerror", lambda one: said.append(str(one)))
        page.goto((site / "index.html").resolve().as_uri())
        yield from below_the_fold(page)
        copied = page.evaluate(COPIED)
        if any("$" in text or ">>>" in text or "─" in text for text in copied) or not copied[0]:
            yield f"copy buttons copy more than input: {copied}"
        for words, name in SEARCHED.items():
            page.goto((site / "index.html").resolve().as_uri())
            page.keyboard.press("f")
            # One query: the search worker may report an incomplete word, such as "t-", as an error.
            page.keyboard.insert_text(words[:-1])
            page.keyboard.press(words[-1])
            page.wait_for_selector(".md-search-result__item", timeout=60_000)
            # Results follow each key.
            page.wait_for_timeout(1500)
            first = page.locator(".md-search-result__item a").first.get_attribute("href")
            if f"/{name}" not in str(first):
                yield f"search for {words!r} shows {first} before {name}"
        elsewhere = [
            url for url in heard if not url.startswith(("file:", "data:", "blob:", "about:"))
        ]
        yield from (f"asked for {url}" for url in elsewhere)
        yield from (f"console: {text}" for text in said)
        page.set_viewport_size({"width": 390, "height": 844})
        for name in PHONE:
            page.goto((site / name).resolve().as_uri())
            yield from (f"{name} on a phone: {fault}" for fault in page.evaluate(FAULTS))
        started.close()


def below_the_fold(page: Any) -> Iterator[str]:
    """Yield what of the first page cannot be seen without scrolling."""
    for what in (".welcome .highlight", ".cards img"):
        box = page.locator(what).first.bounding_box()
        if box is None or box["y"] + box["height"] > 800:
            yield f"{what} ends below the first 800 pixels: {box}"


def main(folder: str) -> int:
    """Check the site in a folder."""
    site = Path(folder)
    wrong = [*fetched(site), *raw_markup(site)]
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print("no chromium here: the search of the site is not tested")
    else:
        wrong += seen(site, browser)
    print("\n".join([*wrong, f"site: {len(wrong)} faults"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
