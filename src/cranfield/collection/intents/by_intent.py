"""Judged runs as one intent sees them: every intent of a topic becomes a topic of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.collection.intents.judged_intents import Intents
from cranfield.collection.judged.judged_runs import Annotations, JudgedRuns
from cranfield.collection.judged.judgments import Judgments
from cranfield.collection.judged.rows import Rows


@dataclass(frozen=True, eq=False)
class ByIntent:
    """Judged runs whose topics are the intents of all topics, one after the other.

    `topic` (an index), `probability`, which is Pr(intent | topic), and `navigational` are of shape
    (intents,); `topics` is the number of topics.
    """

    judged: JudgedRuns
    topic: Ints
    probability: Floats
    navigational: NDArray[np.bool_]
    topics: int

    def total(self, values: Floats) -> Floats:
        """Sum a value of each intent and system over the intents of each topic."""
        out = np.zeros((self.topics, values.shape[1]))
        np.add.at(out, self.topic, values)
        return out


def by_intent(judged: JudgedRuns, name: str, rel: int = 1) -> ByIntent:
    """Judge the runs by each intent alone; `name` is the measure that needs it.

    A document that is judged for a topic, but not for one of its intents, counts as judged not
    relevant to that intent. Which documents are unjudged is the same for all intents.
    """
    key = ("by intent", max(rel, 1))
    return judged.view(key, lambda: _by_intent(judged, judged.intents(name, rel)))


def _by_intent(judged: JudgedRuns, intents: Intents) -> ByIntent:
    topic, place = np.nonzero(intents.exists)
    number = np.full(intents.exists.shape, -1, dtype=np.int64)
    number[topic, place] = np.arange(topic.size)
    shape = (topic.size, judged.shape[1])
    documents, judgments = judged.documents, judged.judgments
    low = judgments.judged_from

    def seen(grade: NDArray[np.int32], of_topic: Ints) -> Ints:
        """Grades for one intent; a document that is unjudged for the topic stays so."""
        return np.where(of_topic < low, of_topic, np.where(grade < low, 0, grade)).astype(np.int64)

    def spread(cell: Ints) -> tuple[Ints, Ints, Ints]:
        """Repeat rows of (system, topic) for each intent; their number, cell and intent."""
        rows, places = np.nonzero(intents.exists[cell % judged.shape[0]])
        new = number[cell[rows] % judged.shape[0], places]
        new += cell[rows] // judged.shape[0] * topic.size
        order = np.argsort(new, kind="stable")
        return rows[order], new[order], places[order]

    rows, cell, places = spread(documents.cell)
    grade = seen(intents.grade[documents.judgment[rows], places], documents.grade[rows])
    of_documents = Rows(cell, documents.rank[rows], grade, shape)
    rows, cell, places = spread(judgments.topic)
    grade = seen(intents.grade[rows, places], judgments.grade[rows])
    order = np.lexsort((-grade, cell))
    annotations = Annotations()
    lengths = judged.annotations.lengths
    if lengths is not None:
        kept, at, _ = spread(lengths.cell)
        annotations = Annotations(
            Rows(at, lengths.rank[kept], lengths.grade[kept], shape, lengths.gains[kept])
        )
    labels = [
        f"{judged.topics[t]}/{intents.names[t][p]}" for t, p in zip(topic, place, strict=True)
    ]
    by = replace(
        judged,
        topics=tuple(labels),
        documents=of_documents,
        retrieved=judged.retrieved[topic],
        judgments=Judgments(topic.size, cell[order], grade[order], low, judgments.max_grade),
        scored=judged.scored[topic],
        annotations=annotations,
        views={},
    )
    probability, navigational = (
        intents.probability[topic, place],
        intents.navigational[topic, place],
    )
    return ByIntent(by, topic, probability, navigational, judged.shape[0])
