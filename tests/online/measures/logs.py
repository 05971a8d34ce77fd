"""Random logs, and measures written out page by page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import numpy as np
import polars as pl

from cranfield.online.log.query_log import QueryLog, make_log


def at(name: str) -> pl.Expr:
    return pl.from_epoch(pl.col(name), "us").dt.replace_time_zone("UTC")


def random_log(seed: int, pages: int = 30) -> QueryLog:
    """Make a log of odd cases: empty pages, repeated clicks, unknown and censored dwell."""
    draw = np.random.default_rng(seed)
    session = np.sort(draw.integers(0, max(1, pages // 3), pages))
    user = session // 2
    seconds = np.cumsum(draw.integers(0, 200_000_000, pages)) + session * 10**9
    shown = draw.integers(0, 8, pages)
    results = [
        (p, r, f"d{draw.integers(0, 6)}") for p in range(pages) for r in range(1, shown[p] + 1)
    ]
    clicks = []
    for p in range(pages):
        number = draw.integers(0, 5) if shown[p] else 0
        wait = np.sort(draw.integers(0, 10**8, number))
        for k in range(number):
            dwell = None if draw.random() < 0.2 else round(float(draw.exponential(25)), 6)
            rank = int(draw.integers(1, shown[p] + 1))
            clicks.append((p, rank, int(seconds[p] + wait[k]), dwell, bool(draw.random() < 0.2)))
    page_frame = pl.DataFrame(
        {
            "id": [f"p{k}" for k in range(pages)],
            "query": [f"q{k} term" if k % 2 else f"q{k}" for k in draw.integers(0, 4, pages)],
            "user": [f"u{k}" for k in user],
            "session": [f"s{k}" for k in session],
            "time": seconds,
            "variant": [f"v{k % 2}" for k in user],
        }
    ).with_columns(time=at("time"))
    types = {"page": pl.Int64, "rank": pl.Int32}
    result_frame = pl.DataFrame(results, {**types, "doc": pl.String}, orient="row")
    kinds = {**types, "time": pl.Int64, "dwell": pl.Float64, "censored": pl.Boolean}
    click_frame = pl.DataFrame(clicks, kinds, orient="row").with_columns(time=at("time"))
    docs = result_frame.unique(["page", "rank"], keep="first")
    click_frame = click_frame.join(docs, on=["page", "rank"], how="left", maintain_order="left")
    return make_log(page_frame, result_frame, click_frame)


@dataclass
class Page:
    """A page, as a person reads the log."""

    row: dict[str, Any]
    ranks: list[int]
    clicks: list[dict[str, Any]]

    def waited(self, click: dict[str, Any]) -> float:
        between: timedelta = click["time"] - self.row["time"]
        return between / timedelta(microseconds=1) / 1e6


def pages_of(log: QueryLog) -> Iterator[Page]:
    results: dict[int, list[int]] = {}
    for row in log.results.iter_rows(named=True):
        results.setdefault(row["page"], []).append(row["rank"])
    clicks: dict[int, list[dict[str, Any]]] = {}
    for row in log.clicks.iter_rows(named=True):
        clicks.setdefault(row["page"], []).append(row)
    for number, row in enumerate(log.pages.iter_rows(named=True)):
        yield Page(row, results.get(number, []), clicks.get(number, []))
