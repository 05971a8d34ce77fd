"""Session DCG: gains of the lists of several queries, discounted by rank and by query."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows
from cranfield.collection.judged.segments import ratio
from cranfield.measures.base import measure
from cranfield.measures.gains import OfGains, ideal
from cranfield.measures.parameters import choice, integer, number, optional, parameter

_BASE = number(1, open_low=True)

# It is an alias of scaled DCG, SDCG, as well; the field means session DCG by it.


@dataclass(frozen=True, eq=False)
class Lists:
    """The result lists of sessions, as they stand in the concatenated ranking."""

    cell: Ints  # the (system, session) of each list, as one number
    query: Ints  # number of its query, from 1
    before: Ints  # how many documents of the concatenated ranking stand before it
    length: Ints  # how many documents it has


def lists_of(queries: Rows) -> tuple[Lists, Ints]:
    first = np.ones(queries.cell.size, dtype=bool)
    first[1:] = (queries.cell[1:] != queries.cell[:-1]) | (queries.grade[1:] != queries.grade[:-1])
    start = np.flatnonzero(first)
    length = np.diff(np.append(start, first.size))
    before = queries.rank[start] - 1
    lists = Lists(queries.cell[start], queries.grade[start], before, length)
    return lists, np.cumsum(first, dtype=np.int64) - 1


def first_of_each(rows: Rows) -> NDArray[np.bool_]:
    """Tell which rows hold a document that its session has not had before."""
    key = (rows.cell << 32) | rows.judgment
    out = np.zeros(key.size, dtype=bool)
    out[np.unique(key, return_index=True)[1]] = True
    return out


class SessionDiscounted(OfGains):
    """Sums of gains discounted by rank and query: what sDCG and nsDCG share."""

    b: float = parameter(2.0, _BASE, "base of the logarithm of ranks: the patience to read on")
    bq: float = parameter(4.0, _BASE, "base of the logarithm of queries: the patience to ask again")
    variant: str = parameter(
        "kanoulas",
        choice("kanoulas", "jarvelin", "jiang"),
        "'kanoulas': ranks of the concatenated list, log(r + b - 1) and log(q + bq - 1);"
        " 'jiang': the same with ranks of each query's list;"
        " 'jarvelin': ranks of each query's list, 1 + log(r) and 1 + log(q)",
    )

    def discount(self, query: Ints, rank: Ints, within: Ints) -> Floats:
        if self.variant == "jarvelin":
            out: Floats = (1.0 + _log(query, self.bq)) * (1.0 + _log(within, self.b))
        else:
            at = rank if self.variant == "kanoulas" else within
            out = _log(query + (self.bq - 1.0), self.bq) * _log(at + (self.b - 1.0), self.b)
        return out

    def sum(self, judged: JudgedRuns, *, once: bool = False) -> Floats:
        """Sum of discounted gains; `once` gives a document that comes again no gain."""
        rows = judged.judged()
        worth = self.gains.of(rows.grade)
        if once:
            worth = np.where(first_of_each(rows), worth, 0.0)
        queries = judged.queries(str(self))
        lists, of_row = lists_of(queries)
        # Every retrieved document has a query, so each key is found.
        at = np.searchsorted((queries.cell << 32) | queries.rank, (rows.cell << 32) | rows.rank)
        mine = of_row[at]
        within = rows.rank - lists.before[mine]
        return rows.total(worth / self.discount(lists.query[mine], rows.rank, within))


@measure(
    "sDCG",
    summary="Gains of a session's result lists, discounted by rank and by the number of queries.",
    formula=r"\sum_r \frac{g_r}{\log_{b_q}(q_r + b_q - 1) \, \log_b(r + b - 1)},"
    r" \quad b_q = 4, \; b = 2",
    source="Järvelin and others (2008)",
    parameter_sources={
        "variant='kanoulas'": "Kanoulas and others (2011)",
        "variant='jiang'": "Jiang and Allan (2016)",
    },
    range=(0.0, float("inf")),
    family="sessions",
    inputs=("queries",),
    needs="sessions of queries; graded judgments (binary ones do)",
    scale_note="not interval: a DCG whose discounts grow with the queries too",
    linear=True,
)
class SessionDCG(SessionDiscounted):
    r"""Session DCG.

    A session's lists are concatenated; :math:`r` is a rank in the whole, :math:`q_r` the number of
    the query that the document answers. With `variant='jarvelin'` the rank :math:`j` starts again
    with each list, and

    .. math:: \sum_q \frac{1}{1 + \log_{b_q} q} \sum_j \frac{g_{qj}}{1 + \log_b j},

    where a document of a later list may be worth more than one of an earlier list. A document that
    comes again gains again, unless duplicates were removed when the lists were concatenated. A
    grade below 0, such as -2 for spam, has no gain.

    Examples
    --------
    >>> from cranfield import evaluate_sessions
    >>> log = [("s1", 1, 1, "a"), ("s1", 2, 1, "b")]
    >>> rows = [dict(zip(("session", "query", "rank", "doc"), row)) for row in log]
    >>> scores = evaluate_sessions(rows, {"s1": {"a": 1, "b": 2}}, ["sDCG"], topics={"s1": "s1"})
    >>> float(scores["sDCG"].values[0, 0])  # 1 + 2 / (log4(5) log2(3))
    2.0869...
    """

    def values(self, judged: JudgedRuns) -> Floats:
        return self.sum(judged)


@measure(
    "nsDCG",
    summary="Session DCG over that of an ideal session.",
    formula=r"sDCG \,/\, \sum_r \frac{g^*_r}{\log_b(r + b - 1)}",
    source="Järvelin and others (2008)",
    parameter_sources={
        "variant='kanoulas'": "Kanoulas and others (2011)",
        "variant='jiang'": "Jiang and Allan (2016)",
        "ideal='single'": "Kanoulas and others (2011)",
    },
    family="sessions",
    inputs=("queries",),
    needs="sessions of queries; graded judgments (binary ones do)",
    scale_note="not interval; within a session's topic it is sDCG by a constant",
)
class NormalisedSessionDCG(SessionDiscounted):
    r"""Normalised session DCG; 0 for a session whose topic has no gain.

    With `ideal='single'` the ideal user finds all relevant documents in one list, best first, and
    never asks again; only the first occurrence of a document is rewarded, also where duplicates
    were kept. With `ideal='repeated'` the ideal session has an ideal list for each of its queries
    that found something, each as long as the real list or `depth`, and documents may come again and
    gain again.

    Scores are at most 1 with `variant='kanoulas'`. With ranks that start again in each list and a
    single ideal list they can be above 1: that is the flaw that the later definition mends.

    Examples
    --------
    >>> from cranfield.measures import parse_measure
    >>> import cranfield.sessions
    >>> parse_measure("nsDCG(ideal='repeated', variant='jarvelin')@20")
    nsDCG(ideal='repeated', variant='jarvelin')@20
    """

    ideal: str = parameter(
        "single", choice("single", "repeated"), "one ideal list, or one for each query"
    )
    depth: int | None = parameter(
        None,
        optional(integer(1)),
        "length of each repeated ideal list; by default that of the query's own list",
    )

    def values(self, judged: JudgedRuns) -> Floats:
        if self.ideal == "single":
            best = ideal(judged, self.gains)
            if self.cutoff is not None:
                best = best.where(best.rank <= self.cutoff)
            one = np.ones_like(best.rank)
            most = best.total(best.gains / self.discount(one, best.rank, best.rank))
            return ratio(self.sum(judged, once=True), most)
        return ratio(self.sum(judged), self._repeated(judged))

    def _repeated(self, judged: JudgedRuns) -> Floats:
        """Sum over ideal lists, one for each list of the session."""
        best = ideal(judged, self.gains)
        lists, _ = lists_of(judged.queries(str(self)))
        length, before = lists.length, lists.before
        if self.depth is not None:
            number = np.arange(length.size) - np.searchsorted(lists.cell, lists.cell)
            length, before = np.full_like(length, self.depth), number * self.depth
        if self.cutoff is not None:
            length = np.clip(self.cutoff - before, 0, length)
        topic = lists.cell % judged.shape[0]
        known = best.count[:, 0]
        taken = np.minimum(length, known[topic])
        each = np.repeat(np.arange(taken.size), taken)
        within = np.arange(each.size) - np.repeat(np.cumsum(taken) - taken, taken) + 1
        gains = best.gains[(np.cumsum(known) - known)[topic[each]] + within - 1]
        worth = gains / self.discount(lists.query[each], before[each] + within, within)
        return Rows(lists.cell[each], within, within, judged.shape).total(worth)


def _log(values: NDArray[Any], base: float) -> Floats:
    """Logarithm, exact where base and value are powers of 2."""
    out: Floats = np.log2(values) / np.log2(base)
    return out
