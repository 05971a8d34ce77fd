"""Intents of judged topics: which documents answer which of the things that a query may mean."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import InputError, quoted
from cranfield.collection.intents.probabilities import IntentTable
from cranfield.collection.qrels import Qrels, topic_order


@dataclass(frozen=True, eq=False)
class Intents:
    """Grades by intent. Topics have up to n intents, each a place from 0 on.

    names: the intents of each topic, in order; those without a relevant document are left out.
    exists: whether a topic has an intent in this place; shape (topics, n).
    probability: Pr(intent | topic), 0 where there is none; shape (topics, n). They add up to 1
        if none were given, else to what was given for the intents that have a relevant
        document.
    navigational: whether it is a navigational intent; shape (topics, n).
    grade: grade of each judgment for each intent, 0 where it is not judged for it; shape
        (judgments, n).
    order: place of each judgment's document id among all, for ties; shape (judgments,).
    given: whether the probabilities were given.
    """

    names: tuple[tuple[str, ...], ...]
    exists: NDArray[np.bool_]
    probability: Floats
    navigational: NDArray[np.bool_]
    grade: NDArray[np.int32]
    order: Ints
    given: bool = False

    @property
    def count(self) -> Ints:
        return np.asarray(self.exists.sum(axis=1)[:, None])

    def relevant(self, rel: int, topic: Ints) -> Intents:
        """Leave out the intents of which no document has a grade of at least `rel`."""
        if rel <= 1:
            return self
        best = np.zeros(self.exists.shape, dtype=self.grade.dtype)
        np.maximum.at(best, topic, self.grade)
        exists = self.exists & (best >= rel)
        left = np.maximum(exists.sum(axis=1), 1)[:, None]
        likely = self.probability if self.given else 1.0 / left
        return replace(self, exists=exists, probability=np.where(exists, likely, 0.0))

    def of_topics(self, codes: Ints, judgments: Ints) -> Intents:
        """Put topics and judgments in another order; topic -1 is one without judgments."""
        known = codes >= 0
        return replace(
            self,
            names=tuple(self.names[code] if code >= 0 else () for code in codes.tolist()),
            exists=self.exists[codes] & known[:, None],
            probability=np.where(known[:, None], self.probability[codes], 0.0),
            navigational=self.navigational[codes] & known[:, None],
            grade=self.grade[judgments],
            order=self.order[judgments],
        )


def intents_of(qrels: Qrels, flat: Qrels, table: IntentTable | None) -> Intents:
    """Lay out the grades by intent, in the order of the flat judgments."""
    if qrels.subtopics is None:
        raise InputError("says nothing of subtopics", source=qrels.origin.name)
    relevant = qrels.grades >= 1
    found: dict[int, list[str]] = {}
    pairs = dict.fromkeys(
        zip(qrels.codes[relevant].tolist(), qrels.subtopics.filter(relevant), strict=True)
    )
    for code, name in pairs:
        found.setdefault(code, []).append(name)
    given = _given(table)
    size = max(1, *(len(names) for names in found.values())) if found else 1
    shape = (len(qrels.topics), size)
    exists, navigational = np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool)
    probability = np.zeros(shape)
    names: list[tuple[str, ...]] = []
    place: dict[tuple[int, str], int] = {}
    for code, topic in enumerate(qrels.topics):
        here = topic_order(found.get(code, []))
        for i, name in enumerate(here):
            place[code, name] = i
            if table is not None and (topic, name) not in given:
                raise InputError(
                    f"intent {quoted(name)} has relevant documents, but no probability",
                    source=table.name,
                    topic=topic,
                )
            probability[code, i], navigational[code, i] = given.get(
                (topic, name), (1.0 / len(here), False)
            )
        exists[code, : len(here)] = True
        names.append(tuple(here))
    asked, rows = flat.index.candidates(qrels.keys)
    true = (qrels.docs.gather(asked) == flat.docs.gather(rows)).to_numpy()
    true &= qrels.codes[asked] == flat.codes[rows]
    asked, rows = asked[true], rows[true]
    wanted = zip(qrels.codes[asked].tolist(), qrels.subtopics.gather(asked), strict=True)
    column = np.array([place.get(pair, -1) for pair in wanted], dtype=np.int64)
    grade = np.zeros((len(flat), size), dtype=np.int32)
    kept = column >= 0
    grade[rows[kept], column[kept]] = qrels.grades[asked[kept]]
    order = np.empty(len(flat), dtype=np.int64)
    order[flat.docs.arg_sort().to_numpy()] = np.arange(len(flat))
    return Intents(tuple(names), exists, probability, navigational, grade, order, table is not None)


def _given(table: IntentTable | None) -> dict[tuple[str, str], tuple[float, bool]]:
    if table is None:
        return {}
    keys = zip(table.topics, table.intents, strict=True)
    values = zip(table.probabilities.tolist(), table.navigational.tolist(), strict=True)
    return dict(zip(keys, values, strict=True))
