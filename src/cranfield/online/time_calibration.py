"""Time-biased gain calibrated from query logs with times."""

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
from cranfield.online.calibration import UNITS, ratio_of_sums, with_stays
from cranfield.online.log.query_log import QueryLog
from cranfield.result import Column, Columns, TableResult
from cranfield.tabular import format_number

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
    is_known = pl.col("dwell").is_not_null() & ~pl.col("censored").fill_null(False)
    clicks = with_stays(log, log.clicks.filter(pl.col("rank") >= 1)).with_columns(
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
            "has neither times nor dwell times nor grades, so that no parameter of TBG can be"
            " estimated",
            source=log.source,
        )
    if defaults := [name for name in ORIGINAL_VALUES if name not in estimates]:
        notes.append(f"not estimated, values of {ORIGINAL}: {', '.join(defaults)}")
    rows = []
    for name, original in ORIGINAL_VALUES.items():
        value, error, size = estimates.get(name, (original, float("nan"), 0))
        source = ORIGINAL if name in defaults else "log" if size else NO_LENGTHS
        rows.append((name, value, error, size, source))
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
            ends=pl.col("is_known").sort_by("end").last() | (last_click == "end"),
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
    value, error = ratio_of_sums(units["seconds"], units["ends"].cast(pl.Float64))
    return {"h": (np.log(2) * value, np.log(2) * error, units.height)}


def _summary_time(clicks: pl.DataFrame) -> dict[str, Estimate]:
    first = clicks.drop_nulls(["start", "time"]).unique("page", keep="first", maintain_order=True)
    seconds = (pl.col("time") - pl.col("start")).dt.total_microseconds() / 1e6
    later = first.with_columns(seconds=seconds).filter(pl.col("seconds") >= 0)
    return _ratio_estimate("summary", later["seconds"], later["rank"])


def _click_probabilities(log: QueryLog, clicks: pl.DataFrame, rel: int) -> dict[str, Estimate]:
    """Estimate from results above the lowest click: that click is conditional on itself."""
    lowest = clicks.group_by("page").agg(lowest=pl.col("rank").max())
    clicked = clicks.select("page", "rank", clicked=1.0).unique()
    read = (
        log.results.join(lowest, on="page")
        .filter(pl.col("rank") < pl.col("lowest"))
        .join(clicked, on=["page", "rank"], how="left")
    )
    estimates = {}
    for name, is_listed in (("click", _is_relevant(rel)), ("click_other", ~_is_relevant(rel))):
        by_page = (
            read.filter(is_listed)
            .group_by("page", maintain_order=True)
            .agg(pl.col("clicked").sum(), results=pl.len())
        )
        if by_page.height:
            value, error = ratio_of_sums(by_page["clicked"], by_page["results"])
            estimates[name] = (value, error, int(by_page["results"].sum()))
    return estimates


def _save_probability(clicks: pl.DataFrame, save: float) -> dict[str, Estimate]:
    is_long = pl.col("dwell") >= save
    decided = clicks.filter(pl.col("is_relevant") & (pl.col("is_known") | is_long))
    return _ratio_estimate("save", decided.select(is_long.cast(pl.Float64)).to_series())


def _document_times(clicks: pl.DataFrame, lengths: Any, notes: list[str]) -> dict[str, Estimate]:
    timed = clicks.filter(pl.col("is_known") & (pl.col("dwell") >= 0))
    if lengths is None:
        mean = _ratio_estimate("b", timed["dwell"])
        return {"a": (0.0, float("nan"), 0)} | mean if mean else {}
    table = read_lengths(lengths)
    by_doc = pl.DataFrame({"doc": table.docs, "length": table.values})
    with_length = timed.join(by_doc, on="doc", how="left", maintain_order="left").drop_nulls(
        "length"
    )
    if n_unknown := timed.height - with_length.height:
        notes.append(f"{counted(n_unknown, 'click')} on documents without a known length excluded")
    if with_length.height < 3 or with_length["length"].n_unique() < 2:
        return {}
    return _line(with_length["length"].to_numpy(), with_length["dwell"].to_numpy(), notes)


def _line(length: Floats, seconds: Floats, notes: list[str]) -> dict[str, Estimate]:
    """Fit a line without a negative slope or intercept by least squares."""
    columns = {"a": length, "b": np.ones(length.size)}
    estimates: dict[str, Estimate] = {}
    while True:
        design = np.column_stack([*columns.values()])
        coefficients = np.linalg.lstsq(design, seconds, rcond=None)[0]
        if coefficients.min() >= 0:
            break
        name = list(columns)[coefficients.argmin()]
        notes.append(f"the estimate of {name} was below 0, and is set to 0")
        estimates[name] = (0.0, float("nan"), length.size)
        del columns[name]
    variance = ((seconds - design @ coefficients) ** 2).sum() / (length.size - len(columns))
    errors = np.sqrt(variance * np.diag(np.linalg.inv(design.T @ design)))
    for name, value, error in zip(columns, coefficients, errors, strict=True):
        estimates[name] = (float(value), float(error), length.size)
    return estimates


def _ratio_estimate(
    name: str, totals: pl.Series, sizes: pl.Series | None = None
) -> dict[str, Estimate]:
    """Estimate a ratio of sums, or a mean; empty without observations."""
    if totals.is_empty():
        return {}
    sizes = pl.Series(np.ones(totals.len())) if sizes is None else sizes
    return {name: (*ratio_of_sums(totals, sizes), totals.len())}
