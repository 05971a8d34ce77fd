"""Sample documents of a pool to judge, and estimate numbers of relevant documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.assess.pools.pool import UNJUDGED_GRADE, Pool, read_judgments
from cranfield.assess.sampling_designs import DESIGNS, SampleSize, SamplingCells, check_design
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import (
    PolicyError,
    as_indices,
    check_choice,
    check_integer,
    check_list,
    quote,
)
from cranfield.base.kinds import Integer, OneOf, check_arguments
from cranfield.base.streams import make_named_stream
from cranfield.base.text import inflect
from cranfield.collection.judged.rows import divide
from cranfield.collection.qrels import Qrels
from cranfield.result import Column, Columns, Result, TableResult
from cranfield.sources.chunks import Origin


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedRelevant(TableResult):
    """Estimated numbers of relevant documents; returned by :meth:`Sample.estimate_relevant`.

    Attributes
    ----------
    rows
        Data frame with a row for each topic.
    topics
        Ids of the topics.
    drawing
        Text form of the sampling design.
    variance
        Name of the variance estimator.
    error
        Standard errors of the estimates; shape (topics,). NaN if two documents of a topic cannot
        both be drawn, or if the estimated variance is negative. An estimated variance of 0 gives 0
        here, for the sum over topics, but null in the table unless all documents were sampled.
    """

    name: ClassVar[str] = "relevant"
    columns: ClassVar[Columns] = {
        "topic": Column("Topic.", key=True),
        "pooled": Column("Number of documents in the pool."),
        "sampled": Column("Number of documents in the sample."),
        "relevant": Column("Number of relevant documents in the sample."),
        "estimate": Column("Estimated number of relevant documents in the pool."),
        "standard error": Column("Standard error; null if it cannot be estimated from the sample."),
    }

    topics: tuple[str, ...]
    drawing: str
    variance: str
    error: Floats

    @property
    def total(self) -> float:
        """Estimated total number of relevant documents over topics."""
        return float(self.estimate.sum())

    @property
    def total_error(self) -> float:
        """Standard error of the total; topics are sampled independently."""
        return float(np.sqrt((self.error**2).sum()))

    @property
    def has_total_error(self) -> bool:
        """True if the error of the total is above 0, or is 0 because all documents were sampled."""
        return self.total_error > 0 or self.rows["sampled"].equals(self.rows["pooled"])

    def heading(self) -> list[str]:
        error = f"{self.total_error:.1f}" if self.has_total_error else "unknown"
        total = f"{inflect(self.rows.height, 'topic')}: {self.total:.1f} relevant documents"
        sample = f"from {self.rows['relevant'].sum():,} in a sample by {self.drawing}"
        return [f"{total}, standard error {error}, estimated {sample}"]


def _compute_sen_yates_grundy_terms(
    cells: SamplingCells, n_sampled: Floats, n_relevant: Floats
) -> Floats:
    """Compute variance terms by cell; the terms of a pair of cells belong to the later cell."""
    inclusion = cells.inclusion
    weighted_counts, weighted_squares = n_relevant / inclusion, n_relevant / inclusion**2
    within_cells = divide(inclusion**2 - cells.pair_inclusion, cells.pair_inclusion) / inclusion**2
    within_cells *= n_relevant * (n_sampled - n_relevant)
    squared_differences = n_sampled * cells.sum_before(weighted_squares)
    squared_differences += weighted_squares * cells.sum_before(n_sampled)
    squared_differences -= 2 * weighted_counts * cells.sum_before(weighted_counts)
    between_cells = divide(1 - cells.dependence, cells.dependence) * squared_differences
    return within_cells + between_cells + weighted_squares * cells.covariance / inclusion


def _compute_horvitz_thompson_terms(
    cells: SamplingCells, n_sampled: Floats, n_relevant: Floats
) -> Floats:
    inclusion = cells.inclusion
    diagonal = n_relevant * (1 - inclusion) / inclusion**2
    pairs = n_relevant * (n_relevant - 1)
    within_cells = pairs / inclusion**2 - divide(pairs, cells.pair_inclusion)
    between_cells = 2 * n_relevant / inclusion * cells.sum_before(n_relevant / inclusion)
    return diagonal + within_cells - between_cells * divide(1 - cells.dependence, cells.dependence)


VARIANCES: dict[str, Callable[[SamplingCells, Floats, Floats], Floats]] = {
    "sen-yates-grundy": _compute_sen_yates_grundy_terms,
    "horvitz-thompson": _compute_horvitz_thompson_terms,
}
"""Estimators of the variance of the estimate, by name; they return its terms by cell."""


UNJUDGED_POLICIES = ("error", "nonrelevant")  # Ways to treat sampled documents without a judgment
UNSAMPLED_GRADE = -1  # Grade that marks pooled documents outside the sample


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Result):
    r"""Sample of the documents of a pool, to be judged; returned by :func:`sample`.

    Attributes
    ----------
    pool
        Pool of documents.
    design
        Name of the sampling design.
    drawing
        Text form of the design, with its sizes.
    seed
        Seed; the random numbers of a topic depend only on the seed and the id of the topic.
    is_drawn
        Whether a document of the pool was drawn; shape (documents,).
    cells
        Strata or buckets of the design.

    Examples
    --------
    >>> import cranfield as cf
    >>> pool = cf.assess.pool({"a": {"q": {"x": 3.0, "y": 2.0, "z": 1.0}}}, 3)
    >>> drawn = cf.assess.sample(pool, "uniform", size=2)
    >>> drawn
    Sample(uniform(size=2), seed 0: 2 of 3 documents, 1 topic)
    >>> drawn.compute_joint_inclusion([0, 0], [0, 1]).round(4).tolist()
    [0.6667, 0.3333]
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
    is_drawn: Bools
    cells: SamplingCells

    @property
    def inclusion(self) -> Floats:
        """Inclusion probability of each document of the pool; shape (documents,)."""
        return self.cells.inclusion[self.cells.doc_cell]

    @property
    def stratum(self) -> Ints:
        """Stratum or bucket of each document, from 1 in each topic; shape (documents,)."""
        return self.cells.label[self.cells.doc_cell]

    def compute_joint_inclusion(self, first: Any, second: Any) -> Floats:
        """Compute the joint inclusion probabilities of pairs of documents; shape (pairs,).

        Parameters
        ----------
        first, second
            Indices of the first and the second document of each pair; shape (pairs,).

        Raises
        ------
        PolicyError
            For invalid indices, and sequences of different lengths.
        """
        first_docs = as_indices(first, "documents", len(self.pool))
        second_docs = as_indices(second, "documents", len(self.pool))
        if first_docs.size != second_docs.size:
            raise PolicyError(
                "first and second must have the same length, got"
                f" {first_docs.size:,} and {second_docs.size:,}"
            )
        return self.cells.compute_joint_inclusion(first_docs, second_docs)

    def redraw(self, seed: int) -> Sample:
        """Draw another sample by the same design, with another seed."""
        check_integer("seed", seed, 0)
        is_drawn = self.cells.draw([make_named_stream(seed, topic) for topic in self.pool.topics])
        return replace(self, seed=int(seed), is_drawn=is_drawn)

    def get_grades(self, judgments: Any, *, unjudged: str = "error") -> NDArray[np.int32]:
        """Return the grades of sampled documents, and -1 for other documents; shape (documents,).

        Parameters
        ----------
        judgments
            Judgments: any input of :func:`cranfield.read_qrels`. Grades below 0 count as 0, since
            -1 marks documents outside the sample.
        unjudged
            How to treat sampled documents without a judgment: `error` (default) or `nonrelevant`.

        Raises
        ------
        PolicyError
            If a sampled document has no judgment, or if the column `inclusion` of the judgments
            shows that they are of another sample.
        """
        check_choice("unjudged", unjudged, UNJUDGED_POLICIES)
        qrels = read_judgments(judgments)
        if qrels is not None:
            self._check_design(qrels)
        grades = self.pool.get_grades(qrels)
        unjudged_docs = np.flatnonzero(self.is_drawn & (grades == UNJUDGED_GRADE))
        if unjudged_docs.size and unjudged == "error":
            topic = self.pool.topics[self.pool.topic[unjudged_docs[0]]]
            doc = quote(self.pool.docs[int(unjudged_docs[0])])
            raise PolicyError(
                "expected judgments of all sampled documents, got none of"
                f" {inflect(unjudged_docs.size, 'document')} (topic {quote(topic)}, document {doc})"
                "; use unjudged='nonrelevant' to count them as not relevant"
            )
        return np.where(self.is_drawn, np.maximum(grades, 0), UNSAMPLED_GRADE).astype(np.int32)

    def _check_design(self, qrels: Qrels) -> None:
        """Refuse judged documents with an inclusion probability that are not in this sample."""
        if "inclusion" not in qrels.columns:
            return
        docs, rows = self.pool.find_matching_rows(qrels)
        inclusion = np.asarray(qrels.columns["inclusion"], dtype=np.float64)[rows]
        is_other = ~self.is_drawn[docs] & (inclusion > 0) & (inclusion < 1)
        if is_other.any():
            raise PolicyError(
                "judgments with inclusion probabilities must be those of the sample, got"
                f" {inflect(int(is_other.sum()), 'judged document')} outside {self.drawing}, seed"
                f" {self.seed}; use the seed and the sizes of the sample that was judged"
            )

    def to_qrels(
        self, judgments: Any, columns: Sequence[str] | None = None, *, unjudged: str = "error"
    ) -> Qrels:
        """Return judgments of the sample, for infAP, xinfAP, infNDCG, infP and statAP.

        Parameters
        ----------
        judgments, unjudged
            As for :meth:`get_grades`.
        columns
            `stratum`, for the inferred measures, which also adds the documents outside the sample,
            with grade -1; `inclusion`, for statAP. By default all columns of the design; `stat` has
            only `inclusion`, as its strata have no fixed sample size.

        Raises
        ------
        PolicyError
            For a column that the design does not have, and as for :meth:`get_grades`.

        Notes
        -----
        :func:`cranfield.write_qrels` writes one of the two columns in text formats (`xqrels` or
        `prels`), and both in a table, such as a `.csv` file.
        """
        check_list("columns", columns)
        design_columns = DESIGNS[self.design].columns
        columns = design_columns if columns is None else columns
        for name in columns:
            if name not in design_columns:
                raise PolicyError(
                    f"a sample by {quote(self.design)} has no column {quote(name)}; expected one"
                    f" of: {', '.join(design_columns)}"
                )
        grades = self.get_grades(judgments, unjudged=unjudged)
        rows = np.flatnonzero(self.is_drawn | ("stratum" in columns))
        values = {"stratum": self.stratum.astype(np.str_), "inclusion": self.inclusion}
        return Qrels(
            self.pool.topics,
            self.pool.topic[rows],
            self.pool.docs.gather(rows),
            grades[rows],
            origin=Origin("judgments of a sample"),
            columns={name: values[name][rows] for name in columns},
        )

    def estimate_relevant(
        self,
        judgments: Any,
        rel: Annotated[int, Integer(1)] = 1,
        *,
        unjudged: str = "error",
        variance: Annotated[str, OneOf(tuple(VARIANCES))] = "sen-yates-grundy",
    ) -> EstimatedRelevant:
        r"""Estimate the number of relevant documents in the pool of each topic.

        With :math:`\pi_d` the inclusion probability of a document and S the sample,

        .. math:: \hat{R} = \sum_{d \in S} \frac{y_d}{\pi_d}

        where :math:`y_d` is 1 for relevant documents and else 0 (Horvitz and Thompson 1952). Both
        variance estimators are unbiased if every two documents can both be drawn; otherwise
        the standard error is NaN.

        Parameters
        ----------
        judgments, unjudged
            As for :meth:`get_grades`.
        rel
            Lowest grade that counts as relevant, 1 or more.
        variance
            `sen-yates-grundy` (default),

            .. math:: \sum_{d < e} \frac{\pi_d \pi_e - \pi_{de}}{\pi_{de}}
                \left(\frac{y_d}{\pi_d} - \frac{y_e}{\pi_e}\right)^2
                + \sum_d \frac{c_d\, y_d}{\pi_d^3}, \quad c_d = \sum_e (\pi_{de} - \pi_d \pi_e)

            where sums are over the sample, but over the whole pool in :math:`c_d`. For samples of
            fixed size :math:`c_d` is 0, and this is the estimator of Sen, and of Yates and Grundy
            (1953). Or `horvitz-thompson`,

            .. math:: \sum_d \frac{1 - \pi_d}{\pi_d^2} y_d + \sum_{d \ne e}
                \frac{\pi_{de} - \pi_d \pi_e}{\pi_d \pi_e \pi_{de}} y_d y_e

            which is negative more often than the default; then the standard error is NaN.

        Raises
        ------
        PolicyError
            For an unknown variance estimator, `rel` below 1, and as for :meth:`get_grades`.

        Examples
        --------
        >>> import cranfield as cf
        >>> runs = {"a": {"q": {f"d{i}": -float(i) for i in range(9)}}}
        >>> drawn = cf.assess.sample(cf.assess.pool(runs, 9), "uniform", size=6, seed=1)
        >>> judged = {"q": {f"d{i}": int(i < 3) for i in range(9)}}
        >>> drawn.estimate_relevant(judged).to_polars().rows()
        [('q', 9, 6, 2, 3.0, 1.0954451150103313)]
        """
        check_arguments(Sample.estimate_relevant, locals())
        cells, topics = self.cells, self.pool.topics
        # Documents outside the sample have grades below `rel`.
        n_sampled, n_relevant = (
            np.bincount(cells.doc_cell[documents], minlength=cells.size.size)
            for documents in (self.is_drawn, self.get_grades(judgments, unjudged=unjudged) >= rel)
        )
        variances = VARIANCES[variance](cells, n_sampled.astype(float), n_relevant.astype(float))

        def sum_by_topic(values: Floats | Ints) -> Floats:
            sums = np.bincount(cells.topic, weights=values, minlength=len(topics))
            return sums.astype(np.float64)

        variance_by_topic = sum_by_topic(np.where(cells.is_estimable, variances, np.nan))
        # If terms cancel, a rounding error may remain.
        variance_by_topic[np.abs(variance_by_topic) < 1e-9] = 0.0
        standard_error = np.sqrt(np.where(variance_by_topic < 0, np.nan, variance_by_topic))
        columns: dict[str, Any] = {"topic": pl.Series(topics, dtype=pl.String)}
        counts = {"pooled": cells.size, "sampled": n_sampled, "relevant": n_relevant}
        columns |= {name: sum_by_topic(values).astype(np.int64) for name, values in counts.items()}
        columns["estimate"] = sum_by_topic(n_relevant / cells.inclusion)
        # An estimated variance of 0 contributes to the total, but is not informative by itself.
        is_unknown = (standard_error == 0) & (columns["sampled"] < columns["pooled"])
        column = pl.Series(np.where(is_unknown, np.nan, standard_error))
        frame = pl.DataFrame({**columns, "standard error": column.fill_nan(None)})
        return EstimatedRelevant(frame, topics, self.drawing, variance, standard_error)

    def __len__(self) -> int:
        return int(self.is_drawn.sum())

    def heading(self) -> list[str]:
        return [
            f"{self.drawing}, seed {self.seed}: {len(self):,} of"
            f" {inflect(len(self.pool), 'document')}, {inflect(len(self.pool.topics), 'topic')}"
        ]

    def _frame(self) -> pl.DataFrame:
        columns = {"stratum": self.stratum, "inclusion": self.inclusion}
        frame = self.pool.to_polars().select("topic", "doc", **columns)
        return frame.filter(pl.Series(self.is_drawn))


def sample(
    pool: Pool,
    design: str,
    *,
    size: SampleSize | None = None,
    strata: Mapping[int, SampleSize] | None = None,
    seed: int = 0,
) -> Sample:
    r"""Sample documents of a pool to be judged, with known inclusion probabilities.

    Parameters
    ----------
    pool
        Pool, as returned by :func:`cranfield.assess.pool`.
    design
        Sampling design: `uniform`, `strata` or `stat`.
    size
        For `uniform`, the number of documents of each topic, or their proportion, such as 0.1. For
        `stat`, the approximate number of documents of each topic.
    strata
        For `strata`, a mapping from the last rank of each stratum to the number or proportion of
        its documents to sample in each topic: `{10: 1.0, 50: 0.2, 100: 25}`. A document belongs to
        the first stratum that includes its best rank in any run.
    seed
        Seed of the random numbers. Each topic has its own random stream.

    Raises
    ------
    PolicyError
        For an unknown design, missing or invalid sizes, and documents below the last stratum.

    Notes
    -----
    A proportion is rounded, to at least one document. `uniform` is simple random sampling, `strata`
    the design of Yilmaz, Kanoulas and Aslam (2008). `stat` is Stevens' method as used by Aslam and
    Pavlu (2007). Rank r of a run with Z documents has the weight :math:`1 + \sum_{k=r}^{Z} 1/k`,
    scaled to sum to 1; the weight of a document is the mean over runs. Documents in descending
    order of weight are divided into buckets of `size` documents (the last may be smaller). Then
    `size` buckets are drawn with replacement, with probabilities proportional to their total
    weight, and for each draw a document of the bucket is sampled. The sample size of a smaller last
    bucket is limited to its number of documents; its probabilities are binomial.

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
    cells = DESIGNS[design].make_cells(pool, sizes)
    return Sample(pool, design, drawing, 0, np.zeros(len(pool), bool), cells).redraw(seed)
