"""What a policy is worth, with limits, what its weights are like, and what makes it doubtful."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.collection.judged.segments import ratio
from cranfield.online.off_policy.limits_by_unit import Limited, LimitsBy
from cranfield.tabular import between, number
from cranfield.tabular.frames import Framed

FEW = 100
"""Effective sample size below which limits are not to be relied on."""

ALONE = 0.05
"""Share of all weight above which one draw decides too much."""

FAR = 3.0
"""Standard errors that the mean weight may be off 1."""


@dataclass(frozen=True)
class WeightSummary:
    """What weights are like, as they were used.

    Attributes
    ----------
    number
        How many there are: a weight for each action, or for each list.
    effective
        Effective sample size :math:`(\\sum w)^2 / \\sum w^2` (Kish, 1965).
    mean, largest
        Of the weights; the mean is 1 but for chance, if they are not clipped.
    heaviest
        Share of the sum of all weights that the heaviest hundredth of them holds.
    clip, clipped
        Where weights were cut, None for nowhere, and the share of weights that were.
    """

    number: int
    effective: float
    mean: float
    largest: float
    heaviest: float
    clip: float | None = None
    clipped: float = 0.0

    @classmethod
    def of(cls, weights: Floats, clip: float | None) -> WeightSummary:
        """Look at weights, not clipped yet."""
        used = weights if clip is None else np.minimum(weights, clip)
        if not used.size or not np.isfinite(used).all():
            raise PolicyError("weights are finite numbers, one at least")
        with np.errstate(over="ignore"):
            total, squares = used.sum(), np.square(used).sum()
            fits = np.isfinite(np.square(total) + squares)
        if not fits:
            raise PolicyError("weights are so large that their squares have no finite sum")
        size = int(np.ceil(0.01 * used.size))
        top = np.partition(used, -size)[-size:].sum()
        return cls(
            number=used.size,
            effective=float(ratio(np.square(total), squares)),
            mean=float(used.mean()),
            largest=float(used.max(initial=0.0)),
            heaviest=float(ratio(top, total)),
            clip=None if clip is None else float(clip),
            clipped=float((weights > clip).mean()) if clip is not None else 0.0,
        )

    def __str__(self) -> str:
        cut = "" if self.clip is None else f", {100 * self.clipped:.2f}% cut at {self.clip:g}"
        return (
            f"effective sample size {self.effective:,.1f} of {self.number:,}; weights: mean"
            f" {self.mean:.4f}, largest {self.largest:.4g}, the heaviest hundredth"
            f" {100 * self.heaviest:.1f}% of all{cut}"
        )

    def doubts(self) -> list[str]:
        """Say what makes an estimate by these weights doubtful."""
        said = []
        if self.effective < FEW:
            said.append(f"effective sample size {self.effective:.1f}: limits are not to be trusted")
        if self.largest > ALONE * self.mean * self.number:
            share = 100 * self.largest / (self.mean * self.number) if self.mean else 0.0
            said.append(f"one weight is {share:.0f}% of all")
        if self.clipped:
            said.append(f"{100 * self.clipped:.2f}% of weights are cut, which biases the estimate")
        return said


@dataclass(frozen=True, eq=False, repr=False)
class PolicyValue(Framed):
    """What a policy is worth, with limits; made by :func:`policy_value` and :func:`run_value`.

    Attributes
    ----------
    estimator
        What was estimated and how.
    means
        Of the policy, of what was logged, and of their difference: `estimate`, `standard_error`,
        `low` and `high`, each of shape (3,).
    lists, units, unit
        Lists that were averaged, the number of independent units that they belong to, and what
        these are.
    weights
        What weights are like; None without any.
    unseen
        Share of what the policy would show that the log does not show there, and of which nothing
        is known; NaN where the log does not tell.
    how
        How the limits were made: `confidence`, `resamples` of the bootstrap (0: Student's t) and
        its `seed`.
    warnings
        What makes the estimate doubtful.
    """

    estimator: str
    means: Limited
    lists: int
    units: int
    unit: str
    weights: WeightSummary | None
    unseen: float
    how: LimitsBy
    warnings: tuple[str, ...]

    @property
    def estimate(self) -> float:
        """What the policy is worth: the mean over lists of the sum of rewards."""
        return float(self.means.estimate[0])

    @property
    def standard_error(self) -> float:
        """Standard error of the estimate; NaN of one unit."""
        return float(self.means.standard_error[0])

    @property
    def low(self) -> float:
        """Lower limit of the estimate."""
        return float(self.means.low[0])

    @property
    def high(self) -> float:
        """Upper limit of the estimate."""
        return float(self.means.high[0])

    @property
    def logged(self) -> float:
        """What was logged is worth, in the same rewards."""
        return float(self.means.estimate[1])

    @property
    def relative(self) -> float:
        """The estimate by what was logged; NaN if that is worth nothing."""
        return self.estimate / self.logged if self.logged else float("nan")

    @property
    def ess(self) -> float:
        """Effective sample size; NaN without weights."""
        return float("nan") if self.weights is None else self.weights.effective

    def to_polars(self) -> pl.DataFrame:
        """Return a row for the policy, the log, and their difference."""
        return pl.DataFrame(
            {
                "value": ["policy", "logged", "difference"],
                "estimate": self.means.estimate,
                "standard_error": self.means.standard_error,
                "low": self.means.low,
                "high": self.means.high,
            }
        ).with_columns(pl.selectors.float().fill_nan(None))

    def __str__(self) -> str:
        lines = [
            f"  {name:<10}  {number(estimate, 6)} ({between(low, high, 6) or 'no interval'})"
            for name, estimate, _, low, high in self.to_polars().rows()
        ]
        if self.weights is not None:
            lines.append(f"  {self.weights}")
        lines.append(f"  limits: {100 * self.how.confidence:g}%, {self.how.name}, by {self.unit}")
        lines += [f"  warning: {said}" for said in self.warnings]
        return "\n".join([repr(self), *lines])

    def __repr__(self) -> str:
        of = counted(self.lists, "list")
        if self.unit != "list":
            of += f" by {self.unit}, {self.units:,} of them"
        return f"PolicyValue({self.estimator}: {self.estimate:.6g}, {of})"
