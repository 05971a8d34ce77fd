"""The static site: made from releases alone, readable without scripts and without a server."""

from __future__ import annotations

import hashlib
import json
import math
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from importlib.resources import files
from os import fspath
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, is_best_value
from cranfield.base.errors import InputError, quote
from cranfield.base.files import hash_file
from cranfield.base.text import escape_bibtex, inflect
from cranfield.campaign.opened_campaign import OpenedCampaign, PathName, check_outside
from cranfield.campaign.pages import (
    STYLES,
    format_link,
    parse_decimal,
    render,
    replace_folder,
    write_files,
)
from cranfield.campaign.publishing.bag import validate_bag
from cranfield.campaign.results.history import history
from cranfield.campaign.results.leaderboard import compare_pairs, describe_late_winners
from cranfield.campaign.results.sheet import Sheet, format_rank, make_sheet_values
from cranfield.campaign.rules.task_rules import is_safe_name
from cranfield.campaign.store.records import (
    REGISTRY,
    RELEASES,
    ReleaseRecord,
    check_folder,
    read_json,
)
from cranfield.evaluation.scorefiles.reading import read_scores_by_measure
from cranfield.reporting.page.contents import collect_contents
from cranfield.reporting.page.data import count_overall_decimals
from cranfield.reporting.page.html import (
    Html,
    assemble_page,
    escape,
    make_label,
    make_sentence,
    read_asset,
)
from cranfield.reporting.page.sections import list_answer_lines
from cranfield.scores import Scores
from cranfield.significance.comparison.compared_pairs import shorten_letters
from cranfield.sources.columns import read_parquet_frame

COPIES = ("leaderboard.csv", "runs.csv", "teams.csv", "topic-statistics.csv", "rules.toml")
"""Files of a release that the site copies to its folder `data`."""

NO_RELEASE = "no release found; make a release with `cranfield campaign release make`"


@dataclass(frozen=True)
class StoredRelease:
    """A release of a task, whose files are read when they are needed."""

    folder: Path
    task: str
    number: int
    about: Mapping[str, Any]  # content of `about.json`
    retraction: Mapping[str, Any] | None = None  # the note of a retracted release

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def title(self) -> str:
        return str(self.about.get("title") or self.task)

    @property
    def note(self) -> str:
        return str(self.about.get("note") or "")

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(map(str, self.about.get("measures", ())))

    def make_path(self, name: str) -> Path:
        return self.folder / "data" / name

    @cached_property
    def manifest_sha256(self) -> str:
        """SHA-256 of the tag manifest, which covers every byte of the bag."""
        path = self.folder / "tagmanifest-sha256.txt"
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""

    def read_table(self, name: str) -> pl.DataFrame:
        """Read a table with all columns as text, so that the tag `01` is unchanged."""
        path = self.make_path(f"{name}.csv")
        if not path.is_file():
            return pl.DataFrame()
        try:
            return pl.read_csv(path, infer_schema=False).fill_null("")
        except pl.exceptions.PolarsError as error:
            raise InputError(f"cannot be read: {error}".splitlines()[0], source=str(path)) from None

    @cached_property
    def teams(self) -> dict[str, str]:
        """The name of each team by its id."""
        rows = self.read_table("teams").iter_rows(named=True)
        return {row["id"]: row.get("name") or row["id"] for row in rows}

    @cached_property
    def rules(self) -> Mapping[str, Any]:
        """The released rules of the task; empty if there are none."""
        path = self.make_path("rules.toml")
        if not path.is_file():
            return {}
        try:
            rules = tomllib.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise InputError(f"is not valid TOML: {error}", source=str(path)) from None
        return dict(rules.get("tasks", {}).get(self.task, {}))

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """The scores by measure, from all files of scores."""
        scores: dict[str, Scores] = {}
        for path in sorted(self.make_path("scores").glob("*.parquet")):
            frame = read_parquet_frame(path.read_bytes(), str(path))
            for name in frame.drop("topic", "system").columns:
                rows = frame.select("topic", "system", score=name)
                scores |= read_scores_by_measure(rows, [name])
        return scores


def read_releases(folder: Path) -> tuple[StoredRelease, ...]:
    """Read all releases in a folder, in order of task, newest first."""
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    releases = [release for path in paths if (release := _read_release(path)) is not None]
    if not releases:
        raise InputError(NO_RELEASE, source=str(folder))
    return tuple(sorted(releases, key=lambda release: (release.task, -release.number)))


def find_newest_releases(releases: Iterable[StoredRelease]) -> tuple[StoredRelease, ...]:
    """Return, for each task, the first of its releases that was not retracted: the newest."""
    newest_by_task: dict[str, StoredRelease] = {}
    for release in releases:
        if release.retraction is None:
            newest_by_task.setdefault(release.task, release)
    return tuple(newest_by_task.values())


def _read_release(folder: Path) -> StoredRelease | None:
    # A release is written under another name, so that a folder with this name is complete.
    name_parts = re.fullmatch(r"(?P<task>[^.].*)-(?P<number>[0-9]+)", folder.name)
    if name_parts is None or not folder.is_dir():
        return None
    note = folder.with_name(f"{folder.name}.retracted.json")
    about = read_json(folder / "data" / "about.json")
    return StoredRelease(
        folder,
        str(about.get("task", name_parts["task"])),
        int(name_parts["number"]),
        about,
        read_json(note) if note.is_file() else None,
    )


def read_recorded_releases(
    folder: Path, records: Sequence[ReleaseRecord]
) -> tuple[StoredRelease, ...]:
    """Read the recorded releases in a folder, in order of task, newest first.

    Releases without a record, which killed processes leave behind, are skipped. A recorded release
    that is missing or differs from its recorded manifest is an error.
    """
    if not records:
        raise InputError(NO_RELEASE, source=str(folder))
    releases = {release.id: release for release in read_releases(folder)}
    for record in records:
        release = releases.get(record.id)
        if release is None:
            raise InputError("is missing", source=str(folder / record.id))
        if release.manifest_sha256 != record.manifest:
            reason = "its tag manifest differs from the recorded one"
            raise InputError(reason, source=str(release.folder))
        note = release.folder.with_name(f"{release.id}.retracted.json")
        if record.retraction is None:
            # An interrupted retraction leaves a note without a record.
            releases[record.id] = replace(release, retraction=None)
        elif hash_file(note) != record.retraction:
            raise InputError("differs from the recorded note of the retraction", source=str(note))
    recorded_ids = {record.id for record in records}
    return tuple(release for id, release in releases.items() if id in recorded_ids)


MAX_PAGE_NAME_LENGTH = 60
"""Maximum number of characters of a tag in the name of its page."""


def make_file_names(tags: Iterable[str], reserved: Collection[str] = ()) -> dict[str, str]:
    """Return a file name without suffix for each tag: the tag itself if it is a valid file name.

    If a tag is not a valid name, is reserved, or differs from another tag only in case, its file
    name ends in the first digits of its SHA-256, so that names do not depend on the order of tags.

    Examples
    --------
    >>> make_file_names(["bm25", "Run", "run", "../x"], reserved=["index"])["bm25"]
    'bm25'
    >>> sorted(make_file_names(["Run", "run"]).values())
    ['Run-00d60e31', 'run-acba2551']
    """
    safe_names = {tag: _make_safe_name(tag) for tag in tags}
    counts = Counter(name.casefold() for name in safe_names.values())
    reserved_names = {name.casefold() for name in reserved}
    names: dict[str, str] = {}
    for tag, name in safe_names.items():
        is_free = counts[name.casefold()] == 1 and name.casefold() not in reserved_names
        names[tag] = name if name == tag and is_free else f"{name}-{_hash_tag(tag)[:8]}"
    used_names = {name.casefold() for name in names.values()}
    if len(used_names | reserved_names) < len(names) + len(reserved_names):
        # A tag is the same as the page name of another run: use complete hashes.
        names = {tag: f"{safe_names[tag][:20]}-{_hash_tag(tag)}" for tag in names}
    return names


def _make_safe_name(tag: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", tag)[:MAX_PAGE_NAME_LENGTH].strip(".-")
    return name if is_safe_name(name) else f"run-{name}".rstrip(".-")


def _hash_tag(tag: str) -> str:
    return hashlib.sha256(tag.encode("utf-8", "surrogatepass")).hexdigest()


PAGES = ("index", "topics", "report")
"""Names of pages of a task; pages of runs must have other names."""

MAX_FILTER_VALUES = 12
"""Maximum number of values of a category with a filter on the page."""


TaskLeaderboard = SimpleNamespace
"""Data of the pages of a task; returned by :func:`collect_task_data`."""


def collect_task_data(release: StoredRelease) -> TaskLeaderboard:
    """Return the data of the pages of a task; rows are runs, in order of the first measure."""
    measure = release.measures[0]
    run_by_tag = {row["tag"]: row for row in release.read_table("runs").iter_rows(named=True)}
    leaderboard_rows = release.read_table("leaderboard").iter_rows(named=True)
    rows = [{**run_by_tag.get(row["tag"], {}), **row} for row in leaderboard_rows]
    tags = [row["tag"] for row in rows]
    names = make_file_names(tags, PAGES)
    paths = {tag: release.make_path("sheets") / f"{tag}.json" for tag in tags if is_safe_name(tag)}
    sheets = {tag: path for tag, path in paths.items() if path.is_file()}
    groups = {row["tag"]: shorten_letters(row["groups"]) for row in rows if row.get("groups")}
    intervals = {}
    for row in rows:
        low, high = parse_decimal(row.get("low")), parse_decimal(row.get("high"))
        if low is not None and high is not None:
            intervals[row["tag"]] = (low, high)
    bounds = [bound for interval in intervals.values() for bound in interval]
    filters = {}
    for name in dict.fromkeys(["type", *map(str, release.about.get("categories", ()))]):
        values = sorted({row[name] for row in rows if row.get(name)})
        if 2 <= len(values) <= MAX_FILTER_VALUES:
            filters[name] = values
    late_note = describe_late_winners(
        (row.get("rank"), row["tag"], row.get("late") == "true") for row in rows
    )
    section = None
    if groups and (scores := release.scores.get(measure)) is not None:
        # The same comparison as for the leaderboard of the release.
        contents = collect_contents(compare_pairs(scores), title=release.title, scales=False)
        section = contents.parts[0]
    return TaskLeaderboard(
        release=release,
        measure=measure,
        rows=rows,
        tags=tags,
        # The name of the team of a row.
        team_of=lambda row: release.teams.get(row.get("team"), row.get("team")) or "–",
        # The file of each run's page, and the links to the pages of runs with a sheet.
        pages={tag: f"{name}.html" for tag, name in names.items()},
        links={tag: format_link(f"{names[tag]}.html") for tag in sheets},
        sheets=sheets,
        groups=groups,
        # The interval of the first run is drawn through all rows.
        intervals=intervals,
        first_interval=next(iter(intervals.values()), None),
        interval_range=(min(bounds, default=0.0), max(bounds, default=1.0)),
        # The columns with a filter, their values, and the values of each row.
        filters=filters,
        filter_values={
            row["tag"]: json.dumps([row.get(name, "") for name in filters]) for row in rows
        },
        # Releases contain no hash of the runs of anonymous teams.
        anonymous_ids={row["team"] for row in rows if row.get("sha256") == "" and row.get("team")},
        late_tags={row["tag"] for row in rows if row.get("late") == "true"},
        # The answer names the best runs, which may be late.
        late_note=f" {make_sentence(late_note)}" if late_note else "",
        # Runs are marked as unpooled only if some runs are marked as pooled.
        has_pooled=any(row.get("pooled") == "true" for row in rows),
        has_unpooled=any(row.get("pooled") == "false" for row in rows),
        measure_section=section,
        answer=list_answer_lines(section, has_rescaling=False) if section else [],
        decimals=count_overall_decimals(section) if section else 4,
        # The first run, and the runs that are not significantly different from it.
        top_group=section.comparison.top_group if section and section.comparison else (),
        # Retracted releases have no pages, but an interrupted retraction may have left a note.
        records=history([release.folder], measure, includes_retracted=True)
        if any(row.get("received") for row in rows)
        else None,
    )


Links = Sequence[tuple[str, str]]
"""Links of a page: the text and the target of each."""


def make_page(
    template: str, path: str, title: str, links: Links, *, uses_js: bool = False, **values: object
) -> tuple[str, bytes]:
    """Render a template; return the path and the bytes of the page."""
    # Style and script are inline: browsers check hashes of files only if a server sends them.
    style, script = read_assets()
    scripts = [script] if uses_js else []
    values |= {"title": title, "links": links, "script": Html("".join(scripts))}
    body = render(template, **values)
    return path, assemble_page(title, body, style=style, scripts=scripts).encode()


@cache
def read_assets() -> tuple[str, str]:
    style, script = (
        (files(__package__) / "assets" / name).read_text("utf-8")
        for name in ("site.css", "site.js")
    )
    style = "".join(map(read_asset, STYLES)) + style
    return style, f'(() => {{\n"use strict";\n{script}}})();\n'


SHADES = 9
"""Number of shades of the heat map, from the worst to the best score."""

MAX_CELLS = 40_000
"""Maximum number of cells of a legible heat map."""

MAX_TOPIC_LENGTH = 14
"""Maximum number of characters of a topic id on the heat map."""


def make_task_pages(
    leaderboard: TaskLeaderboard, folder: str, links: Links
) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the bytes of each page of a task."""
    release = leaderboard.release
    title, lead = make_label(release.title), describe_task(leaderboard)
    columns = leaderboard.rows[0] if leaderboard.rows else {}
    yield make_page(
        *("leaderboard.html", f"{folder}/index.html", title, links),
        uses_js=True,
        teams=group_runs_by_team(leaderboard),
        rules=release.rules,
        rules_file=format_link("data", f"{release.id}-rules.toml", prefix="../"),
        has_report=release.make_path("report.html").is_file(),
        lead=lead,
        leaderboard=leaderboard,
        measures=[name for name in release.measures if name in columns],
        judgments=describe_judgments(leaderboard),
        has_unjudged=any("unjudged@10" in row for row in leaderboard.rows),
    )
    topics = make_topic_rows(leaderboard)
    values = [topic[name] for topic in topics for name in ("best", "median", "worst")]
    finite_values = [value for value in values if math.isfinite(value)]
    yield make_page(
        *("topics.html", f"{folder}/topics.html", f"{title}: topics", links),
        uses_js=True,
        lead=lead,
        leaderboard=leaderboard,
        topics=topics,
        score_range=(min(finite_values, default=0.0), max(finite_values, default=1.0)),
        map=make_heat_map(leaderboard, [topic["name"] for topic in topics]),
    )
    for tag, source in leaderboard.sheets.items():
        sheet = Sheet.from_json(source.read_text("utf-8"), str(source))
        sheet_lead = f"{release.title}, release {release.id}. {format_rank(sheet)}."
        yield make_page(
            *("site.html", f"{folder}/{leaderboard.pages[tag]}", make_label(tag), links),
            lead=make_label(sheet_lead),
            sections=render("sheet_body.html", **make_sheet_values(sheet)),
        )


def describe_task(leaderboard: TaskLeaderboard) -> str:
    """Return the sizes of a task, the version of its judgments and its release, as text."""
    release = leaderboard.release
    n_teams = len(group_runs_by_team(leaderboard))
    phrases = [inflect(len(leaderboard.rows), "run"), inflect(n_teams, "team") if n_teams else ""]
    if scores := release.scores.get(leaderboard.measure):
        phrases.append(inflect(len(scores.topics), "topic"))
    if version := make_label(str(release.about.get("judgments") or "")):
        n_judgments = release.about.get("judged")
        judgments = "judgments" if n_judgments is None else inflect(n_judgments, "judgment")
        phrases.append(f"{judgments} (version {version})")
    phrases += [f"release {make_label(release.id)}", str(release.about.get("date") or "")]
    return ", ".join(filter(None, phrases))


def describe_judgments(leaderboard: TaskLeaderboard) -> str:
    """Describe the judgments of a task and the pool as text; empty without data on them."""
    about = leaderboard.release.about
    n_pooled = sum(row.get("pooled") == "true" for row in leaderboard.rows)
    parts = []
    if "judged" in about:
        grade = f"grade {about['min_relevant_grade']} or higher"
        relevant_text = f"{about['relevant']:,} of relevant documents ({grade})"
        parts.append(f"{inflect(about['judged'], 'judgment')}, {relevant_text}")
    if n_pooled:
        depth = about.get("pool_depth")
        documents = f"the first {inflect(depth, 'document')} of " if depth else ""
        parts.append(f"pooled: {documents}{n_pooled:,} of {inflect(len(leaderboard.rows), 'run')}")
    return make_sentence("; ".join(parts)) if parts else ""


def group_runs_by_team(leaderboard: TaskLeaderboard) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each team, in order of their best runs."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for row in leaderboard.rows:
        if row.get("team"):
            runs.setdefault(row["team"], []).append(row)
    return runs


def make_topic_rows(leaderboard: TaskLeaderboard) -> list[dict[str, Any]]:
    """Return best, median and worst score of each topic, in order of median, the best first."""
    scores = leaderboard.release.scores.get(leaderboard.measure)
    topics = [
        {"name": row["topic"], **{name: float(row[name]) for name in ("best", "median", "worst")}}
        | find_best_runs(leaderboard, scores, row["topic"])
        for row in leaderboard.release.read_table("topic-statistics").iter_rows(named=True)
        if row["measure"] == leaderboard.measure and row["group"] == "all"
    ]
    sign = 1 if scores is not None and scores.lower_is_better else -1
    return sorted(
        topics, key=lambda topic: (sign * topic["median"], sign * topic["best"], topic["name"])
    )


def find_best_runs(
    leaderboard: TaskLeaderboard, scores: Scores | None, topic: str
) -> dict[str, Any]:
    """Return the runs with the best score for a topic, or a text if all have it or none a score."""
    if scores is None or topic not in scores.topics:
        return {"text": "", "leading": []}
    row = scores.values[scores.topics.index(topic)]
    if np.isnan(row).all():
        return {"text": "–", "leading": []}
    is_best = is_best_value(row, scores.lower_is_better)
    if is_best.all() and row.size > 1:
        return {"text": "all runs equal", "leading": []}
    tags = {scores.systems[k] for k in np.flatnonzero(is_best)}
    return {"text": "", "leading": [tag for tag in leaderboard.tags if tag in tags]}


def make_heat_map(leaderboard: TaskLeaderboard, topics: Sequence[str]) -> dict[str, Any] | None:
    """Return the heat map of scores: a row per topic, a column per run; None without a score."""
    scores = leaderboard.release.scores.get(leaderboard.measure)
    if scores is None or not topics:
        return None
    values = order_scores(leaderboard, scores, topics)
    if not np.isfinite(values).any():
        return None
    if values.size > MAX_CELLS:
        return {"max_cells": MAX_CELLS}
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    level = (values - low) / (high - low) if high > low else np.zeros(values.shape)
    level = 1 - level if scores.lower_is_better else level
    shades = np.where(np.isnan(level), -1, np.minimum(level * SHADES, SHADES - 1)).astype(np.int64)
    names = list(map(make_label, topics))
    return {
        "max_cells": None,
        "best": low if scores.lower_is_better else high,
        "worst": high if scores.lower_is_better else low,
        # Rows and columns of the cells of each shade.
        "cells": [np.argwhere(shades == shade).tolist() for shade in range(SHADES)],
        "n_runs": values.shape[1],
        "topics": [
            f"{x[: MAX_TOPIC_LENGTH - 1]}…" if len(x) > MAX_TOPIC_LENGTH else x for x in names
        ],
    }


def order_scores(leaderboard: TaskLeaderboard, scores: Scores, topics: Sequence[str]) -> Floats:
    """Return scores by topic and by run in the order of the leaderboard; NaN if missing."""
    systems = [tag for tag in leaderboard.tags if tag in scores.systems]
    columns = np.array([scores.systems.index(tag) for tag in systems], int)
    rows = {topic: k for k, topic in enumerate(scores.topics)}
    row_order = np.array([rows.get(topic, -1) for topic in topics])
    values: Floats = scores.values[np.ix_(row_order, columns)]
    values[row_order < 0] = np.nan
    return values


def _format_bibtex(title: str, release: StoredRelease) -> Html:
    """Return a BibTeX entry, whose key is ASCII."""
    year = re.match(r"[0-9]{4}(?=-)", str(release.about.get("date") or ""))
    own_title = release.title
    full_title = own_title if own_title.startswith(title) else f"{title}: {own_title}"
    fields = {
        "title": f"{{{escape_bibtex(full_title)}}}",
        **({"year": year[0]} if year else {}),
        "note": f"Release {escape_bibtex(release.id)}; SHA-256 of its tag manifest"
        f" {release.manifest_sha256}",
    }
    key = re.sub(r"[^A-Za-z0-9-]+", "-", release.id)
    lines = [f"@misc{{{key},", *(f"  {name} = {{{value}}}," for name, value in fields.items()), "}"]
    return Html("\n".join(map(escape, lines)))


MAIN_PAGES = {"Campaign": "index.html", "Records": "history.html", "Data": "data.html"}
"""Pages about all tasks, by the texts of their links."""

MAX_RUNS = 10
"""Maximum number of runs of a leaderboard on the first page."""

RESERVED_NAMES = ("data", "index", "history")
"""Names that are not available for the folders of tasks."""


def write_site(campaign: OpenedCampaign, folder: PathName) -> tuple[Path, ...]:
    """Write the static site of a campaign from its releases.

    The site contains released data only; the registry is read for the list of releases.

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
        If the folder contains files of another origin, or is in the campaign's folder.
    InputError
        If a release is damaged, missing or unreadable, or no release or no parent folder exists.
    """
    records = campaign.registry.list_releases()
    return write_release_site(
        campaign.folder / RELEASES, folder, private_folder=campaign.folder, records=records
    )


def write_folder_site(folder: PathName, site: PathName) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Write the site of a campaign's folder or of a folder of releases.

    Return the paths of all files, in order, and the ids of releases excluded for lack of a record.
    """
    folder = Path(fspath(folder))
    absolute_path = folder.resolve()
    owner = absolute_path.parent if absolute_path.name == RELEASES else absolute_path
    if (owner / REGISTRY).exists():
        owner = folder if owner == absolute_path else owner
        check_folder(owner)
        campaign = OpenedCampaign(owner)
        files = write_site(campaign, site)
        recorded_ids = {record.id for record in campaign.registry.list_releases()}
        ids = [release.id for release in read_releases(owner / RELEASES)]
        return files, tuple(id for id in ids if id not in recorded_ids)
    releases = folder / RELEASES
    source = releases if releases.is_dir() else folder
    return write_release_site(source, site, private_folder=folder), ()


def write_release_site(
    releases_folder: Path,
    target: PathName,
    *,
    private_folder: Path | None = None,
    records: Sequence[ReleaseRecord] | None = None,
) -> tuple[Path, ...]:
    """Write the site of a folder of releases, to a folder outside `private_folder`.

    With `records`, only recorded releases are included.
    """
    site = Path(fspath(target))
    if private_folder is not None:
        check_outside(private_folder, site)
    if not site.resolve().parent.is_dir():
        raise InputError("the parent folder does not exist", source=str(site.parent))
    # The site is public, unlike the other files of a campaign.
    with replace_folder(site, "site", is_public=True) as new_folder:
        files: dict[str, bytes] = {}
        for path, content in make_site_files(releases_folder, records):
            if path.casefold() in {name.casefold() for name in files}:
                raise InputError(
                    f"two pages would have the file name {quote(path)}; rename one release",
                    source=str(releases_folder),
                )
            files[path] = content
        write_files(new_folder, files)
    return tuple(site / path for path in sorted(files))


def make_site_files(
    releases_folder: Path, records: Sequence[ReleaseRecord] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of each file of the site, which depend only on releases."""
    if records is None:
        releases = read_releases(releases_folder)
    else:
        releases = read_recorded_releases(releases_folder, records)
    task_releases = find_newest_releases(releases)
    newest_ids = {release.task: release.id for release in task_releases}
    for release in task_releases:
        if problems := validate_bag(release.folder):
            raise InputError(f"is damaged: {problems[0]}", source=str(release.folder))
    folders = make_file_names([release.task for release in task_releases], RESERVED_NAMES)
    leaderboards = {folders[release.task]: collect_task_data(release) for release in task_releases}
    copies: list[tuple[str, str]] = []
    for release in task_releases:
        paths = {name: f"data/{release.id}-{name}" for name in COPIES}
        paths["report.html"] = f"{folders[release.task]}/report.html"
        for name, path in paths.items():
            source = release.make_path(name)
            if source.is_file():
                content = source.read_bytes()
                copies.append((path, hashlib.sha256(content).hexdigest()))
                yield path, content
    about = (task_releases or releases)[0].about
    title = make_label(str(about.get("campaign_title") or about.get("campaign") or "Campaign"))
    n_retracted = sum(release.retraction is not None for release in releases)
    count_texts = [inflect(len(leaderboards), "task"), inflect(len(releases), "release")]
    count_texts += [f"{n_retracted} retracted"] if n_retracted else []
    links = [entry for entry in MAIN_PAGES.items() if leaderboards or entry[0] != "Records"]
    yield make_page(
        *("front.html", "index.html", title, links),
        lead=", ".join(count_texts),
        description=str(about.get("description") or ""),
        leaderboards=leaderboards,
        leads={folder: describe_task(leaderboard) for folder, leaderboard in leaderboards.items()},
        reports={path.partition("/")[0] for path, _ in copies if path.endswith("/report.html")},
        max_runs=MAX_RUNS,
        releases=releases,
        newest=newest_ids,
    )
    yield make_page(
        *("data.html", "data.html", "Data", links),
        lead=title,
        releases=releases,
        newest=newest_ids,
        copies=copies,
        citations=[_format_bibtex(title, release) for release in task_releases],
    )
    if leaderboards:
        path = "history.html"
        yield make_page(path, path, "Records", links, leaderboards=leaderboards)
    main_links = [(link_text, f"../{name}") for link_text, name in MAIN_PAGES.items()]
    for task, leaderboard in leaderboards.items():
        pages = [(make_label(leaderboard.release.title), "index.html"), ("Topics", "topics.html")]
        links = [(link_text, format_link(task, name, prefix="../")) for link_text, name in pages]
        yield from make_task_pages(leaderboard, task, main_links + links)
