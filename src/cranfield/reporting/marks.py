"""Kinds and levels of significance marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cranfield.base.errors import PolicyError, quote

SYMBOLS = "†‡§¶‖"  # symbols of significance levels, or of baselines
WORSE_SYMBOL = "↓"  # follows the symbol of a system that is worse than the baseline
MARKS = ("none", "symbols", "beaten", "groups")  # kinds of marks that follow a score


def parse_levels(alpha: Any) -> tuple[float, ...]:
    """Return the distinct significance levels in descending order."""
    values = [alpha] if isinstance(alpha, (int, float)) else alpha
    try:
        levels = sorted({float(value) for value in values}, reverse=True)
    except (TypeError, ValueError):
        levels = []
    if not levels or not all(0 < level < 1 for level in levels):
        raise PolicyError(
            f"alpha must be a number between 0 and 1 (exclusive), or a list of them, got {alpha!r}"
        )
    return tuple(levels)


def check_marks(marks: str | None, baselines: Sequence[str], levels: Sequence[float]) -> str:
    """Return the kind of significance marks, or its default; raise for invalid combinations."""
    if marks is None:
        marks = "symbols" if baselines else "beaten"
    if marks not in MARKS:
        raise PolicyError(f"unknown marks {quote(marks)}; expected one of: {', '.join(MARKS)}")
    if marks == "symbols" and not baselines:
        raise PolicyError("marks 'symbols' require a baseline, got none")
    if marks in {"beaten", "groups"} and baselines:
        raise PolicyError(
            f"marks {marks!r} cannot be combined with a baseline; use marks='symbols'"
        )
    if len(levels) > 1 and (marks != "symbols" or len(baselines) > 1):
        got = f"{marks!r} and {len(baselines)}"
        raise PolicyError(
            f"several alphas require marks 'symbols' and a single baseline, got {got}"
        )
    if (n_symbols := max(len(levels), len(baselines))) > len(SYMBOLS):
        raise PolicyError(f"expected at most {len(SYMBOLS)} levels or baselines, got {n_symbols}")
    return marks
