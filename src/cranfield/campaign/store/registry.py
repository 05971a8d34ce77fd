"""Questions to the registry, and one change of it: records in SQLite."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
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
from cranfield.campaign.store.schema import TABLES, Record, Row


class Reading:
    """Questions to the registry; the answers are records."""

    def _connected(self) -> AbstractContextManager[sqlite3.Connection]:
        raise NotImplementedError

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
        """Return submissions in order of arrival; all states where `states` is None.

        Tags are compared without regard to case.
        """
        wanted = {"task": task, "team": team, "ranking": ranking, "object": object, "tag": tag}
        where: dict[str, Any] = {name: one for name, one in wanted.items() if one is not None}
        if states is not None:
            where["state"] = tuple(states)
        return self._records(Submission, **where)

    def submission(self, tag: str | int) -> Submission | None:
        """Return the newest submission with a tag, in whatever state and case, or one by its id."""
        if isinstance(tag, int):
            return next(iter(self._records(Submission, id=tag)), None)
        found = self._records(Submission, tag=tag)
        return next((one for one in found if one.state == ACCEPTED), found[-1] if found else None)

    def faults(self, submission_id: int, *, private: bool = False) -> tuple[Fault, ...]:
        """Return what the check found in a submission, warnings too.

        Faults that name other teams are returned only on request.
        """
        with self._connected() as connection:
            rows = connection.execute(
                "SELECT code, severity, message, line, topic, doc, count FROM fault "
                "WHERE submission = ? AND (severity <> ? OR ?) ORDER BY number",
                (submission_id, PRIVATE, private),
            )
            return tuple(Fault(**dict(row)) for row in rows)

    def judgments(self, task: str | None = None) -> tuple[Judgments, ...]:
        """Return the versions of judgments, the oldest first."""
        return self._records(Judgments, **_of_task(task))

    def score_files(self, task: str | None = None) -> tuple[ScoreFile, ...]:
        """Return the files of scores, the oldest first."""
        return self._records(ScoreFile, **_of_task(task))

    def releases(self) -> tuple[ReleaseRecord, ...]:
        """Return the releases, the oldest first."""
        return self._records(ReleaseRecord)

    def events(self) -> tuple[Event, ...]:
        """Return the chain of events."""
        return self._records(Event)

    def rules_files(self) -> dict[str, str]:
        """Return the SHA-256 of the files of the rules as they were last used, by path."""
        with self._connected() as connection:
            row = connection.execute(
                "SELECT details FROM event WHERE action = 'rules' ORDER BY seq DESC LIMIT 1"
            ).fetchone()
        return {} if row is None else dict(json.loads(row["details"])["about"])

    def _records(self, kind: type[Any], **where: Any) -> tuple[Any, ...]:
        # Names of columns come from the code, values never become text of SQL.
        table = TABLES[kind]
        terms: list[str] = []
        values: list[Any] = []
        for column, value in where.items():
            if isinstance(value, tuple):
                terms.append(f"{column} IN ({', '.join('?' * len(value))})")
                values.extend(value)
            else:
                terms.append("lower(tag) = lower(?)" if column == "tag" else f"{column} = ?")
                values.append(value)
        condition = f"WHERE {' AND '.join(terms)}" if terms else ""
        query = f"SELECT * FROM {table.name} {condition} ORDER BY {table.order}"
        with self._connected() as connection:
            return tuple(table.record(row) for row in connection.execute(query, values))


def _of_task(task: str | None) -> dict[str, str]:
    return {} if task is None else {"task": task}


Kept = TypeVar("Kept", Team, Submission, Judgments, ScoreFile, ReleaseRecord)


class Transaction(Reading):
    """A change of the registry: reads see what it wrote, others see all of it or nothing."""

    def __init__(self, connection: sqlite3.Connection, folder: Path) -> None:
        self._connection = connection
        self._folder = folder
        self._rows: dict[events.Key, Row] = {}
        self._unwanted: set[str] = set()

    def _connected(self) -> AbstractContextManager[sqlite3.Connection]:
        return nullcontext(self._connection)

    def insert(self, record: Kept) -> Kept:
        """Add a record, and return it with the id that the registry gave it.

        What the record names, an object or a file, has to be in the folder already.
        """
        self._check_there(record)
        table = TABLES[type(record)]
        row = table.row(record)
        if isinstance(record, Submission):
            row["id"] = None
        columns, places = ", ".join(row), ", ".join(f":{name}" for name in row)
        done = self._execute(f"INSERT INTO {table.name} ({columns}) VALUES ({places})", row)
        if isinstance(record, Submission):
            row["id"] = done.lastrowid
            record = table.record(row)
        self._changed(record)
        return record

    def update(self, record: Kept) -> Kept:
        """Put a record in the place of that with the same key."""
        self._check_there(record)
        table = TABLES[type(record)]
        row = table.row(record)
        sets = ", ".join(f"{name} = :{name}" for name in row if name not in table.key)
        keys = " AND ".join(f"{name} = :{name}" for name in table.key)
        if self._execute(f"UPDATE {table.name} SET {sets} WHERE {keys}", row).rowcount != 1:
            key = ", ".join(str(row[name]) for name in table.key)
            raise CranfieldError(f"the registry has no {table.name} {key}")
        self._changed(record)
        return record

    def remove(self, record: ScoreFile) -> None:
        """Remove the record of a file of scores, which can be made again."""
        table = TABLES[ScoreFile]
        keys = " AND ".join(f"{name} = :{name}" for name in table.key)
        self._execute(f"DELETE FROM {table.name} WHERE {keys}", table.row(record))
        self._changed(record, removed=True)

    def insert_faults(self, submission: Submission, faults: Sequence[Fault]) -> None:
        """Add what a check found in a submission."""
        for number, fault in enumerate(faults, 1):
            row = {"submission": submission.id, "number": number, **asdict(fault)}
            places = ", ".join(f":{name}" for name in row)
            self._execute(f"INSERT INTO fault ({', '.join(row)}) VALUES ({places})", row)
            self._rows["fault", (submission.id, number)] = row

    def forget(self, sha256: str) -> None:
        """Remove an object once the change is made, unless something else still needs it."""
        self._unwanted.add(sha256)

    def named(self, sha256: str) -> bool:
        """Return True if a stored submission or a version of judgments refers to an object."""
        return any(one.kept for one in self.submissions(None, None, object=sha256)) or any(
            one.object == sha256 for one in self.judgments()
        )

    def _finish(self, at: str, actor: str, action: str, subject: str, about: Row) -> None:
        rows = [(name, row) for (name, _), row in self._rows.items()]
        events.append(self._connection, at, actor, action, subject, about, rows)

    def _remove_unwanted(self) -> None:
        for sha256 in self._unwanted:
            if not self.named(sha256):
                records.path(self._folder, sha256).unlink(missing_ok=True)

    def _changed(self, record: Record, removed: bool = False) -> None:
        table = TABLES[type(record)]
        row = table.row(record) | ({events.REMOVED: True} if removed else {})
        self._rows[table.name, tuple(row[name] for name in table.key)] = row

    def _check_there(self, record: Record) -> None:
        # A repair may have removed what was not named yet; it cannot while this change goes on.
        if isinstance(record, Judgments) or (isinstance(record, Submission) and record.kept):
            named = records.path(self._folder, record.object)
        elif isinstance(record, ScoreFile | ReleaseRecord):
            named = self._folder / record.path
        else:
            return
        if not named.exists():
            raise InputError("is missing, but must exist to be registered", source=named.name)

    def _execute(self, query: str, row: Row) -> sqlite3.Cursor:
        try:
            return self._connection.execute(query, row)
        except UnicodeEncodeError as error:
            raise CranfieldError("text that is not Unicode cannot be kept") from error
