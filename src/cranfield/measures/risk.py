r"""Risk-sensitive versions of a measure: losses against a baseline weigh more than gains.

On a topic where a system scores :math:`\Delta` more than the baseline it wins :math:`\Delta`; where
it scores less it loses :math:`(1 + \alpha) |\Delta|`. The mean over topics is :math:`U_{risk}`;
with :math:`\alpha = 0` it is the difference of the means (Wang, Bennett and Collins-Thompson 2012).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError, quoted
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import Info, Measure
from cranfield.measures.parameters import number, parameter
from cranfield.measures.wrapping import Wrapping, wrapping

_FAMILY = "risk"
_ALPHA = parameter(1.0, number(0, 1e6), "how much more a loss weighs than a gain")
_ROUNDING = 1e-12
"""Differences that vary by less than this share of the largest are equal."""
_INFINITE = (float("-inf"), float("inf"))


def _label(value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    raise ValueError("the name of a system")


def weighed(values: Floats, baseline: Floats, alpha: float) -> Floats:
    """Differences to a baseline, losses weighed with 1 + alpha."""
    difference = values - baseline
    return np.asarray(np.where(difference < 0, 1.0 + alpha, 1.0) * difference)


def standard_error(differences: Floats) -> Floats:
    """Standard error of each system's mean; NaN is no difference.

    0 where all differences are equal but for rounding.
    """
    there = np.isfinite(differences)
    count = there.sum(axis=0)
    known = np.where(there, differences, 0.0)
    centred = np.where(there, known - known.sum(axis=0) / np.maximum(count, 1), 0.0)
    largest = np.abs(known).max(axis=0, initial=0.0)
    with np.errstate(over="ignore"):
        square = (centred**2).sum(axis=0) / np.maximum(count - 1, 1)
    same = np.abs(centred).max(axis=0, initial=0.0) <= _ROUNDING * largest
    return np.asarray(np.where(same, 0.0, np.sqrt(square / np.maximum(count, 1))))


class _Risk(Wrapping):
    baseline: str = parameter("", _label, "the system that the others are compared with")
    alpha: float = _ALPHA

    def _set(self, name: str, value: Any) -> None:
        if name == "baseline" and value == "":
            raise MeasureError(
                f"{self.about.name} needs a baseline, such as"
                f" {self.about.name}(nDCG@20, baseline='bm25')"
            )
        super()._set(name, value)

    def check(self, inner: Measure) -> None:
        if inner.info.aggregate != "mean" or inner.info.lower_is_better:
            raise MeasureError(
                f"{self.about.name}: {inner} is no score that is averaged, where more is better"
            )

    def declared(self) -> Info:
        return replace(super().declared(), range=_INFINITE)

    def differences(self, judged: JudgedRuns) -> Floats:
        """Weighed differences to the baseline; NaN where the baseline has no score."""
        if self.baseline not in judged.systems:
            known = ", ".join(quoted(name) for name in judged.systems[:5])
            raise MeasureError(f"{self}: no system is called that; the first are {known}")
        values = self.inner.score(judged)
        at = judged.systems.index(self.baseline)
        baseline = np.where(judged.scored[:, [at]], values[:, [at]], np.nan)
        return weighed(values, baseline, self.alpha)


@wrapping(
    "URisk",
    summary="What a system wins over a baseline, losses weighed more.",
    formula=r"\begin{cases} \Delta & \Delta \ge 0 \\ (1 + \alpha) \Delta & \Delta < 0 \end{cases},"
    r" \quad \Delta = M(s) - M(b)",
    source="Wang, Bennett and Collins-Thompson (2012)",
    family=_FAMILY,
    range=_INFINITE,
    elsewhere={"ndeval, gdeval": "risk-sensitive versions of the Web track 2013 and 2014"},
    beyond_grades="the scores of another system",
    others=True,
)
class RiskReward(_Risk):
    """U_risk: its mean over topics is that of the papers.

    Examples
    --------
    >>> import cranfield as cf
    >>> runs = {"old": {"q": {"a": 1}, "r": {"b": 1}}, "new": {"q": {"a": 1}, "r": {"a": 1}}}
    >>> qrels = {"q": {"a": 1}, "r": {"b": 1}}
    >>> ev = cf.evaluate(runs, qrels, "URisk(P@1, baseline='old', alpha=5)")
    >>> ev.means().rows()
    [("URisk(P@1, baseline='old', alpha=5)", 0.0, -3.0)]
    """

    def values(self, judged: JudgedRuns) -> Floats:
        return self.differences(judged)


@wrapping(
    "TRisk",
    summary="U_risk in units of its standard error: how sure the risk or the reward is.",
    formula=r"\frac{U_{risk}}{SE(U_{risk})}, \quad SE = \frac{s}{\sqrt{n}}",
    source="Dinçer, Macdonald and Ounis (2014)",
    family=_FAMILY,
    range=_INFINITE,
    elsewhere={"its distribution": "Student's t with n - 1 degrees of freedom, for one system"},
    beyond_grades="the scores of another system",
    others=True,
)
class StandardisedRisk(_Risk):
    """T_risk: each topic's share, whose mean over the topics is the statistic.

    0 where all topics have the same weighed difference to the baseline.
    """

    def values(self, judged: JudgedRuns) -> Floats:
        differences = self.differences(judged)
        error = standard_error(np.where(judged.scored, differences, np.nan))
        return np.where(np.isnan(differences), np.nan, ratio(differences, error))
