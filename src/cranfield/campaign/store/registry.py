"""Queries and transactions of the registry: records in SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar

from cranfield.base.errors import CranfieldError, InputError
from cranfield.campaign.checks.report import PRIVATE, Fault
from cranfield.campaign.store import events, records
from cranfield.campaign.store.records import (
    ACCEPTED,
    Event,
    Judgments,
    ReleaseRecord,
    ScoreFile,
    Submission,
    Team,
)
from cranfield.campaign.store.schema import TABLES, Row, Table, insert

_FAULT_COLUMNS = "code, severity, message, line, topic, doc, count"


class RegistryReader:
    """Queries of the registry that return records."""

    def __init__(self, connect: Callable[[], AbstractContextManager[sqlite3.Connection]]) -> None:
        self._connect = connect

    def teams(self) -> tuple[Team, ...]:
        """Return all teams, by id."""
        return self._records(Team)

    def team(self, id: str) -> Team | None:
        """Return a team, or None if it is unknown."""
        return next(iter(self._records(Team, id=id)), None)

    def submissions(
        self,
        task: str | None = None,
        states: Sequence[str] | None = (ACCEPTED,),
        *,
        team: str | None = None,
        ranking: str | None = None,
        object: str | None = None,
        tag: str | None = None,
    ) -> tuple[Submission, ...]:
        """Return submissions in order of arrival; in any state if `states` is None.

        Tags are compared regardless of case.
        """
        state = None if states is None else tuple(states)
        criteria = {"task": task, "state": state, "team": team, "ranking": ranking, "tag": tag}
        return self._records(Submission, **criteria, object=object)

    def submission(self, tag: str) -> Submission | None:
        """Return the accepted submission with a tag (in any case), or else the newest one."""
        runs = self._records(Submission, tag=tag)
        accepted = [run for run in runs if run.state == ACCEPTED]
        return next(iter((*accepted, *reversed(runs))), None)

    def faults(self, submission_id: int, *, private: bool = False) -> tuple[Fault, ...]:
        """Return the faults and warnings of a submission.

        Private faults, which name other teams, are included only if `private` is True.
        """
        query = f"SELECT {_FAULT_COLUMNS} FROM fault WHERE submission = ? ORDER BY number"
        with self._connect() as connection:
            faults = [Fault(**dict(row)) for row in connection.execute(query, (submission_id,))]
        return tuple(fault for fault in faults if private or fault.severity != PRIVATE)

    def judgments(self, task: str | None = None) -> tuple[Judgments, ...]:
        """Return the versions of judgments, oldest first."""
        return self._records(Judgments, task=task)

    def score_files(self, task: str | None = None) -> tuple[ScoreFile, ...]:
        """Return the files of scores, oldest first."""
        return self._records(ScoreFile, task=task)

    def releases(self) -> tuple[ReleaseRecord, ...]:
        """Return the releases, oldest first."""
        return self._records(ReleaseRecord)

    def events(self) -> tuple[Event, ...]:
        """Return the chain of events."""
        return self._records(Event)

    def rules_files(self) -> dict[str, str]:
        """Return the SHA-256 of the files of the last used rules, by path."""
        with self._connect() as connection:
            row = connection.execute(
                "SELECT details FROM event WHERE action = 'rules' ORDER BY seq DESC LIMIT 1"
            ).fetchone()
        return {} if row is None else dict(json.loads(row["details"])["about"])

    def _records(self, record_type: type[Any], **criteria: Any) -> tuple[Any, ...]:
        """Return records by the values of columns; a tuple has several values, None allows any."""
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
        query = (
            f"SELECT * FROM {table.name} WHERE {' AND '.join(conditions)} ORDER BY {table.order}"
        )
        with self._connect() as connection:
            return tuple(table.record(row) for row in connection.execute(query, values))


Record = TypeVar("Record", Team, Submission, Judgments, ScoreFile, ReleaseRecord)


class Transaction(RegistryReader):
    """A change of the registry, which other connections see completely or not at all."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        super().__init__(lambda: nullcontext(connection))
        self._connection = connection
        self._folder = folder
        self._rows: dict[events.Key, Row] = {}
        self._unneeded: set[str] = set()

    def insert(self, record: Record) -> Record:
        """Add a record, and return it with its new id.

        The object or file of the record must already be in the folder.
        """
        self._check_file(record)
        table = TABLES[type(record)]
        row = table.row(record)
        if isinstance(record, Submission):
            row["id"] = None
        rowid = insert(self._connection, table.name, row)
        if isinstance(record, Submission):
            row["id"] = rowid
        self._record_row(table, row)
        stored: Record = table.record(row)
        return stored

    def update(self, record: Record) -> Record:
        """Replace the record with the same key."""
        self._check_file(record)
        table = TABLES[type(record)]
        row = table.row(record)
        assignments = ", ".join(f"{name} = :{name}" for name in row if name not in table.key)
        query = f"UPDATE {table.name} SET {assignments} WHERE {table.key_condition}"
        if self._connection.execute(query, row).rowcount != 1:
            key = ", ".join(str(row[name]) for name in table.key)
            raise CranfieldError(f"the registry has no {table.name} {key}")
        self._record_row(table, row)
        return record

    def remove(self, record: ScoreFile) -> None:
        """Remove the record of a file of scores."""
        table = TABLES[ScoreFile]
        row = table.row(record)
        self._connection.execute(f"DELETE FROM {table.name} WHERE {table.key_condition}", row)
        self._record_row(table, row | {events.REMOVED: True})

    def insert_faults(self, submission: Submission, faults: Sequence[Fault]) -> None:
        """Add the faults of a submission."""
        for number, fault in enumerate(faults, 1):
            row = {"submission": submission.id, "number": number, **asdict(fault)}
            insert(self._connection, "fault", row)
            self._rows["fault", (submission.id, number)] = row

    def forget(self, sha256: str) -> None:
        """Mark an object to be removed after the change, unless another record refers to it."""
        self._unneeded.add(sha256)

    def append_event(self, at: str, actor: str, action: str, subject: str, about: Row) -> None:
        """Append the event of this change to the chain."""
        rows = [(name, row) for (name, _), row in self._rows.items()]
        events.append_event(self._connection, at, actor, action, subject, about, rows)

    def remove_unneeded_objects(self) -> None:
        """Remove objects marked by :meth:`forget` that no record refers to."""
        for sha256 in self._unneeded:
            runs = self.submissions(None, None, object=sha256)
            versions = self._records(Judgments, object=sha256)
            if not versions and not any(run.kept for run in runs):
                records.object_path(self._folder, sha256).unlink(missing_ok=True)

    def _record_row(self, table: Table, row: Row) -> None:
        self._rows[table.name, tuple(row[name] for name in table.key)] = row

    def _check_file(self, record: object) -> None:
        # A repair may have removed the unregistered file before this change began.
        if isinstance(record, Judgments) or (isinstance(record, Submission) and record.kept):
            path = records.object_path(self._folder, record.object)
        elif isinstance(record, ScoreFile | ReleaseRecord):
            path = self._folder / record.path
        else:
            return
        if not path.exists():
            raise InputError("is missing, but must exist to be registered", source=path.name)
