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

from cranfield.base.arrays import Floats
from cranfield.collection.judged.rows import Rows


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
    # The series is exact to the last bits from 16 on.
    near = given < 16.0
    below, sums = given[near], np.zeros(np.count_nonzero(near))
    for step in range(16):
        sums += 1.0 / (below + step) ** 2
    far = 1.0 / np.where(near, given + 16.0, given)
    square = far * far
    series = square * (1 / 6 - square * (1 / 30 - square * (1 / 42 - square / 30)))
    out = np.asarray(far * (1.0 + far / 2 + series))
    out[near] += sums
    return out


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
        Documents up to rank `end`: all whose gain is not that of every other rank, at least.
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
    to = rows.rank.astype(np.float64)
    rank, a = rows.before(to, 0.0), rows.before(left, 2.0 * wanted)
    seen = rows.running_product(_going(rank, a, to, unjudged))
    depth = rows.total(rows.before(seen, 1.0) * _stretch(rank, a, to, unjudged))

    stop = np.full(rows.shape, np.inf if end is None else float(end))
    rest = _stretch(rows.lasts(to, 0.0), rows.lasts(left, 2.0 * wanted), stop, unjudged)
    return Chances(seen, depth + rows.lasts(seen, 1.0) * rest)


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
