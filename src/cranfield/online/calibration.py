"""User models calibrated from query logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import ndtri

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import (
    InputError,
    PolicyError,
    check_choice,
    check_number,
    check_share,
    check_whole,
)
from cranfield.base.text import counted
from cranfield.measures.base import Measure
from cranfield.measures.users.markov import MarkovPrecision
from cranfield.measures.users.stopping import RankBiasedPrecision
from cranfield.online.click_models.model import Model, Patterns, Values
from cranfield.online.click_models.models import CascadeModel
from cranfield.online.click_models.trained import ClickModel
from cranfield.online.log.query_log import QueryLog
from cranfield.result import Column, Columns, Result
from cranfield.tabular import format_interval, format_number

STAYS = ("rank", "grade")  # Variables by which mean dwell times are computed


@dataclass(frozen=True, eq=False, repr=False)
class ClickMoves(Result):
    """Moves between successive clicks on a page; returned by :func:`click_moves`.

    Attributes
    ----------
    counts
        Number of moves from each rank (row) to each rank (column); a repeated click on the same
        result is a move to its own rank. Shape (ranks, ranks).
    stays
        Data frame of dwell times, one row per rank and per grade: `by`, `value`, `mean` (seconds),
        number of `clicks` with a dwell time, and number of `censored` ones. It has no rows if the
        log has no dwell times.
    pages
        Number of pages with at least one move.
    excluded
        Number of excluded moves, from or to a rank below the last rank included.
    unknown
        Number of clicks with an unknown dwell time.
    """

    name: ClassVar[str] = "moves"
    columns: ClassVar[Columns] = {
        "from": Column("Rank of a click.", key=True),
        "to": Column("Rank of the next click.", key=True),
        "moves": Column("Number of moves."),
    }

    counts: Ints
    stays: pl.DataFrame
    pages: int
    excluded: int
    unknown: int

    def measure(self, *, stays: str | None = None, prior: float = 1.0, **options: Any) -> Measure:
        """Return Markov precision for users with these moves.

        Parameters
        ----------
        stays
            None for discrete time; `rank` or `grade` for continuous time, where users stay at each
            rank, or at each document of a grade, for the mean dwell time in the log.
        prior
            Number that is added to the counts of moves between different ranks, above 0; with
            `loops=True` also to the counts of moves to the same rank.
        options
            Other parameters of `MP`, such as `states='relevant'` or `recall=True`.

        Returns
        -------
        Measure
            Its text form has all moves and times, and can be parsed.

        Raises
        ------
        PolicyError
            For a prior that is not above 0.
        InputError
            If there are no dwell times.
        """
        check_number("prior", prior, above=0)
        counts = self.counts + prior
        if not options.get("loops"):
            np.fill_diagonal(counts, 0.0)
        if stays is not None:
            check_choice("stays", stays, STAYS)
            times = self.stays.filter((pl.col("by") == stays) & (pl.col("mean") > 0))
            if times.is_empty():
                raise InputError(f"the log has no dwell times by {stays}")
            options["dwell"] = dict(times.select("value", "mean").iter_rows())
            options["dwell_by"] = stays
        moves = {
            start: {end: float(count) for end, count in enumerate(row, 1) if count}
            for start, row in enumerate(counts.tolist(), 1)
        }
        return MarkovPrecision(moves=moves, **options)

    def _frame(self) -> pl.DataFrame:
        start, end = np.indices(self.counts.shape) + 1
        return pl.DataFrame(
            {"from": start.ravel(), "to": end.ravel(), "moves": self.counts.ravel()}
        )

    def heading(self) -> list[str]:
        sizes = {"move": self.counts.sum(), "rank": len(self.counts), "page": self.pages}
        parts = [counted(int(number), noun) for noun, number in sizes.items()]
        if self.excluded:
            parts.append(f"{self.excluded:,} excluded")
        return [", ".join(parts)]


def click_moves(log: QueryLog, *, ranks: int = 10) -> ClickMoves:
    """Count the moves of users between successive clicks on a page.

    Clicks at ranks without a result are ignored. The mean time at a rank or grade assumes an
    exponential distribution: the seconds on all clicks divided by the number of uncensored clicks.

    Parameters
    ----------
    log
        Log with clicks.
    ranks
        Last rank to include, from 2 to 100.

    Raises
    ------
    InputError
        For a log without clicks.

    References
    ----------
    Ferrante, M., Ferro, N. and Maistro, M. (2014). Injecting user models and time into precision
    via Markov chains. SIGIR 2014, 597-606.

    Examples
    --------
    >>> import cranfield as cf
    >>> moves = cf.online.click_moves(cf.online.simulated_log(), ranks=3)
    >>> measure = moves.measure(stays="rank")
    >>> cf.parse_measure(str(measure)) == measure
    True
    """
    check_whole("ranks", ranks, 2, 100)
    log.require("clicks", purpose="a table of click moves")
    clicks = log.clicks.filter(pl.col("rank") >= 1)
    moves = clicks.select("page", start="rank", end=pl.col("rank").shift(-1))
    moves = moves.filter(pl.col("page") == pl.col("page").shift(-1))
    included_moves = moves.filter((pl.col("start") <= ranks) & (pl.col("end") <= ranks))
    counts = np.zeros((ranks, ranks), dtype=np.int64)
    np.add.at(counts, (included_moves["start"] - 1, included_moves["end"] - 1), 1)
    stays, n_unknown = _mean_stays(log, clicks.filter(pl.col("rank") <= ranks))
    excluded = moves.height - included_moves.height
    return ClickMoves(counts, stays, included_moves["page"].n_unique(), excluded, n_unknown)


def _mean_stays(log: QueryLog, clicks: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Compute mean dwell times by rank and grade; also count clicks without a dwell time."""
    timed_clicks = add_stays(log, clicks).filter(pl.col("dwell") >= 0)
    censored = pl.col("censored").fill_null(False)
    tables = [
        timed_clicks.drop_nulls(key)
        .group_by(by=pl.lit(key), value=pl.col(key).cast(pl.Int64))
        .agg(
            mean=pl.col("dwell").sum() / (~censored).sum(),
            clicks=pl.len().cast(pl.Int64),
            censored=censored.sum().cast(pl.Int64),
        )
        .filter(pl.col("clicks") > pl.col("censored"))
        .sort("value")
        for key in STAYS
    ]
    return pl.concat(tables), clicks.height - timed_clicks.height


def add_stays(log: QueryLog, clicks: pl.DataFrame) -> pl.DataFrame:
    """Add dwell times, whether they are censored, and grades; null if the log has none."""
    for name, dtype in {"dwell": pl.Float64, "censored": pl.Boolean}.items():
        if name not in clicks.columns:
            clicks = clicks.with_columns(pl.lit(None, dtype).alias(name))
    if "grade" not in log.results.columns:
        return clicks.with_columns(grade=pl.lit(None, pl.Int64))
    grades = log.results.select("page", "rank", "grade")
    return clicks.join(grades, on=["page", "rank"], how="left", maintain_order="left")


def estimate_ratio(totals: pl.Series, sizes: pl.Series) -> tuple[float, float]:
    """Estimate a ratio of sums over units, and its standard error by the delta method."""
    total, size = totals.to_numpy(), sizes.to_numpy()
    ratio = float(total.sum() / size.sum())
    if total.size == 1:
        return ratio, float("nan")
    squares = np.square(total - ratio * size).sum()
    return ratio, float(np.sqrt(total.size / (total.size - 1) * squares) / float(size.sum()))


def examination_probabilities(model: Model, values: Values, pages: Patterns) -> Floats:
    """Compute P(E = 1) of each result, by a model of users who read from rank to rank."""
    if not isinstance(model, CascadeModel):
        raise PolicyError(f"model must have users who read from rank to rank, got {model}")
    return model.posterior(values, pages).examined


UNITS = ("page", "query", "session", "user")  # Independent units


@dataclass(frozen=True, eq=False, repr=False)
class Persistence(Result):
    """Persistence p, the probability of continuing to the next rank; see :func:`rbp_persistence`.

    The attributes are the columns of the table, which has one row.
    """

    name: ClassVar[str] = "persistence"
    columns: ClassVar[Columns] = {
        "by": Column("`lowest click`, or the click model.", key=True),
        "p": Column(
            "Number of times that users continued, divided by the number of times that they could."
        ),
        "error": Column("Standard error over units; NaN for one unit."),
        "low": Column("Lower bound of the confidence interval, computed on the logit scale."),
        "high": Column("Upper bound of the interval; NaN if there is none."),
        "confidence": Column("Confidence level of the interval.", decimals=2),
        "unit": Column("Independent units, such as users."),
        "units": Column("Number of units."),
        "pages": Column("Number of pages used."),
        "excluded": Column("Number of excluded pages, without a click or without results."),
    }

    by: str
    p: float
    error: float
    low: float
    high: float
    confidence: float
    unit: str
    units: int
    pages: int
    excluded: int

    def measure(self, **options: Any) -> Measure:
        """Return RBP with this persistence and the given other parameters."""
        return RankBiasedPrecision(p=self.p, **options)

    def _frame(self) -> pl.DataFrame:
        return pl.DataFrame([vars(self)])

    def facts(self) -> dict[str, Any]:
        return {}

    def heading(self) -> list[str]:
        interval = format_interval(self.low, self.high)
        by_unit = "" if self.unit == "page" else f"by {self.unit}"
        pages = counted(self.pages, "page")
        parts = f"p {format_number(self.p)}", interval, f"by {self.by}", pages, by_unit
        return [", ".join(filter(None, parts))]


def rbp_persistence(
    log: QueryLog, *, model: ClickModel | None = None, unit: str = "page", confidence: float = 0.95
) -> Persistence:
    r"""Estimate the persistence parameter p of RBP from a log.

    A user who continues with probability p reads D ranks, :math:`P(D = d) = p^{d-1}(1-p)`. On a
    page of n ranks, D is censored at n: a user who read rank n might have continued. The maximum
    likelihood estimate is

    .. math:: \hat p = \sum_j (d_j - 1) \Big/ \sum_j \min(d_j, n_j - 1)

    the number of times that users continued, divided by the number of times that they could have.

    Parameters
    ----------
    log
        Pages with clicks, and preferably all results, which determine the lengths of pages.
    model
        By default users read down to their lowest click, and pages without a click, which carry
        no information on depth, are excluded and counted. This underestimates p if users read on
        without clicking. With a trained model of users who read from rank to rank (CM, SDBN, DCM,
        DBN, CCM), d is replaced by the probabilities that ranks were examined, given all clicks of
        the page.
    unit
        Independent unit of the standard error: `page`, `query`, `session` or `user`. The standard
        error ignores the uncertainty of the model's parameters.
    confidence
        Confidence level of the interval.

    Raises
    ------
    InputError
        For a log without a click, or in which no user could continue.
    PolicyError
        For a model whose users do not read from rank to rank.

    References
    ----------
    Ferro, N. and Maistro, M. (2024), section 5.1; Moffat, A. and Zobel, J. (2008).

    Examples
    --------
    >>> import cranfield as cf
    >>> log = cf.online.simulated_log()
    >>> cf.online.rbp_persistence(log).p < 1
    True
    """
    check_choice("unit", unit, UNITS)
    check_share("confidence", confidence)
    frame = _count_by_clicks(log) if model is None else _count_by_model(log, model)
    if unit != "page":
        log.require("pages", unit, purpose=f"a standard error by {unit}")
        frame = frame.with_columns(unit=log.pages[unit].gather(frame["page"]))
        frame = frame.group_by("unit", maintain_order=True).agg(
            pl.col("continued", "possible", "pages").sum()
        )
    pages = int(frame["pages"].sum())
    if not frame["possible"].sum() > 0:
        raise InputError(
            "no page has a click above its last rank, so persistence cannot be estimated",
            source=log.source,
        )
    p, error = estimate_ratio(frame["continued"], frame["possible"])
    low = high = float("nan")
    if 0 < p < 1 and error > 0:
        half_width = float(ndtri((1 + confidence) / 2)) * error / (p * (1 - p))
        logit = np.log(p / (1 - p))
        low, high = (float(1 / (1 + np.exp(-(logit + sign * half_width)))) for sign in (-1, 1))
    by = "lowest click" if model is None else str(model.model)
    sizes = frame.height, pages, log.pages.height - pages
    return Persistence(by, p, error, low, high, confidence, unit, *sizes)


def _count_by_clicks(log: QueryLog) -> pl.DataFrame:
    """Count how often users continued, and could have, on each page with a click on a result."""
    log.require("clicks", purpose="a persistence")
    lowest = pl.col("rank").max().cast(pl.Int64)
    clicks = log.clicks.filter(pl.col("rank") >= 1)
    depth = clicks.group_by("page", maintain_order=True).agg(depth=lowest)
    length = log.results.group_by("page").agg(length=lowest)
    pages = depth.join(length, on="page", how="left", maintain_order="left")
    if log.results.is_empty():
        pages = pages.with_columns(length=pl.col("depth") + 1)
    continued, possible = pl.col("depth") - 1, pl.min_horizontal("depth", pl.col("length") - 1)
    columns = {"continued": continued.cast(pl.Float64), "possible": possible.cast(pl.Float64)}
    return pages.drop_nulls("length").select("page", **columns, pages=pl.lit(1))


def _count_by_model(log: QueryLog, model: ClickModel) -> pl.DataFrame:
    """Compute how often users are expected to continue, and could have, on each page."""
    pages = model.patterns(log)
    p = examination_probabilities(model.model, model.values, pages)
    n_patterns = len(pages)
    continued = np.bincount(pages.pattern, p * (pages.rank > 0), n_patterns)
    is_last = pages.rank == pages.lengths[pages.pattern] - 1
    possible = np.bincount(pages.pattern, p * ~is_last, n_patterns)
    page = np.flatnonzero(pages.page >= 0)
    pattern = pages.page[page]
    frame = pl.DataFrame(
        {"page": page, "continued": continued[pattern], "possible": possible[pattern]}
    )
    return frame.with_columns(pages=pl.lit(1))
