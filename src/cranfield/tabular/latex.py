"""Tables in LaTeX, for booktabs and longtable."""

from __future__ import annotations

import re

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.escape import latex
from cranfield.tabular.content import Cell, Content, as_cell

LABEL = re.compile(r"[A-Za-z0-9:._/+@-]+")
"""What a label may be made of."""

NEGATIVE = re.compile(r"-[\d.][\d.,]*%?")
POWER = re.compile(r"(<?)(-?\d+(?:\.\d+)?)e([-+]?\d+)")


def written(
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
