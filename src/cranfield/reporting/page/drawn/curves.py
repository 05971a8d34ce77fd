"""Curves over the same levels, such as precision by recall."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.reporting.page.drawn.axes import axis, points, shown, ticks, words
from cranfield.reporting.page.html import Html, el, joined

SIZE = (440.0, 330.0)
"""Width and height: letters are still read where a phone makes it smaller."""

MARGIN = (50.0, 12.0, 46.0)
"""Room on the left, at the top and right, and at the bottom."""

LOOKS = ("first", "second")
"""How curves look, in order: colours, and the second dashed."""


def drawn_curves(
    levels: Floats,
    curves: Sequence[tuple[str, Floats]],
    *,
    title: str,
    across: str,
    up: str,
) -> Html:
    """Draw up to two curves with a legend, on axes from 0 to 1; what is NaN is left out.

    Parameters
    ----------
    levels
        Shape (levels,), from 0 to 1.
    curves
        Name and values of each, shape (levels,).
    title, across, up
        What it shows, and what the axes are.
    """
    width, height = SIZE
    left, edge, bottom = MARGIN
    x, y = axis(0, 1, left, width - edge), axis(0, 1, height - bottom, edge)
    marks = ticks(0, 1)
    grid = "".join(f"M{left:g} {at:.1f}H{width - edge:g}" for at in y(marks).tolist())
    parts: list[object] = [el("title", title), el("path", d=grid, class_="grid")]
    for one, at in zip(marks, y(marks), strict=True):
        parts.append(words(shown(one), left - 7, float(at) + 4, "end"))
    for one, at in zip(marks, x(marks), strict=True):
        parts.append(words(shown(one), float(at), height - bottom + 18))
    parts.append(words(across, (left + width - edge) / 2, height - 6))
    middle = (edge + height - bottom) / 2
    parts.append(words(up, 13, middle, transform=f"rotate(-90 13 {middle:.1f})"))
    for look, (_, values) in reversed([*zip(LOOKS, curves, strict=False)]):
        known = np.isfinite(values)
        if known.any():
            line = points(x(levels[known]), y(values[known]))
            parts.append(el("polyline", points=line, class_=look))
            parts += [
                el("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r=3, class_=look)
                for a, b in zip(x(levels[known]), y(values[known]), strict=True)
            ]
    drawing = el(
        "svg", *parts, viewBox=f"0 0 {width:g} {height:g}", class_="curves", role="img"
    )  # fmt: skip
    keys = joined(
        *(
            el("li", _sample(look), el("span", name))
            for look, (name, _) in zip(LOOKS, curves, strict=False)
        )
    )
    return el("figure", drawing, el("ul", keys, class_="legend"))


def _sample(look: str) -> Html:
    """Draw what a line of the legend stands for."""
    line = el("line", x1=0, x2=30, y1=6, y2=6, class_=look)
    dot = el("circle", cx=15, cy=6, r=3, class_=look)
    return el("svg", line, dot, viewBox="0 0 30 12", class_="sample", aria_hidden="true")
