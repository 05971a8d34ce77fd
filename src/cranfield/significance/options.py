"""What may be chosen for a comparison."""

from __future__ import annotations

from dataclasses import dataclass

from cranfield.errors import PolicyError, quoted

ALTERNATIVES = ("two-sided", "greater", "less")
MISSING = ("error", "drop", "zero", "available")


@dataclass(frozen=True)
class Options:
    """Options of a comparison.

    Attributes
    ----------
    alternative
        `two-sided`; `greater`: the first system is better; `less`: it is worse.
    alpha
        Significance level, between 0 and 1.
    exact
        Whether to compute p-values exactly; None lets each test decide by the cost.
    exact_n
        Largest number of differences with an exact signed rank test when `exact` is None.
    resamples
        Number B of random samples.
    seed
        Of the random numbers.
    jobs
        Threads; None takes as many as there are processors. It never changes a result.
    """

    alternative: str = "two-sided"
    alpha: float = 0.05
    exact: bool | None = None
    exact_n: int = 25
    resamples: int = 10_000
    seed: int = 0
    jobs: int | None = None

    def __post_init__(self) -> None:
        if self.alternative not in ALTERNATIVES:
            raise PolicyError(
                f"alternative {quoted(self.alternative)} is none of {', '.join(ALTERNATIVES)}"
            )
        if not 0 < self.alpha < 1:
            raise PolicyError(f"alpha must lie between 0 and 1, not {self.alpha}")
        if self.resamples < 1:
            raise PolicyError(f"resamples must be 1 or more, not {self.resamples}")
        if self.seed < 0:
            raise PolicyError(f"the seed must be 0 or more, not {self.seed}")
        if self.exact_n < 0:
            raise PolicyError(f"exact_n must be 0 or more, not {self.exact_n}")
        if self.jobs is not None and self.jobs < 1:
            raise PolicyError(f"jobs must be 1 or more, not {self.jobs}")

    @property
    def two_sided(self) -> bool:
        """Whether differences in both directions count."""
        return self.alternative == "two-sided"
