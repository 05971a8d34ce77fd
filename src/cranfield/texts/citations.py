"""Answers as sentences with citations, and the support of each citation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import isnan, nan
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import InputError, MeasureError, PolicyError, quoted, warn
from cranfield.base.text import counted
from cranfield.collection.judged.coverage import Scorable
from cranfield.sources.columns import Table, pairs_of, read_table
from cranfield.sources.schemas import Column, Schema, optional
from cranfield.sources.values import LABEL, NAME, Cells
from cranfield.texts.gold import (
    SUPPORT,
    SYSTEM,
    TOPIC,
    YES,
    check_name_used,
    check_systems,
    stem_of,
    warn_missing,
)


def _read_answers(data: Any, source: str) -> tuple[dict[str, Cells], list[int]] | None:
    """Make columns of answers of TREC RAG, a row for each citation, and the answer of each row.

    Sentences are numbered from 1. Returns None for other JSON.
    """
    records = data if isinstance(data, list) else [data]
    if not all(isinstance(r, Mapping) and isinstance(r.get("answer"), list) for r in records):
        return None
    columns: dict[str, list[Any]] = {"topic": [], "sentence": [], "system": [], "citation": []}
    rows: list[int] = []
    for row, record in enumerate(records):
        fields = {**record, **(record.get("metadata") or {})}
        topic = next((fields[name] for name in _OF_ANSWER if fields.get(name) is not None), None)
        references = record.get("references") or []
        for number, sentence in enumerate(record["answer"], 1):
            cited = sentence.get("citations") if isinstance(sentence, Mapping) else None
            if not isinstance(cited, list):
                reason = f"answer {row + 1}: expected text and citations in sentence {number}"
                raise InputError(reason, source=source, topic=str(topic))
            docs = [_find_document(item, references) for item in cited]
            if None in docs:
                problem = f"citation {quoted(cited[docs.index(None)])} of sentence {number}"
                reason = f"answer {row + 1}: {problem} is not among its references"
                raise InputError(reason, source=source, topic=str(topic))
            for doc in docs or [None]:
                cells = (topic, number, fields.get("run_id"), doc)
                for column, cell in zip(columns.values(), cells, strict=True):
                    column.append(cell)
                rows.append(row)
    return dict(columns), rows


_OF_ANSWER = ("topic_id", "narrative_id", "qid", "query_id", "topic")
"""Names of the topic of an answer."""


def _find_document(citation: Any, references: Any) -> Any:
    """Return a cited document, identified by its place among the references, or by its id."""
    if isinstance(citation, int) and not isinstance(citation, bool):
        is_listed = isinstance(references, list) and 0 <= citation < len(references)
        return references[citation] if is_listed else None
    return citation if isinstance(citation, str) else None


_CITATIONS = Schema(
    "table of citations",
    (
        *(TOPIC, Column("sentence", LABEL), SYSTEM),
        optional("citation", NAME, "cited"),
        optional("support", SUPPORT),
        *(optional("joint", YES), optional("without", YES)),
    ),
    noun="citations",
    otherwise="csv",
    nested=_read_answers,
)

_JUDGED = replace(
    _CITATIONS,
    kind="table of support",
    columns=(
        *(TOPIC, Column("sentence", LABEL), SYSTEM),
        *(Column("citation", LABEL, "cited"), Column("support", SUPPORT)),
    ),
    noun="support",
    nested=None,
)


@dataclass(frozen=True, eq=False, repr=False)
class JudgedCitations(Scorable):
    """Sentences of all answers and their citations.

    Attributes
    ----------
    topics, systems
        Labels.
    cell
        For each sentence its answer, as topic * systems + system; shape (sentences,).
    joint
        Whether all citations of the sentence together support it: 1, 0, or NaN where not given.
    sentence
        For each citation its sentence; shape (citations,).
    place
        Place of the citation in its sentence, from 1.
    support
        Support of the sentence by the citation alone, from 0 to 1; NaN if missing.
    without
        Whether the other citations of the sentence support it: 1, 0, or NaN where not given.
    """

    what = "answers with citations"

    topics: tuple[str, ...]
    systems: tuple[str, ...]
    cell: Ints
    joint: Floats
    sentence: Ints
    place: Ints
    support: Floats
    without: Floats

    def total(self, cell: Ints, values: Floats) -> Floats:
        """Sum values over the answers in `cell`; shape (topics, systems)."""
        shape = len(self.topics), len(self.systems)
        sums = np.bincount(cell, weights=values, minlength=shape[0] * shape[1])
        return sums.reshape(shape).astype(np.float64)

    @property
    def sentences(self) -> Floats:
        """Number of sentences of each answer; shape (topics, systems)."""
        return self.total(self.cell, np.ones(len(self.cell)))

    @property
    def citations(self) -> Ints:
        """Number of citations of each sentence; shape (sentences,)."""
        return np.bincount(self.sentence, minlength=len(self.cell))

    def missing_error(self, measure: object, fact: str, sentence: int) -> MeasureError:
        """Return the error of a measure that requires a missing value of a sentence."""
        topic, system = divmod(int(self.cell[sentence]), len(self.systems))
        return MeasureError(
            f"{measure} needs {fact}; a sentence of topic {quoted(self.topics[topic])} and system"
            f" {quoted(self.systems[system])} lacks it"
        )

    def __repr__(self) -> str:
        size = f"{counted(len(self.topics), 'topic')}, {counted(len(self.systems), 'system')}"
        cited = counted(len(self.sentence), "citation")
        return f"JudgedCitations({size}, {counted(len(self.cell), 'sentence')}, {cited})"


def read_citations(data: Any, *, name: str | None = None, support: Any = None) -> JudgedCitations:
    """Read judged citations.

    Parameters
    ----------
    data
        A table with a row for each citation, in the order of the answer, with the columns `topic`,
        `sentence` (any label), `citation` (the document), `support` (full, partial, none, or a
        number from 0 to 1), and perhaps `system`, `joint` and `without` (yes or no, as of
        :class:`JudgedCitations`). A sentence without citations has one row whose citation and
        support are empty. Or JSON of TREC RAG, an answer each: `topic_id`, `run_id`, `references`
        and `answer`, a list of sentences with `citations`; or a list of such files. Or a mapping
        `{system: {topic: sentences}}`, where a sentence is the list of the support of its
        citations.
    name
        The system, where there is no such column; by default the name of the file.
    support
        Table of the support of citations, for data without it: `topic`, `sentence` (its number from
        1), `citation`, `support`, and `system` if it differs between systems. The first citation of
        each sentence needs one; others without are excluded, with a warning.

    Returns
    -------
    JudgedCitations
        Of all topics and systems that have a row.

    Raises
    ------
    InputError
        Naming the file, the line and the reason: a document that a sentence cites twice, a second
        row of a sentence without citations, an unknown label, a citation without support.

    Warns
    -----
    CranfieldWarning
        For missing answers, which count as 0: a system has no row for a topic of another system.

    Examples
    --------
    >>> read_citations({"a": {"q1": [["full"], [], ["partial", "none"]]}})
    JudgedCitations(1 topic, 1 system, 3 sentences, 3 citations)
    """
    if isinstance(data, Mapping):
        data = list(_flat(data))
    is_paths = isinstance(data, (list, tuple)) and all(
        isinstance(item, (str, PathLike)) for item in data
    )
    files = [*data] if is_paths and data else [data]
    degrees = None if support is None else _degrees(read_table(support, _JUDGED))
    tables = []
    for file in files:
        table = read_table(file, _CITATIONS)
        check_systems(table)
        unnamed = table.frame["system"].is_null().all()
        check_name_used(name, bool(unnamed))
        labels = table.frame["support"].is_not_null()
        cited = table.frame["citation"].is_not_null()
        if degrees is None and cited.any() and not labels.any() and "support" not in table.names:
            raise InputError(
                "has citations, but not their support: give a table of support after it, with"
                " topic, sentence (its number from 1), citation and support",
                source=table.source,
            )
        system = pl.col("system").fill_null(name or stem_of(file))
        table = replace(table, frame=table.frame.with_columns(system))
        tables.append(table if degrees is None else _add_support(table, *degrees))
    if len(tables) > 1:
        frame = pl.concat([table.frame for table in tables])
        tables = [Table(frame, "citations", tables[0].names, None)]
    return _build_citations(tables[0], "")


def _degrees(support: Table) -> tuple[dict[tuple[str, str, str, str | None], float], str]:
    """Return the support by topic, sentence, document and, if there is one, system."""
    degrees: dict[tuple[str, str, str, str | None], float] = {}
    for row, (topic, sentence, system, doc, degree) in enumerate(support.rows()):
        key = topic, sentence, doc, system
        if isnan(degree):
            raise support.wrong(row, "has no support", topic)
        if key in degrees:
            raise support.wrong(row, f"citation {quoted(doc)} has a second support label", topic)
        degrees[key] = degree
    return degrees, support.source


def _add_support(
    table: Table, degrees: Mapping[tuple[str, str, str, str | None], float], source: str
) -> Table:
    """Fill in the support of the citations of a run."""
    if table.frame["support"].is_not_null().any():
        raise PolicyError("support cannot be combined with citations that have it")
    values: list[float | None] = []
    first: set[tuple[str, str, str]] = set()
    keep = []
    for row, (topic, sentence, system, doc, *_) in enumerate(table.rows()):
        degree = degrees.get(
            (topic, sentence, doc, system), degrees.get((topic, sentence, doc, None))
        )
        if doc is not None and degree is None and (topic, sentence, system) not in first:
            reason = f"citation {quoted(doc)} of sentence {sentence} has no support in {source}"
            raise table.wrong(row, reason, topic)
        first.add((topic, sentence, system))
        keep.append(doc is None or degree is not None)
        values.append(degree)
    if excluded := keep.count(False):
        warn(
            f"{table.source}: {counted(excluded, 'citation')} without support excluded, which are"
            " not the first of their sentences",
            stacklevel=3,
        )
    frame = table.frame.with_columns(support=pl.Series(values, dtype=pl.Float64))
    return replace(table, frame=frame).gather(np.flatnonzero(keep))


def _flat(data: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    for system, topics in pairs_of(data, "system", "topic: sentences", "citations"):
        for topic, sentences in topics.items():
            for k, supports in enumerate(_check_list(sentences, topic), 1):
                row = {"system": system, "topic": topic, "sentence": k}
                cited = list(enumerate(_check_list(supports, topic), 1))
                yield from ({**row, "citation": c, "support": value} for c, value in cited)
                if not cited:
                    yield row


def _check_list(value: Any, topic: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise InputError(
            f"{type(value).__name__} instead of a list of sentences, each a list of supports",
            source="citations",
            topic=str(topic),
        )
    return list(value)


def _build_citations(table: Table, stem: str) -> JudgedCitations:
    topics: dict[str, int] = {}
    systems: dict[str, int] = {}
    sentences: dict[tuple[int, int, str], int] = {}
    joint: list[float] = []
    cited: list[set[str]] = []
    is_bare: list[bool] = []
    citations: list[tuple[int, int, float, float]] = []
    for row, cells in enumerate(table.rows()):
        topic, label, system, citation, support, joint_value, n_without = cells
        key = (
            topics.setdefault(topic, len(topics)),
            systems.setdefault(system or stem, len(systems)),
            label,
        )
        place = sentences.setdefault(key, len(sentences))
        if place == len(joint):
            joint.append(nan)
            cited.append(set())
            is_bare.append(False)
        if not isnan(joint_value):
            if not isnan(joint[place]) and joint[place] != joint_value:
                raise table.wrong(
                    row, f"conflicting values of joint for sentence {quoted(label)}", topic
                )
            joint[place] = joint_value
        doc = citation or ""
        if is_bare[place] or (not doc and cited[place]):
            raise table.wrong(
                row,
                f"sentence {quoted(label)} has a row without citation, but also other rows",
                topic,
            )
        if not doc:
            if not isnan(support):
                raise table.wrong(row, "has support, but no citation", topic)
            is_bare[place] = True
            continue
        if doc in cited[place]:
            raise table.wrong(row, f"sentence {quoted(label)} cites {quoted(doc)} twice", topic)
        if isnan(support):
            raise table.wrong(row, f"citation {quoted(doc)} has no support label", topic)
        cited[place].add(doc)
        citations.append((place, len(cited[place]), support, n_without))
    numbers = np.array(citations, dtype=np.float64).reshape(-1, 4)
    warn_missing({key[:2] for key in sentences}, tuple(topics), tuple(systems))
    return JudgedCitations(
        topics=tuple(topics),
        systems=tuple(systems),
        cell=np.array([t * len(systems) + s for t, s, _ in sentences], dtype=np.int64),
        joint=np.array(joint),
        sentence=numbers[:, 0].astype(np.int64),
        place=numbers[:, 1].astype(np.int64),
        support=numbers[:, 2],
        without=numbers[:, 3],
    )
