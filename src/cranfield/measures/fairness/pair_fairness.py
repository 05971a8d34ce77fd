r"""Parity of pairs: of two documents, is that of a protected group as often on top as the other?

With :math:`P(A \succ B)` the share of the pairs of retrieved documents of A and of B in which that
of A stands above (Kuhlman and others 2019; by relevance: Beutel and others 2019),

.. math:: | P(G \succ \bar G) - P(\bar G \succ G) |, \qquad
    | P(G_{rel} \succ \bar G_{non}) - P(\bar G_{rel} \succ G_{non}) |
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import measure
from cranfield.measures.fairness.browsing import group_index
from cranfield.measures.parameters import choice, name, optional, parameter
from cranfield.measures.ranked.precision import OfRelevance


@measure(
    "PairParity",
    summary="How much oftener documents of one side stand above those of the other.",
    formula=r"| P(G \succ \bar G) - P(\bar G \succ G) |",
    source="Kuhlman, VanValkenburg and Rundensteiner (2019), rank parity;"
    " Beutel and others (2019) for relevant documents",
    lower_is_better=True,
    family="fairness",
    inputs=("groups",),
    needs="groups of documents",
    scale_note="not known to be interval: a difference of shares",
)
class PairwiseParity(OfRelevance):
    """Pair-wise parity; 0 is fair, 1 where one side stands above the other throughout.

    Only retrieved documents with a known group count. With `pairs='relevant'` each pair is of a
    relevant document of one side and one judged not relevant of the other, and what counts is
    whether relevant documents of both sides are ranked right equally often. It is 0 where a side
    has no such pairs.

    The program of Kuhlman and others (`fare`, `rank_parity`) gives the two shares of which this is
    the difference, and 1 and 0 where there is one side only.
    """

    protected: str | None = parameter(None, optional(name), "group to be fair to; has to be given")
    pairs: str = parameter(
        "all", choice("all", "relevant"), "which pairs count: 'all', or those that relevance orders"
    )

    def values(self, judged: JudgedRuns) -> Floats:
        groups = judged.groups(str(self))
        known = groups.rows.where(groups.rows.gains > 0)
        chosen = known.grade == group_index(groups, self.protected, str(self))
        inside, outside = _sides(_keys(known), chosen)
        shape = judged.shape
        if self.pairs == "all":
            above, number = _above(inside, outside, shape)
            return np.abs(ratio(2 * above - number, number))
        rows = judged.judged()
        good, bad = (_keys(rows.where((rows.grade >= self.rel) == one)) for one in (True, False))
        shares, defined = [], np.ones(shape, dtype=bool)
        for side, other in ((inside, outside), (outside, inside)):
            above, number = _above(_both(side, good), _both(other, bad), shape)
            shares.append(ratio(above, number))
            defined &= number > 0
        return np.where(defined, np.abs(shares[0] - shares[1]), 0.0)


def _keys(rows: Rows) -> Ints:
    """Cell and rank of each row as one number; ranks stay far below 2^31."""
    return rows.cell << 32 | rows.rank


def _sides(keys: Ints, chosen: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """Documents that have a row which is chosen, and all others; keys are in order."""
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    if not first.size:
        return keys, keys
    protected = np.logical_or.reduceat(chosen, first)
    return keys[first[protected]], keys[first[~protected]]


def _both(first: Ints, second: Ints) -> Ints:
    """Keys of the first that the second has too; both are in order."""
    if not second.size:
        return second
    at = np.minimum(np.searchsorted(second, first), second.size - 1)
    return np.asarray(first[second[at] == first])


def _above(first: Ints, second: Ints, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Pairs in which a document of the first side stands above; and all pairs."""
    topics, systems = shape
    cell = first >> 32
    ends = np.searchsorted(second, (cell + 1) << 32)
    below = ends - np.searchsorted(second, first)

    def table(cells: Ints, weights: Ints | None = None) -> Floats:
        flat = np.bincount(cells, weights=weights, minlength=topics * systems)
        return flat.reshape(systems, topics).T.astype(np.float64)

    return table(cell, below), table(cell) * table(second >> 32)
