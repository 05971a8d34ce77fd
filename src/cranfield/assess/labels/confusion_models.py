"""Models of workers by their confusions (Dawid and Skene 1979), by expectation-maximisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from cranfield.assess.labels.consensus import Consensus, Tally
from cranfield.assess.labels.reading import gold_levels
from cranfield.assess.labels.table import Labels, refuse_large
from cranfield.base.arrays import Floats
from cranfield.base.errors import (
    PolicyError,
    as_array,
    check_choice,
    check_whole,
    has_numbers,
    quoted,
)
from cranfield.base.text import counted

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


Confusions = tuple[Floats, Floats]
"""Chances of labels (workers, given, true), and the prior."""

UNMET = {"impossible": 0.0, "even": 1.0}
"""The sum of chances of labels for a grade that a worker met no pair of."""


_MOST_SMOOTHING = 1e100
"""Counts beyond are no floats when they are added."""


def dawid_skene(
    labels: Labels,
    *,
    gold: Any = None,
    smoothing: float = 0.0,
    prior: Any = "estimated",
    unmet: str = "impossible",
    tie: str = "low",
    seed: int = 0,
    tolerance: float = 1e-8,
    iterations: int = 5000,
) -> Consensus:
    r"""Estimate the grades and each worker's confusion matrix together.

    .. math:: p_k = \frac{1}{I}\sum_i T_{ik}, \qquad
        \pi^w_{kl} = \frac{s + \sum_i T_{ik} n^w_{il}}{\sum_l (s + \sum_i T_{ik} n^w_{il})}, \qquad
        T_{ik} \propto p_k \prod_w \prod_l (\pi^w_{kl})^{n^w_{il}}

    from the shares of labels as T. The steps maximise the log-likelihood
    \(\sum_i \log \sum_k p_k \prod_w \prod_l (\pi^w_{kl})^{n^w_{il}}\), which never falls; with a
    smoothing s it is the log-likelihood and \(s \sum \log \pi\).

    Parameters
    ----------
    labels
        From :func:`read_labels`; repeated labels all count.
    gold
        Grades that are known, for some pairs: anything that `read_qrels` takes; of items without
        topics also `{item: grade}`, or a file of lines of item and grade. Their T is fixed.
    smoothing
        s, from 0 on.
    prior
        `estimated`, `uniform`, or the chances of the grades, which are then kept.
    unmet
        What 0/0 is, where a worker met no pair of a grade: `impossible`, 0, so that its pairs are
        never of that grade; or `even`, any label alike, so that they may yet be, and the likelihood
        can end higher.
    tie, seed
        As of :func:`majority`.
    tolerance, iterations
        It ends when the objective rises by less than the tolerance, or after that many steps.

    Returns
    -------
    Consensus
        A worker's quality is the chance that its label is the grade, \(\sum_k p_k \pi^w_{kk}\).

    Notes
    -----
    What is found is a local maximum. The likelihood says nothing of what the grades are called: if
    most workers are wrong, so is the result; gold grades help.

    Source: Dawid and Skene (1979), equations 2.3 to 2.5 and 3.1.

    Examples
    --------
    >>> from cranfield.assess import dawid_skene, read_labels
    >>> said = {"ann": (1, 0, 1), "bob": (1, 0, 1), "eve": (0, 1, 1)}
    >>> rows = [("q", f"d{i}", w, g) for w, grades in said.items() for i, g in enumerate(grades)]
    >>> dawid_skene(read_labels(rows)).qrels.grades.tolist()
    [1, 0, 1]
    """
    check_amount("smoothing", smoothing)
    if smoothing > _MOST_SMOOTHING:
        raise PolicyError(f"smoothing must be at most {_MOST_SMOOTHING:g}")
    check_choice("unmet", unmet, UNMET)
    check_steps(tolerance, iterations)
    crowd = Crowd(labels, gold, prior)

    def maximise(posterior: Floats, _: Confusions | None = None) -> Confusions:
        seen = crowd.tally.of(posterior) + smoothing
        total = seen.sum(axis=1, keepdims=True)
        chances = np.full(seen.shape, UNMET[unmet] / labels.grades.size)
        return np.divide(seen, total, out=chances, where=total > 0), crowd.prior(posterior)

    def expect(state: Confusions) -> tuple[Floats, Floats, float]:
        table, share = state
        # What is impossible stays so: the logarithm of nothing is not a very low number here.
        logs = np.where(table > 0, logarithm(table), -np.inf)
        posterior, evidence, value = crowd.chances(crowd.tally.evidence(logs) + logarithm(share))
        return posterior, evidence, value + (smoothing and smoothing * float(logs.sum()))

    end: Climb[Confusions] = climb(
        maximise(crowd.shares()), expect, maximise, tolerance, iterations
    )
    table, share = end.state
    evidence = crowd.expect(table, share)[1]
    return crowd.consensus(
        replace(end, evidence=evidence),
        "dawid-skene",
        prior=share,
        quality=np.einsum("wkk,k->w", table, share),
        parts=lambda: crowd.tally.parts(logarithm(table)),
        tie=tie,
        seed=seed,
        settings={
            **{"smoothing": smoothing, "prior": prior, "unmet": unmet},
            "tolerance": tolerance,
        },
    )


Accuracies = tuple[Floats, Floats]
"""Accuracy of each worker, and the prior."""


def one_coin(
    labels: Labels,
    *,
    gold: Any = None,
    prior: Any = "estimated",
    tie: str = "low",
    seed: int = 0,
    tolerance: float = 1e-8,
    iterations: int = 5000,
) -> Consensus:
    r"""Estimate the grades and one accuracy a worker together.

    .. math:: P(l \mid k) = a_w \text{ if } l = k, \text{ else } \frac{1 - a_w}{K - 1}, \qquad
        a_w = \frac{1}{n_w}\sum_i \sum_k T_{ik} n^w_{ik}

    Parameters are those of :func:`dawid_skene`, of which this is the case with the least to
    estimate: it suits workers with few labels.

    Returns
    -------
    Consensus
        A worker's quality is its accuracy.

    Examples
    --------
    >>> from cranfield.assess import one_coin, read_labels
    >>> said = {"ann": (1, 0, 1), "bob": (1, 0, 1), "eve": (0, 1, 1)}
    >>> rows = [("q", f"d{i}", w, g) for w, grades in said.items() for i, g in enumerate(grades)]
    >>> one_coin(read_labels(rows)).quality.round(4).tolist()
    [1.0, 1.0, 0.3333]
    """
    check_steps(tolerance, iterations)
    crowd = Crowd(labels, gold, prior)
    size = labels.grades.size
    number = np.bincount(labels.worker, minlength=len(labels.workers))

    def maximise(posterior: Floats, _: Accuracies | None = None) -> Accuracies:
        right = diagonal(crowd.tally.of(posterior)).sum(axis=1)
        even = np.full(number.size, 1 / size)
        return np.divide(right, number, out=even, where=number > 0), crowd.prior(posterior)

    def table(accuracy: Floats) -> Floats:
        wrong = np.clip((1 - accuracy) / max(1, size - 1), 0, None)
        return np.where(np.eye(size, dtype=bool), accuracy[:, None, None], wrong[:, None, None])

    end = climb(
        maximise(crowd.shares()),
        lambda state: crowd.expect(table(state[0]), state[1]),
        maximise,
        tolerance,
        iterations,
    )
    accuracy, share = end.state
    return crowd.consensus(
        end,
        "one-coin",
        prior=share,
        quality=accuracy,
        parts=lambda: crowd.tally.parts(logarithm(table(accuracy))),
        tie=tie,
        seed=seed,
        settings={"prior": prior, "tolerance": tolerance},
    )
