r"""FA*IR: does every top of the ranking have as many protected documents as chance would give?

The top i passes where its :math:`x_i` protected documents are not fewer than
:math:`m_i = F^{-1}(\alpha; i, p)`, the quantile of a binomial distribution with the share p that is
asked for (Zehlike and others 2017). As k tops are tested, :math:`\alpha` is lowered until a ranking
that is drawn with chance p passes them all with a chance of at least :math:`1 - \alpha`. The
authors' program takes the table whose chance is nearest to that, which may reject oftener.

Examples
--------
>>> minima(10, 0.5, 0.1, False)
(0, 0, 0, 1, 1, 1, 2, 2, 3, 3)
>>> import cranfield as cf
>>> run = {"q": {"a": 4, "b": 3, "c": 2, "d": 1}}
>>> groups = {"a": "x", "b": "x", "c": "x", "d": "x"}
>>> found = cf.evaluate(run, {"q": {"a": 1}}, ["FAIR(protected='x')@4"], groups=groups)
>>> found.by_system().rows()
[('run', 1.0)]
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.base.scale_types import Scale
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.base import Measure, measure
from cranfield.measures.fairness.named import name
from cranfield.measures.fairness.prefix_fairness import protected_rows
from cranfield.measures.parameters import flag, number, optional, parameter

LONGEST = 2000
"""Ranks that can be tested; the exact chances of more take too long."""


@measure(
    "FAIR",
    summary="Whether every top has as many protected documents as a fair draw would give.",
    formula=r"[\forall i \le k: x_i \ge F^{-1}(\alpha_c; i, p)]",
    source="Zehlike and others (2017)",
    family="fairness",
    inputs=("groups",),
    at_wanted="required",
    needs="groups of documents",
    scale=Scale.ORDINAL,
    scale_note="a verdict, 0 or 1",
    elsewhere={"fairsearchcore": "Fair(k, p, alpha).is_fair"},
)
class RankedGroupFairness(Measure):
    """Ranked group fairness: 1 where the test passes at all ranks to the cutoff, 0 else.

    A shorter ranking is tested down to its end, so that an empty one passes.
    """

    protected: str | None = parameter(None, optional(name), "group to be fair to; has to be given")
    share: float = parameter(
        0.5, number(0, 1, open_low=True, open_high=True), "lowest share that the group should have"
    )
    alpha: float = parameter(
        0.1, number(0, 1, open_low=True, open_high=True), "chance to reject a ranking that is fair"
    )
    adjusted: bool = parameter(
        True, flag, "whether the chance holds for all tops together, and not for each"
    )

    def values(self, judged: JudgedRuns) -> Floats:
        """Test all tops at once: each protected document that one needs has to come in time."""
        assert self.cutoff is not None
        if self.cutoff > LONGEST:
            raise MeasureError(f"{self}: a cutoff above {LONGEST} is too much to test")
        rows = protected_rows(judged, self.protected, str(self))
        # What the tops need rises with their length: that of rank 0 is nothing.
        lowest = np.array([0, *minima(self.cutoff, self.share, self.alpha, self.adjusted)])
        needed = lowest[judged.retrieved]
        number = rows.seen
        in_time = (number <= rows.at(needed)) & (lowest[rows.rank - 1] < number)
        return np.asarray((rows.total(in_time) == needed).astype(np.float64))


@lru_cache(maxsize=64)
def minima(k: int, share: float, alpha: float, adjusted: bool) -> tuple[int, ...]:
    """Return how many protected documents each top needs.

    Parameters
    ----------
    k
        Ranks that are tested.
    share
        Lowest share that the protected group should have.
    alpha
        Chance to reject a ranking that is fair.
    adjusted
        Whether this is the chance over all tops, and not at each.

    Returns
    -------
    tuple of int
        Protected documents that the tops 1 to k need at least.
    """
    from scipy.special import bdtr

    tops = np.arange(1, k + 1)[:, None]
    counts = np.arange(k + 1)[None, :]
    below = np.where(counts < tops, bdtr(np.minimum(counts, tops), tops, share), 1.0)

    def needed(level: float) -> Floats:
        return np.asarray((below < level).sum(axis=1))

    if not adjusted:
        return tuple(map(int, needed(alpha)))
    # The chance to be rejected is a step function that rises with the level.
    low, high = 0.0, alpha
    if _rejected(needed(high), share) <= alpha:
        low = high
    for _ in range(50):
        middle = (low + high) / 2
        if _rejected(needed(middle), share) <= alpha:
            low = middle
        else:
            high = middle
    return tuple(map(int, needed(low)))


def _rejected(needed: Floats, share: float) -> float:
    """Chance that a ranking drawn with this share fails one of the tops."""
    chances = np.zeros(needed.size + 1)
    chances[0] = 1.0
    for least in needed:
        chances[1:] = chances[1:] * (1.0 - share) + chances[:-1] * share
        chances[0] *= 1.0 - share
        chances[:least] = 0.0
    return float(1.0 - chances.sum())
