"""What all charts have in common: colours, type sizes, and how data gets in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl

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


def data_of(frame: pl.DataFrame) -> alt.InlineData:
    """Put a table inside the chart; a data frame would be cut off at 5,000 rows."""
    import altair as alt

    floats = pl.selectors.float()
    known = frame.with_columns(pl.when(floats.is_finite()).then(floats).otherwise(None).name.keep())
    return alt.InlineData(values=known.to_dicts())


def by_colour(field: str, values: Sequence[str], title: str | None = None) -> dict[str, Any]:
    """Tell lines apart by colour, and by their pattern too.

    Parameters
    ----------
    field
        Column that says what a line is of.
    values
        Its values, in order.
    title
        Of the legend; by default the column.

    Returns
    -------
    dict
        Channels `color` and `strokeDash`.
    """
    import altair as alt

    colours = [COLOURS[k % len(COLOURS)] for k in range(len(values))]
    dashes = [list(DASHES[(k // len(COLOURS)) % len(DASHES)]) for k in range(len(values))]
    named = field if title is None else title
    shown = alt.Legend(title=named, symbolLimit=0, labelLimit=300, symbolOpacity=1)
    channel = f"{_escaped(field)}:N"
    return {
        "color": alt.Color(
            channel, scale=alt.Scale(domain=list(values), range=colours), legend=shown
        ),
        "strokeDash": alt.StrokeDash(
            channel, scale=alt.Scale(domain=list(values), range=dashes), legend=shown
        ),
    }


def _escaped(field: str) -> str:
    return field.replace(":", r"\:").replace(".", r"\.").replace("[", r"\[").replace("]", r"\]")


def themed(chart: Chart) -> Chart:
    """Give a finished chart the common look."""
    found: Any = chart
    return (  # type: ignore[no-any-return]
        found.configure(background="white", font="sans-serif")
        .configure_view(strokeOpacity=0)
        .configure_axis(
            labelFontSize=12, titleFontSize=13, titleFontWeight="normal", gridOpacity=0.5
        )
        .configure_header(labelFontSize=13, titleFontSize=13)
        .configure_legend(labelFontSize=12, titleFontSize=13, titleFontWeight="normal")
        .configure_title(fontSize=14, fontWeight="normal", anchor="start")
    )
