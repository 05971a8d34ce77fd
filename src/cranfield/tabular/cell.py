"""A cell of a table: its text, and what makes it stand out."""

from __future__ import annotations

from dataclasses import dataclass


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
    """Make text a cell.

    Examples
    --------
    >>> as_cell("0.25")
    Cell(text='0.25', mark='', bold=False, underline=False, latex='', html='')
    """
    return content if isinstance(content, Cell) else Cell(content)
