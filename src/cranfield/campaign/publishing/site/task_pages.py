"""Pages of a task: its leaderboard, its topics, its runs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.arrays import best as best_of
from cranfield.base.text import counted
from cranfield.campaign.publishing.site.pages import (
    MOST_CELLS,
    Links,
    Page,
    column,
    drawn_map,
    drawn_row,
    link,
    sortable,
)
from cranfield.campaign.publishing.site.releases import Board
from cranfield.campaign.results.sheet import Sheet, place_sentence
from cranfield.campaign.results.sheet_files import sheet_parts
from cranfield.measures import parse_measure
from cranfield.reporting.page.html import Html, el, joined, label, named
from cranfield.reporting.page.sections import answer
from cranfield.scores import Scores

NAMED = 6
"""Number of runs named among those not significantly different from the first."""

MOST_KINDS = 12
"""Maximum number of values of a question that can be filtered by."""

UNJUDGED = "unjudged@10"
"""Column with the proportion of unjudged documents in the top 10."""

NOT_COMPARED = "Runs were not compared: nothing is said of differences."

SWIPE = "The table is wider than a small screen: it scrolls sideways, and the run stays in sight."


def board_page(board: Board, path: str, links: Links) -> Page:
    """Make the page of a task's board."""
    parts = {
        "board": ("Board", joined(_first(board), _board(board))),
        "found": ("What it rests on", _basis(board)),
        "reading": ("How to read it", _reading(board)),
    }
    return Page(path, label(board.release.title), lead(board), parts, links, sortable=True)


def lead(board: Board) -> Html:
    release = board.release
    teams = len({row["team"] for row in board.rows if row.get("team")})
    counts = [counted(len(board.rows), "run"), counted(teams, "team") if teams else ""]
    if scores := release.scores.get(board.measure):
        counts.append(counted(len(scores.topics), "topic"))
    if release.about.get("judgments"):
        counts.append(f"judgments {label(str(release.about['judgments']))}")
    counts.append(f"release {label(release.id)}")
    if release.about.get("date"):
        counts.append(str(release.about["date"]))
    return el("p", ", ".join(filter(None, counts)), class_="counts")


def _first(board: Board) -> Html:
    if board.part is None:
        return el("p", NOT_COMPARED, class_="lead")
    return joined(el("p", answer(board.part)[0], class_="lead"), _not_separated(board))


def _basis(board: Board) -> Html:
    if board.part is None:
        return el("p", NOT_COMPARED)
    return joined(*(el("p", sentence) for sentence in answer(board.part)[1:]))


def _not_separated(board: Board) -> Html | None:
    runs = board.not_separated[1:]
    if not board.not_separated:
        return None
    first = run_link(board, board.not_separated[0])
    if not runs:
        return el("p", "Every other run is found to differ from ", first, ".")
    verb = "is" if len(runs) == 1 else "are"
    text = f"Not separated from it {verb} {counted(len(runs), 'run')}: "
    return el("p", "First is ", first, ". ", text, *_run_links(board, runs, NAMED), ".")


def _run_links(board: Board, tags: Sequence[str], limit: int) -> list[object]:
    parts: list[object] = []
    for k, tag in enumerate(tags[:limit]):
        parts += [", " if k else "", run_link(board, tag)]
    if len(tags) > limit:
        parts.append(f" and {len(tags) - limit:,} more")
    return parts


def run_link(board: Board, tag: str, start: str = "") -> Html:
    """Return the name of a run, as a link if the run has a page."""
    if tag not in board.pages or board.sheet(tag) is None:
        return named(tag)
    return el("a", named(tag), href=link(f"{board.pages[tag]}.html", start=start))


def _board(board: Board) -> Html:
    measures = [name for name in board.release.measures if board.rows and name in board.rows[0]]
    kinds = _kinds(board)
    first, *others = (_measure_head(name, name == board.measure) for name in measures)
    heads = [column("place", "ascending", class_="place"), column("run", "ascending", class_="run")]
    heads.append(first)
    if board.limits[0]:
        heads.append(el("th", _axis(_ends(board)), scope="col", class_="limits"))
    if board.letters:
        heads.append(column("groups", "ascending", class_="groups"))
    heads += [column("team", "ascending"), column("type", "ascending"), *others]
    if any(UNJUDGED in row for row in board.rows):
        heads.append(column(joined("unjudged", el("br"), "in top 10"), "ascending", class_="n"))
    body = [_row(board, row, measures, list(kinds)) for row in board.rows]
    caption = f"Runs in order of {label(board.measure)}"
    box = sortable(caption, heads, body, "runs")
    return joined(_tools(kinds), el("p", SWIPE, class_="small swipe"), box)


def _measure_head(name: str, chosen: bool) -> Html:
    first = "ascending" if _lower_is_better(name) else "descending"
    return column(named(name), first, class_="n", aria_sort=first if chosen else None)


def _row(
    board: Board, row: Mapping[str, str], measures: Sequence[str], kinds: Sequence[str]
) -> Html:
    tag = row["tag"]
    marks: list[object] = []
    if row.get("late") == "true":
        marks += [" ", el("span", "late", class_="mark warn")]
    if board.pooled and row.get("pooled") == "false":
        marks += [" ", el("span", "not pooled", class_="mark")]
    cells = [
        el("td", row.get("place", ""), class_="place", data_v=row.get("place", "").strip("=")),
        el("th", run_link(board, tag), *marks, scope="row"),
    ]
    scores = [_score(board, row.get(name)) for name in measures]
    cells += [scores[0], *_comparison(board, tag, _number(row.get(board.measure)))]
    cells += [
        el("td", named(row["team"]) if row.get("team") else "–"),
        el("td", label(row["type"]) if row.get("type") else "–"),
        *scores[1:],
    ]
    if UNJUDGED in row:
        share = _number(row[UNJUDGED])
        shown = "–" if math.isnan(share) else f"{share:.1%}"
        cells.append(el("td", shown, class_="n", data_v="" if math.isnan(share) else repr(share)))
    values = [row.get(name, "") for name in kinds]
    at_top = "top" if tag in board.not_separated else None
    return el("tr", *cells, class_=at_top, data_kinds=json.dumps(values) if kinds else None)


def _score(board: Board, text: str | None) -> Html:
    value = _number(text)
    if math.isnan(value):
        return el("td", "–", class_="n", data_v="")
    return el("td", f"{value:.{board.places}f}", class_="n", data_v=repr(value))


def _comparison(board: Board, tag: str, value: float) -> list[Html]:
    limits, band = board.limits
    cells = []
    if limits:
        low, high = limits.get(tag, (math.nan, math.nan))
        drawn = drawn_row(value, low, high, _ends(board), band)
        known = math.isfinite(low) and math.isfinite(high)
        title = f"{low:.{board.places}f} to {high:.{board.places}f}" if known else "no limits"
        cells.append(el("td", drawn, class_="limits", title=title))
    if board.letters:
        cells.append(el("td", board.letters.get(tag, ""), class_="groups"))
    return cells


def _ends(board: Board) -> tuple[float, float]:
    bounds = [end for pair in board.limits[0].values() for end in pair if math.isfinite(end)]
    return min(bounds, default=0.0), max(bounds, default=1.0)


def _axis(ends: tuple[float, float]) -> Html:
    return el("span", *(el("span", f"{end:.2f}") for end in ends), class_="axis")


def _kinds(board: Board) -> dict[str, list[str]]:
    """Return the columns that runs can be filtered by, with their values."""
    columns = ["type", *map(str, board.release.about.get("categories", ()))]
    kinds = {}
    for name in dict.fromkeys(columns):
        values = sorted({row[name] for row in board.rows if row.get(name)})
        if 2 <= len(values) <= MOST_KINDS:
            kinds[name] = values
    return kinds


def _tools(kinds: Mapping[str, Sequence[str]]) -> Html:
    parts: list[object] = [
        el("label", "Show rows that have", for_="filter"),
        el("input", id="filter", type="search", autocomplete="off"),
    ]
    for k, (name, values) in enumerate(kinds.items()):
        options = [el("option", "any", value="")]
        options += [el("option", label(value), value=value) for value in values]
        parts += [
            el("label", label(name), for_=f"kind-{k}"),
            el("select", *options, id=f"kind-{k}", data_kind=k),
        ]
    parts.append(el("output", role="status"))
    return el("div", *parts, class_="tools js-only", data_table="runs")


def _reading(board: Board) -> Html:
    lines = []
    part = board.part
    if part is not None and part.comparison is not None:
        test = part.comparison
        level = f"{100 * (1 - test.alpha):g}%"
        if board.limits[0]:
            if test.half_widths is None:
                bounds = (
                    f"the {level} limits of its {test.difference_from} the first"
                    f" ({test.interval_kind}). The dashed line is the {test.mean_of} of the first:"
                    " a run whose limits leave it out differs from the first. In blue are the runs"
                    " that are not found to differ from it"
                )
            else:
                bounds = (
                    f"{level} limits, such that runs whose limits do not overlap differ"
                    f" ({test.interval_kind}). Shaded are those of the first"
                )
            tick = f"a tick at the {test.mean_of} of {label(board.measure)}"
            lines.append(f"Limits: {tick}, and {bounds}.")
        if board.letters:
            lines.append("Groups: runs that share a letter are not found to differ.")
        lines.append(
            f"Limits and groups are of {label(board.measure)} alone: {test.title}. Places are"
            f" those of {test.mean_of}s; where runs share a letter, the order between them is not"
            " found."
        )
    if any(row.get("late") == "true" for row in board.rows):
        lines.append("Late: handed in after the task closed.")
    if board.pooled and any(row.get("pooled") == "false" for row in board.rows):
        lines.append(
            "Not pooled: its documents were judged only where other runs had retrieved them, which"
            " can make its score too low."
        )
    if any(UNJUDGED in row for row in board.rows):
        lines.append(
            "Unjudged in top 10: share of the first ten documents that nobody judged; they count"
            " as not relevant."
        )
    lines.append("All scores were computed from the runs by the organisers' program.")
    return joined(*(el("p", line) for line in lines))


def _lower_is_better(name: str) -> bool:
    try:
        return parse_measure(name).info.lower_is_better
    except ValueError:
        return False


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return math.nan


RUNS_NAMED_PER_TOPIC = 3
"""Number of runs named among those with the best score of a topic."""

EVERYBODY = "all"
"""The group of the statistics that holds every run."""


def topics_page(board: Board, path: str, links: Links) -> Page:
    """Make the page of a task's topics, the easiest first."""
    parts = {
        "difficulty": ("Topics by difficulty", _table(board)),
        "map": ("Topics by runs", _map(board)),
    }
    title = f"{label(board.release.title)}: topics"
    return Page(path, title, lead(board), parts, links, sortable=True)


def _statistics(board: Board) -> dict[str, tuple[float, float, float]]:
    """Return best, median and worst of each topic, the easiest first by its median."""
    frame = board.release.table("topic-statistics")
    statistics = {
        row["topic"]: (float(row["best"]), float(row["median"]), float(row["worst"]))
        for row in frame.iter_rows(named=True)
        if row["measure"] == board.measure and row["group"] == EVERYBODY
    }
    sign = 1 if board.part is not None and board.part.scores.lower_is_better else -1

    def difficulty(topic: str) -> tuple[float, float, str]:
        best, median, _ = statistics[topic]
        return sign * median, sign * best, topic

    return {topic: statistics[topic] for topic in sorted(statistics, key=difficulty)}


def _table(board: Board) -> Html:
    statistics = _statistics(board)
    if not statistics:
        return el("p", "This release holds no statistics of topics.")
    values = [value for row in statistics.values() for value in row if math.isfinite(value)]
    ends = min(values, default=0.0), max(values, default=1.0)
    scores = board.release.scores.get(board.measure)
    rows = []
    for topic, (best, median, worst) in statistics.items():
        drawn = drawn_row(median, min(worst, best), max(worst, best), ends)
        numbers = [
            el("td", f"{value:.{board.places}f}", class_="n", data_v=repr(value))
            for value in (median, best, worst)
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
    heads = [
        column("topic", "ascending", class_="run"),
        el("th", _axis(ends), scope="col", class_="limits"),
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
    return joined(*_run_links(board, ordered, RUNS_NAMED_PER_TOPIC))


def _map(board: Board) -> Html | None:
    scores = board.release.scores.get(board.measure)
    topics = list(_statistics(board))
    if scores is None or not topics:
        return None
    title = f"{label(board.measure)}, a row a topic, a column a run in the order of the board"
    drawn = drawn_map(
        _picked(board, scores, topics),
        [label(topic) for topic in topics],
        title,
        lower_is_better=scores.lower_is_better,
    )
    if drawn is None:
        return el("p", f"A map of more than {MOST_CELLS:,} scores could not be read.")
    text = (
        "A row is a topic, the easiest on top; a column is a run, in the order of the board. Dark"
        " is better served. The same numbers are in the files of scores of the release."
    )
    box = el("div", drawn, class_="box", role="region", tabindex=0, aria_label=title)
    return joined(el("p", text), box)


def _picked(board: Board, scores: Scores, topics: list[str]) -> Floats:
    """Return scores in the order of the map; NaN if there is none."""
    columns = {tag: k for k, tag in enumerate(scores.systems)}
    rows = {topic: k for k, topic in enumerate(scores.topics)}
    shown = np.array([columns[row["tag"]] for row in board.rows if row["tag"] in columns], int)
    places = np.array([rows.get(topic, -1) for topic in topics])
    values: Floats = scores.values[np.ix_(places, shown)]
    values[places < 0] = np.nan
    return values


def run_pages(board: Board, task: str, links: Links) -> Iterator[Page]:
    """Make the pages of the runs whose sheets are in the release."""
    for tag, name in board.pages.items():
        path = board.sheet(tag)
        if path is None:
            continue
        sheet = Sheet.from_json(path.read_text("utf-8"), str(path))
        text = f"{board.release.title}, release {board.release.id}. {place_sentence(sheet)}."
        lead = el("p", label(text), class_="counts")
        yield Page(f"{task}/{name}.html", label(tag), lead, sheet_parts(sheet), links)
