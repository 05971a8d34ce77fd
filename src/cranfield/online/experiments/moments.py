"""Sufficient statistics: number, means and covariances of columns, of many groups at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from cranfield.base.arrays import Floats, Indices


@dataclass(frozen=True, eq=False)
class Moments:
    """What tests of means need to know of some columns."""

    count: Floats  # Number of units, shape (...,), such as (segments, variants)
    mean: Floats  # Shape (..., columns)
    scatter: Floats  # Sums of products of deviations from the mean, shape (..., columns, columns)

    @property
    def covariance(self) -> Floats:
        """Covariances, by one less than units; NaN of fewer than two."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.scatter / np.maximum(self.count - 1, 0)[..., None, None]
        return np.where((self.count > 1)[..., None, None], found, np.nan)

    def __getitem__(self, index: Any) -> Moments:
        return Moments(self.count[index], self.mean[index], self.scatter[index])

    def together(self, axis: int) -> Moments:
        """Return the moments of all groups along an axis as one."""
        axis %= self.count.ndim
        return self._added(lambda array: array.sum(axis=axis, keepdims=True), axis)[
            (slice(None),) * axis + (0,)
        ]

    def so_far(self, axis: int = 0) -> Moments:
        """Return the moments of each group with all those before it along an axis."""
        return self._added(lambda array: np.cumsum(array, axis=axis), axis)

    def _added(self, add: Callable[[Floats], Floats], axis: int) -> Moments:
        """Add up sums around a centre that is near all means, so that nothing cancels."""
        some = (self.count > 0)[..., None]
        sums = np.where(some, self.count[..., None] * self.mean, 0.0)
        number = np.maximum(self.count.sum(axis=axis, keepdims=True), 1)[..., None]
        centre = sums.sum(axis=axis, keepdims=True) / number
        apart = np.where(some, self.mean - centre, 0.0)
        moved = self.count[..., None] * apart
        count, first = add(self.count), add(moved)
        second = add(self.scatter + moved[..., :, None] * apart[..., None, :])
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = first / count[..., None]
        scatter = second - np.nan_to_num(first[..., :, None] * shift[..., None, :])
        return Moments(count, centre + shift, scatter)


def moments(columns: Floats, group: Indices, shape: tuple[int, ...]) -> Moments:
    """Return the moments of each group of units."""
    inside = group >= 0
    if not inside.all():
        columns, group = columns[inside], group[inside]
    groups, width = int(np.prod(shape)), columns.shape[1]
    count = np.bincount(group, minlength=groups).astype(np.float64)
    # Some unit of each group: what is the same in all has exactly that mean.
    some = np.zeros((groups, width))
    some[group] = columns
    varies, mean = columns != some[group], np.empty((groups, width))
    with np.errstate(divide="ignore", invalid="ignore"):
        for k in range(width):
            mean[:, k] = np.bincount(group, weights=columns[:, k], minlength=groups) / count
            same = (count > 0) & (np.bincount(group, weights=varies[:, k], minlength=groups) == 0)
            mean[same, k] = some[same, k]
    apart = columns - mean[group]
    # What is all the same may be off from its mean by rounding.
    apart[np.abs(apart) <= 2.0**-50 * np.abs(mean)[group]] = 0.0
    scatter = np.empty((groups, width, width))
    for i in range(width):
        for j in range(i, width):
            found = np.bincount(group, weights=apart[:, i] * apart[:, j], minlength=groups)
            scatter[:, i, j] = scatter[:, j, i] = found
    return Moments(
        count.reshape(shape), mean.reshape(*shape, width), scatter.reshape(*shape, width, width)
    )
