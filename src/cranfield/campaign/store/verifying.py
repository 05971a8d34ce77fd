"""Verify a campaign's folder: its bytes by hashes, and the hashes by the registry."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from cranfield.base.digests import file_sha256
from cranfield.base.errors import InputError
from cranfield.campaign.opened import Opened
from cranfield.campaign.publishing.bag import TAG_MANIFEST, validate
from cranfield.campaign.store import events, objects, seal
from cranfield.campaign.store.layout import OBJECTS, REGISTRY, RELEASES, SEAL, check_folder
from cranfield.campaign.store.named import Named
from cranfield.campaign.store.registry import Registry, Transaction
from cranfield.campaign.store.schema import connected
from cranfield.campaign.store.verification import (
    LEFT_OVER,
    NOTE,
    PROBLEM,
    REPAIRED,
    Finding,
    Verification,
)

LOOKS = 5
"""How often files are looked at that are missing while others are at work."""


def verify(opened: Opened, *, repair: bool = False) -> Verification:
    """Verify a campaign's folder, and change nothing in it but what a kill left half-done.

    Parameters
    ----------
    opened
        The campaign.
    repair
        Remove what a kill left over, and seal a registry that is whole and not sealed. What the
        registry names is never touched.

    Returns
    -------
    Verification
        Each problem with its file and the reason.

    Notes
    -----
    Hashes show that bytes are those that were recorded, and in which order; not that what was
    recorded is true, nor that nobody wrote the whole folder anew.
    """
    check_folder(opened.folder)
    found = _looked(opened.folder)
    if not repair:
        return found
    done = tuple(_repaired(opened, found))
    again = _looked(opened.folder)
    return Verification((*again.findings, *done), again.files, again.events)


def _looked(folder: Path) -> Verification:
    """Look again where others changed something meanwhile: what is missing may be purged."""
    for look in range(LOOKS):
        try:
            found = _Account(folder).all()
        except FileNotFoundError:
            # A file that was being written got its name, or was removed, under our eyes.
            if look == LOOKS - 1:
                raise
            continue
        if found.ok or not found.events:
            break
        with connected(folder) as connection:
            if events.last_event(connection)[0] == found.events:
                break
    return found


class _Account:
    """One look at a folder: what was compared, and what was found."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.findings: list[Finding] = []
        self.files = 0
        self.events = 0

    def all(self) -> Verification:
        named = self.registry()
        if named is None:
            self.unnamed()
        else:
            for path, sha256 in named.rules.items():
                self.compare(path, sha256, "rules as they were last used")
            for sha256, what in named.objects.items():
                self.compare(objects.path(Path(), sha256).as_posix(), sha256, what)
            for one in named.scores:
                if (self.folder / one.path).exists():
                    self.compare(one.path, one.sha256, "scores; remove it to have them computed")
                else:
                    self.found(one.path, "is missing; it will be computed again", NOTE)
            for release in named.releases:
                self.bag(release.path, release.manifest)
                if release.retraction is not None:
                    note = f"{release.path}.retracted.json"
                    self.compare(note, release.retraction, "note of a retracted release")
            self.findings.extend(named.others(self.folder))
        if os.name == "posix" and self.folder.stat().st_mode & 0o077:
            self.found(".", "others than its owner may look into the folder", NOTE)
        order = (PROBLEM, LEFT_OVER, NOTE)
        self.findings.sort(key=lambda one: order.index(one.kind))
        return Verification(tuple(self.findings), self.files, self.events)

    def found(self, file: str, reason: str, kind: str = PROBLEM) -> None:
        self.findings.append(Finding(file, reason, kind))

    def compare(self, name: str, sha256: str, what: str) -> None:
        path = self.folder / name
        if path.exists() and not path.is_file():
            # To open a pipe would wait for somebody to write to it.
            self.found(name, f"is no ordinary file ({what})")
            return
        if path.is_symlink():
            self.found(name, f"is a link: a copy of the folder may be without it ({what})", NOTE)
        try:
            same = file_sha256(path) == sha256
        except InputError as error:
            self.found(name, f"{error.reason} ({what})")
            return
        self.files += 1
        if not same:
            self.found(name, f"its SHA-256 is not the recorded one ({what})")

    def registry(self) -> Named | None:
        """Verify registry and seal; what the registry names, or None where it cannot be trusted."""
        try:
            with connected(self.folder) as connection:
                connection.execute("BEGIN")
                try:
                    if seal.compared(connection, self.folder) == seal.UNSEALED:
                        reason = "does not hold the last change, which was interrupted; the next"
                        self.found(SEAL, f"{reason} change seals it", NOTE)
                except InputError as error:
                    self.found(error.source or REGISTRY, error.reason)
                self.files += 2
                wrong = events.contradictions(connection)
                for reason in wrong[:20]:
                    self.found(REGISTRY, reason)
                if wrong or any(one.file == REGISTRY for one in self.findings):
                    return None
                self.events, _ = events.last_event(connection)
                return Named.of(Transaction(connection, self.folder))
        except InputError as error:
            self.found(REGISTRY, error.reason)
            return None

    def unnamed(self) -> None:
        """Verify what tells its own hash, where there is no registry to go by."""
        self.found(".", "compared without the registry: no rules, scores and missing files", NOTE)
        for path in sorted((self.folder / OBJECTS).glob("*/*")):
            if not path.name.startswith("."):
                self.compare(path.relative_to(self.folder).as_posix(), path.name, "by its name")
        for path in sorted((self.folder / RELEASES).glob("*/bagit.txt")):
            self.bag(path.parent.relative_to(self.folder).as_posix(), None)

    def bag(self, path: str, manifest: str | None) -> None:
        folder = self.folder / path
        if not folder.is_dir():
            self.found(path, "is missing (release)")
            return
        if manifest is not None:
            self.compare(f"{path}/{TAG_MANIFEST}", manifest, "release")
        for line in validate(folder):
            name, _, reason = line.partition(": ")
            self.found(f"{path}/{name}", f"{reason} (release)")
        rest = (one for one in folder.rglob("*") if one.name != TAG_MANIFEST and one.is_file())
        self.files += sum(1 for _ in rest)


def _repaired(opened: Opened, found: Verification) -> Iterator[Finding]:
    if any(one.file == REGISTRY for one in found.problems):
        return
    if any(one.file == SEAL for one in found.findings):
        with connected(opened.folder) as connection:
            connection.execute("BEGIN IMMEDIATE")
            if not events.contradictions(connection):
                seal.write_seal(opened.folder, seal.bytes_sealed(connection))
                yield Finding(SEAL, "the registry, which is whole, is sealed again", REPAIRED)
            connection.execute("ROLLBACK")
    if found.left_over:
        # Rules that changed are not recorded by a repair: who uses them does.
        registry = Registry(opened.folder, actor=opened.actor, clock=opened.clock)
        names = [one.file for one in found.left_over]
        with registry.change("repair", details={"removed": names}) as tx:
            # Under the lock, nothing that was not named a moment ago can become so.
            for one in Named.of(tx).others(opened.folder):
                if one.kind == LEFT_OVER and one.file in names:
                    _remove(opened.folder / one.file)
                    yield Finding(one.file, "removed", REPAIRED)


def _remove(path: Path) -> None:
    if path.name.endswith("-journal"):
        # SQLite's own; it is gone after the change that goes on.
        return
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
