"""Click models: parameters, probabilities of clicks, and estimation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import InputError, quoted
from cranfield.base.spec import Spec, integer, number, parameter
from cranfield.collection.files.reading import read_qrels
from cranfield.online.log.query_log import QueryLog

KEYS = {None: ("query", "doc"), "grade": ("grade",)}
"""Columns that identify the items with parameters, by how parameters are tied."""

NO_GRADES = "a click model tied by grade"


@dataclass(frozen=True, eq=False)
class Items:
    """The items that a model has parameters for, numbered by row."""

    tied: str | None  # None, or `grade`
    # Data frame, a row an item: `query` and `doc`, or `grade`, null where there is no judgment
    frame: pl.DataFrame

    @classmethod
    def of(cls, log: QueryLog, tied: str | None) -> tuple[Items, Indices]:
        """Number the results of a log by first appearance, or by grade, unjudged first.

        Also returns the item of each result, as :meth:`codes` does.
        """
        if tied is not None:
            rows = keyed(log, tied)
            items = cls(tied, rows.select("grade").unique().sort("grade", nulls_last=False))
            return items, items.codes_of(rows)
        log.require("results", purpose="a click model")
        # Codes of categories are arbitrary; only whether they differ counts.
        query, doc = (
            texts.cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)
            for texts in (log.pages["query"], log.results["doc"])
        )
        page = log.results["page"].to_numpy()
        both = (query[page] << 32) | doc
        _, first, codes = np.unique(both, return_index=True, return_inverse=True)
        order = np.argsort(first)
        number = np.empty_like(order)
        number[order] = np.arange(order.size)
        at = first[order]
        queries = log.pages["query"].gather(page[at])
        frame = pl.DataFrame({"query": queries, "doc": log.results["doc"].gather(at)})
        return cls(tied, frame), number[codes]

    @cached_property
    def size(self) -> int:
        return self.frame.height

    def codes(self, log: QueryLog) -> Indices:
        """Item of each result of a log, shape (results,); the number of items if it has none."""
        return self.codes_of(keyed(log, self.tied))

    def codes_of(self, rows: pl.DataFrame) -> Indices:
        """Item of each row of the columns that identify items."""
        keys = list(KEYS[self.tied])
        numbered = self.frame.with_columns(pl.Series("item", np.arange(self.size)))
        joined = rows.join(numbered, on=keys, how="left", nulls_equal=True, maintain_order="left")
        return joined["item"].fill_null(self.size).to_numpy().astype(np.intp, copy=False)


def keyed(log: QueryLog, tied: str | None) -> pl.DataFrame:
    """Return the results of a log with the columns that identify items."""
    log.require("results", purpose="a click model")
    if tied is not None:
        log.require("results", "grade", purpose=NO_GRADES)
        return log.results
    query = log.pages["query"].gather(log.results["page"])
    return log.results.select("doc", query=query)


def with_grades(log: QueryLog, qrels: Any) -> QueryLog:
    """Return a log whose results have the grades of judgments.

    Parameters
    ----------
    log
        Pages, whose `query` is the topic of the judgments.
    qrels
        Judgments, as :func:`cranfield.read_qrels` takes them.

    Returns
    -------
    QueryLog
        The `grade` of results is null where there is no judgment.

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> query, doc = log.pages["query"][0], log.results["doc"][0]
    >>> cf.online.with_grades(log, {query: {doc: 2}}).results["grade"][0]
    2
    """
    judged = read_qrels(qrels)
    if judged.subtopics is not None:
        judged = judged.flat()
    table = judged.to_polars().select(
        pl.col("topic").alias("query"), "doc", pl.col("grade").cast(pl.Int64)
    )
    results = log.results.drop("grade", strict=False).with_columns(
        query=log.pages["query"].gather(log.results["page"])
    )
    graded = results.join(table, on=["query", "doc"], how="left", maintain_order="left")
    return replace(log, results=graded.drop("query"), odd=dict(log.odd))


@dataclass(frozen=True, eq=False)
class Patterns:
    """Distinct pages with their frequencies; two pages are equal in items and clicks.

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
    """Return the patterns of the pages of a log; `codes` are the items of results, if known.

    Clicks on no result are ignored, and several clicks on a result are one.
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
    """Number distinct pages, from the last rank up; also return the first page of each number.

    Two pages are equal from a rank on if they are equal at this rank and below: numbers of 64 bits
    suffice for any length.
    """
    kind = np.zeros(pages, dtype=np.intp)
    width = int(flat.max()) + 1
    for start, stop in zip(starts[-2::-1].tolist(), starts[:0:-1].tolist(), strict=True):
        own = kind[: stop - start]
        own[:] = np.unique(own * width + flat[start:stop], return_inverse=True)[1] + 1
    _, first, kind = np.unique(kind, return_index=True, return_inverse=True)
    return kind, first


Values = Mapping[str, Floats]
"""Values by name of the parameter; the last value is that of unseen items or ranks."""

TINY = 1e-300
"""Avoids 0/0; far below any relevant probability."""

MOST = 2.0**53
"""Most clicks and trials, of data or prior; their products do not overflow."""


def sums(place: Indices, values: Any, size: int) -> Floats:
    """Sum values by place; shape (size,)."""
    total: Floats = np.bincount(place, values, size).astype(np.float64, copy=False)
    return total


@dataclass(frozen=True, eq=False)
class Tally:
    """Successes and trials of each value of a parameter, counted or expected."""

    hits: Floats
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
    """Result of fitting a model."""

    tallies: Tallies  # Counts, or expected counts in the last step, by parameter
    # Log-likelihood and logarithm of the priors before each step and after the last; empty for
    # models that are counted
    objective: Floats = field(default_factory=lambda: np.empty(0))


def at_rank(values: Floats, rank: int | Indices) -> Floats:
    """Return values at ranks from 0; those beyond the last trained rank have its value.

    values: by rank, with the prior mean behind them.
    """
    return np.asarray(values[np.minimum(rank, values.size - 2)])


class Model(Spec):
    """A click model: behaviour of users on a page, with probabilities as parameters.

    Its text form is its identity, as that of a measure: :func:`parse_model` reads it back.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.online.parse_model("dbn")(gamma=0.9)
    DBN(gamma=0.9)
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    """The publication that defines it."""
    by: ClassVar[dict[str, str]] = {}
    """What each parameter depends on: `item`, `rank`, `rank and last click`, `case`, or nothing."""
    cases: ClassVar[tuple[str, ...]] = ()
    """The cases of a parameter by `case`."""

    alpha: float = parameter(2.0, number(1, MOST), "Beta prior: prior successes plus 1")
    beta: float = parameter(2.0, number(1, MOST), "Beta prior: prior failures plus 1")

    @classmethod
    def called(cls) -> str:
        return cls.name

    def fit(self, pages: Patterns) -> Fit:
        """Estimate the parameters."""
        raise NotImplementedError

    def start(self, pages: int) -> Any:
        """Return the state of users at the first rank, an array with an entry for each page."""
        return np.ones(pages)

    def chance(self, values: Values, rank: int, item: Indices, state: Any) -> Floats:
        """Probability of a click at a rank from 0, given the clicks above."""
        raise NotImplementedError

    def after(
        self, values: Values, rank: int, item: Indices, state: Any, chance: Floats, click: Bools
    ) -> Any:
        """Return the state of users at the next rank."""
        return state

    def walk(
        self,
        values: Values,
        items: Sequence[Indices],
        decide: Callable[[int, Floats], Bools],
    ) -> None:
        """Go down pages, longest first; `decide` returns clicks from probabilities at a rank."""
        state = self.start(items[0].size if items else 0)
        for rank, item in enumerate(items):
            state = state[: item.size]
            chance = self.chance(values, rank, item, state)
            state = self.after(values, rank, item, state, chance, decide(rank, chance))

    def conditional(self, values: Values, pages: Patterns) -> Floats:
        """Probability of the observation of each result, given the clicks above it."""
        chances = np.empty(pages.codes.size)

        def decide(rank: int, chance: Floats) -> Bools:
            at = pages.slices[rank]
            chances[at] = chance
            return pages.clicks[at]

        self.walk(values, [pages.codes[at] for at in pages.slices], decide)
        return np.where(pages.clicks, chances, 1 - chances)

    def chances(self, values: Values, pages: Patterns) -> Floats:
        """Probability of a click on each result, whatever is clicked above it."""
        raise NotImplementedError

    def relevance(self, values: Values) -> Floats:
        """Relevance of each item; shape (items,)."""
        raise NotImplementedError

    def prior_mean(self) -> float:
        """Mean of the prior, the value of unseen items and ranks."""
        return float(self.alpha / (self.alpha + self.beta))

    def estimate(self, tally: Tally) -> Floats:
        """Mode of the posterior; the mean of the prior without trials."""
        out = np.full(tally.trials.shape, self.prior_mean())
        np.divide(
            tally.hits + (self.alpha - 1),
            tally.trials + (self.alpha + self.beta - 2),
            out=out,
            where=tally.trials > 0,
        )
        return np.asarray(np.clip(out, 0.0, 1.0))

    def error_of(self, tally: Tally) -> Floats:
        """Standard deviation of the posterior."""
        a, b = tally.hits + self.alpha, tally.trials - tally.hits + self.beta
        return np.asarray(np.sqrt(a * b / (a + b + 1)) / (a + b))

    def held(self) -> dict[str, float]:
        """Return the parameters with fixed values."""
        return {}

    def values(self, tallies: Tallies) -> dict[str, Floats]:
        """Return the estimates, followed by the prior mean."""
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
        """Return a function from values to expected tallies and the log-likelihood."""
        raise NotImplementedError

    def fit(self, pages: Patterns) -> Fit:
        sizes = self.sizes(pages.items.size, pages.ranks)
        held = self.held()
        values = {name: np.full(size + 1, held.get(name, 0.5)) for name, size in sizes.items()}
        expect = self.expecting(pages)
        tallies, objective = Tallies(), list[float]()
        for step in range(self.iterations + 1):
            expected, log_likelihood = expect(values)
            objective.append(log_likelihood + self.log_prior(values))
            gain = objective[-1] - objective[-2] if step else np.inf
            if step == self.iterations or gain < self.tolerance:
                break
            tallies, values = expected, self.values(expected)
        return Fit(tallies, np.array(objective))

    def log_prior(self, values: Values) -> float:
        """Logarithm of the priors' densities, without their constants."""
        total, held = 0.0, self.held()
        for name, estimates in values.items():
            if name not in held:
                for weight, p in ((self.alpha, estimates[:-1]), (self.beta, 1 - estimates[:-1])):
                    if weight > 1:
                        total += (weight - 1) * float(np.log(np.maximum(p, TINY)).sum())
        return total
