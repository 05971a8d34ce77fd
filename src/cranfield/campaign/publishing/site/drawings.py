"""Pictures inside pages: limits and ranges in a row, the map of topics by runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.reporting.page.html import Html, el
from cranfield.tabular import number

WIDTH = 100.0
"""Of a picture in a row, which is stretched to its column."""

SHADES = 9
"""Steps of the map, from the worst to the best score."""

ACROSS, NARROW, WIDE, HIGH = 940, 7, 18, 12
"""Room for the columns of the map, limits of their widths, and the height of its rows."""

LEFT, TOP, KEY = 90, 22, 34
"""Room of the map for labels and for its key."""

MOST_CELLS = 40_000
"""Cells of a map that can still be read."""


def drawn_row(
    middle: float, low: float, high: float, ends: tuple[float, float], band: Floats | None = None
) -> Html:
    """Draw limits and a tick between them; `band` are limits that run through all rows.

    A band without width is a dashed line.
    """

    def x(value: float) -> float:
        least, most = ends
        share = (value - least) / (most - least) if most > least else 0.5
        return WIDTH * min(1.0, max(0.0, share))

    parts: list[Html] = []
    if band is not None and np.isfinite(band).all():
        start, end = (x(float(one)) for one in band)
        across: dict[str, object] = {"class_": "band", "x": f"{start:.2f}"}
        across |= {"width": f"{end - start:.2f}", "y": -3.6, "height": 17.2}
        dashed = {"class_": "reach", "x1": f"{start:.2f}", "x2": f"{start:.2f}", "y1": -3, "y2": 13}
        parts.append(el("rect", **across) if end > start else el("line", **dashed))
    if np.isfinite([low, high]).all():
        parts.append(
            el("line", class_="whisker", x1=f"{x(low):.2f}", x2=f"{x(high):.2f}", y1=5, y2=5)
        )
    if np.isfinite(middle):
        parts.append(el("rect", class_="dot", x=f"{x(middle) - 0.6:.2f}", width=1.2, y=1, height=8))
    return el(
        "svg", *parts, viewBox=f"0 0 {WIDTH:g} 10", preserveAspectRatio="none", aria_hidden="true"
    )


def drawn_map(
    values: Floats, topics: Sequence[str], title: str, *, lower_is_better: bool = False
) -> Html | None:
    """Draw scores as shades, a row a topic and a column a run; None where there are too many.

    Parameters
    ----------
    values
        Scores, topic by run, in the order that is shown; NaN is left blank.
    """
    if values.size == 0 or values.size > MOST_CELLS or not np.isfinite(values).any():
        return None
    least, most = float(np.nanmin(values)), float(np.nanmax(values))
    share = (values - least) / (most - least) if most > least else np.zeros(values.shape)
    share = 1 - share if lower_is_better else share
    shades = np.where(np.isnan(share), -1, np.minimum(share * SHADES, SHADES - 1)).astype(np.int64)
    rows, columns = values.shape
    cell = max(NARROW, min(WIDE, ACROSS // columns))
    width, height = LEFT + max(columns * cell, 240), TOP + rows * HIGH + KEY

    def squares(shade: int) -> str:
        places = np.argwhere(shades == shade).tolist()
        square = f"h{cell - 1}v{HIGH - 1}h{1 - cell}z"
        return "".join(f"M{LEFT + j * cell} {TOP + i * HIGH}{square}" for i, j in places)

    drawn = [el("path", d=squares(k), class_=f"s{k}") for k in range(SHADES)]
    step = 1 if cell == WIDE else 10
    heads = [
        el("text", k + 1, x=LEFT + k * cell + cell // 2, y=TOP - 6, text_anchor="middle")
        for k in range(columns)
        if k == 0 or (k + 1) % step == 0
    ]
    names = [
        el("text", _short(topic), x=LEFT - 5, y=TOP + row * HIGH + 9, text_anchor="end")
        for row, topic in enumerate(topics)
    ]
    key = TOP + rows * HIGH + 12
    legend = [
        el("path", d=f"M{LEFT + 45 + 16 * k} {key}h15v11h-15z", class_=f"s{k}")
        for k in range(SHADES)
    ]
    worst, best = (most, least) if lower_is_better else (least, most)
    legend += [
        el("text", f"{worst:.2f}", x=LEFT + 40, y=key + 9, text_anchor="end"),
        el("text", f"{best:.2f}", x=LEFT + 50 + 16 * SHADES, y=key + 9),
    ]
    said = f"{title}, from {number(worst)} (lightest) to {number(best)} (darkest)"
    return el(
        "svg",
        el("title", said),
        *drawn,
        *heads,
        *names,
        *legend,
        viewBox=f"0 0 {width} {height}",
        width=width,
        height=height,
        class_="map",
        role="img",
    )


def _short(topic: str, most: int = 14) -> str:
    return topic if len(topic) <= most else f"{topic[: most - 1]}…"
