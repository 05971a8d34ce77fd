"""The registry of measures: the modules that declare them, in the order of the catalogue.

A module is loaded when one of its measures is first used. Of the measures of the library, those of
texts come last.
"""

from __future__ import annotations

from typing import Any

from cranfield.base.errors import MeasureError
from cranfield.base.spec import Registry

KINDS = ("measure", "measure of a measure", "measure of texts")
"""Kinds of measures: of rankings, of another measure, and of answers and summaries."""

REGISTRY: Registry[Any] = Registry(
    "measure",
    """
    ranked.precision ranked.average_precision ranked.sets ranked.dcg ranked.total_orders
    ranked.incomplete
    users.stopping aspects ranked.ntcir novelty
    fairness.attention fairness.exposure fairness.parity fairness.group_relevance
    sessions users.effort users.clicks users.browsing users.markov
    wrapping global_gain users.expectation cranfield.scales.interval_scaled
    texts.answers texts.rouge
    """,
    package="cranfield.measures",
    decorators="measure wrapper_measure",
    error=MeasureError,
)
"""Measures by name; user-defined ones follow those of the library."""

MODULES, ALIASES = REGISTRY.module_by_name, REGISTRY.aliases
"""The module of each measure by name, and the name of the measure by alias."""
