"""A stateful form in whole numbers: what each grade adds in each state, rank by rank.

All contributions are multiplied by their common denominator (for AP the least common multiple of
1..N). The values of all runs, or of their first or last ranks, are then sets of whole numbers that
are joined rank by rank, each number once.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import gcd, lcm
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cranfield.base.arrays import Ints
from cranfield.base.errors import PolicyError
from cranfield.scales.forms.form import Stateful
from cranfield.scales.forms.independent_parts import WORD, Exact

MOST_STATES = 2**14
"""States over all ranks."""

_NOTHING = Fraction(0)


@dataclass(frozen=True, eq=False)
class Bag:
    """Distinct whole numbers, ascending, and how many runs lead to each; empty if not counted."""

    values: Exact
    runs: Exact

    @classmethod
    def joined(cls, values: Sequence[Exact], runs: Sequence[Exact]) -> Bag:
        if len(values) == 1:
            return cls(values[0], runs[0])
        every = np.concatenate(values)
        if not runs[0].size:
            every.sort(kind="stable")
            return cls(every[_first(every)], runs[0])
        order = np.argsort(every, kind="stable")
        every = every[order]
        first = np.flatnonzero(_first(every))
        return cls(every[first], np.add.reduceat(np.concatenate(runs)[order], first))


def _first(ordered: Exact) -> Any:
    fresh = np.ones(ordered.size, dtype=bool)
    fresh[1:] = ordered[1:] != ordered[:-1]
    return fresh


@dataclass(frozen=True, eq=False)
class Walk:
    """The steps of a form, rank by rank, in whole numbers of a unit.

    `gains` are contributions, shape (states before the rank, grades + 1), and `after` indices of
    the states that follow; -1 for what is ruled out or not met.
    """

    unit: Fraction
    gains: tuple[Exact, ...]
    after: tuple[Ints, ...]

    @classmethod
    def of(cls, form: Stateful) -> Walk:
        return cls._followed(form, None)[0]

    @classmethod
    def along(cls, form: Stateful, runs: Ints) -> tuple[Exact, Fraction]:
        """Follow a form down some runs alone; return their values, and the unit of these."""
        walk, steps = cls._followed(form, runs)
        values = np.zeros(len(runs), dtype=walk.kind)
        for gains, step in zip(walk.gains, steps, strict=True):
            values += gains.ravel()[step]
        return values, walk.unit

    @classmethod
    def _followed(cls, form: Stateful, runs: Ints | None) -> tuple[Walk, list[NDArray[np.int32]]]:
        """Make the walk; and say for each rank which step each run takes, by state and grade."""
        states: list[Hashable] = [form.start]
        contributions: list[list[Fraction]] = []
        after: list[Ints] = []
        taken: list[NDArray[np.int32]] = []
        total, width = 0, form.grades + 1
        at = np.zeros(0 if runs is None else len(runs), dtype=np.int64)
        for rank in range(1, form.length + 1):
            total += len(states)
            if runs is None and total > MOST_STATES:
                raise PolicyError(
                    f"runs of length {form.length} with {form.grades + 1} grades lead through too"
                    f" many states; up to length {rank - 1} they may not"
                )
            met = np.full(len(states) * width, runs is None)
            if runs is not None:
                step_of = at * width + runs[:, rank - 1]
                met[step_of] = True
                taken.append(step_of.astype(np.int32))
            following: dict[Hashable, int] = {}
            gains, to = [_NOTHING] * met.size, np.full(met.size, -1, dtype=np.int64)
            for place in np.flatnonzero(met).tolist():
                state, grade = divmod(place, width)
                step = form.step(rank, states[state], grade)
                if step is not None:
                    gains[place] = step.contribution
                    to[place] = following.setdefault(step.state, len(following))
            contributions.append(gains)
            after.append(to.reshape(-1, width))
            states = list(following)
            if runs is not None:
                at = to[step_of]
        flat = {gain for level in contributions for gain in level}
        below = lcm(*(gain.denominator for gain in flat))
        # Without fractions on the way, whose common divisors take long to find.
        scaled = {gain: gain.numerator * (below // gain.denominator) for gain in flat}
        common = gcd(*scaled.values()) or 1
        whole = [[scaled[gain] // common for gain in level] for level in contributions]
        kind: Any = np.int64 if sum(max(map(abs, level)) for level in whole) < WORD else object
        tables = tuple(np.array(level, dtype=kind).reshape(-1, width) for level in whole)
        return cls(Fraction(common, below), tables, tuple(after)), taken

    @property
    def kind(self) -> Any:
        return self.gains[0].dtype

    def run(self, runs: Ints) -> Exact:
        state = np.zeros(len(runs), dtype=np.int64)
        value = np.zeros(len(runs), dtype=self.kind)
        for gains, after, grade in zip(self.gains, self.after, runs.T, strict=True):
            value = value + gains[state, grade]
            state = after[state, grade]
            if (state < 0).any():
                raise PolicyError(
                    f"run {int(np.argmax(state < 0))} has more relevant documents than at_most"
                )
        return value

    def last(self, bags: Sequence[Bag], rank: int) -> list[Bag]:
        """For each state before a rank the values from there on, given those after it."""
        found = []
        for gains, after in zip(self.gains[rank], self.after[rank], strict=True):
            open_ = np.flatnonzero(after >= 0)
            parts = [bags[after[grade]] for grade in open_]
            shifted = [part.values + gains[g] for part, g in zip(parts, open_, strict=True)]
            found.append(Bag.joined(shifted, [part.runs for part in parts]))
        return found

    def first(self, bags: Sequence[Bag], rank: int) -> list[Bag]:
        """For each state after a rank the values down to there, given those before it."""
        gains, after = self.gains[rank], self.after[rank]
        values: list[list[Exact]] = [[] for _ in range(int(after.max()) + 1)]
        runs: list[list[Exact]] = [[] for _ in values]
        for state, grade in zip(*np.nonzero(after >= 0), strict=True):
            to = after[state, grade]
            values[to].append(bags[state].values + gains[state, grade])
            runs[to].append(bags[state].runs)
        return [Bag.joined(one, two) for one, two in zip(values, runs, strict=True)]

    def end(self, by_runs: bool) -> list[Bag]:
        """0 for each state after the last rank."""
        return [self._nothing(by_runs)] * (int(self.after[-1].max()) + 1)

    def start(self, by_runs: bool) -> list[Bag]:
        return [self._nothing(by_runs)]

    def _nothing(self, by_runs: bool) -> Bag:
        return Bag(np.zeros(1, dtype=self.kind), np.ones(int(by_runs), dtype=self.many))

    @property
    def many(self) -> Any:
        return np.int64 if self.gains[0].shape[1] ** len(self.gains) < WORD else object

    def number(self) -> int:
        ways = [1]
        for after in self.after:
            following = [0] * (int(after.max()) + 1)
            for state, grade in zip(*np.nonzero(after >= 0), strict=True):
                following[after[state, grade]] += ways[state]
            ways = following
        return sum(ways)
