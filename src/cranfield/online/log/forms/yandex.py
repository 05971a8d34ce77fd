"""Logs as Yandex published them, and the sample of one by which PyClick is tested."""

from __future__ import annotations

import polars as pl

from cranfield.base.errors import InputError, quoted
from cranfield.online.log import tables
from cranfield.sources.tables import Table
from cranfield.sources.text import decoded

Tables = tuple[Table, Table, Table]


def read_yandex(raw: bytes, source: str) -> Tables:
    """Read records of the relevance prediction challenge of 2012, separated by tabs.

    A line is a query, `session time Q query region doc...`, or a click, `session time C doc`, which
    belongs to the last query of its session above it. Times count from the start of the session.
    """
    frame = _lines(raw, source).with_columns(pl.col("text").str.strip_chars_end("\r\n\t "))
    frame = frame.filter(pl.col("text") != "").with_columns(cells=pl.col("text").str.split("\t"))
    cell = pl.col("cells").list
    frame = frame.with_columns(
        session=cell.get(0, null_on_oob=True).str.strip_chars(),
        time=cell.get(1, null_on_oob=True),
        kind=cell.get(2, null_on_oob=True).str.strip_chars(),
        size=cell.len(),
    )
    query, click = pl.col("kind") == "Q", pl.col("kind") == "C"
    fits = (query & (pl.col("size") >= 5)) | (click & (pl.col("size") == 4))
    _refuse(
        frame,
        ~fits.fill_null(False),
        "Yandex (session time Q query region doc…, or session time C doc)",
        source,
    )
    number = query.cast(pl.Int64).cum_sum()
    frame = frame.with_columns(page=pl.when(query).then(number))
    frame = frame.with_columns(page=pl.col("page").forward_fill().over("session"))
    asked, clicked = frame.filter(query), frame.filter(click)
    pages = asked.select(
        *("session", "time", "line"),
        id="page",
        query=pl.concat_str(cell.get(3), cell.get(4), separator="_"),
    )
    results = asked.select("page", "line", doc=cell.slice(5)).explode("doc", empty_as_null=False)
    clicks = clicked.select("page", "time", "line", doc=cell.get(3, null_on_oob=True))
    return _made(pages, results, clicks, source)


def read_one_line(raw: bytes, source: str) -> Tables:
    """Read pages `query TAB doc,doc,... : clicked doc , clicked doc`, with semicolons between."""
    frame = _lines(raw, source).with_columns(pl.col("text").str.split(";")).explode("text")
    frame = frame.with_columns(pl.col("text").str.strip_chars()).filter(pl.col("text") != "")
    fields = pl.col("text").str.extract_groups(r"^([^\t]*)\t([^\t:]*):([^\t:]*)$")
    frame = frame.with_columns(
        fields.struct.rename_fields(["query", "shown", "clicked"]).alias("f")
    )
    frame = frame.unnest("f").with_columns(page=pl.int_range(1, pl.len() + 1))
    _refuse(frame, frame["shown"].is_null(), "pages (query, tab, docs : clicked docs)", source)

    def listed(name: str) -> pl.DataFrame:
        docs = pl.col(name).str.split(",").list.eval(pl.element().str.strip_chars())
        docs = pl.when(pl.col(name).str.strip_chars() != "").then(docs)
        return frame.select("page", "line", doc=docs).explode("doc").drop_nulls("doc")

    pages = frame.select("query", "line", id="page")
    return _made(pages, listed("shown"), listed("clicked"), source)


def _lines(raw: bytes, source: str) -> pl.DataFrame:
    text = decoded(raw, source)
    frame = pl.DataFrame({"text": [text]}).select(pl.col("text").str.split("\n")).explode("text")
    return frame.with_columns(line=pl.int_range(1, pl.len() + 1))


def _refuse(frame: pl.DataFrame, bad: pl.Expr | pl.Series, what: str, source: str) -> None:
    wrong = frame.filter(bad)
    if wrong.height:
        text, line = wrong.row(0, named=True)["text"], wrong["line"][0]
        raise InputError(f"{quoted(text)} is no line of {what}", source=source, line=line)


def _made(pages: pl.DataFrame, results: pl.DataFrame, clicks: pl.DataFrame, source: str) -> Tables:
    results = results.with_columns(rank=pl.int_range(1, pl.len() + 1).over("page"))
    return (
        tables.table_of(pages, tables.PAGES, source, empty=False),
        tables.table_of(results, tables.RESULTS, source),
        tables.table_of(clicks, tables.CLICKS, source),
    )
