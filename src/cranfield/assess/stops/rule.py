"""What a rule of stopping is, what it is told and what it says."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from cranfield.base.arrays import Bools, Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.measures.declared import Declared

AT_A_TIME = 1 << 20
"""Pairs of a look and a place that are computed at a time."""


@dataclass(frozen=True, eq=False)
class Seen:
    """What a rule is told of a topic: relevance in the order of judging, how large the pool is."""

    relevant: Bools
    total: int
    targets: Bools | None = None

    @cached_property
    def found(self) -> Ints:
        """Relevant documents after 0, 1, ... judgments; shape (judgments + 1,)."""
        found: Ints = np.r_[0, np.cumsum(self.relevant)].astype(np.int64)
        return found

    @cached_property
    def places(self) -> Ints:
        """After how many judgments each relevant document was found; shape (relevant,)."""
        return np.flatnonzero(self.relevant) + 1


@dataclass(frozen=True, eq=False)
class Looks:
    """What a rule says after some numbers of judgments: its value, the bound, whether to stop."""

    value: Floats
    bound: Floats
    stop: Bools


class Rule(Declared):
    """A rule that says when to stop judging a topic; its text form is its identity."""

    error = PolicyError
    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    words: ClassVar[str] = ""
    """What value and bound are, with places for both."""

    @classmethod
    def called(cls) -> str:
        return cls.name

    def looks(self, seen: Seen, after: Ints) -> Looks:
        """Ask after each of some numbers of judgments."""
        raise NotImplementedError
