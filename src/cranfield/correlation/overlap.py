"""Rank-biased overlap of two rankings given as places: what all its entrances share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Ints

TERMS = 100_000
"""Terms of the endless sum that are added up; where it takes more, the logarithm is as exact."""


@dataclass(frozen=True, eq=False)
class Places:
    """First and last rank, from 1, of the group of ties that each item is in; 0 for one not there.

    Both rankings have a place for the same items.
    """

    top: Ints
    bottom: Ints

    @property
    def length(self) -> int:
        return int(self.bottom.max(initial=0))


def overlap(first: Places, second: Places, p: float, ties: str) -> tuple[float, float, float]:
    """Return RBO extrapolated, its lowest possible value, and the residual.

    The definitions are in :func:`cranfield.correlation.rbo`. At any depth one group of ties at most
    is cut in each ranking, so that overlaps are counts of items that are above the cut in both, cut
    in one, or cut in both.
    """
    short, long = (first, second) if first.length <= second.length else (second, first)
    s, length = short.length, long.length
    depth = np.arange(1, length + 1)
    shared = (short.top > 0) & (long.top > 0)
    of_short, of_long = _Depths(short, length, ties), _Depths(long, length, ties)
    seen = _overlaps(short, long, shared, of_short.part, of_long.part)
    sizes = of_short.size(ties), of_long.size(ties)
    norm = np.sqrt(sizes[0] * sizes[1]) if ties == "b" else (sizes[0] + sizes[1]) / 2
    # Below its end, the shorter ranking has items that were not seen: which of the longer one's?
    alone = (long.top > 0) & ~shared
    full, active = (_reached(at[alone], length) for at in (long.bottom, long.top))
    unseen = np.maximum(depth - s, 0)
    whole = np.minimum(unseen, full)
    best = whole + of_long.part * np.minimum(unseen - whole, active - full)
    mean = (full + of_long.part * (active - full)) / np.maximum(active, 1)
    agreement = float(seen[s - 1] / norm[s - 1])
    weight = (1 - p) * p ** (depth - 1.0)
    common = int(shared.sum())
    low = float(weight @ (seen / norm)) + common * (1 - p) * _tail(p, length)
    ext = float(weight @ ((seen + agreement * unseen * mean) / norm))
    # Even rankings have all of their items at their end, however tied: it is the agreement there.
    ext += p**length * (common + (length - s) * agreement) / length
    high = float(weight @ ((seen + best) / norm))
    # Beyond both ends, each new item is in the other ranking, until all are in both.
    end = length + s - common
    more = np.arange(length + 1, end + 1)
    high += float(((1 - p) * p ** (more - 1.0)) @ (2 - end / more)) + p**end
    # What rounding does must not lead out of the range.
    low, high = min(max(low, 0.0), 1.0), min(max(high, 0.0), 1.0)
    return min(max(ext, low), max(high, low)), low, max(high - low, 0.0)


class _Depths:
    """The group of ties that stands at each depth of a ranking, and how much of it is above."""

    def __init__(self, places: Places, depths: int, ties: str) -> None:
        own = places.top > 0
        depth = np.arange(1, depths + 1)
        # A group of k items has k times its first rank, and stands at k ranks. Below its end a
        # ranking goes on without ties.
        beyond = depth[places.length :]
        self.top = np.append(np.sort(places.top[own]), beyond)
        self.bottom = np.append(np.sort(places.bottom[own]), beyond)
        share = (depth - self.top + 1) / (self.bottom - self.top + 1)
        self.part: Floats = np.ones(depths) if ties == "w" else share

    def size(self, ties: str) -> Floats:
        """Sum of the items' parts down to each depth, or of their squares for `b`."""
        power = 2 if ties == "b" else 1
        inside = self.bottom - self.top + 1
        return np.asarray(self.top - 1 + inside * self.part**power)


def _overlaps(short: Places, long: Places, shared: Any, one: Floats, other: Floats) -> Floats:
    """Return the overlap down to each depth; `one` and `other` are the parts of the groups cut."""
    depths = one.size
    tops, bottoms = (
        (short.top[shared], long.top[shared]),
        (short.bottom[shared], long.bottom[shared]),
    )
    above = _reached(np.maximum(*bottoms), depths)
    cut_long = _reached(np.maximum(bottoms[0], tops[1]), depths) - above
    cut_short = _reached(np.maximum(tops[0], bottoms[1]), depths) - above
    cut_both = _reached(np.maximum(*tops), depths) - above - cut_long - cut_short
    return np.asarray(above + cut_long * other + cut_short * one + cut_both * one * other)


def _reached(ranks: Ints, depths: int) -> Ints:
    return np.cumsum(np.bincount(ranks, minlength=depths + 1)[1 : depths + 1])


@lru_cache
def _tail(p: float, depth: int) -> float:
    """Return the endless sum of p^(d-1) / d over all d beyond a depth."""
    terms = int(np.ceil(-40 / np.log(p)))
    if terms > TERMS:
        d = np.arange(1, depth + 1)
        return float(-np.log1p(-p) / p - (p ** (d - 1.0) / d).sum())
    d = np.arange(depth + 1, depth + terms + 1)
    return float((p ** (d - 1.0) / d).sum())
