"""Relevance judgments: the grade of each judged document of each topic."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Indices
from cranfield.base.errors import CranfieldError, InputError, quote
from cranfield.base.text import inflect
from cranfield.collection.pairs import (
    HASH_MULTIPLIER,
    Codes,
    Keys,
    ReadPairs,
    compute_pair_keys,
    find_first_rows,
    find_label_positions,
    make_topic_column,
    number_values,
    refuse_duplicates,
)
from cranfield.collection.run import find_selected_rows
from cranfield.sources.chunks import Origin

_NORMAL = pl.col("doc").str.normalize("NFKC").str.strip_chars().str.to_lowercase()
NORMAL_FORM = _NORMAL.str.strip_suffix(".0").str.replace_all(r"(^|\D)0+(\d)", "$1$2")
"""Normal form of document ids, equal for ids that differ only in `coverage.ID_DIFFERENCES`."""

N_COMPARED_TOPICS = 10
"""Number of topics, the first by code, whose document ids are compared in normal form."""


@dataclass(frozen=True, eq=False)
class Qrels(ReadPairs):
    """Relevance judgments; returned by :func:`read_qrels`.

    Attributes
    ----------
    topics
        Topic ids, by code, in order of appearance.
    codes
        Topic of each judgment, an index into `topics`; shape (judgments,).
    docs
        Document id of each judgment, as a polars string column.
    grades
        Relevance grade of each judgment. Grade 0 means not relevant. Grades below 0 mean not
        relevant, too, or not judged: with the column `stratum`, or by the policy `negative`.
    subtopics
        Subtopic of each judgment; None if the iteration column does not hold subtopics, see
        :func:`read_qrels`.
    origin
        Source of the rows, for messages.
    columns
        Other columns by name, with a value per judgment: `class` (equivalence class), `stratum` and
        `inclusion` (of sampled judgments).

    Examples
    --------
    >>> from cranfield import read_qrels
    >>> qrels = read_qrels({"q1": {"d1": 1, "d2": 0}})
    >>> qrels
    Qrels(1 topic, 2 judgments, grades 0 to 1)
    """

    topics: tuple[str, ...]
    codes: Codes
    docs: pl.Series
    grades: NDArray[np.int32]
    subtopics: pl.Series | None = None
    origin: Origin = field(default=Origin("judgments"))
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, values in self.columns.items():
            if np.shape(values) != (len(self.docs),):
                expected = f"expected {len(self.docs)} values in the column {quote(name)}"
                reason = f"{expected}, one per judgment, got shape {np.shape(values)}"
                raise InputError(reason, source=self.origin.name)
        if self.subtopics is None:
            refuse_duplicates(self, self.keys, self.codes, "document judged")
        else:
            if self.subtopics.dtype != pl.String or self.subtopics.len() != len(self.docs):
                got = f"{self.subtopics.len()} values of type {self.subtopics.dtype}"
                reason = f"expected {len(self.docs)} subtopics as text, one per judgment, got {got}"
                raise InputError(reason, source=self.origin.name)
            # A document may occur once for each subtopic.
            names, subtopic_codes = self.numbered_subtopics
            codes = self.codes * np.int64(len(names)) + subtopic_codes
            keys = self.docs.hash().to_numpy() ^ (codes.astype(np.uint64) * HASH_MULTIPLIER)
            refuse_duplicates(self, keys, codes, "document judged for the same subtopic")

    @cached_property
    def numbered_subtopics(self) -> tuple[pl.Series, NDArray[np.int64]]:
        """The distinct subtopics, and the subtopic of each judgment as an index into them."""
        if self.subtopics is None:
            raise CranfieldError("expected judgments by subtopic, got judgments without subtopics")
        names, codes = number_values(self.subtopics)
        return names, codes.astype(np.int64)

    @cached_property
    def documents(self) -> Indices:
        """Index of each judgment's (topic, document) pair, in order of appearance."""
        first_rows = find_first_rows(self.keys, self.docs, self.codes)
        is_first = first_rows == np.arange(first_rows.size)
        return np.asarray((np.cumsum(is_first) - 1)[first_rows])

    @cached_property
    def topic_positions(self) -> NDArray[np.int64]:
        """Position of each topic, by code, in sorted order; see :func:`sort_topics`."""
        return find_label_positions(self.topics, sort_topics(self.topics))

    @cached_property
    def forms(self) -> pl.DataFrame:
        """Row, topic code, document and its normal form, for the topics that are compared."""
        rows = np.flatnonzero(self.codes < N_COMPARED_TOPICS)
        columns = {"row": rows, "topic": self.codes[rows], "doc": self.docs.gather(rows)}
        return pl.DataFrame(columns).with_columns(form=NORMAL_FORM)

    @cached_property
    def form_keys(self) -> Keys:
        """Sorted keys of topic and normal form of the document; a search is faster than a join."""
        forms, codes = self.forms["form"], self.forms["topic"].to_numpy()
        return np.sort(compute_pair_keys(forms, codes, self.topics))

    @property
    def max_grade(self) -> int:
        """The highest grade that occurs, also for documents that count as unjudged."""
        return int(self.grades.max())

    def find_lowest_judged_grade(self, negative: str = "judged") -> int:
        """Return the lowest grade that counts as judged, under the policy for grades below 0.

        In a stratified sample, grades below 0 mark documents that were not sampled.
        """
        return 0 if negative == "unjudged" or "stratum" in self.columns else -(2**31)

    def merge_subtopics(self) -> Qrels:
        """Return the judgments; if they have subtopics, only the highest grade of each document."""
        if self.subtopics is None:
            return self
        first_rows = np.flatnonzero(np.diff(np.maximum.accumulate(self.documents), prepend=-1))
        highest_grades = self.grades[first_rows]
        np.maximum.at(highest_grades, self.documents, self.grades)
        return self._select(first_rows, grades=highest_grades, subtopics=None, columns={})

    def restrict(self, mask: NDArray[np.bool_]) -> Qrels:
        """Return the selected judgments; topics without selected judgments are kept.

        Parameters
        ----------
        mask
            True for each judgment to keep; shape (judgments,).

        Raises
        ------
        InputError
            If no judgment is selected.
        PolicyError
            For an array of another shape or type.

        Examples
        --------
        >>> from cranfield import read_qrels
        >>> qrels = read_qrels({"q1": {"d1": 1, "d2": 0}, "q2": {"d1": 2}})
        >>> qrels.restrict((qrels.docs == "d2").to_numpy())
        Qrels(2 topics, 1 judgment, grades 0 to 0)
        """
        rows = find_selected_rows(mask, len(self))
        if not rows.size:
            raise InputError("expected at least one judgment, got none", source=self.origin.name)
        return self._select(rows)

    def __repr__(self) -> str:
        size = f"{inflect(len(self.topics), 'topic')}, {inflect(len(self), 'judgment')}"
        return f"Qrels({size}, grades {self.grades.min()} to {self.grades.max()})"

    def to_polars(self) -> pl.DataFrame:
        """Return the judgments as a data frame: topic, doc, grade, and any other columns."""
        columns = {"topic": make_topic_column(self), "doc": self.docs, "grade": self.grades}
        frame = pl.DataFrame(columns)
        if self.subtopics is not None:
            frame = frame.with_columns(subtopic=self.subtopics)
        return frame.with_columns(**{name: pl.Series(v) for name, v in self.columns.items()})


def sort_topics(topics: Sequence[str]) -> list[str]:
    """Sort topics: in numeric order if all have 1 to 18 digits only, else by bytes."""
    if all(topic.isascii() and topic.isdecimal() and len(topic) < 19 for topic in topics):
        # Two sorts, as tuples as keys would trigger garbage collection.
        return sorted(sorted(topics), key=int)
    return sorted(topics)


def number_sorted_values(names: pl.Series) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the distinct names sorted by :func:`sort_topics`, and the index of each row's name."""
    labels = sort_topics(names.unique().to_list())
    codes = names.replace_strict(labels, range(len(labels)), return_dtype=pl.Int64)
    return tuple(labels), codes.to_numpy()
