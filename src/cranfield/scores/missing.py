"""Policies for missing scores, on tables of the same topics."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.checks import check_choice
from cranfield.base.errors import CranfieldError
from cranfield.base.words import counted

MISSING = ("error", "drop", "zero")
"""Refuse, leave out topics that lack a score in any table, or count a missing score as 0."""


def filled(
    tables: Sequence[Floats],
    missing: str,
    cell: Callable[[int, Indices], str],
    hint: str = "",
    by: str = "",
) -> tuple[list[Floats], Bools, tuple[str, ...]]:
    """Apply one policy to all tables; return them, which topics are left, and what was done.

    `cell` describes a place of a table, `hint` says what else can be done about a missing score,
    and `by` of how many measures a topic has to have scores.
    """
    check_choice("missing", missing, MISSING)
    absent = [np.isnan(table) for table in tables]
    number = sum(int(gaps.sum()) for gaps in absent)
    every = np.ones(len(tables[0]), dtype=bool)
    if not number:
        return list(tables), every, ()
    if missing == "error":
        first = next(k for k, gaps in enumerate(absent) if gaps.any())
        raise CranfieldError(
            f"{cell(first, np.argwhere(absent[first])[0])} ({counted(number, 'score')} missing);"
            f" missing='drop' leaves out topics that lack one, 'zero' counts 0{hint}"
        )
    if missing == "zero":
        zeros = [np.where(gaps, 0.0, table) for gaps, table in zip(absent, tables, strict=True)]
        return zeros, every, (f"{counted(number, 'missing score')} counted as 0",)
    kept = ~np.any([gaps.reshape(len(gaps), -1).any(axis=1) for gaps in absent], axis=0)
    if not kept.any():
        raise CranfieldError(f"no topic has a score of every system{by}")
    note = f"{counted(int((~kept).sum()), 'topic')} left out for lack of a score"
    return [table[kept] for table in tables], kept, (note,)
