"""The result of a Bayesian comparison of two systems."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.tabular.frames import Framed

NAMES = {"t": "Bayesian paired t-test", "signed-rank": "Bayesian signed-rank test"}


@dataclass(frozen=True)
class BayesianComparison(Framed):
    """How two systems compare, as probabilities given the scores.

    Attributes
    ----------
    method
        `t` or `signed-rank`.
    measure
        Text form of the measure; empty where it is not known.
    systems
        First and second system.
    n
        Number of topics.
    left_out
        Topics that lack a score, and were left out.
    difference
        Mean of the first minus that of the second.
    p_worse, p_equivalent, p_better
        Posterior probabilities that the first system is worse than the second by more than
        `rope`, that they are practically equivalent, and that the first is better; their sum is 1.
    rope
        Half-width of the region of practical equivalence, in the unit of the scores.
    interval
        Equal-tailed credible interval of first minus second: of the mean difference for `t`, where
        it has the highest density too; of the pseudo-median for `signed-rank`.
    level
        Probability that it contains.
    prior
        Strength of the prior, as a number of topics without a difference; None for `t`.
    samples, seed
        Number and seed of the random samples; None for `t`, which needs none.
    lower_is_better
        Whether the better system is the one with lower scores.
    """

    method: str
    measure: str
    systems: tuple[str, str]
    n: int
    left_out: int
    difference: float
    p_worse: float
    p_equivalent: float
    p_better: float
    rope: float
    interval: tuple[float, float]
    level: float
    prior: float | None
    samples: int | None
    seed: int | None
    lower_is_better: bool = False

    def to_polars(self) -> pl.DataFrame:
        """Return a table with one row."""
        return pl.DataFrame(
            {
                "first": [self.systems[0]],
                "second": [self.systems[1]],
                "difference": [self.difference],
                "low": [self.interval[0]],
                "high": [self.interval[1]],
                "p worse": [self.p_worse],
                "p equivalent": [self.p_equivalent],
                "p better": [self.p_better],
            }
        )

    def __str__(self) -> str:
        first, second = map(plain, self.systems)
        start = f"{plain(self.measure)}: " if self.measure else ""
        drawn = "" if self.samples is None else f"; {self.samples:,} samples, seed {self.seed}"
        left = f" ({self.left_out:,} left out for lack of a score)" if self.left_out else ""
        low, high = self.interval
        of = "mean" if self.method == "t" else "pseudo-median"
        return "\n".join(
            [
                f"{start}{NAMES[self.method]} of {first} and {second},"
                f" {counted(self.n, 'topic')}{left}{drawn}",
                f"mean difference {self.difference:.4f}; {self.level:g} credible interval of the"
                f" {of} [{low:.4f}, {high:.4f}]",
                f"P({first} is worse) = {self.p_worse:.4f}",
                f"P(practically equivalent, within {self.rope:g}) = {self.p_equivalent:.4f}",
                f"P({first} is better) = {self.p_better:.4f}",
            ]
        )
