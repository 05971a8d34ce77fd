"""Read the cells of score tables, and recognise names of measures."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from cranfield.base.errors import InputError, MeasureError, quoted
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
        optional("replicate", LABEL),
        optional("score", NUMBER, "value"),
    ),
)


def is_missing(cell: Any) -> bool:
    return absent(cell, NO_SCORE)


def is_numeric(cell: Any) -> bool:
    return finite(cell) is not None


def has_decimal_comma(cell: Any) -> bool:
    """Return True if a cell is a number with a decimal comma."""
    return isinstance(cell, str) and bool(_DECIMAL_COMMA.fullmatch(cell.strip()))


def read_score(cell: Any, line: int | None = None, topic: str | None = None) -> float:
    """Read a score; NaN for a missing one."""
    score = finite(cell)
    if score is None and is_missing(cell):
        return math.nan
    if score is None:
        comma = has_decimal_comma(cell)
        reason = "has a decimal comma; use a decimal point" if comma else "is not a finite number"
        raise InputError(f"score {quoted(cell)} {reason}", line=line, topic=topic)
    return score


def read_label(cell: Any, kind: str, line: int | None = None) -> str:
    """Read the label of a topic, system, measure or shard; raise an error for an empty one."""
    label: str | None = LABEL.read(cell)
    if label is None:
        raise InputError(LABEL.reason(kind, cell), line=line)
    return label


def find_roles(names: Sequence[str], source: str) -> dict[str, int]:
    """Return the column index of each role; roles without a column are omitted."""
    roles = SCORES.places(names, source)
    # `name` and `q` are too common for the schema, and `q` may be a system.
    name_columns = [k for k, name in enumerate(names) if spelt(name) == "name"]
    if "system" not in roles and len(name_columns) == 1:
        roles["system"] = name_columns[0]
    if "topic" not in roles and names and spelt(names[0]) == "q":
        roles["topic"] = 0
    return roles


MAX_NAMES = 50  # maximum number of names that are tested for being measures; each has to be parsed


@lru_cache(maxsize=4096)
def measure_of(name: str) -> Measure | None:
    """Parse the name of one measure; None for other names and for names of several measures."""
    # Python issues syntax warnings for some other names when they are parsed.
    if not re.match("[A-Za-z_]|11pt", name):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            [measure] = parse_measures(name)
    except (MeasureError, ValueError):
        return None
    return measure


_NAMES = """
acc accuracy bertscore bleu chrf correctness coverage em exactmatch f1 fmeasure fscore faithfulness
groundedness hits hitrate hole meteor pass pmrr precision recall rouge rougel success
answercorrectness answerrelevance answerrelevancy contextentityrecall contextprecision contextrecall
contextrelevance count len length n queries tokens
"""
_UNKNOWN_MEASURES = frozenset(_NAMES.split())
"""Names, as normalised by `spelt`, of measures and counts that only other tools have."""

CUTOFF = re.compile(r"@\d")


@lru_cache(maxsize=4096)
def resembles_measure(name: str) -> bool:
    """Return True for names of measures of cranfield or other tools, with or without a cutoff."""
    # `q`, `p_1`, `r_2` and sentences are more likely names of topics or systems.
    if re.match("[a-z]{1,2}([^A-Za-z]|$)|.* ", name):
        return spelt(name) in _UNKNOWN_MEASURES
    family = re.sub(r"([@_-]|_at_)?\d+$", "", name)
    return (
        not {spelt(name), spelt(family)}.isdisjoint(_UNKNOWN_MEASURES)
        or suggests_lower(name)
        or measure_of(name) is not None
        or (len(family) > 2 and measure_of(family) is not None)
    )


def are_measures(names: Iterable[str], requested: Sequence[str] = (), kind: str = "") -> bool:
    """Return True if names are measures rather than systems or topics.

    They are measures if one of them is requested, or if most of them are common names of measures
    or have a cutoff. If only some do, they are ambiguous: an `InputError` is raised if `kind`
    describes the names, otherwise the result is False.
    """
    sample = list(islice(names, MAX_NAMES))
    if any(same_measure(name, measure) for name in sample for measure in requested):
        return True
    known = [name for name in sample if resembles_measure(name)]
    cutoffs = [name for name in sample if name not in known and CUTOFF.search(name)]
    likely = [*known, *cutoffs]
    other_names = [name for name in sample if name not in likely and measure_of(name) is None]
    if known and 2 * len(other_names) < len(sample):
        return True
    if not likely or not kind or (requested and not known):
        return False
    advice = "a table with columns topic, system and score reads them as systems"
    if not known:
        advice = f"measure=... with the name of their measure, or {advice}"
    raise InputError(
        f"expected {kind} of systems or of measures, got both: {some_of(map(quoted, likely), 3)}"
        f" could be measures, {some_of(map(quoted, other_names), 3)} could not;"
        f" measure={likely[0]!r} reads them as measures of one system; {advice}"
    )


def same_measure(name: str, other: str) -> bool:
    measure = measure_of(name)
    return name == other or (measure is not None and measure == measure_of(other))


def choose_measure(names: Sequence[str], measure: str | None) -> str:
    """Choose the requested measure, or the only one; refuse unknown and ambiguous ones.

    The exact name is tried first, then names of the same measure, then the name in any case.
    """
    if measure is None and len(names) == 1:
        return names[0]
    listed = some_of(names, 10)
    if measure is None:
        raise InputError(
            f"expected scores of one measure, got {listed}; select one, as in measure={names[0]!r}"
        )
    if measure in names:
        return measure
    matches = [name for name in names if same_measure(name, measure)]
    matches = matches or [name for name in names if name.casefold() == measure.casefold()]
    if len(matches) > 1:
        raise InputError(
            f"measure {quoted(measure)} occurs under several names: {', '.join(matches)}"
        )
    if not matches:
        raise InputError(f"unknown measure {quoted(measure)}; expected one of: {listed}")
    return matches[0]
