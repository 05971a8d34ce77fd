"""A chart of how many impressions interleaving takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from cranfield.base.errors import CranfieldError
from cranfield.meta.of_users.sensitivity import Sensitivity
from cranfield.reporting.charts.choosing import labels
from cranfield.reporting.charts.theme import by_colour, data_of, themed

if TYPE_CHECKING:
    import altair as alt

WIDTH, HEIGHT = 260, 260


def sensitivity_chart(found: Sensitivity) -> alt.ConcatChart:
    """Draw the impressions that each pair of systems needs, against its offline difference.

    A panel a user, a point a pair of systems and method; the axis of impressions is logarithmic.
    Pairs that would take infinitely many are not drawn.

    Parameters
    ----------
    found
        What :func:`cranfield.meta.interleaving_sensitivity` found.

    Raises
    ------
    CranfieldError
        If no pair can be told apart by any number of impressions.

    Examples
    --------
    >>> from cranfield.meta import interleaving_sensitivity
    >>> runs = {"a": {"q": {"x": 2.0, "y": 1.0}}, "b": {"q": {"y": 2.0, "z": 1.0}}}
    >>> made = interleaving_sensitivity(
    ...     runs, {"q": {"x": 1}}, "RR", methods="TeamDraft", users="perfect", impressions=50
    ... )
    >>> len(sensitivity_chart(made).to_dict()["concat"])
    1
    """
    import altair as alt

    rows = found.pairs.filter(pl.col("needed").is_not_null())
    if rows.is_empty():
        raise CranfieldError("no pair of systems can be told apart by any number of impressions")
    marks = by_colour("method", found.methods)
    panels = []
    for user, called in zip(found.users, labels(found.users), strict=True):
        frame = rows.filter(pl.col("user") == user).select(
            "method", "first", "second", "needed", difference=pl.col("difference").abs()
        )
        panels.append(
            alt.Chart(data_of(frame))
            .mark_point(filled=True, size=45, opacity=0.7)
            .encode(
                x=alt.X("difference:Q", title=f"difference of {found.measure}"),
                y=alt.Y(
                    "needed:Q",
                    title="impressions needed",
                    scale=alt.Scale(type="log"),
                    axis=alt.Axis(format="~s", tickCount=5),
                ),
                color=marks["color"],
                tooltip=["method:N", "first:N", "second:N", "difference:Q", "needed:Q"],
            )
            .properties(title=called, width=WIDTH, height=HEIGHT)
        )
    return themed(alt.concat(*panels, columns=3))
