"""Effect sizes with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl
from scipy.optimize import brentq
from scipy.special import chndtr, ndtr, ndtri, poch

from cranfield.base.arrays import Floats, Indices, row_slices
from cranfield.base.errors import PolicyError, check_share
from cranfield.base.spec import Registry
from cranfield.base.text import counted, plain
from cranfield.result import Column, Columns, TableResult
from cranfield.significance.corrections.studentised import NEGLIGIBLE, STRIP
from cranfield.significance.differences import (
    BLOCK,
    PAIR,
    Bounds,
    Pairs,
    named_pairs,
    pairs_of,
    ratio,
    spread,
)
from cranfield.significance.models.anova import two_way_model
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.prepare import as_scores, baseline_indices, prepared
from cranfield.significance.registry import find_test


def deviations(df: float, step: float) -> tuple[Floats, Floats]:
    """Return values of the root of chi-squared by its degrees of freedom, and their weights.

    They stand for its distribution in expectations of smooth functions, by the trapezoidal rule in
    the logarithm; SciPy's noncentral t and F return NaN where they underflow (1.17).
    """
    part = NEGLIGIBLE / df
    left, right = -(part + 0.5 + np.sqrt(part)), 0.5 * np.log1p(2 * (part + np.sqrt(part)))
    x = np.arange(left, right, min(0.5 / np.sqrt(2 * df), step))
    s = np.exp(x)
    logs = df * (x - s**2 / 2)
    weights = np.exp(logs - logs.max())
    return s, weights / weights.sum()


LARGE = 2.0**9  # a t beyond which bounds of the noncentrality are proportional to it


def noncentrality(t: Floats, df: float, confidence: float) -> Bounds:
    """Return the confidence interval of the noncentrality of Student's t, for each t.

    With the lower bound a larger t has the probability (1 - confidence) / 2, with the upper bound
    a smaller t.
    """
    tail = (1 - confidence) / 2
    scale = np.maximum(np.abs(t) / LARGE, 1.0)
    found = np.empty((2, t.size))
    # The larger t, the closer the values of S have to be.
    classes = np.ceil(np.log2(np.maximum(np.abs(t / scale), 4.0)))
    for one in np.unique(classes):
        s, weights = deviations(df, min(STRIP, 0.25 / 2**one))
        same = np.flatnonzero(classes == one)
        for part in row_slices(same.size, s.size, BLOCK):
            some = same[part]
            # The larger t of one is the smaller one of -t, whose probability is not next to 1.
            for k, sign in enumerate((-1, 1)):
                found[k, some] = sign * _with_below(sign * (t / scale)[some], s, weights, df, tail)
    return found[0] * scale, found[1] * scale


def _with_below(t: Floats, s: Floats, weights: Floats, df: float, below: float) -> Floats:
    """Return the noncentrality with which a smaller t has the probability `below`.

    By Newton's method on the normal quantile of that probability, which is nearly a line, halving
    where it would leave what is known to enclose the solution.
    """
    wanted = float(ndtri(below))
    high = 10 * np.abs(t) + 40
    low = -high
    centre = t - wanted * np.sqrt(1 + t**2 / (2 * df))
    for _ in range(100):
        away = t[:, None] * s - centre[:, None]
        quantile = ndtri(np.clip(ndtr(away) @ weights, 1e-300, 1 - 1e-16))
        density = np.exp((quantile[:, None] ** 2 - away**2) / 2) @ weights
        low, high = (
            np.where(quantile > wanted, centre, low),
            np.where(quantile > wanted, high, centre),
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            guess = centre + (quantile - wanted) / density
        inside = (guess > low) & (guess < high)
        guess = np.where(inside, guess, np.where(quantile == wanted, centre, (low + high) / 2))
        step, centre = np.abs(guess - centre), guess
        if (step <= 1e-13 * (1 + np.abs(centre))).all():
            break
    return centre


def noncentrality_of_f(
    f: float, first: float, second: float, confidence: float
) -> tuple[float, float]:
    """Return the confidence interval of the noncentrality of F, from 0."""
    s, weights = deviations(second, STRIP)
    tail = (1 - confidence) / 2

    def below(centre: float, wanted: float) -> float:
        return float(chndtr(first * f * s**2, first, centre) @ weights) - wanted

    found = []
    for wanted in (1 - tail, tail):
        # The probability of a smaller F falls with the noncentrality.
        high = first * f + 10 * (1 + np.sqrt(first * f))
        while below(high, wanted) > 0:
            high *= 2
        some = below(0.0, wanted) > 0
        found.append(brentq(below, 0.0, high, args=(wanted,), xtol=1e-12) if some else 0.0)
    return found[0], found[1]


def anova_effect_sizes(table: AnovaTable, *, confidence: float = 0.95) -> pl.DataFrame:
    r"""Compute the proportion of variance that each factor of an analysis of variance accounts for.

    .. math:: \omega^2 = \frac{\lambda}{\lambda + N}

    is the proportion in the population, relative to factor and error, with the noncentrality lambda
    of F and N scores. Its confidence interval follows from that of lambda, by the noncentral F
    distribution (Steiger, 2004). Partial eta squared (biased upwards) and omega squared (nearly
    unbiased) estimate it.
    For power, Cohen's f squared is omega squared by 1 minus it.

    Parameters
    ----------
    table
        Table of a comparison by an analysis of variance, `comparison.anova`.
    confidence
        Confidence level, between 0 and 1, of each factor alone.

    Returns
    -------
    DataFrame
        Columns `source`, `eta2`, `omega2`, `low`, `high`, a row a factor. They assume independent
        normal errors with one variance, as F does. Null where F is not by
        the mean square of the error, and where nothing varies.

    Raises
    ------
    PolicyError
        For an invalid level, or without a table, which tests of pairs do not have.

    Examples
    --------
    >>> import cranfield as cf
    >>> scores = [[0.2, 0.4, 0.3], [0.4, 0.5, 0.6], [0.3, 0.5, 0.3], [0.5, 0.6, 0.8]]
    >>> table = cf.compare(np.array(scores)).anova
    >>> anova_effect_sizes(table).select(pl.col("source"), pl.exclude("source").round(4)).rows()
    [('Topic', 0.7867, 0.6145, 0.0292, 0.8336), ('System', 0.5294, 0.2836, 0.0, 0.6609)]
    """
    check_share("the confidence level", confidence)
    if not isinstance(table, AnovaTable):
        raise PolicyError(f"expected the table of an analysis of variance, got {table!r:.60}")
    number = float((~np.isnan(table.values)).sum())
    left = table.ss_of("Error")
    rows: list[tuple[Any, ...]] = []
    # The last two sources are Error and Total.
    for k, source in enumerate(table.sources[:-2]):
        f, df, total = float(table.f[k]), float(table.df[k]), table.ss[k] + left
        low = high = None
        if np.isfinite(f) and np.isclose(f, table.ms[k] / table.ms_error):
            limits = noncentrality_of_f(f, df, table.df_error, confidence)
            low, high = (one / (one + number) for one in limits)
        omega2 = None if np.isnan(table.omega2[k]) else float(table.omega2[k])
        rows.append((source, float(table.ss[k] / total) if total > 0 else None, omega2, low, high))
    kinds = dict.fromkeys(("eta2", "omega2", "low", "high"), pl.Float64)
    return pl.DataFrame(rows, schema={"source": pl.String, **kinds}, orient="row")


class Kind(NamedTuple):
    """A kind of effect size, its standardiser, and whether its intervals are exact."""

    title: str
    unit: str
    unbiased: bool
    exact: bool


OF_DIFFERENCES = "the standard deviation of the differences"

KINDS = Registry(
    "effect size",
    things={
        "hedges": Kind("Hedges' g of the differences", OF_DIFFERENCES, True, True),
        "cohen": Kind("Cohen's d of the differences", OF_DIFFERENCES, False, True),
        "average": Kind(
            "standardised difference",
            "the root of the mean of both systems' variances",
            True,
            False,
        ),
        "glass": Kind("Glass's delta", "the standard deviation of the second system", True, False),
        "anova": Kind(
            "standardised difference",
            "the standard deviation of the error of two-way ANOVA",
            False,
            True,
        ),
    },
)
"""Kinds of effect sizes by name."""


def _standardisers(pairs: Pairs, kind: str) -> tuple[Floats, Floats, Floats, Floats]:
    """Return by pair: mean difference, its unit, degrees of freedom of that, standard error."""
    if kind == "anova":
        model = two_way_model(pairs.values)
        unit, df = np.full(len(pairs), np.sqrt(model.error)), np.full(len(pairs), model.df)
        return model.differences(pairs), unit, df, model.standard_errors(pairs)
    mean, deviation, _ = pairs.moments()
    df = np.full(len(pairs), pairs.topics - 1.0)
    if kind in ("hedges", "cohen"):
        return mean, deviation, df, deviation / np.sqrt(pairs.topics)
    error = deviation / np.sqrt(pairs.topics - 1)
    alone, rows = np.arange(pairs.systems), np.ascontiguousarray(pairs.values.T)
    of_systems = spread(rows, rows.mean(axis=1), Pairs(pairs.values, alone, alone).rounding)
    if kind == "glass":
        return mean, of_systems[pairs.second], df, error
    one, other = of_systems[pairs.first] ** 2, of_systems[pairs.second] ** 2
    covariance = (one + other - deviation**2) / 2
    # Of the mean of two variances that depend on each other, by their first two moments.
    with np.errstate(divide="ignore", invalid="ignore"):
        # By shares, as the squares of variances may be too large or too small for a float.
        share = one / (one + other)
        squared = share**2 + (1 - share) ** 2 + 2 * (covariance / (one + other)) ** 2
        df = (pairs.topics - 1) / squared
    return mean, np.sqrt((one + other) / 2), df, error


@dataclass(frozen=True, eq=False, repr=False)
class EffectSizes(TableResult):
    """Standardised differences of pairs of systems, with confidence intervals.

    Attributes
    ----------
    kind
        A name of :data:`KINDS`.
    measure, systems, topics
        Text form of the measure, the systems, and the number of topics.
    first, second
        Indices of the systems of each pair.
    confidence
        Level of the confidence intervals.
    exact
        Whether they are exact for normal scores, or only for many topics.
    notes
        Notes for the reader.
    """

    columns: ClassVar[Columns] = {
        **PAIR,
        "difference": Column(
            "Mean of the first system minus mean of the second, in the unit of the scores."
        ),
        "effect": Column(
            "Effect size: the difference divided by its standardiser; corrected for bias"
            " if the kind is, as Hedges' g."
        ),
        "low": Column(
            "Lower bound of the confidence interval of the effect size, for each pair alone; NaN"
            " where nothing varies."
        ),
        "high": Column("Upper bound of the interval."),
    }

    kind: str
    measure: str
    systems: tuple[str, ...]
    topics: int
    first: Indices
    second: Indices
    confidence: float
    exact: bool
    notes: tuple[str, ...] = ()

    def heading(self) -> list[str]:
        """Return a few lines: kind, sizes, meaning of columns."""
        kind = KINDS[self.kind]
        start = f"{plain(self.measure)}: " if self.measure else ""
        holds = "exact for normal scores" if self.exact else "for normal scores of many topics"
        bias = ", without its bias" if kind.unbiased else ""
        return [
            f"{start}{kind.title}, {counted(self.topics, 'topic')}",
            f"effect: mean difference by {kind.unit}{bias}",
            f"low, high: {self.confidence:.4g} confidence interval of the true effect, each pair"
            f" alone; {holds}",
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

    - `hedges`: of the differences, nu = n - 1. Tests and power are based on it; it is large where
    systems agree on which topics are hard. `cohen` is the same without J.
    - `average`: the root of the mean of the variances of both systems, nu by the first two moments;
      the difference relative to the variation of topics. `glass`: of the second system, the
      baseline.
    - `anova`: of the error of two-way ANOVA, one for all pairs, without J (Sakai, 2018).

    Intervals of `hedges`, `cohen` and `anova` are exact for normal differences, from the noncentral
    t
    distribution. Those of `average` and `glass` are the effect without J plus and minus a normal
    quantile times a standard error for many topics (Bonett, 2008),

    .. math:: \hat{\delta} \pm z \sqrt{\frac{\hat{\delta}^2}{2 \nu}
        + \frac{s_d^2}{(n - 1)\, s^2}}

    Parameters
    ----------
    scores
        As for :func:`compare`, on the same topics.
    baseline
        A system, or several, that the others are compared with; by default all pairs are compared.
    kind
        `hedges`, `cohen`, `average`, `glass` or `anova`.
    confidence
        Confidence level, between 0 and 1, of each pair alone.
    missing
        `error`, `drop` or `zero`, as for :func:`compare`.

    Returns
    -------
    EffectSizes
        Where nothing varies, a difference is an infinite effect without an interval; no difference
        is 0.

    Raises
    ------
    PolicyError
        For an unknown kind or system, or an invalid level.
    CranfieldError
        When scores are missing, infinite, by shard or too few.

    Examples
    --------
    >>> print(effect_sizes({"new": [0.4, 0.5, 0.5, 0.6], "old": [0.2, 0.4, 0.3, 0.5]}))
    Hedges' g of the differences, 4 topics
    effect: mean difference by the standard deviation of the differences, without its bias
    low, high: 0.95 confidence interval of the true effect, each pair alone; exact for normal scores
    <BLANKLINE>
    first  second  difference  effect     low    high
    new    old         0.1500  1.8800  0.3985  4.7799
    """
    kind = KINDS.find(kind)
    check_share("the confidence level", confidence)
    ready = prepared(as_scores(scores), find_test("t").info, missing)
    baselines = baseline_indices(ready.scores.systems, baseline)
    pairs = pairs_of(ready.flat, baselines)
    difference, unit, df, error = _standardisers(pairs, kind)
    raw = ratio(difference, unit)
    known = (unit > 0) & (error > 0)
    effect, freedom, scale = raw[known], df[known], unit[known] / error[known]
    low, high = np.full((2, len(pairs)), np.nan)
    if not KINDS[kind].exact:
        spreads = np.sqrt(effect**2 / (2 * freedom) + (error[known] / unit[known]) ** 2)
        half = -ndtri((1 - confidence) / 2) * spreads
        low[known], high[known] = effect - half, effect + half
    elif known.any():
        limits = noncentrality(effect * scale, float(freedom[0]), confidence)
        low[known], high[known] = (one / scale for one in limits)
    # The bias goes to 0 with many degrees of freedom, and without any is not known.
    correction = bias_correction(np.where(known, df, np.inf)) if KINDS[kind].unbiased else 1.0
    unknown = int((~known).sum())
    without_interval_note = [
        f"{counted(unknown, 'pair')} without a confidence interval: the differences, or the scores"
        f" that standardise them, do not vary"
    ]
    rows = named_pairs(ready.scores.systems, pairs.first, pairs.second).with_columns(
        difference=difference, effect=raw * correction, low=low, high=high
    )
    return EffectSizes(
        rows,
        kind=kind,
        measure=ready.scores.measure,
        systems=ready.scores.systems,
        topics=pairs.topics,
        first=pairs.first,
        second=pairs.second,
        confidence=confidence,
        exact=KINDS[kind].exact,
        notes=(
            *ready.notes,
            *ready.scores.direction_notes(),
            *(without_interval_note if unknown else []),
        ),
    )


def bias_correction(df: Floats) -> Floats:
    """Return Hedges' J, which a mean by a standard deviation with `df` is multiplied by.

    It is 1 for infinite degrees of freedom, and NaN for 1, of which there is no mean.
    """
    finite = np.where(np.isinf(df) | (df <= 1), 2.0, df)
    factor = poch((finite - 1) / 2, 0.5) / np.sqrt(finite / 2)
    return np.asarray(np.where(np.isinf(df), 1.0, np.where(df <= 1, np.nan, factor)))
