"""Read labels, or the known grades of some, from files, frames, rows or mappings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.assess.labels.table import Labels
from cranfield.base.arrays import Ints
from cranfield.base.errors import (
    CranfieldError,
    InputError,
    PolicyError,
    check_choice,
    check_several,
    quoted,
)
from cranfield.base.text import counted
from cranfield.collection.files.blank_separated import read_parts
from cranfield.collection.files.layouts import Layout
from cranfield.collection.files.line_formats import layout_of, peeked
from cranfield.collection.files.named_columns import DOC, TOPIC
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.qrels import Qrels
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, LineMap, Origin, Source, check_encoding
from cranfield.sources.columns import columns_of_file, fitted, read_columns, read_table, two_columns
from cranfield.sources.schemas import Column, Schema, optional, schema_of_lines, spelt
from cranfield.sources.values import GRADE, GRADE_OR_NONE, ID, NUMBER

LABELS = Schema(
    "table of labels",
    (
        optional("topic", TOPIC.kind),
        DOC,
        Column("worker", ID),
        Column("grade", GRADE_OR_NONE, "judgment"),
        optional("order", NUMBER, "order"),
    ),
    called="labels",
    decisive=("status", "count", "weight"),
    tuples=("topic", "doc", "worker", "grade", "order"),
    numbered=True,
    hint="; columns={{'{name}': ...}} says which it is (a row is one label; a file of one worker is"
    " given as NAME=FILE; a table with a column for each worker must be unpivoted first; of votes"
    " by unknown workers, number those of each document in a column worker)",
)

OF_WORKER = replace(
    LABELS,
    kind="table of judgments",
    called="judgments",
    columns=tuple(column for column in LABELS.columns if column.name != "worker"),
    tuples=("topic", "doc", "grade"),
    hint="; columns={{'{name}': ...}} says which it is",
)
"""Judgments of one worker, whose name is known."""


def columns_called(names: Iterable[str], schema: Schema) -> list[str]:
    """Return the columns of a schema that usual names stand for."""
    found: list[str] = []
    for name in names:
        known = (one.name for one in schema.columns if spelt(name) in map(spelt, one.names))
        column = next(known, None)
        if column is None or column in found:
            listed = ", ".join(one.name for one in schema.columns)
            reason = f"expected one of: {listed}" if column is None else f"a second {column}"
            raise PolicyError(f"unknown column {quoted(name)} in columns; {reason}")
        found.append(column)
    return found


_TYPES: dict[str, type[pl.DataType]] = {"grade": pl.Int32, "order": pl.Float64}
ITERATIONS = ("0", "Q0")
"""What stands in judgments where labels have a document: no collection has this one alone."""

_OF_WIDTH = {4: "topic doc worker grade", 5: "topic doc worker grade order"}


def of_lines(
    source: Source, columns: str | Sequence[str] | None, encoding: str
) -> tuple[pl.DataFrame, Origin]:
    """Read lines of fields between blanks."""
    check_encoding(encoding)
    source, first = peeked(source.in_encoding(encoding, "text"))
    heads = (line.strip() for line in first.splitlines())
    head = next((head for head in heads if head and not head.startswith(b"#")), b"")
    tabs = len(head.split(b"\t"))
    width = tabs if tabs in _OF_WIDTH else len(head.split())
    if not width:
        raise LABELS.empty(source.name)
    layout = _layout(columns if columns is not None else _OF_WIDTH.get(width), width, source.name)
    lines = LineMap()
    parts = read_parts(source, layout, lines, lambda part: part.frame)
    frame = pl.concat(list(parts))
    if columns is None and frame["doc"].is_in(ITERATIONS).all():
        name = source.name
        raise InputError(
            f"looks like judgments; name the assessor: NAME={name}, in Python {{'NAME': '{name}'}};"
            f" or, if these are labels, say columns='{_OF_WIDTH[width]}'",
            source=name,
        )
    gaps = [
        pl.lit(None, _TYPES.get(column.name, pl.String)).alias(column.name)
        for column in LABELS.columns
        if column.name not in frame.columns
    ]
    names = [column.name for column in LABELS.columns]
    return frame.with_columns(gaps).select(names), Origin(source.name, lines)


def _layout(columns: str | Sequence[str] | None, width: int, source: str) -> Layout:
    if columns is None:
        raise InputError(
            f"lines of {width} fields; say what they are, such as columns='worker doc grade'",
            source=source,
        )
    names = columns.split() if isinstance(columns, str) else [str(name) for name in columns]
    known = iter(columns_called((name for name in names if name != "-"), LABELS))
    read = [f"-{k}" if name == "-" else next(known) for k, name in enumerate(names)]
    if lacking := [name for name in LABELS.required if name not in read]:
        raise PolicyError(f"columns {quoted(' '.join(names))} lack {lacking[0]}")
    types = {name: _TYPES.get(name, pl.String) for name in read}
    return Layout("label", types, tuple(name for name in types if not name.startswith("-")))


REPEATS = {
    "error": "a second label of a worker for a pair is an error",
    "last": "the last label of a worker for a pair counts, by `order` where there is one",
    "keep": "all labels count",
}
"""What becomes of repeated labels."""

MISSING = {"error": "a label without a grade is an error", "drop": "it is left out, and counted"}
"""What becomes of labels without a grade."""

NO_TOPIC = "all"
"""The topic of items that have none."""


def read_labels(
    data: Any,
    *,
    columns: str | Sequence[str] | Mapping[str, str] | None = None,
    grades: Iterable[int] | None = None,
    repeats: str = "error",
    missing: str = "error",
    encoding: str = "utf-8",
) -> Labels:
    """Read labels: which worker gave which grade to which document of which topic.

    Parameters
    ----------
    data
        A file or a data frame with columns topic, doc, worker, grade and, if known, order, under
        any of their usual names (`item`, `task`, `annotator`, `assessor`, `rater`, `label` ...):
        CSV, TSV, JSON lines, JSON and Parquet by the suffix. A file of any other suffix is lines of
        fields between blanks. Or rows: tuples (topic, doc, worker, grade), mappings, named tuples.
        Or a dict `{worker: judgments}`, the judgments being anything that `read_qrels` takes.
        Without a topic, all items are of one topic, `all`, and this is noted.
    columns
        Of lines without a header, their fields in order, such as `"worker doc grade"`; `-` is a
        field that is not read. By default lines of four or five fields are topic, doc, worker,
        grade and order; those of any other number are refused. Of a table, the names of its
        columns, where these are none of the usual ones: `{"worker": "rated_by"}`.
    grades
        The scale, whole numbers; a label off it is an error. By default the grades that occur.
    repeats
        What becomes of several labels of a worker for a pair: `error`; `last`, by order where there
        is one, else by row; `keep`.
    missing
        How to treat a label whose grade is empty, null, NaN or `NA`: `error`, or `drop`, where the
        worker has not labelled the document yet. They are counted, in the notes.
    encoding
        Of files of text.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: a grade that is no whole number or off the scale,
        a repeated or missing label where that is an error, a line with too few or too many fields.
    PolicyError
        For an unknown policy, or columns that do not fit.

    Examples
    --------
    >>> read_labels([{"item": "a", "rater": "ann", "label": 1}])
    Labels(1 label of 1 pair by 1 worker, grades 1)
    >>> read_labels({"ann": {"q1": {"d1": 2}}, "bob": {"q1": {"d1": 0, "d2": 1}}}, grades=range(3))
    Labels(3 labels of 2 pairs by 2 workers, grades 0, 1, 2)
    """
    check_several("grades", grades)
    check_choice("repeats", repeats, REPEATS)
    check_choice("missing", missing, MISSING)
    check_encoding(encoding)
    scale = None if grades is None else _scale(grades)
    if isinstance(data, Labels):
        asked = {"columns": columns, "grades": grades}
        if given := next((name for name, value in asked.items() if value is not None), None):
            raise PolicyError(f"{given} is for labels that are not read yet, got Labels")
        return data
    if not isinstance(data, Mapping):
        rows = _read(data, LABELS, columns, encoding)
        return rows.cleaned(scale, repeats, missing).labels(scale)
    if not data:
        raise LABELS.empty("labels")
    parts = []
    for worker, judgments in data.items():
        name = ID.read(worker)
        if name is None:
            raise InputError(f"worker {quoted(worker)} is not text or an integer", source="labels")
        part = _of_worker(judgments, columns, encoding, repeats, missing)
        part.frame = part.frame.with_columns(worker=pl.lit(name))
        parts.append(part.cleaned(scale, repeats, missing))
    frame = pl.concat([part.frame for part in parts], how="diagonal")
    notes = [
        f"{name}: {note}" for name, part in zip(data, parts, strict=True) for note in part.notes
    ]
    return _Rows(frame, Origin("labels"), notes).labels(scale)


def _read(data: Any, schema: Schema, columns: Any, encoding: str) -> _Rows:
    """Read lines of text, or a table, as the columns of a schema."""
    listed = columns is not None and not isinstance(columns, Mapping)
    if _is_text(data):
        if columns is not None and not listed:
            raise PolicyError(
                "expected the fields of lines without a header in order, such as"
                f" columns='worker doc grade', got {quoted(dict(columns))}"
            )
        return _Rows(*of_lines(Source(fspath(data)), columns, encoding))
    if listed:
        raise PolicyError(
            "expected what columns of a table with a header are called, as in"
            f" columns={{'worker': ...}}, got {quoted(columns)}"
        )
    columns = columns or {}
    called = dict(zip(columns_called(columns, schema), map(str, columns.values()), strict=True))
    if isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        form = FORMAT_OF_SUFFIX[source.suffix]
        table = columns_of_file(source.in_encoding(encoding, form), schema, form)
    elif encoding != "utf-8":
        raise PolicyError(f"encoding is for files of text, got {type(data).__name__}")
    else:
        table = read_columns(data, schema)
    read = fitted(table.matched(schema, called), schema, table.source, table.lines)
    return _Rows(read.frame, Origin(read.source, LineMap.of(read.lines)))


def _of_worker(judgments: Any, columns: Any, encoding: str, repeats: str, missing: str) -> _Rows:
    """Read the judgments of one worker."""
    if not _is_judgments(judgments):
        return _read(judgments, OF_WORKER, columns, encoding)
    if columns is not None:
        raise PolicyError(
            "columns is for tables and lines of labels, got judgments without names of columns"
        )
    if repeats == "keep" and isinstance(judgments, (str, PathLike)):
        raise PolicyError(
            "repeats='keep' is for tables, got judgments in which a document has one grade"
        )
    try:
        qrels = read_qrels(
            judgments,
            encoding=encoding,
            duplicates="last" if repeats == "last" else "error",
            ungraded=missing,
        )
    except InputError as error:
        error.args = (str(error).replace("ungraded=", "missing="),)
        raise
    if qrels.subtopics is not None:
        raise InputError("judgments by subtopic are no labels", source=qrels.origin.name)
    frame = qrels.to_polars().select("topic", "doc", "grade")
    return _Rows(frame.with_columns(order=pl.lit(None, pl.Float64)), qrels.origin)


def _is_judgments(data: Any) -> bool:
    """Whether this is read as judgments: lines of TREC text, a mapping, an id of ir_datasets."""
    if isinstance(data, (str, PathLike)):
        path = fspath(data)
        source = Source(path)
        form = FORMAT_OF_SUFFIX.get(source.suffix)
        headless = form == "tsv" and layout_of(source, form, "qrels")[1] is not None
        return path.startswith("irds:") or form is None or headless
    return isinstance(data, (Qrels, Mapping))


class _Rows:
    """Rows on their way to labels: what is wrong is refused, what is left out is noted."""

    def __init__(self, frame: pl.DataFrame, origin: Origin, notes: Sequence[str] = ()) -> None:
        self.frame = frame.drop("row", strict=False).with_row_index("row")
        self.origin = origin
        self.notes = [*notes]

    def cleaned(self, scale: np.ndarray[Any, Any] | None, repeats: str, missing: str) -> _Rows:
        """Apply the policies."""
        self._name()
        self._missing(missing)
        self._off(scale)
        self._repeats(repeats)
        return self

    def labels(self, scale: np.ndarray[Any, Any] | None) -> Labels:
        frame = self.frame
        topics = frame["topic"].unique(maintain_order=True)
        workers = frame["worker"].unique(maintain_order=True)
        pairs = frame.select("topic", "doc").unique(maintain_order=True)
        found = np.unique(frame["grade"].to_numpy()) if scale is None else scale
        order = frame["order"]
        return Labels(
            topics=tuple(topics),
            topic_of=_codes(pairs, topics, "topic").astype(np.int32),
            docs=pairs["doc"],
            workers=tuple(workers),
            grades=found.astype(np.int32),
            pair=_codes(frame, pairs, "topic", "doc"),
            worker=_codes(frame, workers, "worker"),
            level=np.searchsorted(found, frame["grade"].to_numpy()).astype(np.int64),
            order=None if order.null_count() else order.to_numpy().copy(),
            origin=Origin(self.origin.name),
            notes=tuple(self.notes),
        )

    def _refuse(self, bad: pl.Expr, reason: Any) -> None:
        """Refuse the first of some bad rows, for a reason that its cells give."""
        rows = self.frame.filter(bad)
        if rows.height:
            row = rows.row(0, named=True)
            raise self.origin.wrong(reason(row), row["row"], row["topic"], row["doc"])

    def _name(self) -> None:
        """Give items without a topic one, and refuse what is no order."""
        if self.frame["topic"].null_count() == self.frame.height:
            self.frame = self.frame.with_columns(topic=pl.lit(NO_TOPIC))
            self.notes.append(f"no topics: all items are of one topic, {quoted(NO_TOPIC)}")
        self._refuse(
            pl.col("order").is_not_null() & ~pl.col("order").is_finite(),
            lambda row: f"order {row['order']} is not a finite number",
        )

    def _missing(self, policy: str) -> None:
        if policy == "error":
            self._refuse(
                pl.col("grade").is_null(), lambda row: "has no grade (missing='drop' leaves it out)"
            )
            return
        gone = self.frame["grade"].null_count()
        if gone == self.frame.height:
            raise InputError("no label has a grade", source=self.origin.name)
        if gone:
            self.frame = self.frame.drop_nulls("grade")
            self.notes.append(f"{counted(gone, 'label')} without a grade excluded")

    def _off(self, scale: np.ndarray[Any, Any] | None) -> None:
        if scale is not None:
            listed = ", ".join(map(str, scale[:8])) + (", …" if scale.size > 8 else "")
            self._refuse(
                ~pl.col("grade").is_in(scale.tolist()),
                lambda row: f"grade {row['grade']} is off the scale ({listed})",
            )

    def _repeats(self, policy: str) -> None:
        cell = ("topic", "doc", "worker")
        if policy == "keep":
            repeated = self.frame.height - self.frame.select(cell).n_unique()
            if repeated:
                self.notes.append(f"{counted(repeated, 'repeated label')} kept")
            return
        again = ~pl.struct(cell).is_first_distinct()
        if policy == "error":
            self._refuse(
                again,
                lambda row: (
                    f"a second label of worker {quoted(row['worker'])}"
                    " (repeats='last' or 'keep' takes it)"
                ),
            )
            return
        kept = (
            self.frame.sort("order", maintain_order=True, nulls_last=False)
            .unique(cell, keep="last", maintain_order=True)
            .sort("row")
        )
        if gone := self.frame.height - kept.height:
            self.frame = kept
            self.notes.append(f"{counted(gone, 'label')} replaced by a later one of the worker")


def _codes(frame: pl.DataFrame, names: pl.Series | pl.DataFrame, *on: str) -> Any:
    """Return where each row stands among names."""
    named = names.to_frame() if isinstance(names, pl.Series) else names
    found = frame.select(on).join(
        named.with_row_index("code"), on=list(on), how="left", maintain_order="left"
    )
    return found["code"].cast(pl.Int64).to_numpy().copy()


def _scale(grades: Iterable[int]) -> np.ndarray[Any, Any]:
    listed = [*grades]
    read = [GRADE.read(grade) for grade in listed]
    if not read or None in read or len({*read}) < len(read):
        raise PolicyError(f"grades {quoted(listed)} are no scale of different whole numbers")
    return np.sort(np.array(read, dtype=np.int32))


def _is_text(data: Any) -> bool:
    path = isinstance(data, (str, PathLike))
    return path and FORMAT_OF_SUFFIX.get(Source(fspath(data)).suffix) not in LABELS.formats


_ITEMS = schema_of_lines(
    "table of gold grades",
    Column("doc", DOC.kind, "doc"),
    Column("grade", GRADE, "judgment"),
    mapping=two_columns("doc", "grade"),
)


def read_gold(data: Any, labels: Labels, **options: Any) -> Qrels:
    """Read judgments; of items without topics also `{item: grade}`, or lines of item and grade."""
    if labels.topics == (NO_TOPIC,) and _of_items(data):
        if options.get("columns") or options.get("encoding", "utf-8") != "utf-8":
            raise PolicyError("columns and encoding are for judgments, got items and grades")
        data, options = read_table(data, _ITEMS).frame.with_columns(topic=pl.lit(NO_TOPIC)), {}
    return read_qrels(data, **options)


def _of_items(data: Any) -> bool:
    if isinstance(data, Mapping):
        return not any(isinstance(value, Mapping) for value in data.values())
    if not isinstance(data, (str, PathLike)) or str(data).startswith("irds:"):
        return False
    source = Source(fspath(data))
    if source.suffix in FORMAT_OF_SUFFIX or source.path == "-":
        return False
    first = next((line for line in source.read().splitlines() if line.strip()), b"")
    return len(first.split()) == 2


def gold_levels(data: Any, labels: Labels) -> tuple[Ints, tuple[str, ...]]:
    """Return the known grade of each pair as a place on the scale, -1 where none is; and notes."""
    level = np.full(len(labels.docs), -1, dtype=np.int64)
    if data is None:
        return level, ()
    qrels = read_gold(data, labels)
    if qrels.subtopics is not None:
        raise InputError("gold judgments by subtopic are not taken", source=qrels.origin.name)
    found = labels.pairs.join(
        qrels.to_polars().select("topic", "doc", "grade"),
        on=["topic", "doc"],
        how="left",
        maintain_order="left",
    )["grade"]
    rows = found.is_not_null().arg_true().to_numpy()
    if not rows.size:
        raise CranfieldError(f"{qrels.origin.name}: no labelled pair is among the gold judgments")
    grades = found.gather(rows).to_numpy()
    level[rows] = np.searchsorted(labels.grades, grades)
    off = np.flatnonzero(labels.grades[np.minimum(level[rows], labels.grades.size - 1)] != grades)
    if off.size:
        topic, doc = labels.pairs.row(int(rows[off[0]]))
        scale = ", ".join(map(str, labels.grades[:8].tolist()))
        raise InputError(
            f"gold grade {grades[off[0]]} is off the scale of the labels ({scale})",
            source=qrels.origin.name,
            topic=topic,
            doc=doc,
        )
    unused = len(qrels) - rows.size
    notes = [f"{counted(rows.size, 'pair')} with a gold grade"]
    if unused:
        notes.append(f"{counted(unused, 'gold judgment')} of pairs without a label")
    return level, tuple(notes)
