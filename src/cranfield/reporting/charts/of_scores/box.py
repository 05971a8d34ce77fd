"""Box plots of the scores of each system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from cranfield.base.words import counted
from cranfield.reporting.charts.choosing import cells_of, labels, ordered, titled
from cranfield.reporting.charts.layout import headed, overlaid, row_size, rows_of, score_axis
from cranfield.reporting.charts.theme import COLOURS, data_of
from cranfield.scores import Scores

if TYPE_CHECKING:
    import altair as alt

WIDTH = 560
REACH = 1.5
"""Whiskers end within so many interquartile ranges of the box."""

LEGEND = (
    "Box: quartiles; line: median; diamond: mean; whiskers: scores within 1.5 interquartile",
    "ranges of the box; circles: scores beyond. Systems with the best mean first.",
)


def box_plot(scores: Any, *, systems: Sequence[str] | None = None) -> alt.LayerChart:
    """Draw a box plot of each system's scores over topics, the best mean first.

    The box goes from the first to the third quartile with a line at the median, and a diamond
    marks the mean. Whiskers reach to the last score within 1.5 interquartile ranges of the box;
    scores beyond them are circles (Ferro and Maistro 2024, figure 16; McGill, Tukey and Larsen
    1978). Quartiles interpolate linearly between scores. The chart grows with the systems.

    Parameters
    ----------
    scores
        Scores of one measure: whatever :func:`cranfield.compare` takes, except by shard. Topics
        without a score count for nothing.
    systems
        Systems that are shown; by default all.

    Raises
    ------
    PolicyError
        For a system that is not there.
    CranfieldError
        When there are no scores, or infinite ones.

    Examples
    --------
    >>> chart = box_plot({"bm25": [0.2, 0.4, 0.3, 0.5], "dense": [0.4, 0.5, 0.5, 0.6]})
    >>> chart.to_dict()["layer"][0]["encoding"]["y"]["scale"]["domain"]
    ['dense', 'bm25']
    """
    import altair as alt

    shown = ordered(scores, systems)
    names = labels(shown.systems)
    boxes, beyond = boxes_of(shown, names)
    step, _ = row_size(len(names))
    title = titled(shown.measure, after="of a topic", lower_is_better=shown.lower_is_better)
    y = rows_of(names, "system")

    def x(field: str) -> alt.X:
        return score_axis(field, title, len(names))

    base = alt.Chart(data_of(boxes)).encode(
        y=y,
        tooltip=[
            alt.Tooltip("system:N"),
            alt.Tooltip("topics:Q", title="topics with a score"),
            *(
                alt.Tooltip(f"{name}:Q", format=".4f")
                for name in ("mean", "low", "q1", "median", "q3", "high")
            ),
        ],
    )
    points = alt.Chart(data_of(beyond)).encode(
        y=y,
        x=x("score"),
        tooltip=["system:N", "topic:N", alt.Tooltip("score:Q", format=".4f")],
    )
    whiskers = base.mark_rule(color="#555555", aria=False).encode(x=x("low"), x2="high:Q")
    box = base.mark_bar(
        height=0.62 * step, color="#9DC6E0", stroke=COLOURS[0], strokeWidth=1, aria=False
    ).encode(x=x("q1"), x2="q3:Q")
    median = base.mark_tick(
        color="black", thickness=2, height=0.62 * step, orient="vertical", aria=False
    ).encode(x=x("median"))
    mean = base.mark_point(
        shape="diamond", filled=True, size=2.2 * step, color=COLOURS[1], opacity=1
    ).encode(x=x("mean"))
    circles = points.mark_point(size=1.1 * step, color="#555555", strokeWidth=1, aria=False)
    size = f"{counted(len(names), 'system')}, {counted(len(shown.topics), 'topic')}"
    return overlaid(
        whiskers,
        box,
        median,
        circles,
        mean,
        width=WIDTH,
        height=alt.Step(step),
        title=headed(f"{titled(shown.measure)}: {size}", *LEGEND),
        description=f"Box plots of the scores by {titled(shown.measure)} of {size}, ordered by"
        f" mean, from {names[0]} with a mean of {_number(boxes['mean'][0])} to {names[-1]} with"
        f" {_number(boxes['mean'][-1])}.",
    )


def boxes_of(scores: Scores, names: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a row a system, with the ends of its box and whiskers, and a row a score beyond."""
    values = scores.values
    known = ~np.isnan(values).all(axis=0)
    quartiles = np.full((3, values.shape[1]), np.nan)
    quartiles[:, known] = np.nanquantile(values[:, known], [0.25, 0.5, 0.75], axis=0)
    q1, median, q3 = quartiles
    reach = REACH * (q3 - q1)
    inside = (values >= q1 - reach) & (values <= q3 + reach)
    # With few scores no score may be left between a quartile and the end of its reach.
    low = np.minimum(np.where(inside, values, np.inf).min(axis=0), q1)
    high = np.maximum(np.where(inside, values, -np.inf).max(axis=0), q3)
    boxes = pl.DataFrame(
        {
            "system": pl.Series(names, dtype=pl.String),
            "topics": (~np.isnan(values)).sum(axis=0),
            "mean": scores.mean(),
            "low": low,
            "q1": q1,
            "median": median,
            "q3": q3,
            "high": high,
        }
    )
    beyond = cells_of(scores, ~inside & ~np.isnan(values), names, labels(scores.topics))
    return boxes, beyond


def _number(value: float | None) -> str:
    return "no score" if value is None or np.isnan(value) else f"{value:.4g}"
