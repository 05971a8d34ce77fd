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
from cranfield.online.click_models.models import Cascade
from cranfield.online.click_models.trained import ClickModel
from cranfield.online.log.query_log import QueryLog
from cranfield.result import Column, Columns, Result
from cranfield.tabular import between, number

STAYS = ("rank", "grade")


@dataclass(frozen=True, eq=False, repr=False)
class ClickMoves(Result):
    """Moves between successive clicks on a page; returned by :func:`click_moves`.

    Attributes
    ----------
    counts
        Moves from each rank (row) to each rank (column); a second click on the same result in a row
        is a move to where the user is. Shape (ranks, ranks).
    stays
        Data frame, a row a rank and a grade: `by`, `value`, `mean` (seconds), `clicks` of a known
        dwell time, `censored` of them. Without rows if the log has no dwell times.
    pages
        Pages with at least one move.
    excluded
        Moves that are not counted, from or to a rank below the last one.
    unknown
        Clicks whose dwell time is not known.
    """

    name: ClassVar[str] = "moves"
    columns: ClassVar[Columns] = {
        "from": Column("Rank of a click.", key=True),
        "to": Column("Rank of the next click.", key=True),
        "moves": Column("Number of such moves."),
    }

    counts: Ints
    stays: pl.DataFrame
    pages: int
    excluded: int
    unknown: int

    def measure(self, *, stays: str | None = None, prior: float = 1.0, **options: Any) -> Measure:
        """Return Markov precision for these users.

        Parameters
        ----------
        stays
            None for discrete time; `rank` or `grade` for continuous time, where users stay at each
            rank, or at each document of a grade, as long as in the log on the mean.
        prior
            Moves that are added to those counted between any two different ranks, above 0; with
            `loops=True` also to those to the same rank.
        options
            Other parameters of `MP`, such as `states='relevant'` or `recall=True`.

        Returns
        -------
        Measure
            Its text form has all moves and times, and reads back the same.

        Raises
        ------
        PolicyError
            For a prior that is not above 0.
        InputError
            If there are no dwell times.
        """
        check_number("prior", prior, above=0)
        often = self.counts + prior
        if not options.get("loops"):
            np.fill_diagonal(often, 0.0)
        if stays is not None:
            check_choice("stays", stays, STAYS)
            known = self.stays.filter((pl.col("by") == stays) & (pl.col("mean") > 0))
            if known.is_empty():
                raise InputError(f"the log has no dwell times by {stays}")
            options["dwell"] = dict(known.select("value", "mean").iter_rows())
            options["dwell_by"] = stays
        moves = {
            at: {to: float(count) for to, count in enumerate(row, 1) if count}
            for at, row in enumerate(often.tolist(), 1)
        }
        return MarkovPrecision(moves=moves, **options)

    def _frame(self) -> pl.DataFrame:
        start, end = np.indices(self.counts.shape) + 1
        return pl.DataFrame(
            {"from": start.ravel(), "to": end.ravel(), "moves": self.counts.ravel()}
        )

    def heading(self) -> list[str]:
        numbers = {"move": self.counts.sum(), "rank": len(self.counts), "page": self.pages}
        sizes = [counted(int(number), what) for what, number in numbers.items()]
        return [", ".join([*sizes, *([f"{self.excluded:,} excluded"] if self.excluded else [])])]


def click_moves(log: QueryLog, *, ranks: int = 10) -> ClickMoves:
    """Count how users move from click to click of a page, in order of time.

    Clicks on no result are ignored. The mean time at a rank or grade is that of an exponential
    time, the seconds of all clicks over the number of those whose time is not censored.

    Parameters
    ----------
    log
        Log with clicks.
    ranks
        Last rank that counts, 2 to 100.

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
    on = log.clicks.filter(pl.col("rank") >= 1)
    next_to = on.select("page", start="rank", end=pl.col("rank").shift(-1))
    next_to = next_to.filter(pl.col("page") == pl.col("page").shift(-1))
    near = next_to.filter((pl.col("start") <= ranks) & (pl.col("end") <= ranks))
    counts = np.zeros((ranks, ranks), dtype=np.int64)
    np.add.at(counts, (near["start"] - 1, near["end"] - 1), 1)
    stays, unknown = _stays(log, on.filter(pl.col("rank") <= ranks))
    excluded = next_to.height - near.height
    return ClickMoves(counts, stays, near["page"].n_unique(), excluded, unknown)


def _stays(log: QueryLog, clicks: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return mean dwell times by rank and grade, and the number of clicks without one."""
    for name, kind in {"dwell": pl.Float64, "censored": pl.Boolean}.items():
        if name not in clicks.columns:
            clicks = clicks.with_columns(pl.lit(None, kind).alias(name))
    if "grade" in log.results.columns:
        grades = log.results.select("page", "rank", "grade")
        clicks = clicks.join(grades, on=["page", "rank"], how="left", maintain_order="left")
    known = clicks.filter(pl.col("dwell") >= 0)
    censored = pl.col("censored").fill_null(False)
    tables = [
        known.drop_nulls(by)
        .group_by(by=pl.lit(by), value=pl.col(by).cast(pl.Int64))
        .agg(
            mean=pl.col("dwell").sum() / (~censored).sum(),
            clicks=pl.len().cast(pl.Int64),
            censored=censored.sum().cast(pl.Int64),
        )
        .filter(pl.col("clicks") > pl.col("censored"))
        .sort("value")
        for by in STAYS
        if by in clicks.columns
    ]
    return pl.concat(tables), clicks.height - known.height


def examined(model: Model, values: Values, pages: Patterns) -> Floats:
    """Return P(E = 1) of each result, by a model of users who go on from rank to rank."""
    if not isinstance(model, Cascade):
        raise PolicyError(f"model must have users who read from rank to rank, got {model}")
    return model.posterior(values, pages).examined


UNITS = ("page", "query", "session", "user")


@dataclass(frozen=True, eq=False, repr=False)
class Persistence(Result):
    """Persistence p, the probability to continue to the next rank; see :func:`rbp_persistence`.

    Its attributes are the columns of the table, of one row.
    """

    name: ClassVar[str] = "persistence"
    columns: ClassVar[Columns] = {
        "by": Column("`lowest click`, or the click model.", key=True),
        "p": Column(
            "Number of times that users continued, divided by the number of times they could."
        ),
        "error": Column("Standard error over units; NaN for one unit."),
        "low": Column("Lower bound of the confidence interval, on the scale of logits."),
        "high": Column("Upper bound of the interval; NaN if there is none."),
        "confidence": Column("Confidence level of the interval.", decimals=2),
        "unit": Column("Independent units, such as users."),
        "units": Column("Number of units."),
        "pages": Column("Number of pages that count."),
        "excluded": Column("Number of pages without a click, or without results."),
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
        """Return RBP with this persistence, and optional other parameters."""
        return RankBiasedPrecision(p=self.p, **options)

    def _frame(self) -> pl.DataFrame:
        return pl.DataFrame([vars(self)])

    def facts(self) -> dict[str, Any]:
        return {}

    def heading(self) -> list[str]:
        limits = between(self.low, self.high)
        by_unit = "" if self.unit == "page" else f"by {self.unit}"
        parts = f"p {number(self.p)}", limits, f"by {self.by}", counted(self.pages, "page"), by_unit
        return [", ".join(filter(None, parts))]


def rbp_persistence(
    log: QueryLog,
    *,
    model: ClickModel | None = None,
    unit: str = "page",
    confidence: float = 0.95,
) -> Persistence:
    r"""Estimate the persistence of RBP from a log.

    A user who continues with the probability p reads D ranks, :math:`P(D = d) = p^{d-1}(1-p)`. On a
    page of n ranks D is known up to n: a user who read rank n may have continued. The likelihood is
    highest at

    .. math:: \hat p = \sum_j (d_j - 1) \Big/ \sum_j \min(d_j, n_j - 1)

    the number of times that users continued, divided by the number of times that they could have.

    Parameters
    ----------
    log
        Pages with clicks, and best with all results: without them no page has an end.
    model
        By default users read down to their lowest click, and pages without a click, which carry
        no information on depth, are excluded and counted. Users who read on and did not click make
        that too low. With a trained model of users who read from rank to rank (CM, SDBN, DCM, DBN,
        CCM) the probabilities that ranks were examined, given all clicks of the page, take the
        place of d.
    unit
        Independent unit of the standard error: `page`, `query`, `session` or `user`. The standard
        error leaves out the uncertainty of the model's parameters.

    Raises
    ------
    InputError
        For a log without a click, or in which no user could go on.
    PolicyError
        For a model of other users.

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
    frame = _by_lowest_click(log) if model is None else _by_examined(log, model)
    if unit != "page":
        log.require("pages", unit, purpose=f"a standard error by {unit}")
        frame = frame.with_columns(unit=log.pages[unit].gather(frame["page"]))
        frame = frame.group_by("unit", maintain_order=True).agg(
            pl.col("on", "could", "pages").sum()
        )
    on, could = frame["on"].to_numpy(), frame["could"].to_numpy()
    pages = int(frame["pages"].sum())
    if not could.sum() > 0:
        raise InputError(
            "no page has a click above its last rank, so persistence cannot be estimated",
            source=log.source,
        )
    p = float(on.sum() / could.sum())
    units = frame.height
    error = low = high = float("nan")
    if units > 1:
        # Of a ratio of sums by unit, by the delta method.
        squares = np.square(on - p * could).sum()
        error = float(np.sqrt(units / (units - 1) * squares) / float(could.sum()))
    if 0 < p < 1 and error > 0:
        half = float(ndtri((1 + confidence) / 2)) * error / (p * (1 - p))
        logit = np.log(p / (1 - p))
        low, high = (float(1 / (1 + np.exp(-(logit + sign * half)))) for sign in (-1, 1))
    by = "lowest click" if model is None else str(model.model)
    sizes = units, pages, log.pages.height - pages
    return Persistence(by, p, error, low, high, confidence, unit, *sizes)


def _by_lowest_click(log: QueryLog) -> pl.DataFrame:
    """Times that users went on, and could have, of each page with a click on a result."""
    log.require("clicks", purpose="a persistence")
    last = pl.col("rank").max().cast(pl.Int64)
    clicks = log.clicks.filter(pl.col("rank") >= 1)
    depth = clicks.group_by("page", maintain_order=True).agg(depth=last)
    length = log.results.group_by("page").agg(length=last)
    joined = depth.join(length, on="page", how="left", maintain_order="left")
    if log.results.is_empty():
        joined = joined.with_columns(length=pl.col("depth") + 1)
    on, could = pl.col("depth") - 1, pl.min_horizontal("depth", pl.col("length") - 1)
    columns = {name: one.cast(pl.Float64) for name, one in (("on", on), ("could", could))}
    return joined.drop_nulls("length").select("page", **columns, pages=pl.lit(1))


def _by_examined(log: QueryLog, model: ClickModel) -> pl.DataFrame:
    pages = model.patterns(log)
    seen = examined(model.model, model.values, pages)
    size = len(pages)
    on = np.bincount(pages.pattern, seen * (pages.rank > 0), size)
    could = np.bincount(pages.pattern, seen * (pages.rank < pages.lengths[pages.pattern] - 1), size)
    results = np.flatnonzero(pages.page >= 0)
    kind = pages.page[results]
    frame = pl.DataFrame({"page": results, "on": on[kind], "could": could[kind]})
    return frame.with_columns(pages=pl.lit(1))
