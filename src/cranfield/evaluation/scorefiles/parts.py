"""Parts: the scores of one file or object, and several of them joined to one table of scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cranfield.base.errors import InputError, quoted, warn
from cranfield.base.words import some_of
from cranfield.evaluation.scorefiles.cells import (
    chosen,
    measure_of,
    naming,
    no_score,
    same_measure,
    score_in,
)
from cranfield.scores import Scores
from cranfield.sources.column_names import SUMMARIES
from cranfield.sources.schemas import spelt

Label = TypeVar("Label", str, "str | None")

AGGREGATE = "all"
"""The topic under which trec_eval and ir_measures print what they sum up over topics."""


@dataclass(frozen=True)
class ScoreSource:
    """Where scores are read from.

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
        warn(f"rows that sum up topics are left out: {listed}")
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
            raise InputError(f"has shards, and {other.source} has none", source=one.source)
        first = kinds[0]
        if measure is not None or kind == first:
            continue
        if kind is None or first is None:
            named, other, it = (parts[0], part, first) if kind is None else (part, parts[0], kind)
            raise InputError(
                f"has scores of {it}, and {other.source} does not say which measure it has;"
                " name the measure",
                source=named.source,
            )
        if not same_measure(kind, first):
            raise InputError(
                f"has scores of {kind}, and {parts[0].source} of {first}:"
                " files side by side are of one measure",
                source=part.source,
            )


def _check_systems(parts: Sequence[ScorePart]) -> None:
    home: dict[str, ScorePart] = {}
    for part in parts:
        for system in dict.fromkeys(entry.system for entry in part.entries):
            if system in home:
                raise InputError(
                    f"two systems are called {quoted(system)}, the other in {home[system].source}",
                    source=part.source,
                )
            home[system] = part
