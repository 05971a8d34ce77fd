"""Measures of the C/W/L framework: what a user who reads in a certain way can expect.

The user models are in :mod:`cranfield.measures.continuation`. Documents that are unjudged, or
beyond the end of the list or the cutoff, have no gain; residuals tell what they could add.
"""

from __future__ import annotations

import numpy as np

from cranfield.collection.judged import JudgedRuns
from cranfield.collection.rows import Rows
from cranfield.measures.base import Floats, Measure, measure
from cranfield.measures.parameters import integer, number, optional, parameter
from cranfield.measures.reading import Reading, read, trigamma
from cranfield.measures.user_models import UnitGains

_T_DOC = "gain that the user wants in all: the number of relevant documents, if gains are binary"
# Below 1/2 a user who finds all at once would go on with a chance that is no chance.
_T = number(0.5, 1000)
_DEPTH = parameter(
    None,
    optional(integer(1)),
    "last rank that a user reads; by default there is none, and weights go on beyond the list",
)
_FAMILY = "user models"
_CONTINUATION = r"C(i) = \left( \frac{i + T + T_i - 1}{i + T + T_i} \right)^2"
_LEFT = r", \quad T_i = T - \sum_{j \le i} g_j"
_VIEWED = r"\quad V(r) = \prod_{i<r} C(i)"
_INST_SOURCE = "Moffat and others (2015); Moffat and others (2017)"
_INSQ_WEIGHTS = r"\quad W(r) \propto \frac{1}{(r + 2T - 1)^2}"
_SDCG_WEIGHTS = r"\quad W(r) = \frac{1 / \log_2(r + 1)}{\sum_{j=1}^{k} 1 / \log_2(j + 1)}"


class _INST(UnitGains):
    T: float = parameter(1.0, _T, _T_DOC)
    depth: int | None = _DEPTH

    def rows(self, judged: JudgedRuns) -> Rows:
        rows = judged.judged()
        return rows if self.depth is None else rows.where(rows.rank <= self.depth)

    def read(self, judged: JudgedRuns, unjudged: float = 0.0) -> tuple[Rows, Floats, Reading]:
        """Rows, their gains, and how they are read."""
        rows = self.rows(judged)
        worth = self.worth(judged, rows)
        return rows, worth, read(rows, worth, self.T, unjudged=unjudged, end=self.depth)


@measure(
    "INST",
    summary="Gain a document of a user who wants T, and stops sooner the more is found.",
    formula=rf"\frac{{\sum_r V(r) \, g_r}}{{\sum_r V(r)}}, {_VIEWED}, \quad {_CONTINUATION}{_LEFT}",
    source=_INST_SOURCE,
    family=_FAMILY,
    elsewhere={"cwl_eval": "EU of INST-T=..., with depth=1000"},
)
class INST(_INST):
    """INST; ranks go on for ever, and those beyond the list have no gain."""

    def values(self, judged: JudgedRuns) -> Floats:
        """Gain until the user stops, over the documents read until then."""
        rows, worth, how = self.read(judged)
        return rows.total(worth * how.seen) / how.depth


@measure(
    "INSTTotal",
    summary="Gain that the user of INST has found on stopping: the expected total utility.",
    formula=rf"\sum_r V(r) \, g_r, {_VIEWED}, \quad {_CONTINUATION}{_LEFT}",
    source="Moffat and others (2017)",
    range=(0.0, float("inf")),
    family=_FAMILY,
    elsewhere={"cwl_eval": "ETU of INST-T=..., but for its cut at rank 1000"},
)
class INSTTotal(_INST):
    """INST by INSTDepth: a sum in place of a rate."""

    def values(self, judged: JudgedRuns) -> Floats:
        """Gains by the chance that they are read."""
        rows, worth, how = self.read(judged)
        return rows.total(worth * how.seen)


@measure(
    "INSTDepth",
    summary="Documents that the user of INST reads: expected total cost, if each costs 1.",
    formula=rf"\sum_r V(r) = \frac{{1}}{{W(1)}}, {_VIEWED}, \quad {_CONTINUATION}{_LEFT}",
    source="Moffat and others (2017)",
    range=(1.0, float("inf")),
    lower_is_better=True,
    family=_FAMILY,
    elsewhere={"cwl_eval": "EI of INST-T=..., with depth=1000"},
)
class INSTDepth(_INST):
    """A user who finds soon what is wanted stops early, so low is good."""

    def values(self, judged: JudgedRuns) -> Floats:
        """Sum of the chances to read a rank."""
        return self.read(judged)[2].depth


@measure(
    "INSTResidual",
    summary="How much INST rises if all that is unjudged or not retrieved has the gain 1.",
    formula=r"\mathit{INST}[g_r = 1 \text{ at ranks without a judgment}] - \mathit{INST}",
    source="Moffat and others (2017)",
    lower_is_better=True,
    family=_FAMILY,
    elsewhere={"cwl_eval": "residual of EU of INST-T=..., with depth=1000"},
)
class INSTResidual(_INST):
    """Both are read as INST says: with a gain of 1 at those ranks, users stop sooner, too."""

    def values(self, judged: JudgedRuns) -> Floats:
        """Highest INST less INST."""
        rows, worth, low = self.read(judged)
        high = self.read(judged, unjudged=1.0)[2]
        best = 1.0 - rows.total((1.0 - worth) * high.seen) / high.depth
        return np.maximum(best - rows.total(worth * low.seen) / low.depth, 0.0)


def _insq(rows: Rows, wanted: float, depth: int | None) -> Floats:
    """Weights of INSQ at each row."""
    end = np.inf if depth is None else float(depth)
    total = trigamma(2.0 * wanted) - trigamma(2.0 * wanted + end)
    weight = 1.0 / (rows.rank + 2.0 * wanted - 1.0) ** 2 / total
    return np.where(rows.rank <= end, weight, 0.0)


@measure(
    "INSQ",
    summary="Gain a document of a user who wants T, whatever is found on the way.",
    formula=rf"\sum_r W(r) \, g_r, {_INSQ_WEIGHTS}",
    source="Moffat and others (2012)",
    family=_FAMILY,
    elsewhere={"cwl_eval": "EU of INSQ-T=..., with depth=1000"},
)
class INSQ(UnitGains):
    """INSQ; weights go on for ever, and their sum is a trigamma function of 2T."""

    T: float = parameter(1.0, _T, _T_DOC)
    depth: int | None = _DEPTH

    def values(self, judged: JudgedRuns) -> Floats:
        """Sum of gains by weights."""
        rows = judged.judged()
        return rows.total(self.worth(judged, rows) * _insq(rows, self.T, self.depth))


@measure(
    "INSQResidual",
    summary="How much INSQ could still rise: weight of what is unjudged or not retrieved.",
    formula=rf"\sum_{{r \text{{ without a judgment}}}} W(r), {_INSQ_WEIGHTS}",
    source="Moffat and others (2012)",
    lower_is_better=True,
    family=_FAMILY,
    elsewhere={"cwl_eval": "residual of EU of INSQ-T=..., with depth=1000"},
)
class INSQResidual(Measure):
    """Residual of INSQ."""

    T: float = parameter(1.0, _T, _T_DOC)
    depth: int | None = _DEPTH

    def values(self, judged: JudgedRuns) -> Floats:
        """Weight of all ranks that no judgment covers."""
        rows = judged.judged()
        return np.maximum(1.0 - rows.total(_insq(rows, self.T, self.depth)), 0.0)


def _sdcg(rows: Rows, cutoff: int | None) -> Floats:
    """Weights of SDCG at each row, which is in the top k."""
    k = cutoff or 1
    total = float((1.0 / np.log2(np.arange(2, k + 2))).sum())
    return np.asarray(1.0 / np.log2(rows.rank + 1) / total)


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
class ScaledDCG(UnitGains):
    """DCG over the most that k ranks could have; unlike nDCG it knows no ideal ranking."""

    def values(self, judged: JudgedRuns) -> Floats:
        """Sum of gains by weights."""
        rows = judged.judged()
        return rows.total(self.worth(judged, rows) * _sdcg(rows, self.cutoff))


@measure(
    "SDCGResidual",
    summary="How much SDCG could still rise: the weight of the top k that is not judged.",
    formula=rf"\sum_{{r \le k \text{{ without a judgment}}}} W(r), {_SDCG_WEIGHTS}",
    source="Moffat and others (2013)",
    lower_is_better=True,
    family=_FAMILY,
    at_wanted="required",
    elsewhere={"cwl_eval": "residual of EU of NDCG-k@..."},
)
class ScaledDCGResidual(Measure):
    """Residual of SDCG."""

    def values(self, judged: JudgedRuns) -> Floats:
        """Weight of the ranks up to k that no judgment covers."""
        rows = judged.judged()
        residual = np.maximum(1.0 - rows.total(_sdcg(rows, self.cutoff)), 0.0)
        # Rounding may leave a trace where every rank is judged.
        residual[rows.count == self.cutoff] = 0.0
        return residual
