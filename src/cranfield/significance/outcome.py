"""What a test finds out, before it is corrected for many comparisons and labelled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit

from cranfield.base.arrays import Floats

if TYPE_CHECKING:
    from cranfield.significance.models.anova_table import AnovaTable
    from cranfield.significance.models.fitted_model import Model

Interval = Callable[[float], tuple[Floats, Floats]]

BY_PAIR = ("statistic", "pvalue", "effect", "n", "zeros", "ties")
"""Attributes of an outcome with a value for each pair."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a test says of each pair.

    Attributes
    ----------
    statistic, pvalue, effect
        By pair.
    interval
        Takes a confidence level and returns the two-sided confidence limits of the difference, by
        pair. It is computed when it is asked for.
    interval_of
        What the limits are limits of.
    n
        Topics that took part, by pair; of unpaired tests, of both systems together.
    zeros, ties
        Differences that are zero, and differences or scores that share their rank, by pair.
    details
        What else is worth keeping, such as the number of resamples.
    table, model
        Of a test that models all systems together.
    """

    statistic: Floats
    pvalue: Floats
    effect: Floats
    interval: Interval
    interval_of: str
    n: NDArray[np.intp]
    zeros: NDArray[np.intp]
    ties: NDArray[np.intp]
    details: dict[str, Any] = field(default_factory=dict)
    table: AnovaTable | None = None
    model: Model | None = None


def joined(parts: list[Outcome]) -> Outcome:
    """Put the outcomes of blocks of pairs together."""
    first = parts[0]
    if len(parts) == 1:
        return first

    def together(name: str) -> Any:
        return np.concatenate([getattr(part, name) for part in parts])

    return replace(
        first,
        interval=_Joined([part.interval for part in parts]),
        details=_summed([part.details for part in parts]),
        **{name: together(name) for name in BY_PAIR},
    )


def _summed(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Join what the blocks keep: counts add up, the rest is the same in all."""
    return {
        name: sum(part[name] for part in parts) if type(value) is int else value
        for name, value in parts[0].items()
    }


@dataclass(frozen=True)
class _Joined:
    """The limits of several blocks, one after the other."""

    parts: list[Interval]

    def __call__(self, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits at a confidence level."""
        limits = [part(level) for part in self.parts]
        return np.concatenate([low for low, _ in limits]), np.concatenate([h for _, h in limits])


def t_pvalue(t: Floats, df: Floats | float, alternative: str) -> Floats:
    """Return the p-value of Student's t, or of a normal variable if df is infinite.

    Parameters
    ----------
    t
        Statistic; NaN, which is 0 / 0, counts as no difference.
    df
        Degrees of freedom.
    alternative
        `two-sided`, `greater` or `less`.
    """
    t = np.nan_to_num(t, nan=0.0, posinf=np.inf, neginf=-np.inf)
    df = np.broadcast_to(np.asarray(df, dtype=np.float64), t.shape)
    away = {"two-sided": -np.abs(t), "greater": -t, "less": t}[alternative]
    known = np.isinf(df)
    tail = np.where(known, ndtr(away), stdtr(np.where(known, 1.0, df), away))
    return np.asarray(np.minimum(1.0, tail * (2 if alternative == "two-sided" else 1)))


def t_limit(level: float, df: Floats | float) -> Floats:
    """Return the half-width, in standard errors, of a two-sided interval by Student's t."""
    return np.asarray(stdtrit(np.minimum(df, 1e300), (1 + level) / 2))


@dataclass(frozen=True)
class TInterval:
    """Limits by Student's t: difference plus or minus a multiple of its standard error."""

    difference: Floats
    error: Floats
    df: Floats | float

    def __call__(self, level: float) -> tuple[Floats, Floats]:
        """Return lower and upper limits at a confidence level."""
        half = t_limit(level, self.df) * self.error
        return self.difference - half, self.difference + half
