"""Models of workers: Dawid-Skene and one-coin, GLAD, MACE, fitted by expectation-maximisation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cranfield.assess.labels import crowd_model
from cranfield.assess.labels.consensus import Consensus, Tally, at_level, check_amount
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
from cranfield.base.streams import stream
from cranfield.base.text import counted

LEAST = 1e-300
"""Smallest probability in a logarithm."""

PRIORS = ("estimated", "uniform")

UNMET = {"impossible": 0.0, "even": 1.0}
"""Sum of the label probabilities of a worker, given a grade that none of its pairs has."""

INFERENCES = ("variational", "em")

_MOST_SMOOTHING = 1e100
_LEAST_SPREAD = 1e-100
"""Bounds of smoothing and spread that avoid overflow and underflow."""

STEEPEST = 30.0
"""Logarithm of ease beyond which no probability changes."""

SAME = 0.01
"""Difference of the objective up to which random starts have the same optimum."""

COPYING, SPAM = 0.5, 10.0
"""Parameters of the Beta and the Dirichlet prior (Hovy et al., section 2.2)."""


@dataclass(frozen=True)
class Climb:
    """Result of the iterations; `state` holds the parameters of the model."""

    state: Any
    posterior: Floats
    evidence: Floats
    objective: Floats
    converged: bool


def climb(
    start: Any,
    expect: Callable[[Any], tuple[Floats, Floats, float]],
    maximise: Callable[[Floats, Any], Any],
    tolerance: float,
    iterations: int,
) -> Climb:
    """Iterate until the objective rises by less than the tolerance; `expect` returns it last."""
    state, objective, converged = start, list[float](), False
    while True:
        posterior, evidence, value = expect(state)
        objective.append(value)
        if len(objective) > 1:
            # A smaller rise is rounding.
            min_rise = max(tolerance, 8 * np.finfo(float).eps * abs(value))
            converged = value - objective[-2] < min_rise
        if converged or len(objective) >= iterations:
            return Climb(state, posterior, evidence, np.array(objective), converged)
        state = maximise(posterior, state)


class Crowd:
    """Labels, gold grades and the prior: the input of every model."""

    def __init__(
        self, labels: Labels, gold: Any, prior: Any, tolerance: Any, iterations: Any
    ) -> None:
        check_whole("iterations", iterations, 1)
        check_amount("tolerance", tolerance)
        grades = labels.grades.size
        refuse_large({"worker": len(labels.workers), "grade": grades, "true grade": grades})
        refuse_large({"label": len(labels), "grade": grades})
        self.labels = labels
        self.tally = Tally(labels)
        self.gold, self.notes = gold_levels(gold, labels)
        self.gold_pairs = np.flatnonzero(self.gold >= 0)
        self.fixed = _prior(prior, grades)

    def shares(self) -> Floats:
        """Return the starting point: proportions of labels, and certainty of gold grades."""
        votes = np.asarray(self.labels.counts.toarray(), dtype=np.float64)
        posterior: Floats = votes / votes.sum(axis=1, keepdims=True)
        posterior[self.gold_pairs] = 0
        posterior[self.gold_pairs, self.gold[self.gold_pairs]] = 1
        return posterior

    def prior(self, posterior: Floats) -> Floats:
        return np.asarray(posterior.mean(axis=0) if self.fixed is None else self.fixed)

    def expect(self, table: Floats, prior: Floats) -> tuple[Floats, Floats, float]:
        """Return posterior, log evidence and log-likelihood for a table of label probabilities."""
        evidence = self.tally.evidence(logarithm(table)) + logarithm(prior)
        return self.posterior(evidence)

    def posterior(self, evidence: Floats) -> tuple[Floats, Floats, float]:
        if self.gold_pairs.size:
            gold_evidence = evidence[self.gold_pairs, self.gold[self.gold_pairs]].copy()
            evidence[self.gold_pairs] = -np.inf
            evidence[self.gold_pairs, self.gold[self.gold_pairs]] = gold_evidence
        largest = evidence.max(axis=1, keepdims=True)
        odds = np.exp(evidence - largest)
        total = odds.sum(axis=1, keepdims=True)
        return odds / total, evidence, float((largest + np.log(total)).sum())

    def consensus(self, end: Climb, method: str, **values: Any) -> Consensus:
        return Consensus(
            labels=self.labels,
            method=method,
            posterior=end.posterior,
            objective=end.objective,
            converged=end.converged,
            gold=self.gold >= 0,
            evidence=end.evidence,
            notes=self.notes,
            **values,
        )


def logarithm(probabilities: Floats) -> Floats:
    return np.log(np.maximum(probabilities, LEAST))


def right_labels(tallies: Floats) -> Floats:
    """Return the tallies of correct labels, by worker and grade."""
    return np.asarray(np.diagonal(tallies, axis1=1, axis2=2))


def _prior(prior: Any, grades: int) -> Floats | None:
    if isinstance(prior, str):
        if prior not in PRIORS:
            raise PolicyError(
                f"unknown prior {quoted(prior)}; expected a list, or one of: {', '.join(PRIORS)}"
            )
        return None if prior == "estimated" else np.full(grades, 1 / grades)
    reason = f"prior: expected {counted(grades, 'number')} that sum to 1, got {quoted(prior)}"
    probabilities = as_array(prior, reason)
    if probabilities.shape != (grades,) or not has_numbers(probabilities):
        raise PolicyError(reason)
    probabilities = probabilities.astype(np.float64)
    if not ((probabilities >= 0).all() and abs(probabilities.sum() - 1) < 1e-6):
        raise PolicyError(reason)
    return np.asarray(probabilities / probabilities.sum())


@crowd_model
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

    starting with the proportions of labels as T. The steps maximise the log-likelihood
    \(\sum_i \log \sum_k p_k \prod_w \prod_l (\pi^w_{kl})^{n^w_{il}}\), which never falls; with a
    smoothing s it is the log-likelihood and \(s \sum \log \pi\).

    Parameters
    ----------
    labels
        From :func:`read_labels`; each repeated label counts.
    gold
        Known grades of some pairs: anything that `read_qrels` takes; of items without topics also
        `{item: grade}`, or a file of lines of item and grade. T is fixed for these pairs.
    smoothing
        s, 0 or more.
    prior
        `estimated`, `uniform`, or fixed probabilities of the grades.
    unmet
        The probabilities of a worker's labels given a grade that none of its pairs has, which are
        0/0. With `impossible` they are 0, so that its pairs never get that grade. With `even` all
        labels have the same probability, so that its pairs can still get that grade, and the
        likelihood can become higher.
    tie, seed
        As for :func:`majority`.
    tolerance, iterations
        Stop when the objective rises by less than the tolerance, or after that many steps.

    Returns
    -------
    Consensus
        A worker's quality is the probability that its label is the grade,
        \(\sum_k p_k \pi^w_{kk}\).

    Notes
    -----
    The result is a local maximum. The likelihood does not depend on the names of grades: if most
    workers are wrong, so is the result; gold grades help.

    Source: Dawid and Skene (1979), equations 2.3 to 2.5 and 3.1.

    Examples
    --------
    >>> from cranfield.assess import dawid_skene, read_labels
    >>> answers = {"ann": (1, 0, 1), "bob": (1, 0, 1), "eve": (0, 1, 1)}
    >>> rows = [("q", f"d{i}", w, g) for w, grades in answers.items() for i, g in enumerate(grades)]
    >>> dawid_skene(read_labels(rows)).qrels.grades.tolist()
    [1, 0, 1]
    """
    check_amount("smoothing", smoothing)
    if smoothing > _MOST_SMOOTHING:
        raise PolicyError(f"smoothing must be at most {_MOST_SMOOTHING:g}")
    check_choice("unmet", unmet, UNMET)
    crowd = Crowd(labels, gold, prior, tolerance, iterations)

    # The state: probabilities of labels (workers, given, true), and the prior.
    def maximise(posterior: Floats, _: Any = None) -> tuple[Floats, Floats]:
        tallies = crowd.tally.of(posterior) + smoothing
        total = tallies.sum(axis=1, keepdims=True)
        chances = np.full(tallies.shape, UNMET[unmet] / labels.grades.size)
        return np.divide(tallies, total, out=chances, where=total > 0), crowd.prior(posterior)

    def expect(state: tuple[Floats, Floats]) -> tuple[Floats, Floats, float]:
        table, share = state
        # Impossible labels stay impossible: their logarithm is minus infinity here.
        logs = np.where(table > 0, logarithm(table), -np.inf)
        posterior, evidence, value = crowd.posterior(crowd.tally.evidence(logs) + logarithm(share))
        return posterior, evidence, value + (smoothing and smoothing * float(logs.sum()))

    end = climb(maximise(crowd.shares()), expect, maximise, tolerance, iterations)
    table, share = end.state
    return crowd.consensus(
        replace(end, evidence=crowd.expect(table, share)[1]),
        "dawid-skene",
        prior=share,
        quality=np.einsum("wkk,k->w", table, share),
        parts=lambda: crowd.tally.parts(logarithm(table)),
        tie=tie,
        seed=seed,
        settings={"smoothing": smoothing, "prior": prior, "unmet": unmet, "tolerance": tolerance},
    )


@crowd_model
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
    r"""Estimate the grades and one accuracy per worker together.

    .. math:: P(l \mid k) = a_w \text{ if } l = k, \text{ else } \frac{1 - a_w}{K - 1}, \qquad
        a_w = \frac{1}{n_w}\sum_i \sum_k T_{ik} n^w_{ik}

    Parameters are those of :func:`dawid_skene`, of which this is the case with the fewest
    estimates: it suits workers with few labels.

    Returns
    -------
    Consensus
        A worker's quality is its accuracy.

    Examples
    --------
    >>> from cranfield.assess import one_coin, read_labels
    >>> answers = {"ann": (1, 0, 1), "bob": (1, 0, 1), "eve": (0, 1, 1)}
    >>> rows = [("q", f"d{i}", w, g) for w, grades in answers.items() for i, g in enumerate(grades)]
    >>> one_coin(read_labels(rows)).quality.round(4).tolist()
    [1.0, 1.0, 0.3333]
    """
    crowd = Crowd(labels, gold, prior, tolerance, iterations)
    size = labels.grades.size
    number = np.bincount(labels.worker, minlength=len(labels.workers))

    # The state: the accuracy of each worker, and the prior.
    def maximise(posterior: Floats, _: Any = None) -> tuple[Floats, Floats]:
        right = right_labels(crowd.tally.of(posterior)).sum(axis=1)
        even = np.full(number.size, 1 / size)
        return np.divide(right, number, out=even, where=number > 0), crowd.prior(posterior)

    def table(accuracy: Floats) -> Floats:
        wrong = np.clip((1 - accuracy) / max(1, size - 1), 0, None)
        return np.where(np.eye(size, dtype=bool), accuracy[:, None, None], wrong[:, None, None])

    def expect(state: tuple[Floats, Floats]) -> tuple[Floats, Floats, float]:
        return crowd.expect(table(state[0]), state[1])

    end = climb(maximise(crowd.shares()), expect, maximise, tolerance, iterations)
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


@crowd_model
def glad(
    labels: Labels,
    *,
    gold: Any = None,
    prior: Any = "uniform",
    spread: float = 1.0,
    tie: str = "low",
    seed: int = 0,
    tolerance: float = 1e-6,
    iterations: int = 2000,
) -> Consensus:
    r"""Estimate the grades, the ability of workers and the ease of pairs together.

    .. math:: P(l = k) = \sigma(\alpha_w e^{b_i}), \qquad
        P(l \ne k) = \frac{1 - \sigma(\alpha_w e^{b_i})}{K - 1}

    with normal priors of mean 1 on \(\alpha\) and b. The objective, maximised from these means
    on, is the log-likelihood plus the log density of the priors, without constants. At each step
    the gradient of the expected log-likelihood, which expectation-maximisation climbs, equals that
    of the log-likelihood, so both end at the same points; L-BFGS gets there in fewer steps.

    Parameters
    ----------
    labels, gold, tie, seed
        As for :func:`dawid_skene`.
    prior
        `uniform`, or the probabilities of the grades.
    spread
        Standard deviation of the normal priors.
    tolerance, iterations
        Stop when the objective rises by less than the tolerance, or after that many steps.

    Returns
    -------
    Consensus
        A worker's quality is its probability to be right on a pair of ease 1,
        \(\sigma(\alpha_w)\); `parameters` has `ability`, \(\alpha\), and `ease`, \(e^b\).

    Notes
    -----
    Source: Whitehill, Ruvolo, Wu, Bergsma and Movellan (2009).

    Examples
    --------
    >>> from cranfield.assess import glad, read_labels
    >>> answers = {"ann": (1, 0, 1), "bob": (1, 0, 1), "eve": (0, 1, 1)}
    >>> rows = [("q", f"d{i}", w, g) for w, grades in answers.items() for i, g in enumerate(grades)]
    >>> glad(read_labels(rows)).qrels.grades.tolist()
    [1, 0, 1]
    """
    from scipy.optimize import minimize
    from scipy.special import expit, log_expit

    check_amount("spread", spread)
    if spread < _LEAST_SPREAD:
        raise PolicyError(f"spread must be at least {_LEAST_SPREAD:g}")
    if isinstance(prior, str) and prior == "estimated":
        raise PolicyError(
            "prior of GLAD must be 'uniform' or a list of probabilities, got 'estimated'"
        )
    crowd = Crowd(labels, gold, prior, tolerance, iterations)
    share = np.asarray(crowd.fixed)
    workers, shape = len(labels.workers), (len(labels.docs), labels.grades.size)
    log_share, log_others = logarithm(share), np.log(max(1, shape[1] - 1))
    cell = labels.pair * np.int64(shape[1]) + labels.level

    def strength(point: Floats) -> tuple[Floats, Floats]:
        ease = np.exp(np.clip(point[workers:], -STEEPEST, STEEPEST))
        return ease, point[labels.worker] * ease[labels.pair]

    def expect(point: Floats) -> tuple[Floats, Floats, float]:
        _, sure = strength(point)
        wrong = np.bincount(labels.pair, weights=log_expit(-sure) - log_others, minlength=shape[0])
        right = np.bincount(cell, weights=sure + log_others, minlength=shape[0] * shape[1])
        posterior, evidence, value = crowd.posterior(
            right.reshape(shape) + wrong[:, None] + log_share
        )
        return posterior, evidence, value - ((point - 1) ** 2).sum() / (2 * spread**2)

    def downhill(point: Floats) -> tuple[float, Floats]:
        ease, sure = strength(point)
        posterior, _, value = expect(point)
        pull = (posterior.ravel()[cell] - expit(sure)) * ease[labels.pair]
        of_ease = np.bincount(labels.pair, weights=pull * point[labels.worker], minlength=shape[0])
        of_ease[np.abs(point[workers:]) > STEEPEST] = 0
        of_worker = np.bincount(labels.worker, weights=pull, minlength=workers)
        return -value, (point - 1) / spread**2 - np.concatenate([of_worker, of_ease])

    start = np.ones(workers + shape[0])
    objective = [expect(start)[2]]
    optimum = minimize(
        downhill,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=lambda intermediate_result: objective.append(-intermediate_result.fun),
        options={"maxiter": iterations, "maxfun": 4 * iterations, "ftol": 0.0, "gtol": 1e-5},
    )
    posterior, evidence, _ = expect(optimum.x)
    ease, sure = strength(optimum.x)
    return crowd.consensus(
        Climb(optimum.x, posterior, evidence, np.array(objective), optimum.success),
        "glad",
        prior=share,
        quality=expit(optimum.x[:workers]),
        parts=lambda: at_level(labels, sure + log_others),
        tie=tie,
        seed=seed,
        settings={"prior": prior, "spread": spread, "tolerance": tolerance},
        parameters={"ability": optimum.x[:workers].copy(), "ease": ease},
    )


@crowd_model
def mace(
    labels: Labels,
    *,
    inference: str = "variational",
    restarts: int = 10,
    gold: Any = None,
    prior: Any = "uniform",
    tie: str = "low",
    seed: int = 0,
    tolerance: float = 1e-6,
    iterations: int = 1000,
) -> Consensus:
    r"""Estimate the grades, and how often each worker copies the truth and what it spams.

    .. math:: P(l \mid k) = \theta_w [l = k] + (1 - \theta_w)\, \xi_{wl}

    The best of several random starts counts, by the log-likelihood (`em`), or by its lower bound
    with the priors \(\theta_w \sim \mathrm{Beta}(.5, .5)\) and
    \(\xi_w \sim \mathrm{Dirichlet}(10)\) (`variational`). Neither falls from step to step.

    Parameters
    ----------
    inference
        `variational` or `em`.
    restarts
        Number of random starts; start r draws its own numbers, by the seed and r. A note counts
        those that end below the best objective by more than 0.01.
    labels, gold, prior, tie, tolerance, iterations
        As for :func:`dawid_skene`.
    seed
        Seed of the starts, and of random ties.

    Returns
    -------
    Consensus
        A worker's quality is its probability to copy, \(\theta_w\); `parameters` has it as
        `copying`, and `spam`, \(\xi\), of shape (workers, grades). With `variational` both are
        geometric means of their posterior, scaled to sum to 1.

    Notes
    -----
    Source: Hovy, Berg-Kirkpatrick, Vaswani and Hovy (2013).

    Examples
    --------
    >>> from cranfield.assess import mace, read_labels
    >>> answers = {"ann": (1, 0, 1), "bob": (1, 0, 1), "eve": (0, 1, 1)}
    >>> rows = [("q", f"d{i}", w, g) for w, grades in answers.items() for i, g in enumerate(grades)]
    >>> mace(read_labels(rows), seed=1).qrels.grades.tolist()
    [1, 0, 1]
    """
    check_choice("inference", inference, INFERENCES)
    check_whole("restarts", restarts, 1, 10_000)
    check_whole("seed", seed, 0)
    crowd = Crowd(labels, gold, prior, tolerance, iterations)
    workers, size = len(labels.workers), labels.grades.size
    number = np.zeros((workers, size))
    np.add.at(number, (labels.worker, labels.level), 1.0)
    fit = _bayes if inference == "variational" else _most_likely

    # The state: weights of copying and of spamming (workers, 2), of the grades in spam (workers,
    # grades), what the priors add to the objective, and the prior of grades.
    def state_of(copied: Floats, share: Floats) -> tuple[Floats, Floats, float, Floats]:
        uses = np.stack([copied.sum(axis=1), (number - copied).sum(axis=1)], axis=1)
        copying, first = fit(uses, COPYING)
        spam, second = fit(number - copied, SPAM)
        return copying, spam, first + second, share

    def maximise(posterior: Floats, state: Any) -> Any:
        copying, spam = state[:2]
        right = right_labels(crowd.tally.of(posterior))
        copies = copying[:, :1]
        by_worker = np.divide(
            copies, copies + copying[:, 1:] * spam, where=copies > 0, out=0 * spam
        )
        return state_of(np.minimum(right * by_worker, number), crowd.prior(posterior))

    def table(state: Any) -> Floats:
        copying, spam = state[:2]
        spammed = (copying[:, 1:] * spam)[:, :, None]
        return np.asarray(spammed + np.eye(size) * copying[:, :1, None])

    def expect(state: Any) -> tuple[Floats, Floats, float]:
        posterior, evidence, value = crowd.expect(table(state), state[3])
        return posterior, evidence, value + state[2]

    share = crowd.prior(crowd.shares())
    ends = []
    for restart in range(restarts):
        start = state_of(number * stream(seed, restart).random((workers, size)), share)
        ends.append(climb(start, expect, maximise, tolerance, iterations))
    values = np.array([end.objective[-1] for end in ends])
    end = ends[int(values.argmax())]
    if lower := int((values < values.max() - SAME).sum()):
        crowd.notes += (
            f"{lower:,} of {counted(restarts, 'random start')} ended below the best objective"
            f" ({values.min():.2f} to {values.max():.2f}): another seed, or more restarts, may"
            " find another optimum",
        )
    copying, spam, _, share = end.state
    copying = copying / copying.sum(axis=1, keepdims=True)
    return crowd.consensus(
        end,
        "mace",
        prior=share,
        quality=copying[:, 0],
        parts=lambda: crowd.tally.parts(logarithm(table(end.state))),
        tie=tie,
        seed=seed,
        settings={"inference": inference, "restarts": restarts, "prior": prior},
        parameters={
            "copying": copying[:, 0],
            "spam": spam / spam.sum(axis=1, keepdims=True),
            "restarts": values,
        },
    )


def _most_likely(counts: Floats, _: float) -> tuple[Floats, float]:
    total = counts.sum(axis=1, keepdims=True)
    even = np.full(counts.shape, 1 / counts.shape[1])
    return np.divide(counts, total, out=even, where=total > 0), 0.0


def _bayes(counts: Floats, alpha: float) -> tuple[Floats, float]:
    """Return geometric means under a Dirichlet posterior, and minus its divergence from prior."""
    from scipy.special import digamma, gammaln

    size = counts.shape[1]
    after = counts + alpha
    total = after.sum(axis=1)
    log_mean = digamma(after) - digamma(total)[:, None]
    constant = gammaln(size * alpha) - size * gammaln(alpha)
    distance = gammaln(total) - gammaln(after).sum(axis=1) - constant
    distance = distance + ((after - alpha) * log_mean).sum(axis=1)
    return np.exp(log_mean), -float(distance.sum())
