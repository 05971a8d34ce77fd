r"""Users who stop where they are satisfied, and NERR 8 to 11: four like the user of ERR.

Who reads a document of gain g is satisfied with a chance s(g), and stops; who is not goes on as the
rank alone says. With V' for those whom nothing satisfies (Azzopardi, Mackenzie and Moffat 2021),

.. math:: V(r) = V'(r) \prod_{i<r} (1 - s(g_i)), \quad C(r) = \frac{V'(r+1)}{V'(r)} (1 - s(g_r))

Ranks without a judgment all have the same gain. Between two others the product is geometric, and so
sums of V over such a stretch are differences of sums that are known before.

ERR is no weighted sum of gains (ERR is not C/W/L, in the same paper). NERR are numbered as the
equations there. Gains from 0 to 1 are the chances to be satisfied.
"""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.base import measure
from cranfield.measures.parameters import TRUE_SHARE, parameter
from cranfield.measures.users.model import LAST, Expected, UserModel, going_on, plain, upto
from cranfield.measures.users.page import Page
from cranfield.measures.users.wanted_gain import WANTED, wanted

_WEIGHTED = r"\sum_r W(r) \, g_r, \quad C(i) = "
_ABOUT = {
    "family": "user models",
    "scale_note": "not interval: the steps between ranks are unequal",
}
_SOURCE = "Azzopardi and others (2021), equation ({})"


class SatisfiedModel(UserModel):
    """A model whose users look at the rank, and stop with a chance where they gain.

    Nobody tires of reading, if a subclass does not give V' as `patience`.
    """

    def patience(self, rank: Any) -> Any:
        """V': the chance that a rank is read by users whom nothing satisfies, 1 for the first."""
        return rank**0

    def satisfaction(self, gains: Floats) -> Floats:
        """Chance to be satisfied by a gain; the gain itself by default."""
        return gains

    def continuation(self, page: Page) -> Floats:
        unsatisfied = 1.0 - self.satisfaction(page.gains)
        return np.asarray(going_on(self.patience, page.gains.shape[1]) * unsatisfied)

    def summed(self, judged: JudgedRuns, end: int | None, *, best: bool) -> Expected:
        end = end or LAST
        rows = self.unlike_others(judged, best=best, end=end)
        other = self.most(judged) if best else 0.0
        on = 1.0 - float(self.satisfaction(np.array([other]))[0])
        patience = np.asarray(self.patience(upto(end)))
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


class _AtCutoff(SatisfiedModel):
    @property
    def last(self) -> int | None:
        return self.cutoff


@measure(
    "NERR8",
    summary="Gain a document of a user who reads the top k until satisfied.",
    formula=_WEIGHTED + r"1 - g_i \text{ for } i < k, \text{ then } 0",
    source=_SOURCE.format(8),
    at_wanted="required",
    elsewhere={"cwl_eval": "EU of NERR-EQ8@k=...", "ir_measures": "NERR8@k"},
    **_ABOUT,
)
class NERR8(_AtCutoff):
    """The user of ERR, cut off."""


@measure(
    "NERR9",
    summary="Gain a document of a user who reads the top k until satisfied or tired.",
    formula=_WEIGHTED + r"\frac{i}{i + 1} (1 - g_i) \text{ for } i < k, \text{ then } 0",
    source=_SOURCE.format(9),
    at_wanted="required",
    elsewhere={"cwl_eval": "EU of NERR-EQ9@k=...", "ir_measures": "NERR9@k"},
    **_ABOUT,
)
class NERR9(_AtCutoff):
    """A user who is read to rank i by 1/i of all, were nobody satisfied: the discount of ERR."""

    def patience(self, rank: Any) -> Any:
        return 1 / rank


@measure(
    "NERR10",
    summary="Gain a document of a user of RBP who stops when satisfied.",
    formula=_WEIGHTED + r"p \, (1 - g_i)",
    source=_SOURCE.format(10),
    elsewhere={"cwl_eval": "EU of NERR-EQ10@phi=...", "ir_measures": "NERR10(p=...)"},
    **_ABOUT,
)
class NERR10(SatisfiedModel):
    """The user of RBP, who may be satisfied."""

    p: float = parameter(0.9, TRUE_SHARE, "chance to go on if not satisfied")

    def patience(self, rank: Any) -> Any:
        return self.p ** (rank - 1)


@measure(
    "NERR11",
    summary="Gain a document of a user of INSQ who stops when satisfied.",
    formula=_WEIGHTED + r"\left( \frac{i + 2T - 1}{i + 2T} \right)^2 (1 - g_i)",
    source=_SOURCE.format(11),
    elsewhere={"cwl_eval": "EU of NERR-EQ11@T=...", "ir_measures": "NERR11(T=...)"},
    **_ABOUT,
)
class NERR11(SatisfiedModel):
    """The user of INSQ, who may be satisfied."""

    T: float = parameter(1.0, WANTED, "gain that the user wants in all")

    def patience(self, rank: Any) -> Any:
        return wanted(self.T, rank)
