"""Pools: the top-ranked documents of several runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import compress
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools
from cranfield.base.errors import (
    InputError,
    PolicyError,
    check_choice,
    check_integer,
    check_list,
    quote,
    warn,
)
from cranfield.base.text import inflect, list_some
from cranfield.collection.files.many_runs import make_distinct_names, read_runs
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.judged.each_run import Progress, map_runs
from cranfield.collection.pairs import UngradedError
from cranfield.collection.policies import MAX_DEPTH, TIES
from cranfield.collection.qrels import Qrels
from cranfield.fusion.rankings import (
    Rankings,
    RunTop,
    list_topics,
    number_jointly,
    select_top_rows,
    warn_of_runs,
)
from cranfield.result import Column, Columns, Result

UNJUDGED_GRADE = -(2**31)  # Grade that marks an unjudged document
NEGATIVES = ("judged", "unjudged")


@dataclass(frozen=True, eq=False, repr=False)
class Pool(Result, Rankings):
    """Documents to judge, by topic, and their rankings; returned by :func:`cranfield.assess.pool`.

    A pool does not depend on the order of runs. It depends on the order of their lines only if the
    policy for ties does.

    Attributes
    ----------
    topics
        Ids of the topics, ordered by number if all are numbers, else by bytes.
    systems
        Names of the systems, ordered by bytes.
    depth
        Number of top ranks of each ranking in the pool.
    docs
        Document ids, a polars string column; ordered by bytes within each topic. Other arrays of
        documents are in this order, or contain indices into it.
    starts
        Start of the documents of each topic: topic t has `docs[starts[t]:starts[t + 1]]`; shape
        (topics + 1,).
    ranked
        Document at each rank of all rankings, as an index into `docs`; in order of topic, system
        and rank; shape (rows,).
    ranking_starts
        Start of each ranking: `ranked[ranking_starts[i]:ranking_starts[i + 1]]` with
        `i = topic * len(systems) + system` is the ranking of a system for a topic, best document
        first; shape (topics * systems + 1,).
    scores
        Score of each row of `ranked`; shape (rows,).

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"a": {"q": {"x": 3.0, "y": 2.0, "z": 1.0}}, "b": {"q": {"y": 9.0, "w": 8.0}}}
    >>> pool = cf.assess.pool(runs, 2)
    >>> pool
    Pool(1 topic, 2 systems, depth 2: 3 documents)
    >>> pool.to_polars().rows()
    [('q', 'w', 2, 1), ('q', 'x', 1, 1), ('q', 'y', 1, 2)]
    """

    name: ClassVar[str] = "documents"
    columns: ClassVar[Columns] = {
        "topic": Column("Topic of the document.", key=True),
        "doc": Column("Document.", key=True),
        "best rank": Column("Best rank of the document in any run, from 1."),
        "runs": Column("Number of runs that have the document in the pooled ranks."),
    }

    def to_depth(self, depth: int) -> Pool:
        """Return the pool of a smaller depth, with the same topics and systems.

        >>> import cranfield as cf
        >>> cf.assess.pool({"q": {"x": 2.0, "y": 1.0}}, 2).to_depth(1)
        Pool(1 topic, 1 system, depth 1: 1 document)
        """
        check_integer("depth", depth, 1, self.depth)
        if depth == self.depth:
            return self
        return self._restrict_rows(self.rank <= depth, np.full(len(self.systems), True), int(depth))

    def select_systems(self, names: Iterable[str]) -> Pool:
        """Return the pool of some of the systems; it has the same topics, but they may be empty.

        Raises
        ------
        PolicyError
            For an unknown system, or no names.
        """
        check_list("names", names)
        systems = [str(name) for name in names]
        for name in systems:
            if name not in self.systems:
                raise PolicyError(
                    f"unknown system {quote(name)}; expected one of: {list_some(self.systems, 5)}"
                )
        if not systems:
            raise PolicyError("expected at least one system, got none")
        is_selected = np.isin(self.systems, systems)
        return self._restrict_rows(is_selected[self.system], is_selected, self.depth)

    def _restrict_rows(self, row_mask: Bools, is_selected: Bools, depth: int) -> Pool:
        """Restrict the pool to the rows of a mask, and to the selected systems."""
        systems = tuple(compress(self.systems, is_selected))
        ranked = self.ranked[row_mask]
        is_pooled = np.zeros(len(self.docs), dtype=bool)
        is_pooled[ranked] = True
        n_before = np.r_[0, np.cumsum(is_pooled)]
        system = (np.cumsum(is_selected) - 1)[self.system[row_mask]]
        cell = self.topic[ranked].astype(np.int64) * len(systems) + system
        sizes = np.bincount(cell, minlength=len(self.topics) * len(systems))
        return Pool(
            *(self.topics, systems, depth, self.docs.filter(pl.Series(is_pooled))),
            *(n_before[self.starts], n_before[ranked].astype(np.int32)),
            *(np.r_[0, np.cumsum(sizes)], self.scores[row_mask]),
        )

    def get_grades(self, qrels: Any, *, negative: str = "judged") -> NDArray[np.int32]:
        """Return the grade of each document of the pool.

        Parameters
        ----------
        qrels
            Judgments: any input of :func:`cranfield.read_qrels`; with subtopics, the highest grade
            counts. None before the first judgment.
        negative
            How to treat grades below 0: `judged` (default) keeps them, `unjudged` replaces them by
            `UNJUDGED_GRADE`.

        Returns
        -------
        array of int32, shape (documents,)
            Grades, or `UNJUDGED_GRADE`, the smallest number of the type.

        Examples
        --------
        >>> import cranfield as cf
        >>> cf.assess.pool({"q": {"x": 2.0, "y": 1.0}}, 2).get_grades({"q": {"y": 1}}).tolist()
        [-2147483648, 1]
        """
        check_choice("negative", negative, NEGATIVES)
        judgments = read_judgments(qrels)
        grades = np.full(len(self), UNJUDGED_GRADE, dtype=np.int32)
        if judgments is not None:
            docs, rows = self.find_matching_rows(judgments)
            grades[docs] = judgments.grades[rows]
        if negative == "unjudged":
            grades[grades < 0] = UNJUDGED_GRADE
        return grades

    def find_unjudged(self, qrels: Any, *, negative: str = "judged") -> Unjudged:
        """Return the documents of the pool without a judgment.

        Parameters
        ----------
        qrels, negative
            As for :meth:`get_grades`.

        Examples
        --------
        >>> import cranfield as cf
        >>> cf.assess.pool({"q": {"x": 2.0, "y": 1.0}}, 2).find_unjudged({"q": {"y": 1}})
        Unjudged(1 of 2 pooled documents, in 1 of 1 topic)
        """
        return Unjudged(self, self.get_grades(qrels, negative=negative) == UNJUDGED_GRADE)

    def __len__(self) -> int:
        return len(self.docs)

    def heading(self) -> list[str]:
        size = f"{inflect(len(self.topics), 'topic')}, {inflect(len(self.systems), 'system')}"
        return [f"{size}, depth {self.depth}: {inflect(len(self), 'document')}"]

    def _frame(self) -> pl.DataFrame:
        topics = pl.Series(self.topics, dtype=pl.String).gather(self.topic)
        ranks = {"best rank": self.best_rank, "runs": self.run_counts}
        return pl.DataFrame({"topic": topics, "doc": self.docs} | ranks)


@dataclass(frozen=True, eq=False, repr=False)
class Unjudged(Result):
    """Documents of a pool without a judgment; returned by :meth:`Pool.find_unjudged`.

    Attributes
    ----------
    pool
        Pool with its judged and unjudged documents.
    is_unjudged
        Whether a document of the pool has no judgment; shape (documents,).
    """

    columns: ClassVar[dict[str, Columns]] = {
        "documents": Pool.columns,
        "topics": {
            "topic": Column("Topic.", key=True),
            "pooled": Column("Number of documents in the pool."),
            "unjudged": Column("Number of unjudged documents in the pool."),
        },
        "systems": {
            "system": Column("System.", key=True),
            "pooled": Column("Number of the system's documents in the pool."),
            "unjudged": Column("Number of the system's unjudged documents in the pool."),
            "unique": Column("Number of unjudged documents that only this system has in the pool."),
        },
    }

    pool: Pool
    is_unjudged: Bools

    def __len__(self) -> int:
        return int(self.is_unjudged.sum())

    def heading(self) -> list[str]:
        n_topics = np.unique(self.pool.topic[self.is_unjudged]).size
        return [
            f"{len(self):,} of {inflect(len(self.pool), 'pooled document')},"
            f" in {n_topics} of {inflect(len(self.pool.topics), 'topic')}"
        ]

    def frames(self) -> dict[str, pl.DataFrame]:
        documents = self.pool.to_polars().filter(pl.Series(self.is_unjudged))
        return {"documents": documents, "topics": self.by_topic(), "systems": self.by_system()}

    def by_topic(self) -> pl.DataFrame:
        """Count pooled and unjudged documents by topic."""
        pool, n_topics = self.pool, len(self.pool.topics)
        n_unjudged = np.bincount(pool.topic[self.is_unjudged], minlength=n_topics)
        counts = {"pooled": np.diff(pool.starts), "unjudged": n_unjudged}
        return pl.DataFrame({"topic": pl.Series(pool.topics, dtype=pl.String)} | counts)

    def by_system(self) -> pl.DataFrame:
        """Count pooled and unjudged documents by system."""
        pool = self.pool
        is_unjudged = self.is_unjudged[pool.ranked]
        is_unique = is_unjudged & (pool.run_counts[pool.ranked] == 1)
        rows = {"pooled": slice(None), "unjudged": is_unjudged, "unique": is_unique}
        counts = {
            name: np.bincount(pool.system[selection], minlength=len(pool.systems))
            for name, selection in rows.items()
        }
        return pl.DataFrame({"system": pl.Series(pool.systems, dtype=pl.String), **counts})


def read_judgments(qrels: Any, reader: Callable[[Any], Qrels] | None = None) -> Qrels | None:
    """Read judgments; return None if there are none, with a warning for a sheet without grades.

    Documents that a stratified sample lists as not sampled are dropped.
    """
    if qrels is None:
        return None
    try:
        judgments = read_qrels(qrels, ungraded="drop") if reader is None else reader(qrels)
        is_judged = judgments.grades >= judgments.find_lowest_judged_grade()
        if not is_judged.any():
            rows = inflect(len(judgments), "row")
            raise UngradedError(f"none of {rows} is judged", source=judgments.origin.name)
        return (judgments if is_judged.all() else judgments.restrict(is_judged)).merge_subtopics()
    except UngradedError as error:
        warn(f"{error}: no document has been judged yet")
        return None


def pool(
    runs: Any,
    depth: int,
    *,
    ties: str = "trec",
    contributors: Iterable[str] | None = None,
    topics: Iterable[str] | None = None,
    jobs: int | None = None,
    progress: Progress | None = None,
) -> Pool:
    """Pool the top-ranked documents of runs.

    Parameters
    ----------
    runs
        Runs: any input of :func:`cranfield.read_runs`. Runs are read one at a time, and only their
        top ranks are kept in memory. Or a pool, to be reduced to a smaller depth.
    depth
        Number of top ranks of each ranking to pool, 1 or more.
    ties
        Order of documents with equal scores, as for :func:`cranfield.judge`. Except with `rank` and
        `file`, documents are ranked by score, not by the rank column.
    contributors
        Names of the pooled systems; all by default.
    topics
        Ids of the topics to pool; by default all topics of the runs.
    jobs, progress
        As for :func:`cranfield.judge`.

    Warns
    -----
    CranfieldWarning
        For topics of the runs that are not among `topics`, for ranks that contradict scores, and
        for runs without a common topic.

    Raises
    ------
    InputError
        If a run cannot be read, if there are no runs, or if two runs have the same name.
    PolicyError
        For a depth below 1, or above 1,000,000,000 or the depth of a given pool; for unknown ties
        or contributors; and for `topics` together with a pool.

    Notes
    -----
    Source: Spärck Jones and van Rijsbergen (1975). The pool has the topics of all runs, including
    those that do not contribute.

    Examples
    --------
    >>> pool({"a": {"1": {"d": 1.0}}, "b": {"1": {"d": 2.0, "e": 1.0}, "2": {"d": 1.0}}}, 100)
    Pool(2 topics, 2 systems, depth 100: 3 documents)
    """
    check_list("contributors", contributors)
    check_list("topics", topics)
    if isinstance(runs, Pool):
        if topics is not None:
            raise PolicyError("topics requires runs, got a pool")
        document_pool = runs.to_depth(depth)
    else:
        check_integer("depth", depth, 1, MAX_DEPTH)
        check_choice("ties", ties, TIES)
        run_list = read_runs(runs)
        if not len(run_list):
            raise InputError("expected at least one run, got none")
        top = partial(select_top_rows, depth=depth, ties=ties)
        tops = list(map_runs(run_list, top, progress, jobs=jobs))
        if topics is not None:
            tops = _select_topics(tops, {*topics})
        names = make_distinct_names([run.name for run in tops], [run.stem for run in tops])
        warn_of_runs(names, tops)
        name_order = sorted(range(len(tops)), key=names.__getitem__)
        topic_names = list_topics(tops)
        sorted_tops, ids = number_jointly([tops[i] for i in name_order], topic_names)
        document_pool = Pool.from_tops(sorted_tops, sorted(names), topic_names, int(depth), ids)
    return document_pool if contributors is None else document_pool.select_systems(contributors)


def _select_topics(tops: Sequence[RunTop], topics: Collection[str]) -> list[RunTop]:
    """Remove the rows of other topics, with a warning."""
    if other_topics := [topic for topic in list_topics(tops) if topic not in topics]:
        problem = "is not among" if len(other_topics) == 1 else "are not among"
        names = list_some(map(quote, other_topics), 5)
        n_topics = inflect(len(other_topics), "topic")
        warn(f"{n_topics} of the runs {problem} the topics to pool: {names}")
    selected_tops = []
    for top in tops:
        is_selected = np.array([topic in topics for topic in top.topics], dtype=bool)
        rows = np.repeat(is_selected, top.sizes)
        selected_tops.append(
            replace(
                top,
                topics=tuple(compress(top.topics, is_selected)),
                sizes=top.sizes[is_selected],
                docs=top.docs.filter(pl.Series(rows)),
                scores=top.scores[rows],
            )
        )
    return selected_tops
