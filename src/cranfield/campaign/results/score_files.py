"""Files of scores: written whole, registered, and given up where they are not what was written."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any

import polars as pl

from cranfield.base.digests import file_sha256
from cranfield.base.errors import CranfieldWarning, InputError
from cranfield.base.whole_files import whole_file
from cranfield.campaign.opened import Opened
from cranfield.campaign.store.layout import SCORES, private_folder
from cranfield.campaign.store.records import ScoreFile


def digest(*parts: object) -> str:
    """Return the SHA-256 of values, as JSON text."""
    return sha256(json.dumps(parts, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


def sound(opened: Opened, record: ScoreFile) -> bool:
    """Tell whether a file is there and what was written; say so where it is not."""
    try:
        if file_sha256(opened.folder / record.path) == record.sha256:
            return True
        what = "is damaged"
    except InputError:
        what = "is missing"
    # Another process may just have put it together with others.
    if record in opened.registry.score_files(record.task):
        said = f"{record.path} {what}: what it held is computed again"
        warnings.warn(CranfieldWarning(said), stacklevel=2)
    return False


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
            if sound(opened, one):
                return pl.read_parquet(opened.folder / one.path), one.about
            damaged.append(one)
    frame, about = make()
    record = written(opened, frame, task, judgments, basis=basis, **about)
    enter(opened, [record], damaged, {"judgments": judgments})
    return frame, about
