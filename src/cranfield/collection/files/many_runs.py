"""Sequences of runs, each read on access."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cached_property
from glob import has_magic
from inspect import signature
from numbers import Real
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Any, overload

import polars as pl

from cranfield.base.errors import (
    InputError,
    PolicyError,
    check_choice,
    collect_warnings,
    convert_error,
    make_file_error,
    quote,
    warn,
)
from cranfield.base.kinds import OneOf
from cranfield.base.text import inflect, list_some
from cranfield.collection.files.named_columns import (
    FLAT_ADVICE,
    RUN,
    describe_structure,
    is_document_list,
    is_run,
    request_columns,
    split_mapping,
)
from cranfield.collection.files.nested_json import is_nested
from cranfield.collection.files.reading import read_run, read_systems_table, refuse_open_files
from cranfield.collection.metadata.reading import METADATA_FILE
from cranfield.collection.policies import DUPLICATES, FORMATS, NUMBER_MEANINGS, SEPARATORS
from cranfield.collection.run import Run
from cranfield.scores.one_measure import find_label
from cranfield.sources.archives import check_path, hide_credentials, is_url, list_files, match_files
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.columns import is_array, is_frame
from cranfield.sources.text import decode_text, parse_json
from cranfield.sources.values import is_number
from cranfield.tabular import render_frame

Item = tuple[str | None, Any]
"""The name of a run, or None if the data contain the name; and the data."""

BAD_RUNS = {"error": "raise an error", "skip": "skip the run, with a warning"}
"""Policies for runs that cannot be read."""


class BadRunError(InputError):
    """Raised for a run that cannot be read, if `on_bad_run` is `skip`."""


class Runs(Sequence[Run]):
    """A sequence of runs, each read on access and not cached; returned by :func:`read_runs`.

    Only the runs in use are in memory. A run is selected by its position, or by the name that its
    system has in an evaluation; a slice selects several runs.

    Examples
    --------
    >>> from cranfield import read_runs
    >>> runs = read_runs({"a": {"q1": {"d1": 1.0}}, "b": {"q1": {"d2": 1.0}}})
    >>> runs["b"], runs[0]
    (Run('b': 1 topic, 1 document), Run('a': 1 topic, 1 document))
    """

    def __init__(self, items: Sequence[Item], *, on_bad_run: str = "error", **options: Any) -> None:
        self._items = tuple(items)
        self._options = options
        self.on_bad_run = on_bad_run
        self.skipped: dict[int, str] = {}
        """The error of each run that was skipped in the last iteration, by its index."""

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int | str) -> Run: ...
    @overload
    def __getitem__(self, index: slice) -> Runs: ...
    def __getitem__(self, index: int | str | slice) -> Run | Runs:
        if isinstance(index, slice):
            return self._with_items(self._items[index])
        if isinstance(index, str):
            names = [name for name, _ in self._items]
            if index not in names:
                # Unnamed runs are read for their tags.
                tags = [self[i].name if name is None else name for i, name in enumerate(names)]
                stems = [*map(self.get_stem, range(len(self)))]
                index = find_label(index, make_distinct_names(tags, stems), "run")
            else:
                index = names.index(index)
        name, data = self._items[index]
        try:
            return read_run(data, name=name, **self._options)
        except InputError as error:
            if name is not None and error.source == RUN.noun:
                error = convert_error(error, InputError, f"run {quote(name)}")
            if self.on_bad_run == "error":
                raise error from None
            raise convert_error(error, BadRunError) from None

    def __iter__(self) -> Iterator[Run]:
        with self.report_skipped_runs() as skip:
            for i in range(len(self)):
                try:
                    run = self[i]
                except BadRunError as error:
                    skip(i, error)
                else:
                    yield run

    def _with_items(self, items: Sequence[Item]) -> Runs:
        return Runs(items, on_bad_run=self.on_bad_run, **self._options)

    @contextmanager
    def report_skipped_runs(self) -> Iterator[Callable[[int, BadRunError], None]]:
        """Yield a function that records a skipped run; then warn, or raise if all are skipped."""
        self.skipped = {}

        def skip(i: int, error: BadRunError) -> None:
            self.skipped[i] = str(error)
            warn(f"{error}; the run is skipped")

        yield skip
        if len(self.skipped) == len(self):
            raise InputError(f"no run can be read; got errors for {inflect(len(self), 'run')}")
        if self.skipped:
            warn(f"{len(self.skipped)} of {inflect(len(self), 'run')} skipped")

    @property
    def settings(self) -> dict[str, Any]:
        """Options other than the defaults that change rankings, and the errors of skipped runs."""
        on_duplicate = self._options.get("on_duplicate", "error")
        settings = {
            "lower scores rank first": self._options.get("lower_is_better", False),
            "on_duplicate": None if on_duplicate == "error" else on_duplicate,
            "chunk separator": self._options.get("chunk_separator"),
            "skipped runs": [*self.skipped.values()],
        }
        return {name: value for name, value in settings.items() if value}

    def get_stem(self, index: int) -> str | None:
        """Return the stem of the file by :func:`find_stems`; None for a named run or no file."""
        return self._stems[index]

    @cached_property
    def _stems(self) -> list[str | None]:
        paths = (
            None if name is not None else getattr(data, "path", data) for name, data in self._items
        )
        return find_stems([fspath(p) if isinstance(p, (str, PathLike)) else None for p in paths])

    def get_path(self, index: int) -> str | None:
        """Return the path or ir_datasets id of the run; None for a run in memory."""
        data = self._items[index][1]
        return fspath(data) if isinstance(data, (str, PathLike)) else None

    def estimate_size(self, index: int) -> int:
        """Estimate the decompressed size of the file in bytes; 0 without a file."""
        path = self.get_path(index)
        return 0 if path is None else Source(path).size

    def make_picklable(self, index: int) -> Runs:
        """Return one run in a form that can be pickled: its path, or else the run itself."""
        (name, data), path = self._items[index], self.get_path(index)
        if path is None or path == "-":
            return Runs([(None, self[index])])
        is_file = not path.startswith("irds:")
        file = replace(Source.from_path(data), folder=str(Path.cwd())) if is_file else path
        runs = self._with_items([(name, file)])
        runs._stems = [self.get_stem(index)]
        return runs

    def _repr_html_(self) -> str:
        names = [
            self.get_stem(index) or "in memory" if name is None else name
            for index, (name, _) in enumerate(self._items)
        ]
        return render_frame(pl.DataFrame({"run": names}, schema={"run": pl.String}), repr(self))

    def with_options(self, **options: Any) -> Runs:
        """Return the runs with the options that are not defaults; refuse new options of files."""
        for name in options.keys() - _DEFAULTS.keys():
            expected = f"expected one of: {', '.join(_DEFAULTS)}"
            raise PolicyError(f"unknown option {quote(name)} of runs; {expected}")
        changes = {name: value for name, value in options.items() if value != _DEFAULTS[name]}
        if not changes:
            return self
        for name in _DEFAULTS.keys() - {"on_duplicate", "chunk_separator", "on_bad_run"}:
            if name in changes and changes[name] != self._options.get(name, _DEFAULTS[name]):
                got = "got runs that were read before"
                raise PolicyError(f"{name} applies to files and tables, {got}")
        return Runs(self._items, **{"on_bad_run": self.on_bad_run, **self._options, **changes})

    def __repr__(self) -> str:
        return f"Runs({inflect(len(self), 'run')})"


def read_runs(
    data: Any,
    *,
    format: Annotated[str, OneOf(FORMATS)] = "auto",
    encoding: str = "utf-8",
    system: str | None = None,
    columns: Mapping[str, str] | None = None,
    lower_is_better: bool = False,
    separator: Annotated[str, OneOf(SEPARATORS)] = "auto",
    numbers: Annotated[str, OneOf(NUMBER_MEANINGS)] = "auto",
    on_duplicate: Annotated[str, OneOf(tuple(DUPLICATES))] = "error",
    chunk_separator: str | None = None,
    on_bad_run: Annotated[str, OneOf(tuple(BAD_RUNS))] = "error",
) -> Runs:
    """Read several runs, each on access.

    Parameters
    ----------
    data
        A path, `"NAME=FILE"`, a glob (`"runs/*.xz"`), a folder (except hidden files, metadata,
        READMEs, licences, Markdown and YAML), a run in memory, a dict `{system: run}`, pairs of a
        system and a run, or an iterable of any of these. An existing path is not read as
        `NAME=FILE`. The files of a glob or folder are read in order of name. A table with a column
        of systems (usual names: `system`, `run`, `model`, `tag`, ...) is split into one run per
        system, in order of appearance.
    format, encoding, columns, lower_is_better, separator, numbers, on_duplicate, chunk_separator
        As for :func:`read_run`. `columns` applies to the files with column names only; if it names
        the score, `lower_is_better` also applies to these files only.
    system
        Column with the names of systems, in tables with several systems; `tag` splits a TREC file
        by its run tags. A column with one of the usual names is detected.
    on_bad_run
        How to treat a run that cannot be read: `error` (default), or `skip`, with a warning.

    Raises
    ------
    InputError
        If a pattern or a folder has no file, or two runs have the same name. Most errors in a file
        are raised when it is read.
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
    check_choice("on_duplicate", on_duplicate, DUPLICATES)
    check_choice("on_bad_run", on_bad_run, BAD_RUNS)
    arguments = locals()
    options = {name: arguments[name] for name in _DEFAULTS if name != "on_bad_run"}
    if isinstance(data, Runs):
        return data.with_options(on_bad_run=on_bad_run, **options)
    named_data = [*_list_items(data)]
    if columns is not None:
        options["columns"] = names = request_columns(columns, "run", system)
        paths = (fspath(path) for _, path in named_data if isinstance(path, (str, PathLike)))
        names.has_tables |= any(Source(path).suffix in FORMAT_OF_SUFFIX for path in paths)
    items = [item for name, run in named_data for item in _split_systems(name, run, options)]
    return Runs(items, on_bad_run=on_bad_run, **options)


_DEFAULTS: dict[str, Any] = {
    name: option.default
    for name, option in signature(read_runs).parameters.items()
    if option.kind is option.KEYWORD_ONLY
}
"""Defaults of the options of reading."""


def _split_systems(name: str | None, data: Any, options: Mapping[str, Any]) -> Iterable[Item]:
    """Return the systems of a table as runs; most errors are raised when a run is read."""
    is_one_run = isinstance(data, Run) or (isinstance(data, Mapping) and not RUN.is_table(data))
    if name is not None or is_one_run:
        return [(name, data)]
    path = fspath(data) if isinstance(data, (str, PathLike)) else None
    if path == "-" and options["format"] in FORMAT_OF_SUFFIX.values():
        # Standard input is parsed twice, but can be read only once.
        data = Source(path, content=Source(path).read())
    try:
        row_options = ("on_duplicate", "lower_is_better", "numbers", "chunk_separator")
        with collect_warnings() as warnings:
            table = read_systems_table(
                data, **{k: v for k, v in options.items() if k not in row_options}
            )
    except InputError:
        if path == "-":
            raise
        table_options = {key: options[key] for key in ("encoding", "separator", "columns")}
        runs = _split_json_systems(path, options["format"])
        tables = [(system, _convert_to_table(path, run, **table_options)) for system, run in runs]
        return tables or [(None, data)]
    if table is None:
        return [(None, data)]
    systems = table.split_by_system()
    is_read_once = path is None or path == "-" or is_url(path)
    for text in warnings if is_read_once or len(systems) > 1 else ():
        warn(text)
    if len(systems) > 1:
        return systems
    table.warn_of_systems()
    # A file that can be read again, with its warnings, is not kept in memory.
    return [(None, table if is_read_once else data)]


def _convert_to_table(path: str | None, run: Any, **options: Any) -> Any:
    """Convert a run of a JSON file to a table of that file, or return it unchanged."""
    try:
        table = read_systems_table(run, format="auto", system=None, **options)
    except InputError:
        return run
    if table is None:
        return run
    table_of_file = replace(table.table, source=Source(path or "").name)
    return replace(table, table=table_of_file, path=path)


def _split_json_systems(path: str | None, form: str) -> Iterator[Item]:
    """Yield the runs of a JSON file that is an object of systems; nothing for other files."""
    source = Source(path or "")
    if path is None or not (form == "json" or (form == "auto" and source.suffix == ".json")):
        return
    try:
        content = parse_json(decode_text(source.read(), source.name), source.name)
    except InputError:
        return
    if is_nested(content) or not isinstance(content, Mapping):
        return
    if all(isinstance(run, dict | list) for run in content.values()):
        runs = [(name, run) for name, run in split_mapping(content) if name is not None]
        if not all(is_run(run) for _, run in runs):
            expected = f"expected {{topic: {{document: score}}}}, got {describe_structure(content)}"
            raise InputError(expected + FLAT_ADVICE.format(value="score"), source=source.name)
        yield from runs


def _list_items(data: Any) -> Iterator[Item]:
    refuse_open_files(data)
    if isinstance(data, (str, PathLike)):
        yield from list_named_files([fspath(data)])
    elif is_nested(data):
        yield None, data
    elif isinstance(data, Mapping):
        yield from split_mapping(data)
    elif isinstance(data, Run) or is_frame(data) or is_array(data):
        yield None, data
    elif isinstance(data, Iterable):
        items = list(data)
        if items and _is_row(items[0]):
            yield None, items
        elif all(isinstance(item, (str, PathLike)) for item in items):
            yield from list_named_files([*map(fspath, items)])
        else:
            for item in items:
                is_pair = isinstance(item, tuple) and len(item) == 2
                if is_pair and (isinstance(item[1], Mapping) or is_frame(item[1])):
                    yield str(item[0]), item[1]
                else:
                    yield from _list_items(item)
    else:
        yield None, data


def _is_row(item: Any) -> bool:
    if isinstance(item, Mapping):
        return bool(item) and not any(
            isinstance(v, (Mapping, Run)) or is_document_list(v) for v in item.values()
        )
    if isinstance(item, list) and item:
        # A list of three texts may be names of files, too.
        has_number = isinstance(item[-1], str) and is_number(item[-1])
        return len(item) == 6 or (len(item) == 3 and (has_number or isinstance(item[2], Real)))
    return hasattr(item, "_fields") or (isinstance(item, tuple) and len(item) in {3, 6})


_METADATA = re.compile(rf"\..*|(.*\.)?{re.escape(METADATA_FILE)}")
_OTHER = re.compile(r"(readme|licen[cs]e)(\..*)?|.*\.(md|ya?ml)", re.IGNORECASE)
"""Names of files in folders of runs that are neither runs nor metadata."""


def _select_runs(files: Sequence[str], *, is_explicit: bool = False) -> list[str]:
    """Return files that may be runs; warn of others except metadata and, in folders, READMEs."""
    names = {file: "" if file == "-" else Path(file).name for file in files}
    other_files = [
        name for name in names.values() if _OTHER.fullmatch(name) and not _METADATA.fullmatch(name)
    ]
    runs = [
        file
        for file in files
        if names[file] not in other_files and not _METADATA.fullmatch(names[file])
    ]
    if not runs and is_explicit:
        return list(files)
    skipped = [name for name in other_files if is_explicit or not name.lower().startswith("readme")]
    if runs and skipped:
        examples = list_some(map(quote, skipped), 3)
        warn(f"skipped files whose names do not look like runs: {examples}")
    return runs


def list_named_files(texts: Sequence[str]) -> Iterator[tuple[str | None, str]]:
    """Yield the name (or None) and path of each file of paths, globs, folders and `NAME=FILE`."""
    names: set[str] = set()
    for text in _select_runs(texts, is_explicit=True):
        name, path = split_name(text)
        if name in names:
            raise InputError(f"two runs have the name {quote(name)}; give them different names")
        if name is not None:
            names.add(name)
        files = list(list_run_files(path))
        if name is not None and len(files) != 1:
            raise InputError(f"expected one file after {name}=, got {len(files)}", source=path)
        yield from ((name, file) for file in files)


def split_name(text: str) -> tuple[str | None, str]:
    """Split `NAME=FILE` into name and path, unless the text is an existing path or a pattern."""
    name, sign, path = text.partition("=")
    if (
        not (name and sign and path)
        or "/" in name
        or check_path(Path.exists, text)
        or match_files(text)
    ):
        return None, text
    return name, path


def find_stems(paths: Sequence[str | None]) -> list[str | None]:
    """Name files by their stems, and files with equal stems by the folders that differ."""
    stems = [None if path is None else Source(path).stem for path in paths]
    counts = Counter(stems)
    repeated = {stem for stem, count in counts.items() if count > 1 and stem is not None}
    for stem in repeated:
        indices = [k for k, other in enumerate(stems) if other == stem]
        parts = [Path(paths[k] or "").parts for k in indices]
        if len({*parts}) < len(parts):
            continue
        if len({part[-1] for part in parts}) == 1:
            # If there are other stems, too, the folder alone would not identify the file.
            last = () if len(counts) == 1 else (stem,)
            parts = [(*part[:-1], *last) for part in parts]
        while len({part[:1] for part in parts}) == 1:
            parts = [part[1:] for part in parts]
        for k, part in zip(indices, parts, strict=True):
            stems[k] = "/".join(part) or stem
    return stems


def list_run_files(path: str) -> Iterator[str]:
    """Yield the files of a path, a folder or a pattern, in order of name."""
    if path == "-" or path.startswith("irds:"):
        yield path
    elif is_url(path):
        is_pattern = has_magic(path)
        # A path with a suffix is not a folder, and a request would take time.
        is_file = not is_pattern and Source(path).suffix != ""
        names = None if is_file else list_files(path, is_pattern=is_pattern)
        if names == []:
            reason = "no file matches the pattern" if is_pattern else "the folder has no file"
            raise InputError(reason, source=hide_credentials(path))
        yield from [path] if names is None else _select_runs(names) or names
    elif check_path(Path.is_dir, path):
        try:
            entries = sorted(Path(path).iterdir())
            files = [str(entry) for entry in entries if entry.is_file()]
        except OSError as error:
            raise make_file_error(error, "read", path) from error
        files = _select_runs(files)
        if not files:
            file = min((f for f in Path(path).rglob("*") if f.is_file()), default=None)
            levels = 0 if file is None else len(file.relative_to(path).parts)
            pattern = "/".join([path.rstrip("/"), *"*" * levels])
            hint = f"; '{pattern}' matches the files in its folders" if levels > 1 else ""
            raise InputError(f"expected runs in the folder, got none{hint}", source=path)
        folders = [f for f in entries if f.is_dir() and f.name[:1] != "." and any(f.iterdir())]
        if folders:
            folders_text = list_some((quote(folder.name) for folder in folders), 3)
            warn(f"skipped folders in {quote(path)}: {folders_text}")
        yield from files
    elif (matching := match_files(path)) is not None:
        files = [file for file in matching if check_path(Path.is_file, file)]
        files = _select_runs(files) or files
        if not files:
            raise InputError("no file matches the pattern", source=path)
        yield from files
    else:
        yield path


def make_distinct_names(names: Sequence[str], stems: Sequence[str | None]) -> list[str]:
    """Name the systems by run tag, and those that share a tag by file name."""
    counts = Counter(names)
    if max(counts.values(), default=1) == 1:
        return list(names)
    renamed = [
        stem if stem and counts[name] > 1 else name for name, stem in zip(names, stems, strict=True)
    ]
    repeated = next((name for name, count in Counter(renamed).items() if count > 1), None)
    if repeated is not None:
        advice = "give each file a name: NAME=FILE"
        if (repeated, None) in zip(renamed, stems, strict=True):
            advice = "give each run a name, as in {'bm25': first, 'dense': second}"
        raise InputError(f"two runs have the name {quote(repeated)}; {advice}")
    tag = quote(min(name for name, count in counts.items() if count > 1))
    warn(f"several files have the run tag {tag}; their systems are named by file name")
    return renamed
