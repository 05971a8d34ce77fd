"""Which of two rankers users prefer, from wins, losses and ties of interleaving."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.words import counted
from cranfield.tabular import between, number
from cranfield.tabular.frames import Framed

Limits = tuple[float, float]


@dataclass(frozen=True, eq=False, repr=False)
class Preference(Framed):
    r"""What impressions say of two rankers A and B, and how sure that is.

    Attributes
    ----------
    names
        A and B; wins are those of A.
    unit
        What was counted by the test and drawn by the bootstrap, such as `user`.
    wins, losses, ties
        Impressions in which A had more credit, less, and as much as B.
    unit_wins, unit_losses, unit_ties
        Units with more wins of A than losses, with more losses, and the others.
    expected
        Share of wins among wins and losses of two equal rankers.
    pvalue
        Of the exact two-sided sign test by unit, without ties.
    z
        Wins by unit less those expected, by their standard deviation if rankers are equal.
    wilson
        Limits of the share of wins among wins and losses of *units*, by Wilson (1927).
    outcome_limits, delta_limits
        Limits of `outcome` and `delta` by the percentile bootstrap over units.
    credit, credit_limits, credit_pvalue
        Mean over units of a unit's mean difference of credit, A less B, with limits and p-value by
        Student's t; NaN where only counts are known.
    confidence, resamples, seed
        Of the limits and of the bootstrap.
    notes
        What should be known.
    """

    names: tuple[str, str]
    unit: str
    wins: int
    losses: int
    ties: int
    unit_wins: int
    unit_losses: int
    unit_ties: int
    expected: float
    pvalue: float
    z: float
    wilson: Limits
    outcome_limits: Limits
    delta_limits: Limits
    credit: float
    credit_limits: Limits
    credit_pvalue: float
    confidence: float
    resamples: int
    seed: int
    notes: tuple[str, ...] = ()

    @property
    def impressions(self) -> int:
        """Number of impressions."""
        return self.wins + self.losses + self.ties

    @property
    def units(self) -> int:
        """Number of units."""
        return self.unit_wins + self.unit_losses + self.unit_ties

    @property
    def outcome(self) -> float:
        r"""Share of wins of the impressions that are no ties, :math:`w / (w + l)`."""
        return float(outcome_of(np.array([self.wins, self.losses, self.ties])))

    @property
    def delta(self) -> float:
        r""":math:`\Delta_{AB} = (w + t/2) / (w + l + t) - 1/2` (Chapelle et al., 2012)."""
        return float(delta_of(np.array([self.wins, self.losses, self.ties])))

    @property
    def unit_outcome(self) -> float:
        """Share of wins of the units that are no ties."""
        return float(outcome_of(np.array([self.unit_wins, self.unit_losses, 0])))

    def to_polars(self) -> pl.DataFrame:
        """Return a row a statistic: its `value`, its limits, how these were made, and of what."""
        rows = [
            ("outcome", "impression", self.outcome, self.outcome_limits, "bootstrap"),
            ("Delta", "impression", self.delta, self.delta_limits, "bootstrap"),
            ("outcome", self.unit, self.unit_outcome, self.wilson, "Wilson"),
            ("difference of credit", self.unit, self.credit, self.credit_limits, "Student's t"),
        ]
        return pl.DataFrame(
            {
                "statistic": [row[0] for row in rows],
                "of": [row[1] for row in rows],
                "value": [row[2] for row in rows],
                "low": [row[3][0] for row in rows],
                "high": [row[3][1] for row in rows],
                "limits": [row[4] for row in rows],
            }
        ).with_columns(pl.selectors.float().fill_nan(None))

    def summary(self) -> str:
        """Say in plain words what was found."""
        a, b = self.names
        decided = self.wins + self.losses
        if not decided:
            return f"No impression decides between {a} and {b}: {counted(self.ties, 'tie')}."
        said = (
            f"Of {counted(decided, 'impression')} that decide{'s' if decided == 1 else ''} between"
            f" {a} and {b}, {a} wins {self.wins:,} ({100 * self.outcome:.1f}%;"
            f" {counted(self.ties, 'more tie')})."
        )
        if np.isnan(self.pvalue):
            return f"{said} Whether they differ is not tested."
        wins = self.unit_wins > self.expected * (self.unit_wins + self.unit_losses)
        sure = f"sign test by {self.unit}: p = {self.pvalue:.2g}"
        if self.pvalue > 1 - self.confidence:
            return f"{said} That is no evidence that users prefer either ({sure})."
        return f"{said} Users prefer {a if wins else b} ({sure})."

    def __str__(self) -> str:
        lines = [
            repr(self),
            f"  wins {self.wins:,}, losses {self.losses:,}, ties {self.ties:,}"
            + (
                f"; by {self.unit} {self.unit_wins:,}, {self.unit_losses:,}, {self.unit_ties:,}"
                if self.unit != "impression"
                else ""
            ),
            f"  outcome {number(self.outcome)} ({_limits(self.outcome_limits)}), expected"
            f" {self.expected:g}",
            f"  Delta {number(self.delta)} ({_limits(self.delta_limits)})",
            f"  sign test by {self.unit}: z {number(self.z, 2)}, p {self.pvalue:.4g}",
            *(f"  note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        a, b = self.names
        return (
            f"Preference({a} against {b}: outcome {number(self.outcome)} of"
            f" {counted(self.impressions, 'impression')}, p {self.pvalue:.3g} by {self.unit})"
        )


def outcome_of(counts: Ints) -> Floats:
    """Return w / (w + l) of wins, losses and ties, NaN where there are only ties."""
    wins, losses = counts[..., 0], counts[..., 1]
    with np.errstate(invalid="ignore"):
        return np.asarray(np.divide(wins, wins + losses))


def delta_of(counts: Ints) -> Floats:
    return np.asarray((counts[..., 0] - counts[..., 1]) / (2 * counts.sum(axis=-1)))


def _limits(ends: Limits) -> str:
    return between(*ends) or "no limits"
