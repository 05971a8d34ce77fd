r"""Properties of measures, computed from their scores of a battery of small rankings.

Every property, of :data:`PROPERTIES`, is a statement on the scores of rankings that differ in one
thing, and is looked for in all such rankings of `battery.py`. That there are rankings with a
difference is proved by an example; that something never happens is refuted by one, and where it
holds, it holds for as many comparisons as were made.

`diminishing` compares the score with that of the ranking with nothing relevant below a document;
`top_heavy` is looked for where as many documents are relevant as are judged not to be. In all but
`lengths` and `any_length` documents are equally long.

A measure is represented by one form, which :func:`representative` gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import CranfieldError
from cranfield.measures.base import Measure
from cranfield.measures.families import KINDS, REGISTRY
from cranfield.measures.grammar import parse_measure

from .battery import GRADES, Battery, battery
from .battery_judged import VARIANTS, scores
from .findings import PROPERTIES, Finding, Properties

TOLERANCE = 1e-12
"""Scores that differ by at most this are equal."""

_FITTED = 1e-9
"""The same of scores and their fit by least squares."""


@cache
def properties(measure: Measure | str) -> Properties:
    """Compute the properties of a measure.

    >>> properties("RR")["swap"]
    Finding(holds=True, example='', compared=3420)
    >>> str(properties("Bpref")["top_heavy"])
    'no: from rank 2 to 1 it gains 0.000102, from rank 100 to 99 0.000102'
    """
    return _Computing(parse_measure(measure) if isinstance(measure, str) else measure).found()


class _Computing:
    def __init__(self, measure: Measure) -> None:
        self.measure = measure
        self.cases: Battery = battery()
        # More is better once multiplied by it.
        self.sign = -1.0 if measure.info.lower_is_better else 1.0
        self.values: Floats = np.empty(0)
        self.by_intent = False
        self.only_grades = False

    def found(self) -> Properties:
        name = str(self.measure)
        try:
            self.values = scores(self.measure)
            # Most measures look at grades only, which one look at all that is known besides tells.
            self.only_grades = np.array_equal(self.values, scores(self.measure, "every"), True)
            others = self.only_grades or np.array_equal(
                self.values, scores(self.measure, "topics"), True
            )
        except CranfieldError as error:
            return self.nothing(str(error))
        if not others:
            return self.nothing(f"a score of {name} depends on those of the other topics")
        cases = self.cases
        known = {variant: self.varied(variant) for variant in VARIANTS}
        self.by_intent = bool(known["intents"].holds)
        found = {
            "graded": self.somewhere(cases.regraded),
            "ranks": self.somewhere(cases.swaps),
            "recall": self.somewhere(cases.missed),
            "nonrelevant": self.somewhere(cases.unseen),
            "linear": self.linear(),
            "normalised": self.normalised(),
            "bounded": self.within(0.0, 1.0),
            "in_range": self.within(*self.measure.info.range),
            "step": self.never_worse(cases.steps),
            "swap": self.never_worse(cases.swaps),
            "replacement": self.never_worse(cases.replacements),
            "top_heavy": self.top_heavy(),
            "diminishing": self.diminishing(self.values),
            "deep": self.deep(),
            **known,
        }
        found["any_length"] = (
            self.diminishing(scores(self.measure, "lengths"), "relevant documents being short")
            if known["lengths"].holds
            else found["diminishing"]
        )
        return Properties(name, {key: found[key] for key in PROPERTIES})

    def nothing(self, reason: str) -> Properties:
        empty = dict.fromkeys(PROPERTIES, Finding(None, reason))
        return Properties(str(self.measure), empty, reason)

    # Statements on pairs

    def somewhere(self, pairs: Ints) -> Finding:
        change = np.abs(self.values[pairs[:, 1]] - self.values[pairs[:, 0]])
        return self.shown(pairs, change > TOLERANCE, holds_if=True)

    def never_worse(self, pairs: Ints) -> Finding:
        change = self.sign * (self.values[pairs[:, 1]] - self.values[pairs[:, 0]])
        return self.shown(pairs, change < -TOLERANCE, holds_if=False)

    def shown(
        self, pairs: Ints, hit: np.ndarray[tuple[int], np.dtype[np.bool_]], *, holds_if: bool
    ) -> Finding:
        if not hit.any():
            return Finding(not holds_if, "", len(pairs))
        one, other = pairs[self.smallest(pairs[:, 0], hit)].tolist()
        text = f"{self.scored(one)}, {self.scored(other)}"
        before, after = (self.judgments(place) for place in (one, other))
        judged = f"relevant: {before}" + ("" if before == after else f", then {after}")
        return Finding(holds_if, f"{text} ({judged})", len(pairs))

    # Statements on topics and single scores

    def linear(self) -> Finding:
        """Whether the scores of all rankings are sums over grades at ranks, the same for all."""
        basis = _sums_over_documents()
        nearest = basis @ (basis.T @ self.values)
        off = np.abs(self.values - nearest) > _FITTED * max(1.0, float(np.abs(self.values).max()))
        if not off.any():
            return Finding(True, "", self.values.size)
        at = self.smallest(np.arange(self.values.size), off)
        text = f"{self.scored(at)}, and the nearest sums over documents {_number(nearest[at])}"
        return Finding(False, f"{text} (relevant: {self.judgments(at)})", self.values.size)

    def normalised(self) -> Finding:
        """Whether of each topic some ranking scores 1, some 0, and none is outside."""
        sets = self.cases.complete
        for best in (True, False):
            for _, places in sets:
                values = self.values[places]
                at = places[np.argmax(values) if best else np.argmin(values)]
                if abs(self.values[at] - best) > TOLERANCE:
                    word = "best" if best is (self.sign > 0) else "worst"
                    return Finding(
                        False,
                        f"relevant: {self.judgments(at)}; the {word} ranking,"
                        f" {self.ranking(at)}, scores {_number(self.values[at])}",
                        len(sets),
                    )
        return Finding(True, "", len(sets))

    def within(self, low: float, high: float) -> Finding:
        outside = (self.values < low - TOLERANCE) | (self.values > high + TOLERANCE)
        if not outside.any():
            return Finding(True, "", self.values.size)
        at = self.smallest(np.arange(self.values.size), outside)
        example = f"{self.scored(at)} (relevant: {self.judgments(at)})"
        return Finding(False, example, self.values.size)

    def varied(self, variant: str) -> Finding:
        if self.only_grades:
            return Finding(False, "", self.values.size)
        try:
            change = np.abs(scores(self.measure, variant) - self.values) > TOLERANCE
        except CranfieldError as error:
            return Finding(None, str(error))
        if not change.any():
            return Finding(False, "", change.size)
        at = self.smallest(np.arange(change.size), change)
        other = scores(self.measure, variant)[at]
        text = f"{self.scored(at)}, and {_number(other)} with other {variant}"
        return Finding(True, f"{text} (relevant: {self.judgments(at)})", change.size)

    # Statements on long rankings, and on what is below a document

    def top_heavy(self) -> Finding:
        at = {name: self.values[place] for name, place in self.cases.ends.items()}
        top = self.sign * (at["rank 1"] - at["rank 2"])
        bottom = self.sign * (at["rank 99"] - at["rank 100"])
        alone = [value for name, value in at.items() if name.startswith("rank")]
        if np.ptp(alone) <= TOLERANCE and self.somewhere(self.cases.swaps).holds:
            return Finding(None, "no score of a single relevant document among 99 is different")
        return Finding(
            bool(top > bottom + TOLERANCE),
            f"from rank 2 to 1 it gains {_number(top)}, from rank 100 to 99 {_number(bottom)}",
            1,
        )

    def deep(self) -> Finding:
        one, two = (self.values[self.cases.ends[name]] for name in ("one", "two"))
        text = f"without it {_number(one)}, with it {_number(two)}"
        return Finding(bool(abs(two - one) > TOLERANCE), text, 1)

    def diminishing(self, values: Floats, note: str = "") -> Finding:
        fours = self.cases.returns
        below, below_relevant = (
            self.sign * (values[fours[:, i]] - values[fours[:, i + 1]]) for i in (0, 2)
        )
        more = below_relevant > below + TOLERANCE
        less = below_relevant < below - TOLERANCE
        hit = more if more.any() else less
        if not hit.any():
            return Finding(False, "what is below gives the same in all comparisons", len(fours))
        row = self.smallest(fours[:, 0], hit)
        first, second = fours[row, 0], fours[row, 2]
        text = (
            f"what is below the changed document of {self.ranking(first)} gives"
            f" {_number(below[row])}, of {self.ranking(second)} {_number(below_relevant[row])}"
            f" (relevant: {self.judgments(first)}{note and ', ' + note})"
        )
        return Finding(not more.any(), text, len(fours))

    # Words

    def smallest(self, places: Ints, hit: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> int:
        """Find the row with the shortest ranking and, of these, the fewest judgments."""
        rows = np.flatnonzero(hit)
        return int(rows[np.argmin(self.cases.sizes[places[rows]])])

    def ranking(self, place: int) -> str:
        return self.letters(self.cases.cases[place].ranking)

    def judgments(self, place: int) -> str:
        return self.letters(self.cases.relevant(self.cases.cases[place].judgments))

    def scored(self, place: int) -> str:
        return f"{self.ranking(place)} scores {_number(self.values[place])}"

    def letters(self, kinds: str) -> str:
        names = {"1": "1a", "b": "1b", "2": "2a", "3": "3ab"} if self.by_intent else {"b": "1"}
        shown = [names.get(kind, kind) for kind in kinds]
        return " ".join(shown) if len(shown) <= 20 else f"{' '.join(shown[:3])} … ({len(shown)})"


@cache
def _sums_over_documents() -> Floats:
    """Orthonormal columns that span all scores which are sums over grades at ranks."""
    found = [
        (case, rank, max(GRADES[kind]))
        for case, one in enumerate(battery().cases)
        for rank, kind in enumerate(one.ranking)
        if kind in GRADES
    ]
    case, rank, grade = np.array(found).T
    columns, column = np.unique(rank * (grade.max() + 1) + grade, return_inverse=True)
    has = np.zeros((len(battery().cases), columns.size))
    has[case, column] = 1.0
    basis, size, _ = np.linalg.svd(has, full_matrices=False)
    return np.asarray(basis[:, size > _FITTED * size[0]])


def _number(value: float) -> str:
    return f"{value:.3g}"


INSIDE = ("nDCG", "AP", "RBP", "P@3")
"""Measures that stand inside measures of a measure, the first that is accepted."""

COMPLETED: Mapping[str, Any] = {
    "baseline": "base",
    "protected": "y",
    "clicks": {0: 0.2, 1: 0.5, 2: 0.7, 3: 0.9},
    "by_grade": {0: 0.9, 1: 0.7, 2: 0.6, 3: 0.4},
    "continues": {1: 0.7, 2: 0.5},
    "tau1": 0.9,
    "tau2": 0.7,
    "tau3": 0.2,
    "examined_after": {
        rank: {last: 0.9 if last == 0 else 0.9 ** (rank - last) for last in range(rank)}
        for rank in range(1, 11)
    },
}
"""Values for parameters that have to be given."""

FORMS: Mapping[str, str] = {"Sharp": "Sharp(D(nDCG))"}
"""Measures of a measure whose plain form is not what they are for."""

_EXAMPLE_AT: Mapping[str, float] = {"cutoff": 3, "recall": 0.1}


def representative(name: str) -> Measure | None:
    """Return the form of a measure of rankings that stands for it; None if none could be made.

    That is the one without parameters; where a cutoff is required, it is 3.
    """
    kind = REGISTRY[name]
    if kind.kind == KINDS[0]:
        given = {key: value for key, value in COMPLETED.items() if key in kind.parameters}
        made: Measure = kind(**given)
        return (
            made if kind.info.at_usage != "required" else made @ _EXAMPLE_AT[kind.info.at_parameter]
        )
    for text in (FORMS.get(name), *(f"{name}({one})" for one in INSIDE)):
        if text is None:
            continue
        for options in ("", *(f", {key}={value!r}" for key, value in COMPLETED.items())):
            try:
                return parse_measure(f"{text[:-1]}{options})")
            except CranfieldError:
                continue
    return None


def catalogue() -> dict[str, Measure | None]:
    names = (name for name, kind in REGISTRY.items() if kind.kind != KINDS[2])
    return {name: representative(name) for name in names}
