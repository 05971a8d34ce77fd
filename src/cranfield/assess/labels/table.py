"""Labels: which grade each worker gave to which document of which topic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import InputError, PolicyError
from cranfield.base.words import counted
from cranfield.collection.keys import Codes
from cranfield.collection.run import kept_rows
from cranfield.sources.chunks import Origin
from cranfield.tabular.frames import Framed

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DENSE = 1 << 28
"""Numbers that a table may hold at the most, where it is mostly gaps."""


def refuse_large(sizes: Mapping[str, int]) -> None:
    """Refuse a table that would not fit into memory; say what it is of."""
    if prod(sizes.values()) > DENSE:
        shape = " by ".join(counted(size, what) for what, size in sizes.items())
        raise PolicyError(f"a table of {shape} is too large")


@dataclass(frozen=True, eq=False, repr=False)
class Labels(Framed):
    """Labels of workers, crowds or machines; made by :func:`read_labels`.

    A pair is a document of a topic that somebody labelled. All arrays are read-only.

    Attributes
    ----------
    topics
        The topics' ids, by code, in order of appearance; shape (topics,).
    topic_of
        Topic of each pair, an index into `topics`; shape (pairs,).
    docs
        Document of each pair, as a polars string column, pairs in order of appearance.
    workers
        The workers' ids, by code, in order of appearance.
    grades
        The scale: the different grades, ascending; shape (grades,).
    pair, worker, level
        Pair, worker and grade of each label, as indices into `docs`, `workers` and `grades`; each
        of shape (labels,), in the order they were read.
    order
        When each label was given, any numbers that rise; None where that is not known.
    origin
        Where the labels came from, for messages.
    notes
        What was done to them on the way, a sentence each.

    Examples
    --------
    >>> from cranfield.assess import read_labels
    >>> labels = read_labels([("q1", "d1", "ann", 1), ("q1", "d1", "bob", 0)])
    >>> labels
    Labels(2 labels of 1 pair by 2 workers, grades 0, 1)
    >>> labels.ratings()
    array([[1., 0.]])
    """

    topics: tuple[str, ...]
    topic_of: Codes
    docs: pl.Series
    workers: tuple[str, ...]
    grades: NDArray[np.int32]
    pair: Ints
    worker: Ints
    level: Ints
    order: Floats | None = None
    origin: Origin = field(default=Origin("labels"))
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        columns = (self.topic_of, self.grades, self.pair, self.worker, self.level, self.order)
        for column in columns:
            if column is not None:
                column.flags.writeable = False

    def __len__(self) -> int:
        return self.pair.size

    def __repr__(self) -> str:
        several = f" of {counted(len(self.topics), 'topic')}" if len(self.topics) > 1 else ""
        scale = ", ".join(map(str, self.grades.tolist()))
        if self.grades.size > 6:
            scale = f"{self.grades[0]} to {self.grades[-1]} ({self.grades.size})"
        return (
            f"Labels({counted(len(self), 'label')} of {counted(len(self.docs), 'pair')}{several}"
            f" by {counted(len(self.workers), 'worker')}, grades {scale})"
        )

    @property
    def grade(self) -> NDArray[np.int32]:
        """The grade of each label; shape (labels,)."""
        return self.grades[self.level]

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """Topic and document of each pair."""
        names = pl.Series(self.topics, dtype=pl.String)
        return pl.DataFrame({"topic": names.gather(self.topic_of), "doc": self.docs})

    @cached_property
    def repeats(self) -> int:
        """How many labels are of a worker that labelled the pair before."""
        cells = self.pair * np.int64(len(self.workers)) + self.worker
        return int(cells.size - np.unique(cells).size)

    @cached_property
    def counts(self) -> csr_array:
        """How often each pair was given each grade; a sparse array, shape (pairs, grades)."""
        from scipy.sparse import csr_array

        shape = (len(self.docs), self.grades.size)
        ones = np.ones(len(self), dtype=np.int64)
        return csr_array((ones, (self.pair, self.level)), shape=shape)

    def ratings(self) -> Floats:
        """Return the grade that each worker gave to each pair; shape (pairs, workers).

        NaN is no label.

        Raises
        ------
        PolicyError
            Where a worker labelled a pair twice, or the table would not fit into memory.
        """
        shape = (len(self.docs), len(self.workers))
        if self.repeats:
            raise PolicyError(
                f"{counted(self.repeats, 'label')} repeat one of the same worker and pair: a table"
                " of ratings has one each (repeats='last' keeps the last)"
            )
        refuse_large({"pair": shape[0], "worker": shape[1]})
        made = np.full(shape, np.nan)
        made[self.pair, self.worker] = self.grade
        return made

    def restricted(self, kept: Bools) -> Labels:
        """Return some of the labels only.

        Topics, workers and grades stay, also those without a label left; pairs without one go.

        Parameters
        ----------
        kept
            Whether to keep each label; shape (labels,).

        Raises
        ------
        InputError
            When no label is left.
        PolicyError
            For an array of another shape or type.

        Examples
        --------
        >>> from cranfield.assess import read_labels
        >>> labels = read_labels([("q1", "d1", "ann", 1), ("q1", "d2", "bob", 0)])
        >>> labels.restricted(labels.grade > 0)
        Labels(1 label of 1 pair by 2 workers, grades 0, 1)
        """
        rows = kept_rows(kept, len(self))
        if not rows.size:
            raise InputError("no label is left", source=self.origin.name)
        left = np.zeros(len(self.docs), dtype=bool)
        left[self.pair[rows]] = True
        return replace(
            self,
            topic_of=self.topic_of[left],
            docs=self.docs.filter(pl.Series(left)),
            pair=(np.cumsum(left) - 1)[self.pair[rows]],
            worker=self.worker[rows],
            level=self.level[rows],
            order=None if self.order is None else self.order[rows],
            origin=Origin(self.origin.name),
        )

    def to_polars(self) -> pl.DataFrame:
        """Return the labels as a data frame: topic, doc, worker, grade, and order where known."""
        columns: dict[str, Any] = {
            "worker": pl.Series(self.workers, dtype=pl.String).gather(self.worker),
            "grade": self.grade,
        }
        if self.order is not None:
            columns["order"] = self.order
        return self.pairs[self.pair].with_columns(**columns)
