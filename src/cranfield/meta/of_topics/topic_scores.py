"""Scores by topic and system, as studies of the sample of topics take them."""

from __future__ import annotations

from numbers import Real
from typing import Any

from cranfield.base.errors import PolicyError
from cranfield.significance.prepare import Ready, as_scores, prepared
from cranfield.significance.tests.catalogue import find_test


def topic_scores(scores: Any, missing: str | None, test: str = "anova-2") -> Ready:
    """Make scores ready that a study samples, or generalises, by topic: no gaps, no shards.

    Raises
    ------
    CranfieldError
        When scores are missing, infinite or too few.
    PolicyError
        For an unknown policy or test, or scores by shard.
    """
    given = as_scores(scores)
    given.flat()
    if missing == "available":
        raise PolicyError("all systems have the same topics here: missing='available' does not fit")
    return prepared(given, find_test(test).info, missing or "error")


def check_share(name: str, value: float) -> None:
    """Refuse what is no number between 0 and 1."""
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < value < 1:
        raise PolicyError(f"{name} must be a number between 0 and 1, not {value!r}")
