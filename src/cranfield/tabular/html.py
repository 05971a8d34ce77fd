"""Tables in HTML, for notebooks and pages, without any style sheet."""

from __future__ import annotations

from cranfield.base.escape import html
from cranfield.tabular.content import Cell, Content, as_cell

TABLE = "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:0.5em 0"
CAPTION = "caption-side:top;text-align:left;padding:0 0 0.4em"
CELL = "padding:0.15em 0.7em;border:0;text-align:"
RULE = ";border-top:1px solid"
SMALL = "font-size:smaller;margin:0.2em 0"
"""The styles: colours are those of the page, so that dark ones stay dark."""


def written(table: Content, *, limit: int | None = None) -> str:
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
