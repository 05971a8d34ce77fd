"""Charts for pages without scripts: positions for templates that write SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats
from cranfield.base.text import sanitise
from cranfield.reporting.page.html import Html, fill_template
from cranfield.tabular import format_number

PositionMap = Callable[[Floats | float], Floats]  # a function from values to positions in pixels


def map_range(low: float, high: float, start: float, end: float) -> PositionMap:
    """Return a linear map of [low, high] to [start, end]; equal bounds map to the middle."""

    def to_position(values: Floats | float) -> Floats:
        fraction = (np.asarray(values) - low) / (high - low) if high > low else 0.5
        return np.asarray(start + (end - start) * (fraction + np.zeros(np.shape(values))))

    return to_position


def choose_ticks(low: float, high: float, max_ticks: int = 6) -> Floats:
    """Return round values within a range, with a step of 1, 2 or 5 times a power of ten.

    Examples
    --------
    >>> choose_ticks(-0.31, 0.42).round(2).tolist()
    [-0.2, 0.0, 0.2, 0.4]
    """
    if not 0 < high - low < np.inf:
        return np.array([low]) if np.isfinite(low) else np.zeros(0)
    step = _choose_step(high - low, max_ticks)
    start, stop = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    return np.asarray(np.arange(start, stop + 1) * step)


def widen_range(low: float, high: float, max_ticks: int = 6) -> tuple[float, float]:
    """Widen a range to round values.

    Examples
    --------
    >>> [round(bound, 9) for bound in widen_range(-0.31, 0.42)]
    [-0.4, 0.6]
    """
    step = _choose_step(high - low, max_ticks)
    return float(np.floor(low / step + 1e-9) * step), float(np.ceil(high / step - 1e-9) * step)


def _choose_step(width: float, max_ticks: int) -> float:
    magnitude = 10.0 ** np.floor(np.log10(width / max_ticks))
    steps = (magnitude * factor for factor in (1, 2, 5, 10, 20))
    return float(next(step for step in steps if width / step < max_ticks))


def format_tick(value: float) -> str:
    """Format a tick of an axis without superfluous digits."""
    return f"{value:.6g}" if value else "0"


def to_points(x: Floats, y: Floats) -> list[tuple[str, str]]:
    """Format the coordinates of the points with a finite y."""
    pairs = zip(x.tolist(), y.tolist(), strict=True)
    return [(f"{a:.1f}", f"{b:.1f}") for a, b in pairs if np.isfinite(b)]


def make_text(
    text: object, x: float, y: float, anchor: str = "middle", *, is_vertical: bool = False
) -> dict[str, Any]:
    """Return a text with its position; vertical text reads from bottom to top."""
    position = {"x": f"{x:.1f}", "y": f"{y:.1f}"}
    return {"text": text, **position, "anchor": anchor, "is_vertical": is_vertical}


MAX_TICKS = 6  # maximum number of ticks of an axis
LETTER_WIDTH = 6.4  # width of a character in pixels, to reserve space for names
MAX_LETTERS = 10  # maximum number of characters of the name of a bar


def draw_bars(
    names: Sequence[str], values: Floats, *, title: str, lower_is_better: bool = False
) -> Html:
    """Draw a bar for each finite value: vertical for wide screens, horizontal for narrow ones."""
    values = np.where(np.isfinite(values), values, np.nan)
    finite_values = values[np.isfinite(values)]
    low, high = finite_values.min(initial=0.0), finite_values.max(initial=0.0)
    bounds = widen_range(low, high, MAX_TICKS) if low < high else widen_range(-1.0, 1.0, MAX_TICKS)
    short_names = [shorten_name(sanitise(name), MAX_LETTERS, 0) for name in names]
    sign = np.where(np.isnan(values), 0, np.sign(values)) * (-1 if lower_is_better else 1)
    charts = {
        "for-wide": _lay_out_bars(short_names, values, sign, bounds, is_vertical=True),
        "for-narrow": _lay_out_bars(short_names, values, sign, bounds, is_vertical=False),
    }
    return fill_template("bars.html", charts=charts, title=title)


def _lay_out_bars(
    names: Sequence[str],
    values: Floats,
    sign: Floats,
    bounds: tuple[float, float],
    *,
    is_vertical: bool,
) -> dict[str, Any]:
    """Return the size of a bar chart, its lines and bars as SVG paths, and its texts."""
    label_length = 10 + LETTER_WIDTH * max(map(len, names), default=0)
    marks = choose_ticks(*bounds, MAX_TICKS)
    if is_vertical:
        width, bottom, left, top = 1000.0, 300.0, 56.0, 8.0
        pitch = (width - left) / max(1, len(names))
        offset, thickness, height = left + 0.14 * pitch, 0.72 * pitch, bottom + label_length
        place = map_range(*bounds, bottom, top)
        texts = [make_text(format_tick(v), left - 7, float(place(v)) + 4, "end") for v in marks]
        for k in range(0, len(names), int(np.ceil(13 / pitch))):
            x = left + pitch * (k + 0.5) + 4
            texts.append(make_text(names[k], x, bottom + 8, "end", is_vertical=True))
    else:
        width, pitch, left, top = 350.0, 15.0, label_length, 24.0
        bottom = top + pitch * len(names)
        offset, thickness, height = top + 2, pitch - 4, bottom + 4
        place = map_range(*bounds, left, width - 12)
        texts = [make_text(format_tick(v), float(place(v)), top - 8) for v in marks]
        texts += [
            make_text(n, left - 7, top + pitch * k + 11.5, "end") for k, n in enumerate(names)
        ]
    zero = float(place(0.0))
    # Path commands along and across a bar.
    along, across = "Vh" if is_vertical else "Hv"

    def draw_rule(position: float) -> str:
        if is_vertical:
            return f"M{left:g} {position:.1f}H{width:g}"
        return f"M{position:.1f} {top:g}V{bottom:g}"

    bars = []
    for k, end in enumerate(place(values).tolist()):
        start = offset + pitch * k
        corner = f"{start:.1f} {zero:.1f}" if is_vertical else f"{zero:.1f} {start:.1f}"
        bars.append(f"M{corner}{along}{end:.1f}{across}{thickness:.1f}{along}{zero:.1f}z")
    return {
        "size": f"{width:g} {height:g}",
        "grid": "".join(map(draw_rule, place(marks).tolist())),
        "better": "".join(bars[k] for k in np.flatnonzero(sign == 1)),
        "worse": "".join(bars[k] for k in np.flatnonzero(sign == -1)),
        "zero": draw_rule(zero),
        "texts": texts,
    }


CURVE_CLASSES = ("first", "second")  # style classes; the second is dashed


def draw_curves(
    levels: Floats, curves: Sequence[tuple[str, Floats]], *, title: str, x_title: str, y_title: str
) -> Html:
    """Draw up to two curves with a legend, on axes from 0 to 1; NaN is skipped."""
    # Text remains legible when a phone scales the drawing down.
    width, height = 440.0, 330.0
    left, right, top, bottom = 50.0, width - 12, 12.0, height - 46
    x, y = map_range(0, 1, left, right), map_range(0, 1, bottom, top)
    marks = choose_ticks(0, 1)
    texts = [make_text(format_tick(v), left - 7, float(y(v)) + 4, "end") for v in marks]
    texts += [make_text(format_tick(v), float(x(v)), bottom + 18) for v in marks]
    texts.append(make_text(x_title, (left + right) / 2, height - 6))
    texts.append(make_text(y_title, 13, (top + bottom) / 2, is_vertical=True))
    lines = [
        {"style": style, "name": name, "points": to_points(x(levels), y(values))}
        for style, (name, values) in zip(CURVE_CLASSES, curves, strict=False)
    ]
    return fill_template(
        "curves.html",
        title=title,
        size=f"{width:g} {height:g}",
        grid="".join(f"M{left:g} {y_position:.1f}H{right:g}" for y_position in y(marks).tolist()),
        texts=texts,
        lines=lines,
    )


MAX_IQR_DISTANCE = 1.5
"""Values within this distance of the quartiles, in interquartile ranges, are always on the axis."""

MAX_STRETCH = 3  # the axis is cut if outliers would stretch it by more than this factor


def choose_axis(
    middle: Floats, low: Floats, high: Floats, *, has_zero: bool, contains_all: bool = False
) -> tuple[float, float]:
    """Return the ends of an axis for all rows, without outliers that would squeeze the others.

    The axis always contains the first row, in a ranking the best, and all rows if `contains_all`.

    Examples
    --------
    >>> bulk = np.array([0.7, 0.72, 0.74, 0.76, 0.78])
    >>> [round(end, 2) for end in choose_axis(bulk, bulk - 0.02, bulk + 0.02, has_zero=False)]
    [0.68, 0.8]
    >>> far = np.append(bulk, -9.0)
    >>> [round(end, 2) for end in choose_axis(far, far - 0.02, far + 0.02, has_zero=False)]
    [0.68, 0.8]
    >>> best = np.append(9.0, bulk)
    >>> [round(end, 2) for end in choose_axis(best, best - 0.02, best + 0.02, has_zero=False)]
    [0.68, 9.02]
    """
    is_finite = np.isfinite(middle)
    middle, low, high = middle[is_finite], low[is_finite], high[is_finite]
    if not middle.size:
        return 0.0, 1.0
    low, high = (np.where(np.isfinite(bounds), bounds, middle) for bounds in (low, high))
    max_start, min_stop = (0.0, 0.0) if has_zero else (np.inf, -np.inf)
    start, stop = float(low.min(initial=max_start)), float(high.max(initial=min_stop))
    q1, q3 = np.quantile(middle, [0.25, 0.75])
    max_distance = MAX_IQR_DISTANCE * (q3 - q1)
    is_bulk = (middle >= q1 - max_distance) & (middle <= q3 + max_distance)
    is_bulk[0] = True
    # The intervals of all rows within the bounds of the bulk are completely on the axis.
    for _ in range(middle.size):
        bulk = low[is_bulk].min(initial=max_start), high[is_bulk].max(initial=min_stop)
        is_bulk |= (middle >= bulk[0]) & (middle <= bulk[1])
    if not contains_all and (stop - start) > MAX_STRETCH * (bulk[1] - bulk[0]):
        start, stop = float(bulk[0]), float(bulk[1])
    if start == stop:
        start, stop = start - 0.5, stop + 0.5
    return start, stop


def shorten_name(name: str, max_length: int, end: int) -> str:
    """Shorten a name to its beginning and a number of characters at its end."""
    if len(name) <= max_length:
        return name
    return f"{name[: max_length - 1 - end]}…{name[len(name) - end :]}"


def draw_looks(looks: pl.DataFrame, title: str, units: str) -> Html:
    """Draw differences with their intervals at each interim look; skip looks without intervals."""
    columns = ["units", "difference", "low", "high"]
    frame = looks.filter(pl.all_horizontal(pl.col(columns[1:]).is_finite()))
    if frame.is_empty():
        return Html("<p>No look has a confidence interval.</p>")
    sizes, values, low, high = frame.select(columns).to_numpy().astype(np.float64).T
    # Text remains legible when a phone scales the drawing down.
    width, height = 440.0, 220.0
    left, right, top, bottom = 62.0, width - 10, 10.0, height - 40
    lowest, highest = low.min(initial=0.0), high.max(initial=0.0)
    min_size, max_size = sizes.min(), sizes.max()
    x, y = map_range(min_size, max_size, left, right), map_range(lowest, highest, bottom, top)
    x_positions = x(sizes)
    y_values = dict.fromkeys((float(lowest), 0.0, float(highest)))
    texts = [make_text(format_number(v), left - 8, float(y(v)) + 4, "end") for v in y_values]
    for value, anchor in ((min_size, "start"), (max_size, "end")):
        texts.append(make_text(f"{value:,.0f}", float(x(value)), bottom + 18, anchor))
    texts.append(make_text(units, (left + right) / 2, height - 6))
    return fill_template(
        "looks.html",
        title=f"{title}: difference with confidence intervals, by number of {units}",
        size=f"{width:g} {height:g}",
        band=[*to_points(x_positions, y(low)), *to_points(x_positions[::-1], y(high)[::-1])],
        left=left,
        right=right,
        zero=f"{float(y(0.0)):.2f}",
        line=to_points(x_positions, y(values)),
        texts=texts,
    )
