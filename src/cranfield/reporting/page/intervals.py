"""The figure beside the answer: systems, measures or metrics, with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from cranfield.base.arrays import best_first
from cranfield.base.text import counted
from cranfield.reporting.page.contents import Contents, Part
from cranfield.reporting.page.data import against_baseline, places, start
from cranfield.reporting.page.drawn import shortened, span, tick_label, ticks
from cranfield.reporting.page.html import Html, filled, label
from cranfield.reporting.summary import BETTER, against
from cranfield.significance.comparison.result import PairwiseComparison

if TYPE_CHECKING:
    from cranfield.online.experiments.report import ExperimentReport

TOP, BOTTOM = 22, 8
"""Room for the axis above the rows, and below them."""

STEPS = ((12, 26), (25, 19), (np.inf, 14))
"""Up to how many rows, height of a row."""

LETTERS = 24
"""Characters of a name that are shown; its tooltip has the whole name."""

SHORT = 14
"""If no name is longer than this, the plot gets more room."""

IN_SIGHT = 40
"""Rows of a figure that are seen without scrolling it."""

APART = 30.0
"""Differences so many times as large as others have an axis of their own."""

ARROWS = {-1: ("M5-4L0 0l5 4z", "0.5%"), 1: ("M-5-4L0 0l-5 4z", "99.5%")}
"""Shape and place of the arrow to a value that is below the axis, or above it."""


def answer_figure(part: Part) -> Html | None:
    """Draw all systems by one measure; a single system is not drawn."""
    one, systems = part.comparison, part.scores.systems
    if len(systems) < 2:
        return None
    order = best_first(part.overall, part.scores.lower_is_better)
    values = low = high = part.overall
    form, top, band = f".{places(part)}f", [False] * len(systems), None
    note = "Means of all systems, without a test."
    if one is not None and one.baselines:
        order, form = one.order, f"+.{one.places}f"
        values, low, high = against_baseline(one)
        top = [word == BETTER for word in against(one)]
        what = "Log ratio to" if one.mean_of == "geometric mean" else "Difference from"
        note = (
            f"{what} {label(one.baselines[0])}, with its {_level(one)} confidence interval"
            f" ({one.interval_of}, {one.interval_kind}). Blue: better than it."
        )
    elif one is not None:
        order, best, values, form = one.order, int(one.order[0]), one.means, f".{one.places}f"
        limits = one.around(best)
        low, high = limits or (values, values)
        if one.alternative == "two-sided":
            top = [name in one.top_group for name in systems]
        note = f"Dots: {one.mean_of} of each system."
        if limits is not None:
            band = float(low[best]), float(high[best])
            note = "Systems whose bars do not overlap are significantly different."
            if one.half_widths is None:
                note = (
                    f"Dots: {one.mean_of} of each system. Lines: {_level(one)} confidence intervals"
                    f" of its {one.difference_from} the best, drawn around the dot"
                    f" ({one.interval_kind}); they can exceed the range of scores. The best has"
                    " none."
                )
        note += " Blue: not significantly different from the best."
    words = [_number(value, form) for value in values.tolist()]
    if is_difference := one is not None and bool(one.baselines):
        words[systems.index(one.baselines[0])] = "baseline"
    rows = pl.DataFrame(
        {
            **{"key": range(len(systems)), "name": systems, "text": words},
            "look": ["top" if is_top else "" for is_top in top],
            **{"value": values, "low": low, "high": high},
        }
    )
    title = f"{label(part.name)}: {counted(len(systems), 'system')}, best first"
    title += " (lower is better)" if part.scores.lower_is_better else ""
    drawing, beyond = _drawn(rows[order], title, band=band, zero=is_difference)
    more = f"Scroll the chart to see all {len(systems)}." if len(systems) > IN_SIGHT else ""
    return _figure(title, drawing, [note, beyond, more])


def two_systems_figure(contents: Contents) -> Html:
    """Draw the difference of two systems with its limits, a row a measure."""
    first, second = start(contents)
    keys = [k for k, part in enumerate(contents.parts) if part.comparison is not None]
    compared = [part.comparison for part in contents.parts if part.comparison is not None]
    ends = np.array([[one.difference[0], *(end[0] for end in one.interval)] for one in compared])
    turned = np.array([one.first[0] != first for one in compared])
    ends[turned] = -ends[turned][:, [0, 2, 1]]
    rows = pl.DataFrame(
        {
            "key": keys,
            "name": [contents.parts[k].name for k in keys],
            "text": [_number(ends[k, 0], f"+.{one.places}f") for k, one in enumerate(compared)],
            "look": ["top" if one.count() else "" for one in compared],
            **dict(zip(("value", "low", "high"), ends.T, strict=True)),
        }
    )
    sizes = np.where(np.isfinite(ends), np.abs(ends), 0.0).max(axis=1)
    has_one_axis = sizes.max() <= APART * sizes.min()
    title = f"{label(contents.systems[first])} minus {label(contents.systems[second])}, by measure"
    charts = [rows] if has_one_axis else list(rows.iter_slices(1))
    drawings, notes = zip(
        *(_drawn(chart, title, zero=True, whole=True) for chart in charts), strict=True
    )
    levels = ", ".join(sorted({*map(_level, compared)}))
    note = f"Lines: {levels} confidence intervals. Blue: significantly different."
    own = "" if has_one_axis else "Each has an axis of its own."
    return _figure(title, Html("".join(drawings)), [note, own, *sorted({*notes})])


LOOKS = {"better": "top", "worse": "worse"}
"""How rows of an experiment look, by verdict."""


def lifts_figure(report: ExperimentReport) -> Html | None:
    """Draw the lift of each metric and variant over the control, in percent; None without any."""
    effects = report.comparisons
    ends = effects.select(pl.col("lift", "lift low", "lift high").fill_null(np.nan)) * 100
    lifts = ends["lift"].to_list()
    if report.stopped or not np.isfinite(lifts).any():
        return None
    names = effects["metric"].to_list()
    if len(report.variants) > 2:
        names = [
            f"{name}: {variant}"
            for name, variant in effects.select("metric", "variant").iter_rows()
        ]
    rows = pl.DataFrame(
        {
            **{"key": range(effects.height), "name": names},
            "text": [
                f"{_number(lift, '+.1f') or '–'}{'' if np.isnan(lift) else '%'}" for lift in lifts
            ],
            "look": [LOOKS.get(verdict, "") for verdict in effects["verdict"]],
            **dict(zip(("value", "low", "high"), ends.to_numpy().T, strict=True)),
        }
    )
    compared = "each variant" if len(report.variants) > 2 else label(report.variants[1])
    title = f"Lift of {compared} over {label(report.control)}"
    drawing, beyond = _drawn(rows, title, zero=True, noun="row", unit="%")
    level = f"{report.interval_scope} {100 - 100 * report.alpha:g}%".lstrip()
    note = f"Lines: {level} confidence intervals. Blue: better; orange: worse; grey: neither."
    return _figure(title, drawing, [note, beyond])


def _level(one: PairwiseComparison) -> str:
    return f"{100 * (1 - one.alpha):.4g}%"


def _number(value: float, form: str) -> str:
    if "+" in form:
        return "" if np.isnan(value) else f"{value:{form}}".replace("-", "−")
    return "–" if np.isnan(value) else f"{value:{form}}"


def _figure(title: str, drawing: Html, notes: list[str]) -> Html:
    return filled("figure.html", title=title, drawing=drawing, note=" ".join(filter(None, notes)))


def _drawn(
    frame: pl.DataFrame,
    title: str,
    *,
    band: tuple[float, float] | None = None,
    zero: bool = False,
    whole: bool = False,
    noun: str = "system",
    unit: str = "",
) -> tuple[Html, str]:
    """Draw the rows; also return a note on what lies beyond the axis or has no interval.

    `look` is the class of a row: rows of `top` have the colour of the best. Infinite bounds reach
    to the end of the axis, which always holds the first row, and with `whole` all finite bounds.
    `band` is shaded over all rows. `noun` is what a row shows, and `unit` that of the axis.
    """
    values, low, high = frame.select("value", "low", "high").to_numpy().T
    least, most = span(values, low, high, zero=zero, whole=whole)
    step = next(step for count, step in STEPS if frame.height <= count)
    side = np.where(values < least, -1, np.where(values > most, 1, 0))

    def share(value: float) -> float:
        return 2 + 96 * float(np.clip((value - least) / (most - least), -0.02, 1.02))

    def x(value: float) -> str:
        return f"{share(value):.2f}%"

    rows = []
    for k, row in enumerate(frame.iter_rows(named=True)):
        row["name"] = label(row["name"])
        # Names of one team begin alike: the middle is cut.
        row["short"] = shortened(row["name"], LETTERS, (LETTERS - 1) // 2)
        row["y"] = f"{TOP + step * (k + 0.5):g}"
        row["text_y"] = f"{TOP + step * (k + 0.5) + 4:g}"
        row["x"] = "" if np.isnan(row["value"]) else x(row["value"])
        # Only finite bounds have an end; the others are lines to the edge of the axis.
        for end in ("low", "high"):
            row[end] = x(row["value"] if np.isnan(row[end]) else row[end])
        row["arrow"], row["x"] = ARROWS.get(int(side[k]), ("", row["x"]))
        rows.append(row)
    marks = [
        (x(mark), f"{tick_label(mark)}{unit}", "zero" if zero and mark == 0 else "grid")
        for mark in ticks(least, most, 5)
        if least <= mark <= most
    ]
    drawing = filled(
        "intervals.html",
        title=title,
        rows=rows,
        marks=marks,
        band=band and (x(band[0]), f"{share(band[1]) - share(band[0]):.2f}%"),
        top=TOP,
        step=step,
        bottom=TOP + step * frame.height,
        height=TOP + step * frame.height + BOTTOM,
        short=all(len(row["name"]) <= SHORT for row in rows),
    )
    notes = []
    if beyond := int(np.count_nonzero(side)):
        lie = f"{counted(beyond, noun)} {'lies' if beyond == 1 else 'lie'}"
        notes.append(f"{lie} beyond the axis, where an arrow points; the numbers are on the right.")
    if np.isinf([low, high]).any():
        notes.append("A line to the edge of the axis has no finite bound there.")
    if np.isnan(low[np.isfinite(values)]).any():
        notes.append("A dot without a line: an interval would contradict the decision.")
    return drawing, " ".join(notes)
