"""Analyse experiments from totals by variant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, quote
from cranfield.base.kinds import OneOf, UnitInterval, check_arguments
from cranfield.base.text import list_some
from cranfield.online.experiments.analysis import SRM_POLICIES, analyse_units
from cranfield.online.experiments.comparisons import ExperimentOptions
from cranfield.online.experiments.design import check_weights
from cranfield.online.experiments.estimates import (
    LIFT_METHODS,
    MIN_UNITS,
    Metric,
    MetricColumns,
    Moments,
)
from cranfield.online.experiments.report import ExperimentReport
from cranfield.online.experiments.units import Units, order_variants
from cranfield.significance.corrections.pvalue_corrections import ADJUSTMENTS
from cranfield.significance.differences import ROUNDING

MAX_ROWS = 1_000_000  # Maximum number of units that are expanded to rows of 0 and 1

# Successes and units; or sum, sum of squares and units
Total = tuple[float, float] | tuple[float, float, float]

_UNKNOWN_SKEWNESS = (
    "Welch's test assumes a small skewness of the values, which cannot be checked with totals"
)


@dataclass(frozen=True, eq=False, kw_only=True)
class _Totals(Units):
    """Units with moments by variant instead of values."""

    moments_by_variant: Moments

    @property
    def counts(self) -> dict[str, int]:
        return dict(zip(self.variants, map(int, self.moments_by_variant.n_units), strict=True))

    def compute_moments(self) -> Moments:
        return self.moments_by_variant

    def compute_skewness(self, gradient: Floats, treatment: int) -> float:
        """Compute the pooled skewness of values 0 and 1 in two variants; 0 if it is unknown."""
        if not self.is_proportion(next(iter(self.metric_columns.values()))):
            return 0.0
        moments = self.moments_by_variant
        rate = np.average(moments.mean[[0, treatment], 1], weights=moments.n_units[[0, treatment]])
        deviation = np.sqrt(rate * (1 - rate))
        return float((1 - 2 * rate) / deviation) if deviation > 0 else 0.0

    def is_proportion(self, metric: MetricColumns) -> bool:
        """Return whether all values are 0 or 1, that is, sum and sum of squares are equal."""
        moments, column = self.moments_by_variant, metric.numerator
        mean, scatter = moments.mean[:, column], moments.scatter[:, column, column]
        return bool(
            np.allclose(scatter, moments.n_units * mean * (1 - mean), rtol=1e-12, atol=1e-9)
        )


def analyse_totals(
    totals: Mapping[str, Total],
    *,
    control: str | int | None = None,
    weights: Mapping[str, float] | None = None,
    srm: Annotated[str, OneOf(SRM_POLICIES)] = "stop",
    lift: Annotated[str, OneOf(LIFT_METHODS)] = "log",
    correction: Annotated[str, OneOf(tuple(ADJUSTMENTS))] = "holm",
    alpha: Annotated[float, UnitInterval()] = 0.05,
    better: Annotated[str, OneOf(("higher", "lower"))] = "higher",
    margin: float | str | None = None,
) -> ExperimentReport:
    r"""Analyse an A/B test from totals by variant.

    Proportions of up to a million units are expanded to one row (0 or 1) per unit, and analysed as
    by :func:`analyse_experiment`. Means, and proportions of more units, are compared by Welch's
    test with the variances

    .. math:: s^2 = \frac{\sum x^2 - (\sum x)^2 / n}{n - 1}

    Totals must be over the units that were randomised. If users were randomised, totals over
    sessions or page views make intervals too narrow, which cannot be detected from the totals.

    Parameters
    ----------
    totals
        For each variant, `(successes, units)`; or `(sum, sum of squares, units)` of the values.
    control, weights, srm, lift, correction, alpha
        As for :func:`analyse_experiment`.
    better
        Whether `higher` or `lower` values are better.
    margin
        Non-inferiority margin, as for :class:`Metric`.

    Returns
    -------
    ExperimentReport
        With one metric, `proportion` or `mean`.

    Raises
    ------
    PolicyError
        For impossible totals, such as more successes than units; for means of fewer than ten units
        in a variant, because their test requires values; and as for :func:`analyse_experiment`.

    Examples
    --------
    >>> report = analyse_totals({"control": (500, 10_000), "new": (575, 10_100)})
    >>> report.pvalues.round(4).tolist(), report.verdicts
    ([[0.0289]], (('better',),))
    """
    check_arguments(analyse_totals, locals())
    totals = _check_totals(totals)
    proportions = None if weights is None else check_weights(weights)
    name, sizes = name_metric(totals), [int(total[-1]) for total in totals.values()]
    is_mean = name == "mean"
    control = None if control is None else str(control)
    names = tuple(proportions) if proportions else None
    variants = order_variants(pl.Series([*totals]), control, names, "totals")
    unit_fields: Any = {"source": "totals", "kind": "unit", "ids": None, "variants": variants}
    unit_fields["metric_columns"] = {name: MetricColumns(1)}
    if not is_mean and sum(sizes) <= MAX_ROWS:
        errors = "auto"
        codes = np.repeat([variants.index(variant) for variant in totals], sizes)
        successes = [np.arange(total[-1]) < total[0] for total in totals.values()]
        columns = np.column_stack([np.ones(codes.size), np.concatenate(successes)])
        units = Units(variant_codes=codes, columns=columns, **unit_fields)
    else:
        errors = "delta"
        for variant in variants:
            if is_mean and totals[variant][-1] < MIN_UNITS:
                size = f"{totals[variant][-1]:g} in {quote(variant)}"
                reason = f"expected at least {MIN_UNITS} units in each variant, got {size}"
                remedy = "for fewer units, use a permutation test on a table of their values"
                raise PolicyError(f"{reason}; {remedy}")
        units = _Totals(
            variant_codes=np.empty(0, dtype=np.intp),
            columns=np.empty((0, 2)),
            notes=(_UNKNOWN_SKEWNESS,) if is_mean else (),
            moments_by_variant=_convert_to_moments([totals[variant] for variant in variants]),
            **unit_fields,
        )
    options: Any = {
        **{"theta": "pooled", "errors": errors, "resamples": 2000, "draws": "poisson", "seed": 0},
        **{"sequential": None, "looks": None, "segments": (), "oec": None},
        **{"lift": lift, "correction": correction, "alpha": alpha, "srm": srm},
    }
    metrics = {name: Metric(name, better=better, margin=margin)}
    return analyse_units(units, metrics, ExperimentOptions(**options), proportions)


def name_metric(totals: Mapping[str, Total]) -> str:
    """Name the metric of totals: `mean` if they have sums of squares, otherwise `proportion`."""
    return "mean" if any(len(total) == 3 for total in totals.values()) else "proportion"


def parse_totals(text: str) -> dict[str, Total]:
    """Parse totals such as `control=500/10000,new=575/10100`, or `control=52000:310000/10000`."""
    totals: dict[str, Total] = {}
    for entry in text.split(","):
        name, sign, value = entry.rpartition("=")
        numbers = value.replace("/", ":").split(":")
        try:
            total = tuple(map(float, numbers))
        except ValueError:
            total = ()
        if not (name.strip() and sign and value.count("/") == 1 and len(total) in (2, 3)):
            expected = "expected VARIANT=SUCCESSES/UNITS or VARIANT=SUM:SQUARES/UNITS"
            raise PolicyError(f"{expected}, separated by commas, got {quote(entry)}")
        if name.strip() in totals:
            raise PolicyError(f"expected one total per variant, got two for {quote(name.strip())}")
        totals[name.strip()] = total  # type: ignore[assignment]
    if len(totals) < 2:
        expected = "expected totals of two or more variants, separated by commas"
        raise PolicyError(f"{expected}, got {quote(text)}")
    return totals


def _check_totals(totals: Any) -> dict[str, Total]:
    if not isinstance(totals, Mapping) or len(totals) < 2:
        raise PolicyError(f"expected totals of two or more variants, got {quote(totals)}")
    lengths = {len(total) for total in totals.values()}
    if lengths not in ({2}, {3}):
        expected = "expected (successes, units), or (sum, sum of squares, units), for each variant"
        raise PolicyError(f"{expected}, got {list_some(map(repr, totals.values()), 3)}")
    for name, total in totals.items():
        n_units = total[-1]
        if not np.isfinite(total).all() or n_units != int(n_units) or n_units < 2:
            expected = "expected finite totals and an integer number of units >= 2"
            raise PolicyError(f"variant {quote(name)}: {expected}, got {total}")
        if len(total) == 2 and (total[0] != int(total[0]) or not 0 <= total[0] <= n_units):
            expected = f"successes must be an integer from 0 to {n_units:g}"
            raise PolicyError(f"variant {quote(name)}: {expected}, got {total[0]:g}")
        if len(total) == 3 and total[1] * n_units < total[0] ** 2 * (1 - 1e-12):
            subject = f"the sum of squares of {n_units:g} values with the sum {total[0]:g}"
            reason = f"{subject} must be at least {total[0] ** 2 / n_units:g}, got {total[1]:g}"
            raise PolicyError(f"variant {quote(name)}: {reason}")
    return {str(name): total for name, total in totals.items()}


def _convert_to_moments(totals: list[Total]) -> Moments:
    """Convert totals to the moments of a column of ones and the column of values."""
    n_units = np.array([total[-1] for total in totals])
    sums = np.array([total[0] for total in totals])
    sums_of_squares = np.array([total[1] if len(total) == 3 else total[0] for total in totals])
    mean = np.stack([np.ones(n_units.size), sums / n_units], axis=1)
    scatter = np.zeros((n_units.size, 2, 2))
    deviations = sums_of_squares - sums**2 / n_units
    scatter[:, 1, 1] = np.where(deviations <= ROUNDING * sums_of_squares, 0.0, deviations)
    return Moments(n_units, mean, scatter)
