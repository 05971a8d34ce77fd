"""Figures of systems, measures or metrics with their confidence intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices, argsort_best
from cranfield.base.text import capitalise, inflect
from cranfield.reporting.page.contents import MeasurePart, PageContents
from cranfield.reporting.page.data import (
    count_overall_decimals,
    list_baseline_differences,
    select_initial_pair,
)
from cranfield.reporting.page.html import Html, fill_template, make_label
from cranfield.reporting.page.svg_charts import choose_axis, choose_ticks, format_tick, shorten_name
from cranfield.reporting.summary import BETTER, WORSE, list_verdicts
from cranfield.significance.comparison.result import PairwiseComparison

if TYPE_CHECKING:
    from cranfield.online.experiments.report import ExperimentReport

VERDICT_CLASSES = {BETTER: "top", WORSE: "worse"}  # style class of a row by verdict

TOP, BOTTOM = 22, 8  # space above the rows, for the axis, and below them, in pixels
STEPS = ((12, 26), (25, 19), (np.inf, 14))  # maximum number of rows, and height of a row in pixels
MAX_NAME_LENGTH = 24  # maximum length of a name; longer names are shortened
MAX_SHORT_NAME = 14  # if no name is longer, the plot is wider
MAX_VISIBLE = 40  # maximum number of rows that are visible without scrolling
MAX_RATIO = 30.0  # maximum ratio of the sizes of differences on a common axis

ARROWS = {-1: ("M5-4L0 0l5 4z", "0.5%"), 1: ("M-5-4L0 0l-5 4z", "99.5%")}
"""Shape and position of the arrow to a value below the axis, or above it."""


def draw_systems(part: MeasurePart) -> Html | None:
    """Draw all systems by one measure; None for a single system."""
    comparison, systems = part.comparison, part.scores.systems
    if len(systems) < 2:
        return None
    if comparison is None:
        figure = _arrange_means(part)
    elif comparison.baselines:
        figure = _arrange_differences(comparison)
    else:
        figure = _arrange_means_with_intervals(comparison)
    texts = [_format_number(value, figure.number_format) for value in figure.values.tolist()]
    if figure.baseline:
        texts[systems.index(figure.baseline)] = "baseline"
    intervals = figure.values, figure.low, figure.high
    rows = _make_rows(range(len(systems)), systems, texts, figure.styles, intervals)
    title = f"{make_label(part.name)}: {inflect(len(systems), 'system')}, best first"
    title += " (lower is better)" if part.scores.lower_is_better else ""
    chart, axis_note = _draw_rows(
        rows[figure.order], title, band=figure.band, has_zero=bool(figure.baseline)
    )
    is_long = len(systems) > MAX_VISIBLE
    hint = f"Scroll the chart to see all {len(systems)} systems." if is_long else ""
    legend = _describe_colours(figure.styles, figure.meanings)
    return _fill_figure(title, chart, [f"{figure.note} {legend}".strip(), axis_note, hint])


COLOURS = {"top": "blue", "worse": "orange"}  # by style class of a row


def _describe_colours(styles: Sequence[str], meanings: Mapping[str, str]) -> str:
    """Return the meanings of the colours that occur, by style class."""
    parts = [f"{COLOURS[style]}: {text}" for style, text in meanings.items() if style in styles]
    return f"{capitalise('; '.join(parts))}." if parts else ""


class SystemValues(NamedTuple):
    """Values of all systems in a figure, with their intervals, and how they are drawn."""

    order: Indices  # of the rows
    values: Floats
    low: Floats
    high: Floats
    number_format: str  # format of the values
    styles: Sequence[str]  # style classes of the rows
    note: str
    meanings: Mapping[str, str] = {}  # of the style classes
    band: tuple[float, float] | None = None  # interval of the best system
    baseline: str = ""


def _arrange_means(part: MeasurePart) -> SystemValues:
    return SystemValues(
        order=argsort_best(part.overall, part.scores.lower_is_better),
        values=part.overall,
        low=part.overall,
        high=part.overall,
        number_format=f".{count_overall_decimals(part)}f",
        styles=[""] * len(part.scores.systems),
        note=f"{capitalise(part.overall_name)} of each system, without a test.",
    )


def _arrange_differences(comparison: PairwiseComparison) -> SystemValues:
    baseline = comparison.baselines[0]
    values, low, high = list_baseline_differences(comparison)
    axis = "Log ratio to" if comparison.mean_of == "geometric mean" else "Difference from"
    return SystemValues(
        order=comparison.order,
        values=values,
        low=low,
        high=high,
        number_format=f"+.{comparison.places}f",
        styles=[VERDICT_CLASSES.get(verdict, "") for verdict in list_verdicts(comparison)],
        note=(
            f"{axis} {make_label(baseline)}, with its {_format_level(comparison)} confidence"
            f" interval ({comparison.interval_of}, {comparison.interval_kind})."
        ),
        meanings={"top": "significantly better", "worse": "significantly worse"},
        baseline=baseline,
    )


def _arrange_means_with_intervals(comparison: PairwiseComparison) -> SystemValues:
    best_system = int(comparison.order[0])
    bounds = comparison.find_mean_bounds(best_system)
    low, high = bounds or (comparison.means, comparison.means)
    is_top = [False] * len(comparison.systems)
    if comparison.alternative == "two-sided":
        is_top = [name in comparison.top_group for name in comparison.systems]
    if bounds is None:
        note = f"Dots: {comparison.mean_of} of each system."
    elif comparison.half_widths is not None:
        note = "Systems whose bars do not overlap are significantly different."
    else:
        note = (
            f"Dots: {comparison.mean_of} of each system. Lines: {_format_level(comparison)}"
            f" confidence intervals of the {comparison.difference_from} the best, drawn around each"
            f" dot ({comparison.interval_kind}); lines can exceed the range of scores. The best"
            " system has no line."
        )
    return SystemValues(
        order=comparison.order,
        values=comparison.means,
        low=low,
        high=high,
        number_format=f".{comparison.places}f",
        styles=["top" if is_member else "" for is_member in is_top],
        note=note,
        meanings={"top": "not significantly different from the best"},
        band=None if bounds is None else (float(low[best_system]), float(high[best_system])),
    )


def draw_two_systems(contents: PageContents) -> Html:
    """Draw the difference of two systems with its confidence interval, a row per measure."""
    first, second = select_initial_pair(contents)
    comparisons_by_part = {
        k: part.comparison for k, part in enumerate(contents.parts) if part.comparison is not None
    }
    comparisons = list(comparisons_by_part.values())
    # Difference, lower and upper bound by each measure.
    values = np.array([[c.difference[0], *(bound[0] for bound in c.interval)] for c in comparisons])
    is_reversed = np.array([comparison.first[0] != first for comparison in comparisons])
    values[is_reversed] = -values[is_reversed][:, [0, 2, 1]]
    names = [contents.parts[k].name for k in comparisons_by_part]
    texts = [_format_number(values[k, 0], f"+.{c.places}f") for k, c in enumerate(comparisons)]
    styles = ["top" if comparison.count() else "" for comparison in comparisons]
    rows = _make_rows(list(comparisons_by_part), names, texts, styles, values.T)
    sizes = np.where(np.isfinite(values), np.abs(values), 0.0).max(axis=1)
    has_common_axis = sizes.max() <= MAX_RATIO * sizes.min()
    first_label, second_label = (make_label(contents.systems[k]) for k in (first, second))
    title = f"{first_label} minus {second_label}, by measure"
    frames = [rows] if has_common_axis else list(rows.iter_slices(1))
    charts, axis_notes = zip(
        *(_draw_rows(frame, title, has_zero=True, contains_all=True) for frame in frames),
        strict=True,
    )
    levels = ", ".join(sorted({*map(_format_level, comparisons)}))
    note, first_comparison = f"Lines: {levels} confidence intervals.", comparisons[0]
    if not first_comparison.tests_difference:
        # The dots show another quantity than the intervals.
        quantity = first_comparison.interval_of
        note = f"Dots: {first_comparison.difference_name}. {note[:-1]} of the {quantity}."
    legend = _describe_colours(styles, {"top": "significantly different"})
    axis_hint = "" if has_common_axis else "Each measure has its own axis."
    notes = [f"{note} {legend}".strip(), axis_hint, *sorted({*axis_notes})]
    return _fill_figure(title, Html("".join(charts)), notes)


def draw_lifts(report: ExperimentReport) -> Html | None:
    """Draw lifts over the control, in percent; None if the report is stopped or has no lift."""
    effects = report.comparisons
    percentages = effects.select(pl.col("lift", "lift low", "lift high").fill_null(np.nan)) * 100
    lifts = percentages["lift"].to_list()
    if report.is_stopped or not np.isfinite(lifts).any():
        return None
    names = effects["metric"].to_list()
    if len(report.variants) > 2:
        names = [
            f"{name}: {variant}"
            for name, variant in effects.select("metric", "variant").iter_rows()
        ]
    texts = [
        f"{_format_number(lift, '+.1f') or '–'}{'' if np.isnan(lift) else '%'}" for lift in lifts
    ]
    styles = [VERDICT_CLASSES.get(verdict, "") for verdict in effects["verdict"]]
    rows = _make_rows(range(effects.height), names, texts, styles, percentages.to_numpy().T)
    variant = "each variant" if len(report.variants) > 2 else make_label(report.variants[1])
    title = f"Lift of {variant} over {make_label(report.control)}"
    chart, axis_note = _draw_rows(rows, title, has_zero=True, noun="row", unit="%")
    level = f"{report.interval_scope} {100 - 100 * report.alpha:g}%".lstrip()
    note = f"Lines: {level} confidence intervals. Blue: better; orange: worse; grey: neither."
    return _fill_figure(title, chart, [note, axis_note])


def _make_rows(
    keys: Sequence[int],
    names: Sequence[str],
    texts: Sequence[str],
    styles: Sequence[str],
    intervals: Iterable[Floats],
) -> pl.DataFrame:
    """Return the rows of a figure; `intervals` are values, lower and upper bounds."""
    columns = {"key": keys, "name": names, "text": texts, "style": styles}
    return pl.DataFrame(columns | dict(zip(("value", "low", "high"), intervals, strict=True)))


def _format_level(comparison: PairwiseComparison) -> str:
    return f"{100 * (1 - comparison.alpha):.4g}%"


def _format_number(value: float, number_format: str) -> str:
    """Format a score, or a difference if the format has a sign; a missing difference is empty."""
    if "+" in number_format:
        return "" if np.isnan(value) else f"{value:{number_format}}".replace("-", "−")
    return "–" if np.isnan(value) else f"{value:{number_format}}"


def _fill_figure(title: str, chart: Html, notes: list[str]) -> Html:
    note = " ".join(filter(None, notes))
    return fill_template("figure.html", title=title, drawing=chart, note=note)


def _draw_rows(
    frame: pl.DataFrame,
    title: str,
    *,
    band: tuple[float, float] | None = None,
    has_zero: bool = False,
    contains_all: bool = False,
    noun: str = "system",
    unit: str = "",
) -> tuple[Html, str]:
    """Draw the rows; also return a note on values beyond the axis and on missing intervals.

    Infinite bounds extend to the end of the axis, which has all finite bounds if `contains_all`.
    """
    values, low, high = frame.select("value", "low", "high").to_numpy().T
    start, stop = choose_axis(values, low, high, has_zero=has_zero, contains_all=contains_all)
    step = next(step for count, step in STEPS if frame.height <= count)
    side = np.where(values < start, -1, np.where(values > stop, 1, 0))

    def to_percent(value: float) -> float:
        return 2 + 96 * float(np.clip((value - start) / (stop - start), -0.02, 1.02))

    def format_x(value: float) -> str:
        return f"{to_percent(value):.2f}%"

    rows = []
    for k, row in enumerate(frame.iter_rows(named=True)):
        row["name"] = make_label(row["name"])
        # Names of a team often have the same beginning and differ at the end, so the middle is cut.
        row["short"] = shorten_name(row["name"], MAX_NAME_LENGTH, (MAX_NAME_LENGTH - 1) // 2)
        row["y"] = f"{TOP + step * (k + 0.5):g}"
        row["text_y"] = f"{TOP + step * (k + 0.5) + 4:g}"
        row["x"] = "" if np.isnan(row["value"]) else format_x(row["value"])
        # A missing bound is drawn at the value.
        for bound in ("low", "high"):
            row[bound] = format_x(row["value"] if np.isnan(row[bound]) else row[bound])
        row["arrow"], row["x"] = ARROWS.get(int(side[k]), ("", row["x"]))
        rows.append(row)
    marks = [
        (format_x(mark), f"{format_tick(mark)}{unit}", "zero" if has_zero and mark == 0 else "grid")
        for mark in choose_ticks(start, stop, 5)
        if start <= mark <= stop
    ]
    chart = fill_template(
        "intervals.html",
        title=title,
        rows=rows,
        marks=marks,
        band=band and (format_x(band[0]), f"{to_percent(band[1]) - to_percent(band[0]):.2f}%"),
        top=TOP,
        step=step,
        bottom=TOP + step * frame.height,
        height=TOP + step * frame.height + BOTTOM,
        short=all(len(row["name"]) <= MAX_SHORT_NAME for row in rows),
    )
    notes = []
    if n_beyond := int(np.count_nonzero(side)):
        subject = f"{inflect(n_beyond, noun)} {'lies' if n_beyond == 1 else 'lie'}"
        notes.append(
            f"{subject} beyond the axis and {'has' if n_beyond == 1 else 'have'} an arrow instead"
            " of a dot; the numbers are on the right."
        )
    if np.isinf([low, high]).any():
        notes.append("A line to the edge of the axis has no finite bound there.")
    if np.isnan(low[np.isfinite(values)]).any():
        notes.append("A dot without a line: an interval would contradict the decision of the test.")
    return chart, " ".join(notes)
