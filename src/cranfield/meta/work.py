"""Run the parts of a study in parallel, and store them in a results folder."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import wraps
from io import BytesIO
from os import PathLike, fspath
from pathlib import Path
from typing import Any, TypedDict, TypeVar, cast

import numpy as np
import polars as pl

from cranfield.base.arrays import Ints
from cranfield.base.errors import (
    CranfieldError,
    InputError,
    PolicyError,
    check_integer,
    get_system_reason,
    quote,
    warn,
)
from cranfield.base.files import open_atomically
from cranfield.base.kinds import Function, check_keywords, replace_keywords
from cranfield.base.parallel import MAX_JOBS, compute_tasks
from cranfield.base.text import inflect, sanitise
from cranfield.base.version import __version__
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.scores import Scores
from cranfield.sources.archives import hide_credentials, is_url

_METADATA_KEY = "cranfield part"
_HASH_PREFIX = b'"sha256": "'
_ZERO_HASH = "0" * 64


def parse_part(data: bytes, study: str, name: str) -> pl.DataFrame:
    """Read a part from Parquet bytes; raise an error if its study, name or hash is wrong."""
    if _HASH_PREFIX not in data:
        raise InputError("has no valid checksum")
    if _insert_hash(data) != data:
        raise InputError("is damaged: its checksum does not match")
    metadata = json.loads(pl.read_parquet_metadata(BytesIO(data))[_METADATA_KEY])
    if metadata["study"] != study:
        raise InputError("belongs to another study")
    if metadata["part"] != name:
        raise InputError(f"was renamed: it contains part {metadata['part']}")
    return pl.read_parquet(BytesIO(data))


def _insert_hash(data: bytes) -> bytes:
    """Replace the hash in the metadata by the hash of the bytes with zeros in its place."""
    # The metadata are at the end, after all values.
    start = data.rfind(_HASH_PREFIX) + len(_HASH_PREFIX)
    start_bytes, end_bytes = data[:start], data[start + len(_ZERO_HASH) :]
    digest = hashlib.sha256(start_bytes + _ZERO_HASH.encode() + end_bytes).hexdigest()
    return start_bytes + digest.encode() + end_bytes


def hash_values(*values: Any) -> str:
    """Compute a hash of arrays, strings and JSON values."""
    digest = hashlib.sha256()
    for value in values:
        if isinstance(value, np.ndarray):
            digest.update(np.ascontiguousarray(value).tobytes())
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            digest.update(text.encode(errors="surrogatepass"))
    return digest.hexdigest()


def hash_scores(*scores: Scores) -> str:
    """Compute a hash of the values and labels of scores."""
    data: list[Any] = []
    for item in scores:
        # NaN has many bit patterns, and 0 has two.
        values = np.where(np.isnan(item.values), np.nan, item.values + 0.0)
        data += [[item.measure, list(item.topics), list(item.systems), values.shape], values]
    return hash_values(*data)


def hash_judged_runs(judged: JudgedRuns, *arrays: Ints) -> str:
    """Compute a hash of the data in judged runs that determine scores."""
    rows, judgments, counts = judged.documents, judged.judgments, judged.n_retrieved
    labels = [list(judged.systems), list(judged.topics), judged.policies.describe()]
    columns = (rows.cell, rows.rank, rows.grade, counts, judgments.topic, judgments.grade)
    return hash_values(
        labels, *(array.astype(np.int64) for array in (*columns, *arrays)), judged.is_scored
    )


class ResultsFolder:
    """A folder with a file for each finished part of a study, and one for its settings."""

    def __init__(self, path: str | PathLike[str], settings: Mapping[str, Any]) -> None:
        if is_url(fspath(path)):
            reason = "expected a results folder on this computer, got a URL"
            raise InputError(reason, source=hide_credentials(fspath(path)))
        self.path = Path(path)
        self.start_time = time.time()
        settings = json.loads(json.dumps({"cranfield": __version__, **settings}))
        self.study = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
        settings_file = self.path / "study.json"
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            files = sorted(file.name for file in self.path.iterdir() if file.name[0] != ".")
            # Another process may have created the file in the meantime.
            if not settings_file.exists():
                if files:
                    raise PolicyError(
                        f"{path} contains {quote(files[0])}, but no study.json; choose another"
                        " folder"
                    )
                with open_atomically(settings_file, keeps_existing=True) as out:
                    out.write(json.dumps(settings, indent=1, ensure_ascii=False).encode() + b"\n")
            content = settings_file.read_bytes()
        except CranfieldError:
            raise
        except (OSError, ValueError) as error:
            reason = f"not a results folder: {get_system_reason(error)}"
            raise InputError(reason, source=str(path)) from error
        try:
            file_settings = json.loads(content.decode())
        except (ValueError, RecursionError) as error:
            raise InputError("is not valid JSON", source=str(settings_file)) from error
        if file_settings != settings:
            raise PolicyError(
                f"{path} contains another study: {_describe_difference(file_settings, settings)};"
                " choose another folder"
            )

    def read(self, names: Iterable[str]) -> dict[str, pl.DataFrame]:
        """Read finished parts; warn about damaged ones, and list them in `damaged.txt`."""
        parts, damages = {}, []
        for name in names:
            path = self.path / f"{name}.parquet"
            try:
                parts[name] = parse_part(path.read_bytes(), self.study, name)
            except FileNotFoundError:
                continue
            except OSError as error:
                damages.append(f"{path.name} cannot be read: {get_system_reason(error)}")
            except InputError as error:
                damages.append(f"{path.name} {error.reason}")
        if damages:
            parts_text = inflect(len(damages), "damaged part")
            example = f"{damages[0]} (see {_DAMAGE_FILE})"
            warn(f"{quote(self.path)}: {parts_text} will be computed again: {example}")
            with open_atomically(self.path / _DAMAGE_FILE) as out:
                out.write("".join(f"{line}; it was computed again\n" for line in damages).encode())
        return parts

    def write(self, name: str, part: pl.DataFrame) -> None:
        """Write a part, with its study, its name and a hash of all bytes as metadata."""
        metadata = json.dumps({"study": self.study, "part": name, "sha256": _ZERO_HASH})
        content = BytesIO()
        part.write_parquet(content, metadata={_METADATA_KEY: metadata})
        with open_atomically(self.path / f"{name}.parquet") as out:
            out.write(_insert_hash(content.getvalue()))

    def remove_temporary_files(self) -> None:
        """Remove temporary files of writes that were interrupted before this run of the study."""
        for pattern in (".*.parquet.*", ".study.json.*", f".{_DAMAGE_FILE}.*"):
            for file in self.path.glob(pattern):
                # Newer files may belong to another process of the same study.
                with suppress(FileNotFoundError):
                    if file.stat().st_mtime < self.start_time:
                        file.unlink()


_DAMAGE_FILE = "damaged.txt"
"""Name of the file that lists parts that were damaged and computed again."""


def _describe_difference(file_settings: Any, settings: Mapping[str, Any]) -> str:
    """Describe the first setting in which two studies differ."""
    if not isinstance(file_settings, dict):
        return "its study.json is not a JSON object"

    def describe_value(values: Mapping[str, Any]) -> str:
        value = json.dumps(values[name], ensure_ascii=False) if name in values else "missing"
        return sanitise(value if len(value) <= 60 else f"{value[:57]}...")

    missing = object()
    keys = {**settings, **file_settings}
    name = next(k for k in keys if file_settings.get(k, missing) != settings.get(k, missing))
    old_value, new_value = map(describe_value, (file_settings, settings))
    return f"{quote(name)[1:-1]} was {old_value}, now {new_value}"


Task = TypeVar("Task")
Progress = Callable[[int, int], None]

REPEATS_PER_PART = 10
"""Default number of repeats in a part."""


class WorkOptions(TypedDict, total=False):
    """Options of :func:`run_parts` for parallel work and storage, which do not change results."""

    jobs: int
    backend: str | None
    folder: str | PathLike[str] | None
    progress: Progress | None


def add_work_options(function: Function) -> Function:
    """Replace `**work` in the signature of a study by the options of :class:`WorkOptions`."""
    parameters = inspect.signature(run_parts).parameters
    replace_keywords(function, [parameters[name] for name in WorkOptions.__annotations__])
    names = inspect.signature(function).parameters.keys()

    @wraps(function)
    def run_study(*args: Any, **options: Any) -> Any:
        check_keywords(function, options.keys() - names)
        return function(*args, **options)

    return cast(Function, run_study)


def make_part_name(text: str) -> str:
    """Make the name of a part from a text and its hash."""
    name = re.sub("[^A-Za-z0-9]+", "-", text).strip("-")[:60]
    return f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def split_repeats(
    sizes: Iterable[int],
    repeats: int,
    step: int = REPEATS_PER_PART,
    template: str = "{:05d}-{:06d}-{:06d}",
) -> dict[str, tuple[int, int, int]]:
    """Split repeats into parts (size, start, stop), such as (5, 0, 10) and (5, 10, 20), by name."""
    parts = [(size, k, min(k + step, repeats)) for size in sizes for k in range(0, repeats, step)]
    return {template.format(*part): part for part in parts}


def run_parts(
    function: Callable[[Any, Task], pl.DataFrame],
    shared: Any,
    tasks: Mapping[str, Task],
    *,
    settings: Mapping[str, Any],
    jobs: int = 1,
    backend: str | None = None,
    folder: str | PathLike[str] | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """Run the tasks of a study in parallel and concatenate their tables in task order.

    Parameters
    ----------
    function
        Function of `shared` and a task that returns the table of a part. It must be importable, and
        draw random numbers only from :func:`make_stream` with a key of the task.
    shared
        Data for all tasks; sent to each worker once.
    tasks
        Tasks by name. The name, of letters, digits and hyphens, is also the name of the part's
        file.
    settings
        Settings that results depend on besides the tasks, as JSON values.
    jobs
        Number of workers, 1 or more; results do not depend on it.
    backend
        `serial`, or the name of a backend of joblib: `loky` (processes), `threading`, `dask`,
        `ray`. By default processes if `jobs` is above 1, or the backend of a surrounding
        `joblib.parallel_config`. If a worker is killed, other workers compute its parts again.
    folder
        Results folder: finished parts are written to it immediately, and existing parts are read
        instead of computed. Damaged parts are computed again, with a warning and a line in
        `damaged.txt`.
    progress
        Function that is called with the numbers of finished parts and of all parts.

    Raises
    ------
    PolicyError
        For invalid jobs, an unknown backend, or a folder with another study or other files.
    MissingDependencyError
        If a backend is not installed.
    InputError
        For a folder that is a URL, or cannot be read or written.
    CranfieldError
        If a part repeatedly crashes its worker.

    Examples
    --------
    >>> def square(shared, task):
    ...     return pl.DataFrame({"square": [task * task + shared]})
    >>> run_parts(square, 0, {"two": 2, "three": 3}, settings={})["square"].to_list()
    [4, 9]
    """
    check_integer("jobs", jobs, 1, MAX_JOBS)
    results_folder = None if folder is None else ResultsFolder(folder, settings)
    finished_parts = {} if results_folder is None else results_folder.read(tasks)
    if progress is not None:
        progress(len(finished_parts), len(tasks))
    pending_tasks = ((name, task) for name, task in tasks.items() if name not in finished_parts)
    for name, part in compute_tasks(function, shared, pending_tasks, jobs=jobs, backend=backend):
        if results_folder is not None:
            results_folder.write(name, part)
        finished_parts[name] = part
        if progress is not None:
            progress(len(finished_parts), len(tasks))
    if results_folder is not None:
        results_folder.remove_temporary_files()
    return pl.concat([finished_parts[name] for name in tasks])
