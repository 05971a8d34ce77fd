"""Bars above and below a line, one a topic: upright for a screen, lying for a phone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.escape import plain
from cranfield.reporting.page.drawn.axes import axis, rounded, shown, ticks, words
from cranfield.reporting.page.html import Html, el, joined

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
