"""A whole campaign in one archive that programs without SQLite can read; it is private."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from os import PathLike, fspath
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from cranfield.base.errors import InputError, PolicyError
from cranfield.base.whole_files import whole_file
from cranfield.campaign.opened import Opened
from cranfield.campaign.store import seal
from cranfield.campaign.store.events import KEYS
from cranfield.campaign.store.layout import REGISTRY, SEAL, check_folder
from cranfield.campaign.store.named import Named
from cranfield.campaign.store.registry import Transaction
from cranfield.campaign.store.schema import connected

SUMS = "SHA256SUMS"
CHUNK = 1 << 20


def export(opened: Opened, path: str | PathLike[str]) -> Path:
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
        raise PolicyError(f"an export is a zip archive; {target.name} does not end in .zip")
    check_folder(opened.folder)
    if target.resolve().is_relative_to(opened.folder.resolve()):
        raise PolicyError("an export goes elsewhere than into the campaign's folder")
    with connected(opened.folder) as connection:
        connection.execute("BEGIN")
        registry = Transaction(connection, opened.folder)
        named = Named.of(registry)
        data = connection.serialize()
        tables = {
            name: [dict(row) for row in connection.execute(f"SELECT * FROM {name}")]
            for name in (*KEYS, "event")
        }
        sealed = seal.bytes_sealed(connection).text()
    with (
        whole_file(target, private=True, synced=True) as out,
        ZipFile(out, "w", ZIP_DEFLATED) as archive,
    ):
        packed = _Packed(archive)
        packed.add(REGISTRY, data)
        packed.add(SEAL, sealed.encode())
        for name, rows in tables.items():
            packed.add(f"tables/{name}.csv", _csv(rows).encode())
            packed.add(f"tables/{name}.json", _json(rows).encode())
        for name in sorted(named.paths()):
            packed.copy(opened.folder, name, needed=not name.startswith("scores/"))
        packed.add(SUMS, "".join(packed.sums).encode())
    return target


class _Packed:
    """An archive without times, and the hashes of what is in it."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self.sums: list[str] = []

    def add(self, name: str, data: bytes) -> None:
        self._archive.writestr(_entry(name), data)
        self.sums.append(f"{hashlib.sha256(data).hexdigest()}  {name}\n")

    def copy(self, folder: Path, name: str, *, needed: bool) -> None:
        source = folder / name
        if source.is_dir():
            for one in sorted(source.rglob("*")):
                if one.is_file():
                    self.copy(folder, one.relative_to(folder).as_posix(), needed=True)
            return
        if not source.exists() and not needed:
            return
        digest = hashlib.sha256()
        try:
            with source.open("rb") as file, self._archive.open(_entry(name), "w") as out:
                while piece := file.read(CHUNK):
                    digest.update(piece)
                    out.write(piece)
        except OSError as error:
            raise InputError("is missing or cannot be read", source=name) from error
        self.sums.append(f"{digest.hexdigest()}  {name}\n")


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name)
    entry.external_attr = 0o600 << 16
    entry.compress_type = ZIP_DEFLATED
    return entry


def _csv(rows: list[dict[str, object]]) -> str:
    out = io.StringIO()
    if rows:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return out.getvalue()


def _json(rows: list[dict[str, object]]) -> str:
    return json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
