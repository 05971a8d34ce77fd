r"""Markov precision: precision, averaged over where a user who moves up and down is found.

The user moves from rank i to rank j with a chance in proportion to w(i, j), which goes by the
distance and is the same both ways. Such a walk is at rank i in proportion to the sum of w(i, j)
over j, and no system of equations has to be solved for its invariant distribution.
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import measure
from cranfield.measures.parameters import choice, flag, parameter
from cranfield.measures.ranked.precision import OfRelevance


@measure(
    "MP",
    summary="Precision at the relevant ranks, by how often a user who moves to and fro is there.",
    formula=r"\sum_{i \in \mathcal{R}} \pi_i \, P@i, \quad"
    r" \pi_i \propto \sum_{j \ne i} w(|i - j|), \quad w(d) = \frac{1}{d + 1}",
    source="Ferrante, Ferro and Maistro (2014); Ferro and Maistro (2024), equation (18)",
    family="user models",
    scale_note="not interval: the steps between ranks are unequal",
)
class MarkovPrecision(OfRelevance):
    r"""Markov precision in discrete time.

    The invariant distribution is restricted to the ranks of relevant documents, where it adds up
    to 1. In the terms of the authors' own program (MATTERS) `states` is OR or AD, `moves` G or L,
    `distance` NA, ID or LID, and `loops` NL or SL. There weights are 1, 1 / (d + 1) and
    1 / log10(d + 2). Its models that count relevant documents on the way are not here.

    Whoever moves anywhere with equal chances is everywhere as often: with `recall`, which
    multiplies by the share of the relevant documents that is retrieved, that is AP.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> qrels = {"q": {"a": 1, "b": 1, "c": 1}}
    >>> asked = ["MP", "MP(distance='none', recall=True)", "AP"]
    >>> cf.evaluate(run, qrels, asked).by_system().row(0)[1:]
    (0.833..., 0.555..., 0.555...)
    """

    states: str = parameter(
        "all", choice("all", "relevant"), "where the user may be: all ranks, or relevant ones"
    )
    moves: str = parameter(
        "global", choice("global", "local"), "whether users move anywhere, or to neighbours alone"
    )
    distance: str = parameter(
        "inverse",
        choice("inverse", "log", "none"),
        "how the chance of a move goes by distance: inversely, to its logarithm, or not at all",
    )
    loops: bool = parameter(False, flag, "whether users may stay where they are")
    recall: bool = parameter(
        False, flag, "whether to multiply by the share of relevant documents that is retrieved"
    )

    @property
    def beyond_length(self) -> str:
        """Users of all ranks walk about in the list, to its end."""
        alike = self.moves == "global" and self.distance == "none"
        return "" if alike or self.states == "relevant" else "how many documents are retrieved"

    def values(self, judged: JudgedRuns) -> Floats:
        hits = judged.relevant(self.rel)
        precision = hits.seen / hits.rank
        often = self._among_all(judged, hits) if self.states == "all" else self._among(hits)
        if self.loops:
            often = often + self._weight(np.zeros(1))
        # Whoever has but one state is always there.
        often = np.where(often > 0, often, 1.0)
        found = ratio(hits.total(often * precision), hits.total(often))
        if self.recall:
            found = found * ratio(hits.count, judged.recall_base(self.rel))
        return found

    def _weight(self, distance: Floats) -> Floats:
        if self.distance == "inverse":
            return np.asarray(1.0 / (distance + 1.0))
        if self.distance == "log":
            return np.asarray(1.0 / np.log10(distance + 2.0))
        return np.ones(distance.shape)

    def _among_all(self, judged: JudgedRuns, hits: Rows) -> Floats:
        """Sum of w over the other ranks of the list."""
        above, below = hits.rank - 1, hits.at(judged.retrieved) - hits.rank
        if self.moves == "local":
            above, below = np.minimum(above, 1), np.minimum(below, 1)
        longest = int(judged.retrieved.max(initial=0))
        sums = np.append(0.0, np.cumsum(self._weight(np.arange(1.0, longest + 1))))
        return np.asarray(sums[above] + sums[below])

    def _among(self, hits: Rows) -> Floats:
        """Sum of w over the other relevant ranks."""
        often = np.zeros(hits.cell.size)
        most = int(hits.seen.max(initial=0))
        for step in range(1, 2 if self.moves == "local" else most):
            later = np.flatnonzero(hits.seen > step)
            weight = self._weight((hits.rank[later] - hits.rank[later - step]).astype(np.float64))
            # Each row occurs once in each.
            often[later] += weight
            often[later - step] += weight
        return often
