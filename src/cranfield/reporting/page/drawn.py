"""Charts of pages without scripts, as HTML and SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.text import counted, plain
from cranfield.reporting.page.html import Html, el, joined, label
from cranfield.tabular import number

Place = Callable[[Floats | float], Floats]


def axis(low: float, high: float, start: float, end: float) -> Place:
    """Return a linear map from values to positions; if both ends are equal, to the middle."""

    def place(values: Floats | float) -> Floats:
        share = (np.asarray(values) - low) / (high - low) if high > low else 0.5
        return np.asarray(start + (end - start) * (share + np.zeros(np.shape(values))))

    return place


def ticks(low: float, high: float, most: int = 6) -> Floats:
    """Return round values within a range, in steps of 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> ticks(-0.31, 0.42).round(2).tolist()
    [-0.2, 0.0, 0.2, 0.4]
    """
    if not 0 < high - low < np.inf:
        return np.array([low]) if np.isfinite(low) else np.zeros(0)
    step = _step(high - low, most)
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return np.asarray(np.arange(first, last + 1) * step)


def rounded(low: float, high: float, most: int = 6) -> tuple[float, float]:
    """Widen a range to round values.

    Examples
    --------
    >>> [round(end, 9) for end in rounded(-0.31, 0.42)]
    [-0.4, 0.6]
    """
    step = _step(high - low, most)
    return float(np.floor(low / step + 1e-9) * step), float(np.ceil(high / step - 1e-9) * step)


def _step(width: float, most: int) -> float:
    power = 10.0 ** np.floor(np.log10(width / most))
    return float(next(power * one for one in (1, 2, 5, 10, 20) if width / (power * one) < most))


def shown(value: float) -> str:
    """Format a tick of an axis with as few digits as possible."""
    return f"{value:.6g}" if value else "0"


def points(x: Floats, y: Floats) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def dots(x: Floats, y: Floats, look: str | None = None) -> list[Html]:
    places = zip(x.tolist(), y.tolist(), strict=True)
    return [el("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r=3, class_=look) for a, b in places]


def words(value: object, x: float, y: float, anchor: str = "middle", **more: object) -> Html:
    """Return a text element."""
    return el("text", value, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, **more)


WIDE, HIGH = 1000.0, 300.0
"""Width and height of vertical bars, without their names."""

NARROW, ROW = 350.0, 15.0
"""Width of horizontal bars, and the height of each."""

LETTER = 6.4
"""Width of a character, to reserve space for names."""

MARKS = 6
"""Ticks of an axis at most, plus one or two at its ends."""

LONGEST = 10
"""Characters of a name that are shown."""


def drawn_bars(
    names: Sequence[str], values: Floats, *, title: str, lower_is_better: bool = False
) -> Html:
    """Draw a bar from 0 for each value; NaN has no bar.

    The result has two drawings, of which the style sheet shows one: vertical bars on wide screens,
    horizontal bars on narrow ones, where every name stays legible.

    Parameters
    ----------
    names, values
        Name and length of each bar, shape (n,).
    title
        Title of the chart, for screen readers.
    lower_is_better
        Whether negative bars have the colour of the better side.
    """
    ends = values[np.isfinite(values)]
    low, high = (min(0.0, *ends.tolist()), max(0.0, *ends.tolist())) if ends.size else (0.0, 0.0)
    if low == high:
        low, high = -1.0, 1.0
    low, high = rounded(low, high, MARKS)
    shorter = [_short(name) for name in names]
    better = np.where(np.isnan(values), 0, np.sign(values)) * (-1 if lower_is_better else 1)
    drawings = (_upright, _lying)
    return joined(
        *(
            el("div", draw(shorter, values, better, (low, high), title), class_=f"for-{name}")
            for draw, name in zip(drawings, ("wide", "narrow"), strict=True)
        )
    )


def _short(name: str) -> str:
    shown = plain(name)
    return shown if len(shown) <= LONGEST else f"{shown[: LONGEST - 1]}…"


def _room(names: Sequence[str]) -> float:
    return 10 + LETTER * max(map(len, names), default=0)


def _upright(
    names: Sequence[str], values: Floats, better: Floats, ends: tuple[float, float], title: str
) -> Html:
    left, top = 56.0, 8.0
    pitch = (WIDE - left) / max(1, len(names))
    y = axis(*ends, HIGH, top)
    zero = float(y(0.0))
    starts, tips = left + pitch * (np.arange(len(names)) + 0.14), y(values)
    bars = [
        f"M{start:.1f} {zero:.1f}V{tip:.1f}h{pitch * 0.72:.1f}V{zero:.1f}z"
        for start, tip in zip(starts.tolist(), tips.tolist(), strict=True)
    ]
    parts = [
        words(shown(value), left - 7, float(y(value)) + 4, "end") for value in ticks(*ends, MARKS)
    ]
    for k in range(0, len(names), int(np.ceil(13 / pitch))):
        at = left + pitch * (k + 0.5) + 4
        turned = f"rotate(-90 {at:.1f} {HIGH + 8:.1f})"
        parts.append(words(names[k], at, HIGH + 8, "end", transform=turned))
    grid = "".join(f"M{left:g} {at:.1f}H{WIDE:g}" for at in y(ticks(*ends, MARKS)).tolist())
    base = f"M{left:g} {zero:.1f}H{WIDE:g}"
    return _bars(title, (WIDE, HIGH + _room(names)), grid, base, bars, better, parts)


def _lying(
    names: Sequence[str], values: Floats, better: Floats, ends: tuple[float, float], title: str
) -> Html:
    left, top, edge = _room(names), 24.0, 12.0
    bottom = top + ROW * len(names)
    x = axis(*ends, left, NARROW - edge)
    zero = float(x(0.0))
    bars = [
        f"M{zero:.1f} {top + ROW * k + 2:g}H{tip:.1f}v{ROW - 4:g}H{zero:.1f}z"
        for k, tip in enumerate(x(values).tolist())
    ]
    parts = [words(shown(value), float(x(value)), top - 8) for value in ticks(*ends, MARKS)]
    parts += [words(name, left - 7, top + ROW * k + 11.5, "end") for k, name in enumerate(names)]
    grid = "".join(f"M{at:.1f} {top:g}V{bottom:g}" for at in x(ticks(*ends, MARKS)).tolist())
    base = f"M{zero:.1f} {top:g}V{bottom:g}"
    return _bars(title, (NARROW, bottom + 4), grid, base, bars, better, parts)


def _bars(
    title: str,
    size: tuple[float, float],
    grid: str,
    base: str,
    bars: Sequence[str],
    better: Floats,
    labels: Sequence[Html],
) -> Html:
    paths = [
        el("path", d="".join(bars[k] for k in np.flatnonzero(better == side).tolist()), class_=look)
        for side, look in ((1, "first"), (-1, "second"))
    ]
    return el(
        "svg",
        el("title", title),
        el("path", d=grid, class_="grid"),
        *paths,
        el("path", d=base, class_="base"),
        *labels,
        viewBox=f"0 0 {size[0]:g} {size[1]:g}",
        class_="bars",
        role="img",
    )


SIZE = (440.0, 330.0)
"""Width and height: letters are still read where a phone makes it smaller."""

MARGIN = (50.0, 12.0, 46.0)
"""Room on the left, at the top and right, and at the bottom."""

LOOKS = ("first", "second")
"""Classes of the curves in the style sheet: colours, the second dashed."""


def drawn_curves(
    levels: Floats,
    curves: Sequence[tuple[str, Floats]],
    *,
    title: str,
    across: str,
    up: str,
) -> Html:
    """Draw up to two curves with a legend, on axes from 0 to 1; NaN is skipped.

    Parameters
    ----------
    levels
        Shape (levels,), from 0 to 1.
    curves
        Name and values of each, shape (levels,).
    title, across, up
        Titles of the chart and of both axes.
    """
    width, height = SIZE
    left, edge, bottom = MARGIN
    x, y = axis(0, 1, left, width - edge), axis(0, 1, height - bottom, edge)
    marks = ticks(0, 1)
    grid = "".join(f"M{left:g} {at:.1f}H{width - edge:g}" for at in y(marks).tolist())
    parts: list[object] = [el("title", title), el("path", d=grid, class_="grid")]
    for one, at in zip(marks, y(marks), strict=True):
        parts.append(words(shown(one), left - 7, float(at) + 4, "end"))
    for one, at in zip(marks, x(marks), strict=True):
        parts.append(words(shown(one), float(at), height - bottom + 18))
    parts.append(words(across, (left + width - edge) / 2, height - 6))
    middle = (edge + height - bottom) / 2
    parts.append(words(up, 13, middle, transform=f"rotate(-90 13 {middle:.1f})"))
    for look, (_, values) in reversed([*zip(LOOKS, curves, strict=False)]):
        known = np.isfinite(values)
        if known.any():
            line = points(x(levels[known]), y(values[known]))
            parts.append(el("polyline", points=line, class_=look))
            parts += dots(x(levels[known]), y(values[known]), look)
    drawing = el(
        "svg", *parts, viewBox=f"0 0 {width:g} {height:g}", class_="curves", role="img"
    )  # fmt: skip
    keys = joined(
        *(
            el("li", _sample(look), el("span", name))
            for look, (name, _) in zip(LOOKS, curves, strict=False)
        )
    )
    return el("figure", drawing, el("ul", keys, class_="legend"))


def _sample(look: str) -> Html:
    """Draw the line of a legend entry."""
    line = el("line", x1=0, x2=30, y1=6, y2=6, class_=look)
    dot = el("circle", cx=15, cy=6, r=3, class_=look)
    return el("svg", line, dot, viewBox="0 0 30 12", class_="sample", aria_hidden="true")


TOP, BOTTOM = 22.0, 8.0
"""Room for the axis above the rows, and below them."""

BULK = 1.5
"""Values further than this many interquartile ranges from the quartiles may be off the axis."""

SAVED = 1.25
"""The axis is cut if it would otherwise be longer by this factor."""

LETTERS = 24
"""Characters of a name that are shown; its tooltip has the whole name."""

SHORT = 14
"""If no name is longer than this, the plot gets more room."""


@dataclass(frozen=True, eq=False)
class IntervalRows:
    """Rows of a chart of intervals: names, values, interval bounds, text at the end, and colour.

    Infinite bounds reach to the end of the axis; without intervals the bounds are the values.
    `band` is shaded over all rows, rows of `top` have the colour of the best, and with `whole` the
    axis holds all finite bounds.
    """

    names: Sequence[str]
    keys: Sequence[int]
    middle: Floats
    low: Floats
    high: Floats
    words: Sequence[str]
    top: Sequence[bool]
    band: tuple[float, float] | None = None
    zero: bool = False
    whole: bool = False


def row_height(rows: int) -> float:
    return 26.0 if rows <= 12 else 19.0 if rows <= 25 else 14.0


def span(
    middle: Floats, low: Floats, high: Floats, *, zero: bool, whole: bool = False
) -> tuple[float, float]:
    """Return the ends of the axis, by the bulk of the rows: outliers do not squeeze the others.

    Examples
    --------
    >>> bulk = np.array([0.7, 0.72, 0.74, 0.76, 0.78])
    >>> [round(end, 2) for end in span(bulk, bulk - 0.02, bulk + 0.02, zero=False)]
    [0.68, 0.8]
    >>> far = np.append(bulk, -9.0)
    >>> [round(end, 2) for end in span(far, far - 0.02, far + 0.02, zero=False)]
    [0.68, 0.8]
    """
    known = np.isfinite(middle)
    middle, low, high = middle[known], low[known], high[known]
    if not middle.size:
        return 0.0, 1.0
    low, high = (np.where(np.isfinite(ends), ends, middle) for ends in (low, high))
    first, last = float(low.min()), float(high.max())
    q1, q3 = np.quantile(middle, [0.25, 0.75])
    reach = BULK * (q3 - q1)
    inside = (middle >= q1 - reach) & (middle <= q3 + reach)
    ends = float(low[inside].min()), float(high[inside].max())
    if not whole and (last - first) > SAVED * (ends[1] - ends[0]):
        first, last = ends
    if zero:
        first, last = min(first, 0.0), max(last, 0.0)
    if first == last:
        first, last = first - 0.5, last + 0.5
    return first, last


def drawn_intervals(rows: IntervalRows, title: str) -> tuple[Html, str]:
    """Draw the rows; also return a note on what lies beyond the axis or has no interval."""
    low, high = span(rows.middle, rows.low, rows.high, zero=rows.zero, whole=rows.whole)
    step = row_height(len(rows.names))
    bottom = TOP + step * len(rows.names)

    def x(values: Floats | float) -> Floats:
        share = (np.asarray(values, dtype=np.float64) - low) / (high - low)
        return np.asarray(2 + 96 * np.clip(share, -0.02, 1.02))

    plot: list[object] = []
    if rows.band is not None:
        left, right = x(np.array(rows.band)).tolist()
        size = {"x": _at(left), "width": _at(right - left), "y": TOP, "height": f"{bottom - TOP:g}"}
        plot.append(el("rect", class_="band", **size))
    marks = ticks(low, high, 5)
    marks = marks[(marks >= low) & (marks <= high)]
    for value, place in zip(marks, map(_at, x(marks).tolist()), strict=True):
        kind = "zero" if rows.zero and value == 0 else "grid"
        plot.append(el("line", class_=kind, x1=place, x2=place, y1=TOP - 4, y2=f"{bottom:g}"))
        plot.append(el("text", shown(value), x=place, y=TOP - 9, text_anchor="middle"))
    # Only finite bounds have an end; the others are lines to the edge of the axis.
    starts, ends = (
        x(np.where(np.isnan(bound), rows.middle, bound)) for bound in (rows.low, rows.high)
    )
    names: list[object] = []
    values: list[object] = []
    for k, (name, value) in enumerate(zip(rows.names, rows.middle.tolist(), strict=True)):
        look = "top" if rows.top[k] else None
        y = TOP + step * (k + 0.5)
        base = f"{y + 4:g}"
        names.append(
            el("text", _short_name(label(name)), y=base, data_row=rows.keys[k], class_=look)
        )
        values.append(el("text", rows.words[k], x="100%", y=base, text_anchor="end", class_=look))
        if np.isnan(value):
            continue
        if low <= value <= high:
            start, end = float(starts[k]), float(ends[k])
            line = el("line", x1=_at(start), x2=_at(end), y1=f"{y:g}", y2=f"{y:g}")
            dot = el("circle", cx=_at(float(x(value))), cy=f"{y:g}", r="3.5")
            plot.append(el("g", None if start == end else line, dot, class_=look))
        else:
            left = value < low
            arrow = el("path", d="M5-4L0 0l5 4z" if left else "M-5-4L0 0l-5 4z")
            place = "0.5%" if left else "99.5%"
            plot.append(
                el("g", el("svg", arrow, x=place, y=f"{y:g}", class_="beyond"), class_=look)
            )
    columns = {"names": names, "plot": plot, "values": values}
    height = f"{bottom + BOTTOM:g}"
    short = all(len(label(name)) <= SHORT for name in rows.names)
    # Three drawings side by side: the style gives them their widths.
    drawing = el(
        "div",
        *(el("svg", *parts, class_=name, height=height) for name, parts in columns.items()),
        class_="intervals short" if short else "intervals",
        data_top=f"{TOP:g}",
        data_step=f"{step:g}",
        role="img",
        aria_label=title,
    )
    return drawing, _interval_notes(rows, low, high)


def _interval_notes(rows: IntervalRows, low: float, high: float) -> str:
    known = np.isfinite(rows.middle)
    beyond = int(((rows.middle[known] < low) | (rows.middle[known] > high)).sum())
    notes = []
    if beyond:
        lie = f"{counted(beyond, 'system')} {'lies' if beyond == 1 else 'lie'}"
        notes.append(f"{lie} beyond the axis, where an arrow points; the numbers are on the right.")
    if np.isinf(rows.low).any() or np.isinf(rows.high).any():
        notes.append("A line to the edge of the axis has no finite limit there.")
    if np.isnan(rows.low[known]).any():
        notes.append("A dot without a line: an interval would contradict the decision.")
    return " ".join(notes)


def _at(share: float) -> str:
    return f"{share:.2f}%"


def _short_name(name: str) -> Html:
    # Names of one team begin alike: what is cut is the middle.
    if len(name) <= LETTERS:
        return joined(name)
    end = (LETTERS - 1) // 2
    return joined(f"{name[: LETTERS - 1 - end]}…{name[-end:]}", el("title", name))


ROW_SIZE = (200.0, 16.0)
"""Width and height of an interval in a row of a table."""

LOOKS_SIZE = (640.0, 220.0)
"""Width and height of intervals over time."""

LOOKS_MARGINS = (70.0, 10.0, 26.0)
"""Room for labels on the left, at the top and right, and at the bottom."""


def drawn_limits(value: float, low: float, high: float, least: float, most: float) -> Html:
    """Draw a value and its interval on an axis from least to most, with a dashed line at 0."""
    width, height = ROW_SIZE
    x = axis(least, most, 6, width - 6)
    zero, start, end, middle = (
        f"{float(x(v)):.2f}" for v in np.clip([0, low, high, value], least, most)
    )
    y = f"{height / 2:g}"
    parts: list[object] = [
        el("line", x1=zero, x2=zero, y1=0, y2=f"{height:g}", stroke_dasharray="2 2")
    ]
    if np.isfinite([low, high]).all():
        parts.append(el("line", x1=start, x2=end, y1=y, y2=y, class_="limits"))
        parts.append(el("circle", cx=middle, cy=y, r=4))
    return el(
        "svg", *parts, viewBox=f"0 0 {width:g} {height:g}", class_="limits", aria_hidden="true"
    )


def drawn_looks(looks: pl.DataFrame, title: str, units: str) -> Html:
    """Draw differences with their intervals at each look; looks without intervals are skipped."""
    frame = looks.filter(pl.all_horizontal(pl.col("low", "high", "difference").is_finite()))
    if frame.is_empty():
        return el("p", "No look has limits.")
    sizes, values, low, high = (
        frame[name].to_numpy().astype(np.float64) for name in ("units", "difference", "low", "high")
    )
    left, edge, bottom = LOOKS_MARGINS
    width, height = LOOKS_SIZE
    least, most = min(0.0, float(low.min())), max(0.0, float(high.max()))
    first, last = float(sizes.min()), float(sizes.max())
    x, y = axis(first, last, left, width - edge), axis(least, most, height - bottom, edge)
    across, up = x(sizes), y(values)
    zero = f"{float(y(0.0)):.2f}"
    return el(
        "svg",
        el("title", f"{title}: difference with limits, by number of {units}"),
        el(
            "polygon",
            points=f"{points(across, y(low))} {points(across[::-1], y(high)[::-1])}",
            class_="band",
        ),
        el("line", x1=left, x2=width - edge, y1=zero, y2=zero, stroke_dasharray="2 2"),
        el("polyline", points=points(across, up), class_="line"),
        *dots(across, up),
        *(
            words(number(v), left - 8, float(y(v)) + 4, "end")
            for v in dict.fromkeys((least, 0.0, most))
        ),
        *(
            words(f"{v:,.0f}", float(x(v)), height - 8, side)
            for v, side in ((first, "start"), (last, "end"))
        ),
        viewBox=f"0 0 {width:g} {height:g}",
        class_="looks",
        role="img",
    )
