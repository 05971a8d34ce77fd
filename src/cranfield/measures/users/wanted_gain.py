"""Users who want a certain gain, INST and INSQ; and scaled DCG.

Documents that are unjudged, or beyond the end of the list or the cutoff, have no gain. Wrappers
tell the rest of these models, such as `ETU(INST)`, `Depth(INST)` and `Residual(INST)`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.base import measure
from cranfield.measures.gains import Discount
from cranfield.measures.parameters import integer, number, optional, parameter
from cranfield.measures.users.inst_chances import read, trigamma
from cranfield.measures.users.model import Costs, Expected, StaticModel, UserModel, plain
from cranfield.measures.users.page import Page

_T_DOC = "gain that the user wants in all: the number of relevant documents, if gains are binary"
# Below 1/2 a user who finds all at once would go on with a chance that is no chance.
WANTED = number(0.5, 1000)
_DEPTH = parameter(
    None,
    optional(integer(1)),
    "last rank that a user reads; by default there is none, and weights go on beyond the list",
)
_FAMILY = "user models"
_CONTINUATION = r"C(i) = \left( \frac{i + T + T_i - 1}{i + T + T_i} \right)^2"
_LEFT = r", \quad T_i = T - \sum_{j \le i} g_j"
_VIEWED = r"\quad V(r) = \prod_{i<r} C(i)"
_INSQ_WEIGHTS = r"\quad W(r) \propto \frac{1}{(r + 2T - 1)^2}"
_SDCG_WEIGHTS = r"\quad W(r) = \frac{1 / \log_2(r + 1)}{\sum_{j=1}^{k} 1 / \log_2(j + 1)}"


def wanted(gain: Any, rank: Any) -> Any:
    """V where nothing is found: the product of ((i + 2T - 1) / (i + 2T))^2 over the ranks above."""
    return (2 * gain / (rank + 2 * gain - 1)) ** 2


@measure(
    "INST",
    summary="Gain a document of a user who wants T, and stops sooner the more is found.",
    formula=rf"\frac{{\sum_r V(r) \, g_r}}{{\sum_r V(r)}}, {_VIEWED}, \quad {_CONTINUATION}{_LEFT}",
    source="Moffat and others (2015); Moffat and others (2017)",
    family=_FAMILY,
    scale_note="not interval: the steps between ranks are unequal",
    elsewhere={"cwl_eval": "EU of INST-T=..., with depth=1000"},
)
class INST(UserModel):
    """INST; ranks go on for ever, and those beyond the list have no gain."""

    T: float = parameter(1.0, WANTED, _T_DOC)
    depth: int | None = _DEPTH

    @property
    def last(self) -> int | None:
        return self.depth

    def continuation(self, page: Page) -> Floats:
        """What is found is taken off T."""
        above = page.rank + 2.0 * self.T - np.cumsum(page.gains, axis=1)
        return np.asarray(((above - 1.0) / above) ** 2)

    def expected(
        self,
        judged: JudgedRuns,
        *,
        depth: int | None = None,
        best: bool = False,
        costs: Costs | None = None,
    ) -> Expected:
        """What users can expect of judged runs; between two gains chances have a closed form."""
        if costs is not None:
            return super().expected(judged, depth=depth, best=best, costs=costs)
        end = self.ranks(depth)
        rows = self.unlike_others(judged, best=best, end=end)
        how = read(rows, rows.gains, self.T, unjudged=float(best), end=end)
        if best:
            return plain(how.depth - rows.total((1.0 - rows.gains) * how.seen), how.depth)
        return plain(rows.total(rows.gains * how.seen), how.depth)


@measure(
    "INSQ",
    summary="Gain a document of a user who wants T, whatever is found on the way.",
    formula=rf"\sum_r W(r) \, g_r, {_INSQ_WEIGHTS}",
    source="Moffat and others (2012)",
    family=_FAMILY,
    scale_note="not interval: the steps between ranks are unequal",
    elsewhere={"cwl_eval": "EU of INSQ-T=..., with depth=1000"},
)
class INSQ(StaticModel):
    """INSQ; weights go on for ever, and their sum is a trigamma function of 2T."""

    T: float = parameter(1.0, WANTED, _T_DOC)
    depth: int | None = _DEPTH

    @property
    def last(self) -> int | None:
        return self.depth

    def seen(self, rank: Any) -> Any:
        return wanted(self.T, rank)

    def read_to(self, ranks: int | None) -> float:
        """Sum of V, with or without end."""
        rest = 0.0 if ranks is None else float(trigamma(2.0 * self.T + ranks))
        return 4.0 * self.T**2 * (float(trigamma(2.0 * self.T)) - rest)


@measure(
    "SDCG",
    summary="Scaled DCG: gain a document of a user who reads the top k as DCG weighs it.",
    formula=rf"\sum_{{r=1}}^{{k}} W(r) \, g_r, {_SDCG_WEIGHTS}",
    source="Moffat and others (2013)",
    family=_FAMILY,
    at_wanted="required",
    scale_note="not interval; it is DCG by a constant",
    elsewhere={"cwl_eval": "EU of NDCG-k@..."},
)
class ScaledDCG(StaticModel):
    """DCG over the most that k ranks could have; unlike nDCG it knows no ideal ranking."""

    discount = Discount()

    @property
    def last(self) -> int | None:
        return self.cutoff

    def seen(self, rank: Any) -> Any:
        return 1.0 / self.discount.of(rank)
