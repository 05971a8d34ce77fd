"""The chance to look at a rank, from rankings that differ by chance or by ranker."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Ints
from cranfield.base.checks import check_choice, check_share, check_whole
from cranfield.base.errors import InputError
from cranfield.base.words import counted
from cranfield.online.click_models.training import train
from cranfield.online.log.query_log import QueryLog
from cranfield.online.off_policy.harvesting import all_pairs, harvest
from cranfield.online.off_policy.limits_by_unit import SAME, LimitsBy, two_means
from cranfield.significance.difference_by_error import t_limits
from cranfield.tabular.frames import Framed

METHODS = {
    "swaps": "clicks on two documents that were shown in both orders, at rank 1 and at rank k",
    "AllPairs": "documents that were seen at two ranks, all pairs of ranks together",
    "EM": "the position-based model, by expectation maximisation",
}
"""Ways to estimate the chance to look at a rank."""


@dataclass(frozen=True, eq=False, repr=False)
class RankPropensities(Framed):
    """The chance to look at a rank, relative to rank 1; made by :func:`rank_propensities`.

    Attributes
    ----------
    method
        How it was estimated.
    values, low, high
        By rank from 1, with limits; NaN where the log does not tell.
    pairs
        Pairs that it rests on: of two documents for `swaps`, of a document and two ranks for
        `AllPairs`; 0 for `EM`.
    queries
        Queries of the log.
    confidence
        Of the limits, each by itself.
    notes
        What should be known.
    """

    method: str
    values: Floats
    low: Floats
    high: Floats
    pairs: int
    queries: int
    confidence: float
    notes: tuple[str, ...]

    @property
    def ranks(self) -> Ints:
        """The ranks, from 1."""
        return np.arange(1, self.values.size + 1)

    def to_polars(self) -> pl.DataFrame:
        """Return a row a rank: `rank`, `propensity`, `low`, `high`."""
        return pl.DataFrame(
            {"rank": self.ranks, "propensity": self.values, "low": self.low, "high": self.high}
        ).with_columns(pl.selectors.float().fill_nan(None))

    def __repr__(self) -> str:
        known = int((~np.isnan(self.values)).sum())
        rests = f", {counted(self.pairs, 'pair')}" if self.pairs else ""
        return f"RankPropensities({self.method}, {counted(known, 'rank')}{rests})"


def rank_propensities(
    log: QueryLog, method: str = "AllPairs", *, depth: int = 10, confidence: float = 0.95
) -> RankPropensities:
    r"""Estimate how likely users look at each rank, relative to rank 1, from what they clicked.

    It is assumed that a click needs a look at the rank, with chance :math:`x_k`, and a document
    that attracts, and that both are independent (the position-based model).

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
        Of the limits: by queries as the sample (for `swaps` by Student's t, from a ratio of
        sums; for `AllPairs` a sandwich), of logarithms. `EM` has none.

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
        notes.append("EM has no limits")
    else:
        page = log.pages.select("query").with_row_index("page").cast({"page": pl.Int64})
        shown = log.shown.filter(pl.col("rank") <= depth).join(page, on="page", how="left")
        shown = shown.with_columns(clicked=(pl.col("clicks") > 0).cast(pl.Float64))
        if method == "swaps":
            value, error, pairs = _swaps(shown, depth)
        else:
            found = harvest(shown)
            pairs = found.pairs
            value, error = all_pairs(found, depth)
        if not pairs:
            raise InputError(
                f"nothing was shown at two ranks, as {method} needs", source=log.source
            )
    same = (error <= SAME) & (np.arange(depth) > 0)
    if same.any():
        ranks = ", ".join(map(str, (np.flatnonzero(same) + 1).tolist()))
        notes.append(f"rank {ranks}: the same in all queries: no interval can be computed")
        error = np.where(same, np.nan, error)
    if queries > 1:
        low, high = np.exp(t_limits(_log(value), error, queries - 1, confidence))
    else:
        low = high = np.full(depth, np.nan)
        notes.append("one query: there are no limits")
    if np.isnan(value).any():
        missing = (np.flatnonzero(np.isnan(value)) + 1).tolist()
        notes.append(f"nothing links rank {', '.join(map(str, missing))} with rank 1")
    return RankPropensities(
        method, value, low, high, pairs, queries, float(confidence), tuple(notes)
    )


def _log(value: Floats) -> Floats:
    return np.log(np.where(value > 0, value, np.nan))


def _swaps(shown: pl.DataFrame, depth: int) -> tuple[Floats, Floats, int]:
    """Clicks at rank k by those at rank 1, errors of the logarithms, and the number of swaps."""
    columns = ["page", "query", "doc", "clicked"]
    top = shown.filter(pl.col("rank") == 1).select(columns)
    below = shown.filter(pl.col("rank") > 1).select("page", "rank", other="doc", below="clicked")
    rows = top.join(below, on="page").with_columns(
        one=pl.min_horizontal("doc", "other"), two=pl.max_horizontal("doc", "other")
    )
    orders = rows.group_by("query", "rank", "one", "two", "doc").agg(
        pl.col("clicked", "below").mean(), times=pl.len()
    )
    swap = ["query", "rank", "one", "two"]
    both = orders.with_columns(
        orders=pl.len().over(swap), times=pl.col("times").min().over(swap)
    ).filter(pl.col("orders") == 2)
    value, error = np.full(depth, np.nan), np.full(depth, np.nan)
    value[0], error[0] = 1.0, 0.0
    sums = both.group_by("query", "rank").agg((pl.col("clicked", "below") * pl.col("times")).sum())
    for (rank,), part in sums.sort("rank", "query").group_by("rank", maintain_order=True):
        clicks = part.select("below", "clicked").to_numpy()
        if clicks[:, 1].any():
            made = two_means(
                np.tile(clicks[:, :1], 2),
                np.tile(clicks[:, 1:], 2),
                np.arange(len(clicks)),
                len(clicks),
                LimitsBy(),
            )
            value[int(rank) - 1] = made.estimate[0]
            with np.errstate(divide="ignore", invalid="ignore"):
                error[int(rank) - 1] = made.standard_error[0] / made.estimate[0]
    return value, error, both.height // 2
