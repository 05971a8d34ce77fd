"""Pages as click models see them: what was shown at each rank and clicked, counted once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import InputError, quoted
from cranfield.online.click_models.items import Items
from cranfield.online.log.query_log import QueryLog


@dataclass(frozen=True, eq=False)
class Patterns:
    """Different pages, each with how often it occurs; pages are alike in items and clicks.

    Results stand rank by rank, and those of a rank by pattern. Patterns are in order of length, the
    longest first, so that those of a rank are always the first few: nothing is padded, and a pass
    over ranks works on slices.
    """

    starts: Indices  # Where each rank starts, and the number of results; shape (ranks + 1,)
    # Item of each result, as many as there are items where it is none of them; shape (results,)
    codes: Indices
    clicks: Bools  # Whether each result is clicked; shape (results,)
    weights: Floats  # Number of pages of each pattern; shape (patterns,)
    page: Indices  # Pattern of each page of the log, -1 for one without results; shape (pages,)
    items: Items  # What items are

    def __len__(self) -> int:
        return self.weights.size

    @property
    def ranks(self) -> int:
        """Length of the longest page."""
        return self.starts.size - 1

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Where the results of each rank stand."""
        return tuple(map(slice, self.starts[:-1].tolist(), self.starts[1:].tolist()))

    @cached_property
    def rank(self) -> Indices:
        """Rank of each result, from 0."""
        return np.repeat(np.arange(self.ranks), np.diff(self.starts))

    @cached_property
    def pattern(self) -> Indices:
        """Pattern of each result."""
        return np.arange(self.codes.size) - self.starts[self.rank]

    @cached_property
    def weight(self) -> Floats:
        """Number of pages of each result."""
        return self.weights[self.pattern]

    @cached_property
    def lengths(self) -> Indices:
        """Number of results of each pattern."""
        return np.bincount(self.pattern, minlength=len(self))

    @cached_property
    def last(self) -> Indices:
        """Rank of the last click above each result, from 0; -1 where there is none."""
        last = np.full(len(self), -1)
        out = np.empty(self.codes.size, dtype=np.intp)
        for r, at in enumerate(self.slices):
            here = last[: at.stop - at.start]
            out[at] = here
            here[self.clicks[at]] = r
        return out

    @cached_property
    def lowest(self) -> Indices:
        """Rank of the lowest click of each pattern, from 0; -1 without clicks."""
        clicked = np.flatnonzero(self.clicks)
        out = np.full(len(self), -1)
        out[self.pattern[clicked]] = self.rank[clicked]  # The last of several, so the lowest.
        return out

    def upward(self) -> Iterator[tuple[int, slice]]:
        """Go through the ranks from the last one up."""
        return zip(reversed(range(self.ranks)), reversed(self.slices), strict=True)

    def results_of(self, page: Indices, rank: Indices) -> Indices:
        """Place here of results of the log, by page and rank from 1."""
        return self.starts[rank - 1] + self.page[page]


def patterns_of(log: QueryLog, items: Items, codes: Indices | None = None) -> Patterns:
    """Lay the pages of a log out for click models; `codes` are the items of results, if known.

    A click on no result is none, and several clicks on a result are one.
    """
    codes = items.codes(log) if codes is None else codes
    page = log.results["page"].to_numpy()
    rank = log.results["rank"].to_numpy().astype(np.int64) - 1
    lengths = np.bincount(page, minlength=log.pages.height)
    first = np.cumsum(lengths) - lengths
    gaps = np.flatnonzero(rank != np.arange(rank.size) - first[page])
    if gaps.size:
        name = quoted(log.pages["id"][int(page[gaps[0]])])
        raise InputError(
            f"click models need all results of a page by rank from 1; page {name} has gaps",
            source=log.source,
        )
    order = np.argsort(-lengths, kind="stable")[: np.count_nonzero(lengths)]
    place = np.full(lengths.size, -1)
    place[order] = np.arange(order.size)
    at_rank = np.bincount(rank)
    starts = np.concatenate([[0], np.cumsum(at_rank)])
    spread = starts[rank] + place[page]
    flat = np.empty_like(codes)
    flat[spread] = codes * 2 + _clicked(log, first, lengths)
    kind, chosen = _alike(flat, starts, order.size)
    number = np.empty_like(chosen)
    # Those that end before a rank have no result there, so the longest stay the first.
    by_place = np.argsort(chosen)
    number[by_place] = np.arange(chosen.size)
    chosen = chosen[by_place]
    counts = np.searchsorted(chosen, at_rank)
    ends = np.concatenate([[0], np.cumsum(counts)])
    kept = np.arange(ends[-1]) - np.repeat(ends[:-1], counts)
    kept = flat[np.repeat(starts[:-1], counts) + chosen[kept]]
    pattern = np.full(lengths.size, -1)
    pattern[order] = number[kind]
    return Patterns(
        starts=ends,
        codes=kept >> 1,
        clicks=(kept & 1).astype(bool),
        weights=np.bincount(pattern[order], minlength=chosen.size).astype(np.float64),
        page=pattern,
        items=items,
    )


def _clicked(log: QueryLog, first: Indices, lengths: Indices) -> Bools:
    """Whether each result of the log has a click."""
    log.require("clicks", purpose="a click model")
    page, rank = log.clicks["page"].to_numpy(), log.clicks["rank"].to_numpy()
    listed = (rank >= 1) & (rank <= lengths[page])  # An unknown rank is NaN, and neither.
    out = np.zeros(log.results.height, dtype=bool)
    out[first[page[listed]] + rank[listed].astype(np.int64) - 1] = True
    return out


def _alike(flat: Indices, starts: Indices, pages: int) -> tuple[Indices, Indices]:
    """Number pages that are alike, from the last rank up; also the first page of each kind.

    Two pages are alike at a rank if they have the same there and are alike below: numbers of 64
    bits suffice, whatever the length.
    """
    kind = np.zeros(pages, dtype=np.intp)
    width = int(flat.max()) + 1
    for start, stop in zip(starts[-2::-1].tolist(), starts[:0:-1].tolist(), strict=True):
        own = kind[: stop - start]
        own[:] = np.unique(own * width + flat[start:stop], return_inverse=True)[1] + 1
    _, first, kind = np.unique(kind, return_index=True, return_inverse=True)
    return kind, first
