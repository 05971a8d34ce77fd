"""Effects by segment, and whether they differ between its levels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from scipy.special import chdtrc

from cranfield.base.arrays import Bools, Floats
from cranfield.online.experiments.comparisons import FEW, How
from cranfield.online.experiments.effects import Critical, Effects
from cranfield.online.experiments.metrics import arm_means
from cranfield.online.experiments.moments import moments
from cranfield.online.experiments.sample_ratio import chi_square
from cranfield.online.experiments.unit_table import Units
from cranfield.significance.corrections.of_pvalues import adjusted
from cranfield.significance.difference_by_error import t_quantile


def sample_ratios(units: Units, shares: Floats) -> pl.DataFrame:
    """Test the numbers of units at each level of each segment by chi-square, with Holm's method.

    Levels with fewer than five expected units in a variant are not tested.
    """
    rows: list[Any] = []
    for by, (levels, code) in units.segments.items():
        arms = len(units.variants)
        inside = code >= 0
        cells = code[inside] * arms + units.arm[inside]
        counts = np.bincount(cells, minlength=len(levels) * arms).reshape(-1, arms)
        pvalue = chi_square(counts, shares)[1]
        few = counts.sum(axis=1) * shares.min() < 5
        pvalue = np.where(few, np.nan, pvalue)
        numbers = counts.sum(axis=1).tolist()
        rows += zip([by] * len(levels), levels, numbers, pvalue, adjusted(pvalue), strict=True)
    schema: dict[str, Any] = {"by": pl.String, "level": pl.String, "units": pl.Int64}
    schema |= {"p": pl.Float64, "adjusted_p": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def effects_by_segment(
    units: Units, segments: Sequence[str], how: How
) -> tuple[pl.DataFrame, pl.DataFrame]:
    r"""Return effects at each level, and tests that they are the same at all levels.

    Levels with fewer than ten units in a variant, or a variant without variance, are not tested.

    .. math:: Q = \sum_g \frac{(d_g - \bar{d})^2}{s_g^2}, \quad
        \bar{d} = \frac{\sum_g d_g / s_g^2}{\sum_g 1 / s_g^2}

    is chi-square with one degree of freedom less than levels if they are (Cochran, 1954).
    """
    arms = len(units.variants)
    effects, tests = [], []
    critical: Critical = partial(t_quantile, 1 - how.alpha)
    for by in segments:
        levels, code = units.segments[by]
        cell = np.where(code >= 0, code * arms + units.arm, -1)
        found = moments(units.columns, cell, (len(levels), arms))
        for name, placed in units.placed.items():
            means = arm_means(found, placed, how.theta)
            for other in range(1, arms):
                one = Effects.of(means, 0, other)
                untested = np.minimum(one.control_count, one.other_count) < FEW
                untested |= (one.control_squared == 0) | (one.other_squared == 0)
                tested = (*one.limits(critical), *one.lift_limits(critical, how.lift), one.pvalue())
                low, high, lift_low, lift_high, p_level = np.where(untested, np.nan, tested)
                effects.append(
                    pl.DataFrame(
                        {
                            "segment": by,
                            "level": pl.Series(levels, dtype=pl.String),
                            "metric": name,
                            "variant": units.variants[other],
                            "units": (one.control_count + one.other_count).astype(np.int64),
                            "difference": one.difference,
                            "low": low,
                            "high": high,
                            "lift": one.lift,
                            "lift low": lift_low,
                            "lift high": lift_high,
                            "p": p_level,
                        }
                    )
                )
                statistic, df = _heterogeneity(one, ~untested)
                p = float(chdtrc(df, statistic)) if df > 0 else np.nan
                tests.append((by, name, units.variants[other], statistic, df, p))
    frame = pl.concat(effects)
    columns: dict[str, Any] = dict.fromkeys(("segment", "metric", "variant"), pl.String)
    columns |= {"statistic": pl.Float64, "df": pl.Int64, "p": pl.Float64}
    apart = pl.DataFrame(tests, schema=columns, orient="row")
    return tuple(  # type: ignore[return-value]
        one.with_columns(pl.Series("adjusted p", adjusted(one["p"].to_numpy(), how.correction)))
        for one in (frame, apart)
    )


def _heterogeneity(one: Effects, tested: Bools) -> tuple[float, int]:
    known = np.isfinite(one.error) & tested
    if known.sum() < 2:
        return np.nan, 0
    weight = 1 / one.error[known] ** 2
    difference = one.difference[known]
    mean = (weight * difference).sum() / weight.sum()
    return float((weight * (difference - mean) ** 2).sum()), int(known.sum()) - 1
