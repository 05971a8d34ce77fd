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
    r"""Preference of users between two rankers A and B, with tests and confidence intervals.

    Each interval comes from the test whose p-value stands beside it: it excludes the value of equal
    rankers if and only if that p-value is at most 1 - confidence.

    Attributes
    ----------
    names
        A and B; wins are those of A.
    unit
        Unit of the sign test and of the bootstrap, such as `user`.
    wins, losses, ties
        Impressions in which A had more credit, less, and as much as B.
    unit_wins, unit_losses, unit_ties
        Units with more wins of A than losses, with more losses, and the others.
    expected
        Share of wins among wins and losses of two equal rankers.
    pvalue
        P-value of the exact sign test by unit, without ties: twice the smaller tail of the binomial
        distribution.
    z
        Wins by unit less those expected, by their standard deviation if rankers are equal.
    unit_limits
        Interval of `unit_outcome` (Clopper and Pearson, 1934), which belongs to the sign test.
    outcome_limits, delta_limits, outcome_pvalue, delta_pvalue
        Intervals and p-values of `outcome` and `delta`. Where each unit has one impression they are
        those of the sign test, given the number of ties; otherwise percentiles of a bootstrap over
        units. NaN if all resamples are equal.
    credit, credit_limits, credit_pvalue
        Mean over units of a unit's mean difference of credit, A minus B, with the interval and
        p-value of Student's t-test. NaN if only counts are known, and no interval if the
        difference is the same in all units.
    confidence
        Confidence level of the intervals.
    resamples, seed
        Number of bootstrap resamples, 0 where there is no bootstrap, and the seed.
    notes
        Notes for the reader, such as excluded impressions.
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
    unit_limits: Limits
    outcome_limits: Limits
    delta_limits: Limits
    outcome_pvalue: float
    delta_pvalue: float
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
        """Proportion of wins among the units that are not ties."""
        return float(outcome_of(np.array([self.unit_wins, self.unit_losses, 0])))

    @property
    def alpha(self) -> float:
        """Significance level: 1 - confidence."""
        return round(1 - self.confidence, 12)

    def to_polars(self) -> pl.DataFrame:
        """Return one row per statistic: value, interval, p-value, and the method of both."""
        exact = "sign test, Clopper-Pearson"
        method = f"bootstrap by {self.unit}" if self.resamples else exact
        outcome = (self.outcome, *self.outcome_limits, self.outcome_pvalue, method)
        delta = (self.delta, *self.delta_limits, self.delta_pvalue, method)
        unit = (self.unit_outcome, *self.unit_limits, self.pvalue, exact)
        credit = (self.credit, *self.credit_limits, self.credit_pvalue, "t-test")
        rows = [("outcome", "impression", *outcome), ("Delta", "impression", *delta)]
        if self.unit != "impression":
            rows.append(("outcome", self.unit, *unit))
        if not np.isnan(self.credit):
            rows.append(("difference of credit", self.unit, *credit))
        names = ["statistic", "of", "value", "low", "high", "p", "method"]
        frame = pl.DataFrame(rows, schema=names, orient="row")
        return frame.with_columns(pl.selectors.float().fill_nan(None))

    def summary(self) -> str:
        """Return one sentence with the result: of the sign test, or else of the bootstrap."""
        a, b = self.names
        decided = self.wins + self.losses
        if not decided:
            return f"No impression decides between {a} and {b}: {counted(self.ties, 'tie')}."
        equal = "" if self.expected == 0.5 else f"; {100 * self.expected:g}% if rankers are equal"
        said = (
            f"Of {counted(decided, 'impression')} that decide{'s' if decided == 1 else ''} between"
            f" {a} and {b}, {a} wins {self.wins:,} ({100 * self.outcome:.1f}%;"
            f" {counted(self.ties, 'more tie')}{equal})."
        )
        pvalue, share, test = self.pvalue, self.unit_outcome, f"sign test by {self.unit}"
        if np.isnan(pvalue):
            # The expected proportion is one of impressions: only the bootstrap tests it.
            pvalue, share, test = self.outcome_pvalue, self.outcome, f"bootstrap by {self.unit}"
        if np.isnan(pvalue):
            return f"{said} The difference was not tested."
        sure = f"{test}: p = {pvalue:.2g}"
        if pvalue > self.alpha:
            return f"{said} The difference is not significant at {self.alpha:g} ({sure})."
        return f"{said} Users prefer {a if share > self.expected else b} ({sure})."

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
            f" {self.expected:g}{self._by_bootstrap(self.outcome_pvalue)}",
            f"  Delta {number(self.delta)} ({_limits(self.delta_limits)})"
            f"{self._by_bootstrap(self.delta_pvalue)}",
            *(
                [
                    f"  outcome by {self.unit} {number(self.unit_outcome)}"
                    f" ({_limits(self.unit_limits)})"
                ]
                if self.unit != "impression"
                else []
            ),
            f"  sign test by {self.unit}: z {number(self.z, 2)}, p {self.pvalue:.4g}",
            *(f"  note: {note}" for note in self.notes),
        ]
        return "\n".join(lines)

    def _by_bootstrap(self, pvalue: float) -> str:
        if not self.resamples or np.isnan(pvalue):
            return ""
        return f", bootstrap p {pvalue:.4g}"

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
    return between(*ends) or "no interval"
