"""A chart of how a measure spaces runs: where the value of each run of a short length lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats
from cranfield.base.checks import check_whole
from cranfield.base.errors import PolicyError
from cranfield.base.words import counted
from cranfield.reporting.charts.choosing import Named, named
from cranfield.reporting.charts.layout import apart
from cranfield.reporting.charts.theme import COLOURS, data_of, themed
from cranfield.scales.images.making import image
from cranfield.scales.images.values import Image
from cranfield.scales.runs import all_runs, more_than

if TYPE_CHECKING:
    import altair as alt

WIDTH, HEIGHT = 200, 380
MOST_SPACED = 4096
"""Runs that are looked at one by one."""

LINE, IN_A_LINE, MOST_LINES = 11, 4, 3
"""Height of a line of a label, runs in it, and lines."""


def spacing_chart(
    measures: Named,
    length: int,
    grades: int = 1,
    *,
    judgments: Sequence[int] | int | None = None,
    columns: int = 4,
) -> alt.ConcatChart:
    """Draw the values of measures on all runs of a length, each labelled with its runs.

    On an interval scale all values are equally far apart. Each measure has a panel.

    Parameters
    ----------
    measures
        A measure or several; the keys of a mapping are their titles.
    length
        Number of ranks of the runs.
    grades
        The highest grade.
    judgments
        The topic's judgments, as for :func:`cranfield.image`; by default as many relevant documents
        as there are ranks.
    columns
        Panels side by side.

    Raises
    ------
    PolicyError
        For more than 4,096 runs, and for no measure.

    Notes
    -----
    Figure 2 of Ferrante, Ferro and Fuhr (2021), which is figure 19 of Ferro and Maistro (2024).
    Labels move up or down where they would cover each other. Where all of them do not fit, some are
    left out; the marks are always all there.

    Examples
    --------
    >>> chart = spacing_chart(["P", "RR"], 3).to_dict()
    >>> [panel["title"]["text"] for panel in chart["concat"]]
    ['P', 'RR']
    """
    import altair as alt

    chosen = named(measures)
    check_whole("the number of columns", columns, 1)
    panels = [
        _panel(image(measure, length, grades, judgments=judgments), title)
        for title, measure in chosen.items()
    ]
    runs = f"all runs of length {length} with grades 0 to {grades}"
    return themed(
        alt.concat(*panels, columns=columns).properties(
            description=f"The values of {counted(len(panels), 'measure')} on {runs}; on an interval"
            " scale all steps between neighbouring values are equal."
        )
    )


def spaced_runs(found: Image) -> pl.DataFrame:
    """List the values of an image, ascending, each with the list of its runs, written as grades."""
    if more_than(MOST_SPACED, found.length, found.grades):
        raise PolicyError(
            f"there are {found.grades + 1}^{found.length} runs of length {found.length}; up to"
            f" {MOST_SPACED:,} are drawn one by one, and more by distribution_chart"
        )
    runs = all_runs(found.length, found.grades)
    if found.at_most is not None:
        raise PolicyError("all runs are drawn; leave at_most out")
    between = "" if found.grades < 10 else ","
    table = pl.DataFrame(
        {
            "value": found.values()[found.rank_runs(runs) - 1],
            "runs": [between.join(map(str, run)) for run in runs.tolist()],
        }
    )
    return table.group_by("value", maintain_order=True).agg("runs").sort("value")


def _panel(found: Image, title: str) -> alt.LayerChart:
    import altair as alt

    values = spaced_runs(found)
    top = found.measure.info.range[1]
    top = float(top) if np.isfinite(top) else float(values["value"].max())  # type: ignore[arg-type]
    low = min(0.0, float(values["value"][0]))
    top = max(top, low + 1e-9)
    scale = alt.Scale(domain=[low, top], nice=False, zero=False)
    shown = values.with_columns(
        pl.col("runs").list.len().alias("count"), pl.col("runs").list.join(" ").alias("all")
    ).drop("runs")

    def across(at: int) -> alt.XDatum:
        return alt.XDatum(at, scale=alt.Scale(domain=[0, WIDTH], nice=False), axis=None)

    base = alt.Chart(data_of(shown)).encode(
        y=alt.Y("value:Q", title="value", scale=scale, axis=alt.Axis(grid=False, domain=False))
    )
    tip = [alt.Tooltip("value:Q", format=".4f"), "count:Q", "all:N"]
    marks = base.mark_square(color=COLOURS[0], size=30, opacity=1).encode(x=across(8), tooltip=tip)
    ends = pl.DataFrame({"from": [float(values["value"][0])], "to": [float(values["value"][-1])]})
    line = (
        alt.Chart(data_of(ends))
        .mark_rule(color="#bbbbbb")
        .encode(y=alt.Y("from:Q", scale=scale), y2="to:Q", x=across(8))
    )
    labels = _labels(values, low, top)
    written = alt.Chart(data_of(labels)).encode(y=alt.Y("first line:Q", scale=scale))
    leaders = (
        alt.Chart(data_of(labels))
        .mark_rule(color="#bbbbbb", strokeWidth=0.7)
        .encode(x=across(12), x2=alt.X2Datum(27), y=alt.Y("value:Q", scale=scale), y2="place:Q")
    )
    font: dict[str, Any] = {"font": "monospace", "fontSize": 10, "lineBreak": "\n"}
    text = written.mark_text(align="left", baseline="middle", lineHeight=LINE, **font)
    labelled = text.encode(x=across(30), text="label:N")
    drawn: Any = alt.layer(line, leaders, marks, labelled)
    panel: alt.LayerChart = drawn.properties(
        width=WIDTH,
        height=HEIGHT,
        title=alt.TitleParams(title, subtitle=_steps(found), subtitleFontSize=12),
    )
    return panel


def _steps(found: Image) -> str:
    gaps = found.gaps()
    values = counted(found.size, "value")
    if gaps.smallest is None or gaps.largest is None:
        return values
    if gaps.equispaced:
        return f"{values}, all steps {gaps.smallest:.3g}"
    return f"{values}, steps {gaps.smallest:.3g} to {gaps.largest:.3g}"


def _labels(values: pl.DataFrame, low: float, top: float) -> pl.DataFrame:
    """Write down the runs of each value beside it, moved to where there is room."""
    lists = values["runs"].to_list()
    place = values["value"].to_numpy()
    at = (place - low) / (top - low) * HEIGHT
    keep = np.arange(len(lists))
    for lines in (MOST_LINES, 1):
        label = [_label(runs, lines) for runs in lists]
        count = np.array([text.count("\n") + 1 for text in label])
        size = LINE * count.astype(np.float64)
        if size.sum() <= HEIGHT + LINE:
            break
    else:
        keep = _with_room(at, size)
    found = apart(at[keep], size[keep], -LINE / 2, HEIGHT + LINE / 2)
    up = LINE * (count[keep] - 1) / 2
    unit = (top - low) / HEIGHT
    return pl.DataFrame(
        {
            "value": place[keep],
            "place": found * unit + low,
            "first line": (found + up) * unit + low,
            "label": [label[k] for k in keep],
        }
    )


def _label(runs: Sequence[str], lines: int) -> str:
    step = max(1, (5 * IN_A_LINE) // (len(runs[0]) + 1))
    words = list(runs)
    if len(words) > step * lines:
        kept = max(1, step * lines - 1)
        words = [*words[:kept], f"+{len(words) - kept}"]
        step = max(step, 2) if lines == 1 else step
    return "\n".join(" ".join(words[k : k + step]) for k in range(0, len(words), step))


def _with_room(at: Floats, size: Floats) -> NDArray[np.intp]:
    """Choose labels from below that do not cover the one chosen last."""
    chosen: list[int] = []
    for k in range(len(at)):
        if not chosen or at[k] - at[chosen[-1]] >= (size[k] + size[chosen[-1]]) / 2:
            chosen.append(k)
    return np.array(chosen)
