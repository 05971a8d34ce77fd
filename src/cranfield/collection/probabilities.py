"""Judgments as probability distributions over grades."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import InputError, warn
from cranfield.base.streams import make_named_stream
from cranfield.base.text import inflect, list_some
from cranfield.collection.files.named_columns import DOC, TOPIC
from cranfield.collection.pairs import number_values
from cranfield.collection.qrels import Qrels
from cranfield.sources.chunks import Origin
from cranfield.sources.columns import make_nested_reader, read_columns
from cranfield.sources.schemas import FileColumn, make_line_schema
from cranfield.sources.values import NUMBER, Cells
from cranfield.tabular import FrameMixin

DRAWS_PER_BLOCK = 50
"""Number of draws in a block; each block has its own stream of random numbers."""

_GRADE_COLUMN = re.compile(r"p(\d{1,9})")
_ROUNDING = 0.005
"""Maximum deviation of a sum of probabilities from 1 that is treated as rounding."""

_read_pairs = make_nested_reader("topic", "doc", "probability", inner_form="document: probability")


def _read_mapping(data: Mapping[Any, Any], source: str) -> Mapping[str, Cells]:
    columns = _read_pairs(data, source)
    if not any(isinstance(values, (list, tuple)) for values in columns["probability"]):
        return columns
    rows = columns.pop("probability")
    try:
        grade_columns = zip(*rows, strict=True)
        return columns | {f"p{k}": list(values) for k, values in enumerate(grade_columns)}
    except (TypeError, ValueError):
        sizes = {str(len(row)) if hasattr(row, "__len__") else "a single number" for row in rows}
        expected = "expected the same number of probabilities for each document"
        reason = f"{expected}, got {list_some(sorted(sizes), 3)}"
        raise InputError(reason, source=source) from None


_PROBABILITY = FileColumn("probability", NUMBER)
_IS_DUPLICATE = pl.struct("topic", "doc").is_duplicated()
_DUPLICATES = {"document {doc} occurs more than once in a topic": _IS_DUPLICATE}
_IS_INVALID = ~pl.col("probability").is_between(0, 1)
PROBABILITIES = make_line_schema(
    "table of probabilities of relevance",
    TOPIC,
    DOC,
    _PROBABILITY,
    read_mapping=_read_mapping,
    suspicions={
        **_DUPLICATES,
        "probability of document {doc} must be from 0 to 1, got {probability:g}; for graded"
        " relevance, use one column of probabilities per grade: p0, p1, ...": _IS_INVALID,
    },
)


@dataclass(frozen=True, eq=False, repr=False)
class Probabilities(FrameMixin):
    """Judgments as probabilities of grades; returned by :func:`read_probabilities`.

    Attributes
    ----------
    topics, codes
        Ids of the topics, and the topic of each judgment as an index into them.
    docs
        Document id of each judgment.
    grades
        The possible grades, 0 or higher, ascending; shape (grades,).
    values
        Probability of each grade; shape (judgments, grades). Rows sum to 1.
    origin
        Source of the rows, for messages.
    """

    topics: tuple[str, ...]
    codes: Ints
    docs: pl.Series
    grades: Ints
    values: Floats
    origin: Origin = field(default=Origin("probabilities of relevance"))

    def __post_init__(self) -> None:
        if self.grades[0] < 0 or (np.diff(self.grades) <= 0).any():
            reason = f"grades must be ascending integers >= 0, got {self.grades.tolist()}"
            raise InputError(reason, source=self.origin.name)
        is_outside = ~((self.values >= 0) & (self.values <= 1))
        if is_outside.any():
            row = int(is_outside.any(axis=1).argmax())
            value = self.values[row][is_outside[row]][-1]
            self._refuse_row(row, f"a probability must be from 0 to 1, got {value:g}")
        sums = self.values.sum(axis=1, keepdims=True)
        deviations = np.abs(sums[:, 0] - 1)
        if deviations.max() > _ROUNDING:
            row = int((deviations > _ROUNDING).argmax())
            reason = "the probabilities of all grades of a document must sum to 1"
            self._refuse_row(row, f"{reason}, got {sums[row, 0]:g}")
        if deviations.max() > 1e-9:
            documents = inflect(int((deviations > 1e-9).sum()), "document")
            warn(
                f"{self.origin.name}: the probabilities of the grades of {documents} do not sum to"
                f" 1 and were rescaled (largest deviation {deviations.max():.2g})"
            )
        if deviations.any():
            object.__setattr__(self, "values", self.values / sums)

    def _refuse_row(self, row: int, reason: str) -> None:
        raise self.origin.make_row_error(row, reason, self.topics[self.codes[row]], self.docs[row])

    def draw(self, block: int, seed: int) -> Ints:
        """Draw a block of independent grades; shape (`DRAWS_PER_BLOCK`, judgments).

        The random numbers of a topic depend only on the seed, the number of the block, and the ids
        of the topic and its documents.
        """
        bounds = np.cumsum(self.values[:, :-1], axis=1)
        levels = np.zeros((DRAWS_PER_BLOCK, len(self)), dtype=np.int64)
        by_doc = self.docs.arg_sort().to_numpy()
        for code, topic in enumerate(self.topics):
            rows = by_doc[self.codes[by_doc] == code]
            uniforms = make_named_stream(seed, topic, block).random((DRAWS_PER_BLOCK, rows.size))
            for level in range(bounds.shape[1]):
                levels[:, rows] += uniforms >= bounds[rows, level]
        return self.grades[levels]

    def compute_tail_probabilities(self, grade: int) -> Floats:
        """Return the probability of this grade or a higher one; shape (judgments,)."""
        return np.asarray(self.values[:, self.grades >= grade].sum(axis=1).clip(0.0, 1.0))

    def to_qrels(self, grades: Ints) -> Qrels:
        """Return judgments with grades from an array of shape (judgments,)."""
        columns = {"row": np.arange(len(self))}
        arrays = self.codes.astype(np.int32), self.docs, grades.astype(np.int32)
        return Qrels(self.topics, *arrays, origin=self.origin, columns=columns)

    def __len__(self) -> int:
        return len(self.docs)

    def __repr__(self) -> str:
        size = f"{inflect(len(self.topics), 'topic')}, {inflect(len(self), 'document')}"
        return f"Probabilities({size}, grades {', '.join(map(str, self.grades.tolist()))})"

    def to_polars(self) -> pl.DataFrame:
        """Return a data frame: topic, doc, and the probability of each grade, such as p0 and p1."""
        topics = pl.Series(self.topics, dtype=pl.String).gather(self.codes)
        by_grade = {f"p{grade}": self.values[:, k] for k, grade in enumerate(self.grades.tolist())}
        return pl.DataFrame({"topic": topics, "doc": self.docs, **by_grade})


def read_probabilities(data: Any) -> Probabilities:
    """Read judgments that are probabilities of relevance, or of each grade.

    Parameters
    ----------
    data
        A path, a data frame or rows, with the columns `topic`, `doc` and `probability` (of
        relevance), or `topic`, `doc`, `p0`, `p1`, `p2`, ... (of each grade); text without a header
        (topic, document, probability); a dict `{topic: {document: probability}}` or
        `{topic: {document: (p0, p1, ...)}}`; or :class:`Qrels`, whose grades (0 for those below 0)
        have probability 1.

    Returns
    -------
    Probabilities
        The probabilities. Documents without a row are unjudged; documents with probability 0 are
        judged.

    Raises
    ------
    InputError
        For unreadable input; for a probability outside 0 to 1, such as an expected grade; for
        probabilities of grades that do not sum to 1 within 0.005 (smaller deviations are rescaled
        with a warning); or for a repeated document.

    Examples
    --------
    >>> read_probabilities({"q1": {"d1": (0.2, 0.3, 0.5)}})
    Probabilities(1 topic, 1 document, grades 0, 1, 2)
    """
    if isinstance(data, Probabilities):
        return data
    if isinstance(data, Qrels):
        merged = data.merge_subtopics()
        clipped_grades = np.maximum(merged.grades, 0).astype(np.int64)
        grades = np.union1d([0, 1], clipped_grades)
        values = (clipped_grades[:, None] == grades).astype(np.float64)
        ids = merged.topics, merged.codes.astype(np.int64), merged.docs
        return Probabilities(*ids, grades, values, merged.origin)
    columns = read_columns(data, PROBABILITIES)
    names = [str(name) for name in columns.names]
    grade_names = sorted(filter(_GRADE_COLUMN.fullmatch, names), key=lambda name: int(name[1:]))
    schema = PROBABILITIES
    if grade_names:
        if _PROBABILITY.find_in([name for name in names if name not in grade_names]):
            reason = f"expected a column probability, or {', '.join(grade_names)}, got both"
            raise InputError(reason, source=columns.source)
        grade_columns = (FileColumn(name, NUMBER, None) for name in grade_names)
        schema = replace(schema, columns=(TOPIC, DOC, *grade_columns), suspicions=_DUPLICATES)
    frame = columns.make_table(schema).frame
    if grade_names:
        grades = np.array([int(name[1:]) for name in grade_names])
        values = frame.select(grade_names)
    else:
        grades, values = np.arange(2), frame.select(p0=1 - pl.col("probability"), p1="probability")
    topics, codes = number_values(frame["topic"])
    origin = Origin(columns.source, columns.lines)
    ids = tuple(topics), codes.astype(np.int64), frame["doc"]
    return Probabilities(*ids, grades, values.to_numpy(), origin)
