"""Take the pictures of the documentation that show pages: the report, a sheet, a board.

    python -m studies.screenshots CHROMIUM [-o docs/images]

CHROMIUM is the path of that browser. The pages are of the bundled collection.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

import cranfield as cf
from studies.common import run_main

MEASURES = ["nDCG@20", "P@20", "AP@100", "RR", "RBP(p=0.8)", "Judged@20"]
REPORT = {
    "report": ("header", 790),
    "report-pictures": ("#chart-matrix", 1120),
    "report-pair": ("#pair", 800),
}
"""For each picture of the report: the element at its top, and its height."""

RULES = """
[campaign]
id = "covid"
title = "TREC-COVID in small"
[tasks.round5]
title = "Round 5"
types = ["automatic", "feedback", "manual"]
categories = ["type"]
pool = {depth = 15}
measures = ["nDCG@20", "P@20", "RR@20"]
rank = "order"
"""
SHEET = "bm25L2_bilstm_run"


def of_report(browser: Browser, folder: Path, output: Path) -> None:
    covid = cf.bundled.trec_covid()
    evaluation = cf.evaluate(covid.runs, covid.qrels, MEASURES)
    path = cf.report(evaluation, folder / "report.html", title=covid.name)
    page = browser.new_page()
    page.goto(path.as_uri())
    page.wait_for_timeout(1000)
    for picture, (top, height) in REPORT.items():
        page.set_viewport_size({"width": 1160, "height": height})
        page.evaluate("top => document.querySelector(top).scrollIntoView()", top)
        page.wait_for_timeout(1000)
        page.screenshot(path=output / f"{picture}.png")


def campaign(folder: Path, every: int) -> cf.campaign.Campaign:
    """Make a campaign with a release, of one in so many runs."""
    covid = cf.bundled.trec_covid()
    (folder / "rules.toml").write_text(RULES)
    made = cf.campaign.create(folder / "covid", folder / "rules.toml")
    runs = covid.runs[::every]
    for team in sorted({covid.teams[run.name] for run in runs}):
        made.add_team(team, team)
    for run in runs:
        path = folder / f"{run.name}.run"
        cf.write_run(run, path)
        report = made.submit(path, team=covid.teams[run.name], type=covid.types[run.name])
        if not report.is_accepted:
            raise SystemExit(str(report))
    cf.write_qrels(covid.qrels, folder / "qrels.txt")
    made.add_judgments(folder / "qrels.txt", version="1")
    made.release(date="2020-09-01")
    return made


def of_element(browser: Browser, path: Path, element: str, height: int, output: Path) -> None:
    page = browser.new_page(viewport={"width": 1100, "height": height})
    page.goto(path.as_uri())
    page.locator(element).screenshot(path=output)


def main(chromium: str, *, output: Path = Path("docs/images")) -> None:
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        folder = Path(name)
        of_report(browser, folder, output)
        for part, every in (("small", 3), ("whole", 1)):
            (folder / part).mkdir()
            made = campaign(folder / part, every)
            if part == "small":
                made.site(folder / "site")
                board = folder / "site/round5/index.html"
                of_element(browser, board, "#leaderboard", 760, output / "campaign-board.png")
            else:
                made.sheets(None, folder / "sheets")
                sheet = folder / f"sheets/runs/{SHEET}.html"
                picture = output / "campaign-sheet.png"
                of_element(browser, sheet, "#differences", 6000, picture)
        browser.close()


if __name__ == "__main__":
    run_main(main)
