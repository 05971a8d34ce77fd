"""Samples of a pool to judge, and estimates from them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.assess.pools.pool import UNJUDGED, Pool
from cranfield.assess.sampling_designs import DESIGNS, Cells, Wanted, check_design
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import (
    PolicyError,
    check_choice,
    check_several,
    check_whole,
    indices,
    quoted,
)
from cranfield.base.streams import stream_of
from cranfield.base.text import counted
from cranfield.collection.judged.rows import ratio
from cranfield.collection.qrels import Qrels
from cranfield.result import Column, Columns, Result, TableResult
from cranfield.sources.chunks import Origin


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedRelevant(TableResult):
    """Estimated numbers of relevant documents; made by :meth:`Sample.relevant`.

    Attributes
    ----------
    rows
        The table, a row for each topic.
    topics
        Ids of the topics.
    drawing
        The design of the sample, as text.
    variance
        Estimator of the variances.
    error
        Standard errors of the estimates; shape (topics,). NaN if two documents of a topic cannot be
        drawn together, or for an estimated variance below 0. Unlike in the table, it is 0 for an
        estimated variance of 0, as the error of the total requires.
    """

    name: ClassVar[str] = "relevant"
    columns: ClassVar[Columns] = {
        "topic": Column("Topic.", key=True),
        "pooled": Column("Number of documents in the pool."),
        "sampled": Column("Number of documents in the sample."),
        "relevant": Column("Number of relevant documents in the sample."),
        "estimate": Column("Estimated number of relevant documents in the pool."),
        "standard error": Column("Standard error of the estimate; null if unknown, or only as 0."),
    }

    topics: tuple[str, ...]
    drawing: str
    variance: str
    error: Floats

    @property
    def total(self) -> float:
        """Estimated number of relevant documents of all topics."""
        return float(self.estimate.sum())

    @property
    def total_error(self) -> float:
        """Standard error of the total: topics are sampled independently."""
        return float(np.sqrt((self.error**2).sum()))

    @property
    def total_varies(self) -> bool:
        """Whether the total has an error other than 0, or all documents were sampled."""
        return self.total_error != 0 or self.rows["sampled"].equals(self.rows["pooled"])

    def heading(self) -> list[str]:
        """Return one line: the number of topics, the estimated total, and the design."""
        error = f"{self.total_error:.1f}" if self.total_varies else "unknown"
        return [
            f"{counted(self.rows.height, 'topic')}:"
            f" {self.total:.1f}, standard error {error}, from"
            f" {self.rows['relevant'].sum():,} relevant in a sample by {self.drawing}"
        ]


def estimate_relevant(sample: Sample, relevant: Bools, variance: str) -> EstimatedRelevant:
    """Estimate numbers of relevant documents from those of the sample."""
    cells, topics = sample.cells, sample.pool.topics
    sampled, hits = (
        np.bincount(cells.of_doc[documents], minlength=cells.size.size)
        for documents in (sample.drawn, sample.drawn & relevant)
    )
    variances = VARIANCES[variance](cells, sampled.astype(np.float64), hits.astype(np.float64))

    def by_topic(values: Floats | Ints) -> Floats:
        return np.bincount(cells.topic, weights=values, minlength=len(topics)).astype(np.float64)

    square = by_topic(np.where(cells.estimable, variances, np.nan))
    # Terms that cancel may leave a rounding error below 0.
    square[np.abs(square) < 1e-9] = 0.0
    error = np.sqrt(np.where(square < 0, np.nan, square))
    counts = {"pooled": cells.size, "sampled": sampled, "relevant": hits}
    rows = pl.DataFrame(
        {
            "topic": pl.Series(topics, dtype=pl.String),
            **{name: by_topic(values).astype(np.int64) for name, values in counts.items()},
            "estimate": by_topic(hits / cells.chance),
        }
    )
    # An estimated variance of 0 serves the total, but means nothing alone.
    is_unknown = (error == 0) & (rows["sampled"] < rows["pooled"]).to_numpy()
    single = pl.Series("standard error", np.where(is_unknown, np.nan, error)).fill_nan(None)
    return EstimatedRelevant(
        rows=rows.with_columns(single),
        topics=topics,
        drawing=sample.drawing,
        variance=variance,
        error=error,
    )


def _sen_yates_grundy(cells: Cells, sampled: Floats, relevant: Floats) -> Floats:
    """Sum over pairs of documents, by pairs of cells, at the later cell."""
    chance = cells.chance
    worth, squares = relevant / chance, relevant / chance**2
    inside = ratio(chance**2 - cells.together, cells.together) / chance**2
    inside *= relevant * (sampled - relevant)
    differences = (
        sampled * cells.sum_before(squares)
        + squares * cells.sum_before(sampled)
        - 2 * worth * cells.sum_before(worth)
    )
    between = ratio(1 - cells.ratio, cells.ratio) * differences
    return inside + between + squares * cells.covariance / chance


def _horvitz_thompson(cells: Cells, sampled: Floats, relevant: Floats) -> Floats:
    chance = cells.chance
    diagonal = relevant * (1 - chance) / chance**2
    inside = relevant * (relevant - 1) / chance**2 - ratio(
        relevant * (relevant - 1), cells.together
    )
    between = 2 * relevant / chance * cells.sum_before(relevant / chance)
    return diagonal + inside - between * ratio(1 - cells.ratio, cells.ratio)


VARIANCES: dict[str, Callable[[Cells, Floats, Floats], Floats]] = {
    "sen-yates-grundy": _sen_yates_grundy,
    "horvitz-thompson": _horvitz_thompson,
}
"""Estimators of the variance of an estimated number, by name; parts of it by cell."""


OF_UNJUDGED = ("error", "nonrelevant")
"""How to treat sampled documents without a judgment."""

NOT_SAMPLED = -1
"""Grade of pooled documents that were not sampled."""


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Result):
    r"""Documents of a pool that were drawn to be judged; made by :func:`sample`.

    Attributes
    ----------
    pool
        The pool.
    design
        Name of the design.
    drawing
        The design and its sizes, as text.
    seed
        Seed of the random numbers. Those of a topic depend on the seed and its name only.
    drawn
        Whether a document of the pool was drawn; shape (documents,).
    cells
        The strata or buckets of the design.

    Examples
    --------
    >>> import cranfield as cf
    >>> pool = cf.assess.pool({"a": {"q": {"x": 3.0, "y": 2.0, "z": 1.0}}}, 3)
    >>> drawn = cf.assess.sample(pool, "uniform", size=2)
    >>> drawn
    Sample(uniform(size=2), seed 0: 2 of 3 documents, 1 topic)
    >>> drawn.inclusion.round(4).tolist(), drawn.joint([0, 0], [0, 1]).round(4).tolist()
    ([0.6667, 0.6667, 0.6667], [0.6667, 0.3333])
    """

    name: ClassVar[str] = "sample"
    columns: ClassVar[Columns] = {
        "topic": Column("Topic of the document.", key=True),
        "doc": Column("Document that was drawn.", key=True),
        "stratum": Column("Stratum or bucket of the document, from 1 in each topic."),
        "inclusion": Column("Probability that the document is drawn, from 0 to 1."),
    }

    pool: Pool
    design: str
    drawing: str
    seed: int
    drawn: Bools
    cells: Cells

    @property
    def inclusion(self) -> Floats:
        """Inclusion probability of each document of the pool; shape (documents,)."""
        return self.cells.chance[self.cells.of_doc]

    @property
    def stratum(self) -> Ints:
        """Stratum or bucket of each document, from 1 in each topic; shape (documents,)."""
        return self.cells.label[self.cells.of_doc]

    def joint(self, first: Any, second: Any) -> Floats:
        """Return the probability that two documents are both drawn, for pairs of documents.

        Parameters
        ----------
        first, second
            Indices of documents of the pool, in lists of equal length.

        Raises
        ------
        PolicyError
            For invalid indices, and lists of different lengths.
        """
        firsts = indices(first, "documents", len(self.pool))
        seconds = indices(second, "documents", len(self.pool))
        if firsts.size != seconds.size:
            raise PolicyError(
                f"expected as many second documents as first,"
                f" got {seconds.size:,} and {firsts.size:,}"
            )
        return self.cells.joint(firsts, seconds)

    def redraw(self, seed: int) -> Sample:
        """Return another sample of the same design, with another seed."""
        check_whole("seed", seed, 0)
        return replace(self, seed=int(seed), drawn=_drawn(self.pool, self.cells, seed))

    def judged(self, judgments: Any, *, unjudged: str = "error") -> NDArray[np.int32]:
        """Return the grade of each sampled document, and -1 for the others; shape (documents,).

        Parameters
        ----------
        judgments
            In any form that :func:`cranfield.read_qrels` reads. Grades below 0 count as 0: in
            judgments of samples they mark documents that were not sampled.
        unjudged
            How to treat sampled documents without a judgment: `error` (default) or `nonrelevant`.

        Raises
        ------
        PolicyError
            If a sampled document has no judgment.
        """
        check_choice("unjudged", unjudged, OF_UNJUDGED)
        grades = self.pool.graded(judgments)
        missing = np.flatnonzero(self.drawn & (grades == UNJUDGED))
        if missing.size and unjudged == "error":
            topic = self.pool.topics[self.pool.topic[missing[0]]]
            doc = quoted(self.pool.docs[int(missing[0])])
            raise PolicyError(
                f"{counted(missing.size, 'sampled document')} not judged (topic {quoted(topic)},"
                f" document {doc}); unjudged='nonrelevant' counts them as not relevant"
            )
        return np.where(self.drawn, np.maximum(grades, 0), NOT_SAMPLED).astype(np.int32)

    def to_qrels(
        self,
        judgments: Any,
        columns: Sequence[str] | None = None,
        *,
        unjudged: str = "error",
    ) -> Qrels:
        """Return judgments of the sample, for infAP, xinfAP, infNDCG, infP and statAP.

        Parameters
        ----------
        judgments, unjudged
            As for :meth:`judged`.
        columns
            `stratum`, for the inferred measures: it adds the documents that were not sampled, with
            grade -1. `inclusion`, for statAP. By default those of the design; `stat` has no strata
            of fixed size, and thus `inclusion` only.

        Raises
        ------
        PolicyError
            For a column that the design does not have, and as :meth:`judged`.

        Notes
        -----
        :func:`cranfield.write_qrels` writes one of the two columns as lines (`xqrels` or `prels`),
        and both in a table, such as a `.csv` file.
        """
        check_several("columns", columns)
        design_columns = DESIGNS[self.design].columns
        columns = design_columns if columns is None else columns
        for name in columns:
            if name not in design_columns:
                raise PolicyError(
                    f"a sample by {quoted(self.design)} has no column {quoted(name)}"
                    f" (it has {', '.join(design_columns)})"
                )
        grades = self.judged(judgments, unjudged=unjudged)
        rows = np.flatnonzero(self.drawn | ("stratum" in columns))
        values: dict[str, NDArray[Any]] = {
            "stratum": self.stratum.astype(np.str_),
            "inclusion": self.inclusion,
        }
        return Qrels(
            self.pool.topics,
            self.pool.topic[rows],
            self.pool.docs.gather(rows),
            grades[rows],
            origin=Origin("judgments of a sample"),
            columns={name: values[name][rows] for name in columns},
        )

    def relevant(
        self,
        judgments: Any,
        rel: int = 1,
        *,
        unjudged: str = "error",
        variance: str = "sen-yates-grundy",
    ) -> EstimatedRelevant:
        r"""Estimate the number of relevant documents in the pool of each topic.

        With :math:`\pi_d` the inclusion probability of a document and S the sample,

        .. math:: \hat{R} = \sum_{d \in S} \frac{y_d}{\pi_d}

        where :math:`y_d` is 1 for relevant documents (Horvitz and Thompson 1952). Both estimators
        of its variance are unbiased if any two documents can be drawn together; otherwise the
        standard error is NaN.

        Parameters
        ----------
        judgments, unjudged
            As for :meth:`judged`.
        rel
            Lowest grade that counts as relevant, 1 or more.
        variance
            `sen-yates-grundy` (default),

            .. math:: \sum_{d < e} \frac{\pi_d \pi_e - \pi_{de}}{\pi_{de}}
                \left(\frac{y_d}{\pi_d} - \frac{y_e}{\pi_e}\right)^2
                + \sum_d \frac{c_d\, y_d}{\pi_d^3}, \quad c_d = \sum_e (\pi_{de} - \pi_d \pi_e)

            over the sample, and over the whole pool in :math:`c_d`, which is 0 for a sample of
            fixed size: then it is the estimator of Sen, and of Yates and Grundy (1953).
            `horvitz-thompson`,

            .. math:: \sum_d \frac{1 - \pi_d}{\pi_d^2} y_d + \sum_{d \ne e}
                \frac{\pi_{de} - \pi_d \pi_e}{\pi_d \pi_e \pi_{de}} y_d y_e

            which is more often below 0; then the standard error is NaN, too.

        Raises
        ------
        PolicyError
            For an unknown variance, a grade below 1, and as :meth:`judged`.

        Examples
        --------
        >>> import cranfield as cf
        >>> runs = {"a": {"q": {f"d{i}": -float(i) for i in range(9)}}}
        >>> drawn = cf.assess.sample(cf.assess.pool(runs, 9), "uniform", size=6, seed=1)
        >>> drawn.relevant({"q": {f"d{i}": int(i < 3) for i in range(9)}}).to_polars().rows()
        [('q', 9, 6, 2, 3.0, 1.0954451150103313)]
        """
        check_whole("rel", rel, 1)
        check_choice("variance", variance, VARIANCES)
        relevant = self.judged(judgments, unjudged=unjudged) >= rel
        return estimate_relevant(self, relevant, variance)

    def __len__(self) -> int:
        return int(self.drawn.sum())

    def heading(self) -> list[str]:
        """Return one line: the design, the seed, and the size of the sample."""
        return [
            f"{self.drawing}, seed {self.seed}: {len(self):,} of"
            f" {counted(len(self.pool), 'document')}, {counted(len(self.pool.topics), 'topic')}"
        ]

    def _frame(self) -> pl.DataFrame:
        columns = {"stratum": self.stratum, "inclusion": self.inclusion}
        frame = self.pool.to_polars().select("topic", "doc", **columns)
        return frame.filter(pl.Series(self.drawn))


def sample(
    pool: Pool,
    design: str,
    *,
    size: Wanted | None = None,
    strata: Mapping[int, Wanted] | None = None,
    seed: int = 0,
) -> Sample:
    r"""Draw documents of a pool to be judged, with known inclusion probabilities.

    Parameters
    ----------
    pool
        Made by :func:`cranfield.assess.pool`.
    design
        `uniform`, `strata` or `stat`.
    size
        With `uniform` the number of documents of each topic, or their proportion, such as 0.1. With
        `stat` the approximate number of documents of each topic.
    strata
        With `strata`: by the last rank of each stratum, the number or proportion drawn of it in
        each topic: `{10: 1.0, 50: 0.2, 100: 25}`. A document belongs to the first stratum that
        includes its best rank in any run.
    seed
        Seed of the random numbers. Each topic has its own, independent of other topics.

    Raises
    ------
    PolicyError
        For an unknown design, missing sizes, and documents below the last stratum.

    Notes
    -----
    A proportion is rounded, to one document at least. `uniform` is simple random sampling, `strata`
    the design of Yilmaz, Kanoulas and Aslam (2008). `stat` is Stevens' method as Aslam and Pavlu
    (2007) use it. Rank r of a run of Z documents weighs :math:`1 + \sum_{k=r}^{Z} 1/k`, scaled to
    sum 1; a document has the mean over runs. In descending order of it, documents are cut into
    buckets of `size` documents (the last may be smaller); `size` buckets are drawn with
    replacement, by the sum of their weights, and as many documents taken of each. The number from
    the last bucket is cut at its size, with probabilities by the binomial distribution.

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"a": {"q": {f"d{i}": -float(i) for i in range(9)}}}
    >>> drawn = cf.assess.sample(cf.assess.pool(runs, 9), "strata", strata={3: 1.0, 9: 2}, seed=7)
    >>> drawn
    Sample(strata(3=1.0, 9=2), seed 7: 5 of 9 documents, 1 topic)
    >>> judged = drawn.to_qrels({"q": {"d1": 1}}, unjudged="nonrelevant")
    >>> cf.evaluate(runs, judged, ["statAP", "xinfAP"]).means().rows()
    [('statAP', 0.5), ('xinfAP', 0.50000...)]
    """
    design = DESIGNS.find(design)
    sizes, drawing = check_design(design, size, strata)
    check_whole("seed", seed, 0)
    cells = DESIGNS[design].cells(pool, sizes)
    return Sample(pool, design, drawing, int(seed), _drawn(pool, cells, seed), cells)


def _drawn(pool: Pool, cells: Cells, seed: int) -> Bools:
    return cells.drawn([stream_of(seed, topic) for topic in pool.topics])
