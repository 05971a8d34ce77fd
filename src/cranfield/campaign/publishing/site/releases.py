"""The folders of releases, from which the site is made."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from cranfield.base.errors import InputError
from cranfield.base.files import file_sha256
from cranfield.campaign.pages import decimal, link
from cranfield.campaign.publishing.site.pages import file_names
from cranfield.campaign.results.history import History, history
from cranfield.campaign.results.leaderboard import compared
from cranfield.campaign.rules.task_rules import safe_name
from cranfield.campaign.store.records import ReleaseRecord, read_json
from cranfield.evaluation.scorefiles.reading import read_scores_by_measure
from cranfield.reporting.page.contents import Part, collect
from cranfield.reporting.page.data import places
from cranfield.reporting.page.sections import answer
from cranfield.scores import Scores
from cranfield.significance.comparison.compared_pairs import shortened
from cranfield.sources.columns import parquet_frame

TABLES = ("leaderboard", "runs", "teams", "topic-statistics")
"""The tables of a release that the site shows and copies."""


@dataclass(frozen=True)
class Released:
    """One release of a task, read on request."""

    folder: Path
    task: str
    number: int
    about: Mapping[str, Any]  # its `about.json`
    retracted: Mapping[str, Any] | None = None  # the note beside a release that was retracted

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
        """SHA-256 of the bag's tag manifest, which covers every byte of it."""
        path = self.folder / "tagmanifest-sha256.txt"
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""

    def table(self, name: str) -> pl.DataFrame:
        """Read a table as text, so that a tag `01` stays text."""
        path = self.path(f"{name}.csv")
        if not path.is_file():
            return pl.DataFrame()
        try:
            return pl.read_csv(path, infer_schema=False).fill_null("")
        except pl.exceptions.PolarsError as error:
            raise InputError(f"cannot be read: {error}".splitlines()[0], source=str(path)) from None

    @cached_property
    def scores(self) -> dict[str, Scores]:
        """Scores by measure, of all files of scores."""
        paths = sorted(self.path("scores").glob("*.parquet"))
        found: dict[str, Scores] = {}
        for path in paths:
            frame = parquet_frame(path.read_bytes(), str(path))
            names = [name for name in frame.columns if name not in {"topic", "system"}]
            for name in names:
                part = frame.select("topic", "system", score=name)
                found |= read_scores_by_measure(part, [name])
        return found


def read_releases(folder: Path) -> tuple[Released, ...]:
    """Read all releases of a folder, by task, the newest first."""
    paths = sorted(folder.iterdir()) if folder.is_dir() else []
    made = [one for path in paths if (one := _released(path)) is not None]
    if not made:
        raise InputError("no release found", source=str(folder))
    return tuple(sorted(made, key=lambda one: (one.task, -one.number)))


def newest(releases: Iterable[Released]) -> tuple[Released, ...]:
    """Return of each task the newest release that was not retracted."""
    found: dict[str, Released] = {}
    for one in releases:
        if one.retracted is None:
            found.setdefault(one.task, one)
    return tuple(found.values())


def _released(folder: Path) -> Released | None:
    # What is being made has another name, and a release is whole when it has its own.
    named = re.fullmatch(r"(?P<task>[^.].*)-(?P<number>[0-9]+)", folder.name)
    if named is None or not folder.is_dir():
        return None
    note = folder.with_name(f"{folder.name}.retracted.json")
    about = read_json(folder / "data" / "about.json")
    return Released(
        folder,
        str(about.get("task", named["task"])),
        int(named["number"]),
        about,
        read_json(note) if note.is_file() else None,
    )


def entered(folder: Path, records: Sequence[ReleaseRecord]) -> tuple[Released, ...]:
    """Read the releases of a folder that a registry has, by task, the newest first.

    A release that a kill left, or that somebody else put there, is none. One that is missing, or
    that is whole by manifests that are not those it was made with, is an error.
    """
    known = {one.id: one for one in records}
    if not records:
        raise InputError("no release found", source=str(folder))
    there = [one for one in read_releases(folder) if one.id in known]
    if missing := [name for name in known if name not in {one.id for one in there}]:
        raise InputError("is missing", source=str(folder / missing[0]))
    found = []
    for one in there:
        if one.manifest != known[one.id].manifest:
            raise InputError("differs from the recorded release", source=str(one.folder))
        retraction = known[one.id].retraction
        note = one.folder.with_name(f"{one.id}.retracted.json")
        if retraction is not None and file_sha256(note) != retraction:
            raise InputError("differs from the recorded note", source=str(note))
        # A note without a record is of a retraction that a kill stopped.
        found.append(one if retraction is not None else replace(one, retracted=None))
    return tuple(found)


def not_entered(folder: Path, records: Sequence[ReleaseRecord]) -> tuple[str, ...]:
    """Name the releases in a folder that no record names."""
    known = {one.id for one in records}
    return tuple(one.id for one in read_releases(folder) if one.id not in known)


PAGES = ("index", "topics", "report")
"""Names of pages of a task, which no run's page has."""

MOST_KINDS = 12
"""Maximum number of values of a question that can be filtered by."""


@dataclass(frozen=True)
class TaskLeaderboard:
    """A release with its leaderboard: one row a run, in the order of the first measure."""

    release: Released

    @cached_property
    def rows(self) -> tuple[Mapping[str, str], ...]:
        """The rows of the leaderboard, joined with the table of runs."""
        runs = {row["tag"]: row for row in self.release.table("runs").iter_rows(named=True)}
        leaderboard = self.release.table("leaderboard").iter_rows(named=True)
        return tuple({**runs.get(row["tag"], {}), **row} for row in leaderboard)

    @cached_property
    def tags(self) -> tuple[str, ...]:
        """The runs in the order of the leaderboard."""
        return tuple(row["tag"] for row in self.rows)

    @cached_property
    def pages(self) -> dict[str, str]:
        """The file of each run's page, without suffix."""
        return file_names(self.tags, PAGES)

    def page(self, tag: str) -> str | None:
        """Return the link to a run's page from a page of the same task; None if it has none."""
        has_page = tag in self.pages and self.sheet(tag) is not None
        return link(f"{self.pages[tag]}.html") if has_page else None

    @property
    def measure(self) -> str:
        return self.release.measures[0]

    def sheet(self, tag: str) -> Path | None:
        """The sheet of a run; None where the release has none, or could not name its file."""
        path = self.release.path("sheets") / f"{tag}.json"
        return path if safe_name(tag) and path.is_file() else None

    @cached_property
    def part(self) -> Part | None:
        """The comparison by the first measure; None if runs were not compared."""
        scores = self.release.scores.get(self.measure)
        if scores is None or not self.groups:
            return None
        # As the leaderboard of the release was made.
        return collect(compared(scores), title=self.release.title, scales=False).parts[0]

    @cached_property
    def answer(self) -> list[str]:
        """The comparison by the first measure, in sentences."""
        return answer(self.part) if self.part else []

    @cached_property
    def records(self) -> History | None:
        """The runs in order of days; None if the release does not say when each was submitted."""
        if not all(row.get("received") for row in self.rows):
            return None
        # Which releases are shown was decided by the records of the campaign, if there are any.
        return history([self.release.folder], self.measure, retracted=True)

    @cached_property
    def kinds(self) -> dict[str, list[str]]:
        """The columns that runs can be filtered by, with their values."""
        kinds = {}
        for name in dict.fromkeys(["type", *map(str, self.release.about.get("categories", ()))]):
            values = sorted({row[name] for row in self.rows if row.get(name)})
            if 2 <= len(values) <= MOST_KINDS:
                kinds[name] = values
        return kinds

    def kinds_of(self, row: Mapping[str, str]) -> str:
        """Return the values of a row in these columns, as JSON."""
        return json.dumps([row.get(name, "") for name in self.kinds])

    def has(self, column: str, value: str) -> bool:
        """Return True if any row has a value in a column."""
        return any(row.get(column) == value for row in self.rows)

    @cached_property
    def groups(self) -> dict[str, str]:
        """Letters of each run; runs that share a letter are not significantly different."""
        return {row["tag"]: shortened(row["groups"]) for row in self.rows if row.get("groups")}

    @cached_property
    def intervals(self) -> tuple[dict[str, tuple[float, float]], tuple[float, float] | None]:
        """Return the confidence interval of each run, and that of the first, drawn in all rows."""
        by_run = {}
        for row in self.rows:
            low, high = decimal(row.get("low")), decimal(row.get("high"))
            if low is not None and high is not None:
                by_run[row["tag"]] = (low, high)
        return by_run, next(iter(by_run.values()), None)

    @cached_property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest bound of all runs."""
        bounds = [end for pair in self.intervals[0].values() for end in pair]
        return min(bounds, default=0.0), max(bounds, default=1.0)

    @cached_property
    def pooled(self) -> bool:
        """Whether any run is marked as pooled; otherwise no run is marked as unpooled."""
        return self.has("pooled", "true")

    @property
    def places(self) -> int:
        return places(self.part) if self.part else 4

    @property
    def not_separated(self) -> tuple[str, ...]:
        """Runs that are not significantly different from the first, which comes first."""
        one = self.part.comparison if self.part else None
        return one.top_group if one else ()
