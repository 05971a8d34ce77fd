"""Write the site to a folder, completely or not at all."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from os import fspath
from pathlib import Path
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, is_best_value
from cranfield.base.errors import InputError, quoted
from cranfield.base.text import bibtex, counted
from cranfield.campaign.opened_campaign import OpenedCampaign, PathName, check_outside
from cranfield.campaign.pages import STYLES, link, render, replaced_folder, write_files
from cranfield.campaign.publishing.bag import validate_bag
from cranfield.campaign.publishing.site.releases import (
    COPIES,
    StoredRelease,
    TaskLeaderboard,
    file_names,
    newest_releases,
    read_recorded_releases,
    read_releases,
    task_leaderboard,
)
from cranfield.campaign.results.sheet import Sheet, rank_sentence, sheet_values
from cranfield.campaign.store.records import REGISTRY, RELEASES, ReleaseRecord, check_folder
from cranfield.reporting.page.html import Html, asset, label, text, whole_page
from cranfield.scores import Scores

Links = Sequence[tuple[str, str]]
"""Texts and targets of links."""


def page(
    template: str, path: str, title: str, links: Links, *, sortable: bool = False, **values: object
) -> tuple[str, bytes]:
    """Render a template; return the path and the bytes of the page."""
    # Style and script are inline: browsers check hashes of files only if a server sends them.
    style, script = site_assets()
    scripts = [script] if sortable else []
    values |= {"title": title, "links": links, "script": Html("".join(scripts))}
    body = render(template, **values)
    return path, whole_page(title, body, style=style, scripts=scripts).encode()


@cache
def site_assets() -> tuple[str, str]:
    style, script = (
        (files(__package__) / "assets" / name).read_text("utf-8")
        for name in ("site.css", "site.js")
    )
    style = "".join(map(asset, STYLES)) + style
    return style, f'(() => {{\n"use strict";\n{script}}})();\n'


SHADES = 9
"""Number of shades of the heat map, from the worst to the best score."""

MAX_CELLS = 40_000
"""Maximum number of cells of a legible heat map."""

MAX_NAME = 14
"""Maximum number of characters of a topic id on the heat map."""


def task_pages(
    leaderboard: TaskLeaderboard, folder: str, links: Links
) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of each page of a task."""
    release = leaderboard.release
    title, lead = label(release.title), describe_task(leaderboard)
    columns = leaderboard.rows[0] if leaderboard.rows else {}
    yield page(
        *("leaderboard.html", f"{folder}/index.html", title, links),
        sortable=True,
        teams=runs_by_team(leaderboard),
        rules=release.rules,
        rules_file=link("data", f"{release.id}-rules.toml", prefix="../"),
        has_report=release.path("report.html").is_file(),
        lead=lead,
        leaderboard=leaderboard,
        measures=[name for name in release.measures if name in columns],
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
    n_teams = len(runs_by_team(leaderboard))
    counts = [counted(len(leaderboard.rows), "run"), counted(n_teams, "team") if n_teams else ""]
    if scores := release.scores.get(leaderboard.measure):
        counts.append(counted(len(scores.topics), "topic"))
    if release.about.get("judgments"):
        counts.append(f"judgments {label(str(release.about['judgments']))}")
    counts += [f"release {label(release.id)}", str(release.about.get("date") or "")]
    return ", ".join(filter(None, counts))


def runs_by_team(leaderboard: TaskLeaderboard) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each team, in order of their best runs."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for row in leaderboard.rows:
        if row.get("team"):
            runs.setdefault(row["team"], []).append(row)
    return runs


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
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    level = (values - low) / (high - low) if high > low else np.zeros(values.shape)
    level = 1 - level if scores.lower_is_better else level
    shades = np.where(np.isnan(level), -1, np.minimum(level * SHADES, SHADES - 1)).astype(np.int64)
    names = list(map(label, topics))
    return {
        "too_large": None,
        "best": low if scores.lower_is_better else high,
        "worst": high if scores.lower_is_better else low,
        # Rows and columns of the cells of each shade.
        "cells": [np.argwhere(shades == shade).tolist() for shade in range(SHADES)],
        "n_runs": values.shape[1],
        "topics": [f"{x[: MAX_NAME - 1]}…" if len(x) > MAX_NAME else x for x in names],
    }


def ordered_scores(leaderboard: TaskLeaderboard, scores: Scores, topics: Sequence[str]) -> Floats:
    """Return scores by topic and by run in the order of the leaderboard; NaN if missing."""
    systems = [tag for tag in leaderboard.tags if tag in scores.systems]
    columns = np.array([scores.systems.index(tag) for tag in systems], int)
    rows = {topic: k for k, topic in enumerate(scores.topics)}
    row_order = np.array([rows.get(topic, -1) for topic in topics])
    values: Floats = scores.values[np.ix_(row_order, columns)]
    values[row_order < 0] = np.nan
    return values


def _bibtex(title: str, release: StoredRelease) -> Html:
    """Return a BibTeX entry, whose key is ASCII."""
    year = re.match(r"[0-9]{4}(?=-)", str(release.about.get("date") or ""))
    own_title = release.title
    full_title = own_title if own_title.startswith(title) else f"{title}: {own_title}"
    fields = {
        "title": f"{{{bibtex(full_title)}}}",
        **({"year": year[0]} if year else {}),
        "note": f"Release {bibtex(release.id)}; SHA-256 of its tag manifest {release.manifest}",
    }
    key = re.sub(r"[^A-Za-z0-9-]+", "-", release.id)
    lines = [f"@misc{{{key},", *(f"  {name} = {{{value}}}," for name, value in fields.items()), "}"]
    return Html("\n".join(map(text, lines)))


MAIN_PAGES = {"Campaign": "index.html", "Records": "history.html", "Data": "data.html"}
"""Pages about all tasks, by text of their links."""

MAX_RUNS = 10
"""Maximum number of runs of a leaderboard on the first page."""

RESERVED_NAMES = ("data", "index", "history")
"""Names that folders of tasks cannot have."""


def write_site(campaign: OpenedCampaign, folder: PathName) -> tuple[Path, ...]:
    """Write the static site of a campaign from its releases.

    Only the list of releases with their hashes is read from the registry.

    Parameters
    ----------
    campaign
        The campaign.
    folder
        Folder of the site, which is written completely or not at all. It must be new, empty, or a
        site that cranfield wrote.

    Returns
    -------
    tuple of Path
        Paths of all files, in order.

    Raises
    ------
    PolicyError
        If the folder contains other files, or is in the campaign's folder.
    InputError
        If there is no release, or a release is damaged, missing or unreadable.
    """
    records = campaign.registry.releases()
    return write_release_site(
        campaign.folder / RELEASES, folder, private=campaign.folder, records=records
    )


def write_site_from(folder: PathName, site: PathName) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Write the site of a folder of a campaign or of a folder of releases.

    Return the paths of all files, in order, and the ids of excluded releases, which have no record.
    """
    folder = Path(fspath(folder))
    resolved = folder.resolve()
    owner = resolved.parent if resolved.name == RELEASES else resolved
    if (owner / REGISTRY).exists():
        owner = folder if owner == resolved else owner
        check_folder(owner)
        campaign = OpenedCampaign(owner)
        files = write_site(campaign, site)
        recorded_ids = {record.id for record in campaign.registry.releases()}
        ids = [release.id for release in read_releases(owner / RELEASES)]
        return files, tuple(id for id in ids if id not in recorded_ids)
    releases = folder / RELEASES
    source = releases if releases.is_dir() else folder
    return write_release_site(source, site, private=folder), ()


def write_release_site(
    releases: Path,
    folder: PathName,
    *,
    private: Path | None = None,
    records: Sequence[ReleaseRecord] | None = None,
) -> tuple[Path, ...]:
    """Write the site of a folder of releases, to a folder outside the folder `private`.

    With `records`, only recorded releases are included.
    """
    target = Path(fspath(folder))
    if private is not None:
        check_outside(private, target)
    if not target.resolve().parent.is_dir():
        raise InputError("the parent folder does not exist", source=str(target.parent))
    # The site is public, unlike the other files of a campaign.
    with replaced_folder(target, "site", public=True) as new_folder:
        files: dict[str, bytes] = {}
        for path, content in site_files(releases, records):
            if path.casefold() in {name.casefold() for name in files}:
                raise InputError(
                    f"two pages would have the file name {quoted(path)}; rename one release",
                    source=str(releases),
                )
            files[path] = content
        write_files(new_folder, files)
    return tuple(target / path for path in sorted(files))


def site_files(
    folder: Path, records: Sequence[ReleaseRecord] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of each file of the site, which depend only on releases."""
    releases = read_releases(folder) if records is None else read_recorded_releases(folder, records)
    newest = newest_releases(releases)
    for release in newest:
        if problems := validate_bag(release.folder):
            raise InputError(f"is damaged: {problems[0]}", source=str(release.folder))
    folders = file_names([release.task for release in newest], RESERVED_NAMES)
    leaderboards = {folders[release.task]: task_leaderboard(release) for release in newest}
    copies: list[tuple[str, str]] = []
    for release in newest:
        paths = {name: f"data/{release.id}-{name}" for name in COPIES}
        paths["report.html"] = f"{folders[release.task]}/report.html"
        for name, path in paths.items():
            source = release.path(name)
            if source.is_file():
                content = source.read_bytes()
                copies.append((path, hashlib.sha256(content).hexdigest()))
                yield path, content
    about = (newest or releases)[0].about
    title = label(str(about.get("campaign_title") or about.get("campaign") or "Campaign"))
    n_current = sum(release.retracted is None for release in releases)
    links = [entry for entry in MAIN_PAGES.items() if leaderboards or entry[0] != "Records"]
    yield page(
        *("front.html", "index.html", title, links),
        lead=f"{counted(len(leaderboards), 'task')}, {counted(n_current, 'release')}",
        description=str(about.get("description") or ""),
        leaderboards=leaderboards,
        leads={folder: describe_task(leaderboard) for folder, leaderboard in leaderboards.items()},
        reports={path.partition("/")[0] for path, _ in copies if path.endswith("/report.html")},
        max_runs=MAX_RUNS,
        releases=releases,
    )
    yield page(
        *("data.html", "data.html", "Data", links),
        lead=title,
        releases=releases,
        copies=copies,
        citations=[_bibtex(title, release) for release in newest],
    )
    if leaderboards:
        path = "history.html"
        yield page(path, path, "Records", links, leaderboards=leaderboards)
    main_links = [(word, f"../{name}") for word, name in MAIN_PAGES.items()]
    for task, leaderboard in leaderboards.items():
        pages = [(label(leaderboard.release.title), "index.html"), ("Topics", "topics.html")]
        links = [(word, link(task, name, prefix="../")) for word, name in pages]
        yield from task_pages(leaderboard, task, main_links + links)
