"""Many runs, read one at a time when they are asked for."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from glob import glob, has_magic
from os import PathLike, fspath
from pathlib import Path
from typing import Any, overload

import polars as pl

from cranfield.base.errors import CranfieldWarning, InputError, quoted
from cranfield.base.words import counted
from cranfield.collection.files.reading import read_run
from cranfield.collection.run import Run
from cranfield.sources.chunks import Source
from cranfield.sources.remote import is_url, listed, shown
from cranfield.tabular import frame_html


class Runs(Sequence[Run]):
    """A sequence of runs, each read when it is asked for and not kept.

    So hundreds of runs pass through in the memory of a few. Made by :func:`read_runs`.
    """

    def __init__(self, items: Sequence[Any], **options: Any) -> None:
        self._items = tuple(items)
        self._options = options

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Runs: ...
    def __getitem__(self, index: int | slice) -> Run | Runs:
        if isinstance(index, slice):
            return Runs(self._items[index], **self._options)
        item = self._items[index]
        name, data = item if isinstance(item, tuple) else (None, item)
        return read_run(data, name=name, **self._options)

    def __iter__(self) -> Iterator[Run]:
        return (self[i] for i in range(len(self)))

    def stem(self, index: int) -> str | None:
        """Name of the file that the run is read from, without folder and suffixes."""
        path = self.path(index)
        return None if path is None else Source(path).stem

    def path(self, index: int) -> str | None:
        """Path, or id of ir_datasets, that the run is read from; None for a run in memory."""
        item = self._items[index]
        return fspath(item) if isinstance(item, (str, PathLike)) else None

    def size(self, index: int) -> int:
        """Bytes that the run has about, unpacked; 0 where there is no file to ask."""
        path = self.path(index)
        return 0 if path is None else Source(path).size

    def sent(self, index: int) -> Runs:
        """Return one of the runs so that it can be sent: as its path, or else as it was read."""
        item = self._items[index]
        name, data = item if isinstance(item, tuple) else (None, item)
        if not isinstance(data, (str, PathLike)) or fspath(data) == "-":
            return Runs([self[index]])
        path = fspath(data)
        file = path if path.startswith("irds:") else Source(path, folder=str(Path.cwd()))
        return Runs([file if name is None else (name, file)], **self._options)

    def _repr_html_(self) -> str:
        items = [item[0] if isinstance(item, tuple) else None for item in self._items]
        names = [
            self.stem(place) or "in memory" if name is None else str(name)
            for place, name in enumerate(items)
        ]
        return frame_html(pl.DataFrame({"run": names}, schema={"run": pl.String}), repr(self))

    def __repr__(self) -> str:
        return f"Runs({counted(len(self), 'run')})"


def read_runs(data: Any, *, format: str = "auto", encoding: str = "utf-8") -> Runs:
    """Read many runs, each when it is asked for.

    Parameters
    ----------
    data
        A path, a glob (`"runs/*.xz"`), a folder (its files, those that start with a dot left out),
        a run in memory, a dict `{system: run}`, or an iterable of any of these. What names several
        files gives them in order of name.
    format
        As for :func:`read_run`.
    encoding
        As for :func:`read_run`.

    Raises
    ------
    InputError
        When a pattern or a folder holds no file. Errors inside a file come when it is read.

    Examples
    --------
    >>> runs = read_runs({"a": {"q1": {"d1": 1.0}}, "b": {"q1": {"d2": 1.0}}})
    >>> [run.name for run in runs]
    ['a', 'b']
    """
    if isinstance(data, Runs):
        return data
    return Runs(list(_items(data)), format=format, encoding=encoding)


def _items(data: Any) -> Iterator[Any]:
    if isinstance(data, (str, PathLike)):
        yield from files_of(fspath(data))
    elif isinstance(data, Run):
        yield data
    elif isinstance(data, Mapping):
        yield from _named(data)
    elif isinstance(data, Iterable) and not hasattr(data, "columns"):
        items = list(data)
        if items and _is_row(items[0]):
            yield items
            return
        for item in items:
            yield from _items(item)
    else:
        yield data


def _is_row(item: Any) -> bool:
    if isinstance(item, Mapping):
        return bool(item) and not any(isinstance(v, (Mapping, Run)) for v in item.values())
    return hasattr(item, "_fields") or (isinstance(item, tuple) and len(item) == 3)


def _named(data: Mapping[Any, Any]) -> Iterator[Any]:
    """A mapping of systems to runs; a single run {topic: {document: score}} is one too."""
    values = list(data.values())
    inner = values[0] if values else None
    if isinstance(inner, Mapping) and not any(
        isinstance(value, (Mapping, Run)) for value in inner.values()
    ):
        yield data
        return
    for name, run in data.items():
        yield (str(name), run)


def _is(test: Callable[[Path], bool], path: str) -> bool:
    """Ask about a path; what cannot even be a path is nothing."""
    try:
        return test(Path(path))
    except (OSError, ValueError):
        return False


def files_of(path: str) -> Iterator[str]:
    """Find the files that a path, a folder or a pattern names, in order of name."""
    if path == "-" or path.startswith("irds:"):
        yield path
    elif is_url(path):
        yield from _files_elsewhere(path)
    elif _is(Path.is_dir, path):
        try:
            files = sorted(
                str(file)
                for file in Path(path).iterdir()
                if file.is_file() and not file.name.startswith(".")
            )
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot be read: {reason}", source=path) from error
        if not files:
            raise InputError("the folder holds no file", source=path)
        yield from files
    elif has_magic(path) and not _is(Path.exists, path):
        # Path.glob takes no absolute pattern.
        found = glob(path, recursive=True)  # noqa: PTH207
        files = sorted(file for file in found if _is(Path.is_file, file))
        if not files:
            raise InputError("no file matches the pattern", source=path)
        yield from files
    else:
        yield path


def _files_elsewhere(url: str) -> list[str]:
    pattern = has_magic(url)
    if not pattern and Source(url).suffix:
        # What has a suffix is no folder, and asking would take its time.
        return [url]
    files = listed(url, pattern=pattern)
    if files == []:
        reason = "no file matches the pattern" if pattern else "the folder holds no file"
        raise InputError(reason, source=shown(url))
    return [url] if files is None else files


def distinct_names(
    names: Sequence[str], stems: Sequence[str | None], *, stacklevel: int = 4
) -> list[str]:
    """Name the systems: by run tag while these are different, else by file name."""
    times = Counter(names)
    if max(times.values(), default=1) == 1:
        return list(names)
    renamed = [
        stem if stem and times[name] > 1 else name for name, stem in zip(names, stems, strict=True)
    ]
    again = next((name for name, number in Counter(renamed).items() if number > 1), None)
    if again is not None:
        raise InputError(f"two runs are called {quoted(again)}; give each a name of its own")
    tag = min(name for name, number in times.items() if number > 1)
    warnings.warn(
        CranfieldWarning(
            f"several files have the run tag {quoted(tag)}; their systems are called by file name"
        ),
        stacklevel=stacklevel,
    )
    return renamed
