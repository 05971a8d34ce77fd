"""Generalizability theory: variance components of scores by one or two facets."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass
from itertools import product
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import chdtri, fdtri

from cranfield.base.errors import CranfieldError, PolicyError, check_integer, check_list
from cranfield.base.kinds import UnitInterval
from cranfield.base.text import format_prefix, inflect
from cranfield.meta.study import MEASURE_COLUMN, Study, format_percent
from cranfield.result import Column, Columns
from cranfield.significance.models.random_topics import fit_random_topics
from cranfield.significance.prepare import as_scores, prepare_scores
from cranfield.significance.registry import find_test

SIZES = (5, 10, 20, 25, 50, 75, 100, 150, 200, 300, 500)
"""Default numbers of topics, besides the number in the scores."""

_COEFFICIENTS = {
    "relative": Column(
        "Generalizability coefficient: reliability of differences and orders of systems; NaN if all"
        " systems have the same scores.",
        decimals=3,
    ),
    "absolute": Column("Index of dependability: reliability of mean scores.", decimals=3),
}


@dataclass(frozen=True)
class Reliability:
    """A coefficient from 0 to 1, with its confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class RequiredTopics:
    """Smallest number of topics for which a coefficient reaches a target; None if impossible.

    `n_topics` follows from the estimate of the coefficient, `low` from its upper confidence bound
    and `high` from its lower confidence bound.
    """

    target: float
    n_topics: int | None
    low: int | None
    high: int | None


class Generalizability(Study):
    r"""Variance components of scores, and coefficients of generalizability.

    Attributes
    ----------
    measure, n_systems, n_topics
        Text form of the measure, number m of systems, and number n of topics.
    components
        The table `variance`, without the column `measure`.
    notes
        Notes on topics or scores that were excluded or imputed, and on estimates set to 0.
    """

    name = "generalizability"
    reference: ClassVar[str] = (
        "Brennan (2001); Bodoff and Li (2007); Feldt (1965);"
        " Arteaga, Jeyaratnam and Franklin (1982)"
    )
    table_attributes: ClassVar[Sequence[str]] = ("components", "coefficients", "_tabulate_topics")
    titles: ClassVar[Mapping[str, str]] = {
        "variance": "Components of the variance of scores",
        "coefficients": "Generalizability coefficient (relative) and index of dependability"
        " (absolute) by number of topics",
        "topics needed": "Numbers of topics needed for a coefficient",
    }
    columns: ClassVar[Mapping[str, Columns]] = {
        "variance": {
            **MEASURE_COLUMN,
            "source": Column("Source of variance: system, topic, or their interaction.", key=True),
            "df": Column("Degrees of freedom."),
            "mean square": Column("Mean square.", decimals=5, display=False),
            "variance": Column("Variance component, at least 0.", decimals=5),
            "proportion": Column("Proportion of the sum of the variance components.", decimals=3),
            "estimate": Column(
                "Estimate of the variance; it may be negative where the component is 0.",
                decimals=5,
                display=False,
            ),
        },
        "coefficients": {
            **MEASURE_COLUMN,
            "topics": Column("Number of topics.", key=True),
            "relative": _COEFFICIENTS["relative"],
            "relative low": Column("Lower confidence bound of `relative`.", decimals=3),
            "relative high": Column("Upper confidence bound of `relative`.", decimals=3),
            "absolute": _COEFFICIENTS["absolute"],
            "absolute low": Column("Lower confidence bound of `absolute`.", decimals=3),
            "absolute high": Column("Upper confidence bound of `absolute`.", decimals=3),
        },
        "topics needed": {
            **MEASURE_COLUMN,
            "coefficient": Column("`relative` or `absolute`.", key=True),
            "target": Column("Value that the coefficient must reach.", decimals=2, key=True),
            "topics": Column(
                "Smallest number of topics for which the coefficient reaches the target; null if no"
                " number suffices."
            ),
            "low": Column(
                "Number of topics needed if the coefficient equals its upper confidence bound; null"
                " if no number suffices."
            ),
            "high": Column(
                "Number of topics needed if the coefficient equals its lower confidence bound; null"
                " if no number suffices."
            ),
        },
    }

    components: pl.DataFrame

    def compute_relative(self, n_topics: int | None = None) -> Reliability:
        r"""Compute the generalizability coefficient for a number of topics.

        The coefficient measures how well differences and orders of systems generalise to other
        topics: it is the expected squared correlation of a system's mean with its mean over all
        possible topics.

        .. math:: E\rho^2(n) = \frac{\sigma^2_s}{\sigma^2_s + \sigma^2_{st} / n}

        The number n of topics is 1 or more; the default is the number in the scores. The interval
        is exact for normal effects: it follows from the F distribution of a ratio of mean squares.
        """
        return self._estimate(self._compute_ratios(is_absolute=False), n_topics)

    def compute_absolute(self, n_topics: int | None = None) -> Reliability:
        r"""Compute the index of dependability for a number of topics.

        The index measures how well the means themselves generalise to other topics, which may be
        easier or harder.

        .. math:: \Phi(n) = \frac{\sigma^2_s}{\sigma^2_s + (\sigma^2_t + \sigma^2_{st}) / n}

        The interval is approximate, even for normal effects; n is as for :meth:`compute_relative`.
        """
        return self._estimate(self._compute_ratios(is_absolute=True), n_topics)

    def find_required_topics(
        self, target: float = 0.95, *, is_absolute: bool = False
    ) -> RequiredTopics:
        """Compute the smallest number of topics for which a coefficient reaches a target.

        Parameters
        ----------
        target
            Coefficient to reach, above 0 and below 1.
        is_absolute
            Whether the index of dependability must reach the target instead of the relative
            coefficient.
        """
        UnitInterval().check("the target", target)
        odds = target / (1 - target)
        value, low, high = (
            # Do not round up numbers that are integers within rounding.
            max(1, math.ceil(odds / ratio * (1 - 1e-12))) if ratio > 0 else None
            for ratio in self._compute_ratios(is_absolute)
        )
        return RequiredTopics(float(target), n_topics=value, low=high, high=low)

    def coefficients(self, sizes: Iterable[int] | None = None) -> pl.DataFrame:
        """Compute both coefficients with their intervals by number of topics.

        Sizes are numbers of topics, 1 or more; by default several from 5 to 500, and the number in
        the scores.
        """
        check_list("sizes", sizes)
        parsed_sizes = sorted({*SIZES, self.n_topics}) if sizes is None else list(sizes)
        rows = [
            (size, *astuple(self.compute_relative(size)), *astuple(self.compute_absolute(size)))
            for size in parsed_sizes
        ]
        columns = [name for name in self.columns["coefficients"] if name != "measure"]
        return pl.DataFrame(rows, columns, orient="row")

    def _estimate(self, ratios: tuple[float, float, float], n_topics: int | None) -> Reliability:
        n = self.n_topics if n_topics is None else n_topics
        check_integer("n_topics", n, 1)
        return Reliability(*(1.0 if math.isinf(r) else n * r / (1 + n * r) for r in ratios))

    def _compute_ratios(self, is_absolute: bool) -> tuple[float, float, float]:
        """Return the ratio of system to error variance for one topic, with its bounds."""
        system, topic, interaction = self.components["variance"].to_list()
        error_variance = topic + interaction if is_absolute else interaction
        tail = (1 - self.confidence) / 2
        if error_variance <= 0 and system <= 0:
            return math.nan, math.nan, math.nan
        value = system / error_variance if error_variance > 0 else math.inf
        compute = self._compute_absolute_bound if is_absolute else self._compute_relative_bound
        return value, compute(tail), compute(1 - tail)

    def _compute_relative_bound(self, tail: float) -> float:
        ms_system, _, ms_error = self.components["mean square"].to_list()
        f_error = _invert_f(tail, self.n_systems - 1, (self.n_systems - 1) * (self.n_topics - 1))
        if ms_system <= f_error * ms_error:
            return 0.0
        # The product underflows if the coefficient rounds to 1; the ratio then has no bound.
        quotient = ms_system / ms_error / f_error if ms_error * f_error > 0 else math.inf
        return float((quotient - 1) / self.n_topics)

    def _compute_absolute_bound(self, tail: float) -> float:
        ms_system, ms_topic, ms_error = self.components["mean square"].to_list()
        m, n = self.n_systems, self.n_topics
        chi_squared = float(chdtri(m - 1, tail)) / (m - 1)
        f_error = _invert_f(tail, m - 1, (m - 1) * (n - 1))
        f_topics = _invert_f(tail, m - 1, n - 1)
        if ms_system <= f_error * ms_error:
            return 0.0
        numerator = (ms_system - f_error * ms_error) * (
            ms_system + (f_error - chi_squared) * ms_error
        )
        denominator = ms_system * ((m - 1) * chi_squared * ms_error + f_topics * ms_topic)
        return max(0.0, m * numerator / (n * denominator)) if denominator > 0 else math.inf

    @property
    def verdict(self) -> tuple[str, ...]:
        needed = self.find_required_topics(self.target)
        if needed.n_topics is None:
            return ()
        bounds = (needed.low, needed.high)
        low, high = ("infinity" if bound is None else f"{bound:,}" for bound in bounds)
        comparison = "enough" if needed.n_topics <= self.n_topics else "too few"
        return (
            f"{format_prefix(self.measure)}{inflect(needed.n_topics, 'topic')} "
            f"({100 * self.confidence:g}% confidence interval {low} to {high}) are needed for a"
            f" generalizability coefficient of {needed.target:g}; the {self.n_topics:,} topics of"
            f" the scores are {comparison}.",
        )

    def heading(self) -> list[str]:
        return [
            f"{format_prefix(self.measure)}{inflect(self.n_systems, 'system')},"
            f" {inflect(self.n_topics, 'topic')}; generalizability coefficient (relative)"
            f" {self.compute_relative().value:.4f}, index of dependability (absolute)"
            f" {self.compute_absolute().value:.4f}",
            f"low, high: {100 * self.confidence:g}% confidence intervals",
        ]

    def _tabulate_topics(self) -> pl.DataFrame:
        """Return the numbers of topics needed for the target."""
        rows = [
            (name, *astuple(self.find_required_topics(self.target, is_absolute=absolute)))
            for name, absolute in (("relative", False), ("absolute", True))
        ]
        integers = dict.fromkeys(("topics", "low", "high"), pl.Int64)
        schema = {"coefficient": pl.String, "target": pl.Float64, **integers}
        return pl.DataFrame(rows, schema, orient="row")


def _invert_f(probability: float, df1: int, df2: int) -> float:
    """Return the value that F exceeds with a probability."""
    return float(fdtri(df1, df2, 1 - probability))


EFFECTS = {
    "system": "differences between systems that are the same on all topics",
    "topic": "differences between topics that are the same for all systems",
    "system:topic": "systems that are good on different topics",
    "topic:cell": "differences between cells of a topic that are the same for all systems",
    "error": "the residual error, including interactions of systems and cells",
}
"""Sources of variance, with descriptions; a cell is a shard or a query variation of one topic."""

TOPICS = (10, 25, 50, 100, 200)
CELLS = (1, 2, 3, 5, 10)
"""Default numbers of topics, and of cells per topic."""


class Facets(Study):
    """Variance components of scores by topic and cell (shard or query variation).

    Attributes
    ----------
    measure, n_systems, n_topics, n_cells
        Text form of the measure, and numbers of systems, topics, and cells over all topics.
    components
        The table `variance`, without the column `measure`.
    notes
        Notes on topics or scores that were excluded or imputed.
    """

    name = "facets"
    reference: ClassVar[str] = (
        "Brennan (2001); Patterson and Thompson (1971); Culpepper et al. (2022)"
    )
    table_attributes: ClassVar[Sequence[str]] = ("components", "coefficients")
    columns: ClassVar[Mapping[str, Columns]] = {
        "variance": {
            **MEASURE_COLUMN,
            "source": Column("Source of variance.", key=True),
            "variance": Column("Variance component, at least 0.", decimals=5),
            "proportion": Column("Proportion of the sum of the variance components.", decimals=3),
        },
        "coefficients": {
            **MEASURE_COLUMN,
            "topics": Column("Number of topics.", key=True),
            "cells": Column(
                "Number of cells (shards or query variations) of each topic.", key=True
            ),
            **_COEFFICIENTS,
        },
    }

    components: pl.DataFrame

    def compute_relative(self, n_topics: int | None = None, n_cells: int | None = None) -> float:
        r"""Compute the generalizability coefficient for numbers of topics and cells per topic.

        The coefficient is the expected squared correlation of a system's mean with its mean over
        all possible topics and cells, and applies to differences and orders of systems.

        .. math:: E\rho^2 = \frac{\sigma^2_s}{\sigma^2_s + \sigma^2_{st} / n
            + \sigma^2_e / (n k)}

        The numbers n of topics and k of cells per topic are 1 or more; the defaults are the number
        of topics in the scores, and their mean number of cells.
        """
        return self._estimate(n_topics, n_cells, is_absolute=False)

    def compute_absolute(self, n_topics: int | None = None, n_cells: int | None = None) -> float:
        r"""Compute the index of dependability of means; arguments as for :meth:`compute_relative`.

        .. math:: \Phi = \frac{\sigma^2_s}{\sigma^2_s + (\sigma^2_t + \sigma^2_{st}) / n
            + (\sigma^2_{tk} + \sigma^2_e) / (n k)}
        """
        return self._estimate(n_topics, n_cells, is_absolute=True)

    def coefficients(
        self, topics: Iterable[int] = TOPICS, cells: Iterable[int] = CELLS
    ) -> pl.DataFrame:
        """Compute both coefficients for combinations of numbers of topics and cells per topic."""
        check_list("topics", topics)
        check_list("cells", cells)
        pairs = product(topics, cells)
        rows = [(n, k, self.compute_relative(n, k), self.compute_absolute(n, k)) for n, k in pairs]
        return pl.DataFrame(rows, ["topics", "cells", *_COEFFICIENTS], orient="row")

    def _estimate(self, n_topics: int | None, n_cells: int | None, *, is_absolute: bool) -> float:
        for name, value in (("n_topics", n_topics), ("n_cells", n_cells)):
            if value is not None:
                check_integer(name, value, 1)
        n = self.n_topics if n_topics is None else int(n_topics)
        k = self.n_cells / self.n_topics if n_cells is None else int(n_cells)
        system, topic, interaction, cell, error = self.components["variance"]
        noise = interaction / n + error / (n * k) + is_absolute * (topic / n + cell / (n * k))
        return float(system / (system + noise)) if system + noise > 0 else math.nan

    @property
    def verdict(self) -> tuple[str, ...]:
        proportions = dict(self.components.select("source", "proportion").iter_rows())
        source = max(proportions, key=proportions.__getitem__)
        return (
            f"{format_prefix(self.measure)}the largest part of the variance of scores,"
            f" {format_percent(proportions[source])}, comes from {EFFECTS[source]};"
            f" {format_percent(proportions['system'])} comes from differences between systems.",
            f"With {inflect(self.n_topics, 'topic')} of {self.n_cells / self.n_topics:.3g} cells"
            " each (shards or query variations), the generalizability coefficient of differences is"
            f" {self.compute_relative():.2f} (1 if they are equal on all topics and cells), and the"
            f" index of dependability of means is {self.compute_absolute():.2f}.",
            "These are estimates without confidence intervals; systems, topics and cells are"
            " assumed to be drawn at random.",
        )

    def heading(self) -> list[str]:
        return [
            f"{format_prefix(self.measure)}{inflect(self.n_systems, 'system')},"
            f" {inflect(self.n_topics, 'topic')}, {inflect(self.n_cells, 'cell')}; generalizability"
            f" coefficient (relative) {self.compute_relative():.4f}, index of dependability"
            f" (absolute) {self.compute_absolute():.4f}"
        ]


def facets(scores: Any, *, missing: str | None = None) -> Facets:
    r"""Estimate variance components of scores by shard, or by variation of each topic's query.

    All effects are assumed to be random: systems, topics, and cells within topics, which are shards
    or query variations.

    .. math:: x_{tsk} = \mu + \nu_s + \nu_t + \nu_{st} + \nu_{tk} + \nu_{stk}

    For complete scores the estimates follow from mean squares; if they are not negative, they are
    equal to estimates by restricted maximum likelihood (REML). With missing scores the variances of
    topics, cells and error are REML estimates with fixed effects of systems, and the variance of
    systems is that of their generalised least squares means, minus the error variance of a mean.
    Confidence intervals are not computed.

    Parameters
    ----------
    scores
        Scores by shard, shape (topics, systems, shards), as for :func:`cranfield.compare`, of at
        least two topics and two systems.
    missing
        How to treat missing scores: `error` (default), `available` (exclude cells without a score
        of any system), `drop` (exclude topics) or `zero` (count missing scores as 0).

    Returns
    -------
    Facets
        Variance components, and coefficients for any numbers of topics and cells.

    Raises
    ------
    CranfieldError
        If scores are missing, infinite, too few or all equal, or no topic has two cells.
    PolicyError
        For scores without shards.

    Notes
    -----
    Source: Brennan (2001), Generalizability theory, chapters 3 and 4, design systems by (cells in
    topics); Culpepper et al. (2022) for query variations; Patterson and Thompson (1971) for REML.

    Examples
    --------
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:10], covid.qrels, "nDCG@20", shards=3)
    >>> study = facets(ev["nDCG@20"])
    >>> round(study.compute_relative(), 3), round(study.compute_relative(100, n_cells=1), 3)
    (0.904, 0.92)
    """
    shard_scores = as_scores(scores)
    if not shard_scores.shards:
        raise PolicyError("expected scores by shard or by query variation, got scores by topic")
    complete_scores = prepare_scores(shard_scores, find_test("random-topics").info, missing)
    values = complete_scores.scores.values
    table, model = fit_random_topics(values)
    if not table.components:
        raise CranfieldError(
            "expected a topic with scores in two shards or query variations, got none"
        )
    deviations = model.means - model.means.mean()
    n_topics = float(model.counts[0])
    mean_square = float(deviations @ deviations) / (deviations.size - 1)
    system_variance = mean_square - model.error_variance / n_topics
    topic, interaction, cell, error = table.components.values()
    variances = np.array([max(0.0, system_variance), topic, interaction, cell, error])
    if not variances.any():
        raise CranfieldError("variance components require different scores, got equal scores")
    proportions = variances / variances.sum()
    return Facets(
        {"missing": missing},
        measure=complete_scores.scores.measure,
        n_systems=values.shape[1],
        n_topics=int(n_topics),
        n_cells=int((~np.isnan(values)).any(axis=1).sum()),
        components=pl.DataFrame(
            {"source": list(EFFECTS), "variance": variances, "proportion": proportions}
        ),
        notes=complete_scores.notes,
    )
