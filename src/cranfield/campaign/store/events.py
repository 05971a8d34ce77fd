"""The chain of events, each with the hash of the previous one."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from cranfield.campaign.store.records import Event
from cranfield.campaign.store.schema import TABLES, Row, canonical, insert

REMOVED = "removed"
"""Key that marks a removed row in an event."""

NOTHING = "0" * 64
"""The `previous` hash of the first event."""

Key = tuple[str, tuple[Any, ...]]
"""Name of a table, and the key of a row in it."""

KEYS = {table.name: table.key for kind, table in TABLES.items() if kind is not Event}
KEYS["fault"] = ("submission", "number")
"""Key columns of the tables whose rows are in events."""


def link(event: Mapping[str, Any]) -> str:
    """Return the hash of an event, which covers all its fields and the previous hash."""
    text = canonical({name: value for name, value in event.items() if name != "sha256"})
    return hashlib.sha256(text.encode()).hexdigest()


def last_event(connection: sqlite3.Connection) -> tuple[int, str]:
    """Return number and hash of the last event."""
    last = connection.execute("SELECT seq, sha256 FROM event ORDER BY seq DESC LIMIT 1").fetchone()
    return (0, NOTHING) if last is None else (last["seq"], last["sha256"])


def append(
    connection: sqlite3.Connection,
    at: str,
    actor: str,
    action: str,
    subject: str,
    about: Mapping[str, Any],
    rows: Iterable[tuple[str, Row]] = (),
) -> None:
    """Add an event, with its details and the changed rows."""
    seq, previous = last_event(connection)
    event = {"seq": seq + 1, "at": at, "actor": actor, "action": action, "subject": subject}
    details = {"about": dict(about), "rows": [[name, _erasable(name, row)] for name, row in rows]}
    event |= {"details": canonical(details), "previous": previous}
    event["sha256"] = link(event)
    insert(connection, "event", event)


def _erasable(table: str, row: Row) -> Row:
    """Return a row with the hash of a team's contact, so that the contact itself can be erased."""
    if table != "team" or not row["contact"]:
        return row
    return {**row, "contact": hashlib.sha256(row["contact"].encode()).hexdigest()}


def contradictions(connection: sqlite3.Connection) -> list[str]:
    """Return the problems of a registry, by SQLite's own checks and by the chain of events."""
    try:
        problems = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
        if problems != ["ok"]:
            return [f"is damaged: {problem}" for problem in problems]
        if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
            return ["is damaged: a row refers to a missing row"]
        return _differences(connection)
    except (sqlite3.Error, ValueError, LookupError, TypeError) as error:
        return [f"is damaged: {error}"]


def _differences(connection: sqlite3.Connection) -> list[str]:
    """Return the first break of the chain, or else the differences of the tables from it."""
    expected: dict[Key, Row] = {}
    previous = NOTHING
    for seq, event in enumerate(connection.execute("SELECT * FROM event ORDER BY seq"), 1):
        if event["seq"] != seq:
            return [f"event {seq} is missing from the chain"]
        if event["previous"] != previous or link(dict(event)) != event["sha256"]:
            return [f"event {seq} breaks the chain of hashes"]
        previous = event["sha256"]
        for name, row in json.loads(event["details"])["rows"]:
            removed = row.pop(REMOVED, False)
            expected[_key(name, row)] = row
            if removed:
                del expected[_key(name, row)]
    differences = []
    for name in KEYS:
        for stored in connection.execute(f"SELECT * FROM {name}"):
            row = _erasable(name, dict(stored))
            if expected.pop(_key(name, row), None) != row:
                differences.append(f"{_label(_key(name, row))}: differs from the events")
    differences += [f"{_label(key)}: is missing, but is in the events" for key in expected]
    return differences


def _key(table: str, row: Row) -> Key:
    return table, tuple(row[column] for column in KEYS[table])


def _label(key: Key) -> str:
    return f"table {key[0]}, row {' '.join(map(str, key[1]))}"
