"""Results folders: the finished parts of a study, and what study they belong to."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Ints
from cranfield.base.errors import InputError, PolicyError
from cranfield.base.version import __version__
from cranfield.base.whole_files import whole_file
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.scores import Scores


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
        self.path = Path(path)
        wanted = json.loads(json.dumps({"cranfield": __version__, **about}))
        note = self.path / "study.json"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            there = note.read_text() if note.exists() else None
        except (OSError, ValueError) as error:
            reason = (getattr(error, "strerror", None) or str(error)).lower()
            raise InputError(f"no results folder: {reason}", source=str(path)) from error
        if there is None:
            others = [one.name for one in self.path.iterdir() if not one.name.startswith(".")]
            if others:
                raise PolicyError(f"{path} holds {sorted(others)[0]!r}, and no study.json")
            with whole_file(note) as out:
                out.write(json.dumps(wanted, indent=1, ensure_ascii=False).encode() + b"\n")
            return
        try:
            found = json.loads(there)
        except ValueError as error:
            raise InputError("is not JSON", source=str(note)) from error
        if found != wanted:
            raise PolicyError(f"{path} holds another study: {_difference(found, wanted)}")

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.parquet"

    def read(self, name: str) -> pl.DataFrame | None:
        """Return a finished part, or None when it is not there or cannot be read."""
        if not self._file(name).exists():
            return None
        try:
            return pl.read_parquet(self._file(name))
        except (OSError, pl.exceptions.PolarsError):
            return None  # such as after a power failure: it is computed again

    def write(self, name: str, part: pl.DataFrame) -> None:
        with whole_file(self._file(name)) as out:
            part.write_parquet(out)

    def tidy(self) -> None:
        """Remove what interrupted writes left behind."""
        for one in self.path.glob(".*.parquet.*"):
            one.unlink(missing_ok=True)


def _difference(found: Any, wanted: Mapping[str, Any]) -> str:
    if not isinstance(found, dict):
        return "its study.json is no object"
    name = next(key for key in {**wanted, **found} if found.get(key) != wanted.get(key))
    return f"{name} was {_short(found.get(name))}, and is {_short(wanted.get(name))}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
