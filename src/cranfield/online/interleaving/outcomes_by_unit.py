"""Wins, losses and ties of impressions, put together by unit, such as a user."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cranfield.base.arrays import Floats, Indices, Ints, row_slices
from cranfield.base.streams import stream
from cranfield.significance.difference_by_error import p_of, ratio, t_limits

TIE = 1e-9
"""Credits that differ by no more are equal: what is left of sums by rounding."""

DRAWN = 2**20
"""Numbers that are drawn at a time; it is part of what a seed means."""


@dataclass(frozen=True, eq=False)
class OutcomesByUnit:
    """What the impressions of each unit say of two rankers."""

    kinds: Ints  # Wins, losses and ties of a unit, shape (kinds of units, 3), in rising order
    number: Ints  # Units of each kind, shape (kinds,)
    # Mean difference of credit by unit, shape (units,); None where only outcomes are known
    credit: Floats | None = None

    @property
    def totals(self) -> Ints:
        """Wins, losses and ties of all impressions."""
        return np.asarray(self.number @ self.kinds)

    @property
    def by_unit(self) -> Ints:
        """Units with more wins than losses, with more losses, and the others."""
        ahead = np.sign(self.kinds[:, 0] - self.kinds[:, 1])
        return np.array([self.number[ahead == sign].sum() for sign in (1, -1, 0)])

    @property
    def repeated(self) -> bool:
        """Whether some unit has more than one impression."""
        return bool((self.kinds.sum(axis=1) > 1).any())

    def resampled(self, resamples: int, seed: int) -> Ints:
        """Draw units with replacement: wins, losses and ties by sample, shape (resamples, 3)."""
        # How many units of each kind are drawn is multinomial.
        units = int(self.number.sum())
        drawn = np.empty((resamples, 3), dtype=np.int64)
        for part, rows in enumerate(row_slices(resamples, len(self.kinds), DRAWN)):
            samples = drawn[rows]
            shares = self.number / units
            size = len(samples)
            samples[:] = stream(seed, part).multinomial(units, shares, size=size) @ self.kinds
        return drawn

    def credit_by_t(self, level: float) -> tuple[float, float, float, float]:
        """Return the mean difference of credit over units, and interval and p-value of its t-test.

        Each unit has the same weight. The interval and the p-value are NaN if there is one unit, or
        if all units have the same difference.
        """
        if self.credit is None or not self.credit.size:
            return (np.nan,) * 4
        number, mean = self.credit.size, np.array(self.credit.mean())
        if number == 1 or np.ptp(self.credit) <= TIE:
            return (float(mean), np.nan, np.nan, np.nan)
        error = np.array(self.credit.std(ddof=1) / np.sqrt(number))
        low, high = t_limits(mean, error, number - 1, level)
        pvalue = p_of(ratio(mean, error), error, number - 1, "two-sided")
        return float(mean), float(low), float(high), float(pvalue)


def outcomes_by_unit(difference: Floats, units: Indices, number: int) -> OutcomesByUnit:
    """Put impressions together: the difference of credit of each, and the number of its unit."""
    sign = np.where(np.abs(difference) <= TIE, 0, np.sign(difference))
    outcomes = np.stack(
        [np.bincount(units[sign == one], minlength=number) for one in (1, -1, 0)], axis=1
    )
    sums = np.bincount(units, weights=difference, minlength=number)
    kinds, many = np.unique(outcomes.astype(np.int64), axis=0, return_counts=True)
    return OutcomesByUnit(kinds, many, sums / outcomes.sum(axis=1))


def outcomes_counted(wins: int, losses: int, ties: int) -> OutcomesByUnit:
    """Return impressions that are units of their own, of which only the outcome is known."""
    number = np.array([ties, losses, wins])
    return OutcomesByUnit(np.eye(3, dtype=np.int64)[::-1][number > 0], number[number > 0])
