"""Sheets for assessors: which documents who is to judge, and in which order."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Ints
from cranfield.base.errors import (
    PolicyError,
    check_choice,
    check_whole,
    numbers,
    quoted,
)
from cranfield.base.streams import stream_of
from cranfield.base.text import counted
from cranfield.collection.files.writing import write_lines, write_table
from cranfield.collection.qrels import topic_order
from cranfield.result import Column, Columns, TableResult
from cranfield.sources.chunks import Source

ARRANGED = ("judging", "id", "shuffled")
FORMS = ("auto", "tsv", "jsonl", "trec")
DEALT = ("document", "topic")

MOST = 10_000
"""Assessors that are no more than a number."""

_OF_ORDER, _OF_SHARES = 0, 1
"""Streams of a topic: for the order on the sheet, and for who gets what."""


@dataclass(frozen=True, eq=False, repr=False)
class Sheets(TableResult):
    """Documents to judge by assessor, one sheet after the other; made by :func:`sheets`.

    Attributes
    ----------
    assessors
        Names of the assessors.
    documents, repeated
        Number of documents to judge, and of those that several assessors judge.
    arranged, seed
        Order of the documents of a sheet, and the seed of all draws.
    """

    name: ClassVar[str] = "sheets"
    columns: ClassVar[Columns] = {
        "assessor": Column("Assessor who is to judge the document.", key=True),
        "topic": Column("Topic of the document.", key=True),
        "doc": Column("Document to judge.", key=True),
    }

    assessors: tuple[str, ...]
    documents: int
    repeated: int
    arranged: str
    seed: int

    def of(self, assessor: str) -> pl.DataFrame:
        """Return the sheet of an assessor: topic, doc."""
        check_choice("assessor", assessor, self.assessors)
        return self.rows.filter(assessor=assessor).drop("assessor")

    def write(self, path: str | PathLike[str], *, format: str = "auto") -> list[str]:
        """Write the sheets, each whole or not at all, and return the names of the files.

        Parameters
        ----------
        path
            The file; with several assessors a name with `{}`, where the name of each comes in.
            Packed if the suffix says so; `-` is standard output.
        format
            `tsv` and `jsonl`, with an empty `grade` to fill in, so that :func:`read_qrels`
            reads what comes back; `trec`, whose lines lack only the grade: topic, 0, document. By
            default what the suffix says, else `trec`.

        Raises
        ------
        PolicyError
            For an unknown format, and a name without `{}` where there are several sheets.
        CranfieldError
            When an id holds a blank, which lines of TREC cannot express.
        """
        check_choice("format", format, FORMS)
        name = fspath(path)
        if len(self.assessors) > 1 and "{}" not in name:
            raise PolicyError(
                f"{quoted(name)} is one file for {len(self.assessors)} assessors; put {{}} where"
                " their names go"
            )
        form = format
        if form == "auto":
            form = {".tsv": "tsv", ".jsonl": "jsonl"}.get(Source(name).suffix, "trec")
        files = [name.replace("{}", assessor) for assessor in self.assessors]
        for assessor, file in zip(self.assessors, files, strict=True):
            rows = self.of(assessor)
            if form == "trec":
                write_lines(rows.select("topic", pl.lit("0").alias("iteration"), "doc"), file)
            else:
                write_table(rows.with_columns(grade=pl.lit(None, pl.Int32)), file, form)
        return files

    def heading(self) -> list[str]:
        """Return one line: the number of documents and assessors."""
        return [
            f"{counted(self.documents, 'document')} for"
            f" {counted(len(self.assessors), 'assessor')}, {self.repeated:,} for several"
        ]


def sheets(
    documents: Any,
    *,
    arranged: str = "judging",
    assessors: int | Iterable[str] = 1,
    by: str = "document",
    overlap: float = 0.0,
    each: int | None = None,
    seed: int = 0,
) -> Sheets:
    """Deal documents to assessors.

    Parameters
    ----------
    documents
        What is to be judged: a pool, an order, a sample, what is unjudged, the next documents; or
        a data frame with columns topic and doc, no document twice in a topic.
    arranged
        `judging` (default): in the order of what was given. `id`: by topic, then document id.
        `shuffled`: topic by topic in random order, so that nobody can tell ranks from places.
    assessors
        Their number, or their names.
    by
        Whether single documents of each topic are dealt, at random and as evenly as can be
        (`document`, the default), or whole topics (`topic`): the largest first, each to the
        assessor who has least.
    overlap
        Share of the documents of each topic that several assessors get, from 0 to 1.
    each
        How many assessors get these; by default all.
    seed
        Of what is random. A topic has its own numbers, whatever other topics there are.

    Raises
    ------
    PolicyError
        For unknown ways, an overlap outside 0 to 1, no assessors, two of one name.

    Examples
    --------
    >>> import cranfield as cf
    >>> pool = cf.assess.pool({"a": {"q": {"x": 3.0, "y": 2.0, "z": 1.0}}}, 3)
    >>> dealt = cf.assess.sheets(pool, assessors=["ann", "bob"], overlap=0.4)
    >>> dealt
    Sheets(3 documents for 2 assessors, 1 for several)
    >>> dealt.of("ann").rows()
    [('q', 'y'), ('q', 'z')]
    """
    check_choice("arranged", arranged, ARRANGED)
    check_choice("by", by, DEALT)
    check_whole("seed", seed, 0)
    names = _names(assessors)
    share = numbers(overlap, "overlap")
    if share.ndim or not 0 <= share <= 1:
        raise PolicyError(f"overlap must be a share from 0 to 1, not {overlap!r}")
    several = len(names) if each is None else each
    check_whole("each", several, 1, len(names))
    frame = _pairs(documents).with_row_index("place")
    parts = {str(topic): part for (topic,), part in frame.group_by("topic", maintain_order=True)}
    topics = topic_order(list(parts))
    home = _homes([parts[topic].height for topic in topics], len(names))
    dealt = [_NOBODY]
    for number, topic in enumerate(topics):
        part, random = parts[topic], stream_of(seed, topic, _OF_SHARES)
        first, times = _shares(part.height, len(names), overlap, several, random)
        if by == "topic":
            first = np.full(part.height, home[number])
        if arranged == "id":
            part = part.with_columns(place=pl.col("doc").rank("ordinal"))
        elif arranged == "shuffled":
            shuffled = stream_of(seed, topic, _OF_ORDER).permutation(part.height)
            part = part.with_columns(place=pl.Series(shuffled))
        row = np.repeat(np.arange(part.height), times)
        turn = np.arange(row.size) - np.repeat(np.cumsum(times) - times, times)
        dealt.append(
            part[row].select(
                pl.Series("assessor", (first[row] + turn) % len(names)),
                pl.lit(0 if arranged == "judging" else number, pl.Int64).alias("topic place"),
                pl.col("place").cast(pl.Int64),
                "topic",
                "doc",
            )
        )
    rows = pl.concat(dealt).sort("assessor", "topic place", "place")
    named = pl.Series("assessor", names, dtype=pl.String).gather(rows["assessor"])
    return Sheets(
        rows.select(named, "topic", "doc"),
        names,
        frame.height,
        rows.height - frame.height
        if several < 2
        else (rows.height - frame.height) // (several - 1),
        arranged,
        int(seed),
    )


_NOBODY = pl.DataFrame(
    schema={
        **dict.fromkeys(("assessor", "topic place", "place"), pl.Int64),
        **dict.fromkeys(("topic", "doc"), pl.String),
    }
)


def _pairs(documents: Any) -> pl.DataFrame:
    frame = documents.to_polars() if hasattr(documents, "to_polars") else documents
    if not isinstance(frame, pl.DataFrame) or not {"topic", "doc"} <= set(frame.columns):
        raise PolicyError(f"{type(documents).__name__} has no columns topic and doc")
    frame = frame.select(pl.col("topic", "doc").cast(pl.String))
    if frame.is_duplicated().any():
        topic, doc = frame.filter(frame.is_duplicated()).row(0)
        raise PolicyError(f"document {quoted(doc)} of topic {quoted(topic)} is there twice")
    return frame


def _names(assessors: Any) -> tuple[str, ...]:
    if isinstance(assessors, (int, np.integer)):
        check_whole("assessors", assessors, 1, MOST)
        return tuple(str(k + 1) for k in range(assessors))
    names = tuple(assessors)
    if not names or len(set(names)) < len(names) or isinstance(assessors, str):
        raise PolicyError("assessors are a number from 1, or different names")
    for name in names:
        if not isinstance(name, str) or not name or "/" in name or "\\" in name:
            raise PolicyError(f"assessor {quoted(name)} has no name that a file could bear")
    return names


def _shares(
    size: int, assessors: int, overlap: float, several: int, random: np.random.Generator
) -> tuple[Ints, Ints]:
    """Who is first to get each document of a topic, and how many get it."""
    turn = np.empty(size, dtype=np.int64)
    turn[random.permutation(size)] = np.arange(size)
    first = (turn + random.integers(assessors)) % assessors
    times = np.where(turn < round(overlap * size), several, 1)
    return first, times


def _homes(sizes: list[int], assessors: int) -> list[int]:
    """Deal whole topics, the largest first, each to who has least."""
    load, home = [0] * assessors, [0] * len(sizes)
    for topic in sorted(range(len(sizes)), key=lambda t: (-sizes[t], t)):
        home[topic] = min(range(assessors), key=load.__getitem__)
        load[home[topic]] += sizes[topic]
    return home
