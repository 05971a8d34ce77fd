"""A sample of a pool: what was drawn, with which chances, and its judgments for estimates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.assess.pools.pool import UNJUDGED, Pool
from cranfield.assess.samples.cells import Cells
from cranfield.assess.samples.designs import DESIGNS, Wanted, check_design
from cranfield.assess.samples.relevant import VARIANCES, EstimatedRelevant, estimated_relevant
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.checks import check_choice, check_whole, indices
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.streams import stream_of
from cranfield.base.words import counted
from cranfield.collection.qrels import Qrels
from cranfield.sources.chunks import Origin
from cranfield.tabular.frames import Framed

OF_UNJUDGED = ("error", "nonrelevant")
"""What may become of sampled documents that have no judgment."""

NOT_SAMPLED = -1
"""Grade of what is in the pool and was not sampled."""


@dataclass(frozen=True, eq=False, repr=False)
class Sample(Framed):
    r"""Documents of a pool that were drawn to be judged; made by :func:`sample`.

    Attributes
    ----------
    pool
        What was drawn from.
    design
        Name of the design.
    drawing
        The design and what it was to draw, as text.
    seed
        Of the random numbers. Those of a topic depend on the seed and its name only.
    drawn
        Which documents of the pool were drawn; shape (documents,).
    cells
        The law of the design: strata or buckets.

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

    pool: Pool
    design: str
    drawing: str
    seed: int
    drawn: Bools
    cells: Cells

    @property
    def inclusion(self) -> Floats:
        """Chance of each document of the pool to be drawn; shape (documents,)."""
        return self.cells.chance[self.cells.of_doc]

    @property
    def stratum(self) -> Ints:
        """Stratum or bucket of each document, from 1 in each topic; shape (documents,)."""
        return self.cells.label[self.cells.of_doc]

    def joint(self, first: Any, second: Any) -> Floats:
        """Chance that two documents are both drawn, for as many pairs as are asked for.

        Parameters
        ----------
        first, second
            Indices of documents of the pool, as many of both.

        Raises
        ------
        PolicyError
            For what is no index, and lists of different lengths.
        """
        one = indices(first, "documents", len(self.pool))
        two = indices(second, "documents", len(self.pool))
        if one.size != two.size:
            raise PolicyError(f"{one.size:,} documents cannot be paired with {two.size:,}")
        return self.cells.joint(one, two)

    def again(self, seed: int) -> Sample:
        """Draw anew by the same design, with another seed."""
        check_whole("seed", seed, 0)
        return replace(self, seed=int(seed), drawn=_drawn(self.pool, self.cells, seed))

    def judged(self, judgments: Any, *, unjudged: str = "error") -> NDArray[np.int32]:
        """Return the grade of each sampled document, and -1 for the others; shape (documents,).

        Parameters
        ----------
        judgments
            Whatever :func:`cranfield.read_qrels` takes. Grades below 0 count as 0: in judgments of
            samples they mean that a document was not sampled.
        unjudged
            What becomes of sampled documents without a judgment: `error` (default), or
            `nonrelevant`.

        Raises
        ------
        PolicyError
            When a sampled document has no judgment.
        """
        check_choice("unjudged", unjudged, OF_UNJUDGED)
        grades = self.pool.graded(judgments)
        missing = np.flatnonzero(self.drawn & (grades == UNJUDGED))
        if missing.size and unjudged == "error":
            topic = self.pool.topics[self.pool.topic[missing[0]]]
            raise PolicyError(
                f"{counted(missing.size, 'sampled document')} not judged (topic {quoted(topic)},"
                f" document {quoted(self.pool.docs[int(missing[0])])}); unjudged='nonrelevant'"
                " takes them as not relevant"
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
            `stratum`, for the inferred measures: with it stand the documents that were not sampled,
            with grade -1. `inclusion`, for statAP. By default what the design has; `stat` has no
            strata of fixed size, and thus `inclusion` only.

        Raises
        ------
        PolicyError
            For a column that the design does not have, and as :meth:`judged`.

        Notes
        -----
        :func:`cranfield.write_qrels` writes one of the two columns as lines (`xqrels` or `prels`),
        and both in a table, such as a `.csv` file.
        """
        own = DESIGNS[self.design].columns
        columns = own if columns is None else [columns] if isinstance(columns, str) else columns
        for name in columns:
            if name not in own:
                raise PolicyError(
                    f"a sample by {quoted(self.design)} has no column {quoted(name)}"
                    f" (it has {', '.join(own)})"
                )
        grades = self.judged(judgments, unjudged=unjudged)
        rows = slice(None) if "stratum" in columns else np.flatnonzero(self.drawn)
        made: dict[str, NDArray[Any]] = {
            "stratum": self.stratum.astype(np.str_),
            "inclusion": self.inclusion,
        }
        return Qrels(
            self.pool.topics,
            self.pool.topic[rows],
            self.pool.docs[rows] if isinstance(rows, slice) else self.pool.docs.gather(rows),
            grades[rows],
            origin=Origin("judgments of a sample"),
            columns={name: made[name][rows] for name in columns},
        )

    def relevant(
        self,
        judgments: Any,
        rel: int = 1,
        *,
        unjudged: str = "error",
        variance: str = "sen-yates-grundy",
    ) -> EstimatedRelevant:
        r"""Estimate how many relevant documents there are in the pool of each topic.

        With :math:`\pi_d` the chance of a document to be drawn and S the sample,

        .. math:: \hat{R} = \sum_{d \in S} \frac{y_d}{\pi_d}

        where :math:`y_d` is 1 for relevant documents (Horvitz and Thompson 1952). Both estimates
        of its variance are right on average, given that any two documents can be drawn together;
        elsewhere the standard error is NaN.

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

            over the sample, and over the whole pool in :math:`c_d`, which is 0 where the size of
            the sample is fixed: then it is the estimate of Sen, and of Yates and Grundy (1953).
            `horvitz-thompson`,

            .. math:: \sum_d \frac{1 - \pi_d}{\pi_d^2} y_d + \sum_{d \ne e}
                \frac{\pi_{de} - \pi_d \pi_e}{\pi_d \pi_e \pi_{de}} y_d y_e

            which is below 0 more often; then the standard error is NaN, too.

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
        return estimated_relevant(
            self.pool.topics, self.cells, self.drawn, relevant, self.drawing, variance
        )

    def __len__(self) -> int:
        return int(self.drawn.sum())

    def __repr__(self) -> str:
        return (
            f"Sample({self.drawing}, seed {self.seed}: {len(self):,} of"
            f" {counted(len(self.pool), 'document')}, {counted(len(self.pool.topics), 'topic')})"
        )

    def to_polars(self) -> pl.DataFrame:
        """Return a row a sampled document: topic, doc, stratum, inclusion."""
        rows = np.flatnonzero(self.drawn)
        return pl.DataFrame(
            {
                "topic": pl.Series(self.pool.topics, dtype=pl.String).gather(self.pool.topic[rows]),
                "doc": self.pool.docs.gather(rows),
                "stratum": self.stratum[rows],
                "inclusion": self.inclusion[rows],
            }
        )


def sample(
    pool: Pool,
    design: str,
    *,
    size: Wanted | None = None,
    strata: Mapping[int, Wanted] | None = None,
    seed: int = 0,
) -> Sample:
    r"""Draw documents of a pool to be judged, with known chances.

    Parameters
    ----------
    pool
        Of :func:`cranfield.assess.pool`.
    design
        `uniform`, `strata` or `stat`.
    size
        With `uniform` documents of each topic, or a share of them, such as 0.1. With `stat` about
        how many documents of each topic.
    strata
        With `strata`: the last rank of each stratum, and what is drawn of it in each topic, a
        number or a share: `{10: 1.0, 50: 0.2, 100: 25}`. A document belongs to the first stratum
        that its best rank in any run reaches.
    seed
        Of the random numbers. A topic has its own, whatever other topics there are.

    Raises
    ------
    PolicyError
        For an unknown design, one without what it draws, and documents below the last stratum.

    Notes
    -----
    A share is rounded, and is one document at least. `stat` is Stevens' method as Aslam and Pavlu
    (2007) use it. Rank r of a run of Z documents weighs :math:`1 + \sum_{k=r}^{Z} 1/k`, scaled to
    sum 1; a document has the mean over runs. In falling order of that, documents are cut into
    buckets of as many as are wanted (the last may be smaller); buckets are drawn with replacement,
    by the sum of their weights, as often as documents are wanted, and so many documents taken of
    each. In the last bucket that may be more than it has; what is taken is cut at that, and the
    chances are those of the numbers cut off, by the binomial distribution.

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
    wanted, drawing = check_design(design, size, strata)
    check_whole("seed", seed, 0)
    cells = DESIGNS[design].cells(pool, wanted)
    return Sample(pool, design, drawing, int(seed), _drawn(pool, cells, seed), cells)


def _drawn(pool: Pool, cells: Cells, seed: int) -> Bools:
    return cells.drawn([stream_of(seed, topic) for topic in pool.topics])
