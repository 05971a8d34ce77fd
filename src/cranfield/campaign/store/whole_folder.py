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
from collections.abc import Iterator
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
from cranfield.campaign.rules.reading import check_rules, read_rules, template
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
"""Kinds of findings; left-overs of a killed command are removed by a repair."""


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
        "reason": Column("Problem with the file, or the repair made."),
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
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def __str__(self) -> str:
        # Written here, as tables need polars, which a verification does without.
        return "\n".join([*self.heading(), *map(str, self.findings)])

    def heading(self) -> list[str]:
        """Return one line: whether all is well, and how much was compared."""
        compared = f"{counted(self.files, 'file')}, {counted(self.events, 'event')}"
        return [f"{counted(len(self.problems), 'problem') if not self.ok else 'whole'}: {compared}"]

    def _frame(self) -> pl.DataFrame:
        import polars as pl

        rows = [(finding.kind, finding.file, finding.reason) for finding in self.findings]
        return pl.DataFrame(rows, schema=dict.fromkeys(self.columns, pl.String), orient="row")


OWN = (RULES, REGISTRY, OBJECTS, SCORES, RELEASES)

_UNNAMED = re.compile(
    rf"{OBJECTS}/(\.[^/]*|([0-9a-f]{{2}})/(\2[0-9a-f]{{62}}|\.[^/]*))"
    rf"|{SCORES}/(\..*|[^/]+\.parquet)"
    rf"|{RELEASES}/(\.[^/]*|[^/]+\.retracted\.json)"
    rf"|\.campaign\.[^/]*|{re.escape(JOURNAL)}"
)
"""Names of the files that a campaign writes; those that no record names were left by a kill."""

_RELEASE, _SCORES = "release", "scores; remove it to have them computed"

_Named = dict[str, tuple[str, str]]
"""SHA-256 and description of the files that a registry names, and of the tag manifests of releases,
by the path of the file or release."""


def _named_files(registry: Reading) -> _Named:
    named = {
        path: (sha256, "rules as they were last used")
        for path, sha256 in registry.rules_files().items()
    }
    objects = {
        run.object: f"run {quoted(run.tag)}" for run in registry.submissions(None, None) if run.kept
    }
    objects |= {one.object: f"judgments {quoted(one.version)}" for one in registry.judgments()}
    for sha256, description in objects.items():
        named[records.path(Path(), sha256).as_posix()] = sha256, description
    for file in registry.score_files():
        named[file.path] = file.sha256, _SCORES
    for release in registry.releases():
        named[release.path] = release.manifest, _RELEASE
        if release.retraction is not None:
            note = f"{release.path}.retracted.json"
            named[note] = release.retraction, "note of a retracted release"
    return named


def _other_files(folder: Path, named: _Named) -> Iterator[Finding]:
    """Find what no record names: left over by a kill, or not the campaign's at all."""
    above = {str(parent) for name in named for parent in PurePosixPath(name).parents}
    pending = sorted(folder.iterdir(), reverse=True)
    while pending:
        path = pending.pop()
        name = path.relative_to(folder).as_posix()
        own = name in OWN or name in above or path.parent == folder / OBJECTS
        if own and path.is_dir() and not path.is_symlink():
            # Releases, and folders of others, are not entered.
            pending.extend(sorted(path.iterdir(), reverse=True))
        elif name in named or name in OWN:
            continue
        elif _UNNAMED.fullmatch(name) or (path / "bagit.txt").exists():
            yield Finding(name, "no record names it", LEFT_OVER)
        else:
            yield Finding(name, "does not belong to the campaign", NOTE)


LOOKS = 5
"""How often files are looked at that are missing while other processes are at work."""


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
    verification = _look_again(opened.folder)
    if not repair:
        return verification
    removed = _remove_left_over(opened, verification)
    again = _look_again(opened.folder)
    return Verification((*again.findings, *removed), again.files, again.events)


def _look_again(folder: Path) -> Verification:
    """Look again where others changed something meanwhile: what is missing may be purged."""
    for look in range(LOOKS):
        try:
            verification = _look(folder)
        except FileNotFoundError:
            # A file that was being written got its name, or was removed, under our eyes.
            if look == LOOKS - 1:
                raise
            continue
        if verification.ok or not verification.events:
            break
        with connected(folder) as connection:
            if events.last_event(connection)[0] == verification.events:
                break
    return verification


def _look(folder: Path) -> Verification:
    """Compare all files of a folder with their hashes once."""
    findings: list[Finding] = []
    files, last = 1, 0
    named: _Named | None = None
    try:
        with connected(folder) as connection:
            connection.execute("BEGIN")
            findings = [Finding(REGISTRY, why) for why in events.contradictions(connection)[:20]]
            if not findings:
                last, _ = events.last_event(connection)
                named = _named_files(Transaction(connection, folder))
    except InputError as error:
        files = 0
        findings.append(Finding(REGISTRY, error.reason))
    if named is None:
        reason = "compared without the registry: no rules, scores and missing files"
        findings.append(Finding(".", reason, NOTE))
    hashed = _named_by_hash(folder) if named is None else named
    for name, (sha256, description) in hashed.items():
        if description == _RELEASE:
            compared, found = _compare_bag(folder, name, sha256)
        elif description == _SCORES and not (folder / name).exists():
            compared, found = 0, [Finding(name, "is missing; it will be computed again", NOTE)]
        else:
            compared, found = _compare(folder, name, sha256, description)
        files += compared
        findings += found
    if named is not None:
        findings.extend(_other_files(folder, named))
    if os.name == "posix" and folder.stat().st_mode & 0o077:
        findings.append(Finding(".", "the folder is readable by other users", NOTE))
    findings.sort(key=lambda finding: (PROBLEM, LEFT_OVER, NOTE).index(finding.kind))
    return Verification(tuple(findings), files, last)


def _named_by_hash(folder: Path) -> _Named:
    """Return the files whose names contain their hash, and releases, without the registry."""
    objects = (path for path in sorted((folder / OBJECTS).glob("*/*")) if path.name[0] != ".")
    bags = (path.parent for path in sorted((folder / RELEASES).glob("*/bagit.txt")))
    named = {path.relative_to(folder).as_posix(): (path.name, "by its name") for path in objects}
    return named | {path.relative_to(folder).as_posix(): ("", _RELEASE) for path in bags}


def _compare(folder: Path, name: str, sha256: str, description: str) -> tuple[int, list[Finding]]:
    """Compare a file with its hash; return 1 if it can be read, and the findings."""
    path = folder / name
    if path.exists() and not path.is_file():
        # To open a pipe would wait for somebody to write to it.
        return 0, [Finding(name, f"is not a regular file ({description})")]
    findings = []
    if path.is_symlink():
        reason = f"is a link: a copy of the folder may be without it ({description})"
        findings.append(Finding(name, reason, NOTE))
    try:
        if file_sha256(path) != sha256:
            findings.append(Finding(name, f"its SHA-256 is not the recorded one ({description})"))
    except InputError as error:
        return 0, [*findings, Finding(name, f"{error.reason} ({description})")]
    return 1, findings


def _compare_bag(folder: Path, path: str, manifest: str) -> tuple[int, list[Finding]]:
    """Compare a release with its hashes; return the number of its files, and the findings."""
    bag = folder / path
    if not bag.is_dir():
        return 0, [Finding(path, "is missing (release)")]
    files = 0
    findings: list[Finding] = []
    if manifest:
        files, findings = _compare(folder, f"{path}/{TAG_MANIFEST}", manifest, _RELEASE)
    for line in validate(bag):
        name, _, reason = line.partition(": ")
        findings.append(Finding(f"{path}/{name}", f"{reason} (release)"))
    files += sum(file.name != TAG_MANIFEST and file.is_file() for file in bag.rglob("*"))
    return files, findings


def _remove_left_over(opened: OpenedCampaign, verification: Verification) -> list[Finding]:
    names = {finding.file for finding in verification.left_over}
    if not names or any(finding.file == REGISTRY for finding in verification.problems):
        return []
    # Rules that changed are not recorded by a repair: who uses them does.
    registry = OpenedCampaign(opened.folder, actor=opened.actor, clock=opened.clock).registry
    removed = []
    with registry.change("repair", details={"removed": sorted(names)}) as tx:
        # Under the lock, nothing that was not named a moment ago can become so.
        for finding in _other_files(opened.folder, _named_files(tx)):
            path = opened.folder / finding.file
            if finding.kind != LEFT_OVER or finding.file not in names:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif finding.file != JOURNAL:  # that of SQLite is gone after this change
                path.unlink(missing_ok=True)
            removed.append(Finding(finding.file, "removed", REPAIRED))
    return removed


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
        contents = {RULES: template().encode()}
        if rules is not None:
            given = read_rules(rules)
            check_rules(given)
            source = rules if rules.is_dir() else rules.parent
            contents = {name: (source / name).read_bytes() for name in given.files}
            contents[RULES] = contents.pop(given.source)
        for name, data in contents.items():
            (building / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with whole_file(building / name, private=True, synced=True) as out:
                out.write(data)
        for name in (OBJECTS, SCORES, RELEASES):
            private_folder(building / name)
        schema.create(building / REGISTRY)
        opened = OpenedCampaign(building, actor=actor)
        # Rules that were read are in use: the first change records them.
        _ = opened.rules
        # The log begins with what nobody can guess: releases draw the names of hidden teams by it.
        with opened.registry.change("create", details={"secret": secrets.token_hex(16)}):
            pass


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
        named = _named_files(Transaction(connection, opened.folder))
        written = {REGISTRY: connection.serialize()}
        for table in (*KEYS, "event"):
            rows = [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
            written[f"tables/{table}.csv"] = _csv(rows).encode()
            text = json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
            written[f"tables/{table}.json"] = text.encode()
    with (
        whole_file(target, private=True, synced=True) as out,
        ZipFile(out, "w", ZIP_DEFLATED) as archive,
    ):
        sums = [_packed(archive, name, io.BytesIO(data)) for name, data in written.items()]
        for path_in_folder, (_, description) in sorted(named.items()):
            source = opened.folder / path_in_folder
            if description == _SCORES and not source.exists():
                continue
            inner = sorted(file for file in source.rglob("*") if file.is_file())
            for file in inner if source.is_dir() else [source]:
                name = file.relative_to(opened.folder).as_posix()
                try:
                    with file.open("rb") as stored:
                        sums.append(_packed(archive, name, stored))
                except OSError as error:
                    raise InputError("is missing or cannot be read", source=name) from error
        _packed(archive, "SHA256SUMS", io.BytesIO("".join(sums).encode()))
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
