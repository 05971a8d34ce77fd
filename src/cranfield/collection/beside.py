"""What is known besides judgments: lengths and groups of documents, intents of topics."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike, fspath
from typing import Any

import numpy as np
import polars as pl

from cranfield.collection import tables
from cranfield.collection.columns import typed
from cranfield.collection.keys import KeyIndex
from cranfield.collection.qrels import topic_order
from cranfield.collection.segments import Floats, Ints
from cranfield.collection.source import Source
from cranfield.errors import InputError, quoted
from cranfield.text import counted

_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
}
_TYPES = {
    **dict.fromkeys(("inf", "informational", "faceted"), False),
    **dict.fromkeys(("nav", "navigational"), True),
}


@dataclass(frozen=True, eq=False, repr=False)
class DocumentTable:
    """Something known of documents whatever the topic; made by :func:`read_lengths` and the like.

    Attributes
    ----------
    docs
        Document of each row.
    values
        Length of the document, or how much it belongs to the group.
    codes
        Group of each row, as an index into `names`; 0 where there are no groups.
    names
        The groups, in order.
    name
        Where the table came from.
    """

    docs: pl.Series
    values: Floats
    codes: Ints
    names: tuple[str, ...]
    name: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", KeyIndex(self.docs.hash().to_numpy()))

    def found(self, docs: pl.Series) -> tuple[Ints, Ints]:
        """Return pairs (row of `docs`, row of this table) of the same document, in no order."""
        index: KeyIndex = vars(self)["_index"]
        asked, found = index.candidates(docs.hash().to_numpy())
        # Equal keys are only a claim; the documents decide.
        true = (docs.gather(asked) == self.docs.gather(found)).to_numpy()
        return asked[true], found[true]

    def __repr__(self) -> str:
        groups = f", {counted(len(self.names), 'group')}" if self.names else ""
        return f"DocumentTable({counted(len(self.docs), 'row')}{groups})"


@dataclass(frozen=True, eq=False, repr=False)
class IntentTable:
    """Intents of topics, with probabilities and types; made by :func:`read_intents`.

    Attributes
    ----------
    topics, intents
        Topic and name of each intent.
    probabilities
        Pr(intent | topic).
    navigational
        Whether the user wants one certain document, and not information.
    name
        Where the table came from.
    """

    topics: tuple[str, ...]
    intents: tuple[str, ...]
    probabilities: Floats
    navigational: np.ndarray[Any, np.dtype[np.bool_]]
    name: str

    def __repr__(self) -> str:
        topics = counted(len(set(self.topics)), "topic")
        return f"IntentTable({topics}, {counted(len(self.intents), 'intent')})"


def read_lengths(data: Any) -> DocumentTable:
    """Read the length of each document, in any unit that the measures are told.

    Parameters
    ----------
    data
        A dict `{document: length}`, a data frame with columns `doc` and `length` (or `words`,
        `characters`), or a file: CSV, TSV, JSON or Parquet by its suffix, else lines of a document
        and a length.

    Returns
    -------
    DocumentTable

    Raises
    ------
    InputError
        For what cannot be read, a length below 0, or a document that stands twice.

    Examples
    --------
    >>> read_lengths({"d1": 812, "d2": 40})
    DocumentTable(2 rows)
    """
    if isinstance(data, DocumentTable):
        return data
    if isinstance(data, Mapping):
        data = {"doc": list(data.keys()), "length": list(data.values())}
    frame, name = _table(data, "table of lengths")
    docs, values = frame["doc"], frame["length"].to_numpy()
    _refuse_twice(docs, frame.select("doc"), name, "document twice in the lengths")
    if (values < 0).any():
        worst = int(np.argmax(values < 0))
        raise InputError(f"length {values[worst]:g} is below 0", source=name, doc=docs[worst])
    return DocumentTable(docs.rechunk(), values, np.zeros(values.size, np.int64), (), name)


def read_groups(data: Any) -> DocumentTable:
    """Read the groups that documents belong to, for measures of fairness.

    Parameters
    ----------
    data
        A dict of a document's group, list of groups, or `{group: weight}`; a data frame with
        columns `doc`, `group` and perhaps `weight`; or a file, as for :func:`read_lengths`, whose
        lines are a document, a group and perhaps a weight.

    Returns
    -------
    DocumentTable

    Raises
    ------
    InputError
        For what cannot be read, a weight below 0, or a document twice in one group.

    Examples
    --------
    >>> read_groups({"d1": "press", "d2": ["press", "blog"]})
    DocumentTable(3 rows, 2 groups)
    """
    if isinstance(data, DocumentTable):
        return data
    if isinstance(data, Mapping):
        data = _memberships(data)
    frame, name = _table(data, "table of groups")
    _refuse_twice(frame["doc"], frame.select("doc", "group"), name, "document twice in one group")
    weights = frame["weight"].to_numpy() if "weight" in frame.columns else np.ones(frame.height)
    if (weights < 0).any():
        worst = int(np.argmax(weights < 0))
        raise InputError(
            f"weight {weights[worst]:g} is below 0", source=name, doc=frame["doc"][worst]
        )
    names = topic_order(frame["group"].unique().to_list())
    codes = frame["group"].replace_strict(names, range(len(names)), return_dtype=pl.Int64)
    return DocumentTable(frame["doc"].rechunk(), weights, codes.to_numpy(), tuple(names), name)


def read_intents(data: Any) -> IntentTable:
    """Read probabilities and types of the intents (subtopics) of topics.

    Parameters
    ----------
    data
        A dict `{topic: {intent: probability}}`, a data frame with columns `topic`, `intent`,
        `probability` and perhaps `type`, or a file, as for :func:`read_lengths`, whose lines are
        topic, intent, probability and perhaps type, as NTCIR has them. A type is `inf` or `nav`.

    Returns
    -------
    IntentTable

    Raises
    ------
    InputError
        For what cannot be read, a probability outside 0 to 1, an unknown type, an intent twice.

    Examples
    --------
    >>> read_intents({"q1": {"books": 0.75, "films": 0.25}})
    IntentTable(1 topic, 2 intents)
    """
    if isinstance(data, IntentTable):
        return data
    if isinstance(data, Mapping):
        data = _probabilities(data)
    frame, name = _table(data, "table of intents")
    probabilities = frame["probability"].to_numpy()
    outside = (probabilities < 0) | (probabilities > 1)
    if outside.any():
        row = int(np.argmax(outside))
        raise InputError(
            f"probability {probabilities[row]:g} of intent {quoted(frame['intent'][row])} is not"
            " from 0 to 1",
            source=name,
            topic=frame["topic"][row],
        )
    twice = frame.select("topic", "intent").is_duplicated().arg_true()
    if len(twice):
        row = int(twice[0])
        raise InputError(
            f"intent {quoted(frame['intent'][row])} twice", source=name, topic=frame["topic"][row]
        )
    types = frame["type"].to_list() if "type" in frame.columns else ["inf"] * frame.height
    for row, kind in enumerate(types):
        if kind is not None and str(kind).lower() not in _TYPES:
            raise InputError(
                f"type {quoted(kind)} of an intent is none of {', '.join(_TYPES)}",
                source=name,
                topic=frame["topic"][row],
            )
    return IntentTable(
        tuple(frame["topic"]),
        tuple(frame["intent"]),
        probabilities,
        np.array([kind is not None and _TYPES[str(kind).lower()] for kind in types], dtype=bool),
        name,
    )


def _memberships(data: Mapping[Any, Any]) -> dict[str, list[Any]]:
    rows: list[tuple[Any, Any, Any]] = []
    for doc, groups in data.items():
        if isinstance(groups, Mapping):
            rows.extend((doc, group, weight) for group, weight in groups.items())
        elif isinstance(groups, Iterable) and not isinstance(groups, (str, bytes)):
            rows.extend((doc, group, 1.0) for group in groups)
        else:
            rows.append((doc, groups, 1.0))
    return {name: [row[i] for row in rows] for i, name in enumerate(("doc", "group", "weight"))}


def _probabilities(data: Mapping[Any, Any]) -> dict[str, list[Any]]:
    for topic, intents in data.items():
        if not isinstance(intents, Mapping):
            raise InputError(
                f"topic {quoted(topic)} has {type(intents).__name__} where {{intent: probability}}"
                " is wanted",
                source="table of intents",
            )
    rows = [(topic, name, p) for topic, intents in data.items() for name, p in intents.items()]
    columns = ("topic", "intent", "probability")
    return {name: [row[i] for row in rows] for i, name in enumerate(columns)}


def _refuse_twice(docs: pl.Series, keys: pl.DataFrame, name: str, reason: str) -> None:
    twice = keys.is_duplicated().arg_true()
    if len(twice):
        raise InputError(reason, source=name, doc=docs[int(twice[0])])


def _table(data: Any, kind: str) -> tuple[pl.DataFrame, str]:
    """Read any kind of input as typed columns; with a name for messages."""
    if isinstance(data, dict):
        return typed(data, kind, kind), kind
    if isinstance(data, (str, PathLike)):
        source = Source(fspath(data))
        if source.suffix in _FORMATS:
            return tables.from_file(source, kind, _FORMATS[source.suffix]), source.name
        return _lines(source, kind), source.name
    if hasattr(type(data), "columns") or hasattr(type(data), "column_names"):
        return tables.from_frame(data, kind, kind), kind
    if isinstance(data, Iterable) and not isinstance(data, (bytes, bytearray)):
        return tables.from_records(data, kind, kind), kind
    raise InputError(f"{type(data).__name__} cannot be read as a {kind}")


def _lines(source: Source, kind: str) -> pl.DataFrame:
    """Read lines of values separated by blanks, or by semicolons."""
    required, optional = tables.KINDS[kind]
    names = (*required, *optional)
    rows: list[list[str]] = []
    for number, raw in enumerate(source.read().split(b"\n"), 1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip()
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text", source=source.name, line=number) from None
        if not line or line.startswith("#"):
            continue
        fields = [one.strip() for one in line.split(";")] if ";" in line else line.split()
        if not len(required) <= len(fields) <= len(names):
            raise InputError(
                f"{counted(len(fields), 'column')} where a line of a {kind} has"
                f" {' '.join(required)}" + "".join(f" [{one}]" for one in optional),
                source=source.name,
                line=number,
            )
        if rows and len(fields) != len(rows[0]):
            raise InputError(
                f"{counted(len(fields), 'column')} after lines of {len(rows[0])}",
                source=source.name,
                line=number,
            )
        rows.append(fields)
    if not rows:
        raise InputError(f"is empty: a {kind} has at least one line", source=source.name)
    used = names[: len(rows[0])]
    return typed({name: [row[i] for row in rows] for i, name in enumerate(used)}, kind, source.name)
