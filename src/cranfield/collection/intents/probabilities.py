"""Probabilities and types of the intents of topics."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.words import counted
from cranfield.collection.files.named_columns import TOPIC
from cranfield.sources.chunks import Source
from cranfield.sources.columns import three_columns
from cranfield.sources.schemas import Column, optional, schema_of_lines
from cranfield.sources.tables import read_table
from cranfield.sources.values import ID, NUMBER
from cranfield.sources.xml import XmlReader

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
        lambda row: f"intent {quoted(row['intent'])} twice",
    )
    table.refuse(
        ~kinds.is_in([*_TYPES]),
        lambda row: f"type {quoted(row['type'])} of an intent is none of {', '.join(_TYPES)}",
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
        raise InputError("holds no subtopics of topics", source=source.name)
    return rows
