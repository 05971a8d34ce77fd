"""Charts of the values of measures on all runs of a length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError, check_whole
from cranfield.base.text import counted
from cranfield.measures.base import Measure
from cranfield.reporting.charts.inputs import Named, measures_by_title
from cranfield.reporting.charts.theme import (
    COLOURS,
    apply_theme,
    chart_of,
    draws,
    map_values,
    space_out,
    tips,
)
from cranfield.scales.images.values import Image, image
from cranfield.scales.runs import all_runs, check_size, exceeds, score_runs

MAX_DRAWN = 2**12
"""Maximum number of runs that are all drawn."""

RESOLUTION = 100
"""Number of steps of a chart in each direction."""

MAX_FAST = 2**32
"""Maximum number of values of an image for which the rank of a run is computed quickly."""


def shares_up_to(image_of_runs: Image) -> pl.DataFrame:
    """Return the proportions of runs and values of an image up to each value.

    Rows are in order of `value`. Columns are the proportions of runs with a lower value (`runs
    below`) and up to it (`runs`), and its relative rank in the image (`values`). With more than
    4,096 runs the values are those of a sample spread over the image, with exact proportions.
    `runs` is null if runs are too many to be counted and share values.
    """
    if image_of_runs.at_most is not None:
        raise PolicyError("all runs are counted; remove at_most")
    rows = _sample_runs(image_of_runs)
    value = score_runs(
        image_of_runs.measure, rows, grades=image_of_runs.grades, judgments=image_of_runs.judgments
    )
    if image_of_runs.size > MAX_FAST:
        subset = _thin(value)
        rows, value = rows[subset], value[subset]
    share = image_of_runs.relative_ranks(rows)
    # Floats of equal values may differ, but not their ranks. Approximate proportions are equal for
    # many values near the ends; there the floats set the order.
    order = np.lexsort((value, share))
    rows, value, share = rows[order], value[order], share[order]
    is_counted = _is_countable(image_of_runs, len(rows), "unique")
    new = share[1:] != share[:-1] if is_counted else value[1:] > value[:-1]
    first = np.concatenate(([True], new))
    rows, value, share = rows[first], value[first], share[first]
    below, upto = _shares_of_runs(image_of_runs, rows, share)
    table = pl.DataFrame({"value": value, "runs below": below, "runs": upto, "values": share})
    return table.with_columns(pl.col("runs below", "runs").fill_nan(None))


def _thin(value: Floats) -> NDArray[np.intp]:
    """Select the lowest and the highest value in each step of the chart."""
    order = np.argsort(value, kind="stable")
    size = float(value[order[-1]] - value[order[0]]) / RESOLUTION
    step = np.floor((value[order] - value[order[0]]) / max(size, 1e-300))
    new = np.diff(step) > 0
    return np.asarray(order[np.append(True, new) | np.append(new, True)])


def _is_countable(image_of_runs: Image, runs: int, ties: str) -> bool:
    try:
        image_of_runs.require(runs, ties)
    except PolicyError:
        return False
    return True


def _shares_of_runs(image_of_runs: Image, rows: Ints, share: Floats) -> tuple[Floats, Floats]:
    if image_of_runs.size == image_of_runs.runs:
        # No two runs share a value, so that a rank is a number of runs.
        below = share * ((image_of_runs.size - 1) / image_of_runs.size)
        return below, below + 1 / image_of_runs.size
    if not _is_countable(image_of_runs, len(rows), "min"):
        unknown_values = np.full(len(rows), np.nan)
        return unknown_values, unknown_values
    low, high = (image_of_runs.rank_runs(rows, ties=ties).astype(float) for ties in ("min", "max"))
    return (low - 1) / image_of_runs.runs, high / image_of_runs.runs


def _sample_runs(image_of_runs: Image) -> Ints:
    """Select runs whose values are spread over the image.

    All prefixes of a few ranks, completed by the lowest or the highest grade, cover the gaps of
    top-heavy measures. Runs with a block of relevant documents cover measures that count them or
    look for the first. Random runs, with few to many relevant documents, fill the gaps.
    """
    length, top = image_of_runs.length, image_of_runs.grades
    if not exceeds(MAX_DRAWN, length, top):
        return all_runs(length, top)
    start = next((k for k in range(10, 0, -1) if not exceeds(1024, k, top)), 1)
    starts = all_runs(start, top)
    ends = [np.full((len(starts), length - start), grade) for grade in (0, top)]
    runs = [np.hstack([starts, end]) for end in ends]
    rank, grid = np.arange(length), np.unique(np.linspace(0, length, 41).astype(int))
    first, last = (edges.ravel() for edges in np.meshgrid(grid, grid))
    inside = (rank >= first[:, None]) & (rank < last[:, None])
    runs += [inside.astype(np.int64) * grade for grade in range(1, top + 1)]
    rng = np.random.default_rng(0)
    relevant = rng.random((1024, length)) < np.linspace(0, 1, 1024)[:, None]
    runs.append(relevant * rng.integers(1, top + 1, relevant.shape))
    return np.unique(np.vstack(runs), axis=0)


MAX_AREA = 1e-10
"""Maximum area of three points in a unit square that count as collinear."""

SHARES = {"runs": "proportion of runs", "values": "proportion of values"}
"""Quantities counted up to a value: runs as in the paper, or values as on the interval scale."""


@draws("distribution", "measures")
def distribution_chart(
    measures: Named,
    lengths: int | Sequence[int],
    grades: int = 1,
    *,
    judgments: Sequence[int] | int | None = None,
) -> alt.ConcatChart:
    """Draw the values of measures over the proportion of runs, and of values, up to them.

    The interval-scaled version of a measure is its proportion of values. That curve is a straight
    line if and only if the measure has equal steps; its distance from the grey line is the effect
    of interval scaling. The curve of runs shows which values are common.

    Parameters
    ----------
    measures
        A measure or several, with a row of panels for each; the keys of a mapping are titles.
    lengths
        Number of ranks or several, with a column for each.
    grades
        Highest grade.
    judgments
        The topic's judgments, as for :func:`cranfield.image`; by default as many relevant documents
        as there are ranks.

    Raises
    ------
    PolicyError
        For images that are too large to compute, and for no measures or lengths.

    Notes
    -----
    Figures 3 to 5 of Ferrante, Ferro and Fuhr (2021), which have the curve of runs.

    Examples
    --------
    >>> chart = distribution_chart(["P", "RR"], [5, 10]).to_dict()
    >>> [panel["title"]["text"] for panel in chart["concat"]]
    ['P, N = 5', 'P, N = 10', 'RR, N = 5', 'RR, N = 10']
    """
    sizes = list(dict.fromkeys(lengths)) if isinstance(lengths, Iterable) else [lengths]
    if not sizes:
        raise PolicyError("expected at least one length of runs, got no lengths")
    for size in sizes:
        check_size(size, grades)
    panels = [
        _panel(image(_at(measure, length), length, grades, judgments=judgments), title)
        for title, measure in measures_by_title(measures).items()
        for length in sizes
    ]
    about = (
        "Values of measures over the proportion of all runs, and of all values, up to them; the"
        " values of an interval scale lie on the straight line."
    )
    return apply_theme(alt.concat(*panels, columns=len(sizes), description=about))


def _at(measure: str | Measure, length: int) -> str | Measure:
    if isinstance(measure, Measure) and measure.cutoff is None:
        return measure @ length
    return measure


def _panel(image_of_runs: Image, title: str) -> alt.LayerChart:
    table = shares_up_to(image_of_runs)
    low, high = table["value"][0], table["value"][-1]
    top = image_of_runs.measure.info.range[1]
    ends = [min(0.0, low), top if np.isfinite(top) else high]
    y = alt.Y("value:Q").title("value").scale(domain=ends, nice=False).axis(tickCount=5)
    x = alt.X("share:Q").title("proportion up to the value").scale(domain=[0, 1], nice=False)
    x = x.axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2~f")
    marks = {
        "color": map_values(alt.Color, "of", SHARES.values(), COLOURS[:2], title=None),
        "strokeDash": map_values(
            alt.StrokeDash, "of", SHARES.values(), [[1, 0], [3, 3]], title=None
        ),
    }
    straight = chart_of({"share": [0.0, 1.0], "value": [low, high]})
    layers = [straight.mark_line(color="#bbbbbb", strokeWidth=5).encode(x=x, y=y)]
    for kind in SHARES:
        if not table[kind].null_count():
            line = chart_of(curve(table, kind)).mark_line(strokeWidth=1.75)
            layers.append(line.encode(x=x, y=y, order="order:Q", **marks))
    about = (
        f"{_format_count(image_of_runs.size)} values of {_format_count(image_of_runs.runs)} runs"
    )
    head = alt.TitleParams(
        f"{title}, N = {image_of_runs.length}", subtitle=about, subtitleFontSize=12
    )
    return alt.LayerChart(layer=layers, width=150, height=150, title=head)


def curve(table: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Return the points of a curve: columns `share`, `value`, `order` and `of`.

    Runs that share a value form a level segment; points that are invisible are skipped.
    """
    if kind == "runs":
        ends = table.select("value", pl.concat_list("runs below", "runs").alias("share"))
        points = ends.explode("share")
    else:
        points = table.select("value", pl.col("values").alias("share"))
    low, high = points["value"][0], points["value"][-1]
    unit = max(float(high - low), 1e-300)
    cell = [
        ((pl.col(axis) - start) / size * RESOLUTION).floor().alias(f"{axis} cell")
        for axis, start, size in (("share", 0.0, 1.0), ("value", low, unit))
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
        .filter((area.abs() > MAX_AREA).fill_null(True))
        .select("share", "value", "order", pl.lit(SHARES[kind]).alias("of"))
    )


def _format_count(count: int) -> str:
    if count < 10**7:
        return f"{count:,}"
    power = len(str(count)) - 1
    return f"{count * 1000 // 10**power / 1000:.2f}e{power}"


SPACING_WIDTH, SPACING_HEIGHT = 200, 380
MAX_SPACED = 4096
"""Maximum number of runs drawn one by one."""

LINE, PER_LINE, MAX_LINES = 11, 4, 3
"""Height of a line of a label, runs in it, and lines."""


@draws("spacing", "measures")
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
        Highest grade.
    judgments
        The topic's judgments, as for :func:`cranfield.image`; by default as many relevant documents
        as there are ranks.
    columns
        Number of panels side by side.

    Raises
    ------
    PolicyError
        For more than 4,096 runs, and for no measures.

    Notes
    -----
    Figure 2 of Ferrante, Ferro and Fuhr (2021), which is figure 19 of Ferro and Maistro (2024).
    Labels move up or down where they would overlap. If they do not fit, some are omitted; marks are
    always complete.

    Examples
    --------
    >>> chart = spacing_chart(["P", "RR"], 3).to_dict()
    >>> [panel["title"]["text"] for panel in chart["concat"]]
    ['P', 'RR']
    """
    by_title = measures_by_title(measures)
    check_whole("the number of columns", columns, 1)
    panels = [
        _spacing_panel(image(measure, length, grades, judgments=judgments), title)
        for title, measure in by_title.items()
    ]
    about = (
        f"The values of {counted(len(panels), 'measure')} on all runs of length {length} with"
        f" grades 0 to {grades}; on an interval scale all steps between neighbouring values are"
        " equal."
    )
    return apply_theme(alt.concat(*panels, columns=columns, description=about))


def spaced_runs(image_of_runs: Image) -> pl.DataFrame:
    """List the values of an image in ascending order, each with its runs as strings of grades."""
    if exceeds(MAX_SPACED, image_of_runs.length, image_of_runs.grades):
        raise PolicyError(
            f"there are {image_of_runs.grades + 1}^{image_of_runs.length} runs of length"
            f" {image_of_runs.length}; up to {MAX_SPACED:,} are drawn one by one, and more by"
            " distribution_chart"
        )
    runs = all_runs(image_of_runs.length, image_of_runs.grades)
    if image_of_runs.at_most is not None:
        raise PolicyError("all runs are drawn; remove at_most")
    separator = "" if image_of_runs.grades < 10 else ","
    table = pl.DataFrame(
        {
            "value": image_of_runs.values()[image_of_runs.rank_runs(runs) - 1],
            "runs": [separator.join(map(str, run)) for run in runs.tolist()],
        }
    )
    return table.group_by("value", maintain_order=True).agg("runs").sort("value")


def _spacing_panel(image_of_runs: Image, title: str) -> alt.LayerChart:
    values = spaced_runs(image_of_runs)
    first, last = float(values["value"][0]), float(values["value"][-1])
    top, low = float(image_of_runs.measure.info.range[1]), min(0.0, first)
    top = max(top if np.isfinite(top) else last, low + 1e-9)
    scale = alt.Scale(domain=[low, top], nice=False, zero=False)

    def across(position: int) -> alt.XDatum:
        return alt.XDatum(
            position, scale=alt.Scale(domain=[0, SPACING_WIDTH], nice=False), axis=None
        )

    def up(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=scale)

    line = chart_of({"from": [first], "to": [last]}).mark_rule(color="#bbbbbb")
    line = line.encode(x=across(8), y=up("from"), y2="to:Q")
    points = values.select(
        "value", count=pl.col("runs").list.len(), all=pl.col("runs").list.join(" ")
    )
    marks = chart_of(points).mark_square(color=COLOURS[0], size=30, opacity=1)
    marks = marks.encode(
        x=across(8),
        y=up("value").title("value").axis(grid=False, domain=False),
        tooltip=tips("value", "count:Q", "all:N"),
    )
    labels = chart_of(_labels(values, low, top))
    leaders = labels.mark_rule(color="#bbbbbb", strokeWidth=0.7)
    leaders = leaders.encode(x=across(12), x2=alt.X2Datum(27), y=up("value"), y2="place:Q")
    font: dict[str, Any] = {"font": "monospace", "fontSize": 10, "lineBreak": "\n"}
    text = labels.mark_text(align="left", baseline="middle", lineHeight=LINE, **font)
    text = text.encode(x=across(30), y=up("first line"), text="label:N")
    return alt.LayerChart(
        layer=[line, leaders, marks, text],
        width=SPACING_WIDTH,
        height=SPACING_HEIGHT,
        title=alt.TitleParams(title, subtitle=_steps(image_of_runs), subtitleFontSize=12),
    )


def _steps(image_of_runs: Image) -> str:
    gaps = image_of_runs.gaps()
    values = counted(image_of_runs.size, "value")
    if gaps.smallest is None or gaps.largest is None:
        return values
    if gaps.equispaced:
        return f"{values}, all steps {gaps.smallest:.3g}"
    return f"{values}, steps {gaps.smallest:.3g} to {gaps.largest:.3g}"


def _labels(values: pl.DataFrame, low: float, top: float) -> pl.DataFrame:
    """Label each value with its runs, moved so that labels do not overlap."""
    lists = values["runs"].to_list()
    place = values["value"].to_numpy()
    height = (place - low) / (top - low) * SPACING_HEIGHT
    subset = np.arange(len(lists))
    for lines in (MAX_LINES, 1):
        label = [_label(runs, lines) for runs in lists]
        count = np.array([text.count("\n") + 1 for text in label])
        size = LINE * count.astype(np.float64)
        if size.sum() <= SPACING_HEIGHT + LINE:
            break
    else:
        subset = _select_labels(height, size)
    positions = space_out(height[subset], size[subset], -LINE / 2, SPACING_HEIGHT + LINE / 2)
    up = LINE * (count[subset] - 1) / 2
    unit = (top - low) / SPACING_HEIGHT
    return pl.DataFrame(
        {
            "value": place[subset],
            "place": positions * unit + low,
            "first line": (positions + up) * unit + low,
            "label": [label[k] for k in subset],
        }
    )


def _label(runs: Sequence[str], lines: int) -> str:
    step = max(1, (5 * PER_LINE) // (len(runs[0]) + 1))
    words = list(runs)
    if len(words) > step * lines:
        room = max(1, step * lines - 1)
        words = [*words[:room], f"+{len(words) - room}"]
        step = max(step, 2) if lines == 1 else step
    return "\n".join(" ".join(words[k : k + step]) for k in range(0, len(words), step))


def _select_labels(positions: Floats, size: Floats) -> NDArray[np.intp]:
    """Select labels from below that do not overlap the previous one."""
    places: list[int] = []
    for k in range(len(positions)):
        if not places or positions[k] - positions[places[-1]] >= (size[k] + size[places[-1]]) / 2:
            places.append(k)
    return np.array(places)
