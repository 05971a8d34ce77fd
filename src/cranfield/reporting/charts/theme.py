"""What all charts have in common: colours, type sizes, and how data gets in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

from cranfield.reporting.charts.notebooks import offline

if TYPE_CHECKING:
    import altair as alt

Chart = TypeVar("Chart")

COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#999999",
)
"""The palette of Okabe and Ito (2008), which people who do not see all colours can tell apart;
yellow, which is pale on white, is left out, and grey comes last."""

DASHES = ((1, 0), (6, 3), (2, 2), (8, 2, 2, 2))
"""Patterns of lines, for when the colours have been used up."""


FONT = "Arial, Helvetica, Liberation Sans, sans-serif"
"""Fonts of one width: files are laid out with one of them, and shown with another elsewhere."""


def data_of(frame: pl.DataFrame) -> alt.InlineData:
    """Put a table inside the chart; a data frame would be cut off at 5,000 rows."""
    floats = pl.selectors.float()
    known = frame.with_columns(pl.when(floats.is_finite()).then(floats).otherwise(None).name.keep())
    found: alt.InlineData = _rows_kind()(values=known.to_dicts())
    return found


@cache
def _rows_kind() -> Any:
    """Make a kind of data that is neither checked value by value nor copied with every chart.

    Altair copies a chart whenever something is added to it; with some thousand rows that takes
    seconds. Rows are never changed, so that all copies can share them.
    """
    import altair as alt

    class Rows(alt.InlineData):
        _class_is_valid_at_instantiation = False

        def __deepcopy__(self, memo: Any) -> Rows:
            return self

    return Rows


def by_colour(field: str, values: Sequence[str], title: str | None = None) -> dict[str, Any]:
    """Tell lines apart by colour, and by their pattern too."""
    import altair as alt

    colours = [COLOURS[k % len(COLOURS)] for k in range(len(values))]
    dashes = [list(DASHES[(k // len(COLOURS)) % len(DASHES)]) for k in range(len(values))]
    legend = alt.Legend(
        title=field if title is None else title, symbolLimit=0, labelLimit=300, symbolOpacity=1
    )
    name = _escaped(field)
    return {
        "color": coded(alt.Color, name, values, colours, legend=legend),
        "strokeDash": coded(alt.StrokeDash, name, values, dashes, legend=legend),
    }


def banded(base: Any, line: Any, marks: dict[str, Any], **properties: Any) -> Any:
    """Lay a line over the band from `low` to `high` in its colour."""
    band = base.mark_area(opacity=0.15).encode(y="low:Q", y2="high:Q", color=marks["color"])
    return (band + line).properties(**properties)


def coded(
    channel: Callable[..., Any],
    field: str,
    values: Iterable[Any],
    looks: Iterable[Any],
    kind: str = "N",
    **options: Any,
) -> Any:
    """Return a channel that gives each value of a field its look."""
    import altair as alt

    scale = alt.Scale(domain=list(values), range=list(looks))
    return channel(f"{field}:{kind}", scale=scale, **options)


def _escaped(field: str) -> str:
    return field.replace(":", r"\:").replace(".", r"\.").replace("[", r"\[").replace("]", r"\]")


def themed(chart: Chart) -> Chart:
    import altair as alt

    found: Any = chart
    made: Chart = found.configure(
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
    return offline(made)
