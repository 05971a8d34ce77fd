"""Effect sizes: differences in units of how much scores vary, with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from scipy.special import ndtri, poch

from cranfield.base.arrays import Floats, Indices
from cranfield.base.checks import check_choice, check_share
from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.significance.difference_by_error import ratio, spread
from cranfield.significance.effects.noncentral import noncentrality
from cranfield.significance.models.anova import two_way_model
from cranfield.significance.outcome import Limits
from cranfield.significance.pairs import Pairs, against, all_pairs
from cranfield.significance.prepare import as_scores, baseline_indices, prepared
from cranfield.significance.tests.catalogue import find_test
from cranfield.tabular import Table
from cranfield.tabular.frames import Framed
from cranfield.tabular.text import grid

MOST_ROWS = 60
"""Pairs that are printed."""


@dataclass(frozen=True, eq=False)
class Sample:
    """Mean differences, what they are divided by, and how well that is known, by pair.

    `unit` is a standard deviation with `df` degrees of freedom. The difference has a standard
    `error`; where it is `exact`, a multiple of the unit, limits are too.
    """

    difference: Floats
    unit: Floats
    df: Floats
    error: Floats
    exact: bool


def _of_differences(pairs: Pairs) -> Sample:
    mean, deviation = _moments(pairs)
    df = np.full(len(pairs), pairs.topics - 1.0)
    return Sample(mean, deviation, df, deviation / np.sqrt(pairs.topics), True)


def _of_error(pairs: Pairs) -> Sample:
    model = two_way_model(pairs.values)
    unit = np.full(len(pairs), np.sqrt(model.error))
    df = np.full(len(pairs), model.df)
    return Sample(model.differences(pairs), unit, df, model.standard_errors(pairs), True)


def _of_baseline(pairs: Pairs) -> Sample:
    mean, deviation = _moments(pairs)
    unit = _of_systems(pairs)[pairs.second]
    df = np.full(len(pairs), pairs.topics - 1.0)
    return Sample(mean, unit, df, deviation / np.sqrt(pairs.topics - 1), False)


def _of_both(pairs: Pairs) -> Sample:
    mean, deviation = _moments(pairs)
    squares = _of_systems(pairs) ** 2
    one, other = squares[pairs.first], squares[pairs.second]
    covariance = (one + other - deviation**2) / 2
    # Of the mean of two variances that depend on each other, by their first two moments.
    with np.errstate(divide="ignore", invalid="ignore"):
        # By shares, as the squares of variances may be too large or too small for a float.
        share = one / (one + other)
        squared = share**2 + (1 - share) ** 2 + 2 * (covariance / (one + other)) ** 2
        df = (pairs.topics - 1) / squared
    unit = np.sqrt((one + other) / 2)
    return Sample(mean, unit, df, deviation / np.sqrt(pairs.topics - 1), False)


def _moments(pairs: Pairs) -> tuple[Floats, Floats]:
    """Return mean and standard deviation of the differences of each pair."""
    means, deviations = [], []
    for block in pairs.blocks():
        differences = block.differences()
        means.append(differences.mean(axis=1))
        deviations.append(spread(differences, means[-1], block.rounding))
    return np.concatenate(means), np.concatenate(deviations)


def _of_systems(pairs: Pairs) -> Floats:
    """Return the standard deviation over topics of each system; 0 where it is rounding."""
    alone = np.arange(pairs.systems)
    rows = np.ascontiguousarray(pairs.values.T)
    return spread(rows, rows.mean(axis=1), Pairs(pairs.values, alone, alone).rounding)


@dataclass(frozen=True)
class Kind:
    """A kind of effect size: what it is called, and what the difference is divided by."""

    title: str
    unit: str
    sample: Callable[[Pairs], Sample]
    unbiased: bool


KINDS = {
    "hedges": Kind(
        "Hedges' g of the differences",
        "the standard deviation of the differences",
        _of_differences,
        True,
    ),
    "cohen": Kind(
        "Cohen's d of the differences",
        "the standard deviation of the differences",
        _of_differences,
        False,
    ),
    "average": Kind(
        "standardised difference",
        "the root of the mean of both systems' variances",
        _of_both,
        True,
    ),
    "glass": Kind(
        "Glass's delta",
        "the standard deviation of the second system",
        _of_baseline,
        True,
    ),
    "anova": Kind(
        "standardised difference",
        "the standard deviation of the error of two-way ANOVA",
        _of_error,
        False,
    ),
}
"""Kinds of effect sizes by name."""


@dataclass(frozen=True, eq=False, repr=False)
class EffectSizes(Framed):
    """Differences of pairs in units of how much scores vary, with confidence limits.

    Attributes
    ----------
    kind
        A name of :data:`KINDS`.
    measure, systems, topics
        Text form of the measure, the systems, and the number of topics.
    first, second
        Indices of the systems of each pair.
    difference
        Mean of the first minus that of the second, in the unit of the scores.
    effect
        The difference by its unit, without its bias where the kind has a correction: a pure number.
    low, high
        Confidence limits of the true effect, of each pair alone. NaN where nothing varies.
    confidence
        Their level.
    exact
        Whether they are exact for normal scores, or only for many topics.
    notes
        What a reader should know.
    """

    kind: str
    measure: str
    systems: tuple[str, ...]
    topics: int
    first: Indices
    second: Indices
    difference: Floats
    effect: Floats
    low: Floats
    high: Floats
    confidence: float
    exact: bool
    notes: tuple[str, ...] = ()

    def to_polars(self) -> pl.DataFrame:
        """Return a table with a row a pair."""
        return pl.DataFrame(
            {
                "first": [self.systems[k] for k in self.first],
                "second": [self.systems[k] for k in self.second],
                "difference": self.difference,
                "effect": self.effect,
                "low": self.low,
                "high": self.high,
            }
        )

    def heading(self) -> list[str]:
        """Return what was computed, in a few lines."""
        kind = KINDS[self.kind]
        start = f"{plain(self.measure)}: " if self.measure else ""
        holds = "exact for normal scores" if self.exact else "for normal scores of many topics"
        bias = ", without its bias" if kind.unbiased else ""
        return [
            f"{start}{kind.title}, {counted(self.topics, 'topic')}",
            f"effect: mean difference by {kind.unit}{bias}",
            f"low, high: {self.confidence:.4g} confidence limits of the true effect, each pair"
            f" alone; {holds}",
            *(f"note: {note}" for note in self.notes),
        ]

    def table(self) -> Table:
        """Return the table that is shown, a row a pair."""
        frame = self.to_polars()
        rows = [
            [*row[:2], *("" if np.isnan(value) else f"{value:.4f}" for value in row[2:])]
            for row in frame.iter_rows()
        ]
        title, *notes = self.heading()
        return Table(title, frame.columns, rows, (0, 1), notes)

    def __str__(self) -> str:
        table = self.table()
        more = len(table.rows) - MOST_ROWS
        shown = Table(table.title, table.head, table.rows[:MOST_ROWS], table.left)
        end = f"\n… {more:,} more" if more > 0 else ""
        return "\n".join(self.heading()) + "\n\n" + grid(shown) + end

    def __repr__(self) -> str:
        return f"EffectSizes({self.heading()[0]})"


def effect_sizes(
    scores: Any,
    *,
    baseline: str | Sequence[str] | None = None,
    kind: str = "hedges",
    confidence: float = 0.95,
    missing: str | None = None,
) -> EffectSizes:
    r"""Compute effect sizes of systems on the same topics, with confidence limits.

    .. math:: g = J(\nu)\, \frac{\bar{d}}{s}, \quad
        J(\nu) = \frac{\Gamma(\nu / 2)}{\sqrt{\nu / 2}\; \Gamma((\nu - 1) / 2)}

    where s is a standard deviation with nu degrees of freedom, and J takes away the bias of small
    samples (Hedges, 1981). Which s it is, makes the kind:

    - `hedges`: of the differences, nu = n - 1. What tests and power go by; it is large where
      systems agree on which topics are hard. `cohen` is the same without J.
    - `average`: the root of the mean of the variances of both systems, nu by the first two moments;
      how large the difference is beside how much topics vary. `glass`: of the second system, the
      baseline.
    - `anova`: of the error of two-way ANOVA, one for all pairs, without J (Sakai, 2018).

    Limits of `hedges`, `cohen` and `anova` are exact for normal differences, from the noncentral t
    distribution. Those of `average` and `glass` are the effect without J plus and minus a normal
    quantile times a standard error for many topics (Bonett, 2008),

    .. math:: \hat{\delta} \pm z \sqrt{\frac{\hat{\delta}^2}{2 \nu}
        + \frac{s_d^2}{(n - 1)\, s^2}}

    Parameters
    ----------
    scores
        As for :func:`compare`, on the same topics.
    baseline
        A system, or several, that the others are compared with; else all pairs are.
    kind
        `hedges`, `cohen`, `average`, `glass` or `anova`.
    confidence
        Confidence level, between 0 and 1, of each pair alone.
    missing
        `error`, `drop` or `zero`, as for :func:`compare`.

    Returns
    -------
    EffectSizes
        A difference where nothing varies is an infinite effect without limits, and no difference
        is 0.

    Raises
    ------
    PolicyError
        For an unknown kind or system, or a level that is none.
    CranfieldError
        When scores are missing, infinite, by shard or too few.

    Examples
    --------
    >>> print(effect_sizes({"new": [0.4, 0.5, 0.5, 0.6], "old": [0.2, 0.4, 0.3, 0.5]}))
    Hedges' g of the differences, 4 topics
    effect: mean difference by the standard deviation of the differences, without its bias
    low, high: 0.95 confidence limits of the true effect, each pair alone; exact for normal scores
    <BLANKLINE>
    first  second  difference  effect     low    high
    new    old         0.1500  1.8800  0.3985  4.7799
    """
    check_choice("kind", kind, KINDS)
    check_share("the confidence level", confidence)
    ready = prepared(as_scores(scores), find_test("t").info, missing)
    baselines = baseline_indices(ready.scores.systems, baseline)
    pairs = against(ready.flat, baselines) if baselines else all_pairs(ready.flat)
    chosen = KINDS[kind]
    sample = chosen.sample(pairs)
    raw = ratio(sample.difference, sample.unit)
    known = (sample.unit > 0) & (sample.error > 0)
    low, high = np.full((2, len(pairs)), np.nan)
    low[known], high[known] = _limits(sample, raw, known, confidence)
    # The bias goes to 0 with many degrees of freedom, and without any is not known.
    correction = bias_correction(np.where(known, sample.df, np.inf)) if chosen.unbiased else 1.0
    return EffectSizes(
        kind=kind,
        measure=ready.scores.measure,
        systems=ready.scores.systems,
        topics=pairs.topics,
        first=pairs.first,
        second=pairs.second,
        difference=sample.difference,
        effect=raw * correction,
        low=low,
        high=high,
        confidence=confidence,
        exact=sample.exact,
        notes=(
            *ready.notes,
            *ready.scores.direction_notes(),
            *_notes(int((~known).sum())),
        ),
    )


def _notes(unknown: int) -> list[str]:
    if not unknown:
        return []
    return [
        f"{counted(unknown, 'pair')} without confidence limits: the differences, or the scores that"
        " standardise them, do not vary"
    ]


def _limits(sample: Sample, raw: Floats, known: Any, confidence: float) -> Limits:
    unit, error, df, effect = (one[known] for one in (sample.unit, sample.error, sample.df, raw))
    if sample.exact:
        if not effect.size:
            return effect, effect
        scale = unit / error
        low, high = noncentrality(effect * scale, float(df[0]), confidence)
        return low / scale, high / scale
    half = -ndtri((1 - confidence) / 2) * np.sqrt(effect**2 / (2 * df) + (error / unit) ** 2)
    return effect - half, effect + half


def bias_correction(df: Floats) -> Floats:
    """Return Hedges' J, which a mean by a standard deviation with `df` is multiplied by.

    It is 1 for infinite degrees of freedom, and NaN for 1, of which there is no mean.
    """
    finite = np.where(np.isinf(df) | (df <= 1), 2.0, df)
    factor = poch((finite - 1) / 2, 0.5) / np.sqrt(finite / 2)
    return np.asarray(np.where(np.isinf(df), 1.0, np.where(df <= 1, np.nan, factor)))
