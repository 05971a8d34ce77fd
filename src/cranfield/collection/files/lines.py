"""Read files with one row per line, by a fast CSV reader if possible.

A chunk whose fields are separated by one blank each goes to the CSV reader; other chunks are
normalised first, or read line by line. If the CSV reader cannot read a value, the chunk is read
again line by line, which is slow, but gives the exact reason. Chunks are read in several threads;
the first error in the file is reported.

Judgments of NTCIR have grades L0, L1, L2 and so on, and fields separated by blanks or, if document
ids may contain blanks, by semicolons. A line is one of

- topic, document, grade;
- topic, intent, document, grade: intent 0 is for documents that are relevant to no intent;
- topic, document, grade, equivalence class: with semicolons, or if the format is set.

The first line decides, and all other lines must have the same layout. A line of a run has the six
fields of TREC, separated by semicolons. Runs are ranked by score here, and by the order of lines in
NTCIREVAL: `ties="file"` of :func:`cranfield.judge` keeps the order of lines.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from io import BytesIO
from itertools import islice
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.errors import InputError, quote, warn
from cranfield.base.parallel import Part, count_threads, iterate_results
from cranfield.base.text import inflect
from cranfield.collection.files.grade_maps import describe_invalid_grade
from cranfield.collection.metadata.reading import MetadataLocation, find_header
from cranfield.collection.pairs import warn_of_ungraded
from cranfield.collection.policies import JUDGMENT_FORMATS
from cranfield.sources.chunks import LineMap, Source, check_skipped
from cranfield.sources.schemas import FileColumn, fold_name
from cranfield.sources.values import (
    ID,
    NO_GRADE,
    NUMBER,
    is_absent,
    is_number,
    parse_integer,
    parse_integral_number,
)

_TEXT: type[pl.DataType] = pl.String
_INTEGER: type[pl.DataType] = pl.Int32
_NUMBER: type[pl.DataType] = pl.Float64

Q0 = ("0", "Q0")
"""Usual values of the second column of TREC judgments.

A line of three columns with one of them in the second column lacks the grade.
"""


@dataclass(frozen=True)
class Layout:
    """The columns of a format.

    kind: `run`, `qrels`, or the format of the judgments, for messages.
    columns: the type of each column, by name.
    selected_columns: names of the columns that are read; by default all.
    optional_columns: columns whose values may be invalid, and are then null.
    allows_more_columns: whether lines may have further columns, which are ignored.
    separator: `tab`, `blank`, `auto` (detected for each line) or `;`.
    allows_missing_grades: whether the grade, the last column, may be missing or empty.
    has_levels: whether grades are L0, L1, and so on.
    """

    kind: str
    columns: dict[str, type[pl.DataType]]
    selected_columns: tuple[str, ...] = ()
    optional_columns: frozenset[str] = frozenset()
    allows_more_columns: bool = False
    separator: str = "auto"
    allows_missing_grades: bool = False
    has_levels: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "selected_columns", self.selected_columns or tuple(self.columns))

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        return {name: self.columns[name] for name in self.selected_columns}


RUN = Layout(
    "run",
    {"topic": _TEXT, "q0": _TEXT, "doc": _TEXT, "rank": _INTEGER, "score": _NUMBER, "tag": _TEXT},
    selected_columns=("topic", "doc", "rank", "score", "tag"),
    optional_columns=frozenset({"rank"}),
    allows_more_columns=True,
)
QRELS = Layout("qrels", {"topic": _TEXT, "subtopic": _TEXT, "doc": _TEXT, "grade": _INTEGER})
SHORT_RUN = Layout("run", {"topic": _TEXT, "doc": _TEXT, "value": _NUMBER})
"""A run of topic, document and number: the rank, as in MS MARCO, or the score."""

SHORT_QRELS = Layout("qrels", {"topic": _TEXT, "doc": _TEXT, "grade": _INTEGER})
PAIRS = Layout("qrels", {"topic": _TEXT, "doc": _TEXT})
"""Pairs of a topic and a relevant document, as in the reference files of MS MARCO."""

_TYPES: dict[type | None, type[pl.DataType]] = {int: _INTEGER, float: _NUMBER}

QRELS_FORMATS = {
    name: Layout(
        name,
        {column: _TYPES.get(dtype, _TEXT) for column, dtype in columns.items()},
        selected_columns=tuple(c for c, dtype in columns.items() if dtype is not None),
    )
    for name, columns in JUDGMENT_FORMATS.items()
}
"""Formats of judgments only, by name."""

_LETOR = re.compile(r"\s*(\S+)\s+qid:(\S+)\s*([^#]*?)\s*#\s*(?:docid\s*=\s*)?(\S+)")
"""A line of LETOR, RankLib or Quepid: grade, topic, features, and the document as a comment."""

_LEVEL = re.compile(r"L\d+", re.ASCII)
BLANKS = " \t\v\f\r"
"""ASCII blanks, which separate fields."""


def is_level(text: str) -> bool:
    """Return True for a grade of NTCIR: L0, L1, L2 and so on."""
    return _LEVEL.fullmatch(text.strip(BLANKS)) is not None


def iterate_text_lines(chunk: bytes, first_line: int = 1) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are neither empty nor comments, with their numbers."""
    # Lines that the caller does not need are not split off.
    for number, line in enumerate(BytesIO(chunk), first_line):
        if (bare := line.lstrip()) and not bare.startswith(b"#"):
            yield number, line.removesuffix(b"\n")


def split_at_blanks(line: str) -> list[str]:
    """Split a line at ASCII blanks; blanks of other scripts belong to ids."""
    return [field.decode() for field in line.encode().split()]


_NTCIR_RUN = replace(RUN, separator=";", allows_more_columns=False)
_NTCIR_CLASSES = ("topic", "doc", "grade", "class")
_NTCIR_QRELS = (("topic", "doc", "grade"), ("topic", "intent", "doc", "grade"), _NTCIR_CLASSES)


def detect_ntcir_layout(line: str, kind: str) -> Layout | None:
    """Detect NTCIR text by its first line; return None for other lines, and if uncertain."""
    if kind == "qrels":
        layout = _detect_ntcir_qrels_layout(line)
        # In a line of TREC text, L1 may be a document id rather than a grade before a class.
        is_certain = layout is not None and (
            layout.separator == ";" or layout.selected_columns != _NTCIR_CLASSES
        )
        return layout if is_certain else None
    fields, words = line.split(";"), split_at_blanks(line)
    is_trec = len(words) >= len(RUN.columns) and is_number(words[4])
    is_ntcir = len(fields) == len(RUN.columns) and is_number(fields[4].strip()) and not is_trec
    return _NTCIR_RUN if is_ntcir else None


def get_ntcir_layout(line: str, kind: str, source: str, line_number: int) -> Layout:
    """Return the layout of a file for `format="ntcir"`."""
    if kind == "run":
        return _NTCIR_RUN
    # An empty file gets a layout, so that it is reported as empty.
    if layout := _detect_ntcir_qrels_layout(line or "topic doc L0"):
        return layout
    fields = line.split(";") if ";" in line else split_at_blanks(line)
    reason = (
        "expected 3 columns (topic doc grade) or 4 (topic intent doc grade, or topic doc grade"
        f" class) in an NTCIR qrels line, got {len(fields)}"
    )
    if len(fields) in {3, 4}:
        reason = f"grade must be L0, L1, L2, ..., got {quote(fields[-1])}"
    raise InputError(reason, source=source, line=line_number)


def _detect_ntcir_qrels_layout(line: str) -> Layout | None:
    for separator in (";", "blank"):
        fields = line.split(";") if separator == ";" else split_at_blanks(line)
        for names in _NTCIR_QRELS:
            if len(fields) == len(names) and is_level(fields[names.index("grade")]):
                columns = dict.fromkeys(names, _TEXT) | {"grade": _INTEGER}
                return Layout("qrels", columns, separator=separator, has_levels=True)
    return None


_QUOTED = re.compile(rb'(?<!\S)"([^"\t\n]+)"(?!\S)')

_HEAD_BYTES = 1 << 16
"""Maximum number of bytes before the first line with text."""

_HEAD_LINES = 3
"""Number of lines with text from which the layout is detected."""

_SMALL_HEAD = 1 << 10
"""Number of bytes to which a head of fewer than `_HEAD_LINES` lines grows; chunks may be small."""


def detect_layout(
    source: Source,
    form: str,
    kind: str,
    separator: str = "auto",
    ungraded: str = "error",
    parse_grade: Callable[[str], int | None] | None = None,
) -> tuple[Source, Layout | None]:
    """Detect the layout of a file of lines; None for files with named columns.

    Also return the source, rewound to its start. The format `form` is `trec`, `ntcir`, `prels`,
    `xqrels`, `text` or `tsv`; for the last two, the first lines decide, as TSV may have no header.
    The kind is `qrels` or `run`. If grades are mapped, `parse_grade` returns the grade of a text.
    """
    default_layout = RUN if kind == "run" else QRELS
    layout = {"trec": default_layout, **QRELS_FORMATS}.get(form)
    table_source = source
    if layout is not None or form in {"text", "tsv", "ntcir"}:
        table_source, head = read_head(source)
        source, head = _remove_quotes(table_source, head)
    if form in {"text", "tsv", "ntcir"}:
        number, line = next(iterate_text_lines(head[:_HEAD_BYTES]), (1, b""))
        text = line.decode("utf-8" if form == "ntcir" else "latin-1", "replace")
        if form == "ntcir":
            return source, get_ntcir_layout(text, kind, source.name, number)
        if form == "text" and (layout := detect_ntcir_layout(text, kind)):
            return source, layout
        if form == "text" and kind == "qrels" and re.match(r"\s*\S+\s+qid:", text):
            source, layout, separator = _convert_letor(source), SHORT_QRELS, "tab"
        separator = "tab" if form == "tsv" and separator == "auto" else separator
        layout = layout or _detect_head_layout(head, text, kind, separator, parse_grade)
        if layout is not None:
            comments = re.findall(rb"(?m)^#[^\s#][^\n]*", head) if b"#" in head else []
            lines = (line.decode("latin-1") for line in comments)
            layouts = (_detect_line_layout(line, kind, separator, parse_grade) for line in lines)
            if n_rows := sum(other is layout for other in layouts):
                warn(
                    f"{source.name}: skipped comments (lines with # at the start), including"
                    f" {inflect(n_rows, 'line')} with the columns of a {layout.kind} line"
                )
        layout = layout or (default_layout if form == "text" else None)
    if layout is None:
        return table_source, None
    allows_missing_grades = ungraded == "drop" and layout is QRELS and parse_grade is None
    return source, replace(
        layout,
        columns=layout.columns | ({} if parse_grade is None else {"grade": _TEXT}),
        separator=separator,
        allows_missing_grades=allows_missing_grades,
    )


def _convert_letor(source: Source) -> Source:
    """Convert lines of LETOR text to topic, document and grade between tabs."""
    lines = source.read().split(b"\n")
    for number, line in iterate_text_lines(b"\n".join(lines)):
        text = line.decode("utf-8", "replace")
        if (match := _LETOR.match(text)) is None:
            reason = "expected GRADE qid:TOPIC FEATURES # DOCUMENT in a line of LETOR text, got"
            raise InputError(f"{reason} {quote(text)}", source=source.name, line=number)
        lines[number - 1] = f"{match[2]}\t{match[4]}\t{match[1]}".encode()
    return replace(source, chunks=iter([b"\n".join(lines)]))


def _detect_head_layout(
    head: bytes,
    first_text: str,
    kind: str,
    separator: str,
    parse_grade: Callable[[str], int | None] | None,
) -> Layout | None:
    """Return the layout of the first line, or that of the next two lines if both have another."""
    layout = _detect_line_layout(first_text, kind, separator, parse_grade)
    if layout is None:
        return None
    numbered_lines = islice(iterate_text_lines(head[:_HEAD_BYTES]), 1, _HEAD_LINES)
    lines = [line.decode("latin-1") for _, line in numbered_lines]
    next_layouts = [_detect_line_layout(line, kind, separator, parse_grade) for line in lines]
    is_same = len(next_layouts) == 2 and next_layouts[0] is next_layouts[1]
    return (next_layouts[0] if is_same else None) or layout


def _detect_line_layout(
    line: str, kind: str, separator: str, parse_grade: Callable[[str], int | None] | None
) -> Layout | None:
    """Return the layout of a line of topic and document (and value), or of a line of TREC text."""
    by_tabs = [field.strip(BLANKS) for field in line.split("\t")]
    cells = by_tabs
    if separator == "blank" or (separator == "auto" and (len(by_tabs) != 3 or "" in by_tabs)):
        cells = split_at_blanks(line)

    def is_value(position: int) -> bool:
        text = cells[position]
        if kind == "run":
            return is_number(text)
        return (parse_grade or parse_integral_number)(text) is not None

    if kind == "run":
        if len(cells) == 3 and is_value(2):
            return SHORT_RUN
        return RUN if len(cells) >= 6 and is_value(4) else None
    # Between tabs, an empty topic or document is a column, too.
    lacks_id = separator != "blank" and len(by_tabs) == 4 and not (by_tabs[0] and by_tabs[2])
    if len(cells) == 3 and is_value(2) and cells[1] not in Q0 and not lacks_id:
        return SHORT_QRELS
    if len(cells) == 4 and is_value(3):
        return QRELS
    names = {
        fold_name(name) for column in ("topic", "doc") for name in FileColumn(column, ID).names
    }
    is_pair = len(by_tabs) == 2 and "" not in by_tabs and by_tabs[1] not in Q0
    # The first line of a table without grades may be its header.
    is_pair &= (
        parse_grade is None and separator != "blank" and not names & {*map(fold_name, by_tabs)}
    )
    return PAIRS if is_pair else None


def read_head(source: Source, removes_quotes: bool = False) -> tuple[Source, bytes]:
    """Read the head of a file, its first lines with text; the returned source includes it."""

    def is_complete(head: bytes) -> bool:
        n_lines = len([*islice(iterate_text_lines(head), _HEAD_LINES)])
        return n_lines == _HEAD_LINES or len(head) >= (_SMALL_HEAD if n_lines else _HEAD_BYTES)

    chunks = source.iterate_chunks()
    head = next(chunks, b"")
    while not is_complete(head) and (chunk := next(chunks, b"")):
        head += chunk
    source = replace(source, chunks=_put_first(head, chunks) if head else chunks)
    return _remove_quotes(source, head) if removes_quotes else (source, head)


def _remove_quotes(source: Source, head: bytes) -> tuple[Source, bytes]:
    """Remove quotation marks around fields, as R's write.table writes, if all lines have them."""
    lines = [line for _, line in islice(iterate_text_lines(head[:_HEAD_BYTES]), _HEAD_LINES)]
    rows = [line.split(b"\t" if b"\t" in line else None) for line in lines]
    positions = {tuple(k for k, text in enumerate(row) if _QUOTED.fullmatch(text)) for row in rows}
    if len(positions) != 1 or () in positions:
        return source, head

    def iterate_chunks() -> Iterator[bytes]:
        for chunk in source.iterate_chunks():
            text = _QUOTED.sub(rb"\1", chunk)
            if b'"' in text:
                reason = "has quotation marks around some fields, and within others; remove them"
                raise InputError(f"{reason} (in R, quote = FALSE)", source=source.name)
            yield text

    return replace(source, chunks=iterate_chunks()), _QUOTED.sub(rb"\1", head)


def _put_first(first: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the first chunk, and then the others; closing this closes `chunks`, too."""
    yield first
    yield from chunks


def blank_out_header(source: Source) -> tuple[Source, MetadataLocation]:
    """Replace the header of a run by empty lines, which keep line numbers; return its location."""
    unread_source, head = read_head(source)
    header = find_header(head, source.name)
    location = MetadataLocation(header, source.path)
    if header is None or header.is_commented:
        return unread_source, location
    chunks = unread_source.iterate_chunks()
    next(chunks)
    return replace(source, chunks=_put_first(header.blank_out(head), chunks)), location


_COMMENT = re.compile(rb"(?m)^[ \t\v\f\r]*#[^\n]*")
_BLANK_BYTES = BLANKS.encode()
_TO_SPACES = bytes.maketrans(_BLANK_BYTES, b" " * len(_BLANK_BYTES))

_BLOCK = 1 << 17
"""Number of bytes processed at a time, so that they fit into the processor's cache."""

_JOINED_LINES_HINT = "; two lines may be joined, as in files concatenated without a line end"

HEADER_HINT = "remove the header, which TREC text does not have"
_TSV_HINT = ", or use the suffix .tsv if tabs separate the columns"
_TOPIC_NAMES = frozenset(map(fold_name, FileColumn("topic", ID).names))

_UNSUPPORTED = (BOM_UTF8, b"x\x01", b"x^")
"""Beginnings of text that the CSV reader interprets: byte order marks, and zlib data."""


def detect_separator(chunk: bytes) -> str | None:
    """Detect the separator of text with single separators and no lines of comments, else None."""
    return _detect_separator_and_blanks(chunk)[0]


def _detect_separator_and_blanks(chunk: bytes) -> tuple[str | None, int]:
    """Detect the separator, and count the bytes that are blanks or control characters."""
    head = chunk[: chunk.find(b"\n") + 1] or chunk
    separator = b"\t" if b"\t" in head else b" "
    if any(bytes((blank,)) in chunk for blank in _BLANK_BYTES if blank != separator[0]):
        return None, 0
    has_comments = b"#" in chunk and (chunk.startswith(b"#") or b"\n#" in chunk)
    if has_comments or chunk.endswith(separator):
        return None, 0
    data = np.frombuffer(chunk, np.uint8)
    if data.size and data[0] <= ord(" "):
        return None, 0
    n_blanks = 0
    for start in range(0, data.size, _BLOCK):
        is_blank = data[start : start + _BLOCK + 1] <= ord(" ")
        n_blanks += int(np.count_nonzero(is_blank[:_BLOCK]))
        # A blank at the beginning or end of a line is one of two adjacent bytes, as in '  '.
        if (is_blank[1:] & is_blank[:-1]).any():
            return None, 0
    return separator.decode(), n_blanks


def has_tab_columns(text: bytes, width: int) -> bool:
    """Return True if all lines have `width` non-empty columns between tabs, without `#`."""
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    if data.size and data[-1] != ord("\n"):
        ends = np.append(ends, data.size)
    widths = np.diff(np.searchsorted(np.flatnonzero(data == ord("\t")), ends), prepend=0) + 1
    patterns = (b"\t\t", b"\t \t", b"\n\t", b"\t\n", b"\r", b"#")
    return bool((widths == width).all()) and not any(pattern in text for pattern in patterns)


def _collapse_blanks(chunk: bytes) -> tuple[bytes, NDArray[np.int64] | None]:
    """Collapse blanks; also return the indices of remaining lines, or None if all remain."""
    text = (_COMMENT.sub(b"", chunk) if b"#" in chunk else chunk).translate(_TO_SPACES)
    while b"  " in text:
        text = text.replace(b"  ", b" ")
    text = text.replace(b" \n", b"\n").replace(b"\n ", b"\n").strip(b" ")
    if text and not text.startswith(b"\n") and b"\n\n" not in text:
        return text, None
    lines = text.split(b"\n")
    numbers = np.array([number for number, line in enumerate(lines) if line], dtype=np.int64)
    return b"\n".join(filter(None, lines)), numbers


@dataclass(frozen=True)
class Chunk:
    """Rows parsed from a chunk of lines.

    frame: the columns that were read.
    row_lines: line of each row, from 0 for the first line of the chunk; None if no line is skipped.
    n_lines: number of lines.
    width: number of columns of the lines; undefined without rows.
    n_dropped: number of rows without a grade, which are not in the frame.
    """

    frame: pl.DataFrame
    row_lines: NDArray[np.int64] | None
    n_lines: int
    width: int
    n_dropped: int = 0


def read_chunk(
    chunk: bytes, layout: Layout, *, source: str, first_line: int, width: int = 0
) -> Chunk:
    """Parse lines of UTF-8 text; `width` is the number of columns of earlier lines, 0 if none."""
    (separator, n_blanks), row_lines = _detect_separator_and_blanks(chunk), None
    n_columns = len(layout.columns)
    frame = None
    if _suits_csv_reader(chunk, separator, layout):
        text, row_lines = (chunk, None) if separator else _collapse_blanks(chunk)
        frame = None if text.startswith(_UNSUPPORTED) else _read_csv(text, layout, separator or " ")
        # The CSV reader ignores further columns unless it reads all; the line reader checks them.
        if frame is not None and len(layout.selected_columns) < n_columns:
            if separator is None:
                n_blanks = int(np.count_nonzero(np.frombuffer(text, np.uint8) <= ord(" ")))
            n_expected = n_columns * frame.height - (len(text) > 0 and not text.endswith(b"\n"))
            frame = frame if n_blanks == n_expected else None
    if frame is None:
        frame, row_lines, n_columns = parse_lines(
            chunk, layout, source=source, first_line=first_line, width=width
        )
        row_lines -= first_line
    n_rows = frame.height
    n_lines = n_rows if row_lines is None else chunk.count(b"\n")
    if layout.allows_missing_grades:
        has_grade = frame["grade"].is_not_null()
        row_lines = np.arange(n_rows) if row_lines is None else row_lines
        row_lines = row_lines[has_grade.to_numpy()]
        frame = frame.filter(has_grade)
    return Chunk(frame, row_lines, n_lines, n_columns, n_dropped=n_rows - frame.height)


def _suits_csv_reader(chunk: bytes, separator: str | None, layout: Layout) -> bool:
    """Return True if the CSV reader can split the lines, at least after blanks are collapsed.

    `separator` is that of :func:`detect_separator`.
    """
    if layout.separator == ";":
        return False
    if separator is not None:
        return layout.separator != "tab" or separator == "\t"
    # After a lone carriage return, the next line would be taken for further columns, which are
    # ignored. Carriage returns are rare, and a count is far slower than a search.
    if layout.allows_more_columns and b"\r" in chunk and chunk.count(b"\r") > chunk.count(b"\r\n"):
        return False
    if layout.separator == "tab":
        return False
    return layout.separator == "blank" or not (b"\t" in chunk and b" " in chunk)


def _read_csv(text: bytes, layout: Layout, separator: str) -> pl.DataFrame | None:
    """Parse normalised text, or return None if a value is missing or may be invalid."""
    if not text:
        return pl.DataFrame(schema=layout.schema)
    names = list(layout.columns)
    options: dict[str, Any] = {
        "has_header": False,
        "separator": separator,
        "quote_char": None,
        "schema": layout.columns,
        "columns": [names.index(name) for name in layout.selected_columns],
        "truncate_ragged_lines": layout.allows_more_columns,
    }
    try:
        # Most files have no invalid value, and ignore_errors is slower.
        try:
            frame = pl.read_csv(text, **options)
        except pl.exceptions.PolarsError:
            frame = pl.read_csv(text, **options, ignore_errors=True)
    except pl.exceptions.PolarsError:
        return None
    required = [name for name in layout.selected_columns if name not in layout.optional_columns]
    if any(frame[name].null_count() for name in required):
        return None
    numbers = (frame[name] for name, dtype in layout.schema.items() if dtype == pl.Float64)
    return frame if all(np.isfinite(values.to_numpy()).all() for values in numbers) else None


def read_frames(source: Source, layout: Layout, lines: LineMap) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file by chunk, to bound memory; record line numbers in `lines`."""
    return read_chunks(source, layout, lines, lambda frame: frame)


def read_chunks(
    source: Source, layout: Layout, lines: LineMap, convert: Callable[[pl.DataFrame], Part]
) -> Iterator[Part]:
    """Yield the rows of a file by chunk, converted in the thread that reads the chunk."""

    def parse(data: bytes) -> tuple[int, tuple[Chunk, Part] | bytes]:
        try:
            text = source.as_utf8(data, 0)
            chunk = read_chunk(text, layout, source=source.name, first_line=0)
            return len(data), (chunk, convert(chunk.frame))
        except InputError:
            # The number of the line is only known when the previous chunks have been read.
            return len(data), data

    first_line, skipped_bytes, width, n_dropped = 1, 0, 0, 0
    chunks = source.iterate_chunks()
    # After an error, the file is closed here, not when the garbage collector finds its reader.
    with closing(chunks), closing(iterate_results(parse, chunks, count_threads())) as results:
        for size, parsed in results:
            if isinstance(parsed, tuple):
                (chunk, part), error = parsed, None
            else:
                text, error = _decode(parsed, source, first_line)
                chunk = read_chunk(
                    text, layout, source=source.name, first_line=first_line, width=width
                )
                part = convert(chunk.frame)
            n_rows = chunk.frame.height
            lines.add(n_rows, first_line, chunk.row_lines)
            if n_rows and width not in {0, chunk.width}:
                raise _make_ragged_error(
                    width, chunk.width, source.name, lines[len(lines) - n_rows]
                )
            if error is not None:
                raise error
            first_line += chunk.n_lines
            n_dropped += chunk.n_dropped
            skipped_bytes = 0 if n_rows or chunk.n_dropped else skipped_bytes + size
            check_skipped(skipped_bytes, source.name)
            if n_rows:
                width = chunk.width
                yield part
    if layout.allows_missing_grades and len(lines) + n_dropped:
        warn_of_ungraded(source.name, n_dropped, len(lines) + n_dropped)
    elif not width:
        raise InputError("is empty; expected at least one line", source=source.name)


def _decode(data: bytes, source: Source, first_line: int) -> tuple[bytes, InputError | None]:
    """Decode a chunk to UTF-8; if a line is invalid, return the lines above it, and the error."""
    try:
        return source.as_utf8(data, first_line), None
    except InputError as error:
        valid_lines = data.split(b"\n")[: (error.line or 0) - first_line]
        return source.as_utf8(b"\n".join([*valid_lines, b""])), error


def parse_lines(
    chunk: bytes, layout: Layout, *, source: str, first_line: int, width: int = 0
) -> tuple[pl.DataFrame, NDArray[np.int64], int]:
    """Parse text line by line; return the rows, the line of each row, and the width of lines."""
    values: dict[str, list[object]] = {name: [] for name in layout.selected_columns}
    numbers: list[int] = []
    for number, line in iterate_text_lines(chunk, first_line):
        try:
            fields = _split_fields(line.decode().strip(" \v\f\r"), layout)
            if layout.allows_missing_grades and _lacks_grade(fields, layout):
                fields.append("")
            _check_width(fields, layout)
            if len(fields) > len(layout.columns) and b"\r" in line.strip():
                reason = f"a carriage return within a line of {len(fields)} columns"
                raise InputError(f"{reason}; convert line ends to LF")
            if width not in {0, len(fields)}:
                raise _make_ragged_error(width, len(fields), source, number)
            width = len(fields)
            if width > len(layout.columns) and layout.separator == "auto":
                _check_further_columns(fields, layout)
            row = dict(zip(layout.columns, fields, strict=False))
            for name in layout.selected_columns:
                values[name].append(_parse_value(row, name, layout))
        except InputError as error:
            location = {"source": source, "topic": error.topic, "doc": error.doc}
            raise InputError(error.reason, line=number, **location) from None
        numbers.append(number)
    return pl.DataFrame(values, schema=layout.schema), np.array(numbers, dtype=np.int64), width


def _split_fields(line: str, layout: Layout) -> list[str]:
    """Split a line; by default at tabs if these give the expected columns, else at any blanks."""
    if layout.separator == ";":
        return line.rstrip(BLANKS).split(";")
    width, by_blanks = len(layout.columns), split_at_blanks(line)
    by_tabs = [field.strip(BLANKS) for field in line.split("\t")]
    if layout.allows_more_columns and len(by_tabs) >= width:
        # A tag ends at its first blank, as in trec_eval.
        by_tabs[width - 1] = by_tabs[width - 1].partition(" ")[0]
    if layout.separator == "tab":
        if len(by_tabs) >= width and "" not in by_tabs[:width]:
            return by_tabs
        got = str(len(by_tabs))
        if len(by_tabs) >= width:
            got = f"an empty {list(layout.columns)[by_tabs.index('')]}"
        raise InputError(f"expected {width} columns separated by tabs, got {got}")
    has_width = len(by_tabs) == width or (layout.allows_more_columns and len(by_tabs) > width)
    if layout.separator == "blank" or not has_width:
        return by_blanks
    if "" not in by_tabs[:width]:
        return by_tabs
    positions = [k for k, dtype in enumerate(layout.columns.values()) if dtype == pl.Float64]
    if len(by_tabs) == width == len(by_blanks) and all(is_number(by_tabs[k]) for k in positions):
        raise InputError(
            f"expected {width} columns, got {width} between tabs (one of them empty) and also"
            f" {width} between blanks; set separator='tab' or separator='blank'"
        )
    return by_blanks


def _check_further_columns(fields: list[str], layout: Layout) -> None:
    """Refuse further columns if an id with blanks, or two lines in one, may be the cause."""
    if parse_integer(fields[3]) is None:
        cause = f"; the 4th column, {quote(fields[3])}, is not a rank"
    elif parse_integer(fields[-3]) is not None and is_number(fields[-2]):
        cause = "; an id or tag may have blanks, or two lines may be joined"
    else:
        return
    raise InputError(
        f"expected {len(layout.columns)} columns ({' '.join(layout.columns)}), got {len(fields)}"
        f" separated by blanks{cause}; ids with blanks require tabs between columns"
        " (separator='tab'), and separator='blank' ignores the further columns"
    )


def _make_ragged_error(expected_width: int, width: int, source: str, line: int) -> InputError:
    reason = f"expected {expected_width} columns as in the previous lines, got {width}"
    return InputError(reason + _JOINED_LINES_HINT, source=source, line=line)


def _lacks_grade(fields: list[str], layout: Layout) -> bool:
    """Return True for a line of judgments without a grade: topic, 0, document."""
    return "subtopic" in layout.columns and len(fields) == 3 and fields[1] in Q0


def _detect_judgment_format(fields: list[str]) -> str | None:
    """Return the format of sampled judgments whose columns have the types of the fields."""
    for form, columns in JUDGMENT_FORMATS.items():
        pairs = [*zip(fields, columns.values(), strict=False)]
        if (
            len(fields) == len(columns)
            and all(is_number(field) for field, dtype in pairs if dtype is float)
            and all(parse_integer(field) is not None for field, dtype in pairs if dtype is int)
        ):
            return form
    return None


def _check_width(fields: list[str], layout: Layout) -> None:
    width, expected = len(fields), len(layout.columns)
    if width < expected or (width > expected and not layout.allows_more_columns):
        reason = f"expected {expected} columns"
        separation = ", separated by ';'" if layout.separator == ";" else ""
        # The second column of judgments is the iteration, whether or not it holds subtopics.
        columns = " ".join("iteration" if c == "subtopic" else c for c in layout.columns)
        reason += f" ({columns}{separation}) in a {layout.kind} line, got {width}"
        if _lacks_grade(fields, layout):
            reason += "; ungraded='drop' treats documents without a grade as unjudged"
        elif width < expected and sum(field.count(",") for field in fields) > 1:
            reason += "; this looks like CSV: use the suffix .csv or format='csv'"
        elif layout.kind == "qrels" and (form := _detect_judgment_format(fields)):
            reason += f"; this looks like {form}: use format='{form}'"
        elif {*map(fold_name, fields)} & _TOPIC_NAMES:
            reason += f"; {HEADER_HINT}{_TSV_HINT}"
        elif width >= 2 * expected - 1:
            reason += _JOINED_LINES_HINT
        raise InputError(reason, topic=fields[0] if "topic" in list(layout.columns)[:1] else None)


def _parse_value(row: dict[str, str], name: str, layout: Layout) -> Any:
    text, dtype = row[name], layout.columns[name]
    if layout.separator == ";":
        # Ids of documents are compared by character, blanks included.
        text = text if name == "doc" else text.strip(BLANKS)
        if not text:
            raise InputError(f"{name} is empty", topic=row["topic"], doc=row["doc"])
    if dtype == pl.String:
        return text
    if name in layout.optional_columns:
        return parse_integer(text)
    if dtype == pl.Float64:
        number: float | None = float(text) if is_number(text) else None
        reason = NUMBER.describe_invalid(name, text)
        if text.casefold() == name:
            reason += f"; {HEADER_HINT}"
    elif layout.has_levels:
        number = parse_integer(text[1:]) if is_level(text) else None
        reason = f"grade must be L0, L1, L2, ..., got {quote(text)}"
    else:
        number = parse_integral_number(text)
        reason = f"{name} {quote(text)} is {describe_invalid_grade(text)}"
        if not any(map(str.isdigit, "".join(row.values()))):
            advice = "; if the line is a header, remove it"
            reason = reason.removesuffix(advice) + advice + _TSV_HINT
    if number is None and not (layout.allows_missing_grades and is_absent(text, NO_GRADE)):
        raise InputError(reason, topic=row.get("topic"), doc=row["doc"])
    return number
