"""The registry: records in, rows kept; each change is one transaction and one event."""

from __future__ import annotations

import getpass
import sqlite3
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from cranfield.base.errors import CranfieldError, CranfieldWarning, InputError
from cranfield.campaign.checks.report import Fault
from cranfield.campaign.rules.times import utc_text
from cranfield.campaign.store import events, objects, seal
from cranfield.campaign.store.layout import REGISTRY
from cranfield.campaign.store.reading import Reading
from cranfield.campaign.store.records import (
    Judgments,
    ReleaseRecord,
    ScoreFile,
    Submission,
    Team,
)
from cranfield.campaign.store.schema import TABLES, Record, Row, connected

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
        """Tell whether a submission whose bytes are kept, or a version of judgments, needs it."""
        return any(one.kept for one in self.submissions(None, None, object=sha256)) or any(
            one.object == sha256 for one in self.judgments()
        )

    def _finish(self, at: str, actor: str, action: str, subject: str, about: Row) -> None:
        rows = [(name, row) for (name, _), row in self._rows.items()]
        events.append(self._connection, at, actor, action, subject, about, rows)

    def _remove_unwanted(self) -> None:
        for sha256 in self._unwanted:
            if not self.named(sha256):
                objects.path(self._folder, sha256).unlink(missing_ok=True)

    def _changed(self, record: Record, removed: bool = False) -> None:
        table = TABLES[type(record)]
        row = table.row(record) | ({events.REMOVED: True} if removed else {})
        self._rows[table.name, tuple(row[name] for name in table.key)] = row

    def _check_there(self, record: Record) -> None:
        # A repair may have removed what was not named yet; it cannot while this change goes on.
        if isinstance(record, Judgments) or (isinstance(record, Submission) and record.kept):
            named = objects.path(self._folder, record.object)
        elif isinstance(record, ScoreFile | ReleaseRecord):
            named = self._folder / record.path
        else:
            return
        if not named.exists():
            raise InputError("is missing, and was to be registered", source=named.name)

    def _execute(self, query: str, row: Row) -> sqlite3.Cursor:
        try:
            return self._connection.execute(query, row)
        except UnicodeEncodeError as error:
            raise CranfieldError("text that is not Unicode cannot be kept") from error


class Registry(Reading):
    """The registry of a campaign's folder.

    Parameters
    ----------
    folder
        The campaign's folder.
    actor
        Who acts, for the log of events; the name of the user by default.
    clock
        What time it is.
    rules
        Gives the SHA-256 of the files of the rules that are in use, by path, or None where they
        were not read. New ones are recorded with the change that they are used for.
    """

    def __init__(
        self,
        folder: Path,
        *,
        actor: str | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        rules: Callable[[], Mapping[str, str] | None] = lambda: None,
    ) -> None:
        self.folder = folder
        self.actor = actor
        self.clock = clock
        self._rules = rules
        self._sealed: tuple[int, ...] | None = None

    def _connected(self) -> AbstractContextManager[sqlite3.Connection]:
        return connected(self.folder)

    @contextmanager
    def change(
        self, action: str, subject: str = "", details: Mapping[str, Any] | None = None
    ) -> Iterator[Transaction]:
        """Change the registry: all that the block does and one event of it, or nothing.

        Others wait until it is done. The registry is compared with its seal before, and sealed
        after, so that nothing is built on a damaged one.

        Raises
        ------
        InputError
            If the registry is damaged, or another process does not end its change in time.
        """
        with connected(self.folder) as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._compare(connection)
                # From here on the lock is kept until the connection closes, past the commit.
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                change = Transaction(connection, self.folder)
                now, actor = utc_text(self.clock()), self.actor or _user()
                self._record_rules(change, now, actor)
                yield change
                change._finish(now, actor, action, subject, dict(details or {}))
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise
            change._remove_unwanted()
            self._seal(connection)

    def _compare(self, connection: sqlite3.Connection) -> None:
        if self._sealed == self._stamp():
            return
        if seal.compared(connection, self.folder) == seal.UNSEALED:
            wrong = events.contradictions(connection)
            if wrong:
                raise InputError(wrong[0], source=REGISTRY)

    def _stamp(self) -> tuple[int, ...]:
        found = (self.folder / REGISTRY).stat()
        return (found.st_ino, found.st_size, found.st_mtime_ns)

    def _record_rules(self, change: Transaction, now: str, actor: str) -> None:
        used = self._rules()
        if used is None:
            return
        known = change.rules_files()
        if dict(used) != known:
            change._finish(now, actor, "rules", "", dict(used))
            if known:
                names = sorted({*used} ^ {*known} | {n for n in used if used[n] != known.get(n)})
                warnings.warn(
                    f"{', '.join(names)}: not as last used; the log of events tells of the change",
                    CranfieldWarning,
                    stacklevel=2,
                )

    def _seal(self, connection: sqlite3.Connection) -> None:
        """Seal the registry, under the lock that its change still holds."""
        # The change is made, whatever becomes of its seal: an unsealed one is sealed by the next.
        with suppress(InputError):
            seal.write_seal(self.folder, seal.bytes_sealed(connection))
            self._sealed = self._stamp()


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
