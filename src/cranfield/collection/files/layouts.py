"""Layouts of lines of text: their columns, and how to detect the layout of a file.

Judgments of NTCIR have grades L0, L1, L2 and so on, and fields separated by blanks or, if documents
are any text, by semicolons. A line is one of

- topic, document, grade;
- topic, intent, document, grade: intent 0 is for documents that are relevant to no intent;
- topic, document, grade, equivalence class: with semicolons, or if the format is set.

The first line decides, and all other lines must have the same layout. A line of a run has the six
fields of TREC, separated by semicolons. Runs are ranked by score here, and by the order of lines in
NTCIREVAL, which may differ for tied scores: `ties="input"` of :func:`cranfield.judge` keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.collection.metadata.reading import MetadataPlace, header_of
from cranfield.collection.policies import OF_QRELS
from cranfield.sources.chunks import Source
from cranfield.sources.schemas import Column, spelt
from cranfield.sources.values import ID, is_number, whole_in

_TEXT: type[pl.DataType] = pl.String
_WHOLE: type[pl.DataType] = pl.Int32
_NUMBER: type[pl.DataType] = pl.Float64

Q0 = ("0", "Q0")
"""Usual second column of TREC judgments, by which lines without a grade are recognised."""


@dataclass(frozen=True)
class Layout:
    """The columns of a format.

    columns, read: the types of all columns by name, and the columns that are read, by default all.
    optional: columns whose values may be invalid.
    allows_more_columns: whether lines may have further columns, which are ignored.
    separator: `tab`, `blank`, `auto` (detected for each line) or `;`.
    allows_missing_grades: whether the grade, the last column, may be missing or empty.
    has_levels: whether grades are L0, L1, and so on.
    """

    kind: str
    columns: dict[str, type[pl.DataType]]
    read: tuple[str, ...] = ()
    optional: frozenset[str] = frozenset()
    allows_more_columns: bool = False
    separator: str = "auto"
    allows_missing_grades: bool = False
    has_levels: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "read", self.read or tuple(self.columns))

    @property
    def schema(self) -> dict[str, type[pl.DataType]]:
        return {name: self.columns[name] for name in self.read}


RUN = Layout(
    "run",
    {"topic": _TEXT, "q0": _TEXT, "doc": _TEXT, "rank": _WHOLE, "score": _NUMBER, "tag": _TEXT},
    read=("topic", "doc", "rank", "score", "tag"),
    optional=frozenset({"rank"}),
    allows_more_columns=True,
)
QRELS = Layout("qrels", {"topic": _TEXT, "subtopic": _TEXT, "doc": _TEXT, "grade": _WHOLE})
SHORT_RUN = Layout("run", {"topic": _TEXT, "doc": _TEXT, "value": _NUMBER})
"""A run of topic, document and number: the rank, as in MS MARCO, or the score."""

SHORT_QRELS = Layout("qrels", {"topic": _TEXT, "doc": _TEXT, "grade": _WHOLE})
PAIRS = Layout("qrels", {"topic": _TEXT, "doc": _TEXT})
"""Pairs of a topic and a relevant document, as in the reference files of MS MARCO."""

_TYPES: dict[type | None, type[pl.DataType]] = {int: _WHOLE, float: _NUMBER}

QRELS_FORMATS = {
    name: Layout(
        name,
        {column: _TYPES.get(dtype, _TEXT) for column, dtype in columns.items()},
        read=tuple(column for column, dtype in columns.items() if dtype is not None),
    )
    for name, columns in OF_QRELS.items()
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


def lines_with_text(chunk: bytes, first_line: int = 1) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are neither empty nor comments, with their numbers."""
    for number, line in enumerate(chunk.split(b"\n"), first_line):
        if (bare := line.lstrip()) and not bare.startswith(b"#"):
            yield number, line


def split_at_blanks(line: str) -> list[str]:
    """Split a line at ASCII blanks; blanks of other scripts belong to ids."""
    return [field.decode() for field in line.encode().split()]


_NTCIR_RUN = replace(RUN, separator=";", allows_more_columns=False)
_CLASSES = ("topic", "doc", "grade", "class")
_JUDGMENTS = (("topic", "doc", "grade"), ("topic", "intent", "doc", "grade"), _CLASSES)


def detect_ntcir_layout(line: str, kind: str) -> Layout | None:
    """Detect NTCIR text by its first line; return None for other lines, and if uncertain."""
    if kind == "qrels":
        layout = _ntcir_judgments(line)
        # In a line of TREC text, L1 may be a document id rather than a grade before a class.
        is_certain = layout is not None and (layout.separator == ";" or layout.read != _CLASSES)
        return layout if is_certain else None
    fields, words = line.split(";"), split_at_blanks(line)
    is_trec = len(words) >= len(RUN.columns) and is_number(words[4])
    is_ntcir = len(fields) == len(RUN.columns) and is_number(fields[4].strip()) and not is_trec
    return _NTCIR_RUN if is_ntcir else None


def ntcir_layout(line: str, kind: str, source: str, number: int) -> Layout:
    """Return the layout of a file for `format="ntcir"`."""
    if kind == "run":
        return _NTCIR_RUN
    # An empty file gets a layout, so that it is reported as empty.
    if layout := _ntcir_judgments(line or "topic doc L0"):
        return layout
    fields = line.split(";") if ";" in line else split_at_blanks(line)
    reason = (
        "expected 3 columns (topic doc grade) or 4 (topic intent doc grade, or topic doc grade"
        f" class) in an NTCIR qrels line, got {len(fields)}"
    )
    if len(fields) in {3, 4}:
        reason = f"grade {quoted(fields[-1])} is not L0, L1, L2 and so on"
    raise InputError(reason, source=source, line=number)


def _ntcir_judgments(line: str) -> Layout | None:
    for separator in (";", "blank"):
        fields = line.split(";") if separator == ";" else split_at_blanks(line)
        for names in _JUDGMENTS:
            if len(fields) == len(names) and is_level(fields[names.index("grade")]):
                columns = dict.fromkeys(names, _TEXT) | {"grade": _WHOLE}
                return Layout("qrels", columns, separator=separator, has_levels=True)
    return None


_HEAD_BYTES = 1 << 16
"""Maximum number of bytes before the first line with text."""


def detect_layout(
    source: Source,
    form: str,
    kind: str,
    separator: str = "auto",
    ungraded: str = "error",
    grade: Callable[[str], int | None] | None = None,
) -> tuple[Source, Layout | None]:
    """Detect the layout of a file of lines; None for files with named columns.

    Also returns the source, rewound to its start. The format `form` is `trec`, `ntcir`, `prels`,
    `xqrels`; or `text` or `tsv`, whose first line gives the layout, as TSV may have no header. The
    kind is `qrels` or `run`. If grades are mapped, `grade` returns the grade of a text.
    """
    default = RUN if kind == "run" else QRELS
    layout = {"trec": default, **QRELS_FORMATS}.get(form)
    if form in {"text", "tsv", "ntcir"}:
        source, head = read_head(source)
        number, line = next(lines_with_text(head[:_HEAD_BYTES]), (1, b""))
        text = line.decode("utf-8" if form == "ntcir" else "latin-1", "replace")
        if form == "ntcir":
            return source, ntcir_layout(text, kind, source.name, number)
        if form == "text" and (layout := detect_ntcir_layout(text, kind)):
            return source, layout
        if form == "text" and kind == "qrels" and re.match(r"\s*\S+\s+qid:", text):
            source, layout, separator = _letor_as_tsv(source), SHORT_QRELS, "tab"
        separator = "tab" if form == "tsv" and separator == "auto" else separator
        layout = layout or _layout_of_line(text, kind, separator, grade)
        layout = layout or (default if form == "text" else None)
    if layout is None:
        return source, None
    allows_missing_grades = ungraded == "drop" and layout is QRELS and grade is None
    return source, replace(
        layout,
        columns=layout.columns | ({} if grade is None else {"grade": _TEXT}),
        separator=separator,
        allows_missing_grades=allows_missing_grades,
    )


def _letor_as_tsv(source: Source) -> Source:
    """Convert lines of LETOR text to topic, document and grade between tabs."""
    lines = source.read().split(b"\n")
    for number, line in lines_with_text(b"\n".join(lines)):
        match = _LETOR.match(line.decode("utf-8", "replace"))
        if match is None:
            reason = "expected a grade, qid:TOPIC, and # with the document in a line of LETOR text"
            raise InputError(reason, source=source.name, line=number)
        lines[number - 1] = f"{match[2]}\t{match[4]}\t{match[1]}".encode()
    return replace(source, remaining=iter([b"\n".join(lines)]))


def _layout_of_line(
    line: str, kind: str, separator: str, grade: Callable[[str], int | None] | None
) -> Layout | None:
    """Return the layout of a line of two or three columns, or of a complete line of TREC text."""
    by_tabs = [field.strip(BLANKS) for field in line.split("\t")]
    cells = by_tabs
    if separator == "blank" or (separator == "auto" and (len(by_tabs) != 3 or "" in by_tabs)):
        cells = split_at_blanks(line)

    def is_value(position: int) -> bool:
        text = cells[position]
        return is_number(text) if kind == "run" else (grade or whole_in)(text) is not None

    if kind == "run":
        is_short, is_complete = len(cells) == 3 and is_value(2), len(cells) >= 6 and is_value(4)
        return SHORT_RUN if is_short else RUN if is_complete else None
    # Between tabs, an empty document is a column, too.
    lacks_document = separator != "blank" and len(by_tabs) == 4 and not by_tabs[2]
    if len(cells) == 3 and is_value(2) and cells[1] not in Q0 and not lacks_document:
        return SHORT_QRELS
    if len(cells) == 4 and is_value(3):
        return QRELS
    names = {spelt(name) for column in ("topic", "doc") for name in Column(column, ID).names}
    is_pair = len(by_tabs) == 2 and "" not in by_tabs and by_tabs[1] not in Q0
    # The first line of a table without grades may be its header.
    is_pair &= grade is None and separator != "blank" and not names & {*map(spelt, by_tabs)}
    return PAIRS if is_pair else None


def read_head(source: Source) -> tuple[Source, bytes]:
    """Read the head of a file, up to a line with text; the returned source includes it."""
    chunks = source.chunks()
    head = next(chunks, b"")
    while (
        len(head) < _HEAD_BYTES and not any(lines_with_text(head)) and (chunk := next(chunks, b""))
    ):
        head += chunk
    return replace(source, remaining=chain([head] if head else [], chunks)), head


def blank_header(source: Source) -> tuple[Source, MetadataPlace]:
    """Replace the header of a run by empty lines, so that line numbers do not change."""
    unread_source, head = read_head(source)
    header = header_of(head, source.name)
    place = MetadataPlace(header, source.path)
    if header is None or header.commented:
        return unread_source, place
    chunks = unread_source.chunks()
    next(chunks)
    return replace(source, remaining=chain([header.blanked(head)], chunks)), place
