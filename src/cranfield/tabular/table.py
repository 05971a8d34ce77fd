"""A table as people read it, whatever it is written in."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.tabular.cell import Cell, as_cell

SHOWN = 20
"""Rows that a notebook shows."""


@dataclass(frozen=True, repr=False)
class Table:
    r"""A table as it is shown: in a notebook as it is, in print by one of its writers.

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

    Examples
    --------
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
    >>> print(table.to_latex(label="tab:two"), end="")
    \begin{table}
    \centering
    \caption{Two systems.}
    \label{tab:two}
    \begin{tabular}{lr}
    \toprule
    system & AP \\
    \midrule
    my\_run & 0.5 \\
    tf & 0.25 \\
    \bottomrule
    \end{tabular}
    \end{table}
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
        """Return title and notes as sentences, behind a first one if there is any.

        Examples
        --------
        >>> Table("nDCG", ["a"], [], notes=["the best in bold", "ready?"]).said()
        'nDCG. The best in bold. Ready?'
        """
        notes = [one[:1].upper() + one[1:] for one in (self.faces, *self.notes)]
        parts = [first or "", self.title, *notes]
        return " ".join(one if one[-1] in ".?!" else f"{one}." for one in parts if one)

    def to_text(self) -> str:
        """Return it for the eye: columns aligned by blanks; no bold, marks behind the numbers."""
        from cranfield.tabular.text import written

        return written(self)

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
        from cranfield.tabular.latex import written

        return written(self, caption=caption, label=label, long=long)

    def to_markdown(self, *, title: bool = True) -> str:
        """Return it in Markdown, as GitHub reads it; text is escaped.

        Parameters
        ----------
        title
            Whether title and notes stand above it.
        """
        from cranfield.tabular.markdown import written

        return written(self, title=title)

    def to_html(self, *, limit: int | None = None) -> str:
        """Return it in HTML, with its styles in it; text is escaped.

        Parameters
        ----------
        limit
            Rows that are shown at most; a last line says how many there are besides.
        """
        from cranfield.tabular.html import written

        return written(self, limit=limit)

    def _repr_html_(self) -> str:
        return self.to_html(limit=SHOWN)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        size = f"{counted(len(self.rows), 'row')}, {counted(len(self.head), 'column')}"
        return f"Table({self.title!r}: {size})"
