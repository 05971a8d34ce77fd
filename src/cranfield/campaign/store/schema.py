"""The tables of the registry, derived from the records, and connections to SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, fields
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
"""Version of the tables, which SQLite stores as `user_version`."""

LOCK_TIMEOUT = 30.0
"""Maximum number of seconds to wait while another process changes the registry."""

PRAGMAS = ("foreign_keys = ON", "synchronous = FULL", "secure_delete = ON", "trusted_schema = OFF")
"""Pragmas of each connection."""

Row = dict[str, Any]

_SQL_TYPES = {
    "str": "TEXT NOT NULL",
    "str | None": "TEXT",
    "int": "INTEGER NOT NULL",
    "int | None": "INTEGER",
    "bool": "INTEGER NOT NULL CHECK ({name} IN (0, 1))",
    "dict[str, str]": "TEXT NOT NULL",
}


@dataclass(frozen=True)
class Table:
    """Table of one type of record.

    Attributes
    ----------
    order
        Column by which records are sorted.
    declarations
        SQL declarations of columns by name, where the type of the field does not determine them.
    """

    name: str
    record_type: type
    key: tuple[str, ...]
    order: str
    declarations: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns, which are the fields of the record."""
        return tuple(column.name for column in fields(self.record_type))

    @property
    def sql(self) -> str:
        """The statement that creates the table."""
        columns = []
        for column in fields(self.record_type):
            declaration = self.declarations.get(column.name, _SQL_TYPES[str(column.type)])
            columns.append(f"{column.name} {declaration.format(name=column.name)}")
        if not any("PRIMARY KEY" in declaration for declaration in self.declarations.values()):
            columns.append(f"PRIMARY KEY ({', '.join(self.key)})")
        return f"CREATE TABLE {self.name} ({', '.join(columns)}) STRICT;"

    @property
    def key_condition(self) -> str:
        """The SQL condition that selects a row by its key, with named parameters."""
        return " AND ".join(f"{name} = :{name}" for name in self.key)

    def row(self, record: Any) -> Row:
        """Return a record as a row."""
        row = {name: getattr(record, name) for name in self.columns}
        return row | {
            k: canonical_json(value) for k, value in row.items() if isinstance(value, dict)
        }

    def record(self, row: sqlite3.Row | Row) -> Any:
        """Return a row as a record."""
        convert: dict[Any, Callable[[Any], Any]] = {"bool": bool, "dict[str, str]": json.loads}
        values = {
            column.name: convert.get(column.type, lambda value: value)(row[column.name])
            for column in fields(self.record_type)
        }
        return self.record_type(**values)


TABLES = {
    table.record_type: table
    for table in (
        Table("team", Team, ("id",), "id"),
        Table(
            "submission",
            Submission,
            ("id",),
            "id",
            {
                "id": "INTEGER PRIMARY KEY AUTOINCREMENT",
                "team": "TEXT NOT NULL REFERENCES team (id)",
                "state": "TEXT NOT NULL"
                " CHECK (state IN ('accepted', 'refused', 'replaced', 'withdrawn'))",
                "replaced_by": "INTEGER REFERENCES submission (id)",
            },
        ),
        Table("judgments", Judgments, ("task", "version"), "rowid"),
        Table("score_file", ScoreFile, ("key",), "rowid"),
        Table(
            "release",
            ReleaseRecord,
            ("id",),
            "rowid",
            {"state": "TEXT NOT NULL CHECK (state IN ('released', 'retracted'))"},
        ),
        Table("event", Event, ("seq",), "seq"),
    )
}

_EXTRA_SQL = """
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
CREATE INDEX event_rules ON event (seq) WHERE action = 'rules';
CREATE TRIGGER event_kept BEFORE UPDATE ON event
    BEGIN SELECT RAISE (ABORT, 'events are never changed'); END;
CREATE TRIGGER event_stays BEFORE DELETE ON event
    BEGIN SELECT RAISE (ABORT, 'events are never removed'); END;
"""
"""SQL of the registry besides the tables of records: faults, indexes and triggers."""


def canonical_json(value: object) -> str:
    """Return the canonical JSON text of a value."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def insert(connection: sqlite3.Connection, table: str, row: Row) -> int | None:
    """Insert a row into a table, and return its rowid."""
    # Only names of columns, which come from the code, become SQL text.
    parameters = ", ".join(f":{name}" for name in row)
    query = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({parameters})"
    return connection.execute(query, row).lastrowid


def create(path: Path) -> None:
    """Create an empty registry that only its owner may read."""
    if sqlite3.sqlite_version_info < (3, 37) or not hasattr(sqlite3.Connection, "serialize"):
        raise CranfieldError(
            "SQLite 3.37 with serialize is required for campaigns, got SQLite"
            f" {sqlite3.sqlite_version}"
        )
    path.touch(mode=0o600, exist_ok=False)
    tables = "".join(table.sql for table in TABLES.values())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(
            f"BEGIN; {tables} {_EXTRA_SQL} PRAGMA user_version = {VERSION}; COMMIT;"
        )


@contextmanager
def open_registry(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the registry of a folder, and raise errors of SQLite as errors of one line.

    Unfinished changes of killed processes are rolled back by SQLite.
    """
    path = folder / REGISTRY
    if not path.is_file():
        raise InputError("is missing", source=str(path))
    try:
        uri = f"{path.absolute().as_uri()}?mode=rw"
        connection = sqlite3.connect(uri, uri=True, timeout=LOCK_TIMEOUT, isolation_level=None)
        with closing(connection):
            connection.row_factory = sqlite3.Row
            try:
                for pragma in PRAGMAS:
                    connection.execute(f"PRAGMA {pragma}")
            except UnicodeDecodeError as error:
                # Python cannot decode SQLite's message, which quotes a damaged schema.
                raise InputError("is damaged: its schema is not text", source=str(path)) from error
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > VERSION:
                tables = f"expected tables of version {VERSION}, got {version}"
                raise InputError(f"was written by a newer cranfield: {tables}", source=str(path))
            if version < VERSION:
                raise InputError("is not the registry of a campaign", source=str(path))
            yield connection
    except UnicodeEncodeError as error:
        raise CranfieldError("text that is not Unicode cannot be stored") from error
    except sqlite3.IntegrityError as error:
        raise CranfieldError(f"the registry refuses the change: {error}") from error
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            reason = f"another process is changing the campaign; waited {LOCK_TIMEOUT:g} seconds"
            raise CranfieldError(f"{path}: {reason}") from error
        raise InputError(f"cannot be used: {error}", source=str(path)) from error
    except sqlite3.Error as error:
        reason = f"is damaged: {error} (see `cranfield campaign verify`)"
        raise InputError(reason, source=str(path)) from error
