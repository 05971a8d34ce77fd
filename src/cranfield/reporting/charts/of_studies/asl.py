"""A chart of achieved significance levels: which measures tell more pairs of systems apart."""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING

import polars as pl

from cranfield.base.errors import PolicyError
from cranfield.meta.of_measures.discriminative import DiscriminativePower
from cranfield.reporting.charts.layout import overlaid
from cranfield.reporting.charts.theme import by_colour, data_of

if TYPE_CHECKING:
    import altair as alt

WIDTH, HEIGHT = 460, 320

FEW = 40
"""Pairs that are drawn as points, too."""


def asl_chart(power: DiscriminativePower, *, largest: float = 0.15) -> alt.LayerChart:
    """Draw the p-values of each measure from the smallest: the lower the curve, the more power.

    Where a curve crosses the line of the significance level, the pairs to its left are those that
    the measure tells apart.

    Parameters
    ----------
    power
        What :func:`discriminative_power` found.
    largest
        The largest p-value that is shown, above 0 and up to 1. Few decisions are made high up.

    Raises
    ------
    PolicyError
        For a largest p-value that is none.

    Notes
    -----
    Figure 16 of Sakai (2013). Points that fall on the same half pixel across are left out, but for
    the first and the last of them, so that the curve looks as if all were there.

    Examples
    --------
    >>> import cranfield as cf
    >>> from cranfield.meta import discriminative_power
    >>> scores = cf.Scores([[0.1, 0.3], [0.2, 0.5], [0.4, 0.4], [0, 0.1]], "abcd", ["x", "y"])
    >>> chart = asl_chart(discriminative_power({"AP": scores}, resamples=100))
    >>> len(chart.to_dict()["layer"])
    4
    """
    import altair as alt

    if not isinstance(largest, Real) or not 0 < largest <= 1:
        raise PolicyError(f"the largest p is a number above 0 and up to 1, not {largest!r}")
    pairs = power.systems * (power.systems - 1) // 2
    curves = power.curves
    # The curve that stays low longest sets the width; each goes on to the first point above.
    low = pl.col("p") <= largest
    reach = int(curves.filter(low)["rank"].max() or 0)
    end = min(max(reach, 2), pairs)
    within = curves.filter(
        (pl.col("rank") <= low.sum().over("measure") + 1) & pl.col("rank").le(end)
    )
    names = power.summary["measure"].to_list()
    line = (
        alt.Chart(data_of(thinned(within, end)))
        .mark_line(clip=True, point=pairs <= FEW, strokeWidth=1.75)
        .encode(
            x=alt.X(
                "rank:Q",
                title=f"pairs of systems by p, of {pairs:,}",
                scale=alt.Scale(domain=[0, end], nice=False),
                axis=alt.Axis(format=",d", tickMinStep=1),
            ),
            y=alt.Y(
                "p:Q",
                title="p-value (achieved significance level)",
                scale=alt.Scale(domain=[0, largest], nice=False),
            ),
            tooltip=["measure:N", "rank:Q", alt.Tooltip("p:Q", format=".4f")],
            **by_colour("measure", names),
        )
    )
    layers: list[alt.Chart] = [line]
    if power.alpha <= largest:
        level = data_of(pl.DataFrame({"p": [power.alpha], "text": [f"α = {power.alpha:g}"]}))
        rule = alt.Chart(level).mark_rule(color="#666666").encode(y="p:Q")
        text = alt.Chart(level).encode(y="p:Q", x=alt.value(0), text="text:N")
        place = {"align": "left", "baseline": "bottom", "dx": 4, "dy": -2, "fontSize": 12}
        # Curves may pass here: a white rim keeps the words apart from them.
        rim = text.mark_text(stroke="white", strokeWidth=4, **place)
        layers = [rule, line, rim, text.mark_text(color="#666666", **place)]
    return overlaid(*layers, width=WIDTH, height=HEIGHT)


def thinned(curves: pl.DataFrame, end: int, columns: int = 2 * WIDTH) -> pl.DataFrame:
    """Keep the first and the last point of a measure in each column of the chart, up to `end`."""
    rank = pl.col("rank")
    with_column = curves.with_columns((rank * columns // max(end, 1)).alias("column"))
    edge = (rank == rank.min()) | (rank == rank.max())
    return with_column.filter(edge.over("measure", "column")).drop("column")
