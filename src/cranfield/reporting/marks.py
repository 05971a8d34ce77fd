"""Marks of significance, checked before anything is read or tested."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cranfield.base.errors import PolicyError, quoted

SYMBOLS = "†‡§¶‖"
"""Of levels of significance, or of baselines."""

MARKS = ("none", "symbols", "beaten", "groups")
"""What may be raised behind a score."""


def levels_of(alpha: Any) -> tuple[float, ...]:
    given = [alpha] if isinstance(alpha, (int, float)) else alpha
    try:
        levels = sorted({float(one) for one in given}, reverse=True)
    except (TypeError, ValueError):
        levels = []
    if not levels or not all(0 < one < 1 for one in levels):
        raise PolicyError(f"alpha must be a number between 0 and 1, or several, got {alpha!r}")
    return tuple(levels)


def kind_of(marks: str | None, baselines: Sequence[str], levels: Sequence[float]) -> str:
    """Choose the marks, and refuse invalid combinations before anything is tested."""
    if marks is None:
        marks = "symbols" if baselines else "beaten"
    if marks not in MARKS:
        raise PolicyError(f"unknown marks {quoted(marks)}; expected one of: {', '.join(MARKS)}")
    if marks == "symbols" and not baselines:
        raise PolicyError("marks 'symbols' require a baseline")
    if marks in {"beaten", "groups"} and baselines:
        raise PolicyError(f"marks {marks!r} cannot be combined with a baseline")
    if len(levels) > 1 and (marks != "symbols" or len(baselines) > 1):
        raise PolicyError("several levels alpha require marks 'symbols' and one baseline")
    if max(len(levels), len(baselines)) > len(SYMBOLS):
        raise PolicyError(f"expected at most {len(SYMBOLS)} levels or baselines")
    return marks
