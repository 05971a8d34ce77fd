"""Several rankings of one topic, as numbers: what methods of interleaving read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.base.arrays import Bools, Indices, Ints
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.words import counted
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.run import Run

Id = str | int
"""Of a document."""

Given = Mapping[str, Sequence[Id]] | Sequence[Sequence[Id]] | Sequence[Sequence[str]]
"""Lists of document ids, best first, by name or without."""


@dataclass(frozen=True, eq=False)
class Rankings:
    """Rankings of several rankers, as codes of documents."""

    rankers: tuple[str, ...]  # Names of the rankers
    # Ids of all documents, those of the first ranking first; a code is a place in it
    docs: tuple[Id, ...]
    # Codes as each ranker orders them, shape (rankers, longest); -1 where a ranking has ended
    orders: Indices

    @cached_property
    def sizes(self) -> Ints:
        """Number of documents of each ranking."""
        sizes: Ints = (self.orders >= 0).sum(axis=1)
        return sizes

    @cached_property
    def ranks(self) -> Ints:
        """Rank of each document, from 1, shape (rankers, documents).

        A document that a ranking lacks has the rank behind its last one.
        """
        ranks: Ints = np.repeat(self.sizes[:, None] + 1, len(self.docs), axis=1)
        ranker, place = np.nonzero(self.orders >= 0)
        ranks[ranker, self.orders[ranker, place]] = place + 1
        return ranks

    @property
    def lacks(self) -> Bools:
        """Whether a ranking lacks a document, shape (rankers, documents)."""
        lacks: Bools = self.ranks > self.sizes[:, None]
        return lacks

    @cached_property
    def best(self) -> Ints:
        """Best rank of each document in the rankings that have it, from 1, shape (documents,)."""
        best: Ints = np.where(self.lacks, len(self.docs), self.ranks).min(axis=0)
        return best

    @property
    def common_prefix(self) -> int:
        """Number of documents that all rankings have first, in one order."""
        same = (self.orders == self.orders[0]).all(axis=0) & (self.orders[0] >= 0)
        return int(np.logical_and.accumulate(same).sum())

    def __repr__(self) -> str:
        many = counted(len(self.rankers), "ranking")
        return f"Rankings({many} of {counted(len(self.docs), 'document')})"


def rankings_of(lists: Given) -> Rankings:
    """Number the documents of two or more lists.

    >>> made = rankings_of([["a", "b"], ["b", "c"]])
    >>> made.docs, made.orders.tolist(), made.ranks.tolist()
    (('a', 'b', 'c'), [[0, 1], [1, 2]], [[1, 2, 3], [3, 1, 2]])
    """
    if isinstance(lists, Mapping):
        names, rows = [str(name) for name in lists], [*lists.values()]
    else:
        rows = [*lists]
        names = [f"ranker {1 + k}" for k in range(len(rows))]
    if len(rows) < 2:
        raise PolicyError(f"two or more rankings are interleaved, not {len(rows)}")
    listed = [_ids(row, name) for row, name in zip(rows, names, strict=True)]
    code = {doc: k for k, doc in enumerate(dict.fromkeys(doc for row in listed for doc in row))}
    if not code:
        raise PolicyError("there is no document in any of the rankings")
    orders = np.full((len(listed), max(map(len, listed))), -1, dtype=np.intp)
    for order, row in zip(orders, listed, strict=True):
        order[: len(row)] = [code[doc] for doc in row]
    return Rankings(tuple(names), tuple(code), orders)


def _ids(row: Iterable[Id], name: str) -> list[Id]:
    if isinstance(row, (str, bytes)) or not isinstance(row, Iterable):
        raise PolicyError(f"{quoted(name)} is no list of document ids: {quoted(row)}")
    docs = row.tolist() if isinstance(row, np.ndarray) else list(row)
    seen: set[Id] = set()
    for doc in docs:
        if not isinstance(doc, (str, int)) or isinstance(doc, bool):
            raise PolicyError(f"{quoted(name)} has {quoted(doc)}, which is no document id")
        if doc in seen:
            raise PolicyError(f"{quoted(name)} has the document {quoted(doc)} twice")
        seen.add(doc)
    return docs


def names_of(runs: Sequence[Run]) -> list[str]:
    """Names of runs; refuses two of one name."""
    names = [run.name for run in runs]
    for k, name in enumerate(names):
        if name in names[:k]:
            raise PolicyError(f"two runs are named {quoted(name)}")
    return names


def ranked(run: Run, ties: str) -> dict[str, list[str]]:
    """Return the documents that a run has for each topic, best first."""
    order = order_of(run, ties)
    docs = run.ids(order.rows)
    starts = order.starts.tolist()
    ends = [*starts[1:], len(docs)]
    places = zip(run.topics, starts, ends, strict=True)
    return {topic: docs[start:end].to_list() for topic, start, end in places}
