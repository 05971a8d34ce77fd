"""A chart of what the first judgments of a pool find, and of what they say of systems."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from cranfield.base.checks import check_choice
from cranfield.meta.of_collections.budgets import Pooling
from cranfield.reporting.charts.theme import banded, by_colour, data_of, themed

if TYPE_CHECKING:
    import altair as alt

WIDTH, HEIGHT = 300, 240

AGAINST = {
    "tau": "Kendall's tau",
    "tau ap": "tau AP",
    "rmse": "RMSE of overall scores",
    "found again": "significant pairs found again",
    "drop %": "mean drop without own documents, %",
}
"""What can stand against the number of judgments, and the title of its axis."""


def pooling_chart(found: Pooling, what: str = "tau") -> alt.ConcatChart:
    """Draw relevant documents found, and how systems are ordered, against judged documents.

    The first panel has the share of all relevant documents, the others, one a measure and kind of
    list, what the scores say beside those by all judgments. A rule is what the whole pool gives.
    Bands are a standard deviation of repeats to both sides.

    Parameters
    ----------
    found
        What :func:`cranfield.meta.pooling` found.
    what
        `tau` (default), `tau ap`, `rmse`, `found again`, or `drop %` of a team left out.

    Raises
    ------
    PolicyError
        For anything else.

    Examples
    --------
    >>> from cranfield.meta import pooling
    >>> runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "z": 1.0}}}
    >>> made = pooling(runs, {"q": {"x": 1, "y": 1, "z": 0}}, "AP", methods="depth", budgets=[1, 2])
    >>> len(pooling_chart(made).to_dict()["concat"])
    2
    """
    import altair as alt

    check_choice("what", what, AGAINST)
    marks = by_colour("method", found.methods)
    panels = [_panel(found.found, "of pool", "relevant documents of the pool found", marks)]
    panels[0] = panels[0].properties(title="Relevant documents")
    judged = found.found["method", "budget", "judged"]
    for (measure, kind), rows in found.rankings.group_by("measure", "list", maintain_order=True):
        title = measure if found.lists == ("raw",) else f"{measure}, {kind} lists"
        joined = rows.join(judged, on=["method", "budget"], nulls_equal=True, maintain_order="left")
        panels.append(_panel(joined, what, AGAINST[what], marks).properties(title=title))
    return themed(alt.concat(*panels, columns=2 if len(panels) == 2 else 3))


def _panel(rows: pl.DataFrame, what: str, title: str, marks: dict[str, Any]) -> Any:
    import altair as alt

    sd = {"of pool": "relevant sd"}.get(what, f"{what} sd")
    spread = pl.col(sd).fill_null(0.0) if sd in rows.columns else pl.lit(0.0)
    if what == "of pool":
        spread = spread / pl.col("relevant").last()
    frame = rows.select(
        "method",
        "budget",
        "judged",
        pl.col(what).alias("value"),
        (pl.col(what) - spread).alias("low"),
        (pl.col(what) + spread).alias("high"),
    )
    whole, budgets = frame.tail(1), frame.head(-1)
    base = alt.Chart(data_of(budgets)).encode(
        x=alt.X(
            "judged:Q",
            title="judged documents",
            axis=alt.Axis(format="~s", tickCount=5),
            scale=alt.Scale(domainMin=0),
        )
    )
    line = base.mark_line(point=True).encode(
        y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=what == "of pool")),
        tooltip=["method:N", "budget:Q", "judged:Q", alt.Tooltip("value:Q", format=".3~f")],
        **marks,
    )
    end = (
        alt.Chart(data_of(whole))
        .mark_rule(color="#999999", strokeDash=[2, 2])
        .encode(y=alt.Y("value:Q"), tooltip=[alt.Tooltip("value:Q", title="whole pool")])
    )
    return banded(base, line, marks, width=WIDTH, height=HEIGHT) + end
