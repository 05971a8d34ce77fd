"""Tables with runs of several systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import islice
from os import PathLike
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Indices
from cranfield.base.errors import InputError, import_optional, quote, warn
from cranfield.base.text import list_some
from cranfield.collection.files.grade_maps import GradeMap, map_grades, set_grade_kind
from cranfield.collection.files.lines import Layout, read_frames
from cranfield.collection.files.named_columns import (
    DOC,
    FLAT_ADVICE,
    RANKS,
    SCHEMAS,
    SCORE,
    SYSTEM,
    TOPIC,
    RequestedColumns,
    describe_structure,
)
from cranfield.collection.files.nested_json import NO_DOCUMENT
from cranfield.collection.pairs import Codes, warn_of_missing_grades, warn_of_ungraded
from cranfield.sources.chunks import LineMap, Source
from cranfield.sources.columns import (
    Columns,
    Table,
    convert_columns,
    read_columns,
    read_file_columns,
    read_record_columns,
)
from cranfield.sources.schemas import FileColumn, Schema, fold_name, suspect_unnamed
from cranfield.sources.values import NO_SCORE, TAG, Cells, is_absent

_SYSTEM_LIKE_NAMES = (
    "variant method engine approach retriever ranker reranker algorithm technique pipeline"
    " configuration config setting"
)
"""Names of columns that may hold systems, but are read as systems only on request."""

_PARTS = "turn turnid turnno turnnumber snapshot snapshotid queryvariant"
PARTS_OF_TOPICS = frozenset(_PARTS.split())
"""Names of columns whose values are parts of a topic, as normalised by `schemas.fold_name`."""

PARTS_OF_RUNS = frozenset(
    f"{_PARTS} seed fold stage split checkpoint epoch strategy prompt session sessionid user userid"
    " query querytext question replicate replicateid repetition trial attempt".split()
)
"""Names of columns whose values are parts or repetitions of a topic in a run."""

_MAX_COLUMNS = 100
"""Maximum number of unread columns that are checked."""

_MAX_SYSTEMS = 1000
"""Maximum number of distinct values of a column of systems."""

_TAG_NAMES = ("system", *FileColumn("tag", TAG).names)
"""Names of the column of run tags of TREC text, which has no header."""


def is_system_like(name: object) -> bool:
    return fold_name(name) in _SYSTEM_LIKE_NAMES.split()


@dataclass(frozen=True, eq=False)
class SystemTable:
    """A table of topics, documents, and scores or grades, for one or several systems.

    unread_columns: by name, a function that loads an unread column.
    stem, path: name of the table, and path of its file.
    rows: positions of these rows in the whole table; None for all.
    has_subtopics: whether the judgments have a column of subtopics, not of iterations.
    empty_topics: topics with an empty ranking.
    """

    table: Table
    unread_columns: Mapping[str, Callable[[], Cells]]
    stem: str
    path: str | None = None
    rows: Indices | None = None
    has_subtopics: bool = False
    empty_topics: tuple[str, ...] = ()

    def split_by_system(self) -> list[tuple[str, SystemTable]]:
        """Split the rows by system, in order of appearance."""
        rows = pl.DataFrame({"name": self.table.frame["tag"]}).with_row_index("row")
        row_groups = rows.group_by("name", maintain_order=True).agg("row")
        return [(name, self._select_rows(np.array(rows))) for name, rows in row_groups.iter_rows()]

    def _select_rows(self, rows: Indices) -> SystemTable:
        return replace(self, table=self.table.gather(rows), rows=rows)

    def _iterate_candidate_columns(self) -> Iterator[tuple[str, pl.Series, list[str]]]:
        """Yield name, texts and distinct values of unread columns of 2 to `_MAX_SYSTEMS` values."""
        for name, cells in islice(self.unread_columns.items(), _MAX_COLUMNS):
            column = _to_text(cells())
            column = column if self.rows is None else column[self.rows]
            values = column.drop_nulls().unique(maintain_order=True).to_list()
            if 2 <= len(values) <= _MAX_SYSTEMS:
                yield name, column, values

    def warn_of_systems(self) -> None:
        """Warn of a column that may name systems, and is not read."""
        columns = (c for c in self._iterate_candidate_columns() if is_system_like(c[0]))
        name, _, values = next(columns, ("", None, []))
        # A repeated document is an error, whose message mentions the column.
        if values and not self.table.frame.select("topic", "doc").is_duplicated().any():
            column = f"column {quote(name)} ({list_some(map(quote, values), 3)})"
            advice = f"is not read; use system={name!r} if each value is a system"
            warn(f"{self.table.source}: {column} {advice}")

    def find_distinguishing_column(self) -> tuple[str, list[str], str] | None:
        """Return a column (name, values, role) that may explain repeated documents, or None."""
        columns = list(self._iterate_candidate_columns())
        pairs = self.table.frame.select("topic", "doc")
        for name, column, values in sorted(columns, key=lambda column: len(column[2])):
            if not pairs.with_columns(value=column).is_duplicated().any():
                return name, values, "distinguishes them"
        for name, _, values in columns:
            if is_system_like(name):
                return name, values, "may name the system"
        return None

    def refuse_parts(
        self, names: AbstractSet[str], codes: Codes, ranks: NDArray[np.int32] | None = None
    ) -> None:
        """Refuse an unread column that splits topics into several rankings.

        Such a column has one of the names, or each of its values has a ranking of its own.
        """
        for name, cells in islice(self.unread_columns.items(), _MAX_COLUMNS):
            is_part = fold_name(name) in names
            # Rows differ in number if repeated documents were excluded.
            if len(codes) != self.table.frame.height or not (is_part or ranks is not None):
                continue
            column = _to_text(cells())
            column = column if self.rows is None else column[self.rows]
            differs = column.ne_missing(column.shift()).to_numpy()[1:]
            if not ((codes[1:] < codes[:-1]) | (differs & (codes[1:] == codes[:-1]))).any():
                continue
            rows = {"topic": codes, "value": column, "rank": codes if ranks is None else ranks}
            rank_from_1 = pl.col("rank") - pl.col("rank").min().over("topic") + 1
            frame = pl.DataFrame(rows).with_columns(rank_from_1)
            groups = frame.group_by("topic", "value", maintain_order=True)
            parts = groups.agg(pl.len(), pl.col("rank").n_unique(), last=pl.col("rank").max())
            has_rankings = ((parts["rank"] == parts["len"]) & (parts["last"] == parts["len"])).all()
            split_parts = parts.filter(pl.len().over("topic") > 1)
            if (split_parts["len"] > 1).any() and (is_part or has_rankings):
                code = split_parts["topic"][0]
                topic = quote(self.table.frame["topic"][int((codes == code).argmax())])
                values = split_parts.filter(pl.col("topic") == code)["value"].fill_null("")
                subject = f"column {quote(name)} ({list_some(map(quote, values), 3)})"
                system = f"; if they are systems, use system={name!r}" * (names is PARTS_OF_RUNS)
                raise InputError(
                    f"{subject} splits topic {topic} into several rankings; if its values are"
                    f" topics, merge it with the topic column; if they describe documents, drop the"
                    f" column{system}",
                    source=self.table.source,
                )


def _to_text(cells: Cells) -> pl.Series:
    if isinstance(cells, pl.Series):
        if cells.dtype == pl.String:
            return cells
        cells = cells.to_list()
    return pl.Series([None if is_absent(cell) else str(cell) for cell in cells], dtype=pl.String)


_ID_NAMES = frozenset(map(fold_name, (*TOPIC.names, *DOC.names)))


def read_system_table(
    data: Any,
    *,
    form: str,
    requested: RequestedColumns,
    ungraded: str = "error",
    grades: GradeMap | None = None,
) -> SystemTable:
    """Read judgments or runs with named columns: a file, frame, data set, rows or a mapping."""
    if isinstance(data, SystemTable):
        return data
    stem, path, kind = "run", None, requested.kind
    schema = set_grade_kind(SCHEMAS[kind], grades)
    if isinstance(data, str) and data.startswith("irds:"):
        columns, stem = read_record_columns(read_ir_dataset(data, kind), schema, data), data
    elif isinstance(data, (str, PathLike)):
        source = Source.from_path(data)
        columns, stem, path = read_file_columns(source, schema, form), source.stem, source.path
    else:
        columns = read_columns(data, schema)
    names = requested.match_table(columns.names)
    if kind == "run":
        if "tag" not in names and (system := _find_system_column(columns)) is not None:
            names["tag"] = system
        schema = RANKS if _has_ranks_only(columns, names) else schema
    unnamed_columns = {*map(fold_name, columns.names)} - {*map(fold_name, names.values())}
    has_only_ids = kind == "qrels" and "grade" not in names and unnamed_columns <= _ID_NAMES
    read_schema = schema
    if has_only_ids and grades is None:
        warn_of_missing_grades(columns.source)
        other_columns = tuple(column for column in schema.columns if column.name != "grade")
        read_schema = replace(schema, columns=other_columns)
    try:
        positions = read_schema.find_positions(columns.names, columns.source, names)
    except InputError as error:
        cells_by_name = {str(name): columns.cells(k) for k, name in enumerate(columns.names)}
        _refuse_nested(cells_by_name, columns.source, kind)
        has_distances = any("distance" in fold_name(name) for name in columns.names)
        if kind == "run" and has_distances and "score" not in names:
            hint = (
                " in all runs, and lower_is_better=True ranks small distances first; if other runs"
                " have scores, write negative distances as scores"
            )
            raise InputError(error.reason + hint, source=error.source) from None
        raise
    # Columns that may name systems are reported by `warn_of_systems` or in errors.
    names_of_runs = columns.names if kind == "run" else ()
    system_positions = [k for k, name in enumerate(names_of_runs) if is_system_like(name)]
    columns.check_unused(schema, [*positions.values(), *system_positions], names or ())
    cells = columns.get_cells(schema, positions)
    _refuse_nested(cells, columns.source, kind)
    if kind == "qrels" and "grade" not in cells:
        cells["grade"] = [1] * len(cells["doc"])
    if "tag" in cells:
        cells["tag"] = _to_names(cells["tag"])
    unread_columns = columns.get_unused_columns(positions.values())
    subtopic_name = str(columns.names[positions["subtopic"]]) if "subtopic" in positions else ""
    has_subtopics = "subtopic" in names or subtopic_name.lower().startswith("sub")
    table, empty_topics = _build_table(cells, schema, columns)
    result = SystemTable(
        table, unread_columns, stem, path, has_subtopics=has_subtopics, empty_topics=empty_topics
    )
    return result if kind == "run" else _apply_grades(result, ungraded, grades)


def _apply_grades(judgments: SystemTable, ungraded: str, grades: GradeMap | None) -> SystemTable:
    """Map grades; refuse rows without a grade, or drop them with a warning."""
    table = map_grades(judgments.table, grades)
    is_empty = table.frame["grade"].is_null()
    if is_empty.any() and ungraded == "error":
        row = int(is_empty.arg_true()[0])
        reason = "has no grade; ungraded='drop' treats such documents as unjudged"
        raise table.make_row_error(row, reason, table.frame["topic"][row])
    warn_of_ungraded(table.source, int(is_empty.sum()), len(is_empty))
    judgments = replace(judgments, table=table)
    rows = (~is_empty).arg_true().to_numpy()
    return judgments._select_rows(rows) if is_empty.any() else judgments


def _build_table(
    cells: dict[str, Cells], schema: Schema, columns: Columns
) -> tuple[Table, tuple[str, ...]]:
    """Convert the columns to a table; also return the topics that have an empty ranking."""
    docs, empty_topics, lines = cells["doc"], (), columns.lines
    if isinstance(docs, list) and any(doc is NO_DOCUMENT for doc in docs):
        doc_rows = [k for k, doc in enumerate(docs) if doc is not NO_DOCUMENT]
        topics = [cells["topic"][k] for k, doc in enumerate(docs) if doc is NO_DOCUMENT]
        topic_table = convert_columns({"topic": topics}, Schema("run", (TOPIC,)), columns.source)
        empty_topics = (*topic_table.frame["topic"],)
        cells = {name: [column[k] for k in doc_rows] for name, column in cells.items()}
        lines = None if lines is None else [lines[k] for k in doc_rows]
    table = convert_columns(cells, schema, columns.source, lines, allows_empty=bool(empty_topics))
    if "tag" in cells:
        table.check(suspect_unnamed("tag"))
    if "rank" in schema.required_names:
        scores = -pl.col("rank").cast(pl.Float64)
        table = replace(table, frame=table.frame.with_columns(score=scores))
    return table, empty_topics


def _refuse_nested(columns: Mapping[str, Cells], source: str, kind: str) -> None:
    """Refuse columns with lists and objects, as JSON and Parquet may have."""
    nested = []
    for name, cells in columns.items():
        is_flat = isinstance(cells, pl.Series) and not cells.dtype.is_nested()
        first = None if is_flat else next(iter(cells), None)
        first = first.to_list() if isinstance(first, pl.Series) else first
        if isinstance(first, (Mapping, list)):
            nested.append(f"{quote(name)} holds {describe_structure(first)}")
    if nested:
        reason = f"expected a row for each document, got nested values: {list_some(nested, 3)}"
        advice = FLAT_ADVICE.format(value="score" if kind == "run" else "grade")
        raise InputError(reason + advice, source=source)


def _has_ranks_only(columns: Columns, requested: Mapping[str, str]) -> bool:
    """Return True for a column of ranks without scores; warn of an empty column of scores."""
    free_names = ["" if str(name) in requested.values() else str(name) for name in columns.names]
    score_positions = SCORE.find_in(free_names)
    has_rank = "rank" in requested or bool(RANKS.columns[2].find_in(free_names))
    if not has_rank or "score" in requested or len(score_positions) > 1:
        return False
    is_empty = all(is_absent(cell, NO_SCORE) for k in score_positions for cell in columns.cells(k))
    if is_empty and score_positions:
        warn(f"{columns.source}: the column of scores is empty; documents are in order of rank")
    return is_empty


def _to_names(cells: Cells) -> Cells:
    """Convert any values, such as dates, to names of systems."""
    names = TAG.convert_column("tag", cells)[0]
    texts = _to_text(cells) if names.null_count() else names
    return texts if texts.null_count() < names.null_count() else cells


def _find_system_column(columns: Columns) -> str | None:
    """Return the column of systems if several columns have a usual name, else None."""
    usual_names = [*map(fold_name, SYSTEM.names)]
    positions = [k for k, name in enumerate(columns.names) if fold_name(name) in usual_names]
    positions.sort(key=lambda k: usual_names.index(fold_name(columns.names[k])))
    if len(positions) < 2:
        return None
    values = {k: TAG.convert_column("tag", _to_names(columns.cells(k)))[0] for k in positions}
    candidates = [k for k in positions if values[k].drop_nulls().n_unique() > 1]
    first, *others = candidates or positions[:1]
    for k in others:
        n_pairs = pl.DataFrame({"a": values[first], "b": values[k]}).n_unique()
        if not n_pairs == values[first].n_unique() == values[k].n_unique():
            names = [str(columns.names[k]) for k in candidates]
            names_text = ", ".join(map(quote, names))
            reason = f"has {len(names)} columns that may name the system ({names_text})"
            raise InputError(f"{reason}; set system={names[0]!r}", source=columns.source)
    return str(columns.names[first])


def read_line_table(source: Source, layout: Layout, requested: RequestedColumns) -> SystemTable:
    """Read lines of TREC text as a table, with the run tags as systems."""
    if fold_name(requested.names["tag"]) not in {*map(fold_name, _TAG_NAMES)}:
        requested.refuse(source.name, "TREC text (topic, q0, doc, rank, score, tag)")
    lines = LineMap()
    frame = pl.concat(list(read_frames(source, layout, lines)))
    return SystemTable(Table(frame, source.name, (), lines), {}, source.stem, source.path)


def read_ir_dataset(name: str, kind: str) -> list[Any]:
    """Read the qrels or the scored documents of the data set `irds:<id>`."""
    ir_datasets = import_optional("ir_datasets", "ir-datasets", "'cranfield[irds]'", purpose=name)
    try:
        dataset = ir_datasets.load(name.removeprefix("irds:"))
        if kind == "qrels" and dataset.has_qrels():
            return list(dataset.qrels_iter())
        if kind == "run" and dataset.has_scoreddocs():
            return list(dataset.scoreddocs_iter())
    except KeyError:
        raise InputError("unknown data set of ir_datasets", source=name) from None
    except (OSError, RuntimeError) as error:
        # The usual causes: no network, or a licence that must be accepted first.
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"ir_datasets failed: {reason}", source=name) from error
    raise InputError(f"expected a data set with {SCHEMAS[kind].noun}, got none", source=name)
