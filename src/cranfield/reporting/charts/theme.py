"""The common look of charts, and the parts that many of them have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from textwrap import wrap
from typing import Any, Self, TypeVar

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from cranfield.base.arrays import Floats
from cranfield.base.errors import MissingDependencyError
from cranfield.reporting.charts.saving import described, rendered

Chart = TypeVar("Chart")
Function = TypeVar("Function")

COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#E69F00", "#56B4E9", "#000000", "#999999"),
)
"""The palette of Okabe and Ito (2008), which people who do not see all colours can distinguish;
yellow, which is pale on white, is omitted, and grey comes last."""

DASHES = (
    *((1, 0), (6, 3), (2, 2), (8, 2, 2, 2)),
    *((12, 3), (12, 2, 2, 2, 2, 2), (1, 4), (4, 6)),
)
"""Patterns of lines, as many as colours: lines differ without colour too."""

GREY = "#999999"

FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
"""Fonts of one width: files are laid out with one of them, and shown with another elsewhere."""

LABEL_LIMIT = 260
"""Width of the longest name, in pixels; what is beyond is cut, and a tooltip has all of it."""

COLUMN_LIMIT = 170
"""The same for names of columns, which stand upright."""

STEPS = ((20, 24, 12), (60, 16, 12), (np.inf, 13, 11))
"""Up to how many rows, height of a row, and type size, in pixels."""

CELLS = ((12, 28, 12), (40, 16, 11), (np.inf, 11, 9))
"""Up to how many rows of a matrix, side of a cell, and type size, in pixels."""

LETTERS = 90
"""Letters of a line below a title."""

TALL = 40
"""From more rows on, an axis stands above the chart, where reading starts."""


class Rows(alt.InlineData):
    """Data that is neither checked value by value nor copied with every chart.

    Altair copies a chart whenever something is added to it; with some thousand rows that takes
    seconds. Rows are never changed, so that all copies can share them.
    """

    _class_is_valid_at_instantiation = False

    def __deepcopy__(self, memo: Any) -> Self:
        return self


def draws(name: str, of: str) -> Callable[[Function], Function]:
    """Declare a chart: its name, and the class of what it is drawn of; the registry reads this."""
    return lambda function: function


def data_of(rows: pl.DataFrame | Mapping[str, Any]) -> Rows:
    """Put a table inside the chart; a data frame would be cut off at 5,000 rows."""
    frame, floats = pl.DataFrame(rows), pl.selectors.float()
    known = frame.with_columns(pl.when(floats.is_finite()).then(floats).otherwise(None).name.keep())
    return Rows(values=known.to_dicts())


def chart_of(rows: pl.DataFrame | Mapping[str, Any]) -> alt.Chart:
    """Return a chart of a table, of which marks and channels follow."""
    chart: alt.Chart = alt.Chart(data_of(rows))
    return chart


def tips(*fields: str, form: str = ".4f") -> list[alt.Tooltip]:
    """Return tooltips of numbers in a format, and of fields with a type, such as `system:N`."""
    return [
        alt.Tooltip(field) if ":" in field else alt.Tooltip(f"{field}:Q", format=form)
        for field in fields
    ]


def zero_line(channel: str = "x") -> alt.Chart:
    """Return the line at 0, which is upright if 0 is across."""
    rule = chart_of({"zero": [0.0]}).mark_rule(color=GREY, aria=False)
    line: alt.Chart = rule.encode(**{channel: "zero:Q"})
    return line


def coded(
    channel: Callable[..., Any],
    field: str,
    values: Iterable[Any],
    looks: Iterable[Any],
    kind: str = "N",
    **options: Any,
) -> Any:
    """Return a channel that gives each value of a field its look."""
    scale = alt.Scale(domain=list(values), range=list(looks))
    return channel(f"{field}:{kind}", scale=scale, **options)


def by_colour(field: str, values: Sequence[str]) -> dict[str, Any]:
    """Distinguish lines by colour, and by their pattern too."""
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(values))]
    # After all colours the patterns move on by one.
    dashes = [list(DASHES[(k + k // len(COLOURS)) % len(DASHES)]) for k in range(len(values))]
    line: dict[str, Any] = {"symbolType": "stroke", "symbolSize": 700, "symbolStrokeWidth": 2}
    legend = alt.Legend(title=field, symbolLimit=0, labelLimit=300, symbolOpacity=1, **line)
    return {
        "color": coded(alt.Color, field, values, colours, legend=legend),
        "strokeDash": coded(alt.StrokeDash, field, values, dashes, legend=legend),
    }


def by_look(field: str, looks: Mapping[str, tuple[str, str]], **legend: Any) -> dict[str, Any]:
    """Distinguish points by colour and shape, which are given by value of a field."""
    colours, shapes = ([look[k] for look in looks.values()] for k in (0, 1))
    key = alt.Legend(**legend)
    return {
        "color": coded(alt.Color, field, looks, colours, legend=key),
        "shape": coded(alt.Shape, field, looks, shapes, legend=key),
    }


def banded(
    frame: pl.DataFrame,
    x: alt.X,
    y: alt.Y,
    marks: Mapping[str, Any],
    tooltip: Sequence[Any],
    **properties: Any,
) -> alt.LayerChart:
    """Draw lines, and behind each in its colour a band from `low` to `high`."""
    base = chart_of(frame).encode(x=x, tooltip=tooltip)
    band = base.mark_area(opacity=0.15, aria=False).encode(
        y="low:Q", y2="high:Q", color=marks["color"], tooltip=alt.value(None)
    )
    chart: alt.LayerChart = band + base.mark_line(point=True).encode(y=y, **marks)
    return chart.properties(**properties)


def themed(chart: Chart) -> Chart:
    """Give a chart the common look, and let notebooks show it without a network."""
    drawn: Any = chart
    configured: Chart = drawn.configure(
        background="white",
        font=FONT,
        # Room for names where none of the fonts is there, and the one in their place is wider.
        padding={"left": 14, "right": 24, "top": 5, "bottom": 5},
        view=alt.ViewConfig(strokeOpacity=0),
        axis=alt.AxisConfig(
            labelFontSize=12,
            titleFontSize=13,
            titleFontWeight="normal",
            # Labels in a wider font than the one that was measured do not touch the title.
            titlePadding=9,
            gridOpacity=0.5,
        ),
        # A label at the end of an axis stands below its tick, away from its neighbour.
        axisQuantitative=alt.AxisConfig(labelFlush=False, labelSeparation=6),
        header=alt.HeaderConfig(labelFontSize=13, titleFontSize=13),
        legend=alt.LegendConfig(
            labelFontSize=12, titleFontSize=13, titleFontWeight="normal", columnPadding=22
        ),
        title=alt.TitleConfig(fontSize=14, fontWeight="normal", anchor="start"),
    )
    return offline(configured)


def offline(chart: Chart) -> Chart:
    """Make a chart show itself as SVG.

    Altair's own way asks a network for its scripts. Another way that its user has chosen, such as
    `altair.renderers.enable("jupyter")`, stands.
    """
    kind: Any = type(chart)
    # The class and not the object, so that it survives what is set later: Altair copies then.
    # What is set in the common way would become a part of the specification.
    object.__setattr__(chart, "__class__", _shown_offline(kind))
    return chart


@cache
def _shown_offline(kind: Any) -> Any:
    class Offline(kind):  # type: ignore[misc]
        def _repr_mimebundle_(self, *given: Any, **options: Any) -> Any:
            if alt.renderers.active != "default":
                return super()._repr_mimebundle_(*given, **options)
            try:
                svg = rendered(self, "svg").decode()
            except MissingDependencyError as error:
                return {"text/plain": f"{described(self)} ({error})"}
            return {"image/svg+xml": svg, "text/plain": described(self)}

    Offline.__name__, Offline.__qualname__ = kind.__name__, kind.__qualname__
    return Offline


def row_size(count: int, steps: Sequence[tuple[float, int, int]] = STEPS) -> tuple[int, int]:
    """Return the height of a row and the type size for so many rows."""
    return next((step, size) for most, step, size in steps if count <= most)


def cell_size(count: int) -> tuple[int, int]:
    """Return the side of a cell and the type size for so many rows of a matrix."""
    return row_size(count, CELLS)


def named_axis(title: str | None, size: int, **more: Any) -> alt.Axis:
    """Return an axis of names, each of which is shown, cut where it is too long."""
    plain: dict[str, Any] = {"labelOverlap": False, "labelLimit": LABEL_LIMIT, "ticks": False}
    # Room for the longest name: beyond the extent the title would be among the names.
    plain |= {"grid": False, "maxExtent": LABEL_LIMIT + 40}
    return alt.Axis(title=title, labelFontSize=size, **(plain | more))


def columns_of(field: str, names: Sequence[str], axis: str, size: int, **more: Any) -> alt.X:
    """Return the channel that gives each name a column, in the order given."""
    upright = named_axis(axis, size, labelAngle=-90, labelLimit=COLUMN_LIMIT, **more)
    return alt.X(f"{field}:N", scale=alt.Scale(domain=list(names)), axis=upright)


def rows_of(field: str, names: Sequence[str], title: str = "", size: int = 0, **more: Any) -> alt.Y:
    """Return the channel that gives each name a row, in the order given."""
    # The title is above the names, where reading starts.
    above = {"titleAngle": 0, "titleAlign": "right", "titleBaseline": "bottom"}
    place = {"titleX": -8, "titleY": -6, "domain": False}
    axis = named_axis(title or field, size or row_size(len(names))[1], **above, **place, **more)
    # The order is that of the domain; a sort by list would become a chain of comparisons.
    return alt.Y(f"{field}:N", scale=alt.Scale(domain=list(names)), axis=axis)


def score_axis(
    field: str, title: str, count: int, scale: alt.Scale | None = None, **axis: Any
) -> alt.X:
    """Return the channel of scores beside so many rows; its axis need not begin at zero."""
    place = alt.Axis(orient="top" if count > TALL else "bottom", tickCount=8, **axis)
    return alt.X(f"{field}:Q", title=title, scale=scale or alt.Scale(zero=False), axis=place)


def interval_rows(
    frame: pl.DataFrame,
    row: str,
    value: str,
    by: str,
    looks: Mapping[str, tuple[str, str]],
    axis: str,
    tooltip: Sequence[Any],
    *,
    rules: Mapping[str, float],
    size: float,
    legend: Mapping[str, Any],
    band: pl.DataFrame | None = None,
    scale: alt.Scale | None = None,
    names: Sequence[str] | None = None,
    offset: Any = alt.Undefined,
    format: Any = alt.Undefined,
    **properties: Any,
) -> alt.LayerChart:
    """Draw a row for each name: a point at its value on lines from a low to a high bound.

    Parameters
    ----------
    frame
        The rows, in order; `row`, `value` and `by` are its columns of names, values and looks.
    looks
        Colours and shapes; those that occur are in the legend.
    axis, scale, format
        Title, scale and format of the axis of values.
    rules
        By end of the columns `low…` and `high…`, the width of their line.
    size
        Size of a point, less where rows are low.
    band
        The ends of a shaded band, a line if they are equal; without one, a line marks 0.
    names
        The names, where they are not those of the rows.
    """
    names = names or frame[row].to_list()
    step, _ = row_size(len(names))
    present = {kind: look for kind, look in looks.items() if kind in frame[by]}
    marks = by_look(by, present, orient="top", **legend)

    def x(field: str) -> alt.X:
        return score_axis(field, axis, len(names), scale, format=format)

    y = rows_of(row, names, labelPadding=6)
    base = chart_of(frame).encode(y=y, yOffset=offset, color=marks["color"], tooltip=tooltip)
    lines = [
        base.mark_rule(strokeWidth=width, aria=False).encode(x=x(f"low{end}"), x2=f"high{end}:Q")
        for end, width in rules.items()
    ]
    points = base.mark_point(filled=True, size=min(size, size * step / 20), opacity=1)
    below = zero_line()
    if band is not None:
        if band["low"].equals(band["high"]):
            # A band without width would not be visible.
            below = chart_of(band).mark_rule(color=GREY, aria=False).encode(x=x("low"))
        else:
            below = chart_of(band).mark_rect(color="black", opacity=0.09, aria=False)
            below = below.encode(x=x("low"), x2="high:Q")
    layers = [below, *lines, points.encode(x=x(value), shape=marks["shape"])]
    for_rows: dict[str, Any] = {} if offset is alt.Undefined else {"for": "position"}
    return overlaid(*layers, height=alt.Step(step, **for_rows), **properties)


def number_of_each(values: pl.Series, kinds: Iterable[str]) -> str:
    """Return how often each kind occurs, as in `2 better, 1 worse`."""
    counts = {kind: (values == kind).sum() for kind in kinds}
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)


def headed(title: str, *below: str) -> alt.TitleParams:
    lines = [part for line in below for part in wrap(line, LETTERS)]
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
