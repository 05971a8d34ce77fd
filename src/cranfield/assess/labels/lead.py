"""When to stop asking workers about a pair: once one grade leads by enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.assess.labels.table import Labels, refuse_large
from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.checks import numbers
from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.tabular.frames import Framed

_NEAR = 1e-12


@dataclass(frozen=True)
class LeadRule:
    r"""Stop once the lead of the first grade over the second is large for the number of labels.

    .. math:: V_1 - V_2 \ge C \sqrt{n} - \varepsilon n

    with V the votes for the first and the second grade of n labels. Where labels weigh w, V are
    sums of weights, \(\sqrt n\) is \(\sqrt{\sum w^2}\) and n is \(\sum w\). It can be asked after
    any number of labels, and holds nothing that it was asked.

    Parameters
    ----------
    c
        C, above 0: the larger, the more labels.
    epsilon
        From 0 on: how much of a lead is worth waiting for.

    Notes
    -----
    Source: the rule of Abraham, Alonso, Kandylas, Patel, Shelford and Slivkins (2016), How many
    workers to ask?, as the sum of votes crosses a boundary of order \(\sqrt n\).

    Examples
    --------
    >>> rule = LeadRule(c=1.5)
    >>> rule.stops([[2, 0], [3, 0], [3, 1]]).tolist()
    [False, True, False]
    """

    c: float = 1.5
    epsilon: float = 0.0

    def __post_init__(self) -> None:
        for name, least in (("c", "above 0"), ("epsilon", "from 0")):
            value = getattr(self, name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not 0 <= value < np.inf or (name == "c" and value == 0):
                raise PolicyError(f"{name} must be a finite number {least}, not {value!r}")

    def stops(self, votes: Any, squares: Any = None) -> Bools:
        """Tell for each pair whether its labels are enough.

        Parameters
        ----------
        votes
            Sum of the weights of the labels of each grade; shape (..., grades).
        squares
            Sum of the squared weights of all labels of the pair; shape (...). By default every
            label weighs 1.
        """
        votes = numbers(votes, "votes")
        if not votes.ndim or not votes.shape[-1]:
            raise PolicyError("votes are of the grades of pairs, in rows")
        with np.errstate(over="ignore", invalid="ignore"):
            total = votes.sum(axis=-1)
        squares = total if squares is None else numbers(squares, "squares")
        if not (np.isfinite(total).all() and np.isfinite(squares).all()):
            raise PolicyError("votes and squares are finite, and so are their sums")
        if (squares < 0).any():
            raise PolicyError("sums of squares are not below 0, nor are sums of votes")
        ordered = np.sort(
            np.concatenate([np.zeros((*votes.shape[:-1], 1)), votes], axis=-1), axis=-1
        )
        lead = ordered[..., -1] - ordered[..., -2]
        # Sums of weights are rounded, and nobody asked is not enough, whatever the lead.
        wanted = self.c * np.sqrt(squares) - self.epsilon * total - _NEAR * total
        return np.asarray((lead >= wanted) & (total > 0))

    def replay(self, labels: Labels, weights: Any = None) -> Stopped:
        """Go through labels in the order in which they were given, and stop where the rule says so.

        Parameters
        ----------
        labels
            From :func:`read_labels`; by `order` within a pair, else in the order of the rows.
        weights
            What a label of each worker counts, such as its quality; shape (workers,).
        """
        worth = np.ones(len(labels.workers)) if weights is None else numbers(weights, "weights")
        fits = worth.shape == (len(labels.workers),)
        if not fits or not (np.isfinite(worth).all() and (worth >= 0).all()):
            raise PolicyError(
                f"weights are {counted(len(labels.workers), 'finite number')} from 0, one a worker"
            )
        refuse_large({"label": len(labels), "grade": labels.grades.size})
        when = np.arange(len(labels)) if labels.order is None else labels.order
        rows = np.lexsort((when, labels.pair))
        pair = labels.pair[rows]
        first = np.searchsorted(pair, np.arange(len(labels.docs)))
        said = np.zeros((rows.size, labels.grades.size))
        said[np.arange(rows.size), labels.level[rows]] = worth[labels.worker[rows]]
        squares = _running((said.sum(axis=1) ** 2)[:, None], first, pair)[:, 0]
        enough = self.stops(_running(said, first, pair), squares)
        place = np.arange(rows.size)
        end = np.full(first.size, rows.size)
        np.minimum.at(end, pair[enough], place[enough])
        used = np.zeros(rows.size, dtype=bool)
        used[rows[place <= end[pair]]] = True
        return Stopped(self, labels, used, end < rows.size)


@dataclass(frozen=True, eq=False, repr=False)
class Stopped(Framed):
    """What a rule used of labels.

    Attributes
    ----------
    rule
        The rule.
    given
        All labels.
    used
        Whether a label came before the rule said to stop; shape (labels,).
    decided
        Whether the rule ever said so, by pair; shape (pairs,).
    """

    rule: LeadRule
    given: Labels
    used: Bools
    decided: Bools

    @property
    def labels(self) -> Labels:
        """The labels that were used."""
        return self.given.restricted(self.used)

    @property
    def by_pair(self) -> Ints:
        """Number of labels used; shape (pairs,)."""
        return np.bincount(self.given.pair[self.used], minlength=self.decided.size)

    def __repr__(self) -> str:
        undecided = int((~self.decided).sum())
        return (
            f"Stopped({int(self.used.sum()):,} of {counted(len(self.given), 'label')} used,"
            f" {counted(undecided, 'pair')} undecided)"
        )

    def to_polars(self) -> pl.DataFrame:
        """Return a row a pair: topic, document, labels given and used, whether it was decided."""
        given = np.bincount(self.given.pair, minlength=self.decided.size)
        return self.given.pairs.with_columns(
            given=pl.Series(given), used=pl.Series(self.by_pair), decided=pl.Series(self.decided)
        )


def _running(values: Floats, first: Ints, pair: Ints) -> Floats:
    """Sum up the rows of each pair so far."""
    sums = np.cumsum(values, axis=0)
    before = np.concatenate([np.zeros((1, values.shape[1])), sums])[first]
    return np.asarray(sums - before[pair])
