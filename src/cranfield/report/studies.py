"""Studies as text: tables for the eye, Markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cranfield import __version__
from cranfield.errors import PolicyError, quoted
from cranfield.escape import latex
from cranfield.tabular import latex_table, text_table

SHOWN = 10
"""Rows that are shown of tables of teams and systems; the data frames have all."""


@dataclass(frozen=True)
class Table:
    """A table as it is shown.

    Attributes
    ----------
    title
        What it shows, as a sentence without a full stop.
    head, rows
        Names of columns, and cells as text.
    left
        Columns aligned to the left.
    """

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    left: Sequence[int] = (0,)


@dataclass(frozen=True)
class StudyText:
    """What a study has to say.

    Attributes
    ----------
    heading
        Lines on what was done.
    tables
        What people read.
    frames
        What programs read: by name, a table and the names of its columns that say what a row is of.
    about
        Options and sizes, for JSON.
    """

    heading: Sequence[str]
    tables: Sequence[Table]
    frames: Mapping[str, tuple[pl.DataFrame, Sequence[str]]]
    about: Mapping[str, Any] = field(default_factory=dict)


def number(value: float | None, places: int = 4) -> str:
    """Write a number; what is none is empty."""
    if value is None or math.isnan(value):
        return ""
    text = f"{value:.{places}f}"
    # What is rounded to nothing has no sign.
    return text.removeprefix("-") if float(text) == 0 else text


def by_column(
    frame: pl.DataFrame, title: str, *, left: Sequence[str], places: Mapping[str, int] | int = 4
) -> Table:
    """Show a data frame as it is.

    Parameters
    ----------
    frame
        The table.
    title
        Its title.
    left
        Columns aligned to the left.
    places
        Decimals of all columns that are no whole numbers, or by column.
    """

    def cell(name: str, value: Any) -> str:
        if isinstance(value, float):
            return number(value, places if isinstance(places, int) else places.get(name, 4))
        if isinstance(value, bool):
            return "yes" if value else "no"
        return f"{value:,}" if isinstance(value, int) else "" if value is None else str(value)

    rows = [[cell(k, v) for k, v in row.items()] for row in frame.to_dicts()]
    return Table(title, frame.columns, rows, [frame.columns.index(name) for name in left])


def first_rows(
    frame: pl.DataFrame, title: str, *, left: Sequence[str], places: Mapping[str, int] | int = 4
) -> Table:
    """Show the first rows as :func:`by_column` does, and say how many there are."""
    more = "" if len(frame) <= SHOWN else f"; {SHOWN} of {len(frame):,}"
    return by_column(frame.head(SHOWN), f"{title}{more}", left=left, places=places)


def plain_text(study: StudyText) -> str:
    """Write the tables for the eye."""
    parts = ["\n".join(study.heading)] if study.heading else []
    for table in study.tables:
        parts.append(f"{table.title}\n\n{text_table(table.head, table.rows, left=table.left)}")
    return "\n\n".join(parts) + "\n"


def markdown(study: StudyText) -> str:
    """Write the tables in Markdown."""
    parts = []
    for table in study.tables:
        marks = ["---" if k in table.left else "---:" for k in range(len(table.head))]
        lines = [f"### {table.title}", "", _row(table.head), _row(marks)]
        parts.append("\n".join([*lines, *(_row(row) for row in table.rows)]))
    return "\n\n".join(parts) + "\n"


def _row(cells: Sequence[str]) -> str:
    # Text from files is no markup; entities and escapes keep it as it is.
    safe = (cell.replace("|", r"\|").replace("<", "&lt;").replace("\n", " ") for cell in cells)
    return "| " + " | ".join(safe) + " |"


def latex_text(study: StudyText) -> str:
    """Write booktabs tables, each with its title in a comment above it."""
    parts = ["".join(f"% {latex(line)}\n" for line in study.heading)] if study.heading else []
    for table in study.tables:
        parts.append(f"% {latex(table.title)}\n")
        parts.append(latex_table(table.head, table.rows, left=table.left))
    return "".join(parts)


def csv_text(study: StudyText) -> str:
    """Write CSV: the table, where there is one; else a row a number, of all tables."""
    out = io.BytesIO()
    if len(study.frames) == 1:
        [(frame, _)] = study.frames.values()
        frame.write_csv(out)
        return out.getvalue().decode()
    long = []
    for name, (frame, keys) in study.frames.items():
        values = [one for one in frame.columns if one not in keys]
        long.append(
            frame.with_columns(pl.col(values).cast(pl.Float64, strict=False))
            .unpivot(index=list(keys), on=values)
            .select(
                pl.lit(name).alias("table"),
                # A key that does not apply, such as the depth of all judgments, is empty.
                pl.concat_str(pl.col(keys).cast(pl.String).fill_null(""), separator=", ").alias(
                    "of"
                ),
                pl.col("variable").alias("what"),
                pl.col("value"),
            )
        )
    pl.concat(long).write_csv(out)
    return out.getvalue().decode()


def json_text(study: StudyText) -> str:
    """JSON with the tables as lists of rows; no number is null."""
    frames = {name: _rows(frame) for name, (frame, _) in study.frames.items()}
    content = {"cranfield": __version__, **study.about, **frames}
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    floats = pl.selectors.float()
    known = frame.with_columns(pl.when(floats.is_finite()).then(floats).otherwise(None).name.keep())
    return known.to_dicts()


WRITERS: dict[str, Callable[[StudyText], str]] = {
    "text": plain_text,
    "markdown": markdown,
    "latex": latex_text,
    "csv": csv_text,
    "json": json_text,
}
"""How a study can be written."""


def written(study: StudyText, format: str, table: str | None = None) -> str:
    """Write a study.

    Parameters
    ----------
    study
        What it has to say.
    format
        A key of :data:`WRITERS`.
    table
        The one table that is wanted, by its name; by default all.

    Raises
    ------
    PolicyError
        When there is no such table.
    """
    if table is not None:
        if table not in study.frames:
            names = ", ".join(study.frames)
            raise PolicyError(f"the study has no table {quoted(table)}; there are {names}")
        frame, keys = study.frames[table]
        shown = by_column(frame, table, left=keys)
        study = StudyText(study.heading, [shown], {table: (frame, keys)}, study.about)
    return WRITERS[format](study)
