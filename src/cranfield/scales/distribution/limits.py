"""How a sum of many independent components is distributed, with proved limits.

The values that a measure such as DCG or RBP takes over all judged runs are, as a set, all the
sums x = s_1 + ... + s_n of one s_k from each of n finite sets S_k, every choice giving another
value. The share of values up to x,

    F(x) = #{(s_1, ..., s_n) : s_1 + ... + s_n <= x} / (|S_1| ... |S_n|),

is the distribution function of a sum X of independent variables, each uniform on its S_k. It is
found in the first of three ways that is close enough:

1. Counting: all sums are listed. Nothing is left open.
2. Listing the widest components' sums A, and enclosing the others' sum: B lies in [b, c], so that
   F_A(x - c) <= F(x) <= F_A(x - b). It serves where weights fall fast (RBP with p <= 1/2, also
   where F is singular).
3. Fourier inversion with Vaaler's polynomials: the theorem is in `inversion.py`.

Sums are known to a relative 1e-15, and so is x. Moving every sum by at most `rounding` moves F(x)
between F(x - rounding) and F(x + rounding); the limits contain that.

Sources: Ferrante, Ferro and Fuhr (2021), Towards Meaningful Statements in IR Evaluation, IEEE
Access 9, for ranks among all runs; the others with the theorem.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Protocol

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.border.given import Numbers
from cranfield.base.errors import PolicyError
from cranfield.base.threads import processors
from cranfield.scales.distribution.inversion import affordable, inverted

MOST_SUMS = 2**22
"""Sums that are listed one by one."""
ROUNDING = 5e-15
"""Relative uncertainty of a sum: 1e-15 of each component's own, the rest for adding and for x."""


class _Way(Protocol):
    """One way to enclose F: lower limits, shares and upper limits at ascending x."""

    def limits(self, x: Floats) -> tuple[Floats, Floats, Floats]: ...


@dataclass(frozen=True)
class SumDistribution:
    """The distribution function of a sum of independent components, with proved limits."""

    error: float
    """Largest possible |share(x) - F(x)| over all x, rounding included."""
    rounding: float
    """How far sums and x may be off; an x within it of a listed sum, or of the least or the largest
    sum of all, is taken to be that sum."""
    lowest: float
    highest: float
    way: _Way

    def share(self, x: Numbers) -> Floats:
        """Return the share of sums up to x: from 0 to 1, and never falling among the x asked for.

        The middle of the limits, unless all sums are counted.
        """
        return self._all(x)[1]

    def bracket(self, x: Numbers) -> tuple[Floats, Floats]:
        """Return proved lower and upper limits of F(x).

        They are often closer than the error, which holds for the worst x. F is monotone, so
        limits at one x are limits beyond it, too: asking for more x together never widens them.
        """
        lower, _, upper = self._all(x)
        return lower, upper

    def _all(self, x: Numbers) -> tuple[Floats, Floats, Floats]:
        points = np.asarray(x, dtype=np.float64)
        if np.isnan(points).any():
            raise PolicyError("there is an x that is no number")
        asked, place = np.unique(points, return_inverse=True)
        limits = np.stack(self.way.limits(asked))
        limits[:, asked < self.lowest - self.rounding] = 0.0
        limits[:, asked >= self.highest - self.rounding] = 1.0
        lower, share, upper = limits[:, place].reshape(3, *points.shape)
        return lower, share, upper


@dataclass(frozen=True)
class _Listed:
    """Sums of the widest components, and the range of the sum of all others."""

    sums: Floats
    least: float
    most: float
    rounding: float

    @property
    def complete(self) -> bool:
        return self.least == self.most

    @cached_property
    def error(self) -> float:
        """The share of sums in the fullest window of the width that is left open.

        Where all are listed, x is one of the sums, so that one less is in doubt; otherwise the
        share is the middle of the window.
        """
        width = self.most - self.least + 2 * self.rounding
        inside = np.searchsorted(self.sums, self.sums + width, side="right")
        fullest = int((inside - np.arange(self.sums.size)).max())
        return (fullest - 1 if self.complete else fullest / 2) / self.sums.size

    def limits(self, x: Floats) -> tuple[Floats, Floats, Floats]:
        up_to = np.searchsorted(self.sums, x - self.most - self.rounding, side="right")
        high = np.searchsorted(self.sums, x - self.least + self.rounding, side="right")
        low = np.minimum(up_to + 1, high) if self.complete else up_to
        share = high if self.complete else (low + high) / 2
        return low / self.sums.size, share / self.sums.size, high / self.sums.size


def distribution_of_sums(
    components: Sequence[Floats],
    *,
    wanted: float = 1e-6,
    memory: int = 2**30,
    jobs: int | None = None,
) -> SumDistribution:
    """Find the distribution function of a sum of independent components.

    The components' distinct values ascend, each right to a relative 1e-15; equal neighbours
    (weights so small that they underflow) are counted as two. Where the wanted error is out of
    reach, a larger one is stated.

    >>> rbp = distribution_of_sums([np.array([0.0, 0.5**j]) for j in range(1, 11)])
    >>> (rbp.share([0.0, 0.5, 1.0]) * 2**10).tolist()
    [1.0, 513.0, 1024.0]
    >>> rbp.error
    0.0
    """
    sets = [_checked(component) for component in components]
    if not sets or not wanted > 0:
        raise PolicyError("a distribution needs components and a wanted error above 0")
    sets.sort(key=lambda values: float(values[0] - values[-1]))
    rounding = ROUNDING * math.fsum(max(-values[0], values[-1]) for values in sets)
    lowest = math.fsum(values[0] for values in sets)
    highest = math.fsum(values[-1] for values in sets)
    listed = _listed(sets, min(MOST_SUMS, memory // 64), rounding)
    ways: list[tuple[float, _Way]] = [(listed.error, listed)]
    if not (listed.complete or listed.error <= wanted) and affordable(sets):
        inversion, error = inverted(sets, wanted, memory, jobs or processors(), rounding)
        ways.append((error, inversion))
    # Of equally close ones the first.
    error, way = min(ways, key=itemgetter(0))
    return SumDistribution(error, rounding, lowest, highest, way)


def _checked(component: Floats) -> Floats:
    values = np.asarray(component, dtype=np.float64)
    if values.ndim != 1 or not values.size or not np.isfinite(values).all():
        raise PolicyError("a component is a list of one or more finite values")
    if (np.diff(values) < 0).any():
        raise PolicyError("the values of a component must ascend")
    return values


def _listed(sets: Sequence[Floats], most: int, rounding: float) -> _Listed:
    """List the sums of as many of the widest components as memory allows."""
    sums, done = sets[0], 1
    while done < len(sets) and sums.size * sets[done].size <= most:
        sums = np.add.outer(sums, sets[done]).ravel()
        done += 1
    sums = np.sort(sums)
    rest = sets[done:]
    least = math.fsum(values[0] for values in rest)
    return _Listed(sums, least, math.fsum(values[-1] for values in rest), rounding)
