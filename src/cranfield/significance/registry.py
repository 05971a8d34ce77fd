"""What is declared of tests or corrections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from math import inf
from numbers import Real
from typing import Any, Protocol, TypeVar

from cranfield.base.errors import PolicyError, check_choice, check_share, check_whole
from cranfield.base.spec import Registry

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


class HasNames(Protocol):
    """A thing with a name and other names."""

    @property
    def name(self) -> str: ...

    @property
    def aliases(self) -> tuple[str, ...]: ...


Named = TypeVar("Named", bound=HasNames)


def loaded(function: str) -> Any:
    """Import a function of this room by its module and name, such as `tests.signs:sign_test`."""
    module, _, name = function.partition(":")
    return getattr(import_module(f"cranfield.significance.{module}"), name)


def registry(noun: str, declarations: Iterable[Named]) -> Registry[Named]:
    """Make a registry of tests or corrections, by the names that they declare."""
    declared = list(declarations)
    aliases = {alias: one.name for one in declared for alias in one.aliases}
    return Registry(noun, things={one.name: one for one in declared}, aliases=aliases)


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
