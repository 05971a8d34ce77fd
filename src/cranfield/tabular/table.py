"""A table as people read it, whatever it is written in."""

from __future__ import annotations

from dataclasses import dataclass

from cranfield.base.words import counted
from cranfield.tabular.content import Content

SHOWN = 20
"""Rows that a notebook shows."""


@dataclass(frozen=True, repr=False)
class Table(Content):
    """A table as it is shown: in a notebook as it is, in print by one of its writers.

    What it holds are the attributes of :class:`~cranfield.tabular.content.Content`.

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

    def to_text(self) -> str:
        """Return it for the eye: columns aligned by blanks; no bold, marks behind the numbers."""
        from cranfield.tabular import text

        return text.written(self)

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
        from cranfield.tabular import latex

        return latex.written(self, caption=caption, label=label, long=long)

    def to_markdown(self, *, title: bool = True) -> str:
        """Return it in Markdown, as GitHub reads it; text is escaped.

        Parameters
        ----------
        title
            Whether title and notes stand above it.
        """
        from cranfield.tabular import text

        return text.in_markdown(self, title=title)

    def to_html(self, *, limit: int | None = None) -> str:
        """Return it in HTML, with its styles in it; text is escaped.

        Parameters
        ----------
        limit
            Rows that are shown at most; a last line says how many there are besides.
        """
        from cranfield.tabular import html

        return html.written(self, limit=limit)

    def _repr_html_(self) -> str:
        return self.to_html(limit=SHOWN)

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        size = f"{counted(len(self.rows), 'row')}, {counted(len(self.head), 'column')}"
        return f"Table({self.title!r}: {size})"
