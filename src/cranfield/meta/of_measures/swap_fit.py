"""What is read off the rates of swaps: smallest differences, and curves for larger topic sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats

_FITTED = ("size", "rate", "comparisons")


def rate() -> pl.Expr:
    """Return swaps by comparisons, null where there are none."""
    some = pl.col("comparisons") > 0
    return pl.when(some).then(pl.col("swaps") / pl.col("comparisons")).alias("rate")


def smallest(rates: pl.DataFrame, sizes: Sequence[int], error: float) -> pl.DataFrame:
    """Find the smallest differences with few swaps, as :meth:`cranfield.meta.Swaps.smallest`."""
    rows = []
    for size in sizes:
        mine = rates.filter(pl.col("size") == size, pl.col("comparisons") > 0)
        good = mine["rate"].to_numpy() <= error
        reach = int(good[::-1].cumprod().sum())
        best = mine.tail(reach)
        number = mine["comparisons"].to_numpy()
        rows.append(
            {
                "size": size,
                "difference": best["low"][0] if reach else None,
                "share": number[len(number) - reach :].sum() / number.sum()
                if number.size
                else None,
            }
        )
    return pl.DataFrame(rows, {"size": pl.Int64, "difference": pl.Float64, "share": pl.Float64})


def extrapolated(rates: pl.DataFrame, size: int) -> pl.DataFrame:
    """Fit a curve to the rates of each bin, and say what it has for a size.

    Parameters
    ----------
    rates
        Table of rates of :class:`cranfield.meta.Swaps`.
    size
        Of the topic sets.

    Returns
    -------
    DataFrame
        A row a bin, as for :meth:`cranfield.meta.Swaps.extrapolated`.
    """
    rows = []
    for (low, high), mine in rates.group_by(["low", "high"], maintain_order=True):
        known = mine.filter(pl.col("comparisons") > 0)
        fit: dict[str, float | None] = dict.fromkeys(("a1", "a2", "error", "rate"))
        if known.height >= 3:
            a1, a2, error = _fitted(*(known[name].cast(pl.Float64).to_numpy() for name in _FITTED))
            fit = {"a1": a1, "a2": a2, "error": error, "rate": a1 * np.exp(-a2 * size)}
        rows.append({"low": low, "high": high, **fit})
    return pl.DataFrame(rows, dict.fromkeys(rows[0], pl.Float64))


def _fitted(sizes: Floats, rates: Floats, comparisons: Floats) -> tuple[float, float, float]:
    """Fit a1 exp(-a2 size) to rates by weighted least squares; also the root mean square error."""
    from scipy.optimize import least_squares

    weights = np.sqrt(comparisons / comparisons.sum())

    def residuals(a: Floats) -> Floats:
        return np.asarray(weights * (a[0] * np.exp(-a[1] * sizes) - rates))

    # The search starts from a line through the logarithms, where rates of 0 count as half a swap.
    logs = np.log(np.maximum(rates, 0.5 / comparisons))
    slope, start = np.polyfit(sizes, logs, 1, w=weights)
    inside = [np.clip(np.exp(start), 0.01, 0.99), max(-slope, 1e-3)]
    found = least_squares(residuals, inside, bounds=([0.0, 0.0], [1.0, np.inf]), x_scale="jac")
    return float(found.x[0]), float(found.x[1]), float(np.sqrt((found.fun**2).sum()))
