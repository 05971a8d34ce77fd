r"""Measures of click models: what users click on is what counts.

Both take the chances of a click model from elsewhere, by grade and by rank. A user who examines
rank i clicks with the chance c of the grade there. After a click the user is satisfied with the
chance s of the grade, and examines nothing more. Besides, rank i is examined with the chance e(i):

.. math:: P[C_i = 1] = e(i) \, c_i \prod_{j<i} (1 - c_j s_j)

Without s this is a position-based model, without e(i) a cascade (Chuklin, Markov and de Rijke
2015).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import Gain, pairs
from cranfield.measures.parameters import optional, parameter
from cranfield.measures.users.page import Page, pages, viewed
from cranfield.measures.users.unit_gains import UnitGains

_FAMILY = "user models"
_SOURCE = "Ferro and Maistro (2024), equation ({}); Chuklin and others (2013)"
_NEEDS = "chances of clicks, from a click model"


def _chances(value: Any) -> Gain:
    if isinstance(value, Gain):
        value = dict(value.kind) if isinstance(value.kind, tuple) else None
    if isinstance(value, Mapping) and value:
        checked = pairs(value)
        if all(0 <= chance <= 1 for _, chance in checked):
            return Gain(checked)
    raise ValueError("a mapping to probabilities, such as {0: 0.3, 1: 0.8}")


class _Clicks(Measure):
    clicks: Gain | None = parameter(
        None, optional(_chances), "chance of a click by grade; 0 for a grade that is not named"
    )
    satisfies: Gain | None = parameter(
        None, optional(_chances), "chance that a clicked document satisfies, by grade"
    )
    examined: Gain | None = parameter(
        None,
        optional(_chances),
        "chance that a rank is examined, by rank; that of the last one named holds below it",
    )

    def require_complete(self) -> None:
        super().require_complete()
        if self.clicks is None:
            raise MeasureError(
                f"{self.name} needs the chances of a click, such as clicks={{0: 0.3, 1: 0.8}}"
            )

    def sums(self, judged: JudgedRuns, worth: Floats, *, by_rank: bool) -> Floats:
        """Sum of P[C = 1] by worth of the judged rows, over the rank if so wished."""
        rows = judged.judged()
        click, last = self._of(self.clicks, rows.grade), self._of(self.satisfies, rows.grade)
        # Nobody knows what an unjudged document is; it is clicked on as grade 0.
        none = np.zeros(1, dtype=np.int64)
        unknown = (self._of(self.clicks, none)[0], self._of(self.satisfies, none)[0])
        depth = max(int(judged.retrieved.max(initial=0)), 1)

        def laid(values: Floats, other: float) -> Iterator[Page]:
            relevant = judged.recall_base()
            return pages(judged, rows, values, depth, other=other, relevant=relevant, lengths=None)

        stops = laid(click * last, float(unknown[0] * unknown[1]))
        gains = laid(click * worth, 0.0)
        parts = []
        for stop, gain in zip(stops, gains, strict=True):
            seen = viewed(1.0 - stop.gains) * self._examined(gain.rank)
            counted = seen / gain.rank if by_rank else seen
            parts.append(np.einsum("ij,ij->i", counted, gain.gains))
        return np.concatenate([*parts, np.empty(0)]).reshape(judged.shape[::-1]).T

    def _examined(self, rank: Any) -> Floats:
        if self.examined is None:
            return np.ones(rank.shape)
        assert isinstance(self.examined.kind, tuple)
        named, chances = (np.array(one) for one in zip(*self.examined.kind, strict=True))
        # A rank that is not named is examined as the last one above that is; as the first, if none.
        at = np.searchsorted(named, rank, side="right") - 1
        return np.asarray(chances[np.maximum(at, 0)], dtype=np.float64)

    @staticmethod
    def _of(chances: Gain | None, grades: Any) -> Floats:
        return np.zeros(grades.shape) if chances is None else np.asarray(chances.named(grades))


@measure(
    "uM",
    summary="Gain that a user clicks on, by a click model.",
    formula=r"\sum_i P[C_i = 1] \, g_i, \quad P[C_i = 1] = e(i) \, c_i \prod_{j<i} (1 - c_j s_j)",
    source=_SOURCE.format(16),
    range=(0.0, float("inf")),
    family=_FAMILY,
    inputs=("clicks",),
    needs=_NEEDS,
    linear=True,
)
class ClickUtility(_Clicks, UnitGains):
    """Utility by a click model.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> text = "uM(clicks={0: 0.2, 1: 0.8}, examined={1: 1, 2: 0.25})"
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, text).by_system().rows()
    [('run', 1.0)]
    """

    def values(self, judged: JudgedRuns) -> Floats:
        return self.sums(judged, self.worth(judged, judged.judged()), by_rank=False)


@measure(
    "rrM",
    summary="Expected reciprocal rank at which a user is satisfied, by a click model.",
    formula=r"\sum_i \frac1i \, s_i \, P[C_i = 1],"
    r" \quad P[C_i = 1] = e(i) \, c_i \prod_{j<i} (1 - c_j s_j)",
    source=_SOURCE.format(17),
    family=_FAMILY,
    inputs=("clicks",),
    needs=_NEEDS,
    linear=True,
)
class ClickEffort(_Clicks):
    """Effort by a click model; ERR, if every click satisfies.

    Examples
    --------
    >>> import cranfield as cf
    >>> run = {"q": {"a": 3, "x": 2, "b": 1}}
    >>> text = "rrM(clicks={0: 0.2, 1: 0.5}, satisfies={1: 1})"
    >>> cf.evaluate(run, {"q": {"a": 1, "b": 1}}, [text, "ERR"]).by_system().row(0)[1:]
    (0.583..., 0.583...)
    """

    def values(self, judged: JudgedRuns) -> Floats:
        return self.sums(judged, self._of(self.satisfies, judged.judged().grade), by_rank=True)
