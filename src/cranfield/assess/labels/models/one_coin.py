"""One accuracy a worker, wrong grades equally likely, by expectation-maximisation."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.assess.labels.consensus import Consensus
from cranfield.assess.labels.models.climbing import Crowd, check_steps, climb, diagonal, logarithm
from cranfield.assess.labels.table import Labels
from cranfield.base.arrays import Floats

State = tuple[Floats, Floats]
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

    def maximise(posterior: Floats, _: State | None = None) -> State:
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
