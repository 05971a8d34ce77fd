"""A chart of how the values of a measure are distributed over all runs of a length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cranfield.base.errors import PolicyError
from cranfield.measures import Measure
from cranfield.reporting.charts.choosing import Named, named
from cranfield.reporting.charts.of_scales.shares import DRAWN, shares_up_to
from cranfield.reporting.charts.theme import COLOURS, coded, data_of, themed
from cranfield.scales.images.making import image
from cranfield.scales.images.values import Image
from cranfield.scales.runs import check_size

if TYPE_CHECKING:
    import altair as alt

WIDTH, HEIGHT = 150, 150
STRAIGHT = 1e-10
"""Area below which three points of a unit square stand on a straight line."""

SHARES = {"runs": "share of runs", "values": "share of values"}
"""What is counted up to a value: runs as in the paper, or values as on its interval scale."""


def distribution_chart(
    measures: Named,
    lengths: int | Sequence[int],
    grades: int = 1,
    *,
    judgments: Sequence[int] | int | None = None,
) -> alt.ConcatChart:
    """Draw the values of measures over the share of runs, and of values, that are not above them.

    The interval-scaled version of a measure is its share of values. So that curve is a straight
    line just when the measure has equal steps; how far it bends away from the grey line is what
    interval scaling changes. The curve of runs says which values are common.

    Parameters
    ----------
    measures
        A measure or several, for a row of panels each; the keys of a mapping are their titles.
    lengths
        A number of ranks or several, for a column each.
    grades
        The highest grade.
    judgments
        The topic's judgments, as for :func:`cranfield.image`; by default as many relevant documents
        as there are ranks.

    Raises
    ------
    PolicyError
        For images that are out of reach, and for no measure or length.

    Notes
    -----
    Figures 3 to 5 of Ferrante, Ferro and Fuhr (2021), which have the curve of runs.

    Examples
    --------
    >>> chart = distribution_chart(["P", "RR"], [5, 10]).to_dict()
    >>> [panel["title"]["text"] for panel in chart["concat"]]
    ['P, N = 5', 'P, N = 10', 'RR, N = 5', 'RR, N = 10']
    """
    import altair as alt

    sizes = list(dict.fromkeys(lengths)) if isinstance(lengths, Iterable) else [lengths]
    if not sizes:
        raise PolicyError("there are no lengths of runs to draw")
    for size in sizes:
        check_size(size, grades)
    panels = [
        _panel(image(_at(measure, length), length, grades, judgments=judgments), title)
        for title, measure in named(measures).items()
        for length in sizes
    ]
    return themed(
        alt.concat(*panels, columns=max(1, len(sizes))).properties(
            description="Values of measures over the share of all runs, and of all values, up to"
            " them; the values of an interval scale lie on the straight line."
        )
    )


def _at(measure: str | Measure, length: int) -> str | Measure:
    if isinstance(measure, Measure) and measure.cutoff is None:
        return measure @ length
    return measure


def _panel(found: Image, title: str) -> alt.LayerChart:
    import altair as alt

    table = shares_up_to(found)
    low, high = table["value"][0], table["value"][-1]
    top = found.measure.info.range[1]
    scale = alt.Scale(domain=[min(0.0, low), top if np.isfinite(top) else high], nice=False)
    y = alt.Y("value:Q", title="value", scale=scale, axis=alt.Axis(tickCount=5))
    x = alt.X(
        "share:Q",
        title="share up to the value",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2~f"),
    )
    straight = alt.Chart(data_of(pl.DataFrame({"share": [0.0, 1.0], "value": [low, high]})))
    layers: list[alt.Chart] = [straight.mark_line(color="#bbbbbb", strokeWidth=5).encode(x=x, y=y)]
    domain = SHARES.values()
    for kind in ("runs", "values"):
        if table[kind].null_count():
            continue
        layers.append(
            alt.Chart(data_of(curve(table, kind)))
            .mark_line(strokeWidth=1.75)
            .encode(
                x=x,
                y=y,
                order="order:Q",
                color=coded(alt.Color, "of", domain, COLOURS[:2], title=None),
                strokeDash=coded(alt.StrokeDash, "of", domain, [[1, 0], [3, 3]], title=None),
            )
        )
    about = f"{_short(found.size)} values of {_short(found.runs)} runs"
    drawn: Any = alt.layer(*layers)
    panel: alt.LayerChart = drawn.properties(
        width=WIDTH,
        height=HEIGHT,
        title=alt.TitleParams(f"{title}, N = {found.length}", subtitle=about, subtitleFontSize=12),
    )
    return panel


def curve(table: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Draw a line through the values: columns `share`, `value`, `order` and `of`.

    Runs that share a value make a level piece; points that nobody would see are left out.
    """
    if kind == "runs":
        ends = table.select("value", pl.concat_list("runs below", "runs").alias("share"))
        points = ends.explode("share")
    else:
        points = table.select("value", pl.col("values").alias("share"))
    low, high = points["value"][0], points["value"][-1]
    unit = max(float(high - low), 1e-300)
    cell = [
        ((pl.col(one) - start) / size * DRAWN).floor().alias(f"{one} cell")
        for one, start, size in (("share", 0.0, 1.0), ("value", low, unit))
    ]
    number = pl.col("order")
    edge = (number == number.min()) | (number == number.max())
    across, up = pl.col("share"), pl.col("value") / unit
    # Twice the area of a point with its neighbours, which is 0 on a straight line.
    area = across.diff() * up.diff().shift(-1) - up.diff() * across.diff().shift(-1)
    return (
        points.with_row_index("order")
        .with_columns(cell)
        .filter(edge.over("share cell", "value cell"))
        .filter((area.abs() > STRAIGHT).fill_null(True))
        .select("share", "value", "order", pl.lit(SHARES[kind]).alias("of"))
    )


def _short(count: int) -> str:
    if count < 10**7:
        return f"{count:,}"
    power = len(str(count)) - 1
    return f"{count * 1000 // 10**power / 1000:.2f}e{power}"
