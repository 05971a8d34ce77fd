"""The picture beside the answer: intervals of all systems, or the difference of two by measure."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cranfield.base.arrays import Bools, best_first
from cranfield.base.words import counted
from cranfield.reporting import verdicts
from cranfield.reporting.page.contents import Contents, Part
from cranfield.reporting.page.data import places, start
from cranfield.reporting.page.drawn.intervals import Drawn, drawn_intervals
from cranfield.reporting.page.html import Html, el, joined, label
from cranfield.significance.comparison.result import PairwiseComparison

APART = 30.0
"""Differences so many times as large as others have an axis of their own."""


def answer_figure(part: Part) -> Html | None:
    """Draw all systems by one measure; there is nothing to draw of a single one."""
    if len(part.scores.systems) < 2:
        return None
    one = part.comparison
    if one is None:
        rows, said = _plain(part), "Means of all systems, without a test."
    elif one.baselines:
        rows, said = _against(one), _of_baseline(one)
    else:
        rows, said = _around(one), _of_means(one)
    title = f"{label(part.name)}: {counted(len(rows.names), 'system')}, best first"
    title += " (lower is better)" if part.scores.lower_is_better else ""
    drawing, beyond = drawn_intervals(rows, title)
    return _figure(title, drawing, f"{said} {beyond}".strip())


def _figure(title: str, drawing: Html, said: str) -> Html:
    box = el("div", drawing, class_="canvas tall", role="region", tabindex=0, aria_label=title)
    caption = el("figcaption", el("span", title))
    return el("figure", caption, box, el("p", said, class_="note"), class_="picture ranked")


def _sure(one: PairwiseComparison) -> str:
    return f"{100 * (1 - one.alpha):.4g}%"


def _plain(part: Part) -> Drawn:
    order = best_first(part.overall, part.scores.lower_is_better)
    values = part.overall[order]
    shown = [_number(value, places(part)) for value in values.tolist()]
    names = [part.scores.systems[k] for k in order]
    return Drawn(names, order.tolist(), values, values, values, shown, [False] * len(names))


def _around(one: PairwiseComparison) -> Drawn:
    order = one.order
    best = int(order[0])
    limits = one.around(best)
    low, high = (one.means, one.means) if limits is None else limits
    return Drawn(
        names=[one.systems[k] for k in order],
        keys=order.tolist(),
        middle=one.means[order],
        low=low[order],
        high=high[order],
        words=[_number(value, one.places) for value in one.means[order].tolist()],
        top=_like_best(one)[order].tolist(),
        band=None if limits is None else (float(low[best]), float(high[best])),
    )


def _like_best(one: PairwiseComparison) -> Bools:
    if one.alternative != "two-sided":
        return np.zeros(len(one.systems), dtype=np.bool_)
    top = set(one.top_group)
    return np.array([name in top for name in one.systems])


def _of_means(one: PairwiseComparison) -> str:
    limits = one.around(int(one.order[0]))
    if limits is None:
        return f"Dots: {one.mean_of} of each system. Blue: not found to differ from the best."
    if one.half_widths is None:
        return (
            f"Bars: {_sure(one)} limits of the {one.difference_from} the best, around its"
            f" {one.mean_of} ({one.interval_kind}). Blue: not found to differ from the best."
        )
    return "Systems whose bars do not overlap differ. Blue: not found to differ from the best."


def _against(one: PairwiseComparison) -> Drawn:
    base = one.systems.index(one.baselines[0])
    chosen = np.flatnonzero(one.second == base)
    columns = np.full((3, len(one.systems)), np.nan)
    columns[:, one.first[chosen]] = one.difference[chosen], *(end[chosen] for end in one.interval)
    order = one.order
    middle, low, high = columns[:, order]
    words = verdicts.against(one)
    shown = [_signed(value, one.places) for value in middle.tolist()]
    return Drawn(
        names=[one.systems[k] for k in order],
        keys=order.tolist(),
        middle=middle,
        low=low,
        high=high,
        words=["baseline" if k == base else shown[at] for at, k in enumerate(order.tolist())],
        top=[words[k] == verdicts.BETTER for k in order],
        zero=True,
    )


def _of_baseline(one: PairwiseComparison) -> str:
    what = "Log ratio to" if one.mean_of == "geometric mean" else "Difference from"
    return (
        f"{what} {label(one.baselines[0])}, with its {_sure(one)} limits"
        f" ({one.interval_of}, {one.interval_kind}). Blue: better than it."
    )


def two_systems_figure(contents: Contents) -> Html:
    """Draw the difference of two systems with its limits, a row a measure."""
    first, second = start(contents)
    rows = [
        (k, part.name, *_difference(part.comparison, first), part.comparison.places)
        for k, part in enumerate(contents.parts)
        if part.comparison is not None
    ]
    names = contents.systems
    title = f"{label(names[first])} minus {label(names[second])}, by measure"
    sizes = [max((abs(v) for v in row[2:5] if np.isfinite(v)), default=0.0) for row in rows]
    alike = max(sizes) <= APART * min(sizes)
    drawn = [_forest(some, title) for some in ([rows] if alike else [[row] for row in rows])]
    pictures, beyond = zip(*drawn, strict=True)
    sure = {_sure(part.comparison) for part in contents.parts if part.comparison is not None}
    own = "" if alike else " Each has an axis of its own."
    said = f"Lines: {', '.join(sorted(sure))} limits. Blue: found to differ.{own}"
    return _figure(title, joined(*pictures), " ".join([said, *sorted({*beyond} - {""})]))


def _difference(one: PairwiseComparison, first: int) -> tuple[float, float, float, bool]:
    low, high = (float(end[0]) for end in one.interval)
    value, found = float(one.difference[0]), bool(one.count())
    return (value, low, high, found) if one.first[0] == first else (-value, -high, -low, found)


def _forest(
    rows: Iterable[tuple[int, str, float, float, float, bool, int]], title: str
) -> tuple[Html, str]:
    keys, names, middle, low, high, found, decimals = zip(*rows, strict=True)
    made = Drawn(
        names=names,
        keys=keys,
        middle=np.array(middle),
        low=np.array(low),
        high=np.array(high),
        words=[_signed(value, p) for value, p in zip(middle, decimals, strict=True)],
        top=found,
        zero=True,
        whole=True,
    )
    return drawn_intervals(made, title)


def _number(value: float, places: int) -> str:
    return "–" if np.isnan(value) else f"{value:.{places}f}"


def _signed(value: float, places: int) -> str:
    return "" if np.isnan(value) else f"{value:+.{places}f}".replace("-", "−")
