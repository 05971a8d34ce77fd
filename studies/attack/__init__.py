"""What outsiders would try: input, files and processes that are made to go wrong.

A module here is a kind of attack if it has a function `attack(seed, cases)`, which yields an
:class:`Outcome` a case. What is right is known without the code that is attacked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Outcome:
    """What became of a case: the right result, one clear line that refuses it, or neither."""

    case: str
    verdict: Literal["right", "refused", "finding"]
    said: str = ""
    """What makes it a finding: a line."""
