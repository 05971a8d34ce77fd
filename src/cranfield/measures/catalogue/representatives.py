"""One form of each measure that stands for it, where its properties are computed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cranfield.base.errors import CranfieldError
from cranfield.measures.base import KINDS, REGISTRY, Measure
from cranfield.measures.grammar import parse_measure

INSIDE = ("nDCG", "AP", "RBP", "P@3")
"""Measures that stand inside measures of a measure, the first that is accepted."""

COMPLETED: Mapping[str, Any] = {
    "baseline": "base",
    "protected": "y",
    "clicks": {0: 0.2, 1: 0.5, 2: 0.7, 3: 0.9},
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
        made = kind(**given)
        return made if kind.info.at_wanted != "required" else made @ _EXAMPLE_AT[kind.info.at]
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
