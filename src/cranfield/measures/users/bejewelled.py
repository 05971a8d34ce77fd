"""The Bejeweled player model: users stop when they have enough, or enough of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.base import measure
from cranfield.measures.parameters import number, optional, parameter
from cranfield.measures.users.model import LAST, Costs, Expected, UserModel
from cranfield.measures.users.page import ByLength, Page

TRACE = 1e-9
"""What a sum of gains or costs may lack of a limit, by rounding, and has reached it."""

_FAMILY = "user models"
_GOES_ON = r"[\sum_{j \le i} g_j < T_i] \, [\sum_{j \le i} c_j < K_i]"


class _Bejewelled(UserModel):
    T: float = parameter(1.0, number(0, 1e9), "gain that is enough")
    K: float = parameter(
        10.0, number(0, 1e15), "cost that is enough: documents, or what `unit` says"
    )
    unit: float | None = parameter(
        None,
        optional(number(0, 1e15)),
        "cost of a unit of length; by default each document costs 1",
    )
    missing: float | None = parameter(
        None, optional(number(0, 1e15)), "length to take where none is known, and beyond the list"
    )

    @property
    def reads_lengths(self) -> bool:
        return self.unit is not None

    def costs(self, page: Page) -> Floats:
        if self.unit is None:
            return super().costs(page)
        return ByLength(self.unit, missing=self.missing)(page)

    def continuation(self, page: Page) -> Floats:
        found, spent = np.cumsum(page.gains, axis=1), np.cumsum(self.costs(page), axis=1)
        enough, most = self.limits(page.rank, found - page.gains)
        # Ten gains of .1 are enough for T = 1, though as floats they do not add up to it.
        return np.asarray((found < enough - TRACE) & (spent < most - TRACE), dtype=np.float64)

    def limits(self, rank: Any, before: Any) -> tuple[Any, Any]:
        """T and K at each rank; `before` is the gain above it."""
        return self.T, self.K

    def furthest(self) -> float:
        raise NotImplementedError

    def expected(
        self,
        judged: JudgedRuns,
        *,
        depth: int | None = None,
        best: bool = False,
        costs: Costs | None = None,
    ) -> Expected:
        """What users can expect of judged runs; no page is longer than anybody reads."""
        if costs is None and self.unit is None:
            deepest = self.ranks(depth) or LAST
            depth = max(1, int(min(float(deepest), np.ceil(self.furthest()) + 1.0)))
        return super().expected(judged, depth=depth, best=best, costs=costs)


@measure(
    "BPM",
    summary="Gain a document of a user who stops at a total gain of T, or a total cost of K.",
    formula=rf"\sum_r W(r) \, g_r, \quad C(i) = {_GOES_ON}, \quad T_i = T, \; K_i = K",
    source="Zhang and others (2017)",
    family=_FAMILY,
    scale_note="not interval: the steps between ranks are unequal",
    elsewhere={"cwl_eval": "EU of BPM-Static-T=...-K=...", "ir_measures": "BPM(T=...)@K"},
)
class BPM(_Bejewelled):
    """The static model: limits stay as they are."""

    def furthest(self) -> float:
        return self.K


@measure(
    "BPMDynamic",
    summary="BPM of a user who wants more, and is more patient, the better the documents are.",
    formula=rf"\sum_r W(r) \, g_r, \quad C(i) = {_GOES_ON}, \quad"
    r" T_i = T + h_b \sum_{j<i} (g_j - g_{med}), \; K_i = K + h_c \sum_{j<i} (g_j - g_{med})",
    source="Zhang and others (2017); Azzopardi and others (2019)",
    family=_FAMILY,
    scale_note="not interval: the steps between ranks are unequal",
    elsewhere={"cwl_eval": "EU of BPM-Dynamic with hc=0: its K never changes"},
)
class BPMDynamic(_Bejewelled):
    """The dynamic model: a gain above the median raises both limits, one below lowers them."""

    hb: float = parameter(1.0, number(0, 1e6), "how much a gain changes T")
    hc: float = parameter(1.0, number(0, 1e6), "how much a gain changes K")
    median: float = parameter(0.5, number(0, 1), "gain that changes nothing")

    def limits(self, rank: Any, before: Any) -> tuple[Any, Any]:
        change = before - self.median * (rank - 1)
        return self.T + self.hb * change, self.K + self.hc * change

    def furthest(self) -> float:
        more = self.hc * (1.0 - self.median)
        return (self.K - more) / (1.0 - more) if more < 1.0 else float("inf")
