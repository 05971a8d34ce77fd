"""Reading the lines of runs and judgments, some of them bad, as columns of text.

Lines are split as the readers of runs split them: empty lines and comments only count as lines,
and columns are separated by blanks, or by semicolons in format `ntcir`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, NamedTuple, cast

import polars as pl

from cranfield.base.errors import InputError
from cranfield.campaign.checks.report import Faults
from cranfield.collection.files.blank_separated import all_by_tabs, separator_of
from cranfield.collection.files.layouts import BLANKS, QRELS, RUN
from cranfield.collection.metadata.reading import HeaderError
from cranfield.sources.archives import DAMAGED, BeyondLimitError
from cranfield.sources.chunks import Source

WORD = f"[^{BLANKS}]+"


_JSON = (
    "is JSON, and a run of this task is lines of TREC text; the references of TREC RAG answers"
    """ become lines by jq -r '. as $a | .references | to_entries[] | "\\($a.topic_id) Q0"""
    """ \\(.value) \\(.key + 1) \\(-.key) \\($a.run_id)"'"""
)


class Lines(NamedTuple):
    """The lines of a file.

    rows: the columns as text, null where unknown, with `line` (from 1), `width` (number of columns)
        and `broken` (no reader can split the line; only its first column is known).
    n_lines: number of lines, empty ones counted.
    error: why the file was not read to its end.
    """

    rows: pl.DataFrame
    n_lines: int
    error: InputError | None


def read_lines(
    chunks: Iterable[bytes], faults: Faults, form: str = "trec", kind: str = "run"
) -> Lines:
    """Read the lines of a run or of judgments, and report those that cannot be split or decoded."""
    names = (*(RUN if kind == "run" else QRELS).columns,)
    schema = {"line": pl.Int64, "width": pl.UInt32, "broken": pl.Boolean}
    parts = [pl.DataFrame(schema=schema | dict.fromkeys(names, pl.String))]
    count, stopped = 0, None
    try:
        for chunk in chunks:
            if not count and chunk.lstrip().startswith((b'{"', b"[{")):
                faults.add("columns", _JSON, 1)
                stopped = InputError(_JSON, line=1)
                break
            parts.append(_split(chunk, count + 1, names, form, faults))
            count += chunk.count(b"\n") + (chunk[-1:] not in {b"", b"\n"})
    except InputError as error:
        faults.add(code_of(error), error.reason, error.line)
        stopped = error
    rows = pl.concat(parts)
    if not rows.height and stopped is None:
        file = "run" if kind == "run" else "file of judgments"
        faults.add("empty", f"is empty: a {file} has at least one line")
    columns = " ".join(names).replace("subtopic", "iteration")
    columns += ", separated by ';'" if form == "ntcir" else ""
    expected = f"where a {kind} line has {len(names)} ({columns})"
    wrong = rows.filter(pl.col("width") != len(names)).select("line", "width")
    faults.add_rows("columns", wrong, f"{{width}} columns {expected}")
    if form == "ntcir":
        # Semicolons allow empty values; readers of runs ignore the second column.
        filled = [name for name in names if name != "q0"]
        for name in filled:
            empty = rows.filter(pl.col(name) == "").select("line")
            faults.add_rows("columns", empty, f"an empty {name} {expected}")
        rows = rows.with_columns(pl.when(pl.col(filled) != "").then(pl.col(filled)))
    return Lines(rows, count, stopped)


def _split(
    chunk: bytes, first_line: int, names: tuple[str, ...], form: str, faults: Faults
) -> pl.DataFrame:
    """Split the lines of a chunk into columns."""
    decoded, undecoded = _decoded(chunk, first_line, faults)
    text = pl.Series([decoded]).str.split("\n").explode()
    mixed = b"\t" in chunk and _has_other_blanks(chunk)
    if form == "ntcir":
        split = text.str.strip_chars_end(BLANKS).str.split(";")
    elif mixed and all_by_tabs(chunk, len(names)):
        split = text.str.split("\t")
    elif mixed:
        split = _by_line(text, names)
    elif (separator := separator_of(chunk)) is not None:
        split = text.str.split(separator)
    else:
        split = text.str.extract_all(WORD)
    values, width, topic = pl.col("values"), pl.col("width"), pl.col("topic")
    rows = pl.DataFrame({"values": split}).select(
        pl.int_range(pl.len(), dtype=pl.Int64).alias("line") + first_line,
        values.list.len().alias("width"),
        *(values.list.get(k, null_on_oob=True).alias(name) for k, name in enumerate(names)),
    )
    if form == "ntcir":
        # Document ids may contain blanks, as in judgments.
        rows = rows.with_columns(pl.col(pl.String).exclude("doc").str.strip_chars(BLANKS))
    elif mixed:
        rows = rows.with_columns(pl.col(pl.String).str.strip_chars(BLANKS))
        if names[-1] == "tag":
            # A tag ends at its first blank, as in trec_eval.
            rows = rows.with_columns(pl.col("tag").str.extract("^[^ ]+", 0))
    # Readers of TREC files ignore additional columns.
    broken = width != len(names) if form == "ntcir" else width < len(names)
    rows = rows.filter(~topic.str.starts_with("#"), (topic != "") | (width > 1)).select(
        "line",
        "width",
        broken.alias("broken"),
        "topic",
        pl.when(~broken).then(pl.col(names[1:])),
    )
    if undecoded:
        unknown = pl.col(pl.String).str.contains("\ufffd", literal=True)
        unknown &= pl.col("line").is_in(undecoded)
        rows = rows.with_columns(pl.when(~unknown).then(pl.col(pl.String)))
    return rows


def _has_other_blanks(chunk: bytes) -> bool:
    """Return True if a chunk has blanks besides tabs and the ends of lines."""
    if any(blank in chunk for blank in (b" ", b"\v", b"\f")):
        return True
    return b"\r" in chunk and chunk.count(b"\r") > chunk.count(b"\r\n")


def _by_line(text: pl.Series, names: tuple[str, ...]) -> pl.Series:
    """Split each line at tabs if these separate all of its columns, else at any blanks."""
    stripped = pl.element().str.strip_chars(BLANKS)
    tabs = pl.col("text").str.strip_chars_start(BLANKS).str.split("\t").list.eval(stripped)
    lines = pl.DataFrame({"text": text}).select(
        tabs=tabs, blanks=pl.col("text").str.extract_all(WORD)
    )
    width, columns = pl.col("tabs").list.len(), len(names)
    # Readers of runs ignore further columns.
    fits = width >= columns if names[-1] == "tag" else width == columns
    fits &= ~pl.col("tabs").list.head(columns).list.contains("")
    return lines.select(pl.when(fits).then("tabs").otherwise("blanks")).to_series()


def _decoded(chunk: bytes, first_line: int, faults: Faults) -> tuple[str, list[int]]:
    """Decode a chunk; report and return the lines with bytes that are not UTF-8."""
    try:
        return chunk.decode(), []
    except UnicodeDecodeError:
        undecoded = []
    for number, line in enumerate(chunk.split(b"\n"), first_line):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            byte = line[error.start]
            faults.add("encoding", f"byte 0x{byte:02x} is not valid UTF-8 text", number)
            undecoded.append(number)
    return chunk.decode(errors="replace"), undecoded


def code_of(error: InputError) -> str:
    """Return the code of the fault that is a reader's error; raise other errors."""
    if isinstance(error, HeaderError):
        return "metadata-header"
    if isinstance(error, TooLargeError):
        return "size"
    cause = error.__cause__
    if type(cause).__name__ in DAMAGED or isinstance(cause, BeyondLimitError):
        return "archive"
    if cause is not None:
        raise error
    return "encoding"


LONGEST = 64 << 20
"""Maximum number of bytes of a line, so that an endless one is not read into memory."""


class TooLargeError(InputError):
    """A file with more bytes than the rules allow."""


@dataclass(frozen=True)
class BoundedSource(Source):
    """A file of limited size, compressed and decompressed; no more is ever read."""

    max_bytes: int
    max_decompressed_bytes: int

    @contextmanager
    def open_raw(self) -> Iterator[IO[bytes]]:
        """Open for reading without decompression, unless it is too large."""
        with super().open_raw() as raw:
            if self.path != "-" and Path(self.path).stat().st_size > self.max_bytes:
                raise TooLargeError(f"the file has more than {self.max_bytes:,} bytes")
            yield raw

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """Open for reading, decompressed."""
        with super().open() as stream:
            yield cast("IO[bytes]", _Counting(stream, self.max_decompressed_bytes))


class _Counting:
    """Reads a limited number of bytes of a stream."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._most = self._left = most

    def read(self, size: int) -> bytes:
        return self._counted(self._stream.read(min(size, self._left + 1)))

    def readline(self, _size: int = -1) -> bytes:
        line = self._counted(self._stream.readline(min(LONGEST, self._left) + 1))
        if len(line) > LONGEST:
            raise TooLargeError(f"a line has more than {LONGEST:,} bytes")
        return line

    def _counted(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise TooLargeError(f"the decompressed file has more than {self._most:,} bytes")
        return data
