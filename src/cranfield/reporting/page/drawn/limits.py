"""Limits in a row of a table, and over time."""

from __future__ import annotations

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.reporting.page.html import Html, el
from cranfield.tabular import number

ROW = (200.0, 16.0)
"""Width and height of limits in a row."""

LOOKS = (640.0, 220.0)
"""Width and height of limits over time."""

MARGIN = (70.0, 10.0, 26.0)
"""Room for labels on the left, at the top and right, and at the bottom."""


def drawn_limits(value: float, low: float, high: float, least: float, most: float) -> Html:
    """Draw a value and its limits on an axis from least to most, with a dashed line at 0."""
    width, height = ROW
    room = max(most - least, 1e-300)

    def x(one: float) -> str:
        return f"{6 + (width - 12) * min(1.0, max(0.0, (one - least) / room)):.2f}"

    middle = f"{height / 2:g}"
    parts: list[object] = [
        el("line", x1=x(0.0), x2=x(0.0), y1=0, y2=f"{height:g}", stroke_dasharray="2 2")
    ]
    if np.isfinite([low, high]).all():
        parts.append(el("line", x1=x(low), x2=x(high), y1=middle, y2=middle, class_="limits"))
        parts.append(el("circle", cx=x(value), cy=middle, r=4))
    return el(
        "svg", *parts, viewBox=f"0 0 {width:g} {height:g}", class_="limits", aria_hidden="true"
    )


def drawn_looks(looks: pl.DataFrame, title: str, units: str) -> Html:
    """Draw differences with their limits at each look; what has no limits is left out."""
    frame = looks.filter(pl.all_horizontal(pl.col("low", "high", "difference").is_finite()))
    if frame.is_empty():
        return el("p", "No look has limits.")
    number_of, value, low, high = (
        frame[name].to_numpy().astype(np.float64) for name in ("units", "difference", "low", "high")
    )
    left, edge, bottom = MARGIN
    width, height = LOOKS
    least, most = min(0.0, float(low.min())), max(0.0, float(high.max()))
    first, last = float(number_of.min()), float(number_of.max())

    def x(ones: Floats) -> Floats:
        share = (ones - first) / (last - first) if last > first else np.full(ones.shape, 0.5)
        return np.asarray(left + (width - left - edge) * share)

    def y(ones: Floats) -> Floats:
        share = (ones - least) / (most - least or 1.0)
        return np.asarray(height - bottom - (height - bottom - edge) * share)

    def points(*pairs: tuple[Floats, Floats]) -> str:
        return " ".join(f"{a:.2f},{b:.2f}" for xs, ys in pairs for a, b in zip(xs, ys, strict=True))

    across = x(number_of)
    marks = [
        el(
            "text",
            number(one),
            x=left - 8,
            y=f"{float(y(np.array(one))) + 4:.2f}",
            text_anchor="end",
        )
        for one in dict.fromkeys((least, 0.0, most))
    ]
    ends = [
        el(
            "text",
            f"{one:,.0f}",
            x=f"{float(x(np.array(one))):.2f}",
            y=height - 8,
            text_anchor=anchor,
        )
        for one, anchor in ((first, "start"), (last, "end"))
    ]
    around = points((across, y(low)), (across[::-1], y(high)[::-1]))
    zero = f"{float(y(np.array(0.0))):.2f}"
    return el(
        "svg",
        el("title", f"{title}: difference with limits, by number of {units}"),
        el("polygon", points=around, class_="band"),
        el("line", x1=left, x2=width - edge, y1=zero, y2=zero, stroke_dasharray="2 2"),
        el("polyline", points=points((across, y(value))), class_="line"),
        *(
            el("circle", cx=f"{a:.2f}", cy=f"{b:.2f}", r=3)
            for a, b in zip(across, y(value), strict=True)
        ),
        *marks,
        *ends,
        viewBox=f"0 0 {width:g} {height:g}",
        class_="looks",
        role="img",
    )
