"""Tables in Markdown, as GitHub, Jupyter and most others read it."""

from __future__ import annotations

from cranfield.base.escape import markdown
from cranfield.tabular.content import Cell, Content, as_cell


def written(table: Content, *, title: bool = True) -> str:
    parts = [markdown(table.said())] if title and table.said() else []
    sides = ["---" if k in table.left else "---:" for k in range(len(table.head))]
    rows = [[_shown(cell) for cell in row] for row in table.cells()]
    lines = [[_shown(as_cell(one)) for one in table.head], sides, *rows]
    parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    parts += [f"Note: {markdown(one)}." for one in table.remarks]
    return "\n\n".join(parts) + "\n"


def _shown(cell: Cell) -> str:
    text = markdown(cell.text)
    if cell.bold:
        text = f"**{text}**"
    if cell.underline:
        text = f"<ins>{text}</ins>"
    return f"{text}<sup>{markdown(cell.mark)}</sup>" if cell.mark else text
