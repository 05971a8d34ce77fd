"""Cells of tables of scores, and names of measures beside other names."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from typing import Any

from cranfield.base.errors import InputError, MeasureError, converted_error, quoted
from cranfield.base.text import some_of
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.scores.one_measure import suggests_lower
from cranfield.sources.schemas import Schema, optional, spelt
from cranfield.sources.values import LABEL, NUMBER, absent, finite

NO_SCORE = frozenset({"", "na", "nan", "n/a", "null", "none", "-", "<na>"})
"""Values of cells without a score, in lower case."""

_DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+([eE][+-]?\d+)?", re.ASCII)

SCORES = Schema(
    "table of scores",
    (
        optional("topic", LABEL, "topic of scores"),
        *(optional("system", LABEL), optional("measure", LABEL)),
        optional("shard", LABEL, "shard of scores"),
        optional("score", NUMBER, "value"),
    ),
)


def no_score(cell: Any) -> bool:
    return absent(cell, NO_SCORE)


def numeric(cell: Any) -> bool:
    return finite(cell) is not None


def decimal_comma(cell: Any) -> bool:
    """Return True if a cell is a number with a decimal comma."""
    return isinstance(cell, str) and bool(_DECIMAL_COMMA.fullmatch(cell.strip()))


@contextmanager
def naming(source: str) -> Iterator[None]:
    """Name the source in errors that name none."""
    try:
        yield
    except InputError as error:
        if error.source:
            raise
        raise converted_error(error, InputError, source) from error


def score_in(cell: Any, line: int | None = None, topic: str | None = None) -> float:
    """Read a score; NaN where there is none."""
    score = finite(cell)
    if score is None and no_score(cell):
        return math.nan
    if score is None:
        comma = decimal_comma(cell)
        reason = "has a decimal comma; use a decimal point" if comma else "is not a finite number"
        raise InputError(f"score {quoted(cell)} {reason}", line=line, topic=topic)
    return score


def label_in(cell: Any, what: str, line: int | None = None) -> str:
    """Read the name of a topic, a system, a measure or a shard; there has to be one."""
    label: str | None = LABEL.read(cell)
    if label is None:
        raise InputError(LABEL.reason(what, cell), line=line)
    return label


def roles(names: Sequence[str], source: str) -> dict[str, int]:
    """Find the column of each role; missing ones are omitted."""
    places = SCORES.places(names, source)
    # These words are too common to count beside a proper name, and the letter may be a system.
    loose = [k for k, name in enumerate(names) if spelt(name) == "name"]
    if "system" not in places and len(loose) == 1:
        places["system"] = loose[0]
    if "topic" not in places and names and spelt(names[0]) == "q":
        places["topic"] = 0
    return places


LOOKED_AT = 50
"""Names of a column that are looked at; each costs a parse."""


@lru_cache(maxsize=4096)
def measure_of(name: str) -> Measure | None:
    """Return the one measure that a name stands for; None where there is none."""
    # No measure begins otherwise, and Python warns of some of what it parses.
    if not re.match("[A-Za-z_]|11pt", name):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            [one] = parse_measures(name)
    except (MeasureError, ValueError):
        return None
    return one


_OTHERS = """
acc accuracy bertscore bleu chrf correctness coverage em exactmatch f1 fmeasure fscore faithfulness
groundedness hits hitrate hole meteor pass pmrr precision recall rouge rougel success
answercorrectness answerrelevance answerrelevancy contextentityrecall contextprecision contextrecall
contextrelevance count len length n queries tokens
"""
_UNKNOWN_MEASURES = frozenset(_OTHERS.split())
"""Names of other tools' measures and counts that cranfield does not have, by `spelt`."""

CUTOFF = re.compile(r"@\d")


@lru_cache(maxsize=4096)
def like_a_measure(name: str) -> bool:
    """Return True for names of measures, ours and usual ones, with or without a cutoff."""
    # `q`, `p_1`, `r_2` and the like are rather names of topics and systems, and so is a sentence.
    if re.match("[a-z]{1,2}([^A-Za-z]|$)|.* ", name):
        return spelt(name) in _UNKNOWN_MEASURES
    family = re.sub(r"([@_-]|_at_)?\d+$", "", name)
    return (
        not {spelt(name), spelt(family)}.isdisjoint(_UNKNOWN_MEASURES)
        or suggests_lower(name)
        or measure_of(name) is not None
        or (len(family) > 2 and measure_of(family) is not None)
    )


def are_measures(names: Iterable[str], requested: Sequence[str] = (), what: str = "") -> bool:
    """Return True if names are measures rather than systems or topics.

    They are if one of them is requested, or if most of them are usual names of measures or have a
    cutoff. If only some are, an `InputError` says so where it is known `what` they are the names
    of; otherwise they are not taken for measures.
    """
    some = list(islice(names, LOOKED_AT))
    if any(same_measure(name, measure) for name in some for measure in requested):
        return True
    known = [name for name in some if like_a_measure(name)]
    cutoffs = [name for name in some if name not in known and CUTOFF.search(name)]
    likely = [*known, *cutoffs]
    unlikely = [name for name in some if name not in likely and measure_of(name) is None]
    if known and 2 * len(unlikely) < len(some):
        return True
    if not likely or not what or (requested and not known):
        return False
    systems = "a table with columns topic, system and score reads them as systems"
    if not known:
        systems = f"measure=... with the name of their measure, or {systems}"
    raise InputError(
        f"expected {what} of systems or of measures, got both: {some_of(map(quoted, likely), 3)}"
        f" could be measures, {some_of(map(quoted, unlikely), 3)} not;"
        f" measure={likely[0]!r} reads them as measures of one system; {systems}"
    )


def same_measure(one: str, other: str) -> bool:
    known = measure_of(one)
    return one == other or (known is not None and known == measure_of(other))


def chosen(kinds: Sequence[str], measure: str | None) -> str:
    """Choose the measure to take of those that there are, or say that it has to be named.

    The plain name counts first, then the measure that it stands for, then the name in any case.
    """
    if measure is None and len(kinds) == 1:
        return kinds[0]
    some = some_of(kinds, 10)
    if measure is None:
        raise InputError(f"several measures: {some}; choose one, as in measure={kinds[0]!r}")
    if measure in kinds:
        return measure
    same = [kind for kind in kinds if same_measure(kind, measure)]
    same = same or [kind for kind in kinds if kind.casefold() == measure.casefold()]
    if len(same) > 1:
        raise InputError(f"measure {quoted(measure)} occurs under several names: {', '.join(same)}")
    if not same:
        raise InputError(f"unknown measure {quoted(measure)}; expected one of: {some}")
    return same[0]
