"""Evaluate click models by their predictions on a log."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, slice_rows
from cranfield.base.errors import PolicyError, check_integer, check_list, quote, warn
from cranfield.base.kinds import Integer, UnitInterval, check_arguments
from cranfield.base.streams import make_stream
from cranfield.base.text import inflect
from cranfield.collection.files.reading import read_qrels
from cranfield.evaluation.evaluate_runs import evaluate
from cranfield.online.click_models.model import (
    Items,
    PageModel,
    Patterns,
    add_grades,
    extract_patterns,
    parse_model,
)
from cranfield.online.click_models.trained import ClickModel
from cranfield.online.log.query_log import QueryLog
from cranfield.result import Column, Columns, Result, TableResult, declare_bounds
from cranfield.significance.registry import MAX_RESAMPLES
from cranfield.tabular import format_interval, format_number

BLOCK_DRAWS = 2**22  # Number of values drawn at a time; results for a seed depend on it


@dataclass(frozen=True, eq=False, repr=False)
class ModelEvaluation(Result):
    r"""Quality of click models on a log; returned by :func:`evaluate_models`.

    In the columns, :math:`q_r` is the probability of the observation (click or no click) at rank r
    given the clicks above it, and :math:`p_r` is its marginal probability.

    Attributes
    ----------
    models, ranks
        Tables with one row per model, and one row per model and rank.
    n_clicks
        Number of clicked results.
    """

    name: ClassVar[str] = "models"
    columns: ClassVar[Mapping[str, Columns]] = {
        "models": {
            "model": Column("Click model.", key=True),
            "log-likelihood": Column(
                r"Sum over all results of :math:`\ln q_r`, for the probability q_r of the"
                " observation (click or no click) given the clicks above.",
                decimals=2,
            ),
            "by page": Column("Log-likelihood divided by the number of pages."),
            "by result": Column("Log-likelihood divided by the number of results."),
            "by rank of page": Column(
                r"Mean over pages of their mean :math:`\ln q_r` (as in PyClick)."
            ),
            "perplexity": Column("Mean perplexity over ranks; 1 is best."),
            "conditional perplexity": Column(
                "Mean over ranks of the perplexity given the clicks above; 1 is best."
            ),
            "AUC": Column(
                "Probability that a clicked result has a higher predicted click probability than"
                " another result; ties count one half; NaN if all or no results are clicked."
            ),
            "RMSE": Column("Root mean square of click (1 or 0) minus marginal probability."),
            "unseen": Column("Number of results with a parameter that was not seen in training."),
            "impossible": Column("Number of observations of probability 0 given the clicks above."),
        },
        "ranks": {
            "model": Column("Click model.", key=True),
            "rank": Column("Rank.", key=True),
            "pages": Column("Number of pages with this rank."),
            "perplexity": Column(
                r"Perplexity :math:`2^{-\text{mean over pages of} \log_2 p_r}`, for the probability"
                " p_r of the observation (click or no click) at the rank; 1 is best."
            ),
            "conditional perplexity": Column("Perplexity given the clicks above; 1 is best."),
        },
    }

    models: pl.DataFrame
    ranks: pl.DataFrame
    n_clicks: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the models."""
        return tuple(self.models["model"])

    def frames(self) -> dict[str, pl.DataFrame]:
        return {"models": self.models, "ranks": self.ranks}

    def facts(self) -> dict[str, Any]:
        return {"names": self.names, "n_clicks": self.n_clicks}

    def heading(self) -> list[str]:
        best_model = self.names[self.models["log-likelihood"].to_numpy().argmax()]
        pages = self.ranks["pages"].head(self.ranks.height // len(self.names)).to_numpy()
        sizes = {"page": pages[0], "result": pages.sum(), "click": self.n_clicks}
        models = f"{inflect(len(self.names), 'model')}, highest log-likelihood: {best_model}"
        return [models, ", ".join(inflect(int(size), noun) for noun, size in sizes.items())]


def evaluate_models(
    models: ClickModel | Iterable[ClickModel], log: QueryLog, *, qrels: Any = None
) -> ModelEvaluation:
    """Evaluate the predictions of click models on the clicks of a log.

    Parameters
    ----------
    models
        One or several trained models, from :func:`train`.
    log
        Pages on which the models were not trained.
    qrels
        Judgments with the grades of results, for models tied by grade and a log without grades.

    Notes
    -----
    An observation with probability 0 given the clicks above, such as a second click under `CM`,
    makes the log-likelihood minus infinity and the conditional perplexity infinite; the column
    `impossible` counts such observations.

    Sources: Dupret and Piwowarski (2008) for perplexity; PyClick for the mean over pages of means
    over ranks.

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> days = log.pages["time"].dt.day()
    >>> old, new = log.select_pages(days < 12), log.select_pages(days >= 12)
    >>> models = cf.online.train_models(old, ["GCTR", "PBM"])
    >>> evaluation = cf.online.evaluate_models(models, new)
    >>> evaluation.models.sort("perplexity")["model"].to_list()
    ['PBM', 'GCTR']
    """
    model_list = _list_models(models)
    if qrels is not None:
        log = add_grades(log, qrels)
    patterns = _collect_patterns(model_list, log)
    rows, frames = zip(*map(_evaluate_model, model_list, patterns), strict=True)
    n_clicks = int(patterns[0].result_weights @ patterns[0].clicks)
    return ModelEvaluation(pl.DataFrame(rows), pl.concat(frames), n_clicks)


def tabulate_parameters(models: Iterable[ClickModel]) -> pl.DataFrame:
    """Tabulate all values of several models; column `key` has keys such as 'grade 1, rank 2'."""
    frames = []
    value_columns = ("value", "error", "hits", "trials")
    for model in models:
        for parameter, frame in model.parameters.items():
            names = [key for key in frame.columns if key not in value_columns]
            texts = {key: pl.col(key).cast(pl.String).fill_null("unjudged") for key in names}
            keys = [pl.format(f"{key} {{}}", text) for key, text in texts.items()]
            key_text = pl.concat_str(keys, separator=", ") if keys else pl.lit("")
            labels = {"model": pl.lit(str(model.model)), "parameter": pl.lit(parameter)}
            labels |= {"key": key_text}
            frames.append(frame.select(*value_columns, **labels).select(*labels, *value_columns))
    return pl.concat(frames)


def label_model(model: ClickModel) -> str:
    """Return the text form of a model, followed by `by grade` if it is tied by grade."""
    return f"{model.model} by {model.items.tied}" if model.items.tied else str(model.model)


def _list_models(models: ClickModel | Iterable[ClickModel]) -> list[ClickModel]:
    check_list("models", models)
    model_list = [models] if isinstance(models, ClickModel) else list(models)
    if not model_list:
        raise PolicyError("expected at least one click model, got none")
    return model_list


def _collect_patterns(models: list[ClickModel], log: QueryLog) -> list[Patterns]:
    """Return the patterns of a log for each model; models with the same items share patterns."""
    model_by_items = {id(model.items): model for model in models}
    patterns = {key: model.extract_patterns(log) for key, model in model_by_items.items()}
    return [patterns[id(model.items)] for model in models]


def _evaluate_model(model: ClickModel, pages: Patterns) -> tuple[dict[str, Any], pl.DataFrame]:
    """Return the row of a model in the table of models, and its table of ranks."""
    weight, n_pages = pages.result_weights, np.bincount(pages.rank, pages.result_weights)
    click_probability = model.model.compute_click_probabilities(model.values, pages)
    conditional_logs = _take_log(model.model.compute_conditional_probabilities(model.values, pages))
    marginal_logs = _take_log(np.where(pages.clicks, click_probability, 1 - click_probability))
    logarithms = {"perplexity": marginal_logs, "conditional perplexity": conditional_logs}
    means = {name: np.bincount(pages.rank, x * weight) / n_pages for name, x in logarithms.items()}
    perplexities = {name: np.exp(-mean) for name, mean in means.items()}
    page_means = np.bincount(pages.pattern, conditional_logs) / pages.lengths
    squared_errors = np.square(pages.clicks - click_probability)
    log_likelihood = float(conditional_logs @ weight)
    row = {
        "model": label_model(model),
        "log-likelihood": log_likelihood,
        "by page": log_likelihood / n_pages[0],
        "by result": log_likelihood / n_pages.sum(),
        "by rank of page": float(page_means @ pages.pattern_weights / pages.pattern_weights.sum()),
        **{name: float(values.mean()) for name, values in perplexities.items()},
        "AUC": compute_auc(click_probability, pages.clicks, weight),
        "RMSE": float(np.sqrt(squared_errors @ weight / weight.sum())),
        "unseen": int(weight[model.mask_unseen(pages)].sum()),
        "impossible": int(weight[np.isneginf(conditional_logs)].sum()),
    }
    ranks = {"rank": np.arange(1, pages.n_ranks + 1), "pages": n_pages.astype(np.int64)}
    return row, pl.DataFrame({"model": label_model(model), **ranks, **perplexities})


def _take_log(probability: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        return np.log(probability)


def compute_auc(values: Floats, is_positive: Bools, weights: Floats) -> float:
    """Compute the area under the ROC curve; ties count one half. It is NaN for a single class."""
    level = np.unique(values, return_inverse=True)[1]
    positives = np.bincount(level, weights * is_positive)
    negatives = np.bincount(level, weights) - positives
    n_below = np.cumsum(negatives) - negatives
    n_pairs = positives.sum() * negatives.sum()
    return float(positives @ (n_below + negatives / 2) / n_pairs) if n_pairs else np.nan


@dataclass(frozen=True, eq=False, repr=False)
class PerplexityGain(Result):
    """Gain in perplexity of one click model over another; returned by :func:`perplexity_gain`.

    Attributes
    ----------
    model, baseline, gain, low, high, n_queries
        The columns of the table.
    by_rank
        Gain at each rank; shape (ranks,).
    confidence, resamples, seed, is_conditional
        As for :func:`perplexity_gain`.
    """

    name: ClassVar[str] = "gain"
    columns: ClassVar[Columns] = {
        "model": Column("Click model B.", key=True),
        "baseline": Column("Click model A.", key=True),
        "gain": Column("(p_A - p_B) / (p_A - 1) for the mean perplexities p over ranks."),
        **declare_bounds(
            "confidence interval (bootstrap over queries)",
            "; NaN for one query, equal queries, or an observation of probability 0",
        ),
        "queries": Column("Number of queries."),
    }

    model: str
    baseline: str
    gain: float
    low: float
    high: float
    by_rank: Floats
    n_queries: int
    confidence: float
    resamples: int
    seed: int
    is_conditional: bool

    def _frame(self) -> pl.DataFrame:
        values = {**vars(self), "queries": self.n_queries}
        return pl.DataFrame({name: [values[name]] for name in self.columns})

    def facts(self) -> dict[str, Any]:
        names = ("confidence", "resamples", "seed", "is_conditional")
        return {name: getattr(self, name) for name in names}

    def heading(self) -> list[str]:
        reason = "one query" if self.n_queries == 1 else "all queries equal"
        reason = reason if np.isfinite(self.gain) else "an observation has probability 0"
        interval = format_interval(self.low, self.high) or f"no interval: {reason}"
        return [f"{self.model} over {self.baseline}: {format_number(self.gain)}, {interval}"]


def perplexity_gain(
    model: ClickModel,
    baseline: ClickModel,
    log: QueryLog,
    *,
    qrels: Any = None,
    is_conditional: bool = False,
    confidence: Annotated[float, UnitInterval()] = 0.95,
    resamples: Annotated[int, Integer(1, MAX_RESAMPLES)] = 2000,
    seed: Annotated[int, Integer(0)] = 0,
) -> PerplexityGain:
    r"""Compare the perplexities of two click models on the same pages.

    .. math:: \frac{p_A - p_B}{p_A - 1}

    is the proportion by which B reduces the excess of A's perplexity over 1, the perplexity of a
    perfect model. Intervals are percentiles over resamples of the queries; both models are
    evaluated on the same resamples.

    Parameters
    ----------
    model
        The model B, with the mean perplexity p_B over ranks.
    baseline
        The model A, relative to which the gain is computed, with the mean perplexity p_A.
    log, qrels
        As for :func:`evaluate_models`.
    is_conditional
        Whether probabilities are conditional on the clicks above.
    confidence
        Confidence level.
    resamples
        Number of bootstrap resamples of the queries.
    seed
        Seed of the bootstrap.

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> rctr, pbm = cf.online.train_models(log, ["RCTR", "PBM"])
    >>> cf.online.perplexity_gain(pbm, rctr, log).gain > 0
    True
    """
    check_arguments(perplexity_gain, locals())
    if qrels is not None:
        log = add_grades(log, qrels)
    page, rank = log.results["page"].to_numpy(), log.results["rank"].to_numpy().astype(np.intp)
    queries = log.pages["query"].gather(page)
    query_names = queries.unique(maintain_order=True)
    n_queries = query_names.len()
    patterns = _collect_patterns([baseline, model], log)
    n_ranks = patterns[0].n_ranks
    query_codes = queries.cast(pl.Enum(query_names)).to_physical().to_numpy()
    cell = query_codes.astype(np.intp) * n_ranks + rank - 1
    shape = (n_queries, n_ranks)

    def sum_by_query(values: Floats | None) -> Floats:
        return np.bincount(cell, values, n_queries * n_ranks).reshape(shape).astype(np.float64)

    query_pages, sums = sum_by_query(None), np.empty((2, *shape))
    for k, (trained, pages) in enumerate(zip((baseline, model), patterns, strict=True)):
        if is_conditional:
            probability = trained.model.compute_conditional_probabilities(trained.values, pages)
        else:
            click = trained.model.compute_click_probabilities(trained.values, pages)
            probability = np.where(pages.clicks, click, 1 - click)
        sums[k] = sum_by_query(_take_log(probability)[pages.index_results(page, rank)])

    def compute_gains(log_sums: Floats, n_pages: Floats) -> tuple[Floats, Floats]:
        """Compute the gain of mean perplexities and of each rank with pages (else NaN)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            perplexities = np.where(n_pages > 0, np.exp(-log_sums / n_pages), np.nan)
            a, b = np.nanmean(perplexities, axis=-1)
            return (a - b) / (a - 1), (perplexities[0] - perplexities[1]) / (perplexities[0] - 1)

    gain, by_rank = compute_gains(sums.sum(axis=1), query_pages.sum(axis=0))
    low = high = np.nan
    if n_queries > 1 and np.isfinite(sums).all():
        uniform, samples = np.full(n_queries, 1 / n_queries), np.empty(resamples)
        for block in slice_rows(resamples, n_queries, BLOCK_DRAWS):
            size = block.stop - block.start
            counts = make_stream(seed, block.start).multinomial(n_queries, uniform, size=size) * 1.0
            samples[block] = compute_gains(counts @ sums, counts @ query_pages)[0]
        # If all queries are equal, the variance cannot be estimated.
        if np.ptp(samples) > 1e-12:
            tail = (1 - confidence) / 2
            low, high = np.quantile(samples, [tail, 1 - tail]).tolist()
    names = label_model(model), label_model(baseline)
    options: Any = confidence, resamples, seed, is_conditional
    return PerplexityGain(*names, float(gain), low, high, by_rank, n_queries, *options)


def compute_perplexity_gains(
    models: Iterable[ClickModel], baseline: PageModel, log: QueryLog, **options: Any
) -> pl.DataFrame:
    """Compute the gain of each model over the baseline, which must be one of the models."""
    model_list = list(models)
    [reference] = [model for model in model_list if model.model == baseline]
    compared_models = [model for model in model_list if model is not reference]
    gains = [perplexity_gain(model, reference, log, **options) for model in compared_models]
    return pl.concat(gain.to_polars() for gain in gains)


def predict_relevance(
    models: ClickModel | Iterable[ClickModel],
    qrels: Any,
    measures: Sequence[Any] = ("nDCG@10",),
    *,
    rel: int = 1,
) -> pl.DataFrame:
    """Compare the relevance estimates of click models with judgments.

    Parameters
    ----------
    models
        One or several trained models whose parameters are not tied by grade.
    qrels
        Judgments, in any form that :func:`cranfield.read_qrels` accepts.
    measures
        Measures of rankings of the documents of each query by estimated relevance. Means are over
        the judged queries of the log; a warning reports judged queries that the log does not have.
    rel
        Lowest relevant grade for the area under the curve.

    Returns
    -------
    polars.DataFrame
        One row per model: the number of its `judged` documents; `AUC`, the probability that a
        relevant document of any query has a higher estimate than a document that is judged not
        relevant (ties count one half; NaN for a single class); and the mean of each measure.

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> results = log.results.with_columns(topic=log.pages["query"].gather(log.results["page"]))
    >>> qrels = results.drop_nulls("grade").select("topic", "doc", "grade").unique()
    >>> table = cf.online.predict_relevance(cf.online.train(log, "SDBN"), qrels)
    >>> table.columns
    ['model', 'judged', 'AUC', 'nDCG@10']
    """
    check_list("measures", measures)
    model_list = _list_models(models)
    check_integer("rel", rel, -(10**9))
    judgments = read_qrels(qrels).merge_subtopics()
    table = judgments.to_polars().select(pl.col("topic").alias("query"), "doc", "grade")
    rows = []
    missing_queries: set[str] = set()
    for model in model_list:
        docs = model.estimate_document_relevance().join(table, on=["query", "doc"], how="inner")
        relevance, is_relevant = docs["relevance"].to_numpy(), (docs["grade"] >= rel).to_numpy()
        auc = compute_auc(relevance, is_relevant, np.ones(docs.height))
        run = model.as_run()
        missing_queries |= {*judgments.topics} - {*run.topics}
        scores = evaluate(run, judgments, list(measures), topics="intersection")
        means = {name: float(values.mean()[0]) for name, values in scores.items()}
        rows.append({"model": label_model(model), "judged": docs.height, "AUC": auc, **means})
    if missing_queries:
        subject = inflect(len(missing_queries), "judged query")
        warn(f"{subject} excluded: not in the log, such as {quote(min(missing_queries))}")
    return pl.DataFrame(rows)


@dataclass(frozen=True, eq=False, repr=False)
class RatePrediction(TableResult):
    """Observed and predicted click rates at the first rank; returned by :func:`predict_rates`.

    Attributes
    ----------
    rows
        The table, one row per query and document.
    model
        Name of the click model.
    """

    name: ClassVar[str] = "rates"
    columns: ClassVar[Columns] = {
        "query": Column("Query.", key=True),
        "doc": Column("Document.", key=True),
        "pages": Column("Number of pages with the document at the first rank."),
        "rate": Column("Observed click rate on pages with the document at the first rank."),
        "predicted": Column("Click rate predicted from the other pages."),
    }

    model: str

    @property
    def error(self) -> float:
        """Root mean square of rate minus prediction, weighted by pages; NaN without documents."""
        if self.rows.is_empty():
            return np.nan
        return float(np.sqrt(np.average((self.rate - self.predicted) ** 2, weights=self.pages)))

    def heading(self) -> list[str]:
        documents = inflect(self.rows.height, "document")
        return [f"{self.model}, {documents}, RMSE {format_number(self.error)}"]


def predict_rates(log: QueryLog, model: str | PageModel) -> RatePrediction:
    """Predict click rates at the first rank from pages with the document at other ranks.

    This is done for each document that is first on some pages of a query and lower on other pages.
    The model is trained on the pages of the query on which the document is not first, and predicts
    the probability of a click on the document at the first rank.

    Parameters
    ----------
    log
        Pages with results.
    model
        Click model, such as `SDBN`; :func:`models` lists them.

    Notes
    -----
    The model is trained once per document, which takes long for large logs.

    Source: Chapelle and Zhang (2009), section 4.2.

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> cf.online.predict_rates(log, "SDBN")
    RatePrediction(SDBN, 94 documents, RMSE 0.2053)
    """
    model = parse_model(model)
    log.require("results", purpose="a click model")
    results = log.results.with_columns(query=log.pages["query"].gather(log.results["page"]))
    is_first = pl.col("rank") == 1
    docs = results.group_by("query", "doc").agg(is_top=is_first.any(), is_lower=(~is_first).any())
    queries = docs.filter("is_top", "is_lower")["query"].unique().sort().to_list()
    rows = [row for query in queries for row in _predict_query(log, query, model)]
    types = (pl.String, pl.String, pl.Int64, pl.Float64, pl.Float64)
    schema = dict(zip(RatePrediction.columns, types, strict=True))
    return RatePrediction(pl.DataFrame(rows, schema=schema, orient="row"), str(model))


def _predict_query(
    log: QueryLog, query: str, model: PageModel
) -> Iterable[tuple[str, str, int, float, float]]:
    query_log = log.select_pages(pl.col("query") == query)
    items = Items.from_log(query_log, None)
    pages = extract_patterns(query_log, items)
    top_items = pages.codes[pages.slices[0]]
    lower_items = np.unique(pages.codes[pages.slices[0].stop :])
    top_clicks = pages.clicks[pages.slices[0]]
    for item in np.intersect1d(top_items, lower_items).tolist():
        is_first = top_items == item
        weights: Floats = np.where(is_first, 0.0, pages.pattern_weights)
        if not weights[pages.pattern[pages.codes == item]].any():
            continue  # All pages with the item at a lower rank also have it at the first rank.
        tallies, _ = model.fit(replace(pages, pattern_weights=weights))
        item_index = np.array([item])
        values, state = model.estimate_values(tallies), model.start_state(1)
        predicted = model.predict_clicks(values, 0, item_index, state)
        test_weights = pages.pattern_weights[is_first]
        rate = float(test_weights @ top_clicks[is_first] / test_weights.sum())
        yield query, items.frame["doc"][item], int(test_weights.sum()), rate, float(predicted[0])
