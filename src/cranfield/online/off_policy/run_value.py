"""Examination propensities of ranks, and the value of a run from clicks on other rankings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices
from cranfield.base.errors import (
    InputError,
    MeasureError,
    PolicyError,
    as_numbers,
    check_number,
    quote,
)
from cranfield.base.kinds import Integer, OneOf, UnitInterval, check_arguments
from cranfield.base.text import inflect
from cranfield.collection.judged.judging import judge
from cranfield.collection.run import Run
from cranfield.evaluation.probable_scores import compute_contributions
from cranfield.measures import parse_measure
from cranfield.measures.base import Measure
from cranfield.online.click_models.trained import train
from cranfield.online.log.query_log import QueryLog, join_by_document
from cranfield.online.off_policy.policy_value import (
    TOLERANCE,
    UNITS,
    PolicyValue,
    WeightSummary,
    compare_ratios,
    encode_units,
    rank_run_documents,
)
from cranfield.result import Column, Columns, TableResult, declare_bounds
from cranfield.significance.differences import bound_by_t
from cranfield.significance.registry import MAX_RESAMPLES

MAX_STEPS = 100  # Maximum number of Newton steps; a few usually suffice

MIN_QUERIES = 10  # Effective number of queries below which intervals are unreliable

FLOORS = (1.0, 1e-2, 1e-4, 1e-6, 1e-8)  # Decreasing lower bounds of non-clicks in a cell


class RankPairs(NamedTuple):
    """Click rates of documents that were shown at two ranks, summed by query and pair of ranks."""

    query: Indices  # Index of the query, from 0
    rank: Indices  # From 1
    other_rank: Indices
    clicks: Floats  # Sum of the click rates at `rank` of the documents shown at both ranks
    non_clicks: Floats  # Sum of 1 minus these rates


def harvest_pairs(results: pl.DataFrame) -> RankPairs:
    """Collect the documents that a query shows at two ranks; results have a column `clicked`."""
    # The order is fixed, so that sums are reproducible to the bit.
    cells = results.group_by("query", "doc", "rank", maintain_order=True)
    rates = cells.agg(pl.col("clicked").mean())
    other_ranks = rates.select("query", "doc", other_rank="rank")
    doc_pairs = rates.join(other_ranks, on=["query", "doc"], maintain_order="left_right")
    doc_pairs = doc_pairs.filter(pl.col("rank") != pl.col("other_rank"))
    keys = ["query", "rank", "other_rank"]
    pairs = doc_pairs.group_by(keys)
    sums = pairs.agg(pl.col("clicked").sum(), n_docs=pl.len()).sort(keys)
    sums = sums.with_columns(pl.col("query").rank("dense") - 1)
    clicks = sums["clicked"].to_numpy()
    query, rank, other_rank = sums.select(keys).to_numpy().T.astype(np.intp)
    return RankPairs(query, rank, other_rank, clicks, sums["n_docs"].to_numpy() - clicks)


def estimate_all_pairs(pair_sums: RankPairs, depth: int) -> tuple[Floats, Floats]:
    r"""Estimate examination by rank, relative to rank 1, and standard errors of logarithms.

    Documents shown at ranks k and k' are clicked at k with probability :math:`x_k r_{kk'}`, where x
    is the examination and r the mean relevance of these documents, the same at both ranks. The
    likelihood of all pairs (Agarwal et al., 2019, AllPairs) is concave in logarithms, and is
    maximised by Newton's method. Standard errors are sandwich estimates over queries. An estimate
    is 0 for a rank that has pairs, but no click in them; otherwise NaN for a rank that no pairs
    link with rank 1. It is NaN for all lower ranks if rank 1 has no click in its pairs.
    """
    values, standard_errors = np.full(depth, np.nan), np.full(depth, np.nan)
    clicks = np.bincount(pair_sums.rank, weights=pair_sums.clicks, minlength=depth + 1)
    has_pairs = np.bincount(pair_sums.rank, minlength=depth + 1) > 0
    values[has_pairs[1:] & (clicks[1:] == 0) & (clicks[1] > 0)] = 0.0
    # Ranks with clicks that pairs link with rank 1, directly or indirectly.
    is_linked = (clicks > 0) & (np.arange(depth + 1) == 1)
    for _ in range(depth):
        is_linked[pair_sums.other_rank[is_linked[pair_sums.rank]]] = True
        is_linked &= clicks > 0
    values[0], standard_errors[0] = 1.0, 0.0
    is_used = is_linked[pair_sums.rank] & is_linked[pair_sums.other_rank]
    if not is_used.any():
        return values, standard_errors
    ranks = np.flatnonzero(is_linked[2:]) + 2
    lower, upper = np.sort([pair_sums.rank, pair_sums.other_rank], axis=0)
    pair = lower * (depth + 1) + upper
    totals = np.bincount(pair, weights=pair_sums.clicks * is_used, minlength=(depth + 1) ** 2)
    # A pair of ranks without any click has no information on examination, as r may be 0.
    is_used &= totals[pair] > 0
    cells = pair[is_used] * (depth + 1) + pair_sums.rank[is_used]
    cell, row = np.unique(cells, return_inverse=True)
    cell_pair, cell_rank = np.divmod(cell, depth + 1)
    indicators = cell_rank[:, None] == ranks, cell_pair[:, None] == np.unique(cell_pair)
    design = np.concatenate(indicators, axis=1).astype(np.float64)
    counts = pair_sums.clicks[is_used], pair_sums.non_clicks[is_used]
    c, n = (np.bincount(row, weights=count).astype(np.float64) for count in counts)
    beta = _maximise_likelihood(design, c, n, ranks.size)
    n = np.maximum(n, FLOORS[-1])
    odds, slope = _compute_odds_and_slope(design @ beta)
    n_queries = int(pair_sums.query.max()) + 1
    score = np.zeros((n_queries, cell.size))
    excess = pair_sums.clicks[is_used] - pair_sums.non_clicks[is_used] * odds[row]
    np.add.at(score, (pair_sums.query[is_used], row), excess)
    inverse = np.linalg.pinv(design.T @ (design * (n * slope)[:, None]))
    influence = score @ design @ inverse
    values[ranks - 1] = np.exp(beta[: ranks.size])
    if n_queries > 1:
        variance = n_queries / (n_queries - 1) * np.square(influence).sum(axis=0)
        standard_errors[ranks - 1] = np.sqrt(variance[: ranks.size])
    return values, standard_errors


def _compute_odds_and_slope(z: Floats) -> tuple[Floats, Floats]:
    odds = np.exp(z) / -np.expm1(z)
    return odds, odds * (1 + odds)


def _maximise_likelihood(design: Floats, c: Floats, n: Floats, n_ranks: int) -> Floats:
    """Maximise sum(c z + n log(1 - e^z)) for clicks c, non-clicks n and z = design @ beta <= 0."""
    beta = np.zeros(design.shape[1])
    pairs = design[:, n_ranks:]
    beta[n_ranks:] = np.log(np.clip((c @ pairs) / ((c + n) @ pairs), 1e-9, 0.95))
    # A cell without non-clicks has its maximum at z = 0, which is approached by decreasing n.
    for floor in FLOORS if n.min() < FLOORS[0] else FLOORS[-1:]:
        beta = _maximise_by_newton(beta, design, c, np.maximum(n, floor))
    return beta


def _maximise_by_newton(beta: Floats, design: Floats, c: Floats, n: Floats) -> Floats:
    def compute_objective(beta: Floats) -> float:
        z = design @ beta
        return float(c @ z + n @ np.log(-np.expm1(z))) if (z < 0).all() else -np.inf

    value = compute_objective(beta)
    for _ in range(MAX_STEPS):
        odds, slope = _compute_odds_and_slope(design @ beta)
        curvature = design.T @ (design * (n * slope)[:, None])
        step = np.linalg.lstsq(curvature, design.T @ (c - n * odds), rcond=None)[0]
        step_size = 1.0
        while (
            new_value := compute_objective(beta + step_size * step)
        ) < value and step_size > 1e-12:
            step_size /= 2
        if new_value <= value:
            break
        beta, value = beta + step_size * step, new_value
    return beta


METHODS = ("swaps", "AllPairs", "EM")  # Estimators of the examination of ranks


@dataclass(frozen=True, eq=False, repr=False)
class RankPropensities(TableResult):
    """Examination probabilities of ranks, relative to rank 1; see :func:`rank_propensities`.

    Attributes
    ----------
    rows
        The table, one row per rank.
    method
        Method of estimation.
    n_pairs
        Number of pairs used: swapped pairs of documents for `swaps`, pairs of ranks of a document
        for `AllPairs`, and 0 for `EM`.
    n_queries
        Number of queries of the log.
    confidence
        Confidence level of each interval.
    notes
        Remarks on the data.
    """

    name: ClassVar[str] = "propensities"
    columns: ClassVar[Columns] = {
        "rank": Column("Rank, from 1.", key=True),
        "propensity": Column(
            "Probability of examining the rank, relative to rank 1; null if it cannot be estimated."
        ),
        **declare_bounds("unadjusted confidence interval", "; null if there is none"),
    }

    method: str
    n_pairs: int
    n_queries: int
    confidence: float
    notes: tuple[str, ...]

    def heading(self) -> list[str]:
        pair_text = f", {inflect(self.n_pairs, 'pair')}" if self.n_pairs else ""
        line = f"{self.method}, {inflect(self.rows['propensity'].count(), 'rank')}{pair_text}"
        level = f"{100 * self.confidence:g}% confidence interval of each rank, unadjusted"
        return [line, f"low, high: {level}"] if self.rows["low"].count() else [line]


def rank_propensities(
    log: QueryLog,
    method: Annotated[str, OneOf(METHODS)] = "AllPairs",
    *,
    depth: Annotated[int, Integer(2, 1000)] = 10,
    confidence: Annotated[float, UnitInterval()] = 0.95,
) -> RankPropensities:
    r"""Estimate the examination probability of each rank, relative to rank 1, from clicks.

    A click requires examination of the rank, with probability :math:`x_k`, and an attractive
    document, independently of each other (the position-based model).

    **swaps**: the ratio of clicks at rank k to clicks at rank 1, for pairs of documents that a
    query showed at these ranks in both orders, with equal weights for both orders. If the order was
    random, this is an experiment (Joachims, Swaminathan and Schnabel, 2017, section 6).
    **AllPairs**: intervention harvesting, which does not require an experiment: maximum likelihood
    over all pairs of ranks, for documents that several rankers, or versions of a ranker, showed at
    different ranks (Agarwal et al., 2019). It assumes that rankers have the same users and queries.
    **EM**: examination of the position-based model as fitted by :func:`train`, with its priors.

    Parameters
    ----------
    log
        Pages with all their results and clicks; several clicks on a result count once.
    method
        `swaps`, `AllPairs` or `EM`.
    depth
        Number of ranks, at least 2.
    confidence
        Confidence level of the intervals. They are computed for logarithms by Student's t, with
        standard errors over queries: of a ratio of sums for the method `swaps`, by a sandwich
        estimate for `AllPairs`. The degrees of freedom are the number of queries with pairs, minus
        1. `EM` has no intervals.

    Raises
    ------
    InputError
        For a log without results or clicks, or without the documents shown at several ranks, or
        swapped, that the method requires.

    Examples
    --------
    >>> import cranfield as cf
    >>> rank_propensities(cf.online.simulated_log(), depth=5)
    RankPropensities(AllPairs, 5 ranks, ... pairs)
    """
    check_arguments(rank_propensities, locals())
    log.require("results", purpose="an estimate of propensities")
    if log.has_clicks and log.clicks.is_empty():
        reason = "an estimate of propensities requires clicks, got none"
        raise InputError(reason, source=log.source)
    n_queries = log.pages["query"].n_unique()
    notes: list[str] = []
    n_queries_by_rank: Indices = np.full(depth, n_queries)
    pairs_by_query: Floats = np.zeros(n_queries)
    if method == "EM":
        frame = train(log, "PBM").parameters["examination"].filter(pl.col("rank") <= depth)
        values, standard_errors = np.full(depth, np.nan), np.full(depth, np.nan)
        values[frame["rank"].to_numpy() - 1] = frame["value"].to_numpy() / frame["value"][0]
        notes.append("EM has no confidence intervals")
    else:
        results = log.results_with_clicks.filter(pl.col("rank") <= depth)
        query, is_clicked = log.pages["query"].gather(results["page"]), pl.col("clicks") > 0
        results = results.with_columns(query, clicked=is_clicked.cast(pl.Float64))
        estimates = _estimate_from_pairs(results, method, depth)
        values, standard_errors, n_queries_by_rank, pairs_by_query = estimates
        if not pairs_by_query.any():
            requirement = "documents shown at several ranks"
            if method == "swaps":
                requirement = "pairs of documents that are swapped between rank 1 and another rank"
            reason = f"{method} requires {requirement}, got none"
            raise InputError(reason, source=log.source)
    is_constant = (standard_errors <= TOLERANCE) & (np.arange(depth) > 0)
    if is_constant.any():
        ranks = ", ".join(map(str, np.flatnonzero(is_constant) + 1))
        reason = "no confidence interval, because the propensity is equal in all queries"
        notes.append(f"rank {ranks}: {reason}")
        standard_errors = np.where(is_constant, np.nan, standard_errors)
    low = high = np.full(depth, np.nan)
    if n_queries > 1:
        logarithm = np.log(np.where(values > 0, values, np.nan))
        df = np.maximum(n_queries_by_rank - 1, 1)
        low, high = np.exp(bound_by_t(logarithm, standard_errors, df, confidence))
        notes += _note_concentration(pairs_by_query)
    else:
        notes.append("no confidence intervals: only one query")
    if np.isnan(values).any():
        ranks = ", ".join(map(str, np.flatnonzero(np.isnan(values)) + 1))
        cause = {
            "swaps": "no swapped document was clicked at rank 1",
            "AllPairs": "no clicked documents shown at several ranks link this rank with rank 1",
            "EM": "no page has a result at this rank",
        }[method]
        notes.append(f"rank {ranks}: propensity unknown, because {cause}")
    columns = [np.arange(1, depth + 1), values, low, high]
    rows = pl.DataFrame(dict(zip(RankPropensities.columns, columns, strict=True)))
    rows = rows.with_columns(pl.selectors.float().fill_nan(None))
    n_pairs = round(pairs_by_query.sum())
    return RankPropensities(rows, method, n_pairs, n_queries, float(confidence), tuple(notes))


def _note_concentration(pairs_by_query: Floats) -> Iterator[str]:
    n_pairs = pairs_by_query.sum()
    if n_pairs and (n_effective := n_pairs**2 / np.square(pairs_by_query).sum()) < MIN_QUERIES:
        cause = f"few queries have most pairs (effective number of queries {n_effective:.1f})"
        yield f"{cause}: confidence intervals are unreliable"


def _estimate_from_pairs(
    results: pl.DataFrame, method: str, depth: int
) -> tuple[Floats, Floats, Indices, Floats]:
    """Return estimates and standard errors by rank, queries by rank, and pairs by query."""
    if method == "swaps":
        swaps = _find_swaps(results)
        values, standard_errors, n_queries = _estimate_swaps(swaps, depth)
        pairs_by_query = swaps["query"].value_counts()["count"].to_numpy() / 2
        return values, standard_errors, n_queries, pairs_by_query
    pair_sums = harvest_pairs(results)
    values, standard_errors = estimate_all_pairs(pair_sums, depth)
    pairs_by_query = np.bincount(pair_sums.query, pair_sums.clicks + pair_sums.non_clicks) / 2
    return values, standard_errors, np.full(depth, pairs_by_query.size), pairs_by_query


def _find_swaps(results: pl.DataFrame) -> pl.DataFrame:
    """Find pairs of documents that a query showed in both orders at rank 1 and a lower rank."""
    columns = ["page", "query", "doc", "clicked"]
    top_results = results.filter(pl.col("rank") == 1).select(columns)
    lower_results = results.filter(pl.col("rank") > 1)
    lower_results = lower_results.select("page", "rank", lower_doc="doc", lower_clicked="clicked")
    rows = top_results.join(lower_results, on="page", maintain_order="left_right")
    docs = ("doc", "lower_doc")
    rows = rows.with_columns(first=pl.min_horizontal(docs), second=pl.max_horizontal(docs))
    pair = ["query", "rank", "first", "second"]
    groups = rows.group_by(*pair, "doc", maintain_order=True)
    swaps = groups.agg(pl.col("clicked", "lower_clicked").mean(), n_pages=pl.len())
    swaps = swaps.with_columns(pl.col("n_pages").min().over(pair), n_orders=pl.len().over(pair))
    return swaps.filter(pl.col("n_orders") == 2)


def _estimate_swaps(swaps: pl.DataFrame, depth: int) -> tuple[Floats, Floats, Indices]:
    """Return click ratios to rank 1, standard errors of logarithms, and query counts, by rank."""
    values, standard_errors = np.full(depth, np.nan), np.full(depth, np.nan)
    values[0], standard_errors[0] = 1.0, 0.0
    n_queries = np.ones(depth, dtype=np.intp)
    clicks = pl.col("clicked", "lower_clicked") * pl.col("n_pages")
    sums = swaps.group_by("query", "rank").agg(clicks.sum())
    for (rank,), rank_sums in sums.sort("rank", "query").group_by("rank", maintain_order=True):
        click_sums = rank_sums.select("lower_clicked", "clicked").to_numpy()
        if click_sums[:, 1].any():
            k, size = int(rank) - 1, len(click_sums)
            totals = np.tile(click_sums[:, :1], 2), np.tile(click_sums[:, 1:], 2)
            ratios = compare_ratios(*totals, np.arange(size), size)
            values[k], n_queries[k] = ratios.estimate[0], size
            with np.errstate(divide="ignore", invalid="ignore"):
                standard_errors[k] = ratios.standard_error[0] / ratios.estimate[0]
    return values, standard_errors, n_queries


def run_value(
    log: QueryLog,
    run: Run,
    measure: str | Measure = "DCG@10",
    examination: Any = None,
    *,
    clip: float | None = None,
    unit: Annotated[str | None, OneOf(UNITS)] = None,
    confidence: Annotated[float, UnitInterval()] = 0.95,
    resamples: Annotated[int, Integer(0, MAX_RESAMPLES)] = 0,
    seed: Annotated[int, Integer(0)] = 0,
) -> PolicyValue:
    r"""Estimate the value of a measure for a ranker from clicks on pages of other rankers.

    A click at rank r means that the document is relevant and that rank r was examined, which has
    the probability :math:`x_r`. Clicks with the weight :math:`1 / x_r` give an unbiased estimate:

    .. math:: \frac1n \sum_{\text{pages}} \sum_{\text{clicked } d} \frac{w(k_d)}{x_{r_d}}

    where n is the number of pages, :math:`r_d` the rank of d on the page, and w the contribution of
    a relevant document at its new rank :math:`k_d` to the measure. Documents that are not on a page
    contribute nothing, so rankers with new documents are underestimated: `unseen` is the proportion
    of the measure's weight on such documents.

    Source: Joachims, Swaminathan and Schnabel (2017), equation 5; Wang et al. (2016).

    Parameters
    ----------
    log
        Pages with their results and clicks; several clicks on a result count once.
    run
        The ranker, with queries as topics.
    measure
        Measure that is a sum over documents, such as `DCG@10`, `P@5` or `RBP`.
    examination
        Examination probabilities of ranks: a result of :func:`rank_propensities`, a sequence by
        rank from 1, or a mapping; by default the `propensity` of the log's results.
    clip
        Maximum weight 1 / x; larger weights are clipped.
    unit, confidence, resamples, seed
        As for :func:`policy_value`.

    Returns
    -------
    PolicyValue
        Values of the run and of the pages shown, and their difference. If `examination` is a result
        of :func:`rank_propensities`, which is relative to rank 1 and can be above 1, the values of
        the run and the pages are relative, too, and only their ratio is meaningful.

    Raises
    ------
    InputError
        For a log without results or clicks; for a probability of 0 or less, or above 1 if it is not
        relative to rank 1; and if no page shows a document of the run.
    MeasureError
        For a measure that is not a sum over documents.
    PolicyError
        For an invalid option, or an `examination` that does not map ranks to numbers.

    Examples
    --------
    >>> import cranfield as cf
    >>> import polars as pl
    >>> log = cf.online.simulated_log()
    >>> results = log.results.join(log.pages.with_row_index("page").cast({"page": int}), on="page")
    >>> counts = results.group_by("query", "doc").agg(score=pl.len())
    >>> run = cf.read_run(counts.rename({"query": "topic"}))
    >>> run_value(log, run, "DCG@5", cf.online.rank_propensities(log), unit="user")
    PolicyValue(DCG@5 by IPS of clicks: ..., 3,209 lists by user (400 units))
    """
    check_arguments(run_value, locals())
    if clip is not None:
        check_number("clip", clip, above=0, maximum=np.inf)
    settings = confidence, resamples, seed
    measure = parse_measure(measure)
    if measure.info.inputs or not measure.is_linear:
        raise MeasureError(f"expected a measure that is a sum over documents, got {measure}")
    log.require("results", purpose="the value of a run")
    ranks = rank_run_documents(run).rename({"position": "new_rank", "action": "doc"})
    results, warnings = _add_examination(log, examination)
    problem = "no page shows a document of the run"
    results = join_by_document(log, results, ranks, problem, "rankings")
    depth = max(int(results["rank"].max() or 1), int(ranks["new_rank"].max() or 1))  # type: ignore[arg-type]
    rank_weights = _compute_rank_weights(measure, depth)
    columns = results["rank"], results["new_rank"]
    gain, new_gain = (rank_weights[column.fill_null(0).to_numpy()] for column in columns)
    is_clicked = (results["clicks"] > 0).to_numpy()
    is_known = results["probability"].is_not_null().to_numpy()
    weight = 1 / results["probability"].fill_null(1.0).to_numpy()
    ips_weights = (weight if clip is None else np.minimum(weight, clip)) * (is_clicked & is_known)
    page, n_pages = results["page"].to_numpy(), log.pages.height
    sums = [np.bincount(page, ips_weights * gains, n_pages) for gains in (new_gain, gain)]
    totals = np.stack(sums, axis=1)
    unit, unit_index, n_units = encode_units(log.pages, unit, log.source)
    means = compare_ratios(totals, np.ones((n_pages, 2)), unit_index, n_units, settings)
    run_gains = ranks.with_columns(gain=rank_weights[ranks["new_rank"].to_numpy()])
    query_gains = run_gains.group_by("query").agg(pl.col("gain").sum())
    queries = log.pages.select("query")
    page_gains = queries.join(query_gains, on="query", how="left", maintain_order="left")["gain"]
    total = float(page_gains.sum())
    unseen = 1 - float(new_gain.sum()) / total if total else float("nan")
    if n_unranked := page_gains.null_count():
        subject = inflect(n_unranked, "page")
        warnings.append(f"{subject} of queries without a ranking in the run count as 0")
    if n_excluded := int((is_clicked & ~is_known).sum()):
        subject = inflect(n_excluded, "click")
        warnings.append(f"{subject} excluded: probability of examining the rank unknown")
    if unseen > 1e-9:
        fraction = f"{unseen:.1%} of the weight of {measure} is on documents of the run"
        warnings.append(f"{fraction} that pages do not show, and counts as 0")
    warnings += means.list_notes(n_units, unit)
    click_weights = weight[is_clicked & is_known & (new_gain > 0)]
    summary = WeightSummary.from_weights(click_weights, clip) if click_weights.size else None
    notes = ["no clicked document has a gain in the run"]
    warnings += summary.list_warnings() if summary else notes
    sizes, name = (n_pages, n_units, unit), f"{measure} by IPS of clicks"
    return PolicyValue(name, means, *sizes, summary, unseen, settings, tuple(warnings))


def _compute_rank_weights(measure: Measure, depth: int) -> Floats:
    """Compute the contribution of a relevant document at each rank; 0 at rank 0 (not ranked)."""
    ranks = np.arange(1, depth + 1)[: measure.cutoff]
    judged = judge({"t": {"d": 1.0}}, {"t": {"d": 1}})
    values = np.zeros(depth + 1)
    grades = np.ones(ranks.size, dtype=np.int64)
    values[ranks] = compute_contributions(measure, judged, ranks, grades)
    return values


def _add_examination(log: QueryLog, examination: Any) -> tuple[pl.DataFrame, list[str]]:
    """Add the `probability` of examination to the results of a log; also return notes."""
    # A relative propensity of 0, for a rank without a click in any pair, is treated as unknown.
    is_relative = isinstance(examination, RankPropensities)
    if examination is None:
        log.require("results", "propensity", purpose="run_value without examination=...")
        probability = pl.col("propensity")
    else:
        if isinstance(examination, RankPropensities):
            rows = examination.rows.select("rank", "propensity").drop_nulls()
            probabilities = dict(rows.filter(pl.col("propensity") > 0).iter_rows())
        elif isinstance(examination, Mapping):
            probabilities = dict(examination)
        else:
            numbers = as_numbers(examination, "examination").ravel().tolist()
            probabilities = dict(enumerate(numbers, 1))
        for rank, value in probabilities.items():
            if not (isinstance(rank, Integral) and isinstance(value, Real)):
                expected = "examination must be a list of numbers, or map ranks to numbers"
                raise PolicyError(f"{expected}, got {quote(value)} at {quote(rank)}")
        if (lowest := min(probabilities, default=1)) < 1:
            raise PolicyError(f"ranks of examination must be at least 1, got {lowest}")
        values = {rank: float(x) for rank, x in probabilities.items() if not np.isnan(float(x))}
        probability = pl.col("rank").replace_strict(values, default=None, return_dtype=pl.Float64)
    results = log.results_with_clicks.with_columns(probability=probability)
    bound = np.inf if is_relative else 1
    invalid_results = results.filter(~pl.col("probability").is_between(0, bound, closed="right"))
    for rank, value in invalid_results.select("rank", "probability").head(1).rows():
        reason = "expected examination probabilities above 0 and at most 1"
        source = log.source if examination is None else "examination"
        raise InputError(f"{reason}, got {value:g} at rank {rank}", source=source)
    notes = []
    high_ranks = results.filter(pl.col("probability") > 1).select("rank", "probability")
    high_ranks = high_ranks.unique().sort("rank")
    if high_ranks.height:
        text = ", ".join(f"{value:.3g} at rank {rank}" for rank, value in high_ranks.rows())
        note = f"estimated examination exceeds that of rank 1: {text}"
        remedy = "see the confidence intervals of these propensities"
        notes.append(f"{note} (relative, by {examination.method}); {remedy}")
    return results, notes
