"""Survival analysis of censored times: Kaplan-Meier estimates and log-rank tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import (
    InputError,
    MeasureError,
    PolicyError,
    check_choice,
    check_number,
)
from cranfield.base.text import counted
from cranfield.online.log.query_log import QueryLog
from cranfield.online.measures.measuring import Log, ready
from cranfield.online.measures.online_measure import OnlineMeasure
from cranfield.online.measures.page_table import LogTables, collected
from cranfield.result import Column, Columns, Result
from cranfield.significance.corrections.pvalue_corrections import adjust_pvalues

_HALF = 1e-9
"""Distance from one half up to which a proportion of survivors equals it, but for rounding."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Kaplan-Meier estimate of a group (Kaplan and Meier, 1958)."""

    times: Floats  # Times of events, ascending
    survivors: Floats  # Estimated proportion that lasts longer than each time, of the same shape
    at_risk: Floats  # Number that lasted at least as long
    ended: Floats  # Number of events at each time
    last: float  # The longest time, censored or not; NaN of an empty group

    @property
    def median(self) -> float:
        """First time that at most half last longer than; NaN where more than half last.

        Where exactly half last longer than several times, their middle, as in R's survival.
        """
        low = np.flatnonzero(self.survivors <= 0.5 + _HALF)
        if not low.size:
            return float("nan")
        first = int(low[0])
        start = self.times[first]
        if self.survivors[first] < 0.5 - _HALF:
            return float(start)
        end = self.times[first + 1] if first + 1 < self.times.size else self.last
        return float((start + end) / 2)

    def restricted(self, horizon: float) -> tuple[float, float]:
        """Return the mean of times up to the horizon, and its standard error (Greenwood).

        The error is NaN if fewer than two different times end before the horizon.
        """
        if not np.isfinite(self.last):
            return float("nan"), float("nan")
        inside = self.times < horizon
        times = np.concatenate([[0.0], self.times[inside], [horizon]])
        areas = np.diff(times) * np.concatenate([[1.0], self.survivors[inside]])
        areas_after = np.cumsum(areas[::-1])[::-1][1:]
        at_risk, ended = self.at_risk[inside], self.ended[inside]
        some = at_risk > ended
        terms = areas_after[some] ** 2 * ended[some]
        terms = terms / (at_risk[some] * (at_risk[some] - ended[some]))
        error = float(np.sqrt(terms.sum())) if terms.sum() > 0 else float("nan")
        return float(areas.sum()), error


def curve(times: Floats, seen: Bools) -> Curve:
    """Estimate the survival curve of times, and whether the end of each was seen."""
    ends, ended = np.unique(times[seen], return_counts=True)
    at_risk = times.size - np.searchsorted(np.sort(times), ends)
    survivors: Floats = np.cumprod(1 - ended / at_risk, dtype=np.float64)
    last = float(times.max()) if times.size else float("nan")
    return Curve(ends, survivors, at_risk.astype(float), ended.astype(float), last)


@dataclass(frozen=True, eq=False, repr=False)
class Survival(Result):
    """Kaplan-Meier estimates of censored times, by group; returned by :func:`survival`.

    Attributes
    ----------
    measure
        The measure.
    groups
        The variants; the name of the log where there are none.
    curves
        The Kaplan-Meier estimate of each.
    table, tests
        The tables `survival` and `logrank`.
    horizon
        Time up to which means are taken.
    correction
        Correction of the p-values.
    n_without_variant
        Number of values of no variant, which are excluded.
    """

    name: ClassVar[str] = "survival"
    columns: ClassVar[Mapping[str, Columns]] = {
        "survival": {
            "*": Column("Group: the variant, or the log.", key=True),
            "number": Column("Number of values, seen to end or censored."),
            "censored": Column("Number of values that are only known to be at least so long."),
            "without": Column("Number of values that are not known at all."),
            "median": Column("Kaplan-Meier median; null if more than half of the values last."),
            "mean": Column("Mean up to the horizon."),
            "error": Column("Standard error of this mean."),
            "seen_mean": Column("Mean of the values that are not censored; biased low."),
            "seen_median": Column("Median of the values that were seen to end."),
        },
        "logrank": {
            "first": Column("First group of the pair.", key=True),
            "second": Column("Second group of the pair.", key=True),
            "statistic": Column("Statistic of the log-rank test, about normal."),
            "pvalue": Column("Two-sided p-value of the log-rank test.", pvalue=True),
            "adjusted": Column("p-value after the correction.", pvalue=True),
        },
    }

    measure: str
    groups: tuple[str, ...]
    curves: tuple[Curve, ...]
    table: pl.DataFrame
    horizon: float
    tests: pl.DataFrame
    correction: str
    n_without_variant: int = 0

    def frames(self) -> dict[str, pl.DataFrame]:
        tests = {"logrank": self.tests} if self.tests.height else {}
        return {"survival": self.table, **tests}

    @property
    def notes(self) -> tuple[str, ...]:
        """Assumptions of the tests, and the number of values without a variant."""
        notes = [INDEPENDENT] if self.tests.height else []
        if self.n_without_variant:
            notes.append(f"{counted(self.n_without_variant, 'value')} without a variant excluded")
        return tuple(notes)

    def heading(self) -> list[str]:
        tests = f"; log-rank tests, {self.correction}" if self.tests.height else ""
        return [f"{self.measure}: Kaplan-Meier estimates, means up to {self.horizon:g}{tests}"]


INDEPENDENT = "the log-rank test assumes independent values; several values of one user are not"


def survival(
    log: Log,
    measure: str | OnlineMeasure,
    by: str | None = None,
    *,
    horizon: float | None = None,
    correction: str = "holm",
) -> Survival:
    """Estimate how long something lasts from times that may be censored.

    Parameters
    ----------
    log
        As :func:`measure` takes it.
    measure
        `TimeToClick`, `TimeToSAT`, `Dwell`, `QueriesToSAT` or `AbsenceTime`. A page without the
        click is censored when the next page of its session comes; at 0, without any information,
        after the last. An absence is censored at the end of the log.
    by
        `variant`; by default all values are one group.
    horizon
        Upper limit of times in means; by default the shortest of the groups' longest times.
    correction
        Correction of the p-values of the log-rank tests of several pairs.

    Returns
    -------
    Survival
        Medians and restricted means of Kaplan-Meier estimates, and log-rank tests of all pairs.

    Raises
    ------
    MeasureError
        For a measure that is not a time.
    InputError
        For a log without the columns of the measure, or without a value.
    PolicyError
        For a horizon that is not above 0, or beyond the longest time of a group.

    Notes
    -----
    The mean of the values that were seen to end is too short: long ones are censored more often.
    Kaplan and Meier (1958), Mantel (1966). Log-rank tests and standard errors assume independent
    values; several pages or absences of a user are not.

    Examples
    --------
    >>> import polars as pl
    >>> from datetime import datetime, timedelta, timezone
    >>> start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    >>> at = [start + timedelta(seconds=s) for s in (0, 10, 20)]
    >>> pages = pl.DataFrame({"page": [0, 1, 2], "query": "q", "session": "s", "time": at})
    >>> clicks = pl.DataFrame({"page": [0], "rank": [1], "time": [start + timedelta(seconds=4)]})
    >>> found = survival({"pages": pages, "clicks": clicks}, "TimeToClick")
    >>> found.table.select("number", "censored", "median", "mean").row(0)
    (3, 2, 7.0, 7.0)
    """
    if by is not None:
        check_choice("by", by, ("variant",))
    keys = () if by is None else (by,)
    tables, [parsed], pages = ready(log, measure, keys, until=True)
    if not parsed.lasts:
        raise MeasureError(f"survival requires a measure of time, got {parsed}")
    every = _durations(parsed, tables, pages, keys)
    rows = every.drop_nulls(keys)
    parts = {tables.source: rows} if by is None else {str(k): v for (k,), v in rows.group_by(by)}
    timed = {name: parts[name].drop_nulls("time") for name in sorted(parts)}
    samples = {
        name: (part["time"].to_numpy(), part["seen"].to_numpy()) for name, part in timed.items()
    }
    if not any(times.size for times, _ in samples.values()):
        raise InputError(f"{parsed} has no value", source=tables.source)
    curves = {name: curve(*sample) for name, sample in samples.items()}
    upto = _horizon(horizon, curves)
    table = []
    for name, (times, seen) in samples.items():
        ended = times[seen]
        of_ended = (ended.mean(), np.median(ended)) if ended.size else (np.nan, np.nan)
        sizes = (times.size, times.size - ended.size, parts[name].height - times.size)
        estimates = (curves[name].median, *curves[name].restricted(upto))
        table.append((name, *sizes, *estimates, *of_ended))
    names = [by or "log", *(name for name in Survival.columns["survival"] if name != "*")]
    frame = pl.DataFrame(table, names, orient="row").with_columns(pl.col(pl.Float64).fill_nan(None))
    return Survival(
        str(parsed),
        tuple(curves),
        tuple(curves.values()),
        frame,
        upto,
        _tests(samples, correction),
        correction,
        every.height - rows.height,
    )


def survival_tables(
    log: QueryLog, measures: Sequence[str | OnlineMeasure]
) -> dict[str, pl.DataFrame]:
    """Return the tables of several times of a log, by variant if it has variants.

    They are those of :func:`survival`, with a first column `measure`; `survival` also has the
    `horizon`, and `logrank` is there if there are several variants.
    """
    by = "variant" if "variant" in log.pages.columns else None
    parts: dict[str, list[pl.DataFrame]] = {"survival": [], "logrank": []}
    for measure in measures:
        result = survival(log, measure, by)
        table = result.table.with_columns(horizon=pl.lit(result.horizon))
        for name, part in (("survival", table), ("logrank", result.tests)):
            parts[name].append(part.insert_column(0, pl.lit(result.measure).alias("measure")))
    # A column without any value in a part has no type there.
    joined = {name: pl.concat(each, how="vertical_relaxed") for name, each in parts.items()}
    return {name: frame for name, frame in joined.items() if frame.height}


def _durations(
    measure: OnlineMeasure, tables: LogTables, pages: pl.DataFrame, keys: Sequence[str]
) -> pl.DataFrame:
    """Return how long each value lasts, and whether its end was seen: keys, `time`, `seen`."""
    if measure.of == "click":
        clicks = collected(tables.tables["clicks"].select("page", "dwell", "censored"))
        clicks = clicks.with_columns(pl.col("page").cast(pages["page"].dtype))
        joined = pages.select("page", *keys).join(clicks, on="page", how="inner")
        return joined.select(*keys, time="dwell", seen=~pl.col("censored"))
    seen = pl.col("values") > 0
    open_ended = pl.when(pl.col("censored") > 0).then("until")
    lasted = pl.when(seen).then("total").otherwise(open_ended)
    return measure.rows(pages, keys).select(*keys, time=lasted.cast(pl.Float64), seen=seen)


def _horizon(horizon: float | None, curves: Mapping[str, Curve]) -> float:
    if horizon is None:
        return min(estimate.last for estimate in curves.values() if np.isfinite(estimate.last))
    check_number("horizon", horizon, above=0, most=np.inf)
    upto = float(horizon)
    for name, estimate in curves.items():
        all_ended = estimate.survivors.size and estimate.survivors[-1] == 0
        if upto > estimate.last and not all_ended:
            raise PolicyError(
                f"horizon must be at most the longest time of {name}, {estimate.last:g}, got"
                f" {upto:g}"
            )
    return upto


def _tests(samples: Mapping[str, tuple[Floats, Bools]], correction: str) -> pl.DataFrame:
    """Compare all pairs of groups by the log-rank test (Mantel, 1966)."""
    from scipy.stats import CensoredData, logrank

    rows = []
    for pair in combinations(samples, 2):
        groups = [samples[name] for name in pair]
        statistic = pvalue = float("nan")
        if all(times.size for times, _ in groups) and any(seen.any() for _, seen in groups):
            data = [CensoredData(times[seen], right=times[~seen]) for times, seen in groups]
            with np.errstate(invalid="ignore", divide="ignore"):
                test = logrank(*data)
            statistic, pvalue = float(test.statistic), float(test.pvalue)
        rows.append((*pair, statistic, pvalue))
    types = {"first": pl.String, "second": pl.String, "statistic": pl.Float64, "pvalue": pl.Float64}
    tests = pl.DataFrame(rows, schema=types, orient="row")
    corrected = adjust_pvalues(tests["pvalue"].to_numpy(), correction)
    return tests.with_columns(adjusted=pl.Series(corrected, dtype=pl.Float64))
