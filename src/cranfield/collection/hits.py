"""The judged documents of a run: at which rank, and with which grade."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from cranfield.base.arrays import Ints
from cranfield.collection.judged.ranking import Order
from cranfield.collection.judged.rows import Later
from cranfield.collection.keys import Codes
from cranfield.collection.pairs import Listed
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run


class Hits(NamedTuple):
    """Judged documents of a run, in no order; `topic` is that of the judgments.

    `source` is where each one's judgment stands.
    """

    rank: Ints
    topic: Ints
    grade: Ints
    source: Ints | Later


def hits_of(run: Run, qrels: Qrels, order: Order) -> Hits:
    """Find the judged documents of a run, which is in some order."""
    if isinstance(run, Listed) and isinstance(qrels, Listed) and run.comparable(qrels):
        hits = _looked_up(run, qrels, order)
        if hits is not None:
            return hits
    asked, found = qrels.find(run)
    topic, grade = (column[found].astype(np.int64) for column in (qrels.codes, qrels.grades))
    return Hits(order.ranks_of(asked), topic, grade, found)


def _looked_up(run: Listed, qrels: Listed, order: Order) -> Hits | None:
    """Look up scores and grades in the dicts; ranks follow from scores, where these do not tie.

    None where that would be more work than to find rows.
    """
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
    listed, codes_of_rows = qrels.listed, qrels.codes
    return Hits(ranks, topic, grades, Later(lambda: _rows(codes_of_rows, listed, topic, docs)))


def _values(rows: Listed, codes: Iterable[int], docs: Iterable[Iterable[str]]) -> Iterator[Any]:
    """What dicts of some topics have of the documents of each."""
    return chain.from_iterable(map(map, [rows.inside[code].__getitem__ for code in codes], docs))


def _rows(codes: Codes, listed: Sequence[str], topic: Ints, docs: Sequence[str]) -> Ints:
    """Find the judgments of documents, each of a topic."""
    pairs = zip(codes.tolist(), listed, strict=True)
    row_of = dict(zip(pairs, range(len(listed)), strict=True))
    asked = zip(topic.tolist(), docs, strict=True)
    return np.fromiter(map(row_of.__getitem__, asked), dtype=np.int64, count=len(docs))
