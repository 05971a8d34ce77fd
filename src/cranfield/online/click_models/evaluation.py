"""How well click models foresee the clicks of a log."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats, Indices, Ints, row_slices
from cranfield.base.checks import check_share, check_whole
from cranfield.base.errors import PolicyError
from cranfield.base.showing import Plotted
from cranfield.base.streams import stream
from cranfield.base.words import counted
from cranfield.online.click_models.items import with_grades
from cranfield.online.click_models.patterns import Patterns
from cranfield.online.click_models.trained import ClickModel
from cranfield.online.log.query_log import QueryLog
from cranfield.significance.options import MOST_RESAMPLES
from cranfield.tabular import Table, between, from_frame, number
from cranfield.tabular.frames import Framed

HELD = 2**22
"""Numbers held at a time of drawn queries."""


@dataclass(frozen=True, eq=False, repr=False)
class ModelEvaluation(Framed, Plotted):
    r"""How well models foresee clicks; made by :func:`evaluate_models`.

    With :math:`q_r` the chance of what was observed at rank r given the clicks above it, and
    :math:`p_r` whatever is clicked above:

    Attributes
    ----------
    names
        The models.
    log_likelihood
        Sum of :math:`\ln q_r` over all results; shape (models,).
    of_ranks
        Mean over pages of the mean of :math:`\ln q_r` over the ranks of the page, as PyClick has
        it; shape (models,).
    perplexity, conditional_perplexity
        By rank, :math:`2^{-\text{mean over pages of} \log_2 p_r}`, and of :math:`q_r`; shape
        (models, ranks).
    area
        Chance that :math:`P(C=1)` is higher for a clicked result than for one that is not, ties one
        half; shape (models,).
    error
        Root of the mean square of :math:`C - P(C=1)`; shape (models,).
    unseen, impossible
        Results for which a parameter was not seen in training, and observations whose chance given
        the clicks above is 0; shape (models,).
    pages
        Number of pages with each rank; shape (ranks,).
    clicks
        Number of clicked results.
    """

    names: tuple[str, ...]
    log_likelihood: Floats
    of_ranks: Floats
    perplexity: Floats
    conditional_perplexity: Floats
    area: Floats
    error: Floats
    unseen: Ints
    impossible: Ints
    pages: Ints
    clicks: int

    def to_polars(self) -> pl.DataFrame:
        """Return a table: a row a model; perplexities are means over ranks.

        The log-likelihood is a sum; `by page` and `by result` are it over their numbers, and `by
        rank of page` is the mean of means.
        """
        return pl.DataFrame(
            {
                "model": self.names,
                "log-likelihood": self.log_likelihood,
                "by page": self.log_likelihood / self.pages[0],
                "by result": self.log_likelihood / self.pages.sum(),
                "by rank of page": self.of_ranks,
                "perplexity": self.perplexity.mean(axis=1),
                "conditional perplexity": self.conditional_perplexity.mean(axis=1),
                "AUC": self.area,
                "RMSE": self.error,
                "unseen": self.unseen,
                "impossible": self.impossible,
            }
        )

    def by_rank(self) -> pl.DataFrame:
        """Return the perplexities of each model and rank."""
        ranks = self.pages.size
        return pl.DataFrame(
            {
                "model": np.repeat(np.array(self.names, dtype=object), ranks).tolist(),
                "rank": np.tile(np.arange(1, ranks + 1), len(self.names)),
                "pages": np.tile(self.pages, len(self.names)),
                "perplexity": self.perplexity.ravel(),
                "conditional perplexity": self.conditional_perplexity.ravel(),
            },
            schema_overrides={"model": pl.String},
        )

    def table(self) -> Table:
        """Return what people read."""
        places = {"log-likelihood": 2, "by page": 4}
        results = counted(int(self.pages.sum()), "result")
        title = (
            f"Click models on {counted(int(self.pages[0]), 'page')}, {results}, "
            f"{counted(self.clicks, 'click')}"
        )
        return from_frame(self.to_polars(), title, places=places)

    def __str__(self) -> str:
        return self.table().to_text()

    def __repr__(self) -> str:
        best = int(np.argmax(self.log_likelihood))
        return f"ModelEvaluation({counted(len(self.names), 'model')}, likeliest {self.names[best]})"


def evaluate_models(
    models: ClickModel | Iterable[ClickModel], log: QueryLog, *, qrels: Any = None
) -> ModelEvaluation:
    """Say how well click models foresee the clicks of a log.

    Parameters
    ----------
    models
        One or several, from :func:`train`.
    log
        Pages that they were not trained on.
    qrels
        Judgments, for models tied by grade and a log without grades.

    Returns
    -------
    ModelEvaluation

    Notes
    -----
    An observation with a chance of 0, such as a second click under `CM`, makes the log-likelihood
    minus infinity and the perplexity infinite; such ones are counted.

    Sources: Dupret and Piwowarski (2008) for perplexity; the mean of means is that of PyClick.

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> days = log.pages["time"].dt.day()
    >>> old, new = log.where(days < 12), log.where(days >= 12)
    >>> models = cf.online.train_models(old, ["GCTR", "PBM"])
    >>> found = cf.online.evaluate_models(models, new)
    >>> bool(found.log_likelihood[1] > found.log_likelihood[0])
    True
    """
    known = _listed(models)
    if qrels is not None:
        log = with_grades(log, qrels)
    rows = [_row(model, pages) for model, pages in _laid(known, log)]
    columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
    pages = columns.pop("pages")[0]
    clicks = int(columns.pop("clicks")[0])
    return ModelEvaluation(tuple(map(label, known)), pages=pages, clicks=clicks, **columns)


def label(model: ClickModel) -> str:
    """Name of a trained model, with what its parameters are tied by."""
    return f"{model.model} by {model.items.tied}" if model.items.tied else str(model.model)


def _listed(models: ClickModel | Iterable[ClickModel]) -> list[ClickModel]:
    listed = [models] if isinstance(models, ClickModel) else list(models)
    if not listed:
        raise PolicyError("there is no click model to evaluate")
    return listed


def _laid(models: list[ClickModel], log: QueryLog) -> Iterable[tuple[ClickModel, Patterns]]:
    """Lay a log out once for all models with the same items."""
    laid: dict[int, Patterns] = {}
    for model in models:
        key = id(model.items)
        if key not in laid:
            laid[key] = model.patterns(log)
        yield model, laid[key]


def _row(model: ClickModel, pages: Patterns) -> dict[str, Any]:
    full = model.model.chances(model.values, pages)
    observed = log_chances(model, pages, conditional=True)
    weight = pages.weight
    number = np.bincount(pages.rank, weight)
    of_pages = np.bincount(pages.pattern, observed) / pages.lengths
    square = np.square(pages.clicks - full)

    def perplexities(logs: Floats) -> Floats:
        return np.asarray(np.exp(-np.bincount(pages.rank, logs * weight) / number))

    return {
        "log_likelihood": float(observed @ weight),
        "of_ranks": float(of_pages @ pages.weights / pages.weights.sum()),
        "perplexity": perplexities(log_chances(model, pages, conditional=False)),
        "conditional_perplexity": perplexities(observed),
        "area": area_under_curve(full, pages.clicks, weight),
        "error": float(np.sqrt(square @ weight / weight.sum())),
        "unseen": int(weight[model.unseen(pages)].sum()),
        "impossible": int(weight[np.isneginf(observed)].sum()),
        "pages": number.astype(np.int64),
        "clicks": weight @ pages.clicks,
    }


def log_chances(model: ClickModel, pages: Patterns, *, conditional: bool) -> Floats:
    """Logarithm of the chance of what was observed of each result."""
    if conditional:
        chance = model.model.conditional(model.values, pages)
    else:
        full = model.model.chances(model.values, pages)
        chance = np.where(pages.clicks, full, 1 - full)
    out = np.full(chance.size, -np.inf)
    return np.log(chance, out=out, where=chance > 0)


def area_under_curve(values: Floats, positive: Bools, weights: Floats) -> float:
    """Chance that a positive has the higher value, ties one half; NaN without both kinds."""
    place = np.unique(values, return_inverse=True)[1]
    yes = np.bincount(place, weights * positive)
    no = np.bincount(place, weights) - yes
    below = np.cumsum(no) - no
    both = yes.sum() * no.sum()
    return float(yes @ (below + no / 2) / both) if both else np.nan


@dataclass(frozen=True, eq=False, repr=False)
class PerplexityGain(Framed):
    """By how much a click model has less perplexity than another; see :func:`perplexity_gain`.

    Attributes
    ----------
    model, over
        Names of the two.
    gain
        :math:`(p_A - p_B)/(p_A - 1)`, A being the other one; of the mean over ranks.
    low, high
        Limits over queries drawn with replacement; NaN for one query.
    by_rank
        Gain at each rank; shape (ranks,).
    queries, confidence, resamples, seed, conditional
        What it was made with.
    """

    model: str
    over: str
    gain: float
    low: float
    high: float
    by_rank: Floats
    queries: int
    confidence: float
    resamples: int
    seed: int
    conditional: bool

    def to_polars(self) -> pl.DataFrame:
        """Return a table of one row."""
        names = ("model", "over", "gain", "low", "high", "queries")
        return pl.DataFrame({name: [getattr(self, name)] for name in names})

    def __repr__(self) -> str:
        limits = between(self.low, self.high)
        why = "one query" if self.queries == 1 else "all queries equal"
        said = f", {limits}" if limits else f", no interval: {why}"
        return f"PerplexityGain({self.model} over {self.over}: {number(self.gain)}{said})"


def perplexity_gain(
    model: ClickModel,
    over: ClickModel,
    log: QueryLog,
    *,
    qrels: Any = None,
    conditional: bool = False,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> PerplexityGain:
    r"""Compare the perplexities of two click models on the same pages.

    .. math:: \frac{p_A - p_B}{p_A - 1}

    is the share of the perplexity of A above that of a perfect model which B does without. Limits
    are percentiles over queries drawn with replacement, the same ones for both models.

    Parameters
    ----------
    model, over
        B and A.
    log, qrels
        As for :func:`evaluate_models`.
    conditional
        Whether chances are given the clicks above.
    confidence, resamples, seed
        Of the limits.

    Returns
    -------
    PerplexityGain

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> rank, pbm = cf.online.train_models(log, ["RCTR", "PBM"])
    >>> cf.online.perplexity_gain(pbm, rank, log).gain > 0
    True
    """
    check_share("confidence", confidence)
    check_whole("resamples", resamples, 1, MOST_RESAMPLES)
    check_whole("seed", seed, 0)
    if qrels is not None:
        log = with_grades(log, qrels)
    page, rank = log.results["page"].to_numpy(), log.results["rank"].to_numpy().astype(np.intp)
    codes, queries = _coded(log)
    pair = list(_laid([over, model], log))
    ranks = pair[0][1].ranks
    key = codes[page] * ranks + rank - 1
    shape = (queries, ranks)

    def summed(values: Floats | None) -> Floats:
        return np.bincount(key, values, queries * ranks).reshape(shape).astype(np.float64)

    numbers = summed(None)
    sums = np.stack(
        [
            summed(log_chances(one, pages, conditional=conditional)[pages.results_of(page, rank)])
            for one, pages in pair
        ]
    )

    def gains(some: Floats, shown: Floats) -> tuple[Floats, Floats]:
        """Gains of the mean, and by rank; of draws whose pages lack a rank without it."""
        with np.errstate(invalid="ignore", divide="ignore"):
            each = np.where(shown > 0, np.exp(-some / shown), np.nan)
            a, b = np.nanmean(each, axis=-1)
            return (a - b) / (a - 1), (each[0] - each[1]) / (each[0] - 1)

    value, by_rank = gains(sums.sum(axis=1), numbers.sum(axis=0))
    low = high = np.nan
    if queries > 1 and np.isfinite(sums).all():
        even = np.full(queries, 1 / queries)
        drawn = [
            gains(times @ sums, times @ numbers)[0]
            for at in row_slices(resamples, queries, HELD)
            for times in [
                stream(seed, at.start).multinomial(queries, even, size=at.stop - at.start) * 1.0
            ]
        ]
        tail = (1 - confidence) / 2
        gained = np.concatenate(drawn)
        # Queries that are all alike do not tell how much others would differ.
        if np.ptp(gained) > 1e-12:
            low, high = np.quantile(gained, [tail, 1 - tail]).tolist()
    return PerplexityGain(
        label(model),
        label(over),
        float(value),
        low,
        high,
        by_rank,
        queries,
        confidence,
        resamples,
        seed,
        conditional,
    )


def _coded(log: QueryLog) -> tuple[Indices, int]:
    """Number the queries with results; the number of each page, and how many there are."""
    asked = log.pages["query"].gather(log.results["page"].unique())
    names = asked.unique(maintain_order=True)
    place = pl.DataFrame({"query": names}).with_row_index("place")
    found = log.pages.select("query").join(place, on="query", how="left", maintain_order="left")
    return found["place"].fill_null(0).to_numpy().astype(np.intp), names.len()
