"""Formatted tables, written as text, LaTeX, Markdown or HTML."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from os import PathLike
from typing import TYPE_CHECKING, Any

from cranfield.base.errors import PolicyError, check_list, import_optional, quote
from cranfield.base.files import open_atomically
from cranfield.base.text import (
    capitalise,
    escape_html,
    escape_latex,
    escape_markdown,
    inflect,
    measure_width,
    sanitise,
)

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = [
    "Cell",
    "Column",
    "Table",
    "format_interval",
    "render_frame",
    "tabulate_frame",
    "format_number",
    "format_pvalue",
    "align_rows",
]


@dataclass(frozen=True)
class Cell:
    """A cell of a table: text with an optional mark and style.

    Attributes
    ----------
    text
        The value as text; it is escaped.
    mark
        Superscript, such as a dagger or letters; in plain text it follows the text and a blank.
    bold, underline
        Style of the text; plain text has neither.
    latex, html
        Markup in place of the text, for formulas; it is not escaped.
    """

    text: str
    mark: str = ""
    bold: bool = False
    underline: bool = False
    latex: str = ""
    html: str = ""


NO_VALUE = Cell("-", latex="--", html="&ndash;")
"""The cell of a missing number."""


def as_cell(content: str | Cell) -> Cell:
    return content if isinstance(content, Cell) else Cell(content)


MAX_ROWS, MAX_COLUMNS = 20, 12
"""Maximum number of rows and of columns that notebooks show."""


@dataclass(frozen=True, repr=False)
class Table:
    """A formatted table, which notebooks show as HTML and `print` shows as text.

    Attributes
    ----------
    title
        Subject of the table, as a sentence without a full stop.
    head, rows
        Names of the columns, and rows of cells, as text or :class:`Cell`.
    left
        Indices of columns aligned to the left; other columns hold numbers and are aligned to the
        right.
    notes
        Notes for readers of the table, such as the meaning of its marks, as sentences without a
        full stop; part of the caption.
    remarks
        Notes for the author of the table; comments in LaTeX.
    rules
        Indices of rows with a horizontal rule above them.
    typeface_note
        Meaning of bold and underlined cells; omitted in plain text, which has neither.

    Raises
    ------
    PolicyError
        If the number of cells of a row differs from that of the head.

    Examples
    --------
    >>> from cranfield.tabular import Cell
    >>> table = Table("Two systems", ["system", "AP"], [["my_run", "0.5"], ["tf", Cell("0.25")]])
    >>> table
    Table('Two systems': 2 rows, 2 columns)
    >>> print(table)
    Two systems
    <BLANKLINE>
    system    AP
    my_run   0.5
    tf      0.25
    >>> print(table.to_markdown(), end="")
    Two systems.
    <BLANKLINE>
    | system | AP |
    | --- | ---: |
    | my_run | 0.5 |
    | tf | 0.25 |
    """

    title: str
    head: Sequence[str | Cell]
    rows: Sequence[Sequence[str | Cell]]
    left: Collection[int] = (0,)
    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()
    rules: Collection[int] = ()
    typeface_note: str = ""

    def __post_init__(self) -> None:
        for index, row in enumerate(self.rows, 1):
            if len(row) != len(self.head):
                expected = f"expected {inflect(len(self.head), 'cell')} as in the head"
                raise PolicyError(f"row {index}: {expected}, got {len(row)}")

    def to_cells(self) -> list[list[Cell]]:
        """Return the rows, with every text converted to a :class:`Cell`."""
        return [[as_cell(value) for value in row] for row in self.rows]

    def get_mark_widths(self) -> list[int]:
        """Return the width of the longest mark of each column."""
        rows = self.to_cells()
        return [max((len(row[k].mark) for row in rows), default=0) for k in range(len(self.head))]

    def describe(self, first_sentence: str | None = None) -> str:
        """Return the title and the notes as sentences, after an optional first sentence."""
        notes = map(capitalise, (self.typeface_note, *self.notes))
        parts = [first_sentence or "", self.title, *notes]
        return " ".join(part if part[-1] in ".?!" else f"{part}." for part in parts if part)

    def to_text(self, *, limit: int | None = None) -> str:
        """Return the table as text, with aligned columns and marks after the values.

        Parameters
        ----------
        limit
            Maximum number of rows; a last line reports the number of further rows.
        """
        notes = [*self.notes, *(f"note: {remark}" for remark in self.remarks)]
        grid = format_grid(replace(self, rows=self.rows[:limit]))
        if limit is not None and len(self.rows) > limit:
            grid += f"\n… {inflect(len(self.rows) - limit, 'more row')}"
        parts = [sanitise(self.title), grid, "\n".join(sanitise(note) for note in notes)]
        return "\n\n".join(part for part in parts if part)

    def to_latex(
        self, *, caption: bool | str | None = None, label: str | None = None, long: bool = False
    ) -> str:
        r"""Return the table in LaTeX, for the package booktabs; text is escaped.

        Parameters
        ----------
        caption
            Whether to write a caption with title and notes, in a `table` environment unless `long`;
            or a text with which the caption starts. By default only a table with a label has a
            caption. Without a caption, title and notes are comments above the table.
        label
            LaTeX label of the table, for `\ref`.
        long
            Whether the table may break across pages, as an environment of the package longtable.

        Raises
        ------
        PolicyError
            For an invalid label.

        Notes
        -----
        Numbers with the same number of decimals are aligned. Marks are in a separate column, so
        that they do not shift the numbers.
        """
        if label is not None and not LABEL.fullmatch(label):
            raise PolicyError(
                f"label must consist of ASCII letters, digits and : . _ / + @ -, got {quote(label)}"
            )
        # With caption=False there is no caption, even if there is a label.
        has_caption = bool(caption) or (label is not None and caption is None)
        notes = [] if has_caption else [self.title, self.typeface_note, *self.notes]
        comments = [f"% {escape_latex(line)}" for line in (*notes, *self.remarks) if line]
        caption_lines: list[str] = []
        if has_caption:
            caption_lines.append(_make_caption(self, caption if isinstance(caption, str) else None))
            if label is not None:
                caption_lines.append(rf"\label{{{label}}}")
        if long:
            lines = _format_longtable_lines(self, "".join(caption_lines))
        elif has_caption:
            begin = [r"\begin{table}", r"\centering", *caption_lines]
            lines = [*begin, *_format_tabular_lines(self), r"\end{table}"]
        else:
            lines = _format_tabular_lines(self)
        return "\n".join([*comments, *lines, ""])

    def to_markdown(self, *, has_title: bool = True) -> str:
        """Return the table in GitHub-flavoured Markdown; text is escaped.

        Parameters
        ----------
        has_title
            Whether title and notes precede the table.
        """
        description = self.describe() if has_title else ""
        parts = [escape_markdown(description)] if description else []
        alignments = ["---" if k in self.left else "---:" for k in range(len(self.head))]
        rows = [[_format_markdown_cell(cell) for cell in row] for row in self.to_cells()]
        lines = [[_format_markdown_cell(as_cell(name)) for name in self.head], alignments, *rows]
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
        parts += [f"Note: {escape_markdown(remark)}." for remark in self.remarks]
        return "\n\n".join(parts) + "\n"

    def to_html(self, *, limit: int | None = None) -> str:
        """Return the table in HTML with inline styles; text is escaped.

        Parameters
        ----------
        limit
            As for :meth:`to_text`.
        """
        rows = self.to_cells()
        first_rows = rows[:limit]
        widths = self.get_mark_widths()
        alignments = ["left" if k in self.left else "right" for k in range(len(self.head))]
        lines = [f'<table style="{TABLE_STYLE}">']
        if description := self.describe():
            lines.append(f'<caption style="{CAPTION_STYLE}">{escape_html(description)}</caption>')
        head = [
            f'<th scope="col" style="{CELL_STYLE}{alignment};border-bottom:1px solid">'
            f"{_format_html_cell(as_cell(name))}</th>"
            for name, alignment in zip(self.head, alignments, strict=True)
        ]
        lines += ["<thead>", f"<tr>{''.join(head)}</tr>", "</thead>", "<tbody>"]
        for index, row in enumerate(first_rows):
            style = RULE_STYLE if index in self.rules else ""
            cells = [
                f'<td style="{CELL_STYLE}{alignment}{style}">'
                f"{_format_html_cell(cell)}{_format_html_mark(cell, width)}</td>"
                for cell, alignment, width in zip(row, alignments, widths, strict=True)
            ]
            lines.append(f"<tr>{''.join(cells)}</tr>")
        if len(first_rows) < len(rows):
            text = f"… and {inflect(len(rows) - len(first_rows), 'more row')}"
            lines.append(
                f'<tr><td colspan="{len(alignments)}" style="{CELL_STYLE}left">{text}</td></tr>'
            )
        lines += ["</tbody>", "</table>"]
        lines += [
            f'<p style="{NOTE_STYLE}">Note: {escape_html(remark)}.</p>' for remark in self.remarks
        ]
        return "\n".join(lines) + "\n"

    def _repr_html_(self) -> str:
        return self.to_html(limit=MAX_ROWS)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        size = f"{inflect(len(self.rows), 'row')}, {inflect(len(self.head), 'column')}"
        return f"Table({self.title!r}: {size})"


def format_number(value: float | None, places: int = 4) -> str:
    """Format a number with fixed decimals, never as -0; return empty text for None and NaN."""
    if value is None or isnan(value):
        return ""
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def format_pvalue(p: float) -> str:
    """Format a p-value, in scientific notation if it is below 0.0001; NaN is `-`.

    Examples
    --------
    >>> format_pvalue(0.04321), format_pvalue(3.2e-12), format_pvalue(0.0)
    ('0.0432', '3e-12', '<1e-300')
    """
    if isnan(p):
        return "-"
    if p >= 0.0001:
        return f"{p:.4f}"
    return f"{p:.0e}" if p > 1e-300 else "<1e-300"


def format_interval(low: float | None, high: float | None, places: int = 4) -> str:
    """Format an interval as `low to high`; return empty text if a bound is missing."""
    bounds = format_number(low, places), format_number(high, places)
    return " to ".join(bounds) if all(bounds) else ""


@dataclass(frozen=True)
class Column:
    """A column of a table of results.

    Attributes
    ----------
    about
        Documentation: meaning of the values, their unit or range, and the meaning of null.
    decimals
        Number of decimals in formatted tables; data frames and files have unrounded values.
    percent
        Whether formatted tables show the value times 100, with a percent sign.
    is_pvalue
        Whether the values are p-values; formatted tables show small ones in scientific notation.
    key
        Whether the column identifies a row, such as the system.
    display
        Whether formatted tables have the column; data frames and files always have it.
    """

    about: str
    decimals: int = 4
    percent: bool = False
    is_pvalue: bool = False
    key: bool = False
    display: bool = True

    def format_value(self, value: Any) -> str:
        """Format a value as text; return empty text for null and NaN."""
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, float):
            if self.is_pvalue:
                return "" if isnan(value) else format_pvalue(value)
            text = format_number(100 * value if self.percent else value, self.decimals)
            return f"{text}%" if text and self.percent else text
        if isinstance(value, int):
            return f"{value:,}"
        return "" if value is None else str(value)


def tabulate_frame(
    frame: pl.DataFrame,
    title: str,
    *,
    left: Collection[str] | None = None,
    places: Mapping[str, int] | int = 4,
) -> Table:
    """Format a data frame as a table; `left` names the columns that are aligned to the left."""
    check_list("left", left)
    decimals = places if isinstance(places, Mapping) else dict.fromkeys(frame.columns, places)
    columns = {name: Column("", decimals.get(name, 4)) for name in frame.columns}
    return make_table(frame, title, columns, left)


def make_table(
    frame: pl.DataFrame,
    title: str,
    columns: Mapping[str, Column],
    left: Collection[str] | None = None,
) -> Table:
    """Format a data frame by its columns; by default only numbers are aligned to the right."""
    rows = [
        [columns[k].format_value(v) for k, v in zip(columns, row, strict=True)]
        for row in frame.rows()
    ]
    if left is None:
        left = [name for name, dtype in frame.schema.items() if not dtype.is_numeric()]
    return Table(title, frame.columns, rows, [frame.columns.index(name) for name in left])


def render_frame(frame: pl.DataFrame, title: str, *, limit: int = MAX_ROWS) -> str:
    """Return the first rows and columns of a data frame as HTML, with the number of others."""
    table = tabulate_frame(frame[:limit, :MAX_COLUMNS], title)
    # `to_html` only counts the rows beyond the limit.
    blank_rows = [[""] * len(table.head)] * (frame.height - limit)
    n_hidden = frame.width - MAX_COLUMNS
    notes = [f"{inflect(n_hidden, 'more column')} to the right"] if n_hidden > 0 else []
    return replace(table, rows=[*table.rows, *blank_rows], notes=notes).to_html(limit=limit)


class FrameMixin:
    """Mixin that converts an object with one table to data frames, files and notebook views."""

    def to_polars(self) -> pl.DataFrame:
        """Return the table as a polars data frame."""
        raise NotImplementedError

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of `to_polars` as a pandas data frame."""
        import_optional("pandas")
        return self.to_polars().to_pandas()

    def write_csv(self, path: str | PathLike[str]) -> None:
        """Write the table of `to_polars` as CSV."""
        with open_atomically(path) as file:
            self.to_polars().write_csv(file)

    def write_parquet(self, path: str | PathLike[str]) -> None:
        """Write the table of `to_polars` as Parquet."""
        with open_atomically(path) as file:
            self.to_polars().write_parquet(file)

    def _repr_html_(self) -> str:
        return render_frame(self.to_polars(), str(self).split("\n", 1)[0])


def align_rows(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Collection[int] = (0,),
    separator: str = "  ",
) -> str:
    """Return rows as text with aligned columns, and escape unprintable characters."""
    lines = [[sanitise(cell) for cell in row] for row in [head, *rows]]
    widths = [max(measure_width(line[k]) for line in lines) for k in range(len(head))]

    def align(cell: str, k: int) -> str:
        blanks = " " * (widths[k] - measure_width(cell))
        return cell + blanks if k in left else blanks + cell

    row_texts = (separator.join(align(cell, k) for k, cell in enumerate(line)) for line in lines)
    return "\n".join(row.rstrip() for row in row_texts)


def format_grid(table: Table) -> str:
    """Return head and rows as text; numbers stay aligned if marks follow them."""
    widths = table.get_mark_widths()
    rows = [
        [
            f"{cell.text} {cell.mark:<{width}}" if width else cell.text
            for cell, width in zip(row, widths, strict=True)
        ]
        for row in table.to_cells()
    ]
    head = [
        as_cell(name).text + " " * (width + 1 if width else 0)
        for name, width in zip(table.head, widths, strict=True)
    ]
    return align_rows(head, rows, left=table.left)


def _format_markdown_cell(cell: Cell) -> str:
    text = escape_markdown(cell.text)
    if cell.bold:
        text = f"**{text}**"
    if cell.underline:
        text = f"<ins>{text}</ins>"
    return f"{text}<sup>{escape_markdown(cell.mark)}</sup>" if cell.mark else text


# CSS styles have no colours, so that tables take those of the page, dark or light.
TABLE_STYLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:0.5em 0"
CAPTION_STYLE = "caption-side:top;text-align:left;padding:0 0 0.4em"
CELL_STYLE = "padding:0.15em 0.7em;border:0;text-align:"
RULE_STYLE = ";border-top:1px solid"
NOTE_STYLE = "font-size:smaller;margin:0.2em 0"


def _format_html_cell(cell: Cell) -> str:
    text = cell.html or escape_html(cell.text)
    if cell.bold:
        text = f"<b>{text}</b>"
    return f"<u>{text}</u>" if cell.underline else text


def _format_html_mark(cell: Cell, width: int) -> str:
    """Return a mark as superscript, in a box of the width of the column's longest mark."""
    if not width:
        return ""
    style = f"display:inline-block;min-width:{0.6 * width:.1f}em;text-align:left"
    return f'<sup style="{style}">{escape_html(cell.mark)}</sup>'


LABEL = re.compile(r"[A-Za-z0-9:._/+@-]+")
"""Pattern of a LaTeX label."""

NEGATIVE_NUMBER = re.compile(r"-[\d.][\d.,]*%?")
SCIENTIFIC_NUMBER = re.compile(r"(<?)(-?\d+(?:\.\d+)?)e([-+]?\d+)")


def _make_caption(table: Table, title: str | None) -> str:
    text = table.describe(title)
    title = table.title if title is None else title
    # The list of tables has only the title; braces protect its square brackets.
    option = f"[{{{escape_latex(title)}}}]" if title and text not in {title, f"{title}."} else ""
    return rf"\caption{option}{{{escape_latex(text)}}}"


def _format_tabular_lines(table: Table) -> list[str]:
    return [
        rf"\begin{{tabular}}{{{_format_column_specification(table)}}}",
        r"\toprule",
        _format_head_line(table),
        r"\midrule",
        *_format_body_lines(table),
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _format_longtable_lines(table: Table, caption: str) -> list[str]:
    n_columns = len(table.head) + sum(map(bool, table.get_mark_widths()))
    caption_lines = [caption + r"\\"] if caption else []
    head = [r"\toprule", _format_head_line(table), r"\midrule"]
    return [
        rf"\begin{{longtable}}{{{_format_column_specification(table)}}}",
        *[*caption_lines, *head, r"\endfirsthead"],
        *[*head, r"\endhead"],
        *[r"\midrule", rf"\multicolumn{{{n_columns}}}{{r}}{{continued on the next page}} \\"],
        r"\endfoot",
        r"\bottomrule",
        r"\endlastfoot",
        *_format_body_lines(table),
        r"\end{longtable}",
    ]


def _format_column_specification(table: Table) -> str:
    # Marks have a column of their own, without space before it.
    return "".join(
        ("l" if k in table.left else "r") + ("@{}l" if width else "")
        for k, width in enumerate(table.get_mark_widths())
    )


def _format_head_line(table: Table) -> str:
    cells = []
    for name, width in zip(table.head, table.get_mark_widths(), strict=True):
        text = _format_latex_cell(as_cell(name), is_number=False)
        cells.append(rf"\multicolumn{{2}}{{c}}{{{text}}}" if width else text)
    return _join_cells(cells)


def _format_body_lines(table: Table) -> list[str]:
    widths = table.get_mark_widths()
    lines = []
    for index, row in enumerate(table.to_cells()):
        cells = []
        for k, cell in enumerate(row):
            cells.append(_format_latex_cell(cell, is_number=k not in table.left))
            if widths[k]:
                cells.append(rf"\textsuperscript{{{escape_latex(cell.mark)}}}" if cell.mark else "")
        lines += [r"\midrule"] * (index in table.rules) + [_join_cells(cells)]
    return lines


def _join_cells(cells: list[str]) -> str:
    # LaTeX would parse these characters as arguments of the line break or rule above.
    guard = "{}" if cells[0][:1] in {"[", "*"} else ""
    return guard + " & ".join(cells) + r" \\"


def _format_latex_cell(cell: Cell, *, is_number: bool) -> str:
    text = cell.latex or (_format_latex_number(cell.text) if is_number else escape_latex(cell.text))
    if cell.bold:
        text = rf"\textbf{{{text}}}"
    return rf"\underline{{{text}}}" if cell.underline else text


def _format_latex_number(text: str) -> str:
    r"""Return a number in LaTeX, with a minus sign instead of a hyphen, and with powers of ten."""
    match = SCIENTIFIC_NUMBER.fullmatch(text)
    if match is not None:
        bound, digits, exponent = match.groups()
        start = "" if digits == "1" else rf"{digits}\cdot "
        return rf"${bound}{start}10^{{{int(exponent)}}}$"
    return f"$-${escape_latex(text[1:])}" if NEGATIVE_NUMBER.fullmatch(text) else escape_latex(text)
