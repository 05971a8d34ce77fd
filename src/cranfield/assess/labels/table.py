"""Labels: the grades that workers gave to documents of topics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import InputError, PolicyError
from cranfield.base.text import inflect
from cranfield.collection.pairs import Codes
from cranfield.collection.run import find_selected_rows
from cranfield.result import Column, Columns, Result
from cranfield.sources.chunks import Origin

if TYPE_CHECKING:
    from scipy.sparse import csr_array


MAX_ENTRIES = 1 << 28  # Maximum number of entries of a dense table


def check_size(sizes: Mapping[str, int], limit: int = MAX_ENTRIES, remedy: str = "") -> None:
    """Raise an error if a dense table of these sizes would not fit into memory."""
    if prod(sizes.values()) > limit:
        shape = " by ".join(inflect(size, noun) for noun, size in sizes.items())
        raise PolicyError(f"expected a table of at most {limit:,} entries, got {shape}{remedy}")


@dataclass(frozen=True, eq=False, repr=False)
class Labels(Result):
    """Labels of workers, people or machines; returned by :func:`read_labels`.

    A pair is a labelled document of a topic. The arrays that are attributes are read-only.

    Attributes
    ----------
    topics
        Ids of the topics, in order of appearance.
    topic_of
        Topic of each pair, as an index into `topics`; shape (pairs,).
    docs
        Document of each pair, as a polars string column, pairs in order of appearance.
    workers
        Ids of the workers, in order of appearance.
    grades
        Distinct grades of the scale, ascending; shape (grades,).
    pair, worker, level
        Pair, worker and grade of each label, as indices into `docs`, `workers` and `grades`, in the
        order of reading; shape (labels,).
    order
        Numbers that increase in the order of labelling, such as times; None if unknown.
    origin
        Source of the labels, for messages.
    notes
        Sentences about labels that were changed or excluded on reading.

    Examples
    --------
    >>> from cranfield.assess import read_labels
    >>> labels = read_labels([("q1", "d1", "ann", 1), ("q1", "d1", "bob", 0)])
    >>> labels
    Labels(2 labels of 1 pair by 2 workers, grades 0, 1)
    >>> labels.make_ratings()
    array([[1., 0.]])
    """

    name: ClassVar[str] = "labels"
    columns: ClassVar[Columns] = {
        "topic": Column("Topic of the label.", key=True),
        "doc": Column("Document that was labelled.", key=True),
        "worker": Column("Worker who gave the label.", key=True),
        "grade": Column("Grade."),
        "order": Column("Number that increases in the order of labelling; absent if unknown."),
    }

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

    def heading(self) -> list[str]:
        topics = f" of {inflect(len(self.topics), 'topic')}" if len(self.topics) > 1 else ""
        scale = ", ".join(map(str, self.grades.tolist()))
        if self.grades.size > 6:
            scale = f"{self.grades[0]} to {self.grades[-1]} ({self.grades.size})"
        return [
            f"{inflect(len(self), 'label')} of {inflect(len(self.docs), 'pair')}{topics}"
            f" by {inflect(len(self.workers), 'worker')}, grades {scale}"
        ]

    @property
    def grade(self) -> NDArray[np.int32]:
        """Grade of each label; shape (labels,)."""
        return self.grades[self.level]

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """Topic and document of each pair."""
        topics = pl.Series(self.topics, dtype=pl.String)
        return pl.DataFrame({"topic": topics.gather(self.topic_of), "doc": self.docs})

    @property
    def cell(self) -> Ints:
        """Index of pair and worker of each label, pair * n_workers + worker; shape (labels,)."""
        return self.pair * np.int64(len(self.workers)) + self.worker

    @cached_property
    def n_repeats(self) -> int:
        """Number of labels by a worker who had already labelled the pair."""
        return len(self) - np.unique(self.cell).size

    @cached_property
    def counts(self) -> csr_array:
        """Number of labels of each grade, by pair; a sparse array, shape (pairs, grades)."""
        from scipy.sparse import csr_array

        entries = np.ones(len(self), dtype=np.int64), (self.pair, self.level)
        return csr_array(entries, shape=(len(self.docs), self.grades.size))

    def make_ratings(self) -> Floats:
        """Return the grade by each worker of each pair, NaN if missing; shape (pairs, workers).

        Raises
        ------
        PolicyError
            If a worker labelled a pair more than once, or the table would not fit into memory.
        """
        shape = (len(self.docs), len(self.workers))
        if self.n_repeats:
            raise PolicyError(
                f"expected one label per worker and pair, got {self.n_repeats:,} repeated;"
                " use repeats='last' in read_labels to keep the last label"
            )
        check_size({"pair": shape[0], "worker": shape[1]})
        ratings = np.full(shape, np.nan)
        ratings[self.pair, self.worker] = self.grade
        return ratings

    def restrict(self, mask: Bools) -> Labels:
        """Return a subset of the labels.

        Topics, workers and grades remain; pairs without a label are removed.

        Parameters
        ----------
        mask
            Whether to keep each label; shape (labels,).

        Raises
        ------
        InputError
            If no label is kept.
        PolicyError
            For an array of another shape or type.

        Examples
        --------
        >>> from cranfield.assess import read_labels
        >>> labels = read_labels([("q1", "d1", "ann", 1), ("q1", "d2", "bob", 0)])
        >>> labels.restrict(labels.grade > 0)
        Labels(1 label of 1 pair by 2 workers, grades 0, 1)
        """
        rows = find_selected_rows(mask, len(self))
        if not rows.size:
            raise InputError("mask must select a label, got none", source=self.origin.name)
        pairs, pair = np.unique(self.pair[rows], return_inverse=True)
        return replace(
            self,
            topic_of=self.topic_of[pairs],
            docs=self.docs.gather(pairs),
            pair=pair,
            worker=self.worker[rows],
            level=self.level[rows],
            order=None if self.order is None else self.order[rows],
            origin=Origin(self.origin.name),
        )

    def _frame(self) -> pl.DataFrame:
        workers = pl.Series("worker", self.workers, dtype=pl.String).gather(self.worker)
        order = [] if self.order is None else [pl.Series("order", self.order)]
        return self.pairs[self.pair].with_columns(workers, pl.Series("grade", self.grade), *order)


MIN_LABELS = 10  # Minimum number of labels of a worker for which a single grade is an anomaly


@dataclass(frozen=True, eq=False, repr=False)
class LabelSummary(Result):
    """Summary of labels: their grades, and anomalies to check before they are aggregated."""

    name: ClassVar[str] = "grades"
    columns: ClassVar[Columns] = {
        "grade": Column("Grade of the scale.", key=True),
        "labels": Column("Number of labels with this grade."),
        "proportion": Column("Proportion of all labels, from 0 to 1."),
    }

    labels: Labels

    @property
    def n_labels_per_pair(self) -> Ints:
        """Number of labels of each pair."""
        return np.bincount(self.labels.pair, minlength=len(self.labels.docs))

    @property
    def n_labels_per_worker(self) -> Ints:
        """Number of labels of each worker."""
        return np.bincount(self.labels.worker, minlength=len(self.labels.workers))

    def list_anomalies(self) -> list[str]:
        """Return a line for each anomaly to check before labels are aggregated."""
        labels, per_pair, per_worker = self.labels, self.n_labels_per_pair, self.n_labels_per_worker
        n_grades, n_workers = labels.grades.size, len(labels.workers)
        codes = labels.worker * n_grades + labels.level
        is_used = np.bincount(codes, minlength=n_workers * n_grades).reshape(n_workers, -1) > 0
        is_single = (is_used.sum(axis=1) == 1) & (per_worker >= MIN_LABELS) & (n_grades > 1)
        # Repeated labels by one worker do not count as labels by another worker.
        pair, worker = np.divmod(np.unique(labels.cell), n_workers)
        is_isolated = (per_worker > 0) & (n_workers > 1)
        is_isolated[worker[np.bincount(pair, minlength=per_pair.size)[pair] > 1]] = False
        levels = np.unique(np.column_stack([labels.cell, labels.level]), axis=0)
        cell, n_levels = np.unique(levels[:, 0], return_counts=True)
        n_contradicted = np.unique(cell[n_levels > 1] // n_workers).size
        anomalies = (
            ("pairs with one label", (per_pair == 1).sum(), per_pair.size),
            ("workers with one label", (per_worker == 1).sum(), n_workers),
            (
                f"workers with one grade in {MIN_LABELS} labels or more",
                is_single.sum(),
                n_workers,
            ),
            ("workers without a pair in common with another worker", is_isolated.sum(), n_workers),
            ("pairs with different grades from one worker", n_contradicted, per_pair.size),
        )
        lines = [f"{problem}: {n:,} of {total:,}" for problem, n, total in anomalies if n]
        unused_grades = labels.grades[~is_used.any(axis=0)]
        if unused_grades.size:
            lines.append(f"grades without a label: {', '.join(map(str, unused_grades))}")
        return lines

    def _frame(self) -> pl.DataFrame:
        grades = self.labels.grades
        n_labels = np.bincount(self.labels.level, minlength=grades.size)
        proportion = n_labels / n_labels.sum()
        return pl.DataFrame({"grade": grades, "labels": n_labels, "proportion": proportion})

    def heading(self) -> list[str]:
        pairs, workers = map(_format_range, (self.n_labels_per_pair, self.n_labels_per_worker))
        ranges = f"labels per pair: {pairs}; labels per worker: {workers}"
        notes = (f"note: {note}" for note in self.labels.notes)
        return [*self.labels.heading(), ranges, *notes, *self.list_anomalies()]


def _format_range(sizes: Ints) -> str:
    low, high = int(sizes.min()), int(sizes.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}, median {np.median(sizes):,g}"
