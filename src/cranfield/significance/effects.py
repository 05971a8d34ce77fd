"""Effect sizes with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import chndtr, ndtr, ndtri, poch

from cranfield.base.arrays import Floats, Indices, slice_rows
from cranfield.base.errors import PolicyError, check_proportion
from cranfield.base.spec import Registry
from cranfield.base.text import format_prefix, inflect
from cranfield.result import Column, Columns, TableResult, declare_bounds
from cranfield.significance.corrections.studentised import MAX_LOG_STEP, make_quadrature
from cranfield.significance.differences import (
    BLOCK_VALUES,
    PAIR_COLUMNS,
    Bounds,
    Pairs,
    compute_deviations,
    make_pair_frame,
    make_pairs,
    standardise_difference,
)
from cranfield.significance.models.anova import fit_two_way_model
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.prepare import as_scores, find_baselines, prepare_scores
from cranfield.significance.registry import find_test

LARGE_T = 2.0**9  # above this t, the bounds of the noncentrality are nearly proportional to t


def find_noncentrality(t: Floats, df: float, confidence: float) -> Bounds:
    """Return the confidence interval of the noncentrality parameter of Student's t, for each t."""
    # A larger t has this probability under the lower bound, and a smaller t under the upper bound.
    tail = (1 - confidence) / 2
    scale = np.maximum(np.abs(t) / LARGE_T, 1.0)
    bounds = np.empty((2, t.size))
    # A larger t requires more nodes of the quadrature over S, the estimated standard deviation
    # divided by the true one.
    exponents = np.ceil(np.log2(np.maximum(np.abs(t / scale), 4.0)))
    for exponent in np.unique(exponents):
        s, weights = make_quadrature(df, min(MAX_LOG_STEP, 0.25 / 2**exponent))
        same_exponent = np.flatnonzero(exponents == exponent)
        for rows in slice_rows(same_exponent.size, s.size, BLOCK_VALUES):
            indices = same_exponent[rows]
            scaled_t = (t / scale)[indices]
            # By symmetry, the lower bound for t is minus the upper bound for -t.
            for k, sign in enumerate((-1, 1)):
                bounds[k, indices] = sign * _solve_noncentrality(
                    sign * scaled_t, s, weights, df, tail
                )
    return bounds[0] * scale, bounds[1] * scale


def _solve_noncentrality(
    t: Floats, s: Floats, weights: Floats, df: float, probability: float
) -> Floats:
    """Return the noncentrality for which a smaller t has probability `probability`."""
    # Newton's method on the normal quantile of the probability, which is nearly linear in the
    # noncentrality; bisection if a step leaves the bounds of the solution.
    target = float(ndtri(probability))
    high = 10 * np.abs(t) + 40
    low = -high
    root = t - target * np.sqrt(1 + t**2 / (2 * df))
    for _ in range(100):
        deviation = t[:, None] * s - root[:, None]
        quantile = ndtri(np.clip(ndtr(deviation) @ weights, 1e-300, 1 - 1e-16))
        density = np.exp((quantile[:, None] ** 2 - deviation**2) / 2) @ weights
        is_above = quantile > target
        low, high = np.where(is_above, root, low), np.where(is_above, high, root)
        with np.errstate(divide="ignore", invalid="ignore"):
            new_root = root + (quantile - target) / density
        is_inside = (new_root > low) & (new_root < high)
        fallback_root = np.where(quantile == target, root, (low + high) / 2)
        new_root = np.where(is_inside, new_root, fallback_root)
        step, root = np.abs(new_root - root), new_root
        if (step <= 1e-13 * (1 + np.abs(root))).all():
            break
    return root


def find_f_noncentrality(
    f: float, df_effect: float, df_error: float, confidence: float
) -> tuple[float, float]:
    """Return the confidence interval of the noncentrality of F; its bounds are at least 0."""
    s, weights = make_quadrature(df_error, MAX_LOG_STEP)
    tail = (1 - confidence) / 2

    def compute_excess(noncentrality: float, probability: float) -> float:
        chi2 = df_effect * f * s**2
        return float(chndtr(chi2, df_effect, noncentrality) @ weights) - probability

    def solve(probability: float) -> float:
        # The probability of a smaller F decreases with the noncentrality.
        if compute_excess(0.0, probability) <= 0:
            return 0.0
        high = df_effect * f + 10 * (1 + np.sqrt(df_effect * f))
        while compute_excess(high, probability) > 0:
            high *= 2
        return float(brentq(compute_excess, 0.0, high, args=(probability,), xtol=1e-12))

    return solve(1 - tail), solve(tail)


def anova_effect_sizes(table: AnovaTable, *, confidence: float = 0.95) -> pl.DataFrame:
    r"""Compute partial eta squared and omega squared of each factor of an analysis of variance.

    In the population, the proportion of variance of a factor, relative to factor and error, is

    .. math:: \omega^2 = \frac{\lambda}{\lambda + N}

    with the noncentrality lambda of F and N scores. Partial eta squared (biased upwards) and omega
    squared (nearly unbiased) estimate this proportion. The confidence interval of the proportion
    follows from the interval of lambda, by the noncentral F distribution (Steiger, 2004). For power
    analysis, Cohen's f^2 is omega^2 / (1 - omega^2).

    Parameters
    ----------
    table
        Table of a comparison by an analysis of variance, `comparison.anova`.
    confidence
        Confidence level of the interval of each factor, between 0 and 1.

    Returns
    -------
    DataFrame
        Columns `source`, `eta2`, `omega2`, `low`, `high`, a row for each factor or interaction.
        Like F, the bounds assume independent normal errors with equal variance. The bounds are null
        if the mean square of the error is 0, or is not the denominator of F.

    Raises
    ------
    PolicyError
        For an invalid confidence level, or if `table` is not an ANOVA table.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = [[0.2, 0.4, 0.3], [0.4, 0.5, 0.6], [0.3, 0.5, 0.3], [0.5, 0.6, 0.8]]
    >>> table = cf.compare(np.array(scores)).anova
    >>> anova_effect_sizes(table).select(pl.col("source"), pl.exclude("source").round(4)).rows()
    [('Topic', 0.7867, 0.6145, 0.0292, 0.8336), ('System', 0.5294, 0.2836, 0.0, 0.6609)]
    """
    check_proportion("the confidence level", confidence)
    if not isinstance(table, AnovaTable):
        raise PolicyError(f"expected an ANOVA table such as compare(...).anova, got {table!r:.60}")
    n_scores = float((~np.isnan(table.values)).sum())
    # The last two sources are Error and Total.
    sources, f, ss = table.sources[:-2], table.f[:-2], table.ss[:-2]
    low, high = np.full((2, len(sources)), np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        eta2 = ss / (ss + table.get_ss("Error"))
        has_bounds = np.isfinite(f) & np.isclose(f, table.ms[:-2] / table.ms_error)
    for k in np.flatnonzero(has_bounds):
        bounds = find_f_noncentrality(float(f[k]), float(table.df[k]), table.df_error, confidence)
        low[k], high[k] = (bound / (bound + n_scores) for bound in bounds)
    columns = {"eta2": eta2, "omega2": table.omega2[:-2], "low": low, "high": high}
    return pl.DataFrame({"source": sources, **columns}).fill_nan(None)


class EffectKind(NamedTuple):
    """Title, standardiser and accuracy of a kind of effect size."""

    title: str
    standardiser: str
    is_unbiased: bool  # corrected for the bias of small samples
    accuracy: str  # of the intervals, with its assumptions
    source: str = "Sakai (2018)"


_PAIRED_SD = "the standard deviation of the differences"
_MEAN_SD = "the square root of the mean of the variances of both systems"
_OTHER_SD = "the standard deviation of the second system"
_ERROR_SD = "the standard deviation of the error of two-way ANOVA"
_NORMAL = "exact for normal differences"
_ONE_VARIANCE = "exact for independent normal errors with one variance"
_MANY = "approximate, for many topics and normal scores"

KINDS = Registry(
    "effect size",
    components={
        "hedges": EffectKind(
            "Hedges' g of the differences", _PAIRED_SD, True, _NORMAL, "Hedges (1981); Sakai (2018)"
        ),
        "cohen": EffectKind("Cohen's d of the differences", _PAIRED_SD, False, _NORMAL),
        "average": EffectKind("standardised difference", _MEAN_SD, True, _MANY, "Bonett (2008)"),
        "glass": EffectKind("Glass's delta", _OTHER_SD, True, _MANY, "Bonett (2008); Sakai (2018)"),
        "anova": EffectKind("standardised difference", _ERROR_SD, False, _ONE_VARIANCE),
    },
)
"""Kinds of effect sizes by name."""


def _compute_standardisers(pairs: Pairs, kind: str) -> tuple[Floats, Floats, Floats, Floats]:
    """Return mean differences, standardisers with their degrees of freedom, and standard errors."""
    if kind == "anova":
        model = fit_two_way_model(pairs.values)
        standardiser = np.full(len(pairs), np.sqrt(model.error_variance))
        df = np.full(len(pairs), model.df)
        return model.subtract(pairs), standardiser, df, model.estimate_errors(pairs)
    mean, deviation, _ = pairs.compute_moments()
    df = np.full(len(pairs), pairs.n_topics - 1.0)
    if kind in ("hedges", "cohen"):
        return mean, deviation, df, deviation / np.sqrt(pairs.n_topics)
    standard_error = deviation / np.sqrt(pairs.n_topics - 1)
    systems, rows = np.arange(pairs.n_systems), np.ascontiguousarray(pairs.values.T)
    rounding = Pairs(pairs.values, systems, systems).rounding
    system_deviations = compute_deviations(rows, rows.mean(axis=1), rounding)
    if kind == "glass":
        return mean, system_deviations[pairs.second], df, standard_error
    v, w = system_deviations[pairs.first] ** 2, system_deviations[pairs.second] ** 2
    covariance = (v + w - deviation**2) / 2
    # Degrees of freedom of the mean of two dependent variances, by their first two moments.
    with np.errstate(divide="ignore", invalid="ignore"):
        # In terms of proportions, as squared variances may overflow or underflow.
        proportion = v / (v + w)
        sum_of_squares = proportion**2 + (1 - proportion) ** 2 + 2 * (covariance / (v + w)) ** 2
        df = (pairs.n_topics - 1) / sum_of_squares
    return mean, np.sqrt((v + w) / 2), df, standard_error


@dataclass(frozen=True, eq=False, repr=False)
class EffectSizes(TableResult):
    """Standardised differences of pairs of systems, with confidence intervals.

    Attributes
    ----------
    kind, confidence
        Options of :func:`effect_sizes`.
    measure, systems, n_topics
        Name of the measure, the systems, and the number of topics.
    first, second
        Indices of the systems of each pair.
    is_exact
        Whether the intervals are exact for normal data; otherwise they require many topics.
    notes
        Notes on excluded topics, on the direction of the scores, and on pairs without an interval.
    """

    columns: ClassVar[Columns] = {
        **PAIR_COLUMNS,
        "difference": Column(
            "Mean of the first system minus mean of the second, in the unit of the scores."
        ),
        "effect": Column(
            "Effect size: the difference divided by a standard deviation; Hedges' g and"
            " other kinds with a bias correction are NaN for two topics with unequal differences."
        ),
        **declare_bounds(
            "confidence interval of the effect size, unadjusted",
            "; NaN if the standard deviation that divides the difference, or the standard error of"
            " the difference, is 0",
        ),
    }

    kind: str
    measure: str
    systems: tuple[str, ...]
    n_topics: int
    first: Indices
    second: Indices
    confidence: float
    is_exact: bool
    notes: tuple[str, ...] = ()

    def heading(self) -> list[str]:
        kind = KINDS[self.kind]
        bias = ", corrected for bias" if kind.is_unbiased else ""
        return [
            f"{format_prefix(self.measure)}{kind.title}, {inflect(self.n_topics, 'topic')}",
            f"effect: mean difference divided by {kind.standardiser}{bias}",
            f"low, high: {100 * self.confidence:.4g}% confidence interval of the true effect,"
            f" unadjusted; {kind.accuracy}",
        ]


def effect_sizes(
    scores: Any,
    *,
    baseline: str | Sequence[str] | None = None,
    kind: str = "hedges",
    confidence: float = 0.95,
    missing: str | None = None,
) -> EffectSizes:
    r"""Compute effect sizes of systems on the same topics, with confidence intervals.

    .. math:: g = J(\nu)\, \frac{\bar{d}}{s}, \quad
        J(\nu) = \frac{\Gamma(\nu / 2)}{\sqrt{\nu / 2}\; \Gamma((\nu - 1) / 2)}

    where s is a standard deviation with nu degrees of freedom, and J corrects the bias of small
    samples (Hedges, 1981). The kind determines s:

    - `hedges`: the standard deviation of the differences, with nu = n - 1. Tests and power are
      based on this effect, which is large if systems agree on which topics are hard.
    - `cohen`: as `hedges`, but without J.
    - `average`: the square root of the mean of the variances of both systems, with nu from the
      first two moments of this mean. This effect is relative to the variation between topics.
    - `glass`: the standard deviation of the second system (the baseline, if any), with nu = n - 1.
    - `anova`: the root mean square of the error of two-way ANOVA, which all pairs share, without J
      (Sakai, 2018).

    Intervals of `hedges` and `cohen` are exact for normal differences, those of `anova` for
    independent normal errors with one variance, from the noncentral t distribution. Intervals of
    `average` and `glass` are the effect without J, :math:`\hat{\delta}`, plus and minus a normal
    quantile times a standard error for many topics n (Bonett, 2008), with the standard deviation
    :math:`s_d` of the differences:

    .. math:: \hat{\delta} \pm z \sqrt{\frac{\hat{\delta}^2}{2 \nu}
        + \frac{s_d^2}{(n - 1)\, s^2}}

    Parameters
    ----------
    scores
        As for :func:`compare`, on the same topics.
    baseline
        System or systems to compare all others with; by default, all pairs are compared.
    kind
        `hedges`, `cohen`, `average`, `glass` or `anova`.
    confidence
        Confidence level of the unadjusted interval of each pair, between 0 and 1.
    missing
        `error`, `drop` or `zero`, as for :func:`compare`.

    Returns
    -------
    EffectSizes
        A row for each pair. A pair has no interval if s or the standard error of its difference is
        0. If s is 0, the effect is infinite, or 0 for equal means. With J, the effect is NaN for
        nu of at most 1, as for two topics.

    Raises
    ------
    PolicyError
        For an unknown kind or baseline, an invalid confidence level, or scores by shard.
    CranfieldError
        For scores that are missing, infinite or too few.

    Examples
    --------
    >>> print(effect_sizes({"new": [0.4, 0.5, 0.5, 0.6], "old": [0.2, 0.4, 0.3, 0.5]}))
    Hedges' g of the differences, 4 topics
    effect: mean difference divided by the standard deviation of the differences, corrected for bias
    low, high: 95% confidence interval of the true effect, unadjusted; exact for normal differences
    <BLANKLINE>
    first  second  difference  effect     low    high
    new    old         0.1500  1.8800  0.3985  4.7799
    """
    kind = KINDS.find(kind)
    properties = KINDS[kind]
    check_proportion("the confidence level", confidence)
    inputs = prepare_scores(as_scores(scores), find_test("t").info, missing)
    table = inputs.scores
    pairs = make_pairs(inputs.topic_scores, find_baselines(table.systems, baseline))
    difference, standardiser, df, standard_error = _compute_standardisers(pairs, kind)
    effect = standardise_difference(difference, standardiser)
    is_varying = (standardiser > 0) & (standard_error > 0)
    varying_effect = effect[is_varying]
    scale = standardiser[is_varying] / standard_error[is_varying]
    low, high = np.full((2, len(pairs)), np.nan)
    if properties.accuracy != _MANY:
        bounds = find_noncentrality(varying_effect * scale, float(df[0]), confidence)
        low[is_varying], high[is_varying] = (bound / scale for bound in bounds)
    else:
        relative_error = standard_error[is_varying] / standardiser[is_varying]
        variance = varying_effect**2 / (2 * df[is_varying]) + relative_error**2
        half_width = -ndtri((1 - confidence) / 2) * np.sqrt(variance)
        low[is_varying], high[is_varying] = varying_effect - half_width, varying_effect + half_width
    # Pairs without variation have no degrees of freedom, and no bias correction.
    df_or_inf = np.where(is_varying, df, np.inf)
    correction = compute_bias_correction(df_or_inf) if properties.is_unbiased else 1.0
    notes = [*inputs.notes, *table.get_direction_notes()]
    if n_constant := int((~is_varying).sum()):
        notes.append(
            f"{inflect(n_constant, 'pair')} without an interval, as a standard deviation is 0"
        )
    rows = make_pair_frame(table.systems, pairs.first, pairs.second).with_columns(
        difference=difference, effect=effect * correction, low=low, high=high
    )
    return EffectSizes(
        rows,
        kind=kind,
        measure=table.measure,
        systems=table.systems,
        n_topics=pairs.n_topics,
        first=pairs.first,
        second=pairs.second,
        confidence=confidence,
        is_exact=properties.accuracy != _MANY,
        notes=tuple(notes),
    )


def compute_bias_correction(df: Floats) -> Floats:
    """Return Hedges' J: 1 for infinite df; NaN for df of at most 1, as t then has no mean."""
    valid_df = np.where(np.isinf(df) | (df <= 1), 2.0, df)
    factor = poch((valid_df - 1) / 2, 0.5) / np.sqrt(valid_df / 2)
    return np.asarray(np.where(np.isinf(df), 1.0, np.where(df <= 1, np.nan, factor)))
