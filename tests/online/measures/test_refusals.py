"""Wrong measures, tables and questions of online measures are refused with their reason."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import polars as pl
import pytest

from cranfield import online
from cranfield.online import parse_online_measure as parse
from tests.online.measures.logs import random_log
from tests.online.refusals import Refusal, check_refused

LOG = random_log(1)
LABELS = dict.fromkeys(LOG.pages["id"].to_list()[:5], "Good")
PAGES = pl.DataFrame({"page": [0, 1], "query": "q", "time": 1}).with_columns(
    time=pl.from_epoch("time", "us")
)
CLICKS = pl.DataFrame({"page": [0], "rank": [1]})

measure = partial(online.measure, LOG)
survival = partial(online.survival, LOG)


def of_tables(**tables: Any) -> object:
    return online.measure(tables, "UCTR")


def of_pages(**columns: Any) -> object:
    return of_tables(pages=PAGES.with_columns(**columns), clicks=CLICKS)


def of_clicks(**columns: Any) -> object:
    return of_tables(pages=PAGES, clicks=CLICKS.with_columns(**columns))


REFUSALS: dict[str, list[Refusal]] = {
    "texts": [
        (lambda: parse("CTR@0"), "cutoff must be"),
        (lambda: parse("CTR@three"), "cutoff"),
        (lambda: measure("CTR(ranks='at')"), "requires a cutoff"),
        (lambda: parse("pSkip@3"), "pSkip cannot have a cutoff"),
        (lambda: parse("CTR(rank=3)"), "unknown parameter 'rank'"),
        (lambda: parse("Dwell(__import__('os'))"), "name=value"),
        (lambda: parse("SATRate(unknown='maybe')"), "'drop', 'sat', 'not'"),
        (lambda: parse("x" * 300), "is not a valid online measure"),
    ],
    "questions": [
        (lambda: measure([]), "at least one online measure"),
        (lambda: measure(by="colour"), "unknown by 'colour'; expected one of: variant, user"),
        (lambda: measure(by=["user", "user"]), "'user' twice"),
        (lambda: measure(["CTR@1", "ctr@1"]), "must be distinct, got CTR@1 twice"),
        (lambda: measure("QueriesPerUser", by="session"), "QueriesPerUser"),
        (lambda: measure("GoodAbandonment", labels={"nobody": "good"}), "page 'nobody'"),
        (lambda: measure("GoodAbandonment", labels=LABELS), "'good'.*'Good'"),
        (lambda: measure("GoodAbandonment"), "requires column 'label' of pages; set labels="),
        (lambda: measure("CTR", labels=LABELS), "labels=... requires a measure that uses labels"),
        (lambda: online.measure(cast(Any, 3)), "int"),
        (lambda: LOG.select_pages(pl.Series([True])), "1 boolean for 30 pages"),
        *[
            (partial(LOG.select_pages, cast(Any, keep)), "boolean for each page")
            for keep in (pl.col("page"), LOG.pages, [1.5, "x"], pl.DataFrame({"a": ["x"]}))
        ],
        (lambda: online.coec(LOG).to_qrels(cuts=[float("nan")]), "cuts must be ascending"),
        (lambda: online.coec(LOG).to_qrels((1.0, 0.5)), "cuts must be ascending"),
        (lambda: survival("CTR"), "CTR"),
        (lambda: survival("Dwell", by="user"), "unknown by 'user'; expected one of: variant"),
        (lambda: survival("Dwell", horizon=0), "horizon must be a number above 0"),
        (lambda: survival("AbsenceTime", horizon=1e12), "at most the longest time"),
        (lambda: survival("Dwell", horizon=cast(Any, "x")), "'x'"),
    ],
    "tables": [
        (lambda: of_tables(), "pages"),
        (lambda: of_tables(pages=3), "pages: .* int"),
        (lambda: of_tables(pages={"page": [0]}), "pages: .* dict"),
        (lambda: of_tables(pages=pl.DataFrame({"page": [0]})), "column query"),
        (lambda: of_tables(sites=pl.DataFrame()), "'sites'"),
        (lambda: of_pages(time=pl.lit("now")), "expected a time in column time of pages, got Str"),
        (lambda: of_pages(page=pl.lit(0)), "'0' twice"),
        (lambda: of_pages(page=pl.lit(None, pl.Int64)), "page"),
        (lambda: of_clicks(page=pl.lit("a")), "expected an integer in column page of clicks"),
        (lambda: of_clicks(rank=pl.lit("a")), "expected an integer in column rank of clicks"),
        (lambda: of_clicks(rank=pl.lit(0)), "rank is below 1 in 1 row"),
        (lambda: of_clicks(rank=pl.lit(None, pl.Int32)), "rank is missing in 1 row"),
        (lambda: of_clicks(dwell=pl.lit("a")), "expected a number in column dwell of clicks"),
        (lambda: of_clicks(censored=pl.lit(1)), "expected true or false in column censored"),
    ],
}


@pytest.mark.parametrize("topic", REFUSALS)
def test_refused_in_one_line(topic: str) -> None:
    check_refused(*REFUSALS[topic])
