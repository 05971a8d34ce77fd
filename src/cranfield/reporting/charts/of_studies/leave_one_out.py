"""A chart of scores and ranks with and without a contributor's unique documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from cranfield.base.errors import PolicyError, quoted
from cranfield.meta.of_collections.left_out import LeaveOneOut
from cranfield.reporting.charts.theme import COLOURS, coded, data_of, themed

if TYPE_CHECKING:
    import altair as alt

SIDE = 260
"""Width and height of a panel: scores on both axes have one scale."""

SIZES = ("1 run", "2 runs", "3 or more")
"""How many runs of a team contributed."""


def leave_one_out_chart(found: LeaveOneOut, measure: str | None = None) -> alt.ConcatChart:
    """Draw each system's score and rank, with all judgments and without those of its team alone.

    What is on the line did not change. Points below it in the panel of scores lost; points below it
    in the panel of ranks, where rank 1 is on top, fell. Each kind of list has a row of panels.
    Colours tell how many runs of the team contributed; there is one colour where each run was left
    out alone, and systems without a score are not drawn.

    Parameters
    ----------
    found
        What :func:`leave_one_out` found.
    measure
        Text form of the measure; by default the first.

    Raises
    ------
    PolicyError
        When the study has no such measure.

    Examples
    --------
    >>> runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "z": 1.0}}}
    >>> from cranfield.meta import leave_one_out
    >>> chart = leave_one_out_chart(leave_one_out(runs, {"q": {"x": 1, "y": 1, "z": 0}}, "AP"))
    >>> len(chart.to_dict()["concat"])
    4
    """
    import altair as alt

    measure = found.measures[0] if measure is None else measure
    if measure not in found.measures:
        names = ", ".join(found.measures)
        raise PolicyError(f"the study has no measure {quoted(measure)}: {names}")
    rows = _rows(found, measure)
    panels = []
    for kind in found.lists:
        part = rows.filter(pl.col("list") == kind)
        for what, title in (("score", f"{measure}, {kind} lists"), ("rank", "Ranks by it")):
            panels.append(_panel(part, what, title, found.unit))
    return themed(alt.concat(*panels, columns=2))


def _rows(found: LeaveOneOut, measure: str) -> pl.DataFrame:
    sizes = {0: "none", **dict(enumerate(SIZES, 1))}
    runs = pl.col("contributing").clip(0, len(SIZES)).replace_strict(sizes)
    return (
        found.systems.filter((pl.col("measure") == measure) & pl.col("before").is_not_null())
        .join(
            found.teams.select("team", runs.alias("runs of the team")),
            on="team",
            maintain_order="left",
        )
        .rename({"before": "score before", "after": "score after"})
        .select(
            *("list", "system", "team", "runs of the team"),
            *("score before", "score after", "rank before", "rank after"),
        )
    )


def _panel(rows: pl.DataFrame, what: str, title: str, unit: str) -> Any:
    import altair as alt

    before, after = f"{what} before", f"{what} after"
    least, most = _ends(rows, what)
    scale = alt.Scale(domain=[least, most], nice=False, zero=False)
    # Rank 1 is on top, as in a list.
    upright = scale if what == "score" else alt.Scale(domain=[most, least], nice=False, zero=False)
    line = (
        alt.Chart(data_of(pl.DataFrame({"x": [least, most], "y": [least, most]})))
        .mark_line(color="#999999", strokeWidth=1)
        .encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=upright))
    )
    sizes = [size for size in ("none", *SIZES) if size in rows["runs of the team"].to_list()]
    colour = (
        alt.value(COLOURS[0])
        if unit == "run"
        else coded(
            alt.Color,
            "runs of the team",
            sizes,
            COLOURS[: len(sizes)],
            legend=alt.Legend(title="runs of the team", symbolOpacity=1),
        )
    )
    points = (
        alt.Chart(data_of(rows))
        .mark_circle(size=50, opacity=0.75)
        .encode(
            x=alt.X(f"{before}:Q", title=f"{what} with all judgments", scale=scale),
            y=alt.Y(f"{after}:Q", title=f"without those of the {unit} alone", scale=upright),
            color=colour,
            tooltip=["system:N", "team:N", f"{before}:Q", f"{after}:Q"],
        )
    )
    return (line + points).properties(width=SIDE, height=SIDE, title=title)


def _ends(rows: pl.DataFrame, what: str) -> tuple[float, float]:
    values = pl.concat([rows[f"{what} before"], rows[f"{what} after"]]).drop_nulls()
    if what == "rank" or values.is_empty():
        return 0, len(rows) + 1
    low, high = (float(one) for one in (values.min(), values.max()))  # type: ignore[arg-type]
    low = min(low, 0.0)
    return low, high + 0.05 * (high - low or 1.0)
