"""Options of comparisons, and the parser of the docstrings of tests and corrections."""

from __future__ import annotations

import re
from dataclasses import dataclass
from inspect import getdoc
from math import inf
from numbers import Real
from typing import Any

from cranfield.base.errors import PolicyError, check_choice, check_share, check_whole

ALTERNATIVES = ("two-sided", "greater", "less")
"""Hypotheses that a test may hold against its null hypothesis."""

MISSING = ("error", "drop", "zero", "available")
"""What can be done where a system has no score for a topic."""

STATISTICS = ("mean", "sum", "geometric-mean", "median")
"""Statistics of topic scores that comparisons are of."""

MOST_RESAMPLES = 10**6
"""More samples would only fill the memory: the error of a p-value of .05 is .0002 by then."""


def described(function: object) -> dict[str, Any]:
    """Read the title and the entries `name: text` of a docstring.

    The title is the first line. Entries are the lines of the next paragraph; those that continue
    one are indented.
    """
    title, entries, *_ = (getdoc(function) or "").split("\n\n")
    lines = re.split(r"\n(?=\w)", entries)
    texts = dict(line.split(": ", 1) for line in lines)
    plain = {name: re.sub(r"\s+", " ", text) for name, text in texts.items()}
    return {"title": title.removesuffix("."), **plain}


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
            raise PolicyError(f"exact must be True, False or None, got {self.exact!r}")
        check_whole("resamples", self.resamples, 1, MOST_RESAMPLES)
        check_whole("the seed", self.seed, 0)
        check_whole("exact_n", self.exact_n, 0)
        if not (isinstance(self.threshold, Real) and 0 <= self.threshold < inf):
            raise PolicyError(f"threshold must be a number >= 0, got {self.threshold!r}")
        if self.jobs is not None:
            check_whole("jobs", self.jobs, 1)

    @property
    def two_sided(self) -> bool:
        return self.alternative == "two-sided"
