"""Sheets for assessors: the documents that each assessor judges, in order."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.errors import (
    InputError,
    PolicyError,
    check_choice,
    check_integer,
    check_number,
    quote,
)
from cranfield.base.kinds import Integer, OneOf, check_arguments
from cranfield.base.streams import make_named_stream
from cranfield.base.text import inflect
from cranfield.collection.files.writing import write_lines, write_table
from cranfield.collection.judged.rows import join_ranges
from cranfield.collection.qrels import sort_topics
from cranfield.result import Column, Columns, TableResult
from cranfield.sources.chunks import Source

ARRANGEMENTS = ("judging", "id", "shuffled")
FORMATS = ("tsv", "csv", "jsonl", "trec")
DISTRIBUTION_UNITS = ("document", "topic")

MAX_ASSESSORS = 10_000  # Maximum number of assessors without names
_ORDER_STREAM, _ASSESSOR_STREAM = 0, 1  # Random streams of a topic: order on sheets, assessors


@dataclass(frozen=True, eq=False, repr=False)
class JudgingSheets(TableResult):
    """Documents to judge, sheet by sheet; returned by :func:`sheets`.

    Attributes
    ----------
    rows
        Data frame with a row for each assessor and document.
    assessors
        Names of the assessors.
    n_documents, n_repeated
        Number of documents to judge, and number of documents that several assessors judge.
    arranged, seed
        Order of the documents on a sheet, and seed of the random numbers.
    """

    name: ClassVar[str] = "sheets"
    columns: ClassVar[Columns] = {
        "assessor": Column("Assessor of the document.", key=True),
        "topic": Column("Topic of the document.", key=True),
        "doc": Column("Document to judge.", key=True),
    }

    assessors: tuple[str, ...]
    n_documents: int
    n_repeated: int
    arranged: str
    seed: int

    def select_sheet(self, assessor: str) -> pl.DataFrame:
        """Return the sheet of an assessor, a data frame with columns topic and doc."""
        check_choice("assessor", assessor, self.assessors)
        return self.rows.filter(assessor=assessor).drop("assessor")

    def write(self, path: str | PathLike[str], *, format: str = "auto") -> list[str]:
        """Write each sheet to a file, completely or not at all, and return the file names.

        Parameters
        ----------
        path
            File name; with several assessors it must contain `{}`, which is replaced by the name of
            each. Files are compressed by their suffix; `-` is standard output.
        format
            `tsv`, `csv` or `jsonl` with an empty column `grade`; :func:`read_qrels` reads the file
            once the grades are filled in. Or `trec`, with lines of topic, 0 and document, to which
            a grade can be appended. By default (`auto`) the format follows from the suffix of the
            file name; other suffixes mean `trec`.

        Raises
        ------
        PolicyError
            For an unknown format, and a file name without `{}` for several sheets.
        InputError
            For an existing file other than a sheet without grades: the grades of assessors are
            never overwritten.
        CranfieldError
            If an id contains a blank, which the format `trec` does not allow.
        """
        check_choice("format", format, ("auto", *FORMATS))
        name, n_assessors = fspath(path), len(self.assessors)
        if n_assessors > 1 and "{}" not in name:
            raise PolicyError(
                f"expected {{}} in the file name for {n_assessors} assessors, got {quote(name)}"
            )
        if format == "auto":
            suffix = Source(name).suffix.removeprefix(".")
            format = suffix if suffix in FORMATS else "trec"
        files = {assessor: name.replace("{}", assessor) for assessor in self.assessors}
        for file in files.values():
            if file != "-" and Path(file).is_file() and not _is_ungraded(file):
                reason = "expected a sheet without grades, got grades or other content"
                raise InputError(f"{reason}; move the file, or use another name", source=file)
        for assessor, file in files.items():
            rows = self.select_sheet(assessor)
            if format == "trec":
                write_lines(rows.select("topic", pl.lit("0").alias("iteration"), "doc"), file)
            else:
                write_table(rows.with_columns(grade=pl.lit(None, pl.Int32)), file, format)
        return list(files.values())

    def heading(self) -> list[str]:
        return [
            f"{inflect(self.n_documents, 'document')} for"
            f" {inflect(len(self.assessors), 'assessor')}, {self.n_repeated:,} judged by several"
        ]


def sheets(
    documents: Any,
    *,
    arranged: Annotated[str, OneOf(ARRANGEMENTS)] = "judging",
    assessors: int | Iterable[str] = 1,
    by: Annotated[str, OneOf(DISTRIBUTION_UNITS)] = "document",
    overlap: float = 0.0,
    n_each: int | None = None,
    seed: Annotated[int, Integer(0)] = 0,
) -> JudgingSheets:
    """Distribute documents among assessors.

    Parameters
    ----------
    documents
        A :class:`Pool`, :class:`Order`, :class:`Sample`, :class:`Unjudged` or
        :class:`NextDocuments`; or a data frame with columns topic and doc, and distinct rows.
    arranged
        Order of the documents on the sheets. `judging` (default): in the order of `documents`.
        `id`: by topic, then by document id. `shuffled`: by topic, then at random, so that positions
        do not reveal ranks.
    assessors
        Number of assessors, or their names.
    by
        How to distribute documents among the assessors, before those of `overlap` are repeated.
        `document` (default): the documents of each topic, at random and as evenly as possible.
        `topic`: entire topics, largest first, each to the assessor with the fewest documents.
    overlap
        Proportion, from 0 to 1, of the documents of a topic (rounded) that are on all sheets.
    n_each
        Number of sheets, instead of all, that have each of these documents.
    seed
        Seed of the random numbers. Each topic has its own random stream.

    Raises
    ------
    PolicyError
        For invalid options, no assessors, invalid or repeated names, and missing or repeated pairs.

    Examples
    --------
    >>> import cranfield as cf
    >>> pool = cf.assess.pool({"a": {"q": {"x": 3.0, "y": 2.0, "z": 1.0}}}, 3)
    >>> sheets = cf.assess.sheets(pool, assessors=["ann", "bob"], overlap=0.4)
    >>> sheets
    JudgingSheets(3 documents for 2 assessors, 1 judged by several)
    >>> sheets.select_sheet("ann").rows()
    [('q', 'y'), ('q', 'z')]
    """
    check_arguments(sheets, locals())
    names = _check_assessors(assessors)
    check_number("overlap", overlap, 0, 1)
    n_each = len(names) if n_each is None else n_each
    check_integer("n_each", n_each, 1, len(names))
    frame = _read_pairs(documents)
    groups = frame.with_row_index("row").group_by("topic", maintain_order=True).agg("row")
    rows_of_topic = {str(topic): np.array(rows) for topic, rows in groups.iter_rows()}
    topics = sort_topics(list(rows_of_topic))
    loads, assessor_of_topic = [0] * len(names), dict[str, int]()
    for topic in sorted(topics, key=lambda topic: -rows_of_topic[topic].size):
        assessor_of_topic[topic] = min(range(len(names)), key=loads.__getitem__)
        loads[assessor_of_topic[topic]] += rows_of_topic[topic].size
    # Rows of each array: assessor, position of the topic, position of the document, row in `frame`.
    assignments = [np.zeros((4, 0), dtype=np.int64)]
    for topic_index, topic in enumerate(topics):
        rows, rng = rows_of_topic[topic], make_named_stream(seed, topic, _ASSESSOR_STREAM)
        order = np.argsort(rng.permutation(rows.size))
        first_assessor = (order + rng.integers(len(names))) % len(names)
        counts = np.where(order < round(overlap * rows.size), n_each, 1)
        if by == "topic":
            first_assessor[:] = assessor_of_topic[topic]
        position = rows
        if arranged == "id":
            position = frame["doc"][rows].rank("ordinal").to_numpy()
        elif arranged == "shuffled":
            position = make_named_stream(seed, topic, _ORDER_STREAM).permutation(rows.size)
        doc, repetition = join_ranges(np.zeros_like(counts), counts)
        assessor = (first_assessor[doc] + repetition) % len(names)
        topic_position = np.full(doc.size, 0 if arranged == "judging" else topic_index)
        assignments.append(np.stack([assessor, topic_position, position[doc], rows[doc]]))
    assignment_table = np.concatenate(assignments, axis=1)
    assessor, _, _, row = assignment_table[:, np.lexsort(assignment_table[2::-1])]
    assessor_names = pl.Series("assessor", names, dtype=pl.String).gather(assessor)
    n_repeated = (row.size - frame.height) // max(n_each - 1, 1)
    sheet_rows = frame[row].select(assessor_names, "topic", "doc")
    return JudgingSheets(sheet_rows, names, frame.height, n_repeated, arranged, int(seed))


_UNGRADED_LINE = re.compile(r'topic[\t,]doc[\t,]grade|.*[\t,]|\{.*"grade":null\}|\S+ 0 \S+|')
"""Pattern of a line without a grade, in any format of sheets."""


def _is_ungraded(file: str) -> bool:
    """Return True if every line has the form of a line without a grade."""
    lines = Source(file).read().decode(errors="replace").split("\n")
    return all(_UNGRADED_LINE.fullmatch(line.rstrip("\r")) for line in lines)


def _read_pairs(documents: Any) -> pl.DataFrame:
    frame = documents.to_polars() if hasattr(documents, "to_polars") else documents
    if not isinstance(frame, pl.DataFrame) or not {"topic", "doc"} <= set(frame.columns):
        columns = getattr(frame, "columns", type(documents).__name__)
        raise PolicyError(f"expected a data frame with columns topic and doc, got {columns}")
    frame = frame.select(pl.col("topic", "doc").cast(pl.String))
    for row in frame.select(pl.any_horizontal(pl.all().is_null()).arg_true()).to_series()[:1]:
        reason = f"expected a topic and a document in each row, got null in row {row + 1:,}"
        raise PolicyError(reason)
    if frame.is_duplicated().any():
        topic, doc = frame.filter(frame.is_duplicated()).row(0)
        raise PolicyError(
            "expected distinct pairs of topic and document, got"
            f" {quote(doc)} of topic {quote(topic)} twice"
        )
    return frame


def _check_assessors(assessors: Any) -> tuple[str, ...]:
    if isinstance(assessors, (int, np.integer)):
        check_integer("assessors", assessors, 1, MAX_ASSESSORS)
        return tuple(str(k + 1) for k in range(assessors))
    names = tuple(assessors)
    if not names or len(set(names)) < len(names) or isinstance(assessors, str):
        expected = "assessors must be a positive integer or a list of distinct names"
        raise PolicyError(f"{expected}, got {quote(assessors)}")
    for name in names:
        if not isinstance(name, str) or not name or "/" in name or "\\" in name:
            expected = "the name of an assessor must be non-empty text without / and \\"
            raise PolicyError(f"{expected}, got {quote(name)}")
    return names
