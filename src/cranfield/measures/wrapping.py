r"""Measures of a measure, such as its version for several intents.

On a topic where a system scores :math:`\Delta` more than the baseline it wins :math:`\Delta`; where
it scores less it loses :math:`(1 + \alpha) |\Delta|`. The mean over topics is :math:`U_{risk}`;
with :math:`\alpha = 0` it is the difference of the means (Wang, Bennett and Collins-Thompson 2012).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Never, Self, TypeVar

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError, quoted
from cranfield.base.scale_types import Scale
from cranfield.base.spec import number, parameter, text_of
from cranfield.collection.judged.judged_runs import JudgedRuns, first_of_classes
from cranfield.collection.judged.rows import ratio
from cranfield.measures.base import Info, Measure, measure
from cranfield.measures.families import KINDS
from cranfield.measures.grammar import parse_measure


class Wrapping(Measure):
    """Measure around another measure: `Name(inner, option=value)`.

    The value after an `@` goes to the inner measure, as do parameters that are not those of the
    outer measure.
    """

    kind = KINDS[1]
    inner_example = "nDCG@10"
    about: ClassVar[Info] = Info("")
    scores_cut_rankings = False
    inner: Measure

    def __init__(self, inner: Measure | str, /, **options: Any) -> None:
        names = self.option_names()
        for name in options:
            if name not in names:
                choices = ", ".join(names) or "none"
                raise MeasureError(
                    f"{self.about.name} has no parameter {quoted(name)} (it has: {choices})"
                )
        if not isinstance(inner, (str, Measure)):
            kind = inner.__name__ if isinstance(inner, type) else type(inner).__name__
            raise MeasureError(f"{self.about.name}: expected a measure or its text, got {kind}")
        vars(self)["inner"] = parse_measure(inner) if isinstance(inner, str) else inner
        if self.inner.reads is not JudgedRuns:
            raise MeasureError(
                f"{self.about.name}: {inner} is computed from {self.inner.reads.what}; expected a"
                f" measure of {JudgedRuns.what}"
            )
        vars(self)["explicit"] = frozenset(options)
        for name in names:
            self._set(name, options.get(name, self.parameters[name].default))
        vars(self).update(cutoff=self.inner.cutoff, judged_only=self.inner.judged_only)
        self.check(self.inner)
        vars(self)["info"] = self.declared()

    def declared(self) -> Info:
        """Return the declaration; subclasses change what depends on the inner measure."""
        inner, outer = self.inner.info, self.about
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
        """Refuse an inner measure that the outer one cannot use; a hook for subclasses."""

    @classmethod
    def option_names(cls) -> list[str]:
        return [name for name in cls.parameters if name not in {"cutoff", "judged_only"}]

    def score(self, judged: JudgedRuns) -> Floats:
        """Score every ranking; cut-offs and condensed lists are those of the measure inside."""
        if self.scores_cut_rankings:
            return super().score(judged)
        self.require_complete()
        return self.values(judged)

    def require_complete(self) -> None:
        self.inner.require_complete()

    def __matmul__(self, cutoff: Any) -> Self:
        return type(self)(self.inner @ cutoff, **self.options())

    def __call__(self, /, *arguments: Never, **parameters: Any) -> Self:
        """Return the measure with other parameters, its own or those of the measure inside."""
        if arguments:
            return super().__call__(*arguments)
        names = set(self.option_names())
        inner_parameters = {name: value for name, value in parameters.items() if name not in names}
        options = {name: value for name, value in parameters.items() if name in names}
        inner = self.inner(**inner_parameters) if inner_parameters else self.inner
        return type(self)(inner, **{**self.options(), **options})

    @property
    def source(self) -> str:
        """Works to cite for the measure inside, then for this one."""
        works = (*self.inner.source.split("; "), *super().source.split("; "))
        return "; ".join(dict.fromkeys(works))

    @property
    def uses_highest_grade(self) -> bool:
        return super().uses_highest_grade or self.inner.uses_highest_grade

    def options(self) -> Mapping[str, Any]:
        return {name: getattr(self, name) for name in self.option_names()}

    def __str__(self) -> str:
        settings = [
            f", {name}={text_of(value)}"
            for name, value in sorted(self.options().items())
            if value != self.parameters[name].default
        ]
        return f"{self.about.name}({self.inner}{''.join(settings)})"


W = TypeVar("W", bound=type[Wrapping])


def wrapping(name: str, **about: Any) -> Callable[[W], W]:
    """Enter a class of :class:`Wrapping` under its name; as :func:`measure`."""

    def enter(cls: W) -> W:
        cls.about = measure(name, **about)(cls).info
        return cls

    return enter


_FAMILY = "risk"
_ALPHA = parameter(1.0, number(0, 1e6), "additional weight of a loss relative to a gain")
_ROUNDING = 1e-12
"""Differences that vary by less than this fraction of the largest are equal."""
_INFINITE = (float("-inf"), float("inf"))


def _label(value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    raise ValueError("the name of a system")


def weigh_losses(values: Floats, baseline: Floats, alpha: float) -> Floats:
    """Compute differences to a baseline, losses weighted with 1 + alpha."""
    difference = values - baseline
    return np.asarray(np.where(difference < 0, 1.0 + alpha, 1.0) * difference)


def standard_error(differences: Floats) -> Floats:
    """Compute the standard error of each system's mean; NaN is a missing difference.

    0 where all differences are equal except for rounding.
    """
    is_scored = np.isfinite(differences)
    count = is_scored.sum(axis=0)
    values = np.where(is_scored, differences, 0.0)
    centred = np.where(is_scored, values - values.sum(axis=0) / np.maximum(count, 1), 0.0)
    largest = np.abs(values).max(axis=0, initial=0.0)
    with np.errstate(over="ignore"):
        variance = (centred**2).sum(axis=0) / np.maximum(count - 1, 1)
    is_equal = np.abs(centred).max(axis=0, initial=0.0) <= _ROUNDING * largest
    return np.asarray(np.where(is_equal, 0.0, np.sqrt(variance / np.maximum(count, 1))))


class _Risk(
    Wrapping,
    family=_FAMILY,
    range=_INFINITE,
    beyond_grades="the scores of another system",
    depends_on_others=True,
):
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
                f"{self.about.name}: {inner} must be averaged over topics with higher scores better"
            )

    def declared(self) -> Info:
        return replace(super().declared(), range=_INFINITE)

    def differences(self, judged: JudgedRuns) -> Floats:
        """Compute weighted differences to the baseline; NaN where it has no score."""
        if self.baseline not in judged.systems:
            systems = ", ".join(quoted(name) for name in judged.systems[:5])
            raise MeasureError(f"{self}: unknown baseline; expected one of: {systems}")
        values = self.inner.score(judged)
        column = judged.systems.index(self.baseline)
        baseline = np.where(judged.scored[:, [column]], values[:, [column]], np.nan)
        return weigh_losses(values, baseline, self.alpha)


@wrapping(
    "URisk",
    summary="Difference to a baseline, with a higher weight of losses.",
    formula=r"\begin{cases} \Delta & \Delta \ge 0 \\ (1 + \alpha) \Delta & \Delta < 0 \end{cases},"
    r" \quad \Delta = M(s) - M(b)",
    source="Wang, Bennett and Collins-Thompson (2012)",
    elsewhere={"ndeval, gdeval": "risk-sensitive versions of the Web track 2013 and 2014"},
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
    summary="U_risk in units of its standard error.",
    formula=r"\frac{U_{risk}}{SE(U_{risk})}, \quad SE = \frac{s}{\sqrt{n}}",
    source="Dinçer, Macdonald and Ounis (2014)",
    elsewhere={"its distribution": "Student's t with n - 1 degrees of freedom, for one system"},
)
class StandardisedRisk(_Risk):
    """T_risk: terms by topic whose mean is the statistic.

    0 where all topics have the same weighted difference to the baseline.
    """

    def values(self, judged: JudgedRuns) -> Floats:
        differences = self.differences(judged)
        error = standard_error(np.where(judged.scored, differences, np.nan))
        return np.where(np.isnan(differences), np.nan, ratio(differences, error))


@wrapping(
    "Classes",
    summary=(
        "Version of a measure in which only the first document of each equivalence class counts."
    ),
    formula=r"M \text{ with } g_r = 0 \text{ where the class of } r \text{ was seen above}",
    source="Sakai (2007b)",
    family="equivalence classes",
    inputs=("columns",),
    needs="equivalence classes of documents (column `class`)",
    elsewhere={"NTCIREVAL": "option -ec", "in the papers": "EC-Q is Classes(Q)"},
)
class ByClasses(Wrapping):
    """The version of a measure by equivalence classes.

    Documents of a class have the same content: the first that is retrieved counts, with its own
    grade; later ones are judged and not relevant. The recall base is the number of classes
    with a relevant document, and the ideal ranking has the highest grade of each.
    """

    def check(self, inner: Measure) -> None:
        if isinstance(inner, ByClasses):
            raise MeasureError(f"{inner} already is a measure by equivalence classes")

    @property
    def scale(self) -> Scale:
        return self.inner.scale

    def scale_with(self, highest: int) -> Scale:
        return self.inner.scale_with(highest)

    def values(self, judged: JudgedRuns) -> Floats:
        return self.inner.score(first_of_classes(judged, str(self)))
