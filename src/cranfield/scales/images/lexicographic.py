"""Sums in which an earlier part outweighs all later ones, like the digits of a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from cranfield.base.arrays import Ints
from cranfield.scales.forms.independent_parts import Exact, Part

MOST_CELLS = 2**23
MARGIN = 1 + 2.0**-20
"""Irrational weights have to outweigh by this much, so that floats can tell."""


@dataclass(frozen=True, eq=False)
class Lexicographic:
    """Parts of which each one's smallest gap is above the range of all later ones together.

    Sums then compare like words, by the first part in which they differ: a rank is a number in a
    mixed radix. RBP is such a sum for p < 1 / (grades + 1), and p = 1/2 with binary gains; a
    single part always is.
    """

    parts: tuple[Part, ...]
    order: tuple[int, ...]
    """Parts by falling weight."""
    limit: int | None
    counts_runs: bool
    """Whether runs can be counted, too: not when there is a limit and a sum of a part does not tell
    the number of relevant documents."""

    @classmethod
    def of(cls, parts: Sequence[Part], limit: int | None) -> Lexicographic | None:
        """Arrange the parts, if that can be done."""
        cells = max(part.keys.size for part in parts) * ((limit or 0) + 1)
        if cells > MOST_CELLS:
            return None
        order = sorted(range(len(parts)), key=lambda i: -float(np.ptp(parts[i].values)))
        active = [parts[i] for i in order if parts[i].keys.size > 1]
        if len({part.base for part in active}) <= 1:
            spans = [int(part.keys[-1] - part.keys[0]) * part.unit for part in active]
            gaps = [int(np.diff(part.keys).min()) * part.unit for part in active]
            behind = [Fraction(0), *accumulate(reversed(spans))][-2::-1]
            fits = all(gap > rest for gap, rest in zip(gaps, behind, strict=True))
        else:
            floats = [float(np.ptp(part.values)) for part in active]
            steps = [float(np.diff(part.values).min()) for part in active]
            after = [0.0, *accumulate(reversed(floats))][-2::-1]
            fits = all(step > rest * MARGIN for step, rest in zip(steps, after, strict=True))
        single = limit is None or all(part.key.size == part.keys.size for part in parts)
        return cls(tuple(parts), tuple(order), limit, single) if fits else None

    def below(self, digits: Ints, *, by_runs: bool) -> tuple[Ints, Ints]:
        """Weight of the sums below each query, and of those that equal it."""
        room = np.full(len(digits), self.limit or 0)
        total = np.zeros(len(digits), dtype=object)
        same = np.ones(len(digits), dtype=object)
        for index, (before, weight) in zip(self.order, self._tables(by_runs), strict=True):
            column = digits[:, index]
            # What agrees so far may have been reached in several ways.
            total = total + same * before[column, room]
            same = same * weight[column]
            if self.limit is not None:
                room = room - self.parts[index].least[column]
        return total.astype(np.int64), same.astype(np.int64)

    def _tables(self, by_runs: bool) -> list[tuple[Exact, Exact]]:
        """For each part the weight of all that is lower in it, by index and room that is left."""
        rooms = np.arange((self.limit or 0) + 1)
        rest = np.ones(rooms.size, dtype=object)
        tables = []
        for index in reversed(self.order):
            part = self.parts[index]
            weight = np.ones(part.keys.size, dtype=object)
            if by_runs:
                weight = part.key_runs.astype(object)
            needs = part.least if self.limit is not None else np.zeros(part.keys.size, np.int64)
            left = rooms[None, :] - needs[:, None]
            ways = np.where(left >= 0, rest[np.maximum(left, 0)], 0) * weight[:, None]
            upto = np.cumsum(ways, axis=0)
            tables.append((upto - ways, weight))
            rest = upto[-1]
        return tables[::-1]
