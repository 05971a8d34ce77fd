"""Cut what each user did into sessions, where nothing happened for long."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import polars as pl

from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.online.log.query_log import QueryLog

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_LONGEST = 366 * 86400.0


def sessionise(log: QueryLog, timeout: str | float | timedelta = "30m") -> QueryLog:
    """Cut the pages of each user into sessions; a session that is there already is replaced.

    A page starts a new session when it comes more than `timeout` after all that its user did
    before: the pages, the clicks on them, and as far as it is known the reading of what was clicked
    (Ferro and Sanderson's *Evaluation of IR Systems*, section 6.1; 30 minutes are usual: He and
    Göker 2000).

    Parameters
    ----------
    log
        A log that knows the user and the time of its pages.
    timeout
        Such as `"30m"`, `"90s"`, `"1h"`, a number of seconds, or a timedelta; up to a year.

    Returns
    -------
    QueryLog
        The same log, in which `session` is the user and the number of the session, as in `u7-2`.
        Pages of no user belong to no session.

    Raises
    ------
    InputError
        Without the user or the time of some page.
    PolicyError
        For a timeout that is none.

    Examples
    --------
    >>> import cranfield as cf
    >>> pages = {"page": [1, 2, 3], "query": ["a", "b", "c"], "user": ["u", "u", "u"],
    ...          "time": ["2026-03-02 10:00", "2026-03-02 10:20", "2026-03-02 11:00"]}
    >>> cf.online.sessionise(cf.online.read_log(pages)).pages["session"].to_list()
    ['u-1', 'u-1', 'u-2']
    """
    limit = round(_seconds(timeout) * 1e6)
    log.require("pages", "user", "time", purpose="a session")
    if log.pages["time"].null_count():
        raise InputError("a session needs the time of every page", source=log.source)
    pages = log.pages.select("user", "time", page=pl.int_range(pl.len(), dtype=pl.Int64))
    pages = pages.join(_last_click(log), on="page", how="left", maintain_order="left")
    pages = pages.sort("user", "time", "page")
    end = pl.max_horizontal("time", "left").cum_max().shift(1).over("user")
    quiet = (pl.col("time") - end).dt.total_microseconds() > limit
    pages = pages.with_columns(number=quiet.fill_null(True).cast(pl.Int64).cum_sum().over("user"))
    named = pages.sort("page").select(session=pl.concat_str("user", "number", separator="-"))
    kept = [name for name in log.pages.columns if name != "session"]
    place = kept.index("user") + 1
    columns = [*kept[:place], "session", *kept[place:]]
    return replace(log, pages=log.pages.with_columns(named["session"]).select(columns))


def _last_click(log: QueryLog) -> pl.DataFrame:
    """Tell when the last click on each page was left, or made where that is not known."""
    if "time" not in log.clicks.columns:
        return pl.DataFrame(schema={"page": pl.Int64(), "left": pl.Datetime("us", "UTC")})
    end = pl.col("time")
    if "dwell" in log.clicks.columns:
        read = (pl.col("dwell").fill_null(0).clip(0, _LONGEST) * 1e6).round().cast(pl.Int64)
        end = end + pl.duration(microseconds=read)
    return log.clicks.group_by("page").agg(end.max().alias("left"))


def _seconds(timeout: Any) -> float:
    if isinstance(timeout, timedelta):
        seconds = timeout.total_seconds()
    elif isinstance(timeout, str):
        found = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([smhd])\s*", timeout)
        seconds = float(found[1]) * _UNITS[found[2]] if found else 0
    elif isinstance(timeout, (int, float)) and not isinstance(timeout, bool):
        seconds = float(timeout)
    else:
        seconds = 0
    if not 0 < seconds <= _LONGEST:
        raise PolicyError(f"timeout {quoted(timeout)} is no time such as 30m, up to a year")
    return seconds
