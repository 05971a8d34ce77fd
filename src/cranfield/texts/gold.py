"""Gold nuggets: the facts of a good answer to each topic."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isnan
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import InputError, PolicyError, quoted, warn
from cranfield.base.text import counted, some_of
from cranfield.sources.chunks import Source
from cranfield.sources.columns import Table, pairs_of, read_table
from cranfield.sources.schemas import Column, Lines, Schema, optional
from cranfield.sources.values import LABEL, NAME, Kind, absent, finite, truths_as_grades

MAX_NUMBER = 1e15
"""The largest weight, length or position; sums and products of such stay finite."""

_IMPORTANCE = {"vital": 1.0, "okay": 0.0, "ok": 0.0}
"""Labels of the importance of a nugget."""

_SUPPORT = {
    **dict.fromkeys(("support", "full", "fullsupport", "fs", "supported"), 1.0),
    **dict.fromkeys(("partialsupport", "partial", "ps"), 0.5),
    **dict.fromkeys(("notsupport", "nosupport", "none", "ns"), 0.0),
}
"""Labels of support, spelt without blanks, hyphens and underscores."""

_YES = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def _amount(cell: Any) -> float | None:
    amount = None if isinstance(cell, bool) else finite(cell)
    return amount if amount is not None and 0 <= amount <= MAX_NUMBER else None


def _no_amount(cell: Any) -> str:
    amount = None if isinstance(cell, bool) else finite(cell)
    limit = "" if amount is None or amount < 0 else f" and at most {MAX_NUMBER:g}"
    return f"not a number of at least 0{limit}"


def _importance(cell: Any) -> float | None:
    return _IMPORTANCE.get(str(cell).strip().lower())


def _support(cell: Any) -> float | None:
    if cell is None:
        return None
    word = str(cell).strip().lower().translate({ord(blank): None for blank in " -_"})
    degree = _SUPPORT.get(word, finite(cell))
    return degree if degree is not None and 0 <= degree <= 1 else None


def _yes(cell: Any) -> float | None:
    degree = _YES.get(str(cell).strip().lower(), _support(cell))
    return degree if degree in {0.0, 1.0} else None


TEXT = Kind(lambda cell: cell if isinstance(cell, str) else None, problem="no text")

AMOUNT = Kind(_amount, pl.Float64, _no_amount, absent)
"""A number from 0."""

IMPORTANCE = Kind(_importance, pl.Float64, "not vital or okay", absent)
"""1 for `vital`, 0 for `okay`."""

SUPPORT = Kind(
    _support,
    pl.Float64,
    "not full, partial, none or a number from 0 to 1",
    absent,
    prepare=partial(truths_as_grades, noun="degrees of support"),
)
"""A degree of support: a word, or a number from 0 to 1."""

YES = Kind(_yes, pl.Float64, "not yes or no", absent)


def check_systems(table: Table) -> None:
    """Refuse a row without a system where others have one."""
    unnamed = table.frame["system"].is_null()
    if not unnamed.all():
        table.refuse(unnamed, lambda _: "has no system, but other rows have one")


TOPIC = Column("topic", LABEL)
NUGGET = Column("nugget", LABEL)
SYSTEM = optional("system", NAME)


def text_length(text: str) -> int:
    """Count the characters that are not white space, as TREC's question answering."""
    return len("".join(text.split()))


def stem_of(data: Any) -> str:
    """Return the name of a system from its file; `run` for other inputs."""
    return Source(fspath(data)).stem if isinstance(data, (str, PathLike)) else "run"


def warn_missing(
    answered: Collection[tuple[int, int]], topics: Sequence[str], systems: Sequence[str]
) -> None:
    """Warn of missing answers; `answered` has indices of topic and system."""
    missing = [
        (topic, system)
        for s, system in enumerate(systems)
        for t, topic in enumerate(topics)
        if (t, s) not in answered
    ]
    if missing:
        places = (f"{quoted(topic)} of {quoted(system)}" for topic, system in missing)
        answers = f"{counted(len(missing), 'answer')} {'is' if len(missing) == 1 else 'are'}"
        warn(f"{answers} missing and counted as 0: topic {some_of(places, 5)}", stacklevel=4)


def check_name_used(name: str | None, is_used: bool) -> None:
    """Refuse the name of a system where the answers name all their systems."""
    if name is not None and not is_used:
        raise PolicyError(
            f"name={quoted(name)} cannot be used: the answers have names of systems of their own"
        )


_NTCIR = ("topic", "nugget", "weight", "vital_length")

NUGGETS = Schema(
    "table of nuggets",
    (
        *(TOPIC, NUGGET, optional("weight", AMOUNT)),
        optional("vital_length", AMOUNT, "vital length", noun="vital length"),
        optional("importance", IMPORTANCE),
        optional("assessor", LABEL, "worker"),
    ),
    noun="nuggets",
    lines=Lines(_NTCIR, 4, has_more=True),
    tuples=_NTCIR,
)


@dataclass(frozen=True, eq=False, repr=False)
class Nuggets:
    """The gold nuggets of all topics.

    Attributes
    ----------
    topics
        Labels of the topics.
    ids
        Names of the nuggets.
    topic
        Index of the topic of each nugget; shape (nuggets,).
    weight
        Weight of each nugget, from 0; NaN if missing.
    vital_length
        Characters of its vital string; NaN if missing.
    vital
        1 for a vital nugget, 0 for an okay nugget, NaN without a label.
    """

    topics: tuple[str, ...]
    ids: tuple[str, ...]
    topic: Ints
    weight: Floats
    vital_length: Floats
    vital: Floats

    def total(self, values: Floats) -> Floats:
        """Sum a value of each nugget over each topic; shape (topics,)."""
        sums = np.bincount(self.topic, weights=values, minlength=len(self.topics))
        return sums.astype(np.float64)

    @property
    def places(self) -> dict[tuple[str, str], int]:
        """Index of each nugget by its topic and name."""
        names = zip(self.topic.tolist(), self.ids, strict=True)
        return {(self.topics[topic], name): k for k, (topic, name) in enumerate(names)}

    def __repr__(self) -> str:
        size = counted(len(self.topics), "topic")
        return f"Nuggets({size}, {counted(len(self.ids), 'nugget')})"


def read_nuggets(data: Any) -> Nuggets:
    """Read gold nuggets.

    Parameters
    ----------
    data
        A table with the columns `topic` and `nugget` and any of `weight`, `vital_length`
        (characters) and `importance` (vital, okay or ok): CSV, TSV, JSON, JSON lines, Parquet, a
        data frame, or an iterable of records. With a column `assessor`, a nugget has a row for each
        assessor who voted. Or a file of NTCIR, such as `1C2.nuggets`, whose lines are topic,
        nugget, weight, vital string length. Or a mapping `{topic: {nugget: value}}`, where the
        value is a weight, `"vital"` or `"okay"`, a list of such votes, or a mapping of the columns
        above.

    Returns
    -------
    Nuggets
        Where there are votes and no weights, the weight of a nugget is its number of vital votes
        over the maximum of the topic's nuggets (Lin and Demner-Fushman 2006), so with one assessor
        vital nuggets have weight 1 and others 0, as in TREC. With several assessors, a nugget is
        vital if more than half of them label it so.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: a nugget that is there twice, a negative weight
        or length, a label that is not vital or okay, a nugget without a label in a topic
        whose other nuggets have one.

    Examples
    --------
    >>> nuggets = read_nuggets({"q1": {"born": "vital", "died": "vital", "hair": "okay"}})
    >>> nuggets, nuggets.weight.tolist()
    (Nuggets(1 topic, 3 nuggets), [1.0, 1.0, 0.0])
    """
    if isinstance(data, Nuggets):
        return data
    if isinstance(data, Mapping):
        data = list(_flat(data))
    return nuggets_of(read_table(data, NUGGETS))


def _flat(data: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    for topic, nuggets in pairs_of(data, "topic", "nugget: weight", "nuggets"):
        for nugget, value in nuggets.items():
            row = {"topic": topic, "nugget": nugget}
            if isinstance(value, Mapping):
                yield {**value, **row}
            elif isinstance(value, (list, tuple)):
                votes = enumerate(value)
                yield from ({**row, "importance": vote, "assessor": k} for k, vote in votes)
            else:
                yield {**row, "importance" if isinstance(value, str) else "weight": value}


def nuggets_of(table: Table) -> Nuggets:
    topics: dict[str, int] = {}
    first: dict[tuple[str, str], int] = {}
    voters: set[tuple[tuple[str, str], str]] = set()
    weights: list[float] = []
    lengths: list[float] = []
    votes: list[list[float]] = []
    for row, (topic, nugget, weight, length, vote, assessor) in enumerate(table.rows()):
        topics.setdefault(topic, len(topics))
        name = (topic, nugget)
        voter = assessor or ""
        if (name, voter) in voters:
            suffix = f" by assessor {quoted(voter)}" if voter else ""
            raise table.wrong(row, f"nugget {quoted(nugget)} occurs twice{suffix}", topic)
        voters.add((name, voter))
        if name not in first:
            first[name] = len(weights)
            weights.append(weight)
            lengths.append(length)
            votes.append([])
        place = first[name]
        for label, value, values in (("weight", weight, weights), ("length", length, lengths)):
            if not isnan(value) and not isnan(values[place]) and value != values[place]:
                raise table.wrong(row, f"nugget {quoted(nugget)} has a second {label}", topic)
            if not isnan(value):
                values[place] = value
        if not isnan(vote):
            votes[place].append(vote)
    topic_of = np.array([topics[topic] for topic, _ in first], dtype=np.int64)
    yes = np.array([sum(ballot) for ballot in votes])
    n_votes = np.array([len(ballot) for ballot in votes])
    max_yes = np.zeros(len(topics))
    np.maximum.at(max_yes, topic_of, yes)
    pyramid = yes / np.where(max_yes > 0, max_yes, 1.0)[topic_of]
    explicit = np.array(weights)
    vote_weights = np.where(n_votes > 0, pyramid, np.nan)
    nuggets = Nuggets(
        topics=tuple(topics),
        ids=tuple(nugget for _, nugget in first),
        topic=topic_of,
        weight=np.where(np.isnan(explicit), vote_weights, explicit),
        vital_length=np.array(lengths),
        vital=np.where(n_votes > 0, (yes > n_votes / 2).astype(float), np.nan),
    )
    _check_whole_topics(nuggets, table.source)
    return nuggets


def _check_whole_topics(nuggets: Nuggets, source: str) -> None:
    """Refuse a topic in which only some nuggets have a weight, a length or a label."""
    for label, values in (
        ("weight", nuggets.weight),
        ("vital string length", nuggets.vital_length),
        ("importance", nuggets.vital),
    ):
        missing = np.isnan(values)
        is_partial = nuggets.total(missing * 1.0) * nuggets.total(~missing * 1.0) > 0
        rows = np.flatnonzero(missing & is_partial[nuggets.topic])
        if rows.size:
            raise InputError(
                (
                    f"nugget {quoted(nuggets.ids[rows[0]])} has no {label}, but other"
                    " nuggets of its topic have one"
                ),
                source=source,
                topic=nuggets.topics[nuggets.topic[rows[0]]],
            )
