"""Records of the registry, and the files of a campaign's folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any

from cranfield.base.errors import InputError, get_system_reason
from cranfield.base.files import hash_file, open_atomically, sync_folder

ACCEPTED, REFUSED, REPLACED, WITHDRAWN = "accepted", "refused", "replaced", "withdrawn"
"""The states of a submission."""


@dataclass(frozen=True)
class Team:
    """A team; its contact is never released."""

    id: str
    name: str
    created: str
    contact: str = field(default="", repr=False)
    anonymous_until: str | None = None


@dataclass(frozen=True)
class Submission:
    """A submitted run; times are UTC, such as 2026-08-15T23:59:59Z.

    Attributes
    ----------
    object, bytes
        SHA-256 of the submitted bytes, which is the name of the stored file in `objects/`, and the
        number of bytes. Of a file that is too large, only the beginning is read.
    ranking
        SHA-256 of the topics and the ranked documents, without the tag; None for an unreadable run.
    rules
        A single SHA-256 of the rules that the run was checked by and of the files that they name.
    answers
        Answers to the task's questions, by name.
    metadata
        Metadata of the run, as YAML text; None without metadata, or if the file has errors.
    is_stored
        Whether the submitted bytes are in `objects/`; refused runs are stored only if the rules say
        so, and purged runs are not.
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
    is_stored: bool = True


@dataclass(frozen=True)
class JudgmentsRecord:
    """An immutable version of a task's judgments."""

    task: str
    version: str
    object: str
    rows: int
    added: str
    note: str = ""


@dataclass(frozen=True)
class ScoreFile:
    """A file of cached scores."""

    key: str  # SHA-256 of everything that the scores are computed from
    task: str
    judgments: str
    path: str  # relative to the campaign's folder, such as `scores/ab12.parquet`
    sha256: str
    about: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReleaseRecord:
    """A release, whose folder never changes."""

    id: str
    task: str
    created: str
    judgments: str
    path: str  # relative to the campaign's folder, such as `releases/adhoc-1`
    manifest: str  # SHA-256 of its tag manifest
    state: str = "released"
    reason: str = ""
    retraction: str | None = None  # SHA-256 of the note of retraction, beside the folder


@dataclass(frozen=True)
class Event:
    """An event; `sha256` is the hash of the other fields, `previous` that of the previous event."""

    seq: int
    at: str
    actor: str
    action: str
    subject: str
    details: str
    previous: str
    sha256: str


RULES, REGISTRY = "campaign.toml", "campaign.sqlite"
"""Names of the file of the rules, which organisers write, and of the file of the registry."""

JOURNAL = f"{REGISTRY}-journal"
"""SQLite's journal, which exists during a change, and remains if the process is killed."""

OBJECTS, SCORES, RELEASES = "objects", "scores", "releases"
"""Folders of submitted bytes by SHA-256, of cached scores, and of releases."""


def check_folder(folder: Path) -> None:
    """Check that a folder is the folder of a campaign."""
    try:
        is_folder, has_registry = folder.is_dir(), (folder / REGISTRY).is_file()
    except OSError as error:
        # For example, the name is too long.
        raise InputError(get_system_reason(error), source=str(folder)) from None
    if not is_folder:
        raise InputError("no such folder", source=str(folder))
    if not has_registry:
        hint = "`cranfield campaign init` creates a campaign"
        raise InputError(f"is not a campaign: {REGISTRY} is missing ({hint})", source=str(folder))


CHUNK_BYTES = 1 << 20
"""Number of bytes that are read at a time."""


def find_object(folder: Path, sha256: str) -> Path:
    """Return the path of the object with a hash; the file need not exist."""
    return folder / OBJECTS / sha256[:2] / sha256


def put_object(folder: Path, source: Path | bytes) -> tuple[str, int]:
    """Store bytes or the content of a file as an object; return its SHA-256 and size in bytes.

    On return, the object is on the disk. Verifications report it as left over until it is recorded.
    """
    sha256 = hash_file(source) if isinstance(source, Path) else hashlib.sha256(source).hexdigest()
    target = find_object(folder, sha256)
    if not target.parent.is_dir():
        (folder / OBJECTS).mkdir(mode=0o700, exist_ok=True)
        target.parent.mkdir(mode=0o700, exist_ok=True)
        sync_folder(folder / OBJECTS)
    digest, size = hashlib.sha256(), 0
    with (
        source.open("rb") if isinstance(source, Path) else BytesIO(source) as file,
        open_atomically(target, is_private=True, is_synced=True) as out,
    ):
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
            size += out.write(chunk)
        if digest.hexdigest() != sha256:
            raise InputError("changed while it was read", source=str(source))
    return sha256, size


def read_object(folder: Path, sha256: str) -> bytes:
    """Return the bytes of an object, after checking their hash."""
    try:
        data = find_object(folder, sha256).read_bytes()
    except OSError as error:
        raise InputError("is missing or cannot be read", source=f"{OBJECTS}/{sha256}") from error
    if hashlib.sha256(data).hexdigest() != sha256:
        reason = "the stored bytes differ from the submitted file"
        raise InputError(reason, source=f"{OBJECTS}/{sha256}")
    return data


def read_json(path: Path) -> Mapping[str, Any]:
    """Read a JSON object from a file of a release."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise InputError(f"cannot be read: {error}", source=str(path)) from None
    if not isinstance(value, dict):
        raise InputError("is not a JSON object", source=str(path))
    return value
