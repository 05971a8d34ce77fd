"""What is declared of tests or corrections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from math import inf
from numbers import Real
from typing import Any, TypeVar

from cranfield.base.errors import PolicyError, check_choice, check_share, check_whole, quoted
from cranfield.base.text import did_you_mean

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


MOST_RESAMPLES = 10**6
"""More samples would only fill the memory: the error of a p-value of .05 is .0002 by then."""


@dataclass(frozen=True)
class Options:
    """Options of a comparison, as :func:`compare` explains them."""

    alternative: str = "two-sided"
    alpha: float = 0.05
    exact: bool | None = None
    exact_n: int = 25
    resamples: int = 10_000
    seed: int = 0
    jobs: int | None = None
    threshold: float = 0.0

    def __post_init__(self) -> None:
        check_choice("alternative", self.alternative, ALTERNATIVES)
        check_share("alpha", self.alpha)
        if self.exact not in (None, True, False):
            raise PolicyError(f"exact is True, False or None, not {self.exact!r}")
        check_whole("resamples", self.resamples, 1, MOST_RESAMPLES)
        check_whole("the seed", self.seed, 0)
        check_whole("exact_n", self.exact_n, 0)
        if not (isinstance(self.threshold, Real) and 0 <= self.threshold < inf):
            raise PolicyError(f"a threshold is a number from 0, not {self.threshold!r}")
        if self.jobs is not None:
            check_whole("jobs", self.jobs, 1)

    @property
    def two_sided(self) -> bool:
        return self.alternative == "two-sided"
