"""Tables as text: plain, aligned for the eye, and in Markdown, as GitHub and Jupyter read it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cranfield.base.escape import markdown, plain
from cranfield.tabular.content import Cell, Content, as_cell


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


def written(table: Content) -> str:
    notes = [*table.notes, *(f"note: {one}" for one in table.remarks)]
    parts = [plain(table.title), grid(table), "\n".join(plain(one) for one in notes)]
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
