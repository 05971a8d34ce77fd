"""Tables: one object for what people read, written as text, LaTeX, Markdown or HTML."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Any

from cranfield.base.errors import PolicyError, check_several, optional_module, quoted
from cranfield.base.text import capitalised, counted, html, latex, markdown, plain

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


@dataclass(frozen=True)
class Cell:
    """A cell that is more than text; each writer shows it in its own way.

    Attributes
    ----------
    text
        What stands in it; writers escape it.
    mark
        What is raised behind it, such as a dagger or letters.
    bold, underline
        How it is set; plain text shows neither.
    latex, html
        Markup of that language in place of the text, for formulas; it is not escaped.
    """

    text: str
    mark: str = ""
    bold: bool = False
    underline: bool = False
    latex: str = ""
    html: str = ""


NO_VALUE = Cell("-", latex="--", html="&ndash;")
"""Where there is no number."""


def as_cell(content: str | Cell) -> Cell:
    return content if isinstance(content, Cell) else Cell(content)


@dataclass(frozen=True, repr=False)
class Content:
    """What a table shows; :class:`~cranfield.tabular.Table` is this with ways to write it.

    Attributes
    ----------
    title
        What it shows, as a sentence without a full stop.
    head, rows
        Names of columns, and cells, as text or :class:`Cell`.
    left
        Columns aligned to the left; the others hold numbers and are aligned to the right.
    notes
        What a reader of the table has to know, such as what its marks mean: sentences without a
        full stop, part of the caption.
    remarks
        What else its author should know. In LaTeX these are comments.
    rules
        Rows above which there is a rule.
    faces
        What bold and underlined mean, which plain text does not have: a note.

    Raises
    ------
    PolicyError
        When a row has another number of cells than the head.
    """

    title: str
    head: Sequence[str | Cell]
    rows: Sequence[Sequence[str | Cell]]
    left: Collection[int] = (0,)
    notes: Sequence[str] = ()
    remarks: Sequence[str] = ()
    rules: Collection[int] = ()
    faces: str = ""

    def __post_init__(self) -> None:
        for place, row in enumerate(self.rows, 1):
            if len(row) != len(self.head):
                cells = counted(len(row), "cell")
                raise PolicyError(
                    f"row {place} of a table has {cells}, its head has {len(self.head)}"
                )

    def cells(self) -> list[list[Cell]]:
        """Return the rows, each content a cell."""
        return [[as_cell(one) for one in row] for row in self.rows]

    def marked(self) -> frozenset[int]:
        """Return the columns with a raised mark in any row."""
        return frozenset(k for row in self.cells() for k, cell in enumerate(row) if cell.mark)

    def said(self, first: str | None = None) -> str:
        """Return title and notes as sentences, behind a first one if there is any."""
        parts = [first or "", self.title, *map(capitalised, (self.faces, *self.notes))]
        return " ".join(one if one[-1] in ".?!" else f"{one}." for one in parts if one)


SHOWN = 20
"""Rows that a notebook shows."""


@dataclass(frozen=True, repr=False)
class Table(Content):
    """A table as it is shown: in a notebook as it is, in print by one of its writers.

    What it holds are the attributes of :class:`~cranfield.tabular.Content`.

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

    def to_text(self, *, limit: int | None = None) -> str:
        """Return the table as text, its columns aligned by blanks, marks behind the numbers.

        Parameters
        ----------
        limit
            Maximum number of rows; a last line says how many more there are.
        """

        return plain_text(self, limit=limit)

    def to_latex(
        self, *, caption: bool | str | None = None, label: str | None = None, long: bool = False
    ) -> str:
        r"""Return it in LaTeX, for the package booktabs; text is escaped.

        Parameters
        ----------
        caption
            True, or a text: a whole `table` environment, whose caption is the text, the title and
            the notes. By default, and without a label, only the `tabular`, with title and notes in
            comments above it.
        label
            What `\ref` calls it.
        long
            Whether it may break across pages: a `longtable`, for the package of that name.

        Raises
        ------
        PolicyError
            For a label that LaTeX cannot use.

        Notes
        -----
        Numbers are set by LaTeX's own means: equal decimals align; marks stand in a column of
        their own, so that they do not shift what they mark.
        """

        return latex_text(self, caption=caption, label=label, long=long)

    def to_markdown(self, *, title: bool = True) -> str:
        """Return it in Markdown, as GitHub reads it; text is escaped.

        Parameters
        ----------
        title
            Whether title and notes stand above it.
        """

        return in_markdown(self, title=title)

    def to_html(self, *, limit: int | None = None) -> str:
        """Return it in HTML, with its styles in it; text is escaped.

        Parameters
        ----------
        limit
            Rows that are shown at most; a last line says how many there are besides.
        """

        return html_text(self, limit=limit)

    def _repr_html_(self) -> str:
        return self.to_html(limit=SHOWN)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        size = f"{counted(len(self.rows), 'row')}, {counted(len(self.head), 'column')}"
        return f"Table({self.title!r}: {size})"


def number(value: float | None, places: int = 4) -> str:
    """Write a number; what is none is empty, and what is rounded to nothing has no sign."""
    if value is None or isnan(value):
        return ""
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def shown_p(p: float) -> str:
    """Write a p-value; one too small for four decimals keeps its size.

    Examples
    --------
    >>> shown_p(0.04321), shown_p(3.2e-12), shown_p(0.0)
    ('0.0432', '3e-12', '<1e-300')
    """
    if isnan(p):
        return "-"
    if p >= 0.0001:
        return f"{p:.4f}"
    return f"{p:.0e}" if p > 1e-300 else "<1e-300"


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
    check_several("left", left)
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


class Framed:
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


def text_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Collection[int] = (0,),
    between: str = "  ",
) -> str:
    """Align cells in columns; what is not printable is escaped."""
    lines = [[plain(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join(
        between.join(
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def grid(table: Content) -> str:
    """Write head and rows; a raised mark stands behind its number, and shifts no other."""
    rows = table.cells()
    widest = [max((len(row[k].mark) for row in rows), default=0) for k in range(len(table.head))]
    shown = [
        [
            f"{cell.text} {cell.mark:<{width}}" if width else cell.text
            for cell, width in zip(row, widest, strict=True)
        ]
        for row in rows
    ]
    head = [
        as_cell(one).text + " " * (width + 1 if width else 0)
        for one, width in zip(table.head, widest, strict=True)
    ]
    return text_table(head, shown, left=table.left)


def plain_text(table: Content, *, limit: int | None = None) -> str:
    notes = [*table.notes, *(f"note: {one}" for one in table.remarks)]
    rows = grid(replace(table, rows=table.rows[:limit]))
    if limit is not None and len(table.rows) > limit:
        rows += f"\n… {len(table.rows) - limit:,} more"
    parts = [plain(table.title), rows, "\n".join(plain(one) for one in notes)]
    return "\n\n".join(one for one in parts if one)


def in_markdown(table: Content, *, title: bool = True) -> str:
    parts = [markdown(table.said())] if title and table.said() else []
    sides = ["---" if k in table.left else "---:" for k in range(len(table.head))]
    rows = [[_marked_up(cell) for cell in row] for row in table.cells()]
    lines = [[_marked_up(as_cell(one)) for one in table.head], sides, *rows]
    parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    parts += [f"Note: {markdown(one)}." for one in table.remarks]
    return "\n\n".join(parts) + "\n"


def _marked_up(cell: Cell) -> str:
    text = markdown(cell.text)
    if cell.bold:
        text = f"**{text}**"
    if cell.underline:
        text = f"<ins>{text}</ins>"
    return f"{text}<sup>{markdown(cell.mark)}</sup>" if cell.mark else text


__all__ = [
    "Cell",
    "Table",
    "between",
    "frame_html",
    "from_frame",
    "number",
    "shown_p",
    "text_table",
]


TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:0.5em 0"
CAPTION = "caption-side:top;text-align:left;padding:0 0 0.4em"
CELL = "padding:0.15em 0.7em;border:0;text-align:"
RULE = ";border-top:1px solid"
SMALL = "font-size:smaller;margin:0.2em 0"
"""The styles: colours are those of the page, so that dark ones stay dark."""


def html_text(table: Content, *, limit: int | None = None) -> str:
    rows = table.cells()
    shown = rows[:limit]
    widths = [max((len(row[k].mark) for row in rows), default=0) for k in range(len(table.head))]
    sides = ["left" if k in table.left else "right" for k in range(len(table.head))]
    lines = [f'<table style="{TABLE}">']
    if table.said():
        lines.append(f'<caption style="{CAPTION}">{html(table.said())}</caption>')
    head = [
        f'<th scope="col" style="{CELL}{side};border-bottom:1px solid">{_text(as_cell(one))}</th>'
        for one, side in zip(table.head, sides, strict=True)
    ]
    lines += ["<thead>", f"<tr>{''.join(head)}</tr>", "</thead>", "<tbody>"]
    for place, row in enumerate(shown):
        style = RULE if place in table.rules else ""
        cells = [
            f'<td style="{CELL}{side}{style}">{_text(cell)}{_mark(cell, width)}</td>'
            for cell, side, width in zip(row, sides, widths, strict=True)
        ]
        lines.append(f"<tr>{''.join(cells)}</tr>")
    if len(shown) < len(rows):
        more = f"… and {len(rows) - len(shown):,} more"
        lines.append(f'<tr><td colspan="{len(sides)}" style="{CELL}left">{more}</td></tr>')
    lines += ["</tbody>", "</table>"]
    lines += [f'<p style="{SMALL}">Note: {html(one)}.</p>' for one in table.remarks]
    return "\n".join(lines) + "\n"


def _text(cell: Cell) -> str:
    text = cell.html or html(cell.text)
    if cell.bold:
        text = f"<b>{text}</b>"
    return f"<u>{text}</u>" if cell.underline else text


def _mark(cell: Cell, width: int) -> str:
    """Raise a mark, in a box as wide as the widest of its column, so that numbers align."""
    if not width:
        return ""
    style = f"display:inline-block;min-width:{0.6 * width:.1f}em;text-align:left"
    return f'<sup style="{style}">{html(cell.mark)}</sup>'


LABEL = re.compile(r"[A-Za-z0-9:._/+@-]+")
"""What a label may be made of."""

NEGATIVE = re.compile(r"-[\d.][\d.,]*%?")
POWER = re.compile(r"(<?)(-?\d+(?:\.\d+)?)e([-+]?\d+)")


def latex_text(
    table: Content,
    *,
    caption: bool | str | None = None,
    label: str | None = None,
    long: bool = False,
) -> str:
    if label is not None and not LABEL.fullmatch(label):
        raise PolicyError(
            f"a label is made of letters, digits and : . _ / + @ -, unlike {quoted(label)}"
        )
    # A caption of False is none, even with a label that has nothing to refer to then.
    whole = bool(caption) or (label is not None and caption is None)
    title = caption if isinstance(caption, str) else None
    told = (
        list(table.remarks) if whole else [table.title, table.faces, *table.notes, *table.remarks]
    )
    comments = [f"% {latex(line)}" for line in told if line]
    top = _caption(table, title) if whole else []
    labelled = [rf"\label{{{label}}}"] if whole and label is not None else []
    lines = (
        _long(table, top, labelled)
        if long
        else _floating(_tabular(table), top, labelled)
        if whole
        else _tabular(table)
    )
    return "\n".join([*comments, *lines, ""])


def _caption(table: Content, title: str | None) -> list[str]:
    shown = table.title if title is None else title
    said = table.said(title)
    # The list of tables wants the title alone; braces keep a bracket from ending it.
    short = f"[{{{latex(shown)}}}]" if shown and said not in {shown, f"{shown}."} else ""
    return [rf"\caption{short}{{{latex(said)}}}"]


def _floating(tabular: list[str], caption: list[str], label: list[str]) -> list[str]:
    return [r"\begin{table}", r"\centering", *caption, *label, *tabular, r"\end{table}"]


def _tabular(table: Content) -> list[str]:
    return [
        rf"\begin{{tabular}}{{{_columns(table)}}}",
        r"\toprule",
        _head(table),
        r"\midrule",
        *_body(table),
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _long(table: Content, caption: list[str], label: list[str]) -> list[str]:
    width = len(table.head) + len(table.marked())
    top = ["".join([*caption, *label]) + r"\\"] if caption else []
    head = [r"\toprule", _head(table), r"\midrule"]
    return [
        rf"\begin{{longtable}}{{{_columns(table)}}}",
        *[*top, *head, r"\endfirsthead"],
        *[*head, r"\endhead"],
        *[r"\midrule", rf"\multicolumn{{{width}}}{{r}}{{continued on the next page}} \\"],
        r"\endfoot",
        r"\bottomrule",
        r"\endlastfoot",
        *_body(table),
        r"\end{longtable}",
    ]


def _columns(table: Content) -> str:
    marked = table.marked()
    letters = ["l" if k in table.left else "r" for k in range(len(table.head))]
    # Marks of any width get a column of their own, without space before it.
    return "".join(f"{one}@{{}}l" if k in marked else one for k, one in enumerate(letters))


def _head(table: Content) -> str:
    marked = table.marked()
    cells = []
    for k, one in enumerate(table.head):
        text = _shown(as_cell(one), number=False)
        cells.append(rf"\multicolumn{{2}}{{c}}{{{text}}}" if k in marked else text)
    return _line(cells)


def _body(table: Content) -> list[str]:
    marked = table.marked()
    lines = []
    for place, row in enumerate(table.cells()):
        cells = []
        for k, cell in enumerate(row):
            cells.append(_shown(cell, number=k not in table.left))
            if k in marked:
                raised = rf"\textsuperscript{{{latex(cell.mark)}}}" if cell.mark else ""
                cells.append(raised)
        lines += [r"\midrule"] * (place in table.rules) + [_line(cells)]
    return lines


def _line(cells: list[str]) -> str:
    # After the end of a row or a rule, LaTeX takes these for arguments of that.
    guard = "{}" if cells[0][:1] in {"[", "*"} else ""
    return guard + " & ".join(cells) + r" \\"


def _shown(cell: Cell, *, number: bool) -> str:
    text = cell.latex or (_number(cell.text) if number else latex(cell.text))
    if cell.bold:
        text = rf"\textbf{{{text}}}"
    return rf"\underline{{{text}}}" if cell.underline else text


def _number(text: str) -> str:
    r"""Set a number with a minus sign instead of a hyphen, and powers of ten as such."""
    power = POWER.fullmatch(text)
    if power is not None:
        least, digits, exponent = power.groups()
        start = "" if digits == "1" else rf"{digits}\cdot "
        return rf"${least}{start}10^{{{int(exponent)}}}$"
    return f"$-${latex(text[1:])}" if NEGATIVE.fullmatch(text) else latex(text)
