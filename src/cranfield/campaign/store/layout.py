"""Where things are in a campaign's folder, which only its owner may read."""

from __future__ import annotations

from pathlib import Path

from cranfield.base.errors import InputError

RULES, REGISTRY, SEAL = "campaign.toml", "campaign.sqlite", "campaign.sha256"
"""The files: the rules, by people; the registry; what its bytes are."""

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
