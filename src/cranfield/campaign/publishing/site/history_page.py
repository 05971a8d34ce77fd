"""The page of records: which runs beat all that were handed in before them."""

from __future__ import annotations

from collections.abc import Mapping

from cranfield.campaign.publishing.site.board import Board
from cranfield.campaign.publishing.site.board_page import run_link
from cranfield.campaign.publishing.site.file_names import link
from cranfield.campaign.publishing.site.pages import Links, Page
from cranfield.campaign.results.history import History, history
from cranfield.reporting.page.html import Html, el, joined, label, named
from cranfield.reporting.page.sections import Rows, table

SAID = (
    "A record beats every run of the task that was handed in on an earlier day; of a day the best"
    " run counts, and an equal score is no record. Tasks have topics and judgments of their own:"
    " scores of two of them are not compared."
)


def history_page(boards: Mapping[str, Board], links: Links) -> Page:
    """Make the page of records, a section a task; `boards` are by the folder of their pages."""
    parts = {
        f"task-{k}": (label(board.release.title), _records(folder, board))
        for k, (folder, board) in enumerate(boards.items(), 1)
    }
    return Page("history.html", "Records", el("p", SAID, class_="counts"), parts, links)


def _records(folder: str, board: Board) -> Html:
    if not all(row.get("received") for row in board.rows):
        return el("p", "This release does not say when each run was handed in.")
    # Which releases are shown was decided by the records of the campaign, where there are any.
    found = history([board.release.folder], board.measure, retracted=True)
    return joined(_table(found, folder, board), *(el("p", f"{one}.") for one in found.notes))


def _table(found: History, folder: str, board: Board) -> Html:
    rows: Rows = [
        [
            el("span", str(row["date"]), class_="date"),
            run_link(board, row["entry"], start=link(folder, "")),
            named(row["team"]) if row["team"] else "–",
            f"{row['score']:.{board.places}f}",
        ]
        for row in found.records().iter_rows(named=True)
    ]
    number = f"{len(rows):,} of {found.frame.height:,} runs"
    caption = f"{label(board.release.title)}: records by {label(board.measure)}, {number}"
    head = ["handed in", "run", "team", label(board.measure)]
    return table(caption, head, rows, left=(0, 1, 2), name="narrow")
