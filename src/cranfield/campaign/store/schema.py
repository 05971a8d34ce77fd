"""The tables of the registry, which are the records, and how SQLite is opened."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from cranfield.base.errors import CranfieldError, InputError
from cranfield.campaign.store.records import (
    REGISTRY,
    Event,
    Judgments,
    ReleaseRecord,
    ScoreFile,
    Submission,
    Team,
)

VERSION = 1
WAIT = 30.0
"""Seconds that one process waits for another one's change."""

PRAGMAS = ("foreign_keys = ON", "synchronous = FULL", "secure_delete = ON", "trusted_schema = OFF")
"""What each connection asks for; that journals are deleted is SQLite's default."""

SCHEMA = """
CREATE TABLE team (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    created TEXT NOT NULL,
    contact TEXT NOT NULL,
    anonymous_until TEXT
) STRICT;
CREATE TABLE submission (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    task TEXT NOT NULL,
    team TEXT NOT NULL REFERENCES team (id),
    tag TEXT NOT NULL,
    object TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    received TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('accepted', 'refused', 'replaced', 'withdrawn')),
    type TEXT NOT NULL,
    priority INTEGER,
    answers TEXT NOT NULL,
    metadata TEXT,
    description TEXT NOT NULL,
    ranking TEXT,
    rules TEXT NOT NULL,
    source TEXT NOT NULL,
    late INTEGER NOT NULL CHECK (late IN (0, 1)),
    pooled INTEGER NOT NULL CHECK (pooled IN (0, 1)),
    reason TEXT NOT NULL,
    replaced_by INTEGER REFERENCES submission (id),
    kept INTEGER NOT NULL CHECK (kept IN (0, 1))
) STRICT;
CREATE UNIQUE INDEX tag_taken ON submission (lower(tag)) WHERE state = 'accepted';
CREATE INDEX submission_tag ON submission (lower(tag));
CREATE INDEX submission_team ON submission (team, task);
CREATE INDEX submission_ranking ON submission (ranking);
CREATE INDEX submission_object ON submission (object);
CREATE TABLE fault (
    submission INTEGER NOT NULL REFERENCES submission (id),
    number INTEGER NOT NULL,
    code TEXT NOT NULL,
    severity TEXT NOT NULL,
    message TEXT NOT NULL,
    line INTEGER,
    topic TEXT,
    doc TEXT,
    count INTEGER NOT NULL,
    PRIMARY KEY (submission, number)
) STRICT;
CREATE TABLE judgments (
    task TEXT NOT NULL,
    version TEXT NOT NULL,
    object TEXT NOT NULL,
    rows INTEGER NOT NULL,
    added TEXT NOT NULL,
    note TEXT NOT NULL,
    PRIMARY KEY (task, version)
) STRICT;
CREATE TABLE score_file (
    key TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    judgments TEXT NOT NULL,
    path TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    about TEXT NOT NULL
) STRICT;
CREATE TABLE release (
    id TEXT PRIMARY KEY,
    task TEXT NOT NULL,
    created TEXT NOT NULL,
    judgments TEXT NOT NULL,
    path TEXT NOT NULL,
    manifest TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('released', 'retracted')),
    reason TEXT NOT NULL,
    retraction TEXT
) STRICT;
CREATE TABLE event (
    seq INTEGER PRIMARY KEY,
    at TEXT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    details TEXT NOT NULL,
    previous TEXT NOT NULL,
    sha256 TEXT NOT NULL
) STRICT;
CREATE INDEX event_rules ON event (seq) WHERE action = 'rules';
CREATE TRIGGER event_kept BEFORE UPDATE ON event
    BEGIN SELECT RAISE (ABORT, 'events are never changed'); END;
CREATE TRIGGER event_stays BEFORE DELETE ON event
    BEGIN SELECT RAISE (ABORT, 'events are never removed'); END;
"""

Record = Team | Submission | Judgments | ScoreFile | ReleaseRecord | Event
Row = dict[str, Any]


@dataclass(frozen=True)
class Table:
    """Where the records of a kind are, by which key, and in which order they are read."""

    name: str
    kind: type
    key: tuple[str, ...]
    order: str

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, which are those of the record's fields."""
        return tuple(one.name for one in fields(self.kind))

    def row(self, record: Any) -> Row:
        """Return a record as a row."""
        return {name: _stored(getattr(record, name)) for name in self.columns}

    def record(self, row: sqlite3.Row | Row) -> Any:
        """Return a row as a record."""
        read: dict[str, Callable[[Any], Any]] = {"bool": bool, "dict[str, str]": json.loads}
        values = {
            one.name: read.get(str(one.type), _as_it_is)(row[one.name]) for one in fields(self.kind)
        }
        return self.kind(**values)


TABLES = {
    one.kind: one
    for one in (
        Table("team", Team, ("id",), "id"),
        Table("submission", Submission, ("id",), "id"),
        Table("judgments", Judgments, ("task", "version"), "rowid"),
        Table("score_file", ScoreFile, ("key",), "rowid"),
        Table("release", ReleaseRecord, ("id",), "rowid"),
        Table("event", Event, ("seq",), "seq"),
    )
}


def canonical(value: object) -> str:
    """Return JSON text that is the same for the same value, always."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _stored(value: Any) -> Any:
    return canonical(value) if isinstance(value, dict) else value


def _as_it_is(value: Any) -> Any:
    return value


def create(path: Path) -> None:
    """Make an empty registry that only its owner may read."""
    if sqlite3.sqlite_version_info < (3, 37) or not hasattr(sqlite3.Connection, "serialize"):
        needed = "SQLite 3.37 with serialize is needed by campaigns"
        raise CranfieldError(f"{needed}; this Python has {sqlite3.sqlite_version}")
    path.touch(mode=0o600, exist_ok=False)
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.executescript(f"BEGIN; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;")
    finally:
        connection.close()


@contextmanager
def connected(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the registry of a folder; what SQLite says against it is said in one line.

    What a kill left half-written is rolled back by SQLite at the first look.
    """
    path = folder / REGISTRY
    if not path.is_file():
        raise InputError("is missing", source=str(path))
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=WAIT, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            try:
                for pragma in PRAGMAS:
                    connection.execute(f"PRAGMA {pragma}")
            except UnicodeDecodeError as error:
                # Python cannot decode SQLite's message, which quotes a damaged schema.
                raise InputError("is damaged: its schema is not text", source=str(path)) from error
            _check_version(connection, path)
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise _said(error, path) from error


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > VERSION:
        raise InputError(
            f"was written by a newer cranfield (tables of version {version}; this one knows "
            f"{VERSION})",
            source=str(path),
        )
    if version < VERSION:
        raise InputError("is no registry of a campaign", source=str(path))


def _said(error: sqlite3.Error, path: Path) -> CranfieldError:
    if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
        return CranfieldError(
            f"{path}: another process is changing the campaign; waited {WAIT:g} seconds"
        )
    if isinstance(error, sqlite3.IntegrityError):
        return CranfieldError(f"the registry refuses the change: {error}")
    if isinstance(error, sqlite3.OperationalError):
        return InputError(f"cannot be used: {error}", source=str(path))
    return InputError(
        f"is damaged: {error} (`cranfield campaign verify` says more)", source=str(path)
    )
