"""What is in a table: cells with what makes them stand out, a title, notes and rules."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cranfield.base.errors import PolicyError
from cranfield.base.showing import Hinting
from cranfield.base.words import capitalised, counted


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
class Content(Hinting):
    """What a table shows; :class:`~cranfield.tabular.table.Table` is this with ways to write it.

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
