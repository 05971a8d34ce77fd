"""Runs and judgments from dicts of dicts, as they usually are.

Documents stay text of Python, of which hardly any is looked at. Whatever is unusual, and what may
be wrong, is left to the reader of all tables, which knows what to do with it and what to say.
"""

from __future__ import annotations

import marshal
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.keys import Codes
from cranfield.collection.metadata.reading import MetadataPlace
from cranfield.collection.pairs import Listed
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.sources.chunks import Origin

_BLANKS = " \t\n\r\v\f"

_DICTS = {dict, defaultdict, OrderedDict}
"""Types whose keys and values are those that they show; a subclass may show others."""

_TRUTHS: frozenset[Any] = frozenset({bool, np.bool_})

_INTEGERS: frozenset[Any] = frozenset({int, *np.sctypeDict.values()} - {np.bool_})
"""Types of grades; NumPy would also take an array of no dimension for the integer in it."""


class ListedRun(Listed, Run):
    """A run whose documents become a column when that is asked for."""


class ListedQrels(Listed, Qrels):
    """Judgments whose documents become a column when that is asked for."""


# In messages they are what they are to users; pickles find them by their qualified names.
ListedRun.__name__, ListedQrels.__name__ = Run.__name__, Qrels.__name__


class _Kind(NamedTuple):
    """What numbers there are: as arrays, as `marshal` writes them, and of which types otherwise."""

    dtype: np.dtype[Any]
    tag: bytes
    kinds: str
    types: frozenset[Any] | None = None


_SCORES = _Kind(np.dtype("<f8"), b"g", "fiu")
_GRADES = _Kind(np.dtype("<i4"), b"i", "i", _INTEGERS)


class _Rows(NamedTuple):
    topics: tuple[str, ...]
    codes: Codes
    inside: tuple[Mapping[str, Any], ...]
    values: NDArray[Any]


def run_of_dicts(data: Any, name: str, described: MetadataPlace | None) -> Run | None:
    """Make a run of a dict of dicts, which it holds; None where there is anything unusual in it."""
    rows = _rows(data, _SCORES)
    if rows is None or not np.isfinite(rows.values).all():
        return None
    run = object.__new__(ListedRun)
    # A dict has no document twice, so that is not checked.
    run.__dict__.update(
        name=name,
        topics=rows.topics,
        codes=rows.codes,
        inside=rows.inside,
        scores=rows.values,
        ranks=None,
        origin=Origin("a run"),
        described=described,
    )
    return run


def qrels_of_dicts(data: Any) -> Qrels | None:
    """Make judgments of a dict of dicts, which they hold; None where anything in it is unusual."""
    rows = _rows(data, _GRADES)
    if rows is None:
        return None
    qrels = object.__new__(ListedQrels)
    qrels.__dict__.update(
        topics=rows.topics,
        codes=rows.codes,
        inside=rows.inside,
        grades=rows.values,
        subtopics=None,
        origin=Origin("judgments"),
        columns={},
    )
    return qrels


def _rows(data: Any, kind: _Kind) -> _Rows | None:
    """Take rows from dicts of ids of type `str`, and numbers of some kind."""
    if type(data) not in _DICTS or not {*map(type, data.values())} <= _DICTS:
        return None
    given = {topic: inside for topic, inside in data.items() if inside}
    if kind is _SCORES:
        # Topics with an empty ranking come last.
        given |= {topic: inside for topic, inside in data.items() if not inside}
    if not given or not _all_ids(given):
        return None
    sizes = [*map(len, given.values())]
    values = np.empty(sum(sizes), kind.dtype)
    start = 0
    for inside in filter(None, given.values()):
        plain = [*inside.values()]
        numbers = _written(plain, kind)
        if numbers is None:
            numbers = _converted(plain, kind)
        if numbers is None or not _all_ids(inside):
            return None
        values[start : start + len(plain)] = numbers
        start += len(plain)
    codes = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return _Rows(tuple(given), codes, tuple(given.values()), values)


def _written(given: list[Any], kind: _Kind) -> NDArray[Any] | None:
    """Take floats, or ints of 32 bits, from what `marshal` writes: a tag and a number each."""
    try:
        written = marshal.dumps(given, 2)
    except Exception:
        return None
    step = kind.dtype.itemsize + 1
    if len(written) != 5 + step * len(given) or written[5::step].count(kind.tag) != len(given):
        return None
    return np.ndarray(len(given), kind.dtype, written, 6, step)


def _converted(given: list[Any], kind: _Kind) -> NDArray[Any] | None:
    """Take numbers of 64 bits or less of the kinds that NumPy finds in them."""
    try:
        numbers = np.array(given)
    except Exception:
        # Whatever a value does when it is asked to be an array.
        return None
    types = {*map(type, given)}
    # NumPy takes a truth value among numbers for 1 or 0.
    if numbers.dtype.kind not in kind.kinds or numbers.dtype.itemsize > 8 or types & _TRUTHS:
        return None
    exact = kind.types is None or (
        types <= kind.types and bool((numbers.astype(kind.dtype) == numbers).all())
    )
    return numbers if exact and numbers.shape == (len(given),) else None


def _all_ids(given: Mapping[Any, Any]) -> bool:
    """Tell whether all keys are text without blanks, none of it empty, that is valid Unicode."""
    try:
        # This goes through ids that are scattered in memory in half the time of the look at types.
        text = "".join(given)
        if [*map(type, given)].count(str) < len(given) or "" in given:
            return False
        if any(blank in text for blank in _BLANKS):
            # Those around ids are removed.
            return False
        return text.isascii() or bool(text.encode())
    except (TypeError, UnicodeEncodeError):
        return False


_MTEB = "mteb_model_meta"
"""What stands first in the predictions that MTEB keeps of a task."""


def runs_of_mapping(data: Mapping[Any, Any]) -> Iterator[tuple[str | None, Any]]:
    """Take the runs out of a mapping of systems; a single run by topic has no name."""
    if isinstance(data.get(_MTEB), Mapping):
        yield from _of_mteb(data)
    elif _is_one(data):
        yield None, data
    else:
        yield from ((str(name), run) for name, run in data.items())


def _of_mteb(data: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Take the runs out of MTEB's predictions: one of each subset and split."""
    model = str(data[_MTEB].get("model_name") or "mteb")
    parts = [
        (subset, split, run)
        for subset, splits in data.items()
        if subset != _MTEB and isinstance(splits, Mapping)
        for split, run in splits.items()
    ]
    for subset, split, run in parts:
        yield (f"{model} {subset} {split}" if len(parts) > 1 else model), run


def _is_one(data: Mapping[Any, Any]) -> bool:
    """Tell whether a mapping is a run itself, of topics to documents."""
    inner = next((one for one in data.values() if not _is_empty(one)), None)
    if inner is None:
        return len(data) > 0
    if not isinstance(inner, Mapping):
        return isinstance(inner, AbstractSet) or is_documents(inner)
    return not any(
        isinstance(value, (Mapping, Run)) or is_documents(value) for value in inner.values()
    )


def is_documents(value: Any) -> bool:
    """Tell whether this is a list of documents; what is none is seen without looking closely."""
    if isinstance(value, (str, int, float)) or value is None:
        return False
    from cranfield.collection.files.named_columns import is_listed

    return _is_empty(value) or is_listed(value)


def _is_empty(value: Any) -> bool:
    return isinstance(value, (Mapping, list, tuple, AbstractSet)) and not len(value)
