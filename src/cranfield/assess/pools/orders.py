"""Order the documents of a pool for judging, or choose the next documents to judge."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.assess.pools.method import Method, MethodState, parse_method
from cranfield.assess.pools.pool import NEGATIVES, UNJUDGED_GRADE, Pool, pool, read_judgments
from cranfield.base.arrays import Bools, Indices, Ints
from cranfield.base.errors import InputError, PolicyError, check_integer, check_list
from cranfield.base.kinds import Integer, OneOf, check_arguments
from cranfield.base.text import inflect
from cranfield.collection.policies import MAX_DEPTH
from cranfield.collection.qrels import Qrels
from cranfield.result import Column, Columns, Result
from cranfield.sources.chunks import Origin

DEPTH = 100  # Default depth of a pool
UNJUDGED_POLICIES = ("nonrelevant", "unknown")


@dataclass(frozen=True, eq=False, repr=False)
class Order(Result):
    """Documents of a pool in the order in which to judge them; returned by :func:`order`.

    Attributes
    ----------
    pool
        Pool of documents.
    method
        Pooling method.
    seed
        Seed of the random numbers of the method.
    documents
        Documents in order of judging, topic by topic: topic t has
        `documents[pool.starts[t]:pool.starts[t + 1]]`; shape (documents,).
    sequence
        Documents in order of judging over all topics: the method's own order if it has one queue
        for all topics, else the first document of each topic, then the second of each topic, and so
        on; shape (documents,).
    grades
        Grade of each document of the pool, or `UNJUDGED_GRADE`; shape (documents,).
    rel
        Lowest grade that counts as relevant.
    unjudged, batch
        Treatment of unjudged documents, and number of documents of a queue (of a topic, or of all
        topics) that are judged before the method learns from them.

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"a": {"q": {"x": 3.0, "y": 2.0}}, "b": {"q": {"z": 2.0, "y": 1.0}}}
    >>> order = cf.assess.order(runs, "RRF", {"q": {"y": 1, "z": 0}})
    >>> order
    Order(RRF: 3 documents of 1 topic, 1 relevant, 1 unjudged)
    >>> order.to_polars().select("doc", "place", "grade").rows()
    [('y', 1, 1), ('x', 2, None), ('z', 3, 0)]
    >>> order.count_relevant([0, 1, 2]).tolist()
    [0, 1, 1]
    """

    name: ClassVar[str] = "documents"
    columns: ClassVar[Columns] = {
        **Pool.columns,
        "place": Column(
            "Position of the document among those of its topic in the judging order, from 1."
        ),
        "grade": Column("Grade of the document; null if unjudged."),
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
        """Position of each document of the pool in the order of its topic, from 1."""
        places = np.empty(len(self.pool), dtype=np.int64)
        topic = self.pool.topic
        places[self.documents] = np.arange(len(self.pool)) - self.pool.starts[topic] + 1
        return places

    @property
    def is_relevant(self) -> Bools:
        """Mask of the relevant documents of the pool; shape (documents,)."""
        return np.asarray(self.grades >= self.rel)

    def mask_budget(self, budget: int, *, overall: bool = False) -> Bools:
        """Return a mask of the documents within a budget of judgments; shape (documents,).

        Parameters
        ----------
        budget
            Number of judgments per topic, 0 or more; topics with fewer documents are fully judged.
        overall
            Whether the budget is the total over topics, in the order of `sequence`.
        """
        check_integer("budget", budget, 0)
        if not overall:
            return np.asarray(self.place <= budget)
        is_selected = np.zeros(len(self.pool), dtype=bool)
        is_selected[self.sequence[:budget]] = True
        return is_selected

    def count_relevant(self, budgets: Iterable[int]) -> Ints:
        """Count the relevant documents within budgets of judgments per topic; shape (budgets,)."""
        check_list("budgets", budgets)
        return np.asarray(self.count_relevant_by_topic(budgets).sum(axis=0))

    def count_relevant_by_topic(self, budgets: Iterable[int]) -> Ints:
        """Count the relevant documents of each topic within budgets; shape (topics, budgets)."""
        check_list("budgets", budgets)
        sizes = []
        for budget in budgets:
            check_integer("budget", budget, 0)
            sizes.append(min(budget, len(self.pool)))
        n_relevant = np.r_[0, np.cumsum(self.is_relevant[self.documents])]
        start, stop = self.pool.starts[:-1, None], self.pool.starts[1:, None]
        ends = np.minimum(start + np.array(sizes, dtype=np.int64), stop)
        return np.asarray(n_relevant[ends] - n_relevant[start])

    def select_judgments(self, budget: int, *, overall: bool = False) -> Qrels:
        """Return the judgments within a budget, as for :meth:`mask_budget`, in order of judging.

        Unjudged documents count towards the budget, but have no judgment.

        Raises
        ------
        InputError
            If no document within the budget is judged.
        """
        is_selected = self.mask_budget(budget, overall=overall) & (self.grades != UNJUDGED_GRADE)
        docs = self.sequence[is_selected[self.sequence]]
        if not docs.size:
            reason = f"expected judged documents within a budget of {budget}, got none"
            raise InputError(reason, source=str(self.method))
        topics, codes = np.unique(self.pool.topic[docs], return_inverse=True)
        names = tuple(self.pool.topics[topic] for topic in topics.tolist())
        origin = Origin(f"the first {budget} by {self.method}")
        grades, ids = self.grades[docs], self.pool.docs.gather(docs)
        return Qrels(names, codes.astype(np.int32), ids, grades, origin=origin)

    def heading(self) -> list[str]:
        n_unjudged = int((self.grades == UNJUDGED_GRADE).sum())
        size = f"{inflect(len(self.pool), 'document')} of {inflect(len(self.pool.topics), 'topic')}"
        counts = f", {self.is_relevant.sum():,} relevant, {n_unjudged:,} unjudged"
        return [f"{self.method}: {size}{counts if n_unjudged < len(self.pool) else ''}"]

    def _frame(self) -> pl.DataFrame:
        order, grades = self.documents, self.grades[self.documents]
        return self.pool.to_polars()[order].with_columns(
            place=pl.Series(self.place[order]),
            grade=pl.Series(grades).set(pl.Series(grades == UNJUDGED_GRADE), None),
        )


def order(
    runs: Any,
    method: str | Method,
    qrels: Any = None,
    *,
    depth: int | None = None,
    seed: Annotated[int, Integer(0)] = 0,
    rel: Annotated[int, Integer(1)] = 1,
    unjudged: Annotated[str, OneOf(UNJUDGED_POLICIES)] = "nonrelevant",
    negative: Annotated[str, OneOf(NEGATIVES)] = "judged",
    batch: Annotated[int, Integer(1)] = 1,
) -> Order:
    """Order all documents of a pool by a method, so that a budget covers the first documents.

    Parameters
    ----------
    runs
        A :class:`Pool`, or runs: any input of :func:`cranfield.read_runs`.
    method
        A method or its text form, such as `depth`, `RRF(k=60)`, `MaxMean(rate=0.9)`; see
        :func:`methods`.
    qrels
        Judgments from which methods learn: any input of :func:`cranfield.read_qrels`.
    depth
        Number of pooled ranks of each ranking; by default 100, or the depth of the pool.
    seed
        Seed of random numbers. Each topic has its own random stream.
    rel
        Lowest grade that counts as relevant, 1 or more.
    unjudged
        How to treat documents without a judgment: `nonrelevant` (default), or `unknown`, from which
        a method does not learn.
    negative
        How to treat grades below 0: `judged` (default), as not relevant, or `unjudged`.
    batch
        Number of documents of a topic, or of all topics for a method with one queue for all topics,
        that are judged before a method learns from them.

    Raises
    ------
    PolicyError
        For an unknown method or option, and if a method learns but there are no judgments.
    InputError
        If runs or judgments cannot be read.

    Notes
    -----
    Tied documents are ordered by id, ascending by bytes, and tied runs by name (unless
    `ties=random`), so that the order of runs or lines has no effect. Sums of `RRF`, `Borda`,
    `Condorcet` and `RBP-A` are exact; sums of `Comb...` start from the smallest number, so that
    equal numbers have equal sums. Values of runs tie if they differ by at most 1e-12, and sums of
    `RBP-B`, `RBP-C` and `Hedge` if they differ by at most this proportion; with `sums=plain` only
    equal sums tie.

    Examples
    --------
    >>> runs = {"a": {"q": {"x": 3.0, "y": 2.0}}, "b": {"q": {"z": 2.0, "y": 1.0}}}
    >>> documents = order(runs, "MaxMean", {"q": {"x": 0, "z": 1}})
    >>> documents.to_polars()["doc"].to_list()
    ['x', 'z', 'y']
    """
    check_arguments(order, locals())
    parsed_method = parse_method(method)
    document_pool = make_pool(runs, depth)
    if qrels is None and parsed_method.learns:
        raise PolicyError(f"{parsed_method.name} requires judgments to learn from, got none")
    grades = document_pool.get_grades(qrels, negative=negative)
    is_topicwise = True
    if parsed_method.learns:
        is_known = (grades != UNJUDGED_GRADE) | (unjudged == "nonrelevant")
        state = parsed_method.make_state(document_pool, int(seed))
        sequence = _choose_documents(state, is_known, grades >= rel, int(batch))
        is_topicwise = state.has_group_per_topic
    else:
        sequence = parsed_method.rank_documents(document_pool, int(seed))
    documents = sequence[np.argsort(document_pool.topic[sequence], kind="stable")]
    if is_topicwise:
        starts = document_pool.starts[document_pool.topic[documents]]
        sequence = documents[np.argsort(np.arange(len(document_pool)) - starts, kind="stable")]
    return Order(
        pool=document_pool,
        method=parsed_method,
        seed=int(seed),
        documents=documents,
        sequence=sequence,
        grades=grades,
        rel=int(rel),
        unjudged=unjudged,
        batch=int(batch),
    )


def make_pool(runs: Any, depth: int | None) -> Pool:
    """Pool runs, or restrict a pool to the depth."""
    if depth is None:
        return runs if isinstance(runs, Pool) else pool(runs, DEPTH)
    return pool(runs, depth)


@dataclass(frozen=True, eq=False, repr=False)
class NextDocuments(Result):
    """Documents to judge next, in order; returned by :func:`next_documents`.

    Attributes
    ----------
    pool, method, seed, batch
        Pool, method, seed of random numbers, and number of documents of a batch.
    documents
        Indices of documents of the pool, in order of judging, topic by topic; in the method's own
        order if it has one queue for all topics.
    n_judged
        Number of judged documents of the pool.
    n_ahead
        Number of judged documents that the method has not reached yet; it learns from them once it
        reaches them.
    n_outside
        Number of judgments of documents or topics that are not in the pool; they are ignored.
    n_negative
        Number of judgments of pooled documents with a grade below 0, which count as not relevant,
        or as unjudged if `negative="unjudged"`.
    """

    name: ClassVar[str] = "documents"
    columns: ClassVar[Columns] = Pool.columns

    pool: Pool
    method: Method
    seed: int
    batch: int
    documents: Indices
    n_judged: int
    n_ahead: int
    n_outside: int
    n_negative: int

    def __len__(self) -> int:
        return self.documents.size

    def heading(self) -> list[str]:
        size = f"{inflect(len(self), 'document')}, {self.n_judged:,} of {len(self.pool):,} judged"
        counts = {
            "not yet reached": self.n_ahead,
            "outside the pool": self.n_outside,
            "with grades below 0": self.n_negative,
        }
        phrases = [f", {count:,} {noun}" for noun, count in counts.items() if count]
        return [f"{self.method}: {size}{''.join(phrases)}"]

    def _frame(self) -> pl.DataFrame:
        return self.pool.to_polars()[self.documents]


def next_documents(
    runs: Any,
    judged: Any,
    method: str | Method,
    n: Annotated[int, Integer(1, MAX_DEPTH)] = 1,
    *,
    depth: int | None = None,
    seed: Annotated[int, Integer(0)] = 0,
    rel: Annotated[int, Integer(1)] = 1,
    negative: Annotated[str, OneOf(NEGATIVES)] = "judged",
) -> NextDocuments:
    """Choose the next documents to judge, from runs and the judgments so far.

    Parameters
    ----------
    runs
        A :class:`Pool`, or runs: any input of :func:`cranfield.read_runs`.
    judged
        Judgments so far: any input of :func:`cranfield.read_qrels`, or None if there are none.
    method, depth, seed, rel, negative
        As for :func:`order`; the same in each call.
    n
        Number of documents of each topic in a batch, or of all topics for a method with one queue
        for all topics.

    Raises
    ------
    PolicyError, InputError
        As for :func:`order`.

    Notes
    -----
    The judgments, in any order, are the only state. Each call runs the method from the start with
    these judgments until it needs documents without a judgment, which are returned. A process that
    is killed and restarted thus returns the same documents as :func:`order` with `batch=n`.

    A method that learns does so after each batch. A batch must be judged completely before the next
    one starts: while some of its documents are unjudged, only these are returned, which may be
    fewer than `n`. A method that does not learn returns the next `n` documents. Topics whose pool
    is judged have no next documents.

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
    check_arguments(next_documents, locals())
    parsed_method = parse_method(method)
    document_pool = make_pool(runs, depth)
    judgments = read_judgments(judged)
    grades = document_pool.get_grades(judgments)
    is_graded = grades != UNJUDGED_GRADE
    is_negative = (grades < 0) & is_graded
    is_known = is_graded & ~(is_negative & (negative == "unjudged"))
    n_ahead = 0
    if parsed_method.learns:
        state = parsed_method.make_state(document_pool, int(seed))
        documents = _choose_documents(state, is_known, grades >= rel, int(n), stops=True)
        if state.has_group_per_topic:
            documents = documents[np.argsort(document_pool.topic[documents], kind="stable")]
        n_ahead = int((is_known & state.is_free).sum())
    else:
        ranking = parsed_method.rank_documents(document_pool, int(seed))
        docs = ranking[~is_known[ranking]]
        topics = document_pool.topic[docs]
        documents = docs[np.arange(docs.size) - np.searchsorted(topics, topics) < n]
    return NextDocuments(
        pool=document_pool,
        method=parsed_method,
        seed=int(seed),
        batch=int(n),
        documents=documents,
        n_judged=int(is_known.sum()),
        n_ahead=n_ahead,
        n_outside=0 if judgments is None else len(judgments) - int(is_graded.sum()),
        n_negative=int(is_negative.sum()),
    )


def _choose_documents(
    state: MethodState, is_known: Bools, is_relevant: Bools, batch: int, *, stops: bool = False
) -> Indices:
    """Choose documents in batches, learning after each; if `stops`, stop at unjudged documents."""
    n_remaining = np.diff(state.starts)
    active_groups = np.flatnonzero(n_remaining)
    batches = [np.zeros(0, dtype=np.intp)]
    while active_groups.size:
        steps, is_done = [], np.zeros(n_remaining.size, dtype=bool)
        for i in range(min(batch, int(n_remaining[active_groups].max()))):
            groups = active_groups[n_remaining[active_groups] > i]
            docs = state.choose(groups)
            steps.append((groups, docs))
            # The batch is still completed, as all its documents are judged together.
            is_done[groups[~is_known[docs]]] = stops
        for groups, docs in steps:
            batches.append(docs[is_done[groups] & ~is_known[docs]] if stops else docs)
            judged_docs = docs[is_known[docs] & ~is_done[groups]]
            state.learn(judged_docs, is_relevant[judged_docs])
        n_remaining[active_groups] -= batch
        active_groups = active_groups[~is_done[active_groups] & (n_remaining[active_groups] > 0)]
    return np.concatenate(batches)
