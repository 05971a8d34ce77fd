"""Read folders of releases, and prepare the data of the site."""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl

from cranfield.base.errors import InputError
from cranfield.base.files import file_sha256
from cranfield.campaign.pages import link, parse_decimal
from cranfield.campaign.results.history import history
from cranfield.campaign.results.leaderboard import compare_pairs
from cranfield.campaign.rules.task_rules import is_safe_name
from cranfield.campaign.store.records import ReleaseRecord, read_json
from cranfield.evaluation.scorefiles.reading import read_scores_by_measure
from cranfield.reporting.page.contents import collect_contents
from cranfield.reporting.page.data import n_decimals
from cranfield.reporting.page.sections import answer
from cranfield.scores import Scores
from cranfield.significance.comparison.compared_pairs import shorten_letters
from cranfield.sources.columns import parquet_frame

COPIES = ("leaderboard.csv", "runs.csv", "teams.csv", "topic-statistics.csv", "rules.toml")
"""Files of a release that the site copies to its folder `data`."""

NO_RELEASE = "no release found; `cranfield campaign release make` makes one"


@dataclass(frozen=True)
class StoredRelease:
    """A release of a task, whose files are read when they are needed."""

    folder: Path
    task: str
    number: int
    about: Mapping[str, Any]  # content of `about.json`
    retracted: Mapping[str, Any] | None = None  # the note of a retracted release

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def title(self) -> str:
        return str(self.about.get("title") or self.task)

    @property
    def measures(self) -> tuple[str, ...]:
        return tuple(map(str, self.about.get("measures", ())))

    def path(self, name: str) -> Path:
        return self.folder / "data" / name

    @cached_property
    def manifest(self) -> str:
        """SHA-256 of the tag manifest, which covers every byte of the bag."""
        path = self.folder / "tagmanifest-sha256.txt"
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""

    def table(self, name: str) -> pl.DataFrame:
        """Read a table with all columns as text, so that the tag `01` is unchanged."""
        path = self.path(f"{name}.csv")
        if not path.is_file():
            return pl.DataFrame()
        try:
            return pl.read_csv(path, infer_schema=False).fill_null("")
        except pl.exceptions.PolarsError as error:
            raise InputError(f"cannot be read: {error}".splitlines()[0], source=str(path)) from None

    @cached_property
    def teams(self) -> dict[str, str]:
        """The name of each team by its id."""
        rows = self.table("teams").iter_rows(named=True)
        return {row["id"]: row.get("name") or row["id"] for row in rows}

    @cached_property
    def rules(self) -> Mapping[str, Any]:
        """The released rules of the task; empty if there are none."""
        path = self.path("rules.toml")
        if not path.is_file():
            return {}
        try:
            rules = tomllib.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise InputError(f"is not TOML: {error}", source=str(path)) from None
        return dict(rules.get("tasks", {}).get(self.task, {}))

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """The scores by measure, from all files of scores."""
        scores: dict[str, Scores] = {}
        for path in sorted(self.path("scores").glob("*.parquet")):
            frame = parquet_frame(path.read_bytes(), str(path))
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


def newest_releases(releases: Iterable[StoredRelease]) -> tuple[StoredRelease, ...]:
    """Return the newest release of each task that was not retracted."""
    newest: dict[str, StoredRelease] = {}
    for release in releases:
        if release.retracted is None:
            newest.setdefault(release.task, release)
    return tuple(newest.values())


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

    Releases without a record, such as releases of killed processes, are skipped. A recorded release
    that is missing or has another manifest is an error.
    """
    if not records:
        raise InputError(NO_RELEASE, source=str(folder))
    releases = {release.id: release for release in read_releases(folder)}
    for record in records:
        release = releases.get(record.id)
        if release is None:
            raise InputError("is missing", source=str(folder / record.id))
        if release.manifest != record.manifest:
            reason = "its tag manifest differs from the recorded one"
            raise InputError(reason, source=str(release.folder))
        note = release.folder.with_name(f"{release.id}.retracted.json")
        if record.retraction is None:
            # A note without a record is left from an interrupted retraction.
            releases[record.id] = replace(release, retracted=None)
        elif file_sha256(note) != record.retraction:
            raise InputError("differs from the recorded note of the retraction", source=str(note))
    recorded_ids = {record.id for record in records}
    return tuple(release for id, release in releases.items() if id in recorded_ids)


MAX_LENGTH = 60
"""Maximum number of characters of a tag in the name of its page."""


def file_names(tags: Iterable[str], reserved: Collection[str] = ()) -> dict[str, str]:
    """Return a file name without suffix for each tag: the tag itself if it is a valid file name.

    Other names, names that differ only in case, and reserved names end in the first digits of the
    SHA-256 of the tag, so that names do not depend on the order of tags.

    Examples
    --------
    >>> file_names(["bm25", "Run", "run", "../x"], reserved=["index"])["bm25"]
    'bm25'
    >>> sorted(file_names(["Run", "run"]).values())
    ['Run-00d60e31', 'run-acba2551']
    """
    safe_names = {tag: _safe_name(tag) for tag in tags}
    counts = Counter(name.casefold() for name in safe_names.values())
    reserved = {name.casefold() for name in reserved}
    names: dict[str, str] = {}
    for tag, name in safe_names.items():
        is_free = counts[name.casefold()] == 1 and name.casefold() not in reserved
        names[tag] = name if name == tag and is_free else f"{name}-{_digest(tag)[:8]}"
    if len({name.casefold() for name in names.values()} | reserved) < len(names) + len(reserved):
        # The tag of a run is the name of the page of another run.
        names = {tag: f"{safe_names[tag][:20]}-{_digest(tag)}" for tag in names}
    return names


def _safe_name(tag: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", tag)[:MAX_LENGTH].strip(".-")
    return name if is_safe_name(name) else f"run-{name}".rstrip(".-")


def _digest(tag: str) -> str:
    return hashlib.sha256(tag.encode("utf-8", "surrogatepass")).hexdigest()


PAGES = ("index", "topics", "report")
"""Names of pages of a task, which pages of runs cannot have."""

MAX_KINDS = 12
"""Maximum number of values of a question that runs can be filtered by."""


TaskLeaderboard = SimpleNamespace
"""Data of the pages of a task; returned by :func:`task_leaderboard`."""


def task_leaderboard(release: StoredRelease) -> TaskLeaderboard:
    """Return the data of the pages of a task; rows are runs, in order of the first measure."""
    measure = release.measures[0]
    about_runs = {row["tag"]: row for row in release.table("runs").iter_rows(named=True)}
    board = release.table("leaderboard").iter_rows(named=True)
    rows = [{**about_runs.get(row["tag"], {}), **row} for row in board]
    tags = [row["tag"] for row in rows]
    names = file_names(tags, PAGES)
    paths = {tag: release.path("sheets") / f"{tag}.json" for tag in tags if is_safe_name(tag)}
    sheets = {tag: path for tag, path in paths.items() if path.is_file()}
    groups = {row["tag"]: shorten_letters(row["groups"]) for row in rows if row.get("groups")}
    intervals = {}
    for row in rows:
        low, high = parse_decimal(row.get("low")), parse_decimal(row.get("high"))
        if low is not None and high is not None:
            intervals[row["tag"]] = (low, high)
    bounds = [bound for interval in intervals.values() for bound in interval]
    kinds = {}
    for name in dict.fromkeys(["type", *map(str, release.about.get("categories", ()))]):
        values = sorted({row[name] for row in rows if row.get(name)})
        if 2 <= len(values) <= MAX_KINDS:
            kinds[name] = values
    part = None
    if groups and (scores := release.scores.get(measure)) is not None:
        # The same comparison as for the leaderboard of the release.
        part = collect_contents(compare_pairs(scores), title=release.title, scales=False).parts[0]
    return TaskLeaderboard(
        release=release,
        measure=measure,
        rows=rows,
        tags=tags,
        # The name of the team of a row.
        team_of=lambda row: release.teams.get(row.get("team"), row.get("team")) or "–",
        # The file of each run's page, and the links to the pages of runs with a sheet.
        pages={tag: f"{name}.html" for tag, name in names.items()},
        links={tag: link(f"{names[tag]}.html") for tag in sheets},
        sheets=sheets,
        groups=groups,
        # All rows show the interval of the first run.
        intervals=intervals,
        first_interval=next(iter(intervals.values()), None),
        ends=(min(bounds, default=0.0), max(bounds, default=1.0)),
        # The columns that runs can be filtered by, their values, and the values of each row.
        kinds=kinds,
        kinds_of={row["tag"]: json.dumps([row.get(name, "") for name in kinds]) for row in rows},
        has_late=any(row.get("late") == "true" for row in rows),
        # Runs are marked as unpooled only if some runs are marked as pooled.
        has_pooled=any(row.get("pooled") == "true" for row in rows),
        has_unpooled=any(row.get("pooled") == "false" for row in rows),
        part=part,
        answer=answer(part) if part else [],
        places=n_decimals(part) if part else 4,
        # The first run, and the runs that are not significantly different from it.
        not_separated=part.comparison.top_group if part and part.comparison else (),
        # Retracted releases have no pages; a note without a record must not exclude this release.
        records=history([release.folder], measure, retracted=True)
        if all(row.get("received") for row in rows)
        else None,
    )
