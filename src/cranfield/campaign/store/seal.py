"""The seal of the registry: the hash of its file as the last change left it.

Queries see rows; a flipped bit in a free page, or in the room between rows, is seen by none. So
`campaign.sha256` holds the hash of the whole file, in the form that sha256sum reads. A kill can
come between a change and its seal: then SQLite's own counter of changes is ahead of the seal's,
and the chain of events goes on from the event that was sealed.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from cranfield.base.errors import InputError
from cranfield.base.whole_files import whole_file
from cranfield.campaign.store.events import last_event
from cranfield.campaign.store.layout import REGISTRY, SEAL

SEALED, UNSEALED = "sealed", "unsealed"

_FORM = re.compile(
    rf"# changes (\d+), events (\d+), last event ([0-9a-f]{{64}}), check ([0-9a-f]{{64}})\n"
    rf"([0-9a-f]{{64}})  {re.escape(REGISTRY)}\n"
)


@dataclass(frozen=True)
class Seal:
    """What the registry's file was: SQLite's counter of changes, the last event, the hash."""

    changes: int
    events: int
    last: str
    sha256: str

    def text(self) -> str:
        """Return the seal as its file; `sha256sum -c campaign.sha256` reads it."""
        head = f"changes {self.changes}, events {self.events}, last event {self.last}"
        check = hashlib.sha256(f"{head}, {self.sha256}".encode()).hexdigest()
        return f"# {head}, check {check}\n{self.sha256}  {REGISTRY}\n"


def read_seal(folder: Path) -> Seal:
    """Read the seal; one that is missing or damaged is an error that names the file."""
    if (folder / SEAL).exists() and not (folder / SEAL).is_file():
        raise InputError("is no ordinary file", source=SEAL)
    try:
        text = (folder / SEAL).read_bytes().decode("ascii")
    except FileNotFoundError as error:
        raise InputError("is missing", source=SEAL) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InputError("is damaged", source=SEAL) from error
    found = _FORM.fullmatch(text)
    if found is not None:
        seal = Seal(int(found[1]), int(found[2]), found[3], found[5])
        if seal.text() == text:
            return seal
    raise InputError("is damaged", source=SEAL)


def bytes_sealed(connection: sqlite3.Connection) -> Seal:
    """Return the seal of the registry's file as it is now, under the lock of the connection.

    The bytes come through SQLite: to close a second handle of the file would drop the locks of
    this process on it.
    """
    data = connection.serialize()
    events, last = last_event(connection)
    return Seal(changes(data), events, last, hashlib.sha256(data).hexdigest())


def changes(data: bytes) -> int:
    """Return SQLite's counter of changes, which its header has twice; damaged if they differ."""
    counter, again = data[24:28], data[92:96]
    if counter != again:
        raise InputError("is damaged: its header contradicts itself", source=REGISTRY)
    return int.from_bytes(counter, "big")


def write_seal(folder: Path, seal: Seal) -> None:
    """Write the seal, whole and synced."""
    with whole_file(folder / SEAL, private=True, synced=True) as out:
        out.write(seal.text().encode("ascii"))


def compared(connection: sqlite3.Connection, folder: Path) -> str:
    """Compare file and seal: `sealed`, or `unsealed` when the last change came after the seal.

    Damage is an error that names the file.
    """
    seal, now = read_seal(folder), bytes_sealed(connection)
    if (folder / REGISTRY).stat().st_size != connection.execute(
        "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
    ).fetchone()[0]:
        raise InputError("is damaged: its length is not what its header says", source=REGISTRY)
    if now == seal:
        return SEALED
    if now.changes > seal.changes and now.events >= seal.events:
        row = connection.execute("SELECT sha256 FROM event WHERE seq = ?", (seal.events,))
        if [found[0] for found in row] == [seal.last]:
            return UNSEALED
    raise InputError("is damaged: its bytes are not those of its seal", source=REGISTRY)
