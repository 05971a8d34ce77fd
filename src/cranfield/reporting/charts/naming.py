"""Measures that are given with or without titles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cranfield.base.errors import PolicyError
from cranfield.measures import Measure

Named = Iterable[str | Measure] | Mapping[str, str | Measure] | str | Measure
"""A measure or several; the keys of a mapping are their titles."""


def named(measures: Named) -> dict[str, str | Measure]:
    """Return measures by title."""
    if isinstance(measures, (str, Measure)):
        return {str(measures): measures}
    if not isinstance(measures, Iterable):
        raise PolicyError(f"measures are measures or their texts, not {type(measures).__name__}")
    if isinstance(measures, Mapping):
        found = {str(title): one for title, one in measures.items()}
    else:
        found = {str(one): one for one in measures}
    if not found:
        raise PolicyError("there are no measures to draw")
    return found
