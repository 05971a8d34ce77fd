"""A campaign's folder as a whole: created, verified by its hashes, exported."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import secrets
import shutil
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, ClassVar
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.files import file_sha256, whole_file, whole_folder
from cranfield.base.text import counted, plain
from cranfield.campaign.opened import OpenedCampaign
from cranfield.campaign.publishing.bag import TAG_MANIFEST, validate
from cranfield.campaign.rules.reading import read_rules, template
from cranfield.campaign.store import events, records, schema
from cranfield.campaign.store.events import KEYS
from cranfield.campaign.store.records import (
    JOURNAL,
    OBJECTS,
    REGISTRY,
    RELEASES,
    RULES,
    SCORES,
    check_folder,
    private_folder,
)
from cranfield.campaign.store.registry import Reading, Transaction
from cranfield.campaign.store.schema import connected
from cranfield.result import Column, Columns, Result

if TYPE_CHECKING:
    import polars as pl


PROBLEM, LEFT_OVER, NOTE, REPAIRED = "problem", "left over", "note", "repaired"
"""Kinds: what must not be; what a kill left, and a repair removes; what is only said; what was."""


@dataclass(frozen=True)
class Finding:
    """Finding about a file of a campaign, by its path in the folder."""

    file: str
    reason: str
    kind: str = PROBLEM

    def __str__(self) -> str:
        kind = "" if self.kind == PROBLEM else f" ({self.kind})"
        return f"{plain(self.file)}: {plain(self.reason)}{kind}"


@dataclass(frozen=True, repr=False)
class Verification(Result):
    """Result of a verification; `ok` if there is no problem.

    Attributes
    ----------
    findings
        Problems first, then what was left over by a kill, notes, and what was repaired.
    files, events
        How many files were compared with their hashes, and how many events are in the chain.
    """

    name: ClassVar[str] = "findings"
    columns: ClassVar[Columns] = {
        "kind": Column("problem, left over (by an interrupted command), note, or repaired."),
        "file": Column("Path in the campaign's folder.", key=True),
        "reason": Column("What is wrong with the file, or was done with it."),
    }

    findings: tuple[Finding, ...]
    files: int = 0
    events: int = 0

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Problems: changed bytes and missing files."""
        return self._of(PROBLEM)

    @property
    def left_over(self) -> tuple[Finding, ...]:
        """Unreferenced files left by an interrupted command; `repair` removes them."""
        return self._of(LEFT_OVER)

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """Findings that are harmless but worth knowing."""
        return self._of(NOTE)

    @property
    def ok(self) -> bool:
        """True if there is no problem."""
        return not self.problems

    def _of(self, kind: str) -> tuple[Finding, ...]:
        return tuple(one for one in self.findings if one.kind == kind)

    def __str__(self) -> str:
        # Written here, as tables need polars, which a verification does without.
        return "\n".join([*self.heading(), *map(str, self.findings)])

    def heading(self) -> list[str]:
        """Return one line: whether all is well, and how much was compared."""
        compared = f"{counted(self.files, 'file')}, {counted(self.events, 'event')}"
        return [f"{counted(len(self.problems), 'problem') if not self.ok else 'whole'}: {compared}"]

    def _frame(self) -> pl.DataFrame:
        import polars as pl

        rows = [[getattr(one, name) for name in self.columns] for one in self.findings]
        schema = dict.fromkeys(self.columns, pl.String)
        return pl.DataFrame(rows, schema=schema, orient="row")


OWN = (RULES, REGISTRY, OBJECTS, SCORES, RELEASES)

_UNNAMED = re.compile(
    rf"{OBJECTS}/(\.[^/]*|([0-9a-f]{{2}})/(\2[0-9a-f]{{62}}|\.[^/]*))"
    rf"|{SCORES}/(\..*|[^/]+\.parquet)"
    rf"|{RELEASES}/(\.[^/]*|[^/]+\.retracted\.json)"
    rf"|\.campaign\.[^/]*|{re.escape(JOURNAL)}"
)
"""How what a campaign writes is called; of these, what nobody names was left by a kill."""


@dataclass(frozen=True)
class Named:
    """A file that the registry names, or the folder of a release.

    Attributes
    ----------
    path
        In the campaign's folder.
    sha256
        That of the file; of a release, that of its tag manifest.
    what
        What it is, in words.
    """

    path: str
    sha256: str
    what: str


RELEASE, SCORES_FILE = "release", "scores; remove it to have them computed"
"""What folders of releases and files of scores are."""


def named_files(registry: Reading) -> dict[str, Named]:
    """Return all that a registry names, or a change that goes on, by path."""
    files = [
        Named(path, sha256, "rules as they were last used")
        for path, sha256 in registry.rules_files().items()
    ]
    objects = {one.object: f"run {quoted(one.tag)}" for one in registry.submissions(None, None)
               if one.kept}  # fmt: skip
    objects |= {one.object: f"judgments {quoted(one.version)}" for one in registry.judgments()}
    for sha256, what in objects.items():
        files.append(Named(records.path(Path(), sha256).as_posix(), sha256, what))
    files += [Named(one.path, one.sha256, SCORES_FILE) for one in registry.score_files()]
    for release in registry.releases():
        files.append(Named(release.path, release.manifest, RELEASE))
        if release.retraction is not None:
            note = f"{release.path}.retracted.json"
            files.append(Named(note, release.retraction, "note of a retracted release"))
    return {one.path: one for one in files}


def other_files(folder: Path, named: Collection[str]) -> Iterator[Finding]:
    """Find what is in a folder besides: left over by a kill, or not the campaign's at all."""
    above = {str(parent) for name in named for parent in PurePosixPath(name).parents}

    def entries(inner: Path) -> Iterator[tuple[str, Path]]:
        """Go into the folders of the campaign, but not into releases or those of others."""
        for path in sorted(inner.iterdir()):
            name = path.relative_to(folder).as_posix()
            own = name in OWN or name in above or inner == folder / OBJECTS
            if own and path.is_dir() and not path.is_symlink():
                yield from entries(path)
            else:
                yield name, path

    for name, path in entries(folder):
        if name in named or name in OWN:
            continue
        if _UNNAMED.fullmatch(name) or (path / "bagit.txt").exists():
            yield Finding(name, "no record names it", LEFT_OVER)
        else:
            yield Finding(name, "does not belong to the campaign", NOTE)


LOOKS = 5
"""How often files are looked at that are missing while others are at work."""


def verify(opened: OpenedCampaign, *, repair: bool = False) -> Verification:
    """Verify a campaign's folder; only changes that a kill interrupted are rolled back.

    Parameters
    ----------
    opened
        The campaign.
    repair
        Remove files that interrupted commands left behind. A file that the registry names is never
        removed.

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
            for one in named.values():
                if one.what == RELEASE:
                    self.bag(one.path, one.sha256)
                elif one.what == SCORES_FILE and not (self.folder / one.path).exists():
                    self.found(one.path, "is missing; it will be computed again", NOTE)
                else:
                    self.compare(one.path, one.sha256, one.what)
            self.findings.extend(other_files(self.folder, named))
        if os.name == "posix" and self.folder.stat().st_mode & 0o077:
            self.found(".", "the folder is readable by other users", NOTE)
        order = (PROBLEM, LEFT_OVER, NOTE)
        self.findings.sort(key=lambda one: order.index(one.kind))
        return Verification(tuple(self.findings), self.files, self.events)

    def found(self, file: str, reason: str, kind: str = PROBLEM) -> None:
        self.findings.append(Finding(file, reason, kind))

    def compare(self, name: str, sha256: str, what: str) -> None:
        path = self.folder / name
        if path.exists() and not path.is_file():
            # To open a pipe would wait for somebody to write to it.
            self.found(name, f"is not a regular file ({what})")
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

    def registry(self) -> dict[str, Named] | None:
        """Verify the registry; what it names, or None where it cannot be trusted."""
        try:
            with connected(self.folder) as connection:
                connection.execute("BEGIN")
                self.files += 1
                wrong = events.contradictions(connection)
                for reason in wrong[:20]:
                    self.found(REGISTRY, reason)
                if wrong:
                    return None
                self.events, _ = events.last_event(connection)
                return named_files(Transaction(connection, self.folder))
        except InputError as error:
            self.found(REGISTRY, error.reason)
            return None

    def unnamed(self) -> None:
        """Verify the files whose names contain their hash, if the registry cannot be read."""
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


def _repaired(opened: OpenedCampaign, found: Verification) -> Iterator[Finding]:
    if any(one.file == REGISTRY for one in found.problems):
        return
    if found.left_over:
        # Rules that changed are not recorded by a repair: who uses them does.
        registry = OpenedCampaign(opened.folder, actor=opened.actor, clock=opened.clock).registry
        names = [one.file for one in found.left_over]
        with registry.change("repair", details={"removed": names}) as tx:
            # Under the lock, nothing that was not named a moment ago can become so.
            for one in other_files(opened.folder, named_files(tx)):
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


def create_folder(folder: Path, rules: Path | None = None, actor: str | None = None) -> None:
    """Make a campaign's folder, from a file of rules and the files that it names.

    It is made beside its place under another name, and takes its name when it is whole. Without
    rules there is an example of them, with comments, to be written on.

    Raises
    ------
    PolicyError
        If there is something in the folder, or it is the one that this process works in.
    InputError
        If the rules or a file that they name cannot be read, or the folder cannot be made.
    """
    if folder.resolve() == Path.cwd():
        raise PolicyError("expected the name of a new folder, got the current one")
    with whole_folder(folder, private=True, synced=True) as building:
        _fill(building, rules, actor)


def _fill(building: Path, rules: Path | None, actor: str | None) -> None:
    if rules is None:
        _keep(building / RULES, template().encode())
    else:
        # Loaded where it is needed: it reads measures and policies.
        from cranfield.campaign.rules.reading import check_rules

        read = read_rules(rules)
        check_rules(read)
        source = rules if rules.is_dir() else rules.parent
        for name in read.files:
            own = RULES if name == read.source else name
            _keep(building / own, (source / name).read_bytes())
    for name in (OBJECTS, SCORES, RELEASES):
        private_folder(building / name)
    schema.create(building / REGISTRY)
    # The log begins with what nobody can guess: releases draw the names of hidden teams by it.
    about = {"secret": secrets.token_hex(16)}
    opened = OpenedCampaign(building, actor=actor)
    # Rules that were read are in use: the first change records them.
    _ = opened.rules
    with opened.registry.change("create", details=about):
        pass


def _keep(target: Path, data: bytes) -> None:
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with whole_file(target, private=True, synced=True) as out:
        out.write(data)


SUMS = "SHA256SUMS"


def export(opened: OpenedCampaign, path: str | PathLike[str]) -> Path:
    """Write a campaign as one zip archive: its files, and the tables of its registry.

    The archive holds all that is private, contacts and runs that were not released: it is for
    keeping, not for showing. Only its owner can read it. For others there is a release.

    Parameters
    ----------
    opened
        The campaign.
    path
        The archive, whose name ends in `.zip`, outside of the campaign's folder. It holds the
        campaign's folder, each table in `tables/` as CSV and as JSON, and in `SHA256SUMS` the
        hashes of all of them, which `sha256sum -c` compares.

    Raises
    ------
    InputError
        If a file that the registry names is missing, or the archive cannot be written.
    """
    target = Path(fspath(path))
    if target.suffix.lower() != ".zip":
        raise PolicyError(f"an export must end in .zip, got {target.name}")
    check_folder(opened.folder)
    if target.resolve().is_relative_to(opened.folder.resolve()):
        raise PolicyError("an export must be outside the campaign's folder")
    with connected(opened.folder) as connection:
        connection.execute("BEGIN")
        named = named_files(Transaction(connection, opened.folder))
        data = connection.serialize()
        tables = {
            name: [dict(row) for row in connection.execute(f"SELECT * FROM {name}")]
            for name in (*KEYS, "event")
        }
    with (
        whole_file(target, private=True, synced=True) as out,
        ZipFile(out, "w", ZIP_DEFLATED) as archive,
    ):
        sums = [_packed(archive, REGISTRY, io.BytesIO(data))]
        for name, rows in tables.items():
            for suffix, text in (("csv", _csv(rows)), ("json", _json(rows))):
                table = io.BytesIO(text.encode())
                sums.append(_packed(archive, f"tables/{name}.{suffix}", table))
        for one in sorted(named.values(), key=lambda one: one.path):
            source = opened.folder / one.path
            inner = sorted(path for path in source.rglob("*") if path.is_file())
            if one.what == SCORES_FILE and not source.exists():
                continue
            for file in inner if source.is_dir() else [source]:
                name = file.relative_to(opened.folder).as_posix()
                try:
                    with file.open("rb") as stored:
                        sums.append(_packed(archive, name, stored))
                except OSError as error:
                    raise InputError("is missing or cannot be read", source=name) from error
        _packed(archive, SUMS, io.BytesIO("".join(sums).encode()))
    return target


def _packed(archive: ZipFile, name: str, file: BinaryIO) -> str:
    """Write a file to an archive, without its time; return its line of `SHA256SUMS`."""
    entry = ZipInfo(name)
    entry.external_attr = 0o600 << 16
    entry.compress_type = ZIP_DEFLATED
    digest = hashlib.sha256()
    with archive.open(entry, "w") as out:
        while piece := file.read(records.CHUNK):
            digest.update(piece)
            out.write(piece)
    return f"{digest.hexdigest()}  {name}\n"


def _csv(rows: list[dict[str, object]]) -> str:
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return out.getvalue()


def _json(rows: list[dict[str, object]]) -> str:
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
