"""The most frequent grade, each label counting the same, or by how good its worker is."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.assess.labels.consensus import Consensus
from cranfield.assess.labels.table import Labels, refuse_large
from cranfield.base.arrays import Floats
from cranfield.base.checks import numbers
from cranfield.base.errors import PolicyError
from cranfield.base.words import counted


def majority(labels: Labels, *, weights: Any = None, tie: str = "low", seed: int = 0) -> Consensus:
    """Take the grade that most labels of a pair give.

    Parameters
    ----------
    labels
        From :func:`read_labels`.
    weights
        What a label of each worker counts, from 0 on; shape (workers,). By default 1.
    tie
        What becomes of ties: `low`, `high`, `median` (of the pair's labels), `drop`, `random`. A
        pair whose labels all weigh nothing ties in all grades.
    seed
        Of random ties.

    Returns
    -------
    Consensus
        Its chances are shares of labels; a worker's quality is the weight.

    Examples
    --------
    >>> from cranfield.assess import majority, read_labels
    >>> labels = read_labels({"ann": {"q": {"d": 1, "e": 0}}, "bob": {"q": {"d": 0, "e": 0}}})
    >>> majority(labels, tie="high")
    Consensus(majority of 2 pairs, 1 tie (high))
    >>> majority(labels, tie="high").qrels.grades.tolist()
    [1, 0]
    """
    plain = np.ones(len(labels.workers))
    weight = plain if weights is None else numbers(weights, "weights")
    if weight.shape != plain.shape or not (np.isfinite(weight).all() and (weight >= 0).all()):
        raise PolicyError(
            f"weights are {counted(plain.size, 'finite number')} from 0, one a worker"
        )
    return _weighted(labels, weight, "majority", tie, seed, {"weights": weights})


def wawa(labels: Labels, *, tie: str = "low", seed: int = 0) -> Consensus:
    """Take the majority, then weigh each worker by the agreement with it, and take it again.

    Worker Agreement With Aggregate. The weight, which is the worker's quality, is the share of its
    labels that agree with the plain majority, whose ties are broken by the same policy.

    Examples
    --------
    >>> from cranfield.assess import read_labels, wawa
    >>> labels = read_labels({"ann": {"q": {"d": 1, "e": 0}}, "bob": {"q": {"d": 0, "e": 0}}})
    >>> wawa(labels).quality.tolist()
    [0.5, 1.0]
    """
    agreement = majority(labels, tie=tie, seed=seed).workers()["agreement"]
    # Of a worker whose pairs all tied and were dropped nothing is known: it counts as the others.
    known = agreement.fill_null(strategy="mean").fill_null(1.0)
    return _weighted(labels, known.to_numpy(), "wawa", tie, seed, {})


def _weighted(
    labels: Labels, weight: Floats, method: str, tie: str, seed: int, settings: dict[str, Any]
) -> Consensus:
    shape = (len(labels.docs), labels.grades.size)
    refuse_large({"label": len(labels), "grade": shape[1]})
    of_label = weight[labels.worker]
    cells = labels.pair * np.int64(shape[1]) + labels.level
    total = np.bincount(cells, weights=of_label, minlength=shape[0] * shape[1])
    votes = np.asarray(total, dtype=np.float64).reshape(shape)
    total = votes.sum(axis=1, keepdims=True)
    share = np.divide(votes, total, out=np.full(shape, 1 / shape[1]), where=total > 0)

    def parts() -> Floats:
        said = np.zeros((len(labels), shape[1]))
        said[np.arange(len(labels)), labels.level] = of_label
        return said

    return Consensus(
        labels=labels,
        method=method,
        posterior=share,
        quality=weight,
        prior=share.mean(axis=0),
        objective=np.empty(0),
        converged=True,
        tie=tie,
        seed=seed,
        gold=np.zeros(shape[0], dtype=bool),
        evidence=votes,
        parts=parts,
        settings=settings,
    )
