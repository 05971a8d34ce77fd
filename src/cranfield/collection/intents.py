"""Intents: which documents answer which of the things that a topic may mean."""

from __future__ import annotations

from dataclasses import dataclass, replace
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Indices, Ints
from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.text import counted
from cranfield.collection.files.named_columns import TOPIC
from cranfield.collection.judged.rows import ranges
from cranfield.collection.qrels import Qrels, topic_order
from cranfield.sources.chunks import Source
from cranfield.sources.columns import read_table, three_columns
from cranfield.sources.schemas import Column, optional, schema_of_lines
from cranfield.sources.text import XmlReader
from cranfield.sources.values import ID, NUMBER

_TYPES = {
    **dict.fromkeys(("inf", "informational", "faceted"), False),
    **dict.fromkeys(("nav", "navigational"), True),
}


_INTENTS = schema_of_lines(
    "table of intents",
    TOPIC,
    Column("intent", ID),
    Column("probability", NUMBER),
    optional("type", ID),
    mapping=lambda data, source: three_columns(
        data, ("topic", "intent", "probability"), "intent: probability", source
    ),
)


@dataclass(frozen=True, eq=False, repr=False)
class IntentTable:
    """Intents of topics, with Pr(intent | topic) and types; made by :func:`read_intents`.

    With a navigational intent the user wants one certain document, and not information.
    """

    topics: tuple[str, ...]
    intents: tuple[str, ...]
    probabilities: Floats
    navigational: np.ndarray[Any, np.dtype[np.bool_]]
    name: str

    def __repr__(self) -> str:
        topics = counted(len(set(self.topics)), "topic")
        return f"IntentTable({topics}, {counted(len(self.intents), 'intent')})"


def read_intents(data: Any) -> IntentTable:
    """Read probabilities and types of the intents (subtopics) of topics.

    Parameters
    ----------
    data
        A dict `{topic: {intent: probability}}`, a data frame with columns `topic`, `intent`,
        `probability` and perhaps `type`, or a file, as for :func:`read_lengths`, whose lines are
        topic, intent, probability and perhaps type, as NTCIR has them. A type is `inf` or `nav`.
        Topics of the TREC Web track as XML give types; there the intents are equally likely.

    Raises
    ------
    InputError
        For what cannot be read, a probability outside 0 to 1, an unknown type, an intent twice.

    Warns
    -----
    CranfieldWarning
        For topics whose probabilities do not add up to 1, as far as two decimals can.

    Examples
    --------
    >>> read_intents({"q1": {"books": 0.75, "films": 0.25}})
    IntentTable(1 topic, 2 intents)
    """
    if isinstance(data, IntentTable):
        return data
    if isinstance(data, (str, PathLike)) and (source := Source(fspath(data))).suffix == ".xml":
        data = _of_topics(source)
    table = read_table(data, _INTENTS)
    frame = table.frame
    kinds = frame["type"].fill_null("inf").str.to_lowercase()
    table.refuse(
        ~frame["probability"].is_between(0, 1),
        lambda row: (
            f"probability {row['probability']:g} of intent {quoted(row['intent'])} is not"
            " from 0 to 1"
        ),
    )
    table.refuse(
        frame.select("topic", "intent").is_duplicated(),
        lambda row: f"intent {quoted(row['intent'])} occurs twice",
    )
    table.refuse(
        ~kinds.is_in([*_TYPES]),
        lambda row: (
            f"type of an intent must be one of: {', '.join(_TYPES)}; got {quoted(row['type'])}"
        ),
    )
    _warn_of_sums(frame, table.source)
    return IntentTable(
        tuple(frame["topic"]),
        tuple(frame["intent"]),
        frame["probability"].to_numpy(),
        np.array([_TYPES[kind] for kind in kinds], dtype=bool),
        table.source,
    )


def _warn_of_sums(frame: pl.DataFrame, name: str) -> None:
    """Warn of probabilities that do not add up to 1; each may be off by half a hundredth."""
    sums = frame.group_by("topic", maintain_order=True).agg(pl.col("probability").sum(), pl.len())
    off = sums.filter((pl.col("probability") - 1).abs() > 0.005 * pl.col("len") + 1e-6)
    if off.height:
        more = f", and those of {counted(off.height - 1, 'more topic')}" if off.height > 1 else ""
        warn(
            f"{name}: the probabilities of the intents of topic {quoted(off['topic'][0])}"
            f" add up to {off['probability'][0]:.4g}, not 1{more}",
            stacklevel=3,
        )


class _TopicReader(XmlReader):
    """Takes topics of the TREC Web track apart."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.topics: dict[str, list[tuple[str, str]]] = {}

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "topic":
            self.topics[attributes.get("number", "")] = []
        elif tag == "subtopic" and self.topics:
            subtopics = self.topics[next(reversed(self.topics))]
            subtopics.append((attributes.get("number", ""), attributes.get("type", "inf")))


def _of_topics(source: Source) -> list[dict[str, Any]]:
    reader = _TopicReader(source)
    reader.parse()
    rows = [
        {"topic": topic, "intent": name, "probability": 1 / len(subtopics), "type": kind}
        for topic, subtopics in reader.topics.items()
        for name, kind in subtopics
    ]
    if not rows:
        raise InputError("contains no subtopics", source=source.name)
    return rows


@dataclass(frozen=True, eq=False)
class Intents:
    """Grades by intent. Topics have up to n intents, each a place from 0 on.

    Most documents answer few of the intents, or none: there is an entry for each grade but 0.

    names: the intents of each topic, in order; those without a relevant document are excluded.
    exists: whether a topic has an intent in this place; shape (topics, n).
    probability: Pr(intent | topic), 0 where there is none; shape (topics, n). They add up to 1
        if none were given, else to what was given for the intents that have a relevant
        document.
    navigational: whether it is a navigational intent; shape (topics, n).
    starts: where the entries of each judgment begin, and where the last ones end; shape
        (judgments + 1,).
    place, grade: intent and grade of each entry, in order of judgment and place.
    docs: document ids, and `row` that of each judgment, an index into them; shape (judgments,).
    given: whether the probabilities were given.
    differing: documents with different grades for several intents.
    """

    names: tuple[tuple[str, ...], ...]
    exists: NDArray[np.bool_]
    probability: Floats
    navigational: NDArray[np.bool_]
    starts: Ints
    place: Ints
    grade: NDArray[np.int32]
    docs: pl.Series
    row: Indices
    given: bool = False
    differing: int = 0

    @property
    def count(self) -> Ints:
        return np.asarray(self.exists.sum(axis=1)[:, None])

    def entries(self, judgments: Ints) -> tuple[Ints, Ints]:
        """Return the entries of judgments: the judgment of each entry, and its number."""
        return ranges(self.starts[judgments], self.starts[judgments + 1])

    def grades(self, judgments: Ints) -> NDArray[np.int32]:
        """Grade of some judgments for each intent, 0 where there is none; shape (some, n)."""
        out = np.zeros((judgments.size, self.exists.shape[1]), dtype=np.int32)
        of, entry = self.entries(judgments)
        out[of, self.place[entry]] = self.grade[entry]
        return out

    def answers(self, judgments: Ints, low: int) -> tuple[Ints, Ints]:
        """Return the pairs of judgment and intent with a grade >= `low`, in order."""
        if low <= 0:
            of, place = np.nonzero(self.grades(judgments) >= low)
            return of, place
        of, entry = self.entries(judgments)
        good = self.grade[entry] >= low
        return of[good], self.place[entry[good]]

    def places_of_ids(self, judgments: Ints) -> Ints:
        """Place of the document ids of some judgments among themselves, for ties."""
        order = np.empty(judgments.size, dtype=np.int64)
        order[self.docs.gather(self.row[judgments]).arg_sort().to_numpy()] = np.arange(order.size)
        return order

    def relevant(self, rel: int, topic: Ints) -> Intents:
        """Leave out the intents of which no document has a grade of at least `rel`."""
        if rel <= 1:
            return self
        exists = np.zeros_like(self.exists)
        of, place = self.answers(np.arange(topic.size), rel)
        exists[topic[of], place] = True
        exists &= self.exists
        left = np.maximum(exists.sum(axis=1), 1)[:, None]
        likely = self.probability if self.given else 1.0 / left
        return replace(self, exists=exists, probability=np.where(exists, likely, 0.0))

    def of_topics(self, codes: Ints, judgments: Ints) -> Intents:
        """Put topics and judgments in another order; topic -1 is one without judgments."""
        known = codes >= 0
        of, entry = self.entries(judgments)
        return replace(
            self,
            names=tuple(self.names[code] if code >= 0 else () for code in codes.tolist()),
            exists=self.exists[codes] & known[:, None],
            probability=np.where(known[:, None], self.probability[codes], 0.0),
            navigational=self.navigational[codes] & known[:, None],
            starts=np.searchsorted(of, np.arange(judgments.size + 1)),
            place=self.place[entry],
            grade=self.grade[entry],
            row=self.row[judgments],
        )


def intents_of(qrels: Qrels, flat: Qrels, table: IntentTable | None) -> Intents:
    """Lay out the grades by intent, in the order of the flat judgments."""
    if qrels.subtopics is None:
        raise InputError("has no information on subtopics", source=qrels.origin.name)
    subtopics, number = qrels.numbered_subtopics
    intent = qrels.codes * np.int64(len(subtopics)) + number
    # Intents of a topic with a relevant document, each as one number.
    known = np.unique(intent[qrels.grades >= 1])
    found: dict[int, list[tuple[str, int]]] = {}
    for one, row in zip(known.tolist(), range(known.size), strict=True):
        code, name = divmod(one, len(subtopics))
        found.setdefault(code, []).append((subtopics[name], row))
    given = _given(table)
    size = max(1, *(len(names) for names in found.values())) if found else 1
    shape = (len(qrels.topics), size)
    exists, navigational = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    probability = np.zeros(shape)
    names: list[tuple[str, ...]] = []
    place = np.zeros(known.size, dtype=np.int64)
    for code, topic in enumerate(qrels.topics):
        rows = dict(found.get(code, []))
        here = topic_order(list(rows))
        for i, name in enumerate(here):
            place[rows[name]] = i
            if table is not None and (topic, name) not in given:
                raise InputError(
                    f"intent {quoted(name)} has relevant documents, but no probability",
                    source=table.name,
                    topic=topic,
                )
            probability[code, i], navigational[code, i] = given.get(
                (topic, name), (1.0 / len(here), False)
            )
        exists[code, : len(here)] = True
        names.append(tuple(here))
    asked = np.flatnonzero((qrels.grades != 0) & np.isin(intent, known))
    column = place[np.searchsorted(known, intent[asked])]
    judgment = qrels.documents[asked]
    order = np.lexsort((column, judgment))
    lowest = flat.grades.copy()
    np.minimum.at(lowest, qrels.documents, qrels.grades)
    return Intents(
        tuple(names),
        exists,
        probability,
        navigational,
        np.searchsorted(judgment[order], np.arange(len(flat) + 1)),
        column[order],
        qrels.grades[asked[order]],
        flat.docs,
        np.arange(len(flat)),
        table is not None,
        int((lowest < flat.grades).sum()),
    )


def _given(table: IntentTable | None) -> dict[tuple[str, str], tuple[float, bool]]:
    if table is None:
        return {}
    keys = zip(table.topics, table.intents, strict=True)
    values = zip(table.probabilities.tolist(), table.navigational.tolist(), strict=True)
    return dict(zip(keys, values, strict=True))
