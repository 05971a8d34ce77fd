"""Creation, verification and export of a campaign's folder."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from os import PathLike, fspath
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, BinaryIO, ClassVar, NamedTuple
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from cranfield.base.errors import InputError, PolicyError, quote
from cranfield.base.files import create_atomically, hash_file, open_atomically
from cranfield.base.text import format_json, inflect, sanitise
from cranfield.campaign.opened_campaign import OpenedCampaign
from cranfield.campaign.publishing.bag import TAG_MANIFEST, validate_bag
from cranfield.campaign.rules.reading import check_rules, read_rules, read_template
from cranfield.campaign.store import records
from cranfield.campaign.store.records import (
    JOURNAL,
    OBJECTS,
    REGISTRY,
    RELEASES,
    RULES,
    SCORES,
    check_folder,
)
from cranfield.campaign.store.registry import (
    KEYS,
    RegistryReader,
    Transaction,
    create_registry,
    find_last_event,
    find_problems,
    open_registry,
)
from cranfield.result import Column, Columns, Result

if TYPE_CHECKING:
    import polars as pl


PROBLEM, LEFT_OVER, NOTE, REPAIRED = "problem", "left over", "note", "repaired"
"""Kinds of findings; a file is left over by a killed process until a repair removes it."""


@dataclass(frozen=True)
class Finding:
    """A finding about a file of a campaign; `file` is its path in the campaign's folder."""

    file: str
    reason: str
    kind: str = PROBLEM

    def __str__(self) -> str:
        kind = "" if self.kind == PROBLEM else f" ({self.kind})"
        return f"{sanitise(self.file)}: {sanitise(self.reason)}{kind}"


@dataclass(frozen=True, repr=False)
class Verification(Result):
    """Result of a verification of a campaign's folder.

    Attributes
    ----------
    findings
        Problems first, then files left over by killed processes, notes, and repairs.
    n_files, n_events
        Number of checked files, including the registry, and number of events in the chain, which
        is 0 if the registry is damaged.
    """

    name: ClassVar[str] = "findings"
    columns: ClassVar[Columns] = {
        "kind": Column("One of: problem, left over (by an interrupted command), note, repaired."),
        "file": Column("Path in the campaign's folder.", key=True),
        "reason": Column("Description of the finding."),
    }

    findings: tuple[Finding, ...]
    n_files: int = 0
    n_events: int = 0

    @property
    def problems(self) -> tuple[Finding, ...]:
        """Problems, such as changed bytes and missing files."""
        return self._select_findings(PROBLEM)

    @property
    def leftover_files(self) -> tuple[Finding, ...]:
        """Unreferenced files left by an interrupted command; `repair` removes them."""
        return self._select_findings(LEFT_OVER)

    @property
    def remarks(self) -> tuple[Finding, ...]:
        """Notes: findings that are not problems, such as files that the campaign does not know."""
        return self._select_findings(NOTE)

    @property
    def is_intact(self) -> bool:
        """True if there is no problem."""
        return not self.problems

    def _select_findings(self, kind: str) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if finding.kind == kind)

    def __str__(self) -> str:
        # Tables would require polars, which a verification does not load.
        return "\n".join([*self.heading(), *map(str, self.findings)])

    def heading(self) -> list[str]:
        """Return one line: the number of problems, or `intact`, and the sizes."""
        sizes = f"{inflect(self.n_files, 'file')}, {inflect(self.n_events, 'event')}"
        return [f"{inflect(len(self.problems), 'problem') if self.problems else 'intact'}: {sizes}"]

    def _frame(self) -> pl.DataFrame:
        import polars as pl

        rows = list(map(asdict, self.findings))
        return pl.DataFrame(rows, schema=dict.fromkeys(self.columns, pl.String))


CAMPAIGN_PATHS = (RULES, REGISTRY, OBJECTS, SCORES, RELEASES)

_FILE_PATTERN = re.compile(
    rf"{OBJECTS}/(\.[^/]*|([0-9a-f]{{2}})/(\2[0-9a-f]{{62}}|\.[^/]*))"
    rf"|{SCORES}/(\..*|[^/]+\.parquet)"
    rf"|{RELEASES}/(\.[^/]*|[^/]+\.retracted\.json)"
    rf"|\.campaign\.[^/]*|{re.escape(JOURNAL)}"
)
"""Names of the files that a campaign writes; killed processes leave some without a record."""


class _Record(NamedTuple):
    """Recorded SHA-256 of a file, or of the tag manifest of a release, with a description."""

    sha256: str
    description: str
    kind: str = "file"  # or `scores`, which can be computed again, or `release`


_Records = dict[str, _Record]
"""Records by path."""


def _find_recorded_files(registry: RegistryReader) -> _Records:
    rules = registry.get_rules_files().items()
    files = {path: _Record(sha256, "rules as they were last used") for path, sha256 in rules}
    runs = (run for run in registry.list_submissions(None, None) if run.is_stored)
    objects = {run.object: f"run {quote(run.tag)}" for run in runs}
    objects |= {
        item.object: f"judgment version {quote(item.version)}" for item in registry.list_judgments()
    }
    for sha256, description in objects.items():
        path = records.find_object(Path(), sha256).as_posix()
        files[path] = _Record(sha256, description)
    for file in registry.list_score_files():
        description = "scores; remove the file to have them computed again"
        files[file.path] = _Record(file.sha256, description, "scores")
    for release in registry.list_releases():
        files[release.path] = _Record(release.manifest, "release", "release")
        if release.retraction is not None:
            note = f"{release.path}.retracted.json"
            files[note] = _Record(release.retraction, "note of a retracted release")
    return files


def _find_unrecorded_files(folder: Path, files: _Records) -> Iterator[Finding]:
    """Yield files without a record: left over by a killed process, or not part of the campaign."""
    parents = {str(parent) for name in files for parent in PurePosixPath(name).parents}
    pending_paths = sorted(folder.iterdir(), reverse=True)
    while pending_paths:
        path = pending_paths.pop()
        name = path.relative_to(folder).as_posix()
        is_own = name in CAMPAIGN_PATHS or name in parents or path.parent == folder / OBJECTS
        if is_own and path.is_dir() and not path.is_symlink():
            # Releases, and folders that are not part of the campaign, are not searched.
            pending_paths.extend(sorted(path.iterdir(), reverse=True))
        elif name in files or name in CAMPAIGN_PATHS:
            continue
        elif _FILE_PATTERN.fullmatch(name) or (path / "bagit.txt").exists():
            yield Finding(name, f"has no record in {REGISTRY}", LEFT_OVER)
        else:
            yield Finding(name, "does not belong to the campaign", NOTE)


MAX_TRIES = 5
"""Maximum number of verifications while other processes change the campaign."""


def verify(campaign: OpenedCampaign, *, repair: bool = False) -> Verification:
    """Verify a campaign's folder: compare files with their hashes, and tables with the events.

    Unfinished changes of killed processes are rolled back first.

    Parameters
    ----------
    campaign
        The campaign.
    repair
        Whether to remove files that interrupted commands left behind; files that the campaign
        recorded are never removed.

    Returns
    -------
    Verification
        The findings, each with its file and the reason.

    Notes
    -----
    Hashes prove that the files and the order of events are as recorded. They do not prove that the
    records are true, or that nobody rewrote the whole folder.
    """
    check_folder(campaign.folder)
    verification = _verify(campaign.folder)
    if not repair:
        return verification
    repairs = _remove_leftover_files(campaign, verification)
    verification = _verify(campaign.folder)
    return replace(verification, findings=(*verification.findings, *repairs))


def _verify(folder: Path) -> Verification:
    """Compare a folder with its hashes; retry if another process changes it at the same time."""
    for attempt in range(MAX_TRIES):
        try:
            verification = _verify_once(folder)
        except FileNotFoundError:
            # Another process renamed or removed a file meanwhile.
            if attempt == MAX_TRIES - 1:
                raise
            continue
        if verification.is_intact or not verification.n_events:
            break
        with open_registry(folder) as connection:
            if find_last_event(connection)[0] == verification.n_events:
                break
    return verification


def _verify_once(folder: Path) -> Verification:
    findings: list[Finding] = []
    n_files, n_events = 1, 0
    recorded_files: _Records | None = None
    try:
        with open_registry(folder) as connection:
            connection.execute("BEGIN")
            problems = find_problems(connection)[:20]
            findings = [Finding(REGISTRY, problem) for problem in problems]
            if not findings:
                n_events, _ = find_last_event(connection)
                recorded_files = _find_recorded_files(Transaction(connection, folder))
    except InputError as error:
        n_files = 0
        findings.append(Finding(REGISTRY, error.reason))
    if recorded_files is None:
        reason = f"rules, scores and missing files were not checked, because {REGISTRY} is damaged"
        findings.append(Finding(".", reason, NOTE))
    files = _find_files_by_name(folder) if recorded_files is None else recorded_files
    for name, record in files.items():
        if record.kind == "release":
            n_compared, new_findings = _compare_bag(folder, name, record.sha256)
        elif record.kind == "scores" and not (folder / name).exists():
            n_compared = 0
            new_findings = [Finding(name, "is missing; scores will be computed again", NOTE)]
        else:
            n_compared, new_findings = _compare_file(folder, name, record)
        n_files += n_compared
        findings += new_findings
    if recorded_files is not None:
        findings.extend(_find_unrecorded_files(folder, recorded_files))
    if os.name == "posix" and folder.stat().st_mode & 0o077:
        findings.append(Finding(".", "the folder is accessible to other users", NOTE))
    findings.sort(key=lambda finding: (PROBLEM, LEFT_OVER, NOTE).index(finding.kind))
    return Verification(tuple(findings), n_files, n_events)


def _find_files_by_name(folder: Path) -> _Records:
    """Find objects, whose names are their hashes, and releases, without using the registry."""
    objects = (path for path in sorted((folder / OBJECTS).glob("*/*")) if path.name[0] != ".")
    bags = (path.parent for path in sorted((folder / RELEASES).glob("*/bagit.txt")))
    files = {path: _Record(path.name, "the name of the file") for path in objects}
    files |= {path: _Record("", "release", "release") for path in bags}
    return {path.relative_to(folder).as_posix(): record for path, record in files.items()}


def _compare_file(folder: Path, name: str, record: _Record) -> tuple[int, list[Finding]]:
    """Compare a file with its hash; return 1 if it can be read, else 0, and the findings."""
    path, description = folder / name, record.description
    if path.exists() and not path.is_file():
        # Reading from a pipe would block until a process writes to it.
        return 0, [Finding(name, f"is not a regular file ({description})")]
    findings = []
    if path.is_symlink():
        reason = f"is a link: a copy of the folder may not contain the file ({description})"
        findings.append(Finding(name, reason, NOTE))
    try:
        is_unchanged = hash_file(path) == record.sha256
    except InputError as error:
        return 0, [*findings, Finding(name, f"{error.reason} ({description})")]
    if not is_unchanged:
        findings.append(Finding(name, f"its SHA-256 differs from the recorded one ({description})"))
    return 1, findings


def _compare_bag(folder: Path, path: str, manifest: str) -> tuple[int, list[Finding]]:
    """Compare a release with its hashes; return the number of its files, and the findings."""
    bag = folder / path
    if not bag.is_dir():
        return 0, [Finding(path, "is missing (release)")]
    n_files = 0
    findings: list[Finding] = []
    if manifest:
        record = _Record(manifest, "release")
        n_files, findings = _compare_file(folder, f"{path}/{TAG_MANIFEST}", record)
    for line in validate_bag(bag):
        name, _, reason = line.partition(": ")
        findings.append(Finding(f"{path}/{name}", f"{reason} (release)"))
    n_files += sum(file.name != TAG_MANIFEST and file.is_file() for file in bag.rglob("*"))
    return n_files, findings


def _remove_leftover_files(campaign: OpenedCampaign, verification: Verification) -> list[Finding]:
    names = {finding.file for finding in verification.leftover_files}
    if not names or any(finding.file == REGISTRY for finding in verification.problems):
        return []
    # Opened again, without reading the rules, so that a repair does not record changed rules.
    registry = OpenedCampaign(campaign.folder, actor=campaign.actor, clock=campaign.clock).registry
    findings = []
    with registry.change("repair", details={"removed": sorted(names)}) as tx:
        # The lock keeps other processes from recording one of these files.
        for finding in _find_unrecorded_files(campaign.folder, _find_recorded_files(tx)):
            path = campaign.folder / finding.file
            if finding.kind != LEFT_OVER or finding.file not in names:
                continue
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif finding.file != JOURNAL:  # SQLite removes its journal after this change
                path.unlink(missing_ok=True)
            findings.append(Finding(finding.file, "removed", REPAIRED))
    return findings


def create_folder(folder: Path, rules: Path | None = None, actor: str | None = None) -> None:
    """Create a campaign's folder completely or not at all; see `cranfield.campaign.create`."""
    if folder.resolve() == Path.cwd():
        raise PolicyError("expected the name of a new folder, got the working directory")
    with create_atomically(folder, is_private=True, is_synced=True) as new_folder:
        contents = {RULES: read_template().encode()}
        if rules is not None:
            source_rules = read_rules(rules)
            check_rules(source_rules)
            source = rules if rules.is_dir() else rules.parent
            contents = {name: (source / name).read_bytes() for name in source_rules.files}
            contents[RULES] = contents.pop(source_rules.source)
        for name, data in contents.items():
            (new_folder / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with open_atomically(new_folder / name, is_private=True, is_synced=True) as out:
                out.write(data)
        for name in (OBJECTS, SCORES, RELEASES):
            (new_folder / name).mkdir(mode=0o700, exist_ok=True)
        create_registry(new_folder / REGISTRY)
        campaign = OpenedCampaign(new_folder, actor=actor)
        # Read the rules, so that the first change records them.
        _ = campaign.rules
        # The event has a secret, from which releases derive the aliases of anonymous teams.
        with campaign.registry.change("create", details={"secret": secrets.token_hex(16)}):
            pass


def export(campaign: OpenedCampaign, path: str | PathLike[str]) -> Path:
    """Write a campaign as a zip archive: its files, and the tables of its registry.

    The archive contains private data, such as contacts and unreleased runs, and only its owner can
    read it. Use a release for publication.

    Parameters
    ----------
    campaign
        The campaign.
    path
        Path of the archive, outside the campaign's folder, ending in `.zip`. The archive contains
        the recorded files of the campaign, each table in `tables/` as CSV and as JSON, and the
        hashes of all these files in `SHA256SUMS`, for `sha256sum -c`.

    Raises
    ------
    CranfieldError
        If a recorded file other than scores is missing, or the archive cannot be written at `path`.
    """
    target = Path(fspath(path))
    if target.suffix.lower() != ".zip":
        raise PolicyError(f"the name of an export must end in .zip, got {quote(target.name)}")
    check_folder(campaign.folder)
    campaign.check_outside(target)
    with open_registry(campaign.folder) as connection:
        connection.execute("BEGIN")
        files = _find_recorded_files(Transaction(connection, campaign.folder))
        contents = {REGISTRY: connection.serialize()}
        for table in (*KEYS, "event"):
            rows = [dict(row) for row in connection.execute(f"SELECT * FROM {table}")]
            text_file = io.StringIO()
            # The keys of the first row are the names of columns.
            lines = [*rows[:1], *(row.values() for row in rows)]
            csv.writer(text_file, lineterminator="\n").writerows(lines)
            contents[f"tables/{table}.csv"] = text_file.getvalue().encode()
            contents[f"tables/{table}.json"] = format_json(rows).encode()
    with (
        open_atomically(target, is_private=True, is_synced=True) as out,
        ZipFile(out, "w", ZIP_DEFLATED) as archive,
    ):
        sums = [_add_file(archive, name, io.BytesIO(data)) for name, data in contents.items()]
        for path_in_folder, record in sorted(files.items()):
            source = campaign.folder / path_in_folder
            if record.kind == "scores" and not source.exists():
                continue
            files_in_release = sorted(file for file in source.rglob("*") if file.is_file())
            for file in files_in_release if source.is_dir() else [source]:
                name = file.relative_to(campaign.folder).as_posix()
                try:
                    with file.open("rb") as stream:
                        sums.append(_add_file(archive, name, stream))
                except OSError as error:
                    raise InputError("is missing or cannot be read", source=name) from error
        _add_file(archive, "SHA256SUMS", io.BytesIO("".join(sums).encode()))
    return target


def _add_file(archive: ZipFile, name: str, file: BinaryIO) -> str:
    """Write a file to an archive with a constant time; return its line of `SHA256SUMS`."""
    entry = ZipInfo(name)
    entry.external_attr = 0o600 << 16
    entry.compress_type = ZIP_DEFLATED
    digest = hashlib.sha256()
    with archive.open(entry, "w") as out:
        while chunk := file.read(records.CHUNK_BYTES):
            digest.update(chunk)
            out.write(chunk)
    return f"{digest.hexdigest()}  {name}\n"
