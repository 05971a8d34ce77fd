"""Clicks of sessions as arrays, without the names of documents."""

from __future__ import annotations

from dataclasses import dataclass

from cranfield.base.arrays import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Clicks:
    """Clicks of sessions, in order of cell and, within it, of time.

    Attributes
    ----------
    cell
        The (system, session) of each click, as one number.
    query
        Number of the query in whose list was clicked, from 1.
    rank
        Rank that was clicked, from 1.
    length
        Characters of the clicked document; NaN where that is not known.
    grade
        Its grade; 0 where it has none.
    again
        Whether the session clicked this document before.
    text
        Characters of all snippets of the list down to the rank; NaN where that is not known.
    """

    cell: Ints
    query: Ints
    rank: Ints
    length: Floats
    grade: Ints
    again: Bools
    text: Floats
