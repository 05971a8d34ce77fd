"""Charts of pages without scripts, as HTML and SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.text import plain
from cranfield.reporting.page.html import Html, el, joined
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


def svg(
    size: tuple[float, float], name: str, *parts: object, title: str = "", **more: object
) -> Html:
    """Return a drawing of a size that a style sheet scales."""
    above = el("title", title) if title else None
    box = f"0 0 {size[0]:g} {size[1]:g}"
    return el("svg", above, *parts, viewBox=box, class_=name, role="img" if title else None, **more)


def points(x: Floats, y: Floats) -> str:
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))


def dots(x: Floats, y: Floats, look: str | None = None) -> list[Html]:
    places = zip(x.tolist(), y.tolist(), strict=True)
    return [el("circle", cx=f"{a:.1f}", cy=f"{b:.1f}", r=3, class_=look) for a, b in places]


def words(
    value: object, x: float, y: float, anchor: str = "middle", *, upright: bool = False
) -> Html:
    """Return a text element, upright from the bottom to the top on request."""
    turn = f"rotate(-90 {x:.1f} {y:.1f})" if upright else None
    return el("text", value, x=f"{x:.1f}", y=f"{y:.1f}", text_anchor=anchor, transform=turn)


MARKS = 6
"""Ticks of an axis at most, plus one or two at its ends."""

LETTER = 6.4
"""Width of a character, to reserve space for names."""

LONGEST = 10
"""Characters of a name below or beside a bar."""


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
    finite = values[np.isfinite(values)]
    low, high = finite.min(initial=0.0), finite.max(initial=0.0)
    ends = rounded(low, high, MARKS) if low < high else rounded(-1.0, 1.0, MARKS)
    shorter = [shortened(plain(name), LONGEST, 0) for name in names]
    better = np.where(np.isnan(values), 0, np.sign(values)) * (-1 if lower_is_better else 1)
    upright, lying = (_bars(shorter, values, better, ends, title, upright=k) for k in (True, False))
    return joined(el("div", upright, class_="for-wide"), el("div", lying, class_="for-narrow"))


def _bars(
    names: Sequence[str],
    values: Floats,
    better: Floats,
    ends: tuple[float, float],
    title: str,
    *,
    upright: bool,
) -> Html:
    room = 10 + LETTER * max(map(len, names), default=0)
    marks = ticks(*ends, MARKS)
    if upright:
        width, bottom, left, top = 1000.0, 300.0, 56.0, 8.0
        pitch = (width - left) / max(1, len(names))
        first, thick = left + 0.14 * pitch, 0.72 * pitch
        place = axis(*ends, bottom, top)
        size = width, bottom + room
        texts = [words(shown(v), left - 7, float(place(v)) + 4, "end") for v in marks]
        for k in range(0, len(names), int(np.ceil(13 / pitch))):
            at = left + pitch * (k + 0.5) + 4
            texts.append(words(names[k], at, bottom + 8, "end", upright=True))
    else:
        width, pitch, left, top = 350.0, 15.0, room, 24.0
        bottom = top + pitch * len(names)
        first, thick = top + 2, pitch - 4
        place = axis(*ends, left, width - 12)
        size = width, bottom + 4
        texts = [words(shown(v), float(place(v)), top - 8) for v in marks]
        texts += [words(n, left - 7, top + pitch * k + 11.5, "end") for k, n in enumerate(names)]
    zero = float(place(0.0))
    along, across = "Vh" if upright else "Hv"

    def line(at: float) -> str:
        return f"M{left:g} {at:.1f}H{width:g}" if upright else f"M{at:.1f} {top:g}V{bottom:g}"

    bars = []
    for k, tip in enumerate(place(values).tolist()):
        start = first + pitch * k
        corner = f"{start:.1f} {zero:.1f}" if upright else f"{zero:.1f} {start:.1f}"
        bars.append(f"M{corner}{along}{tip:.1f}{across}{thick:.1f}{along}{zero:.1f}z")
    sides = [
        el("path", d="".join(bars[k] for k in np.flatnonzero(better == side)), class_=look)
        for side, look in ((1, "first"), (-1, "second"))
    ]
    grid = el("path", d="".join(map(line, place(marks).tolist())), class_="grid")
    base = el("path", d=line(zero), class_="base")
    return svg(size, "bars", grid, *sides, base, *texts, title=title)


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
    # Letters are still read where a phone makes the drawing smaller.
    width, height = 440.0, 330.0
    left, right, top, bottom = 50.0, width - 12, 12.0, height - 46
    x, y = axis(0, 1, left, right), axis(0, 1, bottom, top)
    marks = ticks(0, 1)
    grid = "".join(f"M{left:g} {at:.1f}H{right:g}" for at in y(marks).tolist())
    parts: list[object] = [el("path", d=grid, class_="grid")]
    parts += [words(shown(v), left - 7, float(y(v)) + 4, "end") for v in marks]
    parts += [words(shown(v), float(x(v)), bottom + 18) for v in marks]
    parts.append(words(across, (left + right) / 2, height - 6))
    parts.append(words(up, 13, (top + bottom) / 2, upright=True))
    named = [*zip(LOOKS, curves, strict=False)]
    for look, (_, values) in reversed(named):
        known = np.isfinite(values)
        if known.any():
            places = x(levels[known]), y(values[known])
            parts += [el("polyline", points=points(*places), class_=look), *dots(*places, look)]
    keys = (el("li", _sample(look), el("span", name)) for look, (name, _) in named)
    drawing = svg((width, height), "curves", *parts, title=title)
    return el("figure", drawing, el("ul", *keys, class_="legend"))


def _sample(look: str) -> Html:
    """Draw the line of a legend entry."""
    line = el("line", x1=0, x2=30, y1=6, y2=6, class_=look)
    dot = el("circle", cx=15, cy=6, r=3, class_=look)
    return svg((30, 12), "sample", line, dot, aria_hidden="true")


BULK = 1.5
"""Values further than this many interquartile ranges from the quartiles may be off the axis."""

SAVED = 1.25
"""The axis is cut if it would otherwise be longer by this factor."""


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


def shortened(name: str, most: int, end: int) -> str:
    """Shorten a name to its beginning and the given number of characters at its end."""
    if len(name) <= most:
        return name
    return f"{name[: most - 1 - end]}…{name[len(name) - end :]}"


def drawn_interval(value: float, low: float, high: float, least: float, most: float) -> Html:
    """Draw a value and its interval on an axis from least to most, with a dashed line at 0."""
    width, height = 200.0, 16.0
    x = axis(least, most, 6, width - 6)
    zero, start, end, middle = (
        f"{at:.2f}" for at in x(np.clip([0, low, high, value], least, most))
    )
    dashed = {"y1": 0, "y2": f"{height:g}", "stroke_dasharray": "2 2"}
    parts: list[object] = [el("line", x1=zero, x2=zero, **dashed)]
    if np.isfinite([low, high]).all():
        y = f"{height / 2:g}"
        parts.append(el("line", x1=start, x2=end, y1=y, y2=y, class_="limits"))
        parts.append(el("circle", cx=middle, cy=y, r=4))
    return svg((width, height), "limits", *parts, aria_hidden="true")


def drawn_looks(looks: pl.DataFrame, title: str, units: str) -> Html:
    """Draw differences with their intervals at each look; looks without intervals are skipped."""
    columns = ["units", "difference", "low", "high"]
    frame = looks.filter(pl.all_horizontal(pl.col(columns[1:]).is_finite()))
    if frame.is_empty():
        return el("p", "No look has a confidence interval.")
    sizes, values, low, high = frame.select(columns).to_numpy().astype(np.float64).T
    width, height = 640.0, 220.0
    left, right, top, bottom = 70.0, width - 10, 10.0, height - 26
    least, most = low.min(initial=0.0), high.max(initial=0.0)
    first, last = sizes.min(), sizes.max()
    x, y = axis(first, last, left, right), axis(least, most, bottom, top)
    across, up = x(sizes), y(values)
    zero = f"{float(y(0.0)):.2f}"
    band = f"{points(across, y(low))} {points(across[::-1], y(high)[::-1])}"
    heights = dict.fromkeys((float(least), 0.0, float(most)))
    ends = ((first, "start"), (last, "end"))
    return svg(
        (width, height),
        "looks",
        el("polygon", points=band, class_="band"),
        el("line", x1=left, x2=right, y1=zero, y2=zero, stroke_dasharray="2 2"),
        el("polyline", points=points(across, up), class_="line"),
        *dots(across, up),
        *(words(number(v), left - 8, float(y(v)) + 4, "end") for v in heights),
        *(words(f"{v:,.0f}", float(x(v)), height - 8, side) for v, side in ends),
        title=f"{title}: difference with confidence intervals, by number of {units}",
    )
