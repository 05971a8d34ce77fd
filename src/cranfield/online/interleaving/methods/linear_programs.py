"""Linear programs whose solution is the same everywhere, however many optima there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cranfield.base.arrays import Floats
from cranfield.base.errors import CranfieldError

_ZERO = 1e-9
"""Reduced costs and shares up to it are none."""


def least(costs: Sequence[Floats], matrix: Floats, sums: Floats) -> Floats:
    """Minimise the first costs, of all such points the second, and so on.

    Over x >= 0 with matrix @ x = sums. What has a positive reduced cost is 0 in every optimum, so
    each later program has the other columns alone, and no tolerance on the earlier costs.
    """
    from scipy.optimize import linprog

    kept = np.arange(matrix.shape[1])
    point = np.zeros(0)
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    for cost in costs:
        scale = max(float(np.abs(cost[kept]).max()), 1e-300)
        found = linprog(cost[kept] / scale, A_eq=matrix[:, kept], b_eq=sums, options=options)
        if not found.success:
            raise CranfieldError(f"no optimum was found: {found.message}")
        reduced = cost[kept] / scale - found.eqlin.marginals @ matrix[:, kept]
        on_face = (reduced <= _ZERO) | (found.x > _ZERO)
        point, kept = found.x[on_face], kept[on_face]
    solution = np.zeros(matrix.shape[1])
    solution[kept] = _polished(point, matrix[:, kept], sums)
    return solution


def _polished(point: Floats, matrix: Floats, sums: Floats) -> Floats:
    """Meet the equations as well as floats can, on the columns that are not 0."""
    polished = np.where(point > _ZERO, point, 0.0)
    used = np.flatnonzero(polished)
    for _ in range(3):
        error = sums - matrix @ polished
        polished[used] += np.linalg.lstsq(matrix[:, used], error, rcond=None)[0]
    return np.maximum(polished, 0.0)
