"""Expectation-maximisation, and what the models of workers share of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from cranfield.assess.labels.consensus import Consensus, Tally
from cranfield.assess.labels.gold import gold_levels
from cranfield.assess.labels.table import Labels, refuse_large
from cranfield.base.arrays import Floats
from cranfield.base.checks import as_array, check_whole, has_numbers
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.words import counted

State = TypeVar("State")

LEAST = 1e-300
"""What a chance of nothing is taken as in a logarithm."""

PRIORS = ("estimated", "uniform")


@dataclass(frozen=True)
class Climb(Generic[State]):
    """Where the steps ended."""

    state: State
    posterior: Floats
    evidence: Floats
    objective: Floats
    converged: bool


def climb(
    start: State,
    expect: Callable[[State], tuple[Floats, Floats, float]],
    maximise: Callable[[Floats, State], State],
    tolerance: float,
    iterations: int,
) -> Climb[State]:
    """Make steps until the objective rises by less than the tolerance.

    `expect` gives chances, evidence and the objective of a state, `maximise` the next state.
    """
    state, objective, converged = start, list[float](), False
    while True:
        posterior, evidence, value = expect(state)
        objective.append(value)
        if len(objective) > 1:
            # Below this, a rise is rounding.
            least = max(tolerance, 8 * np.finfo(float).eps * abs(value))
            converged = value - objective[-2] < least
        if converged or len(objective) >= iterations:
            return Climb(state, posterior, evidence, np.array(objective), converged)
        state = maximise(posterior, state)


class Crowd:
    """Labels, known grades and the prior, as every model of workers needs them."""

    def __init__(self, labels: Labels, gold: Any, prior: Any) -> None:
        grades = labels.grades.size
        refuse_large({"worker": len(labels.workers), "grade": grades, "true grade": grades})
        refuse_large({"label": len(labels), "grade": grades})
        self.labels = labels
        self.tally = Tally(labels)
        self.gold, self.notes = gold_levels(gold, labels)
        self.known = np.flatnonzero(self.gold >= 0)
        self.fixed = _prior(prior, labels.grades.size)

    def shares(self) -> Floats:
        """Shares of labels, and certainty where the grade is known: where the steps start."""
        votes = self.labels.counts.toarray().astype(np.float64)
        return self.held(votes / votes.sum(axis=1, keepdims=True))

    def held(self, posterior: Floats) -> Floats:
        posterior[self.known] = 0
        posterior[self.known, self.gold[self.known]] = 1
        return posterior

    def prior(self, posterior: Floats) -> Floats:
        return posterior.mean(axis=0) if self.fixed is None else self.fixed

    def expect(self, table: Floats, prior: Floats) -> tuple[Floats, Floats, float]:
        """Return chances, evidence in logarithms, and the log-likelihood, by a table of chances."""
        return self.chances(self.tally.evidence(logarithm(table)) + logarithm(prior))

    def chances(self, evidence: Floats) -> tuple[Floats, Floats, float]:
        if self.known.size:
            own = evidence[self.known, self.gold[self.known]].copy()
            evidence[self.known] = -np.inf
            evidence[self.known, self.gold[self.known]] = own
        most = evidence.max(axis=1, keepdims=True)
        odds = np.exp(evidence - most)
        total = odds.sum(axis=1, keepdims=True)
        return odds / total, evidence, float((most + np.log(total)).sum())

    def consensus(
        self,
        end: Climb[Any],
        method: str,
        prior: Floats,
        quality: Floats,
        parts: Callable[[], Floats],
        tie: str,
        seed: int,
        settings: dict[str, Any],
        parameters: dict[str, Floats] | None = None,
    ) -> Consensus:
        return Consensus(
            labels=self.labels,
            method=method,
            posterior=end.posterior,
            quality=quality,
            prior=prior,
            objective=end.objective,
            converged=end.converged,
            tie=tie,
            seed=seed,
            gold=self.gold >= 0,
            evidence=end.evidence,
            parts=parts,
            settings=settings,
            parameters=parameters or {},
            notes=self.notes,
        )


def logarithm(chances: Floats) -> Floats:
    return np.log(np.maximum(chances, LEAST))


def diagonal(tallies: Floats) -> Floats:
    """Labels that are the true grade, by worker and grade."""
    return np.asarray(np.diagonal(tallies, axis1=1, axis2=2))


def check_steps(tolerance: Any, iterations: Any) -> None:
    check_whole("iterations", iterations, 1)
    check_amount("tolerance", tolerance)


def check_amount(name: str, value: Any) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value < np.inf:
        raise PolicyError(f"{name} must be a finite number from 0, not {value!r}")


def _prior(prior: Any, grades: int) -> Floats | None:
    if isinstance(prior, str):
        if prior not in PRIORS:
            raise PolicyError(f"prior {quoted(prior)} is none of {', '.join(PRIORS)}, and no list")
        return None if prior == "estimated" else np.full(grades, 1 / grades)
    wrong = f"prior: {counted(grades, 'chance')} that sum to 1, not {quoted(prior)}"
    made = as_array(prior, wrong)
    if made.shape != (grades,) or not has_numbers(made):
        raise PolicyError(wrong)
    made = made.astype(np.float64)
    if not (np.isfinite(made).all() and (made >= 0).all() and abs(made.sum() - 1) < 1e-6):
        raise PolicyError(wrong)
    return np.asarray(made / made.sum())
