"""Intervals of systems, one a row: drawn by shares of the width, so that they fit any screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.words import counted
from cranfield.reporting.page.drawn.axes import shown, ticks
from cranfield.reporting.page.html import Html, el, joined, label

TOP, BOTTOM = 22.0, 8.0
"""Room for the axis above the rows, and below them."""

BULK = 1.5
"""Means further than so many interquartile ranges from the quartiles may lie beyond the axis."""

SAVED = 1.25
"""An axis is cut if the whole one were so many times as long."""

LETTERS = 24
"""Letters of a name that are shown; the whole name is in its title."""

SHORT = 14
"""Names that are all no longer than this leave more room for the rows."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """What stands in the rows: names, a middle with its limits, words at the end, and marks.

    Limits that are infinite go to the end of the axis; without limits, all are the middle. `band`
    is shaded over all rows, and rows of `top` have the colour of the best. With `whole`, the axis
    holds all finite limits.
    """

    names: Sequence[str]
    keys: Sequence[int]
    middle: Floats
    low: Floats
    high: Floats
    words: Sequence[str]
    top: Sequence[bool]
    band: tuple[float, float] | None = None
    zero: bool = False
    whole: bool = False


def row_height(rows: int) -> float:
    return 26.0 if rows <= 12 else 19.0 if rows <= 25 else 14.0


def span(
    middle: Floats, low: Floats, high: Floats, *, zero: bool, whole: bool = False
) -> tuple[float, float]:
    """Return the ends of the axis, by the bulk of the rows: outliers do not squeeze the others.

    Examples
    --------
    >>> bulk = np.array([0.7, 0.72, 0.74, 0.76, 0.78])
    >>> [round(end, 2) for end in span(bulk, bulk - 0.02, bulk + 0.02, zero=False)]
    [0.68, 0.8]
    >>> far = np.append(bulk, -9.0)
    >>> [round(end, 2) for end in span(far, far - 0.02, far + 0.02, zero=False)]
    [0.68, 0.8]
    """
    known = np.isfinite(middle)
    middle, low, high = middle[known], low[known], high[known]
    if not middle.size:
        return 0.0, 1.0
    low, high = (np.where(np.isfinite(ends), ends, middle) for ends in (low, high))
    first, last = float(low.min()), float(high.max())
    q1, q3 = np.quantile(middle, [0.25, 0.75])
    reach = BULK * (q3 - q1)
    inside = (middle >= q1 - reach) & (middle <= q3 + reach)
    ends = float(low[inside].min()), float(high[inside].max())
    if not whole and (last - first) > SAVED * (ends[1] - ends[0]):
        first, last = ends
    if zero:
        first, last = min(first, 0.0), max(last, 0.0)
    if first == last:
        first, last = first - 0.5, last + 0.5
    return first, last


def drawn_intervals(rows: Drawn, title: str) -> tuple[Html, str]:
    """Draw the rows, and say what lies beyond the axis, if anything does."""
    low, high = span(rows.middle, rows.low, rows.high, zero=rows.zero, whole=rows.whole)
    step = row_height(len(rows.names))
    middles = TOP + step * (np.arange(len(rows.names)) + 0.5)
    end = TOP + step * len(rows.names)

    def x(values: Floats | float) -> Floats:
        share = (np.asarray(values, dtype=np.float64) - low) / (high - low)
        return np.asarray(2 + 96 * np.clip(share, -0.02, 1.02))

    marks = ticks(low, high, 5)
    marks = marks[(marks >= low) & (marks <= high)]
    back: list[object] = []
    if rows.band is not None:
        left, right = x(np.array(rows.band)).tolist()
        size = {"x": _at(left), "width": _at(right - left), "y": TOP, "height": f"{end - TOP:g}"}
        back.append(el("rect", class_="band", **size))
    for value, at in zip(marks, x(marks).tolist(), strict=True):
        zero = "zero" if rows.zero and value == 0 else "grid"
        line = {"x1": _at(at), "x2": _at(at), "y1": TOP - 4, "y2": f"{end:g}"}
        back.append(el("line", class_=zero, **line))
        back.append(el("text", shown(value), x=_at(at), y=TOP - 9, text_anchor="middle"))
    # Only finite limits have an end; the others are lines to the edge of the axis.
    places = zip(
        x(np.where(np.isnan(rows.low), rows.middle, rows.low)).tolist(),
        x(rows.middle).tolist(),
        x(np.where(np.isnan(rows.high), rows.middle, rows.high)).tolist(),
        rows.middle.tolist(),
        strict=True,
    )
    names: list[object] = []
    ends: list[object] = []
    drawn: list[object] = []
    for (a, at, b, value), y, k in zip(places, middles.tolist(), range(len(middles)), strict=True):
        look = "top" if rows.top[k] else None
        name = label(rows.names[k])
        base = f"{y + 4:g}"
        key = {"data_row": rows.keys[k], "class_": look}
        names.append(el("text", _short(name), y=base, **key))
        ends.append(el("text", rows.words[k], x="100%", y=base, text_anchor="end", class_=look))
        if np.isnan(value):
            continue
        beyond = value < low or value > high
        mark = (
            el("circle", cx=_at(at), cy=f"{y:g}", r="3.5")
            if not beyond
            else el(
                "svg",
                el("path", d="M5-4L0 0l5 4z" if value < low else "M-5-4L0 0l-5 4z"),
                x="0.5%" if value < low else "99.5%",
                y=f"{y:g}",
                class_="beyond",
            )
        )
        whisker = el("line", x1=_at(a), x2=_at(b), y1=f"{y:g}", y2=f"{y:g}")
        drawn.append(el("g", None if beyond or a == b else whisker, mark, class_=look))
    columns: dict[str, list[object]] = {"names": names, "plot": [*back, *drawn], "values": ends}
    height = f"{end + BOTTOM:g}"
    short = all(len(label(name)) <= SHORT for name in rows.names)
    # Three pictures side by side: the style gives them their widths.
    picture = el(
        "div",
        *(el("svg", *parts, class_=name, height=height) for name, parts in columns.items()),
        class_="intervals short" if short else "intervals",
        data_top=f"{TOP:g}",
        data_step=f"{step:g}",
        role="img",
        aria_label=title,
    )
    return picture, _beyond(rows, low, high)


def _beyond(rows: Drawn, low: float, high: float) -> str:
    known = rows.middle[np.isfinite(rows.middle)]
    out = int(((known < low) | (known > high)).sum())
    said = []
    if out:
        lie = f"{counted(out, 'system')} {'lies' if out == 1 else 'lie'}"
        said.append(f"{lie} beyond the axis, where an arrow points; the numbers are on the right.")
    if np.isinf(rows.low).any() or np.isinf(rows.high).any():
        said.append("A line to the edge of the axis has no finite limit there.")
    if np.isnan(rows.low[np.isfinite(rows.middle)]).any():
        said.append("A dot without a line: an interval would contradict the decision.")
    return " ".join(said)


def _at(share: float) -> str:
    return f"{share:.2f}%"


def _short(name: str) -> Html:
    # Names of one team begin alike: what is cut is the middle.
    if len(name) <= LETTERS:
        return joined(name)
    end = (LETTERS - 1) // 2
    return joined(f"{name[: LETTERS - 1 - end]}…{name[-end:]}", el("title", name))
