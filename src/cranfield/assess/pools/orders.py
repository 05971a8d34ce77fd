"""Orders of judging: the whole pool, or the next documents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.assess.pools.method import Asking, Method, parse_method
from cranfield.assess.pools.pool import NEGATIVE, UNJUDGED, Pool, judgments_so_far, pool
from cranfield.base.arrays import Bools, Indices, Ints
from cranfield.base.errors import InputError, PolicyError, check_choice, check_several, check_whole
from cranfield.base.text import counted
from cranfield.collection.policies import DEEPEST
from cranfield.collection.qrels import Qrels
from cranfield.result import Column, Columns, Result
from cranfield.sources.chunks import Origin

DEPTH = 100
"""Default depth of a pool."""

OF_UNJUDGED = ("nonrelevant", "unknown")


@dataclass(frozen=True, eq=False, repr=False)
class Order(Result):
    """Documents of a pool in the order in which to judge them; made by :func:`order`.

    Attributes
    ----------
    pool
        The pool.
    method
        The method; its text form has all parameters.
    seed
        Seed of the random numbers of methods that draw some.
    documents
        The documents of each topic in order, one topic after the other: those of topic t are
        `documents[pool.starts[t]:pool.starts[t + 1]]`; shape (documents,).
    sequence
        The same over all topics: of a method with one queue for all topics in its order, of any
        other the first document of each topic, then the second of each; shape (documents,).
    grades
        Grade of each document of the pool, or `UNJUDGED`; shape (documents,).
    rel
        Lowest grade that counts as relevant.
    unjudged, batch
        Treatment of unjudged documents, and number of judgments before the method learns of them.

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"a": {"q": {"x": 3.0, "y": 2.0}}, "b": {"q": {"z": 2.0, "y": 1.0}}}
    >>> order = cf.assess.order(runs, "RRF", {"q": {"y": 1, "z": 0}})
    >>> order
    Order(RRF: 3 documents of 1 topic, 1 relevant, 1 unjudged)
    >>> order.to_polars().select("doc", "place", "grade").rows()
    [('y', 1, 1), ('x', 2, None), ('z', 3, 0)]
    >>> order.n_relevant([0, 1, 2]).tolist()
    [0, 1, 1]
    """

    name: ClassVar[str] = "documents"
    columns: ClassVar[Columns] = {
        **Pool.columns,
        "place": Column("Place in the order of the topic, from 1."),
        "grade": Column("Grade of the document; null without a judgment."),
    }

    pool: Pool
    method: Method
    seed: int
    documents: Indices
    sequence: Indices
    grades: NDArray[np.int32]
    rel: int
    unjudged: str
    batch: int

    @cached_property
    def place(self) -> Ints:
        """Place of each document of the pool in the order of its topic, from 1."""
        out = np.empty(len(self.pool), dtype=np.int64)
        topic = self.pool.topic
        out[self.documents] = np.arange(len(self.pool)) - self.pool.starts[topic] + 1
        return out

    @property
    def relevant(self) -> Bools:
        """Which documents of the pool are relevant."""
        return np.asarray(self.grades >= self.rel)

    def first(self, budget: int, *, overall: bool = False) -> Bools:
        """Return whether each document is judged within a budget; shape (documents,).

        Parameters
        ----------
        budget
            Judgments of each topic, from 0; a topic with fewer documents has them all.
        overall
            Whether the budget is for all topics together, in the order of `sequence`.
        """
        check_whole("budget", budget, 0)
        if not overall:
            return np.asarray(self.place <= budget)
        chosen = np.zeros(len(self.pool), dtype=bool)
        chosen[self.sequence[:budget]] = True
        return chosen

    def n_relevant(self, budgets: Iterable[int]) -> Ints:
        """Count the relevant documents among the first of each topic; shape (budgets,).

        Budgets are judgments of each topic.
        """
        check_several("budgets", budgets)
        return np.asarray(self.n_relevant_by_topic(budgets).sum(axis=0))

    def n_relevant_by_topic(self, budgets: Iterable[int]) -> Ints:
        """Count the relevant documents among the first of each topic; shape (topics, budgets)."""
        check_several("budgets", budgets)
        sizes = []
        for budget in budgets:
            check_whole("budget", budget, 0)
            sizes.append(min(budget, len(self.pool)))
        hits = np.r_[0, np.cumsum(self.relevant[self.documents])]
        start, stop = self.pool.starts[:-1, None], self.pool.starts[1:, None]
        end = np.minimum(start + np.array(sizes, dtype=np.int64), stop)
        return np.asarray(hits[end] - hits[start])

    def budget(self, budget: int, *, overall: bool = False) -> Qrels:
        """Return the judgments within a budget, counted as in :meth:`first`, in order of judging.

        Unjudged documents take their place in the budget, but have no judgment.

        Raises
        ------
        InputError
            If none of them is judged.
        """
        chosen = self.first(budget, overall=overall) & (self.grades != UNJUDGED)
        docs = self.sequence[chosen[self.sequence]]
        if not docs.size:
            raise InputError(f"no judgments within a budget of {budget}", source=str(self.method))
        topics, codes = np.unique(self.pool.topic[docs], return_inverse=True)
        return Qrels(
            tuple(self.pool.topics[topic] for topic in topics.tolist()),
            codes.astype(np.int32),
            self.pool.docs.gather(docs),
            self.grades[docs],
            origin=Origin(f"the first {budget} by {self.method}"),
        )

    def heading(self) -> list[str]:
        """Return one line: the method, and the number of documents, topics and judgments."""
        missing = int((self.grades == UNJUDGED).sum())
        size = f"{counted(len(self.pool), 'document')} of {counted(len(self.pool.topics), 'topic')}"
        judged = f", {self.relevant.sum():,} relevant, {missing:,} unjudged"
        return [f"{self.method}: {size}{judged if missing < len(self.pool) else ''}"]

    def _frame(self) -> pl.DataFrame:
        order, grades = self.documents, self.grades[self.documents]
        return self.pool.to_polars()[order].with_columns(
            place=pl.Series(self.place[order]),
            grade=pl.Series(grades).set(pl.Series(grades == UNJUDGED), None),
        )


def order(
    runs: Any,
    method: str | Method,
    qrels: Any = None,
    *,
    depth: int | None = None,
    seed: int = 0,
    rel: int = 1,
    unjudged: str = "nonrelevant",
    negative: str = "judged",
    batch: int = 1,
) -> Order:
    """Order the whole pool by a method, so that its first documents are those of a budget.

    Parameters
    ----------
    runs
        A :class:`Pool`, or runs in any form that :func:`cranfield.read_runs` reads.
    method
        A method or its text form, such as `depth`, `RRF(k=60)`, `MaxMean(rate=0.9)`; see
        :func:`methods`.
    qrels
        In any form that :func:`cranfield.read_qrels` reads: the judgments that methods learn from.
    depth
        Pooled ranks of each ranking; 100 by default, or all of the pool.
    seed
        Seed of random numbers. Each topic has its own: its order does not depend on other topics.
    rel
        Lowest grade that counts as relevant, 1 or more.
    unjudged
        How to treat documents without judgment: `nonrelevant` (default), or `unknown`, of which a
        method learns nothing.
    negative
        How to treat grades below 0: `judged` (default), and not relevant, or `unjudged`.
    batch
        Documents of each topic that are judged before a method learns from them.

    Raises
    ------
    PolicyError
        For an unknown method or option, and for a method that learns without judgments.
    InputError
        If runs or judgments cannot be read.

    Notes
    -----
    Equal documents are ordered by id, ascending by bytes, and equal runs by name, so nothing
    depends on the order of runs or lines. Sums of `RRF`, `Borda`, `Condorcet` and `RBP-A` are
    exact. Those of `Comb...` are added from the smallest number, so equal numbers have equal sums.
    Values of methods that learn tie if they differ by less than 1e-12, relative or of 1.

    Examples
    --------
    >>> runs = {"a": {"q": {"x": 3.0, "y": 2.0}}, "b": {"q": {"z": 2.0, "y": 1.0}}}
    >>> judged = order(runs, "MaxMean", {"q": {"x": 0, "z": 1}})
    >>> judged.to_polars()["doc"].to_list()
    ['x', 'z', 'y']
    """
    parsed_method = parse_method(method)
    check_whole("seed", seed, 0)
    check_whole("rel", rel, 1)
    check_whole("batch", batch, 1)
    check_choice("unjudged", unjudged, OF_UNJUDGED)
    documents = pooled(runs, depth)
    if qrels is None and parsed_method.learns:
        raise PolicyError(f"{parsed_method.name} learns from judgments, got none")
    grades = documents.graded(qrels, negative=negative)
    in_step = True
    if parsed_method.learns:
        is_known = (grades != UNJUDGED) | (unjudged == "nonrelevant")
        asking = parsed_method.asking(documents, int(seed))
        sequence = asking.whole(grades >= rel, is_known, int(batch))
        in_step = np.array_equal(asking.starts, documents.starts)
    else:
        sequence = parsed_method.ranking(documents, int(seed))
    by_topic = sequence[np.argsort(documents.topic[sequence], kind="stable")]
    if in_step:
        place = np.arange(len(documents)) - documents.starts[documents.topic[by_topic]]
        sequence = by_topic[np.argsort(place, kind="stable")]
    return Order(
        documents,
        parsed_method,
        int(seed),
        by_topic,
        sequence,
        grades,
        int(rel),
        unjudged,
        int(batch),
    )


def pooled(runs: Any, depth: int | None) -> Pool:
    """Return a pool, cut to the depth, or pool runs."""
    if isinstance(runs, Pool) and depth is None:
        return runs
    return pool(runs, DEPTH if depth is None else depth)


@dataclass(frozen=True, eq=False, repr=False)
class NextDocuments(Result):
    """Documents to judge next, in order; made by :func:`next_documents`.

    Attributes
    ----------
    pool, method, seed, batch
        The pool, the method, the seed of random numbers, and the documents of a batch.
    documents
        Indices of documents of the pool, in order of judging, topic by topic; of a method with one
        queue for all topics in its order.
    judged
        Number of judged documents of the pool.
    ahead
        Number of them that the method has not reached yet: it learns from them when it does.
    outside
        Number of judgments of documents or topics that are not in the pool; they are ignored.
    negative
        Number of judgments of pooled documents with a grade below 0, which are not relevant, or
        unjudged on request.
    """

    name: ClassVar[str] = "documents"
    columns: ClassVar[Columns] = Pool.columns

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

    def heading(self) -> list[str]:
        """Return one line: the method, and the number of documents and judgments."""
        size = f"{counted(len(self), 'document')}, {self.judged:,} of {len(self.pool):,} judged"
        counts = (self.ahead, "ahead of the method"), (self.outside, "outside the pool")
        counts_text = "".join(
            f", {count:,} {noun}" for count, noun in (*counts, (self.negative, "below 0")) if count
        )
        return [f"{self.method}: {size}{counts_text}"]

    def _frame(self) -> pl.DataFrame:
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
        A :class:`Pool`, or runs in any form that :func:`cranfield.read_runs` reads.
    judged
        The judgments so far: in any form that :func:`cranfield.read_qrels` reads, or None before
        the first.
    method, depth, seed, rel, negative
        As for :func:`order`; the same at each call.
    n
        Documents of each topic in a batch, or of all topics for a method with one queue for all.

    Raises
    ------
    PolicyError, InputError
        As for :func:`order`.

    Notes
    -----
    There is no state besides the judgments. Each call runs the method from the start, and answers
    from the judgments, in any order; the first documents without a judgment are
    the next ones. A process that is killed and started again thus returns the same documents, those
    of :func:`order` with `batch=n`.

    A method that learns does so after each batch. A batch is finished before the next: while some
    of its documents are unjudged only these are returned, which may be fewer than `n`. A method
    that does not learn returns the next `n` documents. Topics whose pool is judged have none.

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"a": {"q": {"x": 3.0, "y": 2.0}}, "b": {"q": {"z": 2.0, "y": 1.0}}}
    >>> cf.assess.next_documents(runs, None, "MaxMean").to_polars()["doc"].to_list()
    ['x']
    >>> documents = cf.assess.next_documents(runs, {"q": {"x": 0, "other": 1}}, "MaxMean")
    >>> documents.to_polars()["doc"].to_list()
    ['z']
    >>> documents
    NextDocuments(MaxMean: 1 document, 1 of 3 judged, 1 outside the pool)
    """
    chosen = parse_method(method)
    check_whole("n", n, 1, DEEPEST)
    check_whole("seed", seed, 0)
    check_whole("rel", rel, 1)
    check_choice("negative", negative, NEGATIVE)
    documents = pooled(runs, depth)
    judgments = judgments_so_far(judged)
    grades = documents.graded(judgments)
    is_graded = grades != UNJUDGED
    is_negative = (grades < 0) & is_graded
    is_known = is_graded & ~(is_negative & (negative == "unjudged"))
    ahead = 0
    if chosen.learns:
        asking = chosen.asking(documents, int(seed))
        chosen_next = _next_batch(asking, is_known, grades >= rel, int(n))
        ahead = int((is_known & asking.free).sum())
    else:
        ranking = chosen.ranking(documents, int(seed))
        unjudged = ranking[~is_known[ranking]]
        topics = documents.topic[unjudged]
        chosen_next = unjudged[np.arange(unjudged.size) - np.searchsorted(topics, topics) < n]
    return NextDocuments(
        pool=documents,
        method=chosen,
        seed=int(seed),
        batch=int(n),
        documents=chosen_next,
        judged=int(is_known.sum()),
        ahead=ahead,
        outside=0 if judgments is None else len(judgments) - int(is_graded.sum()),
        negative=int(is_negative.sum()),
    )


def _next_batch(asking: Asking, is_known: Bools, relevant: Bools, n: int) -> Indices:
    """Choose in batches, learning from known ones, until each group has one with unknown ones."""
    remaining = np.diff(asking.starts)
    active = np.flatnonzero(remaining)
    chosen = [np.zeros(0, dtype=np.intp)]
    while active.size:
        batch = []
        for i in range(min(n, int(remaining[active].max()))):
            groups = active[remaining[active] > i]
            batch.append((groups, asking.choose(groups)))
        is_done = np.zeros(remaining.size, dtype=bool)
        for groups, docs in batch:
            is_done[groups[~is_known[docs]]] = True
        for groups, docs in batch:
            chosen.append(docs[is_done[groups] & ~is_known[docs]])
            judged = docs[~is_done[groups]]
            asking.learn(judged, relevant[judged])
        remaining[active] -= n
        active = active[~is_done[active] & (remaining[active] > 0)]
    docs = np.concatenate(chosen)
    if asking.starts.size == 2:
        return docs
    return docs[np.argsort(asking.pool.topic[docs], kind="stable")]
