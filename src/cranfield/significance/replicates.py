"""Replicates: several rankings or answers of each system for each topic, and tests of two designs.

With independent replicates, each topic and system has its own replicates, such as several answers
of a language model to a question. A shared replicate, such as a model trained with one seed,
answers all topics. The scores do not show which design applies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError, PolicyError
from cranfield.base.text import inflect
from cranfield.result import Column, Columns, TableResult
from cranfield.scores import Scores
from cranfield.scores.replicates import split_run_names
from cranfield.significance.differences import Outcome, Pairs, SystemModel
from cranfield.significance.models.anova import ANOVA, compare_by_analysis, fit_factorial
from cranfield.significance.models.anova_table import (
    AnovaTable,
    compute_f,
    compute_sphericity,
    make_table,
)
from cranfield.significance.prepare import as_scores, check_squarable
from cranfield.significance.registry import TestOptions, register_test


def group_replicates(scores: Any, replicates: Any = None) -> Scores:
    """Group runs that are replicates of a system, into scores by topic, system and replicate.

    Parameters
    ----------
    scores
        Scores of one measure, whose systems are runs; scores by replicate are returned unchanged.
    replicates
        The system and the replicate of each run: a file or data frame with the columns `run`,
        `system` and `replicate`. By default runs are named `SYSTEM@REPLICATE`, as `dense@seed1`.

    Returns
    -------
    Scores
        Shape (topics, systems, replicates), with the axis `replicate`; NaN where a system has fewer
        replicates than others.

    Raises
    ------
    InputError
        For a run that occurs twice in the table, or two runs of the same system and replicate.
    PolicyError
        For a run without a replicate, and for scores by shard, or by replicate with a table.

    Examples
    --------
    >>> runs = {"bm25@s1": [0.2, 0.4], "dense@s1": [0.5, 0.4], "dense@s2": [0.3, 0.6]}
    >>> scores = group_replicates(runs)
    >>> scores
    Scores(2 topics, 2 systems, 2 replicates)
    >>> scores.average_shards().values.tolist()
    [[0.2, 0.4], [0.4, 0.5]]
    """
    table = as_scores(scores)
    if table.axis == "replicate" and replicates is None:
        return table
    if table.shards:
        raise PolicyError(f"expected scores by topic and run, got scores also by {table.axis}")
    labels = split_run_names(table.systems, replicates)
    systems, shards = (tuple(dict.fromkeys(label[k] for label in labels)) for k in (0, 1))
    values = np.full((len(table.topics), len(systems), len(shards)), np.nan)
    for k, (system, replicate) in enumerate(labels):
        values[:, systems.index(system), shards.index(replicate)] = table.values[:, k]
    return replace(table, values=values, systems=systems, shards=shards, axis="replicate")


@dataclass(frozen=True, eq=False, repr=False)
class ReplicateSummary(TableResult):
    """Means and variances of systems with replicates; returned by :func:`summarise_replicates`.

    Attributes
    ----------
    measure
        The measure; empty if it is not known.
    n_topics
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
            " less than the variance of replicates explains. Null for one topic, or one replicate.",
            6,
        ),
        "within": Column(
            "Variance of the replicates of a topic, pooled over topics; null for one replicate.",
            6,
        ),
        "intraclass": Column(
            "Intraclass correlation of two replicates on one topic: the variance between topics, at"
            " least 0, as a proportion of the total variance; null if the total is 0 or null."
        ),
        "lowest": Column("Lowest mean of a replicate with a score for every topic, or null."),
        "highest": Column("Highest mean of a replicate with a score for every topic, or null."),
        "SD": Column(
            "Standard deviation of the mean scores of replicates with a score for every topic; null"
            " for fewer than two."
        ),
    }

    measure: str
    n_topics: int
    notes: tuple[str, ...] = ()

    def heading(self) -> list[str]:
        return [
            f"{self.measure or 'scores'} of {inflect(self.n_topics, 'topic')}, variances between"
            " topics and within topics (between replicates)"
        ]


def summarise_replicates(scores: Any, replicates: Any = None) -> ReplicateSummary:
    r"""Estimate the variance of each system's scores between topics and between replicates.

    For each system, the variances within and between topics and the intraclass correlation are

    .. math:: s_w^2 = \frac{\sum_i \sum_k (y_{ik} - \bar{y}_i)^2}{\sum_i (R_i - 1)}, \quad
        s_b^2 = \frac{\sum_i (\bar{y}_i - \bar{y})^2}{n - 1}
        - s_w^2 \, \frac1n \sum_i \frac{1}{R_i}, \quad
        \rho = \frac{s_b^2}{s_b^2 + s_w^2}

    with means :math:`\bar{y}_i` of the :math:`R_i` replicates of each topic i, and their mean
    :math:`\bar{y}` over n topics. In :math:`\rho` a negative :math:`s_b^2` counts as 0.

    Parameters
    ----------
    scores, replicates
        As for :func:`group_replicates`.

    Returns
    -------
    ReplicateSummary
        A row for each system.

    Raises
    ------
    CranfieldError
        If a system has no score on a topic, or an infinite score.
    InputError, PolicyError
        As for :func:`group_replicates`.

    Notes
    -----
    Source: Scheffé (1959), chapter 7, for the one-way random effects model of each system. The best
    and the median replicate give biased estimates of the expected score of a system; use the mean.

    Examples
    --------
    >>> runs = {"dense@s1": [0.5, 0.4, 0.1], "dense@s2": [0.4, 0.6, 0.1]}
    >>> print(summarise_replicates(runs))
    scores of 3 topics, variances between topics and within topics (between replicates)
    <BLANKLINE>
    system  replicates    mean  between topics    within  intraclass  lowest  highest      SD
    dense            2  0.3500        0.043333  0.008333      0.8387  0.3333   0.3667  0.0236
    """
    table = check_squarable(group_replicates(scores, replicates))
    table.average_shards().complete("error")
    rows, notes = [], []
    for k, name in enumerate(table.systems):
        row = _describe_system(table.values[:, k])
        rows.append({"measure": table.measure, "system": name, **row})
        if row["between topics"] < 0:
            notes.append(
                f"{name}: the estimated variance between topics is below 0; the intraclass"
                " correlation counts it as 0"
            )
        has_score = ~np.isnan(table.values[:, k])
        n_partial = int((has_score.any(axis=0) & ~has_score.all(axis=0)).sum())
        if n_partial:
            notes.append(
                f"{name}: lowest, highest and SD exclude {n_partial} of"
                f" {inflect(int(row['replicates']), 'replicate')}, which lack scores of some topics"
            )
        if row["within"] == 0:
            notes.append(f"{name}: on each topic, all replicates have the same score")
    frame = pl.DataFrame(rows).fill_nan(None)
    return ReplicateSummary(frame, table.measure, len(table.topics), tuple(notes))


def _describe_system(values: Floats) -> dict[str, float]:
    """Return the columns of a system, from its scores of shape (topics, replicates)."""
    values = values[:, ~np.isnan(values).all(axis=0)]
    has_score = ~np.isnan(values)
    counts = has_score.sum(axis=1)
    means = np.nanmean(values, axis=1)
    df = int((counts - 1).sum())
    # Equal replicates differ from their mean only by rounding.
    is_varying = np.nanmax(values, axis=1) > np.nanmin(values, axis=1)
    ss_within = np.nansum((values - means[:, None])[is_varying] ** 2)
    within_variance = float(ss_within) / df if df else np.nan
    variance_of_means = float(means.var(ddof=1)) if len(means) > 1 else np.nan
    between_variance = variance_of_means - within_variance * float((1 / counts).mean())
    total_variance = max(between_variance, 0.0) + within_variance
    replicate_means = values[:, has_score.all(axis=0)].mean(axis=0)
    return {
        "replicates": values.shape[1],
        "mean": float(means.mean()),
        "between topics": between_variance,
        "within": within_variance,
        "intraclass": max(between_variance, 0.0) / total_variance if total_variance > 0 else np.nan,
        "lowest": float(replicate_means.min()) if replicate_means.size else np.nan,
        "highest": float(replicate_means.max()) if replicate_means.size else np.nan,
        "SD": float(replicate_means.std(ddof=1)) if replicate_means.size > 1 else np.nan,
    }


REPLICATES: dict[str, Any] = ANOVA | {"axis": "replicate", "shards": "required"}
"""Declarations that the tests of replicates have in common."""


def fit_independent_replicates(values: Floats) -> tuple[AnovaTable, SystemModel]:
    """Fit the ANOVA with independent replicates to scores by topic, system and replicate.

    Cells may have fewer replicates than others (NaN). Cell means then have equal weights, and their
    sums of squares are multiplied by the harmonic mean of the numbers of replicates, so that
    expected mean squares equal those of the balanced design.
    """
    counts = (~np.isnan(values)).sum(axis=2).astype(np.float64)
    df_error = float((counts - 1).sum())
    if df_error == 0:
        raise CranfieldError(
            "independent-replicates requires several replicates of a system, got one of each;"
            " compare the systems with the test anova-2"
        )
    cell_means = np.nanmean(values, axis=2)
    n_topics, n_systems = cell_means.shape
    n_replicates = 1 / float((1 / counts).mean())
    cell_table = fit_factorial(cell_means, "Topic", "System")
    terms = ("Topic", "System", "Topic:System")
    ss_and_df = zip(n_replicates * cell_table.ss[:3], cell_table.df[:3], strict=True)
    fitted = np.where(np.isnan(values), np.nan, cell_means[:, :, None])
    table = make_table(
        "score ~ system + (1|topic) + (1|topic:system)",
        dict(zip(terms, ss_and_df, strict=True)),
        (float(np.nansum((values - fitted) ** 2)), df_error),
        values=values,
        fitted=fitted,
        means=cell_table.means,
    )
    ms_topic, ms_system, ms_cell, ms_error = table.ms[:4]
    df = cell_table.df_error
    table = table.with_f("System", compute_f(ms_system, ms_cell), df, n_topics * n_systems)
    table = table.with_f("Topic", compute_f(ms_topic, ms_cell), df, n_topics * n_systems)
    notes = ["denominator of F: Topic:System for Topic and System, Error for Topic:System"]
    if (counts != counts[0, 0]).any():
        notes.append(
            f"numbers of replicates differ, {counts.min():.0f} to {counts.max():.0f}: the mean of"
            " each topic and system has equal weight, and p-values are approximate"
        )
    table = replace(
        table,
        components={
            "Topic": (ms_topic - ms_cell) / (n_systems * n_replicates),
            "System": (ms_system - ms_cell) / (n_topics * n_replicates),
            "Topic:System": (ms_cell - ms_error) / n_replicates,
            "Replicate": ms_error,
        },
        sphericity=compute_sphericity(cell_means, table.get_f("System")[0]),
        notes=tuple(notes),
    )
    counts_by_system = np.full(n_systems, float(n_topics))
    return table, SystemModel(table.means["System"], ms_cell / n_replicates, counts_by_system, df)


def fit_shared_replicates(values: Floats) -> tuple[AnovaTable, SystemModel]:
    """Fit the ANOVA with shared replicates to scores by topic, system and replicate."""
    counts = (~np.isnan(values).all(axis=0)).sum(axis=1)
    if counts.max() < 2:
        raise CranfieldError(
            "shared-replicates requires several replicates of each system, got one of each; compare"
            " the systems with the test anova-2, which ignores the variation between replicates"
        )
    if counts.min() < counts.max():
        raise CranfieldError(
            "shared-replicates requires the same number of replicates of each system, got"
            f" {counts.min()} to {counts.max()}"
        )
    # Move the replicates of each system to the front, whatever their labels.
    order = np.argsort(np.isnan(values), axis=2, kind="stable")[:, :, : counts.max()]
    values = np.take_along_axis(values, order, axis=2)
    n_topics, n_systems, n_replicates = values.shape
    terms = ("Topic", "System", "Topic:System", "System:Replicate")
    table = fit_factorial(values, *terms, factors_of_axes=("Topic", "System", "Replicate"))
    ms_topic, ms_system, ms_cell, ms_replicate, ms_error = table.ms[:5]
    df = table.df[2:5]
    # The denominator of F, with degrees of freedom by Satterthwaite's formula.
    ms_denominator = ms_replicate + ms_cell - ms_error
    if abs(ms_denominator) <= 1e-12 * max(ms_replicate, ms_cell, ms_error):
        ms_denominator = 0.0
    squares_over_df = float((np.array([ms_cell, ms_replicate, ms_error]) ** 2 / df).sum())
    df_error = ms_denominator**2 / squares_over_df if squares_over_df else float(df[0])
    if ms_denominator < 0 or df_error < 1:
        raise CranfieldError(
            "shared-replicates cannot test these scores: the denominator of F is too small"
            f" ({ms_denominator:.2g}, with {df_error:.2g} degrees of freedom), as topics and"
            " replicates vary little more than the residuals"
        )
    f_system, f_topic = compute_f(ms_system, ms_denominator), compute_f(ms_topic, ms_cell)
    table = table.with_f("System", f_system, df_error, n_topics * n_systems)
    table = table.with_f("Topic", f_topic, df[0], n_topics * n_systems)
    table = replace(
        table,
        model="score ~ system + (1|topic) + (1|topic:system) + (1|system:replicate)",
        components={
            "Topic": (ms_topic - ms_cell) / (n_systems * n_replicates),
            "System": (ms_system - ms_denominator) / (n_topics * n_replicates),
            "Topic:System": (ms_cell - ms_error) / n_replicates,
            "System:Replicate": (ms_replicate - ms_error) / n_topics,
            "Error": ms_error,
        },
        notes=(
            "denominator of F: System:Replicate + Topic:System - Error for System,"
            f" {ms_denominator:.4g} with {df_error:.1f} degrees of freedom (Satterthwaite);"
            " Topic:System for Topic",
        ),
    )
    counts_by_system = np.full(n_systems, float(n_topics * n_replicates))
    return table, SystemModel(table.means["System"], ms_denominator, counts_by_system, df_error)


def compute_variance_proportions(components: Mapping[str, float]) -> dict[str, float]:
    """Return each variance as a proportion of their sum; negative estimates count as 0."""
    positive_variances = {name: max(0.0, variance) for name, variance in components.items()}
    divisor = sum(positive_variances.values()) or np.nan
    return {name: variance / divisor for name, variance in positive_variances.items()}


def _describe_variances(table: AnovaTable, component: str, reduction: float) -> tuple[str, ...]:
    """Return notes on the variance components, and on the variance reduction by more replicates."""
    if not table.ms_error and not table.components[component]:
        return ("all replicates of a system have the same scores: the systems are deterministic",)
    variances = compute_variance_proportions(table.components)
    proportions = ", ".join(f"{name} {variance:.1%}" for name, variance in variances.items())
    names = ", ".join(name for name, variance in table.components.items() if variance < 0)
    suffix = f" (estimate below 0, counted as 0: {names})" if names else ""
    return (
        f"proportions of the variance of one score: {proportions}{suffix}",
        f"more replicates would lower the variance of a difference by {min(1.0, reduction):.1%} at"
        " most; more topics lower the remaining variance",
    )


@register_test(
    "independent-replicates",
    fit=lambda values: fit_independent_replicates(values)[1],
    error="error of the two-way ANOVA of means over replicates",
    allows_unequal_variances=True,
    **REPLICATES,
)
def independent_replicates_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""ANOVA with independent replicates.

    asks: Do the mean scores of the systems differ, if each system has several rankings or answers
        for each topic?
    null: All systems have the same effect.
    assumes: Topics are a random sample of all topics; replicates of each topic and system are drawn
        independently; effects of topics, of topics by systems, and errors are independent and
        normal, each with one variance.
    when: Answers of a language model or rankings of a stochastic ranker that were sampled anew for
        each topic. For models that were trained several times, use shared-replicates.
    formula: y_{tsk} = \mu + \alpha_s + \tau_t + (\tau\alpha)_{ts} + \varepsilon_{tsk}, \quad F =
        \frac{\mathit{MS}_{System}}{\mathit{MS}_{Topic:System}}
    source: Scheffé (1959), chapter 8; Voorhees, Samarov and Soboroff (2017), for replicates by
        shards
    convention: The test is two-way ANOVA of the mean of each topic and system over its replicates,
        and with two systems the paired t-test of these means. Negative estimates of variances are
        reported unchanged. With unequal numbers of replicates all cell means have equal weights,
        and sums of squares use the harmonic mean of the numbers.
    """
    outcome = compare_by_analysis(fit_independent_replicates, pairs, options)
    table = outcome.table
    assert table is not None
    ms_cell, ms_error = table.ms[2:4]
    reduction = ms_error / ms_cell if ms_cell else 1.0
    return replace(
        outcome, notes=(*_describe_variances(table, "Replicate", reduction), *table.notes[1:])
    )


@register_test(
    "shared-replicates",
    fit=lambda values: fit_shared_replicates(values)[1],
    samples_topics=False,
    **REPLICATES,
)
def shared_replicates_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""ANOVA with shared replicates.

    asks: Do the mean scores of the systems differ by more than the variation between topics and
        between replicates, such as trainings or indexes, explains?
    null: All systems have the same effect.
    assumes: Topics, and replicates of each system, are random samples; effects of topics, of
        replicates, of topics by systems, and errors are independent and normal, each with one
        variance.
    when: Systems that were trained with several random seeds, or built several times, where each
        replicate answers all topics: results generalise to other topics and other seeds. For
        replicates that were drawn anew for each topic, use independent-replicates.
    formula: y_{tsk} = \mu + \alpha_s + \tau_t + (\tau\alpha)_{ts} + \beta_{k(s)} +
        \varepsilon_{tsk}, \quad F = \frac{\mathit{MS}_{System}}{\mathit{MS}_{System:Replicate} +
        \mathit{MS}_{Topic:System} - \mathit{MS}_{Error}}
    source: Scheffé (1959), chapter 8; Satterthwaite (1946)
    convention: F is approximate, with degrees of freedom of its denominator by Satterthwaite's
        formula. Corrections that resample topics are not supported, as they would ignore the
        variation between replicates. All systems must have the same number of replicates; negative
        estimates of variances are reported unchanged.
    """
    outcome = compare_by_analysis(fit_shared_replicates, pairs, options)
    table = outcome.table
    assert table is not None
    model = outcome.required_model
    reduction = table.ms[3] / model.error_variance if model.error_variance else 1.0
    return replace(outcome, notes=_describe_variances(table, "System:Replicate", reduction))
