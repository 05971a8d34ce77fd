"""Survival analysis of censored times: Kaplan-Meier estimates and log-rank tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import InputError, MeasureError, PolicyError, check_choice, check_number
from cranfield.base.text import inflect
from cranfield.online.log.query_log import QueryLog
from cranfield.online.measures.measuring import Log, prepare_pages
from cranfield.online.measures.online_measure import LogTables, OnlineMeasure, collect_table
from cranfield.result import Column, Columns, Result
from cranfield.significance.corrections.pvalue_corrections import adjust_pvalues

_TOLERANCE = 1e-9  # For rounding errors in a comparison of a proportion with one half


@dataclass(frozen=True, eq=False)
class SurvivalCurve:
    """Kaplan-Meier estimate of the survival curve of a group (Kaplan and Meier, 1958)."""

    times: Floats  # Times of events, ascending
    survival: Floats  # Estimated probability of surviving beyond each time, of the same shape
    n_at_risk: Floats  # Number of values at least as long as each time
    n_events: Floats  # Number of events at each time
    max_time: float  # Longest time, censored or not; NaN for an empty group

    @property
    def median(self) -> float:
        """First time after which at most half survive; NaN if more than half survive.

        If exactly half survive until the next time, or the longest time if there is no later event,
        the median is the midpoint of the two times, as in R's package survival.
        """
        candidates = np.flatnonzero(self.survival <= 0.5 + _TOLERANCE)
        if not candidates.size:
            return float("nan")
        first = int(candidates[0])
        start = self.times[first]
        if self.survival[first] < 0.5 - _TOLERANCE:
            return float(start)
        end = self.times[first + 1] if first + 1 < self.times.size else self.max_time
        return float((start + end) / 2)

    def compute_restricted_mean(self, horizon: float) -> tuple[float, float]:
        """Compute the restricted mean up to the horizon, and its standard error (Greenwood)."""
        if not np.isfinite(self.max_time):
            return float("nan"), float("nan")
        is_before = self.times < horizon
        times = np.concatenate([[0.0], self.times[is_before], [horizon]])
        areas = np.diff(times) * np.concatenate([[1.0], self.survival[is_before]])
        areas_after = np.cumsum(areas[::-1])[::-1][1:]
        has_survivors = is_before & (self.n_at_risk > self.n_events)
        n_at_risk, n_events = self.n_at_risk[has_survivors], self.n_events[has_survivors]
        terms = areas_after[has_survivors[is_before]] ** 2 * n_events
        terms = terms / (n_at_risk * (n_at_risk - n_events))
        standard_error = float(np.sqrt(terms.sum())) if terms.sum() > 0 else float("nan")
        return float(areas.sum()), standard_error


def fit_kaplan_meier(times: Floats, is_observed: Bools) -> SurvivalCurve:
    """Estimate the survival curve from times and a mask of the times whose event was observed."""
    event_times, n_events = np.unique(times[is_observed], return_counts=True)
    n_at_risk = times.size - np.searchsorted(np.sort(times), event_times)
    probabilities: Floats = np.cumprod(1 - n_events / n_at_risk, dtype=np.float64)
    max_time = float(times.max()) if times.size else float("nan")
    counts = n_at_risk.astype(float), n_events.astype(float)
    return SurvivalCurve(event_times, probabilities, *counts, max_time)


@dataclass(frozen=True, eq=False, repr=False)
class Survival(Result):
    """Kaplan-Meier estimates of censored times, by group; returned by :func:`survival`.

    Attributes
    ----------
    measure
        Name of the measure.
    groups
        Names of the variants, or the name of the log if values are not grouped.
    curves
        The Kaplan-Meier estimate of each group.
    table, tests
        Tables of estimates by group, and of log-rank tests of pairs of groups.
    horizon
        Time up to which means are taken.
    correction
        Correction of the p-values.
    n_without_variant
        Number of values that are excluded because they have no variant.
    """

    name: ClassVar[str] = "survival"
    columns: ClassVar[Mapping[str, Columns]] = {
        "survival": {
            "*": Column("Group: the variant, or the whole log without variants.", key=True),
            "values": Column("Number of values, observed or censored."),
            "censored": Column("Number of values for which only a lower bound is known."),
            "missing": Column("Number of unknown values."),
            "median": Column(
                "Kaplan-Meier median; null if the survival curve stays above 1/2, or has no values."
            ),
            "mean": Column("Kaplan-Meier mean up to the horizon; null without values."),
            "error": Column("Standard error of this mean; null if it is 0 or there are no values."),
            "uncensored_mean": Column("Mean of the uncensored values, biased low; null if none."),
            "uncensored_median": Column("Median of the uncensored values; null if none."),
        },
        "logrank": {
            "first": Column("First group of the pair.", key=True),
            "second": Column("Second group of the pair.", key=True),
            "statistic": Column("Log-rank z; NaN if its variance is 0 or a group is empty."),
            "pvalue": Column("Two-sided p-value; NaN if the statistic is NaN.", is_pvalue=True),
            "adjusted": Column("p-value after the correction.", is_pvalue=True),
        },
    }

    measure: str
    groups: tuple[str, ...]
    curves: tuple[SurvivalCurve, ...]
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
        notes = [INDEPENDENCE_NOTE] if self.tests.height else []
        if self.n_without_variant:
            notes.append(f"{inflect(self.n_without_variant, 'value')} excluded: no variant")
        return tuple(notes)

    def heading(self) -> list[str]:
        suffix = f"; log-rank tests, correction {self.correction}" if self.tests.height else ""
        return [f"{self.measure}: Kaplan-Meier estimates, means up to {self.horizon:g}{suffix}"]


INDEPENDENCE_NOTE = (
    "the log-rank test assumes independent values; if users have several values, its p-values may"
    " be too small"
)


def survival(
    log: Log,
    measure: str | OnlineMeasure,
    by: str | None = None,
    *,
    horizon: float | None = None,
    correction: str = "holm",
) -> Survival:
    """Estimate survival curves of times that may be censored.

    Parameters
    ----------
    log
        As for :func:`measure`.
    measure
        `TimeToClick`, `TimeToSAT`, `Dwell`, `QueriesToSAT` or `AbsenceTime`. For the first two, a
        page without a (satisfied) click is censored at the next page of its session, or else at 0.
        The absence after the last session of a user is censored at the end of the log.
    by
        `variant`; by default all values are one group.
    horizon
        Time up to which means are taken; by default the minimum over groups of the longest time.
    correction
        Correction of the p-values of log-rank tests, over the pairs of groups.

    Returns
    -------
    Survival
        Medians and restricted means of Kaplan-Meier estimates, and log-rank tests of all pairs.

    Raises
    ------
    MeasureError
        For an unknown measure, or a measure whose values are never censored.
    InputError
        For a log without the columns of the measure, or without a value.
    PolicyError
        For an unknown `by` or correction; and for a horizon that is not above 0, or that exceeds
        the longest time of a group whose survival curve does not reach 0.

    Notes
    -----
    Log-rank tests and standard errors assume independent values; several pages or absences of a
    user are not independent.

    Sources: Kaplan and Meier (1958); Mantel (1966).

    Examples
    --------
    >>> import polars as pl
    >>> from datetime import datetime, timedelta, timezone
    >>> start = datetime(2024, 1, 1, tzinfo=timezone.utc)
    >>> times = [start + timedelta(seconds=s) for s in (0, 10, 20)]
    >>> pages = pl.DataFrame({"page": [0, 1, 2], "query": "q", "session": "s", "time": times})
    >>> clicks = pl.DataFrame({"page": [0], "rank": [1], "time": [start + timedelta(seconds=4)]})
    >>> estimates = survival({"pages": pages, "clicks": clicks}, "TimeToClick")
    >>> estimates.table.select("values", "censored", "median", "mean").row(0)
    (3, 2, 7.0, 7.0)
    """
    if by is not None:
        check_choice("by", by, ("variant",))
    keys = () if by is None else (by,)
    tables, [measure], pages = prepare_pages(log, measure, keys, adds_bounds=True)
    if not measure.may_be_censored:
        raise MeasureError(f"survival requires a measure of times to an event, got {measure}")
    durations = _compute_durations(measure, tables, pages, keys)
    rows = durations.drop_nulls(keys)
    groups = {tables.source: rows} if by is None else {str(k): v for (k,), v in rows.group_by(by)}
    samples = {}
    for name in sorted(groups):
        timed_rows = groups[name].drop_nulls("time")
        samples[name] = timed_rows["time"].to_numpy(), timed_rows["is_observed"].to_numpy()
    if not any(times.size for times, _ in samples.values()):
        raise InputError(f"{measure} has no value", source=tables.source)
    curves = {name: fit_kaplan_meier(*sample) for name, sample in samples.items()}
    horizon = _check_horizon(horizon, curves)
    table_rows = []
    for name, (times, is_observed) in samples.items():
        event_times, uncensored_estimates = times[is_observed], (np.nan, np.nan)
        if event_times.size:
            uncensored_estimates = event_times.mean(), np.median(event_times)
        sizes = (times.size, times.size - event_times.size, groups[name].height - times.size)
        estimates = (curves[name].median, *curves[name].compute_restricted_mean(horizon))
        table_rows.append((name, *sizes, *estimates, *uncensored_estimates))
    columns = [by or "log", *(name for name in Survival.columns["survival"] if name != "*")]
    frame = pl.DataFrame(table_rows, columns, orient="row")
    frame = frame.with_columns(pl.col(pl.Float64).fill_nan(None))
    names, curve_list = tuple(curves), tuple(curves.values())
    tests, n_excluded = _compare_groups(samples, correction), durations.height - rows.height
    return Survival(str(measure), names, curve_list, frame, horizon, tests, correction, n_excluded)


def concatenate_survival_tables(
    log: QueryLog, measures: Sequence[str | OnlineMeasure]
) -> dict[str, pl.DataFrame]:
    """Concatenate the survival tables of several measures, by variant if the log has variants."""
    by = "variant" if "variant" in log.pages.columns else None
    tables: dict[str, list[pl.DataFrame]] = {"survival": [], "logrank": []}
    for measure in measures:
        result = survival(log, measure, by)
        table = result.table.with_columns(horizon=pl.lit(result.horizon))
        for name, rows in (("survival", table), ("logrank", result.tests)):
            tables[name].append(rows.insert_column(0, pl.lit(result.measure).alias("measure")))
    # A column without values in one of the tables has no type there.
    frames = {name: pl.concat(rows, how="vertical_relaxed") for name, rows in tables.items()}
    return {name: frame for name, frame in frames.items() if frame.height}


def _compute_durations(
    measure: OnlineMeasure, tables: LogTables, pages: pl.DataFrame, keys: Sequence[str]
) -> pl.DataFrame:
    """Return a row for each value: its keys, its duration `time`, and whether it `is_observed`."""
    if measure.object_kind == "click":
        clicks = collect_table(tables.tables["clicks"].select("page", "dwell", "censored"))
        clicks = clicks.with_columns(pl.col("page").cast(pages["page"].dtype))
        clicks = pages.select("page", *keys).join(clicks, on="page", how="inner")
        return clicks.select(*keys, time="dwell", is_observed=~pl.col("censored"))
    is_observed = pl.col("values") > 0
    censored_time = pl.when(pl.col("censored") > 0).then("lower_bound")
    duration = pl.when(is_observed).then("total").otherwise(censored_time)
    rows = measure.rows(pages, keys)
    return rows.select(*keys, time=duration.cast(pl.Float64), is_observed=is_observed)


def _check_horizon(horizon: float | None, curves: Mapping[str, SurvivalCurve]) -> float:
    if horizon is None:
        return min(curve.max_time for curve in curves.values() if np.isfinite(curve.max_time))
    check_number("horizon", horizon, above=0, maximum=np.inf)
    for name, curve in curves.items():
        has_ended = curve.survival.size and curve.survival[-1] == 0
        if horizon > curve.max_time and not has_ended:
            bound = f"the longest time of {name} ({curve.max_time:g})"
            raise PolicyError(f"horizon must be at most {bound}, got {horizon:g}")
    return float(horizon)


def _compare_groups(samples: Mapping[str, tuple[Floats, Bools]], correction: str) -> pl.DataFrame:
    """Compare all pairs of groups by the log-rank test (Mantel, 1966)."""
    from scipy.stats import CensoredData, logrank

    rows = []
    for pair in combinations(samples, 2):
        groups = [samples[name] for name in pair]
        statistic = pvalue = float("nan")
        if all(times.size for times, _ in groups) and any(mask.any() for _, mask in groups):
            data = [CensoredData(times[mask], right=times[~mask]) for times, mask in groups]
            with np.errstate(invalid="ignore", divide="ignore"):
                test = logrank(*data)
            statistic, pvalue = float(test.statistic), float(test.pvalue)
        rows.append((*pair, statistic, pvalue))
    types = {"first": pl.String, "second": pl.String, "statistic": pl.Float64, "pvalue": pl.Float64}
    tests = pl.DataFrame(rows, schema=types, orient="row")
    adjusted_pvalues = adjust_pvalues(tests["pvalue"].to_numpy(), correction)
    return tests.with_columns(adjusted=pl.Series(adjusted_pvalues, dtype=pl.Float64))
