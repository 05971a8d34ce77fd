"""Measures of sessions of several queries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import MeasureError
from cranfield.base.spec import check_parameter, choice, flag, integer, number, optional, parameter
from cranfield.base.text import list_some
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.rows import Rows, divide, join_ranges, number_rows, scan
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import (
    Gain,
    GainMeasure,
    allow_word,
    check_grade_gains,
    get_ideal_ranking,
    look_up_total,
)

_LENGTH = number(0)
_PROPORTION = number(0, 1)
_POSITIVE_NUMBER = number(0, excludes_low=True)


def click_u(
    queries: ArrayLike,
    ranks: ArrayLike,
    lengths: ArrayLike,
    *,
    gains: ArrayLike = 0.5,
    snippet: float = 200.0,
    proportion_read: float = 0.2,
    limit: float = 132_000.0,
) -> float:
    r"""Compute the click-based U-measure of one session, unnormalised; 0 without clicks.

    A click at rank r implies that the user has read the snippets of ranks 1 to r of the result
    list, each once, and then reads a proportion of the clicked document. Each click gains

    .. math:: g \, \max\left(0, 1 - \frac{pos}{L}\right),

    where :math:`pos` is the number of characters read so far, including the clicked document (Sakai
    2013, equations (19) and (20) and figure 9). A user may return to ranks above and to lists of
    earlier queries; snippets are not read again.

    Parameters
    ----------
    queries
        Number of the query of each click, in order of time; shape (clicks,).
    ranks
        Rank of each click, from 1.
    lengths
        Number of characters of each clicked document, or one number for all.
    gains
        Gain of each clicked document, or one number for all, by default (2^1 - 1) / 2^1.
    snippet
        Number of characters of a snippet.
    proportion_read
        F: the proportion of a clicked document that is read, from 0 to 1.
    limit
        L: the number of characters after which a document has no value.

    Raises
    ------
    MeasureError
        For numbers out of range or of another type, or lists of different lengths.

    Examples
    --------
    Clicks at rank 4 and then rank 2 of one list: four snippets and two documents are read.

    >>> click_u([1, 1], [4, 2], 5000)  # 0.5 (1 - 1800/132000) + 0.5 (1 - 2800/132000)
    0.98257...
    """
    query, rank = np.atleast_1d(np.asarray(queries)), np.atleast_1d(np.asarray(ranks))
    try:
        length = np.broadcast_to(np.asarray(lengths, dtype=np.float64), rank.shape)
        gain = np.broadcast_to(np.asarray(gains, dtype=np.float64), rank.shape)
    except (TypeError, ValueError):
        raise MeasureError(
            f"click_u: lengths and gains must be numbers, one for all or for each of {rank.size}"
            f" clicks, got {lengths!r:.60} and {gains!r:.60}"
        ) from None
    if rank.ndim != 1 or query.shape != rank.shape:
        raise MeasureError(
            "click_u: queries and ranks must be lists of equal length, with a number for each"
            f" click, got shapes {query.shape} and {rank.shape}"
        )
    if not rank.size:
        return 0.0
    if rank.dtype.kind not in "iu" or query.dtype.kind not in "iu" or rank.min() < 1:
        raise MeasureError(
            "click_u: queries and ranks must be integers, and ranks at least 1,"
            f" got {list_some(map(str, query), 3)} and {list_some(map(str, rank), 3)}"
        )
    if not (length >= 0).all() or not np.isfinite(length).all() or not np.isfinite(gain).all():
        raise MeasureError(
            "click_u: lengths must be finite and at least 0, and gains finite,"
            f" got {list_some(map(str, length), 3)} and {list_some(map(str, gain), 3)}"
        )
    snippet = check_parameter("click_u", "snippet", snippet, _LENGTH, MeasureError)
    proportion_read = check_parameter(
        "click_u", "proportion_read", proportion_read, _PROPORTION, MeasureError
    )
    limit = check_parameter("click_u", "limit", limit, _POSITIVE_NUMBER, MeasureError)
    cell = np.zeros(rank.size, dtype=np.int64)
    snippet_lengths = snippet * rank
    terms = _discount_clicks(
        cell, query, rank.astype(np.int64), snippet_lengths, proportion_read * length, gain, limit
    )
    return float(terms.sum())


def _discount_clicks(
    cell: Ints,
    query: Ints,
    rank: Ints,
    snippet_lengths: Floats,
    read_lengths: Floats,
    gains: Floats,
    limit: float,
) -> Floats:
    """Compute the discounted gain of each click; snippet lengths are summed down to its rank."""
    if not rank.size:
        return np.zeros(0)
    # Maximum clicked rank of each list so far, with the clicks sorted by list and time.
    order = np.lexsort((query, cell))
    is_new_list = (cell[order][1:] != cell[order][:-1]) | (query[order][1:] != query[order][:-1])
    offset = np.cumsum(np.append(0, is_new_list), dtype=np.int64) << 32
    max_rank = np.maximum.accumulate(offset | rank[order]) - offset
    previous_max_rank = np.append(0, max_rank[:-1])
    previous_max_rank[1:][is_new_list] = 0
    is_deeper = max_rank > previous_max_rank
    # The deepest click so far is the last one that was deeper than all earlier clicks of its list.
    deepest_click = np.maximum.accumulate(np.where(is_deeper, np.arange(rank.size), 0))
    previous_lengths = np.append(0.0, snippet_lengths[order][deepest_click][:-1])
    previous_lengths[previous_max_rank == 0] = 0.0
    new_lengths = np.empty(rank.size)
    new_lengths[order] = np.where(is_deeper, snippet_lengths[order] - previous_lengths, 0.0)
    pos = scan(new_lengths + read_lengths, number_rows(cell), np.add)
    return np.asarray(gains * np.maximum(0.0, 1.0 - pos / limit))


@measure(
    "ClickU",
    summary="Gains of the clicked documents of a session, discounted by the text read so far.",
    formula=r"\sum_{c} g_c \max\left(0, 1 - \frac{pos_c}{L}\right), \quad L = 132000",
    source="Sakai and Dou (2013)",
    range=(0.0, float("inf")),
    family="sessions",
    inputs=("clicks",),
    at_usage="none",
    needs="clicks in order of time; lengths of documents, or one length for all",
    scale_note="not known to be on an interval scale",
)
class ClickU(Measure):
    """Click-based U-measure, unnormalised; 0 for a session without clicks.

    The text read up to a click consists of the snippets of the result lists down to the clicked
    ranks, each once, and a proportion F of each clicked document. As in figure 9 of Sakai (2013), a
    document that is clicked again is read again and gains again; with `once=True` only its first
    click counts. Scores are computed by :func:`cranfield.evaluate_sessions`, which reads clicks.

    Examples
    --------
    >>> from cranfield.measures import parse_measure
    >>> import cranfield.sessions
    >>> parse_measure("ClickU(F=0.3, length=8000)")
    ClickU(F=0.3, length=8000)
    """

    gain: float = parameter(0.5, number(0), "gain of a clicked document")
    gains: Gain | None = parameter(
        None,
        optional(check_grade_gains),
        "gain of a clicked document by its grade, in place of `gain`: 'linear', 'exponential'"
        " (2^g - 1), or a mapping of grades to gains",
    )
    snippet: float | str = parameter(
        200.0,
        allow_word(_LENGTH, "own"),
        "number of characters of a snippet, or 'own': the length of each snippet in the log",
    )
    length: float | None = parameter(
        None,
        optional(_LENGTH),
        "number of characters to assume for documents without a known length, which by default are"
        " an error",
    )
    F: float = parameter(0.2, _PROPORTION, "proportion of a clicked document that is read")
    L: float = parameter(
        132_000.0, _POSITIVE_NUMBER, "number of characters after which a document has no value"
    )
    once: bool = parameter(False, flag, "whether a document counts at its first click only")

    def values(self, judged: JudgedRuns) -> Floats:
        clicks = judged.clicks(str(self))
        if self.judged_only:
            raise MeasureError(f"{self}: judged_only cannot be combined with clicks")
        is_counted = ~clicks.is_repeated if self.once else np.ones(clicks.cell.size, dtype=bool)
        length = clicks.length
        is_unknown = np.isnan(length) & is_counted
        if is_unknown.any():
            if self.length is None:
                raise MeasureError(
                    f"{self}: {is_unknown.sum():,} of {length.size:,} clicks are on documents"
                    " without a known length; pass lengths of documents, or set one length for"
                    " such documents by ClickU(length=...)"
                )
            length = np.where(np.isnan(length), self.length, length)
        if isinstance(self.snippet, str):
            snippet_lengths = clicks.snippet_length
        else:
            snippet_lengths = np.multiply(clicks.rank, self.snippet, dtype=float)
        if n_unknown := np.count_nonzero(np.isnan(snippet_lengths)):
            raise MeasureError(
                f"{self}: for {n_unknown:,} of {length.size:,} clicks the log has no lengths of"
                " snippets; set one length for all, such as snippet=200"
            )
        read_lengths = np.where(is_counted, self.F * length, 0.0)
        gain = self.gain if self.gains is None else self.gains.compute_gains(clicks.grade)
        gains = np.where(is_counted, gain, 0.0)
        terms = _discount_clicks(
            clicks.cell, clicks.query, clicks.rank, snippet_lengths, read_lengths, gains, self.L
        )
        return Rows(clicks.cell, clicks.rank, clicks.grade, judged.shape).total(terms)


_BASE = number(1, excludes_low=True)


@dataclass(frozen=True, eq=False)
class ResultLists:
    """The result lists of sessions, in the order of the concatenated ranking."""

    cell: Ints  # the (system, session) of each list, as one number
    query: Ints  # number of its query, from 1
    offset: Ints  # number of documents before it in the concatenated ranking
    length: Ints  # number of its documents


def split_lists(queries: Rows) -> tuple[ResultLists, Ints]:
    """Split concatenated rankings into result lists; also return the list index of each row."""
    # In these rows the grade is the number of the query.
    is_first = np.ones(queries.cell.size, dtype=bool)
    is_first[1:] = (np.diff(queries.cell) != 0) | (np.diff(queries.grade) != 0)
    start = np.flatnonzero(is_first)
    length = np.diff(np.append(start, is_first.size))
    offset = queries.rank[start] - 1
    lists = ResultLists(queries.cell[start], queries.grade[start], offset, length)
    return lists, np.cumsum(is_first, dtype=np.int64) - 1


def mask_first_occurrences(rows: Rows) -> NDArray[np.bool_]:
    """Return a mask of the first occurrence of each document in its session."""
    key = (rows.cell << 32) | rows.judgment
    is_first = np.zeros(key.size, dtype=bool)
    is_first[np.unique(key, return_index=True)[1]] = True
    return is_first


def cut_lists(judged: JudgedRuns, cutoff: int, *, is_condensed: bool, name: str) -> JudgedRuns:
    """Return sessions with the first documents of each list only; documents below move up."""

    def cut() -> JudgedRuns:
        queries = judged.queries(name)
        is_kept = queries.gains <= cutoff
        if is_condensed:
            lists, list_of_row = split_lists(queries)
            is_kept = queries.rank - lists.offset[list_of_row] <= cutoff
        elif judged.side_data.settings.get("duplicates") == "first" and not is_kept.all():
            # A document that came first below the cutoff may have been removed above it.
            raise MeasureError(
                f"{name} requires lists that are cut off before duplicates are removed, as"
                f" evaluate_sessions and concatenate(depth={cutoff}) do"
            )
        kept, ranks = queries.where(is_kept), queries.cumulate_counts(is_kept)
        # Every retrieved document belongs to a query, so each key has a match.
        positions = np.searchsorted(queries.keys, judged.documents.keys)
        positions = positions[is_kept[positions]]
        documents = judged.documents.where(np.isin(judged.documents.keys, kept.keys))
        side_data = replace(judged.side_data, queries=replace(kept, rank=ranks[is_kept]))
        return replace(
            judged,
            documents=replace(documents, rank=ranks[positions]),
            n_retrieved=kept.n_rows,
            side_data=side_data,
            views={},
        )

    return judged.view(("lists", cutoff), cut)


class SessionGainMeasure(
    GainMeasure,
    family="sessions",
    inputs=("queries",),
    needs="sessions of queries; graded or binary judgments",
    source="Järvelin and others (2008)",
):
    """Base class of sDCG and nsDCG: sums of gains discounted by rank and query."""

    cutoff: int | None = parameter(
        None, optional(integer(1)), "number of top documents of each query's list; all by default"
    )
    b: float = parameter(
        2.0, _BASE, "base of the logarithm of ranks: the patience to continue reading"
    )
    bq: float = parameter(
        4.0, _BASE, "base of the logarithm of queries: the patience to submit another query"
    )
    variant: str = parameter(
        "kanoulas",
        choice("kanoulas", "jarvelin", "jiang"),
        "discounts of rank r and query q: 'kanoulas', log(r + b - 1) and log(q + bq - 1), with"
        " ranks in the concatenated list; 'jiang', the same, with ranks in each query's list;"
        " 'jarvelin', 1 + log(r) and 1 + log(q), with ranks in each query's list",
    )

    def cut_off(self, judged: JudgedRuns) -> JudgedRuns:
        view = judged.condense() if self.judged_only else judged
        if self.cutoff is None:
            return view
        is_condensed = self.judged_only or judged.policies.unjudged == "condensed"
        return cut_lists(view, self.cutoff, is_condensed=is_condensed, name=str(self))

    def compute_divisors(self, query: Ints, rank: Ints, list_rank: Ints) -> Floats:
        """Compute the divisors of gains; `rank` is in the concatenated ranking."""
        if self.variant == "jarvelin":
            return (1.0 + _log(query, self.bq)) * (1.0 + _log(list_rank, self.b))
        position = rank if self.variant == "kanoulas" else list_rank
        return _log(query + (self.bq - 1.0), self.bq) * _log(position + (self.b - 1.0), self.b)

    def sum_gains(self, judged: JudgedRuns, *, ignores_repeats: bool = False) -> Floats:
        """Sum discounted gains; with `ignores_repeats`, of the first occurrences of documents."""
        rows = judged.judged()
        gains = self.gains.compute_gains(rows.grade)
        if ignores_repeats:
            gains = np.where(mask_first_occurrences(rows), gains, 0.0)
        queries = judged.queries(str(self))
        lists, list_of_row = split_lists(queries)
        # Every retrieved document belongs to a query, so each key has a match.
        positions = np.searchsorted(queries.keys, rows.keys)
        list_index = list_of_row[positions]
        list_rank = rows.rank - lists.offset[list_index]
        return rows.total(
            gains / self.compute_divisors(lists.query[list_index], rows.rank, list_rank)
        )


_VARIANT_SOURCES = {
    "variant='kanoulas'": "Kanoulas and others (2011)",
    "variant='jiang'": "Jiang and Allan (2016)",
}


@measure(
    "sDCG",
    summary="Gains of a session's result lists, discounted by rank and by the number of the query.",
    formula=r"\sum_r \frac{g_r}{\log_{b_q}(q_r + b_q - 1) \, \log_b(r + b - 1)},"
    r" \quad b_q = 4, \; b = 2",
    parameter_sources=_VARIANT_SOURCES,
    range=(0.0, float("inf")),
    scale_note="in general not on an interval scale: DCG with discounts by rank and by query",
    is_linear=True,
)
class SessionDCG(SessionGainMeasure):
    r"""Session DCG.

    The result lists of a session are concatenated; :math:`r` is a rank in the concatenated list,
    and :math:`q_r` the number of the query that retrieved the document. With `variant='jarvelin'`
    the rank :math:`j` starts again with each list, and the score is

    .. math:: \sum_q \frac{1}{1 + \log_{b_q} q} \sum_j \frac{g_{qj}}{1 + \log_b j},

    so that the first documents of a later list may count more than the last ones of an earlier
    list. With a cutoff k, as in sDCG@10, the first k documents of each list are concatenated
    (Sakai 2013, section 3.2). A repeated document gains again, unless duplicates were removed when
    the lists were concatenated. A grade below 0, such as -2 for spam, has no gain unless `gains`
    lists it.

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
        return self.sum_gains(judged)


@measure(
    "nsDCG",
    summary="Session DCG, by default of first occurrences, divided by that of an ideal session.",
    formula=r"sDCG \,/\, \sum_r \frac{g^*_r}{\log_b(r + b - 1)}",
    parameter_sources={**_VARIANT_SOURCES, "ideal='single'": "Kanoulas and others (2011)"},
    scale_note="in general not on an interval scale; within a session it is the sum of discounted"
    " gains divided by a constant",
)
class NormalisedSessionDCG(SessionGainMeasure):
    r"""Normalised session DCG; 0 for a session whose topic has no gain.

    With `ideal='single'` the ideal session is a single list of all documents with a gain, best
    first, and only the first occurrence of a document gains, even if duplicates were not removed.
    With a cutoff k, the single list has at most k documents for each query of the session, so that
    a session of one query has the score of nDCG@k.
    With `ideal='repeated'` the ideal session has an ideal list for each query with results; each
    ideal list has the length `depth`, by default that of the query's list. Documents may be
    repeated and gain again.

    Scores are at most 1 with `variant='kanoulas'` and a single ideal list, and with repeated ideal
    lists without `depth`. With other settings scores can be above 1.

    Examples
    --------
    >>> from cranfield.measures import parse_measure
    >>> import cranfield.sessions
    >>> parse_measure("nsDCG(ideal='repeated', variant='jarvelin')@20")
    nsDCG(ideal='repeated', variant='jarvelin')@20
    """

    ideal: str = parameter(
        "single",
        choice("single", "repeated"),
        "ideal session: 'single', one ideal list; 'repeated', an ideal list for each query",
    )
    depth: int | None = parameter(
        None,
        optional(integer(1)),
        "length of each ideal list (ideal='repeated'); by default that of the query's result list",
    )

    def _compute_score_range(self) -> tuple[float, float]:
        low, high = super()._compute_score_range()
        is_single = self.ideal == "single"
        is_bounded = self.variant == "kanoulas" if is_single else self.depth is None
        return low, high if is_bounded else float("inf")

    def values(self, judged: JudgedRuns) -> Floats:
        if self.ideal == "single":
            ideal = get_ideal_ranking(judged, self.gains)
            query = np.ones_like(ideal.rank)
            terms = ideal.gains / self.compute_divisors(query, ideal.rank, ideal.rank)
            ideal_sum = ideal.total(terms)
            if self.cutoff is not None:
                depths = self.cutoff * judged.n_queries(str(self))
                topics = np.arange(judged.shape[0])[:, None]
                ideal_sum, _ = look_up_total(ideal, ideal.cumulate(terms), topics, depths)
            return divide(self.sum_gains(judged, ignores_repeats=True), ideal_sum)
        return divide(self.sum_gains(judged), self._sum_repeated_ideal(judged))

    def _sum_repeated_ideal(self, judged: JudgedRuns) -> Floats:
        """Sum discounted gains over ideal lists, one for each list of the session."""
        ideal = get_ideal_ranking(judged, self.gains)
        lists, _ = split_lists(judged.queries(str(self)))
        length, offset = lists.length, lists.offset
        if self.depth is not None:
            depth = min(self.depth, self.cutoff or self.depth)
            list_number = np.arange(length.size) - np.searchsorted(lists.cell, lists.cell)
            length, offset = np.full_like(length, depth), list_number * depth
        topic = lists.cell % judged.shape[0]
        starts = ideal.starts[topic]
        list_index, ideal_row = join_ranges(starts, starts + np.minimum(length, ideal.sizes[topic]))
        list_rank = ideal_row - starts[list_index] + 1
        rank = offset[list_index] + list_rank
        terms = ideal.gains[ideal_row] / self.compute_divisors(
            lists.query[list_index], rank, list_rank
        )
        return Rows(lists.cell[list_index], list_rank, list_rank, judged.shape).total(terms)


def _log(values: NDArray[Any], base: float) -> Floats:
    """Compute the logarithm, exactly if base and value are powers of 2."""
    return np.asarray(np.log2(values) / np.log2(base))


__all__ = ["ClickU", "NormalisedSessionDCG", "SessionDCG", "click_u"]
