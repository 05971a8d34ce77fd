"""Train click models; trained models with their parameters, predictions and measures."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices, Ints
from cranfield.base.errors import (
    MeasureError,
    PolicyError,
    check_choice,
    check_integer,
    check_list,
    check_number,
)
from cranfield.base.files import open_atomically
from cranfield.base.kinds import OneOf
from cranfield.base.streams import draw_uniforms
from cranfield.base.text import inflect
from cranfield.collection.files.reading import read_qrels, read_run
from cranfield.collection.qrels import Qrels
from cranfield.collection.run import Run
from cranfield.measures.aliases import UNSUPPORTED_NAMES
from cranfield.measures.base import Measure
from cranfield.measures.families import REGISTRY
from cranfield.measures.grammar import MAX_LENGTH
from cranfield.measures.users.clicks import ChainMeasure, ContinuationModel, click_user_model
from cranfield.online.click_models.model import (
    FILE_KIND,
    FILE_VERSION,
    Items,
    PageModel,
    Patterns,
    Tallies,
    add_grades,
    extract_patterns,
    parse_model,
    read_fields,
)
from cranfield.online.log.query_log import QueryLog, make_log
from cranfield.result import Column, Columns, Result

MEASURE_KINDS = ("utility", "effort")  # Kinds of measures of a click model
TIED_BY = ("none", "grade")  # Parameters by query and document, or by grade

_ATTRACTION = {"clicks": "attractiveness"}
_ATTRACTION_AND_SATISFACTION = {**_ATTRACTION, "satisfies": "satisfaction"}
_MEASURES: dict[str, tuple[tuple[str, str], dict[str, str]]] = {
    "DCTR": (("uM", ""), {"clicks": "rate"}),
    "PBM": (("uM", ""), {**_ATTRACTION, "examined": "examination"}),
    "CM": (("uM", "rrM"), _ATTRACTION),
    "UBM": (("uUBM", ""), {**_ATTRACTION, "examined_after": "examination"}),
    "DCM": (("uDCM", "rrDCM"), {**_ATTRACTION, "continues": "continuation"}),
    "CCM": (("uCCM", "rrCCM"), {**_ATTRACTION, "tau": "continuation"}),
    "DBN": (("uM", "rrM"), {**_ATTRACTION_AND_SATISFACTION, "gamma": "continuation"}),
    "SDBN": (("uM", "rrM"), _ATTRACTION_AND_SATISFACTION),
}
"""Measures of utility and of effort by model, and the model's parameter for each argument."""


def _convert_parameter(
    name: str, variable: str, frame: pl.DataFrame, max_rank: int
) -> dict[str, Any]:
    """Convert a parameter of a model, down to rank `max_rank`, to arguments of a measure."""
    values = frame["value"].to_list()
    if variable == "item":
        return {name: dict(zip(frame["grade"].to_list(), values, strict=True))}
    if variable == "rank":
        return {name: dict(enumerate(values[:max_rank], 1))}
    if variable == "case":
        return {f"{name}{case}": value for case, value in enumerate(values, 1)}
    if variable == "":
        return {name: values[0]}
    groups = frame.filter(pl.col("rank") <= max_rank).group_by("rank", maintain_order=True)
    return {name: {k: dict(rows.select("last", "value").iter_rows()) for (k,), rows in groups}}


@dataclass(frozen=True, eq=False, repr=False)
class ClickModel(Result):
    """A click model with its parameters; returned by :func:`train`.

    Attributes
    ----------
    model
        Kind of click model, with its options.
    items
        The items that have parameters: documents of a query, or grades.
    n_ranks
        Length of the longest training page.
    tallies
        Successes and trials of each parameter, observed or expected, without the prior.
    objective
        Log-likelihood and logarithm of the prior, before each step of expectation-maximisation and
        after the last one; empty for models without EM.
    n_pages
        Number of training pages with results.

    Examples
    --------
    >>> import cranfield as cf
    >>> model = cf.online.train(cf.online.simulated_log(), "PBM")
    >>> model.parameters["examination"].columns
    ['rank', 'value', 'error', 'hits', 'trials']
    """

    name: ClassVar[str] = "parameters"
    columns: ClassVar[Columns] = {
        "parameter": Column("Name of the parameter.", key=True),
        "depends on": Column("Variable on which the values depend, such as `rank`."),
        "values": Column("Number of values of the parameter."),
        "lowest": Column("Lowest value."),
        "mean": Column("Mean value."),
        "highest": Column("Highest value."),
    }

    model: PageModel
    items: Items
    n_ranks: int
    tallies: Tallies
    objective: Floats
    n_pages: int

    @cached_property
    def values(self) -> dict[str, Floats]:
        """Values of each parameter, by name; the last one is for items not seen in training."""
        return self.model.estimate_values(self.tallies)

    @cached_property
    def parameters(self) -> dict[str, pl.DataFrame]:
        """Data frame of the values of each parameter, by name.

        The first columns are the keys of a value: `query` and `doc`, or `grade` (null is unjudged),
        `rank` from 1, `last` (rank of the last click above, 0 for none) or `after` (the case of a
        continuation). Then come the `value`, its standard `error` (standard deviation of the
        posterior Beta distribution; null for a fixed value), and `hits` out of `trials`. Standard
        errors treat expected counts as observed, so they are too small for models with hidden
        states.
        """
        tables = {}
        for name, tally in self.tallies.items():
            errors = self.model.compute_standard_errors(tally)
            values = {"value": self.values[name][:-1], "error": errors}
            keys = self._list_keys(self.model.variables[name]).to_dict()
            tables[name] = pl.DataFrame({**keys, **values, **vars(tally)})
            if name in self.model.get_fixed_values():
                tables[name] = tables[name].with_columns(error=pl.lit(None, pl.Float64))
        return tables

    def _list_keys(self, variable: str) -> pl.DataFrame:
        ranks = np.arange(1, self.n_ranks + 1)
        if variable == "item":
            return self.items.frame
        if variable == "rank and last click":
            start = ranks * (ranks - 1) // 2
            last = np.arange(ranks.sum()) - np.repeat(start, ranks)
            return pl.DataFrame({"rank": np.repeat(ranks, ranks), "last": last})
        columns: dict[str, Any] = {"case": {"after": self.model.cases}, "rank": {"rank": ranks}}
        return pl.DataFrame(columns.get(variable))

    def extract_patterns(self, log: QueryLog) -> Patterns:
        """Return the click patterns of a log's pages, with items of this model."""
        return extract_patterns(log, self.items)

    def compute_click_probabilities(self, log: QueryLog) -> pl.DataFrame:
        """Compute the marginal probability of a click on each result of a log.

        Returns
        -------
        polars.DataFrame
            Results of the log: `page`, `rank`, `doc`, `probability`, and `unseen`, whether a
            parameter of the result was not seen in training. Parameters of unseen items are prior
            means; those of unseen ranks are those of the last trained rank.
        """
        pages = self.extract_patterns(log)
        probability = self.model.compute_click_probabilities(self.values, pages)
        return self._make_result_table(log, pages, probability)

    def compute_conditional_probabilities(self, log: QueryLog) -> pl.DataFrame:
        """Compute the probability of the observation of each result, given the clicks above it.

        Returns
        -------
        polars.DataFrame
            As for :meth:`compute_click_probabilities`. The product over a page is the probability
            of its clicks.
        """
        pages = self.extract_patterns(log)
        probability = self.model.compute_conditional_probabilities(self.values, pages)
        return self._make_result_table(log, pages, probability)

    def _make_result_table(
        self, log: QueryLog, pages: Patterns, probability: Floats
    ) -> pl.DataFrame:
        rows = log.results.select("page", "rank", "doc")
        page, rank = rows["page"].to_numpy(), rows["rank"].to_numpy().astype(np.intp)
        index = pages.index_results(page, rank)
        columns = {"probability": probability[index], "unseen": self.mask_unseen(pages)[index]}
        return rows.hstack(pl.DataFrame(columns))

    def mask_unseen(self, pages: Patterns) -> Bools:
        """Return a mask of results with a parameter that was not seen in training."""
        is_new_item = (pages.codes == self.items.size) & ("item" in self.model.variables.values())
        is_new_rank = (pages.rank >= self.n_ranks) & self.model.depends_on_rank
        return np.asarray(is_new_item | is_new_rank)

    def estimate_relevance(self) -> pl.DataFrame:
        """Estimate relevance: attractiveness (or click rate), times satisfaction if modelled.

        Returns
        -------
        polars.DataFrame
            `query`, `doc` and `relevance`; with parameters tied by grade, `grade` and `relevance`.

        Raises
        ------
        PolicyError
            For GCTR and RCTR, which do not distinguish documents.
        """
        relevance = self.model.compute_relevance(self.values)
        return self.items.frame.with_columns(pl.Series("relevance", relevance))

    def as_qrels(self, threshold: float = 0.5) -> Qrels:
        """Return judgments: 1 for documents whose relevance is at least the threshold, else 0."""
        check_number("threshold", threshold, 0, 1)
        grade = (pl.col("relevance") >= threshold).cast(pl.Int32)
        table = self.estimate_document_relevance()
        return read_qrels(table.select("doc", topic="query", grade=grade))

    def as_run(self) -> Run:
        """Return a run that ranks the documents of each query by relevance."""
        table = self.estimate_document_relevance()
        run = read_run(table.select("doc", topic="query", score="relevance"))
        return run.rename(self.model.name)

    def estimate_document_relevance(self) -> pl.DataFrame:
        """Estimate the relevance of documents; refuse a model tied by grade."""
        if self.items.tied is not None:
            reason = "expected a model with parameters by document, got a model tied by grade"
            raise PolicyError(f"{reason}; use train(..., tied='none')")
        return self.estimate_relevance()

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a JSON file atomically."""
        fields = {
            "kind": FILE_KIND,
            "version": FILE_VERSION,
            "model": str(self.model),
            "tied": self.items.tied,
            "ranks": self.n_ranks,
            "pages": self.n_pages,
            "items": self.items.frame.to_dict(as_series=False),
            "tallies": {
                name: {field: values.tolist() for field, values in vars(tally).items()}
                for name, tally in self.tallies.items()
            },
            "objective": self.objective.tolist(),
        }
        with open_atomically(path) as file:
            file.write(json.dumps(fields).encode())

    @staticmethod
    def load(path: str | PathLike[str]) -> ClickModel:
        """Read a saved model with exactly the saved values.

        Raises
        ------
        InputError
            For a file that is not a trained click model, or whose values are inconsistent.
        """
        return ClickModel(**read_fields(path))

    def measure(
        self,
        kind: str = "utility",
        *,
        separates_unjudged: bool = False,
        digits: int | None = None,
        **options: Any,
    ) -> Measure:
        """Convert a model tied by grade to a measure of rankings.

        Parameters
        ----------
        kind
            `utility`, the expected gain of clicked results, or `effort`, the expected reciprocal
            rank of the satisfying click, for models of satisfaction.
        separates_unjudged
            Whether unjudged documents have their own probabilities; by default they have those of
            grade 0.
        digits
            Decimals of the probabilities, for a shorter text form; by default all.
        options
            Other parameters of the measure, such as `gains='graded'` or `cutoff=10`. By default the
            cutoff is the length of the longest training page, for probabilities by rank.

        Returns
        -------
        Measure
            The measure; its text form has all parameters and can be parsed.

        Raises
        ------
        PolicyError
            For a model that is not tied by grade, or that has no measure of this kind.
        MeasureError
            For invalid parameters of the measure, or a text form that is too long.

        Examples
        --------
        >>> import cranfield as cf
        >>> model = cf.online.train(cf.online.simulated_log(), "SDBN", tied="grade")
        >>> effort = model.measure("effort", digits=2)
        >>> cf.parse_measure(str(effort)) == effort
        True
        """
        check_choice("kind", kind, MEASURE_KINDS)
        if digits is not None:
            check_integer("digits", digits, 0)
        name = self.model.name
        if name not in _MEASURES:
            raise PolicyError(f"{name} cannot be a measure: clicks do not depend on documents")
        measure_names, parameters = _MEASURES[name]
        measure_name = measure_names[MEASURE_KINDS.index(kind)]
        if not measure_name:
            default_reason = "it does not model whether a click satisfies the user"
            reason = UNSUPPORTED_NAMES.get(f"rr{name}", default_reason)
            raise PolicyError(f"{name} has no measure of effort: {reason}")
        if self.items.tied != "grade":
            reason = "a measure requires a model tied by grade, got a model by document"
            raise PolicyError(f"{reason}; use train(..., tied='grade')")
        if self.model.depends_on_rank and options.get("cutoff") is None:
            options["cutoff"] = self.n_ranks
        max_rank = min(self.n_ranks, options.get("cutoff") or self.n_ranks)
        for argument, parameter in parameters.items():
            frame, variable = self.parameters[parameter], self.model.variables[parameter]
            if digits is not None:
                frame = frame.with_columns(pl.col("value").round(digits))
            if variable == "item" and not separates_unjudged:
                frame = frame.drop_nulls("grade")
            options |= _convert_parameter(argument, variable, frame, max_rank)
        if name == "CM":
            options["satisfies"] = dict.fromkeys(options["clicks"], 1.0)
        measure: Measure = REGISTRY[measure_name](**options)
        measure.require_complete()
        if len(str(measure)) > MAX_LENGTH:
            text_form = f"the text form of {measure_name} down to rank {max_rank}"
            raise MeasureError(f"{text_form} exceeds {MAX_LENGTH:,} characters; set a lower cutoff")
        return measure

    def make_user_model(
        self, *, separates_unjudged: bool = False, **options: Any
    ) -> ContinuationModel:
        """Convert a model tied by grade to a C/W/L user model.

        Users at rank i continue with probability :math:`C(i) = \\gamma (1 - a_i s_i)` in DBN, SDBN
        (:math:`\\gamma = 1`) and CM (also :math:`s_i = 1`),
        :math:`(1-a_i)\\tau_1 + a_i((1-a_i)\\tau_2 + a_i\\tau_3)` in CCM, and :math:`x_{i+1} / x_i`
        in PBM, if it is at most 1. Here a is the attractiveness, s the satisfaction, x the
        examination, and gamma and tau the continuation. All users read the first rank.

        Parameters
        ----------
        separates_unjudged
            As for :meth:`measure`.
        options
            Other parameters of the user model, such as `gains='graded'`.

        Returns
        -------
        ContinuationModel
            `CWL(...)`, the user model for `EU`, `ETU`, `EC`, `Depth` and `Residual`.

        Raises
        ------
        PolicyError
            For a model that is not tied by grade, or whose users do not read from rank to rank.
        MeasureError
            For a PBM in which a rank is examined more often than the rank above it, and for DCM,
            whose users continue by both grade and rank.
        """
        name = self.model.name
        utility = None if name == "DCTR" else self.measure(separates_unjudged=separates_unjudged)
        if not isinstance(utility, ChainMeasure):
            cause = "its users do not read a page from top to bottom"
            raise PolicyError(f"{name} has no user model, as {cause}")
        return click_user_model(utility, **options)

    def make_user(self) -> ModelUser:
        """Return a simulated user who clicks according to the model."""
        return ModelUser(self)

    def simulate(self, lists: Mapping[str, Sequence[Any]], n: int = 1, seed: int = 0) -> QueryLog:
        """Draw clicks on pages.

        Parameters
        ----------
        lists
            Documents shown for each query; for a model tied by grade, the grades of these
            documents, None for unjudged documents.
        n
            Number of pages to draw for each list.
        seed
            Seed; page k of a list has the same clicks for every `n`.

        Returns
        -------
        QueryLog
            The pages, in order of the lists.
        """
        check_integer("n", n, 1)
        tied, queries = self.items.tied, list(map(str, lists))
        item_column = {"grade": pl.Int64} if tied else {"doc": pl.String}
        schema = {"page": pl.Int64, "rank": pl.Int64, **item_column}
        numbered_lists = enumerate(lists.values())
        rows = [(k, rank, x) for k, row in numbered_lists for rank, x in enumerate(row, 1)]
        table = pl.DataFrame(rows, schema=schema, orient="row", strict=False)
        if tied is not None:
            table = table.with_columns(doc=pl.format("d{}", "rank"))
        list_log = make_log(pl.DataFrame({"id": queries, "query": queries}), table)
        max_length = max(map(len, lists.values()), default=0)
        codes = np.full((len(queries), max_length), -1, dtype=np.intp)
        codes[table["page"], table["rank"] - 1] = self.items.encode_results(list_log)
        draws = [draw_uniforms(seed, 0, n, 2 * max_length, index) for index in range(len(queries))]
        is_clicked = self.draw_clicks(np.repeat(codes, n, axis=0), np.concatenate(draws))
        page, position = np.nonzero(is_clicked)
        ids = [(f"{query}-{k}", query) for query in queries for k in range(1, n + 1)]
        pages = pl.DataFrame({"list": np.arange(len(ids)) // n, "page": np.arange(len(ids))})
        results = pages.join(table.rename({"page": "list"}), on="list", maintain_order="left_right")
        clicks = pl.DataFrame({"page": page, "rank": position + 1})
        return make_log(
            pl.DataFrame(ids, schema=["id", "query"], orient="row"),
            results,
            clicks.join(results, on=["page", "rank"], how="left", maintain_order="left"),
            source=f"pages drawn from {self.model}, seed {seed}",
        )

    def draw_clicks(self, codes: Indices, numbers: Floats) -> Bools:
        """Draw clicks on pages of item codes, -1 after the end of a list, from uniform `numbers`.

        The clicks on a page are drawn from the top, each conditional on those above.
        """
        lengths = (codes >= 0).sum(axis=1)
        order = np.argsort(-lengths, kind="stable")
        counts = np.searchsorted(-lengths[order], -np.arange(codes.shape[1]), side="left")
        rows = [order[:count] for count in counts.tolist() if count]
        clicks = np.zeros(codes.shape, dtype=bool)

        def decide(rank: int, probability: Floats) -> Bools:
            is_clicked = numbers[rows[rank], rank] < probability
            clicks[rows[rank], rank] = is_clicked
            return np.asarray(is_clicked)

        items = [codes[rank_rows, rank] for rank, rank_rows in enumerate(rows)]
        self.model.walk(self.values, items, decide)
        return clicks

    def _frame(self) -> pl.DataFrame:
        item = self.items.tied or "query and document"
        rows = []
        for name, frame in self.parameters.items():
            variable, values = self.model.variables[name] or "nothing", frame["value"]
            summary = values.len(), values.min(), values.to_numpy().mean(), values.max()
            rows.append((name, item if variable == "item" else variable, *summary))
        return pl.DataFrame(rows, schema=list(self.columns), orient="row")

    def facts(self) -> dict[str, Any]:
        return {"model": str(self.model), "n_ranks": self.n_ranks, "n_pages": self.n_pages}

    def heading(self) -> list[str]:
        items = inflect(self.items.size, "grade" if self.items.tied else "document")
        return [f"{self.model}, {items}, {inflect(self.n_pages, 'page')}"]


@dataclass(frozen=True, eq=False)
class ModelUser:
    """A simulated user of a trained click model."""

    model: ClickModel

    def draw_clicks(self, grades: Ints, uniforms: Floats) -> Bools:
        """Draw clicks on pages, like :meth:`CascadeUser.draw_clicks`.

        For a model that is not tied by grade, `grades` are indices of items (rows of parameters of
        the model); -1 after the end of a list.
        """
        codes = np.asarray(grades)
        if codes.ndim != 2 or uniforms.shape[0] != codes.shape[0]:
            expected = "grades must have shape (pages, ranks), and uniforms one row for each page"
            raise PolicyError(f"{expected}, got shapes {codes.shape} and {uniforms.shape}")
        items = self.model.items
        item_codes = np.minimum(codes, items.size)
        if items.tied is not None:
            item_by_grade = {grade: k for k, grade in enumerate(items.frame["grade"])} | {-1: -1}
            convert = np.vectorize(lambda grade: item_by_grade.get(grade, items.size), [int])
            item_codes = convert(codes)
        return self.model.draw_clicks(item_codes.astype(np.intp), uniforms)


def train(
    log: QueryLog, model: str | PageModel, *, tied: str | None = None, qrels: Any = None
) -> ClickModel:
    """Estimate the parameters of a click model.

    Parameters
    ----------
    log
        Pages with all their results and the clicks on them. Several clicks on a result count once.
        Clicks that are not on a result, and pages without results, are ignored.
    model
        Click model, such as `DBN`, `DBN(gamma=0.9)` or `PBM(iterations=100)`; :func:`models` lists
        them. Each parameter is a probability with a Beta prior, whose `alpha` and `beta` are 2 by
        default, as in PyClick.
    tied
        None for parameters of each query and document; `grade` for parameters of each grade of
        relevance, with a separate class for results without a grade.
    qrels
        Judgments with the grades to tie by, for a log without grades of results.

    Raises
    ------
    InputError
        For a log without results or clicks, or with `tied` without grades; and for pages with gaps
        between ranks.
    PolicyError
        For an unknown model or invalid options.

    Examples
    --------
    >>> import cranfield as cf
    >>> cf.online.train(cf.online.simulated_log(), "SDBN").model
    SDBN
    """
    return train_models(log, [model], tied=tied, qrels=qrels)[0]


def train_models(
    log: QueryLog,
    models: Iterable[str | PageModel],
    *,
    tied: Annotated[str | None, OneOf(TIED_BY)] = None,
    qrels: Any = None,
) -> tuple[ClickModel, ...]:
    """Estimate the parameters of several click models on the same pages.

    Parameters
    ----------
    log, qrels
        As for :func:`train`.
    models
        Click models, such as `UBM` or `DBN(gamma=0.9)`; :func:`models` lists them.
    tied
        How documents share parameters: not at all (`none`, default), or by their grade of relevance
        (`grade`), with a separate class for results without a grade.

    Examples
    --------
    >>> import cranfield as cf
    >>> models = cf.online.train_models(cf.online.simulated_log(), ["PBM", "UBM"])
    >>> [trained.model for trained in models]
    [PBM, UBM]
    """
    check_list("models", models)
    parsed_models = [parse_model(model) for model in models]
    check_choice("tied", "none" if tied is None else tied, TIED_BY)
    tied = "grade" if tied == "grade" else None
    if qrels is not None:
        if tied is None:
            raise PolicyError("qrels requires tied='grade'")
        log = add_grades(log, qrels)
    pages = extract_patterns(log, Items.from_log(log, tied))
    items, n_ranks, n_pages = pages.items, pages.n_ranks, int(pages.pattern_weights.sum())
    return tuple(ClickModel(m, items, n_ranks, *m.fit(pages), n_pages) for m in parsed_models)
