"""Tables as text: aligned for the eye, or in LaTeX with booktabs."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cranfield.escape import latex, plain


def text_table(
    head: Sequence[str], rows: Sequence[Sequence[str]], *, left: Collection[int] = (0,)
) -> str:
    """Align cells in columns; what is not printable is escaped.

    Parameters
    ----------
    head
        Names of the columns.
    rows
        Cells of each row, as text.
    left
        Columns that are aligned to the left; the others, which hold numbers, to the right.

    Examples
    --------
    >>> print(text_table(["system", "mean"], [["bm25", "0.25"], ["tf", "0.1"]]))
    system  mean
    bm25    0.25
    tf       0.1
    """
    lines = [[plain(cell) for cell in row] for row in [head, *rows]]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if k in left else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def latex_table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Collection[int] = (0,),
    bold: Collection[tuple[int, int]] = (),
    raw_head: bool = False,
) -> str:
    r"""Write a booktabs table; cells are escaped.

    Parameters
    ----------
    head, rows, left
        As for :func:`text_table`.
    bold
        Row and column of cells in bold.
    raw_head
        Whether the names of the columns are LaTeX already.

    Examples
    --------
    >>> print(latex_table(["run", "AP"], [["a_b", "0.5"]], bold={(0, 1)}), end="")
    \begin{tabular}{lr}
    \toprule
    run & AP \\
    \midrule
    a\_b & \textbf{0.5} \\
    \bottomrule
    \end{tabular}
    """
    columns = "".join("l" if k in left else "r" for k in range(len(head)))
    top = head if raw_head else [latex(cell) for cell in head]
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", " & ".join(top) + r" \\", r"\midrule"]
    for i, row in enumerate(rows):
        cells = [latex(cell) for cell in row]
        cells = [rf"\textbf{{{c}}}" if (i, k) in bold else c for k, c in enumerate(cells)]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])
