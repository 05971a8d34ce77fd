"""The chain of events, each with the hash of the previous one."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from cranfield.campaign.store.records import Event
from cranfield.campaign.store.schema import TABLES, Row, canonical

REMOVED = "removed"
"""What marks, among the rows of an event, one that is not there any more."""

NOTHING = "0" * 64
"""What stands before the first event."""

Key = tuple[str, tuple[Any, ...]]

KEYS = {table.name: table.key for kind, table in TABLES.items() if kind is not Event}
KEYS["fault"] = ("submission", "number")
"""The tables that events tell of, and what their rows are known by."""


def link(event: Mapping[str, Any]) -> str:
    """Return the hash of an event, which covers all of it and the hash before."""
    text = canonical({name: value for name, value in event.items() if name != "sha256"})
    return hashlib.sha256(text.encode()).hexdigest()


def last_event(connection: sqlite3.Connection) -> tuple[int, str]:
    """Return number and hash of the last event."""
    found = connection.execute("SELECT seq, sha256 FROM event ORDER BY seq DESC LIMIT 1").fetchone()
    return (0, NOTHING) if found is None else (found["seq"], found["sha256"])


def append(
    connection: sqlite3.Connection,
    at: str,
    actor: str,
    action: str,
    subject: str,
    about: Mapping[str, Any],
    rows: Iterable[tuple[str, Row]] = (),
) -> Event:
    """Add an event, with its details and the changed rows."""
    seq, previous = last_event(connection)
    changed = [[table, _erasable(table, row)] for table, row in rows]
    details = canonical({"about": dict(about), "rows": changed})
    head = Event(seq + 1, at, actor, action, subject, details, previous, sha256="")
    event = Event(**{**asdict(head), "sha256": link(asdict(head))})
    places = ", ".join("?" * len(TABLES[Event].columns))
    connection.execute(f"INSERT INTO event VALUES ({places})", tuple(asdict(event).values()))
    return event


def _erasable(table: str, row: Row) -> Row:
    # A contact can be erased from the team's row; the chain holds no more of it than its hash.
    if table != "team":
        return row
    return {**row, "contact": contact_sha256(row["contact"])}


def contact_sha256(contact: str) -> str:
    """Return what events hold of a contact: nothing of none."""
    return hashlib.sha256(contact.encode()).hexdigest() if contact else ""


def broken(connection: sqlite3.Connection) -> tuple[list[str], dict[Key, Row]]:
    """Follow the chain: what is wrong with it, and the rows of all tables as it tells them."""
    wrong: list[str] = []
    told: dict[Key, Row] = {}
    previous = NOTHING
    for seq, event in enumerate(connection.execute("SELECT * FROM event ORDER BY seq"), 1):
        if event["seq"] != seq:
            wrong.append(f"event {seq} is missing from the chain")
            break
        if event["previous"] != previous or link(dict(event)) != event["sha256"]:
            wrong.append(f"event {seq} breaks the chain of hashes")
            break
        previous = event["sha256"]
        for name, row in json.loads(event["details"])["rows"]:
            if row.pop(REMOVED, False):
                told.pop((name, _key(name, row)), None)
            else:
                told[name, _key(name, row)] = row
    return wrong, told


def contradictions(connection: sqlite3.Connection) -> list[str]:
    """Return the problems of a registry, by SQLite's own checks and by the chain of events."""
    try:
        wrong = [row[0] for row in connection.execute("PRAGMA integrity_check(20)")]
        if wrong != ["ok"]:
            return [f"is damaged: {one}" for one in wrong]
        if connection.execute("PRAGMA foreign_key_check").fetchone() is not None:
            return ["is damaged: a row refers to a missing row"]
        return differences(connection)
    except (sqlite3.Error, ValueError, LookupError, TypeError) as error:
        return [f"is damaged: {error}"]


def differences(connection: sqlite3.Connection) -> list[str]:
    """Return where the chain is broken, and where the tables differ from it."""
    wrong, told = broken(connection)
    if wrong:
        return wrong
    for name in KEYS:
        for found in connection.execute(f"SELECT * FROM {name}"):
            row = _erasable(name, dict(found))
            key = _key(name, row)
            if told.pop((name, key), None) != row:
                label = " ".join(str(part) for part in key)
                wrong.append(f"table {name}, row {label}: differs from the events")
    wrong.extend(
        f"table {name}, row {' '.join(map(str, key))}: is missing, but is in the events"
        for name, key in told
    )
    return wrong


def _key(table: str, row: Row) -> tuple[Any, ...]:
    return tuple(row[part] for part in KEYS[table])
