"""Runs and judgments from dicts of dicts, as they usually are.

Documents stay text of Python, of which hardly any is looked at. Whatever is unusual, and what may
be wrong, is left to the reader of all tables, which knows what to do with it and what to say.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Mapping
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cranfield.collection.keys import Codes
from cranfield.collection.metadata.reading import MetadataPlace
from cranfield.collection.pairs import Listed
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.sources.chunks import Origin

_DICTS = {dict, defaultdict, OrderedDict}
"""Types whose keys and values are those that they show; a subclass may show others."""

_INTEGERS = {int, bool, *np.sctypeDict.values()}
"""Types of grades; NumPy would also take an array of no dimension for the integer in it."""


class ListedRun(Listed, Run):
    """A run whose documents become a column when that is asked for."""


class ListedQrels(Listed, Qrels):
    """Judgments whose documents become a column when that is asked for."""


# In messages they are what they are to users; pickles find them by their qualified names.
ListedRun.__name__, ListedQrels.__name__ = Run.__name__, Qrels.__name__


class _Rows(NamedTuple):
    topics: tuple[str, ...]
    codes: Codes
    listed: list[str]
    values: NDArray[Any]


def run_of_dicts(data: Any, name: str, described: MetadataPlace | None) -> Run | None:
    """Make a run of a dict of dicts; None where there is anything unusual in it."""
    rows = _rows(data, np.dtype(np.float64), "fiu")
    if rows is None or not np.isfinite(rows.values).all():
        return None
    run = object.__new__(ListedRun)
    # A dict has no document twice, so that is not checked.
    run.__dict__.update(
        name=name,
        topics=rows.topics,
        codes=rows.codes,
        listed=rows.listed,
        scores=rows.values,
        ranks=None,
        origin=Origin("a run"),
        described=described,
    )
    return run


def qrels_of_dicts(data: Any) -> Qrels | None:
    """Make judgments of a dict of dicts; None where there is anything unusual in it."""
    rows = _rows(data, np.dtype(np.int64), "i")
    if rows is None:
        return None
    grades = rows.values.astype(np.int32)
    given = chain.from_iterable(inside.values() for inside in data.values())
    if (grades != rows.values).any() or not {*map(type, given)} <= _INTEGERS:
        return None
    qrels = object.__new__(ListedQrels)
    qrels.__dict__.update(
        topics=rows.topics,
        codes=rows.codes,
        listed=rows.listed,
        grades=grades,
        subtopics=None,
        origin=Origin("judgments"),
        columns={},
    )
    return qrels


def _rows(data: Any, dtype: np.dtype[Any], kinds: str) -> _Rows | None:
    """Take rows from dicts of ids of type `str`, and numbers of some kinds of 64 bits or less."""
    if type(data) not in _DICTS or not {*map(type, data.values())} <= _DICTS:
        return None
    given = {topic: inside for topic, inside in data.items() if inside}
    if not given or not _all_ids(given):
        return None
    sizes = [*map(len, given.values())]
    listed: list[str] = []
    values = np.empty(sum(sizes), dtype)
    for inside in given.values():
        start = len(listed)
        try:
            # NumPy tells the types of all values apart, and converts them, in one go.
            numbers = np.array([*inside.values()])
        except Exception:
            # Whatever a value does when it is asked to be an array.
            return None
        usual = numbers.dtype.kind in kinds and numbers.dtype.itemsize <= 8
        if not usual or numbers.shape != (len(inside),) or not _all_ids(inside):
            return None
        listed += inside
        values[start : len(listed)] = numbers
    codes = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    return _Rows(tuple(given), codes, listed, values)


def _all_ids(given: Mapping[Any, Any]) -> bool:
    """Whether all keys are text, none of it empty, that can be written as UTF-8."""
    try:
        # This goes through ids that are scattered in memory in half the time of the look at types.
        text = "".join(given)
        if {*map(type, given)} != {str} or "" in given:
            return False
        return text.isascii() or bool(text.encode())
    except (TypeError, UnicodeEncodeError):
        return False
