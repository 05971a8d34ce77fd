"""Orders by the scores that runs give to documents, scaled and put together."""

from __future__ import annotations

from typing import cast

import numpy as np

from cranfield.assess.pools.method import Method, best_first
from cranfield.assess.pools.pool import Pool
from cranfield.base.arrays import Indices
from cranfield.fusion import by_scores
from cranfield.fusion.catalogue import FUSIONS
from cranfield.fusion.normalising import min_max


class Combination(Method):
    r"""Scores of a run are scaled for each topic so that its pooled ranks go from 0 to 1.

    .. math:: x = (s - \min s) / (\max s - \min s)

    A run whose scores are all equal gives 1 to each of its documents. A document has 0 from a run
    that does not rank it; a run without any document for the topic has no part in it.
    """

    source = "Fox and Shaw 1994"

    def ranking(self, pool: Pool) -> Indices:
        if not len(pool):
            return np.zeros(0, dtype=np.intp)
        values, starts = pool.ascending(min_max(pool)), pool.held[:-1]
        above = np.add.reduceat(values > 0, starts, dtype=np.int64)
        runs = pool.runs_of_topic[pool.topic]
        method = cast("by_scores.Combination", FUSIONS[self.name]())
        return best_first(pool, method.combined(values, starts, pool.holders, above, runs))


class CombSum(Combination):
    """By the sum of the scaled scores."""

    name = "CombSUM"


class CombMnz(Combination):
    """By the sum of the scaled scores, times the number of those above 0."""

    name = "CombMNZ"


class CombMax(Combination):
    """By the largest scaled score."""

    name = "CombMAX"


class CombMed(Combination):
    """By the median of the scaled scores, with the zeros of runs that do not rank it."""

    name = "CombMED"


class CombAnz(Combination):
    """By the mean of the scaled scores above 0."""

    name = "CombANZ"


class CombMin(Combination):
    """By the smallest scaled score, 0 of a document that some run does not rank."""

    name = "CombMIN"
