"""Results folders: the finished parts of a study, and what study they belong to."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Ints
from cranfield.base.errors import CranfieldError, InputError, PolicyError, quoted, warn
from cranfield.base.escape import plain
from cranfield.base.version import __version__
from cranfield.base.whole_files import whole_file
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.meta.work.part_files import sealed, unsealed
from cranfield.scores import Scores
from cranfield.sources.remote import is_url, shown


def fingerprint(*scores: Scores) -> str:
    """Return a hash of the values and the labels of scores."""
    digest = hashlib.sha256()
    for one in scores:
        labels = [one.measure, list(one.topics), list(one.systems), one.values.shape]
        digest.update(json.dumps(labels, ensure_ascii=False).encode())
        # NaN has many bit patterns, and 0 two.
        values = one.values + 0.0
        values[np.isnan(values)] = np.nan
        digest.update(values.tobytes())
    return digest.hexdigest()


def judged_fingerprint(judged: JudgedRuns) -> str:
    """Return a hash of judged runs: all that scores of them depend on, besides measures."""
    rows, judgments = judged.documents, judged.judgments
    numbers = (rows.cell, rows.rank, rows.grade, judged.retrieved, judgments.topic, judgments.grade)
    return hash_of_runs(judged, *numbers)


def hash_of_runs(judged: JudgedRuns, *numbers: Ints) -> str:
    """Return a hash of labels and policies, of arrays of whole numbers, and of what is scored."""
    digest = hashlib.sha256()
    labels = [list(judged.systems), list(judged.topics), judged.policies.describe()]
    digest.update(json.dumps(labels, ensure_ascii=False).encode())
    for one in numbers:
        digest.update(np.ascontiguousarray(one, dtype=np.int64).tobytes())
    digest.update(judged.scored.tobytes())
    return digest.hexdigest()


class ResultsFolder:
    """A folder with a file for each finished part of a study; it is made if it is not there.

    `about` is what the results depend on, as JSON can hold it: a folder that holds parts of another
    study is refused, and the message says what differs.
    """

    def __init__(self, path: str | PathLike[str], about: Mapping[str, Any]) -> None:
        if is_url(fspath(path)):
            reason = "no results folder: parts are kept on this machine only"
            raise InputError(reason, source=shown(fspath(path)))
        self.path = Path(path)
        self.began = time.time()
        self.damaged: list[str] = []
        wanted = json.loads(json.dumps({"cranfield": __version__, **about}))
        self.study = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()
        note = self.path / "study.json"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if not note.exists():
                self._begin(note, wanted)
            there = note.read_bytes()
        except CranfieldError:
            raise
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise InputError(f"no results folder: {reason}", source=str(path)) from error
        try:
            found = json.loads(there.decode())
            differs = "" if found == wanted else _difference(found, wanted)
        except (ValueError, RecursionError) as error:
            raise InputError("is not JSON, or is damaged", source=str(note)) from error
        if differs:
            raise PolicyError(f"{path} holds another study: {differs}")

    def _begin(self, note: Path, wanted: Mapping[str, Any]) -> None:
        others = [one.name for one in self.path.iterdir() if not one.name.startswith(".")]
        # Another process may have begun, and be further, since nothing was there.
        if others and not note.exists():
            raise PolicyError(f"{self.path} holds {quoted(sorted(others)[0])}, and no study.json")
        with whole_file(note, new=True) as out:
            out.write(json.dumps(wanted, indent=1, ensure_ascii=False).encode() + b"\n")

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.parquet"

    def read(self, name: str) -> pl.DataFrame | None:
        """Return a finished part; None when it is not there, or is not what was written.

        The latter is kept for `say_damage`.
        """
        path = self._file(name)
        try:
            return unsealed(path.read_bytes(), self.study, name)
        except FileNotFoundError:
            return None
        except OSError as error:
            reason = f"cannot be read: {(error.strerror or str(error)).lower()}"
        except InputError as error:
            reason = error.reason
        self.damaged.append(f"{path.name} {reason}")
        return None

    def say_damage(self) -> None:
        """Say which parts are computed again, and why: in a line, and in the folder's record."""
        if not self.damaged:
            return
        others = len(self.damaged) - 1
        more = f", and {others} others that are damaged" if others else ""
        warn(f"{quoted(self.path)}: computed again: {self.damaged[0]}{more}; see {_DAMAGED}")
        with whole_file(self.path / _DAMAGED) as out:
            out.write("".join(f"{one}; it was computed again\n" for one in self.damaged).encode())

    def write(self, name: str, part: pl.DataFrame) -> None:
        data = sealed(part, self.study, name)
        with whole_file(self._file(name)) as out:
            out.write(data)

    def tidy(self) -> None:
        """Remove what writes left behind that were interrupted before this study began."""
        for pattern in (".*.parquet.*", ".study.json.*", f".{_DAMAGED}.*"):
            for one in self.path.glob(pattern):
                # Others are perhaps being written, by a process that does the same study.
                with suppress(FileNotFoundError):
                    if one.stat().st_mtime < self.began:
                        one.unlink()


_DAMAGED = "damaged.txt"
"""What was computed again when parts were last found damaged."""

_MISSING = object()


def _difference(found: Any, wanted: Mapping[str, Any]) -> str:
    if not isinstance(found, dict):
        return "its study.json is no object"
    keys = {**wanted, **found}
    name = next(key for key in keys if found.get(key, _MISSING) != wanted.get(key, _MISSING))
    return f"{quoted(name)[1:-1]} was {_short(found, name)}, and is {_short(wanted, name)}"


def _short(values: Mapping[str, Any], name: str) -> str:
    if name not in values:
        return "not there"
    text = json.dumps(values[name], ensure_ascii=False)
    return plain(text if len(text) <= 60 else f"{text[:57]}...")
