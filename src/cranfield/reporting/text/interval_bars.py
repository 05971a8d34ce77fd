"""Intervals as a column of text, beside the numbers of a comparison."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.reporting.page.drawn.intervals import span
from cranfield.significance.comparison.result import PairwiseComparison
from cranfield.tabular import Table

WIDTH = 31
"""Letters of the axis."""


def with_bars(one: PairwiseComparison) -> tuple[Table, str]:
    """Add a column of intervals to the table of a comparison, and say what they are.

    Around means there are none where intervals hold for single pairs; the table stays as it is.
    """
    table = one.table()
    sure = f"{100 * (1 - one.alpha):.4g}%"
    if one.shows_pairs:
        middle, low, high = one.difference, *one.interval
        said = f"bars: the difference with its {sure} limits; │ is 0"
    else:
        limits = one.around(int(one.order[0]))
        if limits is None:
            return table, ""
        middle, low, high = (values[one.order] for values in (one.means, *limits))
        said = (
            f"bars: {sure} limits of the {one.difference_from} the best, around its {one.mean_of}"
        )
        if one.half_widths is not None:
            said = "bars: systems whose bars do not overlap differ"
    ends = span(middle, low, high, zero=one.shows_pairs)
    drawn = bars(middle, low, high, ends, zero=one.shows_pairs)
    if one.lower_is_better:
        said += "; lower is better"
    if any(beyond in "".join(drawn) for beyond in "◂▸"):
        said += "; ◂ and ▸ point beyond the axis"
    axis = f"{ends[0]:.2f}".ljust(WIDTH - 4) + f"{ends[1]:.2f}"[:4].rjust(4)
    rows = [[*row, bar] for row, bar in zip(table.rows, drawn, strict=True)]
    head = [*table.head, axis]
    return replace(table, head=head, rows=rows, left=[*table.left, len(head) - 1]), said


def bars(
    middle: Floats, low: Floats, high: Floats, ends: tuple[float, float], *, zero: bool = False
) -> list[str]:
    """Draw each value with its limits, on one axis.

    Examples
    --------
    >>> values = np.array([0.2, 0.8, 7.0])
    >>> for bar in bars(values, values - 0.2, values + 0.2, (0.0, 1.0)):
    ...     print(bar)
    ──────●──────
                      ──────●──────
                                  ▸
    """
    least, most = ends

    def place(value: float) -> int:
        share = (np.clip(value, least, most) - least) / (most - least)
        return round(float(share) * (WIDTH - 1))

    drawn = []
    for at, start, end in zip(middle.tolist(), low.tolist(), high.tolist(), strict=True):
        letters = [" "] * WIDTH
        if zero:
            letters[place(0.0)] = "│"
        if least <= at <= most:
            first, last = (at if np.isnan(one) else one for one in (start, end))
            for k in range(place(first), place(last) + 1):
                letters[k] = "┼" if letters[k] == "│" else "─"
            letters[place(at)] = "●"
        elif not np.isnan(at):
            letters[0 if at < least else -1] = "◂" if at < least else "▸"
        drawn.append("".join(letters).rstrip())
    return drawn
