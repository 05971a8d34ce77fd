"""The check of one run: one pass over its lines, all faults at once."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike, fspath
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Indices
from cranfield.base.errors import CranfieldError, InputError, kept_warnings
from cranfield.base.text import counted
from cranfield.campaign.checks.collecting import Collected
from cranfield.campaign.checks.lines import Lines, Rows, check_metadata, raw_columns
from cranfield.campaign.checks.report import CheckReport
from cranfield.campaign.rules.task_rules import (
    TaskRules,
    check_patterns,
    safe_name,
    topic_ids,
    whole_matches,
)
from cranfield.collection.files.reading import read_run
from cranfield.collection.judged.ranking import Order, order_of
from cranfield.collection.keys import DocIndex, pair_keys, repeats
from cranfield.collection.metadata.reading import HeaderError, MetadataPlace, header_of
from cranfield.collection.run import Run
from cranfield.sources.archives import DAMAGED, BeyondLimitError
from cranfield.sources.chunks import CHUNK, TOGETHER, Source
from cranfield.sources.columns import check_parquet_file, reading_parquet

_BLANKS = r" \t\x0b\f\r"
_ROWS = 1 << 20
"""Number of rows of a table read at a time."""

_NAMES = ("doc", "doc_id", "docno", "docid", "document", "document_id", "pid", "id")


def outside(docs: pl.Series, path: Path) -> Bools:
    """Return a mask of the documents that are not in a list, which is read in parts.

    In a text file the first word of each line counts; Parquet files have a column of documents.
    """
    missing = np.ones(len(docs), dtype=bool)
    if not len(docs):
        return missing
    index = DocIndex(docs)
    source = Source(str(path))
    if source.suffix == ".parquet":
        parts = _parquet_documents(path)
    else:
        chunks = source.chunks(TOGETHER * CHUNK)
        parts = (_first_words(_text(chunk, source.name)) for chunk in chunks)
    for part in parts:
        missing[index.pairs(part)[1]] = False
        if not missing.any():
            break
    return missing


def _parquet_documents(path: Path) -> Iterator[pl.Series]:
    check_parquet_file(str(path))
    with reading_parquet(str(path)):
        table = pl.scan_parquet(path, glob=False)
        names = table.collect_schema().names()
        rows = table.select(pl.len()).collect().item()
    if not names:
        raise InputError("has no column of documents", source=str(path))
    name = next((name for name in names if name.lower() in _NAMES), names[0])
    for start in range(0, rows, _ROWS):
        with reading_parquet(str(path)):
            part = table.select(pl.col(name).cast(pl.String)).slice(start, _ROWS).collect()
        yield part.to_series().drop_nulls()


def _text(chunk: bytes, source: str) -> bytes:
    try:
        chunk.decode()
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte 0x{chunk[error.start]:02x} is not valid UTF-8 text", source=source
        ) from None
    return chunk


def _first_words(text: bytes) -> pl.Series:
    text = text.replace(b"\r\n", b"\n")
    # The first line protects a byte order mark, which the CSV reader would remove.
    words = pl.read_csv(
        b"-\n" + text,
        has_header=False,
        separator=" ",
        quote_char=None,
        schema={"doc": pl.String},
        truncate_ragged_lines=True,
    )["doc"][1:]
    if words.null_count() or any(blank in text for blank in (b"\t", b"\v", b"\f", b"\r")):
        lines = pl.Series("doc", text.decode().split("\n"), dtype=pl.String)
        words = lines.str.extract(f"^[{_BLANKS}]*([^{_BLANKS}]+)")
    return words.drop_nulls()


def excluded(topics: pl.Series, docs: pl.Series, path: Path) -> Bools:
    """Return a mask of the rows in a list of topics and documents, or in judgments."""
    rows = pl.DataFrame({"row": np.arange(len(docs)), "topic": topics, "doc": docs})
    mask = np.zeros(len(docs), dtype=bool)
    for part in _pairs(path):
        mask[rows.join(part, on=["topic", "doc"], how="semi")["row"].to_numpy()] = True
    return mask


def _pairs(path: Path) -> Iterator[pl.DataFrame]:
    source = Source(str(path))
    first_line = 1
    for chunk in source.chunks(TOGETHER * CHUNK):
        lines = pl.Series(_text(chunk, source.name).decode().split("\n"), dtype=pl.String)
        words = pl.DataFrame({"words": lines.str.extract_all(f"[^{_BLANKS}]+")}).with_columns(
            count=pl.col("words").list.len()
        )
        wrong = (~words["count"].is_in([0, 2, 4])).arg_true()
        if len(wrong):
            raise InputError(
                f"{words['count'][wrong[0]]} columns where a line has 2 (topic doc) or 4"
                " (topic subtopic doc grade)",
                source=source.name,
                line=first_line + wrong[0],
            )
        first_line += chunk.count(b"\n")
        third = pl.col("words").list.get(pl.when(pl.col("count") == 4).then(2).otherwise(1))
        yield words.filter(pl.col("count") > 0).select(
            topic=pl.col("words").list.first(), doc=third
        )


def check_topics(
    rows: Rows, task: TaskRules, wanted: Sequence[str] | None, found: Collected, *, to_end: bool
) -> None:
    """Check topics and their numbers of documents; nothing is missing from a file cut short."""
    codes = rows.frame["code"].to_numpy()
    if wanted is not None:
        known = set(wanted)
        strange = [code for code, topic in enumerate(rows.topics) if topic not in known]
        lines = rows.frame.filter(~pl.col("broken"), pl.col("code").is_in(strange))
        groups = lines.group_by("code", maintain_order=True).agg(pl.len(), pl.col("line").first())
        for code, count, line in groups.iter_rows():
            topic = rows.topics[code]
            about = (topic, None)
            values = {"topic": topic, "topics": len(known)}
            found.add("topic-unknown", line=line, about=about, count=count, **values)
        there = set(rows.topics)
        missing = [topic for topic in wanted if topic not in there]
        if missing and to_end:
            noun = "topics" if len(missing) > 1 else "topic"
            topics = f"{noun} {found.listed(missing)}"
            found.add("topic-missing", count=len(missing), topics=topics)
    most = task.max_per_topic
    if most is None:
        return
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(rows.topics) + 1))
    counts = np.diff(starts)
    for code, topic in enumerate(rows.topics):
        count = int(counts[code])
        values = {"topic": topic, "documents": counted(count, "document"), "most": most}
        if count > most:
            line = rows.frame["line"][int(order[starts[code] + most])]
            found.add("too-many", line=line, about=(topic, None), **values)
        elif count < most and to_end:
            found.add("too-few", about=(topic, None), **values)


def check_documents(rows: Rows, task: TaskRules, found: Collected) -> pl.DataFrame:
    """Check for duplicate, unknown and excluded documents; return the rows without duplicates."""
    known = rows.frame.filter(pl.col("code") >= 0, pl.col("doc").is_not_null())
    docs, codes, lines = known["doc"], known["code"].to_numpy(), known["line"].to_numpy()
    names = pl.Series(rows.topics, dtype=pl.String)

    def add(code: str, places: Indices, **values: Any) -> None:
        if places.size:
            topic, doc = names[codes[places]], docs[places]
            every = np.ones(places.size, dtype=bool)
            found.add_rows(
                code, every, lines[places], topics=topic, docs=doc, topic=topic, doc=doc, **values
            )

    first, again = repeats(pair_keys(docs, codes, rows.topics), docs, codes)
    add("document-twice", again, first=lines[first])
    if found.wanted("document-unknown"):
        if task.documents is not None:
            add("document-unknown", np.flatnonzero(outside(docs, task.documents)))
        elif task.document_pattern is not None:
            fits = whole_matches(docs, task.document_pattern).to_numpy()
            add("document-unknown", np.flatnonzero(~fits))
    if task.exclude is not None and found.wanted("document-excluded"):
        add("document-excluded", np.flatnonzero(excluded(names[codes], docs, task.exclude)))
    return known[np.delete(np.arange(known.height), again)] if again.size else known


_BLOCK = 1 << 18
"""Number of rows hashed at a time."""


def check_order(
    topics: tuple[str, ...], rows: pl.DataFrame, task: TaskRules, found: Collected
) -> str | None:
    """Check for ties and for ranks that contradict scores; return the SHA-256 of the ranking.

    No document stands twice in a topic; rows without a score are skipped.
    """
    rows = rows.filter(pl.col("score").is_not_nan())
    if not rows.height:
        return None
    run = Run(
        name="",
        topics=topics,
        codes=rows["code"].to_numpy(),
        docs=rows["doc"],
        scores=rows["score"].to_numpy(),
        ranks=rows["rank"].to_numpy(),
    )
    ties = str(task.judging.get("ties", "trec"))
    order = order_of(run, ties)
    if ties not in {"rank", "file"}:
        ranked = rows["ranked"].to_numpy()
        # Only valid ranks can contradict scores.
        of_ranked = order if ranked.all() else order_of(run.restricted(ranked), ties)
        if task.rank == "order" and of_ranked.contradictions:
            places = counted(of_ranked.contradictions, "place")
            found.add("rank-order", count=of_ranked.contradictions, places=places)
        if order.tied / len(run) > task.tied:
            found.add(
                "tied",
                count=order.tied,
                tied=order.tied,
                documents=counted(len(run), "document"),
                decides="lines" if ties == "input" else "document ids",
            )
    return ranking_sha256(run, order)


def ranking_sha256(run: Run, order: Order) -> str:
    """Return the SHA-256 of what a run ranks, and in which order, whatever its scores and tag.

    The bytes are those of UTF-8 text with two lines for each document, its topic and its id, each
    ended by a line feed: the topics in ascending order of their bytes, the documents of a topic
    from the first to the last.

    Examples
    --------
    >>> from cranfield import read_run
    >>> run = read_run({"q1": {"d1": 0.5, "d2": 1.5}})
    >>> sha256 = ranking_sha256(run, order_of(run, "trec"))
    >>> sha256 == hashlib.sha256(b"q1\\nd2\\nq1\\nd1\\n").hexdigest()
    True
    """
    # Python orders text by code points, which is the order of the bytes of UTF-8.
    by_name = sorted(range(len(run.topics)), key=run.topics.__getitem__)
    place = np.empty(len(by_name), dtype=np.int64)
    place[by_name] = np.arange(len(by_name))
    rows = order.rows
    rows = rows[np.argsort(place[run.codes[rows]], kind="stable")]
    names = pl.Series("topic", run.topics, dtype=pl.String)
    sha256 = hashlib.sha256()
    for start in range(0, rows.size, _BLOCK):
        block = rows[start : start + _BLOCK]
        text = io.BytesIO()
        frame = pl.DataFrame({"topic": names[run.codes[block]], "doc": run.docs[block]})
        frame.write_csv(text, include_header=False, separator="\n", quote_style="never")
        sha256.update(text.getvalue())
    return sha256.hexdigest()


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except (OSError, ValueError):  # not a possible file name
        return False


def check_run(
    path: str | PathLike[str],
    task: TaskRules,
    *,
    tag: str | None = None,
    team: str | None = None,
    all_faults: bool = False,
) -> CheckReport:
    """Check a run by the rules of a task and report all faults at once.

    Taken tags, limits and deadlines, which only the registry knows, are not checked.

    Parameters
    ----------
    path
        The run, compressed or not; `-` is standard input.
    task
        The rules.
    tag
        The declared tag, if any.
    team
        The team's id, which must not be the tag.
    all_faults
        Whether to list every fault; by default the first 25 of a kind are listed, and the others
        counted.

    Returns
    -------
    CheckReport
        All faults. A run without errors is read by :func:`cranfield.read_run` and follows the
        rules.

    Raises
    ------
    InputError
        For a missing file, a list of topics or documents that cannot be read, and a pattern of the
        rules that does not compile.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     run = Path(folder) / "a.run"
    ...     _ = run.write_text("1 Q0 d1 1 0.9 bm25\\n1 Q0 d1 2 nan bm25\\n")
    ...     report = check_run(run, TaskRules("adhoc"))
    >>> report.accepted
    False
    >>> for fault in report.faults:
    ...     print(fault.line, fault.message)
    2 document twice in one topic, first in line 1
    2 score 'nan' is not a finite number
    """
    check_patterns(task)
    name = fspath(path)
    found = Collected(task, all_faults=all_faults)
    lines = Lines(task, found)
    # A pipe can be read once, and a device may have no end.
    count, whole, again = 0, True, name != "-" and _is_file(name)
    place = MetadataPlace(path=name)
    try:
        for chunk in _Bounded(name, task.most_bytes, task.most_unpacked).chunks(TOGETHER * CHUNK):
            if count == 0 and (header := header_of(chunk, name)) is not None:
                place = MetadataPlace(header, name)
                chunk = header.blanked(chunk)  # noqa: PLW2901
            lines.check(raw_columns(chunk, count + 1, task.format))
            count += chunk.count(b"\n") + (chunk[-1:] not in {b"", b"\n"})
    except _TooLargeError as error:
        found.add("size", what=error.what, limit=error.limit)
        whole = again = False
    except InputError as error:
        found.add(code_of(error), line=error.line, reason=error.reason)
        whole = False
    rows = lines.rows()
    if whole and not rows.frame.height:
        found.add("empty", reason="is empty: a run has at least one line")
        whole = False
    lines.end()
    _check_tag(lines, task, tag, team, found)
    check_metadata(replace(place, tag=lines.tag), task, lines.tag, found)
    check_topics(rows, task, topic_ids(task), found, to_end=whole)
    ranking = check_order(rows.topics, check_documents(rows, task, found), task, found)
    if whole and again and found.readable:
        # What is accepted here must be readable.
        try:
            with kept_warnings():
                read_run(name, format=task.format)
        except InputError as error:
            found.add("unreadable", line=error.line, reason=error.reason)
    return CheckReport(
        source=Source(name).name,
        tag=lines.tag,
        faults=found.faults(),
        lines=count,
        topics=len(rows.topics),
        object=_sha256(name) if again else None,
        ranking=ranking if found.readable else None,
    )


LONGEST = 64 << 20
"""Maximum number of bytes of a line, so that an endless one is not read into memory."""


class _TooLargeError(CranfieldError):
    """A file with more bytes than the rules allow."""

    def __init__(self, what: str, limit: int) -> None:
        super().__init__(f"{what} has more than {limit:,} bytes")
        self.what = what
        self.limit = limit


@dataclass(frozen=True)
class _Bounded(Source):
    """A file of limited size, compressed and decompressed; no more is ever read."""

    most_bytes: int
    most_unpacked: int

    @contextmanager
    def packed(self) -> Iterator[IO[bytes]]:
        with super().packed() as raw:
            if self.path != "-" and Path(self.path).stat().st_size > self.most_bytes:
                raise _TooLargeError("the file", self.most_bytes)
            yield raw

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        with super().open() as stream:
            yield cast("IO[bytes]", _Counting(stream, self.most_unpacked))


class _Counting:
    """Reads a limited number of bytes of a stream."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream = stream
        self._most = most
        self._left = most

    def read(self, size: int) -> bytes:
        return self._counted(self._stream.read(min(size, self._left + 1)))

    def readline(self, _size: int = -1) -> bytes:
        line = self._counted(self._stream.readline(min(LONGEST, self._left) + 1))
        if len(line) > LONGEST:
            raise _TooLargeError("a line", LONGEST)
        return line

    def _counted(self, data: bytes) -> bytes:
        self._left -= len(data)
        if self._left < 0:
            raise _TooLargeError("the unpacked file", self._most)
        return data


def code_of(error: InputError) -> str:
    """Return the kind of fault of a reader's error; raise the error if it is not the run's."""
    if isinstance(error, HeaderError):
        return "metadata-header"
    cause = error.__cause__
    if type(cause).__name__ in DAMAGED or isinstance(cause, BeyondLimitError):
        return "archive"
    if cause is not None:
        raise error
    return "encoding"


def _check_tag(
    lines: Lines, task: TaskRules, declared: str | None, team: str | None, found: Collected
) -> None:
    tag, line = lines.tag, lines.tag_line
    if tag is None:
        return
    if declared is not None and tag != declared:
        found.add("tag-declared", line=line, tag=tag, declared=declared)
    if team is not None and tag.casefold() == team.casefold():
        found.add("tag-team", line=line, tag=tag)
    if not whole_matches(pl.Series([tag]), task.tag).item():
        found.add("tag", line=line, tag=tag, wanted=task.tag)
    elif not safe_name(tag):
        found.add("tag", line=line, tag=tag, wanted="a name that a file can have everywhere")


def _sha256(path: str) -> str:
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
