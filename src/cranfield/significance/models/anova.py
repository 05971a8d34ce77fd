"""Analysis of variance with one, two or three factors, on scores or on their ranks.

A topic without relevant documents in a shard has no score there, for any system. Every system thus
has the same cells (topic, shard), and the model separates into two orthogonal parts: the means over
systems, with topic, shard and their interaction; and the deviations of each system from them, with
additive effects of topic and shard. All systems share the design of one least squares problem.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import chdtrc

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import CranfieldError
from cranfield.base.scale_types import Scale
from cranfield.significance.differences import (
    ROUNDING,
    Outcome,
    Pairs,
    SystemModel,
    compute_group_means,
    make_t_outcome,
    rank_all,
    rank_rows,
)
from cranfield.significance.models.anova_table import AnovaTable, compute_sphericity, make_table
from cranfield.significance.registry import TestOptions, register_test

FACTORS = ("Topic", "System", "Shard")  # names of the axes of scores


def fit_factorial(
    values: Floats, *terms: str, factors_of_axes: Sequence[str] = FACTORS
) -> AnovaTable:
    """Fit a factorial ANOVA to complete scores.

    `terms` are factors such as `Topic` and interactions such as `Topic:System`, lower-order terms
    first. Without the term `Shard`, `Topic:Shard` means shards nested in topics.
    """
    fitted = grand_mean = values.mean(keepdims=True)
    effects: dict[str, Floats] = {}
    ss_and_df: dict[str, tuple[float, float]] = {}
    means: dict[str, Floats] = {}
    for term in terms:
        names = term.split(":")
        axes = tuple(k for k in range(values.ndim) if factors_of_axes[k] not in names)
        cell_means = values.mean(axis=axes, keepdims=True)
        subterms = [subterm for subterm in effects if set(subterm.split(":")) < set(names)]
        effect = cell_means - grand_mean - sum(effects[subterm] for subterm in subterms)
        df = cell_means.size - 1.0 - sum(ss_and_df[subterm][1] for subterm in subterms)
        effects[term] = effect
        ss_and_df[term] = values.size / effect.size * float((effect**2).sum()), df
        fitted = fitted + effect
        if len(names) == 1:
            means[term] = cell_means.ravel()
    fitted = np.broadcast_to(fitted, values.shape)
    names_of_terms = (term.lower() if factors_of_axes is FACTORS else term for term in terms)
    df_error = values.size - 1.0 - math.fsum(df for _, df in ss_and_df.values())
    return make_table(
        f"score ~ {' + '.join(names_of_terms)}",
        ss_and_df,
        (float(((values - fitted) ** 2).sum()), df_error),
        values=values,
        fitted=fitted,
        means=means,
    )


def fit_three_way_with_missing_cells(values: Floats) -> tuple[AnovaTable, int]:
    """Fit a three-way ANOVA to scores with missing cells, by type II sums of squares.

    Also return the number of cells with scores.
    """
    topic_of_cell, shard_of_cell = find_scored_cells(values)
    n_systems = values.shape[1]
    cells = values[topic_of_cell, :, shard_of_cell]
    cell_means = cells.mean(axis=1)
    deviations = cells - cell_means[:, None]
    columns = np.concatenate([cell_means[:, None], deviations], axis=1)
    fit, rank = _fit_additive(columns, topic_of_cell, shard_of_cell)
    fits = _fit_means(columns, topic_of_cell), _fit_means(columns, shard_of_cell), fit
    ss_within_topic, ss_within_shard, ss_error = (((columns - f) ** 2).sum(axis=0) for f in fits)
    ss_topic, ss_shard = ss_within_shard - ss_error, ss_within_topic - ss_error
    df_system = n_systems - 1.0
    df_topic = rank - np.unique(shard_of_cell).size
    df_shard = rank - np.unique(topic_of_cell).size
    df_error = df_system * (len(cells) - rank)
    if df_error <= 0:
        raise CranfieldError(
            "three-way ANOVA requires more than 0 error degrees of freedom, got 0: too few topics"
            " have scores on several shards"
        )
    system_means = cells.mean(axis=0)
    ss_system = len(cells) * float(((system_means - cell_means.mean()) ** 2).sum())
    fitted = np.full(values.shape, np.nan)
    fitted[topic_of_cell, :, shard_of_cell] = cell_means[:, None] + fit[:, 1:]
    table = make_table(
        "score ~ topic + system + shard + topic:system + topic:shard + system:shard",
        {
            "Topic": (n_systems * ss_topic[0], df_topic),
            "System": (ss_system, df_system),
            "Shard": (n_systems * ss_shard[0], df_shard),
            "Topic:System": (float(ss_topic[1:].sum()), df_system * df_topic),
            "Topic:Shard": (n_systems * ss_error[0], len(cells) - rank),
            "System:Shard": (float(ss_shard[1:].sum()), df_system * df_shard),
        },
        (float(ss_error[1:].sum()), df_error),
        values=values,
        fitted=fitted,
        means={
            "Topic": _average_by_label(cell_means, topic_of_cell, values.shape[0]),
            "System": system_means,
            "Shard": _average_by_label(cell_means, shard_of_cell, values.shape[2]),
        },
    )
    return table, len(cells)


def find_scored_cells(values: Floats) -> tuple[Indices, Indices]:
    """Return the indices of topic and shard of each cell with scores of all systems."""
    is_missing = np.isnan(values)
    if (is_missing.any(axis=1) != is_missing.all(axis=1)).any():
        raise CranfieldError(
            "expected scores of all systems or of none on each topic and shard, got scores of some"
        )
    topic_of_cell, shard_of_cell = np.nonzero(~is_missing.any(axis=1))
    return topic_of_cell, shard_of_cell


def _average_by_label(values: Floats, labels: Indices, n_labels: int) -> Floats:
    """Return the mean by label; NaN for a label without values."""
    count = np.bincount(labels, minlength=n_labels)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.bincount(labels, values, minlength=n_labels) / count)


def _fit_means(columns: Floats, labels: Indices) -> Floats:
    """Return the mean of the group of each row, by column."""
    group, _, means = compute_group_means(columns, labels)
    return means[group]


def _fit_additive(
    columns: Floats, topic_of_row: Indices, shard_of_row: Indices
) -> tuple[Floats, float]:
    """Fit each column by topic + shard; return the fit and the rank of the design."""
    # After elimination of the topics, the design has only one column for each shard.
    dummies = (shard_of_row[:, None] == np.unique(shard_of_row)).astype(np.float64)
    design = dummies - _fit_means(dummies, topic_of_row)
    means = _fit_means(columns, topic_of_row)
    # An orthonormal basis of the design is cheaper than a least squares solution for each column.
    basis, singular_values, _ = np.linalg.svd(design, full_matrices=False)
    basis = basis[:, singular_values > 1e-10 * singular_values[0]]
    rank = float(basis.shape[1] + np.unique(topic_of_row).size)
    return means + basis @ (basis.T @ (columns - means)), rank


def compare_by_model(
    model: SystemModel, pairs: Pairs, options: TestOptions, *, is_paired: bool, **results: Any
) -> Outcome:
    """Compare pairs by the t of a model; `is_paired`: all systems have the same topics."""
    difference, standard_errors = model.subtract(pairs), model.estimate_errors(pairs)
    unit = np.sqrt(np.full(len(pairs), model.error_variance))
    if is_paired:
        _, deviation, n_zeros = pairs.compute_moments()
        results |= {"n": np.full(len(pairs), pairs.n_topics), "n_zeros": n_zeros}
        # The effect size of paired means does not depend on the other systems.
        unit = deviation if model.location == "mean" else unit
    else:
        counts = (~np.isnan(pairs.values)).sum(axis=0)
        results["n"] = counts[pairs.first] + counts[pairs.second]
    results["model"] = model
    return make_t_outcome(
        difference, standard_errors, model.df, options.alternative, unit, **results
    )


def fit_one_way(values: Floats) -> tuple[AnovaTable, SystemModel]:
    """Fit a one-way ANOVA to scores of shape (topics, systems); NaN marks a missing score."""
    counts = (~np.isnan(values)).sum(axis=0).astype(np.float64)
    n_scores, n_systems = counts.sum(), values.shape[1]
    if n_scores <= n_systems:
        raise CranfieldError("one-way ANOVA requires a system with at least two scores, got none")
    means = np.nanmean(values, axis=0)
    grand_mean = np.nanmean(values)
    fitted = np.broadcast_to(means, values.shape)
    table = make_table(
        "score ~ system",
        {"System": (float((counts * (means - grand_mean) ** 2).sum()), n_systems - 1.0)},
        (float(np.nansum((values - fitted) ** 2)), float(n_scores - n_systems)),
        values=values,
        fitted=fitted,
        means={"System": means},
    )
    return table, SystemModel(means, table.ms_error, counts, table.df_error)


def fit_two_way(values: Floats) -> tuple[AnovaTable, SystemModel]:
    """Fit a two-way ANOVA to complete scores of at least two topics and systems."""
    n_topics, n_systems = values.shape
    if n_topics < 2:
        raise CranfieldError(f"two-way ANOVA requires at least two topics, got {n_topics}")
    table = fit_factorial(values, "Topic", "System")
    table = replace(table, sphericity=compute_sphericity(values, table.get_f("System")[0]))
    counts = np.full(n_systems, float(n_topics))
    return table, SystemModel(table.means["System"], table.ms_error, counts, table.df_error)


def fit_two_way_model(values: Floats) -> SystemModel:
    """Fit the model of topics and systems without the slower computation of its table."""
    n_topics, n_systems = values.shape
    system_means = values.mean(axis=0)
    fitted = values.mean(axis=1)[:, None] + (system_means - float(values.mean()))
    df = (n_topics - 1.0) * (n_systems - 1)
    ss_error = float(((values - fitted) ** 2).sum())
    # Sums of squares within rounding error are 0, as in the table.
    ms_error = ss_error / df if ss_error > 1e-24 * float((values**2).sum()) else 0.0
    return SystemModel(system_means, ms_error, np.full(n_systems, float(n_topics)), df)


def fit_three_way(values: Floats) -> tuple[AnovaTable, SystemModel]:
    """Fit a three-way ANOVA to scores of shape (topics, systems, shards).

    A cell of topic and shard has scores of all systems, or is NaN for all.
    """
    if values.ndim != 3 or min(values.shape) < 2:
        raise CranfieldError(
            "three-way ANOVA requires at least two topics, systems and shards, got scores of shape"
            f" {values.shape}"
        )
    n_cells = values.shape[0] * values.shape[2]
    if np.isnan(values).any():
        table, n_cells = fit_three_way_with_missing_cells(values)
    else:
        interactions = ("Topic:System", "Topic:Shard", "System:Shard")
        table = fit_factorial(values, "Topic", "System", "Shard", *interactions)
    counts = np.full(values.shape[1], float(n_cells))
    return table, SystemModel(table.means["System"], table.ms_error, counts, table.df_error)


Analysis = Callable[[Floats], tuple[AnovaTable, SystemModel]]


def compare_by_analysis(
    analysis: Analysis, pairs: Pairs, options: TestOptions, *, is_paired: bool = True
) -> Outcome:
    """Compare pairs by the model of an analysis of variance."""
    table, model = analysis(pairs.scores)
    return compare_by_model(model, pairs, options, is_paired=is_paired, table=table)


def reject_all_pairs(analysis: Analysis, pairs: Pairs, options: TestOptions) -> Outcome:
    """Reject the null hypothesis for all pairs of systems with different means."""
    outcome = compare_by_analysis(analysis, pairs, options)
    return replace(outcome, pvalue=np.where(outcome.statistic == 0, 1.0, 0.0))


ANOVA: dict[str, Any] = {
    "family": "anova",
    "has_model": True,
    "correction": "tukey",
    "baseline_correction": "dunnett",
    "statistic": "t, or q with Tukey's HSD",
    "effect": "Cohen's d of the differences of the pair: their mean divided by their standard"
    " deviation",
    "interval": "difference of means",
}
"""Common declarations of analyses of variance."""

BOUND: dict[str, Any] = ANOVA | {
    "family": "bound",
    "null": "None: any difference counts.",
    "assumes": "Nothing.",
    "when": "Never to compare systems: an upper bound on the number of rejections, for studies of"
    " tests.",
    "formula": r"p = 0 \text{ if } \bar{x} \ne \bar{y}",
    "source": "Ferro and Sanderson (2022), section 3.1",
    "correction": "none",
    "baseline_correction": "none",
    "refusal": "it is an upper bound on the number of rejections, not a test",
}
"""Common declarations of upper bounds on the rejections of tests."""

ERROR_EFFECT: dict[str, Any] = {
    "effect": "mean difference divided by the standard deviation of the error of all systems",
    "effect_unit": "SD of error",
}
"""Declarations of tests with effect sizes in units of the error."""


@register_test(
    "anova-1",
    aliases=("md1", "anova-one-way"),
    fit=lambda values: fit_one_way(values)[1],
    is_paired=False,
    **(ANOVA | ERROR_EFFECT),
)
def one_way_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""One-way ANOVA.

    asks: Do the mean scores of the systems differ, whatever their topics?
    null: All systems have the same mean.
    assumes: All scores are independent, errors are normal, with one variance.
    when: Systems that were tested on different topics. On the same topics it treats the large
        differences between topics as noise, and has much less power than two-way ANOVA.
    formula: y_{ij} = \mu_{\cdot\cdot} + \alpha_j + \varepsilon_{ij}
    source: Ferro and Sanderson (2022), section 3.1; Ferrante, Ferro and Fuhr (2021), section 7.3
    convention: With two systems it is the two-sample t-test. Systems may have scores for
        different numbers of topics; Tukey's HSD is then the Tukey-Kramer test.
    """
    return compare_by_analysis(fit_one_way, pairs, options, is_paired=False)


@register_test(
    "anova-2",
    aliases=("anova", "md2", "anova-two-way"),
    fit=fit_two_way_model,
    error="two-way ANOVA error",
    is_additive=True,
    allows_unequal_variances=True,
    **ANOVA,
)
def two_way_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Two-way ANOVA.

    asks: Do the mean scores of the systems differ, after effects of topics?
    null: All systems have the same effect.
    assumes: Effects of topics and systems are additive; errors are independent and normal, with one
        variance, so that the differences of all pairs have equal variances (sphericity). Real
        systems violate this: if 15 to 129 systems have the covariances of real runs, the Type I
        error rate of the F-test of all systems is 10% to 26% at alpha .05. Use the p-value
        corrected by Greenhouse and Geisser, above the ANOVA table. Tukey's and Dunnett's tests make
        the same assumptions; Tukey's HSD bootstrapped over topics does not.
    when: Several systems on the same topics: the usual choice, with Tukey's HSD bootstrapped over
        topics.
    formula: Y_{ij} = \mu_{\cdot\cdot} + \tau_i + \alpha_j + \varepsilon_{ij}
    source: Ferro and Maistro (2024), equation 7; Tague-Sutcliffe and Blustein (1994)
    convention: With two systems it is the paired t-test. With more systems, F is corrected by
        Greenhouse and Geisser (1959) and by Huynh and Feldt (1976), as in the R package car;
        Lecoutre's correction (1991) changes nothing if all topics are one group.
    """
    return compare_by_analysis(fit_two_way, pairs, options)


@register_test("anova-2f", aliases=("md2f",), fit=fit_two_way_model, **BOUND)
def fake_two_way_test(pairs: Pairs, options: TestOptions) -> Outcome:
    """Fake two-way ANOVA (MD2f).

    asks: Do the mean scores differ at all?
    """
    return reject_all_pairs(fit_two_way, pairs, options)


@register_test(
    "anova-3f",
    aliases=("md3f",),
    fit=lambda values: fit_three_way(values)[1],
    shards="required",
    **BOUND,
)
def fake_three_way_test(pairs: Pairs, options: TestOptions) -> Outcome:
    """Fake three-way ANOVA (MD3f).

    asks: Do the mean scores over shards differ at all?
    """
    return reject_all_pairs(fit_three_way, pairs, options)


@dataclass(frozen=True)
class Omnibus:
    """Omnibus test: the null hypothesis is that no systems differ."""

    name: str
    statistic: float
    df: float
    pvalue: float
    effect: float  # effect size, from 0 to 1
    effect_name: str
    n_duplicates: int = 0  # scores that equal an earlier score of their ranking, within rounding


@register_test(
    "kruskal-wallis",
    aliases=("kruskal",),
    family="ranks",
    symbol="z",
    effect_unit="SD of ranks",
    scale=Scale.ORDINAL,
    is_paired=False,
    has_model=True,
    correction="tukey",
)
def kruskal_wallis_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Kruskal-Wallis test.

    asks: Do some systems tend to have higher scores than others, whatever their topics?
    null: The scores of all systems have the same distribution.
    assumes: All scores are independent: they are not paired.
    when: Several systems on different topics, on a scale that is only ordinal. On the same
        topics, use Friedman's test.
    formula: H = \frac{\frac{12}{N (N + 1)} \sum_j R_j^2 / n_j - 3 (N + 1)}{1 - \sum (t^3 - t) /
        (N^3 - N)}
    statistic: z of the mean ranks, or q with Tukey's HSD
    effect: difference of mean ranks divided by the standard deviation of a rank
    interval: difference of mean ranks
    source: Kruskal and Wallis (1952); Ferrante, Ferro and Fuhr (2021), section 7.3
    convention: Scores that are equal within rounding share their mid-rank. Pairs are compared
        on mean ranks, with the variance corrected for ties and infinite degrees of freedom.
    """
    scores = pairs.scores
    ranks, tie_term, n_tied = rank_all(scores)
    counts = (~np.isnan(scores)).sum(axis=0).astype(np.float64)
    n_scores = counts.sum()
    if n_scores <= scores.shape[1]:
        raise CranfieldError(
            "the Kruskal-Wallis test requires a system with at least two scores, got none"
        )
    means = np.nansum(ranks, axis=0) / counts
    variance = n_scores * (n_scores + 1) / 12 - tie_term / (12 * (n_scores - 1))
    ss_system = float((counts * (means - (n_scores + 1) / 2) ** 2).sum())
    h = ss_system / variance if variance > 0 else 0.0
    df = scores.shape[1] - 1.0
    p = float(chdtrc(df, h))
    omnibus = Omnibus("H", h, df, p, h / (n_scores - 1), "epsilon squared", n_tied)
    model = SystemModel(means, float(variance), counts, np.inf, "mean rank", n_scores + 1)
    return compare_by_model(model, pairs, options, is_paired=False, details={"omnibus": omnibus})


@register_test(
    "friedman",
    aliases=("nemenyi",),
    family="ranks",
    symbol="z",
    effect_unit="SD of ranks",
    scale=Scale.ORDINAL,
    has_model=True,
    is_within_topics=True,
    correction="tukey",
)
def friedman_test(pairs: Pairs, options: TestOptions) -> Outcome:
    r"""Friedman test.

    asks: Do some systems tend to rank above others, topic by topic?
    null: On each topic, all orders of the systems are equally likely.
    assumes: Topics are independent of each other. Corrections for pairwise comparisons control the
        error rate only if all systems are equal; if some differ, Type I errors for the other pairs
        may be more frequent.
    when: Several systems on the same topics, on a scale that is only ordinal: do they differ at
        all? It is not suited to pairs: mean ranks depend on the other systems, and so does the
        decision on a pair. For pairs, use the sign test or the signed-rank test with Holm's
        correction, which test medians (Benavoli, Corani and Mangili, 2016).
    formula: \chi^2 = \frac{n \sum_j (\bar{R}_j - (k + 1) / 2)^2}{s^2}, \quad s^2 = \frac{k (k +
        1)}{12} - \frac{\sum (t^3 - t)}{12 n (k - 1)}
    statistic: z of the mean ranks, or q with Tukey's HSD
    effect: difference of mean ranks divided by the standard deviation of a rank
    interval: difference of mean ranks
    source: Friedman (1937, 1939); Nemenyi (1963); Demšar (2006); Ferrante, Ferro and Fuhr (2021),
        section 7.3
    convention: Scores that are equal within rounding share their mid-rank. Pairs are compared
        on mean ranks, with the variance corrected for ties and infinite degrees of freedom;
        with Tukey's HSD, the default, this is Nemenyi's test.
    pairs_note: the decision on a pair depends on the other systems, and the error rate is
        controlled only if all systems are equal; the tests sign and signed-rank with the correction
        holm compare each pair separately
    """
    scores = pairs.scores
    n_topics, n_systems = scores.shape
    order = np.argsort(scores, axis=1, kind="stable")
    gap = np.full(n_topics, ROUNDING * np.abs(scores).max(initial=0.0))
    doubled_ranks, tie_terms = rank_rows(np.take_along_axis(scores, order, axis=1), gap)
    ranks = np.empty_like(scores)
    np.put_along_axis(ranks, order, doubled_ranks / 2, axis=1)
    means = ranks.mean(axis=0)
    variance = n_systems * (n_systems + 1) / 12
    variance -= tie_terms.sum() / (12 * n_topics * (n_systems - 1))
    ss_system = n_topics * float(((means - (n_systems + 1) / 2) ** 2).sum())
    variance = variance if variance > 1e-9 else 0.0
    chi2 = ss_system / variance if variance else 0.0
    df = n_systems - 1.0
    n_tied = int((np.diff(doubled_ranks, axis=1) == 0).sum())
    p = float(chdtrc(df, chi2))
    omnibus = Omnibus("chi-squared", chi2, df, p, chi2 / (n_topics * df), "Kendall's W", n_tied)
    counts = np.full(n_systems, float(n_topics))
    model = SystemModel(means, float(variance), counts, np.inf, "mean rank", n_systems + 1)
    return compare_by_model(model, pairs, options, is_paired=True, details={"omnibus": omnibus})
