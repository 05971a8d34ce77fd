"""Draw the picture of a sheet: bars by topic of a bundled run, as a browser shows them.

python -m studies.picture_of_sheet [-o docs/images/campaign-sheet.png]

It needs playwright, and a Chromium in the path.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import cranfield as cf
from cranfield.campaign.results.sheet_files import sheet_page
from cranfield.campaign.results.sheet_making import SheetContext, SheetInputs, measures_of
from cranfield.campaign.rules.task_rules import PoolRules, Rules, TaskRules
from cranfield.campaign.store.records import ACCEPTED, Submission

TAG = "bm25L2_bilstm_run"
WIDTH, HEIGHT = 1180, 6000


def page_of(tag: str) -> str:
    """Write the page of the sheet of one run, among the bundled ones."""
    covid = cf.bundled.trec_covid()
    task = TaskRules(
        "round5", "Round 5", measures=("nDCG@20",), categories=("type",), pool=PoolRules(15)
    )
    runs = [
        Submission(k, "round5", covid.teams[one.name], one.name, "", 0, "", ACCEPTED,
                   type=covid.types[one.name])
        for k, one in enumerate(covid.runs)
    ]  # fmt: skip
    known = SheetContext(Rules("covid", "TREC-COVID", {"round5": task}), task)
    scores = cf.evaluate(covid.runs, covid.qrels, measures_of(task))
    [sheet] = (one for one in SheetInputs(scores, runs, known).sheets() if one.tag == tag)
    return sheet_page(sheet)


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("-o", "--output", default="docs/images/campaign-sheet.png")
    given = parser.parse_args()
    names = ("chromium", "chromium-browser", "google-chrome")
    path = next((found for name in names if (found := shutil.which(name))), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "sheet.html"
        file.write_text(page_of(TAG))
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(file.as_uri())
        page.locator("#differences").screenshot(path=given.output)
        browser.close()


if __name__ == "__main__":
    main()
