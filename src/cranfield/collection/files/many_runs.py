"""Many runs, read one at a time when they are asked for."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from glob import has_magic
from numbers import Real
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Any, overload

import polars as pl

from cranfield.base.errors import InputError, PolicyError, check_choice, quoted, told_again, warn
from cranfield.base.kinds import OneOf
from cranfield.base.text import counted, some_of
from cranfield.collection.files.named_columns import (
    FLAT,
    RUN,
    is_documents,
    is_run,
    runs_of_mapping,
    shape,
)
from cranfield.collection.files.reading import read_run, refuse_open, systems_table
from cranfield.collection.metadata.reading import BESIDE
from cranfield.collection.policies import DUPLICATES, FORMATS, NUMBERS, SEPARATORS
from cranfield.collection.run import Run
from cranfield.scores.one_measure import place_of
from cranfield.sources.archives import asks, is_url, listed, matches, shown
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import is_frame
from cranfield.sources.values import is_number
from cranfield.tabular import frame_html

_USUAL = {
    "format": "auto",
    "encoding": "utf-8",
    "system": None,
    "columns": None,
    "lower_is_better": False,
    "separator": "auto",
    "numbers": "auto",
    "duplicates": "error",
    "bad_runs": "error",
}
"""Options of reading, and their values unless others are given."""

Item = tuple[str | None, Any]
"""A run, whatever it is read from, and its name where it was given one."""

BAD_RUNS = {
    "error": "a run that cannot be read is an error",
    "skip": "it is left out, and told",
}
"""The policies for runs that cannot be read."""


class BadRunError(InputError):
    """A run that cannot be read, where such runs are skipped."""


class Runs(Sequence[Run]):
    """A sequence of runs, each read when it is asked for and not kept.

    So hundreds of runs pass through in the memory of a few. Made by :func:`read_runs`. A run is
    also found by the name that an evaluation gives it.

    Examples
    --------
    >>> from cranfield import read_runs
    >>> runs = read_runs({"a": {"q1": {"d1": 1.0}}, "b": {"q1": {"d2": 1.0}}})
    >>> runs["b"], runs[0]
    (Run('b': 1 topic, 1 document), Run('a': 1 topic, 1 document))
    """

    def __init__(self, items: Sequence[Item], *, bad_runs: str = "error", **options: Any) -> None:
        self._items = tuple(items)
        self._options = options
        self.bad_runs = bad_runs
        self.skipped: dict[int, str] = {}
        """What was wrong with each run that was skipped when they were read last, by its place."""

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int | str) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Runs: ...
    def __getitem__(self, index: int | str | slice) -> Run | Runs:
        if isinstance(index, slice):
            return self._of(self._items[index])
        name, data = self._items[self._place(index) if isinstance(index, str) else index]
        try:
            return read_run(data, name=name, **self._options)
        except InputError as error:
            if name is not None and error.source == RUN.called:
                error = told_again(error, InputError, f"run {quoted(name)}")
            if self.bad_runs == "error":
                raise error from None
            raise told_again(error, BadRunError) from None

    def _place(self, name: str) -> int:
        """Find a run by its name; runs that were given none are read, for their tags."""
        names = [given for given, _ in self._items]
        if name in names:
            return names.index(name)
        tags = [self[i].name if given is None else given for i, given in enumerate(names)]
        return place_of(name, distinct_names(tags, [*map(self.stem, range(len(self)))]), "run")

    def for_now(self, index: int) -> Run:
        """Read a run that is not kept: it may hold dicts that their owner changes later."""
        name, data = self._items[index]
        if isinstance(data, dict) and self._options.items() <= _USUAL.items():
            from cranfield.collection.files.named_columns import run_of_dicts

            run = run_of_dicts(data, "run" if name is None else name, None)
            if run is not None:
                return run
        return self[index]

    def __iter__(self) -> Iterator[Run]:
        with self.skipping() as skip:
            for i in range(len(self)):
                try:
                    run = self[i]
                except BadRunError as error:
                    skip(i, error)
                else:
                    yield run

    def _of(self, items: Sequence[Item]) -> Runs:
        return Runs(items, bad_runs=self.bad_runs, **self._options)

    @contextmanager
    def skipping(self) -> Iterator[Callable[[int, BadRunError], None]]:
        """Note which runs are skipped while they are gone through, and tell how many at the end."""
        self.skipped = {}

        def skip(i: int, error: BadRunError) -> None:
            self.skipped[i] = str(error)
            warn(f"{error}; the run is skipped", stacklevel=3)

        yield skip
        if len(self.skipped) == len(self):
            raise InputError(f"no run can be read, of {len(self)}")
        if self.skipped:
            warn(f"{len(self.skipped)} of {counted(len(self), 'run')} skipped", stacklevel=3)

    @property
    def settings(self) -> dict[str, Any]:
        """How the runs were read, where that is not as usual; for the record."""
        found: dict[str, Any] = {}
        if self._options.get("lower_is_better"):
            found["lower scores rank first"] = True
        if (duplicates := self._options.get("duplicates", "error")) != "error":
            found["duplicates"] = duplicates
        if self.skipped:
            found["skipped runs"] = list(self.skipped.values())
        return found

    def stem(self, index: int) -> str | None:
        """Name of the file without suffixes; of the folders, where files have one name."""
        return self._stems[index]

    @cached_property
    def _stems(self) -> list[str | None]:
        data = (
            None if name is not None else getattr(one, "path", one) for name, one in self._items
        )
        return stems_of([fspath(p) if isinstance(p, (str, PathLike)) else None for p in data])

    def path(self, index: int) -> str | None:
        """Path, or id of ir_datasets, that the run is read from; None for a run in memory."""
        data = self._items[index][1]
        return fspath(data) if isinstance(data, (str, PathLike)) else None

    def size(self, index: int) -> int:
        """Bytes that the run has about, unpacked; 0 where there is no file to ask."""
        path = self.path(index)
        return 0 if path is None else Source(path).size

    def sent(self, index: int) -> Runs:
        """Return one of the runs so that it can be sent: as its path, or else as it was read."""
        (name, data), path = self._items[index], self.path(index)
        if path is None or path == "-":
            return Runs([(None, self.for_now(index))])
        file = (
            path if path.startswith("irds:") else replace(Source.of(data), folder=str(Path.cwd()))
        )
        sent = self._of([(name, file)])
        sent._stems = [self.stem(index)]
        return sent

    def _repr_html_(self) -> str:
        names = [
            self.stem(place) or "in memory" if name is None else name
            for place, (name, _) in enumerate(self._items)
        ]
        return frame_html(pl.DataFrame({"run": names}, schema={"run": pl.String}), repr(self))

    def read_as(self, **options: Any) -> Runs:
        """Return the same runs, read with other options; what has been split stays so."""
        for name in options.keys() - _USUAL.keys():
            raise PolicyError(f"runs are not read with an option {quoted(name)}")
        new = {name: value for name, value in options.items() if value != _USUAL[name]}
        if not new:
            return self
        for name in _USUAL.keys() - {"duplicates", "bad_runs"}:
            if name in new and new[name] != self._options.get(name, _USUAL[name]):
                raise PolicyError(f"{name} is for read_runs, and these runs are read already")
        return Runs(self._items, **{"bad_runs": self.bad_runs, **self._options, **new})

    def __repr__(self) -> str:
        return f"Runs({counted(len(self), 'run')})"


def read_runs(
    data: Any,
    *,
    format: Annotated[str, OneOf(FORMATS)] = "auto",
    encoding: str = "utf-8",
    system: str | None = None,
    columns: Mapping[str, str] | None = None,
    lower_is_better: bool = False,
    separator: Annotated[str, OneOf(SEPARATORS)] = "auto",
    numbers: Annotated[str, OneOf(NUMBERS)] = "auto",
    duplicates: Annotated[str, OneOf(tuple(DUPLICATES))] = "error",
    bad_runs: str = "error",
) -> Runs:
    """Read many runs, each when it is asked for.

    Parameters
    ----------
    data
        A path, `"NAME=FILE"`, a glob (`"runs/*.xz"`), a folder (its files, without hidden ones,
        READMEs and metadata of runs), a run in memory, a dict `{system: run}` or pairs of these, or
        an iterable of any of these. What exists as a path is not taken for `NAME=FILE`.
        What names several files gives them in order of name. A table with a column of systems
        (usual names: `system`, `run`, `model`, `tag`, ...) is a run of each, in order of
        appearance.
    format, encoding, columns, lower_is_better, separator, numbers, duplicates
        As for :func:`read_run`.
    system
        Column of a table of several systems that names them; `tag` for those of TREC text. It need
        not be given if it has one of the usual names; `tag` makes systems of the tags of a TREC
        file that has several.
    bad_runs
        What becomes of a run that cannot be read: `error` (default), or `skip`: it is left out, and
        told.

    Raises
    ------
    InputError
        When a pattern or a folder holds no file. Errors inside a file come when it is read.
    PolicyError
        For an unknown format, column or policy.

    Examples
    --------
    >>> runs = read_runs({"a": {"q1": {"d1": 1.0}}, "b": {"q1": {"d2": 1.0}}})
    >>> [run.name for run in runs]
    ['a', 'b']
    >>> rows = [
    ...     {"model": "a", "query": "q1", "doc": "d1", "score": 2.0},
    ...     {"model": "b", "query": "q1", "doc": "d1", "score": 1.0},
    ... ]
    >>> [run.name for run in read_runs(rows)]
    ['a', 'b']
    """
    check_choice("duplicates", duplicates, DUPLICATES)
    check_choice("bad_runs", bad_runs, BAD_RUNS)
    given: dict[str, Any] = {
        "format": format,
        "encoding": encoding,
        "system": system,
        "columns": columns,
        "lower_is_better": lower_is_better,
        "separator": separator,
        "numbers": numbers,
        "duplicates": duplicates,
    }
    if isinstance(data, Runs):
        return data.read_as(bad_runs=bad_runs, **given)
    items = [item for name, one in _items(data) for item in _systems(name, one, given)]
    return Runs(items, bad_runs=bad_runs, **given)


def _systems(name: str | None, data: Any, options: Mapping[str, Any]) -> Iterable[Item]:
    """Take the systems of a table apart; what is wrong with it is said when it is read."""
    if name is not None or isinstance(data, (Run, Mapping)):
        return [(name, data)]
    path = fspath(data) if isinstance(data, (str, PathLike)) else None
    if path == "-" and options["format"] in FORMAT_OF_SUFFIX.values():
        # It is looked at twice, and can be read once.
        data = Source(path, held=Source(path).read())
    try:
        of_rows = ("duplicates", "lower_is_better", "numbers")
        table = systems_table(data, **{k: v for k, v in options.items() if k not in of_rows})
    except InputError:
        if path == "-":
            raise
        return list(_systems_of_json(path, options)) or [(None, data)]
    if table is None:
        return [(None, data)]
    systems = table.systems()
    if len(systems) > 1:
        return systems
    table.tell_of_systems()
    # A file that can be read again is not kept meanwhile.
    return [(None, table if path is None or path == "-" or is_url(path) else data)]


def _systems_of_json(path: str | None, options: Mapping[str, Any]) -> Iterator[Item]:
    """Take runs out of a file that is an object of systems; none of any other."""
    if path is None or options["format"] not in {"auto", "json"}:
        return
    source = Source(path)
    if options["format"] == "auto" and source.suffix != ".json":
        return
    from cranfield.sources.text import decoded, parsed_json

    try:
        given = parsed_json(decoded(source.read(), source.name), source.name)
    except InputError:
        return
    if isinstance(given, Mapping) and all(isinstance(run, dict | list) for run in given.values()):
        runs = [(name, run) for name, run in runs_of_mapping(given) if name is not None]
        if not all(is_run(run) for _, run in runs):
            raise InputError(
                f"expected {{topic: {{document: score}}}}, got {shape(given)}"
                + FLAT.format(value="score"),
                source=source.name,
            )
        yield from runs


def _items(data: Any) -> Iterator[Item]:
    refuse_open(data)
    if isinstance(data, (str, PathLike)):
        yield from named_files([fspath(data)])
    elif isinstance(data, Mapping):
        yield from runs_of_mapping(data)
    elif isinstance(data, Iterable) and not isinstance(data, Run) and not is_frame(data):
        items = list(data)
        if items and _is_row(items[0]):
            yield None, items
        elif all(isinstance(item, (str, PathLike)) for item in items):
            yield from named_files([*map(fspath, items)])
        else:
            for item in items:
                yield from [(str(item[0]), item[1])] if _is_named(item) else _items(item)
    else:
        yield None, data


def _is_named(item: Any) -> bool:
    """Tell whether this is a run, but no path of one, with the name of its system before it."""
    if not isinstance(item, tuple) or len(item) != 2 or not isinstance(item[0], Hashable):
        return False
    return isinstance(item[1], Mapping) or is_frame(item[1])


def _is_row(item: Any) -> bool:
    if isinstance(item, Mapping):
        return bool(item) and not any(
            isinstance(v, (Mapping, Run)) or is_documents(v) for v in item.values()
        )
    if isinstance(item, list) and item:
        # Lists of three may be names of files, too.
        number = isinstance(item[-1], str) and is_number(item[-1])
        return len(item) == 6 or (len(item) == 3 and (number or isinstance(item[2], Real)))
    return hasattr(item, "_fields") or (isinstance(item, tuple) and len(item) in {3, 6})


_METADATA = re.compile(rf"\..*|(.*\.)?{re.escape(BESIDE)}")
_NO_RUN = re.compile(r"(readme|licen[cs]e)(\..*)?|.*\.(md|ya?ml)", re.IGNORECASE)
"""Names of files that stand beside runs."""


def _runs_among(files: Sequence[str], *, explicit: bool = False) -> list[str]:
    """Pass over metadata of runs and READMEs, unless there is nothing else."""
    names = {file: "" if file == "-" else Path(file).name for file in files}
    no_runs = [name for name in names.values() if _NO_RUN.fullmatch(name)]
    runs = {
        file
        for file, name in names.items()
        if not (_METADATA.fullmatch(name) or _NO_RUN.fullmatch(name))
    }
    if not runs and explicit:
        return list(files)
    told = [
        name
        for name in no_runs
        if not _METADATA.fullmatch(name) and (explicit or not name.lower().startswith("readme"))
    ]
    if runs and told:
        listed = some_of(map(quoted, told), 3)
        warn(f"passed over {listed}, which by its name is no run", stacklevel=3)
    return [file for file in files if file in runs]


def named_files(given: Sequence[str]) -> Iterator[tuple[str | None, str]]:
    """Find the files that paths, patterns, folders and `NAME=FILE` name, with their names."""
    names: set[str] = set()
    for text in _runs_among(given, explicit=True):
        name, path = named_file(text)
        if name in names:
            raise InputError(f"two runs are called {quoted(name)}; give each a name of its own")
        if name is not None:
            names.add(name)
        files = list(files_of(path))
        if name is not None and len(files) != 1:
            raise InputError(f"expected one file after {name}=, got {len(files)}", source=path)
        yield from ((name, file) for file in files)


def named_file(text: str) -> tuple[str | None, str]:
    """Split `NAME=FILE`; a path or pattern that there is has no name before it."""
    name, sign, path = text.partition("=")
    if not (name and sign and path) or "/" in name or asks(Path.exists, text) or matches(text):
        return None, text
    return name, path


def stems_of(paths: Sequence[str | None]) -> list[str | None]:
    """Name files by their stems, and those of the same stem by the folders that differ."""
    stems = [None if path is None else Source(path).stem for path in paths]
    times = Counter(stems)
    again = {stem for stem, number in times.items() if number > 1 and stem is not None}
    for stem in again:
        places = [k for k, one in enumerate(stems) if one == stem]
        parts = [Path(paths[k] or "").parts for k in places]
        if len({*parts}) < len(parts):
            continue
        if len({part[-1] for part in parts}) == 1:
            # If files have other names too, the folder alone would not say which it is.
            last = () if len(times) == 1 else (stem,)
            parts = [(*part[:-1], *last) for part in parts]
        while len({part[:1] for part in parts}) == 1:
            parts = [part[1:] for part in parts]
        for k, part in zip(places, parts, strict=True):
            stems[k] = "/".join(part) or stem
    return stems


def files_of(path: str) -> Iterator[str]:
    """Find the files that a path, a folder or a pattern names, in order of name."""
    if path == "-" or path.startswith("irds:"):
        yield path
    elif is_url(path):
        yield from _files_elsewhere(path)
    elif asks(Path.is_dir, path):
        try:
            files = sorted(str(file) for file in Path(path).iterdir() if file.is_file())
            files = _runs_among(files)
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise InputError(f"cannot be read: {reason}", source=path) from error
        if not files:
            raise InputError("the folder holds no file", source=path)
        yield from files
    elif (found := matches(path)) is not None:
        files = [file for file in found if asks(Path.is_file, file)]
        files = _runs_among(files) or files
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
    return [url] if files is None else _runs_among(files) or files


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
        memory = None in {stem for stem, name in zip(stems, renamed, strict=True) if name == again}
        advice = "give each file a name of its own: NAME=FILE"
        if memory:
            advice = "give each a name of its own: in Python, as in {'bm25': one, 'dense': other}"
        raise InputError(f"two runs are called {quoted(again)}; {advice}")
    tag = min(name for name, number in times.items() if number > 1)
    said = f"several files have the run tag {quoted(tag)}; their systems are called by file name"
    warn(said, stacklevel=stacklevel)
    return renamed
