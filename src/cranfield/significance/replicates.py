"""Scores of replicates: several rankings or answers of each system for each topic."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError
from cranfield.base.text import counted
from cranfield.result import Column, Columns, TableResult
from cranfield.scores import Scores
from cranfield.scores.replicates import replicate_labels
from cranfield.significance.prepare import as_scores, check_squarable


def by_replicate(scores: Any, replicates: Any = None) -> Scores:
    """Group runs that are replicates of a system: scores by topic, system and replicate.

    Parameters
    ----------
    scores
        Scores of one measure, whose systems are runs; scores by replicate are returned unchanged.
    replicates
        The system and the replicate of each run: a file or data frame with the columns `run`,
        `system` and `replicate`. By default runs are called `SYSTEM@REPLICATE`, such as
        `dense@seed1`.

    Returns
    -------
    Scores
        Shape (topics, systems, replicates), with the axis `replicate`; NaN where a system has fewer
        replicates than others.

    Raises
    ------
    InputError
        For a run that occurs twice or is not in the table, or two runs of one replicate.
    PolicyError
        For names without a replicate, or a table for scores by replicate or shard.

    Examples
    --------
    >>> runs = {"bm25@s1": [0.2, 0.4], "dense@s1": [0.5, 0.4], "dense@s2": [0.3, 0.6]}
    >>> scores = by_replicate(runs)
    >>> scores
    Scores(2 topics, 2 systems, 2 replicates)
    >>> scores.over_shards().values.tolist()
    [[0.2, 0.4], [0.4, 0.5]]
    """
    table = as_scores(scores)
    if table.axis == "replicate" and replicates is None:
        return table
    if table.shards:
        raise PolicyError(f"expected scores by topic and run, got scores by {table.axis}, too")
    labels = replicate_labels(table.systems, replicates)
    systems, names = (tuple(dict.fromkeys(label[k] for label in labels)) for k in (0, 1))
    values = np.full((len(table.topics), len(systems), len(names)), np.nan)
    for k, (system, name) in enumerate(labels):
        values[:, systems.index(system), names.index(name)] = table.values[:, k]
    return replace(table, values=values, systems=systems, shards=names, axis="replicate")


@dataclass(frozen=True, eq=False, repr=False)
class ReplicateSummary(TableResult):
    """Means and variances of systems with replicates; returned by :func:`summarise_replicates`.

    Attributes
    ----------
    measure
        The measure; empty if it is not known.
    topics
        Number of topics.
    notes
        Notes on negative estimates of variances, on replicates without a score for every topic,
        and on systems whose replicates do not differ.
    """

    name: ClassVar[str] = "replicates"
    columns: ClassVar[Columns] = {
        "measure": Column("Measure.", key=True),
        "system": Column("System.", key=True),
        "replicates": Column("Number of replicates.", 0),
        "mean": Column("Mean over topics of the mean of each topic over its replicates."),
        "between topics": Column(
            "Estimated variance of the expected scores of topics; negative if topic means vary"
            " less than the variance of replicates explains. Null for one topic.",
            6,
        ),
        "within": Column(
            "Variance of the replicates of a topic, on average over topics; null for one"
            " replicate.",
            6,
        ),
        "intraclass": Column(
            "Intraclass correlation of two replicates on one topic: the variance between topics, at"
            " least 0, as a proportion of the total variance."
        ),
        "lowest": Column("Lowest mean score of a replicate with a score for every topic."),
        "highest": Column("Highest mean score of a replicate with a score for every topic."),
        "SD": Column(
            "Standard deviation of the mean scores of replicates with a score for every topic; null"
            " for fewer than two."
        ),
    }

    measure: str
    topics: int
    notes: tuple[str, ...] = ()

    def heading(self) -> list[str]:
        return [
            f"{self.measure or 'scores'} of {counted(self.topics, 'topic')}, variances between"
            " topics and within topics (between replicates)"
        ]


def summarise_replicates(scores: Any, replicates: Any = None) -> ReplicateSummary:
    r"""Estimate the variance of each system's scores between topics and between replicates.

    With the mean :math:`\bar{y}_i` of :math:`R_i` replicates of topic i of n, for each system,

    .. math:: s_w^2 = \frac{\sum_i \sum_k (y_{ik} - \bar{y}_i)^2}{\sum_i (R_i - 1)}, \quad
        s_b^2 = \frac{\sum_i (\bar{y}_i - \bar{y})^2}{n - 1}
        - s_w^2 \, \frac1n \sum_i \frac{1}{R_i}, \quad
        \rho = \frac{s_b^2}{s_b^2 + s_w^2}

    Parameters
    ----------
    scores, replicates
        As for :func:`by_replicate`.

    Returns
    -------
    ReplicateSummary
        A row for each system.

    Raises
    ------
    CranfieldError
        If a system has no score on a topic.

    Notes
    -----
    Analysis of variance with one random factor, for each system alone (Scheffé, 1959, chapter 7).
    The score of the best replicate is a biased estimate of the expected score of a system, and so
    is the median; use the mean.

    Examples
    --------
    >>> runs = {"dense@s1": [0.5, 0.4, 0.1], "dense@s2": [0.4, 0.6, 0.1]}
    >>> print(summarise_replicates(runs))
    scores of 3 topics, variances between topics and within topics (between replicates)
    <BLANKLINE>
    system  replicates    mean  between topics    within  intraclass  lowest  highest      SD
    dense            2  0.3500        0.043333  0.008333      0.8387  0.3333   0.3667  0.0236
    """
    table = check_squarable(by_replicate(scores, replicates))
    table.over_shards().complete("error")
    rows, notes = [], []
    for k, name in enumerate(table.systems):
        row = _describe(table.values[:, k])
        rows.append({"measure": table.measure, "system": name, **row})
        if row["between topics"] < 0:
            notes.append(
                f"{name}: the estimated variance between topics is below 0, counted as 0 in the"
                " intraclass correlation"
            )
        has_score = ~np.isnan(table.values[:, k])
        n_partial = int((has_score.any(axis=0) & ~has_score.all(axis=0)).sum())
        if n_partial:
            notes.append(
                f"{name}: {n_partial} of {counted(int(row['replicates']), 'replicate')} without a"
                " score for every topic, not used in lowest, highest and SD"
            )
        if row["within"] == 0:
            notes.append(f"{name}: all replicates have the same scores")
    frame = pl.DataFrame(rows).fill_nan(None)
    return ReplicateSummary(frame, table.measure, len(table.topics), tuple(notes))


def _describe(values: Floats) -> dict[str, float]:
    """Describe the scores of a system, shape (topics, replicates)."""
    values = values[:, ~np.isnan(values).all(axis=0)]
    has_score = ~np.isnan(values)
    counts = has_score.sum(axis=1)
    means = np.nanmean(values, axis=1)
    df = int((counts - 1).sum())
    # Equal replicates differ from their mean only by rounding.
    differs = np.nanmax(values, axis=1) > np.nanmin(values, axis=1)
    squares = np.nansum((values - means[:, None])[differs] ** 2)
    within = float(squares) / df if df else np.nan
    variance = float(means.var(ddof=1)) if len(means) > 1 else np.nan
    between = variance - within * float((1 / counts).mean())
    total = max(between, 0.0) + within
    complete = values[:, has_score.all(axis=0)].mean(axis=0)
    return {
        "replicates": values.shape[1],
        "mean": float(means.mean()),
        "between topics": between,
        "within": within,
        "intraclass": max(between, 0.0) / total if total > 0 else np.nan,
        "lowest": float(complete.min()) if complete.size else np.nan,
        "highest": float(complete.max()) if complete.size else np.nan,
        "SD": float(complete.std(ddof=1)) if complete.size > 1 else np.nan,
    }
