"""The chain of events, each with the hash of the previous event."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import Any

from cranfield.campaign.store.records import Event
from cranfield.campaign.store.schema import TABLES, Row, canonical_json, insert

REMOVED = "removed"
"""Key that marks a removed row in an event."""

INITIAL_HASH = "0" * 64
"""The `previous` hash of the first event."""

Key = tuple[str, tuple[Any, ...]]
"""Name of a table, and the key of a row in it."""

KEYS = {table.name: table.key for record_type, table in TABLES.items() if record_type is not Event}
KEYS["fault"] = ("submission", "number")
"""Key columns of the tables whose rows are logged in events."""


def event_hash(event: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all fields of an event, including the hash of the previous event."""
    text = canonical_json({name: value for name, value in event.items() if name != "sha256"})
    return hashlib.sha256(text.encode()).hexdigest()


def last_event(connection: sqlite3.Connection) -> tuple[int, str]:
    """Return the number and the hash of the last event."""
    last = connection.execute("SELECT seq, sha256 FROM event ORDER BY seq DESC LIMIT 1").fetchone()
    return (0, INITIAL_HASH) if last is None else (last["seq"], last["sha256"])


def append_event(
    connection: sqlite3.Connection,
    at: str,
    actor: str,
    action: str,
    subject: str,
    about: Mapping[str, Any],
    rows: Iterable[tuple[str, Row]] = (),
) -> None:
    """Append an event, with its details and the changed rows."""
    seq, previous = last_event(connection)
    event = {"seq": seq + 1, "at": at, "actor": actor, "action": action, "subject": subject}
    details = {
        "about": dict(about),
        "rows": [[name, _hash_contact(name, row)] for name, row in rows],
    }
    event |= {"details": canonical_json(details), "previous": previous}
    event["sha256"] = event_hash(event)
    insert(connection, "event", event)


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
        return _chain_problems(connection)
    except (sqlite3.Error, ValueError, LookupError, TypeError) as error:
        return [f"is damaged: {error}"]


def _chain_problems(connection: sqlite3.Connection) -> list[str]:
    """Return the first break of the chain, or the differences between the tables and the events."""
    expected: dict[Key, Row] = {}
    previous = INITIAL_HASH
    for seq, event in enumerate(connection.execute("SELECT * FROM event ORDER BY seq"), 1):
        if event["seq"] != seq:
            return [f"event {seq} is missing from the chain"]
        if event["previous"] != previous or event_hash(dict(event)) != event["sha256"]:
            return [f"event {seq} breaks the chain of hashes"]
        previous = event["sha256"]
        for name, row in json.loads(event["details"])["rows"]:
            is_removed = row.pop(REMOVED, False)
            expected[_row_key(name, row)] = row
            if is_removed:
                del expected[_row_key(name, row)]
    differences = []
    for name in KEYS:
        for stored in connection.execute(f"SELECT * FROM {name}"):
            row = _hash_contact(name, dict(stored))
            if expected.pop(_row_key(name, row), None) != row:
                differences.append(f"{_label(_row_key(name, row))}: differs from the events")
    differences += [f"{_label(key)}: is missing, but is in the events" for key in expected]
    return differences


def _row_key(table: str, row: Row) -> Key:
    return table, tuple(row[column] for column in KEYS[table])


def _label(key: Key) -> str:
    return f"table {key[0]}, row {' '.join(map(str, key[1]))}"
