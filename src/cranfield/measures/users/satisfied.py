r"""Users who stop where they are satisfied: what they read, without a loop over ranks.

Who reads a document of gain g is satisfied with a chance s(g), and stops; who is not goes on as the
rank alone says. With V' for those whom nothing satisfies (Azzopardi, Mackenzie and Moffat 2021),

.. math:: V(r) = V'(r) \prod_{i<r} (1 - s(g_i))

Ranks without a judgment all have the same gain. Between two others the product is geometric, and so
sums of V over such a stretch are differences of sums that are known before.
"""

from __future__ import annotations

from itertools import accumulate

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.users.model import LAST, Costs, Expected, UserModel, plain


class SatisfiedModel(UserModel):
    """A model whose users look at the rank, and stop with a chance where they gain.

    A subclass gives V' as `patience`, besides the continuation.
    """

    def patience(self, rank: Floats) -> Floats:
        """V': the chance that a rank is read by users whom nothing satisfies, 1 for the first."""
        raise NotImplementedError

    def satisfaction(self, gains: Floats) -> Floats:
        """Chance to be satisfied by a gain; the gain itself by default."""
        return gains

    def expected(
        self,
        judged: JudgedRuns,
        *,
        depth: int | None = None,
        best: bool = False,
        costs: Costs | None = None,
    ) -> Expected:
        """What users can expect of judged runs; sums over judged documents alone."""
        if costs is not None:
            return super().expected(judged, depth=depth, best=best, costs=costs)
        end = self.ranks(depth) or LAST
        rows = self.unlike_others(judged, best=best, end=end)
        other = self.most(judged) if best else 0.0
        on = 1.0 - float(self.satisfaction(np.array([other]))[0])
        patience = self.patience(np.arange(1.0, end + 1))
        # Who goes on from a rank of which all that follow have the same gain reads so many, by
        # the chance to come to it; from rank 1 to one behind the last.
        further = [*accumulate(patience[::-1].tolist(), lambda after, here: here + on * after)]
        ahead = np.array([0.0, 0.0, *further])[::-1]

        powers = on ** np.arange(float(end + 1))

        going_on = rows.running_product(1.0 - self.satisfaction(rows.gains))
        of_others = powers[rows.rank - rows.seen]
        seen = patience[rows.rank - 1] * rows.before(going_on, 1.0) * of_others
        below = rows.after(rows.rank, end + 1)
        stretch = ahead[rows.rank] - powers[below - rows.rank - 1] * ahead[below - 1]
        stretches = rows.total(going_on * of_others * stretch)
        first = rows.firsts(rows.rank, end + 1)
        stretches += ahead[0] - powers[first - 1] * ahead[first - 1]
        read = stretches + rows.total(seen)
        return plain(other * stretches + rows.total(rows.gains * seen), read)
