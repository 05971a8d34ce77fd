"""Cells of score tables, names of measures, and scores of several sources joined into one table."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cranfield.base.errors import InputError, in_source, quoted, warn
from cranfield.base.text import counted, some_of
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
    if score is not None:
        return score
    if is_missing(cell):
        return math.nan
    comma = has_decimal_comma(cell)
    reason = "has a decimal comma; use a decimal point" if comma else "is not a finite number"
    raise InputError(f"score {quoted(cell)} {reason}", line=line, topic=topic)


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
    except ValueError:
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
    """Return True if a name is requested, or most are common names of measures or have a cutoff.

    If only some are, an `InputError` is raised if `kind` describes the names; else it is False.
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
    others = f", {some_of(map(quoted, other_names), 3)} could not" if other_names else ""
    raise InputError(
        f"expected {kind} of systems or of measures, got {some_of(map(quoted, likely), 3)}, which"
        f" could be measures{others}; measure={likely[0]!r} reads them as measures of one system;"
        f" {advice}"
    )


def same_measure(name: str, other: str) -> bool:
    measure = measure_of(name)
    return name == other or (measure is not None and measure == measure_of(other))


def choose_measure(names: Sequence[str], measure: str | None) -> str:
    """Choose the requested measure by its name, another name, or in any case; or the only one."""
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


Label = TypeVar("Label", str, "str | None")
AGGREGATE = "all"  # topic of the overall values of trec_eval and ir_measures
ROUNDING = 1e-6  # by which a score may exceed the range of its measure


@dataclass(frozen=True)
class ScoreSource:
    """Source of scores."""

    name: str = "scores"  # in messages
    stem: str = "run"  # name of the system if the data do not contain one
    requested: Sequence[str] = ()  # measures, which help to recognise names of measures


class Entry(NamedTuple):
    """One score, as an unconverted cell, with its labels."""

    measure: str | None
    topic: str
    system: str
    shard: str | None
    cell: Any
    line: int | None = None


@dataclass(frozen=True)
class ScorePart:
    """The scores of one file or object."""

    entries: list[Entry]  # all or none have a measure, and all or none a shard
    directions: Mapping[str | None, bool]  # whether lower scores are better, if the source says so
    source: str = "scores"  # name in messages
    axis: str = "shard"  # meaning of shards: `shard` or `replicate`
    has_topics: bool = True  # whether the source names topics; otherwise rows are numbered

    @property
    def kinds(self) -> list[str]:
        return list(dict.fromkeys(e.measure for e in self.entries if e.measure is not None))

    @property
    def by_shard(self) -> bool:
        return self.entries[0].shard is not None


def make_part(
    entries: Iterable[Entry], directions: Mapping[str | None, bool] | None = None
) -> ScorePart:
    """Return a part with the per-topic scores, without the topic `all` and other summaries."""
    all_entries = list(entries)
    topics = {entry.topic for entry in all_entries}
    summaries = {topic for topic in topics - {AGGREGATE} if spelt(topic) in SUMMARIES}
    if summaries and summaries != topics:
        listed = some_of(map(quoted, sorted(summaries)), 5)
        warn(f"rows of summaries over topics are skipped: {listed}")
    by_topic = [
        entry for entry in all_entries if entry.topic != AGGREGATE and entry.topic not in summaries
    ]
    other_topics = {topic for topic in topics - summaries - {AGGREGATE} if not topic.isdigit()}
    if 0 < 5 * len(other_topics) <= len(topics):
        listed = some_of(map(quoted, sorted(other_topics)), 5)
        warn(
            f"rows read as topics, although other topics are numbers: {listed}; remove them if they"
            " summarise others"
        )
    shards = {entry.shard for entry in by_topic}
    summaries = {shard for shard in shards if shard is not None and spelt(shard) in SUMMARIES}
    if summaries and summaries != shards:
        listed = some_of(map(quoted, sorted(summaries)), 5)
        warn(f"rows of summaries over shards or replicates are skipped: {listed}")
        by_topic = [entry for entry in by_topic if entry.shard not in summaries]
    if not by_topic:
        raise InputError(
            "has no scores by topic; trec_eval prints them with -q, ir_measures with --by_query,"
            " cranfield evaluate with --by-topic"
        )
    if all(is_missing(entry.cell) for entry in by_topic):
        raise InputError("has no scores: all cells are empty")
    return ScorePart(by_topic, directions or {})


def join_parts(parts: Sequence[ScorePart], measure: str | None) -> Scores:
    """Join the scores of one measure of all parts; labels are in order of appearance."""
    kinds: list[str | None] = []
    for part in parts:
        with in_source(part.source):
            # A part without names of measures has the scores of one unnamed measure.
            kinds.append(choose_measure(part.kinds, measure) if part.kinds else None)
    _check_compatible(parts, kinds, measure)
    selection = [
        (part, kind, [entry for entry in part.entries if entry.measure == kind])
        for part, kind in zip(parts, kinds, strict=True)
    ]
    topics = _number_labels(entry.topic for *_, entries in selection for entry in entries)
    # Systems without a score of this measure stay, so that they are reported as missing.
    systems = _number_labels(entry.system for part in parts for entry in part.entries)
    shards = _number_labels(entry.shard for *_, entries in selection for entry in entries)
    values = np.full((len(topics), len(systems), len(shards)), np.nan)
    has_score = np.zeros(values.shape, dtype=bool)
    for part, _, entries in selection:
        with in_source(part.source):
            for _, topic, system, shard, cell, line in entries:
                cell_index = topics[topic], systems[system], shards[shard]
                if has_score[cell_index]:
                    in_shard = "" if shard is None else f" in {part.axis} {quoted(shard)}"
                    raise InputError(
                        f"system {quoted(system)} has two scores{in_shard}", line=line, topic=topic
                    )
                has_score[cell_index] = True
                values[cell_index] = read_score(cell, line, topic)
    by_shard = parts[0].by_shard
    name = measure if measure is not None else kinds[0]
    scores = Scores(
        values if by_shard else values[:, :, 0],
        tuple(topics),
        tuple(systems),
        shards=tuple(map(str, shards)) if by_shard else (),
        axis=parts[0].axis,
        # A known measure has a declared range, direction and scale.
        definition=measure_of(name) if name else None,
    )
    scores = replace(scores, measure=name or "")
    if scores.definition is not None:
        low, high = scores.definition.info.range
        is_outside = (values < low - ROUNDING) | (values > high + ROUNDING)
        if is_outside.any():
            topic, system, _ = np.argwhere(is_outside)[0]
            warn(
                f"{counted(int(is_outside.sum()), 'score')} of {name} outside its range {low:g} to"
                f" {high:g}, such as {values[is_outside][0]:g} of {quoted([*systems][system])} on"
                f" topic {quoted([*topics][topic])}; are these percentages, or marks of failures?"
            )
    directions = {part.directions[kind] for part, kind, _ in selection if kind in part.directions}
    if len(directions) > 1:
        raise InputError(
            "sources disagree on the direction of the measure: lower and higher is better"
        )
    return scores.with_direction(directions.pop()) if directions else scores


def _number_labels(labels: Iterable[Label]) -> dict[Label, int]:
    return {label: k for k, label in enumerate(dict.fromkeys(labels))}


def _check_compatible(
    parts: Sequence[ScorePart], kinds: Sequence[str | None], measure: str | None
) -> None:
    """Check that parts have the same measure and third axis, and no system in common."""
    first, first_kind = parts[0], kinds[0]
    for part, kind in zip(parts[1:], kinds[1:], strict=True):
        if part.has_topics != first.has_topics:
            numbered_part, other_part = (first, part) if part.has_topics else (part, first)
            raise InputError(
                f"expected a column of topics, as in {other_part.source}, got rows without a topic",
                source=numbered_part.source,
            )
        if part.by_shard != first.by_shard:
            sharded_part, other_part = (part, first) if part.by_shard else (first, part)
            raise InputError(
                f"has {sharded_part.axis}s, but {other_part.source} has none",
                source=sharded_part.source,
            )
        if part.axis != first.axis:
            raise InputError(
                f"has {part.axis}s, but {first.source} has {first.axis}s", source=part.source
            )
        if measure is not None or kind == first_kind:
            continue
        if kind is None or first_kind is None:
            named_part, other_part = (first, part) if kind is None else (part, first)
            raise InputError(
                f"has scores of {kind or first_kind}, but {other_part.source} does not name its"
                " measure; pass measure=",
                source=named_part.source,
            )
        if not same_measure(kind, first_kind):
            reason = f"expected scores of {first_kind}, as in {first.source}, got {kind}"
            raise InputError(reason, source=part.source)
    source_of: dict[str, str] = {}
    for part in parts:
        for system in dict.fromkeys(entry.system for entry in part.entries):
            if system in source_of:
                reason = f"duplicate system {quoted(system)}, also in {source_of[system]}"
                raise InputError(reason, source=part.source)
            source_of[system] = part.source
