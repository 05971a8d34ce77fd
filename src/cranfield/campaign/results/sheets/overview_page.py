"""The overview of a task as a page, and its board as a table for papers."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cranfield.base.arrays import best
from cranfield.base.words import capitalised, counted
from cranfield.campaign.results.leaderboard import Leaderboard
from cranfield.campaign.results.sheets.page import STYLES
from cranfield.evaluation.evaluation import Evaluation
from cranfield.reporting.page.html import Html, el, joined, label, named
from cranfield.reporting.page.sections import Rows, table
from cranfield.reporting.page.shell import Parts, page_of_parts
from cranfield.significance.comparison.groups import shortened
from cranfield.tabular import Table, number
from cranfield.tabular.content import Cell

PICTURES = {
    "scores": ("Scores over topics", "Scores of each run over topics"),
    "intervals": ("Intervals", "Means, with intervals that tell which runs differ from the first"),
    "separation": ("Who differs", "Which runs are found better or worse than which others"),
    "topics": ("Runs by topics", "Scores of all runs on all topics, the easiest topic first"),
}
"""What the charts show, by their names: a heading and a sentence."""


@dataclass(frozen=True, eq=False)
class Overview:
    """What an overview shows.

    Attributes
    ----------
    title
        Of the campaign and its task.
    judgments
        Version of the judgments.
    board
        The runs, in order of the first measure.
    evaluation
        Their scores by the measures of the board.
    topics
        By the first measure: `topic`, `best`, `median`, `worst`, `n`, `mean` of all runs.
    """

    title: str
    judgments: str
    board: Leaderboard
    evaluation: Evaluation
    topics: pl.DataFrame


def board_table(found: Overview) -> Table:
    """Return the board as a table: the best of each measure is bold."""
    board = found.board
    bold = _bold(found)
    head = ["", "run", "team", "type", *board.measures, "groups", "unjudged@10"]
    rows = []
    for k, row in enumerate(board.frame.rows(named=True)):
        scores = [Cell(number(row[name]), bold=bool(bold[name][k])) for name in board.measures]
        rows.append(
            [
                str(row["place"]),
                row["tag"] + (" (late)" if row["late"] else ""),
                row["team"],
                row["type"] or "",
                *scores,
                shortened(row["groups"] or ""),
                f"{row['unjudged@10']:.1%}",
            ]
        )
    title = f"{found.title}, {counted(len(rows), 'run')}"
    return Table(title, head, rows, (1, 2, 3, 4 + len(board.measures)), remarks=_notes(found))


def _bold(found: Overview) -> Mapping[str, Sequence[bool]]:
    made = {}
    for name in found.board.measures:
        values = found.board.frame[name].to_numpy().astype(np.float64)
        made[name] = best(values, found.evaluation[name].lower_is_better).tolist()
    return made


def _notes(found: Overview) -> list[str]:
    board = found.board
    return [*board.notes, *([board.verdict] if board.verdict else [])]


def overview_page(found: Overview, drawn: Mapping[str, bytes], forms: Sequence[str]) -> str:
    """Write the page; `drawn` are charts as SVG by name, `forms` are what their files are."""
    parts: Parts = {
        "board": ("The board", _board(found)),
        "topics": ("Topics", _topics(found)),
        **{
            f"chart-{name}": (head, _picture(name, said, drawn[name], forms))
            for name, (head, said) in PICTURES.items()
            if name in drawn
        },
        "files": ("Files", _files()),
    }
    counts = (
        f"{counted(found.board.frame.height, 'run')}, {counted(found.topics.height, 'topic')},"
        f" judgments {label(found.judgments)}"
    )
    return page_of_parts(label(found.title), counts, parts, styles=STYLES, skip="Skip to the board")


def _board(found: Overview) -> Html:
    board = found.board
    bold = _bold(found)
    first, *others = board.measures
    heads = map(label, (first, "groups", *others))
    head = ["run", "place", *heads, "unjudged@10", "team", "type"]
    rows: Rows = []
    for k, row in enumerate(board.frame.rows(named=True)):
        score, *more = (
            el("strong", number(row[name])) if bold[name][k] else number(row[name])
            for name in board.measures
        )
        tag = joined(named(row["tag"]), " (late)" if row["late"] else None)
        start = [tag, f"{row['place']:,}", score, shortened(row["groups"] or "")]
        about = [named(row["team"]), label(row["type"]) if row["type"] else ""]
        rows.append([*start, *more, f"{row['unjudged@10']:.1%}", *about])
    left = (0, 3, 5 + len(others), 6 + len(others))
    caption = f"Runs by {label(first)}; the best of each measure in bold"
    notes = [el("p", f"{capitalised(label(one))}.", class_="small") for one in _notes(found)]
    return joined(table(caption, head, rows, left=left, name="topics tall"), *notes)


def _topics(found: Overview) -> Html:
    frame = found.topics
    rows: Rows = [
        [named(topic), *map(number, values)]
        for topic, *values in frame.select("topic", "mean", "best", "median", "worst")
        .sort("median", descending=not found.evaluation[found.board.measures[0]].lower_is_better)
        .rows()
    ]
    head = ["topic", "mean", "best", "median", "worst"]
    caption = f"{label(found.board.measures[0])} by topic, of all runs, the easiest first"
    return table(caption, head, rows, name="topics tall narrow")


def _picture(name: str, said: str, drawn: bytes, forms: Sequence[str]) -> Html:
    source = f"data:image/svg+xml;base64,{base64.b64encode(drawn).decode()}"
    links = [el("li", el("a", f"{name}.{form}", href=f"charts/{name}.{form}")) for form in forms]
    picture = el("div", el("img", src=source, alt=said), class_="box picture", tabindex=0,
                 role="region", aria_label=said)  # fmt: skip
    return joined(picture, el("ul", *links, class_="legend") if links else None)


def _files() -> Html:
    about = {
        "report.html": "all measures: which runs differ, any two runs topic by topic",
        "board.csv": "the board; also board.parquet and board.tex",
        "topics.csv": "best, median, worst and mean of each topic",
    }
    lines = (el("li", el("a", name, href=name), f": {said}") for name, said in about.items())
    return el("ul", *lines)
