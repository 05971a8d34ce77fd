"""What click models foresee besides clicks: judgments, and click rates at the first rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_whole
from cranfield.base.words import counted
from cranfield.collection.files.reading import read_qrels
from cranfield.evaluation.of_runs import evaluate
from cranfield.online.click_models.catalogue import parse_model
from cranfield.online.click_models.evaluation import area_under_curve, label
from cranfield.online.click_models.items import Items
from cranfield.online.click_models.model import Model
from cranfield.online.click_models.patterns import patterns_of
from cranfield.online.click_models.trained import ClickModel
from cranfield.online.log.query_log import QueryLog
from cranfield.tabular import number
from cranfield.tabular.frames import Framed


def predict_relevance(
    models: ClickModel | Iterable[ClickModel],
    qrels: Any,
    measures: Sequence[Any] = ("nDCG@10",),
    *,
    rel: int = 1,
) -> pl.DataFrame:
    """Compare the relevance that click models estimate with judgments.

    Parameters
    ----------
    models
        One or several, with parameters of documents.
    qrels
        Judgments, as :func:`cranfield.read_qrels` takes them.
    measures
        Of the documents of each query in order of their estimated relevance; any measures.
    rel
        Lowest relevant grade, of the area under the curve.

    Returns
    -------
    polars.DataFrame
        A row a model: how many of its documents are `judged`, `AUC`, the chance that a relevant
        document of any query is estimated higher than one that is judged not relevant (ties one
        half; NaN where there is none of a kind), and the mean of each measure.

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> shown = log.results.with_columns(topic=log.pages["query"].gather(log.results["page"]))
    >>> qrels = shown.drop_nulls("grade").select("topic", "doc", "grade").unique()
    >>> found = cf.online.predict_relevance(cf.online.train(log, "SDBN"), qrels)
    >>> found.columns
    ['model', 'judged', 'AUC', 'nDCG@10']
    """
    check_whole("rel", rel, -(10**9))
    listed = [models] if isinstance(models, ClickModel) else list(models)
    judged = read_qrels(qrels).flat()
    table = judged.to_polars().select(pl.col("topic").alias("query"), "doc", "grade")
    rows = []
    for model in listed:
        known = model.relevance_by_document().join(table, on=["query", "doc"], how="inner")
        scores = evaluate(model.as_run(), judged, list(measures))
        rows.append(
            {
                "model": label(model),
                "judged": known.height,
                "AUC": area_under_curve(
                    known["relevance"].to_numpy(),
                    (known["grade"] >= rel).to_numpy(),
                    np.ones(known.height),
                ),
                **{name: float(one.mean()[0]) for name, one in scores.items()},
            }
        )
    return pl.DataFrame(rows)


@dataclass(frozen=True, eq=False, repr=False)
class RatePrediction(Framed):
    """How well a click model foresees click rates at the first rank; see :func:`predict_rates`.

    Attributes
    ----------
    model
        Its name.
    frame
        A row a document: `query`, `doc`, `pages` with it at the first rank, the click `rate` of
        them, and what was `predicted` without them.
    """

    model: str
    frame: pl.DataFrame

    @property
    def error(self) -> float:
        """Root of the mean square of rate and prediction, weighted by pages; NaN without any."""
        if self.frame.is_empty():
            return np.nan
        apart = (self.frame["rate"] - self.frame["predicted"]).to_numpy()
        return float(np.sqrt(np.average(apart**2, weights=self.frame["pages"].to_numpy())))

    def to_polars(self) -> pl.DataFrame:
        """Return :attr:`frame`."""
        return self.frame

    def __repr__(self) -> str:
        found = counted(self.frame.height, "document")
        return f"RatePrediction({self.model}, {found}, RMSE {number(self.error)})"


def predict_rates(log: QueryLog, model: str | Model) -> RatePrediction:
    """Foresee click rates at the first rank from pages that have the document elsewhere.

    For each document that is at the first rank on some pages of a query and below on others, the
    model is trained on the pages of the query where it is not first, and asked for the chance of a
    click at the first rank.

    Parameters
    ----------
    log
        Pages with results.
    model
        Text form of a model.

    Returns
    -------
    RatePrediction

    Notes
    -----
    There is a training a document, so this takes long for large logs.

    Source: Chapelle and Zhang (2009), section 4.2.

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> cf.online.predict_rates(log, "SDBN")
    RatePrediction(SDBN, 94 documents, RMSE 0.2053)
    """
    kind = parse_model(model)
    log.require("results", purpose="a click model")
    asked = log.results.with_columns(query=log.pages["query"].gather(log.results["page"]))
    places = asked.group_by("query", "doc").agg(
        first=(pl.col("rank") == 1).any(), below=(pl.col("rank") > 1).any()
    )
    queries = places.filter("first", "below")["query"].unique().sort().to_list()
    found = [row for query in queries for row in _rates(log, query, kind)]
    schema = {
        "query": pl.String,
        "doc": pl.String,
        "pages": pl.Int64,
        "rate": pl.Float64,
        "predicted": pl.Float64,
    }
    return RatePrediction(str(kind), pl.DataFrame(found, schema=schema, orient="row"))


def _rates(log: QueryLog, query: str, model: Model) -> Iterable[tuple[str, str, int, float, float]]:
    """Foresee the rates of the documents of a query."""
    own = log.where(pl.col("query") == query)
    items, codes = Items.of(own, None)
    pages = patterns_of(own, items, codes)
    top = pages.codes[pages.slices[0]]
    below = np.unique(pages.codes[pages.slices[0].stop :])
    clicks = pages.clicks[pages.slices[0]]
    for item in np.intersect1d(top, below).tolist():
        held = top == item
        weights: Floats = np.where(held, 0.0, pages.weights)
        elsewhere = np.zeros(len(pages), dtype=bool)
        elsewhere[pages.pattern[pages.codes == item]] = True
        if not weights[elsewhere].any():
            continue  # It is below itself only, on pages that have it twice.
        fit = model.fit(replace(pages, weights=weights))
        at = np.array([item])
        predicted = model.chance(model.values(fit.tallies), 0, at, model.start(1))
        tested = pages.weights[held]
        rate = float(tested @ clicks[held] / tested.sum())
        yield query, items.frame["doc"][item], int(tested.sum()), rate, float(predicted[0])
