"""One cell: a score, a label, or nothing."""

from __future__ import annotations

import math
import re
from typing import Any

from cranfield.base.errors import InputError, quoted
from cranfield.sources.values import is_number

NO_SCORE = {"", "na", "nan", "n/a", "null", "none", "-", "<na>"}
"""What stands in a table where there is no score; case does not matter."""

_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?", re.ASCII)


def absent(cell: Any) -> bool:
    """Tell whether a cell holds nothing: no value, or a word for that.

    Examples
    --------
    >>> absent(None), absent(" N/A "), absent(float("nan")), absent("0")
    (True, True, True, False)
    """
    if isinstance(cell, str):
        return cell.strip().lower() in NO_SCORE
    # The missing value of pandas is equal to nothing, and has no truth.
    return cell is None or type(cell).__name__ in {"NAType", "NaTType"} or _is_nan(cell)


def _is_nan(cell: Any) -> bool:
    try:
        return math.isnan(cell)
    except (TypeError, ValueError, OverflowError):
        return False


def numeric(cell: Any) -> bool:
    """Tell whether a cell holds a number that is written as a score is.

    Examples
    --------
    >>> numeric(" 1e5 "), numeric("1_0"), numeric("nan"), numeric("٣")
    (True, False, False, False)
    """
    return (isinstance(cell, str) and is_number(cell.strip())) or _finite(cell) is not None


def decimal_comma(cell: Any) -> bool:
    """Tell whether a cell holds a number with a comma where English has a point.

    Examples
    --------
    >>> decimal_comma("0,5"), decimal_comma("0.5"), decimal_comma("5")
    (True, False, False)
    """
    return isinstance(cell, str) and bool(_DECIMAL_COMMA.fullmatch(cell.strip()))


def score_in(cell: Any, source: str, line: int | None = None, topic: str | None = None) -> float:
    """Read a score; NaN where there is none.

    Text is held to how numbers are written: Python itself would take `1_0` for 10, and the digits
    of any script.
    """
    if isinstance(cell, str) and is_number(text := cell.strip()):
        return float(text)
    if absent(cell):
        return math.nan
    score = _finite(cell)
    if score is None:
        comma = decimal_comma(cell)
        reason = "has a comma where a point is wanted" if comma else "is not a finite number"
        raise InputError(
            f"score {quoted(cell)} {reason}",
            source=source,
            line=line,
            topic=topic,
        )
    return score


def _finite(cell: Any) -> float | None:
    """Return what is no text as a finite number; None where it is none."""
    if isinstance(cell, (str, bytes, bytearray)):
        return None
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def label_in(cell: Any, what: str, source: str, line: int | None = None) -> str:
    """Read the name of a topic, a system, a measure or a shard; there has to be one.

    Examples
    --------
    >>> label_in(401.0, "topic", "a.csv"), label_in(" q1 ", "topic", "a.csv")
    ('401', 'q1')
    """
    if isinstance(cell, float) and cell.is_integer():
        cell = int(cell)
    # Text may well be a topic that is called `none`; only a missing value is no name.
    label = "" if not isinstance(cell, str) and absent(cell) else str(cell).strip()
    if not label:
        raise InputError(f"a row names no {what}", source=source, line=line)
    return label
