"""Common theme and components of charts."""

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
from cranfield.reporting.charts.saving import describe_chart, render_chart

Chart = TypeVar("Chart")
Function = TypeVar("Function")

COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7"),
    *("#E69F00", "#56B4E9", "#000000", "#999999"),
)
"""Colour-blind safe palette of Okabe and Ito (2008), without yellow, which is pale on white; grey
is last."""

DASHES = (
    *((1, 0), (6, 3), (2, 2), (8, 2, 2, 2)),
    *((12, 3), (12, 2, 2, 2, 2, 2), (1, 4), (4, 6)),
)
"""Patterns of lines, as many as colours, so that lines differ without colour too."""

GREY = "#999999"

FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
"""Fonts with equal widths, as files may be laid out with one and shown with another."""

LABEL_LIMIT = 260
"""Maximum width of a name, in pixels; longer names are cut, and a tooltip has the whole name."""

COLUMN_LIMIT = 170
"""Maximum height of the vertical name of a column, in pixels."""

STEPS = ((20, 24, 12), (60, 16, 12), (np.inf, 13, 11))
"""Maximum number of rows, height of a row, and font size, in pixels."""

CELLS = ((12, 28, 12), (40, 16, 11), (np.inf, 11, 9))
"""Maximum number of rows of a matrix, side of a cell, and font size, in pixels."""

LINE_LENGTH = 90
"""Maximum number of characters of a line below a title."""

MAX_ROWS_AXIS_BELOW = 40
"""Maximum number of rows with the axis below the chart; beyond, it is above."""


class Rows(alt.InlineData):
    """Data that is neither validated nor copied with a chart.

    Altair copies a chart at every change, which takes seconds for thousands of rows. Rows are never
    changed, so that copies can share them.
    """

    _class_is_valid_at_instantiation = False

    def __deepcopy__(self, memo: Any) -> Self:
        return self


def draws(name: str, result_class: str) -> Callable[[Function], Function]:
    """Declare the name of a chart and the class of its subject, which the registry reads."""
    return lambda function: function


def data_of(rows: pl.DataFrame | Mapping[str, Any]) -> Rows:
    """Embed a table in a chart, without the limit of 5,000 rows of data frames."""
    frame, floats = pl.DataFrame(rows), pl.selectors.float()
    finite = frame.with_columns(
        pl.when(floats.is_finite()).then(floats).otherwise(None).name.keep()
    )
    return Rows(values=frame.with_columns(finite).to_dicts())


def chart_of(rows: pl.DataFrame | Mapping[str, Any]) -> alt.Chart:
    """Return a chart of a table, without marks and channels."""
    chart: alt.Chart = alt.Chart(data_of(rows))
    return chart


def tips(*fields: str, form: str = ".4f") -> list[alt.Tooltip]:
    """Return tooltips of fields: formatted numbers unless they have a type, such as `system:N`."""
    return [
        alt.Tooltip(field) if ":" in field else alt.Tooltip(f"{field}:Q", format=form)
        for field in fields
    ]


def zero_line(channel: str = "x") -> alt.Chart:
    """Return the line at 0 of a channel."""
    rule = chart_of({"zero": [0.0]}).mark_rule(color=GREY, aria=False)
    line: alt.Chart = rule.encode(**{channel: "zero:Q"})
    return line


def map_values(
    channel: Callable[..., Any],
    field: str,
    values: Iterable[Any],
    looks: Iterable[Any],
    kind: str = "N",
    **options: Any,
) -> Any:
    """Return a channel that maps the values of a field to colours, shapes or dashes."""
    scale = alt.Scale(domain=list(values), range=list(looks))
    return channel(f"{field}:{kind}", scale=scale, **options)


def by_colour(field: str, values: Sequence[str]) -> dict[str, Any]:
    """Distinguish lines by colour and dashes."""
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(values))]
    # When colours repeat, dashes are shifted by one.
    dashes = [list(DASHES[(k + k // len(COLOURS)) % len(DASHES)]) for k in range(len(values))]
    line: dict[str, Any] = {"symbolType": "stroke", "symbolSize": 700, "symbolStrokeWidth": 2}
    legend = alt.Legend(title=field, symbolLimit=0, labelLimit=300, symbolOpacity=1, **line)
    return {
        "color": map_values(alt.Color, field, values, colours, legend=legend),
        "strokeDash": map_values(alt.StrokeDash, field, values, dashes, legend=legend),
    }


def by_look(field: str, looks: Mapping[str, tuple[str, str]], **legend: Any) -> dict[str, Any]:
    """Distinguish points by colour and shape, given for each value of a field."""
    colours, shapes = ([look[k] for look in looks.values()] for k in (0, 1))
    key = alt.Legend(**legend)
    return {
        "color": map_values(alt.Color, field, looks, colours, legend=key),
        "shape": map_values(alt.Shape, field, looks, shapes, legend=key),
    }


def draw_bands(
    frame: pl.DataFrame,
    x: alt.X,
    y: alt.Y,
    marks: Mapping[str, Any],
    tooltip: Sequence[Any],
    **properties: Any,
) -> alt.LayerChart:
    """Draw lines, and behind each a band of its colour from `low` to `high`."""
    base = chart_of(frame).encode(x=x, tooltip=tooltip)
    band = base.mark_area(opacity=0.15, aria=False).encode(
        y="low:Q", y2="high:Q", color=marks["color"], tooltip=alt.value(None)
    )
    chart: alt.LayerChart = band + base.mark_line(point=True).encode(y=y, **marks)
    return chart.properties(**properties)


def apply_theme(chart: Chart) -> Chart:
    """Apply the common theme; notebooks show the chart without a network."""
    untyped: Any = chart
    configured: Chart = untyped.configure(
        background="white",
        font=FONT,
        # Room for names in a wider replacement font.
        padding={"left": 14, "right": 24, "top": 5, "bottom": 5},
        view=alt.ViewConfig(strokeOpacity=0),
        axis=alt.AxisConfig(
            labelFontSize=12,
            titleFontSize=13,
            titleFontWeight="normal",
            # Keep labels in a wider replacement font away from the title.
            titlePadding=9,
            gridOpacity=0.5,
        ),
        # Keep a label at the end of an axis below its tick, away from its neighbour.
        axisQuantitative=alt.AxisConfig(labelFlush=False, labelSeparation=6),
        header=alt.HeaderConfig(labelFontSize=13, titleFontSize=13),
        legend=alt.LegendConfig(
            labelFontSize=12, titleFontSize=13, titleFontWeight="normal", columnPadding=22
        ),
        title=alt.TitleConfig(fontSize=14, fontWeight="normal", anchor="start"),
    )
    return offline(configured)


def offline(chart: Chart) -> Chart:
    """Make notebooks show a chart as SVG, as the default renderer of Altair needs a network.

    A renderer that the user enabled, such as `altair.renderers.enable("jupyter")`, has precedence.
    """
    kind: Any = type(chart)
    # Altair copies charts at every change, which preserves the class. A normal assignment would
    # become part of the specification.
    object.__setattr__(chart, "__class__", _offline_class(kind))
    return chart


@cache
def _offline_class(kind: Any) -> Any:
    class Offline(kind):  # type: ignore[misc]
        def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
            if alt.renderers.active != "default":
                return super()._repr_mimebundle_(*args, **kwargs)
            try:
                svg = render_chart(self, "svg").decode()
            except MissingDependencyError as error:
                return {"text/plain": f"{describe_chart(self)} ({error})"}
            return {"image/svg+xml": svg, "text/plain": describe_chart(self)}

    Offline.__name__, Offline.__qualname__ = kind.__name__, kind.__qualname__
    return Offline


def row_size(count: int, steps: Sequence[tuple[float, int, int]] = STEPS) -> tuple[int, int]:
    """Return the height of a row and the font size for a number of rows."""
    return next((step, size) for max_rows, step, size in steps if count <= max_rows)


def cell_size(count: int) -> tuple[int, int]:
    """Return the side of a cell and the font size for a number of rows of a matrix."""
    return row_size(count, CELLS)


def named_axis(title: str | None, size: int, **axis_options: Any) -> alt.Axis:
    """Return an axis that shows every name, cut if it is too long."""
    options: dict[str, Any] = {"labelOverlap": False, "labelLimit": LABEL_LIMIT, "ticks": False}
    # Without room for the longest name, the title would overlap the names.
    options |= {"grid": False, "maxExtent": LABEL_LIMIT + 40}
    return alt.Axis(title=title, labelFontSize=size, **(options | axis_options))


def columns_of(field: str, names: Sequence[str], axis: str, size: int, **options: Any) -> alt.X:
    """Return the channel with a column for each name, in this order."""
    upright = named_axis(axis, size, labelAngle=-90, labelLimit=COLUMN_LIMIT, **options)
    return alt.X(f"{field}:N", scale=alt.Scale(domain=list(names)), axis=upright)


def rows_of(
    field: str, names: Sequence[str], title: str = "", size: int = 0, **options: Any
) -> alt.Y:
    """Return the channel with a row for each name, in this order."""
    # The title is above the names.
    above = {"titleAngle": 0, "titleAlign": "right", "titleBaseline": "bottom"}
    place = {"titleX": -8, "titleY": -6, "domain": False}
    axis = named_axis(title or field, size or row_size(len(names))[1], **above, **place, **options)
    # The domain sets the order; sorting by a list would become a chain of comparisons.
    return alt.Y(f"{field}:N", scale=alt.Scale(domain=list(names)), axis=axis)


def score_axis(
    field: str, title: str, count: int, scale: alt.Scale | None = None, **axis: Any
) -> alt.X:
    """Return the channel of scores beside `count` rows; its axis need not begin at zero."""
    place = alt.Axis(orient="top" if count > MAX_ROWS_AXIS_BELOW else "bottom", tickCount=8, **axis)
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
    """Draw a row for each name: its value as a point, and its intervals as lines.

    Parameters
    ----------
    frame
        The rows, in order; `row`, `value` and `by` are its columns of names, values and looks.
    looks
        Colours and shapes by value of `by`; the legend contains those that occur.
    axis, scale, format
        Title, scale and format of the axis of values.
    rules
        Width of the line of each interval, by the suffix of its columns `low…` and `high…`.
    size
        Size of a point, reduced for rows of small height.
    band
        Ends of a shaded band, or of a line if they are equal; by default a line marks 0.
    names
        The names, if they are not those of the rows.
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
    background = zero_line()
    if band is not None:
        if band["low"].equals(band["high"]):
            # A band without width is invisible.
            background = chart_of(band).mark_rule(color=GREY, aria=False).encode(x=x("low"))
        else:
            background = chart_of(band).mark_rect(color="black", opacity=0.09, aria=False)
            background = background.encode(x=x("low"), x2="high:Q")
    layers = [background, *lines, points.encode(x=x(value), shape=marks["shape"])]
    for_rows: dict[str, Any] = {} if offset is alt.Undefined else {"for": "position"}
    return combine(*layers, height=alt.Step(step, **for_rows), **properties)


def number_of_each(values: pl.Series, kinds: Iterable[str]) -> str:
    """Count the values of each kind, as in `2 better, 1 worse`."""
    counts = {kind: (values == kind).sum() for kind in kinds}
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)


def headline(title: str, *below: str) -> alt.TitleParams:
    lines = [part for line in below for part in wrap(line, LINE_LENGTH)]
    return alt.TitleParams(
        text=title,
        subtitle=lines or alt.Undefined,
        subtitleFontSize=12,
        subtitleColor="#555555",
        subtitlePadding=4,
        offset=10,
    )


def combine(*layers: Any, **properties: Any) -> alt.LayerChart:
    """Layer charts, the last on top, and apply the common theme."""
    return apply_theme(alt.LayerChart(layer=[*layers], **properties))


def space_out(
    positions: ArrayLike, sizes: ArrayLike, low: float = -np.inf, high: float = np.inf
) -> Floats:
    r"""Move items on a line by the least squares, so that they do not overlap.

    .. math:: \min_p \sum_i (p_i - x_i)^2 \quad \text{with} \quad
        p_{i+1} - p_i \ge \tfrac{1}{2} (s_i + s_{i+1})

    Notes
    -----
    After subtracting the space of the items before each, positions only have to be in order, which
    is isotonic regression.
    """
    from scipy.optimize import isotonic_regression

    places, room = np.asarray(positions, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if not places.size:
        return places
    before = np.concatenate(([0.0], np.cumsum((room[1:] + room[:-1]) / 2)))
    first, last = low + room[0] / 2, high - room[-1] / 2 - before[-1]
    free = np.asarray(isotonic_regression(places - before).x, dtype=np.float64)
    return np.asarray(np.clip(free, first, max(first, last)) + before)
