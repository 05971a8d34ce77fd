"""Read labels, or the known grades of some, from files, frames, rows or mappings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.assess.labels.exports import columns_of_export
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
from cranfield.base.kinds import OneOf
from cranfield.base.text import counted, some_of
from cranfield.collection.files.blank_separated import read_frames
from cranfield.collection.files.grade_maps import (
    GradeMap,
    is_pattern,
    map_grades,
    not_a_grade,
    with_mapped_grades,
)
from cranfield.collection.files.layouts import Layout, layout_of, peeked
from cranfield.collection.files.named_columns import DOC, TOPIC
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.qrels import Qrels
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, LineMap, Origin, Source, check_encoding
from cranfield.sources.columns import (
    Columns,
    Table,
    columns_of_file,
    read_columns,
    read_table,
    two_columns,
)
from cranfield.sources.schemas import Column, Schema, optional, schema_of_lines
from cranfield.sources.values import (
    GRADE,
    GRADE_OR_NONE,
    ID,
    NO_GRADE,
    NUMBER,
    absent,
    finite,
)

LABELS = Schema(
    "table of labels",
    (
        optional("topic", TOPIC.kind),
        DOC,
        Column("worker", ID),
        Column("grade", replace(GRADE_OR_NONE, problem=not_a_grade), "judgment"),
        optional("order", NUMBER, "order"),
    ),
    noun="labels",
    decisive=("status", "count", "weight"),
    tuples=("topic", "doc", "worker", "grade", "order"),
    hint="; worker_columns=[...] names a column for each worker, columns={{'{name}': ...}} this"
    " one; a file of one worker is given as NAME=FILE; number the votes of unknown workers in a"
    " column worker",
    nested=columns_of_export,
)

OF_WORKER = replace(
    LABELS,
    kind="table of judgments",
    noun="judgments",
    columns=tuple(column for column in LABELS.columns if column.name != "worker"),
    tuples=("topic", "doc", "grade"),
    hint="; columns={{'{name}': ...}} says which it is",
)
"""Judgments of one worker, whose name is known."""


_TYPES: dict[str, type[pl.DataType]] = {"grade": pl.Int32, "order": pl.Float64}
ITERATIONS = ("0", "Q0")
"""The second column of TREC qrels; no collection has documents of these names only."""

_OF_WIDTH = {4: "topic doc worker grade", 5: "topic doc worker grade order"}


def of_lines(source: Source, columns: str | Sequence[str] | None, encoding: str) -> Table:
    """Read lines of fields between blanks."""
    source, first = peeked(source.in_encoding(encoding, "text"))
    heads = (line.strip() for line in first.splitlines())
    head = next((head for head in heads if head and not head.startswith(b"#")), b"")
    tabs = len(head.split(b"\t"))
    width = tabs if tabs in _OF_WIDTH else len(head.split())
    if not width:
        raise LABELS.empty(source.name)
    fields = _OF_WIDTH.get(width) if columns is None else columns
    if fields is None:
        raise InputError(
            f"lines of {width} fields need columns, such as columns='worker doc grade'",
            source=source.name,
        )
    names = fields.split() if isinstance(fields, str) else [str(name) for name in fields]
    column_names = iter(LABELS.columns_of(name for name in names if name != "-"))
    read_names = [f"-{k}" if name == "-" else next(column_names) for k, name in enumerate(names)]
    if missing := [name for name in LABELS.required if name not in read_names]:
        raise PolicyError(f"columns {quoted(' '.join(names))} lack {missing[0]}")
    types = {name: _TYPES.get(name, pl.String) for name in read_names}
    layout = Layout("label", types, tuple(name for name in types if not name.startswith("-")))
    lines = LineMap()
    frame = pl.concat(list(read_frames(source, layout, lines)))
    if columns is None and frame["doc"].is_in(ITERATIONS).all():
        name = source.name
        raise InputError(
            f"looks like judgments; name the assessor: NAME={name} (a mapping of names to files);"
            f" or, if these are labels, use columns='{fields}'",
            source=name,
        )
    frame = frame.with_columns(
        pl.lit(None, _TYPES.get(column.name, pl.String)).alias(column.name)
        for column in LABELS.columns
        if column.name not in frame.columns
    )
    return Table(frame, source.name, (), lines)


REPEATS = ("error", "last", "keep")
MISSING = ("error", "drop")

NO_TOPIC = "all"
"""The topic of items without topics."""


def read_labels(
    data: Any,
    *,
    columns: str | Sequence[str] | Mapping[str, str] | None = None,
    worker_columns: Sequence[str] | None = None,
    grades: Iterable[float] | Mapping[Any, int] | str | None = None,
    repeats: Annotated[str, OneOf(REPEATS)] = "error",
    missing: Annotated[str, OneOf(MISSING)] = "error",
    encoding: str = "utf-8",
) -> Labels:
    """Read labels: the grades that workers gave to documents of topics.

    Parameters
    ----------
    data
        A file or a data frame with columns topic, doc, worker, grade and, if known, order, under
        any of their usual names (`item`, `task`, `annotator`, `assessor`, `rater`, `label` ...):
        CSV, TSV, JSON lines, JSON and Parquet by the suffix. Files of any other suffix are lines of
        fields between blanks. Or rows: tuples (topic, doc, worker, grade), mappings, named tuples.
        Or a dict `{worker: judgments}` of anything that `read_qrels` takes. JSON exports of Label
        Studio, Prodigy and doccano are read unchanged (doccano's as a file for each worker).
        Without a topic, all items are of one topic, `all`, with a note.
    columns
        Of lines without a header, their fields in order, such as `"worker doc grade"`; `-` skips a
        field. By default lines of four or five fields are topic, doc, worker, grade and order;
        those of any other number are refused. Of a table, the names of its columns, if they are
        none of the usual ones: `{"worker": "rated_by"}`.
    worker_columns
        Of a table with a column for each worker: the names of these columns. An empty value is a
        document that the worker has not labelled.
    grades
        Scale of integer grades; a label outside it is an error. By default the grades that occur.
        Or a mapping of values to grades, for labels in words: `{"Relevant": 1, "Not relevant": 0}`;
        cut points of real numbers, of which one at least is not an integer: `[0.5, 0.8]`; or a
        pattern of texts whose group is the grade.
    repeats
        How to treat several labels of one worker for the same document and topic: `error`; `last`,
        by order if known, else by row; `keep`.
    missing
        How to treat a label whose grade is empty, null, NaN or `NA`: `error`, or `drop`, if the
        worker has not labelled the document yet; the notes count them.
    encoding
        Encoding of text files.

    Raises
    ------
    InputError
        With file, line and reason: a grade that is not an integer or outside the scale, a repeated
        or missing label by the policy `error`, a line with too few or too many fields.
    PolicyError
        For an unknown policy, or columns that do not fit.

    Examples
    --------
    >>> read_labels([{"item": "a", "rater": "ann", "label": 1}])
    Labels(1 label of 1 pair by 1 worker, grades 1)
    >>> read_labels({"ann": {"q1": {"d1": 2}}, "bob": {"q1": {"d1": 0, "d2": 1}}}, grades=range(3))
    Labels(3 labels of 2 pairs by 2 workers, grades 0, 1, 2)
    """
    check_several("grades", None if is_pattern(grades) else grades)
    check_several("worker_columns", worker_columns)
    check_choice("repeats", repeats, REPEATS)
    check_choice("missing", missing, MISSING)
    check_encoding(encoding)
    listed = [] if grades is None or isinstance(grades, Mapping | str) else [*grades]
    is_cut = any((finite(grade) or 0) % 1 for grade in listed)
    is_mapped = is_cut or isinstance(grades, Mapping | str)
    mapped = GradeMap.of(listed if is_cut else grades) if is_mapped else None
    scale = None
    if mapped is not None:
        levels = [*range(len(mapped.cuts) + 1)] if is_cut else [*mapped.grades.values()]
        scale = np.unique(np.array(levels, dtype=np.int32)) if levels else None
    elif grades is not None:
        values = [GRADE.read(grade) for grade in listed]
        if not values or None in values or len({*values}) < len(values):
            raise PolicyError(f"grades must be different integers, got {quoted(listed)}")
        scale = np.sort(np.array(values, dtype=np.int32))
    if isinstance(data, Labels):
        options = {"columns": columns, "grades": grades, "worker_columns": worker_columns}
        if name := next((name for name, value in options.items() if value is not None), None):
            raise PolicyError(f"{name} applies to files and tables, got Labels")
        return data
    if not isinstance(data, Mapping):
        wide = None if worker_columns is None else [*worker_columns]
        table = _read(data, LABELS, columns, encoding, mapped, wide)
        table, notes = _cleaned(table, scale, repeats, missing)
        return _labels(table.frame, table.source, notes, scale)
    if worker_columns is not None:
        raise PolicyError("worker_columns applies to one table, got a table for each worker")
    if not data:
        raise LABELS.empty("labels")
    frames, notes = [], []
    for worker, judgments in data.items():
        name = ID.read(worker)
        if name is None:
            raise InputError(f"worker {quoted(worker)} is not text or an integer", source="labels")
        table = _of_worker(judgments, columns, encoding, repeats, missing, mapped)
        table = replace(table, frame=table.frame.with_columns(worker=pl.lit(name)))
        table, of_worker = _cleaned(table, scale, repeats, missing)
        frames.append(table.frame)
        notes += [f"{worker}: {note}" for note in of_worker]
    return _labels(pl.concat(frames, how="diagonal"), "labels", notes, scale)


def _unpivoted(read: Columns, schema: Schema, workers: Sequence[str]) -> Columns:
    """Return a table with a column for each worker as one with a row for each label."""
    names = [str(name) for name in read.names]
    if unknown := next((worker for worker in workers if worker not in names), None):
        raise InputError(
            f"has no column {quoted(unknown)} of worker_columns; columns:"
            f" {some_of(map(quoted, names), 8)}",
            source=read.source,
        )
    if len({*workers}) < len(workers) or not workers:
        raise PolicyError("worker_columns must name different columns, at least one")
    grades = [list(read.cells(names.index(worker))) for worker in workers]
    labelled = [
        (row, worker)
        for row in range(len(grades[0]))
        for worker in range(len(workers))
        if not absent(grades[worker][row], NO_GRADE)
    ]
    if not labelled:
        raise schema.empty(read.source)
    rows = [row for row, _ in labelled]
    columns: dict[str, Any] = {}
    for k, name in enumerate(names):
        if name not in workers:
            cells = read.cells(k)
            columns[name] = [cells[row] for row in rows]
    columns["worker"] = [workers[worker] for _, worker in labelled]
    columns["grade"] = [grades[worker][row] for row, worker in labelled]
    lines = None if read.lines is None else [read.lines[row] for row in rows]
    return Columns.of(columns, read.source, lines)


def _read(
    data: Any,
    schema: Schema,
    columns: Any,
    encoding: str,
    mapped: GradeMap | None,
    worker_columns: Sequence[str] | None = None,
) -> Table:
    """Read lines of text, or a table, as the columns of a schema."""
    listed = columns is not None and not isinstance(columns, Mapping)
    is_path = isinstance(data, (str, PathLike))
    form = FORMAT_OF_SUFFIX.get(Source(fspath(data)).suffix) if is_path else None
    if is_path and form not in LABELS.formats:
        if columns is not None and not listed:
            expected = "the fields of lines without a header in order, such as"
            got = quoted(dict(columns))
            raise PolicyError(f"expected {expected} columns='worker doc grade', got {got}")
        if worker_columns is not None:
            raise PolicyError("worker_columns applies to tables with a header, got lines of text")
        if mapped is not None:
            raise PolicyError("a mapping of grades applies to tables with a header")
        return of_lines(Source(fspath(data)), columns, encoding)
    if listed:
        expected = "a mapping of column names for a table with a header, such as"
        got = quoted(columns)
        raise PolicyError(f"expected {expected} columns={{'worker': ...}}, got {got}")
    schema = with_mapped_grades(schema, mapped)
    own_names = schema.own_names(columns)
    if form is not None:
        read = columns_of_file(Source(fspath(data)).in_encoding(encoding, form), schema, form)
    elif encoding != "utf-8":
        raise PolicyError(f"encoding applies to text files, got {type(data).__name__}")
    else:
        read = read_columns(data, schema)
    if worker_columns is not None:
        read = _unpivoted(read, schema, worker_columns)
    return map_grades(read.table(schema, own_names), mapped)


def _of_worker(
    judgments: Any,
    columns: Any,
    encoding: str,
    repeats: str,
    missing: str,
    mapped: GradeMap | None,
) -> Table:
    """Read the judgments of one worker."""
    source = Source(fspath(judgments)) if isinstance(judgments, (str, PathLike)) else None
    is_judgments = isinstance(judgments, (Qrels, Mapping))
    if source is not None:
        # Lines of TREC text, and ids of ir_datasets.
        form = FORMAT_OF_SUFFIX.get(source.suffix)
        is_judgments = source.path.startswith("irds:") or form is None
        if form == "tsv" and not is_judgments:
            is_judgments = layout_of(source, form, "qrels")[1] is not None
    if not is_judgments:
        return _read(judgments, OF_WORKER, columns, encoding, mapped)
    if columns is not None:
        got = "judgments" if source is None else f"lines of judgments in {source.name}"
        raise PolicyError(f"columns applies to tables and lines of labels, got {got}")
    if repeats == "keep" and source is not None:
        raise PolicyError(
            "repeats='keep' applies to tables, got judgments with one grade per document"
        )
    values: Any = mapped
    try:
        qrels = read_qrels(
            judgments,
            encoding=encoding,
            on_duplicate="last" if repeats == "last" else "error",
            ungraded=missing,
            grades=values,
        )
    except InputError as error:
        error.args = (str(error).replace("ungraded=", "missing="),)
        raise
    if qrels.subtopics is not None:
        raise InputError("expected labels, got judgments by subtopic", source=qrels.origin.name)
    frame = qrels.to_polars().select("topic", "doc", "grade", order=pl.lit(None, pl.Float64))
    return Table(frame, qrels.origin.name, (), qrels.origin.lines)


def _cleaned(
    table: Table, scale: NDArray[np.int32] | None, repeats: str, missing: str
) -> tuple[Table, list[str]]:
    """Name the topic of items without one, and apply the policies; also return notes."""
    notes = []
    frame = table.frame
    if frame["topic"].null_count() == frame.height:
        frame = frame.with_columns(topic=pl.lit(NO_TOPIC))
        table = replace(table, frame=frame)
        notes.append(f"no topics: all items are of one topic, {quoted(NO_TOPIC)}")
    table.refuse(
        ~frame["order"].is_finite().fill_null(True),
        lambda row: f"order {row['order']} is not a finite number",
    )
    empty = frame["grade"].is_null()
    if missing == "error":
        table.refuse(empty, lambda _: "has no grade (missing='drop' skips it)")
    elif empty.any():
        if empty.all():
            raise InputError("no label has a grade", source=table.source)
        table = table.gather((~empty).arg_true())
        notes.append(f"{counted(int(empty.sum()), 'label')} without a grade excluded")
    if scale is not None:
        listed = ", ".join(map(str, scale[:8])) + (", …" if scale.size > 8 else "")
        table.refuse(
            ~table.frame["grade"].is_in(scale.tolist()),
            lambda row: f"grade {row['grade']} is outside the scale ({listed})",
        )
    cell = ["topic", "doc", "worker"]
    again = ~table.frame.select(pl.struct(cell).is_first_distinct()).to_series()
    if repeats == "error":
        table.refuse(
            again,
            lambda row: (
                f"a second label of worker {quoted(row['worker'])}"
                " (repeats='last' keeps the last one, repeats='keep' all)"
            ),
        )
    elif again.any() and repeats == "keep":
        notes.append(f"{counted(int(again.sum()), 'repeated label')} kept")
    elif again.any():
        ordered = table.frame.with_row_index("row").sort("order", maintain_order=True)
        last = ordered.unique(cell, keep="last", maintain_order=True)["row"].sort()
        table = table.gather(last)
        notes.append(f"{counted(int(again.sum()), 'label')} replaced by a later one of the worker")
    return table, notes


def _labels(
    frame: pl.DataFrame, source: str, notes: Sequence[str], scale: NDArray[np.int32] | None
) -> Labels:
    def numbered(*names: str) -> tuple[pl.DataFrame, Any]:
        """Return the distinct values in order of appearance, and the place of each row there."""
        values = frame.select(names).unique(maintain_order=True)
        places = frame.select(names).join(
            values.with_row_index("code"), on=names, how="left", maintain_order="left"
        )
        return values, places["code"].cast(pl.Int64).to_numpy().copy()

    topics, topic = numbered("topic")
    workers, worker = numbered("worker")
    pairs, pair = numbered("topic", "doc")
    topic_of = np.empty(pairs.height, dtype=np.int32)
    topic_of[pair] = topic
    grades = np.unique(frame["grade"].to_numpy()) if scale is None else scale
    order = frame["order"]
    return Labels(
        topics=tuple(topics["topic"]),
        topic_of=topic_of,
        docs=pairs["doc"],
        workers=tuple(workers["worker"]),
        grades=grades.astype(np.int32),
        pair=pair,
        worker=worker,
        level=np.searchsorted(grades, frame["grade"].to_numpy()).astype(np.int64),
        order=None if order.null_count() else order.to_numpy().copy(),
        origin=Origin(source),
        notes=tuple(notes),
    )


_ITEMS = schema_of_lines(
    "table of gold grades",
    Column("doc", DOC.kind, "doc"),
    Column("grade", GRADE, "judgment"),
    mapping=two_columns("doc", "grade"),
)


def read_gold(data: Any, labels: Labels, **options: Any) -> Qrels:
    """Read judgments; of items without topics also `{item: grade}`, or lines of item and grade."""
    is_of_items = False
    if labels.topics == (NO_TOPIC,) and isinstance(data, Mapping):
        is_of_items = not any(isinstance(value, Mapping) for value in data.values())
    elif labels.topics == (NO_TOPIC,) and isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        is_file = source.path != "-" and not source.path.startswith("irds:")
        if is_file and source.suffix not in FORMAT_OF_SUFFIX:
            first = next((line for line in source.read().splitlines() if line.strip()), b"")
            is_of_items = len(first.split()) == 2
    if is_of_items:
        if options.get("columns") or options.get("encoding", "utf-8") != "utf-8":
            raise PolicyError("columns and encoding apply to judgments, got items and grades")
        data, options = read_table(data, _ITEMS).frame.with_columns(topic=pl.lit(NO_TOPIC)), {}
    return read_qrels(data, **options)


def gold_levels(data: Any, labels: Labels) -> tuple[Ints, tuple[str, ...]]:
    """Return the level of each pair's gold grade, -1 for none, and notes."""
    level = np.full(len(labels.docs), -1, dtype=np.int64)
    if data is None:
        return level, ()
    qrels = read_gold(data, labels)
    if qrels.subtopics is not None:
        raise InputError("gold judgments by subtopic are not supported", source=qrels.origin.name)
    keys = ["topic", "doc"]
    graded_pairs = qrels.to_polars().select(*keys, "grade")
    gold = labels.pairs.join(graded_pairs, on=keys, how="left", maintain_order="left")["grade"]
    rows = gold.is_not_null().arg_true().to_numpy()
    if not rows.size:
        raise CranfieldError(f"{qrels.origin.name}: no labelled pair is among the gold judgments")
    grades = gold.gather(rows).to_numpy()
    level[rows] = np.searchsorted(labels.grades, grades)
    off = np.flatnonzero(~np.isin(grades, labels.grades))
    if off.size:
        topic, doc = labels.pairs.row(int(rows[off[0]]))
        scale = ", ".join(map(str, labels.grades[:8].tolist()))
        raise InputError(
            f"gold grade {grades[off[0]]} is outside the scale of the labels ({scale})",
            source=qrels.origin.name,
            topic=topic,
            doc=doc,
        )
    notes = [f"{counted(rows.size, 'pair')} with a gold grade"]
    if unused := len(qrels) - rows.size:
        notes.append(f"{counted(unused, 'gold judgment')} of pairs without a label")
    return level, tuple(notes)
