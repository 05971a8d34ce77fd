"""Differences and lifts between variants: errors, p-values and limits, for arrays of any shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice
from cranfield.online.experiments.metrics import ArmMeans
from cranfield.significance.comparison.equivalence import read_margin
from cranfield.significance.difference_by_error import (
    away,
    fieller_limits,
    of_tail,
    p_of,
    ratio,
)

LIFTS = ("log", "linear", "fieller")
"""Ways to limits of the relative difference."""

Critical = Callable[[Floats], Floats]
"""Takes degrees of freedom, and returns how many standard errors limits are wide."""

Limits = tuple[Floats, Floats]


@dataclass(frozen=True, eq=False)
class Effects:
    """Means of two variants side by side, and what their difference says; arrays of one shape."""

    control: Floats  # Mean of the control
    other: Floats  # Mean of the other variant
    control_squared: Floats  # Squared standard errors of both
    other_squared: Floats
    control_count: Floats  # Units of both
    other_count: Floats

    @classmethod
    def of(cls, arms: ArmMeans, control: int, other: int) -> Effects:
        """Take two variants of the last axis."""
        return cls(
            *(arms.value[..., k] for k in (control, other)),
            *(arms.squared[..., k] for k in (control, other)),
            *(arms.count[..., k] for k in (control, other)),
        )

    @property
    def difference(self) -> Floats:
        """The other mean minus that of the control."""
        return self.other - self.control

    @property
    def lift(self) -> Floats:
        """The difference as a share of the control's mean; NaN where that is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.control == 0, np.nan, self.other / self.control - 1)

    @property
    def error(self) -> Floats:
        """Standard error of the difference."""
        return np.sqrt(self.control_squared + self.other_squared)

    @property
    def df(self) -> Floats:
        """Degrees of freedom of Welch's test."""
        return self._df(self.control_squared, self.other_squared)

    def _df(self, control: Floats, other: Floats) -> Floats:
        # By shares, as squares of variances may be too small for a float.
        with np.errstate(divide="ignore", invalid="ignore"):
            share = control / (control + other)
            parts = share**2 / (self.control_count - 1) + (1 - share) ** 2 / (self.other_count - 1)
            return np.nan_to_num(1 / parts, nan=1.0, posinf=1.0)

    @property
    def statistic(self) -> Floats:
        """The difference by its error; 0 where nothing differs."""
        return ratio(self.difference, self.error)

    def pvalue(self, alternative: str = "two-sided") -> Floats:
        """Return the p-value of Welch's test; NaN where the standard error is not known.

        If nothing varies within either variant and the means differ, it is the p-value of the exact
        permutation test: no other assignment of the units has so large a difference.
        """
        found = p_of(self.statistic, self.error, self.df, alternative)
        n, m = self.control_count, self.other_count
        assignments = gammaln(n + m + 1) - gammaln(n + 1) - gammaln(m + 1)
        tail = np.where(away(self.difference, alternative) > 0, np.exp(-assignments), 1.0)
        constant = (self.error == 0) & (self.difference != 0)
        found = np.where(constant, of_tail(tail, alternative), found)
        return np.where(np.isnan(self.error + self.difference), np.nan, found)

    def limits(self, critical: Critical) -> Limits:
        """Return the interval of the difference; NaN if nothing varies within either variant."""
        with np.errstate(invalid="ignore"):
            half = np.where(self.error == 0, np.nan, critical(self.df) * self.error)
        return self.difference - half, self.difference + half

    def lift_limits(self, critical: Critical, method: str = "log") -> Limits:
        r"""Limits of the lift.

        `log`: of the logarithm of the ratio of means, with squared error
        :math:`v_0/m_0^2 + v_1/m_1^2`; `linear`: of the ratio itself, by the delta method; `fieller`
        holds the ratios that a test does not reject, without end where the control's mean may be
        0. NaN where the method has no limits, or nothing varies within either variant.
        """
        check_choice("lift", method, LIFTS)
        below, above = self.control, self.other
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            times = above / below
            own, other = self.control_squared / below**2, self.other_squared / below**2
            if method == "fieller":
                squared = (
                    critical(self._df(self.control_squared * times**2, self.other_squared)) ** 2
                )
                none = np.zeros_like(below)
                low, high = fieller_limits(
                    below, above, self.control_squared, self.other_squared, none, squared
                )
            elif method == "linear":
                half = critical(self.df) * np.sqrt(other + own * times**2)
                low, high = times - half, times + half
            else:
                last = self.other_squared / above**2
                factor = np.exp(critical(self._df(own, last)) * np.sqrt(own + last))
                low = np.where(times > 0, times / factor, np.nan)
                high = np.where(times > 0, times * factor, np.nan)
        nothing = ~np.isfinite(times) | (self.error == 0)
        return np.where(nothing, np.nan, low - 1), np.where(nothing, np.nan, high - 1)

    def against(self, margin: float | str, good: str) -> Effects:
        """Compare with the mean of the control after the accepted loss (absolute or percent)."""
        size, percentage = read_margin(margin)
        sign = -1 if good == "up" else 1
        share = 1 + sign * size / 100 * np.sign(self.control) if percentage else np.ones(())
        return Effects(
            self.control * share + (0.0 if percentage else sign * size),
            self.other,
            self.control_squared * share**2,
            self.other_squared,
            self.control_count,
            self.other_count,
        )
