"""Take the picture of the documentation that shows a board on the site of a campaign.

python -m studies.site_picture CHROMIUM [-o docs/images/campaign-board.png]

The campaign has some runs of the bundled collection; CHROMIUM is the path of that browser.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import cranfield as cf
from cranfield.campaign.publishing.site.writing import write_site

RULES = """
[campaign]
id = "covid"
title = "TREC-COVID in small"
[tasks.round5]
title = "Round 5"
types = ["automatic", "feedback", "manual"]
categories = ["type"]
measures = ["nDCG@20", "P@20", "RR@20"]
rank = "order"
"""
EVERY = 3


def campaign(folder: Path) -> Any:
    """Make the campaign, with a release."""
    covid = cf.bundled.trec_covid()
    (folder / "rules.toml").write_text(RULES)
    made = cf.campaign.create(folder / "covid", folder / "rules.toml")
    runs = covid.runs[::EVERY]
    for team in sorted({covid.teams[run.name] for run in runs}):
        made.add_team(team, team)
    for run in runs:
        path = folder / f"{run.name}.run"
        cf.write_run(run, path)
        got = made.submit(path, team=covid.teams[run.name], type=covid.types[run.name])
        if not got.accepted:
            raise SystemExit(str(got))
    cf.write_qrels(covid.qrels, folder / "qrels.txt")
    made.add_judgments(folder / "qrels.txt", version="1")
    made.release(date="2020-09-01")
    return made


def main() -> None:
    """Make the site, and take the picture."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("chromium")
    parser.add_argument("-o", "--output", type=Path, default=Path("docs/images/campaign-board.png"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        site = Path(name) / "public"
        write_site(campaign(Path(name)), site)
        browser = playwright.chromium.launch(executable_path=given.chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1100, "height": 760})
        page.goto((site / "round5/index.html").as_uri())
        page.locator("#board").screenshot(path=given.output)
        browser.close()


if __name__ == "__main__":
    main()
