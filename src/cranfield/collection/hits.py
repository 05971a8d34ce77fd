"""The judged documents of a run: at which rank, and with which grade."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np

from cranfield.base.arrays import Ints
from cranfield.collection.judged.ranking import Order
from cranfield.collection.judged.rows import Later
from cranfield.collection.pairs import Listed
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run

_MANY = 8
"""Documents of a run for each judgment, from which on most of the run is better not looked at."""


class Hits(NamedTuple):
    """Judged documents of a run, in no order: topic and row (`source`) of the judgments."""

    rank: Ints
    topic: Ints
    grade: Ints
    source: Ints | Later


def hits_of(run: Run, qrels: Qrels, order: Order) -> Hits:
    """Find the judged documents of a run, which is in some order."""
    if isinstance(run, Listed) and isinstance(qrels, Listed) and run.comparable(qrels):
        if len(run.codes) <= _MANY * len(qrels.codes):
            return _of_each_row(run, qrels, order, unjudged=int(qrels.grades.min()) - 1)
        hits = _looked_up(run, qrels, order)
        if hits is not None:
            return hits
    asked, found = qrels.find(run)
    topic, grade = (column[found].astype(np.int64) for column in (qrels.codes, qrels.grades))
    return Hits(order.ranks_of(asked), topic, grade, found)


def _of_each_row(run: Listed, qrels: Listed, order: Order, *, unjudged: int) -> Hits:
    """Ask the judgments for every document of the run, once."""
    judged = qrels.codes_of(run.topics)
    of_topics = [qrels.inside[code] if code >= 0 else {} for code in judged.tolist()]
    answers = chain.from_iterable(map(_grades, of_topics, run.inside, repeat(unjudged)))
    grades = np.fromiter(answers, np.int64, len(run.codes))
    rows = np.flatnonzero(grades != unjudged)
    topic = judged[run.codes[rows]]
    found = Later(lambda: _rows(qrels, topic, [*map(run.listed.__getitem__, rows.tolist())]))
    return Hits(order.ranks_of(rows), topic, grades[rows], found)


def _grades(judged: Mapping[str, int], docs: Collection[str], unjudged: int) -> Iterator[int]:
    """Look up the grades of some documents."""
    if len(judged) <= _MANY * len(docs):
        # CPython keeps hashes beside the keys of a dict only where one of these is no text. With
        # them, ids that are scattered in memory are not looked at to find that they differ.
        beside: dict[str | None, int] = {None: unjudged}
        beside.update(judged)
        return map(beside.get, docs, repeat(unjudged))
    return map(judged.get, docs, repeat(unjudged))


def _looked_up(run: Listed, qrels: Listed, order: Order) -> Hits | None:
    """Look up grades by document, and ranks by score; None where finding rows is less work."""
    common = [*run.common(qrels)]
    if not common:
        return None
    topics, judged, found = zip(*common, strict=True)
    docs = tuple(chain.from_iterable(found))
    sizes = [*map(len, found)]
    codes, topic = (np.repeat(np.array(one, dtype=np.int64), sizes) for one in (topics, judged))
    scores = np.fromiter(_values(run, topics, found), np.float64, len(docs))
    ranks = order.ranks_by(codes, scores, docs)
    if ranks is None:
        return None
    grades = np.fromiter(_values(qrels, judged, found), np.int64, len(docs))
    return Hits(ranks, topic, grades, Later(lambda: _rows(qrels, topic, docs)))


def _values(rows: Listed, codes: Iterable[int], docs: Iterable[Iterable[str]]) -> Iterator[Any]:
    """What dicts of some topics have of the documents of each."""
    return chain.from_iterable(map(map, [rows.inside[code].__getitem__ for code in codes], docs))


def _rows(qrels: Listed, topic: Ints, docs: Sequence[str]) -> Ints:
    """Find the judgments of documents, each of a topic."""
    pairs = zip(qrels.codes.tolist(), qrels.listed, strict=True)
    row_of = dict(zip(pairs, range(len(qrels.listed)), strict=True))
    asked = zip(topic.tolist(), docs, strict=True)
    return np.fromiter(map(row_of.__getitem__, asked), dtype=np.int64, count=len(docs))
