"""Take the pictures of the documentation that show the report of `cranfield demo`.

python -m studies.report_pictures CHROMIUM [-o docs/images]

CHROMIUM is the path of that browser.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from playwright.sync_api import Page, sync_playwright

import cranfield as cf

MEASURES = ["nDCG@20", "P@20", "AP@100", "RR", "RBP(p=0.8)", "Judged@20"]
WIDTH = 1160

SHOWN = {
    "report": ("header", 790),
    "report-pictures": ("#pic-matrix", 1120),
    "report-pair": ("#pair", 800),
}
"""Of each picture: what is at its top, and its height."""


def take(page: Page, top: str, height: int, path: Path) -> None:
    """Take a picture of the page from an element on."""
    page.set_viewport_size({"width": WIDTH, "height": height})
    page.evaluate("top => document.querySelector(top).scrollIntoView()", top)
    page.wait_for_timeout(1000)
    page.screenshot(path=path)


def main() -> None:
    """Make the report, and take the pictures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("chromium")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/images"))
    given = parser.parse_args()
    covid = cf.bundled.trec_covid()
    ev = cf.evaluate(covid.runs, covid.qrels, MEASURES)
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        path = cf.report(ev, Path(name) / "report.html", title=covid.name)
        browser = playwright.chromium.launch(executable_path=given.chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto(path.as_uri())
        page.wait_for_timeout(1000)
        for picture, (top, height) in SHOWN.items():
            take(page, top, height, given.output / f"{picture}.png")
        browser.close()


if __name__ == "__main__":
    main()
