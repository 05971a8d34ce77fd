"""The page of a task's topics: how hard they were, and which runs do best."""

from __future__ import annotations

import math

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.arrays import best as best_of
from cranfield.campaign.publishing.site.board import Board
from cranfield.campaign.publishing.site.board_page import lead, run_link
from cranfield.campaign.publishing.site.drawings import MOST_CELLS, drawn_map, drawn_row
from cranfield.campaign.publishing.site.pages import Links, Page, column, sortable
from cranfield.reporting.page.html import Html, el, joined, label, named
from cranfield.scores import Scores

NAMED = 3
"""Runs that are named of those that do best on a topic."""

EVERYBODY = "all"
"""The group of the statistics that holds every run."""


def topics_page(board: Board, path: str, links: Links) -> Page:
    """Make the page of a task's topics, the easiest first, by the first measure."""
    parts = {
        "difficulty": ("Topics by difficulty", _table(board)),
        "map": ("Topics by runs", _map(board)),
    }
    title = f"{label(board.release.title)}: topics"
    return Page(path, title, lead(board), parts, links, sortable=True)


def _statistics(board: Board) -> dict[str, tuple[float, float, float]]:
    """Return best, median and worst of each topic, the easiest first by its median."""
    frame = board.release.table("topic-statistics")
    found = {
        row["topic"]: (float(row["best"]), float(row["median"]), float(row["worst"]))
        for row in frame.iter_rows(named=True)
        if row["measure"] == board.measure and row["group"] == EVERYBODY
    }
    sign = 1 if board.part is not None and board.part.scores.lower_is_better else -1
    return dict(sorted(found.items(), key=lambda one: (sign * one[1][1], sign * one[1][0], one[0])))


def _table(board: Board) -> Html:
    found = _statistics(board)
    if not found:
        return el("p", "This release holds no statistics of topics.")
    values = [one for row in found.values() for one in row if math.isfinite(one)]
    ends = min(values, default=0.0), max(values, default=1.0)
    scores = board.release.scores.get(board.measure)
    places = board.places
    rows = []
    for topic, (best, median, worst) in found.items():
        drawn = drawn_row(median, min(worst, best), max(worst, best), ends)
        numbers = [
            el("td", f"{one:.{places}f}", class_="n", data_v=repr(one))
            for one in (median, best, worst)
        ]
        rows.append(
            el(
                "tr",
                el("th", named(topic), scope="row"),
                el("td", drawn, class_="limits"),
                *numbers,
                el("td", _leading(board, scores, topic), class_="named"),
            )
        )
    axis = el("span", el("span", f"{ends[0]:.2f}"), el("span", f"{ends[1]:.2f}"), class_="axis")
    heads = [
        column("topic", "ascending", class_="run"),
        el("th", axis, scope="col", class_="limits"),
        column("median", "descending", class_="n", aria_sort="descending"),
        column("best", "descending", class_="n"),
        column("worst", "descending", class_="n"),
        el("th", "runs that do best", scope="col"),
    ]
    box = sortable(f"{label(board.measure)} by topic, the easiest first", heads, rows)
    middle = "the better of the two middle ones, a score that a run has"
    if board.release.about.get("median") == "average":
        middle = "the mean of the two middle ones"
    note = (
        "The line reaches from the worst to the best run, the tick is the median: of an even number"
        f" of runs {middle}."
    )
    return joined(box, el("p", note, class_="small"))


def _leading(board: Board, scores: Scores | None, topic: str) -> Html | str:
    if scores is None or topic not in scores.topics:
        return ""
    row = scores.values[scores.topics.index(topic)]
    if np.isnan(row).all():
        return "–"
    leads = best_of(row, scores.lower_is_better)
    if (leads | np.isnan(row)).all() and row.size > 1:
        return "all runs alike"
    tags = {scores.systems[k] for k in np.flatnonzero(leads)}
    ordered = [row["tag"] for row in board.rows if row["tag"] in tags]
    parts: list[object] = []
    for k, tag in enumerate(ordered[:NAMED]):
        parts += [", " if k else "", run_link(board, tag)]
    if len(ordered) > NAMED:
        parts.append(f" and {len(ordered) - NAMED:,} more")
    return joined(*parts)


def _map(board: Board) -> Html | None:
    scores = board.release.scores.get(board.measure)
    topics = list(_statistics(board))
    if scores is None or not topics:
        return None
    title = f"{label(board.measure)}, a row a topic, a column a run in the order of the board"
    drawn = drawn_map(
        _picked(board, scores, topics),
        [label(one) for one in topics],
        title,
        lower_is_better=scores.lower_is_better,
    )
    if drawn is None:
        return el("p", f"A map of more than {MOST_CELLS:,} scores could not be read.")
    said = (
        "A row is a topic, the easiest on top; a column is a run, in the order of the board. Dark"
        " is better served. The same numbers are in the files of scores of the release."
    )
    box = el("div", drawn, class_="box", role="region", tabindex=0, aria_label=title)
    return joined(el("p", said), box)


def _picked(board: Board, scores: Scores, topics: list[str]) -> Floats:
    """Return scores in the order that is shown; NaN where there is none."""
    columns = {tag: k for k, tag in enumerate(scores.systems)}
    rows = {topic: k for k, topic in enumerate(scores.topics)}
    shown = np.array([columns[row["tag"]] for row in board.rows if row["tag"] in columns], int)
    kept = np.array([rows.get(topic, -1) for topic in topics])
    values: Floats = scores.values[np.ix_(kept, shown)]
    values[kept < 0] = np.nan
    return values
