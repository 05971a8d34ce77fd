"""Judges against people: agreement with intervals, and grade by grade."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cranfield.assess.judges.comparison import JudgeComparison
from cranfield.base.arrays import best_first
from cranfield.base.checks import check_choice
from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.reporting.charts.choosing import chosen, labels
from cranfield.reporting.charts.layout import headed, overlaid, row_size, rows_of, score_axis
from cranfield.reporting.charts.theme import COLOURS, coded, data_of, themed

if TYPE_CHECKING:
    import altair as alt

WIDTH = 520

SHAPES = ("circle", "diamond", "square", "triangle-up")
"""Shapes of points, for those who do not see all colours."""

SIDE = 150
"""Width and height of a table of grades."""

COLUMNS = 4
"""Tables of grades side by side."""

DARK = 0.55
"""Share from which numbers are white."""


def judges_chart(
    comparison: JudgeComparison, statistics: Sequence[str] = ("kappa", "alpha")
) -> alt.LayerChart:
    """Draw how well each judge agrees with people, with intervals over topics.

    The judge with the highest value of the first statistic comes first.

    Parameters
    ----------
    comparison
        What :func:`cranfield.assess.compare_judges` found.
    statistics
        Up to four of its statistics, such as `kappa 01|23` or `bias`.

    Raises
    ------
    PolicyError
        For a statistic that was not computed, none, or more than four.

    Examples
    --------
    >>> from cranfield.assess import compare_judges
    >>> people = {"q1": {"a": 0, "b": 1}, "q2": {"a": 1, "b": 0}, "q3": {"a": 1, "b": 0}}
    >>> machine = {"q1": {"a": 0, "b": 1}, "q2": {"a": 1, "b": 1}, "q3": {"a": 0, "b": 0}}
    >>> found = compare_judges(people, {"one": machine, "same": people})
    >>> judges_chart(found).to_dict()["layer"][-1]["encoding"]["y"]["scale"]["domain"]
    ['same', 'one']
    """
    import altair as alt

    names = [statistics] if isinstance(statistics, str) else list(dict.fromkeys(statistics))
    for one in names:
        check_choice("statistic", one, comparison.statistics)
    if not 0 < len(names) <= len(SHAPES):
        raise PolicyError(f"one to {len(SHAPES)} statistics are drawn, not {len(names)}")
    shown = labels(comparison.judges)
    places = [comparison.statistics.index(one) for one in names]
    order = best_first(comparison.values[:, places[0]])
    frame = pl.DataFrame(
        [
            {
                "judge": shown[judge],
                "statistic": names[k],
                "value": comparison.values[judge, place],
                "low": comparison.low[judge, place],
                "high": comparison.high[judge, place],
            }
            for judge in order.tolist()
            for k, place in enumerate(places)
        ]
    ).filter(pl.col("value").is_not_nan())
    step, _ = row_size(len(shown))
    looks = COLOURS[: len(names)], SHAPES[: len(names)]
    legend = alt.Legend(title=None, orient="top", columns=len(names))
    base = alt.Chart(data_of(frame)).encode(
        y=rows_of([shown[k] for k in order], "judge", "judge"),
        yOffset=alt.YOffset("statistic:N", scale=alt.Scale(domain=names, paddingOuter=0.6)),
        color=coded(alt.Color, "statistic", names, looks[0], legend=legend),
        tooltip=[
            "judge:N",
            "statistic:N",
            *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("value", "low", "high")),
        ],
    )
    title = ", ".join(names)

    lines = base.mark_rule(strokeWidth=1.5, aria=False).encode(
        x=score_axis("low", title, len(shown)), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=min(50, 2.5 * step), opacity=1).encode(
        x=score_axis("value", title, len(shown)),
        shape=coded(alt.Shape, "statistic", names, looks[1], legend=legend),
    )
    zero = alt.Chart(data_of(pl.DataFrame({"zero": [0.0]}))).mark_rule(color="#999999", aria=False)
    topics = counted(len(comparison.topics), "topic")
    below = f"{100 * comparison.confidence:g}% intervals over {topics}, by the jackknife."
    best = f"{shown[order[0]]} has the highest {names[0]}"
    value = comparison.values[order[0], places[0]]
    return overlaid(
        zero.encode(x="zero:Q"),
        lines,
        points,
        width=WIDTH,
        height=alt.Step(step, **{"for": "position"}),
        title=headed(f"Agreement of judges with people: {title}", below),
        description=f"{title} of {counted(len(shown), 'judge')} with people, best first, with"
        f" intervals over {topics}. {best}" + (f", {value:.4g}." if np.isfinite(value) else "."),
    )


def confusion_chart(
    comparison: JudgeComparison, *, judges: Sequence[str] | None = None
) -> alt.ConcatChart:
    """Draw how people graded what a judge gave each grade: a table of shares for each judge.

    A column is a grade of the judge, with the number of pairs below it; its shares add up to 1. A
    judge whose grades were those of people would have ones on the diagonal.

    Parameters
    ----------
    comparison
        What :func:`cranfield.assess.compare_judges` found.
    judges
        Judges that are shown; by default all.

    Raises
    ------
    PolicyError
        For a judge that is not there.

    Examples
    --------
    >>> from cranfield.assess import compare_judges
    >>> people, machine = {"q1": {"a": 0, "b": 1}}, {"q1": {"a": 0, "b": 0}}
    >>> chart = confusion_chart(compare_judges(people, {"one": machine}))
    >>> len(chart.to_dict()["concat"])
    1
    """
    import altair as alt

    names = labels(comparison.judges)
    places = chosen(comparison.judges, judges)
    shares = comparison.calibration()
    panels = []
    for place in places:
        own = shares.filter(pl.col("judge") == comparison.judges[place])
        panels.append(_panel(own, comparison.scale, names[place]))
    title = "How people graded what a judge gave each grade"
    chart = alt.concat(*panels, columns=COLUMNS).properties(
        title=headed(title, "Shares of people's grades by grade of the judge, and its pairs."),
        description=f"{title}: a table of shares for {counted(len(places), 'judge')}.",
    )
    return themed(chart)


def _panel(own: pl.DataFrame, scale: Sequence[int], name: str) -> alt.LayerChart:
    import altair as alt

    pairs = own.group_by("label", maintain_order=True).agg(pl.col("pairs").sum())
    columns = [f"{label} ({number:,})" for label, number in pairs.iter_rows()]
    frame = own.with_columns(
        column=pl.col("label").replace_strict(dict(zip(scale, columns, strict=True))),
        dark=pl.col("share") > DARK,
    ).drop_nulls("share")
    base = alt.Chart(data_of(frame)).encode(
        x=alt.X(
            "column:N",
            title="grade by the judge (pairs)",
            scale=alt.Scale(domain=columns),
            axis=alt.Axis(labelAngle=-45, labelOverlap=len(scale) > 6, ticks=False),
        ),
        y=alt.Y(
            "grade:O",
            title="grade by people",
            scale=alt.Scale(domain=list(scale)[::-1]),
            axis=alt.Axis(ticks=False),
        ),
        tooltip=[
            alt.Tooltip("label:O", title="grade by the judge"),
            alt.Tooltip("grade:O", title="grade by people"),
            "pairs:Q",
            *(alt.Tooltip(f"{one}:Q", format=".3f") for one in ("share", "low", "high")),
        ],
    )
    cells = base.mark_rect(aria=False).encode(
        color=alt.Color(
            "share:Q",
            title="share",
            scale=alt.Scale(scheme="blues", domain=[0, 1]),
            legend=alt.Legend(gradientLength=SIDE),
        )
    )
    layers = [cells]
    if len(scale) <= 6:
        layers.append(
            base.mark_text(fontSize=11, aria=False).encode(
                text=alt.Text("share:Q", format=".2f"),
                color=alt.condition("datum.dark", alt.value("white"), alt.value("black")),
            )
        )
    panel: alt.LayerChart = alt.LayerChart(layer=layers, width=SIDE, height=SIDE, title=name)
    return panel
