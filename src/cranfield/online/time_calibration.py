"""Calibration of time-biased gain from query logs with times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.errors import InputError, check_choice, check_number, check_whole
from cranfield.base.kinds import OneOf
from cranfield.base.text import counted
from cranfield.collection.document_tables import read_lengths
from cranfield.measures.base import Measure
from cranfield.measures.users.effort import TimeBiasedGain
from cranfield.online.calibration import UNITS, add_stays, estimate_ratio
from cranfield.online.log.query_log import QueryLog
from cranfield.result import Column, Columns, TableResult
from cranfield.tabular import format_number

LAST_CLICKS = ("censored", "end")  # How to treat a unit whose last click has no dwell time
ORIGINAL, NO_LENGTHS = "Smucker and Clarke (2012)", "no lengths"  # Sources of other values
Estimate = tuple[float, float, int]  # Value, standard error and number of observations


ORIGINAL_VALUES: dict[str, float] = {
    name: getattr(TimeBiasedGain(), name)
    for name in ("h", "summary", "click", "click_other", "save", "a", "b")
}
"""Values of the parameters by Smucker and Clarke (2012)."""


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
        "value": Column("Estimate from the log, or the original value."),
        "error": Column("Standard error of the estimate; null if there is none."),
        "observations": Column("Number of pages, results or clicks in the estimate."),
        "source": Column("`log`, `no lengths`, or the publication of the original value."),
    }

    notes: tuple[str, ...] = ()

    def measure(self, **options: Any) -> Measure:
        """Return TBG with these parameters and the given other parameters.

        If the calibration had no lengths, all documents take the same time.
        """
        missing = {"missing": 0.0} if NO_LENGTHS in self.rows["source"] else {}
        return TimeBiasedGain(**{**self._estimates(), **missing, **options})

    def heading(self) -> list[str]:
        pairs = self._estimates().items()
        return [", ".join(f"{name} {format_number(value, 3)}" for name, value in pairs)]

    def _estimates(self) -> dict[str, float]:
        rows = self.rows.filter(pl.col("source") != ORIGINAL)
        return dict(rows.select("parameter", "value").iter_rows())


def calibrate_tbg(
    log: QueryLog,
    *,
    lengths: Any = None,
    rel: int = 1,
    save: float | None = None,
    unit: str = "page",
    last_click: Annotated[str, OneOf(LAST_CLICKS)] = "censored",
) -> TimeCalibration:
    r"""Estimate the parameters of time-biased gain from a log.

    =================  ============================================================================
    `h`                half-life: :math:`\ln 2` times the time from the first page of a unit to the
                       end of its last click, summed over units, divided by the number of units
                       whose end is known (maximum likelihood of an exponential distribution)
    `summary`          total seconds from pages to their first clicks / total of their ranks
    `click`,           proportion of clicked results, relevant and other, above the lowest click of
    `click_other`      a page, which its user must have read; the lowest click itself does not count
    `save`             proportion of clicks on relevant documents that last `save` seconds or more
    `a`, `b`           least squares fit of dwell times to lengths; without lengths, b is the mean
    =================  ============================================================================

    A parameter for which the log has no data keeps the value of Smucker and Clarke (2012), who
    conducted a user study. The estimators are our own: they assume that users read from the top,
    and continue independently of their clicks. A log does not show what users do after their last
    click, so h tends to be too low.

    Parameters
    ----------
    log
        Log with clicks, and if known times of pages and clicks, dwell times and grades.
    lengths
        Lengths of the documents, in any form that :func:`cranfield.judge` accepts, in the unit that
        the measure will use.
    rel
        Lowest relevant grade. Results without a grade count as not relevant.
    save
        Seconds on a relevant document from which it counts as saved, such as 30; by default `save`
        is not estimated.
    unit
        Unit whose time is measured for the half-life: `page`, `query`, `session` or `user`.
    last_click
        How to treat a last click with an unknown dwell time: `censored`, the unit ends at an
        unknown time after this click; or `end`, it ends with this click.

    Raises
    ------
    InputError
        For a log without clicks, or from which no parameter can be estimated.

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
    check_whole("rel", rel, 0)
    check_choice("unit", unit, UNITS)
    check_choice("last_click", last_click, LAST_CLICKS)
    if save is not None:
        check_number("save", save, above=0)
    log.require("clicks", purpose="a calibration of TBG")
    if unit != "page":
        log.require("pages", unit, purpose=f"a half-life by {unit}")
    is_known = pl.col("dwell").is_not_null() & ~pl.col("censored").fill_null(False)
    clicks = add_stays(log, log.clicks.filter(pl.col("rank") >= 1)).with_columns(
        is_known=is_known, is_relevant=_is_relevant(rel)
    )
    notes: list[str] = []
    estimates: dict[str, Estimate] = {}
    if "time" in log.pages.columns and "time" in clicks.columns:
        clicks = clicks.with_columns(start=log.pages["time"].gather(clicks["page"]))
        estimates |= _half_life(log, clicks, unit, last_click, notes) | _summary_time(clicks)
    if "grade" in log.results.columns:
        estimates |= _click_probabilities(log, clicks, rel)
        if save is not None:
            estimates |= _save_probability(clicks, save)
    estimates |= _document_times(clicks, lengths, notes)
    if not estimates:
        raise InputError(
            "has neither times nor dwell times nor grades, so no parameter of TBG can be estimated",
            source=log.source,
        )
    if defaults := [name for name in ORIGINAL_VALUES if name not in estimates]:
        notes.append(f"not estimated, values of {ORIGINAL}: {', '.join(defaults)}")
    rows = []
    for name, original in ORIGINAL_VALUES.items():
        value, error, count = estimates.get(name, (original, float("nan"), 0))
        source = ORIGINAL if name in defaults else "log" if count else NO_LENGTHS
        rows.append((name, value, error, count, source))
    frame = pl.DataFrame(rows, schema=list(TimeCalibration.columns), orient="row")
    return TimeCalibration(frame.fill_nan(None), notes=tuple(notes))


def _is_relevant(rel: int) -> pl.Expr:
    return (pl.col("grade") >= rel).fill_null(False)


def _half_life(
    log: QueryLog, clicks: pl.DataFrame, unit: str, last_click: str, notes: list[str]
) -> dict[str, Estimate]:
    end = pl.col("time") + pl.duration(microseconds=1e6 * pl.col("dwell").fill_null(0.0))
    key = pl.col("page") if unit == "page" else log.pages[unit].gather(clicks["page"])
    units = (
        clicks.with_columns(unit=key, end=end)
        .drop_nulls(["start", "time"])
        .group_by("unit", maintain_order=True)
        .agg(
            seconds=(pl.col("end").max() - pl.col("start").min()).dt.total_microseconds() / 1e6,
            has_end=pl.col("is_known").sort_by("end").last() | (last_click == "end"),
        )
    )
    n_units = log.pages.height if unit == "page" else log.pages[unit].n_unique()
    if n_units > units.height:
        excluded = counted(n_units - units.height, unit)
        notes.append(f"{excluded} without clicks excluded from the half-life")
    n_censored = units.height - int(units["has_end"].sum())
    if n_censored:
        notes.append(
            f"half-life: {counted(n_censored, unit)} with an unknown end, censored at the last"
            " click"
        )
    if n_censored == units.height or not units["seconds"].sum() > 0:
        return {}
    value, error = estimate_ratio(units["seconds"], units["has_end"].cast(pl.Float64))
    return {"h": (np.log(2) * value, np.log(2) * error, units.height)}


def _summary_time(clicks: pl.DataFrame) -> dict[str, Estimate]:
    clicks = clicks.drop_nulls(["start", "time"]).unique("page", keep="first", maintain_order=True)
    seconds = (pl.col("time") - pl.col("start")).dt.total_microseconds() / 1e6
    clicks = clicks.with_columns(seconds=seconds).filter(pl.col("seconds") >= 0)
    return _estimate("summary", clicks["seconds"], clicks["rank"])


def _click_probabilities(log: QueryLog, clicks: pl.DataFrame, rel: int) -> dict[str, Estimate]:
    """Estimate click probabilities from the results above the lowest click of each page."""
    lowest = clicks.group_by("page").agg(lowest=pl.col("rank").max())
    clicked_results = clicks.select("page", "rank", clicks=1.0).unique()
    results = (
        log.results.join(lowest, on="page")
        .filter(pl.col("rank") < pl.col("lowest"))
        .join(clicked_results, on=["page", "rank"], how="left")
    )
    estimates = {}
    for name, is_included in (("click", _is_relevant(rel)), ("click_other", ~_is_relevant(rel))):
        pages = (
            results.filter(is_included)
            .group_by("page", maintain_order=True)
            .agg(pl.col("clicks").sum(), results=pl.len())
        )
        if pages.height:
            value, error = estimate_ratio(pages["clicks"], pages["results"])
            estimates[name] = (value, error, int(pages["results"].sum()))
    return estimates


def _save_probability(clicks: pl.DataFrame, save: float) -> dict[str, Estimate]:
    is_long = pl.col("dwell") >= save
    # Whether a click was long is known if its dwell time is, or if a censored dwell is long enough.
    clicks = clicks.filter(pl.col("is_relevant") & (pl.col("is_known") | is_long))
    return _estimate("save", clicks.select(is_long.cast(pl.Float64)).to_series())


def _document_times(clicks: pl.DataFrame, lengths: Any, notes: list[str]) -> dict[str, Estimate]:
    clicks = clicks.filter(pl.col("is_known") & (pl.col("dwell") >= 0))
    if lengths is None:
        mean = _estimate("b", clicks["dwell"])
        return {"a": (0.0, float("nan"), 0)} | mean if mean else {}
    table = read_lengths(lengths)
    doc_lengths = pl.DataFrame({"doc": table.docs, "length": table.values})
    rows = clicks.join(doc_lengths, on="doc", how="left", maintain_order="left")
    rows = rows.drop_nulls("length")
    if n_unknown := clicks.height - rows.height:
        notes.append(f"{counted(n_unknown, 'click')} on documents without a known length excluded")
    if rows.height < 3 or rows["length"].n_unique() < 2:
        return {}
    return _fit_line(rows["length"].to_numpy(), rows["dwell"].to_numpy(), notes)


def _fit_line(length: Floats, seconds: Floats, notes: list[str]) -> dict[str, Estimate]:
    """Fit a line without a negative slope or intercept by least squares."""
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
    errors = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    for name, value, error in zip(columns, coefficients, errors, strict=True):
        estimates[name] = (float(value), float(error), length.size)
    return estimates


def _estimate(name: str, totals: pl.Series, sizes: pl.Series | None = None) -> dict[str, Estimate]:
    """Estimate a ratio of sums, or a mean; empty without observations."""
    if totals.is_empty():
        return {}
    sizes = pl.Series(np.ones(totals.len())) if sizes is None else sizes
    return {name: (*estimate_ratio(totals, sizes), totals.len())}
