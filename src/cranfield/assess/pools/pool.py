"""A pool: the documents that some runs have in their first ranks, and which run has which."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools
from cranfield.base.checks import check_choice, check_whole
from cranfield.base.errors import PolicyError, quoted, warn
from cranfield.base.words import counted
from cranfield.collection.files.reading import read_qrels
from cranfield.collection.qrels import Qrels
from cranfield.collection.repeats import UngradedError
from cranfield.fusion.rankings import Rankings
from cranfield.tabular.frames import Framed

UNJUDGED = -(2**31)
"""What stands for the grade of a document that nobody judged."""

NEGATIVE = ("judged", "unjudged")


@dataclass(frozen=True, eq=False, repr=False)
class Pool(Framed, Rankings):
    """Documents to judge, by topic, and which run has which; made by :func:`cranfield.assess.pool`.

    It does not depend on the order of runs, nor on that of their lines (but for the policies for
    ties that say so).

    Attributes
    ----------
    topics
        Ids of the topics, in order: by number if all are numbers, else by bytes.
    systems
        Names of the systems, in order of their bytes.
    depth
        Ranks of each ranking that count.
    docs
        Document ids, a polars string column; within a topic in order of their bytes. Whatever is
        said of documents elsewhere goes by their index here.
    starts
        Where the documents of each topic begin: those of topic t are `starts[t]:starts[t + 1]`;
        shape (topics + 1,).
    ranked
        All rankings, one after the other: the document, an index into `docs`, at each rank.
        In order of topic, system and rank; shape (rows,).
    lists
        Where each ranking begins: `ranked[lists[i]:lists[i + 1]]` with
        `i = topic * len(systems) + system` is that of a system for a topic, the best document
        first; shape (topics * systems + 1,).
    scores
        The score of each row of `ranked`, as the run gives it; shape (rows,).

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"a": {"q": {"x": 3.0, "y": 2.0, "z": 1.0}}, "b": {"q": {"y": 9.0, "w": 8.0}}}
    >>> made = cf.assess.pool(runs, 2)
    >>> made
    Pool(1 topic, 2 systems, depth 2: 3 documents)
    >>> made.to_polars().rows()
    [('q', 'w', 2, 1), ('q', 'x', 1, 1), ('q', 'y', 1, 2)]
    """

    def to_depth(self, depth: int) -> Pool:
        """Return the smaller pool of the first ranks only; topics and systems stay.

        >>> import cranfield as cf
        >>> cf.assess.pool({"q": {"x": 2.0, "y": 1.0}}, 2).to_depth(1)
        Pool(1 topic, 1 system, depth 1: 1 document)
        """
        check_whole("depth", depth, 1, self.depth)
        if depth == self.depth:
            return self
        return self._of(self.rank <= depth, self.systems, int(depth))

    def of_systems(self, names: Iterable[str]) -> Pool:
        """Return the smaller pool of some of the systems; topics stay, and may become empty.

        Raises
        ------
        PolicyError
            For a name that is no system of the pool, and where no name is given.
        """
        kept = _chosen(names, self.systems)
        systems = tuple(name for name, stays in zip(self.systems, kept, strict=True) if stays)
        return self._of(kept[self.system], systems, self.depth)

    def _of(self, rows: Bools, systems: tuple[str, ...], depth: int) -> Pool:
        """Keep some rows, and the documents in them."""
        ranked = self.ranked[rows]
        stays = np.zeros(len(self.docs), dtype=bool)
        stays[ranked] = True
        number = np.cumsum(stays) - 1
        place = {name: i for i, name in enumerate(systems)}
        new = np.array([place.get(name, -1) for name in self.systems], dtype=np.int64)
        topic = self.topic[ranked].astype(np.int64)
        sizes = np.bincount(
            topic * len(systems) + new[self.system[rows]],
            minlength=len(self.topics) * len(systems),
        )
        return Pool(
            self.topics,
            systems,
            depth,
            self.docs.filter(pl.Series(stays)),
            np.r_[0, np.cumsum(stays)][self.starts],
            number[ranked].astype(np.int32),
            np.r_[0, np.cumsum(sizes)],
            self.scores[rows],
        )

    def graded(self, qrels: Any, *, negative: str = "judged") -> NDArray[np.int32]:
        """Look up the grade of each document.

        Parameters
        ----------
        qrels
            Whatever :func:`cranfield.read_qrels` takes; over subtopics, the highest grade counts.
            None before the first judgment.
        negative
            What a grade below 0 means: `judged` (default), kept as it is, or `unjudged`.

        Returns
        -------
        array of int32, shape (documents,)
            The grade, or `UNJUDGED`, the smallest number there is.

        Examples
        --------
        >>> import cranfield as cf
        >>> cf.assess.pool({"q": {"x": 2.0, "y": 1.0}}, 2).graded({"q": {"y": 1}}).tolist()
        [-2147483648, 1]
        """
        check_choice("negative", negative, NEGATIVE)
        judgments = judgments_so_far(qrels)
        grades = np.full(len(self), UNJUDGED, dtype=np.int32)
        if judgments is not None:
            asked, found = judgments.find(self)
            grades[asked] = judgments.grades[found]
        if negative == "unjudged":
            grades[grades < 0] = UNJUDGED
        return grades

    def unjudged(self, qrels: Any, *, negative: str = "judged") -> Unjudged:
        """Tell what of the pool nobody has judged.

        Parameters
        ----------
        qrels, negative
            As for :meth:`graded`.

        Examples
        --------
        >>> import cranfield as cf
        >>> cf.assess.pool({"q": {"x": 2.0, "y": 1.0}}, 2).unjudged({"q": {"y": 1}})
        Unjudged(1 of 2 pooled documents, in 1 of 1 topic)
        """
        return Unjudged(self, self.graded(qrels, negative=negative) == UNJUDGED)

    def __len__(self) -> int:
        return len(self.docs)

    def __repr__(self) -> str:
        size = f"{counted(len(self.topics), 'topic')}, {counted(len(self.systems), 'system')}"
        return f"Pool({size}, depth {self.depth}: {counted(len(self), 'document')})"

    def to_polars(self) -> pl.DataFrame:
        """Return a row a document: topic, doc, best rank, and the number of runs that have it."""
        return pl.DataFrame(
            {
                "topic": pl.Series(self.topics, dtype=pl.String).gather(self.topic),
                "doc": self.docs,
                "best rank": self.best_rank,
                "holders": self.holders,
            }
        )


@dataclass(frozen=True, eq=False, repr=False)
class Unjudged(Framed):
    """What of a pool nobody has judged; made by :meth:`Pool.unjudged`.

    Attributes
    ----------
    pool
        The pool.
    missing
        Which of its documents have no judgment; shape (documents,).
    """

    pool: Pool
    missing: Bools

    def __len__(self) -> int:
        return int(self.missing.sum())

    def __repr__(self) -> str:
        topics = np.unique(self.pool.topic[self.missing]).size
        return (
            f"Unjudged({len(self):,} of {counted(len(self.pool), 'pooled document')},"
            f" in {topics} of {counted(len(self.pool.topics), 'topic')})"
        )

    def to_polars(self) -> pl.DataFrame:
        """Return the unjudged documents, as :meth:`Pool.to_polars` does all."""
        return self.pool.to_polars().filter(pl.Series(self.missing))

    def by_topic(self) -> pl.DataFrame:
        """Return a row a topic: documents `pooled` and `unjudged`."""
        made, topics = self.pool, len(self.pool.topics)
        return pl.DataFrame(
            {
                "topic": pl.Series(made.topics, dtype=pl.String),
                "pooled": np.diff(made.starts),
                "unjudged": np.bincount(made.topic[self.missing], minlength=topics),
            }
        )

    def by_system(self) -> pl.DataFrame:
        """Return a row a system: documents `pooled`, `unjudged`, and of these its own alone."""
        made, systems = self.pool, len(self.pool.systems)
        missing = self.missing[made.ranked]
        alone = missing & (made.holders[made.ranked] == 1)
        return pl.DataFrame(
            {
                "system": pl.Series(made.systems, dtype=pl.String),
                "pooled": np.bincount(made.system, minlength=systems),
                "unjudged": np.bincount(made.system[missing], minlength=systems),
                "alone": np.bincount(made.system[alone], minlength=systems),
            }
        )


def judgments_so_far(judged: Any, read: Callable[[Any], Qrels] | None = None) -> Qrels | None:
    """Read judgments; None before the first, and of a sheet without any grade, with a note."""
    if judged is None:
        return None
    try:
        return (read_qrels(judged, ungraded="drop") if read is None else read(judged)).flat()
    except UngradedError as error:
        warn(f"{error}: nothing is judged yet", stacklevel=3)
        return None


def _chosen(names: Iterable[str], systems: Iterable[str]) -> Bools:
    """Tell which systems are among the names."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise PolicyError(f"contributors are names of systems, not {quoted(names)}")
    known, wanted = list(systems), [str(name) for name in names]
    for name in wanted:
        if name not in known:
            raise PolicyError(f"there is no system {quoted(name)} to contribute")
    if not wanted:
        raise PolicyError("no run contributes to the pool")
    return np.isin(np.array(known, dtype=object), np.array(wanted, dtype=object))
