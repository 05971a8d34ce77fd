"""Columns of tables about texts: labels, amounts, how important and how well supported."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from os import PathLike, fspath
from typing import Any

import polars as pl

from cranfield.base.errors import PolicyError, quoted, warn
from cranfield.base.words import counted, some_of
from cranfield.sources.chunks import Source
from cranfield.sources.schemas import Column, optional
from cranfield.sources.tables import Table
from cranfield.sources.values import Kind, absent, finite, plain, truths_as_grades

LARGEST = 1e15
"""The largest weight, length or position; sums and products of such stay finite."""

_IMPORTANCE = {"vital": 1.0, "okay": 0.0, "ok": 0.0}
"""Labels of a nugget: must an answer have it?"""

_SUPPORT = {
    **dict.fromkeys(("support", "full", "fullsupport", "fs", "supported"), 1.0),
    **dict.fromkeys(("partialsupport", "partial", "ps"), 0.5),
    **dict.fromkeys(("notsupport", "nosupport", "none", "ns"), 0.0),
}
"""Labels of support, spelt without blanks, hyphens and underscores."""

_YES = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}


def _label(cell: Any) -> str | None:
    nested = isinstance(cell, (list, tuple, set, dict))
    return None if nested or absent(cell) else str(plain(cell)).strip()


def _amount(cell: Any) -> float | None:
    amount = None if isinstance(cell, bool) else finite(cell)
    return amount if amount is not None and 0 <= amount <= LARGEST else None


def _no_amount(cell: Any) -> str:
    amount = None if isinstance(cell, bool) else finite(cell)
    few = amount is None or amount < 0
    return f"not a {'number of at least 0' if few else 'sensible number'}"


def _importance(cell: Any) -> float | None:
    return _IMPORTANCE.get(str(cell).strip().lower())


def _support(cell: Any) -> float | None:
    if cell is None:
        return None
    word = str(cell).strip().lower().translate({ord(blank): None for blank in " -_"})
    degree = _SUPPORT.get(word, finite(cell))
    return degree if degree is not None and 0 <= degree <= 1 else None


def _yes(cell: Any) -> float | None:
    degree = _YES.get(str(cell).strip().lower(), _support(cell))
    return degree if degree in {0.0, 1.0} else None


LABEL = Kind(_label)
"""A name; there has to be one."""

NAME = Kind(_label, wanted="not text or a number", missing=absent)
"""A name, where there is one."""

TEXT = Kind(lambda cell: cell if isinstance(cell, str) else None, wanted="no text")

AMOUNT = Kind(_amount, pl.Float64, _no_amount, absent)
"""A number from 0."""

IMPORTANCE = Kind(_importance, pl.Float64, "neither vital nor okay", absent)
"""1 for `vital`, 0 for `okay`."""

SUPPORT = Kind(
    _support,
    pl.Float64,
    "neither full, partial, none nor from 0 to 1",
    absent,
    prepare=partial(truths_as_grades, what="degrees of support"),
)
"""A degree of support: a word, or a number from 0 to 1."""

YES = Kind(_yes, pl.Float64, "neither yes nor no", absent)


def check_systems(table: Table) -> None:
    """Refuse a row without a system where others have one."""
    unnamed = table.frame["system"].is_null()
    if not unnamed.all():
        table.refuse(unnamed, lambda _: "has no system, and others have")


LACKS = "has no column {name}; columns: {have}"

TOPIC = Column("topic", LABEL)
NUGGET = Column("nugget", LABEL)
SYSTEM = optional("system", NAME)


def text_length(text: str) -> int:
    """Count the characters that are not white space, as TREC's question answering."""
    return len("".join(text.split()))


def stem_of(data: Any) -> str:
    """Return the name that a system has by its file; `run` for what is no file."""
    return Source(fspath(data)).stem if isinstance(data, (str, PathLike)) else "run"


def warn_missing(
    answered: Collection[tuple[int, int]], topics: Sequence[str], systems: Sequence[str]
) -> None:
    """Warn of answers that are not there, by the indices of topic and system of those that are."""
    missing = [
        (topic, system)
        for s, system in enumerate(systems)
        for t, topic in enumerate(topics)
        if (t, s) not in answered
    ]
    if missing:
        places = (f"{quoted(topic)} of {quoted(system)}" for topic, system in missing)
        answers = f"{counted(len(missing), 'answer')} {'is' if len(missing) == 1 else 'are'}"
        warn(f"{answers} missing and counted as 0: topic {some_of(places, 5)}", stacklevel=4)


def check_name_used(name: str | None, used: bool) -> None:
    """Refuse the name of a system where the answers name all their systems."""
    if name is not None and not used:
        raise PolicyError(
            f"expected no name, as the answers have names of systems, got {quoted(name)}"
        )
