"""Models of workers that can guess: GLAD (Whitehill et al. 2009), MACE (Hovy et al. 2013)."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.assess.labels.confusion_models import (
    Climb,
    Crowd,
    check_amount,
    check_steps,
    climb,
    diagonal,
    logarithm,
)
from cranfield.assess.labels.consensus import Consensus
from cranfield.assess.labels.table import Labels
from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, check_choice, check_whole
from cranfield.base.streams import stream
from cranfield.base.text import counted

STEEPEST = 30.0
"""Beyond this, the logarithm of ease changes no chance any more."""


_LEAST = 1e-100
"""Of a spread: its square is above 0."""


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

    with normal priors of mean 1 on \(\alpha\) and b. What is maximised, from these means on, is
    the log-likelihood and the log density of the priors, without their constants. The gradient of
    the expected log-likelihood, which expectation-maximisation climbs, is at each step that of the
    log-likelihood itself, so both end at the same points; this follows it by L-BFGS, which takes
    fewer steps.

    Parameters
    ----------
    labels, gold, tie, seed
        As of :func:`dawid_skene`.
    prior
        Of the grades: `uniform`, or their chances.
    spread
        Standard deviation of the normal priors.
    tolerance, iterations
        It ends when the objective rises by less than the tolerance, or after that many steps.

    Returns
    -------
    Consensus
        A worker's quality is its chance to be right on a pair of ease 1,
        \(\sigma(\alpha_w)\); `parameters` has `ability`, \(\alpha\), and `ease`, \(e^b\).

    Notes
    -----
    Source: Whitehill, Ruvolo, Wu, Bergsma and Movellan (2009).

    Examples
    --------
    >>> from cranfield.assess import glad, read_labels
    >>> said = {"ann": (1, 0, 1), "bob": (1, 0, 1), "eve": (0, 1, 1)}
    >>> rows = [("q", f"d{i}", w, g) for w, grades in said.items() for i, g in enumerate(grades)]
    >>> glad(read_labels(rows)).qrels.grades.tolist()
    [1, 0, 1]
    """
    from scipy.optimize import minimize
    from scipy.special import expit, log_expit

    check_amount("spread", spread)
    check_steps(tolerance, iterations)
    if spread < _LEAST:
        raise PolicyError(f"spread must be at least {_LEAST:g}")
    if isinstance(prior, str) and prior == "estimated":
        raise PolicyError("prior of GLAD is 'uniform' or a list of chances: it is not estimated")
    crowd = Crowd(labels, gold, prior)
    share = np.asarray(crowd.fixed)
    workers, shape = len(labels.workers), (len(labels.docs), labels.grades.size)
    log_share, others = np.log(np.maximum(share, 1e-300)), np.log(max(1, shape[1] - 1))
    cell = labels.pair * np.int64(shape[1]) + labels.level
    objective: list[float] = []

    def strength(point: Floats) -> tuple[Floats, Floats]:
        ease = np.exp(np.clip(point[workers:], -STEEPEST, STEEPEST))
        return ease, point[labels.worker] * ease[labels.pair]

    def expect(point: Floats) -> tuple[Floats, Floats, float]:
        _, sure = strength(point)
        wrong = np.bincount(labels.pair, weights=log_expit(-sure) - others, minlength=shape[0])
        right = np.bincount(cell, weights=sure + others, minlength=shape[0] * shape[1])
        posterior, evidence, value = crowd.chances(
            right.reshape(shape) + wrong[:, None] + log_share
        )
        return posterior, evidence, value - ((point - 1) ** 2).sum() / (2 * spread**2)

    def downhill(point: Floats) -> tuple[float, Floats]:
        ease, sure = strength(point)
        posterior, _, value = expect(point)
        pull = (posterior.ravel()[cell] - expit(sure)) * ease[labels.pair]
        of_ease = np.bincount(labels.pair, weights=pull * point[labels.worker], minlength=shape[0])
        of_ease[np.abs(point[workers:]) > STEEPEST] = 0
        slope = np.concatenate(
            [np.bincount(labels.worker, weights=pull, minlength=workers), of_ease]
        )
        return -value, (point - 1) / spread**2 - slope

    start = np.ones(workers + shape[0])
    objective.append(expect(start)[2])
    found = minimize(
        downhill,
        start,
        jac=True,
        method="L-BFGS-B",
        callback=lambda intermediate_result: objective.append(-intermediate_result.fun),
        options={"maxiter": iterations, "maxfun": 4 * iterations, "ftol": 0.0, "gtol": 1e-5},
    )
    posterior, evidence, _ = expect(found.x)
    end: Climb[Floats] = Climb(found.x, posterior, evidence, np.array(objective), found.success)
    ease, sure = strength(found.x)

    def parts() -> Floats:
        said = np.zeros((len(labels), shape[1]))
        said[np.arange(len(labels)), labels.level] = sure + others
        return said

    return crowd.consensus(
        end,
        "glad",
        prior=share,
        quality=expit(found.x[:workers]),
        parts=parts,
        tie=tie,
        seed=seed,
        settings={"prior": prior, "spread": spread, "tolerance": tolerance},
        parameters={"ability": found.x[:workers].copy(), "ease": ease},
    )


State = tuple[Floats, Floats, float, Floats]
"""Weight of copying and of spamming (workers, 2), of what is spammed (workers, grades), what the
priors add to the objective, and the prior of grades."""

INFERENCES = ("variational", "em")

SAME = 0.01
"""Difference of the objective up to which random starts have found the same optimum."""

COPYING, SPAM = 0.5, 10.0
"""Parameters of the Beta and the Dirichlet prior (Hovy et al., section 2.2)."""


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
    r"""Estimate the grades, and for each worker how often it copies the truth and what it spams.

    .. math:: P(l \mid k) = \theta_w [l = k] + (1 - \theta_w)\, \xi_{wl}

    The best of several random starts counts, by the log-likelihood (`em`), or by its lower bound
    with the priors \(\theta_w \sim \mathrm{Beta}(.5, .5)\) and
    \(\xi_w \sim \mathrm{Dirichlet}(10)\) (`variational`). Neither falls from step to step.

    Parameters
    ----------
    inference
        `variational` or `em`.
    restarts
        How many random starts; start r draws its own numbers, by the seed and r. A note says how
        many of them end below the best objective by more than 0.01.
    labels, gold, prior, tie, tolerance, iterations
        As of :func:`dawid_skene`.
    seed
        Of the starts, and of random ties.

    Returns
    -------
    Consensus
        A worker's quality is its chance to copy, \(\theta_w\); `parameters` has it as `copying`,
        and `spam`, \(\xi\), of shape (workers, grades). With `variational` both are geometric
        means over what is known of them, scaled to sum to 1, and no plain means.

    Notes
    -----
    Source: Hovy, Berg-Kirkpatrick, Vaswani and Hovy (2013).

    Examples
    --------
    >>> from cranfield.assess import mace, read_labels
    >>> said = {"ann": (1, 0, 1), "bob": (1, 0, 1), "eve": (0, 1, 1)}
    >>> rows = [("q", f"d{i}", w, g) for w, grades in said.items() for i, g in enumerate(grades)]
    >>> mace(read_labels(rows), seed=1).qrels.grades.tolist()
    [1, 0, 1]
    """
    check_choice("inference", inference, INFERENCES)
    check_whole("restarts", restarts, 1, 10_000)
    check_whole("seed", seed, 0)
    check_steps(tolerance, iterations)
    crowd = Crowd(labels, gold, prior)
    workers, size = len(labels.workers), labels.grades.size
    given = np.zeros((workers, size))
    np.add.at(given, (labels.worker, labels.level), 1.0)
    fit = _bayes if inference == "variational" else _most_likely

    def state_of(copied: Floats, share: Floats) -> State:
        kept = np.stack([copied.sum(axis=1), (given - copied).sum(axis=1)], axis=1)
        copying, first = fit(kept, COPYING)
        spam, second = fit(given - copied, SPAM)
        return copying, spam, first + second, share

    def maximise(posterior: Floats, state: State) -> State:
        copying, spam = state[:2]
        right = diagonal(crowd.tally.of(posterior))
        copies = copying[:, :1]
        own = np.divide(copies, copies + copying[:, 1:] * spam, where=copies > 0, out=0 * spam)
        return state_of(np.minimum(right * own, given), crowd.prior(posterior))

    def expect(state: State) -> tuple[Floats, Floats, float]:
        posterior, evidence, value = crowd.expect(_table(state), state[3])
        return posterior, evidence, value + state[2]

    def one(restart: int) -> Climb[State]:
        random = stream(seed, restart)
        share = crowd.prior(crowd.shares())
        start = state_of(given * random.random((workers, size)), share)
        return climb(start, expect, maximise, tolerance, iterations)

    ends = [one(restart) for restart in range(restarts)]
    values = np.array([end.objective[-1] for end in ends])
    end = ends[int(values.argmax())]
    others = int((values < values.max() - SAME).sum())
    if others:
        crowd.notes += (
            f"{others:,} of {counted(restarts, 'random start')} ended below the best objective"
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
        parts=lambda: crowd.tally.parts(logarithm(_table(end.state))),
        tie=tie,
        seed=seed,
        settings={"inference": inference, "restarts": restarts, "prior": prior},
        parameters={
            "copying": copying[:, 0],
            "spam": spam / spam.sum(axis=1, keepdims=True),
            "restarts": values,
        },
    )


def _table(state: State) -> Floats:
    """Chances of labels, (workers, given, true)."""
    copying, spam = state[:2]
    spammed = (copying[:, 1:] * spam)[:, :, None]
    return spammed + np.eye(spam.shape[1]) * copying[:, :1, None]


def _most_likely(counts: Floats, _: float) -> tuple[Floats, float]:
    total = counts.sum(axis=1, keepdims=True)
    even = np.full(counts.shape, 1 / counts.shape[1])
    return np.divide(counts, total, out=even, where=total > 0), 0.0


def _bayes(counts: Floats, alpha: float) -> tuple[Floats, float]:
    """Geometric means of chances under a Dirichlet posterior, and minus how far it moved.

    The bound on the log-likelihood is that of these weights, less the Kullback-Leibler distances.
    """
    from scipy.special import digamma, gammaln

    size = counts.shape[1]
    after = counts + alpha
    total = after.sum(axis=1)
    log_mean = digamma(after) - digamma(total)[:, None]
    constant = gammaln(size * alpha) - size * gammaln(alpha)
    distance = gammaln(total) - gammaln(after).sum(axis=1) - constant
    distance = distance + ((after - alpha) * log_mean).sum(axis=1)
    return np.exp(log_mean), -float(distance.sum())
