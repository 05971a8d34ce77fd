"""Times that were not seen to their end: Kaplan-Meier estimates and log-rank tests."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import polars as pl

from cranfield.base.arrays import Bools, Floats
from cranfield.base.errors import InputError, MeasureError, PolicyError, check_choice, numbers
from cranfield.base.text import counted
from cranfield.online.measures.measuring import Log, ready
from cranfield.online.measures.online_measure import OnlineMeasure
from cranfield.result import Column, Columns, Result
from cranfield.significance.corrections.of_pvalues import adjusted

_HALF = 1e-9
"""How near to one half a share of survivors is taken for it, which rounding can miss."""


@dataclass(frozen=True, eq=False)
class Curve:
    """Kaplan-Meier estimate of a group (Kaplan and Meier, 1958)."""

    times: Floats  # Times at which something ended, ascending
    survivors: Floats  # Estimated share that lasts longer than each, of the same shape
    at_risk: Floats  # How many had lasted as long, and how many ended then
    ended: Floats
    last: float  # The longest time that was seen, ended or not; NaN of an empty group

    @property
    def median(self) -> float:
        """First time that at most half last longer than; NaN where more than half last.

        Where exactly half do for a while, the middle of that while, as R's survival has it.
        """
        low = np.flatnonzero(self.survivors <= 0.5 + _HALF)
        if not low.size:
            return float("nan")
        first = int(low[0])
        flat = self.survivors[first] >= 0.5 - _HALF
        if not flat:
            return float(self.times[first])
        ends = self.times[first + 1] if first + 1 < self.times.size else self.last
        return float((self.times[first] + ends) / 2)

    def restricted(self, horizon: float) -> tuple[float, float]:
        """Return the mean of times cut off at the horizon, and its standard error (Greenwood).

        The error is NaN if no times that differ end before the horizon.
        """
        if not np.isfinite(self.last):
            return float("nan"), float("nan")
        inside = self.times < horizon
        times = np.concatenate([[0.0], self.times[inside], [horizon]])
        shares = np.concatenate([[1.0], self.survivors[inside]])
        areas = np.diff(times) * shares
        rest = np.cumsum(areas[::-1])[::-1][1:]
        at_risk, ended = self.at_risk[inside], self.ended[inside]
        left = at_risk > ended
        terms = rest[left] ** 2 * ended[left] / (at_risk[left] * (at_risk[left] - ended[left]))
        # Without an end before the horizon, nothing tells how much times vary.
        error = float(np.sqrt(terms.sum())) if terms.sum() > 0 else float("nan")
        return float(areas.sum()), error


def curve(times: Floats, seen: Bools) -> Curve:
    """Estimate which share lasts longer, from times of which some were not seen to end."""
    ends, ended = np.unique(times[seen], return_counts=True)
    at_risk = times.size - np.searchsorted(np.sort(times), ends)
    survivors: Floats = np.cumprod(1 - ended / at_risk, dtype=np.float64)
    last = float(times.max()) if times.size else float("nan")
    return Curve(ends, survivors, at_risk.astype(float), ended.astype(float), last)


@dataclass(frozen=True, eq=False, repr=False)
class Survival(Result):
    """How long something lasts, by group; made by :func:`survival`.

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
        How p-values are adjusted.
    outside
        Values of no variant, which are excluded.
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
            "seen_mean": Column("Mean of the values that were seen to end, which is too short."),
            "seen_median": Column("Median of the values that were seen to end."),
        },
        "logrank": {
            "first": Column("First group of the pair.", key=True),
            "second": Column("Second group of the pair.", key=True),
            "statistic": Column("Statistic of the log-rank test, about normal."),
            "pvalue": Column("Its two-sided p-value.", pvalue=True),
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
    outside: int = 0

    def frames(self) -> dict[str, pl.DataFrame]:
        tests = {"logrank": self.tests} if self.tests.height else {}
        return {"survival": self.table, **tests}

    @property
    def notes(self) -> tuple[str, ...]:
        """Assumptions of the tests, and the number of values without a variant."""
        notes = [INDEPENDENT] if self.tests.height else []
        if self.outside:
            notes.append(f"{counted(self.outside, 'value')} of no variant excluded")
        return tuple(notes)

    def heading(self) -> list[str]:
        tests = f"; log-rank tests, {self.correction}" if self.tests.height else ""
        return [f"{self.measure}: Kaplan-Meier estimates, means up to {self.horizon:g}{tests}"]


INDEPENDENT = "log-rank takes all values for independent; several of a user are not"


def survival(
    log: Log,
    measure: str | OnlineMeasure,
    by: str | None = None,
    *,
    horizon: float | None = None,
    correction: str = "holm",
) -> Survival:
    """Estimate how long something lasts, where it was not always seen to its end.

    Parameters
    ----------
    log
        As :func:`measure` takes it.
    measure
        `TimeToClick`, `TimeToSAT`, `Dwell`, `QueriesToSAT` or `AbsenceTime`. A page without the
        click is censored when the next page of its session comes; at 0, which tells nothing, after
        the last. An absence is censored at the end of the log.
    by
        `variant`, or nothing.
    horizon
        Time up to which means go; by default the shortest of the groups' longest times.
    correction
        For the log-rank tests of several pairs: as corrections of p-values are called.

    Returns
    -------
    Survival
        Medians and restricted means of Kaplan-Meier estimates, and log-rank tests of all pairs.

    Raises
    ------
    MeasureError
        For a measure that is no time.
    InputError
        For a log that does not tell it, or has no value.
    PolicyError
        For a horizon that is not above 0, or lies beyond what was seen of a group.

    Notes
    -----
    The mean of the values that were seen to end is too short: long ones are censored more often.
    Kaplan and Meier (1958), Mantel (1966). Log-rank tests and standard errors take all values for
    independent of each other; several pages or absences of a user are not.

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
    tables, [one], pages = ready(log, measure, keys, until=True)
    if not one.lasts:
        raise MeasureError(f"{one} is no time that can be censored")
    rows = one.durations(tables, pages, keys)
    inside = rows if by is None else rows.drop_nulls(by)
    outside = rows.height - inside.height
    rows = inside
    groups = (tables.source,) if by is None else tuple(rows[by].unique().sort().to_list())
    parts = [rows if by is None else rows.filter(pl.col(by) == name) for name in groups]
    known = [part.filter(pl.col("time").is_not_null()) for part in parts]
    given = [(part["time"].to_numpy(), part["seen"].to_numpy()) for part in known]
    if not any(times.size for times, _ in given):
        raise InputError(f"{one} has no value", source=tables.source)
    curves = tuple(curve(times, seen) for times, seen in given)
    until = _horizon(horizon, groups, curves)
    return Survival(
        measure=str(one),
        groups=groups,
        curves=curves,
        table=pl.DataFrame(
            [
                _row(name, part.height - times.size, times, seen, estimate, until)
                for name, part, (times, seen), estimate in zip(
                    groups, parts, given, curves, strict=True
                )
            ]
        ).rename({"group": by or "log"}),
        horizon=until,
        tests=_tests(groups, given, correction),
        correction=correction,
        outside=outside,
    )


def _row(
    group: str, without: int, times: Floats, seen: Bools, estimate: Curve, horizon: float
) -> dict[str, Any]:
    mean, error = estimate.restricted(horizon)
    ended = times[seen]
    found = {
        "median": estimate.median,
        "mean": mean,
        "error": error,
        "seen_mean": float(ended.mean()) if ended.size else None,
        "seen_median": float(np.median(ended)) if ended.size else None,
    }
    return {
        "group": group,
        "number": times.size,
        "censored": int(times.size - ended.size),
        "without": without,
        **{name: None if one is None or np.isnan(one) else one for name, one in found.items()},
    }


def _horizon(horizon: float | None, groups: tuple[str, ...], curves: tuple[Curve, ...]) -> float:
    seen = [one for one in curves if np.isfinite(one.last)]
    if horizon is None:
        return min(one.last for one in seen)
    until = float(numbers(horizon, "horizons").item())
    if not until > 0:
        raise PolicyError(f"horizon must be a number above 0, not {horizon!r}")
    for name, one in zip(groups, curves, strict=True):
        ends = one.survivors.size and one.survivors[-1] == 0
        if until > one.last and not ends:
            raise PolicyError(
                f"horizon {until:g} lies beyond what was seen of {name}: {one.last:g}"
            )
    return until


def _tests(
    groups: tuple[str, ...], given: list[tuple[Floats, Bools]], correction: str
) -> pl.DataFrame:
    """Compare all pairs of groups by the log-rank test (Mantel, 1966)."""
    from scipy.stats import CensoredData, logrank

    def of(times: Floats, seen: Bools) -> Any:
        return CensoredData(uncensored=times[seen], right=times[~seen])

    rows = []
    for first, second in combinations(range(len(groups)), 2):
        pair = given[first], given[second]
        row = {"first": groups[first], "second": groups[second]}
        if all(times.size for times, _ in pair) and any(seen.any() for _, seen in pair):
            with np.errstate(invalid="ignore", divide="ignore"):
                found = logrank(*(of(*one) for one in pair))
            statistic, pvalue = float(found.statistic), float(found.pvalue)
        else:
            statistic = pvalue = float("nan")
        rows.append({**row, "statistic": statistic, "pvalue": pvalue})
    kinds = {"first": pl.String, "second": pl.String, "statistic": pl.Float64, "pvalue": pl.Float64}
    tests = pl.DataFrame(rows, schema=kinds)
    corrected = adjusted(tests["pvalue"].to_numpy(), correction)
    return tests.with_columns(adjusted=pl.Series(corrected, dtype=pl.Float64))
