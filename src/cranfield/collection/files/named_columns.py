"""Tables and nested dicts of runs or judgments.

The fast readers of dicts keep documents as Python text, and return None for unusual or possibly
invalid data: the general reader of tables then reads them, or reports their errors.
"""

from __future__ import annotations

import marshal
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.base.errors import InputError, PolicyError, add_source, quote
from cranfield.base.text import list_some
from cranfield.collection.files.grade_maps import PROBABILITIES_ADVICE, describe_invalid_grade
from cranfield.collection.files.nested_json import (
    NO_DOCUMENT,
    append_columns,
    convert_nested,
    find_key,
    find_numbers,
)
from cranfield.collection.judged.rows import number_rows
from cranfield.collection.metadata.reading import MetadataLocation
from cranfield.collection.pairs import DictPairs, create_unchecked
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.sources.chunks import Origin
from cranfield.sources.columns import is_frame, read_columns
from cranfield.sources.schemas import FileColumn, Schema, declare_optional, fold_name
from cranfield.sources.values import (
    BLANKS,
    GRADE,
    GRADE_OR_NONE,
    ID,
    INTEGER,
    NUMBER,
    RANK,
    TAG,
    parse_number,
)

TOPIC = FileColumn("topic", ID)
DOC = FileColumn("doc", ID)
SCORE = FileColumn("score", NUMBER)
SYSTEM = declare_optional("tag", TAG, "system", "system")
GRADE_COLUMN = FileColumn("grade", GRADE, "judgment")

_VALUE_COLUMNS = {"score": SCORE, "grade": GRADE_COLUMN}


def _is_labelled(values: Any) -> bool:
    """Return True for a pandas series of numbers with documents as labels."""
    # Numbers from 0, which a series has by default, are not labels.
    index = getattr(values, "index", None)
    has_labels = hasattr(values, "to_dict") and getattr(index, "start", 1) != 0
    return has_labels and getattr(getattr(values, "dtype", None), "kind", "") in {"i", "u", "f"}


def is_nonempty_document_list(documents: Any) -> bool:
    """Return True for a list of at least one document, perhaps with scores or grades."""
    if not _is_list(documents) or not len(documents):
        return False
    first = next(iter(documents))
    is_document = isinstance(first, (str, int)) or hasattr(first, "dtype")
    return _is_labelled(documents) or is_document or _is_pair(first) or _is_hit(first)


def _is_list(documents: Any) -> bool:
    # An array of NumPy without dimensions has the method __len__, but no length: it is a number.
    is_array = hasattr(documents, "dtype") and hasattr(documents, "__len__")
    is_list = isinstance(documents, Sequence) or (is_array and getattr(documents, "ndim", 1) > 0)
    return is_list and not isinstance(documents, (str, bytes, bytearray))


def _is_hit(value: Any) -> bool:
    """Return True for a document without a topic, as search engines return it."""
    if not isinstance(value, Mapping):
        return False
    return find_key(TOPIC, value) is None and find_key(DOC, value) is not None


FLAT_ADVICE = "; write a table or JSON lines with a row for each document: topic, doc and {value}"
"""Advice for files whose structure is not supported."""


def describe_structure(value: Any, depth: int = 3) -> str:
    """Describe the structure of JSON: its keys, and the first nested value."""
    if isinstance(value, Mapping):
        nested = [k for k, inner in value.items() if depth and isinstance(inner, dict | list)]
        details = [
            f", where {quote(k)} is {describe_structure(value[k], depth - 1)}" for k in nested[:1]
        ]
        return f"an object with {list_some(map(quote, value), 4)}{''.join(details)}"
    if isinstance(value, list) and value:
        return f"an array of {len(value)}, whose first is {describe_structure(value[0], depth)}"
    names = {str: "text", int: "a number", float: "a number", list: "an empty array"}
    return names.get(type(value), type(value).__name__)


def is_run(data: Any) -> bool:
    """Return True if the data may be a run: a mapping of topics, or rows."""
    if isinstance(data, Mapping):
        first: Any = next(iter(data.values()), {})
        return _is_list(first) or (isinstance(first, Mapping) and not any(map(_is_list, first)))
    return not all(isinstance(row, Mapping) and find_key(DOC, row) is None for row in data)


def _is_pair(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == 2


def _split_documents(
    value_name: str, topic: Any, documents: Any, source: str
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the documents of a topic, and their scores or grades."""
    if isinstance(documents, Mapping) and not any(
        isinstance(inner, dict | list) for inner in documents.values()
    ):
        return list(documents), list(documents.values())
    if value_name == "grade" and isinstance(documents, AbstractSet):
        documents = sorted(documents, key=str)
    if is_nonempty_document_list(documents) or (_is_list(documents) and len(documents) == 0):
        docs = documents.tolist() if hasattr(documents, "tolist") else list(documents)
        if docs and all(map(_is_pair, docs)):
            return [doc for doc, _ in docs], [number for _, number in docs]
        size = len(docs)
        values: Sequence[Any] = range(-1, -size - 1, -1) if value_name == "score" else [1] * size
        if docs and all(map(_is_hit, docs)):
            doc_key = find_key(DOC, docs[0])
            value_key = find_key(_VALUE_COLUMNS[value_name], docs[0])
            keys = [doc_key] if value_key is None else [doc_key, value_key]
            if incomplete_hit := next((hit for hit in docs if not {*keys} <= hit.keys()), None):
                expected = " and ".join(map(quote, keys))
                reason = f"each document of topic {quote(topic)} must have the keys {expected}, got"
                got = list_some(map(quote, incomplete_hit), 4)
                raise InputError(f"{reason} {got}", source=source)
            if value_key is not None:
                values = [hit[value_key] for hit in docs]
            docs = [hit[doc_key] for hit in docs]
        return docs, values
    is_set = isinstance(documents, AbstractSet)
    description = "a set, which has no order" if is_set else describe_structure(documents)
    raise InputError(
        f"expected {{document: {value_name}}} for topic {quote(topic)}, got {description}"
        f"{FLAT_ADVICE.format(value=value_name)}",
        source=source,
    )


def _has_records(data: Mapping[Any, Any]) -> bool:
    """Return True if each topic of a run holds a key such as `score`, instead of documents."""
    return bool(data) and all(
        isinstance(documents, Mapping) and not {*SCORE.names}.isdisjoint(documents)
        for documents in data.values()
    )


def _convert_topics(value_name: str, data: Mapping[Any, Any], source: str) -> dict[str, list[Any]]:
    """Convert `{topic: {document: value}}`, or `{topic: [document, ...]}`, to columns."""
    if value_name == "score" and _has_records(data):
        raise InputError(
            f"expected {{topic: {{document: score}}}}, got {describe_structure(data)}"
            + FLAT_ADVICE.format(value=value_name),
            source=source,
        )
    data = {t: values.to_dict() if _is_labelled(values) else values for t, values in data.items()}
    is_nested = all(isinstance(documents, Mapping) for documents in data.values())
    if value_name == "score" and is_nested:
        firsts = (next(iter(documents.values()), None) for documents in data.values())
        if any(isinstance(first, Mapping) for first in firsts):
            raise InputError("expected one run, got a mapping of systems to runs", source=source)
    names = [str(topic).strip() for topic in data]
    if len({*names}) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        keys = [topic for topic in data if str(topic).strip() == repeated]
        first, second = (f"{quote(key)} ({type(key).__name__})" for key in keys[:2])
        reason = f"topic {quote(repeated)} occurs twice, as {first} and as {second}"
        raise InputError(reason, source=source)
    columns: dict[str, list[Any]] = {"topic": [], "doc": [], value_name: []}
    is_ascending: list[bool] = []  # for each topic with several documents
    ranks: list[int] = []
    other_columns: dict[str, list[Any]] = {}
    has_ranks = has_scores = False
    for topic, documents in data.items():
        docs, values = _split_documents(value_name, topic, documents, source)
        topic_ranks = [*range(1, len(docs) + 1)]
        other_numbers: dict[str, list[Any]] = {}
        if value_name == "score" and len(docs) and all(map(_is_hit, documents)):
            is_scored = find_key(SCORE, documents[0]) is not None
            with add_source(source):
                other_numbers = find_numbers(documents, is_scored, topic)
            has_ranks |= "rank" in other_numbers
            topic_ranks = other_numbers.pop("rank", topic_ranks)
            values = values if is_scored else [-rank for rank in topic_ranks]
            has_scores |= is_scored
        else:
            has_scores |= len(docs) > 0
        append_columns(other_columns, len(ranks), other_numbers, max(len(docs), 1))
        if value_name == "score" and not len(docs):
            docs, values = [NO_DOCUMENT], [0.0]
        if len(docs) > 1 and value_name == "score":
            is_ascending.append(_is_ascending(values, isinstance(documents, Mapping)))
        ranks.extend(topic_ranks or [1])
        columns["topic"].extend([topic] * len(docs))
        columns["doc"].extend(docs)
        columns[value_name].extend(values)
    # In mappings of two documents, 1 and 2 may be scores.
    has_long_topic = not is_nested or max(map(len, data.values()), default=0) > 2
    if (is_ascending and all(is_ascending) and has_long_topic) or has_ranks or other_columns:
        # With ranks, the reader of tables can report scores that ascend or contradict the ranks.
        columns["rank"] = ranks
    if other_columns and not has_scores:
        del columns["score"]
    return columns | other_columns


def _is_ascending(values: Sequence[Any], is_mapping: bool) -> bool:
    """Return True if the values of a list ascend, or those of a mapping are the ranks from 1."""
    if is_mapping:
        return list(values) == [*range(1, len(values) + 1)]
    numbers = [number for value in values if (number := parse_number(value)) is not None]
    return len(numbers) == len(values) and all(a < b for a, b in pairwise(numbers))


_HINT = "; columns={{'{name}': ...}} selects the column"

RUN = Schema(
    "run",
    (TOPIC, DOC, SCORE, declare_optional("rank", RANK), SYSTEM),
    noun="a run",
    tuples=("topic", "doc", "score"),
    lines_as_rows=("topic", "q0", "doc", "rank", "score", "tag"),
    hint=_HINT,
    read_mapping=partial(_convert_topics, "score"),
    read_nested=partial(convert_nested, "run"),
    decisive_kinds=("status", "outcome"),
)

RANKS = Schema("run", (TOPIC, DOC, FileColumn("rank", INTEGER), SYSTEM), noun="a run")
"""A run without scores, in the order of its ranks."""


class _JudgmentSchema(Schema):
    def _describe_missing_column(self, column: FileColumn, names: Sequence[object]) -> str:
        reason = super()._describe_missing_column(column, names)
        usual_names = set(map(fold_name, FileColumn("probability", NUMBER).names))
        if column.name == "grade" and usual_names.intersection(map(fold_name, names)):
            reason += f"; {PROBABILITIES_ADVICE}"
        elif column.name == "grade" and len(names) > 2:
            reason += "; to list relevant documents without grades, keep only topic and doc"
        return reason


QRELS = _JudgmentSchema(
    "qrels",
    (
        *(TOPIC, DOC),
        replace(GRADE_COLUMN, kind=replace(GRADE_OR_NONE, problem=describe_invalid_grade)),
        declare_optional("subtopic", ID),
        declare_optional("class", ID),
        declare_optional("stratum", ID),
        declare_optional("inclusion", NUMBER),
    ),
    noun="judgments",
    tuples=("topic", "doc", "grade"),
    lines_as_rows=("topic", "subtopic", "doc", "grade"),
    hint=_HINT,
    decisive_kinds=("status", "outcome", "measure", "criterion"),
    read_mapping=partial(_convert_topics, "grade"),
    read_nested=partial(convert_nested, "qrels"),
)

SCHEMAS = {"run": RUN, "qrels": QRELS}

_PREFIXES = {"": ("run", "qrels"), "run": ("run",), "runs": ("run",), "qrels": ("qrels",)}


@dataclass
class RequestedColumns:
    """Names of columns that the user set for a kind of table.

    Attributes
    ----------
    names
        The requested name of each column.
    ambiguous_columns
        Columns whose requested name may be meant for the runs or for the judgments. Tables without
        this name may have a usual name instead.
    matched_columns
        Columns of `names` that were required or found in a table so far.
    has_tables
        Whether some of the files that are read together are tables with column names.
    """

    kind: str
    names: dict[str, str] = field(default_factory=dict)
    ambiguous_columns: frozenset[str] = frozenset()
    matched_columns: set[str] = field(default_factory=set)
    has_tables: bool = False

    def match_table(self, names: Sequence[object]) -> dict[str, str]:
        """Return, and record, the requested names that apply to a table with these columns."""
        spellings = {*map(fold_name, names)}
        requested = {
            column: name
            for column, name in self.names.items()
            if column not in self.ambiguous_columns or fold_name(name) in spellings
        }
        self.matched_columns |= requested.keys()
        return requested

    def refuse(self, source: str, description: str) -> None:
        """Refuse requested columns of files without column names."""
        columns = [column for column in self.names if column not in self.ambiguous_columns]
        if columns:
            reason = f"expected a column {quote(self.names[columns[0]])}, got {description}"
            raise InputError(reason, source=source)


def request_columns(
    columns: Mapping[str, str] | RequestedColumns | None, kind: str, system: str | None
) -> RequestedColumns:
    """Read the names that a user set, such as `{"doc": "product_id", "qrels.doc": "pid"}`."""
    if isinstance(columns, RequestedColumns):
        return columns
    if columns is not None and not isinstance(columns, Mapping):
        raise PolicyError(
            "columns must be a mapping such as {'doc': 'product_id'}, got"
            f" {type(columns).__name__}"
        )
    # A name with the prefix of the kind takes precedence, so it comes last.
    keys = sorted(columns or {}, key=lambda key: "." in str(key))
    names = {
        column: str((columns or {})[key])
        for key in keys
        for kind_of_column, column in _find_columns(key)
        if kind_of_column == kind
    }
    if system is not None and kind == "run" and names.setdefault("tag", system) != system:
        raise PolicyError(
            f"expected one column of systems, got system={quote(system)} and"
            f" {quote(names['tag'])} in columns; remove one"
        )
    return RequestedColumns(kind, names)


def request_qrels_and_run_columns(
    columns: Mapping[str, str] | None, system: str | None
) -> tuple[RequestedColumns, RequestedColumns]:
    """Read the names of columns for judgments and runs; a name may apply to one of them only."""
    qrels = request_columns(columns, "qrels", None)
    run = request_columns(columns, "run", system)
    meanings = map(_find_columns, columns or {})
    ambiguous_columns = frozenset(
        column for pairs in meanings if len(pairs) == 2 for _, column in pairs
    )
    qrels.ambiguous_columns = run.ambiguous_columns = ambiguous_columns
    return qrels, run


def _find_columns(key: object) -> list[tuple[str, str]]:
    """Return the kinds of tables, and their columns, to which a key of `columns` refers."""
    prefix, _, name = str(key).rpartition(".")
    meanings = [
        (kind, column)
        for kind in _PREFIXES.get(prefix, ())
        if (column := SCHEMAS[kind].find_column(name)) is not None
        and not (kind == "qrels" and fold_name(name) == "score")
    ]
    if not meanings:
        columns = dict.fromkeys(column.name for column in (*RUN.columns, *QRELS.columns))
        expected = ", ".join("system" if name == "tag" else name for name in columns)
        raise PolicyError(
            f"unknown column {quote(key)} in columns; expected one of: {expected} (also with the"
            " prefix 'run.' or 'qrels.')"
        )
    return meanings


_DICT_TYPES = {dict, defaultdict, OrderedDict}
"""Types whose items can be read directly; a subclass may override access."""

_BOOLEAN_TYPES: frozenset[Any] = frozenset({bool, np.bool_})

_INTEGER_TYPES: frozenset[Any] = frozenset({int, *np.sctypeDict.values()} - {np.bool_})
"""Types of grades; NumPy would also convert an array without dimensions to an integer."""


class DictRun(DictPairs, Run):
    """A run from a dict; the column of documents is built on access."""


class DictQrels(DictPairs, Qrels):
    """Judgments from a dict; the column of documents is built on access."""


# Messages show the names of the public classes; pickle uses the qualified names.
DictRun.__name__, DictQrels.__name__ = Run.__name__, Qrels.__name__


class _NumberColumn(NamedTuple):
    """The column of scores or grades: name, dtype, `marshal` tag, NumPy kinds, allowed types."""

    name: str
    dtype: np.dtype[Any]
    tag: bytes
    kinds: str
    types: frozenset[Any] | None = None


_SCORES = _NumberColumn("scores", np.dtype("<f8"), b"g", "fiu")
_GRADES = _NumberColumn("grades", np.dtype("<i4"), b"i", "i", _INTEGER_TYPES)


def create_dict_run(data: Any, name: str, location: MetadataLocation | None) -> Run | None:
    """Create a run that refers to a dict of dicts; None for data that need the table reader."""
    fields = _convert_dicts(data, _SCORES)
    if fields is None or not np.isfinite(fields["scores"]).all():
        return None
    # A dict has no repeated documents, so there is no check for these.
    return create_unchecked(
        DictRun, **fields, name=name, ranks=None, origin=Origin("a run"), metadata_source=location
    )


def create_dict_qrels(data: Any) -> Qrels | None:
    """Create judgments that refer to a dict of dicts; None for data that need the table reader."""
    fields = _convert_dicts(data, _GRADES)
    if fields is None:
        return None
    origin = Origin("judgments")
    return create_unchecked(DictQrels, **fields, subtopics=None, origin=origin, columns={})


def _convert_dicts(data: Any, column: _NumberColumn) -> dict[str, Any] | None:
    """Convert dicts of text ids and numbers to the fields of a run or judgments, or return None."""
    if type(data) not in _DICT_TYPES or not {*map(type, data.values())} <= _DICT_TYPES:
        return None
    if RUN.is_table(data) or (column is _SCORES and _has_records(data)):
        return None
    rankings = {topic: documents for topic, documents in data.items() if documents}
    if column is _SCORES:
        # Topics with an empty ranking come last.
        rankings |= {topic: documents for topic, documents in data.items() if not documents}
    if not rankings or not _has_valid_ids(rankings):
        return None
    sizes = [*map(len, rankings.values())]
    values = np.empty(sum(sizes), column.dtype)
    start = 0
    for documents in filter(None, rankings.values()):
        numbers = _convert_numbers([*documents.values()], column)
        if numbers is None or not _has_valid_ids(documents):
            return None
        values[start : start + len(documents)] = numbers
        start += len(documents)
    codes = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    if column is _SCORES and max(sizes) > 2 and np.array_equal(values, number_rows(codes)):
        # The reader of tables reports scores that look like ranks.
        return None
    dicts = tuple(rankings.values())
    return {"topics": tuple(rankings), "codes": codes, "topic_dicts": dicts, column.name: values}


def _convert_numbers(values: list[Any], column: _NumberColumn) -> NDArray[Any] | None:
    """Convert numbers of at most 64 bits to an array; None for other values."""
    with suppress(Exception):
        # `marshal` writes a tag and a number for each float, and each integer of 32 bits.
        dumped = marshal.dumps(values, 2)
        step = column.dtype.itemsize + 1
        size = len(values)
        if len(dumped) == 5 + step * size and dumped[5::step].count(column.tag) == size:
            return np.ndarray(size, column.dtype, dumped, 6, step)
    try:
        numbers = np.array(values)
    except Exception:
        # The conversion of a value to an array may raise any error.
        return None
    types = {*map(type, values)}
    # NumPy converts a Boolean among numbers to 1 or 0.
    if (
        numbers.dtype.kind not in column.kinds
        or numbers.dtype.itemsize > 8
        or types & _BOOLEAN_TYPES
    ):
        return None
    is_exact = column.types is None or (
        types <= column.types and bool((numbers.astype(column.dtype) == numbers).all())
    )
    return numbers if is_exact and numbers.shape == (len(values),) else None


def _has_valid_ids(ids: Mapping[Any, Any]) -> bool:
    """Return True if all keys are non-empty, valid Unicode text without blanks."""
    try:
        # Joining takes half the time of the type check, and fails for most ids that are not text.
        text = "".join(ids)
        if [*map(type, ids)].count(str) < len(ids) or "" in ids:
            return False
        if any(blank in text for blank in BLANKS):
            # The reader of tables strips the blanks around ids.
            return False
        return text.isascii() or bool(text.encode())
    except (TypeError, UnicodeEncodeError):
        return False


_MTEB = "mteb_model_meta"
"""First key of the predictions that MTEB saves for a task."""


def split_mapping(data: Mapping[Any, Any]) -> Iterator[tuple[str | None, Any]]:
    """Yield the name and data of each run in a mapping; the name of a mapping of topics is None."""
    if isinstance(data.get(_MTEB), Mapping):
        model = str(data[_MTEB].get("model_name") or "mteb")
        subsets = {name: splits for name, splits in data.items() if name != _MTEB}
        runs = [
            (f"{model} {subset} {split}", run)
            for subset, splits in subsets.items()
            if isinstance(splits, Mapping)
            for split, run in splits.items()
        ]
        yield from runs if len(runs) > 1 else [(model, run) for _, run in runs]
    elif RUN.is_table(data) or _is_single_run(data):
        yield None, data
    elif len(data) > 1 and all(_has_only_topic(run, name) for name, run in data.items()):
        expected = "expected {system: run}, got a table for each topic"
        raise InputError(f"{expected}; pass one table with the rows of all topics")
    else:
        yield from ((str(name), run) for name, run in data.items())


def _has_only_topic(table: Any, topic: Any) -> bool:
    """Return True for a table whose column of topics has only this topic."""
    if not is_frame(table) and not (_is_list(table) and all(isinstance(r, Mapping) for r in table)):
        return False
    columns = read_columns(table, RUN)
    name = str(topic[0] if isinstance(topic, tuple) else topic)  # Polars names groups by tuples.
    positions = TOPIC.find_in(columns.names)
    return bool(positions) and {*map(str, columns.cells(positions[0]))} == {name}


def _is_single_run(data: Mapping[Any, Any]) -> bool:
    """Return True if a mapping is itself a run, of topics to documents."""
    inner = next((value for value in data.values() if not _is_empty(value)), None)
    if inner is None:
        return len(data) > 0
    if not isinstance(inner, Mapping):
        return isinstance(inner, AbstractSet) or is_document_list(inner)
    return not any(
        isinstance(value, (Mapping, Run)) or is_document_list(value) for value in inner.values()
    )


def is_document_list(value: Any) -> bool:
    """Return True for a list of documents, which may be empty."""
    if isinstance(value, (str, int, float)) or value is None:
        return False
    return _is_empty(value) or is_nonempty_document_list(value)


def _is_empty(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple, AbstractSet)) and not len(value)
