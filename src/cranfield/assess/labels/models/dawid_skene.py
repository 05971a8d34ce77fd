"""Dawid and Skene: a confusion matrix a worker, by expectation-maximisation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.assess.labels.consensus import Consensus
from cranfield.assess.labels.models.climbing import (
    Climb,
    Crowd,
    check_amount,
    check_steps,
    climb,
    logarithm,
)
from cranfield.assess.labels.table import Labels
from cranfield.base.arrays import Floats
from cranfield.base.checks import check_choice
from cranfield.base.errors import PolicyError

State = tuple[Floats, Floats]
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

    def maximise(posterior: Floats, _: State | None = None) -> State:
        seen = crowd.tally.of(posterior) + smoothing
        total = seen.sum(axis=1, keepdims=True)
        chances = np.full(seen.shape, UNMET[unmet] / labels.grades.size)
        return np.divide(seen, total, out=chances, where=total > 0), crowd.prior(posterior)

    def expect(state: State) -> tuple[Floats, Floats, float]:
        table, share = state
        # What is impossible stays so: the logarithm of nothing is not a very low number here.
        logs = np.where(table > 0, logarithm(table), -np.inf)
        posterior, evidence, value = crowd.chances(crowd.tally.evidence(logs) + logarithm(share))
        return posterior, evidence, value + (smoothing and smoothing * float(logs.sum()))

    end: Climb[State] = climb(maximise(crowd.shares()), expect, maximise, tolerance, iterations)
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
