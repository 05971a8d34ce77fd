r"""Chances that an INST or INSQ user reads each judged rank, without a loop over ranks.

Both users go on from rank i with the chance ((i + a - 1) / (i + a))^2, where a is 2T less the gain
so far (INSQ: 2T). Between two gains a is constant, and the product of these chances telescopes: the
chance to read rank i is proportional to 1 / (i - 1 + a)^2. Its sums are differences of the trigamma
function, also where the ranking has no end. Where every rank gains 1, it is i + a that is constant,
and the chances fall geometrically.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cranfield.collection.rows import Rows
from cranfield.collection.segments import Floats


def trigamma(x: ArrayLike) -> Floats:
    r"""Sum of 1 / (x + i)^2 over i = 0, 1, ... (Abramowitz and Stegun, 6.4.10 and 6.4.12).

    Parameters
    ----------
    x
        Numbers above 0; infinity gives 0.

    Examples
    --------
    >>> bool(np.isclose(trigamma(1.0), np.pi**2 / 6, rtol=1e-15))
    True
    """
    given = np.asarray(x, dtype=np.float64)
    total = np.zeros(given.shape)
    # The series is exact to the last bits from 16 on.
    for step in range(16):
        total += 1.0 / (given + step) ** 2
    far = 1.0 / (given + 16.0)
    series = far**2 * (1 / 6 - far**2 * (1 / 30 - far**2 * (1 / 42 - far**2 / 30)))
    return np.asarray(total + far * (1.0 + far / 2 + series))


@dataclass(frozen=True)
class Chances:
    """How rankings are read.

    Attributes
    ----------
    seen
        Chance that each row's rank is read.
    depth
        Ranks read until the user stops; shape (topics, systems).
    """

    seen: Floats
    depth: Floats


def read(
    rows: Rows, gains: Floats, wanted: float, *, unjudged: float = 0.0, end: int | None = None
) -> Chances:
    """Read rankings as a user of INST.

    Parameters
    ----------
    rows
        Judged documents, up to rank `end`.
    gains
        Their gains, from 0 to 1.
    wanted
        T: the gain that the user wants, at least 1/2.
    unjudged
        Gain of every other rank: 0 or 1.
    end
        The last rank that anybody reads; without, rankings go on for ever.
    """
    others = rows.rank - rows.seen
    left = 2.0 * wanted - rows.running(gains) - unjudged * others
    first = rows.seen == 1

    def before(values: Floats, start: float) -> Floats:
        return np.where(first, start, np.roll(values, 1))

    rank, a = before(rows.rank.astype(float), 0.0), before(left, 2.0 * wanted)
    seen = rows.running_product(_going(rank, a, rows.rank.astype(float), unjudged))
    steps = before(seen, 1.0) * _stretch(rank, a, rows.rank.astype(float), unjudged)
    depth = rows.total(steps)

    last = rows.where(_last(rows))
    empty = rows.count == 0
    at = _last(rows)
    rank_end = last.total(rows.rank[at])
    a_end = np.where(empty, 2.0 * wanted, last.total(left[at]))
    seen_end = np.where(empty, 1.0, last.total(seen[at]))
    stop = np.full(rank_end.shape, np.inf if end is None else float(end))
    return Chances(seen, depth + seen_end * _stretch(rank_end, a_end, stop, unjudged))


def _last(rows: Rows) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    out = np.ones(rows.cell.size, dtype=bool)
    out[:-1] = rows.cell[1:] != rows.cell[:-1]
    return out


def _going(rank: Floats, a: Floats, to: Floats, unjudged: float) -> Floats:
    """Chance to come from a rank to a later one, with the same gains in between; 0 is the start."""
    start = rank == 0
    if unjudged:
        return np.asarray(_fall(rank + a) ** (to - rank - start))
    return np.asarray(((rank + a - np.where(start, 0.0, 1.0)) / (to + a - 1.0)) ** 2)


def _stretch(rank: Floats, a: Floats, to: Floats, unjudged: float) -> Floats:
    """Sum of the chances to read the ranks after `rank` up to `to`, over that to read `rank`."""
    start = rank == 0
    if unjudged:
        fall = _fall(rank + a)
        return np.asarray(np.where(start, 1.0, fall) * (1.0 - fall ** (to - rank)) / (1.0 - fall))
    head = (rank + a - np.where(start, 0.0, 1.0)) ** 2
    return np.asarray(head * (trigamma(rank + a) - trigamma(to + a)))


def _fall(level: Floats) -> Floats:
    return np.asarray(((level - 1.0) / level) ** 2)
