"""Read answers as sentences with citations, and the support of each citation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import InputError, MeasureError, PolicyError, quote, warn
from cranfield.base.text import inflect, list_some
from cranfield.collection.judged.coverage import Scorable
from cranfield.collection.pairs import number_values
from cranfield.sources.columns import Table, iterate_nested_items, read_table, transpose_rows
from cranfield.sources.schemas import FileColumn, Schema, declare_optional, differs, is_repeated
from cranfield.sources.values import LABEL, NAME, Cells
from cranfield.texts.gold import (
    ANSWER_COLUMNS,
    SUPPORT,
    SYSTEM,
    TOPIC,
    YES_OR_NO,
    list_inputs,
    name_systems,
    warn_of_missing_answers,
)


def _read_answers(data: Any, source: str) -> tuple[dict[str, Cells], list[int]] | None:
    """Convert answers of TREC RAG to columns, a row for each citation; None for another list."""
    records = data if isinstance(data, list) else [data]
    if not all(isinstance(r, Mapping) and _find_sentences(r) is not None for r in records):
        if isinstance(data, list):
            return None
        names = list_some(map(quote, data), 5) if isinstance(data, dict) else f"value {quote(data)}"
        raise InputError(
            "expected a table of citations (topic, system, sentence, citation, support) or answers"
            f" of TREC RAG (topic_id, run_id, references, answer), got JSON with {names}",
            source=source,
        )
    cells: list[tuple[Any, ...]] = []
    rows: list[int] = []
    for row, record in enumerate(records):
        fields = {**record, **(record.get("metadata") or {})}
        topic = next((fields[name] for name in _TOPIC_FIELDS if fields.get(name) is not None), None)
        system = next((fields[name] for name in SYSTEM.names if fields.get(name) is not None), None)
        references, sentences = record.get("references"), _find_sentences(record) or []
        for number, sentence in enumerate(sentences, 1):
            citations = sentence.get("citations") if isinstance(sentence, Mapping) else None
            if isinstance(citations, Mapping):
                citations = list(citations)
            if not isinstance(citations, list):
                expected = f"answer {row + 1}: expected a list of citations in sentence {number}"
                reason = f"{expected}, got {quote(citations or sentence)}"
                raise InputError(reason, source=source, topic=str(topic))
            documents = [_find_document(item, references) for item in citations]
            if None in documents:
                citation = quote(citations[documents.index(None)])
                reason = f"citation {citation} of sentence {number} is not among the references"
                raise InputError(f"answer {row + 1}: {reason}", source=source, topic=str(topic))
            documents = documents or [None]
            cells += [(topic, number, system, doc) for doc in documents]
            rows += [row] * len(documents)
        if not sentences:
            cells.append((topic, None, system, None))
            rows.append(row)
    return dict(transpose_rows(("topic", "sentence", "system", "citation"), cells)), rows


_TOPIC_FIELDS = ("topic_id", "narrative_id", "qid", "query_id", "topic")
"""Fields that may contain the topic of an answer."""


def _find_sentences(record: Mapping[Any, Any]) -> list[Any] | None:
    """Find the sentences of an answer of TREC RAG, or of RAGTIME and BioGen (`responses`)."""
    fields = (record.get(name) for name in ("answer", "responses"))
    return next((sentences for sentences in fields if isinstance(sentences, list)), None)


def _find_document(citation: Any, references: Any) -> Any:
    """Find a cited document: an id, or a valid index among the references; None for others."""
    if isinstance(citation, int) and not isinstance(citation, bool):
        if references is None:
            return citation
        is_listed = isinstance(references, list) and 0 <= citation < len(references)
        return references[citation] if is_listed else None
    return citation if isinstance(citation, str) else None


def _read_document(cell: Any) -> str | None:
    """Read the id of a document; None for a list in brackets or with semicolons."""
    doc = LABEL.read(cell)
    ids = (doc or "").split(";")
    is_list = len(ids) > 1 and "://" not in ids[0] and all(len(p.split()) == 1 for p in ids)
    return None if is_list or re.fullmatch(r"\[.*\]", doc or "") else doc


_CITED_DOCUMENT = replace(
    NAME,
    read=_read_document,
    types=None,
    problem="not the id of one document; write a row with an id for each citation",
    becomes_null=lambda cell: NAME.becomes_null(cell) or str(cell).strip() == "[]",
)

_CITATIONS = Schema(
    "table of citations",
    (
        *(TOPIC, FileColumn("sentence", NAME), SYSTEM),
        declare_optional("citation", _CITED_DOCUMENT, "cited"),
        declare_optional("support", SUPPORT),
        *(declare_optional("joint", YES_OR_NO), declare_optional("without", YES_OR_NO)),
    ),
    noun="citations",
    default_format="csv",
    read_nested=_read_answers,
    decisive_kinds=("status", *ANSWER_COLUMNS),
)

_SUPPORT = replace(
    _CITATIONS,
    kind="table of support",
    columns=(
        *(TOPIC, FileColumn("sentence", LABEL), SYSTEM),
        *(FileColumn("citation", LABEL, "cited"), FileColumn("support", SUPPORT)),
    ),
    noun="support",
    read_nested=None,
    suspicions={
        "has no support": pl.col("support").is_null(),
        "citation {citation} has more than one support label": is_repeated(
            "topic", "sentence", "system", "citation"
        ),
    },
)


@dataclass(frozen=True, eq=False, repr=False)
class JudgedCitations(Scorable):
    """Sentences of all answers and their citations; returned by :func:`read_citations`.

    Attributes
    ----------
    topics, systems
        Ids of the topics and names of the systems.
    cell
        Answer of each sentence, as topic * n_systems + system; shape (sentences,).
    joint
        Whether all citations of the sentence jointly support it: 1, 0, or NaN if unknown; shape
        (sentences,).
    sentence
        Index of the sentence of each citation; shape (citations,).
    position
        Position of the citation in its sentence, from 1; shape (citations,).
    support
        Support of the sentence by the citation alone, from 0 to 1; shape (citations,).
    is_supported_without
        Whether the other citations of the sentence support it without this one (column `without`):
        1, 0, or NaN if unknown; shape (citations,).
    """

    noun = "answers with citations"

    topics: tuple[str, ...]
    systems: tuple[str, ...]
    cell: Ints
    joint: Floats
    sentence: Ints
    position: Ints
    support: Floats
    is_supported_without: Floats

    def total(self, cell: Ints, values: Floats) -> Floats:
        """Sum values by answer, for the answer indices `cell`; shape (topics, systems)."""
        shape = len(self.topics), len(self.systems)
        sums = np.bincount(cell, weights=values, minlength=shape[0] * shape[1])
        return sums.reshape(shape).astype(np.float64)

    @property
    def n_sentences(self) -> Floats:
        """Number of sentences of each answer; shape (topics, systems)."""
        return self.total(self.cell, np.ones(len(self.cell)))

    @property
    def n_citations(self) -> Ints:
        """Number of citations of each sentence; shape (sentences,)."""
        return np.bincount(self.sentence, minlength=len(self.cell))

    def make_missing_error(self, measure: object, fact: str, sentence: int) -> MeasureError:
        """Make the error for a measure that requires a fact which is missing for a sentence."""
        topic, system = divmod(int(self.cell[sentence]), len(self.systems))
        return MeasureError(
            f"{measure} requires {fact}; it is missing for a sentence of topic"
            f" {quote(self.topics[topic])} and system {quote(self.systems[system])}"
        )

    def __repr__(self) -> str:
        sizes = f"{inflect(len(self.cell), 'sentence')}, {inflect(len(self.sentence), 'citation')}"
        return f"JudgedCitations({self._format_size()}, {sizes})"


def read_citations(data: Any, *, name: str | None = None, support: Any = None) -> JudgedCitations:
    """Read judged citations.

    Parameters
    ----------
    data
        A table with a row for each citation, in the order of the answer, with the columns `topic`,
        `sentence` (any label), `citation` (the document), `support` (full, partial, none, or a
        number from 0 to 1), and optionally `system`, `joint` and `without` (yes or no, the
        attributes `joint` and `is_supported_without` of :class:`JudgedCitations`). A sentence
        without citations has one row, whose citation and support are empty. An empty answer has one
        row, whose sentence, citation and support are empty. Or JSON of TREC RAG with a record for
        each answer: `topic_id`, `run_id`, `references` and `answer` (or `responses`), a list of
        sentences with `citations`; or a list of such files. Or a mapping `{system: {topic:
        sentences}}`, where a sentence is a list with the support of each of its citations.
    name
        Name of the system, if the data do not name it; by default the stem of the file, or `run`.
    support
        Table of the support of citations, for data without it: `topic`, `sentence` (its number from
        1), `citation`, `support`, and `system` if support differs between systems. The first
        citation of each sentence must have support; others without support are excluded, with a
        warning.

    Returns
    -------
    JudgedCitations
        Sentences and citations of all topics and systems that have a row.

    Raises
    ------
    InputError
        With file, line and reason: a document that a sentence cites twice, a second row of a
        sentence without citations, an unknown label, a citation without support.
    PolicyError
        For a table of support although the citations have support, and if `name` has no effect.

    Warns
    -----
    CranfieldWarning
        For systems without a row for a topic of another system: the missing answer counts as 0. For
        answers without sentences, which also count as 0. For rows of `support` that match no
        citation.

    Examples
    --------
    >>> read_citations({"a": {"q1": [["full"], [], ["partial", "none"]]}})
    JudgedCitations(1 topic, 1 system, 3 sentences, 3 citations)
    """
    if isinstance(data, Mapping):
        data = list(_iterate_citations(data))
    support_table = None if support is None else read_table(support, _SUPPORT)
    tables = []
    for file in list_inputs(data):
        table = name_systems(read_table(file, _CITATIONS), name, file)
        has_citations = table.frame["citation"].is_not_null().any()
        has_support = "support" in table.names or table.frame["support"].is_not_null().any()
        if support_table is None and has_citations and not has_support:
            raise InputError(
                "expected the support of citations, got none; add a column support, or a table of"
                " support with topic, sentence (its number from 1), citation and support",
                source=table.source,
            )
        tables.append(table if support_table is None else _add_support(table, support_table))
    if support_table is not None:
        _warn_unmatched(support_table, pl.concat([table.frame for table in tables]))
    if len(tables) > 1:
        frame = pl.concat([table.frame for table in tables])
        tables = [Table(frame, "citations", tables[0].names, None)]
    return _build_citations(tables[0])


def _add_support(table: Table, support: Table) -> Table:
    """Add support by system, or else by citation only; exclude citations without support."""
    if table.frame["support"].is_not_null().any():
        raise PolicyError("a table of support cannot be combined with citations that have support")
    if "0" not in table.frame["sentence"]:
        reason = f"expected numbers of sentences from 1, as in {table.source}, got 0"
        support.refuse(support.frame["sentence"] == "0", lambda _: reason)
    frame, keys = table.frame, ["topic", "sentence", "citation"]
    for names in ([*keys, "system"], keys):
        labels = support.frame
        if "system" not in names:
            labels = labels.filter(pl.col("system").is_null())
        labels = labels.select(*names, degree="support")
        frame = frame.join(labels, on=names, how="left", maintain_order="left")
        frame = frame.with_columns(support=pl.coalesce("support", "degree")).drop("degree")
    is_excluded = _HAS_DOC & ~_HAS_SUPPORT
    for row in frame.select(is_excluded & _IS_FIRST).to_series().arg_true():
        topic, sentence, doc = frame.select(keys).row(row)
        reason = f"citation {quote(doc)} of sentence {sentence} has no support"
        raise table.make_row_error(row, f"{reason} in {support.source}", topic)
    if n_excluded := frame.filter(is_excluded).height:
        reason = "excluded: no support label (required for the first citation of a sentence only)"
        warn(f"{table.source}: {inflect(n_excluded, 'citation')} {reason}")
    return replace(table, frame=frame).gather(frame.select((~is_excluded).arg_true()).to_series())


def _warn_unmatched(support: Table, citations: pl.DataFrame) -> None:
    """Warn of rows of support that match no citation."""
    keys = ["topic", "sentence", "citation"]
    is_general = pl.col("system").is_null()
    unmatched_rows = pl.concat(
        [
            support.frame.filter(is_general).join(citations, on=keys, how="anti"),
            support.frame.filter(~is_general).join(citations, on=[*keys, "system"], how="anti"),
        ]
    )
    if unmatched_rows.height:
        topic, sentence, doc = unmatched_rows.select(keys).row(0)
        labels = f"{unmatched_rows.height:,} of {inflect(support.frame.height, 'label')} of support"
        verb = "matches" if unmatched_rows.height == 1 else "match"
        example = f"topic {quote(topic)}, sentence {quote(sentence)}, citation {quote(doc)}"
        warn(f"{support.source}: {labels} {verb} no citation ({example})")


def _iterate_citations(data: Mapping[Any, Any]) -> Iterator[dict[str, Any]]:
    for system, topics in iterate_nested_items(data, "system", "topic: sentences", "citations"):
        for topic, sentences in topics.items():
            if not _check_list(sentences, topic):
                yield {"system": system, "topic": topic, "sentence": None}
            for k, supports in enumerate(_check_list(sentences, topic), 1):
                row = {"system": system, "topic": topic, "sentence": k}
                citations = list(enumerate(_check_list(supports, topic), 1))
                yield from ({**row, "citation": c, "support": value} for c, value in citations)
                if not citations:
                    yield row


def _check_list(value: Any, topic: Any) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        labels = "support labels (full, partial, none, or a number from 0 to 1)"
        expected = f"expected a list of sentences, each a list of {labels}"
        got = type(value).__name__
        raise InputError(f"{expected}, got {got}", source="citations", topic=str(topic))
    return list(value)


_SENTENCE = ("topic", "system", "sentence")
_IS_FIRST = pl.int_range(pl.len()).over(_SENTENCE) == 0
_HAS_DOC, _HAS_SUPPORT = pl.col("citation").is_not_null(), pl.col("support").is_not_null()
_HAS_SENTENCE = pl.col("sentence").is_not_null()
_INVALID_CITATIONS = {
    "has no sentence": ~_HAS_SENTENCE & (_HAS_DOC | _HAS_SUPPORT),
    "has no sentence, like an empty answer, but the answer has other rows": ~_HAS_SENTENCE
    & (pl.len().over("topic", "system") > 1),
    "conflicting values of 'joint' for sentence {sentence}": differs("joint", *_SENTENCE),
    "sentence {sentence} has a row without a citation, but also other rows": ~_IS_FIRST
    & ~_HAS_DOC.all().over(_SENTENCE),
    "has support but no citation": _HAS_SUPPORT & ~_HAS_DOC,
    "sentence {sentence} cites {citation} twice": is_repeated(*_SENTENCE, "citation"),
    "citation {citation} has no support label": _HAS_DOC & ~_HAS_SUPPORT,
}


def _build_citations(table: Table) -> JudgedCitations:
    table.check(_INVALID_CITATIONS)
    frame = table.frame.with_columns(position=pl.col("citation").cum_count().over(_SENTENCE))
    joint = pl.col("joint").drop_nulls().first()
    topics, topic = number_values(frame["topic"])
    systems, system = number_values(frame["system"])
    is_answered = np.zeros((len(topics), len(systems)), dtype=bool)
    is_answered[topic, system] = True
    warn_of_missing_answers(is_answered, topics.to_list(), systems.to_list())
    if n_empty := frame.filter(~_HAS_SENTENCE).height:
        warn(f"{inflect(n_empty, 'answer')} without sentences counted as 0")
    frame = frame.with_columns(cell=topic.astype(np.int64) * len(systems) + system)
    sentences = (
        frame.filter(_HAS_SENTENCE)
        .group_by(_SENTENCE, maintain_order=True)
        .agg(joint, pl.col("cell").first())
        .with_row_index("number")
    )
    citations = frame.filter(pl.col("citation").is_not_null())
    citations = citations.join(sentences, on=_SENTENCE, maintain_order="left")
    return JudgedCitations(
        topics=tuple(topics),
        systems=tuple(systems),
        cell=sentences["cell"].to_numpy(),
        joint=sentences["joint"].fill_null(np.nan).to_numpy(),
        sentence=citations["number"].cast(pl.Int64).to_numpy(),
        position=citations["position"].cast(pl.Int64).to_numpy(),
        support=citations["support"].to_numpy(),
        is_supported_without=citations["without"].fill_null(np.nan).to_numpy(),
    )
