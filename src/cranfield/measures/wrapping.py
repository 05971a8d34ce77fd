r"""Measures of a measure, such as its risk-sensitive version.

On a topic where a system scores :math:`\Delta` more than the baseline, it gains :math:`\Delta`;
where it scores less, it loses :math:`(1 + \alpha) |\Delta|`. The mean over topics is
:math:`U_{risk}`; with :math:`\alpha = 0` it is the difference of the means (Wang, Bennett and
Collins-Thompson 2012).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar, Never, Self, TypeVar

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError, quote
from cranfield.base.scale_types import Scale
from cranfield.base.spec import format_value, number, parameter
from cranfield.base.text import list_some
from cranfield.collection.judged.judged_runs import JudgedRuns, keep_first_of_classes
from cranfield.collection.judged.rows import divide
from cranfield.measures.base import Info, Measure, measure
from cranfield.measures.families import KINDS
from cranfield.measures.grammar import parse_measure


class Wrapper(Measure):
    """Base class of measures of a measure: `Name(inner, option=value)`.

    The inner measure receives the value after an `@`, and all parameters that the outer measure
    does not have.
    """

    kind = KINDS[1]
    inner_example = "nDCG@10"
    outer_info: ClassVar[Info] = Info("")
    """Declaration without an inner measure."""
    scores_cut_rankings = False
    _own_input: ClassVar[str] = ""
    """One of the `inputs` of :class:`Info`, which the inner measure must not use itself."""
    _requires_mean: ClassVar[bool] = False
    """Whether the inner measure must be averaged over topics."""
    _requires_higher_is_better: ClassVar[bool] = False
    inner: Measure

    def __init__(self, inner: Measure | str, /, **options: Any) -> None:
        self.check_names(options)
        if not isinstance(inner, (str, Measure)):
            type_name = inner.__name__ if isinstance(inner, type) else type(inner).__name__
            raise MeasureError(
                f"{self.outer_info.name}: expected a measure or its text form, got {type_name}"
            )
        vars(self)["inner"] = parse_measure(inner) if isinstance(inner, str) else inner
        if self.inner.data_class is not JudgedRuns:
            raise MeasureError(
                f"{self.outer_info.name}: expected a measure of {JudgedRuns.noun}, got {inner},"
                f" which is computed from {self.inner.data_class.noun}"
            )
        vars(self)["explicit"] = frozenset(options)
        for name in self.list_parameter_names():
            self._set(name, options.get(name, self.parameters[name].default))
        vars(self).update(cutoff=self.inner.cutoff, judged_only=self.inner.judged_only)
        self.check(self.inner)
        vars(self)["info"] = self.combine_info()

    def combine_info(self) -> Info:
        """Combine the declarations of the outer and the inner measure."""
        inner, outer = self.inner.info, self.outer_info
        return replace(
            outer,
            range=inner.range,
            lower_is_better=inner.lower_is_better,
            aggregate=inner.aggregate,
            at_parameter=inner.at_parameter,
            at_usage=inner.at_usage,
            inputs=tuple(dict.fromkeys((*outer.inputs, *inner.inputs))),
            depends_on_others=outer.depends_on_others or inner.depends_on_others,
        )

    def check(self, inner: Measure) -> None:
        """Refuse an unsuitable inner measure."""
        name, requirement = self.outer_info.name, ""
        if self._own_input in inner.info.inputs:
            raise MeasureError(
                f"{name}: {inner} cannot be the inner measure, as it already uses {self._own_input}"
            )
        if self._requires_mean and inner.info.aggregate != "mean":
            requirement = "that is averaged over topics"
        elif self._requires_higher_is_better and inner.info.lower_is_better:
            requirement = "for which higher is better"
        if requirement:
            raise MeasureError(f"{name}: expected a measure {requirement}, got {inner}")

    @classmethod
    def list_parameter_names(cls) -> list[str]:
        """Return the names of the outer parameters, without `cutoff` and `judged_only`."""
        return [name for name in cls.parameters if name not in {"cutoff", "judged_only"}]

    def score(self, judged: JudgedRuns) -> Floats:
        """Score each ranking; unless `scores_cut_rankings`, only the inner measure cuts it off."""
        if self.scores_cut_rankings:
            return super().score(judged)
        self.require_complete()
        return self.values(judged)

    def require_complete(self) -> None:
        self.inner.require_complete()

    def __matmul__(self, cutoff: Any) -> Self:
        return type(self)(self.inner @ cutoff, **self.get_options())

    def __call__(self, /, *arguments: Never, **parameters: Any) -> Self:
        """Return the measure with other parameters, its own or those of the inner measure."""
        if arguments:
            return super().__call__(*arguments)
        names = self.list_parameter_names()
        inner_parameters = {name: value for name, value in parameters.items() if name not in names}
        options = {name: parameters.get(name, value) for name, value in self.get_options().items()}
        inner = self.inner(**inner_parameters) if inner_parameters else self.inner
        return type(self)(inner, **options)

    @property
    def source(self) -> str:
        """Works to cite for the inner measure, then for the outer one."""
        works = (*self.inner.source.split("; "), *super().source.split("; "))
        return "; ".join(dict.fromkeys(works))

    @property
    def uses_highest_grade(self) -> bool:
        return super().uses_highest_grade or self.inner.uses_highest_grade

    def get_options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.list_parameter_names()}

    def __str__(self) -> str:
        settings = [
            f", {name}={format_value(value)}"
            for name, value in sorted(self.get_options().items())
            if value != self.parameters[name].default
        ]
        return f"{self.outer_info.name}({self.inner}{''.join(settings)})"


W = TypeVar("W", bound=type[Wrapper])


def wrapper_measure(name: str, **attributes: Any) -> Callable[[W], W]:
    """Decorate a subclass of :class:`Wrapper`; parameters as for :func:`measure`."""

    def register(cls: W) -> W:
        cls.outer_info = measure(name, **attributes)(cls).info
        return cls

    return register


_ROUNDING = 1e-12
"""Differences count as equal if none deviates from the mean difference by more than this fraction
of the largest absolute difference."""
_INFINITE_RANGE = (float("-inf"), float("inf"))


def _check_system(value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    raise ValueError("the name of a system")


def weigh_losses(values: Floats, baseline: Floats, alpha: float) -> Floats:
    """Compute differences from a baseline, with losses weighted by 1 + alpha."""
    differences = values - baseline
    return np.asarray(np.where(differences < 0, 1.0 + alpha, 1.0) * differences)


def compute_standard_errors(differences: Floats) -> Floats:
    """Compute the standard error of the mean difference of each system, ignoring NaN.

    The standard error is 0 where all differences are equal up to rounding.
    """
    is_scored = np.isfinite(differences)
    n_scored = is_scored.sum(axis=0)
    values = np.where(is_scored, differences, 0.0)
    deviations = np.where(is_scored, values - values.sum(axis=0) / np.maximum(n_scored, 1), 0.0)
    max_difference = np.abs(values).max(axis=0, initial=0.0)
    with np.errstate(over="ignore"):
        variance = (deviations**2).sum(axis=0) / np.maximum(n_scored - 1, 1)
    is_equal = np.abs(deviations).max(axis=0, initial=0.0) <= _ROUNDING * max_difference
    return np.asarray(np.where(is_equal, 0.0, np.sqrt(variance / np.maximum(n_scored, 1))))


class _RiskMeasure(
    Wrapper,
    family="risk",
    range=_INFINITE_RANGE,
    beyond_grades="the scores of another system",
    depends_on_others=True,
):
    baseline: str = parameter("", _check_system, "name of the system to compare all systems with")
    alpha: float = parameter(1.0, number(0, 1e6), "additional weight of a loss relative to a gain")
    _requires_mean = _requires_higher_is_better = True

    def _set(self, name: str, value: Any) -> None:
        if name == "baseline" and value == "":
            raise MeasureError(
                f"{self.outer_info.name} requires a baseline, such as"
                f" {self.outer_info.name}(nDCG@20, baseline='bm25')"
            )
        super()._set(name, value)

    def combine_info(self) -> Info:
        return replace(super().combine_info(), range=_INFINITE_RANGE)

    def compute_differences(self, judged: JudgedRuns) -> Floats:
        """Compute weighted differences from the baseline; NaN where the baseline has no score."""
        if self.baseline not in judged.systems:
            expected = f"expected one of: {list_some(map(quote, judged.systems), 5)}"
            raise MeasureError(f"{self}: unknown baseline {quote(self.baseline)}; {expected}")
        values = self.inner.score(judged)
        column = [judged.systems.index(self.baseline)]
        baseline = np.where(judged.is_scored[:, column], values[:, column], np.nan)
        return weigh_losses(values, baseline, self.alpha)


@wrapper_measure(
    "URisk",
    summary="Difference from the score of a baseline system, with a higher weight of losses.",
    formula=r"\begin{cases} \Delta & \Delta \ge 0 \\ (1 + \alpha) \Delta & \Delta < 0 \end{cases},"
    r" \quad \Delta = M(s) - M(b)",
    source="Wang, Bennett and Collins-Thompson (2012)",
    elsewhere={"ndeval, gdeval": "risk-sensitive versions of the Web track 2013 and 2014"},
)
class RiskReward(_RiskMeasure):
    """Term of U_risk for each topic; the mean over topics is U_risk.

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
        return self.compute_differences(judged)


@wrapper_measure(
    "TRisk",
    summary="URisk divided by its standard error.",
    formula=r"\frac{U_{risk}}{SE(U_{risk})}, \quad SE = \frac{s}{\sqrt{n}}",
    source="Dinçer, Macdonald and Ounis (2014)",
)
class StandardisedRisk(_RiskMeasure):
    """Term of T_risk for each topic; the mean over topics is T_risk.

    All terms of a system are 0 if it has the same weighted difference from the baseline on all
    topics. T_risk is about t-distributed, with n - 1 df, if the expected U_risk is 0.
    """

    def values(self, judged: JudgedRuns) -> Floats:
        differences = self.compute_differences(judged)
        standard_errors = compute_standard_errors(np.where(judged.is_scored, differences, np.nan))
        return np.where(np.isnan(differences), np.nan, divide(differences, standard_errors))


@wrapper_measure(
    "Classes",
    summary="Version of a measure in which only the first document of an equivalence class counts.",
    formula=r"M \text{ with } g_r = 0 \text{ where the class of } r \text{ was seen above}",
    source="Sakai (2007b)",
    family="equivalence classes",
    inputs=("columns",),
    needs="equivalence classes of documents (column `class`)",
    elsewhere={"NTCIREVAL": "option -ec", "in the papers": "EC-Q is Classes(Q)"},
)
class EquivalenceClassMeasure(Wrapper):
    """Version of a measure in which documents of an equivalence class are redundant.

    The documents of a class have the same content: the first one that is retrieved keeps its grade,
    and later ones are treated as judged not relevant. The recall base is the number of classes with
    a relevant document, and the ideal ranking has the highest grade of each class.
    """

    def check(self, inner: Measure) -> None:
        if isinstance(inner, EquivalenceClassMeasure):
            raise MeasureError(f"Classes: {inner} already uses equivalence classes")

    @property
    def scale(self) -> Scale:
        return self.inner.scale

    def find_grade_scale(self, max_grade: int) -> Scale:
        return self.inner.find_grade_scale(max_grade)

    def values(self, judged: JudgedRuns) -> Floats:
        return self.inner.score(keep_first_of_classes(judged, str(self)))
