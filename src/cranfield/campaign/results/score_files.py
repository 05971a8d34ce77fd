"""Files of scores: written whole, registered, and given up where they are not what was written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from io import BytesIO
from typing import Any

import polars as pl

from cranfield.base.digests import file_sha256
from cranfield.base.errors import warn
from cranfield.base.whole_files import whole_file
from cranfield.campaign.opened import Opened
from cranfield.campaign.store.layout import SCORES, private_folder
from cranfield.campaign.store.records import ScoreFile


def digest(*parts: object) -> str:
    """Return the SHA-256 of values, as JSON text."""
    return sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def kept_table(
    opened: Opened, record: ScoreFile, columns: Sequence[str] | None = None
) -> pl.DataFrame | None:
    """Return the table in a file; None where it is not what was written, which is said.

    The bytes are read once: another process may put files together, and remove them, meanwhile.
    """
    try:
        data, what = (opened.folder / record.path).read_bytes(), "is damaged"
    except OSError:
        data, what = b"", "is missing"
    if sha256(data).hexdigest() == record.sha256:
        return pl.read_parquet(BytesIO(data), columns=None if columns is None else [*columns])
    # Another process may just have put it together with others.
    if record in opened.registry.score_files(record.task):
        said = f"{record.path} {what}: what it held is computed again"
        warn(said, stacklevel=2)
    return None


def written(
    opened: Opened, frame: pl.DataFrame, task: str, judgments: str, **about: str
) -> ScoreFile:
    """Write a file, of which nobody knows yet; its key is the hash of what it is about."""
    key = digest(task, judgments, about)
    private_folder(opened.folder / SCORES)
    path = f"{SCORES}/{key[:32]}.parquet"
    with whole_file(opened.folder / path, private=True, synced=True) as out:
        frame.write_parquet(out, statistics=False)
    return ScoreFile(key, task, judgments, path, file_sha256(opened.folder / path), about)


def enter(
    opened: Opened, new: Sequence[ScoreFile], old: Iterable[ScoreFile], details: Mapping[str, Any]
) -> None:
    """Register files in the place of others, in one change; the others are removed then."""
    [task] = {one.task for one in new}
    keys = {one.key for one in new}
    with opened.registry.change("score", task, details) as change:
        known = {one.key: one for one in change.score_files(task)}
        for one in new:
            (change.update if one.key in known else change.insert)(one)
        gone = [one for one in old if known.get(one.key) == one and one.key not in keys]
        for one in gone:
            change.remove(one)
    for one in gone:
        (opened.folder / one.path).unlink(missing_ok=True)


def kept_frame(
    opened: Opened,
    task: str,
    judgments: str,
    basis: str,
    make: Callable[[], tuple[pl.DataFrame, dict[str, str]]],
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Return a table, and what is said of it, which takes long to make: once made, it is kept."""
    damaged = []
    for one in opened.registry.score_files(task):
        if one.about.get("basis") == basis:
            if (kept := kept_table(opened, one)) is not None:
                return kept, one.about
            damaged.append(one)
    frame, about = make()
    record = written(opened, frame, task, judgments, basis=basis, **about)
    enter(opened, [record], damaged, {"judgments": judgments})
    return frame, about
