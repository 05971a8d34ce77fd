"""The rows of the registry, beside the files of the campaign."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cranfield.base.errors import InputError
from cranfield.base.files import file_sha256, sync_folder, whole_file

ACCEPTED, REFUSED, REPLACED, WITHDRAWN = "accepted", "refused", "replaced", "withdrawn"
"""The states of a submission."""


@dataclass(frozen=True)
class Team:
    """A team; its contact never leaves the registry."""

    id: str
    name: str
    created: str
    contact: str = field(default="", repr=False)
    anonymous_until: str | None = None


@dataclass(frozen=True)
class Submission:
    """A run as it was handed in; times are UTC, such as 2026-08-15T23:59:59Z.

    Attributes
    ----------
    object
        SHA-256 of the bytes as handed in; their file in `objects/` is called so.
    ranking
        SHA-256 of topics and documents in order, without tag: the same under another name.
    rules
        SHA-256 of campaign.toml and the files that it names, by which the run was checked.
    answers, metadata
        To the task's questions, by name; what the run says of itself, as YAML text.
    kept
        Whether its bytes are in `objects/`; those of purged runs, and of refused ones, are not.
    """

    id: int
    task: str
    team: str
    tag: str
    object: str
    bytes: int
    received: str
    state: str
    type: str = ""
    priority: int | None = None
    answers: dict[str, str] = field(default_factory=dict)
    metadata: str | None = None
    description: str = ""
    ranking: str | None = None
    rules: str = ""
    source: str = ""
    late: bool = False
    pooled: bool = False
    reason: str = ""
    replaced_by: int | None = None
    kept: bool = True


@dataclass(frozen=True)
class Judgments:
    """A version of a task's judgments, which never changes."""

    task: str
    version: str
    object: str
    rows: int
    added: str
    note: str = ""


@dataclass(frozen=True)
class ScoreFile:
    """A file of scores, derived and cached; `key` is the SHA-256 of all that they come from.

    `path` is from the campaign's folder, with `/`, such as `scores/ab12.parquet`.
    """

    key: str
    task: str
    judgments: str
    path: str
    sha256: str
    about: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReleaseRecord:
    """A release: a folder that never changes.

    Attributes
    ----------
    path
        From the campaign's folder, with `/`, such as `releases/adhoc-1`.
    manifest, retraction
        SHA-256 of its tag manifest; of the note beside it that says that it was retracted.
    """

    id: str
    task: str
    created: str
    judgments: str
    path: str
    manifest: str
    state: str = "released"
    reason: str = ""
    retraction: str | None = None


@dataclass(frozen=True)
class Event:
    """A link of the chain of events; `sha256` covers the event and that before it."""

    seq: int
    at: str
    actor: str
    action: str
    subject: str
    details: str
    previous: str
    sha256: str


RULES, REGISTRY = "campaign.toml", "campaign.sqlite"
"""The files: the rules, by people; the registry."""

JOURNAL = f"{REGISTRY}-journal"
"""What SQLite keeps beside the registry while it changes, and after a kill until it is opened."""

OBJECTS, SCORES, RELEASES = "objects", "scores", "releases"
"""The folders: bytes as handed in, by SHA-256; scores, derived; releases, which never change."""

UNFINISHED = "."
"""How the names of files and folders begin that are still being written."""


def check_folder(folder: Path) -> None:
    """Refuse what is no campaign's folder."""
    try:
        there, kept = folder.is_dir(), (folder / REGISTRY).is_file()
    except OSError as error:
        # Such as a name that is too long.
        raise InputError((error.strerror or str(error)).lower(), source=str(folder)) from None
    if not there:
        raise InputError("there is no such folder", source=str(folder))
    if not kept:
        reason = f"is no campaign: it has no {REGISTRY} (`cranfield campaign init` makes one)"
        raise InputError(reason, source=str(folder))


def private_folder(path: Path) -> Path:
    """Make a folder where there is none; only its owner may look into it (mode 0700)."""
    path.mkdir(mode=0o700, exist_ok=True)
    return path


CHUNK = 1 << 20


def path(folder: Path, sha256: str) -> Path:
    """Return where the bytes with this hash are, or would be."""
    return folder / OBJECTS / sha256[:2] / sha256


def put(folder: Path, source: Path | bytes) -> tuple[str, int]:
    """Keep bytes, or those of a file, and return their SHA-256 and their number.

    They are on the disk when this returns, and there is no transaction in it: bytes that nobody
    names in the registry afterwards are left-overs.
    """
    if isinstance(source, Path):
        sha256 = file_sha256(source)
        size = source.stat().st_size
    else:
        sha256, size = hashlib.sha256(source).hexdigest(), len(source)
    target = path(folder, sha256)
    if not target.parent.is_dir():
        private_folder(folder / OBJECTS)
        private_folder(target.parent)
        sync_folder(folder / OBJECTS)
    again = hashlib.sha256()
    with whole_file(target, private=True, synced=True) as out:
        if isinstance(source, Path):
            with source.open("rb") as file:
                while piece := file.read(CHUNK):
                    again.update(piece)
                    out.write(piece)
            if again.hexdigest() != sha256:
                raise InputError("changed while it was read", source=str(source))
        else:
            out.write(source)
    return sha256, size


def read(folder: Path, sha256: str) -> bytes:
    """Return kept bytes, after making sure that they are those that were handed in."""
    source = path(folder, sha256)
    try:
        data = source.read_bytes()
    except OSError as error:
        raise InputError("is missing", source=f"{OBJECTS}/{sha256}") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        raise InputError("is not what was handed in", source=f"{OBJECTS}/{sha256}")
    return data


def read_json(path: Path) -> Mapping[str, Any]:
    """Read an object from a JSON file of a release; a hash covers what is in it."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", source=str(path)) from None
    if not isinstance(value, dict):
        raise InputError("is not an object of JSON", source=str(path))
    return value
