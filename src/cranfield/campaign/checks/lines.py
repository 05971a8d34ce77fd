"""Read the lines of runs and judgments, including invalid lines, as columns of text.

Lines are split as in :func:`cranfield.read_run`: empty lines and comments are skipped but counted,
and columns are separated by blanks, or by semicolons in format `ntcir`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

import polars as pl

from cranfield.base.errors import InputError, quote
from cranfield.base.text import inflect
from cranfield.campaign.checks.report import Faults
from cranfield.collection.files.lines import (
    BLANKS,
    HEADER_HINT,
    QRELS,
    RUN,
    detect_separator,
    has_tab_columns,
    iterate_text_lines,
)
from cranfield.collection.metadata.reading import HeaderError
from cranfield.sources.archives import DAMAGE_ERRORS, BeyondLimitError
from cranfield.sources.chunks import SAVE_WORKBOOK, Source
from cranfield.sources.values import parse_integers, parse_numbers

WORD = f"[^{BLANKS}]+"

_JSON_MESSAGE = (
    "expected lines of TREC text, got JSON; convert the references of TREC RAG answers by"
    """ jq -r '. as $a | .references | to_entries[] | "\\($a.topic_id) Q0"""
    """ \\(.value) \\(.key + 1) \\(-.key) \\($a.run_id)"'"""
)


def read_lines(
    chunks: Iterable[bytes], faults: Faults, format: str = "trec", kind: str = "run"
) -> tuple[pl.DataFrame, int, InputError | None]:
    """Read the lines of a run or of judgments, and report lines that cannot be read.

    Return the rows, the number of lines including empty lines, and any error that ended reading.
    Rows have the columns as text, null where unknown, and the columns `line` (from 1), `width`
    (number of columns) and `is_broken`: True if readers cannot split the line, so that only its
    first column is known.
    """
    names = (*(RUN if kind == "run" else QRELS).columns,)
    schema = {"line": pl.Int64, "width": pl.UInt32, "is_broken": pl.Boolean}
    frames = [pl.DataFrame(schema=schema | dict.fromkeys(names, pl.String))]
    n_lines, stop_error = 0, None
    columns_text = " ".join(names).replace("subtopic", "iteration")
    columns_text += ", separated by ';'" if format == "ntcir" else ""
    expected = f"expected {len(names)} columns ({columns_text})"
    expected_text = expected if format == "ntcir" else f"{expected}, separated by blanks or tabs"
    try:
        for chunk in chunks:
            if not any(frame.height for frame in frames):
                line_number, line = next(iterate_text_lines(chunk, n_lines + 1), (0, b""))
                if noun := _find_other_format(line, len(names), format):
                    message = _JSON_MESSAGE if noun == "JSON" else f"is {noun}; {expected_text}"
                    faults.add("columns", message, line_number)
                    stop_error = InputError(message, line=line_number)
                    break
            frames.append(_split_lines(chunk, n_lines + 1, names, format, faults))
            n_lines += chunk.count(b"\n") + (chunk[-1:] not in {b"", b"\n"})
    except InputError as error:
        # A table in CSV would be refused, too.
        reason = error.reason.replace(SAVE_WORKBOOK, f"save the sheet as text; {expected_text}")
        faults.add(find_fault_code(error), reason, error.line)
        stop_error = error
    rows = pl.concat(frames, how="diagonal")
    if not rows.height and stop_error is None:
        faults.add("empty", "is empty; expected at least one line")
    if kind == "run" and _has_header(rows):
        faults.add("columns", f"{HEADER_HINT}; {expected}", rows[0, "line"])
        rows = rows[1:]
    faults.n_rows = rows.height
    invalid_rows = rows.filter(pl.col("width") != len(names)).select("line", "width")
    if (tag := _find_tag_with_blanks(rows)) is not None:
        line, width = invalid_rows.row(0)
        reason = f"the tag {quote(tag)} contains blanks ({inflect(rows.height, 'line')})"
        faults.add("columns", f"{expected}, got {width}: {reason}", line, count=rows.height)
        rows, invalid_rows = rows.with_columns(tag=pl.lit(tag)), invalid_rows.clear()
    faults.add_rows("columns", invalid_rows, f"{expected}, got {{width}}")
    if format == "ntcir":
        # Semicolons allow empty values; readers of runs ignore the second column.
        required_names = [name for name in names if name != "q0"]
        for name in required_names:
            empty_rows = rows.filter(pl.col(name) == "").select("line")
            faults.add_rows("columns", empty_rows, f"{expected}, got an empty {name}")
        rows = rows.with_columns(pl.when(pl.col(required_names) != "").then(pl.col(required_names)))
    return rows.drop("after_tag", strict=False), n_lines, stop_error


def _find_other_format(line: bytes, n_columns: int, format: str) -> str:
    """Return `JSON` or the kind of table if a first line is not text in columns, otherwise ''."""
    if line.lstrip().startswith((b'{"', b"[{")):
        return "JSON"
    words = line.split()
    for separator, noun in ((b",", "comma"), (b";", "semicolon")):
        has_separators = separator in b"".join(words[:1]) and line.count(separator) >= n_columns - 2
        # Semicolons separate the columns of runs of NTCIR.
        if has_separators and len(words) < n_columns and (format, noun) != ("ntcir", "semicolon"):
            return f"a {noun}-separated table"
    return ""


def _has_header(rows: pl.DataFrame) -> bool:
    """Return True if the first line has the names of the columns of rank and score."""
    names = rows.head(1).select(pl.col("rank", "score").str.to_lowercase()).rows()
    return names == [("rank", "score")]


def _find_tag_with_blanks(rows: pl.DataFrame) -> str | None:
    """Return the text after the score if it has blanks and is the same in all lines, or None."""
    if "after_tag" not in rows.columns or rows["after_tag"].has_nulls():
        return None
    tags = rows.select(pl.concat_str("tag", "after_tag", separator=" ")).to_series()
    expressions = (parse_integers(pl.col("rank")), parse_numbers(pl.col("score")))
    is_valid = all(rows.select(expression.is_not_null().all()).item() for expression in expressions)
    return tags[0] if is_valid and tags.n_unique() == 1 else None


def _split_lines(
    chunk: bytes, first_line: int, names: tuple[str, ...], format: str, faults: Faults
) -> pl.DataFrame:
    text, undecodable_lines = _decode(chunk, first_line, faults)
    lines = pl.Series([text]).str.split("\n").explode()
    # Whether the chunk has both tabs and other blanks; ends of lines do not count.
    has_mixed_blanks = b"\t" in chunk and (
        any(blank in chunk for blank in (b" ", b"\v", b"\f"))
        or (b"\r" in chunk and chunk.count(b"\r") > chunk.count(b"\r\n"))
    )
    if format == "ntcir":
        cells = lines.str.strip_chars_end(BLANKS).str.split(";")
    elif has_mixed_blanks and has_tab_columns(chunk, len(names)):
        cells = lines.str.split("\t")
    elif has_mixed_blanks:
        cells = _split_each_line(lines, names)
    elif (separator := detect_separator(chunk)) is not None:
        cells = lines.str.split(separator)
    else:
        cells = lines.str.extract_all(WORD)
    values, width, topic = pl.col("values"), pl.col("width"), pl.col("topic")
    tag_end_columns = []
    if names[-1] == "tag" and format == "trec" and (cells.list.len() > len(names)).any():
        after_tag = values.list.slice(len(names)).list.join(" ").replace("", None)
        tag_end_columns = [pl.when(~lines.str.contains("\t")).then(after_tag).alias("after_tag")]
    rows = pl.DataFrame({"values": cells}).select(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("line") + first_line,
        values.list.len().alias("width"),
        *(values.list.get(k, null_on_oob=True).alias(name) for k, name in enumerate(names)),
        *tag_end_columns,
    )
    if format == "ntcir":
        # Document ids may contain blanks, as in judgments.
        rows = rows.with_columns(pl.col(pl.String).exclude("doc").str.strip_chars(BLANKS))
    elif has_mixed_blanks:
        rows = rows.with_columns(pl.col(pl.String).str.strip_chars(BLANKS))
        if names[-1] == "tag":
            # A tag ends at its first blank, as in trec_eval.
            rows = rows.with_columns(pl.col("tag").str.extract("^[^ ]+", 0))
    # Readers of TREC files ignore additional columns.
    is_broken = width != len(names) if format == "ntcir" else width < len(names)
    rows = rows.filter(~topic.str.starts_with("#"), (topic != "") | (width > 1)).select(
        "line",
        "width",
        is_broken.alias("is_broken"),
        "topic",
        pl.when(~is_broken).then(pl.col(names[1:])),
        *(["after_tag"] if tag_end_columns else []),
    )
    if undecodable_lines:
        is_undecodable = pl.col(pl.String).str.contains("\ufffd", literal=True)
        is_undecodable &= pl.col("line").is_in(undecodable_lines)
        rows = rows.with_columns(pl.when(~is_undecodable).then(pl.col(pl.String)))
    return rows


def _split_each_line(lines: pl.Series, names: tuple[str, ...]) -> pl.Series:
    """Split each line at tabs if they separate all its columns, otherwise at all blanks."""
    strip_blanks = pl.element().str.strip_chars(BLANKS)
    tabs = pl.col("text").str.strip_chars_start(BLANKS).str.split("\t").list.eval(strip_blanks)
    cells = pl.DataFrame({"text": lines}).select(
        tabs=tabs, blanks=pl.col("text").str.extract_all(WORD)
    )
    width, n_columns = pl.col("tabs").list.len(), len(names)
    # Readers of runs ignore additional columns.
    has_tabs = width >= n_columns if names[-1] == "tag" else width == n_columns
    has_tabs &= ~pl.col("tabs").list.head(n_columns).list.contains("")
    return cells.select(pl.when(has_tabs).then("tabs").otherwise("blanks")).to_series()


def _decode(chunk: bytes, first_line: int, faults: Faults) -> tuple[str, list[int]]:
    """Decode a chunk, and report lines that are not UTF-8; return the text and their numbers."""
    try:
        return chunk.decode(), []
    except UnicodeDecodeError:
        undecodable_lines = []
    for line_number, line in enumerate(chunk.split(b"\n"), first_line):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            byte = line[error.start]
            faults.add("encoding", f"byte 0x{byte:02x} is not valid UTF-8 text", line_number)
            undecodable_lines.append(line_number)
    return chunk.decode(errors="replace"), undecodable_lines


def find_fault_code(error: InputError) -> str:
    """Return the fault code for an error about the content of a file; raise any other error."""
    if isinstance(error, HeaderError):
        return "metadata-header"
    if isinstance(error, TooLargeError):
        return "size"
    cause = error.__cause__
    if type(cause).__name__ in DAMAGE_ERRORS or isinstance(cause, BeyondLimitError):
        return "archive"
    if cause is not None:
        raise error
    return "encoding"


MAX_LINE_BYTES = 64 << 20
"""Maximum number of bytes of a line, as an endless line would fill the memory."""


class TooLargeError(InputError):
    """Raised for a file with more bytes than the rules allow, or a line that is too long."""


@dataclass(frozen=True)
class BoundedSource(Source):
    """A file whose size, decompressed size and length of lines are limited."""

    max_bytes: int
    max_decompressed_bytes: int

    @contextmanager
    def open_raw(self) -> Iterator[IO[bytes]]:
        """Open the file without decompression; refuse a file (not stdin) that is too large."""
        with super().open_raw() as raw:
            if self.path != "-" and Path(self.path).stat().st_size > self.max_bytes:
                raise TooLargeError(f"the file has more than {self.max_bytes:,} bytes")
            yield raw

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        with super().open() as stream:
            yield cast("IO[bytes]", _LimitedReader(stream, self.max_decompressed_bytes))


class _LimitedReader:
    """Stream that raises an error after more than `max_bytes` bytes, and for a line too long."""

    def __init__(self, stream: IO[bytes], max_bytes: int) -> None:
        self._stream = stream
        self._max_bytes = self._n_left = max_bytes

    def read(self, size: int) -> bytes:
        return self._count_bytes(self._stream.read(min(size, self._n_left + 1)))

    def readline(self, _size: int = -1) -> bytes:
        line = self._count_bytes(self._stream.readline(min(MAX_LINE_BYTES, self._n_left) + 1))
        if len(line) > MAX_LINE_BYTES:
            raise TooLargeError(f"a line has more than {MAX_LINE_BYTES:,} bytes")
        return line

    def _count_bytes(self, data: bytes) -> bytes:
        self._n_left -= len(data)
        if self._n_left < 0:
            raise TooLargeError(f"the decompressed file has more than {self._max_bytes:,} bytes")
        return data
