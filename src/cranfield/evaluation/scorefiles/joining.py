"""Join the scores of several files or objects into one table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cranfield.base.errors import InputError, in_source, quoted, warn
from cranfield.base.text import some_of
from cranfield.evaluation.scorefiles.cells import (
    choose_measure,
    is_missing,
    measure_of,
    read_score,
    same_measure,
)
from cranfield.scores import Scores
from cranfield.sources.schemas import SUMMARIES, spelt

Label = TypeVar("Label", str, "str | None")
AGGREGATE = "all"  # topic of the overall values of trec_eval and ir_measures


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
