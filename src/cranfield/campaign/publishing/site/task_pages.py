"""Pages of a task: leaderboard, topics, and a page for each run."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, is_best_value
from cranfield.base.text import counted
from cranfield.campaign.pages import link, render
from cranfield.campaign.publishing.site.pages import Links, page
from cranfield.campaign.publishing.site.releases import StoredRelease, TaskLeaderboard
from cranfield.campaign.results.sheet import Sheet, rank_sentence
from cranfield.campaign.results.sheet_files import sheet_values
from cranfield.campaign.rules.task_rules import time_text
from cranfield.reporting.page.html import label
from cranfield.scores import Scores
from cranfield.tabular import Table

SHADES = 9
"""Number of shades of the heat map, from the worst to the best score."""

TOTAL_WIDTH, MIN_WIDTH, MAX_WIDTH, HEIGHT = 940, 7, 18, 12
"""Width of all columns of the heat map, bounds of the width of a cell, and height of a row."""

LABEL_WIDTH, LABEL_HEIGHT, KEY_HEIGHT = 90, 22, 34
"""Space on the heat map for labels (left and above) and for the colour key (below)."""

MAX_CELLS = 40_000
"""Maximum number of cells of a legible heat map."""

MAX_NAME = 14
"""Maximum number of characters of a topic id on the heat map."""


def task_pages(
    leaderboard: TaskLeaderboard, folder: str, links: Links
) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of each page of a task."""
    title, lead = label(leaderboard.release.title), describe_task(leaderboard)
    measures = [
        name
        for name in leaderboard.release.measures
        if leaderboard.rows and name in leaderboard.rows[0]
    ]
    release = leaderboard.release
    yield page(
        *("leaderboard.html", f"{folder}/index.html", title, links),
        sortable=True,
        teams=teams_table(leaderboard),
        rules=rules_table(release),
        rules_file=link("data", f"{release.id}-rules.toml", prefix="../"),
        has_report=release.path("report.html").is_file(),
        lead=lead,
        leaderboard=leaderboard,
        measures=measures,
        unjudged=any("unjudged@10" in row for row in leaderboard.rows),
    )
    topics = topic_rows(leaderboard)
    values = [topic[name] for topic in topics for name in ("best", "median", "worst")]
    finite = [value for value in values if math.isfinite(value)]
    yield page(
        *("topics.html", f"{folder}/topics.html", f"{title}: topics", links),
        sortable=True,
        lead=lead,
        leaderboard=leaderboard,
        topics=topics,
        ends=(min(finite, default=0.0), max(finite, default=1.0)),
        map=heat_map(leaderboard, [topic["name"] for topic in topics]),
    )
    for tag, source in leaderboard.sheets.items():
        sheet = Sheet.from_json(source.read_text("utf-8"), str(source))
        about = f"{release.title}, release {release.id}. {rank_sentence(sheet)}."
        yield page(
            *("site.html", f"{folder}/{leaderboard.pages[tag]}", label(tag), links),
            lead=label(about),
            sections=render("sheet_body.html", **sheet_values(sheet)),
        )


def describe_task(leaderboard: TaskLeaderboard) -> str:
    """Return the sizes of a task, the version of its judgments and its release, as text."""
    release = leaderboard.release
    teams = len({row["team"] for row in leaderboard.rows if row.get("team")})
    counts = [counted(len(leaderboard.rows), "run"), counted(teams, "team") if teams else ""]
    if scores := release.scores.get(leaderboard.measure):
        counts.append(counted(len(scores.topics), "topic"))
    if release.about.get("judgments"):
        counts.append(f"judgments {label(str(release.about['judgments']))}")
    counts += [f"release {label(release.id)}", str(release.about.get("date") or "")]
    return ", ".join(filter(None, counts))


RULES = {
    "opens": "submissions open",
    "closes": "submissions close",
    "late": "late runs",
    "runs_per_team": "maximum number of runs per team",
    "max_per_topic": "maximum number of documents per topic",
    "types": "types of runs",
    "measures": "measures",
    "feedback": "feedback before the release",
}
"""Rules that the page of a task shows, with their labels."""


def rules_table(release: StoredRelease) -> Table | None:
    """Return the released rules of a task as a table, or None if there are none."""
    rows = []
    for key, title in RULES.items():
        value = release.rules.get(key)
        if isinstance(value, datetime):
            value = time_text(value)
        elif isinstance(value, list):
            value = ", ".join(map(str, value))
        elif key == "late":
            value = {"mark": "accepted and marked", "refuse": "refused"}.get(str(value))
        if value is not None:
            rows.append([title, label(str(value))])
    return Table("Rules of the task", ["rule", ""], rows, (0, 1)) if rows else None


def teams_table(leaderboard: TaskLeaderboard) -> Table | None:
    """Return the teams as a table, in order of their best runs."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for row in leaderboard.rows:
        if row.get("team"):
            runs.setdefault(row["team"], []).append(row)
    rows = []
    for team, team_runs in runs.items():
        name = leaderboard.team_of(team_runs[0])
        id_in_brackets = f" ({team})" if name != team else ""
        rows.append(
            [
                f"{name}{id_in_brackets}",
                len(team_runs),
                team_runs[0]["tag"],
                team_runs[0].get("rank", ""),
            ]
        )
    head = ["team", "runs", "best run", "rank"]
    return Table("Teams, by their best run", head, rows, (0, 2)) if rows else None


def topic_rows(leaderboard: TaskLeaderboard) -> list[dict[str, Any]]:
    """Return best, median and worst score of each topic, in order of median, the best first."""
    scores = leaderboard.release.scores.get(leaderboard.measure)
    topics = [
        {"name": row["topic"], **{name: float(row[name]) for name in ("best", "median", "worst")}}
        | best_runs(leaderboard, scores, row["topic"])
        for row in leaderboard.release.table("topic-statistics").iter_rows(named=True)
        if row["measure"] == leaderboard.measure and row["group"] == "all"
    ]
    sign = 1 if leaderboard.part is not None and leaderboard.part.scores.lower_is_better else -1
    return sorted(
        topics, key=lambda topic: (sign * topic["median"], sign * topic["best"], topic["name"])
    )


def best_runs(leaderboard: TaskLeaderboard, scores: Scores | None, topic: str) -> dict[str, Any]:
    """Return the runs with the best score for a topic, or a text if all runs are equal."""
    if scores is None or topic not in scores.topics:
        return {"text": "", "leading": []}
    row = scores.values[scores.topics.index(topic)]
    if np.isnan(row).all():
        return {"text": "–", "leading": []}
    is_best = is_best_value(row, scores.lower_is_better)
    if (is_best | np.isnan(row)).all() and row.size > 1:
        return {"text": "all runs equal", "leading": []}
    tags = {scores.systems[k] for k in np.flatnonzero(is_best)}
    return {"text": "", "leading": [tag for tag in leaderboard.tags if tag in tags]}


def heat_map(leaderboard: TaskLeaderboard, topics: Sequence[str]) -> dict[str, Any] | None:
    """Return the values of the heat map of scores: one row per topic, one column per run."""
    scores = leaderboard.release.scores.get(leaderboard.measure)
    if scores is None or not topics:
        return None
    values = ordered_scores(leaderboard, scores, topics)
    if values.size == 0 or values.size > MAX_CELLS or not np.isfinite(values).any():
        return {"too_large": MAX_CELLS}
    min_value, max_value = float(np.nanmin(values)), float(np.nanmax(values))
    level = (
        (values - min_value) / (max_value - min_value)
        if max_value > min_value
        else np.zeros(values.shape)
    )
    level = 1 - level if scores.lower_is_better else level
    shades = np.where(np.isnan(level), -1, np.minimum(level * SHADES, SHADES - 1)).astype(np.int64)
    rows, columns = values.shape
    cell = max(MIN_WIDTH, min(MAX_WIDTH, TOTAL_WIDTH // columns))
    square = f"h{cell - 1}v{HEIGHT - 1}h{1 - cell}z"
    paths = [
        "".join(
            f"M{LABEL_WIDTH + column * cell} {LABEL_HEIGHT + row * HEIGHT}{square}"
            for row, column in np.argwhere(shades == shade).tolist()
        )
        for shade in range(SHADES)
    ]
    step = 1 if cell == MAX_WIDTH else 10
    names = [label(topic) for topic in topics]
    key_top = LABEL_HEIGHT + rows * HEIGHT + 12
    return {
        "too_large": None,
        "width": LABEL_WIDTH + max(columns * cell, 240),
        "height": LABEL_HEIGHT + rows * HEIGHT + KEY_HEIGHT,
        "best": min_value if scores.lower_is_better else max_value,
        "worst": max_value if scores.lower_is_better else min_value,
        "shades": paths,
        "columns": [
            (k + 1, LABEL_WIDTH + k * cell + cell // 2, LABEL_HEIGHT - 6)
            for k in range(columns)
            if k == 0 or (k + 1) % step == 0
        ],
        "rows": [
            (name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…", LABEL_WIDTH - 5, y)
            for name, y in zip(
                names,
                range(LABEL_HEIGHT + 9, LABEL_HEIGHT + 9 + rows * HEIGHT, HEIGHT),
                strict=True,
            )
        ],
        "key": [f"M{LABEL_WIDTH + 45 + 16 * k} {key_top}h15v11h-15z" for k in range(SHADES)],
        "key_y": key_top + 9,
        "key_start": LABEL_WIDTH + 40,
        "key_end": LABEL_WIDTH + 50 + 16 * SHADES,
    }


def ordered_scores(leaderboard: TaskLeaderboard, scores: Scores, topics: Sequence[str]) -> Floats:
    """Return scores by topic and by run in the order of the leaderboard; NaN if missing."""
    columns = {tag: k for k, tag in enumerate(scores.systems)}
    rows = {topic: k for k, topic in enumerate(scores.topics)}
    column_order = np.array([columns[tag] for tag in leaderboard.tags if tag in columns], int)
    row_order = np.array([rows.get(topic, -1) for topic in topics])
    values: Floats = scores.values[np.ix_(row_order, column_order)]
    values[row_order < 0] = np.nan
    return values
