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

DASHES = ((1, 0), (6, 3), (2, 2), (8, 2, 2, 2), (12, 3), (12, 2, 2, 2, 2, 2), (1, 4), (4, 6))
"""Dash patterns of lines, one for each colour, which distinguish lines without colour."""

GREY = "#999999"

FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
"""Metric-compatible fonts, as a file may be laid out with one font and displayed with another."""

LABEL_LIMIT = 260  # maximum width of a name, in pixels
COLUMN_LIMIT = 170  # maximum height of the vertical name of a column, in pixels

STEPS = ((20, 24, 12), (60, 16, 12), (np.inf, 13, 11))
"""Height of a row and font size, in pixels, by maximum number of rows, which comes first."""

CELL_STEPS = ((12, 28, 12), (40, 16, 11), (np.inf, 11, 9))  # side of a cell and font size, as STEPS
LINE_LENGTH = 90  # maximum number of characters of a line below a title
MAX_ROWS_AXIS_BELOW = 40  # with more rows, the axis is above the chart


class SharedData(alt.InlineData):
    """Data that copies of a chart share, as copying thousands of rows takes seconds."""

    _class_is_valid_at_instantiation = False

    def __deepcopy__(self, memo: Any) -> Self:
        return self


def declare_chart(name: str, subject: str) -> Callable[[Function], Function]:
    """Declare the name and the subject of a chart: a class, `measures` or `a length`.

    The registry of charts reads the declaration from the source, so the function is unchanged.
    """
    return lambda function: function


def embed_rows(rows: pl.DataFrame | Mapping[str, Any]) -> SharedData:
    """Embed a table without Altair's limit of 5,000 rows; non-finite numbers become null."""
    floats = pl.selectors.float()
    finite_values = pl.when(floats.is_finite()).then(floats).otherwise(None).name.keep()
    return SharedData(values=pl.DataFrame(rows).with_columns(finite_values).to_dicts())


def start_chart(rows: pl.DataFrame | Mapping[str, Any]) -> alt.Chart:
    """Return a chart of a table, without a mark and without channels."""
    chart: alt.Chart = alt.Chart(embed_rows(rows))
    return chart


def make_tips(*fields: str, format: str = ".4f", **titles: str) -> list[alt.Tooltip]:
    """Return tooltips of fields; fields without a type suffix, such as `:N`, are numbers."""
    return [
        *(
            alt.Tooltip(field) if ":" in field else alt.Tooltip(f"{field}:Q", format=format)
            for field in fields
        ),
        *(alt.Tooltip(f"{k}:Q", title=title, format=format) for k, title in titles.items()),
    ]


def draw_zero(channel: str = "x") -> alt.Chart:
    """Return the line at 0 of a channel."""
    rule = start_chart({"zero": [0.0]}).mark_rule(color=GREY, aria=False)
    line: alt.Chart = rule.encode(**{channel: "zero:Q"})
    return line


def map_values(
    channel: Callable[..., Any],
    field: str,
    values: Iterable[Any],
    outputs: Iterable[Any],
    encoding: str = "N",
    **options: Any,
) -> Any:
    """Return a channel that maps the values of a field to colours, shapes or dashes."""
    scale = alt.Scale(domain=list(values), range=list(outputs))
    return channel(f"{field}:{encoding}", scale=scale, **options)


def encode_colours(field: str, values: Sequence[str]) -> dict[str, Any]:
    """Return channels that distinguish the values of a field by the colour and dashes of lines."""
    colours = [COLOURS[k % len(COLOURS)] for k in range(len(values))]
    # When colours repeat, dashes are shifted by one.
    dashes = [list(DASHES[(k + k // len(COLOURS)) % len(DASHES)]) for k in range(len(values))]
    line: dict[str, Any] = {"symbolType": "stroke", "symbolSize": 700, "symbolStrokeWidth": 2}
    legend = alt.Legend(title=field, symbolLimit=0, labelLimit=300, symbolOpacity=1, **line)
    return {
        "color": map_values(alt.Color, field, values, colours, legend=legend),
        "strokeDash": map_values(alt.StrokeDash, field, values, dashes, legend=legend),
    }


def encode_markers(
    field: str, markers: Mapping[str, tuple[str, str]], **legend: Any
) -> dict[str, Any]:
    """Return channels that distinguish the values of a field by the colour and shape of points."""
    colours, shapes = ([marker[k] for marker in markers.values()] for k in (0, 1))
    shared_legend = alt.Legend(**legend)
    return {
        "color": map_values(alt.Color, field, markers, colours, legend=shared_legend),
        "shape": map_values(alt.Shape, field, markers, shapes, legend=shared_legend),
    }


def draw_bands(
    frame: pl.DataFrame,
    x: alt.X,
    y: alt.Y,
    channels: Mapping[str, Any],
    tooltip: Sequence[Any],
    **properties: Any,
) -> alt.LayerChart:
    """Draw lines, each on a band of its colour from `low` to `high`."""
    base = start_chart(frame).encode(x=x, tooltip=tooltip)
    band = base.mark_area(opacity=0.15, aria=False).encode(
        y="low:Q", y2="high:Q", color=channels["color"], tooltip=alt.value(None)
    )
    chart: alt.LayerChart = band + base.mark_line(point=True).encode(y=y, **channels)
    return chart.properties(**properties)


def apply_theme(chart: Chart) -> Chart:
    """Apply the common theme, and make notebooks show the chart without a network."""
    untyped_chart: Any = chart
    configured_chart: Chart = untyped_chart.configure(
        background="white",
        font=FONT,
        # Space for names in a wider replacement font.
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
    return show_offline(configured_chart)


def show_offline(chart: Chart) -> Chart:
    """Make notebooks show a chart as SVG without a network, unless the user chose a renderer."""
    chart_class: Any = type(chart)
    # Altair copies charts at every change, and copies keep the class. A normal assignment would
    # become part of the specification.
    object.__setattr__(chart, "__class__", _make_offline_class(chart_class))
    return chart


@cache
def _make_offline_class(chart_class: Any) -> Any:
    class Offline(chart_class):  # type: ignore[misc]
        def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
            if alt.renderers.active != "default":
                return super()._repr_mimebundle_(*args, **kwargs)
            try:
                svg = render_chart(self, "svg").decode()
            except MissingDependencyError as error:
                return {"text/plain": f"{describe_chart(self)} ({error})"}
            return {"image/svg+xml": svg, "text/plain": describe_chart(self)}

    Offline.__name__, Offline.__qualname__ = chart_class.__name__, chart_class.__qualname__
    return Offline


def size_rows(n_rows: int, steps: Sequence[tuple[float, int, int]] = STEPS) -> tuple[int, int]:
    """Return the height of a row and the font size for a number of rows."""
    return next((step, size) for max_rows, step, size in steps if n_rows <= max_rows)


def size_cells(n_rows: int) -> tuple[int, int]:
    """Return the side of a cell and the font size for a number of rows of a matrix."""
    return size_rows(n_rows, CELL_STEPS)


def make_axis(title: str | None, size: int, **axis_options: Any) -> alt.Axis:
    """Return an axis that shows all names; long names are cut."""
    options: dict[str, Any] = {"labelOverlap": False, "labelLimit": LABEL_LIMIT, "ticks": False}
    # Without space for the longest name, the title would overlap the names.
    options |= {"grid": False, "maxExtent": LABEL_LIMIT + 40}
    return alt.Axis(title=title, labelFontSize=size, **(options | axis_options))


def encode_columns(field: str, names: Sequence[str], axis: str, size: int, **options: Any) -> alt.X:
    """Return the channel with a column for each name, in this order."""
    vertical_axis = make_axis(axis, size, labelAngle=-90, labelLimit=COLUMN_LIMIT, **options)
    return alt.X(f"{field}:N", scale=alt.Scale(domain=list(names)), axis=vertical_axis)


def encode_rows(
    field: str, names: Sequence[str], title: str = "", size: int = 0, **options: Any
) -> alt.Y:
    """Return the channel with a row for each name, in this order."""
    # The title is above the names.
    alignment = {"titleAngle": 0, "titleAlign": "right", "titleBaseline": "bottom"}
    options |= {**alignment, "titleX": -8, "titleY": -6, "domain": False}
    axis = make_axis(title or field, size or size_rows(len(names))[1], **options)
    # The domain sets the order; sorting by a list would become a chain of comparisons.
    return alt.Y(f"{field}:N", scale=alt.Scale(domain=list(names)), axis=axis)


def encode_score(
    field: str, title: str, n_rows: int, scale: alt.Scale | None = None, **axis: Any
) -> alt.X:
    """Return the channel of scores for `n_rows` rows; by default the axis may begin above zero."""
    is_above = n_rows > MAX_ROWS_AXIS_BELOW
    options = alt.Axis(orient="top" if is_above else "bottom", tickCount=8, **axis)
    return alt.X(f"{field}:Q", title=title, scale=scale or alt.Scale(zero=False), axis=options)


def draw_interval_rows(
    frame: pl.DataFrame,
    row: str,
    value: str,
    kind: str,
    markers: Mapping[str, tuple[str, str]],
    axis_title: str,
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

    `row`, `value` and `kind` are columns of names, values and kinds; `markers` has the colour and
    shape of each kind. `rules` are line widths of intervals, by the prefix of their columns `…low`
    and `…high`. `band` has the bounds of a shaded band (a line if they are equal); by default a
    line marks 0.
    `names` has all names in order; it is required if a name has no row or several rows.
    """
    names = names or frame[row].to_list()
    step, _ = size_rows(len(names))
    used_markers = {name: marker for name, marker in markers.items() if name in frame[kind]}
    channels = encode_markers(kind, used_markers, orient="top", **legend)

    def to_x(field: str) -> alt.X:
        return encode_score(field, axis_title, len(names), scale, format=format)

    y = encode_rows(row, names, labelPadding=6)
    base = start_chart(frame).encode(y=y, yOffset=offset, color=channels["color"], tooltip=tooltip)
    lines = [
        base.mark_rule(strokeWidth=width, aria=False).encode(
            x=to_x(f"{prefix}low"), x2=f"{prefix}high:Q"
        )
        for prefix, width in rules.items()
    ]
    points = base.mark_point(filled=True, size=min(size, size * step / 20), opacity=1)
    background = draw_zero()
    if band is not None:
        if band["low"].equals(band["high"]):
            # A band without width is invisible.
            background = start_chart(band).mark_rule(color=GREY, aria=False).encode(x=to_x("low"))
        else:
            background = start_chart(band).mark_rect(color="black", opacity=0.09, aria=False)
            background = background.encode(x=to_x("low"), x2="high:Q")
    layers = [background, *lines, points.encode(x=to_x(value), shape=channels["shape"])]
    step_options: dict[str, Any] = {} if offset is alt.Undefined else {"for": "position"}
    return combine_layers(*layers, height=alt.Step(step, **step_options), **properties)


def format_counts(values: pl.Series, kinds: Iterable[str]) -> str:
    """Format the number of values of each kind, such as `2 better, 1 worse`."""
    counts = {kind: (values == kind).sum() for kind in kinds}
    return ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)


def write_title(title: str, *subtitles: str) -> alt.TitleParams:
    """Return a title with smaller lines below it, wrapped to the line length."""
    lines = [line for subtitle in subtitles for line in wrap(subtitle, LINE_LENGTH)]
    return alt.TitleParams(
        text=title,
        subtitle=lines or alt.Undefined,
        subtitleFontSize=12,
        subtitleColor="#555555",
        subtitlePadding=4,
        offset=10,
    )


def combine_layers(*layers: Any, **properties: Any) -> alt.LayerChart:
    """Layer charts, the last on top, and apply the common theme."""
    return apply_theme(alt.LayerChart(layer=[*layers], **properties))


def space_out(
    positions: ArrayLike, sizes: ArrayLike, low: float = -np.inf, high: float = np.inf
) -> Floats:
    r"""Move items at positions x, of sizes s, so that they do not overlap, as little as possible.

    .. math:: \min_p \sum_i (p_i - x_i)^2 \quad \text{with} \quad
        p_{i+1} - p_i \ge \tfrac{1}{2} (s_i + s_{i+1})

    Items stay between `low` and, if there is enough space, `high`. After the space of the previous
    items is subtracted from each position, positions only have to be in order, which is isotonic
    regression.
    """
    from scipy.optimize import isotonic_regression

    x, s = np.asarray(positions, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if not x.size:
        return x
    offsets = np.concatenate(([0.0], np.cumsum((s[1:] + s[:-1]) / 2)))
    low_end, high_end = low + s[0] / 2, high - s[-1] / 2 - offsets[-1]
    shifted_positions = np.asarray(isotonic_regression(x - offsets).x, dtype=np.float64)
    return np.asarray(np.clip(shifted_positions, low_end, max(low_end, high_end)) + offsets)
