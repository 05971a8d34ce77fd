"""What the site is made from: the folders of releases, and nothing beside them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from cranfield.base.errors import InputError
from cranfield.evaluation.scorefiles.reading import read_scores_by_measure
from cranfield.scores import Scores
from cranfield.sources.columns import parquet_frame

TABLES = ("leaderboard", "runs", "teams", "topic-statistics")
"""The tables of a release that the site shows and copies."""


@dataclass(frozen=True)
class Released:
    """One release of a task, read when it is asked for.

    Attributes
    ----------
    about
        What `about.json` says of it.
    retracted
        The note beside a release that was retracted; None where it stands.
    """

    folder: Path
    task: str
    number: int
    about: Mapping[str, Any]
    retracted: Mapping[str, Any] | None = None

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
        """Read a table as text: a tag `01` is no number."""
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
        frames = [parquet_frame(path.read_bytes(), str(path)) for path in paths]
        found: dict[str, Scores] = {}
        for frame in frames:
            names = [name for name in frame.columns if name not in {"topic", "system"}]
            for name in names:
                part = frame.select("topic", "system", score=name)
                found |= read_scores_by_measure(part, [name])
        return found


def read_releases(folder: Path) -> tuple[Released, ...]:
    """Read all releases of a folder, by task, the newest first."""
    if not folder.is_dir():
        raise InputError("there are no releases", source=str(folder))
    made = [one for path in sorted(folder.iterdir()) if (one := _released(path)) is not None]
    if not made:
        raise InputError("there are no releases", source=str(folder))
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
    about = _json(folder / "data" / "about.json")
    return Released(
        folder,
        str(about.get("task", named["task"])),
        int(named["number"]),
        about,
        _json(note) if note.is_file() else None,
    )


def _json(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", source=str(path)) from None
    if not isinstance(found, dict):
        raise InputError("is not an object of JSON", source=str(path))
    return found
