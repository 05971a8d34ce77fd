"""Generalizability over two facets: topics, and shards or query variations within them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.checks import check_whole
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.words import counted
from cranfield.meta.study import Study, labelled, of_measure, percent
from cranfield.significance.models.random_topics import random_topics
from cranfield.significance.prepare import as_scores, prepared
from cranfield.significance.tests.catalogue import find_test
from cranfield.tabular import Table, from_frame

SOURCES = ("system", "topic", "system:topic", "topic:cell", "error")
"""What scores vary by; a cell is a shard, or a variation of the query, of one topic."""

EFFECTS = {
    "system": "systems, whatever the topic",
    "topic": "topics, whatever the system",
    "system:topic": "systems that are good on different topics",
    "topic:cell": "cells of one topic, whatever the system",
    "error": "what is left, systems on single cells among it",
}
"""What each source is, in words."""

TOPICS = (10, 25, 50, 100, 200)
CELLS = (1, 2, 3, 5, 10)


@dataclass(frozen=True, eq=False, repr=False)
class Facets(
    Study,
    name="facets",
    source="Brennan (2001); Patterson and Thompson (1971); Culpepper et al. (2022)",
    keys={"variance": ("measure", "source"), "coefficients": ("measure", "topics", "cells")},
    main="components",
):
    """Variance components of scores by topic and shard, or query variation.

    Attributes
    ----------
    measure, systems, topics, cells
        Of the scores, and numbers of systems, of topics, and of cells of topic and shard.
    components
        Table with a row a `source` of variance: its `variance`, and its `share` of all.
    notes
        What was left out or filled in.
    """

    measure: str
    systems: int
    topics: int
    cells: int
    components: pl.DataFrame
    notes: tuple[str, ...] = ()

    def relative(self, topics: int | None = None, cells: int | None = None) -> float:
        r"""Return the generalizability coefficient of so many topics, each with so many cells.

        It is the squared correlation of a system's mean with its mean over all possible topics and
        cells: how well differences and orders hold.

        .. math:: E\rho^2 = \frac{\sigma^2_s}{\sigma^2_s + \sigma^2_{st} / n
            + \sigma^2_e / (n k)}

        The numbers n of topics and k of cells of each are 1 or more; by default the topics that
        there are, and their cells on average.
        """
        return self._coefficient(topics, cells, absolute=False)

    def absolute(self, topics: int | None = None, cells: int | None = None) -> float:
        r"""Return the index of dependability: how well the means themselves hold.

        .. math:: \\Phi = \frac{\sigma^2_s}{\sigma^2_s + (\sigma^2_t + \sigma^2_{st}) / n
            + (\sigma^2_{tk} + \sigma^2_e) / (n k)}
        """
        return self._coefficient(topics, cells, absolute=True)

    def table(self, topics: Iterable[int] = TOPICS, cells: Iterable[int] = CELLS) -> pl.DataFrame:
        """Return both coefficients by numbers of topics and of cells: what would be enough."""
        each = list(cells)
        rows = [
            {
                "topics": n,
                "cells": k,
                "relative": self.relative(n, k),
                "absolute": self.absolute(n, k),
            }
            for n in topics
            for k in each
        ]
        return pl.DataFrame(rows)

    def _coefficient(self, topics: int | None, cells: int | None, *, absolute: bool) -> float:
        for name, number in (("topics", topics), ("cells", cells)):
            if number is not None:
                check_whole(name, number, 1)
        n = self.topics if topics is None else int(topics)
        k = self.cells / self.topics if cells is None else int(cells)
        system, topic, both, cell, error = self.components["variance"]
        noise = both / n + error / (n * k) + absolute * (topic / n + cell / (n * k))
        return float(system / (system + noise)) if system + noise > 0 else float("nan")

    @property
    def verdict(self) -> tuple[str, ...]:
        most = self.components.sort("share", descending=True, maintain_order=True).row(
            0, named=True
        )
        own = self.components.row(0, named=True)
        systems = f", {percent(own['share'])} from systems" if most["source"] != "system" else ""
        return (
            f"{labelled(self.measure)}most of the variance of scores, {percent(most['share'])},"
            f" comes from {EFFECTS[most['source']]}{systems}.",
            f"With {counted(self.topics, 'topic')} of {self.cells / self.topics:.3g} cells each,"
            f" the generalizability coefficient of differences between systems is"
            f" {self.relative():.2f} (1: the same on any topics and cells), that of their means"
            f" {self.absolute():.2f}.",
            "These are estimates without limits; systems, topics and cells are taken as drawn at"
            " random.",
        )

    def heading(self) -> list[str]:
        topics = counted(self.topics, "topic")
        return [f"{labelled(self.measure)}{self.systems} systems, {topics}, {self.cells:,} cells"]

    def frames(self) -> dict[str, pl.DataFrame]:
        every = zip(self.keys, (self.components, self.table()), strict=True)
        return {name: of_measure(self.measure, frame) for name, frame in every}

    def about(self) -> dict[str, Any]:
        return {"study": self.name, **self._chosen("measure", "systems", "topics", "cells")}

    def tables(self) -> list[Table]:
        measure = labelled(self.measure)
        title = f"{measure}generalizability by numbers of topics, and of cells of each"
        return [
            from_frame(
                self.components,
                f"{measure}where the variance of scores comes from",
                left=["source"],
                places={"variance": 5, "share": 3},
            ),
            from_frame(self.table(), title, left=[], places=3),
        ]

    def __repr__(self) -> str:
        found = f"relative {self.relative():.4f}, absolute {self.absolute():.4f}"
        return f"Facets({self.heading()[0]}, {found})"


def facets(scores: Any, *, missing: str | None = None) -> Facets:
    r"""Split the variance of scores by shard, or by variation of each topic's query.

    All effects are taken as random: systems, topics, and cells within topics, which are shards or
    query variations that others could stand for.

    .. math:: x_{tsk} = \mu + \nu_s + \nu_t + \nu_{st} + \nu_{tk} + \nu_{stk}

    Without gaps the estimates are those of mean squares where these are not negative, which are
    those of restricted maximum likelihood (REML). With gaps the variances of topics, cells and
    error are by REML with systems as they are; that of systems is that of their weighted means less
    what the error of these explains. No limits are given.

    Parameters
    ----------
    scores
        :class:`Scores` by shard, shape (topics, systems, shards), of two topics and two systems
        at least, or what :func:`cranfield.compare` takes.
    missing
        What to do where cells have no scores: `error`, the default; `available` goes by those that
        there are; `drop` leaves out topics, `zero` counts 0.

    Returns
    -------
    Facets
        With the variance components, and coefficients for any numbers of topics and cells.

    Raises
    ------
    CranfieldError
        When scores are missing, infinite, too few or all equal, or no topic has two cells.
    PolicyError
        For scores that are not by shard.

    Notes
    -----
    Brennan (2001), Generalizability theory, chapters 3 and 4, design systems by (cells in topics);
    for query variations Culpepper et al. (2022); Patterson and Thompson (1971).

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:10], covid.qrels, "nDCG@20", shards=3)
    >>> found = facets(ev["nDCG@20"])
    >>> round(found.relative(), 3), round(found.relative(topics=100, cells=1), 3)
    (0.904, 0.92)
    """
    given = as_scores(scores)
    if not given.shards:
        raise PolicyError("facets need scores by shard, or by query variation")
    ready = prepared(given, find_test("random-topics").info, missing)
    values = ready.scores.values
    table, model = random_topics(values)
    if not table.components:
        raise CranfieldError("no topic has scores in two shards: nothing tells them from the error")
    apart = model.means - model.means.mean()
    number = float(model.counts[0])
    of_systems = float(apart @ apart) / (apart.size - 1) - model.error / number
    topic, both, cell, error = table.components.values()
    variances = np.array([max(0.0, of_systems), topic, both, cell, error])
    if not variances.any():
        raise CranfieldError("all scores are equal: there is no variance to split")
    return Facets(
        measure=ready.scores.measure,
        systems=values.shape[1],
        topics=int(number),
        cells=int((~np.isnan(values)).any(axis=1).sum()),
        components=pl.DataFrame(
            {"source": SOURCES, "variance": variances, "share": variances / variances.sum()}
        ),
        notes=ready.notes,
    )
