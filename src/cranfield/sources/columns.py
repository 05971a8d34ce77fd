"""Read named columns from files, data frames, rows and mappings, by a schema."""

from __future__ import annotations

import io
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import itemgetter, methodcaller
from os import PathLike
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.errors import CranfieldError, InputError, add_source, quote, warn
from cranfield.base.parallel import check_fork
from cranfield.base.text import inflect, list_some, sanitise
from cranfield.sources.archives import check_size, is_url
from cranfield.sources.chunks import FORMAT_OF_SUFFIX, Source
from cranfield.sources.parquet import check_parquet, quiet_panics
from cranfield.sources.schemas import (
    NO_OWN_NAMES,
    SUCCESS,
    TABLE_FORMATS,
    FileColumn,
    Lines,
    Schema,
    Suspicions,
    fold_name,
    split_fields,
)
from cranfield.sources.text import (
    decode_text,
    find_separator,
    parse_json,
    parse_json_lines,
    split_lines,
    split_rows,
)
from cranfield.sources.values import Cells, is_number, replace_decimal_commas, warn_of_thousands

MappingReader = Callable[[Mapping[Any, Any], str], dict[str, list[Any]]]
"""Converts a mapping to columns; the second argument names the source in messages."""

_COMPRESSED_STARTS = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"x\x01", b"x\x9c", b"x\xda")


@dataclass(frozen=True)
class Columns:
    """Named columns of the input; `cells` reads a column by its index.

    has_semicolons: whether the input is text with semicolons between columns.
    """

    source: str
    names: Sequence[object]
    cells: Callable[[int], Cells]
    lines: Sequence[int] | None = None
    has_semicolons: bool = False

    @classmethod
    def from_mapping(
        cls, columns: Mapping[Any, Cells], source: str, lines: Sequence[int] | None = None
    ) -> Columns:
        return cls(source, list(columns), list(columns.values()).__getitem__, lines)

    @classmethod
    def from_rows(
        cls,
        names: Sequence[object],
        rows: Sequence[Sequence[Any]],
        source: str,
        lines: Sequence[int] | None = None,
    ) -> Columns:
        return cls(source, names, lambda k: [row[k] for row in rows], lines)

    def select(
        self, schema: Schema, own_names: Mapping[str, str] = NO_OWN_NAMES
    ) -> dict[str, Cells]:
        """Select the columns of a schema by the names that the user set, or by usual names."""
        positions = schema.find_positions(self.names, self.source, own_names)
        self.check_unused(schema, [*positions.values()], own_names)
        return self.get_cells(schema, positions)

    def get_cells(self, schema: Schema, positions: Mapping[str, int]) -> dict[str, Cells]:
        """Return the cells of columns; numbers of tables with semicolons as by `read_numbers`."""
        cells = {name: self.cells(k) for name, k in positions.items()}
        kinds = {column.name: column.kind for column in schema.columns if column.name in cells}
        if self.has_semicolons:
            return cells | self.read_numbers(
                {n: positions[n] for n in kinds if kinds[n].is_numeric}
            )
        for name, kind in kinds.items():
            is_count = kind.dtype.is_integer() and name not in {"grade", "rank"}
            if is_count and isinstance(next(iter(raw := cells[name]), None), str):
                texts = raw if isinstance(raw, pl.Series) else _to_texts(raw)
                if texts.cast(pl.String).str.ends_with(".000").any():
                    warn_of_thousands(_to_texts(texts), self.source)
        return cells

    def read_numbers(self, positions: Mapping[Any, int]) -> dict[Any, Cells]:
        """Return columns of numbers of a table with semicolons; decimal commas become points.

        If some numbers have points, commas are unchanged, as they may separate thousands.
        """
        columns = (_to_texts(self.cells(k)) for k in positions.values())
        texts = [pl.Series([], dtype=pl.String), *columns]
        numbers = pl.concat(texts)
        warn_of_thousands(numbers, self.source)
        has_points = any(map(is_number, numbers.filter(numbers.str.contains(".", literal=True))))
        read_column = self.cells if has_points else self.get_column
        return {name: read_column(k) for name, k in positions.items()}

    def get_column(self, k: int) -> Cells:
        """Return the cells of a column; in tables with semicolons, decimal commas become points."""
        return replace_decimal_commas(self.cells(k)) if self.has_semicolons else self.cells(k)

    def make_table(
        self,
        schema: Schema,
        own_names: Mapping[str, str] = NO_OWN_NAMES,
        *,
        allows_empty: bool = False,
    ) -> Table:
        """Select the columns of a schema, as :meth:`select` does, and convert them."""
        cells = self.select(schema, own_names)
        return convert_columns(cells, schema, self.source, self.lines, allows_empty=allows_empty)

    def get_unused_columns(self, used_positions: Collection[int]) -> dict[str, Callable[[], Cells]]:
        """Return the unused columns by name, each loaded on access."""
        names = {k: str(name) for k, name in enumerate(self.names) if k not in used_positions}
        return {name: partial(self.cells, k) for k, name in names.items()}

    def check_unused(
        self, schema: Schema, used_positions: Collection[int], own_names: Collection[str] = ()
    ) -> None:
        """Warn of unused columns; refuse repeated headers, and columns that may change rows."""
        if header_rows := self._find_header_rows(used_positions):
            reason = "the row repeats the names of the columns; remove it"
            raise make_row_error(header_rows[0], reason, self.source, self.lines)
        unused_positions, synonyms = self.refuse_decisive(schema, used_positions)
        # Columns are not reported if they have a single value, numbers of rows, a text for each
        # identifier, or the values of a used column. Other identifiers and numbers are reported, as
        # the user may mean them.
        reported_positions = [k for k in unused_positions[:_MAX_CHECKED] if self._varies(k, schema)]
        reported_positions += self._refuse_second_ids(synonyms, own_names, schema)
        for k, (used_k, column) in synonyms.items():
            texts, used_texts = _to_texts(self.get_column(k)), _to_texts(self.get_column(used_k))
            if not (texts != used_texts).any():
                continue
            is_descriptive = schema.is_descriptive(self.names[k])
            if column.name == "grade" and fold_name(self.names[k]) != "score":
                numbers = texts.filter(texts != "").cast(pl.Float64, strict=False)
                has_grades = len(numbers) > 0 and not numbers.null_count()
                if has_grades and "grade" not in own_names:
                    pair = f"{quote(self.names[used_k])} and {quote(self.names[k])}"
                    advice = "remove one of them, or select one by columns={'grade': ...}"
                    reason = f"has two columns of grades: {pair}; {advice}"
                    raise InputError(reason, source=self.source)
                if is_descriptive and not has_grades:
                    # The column has the answers from which the grades were derived.
                    continue
            n_used_values, n_values = used_texts.n_unique(), texts.n_unique()
            n_pairs = pl.DataFrame({"used": used_texts, "other": texts}).n_unique()
            is_text = n_values == n_used_values or is_descriptive
            if column.name not in own_names:
                # The `docid` of PyTerrier is an integer.
                is_identifier = _IDENTIFIER.search(fold_name(self.names[k])) is not None
                is_text &= not is_identifier or texts.str.contains("^[0-9]+$").all()
                is_text &= column.name != "grade" or is_descriptive
            if n_values > 1 and not (is_text and n_pairs == n_used_values):
                reported_positions.append(k)
        if reported_positions := sorted({*reported_positions}) + unused_positions[_MAX_CHECKED:]:
            names_text = list_some((quote(self.names[k]) for k in reported_positions), 12)
            warn(f"{self.source}: columns not used: {names_text}")

    def refuse_decisive(
        self, schema: Schema, used_positions: Collection[int]
    ) -> tuple[list[int], dict[int, tuple[int, FileColumn]]]:
        """Refuse unused columns that may change the meaning of rows; return the others."""
        unused_positions, synonyms, decisive_kinds = schema.find_unused(self.names, used_positions)
        decisive_kinds |= self._find_decisive_values(schema, used_positions)
        used_columns = {schema.find_column(self.names[k]) for k in used_positions}
        for k, kind in decisive_kinds.items():
            if kind == "support" and kind in used_columns:
                continue
            values = _to_texts(self.cells(k)).unique(maintain_order=True).to_list()
            if not _is_harmless(kind, fold_name(self.names[k]), {*values}):
                subject = f"column {quote(self.names[k])} ({list_some(map(quote, values), 3)})"
                effect = f"may be the {kind} of rows, and would be ignored"
                raise InputError(f"{subject} {effect}; {_ADVICE[kind]}", source=self.source)
        return unused_positions, synonyms

    def _find_decisive_values(
        self, schema: Schema, used_positions: Collection[int]
    ) -> dict[int, str]:
        """Find unused columns of any name whose values are answers, events or checks of workers."""
        kinds: dict[int, str] = {}
        has_events = "event" in schema.decisive_kinds and not schema.is_selected
        has_labels = "criterion" in schema.decisive_kinds
        for k in range(len(self.names)) if has_events or has_labels else ():
            if k in used_positions or _to_texts(self.cells(k)[:1000]).n_unique() > _MAX_EVENTS:
                continue
            values = {*map(fold_name, _to_texts(self.cells(k)).unique())}
            if has_events and len(values) <= _MAX_EVENTS and values & _CLICK_EVENTS:
                kinds[k] = "event"
            elif has_labels and values & _CHECKS:
                kinds[k] = "outcome"
            elif has_labels and values <= _ANSWERS and values & _REJECTIONS:
                kinds[k] = "answer"
        return kinds

    def _refuse_second_ids(
        self,
        synonyms: Mapping[int, tuple[int, FileColumn]],
        own_names: Collection[str],
        schema: Schema,
    ) -> list[int]:
        """Refuse a second column of ids, as `doc` beside `pid`; return columns of topic groups."""
        categories = []
        for k, (used_k, column) in synonyms.items():
            name, used_name = column.name, fold_name(self.names[used_k])
            if name not in {"topic", "doc", "worker"} - {*own_names} or name in used_name:
                continue
            texts, used_texts = _to_texts(self.cells(k)), _to_texts(self.cells(used_k))
            is_text = texts.str.contains(r"\s").any() or texts.equals(used_texts)
            if fold_name(self.names[k]) != name or is_text:
                continue
            if name == "topic" and texts.n_unique() < used_texts.n_unique():
                categories.append(k)
                continue
            pair = f"{quote(self.names[used_k])} and {quote(self.names[k])}"
            advice = schema.suggest_selection(name)
            reason = f"has two columns that may be the {name}: {pair}{advice}"
            raise InputError(reason, source=self.source)
        return categories

    def _varies(self, k: int, schema: Schema) -> bool:
        """Return True if a column has several values other than numbers or names of rows."""
        texts = _to_texts(self.cells(k))
        n_values = texts.n_unique()
        if not schema.may_number_rows(self.names[k], k):
            return n_values > 1
        return 1 < n_values < len(texts) and not texts.str.contains("^[0-9]+$").all()

    def _find_header_rows(self, used_positions: Collection[int]) -> list[int]:
        rows: list[int] | None = None
        for name, cells in ((self.names[k], self.cells(k)) for k in used_positions):
            if isinstance(cells, pl.Series) and (
                cells.dtype != pl.String or str(name) not in cells
            ):
                return []
            candidates = range(len(cells)) if rows is None else rows
            rows = [row for row in candidates if isinstance(name, str) and cells[row] == name]
        return rows or []


_IDENTIFIER = re.compile("(id|no|number|key)$")
"""Ends of the names of columns of identifiers, as normalised by `schemas.fold_name`."""

_MAX_CHECKED = 100
"""Maximum number of unused columns, and of unusual ids, whose values are checked."""

_MAX_EVENTS = 20
"""Maximum number of distinct events; a column with more values holds text, such as queries."""

_CLICK_EVENTS = {"click", "clicks", "clicked"}

_REJECTIONS = {"reject", "ignore"}
_ANSWERS = {"accept", *_REJECTIONS, ""}
"""Answers of Prodigy, which accept or reject the label of a row."""

_CHECKS = {"practice", "attentioncheck", "honeypot"}
"""Values that mark a row as a check of the worker."""

_ADVICE = {
    "status": "keep the valid rows, and remove the column",
    "count": "repeat each row as often as it occurred, and remove the column",
    "votes": "repeat each row as often as it occurred, and remove the column",
    "weight": "use rows of equal weight, and remove the column",
    "assignment weight": "use units of equal weight, and remove the column",
    "support": "rename it to support, or remove it",
    "currency": "use amounts in one currency, and remove the column",
    "measure": "keep the rows of one metric, and remove the column",
    "experiment": "keep the rows of one experiment, and remove the column",
    "exposure": "keep the rows of exposed units, and remove the column",
    "visibility": "keep the rows of results that users saw, and remove the column",
    "event": "keep the rows of clicks, and remove the column",
    "judge": "write a table for each judge",
    "presentation order": "write the name of the preferred system, and remove the column",
    "assessor": "write a table for each assessor; with one assessor per answer, remove the column",
    "criterion": "keep the rows of one criterion, and remove the column",
    "answer": "write the grade of each row, such as 0 if it was rejected, and remove the column",
    "unit of measurement": "write all values in one unit, and remove the column",
    "outcome": "keep the valid rows, and remove the column",
    "replicate": "name the systems SYSTEM@REPLICATE, and remove the column",
}
"""Advice on tables with a column that changes the meaning of rows, by kind of column."""


def _is_harmless(kind: str, name: str, values: set[str]) -> bool:
    """Return True if the values of a decisive column do not change the meaning of any row."""
    if kind in {"count", "votes"}:
        return values <= {"1", "1.0"} or values == {""}
    if len(values) < 2:
        return kind != "answer"
    # Codes of 0 and 1 are not refused, as either of them may mean success. But in `result_status`
    # of UMBRELA, 0 marks an answer without a grade, whose grade is 0.
    has_codes = name.endswith(("status", "state")) and values <= {"0", "1"}
    has_codes &= name != "resultstatus"
    return kind == "status" and (has_codes or {value.casefold() for value in values} <= SUCCESS)


def _to_texts(cells: Cells) -> pl.Series:
    """Return cells as text without surrounding blanks; empty for missing values."""
    if isinstance(cells, pl.Series) and cells.dtype == pl.String:
        return cells.fill_null("").str.strip_chars()
    texts = ["" if cell is None else str(cell).strip() for cell in cells]
    try:
        return pl.Series(texts, dtype=pl.String)
    except UnicodeEncodeError:
        return pl.Series([text.encode(errors="replace").decode() for text in texts])


def read_columns(data: Any, schema: Schema) -> Columns:
    """Read the columns of a file, a data frame, rows or a mapping."""
    check_fork()
    if isinstance(data, (str, PathLike)):
        return read_file_columns(Source.from_path(data), schema)
    source = schema.noun or schema.kind
    if isinstance(data, Mapping | list) and (columns := _read_json_columns(data, schema, source)):
        return columns
    if is_frame(data):
        return read_frame_columns(insert_index(data), source)
    may_be_rows = isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray, Mapping))
    if may_be_rows and schema.tuples is not None and not is_array(data):
        return read_record_columns(list(data), schema, source)
    noun = schema.noun or f"a {schema.kind}"
    advice = ""
    if is_array(data):
        code = "series.reset_index()" if hasattr(data, "reset_index") else "pandas.DataFrame(array)"
        advice = f"; pass a data frame with named columns, such as {code}"
    raise InputError(f"{type(data).__name__} cannot be read as {noun}{advice}")


def is_frame(data: Any) -> bool:
    # The type is tested, as a lazy frame warns if its columns are read.
    return hasattr(type(data), "columns") or hasattr(type(data), "column_names")


def insert_index(data: Any) -> Any:
    """Return data with the index of a pandas frame as columns if all its levels have names."""
    levels = list(getattr(getattr(data, "index", None), "names", None) or ())
    has_names = levels and all(isinstance(level, str) for level in levels)
    return data.reset_index() if has_names and not {*levels} & {*data.columns} else data


def is_array(data: Any) -> bool:
    """Return True for an array or series of numbers or records, which is not a table."""
    kind = getattr(getattr(data, "dtype", None), "kind", "")
    return kind in {"i", "u", "f", "V"} and not is_frame(data)


def read_frame_columns(data: Any, source: str) -> Columns:
    """Read a data frame of any library that narwhals supports."""
    import narwhals.stable.v1 as nw

    with convert_errors(f"{type(data).__name__} is not a supported data frame", source, Exception):
        # Each library raises its own errors, such as for a repeated name. Narwhals reads only the
        # names of relations of DuckDB and others, so these are converted by Arrow.
        frame = nw.from_native(data)
        if nw.get_level(frame) == "interchange":
            has_arrow = hasattr(data, "__arrow_c_stream__") or hasattr(data, "__arrow_c_array__")
            frame = nw.from_native(pl.DataFrame(data) if has_arrow else pl.from_dataframe(data))
        frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
        names = list(frame.columns)

    def read_cells(k: int) -> Cells:
        # In pandas, a name may be a number.
        series: Any = frame.get_column(names[k])
        if isinstance(native := series.to_native(), pl.Series) and native.dtype != pl.Object:
            return native
        # Object columns may hold any values, and Arrow has no type for complex numbers and large
        # integers: these are read as Python values.
        if series.dtype == nw.Object or series.dtype.is_temporal():
            return list(series.to_list())
        try:
            return pl.Series(series.to_arrow())
        except Exception:
            return list(series.to_list())

    return Columns(source, names, read_cells)


_TYPE_NAMES: dict[type, str] = {
    **{dict: "a record", list: "a list", tuple: "a tuple", str: "text"},
    **{int: "a number", float: "a number", bool: "true or false", type(None): "null"},
}


def _describe_type(row: Any) -> str:
    name = _TYPE_NAMES.get(type(row), type(row).__name__)
    return f"{name} of {inflect(len(row), 'value')}" if type(row) in {list, tuple} else name


def read_record_columns(
    rows: Sequence[Any], schema: Schema, source: str, lines: Sequence[int] | None = None
) -> Columns:
    """Read mappings, named tuples, data classes, or tuples and lists if the schema allows them."""
    if not rows:
        raise schema.make_empty_error(source)
    shape, tuples = _find_shape(rows[0]), schema.tuples or ()
    is_plain = shape is None or isinstance(shape, int)
    size = shape if isinstance(shape, int) else 0
    if size and size == len(schema.lines_as_rows):
        tuples = schema.lines_as_rows
    if is_plain and not (tuples and len(schema.required_names) <= size <= len(tuples)):
        expected = "records with named fields" + f" or tuples ({', '.join(tuples)})" * bool(tuples)
        reason = f"expected {expected} as rows of a {schema.kind}, got {_describe_type(rows[0])}"
        raise make_row_error(0, reason, source, lines)
    is_uniform = len(set(map(type, rows))) == 1 and (not is_plain or len(set(map(len, rows))) == 1)
    if not is_uniform and (
        bad_row := next((k for k, row in enumerate(rows) if _find_shape(row) != shape), 0)
    ):
        expected = "a record" if shape is Mapping else _describe_type(rows[0])
        reason = f"expected {expected} as in the first row, got {_describe_type(rows[bad_row])}"
        raise make_row_error(bad_row, reason, source, lines)
    if is_plain:
        return Columns.from_rows(tuples[:size], rows, source, lines)
    if isinstance(shape, tuple):
        fields = {name: [getattr(row, name) for row in rows] for name in shape}
        return Columns.from_mapping(fields, source, lines)
    names = dict.fromkeys(chain.from_iterable(rows))
    return Columns.from_mapping(
        {name: [*map(methodcaller("get", name), rows)] for name in names}, source, lines
    )


def _find_shape(row: Any) -> type[Mapping[Any, Any]] | tuple[str, ...] | int | None:
    """Return `Mapping`, the fields of a named tuple or data class, or the length of a sequence."""
    if isinstance(row, Mapping):
        return Mapping
    fields = getattr(row, "_fields", None) or getattr(row, "__dataclass_fields__", None)
    if fields and isinstance(fields, (tuple, Mapping)):
        return tuple(fields)
    return len(row) if isinstance(row, (tuple, list)) else None


def read_file_columns(source: Source, schema: Schema, form: str = "") -> Columns:
    """Read a file with named columns, or lines of text if the schema allows them."""
    form = form or FORMAT_OF_SUFFIX.get(source.suffix, "")
    is_other_table = form in TABLE_FORMATS and form not in schema.formats and schema.lines is None
    form = form if form in schema.formats else schema.default_format
    if is_other_table or (not form and schema.lines is None):
        suffixes = [suffix for suffix, word in FORMAT_OF_SUFFIX.items() if word in schema.formats]
        expected = f"expected one of: {', '.join(suffixes)}"
        got = f", got {quote(source.suffix)}" if source.suffix else ""
        reason = f"the suffix does not name a format of {schema.row_noun}; {expected}{got}"
        raise InputError(reason, source=source.name)
    raw, name = source.read(), source.name
    if not raw.removeprefix(BOM_UTF8).strip():
        raise schema.make_empty_error(name)
    if not form and schema.lines is not None:
        return _read_line_columns(decode_text(raw, name), schema.lines, schema.row_noun, name)
    if form == "parquet":
        return read_frame_columns(read_parquet_frame(raw, name), name)
    if form in {"csv", "tsv"}:
        separator = "\t" if form == "tsv" else ","
        _, head = next(split_lines(raw[: 1 << 16].decode(errors="replace")), (1, ""))
        # Spreadsheets write semicolons where the comma is the decimal sign.
        return read_csv_columns(raw, find_separator(head, separator) or separator, name)
    text = decode_text(raw, name)
    if form == "jsonl":
        records, lines = parse_json_lines(text, name)
        if (columns := _read_json_columns(records, schema, name, lines)) is not None:
            return columns
    document = parse_json(text, name)
    if (columns := _read_json_columns(document, schema, name)) is not None:
        return columns
    expected = "an object or an array" if schema.read_mapping else f"an array of {schema.row_noun}"
    raise InputError(f"expected {expected} in JSON, got {type(document).__name__}", source=name)


def _read_json_columns(
    data: Any, schema: Schema, source: str, lines: Sequence[int] | None = None
) -> Columns | None:
    """Read records or a mapping from JSON; return None for data that the schema does not allow."""
    if isinstance(data, Mapping):
        data = unwrap_pandas(data, schema, source)
    nested = None if schema.read_nested is None else schema.read_nested(data, source)
    if nested is not None:
        columns, rows = nested
        return Columns.from_mapping(
            columns, source, None if lines is None else [lines[row] for row in rows]
        )
    if isinstance(data, Mapping) and schema.read_mapping is not None:
        to_columns = read_mapping_columns if schema.is_table(data) else schema.read_mapping
        return Columns.from_mapping(to_columns(data, source), source)
    if isinstance(data, list) and schema.tuples is not None:
        return read_record_columns(data, schema, source, lines)
    return None


def unwrap_pandas(data: Mapping[Any, Any], schema: Schema, source: str) -> Any:
    """Return the rows of a table that pandas wrote as JSON; other data are returned unchanged."""
    values = list(data.values())
    is_split = {"columns", "data"} <= {*data} <= {"columns", "index", "data"}
    if is_split and all(isinstance(value, list) for value in values):
        names, rows = list(map(str, data["columns"])), data["data"]
        if len({*names}) < len(names):
            names_text = list_some(map(quote, names), 12)
            reason = f"expected distinct names in 'columns', got {names_text}"
            raise InputError(reason, source=source)
        for k, row in enumerate(rows):
            if not isinstance(row, list) or len(row) != len(names):
                expected = f"expected {_describe_type(names)}, one per column"
                reason = f"row {k + 1} of 'data': {expected}, got {_describe_type(row)}"
                raise InputError(reason, source=source)
        index = data.get("index", [])
        has_topics = any(schema.find_column(name) == "topic" for name in names)
        if not has_topics and len(index) == len(rows) and index != [*range(len(rows))]:
            # The index has the topics, unless it only numbers the rows.
            names, rows = ["", *names], [[index[k], *row] for k, row in enumerate(rows)]
        return [dict(zip(names, row, strict=True)) for row in rows]
    if {*data} == {"schema", "data"} and isinstance(data["data"], list):
        return data["data"]
    if not all(isinstance(value, Mapping) for value in values) or not values:
        return data
    has_columns = schema.is_table(data)
    has_rows = schema.is_table({name: [cell] for name, cell in values[0].items()})
    if not (has_columns or has_rows) or any({*value} != {*values[0]} for value in values):
        return data
    if has_rows:
        return values
    return [{name: column[row] for name, column in data.items()} for row in values[0]]


def read_csv_columns(raw: bytes, separator: str, source: str) -> Columns:
    """Read CSV: with polars if each line is a row without quotes, else with the Python parser."""
    columns = _read_regular_csv_columns(raw, separator, source)
    if columns is None:
        (names, *rows), lines = split_rows(decode_text(raw, source), source, separator)
        columns_of_texts = zip(*rows, strict=True) if rows else [()] * len(names)
        cells = [pl.Series(texts, dtype=pl.String).replace("", None) for texts in columns_of_texts]
        columns = Columns(source, names, cells.__getitem__, lines[1:])
    columns = replace(columns, has_semicolons=separator == ";")
    nonempty_names = [str(name) for name in columns.names if name]
    for name in nonempty_names:
        # Equal numbers mean that the header is missing, which `Schema.find_positions` reports.
        if (n_columns := nonempty_names.count(name)) > 1 and not is_number(name):
            reason = f"has {n_columns} columns {quote(name)}; remove or rename all but one"
            raise InputError(reason, source=source)
        if "\0" in name:
            raise InputError("has a null character in the name of a column", source=source)
    return columns


def _read_regular_csv_columns(raw: bytes, separator: str, source: str) -> Columns | None:
    raw = raw.removeprefix(BOM_UTF8)
    has_other_ends = b"\r" in raw and raw.count(b"\r") != raw.count(b"\r\n")
    # Polars would decompress data that begin like a compressed file, without a limit, and read the
    # separator that the first line declares for Excel as a name.
    if b'"' in raw or has_other_ends or raw.startswith((BOM_UTF8, b"sep=", *_COMPRESSED_STARTS)):
        return None
    try:
        frame = pl.read_csv(raw, separator=separator, infer_schema=False)
    except pl.exceptions.PolarsError:
        return None
    n_lines = raw.count(b"\n") + (not raw.endswith(b"\n"))
    is_regular = raw.count(separator.encode()) == n_lines * (frame.width - 1) > 0
    has_blank_rows = is_regular and frame.to_series(0).null_count() > 0
    # Polars renames repeated names.
    has_repeats = any("_duplicated_" in name for name in frame.columns)
    if not is_regular or frame.height + 1 != n_lines or has_blank_rows or has_repeats:
        return None
    return replace(read_frame_columns(frame, source), lines=range(2, n_lines + 1))


def read_parquet_frame(raw: bytes, source: str) -> pl.DataFrame:
    with add_source(source):
        check_parquet(memoryview(raw))
    with convert_parquet_errors(source):
        frame = pl.read_parquet(io.BytesIO(raw))
        lengths = [
            getattr(column, "cat" if column.dtype == pl.Categorical else "str").len_bytes()
            for column in frame
            if column.dtype in (pl.String, pl.Categorical)
        ]
    with add_source(source):
        # Rows that share a text need far more memory once each row has its own copy.
        check_size(sum(int(length.cast(pl.Int64).sum()) for length in lengths), len(raw))
    return frame


def check_parquet_file(path: str) -> None:
    """Refuse a damaged Parquet file without loading it; URLs are not checked."""
    if is_url(path):
        return
    source = Source(path)
    with add_source(source.name):
        check_parquet(source.map_content())


@contextmanager
def convert_parquet_errors(source: str) -> Iterator[None]:
    """Convert errors in reading a checked Parquet file to an InputError of one line."""
    with convert_errors("is not readable Parquet", source), quiet_panics():
        yield


@contextmanager
def convert_errors(
    problem: str,
    source: str,
    errors: Any = (pl.exceptions.PolarsError, pl.exceptions.PanicException),
) -> Iterator[None]:
    """Convert errors of a library to an InputError of one line."""
    try:
        yield
    except CranfieldError:
        raise
    except errors as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        if isinstance(error, pl.exceptions.PanicException):
            # The message of a panic is meant for the developers of polars.
            reason = "its content is inconsistent"
        # The reason may quote cells of any length.
        message = sanitise(reason[:201])
        shortened = f"{message[:200]}…" if len(message) > 200 else message
        raise InputError(f"{problem}: {shortened}", source=source) from None


def _read_line_columns(text: str, layout: Lines, noun: str, source: str) -> Columns:
    rows: list[list[Any]] = []
    line_numbers: list[int] = []
    has_semicolons = None
    may_have_semicolons = getattr(layout.split, "func", None) is split_fields
    required_text = " ".join(layout.names[: layout.n_required])
    optional_names = () if layout.has_more else layout.names[layout.n_required :]
    optional_text = "".join(f" [{name}]" for name in optional_names)
    with add_source(source):
        for number, line in split_lines(text):
            fields = layout.split(line)
            if not fields:
                continue
            has_semicolon = may_have_semicolons and ";" in line and "\t" not in line
            has_words = layout.n_required <= len(line.split()) <= len(layout.names)
            if has_semicolon and has_words and not re.search(r"\s;|;\s", line.strip()):
                reason = "fields may be separated by semicolons or by blanks"
                raise InputError(f"{reason}; separate them by tabs", line=number)
            if has_semicolons not in {None, has_semicolon}:
                expected, separator = ("blanks", "semicolons")[:: -1 if has_semicolons else 1]
                reason = f"expected {expected} between fields as in previous lines, got {separator}"
                raise InputError(reason, line=number)
            has_semicolons = has_semicolon
            if len(fields) < layout.n_required or (
                len(fields) > len(layout.names) and not layout.has_more
            ):
                expected = f"{layout.n_required} columns ({required_text}{optional_text})"
                reason = f"expected {expected} in a line of {noun}, got {len(fields)}{layout.hint}"
                if len(fields) == 1 and "," in line:
                    reason += "; a table with commas requires a header and the suffix .csv"
                raise InputError(reason, line=number)
            if rows and not layout.has_more and len(fields) != len(rows[0]):
                reason = f"expected {len(rows[0])} columns as in previous lines, got {len(fields)}"
                raise InputError(reason, line=number)
            rows.append(fields)
            line_numbers.append(number)
    names = layout.names[: max(map(len, rows), default=layout.n_required)]
    padded_rows = [[*row[: len(names)], *[None] * (len(names) - len(row))] for row in rows]
    return Columns.from_rows(names, padded_rows, source, line_numbers)


def transpose_rows(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> dict[str, list[Any]]:
    rows = list(rows)
    return {name: [row[k] for row in rows] for k, name in enumerate(names)}


def make_nested_reader(*names: str, inner_form: str) -> MappingReader:
    """Return a reader of nested mappings; messages describe inner mappings by `inner_form`."""

    def convert_mapping(data: Mapping[Any, Any], source: str) -> dict[str, list[Any]]:
        pairs = iterate_nested_items(data, names[0], inner_form, source)
        return transpose_rows(
            names, ((outer, *item) for outer, inner in pairs for item in inner.items())
        )

    return convert_mapping


def make_pair_reader(*names: str) -> MappingReader:
    """Return a reader of mappings, whose columns are the keys and the values."""
    return lambda data, source: transpose_rows(names, data.items())


def read_mapping_columns(data: Mapping[Any, Any], source: str) -> dict[str, list[Any]]:
    """Read a mapping whose values are the columns of a table."""
    for values in data.values():
        if not isinstance(values, Iterable) or isinstance(values, (str, bytes, Mapping)):
            expected = "expected lists as the columns of a table"
            reason = f"{expected}, got a column of type {type(values).__name__}"
            if isinstance(values, Mapping):
                reason += "; in pandas, write the table by to_json(orient='records')"
            raise InputError(reason, source=source)
    lists = {
        str(name): values.tolist() if isinstance(values, np.ndarray) else list(values)
        for name, values in data.items()
    }
    lengths = {len(values) for values in lists.values()}
    if len(lengths) > 1:
        lengths_text = list_some(map(str, sorted(lengths)), 5)
        reason = f"expected columns of equal length, got lengths {lengths_text}"
        raise InputError(reason, source=source)
    return lists


def iterate_nested_items(
    data: Mapping[Any, Any], outer: str, inner_form: str, source: str
) -> Iterator[tuple[Any, Mapping[Any, Any]]]:
    """Yield the items of a mapping of mappings; refuse other values."""
    for name, mapping in data.items():
        if not isinstance(mapping, Mapping):
            expected = f"expected {{{inner_form}}} for {outer} {quote(name)}"
            raise InputError(f"{expected}, got {type(mapping).__name__}", source=source)
        yield name, mapping


@dataclass(frozen=True)
class Table:
    """A table with all columns of its schema.

    frame: the columns; those that the input lacks are null.
    names: the columns that the input has.
    lines: the line of each row, if known.
    """

    frame: pl.DataFrame
    source: str
    names: tuple[str, ...]
    lines: Sequence[int] | NDArray[np.int64] | None = None

    def iterate_rows(self) -> Iterator[tuple[Any, ...]]:
        """Yield the rows; missing floats are NaN, and other missing values None."""
        numbers = pl.col(pl.Float64).fill_null(float("nan"))
        return self.frame.with_columns(numbers).iter_rows()

    def refuse(self, is_invalid: pl.Series, reason: Callable[[dict[str, Any]], str]) -> None:
        """Raise an error for the first invalid row, if any; `reason` is called with its cells."""
        if is_invalid.any():
            row = int(is_invalid.arg_true()[0])
            cells = self.frame.row(row, named=True)
            raise self.make_row_error(row, reason(cells), cells.get("topic"), cells.get("doc"))

    def check(self, suspicions: Suspicions) -> None:
        """Raise an error for the first row that meets one of the conditions, if any."""
        rows = [
            (row, reason)
            for reason, condition in suspicions.items()
            for row in self.frame.select(condition).to_series().arg_true()[:1]
        ]
        if rows:
            row, reason = min(rows, key=itemgetter(0))
            cells = self.frame.row(row, named=True)
            texts = {k: quote(v) if isinstance(v, str) else v for k, v in cells.items()}
            text = reason.format_map(texts)
            raise self.make_row_error(row, text, cells.get("topic"), cells.get("doc"))

    def make_row_error(
        self, row: int, reason: str, topic: str | None = None, doc: str | None = None
    ) -> InputError:
        return make_row_error(row, reason, self.source, self.lines, topic, doc)

    def gather(self, rows: pl.Series | NDArray[np.int64]) -> Table:
        """Return rows by index, with their lines."""
        lines = None if self.lines is None else np.asarray(self.lines)[np.asarray(rows)]
        return replace(self, frame=self.frame[rows], lines=lines)


def make_row_error(
    row: int,
    reason: str,
    source: str,
    lines: Sequence[int] | NDArray[np.int64] | None = None,
    topic: str | None = None,
    doc: str | None = None,
) -> InputError:
    """Return an error with the line of a row, or its number if it has no line."""
    reason = reason if lines is not None else f"row {row + 1}: {reason}"
    line = None if lines is None else int(lines[row])
    return InputError(reason, source=source, line=line, topic=topic, doc=doc)


def read_table(data: Any, schema: Schema) -> Table:
    """Read a table from a file, a data frame, rows or a mapping."""
    return read_columns(data, schema).make_table(schema)


_MISSING_TEXTS = ["None", "NaN", "nan", "null", "NULL", "<NA>", "NaT"]
"""Texts that other programs write for a missing value."""

_TEXT_COLUMNS = {"query", "text", "title", "snippet", "grade"}
"""Columns that contain text or grades instead of ids."""

_MISSING_IDS = [*_MISSING_TEXTS, "NA", "N/A", "n/a", "#N/A", "-"]
"""Texts for a missing id. Logs have other texts for missing users."""


def _warn_of_equal_ids(ids: pl.Series, noun: str, source: str, is_topic: bool) -> None:
    """Warn of two ids that may be the same, such as `3` and `3.0`, or topics `3` and `003`."""
    # Documents and tags may be numbered with and without leading zeros.
    pattern = r"^(\d+\.0|0+\d+)$" if is_topic else r"^\d+\.0$"
    unusual_ids = ids.filter(ids.str.contains(pattern).fill_null(False)).unique().sort()
    integers = unusual_ids.str.replace(r"\.0$", "").str.replace(r"^0+(\d)", "${1}")
    is_pair = integers.is_in(ids.implode()) if len(unusual_ids) else integers.is_null()
    if is_pair.any():
        integer, variant = (quote(texts.filter(is_pair)[0]) for texts in (integers, unusual_ids))
        change = f"if they are the same {noun}, write {integer} for {variant}"
        warn(f"{source}: {noun} {integer} and {noun} {variant} are read as different ids; {change}")


_ARRAY = r"""\[.*['",].*\]"""


def _check_lists(
    ids: pl.Series, noun: str, source: str, lines: Sequence[int] | NDArray[np.int64] | None
) -> None:
    """Refuse ids that are arrays, and warn of ids that may list several documents.

    A list of groups is refused if each of them occurs as a group of its own.
    """
    groups = {*ids.unique()} if noun == "group" else set[str]()
    separator = r"[;|,]" if groups else r"\d\s*[;|,]"
    rows = ids.str.contains(f"^{_ARRAY}$|{separator}").fill_null(False).arg_true()[:_MAX_CHECKED]
    for row, text in zip(rows, ids[rows], strict=True):
        parts = re.split(r"\s*[;|,]\s*", text)
        forms = [re.sub(r"\d+", "0", re.sub(r"[A-Za-z]+", "a", part)) for part in parts]
        if re.fullmatch(_ARRAY, text) or {*parts} <= groups:
            reason = f"expected one {noun}, got the list {quote(text)}; write a row per {noun}"
            raise make_row_error(int(row), reason, source, lines)
        if not groups and "0" in forms[0] and {*forms} == {forms[0]}:
            reason = f"{quote(text)} may be the ids of several documents"
            warn(f"{source}: {reason}; if so, write a row for each document")
            return


def convert_columns(
    cells: Mapping[str, Cells],
    schema: Schema,
    source: str,
    lines: Sequence[int] | NDArray[np.int64] | None = None,
    *,
    allows_empty: bool = False,
) -> Table:
    """Convert the columns to the types of the schema; refuse the first invalid row."""
    series_by_name = {}
    for column in schema.columns:
        if column.name not in cells:
            continue
        noun, column_cells = column.noun or column.name, cells[column.name]
        series, bad_row = column.kind.convert_column(column.name, column_cells)
        if bad_row is not None:
            topics = cells.get("topic") if column.name != "topic" else None
            topic = None if topics is None else str(topics[bad_row])
            try:
                cell = column_cells[bad_row]
            except (ValueError, OverflowError) as error:
                # For a time beyond the range of Python dates.
                cell = str(error)
            reason = column.kind.describe_invalid(noun, cell)
            raise make_row_error(bad_row, reason, source, lines, topic)
        is_id = column.name not in _TEXT_COLUMNS | {"user"}
        missing_texts = _MISSING_IDS if is_id else _MISSING_TEXTS
        is_text = series.dtype == pl.String
        if is_text and (is_missing_text := series.is_in(missing_texts)).any():
            texts = series.filter(is_missing_text).unique(maintain_order=True)
            quoted_texts = list_some(map(quote, texts), 3)
            place = f"in {inflect(int(is_missing_text.sum()), 'row')}"
            warn(f"{source}: {noun} {quoted_texts} {place} is read as text, not as missing")
        if is_text and column.name not in _TEXT_COLUMNS:
            _warn_of_equal_ids(series, noun, source, column.name == "topic")
        if is_text and column.name in {"doc", "group"}:
            _check_lists(series, "group" if column.name == "group" else "document", source, lines)
        series_by_name[column.name] = series
    height = max((len(series) for series in series_by_name.values()), default=0)
    if not height and not allows_empty:
        raise schema.make_empty_error(source)
    null_columns = [
        pl.lit(None, column.kind.dtype).alias(column.name)
        for column in schema.columns
        if column.name not in series_by_name
    ]
    frame = pl.DataFrame(series_by_name).with_columns(null_columns)
    frame = frame.select(column.name for column in schema.columns)
    table = Table(frame, source, tuple(series_by_name), lines)
    table.check(schema.suspicions)
    return table
