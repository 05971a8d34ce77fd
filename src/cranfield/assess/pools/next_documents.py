"""The next documents to judge, from runs and the judgments so far, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.assess.pools.asking import Asking
from cranfield.assess.pools.catalogue import parse_method
from cranfield.assess.pools.method import Method
from cranfield.assess.pools.orders import pooled
from cranfield.assess.pools.pool import NEGATIVE, UNJUDGED, Pool, judgments_so_far
from cranfield.base.arrays import Bools, Indices
from cranfield.base.checks import check_choice, check_whole
from cranfield.base.words import counted
from cranfield.collection.judged.policies import DEEPEST
from cranfield.tabular.frames import Framed


@dataclass(frozen=True, eq=False, repr=False)
class NextDocuments(Framed):
    """What to judge next; made by :func:`next_documents`.

    Attributes
    ----------
    pool, method, seed, batch
        The pool, the method, the seed of random numbers, and the documents of a batch.
    documents
        Indices of documents of the pool, in the order to judge them, topic by topic; of a method
        with one queue for all topics as it goes.
    judged
        Judgments of documents of the pool so far.
    ahead
        Those among them that the method has not come to: it hears of them when it does.
    outside
        Judgments of documents, or topics, that are not in the pool; they play no part.
    negative
        Judgments of documents of the pool with a grade below 0: not relevant, or, where that was
        asked for, none at all.
    """

    pool: Pool
    method: Method
    seed: int
    batch: int
    documents: Indices
    judged: int
    ahead: int
    outside: int
    negative: int

    def __len__(self) -> int:
        return self.documents.size

    def __repr__(self) -> str:
        size = f"{counted(len(self), 'document')}, {self.judged:,} of {len(self.pool):,} judged"
        said = {
            "ahead of the method": self.ahead,
            "outside the pool": self.outside,
            "below 0": self.negative,
        }
        more = "".join(f", {count:,} {what}" for what, count in said.items() if count)
        return f"NextDocuments({self.method}: {size}{more})"

    def to_polars(self) -> pl.DataFrame:
        """Return a row a document to judge, in order, as :meth:`Pool.to_polars` has it."""
        return self.pool.to_polars()[self.documents]


def next_documents(
    runs: Any,
    judged: Any,
    method: str | Method,
    n: int = 1,
    *,
    depth: int | None = None,
    seed: int = 0,
    rel: int = 1,
    negative: str = "judged",
) -> NextDocuments:
    """Choose the next documents to judge, from runs and the judgments so far alone.

    Parameters
    ----------
    runs
        A :class:`Pool`, or whatever :func:`cranfield.read_runs` takes.
    judged
        The judgments so far: whatever :func:`cranfield.read_qrels` takes, or None before the first.
    method, depth, seed, rel, negative
        As for :func:`order`; the same at each call.
    n
        Documents of each topic in a batch, or of all topics for a method with one queue for all.

    Raises
    ------
    PolicyError, InputError
        As :func:`order`.

    Notes
    -----
    There is no state besides the judgments. The method starts anew at each call and asks; whatever
    is judged is answered at once, whoever judged it and when, and in whatever order the judgments
    stand. What it asks for first that nobody judged is what is to be judged next. So a process
    that is killed and started again asks for the same documents as one that was not, which are
    those of :func:`order` with `batch=n`.

    A method that learns hears nothing within a batch. A batch is finished before the next: while
    some of its documents are unjudged only these are returned, fewer than `n` then. A method that
    does not learn just goes on, `n` documents at a time. Nothing is returned for a topic whose
    pool is judged.

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"a": {"q": {"x": 3.0, "y": 2.0}}, "b": {"q": {"z": 2.0, "y": 1.0}}}
    >>> cf.assess.next_documents(runs, None, "MaxMean").to_polars()["doc"].to_list()
    ['x']
    >>> found = cf.assess.next_documents(runs, {"q": {"x": 0, "other": 1}}, "MaxMean")
    >>> found.to_polars()["doc"].to_list()
    ['z']
    >>> found
    NextDocuments(MaxMean: 1 document, 1 of 3 judged, 1 outside the pool)
    """
    chosen = parse_method(method)
    check_whole("n", n, 1, DEEPEST)
    check_whole("seed", seed, 0)
    check_whole("rel", rel, 1)
    made = pooled(runs, depth)
    judgments = judgments_so_far(judged)
    grades = made.graded(judgments)
    outside = 0 if judgments is None else len(judgments) - int((grades != UNJUDGED).sum())
    below = (grades < 0) & (grades != UNJUDGED)
    check_choice("negative", negative, NEGATIVE)
    known = (grades != UNJUDGED) & ~(below & (negative == "unjudged"))
    if chosen.learns:
        asking = chosen.asking(made, int(seed))
        documents = _to_judge(asking, known, grades >= rel, int(n))
        ahead = int((known & asking.free).sum())
    else:
        documents = _first_open(made, chosen.ranking(made), known, int(n))
        ahead = 0
    return NextDocuments(
        made,
        chosen,
        int(seed),
        int(n),
        documents,
        int(known.sum()),
        ahead,
        outside,
        int(below.sum()),
    )


def _to_judge(asking: Asking, known: Bools, relevant: Bools, n: int) -> Indices:
    """Ask in batches, answering what is known, until each group has a batch that is not."""
    left = np.diff(asking.starts)
    going = np.flatnonzero(left)
    wanted: list[Indices] = []
    while going.size:
        batch = []
        for i in range(n):
            groups = going[left[going] > i]
            if not groups.size:
                break
            batch.append((groups, asking.choose(groups)))
        stuck = np.zeros(left.size, dtype=bool)
        for groups, docs in batch:
            stuck[groups[~known[docs]]] = True
        for groups, docs in batch:
            wanted.append(docs[stuck[groups] & ~known[docs]])
            heard = docs[~stuck[groups]]
            asking.learn(heard, relevant[heard])
        left[going] -= n
        going = going[~stuck[going] & (left[going] > 0)]
    docs = np.concatenate([*wanted, np.zeros(0, dtype=np.intp)])
    if asking.starts.size == 2:
        return docs
    return docs[np.argsort(asking.pool.topic[docs], kind="stable")]


def _first_open(pool: Pool, ranking: Indices, known: Bools, n: int) -> Indices:
    docs = ranking[~known[ranking]]
    topics = pool.topic[docs]
    place = np.arange(docs.size) - np.searchsorted(topics, topics)
    return docs[place < n]
