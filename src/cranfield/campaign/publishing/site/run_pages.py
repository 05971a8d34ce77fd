"""A page a run: its sheet, as the release has it."""

from __future__ import annotations

from collections.abc import Iterator

from cranfield.campaign.publishing.site.board import Board
from cranfield.campaign.publishing.site.pages import Links, Page
from cranfield.campaign.results.sheets.page import sheet_parts
from cranfield.campaign.results.sheets.sheet import Sheet
from cranfield.campaign.results.sheets.wording import place_sentence
from cranfield.reporting.page.html import el, label


def run_pages(board: Board, task: str, links: Links) -> Iterator[Page]:
    """Make the pages of the runs whose sheets are in the release."""
    for tag, name in board.pages.items():
        path = board.sheet(tag)
        if path is None:
            continue
        sheet = Sheet.from_json(path.read_text("utf-8"), str(path))
        said = f"{board.release.title}, release {board.release.id}. {place_sentence(sheet)}."
        lead = el("p", label(said), class_="counts")
        yield Page(f"{task}/{name}.html", label(tag), lead, sheet_parts(sheet), links)
