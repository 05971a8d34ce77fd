"""What is said of nuggets and answers: how important, how well supported, how long."""

from __future__ import annotations

from math import nan

from cranfield.base.errors import quoted
from cranfield.texts.tables import Table, absent, finite

IMPORTANCE = {"vital": 1.0, "okay": 0.0, "ok": 0.0}
"""Labels of a nugget: must an answer have it?"""

SUPPORT = {
    **dict.fromkeys(("support", "full", "fullsupport", "fs", "supported", "yes", "true"), 1.0),
    **dict.fromkeys(("partialsupport", "partial", "ps"), 0.5),
    **dict.fromkeys(("notsupport", "nosupport", "none", "no", "ns", "false"), 0.0),
}
"""Labels of support, spelt without blanks, hyphens and underscores."""


def importance_in(table: Table, row: int) -> float:
    """Read `vital` (1) or `okay` (0); NaN where nothing is said."""
    cell = table.rows[row].get("importance")
    if absent(cell):
        return nan
    found = IMPORTANCE.get(str(cell).strip().lower())
    if found is None:
        topic = str(table.rows[row].get("topic"))
        raise table.wrong(row, f"importance {quoted(cell)} is neither vital nor okay", topic)
    return found


def support_in(table: Table, row: int, name: str = "support") -> float:
    """Read a degree of support: a word, or a number from 0 to 1; NaN where nothing is said."""
    cell = table.rows[row].get(name)
    if absent(cell):
        return nan
    if isinstance(cell, bool):
        return float(cell)
    word = str(cell).strip().lower()
    for blank in " -_":
        word = word.replace(blank, "")
    if word in SUPPORT:
        return SUPPORT[word]
    value = finite(cell)
    if value is None or not 0 <= value <= 1:
        topic = str(table.rows[row].get("topic"))
        raise table.wrong(
            row, f"{name} {quoted(cell)} is neither full, partial, none nor from 0 to 1", topic
        )
    return value


def text_length(text: str) -> int:
    """Count the characters of an answer that are not white space, as TREC's question answering.

    Examples
    --------
    >>> text_length("born in 1942 ")
    10
    """
    return len("".join(text.split()))
