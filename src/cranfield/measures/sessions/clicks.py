"""Click-based U-measure: the worth of clicked documents falls with the text read before them."""

from __future__ import annotations

from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Ints
from cranfield.base.border.given import Numbers
from cranfield.base.errors import MeasureError
from cranfield.collection.judged.judged_runs import JudgedRuns
from cranfield.collection.judged.segments import places, scan
from cranfield.measures.base import Measure, measure
from cranfield.measures.gains import Gain, gain
from cranfield.measures.parameters import checked, flag, number, optional, parameter

_LENGTH = number(0)
_SHARE = number(0, 1)
_LIMIT = number(0, open_low=True)
_GAINS = optional(gain)


def _snippet(value: Any) -> float | str:
    if isinstance(value, str):
        if value != "own":
            raise ValueError("a number of at least 0, or 'own'")
        return value
    return float(_LENGTH(value))


def click_u(
    queries: Numbers,
    ranks: Numbers,
    lengths: Numbers,
    *,
    gains: Numbers = 0.5,
    snippet: float = 200.0,
    share: float = 0.2,
    limit: float = 132_000.0,
) -> float:
    r"""Compute the click-based U-measure of one session, unnormalised; 0 without clicks.

    A click at rank r says that the user read the snippets of ranks 1 to r of that list, as far as
    they were not read before, and then a share of the clicked document. Each click gains

    .. math:: g \, \max\left(0, 1 - \frac{pos}{L}\right),

    where :math:`pos` is the number of characters read up to the end of that (Sakai 2013, equations
    (19) and (20) and figure 9). Clicks may go back up a list, and back to the list of an earlier
    query, whose snippets are not read again.

    Parameters
    ----------
    queries
        Number of the query of each click, in order of time; shape (clicks,).
    ranks
        Rank of each click, from 1.
    lengths
        Characters of each clicked document, or one number for all.
    gains
        Gain of each clicked document, or one number for all: (2^1 - 1) / 2^1 in the figure.
    snippet
        Characters of a snippet.
    share
        F: the share of a clicked document that is read, from 0 to 1.
    limit
        L: the characters after which nothing is worth anything.

    Raises
    ------
    MeasureError
        For numbers out of range, or of unequal count.

    Examples
    --------
    Rank 4 and then rank 2 of one list: four snippets and two documents.

    >>> click_u([1, 1], [4, 2], 5000)  # 0.5 (1 - 1800/132000) + 0.5 (1 - 2800/132000)
    0.98257...
    """
    query, rank = np.atleast_1d(np.asarray(queries)), np.atleast_1d(np.asarray(ranks))
    try:
        length = np.broadcast_to(np.asarray(lengths, dtype=np.float64), rank.shape)
        gained = np.broadcast_to(np.asarray(gains, dtype=np.float64), rank.shape)
    except ValueError:
        raise MeasureError("click_u: lengths and gains are numbers, one for each click") from None
    if rank.ndim != 1 or query.shape != rank.shape:
        raise MeasureError("click_u: queries and ranks are two lists, with a number for each click")
    if not rank.size:
        return 0.0
    if rank.dtype.kind not in "iu" or query.dtype.kind not in "iu" or rank.min() < 1:
        raise MeasureError("click_u: queries and ranks are whole numbers, ranks from 1")
    if not (length >= 0).all() or not np.isfinite(length).all() or not np.isfinite(gained).all():
        raise MeasureError("click_u: lengths are finite and at least 0, gains finite")
    snippet = checked("click_u", "snippet", snippet, _LENGTH)
    share = checked("click_u", "share", share, _SHARE)
    limit = checked("click_u", "limit", limit, _LIMIT)
    cell = np.zeros(rank.size, dtype=np.int64)
    worth = _u(cell, query, rank.astype(np.int64), snippet * rank, share * length, gained, limit)
    return float(worth.sum())


def _u(
    cell: Ints, query: Ints, rank: Ints, text: Floats, read: Floats, gains: Floats, limit: float
) -> Floats:
    """Worth of each click; `text` is that of the snippets down to it, `read` of the document."""
    if not rank.size:
        return np.zeros(0)
    # The deepest rank so far of each list: the clicks list by list, in order of time.
    order = np.lexsort((query, cell))
    lists = (cell[order][1:] != cell[order][:-1]) | (query[order][1:] != query[order][:-1])
    offset = np.cumsum(np.append(0, lists), dtype=np.int64) << 32
    deepest = np.maximum.accumulate(offset | rank[order]) - offset
    before = np.append(0, deepest[:-1])
    before[1:][lists] = 0
    new = deepest > before
    # Where a click goes deeper, it is itself the deepest, and so was the last one that did.
    last = np.maximum.accumulate(np.where(new, np.arange(rank.size), 0))
    so_far = np.append(0.0, text[order][last][:-1])
    so_far[before == 0] = 0.0
    fresh = np.empty(rank.size)
    fresh[order] = np.where(new, text[order] - so_far, 0.0)
    pos = scan(fresh + read, places(cell), np.add)
    return np.asarray(gains * np.maximum(0.0, 1.0 - pos / limit))


@measure(
    "ClickU",
    summary="Gains of the clicked documents of a session, less the more text was read before.",
    formula=r"\sum_{c} g_c \max\left(0, 1 - \frac{pos_c}{L}\right), \quad L = 132000",
    source="Sakai and Dou (2013)",
    range=(0.0, float("inf")),
    family="sessions",
    inputs=("clicks",),
    at_wanted="none",
    needs="clicks with an order in time; lengths of documents, or one for all",
    scale_note="not known to be interval",
)
class ClickU(Measure):
    """Click-based U-measure, unnormalised; 0 for a session without clicks.

    Text read up to a click: the snippets of its list down to its rank, as far as they were not read
    before, and a share F of each clicked document. As in the figure, a document that is clicked
    again is read again and gains again; with `once=True` it is not.

    It reads clicks, so :func:`cranfield.evaluate_sessions` computes it.

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
        _GAINS,
        "gain of a clicked document by its grade instead: 'linear', 'exponential' (2^g - 1), or a"
        " mapping of grades to gains",
    )
    snippet: float | str = parameter(
        200.0, _snippet, "characters of a snippet; 'own' takes those of the log"
    )
    length: float | None = parameter(
        None, optional(_LENGTH), "characters of a document whose length is not given"
    )
    F: float = parameter(0.2, _SHARE, "share of a clicked document that is read")
    L: float = parameter(132_000.0, _LIMIT, "characters after which nothing is worth anything")
    once: bool = parameter(False, flag, "whether a document counts at its first click only")

    def values(self, judged: JudgedRuns) -> Floats:
        clicks = judged.clicks(str(self))
        if self.judged_only:
            raise MeasureError(f"{self}: there is no condensed list of clicks")
        counts = ~clicks.again if self.once else np.ones(clicks.cell.size, dtype=bool)
        length = clicks.length
        unknown = np.isnan(length) & counts
        if unknown.any():
            if self.length is None:
                raise MeasureError(
                    f"{self} needs the lengths of documents, and {int(unknown.sum())} of"
                    f" {length.size} clicks are on documents without one; give lengths=, or one"
                    " for all as ClickU(length=...)"
                )
            length = np.where(np.isnan(length), self.length, length)
        own = isinstance(self.snippet, str)
        text: Floats = clicks.text if own else np.multiply(clicks.rank, self.snippet, dtype=float)
        if np.isnan(text).any():
            raise MeasureError(f"{self} needs the log's snippets, and some are not given")
        read = np.where(counts, self.F * length, 0.0)
        flat = np.full(counts.size, self.gain)
        gains = np.where(counts, flat if self.gains is None else self.gains.of(clicks.grade), 0.0)
        worth = _u(clicks.cell, clicks.query, clicks.rank, text, read, gains, self.L)
        topics, systems = judged.shape
        total = np.bincount(clicks.cell, weights=worth, minlength=topics * systems)
        return total.astype(float).reshape(systems, topics).T
