"""Results: tables with declared columns, a heading and notes.

A class of results declares its columns once, with their documentation, their decimals and whether
they identify a row. Text, notebook views, CSV, JSON, LaTeX, Markdown, HTML, the tables of
commands and the section "Columns" of the documentation follow from that.
"""

from __future__ import annotations

import io
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any, ClassVar, Self

from cranfield.base.errors import PolicyError, import_optional, quote
from cranfield.base.showing import PlotsMixin
from cranfield.base.text import (
    escape_html,
    escape_latex,
    escape_markdown,
    format_json,
    inflect,
    sanitise,
)
from cranfield.base.version import __version__
from cranfield.tabular import MAX_ROWS, NOTE_STYLE, Column, Table, make_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from numpy.typing import NDArray

__all__ = ["Column", "Result", "ResultSet", "TableResult", "combine_results"]

MAX_LINES = 100
"""Maximum number of rows of formatted tables, except those that are selected by name."""

ALL = "all"
"""Name that selects all formatted tables, not only the first one of each kind of result."""

UNDECLARED_COLUMN = Column("")
"""Column without a declaration."""

Columns = Mapping[str, Column]
"""Columns by name, in order. The name "*" declares all columns that are not declared by name."""


def declare_bounds(interval: str, note: str = "", *, prefix: str = "") -> dict[str, Column]:
    """Declare the columns `low` and `high` of an interval; `prefix` precedes their names."""
    return {
        f"{prefix}low": Column(f"Lower bound of the {interval}{note}."),
        f"{prefix}high": Column(f"Upper bound of the {interval}."),
    }


class Result(PlotsMixin):
    """Base class of results.

    Fields of a subclass, usually a frozen dataclass, hold the settings and the values that are not
    columns of a table; its class attributes declare its tables:

    columns
        The columns of the table; for several tables, a mapping of table names to columns.
    name
        The name of the study; for a result of another kind, the name of its table.
    reference
        The paper that introduced the study, as :func:`cranfield.cite` reads it; empty for other
        results.
    titles
        Titles of the formatted tables by table name; a table without a title is only a data frame.
        By default all tables are formatted, and if there are several, their names are the titles.
    nulls
        Text that replaces null in formatted tables, by column.

    A subclass implements :meth:`heading`. It also implements `_frame` if it has one table, and
    :meth:`frames` if it has several. :class:`TableResult` implements `_frame` for results whose
    values are the columns of one table.
    """

    name: ClassVar[str] = "rows"
    reference: ClassVar[str] = ""
    columns: ClassVar[Mapping[str, Any]] = {}
    titles: ClassVar[Mapping[str, str]] = {}
    nulls: ClassVar[Mapping[str, str]] = {}
    _has_empty_tables: ClassVar[bool] = True  # whether to format empty tables if there are several

    def __init_subclass__(cls) -> None:
        # An inherited docstring does not describe the columns of this class.
        if cls.__doc__ and cls.__dict__.get("columns"):
            cls.__doc__ = f"{cls.__doc__.rstrip()}\n\n{format_columns_section(cls)}"

    @classmethod
    def get_columns(cls) -> dict[str, Columns]:
        """Return the declared columns of each table, by table name."""
        if all(isinstance(column, Column) for column in cls.columns.values()):
            return {cls.name: cls.columns}
        return dict(cls.columns)

    @classmethod
    def get_keys(cls, table: str) -> list[str]:
        """Return the names of the columns that identify a row of a table."""
        return [name for name, column in cls.get_columns()[table].items() if column.key]

    def frames(self) -> dict[str, pl.DataFrame]:
        """Return all tables as data frames, by name; the first one is the main table."""
        return {self.name: self._frame()}

    def _frame(self) -> pl.DataFrame:
        """Return the only table of a result."""
        raise NotImplementedError

    def facts(self) -> dict[str, Any]:
        """Return settings and sizes by name; in JSON output they precede the tables."""
        if not is_dataclass(self):
            return {}
        names = [field.name for field in fields(self) if not field.name.startswith("_")]
        values = {name: getattr(self, name) for name in names}
        study = {"study": self.name} if self.reference else {}
        return {**study, **{k: v for k, v in values.items() if k != "notes" and is_fact(v)}}

    def heading(self) -> list[str]:
        """Return lines that describe the analysis; `repr` shows only the first line."""
        return []

    def format_notes(self) -> list[str]:
        """Return one line per note; notes of a result for one measure name that measure."""
        measure = getattr(self, "measure", "")
        # Several results may be printed together, so each note names the measure of its result.
        # (If `measure` is a column, it is an array.)
        label = f"{measure}: " if isinstance(measure, str) and measure else ""
        notes = getattr(self, "notes", ())
        return [f"note: {label if label and measure not in note else ''}{note}" for note in notes]

    @property
    def verdict(self) -> str | tuple[str, ...]:
        """The conclusion, in one or more sentences; empty if the result has no conclusion."""
        return ()

    def tables(self) -> list[Table]:
        """Return the formatted tables."""
        return self._format_tables([self])

    @classmethod
    def concatenate_tables(cls, results: Sequence[Self]) -> list[Table]:
        """Return formatted tables, concatenated by name unless the class implements `tables`."""
        if cls.tables is not Result.tables:
            return [table for result in results for table in result.tables()]
        return cls._format_tables(results)

    @classmethod
    def _format_tables(cls, results: Sequence[Self]) -> list[Table]:
        import polars as pl

        frames = [result.frames() for result in results]
        columns_by_table = cls.get_columns()
        titles = cls.titles or {name: name if len(frames[0]) > 1 else "" for name in frames[0]}
        tables = []
        for name, title in titles.items():
            parts = [by_name[name] for by_name in frames if name in by_name]
            if cls._has_empty_tables or len(titles) == 1 or any(part.height for part in parts):
                frame = pl.concat(parts).with_columns(
                    pl.col(column).cast(pl.String).fill_null(text)
                    for column, text in cls.nulls.items()
                    if column in columns_by_table[name]
                )
                tables.append(format_table(frame, title, columns_by_table[name]))
        return tables

    def as_table(self, **options: Any) -> Table:
        """Return the main formatted table, with the heading and the notes of the result.

        Parameters
        ----------
        options
            Options of :meth:`tables` of the subclass.
        """
        table = self.tables(**options)[0]
        lines = self.heading()
        title = table.title or "".join(lines[:1])
        notes = [*(lines if table.title else lines[1:]), *table.notes]
        remarks = [*table.remarks, *(line.removeprefix("note: ") for line in self.format_notes())]
        return replace(table, title=title, notes=notes, remarks=remarks)

    def to_polars(self, table: str | None = None) -> pl.DataFrame:
        """Return a table as a polars data frame, with unrounded values.

        Parameters
        ----------
        table
            Name of the table; by default the main one.
        """
        frames = self.frames()
        name = next(iter(frames)) if table is None else table
        if name not in frames:
            raise _make_unknown_table_error(name, frames)
        return frames[name]

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """Return a table as a pandas data frame; see :meth:`to_polars` for the parameter."""
        import_optional("pandas")
        return self.to_polars(table).to_pandas()

    def to_csv(self, table: str | None = None) -> str:
        """Return a table as CSV, with unrounded values; see :meth:`to_polars`."""
        return self.to_polars(table).write_csv()

    def to_json(self) -> str:
        """Return notes, facts, conclusion and all tables as JSON; NaN and infinity become null."""
        return combine_results(self).write("json")

    def to_latex(
        self, *, caption: bool | str | None = None, label: str | None = None, long: bool = False
    ) -> str:
        """Return the formatted tables in LaTeX, for the package booktabs.

        See :meth:`cranfield.tabular.Table.to_latex` for the parameters.
        """
        tables = self.tables()
        if label is not None and len(tables) > 1:
            raise PolicyError(f"label requires a result with one table, got {len(tables)} tables")
        if len(tables) == 1:
            tables = [self.as_table()]
        return "\n".join(
            table.to_latex(caption=caption, label=label, long=long) for table in tables
        )

    def to_markdown(self) -> str:
        """Return conclusion, heading, notes and formatted tables in Markdown."""
        return combine_results(self).write("markdown")

    def to_html(self) -> str:
        """Return conclusion, heading, notes and formatted tables in HTML."""
        return combine_results(self).write("html")

    def _repr_html_(self) -> str:
        lines = [*self.heading(), *self.format_notes()]
        heading = "".join(f'<p style="{NOTE_STYLE}">{escape_html(line)}</p>\n' for line in lines)
        return heading + "".join(table.to_html(limit=MAX_ROWS) for table in self.tables()[:1])

    def __str__(self) -> str:
        results = combine_results(self)
        lines = [
            "\n".join(map(sanitise, part)) for part in (results.verdict, results.heading) if part
        ]
        return "\n\n".join([*lines, *(table.to_text(limit=MAX_LINES) for table in results.tables)])

    def __repr__(self) -> str:
        lines = self.heading() or [inflect(self.to_polars().height, "row")]
        return f"{type(self).__name__}({lines[0]})"


@dataclass(frozen=True, eq=False, repr=False)
class TableResult(Result):
    """A result whose values are the columns of one table.

    Columns are also attributes (`_` for blanks): NumPy arrays, in which a missing number is NaN.

    Attributes
    ----------
    rows
        The table.
    """

    rows: pl.DataFrame

    def __post_init__(self) -> None:
        names = [name for name in self.rows.columns if name not in self.columns]
        if names and "*" not in self.columns:
            raise PolicyError(f"{type(self).__name__} has undeclared columns {', '.join(names)}")

    def _frame(self) -> pl.DataFrame:
        return self.rows

    def __getattr__(self, name: str) -> NDArray[Any]:
        column = name if name in self.columns else name.replace("_", " ")
        if name != "rows" and column in self.rows.columns:
            return self.rows[column].to_numpy()
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(name.replace(" ", "_") for name in self.rows.columns)]


def is_fact(value: Any) -> bool:
    """Return True for str, int, float, bool, None, and lists and tuples of such values."""
    if isinstance(value, (tuple, list)):
        return all(map(is_fact, value))
    return value is None or isinstance(value, (str, int, float))


def _make_unknown_table_error(table: str, names: Iterable[str]) -> PolicyError:
    return PolicyError(f"unknown table {quote(table)}; expected one of: {', '.join(names)}")


def format_columns_section(result_class: type[Result]) -> str:
    """Format the declared columns as the section "Columns" of a docstring."""
    columns_by_table = result_class.get_columns()
    lines = ["    Columns", "    -------"]
    for table, columns in columns_by_table.items():
        for name, column in columns.items():
            label = name if len(columns_by_table) == 1 else f"{table}: {name}"
            lines += [f"    {label}", textwrap.indent(textwrap.fill(column.about, 88), " " * 8)]
    return "\n".join(lines) + "\n    "


def format_table(frame: pl.DataFrame, title: str, columns: Columns) -> Table:
    """Format a data frame as a table, with the declared decimals of its columns.

    A long frame is cut to its first rows; the title then reports the total number of rows.
    """
    all_columns = {
        name: columns.get(name) or columns.get("*") or UNDECLARED_COLUMN for name in frame.columns
    }
    # An empty key, such as the measure of scores without a name, distinguishes no rows.
    table_columns = {
        name: column
        for name, column in all_columns.items()
        if column.display and not (column.key and set(frame[name]) == {""})
    }
    if frame.height > MAX_LINES:
        title = f"{title}; " if title else ""
        title += f"{MAX_LINES} of {frame.height:,} rows"
    return make_table(frame.head(MAX_LINES).select(*table_columns), title, table_columns)


@dataclass(frozen=True)
class ResultSet:
    """One or more results, combined for output.

    Attributes
    ----------
    heading
        Lines that describe the analyses, and notes.
    tables
        All formatted tables.
    frames
        A data frame and the names of the columns that identify its rows, by table name.
    facts
        Settings and sizes.
    verdict
        The conclusion of each result that has one.
    main_tables
        The tables to show as text, usually the first of each kind of result; if empty, all tables.
    is_verdict_last
        Whether the conclusion is at the end of the text instead of at its beginning.
    columns, titles
        Declared columns and titles of the data frames, by table name.
    """

    heading: Sequence[str]
    tables: Sequence[Table]
    frames: Mapping[str, tuple[pl.DataFrame, Sequence[str]]]
    facts: Mapping[str, Any]
    verdict: Sequence[str] = ()
    main_tables: Sequence[Table] = ()
    is_verdict_last: bool = False
    columns: Mapping[str, Columns] = field(default_factory=dict)
    titles: Mapping[str, str] = field(default_factory=dict)

    def write(self, format: str, table: str | None = None) -> str:
        """Return the results as text in a format.

        Parameters
        ----------
        format
            Name of the format: a key of :data:`WRITERS`.
        table
            Name of a data frame, to write only this one; or `all`, for text with all formatted
            tables instead of one of each kind of result.
        """
        results = self
        if table == ALL:
            results = replace(self, main_tables=self.tables)
        elif table is not None:
            check_table(table, self.frames)
            frame, keys = self.frames[table]
            declared_columns = self.columns.get(table, {})
            columns = {name: declared_columns.get(name, Column("")) for name in frame.columns}
            tables = [make_table(frame, self.titles.get(table, table), columns, keys)]
            results = replace(self, tables=tables, frames={table: (frame, keys)}, main_tables=())
        return WRITERS[format](results)

    def split_verdict(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the conclusion as lines before the heading and lines at the end."""
        return ((), self.verdict) if self.is_verdict_last else (self.verdict, ())


def combine_results(
    *results: Result, notes: Iterable[str] = (), separates_facts: bool = False, **facts: Any
) -> ResultSet:
    """Combine results: concatenate data frames by name; omit lines that earlier lines contain.

    Parameters
    ----------
    results
        The results, in order.
    notes
        Additional lines of the heading.
    separates_facts
        Whether to keep the facts of each result apart, in a list `studies`; by default the last
        of several facts with the same name is kept, and several measures become a list `measures`.
    facts
        Additional facts.
    """
    import polars as pl

    heading: list[str] = []
    frames: dict[str, tuple[pl.DataFrame, Sequence[str]]] = {}
    columns: dict[str, Columns] = {}
    titles: dict[str, str] = {}
    for result in results:
        titles |= result.titles
        lines = [*result.heading(), *result.format_notes()]
        heading += [line for line in lines if not any(line in text for text in heading)]
        for name, frame in result.frames().items():
            earlier_frames = [frames[name][0]] if name in frames else []
            keys = [key for key in result.get_keys(name) if key in frame.columns]
            frames[name] = pl.concat([*earlier_frames, frame]), keys
            columns[name] = result.get_columns()[name]
    tables: list[Table] = []
    main_tables: list[Table] = []
    for _, group in groupby(results, type):
        members = list(group)
        group_tables = members[0].concatenate_tables(members)
        main_tables += group_tables[:1]
        tables += group_tables
    fact_list = [result.facts() for result in results]
    all_facts = (
        {"studies": fact_list}
        if separates_facts
        else {k: v for item in fact_list for k, v in item.items()}
    )
    measures = list(dict.fromkeys(item["measure"] for item in fact_list if "measure" in item))
    if not separates_facts and len(measures) > 1:
        del all_facts["measure"]
        all_facts["measures"] = measures
    verdicts = [(v,) if isinstance(v, str) else v for v in (result.verdict for result in results)]
    verdict = [" ".join(sentences) for sentences in verdicts if any(sentences)]
    return ResultSet(
        [*heading, *notes],
        tables,
        frames,
        {**all_facts, **facts},
        verdict,
        main_tables,
        columns=columns,
        titles=titles,
    )


def check_table(table: str, names: Iterable[str]) -> None:
    """Check that a table name is one of the names, or `all`."""
    names = [*names, ALL]
    if table not in names:
        raise _make_unknown_table_error(table, names)


def _write_text(results: ResultSet) -> str:
    first_lines, last_lines = results.split_verdict()
    parts = ["\n".join(map(sanitise, part)) for part in (first_lines, results.heading) if part]
    tables = results.main_tables or results.tables
    hints = []
    if len(tables) < len(results.tables):
        more_tables = inflect(len(results.tables) - len(tables), "more table")
        hints.append(f"to show {more_tables}, use --table {ALL}")
    if tables and len(results.frames) > 1:
        hints.append(f"for one complete table, use --table with: {', '.join(results.frames)}")
    end = ["\n".join(lines) for lines in (hints, list(map(sanitise, last_lines))) if lines]
    return "\n\n".join([*parts, *(table.to_text() for table in tables), *end]) + "\n"


def _write_markdown(results: ResultSet) -> str:
    first_lines, last_lines = results.split_verdict()
    parts = [f"{escape_markdown(line)}\n" for line in (*first_lines, *results.heading)]
    for table in results.tables:
        title = f"### {escape_markdown(table.title)}\n\n" if table.title else ""
        parts.append(f"{title}{table.to_markdown(has_title=False)}")
    return "\n".join([*parts, *(f"{escape_markdown(line)}\n" for line in last_lines)])


def _write_latex(results: ResultSet) -> str:
    first_lines, last_lines = results.split_verdict()
    heading = "".join(f"% {escape_latex(line)}\n" for line in (*first_lines, *results.heading))
    end = "".join(f"% {escape_latex(line)}\n" for line in last_lines)
    # Without a title there is no caption, and notes become comments.
    tables = (table.to_latex(caption=bool(table.title) or None) for table in results.tables)
    return heading + "\n".join(tables) + end


def _write_html(results: ResultSet) -> str:
    first_lines, last_lines = results.split_verdict()
    heading = [f"<p>{escape_html(line)}</p>\n" for line in first_lines]
    heading += [f'<p style="{NOTE_STYLE}">{escape_html(line)}</p>\n' for line in results.heading]
    end = [f"<p>{escape_html(line)}</p>\n" for line in last_lines]
    return "".join([*heading, *(table.to_html() for table in results.tables), *end])


def _write_csv(results: ResultSet) -> str:
    """Return a single table unchanged, and several as a table: table, row (keys), column, value."""
    import polars as pl
    import polars.selectors as cs

    buffer = io.BytesIO()
    if len(results.frames) == 1:
        [(frame, _)] = results.frames.values()
        frame.write_csv(buffer)
        return buffer.getvalue().decode()
    long_frames = []
    for name, (frame, keys) in results.frames.items():
        values = [column for column in frame.columns if column not in keys]
        long_frames.append(
            frame.with_columns((cs.numeric() & cs.by_name(values)).cast(pl.Float64))
            .with_columns(pl.col(values).cast(pl.String))
            # Parentheses, because a column of the table may itself be named `value`.
            .unpivot(values, index=list(keys), variable_name="(column)", value_name="(value)")
            .select(
                pl.lit(name).alias("table"),
                # A key may be null, such as the depth of all judgments.
                row=pl.concat_str(pl.col(keys).cast(pl.String).fill_null(""), separator=", "),
                column="(column)",
                value="(value)",
            )
        )
    pl.concat(long_frames).write_csv(buffer)
    return buffer.getvalue().decode()


def _write_json(results: ResultSet) -> str:
    frames = {name: frame.to_dicts() for name, (frame, _) in results.frames.items()}
    verdict = {"verdict": list(results.verdict)} if results.verdict else {}
    notes = [line.removeprefix("note: ") for line in results.heading if line.startswith("note: ")]
    remarks = {"notes": notes} if notes else {}
    return format_json({"cranfield": __version__, **remarks, **results.facts, **verdict, **frames})


WRITERS: dict[str, Callable[[ResultSet], str]] = {
    "text": _write_text,
    "markdown": _write_markdown,
    "latex": _write_latex,
    "html": _write_html,
    "csv": _write_csv,
    "json": _write_json,
}
"""Functions that write results, by name of format."""
