"""Tables of runs and judgments: their columns, by usual names or by those that are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any

from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.words import some_of
from cranfield.sources.schemas import Column, Schema, optional, spelt
from cranfield.sources.values import GRADE, GRADE_OR_NONE, ID, NUMBER, RANK, TAG, finite

TOPIC = Column("topic", ID)
DOC = Column("doc", ID)
SCORE = Column("score", NUMBER)
SYSTEM = optional("tag", TAG, "system")
GRADED = Column("grade", GRADE, "judgment")

NO_DOCUMENT = object()
"""The only document of an empty ranking, in columns made of a mapping."""

_VALUES = {"score": SCORE, "grade": GRADED}


def is_listed(inside: Any) -> bool:
    """Tell whether this is a list of documents, or of documents and their values."""
    if not _is_list(inside) or not len(inside):
        return False
    first = inside[0]
    plain = isinstance(first, (str, int)) or hasattr(first, "dtype")
    return plain or _is_pair(first) or _is_hit(first)


def _is_list(inside: Any) -> bool:
    if isinstance(inside, (str, bytes, bytearray, Mapping)):
        return False
    return isinstance(inside, Sequence) or (hasattr(inside, "dtype") and hasattr(inside, "__len__"))


def _holds_runs(inside: Any) -> bool:
    """Tell whether documents are a level deeper than where a run has them."""
    return isinstance(inside, Mapping) and isinstance(next(iter(inside.values()), None), Mapping)


def _is_hit(value: Any) -> bool:
    """Tell whether this is a document without a topic, such as a search engine returns."""
    return isinstance(value, Mapping) and _key(value, TOPIC) is None is not _key(value, DOC)


def _key(row: Mapping[Any, Any], column: Column) -> Any:
    """Find the key of a mapping that is called like a column; None where none is."""
    keys = [*row]
    places = column.named_in(keys)
    return keys[places[0]] if places else None


FLAT = "; write a table or JSON lines with a row for each document: topic, doc and {value}"
"""The way on for files of other structure."""


def shape(value: Any, depth: int = 3) -> str:
    """Describe what a file of JSON holds: its keys, and the first one with more inside."""
    if isinstance(value, Mapping):
        nested = (k for k, inner in value.items() if depth and _is_nested(inner))
        first = next(nested, None)
        inside = "" if first is None else f", where {quoted(first)} is "
        inside += "" if first is None else shape(value[first], depth - 1)
        return f"an object with {some_of(map(quoted, value), 4)}{inside}"
    if isinstance(value, list) and value:
        return f"an array of {len(value)}, the first is {shape(value[0], depth)}"
    names = {str: "text", int: "a number", float: "a number", list: "an empty array"}
    return names.get(type(value), type(value).__name__)


def is_run(data: Any) -> bool:
    """Tell whether this may be a run by topic, or rows of one."""
    if isinstance(data, Mapping):
        first: Any = next(iter(data.values()), {})
        return _is_list(first) or (isinstance(first, Mapping) and not any(map(_is_list, first)))
    return not all(isinstance(row, Mapping) and _key(row, DOC) is None for row in data)


def _is_nested(value: Any) -> bool:
    return isinstance(value, (dict, list))


def _is_pair(value: Any) -> bool:
    return isinstance(value, (tuple, list)) and len(value) == 2


def _documents(
    value: str, topic: Any, inside: Any, source: str
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return the documents of a topic and their scores or grades, of a mapping, list or set."""
    if isinstance(inside, Mapping) and not any(map(_is_nested, inside.values())):
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
    found = "a set, which has no order" if isinstance(inside, AbstractSet) else shape(inside)
    reason = f"expected {{document: {value}}} for topic {quoted(topic)}, got {found}"
    raise InputError(reason + FLAT.format(value=value), source=source)


def _by_topic(value: str, data: Mapping[Any, Any], source: str) -> dict[str, list[Any]]:
    """Make columns of what each topic has: {document: value}, or a list of documents."""
    systems = all(isinstance(one, Mapping) for one in data.values())
    if value == "score" and systems and any(map(_holds_runs, data.values())):
        raise InputError("expected one run, got a mapping of systems to runs", source=source)
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
    numbers = [number for one in values if (number := finite(one)) is not None]
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
)

RANKS = Schema("run", (TOPIC, DOC, Column("rank", GRADE), SYSTEM), called="a run")
"""A run without scores, in the order of its ranks."""

QRELS = Schema(
    "qrels",
    (
        *(TOPIC, DOC),
        replace(GRADED, kind=GRADE_OR_NONE),
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
)

SCHEMAS = {"run": RUN, "qrels": QRELS}


_PREFIXES = {"": ("run", "qrels"), "run": ("run",), "runs": ("run",), "qrels": ("qrels",)}


def schema_for(kind: str, names: Sequence[object], called: Mapping[str, str]) -> Schema:
    """Choose the schema of a table: runs may have ranks and no scores."""
    scored, ranked = (
        column.name in called or bool(column.named_in(names))
        for column in (SCORE, RANKS.columns[2])
    )
    return RANKS if kind == "run" and ranked and not scored else SCHEMAS[kind]


@dataclass
class Called:
    """What columns are called in tables of a kind, by what they hold.

    names: the names that were asked for.
    loose: columns that may be called so, or as usual, since the name may be one of other tables.
    met: those of them that a table had.
    """

    kind: str
    names: dict[str, str] = field(default_factory=dict)
    loose: frozenset[str] = frozenset()
    met: set[str] = field(default_factory=set)

    def of(self, names: Sequence[object]) -> dict[str, str]:
        """Return what is asked of a table that has columns of some names."""
        known = {*map(spelt, names)}
        found = {
            column: name
            for column, name in self.names.items()
            if column not in self.loose or spelt(name) in known
        }
        self.met |= found.keys()
        return found

    def refuse(self, source: str, what: str) -> None:
        """Refuse to be asked for columns where they have no names."""
        asked = [column for column in self.names if column not in self.loose]
        if asked:
            raise InputError(
                f"is {what}, which has no column {quoted(self.names[asked[0]])}", source=source
            )


def called(columns: Mapping[str, str] | Called | None, kind: str, system: str | None) -> Called:
    """Take names of columns for tables of a kind: `{"doc": "product_id", "qrels.doc": "pid"}`."""
    if isinstance(columns, Called):
        return columns
    made = Called(kind)
    if columns is not None and not isinstance(columns, Mapping):
        raise PolicyError(
            f"columns is {type(columns).__name__}, and not a mapping such as"
            " {'doc': 'product_id'}"
        )
    for asked, name in (columns or {}).items():
        for of, column in _meant(asked):
            if of == kind:
                made.names[column] = str(name)
    if system is not None and kind == "run":
        if made.names.get("tag", system) != system:
            raise PolicyError(
                f"system {quoted(system)} and columns {quoted(made.names['tag'])} name two columns"
            )
        made.names["tag"] = system
    return made


def shared(columns: Mapping[str, str] | None, system: str | None) -> tuple[Called, Called]:
    """Take names for both judgments and runs: what both have may be called so in one only."""
    qrels, run = called(columns, "qrels", None), called(columns, "run", system)
    both = {asked for asked in columns or {} if len(_meant(asked)) == 2}
    loose = frozenset(column for asked in both for _, column in _meant(asked))
    qrels.loose = run.loose = loose
    return qrels, run


def _meant(asked: object) -> list[tuple[str, str]]:
    """Find what a name of a column stands for: kinds of tables, and the column there."""
    of, _, name = str(asked).rpartition(".")
    found = [
        (kind, column.name)
        for kind in _PREFIXES.get(of, ())
        for column in SCHEMAS[kind].columns
        if spelt(name) in map(spelt, column.names)
        and not (kind == "qrels" and spelt(name) == "score")
    ]
    if not found:
        known = dict.fromkeys(column.name for one in SCHEMAS.values() for column in one.columns)
        listed = ", ".join("system" if name == "tag" else name for name in known)
        raise PolicyError(
            f"columns {quoted(asked)} is none of {listed}, or one of these after 'run.' or 'qrels.'"
        )
    return found
