"""How large things are, and where, so that three systems and a hundred and thirty can be read."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.arrays import Floats
from cranfield.reporting.charts.theme import themed

if TYPE_CHECKING:
    import altair as alt

LABEL_LIMIT = 260
"""Width of the longest name, in pixels; what is beyond is cut, and a tooltip has all of it."""

COLUMN_LIMIT = 170
"""The same for names of columns, which stand upright."""

STEPS = ((20, 24, 12), (60, 16, 12))
"""Up to how many rows, height of a row, and type size, in pixels."""

CROWDED = (13, 11)
"""The same for more rows than that."""

CELLS = ((12, 28, 12), (40, 16, 11))
"""Up to how many rows of a matrix, side of a cell, and type size, in pixels."""

CROWDED_CELLS = (11, 9)
"""The same for more rows than that."""

LINE = 90
"""Letters of a line below a title."""

TALL = 40
"""From more rows on, an axis stands above the chart, where reading starts."""


def row_size(count: int) -> tuple[int, int]:
    return next(((step, size) for most, step, size in STEPS if count <= most), CROWDED)


def cell_size(count: int) -> tuple[int, int]:
    return next(((step, size) for most, step, size in CELLS if count <= most), CROWDED_CELLS)


def named_axis(title: str | None, size: int, **more: Any) -> alt.Axis:
    """Return an axis of names, each of which is shown, cut where it is too long."""
    import altair as alt

    plain: dict[str, Any] = {"labelOverlap": False, "labelLimit": LABEL_LIMIT, "ticks": False}
    # Room for the longest name: beyond the extent the title would be among the names.
    plain |= {"grid": False, "maxExtent": LABEL_LIMIT + 40}
    return alt.Axis(title=title, labelFontSize=size, **(plain | more))


def column_axis(title: str, size: int, **more: Any) -> alt.Axis:
    return named_axis(title, size, labelAngle=-90, labelLimit=COLUMN_LIMIT, **more)


def row_axis(title: str, size: int, **more: Any) -> alt.Axis:
    """Return the axis of the names of rows; its title is above them, where reading starts."""
    above = {"titleAngle": 0, "titleAlign": "right", "titleBaseline": "bottom"}
    place = {"titleX": -8, "titleY": -6}
    return named_axis(title, size, domain=False, **above, **place, **more)


def rows_of(names: Sequence[str], title: str, field: str = "system") -> alt.Y:
    """Return the channel that gives each system a row, in the order given."""
    import altair as alt

    # The order is that of the domain; a sort by list would become a chain of comparisons.
    return alt.Y(
        f"{field}:N",
        scale=alt.Scale(domain=list(names)),
        axis=row_axis(title, row_size(len(names))[1], labelPadding=6),
    )


def value_axis(count: int, **more: Any) -> alt.Axis:
    import altair as alt

    return alt.Axis(orient="top" if count > TALL else "bottom", **more)


def score_axis(field: str, title: str, count: int, scale: Any = None) -> alt.X:
    """Return the channel of scores beside so many rows; its axis need not begin at zero."""
    import altair as alt

    return alt.X(
        f"{field}:Q", title=title, scale=scale or alt.Scale(zero=False), axis=value_axis(count)
    )


def headed(title: str, *below: str) -> alt.TitleParams:
    import altair as alt

    lines = [part for line in below for part in wrap(line, LINE)]
    return alt.TitleParams(
        text=title,
        subtitle=lines or alt.Undefined,
        subtitleFontSize=12,
        subtitleColor="#555555",
        subtitlePadding=4,
        offset=10,
    )


def overlaid(*layers: Any, **properties: Any) -> alt.LayerChart:
    """Lay charts over each other, the last one on top, in the common look."""
    import altair as alt

    return themed(alt.LayerChart(layer=[*layers], **properties))


def apart(
    wanted: ArrayLike, sizes: ArrayLike, low: float = -np.inf, high: float = np.inf
) -> Floats:
    r"""Move things on a line as little as possible, so that none covers another.

    .. math:: \min_p \sum_i (p_i - w_i)^2 \quad \text{with} \quad
        p_{i+1} - p_i \ge \tfrac{1}{2} (s_i + s_{i+1})

    Notes
    -----
    Less the room that those before it take up, positions only have to be in order: that is isotonic
    regression.
    """
    from scipy.optimize import isotonic_regression

    places, room = np.asarray(wanted, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if not places.size:
        return places
    before = np.concatenate(([0.0], np.cumsum((room[1:] + room[:-1]) / 2)))
    first, last = low + room[0] / 2, high - room[-1] / 2 - before[-1]
    free = np.asarray(isotonic_regression(places - before).x, dtype=np.float64)
    return np.asarray(np.clip(free, first, max(first, last)) + before)
