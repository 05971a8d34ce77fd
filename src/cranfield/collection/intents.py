"""Intents (subtopics) of topics, and grades of documents by intent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.base.errors import InputError, quote, warn
from cranfield.base.text import inflect
from cranfield.collection.files.named_columns import TOPIC
from cranfield.collection.judged.rows import join_ranges
from cranfield.collection.qrels import Qrels, sort_topics
from cranfield.sources.chunks import Source
from cranfield.sources.columns import make_nested_reader, read_table
from cranfield.sources.schemas import FileColumn, declare_optional, make_line_schema
from cranfield.sources.text import read_xml
from cranfield.sources.values import ID, NUMBER

_IS_NAVIGATIONAL = {
    **dict.fromkeys(("inf", "informational", "faceted"), False),
    **dict.fromkeys(("nav", "navigational"), True),
}
_TYPE_NAMES = list(_IS_NAVIGATIONAL)

_INTENTS = make_line_schema(
    "table of intents",
    TOPIC,
    FileColumn("intent", ID),
    FileColumn("probability", NUMBER),
    declare_optional("type", ID),
    read_mapping=make_nested_reader(
        "topic", "intent", "probability", inner_form="intent: probability"
    ),
    suspicions={
        "probability of intent {intent} must be from 0 to 1, got {probability:g}": ~pl.col(
            "probability"
        ).is_between(0, 1),
        "intent {intent} occurs twice": pl.struct("topic", "intent").is_duplicated(),
        f"unknown type {{type}} of an intent; expected one of: {', '.join(_TYPE_NAMES)}": ~pl.col(
            "type"
        )
        .str.to_lowercase()
        .is_in(_TYPE_NAMES),
    },
)


@dataclass(frozen=True, eq=False, repr=False)
class IntentTable:
    """Intents of topics, with Pr(intent | topic) and types; returned by :func:`read_intents`.

    Users with a navigational intent look for one particular document; users with an informational
    intent look for information from any documents.
    """

    topics: tuple[str, ...]
    intents: tuple[str, ...]
    probabilities: Floats
    is_navigational: np.ndarray[Any, np.dtype[np.bool_]]
    name: str

    def __repr__(self) -> str:
        topics = inflect(len(set(self.topics)), "topic")
        return f"IntentTable({topics}, {inflect(len(self.intents), 'intent')})"


def read_intents(data: Any) -> IntentTable:
    """Read probabilities and types of the intents (subtopics) of topics.

    Parameters
    ----------
    data
        A dict `{topic: {intent: probability}}`, a data frame with columns `topic`, `intent`,
        `probability` and optionally `type` (`inf` or `nav`), or a file with these columns, as in
        NTCIR, in the formats of :func:`read_lengths`. Topics of the TREC Web track in XML are read,
        too; they contain types but no probabilities, so all intents of a topic are assumed to be
        equally likely.

    Raises
    ------
    InputError
        For unreadable input, a probability outside 0 to 1, an unknown type, or a repeated intent.

    Warns
    -----
    CranfieldWarning
        For topics whose probabilities do not sum to 1, apart from rounding to two decimals.

    Examples
    --------
    >>> read_intents({"q1": {"books": 0.75, "films": 0.25}})
    IntentTable(1 topic, 2 intents)
    """
    if isinstance(data, IntentTable):
        return data
    if isinstance(data, (str, PathLike)) and (source := Source(fspath(data))).suffix == ".xml":
        data = _read_topics(source)
    table = read_table(data, _INTENTS)
    frame = table.frame
    types = frame["type"].fill_null("inf").str.to_lowercase()
    _warn_of_sums(frame, table.source)
    return IntentTable(
        tuple(frame["topic"]),
        tuple(frame["intent"]),
        frame["probability"].to_numpy(),
        np.array([_IS_NAVIGATIONAL[name] for name in types], dtype=bool),
        table.source,
    )


def _warn_of_sums(frame: pl.DataFrame, name: str) -> None:
    """Warn of topics whose probabilities do not sum to 1, within 0.005 for each intent."""
    sums = frame.group_by("topic", maintain_order=True).agg(pl.col("probability").sum(), pl.len())
    deviating = sums.filter((pl.col("probability") - 1).abs() > 0.005 * pl.col("len") + 1e-6)
    if deviating.height:
        topic, probability_sum, _ = deviating.row(0)
        n_others = deviating.height - 1
        suffix = f" (also in {inflect(n_others, 'more topic')})" if n_others else ""
        warn(
            f"{name}: the probabilities of the intents of topic {quote(topic)} sum to"
            f" {probability_sum:.4g}, not 1{suffix}"
        )


def _read_topics(source: Source) -> list[dict[str, Any]]:
    """Read the subtopics of topics of the TREC Web track."""
    rows = []
    for topic in read_xml(source).walk():
        subtopics = [e.attributes for e in topic.children if e.tag == "subtopic"]
        for subtopic in subtopics:
            row = {"topic": topic.attributes.get("number", ""), "probability": 1 / len(subtopics)}
            labels = {"intent": subtopic.get("number", ""), "type": subtopic.get("type", "inf")}
            rows.append(row | labels)
    if not rows:
        raise InputError("expected topics with elements <subtopic>, got none", source=source.name)
    return rows


@dataclass(frozen=True, eq=False)
class Intents:
    """Grades by intent, stored sparsely: an entry for each grade other than 0 for an intent.

    Topics have up to n intents, at positions from 0.

    names: the intents of each topic, in order; intents without a document of grade >= 1 are
        excluded.
    exists: whether a topic has an intent at a position; shape (topics, n).
    probability: Pr(intent | topic), 0 without an intent; shape (topics, n). Probabilities that were
        read need not sum to 1, as intents may be excluded; otherwise intents are equally likely.
    is_navigational: whether the intent is navigational; shape (topics, n).
    starts: first entry of each judgment, and the number of all entries; shape (judgments + 1,).
    position, grade: intent (by its position) and grade of each entry, in order of judgment and
        intent.
    docs, row: document ids, and the document of each judgment as an index into `docs`.
    has_probabilities: whether the probabilities were read.
    n_differing: number of judged (topic, document) pairs whose grades differ between intents.
    """

    names: tuple[tuple[str, ...], ...]
    exists: NDArray[np.bool_]
    probability: Floats
    is_navigational: NDArray[np.bool_]
    starts: Ints
    position: Ints
    grade: NDArray[np.int32]
    docs: pl.Series
    row: Indices
    has_probabilities: bool = False
    n_differing: int = 0

    @property
    def n_intents(self) -> Ints:
        """Number of intents of each topic, shape (topics, 1)."""
        return np.asarray(self.exists.sum(axis=1)[:, None])

    def find_entries(self, judgments: Ints) -> tuple[Ints, Ints]:
        """Return the position in `judgments`, and the index, of each entry of these judgments."""
        return join_ranges(self.starts[judgments], self.starts[judgments + 1])

    def compute_grades(self, judgments: Ints) -> NDArray[np.int32]:
        """Return the grades of judgments by intent, 0 without an entry; shape (judgments, n)."""
        out = np.zeros((judgments.size, self.exists.shape[1]), dtype=np.int32)
        judgment, entry = self.find_entries(judgments)
        out[judgment, self.position[entry]] = self.grade[entry]
        return out

    def find_relevant_pairs(self, judgments: Ints, min_grade: int) -> tuple[Ints, Ints]:
        """Return pairs (judgment, position) of grade >= `min_grade`; a missing entry is grade 0."""
        if min_grade <= 0:
            judgment, position = np.nonzero(self.compute_grades(judgments) >= min_grade)
            return judgment, position
        judgment, entry = self.find_entries(judgments)
        is_relevant = self.grade[entry] >= min_grade
        return judgment[is_relevant], self.position[entry[is_relevant]]

    def compute_id_ranks(self, judgments: Ints) -> Ints:
        """Return the position of each judgment's document id in sorted order, to break ties."""
        order = np.empty(judgments.size, dtype=np.int64)
        order[self.docs.gather(self.row[judgments]).arg_sort().to_numpy()] = np.arange(order.size)
        return order

    def exclude_irrelevant(self, rel: int, topic: Ints) -> Intents:
        """Exclude intents without a grade >= `rel`; `topic` has the topic of each judgment."""
        if rel <= 1:
            return self
        exists = np.zeros_like(self.exists)
        judgment, position = self.find_relevant_pairs(np.arange(topic.size), rel)
        exists[topic[judgment], position] = True
        exists &= self.exists
        n_intents = np.maximum(exists.sum(axis=1), 1)[:, None]
        probability = self.probability if self.has_probabilities else 1.0 / n_intents
        return replace(self, exists=exists, probability=np.where(exists, probability, 0.0))

    def select_topics(self, codes: Ints, judgments: Ints) -> Intents:
        """Select topics, by code (-1 for a topic without judgments), and their judgments."""
        is_judged = codes >= 0
        judgment, entry = self.find_entries(judgments)
        return replace(
            self,
            names=tuple(self.names[code] if code >= 0 else () for code in codes.tolist()),
            exists=self.exists[codes] & is_judged[:, None],
            probability=np.where(is_judged[:, None], self.probability[codes], 0.0),
            is_navigational=self.is_navigational[codes] & is_judged[:, None],
            starts=np.searchsorted(judgment, np.arange(judgments.size + 1)),
            position=self.position[entry],
            grade=self.grade[entry],
            row=self.row[judgments],
        )


def build_intents(qrels: Qrels, merged: Qrels, table: IntentTable | None) -> Intents:
    """Return the grades by intent, in the order of `merged`, which is `qrels.merge_subtopics()`."""
    if qrels.subtopics is None:
        raise InputError("expected judgments by subtopic, got none", source=qrels.origin.name)
    subtopics, subtopic_codes = qrels.numbered_subtopics
    intent = qrels.codes * np.int64(len(subtopics)) + subtopic_codes
    # The (topic, intent) pairs with a relevant document, each as one number.
    relevant_intents = np.unique(intent[qrels.grades >= 1])
    intents_of_topic: dict[int, list[tuple[str, int]]] = {}
    for index, number in enumerate(relevant_intents.tolist()):
        code, subtopic_code = divmod(number, len(subtopics))
        intents_of_topic.setdefault(code, []).append((subtopics[subtopic_code], index))
    table_rows: dict[tuple[str, str], tuple[float, bool]] = {}
    if table is not None:
        keys = zip(table.topics, table.intents, strict=True)
        values = zip(table.probabilities.tolist(), table.is_navigational.tolist(), strict=True)
        table_rows = dict(zip(keys, values, strict=True))
    n_positions = max((len(names) for names in intents_of_topic.values()), default=1)
    shape = (len(qrels.topics), n_positions)
    exists, is_navigational = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    probability = np.zeros(shape)
    names: list[tuple[str, ...]] = []
    position = np.zeros(relevant_intents.size, dtype=np.int64)
    for code, topic in enumerate(qrels.topics):
        index_of = dict(intents_of_topic.get(code, []))
        intents = sort_topics(list(index_of))
        for i, name in enumerate(intents):
            position[index_of[name]] = i
            if table is not None and (topic, name) not in table_rows:
                reason = (
                    f"intent {quote(name)} has relevant documents, but no probability in the table"
                )
                raise InputError(reason, source=table.name, topic=topic)
            probability[code, i], is_navigational[code, i] = table_rows.get(
                (topic, name), (1.0 / len(intents), False)
            )
        exists[code, : len(intents)] = True
        names.append(tuple(intents))
    entry_rows = np.flatnonzero((qrels.grades != 0) & np.isin(intent, relevant_intents))
    entry_position = position[np.searchsorted(relevant_intents, intent[entry_rows])]
    judgment = qrels.documents[entry_rows]
    order = np.lexsort((entry_position, judgment))
    lowest_grades = merged.grades.copy()
    np.minimum.at(lowest_grades, qrels.documents, qrels.grades)
    return Intents(
        tuple(names),
        exists,
        probability,
        is_navigational,
        np.searchsorted(judgment[order], np.arange(len(merged) + 1)),
        entry_position[order],
        qrels.grades[entry_rows[order]],
        merged.docs,
        np.arange(len(merged)),
        table is not None,
        int((lowest_grades < merged.grades).sum()),
    )
