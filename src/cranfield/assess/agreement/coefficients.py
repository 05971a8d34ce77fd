"""The coefficients of agreement by name: which grades they look at, and how far apart these are."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from cranfield.assess.agreement import laws
from cranfield.assess.agreement.distances import LAWS as DISTANCES
from cranfield.assess.agreement.tables import Tables
from cranfield.base.arrays import Floats
from cranfield.base.errors import PolicyError, quoted
from cranfield.base.words import some_of


@dataclass(frozen=True)
class Declared:
    """What a coefficient is.

    distance: the one it takes if none is named; empty where it has none.
    binary: whether it is of two grades, so that others are cut.
    of_two: whether it is of two assessors only.
    least: below which no interval goes.
    """

    law: Callable[..., Floats]
    summary: str
    source: str
    distance: str = ""
    binary: bool = False
    of_two: bool = False
    least: float = -1.0


COEFFICIENTS: dict[str, Declared] = {
    "observed": Declared(laws.observed, "share of equal grades", "Fleiss 1971", least=0.0),
    "positive": Declared(
        laws.positive,
        "agreement on what is relevant",
        "Cicchetti and Feinstein 1990",
        binary=True,
        least=0.0,
    ),
    "negative": Declared(
        laws.negative,
        "agreement on what is not",
        "Cicchetti and Feinstein 1990",
        binary=True,
        least=0.0,
    ),
    "overlap": Declared(
        laws.overlap,
        "relevant for both, of what is for either",
        "Voorhees 2000",
        binary=True,
        least=0.0,
    ),
    "kappa": Declared(
        laws.cohen_kappa, "Cohen's kappa", "Cohen 1960, 1968", distance="nominal", of_two=True
    ),
    "fleiss": Declared(
        laws.fleiss_kappa, "Fleiss' kappa; of two, Scott's pi", "Fleiss 1971", distance="nominal"
    ),
    "alpha": Declared(
        laws.krippendorff_alpha, "Krippendorff's alpha", "Krippendorff 2011", distance="ordinal"
    ),
    "AC1": Declared(laws.gwet_ac, "Gwet's AC1", "Gwet 2008"),
    # What is expected by chance comes near 1 where most grades are near each other.
    "AC2": Declared(laws.gwet_ac, "Gwet's AC2", "Gwet 2014", distance="quadratic", least=-math.inf),
}
"""Coefficients by name."""

DEFAULT = ("observed", "fleiss", "alpha", "AC1")
"""What is asked of several assessors if nothing is named; of two, Cohen's kappa comes second."""

_FORM = re.compile(r"(\w+)(?:\(([^()]*)\))?")
_REL = re.compile(r"rel=(-?\d+)")


@dataclass(frozen=True)
class Coefficient:
    """A coefficient with its distance and its lowest relevant grade; its text form reads back.

    >>> str(coefficient("alpha")), str(coefficient("kappa(linear)")), str(coefficient("positive"))
    ('alpha(ordinal)', 'kappa(linear)', 'positive(rel=1)')
    """

    name: str
    distance: str = ""
    rel: int | None = None

    @property
    def declared(self) -> Declared:
        return COEFFICIENTS[self.name]

    def of(self, tables: Tables) -> Floats:
        """Return its values, one for each of the tables' leading axes."""
        if self.rel is not None:
            tables = tables.cut(self.rel)
        return self.declared.law(tables, *([self.distance] if self.distance else []))

    def __str__(self) -> str:
        inside = [self.distance] if self.distance and not self._usual else []
        inside += [] if self.rel is None else [f"rel={self.rel}"]
        return f"{self.name}({', '.join(inside)})" if inside else self.name

    @property
    def _usual(self) -> bool:
        """Whether the name alone says the distance to everybody."""
        return self.distance == self.declared.distance == "nominal"


def coefficient(text: str | Coefficient, rel: int | None = None) -> Coefficient:
    """Read a name, and in brackets a distance, `rel=` and the lowest relevant grade, or both."""
    if isinstance(text, Coefficient):
        return text
    found = _FORM.fullmatch(str(text).strip())
    name = found.group(1) if found else ""
    if not found or name not in COEFFICIENTS:
        known = ", ".join(COEFFICIENTS)
        raise PolicyError(f"measure of agreement {quoted(text)} is none of {known}")
    declared = COEFFICIENTS[name]
    chosen = Coefficient(name, declared.distance, rel)
    inside = [part.strip() for part in found.group(2).split(",")] if found.group(2) else []
    for part in inside:
        if cut := _REL.fullmatch(part):
            chosen = replace(chosen, rel=int(cut.group(1)))
        elif part in DISTANCES and declared.distance:
            chosen = replace(chosen, distance=part)
        else:
            takes = [*DISTANCES] if declared.distance else []
            allowed = ", ".join([*takes, "rel=GRADE"])
            raise PolicyError(f"{name} takes {allowed}, not {quoted(part)}")
    if name == "AC2" and chosen.distance == "ordinal":
        raise PolicyError("AC2 takes no ordinal distance: its scale is fixed, not by the labels")
    if declared.binary and chosen.rel is None:
        chosen = replace(chosen, rel=1)
    return chosen


def coefficients(
    asked: str | Coefficient | Iterable[str | Coefficient] | None, rel: int | None, of_two: bool
) -> tuple[Coefficient, ...]:
    """Read several; each once, those of two assessors only where there are two."""
    if asked is None:
        asked = ("observed", "kappa", *DEFAULT[2:]) if of_two else DEFAULT
    listed: Sequence[str | Coefficient] = (
        [asked] if isinstance(asked, (str, Coefficient)) else list(asked)
    )
    found = tuple(dict.fromkeys(coefficient(one, rel) for one in listed))
    if not found:
        raise PolicyError("no measure of agreement was named")
    alone = [str(one) for one in found if one.declared.of_two and not of_two]
    if alone:
        raise PolicyError(
            f"{some_of(alone, 3)} is of two assessors: ask for pairs, or for fleiss or alpha"
        )
    return found
