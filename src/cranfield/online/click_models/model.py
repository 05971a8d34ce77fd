"""What a click model is: declared parameters, the chance of each click, and how it is fitted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import PolicyError
from cranfield.measures.declared import Declared
from cranfield.measures.parameters import integer, number, parameter
from cranfield.online.click_models.items import Items
from cranfield.online.click_models.patterns import Patterns

Values = Mapping[str, Floats]
"""Chances by name of the parameter; behind those of what was seen, that of what was not."""

TINY = 1e-300
"""Keeps 0/0 away; far below any chance that matters."""

MOST = 2.0**53
"""Clicks and chances that can be counted, seen or before; products of them are no overflow."""


def sums(place: Indices, values: Any, size: int) -> Floats:
    """Sum values by place; shape (size,)."""
    found: Floats = np.bincount(place, values, size).astype(np.float64, copy=False)
    return found


@dataclass(frozen=True, eq=False)
class Tally:
    """How often what a parameter is the chance of happened, and could have: counted or expected."""

    hits: Floats  # Of each value, as the trials
    trials: Floats

    @classmethod
    def of(cls, place: Indices, hits: Any, trials: Any, size: int) -> Tally:
        """Sum by place."""
        return cls(sums(place, hits, size), sums(place, trials, size))

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.hits + other.hits, self.trials + other.trials)


Tallies = dict[str, Tally]


@dataclass(frozen=True, eq=False)
class Fit:
    """What fitting found."""

    tallies: Tallies  # What was counted, or expected in the last step, by parameter
    # Log-likelihood and logarithm of the priors before each step and after the last; empty for
    # models that are counted
    objective: Floats = field(default_factory=lambda: np.empty(0))


def at_rank(values: Floats, rank: int | Indices) -> Floats:
    """Return values at ranks from 0; those beyond the last trained rank have its value.

    values: by rank, with the prior mean behind them.
    """
    return np.asarray(values[np.minimum(rank, values.size - 2)])


class Model(Declared):
    """A click model: what users do on a page, in parameters that are chances.

    Its text form is its identity, as that of a measure: :func:`parse_model` reads it back.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.online.parse_model("dbn")(gamma=0.9)
    DBN(gamma=0.9)
    """

    error = PolicyError
    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    """Where the definition stands."""
    by: ClassVar[dict[str, str]] = {}
    """What each parameter goes by: `item`, `rank`, `rank and last click`, `case`, or nothing."""
    cases: ClassVar[tuple[str, ...]] = ()
    """The cases of the parameter that goes by them."""

    alpha: float = parameter(2.0, number(1, MOST), "Beta prior: clicks seen before, and 1")
    beta: float = parameter(2.0, number(1, MOST), "Beta prior: chances without one before, and 1")

    @classmethod
    def called(cls) -> str:
        return cls.name

    def fit(self, pages: Patterns) -> Fit:
        """Estimate the parameters."""
        raise NotImplementedError

    def start(self, pages: int) -> Any:
        """Return what is known of users at the first rank, an array of an entry a page."""
        return np.ones(pages)

    def chance(self, values: Values, rank: int, item: Indices, state: Any) -> Floats:
        """Chance of a click at a rank from 0, given the clicks above."""
        raise NotImplementedError

    def after(
        self, values: Values, rank: int, item: Indices, state: Any, chance: Floats, click: Bools
    ) -> Any:
        """Return what is known of users at the next rank."""
        return state

    def walk(
        self,
        values: Values,
        items: Sequence[Indices],
        decide: Callable[[int, Floats], Bools],
    ) -> None:
        """Go down pages, the longest first; `decide` takes a rank and chances and gives clicks."""
        state = self.start(items[0].size if items else 0)
        for rank, item in enumerate(items):
            state = state[: item.size]
            chance = self.chance(values, rank, item, state)
            state = self.after(values, rank, item, state, chance, decide(rank, chance))

    def conditional(self, values: Values, pages: Patterns) -> Floats:
        """Chance of what was observed of each result, given the clicks above it."""
        chances = np.empty(pages.codes.size)

        def decide(rank: int, chance: Floats) -> Bools:
            at = pages.slices[rank]
            chances[at] = chance
            return pages.clicks[at]

        self.walk(values, [pages.codes[at] for at in pages.slices], decide)
        return np.where(pages.clicks, chances, 1 - chances)

    def chances(self, values: Values, pages: Patterns) -> Floats:
        """Chance of a click on each result, whatever is clicked above it."""
        raise NotImplementedError

    def relevance(self, values: Values) -> Floats:
        """Worth of each item to users; shape (items,)."""
        raise NotImplementedError

    def prior_mean(self) -> float:
        """Mean of the prior, which is the value of what was never seen."""
        return float(self.alpha / (self.alpha + self.beta))

    def estimate(self, tally: Tally) -> Floats:
        """Most likely value with the prior; its mean where nothing was seen."""
        out = np.full(tally.trials.shape, self.prior_mean())
        np.divide(
            tally.hits + (self.alpha - 1),
            tally.trials + (self.alpha + self.beta - 2),
            out=out,
            where=tally.trials > 0,
        )
        return np.asarray(np.clip(out, 0.0, 1.0))

    def error_of(self, tally: Tally) -> Floats:
        """Standard deviation of the Beta distribution after what was seen."""
        a, b = tally.hits + self.alpha, tally.trials - tally.hits + self.beta
        return np.asarray(np.sqrt(a * b / (a + b + 1)) / (a + b))

    def held(self) -> dict[str, float]:
        """Return the parameters that are given."""
        return {}

    def values(self, tallies: Tallies) -> dict[str, Floats]:
        """Return the estimates, and the prior mean behind them."""
        end, held = self.prior_mean(), self.held()
        return {
            name: np.append(self.estimate(one), end)
            if name not in held
            else np.full(one.hits.size + 1, held[name])
            for name, one in tallies.items()
        }

    def sizes(self, items: int, ranks: int) -> dict[str, int]:
        """Return the number of values of each parameter."""
        number = {
            "item": items,
            "rank": ranks,
            "rank and last click": ranks * (ranks + 1) // 2,
            "case": len(self.cases),
            "": 1,
        }
        return {name: number[by] for name, by in self.by.items()}


class Climbing(Model):
    """A model with hidden states, fitted by expectation-maximisation."""

    iterations: int = parameter(50, integer(1, 10**6), "steps of expectation-maximisation")
    tolerance: float = parameter(0.0, number(0), "least gain of the objective to go on")

    def expecting(self, pages: Patterns) -> Callable[[Values], tuple[Tallies, float]]:
        """Return what makes expected tallies and the log-likelihood of values."""
        raise NotImplementedError

    def fit(self, pages: Patterns) -> Fit:
        sizes = self.sizes(pages.items.size, pages.ranks)
        held = self.held()
        values = {name: np.full(size + 1, held.get(name, 0.5)) for name, size in sizes.items()}
        expect = self.expecting(pages)
        tallies, objective = Tallies(), list[float]()
        for step in range(self.iterations + 1):
            found, value = expect(values)
            objective.append(value + self.log_prior(values))
            gain = objective[-1] - objective[-2] if step else np.inf
            if step == self.iterations or gain < self.tolerance:
                break
            tallies, values = found, self.values(found)
        return Fit(tallies, np.array(objective))

    def log_prior(self, values: Values) -> float:
        """Logarithm of the priors' densities, without their constants."""
        total = 0.0
        held = self.held()
        for name, all_values in values.items():
            if name not in held:
                known = all_values[:-1]
                if self.alpha > 1:
                    total += (self.alpha - 1) * float(np.log(np.maximum(known, TINY)).sum())
                if self.beta > 1:
                    total += (self.beta - 1) * float(np.log(np.maximum(1 - known, TINY)).sum())
        return total


@dataclass(frozen=True, eq=False, repr=False)
class Trained:
    """What there is to keep of a model that was fitted; :class:`ClickModel` explains it."""

    model: Model
    items: Items
    ranks: int
    tallies: Tallies
    objective: Floats
    pages: int
