r"""How much attention the documents of a ranking get, and the groups that they belong to.

What measures of fairness share. A document at rank r has the exposure

==================  =========================================================================
`log2(rank)`        :math:`1 / \log_2 \max(r, 2)`, of the TREC Fair Ranking tracks 2021 and 2022
`log2(rank+1)`      :math:`1 / \log_2 (r + 1)`, of DCG and of Singh and Joachims (2018)
`geometric`         :math:`p^{r-1}`, of RBP
`cascade`           :math:`p^{r-1} (1 - stop)^n` below n relevant documents, of ERR
==================  =========================================================================

Every retrieved document takes attention, judged or not, and whether it belongs to a group or not.
"""

from __future__ import annotations

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError, quoted
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.judgments import Groups
from cranfield.collection.judged.rows import Rows
from cranfield.measures.parameters import TRUE_SHARE, choice, number, parameter
from cranfield.measures.ranked.precision import OfRelevance

MODELS = ("log2(rank)", "log2(rank+1)", "geometric", "cascade")
BROWSING_DOC = "how attention falls: " + ", ".join(map(repr, MODELS))
P = parameter(
    0.5,
    TRUE_SHARE,
    "patience: the chance that a user goes on to the next document (geometric, cascade)",
)
STOP = parameter(
    0.5, number(0, 1), "chance that a user stops at a relevant document, satisfied (cascade)"
)


class Exposing(OfRelevance):
    """Measures of the exposure of documents."""

    browsing: str = parameter("log2(rank)", choice(*MODELS), BROWSING_DOC)
    p: float = P
    stop: float = STOP

    def weights(self, ranks: Floats | Ints) -> Floats:
        """Attention at each rank, of a user whom no document has satisfied."""
        if self.browsing == "log2(rank)":
            return np.asarray(1.0 / np.log2(np.maximum(ranks, 2)))
        if self.browsing == "log2(rank+1)":
            return np.asarray(1.0 / np.log2(ranks + 1.0))
        return np.asarray(self.p ** (ranks - 1.0), dtype=np.float64)

    def exposure(self, judged: JudgedRuns, rows: Rows) -> Floats:
        weights = rows.by_rank(self.weights)
        if self.browsing != "cascade":
            return weights
        hits = judged.relevant(self.rel)
        # Ranks stay far below 2^31, so that a cell and a rank fit into one number.
        keys = hits.cell << 32 | hits.rank
        above = np.searchsorted(keys, rows.cell << 32 | rows.rank)
        above -= np.searchsorted(keys, rows.cell << 32)
        return np.asarray(weights * (1.0 - self.stop) ** above)

    def total(self, judged: JudgedRuns, power: int = 1) -> Floats:
        """Sum of exposures, or of their squares, over each whole ranking; (topics, systems)."""
        deepest = int(judged.retrieved.max(initial=0))
        weights = self.weights(np.arange(1, deepest + 1)) ** power
        upto = np.concatenate(([0.0], np.cumsum(weights)))
        whole = np.asarray(upto[judged.retrieved])
        if self.browsing != "cascade":
            return whole
        # Below the j-th relevant document all weights fall by the same factor once more.
        hits = judged.relevant(self.rel)
        factor = (1.0 - self.stop) ** power
        fall = factor ** (hits.seen - 1.0) - factor ** (hits.seen * 1.0)
        out: Floats = whole - hits.total(fall * (hits.at(whole) - upto[hits.rank]))
        return out


def gathered(rows: Rows, values: Floats, number: int) -> tuple[Rows, Floats]:
    """Sum values by cell and group.

    The rows are those groups that a ranking has documents of, with the group for a grade and no
    rank.
    """
    keys, where = np.unique(rows.cell * number + rows.grade, return_inverse=True)
    sums: Floats = np.bincount(where, weights=values, minlength=keys.size).astype(np.float64)
    pairs = Rows(keys // number, np.zeros_like(keys), keys % number, rows.shape)
    return pairs, sums


def of_judged(judged: JudgedRuns, groups: Groups, values: Floats) -> Floats:
    """Sum a value of each judgment by topic and group, by weight; shape (topics, groups).

    Documents with a grade that does not count as a judgment are left out.
    """
    number = len(groups.names)
    judgments = judged.judgments
    counts = judgments.grade[groups.judgment] >= judgments.judged_from
    places = judgments.topic[groups.judgment] * number + groups.group
    sums = np.bincount(
        places,
        weights=np.where(counts, groups.weight * values[groups.judgment], 0.0),
        minlength=judgments.topics * number,
    )
    return sums.reshape(judgments.topics, number).astype(np.float64)


def group_index(groups: Groups, name: str | None, measure: str) -> int:
    have = ", ".join(quoted(one) for one in groups.names[:10])
    have += ", …" if len(groups.names) > 10 else ""
    if name is None:
        raise MeasureError(f"{measure} needs protected='...', one of the groups: {have}")
    if name not in groups.names:
        raise MeasureError(f"{measure}: there is no group {quoted(name)}; the groups are {have}")
    return groups.names.index(name)
