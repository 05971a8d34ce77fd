"""How many units an experiment takes, what it can detect, and how long it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.optimize import brentq

from cranfield.base.checks import check_choice, check_share
from cranfield.base.errors import PolicyError
from cranfield.significance.power.power_and_width import check_positive, t_power
from cranfield.significance.registry import ALTERNATIVES
from cranfield.tabular.frames import Framed

LARGEST = 10**12
"""Units beyond which there is no experiment."""


@dataclass(frozen=True, repr=False)
class ExperimentSize(Framed):
    """Units, lift and power of an experiment with a control and one other variant.

    Attributes
    ----------
    mean, deviation
        Of a unit of the control; the deviation is what a covariate leaves of it.
    lift
        Relative difference that is detected.
    power
        With which probability.
    units, control_units
        Units of both variants, and of the control.
    alpha, alternative
        Of the test.
    rule
        Units of both, by the rule of thumb of 16 s^2 / d^2 a variant (van Belle, 2008), which is
        for a power of .8 at .05 with equal shares.
    days
        How long it runs; NaN where it is not known how many units come a day.
    """

    mean: float
    deviation: float
    lift: float
    power: float
    units: int
    control_units: int
    alpha: float
    alternative: str
    rule: float
    days: float

    def to_polars(self) -> pl.DataFrame:
        """Return a table of one row."""
        return pl.DataFrame([vars(self)])

    def __str__(self) -> str:
        days = "" if np.isnan(self.days) else f", {self.days:g} days"
        return (
            f"{self.units:,} units ({self.control_units:,} in the control){days}: a lift of"
            f" {self.lift:.4g} is found with power {self.power:.4g} at alpha {self.alpha:g}"
            f" ({self.alternative}); rule of thumb for power 0.8: {self.rule:,.0f} units"
        )

    def __repr__(self) -> str:
        return f"ExperimentSize({self})"


def experiment_size(
    *,
    mean: float,
    deviation: float,
    lift: float | None = None,
    units: int | None = None,
    power: float | None = None,
    alpha: float = 0.05,
    alternative: str = "two-sided",
    share: float = 0.5,
    correlation: float = 0.0,
    daily: float | None = None,
) -> ExperimentSize:
    r"""Plan an experiment: of lift, units and power, two give the third.

    The test is Student's t with the same deviation s in both variants,

    .. math:: P(|T| > t_{\alpha/2}), \quad T \sim t(n - 2; \lambda), \quad
        \lambda = \frac{d}{s \sqrt{1 - \rho^2}} \sqrt{n\, w (1 - w)}

    for the difference d = lift times mean, and a share w of the n units. A covariate with the
    correlation rho leaves 1 - rho^2 of the variance (CUPED). Of a ratio such as clicks per page,
    the deviation is that of its linearised value: its standard error in a report times the root of
    the units.

    Parameters
    ----------
    mean, deviation
        Of the metric, by unit, above 0. Of a share p the deviation is the root of p (1 - p).
    lift
        Relative difference, such as 0.05 or -0.05.
    units
        Of both variants together.
    power
        By default .8, if it is not what is asked for.
    alpha, alternative
        Significance level, and `two-sided`, `greater` or `less`, in the direction of the lift.
    share
        Of the units in the other variant.
    correlation
        Of the covariate with the metric.
    daily
        Units that come a day, for the duration. Only units that are new count.

    Returns
    -------
    ExperimentSize
        With what was not given.

    Raises
    ------
    PolicyError
        If two of the three are not given, or an option is out of its range.

    Examples
    --------
    >>> found = experiment_size(mean=0.05, deviation=(0.05 * 0.95) ** 0.5, lift=0.05, daily=30_000)
    >>> found.units, round(found.rule), found.days
    (238608, 243200, 8.0)
    """
    if power is None and (lift is None or units is None):
        power = 0.8
    if [lift, units, power].count(None) != 1:
        raise PolicyError("give two of lift, units and power; the third is found")
    check_positive(mean=abs(mean), deviation=deviation)
    check_share("alpha", alpha)
    check_choice("alternative", alternative, ALTERNATIVES)
    check_share("share", share)
    if not -1 < correlation < 1:
        raise PolicyError(f"a correlation lies between -1 and 1, not {correlation:g}")
    if power is not None:
        check_share("power", power)
    if daily is not None:
        check_positive(daily=daily)
    left = deviation * np.sqrt(1 - correlation**2)

    def reached(number: float, by: float) -> float:
        with np.errstate(over="ignore"):
            half = number * share * (1 - share) * (by * mean / left) ** 2 / 2
        found = t_power(np.array(half), np.array(number - 2.0), alpha, alternative)
        return float(found)

    if units is None:
        by, wanted = lift or 0.0, power or 0.0
        check_positive(lift=abs(by))
        units = _least(lambda number: reached(number, by) >= wanted)
    elif not 4 <= units <= LARGEST:
        raise PolicyError(f"an experiment has from 4 to {LARGEST:,} units, not {units:,}")
    elif lift is None:
        wanted, number = power or 0.0, units
        if wanted <= reached(units, 0.0):
            raise PolicyError(f"a power of {wanted:g} is reached without any difference")
        top = left / abs(mean)
        while reached(units, top) < wanted:
            top *= 2
        lift = float(brentq(lambda one: reached(number, one) - wanted, 0.0, top, xtol=1e-14))
        lift = -lift if alternative == "less" else lift
    assert lift is not None
    control = round(units * (1 - share))
    return ExperimentSize(
        # Whole numbers may be larger than those of a column.
        mean=float(mean),
        deviation=float(left),
        lift=float(lift),
        power=reached(units, lift),
        units=units,
        control_units=control,
        alpha=alpha,
        alternative=alternative,
        rule=float(2 * 16 * (left / (lift * mean)) ** 2) if lift else np.inf,
        days=np.nan if daily is None else float(np.ceil(units / daily)),
    )


def _least(enough: Callable[[int], bool]) -> int:
    """Return the least number of units, from 4 on, that is enough."""
    high = 4
    while not enough(high):
        high *= 2
        if high > LARGEST:
            raise PolicyError(f"it would take more than {LARGEST:,} units")
    low = max(4, high // 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high
