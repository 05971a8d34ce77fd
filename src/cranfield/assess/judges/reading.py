"""Label sets of judges: who judged, what was said, and which answers were none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.checks import check_choice
from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.words import counted
from cranfield.collection.files.format_names import DUPLICATES, FORMATS
from cranfield.collection.files.many_runs import files_of
from cranfield.collection.files.named_columns import QRELS, Called, called
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.files.system_tables import SystemTable
from cranfield.collection.qrels import Qrels
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source, check_encoding
from cranfield.sources.columns import columns_of_file, is_frame, read_columns
from cranfield.sources.schemas import NAMED, optional, spelt
from cranfield.sources.tables import fitted
from cranfield.sources.values import GRADE_OR_NONE

_LABELS = replace(
    QRELS,
    kind="label set",
    called="labels",
    columns=(*QRELS.columns[:3], optional("result_status", GRADE_OR_NONE)),
    numbered=True,
    decisive=("status", "judge"),
)
_IDS = {spelt(name) for column in _LABELS.columns[:2] for name in column.names}


@dataclass(frozen=True, eq=False, repr=False)
class Judge:
    """What one judge said of documents; made by :func:`read_judges`.

    Attributes
    ----------
    name
        The judge's name.
    labels
        Its grades, as judgments.
    unparsed
        Answers without a grade: `result_status` is 0, or there is no `judgment`.
    cut
        Grades that were off the scale and are now at its nearer end.
    """

    name: str
    labels: Qrels
    unparsed: int = 0
    cut: int = 0

    def __repr__(self) -> str:
        more = f", {self.unparsed:,} unparsed" * bool(self.unparsed)
        more += f", {self.cut:,} cut" * bool(self.cut)
        return f"Judge({quoted(self.name)}: {counted(len(self.labels), 'label')}{more})"


def read_judges(
    data: Any,
    *,
    format: str = "auto",
    encoding: str = "utf-8",
    columns: Mapping[str, str] | Called | None = None,
    separator: str = "auto",
    duplicates: str = "error",
) -> tuple[Judge, ...]:
    """Read the labels of judges, such as large language models; no model is called.

    Parameters
    ----------
    data
        A path, a glob, a folder, or `"NAME=FILE"`; labels in memory, as
        :func:`cranfield.read_qrels` takes them; a mapping `{judge: labels}`; or a list of these.
        Files are TREC qrels, which submissions to LLMJudge are too, tables (CSV, TSV, Parquet), or
        JSON lines: the ids of topic and document, `judgment`, and `result_status` as of UMBRELA, a
        whole number, which is 0 where the answer of the model could not be parsed.
    format, encoding, columns, separator, duplicates
        As for :func:`cranfield.read_qrels`. An answer without a grade is counted as unparsed.

    Returns
    -------
    tuple of Judge
        In the order given; those of a folder by name. A judge of a file is called like it.

    Raises
    ------
    InputError
        Naming the file, the line and the reason, for labels that cannot be read: a grade that is
        no whole number, a document with two labels, a file without any label.
    PolicyError
        For two judges of one name, an unknown format, or no judge at all.

    Examples
    --------
    >>> answers = [
    ...     {"qid": "q1", "docid": "d1", "judgment": 2, "result_status": 1},
    ...     {"qid": "q1", "docid": "d2", "judgment": 0, "result_status": 0},
    ... ]
    >>> read_judges({"llm": answers})
    (Judge('llm': 1 label, 1 unparsed),)
    """
    check_choice("format", format, FORMATS)
    check_choice("duplicates", duplicates, DUPLICATES)
    check_encoding(encoding)
    asked = None if columns is None else called(columns, "qrels", None)
    options = {"separator": separator, "duplicates": duplicates}
    judges = tuple(_read(name, one, format, encoding, asked, options) for name, one in _items(data))
    if not judges:
        raise PolicyError("no judge was given")
    names = [one.name for one in judges]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise PolicyError(f"two judges are called {quoted(twice)}; name them, as in NAME=FILE")
    return judges


def _items(data: Any) -> Iterator[tuple[str | None, Any]]:
    if isinstance(data, (str, PathLike)):
        path = fspath(data)
        name, sign, file = path.partition("=")
        # A name stands before the first sign, and is none where it looks like a folder.
        if sign and name and file and "/" not in name:
            yield name, file
        else:
            yield from ((None, file) for file in files_of(path))
    elif isinstance(data, (Judge, Qrels)) or is_frame(data):
        yield None, data
    elif isinstance(data, Mapping):
        if _is_labels(data):
            yield None, data
        else:
            yield from ((str(name), one) for name, one in data.items())
    elif isinstance(data, Iterable):
        listed = list(data)
        if listed and _is_row(listed[0]):
            yield None, listed
        else:
            for one in listed:
                yield from _items(one)
    else:
        raise InputError(f"{type(data).__name__} cannot be read as labels of judges")


def _is_labels(data: Mapping[Any, Any]) -> bool:
    """Tell `{topic: {document: grade}}` from `{judge: labels}`."""
    inner = next(iter(data.values()), None)
    return isinstance(inner, Mapping) and not any(
        isinstance(one, (Mapping, Qrels)) or is_frame(one) for one in inner.values()
    )


def _is_row(item: Any) -> bool:
    if isinstance(item, Mapping):
        # Else a mapping of judges to labels.
        return not _IDS.isdisjoint(map(spelt, item))
    return hasattr(item, "_fields") or (isinstance(item, tuple) and len(item) == 3)


def _read(
    name: str | None, data: Any, form: str, encoding: str, asked: Called | None, options: Any
) -> Judge:
    if isinstance(data, (Judge, Qrels)):
        if asked is not None or encoding != "utf-8":
            kind = type(data).__name__
            raise PolicyError(f"columns and encoding are for labels not read yet, got {kind}")
        judge = data if isinstance(data, Judge) else Judge(name or "judge", data.flat())
        return judge if name is None else replace(judge, name=name)
    if isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        name = name or source.stem
        named = form if form != "auto" else FORMAT_OF_SUFFIX.get(source.suffix, "trec")
        if named not in NAMED or source.path.startswith("irds:"):
            given: Any = {"format": form, "encoding": encoding, "columns": asked}
            return Judge(name, read_qrels(source.path, subtopics=False, **given, **options))
        columns = columns_of_file(source.in_encoding(encoding, named), _LABELS, named)
    elif encoding != "utf-8":
        raise PolicyError(f"encoding is for files of text, got {type(data).__name__}")
    else:
        columns = read_columns(data, _LABELS)
    called = {} if asked is None else asked.of(columns.names)
    table = fitted(columns.matched(_LABELS, called), _LABELS, columns.source, columns.lines)
    parsed = pl.col("grade").is_not_null() & pl.col("result_status").ne_missing(0)
    rows = table.frame.select(parsed.arg_true()).to_series().to_numpy()
    answers = table.frame.height
    if not rows.size:
        raise InputError(f"none of {counted(answers, 'answer')} has a grade", source=table.source)
    lines = None if table.lines is None else np.asarray(table.lines)[rows]
    table = replace(table, frame=table.frame[rows].drop("result_status"), lines=lines)
    labels = read_qrels(SystemTable(table, {}, ""), **options)
    return Judge(name or "judge", labels, unparsed=answers - rows.size)
