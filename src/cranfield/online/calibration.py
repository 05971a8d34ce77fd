"""Calibrate user models from query logs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl
from scipy.special import ndtri

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import InputError, PolicyError, check_choice, check_number
from cranfield.base.kinds import Integer, OneOf, UnitInterval, check_arguments
from cranfield.base.text import inflect
from cranfield.collection.document_tables import read_lengths
from cranfield.measures.base import Measure
from cranfield.measures.users.effort import TimeBiasedGain
from cranfield.measures.users.markov import MarkovPrecision
from cranfield.measures.users.stopping import RankBiasedPrecision
from cranfield.online.click_models.models import CascadeModel
from cranfield.online.click_models.trained import ClickModel
from cranfield.online.log.query_log import QueryLog, number_page_units
from cranfield.result import Column, Columns, Result, TableResult, declare_bounds
from cranfield.tabular import format_interval, format_number

DWELL_KEYS = ("rank", "grade")  # Variables by which mean dwell times are computed


@dataclass(frozen=True, eq=False, repr=False)
class ClickMoves(Result):
    """Moves between successive clicks on a page; returned by :func:`click_moves`.

    Attributes
    ----------
    counts
        Number of moves from each rank (row) to each rank (column); a repeated click on the same
        result is a move to its own rank. Shape (ranks, ranks).
    dwell_times
        Data frame, one row per rank and per grade with an uncensored dwell time: `by` (`rank` or
        `grade`), `value`, `mean` dwell time (seconds), number of `clicks` with a dwell time, and
        number of these clicks whose dwell time is `censored`.
    n_pages
        Number of pages with at least one included move.
    n_excluded
        Number of moves excluded because they start or end below the last included rank.
    n_unknown
        Number of clicks down to the last included rank that have no dwell time.
    """

    name: ClassVar[str] = "moves"
    columns: ClassVar[Columns] = {
        "from": Column("Rank of a click.", key=True),
        "to": Column("Rank of the next click.", key=True),
        "moves": Column("Number of moves."),
    }

    counts: Ints
    dwell_times: pl.DataFrame
    n_pages: int
    n_excluded: int
    n_unknown: int

    def measure(
        self, *, dwell_by: str | None = None, prior: float = 1.0, **options: Any
    ) -> Measure:
        """Return Markov precision for users with these moves.

        Parameters
        ----------
        dwell_by
            None for discrete time. For continuous time, `rank` or `grade`: users stay at each rank,
            or at each document of a grade, for its mean dwell time in the log.
        prior
            Positive number that is added to each count of moves between different ranks and, with
            `loops=True`, of moves to the same rank.
        options
            Other parameters of `MP`, such as `states='relevant'` or `recall=True`.

        Returns
        -------
        Measure
            Its text form has all moves and times, and can be parsed.

        Raises
        ------
        PolicyError
            For a prior that is not above 0, or other invalid parameters.
        InputError
            If continuous time is requested, but no rank or no grade has a mean dwell time above 0.
        """
        check_number("prior", prior, above=0)
        counts = self.counts + float(prior)
        if not options.get("loops"):
            np.fill_diagonal(counts, 0.0)
        if dwell_by is not None:
            check_choice("dwell_by", dwell_by, DWELL_KEYS)
            times = self.dwell_times.filter((pl.col("by") == dwell_by) & (pl.col("mean") > 0))
            if times.is_empty():
                raise InputError(f"expected a {dwell_by} with a mean dwell time above 0, got none")
            options["dwell"] = dict(times.select("value", "mean").iter_rows())
            options["dwell_by"] = dwell_by
        rows = enumerate(counts.tolist(), 1)
        moves = {start: {end: n for end, n in enumerate(row, 1) if n} for start, row in rows}
        return MarkovPrecision(moves=moves, **options)

    def _frame(self) -> pl.DataFrame:
        start, end = np.indices(self.counts.shape) + 1
        columns = {"from": start.ravel(), "to": end.ravel(), "moves": self.counts.ravel()}
        return pl.DataFrame(columns)

    def heading(self) -> list[str]:
        sizes = {"move": self.counts.sum(), "rank": len(self.counts), "page": self.n_pages}
        texts = [inflect(int(size), noun) for noun, size in sizes.items()]
        texts += [f"{self.n_excluded:,} moves excluded"] if self.n_excluded else []
        return [", ".join(texts)]


def click_moves(log: QueryLog, *, ranks: Annotated[int, Integer(2, 100)] = 10) -> ClickMoves:
    """Count the moves of users between successive clicks on a page.

    Clicks without a rank are ignored. The mean dwell time of a rank or grade is the total seconds
    on its clicks divided by the number of uncensored clicks, which is the maximum likelihood
    estimate for an exponential distribution.

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
    >>> measure = moves.measure(dwell_by="rank")
    >>> cf.parse_measure(str(measure)) == measure
    True
    """
    check_arguments(click_moves, locals())
    log.require("clicks", purpose="a table of click moves")
    clicks = log.clicks.filter(pl.col("rank") >= 1)
    moves = clicks.select("page", start="rank", end=pl.col("rank").shift(-1))
    moves = moves.filter(pl.col("page") == pl.col("page").shift(-1))
    included_moves = moves.filter((pl.col("start") <= ranks) & (pl.col("end") <= ranks))
    counts = np.zeros((ranks, ranks), dtype=np.int64)
    np.add.at(counts, (included_moves["start"] - 1, included_moves["end"] - 1), 1)
    dwell_times, n_unknown = _average_dwell_times(log, clicks.filter(pl.col("rank") <= ranks))
    return ClickMoves(
        counts=counts,
        dwell_times=dwell_times,
        n_pages=included_moves["page"].n_unique(),
        n_excluded=moves.height - included_moves.height,
        n_unknown=n_unknown,
    )


def _average_dwell_times(log: QueryLog, clicks: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Compute mean dwell times by rank and grade; also count clicks without a dwell time."""
    timed_clicks = _add_dwell_times_and_grades(log, clicks).filter(pl.col("dwell") >= 0)
    is_censored = pl.col("censored").fill_null(False)
    tables = [
        timed_clicks.drop_nulls(key)
        .group_by(by=pl.lit(key), value=pl.col(key).cast(pl.Int64))
        .agg(
            mean=pl.col("dwell").sum() / (~is_censored).sum(),
            clicks=pl.len().cast(pl.Int64),
            censored=is_censored.sum().cast(pl.Int64),
        )
        .filter(pl.col("clicks") > pl.col("censored"))
        .sort("value")
        for key in DWELL_KEYS
    ]
    return pl.concat(tables), clicks.height - timed_clicks.height


def _add_dwell_times_and_grades(log: QueryLog, clicks: pl.DataFrame) -> pl.DataFrame:
    """Add dwell times, whether they are censored, and grades to clicks; null if unknown."""
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
    squared_residuals = np.square(total - ratio * size).sum()
    variance = total.size / (total.size - 1) * squared_residuals
    return ratio, float(np.sqrt(variance) / float(size.sum()))


UNITS = ("page", "query", "session", "user")  # Units of standard errors and half-lives


def _number_units(log: QueryLog, unit: str, purpose: str) -> tuple[pl.Series, list[str]]:
    """Return the index of each page's unit, and notes on pages without a unit."""
    if unit == "page":
        return pl.int_range(log.pages.height, eager=True), []
    log.require("pages", unit, purpose=f"{purpose} by {unit}")
    codes, notes = number_page_units(log.pages, unit)
    return pl.Series(codes), notes


@dataclass(frozen=True, eq=False, repr=False)
class Persistence(Result):
    """Persistence p, the probability of continuing to the next rank; see :func:`rbp_persistence`.

    The attributes are the columns of the only row (counts with the prefix `n_`), and `notes`.
    """

    name: ClassVar[str] = "persistence"
    columns: ClassVar[Columns] = {
        "by": Column("Source of the depth of reading: `lowest click`, or a click model.", key=True),
        "p": Column(
            "Number of times that users continued to the next rank, divided by the number of times"
            " that they could have; with a click model, expected numbers."
        ),
        "error": Column("Standard error over units; NaN for one unit."),
        **declare_bounds("confidence interval", "; NaN if p is 0 or 1, or `error` is 0 or NaN"),
        "confidence": Column("Confidence level of the interval.", decimals=2),
        "unit": Column("Kind of independent unit, such as `user`."),
        "units": Column("Number of units."),
        "pages": Column("Number of pages used."),
        "excluded": Column("Number of pages excluded: no results or (without a model) no clicks."),
    }

    by: str
    p: float
    error: float
    low: float
    high: float
    confidence: float
    unit: str
    n_units: int
    n_pages: int
    n_excluded: int
    notes: tuple[str, ...] = ()

    def measure(self, **options: Any) -> Measure:
        """Return RBP with this persistence, and with other parameters from `options`."""
        return RankBiasedPrecision(p=self.p, **options)

    def _frame(self) -> pl.DataFrame:
        values = {name.removeprefix("n_"): value for name, value in vars(self).items()}
        return pl.DataFrame({name: [values[name]] for name in self.columns})

    def facts(self) -> dict[str, Any]:
        return {}

    def heading(self) -> list[str]:
        interval = format_interval(self.low, self.high)
        unit = "" if self.unit == "page" else f"standard error by {self.unit}"
        pages = inflect(self.n_pages, "page")
        texts = f"p {format_number(self.p)}", interval, f"by {self.by}", pages, unit
        return [", ".join(filter(None, texts))]


def rbp_persistence(
    log: QueryLog,
    *,
    model: ClickModel | None = None,
    unit: Annotated[str, OneOf(UNITS)] = "page",
    confidence: Annotated[float, UnitInterval()] = 0.95,
) -> Persistence:
    r"""Estimate the persistence parameter p of RBP from a log.

    A user who continues with probability p reads D ranks, :math:`P(D = d) = p^{d-1}(1-p)`. On a
    page of n ranks, D is censored at n: a user who read rank n might have continued. If the user
    of page j, which has :math:`n_j` ranks, read :math:`d_j` of them, the maximum likelihood
    estimate is

    .. math:: \hat p = \sum_j (d_j - 1) \Big/ \sum_j \min(d_j, n_j - 1)

    Parameters
    ----------
    log
        Pages with clicks, preferably with all results; without results, pages are endless.
    model
        Trained model of users who read from rank to rank (CM, SDBN, DCM, DBN, CCM); then d is
        replaced by the probabilities that ranks were examined, given all clicks of the page. By
        default users are assumed to read down to their lowest click, which underestimates p if they
        read on without clicking, and pages without a click are excluded and counted.
    unit
        Independent unit of the standard error: `page`, `query`, `session` or `user`; a page without
        a known unit is a unit of its own. The standard error ignores the uncertainty of the model's
        parameters.
    confidence
        Confidence level of the interval, which is computed on the logit scale.

    Raises
    ------
    InputError
        For a log without clicks or without the unit, or if no used page has several results.
    PolicyError
        For a model whose users do not read from rank to rank, or an invalid option.

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
    check_arguments(rbp_persistence, locals())
    units, notes = _number_units(log, unit, "a standard error")
    frame = _count_by_clicks(log) if model is None else _count_by_model(log, model)
    if unit != "page":
        groups = frame.group_by(units.gather(frame["page"]).alias("unit"), maintain_order=True)
        frame = groups.agg(pl.col("n_continued", "n_possible", "pages").sum())
    n_pages = int(frame["pages"].sum())
    if not frame["n_possible"].sum() > 0:
        condition = "several results" if model else "several results and a click"
        raise InputError(f"expected a page with {condition}, got none", source=log.source)
    p, standard_error = estimate_ratio(frame["n_continued"], frame["n_possible"])
    low = high = float("nan")
    if 0 < p < 1 and standard_error > 0:
        half_width = float(ndtri((1 + confidence) / 2)) * standard_error / (p * (1 - p))
        logit = np.log(p / (1 - p))
        low, high = (float(1 / (1 + np.exp(-(logit + sign * half_width)))) for sign in (-1, 1))
    return Persistence(
        by="lowest click" if model is None else str(model.model),
        p=p,
        error=standard_error,
        low=low,
        high=high,
        confidence=confidence,
        unit=unit,
        n_units=frame.height,
        n_pages=n_pages,
        n_excluded=log.pages.height - n_pages,
        notes=tuple(notes),
    )


def _count_by_clicks(log: QueryLog) -> pl.DataFrame:
    """Count how often users continued, and could have, on each page with a click on a result."""
    log.require("clicks", purpose="a persistence")
    lowest_rank = pl.col("rank").max().cast(pl.Int64)
    clicks = log.clicks.filter(pl.col("rank") >= 1)
    depth = clicks.group_by("page", maintain_order=True).agg(depth=lowest_rank)
    length = log.results.group_by("page").agg(length=lowest_rank)
    pages = depth.join(length, on="page", how="left", maintain_order="left")
    if log.results.is_empty():
        pages = pages.with_columns(length=pl.col("depth") + 1)
    columns = {"n_continued": pl.col("depth") - 1.0}
    columns["n_possible"] = pl.min_horizontal("depth", pl.col("length") - 1.0)
    return pages.drop_nulls("length").select("page", **columns, pages=pl.lit(1))


def _count_by_model(log: QueryLog, trained: ClickModel) -> pl.DataFrame:
    """Sum the examination probabilities on each page to expected numbers of continuations."""
    if not isinstance(trained.model, CascadeModel):
        condition = "users of the model must read from rank to rank (CM, SDBN, DCM, DBN, CCM)"
        raise PolicyError(f"{condition}, got {trained.model}")
    pages = trained.extract_patterns(log)
    examined = trained.model.compute_posterior(trained.values, pages).examination
    n_patterns = len(pages)
    n_continued = np.bincount(pages.pattern, examined * (pages.rank > 0), n_patterns)
    is_last = pages.rank == pages.lengths[pages.pattern] - 1
    n_possible = np.bincount(pages.pattern, examined * ~is_last, n_patterns)
    page = np.flatnonzero(pages.page_patterns >= 0)
    pattern = pages.page_patterns[page]
    columns = {"page": page, "n_continued": n_continued[pattern], "n_possible": n_possible[pattern]}
    return pl.DataFrame(columns).with_columns(pages=pl.lit(1))


LAST_CLICKS = ("censored", "end")  # Treatments of a last click with an unknown dwell time
# Sources of values that are not estimated
STUDY, NO_LENGTHS = "Smucker and Clarke (2012)", "no lengths"
Estimate = tuple[float, float, int]  # Value, standard error and number of observations
_PARAMETERS = ("h", "summary", "click", "click_other", "save", "a", "b")
ORIGINAL_VALUES: dict[str, float] = {k: getattr(TimeBiasedGain(), k) for k in _PARAMETERS}


@dataclass(frozen=True, eq=False, repr=False)
class TimeCalibration(TableResult):
    """Parameters of time-biased gain; returned by :func:`calibrate_tbg`.

    Attributes
    ----------
    rows
        The table, one row per parameter.
    notes
        Remarks, such as on excluded pages and clicks, and on parameters with original values.
    """

    name: ClassVar[str] = "tbg"
    columns: ClassVar[Columns] = {
        "parameter": Column("Parameter of the measure TBG.", key=True),
        "value": Column("Estimate from the log, or the published value."),
        "error": Column("Standard error of the estimate; null if there is none."),
        "observations": Column("Number of units, pages, results or clicks; 0 if not estimated."),
        "source": Column(
            "Source of the value: `log`, `no lengths` (the value is 0, because lengths are"
            " unknown), or a publication."
        ),
    }

    notes: tuple[str, ...] = ()

    def measure(self, **options: Any) -> Measure:
        """Return TBG with these parameters, and with other parameters from `options`.

        If the source of `a` is `no lengths`, users take the same time to read each document.
        """
        defaults = {"missing": 0.0} if NO_LENGTHS in self.rows["source"] else {}
        return TimeBiasedGain(**{**self._get_estimates(), **defaults, **options})

    def heading(self) -> list[str]:
        pairs = self._get_estimates().items()
        return [", ".join(f"{name} {format_number(value, 3)}" for name, value in pairs)]

    def _get_estimates(self) -> dict[str, float]:
        rows = self.rows.filter(pl.col("source") != STUDY)
        return dict(rows.select("parameter", "value").iter_rows())


def calibrate_tbg(
    log: QueryLog,
    *,
    lengths: Any = None,
    rel: Annotated[int, Integer(0)] = 1,
    save: float | None = None,
    unit: Annotated[str, OneOf(UNITS)] = "page",
    last_click: Annotated[str, OneOf(LAST_CLICKS)] = "censored",
) -> TimeCalibration:
    r"""Estimate the parameters of time-biased gain from a log.

    =================  ============================================================================
    `h`                half-life: :math:`\ln 2` times the time from a unit's first page with a
                       click to the latest end of a click, summed over units, divided by the
                       number of units whose end is known (maximum likelihood of an exponential
                       distribution)
    `summary`          total seconds from pages to their first clicks / total rank of these clicks
    `click`            proportion of relevant results above the lowest click of their page (which
                       users must have read) that were clicked
    `click_other`      the same proportion of results that are not relevant
    `save`             proportion of clicks on relevant documents that last `save` seconds or more
    `a`, `b`           nonnegative least squares fit of dwell times to lengths; without lengths, a
                       is 0 and b the mean
    =================  ============================================================================

    A parameter that cannot be estimated keeps the value of Smucker and Clarke (2012), who
    conducted a user study. The estimators are our own: they assume that users read from the top,
    and continue independently of their clicks. A log does not show what users do after their last
    click, so h tends to be too low.

    Parameters
    ----------
    log
        Log with clicks. Times of pages and clicks, dwell times and grades are used if known.
    lengths
        Lengths of the documents, in any form that :func:`cranfield.judge` accepts, in the unit that
        the measure will use.
    rel
        Lowest relevant grade. Results without a grade count as not relevant.
    save
        Minimum number of seconds on a relevant document for it to count as saved, such as 30; by
        default `save` is not estimated.
    unit
        Unit whose time is measured for the half-life: `page`, `query`, `session` or `user`; a page
        without a known unit is a unit of its own.
    last_click
        How to treat a last click with an unknown dwell time: `censored`, the unit ends at an
        unknown time after this click; or `end`, it ends with this click.

    Raises
    ------
    InputError
        For a log without clicks or without the unit, or from which no parameter can be estimated.
    PolicyError
        For an invalid option.

    References
    ----------
    Smucker, M. D. and Clarke, C. L. A. (2012). Time-based calibration of effectiveness measures.
    SIGIR 2012, 95-104.

    Examples
    --------
    >>> import cranfield as cf
    >>> calibration = cf.online.calibrate_tbg(cf.online.simulated_log(), save=20)
    >>> calibration
    TimeCalibration(h ..., summary ..., click ..., click_other ..., save ..., a 0.000, b ...)
    >>> cf.parse_measure(str(calibration.measure())) == calibration.measure()
    True
    """
    check_arguments(calibrate_tbg, locals())
    if save is not None:
        check_number("save", save, above=0)
    log.require("clicks", purpose="a calibration of TBG")
    units, notes = _number_units(log, unit, "a half-life")
    is_known = pl.col("dwell").is_not_null() & ~pl.col("censored").fill_null(False)
    is_relevant = (pl.col("grade") >= rel).fill_null(False)
    clicks = _add_dwell_times_and_grades(log, log.clicks.filter(pl.col("rank") >= 1))
    clicks = clicks.with_columns(is_known=is_known, is_relevant=is_relevant)
    estimates: dict[str, Estimate] = {}
    if "time" in log.pages.columns and "time" in clicks.columns:
        clicks = clicks.with_columns(start=log.pages["time"].gather(clicks["page"]))
        estimates |= _estimate_half_life(clicks, units, unit, last_click, notes)
        first_clicks = clicks.drop_nulls(["start", "time"])
        first_clicks = first_clicks.unique("page", keep="first", maintain_order=True)
        seconds = (pl.col("time") - pl.col("start")).dt.total_microseconds() / 1e6
        first_clicks = first_clicks.with_columns(seconds=seconds).filter(pl.col("seconds") >= 0)
        estimates |= _estimate_mean("summary", first_clicks["seconds"], first_clicks["rank"])
    if "grade" in log.results.columns:
        estimates |= _estimate_click_probabilities(log, clicks, is_relevant)
        if save is not None:
            # A censored dwell time of at least `save` seconds also shows that the click was long.
            is_long = pl.col("dwell") >= save
            relevant_clicks = clicks.filter(pl.col("is_relevant") & (pl.col("is_known") | is_long))
            estimates |= _estimate_mean("save", (relevant_clicks["dwell"] >= save).cast(pl.Float64))
    estimates |= _fit_dwell_times(clicks, lengths, notes)
    if not estimates:
        values = "times of pages and clicks, dwell times, or grades of results above clicks"
        reason = f"no parameter of TBG can be estimated; this requires {values}"
        raise InputError(reason, source=log.source)
    if defaults := [name for name in ORIGINAL_VALUES if name not in estimates]:
        notes.append(f"not estimated, set to the values of {STUDY}: {', '.join(defaults)}")
    rows = []
    for name, original in ORIGINAL_VALUES.items():
        value, standard_error, n_used = estimates.get(name, (original, float("nan"), 0))
        source = STUDY if name in defaults else "log" if n_used else NO_LENGTHS
        rows.append((name, value, standard_error, n_used, source))
    frame = pl.DataFrame(rows, schema=list(TimeCalibration.columns), orient="row")
    return TimeCalibration(frame.fill_nan(None), notes=tuple(notes))


def _estimate_half_life(
    clicks: pl.DataFrame, page_units: pl.Series, unit: str, last_click: str, notes: list[str]
) -> dict[str, Estimate]:
    end = pl.col("time") + pl.duration(microseconds=1e6 * pl.col("dwell").fill_null(0.0))
    duration = (pl.col("end").max() - pl.col("start").min()).dt.total_microseconds() / 1e6
    has_end = pl.col("is_known").sort_by("end").last() | (last_click == "end")
    clicks = clicks.with_columns(unit=page_units.gather(clicks["page"]), end=end)
    groups = clicks.drop_nulls(["start", "time"]).group_by("unit", maintain_order=True)
    units = groups.agg(seconds=duration, has_end=has_end)
    if (n_units := page_units.n_unique()) > units.height:
        subject = inflect(n_units - units.height, unit)
        notes.append(f"{subject} excluded from the half-life: no click of known time")
    if n_censored := units.height - int(units["has_end"].sum()):
        subject = f"{inflect(n_censored, unit)} censored at the last click"
        notes.append(f"half-life: {subject}, whose dwell time is unknown")
    if n_censored == units.height or not units["seconds"].sum() > 0:
        return {}
    value, standard_error = estimate_ratio(units["seconds"], units["has_end"].cast(pl.Float64))
    return {"h": (np.log(2) * value, np.log(2) * standard_error, units.height)}


def _estimate_click_probabilities(
    log: QueryLog, clicks: pl.DataFrame, is_relevant: pl.Expr
) -> dict[str, Estimate]:
    lowest_ranks = clicks.group_by("page").agg(lowest=pl.col("rank").max())
    clicked_results = clicks.select("page", "rank", clicks=1.0).unique()
    results = log.results.join(lowest_ranks, on="page").filter(pl.col("rank") < pl.col("lowest"))
    results = results.join(clicked_results, on=["page", "rank"], how="left")
    estimates = {}
    for name, is_included in (("click", is_relevant), ("click_other", ~is_relevant)):
        groups = results.filter(is_included).group_by("page", maintain_order=True)
        pages = groups.agg(pl.col("clicks").sum(), results=pl.len())
        if pages.height:
            ratio_and_error = estimate_ratio(pages["clicks"], pages["results"])
            estimates[name] = (*ratio_and_error, int(pages["results"].sum()))
    return estimates


def _fit_dwell_times(clicks: pl.DataFrame, lengths: Any, notes: list[str]) -> dict[str, Estimate]:
    clicks = clicks.filter(pl.col("is_known") & (pl.col("dwell") >= 0))
    if lengths is None:
        mean = _estimate_mean("b", clicks["dwell"])
        return {"a": (0.0, float("nan"), 0)} | mean if mean else {}
    table = read_lengths(lengths)
    doc_lengths = pl.DataFrame({"doc": table.docs, "length": table.values})
    rows = clicks.join(doc_lengths, on="doc", how="inner", maintain_order="left")
    if n_unknown := clicks.height - rows.height:
        subject = f"{inflect(n_unknown, 'click')} excluded from the fit of dwell time by length"
        notes.append(f"{subject}: the length of the document is unknown")
    if rows.height < 3 or rows["length"].n_unique() < 2:
        return {}
    return _fit_line(rows["length"].to_numpy(), rows["dwell"].to_numpy(), notes)


def _fit_line(length: Floats, seconds: Floats, notes: list[str]) -> dict[str, Estimate]:
    """Fit a line by least squares; a negative slope or intercept is set to 0."""
    columns = {"a": length, "b": np.ones(length.size)}
    estimates: dict[str, Estimate] = {}
    while True:
        design = np.column_stack([*columns.values()])
        coefficients = np.linalg.lstsq(design, seconds, rcond=None)[0]
        if coefficients.min() >= 0:
            break
        name = list(columns)[coefficients.argmin()]
        notes.append(f"the estimate of {name} was below 0 and is set to 0")
        estimates[name] = (0.0, float("nan"), length.size)
        del columns[name]
    variance = ((seconds - design @ coefficients) ** 2).sum() / (length.size - len(columns))
    standard_errors = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    for name, value, standard_error in zip(columns, coefficients, standard_errors, strict=True):
        estimates[name] = (float(value), float(standard_error), length.size)
    return estimates


def _estimate_mean(
    name: str, totals: pl.Series, sizes: pl.Series | None = None
) -> dict[str, Estimate]:
    """Estimate a parameter by a mean or a ratio of sums; return {} without observations."""
    if totals.is_empty():
        return {}
    sizes = pl.Series(np.ones(totals.len())) if sizes is None else sizes
    return {name: (*estimate_ratio(totals, sizes), totals.len())}
