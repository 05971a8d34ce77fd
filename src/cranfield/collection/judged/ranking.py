"""From scores to ranks, under an explicit policy for ties."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Indices, Ints
from cranfield.base.errors import InputError, check_choice
from cranfield.collection.judged.rows import Later
from cranfield.collection.keys import spread
from cranfield.collection.pairs import Listed
from cranfield.collection.policies import TIES
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run

Key = NDArray[np.floating[Any]]
Places = NDArray[np.integer[Any]]

_BY_ROW = {"input", "rank"}
"""The policies that leave tied documents in the order of the input."""

_SMALL = 8
"""Documents of a group of ties, on average, that are sooner compared in pairs than sorted."""

_PAIRS = 1 << 20
"""Pairs that are compared at a time, at the most, so that memory stays bounded."""

_BLOCK = 1 << 16
"""Rows counted at a time."""

_WASTE = 4
"""Sorting in a padded matrix pays while it has at most this many times the cells needed."""


@dataclass(frozen=True, eq=False)
class Order:
    """The order of a run's documents, topic by topic; ties are settled on request.

    run: the run that is ordered.
    ties: the policy for ties.
    counts: documents of each topic; shape (topics,).
    tied: how many documents share their score with another of the same topic.
    contradictions: how many neighbours among the scores of a topic have a document each whose rank
        numbers say the opposite.
    """

    run: Run
    ties: str
    counts: NDArray[np.int64]
    tied: int
    contradictions: int
    # Row numbers with tied documents side by side, in any order; None when the rows stand so.
    _unsettled: Indices | None
    # Where each row is in that order; None when it is not known, or the rows stand so.
    _places: Places | None
    # Whether the document at each place ties with the next one.
    _equal: NDArray[np.bool_]
    # What the order is by, in that order, falling in each topic.
    _ordered: Key

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where each topic begins in the order; shape (topics,)."""
        return np.cumsum(self.counts) - self.counts

    @cached_property
    def rows(self) -> Indices:
        """Row numbers by topic code, best document first."""
        if self._unsettled is None:
            rows = np.arange(self._equal.size, dtype=np.intp)
        else:
            rows = self._unsettled.copy()
        # The first of each group stands for it.
        asked = np.flatnonzero(self._equal & ~np.roll(self._equal, 1))
        if asked.size:
            places, by_policy = self._settled(*self._groups(asked))
            rows[places] = rows[places][by_policy]
        return rows

    def ranks_of(self, rows: Indices) -> NDArray[np.int64]:
        """Ranks of some rows within their topics, from 1."""
        places = rows.astype(np.int64)
        if self._places is not None:
            places = self._places[rows].astype(np.int64)
        elif self._unsettled is not None:
            place_of = np.empty(self._unsettled.size, dtype=np.int64)
            place_of[self._unsettled] = np.arange(self._unsettled.size)
            places = place_of[rows]
        tied = np.flatnonzero(self._equal[places] | self._equal[places - 1])
        if tied.size:
            firsts, sizes = self._groups(places[tied])
            if self._few(sizes):
                places[tied] = firsts + self._before(places[tied], firsts, sizes)
            else:
                firsts, one = np.unique(firsts, return_index=True)
                among, by_policy = self._settled(firsts, sizes[one])
                settled = np.empty_like(among)
                settled[by_policy] = among
                places[tied] = settled[np.searchsorted(among, places[tied])]
        return places - self.starts[self.run.codes[rows]] + 1

    def ranks_by(
        self, codes: Indices, scores: NDArray[np.float64], docs: Sequence[str]
    ) -> NDArray[np.int64] | None:
        """Rank documents by topic, score, and id where tied; None where that takes their rows."""
        if self.ties in _BY_ROW or self.ties == "file":
            return None
        with np.errstate(over="ignore"):
            keys = scores.astype(self._ordered.dtype)
        first = self._bisected(codes, keys, np.greater)
        tied = np.flatnonzero(self._equal[first])
        if tied.size:
            firsts = first[tied]
            sizes = self._bisected(codes[tied], keys[tied], np.greater_equal) - firsts
            if not self._few(sizes):
                return None
            own = pl.Series([*map(docs.__getitem__, tied.tolist())], dtype=pl.String)
            first[tied] += self._before([own], firsts, sizes)
        return first - self.starts[codes] + 1

    def _bisected(self, codes: Indices, keys: Key, before: np.ufunc) -> NDArray[np.int64]:
        """Where in its topic each of some keys begins, or ends; the topics have them."""
        low, last = self.starts[codes], self._ordered.size - 1
        high = low + self.counts[codes]
        for _ in range(int(self.counts.max()).bit_length()):
            middle = (low + high) >> 1
            beyond = before(self._ordered[np.minimum(middle, last)], keys) & (middle < high)
            low, high = np.where(beyond, middle + 1, low), np.where(beyond, high, middle)
        return low

    def tied_rows(self, codes: Indices, ranks: Indices, grades: Indices) -> NDArray[np.int64]:
        """Return the judged documents whose order within their group of ties can change a score.

        Parameters are the topic codes, ranks and grades of all judged documents. Returns their row
        numbers, and the first rank and the size of their group, as an array of shape (3, rows) in
        order of group and falling grade. Groups of documents of a single grade are excluded.
        """
        places = self.starts[codes] + ranks - 1
        rows = np.flatnonzero(self._equal[places] | self._equal[places - 1])
        firsts, sizes = self._groups(places[rows])
        order = np.lexsort((-grades[rows], firsts))
        rows, firsts, sizes = rows[order], firsts[order], sizes[order]
        begin = np.flatnonzero(np.diff(firsts, prepend=-1))
        n_judged = np.diff(begin, append=rows.size)
        highest, lowest = grades[rows[begin]], grades[rows[begin + n_judged - 1]]
        mixed = np.repeat((highest > lowest) | (n_judged < sizes[begin]), n_judged)
        first_ranks = firsts - self.starts[codes[rows]] + 1
        return np.stack([rows, first_ranks, sizes])[:, mixed]

    @staticmethod
    def _few(sizes: Indices) -> bool:
        """Whether groups of these sizes are sooner compared in pairs than sorted."""
        return bool(sizes.sum() <= min(_SMALL * sizes.size, _PAIRS))

    def _groups(self, places: Indices) -> tuple[Indices, Indices]:
        """Where the group of equal documents begins that each place is in, and its size."""
        lasts = np.flatnonzero(~self._equal)
        group = np.searchsorted(lasts, places)
        firsts = np.where(group > 0, lasts[group - 1] + 1, 0)
        return firsts, lasts[group] - firsts + 1

    def _at(self, places: Indices) -> Indices:
        return places if self._unsettled is None else self._unsettled[places]

    def _before(
        self, own: Indices | list[Any], firsts: Indices, sizes: Indices
    ) -> NDArray[np.int64]:
        """Count the documents of each group before one of its own, given by place or by columns."""
        asked, places = spread(np.arange(firsts.size), firsts, sizes)
        rows = self._at(places)
        group = [rows] if self.ties in _BY_ROW else self.run.ordering(rows)
        if not isinstance(own, list):
            itself = np.flatnonzero(places == own[asked])
            own = [column[itself] for column in group]
        own = [column[asked] for column in own]
        rising = self.ties in {*_BY_ROW, "id-ascending"}
        before = _smaller(group, own) if rising else _smaller(own, group)
        return np.bincount(asked[before], minlength=firsts.size)

    def _settled(self, firsts: Indices, sizes: Indices) -> tuple[Indices, Indices]:
        """Put groups in order: their places, and which of the documents there belongs at each."""
        group, places = spread(np.arange(firsts.size), firsts, sizes)
        rows = self._at(places)
        if self.ties in _BY_ROW:
            return places, np.lexsort((rows, group))
        docs = {f"doc {place}": column for place, column in enumerate(self.run.ordering(rows))}
        falling = [False, *[self.ties != "id-ascending"] * len(docs)]
        order = (
            pl.DataFrame({"group": group, **docs})
            .select(pl.arg_sort_by("group", *docs, descending=falling))
            .to_series()
        )
        return places, order.to_numpy()


def _smaller(some: list[Any], others: list[Any]) -> NDArray[np.bool_]:
    """Compare rows of columns, the first of which counts first."""
    smaller, same = np.zeros(len(some[0]), dtype=bool), np.ones(len(some[0]), dtype=bool)
    for one, other in zip(some, others, strict=True):
        smaller |= same & np.asarray(one < other)
        same &= np.asarray(one == other)
    return smaller


def order_of(run: Run, ties: str) -> Order:
    """Order the documents of each topic."""
    check_choice("ties", ties, TIES)
    key, codes = _key(run, ties), run.codes
    counts = _counts(codes, len(run.topics))
    for guess in _orders(run, key, counts):
        unsettled, places = guess
        if unsettled is not None:
            topics = np.arange(counts.size, dtype=codes.dtype)
            ordered, codes = key[unsettled], np.repeat(topics, counts)
        else:
            ordered = key
        same = codes[1:] == codes[:-1]
        # Codes count up in order of appearance, unless rows were left out of the run.
        wrong = (codes[1:] < codes[:-1]) | (same & (ordered[1:] > ordered[:-1]))
        if not wrong.any():
            break
    equal = np.zeros(codes.size, dtype=bool)
    np.logical_and(same, ordered[1:] == ordered[:-1], out=equal[:-1])
    # Ranks that number the documents in this order go up with it.
    backwards = (
        0
        if places is not None
        else _contradictions(run, unsettled, equal[:-1], same=same, ties=ties)
    )
    tied = int(np.count_nonzero(equal | np.roll(equal, 1)))
    return Order(run, ties, counts, tied, backwards, unsettled, places, equal, ordered)


def _key(run: Run, ties: str) -> Key:
    """Return what decides the order, higher first: the scores, or what stands for them."""
    if ties == "rank":
        if run.ranks is None:
            raise InputError("has no rank column to order by", source=run.origin.name)
        if run.unranked is not None and run.unranked.any():
            row = int(run.unranked.argmax())
            topic, doc = run.topics[int(run.codes[row])], run.docs[row]
            reason = "the rank is not an integer, and ranks decide the order (ties='rank')"
            raise run.origin.wrong(reason, row, topic, doc)
        return -run.ranks.astype(np.float64)
    if ties == "file":
        return -np.arange(len(run), dtype=np.float64)
    if ties == "trec_eval-9":
        with np.errstate(over="ignore"):
            return run.scores.astype(np.float32)
    return run.scores


def _orders(
    run: Run, key: Key, counts: NDArray[np.int64]
) -> Iterator[tuple[Indices | None, Places | None]]:
    """Guess the order of rows, and the place of each: as they stand, as numbered; then sort."""
    yield None, None
    numbered = _as_numbered(run, counts)
    if numbered is not None:
        yield numbered
    yield _sorted_rows(run.codes, -key, counts), None


def _as_numbered(run: Run, counts: NDArray[np.int64]) -> tuple[Indices, Places] | None:
    """Order rows by their ranks where these number the documents of each topic without a gap."""
    if run.ranks is None:
        return None
    lowest, highest = int(run.ranks.min()), int(run.ranks.max())
    size = run.ranks.size
    if highest - lowest >= counts.max():
        return None
    rows = np.full(size, -1, dtype=np.intp)
    width: Any = np.int32 if 2 * size <= np.iinfo(np.int32).max else np.int64
    places: Places = (np.cumsum(counts) - counts - lowest).astype(width)[run.codes]
    places += run.ranks
    if places.max() >= size:
        return None
    # No topic reaches before its own places. Where each place is taken once, none has others: the
    # last topic fills its own, then the one before it.
    rows[places] = np.arange(size)
    return (rows, places) if (rows >= 0).all() else None


def _counts(codes: NDArray[np.int32], topics: int) -> NDArray[np.int64]:
    """Count the rows of each topic; by blocks, since NumPy makes 64 bits of what it counts."""
    counts = np.zeros(topics, dtype=np.int64)
    block = max(_BLOCK, topics)
    for start in range(0, codes.size, block):
        counts += np.bincount(codes[start : start + block], minlength=topics)
    return counts


def _sorted_rows(codes: NDArray[np.int32], key: Key, counts: NDArray[np.int64]) -> Indices:
    """Sort by topic, then key."""
    by_topic = _stable_by_code(codes, counts.size)
    width = int(counts.max())
    if width * counts.size > _WASTE * codes.size:
        # Few long topics among many short ones: a matrix would be mostly padding.
        order = by_topic[np.argsort(key[by_topic], kind="stable")]
        return order[_stable_by_code(codes[order], counts.size)]
    padded = np.full((counts.size, width), np.inf)
    filled = np.arange(width) < counts[:, None]
    padded[filled] = key[by_topic]
    within = np.argsort(padded, axis=1, kind="stable")
    starts = (np.cumsum(counts) - counts)[:, None]
    out: Indices = by_topic[(starts + within)[filled]]
    return out


def _stable_by_code(codes: NDArray[np.int32], topics: int) -> Indices:
    """Sort small integers stably; 16 bits at a time NumPy does it by counting."""
    low = np.argsort(codes.astype(np.uint16), kind="stable")
    if topics <= 1 << 16:
        return low
    return low[np.argsort((codes[low] >> 16).astype(np.uint16), kind="stable")]


def _contradictions(
    run: Run,
    permutation: Indices | None,
    equal: NDArray[np.bool_],
    *,
    same: NDArray[np.bool_],
    ties: str,
) -> int:
    """Count where ranks go back from documents of one score to those of the next lower one."""
    if run.ranks is None or ties in {"rank", "file"}:
        return 0
    first = last = run.ranks if permutation is None else run.ranks[permutation]
    backwards = same & (first[1:] < last[:-1])
    if backwards.any() and equal.any():
        # Whatever the order of the lines, all of equal score come before all of the next score.
        starts = np.flatnonzero(np.r_[True, ~equal])
        first, last = np.minimum.reduceat(first, starts), np.maximum.reduceat(last, starts)
        backwards = same[starts[1:] - 1] & (first[1:] < last[:-1])
    return int(np.count_nonzero(backwards))


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
