r"""Users who want a certain gain, INST and INSQ; scaled DCG; and the Bejeweled player model.

Documents that are unjudged, or beyond the end of the list or the cutoff, have no gain. Wrappers
tell the rest of these models, such as `ETU(INST)`, `Depth(INST)` and `Residual(INST)`.

The users of INST and INSQ go on from rank i with the chance ((i + a - 1) / (i + a))^2, where a is
2T less the gain so far (INSQ: 2T). Between two gains a is constant, and the product of these
chances telescopes: the chance to read rank i is proportional to 1 / (i - 1 + a)^2. Its sums are
differences of the trigamma function, also where the ranking has no end. Where every rank gains 1,
it is i + a that is constant, and the chances fall geometrically.

Bejeweled players stop when they have enough gain, or have spent enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.arrays import Floats
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.measures.base import measure
from cranfield.measures.gains import Discount
from cranfield.measures.parameters import MOST_RANKS, integer, number, optional, parameter
from cranfield.measures.users.model import LAST, Costs, Expected, StaticModel, UserModel, plain
from cranfield.measures.users.page import ByLength, Page

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
        above = page.rank + 2.0 * self.T - np.cumsum(page.gains, axis=1)
        return np.asarray(((above - 1.0) / above) ** 2)

    def summed(self, judged: JudgedRuns, end: int | None, *, best: bool) -> Expected:
        """Between two gains chances have a closed form."""
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
    linear=True,
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
    linear=True,
)
class ScaledDCG(StaticModel):
    """DCG over the most that k ranks could have; unlike nDCG it knows no ideal ranking."""

    discount = Discount()

    @property
    def last(self) -> int | None:
        return self.cutoff

    def seen(self, rank: Any) -> Any:
        return 1.0 / self.discount.of(rank)

    def read_to(self, ranks: int | None) -> float:
        if ranks is None or ranks <= MOST_RANKS:
            return super().read_to(ranks)
        # The sum of Euler and Maclaurin, whose next term is below the last bits.
        logs = np.log(np.array([MOST_RANKS, ranks]) + 1.0)
        ends = 0.5 / logs - np.exp(-logs) / (12.0 * logs**2)
        rest = _integral(*logs) + float(ends[1] - ends[0])
        return super().read_to(MOST_RANKS) + float(np.log(2.0)) * rest


def _integral(low: float, high: float) -> float:
    """Integrate 1 / ln(x), of x from exp(low) to exp(high)."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    cuts = np.linspace(low, high, 2 + int(high - low))
    half = np.diff(cuts)[:, None] / 2.0
    at = cuts[:-1, None] + half * (1.0 + nodes)
    return float((half * weights * np.exp(at) / at).sum())


def trigamma(x: ArrayLike) -> Floats:
    r"""Sum of 1 / (x + i)^2 over i = 0, 1, ... (Abramowitz and Stegun, 6.4.10 and 6.4.12).

    x is above 0; infinity gives 0.
    """
    given = np.asarray(x, dtype=np.float64)
    # The series is exact to the last bits from 16 on.
    near = given < 16.0
    below, sums = given[near], np.zeros(np.count_nonzero(near))
    for step in range(16):
        sums += 1.0 / (below + step) ** 2
    far = 1.0 / np.where(near, given + 16.0, given)
    square = far * far
    series = square * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30)))
    out = np.asarray(far * (1.0 + far / 2 + series))
    out[near] += sums
    return out


@dataclass(frozen=True)
class Chances:
    """Chance that each row's rank is read, and ranks read until users stop: (topics, systems)."""

    seen: Floats
    depth: Floats


def read(
    rows: Rows, gains: Floats, aim: float, *, unjudged: float = 0.0, end: int | None = None
) -> Chances:
    """Read rankings as a user of INST, who wants a gain of at least 1/2.

    Rows are documents up to rank `end`, if there is a last one: all whose gain is not that of every
    other rank, at least. `unjudged` is the gain of these, 0 or 1.
    """
    others = rows.rank - rows.seen
    left = 2.0 * aim - rows.running(gains) - unjudged * others
    to = rows.rank.astype(np.float64)
    rank, a = rows.before(to, 0.0), rows.before(left, 2.0 * aim)
    seen = rows.running_product(_going(rank, a, to, unjudged))
    depth = rows.total(rows.before(seen, 1.0) * _stretch(rank, a, to, unjudged))

    stop = np.full(rows.shape, np.inf if end is None else float(end))
    rest = _stretch(rows.lasts(to, 0.0), rows.lasts(left, 2.0 * aim), stop, unjudged)
    return Chances(seen, depth + rows.lasts(seen, 1.0) * rest)


def _going(rank: Floats, a: Floats, to: Floats, unjudged: float) -> Floats:
    """Chance to come from a rank to a later one, with the same gains in between; 0 is the start."""
    start = rank == 0
    if unjudged:
        return np.asarray(_fall(rank + a) ** (to - rank - start))
    return np.asarray(((rank + a - np.where(start, 0.0, 1.0)) / (to + a - 1.0)) ** 2)


def _stretch(rank: Floats, a: Floats, to: Floats, unjudged: float) -> Floats:
    """Sum of the chances to read the ranks after `rank` up to `to`, over that to read `rank`."""
    start = rank == 0
    if unjudged:
        fall = _fall(rank + a)
        return np.asarray(np.where(start, 1.0, fall) * (1.0 - fall ** (to - rank)) / (1.0 - fall))
    head = (rank + a - np.where(start, 0.0, 1.0)) ** 2
    return np.asarray(head * (trigamma(rank + a) - trigamma(to + a)))


def _fall(level: Floats) -> Floats:
    return np.asarray(((level - 1.0) / level) ** 2)


TRACE = 1e-9
"""What a sum of gains or costs may lack of a limit, by rounding, and has reached it."""

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
    """The static model: T and K never change."""

    @property
    def deepest(self) -> int | None:
        most = None if self.reads_lengths else max(1, ceil(self.K))
        return min((one for one in (self.ranks(self.cutoff), most) if one), default=None)

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
