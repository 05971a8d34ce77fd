"""GLAD: how good workers are and how easy pairs are."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.assess.labels.consensus import Consensus
from cranfield.assess.labels.models.climbing import Climb, Crowd, check_amount, check_steps
from cranfield.assess.labels.table import Labels
from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError

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
