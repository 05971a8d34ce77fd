"""Examination propensities of ranks, and the value of a run from clicks on other rankings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from cranfield.assess.estimates.documents import contributions
from cranfield.base.arrays import Bools, Floats, Indices
from cranfield.base.errors import (
    InputError,
    MeasureError,
    PolicyError,
    check_choice,
    check_share,
    check_whole,
    numbers,
)
from cranfield.base.text import counted
from cranfield.collection.judged.judging import judge
from cranfield.collection.run import Run
from cranfield.measures import parse_measure
from cranfield.measures.base import Measure
from cranfield.online.click_models.trained import train
from cranfield.online.log.query_log import QueryLog
from cranfield.online.off_policy.policy_value import check_clip, ranks_of, unit_codes
from cranfield.online.off_policy.value import (
    SAME,
    PolicyValue,
    WeightSummary,
    check_interval,
    two_means,
)
from cranfield.result import Column, Columns, TableResult
from cranfield.significance.differences import t_interval

STEPS = 100
"""Most Newton steps; a handful is usual."""

SMALLEST = (1.0, 1e-2, 1e-4, 1e-6, 1e-8)
"""Lower bounds for the number of documents without a click in a cell, down to almost 0."""


class Harvest(NamedTuple):
    """Click rates of documents that were shown at two ranks, summed by query.

    A row is a query, a rank and the other rank: `clicked` is the sum of the click rates of the
    documents at the rank, and `not_clicked` the sum of 1 minus the rate.
    """

    query: Indices
    rank: Indices
    other: Indices
    clicked: Floats
    not_clicked: Floats
    pairs: int


def harvest(shown: pl.DataFrame) -> Harvest:
    """Collect documents that a query shows at two ranks: `query`, `doc`, `rank`, `clicked`."""
    # In order, so that sums are the same to the bit each time.
    cells = shown.group_by("query", "doc", "rank", maintain_order=True).agg(
        pl.col("clicked").mean()
    )
    others = cells.select("query", "doc", other="rank")
    pairs = cells.join(others, on=["query", "doc"], maintain_order="left_right")
    pairs = pairs.filter(pl.col("rank") != pl.col("other"))
    sums = pairs.group_by("query", "rank", "other").agg(pl.col("clicked").sum(), number=pl.len())
    sums = sums.sort("query", "rank", "other").with_columns(pl.col("query").rank("dense") - 1)
    clicked = sums["clicked"].to_numpy()
    query, rank, other = sums.select("query", "rank", "other").to_numpy().T.astype(np.intp)
    not_clicked = sums["number"].to_numpy() - clicked
    return Harvest(query, rank, other, clicked, not_clicked, pairs.height // 2)


def all_pairs(harvested: Harvest, depth: int) -> tuple[Floats, Floats]:
    r"""Estimate examination by rank, relative to rank 1, and errors of the logarithms.

    Clicks at rank k of documents seen at k and k' have probability :math:`x_k r_{kk'}` with r the
    same at both, and the likelihood of all pairs is maximised (Agarwal et al., 2019, AllPairs). In
    logarithms it is concave: Newton's method. Errors are those of a sandwich over queries. NaN for
    ranks that no pairs link with rank 1, 0 for those without a click in any pair.
    """
    value, error = np.full(depth, np.nan), np.full(depth, np.nan)
    clicks = np.bincount(harvested.rank, weights=harvested.clicked, minlength=depth + 1)
    seen = np.bincount(harvested.rank, minlength=depth + 1) > 0
    value[seen[1:] & (clicks[1:] == 0)] = 0.0
    linked = _linked(harvested, clicks > 0, depth)
    value[0], error[0] = 1.0, 0.0
    used = linked[harvested.rank] & linked[harvested.other]
    if not used.any():
        return value, error
    ranks = np.flatnonzero(linked)
    ranks = ranks[ranks > 1]
    low, high = (
        np.minimum(harvested.rank, harvested.other),
        np.maximum(harvested.rank, harvested.other),
    )
    pair = low * (depth + 1) + high
    of_pair = np.bincount(pair, weights=harvested.clicked * used, minlength=(depth + 1) ** 2)
    # A pair without any click says that its documents are never clicked.
    used &= of_pair[pair] > 0
    pairs, column = np.unique(pair[used], return_inverse=True)
    cell, row = np.unique(pair[used] * (depth + 1) + harvested.rank[used], return_inverse=True)
    design = np.zeros((cell.size, ranks.size + pairs.size))
    of_rank = np.full(depth + 1, -1)
    of_rank[ranks] = np.arange(ranks.size)
    place = of_rank[harvested.rank[used]]
    design[row[place >= 0], place[place >= 0]] = 1
    design[row, ranks.size + column] = 1
    counts = harvested.clicked[used], harvested.not_clicked[used]
    c, n = (np.bincount(row, weights=part).astype(np.float64) for part in counts)
    beta = _newton(design, c, n, ranks.size)
    n = np.maximum(n, SMALLEST[-1])
    odds, slope = _terms(design @ beta)
    queries = int(harvested.query.max()) + 1
    score = np.zeros((queries, cell.size))
    excess = harvested.clicked[used] - harvested.not_clicked[used] * odds[row]
    np.add.at(score, (harvested.query[used], row), excess)
    inverse = np.linalg.pinv(design.T @ (design * (n * slope)[:, None]))
    terms = score @ design @ inverse
    value[ranks - 1] = np.exp(beta[: ranks.size])
    if queries > 1:
        variance = queries / (queries - 1) * np.square(terms).sum(axis=0)
        error[ranks - 1] = np.sqrt(variance[: ranks.size])
    return value, error


def _terms(z: Floats) -> tuple[Floats, Floats]:
    """Return the odds e^z / (1 - e^z) and their derivative."""
    odds = np.exp(z) / -np.expm1(z)
    return odds, odds * (1 + odds)


def _newton(design: Floats, c: Floats, n: Floats, ranks: int) -> Floats:
    """Maximise the sum of c z + n log(1 - e^z), where z = design beta is at most 0.

    A cell that is always clicked has its maximum at z = 0, which is approached with ever smaller n.
    """
    beta = np.zeros(design.shape[1])
    pairs = design[:, ranks:]
    beta[ranks:] = np.log(np.clip((c @ pairs) / ((c + n) @ pairs), 1e-9, 0.95))
    for smallest in SMALLEST if n.min() < SMALLEST[0] else SMALLEST[-1:]:
        beta = _maximised(beta, design, c, np.maximum(n, smallest))
    return beta


def _maximised(beta: Floats, design: Floats, c: Floats, n: Floats) -> Floats:
    def worth(beta: Floats) -> float:
        z = design @ beta
        return float(c @ z + n @ np.log(-np.expm1(z))) if (z < 0).all() else -np.inf

    now = worth(beta)
    for _ in range(STEPS):
        odds, slope = _terms(design @ beta)
        curvature = design.T @ (design * (n * slope)[:, None])
        step = np.linalg.lstsq(curvature, design.T @ (c - n * odds), rcond=None)[0]
        size = 1.0
        while (after := worth(beta + size * step)) < now and size > 1e-12:
            size /= 2
        if after <= now:
            break
        beta, now = beta + size * step, after
    return beta


def _linked(harvested: Harvest, clicked: Bools, depth: int) -> Bools:
    """Return the ranks with clicks that pairs link with rank 1, directly or through others."""
    linked = np.zeros(depth + 1, dtype=bool)
    linked[1] = clicked[1]
    for _ in range(depth):
        linked[harvested.other[linked[harvested.rank]]] = True
        linked &= clicked
    return linked


METHODS = ("swaps", "AllPairs", "EM")
"""Methods to estimate the probability to examine a rank."""


@dataclass(frozen=True, eq=False, repr=False)
class RankPropensities(TableResult):
    """Probability to examine a rank, relative to rank 1; returned by :func:`rank_propensities`.

    Attributes
    ----------
    rows
        The table, a row a rank.
    method
        Method of estimation.
    pairs
        Pairs that it rests on: of two documents for `swaps`, of a document and two ranks for
        `AllPairs`; 0 for `EM`.
    queries
        Queries of the log.
    confidence
        Of the intervals, each by itself.
    notes
        Remarks on the data.
    """

    name: ClassVar[str] = "propensities"
    columns: ClassVar[Columns] = {
        "rank": Column("Rank, from 1.", key=True),
        "propensity": Column(
            "Probability to examine the rank, relative to rank 1; null if the log does not"
            " determine it."
        ),
        "low": Column("Lower bound of the confidence interval, not corrected for several ranks."),
        "high": Column("Upper bound of the interval."),
    }

    method: str
    pairs: int
    queries: int
    confidence: float
    notes: tuple[str, ...]

    def heading(self) -> list[str]:
        rests = f", {counted(self.pairs, 'pair')}" if self.pairs else ""
        return [f"{self.method}, {counted(self.rows['propensity'].count(), 'rank')}{rests}"]


def rank_propensities(
    log: QueryLog, method: str = "AllPairs", *, depth: int = 10, confidence: float = 0.95
) -> RankPropensities:
    r"""Estimate the probability to examine each rank, relative to rank 1, from clicks.

    A click is assumed to need the examination of the rank, with probability :math:`x_k`, and an
    attractive document, independently of each other (the position-based model).

    **swaps**: for pairs of documents that a query showed at ranks 1 and k in both orders, the
    clicks at k by those at 1, where both orders weigh the same. That is an experiment if a coin
    decided on the order (Joachims, Swaminathan and Schnabel, 2017, section 6).
    **AllPairs**: intervention harvesting, without an experiment: what different rankers, or the
    same one in time, showed at different ranks; maximum likelihood over all pairs of ranks (Agarwal
    et al., 2019). It assumes that users and their needs do not differ between the rankers.
    **EM**: examination of the position-based model as :func:`train` fits it, with its priors.

    Parameters
    ----------
    log
        Pages with all their results and clicks; several clicks on a result are one.
    method
        `swaps`, `AllPairs` or `EM`.
    depth
        Ranks, from 2.
    confidence
        Confidence level of the intervals: by queries as the sample (for `swaps` by Student's t,
        from a ratio of sums; for `AllPairs` a sandwich), of logarithms. `EM` has none.

    Raises
    ------
    InputError
        For a log without results, or in which nothing was seen at two ranks.

    Examples
    --------
    >>> import cranfield as cf
    >>> found = rank_propensities(cf.online.simulated_log(), depth=5)
    >>> found
    RankPropensities(AllPairs, 5 ranks, ... pairs)
    """
    check_choice("method", method, METHODS)
    check_whole("depth", depth, 2, 1000)
    check_share("confidence", confidence)
    log.require("results", purpose="a propensity of ranks")
    queries = log.pages["query"].n_unique()
    notes: list[str] = []
    pairs = 0
    if method == "EM":
        frame = train(log, "PBM").parameters["examination"].filter(pl.col("rank") <= depth)
        value, error = np.full(depth, np.nan), np.full(depth, np.nan)
        value[frame["rank"].to_numpy() - 1] = frame["value"].to_numpy() / frame["value"][0]
        notes.append("EM has no confidence intervals")
    else:
        shown = log.results_with_clicks.filter(pl.col("rank") <= depth)
        shown = shown.with_columns(
            query=log.pages["query"].gather(shown["page"]),
            clicked=(pl.col("clicks") > 0).cast(pl.Float64),
        )
        if method == "swaps":
            value, error, pairs = _swaps(shown, depth)
        else:
            found = harvest(shown)
            pairs = found.pairs
            value, error = all_pairs(found, depth)
        if not pairs:
            raise InputError(
                f"{method} requires documents shown at several ranks, got none", source=log.source
            )
    same = (error <= SAME) & (np.arange(depth) > 0)
    if same.any():
        ranks = ", ".join(map(str, np.flatnonzero(same) + 1))
        notes.append(f"rank {ranks}: the same in all queries: no interval can be computed")
        error = np.where(same, np.nan, error)
    low = high = np.full(depth, np.nan)
    if queries > 1:
        logarithm = np.log(np.where(value > 0, value, np.nan))
        low, high = np.exp(t_interval(logarithm, error, queries - 1, confidence))
    else:
        notes.append("one query: no confidence intervals can be computed")
    if np.isnan(value).any():
        missing = ", ".join(map(str, np.flatnonzero(np.isnan(value)) + 1))
        notes.append(f"rank {missing}: not comparable with rank 1, as no document links them")
    columns = [np.arange(1, depth + 1), value, low, high]
    rows = pl.DataFrame(dict(zip(RankPropensities.columns, columns, strict=True)))
    rows = rows.with_columns(pl.selectors.float().fill_nan(None))
    return RankPropensities(rows, method, pairs, queries, float(confidence), tuple(notes))


def _swaps(shown: pl.DataFrame, depth: int) -> tuple[Floats, Floats, int]:
    """Clicks at rank k by those at rank 1, errors of the logarithms, and the number of swaps."""
    columns = ["page", "query", "doc", "clicked"]
    top = shown.filter(pl.col("rank") == 1).select(columns)
    below = shown.filter(pl.col("rank") > 1).select("page", "rank", other="doc", below="clicked")
    rows = top.join(below, on="page", maintain_order="left_right").with_columns(
        one=pl.min_horizontal("doc", "other"), two=pl.max_horizontal("doc", "other")
    )
    orders = rows.group_by("query", "rank", "one", "two", "doc", maintain_order=True).agg(
        pl.col("clicked", "below").mean(), times=pl.len()
    )
    swap = ["query", "rank", "one", "two"]
    swapped = orders.with_columns(
        orders=pl.len().over(swap), times=pl.col("times").min().over(swap)
    ).filter(pl.col("orders") == 2)
    value, error = np.full(depth, np.nan), np.full(depth, np.nan)
    value[0], error[0] = 1.0, 0.0
    sums = swapped.group_by("query", "rank").agg(
        (pl.col("clicked", "below") * pl.col("times")).sum()
    )
    for (rank,), part in sums.sort("rank", "query").group_by("rank", maintain_order=True):
        clicks = part.select("below", "clicked").to_numpy()
        if clicks[:, 1].any():
            at_rank, at_top = np.tile(clicks[:, :1], 2), np.tile(clicks[:, 1:], 2)
            means = two_means(at_rank, at_top, np.arange(len(clicks)), len(clicks))
            value[int(rank) - 1] = means.estimate[0]
            with np.errstate(divide="ignore", invalid="ignore"):
                error[int(rank) - 1] = means.standard_error[0] / means.estimate[0]
    return value, error, swapped.height // 2


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

    A click at rank r means that the document is relevant and that r was examined, with probability
    :math:`x_r`. Weighted by its inverse, clicks are unbiased:

    .. math:: \frac1n \sum_{\text{pages}} \sum_{\text{clicked } d} \frac{w(k_d)}{x_{r_d}}

    where w is what a relevant document at the new rank :math:`k_d` adds to the measure. Documents
    that are not on a page add nothing, so that rankers that bring new ones are underestimated: the
    proportion of the measure's weight on such documents is `unseen`.

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
        Probability to examine a rank: a result of :func:`rank_propensities`, numbers by rank from
        1, or a mapping; by default the `propensity` of the log's results.
    clip
        The largest weight 1 / x; larger ones are cut.
    unit, confidence, resamples, seed
        As for :func:`policy_value`.

    Returns
    -------
    PolicyValue
        Of the run, of the pages as they were shown, and of the difference. The
        result of :func:`rank_propensities` is relative to rank 1 and can be above 1; values are
        then relative too, and only their ratio has a meaning.

    Raises
    ------
    InputError
        For a probability that is 0, or above 1 and not relative to rank 1.
    MeasureError
        For a measure that is not a sum over documents.

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
    interval = check_interval(confidence, resamples, seed)
    check_clip(clip)
    law = parse_measure(measure) if isinstance(measure, str) else measure
    if law.info.inputs or not law.linear:
        raise MeasureError(f"expected a measure that is a sum over documents, got {law}")
    log.require("results", purpose="the value of a run")
    ranks = ranks_of(run).rename({"position": "new", "action": "doc"})
    shown, warnings = _examined(log, examination)
    shown = shown.with_columns(query=log.pages["query"].gather(shown["page"]))
    shown = shown.join(ranks, on=["query", "doc"], how="left", maintain_order="left")
    deepest = max(int(shown["rank"].max() or 1), int(ranks["new"].max() or 1))  # type: ignore[arg-type]
    of_rank = _worths(law, deepest)
    was, new = (of_rank[shown[name].fill_null(0).to_numpy()] for name in ("rank", "new"))
    clicked = (shown["clicks"] > 0).to_numpy()
    known = shown["probability"].is_not_null().to_numpy()
    weight = 1 / shown["probability"].fill_null(1.0).to_numpy()
    used = (weight if clip is None else np.minimum(weight, clip)) * (clicked & known)
    page = shown["page"].to_numpy()
    number = log.pages.height
    totals = np.stack(
        [np.bincount(page, weights=used * part, minlength=number) for part in (new, was)], axis=1
    )
    code, units = unit_codes(log.pages, unit, log.source)
    means = two_means(totals, np.ones((number, 2)), code, units, interval)
    whole = ranks.with_columns(worth=of_rank[ranks["new"].to_numpy()])
    per_query = whole.group_by("query").agg(pl.col("worth").sum())
    queries = log.pages.select("query")
    could = queries.join(per_query, on="query", how="left", maintain_order="left")["worth"]
    total = float(could.sum())
    unseen = 1 - float(new.sum()) / total if total else float("nan")
    if lacking := could.null_count():
        warnings.append(
            f"{counted(lacking, 'page')} of queries without a ranking in the run count as 0"
        )
    if lost := int((clicked & ~known).sum()):
        warnings.append(f"{counted(lost, 'click')} at ranks of unknown examination excluded")
    if unseen > 1e-9:
        warnings.append(
            f"{100 * unseen:.1f}% of the weight of {law} is on documents that pages do not show and"
            " counts as 0"
        )
    warnings += means.notes(units, unit)
    counting = weight[clicked & known & (new > 0)]
    weights = WeightSummary.of(counting, clip) if counting.size else None
    warnings += weights.warnings() if weights else ["no click has a weight above 0"]
    sizes, name = (number, units, unit), f"{law} by IPS of clicks"
    return PolicyValue(name, means, *sizes, weights, unseen, interval, tuple(warnings))


def _worths(law: Measure, deepest: int) -> Floats:
    """Contribution of a relevant document at each rank; 0 at rank 0, which is nowhere."""
    ranks = np.arange(1, deepest + 1)
    if law.cutoff is not None:
        ranks = ranks[: law.cutoff]
    judged = judge({"t": {"d": 1.0}}, {"t": {"d": 1}})
    values = np.zeros(deepest + 1)
    values[ranks] = contributions(law, judged, ranks, np.ones(ranks.size, dtype=np.int64))
    return values


def _examined(log: QueryLog, examination: Any) -> tuple[pl.DataFrame, list[str]]:
    """Return the shown results with their `probability` of examination, and notes on these."""
    # A relative propensity of 0 means that no pair has a click there: it is unknown.
    relative = isinstance(examination, RankPropensities)
    if examination is None:
        log.require("results", "propensity", purpose="the value of a run without examination")
        probability = pl.col("propensity")
    else:
        if isinstance(examination, RankPropensities):
            by_rank = dict(examination.rows.select("rank", "propensity").drop_nulls().iter_rows())
        elif isinstance(examination, Mapping):
            by_rank = dict(examination)
        else:
            by_rank = dict(enumerate(numbers(examination, "examination").ravel().tolist(), 1))
        whole = all(isinstance(rank, Integral) for rank in by_rank)
        if not whole or not all(isinstance(x, Real) for x in by_rank.values()):
            raise PolicyError("examination must be a number for each rank")
        known = {
            rank: float(x) for rank, x in by_rank.items() if x > 0 or (x <= 0 and not relative)
        }
        probability = pl.col("rank").replace_strict(known, default=None, return_dtype=pl.Float64)
    shown = log.results_with_clicks.with_columns(probability=probability)
    highest = np.inf if relative else 1
    bad = shown.filter(~pl.col("probability").is_between(0, highest, closed="right"))
    for rank, value in bad.head(1).select("rank", "probability").rows():
        raise InputError(
            "expected examination probabilities above 0 and at most 1, got"
            f" {value:g} at rank {rank}",
            source=log.source if examination is None else "examination",
        )
    notes = []
    above = (
        shown.filter(pl.col("probability") > 1).select("rank", "probability").unique().sort("rank")
    )
    if above.height:
        listed = ", ".join(f"{value:.3g} at rank {rank}" for rank, value in above.rows())
        notes.append(
            f"examination is estimated above that of rank 1: {listed} (relative, by"
            f" {examination.method}); see the confidence intervals of these propensities"
        )
    return shown, notes
