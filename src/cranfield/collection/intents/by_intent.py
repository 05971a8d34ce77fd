"""Judged runs as one intent sees them: every intent of a topic becomes a topic of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.collection.intents.judged_intents import Intents
from cranfield.collection.judged.judged_runs import Annotations, JudgedRuns
from cranfield.collection.judged.judgments import Judgments
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import ranges

BLOCK = 2**19
"""Rows and judgments by intent that are held at a time, more only for one intent alone."""


@dataclass(frozen=True, eq=False)
class ByIntent:
    """Judged runs whose topics are intents of all topics, or some of them, one after the other.

    `topic` (an index), `probability`, which is Pr(intent | topic), and `navigational` are of shape
    (intents,).
    """

    judged: JudgedRuns
    topic: Ints
    probability: Floats
    navigational: NDArray[np.bool_]


def by_intent(judged: JudgedRuns, name: str, rel: int = 1) -> Iterator[ByIntent]:
    """Judge the runs by each intent alone, some intents at a time; `name` is the measure."""
    intents = judged.intents(name, rel)
    topic, place = np.nonzero(intents.exists)
    judgments = np.bincount(judged.judgments.topic, minlength=judged.shape[0])
    rows = judged.documents.count.sum(axis=1) + judgments
    part = (np.cumsum(rows[topic]) - 1) // BLOCK
    if not part.size or part[-1] == 0:
        key = ("by intent", max(rel, 1))
        yield judged.view(key, lambda: _by_intent(judged, intents, topic, place))
        return
    starts = np.flatnonzero(np.diff(part, prepend=-1))
    for some in np.split(np.arange(topic.size), starts[1:]):
        yield _by_intent(judged, intents, topic[some], place[some])


def expected_by_intent(
    judged: JudgedRuns, name: str, rel: int, score: Callable[[ByIntent], Floats]
) -> Floats:
    """Mean over the intents of each topic, by how likely they are; shape (topics, systems)."""
    out = np.zeros(judged.shape)
    for part in by_intent(judged, name, rel):
        np.add.at(out, part.topic, part.probability[:, None] * score(part))
    return out


def _by_intent(judged: JudgedRuns, intents: Intents, topic: Ints, place: Ints) -> ByIntent:
    shape = (topic.size, judged.shape[1])
    documents, judgments = judged.documents, judged.judgments
    low = judgments.judged_from
    # The judgments of each intent are those of its topic, in order.
    first = np.searchsorted(judgments.topic, topic, "left")
    of, judgment = ranges(first, np.searchsorted(judgments.topic, topic, "right"))
    begins = np.searchsorted(of, np.arange(topic.size))
    grade = np.zeros(of.size, dtype=np.int64)
    number = np.full(intents.exists.shape, -1, dtype=np.int64)
    number[topic, place] = np.arange(topic.size)
    some = np.flatnonzero(np.isin(judgments.topic, topic))
    which, entry = intents.entries(some)
    which = some[which]
    intent = number[judgments.topic[which], intents.place[entry]]
    here = intent >= 0
    which, entry, intent = which[here], entry[here], intent[here]
    graded = intents.grade[entry]
    grade[begins[intent] + which - first[intent]] = np.where(graded < low, 0, graded)
    if judgments.grade.min(initial=0) < low:
        # A document that is unjudged for the topic stays so.
        unjudged = judgments.grade[judgment] < low
        grade[unjudged] = judgments.grade[judgment[unjudged]]

    def spread(rows: Rows) -> tuple[Ints, Ints]:
        """Repeat rows of (system, topic) for each intent: their new cells, and their numbers."""
        cell = (np.arange(shape[1])[:, None] * judged.shape[0] + topic).ravel()
        return ranges(rows.starts[cell], rows.starts[cell] + rows.sizes[cell])

    cell, rows = spread(documents)
    intent = cell % topic.size
    seen = grade[documents.judgment[rows] + (begins - first)[intent]]
    annotations = Annotations()
    lengths = judged.annotations.lengths
    if lengths is not None:
        at, kept = spread(lengths)
        annotations = Annotations(
            Rows(at, lengths.rank[kept], lengths.grade[kept], shape, lengths.gains[kept])
        )
    labels = [
        f"{judged.topics[t]}/{intents.names[t][p]}" for t, p in zip(topic, place, strict=True)
    ]
    by = replace(
        judged,
        topics=tuple(labels),
        documents=Rows(cell, documents.rank[rows], seen, shape),
        retrieved=judged.retrieved[topic],
        judgments=Judgments(topic.size, of, _falling(of, grade, begins), low, judgments.max_grade),
        scored=judged.scored[topic],
        annotations=annotations,
        views={},
    )
    return ByIntent(
        by, topic, intents.probability[topic, place], intents.navigational[topic, place]
    )


def _falling(of: Ints, grade: Ints, begins: Ints) -> Ints:
    """Put the grades of each intent in falling order; most of them are 0, and need no sorting."""
    some = np.flatnonzero(grade)
    some = some[np.lexsort((-grade[some], of[some]))]
    counts = np.bincount(of[some], minlength=begins.size)
    sizes = np.diff(begins, append=of.size)
    place = np.arange(some.size) - np.repeat(np.cumsum(counts) - counts, counts)
    # Zeros stand between the grades above and below them.
    place += np.where(grade[some] < 0, np.repeat(sizes - counts, counts), 0)
    out = np.zeros_like(grade)
    out[place + begins[of[some]]] = grade[some]
    return out
