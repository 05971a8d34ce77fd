"""Base classes of click models: patterns of pages, parameters, estimation, and model files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from os import PathLike, fspath
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import (
    CranfieldError,
    InputError,
    PolicyError,
    as_numbers,
    check_integer,
    make_file_error,
    quote,
)
from cranfield.base.spec import (
    Registry,
    Spec,
    format_parameters,
    get_summary,
    integer,
    number,
    parameter,
)
from cranfield.collection.files.reading import read_qrels
from cranfield.online.log.query_log import QueryLog, join_by_document

ITEM_KEYS = {None: ("query", "doc"), "grade": ("grade",)}  # Columns that identify an item


@dataclass(frozen=True, eq=False)
class Items:
    """Items that have parameters in a model: documents of queries, or grades."""

    tied: str | None  # None, or `grade`
    # Data frame, one row per item: `query` and `doc`, or `grade`, null without a judgment
    frame: pl.DataFrame

    @classmethod
    def from_log(cls, log: QueryLog, tied: str | None) -> Items:
        """Return the items of a log: documents by first appearance, or grades, unjudged first."""
        items = select_item_keys(log, tied).unique(maintain_order=True)
        return cls(tied, items if tied is None else items.sort("grade", nulls_last=False))

    @property
    def size(self) -> int:
        return self.frame.height

    def encode_results(self, log: QueryLog) -> Indices:
        """Return the row of each result's item, or the number of items if unknown, as an array."""
        keys = select_item_keys(log, self.tied)
        items, names = self.frame.with_row_index("item"), keys.columns
        results = keys.join(items, on=names, how="left", nulls_equal=True, maintain_order="left")
        return results["item"].fill_null(self.size).to_numpy().astype(np.intp)


def select_item_keys(log: QueryLog, tied: str | None) -> pl.DataFrame:
    """Return the columns that identify the item of each result of a log."""
    log.require("results", purpose="a click model")
    if tied is not None:
        log.require("results", "grade", purpose="a click model tied by grade")
        return log.results.select("grade")
    query = log.pages["query"].gather(log.results["page"])
    return log.results.select(query, "doc")


def add_grades(log: QueryLog, qrels: Any) -> QueryLog:
    """Add the grades of judgments to the results of a log.

    Parameters
    ----------
    log
        Pages, whose `query` is the topic of the judgments.
    qrels
        Judgments, in any form that :func:`cranfield.read_qrels` accepts.

    Returns
    -------
    QueryLog
        The log; the `grade` of unjudged results is null.

    Raises
    ------
    InputError
        If no result is judged.

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> query, doc = log.pages["query"][0], log.results["doc"][0]
    >>> cf.online.add_grades(log, {query: {doc: 2}}).results["grade"][0]
    2
    """
    table = read_qrels(qrels).merge_subtopics().to_polars()
    table = table.select("doc", pl.col("grade").cast(pl.Int64), query="topic")
    results = log.results.drop("grade", strict=False)
    results = join_by_document(log, results, table, "no result is judged", "judgments")
    return replace(log, results=results.drop("query"), anomalies=dict(log.anomalies))


@dataclass(frozen=True, eq=False)
class Patterns:
    """Distinct patterns of items and clicks on pages, with their frequencies."""

    # Results are sorted by rank, then by pattern. Patterns are sorted by length, the longest first,
    # so that those with results at a rank are the first ones, and passes over ranks have no gaps.
    starts: Indices  # First result of each rank, and the number of results; shape (ranks + 1,)
    # Index of the item of each result, or the number of items if unknown; shape (results,)
    codes: Indices
    clicks: Bools  # Whether each result is clicked; shape (results,)
    pattern_weights: Floats  # Number of pages of each pattern; shape (patterns,)
    # Index of the pattern of each page of the log, -1 without results; shape (pages,)
    page_patterns: Indices
    items: Items  # The items that `codes` refer to

    def __len__(self) -> int:
        return self.pattern_weights.size

    @property
    def n_ranks(self) -> int:
        """Length of the longest page."""
        return self.starts.size - 1

    @cached_property
    def slices(self) -> tuple[slice, ...]:
        """Slice of the results of each rank."""
        return tuple(map(slice, self.starts[:-1].tolist(), self.starts[1:].tolist()))

    @cached_property
    def rank(self) -> Indices:
        """Rank of each result, from 0."""
        return np.repeat(np.arange(self.n_ranks), np.diff(self.starts))

    @cached_property
    def pattern(self) -> Indices:
        """Index of the pattern of each result."""
        return np.arange(self.codes.size) - self.starts[self.rank]

    @cached_property
    def result_weights(self) -> Floats:
        """Number of pages with the pattern of each result."""
        return self.pattern_weights[self.pattern]

    @cached_property
    def lengths(self) -> Indices:
        """Number of results of each pattern."""
        return np.bincount(self.pattern, minlength=len(self))

    @cached_property
    def last_clicks(self) -> Indices:
        """Rank of the last click above each result, from 0; -1 without a click."""
        pattern_ranks = np.full(len(self), -1)
        last_ranks = np.empty(self.codes.size, dtype=np.intp)
        for rank, rows in enumerate(self.slices):
            ranks_above = pattern_ranks[: rows.stop - rows.start]
            last_ranks[rows] = ranks_above
            ranks_above[self.clicks[rows]] = rank
        return last_ranks

    @cached_property
    def deepest_clicks(self) -> Indices:
        """Rank of the deepest click of each pattern, from 0; -1 without clicks."""
        deepest_ranks = np.full(len(self), -1)
        # The last assignment to a pattern is that of its deepest click.
        deepest_ranks[self.pattern[self.clicks]] = self.rank[self.clicks]
        return deepest_ranks

    def index_values(self, variable: str) -> Indices:
        """Return the index of each result's value of a parameter with this variable."""
        if variable == "rank and last click":
            return compute_cell_index(self.rank, self.last_clicks)
        indices = {"item": self.codes, "rank": self.rank}
        return indices.get(variable, np.zeros_like(self.codes))

    def index_results(self, page: Indices, rank: Indices) -> Indices:
        """Return the indices of results of the log, given their pages and ranks from 1."""
        return self.starts[rank - 1] + self.page_patterns[page]


def compute_cell_index(rank: int | Indices, last_click: Indices) -> Indices:
    """Return the index of the value of a rank and last click, both from 0; -1 means no click."""
    return np.asarray(rank * (rank + 1) // 2 + last_click + 1)


def extract_patterns(log: QueryLog, items: Items) -> Patterns:
    codes = items.encode_results(log)
    log.require("clicks", purpose="a click model")
    # Clicks at ranks without a result are ignored, and several clicks on a result count once.
    clicks = log.clicks.select("page", "rank", is_clicked=True).unique()
    results = log.results.select("page", "rank", item=codes)
    results = results.join(clicks, on=["page", "rank"], how="left", maintain_order="left")
    observation = pl.col("item") * 2 + pl.col("is_clicked").fill_null(False)
    pages = results.group_by("page", maintain_order=True).agg("rank", observations=observation)
    length = pl.col("rank").list.len()
    gaps = pages.filter(pl.col("rank") != pl.int_ranges(1, length + 1, dtype=pl.Int32))
    if gaps.height:
        name = quote(log.pages["id"][gaps["page"][0]])
        reason = f"click models require results at all ranks from 1, got gaps on page {name}"
        raise InputError(reason, source=log.source)
    pages = pages.sort(length, descending=True, maintain_order=True)
    patterns = pages.group_by("observations", maintain_order=True).agg("page")
    frequencies = patterns["page"].list.len().to_numpy()
    page_patterns, page_rows = np.full(log.pages.height, -1), patterns["page"].explode().to_numpy()
    page_patterns[page_rows] = np.repeat(np.arange(frequencies.size), frequencies)
    lengths = pl.col("observations").list.len()
    ranks = patterns.select(pl.int_ranges(lengths)).to_series().explode().to_numpy()
    order = np.argsort(ranks, kind="stable")
    observations = patterns["observations"].explode().to_numpy()[order]
    return Patterns(
        starts=np.concatenate([[0], np.cumsum(np.bincount(ranks))]),
        codes=observations >> 1,
        clicks=(observations & 1).astype(bool),
        pattern_weights=frequencies.astype(np.float64),
        page_patterns=page_patterns,
        items=items,
    )


Values = Mapping[str, Floats]  # Values of each parameter, the last of which is for unseen items
TINY = 1e-300  # Lower bound of denominators to avoid 0/0; far below the probabilities of a model
MAX_TRIALS = 2.0**53  # Maximum number of trials; floats represent all integers up to it


def sum_by_index(index: Indices, values: Any, size: int) -> Floats:
    return np.asarray(np.bincount(index, values, size), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Tally:
    """Successes and trials of each value of a parameter, observed or expected."""

    hits: Floats
    trials: Floats


Tallies = dict[str, Tally]
Estimation = tuple[Tallies, Floats]
"""Tallies (expected counts in EM), and the objective of EM, which is log-likelihood plus log-prior,
before each step and after the last one; empty for other models."""


def select_values(values: Floats, rank: int | Indices) -> Floats:
    """Return values at ranks from 0; ranks beyond the last trained rank have its value."""
    return np.asarray(values[np.minimum(rank, values.size - 2)])  # The last value is the prior mean


class PageModel(Spec):
    """A click model: the behaviour of users on a page, with probabilities as parameters.

    Its text form is its identity, as for measures; :func:`parse_model` parses it.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.online.parse_model("dbn")(gamma=0.9)
    DBN(gamma=0.9)
    """

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""  # Publication that defines the model
    # Variable of each parameter: `item`, `rank`, `rank and last click`, `case`, or empty for none
    variables: ClassVar[dict[str, str]] = {}
    cases: ClassVar[tuple[str, ...]] = ()  # The cases of a parameter that depends on `case`

    alpha: float = parameter(2.0, number(1, MAX_TRIALS), "Beta prior: prior successes plus 1")
    beta: float = parameter(2.0, number(1, MAX_TRIALS), "Beta prior: prior failures plus 1")

    @property
    def depends_on_rank(self) -> bool:
        """Whether a parameter depends on the rank."""
        return any(variable.startswith("rank") for variable in self.variables.values())

    def count_trials(self, pages: Patterns) -> dict[str, tuple[Floats, Floats]]:
        """Return successes and trials of each parameter at each result."""
        raise NotImplementedError

    def fit(self, pages: Patterns) -> Estimation:
        """Estimate the parameters; by default, by counting successes and trials."""
        sizes = self.count_values(pages.items.size, pages.n_ranks)
        tallies = {}
        for name, counts in self.count_trials(pages).items():
            index = pages.index_values(self.variables[name])
            tallies[name] = Tally(*(sum_by_index(index, count, sizes[name]) for count in counts))
        return tallies, np.empty(0)

    def start_state(self, n_pages: int) -> Any:
        """Return the state of users at the first rank; shape (pages,)."""
        return np.ones(n_pages)

    def predict_clicks(self, values: Values, rank: int, item: Indices, state: Any) -> Floats:
        """Return the probabilities of clicks at a rank from 0, given the clicks above."""
        raise NotImplementedError

    def update_state(
        self, values: Values, rank: int, item: Indices, state: Any, p: Floats, is_clicked: Bools
    ) -> Any:
        """Return the state of users at the next rank, from clicks and their probabilities `p`."""
        return state

    def walk(
        self, values: Values, items: Sequence[Indices], decide: Callable[[int, Floats], Bools]
    ) -> None:
        """Walk down all pages rank by rank; `decide` returns the clicks at a rank."""
        state = self.start_state(items[0].size if items else 0)
        for rank, item in enumerate(items):
            state = state[: item.size]
            probability = self.predict_clicks(values, rank, item, state)
            is_clicked = decide(rank, probability)
            state = self.update_state(values, rank, item, state, probability, is_clicked)

    def compute_conditional_probabilities(self, values: Values, pages: Patterns) -> Floats:
        """Compute the probability of the observation of each result, given the clicks above it."""
        probabilities = np.empty(pages.codes.size)

        def decide(rank: int, probability: Floats) -> Bools:
            rows = pages.slices[rank]
            probabilities[rows] = probability
            return pages.clicks[rows]

        self.walk(values, [pages.codes[rows] for rows in pages.slices], decide)
        return np.where(pages.clicks, probabilities, 1 - probabilities)

    def compute_click_probabilities(self, values: Values, pages: Patterns) -> Floats:
        """Compute the marginal probability of a click on each result."""
        # This default is for models whose clicks do not depend on the clicks above.
        probabilities = np.empty(pages.codes.size)
        for rank, rows in enumerate(pages.slices):
            state = self.start_state(rows.stop - rows.start)
            probabilities[rows] = self.predict_clicks(values, rank, pages.codes[rows], state)
        return probabilities

    def compute_relevance(self, values: Values) -> Floats:
        """Return the relevance of each item: the product of its parameters; shape (items,)."""
        names = [name for name, variable in self.variables.items() if variable == "item"]
        if not names:
            raise self.error(f"{self.name} has no relevance: no parameter depends on documents")
        return np.asarray(np.prod([values[name][:-1] for name in names], axis=0))

    def compute_standard_errors(self, tally: Tally) -> Floats:
        """Compute the standard deviation of the posterior of each value."""
        a, b = tally.hits + self.alpha, tally.trials - tally.hits + self.beta
        return np.asarray(np.sqrt(a * b / (a + b + 1)) / (a + b))

    def get_fixed_values(self) -> dict[str, float]:
        return {}

    def estimate_values(self, tallies: Tallies) -> dict[str, Floats]:
        """Estimate the values of each parameter; the last value is for unseen items."""
        # Values are fixed or posterior modes; without trials, and for unseen items, prior means.
        fixed_values, values = self.get_fixed_values(), {}
        prior_mean = float(self.alpha / (self.alpha + self.beta))
        for name, tally in tallies.items():
            value = np.full(tally.hits.size + 1, fixed_values.get(name, prior_mean))
            if name not in fixed_values:
                hits = tally.hits + (self.alpha - 1)
                trials = tally.trials + (self.alpha + self.beta - 2)
                np.divide(hits, trials, out=value[:-1], where=tally.trials > 0)
            values[name] = np.clip(value, 0.0, 1.0)
        return values

    def count_values(self, n_items: int, n_ranks: int) -> dict[str, int]:
        sizes = {"item": n_items, "rank": n_ranks, "case": len(self.cases), "": 1}
        sizes["rank and last click"] = n_ranks * (n_ranks + 1) // 2
        return {name: sizes[variable] for name, variable in self.variables.items()}


class EMModel(PageModel):
    """A model with hidden states, fitted by expectation-maximisation."""

    iterations: int = parameter(50, integer(1, 10**6), "maximum number of steps")
    tolerance: float = parameter(
        0.0, number(0), "minimum gain of the objective per step; a smaller gain ends the iteration"
    )

    def make_expectation(self, pages: Patterns) -> Callable[[Values], tuple[Tallies, float]]:
        """Return the E-step: a function from values to expected tallies and the log-likelihood."""
        raise NotImplementedError

    def fit(self, pages: Patterns) -> Estimation:
        sizes = self.count_values(pages.items.size, pages.n_ranks)
        fixed_values = self.get_fixed_values()
        values = {name: np.full(n + 1, fixed_values.get(name, 0.5)) for name, n in sizes.items()}
        expect = self.make_expectation(pages)
        tallies, objective = Tallies(), list[float]()
        for step in range(self.iterations + 1):
            expected_tallies, log_likelihood = expect(values)
            objective.append(log_likelihood + self.compute_log_prior(values))
            gain = objective[-1] - objective[-2] if step else np.inf
            if step == self.iterations or gain < self.tolerance:
                break
            tallies, values = expected_tallies, self.estimate_values(expected_tallies)
        return tallies, np.array(objective)

    def compute_log_prior(self, values: Values) -> float:
        """Compute the logarithm of the prior densities, up to a constant."""
        log_density = 0.0
        free_names = values.keys() - self.get_fixed_values()
        for estimates in (values[name][:-1] for name in values if name in free_names):
            for weight, p in ((self.alpha, estimates), (self.beta, 1 - estimates)):
                if weight > 1:
                    log_density += (weight - 1) * float(np.log(np.maximum(p, TINY)).sum())
        return log_density


MODELS: Registry[type[PageModel]] = Registry(
    "click model", "models", package="cranfield.online.click_models", base=PageModel
)


def models() -> pl.DataFrame:
    """List the click models: name, learned parameters, other parameters, description, source.

    Examples
    --------
    >>> models().filter(pl.col("model") == "DBN").select("learns", "source").rows()
    [('attractiveness, satisfaction, continuation', 'Chapelle and Zhang (2009)')]
    """
    return MODELS.tabulate(
        "model",
        {
            "learns": lambda model: ", ".join(model.variables),
            "parameters": format_parameters,
            "description": get_summary,
            "source": attrgetter("source"),
        },
    )


def parse_model(text: str | PageModel) -> PageModel:
    """Parse a click model from its text form.

    Raises
    ------
    PolicyError
        For an unknown name, parameter or value.

    Examples
    --------
    >>> parse_model("dbn(gamma=0.9)"), parse_model("PBM(iterations=20)")
    (DBN(gamma=0.9), PBM(iterations=20))
    """
    return MODELS.parse(text)


FILE_VERSION = 1
FILE_KIND = "click model"


def read_fields(path: str | PathLike[str]) -> dict[str, Any]:
    """Read the fields of a trained model from a JSON file, and check their consistency."""
    name = fspath(path)
    try:
        text = Path(name).read_bytes()
    except (OSError, ValueError) as error:
        raise make_file_error(error, "read", name) from None
    try:
        return _parse_fields(json.loads(text))
    except KeyError as error:
        reason = f"{error.args[0]} is missing"
    except (CranfieldError, ValueError) as error:
        reason = str(error)
    except (TypeError, AttributeError, RecursionError, MemoryError, OverflowError):
        reason = "unexpected structure"
    raise InputError(f"not a trained click model: {reason}", source=name)


def _parse_fields(fields: Any) -> dict[str, Any]:
    if fields["kind"] != FILE_KIND:
        raise PolicyError(f"kind must be {FILE_KIND!r}, got {quote(fields['kind'])}")
    if (version := fields["version"]) is True or version != FILE_VERSION:
        raise PolicyError(f"version must be {FILE_VERSION}, got {quote(version)}")
    model, tied = parse_model(fields["model"]), fields["tied"]
    if tied not in (None, "grade"):
        raise PolicyError(f"tied must be null or 'grade', got {quote(tied)}")
    columns = dict.fromkeys(ITEM_KEYS[tied], pl.Int64 if tied else pl.String)
    names = " and ".join(columns)
    try:
        items = Items(tied, pl.DataFrame(fields["items"], schema=columns))
    except (TypeError, ValueError, pl.exceptions.PolarsError):
        got = quote(fields["items"])
        raise PolicyError(f"items must be equally long lists of {names}, got {got}") from None
    has_nulls = tied is None and items.frame.height > items.frame.drop_nulls().height
    if has_nulls or items.frame.is_duplicated().any():
        problem = "a missing value" if has_nulls else "an item twice"
        raise PolicyError(f"items must be distinct, each with {names}, got {problem}")
    for name in ("ranks", "pages"):
        check_integer(name, fields[name], 1, 2**53)
    tallies = {}
    for name, size in model.count_values(items.size, fields["ranks"]).items():
        counts = fields["tallies"][name]
        tally = Tally(*(as_numbers(counts[field], field) for field in ("hits", "trials")))
        if not tally.hits.shape == tally.trials.shape == (size,):
            shapes = f"shapes {tally.hits.shape} and {tally.trials.shape}"
            reason = f"hits and trials of {name} must be arrays of length {size}"
            raise PolicyError(f"{reason}, got {shapes}")
        # Expected counts have rounding errors.
        is_possible = (tally.hits >= 0) & (tally.hits <= tally.trials * (1 + 1e-9) + 1e-9)
        is_valid = is_possible & (tally.trials <= MAX_TRIALS)
        if not is_valid.all():
            k = int(is_valid.argmin())
            got = f"{tally.hits[k]:g} hits in {tally.trials[k]:g} trials"
            raise PolicyError(f"{name} must have 0 <= hits <= trials <= 2^53, got {got}")
        tallies[name] = tally
    objective = as_numbers(fields["objective"], "objective")
    if objective.ndim != 1 or not np.isfinite(objective).all():
        got = quote(fields["objective"])
        raise PolicyError(f"objective must be a list of finite numbers, got {got}")
    sizes = {"n_ranks": fields["ranks"], "n_pages": fields["pages"]}
    return {"model": model, "items": items, "tallies": tallies, "objective": objective, **sizes}
