"""Data frames as tables."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import isnan
from typing import TYPE_CHECKING, Any

from cranfield.base.errors import optional_module
from cranfield.base.showing import Hinting
from cranfield.base.words import counted
from cranfield.tabular.table import SHOWN, Table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


def number(value: float | None, places: int = 4) -> str:
    """Write a number; what is none is empty, and what is rounded to nothing has no sign."""
    if value is None or isnan(value):
        return ""
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def between(low: float | None, high: float | None, places: int = 4) -> str:
    """Write two limits; what are none are empty."""
    ends = number(low, places), number(high, places)
    return " to ".join(ends) if all(ends) else ""


def from_frame(
    frame: pl.DataFrame,
    title: str,
    *,
    left: Collection[str] | None = None,
    places: Mapping[str, int] | int = 4,
) -> Table:
    """Show a data frame as it is; `left` names columns that hold no numbers."""
    if left is None:
        left = [one for one, kind in frame.schema.items() if not kind.is_numeric()]

    def cell(name: str, value: Any) -> str:
        if isinstance(value, float):
            decimals = places.get(name, 4) if isinstance(places, Mapping) else places
            return number(value, decimals)
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)

    rows = [[cell(k, v) for k, v in zip(frame.columns, row, strict=True)] for row in frame.rows()]
    return Table(title, frame.columns, rows, [frame.columns.index(name) for name in left])


def frame_html(frame: pl.DataFrame, title: str, *, limit: int = SHOWN, columns: int = 12) -> str:
    """Show the start of a data frame in a notebook, and how much there is besides."""
    shown = from_frame(frame[:limit, :columns], title)
    # The rows beyond the limit are counted, not made.
    rest = [[""] * len(shown.head)] * (frame.height - limit)
    beyond = frame.width - columns
    notes = [f"{counted(beyond, 'more column')} to the right"] if beyond > 0 else []
    whole = Table(title, shown.head, [*shown.rows, *rest], shown.left, notes)
    return whole.to_html(limit=limit)


class Framed(Hinting):
    """What has a table: as a pandas data frame, and in a notebook below its first line."""

    def to_polars(self) -> pl.DataFrame:
        """Return the table."""
        raise NotImplementedError

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of `to_polars` as a pandas data frame."""
        optional_module("pandas")
        return self.to_polars().to_pandas()

    def _repr_html_(self) -> str:
        return frame_html(self.to_polars(), str(self).split("\n", 1)[0])
