"""Cells of tables of scores, joined to one table."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cranfield.base.errors import InputError, MeasureError, converted_error, quoted, warn
from cranfield.base.text import some_of
from cranfield.measures import parse_measures
from cranfield.measures.base import Measure
from cranfield.scores import Scores
from cranfield.scores.one_measure import suggests_lower
from cranfield.sources.schemas import SUMMARIES, Schema, optional, spelt
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


Label = TypeVar("Label", str, "str | None")

AGGREGATE = "all"
"""The topic under which trec_eval and ir_measures print what they sum up over topics."""


@dataclass(frozen=True)
class ScoreSource:
    """Source of scores.

    name: name to show in messages.
    stem: the system, where nothing names it.
    requested: the measures that the caller names, which tell names of measures from others.
    """

    name: str = "scores"
    stem: str = "run"
    requested: Sequence[str] = ()


class Entry(NamedTuple):
    """One score, not yet read."""

    measure: str | None
    topic: str
    system: str
    shard: str | None
    cell: Any
    line: int | None = None


@dataclass(frozen=True)
class ScorePart:
    """The scores of one file or object.

    entries: the scores; either all of them name their measure, or none, and so with shards.
    directions: whether lower scores are better, by measure, where that was stated.
    source: name to show in messages.
    """

    entries: list[Entry]
    directions: Mapping[str | None, bool]
    source: str = "scores"

    @property
    def kinds(self) -> list[str]:
        return list(dict.fromkeys(e.measure for e in self.entries if e.measure is not None))

    @property
    def by_shard(self) -> bool:
        return self.entries[0].shard is not None

    def of(self, measure: str | None) -> tuple[str | None, list[Entry]]:
        """Choose a measure; return its name here, and its scores."""
        kinds = self.kinds
        if not kinds:
            return None, self.entries
        with naming(self.source):
            kind = chosen(kinds, measure)
        return kind, [entry for entry in self.entries if entry.measure == kind]


def part_of(
    entries: Iterable[Entry], directions: Mapping[str | None, bool] | None = None
) -> ScorePart:
    """Keep the scores by topic; the row `all` and others that sum them up are none of them."""
    given = list(entries)
    topics = {entry.topic for entry in given}
    summaries = {topic for topic in topics - {AGGREGATE} if spelt(topic) in SUMMARIES}
    if summaries and summaries != topics:
        listed = some_of(map(quoted, sorted(summaries)), 5)
        warn(f"rows of summaries over topics are skipped: {listed}")
    kept = [one for one in given if one.topic != AGGREGATE and one.topic not in summaries]
    if not kept:
        raise InputError(
            "has no scores by topic; trec_eval prints them with -q, ir_measures with --by_query,"
            " cranfield evaluate with --by-topic"
        )
    if all(no_score(one.cell) for one in kept):
        raise InputError("has no scores: all cells are empty")
    return ScorePart(kept, directions or {})


def joined(parts: Sequence[ScorePart], measure: str | None) -> Scores:
    """Put the systems of all parts side by side; labels are in order of appearance."""
    picked = [part.of(measure) for part in parts]
    _check_alike(parts, [kind for kind, _ in picked], measure)
    _check_systems(parts)
    topics = _index(entry.topic for _, entries in picked for entry in entries)
    # A system without a score of this measure stays, so that its absence is seen.
    systems = _index(entry.system for part in parts for entry in part.entries)
    shards = _index(entry.shard for _, entries in picked for entry in entries)
    values = np.full((len(topics), len(systems), len(shards)), np.nan)
    seen = np.zeros(values.shape, dtype=bool)
    for part, (_, entries) in zip(parts, picked, strict=True):
        with naming(part.source):
            for _, topic, system, shard, cell, line in entries:
                at = topics[topic], systems[system], shards[shard]
                if seen[at]:
                    twice = (
                        "two scores" if shard is None else f"two scores in shard {quoted(shard)}"
                    )
                    raise InputError(f"system {quoted(system)} has {twice}", line=line, topic=topic)
                seen[at] = True
                values[at] = score_in(cell, line, topic)
    name = measure if measure is not None else picked[0][0]
    known = measure_of(name) if name else None
    made = Scores(
        values if parts[0].by_shard else values[:, :, 0],
        tuple(topics),
        tuple(systems),
        name or "",
        aggregate=known.info.aggregate if known is not None else "mean",
        shards=tuple(str(shard) for shard in shards) if parts[0].by_shard else (),
        definition=known,
        # What a measure that we know declares.
        scale=known.scale if known is not None else None,
        scale_source=known.scale_source if known is not None else "",
        lower_is_better=known is not None and known.info.lower_is_better,
    )
    kinds = zip(parts, picked, strict=True)
    stated = {part.directions[kind] for part, (kind, _) in kinds if kind in part.directions}
    if len(stated) > 1:
        raise InputError("expected scores of one direction, got lower and higher is better")
    return made.with_direction(stated.pop()) if stated else made


def _index(labels: Iterable[Label]) -> dict[Label, int]:
    return {label: k for k, label in enumerate(dict.fromkeys(labels))}


def _check_alike(
    parts: Sequence[ScorePart], kinds: Sequence[str | None], measure: str | None
) -> None:
    """Refuse to join different measures, and shards with what has none."""
    for part, kind in zip(parts[1:], kinds[1:], strict=True):
        if part.by_shard != parts[0].by_shard:
            one, other = (part, parts[0]) if part.by_shard else (parts[0], part)
            raise InputError(f"has shards, but {other.source} has none", source=one.source)
        first = kinds[0]
        if measure is not None or kind == first:
            continue
        if kind is None or first is None:
            named, other, it = (parts[0], part, first) if kind is None else (part, parts[0], kind)
            raise InputError(
                f"has scores of {it}, but {other.source} does not name its measure; pass measure=",
                source=named.source,
            )
        if not same_measure(kind, first):
            raise InputError(
                f"expected scores of {first}, as in {parts[0].source}, got {kind}",
                source=part.source,
            )


def _check_systems(parts: Sequence[ScorePart]) -> None:
    home: dict[str, ScorePart] = {}
    for part in parts:
        for system in dict.fromkeys(entry.system for entry in part.entries):
            if system in home:
                raise InputError(
                    f"duplicate system {quoted(system)}, also in {home[system].source}",
                    source=part.source,
                )
            home[system] = part
