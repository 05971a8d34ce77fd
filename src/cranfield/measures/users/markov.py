r"""Markov precision: precision averaged over the stationary distribution of a user's walk.

The user moves from rank i to rank j with a probability in proportion to w(i, j), which depends on
the distance and is symmetric. The stationary probability of rank i is then in proportion to the sum
of w(i, j) over j, so that no system of equations has to be solved.

Frequencies of moves may also be parameters, such as how often users of a log clicked on rank j
after rank i (:func:`cranfield.online.click_moves`). They need not be symmetric, and equations are
solved. In continuous time users stay at each rank for a while: the distribution is multiplied by
the mean stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import MeasureError
from cranfield.base.spec import choice, flag, number, number_text, optional, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, ratio
from cranfield.measures.base import measure
from cranfield.measures.gains import Gain, gain_check
from cranfield.measures.ranked.precision import OfRelevance
from cranfield.measures.users.clicks import at_rank

_WEIGHT = number(0, 1e15)


@dataclass(frozen=True)
class Moves:
    """Frequency of moves from each rank to each other one; a row for each rank."""

    rows: tuple[tuple[float, ...], ...]

    @property
    def text(self) -> str:
        def row_text(row: tuple[float, ...]) -> str:
            return ", ".join(
                f"{target}: {number_text(frequency)}"
                for target, frequency in enumerate(row, 1)
                if frequency
            )

        texts = [f"{rank}: {{{row_text(row)}}}" for rank, row in enumerate(self.rows, 1)]
        return "{" + ", ".join(texts) + "}"

    def stationary(self, states: Indices, loops: bool) -> Floats:
        """Return the stationary distribution of a user who moves among some ranks only.

        Parameters
        ----------
        states
            Indices of the ranks of each chain, from 0; shape (chains, states).
        loops
            Whether the user may stay at a rank.

        Returns
        -------
        numpy.ndarray
            Invariant distribution of each chain, shape (chains, states).
        """
        weight = np.array(self.rows)
        if not loops or states.shape[1] == 1:
            np.fill_diagonal(weight, float(states.shape[1] == 1))
        probability = weight[states[:, :, np.newaxis], states[:, np.newaxis, :]]
        probability /= probability.sum(axis=2, keepdims=True)
        equations = np.swapaxes(probability, 1, 2) - np.eye(states.shape[1])
        equations[:, -1] = 1.0  # One equation is redundant: replaced by the sum, which is 1.
        right_side = np.zeros((*states.shape, 1))
        right_side[:, -1] = 1.0
        return np.asarray(np.linalg.solve(equations, right_side)[:, :, 0])


def moves(value: Any) -> str | Moves:
    if isinstance(value, Moves) or (isinstance(value, str) and value in {"global", "local"}):
        return value
    description = (
        "'global', 'local', or a mapping of each rank to the frequency of moves from"
        " it to each other rank, above 0, such as {1: {2: 3}, 2: {1: 1}}"
    )
    if not isinstance(value, Mapping) or {*value} != {*range(1, len(value) + 1)} or len(value) < 2:
        raise ValueError(description)
    rows = []
    for rank in range(1, len(value) + 1):
        row = value[rank]
        if not isinstance(row, Mapping) or {*row, rank} != {*value}:
            raise ValueError(description)
        frequencies = tuple(_WEIGHT(row.get(to, 0)) for to in range(1, len(value) + 1))
        if not all(frequency > 0 for to, frequency in enumerate(frequencies, 1) if to != rank):
            raise ValueError(description)
        rows.append(frequencies)
    return Moves(tuple(rows))


_stays = gain_check(
    "a mapping to mean times above 0, such as {1: 40, 2: 25}",
    fits=lambda gains: all(stay > 0 for _, stay in gains),
)


@measure(
    "MP",
    aliases=("MarkovPrecision",),
    summary=(
        "Precision at the relevant ranks, weighted by the stationary distribution of"
        " a user who moves between ranks."
    ),
    formula=r"\sum_{i \in \mathcal{R}} \pi_i \, P@i, \quad"
    r" \pi_i \propto \sum_{j \ne i} w(|i - j|), \quad w(d) = \frac{1}{d + 1}",
    source="Ferrante, Ferro and Maistro (2014)",
    family="user models",
    scale_note="not interval: the steps between ranks are unequal",
)
class MarkovPrecision(OfRelevance):
    r"""Markov precision.

    The invariant distribution is restricted to the ranks of relevant documents, where it adds up
    to 1. In the terms of the authors' own program (MATTERS) `states` is OR or AD, `moves` G or L,
    `distance` NA, ID or LID, and `loops` NL or SL. There weights are 1, 1 / (d + 1) and
    1 / log10(d + 2). Its models that count relevant documents on the way are not implemented.

    If all moves are equally probable (`distance='none'`), so are all relevant ranks. With `recall`,
    which multiplies by the proportion of relevant documents that are retrieved, the score is AP.

    If `moves` is a mapping, users stay within its ranks: relevant documents below do not count, and
    `distance` is ignored. With `dwell` time is continuous: the
    distribution of users is proportional to :math:`\pi_i \mu_i`, where :math:`\mu_i` is the mean
    time at a rank, or at a document of a grade.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> qrels = {"q": {"a": 1, "b": 1, "c": 1}}
    >>> measures = ["MP", "MP(distance='none', recall=True)", "AP"]
    >>> cf.evaluate(run, qrels, measures).by_system().row(0)[1:]
    (0.833..., 0.555..., 0.555...)
    """

    states: str = parameter(
        "all", choice("all", "relevant"), "where the user may be: all ranks, or relevant ones"
    )
    moves: str | Moves = parameter(
        "global",
        moves,
        "whether users move anywhere, or to neighbours alone ('local'); or a mapping"
        " of each rank to the frequency of moves to each other rank, and to itself"
        " for loops",
    )
    distance: str = parameter(
        "inverse",
        choice("inverse", "log", "none"),
        (
            "how the probability of a move depends on the distance: inversely, on its"
            " logarithm, or not"
        ),
    )
    loops: bool = parameter(False, flag, "whether users may stay where they are")
    dwell: Gain | None = parameter(
        None,
        optional(_stays),
        (
            "mean time that users stay, by rank or grade; a rank or grade that is not listed"
            " has the time of the next lower one that is"
        ),
    )
    dwell_by: str = parameter(
        "rank", choice("rank", "grade"), "whether dwell times are by rank or by grade"
    )
    recall: bool = parameter(
        False,
        flag,
        ("whether to multiply by the proportion of relevant documents that are retrieved"),
    )

    def require_complete(self) -> None:
        super().require_complete()
        if isinstance(self.moves, Moves) and self.distance != "inverse":
            raise MeasureError("MP: distance cannot be combined with a mapping of moves")

    @property
    def beyond_length(self) -> str:
        """Scores depend on the length of the list if users may be at all ranks."""
        is_uniform = self.moves == "global" and self.distance == "none"
        return "" if is_uniform or self.states == "relevant" else "how many documents are retrieved"

    def values(self, judged: JudgedRuns) -> Floats:
        hits = judged.relevant(self.rel)
        precision = hits.seen / hits.rank
        if isinstance(self.moves, Moves):
            weights = self._weigh_moves(self.moves, judged, hits)
        else:
            is_all = self.states == "all"
            weights = self._weigh_ranks(judged, hits) if is_all else self._weigh_hits(hits)
            if self.loops:
                weights = weights + self._weight(np.zeros(1))
            # A user with a single state is always there.
            weights = np.where(weights > 0, weights, 1.0)
        if self.dwell is not None:
            weights = weights * at_rank(
                self.dwell, hits.rank if self.dwell_by == "rank" else hits.grade
            )
        score = ratio(hits.total(weights * precision), hits.total(weights))
        if self.recall:
            score = score * ratio(hits.count, judged.recall_base(self.rel))
        return score

    def _weight(self, distance: Floats) -> Floats:
        if self.distance == "inverse":
            return np.asarray(1.0 / (distance + 1.0))
        if self.distance == "log":
            return np.asarray(1.0 / np.log10(distance + 2.0))
        return np.ones(distance.shape)

    def _weigh_ranks(self, judged: JudgedRuns, hits: Rows) -> Floats:
        """Sum w over the other ranks of the list."""
        above, below = hits.rank - 1, hits.at(judged.retrieved) - hits.rank
        if self.moves == "local":
            above, below = np.minimum(above, 1), np.minimum(below, 1)
        longest = int(judged.retrieved.max(initial=0))
        sums = np.append(0.0, np.cumsum(self._weight(np.arange(1.0, longest + 1))))
        return np.asarray(sums[above] + sums[below])

    def _weigh_hits(self, hits: Rows) -> Floats:
        """Sum w over the other relevant ranks."""
        weights = np.zeros(hits.cell.size)
        max_hits = int(hits.seen.max(initial=0))
        for step in range(1, 2 if self.moves == "local" else max_hits):
            later = np.flatnonzero(hits.seen > step)
            weight = self._weight((hits.rank[later] - hits.rank[later - step]).astype(np.float64))
            # Indices are unique in each addition.
            weights[later] += weight
            weights[later - step] += weight
        return weights

    def _weigh_moves(self, moves: Moves, judged: JudgedRuns, hits: Rows) -> Floats:
        """Solve for the distribution of users, once per length of list or set of hit ranks."""
        ranks = len(moves.rows)
        if self.states == "all":
            users = np.zeros((ranks + 1, ranks + 1))
            for last in range(1, ranks + 1):
                users[last, :last] = moves.stationary(np.arange(last)[np.newaxis], self.loops)[0]
            length = np.minimum(hits.at(judged.retrieved), ranks)
            return np.asarray(users[length, np.minimum(hits.rank - 1, ranks)])
        is_covered = hits.rank <= ranks
        cells, chain = np.unique(hits.cell[is_covered], return_inverse=True)
        is_hit: Bools = np.zeros((cells.size, ranks), dtype=bool)
        is_hit[chain, hits.rank[is_covered] - 1] = True
        kinds, kind = np.unique(is_hit, axis=0, return_inverse=True)
        users = np.zeros(kinds.shape)
        sizes = kinds.sum(axis=1)
        for size in np.unique(sizes).tolist():
            chains = np.flatnonzero(sizes == size)
            states = np.nonzero(kinds[chains])[1].reshape(-1, size)
            users[chains[:, np.newaxis], states] = moves.stationary(states, self.loops)
        weights = np.zeros(hits.cell.size)
        weights[is_covered] = users[kind.reshape(-1)[chain], hits.rank[is_covered] - 1]
        return weights
