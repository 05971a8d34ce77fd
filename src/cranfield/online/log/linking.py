"""Tables of pages, results and clicks become one log, in which each click finds its result."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.errors import CranfieldWarning, InputError, check_choice, check_whole, quoted
from cranfield.base.text import counted
from cranfield.online.log.cells import rows_of
from cranfield.online.log.query_log import CLICKS, PAGES, RESULTS, QueryLog, counted_things
from cranfield.sources.columns import Table


def first_records(
    table: Table, odd: str, *, drop_doubled: bool = True
) -> tuple[Table, dict[str, int]]:
    """Keep the first record of each page in a table of results, and count what is left out.

    The rows of a page, in the order of the table, are a second record from the first rank on that
    was there before; of results without ranks, from the first document on. A row that repeats the
    one above it is the same result logged twice, which a flat table keeps for its clicks.
    """
    key = "rank" if "rank" in table.names else "doc"
    page = pl.col("page").cast(pl.Categorical).to_physical().cast(pl.Int64)
    frame = table.frame.select("doc", page=page, key=key)
    if not _repeats(frame):
        return table, {}
    empty = pl.col("doc").is_null()
    above = pl.struct(pl.all()).shift(1).over("page")
    frame = frame.with_columns(
        doubled=pl.struct(pl.all()).eq_missing(above),
        # A page without results that has some in another row was recorded again.
        again=~pl.struct("page", "key").is_first_distinct() | empty | empty.shift(1).over("page"),
        first=pl.int_range(pl.len()).over("page") == 0,
    )
    starts = pl.col("again") & ~pl.col("doubled") & ~pl.col("first")
    repeated = frame.select(starts.cast(pl.Int64).cum_sum().over("page") > 0).to_series()
    doubled = frame["doubled"] & ~repeated
    if odd == "refuse":
        table.refuse(repeated | doubled, lambda row: _reason(row, key))
    doubled &= drop_doubled
    good = ~(repeated | doubled)
    counts = {
        "results logged twice": int(doubled.sum()),
        "results of a repeated record of their page": int(repeated.sum()),
    }
    return rows_of(table, good.arg_true()), {
        what: number for what, number in counts.items() if number
    }


def _repeats(frame: pl.DataFrame) -> bool:
    """Tell whether a key is twice on a page, or a page has results and a row without any."""
    empty = frame["page"].filter(frame["doc"].is_null())
    if frame["page"].is_in(empty.unique().implode()).sum() > empty.n_unique():
        return True
    return bool(repeated_rows(frame.select("page", "key")).any())


def repeated_rows(frame: pl.DataFrame) -> pl.Series:
    """Tell which rows are equal to one above."""
    hashes = frame.hash_rows()
    # Sorted, they are compared several times as fast as they are grouped.
    ordered = hashes.sort()
    several = ordered.filter(ordered == ordered.shift(1))
    some = hashes.is_in(several.implode())
    if several.is_empty():
        return some
    first = frame.filter(some).select(pl.struct(pl.all()).is_first_distinct()).to_series()
    return some.scatter(some.arg_true(), ~first)


def _reason(row: dict[str, Any], key: str) -> str:
    page = quoted(row["page"])
    if row["doc"] is None:
        return f"page {page} twice"
    if key == "rank":
        return f"rank {row['rank']} twice on page {page}"
    return f"document {quoted(row['doc'])} twice on page {page}, whose results have no ranks"


FORMS = ("auto", "tables", "flat", "sessions", "ubi", "living-labs", "yandex", "pyclick")
"""Formats of logs."""

ODD = ("refuse", "count")
"""How to treat pages that were recorded twice, and clicks before their page."""


@dataclass(frozen=True)
class Policies:
    """Options of :func:`read_log`, as it explains them."""

    form: str
    odd: str
    max_queries: int | None
    click_actions: Sequence[str] | None

    def __post_init__(self) -> None:
        check_choice("format", self.form, FORMS)
        check_choice("odd", self.odd, ODD)
        if self.max_queries is not None:
            check_whole("max_queries", self.max_queries, 1)


@dataclass
class _Link:
    """One log in the making: what is found odd on the way, and what of it is left out."""

    source: str
    policies: Policies
    odd: dict[str, int] = field(default_factory=dict)
    done: dict[str, tuple[str, str]] = field(default_factory=dict)

    def count(self, what: str, number: int, done: str = "", table: Table | None = None) -> None:
        """Count something odd of a table; `done` says what became of it, if that changes counts."""
        if number:
            self.odd[what] = self.odd.get(what, 0) + number
            if done:
                self.done[what] = (self.source if table is None else table.source, done)

    def warn(self) -> None:
        for what, (source, done) in self.done.items():
            problem = f"{counted_things(self.odd[what], what)}, {done}"
            warnings.warn(CranfieldWarning(f"{source}: {problem}"), stacklevel=4)


def linked(
    pages: Table,
    results: Table | None,
    clicks: Table | None,
    odd: dict[str, int],
    policies: Policies,
) -> QueryLog:
    """Make a log of tables whose pages are named by their ids.

    odd: what was found odd before, such as clicks that have no page.
    """
    link = _Link(pages.source, policies)
    clicks = None if clicks is None else _each_click(clicks)
    for what, number in odd.items():
        # Other events, such as purchases, are no part of a log.
        done = "" if what.startswith("events") else "left out"
        link.count(what, number, done, results if what.startswith("results") else clicks)
    frame = _pages(pages, link)
    place = frame.select("id", page=pl.int_range(pl.len(), dtype=pl.Int64))
    shown = _results(results, place, link)
    _check_any("results", results, shown, pages)
    if not shown.is_empty():
        empty = frame.height - shown["page"].n_unique()
        link.count("pages without results", empty)
    touched = _clicks(clicks, place, frame, shown, link)
    _check_any("clicks on results", clicks, touched, pages)
    shown = _told(shown, RESULTS) if shown.height else shown.select("page", "rank", "doc")
    parts = (_told(frame, PAGES), shown, _told(touched, CLICKS))
    log = QueryLog(*parts, pages.source, link.odd, tells_clicks=clicks is not None)
    if policies.max_queries is not None:
        log = _without_bots(log, policies.max_queries)
    link.warn()
    return log


def _check_any(what: str, table: Table | None, found: pl.DataFrame, pages: Table) -> None:
    """Refuse a table of which no row is on a page of the log, or on a result of one."""
    if table is not None and table.frame.height and found.is_empty():
        page, other = (quoted(one[0]) for one in (pages.frame["id"], table.frame["page"]))
        raise InputError(
            f"expected {what} on pages of {pages.source}, such as page {page}, got none; the first"
            f" of {table.frame.height:,} is on page {other}",
            source=table.source,
        )


def _told(frame: pl.DataFrame, types: dict[str, pl.DataType]) -> pl.DataFrame:
    """Leave out the columns that hold nothing, as if they were not there."""
    needed = {"id", "query", "page", "rank", "doc"}
    return frame.select(
        name
        for name in types
        if name in frame.columns
        and (name in needed or not frame.height or frame[name].null_count() < frame.height)
    )


def _pages(table: Table, link: _Link) -> pl.DataFrame:
    names = [name for name in PAGES if name in table.names]
    frame = table.frame.select(pl.col(name).cast(PAGES[name]) for name in names)
    again = ~frame["id"].is_first_distinct()
    if again.any():
        if link.policies.odd == "refuse":
            table.refuse(again, lambda row: f"page {quoted(row['id'])} twice")
        link.count("pages twice", int(again.sum()), "of which the first is kept")
        frame = frame.filter(~again)
    if "user" in frame.columns and "variant" in frame.columns:
        pairs = frame.select("user", "variant").drop_nulls().unique()
        several = pairs["user"].filter(pairs["user"].is_duplicated()).n_unique()
        link.count("users in two variants", several)
    stream = next((name for name in ("session", "user") if name in frame.columns), None)
    if "time" in frame.columns and stream is not None and not frame["time"].is_sorted():
        back = pl.col("time") < pl.col("time").forward_fill().shift(1).over(stream)
        number = frame.filter(pl.col(stream).is_not_null()).select(back.sum()).item()
        link.count("pages before the page above them", int(number))
    return frame


def placed(frame: pl.DataFrame, place: pl.DataFrame) -> pl.DataFrame:
    """Put the row of its page for the id of each; null where there is no such page."""
    # Pages mostly stand together, and then one look-up is enough for all their rows.
    run = frame["page"].rle_id()
    heads = frame["page"].filter(run != run.shift(1, fill_value=2**32 - 1))
    if heads.equals(place["id"]):
        return frame.with_columns(page=run.cast(pl.Int64))
    found = heads.to_frame().join(
        place, left_on="page", right_on="id", how="left", maintain_order="left", suffix="_row"
    )
    return frame.with_columns(page=found["page_row"].gather(run))


def _results(table: Table | None, place: pl.DataFrame, link: _Link) -> pl.DataFrame:
    if table is None:
        return pl.DataFrame(schema={name: RESULTS[name] for name in ("page", "rank", "doc")})
    if "rank" not in table.names and "pages twice" in link.odd:
        reason = "expected ranks, by which repeated records of a page are told apart"
        raise InputError(reason, source=table.source)
    table, again = first_records(table, link.policies.odd)
    for what, number in again.items():
        link.count(what, number, "left out", table)
    named = table.frame.with_columns(pl.col("rank").cast(pl.Int64))
    frame = placed(_named(table, named), place)
    if "rank" not in table.names:
        frame = frame.with_columns(rank=pl.int_range(1, pl.len() + 1).over("page"))
    elif frame["rank"].null_count():
        table.refuse(frame["rank"].is_null(), lambda row: "has no rank")
    types = {name: kind for name, kind in RESULTS.items() if name in frame.columns}
    lost = frame["page"].null_count()
    if lost:
        link.count("results of no page", lost, "left out", table)
    frame = frame.select(pl.col(name).cast(kind) for name, kind in types.items())
    if lost:
        frame = frame.drop_nulls("page")
    key = frame["page"] * 2**32 + frame["rank"]
    if not key.is_sorted():
        frame = frame.sort("page", "rank", maintain_order=True)
    link.count("documents twice on a page", int(repeated_rows(frame.select("page", "doc")).sum()))
    return frame


def _named(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out the columns that the source does not have."""
    needed = {"page", "rank", "doc"}
    return frame.drop(set(frame.columns) - needed - set(table.names))


def _clicks(
    table: Table | None,
    place: pl.DataFrame,
    pages: pl.DataFrame,
    shown: pl.DataFrame,
    link: _Link,
) -> pl.DataFrame:
    if table is None:
        return pl.DataFrame(schema={name: CLICKS[name] for name in ("page", "rank", "doc")})
    if not {"rank", "doc"} & {*table.names}:
        raise InputError("has neither a rank nor a doc column", source=table.source)
    frame = _named(table, table.frame)
    nowhere = table.frame["rank"].is_null() & table.frame["doc"].is_null()
    table.refuse(nowhere, lambda row: "a click names neither a rank nor a document")
    frame = placed(frame, place)
    frame = _dwelt(frame)
    lost = frame["page"].null_count()
    link.count("clicks on no page", lost, "left out", table)
    frame = frame.with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64)).drop_nulls("page")
    frame = _early(frame, pages, table, link)
    frame = _on_results(frame, shown, table, link)
    frame = frame.drop("row")
    if "time" in frame.columns:
        twice = repeated_rows(frame) & frame["time"].is_not_null()
        link.count("clicks logged twice", int(twice.sum()), "left out", table)
        frame = frame.filter(~twice)
    distinct = (frame["page"] * 2**32 + frame["rank"]).n_unique()
    link.count("clicks on a result that was clicked before", frame.height - distinct)
    if "dwell" in frame.columns:
        link.count("clicks of unknown dwell", frame["dwell"].null_count())
    frame = frame.select(
        pl.col(name).cast(kind) for name, kind in CLICKS.items() if name in frame.columns
    )
    if "time" in frame.columns:
        # A click without a time stays behind the one that stands before it.
        gaps = frame["time"].null_count() > 0
        at = pl.col("time").forward_fill().over("page") if gaps else pl.col("time")
        return frame.sort("page", at, maintain_order=True)
    return frame.sort("page", maintain_order=True)


def _each_click(table: Table) -> Table:
    """Make a row of each click, where a column says how often rows were clicked."""
    if "clicks" not in table.names:
        return table
    row = pl.int_range(table.frame.height, eager=True).repeat_by(table.frame["clicks"].fill_null(0))
    row = row.explode().drop_nulls()
    own = [name for name in ("time", "end", "dwell", "censored") if name in table.frame.columns]
    every = rows_of(table, row)
    # The time and the dwell of a row are those of its first click.
    frame = every.frame.with_columns(pl.when(row.is_first_distinct()).then(pl.col(own)))
    return replace(every, frame=frame)


def _dwelt(frame: pl.DataFrame) -> pl.DataFrame:
    """Find how long results were read; a dwell of 0 or less is not known."""
    if "end" in frame.columns:
        if "dwell" not in frame.columns and "time" in frame.columns:
            microseconds = (pl.col("end") - pl.col("time")).dt.total_microseconds()
            frame = frame.with_columns(dwell=microseconds / 1e6)
        frame = frame.drop("end")
    if "dwell" in frame.columns:
        frame = frame.with_columns(dwell=pl.when(pl.col("dwell") > 0).then(pl.col("dwell")))
    return frame


def _early(frame: pl.DataFrame, pages: pl.DataFrame, table: Table, link: _Link) -> pl.DataFrame:
    """Refuse clicks before their page, or take their time as not known."""
    if "time" not in frame.columns or "time" not in pages.columns:
        return frame
    early = frame["time"] < pages["time"].gather(frame["page"])
    early = early.fill_null(False)
    if not early.any():
        return frame
    if link.policies.odd == "refuse":
        bad = pl.Series([False]).new_from_index(0, table.frame.height)
        bad = bad.scatter(frame["row"].filter(early), True)
        table.refuse(bad, lambda row: f"a click before its page {quoted(row['page'])}")
    told = "their times are taken as unknown"
    link.count("clicks before their page", int(early.sum()), told, table)
    return frame.with_columns(time=pl.when(~early).then(pl.col("time")))


def _on_results(
    frame: pl.DataFrame, shown: pl.DataFrame, table: Table, link: _Link
) -> pl.DataFrame:
    """Find the result of each click, by its document, or else by its rank."""
    if shown.is_empty():
        if "rank" not in frame.columns or frame["rank"].null_count():
            raise InputError(
                "clicks name no rank, and there is no table of results", source=table.source
            )
        return frame if "doc" in frame.columns else frame.with_columns(doc=pl.lit(None, pl.String))
    at_rank = _row_at(frame, shown)
    there = shown["doc"].gather(at_rank)
    if "doc" not in frame.columns:
        frame = frame.with_columns(doc=pl.lit(None, pl.String))
    if "rank" not in frame.columns:
        frame = frame.with_columns(rank=pl.lit(None, pl.Int32))
    named = frame["doc"].is_not_null()
    other = named & frame["doc"].ne_missing(there)
    found = at_rank
    if other.any():
        by_doc = _row_of_doc(frame.select("page", "doc").filter(other), shown)
        found = at_rank.clone().scatter(other.arg_true(), by_doc)
    moved = other & frame["rank"].is_not_null() & found.is_not_null()
    link.count(
        "clicks whose rank holds another document",
        int(moved.sum()),
        "taken as clicks on the document",
        table,
    )
    frame = frame.with_columns(rank=shown["rank"].gather(found), doc=shown["doc"].gather(found))
    off = frame["rank"].null_count()
    link.count("clicks on no result", off, "left out", table)
    return frame.drop_nulls("rank") if off else frame


def _row_at(frame: pl.DataFrame, shown: pl.DataFrame) -> pl.Series:
    """Find the result at the rank of each click; null where there is none."""
    if "rank" not in frame.columns:
        return pl.Series([None], dtype=pl.Int64).new_from_index(0, frame.height)
    keys = shown["page"] * 2**32 + shown["rank"]
    wanted = (frame["page"] * 2**32 + frame["rank"]).fill_null(-1)
    row = np.searchsorted(keys.to_numpy(), wanted.to_numpy())
    row = np.minimum(row, shown.height - 1)
    there = keys.gather(row) == wanted
    return pl.select(pl.when(there).then(pl.Series(row, dtype=pl.Int64))).to_series()


def _row_of_doc(clicks: pl.DataFrame, shown: pl.DataFrame) -> pl.Series:
    """Find the highest result of each click that has its document; null where there is none."""
    rows = shown.select("page", "doc", row=pl.int_range(pl.len(), dtype=pl.Int64))
    rows = rows.join(clicks, on=["page", "doc"], how="semi", maintain_order="left")
    rows = rows.unique(["page", "doc"], keep="first", maintain_order=True)
    return clicks.join(rows, on=["page", "doc"], how="left", maintain_order="left")["row"]


def _without_bots(log: QueryLog, most: int) -> QueryLog:
    """Leave out users, or sessions where there are no users, with too many queries."""
    who = next((name for name in ("user", "session") if name in log.pages.columns), None)
    if who is None:
        raise InputError("max_queries needs the user or the session of pages", source=log.source)
    many = (pl.len().over(who) > most) & pl.col(who).is_not_null()
    bots = log.pages.select(many).to_series()
    kept = log.where(~bots) if bots.any() else log
    if kept.pages.is_empty():
        raise InputError(f"no {who} has {counted(most, 'page')} or fewer", source=log.source)
    kept = replace(kept, odd=dict(log.odd))
    if bots.any():
        kept.odd[f"pages of {who}s with more than {counted(most, 'page')}"] = int(bots.sum())
    return kept
