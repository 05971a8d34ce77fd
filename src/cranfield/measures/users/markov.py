r"""Markov precision: precision averaged over the stationary distribution of a user's walk.

The user moves from rank i to rank j with a probability in proportion to w(i, j), which depends on
the distance and is symmetric. The stationary probability of rank i is then in proportion to the sum
of w(i, j) over j, so that no system of equations has to be solved.

Frequencies of moves may also be parameters, such as how often users of a log clicked on rank j
after rank i (:func:`cranfield.online.click_moves`). As they need not be symmetric, the stationary
distribution is computed from a system of linear equations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import MeasureError
from cranfield.base.spec import choice, flag, number, optional, parameter
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, divide
from cranfield.measures.base import measure
from cranfield.measures.gains import Gain, make_gain_check
from cranfield.measures.ranked.precision import SPACING_NOTE, RelevanceMeasure
from cranfield.measures.users.clicks import format_by_rank, look_up_value

_FREQUENCY = number(0, 1e15)


@dataclass(frozen=True)
class MoveTable:
    """Frequencies of moves between ranks: a row for each origin, a value for each target."""

    rows: tuple[tuple[float, ...], ...]

    @property
    def text(self) -> str:
        return format_by_rank(
            {target: frequency for target, frequency in enumerate(row, 1) if frequency}
            for row in self.rows
        )

    def compute_stationary(self, states: Indices, has_loops: bool) -> Floats:
        """Compute the stationary distribution of each chain; shape (chains, states).

        `states`, of the same shape, are the indices, from 0, of the ranks among which the users of
        each chain move. With `has_loops` users may stay at a rank.
        """
        frequencies = np.array(self.rows)
        if not has_loops or states.shape[1] == 1:
            np.fill_diagonal(frequencies, float(states.shape[1] == 1))
        probability = frequencies[states[:, :, np.newaxis], states[:, np.newaxis, :]]
        probability /= probability.sum(axis=2, keepdims=True)
        equations = np.swapaxes(probability, 1, 2) - np.eye(states.shape[1])
        # One equation is redundant; it is replaced by the condition that the sum is 1.
        equations[:, -1] = 1.0
        right_side = np.zeros((*states.shape, 1))
        right_side[:, -1] = 1.0
        return np.asarray(np.linalg.solve(equations, right_side)[:, :, 0])


def check_moves(value: Any) -> str | MoveTable:
    if isinstance(value, MoveTable) or (isinstance(value, str) and value in {"global", "local"}):
        return value
    description = (
        "'global', 'local', or a mapping of each rank to the frequencies, above 0, of moves to"
        " each other rank, such as {1: {2: 3}, 2: {1: 1}}"
    )
    if not isinstance(value, Mapping) or {*value} != {*range(1, len(value) + 1)} or len(value) < 2:
        raise ValueError(description)
    rows = []
    for rank in range(1, len(value) + 1):
        row = value[rank]
        if not isinstance(row, Mapping) or {*row, rank} != {*value}:
            raise ValueError(description)
        frequencies = tuple(_FREQUENCY(row.get(target, 0)) for target in range(1, len(value) + 1))
        if not all(frequencies[: rank - 1] + frequencies[rank:]):
            raise ValueError(description)
        rows.append(frequencies)
    return MoveTable(tuple(rows))


_check_dwell_times = make_gain_check(
    "a mapping of ranks or grades to mean times above 0, such as {1: 40, 2: 25}",
    is_valid=lambda pairs: all(time > 0 for _, time in pairs),
)


@measure(
    "MP",
    aliases=("MarkovPrecision",),
    summary="Precision at the relevant ranks, weighted by the stationary distribution of a user who"
    " moves between ranks.",
    formula=r"\sum_{i \in \mathcal{R}} \pi_i \, P@i, \quad"
    r" \pi_i \propto \sum_{j \ne i} w(|i - j|), \quad w(d) = \frac{1}{d + 1}",
    source="Ferrante, Ferro and Maistro (2014)",
    family="user models",
    scale_note=SPACING_NOTE,
)
class MarkovPrecision(RelevanceMeasure):
    r"""Markov precision.

    The stationary distribution is restricted to the ranks of relevant documents and normalised to
    the sum 1. In the authors' program (MATTERS) `states` is AD or OR (relevant), `moves` G or L,
    `distance` NA, ID or LID (weights 1, 1 / (d + 1) and 1 / log10(d + 2)), and `loops` NL or SL.
    The program's models that count relevant documents on the way are not implemented.

    If all moves are equally probable (`distance='none'`, `moves='global'`), all relevant ranks have
    the same weight; with `recall=True` the score is then AP.

    If `moves` is a mapping, users stay within its ranks: relevant documents beyond them do not
    count, and `distance` must not be set. With `dwell` times, the distribution of users is
    proportional to :math:`\pi_i \mu_i`, where :math:`\mu_i` is the mean time at rank i, or at its
    grade.

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
        "all", choice("all", "relevant"), "documents that users visit: 'all', or 'relevant' ones"
    )
    moves: str | MoveTable = parameter(
        "global",
        check_moves,
        "whether users move to any rank ('global') or only to neighbours ('local'); or a mapping"
        " of each rank to the frequencies of moves to each other rank, and to itself for loops",
    )
    distance: str = parameter(
        "inverse",
        choice("inverse", "log", "none"),
        "how the probability of a move decreases with distance: 'inverse', inversely; 'log',"
        " inversely with its logarithm; 'none', not at all",
    )
    loops: bool = parameter(False, flag, "whether the next rank of a user may be the present one")
    dwell: Gain | None = parameter(
        None,
        optional(_check_dwell_times),
        "mean dwell time by rank or grade; an unlisted rank or grade has the time of the next lower"
        " listed one, or else of the lowest",
    )
    dwell_by: str = parameter(
        "rank", choice("rank", "grade"), "whether dwell times are by rank or by grade"
    )
    recall: bool = parameter(
        False,
        flag,
        "whether to multiply by the proportion of relevant documents that are retrieved",
    )

    def require_complete(self) -> None:
        super().require_complete()
        if isinstance(self.moves, MoveTable) and self.distance != "inverse":
            raise MeasureError(
                f"MP: distance={self.distance!r} cannot be combined with a mapping of moves"
            )

    @property
    def beyond_length(self) -> str:
        """Scores depend on the length of the list if users may be at all ranks."""
        is_uniform = self.moves == "global" and self.distance == "none"
        return "" if is_uniform or self.states == "relevant" else "how many documents are retrieved"

    def values(self, judged: JudgedRuns) -> Floats:
        hits = judged.relevant(self.rel)
        precision = hits.row_numbers / hits.rank
        if isinstance(self.moves, MoveTable):
            weights = self._weigh_moves(self.moves, judged, hits)
        else:
            is_all = self.states == "all"
            weights = self._weigh_ranks(judged, hits) if is_all else self._weigh_hits(hits)
            if self.loops:
                weights = weights + self._weigh_distances(np.zeros(1))
            # The stationary probability of a single state is 1.
            weights = np.where(weights > 0, weights, 1.0)
        if self.dwell is not None:
            key = hits.rank if self.dwell_by == "rank" else hits.grade
            weights = weights * look_up_value(self.dwell, key)
        score = divide(hits.total(weights * precision), hits.total(weights))
        if self.recall:
            score = score * divide(hits.n_rows, judged.recall_base(self.rel))
        return score

    def _weigh_distances(self, distance: Floats) -> Floats:
        if self.distance == "inverse":
            return np.asarray(1.0 / (distance + 1.0))
        if self.distance == "log":
            return np.asarray(1.0 / np.log10(distance + 2.0))
        return np.ones(distance.shape)

    def _weigh_ranks(self, judged: JudgedRuns, hits: Rows) -> Floats:
        """Sum w over the other ranks of the list."""
        n_above, n_below = hits.rank - 1, hits.at(judged.n_retrieved) - hits.rank
        if self.moves == "local":
            n_above, n_below = np.minimum(n_above, 1), np.minimum(n_below, 1)
        max_length = int(judged.n_retrieved.max(initial=0))
        sums = np.append(0.0, np.cumsum(self._weigh_distances(np.arange(1.0, max_length + 1))))
        return np.asarray(sums[n_above] + sums[n_below])

    def _weigh_hits(self, hits: Rows) -> Floats:
        """Sum w over the other relevant ranks."""
        weights = np.zeros(hits.cell.size)
        max_hits = int(hits.row_numbers.max(initial=0))
        for step in range(1, 2 if self.moves == "local" else max_hits):
            index = np.flatnonzero(hits.row_numbers > step)
            weight = self._weigh_distances(
                (hits.rank[index] - hits.rank[index - step]).astype(np.float64)
            )
            # Each addition has unique indices, as `+=` requires.
            weights[index] += weight
            weights[index - step] += weight
        return weights

    def _weigh_moves(self, moves: MoveTable, judged: JudgedRuns, hits: Rows) -> Floats:
        """Return the stationary probability of each hit, 0 beyond the ranks of the mapping."""
        n_ranks = len(moves.rows)
        is_covered = hits.rank <= n_ranks
        cells, cell_index = np.unique(hits.cell[is_covered], return_inverse=True)
        is_visited: Bools = np.arange(n_ranks) < judged.n_retrieved.T.reshape(-1, 1)[cells]
        if self.states == "relevant":
            is_visited[:] = False
            is_visited[cell_index, hits.rank[is_covered] - 1] = True
        patterns, pattern = np.unique(is_visited, axis=0, return_inverse=True)
        pi = np.zeros(patterns.shape)
        n_states = patterns.sum(axis=1)
        for n in np.unique(n_states).tolist():
            chains = np.flatnonzero(n_states == n)
            states = np.nonzero(patterns[chains])[1].reshape(-1, n)
            pi[chains[:, np.newaxis], states] = moves.compute_stationary(states, self.loops)
        weights = np.zeros(hits.cell.size)
        row_pattern = pattern.reshape(-1)[cell_index]
        weights[is_covered] = pi[row_pattern, hits.rank[is_covered] - 1]
        return weights
