"""How many runs, and how many values, are not above a value of a measure."""

from __future__ import annotations

import numpy as np
import polars as pl
from numpy.typing import NDArray

from cranfield.base.arrays import Floats, Ints
from cranfield.base.errors import PolicyError
from cranfield.scales.images.values import Image
from cranfield.scales.runs import all_runs, more_than, score_runs

FEW_RUNS = 2**12
"""Runs up to which all of them are drawn."""

DRAWN = 100
"""Steps in each direction that a chart is drawn with."""

MANY = 2**32
"""Values from which on each run that is ranked takes its time."""


def shares_up_to(found: Image) -> pl.DataFrame:
    """Tell how many runs and values of an image are not above a value.

    Rows are in order of `value`: the share of `runs` with a lower value (`runs below`), of those up
    to it (`runs`), and its rank as a share of the image (`values`), from 0 to 1. All values if
    there are at most 4,096 runs; else those of some runs, spread over the image, with exact shares
    of all. `runs` is null where runs are too many to be counted and share values.
    """
    if found.at_most is not None:
        raise PolicyError("all runs are counted; leave at_most out")
    rows = _spread(found)
    value = score_runs(found.measure, rows, grades=found.grades, judgments=found.judgments)
    if found.size > MANY:
        kept = _thinned(value)
        rows, value = rows[kept], value[kept]
    share = found.share_runs(rows)
    # The floats of equal values may differ, but not their ranks. Shares that are not counted are
    # equal for many values near the ends, and there the floats decide.
    order = np.lexsort((value, share))
    rows, value, share = rows[order], value[order], share[order]
    new = (
        share[1:] != share[:-1] if _counted(found, len(rows), "unique") else value[1:] > value[:-1]
    )
    first = np.concatenate(([True], new))
    rows, value, share = rows[first], value[first], share[first]
    below, upto = _shares_of_runs(found, rows, share)
    table = pl.DataFrame({"value": value, "runs below": below, "runs": upto, "values": share})
    return table.with_columns(pl.col("runs below", "runs").fill_nan(None))


def _thinned(value: Floats) -> NDArray[np.intp]:
    """Choose the lowest and the highest of the values in each step of the chart."""
    order = np.argsort(value, kind="stable")
    size = float(value[order[-1]] - value[order[0]]) / DRAWN
    step = np.floor((value[order] - value[order[0]]) / max(size, 1e-300))
    new = np.diff(step) > 0
    return np.asarray(order[np.append(True, new) | np.append(new, True)])


def _counted(found: Image, runs: int, ties: str) -> bool:
    try:
        found.require(runs, ties)
    except PolicyError:
        return False
    return True


def _shares_of_runs(found: Image, rows: Ints, share: Floats) -> tuple[Floats, Floats]:
    if found.size == found.runs:
        # No two runs share a value, and a rank is a number of runs.
        below = share * ((found.size - 1) / found.size)
        return below, below + 1 / found.size
    if not _counted(found, len(rows), "min"):
        unknown = np.full(len(rows), np.nan)
        return unknown, unknown
    low, high = (found.rank_runs(rows, ties=ties).astype(float) for ties in ("min", "max"))
    return (low - 1) / found.runs, high / found.runs


def _spread(found: Image) -> Ints:
    """Choose runs whose values are spread over the image.

    Every start of a few ranks goes on with the lowest or the highest grade, which is where an
    image that orders runs from the top has its gaps. Runs with relevant documents at the top, at
    the end or between have the values of those that count them, or look for the first. Runs drawn
    at random, from few to many relevant documents, fill the rest.
    """
    length, top = found.length, found.grades
    if not more_than(FEW_RUNS, length, top):
        return all_runs(length, top)
    start = next((k for k in range(10, 0, -1) if not more_than(1024, k, top)), 1)
    starts = all_runs(start, top)
    ends = [np.full((len(starts), length - start), grade) for grade in (0, top)]
    chosen = [np.hstack([starts, end]) for end in ends]
    rank, some = np.arange(length), np.unique(np.linspace(0, length, 41).astype(int))
    first, last = (one.ravel() for one in np.meshgrid(some, some))
    inside = (rank >= first[:, None]) & (rank < last[:, None])
    chosen += [inside.astype(np.int64) * grade for grade in range(1, top + 1)]
    draw = np.random.default_rng(0)
    relevant = draw.random((1024, length)) < np.linspace(0, 1, 1024)[:, None]
    chosen.append(relevant * draw.integers(1, top + 1, relevant.shape))
    return np.unique(np.vstack(chosen), axis=0)
