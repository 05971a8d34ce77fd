"""How many relevant documents there are, estimated from a sample, with standard errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from cranfield.assess.samples.cells import Cells
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.words import counted
from cranfield.collection.judged.segments import ratio
from cranfield.tabular.frames import Framed


@dataclass(frozen=True, eq=False, repr=False)
class EstimatedRelevant(Framed):
    """Estimated numbers of relevant documents; made by :meth:`Sample.relevant`.

    Attributes
    ----------
    topics
        Ids of the topics.
    drawing
        The design of the sample, as text.
    variance
        How variances are estimated.
    pooled, sampled, found
        Documents of each topic in the pool and in the sample, and relevant ones in the sample;
        shape (topics,).
    estimate
        Estimated relevant documents of the pool of each topic; shape (topics,).
    error
        Standard errors of the estimates: NaN where two documents of a topic cannot be drawn
        together, or where the estimate of the variance is below 0.
    """

    topics: tuple[str, ...]
    drawing: str
    variance: str
    pooled: Ints
    sampled: Ints
    found: Ints
    estimate: Floats
    error: Floats

    @property
    def total(self) -> float:
        """Estimated relevant documents of all topics."""
        return float(self.estimate.sum())

    @property
    def total_error(self) -> float:
        """Standard error of the total: topics are sampled independently."""
        return float(np.sqrt((self.error**2).sum()))

    @property
    def total_varies(self) -> bool:
        """Whether the total has an error other than 0, or all documents were sampled."""
        return self.total_error != 0 or bool((self.sampled == self.pooled).all())

    def __repr__(self) -> str:
        error = f"{self.total_error:.1f}" if self.total_varies else "unknown"
        return (
            f"EstimatedRelevant({counted(len(self.topics), 'topic')}:"
            f" {self.total:.1f}, standard error {error}, from"
            f" {self.found.sum():,} found in a sample by {self.drawing})"
        )

    def to_polars(self) -> pl.DataFrame:
        """Return one row per topic; no standard error of 0 if a part of the pool was not sampled.

        The estimated variance of such a topic, such as one without relevant documents in its
        sample, is 0. It belongs to the unbiased variance of the total, but says nothing alone.
        """
        unknown = (self.error == 0) & (self.sampled < self.pooled)
        return pl.DataFrame(
            {
                "topic": pl.Series(self.topics, dtype=pl.String),
                "pooled": self.pooled,
                "sampled": self.sampled,
                "found": self.found,
                "estimate": self.estimate,
                "standard error": np.where(unknown, np.nan, self.error),
            }
        ).with_columns(pl.col("standard error").fill_nan(None))


def estimated_relevant(
    topics: tuple[str, ...],
    cells: Cells,
    drawn: Bools,
    relevant: Bools,
    drawing: str,
    variance: str,
) -> EstimatedRelevant:
    """Estimate from which documents were drawn, and which of these are relevant."""
    many = cells.size.size
    sampled = np.bincount(cells.of_doc[drawn], minlength=many)
    found = np.bincount(cells.of_doc[drawn & relevant], minlength=many)
    of_cell = VARIANCES[variance](cells, sampled.astype(np.float64), found.astype(np.float64))

    def by_topic(values: Floats | Ints) -> Floats:
        return np.bincount(cells.topic, weights=values, minlength=len(topics)).astype(np.float64)

    square = by_topic(np.where(cells.estimable, of_cell, np.nan))
    # Sums of what should cancel may be a rounding below 0.
    square[np.abs(square) < 1e-9] = 0.0
    return EstimatedRelevant(
        topics=topics,
        drawing=drawing,
        variance=variance,
        pooled=by_topic(cells.size).astype(np.int64),
        sampled=by_topic(sampled).astype(np.int64),
        found=by_topic(found).astype(np.int64),
        estimate=by_topic(found / cells.chance),
        error=np.sqrt(np.where(square < 0, np.nan, square)),
    )


def _sen_yates_grundy(cells: Cells, sampled: Floats, found: Floats) -> Floats:
    """Sum over pairs of documents, by pairs of cells; each pair at its later cell."""
    chance = cells.chance
    worth, squares = found / chance, found / chance**2
    inside = ratio(chance**2 - cells.together, cells.together) / chance**2
    inside *= found * (sampled - found)
    differences = (
        sampled * cells.before(squares)
        + squares * cells.before(sampled)
        - 2 * worth * cells.before(worth)
    )
    between = ratio(1 - cells.ratio, cells.ratio) * differences
    return inside + between + squares * cells.with_size / chance


def _horvitz_thompson(cells: Cells, sampled: Floats, found: Floats) -> Floats:
    chance = cells.chance
    alone = found * (1 - chance) / chance**2
    inside = found * (found - 1) / chance**2 - ratio(found * (found - 1), cells.together)
    between = 2 * found / chance * cells.before(found / chance)
    return alone + inside - between * ratio(1 - cells.ratio, cells.ratio)


VARIANCES: dict[str, Callable[[Cells, Floats, Floats], Floats]] = {
    "sen-yates-grundy": _sen_yates_grundy,
    "horvitz-thompson": _horvitz_thompson,
}
"""Estimates of the variance of an estimated number, by name; of each cell a part of it."""
