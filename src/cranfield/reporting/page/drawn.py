"""Pictures drawn as HTML or SVG, for pages."""

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
    """Return what places values between two ends of a picture; equal ends share the middle."""

    def place(values: Floats | float) -> Floats:
        share = (np.asarray(values) - low) / (high - low) if high > low else 0.5
        return np.asarray(start + (end - start) * (share + np.zeros(np.shape(values))))

    return place


def ticks(low: float, high: float, most: int = 6) -> Floats:
    """Return round values between two: steps of 1, 2 or 5 times a power of ten.

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
    """Return two ends, further apart, that are round values.

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
    """Write a value of an axis: as few digits as it has."""
    return f"{value:.6g}" if value else "0"


def points(x: Floats, y: Floats) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def words(value: object, x: float, y: float, anchor: str = "middle", **more: object) -> Html:
    """Write text into a picture."""
    return el("text", value, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, **more)


WIDE, HIGH = 1000.0, 300.0
"""Width and height of upright bars, without their names."""

NARROW, ROW = 350.0, 15.0
"""Width of lying bars, and the height of each."""

LETTER = 6.4
"""Width of a letter, for the room that names need."""

MARKS = 6
"""Values that an axis names at most, one or two more at its ends."""

LONGEST = 10
"""Letters of a name that are shown."""


def drawn_bars(
    names: Sequence[str], values: Floats, *, title: str, lower_is_better: bool = False
) -> Html:
    """Draw a bar for each value, from a line at 0; a NaN has none.

    It is drawn twice, and the style shows one: upright bars where there is room, and lying ones on
    a narrow screen, where each name is still read.

    Parameters
    ----------
    names, values
        What each bar is of, and its length, shape (n,).
    title
        What it shows.
    lower_is_better
        Which bars have the colour of the better side.
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
    left, top, room = 56.0, 8.0, _room(names)
    pitch = (WIDE - left) / max(1, len(names))
    y = axis(*ends, HIGH, top)
    marks = ticks(*ends, MARKS)
    grid = "".join(f"M{left:g} {at:.1f}H{WIDE:g}" for at in y(marks).tolist())
    zero = float(y(0.0))
    paths = [
        _bars(better == side, lambda k: f"M{left + pitch * (k + 0.14):.1f} {zero:.1f}"
              f"V{float(y(values[k])):.1f}h{pitch * 0.72:.1f}V{zero:.1f}z", look)
        for side, look in ((1, "first"), (-1, "second"))
    ]  # fmt: skip
    step = int(np.ceil(13 / pitch))
    labels = []
    for k in range(0, len(names), step):
        at = left + pitch * (k + 0.5) + 4
        turned = f"rotate(-90 {at:.1f} {HIGH + 8:.1f})"
        labels.append(words(names[k], at, HIGH + 8, "end", transform=turned))
    return el(
        "svg",
        el("title", title),
        el("path", d=grid, class_="grid"),
        *(words(shown(one), left - 7, float(y(one)) + 4, "end") for one in marks),
        *paths,
        el("line", x1=left, x2=f"{WIDE:g}", y1=f"{zero:.1f}", y2=f"{zero:.1f}", class_="base"),
        *labels,
        viewBox=f"0 0 {WIDE:g} {HIGH + room:g}",
        class_="bars",
        role="img",
    )


def _lying(
    names: Sequence[str], values: Floats, better: Floats, ends: tuple[float, float], title: str
) -> Html:
    left, top, edge = _room(names), 24.0, 12.0
    bottom = top + ROW * len(names)
    x = axis(*ends, left, NARROW - edge)
    marks = ticks(*ends, MARKS)
    grid = "".join(f"M{at:.1f} {top:g}V{bottom:g}" for at in x(marks).tolist())
    zero = float(x(0.0))
    paths = [
        _bars(better == side, lambda k: f"M{zero:.1f} {top + ROW * k + 2:g}"
              f"H{float(x(values[k])):.1f}v{ROW - 4:g}H{zero:.1f}z", look)
        for side, look in ((1, "first"), (-1, "second"))
    ]  # fmt: skip
    return el(
        "svg",
        el("title", title),
        el("path", d=grid, class_="grid"),
        *(words(shown(one), float(x(one)), top - 8) for one in marks),
        *paths,
        el("line", x1=f"{zero:.1f}", x2=f"{zero:.1f}", y1=f"{top:g}", y2=f"{bottom:g}",
           class_="base"),
        *(words(name, left - 7, top + ROW * k + 11.5, "end") for k, name in enumerate(names)),
        viewBox=f"0 0 {NARROW:g} {bottom + 4:g}",
        class_="bars",
        role="img",
    )  # fmt: skip


def _bars(chosen: Floats, one: Callable[[int], str], look: str) -> Html:
    return el("path", d="".join(map(one, np.flatnonzero(chosen).tolist())), class_=look)


SIZE = (440.0, 330.0)
"""Width and height: letters are still read where a phone makes it smaller."""

MARGIN = (50.0, 12.0, 46.0)
"""Room on the left, at the top and right, and at the bottom."""

LOOKS = ("first", "second")
"""How curves look, in order: colours, and the second dashed."""


def drawn_curves(
    levels: Floats,
    curves: Sequence[tuple[str, Floats]],
    *,
    title: str,
    across: str,
    up: str,
) -> Html:
    """Draw up to two curves with a legend, on axes from 0 to 1; what is NaN is left out.

    Parameters
    ----------
    levels
        Shape (levels,), from 0 to 1.
    curves
        Name and values of each, shape (levels,).
    title, across, up
        What it shows, and what the axes are.
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
            parts += [
                el("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r=3, class_=look)
                for a, b in zip(x(levels[known]), y(values[known]), strict=True)
            ]
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
    """Draw what a line of the legend stands for."""
    line = el("line", x1=0, x2=30, y1=6, y2=6, class_=look)
    dot = el("circle", cx=15, cy=6, r=3, class_=look)
    return el("svg", line, dot, viewBox="0 0 30 12", class_="sample", aria_hidden="true")


TOP, BOTTOM = 22.0, 8.0
"""Room for the axis above the rows, and below them."""

BULK = 1.5
"""Means further than so many interquartile ranges from the quartiles may lie beyond the axis."""

SAVED = 1.25
"""An axis is cut if the whole one were so many times as long."""

LETTERS = 24
"""Letters of a name that are shown; the whole name is in its title."""

SHORT = 14
"""Names that are all no longer than this leave more room for the rows."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """What stands in the rows: names, a middle with its limits, words at the end, and marks.

    Limits that are infinite go to the end of the axis; without limits, all are the middle. `band`
    is shaded over all rows, and rows of `top` have the colour of the best. With `whole`, the axis
    holds all finite limits.
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


def drawn_intervals(rows: Drawn, title: str) -> tuple[Html, str]:
    """Draw the rows, and say what lies beyond the axis, if anything does."""
    low, high = span(rows.middle, rows.low, rows.high, zero=rows.zero, whole=rows.whole)
    step = row_height(len(rows.names))
    middles = TOP + step * (np.arange(len(rows.names)) + 0.5)
    end = TOP + step * len(rows.names)

    def x(values: Floats | float) -> Floats:
        share = (np.asarray(values, dtype=np.float64) - low) / (high - low)
        return np.asarray(2 + 96 * np.clip(share, -0.02, 1.02))

    marks = ticks(low, high, 5)
    marks = marks[(marks >= low) & (marks <= high)]
    back: list[object] = []
    if rows.band is not None:
        left, right = x(np.array(rows.band)).tolist()
        size = {"x": _at(left), "width": _at(right - left), "y": TOP, "height": f"{end - TOP:g}"}
        back.append(el("rect", class_="band", **size))
    for value, at in zip(marks, x(marks).tolist(), strict=True):
        zero = "zero" if rows.zero and value == 0 else "grid"
        line = {"x1": _at(at), "x2": _at(at), "y1": TOP - 4, "y2": f"{end:g}"}
        back.append(el("line", class_=zero, **line))
        back.append(el("text", shown(value), x=_at(at), y=TOP - 9, text_anchor="middle"))
    # Only finite limits have an end; the others are lines to the edge of the axis.
    places = zip(
        x(np.where(np.isnan(rows.low), rows.middle, rows.low)).tolist(),
        x(rows.middle).tolist(),
        x(np.where(np.isnan(rows.high), rows.middle, rows.high)).tolist(),
        rows.middle.tolist(),
        strict=True,
    )
    names: list[object] = []
    ends: list[object] = []
    drawn: list[object] = []
    for (a, at, b, value), y, k in zip(places, middles.tolist(), range(len(middles)), strict=True):
        look = "top" if rows.top[k] else None
        name = label(rows.names[k])
        base = f"{y + 4:g}"
        key = {"data_row": rows.keys[k], "class_": look}
        names.append(el("text", _short_name(name), y=base, **key))
        ends.append(el("text", rows.words[k], x="100%", y=base, text_anchor="end", class_=look))
        if np.isnan(value):
            continue
        beyond = value < low or value > high
        mark = (
            el("circle", cx=_at(at), cy=f"{y:g}", r="3.5")
            if not beyond
            else el(
                "svg",
                el("path", d="M5-4L0 0l5 4z" if value < low else "M-5-4L0 0l-5 4z"),
                x="0.5%" if value < low else "99.5%",
                y=f"{y:g}",
                class_="beyond",
            )
        )
        whisker = el("line", x1=_at(a), x2=_at(b), y1=f"{y:g}", y2=f"{y:g}")
        drawn.append(el("g", None if beyond or a == b else whisker, mark, class_=look))
    columns: dict[str, list[object]] = {"names": names, "plot": [*back, *drawn], "values": ends}
    height = f"{end + BOTTOM:g}"
    short = all(len(label(name)) <= SHORT for name in rows.names)
    # Three pictures side by side: the style gives them their widths.
    picture = el(
        "div",
        *(el("svg", *parts, class_=name, height=height) for name, parts in columns.items()),
        class_="intervals short" if short else "intervals",
        data_top=f"{TOP:g}",
        data_step=f"{step:g}",
        role="img",
        aria_label=title,
    )
    return picture, _beyond(rows, low, high)


def _beyond(rows: Drawn, low: float, high: float) -> str:
    known = rows.middle[np.isfinite(rows.middle)]
    out = int(((known < low) | (known > high)).sum())
    said = []
    if out:
        lie = f"{counted(out, 'system')} {'lies' if out == 1 else 'lie'}"
        said.append(f"{lie} beyond the axis, where an arrow points; the numbers are on the right.")
    if np.isinf(rows.low).any() or np.isinf(rows.high).any():
        said.append("A line to the edge of the axis has no finite limit there.")
    if np.isnan(rows.low[np.isfinite(rows.middle)]).any():
        said.append("A dot without a line: an interval would contradict the decision.")
    return " ".join(said)


def _at(share: float) -> str:
    return f"{share:.2f}%"


def _short_name(name: str) -> Html:
    # Names of one team begin alike: what is cut is the middle.
    if len(name) <= LETTERS:
        return joined(name)
    end = (LETTERS - 1) // 2
    return joined(f"{name[: LETTERS - 1 - end]}…{name[-end:]}", el("title", name))


LIMITS_IN_ROW = (200.0, 16.0)
"""Width and height of limits in a row."""

LIMITS_OVER_TIME = (640.0, 220.0)
"""Width and height of limits over time."""

LIMITS_MARGINS = (70.0, 10.0, 26.0)
"""Room for labels on the left, at the top and right, and at the bottom."""


def drawn_limits(value: float, low: float, high: float, least: float, most: float) -> Html:
    """Draw a value and its limits on an axis from least to most, with a dashed line at 0."""
    width, height = LIMITS_IN_ROW
    room = max(most - least, 1e-300)

    def x(one: float) -> str:
        return f"{6 + (width - 12) * min(1.0, max(0.0, (one - least) / room)):.2f}"

    middle = f"{height / 2:g}"
    parts: list[object] = [
        el("line", x1=x(0.0), x2=x(0.0), y1=0, y2=f"{height:g}", stroke_dasharray="2 2")
    ]
    if np.isfinite([low, high]).all():
        parts.append(el("line", x1=x(low), x2=x(high), y1=middle, y2=middle, class_="limits"))
        parts.append(el("circle", cx=x(value), cy=middle, r=4))
    return el(
        "svg", *parts, viewBox=f"0 0 {width:g} {height:g}", class_="limits", aria_hidden="true"
    )


def drawn_looks(looks: pl.DataFrame, title: str, units: str) -> Html:
    """Draw differences with their limits at each look; what has no limits is left out."""
    frame = looks.filter(pl.all_horizontal(pl.col("low", "high", "difference").is_finite()))
    if frame.is_empty():
        return el("p", "No look has limits.")
    number_of, value, low, high = (
        frame[name].to_numpy().astype(np.float64) for name in ("units", "difference", "low", "high")
    )
    left, edge, bottom = LIMITS_MARGINS
    width, height = LIMITS_OVER_TIME
    least, most = min(0.0, float(low.min())), max(0.0, float(high.max()))
    first, last = float(number_of.min()), float(number_of.max())

    def x(ones: Floats) -> Floats:
        share = (ones - first) / (last - first) if last > first else np.full(ones.shape, 0.5)
        return np.asarray(left + (width - left - edge) * share)

    def y(ones: Floats) -> Floats:
        share = (ones - least) / (most - least or 1.0)
        return np.asarray(height - bottom - (height - bottom - edge) * share)

    def points(*pairs: tuple[Floats, Floats]) -> str:
        return " ".join(f"{a:.2f},{b:.2f}" for xs, ys in pairs for a, b in zip(xs, ys, strict=True))

    across = x(number_of)
    marks = [
        el(
            "text",
            number(one),
            x=left - 8,
            y=f"{float(y(np.array(one))) + 4:.2f}",
            text_anchor="end",
        )
        for one in dict.fromkeys((least, 0.0, most))
    ]
    ends = [
        el(
            "text",
            f"{one:,.0f}",
            x=f"{float(x(np.array(one))):.2f}",
            y=height - 8,
            text_anchor=anchor,
        )
        for one, anchor in ((first, "start"), (last, "end"))
    ]
    around = points((across, y(low)), (across[::-1], y(high)[::-1]))
    zero = f"{float(y(np.array(0.0))):.2f}"
    return el(
        "svg",
        el("title", f"{title}: difference with limits, by number of {units}"),
        el("polygon", points=around, class_="band"),
        el("line", x1=left, x2=width - edge, y1=zero, y2=zero, stroke_dasharray="2 2"),
        el("polyline", points=points((across, y(value))), class_="line"),
        *(
            el("circle", cx=f"{a:.2f}", cy=f"{b:.2f}", r=3)
            for a, b in zip(across, y(value), strict=True)
        ),
        *marks,
        *ends,
        viewBox=f"0 0 {width:g} {height:g}",
        class_="looks",
        role="img",
    )
