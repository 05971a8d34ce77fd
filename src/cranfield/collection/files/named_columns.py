"""Tables and nested dicts of runs or judgments.

The fast readers of dicts keep documents as Python text and check types only. Unusual or possibly
invalid data go to the reader of all tables, which reports errors.
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

from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.text import some_of
from cranfield.collection.files.grade_maps import OF_PROBABILITIES, not_a_grade
from cranfield.collection.files.nested_json import NO_DOCUMENT, columns_of_nested
from cranfield.collection.metadata.reading import MetadataPlace
from cranfield.collection.pairs import Listed
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.sources.chunks import Origin
from cranfield.sources.schemas import Column, Schema, optional, spelt
from cranfield.sources.values import GRADE, GRADE_OR_NONE, ID, NUMBER, RANK, TAG, finite

TOPIC = Column("topic", ID)
DOC = Column("doc", ID)
SCORE = Column("score", NUMBER)
SYSTEM = optional("tag", TAG, "system")
GRADED = Column("grade", GRADE, "judgment")

_VALUES = {"score": SCORE, "grade": GRADED}


def is_listed(inside: Any) -> bool:
    """Return True for a list of documents, or of documents and their values."""
    if not _is_list(inside) or not len(inside):
        return False
    first = inside[0]
    is_document = isinstance(first, (str, int)) or hasattr(first, "dtype")
    return is_document or _is_pair(first) or _is_hit(first)


def _is_list(inside: Any) -> bool:
    # An array of NumPy without dimensions has the method __len__, but no length: it is a number.
    is_array = hasattr(inside, "dtype") and hasattr(inside, "__len__")
    is_list = isinstance(inside, Sequence) or (is_array and getattr(inside, "ndim", 1) > 0)
    return is_list and not isinstance(inside, (str, bytes, bytearray))


def _is_hit(value: Any) -> bool:
    """Return True for a document without a topic, as search engines return it."""
    return isinstance(value, Mapping) and _key(value, TOPIC) is None is not _key(value, DOC)


def _key(row: Mapping[Any, Any], column: Column) -> Any:
    """Return the key of a mapping that names a column, or None."""
    keys = [*row]
    places = column.named_in(keys)
    return keys[places[0]] if places else None


FLAT = "; write a table or JSON lines with a row for each document: topic, doc and {value}"
"""Advice for files of other structures."""


def shape(value: Any, depth: int = 3) -> str:
    """Describe the structure of JSON: its keys, and the first nested value."""
    if isinstance(value, Mapping):
        nested = [k for k, inner in value.items() if depth and isinstance(inner, dict | list)]
        inside = [f", where {quoted(k)} is {shape(value[k], depth - 1)}" for k in nested[:1]]
        return f"an object with {some_of(map(quoted, value), 4)}{''.join(inside)}"
    if isinstance(value, list) and value:
        return f"an array of {len(value)}, the first is {shape(value[0], depth)}"
    names = {str: "text", int: "a number", float: "a number", list: "an empty array"}
    return names.get(type(value), type(value).__name__)


def is_run(data: Any) -> bool:
    """Return True if this may be a run by topic, or rows of one."""
    if isinstance(data, Mapping):
        first: Any = next(iter(data.values()), {})
        return _is_list(first) or (isinstance(first, Mapping) and not any(map(_is_list, first)))
    return not all(isinstance(row, Mapping) and _key(row, DOC) is None for row in data)


def _is_pair(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == 2


def _documents(
    value: str, topic: Any, inside: Any, source: str
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the documents of a topic and their scores or grades, of a mapping, list or set."""
    if isinstance(inside, Mapping) and not any(
        isinstance(inner, dict | list) for inner in inside.values()
    ):
        return list(inside), list(inside.values())
    if value == "grade" and isinstance(inside, AbstractSet):
        inside = sorted(inside, key=str)
    if is_listed(inside) or (_is_list(inside) and not inside):
        docs = inside.tolist() if hasattr(inside, "tolist") else list(inside)
        if docs and all(map(_is_pair, docs)):
            return [doc for doc, _ in docs], [number for _, number in docs]
        size = len(docs)
        values: Sequence[Any] = range(-1, -size - 1, -1) if value == "score" else [1] * size
        if docs and all(map(_is_hit, docs)):
            doc, number = (_key(docs[0], column) for column in (DOC, _VALUES[value]))
            if any(doc not in hit or (number is not None) > (number in hit) for hit in docs):
                reason = f"topic {quoted(topic)} has documents with different keys"
                raise InputError(reason, source=source)
            values = values if number is None else [hit[number] for hit in docs]
            docs = [hit[doc] for hit in docs]
        return docs, values
    got = "a set, which has no order" if isinstance(inside, AbstractSet) else shape(inside)
    reason = f"expected {{document: {value}}} for topic {quoted(topic)}, got {got}"
    raise InputError(reason + FLAT.format(value=value), source=source)


def _by_topic(value: str, data: Mapping[Any, Any], source: str) -> dict[str, list[Any]]:
    """Return the columns of a run by topic: {document: value}, or lists of documents."""
    is_nested = all(isinstance(inside, Mapping) for inside in data.values())
    if value == "score" and is_nested:
        firsts = (next(iter(inside.values()), None) for inside in data.values())
        if any(isinstance(first, Mapping) for first in firsts):
            raise InputError("expected one run, got a mapping of systems to runs", source=source)
    names = [str(topic).strip() for topic in data]
    if len({*names}) < len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(f"topic {quoted(repeated)} twice, as text and as a number", source=source)
    columns: dict[str, list[Any]] = {"topic": [], "doc": [], value: []}
    rising: list[bool] = []
    ranks: list[int] = []
    for topic, inside in data.items():
        docs, values = _documents(value, topic, inside, source)
        if value == "score" and not len(docs):
            docs, values = [NO_DOCUMENT], [0.0]
        if len(docs) > 1 and value == "score":
            rising.append(_rise(values, by_rank=isinstance(inside, Mapping)))
        ranks.extend(range(1, len(docs) + 1))
        columns["topic"].extend([topic] * len(docs))
        columns["doc"].extend(docs)
        columns[value].extend(values)
    if rising and all(rising):
        # The scores look like ranks or distances: they contradict the order of documents.
        columns["rank"] = ranks
    return columns


def _rise(values: Sequence[Any], by_rank: bool) -> bool:
    """Return True if values rise down a list, or are ranks in a mapping of documents."""
    if by_rank:
        return list(values) == [*range(1, len(values) + 1)] and len(values) > 2
    numbers = [number for value in values if (number := finite(value)) is not None]
    return len(numbers) == len(values) and all(a < b for a, b in pairwise(numbers))


_HINT = "; columns={{'{name}': ...}} says which it is"

RUN = Schema(
    "run",
    (TOPIC, DOC, SCORE, optional("rank", RANK), SYSTEM),
    called="a run",
    tuples=("topic", "doc", "score"),
    lines_as_rows=("topic", "q0", "doc", "rank", "score", "tag"),
    hint=_HINT,
    mapping=partial(_by_topic, "score"),
    nested=partial(columns_of_nested, "run"),
)

RANKS = Schema("run", (TOPIC, DOC, Column("rank", GRADE), SYSTEM), called="a run")
"""A run without scores, in the order of its ranks."""


class _JudgmentSchema(Schema):
    def _missing_reason(self, column: Column, names: Sequence[object]) -> str:
        reason = super()._missing_reason(column, names)
        usual_names = set(map(spelt, Column("probability", NUMBER).names))
        if column.name == "grade" and usual_names.intersection(map(spelt, names)):
            reason += f"; {OF_PROBABILITIES}"
        return reason


QRELS = _JudgmentSchema(
    "qrels",
    (
        *(TOPIC, DOC),
        replace(GRADED, kind=replace(GRADE_OR_NONE, problem=not_a_grade)),
        optional("subtopic", ID),
        optional("class", ID),
        optional("stratum", ID),
        optional("inclusion", NUMBER),
    ),
    called="judgments",
    tuples=("topic", "doc", "grade"),
    lines_as_rows=("topic", "subtopic", "doc", "grade"),
    hint=_HINT,
    mapping=partial(_by_topic, "grade"),
    nested=partial(columns_of_nested, "qrels"),
)

SCHEMAS = {"run": RUN, "qrels": QRELS}

_PREFIXES = {"": ("run", "qrels"), "run": ("run",), "runs": ("run",), "qrels": ("qrels",)}


@dataclass
class Called:
    """Names of columns in the tables of a kind.

    names: the requested names.
    loose: columns that may also have a usual name, as the requested one may be for other tables.
    met: requested columns that occurred in a table so far.
    beside_tables: whether files without column names are read together with tables.
    """

    kind: str
    names: dict[str, str] = field(default_factory=dict)
    loose: frozenset[str] = frozenset()
    met: set[str] = field(default_factory=set)
    beside_tables: bool = False

    def of(self, names: Sequence[object]) -> dict[str, str]:
        """Return the requested columns of a table with these names."""
        spellings = {*map(spelt, names)}
        requested = {
            column: name
            for column, name in self.names.items()
            if column not in self.loose or spelt(name) in spellings
        }
        self.met |= requested.keys()
        return requested

    def refuse(self, source: str, what: str) -> None:
        """Refuse requested columns of files without column names."""
        columns = [column for column in self.names if column not in self.loose]
        if columns:
            raise InputError(
                f"is {what}, which has no column {quoted(self.names[columns[0]])}", source=source
            )


def called(columns: Mapping[str, str] | Called | None, kind: str, system: str | None) -> Called:
    """Read the names of columns: `{"doc": "product_id", "qrels.doc": "pid"}`."""
    if isinstance(columns, Called):
        return columns
    if columns is not None and not isinstance(columns, Mapping):
        raise PolicyError(
            "columns must be a mapping such as {'doc': 'product_id'},"
            f" got {type(columns).__name__}"
        )
    names = {
        column: str(name)
        for key, name in (columns or {}).items()
        for kind_of_column, column in _columns_named(key)
        if kind_of_column == kind
    }
    if system is not None and kind == "run" and names.setdefault("tag", system) != system:
        raise PolicyError(
            f"system and columns must name one column, got {quoted(system)} and"
            f" {quoted(names['tag'])}"
        )
    return Called(kind, names)


def shared(columns: Mapping[str, str] | None, system: str | None) -> tuple[Called, Called]:
    """Read names for judgments and runs; a name that applies to both may occur in only one."""
    qrels, run = called(columns, "qrels", None), called(columns, "run", system)
    common_names = {name for name in columns or {} if len(_columns_named(name)) == 2}
    loose = frozenset(column for key in common_names for _, column in _columns_named(key))
    qrels.loose = run.loose = loose
    return qrels, run


def _columns_named(key: object) -> list[tuple[str, str]]:
    """Find the kinds of tables, and their columns, to which a name refers."""
    prefix, _, name = str(key).rpartition(".")
    meanings = [
        (kind, column)
        for kind in _PREFIXES.get(prefix, ())
        if (column := SCHEMAS[kind].column_of(name)) is not None
        and not (kind == "qrels" and spelt(name) == "score")
    ]
    if not meanings:
        columns = dict.fromkeys(
            column.name for schema in SCHEMAS.values() for column in schema.columns
        )
        expected = ", ".join("system" if name == "tag" else name for name in columns)
        raise PolicyError(
            f"unknown column {quoted(key)} in columns; expected one of: {expected} (also after"
            " 'run.' or 'qrels.')"
        )
    return meanings


_BLANKS = " \t\n\r\v\f"

_DICTS = {dict, defaultdict, OrderedDict}
"""Types whose items can be read directly; a subclass may override access."""

_TRUTHS: frozenset[Any] = frozenset({bool, np.bool_})

_INTEGERS: frozenset[Any] = frozenset({int, *np.sctypeDict.values()} - {np.bool_})
"""Types of grades; NumPy would also convert an array without dimensions to an integer."""


class ListedRun(Listed, Run):
    """A run whose documents become a column on request."""


class ListedQrels(Listed, Qrels):
    """Judgments whose documents become a column on request."""


# Messages show the names of the public classes; pickle uses the qualified names.
ListedRun.__name__, ListedQrels.__name__ = Run.__name__, Qrels.__name__


class _Numbers(NamedTuple):
    """A column of numbers: its name, dtype, tag of `marshal`, NumPy kinds, and allowed types."""

    name: str
    dtype: np.dtype[Any]
    tag: bytes
    kinds: str
    types: frozenset[Any] | None = None


_SCORES = _Numbers("scores", np.dtype("<f8"), b"g", "fiu")
_GRADES = _Numbers("grades", np.dtype("<i4"), b"i", "i", _INTEGERS)


def run_of_dicts(data: Any, name: str, place: MetadataPlace | None) -> Run | None:
    """Create a run that refers to a dict of dicts; None if the dicts have unusual data."""
    fields = _fields(data, _SCORES)
    if fields is None or not np.isfinite(fields["scores"]).all():
        return None
    run = object.__new__(ListedRun)
    # A dict has no repeated documents, so there is no check for these.
    run.__dict__.update(fields, name=name, ranks=None, origin=Origin("a run"), described=place)
    return run


def qrels_of_dicts(data: Any) -> Qrels | None:
    """Create judgments that refer to a dict of dicts; None if the dicts have unusual data."""
    fields = _fields(data, _GRADES)
    if fields is None:
        return None
    qrels = object.__new__(ListedQrels)
    qrels.__dict__.update(fields, subtopics=None, origin=Origin("judgments"), columns={})
    return qrels


def _fields(data: Any, kind: _Numbers) -> dict[str, Any] | None:
    """Convert dicts of text ids and numbers of a kind to columns."""
    if type(data) not in _DICTS or not {*map(type, data.values())} <= _DICTS:
        return None
    rankings = {topic: inside for topic, inside in data.items() if inside}
    if kind is _SCORES:
        # Topics with an empty ranking come last.
        rankings |= {topic: inside for topic, inside in data.items() if not inside}
    if not rankings or not _all_ids(rankings):
        return None
    sizes = [*map(len, rankings.values())]
    values = np.empty(sum(sizes), kind.dtype)
    start = 0
    for inside in filter(None, rankings.values()):
        numbers = _numbers([*inside.values()], kind)
        if numbers is None or not _all_ids(inside):
            return None
        values[start : start + len(inside)] = numbers
        start += len(inside)
    codes = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    inside_dicts = tuple(rankings.values())
    return {"topics": tuple(rankings), "codes": codes, "inside": inside_dicts, kind.name: values}


def _numbers(values: list[Any], kind: _Numbers) -> NDArray[Any] | None:
    """Convert numbers of at most 64 bits to an array; None for other values."""
    with suppress(Exception):
        # `marshal` writes a tag and a number for each float, and each integer of 32 bits.
        dumped = marshal.dumps(values, 2)
        step = kind.dtype.itemsize + 1
        size = len(values)
        if len(dumped) == 5 + step * size and dumped[5::step].count(kind.tag) == size:
            return np.ndarray(size, kind.dtype, dumped, 6, step)
    try:
        numbers = np.array(values)
    except Exception:
        # The conversion of a value to an array may raise any error.
        return None
    types = {*map(type, values)}
    # NumPy converts a Boolean among numbers to 1 or 0.
    if numbers.dtype.kind not in kind.kinds or numbers.dtype.itemsize > 8 or types & _TRUTHS:
        return None
    is_exact = kind.types is None or (
        types <= kind.types and bool((numbers.astype(kind.dtype) == numbers).all())
    )
    return numbers if is_exact and numbers.shape == (len(values),) else None


def _all_ids(ids: Mapping[Any, Any]) -> bool:
    """Return True if all keys are non-empty, valid Unicode text without blanks."""
    try:
        # Joining scattered ids takes half the time of checking their types, so errors come first.
        text = "".join(ids)
        if [*map(type, ids)].count(str) < len(ids) or "" in ids:
            return False
        if any(blank in text for blank in _BLANKS):
            # The reader of tables strips the blanks around ids.
            return False
        return text.isascii() or bool(text.encode())
    except (TypeError, UnicodeEncodeError):
        return False


_MTEB = "mteb_model_meta"
"""First key of the predictions that MTEB saves for a task."""


def runs_of_mapping(data: Mapping[Any, Any]) -> Iterator[tuple[str | None, Any]]:
    """Yield the runs of a mapping of systems; a single run by topic has no name."""
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
    elif _is_single_run(data):
        yield None, data
    else:
        yield from ((str(name), run) for name, run in data.items())


def _is_single_run(data: Mapping[Any, Any]) -> bool:
    """Return True if a mapping is itself a run, of topics to documents."""
    inner = next((value for value in data.values() if not _is_empty(value)), None)
    if inner is None:
        return len(data) > 0
    if not isinstance(inner, Mapping):
        return isinstance(inner, AbstractSet) or is_documents(inner)
    return not any(
        isinstance(value, (Mapping, Run)) or is_documents(value) for value in inner.values()
    )


def is_documents(value: Any) -> bool:
    """Return True for a list of documents."""
    if isinstance(value, (str, int, float)) or value is None:
        return False
    return _is_empty(value) or is_listed(value)


def _is_empty(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple, AbstractSet)) and not len(value)
