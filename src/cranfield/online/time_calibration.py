"""Time-biased gain calibrated from query logs with times."""

from __future__ import annotations

from collections.abc import Iterator
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
from cranfield.online.calibration import UNITS
from cranfield.online.log.query_log import QueryLog
from cranfield.result import Column, Columns, TableResult
from cranfield.tabular import number

LAST_CLICKS = ("censored", "end")
"""How to treat a page whose last click has no dwell time."""

ORIGINAL, NO_LENGTHS = "Smucker and Clarke (2012)", "no lengths"
"""Sources of parameters that are not from the log."""

Estimate = tuple[float, float, int]
"""Value, standard error and number of observations."""


ORIGINAL_VALUES: dict[str, float] = {
    name: getattr(TimeBiasedGain(), name)
    for name in ("h", "summary", "click", "click_other", "save", "a", "b")
}
"""The values of Smucker and Clarke (2012)."""


@dataclass(frozen=True, eq=False, repr=False)
class TimeCalibration(TableResult):
    """Parameters of time-biased gain, from :func:`calibrate_tbg`.

    Attributes
    ----------
    rows
        The table, a row for each parameter.
    notes
        Excluded pages and clicks, and why parameters keep their original values.
    """

    name: ClassVar[str] = "tbg"
    columns: ClassVar[Columns] = {
        "parameter": Column("Parameter of the measure TBG.", key=True),
        "value": Column("Estimate from the log, or the original value."),
        "error": Column("Standard error of the estimate; null where there is none."),
        "observations": Column("Number of pages, results or clicks of the estimate."),
        "source": Column("`log`, `no lengths`, or the work that the original value is from."),
    }

    notes: tuple[str, ...] = ()

    def measure(self, **options: Any) -> Measure:
        """Return TBG with these parameters and other optional ones.

        Without lengths in the calibration, a document takes the same time whatever its length.
        """
        estimates: dict[str, Any] = dict(
            self.rows.filter(pl.col("source") != ORIGINAL).select("parameter", "value").iter_rows()
        )
        if NO_LENGTHS in self.rows["source"]:
            estimates["missing"] = 0.0
        return TimeBiasedGain(**{**estimates, **options})

    def heading(self) -> list[str]:
        estimates = self.rows.filter(pl.col("source") != ORIGINAL)
        pairs = estimates.select("parameter", "value").iter_rows()
        return [", ".join(f"{name} {number(value, 3)}" for name, value in pairs)]


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
                       end of its last click, summed over units, over the number of units that end
                       (maximum likelihood of an exponential distribution)
    `summary`          seconds from a page to its first click, over the ranks down to that click
    `click`,           proportion of clicked results, relevant and others, above the lowest click of
    `click_other`      a page, which its user must have read; the lowest click itself does not count
    `save`             proportion of clicks on relevant documents that last `save` seconds or more
    `a`, `b`           least squares of dwell times by length; without lengths, b is the mean time
    =================  ============================================================================

    A parameter for which the log has no data keeps the value of Smucker and Clarke (2012), who
    measured users in a study. The estimates are those of this library: they assume that users read
    from the top, and go on irrespective of what they clicked. What users do after their last
    click is not in a log, so that h is rather too low.

    Parameters
    ----------
    log
        Log with clicks; times of pages and clicks, dwell times and grades as far as known.
    lengths
        Lengths of the documents, in any form that :func:`cranfield.judge` takes, in the unit that
        the measure will have.
    rel
        Lowest relevant grade. Results without a grade count as not relevant.
    save
        Seconds on a relevant document from which it counts as saved, such as 30; by default `save`
        is not estimated.
    unit
        Unit whose time ends: `page`, `query`, `session` or `user`.
    last_click
        Where the dwell time of the last click is unknown: `censored`, the user stays for longer
        than until that click; or `end`, the click is the end of the unit.

    Raises
    ------
    InputError
        For a log without clicks, and one from which no parameter can be estimated.

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
    clicks = _with_grades(log, log.clicks.filter(pl.col("rank") >= 1), rel)
    notes: list[str] = []
    estimates: dict[str, Estimate] = {}
    if "time" in log.pages.columns and "time" in clicks.columns:
        clicks = clicks.with_columns(start=log.pages["time"].gather(clicks["page"]))
        estimates |= _half_life(log, clicks, unit, last_click, notes)
        estimates |= _summary_time(clicks)
    if "grade" in log.results.columns:
        estimates |= _click_probabilities(log, clicks, rel)
        if save is not None:
            estimates |= _saves(clicks, save)
    estimates |= _document_times(clicks, lengths, notes)
    if not estimates:
        raise InputError(
            "has neither times nor dwell times nor grades, so that no parameter of TBG can be"
            " estimated",
            source=log.source,
        )
    defaults = [name for name in ORIGINAL_VALUES if name not in estimates]
    if defaults:
        notes.append(f"not estimated, values of {ORIGINAL}: {', '.join(defaults)}")
    rows = []
    for name, original in ORIGINAL_VALUES.items():
        value, error, size = estimates.get(name, (original, float("nan"), 0))
        source = ORIGINAL if name in defaults else "log" if size else NO_LENGTHS
        rows.append((name, value, error, size, source))
    frame = pl.DataFrame(rows, schema=list(TimeCalibration.columns), orient="row")
    return TimeCalibration(frame.fill_nan(None), notes=tuple(notes))


def _with_grades(log: QueryLog, clicks: pl.DataFrame, rel: int) -> pl.DataFrame:
    """Add dwell times, whether they are censored, and whether the document is relevant."""
    for name, kind in {"dwell": pl.Float64, "censored": pl.Boolean}.items():
        if name not in clicks.columns:
            clicks = clicks.with_columns(pl.lit(None, kind).alias(name))
    is_known = pl.col("dwell").is_not_null() & ~pl.col("censored").fill_null(False)
    clicks = clicks.with_columns(known=is_known)
    if "grade" not in log.results.columns:
        return clicks
    grades = log.results.select("page", "rank", relevant=(pl.col("grade") >= rel).fill_null(False))
    return clicks.join(grades, on=["page", "rank"], how="left", maintain_order="left")


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
            ends=pl.col("known").sort_by("end").last() | (last_click == "end"),
        )
    )
    n_units = log.pages.height if unit == "page" else log.pages[unit].n_unique()
    if n_units > units.height:
        excluded = counted(n_units - units.height, unit)
        notes.append(f"{excluded} without clicks excluded from the half-life")
    n_censored = units.height - int(units["ends"].sum())
    if n_censored:
        notes.append(
            f"half-life: the end of {counted(n_censored, unit)} is unknown, which are censored at"
            " the last click"
        )
    if n_censored == units.height or not units["seconds"].sum() > 0:
        return {}
    value, error, number_of_units = _ratio(units["seconds"], units["ends"].cast(pl.Float64))
    return {"h": (np.log(2) * value, np.log(2) * error, number_of_units)}


def _summary_time(clicks: pl.DataFrame) -> dict[str, Estimate]:
    first = clicks.drop_nulls(["start", "time"]).unique("page", keep="first", maintain_order=True)
    seconds = (first["time"] - first["start"]).dt.total_microseconds() / 1e6
    is_later = seconds >= 0
    if not is_later.any():
        return {}
    return {"summary": _ratio(seconds.filter(is_later), first["rank"].filter(is_later))}


def _click_probabilities(log: QueryLog, clicks: pl.DataFrame, rel: int) -> dict[str, Estimate]:
    """Estimate from results above the lowest click: that click is conditional on itself."""
    lowest = clicks.group_by("page").agg(lowest=pl.col("rank").max())
    clicked = clicks.select("page", "rank", clicked=1.0).unique()
    read = (
        log.results.join(lowest, on="page")
        .filter(pl.col("rank") < pl.col("lowest"))
        .join(clicked, on=["page", "rank"], how="left")
        .with_columns(
            pl.col("clicked").fill_null(0.0), relevant=(pl.col("grade") >= rel).fill_null(False)
        )
    )
    estimates = {}
    for name, is_relevant in (("click", True), ("click_other", False)):
        by_page = (
            read.filter(pl.col("relevant") == is_relevant)
            .group_by("page", maintain_order=True)
            .agg(pl.col("clicked").sum(), results=pl.len())
        )
        if by_page.height:
            value, error, _ = _ratio(by_page["clicked"], by_page["results"])
            estimates[name] = (value, error, int(by_page["results"].sum()))
    return estimates


def _saves(clicks: pl.DataFrame, save: float) -> dict[str, Estimate]:
    decided = clicks.filter(pl.col("relevant") & (pl.col("known") | (pl.col("dwell") >= save)))
    if decided.is_empty():
        return {}
    saved = (decided["dwell"] >= save).cast(pl.Float64)
    return {"save": _ratio(saved, pl.Series([1.0] * saved.len()))}


def _document_times(clicks: pl.DataFrame, lengths: Any, notes: list[str]) -> dict[str, Estimate]:
    timed = clicks.filter(pl.col("known") & (pl.col("dwell") >= 0))
    if timed.is_empty():
        return {}
    if lengths is None:
        number_of_clicks = pl.Series([1.0] * timed.height)
        return {"a": (0.0, float("nan"), 0), "b": _ratio(timed["dwell"], number_of_clicks)}
    table = read_lengths(lengths)
    by_doc = pl.DataFrame({"doc": table.docs, "length": table.values})
    timed = timed.join(by_doc, on="doc", how="left", maintain_order="left")
    unknown = timed["length"].null_count()
    if unknown:
        notes.append(f"{counted(unknown, 'click')} on documents without a known length excluded")
    timed = timed.drop_nulls("length")
    if timed.height < 3 or timed["length"].n_unique() < 2:
        return {}
    return dict(_line(timed["length"].to_numpy(), timed["dwell"].to_numpy(), notes))


def _line(length: Floats, seconds: Floats, notes: list[str]) -> Iterator[tuple[str, Estimate]]:
    """Fit a line without a negative slope or intercept by least squares."""
    every = np.column_stack([length, np.ones(length.size)])
    coefficients = np.linalg.lstsq(every, seconds, rcond=None)[0]
    is_used = coefficients >= 0
    if not is_used.all():
        name = "ab"[int(np.flatnonzero(~is_used)[0])]
        notes.append(f"the estimate of {name} was below 0, and is set to 0")
        fit = np.linalg.lstsq(every[:, is_used], seconds, rcond=None)[0]
        coefficients = np.zeros(2)
        coefficients[is_used] = fit
    residual = seconds - every @ coefficients
    used = every[:, is_used]
    variance = (residual**2).sum() / (length.size - used.shape[1])
    errors = np.full(2, np.nan)
    errors[is_used] = np.sqrt(variance * np.diag(np.linalg.inv(used.T @ used)))
    for name, value, error in zip("ab", coefficients, errors, strict=True):
        yield name, (float(value), float(error), length.size)


def _ratio(totals: pl.Series, sizes: pl.Series) -> Estimate:
    """Return a ratio of sums, its standard error by the delta method, and the number of terms."""
    total, size = totals.to_numpy(), sizes.to_numpy()
    value = float(total.sum() / size.sum())
    terms = len(total)
    error = float("nan")
    if terms > 1:
        squares = np.square(total - value * size).sum()
        error = float(np.sqrt(terms / (terms - 1) * squares) / size.sum())
    return value, error, terms
