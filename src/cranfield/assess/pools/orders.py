"""The order in which a method has a pool judged."""

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
"""Ranks of each ranking that are pooled where nobody says how many."""

OF_UNJUDGED = {
    "nonrelevant": "a method hears that they are not relevant",
    "unknown": "a method hears nothing of them",
}
"""What becomes of documents that nobody judged."""


@dataclass(frozen=True, eq=False, repr=False)
class Order(Result):
    """Documents of a pool in the order in which to judge them; made by :func:`order`.

    Attributes
    ----------
    pool
        The pool.
    method
        The method; its text form says all but the seed.
    seed
        Of the random numbers, for methods that draw some.
    documents
        The documents of each topic in order, one topic after the other: those of topic t are
        `documents[pool.starts[t]:pool.starts[t + 1]]`; shape (documents,).
    sequence
        The same over all topics: of a method with one queue for all topics as it goes, of any other
        the first document of each topic, then the second of each; shape (documents,).
    grades
        Grade of each document of the pool, or `UNJUDGED`; shape (documents,).
    rel
        Lowest grade that counts as relevant.
    unjudged, batch
        How unjudged documents are treated, and how many are judged before the method hears of it.

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"a": {"q": {"x": 3.0, "y": 2.0}}, "b": {"q": {"z": 2.0, "y": 1.0}}}
    >>> made = cf.assess.order(runs, "RRF", {"q": {"y": 1, "z": 0}})
    >>> made
    Order(RRF: 3 documents of 1 topic, 1 relevant, 1 unjudged)
    >>> made.to_polars().select("doc", "place", "grade").rows()
    [('y', 1, 1), ('x', 2, None), ('z', 3, 0)]
    >>> made.found([0, 1, 2]).tolist()
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
        """Tell which documents are judged within a budget; shape (documents,).

        Parameters
        ----------
        budget
            Judgments of each topic, from 0; a topic with fewer documents has them all.
        overall
            Whether the budget is of all topics together, and goes along `sequence`.
        """
        check_whole("budget", budget, 0)
        if not overall:
            return np.asarray(self.place <= budget)
        chosen = np.zeros(len(self.pool), dtype=bool)
        chosen[self.sequence[:budget]] = True
        return chosen

    def found(self, budgets: Iterable[int]) -> Ints:
        """Count the relevant documents among the first of each topic; shape (budgets,).

        Budgets are judgments of each topic.
        """
        check_several("budgets", budgets)
        return np.asarray(self.found_by_topic(budgets).sum(axis=0))

    def found_by_topic(self, budgets: Iterable[int]) -> Ints:
        """Count the relevant documents among the first of each topic; shape (topics, budgets)."""
        check_several("budgets", budgets)
        wanted = list(budgets)
        for one in wanted:
            check_whole("budget", one, 0)
        hits = np.r_[0, np.cumsum(self.relevant[self.documents])]
        start, stop = self.pool.starts[:-1, None], self.pool.starts[1:, None]
        most = [min(one, len(self.pool)) for one in wanted]
        upto = np.minimum(start + np.array(most, dtype=np.int64), stop)
        return np.asarray(hits[upto] - hits[start])

    def budget(self, budget: int, *, overall: bool = False) -> Qrels:
        """Return the judgments that a budget buys, as :meth:`first` counts it.

        Documents that nobody judged have a place and no judgment. Documents stand in the order in
        which they are asked for.

        Raises
        ------
        InputError
            When there is no judgment among them.
        """
        chosen = self.first(budget, overall=overall) & (self.grades != UNJUDGED)
        docs = self.sequence[chosen[self.sequence]]
        if not docs.size:
            raise InputError(f"a budget of {budget} holds no judgment", source=str(self.method))
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
    """Order the whole pool as a method has it judged, so that the first of it are a budget.

    Parameters
    ----------
    runs
        A :class:`Pool`, or whatever :func:`cranfield.read_runs` takes.
    method
        A method or its text form, such as `depth`, `RRF(k=60)`, `MaxMean(rate=0.9)`; see
        :func:`methods`.
    qrels
        Whatever :func:`cranfield.read_qrels` takes: the answers to methods that learn.
    depth
        Ranks of each ranking that are pooled; 100 by default, or all of the pool.
    seed
        Of random numbers. They go by topic: a topic's order does not depend on other topics.
    rel
        Lowest grade that counts as relevant, 1 or more.
    unjudged
        What becomes of documents without judgment: `nonrelevant` (default), what a method hears of
        them, or `unknown`, it hears nothing.
    negative
        What a grade below 0 means: `judged` (default), and not relevant, or `unjudged`.
    batch
        Documents of each topic that are judged before a method hears of the answers.

    Raises
    ------
    PolicyError
        For a method or an option that there is not, and for a method that learns without judgments.
    InputError
        When runs or judgments cannot be read.

    Notes
    -----
    Equal documents go by id, ascending by bytes, and equal runs by name; so nothing depends on the
    order of runs or lines. Sums of `RRF`, `Borda`, `Condorcet` and `RBP-A` are exact. Those of
    `Comb...` are added from the smallest number, so equal numbers have equal sums. Values of
    methods that learn are taken for equal where they differ by less than 1e-12, relative or of 1.

    Examples
    --------
    >>> runs = {"a": {"q": {"x": 3.0, "y": 2.0}}, "b": {"q": {"z": 2.0, "y": 1.0}}}
    >>> made = order(runs, "MaxMean", {"q": {"x": 0, "z": 1}})
    >>> made.to_polars()["doc"].to_list()
    ['x', 'z', 'y']
    """
    chosen = parse_method(method)
    check_whole("seed", seed, 0)
    check_whole("rel", rel, 1)
    check_whole("batch", batch, 1)
    check_choice("unjudged", unjudged, OF_UNJUDGED)
    made = pooled(runs, depth)
    if qrels is None and chosen.learns:
        raise PolicyError(f"{chosen.name} learns from judgments, and there are none")
    grades = made.graded(qrels, negative=negative)
    if chosen.learns:
        known = np.ones(len(made), dtype=bool)
        if unjudged == "unknown":
            known = np.asarray(grades != UNJUDGED)
        asking = chosen.asking(made, int(seed))
        sequence = asking.whole(grades >= rel, known, int(batch))
        in_step = np.array_equal(asking.starts, made.starts)
    else:
        sequence, in_step = chosen.ranking(made), True
    documents = sequence[np.argsort(made.topic[sequence], kind="stable")]
    if in_step:
        place = np.arange(len(made)) - made.starts[made.topic[documents]]
        sequence = documents[np.argsort(place, kind="stable")]
    return Order(
        made, chosen, int(seed), documents, sequence, grades, int(rel), unjudged, int(batch)
    )


def pooled(runs: Any, depth: int | None) -> Pool:
    """Return a pool as it is, or cut; make one of runs."""
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
        said = {
            "ahead of the method": self.ahead,
            "outside the pool": self.outside,
            "below 0": self.negative,
        }
        more = "".join(f", {count:,} {what}" for what, count in said.items() if count)
        return [f"{self.method}: {size}{more}"]

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
