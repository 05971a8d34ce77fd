"""Labels that do not lie on top of each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from cranfield.base.arrays import Floats


def apart(
    wanted: ArrayLike, sizes: ArrayLike, low: float = -np.inf, high: float = np.inf
) -> Floats:
    r"""Move things on a line as little as possible, so that none covers another.

    .. math:: \min_p \sum_i (p_i - w_i)^2 \quad \text{with} \quad
        p_{i+1} - p_i \ge \tfrac{1}{2} (s_i + s_{i+1})

    Notes
    -----
    Less the room that those before it take up, positions only have to be in order: that is isotonic
    regression.

    Examples
    --------
    >>> apart([1.0, 1.0, 5.0], [2.0, 2.0, 2.0]).tolist()
    [0.0, 2.0, 5.0]
    >>> apart([1.0, 1.0, 5.0], [2.0, 2.0, 2.0], low=0.0).tolist()
    [1.0, 3.0, 5.0]
    """
    from scipy.optimize import isotonic_regression

    places, room = np.asarray(wanted, dtype=np.float64), np.asarray(sizes, dtype=np.float64)
    if not places.size:
        return places
    before = np.concatenate(([0.0], np.cumsum((room[1:] + room[:-1]) / 2)))
    first, last = low + room[0] / 2, high - room[-1] / 2 - before[-1]
    free = np.asarray(isotonic_regression(places - before).x, dtype=np.float64)
    return np.asarray(np.clip(free, first, max(first, last)) + before)
