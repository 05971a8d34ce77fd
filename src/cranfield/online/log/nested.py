"""Pages with their results and clicks in lists: one table, a row a page."""

from __future__ import annotations

from typing import Any

import polars as pl


def unnested(pages: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame | None, pl.DataFrame | None]:
    """Take pages, their results and their clicks apart, each with the id of its page."""

    def part(name: str) -> pl.DataFrame | None:
        if name not in pages.columns:
            return None
        listed = pages.select(pl.col("id").alias("page"), name).explode(name, empty_as_null=False)
        return listed.drop_nulls(name).unnest(name)

    own: list[Any] = [name for name in pages.columns if name not in {"results", "clicks"}]
    return pages.select(own), part("results"), part("clicks")
