"""What a test finds out of each pair, and what a correction for many comparisons makes of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Indices
from cranfield.significance.models.anova_table import AnovaTable
from cranfield.significance.models.fitted_model import Model

Limits = tuple[Floats, Floats]
Level = float | Floats
"""A confidence level: one for all pairs, or one for each."""

Interval = Callable[[Level], Limits]
"""Takes confidence levels and returns the two-sided limits of the difference, by pair."""

BY_PAIR = ("statistic", "pvalue", "effect", "n", "zeros", "ties")
"""Attributes of an outcome with a value for each pair."""


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a test says of each pair, and the table and the model of one that models all systems.

    `n` counts the topics that took part, or of unpaired tests the scores of both systems; `zeros`
    the differences that are zero, and `ties` the differences or scores that share their rank. The
    `interval` is of what the test declares, and computed when it is asked for; `notes` are what a
    reader should be told.
    """

    statistic: Floats
    pvalue: Floats
    effect: Floats
    interval: Interval
    n: Indices
    zeros: Indices
    ties: Indices
    details: dict[str, Any] = field(default_factory=dict)
    table: AnovaTable | None = None
    model: Model | None = None
    notes: tuple[str, ...] = ()
    smallest_pvalues: Floats | None = None

    @property
    def of_model(self) -> Model:
        assert self.model is not None
        return self.model


@dataclass(frozen=True, eq=False)
class Corrected:
    """What a correction makes of an outcome; None where it leaves what the test has.

    Systems whose means, plus and minus `half_widths`, do not overlap are significantly different.
    No difference, however large, can have a p-value below `smallest_pvalue`.
    """

    pvalue: Floats
    statistic: Floats | None = None
    interval: Interval | None = None
    holds_for: str = "each pair alone"
    half_widths: Floats | None = None
    smallest_pvalue: float | None = None


TOGETHER = "all pairs together"
ALL_COMPARISONS = "all comparisons"
BONFERRONI = f"{TOGETHER}, by Bonferroni's inequality"
"""What simultaneous limits hold for."""


def joined(parts: list[Outcome]) -> Outcome:
    first = parts[0]
    if len(parts) == 1:
        return first
    arrays: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in BY_PAIR
    }
    sizes = [part.pvalue.size for part in parts]
    limits = partial(_joined_limits, [part.interval for part in parts], sizes)
    return replace(first, interval=limits, details=_summed([p.details for p in parts]), **arrays)


def _summed(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Join what the blocks keep: counts add up, the rest is the same in all."""
    return {
        name: sum(part[name] for part in parts) if type(value) is int else value
        for name, value in parts[0].items()
    }


def _joined_limits(parts: list[Interval], sizes: list[int], level: Level) -> Limits:
    levels = np.split(np.broadcast_to(level, sum(sizes)), np.cumsum(sizes)[:-1])
    low, high = zip(*(part(one) for part, one in zip(parts, levels, strict=True)), strict=True)
    return np.concatenate(low), np.concatenate(high)


def nothing_known(pairs: int) -> Limits:
    """Return limits that leave nothing out."""
    return np.full(pairs, -np.inf), np.full(pairs, np.inf)
