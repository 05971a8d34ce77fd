"""Checks of the lines of a run and of its metadata, and the public part of metadata.

Lines are split as the readers of runs split them: empty lines and comments only count as lines,
and columns are separated by blanks, or by semicolons in format `ntcir`.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Ints
from cranfield.base.errors import CranfieldWarning, InputError, quoted
from cranfield.base.text import counted
from cranfield.campaign.checks.collecting import Collected
from cranfield.campaign.rules.task_rules import TaskRules
from cranfield.collection.files.blank_separated import (
    all_by_tabs,
    columns_of_lines,
    made_regular,
    separator_of,
)
from cranfield.collection.files.layouts import RUN
from cranfield.collection.keys import Codes, TopicCoder
from cranfield.collection.metadata.metadata import Metadata
from cranfield.collection.metadata.reading import MetadataPlace
from cranfield.sources.values import integers_in, numbers_in

NAMES = tuple(RUN.columns)
_BLANKS = " \t\v\f\r"


@dataclass(frozen=True)
class RawColumns:
    """Lines of a run, some of them bad.

    frame: the columns as text; null in broken lines and where the bytes are not text.
    lines: line number of each row.
    widths: number of columns of each row.
    broken: rows that no reader can split; only the first word is known, as topic.
    undecoded: lines with bytes that are not UTF-8, and the first such byte of each.
    """

    frame: pl.DataFrame
    lines: Ints
    widths: Ints
    broken: Bools
    undecoded: tuple[Ints, Ints]


def raw_columns(
    chunk: bytes, first_line: int, form: str, names: Sequence[str] = NAMES
) -> RawColumns:
    """Split lines into columns; the form is `trec`, with any columns, or `ntcir`."""
    text, undecoded = _decoded(chunk, first_line)
    if form == "ntcir":
        frame, lines, widths = _semicolons(text, first_line)
    else:
        frame, lines, widths = _blanks(text, first_line, names)
    if undecoded[0].size:
        bad = pl.Series(np.isin(lines, undecoded[0]))
        unknown = bad & pl.col(pl.String).str.contains("\ufffd", literal=True)
        frame = frame.with_columns(pl.when(~unknown).then(pl.col(pl.String)))
    # Readers of TREC files ignore additional columns.
    broken = widths != len(names) if form == "ntcir" else widths < len(names)
    return RawColumns(frame, lines, widths, broken, undecoded)


def _decoded(chunk: bytes, first_line: int) -> tuple[bytes, tuple[Ints, Ints]]:
    """Replace invalid UTF-8 by U+FFFD; return the lines with such bytes and the first of each."""
    try:
        chunk.decode()
    except UnicodeDecodeError:
        pass
    else:
        none = np.empty(0, dtype=np.int64)
        return chunk, (none, none)
    # Invalid bytes become lone surrogates, which valid text cannot contain.
    escaped = chunk.decode(errors="surrogateescape").encode("utf-16-le", "surrogatepass")
    units = np.frombuffer(escaped, "<u2")
    high, low = units >> 10 == 0xD800 >> 10, units >> 10 == 0xDC00 >> 10
    low[1:] &= ~high[:-1]
    places = np.flatnonzero(low)
    ends = np.flatnonzero(units == ord("\n"))
    lines, first = np.unique(np.searchsorted(ends, places), return_index=True)
    values = (units[places[first]] - 0xDC00).astype(np.int64)
    return chunk.decode(errors="replace").encode(), (lines + first_line, values)


def _blanks(text: bytes, first_line: int, names: Sequence[str]) -> tuple[pl.DataFrame, Ints, Ints]:
    schema = dict.fromkeys(names, pl.String)
    if b"\t" in text and b" " in text and all_by_tabs(text, len(names)):
        frame = _read(text, "\t", schema).with_columns(pl.all().str.strip_chars(_BLANKS))
        frame = frame.with_columns(pl.col(names[-1]).str.extract("^[^ ]+", 0))
        return frame, first_line + np.arange(frame.height), np.full(frame.height, len(names))
    separator = separator_of(text)
    numbers = None
    if separator is None:
        text, numbers = made_regular(text)
        separator = " "
    widths = columns_of_lines(text, separator.encode())
    lines = first_line + (np.arange(widths.size) if numbers is None else numbers)
    short = widths < len(names)
    if not short.any():
        return _read(text, separator, schema), lines, widths
    data = np.frombuffer(text, np.uint8)
    ends = np.flatnonzero(data == ord("\n"))
    if data[-1] != ord("\n"):
        ends = np.append(ends, data.size)
    in_short = np.repeat(short, np.diff(np.minimum(ends + 1, data.size), prepend=0))
    whole = _read(data[~in_short].tobytes(), separator, schema)
    topics = _read(data[in_short].tobytes(), separator, {"topic": pl.String})
    frame = pl.concat([whole, topics], how="diagonal")
    order = np.argsort(np.concatenate([np.flatnonzero(~short), np.flatnonzero(short)]))
    return frame[order], lines, widths


def _read(text: bytes, separator: str, schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """Read regular text of at least so many columns as text."""
    # A first line of our own fixes the number of columns and protects a byte order mark.
    head = separator.encode().join([b"-"] * len(schema))
    return pl.read_csv(
        head + b"\n" + text,
        has_header=False,
        separator=separator,
        quote_char=None,
        schema=schema,
        truncate_ragged_lines=True,
    )[1:]


def _semicolons(text: bytes, first_line: int) -> tuple[pl.DataFrame, Ints, Ints]:
    all_lines = pl.Series("line", text.decode().split("\n"), dtype=pl.String)
    bare = all_lines.str.strip_chars(_BLANKS)
    kept = (bare != "") & ~bare.str.starts_with("#")
    lines = first_line + kept.arg_true().to_numpy().astype(np.int64)
    text_lines = all_lines.filter(kept).str.strip_chars_end(_BLANKS)
    widths = text_lines.str.count_matches(";", literal=True).to_numpy().astype(np.int64) + 1
    fields = text_lines.str.split_exact(";", len(NAMES) - 1).struct.unnest()
    frame = fields.rename(dict(zip(fields.columns, NAMES, strict=True)))
    # Document ids may contain blanks, as in judgments.
    frame = frame.with_columns(pl.exclude("doc").str.strip_chars(_BLANKS))
    known = pl.Series(widths == len(NAMES))
    frame = frame.with_columns(pl.when(known).then(pl.exclude("topic")))
    return frame, lines, widths


class Rows(NamedTuple):
    """The rows of a run as far as they are known.

    topics: names of the topics, by code.
    frame: columns of :data:`ROW`; of a broken line only the first word is known, as its topic.
    """

    topics: tuple[str, ...]
    frame: pl.DataFrame


ROW = {
    "code": pl.Int32,  # of the topic; -1 if unknown
    "doc": pl.String,  # null if unknown
    "score": pl.Float64,  # NaN if there is none
    "rank": pl.Int32,  # 0 if there is none
    "ranked": pl.Boolean,  # whether the rank is an integer >= 0
    "line": pl.Int64,
    "broken": pl.Boolean,
}


_INTEGER, _FROM_0 = pl.lit("an integer"), pl.lit("0 or more")
_TO_MOST = pl.lit("2147483647 or less")


class Lines:
    """Checks the lines of a run in chunks and collects its rows."""

    def __init__(self, task: TaskRules, found: Collected) -> None:
        self.tag: str | None = None
        self.tag_line: int | None = None
        self._task = task
        self._found = found
        self._coder = TopicCoder()
        self._parts: list[pl.DataFrame] = []
        self._second: tuple[int, str, int] | None = None

    def check(self, raw: RawColumns) -> None:
        """Check the lines of a chunk."""
        check_encoding(raw, self._found)
        frame = self._check_columns(raw)
        number, integer = numbers_in(pl.col("score")), integers_in(pl.col("rank"))
        self._note_tag(frame["tag"], frame.select(number).to_series(), raw.lines)
        ranked = (integer >= 0).fill_null(False)
        after = pl.lit(pl.Series(raw.lines > (self.tag_line or 0)))
        seen = frame.select(
            tag=(pl.col("tag") != (self.tag or "")).fill_null(False) & after,
            q0=(~pl.col("q0").is_in(self._task.second_column)).fill_null(False),
            rank=~ranked & pl.col("rank").is_not_null(),
            score=number.is_null() & pl.col("score").is_not_null(),
            score_value=number.fill_null(np.nan),
            rank_value=integer.fill_null(0).cast(pl.Int32),
            ranked=ranked,
        )
        wrong = {name: seen[name].to_numpy() for name in ("tag", "q0", "rank", "score")}
        about = {"topics": frame["topic"], "docs": frame["doc"]}
        self._found.add_rows(
            "tag-changes", wrong["tag"], raw.lines, tag=frame["tag"], first=self.tag
        )
        self._note_second(wrong["q0"], frame["q0"], raw.lines)
        if self._task.rank != "off" and wrong["rank"].any():
            written = frame["rank"].str
            wanted = seen.select(
                pl.when(~written.contains(r"^[+-]?[0-9]+$"))
                .then(_INTEGER)
                .when(written.starts_with("-"))
                .then(_FROM_0)
                .otherwise(_TO_MOST)
            )
            self._found.add_rows(
                "rank",
                wrong["rank"],
                raw.lines,
                **about,
                rank=frame["rank"],
                wanted=wanted.to_series(),
            )
        self._found.add_rows("score", wrong["score"], raw.lines, **about, score=frame["score"])
        self._parts.append(
            frame.select(
                code=pl.Series(self._codes(frame["topic"])),
                doc="doc",
                score=seen["score_value"],
                rank=seen["rank_value"],
                ranked=seen["ranked"],
                line=pl.Series(raw.lines),
                broken=pl.Series(raw.broken),
            )
        )

    def rows(self) -> Rows:
        """Return all rows that were checked."""
        frame = pl.concat([pl.DataFrame(schema=ROW), *self._parts], rechunk=False)
        return Rows(tuple(self._coder.names), frame)

    def end(self) -> None:
        """Report faults that concern all lines."""
        if self._second is not None:
            line, value, count = self._second
            wanted = " or ".join(map(quoted, self._task.second_column))
            self._found.add(
                "second-column",
                line=line,
                count=count,
                value=value,
                wanted=wanted,
                lines=counted(count, "line"),
            )

    def _check_columns(self, raw: RawColumns) -> pl.DataFrame:
        """Check the numbers of columns; empty values, which semicolons allow, become null."""
        frame = raw.frame
        wrong = raw.widths != len(NAMES)
        semicolons = self._task.format == "ntcir"
        known: dict[str, Any] = {"kind": "run", "wanted": len(NAMES), "names": " ".join(NAMES)}
        if semicolons:
            known["names"] += ", separated by ';'"
        if wrong.any():
            what = pl.select(pl.format("{} columns", pl.Series(raw.widths))).to_series()
            self._found.add_rows("columns", wrong, raw.lines, what=what, **known)
        if semicolons:
            for name in NAMES:
                empty = (frame[name] == "").fill_null(False)
                if name != "q0":
                    self._found.add_rows(
                        "columns", empty.to_numpy(), raw.lines, what=f"an empty {name}", **known
                    )
            filled = pl.exclude("q0")
            frame = frame.with_columns(pl.when(filled != "").then(filled))
        return frame

    def _note_tag(self, tags: pl.Series, scores: pl.Series, lines: Ints) -> None:
        if self.tag is None and tags.null_count() < len(tags):
            there = tags.is_not_null()
            # A header of column names has no score, and no tag.
            scored = there & scores.is_not_null()
            row = (scored if scored.any() else there).arg_max() or 0
            self.tag, self.tag_line = tags[row], int(lines[row])

    def _note_second(self, wrong: Bools, values: pl.Series, lines: Ints) -> None:
        if self._task.second_column and wrong.any():
            row = int(wrong.argmax())
            line, value, before = self._second or (int(lines[row]), values[row], 0)
            self._second = line, value, before + int(wrong.sum())

    def _codes(self, topics: pl.Series) -> Codes:
        """Return the topic codes; -1 if there is no topic."""
        if not topics.null_count():
            return self._coder.encode(topics)
        codes = np.full(len(topics), -1, dtype=np.int32)
        codes[topics.is_not_null().to_numpy()] = self._coder.encode(topics.drop_nulls())
        return codes


def check_encoding(raw: RawColumns, found: Collected) -> None:
    """Report lines with bytes that are not UTF-8."""
    lines, values = raw.undecoded
    if lines.size:
        reasons = [f"byte 0x{value:02x} is not valid UTF-8 text" for value in range(256)]
        every = np.ones(lines.size, dtype=bool)
        found.add_rows("encoding", every, lines, reason=pl.Series(reasons)[values])


PRIVATE = ("actor.mail", "implementation.source.archive.path", "implementation.script.path")
"""Metadata keys that are not published."""

OF_PEOPLE = ("actor", "implementation.source", "research goal.publication")
"""Metadata keys that identify people."""

_PLACE = re.compile(
    r"(?<![\w.:/])~?/[\w.~+-]+/"  # /home/me, not http://a/b
    r"|(?<!\w)[A-Za-z]:[\\/](?!/)|\\\\\w|file:/|(?<!\w)(?:/root|~)(?:/|\b)"
)
_MAIL = re.compile(r"(?<=[^\s@<>])@[^\s@<>]+\.\w")


def check_metadata(
    place: MetadataPlace, task: TaskRules, tag: str | None, found: Collected
) -> None:
    """Check the metadata of a run; without rules for them they only have to be readable."""
    line = None if place.header is None else place.header.line
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CranfieldWarning)
            metadata = place.read()
    except InputError as error:
        at = None if line is None else error.line
        found.add("metadata-yaml", line=at, reason=error.reason)
        return
    rules = task.metadata
    if metadata is None:
        if rules is not None and rules.required:
            reason = f"there is none; wanted are {', '.join(rules.required)}"
            found.add("metadata-missing", line=line, reason=reason)
        return
    for reason in metadata.twice:
        found.add("metadata-twice", line=line, reason=reason)
    if rules is None:
        return
    for problem in metadata.problems(rules.required, rules.placeholders):
        found.add(f"metadata-{problem.kind}", line=line, reason=str(problem))
    own = metadata.get("tag")
    if own is not None and tag is not None and own != tag:
        reason = f"tag {quoted(own)}, and the run has {quoted(tag)}"
        found.add("metadata-tag", line=line, reason=reason)


def public_metadata(
    metadata: Metadata, *, consent_mail: bool = False, anonymous: bool = False
) -> tuple[bytes, tuple[str, ...]]:
    """Return what may be published of metadata, as YAML, and the keys that were dropped.

    Comments are dropped, the keys that hold addresses and paths of machines, and whatever value
    looks like either of them. What looks otherwise is kept: it is no proof that nothing is told.

    Parameters
    ----------
    metadata
        What a run says of itself.
    consent_mail
        Whether addresses may be published.
    anonymous
        Whether to drop the keys that tell who the people are, too.

    Examples
    --------
    >>> from cranfield.collection import read_metadata
    >>> about = read_metadata(b"actor: {team: a, mail: me@a.org}\\nmethod: {name: /home/me/bm25}")
    >>> public_metadata(about)
    (b'actor:\\n  team: a\\n', ('actor.mail', 'method.name'))
    """
    private = [path for path in PRIVATE if not (consent_mail and path == "actor.mail")]
    if anonymous:
        private += OF_PEOPLE
    dropped: dict[str, None] = {}
    values = _public(metadata.values, "", private, consent_mail, dropped)
    return Metadata(values or {}).to_yaml().encode(), tuple(dropped)


_GONE = object()


def _public(
    value: Any, path: str, private: list[str], consent_mail: bool, dropped: dict[str, None]
) -> Any:
    """Copy the public part of a value; return `_GONE` if nothing is left."""
    if path in private:
        dropped[path] = None
        return _GONE
    if isinstance(value, (dict, list)):
        entries = value.items() if isinstance(value, dict) else [("", one) for one in value]
        made = []
        for key, one in entries:
            below = f"{path}.{key}" if path and key else path or str(key)
            if _tells(str(key), consent_mail):
                dropped[path or "a key"] = None
                continue
            kept = _public(one, below, private, consent_mail, dropped)
            if kept is not _GONE:
                made.append((key, kept))
        if value and not made:
            return _GONE if path else {}
        return dict(made) if isinstance(value, dict) else [one for _, one in made]
    if isinstance(value, str) and _tells(value, consent_mail):
        dropped[path] = None
        return _GONE
    return value


def _tells(text: str, consent_mail: bool) -> bool:
    return bool(_PLACE.search(text)) or (not consent_mail and bool(_MAIL.search(text)))
