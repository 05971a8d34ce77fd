"""Clicks of sessions as arrays, without the names of documents."""

from __future__ import annotations

from dataclasses import dataclass

from cranfield.base.arrays import Bools, Floats, Ints


@dataclass(frozen=True, eq=False)
class Clicks:
    """Clicks of sessions, in order of cell, a (system, session) as one number, and of time.

    query, rank: the list that was clicked, by its query, and the place in it, both from 1.
    length, grade: characters of the document, NaN where not known; its grade, 0 where it has none.
    again: whether the session clicked this document before.
    text: characters of all snippets of the list down to the rank; NaN where not known.
    """

    cell: Ints
    query: Ints
    rank: Ints
    length: Floats
    grade: Ints
    again: Bools
    text: Floats
