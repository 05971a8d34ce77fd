"""Studies as text: tables for the eye, Markdown, LaTeX, HTML, CSV and JSON."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.escape import html, latex
from cranfield.base.escape import markdown as safe
from cranfield.base.version import __version__
from cranfield.tabular import Table, from_frame, number
from cranfield.tabular.html import SMALL
from cranfield.tabular.table import SHOWN

FEW = 10
"""Rows that are shown of tables of teams and systems; the data frames have all."""


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

    def _repr_html_(self) -> str:
        return html_text(self, limit=SHOWN)


by_column = from_frame
"""Shows a data frame as it is."""

__all__ = [
    "WRITERS",
    "StudyText",
    "Table",
    "by_column",
    "check_table",
    "first_rows",
    "number",
    "written",
]


def first_rows(
    frame: pl.DataFrame, title: str, *, left: Sequence[str], places: Mapping[str, int] | int = 4
) -> Table:
    """Show the first rows as :func:`by_column` does, and say how many there are."""
    more = "" if len(frame) <= FEW else f"; {FEW} of {len(frame):,}"
    return by_column(frame.head(FEW), f"{title}{more}", left=left, places=places)


def plain_text(study: StudyText) -> str:
    """Write the tables for the eye."""
    parts = ["\n".join(study.heading)] if study.heading else []
    return "\n\n".join([*parts, *(table.to_text() for table in study.tables)]) + "\n"


def markdown(study: StudyText) -> str:
    """Write the tables in Markdown."""
    parts = [f"{safe(line)}\n" for line in study.heading]
    for table in study.tables:
        parts.append(f"### {safe(table.title)}\n\n{table.to_markdown(title=False)}")
    return "\n".join(parts)


def latex_text(study: StudyText) -> str:
    """Write booktabs tables, each with its title as caption."""
    heading = "".join(f"% {latex(line)}\n" for line in study.heading)
    return heading + "\n".join(table.to_latex(caption=True) for table in study.tables)


def html_text(study: StudyText, limit: int | None = None) -> str:
    """Write the tables in HTML, for a notebook or a page."""
    heading = [f'<p style="{SMALL}">{html(line)}</p>\n' for line in study.heading]
    return "".join([*heading, *(table.to_html(limit=limit) for table in study.tables)])


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
    "html": html_text,
    "csv": csv_text,
    "json": json_text,
}
"""How a study can be written."""


def check_table(table: str, names: Iterable[str]) -> None:
    """Refuse a table that is none of those of a study.

    Raises
    ------
    PolicyError
        When there is no such table.
    """
    known = list(names)
    if table not in known:
        there = ", ".join(known)
        raise PolicyError(f"the study has no table {quoted(table)}; there are {there}")


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
        check_table(table, study.frames)
        frame, keys = study.frames[table]
        shown = by_column(frame, table, left=keys)
        study = StudyText(study.heading, [shown], {table: (frame, keys)}, study.about)
    return WRITERS[format](study)
