"""What a new ranker would be worth, from clicks on what others showed."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
import polars as pl

from cranfield.assess.estimates.worth_of_documents import worth
from cranfield.base.arrays import Floats
from cranfield.base.checks import numbers
from cranfield.base.errors import InputError, MeasureError, PolicyError
from cranfield.base.words import counted
from cranfield.collection.judged.judging import judge
from cranfield.collection.judged.ranking import order_of
from cranfield.collection.run import Run
from cranfield.measures import Measure, parse_measure
from cranfield.online.log.query_log import QueryLog
from cranfield.online.off_policy.limits_by_unit import LimitsBy, two_means
from cranfield.online.off_policy.policy_value import check_clip, unit_codes
from cranfield.online.off_policy.rank_propensities import RankPropensities
from cranfield.online.off_policy.value_with_limits import PolicyValue, WeightSummary


def run_value(
    log: QueryLog,
    run: Run,
    measure: str | Measure = "DCG@10",
    examination: Any = None,
    *,
    clip: float | None = None,
    unit: str = "list",
    confidence: float = 0.95,
    resamples: int = 0,
    seed: int = 0,
) -> PolicyValue:
    r"""Estimate a measure of a ranker from clicks on the pages of other rankers.

    A click at rank r says that the document is relevant and that r was looked at, with chance
    :math:`x_r`. Weighted by its inverse, clicks are right on average:

    .. math:: \frac1n \sum_{\text{pages}} \sum_{\text{clicked } d} \frac{w(k_d)}{x_{r_d}}

    where w is what a relevant document at the new rank :math:`k_d` adds to the measure. Documents
    that are not on a page add nothing, so that rankers that bring new ones are underestimated: the
    share of the measure's weight that is on such documents is `unseen`.

    Source: Joachims, Swaminathan and Schnabel (2017), equation 5; Wang et al. (2016).

    Parameters
    ----------
    log
        Pages with their results and clicks; several clicks on a result are one.
    run
        The ranker, with queries as topics.
    measure
        One that is a sum over documents, such as DCG@10, P@5 or RBP.
    examination
        Chance to look at a rank: what :func:`rank_propensities` made, numbers by rank from 1, or a
        mapping; by default the `propensity` of the log's results.
    clip
        The largest weight 1 / x; larger ones are cut.
    unit, confidence, resamples, seed
        As for :func:`policy_value`.

    Returns
    -------
    PolicyValue
        Of the run, of the pages as they were shown, and of the difference. What
        :func:`rank_propensities` made is relative to rank 1 and can be above 1; values are then
        relative too, and only their ratio has a meaning.

    Raises
    ------
    InputError
        For a probability that is 0, or above 1 and not relative to rank 1.
    MeasureError
        For a measure that is no sum over documents.

    Examples
    --------
    >>> import cranfield as cf
    >>> import polars as pl
    >>> from cranfield.online import rank_propensities
    >>> log = cf.online.simulated_log()
    >>> shown = log.results.join(log.pages.with_row_index("page").cast({"page": int}), on="page")
    >>> often = shown.group_by("query", "doc").agg(score=pl.len())
    >>> run = cf.read_run(often.rename({"query": "topic"}))
    >>> run_value(log, run, "DCG@5", rank_propensities(log), unit="user")
    PolicyValue(DCG@5 by IPS of clicks: ..., 3,209 lists by user, 400 of them)
    """
    how = LimitsBy(confidence, resamples, seed)
    check_clip(clip)
    law = parse_measure(measure) if isinstance(measure, str) else measure
    if law.info.inputs or not law.linear:
        raise MeasureError(f"{law} is no sum over documents, and clicks do not add up to it")
    log.require("results", purpose="the value of a run")
    ranks = _ranks(run)
    shown = log.shown.with_columns(_chance(log, examination), clicked=pl.col("clicks") > 0)
    said = _check_chances(shown, log, examination)
    pages = log.pages.with_row_index("page").cast({"page": pl.Int64})
    shown = shown.join(pages.select("page", "query"), on="page", how="left")
    shown = shown.join(ranks, on=["query", "doc"], how="left", maintain_order="left")
    deepest = max(int(shown["rank"].max() or 1), int(ranks["new"].max() or 1))  # type: ignore[arg-type]
    of_rank = _worths(law, deepest)
    was, new = (of_rank[shown[name].fill_null(0).to_numpy()] for name in ("rank", "new"))
    clicked = shown["clicked"].to_numpy()
    known = shown["chance"].is_not_null().to_numpy()
    weight = 1 / shown["chance"].fill_null(1.0).to_numpy()
    used = (weight if clip is None else np.minimum(weight, clip)) * (clicked & known)
    page = shown["page"].to_numpy()
    number = log.pages.height
    totals = np.stack(
        [np.bincount(page, weights=used * part, minlength=number) for part in (new, was)], axis=1
    )
    code, units = unit_codes(log.pages, unit, log.source)
    means = two_means(totals, np.ones((number, 2)), code, units, how)
    whole = ranks.with_columns(worth=of_rank[ranks["new"].to_numpy()])
    per_query = whole.group_by("query").agg(pl.col("worth").sum())
    could = pages.join(per_query, on="query", how="left")["worth"]
    total = float(could.sum())
    unseen = 1 - float(new.sum()) / total if total else float("nan")
    if lacking := could.null_count():
        said.append(f"{counted(lacking, 'page')} of queries that the run lacks are worth nothing")
    if lost := int((clicked & ~known).sum()):
        said.append(f"{counted(lost, 'click')} at ranks of unknown examination left out")
    if unseen > 1e-9:
        said.append(
            f"{100 * unseen:.1f}% of the weight of {law} is on documents that pages do not show:"
            " they count as worth nothing"
        )
    said += means.notes(units, unit)
    counting = weight[clicked & known & (new > 0)]
    weights = WeightSummary.of(counting, clip) if counting.size else None
    return PolicyValue(
        estimator=f"{law} by IPS of clicks",
        means=means,
        lists=number,
        units=units,
        unit=unit,
        weights=weights,
        unseen=unseen,
        how=how,
        warnings=(*said, *(weights.doubts() if weights else ("no click counts",))),
    )


def _ranks(run: Run) -> pl.DataFrame:
    order = order_of(run, "trec")
    return pl.DataFrame(
        {
            "query": pl.Series(run.topics, dtype=pl.String).gather(run.codes),
            "doc": run.docs,
            "new": order.ranks_of(np.arange(len(run))),
        }
    )


def _worths(law: Measure, deepest: int) -> Floats:
    """What a relevant document adds at each rank, from 0 (nowhere, nothing)."""
    ranks = np.arange(1, deepest + 1)
    if law.cutoff is not None:
        ranks = ranks[: law.cutoff]
    judged = judge({"t": {"d": 1.0}}, {"t": {"d": 1}})
    found = np.zeros(deepest + 1)
    found[ranks] = worth(law, judged, ranks, np.ones(ranks.size, dtype=np.int64))
    return found


def _chance(log: QueryLog, examination: Any) -> pl.Expr:
    """The chance that each result was looked at."""
    if examination is None:
        log.require("results", "propensity", purpose="the value of a run without examination")
        return pl.col("propensity").alias("chance")
    if isinstance(examination, RankPropensities):
        by_rank = dict(zip(examination.ranks.tolist(), examination.values.tolist(), strict=True))
    elif isinstance(examination, Mapping):
        by_rank = dict(examination)
    else:
        by_rank = dict(enumerate(numbers(examination, "examination").ravel().tolist(), 1))
    whole = all(isinstance(rank, Integral) for rank in by_rank)
    if not whole or not all(isinstance(x, Real) for x in by_rank.values()):
        raise PolicyError("examination is a number for each rank")
    # A relative propensity of 0 says that no pair has a click there: it is not known.
    relative = isinstance(examination, RankPropensities)
    known = {rank: float(x) for rank, x in by_rank.items() if x > 0 or (x <= 0 and not relative)}
    chance = pl.col("rank").replace_strict(known, default=None, return_dtype=pl.Float64)
    return chance.alias("chance")


def _check_chances(shown: pl.DataFrame, log: QueryLog, examination: Any) -> list[str]:
    """Refuse chances that are none; return notes on relative ones that are above 1."""
    relative = isinstance(examination, RankPropensities)
    chance = pl.col("chance")
    bad = shown.filter(~chance.is_between(0, np.inf if relative else 1, closed="right"))
    if bad.height:
        rank, value = bad.select("rank", "chance").row(0)
        raise InputError(
            "expected the probability to look at a rank above 0 and at most 1, got"
            f" {value:g} at rank {rank}",
            source=log.source if examination is None else "examination",
        )
    above = shown.filter(chance > 1).select("rank", "chance").unique().sort("rank").rows()
    if not relative or not above:
        return []
    listed = ", ".join(f"{value:.3g} at rank {rank}" for rank, value in above)
    return [
        f"users seem to look more than at rank 1: {listed} (relative, by {examination.method});"
        " see the confidence intervals of these propensities"
    ]
