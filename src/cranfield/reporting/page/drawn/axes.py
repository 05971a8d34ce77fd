"""Axes of pictures that are drawn by hand: where a value stands, and which values are named."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.reporting.page.html import Html, el

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
