"""Read labels and gold grades from files and data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike, fspath
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.assess.labels.exports import read_export
from cranfield.assess.labels.table import Labels
from cranfield.base.arrays import Ints
from cranfield.base.errors import CranfieldError, InputError, PolicyError, check_list, quote, warn
from cranfield.base.kinds import OneOf, check_arguments
from cranfield.base.text import inflect, list_some
from cranfield.collection.files.grade_maps import (
    GradeMap,
    describe_invalid_grade,
    map_grades,
    set_grade_kind,
)
from cranfield.collection.files.lines import Layout, detect_layout, read_frames, read_head
from cranfield.collection.files.named_columns import DOC, TOPIC
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.qrels import Qrels
from cranfield.sources.chunks import (
    FORMAT_OF_SUFFIX,
    LineMap,
    Origin,
    Source,
    check_encoding,
    is_utf8,
)
from cranfield.sources.columns import (
    Columns,
    Table,
    insert_index,
    is_frame,
    make_pair_reader,
    read_columns,
    read_file_columns,
    read_frame_columns,
    read_table,
)
from cranfield.sources.schemas import (
    USUAL_NAMES,
    FileColumn,
    Schema,
    declare_optional,
    fold_name,
    make_line_schema,
)
from cranfield.sources.summaries import find_summaries
from cranfield.sources.values import (
    GRADE,
    GRADE_OR_NONE,
    ID,
    NO_GRADE,
    NUMBER,
    is_absent,
    is_number,
    parse_number,
)

LABELS = Schema(
    "table of labels",
    (
        declare_optional("topic", TOPIC.kind),
        DOC,
        FileColumn("worker", ID),
        FileColumn("grade", replace(GRADE_OR_NONE, problem=describe_invalid_grade), "judgment"),
        declare_optional("order", NUMBER, "order"),
        declare_optional("stratum", replace(ID, becomes_null=is_absent)),
    ),
    noun="labels",
    decisive_kinds=("status", "outcome", "count", "weight", "measure", "criterion"),
    tuples=("topic", "doc", "worker", "grade", "order"),
    hint="; use worker_columns=[...] if each worker has a column, columns={{'{name}': ...}} if its"
    " name is unusual, or NAME=FILE for a file of one worker; if workers are unknown, number the"
    " labels of each document in a column worker",
    read_nested=read_export,
)

WORKER_JUDGMENTS = replace(
    LABELS,
    kind="table of judgments",
    noun="judgments",
    columns=tuple(column for column in LABELS.columns if column.name != "worker"),
    decisive_kinds=(*LABELS.decisive_kinds, "judge", "assessor"),
    tuples=("topic", "doc", "grade"),
    hint="; use columns={{'{name}': ...}} if its name is unusual",
)
"""Table of judgments by one worker, without a column worker."""


_TYPES: dict[str, type[pl.DataType]] = {"grade": pl.Int32, "order": pl.Float64}
ITERATIONS = ("0", "Q0")  # Second column of TREC qrels, which is not read as ids of documents
_FIELDS_BY_COUNT = {4: "topic doc worker grade", 5: "topic doc worker grade order"}


def read_lines(
    source: Source, columns: str | Sequence[str] | None, encoding: str, has_words: bool = False
) -> Table:
    """Read labels from lines of fields separated by blanks; with `has_words`, grades are texts."""
    source, head = read_head(source.with_encoding(encoding, "text"), removes_quotes=True)
    lines = (line.strip() for line in head.splitlines())
    first_line = next((line for line in lines if line and not line.startswith(b"#")), b"")
    n_tab_fields = len(first_line.split(b"\t"))
    n_fields = n_tab_fields if n_tab_fields in _FIELDS_BY_COUNT else len(first_line.split())
    if not n_fields:
        raise LABELS.make_empty_error(source.name)
    fields = _FIELDS_BY_COUNT.get(n_fields) if columns is None else columns
    if fields is None:
        reason = f"expected lines of 4 or 5 fields, got {n_fields}"
        remedy = "name the fields, such as columns='worker doc grade'"
        if first_line.count(b",") > 1:
            remedy = "a file with commas between columns requires the suffix .csv"
        raise InputError(f"{reason}; {remedy}", source=source.name)
    names = fields.split() if isinstance(fields, str) else [str(name) for name in fields]
    column_names = iter(LABELS.find_columns(name for name in names if name != "-"))
    read_names = [f"-{k}" if name == "-" else next(column_names) for k, name in enumerate(names)]
    if absent_names := [name for name in LABELS.required_names if name not in read_names]:
        raise PolicyError(f"columns must include {absent_names[0]}, got {quote(' '.join(names))}")
    types = {name: _TYPES.get(name, pl.String) for name in read_names}
    if has_words:
        types["grade"] = pl.String
    layout = Layout("label", types, tuple(name for name in types if not name.startswith("-")))
    line_map = LineMap()
    frame = pl.concat(read_frames(source, layout, line_map))
    if columns is None and frame["doc"].is_in(ITERATIONS).all():
        reason = "expected labels of several workers, got TREC judgments"
        assessor = f"name the assessor with NAME={source.name} (a mapping of names to files)"
        remedy = f"{assessor}, or use columns='{fields}' if these are labels"
        raise InputError(f"{reason}; {remedy}", source=source.name)
    if columns is None:
        n_docs, n_workers = frame["doc"].n_unique(), frame["worker"].n_unique()
        topics_per_doc = frame.select("topic", "doc").n_unique() / n_docs
        topics_per_worker = frame.select("topic", "worker").n_unique() / n_workers
        swapped = _FIELDS_BY_COUNT[n_fields].replace("doc worker", "worker doc")
        if n_workers > n_docs and topics_per_doc >= 1.5 and topics_per_worker <= 1.1:
            workers = f"column 2 ({n_docs:,} values, in several topics) looks like ids of workers"
            docs = f"column 3 ({n_workers:,}, most in one topic) like ids of documents"
            remedy = f"columns='{swapped}', or columns='{fields}' if the columns are in this order"
            raise InputError(f"{workers} and {docs}; use {remedy}", source=source.name)
        is_ambiguous = topics_per_doc > 1 or frame["topic"].n_unique() == 1
        if n_workers >= max(2, n_docs) and is_ambiguous:
            doc, worker = quote(frame["doc"][0]), quote(frame["worker"][0])
            roles = f"column 2 is read as documents ({doc} ...), column 3 as workers ({worker} ...)"
            remedy = f"columns='{swapped}' to swap them, or columns='{fields}' to confirm the order"
            warn(f"{source.name}: {roles}; use {remedy}")
    missing_names = [c.name for c in LABELS.columns if c.name not in frame.columns]
    nulls = {name: pl.lit(None, _TYPES.get(name, pl.String)) for name in missing_names}
    return Table(frame.with_columns(**nulls), source.name, (), line_map)


REPEAT_POLICIES = ("error", "last", "keep")
MISSING_POLICIES = ("error", "drop")

_TIMES = {
    *map(fold_name, " ".join(USUAL_NAMES["time"]).split()),
    *("date", "createdat", "updatedat", "submittedat", "submittime", "annotatedat", "started"),
    *("created", "updated", "lastupdated", "lastmodified", "modified", "modifiedat", "submitted"),
    *("completedat", "finishedat", "enddate", "recordeddate", "version", "revision", "round"),
}
"""Names of columns of times and of rounds, as normalised by `schemas.fold_name`."""

NO_TOPIC = "all"  # Topic of the items of labels without topics


def read_labels(
    data: Any,
    *,
    columns: str | Sequence[str] | Mapping[str, str] | None = None,
    worker_columns: Sequence[str] | None = None,
    grades: Iterable[float] | Mapping[Any, int | None] | str | None = None,
    repeats: Annotated[str, OneOf(REPEAT_POLICIES)] = "error",
    missing: Annotated[str, OneOf(MISSING_POLICIES)] = "error",
    encoding: str = "utf-8",
) -> Labels:
    """Read labels: the grades that workers gave to documents of topics.

    Parameters
    ----------
    data
        A file or a data frame with columns topic, doc, worker, grade and optionally order, under
        any of their usual names (`item`, `task`, `annotator`, `assessor`, `rater`, `label` ...).
        Files are CSV, TSV, JSON lines, JSON or Parquet by their suffix; with any other suffix, they
        are lines of fields separated by blanks. Or rows: tuples (topic, doc, worker, grade),
        mappings or named tuples. Or a dict `{worker: judgments}`, whose values are any input of
        `read_qrels`. JSON exports of Label Studio, Kili, Prodigy, Argilla and doccano are read
        unchanged (from doccano, a file for each worker, unless its labels have users; labels of
        versions before 1.5 are keys in a column `label_id`, which `columns` and `grades` map).
        Without topics, all items belong to one topic, `all`, with a note.
    columns
        For lines without a header, their fields in order, such as `"worker doc grade"`; `-` skips a
        field. By default lines of four or five fields are topic, doc, worker, grade and order;
        other lines are refused. For a table, a mapping to columns with unusual names:
        `{"worker": "rated_by"}`.
    worker_columns
        For a table with a column for each worker: the names of these columns. Empty values mean
        that the worker has not labelled the document. Without a column of documents, each row is
        a document.
    grades
        Scale of integer grades; a label outside it is an error. The default scale has the grades
        that occur. Or a mapping of values to grades, for labels in words: `{"Relevant": 1,
        "Not relevant": 0}`, where None marks a value without a grade: `{"Unsure": None}`; or cut
        points of real numbers, at least one of them not an integer: `[0.5, 0.8]`; or a regular
        expression whose group is the grade.
    repeats
        How to treat several labels of one worker for the same document and topic: `error`; `last`
        keeps the last label by order if it is known, else by row, with an error if the rows
        contradict a column of times; `keep` keeps all.
    missing
        How to treat a label whose grade is empty, null, NaN or `NA`: `error`, or `drop`, which
        excludes it and adds a note with the number of excluded labels.
    encoding
        Encoding of text files.

    Raises
    ------
    InputError
        With file, line and reason: a grade that is not an integer or outside the scale, a repeated
        or missing label with the policy `error`, a line with too few or too many fields.
    PolicyError
        For an unknown policy, or options that do not apply to the input.

    Examples
    --------
    >>> read_labels([{"item": "a", "rater": "ann", "label": 1}])
    Labels(1 label of 1 pair by 1 worker, grades 1)
    >>> read_labels({"ann": {"q1": {"d1": 2}}, "bob": {"q1": {"d1": 0, "d2": 1}}}, grades=range(3))
    Labels(3 labels of 2 pairs by 2 workers, grades 0, 1, 2)
    """
    check_list("worker_columns", worker_columns)
    check_arguments(read_labels, locals())
    check_encoding(encoding)
    grade_map, scale = _read_scale(grades)
    if isinstance(data, Labels):
        options = {"columns": columns, "grades": grades, "worker_columns": worker_columns}
        if name := next((name for name, value in options.items() if value is not None), None):
            raise PolicyError(f"{name} applies to files and tables, got Labels")
        return data
    reader = _Reader(columns, encoding, repeats, missing, grade_map, scale)
    if not isinstance(data, Mapping):
        worker_list = None if worker_columns is None else [*worker_columns]
        table, notes = reader.apply_policies(reader.read(data, LABELS, worker_list))
        return _make_labels(table.frame, table.source, notes, reader)
    if worker_columns is not None:
        raise PolicyError("worker_columns applies to one table, got a table for each worker")
    if not data:
        raise LABELS.make_empty_error("labels")
    frames, notes = [], []
    for worker, judgments in data.items():
        if (name := ID.read(worker)) is None:
            reason = f"worker must be text or an integer, got {quote(worker)}"
            raise InputError(reason, source="labels")
        table = reader.read_worker(judgments)
        table = replace(table, frame=table.frame.with_columns(worker=pl.lit(name)))
        table, worker_notes = reader.apply_policies(table)
        frames.append(table.frame)
        notes += [f"{worker}: {note}" for note in worker_notes]
    return _make_labels(pl.concat(frames, how="diagonal"), "labels", notes, reader)


def _read_scale(grades: Any) -> tuple[GradeMap | None, NDArray[np.int32] | None]:
    """Read the map of values to grades and the scale; each is None if unknown."""
    is_map = isinstance(grades, Mapping | str)
    grade_list = [] if grades is None or is_map else [*grades]
    has_cuts = any((parse_number(grade) or 0) % 1 for grade in grade_list)
    levels: Any = []
    if is_map or has_cuts:
        grade_map = GradeMap.parse(grade_list if has_cuts else grades)
        levels = range(len(grade_map.cuts) + 1) if has_cuts else grade_map.grades.values()
        return grade_map, np.unique(np.array([*levels], dtype=np.int32)) if levels else None
    if grades is None:
        return None, None
    levels = [GRADE.read(grade) for grade in grade_list]
    if not levels or None in levels or len({*levels}) < len(levels):
        raise PolicyError(f"grades must be distinct integers, got {quote(grade_list)}")
    return None, np.sort(np.array(levels, dtype=np.int32))


def _unpivot_workers(
    table: Columns, schema: Schema, workers: Sequence[str], has_docs: bool
) -> tuple[Columns, list[str]]:
    """Convert columns of workers to a row for each label; also return notes."""
    names = [str(name) for name in table.names]
    if unknown := [worker for worker in workers if worker not in names]:
        reason = f"worker_columns: unknown column {quote(unknown[0])}"
        expected = f"expected some of: {list_some(map(quote, names), 8)}"
        raise InputError(f"{reason}; {expected}", source=table.source)
    if len({*workers}) < len(workers) or not workers:
        expected = "worker_columns must name at least one column, and each only once"
        raise PolicyError(f"{expected}, got {quote([*workers])}")
    grades = [table.cells(names.index(worker)) for worker in workers]
    labels = [
        (row, worker)
        for row in range(len(grades[0]))
        for worker in range(len(workers))
        if not is_absent(grades[worker][row], NO_GRADE)
    ]
    if not labels:
        raise schema.make_empty_error(table.source)
    rows = [row for row, _ in labels]
    other_columns = [k for k, name in enumerate(names) if name not in workers]
    # Further columns of workers or grades may be gold grades.
    extra_names = [
        names[k] for k in other_columns if schema.find_column(names[k]) in {"worker", "grade"}
    ]
    if extra_names:
        warn(f"{table.source}: columns not used: {list_some(map(quote, extra_names), 12)}")
    cells_by_name = {names[k]: table.cells(k) for k in other_columns if names[k] not in extra_names}
    columns: dict[str, Any] = {k: [cells[i] for i in rows] for k, cells in cells_by_name.items()}
    columns["worker"] = [workers[worker] for _, worker in labels]
    columns["grade"] = [grades[worker][row] for row, worker in labels]
    notes = []
    if n_empty := len(grades[0]) * len(workers) - len(labels):
        n_cells = inflect(n_empty, "empty cell")
        notes.append(f"{n_cells} of the worker columns counted as missing labels")
    if not has_docs:
        columns["doc"] = [row + 1 for row in rows]
        notes.append("no column of documents: each row is a document, named by its row number")
    lines = None if table.lines is None else [table.lines[row] for row in rows]
    labels_table = Columns.from_mapping(columns, table.source, lines)
    return replace(labels_table, has_semicolons=table.has_semicolons), notes


def _check_row_order(table: Columns, labels: pl.DataFrame) -> None:
    """Refuse repeated labels whose rows may not be in the order of a column of times."""
    key = [name for name in ("topic", "doc", "worker") if name in labels.columns]
    is_repeated = labels.select(pl.struct(key).is_duplicated()).to_series()
    is_time = [fold_name(name) in _TIMES for name in table.names]
    has_order = labels["order"].null_count() < labels.height
    if not any(is_time) or has_order or not is_repeated.any():
        return
    column_index = is_time.index(True)
    texts = pl.Series([str(cell).strip() for cell in table.get_column(column_index)])
    seconds = texts.cast(pl.Float64, strict=False)
    has_text = seconds.null_count() > 0
    times = labels.with_columns(time=texts if has_text else seconds).filter(is_repeated)
    is_earlier = pl.col("time") < pl.col("time").shift(1).over(key)
    # In other formats, the order of texts is not that of dates.
    is_sortable = not has_text or times["time"].str.contains(r"^\d{4}-\d\d-\d\d").all()
    if is_sortable and not times.select(is_earlier.any()).item():
        return
    column = quote(table.names[column_index])
    remedy = "sort the rows by time, or remove the column if they are in order"
    if is_sortable:
        remedy = "sort the rows by this column, or remove it"
    raise InputError(
        "the last row of a repeated label counts, but rows may not be in the order of column"
        f" {column}; {remedy}",
        source=table.source,
    )


@dataclass(frozen=True)
class _Reader:
    """Options of :func:`read_labels`, with the scale of the grades."""

    columns: Any
    encoding: str
    repeats: str
    missing: str
    grade_map: GradeMap | None
    scale: NDArray[np.int32] | None
    notes: list[str] = field(default_factory=list)
    ungraded_labels: list[pl.DataFrame] = field(default_factory=list)

    def read(self, data: Any, schema: Schema, workers: Sequence[str] | None = None) -> Table:
        """Read a table of a schema from lines of text, a file or data in memory."""
        columns, encoding = self.columns, self.encoding
        is_field_list = columns is not None and not isinstance(columns, Mapping)
        is_path = isinstance(data, (str, PathLike))
        form = FORMAT_OF_SUFFIX.get(Source(fspath(data)).suffix) if is_path else None
        if is_path and form not in LABELS.formats:
            if columns is not None and not is_field_list:
                expected = "columns must list the fields, such as columns='worker doc grade'"
                reason = f"for lines without a header, {expected}"
                raise PolicyError(f"{reason}, got {quote(dict(columns))}")
            if workers is not None:
                reason = "worker_columns applies to tables with a header, got lines of text"
                raise PolicyError(reason)
            has_words = self.grade_map is not None
            lines = read_lines(Source(fspath(data)), columns, encoding, has_words)
            return map_grades(lines, self.grade_map)
        if is_field_list:
            expected = "columns must be a mapping of column names, such as columns={'worker': ...}"
            raise PolicyError(f"for a table with a header, {expected}, got {quote(columns)}")
        schema = set_grade_kind(schema, self.grade_map)
        own_names = schema.find_own_names(columns)
        if workers is not None and (surplus := {"worker", "grade"} & {*own_names}):
            reason = "worker_columns already names the columns of grades; remove from columns:"
            raise PolicyError(f"{reason} {', '.join(sorted(surplus))}")
        if form is not None:
            table = read_file_columns(
                Source(fspath(data)).with_encoding(encoding, form), schema, form
            )
        elif not is_utf8(encoding):
            raise PolicyError(f"encoding applies to text files, got {type(data).__name__}")
        else:
            table = read_columns(data, schema)
        if workers is not None:
            has_docs = "doc" in own_names or bool(DOC.find_in(table.names))
            table, notes = _unpivot_workers(table, schema, workers, has_docs)
            self.notes.extend(notes)
        labels = table.make_table(schema, own_names)
        if self.repeats == "last":
            _check_row_order(table, labels.frame)
        return map_grades(labels, self.grade_map)

    def read_worker(self, judgments: Any) -> Table:
        """Read the judgments of one worker."""
        source = Source(fspath(judgments)) if isinstance(judgments, (str, PathLike)) else None
        is_judgments = isinstance(judgments, (Qrels, Mapping))
        if source is not None:
            # TREC text files, and ids of ir_datasets.
            form = FORMAT_OF_SUFFIX.get(source.suffix)
            is_judgments = source.path.startswith("irds:") or form is None
            if form == "tsv" and not is_judgments:
                is_judgments = detect_layout(source, form, "qrels")[1] is not None
        if not is_judgments:
            return self.read(judgments, WORKER_JUDGMENTS)
        if self.columns is not None:
            content = "judgments" if source is None else f"lines of judgments in {source.name}"
            raise PolicyError(
                f"columns applies to labels with named columns, got {content}; remove columns"
            )
        if self.repeats == "keep" and source is not None:
            reason = "repeats='keep' applies to tables, got judgments with one grade per document"
            raise PolicyError(reason)
        options: Any = {"encoding": self.encoding, "grades": self.grade_map}
        options |= {"ungraded": self.missing}
        options |= {"on_duplicate": "last" if self.repeats == "last" else "error"}
        try:
            qrels = read_qrels(judgments, **options)
        except InputError as error:
            error.args = (str(error).replace("ungraded=", "missing="),)
            raise
        if qrels.subtopics is not None:
            raise InputError("expected labels, got judgments by subtopic", source=qrels.origin.name)
        judged = qrels.to_polars()
        stratum = pl.col("stratum") if "stratum" in judged.columns else pl.lit(None)
        columns = {"order": pl.lit(None, pl.Float64), "stratum": stratum.cast(pl.String)}
        frame = judged.select("topic", "doc", "grade", **columns)
        return Table(frame, qrels.origin.name, (), qrels.origin.lines)

    def apply_policies(self, table: Table) -> tuple[Table, list[str]]:
        """Set topics if there are none, check grades and apply the policies; also return notes."""
        # In a sample by strata, grades below 0 mark documents that were not sampled.
        is_unsampled = table.frame["stratum"].is_not_null() & (table.frame["grade"] < 0)
        if is_unsampled.any():
            table = table.gather((~is_unsampled.fill_null(False)).arg_true())
        table = replace(table, frame=table.frame.drop("stratum"))
        notes, frame, scale = [*self.notes], table.frame, self.scale
        _warn_of_suspicious_ids(frame, table.source)
        if frame["topic"].null_count() == frame.height:
            table = replace(table, frame=frame.with_columns(topic=pl.lit(NO_TOPIC)))
            notes.append(f"no topics: all items belong to one topic, {quote(NO_TOPIC)}")
        table.refuse(
            ~frame["order"].is_finite().fill_null(True),
            lambda row: f"order must be a finite number, got {row['order']}",
        )
        is_missing = frame["grade"].is_null()
        if self.missing == "error":
            rows = f"{int(is_missing.sum()):,} of {inflect(frame.height, 'row')}"
            reason = f"has no grade ({rows}); use missing='drop' to exclude rows without a grade"
            table.refuse(is_missing, lambda _: reason)
        elif is_missing.any():
            if is_missing.all():
                reason = f"got {inflect(frame.height, 'label')} without a grade"
                reason = f"expected labels with grades, {reason}; check the column of grades"
                raise InputError(reason, source=table.source)
            self.ungraded_labels.append(table.frame.filter(is_missing))
            table = table.gather((~is_missing).arg_true())
            notes.append(f"{inflect(int(is_missing.sum()), 'label')} without a grade excluded")
        if scale is not None:
            grades = list_some(map(str, scale), 8)
            table.refuse(
                ~table.frame["grade"].is_in(scale.tolist()),
                lambda row: f"grade {row['grade']} is outside the scale ({grades})",
            )
        key = ["topic", "doc", "worker"]
        is_repeat = ~table.frame.select(pl.struct(key).is_first_distinct()).to_series()
        n_repeats = int(is_repeat.sum())
        if self.repeats == "error":
            hint = "use repeats='last' to keep the last label, or repeats='keep' to keep all"
            table.refuse(
                is_repeat, lambda row: f"a second label of worker {quote(row['worker'])}; {hint}"
            )
        elif n_repeats and self.repeats == "keep":
            notes.append(f"{inflect(n_repeats, 'repeated label')} kept")
        elif n_repeats:
            sorted_frame = table.frame.with_row_index("row").sort("order", maintain_order=True)
            last_rows = sorted_frame.unique(key, keep="last", maintain_order=True)["row"].sort()
            table = table.gather(last_rows)
            labels = inflect(n_repeats, "label")
            notes.append(f"{labels} replaced by a later label of the document by the same worker")
        return table, notes


def _warn_of_suspicious_ids(frame: pl.DataFrame, source: str) -> None:
    """Warn of ids of rows that may be totals, and of workers that differ in case only."""
    name = "doc" if frame["topic"].null_count() == frame.height else "topic"
    warn_of_summaries(name, frame[name].unique(), source)
    workers = frame["worker"].drop_nulls().unique(maintain_order=True).to_list()
    spellings = Counter(worker.casefold() for worker in workers)
    similar_names = [worker for worker in workers if spellings[worker.casefold()] > 1]
    if similar_names:
        names = list_some(map(quote, similar_names), 4)
        warn(f"{source}: {names} are read as different workers; they differ in case only")


def warn_of_summaries(name: str, ids: Sequence[Any] | pl.Series, source: str) -> None:
    """Warn of topics or documents with ids that are usual names of totals or means."""
    texts = {str(id_) for id_ in ids}
    summaries = sorted(find_summaries(texts))
    if summaries and len(summaries) < len(texts):
        names = list_some(map(quote, summaries), 3)
        note = f"rows of {name} {names} are read as labels, but look like totals or means"
        warn(f"{source}: {note}; remove them if they summarise other rows")


def _make_labels(frame: pl.DataFrame, source: str, notes: Sequence[str], reader: _Reader) -> Labels:
    def encode_values(*names: str) -> tuple[pl.DataFrame, Any]:
        """Return the distinct values in order of appearance, and their index for each row."""
        values = frame.select(names).unique(maintain_order=True)
        codes = frame.select(names).join(
            values.with_row_index("code"), on=names, how="left", maintain_order="left"
        )
        return values, codes["code"].cast(pl.Int64).to_numpy().copy()

    topics, topic = encode_values("topic")
    workers, worker = encode_values("worker")
    pairs, pair = encode_values("topic", "doc")
    topic_of = np.empty(pairs.height, dtype=np.int32)
    topic_of[pair] = topic
    grades = np.unique(frame["grade"].to_numpy()) if reader.scale is None else reader.scale
    order = frame["order"]
    ungraded_labels = pl.concat([frame.clear(), *reader.ungraded_labels], how="diagonal")
    ungraded_pairs = ungraded_labels.unique(["topic", "doc"])
    if n_unlabelled := ungraded_pairs.join(frame, on=["topic", "doc"], how="anti").height:
        notes = [*notes, f"{inflect(n_unlabelled, 'document')} without a label left"]
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


_GOLD_ITEMS = make_line_schema(
    "table of gold grades",
    FileColumn("doc", DOC.kind, "doc"),
    FileColumn("grade", GRADE, "judgment"),
    read_mapping=make_pair_reader("doc", "grade"),
)


def read_gold(data: Any, labels: Labels, **options: Any) -> Qrels:
    """Read gold judgments; for labels without topics, grades by item are accepted, too."""
    if hasattr(data, "to_dict") and not hasattr(data, "columns"):
        # A pandas series by item, or by topic and item.
        data = data.to_dict()
    has_items = False
    if labels.topics == (NO_TOPIC,) and isinstance(data, Mapping):
        has_items = not any(isinstance(value, Mapping) for value in data.values())
    elif labels.topics == (NO_TOPIC,) and isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        if not source.path.startswith("irds:") and source.suffix not in FORMAT_OF_SUFFIX:
            # The file may be a pipe, which can be read only once.
            data, head = read_head(source)
            first_line = next((line for line in head.splitlines() if line.strip()), b"")
            has_items = len(first_line.split()) == 2
    if has_items:
        if options.get("columns") or not is_utf8(options.get("encoding", "utf-8")):
            raise PolicyError("columns and encoding cannot be used with gold grades by item")
        data, options = read_table(data, _GOLD_ITEMS).frame.with_columns(topic=pl.lit(NO_TOPIC)), {}
    elif labels.topics == (NO_TOPIC,) and (items := _read_gold_table(data, **options)) is not None:
        data, options = items, {}
    return read_qrels(data, **options)


def _read_gold_table(
    data: Any, columns: Mapping[str, str] | None = None, encoding: str = "utf-8"
) -> pl.DataFrame | None:
    """Read items and grades from a table without topics; None for other data."""
    names = _GOLD_ITEMS.find_own_names({k: v for k, v in (columns or {}).items() if k != "topic"})
    if is_frame(data):
        table = read_frame_columns(insert_index(data), "judgments")
    elif isinstance(data, (str, PathLike)) and Source(fspath(data)).suffix in FORMAT_OF_SUFFIX:
        source = Source(fspath(data))
        form = FORMAT_OF_SUFFIX[source.suffix]
        table = read_file_columns(source.with_encoding(encoding, form), _GOLD_ITEMS, form)
    else:
        return None
    cells = [table.cells(k) for k in range(len(table.names))]
    is_nested = any(isinstance(column[0], Mapping | list) for column in cells if len(column))
    is_trec = len(table.names) > 2 and any(is_number(str(name)) for name in table.names)
    if is_nested or is_trec or "topic" in (columns or {}) or TOPIC.find_in(table.names):
        return None
    return table.make_table(_GOLD_ITEMS, names).frame.with_columns(topic=pl.lit(NO_TOPIC))


def match_gold(data: Any, labels: Labels) -> tuple[Ints, tuple[str, ...]]:
    """Match gold grades to pairs: indices into the scale, -1 without a grade; also return notes."""
    level = np.full(len(labels.docs), -1, dtype=np.int64)
    if data is None:
        return level, ()
    qrels = read_gold(data, labels)
    if qrels.subtopics is not None:
        raise InputError("expected gold grades, got grades by subtopic", source=qrels.origin.name)
    keys = ["topic", "doc"]
    graded_pairs = qrels.to_polars().select(*keys, "grade")
    gold = labels.pairs.join(graded_pairs, on=keys, how="left", maintain_order="left")["grade"]
    rows = gold.is_not_null().arg_true().to_numpy()
    if not rows.size:
        raise CranfieldError(f"{qrels.origin.name}: no labelled pair has a gold judgment")
    grades = gold.gather(rows).to_numpy()
    level[rows] = np.searchsorted(labels.grades, grades)
    outside_rows = np.flatnonzero(~np.isin(grades, labels.grades))
    if outside_rows.size:
        topic, doc = labels.pairs.row(int(rows[outside_rows[0]]))
        scale = list_some(map(str, labels.grades.tolist()), 8)
        grade = grades[outside_rows[0]]
        reason = f"gold grade {grade} is outside the scale of the labels ({scale})"
        raise InputError(reason, source=qrels.origin.name, topic=topic, doc=doc)
    notes = [f"{inflect(rows.size, 'pair')} with a gold grade"]
    if n_unused := len(qrels) - rows.size:
        notes.append(f"{inflect(n_unused, 'gold judgment')} ignored, as the pair has no label")
    return level, tuple(notes)
