"""Tables of pages, results and clicks become one log, in which each click finds its result."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import polars as pl

from cranfield.base.checks import check_choice, check_whole
from cranfield.base.errors import CranfieldWarning, InputError, quoted
from cranfield.base.words import counted
from cranfield.online.log.query_log import CLICKS, PAGES, RESULTS, QueryLog, counted_things
from cranfield.sources.tables import Table

ODD = ("refuse", "count")
"""What becomes of pages that are there twice, and of clicks before their page."""


@dataclass(frozen=True)
class Policies:
    """What becomes of what is odd."""

    odd: str = "refuse"
    max_queries: int | None = None

    def __post_init__(self) -> None:
        check_choice("odd", self.odd, ODD)
        if self.max_queries is not None:
            check_whole("max_queries", self.max_queries, 1)


@dataclass
class _Link:
    """One log in the making: what is found odd on the way, and what of it is left out."""

    source: str
    policies: Policies
    odd: dict[str, int] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def count(self, what: str, number: int, done: str = "") -> None:
        """Count something odd; `done` says what became of it, where that changes counts."""
        if number:
            self.odd[what] = self.odd.get(what, 0) + number
            if done:
                self.left_out.append(f"{counted_things(number, what)}, {done}")

    def warn(self) -> None:
        for problem in self.left_out:
            warnings.warn(CranfieldWarning(f"{self.source}: {problem}"), stacklevel=4)


def linked(
    pages: Table,
    results: Table | None,
    clicks: Table | None,
    policies: Policies,
    source: str,
    odd: dict[str, int] | None = None,
) -> QueryLog:
    """Make a log of tables whose pages are named by their ids.

    odd: what was found odd before, such as clicks that have no page.
    """
    link = _Link(source, policies)
    for what, number in (odd or {}).items():
        link.count(what, number, "left out")
    frame = _pages(pages, link)
    place = frame.select("id", page=pl.int_range(pl.len(), dtype=pl.Int64))
    shown = _results(results, place, link)
    if not shown.is_empty():
        empty = frame.height - shown["page"].n_unique()
        link.count("pages without results", empty)
    touched = _clicks(clicks, place, frame, shown, link)
    log = QueryLog(frame, shown, touched, source, link.odd)
    if policies.max_queries is not None:
        log = _without_bots(log, policies.max_queries)
    link.warn()
    return log


def _present(table: Table, types: dict[str, pl.DataType], needed: int) -> pl.DataFrame:
    """Take the columns that are there; those that hold nothing are as if they were not."""
    frame = table.frame
    keep = [
        name
        for k, name in enumerate(types)
        if k < needed
        or (name in table.names and (not frame.height or frame[name].null_count() < frame.height))
    ]
    return frame.select(pl.col(name).cast(types[name]) for name in keep)


def _pages(table: Table, link: _Link) -> pl.DataFrame:
    frame = _present(table, PAGES, 2)
    again = ~frame["id"].is_first_distinct()
    if again.any():
        if link.policies.odd == "refuse":
            table.refuse(again, lambda row: f"page {quoted(row['id'])} twice")
        link.count("pages twice", int(again.sum()), "of which the first is kept")
        frame = frame.filter(~again)
    if "user" in frame.columns and "variant" in frame.columns:
        variants = frame.group_by("user").agg(pl.col("variant").drop_nulls().n_unique())
        link.count("users in two variants", int((variants["variant"] > 1).sum()))
    stream = next((name for name in ("session", "user") if name in frame.columns), None)
    if "time" in frame.columns and stream is not None:
        back = pl.col("time") < pl.col("time").forward_fill().shift(1).over(stream)
        number = frame.filter(pl.col(stream).is_not_null()).select(back.sum()).item()
        link.count("pages before the page above them", int(number))
    return frame


def placed(frame: pl.DataFrame, place: pl.DataFrame) -> pl.DataFrame:
    """Put the row of its page for the id of each; null where there is no such page."""
    # Pages mostly stand together, and then one look-up is enough for all their rows.
    run = frame["page"].rle_id()
    heads = frame.select("page").filter(run != run.shift(1, fill_value=2**32 - 1))
    if heads.height * 2 < frame.height:
        found = heads.join(place, left_on="page", right_on="id", how="left", maintain_order="left")
        return frame.with_columns(page=found["page_right"].gather(run))
    return (
        frame.join(
            place, left_on="page", right_on="id", how="left", maintain_order="left", suffix="_row"
        )
        .with_columns(page=pl.col("page_row"))
        .drop("page_row")
    )


def _results(table: Table | None, place: pl.DataFrame, link: _Link) -> pl.DataFrame:
    if table is None:
        return pl.DataFrame(schema={name: RESULTS[name] for name in ("page", "rank", "doc")})
    named = table.frame.with_columns(pl.col("rank").cast(pl.Int64))
    frame = placed(_named(table, named), place)
    if "rank" not in table.names:
        frame = frame.with_columns(rank=pl.int_range(1, pl.len() + 1).over("page"))
    elif frame["rank"].null_count():
        table.refuse(frame["rank"].is_null(), lambda row: "has no rank")
    types = {name: kind for name, kind in RESULTS.items() if name in frame.columns}
    lost = frame["page"].null_count()
    if lost:
        link.count("results of no page", lost, "left out")
    row = pl.int_range(pl.len(), dtype=pl.Int64).alias("row")
    frame = frame.select(*(pl.col(name).cast(kind) for name, kind in types.items()), row)
    if lost:
        frame = frame.drop_nulls("page")
    key = frame["page"] * 2**32 + frame["rank"]
    if not key.is_sorted():
        frame = frame.sort("page", "rank", maintain_order=True)
        key = frame["page"] * 2**32 + frame["rank"]
    again = key == key.shift(1)
    if again.any():
        if link.policies.odd == "refuse":
            bad = pl.Series([False]).new_from_index(0, table.frame.height)
            bad = bad.scatter(frame["row"].filter(again).sort(), True)
            table.refuse(bad, lambda row: f"rank {row['rank']} twice on page {quoted(row['page'])}")
        link.count("results twice", int(again.sum()), "of which the first is kept")
        frame = frame.filter(~again)
    twice = frame.height - frame.select("page", "doc").unique().height
    link.count("documents twice on a page", twice)
    return frame.drop("row")


def _named(table: Table, frame: pl.DataFrame) -> pl.DataFrame:
    """Leave out the columns that the source does not have, or that hold nothing."""
    empty = [
        name
        for name in frame.columns
        if name not in {"page", "rank", "doc"}
        and (name not in table.names or (frame.height and frame[name].null_count() == frame.height))
    ]
    return frame.drop(empty)


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
    nowhere = frame["rank"].is_null() & frame["doc"].is_null()
    if nowhere.any():
        table.refuse(nowhere, lambda row: "a click names neither a rank nor a document")
    frame = placed(frame, place)
    frame = _dwelt(frame, table, link)
    lost = frame["page"].null_count()
    link.count("clicks on no page", lost, "left out")
    frame = frame.with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64)).drop_nulls("page")
    frame = _early(frame, pages, table, link)
    frame = _on_results(frame, shown, table, link)
    frame = frame.drop("row")
    if "time" in frame.columns:
        once = frame.select(pl.struct(pl.all()).is_first_distinct() | pl.col("time").is_null())
        link.count("clicks logged twice", int((~once.to_series()).sum()), "left out")
        frame = frame.filter(once.to_series())
    repeated = frame.height - frame.select("page", "rank").unique().height
    link.count("clicks on a result that was clicked before", repeated)
    if "dwell" in frame.columns:
        link.count("clicks of unknown dwell", frame["dwell"].null_count())
    frame = frame.select(
        pl.col(name).cast(kind) for name, kind in CLICKS.items() if name in frame.columns
    )
    if "time" in frame.columns:
        # A click without a time stays behind the one that stands before it.
        at = pl.col("time").forward_fill().over("page")
        frame = frame.with_columns(at=at).sort("page", "at", maintain_order=True)
        return frame.drop("at")
    return frame.sort("page", maintain_order=True)


def _dwelt(frame: pl.DataFrame, table: Table, link: _Link) -> pl.DataFrame:
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
    link.count("clicks before their page", int(early.sum()), "their times are taken as unknown")
    return frame.with_columns(time=pl.when(~early).then(pl.col("time")))


def _on_results(
    frame: pl.DataFrame, shown: pl.DataFrame, table: Table, link: _Link
) -> pl.DataFrame:
    """Find the result of each click, by its document, or else by its rank."""
    if shown.is_empty():
        if frame["rank"].null_count():
            raise InputError(
                "clicks name no rank, and there is no table of results", source=table.source
            )
        return frame
    of_clicked = shown.select("page", "rank", "doc").join(
        frame.select("page").unique(), on="page", how="semi", maintain_order="left"
    )
    by_doc = of_clicked.unique(["page", "doc"], keep="first", maintain_order=True)
    by_doc = by_doc.rename({"rank": "found"})
    frame = frame.with_columns(pl.col("rank").cast(pl.Int32))
    frame = frame.join(
        of_clicked.rename({"doc": "there"}), on=["page", "rank"], how="left", maintain_order="left"
    ).join(by_doc, on=["page", "doc"], how="left", maintain_order="left")
    same = pl.col("doc").is_null() | (pl.col("doc") == pl.col("there")).fill_null(False)
    rank = (
        pl.when(same).then(pl.when(pl.col("there").is_not_null()).then("rank")).otherwise("found")
    )
    moved = (~same & pl.col("rank").is_not_null() & pl.col("found").is_not_null()).sum()
    link.count(
        "clicks whose rank holds another document",
        int(frame.select(moved).item()),
        "taken as clicks on the document",
    )
    frame = frame.with_columns(rank=rank, doc=pl.when(same).then("there").otherwise("doc")).drop(
        "there", "found"
    )
    off = frame["rank"].null_count()
    link.count("clicks on no result", off, "left out")
    return frame.drop_nulls("rank") if off else frame


def _without_bots(log: QueryLog, most: int) -> QueryLog:
    """Leave out users, or sessions where there are no users, with too many queries."""
    who = next((name for name in ("user", "session") if name in log.pages.columns), None)
    if who is None:
        raise InputError("max_queries needs the user or the session of pages", source=log.source)
    many = (pl.len().over(who) > most) & pl.col(who).is_not_null()
    bots = log.pages.select(many).to_series()
    kept = log.where(~bots) if bots.any() else log
    if bots.any():
        kept.odd[f"pages of {who}s with more than {counted(most, 'page')}"] = int(bots.sum())
    return kept
