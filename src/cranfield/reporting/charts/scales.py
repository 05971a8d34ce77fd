"""Charts of the values of measures on all runs of a length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError, check_integer
from cranfield.base.text import inflect
from cranfield.measures.base import Measure
from cranfield.reporting.charts import theme
from cranfield.reporting.charts.inputs import MeasuresByTitle, title_measures
from cranfield.scales.images.values import Image, image
from cranfield.scales.runs import all_runs, check_size, has_more_runs, score_runs

MAX_ALL_RUNS = 2**12  # maximum number of runs that are all drawn
RESOLUTION = 100  # number of steps of a chart in each direction
MAX_FAST_SIZE = 2**32  # maximum number of values of an image that ranks runs quickly


def accumulate_proportions(runs_image: Image) -> pl.DataFrame:
    """Return, for each value, the proportion of `runs` that are not higher.

    The proportion of `runs below` excludes runs of the same value; that of `values` counts the
    other values that are lower. Of more than 4,096 runs, only a sample of values is returned.
    Proportions of runs are null if there are too many runs to count.
    """
    if runs_image.at_most is not None:
        raise PolicyError(
            "the chart counts all runs; expected an image made without at_most, got at_most="
            f"{runs_image.at_most}"
        )
    rows = _sample_runs(runs_image)
    value = score_runs(
        runs_image.measure, rows, grades=runs_image.grades, judgments=runs_image.judgments
    )
    if runs_image.size > MAX_FAST_SIZE:
        subset = _select_spread(value)
        rows, value = rows[subset], value[subset]
    proportion = runs_image.compute_relative_ranks(rows)
    # Floats of equal values may differ, but not their ranks. Approximate proportions are equal for
    # many values near the ends; there the floats set the order.
    order = np.lexsort((value, proportion))
    rows, value, proportion = rows[order], value[order], proportion[order]
    is_counted = _is_countable(runs_image, len(rows), "unique")
    is_new = proportion[1:] != proportion[:-1] if is_counted else value[1:] > value[:-1]
    is_first = np.concatenate(([True], is_new))
    rows, value, proportion = rows[is_first], value[is_first], proportion[is_first]
    low, high = _compute_proportions(runs_image, rows, proportion)
    table = pl.DataFrame({"value": value, "runs below": low, "runs": high, "values": proportion})
    return table.with_columns(pl.col("runs below", "runs").fill_nan(None))


def _select_spread(value: Floats) -> NDArray[np.intp]:
    """Select the lowest and the highest value in each step of the chart."""
    order = np.argsort(value, kind="stable")
    size = float(value[order[-1]] - value[order[0]]) / RESOLUTION
    step = np.floor((value[order] - value[order[0]]) / max(size, 1e-300))
    is_new = np.diff(step) > 0
    return np.asarray(order[np.append(True, is_new) | np.append(is_new, True)])


def _is_countable(runs_image: Image, n_runs: int, ties: str) -> bool:
    """Return True if that many runs can be ranked exactly."""
    try:
        runs_image.require(n_runs, ties)
    except PolicyError:
        return False
    return True


def _compute_proportions(
    runs_image: Image, rows: Ints, proportion: Floats
) -> tuple[Floats, Floats]:
    """Return the proportions of runs below and up to the value of each row; NaN if unknown."""
    if runs_image.size == runs_image.n_runs:
        # All runs have different values, so that a rank is a number of runs.
        lower = proportion * ((runs_image.size - 1) / runs_image.size)
        return lower, lower + 1 / runs_image.size
    if not _is_countable(runs_image, len(rows), "min"):
        unknown_values = np.full(len(rows), np.nan)
        return unknown_values, unknown_values
    low, high = (runs_image.rank_runs(rows, ties=ties).astype(float) for ties in ("min", "max"))
    return (low - 1) / runs_image.n_runs, high / runs_image.n_runs


def _sample_runs(runs_image: Image) -> Ints:
    """Select runs whose values are spread over the image.

    All prefixes of a few ranks, completed by the lowest or the highest grade, cover the values of
    top-heavy measures. Runs with a block of relevant documents cover measures that depend on their
    number or on the first of them. Random runs, with few to many relevant documents, fill the gaps.
    """
    length, max_grade = runs_image.length, runs_image.grades
    if not has_more_runs(MAX_ALL_RUNS, length, max_grade):
        return all_runs(length, max_grade)
    depth = next((k for k in range(10, 0, -1) if not has_more_runs(1024, k, max_grade)), 1)
    prefixes = all_runs(depth, max_grade)
    suffixes = [np.full((len(prefixes), length - depth), grade) for grade in (0, max_grade)]
    runs = [np.hstack([prefixes, suffix]) for suffix in suffixes]
    rank, grid = np.arange(length), np.unique(np.linspace(0, length, 41).astype(int))
    start, stop = (edges.ravel() for edges in np.meshgrid(grid, grid))
    is_inside = (rank >= start[:, None]) & (rank < stop[:, None])
    runs += [is_inside.astype(np.int64) * grade for grade in range(1, max_grade + 1)]
    rng = np.random.default_rng(0)
    is_relevant = rng.random((1024, length)) < np.linspace(0, 1, 1024)[:, None]
    runs.append(is_relevant * rng.integers(1, max_grade + 1, is_relevant.shape))
    return np.unique(np.vstack(runs), axis=0)


MAX_AREA = 1e-10  # maximum of twice the area of three points that count as collinear

PROPORTIONS = {"runs": "proportion of runs", "values": "proportion of values"}
"""Labels of the curves, by the column that is drawn."""


@theme.declare_chart("distribution", "measures")
def distribution_chart(
    measures: MeasuresByTitle,
    lengths: int | Sequence[int],
    grades: int = 1,
    *,
    judgments: Sequence[int] | int | None = None,
) -> alt.ConcatChart:
    """Draw each value of a measure against the proportions of runs and of values up to it.

    The interval-scaled version of a measure maps each value to the proportion of the other values
    that are lower. The curve of values is a straight line if and only if the measure has equal
    steps; its distance from the grey line is the effect of interval scaling. The curve of runs
    shows which values are common.

    Parameters
    ----------
    measures
        One or several measures, with a row of panels for each; the keys of a mapping are titles.
    lengths
        One or several lengths of runs, with a column of panels for each.
    grades
        Highest grade.
    judgments
        The topic's judgments, as for :func:`cranfield.image`; by default N relevant documents for
        runs of length N.

    Raises
    ------
    PolicyError
        For images that are too large to compute, and for empty lists of measures or lengths.

    Notes
    -----
    Figures 3 to 5 of Ferrante, Ferro and Fuhr (2021), which show the curve of runs only.

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
        _draw_panel(image(_add_cutoff(measure, length), length, grades, judgments=judgments), title)
        for title, measure in title_measures(measures).items()
        for length in sizes
    ]
    description = (
        "Values of measures against the proportion of all runs that are not higher, and of other"
        " values that are lower; the distinct values of an interval scale lie on the straight line."
    )
    return theme.apply_theme(alt.concat(*panels, columns=len(sizes), description=description))


def _add_cutoff(measure: str | Measure, length: int) -> str | Measure:
    """Add the length of runs to a measure without a cutoff."""
    if isinstance(measure, Measure) and measure.cutoff is None:
        return measure @ length
    return measure


def _draw_panel(runs_image: Image, title: str) -> alt.LayerChart:
    table = accumulate_proportions(runs_image)
    low, high = table["value"][0], table["value"][-1]
    max_value = runs_image.measure.info.range[1]
    ends = [min(0.0, low), max_value if np.isfinite(max_value) else high]
    y = alt.Y("value:Q").title("value").scale(domain=ends, nice=False).axis(tickCount=5)
    x = alt.X("proportion:Q").title("proportion up to the value").scale(domain=[0, 1], nice=False)
    x = x.axis(values=[0, 0.25, 0.5, 0.75, 1], format=".2~f")
    channels = {
        "color": theme.map_values(
            alt.Color, "curve", PROPORTIONS.values(), theme.COLOURS[:2], title=None
        ),
        "strokeDash": theme.map_values(
            alt.StrokeDash, "curve", PROPORTIONS.values(), [[1, 0], [3, 3]], title=None
        ),
    }
    straight_line = theme.start_chart({"proportion": [0.0, 1.0], "value": [low, high]})
    layers = [straight_line.mark_line(color="#bbbbbb", strokeWidth=5).encode(x=x, y=y)]
    for kind in PROPORTIONS:
        if not table[kind].null_count():
            line = theme.start_chart(make_curve_points(table, kind)).mark_line(strokeWidth=1.75)
            layers.append(line.encode(x=x, y=y, order="order:Q", **channels))
    counts_text = (
        f"{_format_count(runs_image.size)} values of {_format_count(runs_image.n_runs)} runs"
    )
    panel_title = alt.TitleParams(
        f"{title}, N = {runs_image.length}", subtitle=counts_text, subtitleFontSize=12
    )
    return alt.LayerChart(layer=layers, width=150, height=150, title=panel_title)


def make_curve_points(table: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Return the points of a curve, without points that make no visible difference."""
    if kind == "runs":
        segments = table.select("value", pl.concat_list("runs below", "runs").alias("proportion"))
        points = segments.explode("proportion")
    else:
        points = table.select("value", pl.col("values").alias("proportion"))
    low, high = points["value"][0], points["value"][-1]
    unit = max(float(high - low), 1e-300)
    cell_columns = [
        ((pl.col(axis) - start) / size * RESOLUTION).floor().alias(f"{axis} cell")
        for axis, start, size in (("proportion", 0.0, 1.0), ("value", low, unit))
    ]
    order = pl.col("order")
    is_end = (order == order.min()) | (order == order.max())
    x, y = pl.col("proportion"), pl.col("value") / unit
    # Twice the area of the triangle of a point and its neighbours, which is 0 on a straight line.
    area = x.diff() * y.diff().shift(-1) - y.diff() * x.diff().shift(-1)
    return (
        points.with_row_index("order")
        .with_columns(cell_columns)
        .filter(is_end.over("proportion cell", "value cell"))
        .filter((area.abs() > MAX_AREA).fill_null(True))
        .select("proportion", "value", "order", pl.lit(PROPORTIONS[kind]).alias("curve"))
    )


def _format_count(count: int) -> str:
    if count < 10**7:
        return f"{count:,}"
    exponent = len(str(count)) - 1
    return f"{count * 1000 // 10**exponent / 1000:.2f}e{exponent}"


SPACING_WIDTH, SPACING_HEIGHT = 200, 380
MAX_LISTED_RUNS = 4096  # maximum number of runs that are listed by value

LINE_HEIGHT, RUNS_PER_LINE, MAX_LINES = 11, 4, 3
"""Height of a line of a label in pixels, runs per line, and maximum number of lines."""


@theme.declare_chart("spacing", "measures")
def spacing_chart(
    measures: MeasuresByTitle,
    length: int,
    grades: int = 1,
    *,
    judgments: Sequence[int] | int | None = None,
    columns: int = 4,
) -> alt.ConcatChart:
    """Draw the values of measures on all runs of a length, each labelled with its runs.

    On an interval scale values are equally spaced. Each measure has a panel.

    Parameters
    ----------
    measures
        One or several measures; the keys of a mapping are their titles.
    length
        Number of ranks of the runs.
    grades, judgments
        As for :func:`distribution_chart`.
    columns
        Number of panels side by side.

    Raises
    ------
    PolicyError
        For more than 4,096 runs, and for an empty list of measures.

    Notes
    -----
    Figure 2 of Ferrante, Ferro and Fuhr (2021), which is figure 19 of Ferro and Maistro (2024).
    Labels that would overlap are moved up or down. If there is not enough space, some labels are
    omitted, but all marks are drawn.

    Examples
    --------
    >>> chart = spacing_chart(["P", "RR"], 3).to_dict()
    >>> [panel["title"]["text"] for panel in chart["concat"]]
    ['P', 'RR']
    """
    measures_by_title = title_measures(measures)
    check_integer("columns", columns, 1)
    panels = [
        _draw_spacing_panel(image(measure, length, grades, judgments=judgments), title)
        for title, measure in measures_by_title.items()
    ]
    description = (
        f"The values of {inflect(len(panels), 'measure')} on all runs of length {length} with"
        f" grades 0 to {grades}; on an interval scale all steps between neighbouring values are"
        " equal."
    )
    return theme.apply_theme(alt.concat(*panels, columns=columns, description=description))


def list_runs_by_value(runs_image: Image) -> pl.DataFrame:
    """List the values of an image in ascending order, each with its runs as strings of grades."""
    if has_more_runs(MAX_LISTED_RUNS, runs_image.length, runs_image.grades):
        raise PolicyError(
            f"expected at most {MAX_LISTED_RUNS:,} runs, got"
            f" {runs_image.grades + 1}^{runs_image.length} runs of length"
            f" {runs_image.length}; use distribution_chart for more runs"
        )
    runs = all_runs(runs_image.length, runs_image.grades)
    if runs_image.at_most is not None:
        raise PolicyError(f"expected an image of all runs, got at_most={runs_image.at_most}")
    separator = "" if runs_image.grades < 10 else ","
    table = pl.DataFrame(
        {
            "value": runs_image.values()[runs_image.rank_runs(runs) - 1],
            "runs": [separator.join(map(str, run)) for run in runs.tolist()],
        }
    )
    return table.group_by("value", maintain_order=True).agg("runs").sort("value")


def _draw_spacing_panel(runs_image: Image, title: str) -> alt.LayerChart:
    values = list_runs_by_value(runs_image)
    lowest, highest = float(values["value"][0]), float(values["value"][-1])
    max_value, low = float(runs_image.measure.info.range[1]), min(0.0, lowest)
    max_value = max(max_value if np.isfinite(max_value) else highest, low + 1e-9)
    scale = alt.Scale(domain=[low, max_value], nice=False, zero=False)

    def to_x(position: int) -> alt.XDatum:
        return alt.XDatum(
            position, scale=alt.Scale(domain=[0, SPACING_WIDTH], nice=False), axis=None
        )

    def to_y(field: str) -> alt.Y:
        return alt.Y(f"{field}:Q", scale=scale)

    line = theme.start_chart({"from": [lowest], "to": [highest]}).mark_rule(color="#bbbbbb")
    line = line.encode(x=to_x(8), y=to_y("from"), y2="to:Q")
    points = values.select(
        "value", count=pl.col("runs").list.len(), runs=pl.col("runs").list.join(" ")
    )
    marks = theme.start_chart(points).mark_square(color=theme.COLOURS[0], size=30, opacity=1)
    marks = marks.encode(
        x=to_x(8),
        y=to_y("value").title("value").axis(grid=False, domain=False),
        tooltip=theme.make_tips("value", "count:Q", "runs:N"),
    )
    labels = theme.start_chart(_make_labels(values, low, max_value))
    leaders = labels.mark_rule(color="#bbbbbb", strokeWidth=0.7)
    leaders = leaders.encode(x=to_x(12), x2=alt.X2Datum(27), y=to_y("value"), y2="position:Q")
    font: dict[str, Any] = {"font": "monospace", "fontSize": 10, "lineBreak": "\n"}
    text = labels.mark_text(align="left", baseline="middle", lineHeight=LINE_HEIGHT, **font)
    text = text.encode(x=to_x(30), y=to_y("first line"), text="label:N")
    return alt.LayerChart(
        layer=[line, leaders, marks, text],
        width=SPACING_WIDTH,
        height=SPACING_HEIGHT,
        title=alt.TitleParams(title, subtitle=_describe_steps(runs_image), subtitleFontSize=12),
    )


def _describe_steps(runs_image: Image) -> str:
    gaps = runs_image.find_gaps()
    values_text = inflect(runs_image.size, "value")
    if gaps.smallest is None or gaps.largest is None:
        return values_text
    if gaps.is_equispaced:
        return f"{values_text}, all steps {gaps.smallest:.3g}"
    return f"{values_text}, steps {gaps.smallest:.3g} to {gaps.largest:.3g}"


def _make_labels(values: pl.DataFrame, low: float, max_value: float) -> pl.DataFrame:
    """Label each value with its runs, moved so that labels do not overlap."""
    runs_of_values = values["runs"].to_list()
    value = values["value"].to_numpy()
    height = (value - low) / (max_value - low) * SPACING_HEIGHT
    subset = np.arange(len(value))
    for max_lines in (MAX_LINES, 1):
        label = [_write_label(runs, max_lines) for runs in runs_of_values]
        n_lines = np.array([text.count("\n") + 1 for text in label])
        size = LINE_HEIGHT * n_lines.astype(np.float64)
        if size.sum() <= SPACING_HEIGHT + LINE_HEIGHT:
            break
    else:
        subset = _select_labels(height, size)
    position = theme.space_out(
        height[subset], size[subset], -LINE_HEIGHT / 2, SPACING_HEIGHT + LINE_HEIGHT / 2
    )
    first_line = position + LINE_HEIGHT * (n_lines[subset] - 1) / 2
    unit = (max_value - low) / SPACING_HEIGHT
    return pl.DataFrame(
        {
            "value": value[subset],
            "position": position * unit + low,
            "first line": first_line * unit + low,
            "label": [label[k] for k in subset],
        }
    )


def _write_label(runs: Sequence[str], max_lines: int) -> str:
    """Write runs in lines; if there are too many, the last entry is the number of further runs."""
    n_per_line = max(1, (5 * RUNS_PER_LINE) // (len(runs[0]) + 1))
    entries = list(runs)
    if len(entries) > n_per_line * max_lines:
        n_written = max(1, n_per_line * max_lines - 1)
        entries = [*entries[:n_written], f"+{len(entries) - n_written}"]
        n_per_line = max(n_per_line, 2) if max_lines == 1 else n_per_line
    lines = (entries[k : k + n_per_line] for k in range(0, len(entries), n_per_line))
    return "\n".join(map(" ".join, lines))


def _select_labels(positions: Floats, size: Floats) -> NDArray[np.intp]:
    """Select labels from below, each if it does not overlap the previous one."""
    indices: list[int] = []
    for k in range(len(positions)):
        if not indices or (
            positions[k] - positions[indices[-1]] >= (size[k] + size[indices[-1]]) / 2
        ):
            indices.append(k)
    return np.array(indices)
