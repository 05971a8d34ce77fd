"""What is declared of tests and of corrections: names, a source, and where the function stands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeVar

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.words import did_you_mean

ALTERNATIVES = ("two-sided", "greater", "less")
"""Hypotheses that a test may hold against its null hypothesis."""

MISSING = ("error", "drop", "zero", "available")
"""What can be done where a system has no score for a topic."""

STATISTICS = ("mean", "sum", "geometric-mean", "median")
"""Statistics of topic scores that comparisons are of."""


@dataclass(frozen=True, kw_only=True)
class Declaration:
    """What a test or a correction is called, and where it is."""

    name: str
    title: str
    function: str
    aliases: tuple[str, ...] = ()
    source: str = ""


Declared = TypeVar("Declared", bound=Declaration)


def loaded(function: str) -> Any:
    """Import a function of this room by its module and name, such as `tests.signs:sign_test`."""
    module, _, name = function.partition(":")
    return getattr(import_module(f"cranfield.significance.{module}"), name)


def find(name: Any, declarations: Iterable[Declared], what: str, example: str) -> Declared:
    """Find a declaration by its name or one of its other names; else suggest the nearest names."""
    if not isinstance(name, str):
        raise PolicyError(f"a {what} is named by its text, such as {example!r}, not {name!r}")
    own = {each.name: each for each in declarations}
    names = {alias: each for each in own.values() for alias in each.aliases} | own
    asked = name.lower().replace("_", "-").replace(" ", "-")
    if asked not in names:
        hint = did_you_mean(name, names, otherwise=f"there are {', '.join(own)}")
        raise PolicyError(f"there is no {what} {quoted(name)}{hint}")
    return names[asked]
