"""Names of scores that suggest that lower is better."""

from __future__ import annotations

import re
import shlex

LOWER_WORDS = frozenset(
    {"latency", "latencies", "time", "times", "cost", "costs", "loss", "losses", "error", "errors"}
    | {"rmse", "mse", "mae", "perplexity", "energy"}
)
"""Words in names of measures for which lower scores are nearly always better."""

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def suggests_lower(name: str) -> bool:
    """Return True if a whole word of a name is nearly always used for lower-is-better scores.

    Words end at characters other than letters and where camel case begins a new one.

    Examples
    --------
    >>> [suggests_lower(name) for name in ("latency_ms", "query time", "testRMSE", "QueryTime")]
    [True, True, True, True]
    >>> [suggests_lower(name) for name in ("timeliness", "lossless", "AP", "")]
    [False, False, False, False]
    """
    return any(word.lower() in LOWER_WORDS for word in _WORD.findall(name))


def direction_note(name: str) -> str:
    """Return the note on scores whose name suggests lower is better, without a stated direction."""
    return (
        f"{name}: higher scores are treated as better; if lower is better, pass"
        f" lower_is_better=True (--lower {shlex.quote(name)})"
    )
