"""Notes on scores: ties, topics without relevant documents, and the scale of grades."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import quoted
from cranfield.base.words import counted, names_or_count
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import NO_TIES, Rows, places_in
from cranfield.collection.judged.scorable import lowest_relevant
from cranfield.measures.base import Measure
from cranfield.scores import Scores

TIE_EFFECT = 0.005
"""Ties that can move an overall value by more than this are reported."""

BY_DOCUMENT = "which documents they are"
"""`Info.beyond_grades` of measures that compare documents one by one."""

MAX_RUNS = 3
"""Runs that a note on ties names."""


@dataclass(frozen=True)
class TieEffect:
    """How much the order of tied documents can change the overall value of one system.

    Attributes
    ----------
    measure, system
        The measure that can change the most, and the system.
    effect
        Difference between the overall values with the best and the worst order of tied documents.
    tied
        Proportion of the retrieved documents that are tied with another one of the same topic.
    """

    measure: str
    system: str
    effect: float
    tied: float


def tie_effects(judged: JudgedRuns, scores: Mapping[str, Scores]) -> list[TieEffect]:
    """Return the systems whose overall values can change through ties, the largest effect first.

    Documents are put in the best and in the worst order within each group of ties. For measures
    that never fall when a better document moves up (`Info.monotone`) the two scores are the bounds
    over all orders of tied documents. For other measures they are the scores of two possible
    orders. Measures that need more than grades by rank (intents, groups, lengths, the documents
    themselves, other systems) are not covered.
    """
    cells, *_, first, _ = judged.ties
    covered = {
        name: one.definition
        for name, one in scores.items()
        if isinstance(one.definition, Measure) and _depends_on_grades(one.definition)
    }
    depths = [np.inf if m.judged_only else m.deepest or np.inf for m in covered.values()]
    systems = np.unique(cells[first <= max(depths, default=0)] // len(judged.topics))
    if not systems.size:
        return []
    orders = tuple(_extreme_orders(judged))
    effects = np.array([_effect(scores[name], one, orders) for name, one in covered.items()])
    largest, measures = effects.max(axis=0), effects.argmax(axis=0)
    tied = [one.tied for one in judged.coverage.systems]
    retrieved = judged.retrieved.sum(axis=0).clip(1)
    found = [
        TieEffect(
            *([*covered][measures[k]], judged.systems[k]),
            *(float(largest[k]), tied[k] / int(retrieved[k])),
        )
        for k in systems
    ]
    return sorted(found, key=lambda one: -one.effect)


def _depends_on_grades(measure: Measure) -> bool:
    """Return True if grades by rank are enough to score a run."""
    info = measure.info
    needs_more = info.inputs or info.others or info.beyond_grades == BY_DOCUMENT
    return measure.reads is JudgedRuns and not needs_more


def _extreme_orders(judged: JudgedRuns) -> Iterator[JudgedRuns]:
    """Yield the runs with tied documents by falling grade (best), then by rising grade (worst)."""
    cell, rank, grade, first, size = judged.ties
    rows = judged.documents
    keys = rows.cell << 32 | rows.rank
    at, found = places_in(keys, cell << 32 | rank)
    others = np.delete(np.arange(keys.size), at[found])
    # Rows of a group are next to each other, in order of falling grade.
    begin = np.flatnonzero(np.diff(cell << 32 | first, prepend=-1))
    before = np.arange(cell.size) - np.repeat(begin, np.diff(begin, append=cell.size))
    depth = judged.policies.depth or np.iinfo(np.int64).max
    for ranks in (first + before, first + size - 1 - before):
        kept = ranks <= depth
        new_keys = np.concatenate([keys[others], (cell << 32 | ranks)[kept]])
        order = np.argsort(new_keys, kind="stable")
        grades = np.concatenate([rows.grade[others], grade[kept]])[order]
        new_keys = new_keys[order]
        sources = np.concatenate([others, np.where(found, at, -1)[kept]])[order]
        documents = Rows(
            new_keys >> 32,
            new_keys & 0xFFFFFFFF,
            grades,
            rows.shape,
            # Documents from below the depth have no source row.
            source=None if (sources < 0).any() else (rows, sources),
        )
        yield replace(judged, documents=documents, ties=NO_TIES, views={})


def _effect(scores: Scores, measure: Measure, orders: Iterable[JudgedRuns]) -> Floats:
    """Return the difference between the largest and smallest overall values, by system."""
    values = np.stack([np.where(one.scored, measure.score(one), np.nan) for one in orders])
    low, high = (
        replace(scores, values=some).overall() for some in (values.min(axis=0), values.max(axis=0))
    )
    return np.asarray(np.nan_to_num(high - low))


def score_notes(judged: JudgedRuns, scores: Mapping[str, Scores]) -> list[str]:
    """Return notes on ties, topics without relevant documents, and the scale of grades."""
    return [*_ties(judged, scores), *_empty_topics(judged, scores), *_grades(judged, scores)]


def _ties(judged: JudgedRuns, scores: Mapping[str, Scores]) -> Iterator[str]:
    """Name the runs whose overall values ties can change the most."""
    effects = [one for one in tie_effects(judged, scores) if one.effect > TIE_EFFECT]
    worst = [
        f"{one.measure} of {quoted(one.system)} by up to {one.effect:.2g}"
        f" ({one.tied:.0%} of its documents are tied)"
        for one in effects[:MAX_RUNS]
    ]
    if more := effects[MAX_RUNS:]:
        worst.append(f"and results of {counted(len(more), 'more run')}")
    if effects:
        yield f"ties can change {'; '.join(worst)}"


def _empty_topics(judged: JudgedRuns, scores: Mapping[str, Scores]) -> Iterator[str]:
    """Report topics without a relevant document that count as 0 in an average."""
    measures: dict[int, list[str]] = {}
    for name, one in scores.items():
        level = lowest_relevant(one.definition)
        empty = judged.recall_base(level)[:, 0] == 0
        values = np.nan_to_num(one.values[empty])
        # All topics are empty if no judgment has the grade, which is reported on its own.
        counts = one.aggregate != "sum" and not one.lower_is_better and (one.values > 0).any()
        if empty.any() and not empty.all() and counts and not values.any():
            measures.setdefault(level, []).append(name)
    for level, names in measures.items():
        n_empty = int((judged.recall_base(level) == 0).sum())
        verb, count = ("has", "counts") if n_empty == 1 else ("have", "count")
        yield (
            f"{n_empty} of {counted(len(judged.topics), 'topic')} {verb} no document of grade"
            f" {level} or higher and {count} as 0 in {names_or_count(names, 'measure')}; an option"
            f" such as topics_with_grade={level} excludes them"
        )


def _grades(judged: JudgedRuns, scores: Mapping[str, Scores]) -> Iterator[str]:
    """Report the scale of grades of measures that depend on the highest grade."""
    names = [
        name
        for name, one in scores.items()
        if isinstance(one.definition, Measure) and one.definition.uses_highest_grade
    ]
    if names and judged.policies.max_grade is None:
        yield (
            f"{names_or_count(names, 'measure')}: the scale of grades is 0 to {judged.max_grade},"
            f" the highest that occurs; an option such as max_grade={judged.max_grade} fixes it"
        )
