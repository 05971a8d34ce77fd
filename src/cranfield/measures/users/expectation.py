"""What the user of a measure can expect, as a measure; text forms are in `cwl_expected`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import MeasureError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.measures.base import Measure
from cranfield.measures.gains import short
from cranfield.measures.parameters import checked, integer, number, optional
from cranfield.measures.users.model import Expected, UserModel
from cranfield.measures.users.page import ByLength
from cranfield.measures.users.users_of_measures import user_model

_INFINITE = float("inf")
_SOURCE = "Moffat and others (2017); Azzopardi and others (2019)"
_CHECKS = {
    "depth": optional(integer(1, 100_000)),
    "unit": optional(number(0, 1e15)),
    "fixed": number(0, 1e15),
    "missing": optional(number(0, 1e15)),
}
_DEFAULTS = {"depth": None, "unit": None, "fixed": 0.0, "missing": None}


@dataclass(frozen=True)
class _Kind:
    """What of a user model is told."""

    summary: str
    formula: str
    range: tuple[float, float]
    low: bool = False
    costly: bool = False
    beyond_grades: str = ""


_KINDS = {
    "EU": _Kind("Gain a rank that the user of {} reads.", r"\sum_r W(r) \, g_r", (0.0, 1.0)),
    "ETU": _Kind("Gain of the user of {} until the stop.", r"\sum_r V(r) \, g_r", (0.0, _INFINITE)),
    "EC": _Kind(
        "Cost of a rank that the user of {} reads.",
        r"\sum_r W(r) \, c_r",
        (0.0, _INFINITE),
        low=True,
        costly=True,
    ),
    "ETC": _Kind(
        "Cost of all that the user of {} reads.",
        r"\sum_r V(r) \, c_r",
        (0.0, _INFINITE),
        low=True,
        costly=True,
    ),
    "Depth": _Kind(
        "Ranks that the user of {} reads.", r"\sum_r V(r) = 1 / W(1)", (1.0, _INFINITE), low=True
    ),
    "Residual": _Kind(
        "How much EU of {} rises if all without a judgment is as relevant as can be.",
        r"EU[g_r = g_{max} \text{ at ranks without a judgment}] - EU",
        (-1.0, 1.0),
        low=True,
        beyond_grades="which documents are judged",
    ),
}


class Expectation(Measure):
    """What the user of a measure can expect; made by `EU` and its like.

    Attributes
    ----------
    inner
        The measure.
    model
        Its user model.
    depth
        The last rank that is read, where that is not the model's own.
    unit, fixed, missing
        What documents cost, if that goes by length.
    """

    kind: str
    inner: Measure
    model: UserModel
    depth: int | None
    unit: float | None
    fixed: float
    missing: float | None

    def __init__(self, kind: str, inner: Measure, **given: Any) -> None:
        options = {
            name: checked(kind, name, value, _CHECKS[name])
            for name, value in {**_DEFAULTS, **given}.items()
        }
        if isinstance(inner, Expectation):
            raise MeasureError(f"{kind}: {inner} is a measure of a user model, and no user model")
        if options["depth"] is not None and "depth" in inner.parameters:
            # One measure has one text form.
            inner = inner(depth=options["depth"])
            options["depth"] = None
        model = user_model(inner)
        by_length = options["unit"] is not None
        if not by_length and (options["fixed"] != 0.0 or options["missing"] is not None):
            raise MeasureError(f"{kind}: fixed and missing need a unit, the cost of a length")
        if by_length and model.reads_lengths:
            raise MeasureError(f"{kind}: {inner} has costs of its own, and takes no unit")
        vars(self).update(kind=kind, inner=inner, model=model, **options)
        vars(self).update(cutoff=inner.cutoff, judged_only=inner.judged_only)
        about = _KINDS[kind]
        vars(self)["info"] = replace(
            inner.info,
            name=kind,
            aliases=(),
            summary=about.summary.format(inner),
            formula=about.formula,
            source=_SOURCE,
            range=about.range,
            family="user models",
            lower_is_better=about.low,
            aggregate="mean",
            scale_note="",
            elsewhere={},
            beyond_grades=about.beyond_grades,
            beyond_length="",
            monotone=False,
            counts=False,
        )

    def values(self, judged: JudgedRuns) -> Floats:
        """Compute what is asked for."""
        if self.kind == "Residual":
            rise = self._expected(judged, best=True).utility - self._expected(judged).utility
            # Rounding may leave a trace where every rank is judged.
            return np.where(np.abs(rise) < 1e-14, 0.0, rise)
        found = self._expected(judged)
        told = {
            "EU": found.utility,
            "ETU": found.total,
            "EC": found.cost,
            "ETC": found.total_cost,
            "Depth": found.depth,
        }[self.kind]
        return told.copy()

    def _expected(self, judged: JudgedRuns, *, best: bool = False) -> Expected:
        if self.unit is None:
            return self.model.known(judged, depth=self.depth, best=best)
        costs = ByLength(self.unit, self.fixed, self.missing)
        return self.model.expected(judged, depth=self.depth, best=best, costs=costs)

    def require_complete(self) -> None:
        """Refuse a measure whose inner one is not complete."""
        self.inner.require_complete()

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _DEFAULTS}

    def __matmul__(self, at: Any) -> Self:
        return type(self)(self.kind, self.inner @ at, **self._options())

    def __call__(self, /, **parameters: Any) -> Self:
        """Return the measure with other parameters, its own or those of the measure inside."""
        known = [*signature_of(self.kind)]
        own = {name: value for name, value in parameters.items() if name in known}
        inside = {name: value for name, value in parameters.items() if name not in known}
        inner = self.inner(**inside) if inside else self.inner
        return type(self)(self.kind, inner, **{**self._options(), **own})

    def __str__(self) -> str:
        shown = [
            f", {name}={short(float(value))}"
            for name, value in sorted(self._options().items())
            if value != _DEFAULTS[name]
        ]
        return f"{self.kind}({self.inner}{''.join(shown)})"

    __repr__ = __str__


def signature_of(kind: str) -> tuple[str, ...]:
    """Name the parameters of a kind of expectation."""
    return ("depth", "unit", "fixed", "missing") if _KINDS[kind].costly else ("depth",)
