"""The registry: records in SQLite, the chain of events, queries and transactions."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from cranfield.base.errors import CranfieldError, InputError
from cranfield.campaign.checks.report import PRIVATE, Fault
from cranfield.campaign.store import records
from cranfield.campaign.store.records import (
    ACCEPTED,
    REGISTRY,
    Event,
    JudgmentsRecord,
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
"""SQLite settings; `secure_delete` erases the bytes of removed contacts."""

Row = dict[str, Any]

_SQL_TYPES = {
    "str": "TEXT NOT NULL",
    "str | None": "TEXT",
    "int": "INTEGER NOT NULL",
    "int | None": "INTEGER",
    "bool": "INTEGER NOT NULL CHECK ({name} IN (0, 1))",
    "dict[str, str]": "TEXT NOT NULL",
}
_FROM_SQL: dict[Any, Callable[[Any], Any]] = {"bool": bool, "dict[str, str]": json.loads}


@dataclass(frozen=True)
class RecordTable:
    """Table of one type of record, sorted by the column `order`.

    `declarations` has the SQL of columns that the type of the field does not determine.
    """

    name: str
    record_type: type
    key: tuple[str, ...]
    order: str
    declarations: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of the table, which are the fields of the record."""
        return tuple(column.name for column in fields(self.record_type))

    @property
    def sql(self) -> str:
        types = {column.name: _SQL_TYPES[str(column.type)] for column in fields(self.record_type)}
        declarations = {**types, **self.declarations}.items()
        columns = [f"{name} {text.format(name=name)}" for name, text in declarations]
        if not any("PRIMARY KEY" in declaration for declaration in self.declarations.values()):
            columns.append(f"PRIMARY KEY ({', '.join(self.key)})")
        return f"CREATE TABLE {self.name} ({', '.join(columns)}) STRICT;"

    def to_row(self, record: Any) -> Row:
        return {
            name: format_canonical_json(value) if isinstance(value, dict) else value
            for name, value in vars(record).items()
        }

    def to_record(self, row: sqlite3.Row | Row) -> Any:
        values = dict(row)
        for column in fields(self.record_type):
            if column.type in _FROM_SQL:
                values[column.name] = _FROM_SQL[column.type](values[column.name])
        return self.record_type(**values)


TABLES = {
    table.record_type: table
    for table in (
        RecordTable("team", Team, ("id",), "id"),
        RecordTable(
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
        RecordTable("judgments", JudgmentsRecord, ("task", "version"), "rowid"),
        RecordTable("score_file", ScoreFile, ("key",), "rowid"),
        RecordTable(
            "release",
            ReleaseRecord,
            ("id",),
            "rowid",
            {"state": "TEXT NOT NULL CHECK (state IN ('released', 'retracted'))"},
        ),
        RecordTable("event", Event, ("seq",), "seq"),
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


def format_canonical_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def insert_row(connection: sqlite3.Connection, table: str, row: Row) -> int | None:
    # Only names of columns, which come from the code, become SQL text.
    parameters = ", ".join(f":{name}" for name in row)
    query = f"INSERT INTO {table} ({', '.join(row)}) VALUES ({parameters})"
    return connection.execute(query, row).lastrowid


def create_registry(path: Path) -> None:
    """Create an empty registry that only its owner may read."""
    if sqlite3.sqlite_version_info < (3, 37) or not hasattr(sqlite3.Connection, "serialize"):
        got = f"{sqlite3.sqlite_version}, serialize: {hasattr(sqlite3.Connection, 'serialize')}"
        raise CranfieldError(f"campaigns require SQLite >= 3.37 compiled with serialize, got {got}")
    path.touch(mode=0o600, exist_ok=False)
    tables = "".join(table.sql for table in TABLES.values())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(
            f"BEGIN; {tables} {_EXTRA_SQL} PRAGMA user_version = {VERSION}; COMMIT;"
        )


@contextmanager
def open_registry(folder: Path) -> Iterator[sqlite3.Connection]:
    """Open the registry of a folder, and convert errors of SQLite to errors of cranfield.

    SQLite rolls back unfinished changes of killed processes.
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
                expected = f"expected version {VERSION}, got {version}; update cranfield"
                raise InputError(f"was written by a newer cranfield: {expected}", source=str(path))
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


REMOVED = "removed"
"""Key that marks a removed row in an event."""

INITIAL_HASH = "0" * 64
"""The `previous` hash of the first event."""

Key = tuple[str, tuple[Any, ...]]
"""Name of a table, and the key of a row in it."""

KEYS = {table.name: table.key for record_type, table in TABLES.items() if record_type is not Event}
KEYS["fault"] = ("submission", "number")
"""Key columns of the tables whose rows are logged in events."""


def hash_event(event: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the fields of an event except `sha256`, as JSON with sorted keys."""
    text = format_canonical_json({name: value for name, value in event.items() if name != "sha256"})
    return hashlib.sha256(text.encode()).hexdigest()


def find_last_event(connection: sqlite3.Connection) -> tuple[int, str]:
    """Return the number and the hash of the last event."""
    event = connection.execute("SELECT seq, sha256 FROM event ORDER BY seq DESC LIMIT 1").fetchone()
    return (0, INITIAL_HASH) if event is None else (event["seq"], event["sha256"])


def _hash_contact(table: str, row: Row) -> Row:
    """Replace the contact of a team by its hash, so that the contact itself can be erased."""
    if table != "team" or not row["contact"]:
        return row
    return {**row, "contact": hashlib.sha256(row["contact"].encode()).hexdigest()}


def find_problems(connection: sqlite3.Connection) -> list[str]:
    """Check a registry with SQLite and with the chain of events, and return the problems."""
    try:
        problems = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
        if problems != ["ok"]:
            return [f"is damaged: {problem}" for problem in problems]
        if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
            return ["is damaged: a row refers to a missing row"]
        return _find_chain_problems(connection)
    except (sqlite3.Error, ValueError, LookupError, TypeError) as error:
        return [f"is damaged: {error}"]


def _find_chain_problems(connection: sqlite3.Connection) -> list[str]:
    """Return the first break of the chain, or the differences between the tables and the events."""
    expected_rows: dict[Key, Row] = {}
    previous_hash = INITIAL_HASH
    for seq, event in enumerate(connection.execute("SELECT * FROM event ORDER BY seq"), 1):
        if event["seq"] != seq:
            return [f"event {seq} is missing from the log of events"]
        if event["previous"] != previous_hash or hash_event(dict(event)) != event["sha256"]:
            return [f"event {seq} breaks the chain of hashes"]
        previous_hash = event["sha256"]
        for name, row in json.loads(event["details"])["rows"]:
            if row.pop(REMOVED, False):
                expected_rows.pop(_make_key(name, row), None)
            else:
                expected_rows[_make_key(name, row)] = row
    differences = []
    for name in KEYS:
        for stored_row in connection.execute(f"SELECT * FROM {name}"):
            row = _hash_contact(name, dict(stored_row))
            key = _make_key(name, row)
            if expected_rows.pop(key, None) != row:
                differences.append(f"{_show_key(key)}: differs from the log of events")
    reason = "is missing, but is in the log of events"
    differences += [f"{_show_key(key)}: {reason}" for key in expected_rows]
    return differences


def _make_key(table: str, row: Row) -> Key:
    return table, tuple(row[column] for column in KEYS[table])


def _show_key(key: Key) -> str:
    return f"table {key[0]}, row {' '.join(map(str, key[1]))}"


class RegistryReader:
    """Queries of the registry that return records."""

    def __init__(self, connect: Callable[[], AbstractContextManager[sqlite3.Connection]]) -> None:
        self._connect = connect

    def list_teams(self) -> tuple[Team, ...]:
        """Return all teams, by id."""
        return self._select_records(Team)

    def find_team(self, id: str) -> Team | None:
        """Return a team, or None if it is unknown."""
        return next(iter(self._select_records(Team, id=id)), None)

    def list_submissions(
        self,
        task: str | None = None,
        states: Sequence[str] | None = (ACCEPTED,),
        *,
        team: str | None = None,
        ranking: str | None = None,
        object: str | None = None,
        tag: str | None = None,
    ) -> tuple[Submission, ...]:
        """Return submissions in order of recording, by default accepted; None means any state.

        Tags are compared regardless of case.
        """
        state = None if states is None else tuple(states)
        values = {"team": team, "ranking": ranking, "object": object, "tag": tag, "state": state}
        return self._select_records(Submission, task=task, **values)

    def list_faults(
        self, submission_id: int, *, includes_private: bool = False
    ) -> tuple[Fault, ...]:
        """Return the faults of a submission.

        Private faults, which name other teams, are included only if `includes_private` is True.
        """
        columns = "code, severity, message, line, topic, doc, count"
        query = f"SELECT {columns} FROM fault WHERE submission = ? ORDER BY number"
        with self._connect() as connection:
            faults = [Fault(**dict(row)) for row in connection.execute(query, (submission_id,))]
        return tuple(fault for fault in faults if includes_private or fault.severity != PRIVATE)

    def list_judgments(self, task: str | None = None) -> tuple[JudgmentsRecord, ...]:
        """Return the versions of judgments, oldest first."""
        return self._select_records(JudgmentsRecord, task=task)

    def list_score_files(self, task: str | None = None) -> tuple[ScoreFile, ...]:
        """Return the files of scores, oldest first."""
        return self._select_records(ScoreFile, task=task)

    def list_releases(self) -> tuple[ReleaseRecord, ...]:
        """Return the releases, oldest first."""
        return self._select_records(ReleaseRecord)

    def list_events(self) -> tuple[Event, ...]:
        """Return the chain of events."""
        return self._select_records(Event)

    def get_rules_files(self) -> dict[str, str]:
        """Return the SHA-256 of the files of the most recently used rules, by path."""
        with self._connect() as connection:
            query = "SELECT details FROM event WHERE action = 'rules' ORDER BY seq DESC LIMIT 1"
            row = connection.execute(query).fetchone()
        return {} if row is None else dict(json.loads(row["details"])["about"])

    def find_withdrawal_time(self, run: Submission) -> str:
        """Return the time of the withdrawal of a run that was withdrawn."""
        with self._connect() as connection:
            query = "SELECT at, details FROM event WHERE action = 'withdraw'"
            events = connection.execute(query).fetchall()
        rows = ((event["at"], json.loads(event["details"])["rows"]) for event in events)
        return next(str(at) for at, [(_, row), *_] in rows if row["id"] == run.id)

    def get_pool_depths(self, task: str) -> dict[str, int]:
        """Return the depth of the latest recorded pool of each pooled run, by tag."""
        with self._connect() as connection:
            query = "SELECT details FROM event WHERE action = 'pool' AND subject = ? ORDER BY seq"
            rows = connection.execute(query, (task,)).fetchall()
        pools = [json.loads(row["details"])["about"] for row in rows]
        return {tag: pool["depth"] for pool in pools if "depth" in pool for tag in pool["runs"]}

    def _select_records(self, record_type: type[Any], **criteria: Any) -> tuple[Any, ...]:
        """Return records by values of columns; a tuple lists accepted values, None accepts any."""
        # Only names of columns, which come from the code, become SQL text.
        table = TABLES[record_type]
        conditions = ["TRUE"]
        values: list[Any] = []
        for column, value in criteria.items():
            if isinstance(value, tuple):
                conditions.append(f"{column} IN ({', '.join('?' * len(value))})")
                values.extend(value)
            elif value is not None:
                conditions.append("lower(tag) = lower(?)" if column == "tag" else f"{column} = ?")
                values.append(value)
        where = " AND ".join(conditions)
        query = f"SELECT * FROM {table.name} WHERE {where} ORDER BY {table.order}"
        with self._connect() as connection:
            return tuple(table.to_record(row) for row in connection.execute(query, values))


Record = TypeVar("Record", Team, Submission, JudgmentsRecord, ScoreFile, ReleaseRecord)


class Transaction(RegistryReader):
    """A change of the registry, which other connections see completely or not at all."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        super().__init__(lambda: nullcontext(connection))
        self._connection = connection
        self._folder = folder
        self._rows: dict[Key, Row] = {}
        self._unneeded_objects: set[str] = set()

    def insert(self, record: Record) -> Record:
        """Add a record, and return it; a submission gets a new id.

        The object or file of the record must already be in the folder.
        """
        self._check_file(record)
        table = TABLES[type(record)]
        row = table.to_row(record)
        if isinstance(record, Submission):
            row["id"] = insert_row(self._connection, table.name, {**row, "id": None})
        else:
            insert_row(self._connection, table.name, row)
        self._rows[_make_key(table.name, row)] = row
        stored_record: Record = table.to_record(row)
        return stored_record

    def update(self, record: Record) -> Record:
        """Replace the record that has the same key, and return the new one."""
        self._check_file(record)
        table = TABLES[type(record)]
        row = table.to_row(record)
        assignments = ", ".join(f"{name} = :{name}" for name in row if name not in table.key)
        condition = " AND ".join(f"{name} = :{name}" for name in table.key)
        query = f"UPDATE {table.name} SET {assignments} WHERE {condition}"
        if self._connection.execute(query, row).rowcount != 1:
            key = ", ".join(str(row[name]) for name in table.key)
            raise CranfieldError(f"the registry has no {table.name} {key}")
        self._rows[_make_key(table.name, row)] = row
        return record

    def insert_faults(self, submission: Submission, faults: Sequence[Fault]) -> None:
        for number, fault in enumerate(faults, 1):
            row = {"submission": submission.id, "number": number, **asdict(fault)}
            insert_row(self._connection, "fault", row)
            self._rows[_make_key("fault", row)] = row

    def mark_unneeded(self, sha256: str) -> None:
        """Mark an object to be removed after the change, unless another record refers to it."""
        self._unneeded_objects.add(sha256)

    def append_event(
        self, at: str, actor: str, action: str, subject: str, about: Mapping[str, Any]
    ) -> None:
        """Append the event of this change to the chain, with its details and the changed rows."""
        seq, previous = find_last_event(self._connection)
        rows = [[name, _hash_contact(name, row)] for (name, _), row in self._rows.items()]
        details = format_canonical_json({"about": dict(about), "rows": rows})
        event: Row = {"seq": seq + 1, "at": at, "actor": actor, "action": action}
        event |= {"subject": subject, "details": details, "previous": previous}
        insert_row(self._connection, "event", event | {"sha256": hash_event(event)})

    def remove_unneeded_objects(self) -> None:
        """Remove objects marked by :meth:`mark_unneeded` that no record refers to."""
        for sha256 in self._unneeded_objects:
            runs = self.list_submissions(None, None, object=sha256)
            versions = self._select_records(JudgmentsRecord, object=sha256)
            if not versions and not any(run.is_stored for run in runs):
                records.find_object(self._folder, sha256).unlink(missing_ok=True)

    def _check_file(self, record: object) -> None:
        # A repair may have removed the unregistered file before this change began.
        if isinstance(record, JudgmentsRecord) or (
            isinstance(record, Submission) and record.is_stored
        ):
            path = records.find_object(self._folder, record.object)
        elif isinstance(record, ScoreFile | ReleaseRecord):
            path = self._folder / record.path
        else:
            return
        if not path.exists():
            raise InputError("was removed before it was recorded; try again", source=path.name)
