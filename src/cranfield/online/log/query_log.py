"""A query log: pages that users saw, results on them, and clicks."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike

import numpy as np
import polars as pl

from cranfield.base.checks import check_choice
from cranfield.base.errors import InputError, PolicyError
from cranfield.base.showing import Plotted
from cranfield.base.words import counted
from cranfield.online.log.writing import write_tables
from cranfield.tabular import frame_html

PAGES: dict[str, pl.DataType] = {
    "id": pl.String(),
    "query": pl.String(),
    "user": pl.String(),
    "session": pl.String(),
    "time": pl.Datetime("us", "UTC"),
    "variant": pl.String(),
    "found": pl.Int64(),
    "method": pl.String(),
}
"""Columns of pages; all but `id` and `query` are there only if the source has them."""

RESULTS: dict[str, pl.DataType] = {
    "page": pl.Int64(),
    "rank": pl.Int32(),
    "doc": pl.String(),
    "team": pl.String(),
    "propensity": pl.Float64(),
    "grade": pl.Int64(),
}
"""Columns of results; all but the first three are there only if the source has them."""

CLICKS: dict[str, pl.DataType] = {
    "page": pl.Int64(),
    "rank": pl.Int32(),
    "doc": pl.String(),
    "time": pl.Datetime("us", "UTC"),
    "dwell": pl.Float64(),
    "censored": pl.Boolean(),
}
"""Columns of clicks; `time`, `dwell` and `censored` are there only if the source has them."""


def counted_things(number: int, what: str) -> str:
    """Say a number of things whose name starts with a plural, such as clicks on no result."""
    noun, _, rest = what.partition(" ")
    return f"{counted(number, noun.removesuffix('s'))} {rest}".rstrip()


NOT_TOLD = {
    "results": "what was shown",
    "clicks": "clicks, of which no table or column was given",
}
"""What is not there of a log without one of its tables, for messages."""

_TABLES = ("pages", "results", "clicks")


@dataclass(frozen=True, eq=False, repr=False)
class QueryLog(Plotted):
    """Pages that users saw, the results on them and the clicks; made by :func:`read_log`.

    Attributes
    ----------
    pages
        Data frame, a row a page: `id`, `query`, and where they are known `user`, `session`, `time`
        (UTC), `variant` of an experiment, `found` (number of results found), and the `method` of
        interleaving.
    results
        Data frame, a row a shown result, by page and rank: `page` (row of `pages`, from 0), `rank`
        (from 1), `doc`, and where they are known the `team` of interleaving to which it belongs,
        the `propensity` with which it was shown and its `grade`. Without rows if the source does
        not tell what was shown.
    clicks
        Data frame, a row a click, by page, time and order in the source: `page`, `rank`, `doc`, and
        where they are known `time` (UTC), `dwell` (seconds; null where it is not known) and
        whether the dwell is `censored`, which is at least so long.
    source
        Where it came from, for messages.
    odd
        What is odd about it, and how often, such as `{"clicks on no result": 3}`.
    tells_clicks
        Whether the source tells of clicks. Where it does not, that nobody clicked is not known
        either, and what needs clicks is refused.
    """

    pages: pl.DataFrame
    results: pl.DataFrame
    clicks: pl.DataFrame
    source: str = "log"
    odd: dict[str, int] = field(default_factory=dict)
    tells_clicks: bool = True

    def require(self, table: str, *columns: str, purpose: str) -> None:
        """Refuse a log that does not tell what something needs.

        Raises
        ------
        InputError
            Naming the column, and what it is needed for.
        """
        check_choice("table", table, _TABLES)
        have = getattr(self, table)
        for column in columns:
            if column not in have.columns:
                raise InputError(f"{purpose} needs the {column} of {table}", source=self.source)
        if table == "results" and have.is_empty():
            raise InputError(f"{purpose} needs {NOT_TOLD[table]}", source=self.source)
        if table == "clicks" and not self.tells_clicks:
            raise InputError(f"{purpose} needs {NOT_TOLD[table]}", source=self.source)

    @cached_property
    def shown(self) -> pl.DataFrame:
        """The results, with the number of clicks on each as `clicks`."""
        self.require("clicks", purpose="what was clicked of what was shown")
        number = self.clicks.group_by("page", "rank").agg(pl.len().alias("clicks"))
        return self.results.join(
            number, on=["page", "rank"], how="left", maintain_order="left"
        ).with_columns(pl.col("clicks").fill_null(0))

    def where(self, keep: pl.Expr | pl.Series) -> QueryLog:
        """Return the log of some pages; what was odd about the whole is not counted of a part.

        Parameters
        ----------
        keep
            Expression over the columns of `pages`, or a truth value for each page.

        Raises
        ------
        PolicyError
            For truth values of another number than there are pages, and for other values.
        """
        kept = self.pages.with_row_index("page").with_columns(pl.col("page").cast(pl.Int64))
        if isinstance(keep, pl.Expr):
            mask = kept.select("page", keep=keep)["keep"]
        elif isinstance(keep, pl.Series):
            mask = keep
        else:
            values = list(keep)
            true = {*map(type, values)} <= {bool, np.bool_, type(None)}
            mask = pl.Series(values, dtype=pl.Boolean if true else pl.Object)
        if mask.dtype not in {pl.Boolean, pl.Null}:
            raise PolicyError("keep has a truth value for each page, and nothing else")
        if mask.len() != kept.height:
            number = counted(mask.len(), "truth value")
            raise PolicyError(f"keep has {number} for {counted(kept.height, 'page')}")
        kept = kept.filter(mask)
        place = kept.select("page").with_row_index("new")

        def of(rows: pl.DataFrame) -> pl.DataFrame:
            found = rows.join(place, on="page", how="inner", maintain_order="left")
            return found.with_columns(page=pl.col("new").cast(pl.Int64)).drop("new")

        parts = (kept.drop("page"), of(self.results), of(self.clicks))
        return QueryLog(*parts, self.source, tells_clicks=self.tells_clicks)

    def write(self, folder: str | PathLike[str], format: str = "csv") -> None:
        """Write the log into a folder, from which :func:`read_log` reads the same.

        Parameters
        ----------
        folder
            Is made if it is not there. Files in it that have the names of those that are written
            are replaced, each at once.
        format
            `"csv"`, `"parquet"` or `"jsonl"`: files `pages`, `results` and `clicks`. `"ubi"`: files
            `ubi_queries.jsonl` and `ubi_events.jsonl` as user behaviour insights has them; what its
            version 1.3.0 has no place for stands in the attributes of queries and events.

        Raises
        ------
        PolicyError
            For another format.
        InputError
            When it cannot be written.
        """
        clicks = self.clicks if self.tells_clicks else None
        write_tables(self.pages, self.results, clicks, folder, format)

    def _repr_html_(self) -> str:
        return frame_html(self.pages, repr(self), limit=10)

    def __repr__(self) -> str:
        texts = [
            counted(self.pages.height, "page"),
            *(
                counted(self.pages[name].drop_nulls().n_unique(), name)
                for name in ("user", "session")
                if name in self.pages.columns
            ),
            counted(self.results.height, "result"),
            counted(self.clicks.height, "click") if self.tells_clicks else "clicks not known",
        ]
        notes = [counted_things(number, what) for what, number in self.odd.items() if number]
        return f"QueryLog({', '.join(texts)}{'; ' if notes else ''}{', '.join(notes)})"


def made_log(
    pages: pl.DataFrame,
    results: pl.DataFrame | None = None,
    clicks: pl.DataFrame | None = None,
    *,
    source: str = "log",
) -> QueryLog:
    """Make a log of tables that are right already: types, order, and clicks with their `doc`."""

    def typed(frame: pl.DataFrame | None, types: dict[str, pl.DataType]) -> pl.DataFrame:
        if frame is None:
            needed = ["page", "rank", "doc"]
            return pl.DataFrame(schema={name: types[name] for name in needed})
        return frame.select(
            pl.col(name).cast(kind) for name, kind in types.items() if name in frame.columns
        )

    return QueryLog(
        typed(pages, PAGES),
        typed(results, RESULTS),
        typed(clicks, CLICKS),
        source=source,
        tells_clicks=clicks is not None,
    )
